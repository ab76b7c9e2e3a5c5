#!/bin/sh
# The official conformance suite on build/conformance_server, and on build/conformance_client where that is built. The suite
# speaks HTTP only: the bridges beside this repository carry its words to and from stdio, and say themselves what they cannot
# carry; that part is not counted. npm puts the suite, and a node that is new enough, in exact versions into $CACHE the first time.
. tests/lib.sh
here=tests/conformance
rig=${CONFORMANCE:-../shared/conformance}
cache=${CACHE:-$BUILD/conformance}
[ -f "$rig/score-stdio-server.sh" ] || { skip "no bridges in $rig: nothing was scored"; finish; }
for tool in bash node npm; do
    have $tool || { skip "no $tool: nothing was scored"; finish; }
done
mkdir -p "$cache"
cache=$(cd "$cache" && pwd)
rig=$(cd "$rig" && pwd)
if ! cmp -s $here/package-lock.json "$cache/installed"; then
    cp $here/package.json $here/package-lock.json "$cache/"
    if ! (cd "$cache" && npm ci --ignore-scripts --no-audit --no-fund) >"$cache/npm.log" 2>&1; then
        tail -n 5 "$cache/npm.log"
        skip 'npm could not install the suite'; finish
    fi
    cp $here/package-lock.json "$cache/installed"
fi

# Where the rig's own setup looks for what it would else install.
new_enough='process.exit(process.versions.node.split(".")[0] >= 22 ? 0 : 1)'
node=$(command -v node)
for n in "$node" "$cache"/node_modules/node-linux-*/bin/node; do
    [ -x "$n" ] && "$n" -e "$new_enough" 2>/dev/null && node=$n && break
done
"$node" -e "$new_enough" || { skip "the suite wants node 22, this is $(node --version)"; finish; }
mkdir -p "$cache/node22/node_modules/.bin" "$cache/conf"
ln -sfn "$node" "$cache/node22/node_modules/.bin/node"
ln -sfn "$cache/node_modules" "$cache/conf/node_modules"
MCP_CACHE=$cache
export MCP_CACHE

# score WHAT FILE SCENARIOS CHECKS: a summary in which all these are clean, and nothing else is.
score()
{
    total=$(grep '^TOTAL' "$2")
    if [ "$total" = "TOTAL scenarios=$3 clean=$3 checks: pass=$4 fail=0 warn=0 skip=0" ]; then ok "$1: $3 scenarios, $4 checks"
    else bad "$1: wanted $3 scenarios and $4 checks, all clean; got ${total:-nothing}" "$(grep -v '^ok\|^TOTAL' "$2")"; fi
}

out=$work/server
if [ -x "$BUILD/conformance_server" ]; then
    port=$("$node" -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
    bash "$rig/score-stdio-server.sh" "$out" "$port" "$BUILD/conformance_server" >"$work/score" 2>&1
    for rev in 2025-11-25 2026-07-28; do
        sed -n "/^== $rev/,/^TOTAL/p" "$work/score" >"$work/$rev"
        case $rev in 2025*) scenarios=29 checks=74;; *) scenarios=36 checks=125;; esac
        score "server, $rev" "$work/$rev" $scenarios $checks
    done
    sed '/^==/,/^TOTAL/d' "$work/score" >"$work/complaints"
    if [ -s "$work/complaints" ]; then bad 'server: the bridge has no complaint' "$(cat "$work/complaints")"
    else ok 'server: the bridge has no complaint'; fi
else
    skip "no $BUILD/conformance_server"
fi

if [ -x "$BUILD/conformance_client" ]; then
    for rev in 2025-11-25 2026-07-28; do
        bash "$rig/run-client.sh" $rev "$work/client-$rev" "$PWD/$BUILD/conformance_client $node $rig/stdio2http.mjs" noauth >"$work/log" 2>&1
        "$node" "$rig/summarize.mjs" "$work/client-$rev" --fail --stdio >"$work/$rev" 2>&1
        case $rev in 2025*) scenarios=4 checks=17;; *) scenarios=5 checks=25;; esac
        score "client, $rev" "$work/$rev" $scenarios $checks
    done
else
    skip "no $BUILD/conformance_client: the client was not scored"
fi
finish
