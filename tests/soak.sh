#!/bin/sh
# Random load on servers and clients, SOAK_SECONDS (30; 600 by hand) long, from SOAK_SEED (1): see soak.c.
. tests/lib.sh
# shellcheck disable=SC2086
if ! $CC -std=c99 -O1 $CPPFLAGS -I. $CFLAGS -o "$BUILD/soak" tests/soak.c $LDFLAGS -lpthread $LDLIBS >"$work/cc" 2>&1; then
    bad 'soak.c compiles' "$(cat "$work/cc")"; finish
fi
"$BUILD/soak" "${SOAK_SECONDS:-30}" "${SOAK_SEED:-1}"
