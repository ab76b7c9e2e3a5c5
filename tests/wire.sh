#!/bin/sh
# Everything that the tests in memory make servers and clients say, against the schemas of the protocol, revision by revision.
. tests/lib.sh
here=tests/wire
schemas=${SCHEMAS:-../shared/data/mcp-schema}
dir=$BUILD/wire
[ -f "$schemas/2026-07-28.json" ] || { skip "no schemas in $schemas: nothing was held against them"; finish; }
for tool in node npm; do
    have $tool || { skip "no $tool: nothing was held against the schemas"; finish; }
done
mkdir -p "$dir"
if ! cmp -s $here/package-lock.json "$dir/installed"; then
    cp $here/package.json $here/package-lock.json "$dir/"
    if ! (cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund) >"$dir/npm.log" 2>&1; then
        tail -n 5 "$dir/npm.log"
        skip 'npm could not install the validator'; finish
    fi
    cp $here/package-lock.json "$dir/installed"
fi
for t in test_server test_features test_ask test_client test_client2; do
    [ -f tests/$t.c ] || continue
    # shellcheck disable=SC2086  # flags are meant to be split
    try "$t, with its streams kept" sh -c "$CC -std=c99 -O1 $CPPFLAGS -I. $CFLAGS -o '$work/$t' tests/$t.c $LDFLAGS -lpthread $LDLIBS &&
        MCP_TEST_WIRE='$work/$t.wire' '$work/$t' >'$work/$t.log' || cat '$work/$t.log'"
done
settle
node $here/check.mjs "$dir" "$schemas" "$work"/*.wire >"$work/said"
sum=$(tail -n 1 "$work/said")
eval "$(echo "$sum" | sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/p=\1 f=\2/p')"
if [ "$p" ]; then passed=$((passed + p)) failed=$((failed + f)); else failed=$((failed + 1)); fi
echo "messages against their schemas: $sum"
sed '$d' "$work/said" | head -n 100
finish
