/* clang -g -O1 -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_client.c -o fuzz_client
 * A client on any bytes, with callbacks that do what a callback may do (fuzz_client.h), in an order that the bytes choose. */
#define MCP_NO_POSIX
#define MCP_NO_SERVER
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "fuzz.h"
#include "fuzz_client.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_client_desc d = {.name = "f", .version = "1", .capabilities = "{\"roots\":{},\"sampling\":{},\"elicitation\":{\"form\":{},\"url\":{}}}", .max_message = 5000, .max_pending = 20,
                         .max_rounds = 4,
                         .max_pages = 5, .start_timeout_ms = 900, .probe_ms = 60, .now_ms = fuzz_clock, .on_ready = on_ready,
                         .on_notify = on_notify, .on_ask = on_ask, .log = {.fn = quiet, .level = 3}};
    int i;
    fuzz_begin(data, size);
    memset(sent, 0, sizeof sent); freed = readied = 0;
    d.io = wire_io(&peer);
    d.era = (int)fuzz_pick(3);
    d.alloc = fuzz_memory();
    d.cache_bytes = fuzz_pick(2) ? 2000 : 0;
    client = mcp_client_new(&d);
    if (!client) { MUST(fuzz.fails); return 0; }
    for (i = 0; i < 20000 && !freed && mcp_client_step(client, NULL, 0) == MCP_OK; i++) act();
    MUST(i < 20000 && (freed || mcp_client_error(client)[0]));
    if (!freed) mcp_client_free(client);
    for (i = 0; i < SENT; i++) MUST(sent[i].done == sent[i].open);     /* each was called back once, and none is left */
    MUST(peer.closed && readied == 1);
    wire_end(&peer);
    return 0;
}
