#!/bin/sh
# All test programs under valgrind's memcheck: uninitialised memory, leaks, and descriptors that are still open at the end.
. tests/lib.sh
if ! have valgrind; then skip 'no valgrind'; finish; fi
mkdir -p "$BUILD/valgrind"

# memcheck TEST.c: says nothing when all is well. Each process has a log of its own; a child of a test may leave descriptors to exit.
memcheck()
{
    name=$(basename "$1" .c)
    program=$BUILD/valgrind/$name
    shared="-DMCP_IMPLEMENTED -D_GNU_SOURCE $BUILD/valgrind/mcp.o"
    alone "$1" && shared=''
    # shellcheck disable=SC2086
    $CC -std=c99 -g -O1 $CPPFLAGS -I. -o "$program" "$1" $shared $LDFLAGS -lpthread $LDLIBS || return
    SCALE=5 UNDER_VALGRIND=1 valgrind --log-file="$work/$name.%p" --error-exitcode=99 --leak-check=full --track-fds=yes "$program" >"$work/$name.said" 2>&1 &
    pid=$!
    wait $pid && ! sed -n '/Open .*descriptor\|Open .*socket/,/^==[0-9]*== *$/p' "$work/$name.$pid" | grep -q ' at 0x' && return
    tail -n 15 "$work/$name.said"
    cat "$work/$name.$pid"
    cat "$work/$name".*.* 2>/dev/null | grep -A 12 'Invalid\|uninit\|lost in' | head -40
    return 1
}
# shellcheck disable=SC2086
$CC -std=c99 -g -O1 $CPPFLAGS -I. -DMCP_IMPLEMENTATION -x c -c -o "$BUILD/valgrind/mcp.o" mcp.h || { bad 'mcp.h does not compile'; finish; }
for t in tests/test_*.c; do try "$t" memcheck "$t"; done
finish
