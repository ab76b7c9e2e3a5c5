#!/bin/sh
# Some of the compile matrix, with one C compiler, and a C++ compiler if there is one: what a change breaks first.
. tests/lib.sh
. tests/compile/flags.sh
src=tests/compile

# shellcheck disable=SC2086  # flags are meant to be split
{
for std in c99 c11; do
    try "$std: the header alone" $CC -std=$std $C_WARN -I. -c $src/header.c -o "$work/header-$std.o"
done
try 'c11: the implementation' $CC -std=c11 $C_WARN -I. -c $src/implementation.c -o "$work/impl-c11.o"
for switches in '-DMCP_NO_SERVER -DMCP_NO_VALIDATE -DMCP_NO_SANITIZE' \
        '-DMCP_NO_POSIX -DMCP_NO_CLIENT -DMCP_NO_PRINTF -DMCP_STATIC'; do
    try "c99: $switches" $CC -std=c99 $C_WARN $switches -I. -c $src/implementation.c \
        -o "$work/impl$(echo "$switches" | tr -d ' ').o"
done
try 'c99: twice in one file' $CC -std=c99 $C_WARN -I. -fsyntax-only $src/twice.c
try 'two files, one with the implementation' $CC -std=c99 $C_WARN -I. $src/unit_a.c $src/unit_b.c -o "$work/two"
settle
check 'two files run' "$work/two"

printf '#include <limits.h>\n#if !defined __GLIBC__ || !defined __STRICT_ANSI__\n#error\n#endif\n' >"$work/glibc.c"
if $CC -std=c99 -E "$work/glibc.c" >/dev/null 2>&1; then
    $CC -std=c99 -I. -c $src/libc_first.c -o "$work/first.o" 2>"$work/first.err"
    check 'c99: a libc header before mcp.h is told in a sentence' grep -q 'include mcp.h (with MCP_IMPLEMENTATION) before any libc header' "$work/first.err"
    try 'c99: ... and -D_GNU_SOURCE mends it' $CC -std=c99 -D_GNU_SOURCE $C_WARN -I. -fsyntax-only $src/libc_first.c
else
    echo 'this compiler or C library hides nothing: headers may come in any order'
fi
$CC -std=c99 -DMCP_STATIC -I. -c $src/header.c -o "$work/static.o" 2>"$work/static.err"
check 'MCP_STATIC without the implementation is told in a sentence' grep -q 'MCP_STATIC needs MCP_IMPLEMENTATION' "$work/static.err"

if have ${CXX%% *}; then
    try 'c++11: the header alone' $CXX -std=c++11 $CXX_WARN -x c++ -I. -c $src/header.c -o "$work/header-cxx.o"
    try 'c++11: a program that uses it' $CXX -std=c++11 $CXX_WARN -I. $src/cplusplus.cpp -o "$work/cxx"
    settle
    check 'the C++ program runs' "$work/cxx"
else
    skip "no C++ compiler ($CXX)"
fi
}
finish
