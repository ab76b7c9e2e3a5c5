#!/bin/sh
# The schema sanitizer: cases rebuilt from reports, and the tools of real servers, which lie beside this repository, if they are there.
. tests/lib.sh
data=${SANITIZE_DATA:-../shared/data}
program=$work/sanitize
if [ ! -f "$data/schema_cases.json" ] && [ ! -d "$data/tools" ]; then skip "neither $data/schema_cases.json nor $data/tools is there"; finish; fi
# shellcheck disable=SC2086  # flags are meant to be split
$CC -std=c99 -O1 $CPPFLAGS -I. $CFLAGS -o "$program" tests/sanitize.c $LDFLAGS -lpthread $LDLIBS || { bad 'sanitize.c does not compile'; finish; }

# counted NAME ARGUMENT...: what the program finds; its checks are counted as they are
counted()
{
    name=$1; shift
    "$program" "$@" >"$work/out" 2>&1; status=$?
    p='' f=''
    eval "$(tail -n 1 "$work/out" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/p=\1 f=\2/p')"
    sed '$d' "$work/out" | head -n 40
    if [ "$status" = 0 ] && [ "$f" = 0 ]; then echo "ok    $name: $p checks"; else echo "FAIL  $name: ${f:-no result, status $status}"; fi
    passed=$((passed + ${p:-0})) failed=$((failed + ${f:-1}))
}
if [ -f "$data/schema_cases.json" ]; then counted 'cases from reports' cases "$data/schema_cases.json"
else skip "there is no $data/schema_cases.json"; fi
if [ -d "$data/tools" ]; then counted 'tools of real servers, all profiles' tools "$data"/tools/*.tools.json
else skip "there is no $data/tools"; fi
finish
