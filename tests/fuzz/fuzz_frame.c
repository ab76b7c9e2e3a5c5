/* clang -g -O1 -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_frame.c -o fuzz_frame
 * Framing: a server answers the same bytes with the same bytes, in whatever pieces they come and go. */
#define MCP_NO_POSIX
#define MCP_NO_CLIENT
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "fuzz.h"
static void echo(mcp_req *r, void *user) { (void)user; mcp_req_text(r, mcp_arg_str(r, "s", "")); }
static void quiet(int level, const char *text, void *user) { (void)level; (void)text; (void)user; }
static void serve(wire *x)
{
    mcp_server_desc d = {.name = "f", .version = "1", .io = wire_io(x), .max_message = 200,
                         .drain_ms = 1 << 24, .now_ms = fuzz_clock, .log = {.fn = quiet}};
    mcp_server *s = mcp_server_new(&d);
    MUST(s && mcp_server_tool(s, &(mcp_tool){.name = "e", .fn = echo}) == MCP_OK);
    while (mcp_server_step(s, NULL, 0) == MCP_OK) { }
    mcp_server_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    wire all = {.whole = 1}, pieces = {.whole = 0};
    fuzz_begin(data, size); serve(&all);
    fuzz_begin(data, size); serve(&pieces);
    MUST(pieces.cut ? pieces.len <= all.len : pieces.len == all.len);
    MUST(!pieces.len || memcmp(pieces.out, all.out, pieces.len) == 0);
    wire_end(&all); wire_end(&pieces);
    return 0;
}
