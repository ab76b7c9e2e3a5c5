#!/bin/sh
# All test programs, the examples and the fault suite again, with AddressSanitizer, UndefinedBehaviorSanitizer and LeakSanitizer.
: "${CC:=cc}"
build=${BUILD:-build}/asan
flags='-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'
mkdir -p "$build"
echo 'int main(void){return 0;}' >"$build/can.c"
# shellcheck disable=SC2086
if ! $CC $flags "$build/can.c" -o "$build/can" 2>/dev/null || ! "$build/can"; then
    echo "skip  $CC has no sanitizers"; echo '0 passed, 0 failed'; exit
fi
export BUILD="$build" CFLAGS="$flags" ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 SCALE=3
export PROGRAMS='examples/*.c tests/fixtures/faults_*.c'
exec sh tests/run.sh tests/test_*.c tests/examples.sh tests/faults.sh tests/json_suite.sh
