#!/bin/sh
# The fault suite beside this repository, if it is there: cases on the wire for a JSON program, a server and a client.
. tests/lib.sh
dir=${FAULTS:-../shared/faults}
if [ ! -f "$dir/run.py" ]; then skip "no fault suite in $dir"; finish; fi
if ! have python3; then skip 'no python3'; finish; fi
for kind in json server client; do
    if [ ! -x "$BUILD/faults_$kind" ]; then skip "no $BUILD/faults_$kind"; continue; fi
    python3 "$dir/run.py" $kind ${SCALE:+--scale "$SCALE"} -- "$BUILD/faults_$kind" >"$work/$kind" 2>&1
    sum=$(tail -n 1 "$work/$kind")
    echo "$kind: $sum"
    eval "$(echo "$sum" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed.*/p=\1 f=\2/p')"
    if [ "$p" ]; then passed=$((passed + p)) failed=$((failed + f)); else failed=$((failed + 1)); fi
    [ "$f" = 0 ] || sed '$d' "$work/$kind" | grep -v '^ok' | tail -n 60
    p='' f=''
done
finish
