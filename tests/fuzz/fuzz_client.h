/* For fuzz_client: callbacks that send, call, cancel, answer, notify, wait, close, and free the client. */
enum { SENT = 64 };
static mcp_client *client;
static int freed, readied;
static wire peer;
static mcp_id asked;
static struct { mcp_id id; int open, done; } sent[SENT];
static void act(void);
static void quiet(int level, const char *text, void *user) { (void)level; (void)text; (void)user; }

static void on_progress(double done, double total, const char *message, void *user)
{
    (void)done; (void)total; (void)message; (void)user;
    act();
}

static bool each(const mcp_json *item, void *user)
{
    (void)user;
    MUST(mcp_json_type(item) == MCP_JSON_OBJECT);
    act();
    return mcp_json_size(item) < 9 && fuzz_pick(8);
}

static void look(const mcp_reply *r)
{
    size_t n = 1;
    const char *text = mcp_reply_text(r, &n);
    MUST(text && strlen(text) <= n && (r->status == MCP_OK) == (r->result != NULL) && (r->message || r->status));
    MUST(r->status != MCP_OK || mcp_json_type(r->result) == MCP_JSON_OBJECT);
    (void)mcp_reply_is_error(r);
    (void)mcp_reply_data(r, 0, &n, &text);
    (void)mcp_json_size(r->data);
}

static void fn(const mcp_reply *r, void *user)
{
    size_t i = (size_t)(uintptr_t)user;
    MUST(r->id && sent[i].open && !sent[i].done && (!sent[i].id || sent[i].id == r->id));
    sent[i].done = 1;
    look(r);
    act();
    look(r);
}

static mcp_call a_call(size_t i)
{
    static const char *const methods[] = { "tools/list", "resources/list", "x/y", "tools/call", "prompts/list", "ping", "subscriptions/listen" };
    mcp_call k;
    memset(&k, 0, sizeof k);
    if (fuzz_pick(3)) { k.tool = "t"; k.args = fuzz_pick(9) ? "{\"a\": [1]}" : "{\"a\":"; }
    else if (fuzz_pick(3) == 0) *(fuzz_pick(2) ? &k.uri : &k.prompt) = "u";
    else k.method = methods[fuzz_pick(7)];
    if (!k.method && !k.tool && fuzz_pick(3) == 0) k.complete = "c";
    if (fuzz_pick(8) == 0) k.log_level = fuzz_pick(2) ? "info" : "debug";
    if (fuzz_pick(3) == 0) k.meta = "{\"m\":1,\"io.modelcontextprotocol/clientInfo\":{}}";
    if (k.method && fuzz_pick(2)) { k.each = each; k.params = "{\"cursor\":\"c\"}"; }
    if (fuzz_pick(2)) k.on_progress = on_progress;
    k.timeout_ms = 20 + (int)fuzz_pick(200);
    k.max_ms = 300;
    k.fn = fn;
    k.user = (void *)(uintptr_t)i;
    return k;
}

/* Takes a slot for a subscription. */
static void listen_to(unsigned lists)
{
    static const char *const uris[] = { "u", "v", NULL };
    size_t i;
    for (i = 0; i < SENT && sent[i].open; i++) { }
    if (i == SENT) return;
    sent[i].open = 1;
    sent[i].id = mcp_client_listen(client, lists, fuzz_pick(2) ? uris : NULL, fn, (void *)(uintptr_t)i);
    MUST(!sent[i].done && (sent[i].id || mcp_client_error(client)[0]));
    sent[i].open = sent[i].id != 0;
}

/* A call, waited for or not. Its slot in `sent` is not used again. */
static void call(int blocking)
{
    size_t i;
    mcp_call k;
    mcp_id id;
    for (i = 0; i < SENT && sent[i].open; i++) { }
    if (i == SENT) return;
    k = a_call(i);
    sent[i].open = 1;
    if (blocking) {
        const mcp_reply *r = mcp_client_call(client, &k);
        MUST(r && (r->message || freed));
        if (!freed) look(r);
        if (!r->id && !sent[i].done) sent[i].open = 0;              /* it was refused */
        return;
    }
    id = mcp_client_send(client, &k);
    MUST(!sent[i].done && (id || mcp_client_error(client)[0]));
    sent[i].id = id;
    sent[i].open = id != 0;
}

static void act(void)
{
    size_t i = fuzz_pick(SENT);
    switch (freed ? 99 : fuzz_pick(24)) {
    case 0: case 1: case 2: call(0); break;
    case 3: call(1); break;
    case 4: case 5: while (i && !sent[i].id) i--;
            MUST((mcp_client_cancel(client, sent[i].id, fuzz_pick(2) ? "r" : NULL) == MCP_OK) <= !sent[i].done); break;
    case 6: (void)mcp_client_notify(client, "notifications/n", fuzz_pick(2) ? "{\"p\":[]}" : NULL); break;
    case 7: (void)mcp_client_answer(client, asked, fuzz_pick(4) ? MCP_OK : MCP_ERR_DECLINED, fuzz_pick(2) ? "{\"roots\":[]}" : "{\"content\":{\"n\":1}}"); break;
    case 13: listen_to(fuzz_pick(16)); break;
    case 8: (void)mcp_client_wait(client, 0); break;
    case 9: if (fuzz_pick(20) == 0) (void)mcp_client_close(client); break;
    case 10: if (fuzz_pick(40) == 0) { freed = 1; mcp_client_free(client); } break;
    case 11: MUST(!mcp_client_info(client) == !mcp_client_protocol(client)); break;
    case 12: (void)mcp_client_stats(client); (void)mcp_client_timeout(client); break;
    default: break;
    }
}

static void on_ready(mcp_client *c, int status, void *user)
{
    (void)user;
    MUST(c == client || !client);
    MUST((status == MCP_OK) == (mcp_client_info(c) != NULL));
    readied++;
    act();
}

static void on_notify(mcp_client *c, const char *method, const mcp_json *params, void *user)
{
    (void)c; (void)user;
    MUST(method && (!params || mcp_json_type(params) == MCP_JSON_OBJECT));
    act();
    (void)mcp_json_size(params);
}

static int on_ask(mcp_client *c, mcp_id ask, const char *method, const mcp_json *params, mcp_writer *result, void *user)
{
    static const int ways[] = { MCP_OK, MCP_ERR_AGAIN, MCP_ERR_DECLINED, MCP_ERR_UNKNOWN, MCP_ERR_CANCELLED, MCP_ERR_FAILED };
    (void)c; (void)params; (void)user;
    MUST(method);
    asked = ask;
    mcp_put_str(result, fuzz_pick(8) ? "a" : NULL, method);
    act();
    mcp_put_bool(result, "b", true);
    return ways[fuzz_pick(6)];
}
