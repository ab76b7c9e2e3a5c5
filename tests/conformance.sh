#!/bin/sh
# The official conformance suite on build/conformance_server, and on build/conformance_client where that is built. The suite
# speaks HTTP only: the bridges beside this repository carry its words to and from stdio, and say themselves what they cannot
# carry; that part is not counted. npm puts the suite, and a node that is new enough, in exact versions into $CACHE the first time.
. tests/lib.sh
here=tests/conformance
rig=${CONFORMANCE:-../shared/conformance}
cache=${CACHE:-$BUILD/conformance}
[ -f "$rig/http2stdio.mjs" ] || { skip "no bridges in $rig: nothing was scored"; finish; }
for tool in node npm; do
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

new_enough='process.exit(process.versions.node.split(".")[0] >= 22 ? 0 : 1)'
node=$(command -v node)
for n in "$node" "$cache"/node_modules/node-linux-*/bin/node; do
    [ -x "$n" ] && "$n" -e "$new_enough" 2>/dev/null && node=$n && break
done
"$node" -e "$new_enough" || { skip "the suite wants node 22, this is $(node --version)"; finish; }
PATH=$(dirname "$node"):$PATH
export PATH
suite=$cache/node_modules/@modelcontextprotocol/conformance

# score WHAT DIR SCENARIOS CHECKS: all these are clean, and there is nothing else. What no stdio peer can be scored on is left out.
score()
{
    node "$rig/summarize.mjs" "$2" --fail --stdio >"$work/sum" 2>&1
    total=$(grep '^TOTAL' "$work/sum")
    if [ "$total" = "TOTAL scenarios=$3 clean=$3 checks: pass=$4 fail=0 warn=0 skip=0" ]; then ok "$1: $3 scenarios, $4 checks"
    else bad "$1: wanted $3 scenarios and $4 checks, all clean; got ${total:-nothing}" "$(grep -v '^ok\|^TOTAL' "$work/sum")"; fi
}

if [ -x "$BUILD/conformance_server" ]; then
    port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
    node "$rig/http2stdio.mjs" --port "$port" -- "$BUILD/conformance_server" >"$work/bridge" 2>&1 & bridge=$!
    node -e 'const t = () => require("net").connect(+process.argv[1], "localhost", () => process.exit()).on("error", () => setTimeout(t, 50)); t(); setTimeout(() => process.exit(1), 10000)' "$port" ||
        bad 'the bridge does not start' "$(cat "$work/bridge")"
    for rev in 2025-11-25 2026-07-28; do
        node "$suite/dist/index.js" server --url "http://localhost:$port/mcp" --requirements $rev -o "$work/server-$rev" >"$work/log" 2>&1
        case $rev in 2025*) scenarios=29 checks=74;; *) scenarios=36 checks=125;; esac
        score "server, $rev" "$work/server-$rev" $scenarios $checks
    done
    kill $bridge; wait $bridge 2>/dev/null
    complaints=$(grep -E 'NOT JSON|unroutable|unknown id|exited code=[^0n]|sig=SIG' "$work/bridge")
    if [ "$complaints" ]; then bad 'server: the bridge complains' "$complaints"; else ok 'server: the bridge has no complaint'; fi
else
    skip "no $BUILD/conformance_server"
fi

# The client's scenarios one at a time: all at once, as the suite would have it, they run into its deadlines on a small machine.
# Those that are about OAuth are no matter of stdio.
if [ -x "$BUILD/conformance_client" ]; then
    for rev in 2025-11-25 2026-07-28; do
        for s in $(cd "$cache" && node -e '
            const fs = require("fs"), y = require("yaml").parse(fs.readFileSync(process.argv[1], "utf8"));
            const all = [...y.client, ...(y.not_scored ?? []).filter(x => x.leg === "client").map(x => x.scenario)];
            console.log(all.filter(s => !s.startsWith("auth/")).join("\n"))' "$suite/requirements/$rev.yaml")
        do
            node "$suite/dist/index.js" client --command "$PWD/$BUILD/conformance_client $node $rig/stdio2http.mjs" \
                --scenario "$s" --spec-version $rev --force --timeout 30000 -o "$work/client-$rev" >"$work/log" 2>&1
        done
        case $rev in 2025*) scenarios=4 checks=17;; *) scenarios=5 checks=25;; esac
        score "client, $rev" "$work/client-$rev" $scenarios $checks
    done
else
    skip "no $BUILD/conformance_client: the client was not scored"
fi
finish
