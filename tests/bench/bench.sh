#!/bin/sh
# What it costs, against bare limits that are built beside it and measured in the same run.
#
#   bench.sh                    everything, about two minutes
#   bench.sh json server ...    some of: json, validate, sanitize, server, counts, memory, curves, features, client
#
# Each line: what, its value, the bare limit's value, the ratio of the two, the target, and whether that is met. Ratios are
# medians of the ratios of single rounds, in which the programs take turns; they compare across machines, times do not.
# Everything but the lines called "two cores" runs on one core (where there is taskset): across cores, waking the other side
# costs more than all that is measured here, and changes from run to run. CPU is the process's own, client or server.
# A target missed does not fail the bench; only what breaks does. CC CPPFLAGS CFLAGS LDFLAGS LDLIBS BUILD are honoured.
cd "$(dirname "$0")/../.." || exit 1
LC_ALL=C; export LC_ALL
: "${CC:=cc}" "${BUILD:=build}"
b=$BUILD/bench
data=../shared/data/tools           # replies of real servers, one JSON message a line; optional
mkdir -p "$b"
met=0 missed=0 skipped=0
trap 'rm -f "$b"/*.count' EXIT

for p in bare_echo bare_mcp server driver client json validate sanitize; do
    # shellcheck disable=SC2086  # flags are meant to be split
    $CC -std=c99 -O2 $CPPFLAGS -I. $CFLAGS -o "$b/$p" tests/bench/$p.c $LDFLAGS -lpthread $LDLIBS || exit 1
done

have() { command -v "$1" >/dev/null 2>&1; }
pin=
if have taskset; then
    cpu=$(taskset -cp $$ 2>/dev/null | sed 's/.*[ ,-]//')
    taskset -c "$cpu" true 2>/dev/null && pin="taskset -c $cpu"
fi
[ "$pin" ] || echo 'skip  taskset: programs move between cores, so expect noise'

calc()   { awk "BEGIN { printf \"%.4g\", $1 }"; }
title()  { printf '\n%-56s %10s %11s %8s  %-12s\n' "$1" "$2" "${3:-bare}" ratio target; }
skip()   { skipped=$((skipped + 1)); echo "skip  $1"; }

# row NAME VALUE BARE RATIO TARGET: - for what there is not. TARGET: "value <= 2", "ratio >= 0.7"
row()
{
    [ "$2$3" = 00 ] && { skip "$1: this system does not tell"; return; }
    ratio=$4; [ "$ratio" = = ] && ratio=$(calc "$2 / $3")
    verdict=
    case $5 in
    value*) verdict=$(awk "BEGIN { value = $2; print (value ${5#value}) ? \"meets\" : \"MISSES\" }");;
    ratio*) verdict=$(awk "BEGIN { ratio = $ratio; print (ratio ${5#ratio}) ? \"meets\" : \"MISSES\" }");;
    esac
    case $verdict in meets) met=$((met + 1));; MISSES) missed=$((missed + 1));; esac
    printf '%-56s %10s %11s %8s  %-14s %s\n' "$1" "$2" "$3" "$ratio" "$5" "$verdict"
}

die()    { echo "bench.sh: $1 failed"; exit 1; }
driver() { $pin "$b/driver" "$@" || die "driver $*"; }
client() { $pin "$b/client" "$@" "$b/bare_mcp" || die "client $*"; }
echo_=$b/bare_echo mcp=$b/bare_mcp server=$b/server

json()
{
    printf '\n%-26s %9s %8s %8s %8s %8s   %s\n' 'JSON, MB/s' bytes memcpy parse touch write 'ratio to memcpy: parse, touch, write'
    [ -d $data ] || skip "there is no $data"
    set -- $data/*.json
    [ -e "$1" ] || set --
    $pin "$b/json" "$@" >"$b/json.count" || die json
    awk -F'|' '{ printf "%-26s %9d %8d %8d %8d %8d   %.3f %.3f %.3f\n", $1, $2, $3, $5, $7, $9, $6, $8, $10 }' "$b/json.count"
    title 'JSON, instructions' value
    if have valgrind; then
        n=$(instructions "$b/json" -c 1) m=$(instructions "$b/json" -c 11) size=$("$b/json" -c 1)
        # 10.6 is what yyjson 0.12 takes for the same text, read in the same way.
        row 'parse and touch a tool list of 50 KB, per byte' "$(calc "($m - $n) / 10 / $size")" - - 'value <= 10.6'
    else skip 'instructions: there is no valgrind'; fi
}

validate()
{
    title 'arguments of tools: ns to check' value 'ns to parse'
    [ -d $data ] || skip "there is no $data"
    set -- $data/*.json
    [ -e "$1" ] || set --
    $pin "$b/validate" "$@" >"$b/validate.count" || die validate
    while IFS='|' read -r name tools out bytes parse check ratio; do
        case $name in
        growth*) row "${name#growth }, ns a byte; value ten times as large" "$check" "$parse" "$ratio" 'ratio <= 1.5';;
        *)       row "$name, $tools tools ($out left out), $bytes bytes" "$check" "$parse" "$ratio" 'ratio <= 1.5';;
        esac
    done <"$b/validate.count"
}

sanitize()
{
    title 'schemas of tools, text to text: MB/s to fit' value 'to copy'
    [ -d $data ] || skip "there is no $data"
    set -- $data/*.json
    [ -e "$1" ] || set --
    $pin "$b/sanitize" "$@" >"$b/sanitize.count" || die sanitize
    while IFS='|' read -r name n bytes copy fit ratio; do
        case $name in
        growth*) row "${name#growth }, ns a byte; grown" "$fit" "$copy" "$ratio" 'ratio <= 1.5';;
        *)       row "$name, $n schemas, $bytes bytes" "$fit" "$copy" "$ratio" 'ratio <= 3';;
        esac
    done <"$b/sanitize.count"
}

# instructions COMMAND...
instructions()
{
    rm -f "$b/callgrind.count"
    valgrind --tool=callgrind --callgrind-out-file="$b/callgrind.count" "$@" >/dev/null 2>&1 || die "valgrind $*"
    sed -n 's/^totals: //p' "$b/callgrind.count"
}

# under_driver WINDOW FLAG COUNT COMMAND...: COUNT calls to a server, which runs under a tool that counts
under_driver()
{
    flags="$2 -w $1 -n $3"; shift 3
    # shellcheck disable=SC2086  # no flag is no word
    "$b/driver" calls $flags -r 1 "$*" >/dev/null 2>&1 || die "driver with $*"
}

# per_call WINDOW FLAG SERVER: instructions
per_call()
{
    for n in 0 4096; do
        under_driver "$1" "$2" $n valgrind --tool=callgrind --callgrind-out-file="$b/callgrind.count" "$3"
        eval "n$n=\$(sed -n 's/^totals: //p' '$b/callgrind.count')"
    done
    # shellcheck disable=SC2154
    calc "int(($n4096 - $n0) / 4096)"
}

server()
{
    title 'server, tools/call echo of 100 bytes over pipes' value
    for e in legacy modern; do
        m=; [ $e = modern ] && m=-m
        # shellcheck disable=SC2086,SC2046
        { set -- $(driver calls $m -n 1000 -r 31 "$echo_" "$mcp" "$server"); [ $# = 12 ] || exit 1
          row "$e, round trip p50, us: canned answer to bare echo" "$5" "$1" "$7" -
          row "$e, round trip p50, us: server to bare echo" "$9" "$1" "${11}" 'ratio <= 1.15'
          [ "$pin" ] && { set -- $("$b/driver" calls $m -n 1000 -r 31 "$echo_" "$server"); [ $# = 8 ] || exit 1
          row "$e, the same, two cores" "$5" "$1" "$7" -; }
          set -- $(driver calls $m -n 1000 -r 31 "$mcp" "$server"); [ $# = 8 ] || exit 1
          row "$e, one at a time, CPU us/call" "$6" "$2" "$8" -
          for w in 64 1024; do
            set -- $(driver calls $m -w $w -n 20000 -r 15 "$mcp" "$server"); [ $# = 8 ] || exit 1
            row "$e, $w outstanding, round trip p50, us" "$5" "$1" "$7" -
            row "$e, $w outstanding, CPU us/call" "$6" "$2" "$8" "$([ $w = 1024 ] && echo 'ratio <= 2' || echo -)"
          done; }
    done
    # shellcheck disable=SC2046
    set -- $(driver calls -s 1048576 -n 20 -r 15 "$mcp" "$server"); [ $# = 8 ] || exit 1
    row 'echo of 1 MiB, MB/s' "$(calc "1048576 / $5")" "$(calc "1048576 / $1")" "$(calc "1 / $7")" 'ratio >= 0.7'
    row 'echo of 1 MiB, CPU us/call' "$6" "$2" "$8" -
    # shellcheck disable=SC2046
    set -- $(driver start -r 31 "$echo_" "$server"); [ $# = 4 ] || exit 1
    row 'from fork to the answer to initialize, us' "$3" "$1" "$4" -
}

# What is counted instead of timed, and so can be a test that fails: check-budget looks at these lines alone.
counts()
{
    title 'server, counts for tools/call echo of 100 bytes' value
    if have valgrind; then for e in legacy modern; do
        m='' limit=6000; [ $e = modern ] && m=-m limit=9000
        row "$e, instructions/call, one at a time" "$(per_call 1 "$m" "$server")" "$(per_call 1 "$m" "$mcp")" = "value <= $limit"
        row "$e, instructions/call, 1024 outstanding" "$(per_call 1024 "$m" "$server")" "$(per_call 1024 "$m" "$mcp")" = -
    done; else skip 'instructions: there is no valgrind'; fi
    if have strace && strace -o /dev/null true 2>/dev/null; then for w in 1 64; do
        limit=2; [ $w = 64 ] && limit=0.1
        for n in 0 5000; do
            under_driver $w '' $n strace -f -c -o "$b/strace.count" "$server"
            eval "n$n=\$(awk '\$NF == \"total\" { print \$4 }' '$b/strace.count')"
        done
        # shellcheck disable=SC2154
        row "system calls/call, $w outstanding" "$(calc "int(($n5000 - $n0) / 50 + 0.5) / 100")" - - "value <= $limit"
    done; else skip 'system calls: there is no strace that works'; fi
    # shellcheck disable=SC2046
    set -- $(driver allocations "$server -a"); [ $# = 2 ] || exit 1
    row 'allocations of 10,000 calls once warm, legacy' "$1" - - 'value <= 0'
    row 'allocations of 10,000 calls once warm, modern' "$2" - - 'value <= 0'
}

memory()
{
    title 'server, memory' value
    # shellcheck disable=SC2046
    set -- $(driver memory -r 15 "$echo_" "$mcp" "$server"); [ $# = 12 ] || exit 1
    if [ "$1" != 0 ]; then
        row 'RSS when initialized, KiB over bare echo' "$(($9 - $1))" "$1" - 'value <= 307'
        row '  of it heap, stack and data; the rest is code' "$((${10} - $2))" "$2" - -
        row 'peak RSS after 1,024 outstanding, KiB; canned answer' "${11}" "$7" = -
        row 'peak RSS after 1 MiB messages, KiB; canned answer' "${12}" "$8" = -
    else skip 'memory: there is no /proc/PID/smaps'; fi
}

curves()
{
    title 'server, echo of one message, MB/s' value
    for s in 1000 10000 100000 1000000 10000000 64000000; do
        n=$((64000000 / s)); [ $n -gt 500 ] && n=500
        # shellcheck disable=SC2046
        set -- $(driver calls -s $s -n $n -r 5 "$mcp" "$server"); [ $# = 8 ] || exit 1
        row "$s bytes" "$(calc "$s / $5")" "$(calc "$s / $1")" "$(calc "1 / $7")" -
        eval "c$s=\$(calc '$6 * 1000 / $s') b$s=\$(calc '$2 * 1000 / $s')"
    done
    # shellcheck disable=SC2154
    row 'CPU of a byte, 64 MB over 1 MB; canned answer' "$(calc "$c64000000 / $c1000000")" \
        "$(calc "$b64000000 / $b1000000")" = 'ratio <= 1.5'
    title 'server, many tools' value '10 tools'
    for t in 10 100 1000 10000; do
        # shellcheck disable=SC2046
        set -- $(driver calls -w 64 -n 10000 -r 7 -t tool_$((t - 1)) "$server -t $t"); [ $# = 4 ] || exit 1
        [ $t = 10 ] && first=$2
        row "a call with $t tools, 64 outstanding, CPU us" "$2" "$first" = "$([ $t = 10000 ] && echo 'ratio <= 1.25' || echo -)"
    done
    title 'server, many tools' value '1,000 tools'
    for t in 1000 10 100 10000; do
        # shellcheck disable=SC2046
        set -- $(driver calls -l -n $((20000 / t)) -r 9 "$server -t $t"); [ $# = 4 ] || exit 1
        [ $t = 1000 ] && first=$(calc "$2 / $t")
        row "tools/list of $t tools, CPU us for each tool" "$(calc "$2 / $t")" "$first" = "$([ $t = 10000 ] && echo 'ratio <= 1.5' || echo -)"
    done
    for t in 10 2000 10000; do
        # shellcheck disable=SC2046
        set -- $(driver start -r 15 "$server -t $t"); [ $# = 2 ] || exit 1
        eval "s$t=$1"
    done
    # shellcheck disable=SC2154
    row 'start with 10,000 tools, us for each; with 2,000' "$(calc "($s10000 - $s10) / 9990")" "$(calc "($s2000 - $s10) / 1990")" = 'ratio <= 2'
}

features()
{
    title 'server, resources' value
    # shellcheck disable=SC2046
    set -- $(driver read -n 3 -r 7 "$mcp" "$server -r 1"); [ $# = 8 ] || exit 1
    row 'read of a blob of 10 MB, MB/s' "$(calc "10000000 / $5")" "$(calc "10000000 / $1")" "$(calc "1 / $7")" -
    row 'read of a blob of 10 MB, CPU us; canned answer' "$6" "$2" "$8" -
    for e in legacy modern; do
        m=; [ $e = modern ] && m=-m
        # shellcheck disable=SC2046,SC2086
        set -- $(driver asks $m -n 500 -r 11 "$mcp" "$server -q"); [ $# = 8 ] || exit 1
        row "$e, a call that asks one question, us" "$5" "$1" "$7" -
        row "$e, a call that asks one question, CPU us" "$6" "$2" "$8" -
    done
    title 'server, many resources' value '1,000'
    for n in 1000 10000; do
        v=$(driver pages -n $((20000 / n)) -r 7 "$server -r $n") || exit 1
        v=$(calc "$v / $n")
        [ $n = 1000 ] && first=$v
        row "resources/list in pages of 100, $n resources, CPU us for each" "$v" "$first" = "$([ $n = 10000 ] && echo 'ratio <= 1.5' || echo -)"
    done
    for n in 1000 10000; do
        # shellcheck disable=SC2046
        set -- $(driver updates -n $n -r 7 "$server -r $n"); [ $# = 2 ] || exit 1
        [ $n = 1000 ] && sub=$1 change=$2
        limit=-; [ $n = 10000 ] && limit='ratio <= 1.5'
        row "$n subscriptions, CPU us to subscribe" "$1" "$sub" = "$limit"
        row "$n subscriptions, CPU us for each change" "$2" "$change" = "$limit"
    done
}

client_()
{
    title "client, tools/call echo of 100 bytes, CPU us/call" value
    for e in legacy modern; do for w in 1 64 1024 100000; do
        m=; [ $e = modern ] && m=-m
        n=20000; [ $w = 1 ] && n=3000; [ $w = 100000 ] && n=100000
        # shellcheck disable=SC2086,SC2046
        set -- $(client $m -w $w -n $n -r 9); [ $# = 3 ] || exit 1
        row "$e, $w outstanding" "$1" "$2" "$3" 'ratio <= 2'
    done; done
}

[ $# != 0 ] || set -- json validate sanitize server counts memory curves client
for part in "$@"; do
    case $part in
    json|validate|sanitize|server|counts|memory|curves|features) $part;;
    client) client_;;
    *) echo "bench.sh: there is no part $part"; exit 2;;
    esac
done
echo
echo "$met of $((met + missed)) targets met, $skipped lines skipped"
