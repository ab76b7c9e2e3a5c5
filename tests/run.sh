#!/bin/sh
# Runs tests and sums them up.
#
#   run.sh [-v] TEST...
#
# A TEST is a C file, which is compiled (CC CPPFLAGS CFLAGS LDFLAGS LDLIBS), or a shell script. It prints `N passed, N failed`
# as its last line; its other output is shown when something failed, or always with -v. A test that dies without that
# line counts as one failure. Lines that begin with "skip" are always shown; with NO_SKIP=1 each is a failure.
# C programs, which wait more than they work, run three at a time, and beside them the scripts one by one, each for at most LIMIT seconds.
# The last line is the sum, and the exit status is 0 when nothing failed.
cd "$(dirname "$0")/.." || exit 1
verbose='' seconds=120
[ "$1" = -v ] && { verbose=1 seconds=900; shift; }
: "${CC:=cc}" "${BUILD:=build}"
export CC BUILD
log=$BUILD/log
mkdir -p "$log"
limit=
command -v timeout >/dev/null 2>&1 && limit="timeout ${LIMIT:-$seconds}"

name() { echo "$1" | sed 's,^tests/,,; s,\.[a-z]*$,,'; }
out()  { echo "$log/$(name "$1" | tr / -)"; }

# All that is to be compiled first, two compilers at a time. PROGRAMS are C files too, which the tests need: they are
# compiled when mcp.h or they themselves are newer than what is there. What has no switches of its own and does not look
# inside shares one object file with the implementation, since each would take as long as all of them.
n=0 made=$log/mcp.o shared="-DMCP_IMPLEMENTED $log/mcp.o"
compile()
{
    source=$1 program=$2 said=$3; shift 3
    if grep -q 'define MCP_[NMS]\|looks inside' "$source"; then :
    else
        # shellcheck disable=SC2086
        [ "$made" ] && $CC -std=c99 $CPPFLAGS -I. $CFLAGS -DMCP_IMPLEMENTATION -x c -c -o "$made" mcp.h
        made=''
        set -- "$@" $shared
    fi
    # shellcheck disable=SC2086  # flags are meant to be split
    $CC -std=c99 $CPPFLAGS -I. $CFLAGS "$@" -o "$program" "$source" $LDFLAGS -lpthread $LDLIBS >"$said" 2>&1 &
    n=$((n + 1)); [ $((n % 2)) = 0 ] && wait
}
for c in $PROGRAMS; do
    p=$BUILD/$(basename "$c" .c)
    [ "$(find "$p" -newer mcp.h -newer "$c" 2>/dev/null)" ] && continue
    compile "$c" "$p" "$log/program-$(basename "$c")"
done
for t in "$@"; do
    case $t in *.c) rm -f "$BUILD/$(name "$t")"; compile "$t" "$BUILD/$(name "$t")" "$(out "$t").cc" -D_GNU_SOURCE;; esac
done
wait

run()
{
    case $1 in
    *.sh) program="sh $1";;
    *)    program=$BUILD/$(name "$1"); [ -x "$program" ] || program="cat $(out "$1").cc";;    # it did not compile: why
    esac
    $limit $program </dev/null
    echo $? >"$(out "$1").status"
}

# lane 0, 1, 2: a third of the C programs among the tests; lane scripts
lane()
{
    which=$1; shift; i=0
    for t in "$@"; do
        case $t in *.sh) mine=scripts;; *) i=$((i + 1)) mine=$((i % 3));; esac
        [ $mine = "$which" ] && run "$t" >"$(out "$t")" 2>&1
    done
}
if [ "$verbose" ]; then for t in "$@"; do run "$t" 2>&1 | tee "$(out "$t")"; done
else lane 0 "$@" & lane 1 "$@" & lane 2 "$@" & lane scripts "$@"; wait
fi

passed=0 failed=0
for t in "$@"; do
    o=$(out "$t")
    status=$(cat "$o.status"); rm -f "$o.status"
    sum=$(tail -n 1 "$o" | sed -n 's/^\([0-9][0-9]*\) passed, \([0-9][0-9]*\) failed$/p=\1 f=\2/p')
    p=0 f=0 why=
    if [ "$sum" ]; then eval "$sum"; else f=1 why=" (no result: exit status $status)"; fi
    [ "$status" != 0 ] && [ "$f" = 0 ] && f=1 why=" (exit status $status)"
    if [ "$NO_SKIP" ]; then
        s=$(grep -c '^skip' "$o"); f=$((f + s)); [ "$s" != 0 ] && why="$why ($s skipped)"
    fi
    passed=$((passed + p)) failed=$((failed + f))
    if [ "$verbose" ]; then :
    elif [ "$f" = 0 ]; then grep '^skip' "$o"
    else sed 's/^/    /' "$o"; fi
    if [ "$f" = 0 ]; then printf 'ok    %-24s %s\n' "$(name "$t")" "$p passed"
    else printf 'FAIL  %-24s %s\n' "$(name "$t")" "$p passed, $f failed$why"; fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
