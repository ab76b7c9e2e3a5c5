/* JSON-RPC: the classifier and the table of pending requests. */
/* Behind the name of a test may stand the rows (B01 ...) that it covers of the catalogue which tests/faults.sh runs the cases of. */
#define MCP_IMPLEMENTATION      /* looks inside */
#define MCP_NO_VALIDATE
#define MCP_NO_SANITIZE
#include "mcp.h"
#include "test.h"

static mcp_msg classify(mcp_arena *a, const char *text)
{
    mcp_msg m;
    mcp_arena_reset(a);
    EQ_INT(mcp_msg_parse(a, text, MCP_NTS, &m), MCP_OK);
    return m;
}

TEST(kinds)                                                            /* B05 B06 B15 B25 B31 B34 */
{
    static const struct { const char *text; int kind, code; bool id; } t[] = {
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", MCP_MSG_REQUEST, 0, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"ping\",\"params\":{}}", MCP_MSG_REQUEST, 0, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":-123456789012345678901234567890,\"method\":\"ping\"}", MCP_MSG_REQUEST, 0, true },
        { "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}", MCP_MSG_NOTIFICATION, 0, false },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", MCP_MSG_RESULT, 0, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":{}}", MCP_MSG_RESULT, 0, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", MCP_MSG_ERROR, 0, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"\"}}", MCP_MSG_ERROR, 0, false },
        { "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"\"}}", MCP_MSG_ERROR, 0, false },
        { "[{\"jsonrpc\":\"2.0\",\"method\":\"x\"}]", MCP_MSG_BATCH, 0, false },
        { "[]", MCP_MSG_BAD, -32600, false },
        { "{bad", MCP_MSG_BAD, -32700, false },
        { "", MCP_MSG_BAD, -32700, false },
        { "1", MCP_MSG_BAD, -32600, false },
        { "{}", MCP_MSG_BAD, -32600, false },
        { "{\"id\":1,\"method\":\"ping\"}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"2.01\",\"id\":1,\"method\":\"ping\"}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"2.0\\u0000\",\"id\":1,\"method\":\"ping\"}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"2\",\"id\":1,\"method\":\"ping\"}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", MCP_MSG_BAD, -32600, false },
        { "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", MCP_MSG_BAD, -32600, false },
        { "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"ping\"}", MCP_MSG_BAD, -32600, false },
        { "{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"ping\"}", MCP_MSG_BAD, -32600, false },
        { "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", MCP_MSG_BAD, -32600, false },
        { "{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"ping\"}", MCP_MSG_BAD, -32600, false },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":7}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\\u0000b\"}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}", MCP_MSG_BAD, -32602, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":null}", MCP_MSG_BAD, -32602, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"result\":{}}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"x\"}", MCP_MSG_BAD, -32600, false },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"method\":\"b\"}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":1}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"x\"}", MCP_MSG_BAD, -32600, true },
        { "{\"jsonrpc\":\"2.0\",\"result\":{}}", MCP_MSG_BAD, -32600, false },
        { "{\"jsonrpc\":\"2.0\",\"ID\":5,\"Method\":\"a\",\"id\":1,\"method\":\"ping\"}", MCP_MSG_REQUEST, 0, true },
    };
    mcp_arena a;
    size_t i;
    mcp_arena_init(&a, NULL, 0);
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        mcp_msg m = classify(&a, t[i].text);
        if ((int)m.kind != t[i].kind || m.code != t[i].code || (m.id != NULL) != t[i].id) printf("  %s\n", t[i].text);
        EQ_INT(m.kind, t[i].kind);
        EQ_INT(m.code, t[i].code);
        EQ_INT(m.id != NULL, t[i].id);
        CHECK(m.kind != MCP_MSG_BAD || m.why);
    }
    EQ_INT(classify(&a, "[1,").pos, 3);
    mcp_arena_free(&a);
    EQ_INT(mcp_msg_parse(NULL, "{}", 2, NULL), MCP_ERR_ARGUMENT);
}

static int settled, last_status;
static mcp_id last_id;
static void on_end(const mcp_reply *r, void *user)
{
    (void)user;
    settled++;
    last_status = r->status;
    last_id = r->id;
    CHECK(r->message != NULL);
}

TEST(settles_once)                                                                         /* B11 */
{
    mcp_pending *p = mcp_pending_new(NULL, 0);
    mcp_reply ok;
    mcp_id a, b;
    memset(&ok, 0, sizeof ok);
    settled = 0;
    a = mcp_pending_add(p, MCP_NEVER, MCP_NEVER, on_end, NULL);
    b = mcp_pending_add(p, 100, MCP_NEVER, on_end, NULL);
    EQ_INT(a, 1);
    EQ_INT(b, 2);
    EQ_INT(mcp_pending_deadline(p), 100);
    EQ_INT(mcp_pending_settle(p, b, &ok), MCP_OK);
    EQ_INT(last_id, b);
    EQ_INT(mcp_pending_settle(p, b, &ok), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_pending_settle(p, 0, &ok), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_pending_settle(p, b + 32, &ok), MCP_ERR_UNKNOWN);       /* the same cell, another generation */
    EQ_INT(mcp_pending_unknown(p), 3);
    EQ_INT(mcp_pending_deadline(p), MCP_NEVER);
    EQ_INT(settled, 1);
    EQ_INT(mcp_pending_extend(p, b, 5), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_pending_extend(p, a, 50), MCP_OK);
    b = mcp_pending_add(p, 10, 30, on_end, NULL);                       /* not past its cap, whatever comes */
    EQ_INT(mcp_pending_deadline(p), 10);
    EQ_INT(mcp_pending_extend(p, b, 1000), MCP_OK);
    EQ_INT(mcp_pending_deadline(p), 30);
    EQ_INT(mcp_pending_expire(p, 30), 1);
    EQ_INT(mcp_pending_expire(p, 49), 0);
    EQ_INT(mcp_pending_expire(p, 50), 1);
    EQ_INT(last_status, MCP_ERR_TIMEOUT);
    EQ_INT(mcp_pending_count(p), 0);
    CHECK(mcp_pending_add(p, MCP_NEVER, MCP_NEVER, on_end, NULL) != 0);
    mcp_pending_free(p);
    EQ_INT(last_status, MCP_ERR_CLOSED);
    EQ_INT(settled, 4);
    mcp_pending_free(NULL);
    EQ_INT(mcp_pending_add(NULL, 0, MCP_NEVER, on_end, NULL), 0);
    EQ_INT(mcp_pending_deadline(NULL), MCP_NEVER);
}

/* Against a model: a plain array of what is open. Ids never repeat, and deadlines come out in order. */
TEST(agrees_with_a_model)
{
    enum { MAX = 300 };
    mcp_pending *p = mcp_pending_new(NULL, MAX);
    mcp_id id[MAX], newest = 0;
    int64_t due[MAX], now = 0;
    size_t n = 0, steps;
    unsigned seed = 7;
    mcp_reply ok;
    memset(&ok, 0, sizeof ok);
    for (steps = 0; steps < 20000; steps++) {
        unsigned what;
        size_t i;
        seed = seed * 1103515245u + 12345u;
        what = (seed >> 16) % 8;
        if (what < 4) {
            int64_t at = what == 0 ? MCP_NEVER : now + (int64_t)((seed >> 8) % 500);
            mcp_id x = mcp_pending_add(p, at, MCP_NEVER, on_end, NULL);
            CHECK((x != 0) == (n < MAX));
            if (x) { CHECK(x > newest); newest = x; id[n] = x; due[n++] = at; }
        } else if (what < 6 && n) {
            i = (seed >> 8) % n;
            EQ_INT(mcp_pending_settle(p, id[i], &ok), MCP_OK);
            EQ_INT(mcp_pending_settle(p, id[i], &ok), MCP_ERR_UNKNOWN);
            id[i] = id[--n]; due[i] = due[n];
        } else if (what == 6 && n) {
            i = (seed >> 8) % n;
            due[i] = now + (int64_t)((seed >> 9) % 700);
            EQ_INT(mcp_pending_extend(p, id[i], due[i]), MCP_OK);
        } else {
            size_t gone = 0;
            int64_t first = MCP_NEVER;
            now += 20;
            for (i = 0; i < n; ) if (due[i] <= now) { gone++; id[i] = id[--n]; due[i] = due[n]; } else i++;
            EQ_INT(mcp_pending_expire(p, now), gone);
            for (i = 0; i < n; i++) if (due[i] < first) first = due[i];
            EQ_INT(mcp_pending_deadline(p), first);
        }
        EQ_INT(mcp_pending_count(p), n);
    }
    CHECK(newest < 40000);                  /* few ids are skipped */
    mcp_pending_free(p);
}

TEST(as_many_as_it_was_told)
{
    mcp_pending *p = mcp_pending_new(NULL, 3);
    mcp_reply ok;
    mcp_id a;
    memset(&ok, 0, sizeof ok);
    a = mcp_pending_add(p, MCP_NEVER, MCP_NEVER, NULL, NULL);
    CHECK(mcp_pending_add(p, MCP_NEVER, MCP_NEVER, NULL, NULL) != 0);
    CHECK(mcp_pending_add(p, MCP_NEVER, MCP_NEVER, NULL, NULL) != 0);
    EQ_INT(mcp_pending_add(p, MCP_NEVER, MCP_NEVER, NULL, NULL), 0);
    EQ_INT(mcp_pending_count(p), 3);
    EQ_INT(mcp_pending_settle(p, a, &ok), MCP_OK);
    CHECK(mcp_pending_add(p, MCP_NEVER, MCP_NEVER, NULL, NULL) != 0);
    EQ_INT(mcp_pending_add(p, MCP_NEVER, MCP_NEVER, NULL, NULL), 0);
    mcp_pending_free(p);
}

/* Memory with a guard behind each block. */
enum { GUARD = 256 };
static int trampled;
static void *guarded(void *user, void *ptr, size_t old_size, size_t new_size)
{
    unsigned char *p = NULL;
    size_t i;
    (void)user;
    if (ptr) for (i = 0; i < GUARD; i++) trampled += ((unsigned char *)ptr)[old_size + i] != 0xA5;
    if (new_size) {
        p = (unsigned char *)malloc(new_size + GUARD);
        if (!p) exit(2);
        memset(p + new_size, 0xA5, GUARD);
        if (ptr) memcpy(p, ptr, old_size < new_size ? old_size : new_size);
    }
    free(ptr);
    return p;
}

/* Deadlines that move again and again, with few and with many requests: no other memory is touched, and the last
   deadline holds. */
TEST(deadlines_that_move)
{
    size_t open;
    for (open = 1; open <= 70; open++) {
        mcp_allocator alloc = { guarded, NULL };
        mcp_pending *p = mcp_pending_new(&alloc, 0);
        mcp_id id[70];
        size_t i, round;
        trampled = settled = 0;
        for (i = 0; i < open; i++) id[i] = mcp_pending_add(p, 10, MCP_NEVER, on_end, NULL);
        for (round = 0; round < 3 * open; round++)
            EQ_INT(mcp_pending_extend(p, id[round % open], 100 + (int64_t)(round * 7 % 10)), MCP_OK);
        for (i = 0; i < open; i++) EQ_INT(mcp_pending_extend(p, id[i], i % 2 ? 200 : MCP_NEVER), MCP_OK);
        EQ_INT(mcp_pending_deadline(p), open > 1 ? 200 : MCP_NEVER);
        EQ_INT(mcp_pending_expire(p, 199), 0);
        EQ_INT(mcp_pending_expire(p, 200), open / 2);
        EQ_INT(mcp_pending_deadline(p), MCP_NEVER);
        EQ_INT(mcp_pending_count(p), open - open / 2);
        mcp_pending_free(p);
        EQ_INT(settled, open);
        EQ_INT(trampled, 0);
    }
}

/* The entries of the heap have numbers of 32 bits, which come round after four thousand million deadlines. */
TEST(numbers_come_round)                                                                   /* B12 */
{
    mcp_pending *p = mcp_pending_new(NULL, 0);
    unsigned before;
    for (before = 0; before < 4; before++) {
        mcp_id a = mcp_pending_add(p, MCP_NEVER, MCP_NEVER, on_end, NULL);
        p->slots.number = UINT32_MAX - before;
        EQ_INT(mcp_pending_extend(p, a, 100), MCP_OK);
        EQ_INT(mcp_pending_extend(p, a, 200), MCP_OK);
        EQ_INT(mcp_pending_extend(p, a, 300), MCP_OK);
        EQ_INT(mcp_pending_expire(p, 299), 0);
        EQ_INT(mcp_pending_expire(p, 300), 1);
        a = mcp_pending_add(p, MCP_NEVER, MCP_NEVER, on_end, NULL);
        p->slots.number = UINT32_MAX - before;
        EQ_INT(mcp_pending_extend(p, a, 100), MCP_OK);
        EQ_INT(mcp_pending_extend(p, a, MCP_NEVER), MCP_OK);
        EQ_INT(mcp_pending_extend(p, a, 200), MCP_OK);
        EQ_INT(mcp_pending_extend(p, a, MCP_NEVER), MCP_OK);
        EQ_INT(mcp_pending_expire(p, 1000), 0);
        EQ_INT(mcp_pending_deadline(p), MCP_NEVER);
        mcp_pending_fail_all(p, MCP_ERR_CANCELLED);
    }
    mcp_pending_free(p);
}

static mcp_pending *table;
static void add_late(const mcp_reply *r, void *user)
{
    (void)r;
    *(mcp_id *)user = mcp_pending_add(table, MCP_NEVER, MCP_NEVER, add_late, user);
}

/* What a callback would add while the table is freed could never end. */
TEST(nothing_is_added_while_it_is_freed)
{
    mcp_id added = 7;
    table = mcp_pending_new(NULL, 0);
    CHECK(mcp_pending_add(table, MCP_NEVER, MCP_NEVER, add_late, &added) != 0);
    mcp_pending_free(table);
    EQ_INT(added, 0);
}

static void add_more(const mcp_reply *r, void *user)
{
    (void)r; (void)user;
    settled++;
    (void)mcp_pending_add(table, MCP_NEVER, MCP_NEVER, add_more, NULL);
}

TEST(many_and_reentrant)
{
    enum { N = 100000 };
    mcp_id first, i;
    mcp_reply ok;
    memset(&ok, 0, sizeof ok);
    table = mcp_pending_new(NULL, N + 10);
    settled = 0;
    first = mcp_pending_add(table, 1000, MCP_NEVER, on_end, NULL);
    for (i = 1; i < N; i++) (void)mcp_pending_add(table, 1000 + (int64_t)(i % 97), MCP_NEVER, on_end, NULL);
    EQ_INT(mcp_pending_count(table), N);
    for (i = N; i > 0; i--) (void)mcp_pending_settle(table, first + i - 1, &ok);
    EQ_INT(settled, N);
    EQ_INT(mcp_pending_count(table), 0);

    for (i = 0; i < 40; i++) (void)mcp_pending_add(table, MCP_NEVER, MCP_NEVER, add_more, NULL);
    settled = 0;
    mcp_pending_fail_all(table, MCP_ERR_CANCELLED);         /* what callbacks add stays */
    EQ_INT(settled, 40);
    EQ_INT(mcp_pending_count(table), 40);
    mcp_pending_free(table);                                 /* and ends, although they add again */
    EQ_INT(settled, 80);
}

TEST(ids_of_peers)                                                                     /* B08 B43 */
{
    static const struct { const char *text; mcp_id id; } t[] = {
        { "7", 7 }, { "7.0", 7 }, { "70e-1", 7 }, { "\"7\"", 7 }, { "9007199254740991", 9007199254740991u }, { "0", 0 }, { "\"0\"", 0 },
        { "-7", 0 }, { "7.5", 0 }, { "\"07\"", 0 }, { "\"7 \"", 0 }, { "\"\"", 0 }, { "\"x\"", 0 }, { "null", 0 }, { "true", 0 }, { "[7]", 0 },
        { "1e400", 0 }, { "\"99999999999999999999\"", 0 },
    };
    mcp_arena a;
    size_t i;
    mcp_arena_init(&a, NULL, 0);
    for (i = 0; i < sizeof t / sizeof *t; i++) EQ_INT(mcp_pending_id(mcp_json_parse(&a, t[i].text, MCP_NTS, NULL)), t[i].id);
    EQ_INT(mcp_pending_id(NULL), 0);
    mcp_arena_free(&a);
}

static const mcp_json *parse(mcp_arena *a, const char *s) { return mcp_json_parse(a, s, MCP_NTS, NULL); }

TEST(reply_helpers)
{
    mcp_arena a;
    mcp_reply r;
    size_t n;
    mcp_arena_init(&a, NULL, 0);
    memset(&r, 0, sizeof r);
    r.priv = &a;
    r.result = parse(&a, "{\"content\":[{\"type\":\"text\",\"text\":\"a\\u0000b\"}]}");
    EQ_MEM(mcp_reply_text(&r, &n), n, "a\0b");
    CHECK(!mcp_reply_is_error(&r));
    r.result = parse(&a, "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},7,{\"type\":\"image\",\"text\":\"no\"},{\"type\":\"text\"},"
                         "{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\",\"text\":\"c\"}],\"isError\":true}");
    EQ_STR(mcp_reply_text(&r, &n), "a\n\nc");
    EQ_INT(n, 4);
    CHECK(mcp_reply_is_error(&r));
    r.result = parse(&a, "{\"content\":7,\"isError\":\"true\"}");
    EQ_STR(mcp_reply_text(&r, NULL), "");
    CHECK(!mcp_reply_is_error(&r));
    r.result = NULL;
    EQ_STR(mcp_reply_text(&r, NULL), "");
    EQ_STR(mcp_reply_text(NULL, NULL), "");
    CHECK(mcp_reply_is_error(NULL));
    r.status = MCP_ERR_TIMEOUT;
    CHECK(mcp_reply_is_error(&r));
    mcp_arena_free(&a);
}

int main(void)
{
    RUN(kinds);
    RUN(settles_once);
    RUN(agrees_with_a_model);
    RUN(as_many_as_it_was_told);
    RUN(deadlines_that_move);
    RUN(numbers_come_round);
    RUN(nothing_is_added_while_it_is_freed);
    RUN(many_and_reentrant);
    RUN(ids_of_peers);
    RUN(reply_helpers);
    return test_end();
}
