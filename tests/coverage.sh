#!/bin/sh
# Line and branch coverage of mcp.h by the test programs, with gcov: the figures, and with -v the lines that no test reaches. The examples
# and the fault suite are left out: what a test program does not check is not covered.
. tests/lib.sh
: "${CC:=gcc}"
if ! have gcov || ! $CC --version 2>/dev/null | grep -qi 'gcc\|free software'; then skip 'coverage: needs gcc and gcov'; finish; fi
# Tests that don't look inside count into one object file together. Programs end before gcov reads; several may run at a time.
flags='-std=c99 -O0 --coverage -fprofile-abs-path -I.'
mkdir -p "$work/shared"
# shellcheck disable=SC2086  # flags are meant to be split
$CC $flags -DMCP_IMPLEMENTATION -x c -c -o "$work/shared/mcp.o" mcp.h || { bad 'mcp.h does not compile'; finish; }
program()
{
    n=$(basename "$1" .c) dir=$work/shared with="-DMCP_IMPLEMENTED -D_GNU_SOURCE $work/shared/mcp.o"
    alone "$1" && dir=$work/$n with=''
    mkdir -p "$dir"
    # shellcheck disable=SC2086
    $CC $flags -o "$dir/$n" "$1" $with -lpthread && ( cd "$dir" && timeout 300 "./$n" >"$n.log" 2>&1 )
}
for t in tests/test_*.c; do try "$t" program "$t"; done
settle
for d in "$work"/*/; do ( cd "$d" && gcov -b -c -t ./*.gcda 2>/dev/null >all.gcov ); done
# One line of mcp.h is covered if any program runs it, one branch if any program takes it.
awk -v lines="$work/missed" '
    /^ *-: *0:Source:/ { on = $0 ~ /mcp\.h$/; line = 0 }
    !on { next }
    /^branch/ { n = ++branch[line]; if ($3 == "taken") { key = line ":" n; known[key] = 1; if ($4 + 0 > 0) taken[key] = 1 } else known[line ":" n] = 1; next }
    /^ *[0-9#=%*-]+:? *[0-9]+:/ || /^ *[^:]+: *[0-9]+:/ {
        split($0, f, ":"); count = f[1]; gsub(/ /, "", count); line = f[2] + 0; branch[line] = 0
        if (count == "-") next
        seen[line] = 1
        if (count !~ /^[#=]/) run[line] = 1
        else text[line] = $0
    }
    END {
        for (l in seen) { total++; if (run[l]) hit++; else print l > lines }
        for (k in known) { branches++; if (taken[k]) got++ }
        printf "%.1f %.1f %d %d\n", 100 * hit / total, 100 * got / branches, total - hit, branches - got
    }' "$work"/*/*.gcov >"$work/sum"
read -r l b ml mb <"$work/sum"
echo "      lines $l %, branches $b % ($ml lines and $mb branches are left)"
sort -n "$work/missed" >"$work/sorted"
while read -r n; do sed -n "${n}s/^/      $n: /p" mcp.h; done <"$work/sorted" >"$work/text"
cp "$work/text" "$BUILD/coverage.txt"
check "at least 95 % of the lines (build/coverage.txt has the others)" test "${l%.*}" -ge 95
check "at least 85 % of the branches" test "${b%.*}" -ge 85
finish
