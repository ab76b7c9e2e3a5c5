#!/bin/sh
# Every compiler, language standard and combination of switches that makes sense, all warnings on and all of them errors. The header is
# compiled with its implementation unless said otherwise.
. tests/lib.sh
. tests/compile/flags.sh
src=tests/compile
sh $src/quick.sh >"$work/quick.txt"             # each of its lines counts here
grep -v ' passed, ' "$work/quick.txt"
eval "$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/passed=\1 failed=\2/p' "$work/quick.txt")"

# All sixteen combinations of the switches that take parts away.
switches()
{
    for s in '' -DMCP_NO_SERVER; do for c in '' -DMCP_NO_CLIENT; do for p in '' -DMCP_NO_POSIX; do for f in '' -DMCP_NO_PRINTF; do
        echo $s $c $p $f
    done; done; done; done
}

# Without what is about schemas, all of it or one half, for each half of the rest.
fewer()
{
    for h in '' -DMCP_NO_SERVER -DMCP_NO_CLIENT '-DMCP_NO_SERVER -DMCP_NO_CLIENT' -DMCP_NO_PRINTF -DMCP_NO_POSIX; do
        for v in -DMCP_NO_VALIDATE -DMCP_NO_SANITIZE '-DMCP_NO_VALIDATE -DMCP_NO_SANITIZE'; do echo $h $v; done
    done
}

n=0
compile() { n=$((n + 1)); name=$1; shift; try "$name" "$@" -I. -c -o "$work/$n.o"; }    # an object file for each: two run at a time

# shellcheck disable=SC2086  # flags are meant to be split
for cc in gcc clang; do
    have $cc || { skip "no $cc"; continue; }
    for how in 'c99 -O0' 'c99 -O2' 'c99 -Os' 'c11 -O0' 'c17 -O0' 'c2x -O0' 'c2x -O2' 'gnu99 -O0' 'gnu17 -O2'; do
        compile "$cc $how" $cc -std=$how $C_WARN $src/implementation.c
    done
    fewer >"$work/fewer"
    while read -r list; do
        compile "$cc c99 $list" $cc -std=c99 $C_WARN $list $src/implementation.c
    done <"$work/fewer"
    switches >"$work/switches"
    static=''                                   # one of the two compilers with it, the other without
    [ $cc = clang ] && static=-DMCP_STATIC
    while read -r list; do
        compile "$cc c99 $list $static" $cc -std=c99 $C_WARN $list $static $src/implementation.c
    done <"$work/switches"
    compile "$cc c99 -DMCP_MAX_DEPTH=64" $cc -std=c99 $C_WARN -DMCP_MAX_DEPTH=64 $src/implementation.c
    compile "$cc c99 -DNDEBUG -funsigned-char" $cc -std=c99 $C_WARN -DNDEBUG -funsigned-char -O2 $src/implementation.c
    for e in examples/*.c tests/fixtures/*.c; do
        seen=-DMCP_IMPLEMENTED                  # it was compiled above; but for those that have switches of their own
        alone $e && seen=''
        compile "$cc c99 $e" $cc -std=c99 $C_WARN $seen $e
    done
    settle
done
# shellcheck disable=SC2086
for cxx in g++ clang++; do
    have $cxx || { skip "no $cxx"; continue; }
    for std in c++11 c++14 c++17 c++20; do
        compile "$cxx $std header" $cxx -std=$std $CXX_WARN -x c++ $src/header.c
        compile "$cxx $std implementation" $cxx -std=$std $CXX_WARN -x c++ $src/implementation.c
        compile "$cxx $std program" $cxx -std=$std $CXX_WARN $src/cplusplus.cpp
    done
    compile "$cxx c++11 -fno-exceptions -fno-rtti" $cxx -std=c++11 -fno-exceptions -fno-rtti $CXX_WARN -x c++ $src/implementation.c
    switches >"$work/switches"
    while read -r list; do
        compile "$cxx c++11 $list" $cxx -std=c++11 $CXX_WARN $list -x c++ $src/implementation.c
    done <"$work/switches"
    settle
done

# shellcheck disable=SC2086
try 'c99: twice in one file, compiled' $CC -std=c99 $C_WARN -I. -c $src/twice.c -o "$work/twice1.o"
try 'gnu99: the header first, then the implementation' $CC -std=gnu99 -DHEADER_FIRST $C_WARN -I. -c $src/twice.c -o "$work/twice2.o"
try 'two files with MCP_STATIC' $CC -std=c99 $C_WARN -DMCP_STATIC -I. $src/unit_a.c $src/unit_b.c -o "$work/two_static"
settle
check 'two files with MCP_STATIC run' "$work/two_static"

# Compilers and libraries of other kinds: compiled and run.
other()
{
    name=$1; shift
    "$@" -I. $src/implementation.c -o "$work/other" >"$work/other.log" 2>&1
    if [ $? = 0 ] && [ ! -s "$work/other.log" ] && "$work/other"; then ok "$name"; else bad "$name" "$(cat "$work/other.log")"; fi
}
can() { echo 'int main(void){return 0;}' >"$work/can.c"; "$@" "$work/can.c" -o "$work/can" >/dev/null 2>&1; }
# shellcheck disable=SC2086
{
for cc in gcc clang; do
    if have $cc && can $cc -m32 && echo '#include <errno.h>' | $cc -m32 -E - >/dev/null 2>&1; then
        other "$cc -m32" $cc -m32 -std=c99 -O2 $C_WARN
        compile "$cc -m32 -DMCP_NO_POSIX" $cc -m32 -std=c99 -Os -DMCP_NO_POSIX $C_WARN $src/implementation.c
        settle
    else skip "no 32-bit C library for $cc"; fi
done
if have musl-gcc; then other 'musl-gcc -static' musl-gcc -static -std=c99 -Os $C_WARN; else skip 'no musl-gcc'; fi
if have tcc; then other tcc tcc -std=c99 -Wall -Werror; else skip 'no tcc'; fi
}
finish
