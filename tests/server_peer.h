/* A server in memory: what the tests of the server share. Included after mcp.h and test.h.
 *
 * join() attaches a peer to a server through a pair of streams in memory; say() sends one line and returns all that came back.
 * The clock is fake_now. */
#ifndef MCP_TEST_PEER_H
#define MCP_TEST_PEER_H

#define J(...) #__VA_ARGS__
#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define INIT J({"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}})
#define INITIALIZED J({"jsonrpc":"2.0","method":"notifications/initialized"})

MCP_UNUSED static long allocations, live_bytes, fail_at = -1;

/* An allocator that counts, and can be told to fail. */
MCP_UNUSED static void *counting(void *user, void *ptr, size_t old_size, size_t new_size)
{
    void *p;
    (void)user;
    if (new_size == 0) { live_bytes -= (long)old_size; free(ptr); return NULL; }
    if (fail_at >= 0 && allocations >= fail_at) return NULL;
    allocations++;
    p = realloc(ptr, new_size);
    if (p) live_bytes += (long)new_size - (long)old_size;
    return p;
}

/* -- a peer in memory ------------------------------------------------------------------------------------------------ */

typedef struct peer { mcp_server *s; mcp_io io; mcp_conn *conn; char *text; size_t len, cap; bool closed; } peer;

static int64_t fake_now = 1000;
MCP_UNUSED static int64_t clock_fn(void *user) { (void)user; return fake_now; }

MCP_UNUSED static mcp_server *server_with(mcp_server_desc *d)
{
    if (!d->name) d->name = "srv";
    if (!d->version) d->version = "1";
    d->no_stdio = true;
    d->now_ms = clock_fn;
    if (!d->log.fn) d->log.level = -1;
    return mcp_server_new(d);
}

MCP_UNUSED static mcp_server *server(void)
{
    mcp_server_desc d;
    memset(&d, 0, sizeof d);
    return server_with(&d);
}

MCP_UNUSED static peer join(mcp_server *s)
{
    peer p;
    mcp_io ends[2];
    memset(&p, 0, sizeof p);
    EQ_INT(mcp_io_pair(NULL, ends), MCP_OK);
    p.s = s;
    p.conn = mcp_server_attach(s, &ends[0], "alice");
    CHECK(p.conn != NULL);
    p.io = ends[1];
    test_wire(p.io.user, 'S', NULL, 0);
    return p;
}

/* Lets the server work until nothing moves, and takes what it says. */
MCP_UNUSED static void pump(peer *p)
{
    int idle = 0;
    while (idle < 8) {          /* a long line takes some reads */
        ptrdiff_t n;
        (void)mcp_server_step(p->s, NULL, 0);
        if (p->cap - p->len < 70000) p->text = (char *)realloc(p->text, p->cap = p->cap * 2 + 200000);
        n = p->io.read(p->io.user, p->text + p->len, 65536);
        if (n > 0) {
            test_wire(p->io.user, '>', p->text + p->len, (size_t)n);
            p->len += (size_t)n;
            idle = 0;
        }
        else { if (n == 0) p->closed = true; idle++; }
    }
    p->text[p->len] = 0;
}

MCP_UNUSED static void write_all(peer *p, const char *bytes, size_t n)
{
    size_t at = 0;
    int stuck = 0;
    while (at < n && stuck < 100) {
        ptrdiff_t k = p->io.write(p->io.user, bytes + at, n - at);
        if (k > 0) { test_wire(p->io.user, '<', bytes + at, (size_t)k); at += (size_t)k; stuck = 0; }
        else { stuck++; (void)mcp_server_step(p->s, NULL, 0); if (stuck > 2) pump(p); }
    }
    CHECK(at == n || fail_at >= 0);
}

/* Sends one line and returns everything that came back, as lines. */
MCP_UNUSED static const char *say(peer *p, const char *line)
{
    p->len = 0;
    write_all(p, line, strlen(line));
    write_all(p, "\n", 1);
    pump(p);
    return p->text;
}

MCP_UNUSED static const char *hear(peer *p)
{
    p->len = 0;
    pump(p);
    return p->text;
}

MCP_UNUSED static void leave(peer *p)
{
    p->io.close(p->io.user);
    free(p->text);
}

MCP_UNUSED static void legacy(peer *p)
{
    CHECK(strstr(say(p, INIT), "\"protocolVersion\":\"2025-11-25\"") != NULL);
    EQ_STR(say(p, INITIALIZED), "");
}

MCP_UNUSED static void end(mcp_server *s, peer *p)
{
    mcp_server_free(s);
    leave(p);
}

#define SERVER_INFO "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"srv\",\"version\":\"1\"}}"
#endif
