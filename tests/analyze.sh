#!/bin/sh
# Static analysis: gcc -fanalyzer and clang --analyze find nothing. What gcc has to say about freeing is left to the sanitizers and valgrind: it
# loses sight of memory that hangs on a pointer in a struct, as an arena's blocks do.
. tests/lib.sh
src=tests/compile/implementation.c
LINES_SHOWN=60
if have gcc; then
    try 'gcc -fanalyzer' gcc -std=c99 -O1 -fanalyzer -Wno-analyzer-malloc-leak -Wno-analyzer-double-free \
        -Wno-analyzer-use-after-free -I. -c $src -o "$work/a.o"
else skip 'no gcc'; fi
if have clang; then try 'clang --analyze' clang -std=c99 --analyze -Xclang -analyzer-output=text -I. $src; else skip 'no clang'; fi
finish
