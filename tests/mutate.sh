#!/bin/sh
# Do the tests notice a fault? Each entry of tests/mutants.txt plants one in a copy of mcp.h, and the test programs are
# run until one fails.
#
#   mutate.sh [NAME...]         all mutants, or those named; with SAMPLE=20 every 20th, beginning at another one each day
#   mutate.sh -l                only says of each whether its text stands in mcp.h exactly once: `ok` or `stale`
#
# Prints a line for each mutant: `killed`, with the test that saw it; `survived`; `known`, a survivor that the list
# gives a reason for; `stale`, its text does not stand in mcp.h exactly once; `does not compile`, a mistake in the
# list. What survived, is stale or does not compile counts as failed, and so does a mutant with a reason that was killed.
# Two mutants at a time, each test for at most LIMIT seconds. TESTS='json rpc' runs those alone
# and takes their soundness for granted. CC, CPPFLAGS, CFLAGS, LDFLAGS, LDLIBS and BUILD are honoured.
cd "$(dirname "$0")/.." || exit 1
: "${CC:=cc}" "${BUILD:=build}" "${LIMIT:=60}"
list=tests/mutants.txt work=$BUILD/mutate.tmp
quick='json writer numbers memory rpc more'
all=${TESTS:-$quick $(for t in tests/test_*.c; do t=${t#tests/test_}; t=${t%.c}; case " $quick " in *" $t "*) ;; *) echo "$t" ;; esac; done)}
limit=
command -v timeout >/dev/null 2>&1 && limit="timeout $LIMIT"

# field NAME KEY: what the entry says behind KEY
field() { awk -v name="$1" -v key="$2:" '$1 == "name:" { on = $2 == name } on && $1 == key { sub(/^[^ ]* */, ""); print }' "$list"; }

# place NAME FILE: FILE with that fault; fails when its text does not stand there exactly once
# place -l FILE: a line for each mutant, `ok` or `stale`; fails when one is stale
place()
{
    awk -v wanted="$1" '
        FNR == NR && /^name: / { name[++i] = $2 }
        FNR == NR && /^- / { old[i] = old[i] (old[i] == "" ? "" : "\n") substr($0, 3) }
        FNR == NR && /^\+/ { new[i] = new[i] (n[i]++ ? "\n" : "") substr($0, 3) }
        FNR != NR { text = $0 }
        END {
            for (k = 1; k <= i; k++) {
                if (wanted != "-l" && wanted != name[k]) continue
                at = old[k] == "" ? 0 : index(text, old[k])
                once = at && !index(substr(text, at + 1), old[k])
                if (wanted == "-l") print (once ? "ok     " : "stale  ") name[k]
                else if (once) printf "%s%s%s", substr(text, 1, at - 1), new[k], substr(text, at + length(old[k]))
                found++
                stale += !once
            }
            exit stale > 0 || !found
        }' "$list" RS='\001' "$2"
}

[ "$1" != -l ] || { place -l mcp.h; exit; }
rm -rf "$work"; mkdir -p "$work/1" "$work/2"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# try LANE NAME: the verdict, one line
try()
{
    dir=$work/$1 first=$(field "$2" tests) reason=$(field "$2" reason) tests=
    place "$2" mcp.h >"$dir/mcp.h" || { echo "stale"; return; }
    for t in $first; do case " $all " in *" $t "*) tests="$tests $t";; esac; done
    for t in $all; do case " $first " in *" $t "*) ;; *) tests="$tests $t";; esac; done
    for t in $tests; do
        # shellcheck disable=SC2086  # flags are meant to be split
        $CC -std=c99 -O0 -w $CPPFLAGS -I"$dir" $CFLAGS -o "$dir/test" "tests/test_$t.c" $LDFLAGS -lpthread $LDLIBS \
            >"$dir/cc" 2>&1 || { echo "does not compile"; return; }
        $limit "$dir/test" >"$dir/out" 2>&1 </dev/null
        rc=$?
        [ $rc = 0 ] && continue
        case $rc in 1) how=;; 124) how=', hangs';; *) how=', dies';; esac
        echo "killed${reason:+ after all} ($t$how)"
        return
    done
    if [ "$reason" ]; then echo "known: $reason"; else echo "survived"; fi
}

# A test that fails without any fault would kill them all: it is left out, which counts as a failure.
healthy()
{
    sound=
    for t in $all; do
        [ -f "tests/test_$t.c" ] || continue
        # shellcheck disable=SC2086
        if $CC -std=c99 -O0 -w $CPPFLAGS -I. $CFLAGS -o "$work/1/test" "tests/test_$t.c" $LDFLAGS -lpthread $LDLIBS &&
            $limit "$work/1/test" >"$work/1/out" 2>&1 </dev/null
        then sound="$sound $t"
        else echo "FAIL  test_$t.c fails without a fault in mcp.h: not used" | tee -a "$work/results"
        fi
    done
    all=$sound
}

lane()
{
    number=$1 i=0; shift
    for m in "$@"; do
        i=$((i + 1)); [ $((i % 2 + 1)) = "$number" ] || continue
        verdict=$(try "$number" "$m")
        case $verdict in 'killed ('*|known:*) mark='ok  ';; *) mark=FAIL;; esac
        echo "$mark  $m: $verdict" | tee -a "$work/results"
    done
}

[ $# != 0 ] || set -- $(awk -v step="${SAMPLE:-1}" -v day="$(($(date +%s) / 86400))" \
    '$1 == "name:" && n++ % step == day % step { print $2 }' "$list")
echo "$# mutants${SAMPLE:+, one of $SAMPLE}"
[ "$TESTS" ] || healthy
lane 1 "$@" & lane 2 "$@" & wait
failed=$(grep -c '^FAIL' "$work/results")
echo "$(grep -c '^ok' "$work/results") passed, $failed failed"
[ "$failed" = 0 ]
