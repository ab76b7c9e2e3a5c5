#!/bin/sh
# The examples do what they say: output and exit status of each. Wants them built in $BUILD.
. tests/lib.sh
PATH=$BUILD:$PATH
export PATH

# says NAME STATUS PATTERN COMMAND...: the command ends with that status, and its output has a line like the pattern (grep's)
says()
{
    name=$1 status=$2 pattern=$3; shift 3
    "$@" >"$work/out" 2>&1 </dev/null
    s=$?
    if [ $s = "$status" ] && grep -q -e "$pattern" "$work/out"; then ok "$name"
    else bad "$name: status $s, wanted $status and /$pattern/" "$(cat "$work/out")"; fi
}

says 'hello_client lists'            0 '^greet: Say hello to someone\.$'    hello_client hello_server
says 'hello_client calls'            0 '^Hello, C!$'                        hello_client hello_server
says 'hello_client: no such server'  1 'cannot start "no_such_server"'      hello_client no_such_server
for era in auto modern legacy; do
    says "mcp tools, $era"           0 '^ *name: string$'                   mcp tools --era $era -- hello_server
    says "mcp call, $era"            0 '^Hello, you!$'                      mcp call --era $era greet '{"name": "you"}' -- hello_server
    says "mcp info, $era"            0 '^name  *hello$'                     mcp info --era $era hello_server
    says "mcp ping, $era"            0 'answers in'                         mcp ping --era $era hello_server
    says "mcp call fails, $era"      1 'this tool always fails'             mcp call --era $era fail -- faults_server
    says "mcp, the server's error, $era" 4 '.'                              mcp call --era $era no_such_tool '{}' -- hello_server
done
says 'mcp info, legacy is told'      0 '^protocol  *2025-11-25, legacy'     mcp info --era legacy -- hello_server
says 'mcp info, auto finds modern'   0 '^protocol  *2026-07-28, modern'     mcp info -- hello_server
says 'mcp call without arguments'    0 '^Hello, world!$'                    mcp call greet -- hello_server
says 'mcp call --json'               0 '^{.*"text":"Hello, world!"'         mcp call --json greet -- hello_server
says 'mcp tools --json'              0 '^{"tools":\[{"name":"greet",'       mcp tools --json hello_server
says 'mcp call, arguments on stdin'  0 '^Hello, pipe!$'                     sh -c 'echo "{\"name\":\"pipe\"}" | mcp call greet - -- hello_server'
says 'mcp --help'                    0 '^exit status:'                      mcp --help
says 'mcp --version'                 0 '^mcp [0-9]'                         mcp --version
says 'mcp alone'                     2 'Try'                                mcp
says 'mcp, no such option'           2 'no such option: --frob'             mcp tools --frob
says 'mcp, no such era'              2 'no such era: old'                   mcp tools --era old hello_server
says 'mcp, no such command'          2 'no such command: frob'              mcp frob -- hello_server
says 'mcp, no server'                2 'which server'                       mcp tools
says 'mcp call, arguments not JSON'  2 'not a JSON object'                  mcp call greet '{"name": ' -- hello_server
says 'mcp call, arguments no object' 2 'not a JSON object'                  mcp call greet '[1]' -- hello_server
says 'mcp call, arguments that do not fit' 2 '\$\.name: '                 mcp call greet '{"name": 7}' -- hello_server
says 'mcp call --no-check'           1 '.'                                  mcp call --no-check greet '{"name": 7}' -- hello_server
says 'mcp schema'                    0 '^{"type":"object","properties":{"name":{"type":"string"' mcp schema greet -- hello_server
says 'mcp schema --profile'          0 '"type":\["string","null"\]'         mcp schema --profile openai-strict greet -- hello_server
says 'mcp schema, no such tool'      2 'no such tool: grate'                mcp schema grate -- hello_server
says 'mcp schema, no such profile'   2 'no such profile: grate'             mcp schema --profile grate greet -- hello_server
says 'mcp, cannot start'             3 'cannot start "no_such_server": not found in PATH'  mcp tools no_such_server
says 'mcp, a server that exits'      3 'exited with status 7'               mcp tools -- sh -c 'exit 7'
says 'mcp call -t'                   5 '.'                                  mcp call -t 0.3 slow '{"ms": 20000}' -- faults_server
# The command between: sh gives a job in the background no stdin of its own.
says 'a server that dies in a call'  6 'exited with status 9'               mcp call slow '{"ms": 20000}' -- \
    sh -c 'exec 3<&0; faults_server <&3 & sleep 1; kill -9 $!; exit 9'
says 'worker_server counts'          0 '^9592 primes below 100000$'         mcp call primes '{"below": 100000}' -- worker_server
says 'worker_server, EOF while it works' 5 '.'                              mcp call -t 0.2 primes '{"below": 4000000000}' -- worker_server
says 'loop_client: an answer'        0 '^a short one: 9592 primes'          loop_client worker_server
check 'loop_client: a deadline'      grep -q '^one with 500 ms.*: no answer' "$work/out"
check 'loop_client: a cancel'        grep -q '^one that will be cancelled: cancelled' "$work/out"
says 'fixed_server'                  0 '^The LED is on\.$'                  mcp call led '{"on": true}' -- fixed_server
says 'fixed_server tells its memory' 0 '^at most [0-9]* of [0-9]* bytes'    mcp call led -- fixed_server
says 'ask_server, who cannot ask'    4 'error -32021'                       mcp call order -- ask_server

# ask_server: both questions are answered in advance. Its first question has the id 1, the second 2.
legacy()
{
    printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}}' \
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order"}}' \
        '{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"drink":"tea","cups":2}}}' \
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":$1}" | ask_server
}
modern()
{
    meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}'
    printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order","inputResponses":{"drink":{"action":"accept","content":{"drink":"tea","cups":2}},"sure":'"$1},$meta}}" | ask_server
}
yes='{"action":"accept","content":{"sure":true}}' no='{"action":"decline"}'
says 'ask_server, legacy'            0 '"text":"Order 1 is on its way\."'   legacy "$yes"
check 'ask_server asks in sequence'  grep -q '"id":2,"method":"elicitation/create","params":{"message":"2 tea: is that right?"' "$work/out"
says 'ask_server, modern'            0 '"text":"Order 1 is on its way\."'   modern "$yes"
says 'ask_server, legacy, no'        0 '"text":"Nothing was ordered\."'     legacy "$no"
says 'ask_server, modern, no'        0 '"text":"Nothing was ordered\."'     modern "$no"

# docs_server: one session of lines; the changes are told when all that was read is done.
ask() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":{%s}}\n' "$1" "$2" "$3"; }
{
    ask 1 initialize '"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}'
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    ask 2 resources/subscribe '"uri":"docs://page/hello"'
    ask 3 completion/complete '"ref":{"type":"ref/prompt","name":"explain"},"argument":{"name":"page","value":"h"}'
    ask 4 tools/call '"name":"edit","arguments":{"page":"hello","text":"a new text"}'
    ask 5 resources/read '"uri":"docs://page/hello"'
    ask 6 prompts/get '"name":"explain","arguments":{"page":"hello"}'
    ask 7 resources/read '"uri":"docs://page/nothing"'
    ask 8 resources/read '"uri":"docs://pages"'
} >"$work/docs"
says 'docs_server: a page'           0 '"id":5.*"uri":"docs://page/hello".*a new text'  sh -c "docs_server <$work/docs"
for line in 'completion:"id":3.*"values":\["hello"\]' 'prompt:"id":6.*"role":"user".*a new text' 'no such page:"id":7.*-32002.*docs://page/nothing' \
            'all pages:"id":8.*docs://page/install.*docs://page/loop' 'change:resources/updated.*docs://page/hello'; do
    check "docs_server: ${line%%:*}" grep -q -e "${line#*:}" "$work/out"
done

# What the server asks, and what else it has. typed TEXT COMMAND...: the command, with that typed into it.
typed() { text=$1; shift; printf "$text" | "$@"; }
asked() { name=$1 pattern=$2 text=$3; shift 3; says "$name" 0 "$pattern" typed "$text" "$@"; }
asked 'ask_client: a form'           '1 soup$'                              'soup\n\n'               ask_client order '{}' scripted_server
check 'ask_client: progress'         grep -q '50% thinking'                 "$work/out"
asked 'ask_client: asks again'       '3 soup$'                              'pizza\n\nsoup\n20\nsoup\n3\n' ask_client order '{}' scripted_server
check 'ask_client: says why'         grep -q 'dish is not one of the choices' "$work/out"
says 'ask_client: nothing is typed'  1 'cancel'                             ask_client order '{}' scripted_server
says 'mcp call: nobody to ask'       6 'is not among the client'            mcp call order -- scripted_server
if have script && [ "$(uname)" = Linux ]; then
    asked 'mcp call, on a terminal'  '2 salad'                              'salad\n2\n' script -qec 'mcp call order -- scripted_server' /dev/null
fi
# A legacy server may ask by any method: what is no question to the user is refused, not asked.
cat >"$work/curious" <<'EOS'
reply() { id=${line#*\"id\":}; printf '{"jsonrpc":"2.0","id":%s,%s}\n' "${id%%[,\}]*}" "$1"; }
read -r line
case $line in *server/discover*) reply '"error":{"code":-32601,"message":"?"}'; read -r line;; esac
reply '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"curious","version":"1"}}'
read -r line
read -r line
echo '{"jsonrpc":"2.0","id":"q","method":"no/such/method","params":{}}'
read -r answer
case $answer in *'"id":"q"'*-32601*) word=refused;; *) word=answered;; esac
reply '"result":{"content":[{"type":"text","text":"'$word'"}]}'
EOS
asked 'ask_client: no such question' '^refused$'                            '' ask_client any '{}' sh "$work/curious"
asked 'mcp call: no such question'   '^refused$'                            '' mcp call --no-check any -- sh "$work/curious"
says 'mcp resources'                 0 '^file:///{path}$'                   mcp resources -- scripted_server
check 'mcp resources: names'         grep -q '^    A file, text/plain$'     "$work/out"
says 'mcp resources --json'          0 '^{"resources":\[{"uri":"file:///a".*"resourceTemplates":\[' mcp resources --json -- scripted_server
says 'mcp read'                      0 '^bc$'                               mcp read file:///a -- scripted_server
says 'mcp prompts'                   0 '^      code, required$'             mcp prompts scripted_server
says 'mcp prompt'                    0 '^user: Review it\.$'                mcp prompt review '{"code": "x"}' -- scripted_server
says 'mcp prompt, wrong arguments'   2 'not a JSON object'                  mcp prompt review '[]' -- scripted_server
says 'mcp complete'                  0 '^pytorch$'                          mcp complete review code py -- scripted_server
says 'mcp complete, a template'      0 '^pytorch$'                          mcp complete 'file:///{path}' path -- scripted_server
says 'mcp complete, of what?'        2 'which argument of it'               mcp complete review -- scripted_server
says 'mcp watch'                     0 '^tools/list_changed$'               mcp watch -- scripted_server and then stop

# agent: a conversation with an endpoint that follows a script. The third server has a key that providers refuse, and shows images.
cat >"$work/pictures" <<'EOS'
reply() { id=${line#*\"id\":}; printf '{"jsonrpc":"2.0","id":%s,%s}\n' "${id%%[,\}]*}" "$1"; }
while read -r line; do
    case $line in
    *server/discover*) reply '"error":{"code":-32601,"message":"?"}';;
    *'"initialize"'*) reply '"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"pictures","version":"1"}}';;
    *tools/list*) reply '"result":{"tools":[{"name":"shot","inputSchema":{"type":"object","properties":{"$top":{"type":"integer"}}}},{"name":""}]}';;
    *'"$top":3'*) reply '"result":{"content":[{"type":"text","text":"three"},{"type":"image","mimeType":"image/png","data":"iVBORw0KGgo="}]}';;
    *tools/call*) reply '"error":{"code":-32602,"message":"no $top"}';;
    esac
done
EOS
wants() { printf '{"id":"%s","type":"function","function":{"name":"%s","arguments":"%s"}}' "$1" "$2" "$(echo "$3" | sed 's/"/\\"/g')"; }
turn()  { echo "{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[$1]}"; }
{
    turn "$(wants c1 mcp__hello__greet '{"name": "C"}'),$(wants c2 mcp__f__fail '{}')"
    turn "$(wants c3 MCP__Hello__greet '{"name": "again"}'),$(wants c4 mcp__hello__great '{}'),$(wants c5 mcp__f__echo '{"text": ')"
    turn "$(wants c6 mcp__f__echo '{"text": "x"}')"
    echo '{"role":"assistant","content":"That was all."}'
    echo '! 500 {"error":"out of order"}'
    echo 'hang up'
    turn "$(wants c7 mcp__pics__shot '{"top": 3}'),$(wants c8 shot '{"top": 4}')"
    echo '{"role":"assistant","content":"A \u001b[31mpicture."}'
} >"$work/script"
scripted_endpoint "$work/script" "$work/requests" & endpoint=$!
i=0; while [ ! -s "$work/requests" ] && [ $i -lt 50 ]; do sleep 0.1; i=$((i + 1)); done
asked 'agent: a conversation'        'A ?\[31mpicture\.$'                  'Greet me.\na\ny\nn\nOnce more.\nPlease.\nShow it.\na\n' \
    agent -u "http://127.0.0.1:$(head -n 1 "$work/requests")/v1" -m m -P anthropic -i -- hello=hello_server -- f=faults_server -- pics=sh "$work/pictures"
wait $endpoint
check 'agent: asks before it calls'  grep -q '^\* mcp__hello__greet {"name":"C"}$' "$work/out"
check 'agent: asks four times in all' test "$(grep -o 'Call it?' "$work/out" | wc -l | tr -d ' ')" = 4
check 'agent: tells what it leaves out' grep -q 'pics: "" is left out: it has no name' "$work/out"
check 'agent: an endpoint that fails' grep -q 'status 500 {"error":"out of order"}' "$work/out"
check 'agent: one that hangs up'     grep -q 'status 200 and hangs up' "$work/out"
while IFS='|' read -r n name pattern; do
    check "agent, request $n: $name" sh -c 'sed -n "$1p" "$2" | grep -q -F -e "$3"' - $((n + 1)) "$work/requests" "$pattern"
done <<'EOS'
1|the tools|"tools":[{"type":"function","function":{"name":"mcp__hello__greet","description":"Say hello to someone.","parameters":{"type":"object"
1|a key that is legal|{"name":"mcp__pics__shot","parameters":{"type":"object","properties":{"top":{"type":"integer"}}}}
2|a result|"messages":[{"role":"user","content":"Greet me."},{"role":"assistant","content":null,"tool_calls":[{"id":"c1",
2|both results in order|{"role":"tool","tool_call_id":"c1","content":"Hello, C!"},{"role":"tool","tool_call_id":"c2","content":"The tool reported an error:\nthis tool always fails"}]
3|a name written otherwise|{"role":"tool","tool_call_id":"c3","content":"Hello, again!"}
3|no such tool|{"role":"tool","tool_call_id":"c4","content":"There is no tool \"mcp__hello__great\".
3|arguments that are no JSON|{"role":"tool","tool_call_id":"c5","content":"The arguments of \"mcp__f__echo\" are not valid JSON from byte 9 on
4|a refusal|{"role":"tool","tool_call_id":"c6","content":"The user does not allow this call."}]
7|what was said goes on|"That was all."},{"role":"user","content":"Once more."},{"role":"user","content":"Please."},{"role":"user","content":"Show it."}]
8|keys come back|{"role":"tool","tool_call_id":"c7","content":"three\n[image, image/png, 8 bytes: it follows]"}
8|an error of the server|{"role":"tool","tool_call_id":"c8","content":"The call failed: no $top (error -32602)"}
8|an image follows|{"role":"user","content":[{"type":"text","text":"From the tool mcp__pics__shot, call c7:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}]}]
EOS
says 'mcp schema --explain'          0 '^#.*top'                            mcp schema --explain --profile anthropic shot -- sh "$work/pictures"
says 'agent: nobody is there'        0 'nobody answers at http://127.0.0.1:1/v1' sh -c 'echo hello | agent -u http://127.0.0.1:1/v1 -- h=hello_server'
says 'agent: usage'                  2 '^usage: agent'                      agent
says 'agent: no such profile'        2 '^usage: agent'                      agent -P no-such-one -- h=hello_server

# unix_server: two clients, one after the other, to one server.
# shellcheck disable=SC2086
if $CC -std=c99 $CPPFLAGS $CFLAGS -I. -o "$work/unix_client" tests/fixtures/unix_client.c $LDFLAGS -lpthread $LDLIBS; then
    unix_server "$work/s" & server=$!
    i=0; while [ ! -S "$work/s" ] && [ $i -lt 50 ]; do sleep 0.1; i=$((i + 1)); done
    says 'unix_server'               0 '^Hello, stranger on the socket!$'   "$work/unix_client" "$work/s"
    says 'unix_server, once more'    0 '^Hello, stranger on the socket!$'   "$work/unix_client" "$work/s"
    kill $server; wait $server 2>/dev/null
else
    bad 'unix_client does not compile'
fi
finish
