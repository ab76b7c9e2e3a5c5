/* A server that dies is started again (mcp_client_desc.max_restarts): real children, which are this program itself. */
/* Behind the name of a test may stand the rows (B01 ...) that it covers of the catalogue which tests/faults.sh runs the cases of. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <stdarg.h>
#include <unistd.h>
#include <sys/wait.h>
#include "test.h"
#include "peer.h"

/* -- the server --------------------------------------------------------------------------------------------------------- */

static void out(const char *fmt, ...) MCP_PRINTF(1, 2);
static void out(const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    int n;
    va_start(ap, fmt);
    n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (write(1, text, (size_t)n) != n) _exit(9);
}

/* How often it has been started: a byte for each in a file. */
static int starts(const char *path, bool more)
{
    FILE *f = fopen(path, more ? "a" : "r");
    int n = 0;
    if (!f) return 0;
    if (more) fputc('x', f);
    else while (fgetc(f) != EOF) n++;
    fclose(f);
    return more ? starts(path, false) : n;
}

/* mode: "modern" or not; "die=AB": it dies at the starts from A to B; "turn": it is modern at its first start only. */
static int child_main(const char *mode, const char *path)
{
    static char line[1 << 16];
    int n = starts(path, true);
    const char *die = strstr(mode, "die=");
    bool modern = has(mode, "modern") && !(has(mode, "turn") && n > 1);
    if (die && n >= die[4] - '0' && n <= die[5] - '0') { fprintf(stderr, "start %d fails\n", n); return 5; }
    while (fgets(line, sizeof line, stdin)) {
        long long id = id_of(line);
        if (has(line, "\"name\":\"boom\"")) { fprintf(stderr, "boom\n"); return 3; }
        else if (has(line, "\"name\":\"hang\"")) continue;
        else if (has(line, "\"name\":\"ask\"")) out("{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}\n");
        else if (has(line, "\"name\":\"input\"")) out("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"q\":{\"method\":\"roots/list\"}}}}\n", id);
        else if (has(line, "server/discover") && !modern) out("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":-32601,\"message\":\"m\"}}\n", id);
        else if (has(line, "server/discover"))
            out("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true}}}}\n", id);
        else if (has(line, "\"initialize\""))
            out("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"protocolVersion\":\"2025-11-25\",\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"},"
                "\"capabilities\":{\"tools\":{\"listChanged\":true},\"logging\":{},\"resources\":{\"subscribe\":true}}}}\n", id);
        else if (has(line, "subscriptions/listen"))
            out("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%lld},\"notifications\":{\"toolsListChanged\":true}}}\n"
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%lld}}}\n", id, id);
        else if (has(line, "resources/subscribe")) {
            out("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{}}\n", id);
            if (has(line, "x:2")) out("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"x:2\"}}\n");
        } else if (has(line, "tools/list")) out("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"resultType\":\"complete\",\"tools\":[{\"name\":\"t%d\"}],\"ttlMs\":100000,\"cacheScope\":\"private\"}}\n", id, n);
        else if (id >= 0) out("{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"start %d\"}]}}\n", id, n);
    }
    return 0;
}

/* -- the client ---------------------------------------------------------------------------------------------------------- */

static const char *g_self;
static char g_path[64];
static struct { int acks, changes, ended, status; char log[1024]; mcp_id ask; int logs; } g;

static void on_notify(mcp_client *c, const char *method, const mcp_json *params, void *user)
{
    (void)c; (void)params; (void)user;
    if (has(method, "acknowledged")) g.acks++; else g.changes++;
}
static void on_log(int level, const char *text, void *user) { (void)level; (void)user; g.logs++; snprintf(g.log, sizeof g.log, "%s", text); }
static void on_ended(const mcp_reply *r, void *user) { (void)user; g.ended++; g.status = r->status; }
static int on_ask(mcp_client *c, mcp_id ask, const char *method, const mcp_json *params, mcp_writer *w, void *user)
{
    (void)c; (void)method; (void)params; (void)w; (void)user;
    g.ask = ask;
    return MCP_ERR_AGAIN;
}

static mcp_client_desc desc(const char **argv, const char *mode, int max_restarts)
{
    mcp_client_desc d;
    memset(&d, 0, sizeof d);
    memset(&g, 0, sizeof g);
    snprintf(g_path, sizeof g_path, "/tmp/mcp-test-restart-%ld", (long)getpid());
    unlink(g_path);
    argv[0] = g_self;
    argv[1] = mode;
    argv[2] = g_path;
    argv[3] = NULL;
    d.name = d.version = "t";
    d.argv = argv;
    d.capture_stderr = true;
    d.max_restarts = max_restarts;
    d.grace_ms = 300;
    d.timeout_ms = 5000;
    d.capabilities = "{\"roots\":{}}";
    d.on_ready = note_ready;
    d.on_notify = on_notify;
    d.on_ask = on_ask;
    d.log.fn = on_log;
    d.log.level = 1;
    d.cache_bytes = 10000;
    d.alloc.resize = count_resize;
    g_ready = 0;
    g_ready_status = 99;
    return d;
}

static void over(mcp_client *c)
{
    mcp_client_free(c);
    EQ_INT(waitpid(-1, NULL, WNOHANG), -1);                  /* ECHILD: nobody is left */
    EQ_INT(g_live, 0);
    unlink(g_path);
}

static int call(mcp_client *c, const char *tool, char *text, size_t cap)
{
    mcp_call k;
    const mcp_reply *r;
    memset(&k, 0, sizeof k);
    k.tool = tool;
    r = mcp_client_call(c, &k);
    snprintf(text, cap, "%s", mcp_reply_text(r, NULL));
    return r->status;
}

static char g_items[64];
static bool each_item(const mcp_json *item, void *user) { (void)user; snprintf(g_items, sizeof g_items, "%s", mcp_json_str(mcp_json_get(item, "name"), "")); return true; }
static const char *list(mcp_client *c)
{
    mcp_call k;
    memset(&k, 0, sizeof k);
    k.method = "tools/list";
    k.each = each_item;
    g_items[0] = 0;
    EQ_INT(mcp_client_call(c, &k)->status, MCP_OK);
    return g_items;
}

static const char *const uris[] = { "x:1", "x:2", NULL };

/* The whole of it: what fails, what waits, what is asked for again. */
static void crash_row(const char *mode, int era_before, int era_after)
{
    const char *argv[4];
    char text[512];
    mcp_client_desc d = desc(argv, mode, 2);
    mcp_client *c = mcp_client_new(&d);
    result hang, later, asking;
    mcp_call k;
    mcp_id id = mcp_client_listen(c, MCP_LIST_TOOLS, uris, on_ended, NULL);
    int i;
    CHECK(id != 0);
    EQ_STR(list(c), "t1");
    EQ_STR(list(c), "t1");
    EQ_INT(mcp_client_era(c), era_before);
    for (i = 0; i < 100 && (g.acks < 1 || g.changes < 1); i++) EQ_INT(mcp_client_wait(c, 1000), MCP_OK);
    k = tool_call(era_before == MCP_ERA_MODERN ? "input" : "ask", NULL, &asking);    /* a question is open ... */
    (void)mcp_client_send(c, &k);
    for (i = 0; i < 100 && !g.ask; i++) EQ_INT(mcp_client_wait(c, 1000), MCP_OK);
    k = tool_call("hang", NULL, &hang);
    (void)mcp_client_send(c, &k);
    EQ_INT(call(c, "boom", text, sizeof text), MCP_ERR_CLOSED);
    CHECK(has(text, "exited with status 3; its last words: boom"));
    EQ_INT(hang.calls, 1);                                   /* in flight: lost, and not sent again */
    EQ_INT(hang.status, MCP_ERR_CLOSED);
    CHECK(has(hang.message, "exited with status 3"));
    EQ_INT(asking.calls, 1);
    EQ_INT(asking.status, MCP_ERR_CLOSED);
    EQ_INT(mcp_client_answer(c, g.ask, MCP_OK, "{\"roots\":[]}"), MCP_ERR_UNKNOWN);  /* ... and has gone */
    CHECK(has(g.log, "it is started again (1 of 2)"));
    CHECK(mcp_client_info(c) == NULL && mcp_client_protocol(c) == NULL);
    EQ_INT(mcp_client_era(c), era_before);
    EQ_INT(mcp_client_notify(c, "n", NULL), MCP_ERR_MISUSE);
    EQ_INT(mcp_client_step(c, NULL, 0), MCP_OK);
    CHECK(mcp_client_timeout(c) > 0);
    EQ_INT(g_ready, 1);
    k = tool_call("x", NULL, &later);                        /* sent meanwhile: it waits */
    k.log_level = "info";
    CHECK(mcp_client_send(c, &k) != 0);
    EQ_INT(call(c, "y", text, sizeof text), MCP_OK);
    EQ_STR(text, "start 2");
    EQ_INT(later.calls, 1);
    EQ_STR(later.text, "start 2");
    EQ_INT(g_ready, 2);
    EQ_INT(g_ready_status, MCP_OK);
    EQ_INT(mcp_client_era(c), era_after);
    CHECK(mcp_client_info(c) != NULL);
    EQ_STR(list(c), "t2");                                   /* not from the cache */
    for (i = 0; i < 100 && (g.acks < 2 || g.changes < 2); i++) EQ_INT(mcp_client_wait(c, 1000), MCP_OK);
    EQ_INT(g.acks, 2);
    EQ_INT(g.changes, 2);
    EQ_INT(g.ended, 0);
    EQ_INT(hang.calls, 1);
    EQ_INT(starts(g_path, false), 2);
    EQ_INT(mcp_client_cancel(c, id, NULL), MCP_OK);          /* it is the same subscription */
    EQ_INT(mcp_client_wait(c, 0), MCP_OK);
    EQ_INT(g.ended, 1);
    EQ_INT(g.status, MCP_ERR_CANCELLED);
    EQ_INT(mcp_client_stats(c).pending, 0);
    over(c);
    EQ_INT(g.ended, 1);
}

TEST(crashes)                                                                       /* A44 D65 D71 */
{
    crash_row("modern", MCP_ERA_MODERN, MCP_ERA_MODERN);
    crash_row("legacy", MCP_ERA_LEGACY, MCP_ERA_LEGACY);
    crash_row("modern-turn", MCP_ERA_MODERN, MCP_ERA_LEGACY);    /* another version came in its place */
}

/* One that cannot go on: given up after so many times, with the reason; and what waited is told. */
TEST(gives_up)                                                                      /* A44 */
{
    const char *argv[4];
    char text[512];
    result r;
    mcp_call k = tool_call("x", NULL, &r);
    mcp_client_desc d = desc(argv, "modern-die=29", 2);
    mcp_client *c = mcp_client_new(&d);
    (void)mcp_client_listen(c, MCP_LIST_TOOLS, NULL, on_ended, NULL);
    EQ_INT(call(c, "boom", text, sizeof text), MCP_ERR_CLOSED);
    CHECK(mcp_client_send(c, &k) != 0);
    EQ_INT(call(c, "x", text, sizeof text), MCP_ERR_CLOSED);
    CHECK(has(text, "exited with status 5; its last words: start 3 fails"));
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, MCP_ERR_CLOSED);
    while (mcp_client_wait(c, -1) == MCP_OK) { }
    EQ_INT(mcp_client_step(c, NULL, 0), MCP_ERR_CLOSED);
    EQ_INT(starts(g_path, false), 3);
    EQ_INT(g_ready, 2);
    EQ_INT(g_ready_status, MCP_ERR_CLOSED);
    EQ_INT(g.ended, 1);
    EQ_INT(g.status, MCP_ERR_CLOSED);
    over(c);

    d = desc(argv, "modern-die=22", 2);                      /* one start fails, the next one works */
    c = mcp_client_new(&d);
    EQ_INT(call(c, "boom", text, sizeof text), MCP_ERR_CLOSED);
    EQ_INT(call(c, "x", text, sizeof text), MCP_OK);
    EQ_STR(text, "start 3");
    EQ_INT(g_ready, 2);
    EQ_INT(call(c, "boom", text, sizeof text), MCP_ERR_CLOSED);      /* too soon after: it is the third in a row */
    EQ_INT(call(c, "x", text, sizeof text), MCP_ERR_CLOSED);
    EQ_INT(starts(g_path, false), 3);
    over(c);

    d = desc(argv, "modern-die=19", 3);                      /* one that was never ready is not tried again ... */
    c = mcp_client_new(&d);
    EQ_INT(call(c, "x", text, sizeof text), MCP_ERR_CLOSED);
    EQ_INT(g_ready, 1);
    CHECK(starts(g_path, false) <= 2);                       /* ... but for the handshake's sake */
    over(c);

    d = desc(argv, "modern", 0);                             /* nor is any, unless that was asked for */
    c = mcp_client_new(&d);
    EQ_INT(call(c, "boom", text, sizeof text), MCP_ERR_CLOSED);
    EQ_INT(call(c, "x", text, sizeof text), MCP_ERR_CLOSED);
    EQ_INT(starts(g_path, false), 1);
    over(c);
}

/* With a clock of the test's: how long it is left alone, and when the count begins anew. */
TEST(pauses)
{
    static const int pauses[] = { 100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000 };
    const char *argv[4];
    char text[512];
    mcp_client_desc d = desc(argv, "modern", 9);
    mcp_client *c;
    mcp_call k;
    result r;
    size_t i;
    d.now_ms = clock_ms;
    g_now = 1000;
    g_tick = 0;
    c = mcp_client_new(&d);
    EQ_INT(call(c, "x", text, sizeof text), MCP_OK);
    for (i = 0; i < sizeof pauses / sizeof *pauses + 1; i++) {
        int n = 0;
        k = tool_call("boom", NULL, &r);
        if (i == sizeof pauses / sizeof *pauses) g_now += 60000;         /* steady for so long: as the first time */
        (void)mcp_client_send(c, &k);
        while (!r.calls && n++ < 5000) { (void)mcp_client_wait(c, 1); g_now += 1; }
        EQ_INT(r.status, MCP_ERR_CLOSED);
        while (mcp_client_timeout(c) < 90 && n++ < 5000) (void)mcp_client_wait(c, 1);
        CHECK(mcp_client_timeout(c) <= pauses[i % 9] && mcp_client_timeout(c) >= pauses[i % 9] - 2);
        g_now += mcp_client_timeout(c);
        EQ_INT(call(c, "x", text, sizeof text), MCP_OK);
        EQ_INT(g_ready, (int)i + 2);
    }
    over(c);
}

/* What a callback may do when it hears of the loss, and the end in every phase. */
static int g_act;
static mcp_client *g_c;
static void acts(const mcp_reply *r, void *user)
{
    mcp_call k;
    char text[64];
    (void)user;
    g.ended++;
    g.status = r->status;
    memset(&k, 0, sizeof k);
    if (g_act == 1) mcp_client_free(g_c);
    if (g_act == 2) EQ_INT(mcp_client_close(g_c), MCP_OK);
    if (g_act == 3) { EQ_INT(call(g_c, "x", text, sizeof text), MCP_OK); EQ_STR(text, "start 2"); }
}

TEST(inside_of_the_loss)
{
    const char *argv[4];
    char text[512];
    int how;
    for (how = 1; how <= 3; how++) {
        mcp_client_desc d = desc(argv, how % 2 ? "modern" : "legacy", 1);
        mcp_call k;
        memset(&k, 0, sizeof k);
        g_c = mcp_client_new(&d);
        EQ_INT(call(g_c, "x", text, sizeof text), MCP_OK);
        (void)mcp_client_listen(g_c, MCP_LIST_TOOLS, uris, on_ended, NULL);
        k.tool = "hang";
        k.fn = acts;
        g_act = how;
        (void)mcp_client_send(g_c, &k);
        (void)mcp_client_send(g_c, &k);
        k.tool = "boom";
        (void)mcp_client_send(g_c, &k);
        while (mcp_client_wait(g_c, 1000) == MCP_OK && g.ended < 3) { }
        if (how == 1) g_c = NULL;
        else if (how == 2) while (mcp_client_wait(g_c, 1000) == MCP_OK) { }
        else EQ_INT(g.status, MCP_ERR_CLOSED);
        EQ_INT(g.ended, how == 3 ? 3 : 4);
        over(g_c);
        EQ_INT(g.ended, 4);
    }
    for (how = 0; how < 4; how++) {                          /* the end while it waits, and while it starts again */
        mcp_client_desc d = desc(argv, "modern", 1);
        int i;
        g_c = mcp_client_new(&d);
        (void)mcp_client_listen(g_c, MCP_LIST_TOOLS, NULL, on_ended, NULL);
        EQ_INT(call(g_c, "boom", text, sizeof text), MCP_ERR_CLOSED);
        for (i = 0; i < 1000 && how >= 2 && starts(g_path, false) < 2; i++) EQ_INT(mcp_client_wait(g_c, 5), MCP_OK);
        if (how % 2) {
            EQ_INT(mcp_client_close(g_c), MCP_OK);
            while (mcp_client_wait(g_c, 1000) == MCP_OK) { }
            EQ_INT(mcp_client_step(g_c, NULL, 0), MCP_ERR_CLOSED);
            EQ_INT(g.ended, 1);
        }
        over(g_c);
        EQ_INT(g.ended, 1);
        EQ_INT(g.status, MCP_ERR_CLOSED);
        CHECK(starts(g_path, false) <= 2);
    }
}

/* The command has gone meanwhile. */
TEST(cannot_be_started)
{
    const char *argv[4];
    char text[512], link_path[128];
    mcp_client_desc d = desc(argv, "modern", 5);
    mcp_client *c;
    char whole[512];
    snprintf(link_path, sizeof link_path, "%s-link", g_path);
    unlink(link_path);
    CHECK(realpath(g_self, whole) != NULL);
    EQ_INT(symlink(whole, link_path), 0);
    argv[0] = link_path;
    c = mcp_client_new(&d);
    EQ_INT(call(c, "x", text, sizeof text), MCP_OK);
    unlink(link_path);
    EQ_INT(call(c, "boom", text, sizeof text), MCP_ERR_CLOSED);
    EQ_INT(call(c, "x", text, sizeof text), MCP_ERR_SPAWN);
    CHECK(has(text, link_path));
    EQ_INT(g_ready, 2);
    EQ_INT(g_ready_status, MCP_ERR_SPAWN);
    over(c);
}

/* Many subscriptions and many ids: each is asked for once, however the table grows meanwhile. */
TEST(many_subscriptions)
{
    enum { N = 70 };
    const char *argv[4];
    char text[512];
    mcp_client_desc d = desc(argv, "legacy", 1);
    mcp_client *c = mcp_client_new(&d);
    int i, round;
    for (i = 0; i < N; i++) CHECK(mcp_client_listen(c, MCP_LIST_TOOLS, i % 2 ? uris : NULL, on_ended, NULL) != 0);
    for (round = 1; round <= 2; round++) {
        for (i = 0; i < 200 && g.acks < round * N; i++) EQ_INT(mcp_client_wait(c, 200), MCP_OK);
        for (i = 0; i < 3; i++) EQ_INT(call(c, "x", text, sizeof text), MCP_OK);
        EQ_INT(g.acks, round * N);
        if (round == 1) EQ_INT(call(c, "boom", text, sizeof text), MCP_ERR_CLOSED);
    }
    EQ_INT(g.ended, 0);
    over(c);
    EQ_INT(g.ended, N);
}

/* Without memory, from any allocation on, or for one: it ends in good order, and everybody is told once. */
TEST(without_memory)
{
    long n, most = 400;
    int on;
    for (on = 0; on < 2; on++) {
        bool failed = true;
        for (n = 1; failed && n < most; n += on ? 7 : 1) {
            const char *argv[4];
            char text[512];
            result r;
            int era = (int)(n % 2), i;
            mcp_client_desc d = desc(argv, era ? "modern" : "legacy", 1);
            mcp_client *c = mcp_client_new(&d);
            mcp_call k = tool_call("x", NULL, &r);
            bool listens = mcp_client_listen(c, MCP_LIST_TOOLS, uris, on_ended, NULL) != 0, sent;
            EQ_INT(call(c, "x", text, sizeof text), MCP_OK);
            for (i = 0; i < 100 && g.acks < 1; i++) (void)mcp_client_wait(c, 100);
            g_calls = 0;
            g_fail_on = on;
            g_fail_at = n;
            (void)call(c, "boom", text, sizeof text);
            sent = mcp_client_send(c, &k) != 0;
            for (i = 0; i < 500 && sent && !r.calls; i++) (void)mcp_client_wait(c, 100);
            failed = g_calls >= n;
            g_fail_at = 0;
            g_fail_on = false;
            EQ_INT(r.calls, sent);
            mcp_client_free(c);
            EQ_INT(waitpid(-1, NULL, WNOHANG), -1);
            EQ_INT(g_live, 0);
            EQ_INT(g.ended, listens);
            unlink(g_path);
        }
        CHECK(!failed || on);
    }
}

int main(int argc, char **argv)
{
    if (argc > 2) return child_main(argv[1], argv[2]);
    g_self = argv[0];
    RUN(crashes);
    RUN(gives_up);
    RUN(pauses);
    RUN(inside_of_the_loss);
    RUN(cannot_be_started);
    RUN(many_subscriptions);
    RUN(without_memory);
    return test_end();
}
