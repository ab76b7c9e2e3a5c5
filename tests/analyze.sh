#!/bin/sh
# Static analysis: gcc -fanalyzer, clang --analyze and cppcheck find nothing. What is switched off, and why:
#   malloc-leak, double-free      gcc: it loses sight of memory that hangs on a pointer in a struct, as an arena's blocks do, and frees "the
#                                 pointer 0" twice on a path where a flag changes between two looks at it; sanitizers and valgrind see the rest
#   legacyUninitvar at lasts[]    cppcheck: mcp_put_json keeps a bit for each level and reads only those that it has written; the others in the
#                                 same word may be anything. MemorySanitizer, which follows single bits, agrees
#   autoVariables                 cppcheck: the fitter's way from the root is a chain of places on the stack, each taken off again before its
#                                 function returns
. tests/lib.sh
src=tests/compile/implementation.c
LINES_SHOWN=60
if have gcc; then
    try 'gcc -fanalyzer' gcc -std=c99 -O1 -fanalyzer -Wno-analyzer-malloc-leak -Wno-analyzer-double-free -I. -c $src -o "$work/a.o"
else skip 'no gcc'; fi
if have clang; then try 'clang --analyze' clang -std=c99 --analyze -Xclang -analyzer-output=text -I. $src; else skip 'no clang'; fi

# Given no -D, cppcheck would go through a dozen combinations of switches.
cppcheck_() { cppcheck --quiet --enable=warning,performance,portability --std=c99 --error-exitcode=1 --suppress="legacyUninitvar:mcp.h:$lasts" --suppress=autoVariables -D__GNUC__=12 "$@" -I. $src; }
lasts=$(grep -n 'if (last) lasts\[' mcp.h | sed 's/:.*//')
if have cppcheck; then
    for switch in -D__linux__ -D__APPLE__ -DMCP_NO_POSIX; do try "cppcheck $switch" cppcheck_ $switch; done
else skip 'no cppcheck'; fi
finish
