/* For fuzz_server: tools, resources, templates and prompts; handlers that ask, answer, put off, come back, change the registry, step, peek, leave, and free the server. */
static mcp_server *server;
static int freed;
static wire wires[8];
static struct { mcp_id id; bool tried; } later[8];      /* tried: its answer came too late */
static void act(mcp_req *r, void *user);
static void quiet(int level, const char *text, void *user) { (void)level; (void)text; (void)user; }

static int add_tool(const char *name)
{
    mcp_tool t;
    memset(&t, 0, sizeof t);
    t.name = name;
    t.fn = act;
    t.input_schema = fuzz_pick(2) ? "{\"required\":[\"a\"]}" : NULL;
    return mcp_server_tool(server, &t);
}

/* One of any kind, each under a name of one letter: the URI u:a, the template u:a{a}/{+b}. */
static int add_any(const char *name)
{
    mcp_resource x;
    mcp_prompt p;
    char uri[32];
    memset(&x, 0, sizeof x);
    memset(&p, 0, sizeof p);
    switch (fuzz_pick(4)) {
    case 0:
        p.name = name;
        p.fn = act;
        p.complete = fuzz_pick(2) ? act : NULL;
        p.arguments = fuzz_pick(2) ? "[{\"name\":\"a\",\"required\":true}]" : NULL;
        return mcp_server_prompt(server, &p);
    case 1:
        snprintf(uri, sizeof uri, "u:%s", name);
        if (fuzz_pick(2)) x.data = "d"; else x.fn = act;
        x.data_size = x.data ? 1 : 0;
        x.binary = fuzz_pick(2);
        break;
    case 2:
        snprintf(uri, sizeof uri, "u:%s{a}/{+b}", name);
        x.fn = act;
        x.complete = act;
        break;
    default: return add_tool(name);
    }
    x.uri = uri;
    return mcp_server_resource(server, &x);
}

static void remove_any(const char *name)
{
    char uri[32];
    int kind = 1 << fuzz_pick(4);
    if (kind == MCP_LIST_TOOLS || kind == MCP_LIST_PROMPTS) snprintf(uri, sizeof uri, "%s", name);
    else snprintf(uri, sizeof uri, kind == MCP_LIST_RESOURCES ? "u:%s" : "u:%s{a}/{+b}", name);
    (void)mcp_server_remove(server, kind, uri);
}

/* Tools and prompts called h, and resources u:h, are hidden. */
static bool sees(mcp_req *r, int kind, const char *name, void *user)
{
    (void)r; (void)user;
    return name[kind == MCP_LIST_TOOLS || kind == MCP_LIST_PROMPTS ? 0 : 2] != 'h';
}

/* Called instead of an answer, once. */
static void cancelled(mcp_server *s, mcp_id id, void *arg)
{
    size_t i = (size_t)(uintptr_t)arg;
    MUST(s == server && !mcp_server_req(s, id));
    if (later[i].id == id) {                        /* else it has asked, and that was not out yet */
        later[i].id = 0;
        later[i].tried = false;
    }
    if (fuzz_pick(8) == 0) mcp_server_step(s, NULL, 0);
}

static void put_off(mcp_req *r, mcp_id *own)
{
    size_t i = fuzz_pick(8);
    if (*own || later[i].id || mcp_req_on_cancel(r, cancelled, (void *)(uintptr_t)i) != MCP_OK) return;
    *own = later[i].id = mcp_req_defer(r);
}

/* One way to answer r, whose id is `own` if it was put off. */
static void answer(mcp_req *r, mcp_id own)
{
    mcp_writer w, *to;
    bool open = own && mcp_server_req(server, own);
    size_t i;
    int rc;
    mcp_writer_init(&w, NULL, 0);
    mcp_put_json(&w, NULL, mcp_json_get(mcp_req_args(r), "a"));
    const char *values[2];
    values[0] = mcp_req_var(r, "a");
    values[1] = mcp_req_completes(r, NULL);
    (void)mcp_req_role(r, fuzz_pick(2) ? "assistant" : "user");
    (void)mcp_req_cache(r, (int)fuzz_pick(3) - 1, (int)fuzz_pick(2));
    switch (fuzz_pick(11)) {
    case 9: rc = mcp_req_values(r, values, (int)fuzz_pick(3), (int)fuzz_pick(3) - 1, fuzz_pick(2)); break;
    case 10: (void)mcp_req_add_text(r, values[0] ? values[0] : "", MCP_NTS);
             (void)mcp_req_add_resource(r, NULL, NULL, mcp_req_uri(r), 0, false);
             rc = mcp_req_done(r); break;
    case 0: rc = mcp_req_text(r, mcp_arg_str(r, "a", "b")); break;
    case 1: rc = mcp_req_failf(r, "%s", mcp_req_method(r)); break;
    case 2: rc = mcp_req_error(r, (int)mcp_arg_int(r, "a", -1), mcp_arg_str(r, "a", NULL), mcp_writer_text(&w, NULL)); break;
    case 3: rc = mcp_req_result(r, mcp_writer_text(&w, NULL), MCP_NTS); break;
    case 4: if ((to = mcp_req_begin(r)) != NULL) mcp_put_json(to, "a", mcp_req_params(r)); rc = mcp_req_end(r); break;
    case 5: (void)mcp_req_structured(r, mcp_writer_text(&w, NULL), MCP_NTS); rc = mcp_req_done(r); break;
    case 6: (void)mcp_req_add_image(r, NULL, "x", 1);
            (void)mcp_req_add_audio(r, "a/b", NULL, 0);
            (void)mcp_req_add_link(r, "u:v", NULL, mcp_arg_str(r, "a", NULL));
            (void)mcp_req_add_json(r, "{\"type\":\"q\"}", MCP_NTS);
            rc = mcp_req_done(r); break;
    case 7: if ((to = mcp_req_structure(r)) != NULL) mcp_put_json(to, NULL, mcp_req_args(r)); rc = mcp_req_done(r); break;
    default: (void)mcp_req_add_resource(r, "u:v", "a/b", "\xff", 1, fuzz_pick(2)); rc = mcp_req_done(r); break;
    }
    mcp_writer_free(&w);
    MUST(rc == MCP_OK || rc == MCP_ERR_ARGUMENT || rc == MCP_ERR_MISUSE || rc == MCP_ERR_CANCELLED || rc == MCP_ERR_CLOSED || fuzz.fails);
    for (i = 0; own && i < 8; i++)
        if (later[i].id != own) continue;
        else if (rc == MCP_ERR_CANCELLED || rc == MCP_ERR_CLOSED) later[i].tried = true;
        else if (open && !mcp_server_req(server, own)) later[i].id = 0;
}

/* Asks for something. True: it may have been asked, so r's own id is dead, or soon will be. */
static bool ask(mcp_req *r)
{
    static const char form[] = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\",\"maxLength\":3}},\"required\":[\"a\"]}";
    static const char *const keys[] = {"a", "b", "c"};
    const char *key = keys[fuzz_pick(3)];
    const mcp_json *v = NULL;
    int rc;
    switch (fuzz_pick(7)) {
    case 0: rc = mcp_req_elicit_url(r, key, "go", "https://a.b/c"); break;
    case 1: rc = mcp_req_ask(r, key, "roots/list", NULL, &v); break;
    case 2: rc = mcp_req_ask(r, key, "sampling/createMessage", "{\"messages\":[],\"maxTokens\":1}", &v); break;
    case 3: rc = mcp_req_keep(r, fuzz_pick(2) ? "{\"k\":[1]}" : NULL); break;
    case 4: v = mcp_req_kept(r); rc = v ? MCP_OK : MCP_ERR_FAILED; break;       /* a bad state: answered */
    default: rc = mcp_req_elicit(r, key, "what?", form, &v); MUST(rc != MCP_OK || mcp_json_get(v, "a")); break;
    }
    if (v) (void)mcp_json_size(v);
    return rc != MCP_OK;
}

static void answer_late(void)
{
    size_t i = fuzz_pick(8);
    mcp_req *r = mcp_server_req(server, later[i].id);
    if (!r) return;
    (void)mcp_json_size(mcp_req_args(r));
    (void)mcp_req_progress(r, fuzz_pick(9), 0, NULL);
    if (fuzz_pick(3) == 0) {
        mcp_id id = later[i].id;
        bool asked = ask(r);
        if (asked && mcp_server_req(server, id) && fuzz_pick(2)) answer(r, id);
        if (asked) { later[i].id = 0; later[i].tried = false; return; }
    }
    answer(r, later[i].id);
}

static void attach(void)
{
    size_t i = fuzz_pick(8);
    mcp_io io = wire_io(&wires[i]);
    if (i == 0 || wires[i].used) return;
    wires[i].used = 1;
    wires[i].at = fuzz_pick((unsigned)fuzz.size + 1);
    if (!mcp_server_attach(server, &io, "p")) wires[i].used = 0;
}

static void timer(void *owner, void *arg) { (void)arg; if (owner) answer_late(); }

/* What may be done at any time. */
static void act_outside(void)
{
    char name[2] = {(char)('a' + fuzz_pick(20)), 0};
    switch (fuzz_pick(40)) {
    case 0: (void)add_any(name); break;
    case 1: remove_any(name); break;
    case 2: answer_late(); break;
    case 3: attach(); break;
    case 4: (void)mcp_server_after(server, (int)fuzz_pick(30), timer, NULL); break;
    case 5: (void)mcp_server_notify(server, NULL, "notifications/y", "{}"); break;
    case 6: (void)mcp_server_changed(server, fuzz_pick(16)); break;
    case 9: (void)mcp_server_updated(server, fuzz_pick(2) ? "u:a" : "u:b"); break;
    case 7: if (fuzz_pick(20) == 0) (void)mcp_server_stop(server); break;
    case 8: (void)mcp_server_elicited(server, "https://a.b/c"); break;
    default: break;
    }
}

static void act(mcp_req *r, void *user)
{
    unsigned n = fuzz_pick(6), i;
    mcp_id own = 0;
    bool asked = false;
    (void)user;
    while (n--) {
        act_outside();
        switch (fuzz_pick(14)) {
        case 12: case 13: asked |= ask(r); break;
        case 0: (void)mcp_server_step(server, NULL, 0); break;
        case 1: put_off(r, &own); break;
        case 2: (void)mcp_req_cancelled(r); break;
        case 3: (void)mcp_req_progress(r, fuzz_pick(100), 7, mcp_arg_str(r, "a", NULL)); break;
        case 4: (void)mcp_req_logf(r, "info", "%s", mcp_req_tool(r)); break;
        case 5: if (fuzz_pick(8) == 0) mcp_server_detach(server, mcp_req_conn(r)); break;
        case 6: if (fuzz_pick(50) == 0) { freed = 1; mcp_server_free(server); } break;
        case 7: (void)mcp_req_notify(r, "notifications/z", "{\"a\":1}"); break;
        case 9: if (fuzz_pick(10) == 0) {        /* waits for the end */
                    for (i = 0; i < 20000 && mcp_server_step(server, NULL, 0) == MCP_OK; i++) { }
                    MUST(i < 20000);
                } break;
        case 8: (void)mcp_req_can(r, mcp_arg_str(r, "a", "/a")); break;
        default: break;
        }
    }
    if (fuzz_pick(8) && !(asked && fuzz_pick(4))) answer(r, own);
    for (i = 0; asked && own && i < 8; i++)
        if (later[i].id == own) later[i].id = 0;
}
