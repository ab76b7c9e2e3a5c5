#!/bin/sh
# All tests again as 32-bit programs, on a 64-bit machine that has a C library for them.
. tests/lib.sh
export CFLAGS="$CFLAGS -m32"
if runs -m32; then again m32; else skip "no 32-bit C library for $CC"; fi
finish
