#!/bin/sh
# Our servers with other people's clients, and our client with other people's servers; all in exact versions (package.json),
# over pipes. npm puts them into $BUILD/peers the first time.
. tests/lib.sh
for tool in node npm; do
    have $tool || { skip "no $tool: nothing was tried with other implementations"; finish; }
done
here=tests/peers
dir=$BUILD/peers
mkdir -p "$dir"
if ! cmp -s $here/package-lock.json "$dir/installed"; then
    cp $here/package.json $here/package-lock.json "$dir/"
    if ! (cd "$dir" && npm ci --ignore-scripts --no-audit --no-fund) >"$dir/npm.log" 2>&1; then
        tail -n 5 "$dir/npm.log"
        skip 'npm could not install the other implementations'; finish
    fi
    cp $here/package-lock.json "$dir/installed"
fi

# The Inspector wants a newer node than many systems have; npm has that too.
node=node
new_enough='const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || a === 22 && b >= 19 ? 0 : 1)'
if ! node -e "$new_enough"; then
    for n in "$dir"/node_modules/node-linux-*/bin/node; do [ -x "$n" ] && "$n" -e "$new_enough" && node=$n; done
fi
"$node" -e "$new_enough" || { skip "the Inspector and chrome-devtools-mcp want node 22.19, this is $(node --version)"; }
rm -rf "$work"
exec "$node" $here/check.mjs "$BUILD" "$dir/node_modules"
