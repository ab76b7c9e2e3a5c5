/* A server for a board: no malloc, no POSIX, no descriptors; one block of memory, bytes in and bytes out. It teaches mcp_pool,
   MCP_NO_POSIX, mcp_io and step. On a PC, stdin and stdout stand in for the serial line.
   cc -o fixed_server fixed_server.c */
#define MCP_NO_POSIX
#define MCP_NO_CLIENT
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <stdio.h>
#include <time.h>

/* The serial line: the interrupt handler puts a byte here, the server takes it. */
static struct { unsigned char byte; bool full, closed; } line_in;

static ptrdiff_t line_read(void *user, void *buf, size_t n)
{
    (void)user; (void)n;
    if (line_in.full) {
        line_in.full = false;
        *(unsigned char *)buf = line_in.byte;
        return 1;
    }
    return line_in.closed ? 0 : MCP_ERR_AGAIN;
}

static ptrdiff_t line_write(void *user, const void *buf, size_t n)
{
    (void)user;
    size_t sent = fwrite(buf, 1, n, stdout);
    fflush(stdout);
    return sent ? (ptrdiff_t)sent : MCP_ERR_TRANSPORT;
}

static int64_t ticks_ms(void *user)                     /* any clock that does not go back */
{
    (void)user;
    return (int64_t)clock() * 1000 / CLOCKS_PER_SEC;
}

static void led(mcp_req *req, void *user)
{
    bool *on = user;
    *on = mcp_arg_bool(req, "on", !*on);
    mcp_req_text(req, *on ? "The LED is on." : "The LED is off.");
}

int main(void)
{
    static char memory[16 * 1024];
    static bool led_on;
    mcp_pool pool;
    mcp_server *s = mcp_server_new(&(mcp_server_desc){
        .name = "board", .version = "1.0",
        .io = { .read = line_read, .write = line_write },
        .alloc = mcp_pool_init(&pool, memory, sizeof memory),
        .now_ms = ticks_ms,
        .max_message = 4096, .max_inflight = 4 });      /* what a peer may make us hold */
    mcp_server_tool(s, &(mcp_tool){
        .name = "led", .description = "Switch the LED on or off; without arguments: the other way.", .fn = led, .user = &led_on,
        .input_schema = MCP_JSON({"type": "object", "properties": {"on": {"type": "boolean"}}}) });

    int rc = MCP_OK;
    while (rc == MCP_OK) {
        int c = getchar();
        line_in.full = c != EOF;
        line_in.closed = c == EOF;
        line_in.byte = (unsigned char)c;
        rc = mcp_server_step(s, NULL, 0);               /* never blocks; call it when a byte came and when ticks pass */
    }
    if (rc != MCP_ERR_CLOSED) fprintf(stderr, "%s\n", mcp_server_error(s));
    mcp_server_free(s);
    fprintf(stderr, "at most %lu of %lu bytes were in use\n", (unsigned long)pool.peak, (unsigned long)pool.size);
    return rc != MCP_ERR_CLOSED;
}
