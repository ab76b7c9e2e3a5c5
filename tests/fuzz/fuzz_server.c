/* clang -g -O1 -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_server.c -o fuzz_server
 * A server on any bytes, with handlers that do what a handler may do (fuzz_server.h), in an order that the bytes choose. */
#define MCP_NO_POSIX
#define MCP_NO_CLIENT
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "fuzz.h"
#include "fuzz_server.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mcp_server_desc d = {.name = "f", .version = "1", .capabilities = "{\"logging\":{}}", .max_message = 5000, .max_inflight = 6,
                         .max_peers = 3, .drain_ms = 50, .now_ms = fuzz_clock, .state_key = "k", .state_key_size = 1, .ask_timeout_ms = 200, .log = {.fn = quiet, .level = 3}};
    int i;
    fuzz_begin(data, size);
    memset(later, 0, sizeof later);
    freed = 0;
    d.io = wire_io(&wires[0]);
    d.page_size = (int)fuzz_pick(4);
    d.max_subscriptions = 4;
    d.max_queue = fuzz_pick(2) ? 200 : 0;
    if (fuzz_pick(2)) d.visible = sees;
    d.alloc = fuzz_memory();
    server = mcp_server_new(&d);
    MUST(server || fuzz.fails);
    for (i = (int)fuzz_pick(6); i > 0; i--) { char name[2] = {(char)('a' + fuzz_pick(9)), 0}; (void)add_any(name); }
    if (add_tool("t") == MCP_OK) MUST(mcp_server_method(server, "notifications/x", act, NULL) == MCP_OK || fuzz.fails);
    for (i = 0; i < 20000 && mcp_server_step(server, NULL, 0) == MCP_OK; i++) act_outside();
    MUST(i < 20000);
    if (!freed) mcp_server_free(server);
    for (i = 0; i < 8; i++) { MUST(!later[i].id || later[i].tried); wire_end(&wires[i]); }    /* answered, or on_cancel */
    return 0;
}
