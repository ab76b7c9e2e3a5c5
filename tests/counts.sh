#!/bin/sh
# The budgets that a server must keep while it runs: instructions (valgrind), system calls (strace) and allocations for a call. bench.sh
# counts them, in an optimised build.
. tests/lib.sh
sh tests/bench/bench.sh counts >"$work/counts" 2>&1 || bad 'bench.sh counts' "$(tail -n 5 "$work/counts")"
while read -r line; do
    case $line in
    *' meets')  ok "${line% meets}";;
    *' MISSES') bad "${line% MISSES}";;
    skip*taskset*) ;;                       # it matters to times alone
    skip*)      echo "$line";;
    esac
done <"$work/counts"
finish
