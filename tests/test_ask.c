/* Asking the user: one handler, both eras. */
/* Behind the name of a test may stand the rows (B01 ...) that it covers of the catalogue which tests/faults.sh runs the cases of. */
#define MCP_IMPLEMENTATION      /* looks inside */
#include "mcp.h"
#include "test.h"

/* -- the seal: published vectors ---------------------------------------------------------------------------------- */

static const char *hex(const unsigned char *p)
{
    static char text[65];
    int i;
    for (i = 0; i < 32; i++) snprintf(text + 2 * i, 3, "%02x", p[i]);
    return text;
}

/* In pieces of `step` bytes. */
static const char *sha(const char *text, size_t n, size_t step)
{
    static unsigned char out[32];
    mcpi_sha c;
    size_t i;
    mcpi_sha_begin(&c);
    for (i = 0; i < n; i += step) mcpi_sha_add(&c, text + i, n - i < step ? n - i : step);
    mcpi_sha_end(&c, out);
    return hex(out);
}

/* FIPS 180-4's examples, as NIST publishes them. */
TEST(sha256)
{
    static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const char four[] = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
    static char a[1000000];
    size_t step;
    memset(a, 'a', sizeof a);
    EQ_STR(sha("", 0, 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for (step = 1; step < 130; step += 7) {
        EQ_STR(sha("abc", 3, step), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        EQ_STR(sha(two, sizeof two - 1, step), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        EQ_STR(sha(four, sizeof four - 1, step), "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    }
    EQ_STR(sha(a, sizeof a, 4099), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static const char *mac(const void *key, size_t key_len, const char *text, size_t n)
{
    static unsigned char out[32];
    mcpi_sha c;
    mcpi_hmac_begin(&c, key, key_len);
    mcpi_sha_add(&c, text, n);
    mcpi_hmac_end(&c, key, key_len, out);
    return hex(out);
}

/* RFC 4231, test cases 1 to 4, 6 and 7. */
TEST(hmac)
{
    static const char large[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    static const char larger[] = "This is a test using a larger than block-size key and a larger than block-size data. "
        "The key needs to be hashed before being used by the HMAC algorithm.";
    char key[131], text[50];
    int i;
    memset(key, 0x0b, 20);
    EQ_STR(mac(key, 20, "Hi There", 8), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EQ_STR(mac("Jefe", 4, "what do ya want for nothing?", 28), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    memset(text, 0xdd, 50);
    EQ_STR(mac(key, 20, text, 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    EQ_STR(mac(key, 131, large, sizeof large - 1), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    EQ_STR(mac(key, 131, larger, sizeof larger - 1), "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
    for (i = 0; i < 25; i++) key[i] = (char)(i + 1);
    memset(text, 0xcd, 50);
    EQ_STR(mac(key, 25, text, 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
}


/* -- a server, a peer in memory, a clock and an allocator of the test's own ------------------------------------------ */

static int64_t now = 1000, wall = 1700000000000;
static int64_t now_fn(void *user) { (void)user; return now; }
static int64_t wall_fn(void *user) { (void)user; return wall; }

static size_t live;
static void *count_fn(void *user, void *p, size_t was, size_t n)
{
    (void)user;
    live += n - was;
    if (n) return realloc(p, n);
    free(p);
    return NULL;
}

typedef struct peer { mcp_server *s; mcp_io io; mcp_conn *conn; char text[65536]; size_t len; } peer;

static mcp_server *server_with(mcp_server_desc *d)
{
    d->name = "ask";
    d->version = "1";
    d->no_stdio = true;
    d->now_ms = now_fn;
    d->wall_ms = wall_fn;
    d->alloc.resize = count_fn;
    d->log.level = -1;
    return mcp_server_new(d);
}

static void join_as(peer *p, mcp_server *s, const char *principal)
{
    mcp_io ends[2];
    memset(p, 0, sizeof *p);
    EQ_INT(mcp_io_pair(NULL, ends), MCP_OK);
    p->s = s;
    p->conn = mcp_server_attach(s, &ends[0], principal);
    p->io = ends[1];
    test_wire(p->io.user, 'S', NULL, 0);
}

static bool freed;                          /* by its own handler */

/* Lets the server work until nothing moves; what it says is in p->text. */
static const char *hear(peer *p)
{
    int idle = 0;
    p->len = 0;
    while (idle < 3) {
        ptrdiff_t n;
        if (!freed && mcp_server_step(p->s, NULL, 0) == MCP_ERR_CLOSED && freed) break;
        n = p->io.read(p->io.user, p->text + p->len, sizeof p->text - 1 - p->len);
        if (n > 0) { test_wire(p->io.user, '>', p->text + p->len, (size_t)n); p->len += (size_t)n; idle = 0; } else idle++;
    }
    p->text[p->len] = 0;
    return p->text;
}

static const char *say(peer *p, const char *line)
{
    EQ_INT(p->io.write(p->io.user, line, strlen(line)), strlen(line));
    EQ_INT(p->io.write(p->io.user, "\n", 1), 1);
    test_wire(p->io.user, '<', line, strlen(line));
    test_wire(p->io.user, '<', "\n", 1);
    return hear(p);
}

static void end(mcp_server *s, peer *p)
{
    mcp_server_free(s);
    p->io.close(p->io.user);
    EQ_INT(live, 0);
}

static const mcp_server_desc *described;
static mcp_server *with_tool(mcp_req_fn fn)
{
    mcp_server_desc d;
    mcp_server *s;
    mcp_tool t;
    memset(&d, 0, sizeof d);
    if (described) d = *described;
    s = server_with(&d);
    memset(&t, 0, sizeof t);
    t.name = "t";
    t.fn = fn;
    EQ_INT(mcp_server_tool(s, &t), MCP_OK);
    return s;
}

static int lines(const char *text)
{
    int n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

#define HAS(text, part) do { const char *h_ = (text); bool has_ = strstr(h_, part) != NULL; \
    test_check(has_, __FILE__, __LINE__, "has " #part); if (!has_) printf("    %s\n", h_); } while (0)
#define HASNT(text, part) CHECK(!strstr(text, part))

#define ALL "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{\"tools\":{},\"context\":{}},\"roots\":{}}"

/* Modern: a call, and the next round with the answers and the last state. */
static char state[32768];
static const char *caps = ALL, *args = "{}";

static void keep_state(const char *text)
{
    const char *at = strstr(text, "\"requestState\":\""), *end_at;
    state[0] = 0;
    if (!at) return;
    at += strlen("\"requestState\":");
    end_at = strchr(at + 1, '"');
    snprintf(state, sizeof state, "%.*s", (int)(end_at + 1 - at), at);
}

static const char *modern_with(peer *p, const char *responses, const char *with_state)
{
    static char line[65536];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":%s"
             "%s%s%s%s,\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":%s}}}",
             args, responses ? ",\"inputResponses\":" : "", responses ? responses : "", with_state ? ",\"requestState\":" : "",
             with_state ? with_state : "", caps);
    say(p, line);
    keep_state(p->text);
    return p->text;
}
static const char *modern(peer *p, const char *responses)
{
    char last[sizeof state];
    strcpy(last, state);
    return modern_with(p, responses, *last ? last : NULL);
}
static const char *first(peer *p) { state[0] = 0; return modern(p, NULL); }

/* Legacy: the handshake, and a call. */
static void legacy(peer *p, const char *version)
{
    char line[1024];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":\"i\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"%s\",\"capabilities\":%s,\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}", version, caps);
    HAS(say(p, line), version);
    EQ_STR(say(p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"), "");
}
static const char *call(peer *p)
{
    char line[1024];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":%s}}", args);
    return say(p, line);
}
/* The id of the n-th question in what was said (from 1), or 0. */
static int question(const peer *p, int n)
{
    const char *at = p->text;
    while (at && n--) { at = strstr(at, "{\"jsonrpc\":\"2.0\",\"id\":"); if (at) at += 22; }
    return at ? atoi(at) : 0;
}
static const char *answer(peer *p, int id, const char *result)
{
    char line[1024];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":%s}", id, result);
    return say(p, line);
}
#define CANCEL_7 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}"

/* -- one question --------------------------------------------------------------------------------------------------- */

#define NAME_FORM MCP_JSON({"type": "object", "properties": {"name": {"type": "string", "minLength": 1}}, "required": ["name"]})
static int runs, last_rc;

static void hello(mcp_req *r, void *user)
{
    const mcp_json *c;
    (void)user;
    runs++;
    last_rc = mcp_req_elicit(r, "q", "Your name?", NAME_FORM, &c);
    if (last_rc == MCP_OK) mcp_req_textf(r, "hello %s", mcp_json_str(mcp_json_get(c, "name"), "?"));
}

TEST(one_question_modern)                                                                  /* D76 */
{
    mcp_server *s = with_tool(hello);
    peer p;
    join_as(&p, s, "alice");
    runs = 0;
    HAS(first(&p), "\"resultType\":\"input_required\"");
    HAS(p.text, "\"inputRequests\":{\"q\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"Your name?\",\"requestedSchema\":{");
    HAS(p.text, "\"requestState\":\"");
    HAS(p.text, "\"io.modelcontextprotocol/serverInfo\"");
    EQ_INT(lines(p.text), 1);
    HAS(modern(&p, "{\"q\":{\"action\":\"accept\",\"content\":{\"name\":\"n\"}},\"other\":{}}"), "\"text\":\"hello n\"");
    HAS(p.text, "\"resultType\":\"complete\"");
    EQ_INT(runs, 2);
    /* without a state the answer is taken, too; with the wrong key the question comes again */
    HAS(modern_with(&p, "{\"q\":{\"action\":\"accept\",\"content\":{\"name\":\"m\"}}}", NULL), "hello m");
    HAS(modern_with(&p, "{\"Q\":{\"action\":\"accept\",\"content\":{\"name\":\"m\"}}}", NULL), "\"inputRequests\":{\"q\":");
    HAS(modern_with(&p, "{}", NULL), "\"inputRequests\":{\"q\":");
    end(s, &p);
}

TEST(one_question_legacy)
{
    mcp_server *s = with_tool(hello);
    peer p;
    int id;
    join_as(&p, s, "alice");
    legacy(&p, "2025-11-25");
    runs = 0;
    HAS(call(&p), "\"method\":\"elicitation/create\",\"params\":{\"message\":\"Your name?\",\"requestedSchema\":{");
    EQ_INT(lines(p.text), 1);
    EQ_INT(mcp_server_stats(s).pending, 1);
    id = question(&p, 1);
    CHECK(id > 0);
    EQ_STR(answer(&p, id + 1, "{}"), "");               /* no question of ours */
    EQ_INT(mcp_server_stats(s).unknown, 1);
    HAS(answer(&p, id, "{\"action\":\"accept\",\"content\":{\"name\":\"n\"}}"), "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hello n\"}]}}");
    EQ_INT(runs, 2);
    EQ_INT(mcp_server_stats(s).pending, 0);
    EQ_STR(answer(&p, id, "{\"action\":\"accept\",\"content\":{\"name\":\"n\"}}"), "");         /* twice */
    EQ_INT(mcp_server_stats(s).unknown, 2);
    EQ_INT(runs, 2);
    end(s, &p);
}

/* What is no acceptance: each a status of its own, and told when the handler just returns. */
TEST(refusals)
{
    static const struct { const char *answer; int rc; const char *modern, *legacy; } t[] = {
        { "{\"action\":\"decline\"}", MCP_ERR_DECLINED, "the user declined", "the user declined" },
        { "{\"action\":\"cancel\",\"content\":null}", MCP_ERR_CANCELLED, "\"cancelled\"", "\"cancelled\"" },
        { "{\"action\":\"accept\"}", MCP_ERR_PROTOCOL, "does not fit: name is missing", "does not fit: name is missing" },
        { "{\"action\":\"accept\",\"content\":{\"name\":\"\"}}", MCP_ERR_PROTOCOL, "name is too short", "name is too short" },
        { "{\"action\":\"accept\",\"content\":{\"name\":5}}", MCP_ERR_PROTOCOL, "name is not a string", "name is not a string" },
        { "{\"action\":\"accept\",\"content\":[]}", MCP_ERR_PROTOCOL, "content is not an object", "content is not an object" },
        { "{\"action\":\"yes\"}", MCP_ERR_PROTOCOL, "action is not", "action is not" },
        { "{}", MCP_ERR_PROTOCOL, "action is not", "action is not" },
        { "12345", MCP_ERR_PROTOCOL, "not an object", NULL },
        { "null", MCP_ERR_PROTOCOL, "not an object", NULL },
        { "[]", MCP_ERR_PROTOCOL, "not an object", NULL }
    };
    mcp_server *s = with_tool(hello);
    peer p, l;
    size_t i;
    char responses[256];
    join_as(&p, s, "alice");
    join_as(&l, s, "bob");
    legacy(&l, "2025-11-25");
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        snprintf(responses, sizeof responses, "{\"q\":%s}", t[i].answer);
        first(&p);
        HAS(modern(&p, responses), t[i].modern);
        HAS(p.text, t[i].rc == MCP_ERR_PROTOCOL ? "\"code\":-32602" : "\"isError\":true");
        EQ_INT(last_rc, t[i].rc);
        call(&l);
        answer(&l, question(&l, 1), t[i].answer);
        if (t[i].legacy) { HAS(l.text, t[i].legacy); HAS(l.text, "\"isError\":true"); EQ_INT(last_rc, t[i].rc); continue; }
        HAS(l.text, "\"isError\":true");                /* a bad message: it ends the question, and gets no answer */
        EQ_INT(lines(l.text), 1);
        EQ_INT(last_rc, MCP_ERR_PROTOCOL);
    }
    first(&p);
    HAS(modern(&p, "\"x\""), "params.inputResponses is not an object");
    first(&p);
    HAS(modern(&p, "null"), "-32602");
    call(&l);
    snprintf(responses, sizeof responses, "{\"jsonrpc\":\"2.0\",\"id\":\"%d\",\"error\":{\"code\":-1,\"message\":\"no\"}}", question(&l, 1));
    HAS(say(&l, responses), "the client answered elicitation/create with error -1: no");
    EQ_INT(last_rc, MCP_ERR_PEER);
    l.io.close(l.io.user);
    end(s, &p);
}

/* -- several questions, several rounds -------------------------------------------------------------------------------- */

#define SAMPLE MCP_JSON({"messages": [], "maxTokens": 10})
static void three(mcp_req *r, void *user)
{
    const mcp_json *a, *b, *c;
    int x, y, z;
    (void)user;
    runs++;
    mcp_req_add_text(r, "dropped when it asks", MCP_NTS);
    x = mcp_req_elicit(r, "user", "Name?", NAME_FORM, &a);
    y = mcp_req_ask(r, "llm", "sampling/createMessage", SAMPLE, &b);
    z = mcp_req_ask(r, "roots", "roots/list", NULL, &c);
    EQ_INT(mcp_req_keep(r, "{\"round\":1}"), MCP_OK);
    if (x == MCP_OK && y == MCP_OK && z == MCP_OK)
        mcp_req_textf(r, "%s, %s, %d roots, round %d", mcp_json_str(mcp_json_get(a, "name"), ""),
                      mcp_json_str(mcp_json_at(b, "/content/text"), ""), (int)mcp_json_size(mcp_json_get(c, "roots")),
                      (int)mcp_json_int(mcp_json_get(mcp_req_kept(r), "round"), 0));
}
#define USER_N "{\"action\":\"accept\",\"content\":{\"name\":\"n\"}}"
#define LLM_L "{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":\"l\"}}"
#define ROOTS_1 "{\"roots\":[{\"uri\":\"file:///r\"}]}"

TEST(three_at_once)
{
    mcp_server *s = with_tool(three);
    peer p, l;
    int id;
    join_as(&p, s, "alice");
    HAS(first(&p), "\"llm\":{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[],\"maxTokens\":10}}");
    HAS(p.text, "\"roots\":{\"method\":\"roots/list\"}");
    HAS(p.text, "\"user\":{\"method\":\"elicitation/create\"");
    HASNT(p.text, "dropped");
    HAS(modern(&p, "{\"user\":" USER_N ",\"llm\":" LLM_L ",\"roots\":" ROOTS_1 "}"), "\"n, l, 1 roots, round 1\"");
    /* what is missing is asked again, and what was answered is not */
    first(&p);
    HAS(modern(&p, "{\"user\":" USER_N "}"), "\"inputRequests\":{\"llm\"");
    HASNT(p.text, "\"user\":{");
    HAS(modern(&p, "{\"llm\":" LLM_L "}"), "\"inputRequests\":{\"roots\"");
    HAS(modern(&p, "{\"roots\":" ROOTS_1 ",\"user\":{\"action\":\"decline\"}}"), "\"n, l, 1 roots, round 1\"");
    join_as(&l, s, "bob");
    legacy(&l, "2025-11-25");
    runs = 0;
    EQ_INT(lines(call(&l)), 3);
    id = question(&l, 1);
    EQ_STR(answer(&l, id + 2, ROOTS_1), "");
    EQ_STR(answer(&l, id, USER_N), "");
    EQ_INT(runs, 1);
    HAS(answer(&l, id + 1, LLM_L), "\"n, l, 1 roots, round 1\"");
    EQ_INT(runs, 2);
    l.io.close(l.io.user);
    end(s, &p);
}

static void rounds(mcp_req *r, void *user)
{
    const mcp_json *a;
    char kept[32];
    int n = (int)mcp_json_int(mcp_req_kept(r), 0);
    (void)user;
    snprintf(kept, sizeof kept, "%d", n + 1);
    EQ_INT(mcp_req_keep(r, kept), MCP_OK);
    if (mcp_req_elicit(r, "step1", "1?", "{\"type\":\"object\",\"properties\":{}}", &a) != MCP_OK) return;
    if (mcp_req_elicit(r, "step2", "2?", "{\"type\":\"object\",\"properties\":{}}", NULL) != MCP_OK) return;
    mcp_req_textf(r, "both, after %d", n);
}

TEST(rounds_one_after_another)
{
    mcp_server *s = with_tool(rounds);
    char before[sizeof state];
    peer p;
    join_as(&p, s, "alice");
    HAS(first(&p), "\"inputRequests\":{\"step1\":{");
    strcpy(before, state);
    HAS(modern(&p, "{\"step1\":{\"action\":\"accept\",\"content\":{}}}"), "\"inputRequests\":{\"step2\":{");
    CHECK(strcmp(before, state) != 0);
    HAS(modern(&p, "{\"step2\":{\"action\":\"accept\"}}"), "both, after 2");
    legacy(&p, "2025-06-18");
    call(&p);
    HAS(answer(&p, question(&p, 1), "{\"action\":\"accept\"}"), "\"message\":\"2?\"");
    EQ_INT(mcp_server_stats(s).pending, 1);
    HAS(answer(&p, question(&p, 1), "{\"action\":\"accept\"}"), "both, after 2");
    end(s, &p);
}

/* -- the state -------------------------------------------------------------------------------------------------------- */

static void confirm(mcp_req *r, void *user)
{
    const mcp_json *kept = mcp_req_kept(r);
    (void)user;
    last_rc = mcp_req_elicit(r, "confirm", "Sure?", "{\"type\":\"object\",\"properties\":{}}", NULL);
    if (!kept) mcp_req_keep(r, "\"secret\"");
    if (last_rc == MCP_OK) mcp_req_text(r, mcp_json_str(kept, "nothing kept"));
}
#define SURE "{\"confirm\":{\"action\":\"accept\"}}"

TEST(state_is_bound)                                                                       /* D77 */
{
    mcp_server *s = with_tool(confirm);
    char good[sizeof state], bad[sizeof state];
    size_t i;
    peer p, q;
    join_as(&p, s, "alice");
    join_as(&q, s, "bob");
    args = "{\"a\":1.0,\"b\":[true,null,{\"y\":\"\\u0000\",\"x\":{}}],\"\":\"\"}";
    first(&p);
    strcpy(good, state);
    HAS(modern_with(&p, SURE, good), "\"text\":\"secret\"");
    HAS(modern_with(&p, SURE, good), "\"text\":\"secret\"");       /* twice: the handler's to prevent */
    HAS(modern_with(&p, SURE, NULL), "\"text\":\"nothing kept\"");
    args = "{\"\":\"\", \"b\":[true,null,{\"x\":{},\"y\":\"\\u0000\"}],\"a\":1.0}";        /* says the same */
    HAS(modern_with(&p, SURE, good), "\"text\":\"secret\"");
    HAS(modern_with(&q, SURE, good), "\"code\":-32602");            /* somebody else's */
    EQ_INT(last_rc, MCP_ERR_MISUSE);                /* the question that came after mcp_req_kept */
    {
        static const char *const others[] = {
            "{\"a\":1.0,\"b\":[true,null,{\"y\":\"\\u0000\",\"x\":{}}]}", "{\"a\":1,\"b\":[true,null,{\"y\":\"\\u0000\",\"x\":{}}],\"\":\"\"}",
            "{\"a\":1.0,\"b\":[false,null,{\"y\":\"\\u0000\",\"x\":{}}],\"\":\"\"}", "{\"a\":1.0,\"b\":[true,null,{\"y\":\"\",\"x\":{}}],\"\":\"\"}",
            "{\"a\":1.0,\"b\":[true,null,{\"y\":\"\\u0000\",\"x\":[]}],\"\":\"\"}", "{\"a\":1.0,\"b\":[true,[null],{\"y\":\"\\u0000\",\"x\":{}}],\"\":\"\"}",
            "{\"a\":\"1.0\",\"b\":[true,null,{\"y\":\"\\u0000\",\"x\":{}}],\"\":\"\"}", "{\"b\":1.0,\"a\":[true,null,{\"y\":\"\\u0000\",\"x\":{}}],\"\":\"\"}" };
        for (i = 0; i < sizeof others / sizeof *others; i++) {
            args = others[i];
            HAS(modern_with(&p, SURE, good), "params.requestState does not belong to this request");
        }
    }
    args = "{\"a\":1.0,\"b\":[true,null,{\"y\":\"\\u0000\",\"x\":{}}],\"\":\"\"}";
    for (i = 1; i + 1 < strlen(good); i += 3) {                     /* another digit anywhere (padding apart) */
        strcpy(bad, good);
        if (bad[i] == '=' || bad[i + 1] == '=' || bad[i + 1] == '"') continue;
        bad[i] = bad[i] == 'A' ? 'B' : 'A';
        HAS(modern_with(&p, SURE, bad), "-32602");
    }
    for (i = 1; i < strlen(good); i += 7) {                         /* cut */
        snprintf(bad, sizeof bad, "%.*s\"", (int)i, good);
        HAS(modern_with(&p, SURE, bad), "-32602");
    }
    snprintf(bad, sizeof bad, "%.*s-TAMPERED\"", (int)strlen(good) - 1, good);
    HAS(modern_with(&p, SURE, bad), "-32602");
    HAS(modern_with(&p, SURE, "\"\""), "-32602");
    HAS(modern_with(&p, SURE, "7"), "-32602");
    HAS(modern_with(&p, SURE, "null"), "-32602");
    wall += 600000;
    HAS(modern_with(&p, SURE, good), "\"text\":\"secret\"");
    wall++;
    HAS(modern_with(&p, SURE, good), "params.requestState has expired");
    args = "{}";
    q.io.close(q.io.user);
    end(s, &p);
}

/* However many members there are, their order makes no difference; of equal keys it does. */
TEST(order_of_keys)
{
    mcp_server *s = with_tool(confirm);
    char good[sizeof state], text[2][2048];
    unsigned seed = 7;
    peer p;
    int n, i, round;
    join_as(&p, s, "alice");
    for (n = 1; n <= 40; n += 1 + n / 8) {
        int order[40];
        for (i = 0; i < n; i++) order[i] = i;
        for (round = 0; round < 4; round++) {
            size_t at = 0;
            for (i = n - 1; i > 0 && round; i--) {                  /* shuffled */
                int k = (int)((seed = seed * 1103515245u + 12345u) >> 16) % (i + 1), was = order[i];
                order[i] = order[k];
                order[k] = was;
            }
            for (i = 0; i < n; i++)
                at += (size_t)snprintf(text[round > 0] + at, sizeof text[0] - at, "%c\"%.*s\":%d", i ? ',' : '{', order[i] + 1, "abcdefghijabcdefghijabcdefghijabcdefghijab", order[i]);
            snprintf(text[round > 0] + at, sizeof text[0] - at, "}");
            args = text[round > 0];
            if (!round) { first(&p); strcpy(good, state); }
            HAS(modern_with(&p, SURE, good), "\"text\":\"secret\"");
        }
    }
    args = "{\"b\":0,\"a\":1,\"a\":2}";
    first(&p);
    strcpy(good, state);
    args = "{\"a\":1,\"b\":0,\"a\":2}";
    HAS(modern_with(&p, SURE, good), "\"text\":\"secret\"");
    args = "{\"a\":2,\"b\":0,\"a\":1}";
    HAS(modern_with(&p, SURE, good), "-32602");
    args = "{}";
    end(s, &p);
}

static int no_random(void *user, void *buf, size_t n) { (void)user; (void)buf; (void)n; return MCP_ERR_FAILED; }
static int my_random(void *user, void *buf, size_t n) { (void)user; memset(buf, 3, n); return MCP_OK; }

TEST(keys_of_states)                                                                       /* D77 */
{
    mcp_server_desc d;
    mcp_server *a, *b;
    peer p, q;
    char given[32] = "0123456789abcdef0123456789abcde", good[sizeof state];
    int round;
    for (round = 0; round < 3; round++) {           /* 0: each its own; 1: the program's; 2: the program's random */
        memset(&d, 0, sizeof d);
        if (round == 1) { d.state_key = given; d.state_key_size = sizeof given; }
        if (round == 2) d.random = my_random;
        described = &d;
        a = with_tool(confirm);
        b = with_tool(confirm);
        memset(given, round, sizeof given);         /* it was copied */
        join_as(&p, a, "alice");
        join_as(&q, b, "alice");
        first(&p);
        strcpy(good, state);
        HAS(modern_with(&q, SURE, good), round ? "\"text\":\"secret\"" : "-32602");
        mcp_server_free(b);
        q.io.close(q.io.user);
        end(a, &p);
    }
    memset(&d, 0, sizeof d);
    d.state_key = "a text";
    d.state_key_size = MCP_NTS;
    a = with_tool(confirm);
    EQ_INT(a->d.state_key_size, 6);
    join_as(&p, a, "alice");
    first(&p);
    HAS(modern(&p, SURE), "secret");
    end(a, &p);
    d.state_key_size = 0;                           /* forgotten */
    a = server_with(&d);
    HAS(mcp_server_error(a), "state_key without state_key_size");
    EQ_INT(mcp_server_step(a, NULL, 0), MCP_ERR_ARGUMENT);
    mcp_server_free(a);
    memset(&d, 0, sizeof d);
    d.random = no_random;
    a = with_tool(confirm);
    join_as(&p, a, "alice");
    HAS(first(&p), "\"code\":-32603");
    EQ_INT(last_rc, MCP_ERR_MISUSE);
    HAS(mcp_server_error(a), "did not answer");
    HAS(modern_with(&p, SURE, good), "-32602");
    legacy(&p, "2025-11-25");                       /* needs no seal */
    HAS(call(&p), "elicitation/create");
    described = NULL;
    end(a, &p);
}

/* -- capabilities and revisions ---------------------------------------------------------------------------------------- */

static const char *ask_method, *ask_params;
static void asks(mcp_req *r, void *user)
{
    const mcp_json *a;
    (void)user;
    last_rc = mcp_req_ask(r, "q", ask_method, ask_params, &a);
    if (last_rc == MCP_OK) mcp_req_text(r, "answered");
    else if (last_rc == MCP_ERR_PEER) mcp_req_text(r, mcp_json_str(mcp_json_get(a, "message"), ""));
}

TEST(capabilities)                                                                         /* D75 */
{
    static const char form[] = MCP_JSON({"message": "m", "mode": "form", "requestedSchema": {"type": "object", "properties": {}}});
    static const char url[] = MCP_JSON({"message": "m", "mode": "url", "url": "https://a.b/c", "elicitationId": "x"});
    static const char choices[] = MCP_JSON({"message": "m", "requestedSchema": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string", "enum": ["x"]}}}}});
    static const char titled[] = MCP_JSON({"message": "m", "requestedSchema": {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1},
        "c": {"type": "string", "title": "Colour", "oneOf": [{"const": "r", "title": "Red"}, {"const": "g"}]}}, "required": ["c"]}});
    static const char tools[] = MCP_JSON({"messages": [], "maxTokens": 1, "tools": []});
    static const char context[] = MCP_JSON({"messages": [], "maxTokens": 1, "includeContext": "allServers"});
    static const char none[] = MCP_JSON({"messages": [], "maxTokens": 1, "includeContext": "none"});
    static const char all[] = ALL;
#define E "elicitation/create"
#define S "sampling/createMessage"
#define NEEDS "\"code\":-32021,\"message\":\"this needs a capability that the client does not have\",\"data\":{\"requiredCapabilities\":"
    static const struct { const char *version, *caps, *method, *params, *has; } t[] = {
        { NULL, "{}", E, form, NEEDS "{\"elicitation\":{\"form\":{}}}}" },
        { NULL, "{\"elicitation\":{}}", E, form, "\"mode\":\"form\"" },
        { NULL, "{\"elicitation\":{\"url\":{}}}", E, form, NEEDS "{\"elicitation\":{\"form\":{}}}}" },
        { NULL, "{\"elicitation\":{}}", E, url, NEEDS "{\"elicitation\":{\"url\":{}}}}" },
        { NULL, all, E, url, "\"params\":{\"message\":\"m\",\"mode\":\"url\",\"url\":\"https://a.b/c\"}" },
        { NULL, "{}", S, none, NEEDS "{\"sampling\":{}}}" },
        { NULL, "{\"sampling\":{}}", S, none, S },
        { NULL, "{\"sampling\":{}}", S, tools, NEEDS "{\"sampling\":{\"tools\":{}}}}" },
        { NULL, "{\"sampling\":{}}", S, context, NEEDS "{\"sampling\":{\"context\":{}}}}" },
        { NULL, all, S, tools, S },
        { NULL, "{}", "roots/list", "{}", NEEDS "{\"roots\":{}}}" },
        { NULL, "{\"roots\":{}}", "roots/list", "{\"_meta\":{\"a\":1}}", "{\"method\":\"roots/list\",\"params\":{\"_meta\":{\"a\":1}}}" },
        { "2025-11-25", all, E, form, "\"mode\":\"form\"" },
        { "2025-11-25", all, E, url, "\"elicitationId\":\"1700000000000-" },
        { "2025-11-25", "{}", E, form, NEEDS "{\"elicitation\":{\"form\":{}}}}" },
        { "2025-06-18", "{\"elicitation\":{}}", E, form, "\"params\":{\"message\":\"m\",\"requestedSchema\"" },
        { "2025-11-25", all, E, choices, E },
        { "2025-11-25", all, E, titled, "\"oneOf\":[{\"const\":\"r\",\"title\":\"Red\"},{\"const\":\"g\"}]" },
        { "2025-06-18", all, E, titled, "\"requestedSchema\":{\"type\":\"object\",\"required\":[\"c\"],\"properties\":{\"n\":{\"type\":\"integer\",\"minimum\":1},"
            "\"c\":{\"type\":\"string\",\"title\":\"Colour\",\"enum\":[\"r\",\"g\"],\"enumNames\":[\"Red\",\"g\"]}}}" },
        { "2025-06-18", all, E, choices, NEEDS "{\"elicitation\":{\"form\":{}}}}" },
        { "2025-06-18", all, E, url, NEEDS "{\"elicitation\":{\"url\":{}}}}" },
        { "2025-06-18", "{\"sampling\":{}}", S, context, S },
        { "2025-06-18", all, S, tools, NEEDS "{\"sampling\":{\"tools\":{}}}}" },
        { "2025-03-26", all, E, form, NEEDS "{\"elicitation\":{\"form\":{}}}}" },
        { "2024-11-05", "{\"roots\":{}}", "roots/list", NULL, "\"method\":\"roots/list\"}" }
    };
    mcp_server *s = with_tool(asks);
    size_t i;
    peer p;
    wall = 1700000000000;
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        ask_method = t[i].method;
        ask_params = t[i].params;
        caps = t[i].caps;
        join_as(&p, s, "alice");
        if (t[i].version) { legacy(&p, t[i].version); call(&p); } else first(&p);
        HAS(p.text, t[i].has);
        EQ_INT(last_rc, strstr(t[i].has, "-32021") ? MCP_ERR_CAPABILITY : MCP_ERR_AGAIN);
        p.io.close(p.io.user);
        (void)mcp_server_step(s, NULL, 0);
    }
    caps = ALL;
    EQ_INT(mcp_server_stats(s).pending, 0);         /* those peers have gone */
    join_as(&p, s, "alice");
    ask_method = "tools/call";
    HAS(first(&p), "-32603");
    EQ_INT(last_rc, MCP_ERR_ARGUMENT);
    HAS(mcp_server_error(s), "did not answer");
    ask_method = "roots/list";
    ask_params = "[]";
    first(&p);
    EQ_INT(last_rc, MCP_ERR_ARGUMENT);
    ask_params = "{";
    first(&p);
    EQ_INT(last_rc, MCP_ERR_ARGUMENT);
    end(s, &p);
#undef E
#undef S
}

/* One who cannot fill in a form is asked otherwise. */
static void either(mcp_req *r, void *user)
{
    const mcp_json *a;
    (void)user;
    last_rc = mcp_req_elicit(r, "form", "Name?", NAME_FORM, &a);
    if (last_rc == MCP_ERR_CAPABILITY) last_rc = mcp_req_ask(r, "llm", "sampling/createMessage", SAMPLE, &a);
    if (last_rc == MCP_OK) mcp_req_text(r, "known");
}

TEST(otherwise)
{
    mcp_server *s = with_tool(either);
    peer p;
    join_as(&p, s, "alice");
    caps = "{\"sampling\":{}}";
    HAS(first(&p), "\"inputRequests\":{\"llm\":");
    HAS(modern(&p, "{\"llm\":" LLM_L "}"), "known");
    caps = "{}";
    HAS(first(&p), "{\"requiredCapabilities\":{\"elicitation\":{\"form\":{}},\"sampling\":{}}}");
    caps = ALL;
    end(s, &p);
}

TEST(shapes)
{
    static const struct { const char *method, *answer; bool good; } t[] = {
        { "roots/list", "{\"roots\":[]}", true }, { "roots/list", "{\"roots\":{}}", false }, { "roots/list", "{}", false },
        { "sampling/createMessage", LLM_L, true }, { "sampling/createMessage", "{\"content\":[]}", true },
        { "sampling/createMessage", "{\"content\":\"x\"}", false }, { "sampling/createMessage", "{}", false },
        { "elicitation/create", "{\"action\":\"decline\"}", true }, { "elicitation/create", "{\"action\":\"accept\",\"content\":{}}", true },
        { "elicitation/create", "{\"action\":\"accept\",\"content\":5}", false }, { "elicitation/create", "{\"action\":7}", false }
    };
    mcp_server *s = with_tool(asks);
    size_t i;
    peer p, l;
    char text[256];
    join_as(&p, s, "alice");
    join_as(&l, s, "alice");
    legacy(&l, "2025-11-25");
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        ask_method = t[i].method;
        ask_params = *t[i].method == 'e' ? MCP_JSON({"message": "m", "requestedSchema": {"type": "object", "properties": {}}}) : NULL;
        snprintf(text, sizeof text, "{\"q\":%s}", t[i].answer);
        first(&p);
        HAS(modern(&p, text), t[i].good ? "answered" : "\"code\":-32602");
        call(&l);
        HAS(answer(&l, question(&l, 1), t[i].answer), t[i].good ? "answered" : "\"isError\":true");
        EQ_INT(last_rc, t[i].good ? MCP_OK : MCP_ERR_PROTOCOL);
    }
    l.io.close(l.io.user);
    end(s, &p);
}

/* -- forms ------------------------------------------------------------------------------------------------------------ */

static const char *form_schema;
static int form_rc;
static char form_error[256];
static void form(mcp_req *r, void *user)
{
    (void)user;
    form_rc = mcp_req_elicit(r, "q", "m", form_schema, NULL);
    snprintf(form_error, sizeof form_error, "%.255s", mcp_server_error(mcp_req_server(r)));
    if (form_rc == MCP_OK) mcp_req_text(r, "fits");
}

TEST(forms)
{
    static const struct { const char *field, *value; bool fits; } t[] = {
        { "{\"type\":\"string\"}", "\"\"", true }, { "{\"type\":\"string\"}", "1", false }, { "{\"type\":\"string\"}", "null", false },
        { "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"a\"", false },
        { "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\\u00e4\\ud83d\\ude00\"", true },
        { "{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"abcd\"", false },
        { "{\"type\":\"number\",\"minimum\":0,\"maximum\":1.5}", "1.5", true }, { "{\"type\":\"number\",\"minimum\":0,\"maximum\":1.5}", "-0.1", false },
        { "{\"type\":\"number\",\"minimum\":0,\"maximum\":1.5}", "1.6", false }, { "{\"type\":\"number\"}", "\"1\"", false },
        { "{\"type\":\"integer\"}", "7.0", true }, { "{\"type\":\"integer\"}", "7.5", false }, { "{\"type\":\"integer\"}", "1e300", true },
        { "{\"type\":\"integer\"}", "-7", true }, { "{\"type\":\"boolean\"}", "false", true }, { "{\"type\":\"boolean\"}", "0", false },
        { "{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}", "\"b\"", true }, { "{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}", "\"c\"", false },
        { "{\"type\":\"string\",\"oneOf\":[{\"const\":\"a\",\"title\":\"A\"}]}", "\"a\"", true },
        { "{\"type\":\"string\",\"oneOf\":[{\"const\":\"a\",\"title\":\"A\"}]}", "\"A\"", false },
        { "{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}}", "[\"a\",\"b\"]", true },
        { "{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}}", "[]", false },
        { "{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}}", "[\"a\",\"b\",\"a\"]", false },
        { "{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}}", "[\"c\"]", false },
        { "{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"a\",\"title\":\"A\"}]}}", "[\"a\"]", true },
        { "{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"a\",\"title\":\"A\"}]}}", "[\"b\"]", false },
        { "{\"type\":\"array\",\"items\":{\"enum\":[\"a\"]}}", "\"a\"", false }
    };
    static const struct { const char *schema, *word; } misfits[] = {
#define FIELD(name, f) "{\"type\":\"object\",\"properties\":{\"ok\":{\"type\":\"string\"},\"" name "\":" f "}}"
        { FIELD("addr", "{\"type\":\"object\",\"properties\":{}}"), "no form can hold this schema: addr is none of" }, { FIELD("n", "{\"type\":\"null\"}"), "n is none of" },
        { FIELD("any", "{}"), "any is none of" }, { FIELD("b", "true"), "b is none of" }, { FIELD("ty", "{\"type\":[\"string\",\"null\"]}"), "ty is none of" },
        { FIELD("list", "{\"type\":\"array\"}"), "list is a list without choices" }, { FIELD("list", "{\"type\":\"array\",\"items\":{\"type\":\"number\"}}"), "list is a list" },
        { "{}", "needs type" }, { "{\"type\":\"object\"}", "needs type" }, { "{\"type\":\"string\",\"properties\":{}}", "needs type" }, { "{\"type\":\"object\",\"properties\":[]}", "needs type" },
        { "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\",\"b\"]}", "b is required" },
    };
    mcp_server *s = with_tool(form);
    char schema[512], responses[512];
    size_t i;
    peer p;
    join_as(&p, s, "alice");
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        snprintf(schema, sizeof schema, "{\"type\":\"object\",\"properties\":{\"f\":%s}}", t[i].field);
        form_schema = schema;
        first(&p);
        snprintf(responses, sizeof responses, "{\"q\":{\"action\":\"accept\",\"content\":{\"f\":%s,\"more\":[]}}}", t[i].value);
        HAS(modern(&p, responses), t[i].fits ? "fits" : "the answer to \\\"q\\\" does not fit: f ");
    }
    {   /* many items, each looked for among many choices */
        static char choices[16000], items[16000];
        size_t n = (size_t)snprintf(choices, sizeof choices, "{\"type\":\"object\",\"properties\":{\"f\":{\"type\":\"array\",\"items\":{\"enum\":[");
        for (i = 0; i < 3000; i++) n += (size_t)snprintf(choices + n, sizeof choices - n, "\"a\",");
        snprintf(choices + n, sizeof choices - n, "\"b\"]}}}}");
        n = (size_t)snprintf(items, sizeof items, "{\"q\":{\"action\":\"accept\",\"content\":{\"f\":[");
        for (i = 0; i < 3500; i++) n += (size_t)snprintf(items + n, sizeof items - n, "\"b\",");
        snprintf(items + n, sizeof items - n, "\"b\"]}}}");
        form_schema = choices;
        first(&p);
        HAS(modern(&p, items), "f has too many items");
    }
    for (i = 0; i < sizeof misfits / sizeof *misfits; i++) {            /* what no form can hold is not asked for */
        form_schema = misfits[i].schema;
        HAS(first(&p), "-32603");
        HASNT(p.text, "inputRequests");
        EQ_INT(form_rc, MCP_ERR_ARGUMENT);
        HAS(form_error, misfits[i].word);
    }
    form_schema = "[";
    HAS(first(&p), "-32603");
    form_schema = NULL;
    HAS(first(&p), "-32603");
    end(s, &p);
}

/* -- the end of a legacy question ---------------------------------------------------------------------------------------- */

TEST(cancelled)
{
    mcp_server *s = with_tool(three);
    char note[128];
    peer p;
    int id;
    join_as(&p, s, "alice");
    legacy(&p, "2025-11-25");
    call(&p);
    id = question(&p, 1);
    answer(&p, id, USER_N);
    HAS(say(&p, CANCEL_7), "\"method\":\"notifications/cancelled\"");
    EQ_INT(lines(p.text), 2);                       /* one is answered */
    snprintf(note, sizeof note, "\"params\":{\"requestId\":%d,", id + 1);
    HAS(p.text, note);
    EQ_INT(mcp_server_stats(s).pending, 0);
    runs = 0;
    EQ_STR(answer(&p, id + 1, LLM_L), "");
    EQ_STR(answer(&p, id + 2, ROOTS_1), "");
    EQ_INT(runs, 0);
    EQ_INT(mcp_server_stats(s).unknown, 2);
    HAS(call(&p), "roots/list");                    /* its id may be used again */
    end(s, &p);
}

TEST(late)
{
    mcp_server *s = with_tool(hello);
    peer p;
    int id;
    join_as(&p, s, "alice");
    legacy(&p, "2025-11-25");
    call(&p);
    id = question(&p, 1);
    now += 599999;
    EQ_STR(hear(&p), "");
    now += 1;
    HAS(hear(&p), "notifications/cancelled");
    HAS(p.text, "\"text\":\"the client did not answer elicitation/create within 600000 ms\"}],\"isError\":true");
    EQ_INT(last_rc, MCP_ERR_TIMEOUT);
    EQ_INT(mcp_server_stats(s).timeouts, 1);
    EQ_STR(answer(&p, id, USER_N), "");
    /* it is a deadline of each question, and an answer in time ends it */
    call(&p);
    answer(&p, question(&p, 1), USER_N);
    now += 600001;
    EQ_STR(hear(&p), "");
    end(s, &p);
}

TEST(gone)
{
    mcp_server *s = with_tool(hello);
    peer p, q;
    int id;
    join_as(&p, s, "alice");
    join_as(&q, s, "mallory");
    legacy(&p, "2025-11-25");
    legacy(&q, "2025-11-25");
    call(&p);
    id = question(&p, 1);
    EQ_STR(answer(&q, id, USER_N), "");             /* not asked of that one */
    EQ_INT(mcp_server_stats(s).unknown, 1);
    p.io.close(p.io.user);
    hear(&q);
    EQ_INT(mcp_server_stats(s).pending, 0);
    call(&q);
    mcp_server_detach(s, q.conn);
    EQ_INT(mcp_server_stats(s).pending, 0);
    join_as(&p, s, "alice");
    legacy(&p, "2025-11-25");
    call(&p);                                       /* and freed while it waits */
    q.io.close(q.io.user);
    end(s, &p);
}

/* Ids of both directions are apart: the client's 1 is not ours. */
TEST(ids)
{
    mcp_server *s = with_tool(hello);
    char line[256];
    peer p;
    int id;
    join_as(&p, s, "alice");
    legacy(&p, "2025-11-25");
    call(&p);
    id = question(&p, 1);
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}", id);
    HAS(say(&p, line), "\"result\":{}");
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%d}}", id == 7 ? 8 : id);
    EQ_STR(say(&p, line), "");
    EQ_INT(mcp_server_stats(s).pending, 1);
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":\"%d\",\"result\":" USER_N "}", id);     /* as some echo it */
    HAS(say(&p, line), "hello n");
    end(s, &p);
}

TEST(batches)
{
    mcp_server *s = with_tool(three);
    char line[1024];
    peer p;
    int id;
    caps = "{\"sampling\":{},\"roots\":{}}";
    s = (mcp_server_free(s), with_tool(asks));
    ask_method = "roots/list";
    ask_params = NULL;
    join_as(&p, s, "alice");
    legacy(&p, "2025-03-26");
    say(&p, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}},{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"},"
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}]");
    EQ_INT(lines(p.text), 2);                       /* the questions; the batch waits */
    HASNT(p.text, "[");
    id = question(&p, 1);
    snprintf(line, sizeof line, "[{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":" ROOTS_1 "},{\"jsonrpc\":\"2.0\",\"id\":%d,\"error\":{\"code\":-1,\"message\":\"no roots\"}}]", id, id + 1);
    say(&p, line);
    EQ_INT(lines(p.text), 1);
    HAS(p.text, "[{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}},{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"answered\"}]}},"
                "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"no roots\"}]}}]\n");
    caps = ALL;
    end(s, &p);
}

/* -- where and when ---------------------------------------------------------------------------------------------------- */

static void page(mcp_req *r, void *user)
{
    (void)user;
    last_rc = mcp_req_elicit_url(r, "page", "Please log in", "https://a.b/login?s=1");
    if (last_rc == MCP_OK) mcp_req_text(r, "on the way");
}

TEST(pages)
{
    mcp_server *s = with_tool(page);
    peer p, q;
    char id[64] = "", note[256];
    const char *at;
    join_as(&p, s, "alice");
    join_as(&q, s, "bob");
    EQ_INT(mcp_server_elicited(s, "https://a.b/login?s=1"), MCP_OK);
    HAS(first(&p), "\"params\":{\"mode\":\"url\",\"message\":\"Please log in\",\"url\":\"https://a.b/login?s=1\"}");
    HAS(modern(&p, "{\"page\":{\"action\":\"accept\"}}"), "on the way");
    first(&p);
    HAS(modern(&p, "{\"page\":{\"action\":\"decline\"}}"), "declined");
    EQ_INT(last_rc, MCP_ERR_DECLINED);
    EQ_INT(mcp_server_elicited(s, "https://a.b/login?s=1"), MCP_OK);
    EQ_STR(hear(&p), "");
    legacy(&p, "2025-11-25");
    legacy(&q, "2025-11-25");
    HAS(call(&p), "\"elicitationId\":\"");
    at = strstr(p.text, "\"elicitationId\":\"");
    if (at) snprintf(id, sizeof id, "%.*s", (int)strcspn(at + 17, "\""), at + 17);
    HAS(answer(&p, question(&p, 1), "{\"action\":\"accept\"}"), "on the way");
    EQ_INT(mcp_server_elicited(s, "https://a.b/other"), MCP_OK);
    EQ_STR(hear(&p), "");
    EQ_INT(mcp_server_elicited(s, "https://a.b/login?s=1"), MCP_OK);
    snprintf(note, sizeof note, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\",\"params\":{\"elicitationId\":\"%s\"}}\n", id);
    EQ_STR(hear(&p), note);
    EQ_STR(hear(&q), "");
    EQ_INT(mcp_server_elicited(s, "https://a.b/login?s=1"), MCP_OK);     /* once */
    EQ_STR(hear(&p), "");
    call(&q);
    q.io.close(q.io.user);
    hear(&p);
    EQ_INT(mcp_server_elicited(s, "https://a.b/login?s=1"), MCP_OK);     /* that one has gone */
    EQ_INT(mcp_server_elicited(s, NULL), MCP_ERR_ARGUMENT);
    end(s, &p);
}

static void many_pages(mcp_req *r, void *user)
{
    char key[16], url[32];
    int i;
    (void)user;
    for (i = 0; i < 300; i++) {
        snprintf(key, sizeof key, "%d", i);
        snprintf(url, sizeof url, "https://a.b/%d", i);
        EQ_INT(mcp_req_elicit_url(r, key, "m", url), MCP_ERR_AGAIN);
    }
}

TEST(pages_are_bounded)
{
    mcp_server *s = with_tool(many_pages);
    peer p;
    join_as(&p, s, "alice");
    legacy(&p, "2025-11-25");
    EQ_INT(lines(call(&p)), 300);
    mcp_server_elicited(s, "https://a.b/43");
    EQ_STR(hear(&p), "");
    mcp_server_elicited(s, "https://a.b/44");
    HAS(hear(&p), "complete");
    end(s, &p);
}

static mcp_id deferred, old_id;
static int rest;
static void ask_later(void *owner, void *arg)
{
    mcp_req *r = owner ? mcp_server_req((mcp_server *)owner, deferred) : NULL;
    (void)arg;
    if (!r) return;
    old_id = deferred;
    last_rc = mcp_req_elicit(r, "q", "Later?", NAME_FORM, NULL);
    if (last_rc == MCP_OK) { mcp_req_text(r, "answered later"); return; }
    if (last_rc != MCP_ERR_AGAIN) return;
    EQ_INT(mcp_req_ask(r, "roots", "roots/list", NULL, NULL), MCP_ERR_AGAIN);
    EQ_INT(mcp_req_keep(r, "1"), MCP_OK);
}
static void on_cancel(mcp_server *s, mcp_id id, void *arg) { (void)s; (void)id; (void)arg; rest++; }
static void later(mcp_req *r, void *user)
{
    (void)user;
    runs++;
    deferred = mcp_req_defer(r);
    CHECK(deferred != 0 && deferred != old_id);
    mcp_req_on_cancel(r, on_cancel, NULL);
    CHECK(mcp_server_after(mcp_req_server(r), 5, ask_later, NULL) != 0);
}

/* A deferred request asks from a timer: at the end of that turn it is out, and its id is dead. */
TEST(deferred_asks)
{
    mcp_server *s = with_tool(later);
    peer p, l;
    int id, i;
    join_as(&p, s, "alice");
    join_as(&l, s, "alice");
    runs = rest = 0;
    EQ_STR(first(&p), "");
    now += 5;
    HAS(hear(&p), "\"inputRequests\":{\"q\":{");
    HAS(p.text, "\"roots\":{\"method\":\"roots/list\"}");
    CHECK(!mcp_server_req(s, deferred));
    keep_state(p.text);
    EQ_STR(modern(&p, "{\"q\":" USER_N "}"), "");
    now += 5;
    HAS(hear(&p), "answered later");
    EQ_INT(runs, 2);
    legacy(&l, "2025-11-25");
    EQ_STR(call(&l), "");
    now += 5;
    EQ_INT(lines(hear(&l)), 2);
    CHECK(!mcp_server_req(s, deferred));
    id = question(&l, 1);
    answer(&l, id, USER_N);
    EQ_STR(answer(&l, id + 1, ROOTS_1), "");
    EQ_INT(runs, 4);
    CHECK(mcp_server_req(s, deferred) != NULL);
    now += 5;
    HAS(hear(&l), "answered later");
    EQ_INT(rest, 0);
    /* a cancel while it is deferred, and one while it waits for answers */
    for (i = 0; i < 2; i++) {
        call(&l);
        if (i) { now += 5; EQ_INT(lines(hear(&l)), 2); }
        EQ_INT(lines(say(&l, CANCEL_7)), i ? 2 : 0);
        EQ_INT(rest, 1);
        EQ_INT(mcp_server_stats(s).pending, 0);
    }
    /* from outside of any callback: the next step is at once */
    call(&l);
    ask_later(s, NULL);
    EQ_INT(mcp_server_timeout(s), 0);
    EQ_INT(lines(hear(&l)), 2);
    /* one that is refused is answered; one that cannot ask stays deferred */
    now += 5;
    hear(&l);
    EQ_STR(modern_with(&p, NULL, "\"AAAA\""), "");
    now += 5;
    HAS(hear(&p), "-32602");
    EQ_INT(last_rc, MCP_ERR_PROTOCOL);
    caps = "{}";
    EQ_STR(first(&p), "");
    now += 5;
    EQ_STR(hear(&p), "");
    EQ_INT(last_rc, MCP_ERR_CAPABILITY);
    mcp_req_text(mcp_server_req(s, deferred), "without");
    HAS(hear(&p), "without");
    caps = ALL;
    /* and freed between the question and the end of the turn */
    call(&l);
    ask_later(s, NULL);
    l.io.close(l.io.user);
    end(s, &p);
}

static void where(mcp_req *r, void *user)
{
    const mcp_json *a;
    (void)user;
    last_rc = mcp_req_elicit(r, "q", "m", NAME_FORM, &a);
    CHECK(!mcp_req_kept(r));
    if (last_rc == MCP_OK) { mcp_req_add_text(r, mcp_json_str(mcp_json_get(a, "name"), ""), MCP_NTS); mcp_req_done(r); }
    else if (last_rc == MCP_ERR_MISUSE) mcp_req_result(r, "{}", 2);
}

TEST(where_it_can_ask)
{
    mcp_server *s = with_tool(where);
    mcp_prompt pr;
    mcp_resource re;
    peer p;
    memset(&pr, 0, sizeof pr);
    pr.name = "p";
    pr.fn = where;
    EQ_INT(mcp_server_prompt(s, &pr), MCP_OK);
    memset(&re, 0, sizeof re);
    re.uri = "x:{v}";
    re.name = "x";
    re.fn = where;
    EQ_INT(mcp_server_resource(s, &re), MCP_OK);
    EQ_INT(mcp_server_method(s, "my/method", where, NULL), MCP_OK);
    join_as(&p, s, "alice");
    legacy(&p, "2025-11-25");
    say(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"prompts/get\",\"params\":{\"name\":\"p\"}}");
    HAS(answer(&p, question(&p, 1), USER_N), "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"n\"}}]");
    say(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"prompts/get\",\"params\":{\"name\":\"p\"}}");
    HAS(answer(&p, question(&p, 1), "{\"action\":\"decline\"}"), "\"error\":{\"code\":-32603,\"message\":\"the user declined\"}");
    say(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/read\",\"params\":{\"uri\":\"x:1\"}}");
    HAS(answer(&p, question(&p, 1), USER_N), "\"contents\":[{\"uri\":\"x:1\",\"text\":\"n\"}]");
    say(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/read\",\"params\":{\"uri\":\"x:1\"}}");
    EQ_INT(mcp_server_remove(s, MCP_LIST_TEMPLATES, "x:{v}"), MCP_OK);     /* taken away meanwhile */
    HAS(answer(&p, question(&p, 1), USER_N), "Resource not found");
    HAS(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"my/method\"}"), "\"result\":{}");
    EQ_INT(last_rc, MCP_ERR_MISUSE);
    EQ_INT(mcp_req_ask(NULL, "q", "roots/list", NULL, NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_keep(NULL, "1"), MCP_ERR_ARGUMENT);
    CHECK(!mcp_req_kept(NULL));
    end(s, &p);
}

/* What a handler may do besides: answer after it has asked, free the server, stop it. */
static int deed;
static void deeds(mcp_req *r, void *user)
{
    (void)user;
    last_rc = mcp_req_elicit(r, "q", "m", NAME_FORM, NULL);
    EQ_INT(mcp_req_elicit(r, "q", "again", NAME_FORM, NULL), last_rc);     /* one key, one question */
    if (deed == 1) mcp_req_text(r, "changed my mind");
    if (deed == 2) { freed = true; mcp_server_free(mcp_req_server(r)); }
    if (deed == 3) mcp_server_stop(mcp_req_server(r));
    if (deed == 4) CHECK(mcp_req_defer(r) != 0);
    if (deed == 5) mcp_server_detach(mcp_req_server(r), mcp_req_conn(r));
    if (last_rc == MCP_OK && deed != 4) mcp_req_text(r, "done");
}

TEST(deeds_of_handlers)
{
    int second, which;
    for (which = 1; which <= 5; which++)
        for (second = 0; second < 4; second++) {    /* in the first run or the second, modern or legacy */
            mcp_server *s = with_tool(deeds);
            peer p;
            join_as(&p, s, "alice");
            deed = second & 1 ? 0 : which;
            freed = false;
            if (second & 2) {
                legacy(&p, "2025-11-25");
                call(&p);
                if (second & 1) { deed = which; answer(&p, question(&p, 1), USER_N); }
            } else {
                first(&p);
                if (second & 1) { deed = which; modern(&p, "{\"q\":" USER_N "}"); }
            }
            if (which == 1) { HAS(p.text, "changed my mind"); HASNT(p.text, "elicitation/create"); }
            if (which == 2 || which == 5) HASNT(p.text, "hello");
            if (which == 4 && second & 1) EQ_INT(mcp_server_stats(s).pending, 1);
            if (which == 2) { p.io.close(p.io.user); EQ_INT(live, 0); }
            else end(s, &p);
        }
}

/* A call that never asks costs nothing; one that asks leaves nothing behind, also in the pool of requests. */
TEST(nothing_is_left)
{
    mcp_server *s = with_tool(hello);
    size_t before;
    int i;
    peer p;
    join_as(&p, s, "alice");
    legacy(&p, "2025-11-25");
    for (i = 0; i < 3; i++) { call(&p); answer(&p, question(&p, 1), USER_N); }
    before = live;
    for (i = 0; i < 20; i++) {
        call(&p);
        answer(&p, question(&p, 1), USER_N);
        first(&p);
        modern(&p, "{\"q\":" USER_N "}");
    }
    CHECK(live < before + 70000);
    EQ_INT(mcp_server_stats(s).pending, 0);
    end(s, &p);
}


int main(void)
{
    RUN(sha256);
    RUN(hmac);
    RUN(one_question_modern);
    RUN(one_question_legacy);
    RUN(refusals);
    RUN(three_at_once);
    RUN(rounds_one_after_another);
    RUN(state_is_bound);
    RUN(order_of_keys);
    RUN(keys_of_states);
    RUN(capabilities);
    RUN(otherwise);
    RUN(shapes);
    RUN(forms);
    RUN(cancelled);
    RUN(late);
    RUN(gone);
    RUN(ids);
    RUN(batches);
    RUN(pages);
    RUN(pages_are_bounded);
    RUN(deferred_asks);
    RUN(where_it_can_ask);
    RUN(deeds_of_handlers);
    RUN(nothing_is_left);
    return test_end();
}
