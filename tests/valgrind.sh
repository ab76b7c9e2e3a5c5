#!/bin/sh
# All test programs under valgrind's memcheck, which sees uninitialised memory. UNDER_VALGRIND tells them that time is slower.
. tests/lib.sh
if ! have valgrind; then skip 'no valgrind'; finish; fi
mkdir -p "$BUILD/valgrind"
for t in tests/test_*.c; do
    program=$BUILD/valgrind/$(basename "$t" .c)
    # shellcheck disable=SC2086
    $CC -std=c99 -g -O1 $CPPFLAGS -I. -o "$program" "$t" $LDFLAGS -lpthread $LDLIBS
    UNDER_VALGRIND=1 valgrind -q --error-exitcode=99 --leak-check=full --trace-children=no "$program" >"$work/out" 2>&1
    if [ $? = 0 ]; then ok "$t"; else bad "$t" "$(tail -n 20 "$work/out")"; fi
done
finish
