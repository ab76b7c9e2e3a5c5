#!/bin/sh
# Our patterns against those of node, if it is there: some ten thousand patterns from a grammar, each on some texts.
. tests/lib.sh
if ! have node; then skip 'no node: patterns were not compared with RegExp'; finish; fi
# shellcheck disable=SC2086  # flags are meant to be split
$CC -std=c99 -O1 $CPPFLAGS -I. $CFLAGS -o "$work/patterns" tests/fixtures/patterns.c $LDFLAGS $LDLIBS || { bad 'patterns.c does not compile'; finish; }
node tests/pattern_peer.mjs "$work/patterns" >"$work/said"
sed '$d' "$work/said"
eval "$(tail -n 1 "$work/said" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/passed=\1 failed=\2/p')"
[ "$passed" != 0 ] || bad 'node ended without a result'
finish
