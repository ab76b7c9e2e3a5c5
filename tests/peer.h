/* What the tests of the client share: a scripted peer in memory, a clock that stands still unless a test moves it, an allocator
 * that counts and can fail, and helpers around a client. Include it after mcp.h and test.h. */
#ifndef MCP_PEER_H
#define MCP_PEER_H

/* -- a peer in memory ---------------------------------------------------------------------------------------------- */

typedef struct peer {
    char *got; size_t got_len, got_cap, got_at;     /* what the client wrote; lines before got_at were taken */
    char *say; size_t say_len, say_cap, say_at;     /* what the client will read */
    size_t read_max, write_max;                     /* bytes per call; 0: all */
    bool eof, deaf, closed, mute;                   /* mute: auto does not answer */
    size_t auto_at;
    void (*on_line)(struct peer *p, const char *line, size_t len);
    char line[4096];
    int requests;
} peer;

static int64_t g_now, g_tick;
static int64_t clock_ms(void *user) { (void)user; g_now += g_tick; return g_now; }

static void put(char **buf, size_t *len, size_t *cap, const void *s, size_t n)
{
    if (*len + n + 1 > *cap) { *cap = (*len + n + 1) * 2; *buf = (char *)realloc(*buf, *cap); }
    memcpy(*buf + *len, s, n);
    *len += n;
    (*buf)[*len] = 0;
}

static ptrdiff_t peer_read(void *user, void *buf, size_t n)
{
    peer *p = (peer *)user;
    size_t left = p->say_len - p->say_at;
    if (!left) return p->eof ? 0 : MCP_ERR_AGAIN;
    if (n > left) n = left;
    if (p->read_max && n > p->read_max) n = p->read_max;
    memcpy(buf, p->say + p->say_at, n);
    test_wire(p, '<', buf, n);
    p->say_at += n;
    if (p->say_at == p->say_len) p->say_at = p->say_len = 0;
    return (ptrdiff_t)n;
}

static ptrdiff_t peer_write(void *user, const void *buf, size_t n)
{
    peer *p = (peer *)user;
    char *lf;
    if (p->deaf) return MCP_ERR_CLOSED;
    if (p->write_max && n > p->write_max) n = p->write_max;
    put(&p->got, &p->got_len, &p->got_cap, buf, n);
    test_wire(p, '>', buf, n);
    while (p->on_line && (lf = (char *)memchr(p->got + p->auto_at, '\n', p->got_len - p->auto_at)) != NULL) {
        size_t at = p->auto_at, len = (size_t)(lf - p->got) - at;
        p->auto_at = at + len + 1;
        p->on_line(p, p->got + at, len);
    }
    return (ptrdiff_t)n;
}

static void peer_close(void *user) { ((peer *)user)->closed = true; }
static void peer_free(peer *p) { free(p->got); free(p->say); memset(p, 0, sizeof *p); }

static mcp_io peer_io(peer *p)
{
    mcp_io io;
    memset(&io, 0, sizeof io);
    io.read = peer_read;
    io.write = peer_write;
    io.close = peer_close;
    io.user = p;
    return io;
}

static void say(peer *p, const char *s) { put(&p->say, &p->say_len, &p->say_cap, s, strlen(s)); put(&p->say, &p->say_len, &p->say_cap, "\n", 1); }

/* The next line the client wrote, or "". */
static const char *hear(peer *p)
{
    char *lf = p->got ? (char *)memchr(p->got + p->got_at, '\n', p->got_len - p->got_at) : NULL;
    size_t n;
    if (!lf) return "";
    n = (size_t)(lf - (p->got + p->got_at));
    if (n >= sizeof p->line) n = sizeof p->line - 1;
    memcpy(p->line, p->got + p->got_at, n);
    p->line[n] = 0;
    p->got_at = (size_t)(lf - p->got) + 1;
    return p->line;
}

static bool has(const char *line, const char *what) { return strstr(line, what) != NULL; }

static long long id_of(const char *line)
{
    const char *s = strstr(line, "\"id\":");
    return s ? atoll(s + 5) : -1;
}

static void reply(peer *p, long long id, const char *result)
{
    char head[64];
    snprintf(head, sizeof head, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":", id);
    put(&p->say, &p->say_len, &p->say_cap, head, strlen(head));
    put(&p->say, &p->say_len, &p->say_cap, result, strlen(result));
    say(p, "}");
}

static void refuse(peer *p, long long id, int code, const char *data)
{
    char text[512];
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":%d,\"message\":\"no\"%s%s}}", id, code, data ? ",\"data\":" : "", data ? data : "");
    say(p, text);
}

#define INIT_RESULT "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}"
#define DISCOVER_RESULT "{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}}"
#define OK_RESULT "{\"content\":[{\"type\":\"text\",\"text\":\"ok\"}]}"

/* -- a counting allocator that can fail ------------------------------------------------------------------------------ */

static long g_live, g_calls, g_fail_at;
static bool g_fail_on;                                       /* ... and all that come after it */
static void *count_resize(void *user, void *p, size_t old, size_t n)
{
    (void)user;
    if (n && g_fail_at && (++g_calls == g_fail_at || (g_fail_on && g_calls > g_fail_at))) return NULL;
    if (n == 0) { if (p) g_live -= (long)old; free(p); return NULL; }
    if (!g_fail_at) g_calls++;
    p = realloc(p, n);
    if (p) g_live += (long)n - (long)old;
    return p;
}

/* -- a client on a peer ------------------------------------------------------------------------------------------------ */

static int g_ready, g_ready_status;
static void note_ready(mcp_client *c, int status, void *user) { (void)c; (void)user; g_ready++; g_ready_status = status; }

static mcp_client_desc desc_of(peer *p, int era)
{
    mcp_client_desc d;
    memset(&d, 0, sizeof d);
    memset(p, 0, sizeof *p);
    test_wire(p, 'C', NULL, 0);
    d.name = "t";
    d.version = "1";
    d.io = peer_io(p);
    d.era = era;
    d.now_ms = clock_ms;
    d.on_ready = note_ready;
    d.alloc.resize = count_resize;
    g_now = 1000;
    g_tick = 0;
    g_ready = 0;
    g_ready_status = 99;
    return d;
}

static void turns(mcp_client *c, int n) { while (n--) (void)mcp_client_step(c, NULL, 0); }

/* Brings a client through its handshake. */
static mcp_client *ready(peer *p, const mcp_client_desc *d)
{
    mcp_client *c = mcp_client_new(d);
    const char *s;
    turns(c, 1);
    s = hear(p);
    if (d->era == MCP_ERA_LEGACY) {
        CHECK(has(s, "\"initialize\""));
        reply(p, id_of(s), INIT_RESULT);
        turns(c, 1);
        EQ_STR(hear(p), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    } else {
        CHECK(has(s, "\"server/discover\""));
        reply(p, id_of(s), DISCOVER_RESULT);
        turns(c, 1);
    }
    EQ_INT(g_ready, 1);
    EQ_INT(g_ready_status, MCP_OK);
    return c;
}

typedef struct result { int calls, status; long long code; mcp_id id; char text[256], message[256]; } result;
static void note(const mcp_reply *r, void *user)
{
    result *out = (result *)user;
    out->calls++;
    out->status = r->status;
    out->code = r->code;
    out->id = r->id;
    snprintf(out->text, sizeof out->text, "%s", mcp_reply_text(r, NULL));
    snprintf(out->message, sizeof out->message, "%s", r->message);
}

static mcp_call tool_call(const char *name, const char *args, result *r)
{
    mcp_call k;
    memset(&k, 0, sizeof k);
    memset(r, 0, sizeof *r);
    k.tool = name;
    k.args = args;
    k.fn = note;
    k.user = r;
    return k;
}

static void done(mcp_client *c, peer *p)
{
    mcp_client_free(c);
    CHECK(p->closed);
    peer_free(p);
    EQ_INT(g_live, 0);
}

#endif
