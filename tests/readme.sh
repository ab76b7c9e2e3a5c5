#!/bin/sh
# What README promises: its server and its client compile with its one line, without a warning, and talk to each other; and
# every `make` target and file it names is there.
. tests/lib.sh
# The n-th C block.
block() { awk -v want="$1" '/^```c$/ { n++; on = n == want; next } /^```/ { on = 0 } on' README.md; }
block 1 >"$work/hello.c"
block 2 >"$work/client.c"
cp mcp.h "$work/"
line=$(grep '^cc -o hello hello.c$' README.md)
check 'README has the one line' test "$line" = 'cc -o hello hello.c'
# shellcheck disable=SC2086  # the reader's compiler, with its defaults
( cd "$work" && $CC $CPPFLAGS $CFLAGS -Wall -Wextra -o hello hello.c $LDFLAGS ) >"$work/log" 2>&1 &
# shellcheck disable=SC2086
( cd "$work" && $CC $CPPFLAGS $CFLAGS -Wall -Wextra -o client client.c $LDFLAGS ) >"$work/client.log" 2>&1
wait
cat "$work/client.log" >>"$work/log"
{ printf '#include "mcp.h"\n'; block 4; block 5; echo 'int main(void) { book(NULL, NULL); answer(NULL, NULL, NULL, NULL, NULL); return 0; }'; } >"$work/book.c"
( cd "$work" && $CC $CPPFLAGS $CFLAGS -Wall -Wextra -c book.c ) >"$work/book.log" 2>&1
check 'its handler that asks, and its answer to a model, compile without a warning' test ! -s "$work/book.log"
check 'its server and client compile without a warning' test ! -s "$work/log"
check 'they talk to each other' test "$(cd "$work" && ./client 2>&1)" = 'Hello, C!'
for target in $(grep -o 'make [a-z][a-z-]*' README.md | sed 's/make //' | sort -u) \
              $(grep -o '`check-[a-z-]*`' README.md | tr -d '\`' | sort -u); do
    check "make $target" grep -q "^$target:" Makefile
done
for file in $(grep -o '`[a-z_]*\.c`' README.md | tr -d '\`' | sort -u); do
    [ $file = hello.c ] || check "examples/$file" test -f "examples/$file"
done
most 'lines of README' "$(wc -l <README.md | tr -d ' ')" 250
finish
