#!/bin/sh
# Sizes and names: the promises that README makes about what ends up in a program.
. tests/lib.sh

# shellcheck disable=SC2086  # flags are meant to be split
object()
{
    out=$work/$1.o src=$2; shift 2
    $CC -std=c99 -Os "$@" -I. -c "$src" -o "$out" || { bad "$src $* does not compile"; finish; }
}

# Machine code: the sections .text*. Tables, strings and unwind data are told beside it.
text() { size -A "$work/$1.o" | awk '/^\.text/ { n += $2 } END { print n + 0 }'; }
rest() { size "$work/$1.o" | awk -v t="$(text "$1")" 'NR == 2 { print $1 - t }'; }

# The limits are for gcc 12 on x86-64; another gcc may take a tenth more. Other compilers are not measured.
impl=tests/compile/implementation.c
mine=$CC
is_gcc() { echo '__x86_64__ __clang__ __TINYC__ __GNUC__' | $1 -E -P - 2>/dev/null | grep '^1 __clang__ __TINYC__ [1-9]' | sed 's/.* //'; }
version=$(is_gcc "$CC")
[ "$version" ] || { CC=gcc; version=$(is_gcc gcc); }
limit() { if [ "$version" = 12 ]; then echo "$1"; else echo $(($1 + $1 / 10)); fi; }
if [ "$version" ] && have size && size -A /bin/sh >/dev/null 2>&1; then
    { object all $impl; } & { object json tests/compile/json_only.c; object server examples/hello_server.c -DMCP_STATIC -DMCP_NO_CLIENT -DMCP_NO_VALIDATE; object checks examples/hello_server.c -DMCP_STATIC -DMCP_NO_CLIENT; }
    wait
    [ -f "$work/all.o" ] || { bad "$impl does not compile"; finish; }
    most "gcc $version, code of the JSON reader and writer ($(rest json) bytes of tables and unwind data beside it)" "$(text json)" "$(limit 12288)"
    most "gcc $version, code of a stdio server with tools, hello_server.c with MCP_STATIC and MCP_NO_VALIDATE ($(rest server))" "$(text server)" "$(limit 49152)"
    most "gcc $version, the same with its arguments checked ($(rest checks))" "$(text checks)" "$(limit 73728)"
    most "gcc $version, code of everything ($(rest all))" "$(text all)" "$(limit 194560)"
    names=$(nm "$work/all.o" 2>/dev/null | awk '$2 ~ /^[dDbBC]$/ { print $3 }')
    most "data and bss of everything${names:+ ($(echo $names))}" "$(size "$work/all.o" | awk 'NR == 2 { print $2 + $3 }')" 0
else
    skip 'sizes: they are measured with gcc and size on x86-64'
fi
[ "$CC" = "$mine" ] && [ -f "$work/all.o" ] || { CC=$mine; object all $impl; }
if have nm; then
    others=$(nm -g "$work/all.o" | awk '$2 ~ /^[A-TV-Z]$/ { print $3 }' | grep -v '^_*mcp_' | grep -v '^_*main$')
    check "all exported names begin with mcp_ ${others:+($(echo $others))}" test -z "$others"
    object static $impl -O0 -DMCP_STATIC
    others=$(nm -g "$work/static.o" | awk '$2 ~ /^[A-TV-Z]$/ { print $3 }' | grep -v '^_*main$')
    check "MCP_STATIC exports nothing ${others:+($(echo $others))}" test -z "$others"
else
    skip 'names: there is no nm(1)'
fi

lines() { $CC -std=c99 -I. -E "$1" | grep -v '^#' | grep -c '[^[:space:]]'; }
printf '#include <stddef.h>\n#include <stdint.h>\n#include <stdbool.h>\n' >"$work/std.c"
cp "$work/std.c" "$work/mcp.c"; echo '#include "mcp.h"' >>"$work/mcp.c"
most 'preprocessed lines that an include adds' "$(($(lines "$work/mcp.c") - $(lines "$work/std.c")))" 700
most 'lines of mcp.h' "$(wc -l <mcp.h | tr -d ' ')" 22400
for e in examples/*.c; do
    case $e in
    examples/mcp.c)   continue;;                # a command, not a lesson
    examples/agent.c) limit=250;;               # a whole one, with an HTTP client
    *)                limit=100;;
    esac
    most "lines of $e" "$(wc -l <$e | tr -d ' ')" $limit
done
finish
