#!/bin/sh
# All tests again with AddressSanitizer, UndefinedBehaviorSanitizer and LeakSanitizer, of gcc and of clang; the fault suite with gcc's.
. tests/lib.sh
flags='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'
export CC CFLAGS="-g -O0 $flags" ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 SCALE=3
for CC in gcc clang; do
    faults=; [ $CC = gcc ] && faults=tests/faults.sh
    # shellcheck disable=SC2086  # flags are meant to be split, and no test is no word
    if have $CC && runs $flags; then again asan-$CC $faults; else skip "no sanitizers for $CC"; fi
done
finish
