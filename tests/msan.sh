#!/bin/sh
# All tests again with clang's MemorySanitizer, which sees uninitialised memory. It knows what libc's functions write,
# but not what a bare system call does: mcpi_fd_own_pair, which takes over the two descriptors of pipe2, is not instrumented.
. tests/lib.sh
mkdir -p "$BUILD/msan"
echo 'fun:mcpi_fd_own_pair' >"$BUILD/msan/ignored"
export CC=clang SCALE=3
export CFLAGS="-g -O0 -fsanitize=memory -fno-sanitize-recover=all -fno-omit-frame-pointer -fsanitize-ignorelist=$BUILD/msan/ignored"
if have clang && runs -fsanitize=memory; then again msan; else skip 'no clang with MemorySanitizer'; fi
finish
