#!/bin/sh
# Names in bulk: a million random pairs of servers and tools that mean no good, and the filter build/names.
. tests/lib.sh
# shellcheck disable=SC2086  # flags are meant to be split
for c in tests/test_name.c tests/fixtures/names.c; do
    $CC -std=c99 -O2 $CPPFLAGS -I. $CFLAGS -o "$work/$(basename $c .c)" $c $LDFLAGS -lpthread $LDLIBS || { bad "$c does not compile"; finish; }
done
NAMES=${NAMES:-1000000} "$work/test_name" >"$work/million"; status=$?
check "$(grep pairs "$work/million")" test $status = 0 -a "$(tail -n 1 "$work/million" | sed 's/.*passed, //')" = '0 failed'

names() { "$work/names" 2>"$work/err"; }
printf 'git\tstatus\nsrc\tpat.batch\nsrc\tpat_batch\nnothing\ngit\tstatus\nlast\tone' >"$work/pairs"
names <"$work/pairs" >"$work/out"; status=$?
check 'names: a line that is no pair is told' test $status = 1 -a "$(sed -n 4p "$work/out")" = '' -a "$(grep -c 'line 4: no TAB' "$work/err")" = 1
check 'names: a pair that comes twice is told, and has one name' test "$(grep -c 'line 5: .*before' "$work/err")" = 1 -a "$(sed -n '1p;5p' "$work/out" | uniq)" = mcp__git__status
check 'names: one line for each' test "$(wc -l <"$work/out" | tr -d ' ')" = 6
forged=$(sed -n 2p "$work/out"); forged=${forged#mcp__src__}
printf 'src\tpat.batch\nsrc\t%s\n' "$forged" | names >"$work/one"
printf 'src\t%s\nsrc\tpat.batch\n' "$forged" | names | sort >"$work/two"
check 'names: who forges a digest has the plain name' test "$(sed -n 2p "$work/one")" = "mcp__src__$forged"
check 'names: in either order' test "$(sort "$work/one" | cksum)" = "$(cksum <"$work/two")"
finish
