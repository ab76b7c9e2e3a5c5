#!/bin/sh
# What `make demo` shows: real clients talk to real servers, each its own process.
cd "${1:-build}" || exit 1
PATH=.:$PATH
run() { printf '\n$ %s\n' "$*"; "$@"; s=$?; [ $s = 0 ] || printf '(exit status %s)\n' $s; }

echo "A client starts a server, lists its tools and calls one:"
run hello_client hello_server

echo; echo "The command mcp does that with any server:"
run mcp info -- hello_server
run mcp tools -- worker_server
run mcp call greet '{"name": "world"}' -- hello_server
run mcp call --json greet '{"name": "world"}' -- hello_server
run mcp call --json --era legacy greet '{"name": "world"}' -- hello_server
run mcp ping -- hello_server

echo; echo "A server that counts in a thread, with progress (a bar, on a terminal):"
run mcp call primes '{"below": 3000000}' -- worker_server

echo; echo "Three calls at once in one poll loop: one is answered, one runs into its deadline, one is cancelled:"
run loop_client worker_server </dev/null

echo; echo "A server without malloc and without POSIX, in one block of memory:"
run mcp call led '{"on": true}' -- fixed_server

echo; echo "A server that asks the user, line by line as a legacy client reads it, who answers in advance:"
meta='"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}'
printf '%s\n' \
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"sh","version":"1"}}}' \
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order"}}' \
    '{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"drink":"tea","cups":2}}}' \
    '{"jsonrpc":"2.0","id":2,"result":{"action":"accept","content":{"sure":true}}}' | run ask_server
echo; echo "The same for a modern client, who has not answered yet:"
printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"order",'"$meta}}" | run ask_server

echo; echo "Failures are sentences:"
run mcp tools -- no_such_server
run mcp call greeet -- hello_server
run mcp call order -- ask_server
run mcp call -t 0.5 primes '{"below": 4000000000}' -- worker_server
exit 0
