#!/bin/sh
# Every fault that mutate.sh would plant still has its place in mcp.h.
. tests/lib.sh
sh tests/mutate.sh -l >"$work/list"
while read -r state entry; do if [ "$state" = ok ]; then passed=$((passed + 1)); else bad "stale: $entry"; fi; done <"$work/list"
check 'there are mutants' test "$passed" -gt 100
finish
