/* The client against a scripted peer in memory with a fake clock, and against real children: this program itself, started with an argument, as a small and often hostile server. */
/* Behind the name of a test may stand the rows (B01 ...) that it covers of the catalogue which tests/faults.sh runs the cases of. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <poll.h>
#include <time.h>
#include <errno.h>
#include <signal.h>
#include <unistd.h>
#include <sys/wait.h>
#include "test.h"
#include "peer.h"

/* -- the handshake ------------------------------------------------------------------------------------------------------ */

static int nobody(mcp_client *c, mcp_id ask, const char *method, const mcp_json *params, mcp_writer *w, void *user)
{
    (void)c; (void)ask; (void)method; (void)params; (void)w; (void)user;
    return MCP_ERR_DECLINED;
}

TEST(modern_shape)                                                                 /* B32 D55 D73 */
{
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, MCP_ERA_BOTH);
    mcp_client *c;
    mcp_call k;
    const char *s;
    d.title = "T";
    d.capabilities = "{ \"elicitation\": {} }";
    d.on_ask = nobody;
    c = mcp_client_new(&d);
    k = tool_call("x", NULL, &r);
    CHECK(mcp_client_send(c, &k) != 0);
    CHECK(mcp_client_info(c) == NULL);
    EQ_INT(mcp_client_era(c), MCP_ERA_BOTH);
    turns(c, 1);
    EQ_STR(hear(&p), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"title\":\"T\",\"version\":\"1\"},\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}}}");
    reply(&p, 1, DISCOVER_RESULT);
    turns(c, 1);
    EQ_INT(g_ready, 1);
    s = hear(&p);
    CHECK(has(s, "\"params\":{\"name\":\"x\",\"arguments\":{},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\""));
    reply(&p, id_of(s), OK_RESULT);
    turns(c, 1);
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, MCP_OK);
    EQ_STR(r.text, "ok");
    EQ_STR(mcp_client_protocol(c), "2026-07-28");
    EQ_INT(mcp_client_era(c), MCP_ERA_MODERN);
    CHECK(mcp_json_get(mcp_client_info(c), "supportedVersions") != NULL);
    done(c, &p);
}

TEST(legacy_shape)                                                                     /* D53 D58 */
{
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, MCP_ERA_BOTH);
    mcp_client *c = mcp_client_new(&d);
    mcp_call k = tool_call("x", " {\"a\" : 1.0 }\n", &r);
    const char *s;
    CHECK(mcp_client_send(c, &k) != 0);
    turns(c, 1);
    (void)hear(&p);
    refuse(&p, 1, -32601, NULL);
    turns(c, 1);
    s = hear(&p);
    CHECK(has(s, "\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"));
    CHECK(!has(s, "_meta"));
    reply(&p, id_of(s), INIT_RESULT);
    turns(c, 1);
    EQ_STR(hear(&p), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    s = hear(&p);
    CHECK(has(s, "\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{\"a\":1.0}}}"));
    refuse(&p, id_of(s), -32602, "{\"k\":1}");
    turns(c, 1);
    EQ_INT(r.status, MCP_ERR_PEER);
    EQ_INT(r.code, -32602);
    EQ_STR(r.message, "no");
    CHECK(has(mcp_client_error(c), "-32602"));
    EQ_STR(mcp_client_protocol(c), "2025-11-25");
    EQ_INT(mcp_client_era(c), MCP_ERA_LEGACY);
    done(c, &p);
}

/* One row: how the probe is answered, and what must follow: 'i' initialize (with the version), 'r' ready, or a status. */
static void probe_row(int era, const char *result, int code, const char *data, const char *then, int status, const char *word)
{
    peer p;
    mcp_client_desc d = desc_of(&p, era);
    mcp_client *c = mcp_client_new(&d);
    const char *s;
    turns(c, 1);
    CHECK(has(hear(&p), "server/discover"));
    if (result) reply(&p, 1, result);
    else refuse(&p, 1, code, data);
    turns(c, 2);
    s = hear(&p);
    if (then) {
        CHECK(has(s, "\"initialize\"") && has(s, then));
        EQ_INT(g_ready, 0);
    } else {
        EQ_STR(s, "");
        EQ_INT(g_ready, 1);
        EQ_INT(g_ready_status, status);
        if (word) CHECK(has(mcp_client_error(c), word));
    }
    done(c, &p);
}

TEST(verdicts)                                                                             /* D59 */
{
    static const int legacy_codes[] = { -32601, -32602, -32600, -32000, -32002, 0, 1, -32700, -32023 };
    size_t i;
    for (i = 0; i < sizeof legacy_codes / sizeof *legacy_codes; i++) probe_row(0, NULL, legacy_codes[i], NULL, "2025-11-25", 0, NULL);
    probe_row(0, DISCOVER_RESULT, 0, NULL, NULL, MCP_OK, NULL);
    probe_row(0, "{\"supportedVersions\":[\"2025-03-26\",\"2025-06-18\",7]}", 0, NULL, "2025-06-18", 0, NULL);
    probe_row(0, "{\"supportedVersions\":[\"2099-01-01\"]}", 0, NULL, NULL, MCP_ERR_VERSION, "2099-01-01");
    probe_row(0, "{\"supportedVersions\":[]}", 0, NULL, NULL, MCP_ERR_VERSION, "2026-07-28");
    probe_row(0, "{\"supportedVersions\":5}", 0, NULL, "2025-11-25", 0, NULL);
    probe_row(0, "{}", 0, NULL, "2025-11-25", 0, NULL);
    probe_row(0, "{\"resultType\":\"later\",\"supportedVersions\":[\"2026-07-28\"]}", 0, NULL, "2025-11-25", 0, NULL);
    probe_row(0, NULL, -32022, "{\"supported\":[\"2099-01-01\",\"2025-06-18\"]}", "2025-06-18", 0, NULL);
    probe_row(0, NULL, -32022, "{\"supported\":[\"2099-01-01\"]}", NULL, MCP_ERR_VERSION, "2099-01-01");
    probe_row(0, NULL, -32022, NULL, NULL, MCP_ERR_VERSION, NULL);
    probe_row(0, NULL, -32021, NULL, NULL, MCP_ERR_PEER, "-32021");
    probe_row(0, NULL, -32020, NULL, NULL, MCP_ERR_PEER, "-32020");
    probe_row(MCP_ERA_MODERN, NULL, -32601, NULL, NULL, MCP_ERR_VERSION, "2026-07-28");
    probe_row(MCP_ERA_MODERN, "{\"supportedVersions\":[\"2025-11-25\"]}", 0, NULL, NULL, MCP_ERR_VERSION, "2025-11-25");
    probe_row(MCP_ERA_MODERN, DISCOVER_RESULT, 0, NULL, NULL, MCP_OK, NULL);
}

/* The version is refused, and named as one that is spoken: it is tried once more. */
TEST(refused_and_named)
{
    peer p;
    int i;
    for (i = 0; i < 2; i++) {
        mcp_client_desc d = desc_of(&p, MCP_ERA_BOTH);
        mcp_client *c = mcp_client_new(&d);
        turns(c, 1);
        refuse(&p, id_of(hear(&p)), -32022, "{\"supported\":[\"2026-07-28\"]}");
        turns(c, 1);
        EQ_INT(g_ready, 0);
        if (i) reply(&p, id_of(hear(&p)), DISCOVER_RESULT);
        else refuse(&p, id_of(hear(&p)), -32022, "{\"supported\":[\"2026-07-28\"]}");
        turns(c, 2);
        EQ_STR(hear(&p), "");
        EQ_INT(g_ready_status, i ? MCP_OK : MCP_ERR_VERSION);
        CHECK(i || has(mcp_client_error(c), "refused"));
        done(c, &p);
    }
}

/* Silence: initialize after probe_ms, and both answers count from then on. */
TEST(silence)                                                                      /* B39 D60 D62 */
{
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_BOTH);
    mcp_client *c;
    d.probe_ms = 100;
    d.start_timeout_ms = 1000;
    c = mcp_client_new(&d);
    turns(c, 1);
    (void)hear(&p);
    EQ_INT(mcp_client_timeout(c), 100);
    g_now += 99;
    turns(c, 1);
    EQ_STR(hear(&p), "");
    say(&p, "Welcome to the server!");                      /* the first byte starts the probe's time anew */
    turns(c, 1);
    g_now += 99;
    turns(c, 1);
    EQ_STR(hear(&p), "");
    g_now += 1;
    turns(c, 1);
    CHECK(has(hear(&p), "\"id\":2,\"method\":\"initialize\""));
    reply(&p, 1, DISCOVER_RESULT);                           /* late, and it wins */
    reply(&p, 2, INIT_RESULT);
    turns(c, 1);
    EQ_INT(g_ready, 1);
    EQ_INT(g_ready_status, MCP_OK);
    EQ_INT(mcp_client_era(c), MCP_ERA_MODERN);
    EQ_INT(mcp_client_stats(c).unknown, 1);
    EQ_STR(hear(&p), "");
    done(c, &p);

    d = desc_of(&p, MCP_ERA_BOTH);                           /* initialize refused with -32022, then discover is answered */
    d.probe_ms = 100;
    d.start_timeout_ms = 5000;
    c = mcp_client_new(&d);
    turns(c, 1);
    g_now += 100;
    turns(c, 1);
    refuse(&p, 2, -32022, "{\"supported\":[\"2026-07-28\"]}");
    turns(c, 1);
    g_now += 3000;
    turns(c, 1);
    EQ_INT(g_ready, 0);
    reply(&p, 1, DISCOVER_RESULT);
    turns(c, 1);
    EQ_INT(g_ready_status, MCP_OK);
    EQ_INT(mcp_client_era(c), MCP_ERA_MODERN);
    done(c, &p);

    d = desc_of(&p, MCP_ERA_BOTH);                           /* refused otherwise: a last chance for discover, then the end */
    d.probe_ms = 100;
    c = mcp_client_new(&d);
    turns(c, 1);
    g_now += 100;
    turns(c, 1);
    refuse(&p, 2, -32000, NULL);
    turns(c, 1);
    EQ_INT(g_ready, 0);
    g_now += 100;
    turns(c, 1);
    EQ_INT(g_ready_status, MCP_ERR_PEER);
    done(c, &p);

    d = desc_of(&p, MCP_ERA_BOTH);                           /* discover refused late: initialize is out already, once is enough */
    d.probe_ms = 100;
    c = mcp_client_new(&d);
    turns(c, 1);
    (void)hear(&p);
    g_now += 100;
    turns(c, 1);
    CHECK(has(hear(&p), "\"id\":2,\"method\":\"initialize\""));
    refuse(&p, 1, -32601, NULL);
    turns(c, 2);
    EQ_STR(hear(&p), "");
    EQ_INT(g_ready, 0);
    reply(&p, 2, INIT_RESULT);
    turns(c, 1);
    EQ_INT(g_ready, 1);
    EQ_INT(g_ready_status, MCP_OK);
    EQ_INT(mcp_client_stats(c).unknown, 0);
    done(c, &p);

    d = desc_of(&p, MCP_ERA_BOTH);                           /* both refused */
    d.probe_ms = 100;
    c = mcp_client_new(&d);
    turns(c, 1);
    g_now += 100;
    turns(c, 1);
    refuse(&p, 2, -32000, NULL);
    refuse(&p, 1, -32000, NULL);
    turns(c, 1);
    EQ_INT(g_ready_status, MCP_ERR_PEER);
    done(c, &p);

    d = desc_of(&p, MCP_ERA_BOTH);                           /* nothing at all */
    d.start_timeout_ms = 1000;
    d.probe_ms = 100;
    c = mcp_client_new(&d);
    turns(c, 1);
    g_now += 999;
    turns(c, 1);
    EQ_INT(g_ready, 0);
    g_now += 1;
    turns(c, 1);
    EQ_INT(g_ready_status, MCP_ERR_TIMEOUT);
    CHECK(!has(p.got, "cancelled"));
    turns(c, 1);
    EQ_INT(mcp_client_step(c, NULL, 0), MCP_ERR_TIMEOUT);
    done(c, &p);
}

static void init_row(const char *result, int code, const char *data, int status, const char *word)
{
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c = mcp_client_new(&d);
    turns(c, 1);
    (void)hear(&p);
    if (result) reply(&p, 1, result);
    else refuse(&p, 1, code, data);
    turns(c, 2);
    if (status == 1) CHECK(has(hear(&p), word));
    else {
        EQ_INT(g_ready, 1);
        EQ_INT(g_ready_status, status);
        if (status) CHECK(has(mcp_client_error(c), word));
        CHECK(has(hear(&p), "initialized") == !status);
        if (!status) EQ_STR(mcp_client_protocol(c), word);
    }
    done(c, &p);
}

TEST(initialize)                                                                       /* B55 B61 */
{
    init_row("{\"protocolVersion\":\"1999-01-01\"}", 0, NULL, MCP_ERR_VERSION, "1999-01-01");
    init_row("{\"protocolVersion\":\"2026-07-28\"}", 0, NULL, MCP_ERR_VERSION, "2026-07-28");
    init_row("{}", 0, NULL, MCP_ERR_VERSION, "names no");
    init_row("{\"protocolVersion\":7}", 0, NULL, MCP_ERR_VERSION, "names no");
    init_row("[]", 0, NULL, MCP_ERR_PROTOCOL, "initialize");
    init_row("{\"protocolVersion\":\"2024-11-05\",\"capabilities\":7,\"serverInfo\":[]}", 0, NULL, MCP_OK, "2024-11-05");
    init_row("{\"protocolVersion\":\"2025-03-26\"}", 0, NULL, MCP_OK, "2025-03-26");
    init_row(NULL, -32602, NULL, MCP_ERR_PEER, "-32602");
    init_row(NULL, -32022, NULL, MCP_ERR_VERSION, "-32022");
    init_row(NULL, -32602, "{\"supported\":[\"2024-11-05\"]}", 1, "\"protocolVersion\":\"2024-11-05\"");
}

/* A server that names one version after the other is asked for one of them, and no more. */
TEST(offered_again_once)
{
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c = mcp_client_new(&d);
    turns(c, 1);
    (void)hear(&p);
    refuse(&p, 1, -32602, "{\"supported\":[\"2024-11-05\"]}");
    turns(c, 1);
    CHECK(has(hear(&p), "\"protocolVersion\":\"2024-11-05\""));
    refuse(&p, 2, -32602, "{\"supported\":[\"2025-03-26\"]}");
    turns(c, 2);
    EQ_STR(hear(&p), "");
    EQ_INT(g_ready, 1);
    EQ_INT(g_ready_status, MCP_ERR_PEER);
    done(c, &p);
}

/* -- requests --------------------------------------------------------------------------------------------------------------- */

/* Sends one call and gives the line that went out. */
static const char *sent(mcp_client *c, peer *p, const mcp_call *k)
{
    mcp_id id = mcp_client_send(c, k);
    CHECK(id != 0);
    turns(c, 1);
    return hear(p);
}

static bool each_name(const mcp_json *item, void *user);

TEST(params)                                                                               /* B32 */
{
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, MCP_ERA_MODERN);
    mcp_client *c = ready(&p, &d);
    mcp_call k;
    const char *s;
    memset(&k, 0, sizeof k);
    k.method = "x/y";
    k.params = "{\"_meta\":{\"a\":1,\"b\":2,\"progressToken\":\"theirs\",\"io.modelcontextprotocol/clientInfo\":3},\"n\":1e400, \"s\":\"\\u0000\"}";
    k.meta = "{\"b\":3,\"io.modelcontextprotocol/protocolVersion\":\"evil\",\"io.modelcontextprotocol/logLevel\":\"info\"}";
    k.progress = true;
    s = sent(c, &p, &k);
    CHECK(has(s, "\"params\":{\"n\":1e400,\"s\":\"\\u0000\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\""));
    CHECK(has(s, ",\"progressToken\":2,\"a\":1,\"b\":3,\"io.modelcontextprotocol/logLevel\":\"info\"}}}"));
    CHECK(!has(s, "evil") && !has(s, "theirs") && !has(s, "\"b\":2"));
    k.params = "{\"_meta\":{\"b\\u0000\":4,\"progressToken\\u0000\":5},\"_meta\\u0000\":6,\"n\\u0000o\":7,\"cursor\\u0000\":8}";
    k.each = each_name;
    s = sent(c, &p, &k);                                     /* a NUL is part of a key */
    CHECK(has(s, "\"params\":{\"_meta\\u0000\":6,\"n\\u0000o\":7,\"cursor\\u0000\":8,\"_meta\":{\"io.modelcontextprotocol/protocolVersion\""));
    CHECK(has(s, ",\"progressToken\":3,\"b\\u0000\":4,\"progressToken\\u0000\":5,\"b\":3,"));
    memset(&k, 0, sizeof k);
    k.method = "tools/call";
    k.params = "{\"name\":\"q\"}";
    CHECK(has(sent(c, &p, &k), "{\"name\":\"q\",\"arguments\":{},"));
    k.params = "{\"name\":\"q\",\"arguments\":{\"z\":[]}}";
    CHECK(has(sent(c, &p, &k), "{\"name\":\"q\",\"arguments\":{\"z\":[]},"));
    done(c, &p);

    d = desc_of(&p, MCP_ERA_LEGACY);
    c = ready(&p, &d);
    memset(&k, 0, sizeof k);
    k.method = "ping";
    CHECK(has(sent(c, &p, &k), "\"method\":\"ping\"}"));
    k.progress = true;
    CHECK(has(sent(c, &p, &k), "\"method\":\"ping\",\"params\":{\"_meta\":{\"progressToken\":3}}}"));

    k = tool_call("x", "[1]", &r);
    EQ_INT(mcp_client_send(c, &k), 0);
    CHECK(has(mcp_client_error(c), "args is not a JSON object"));
    k.args = "{\"a\":tru}";
    EQ_INT(mcp_client_send(c, &k), 0);
    CHECK(has(mcp_client_error(c), "args") && has(mcp_client_error(c), "8"));
    k.args = "{} x";
    EQ_INT(mcp_client_send(c, &k), 0);
    k.args = "";
    EQ_INT(mcp_client_send(c, &k), 0);
    k.args = NULL;
    k.meta = "7";
    EQ_INT(mcp_client_send(c, &k), 0);
    CHECK(has(mcp_client_error(c), "meta"));
    k.meta = NULL;
    k.method = "x";
    EQ_INT(mcp_client_send(c, &k), 0);
    k.tool = NULL;
    k.params = "{\"a\"}";
    EQ_INT(mcp_client_send(c, &k), 0);
    CHECK(has(mcp_client_error(c), "params"));
    EQ_INT(mcp_client_call(c, &k)->status, MCP_ERR_ARGUMENT);
    CHECK(has(mcp_client_call(c, &k)->message, "params"));
    EQ_INT(mcp_client_send(c, NULL), 0);
    EQ_INT(r.calls, 0);
    EQ_STR(hear(&p), "");
    EQ_INT(mcp_client_notify(c, "n/x", "{ \"a\": [1, 2] }"), MCP_OK);
    EQ_INT(mcp_client_notify(c, "n/y", "{"), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_client_notify(c, NULL, NULL), MCP_ERR_ARGUMENT);
    turns(c, 1);
    EQ_STR(hear(&p), "{\"jsonrpc\":\"2.0\",\"method\":\"n/x\",\"params\":{\"a\":[1,2]}}");
    EQ_STR(hear(&p), "");
    done(c, &p);
}

/* One answer to one call, and how it must end. `$` in the line is our id. */
static void answer_row(int era, const char *line, int status, const char *word)
{
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, era);
    mcp_client *c = ready(&p, &d);
    mcp_call k = tool_call("x", NULL, &r);
    char text[1024], *out = text;
    mcp_id id = mcp_client_send(c, &k);
    turns(c, 1);
    for (; *line; line++) {
        if (*line == '$') out += sprintf(out, "%d", (int)id);
        else *out++ = *line;
    }
    *out = 0;
    say(&p, text);
    turns(c, 1);
    if (r.calls != (status != 1) || (status != 1 && r.status != status)) printf("  (%s)\n", text);
    EQ_INT(r.calls, status != 1);
    if (status != 1) {
        EQ_INT(r.status, status);
        if (r.calls) EQ_INT(r.id, id);
        if (word) CHECK(has(r.message, word) || has(r.text, word));
    } else {                                                 /* ignored: the right answer still counts */
        reply(&p, (long long)id, OK_RESULT);
        turns(c, 1);
        EQ_INT(r.calls, 1);
        EQ_INT(r.status, MCP_OK);
    }
    done(c, &p);
}

TEST(answers)                                      /* B08 B10 B20 B24 B26 B27 B28 B29 B34 D56 D57 */
{
    static const char *const noise[] = { "hello", "[info] up", "{", "{\"a\":1}", "[]", "[1]", "null", "7", "\"jsonrpc\"", "{\"jsonrpc\":\"2.0\",\"id\":999999,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"m\"}}", "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":1,\"message\":\"m\"}}",
        "{\"jsonrpc\":\"2.0\",\"method\":7}", "{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":{}}", "{\"jsonrpc\":\"2.0\",\"id\":-1,\"result\":{}}", "{\"jsonrpc\":\"2.0\",\"id\":\"07\",\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"ID\":$,\"Result\":{}}", "{\"jsonrpc\":\"2.0\",\"id\":$,\"method\":7}", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":\"x\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":[]}}", "[{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{}}]", "Content-Length: 20" };
    size_t i;
    for (i = 0; i < sizeof noise / sizeof *noise; i++) {
        answer_row(MCP_ERA_LEGACY, noise[i], 1, NULL);
        answer_row(MCP_ERA_MODERN, noise[i], 1, NULL);
    }
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":\"$\",\"result\":" OK_RESULT "}", MCP_OK, "ok");
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$.0,\"result\":" OK_RESULT "}", MCP_OK, "ok");
    answer_row(MCP_ERA_LEGACY, "\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":" OK_RESULT "}\r", MCP_OK, "ok");
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\xff" "b\"}]}}", MCP_OK, "a\xEF\xBF\xBD" "b");
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$}", MCP_ERR_PROTOCOL, "neither");
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{},\"error\":{\"code\":1,\"message\":\"\"}}", MCP_ERR_PROTOCOL, "both");
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":null}", MCP_ERR_PROTOCOL, "result");
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":[]}", MCP_ERR_PROTOCOL, "result");
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$,\"error\":\"x\"}", MCP_ERR_PROTOCOL, "error");
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$,\"error\":null}", MCP_ERR_PROTOCOL, "error");
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$,\"error\":{}}", MCP_ERR_PEER, NULL);
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$,\"error\":{\"code\":\"E\",\"message\":\"m\"}}", MCP_ERR_PEER, "m");
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$,\"error\":{\"code\":1099511627776}}", MCP_ERR_PEER, NULL);
    answer_row(MCP_ERA_LEGACY, "{\"id\":$,\"result\":{}}", MCP_ERR_PROTOCOL, "jsonrpc");
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$,\"id\":$,\"result\":{}}", MCP_ERR_PROTOCOL, "twice");
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{\"a\":}}", MCP_ERR_PARSE, NULL);
    answer_row(MCP_ERA_LEGACY, "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{\"resultType\":\"later\"}}", MCP_OK, NULL);
    answer_row(MCP_ERA_MODERN, "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{\"resultType\":\"later\"}}", MCP_ERR_PROTOCOL, "resultType");
    answer_row(MCP_ERA_MODERN, "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{\"resultType\":7}}", MCP_ERR_PROTOCOL, "resultType");
    answer_row(MCP_ERA_MODERN, "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{}}", MCP_OK, NULL);
    answer_row(MCP_ERA_MODERN, "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{\"resultType\":\"complete\"}}", MCP_OK, NULL);
    answer_row(MCP_ERA_MODERN, "{\"jsonrpc\":\"2.0\",\"id\":$,\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"q\":{\"method\":\"roots/list\"}}}}", MCP_ERR_CAPABILITY, "capabilities");
}

TEST(batches)                                                                              /* B16 */
{
    peer p;
    result a, b;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c = mcp_client_new(&d);
    mcp_call k;
    turns(c, 1);
    reply(&p, 1, "{\"protocolVersion\":\"2025-03-26\"}");
    turns(c, 1);
    k = tool_call("x", NULL, &a);
    (void)mcp_client_send(c, &k);
    k = tool_call("x", NULL, &b);
    (void)mcp_client_send(c, &k);
    say(&p, "[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}},7,[],{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]");
    p.got_at = p.got_len;
    turns(c, 1);
    EQ_INT(a.calls, 1);
    EQ_INT(b.calls, 1);
    CHECK(has(p.got, "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"result\":{}}"));
    done(c, &p);
}

TEST(timeouts)                                                                     /* B09 B11 B38 */
{
    peer p;
    result r, q;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c = ready(&p, &d);
    mcp_call k = tool_call("x", NULL, &r);
    mcp_id id;
    k.timeout_ms = 100;
    id = mcp_client_send(c, &k);
    turns(c, 1);
    (void)hear(&p);
    EQ_INT(mcp_client_timeout(c), 100);
    g_now += 100;
    turns(c, 1);
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, MCP_ERR_TIMEOUT);
    CHECK(has(r.message, "100"));
    EQ_STR(mcp_client_error(c), r.message);
    EQ_STR(hear(&p), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2,\"reason\":\"no answer within 100 ms\"}}");
    reply(&p, (long long)id, OK_RESULT);                     /* too late */
    turns(c, 1);
    EQ_INT(r.calls, 1);
    EQ_INT(mcp_client_stats(c).unknown, 1);
    EQ_INT(mcp_client_stats(c).timeouts, 1);

    k = tool_call("x", NULL, &r);                            /* and the next one works */
    id = mcp_client_send(c, &k);
    reply(&p, (long long)id, OK_RESULT);
    reply(&p, (long long)id, OK_RESULT);                     /* a duplicate, and one that says something else */
    refuse(&p, (long long)id, -32603, NULL);
    turns(c, 1);
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, MCP_OK);
    EQ_INT(mcp_client_stats(c).unknown, 3);

    k = tool_call("x", NULL, &r);                            /* cancel: the callback comes from the next step */
    id = mcp_client_send(c, &k);
    turns(c, 1);
    (void)hear(&p);
    (void)hear(&p);
    EQ_INT(mcp_client_cancel(c, id, "changed my mind"), MCP_OK);
    EQ_INT(mcp_client_cancel(c, id, NULL), MCP_ERR_UNKNOWN);
    EQ_INT(r.calls, 0);
    EQ_INT(mcp_client_timeout(c), 0);
    turns(c, 1);
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, MCP_ERR_CANCELLED);
    EQ_STR(hear(&p), "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":4,\"reason\":\"changed my mind\"}}");
    reply(&p, (long long)id, OK_RESULT);
    turns(c, 1);
    EQ_INT(r.calls, 1);

    k = tool_call("x", NULL, &r);                            /* no limits at all */
    k.timeout_ms = k.max_ms = -1;
    (void)mcp_client_send(c, &k);
    turns(c, 1);
    EQ_INT(mcp_client_timeout(c) , -1);
    k = tool_call("x", NULL, &q);                            /* max alone */
    k.timeout_ms = -1;
    k.max_ms = 50;
    (void)mcp_client_send(c, &k);
    g_now += 50;
    turns(c, 1);
    EQ_INT(q.status, MCP_ERR_TIMEOUT);
    CHECK(has(q.message, "in all"));
    EQ_INT(r.calls, 0);
    done(c, &p);
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, MCP_ERR_CLOSED);
}

/* Whatever was asked, the server is told once that nobody waits, and the next call works. */
TEST(timeouts_of_all_kinds)                                                                /* B38 */
{
    static const char *const kinds[] = { "resources/read", "prompts/get", "tools/list", "completion/complete", "x/y", "ping" };
    int era;
    size_t i;
    for (era = MCP_ERA_MODERN; era <= MCP_ERA_LEGACY; era++) {
        peer p;
        result r;
        mcp_client_desc d = desc_of(&p, era);
        mcp_client *c = ready(&p, &d);
        for (i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            mcp_call k = tool_call(NULL, NULL, &r);
            char wanted[64];
            mcp_id id;
            if (i == 0) k.uri = "x:1";
            else if (i == 1 || i == 3) k.prompt = "p";
            else k.method = kinds[i];
            if (i == 3) k.complete = "a";
            k.timeout_ms = 100;
            id = mcp_client_send(c, &k);
            turns(c, 1);
            CHECK(has(hear(&p), i == 5 && era == MCP_ERA_MODERN ? "server/discover" : kinds[i]));
            g_now += 100;
            turns(c, 2);
            EQ_INT(r.status, MCP_ERR_TIMEOUT);
            snprintf(wanted, sizeof wanted, "\"params\":{\"requestId\":%d,", (int)id);
            CHECK(has(hear(&p), wanted));
            EQ_STR(hear(&p), "");
            EQ_INT(mcp_client_stats(c).pending, 0);
        }
        done(c, &p);
    }
}

/* A request that was answered wakes nobody any more, and one that waits for long does so once at most. */
TEST(answered_in_time)
{
    peer p;
    result r[40], slow;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c = ready(&p, &d);
    mcp_id id[40];
    int i, wakes = 0;
    for (i = 0; i < 40; i++) {
        mcp_call k = tool_call("x", NULL, &r[i]);
        k.timeout_ms = 100 + i;
        id[i] = mcp_client_send(c, &k);
    }
    turns(c, 1);
    EQ_INT(mcp_client_timeout(c), 100);
    for (i = 0; i < 40; i++) reply(&p, (long long)id[i], OK_RESULT);
    turns(c, 2);
    for (i = 0; i < 40; i++) EQ_INT(r[i].status, MCP_OK);
    EQ_INT(mcp_client_timeout(c), -1);
    {
        mcp_call k = tool_call("x", NULL, &slow);
        k.timeout_ms = 5000;
        (void)mcp_client_send(c, &k);
    }
    for (i = 0; i < 40; i++) {
        mcp_call k = tool_call("x", NULL, &r[i]);
        k.timeout_ms = 100 + i;
        id[i] = mcp_client_send(c, &k);
        turns(c, 1);
        reply(&p, (long long)id[i], OK_RESULT);
        turns(c, 1);
    }
    for (; !slow.calls && wakes < 100; wakes++) {
        g_now += mcp_client_timeout(c);
        turns(c, 1);
    }
    CHECK(wakes <= 2);
    EQ_INT(slow.status, MCP_ERR_TIMEOUT);
    done(c, &p);
}

typedef struct ticks { int n; double done, total; char message[64]; } ticks;
static ticks g_t;
static void on_progress(double dn, double total, const char *message, void *user)
{
    (void)user;
    g_t.n++;
    g_t.done = dn;
    g_t.total = total;
    snprintf(g_t.message, sizeof g_t.message, "%s", message ? message : "(none)");
}

TEST(progress)                                                                 /* B40 B41 B43 B44 */
{
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c = ready(&p, &d);
    mcp_call k = tool_call("x", NULL, &r);
    int i;
    memset(&g_t, 0, sizeof g_t);
    k.timeout_ms = 100;
    k.max_ms = 350;
    k.on_progress = on_progress;
    CHECK(has(sent(c, &p, &k), "\"_meta\":{\"progressToken\":2}"));
    for (i = 0; i < 3; i++) {
        g_now += 99;
        say(&p, i == 1 ? "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"2\",\"progress\":2,\"total\":4.5,\"message\":\"m\"}}"
                       : "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"progress\":1}}");
        turns(c, 1);
        EQ_INT(g_t.n, i + 1);
        EQ_INT(r.calls, 0);
        if (i == 1) { CHECK(g_t.done == 2 && g_t.total == 4.5); EQ_STR(g_t.message, "m"); }
        else EQ_STR(g_t.message, "(none)");
    }
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":\"abc\",\"progress\":1}}");
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":999,\"progress\":1}}");
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}");
    turns(c, 1);
    EQ_INT(mcp_client_stats(c).unknown, 3);
    EQ_INT(mcp_client_timeout(c), 53);                       /* the absolute limit, not the idle one */
    g_now += 53;
    turns(c, 1);
    EQ_INT(r.status, MCP_ERR_TIMEOUT);
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"progress\":9}}");
    turns(c, 1);
    EQ_INT(g_t.n, 3);
    CHECK(has(hear(&p), "notifications/cancelled"));

    k = tool_call("x", NULL, &r);                            /* asked for without a function: it counts all the same */
    k.timeout_ms = 100;
    k.progress = true;
    CHECK(has(sent(c, &p, &k), "\"progressToken\":3"));
    for (i = 0; i < 5; i++) {
        g_now += 99;
        say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":3,\"progress\":1}}");
        turns(c, 1);
        EQ_INT(r.calls, 0);
    }
    reply(&p, 3, OK_RESULT);
    turns(c, 1);
    EQ_INT(r.status, MCP_OK);

    k = tool_call("x", NULL, &r);                            /* without asking for it, progress changes nothing */
    k.timeout_ms = 100;
    CHECK(!has(sent(c, &p, &k), "progressToken"));
    g_now += 60;
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":4,\"progress\":9}}");
    turns(c, 1);
    EQ_INT(mcp_client_timeout(c), 40);
    done(c, &p);
}

TEST(limits)
{
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    mcp_call k;
    char *big = (char *)malloc(5000);
    memset(big, 'a', 4999);
    big[4999] = 0;
    d.max_message = 2000;
    d.max_pending = 2;
    c = ready(&p, &d);
    k = tool_call("x", NULL, &r);
    CHECK(mcp_client_send(c, &k) != 0);
    turns(c, 1);
    say(&p, big);
    turns(c, 5);
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, MCP_ERR_LIMIT);
    EQ_INT(mcp_client_stats(c).oversize, 1);
    k = tool_call("x", NULL, &r);
    CHECK(mcp_client_send(c, &k) != 0);
    CHECK(mcp_client_send(c, &k) != 0);
    say(&p, big);
    turns(c, 5);
    EQ_INT(r.calls, 0);                                      /* two are pending: whose was it? */
    EQ_INT(mcp_client_send(c, &k), 0);
    CHECK(has(mcp_client_error(c), "2 requests"));
    reply(&p, 3, OK_RESULT);
    turns(c, 1);
    EQ_INT(r.calls, 1);
    CHECK(mcp_client_send(c, &k) != 0);
    EQ_INT(mcp_client_stats(c).pending, 2);
    free(big);
    done(c, &p);
}

/* How a stream ends, and who is told what. */
TEST(stream_ends)
{
    peer p;
    result r, q;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c = ready(&p, &d);
    mcp_call k = tool_call("x", NULL, &r);
    (void)mcp_client_send(c, &k);
    k = tool_call("x", NULL, &q);
    (void)mcp_client_send(c, &k);
    turns(c, 1);
    put(&p.say, &p.say_len, &p.say_cap, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}", 36);  /* the last line has no line feed */
    p.eof = true;
    turns(c, 3);
    EQ_INT(r.status, MCP_OK);
    EQ_INT(r.calls, 1);
    EQ_INT(q.status, MCP_ERR_CLOSED);
    CHECK(has(q.message, "closed the connection"));
    EQ_INT(mcp_client_step(c, NULL, 0), MCP_ERR_CLOSED);
    EQ_INT(mcp_client_notify(c, "x", NULL), MCP_ERR_CLOSED);
    EQ_INT(mcp_client_cancel(c, 3, NULL), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_client_send(c, &k), 0);
    EQ_INT(q.calls, 1);
    done(c, &p);

    d = desc_of(&p, MCP_ERA_LEGACY);                         /* it reads no more, but an answer is under way */
    c = ready(&p, &d);
    k = tool_call("x", NULL, &r);
    (void)mcp_client_send(c, &k);
    turns(c, 1);
    k = tool_call("x", NULL, &q);
    (void)mcp_client_send(c, &k);
    p.deaf = true;
    turns(c, 1);
    EQ_INT(r.calls, 0);
    reply(&p, 2, OK_RESULT);
    turns(c, 1);
    EQ_INT(r.status, MCP_OK);
    EQ_INT(q.calls, 0);
    g_now += 200;
    turns(c, 1);
    EQ_INT(q.status, MCP_ERR_CLOSED);
    done(c, &p);

    d = desc_of(&p, MCP_ERA_BOTH);                           /* a stream cannot be started again */
    c = mcp_client_new(&d);
    turns(c, 1);
    p.eof = true;
    turns(c, 2);
    EQ_INT(g_ready_status, MCP_ERR_CLOSED);
    done(c, &p);

    d = desc_of(&p, MCP_ERA_LEGACY);                         /* close: what is queued still goes out, what is pending fails in the next step */
    c = ready(&p, &d);
    k = tool_call("x", NULL, &r);
    (void)mcp_client_send(c, &k);
    p.write_max = 10;
    EQ_INT(mcp_client_close(c), MCP_OK);
    EQ_INT(r.calls, 0);
    turns(c, 1);
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, MCP_ERR_CLOSED);
    turns(c, 2);
    EQ_INT(mcp_client_step(c, NULL, 0), MCP_ERR_CLOSED);
    CHECK(has(hear(&p), "tools/call"));
    done(c, &p);
}

/* Why it ended is said once: what happens afterwards is not the reason. */
TEST(first_reason_holds)
{
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c = ready(&p, &d);
    mcp_call k = tool_call("x", NULL, &r);
    char why[256];
    (void)mcp_client_send(c, &k);
    p.eof = true;
    turns(c, 3);
    EQ_INT(r.status, MCP_ERR_CLOSED);
    CHECK(has(mcp_client_error(c), "closed the connection"));
    snprintf(why, sizeof why, "%s", mcp_client_error(c));
    (void)mcp_client_close(c);
    turns(c, 2);
    EQ_STR(mcp_client_error(c), why);
    EQ_INT(r.calls, 1);
    done(c, &p);
}

static ptrdiff_t write_nothing(void *user, const void *buf, size_t n) { (void)user; (void)buf; (void)n; return MCP_ERR_AGAIN; }

/* For a server that does not read, a little is kept and no more. */
TEST(server_that_does_not_read)
{
    peer p;
    result r, q;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    mcp_call k;
    int i;
    d.io.write = write_nothing;
    d.max_queue = 2000;
    d.max_pending = 1000;
    c = mcp_client_new(&d);
    turns(c, 1);
    reply(&p, 1, INIT_RESULT);
    turns(c, 1);
    EQ_INT(g_ready_status, MCP_OK);
    k = tool_call("a tool with a name that makes it a hundred bytes for each request", NULL, &r);
    for (i = 0; i < 100 && mcp_client_send(c, &k); i++) turns(c, 1);
    CHECK(i > 10 && i < 30);
    CHECK(has(mcp_client_error(c), "does not read"));
    CHECK(mcp_client_stats(c).queued < 2300);
    EQ_INT(mcp_client_notify(c, "notifications/x", NULL), MCP_ERR_LIMIT);
    k = tool_call("x", NULL, &q);
    EQ_INT(mcp_client_send(c, &k), 0);
    EQ_INT(q.calls, 0);
    EQ_INT(r.calls, 0);                                      /* the others wait */
    mcp_client_free(c);
    EQ_INT(r.calls, i);
    peer_free(&p);
    EQ_INT(g_live, 0);
}

/* -- lists ------------------------------------------------------------------------------------------------------------------ */

static char g_names[512];
static int g_stop_after, g_pages_asked;
static mcp_client *g_c;
static mcp_id g_walk;

static bool each_name(const mcp_json *item, void *user)
{
    (void)user;
    strcat(g_names, mcp_json_str(mcp_json_get(item, "name"), "?"));
    strcat(g_names, ",");
    return !g_stop_after || --g_stop_after > 0;
}

static bool each_cancels(const mcp_json *item, void *user)
{
    (void)each_name(item, user);
    EQ_INT(mcp_client_cancel(g_c, g_walk, NULL), MCP_OK);
    return true;
}

/* A walk whose page i is pages[i]; the last one repeats. */
static void walk(int era, const char *method, const char *params, const char *const *pages, int n, result *r, char *lines, size_t cap)
{
    peer p;
    mcp_client_desc d = desc_of(&p, era);
    mcp_client *c;
    mcp_call k;
    int i;
    const char *s;
    d.max_pages = 50;
    c = ready(&p, &d);
    memset(&k, 0, sizeof k);
    memset(r, 0, sizeof *r);
    g_names[0] = 0;
    lines[0] = 0;
    k.method = method;
    k.params = params;
    k.each = each_name;
    k.fn = note;
    k.user = r;
    g_walk = mcp_client_send(c, &k);
    for (i = 0; i < 200 && !r->calls; i++) {
        turns(c, 1);
        s = hear(&p);
        if (!*s) break;
        if (strlen(lines) + strlen(s) < cap) strcat(lines, s);
        if (pages[i < n ? i : n - 1][0] == '-') refuse(&p, id_of(s), atoi(pages[i < n ? i : n - 1]), NULL);
        else reply(&p, id_of(s), pages[i < n ? i : n - 1]);
        turns(c, 1);
    }
    g_pages_asked = i;
    EQ_INT(r->calls, 1);
    EQ_INT(r->id, g_walk);
    done(c, &p);
}

TEST(lists)                                                                        /* B50 B51 B60 */
{
    static const char *const two[] = { "{\"tools\":[{\"name\":\"a\"},7,\"x\",null,{\"name\":\"b\"}],\"nextCursor\":\"\\ud800 p2\"}", "{\"tools\":[{\"name\":\"c\"}]}" };
    static const char *const empty_cursor[] = { "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"\"}", "{\"tools\":[{\"name\":\"b\"}],\"nextCursor\":null}" };
    static const char *const same[] = { "{\"tools\":[],\"nextCursor\":\"\"}" };
    static const char *const circle[] = { "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"1\"}", "{\"tools\":[{\"name\":\"b\"}],\"nextCursor\":\"2\"}", "{\"tools\":[{\"name\":\"c\"}],\"nextCursor\":\"0\"}",
        "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"1\"}", "{\"tools\":[{\"name\":\"b\"}],\"nextCursor\":\"2\"}", "{\"tools\":[{\"name\":\"c\"}],\"nextCursor\":\"0\"}",
        "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"1\"}", "{\"tools\":[{\"name\":\"b\"}],\"nextCursor\":\"2\"}", "{\"tools\":[{\"name\":\"c\"}],\"nextCursor\":\"0\"}" };
    static const char *const number[] = { "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":5}" };
    static const char *const odd[] = { "{\"tools\":7}" };
    static const char *const none[] = { "{}" };
    static const char *const missing[] = { "-32601" };
    static const char *const own[] = { "{\"n\":1,\"things\":[{\"name\":\"t\"}],\"more\":[{\"name\":\"u\"}]}" };
    static const char *const input[] = { "{\"resultType\":\"input_required\",\"requestState\":\"s\"}" };
    result r;
    char lines[8192];
    walk(MCP_ERA_LEGACY, "tools/list", "{\"cursor\":\"mine\",\"q\":1,\"_meta\":{\"z\":1}}", two, 2, &r, lines, sizeof lines);
    EQ_INT(r.status, MCP_OK);
    EQ_STR(g_names, "a,b,c,");
    CHECK(has(lines, "{\"q\":1,\"cursor\":\"mine\",\"_meta\":{\"z\":1}}}"));
    CHECK(has(lines, "{\"q\":1,\"cursor\":\"\\ud800 p2\",\"_meta\":{\"z\":1}}}"));
    walk(MCP_ERA_MODERN, "tools/list", NULL, empty_cursor, 2, &r, lines, sizeof lines);
    EQ_INT(r.status, MCP_OK);
    EQ_STR(g_names, "a,b,");
    CHECK(has(lines, "{\"cursor\":\"\",\"_meta\":{"));
    walk(MCP_ERA_LEGACY, "tools/list", NULL, same, 1, &r, lines, sizeof lines);
    EQ_INT(r.status, MCP_ERR_LIMIT);
    CHECK(g_pages_asked <= 2);
    walk(MCP_ERA_LEGACY, "tools/list", NULL, circle, 9, &r, lines, sizeof lines);
    EQ_INT(r.status, MCP_ERR_LIMIT);
    CHECK(g_pages_asked < 9);
    walk(MCP_ERA_LEGACY, "tools/list", NULL, number, 1, &r, lines, sizeof lines);
    EQ_INT(r.status, MCP_ERR_PROTOCOL);
    EQ_STR(g_names, "a,");
    walk(MCP_ERA_LEGACY, "tools/list", NULL, odd, 1, &r, lines, sizeof lines);
    EQ_INT(r.status, MCP_OK);
    walk(MCP_ERA_LEGACY, "resources/list", NULL, none, 1, &r, lines, sizeof lines);
    EQ_INT(r.status, MCP_OK);
    walk(MCP_ERA_LEGACY, "resources/templates/list", NULL, missing, 1, &r, lines, sizeof lines);
    EQ_INT(r.status, MCP_OK);
    walk(MCP_ERA_MODERN, "prompts/list", NULL, missing, 1, &r, lines, sizeof lines);
    EQ_INT(r.status, MCP_OK);
    walk(MCP_ERA_LEGACY, "tools/list", NULL, missing, 1, &r, lines, sizeof lines);
    EQ_INT(r.status, MCP_ERR_PEER);
    EQ_INT(r.code, -32601);
    walk(MCP_ERA_LEGACY, "my/things", NULL, own, 1, &r, lines, sizeof lines);
    EQ_STR(g_names, "t,");
    walk(MCP_ERA_MODERN, "tools/list", NULL, input, 1, &r, lines, sizeof lines);
    EQ_INT(r.status, MCP_ERR_PROTOCOL);
    g_stop_after = 1;
    walk(MCP_ERA_LEGACY, "tools/list", NULL, two, 2, &r, lines, sizeof lines);
    EQ_INT(r.status, MCP_OK);
    EQ_STR(g_names, "a,");
    g_stop_after = 0;
}

TEST(list_ends)                                                                            /* B50 */
{
    peer p;
    result r;
    char page[128];
    int i;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_call k;
    memset(&k, 0, sizeof k);
    memset(&r, 0, sizeof r);
    k.method = "tools/list";
    k.each = each_name;
    k.fn = note;
    k.user = &r;
    d.max_pages = 5;
    g_c = ready(&p, &d);
    g_names[0] = 0;
    g_walk = mcp_client_send(g_c, &k);
    for (i = 0; i < 20 && !r.calls; i++) {                   /* a new cursor for ever */
        snprintf(page, sizeof page, "{\"tools\":[{\"name\":\"n%d\"}],\"nextCursor\":\"%d\"}", i, i);
        turns(g_c, 1);
        reply(&p, id_of(hear(&p)), page);
        turns(g_c, 1);
    }
    EQ_INT(i, 5);
    EQ_INT(r.status, MCP_ERR_LIMIT);
    EQ_STR(g_names, "n0,n1,n2,n3,n4,");

    memset(&r, 0, sizeof r);                                 /* cancelled by the user's id while page 2 is out; the wire gets that page's id */
    g_walk = mcp_client_send(g_c, &k);
    turns(g_c, 1);
    reply(&p, id_of(hear(&p)), "{\"tools\":[],\"nextCursor\":\"x\"}");
    turns(g_c, 1);
    i = (int)id_of(hear(&p));
    CHECK(i != (int)g_walk);
    reply(&p, (long long)g_walk, "{\"tools\":[{\"name\":\"dup\"}]}");     /* page 1 again: nobody waits for it */
    turns(g_c, 1);
    EQ_INT(r.calls, 0);
    EQ_INT(mcp_client_cancel(g_c, (mcp_id)i, NULL), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_client_cancel(g_c, g_walk, NULL), MCP_OK);
    turns(g_c, 1);
    EQ_INT(r.status, MCP_ERR_CANCELLED);
    EQ_INT(r.id, g_walk);
    snprintf(page, sizeof page, "\"requestId\":%d}", i);
    CHECK(has(hear(&p), page));

    memset(&r, 0, sizeof r);                                 /* cancelled from inside */
    k.each = each_cancels;
    g_names[0] = 0;
    g_walk = mcp_client_send(g_c, &k);
    turns(g_c, 1);
    reply(&p, id_of(hear(&p)), "{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"nextCursor\":\"x\"}");
    turns(g_c, 2);
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, MCP_ERR_CANCELLED);
    EQ_STR(g_names, "a,");
    EQ_STR(hear(&p), "");                                    /* that page was answered: nothing to cancel */

    memset(&r, 0, sizeof r);                                 /* max_ms covers the whole walk, timeout_ms each page */
    k.each = each_name;
    k.timeout_ms = 100;
    k.max_ms = 150;
    (void)mcp_client_send(g_c, &k);
    turns(g_c, 1);
    g_now += 90;
    reply(&p, id_of(hear(&p)), "{\"tools\":[],\"nextCursor\":\"x\"}");
    turns(g_c, 1);
    EQ_INT(mcp_client_timeout(g_c), 60);
    g_now += 60;
    turns(g_c, 1);
    EQ_INT(r.status, MCP_ERR_TIMEOUT);
    done(g_c, &p);
}

/* -- what the server asks and tells --------------------------------------------------------------------------------------------- */

static int g_ask_status, g_asked;
static mcp_id g_ask;
static int on_ask(mcp_client *c, mcp_id ask, const char *method, const mcp_json *params, mcp_writer *w, void *user)
{
    (void)c; (void)params; (void)user;
    g_asked++;
    g_ask = ask;
    if (g_ask_status == 1) { EQ_INT(mcp_client_answer(c, ask, MCP_OK, "{\"now\":true}"), MCP_OK); return MCP_OK; }
    if (g_ask_status == 2) { mcp_put_int(w, NULL, 1); return MCP_OK; }
    if (strcmp(method, "roots/list") == 0) { mcp_put_array(w, "roots"); mcp_put_end(w); }
    else mcp_put_str(w, "m", method);
    return g_ask_status;
}

static int g_notes;
static char g_note[128];
static void on_notify(mcp_client *c, const char *method, const mcp_json *params, void *user)
{
    (void)c; (void)params; (void)user;
    g_notes++;
    snprintf(g_note, sizeof g_note, "%s", method);
}

/* One request of the server's and the answer it must get. */
static void ask_row(mcp_client *c, peer *p, int status, const char *line, const char *answer)
{
    g_ask_status = status;
    say(p, line);
    turns(c, 1);
    EQ_STR(hear(p), answer);
}

TEST(questions)                                                                    /* B22 B23 D78 */
{
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    mcp_call k;
    mcp_id first;
    d.on_ask = on_ask;
    d.capabilities = "{\"roots\":{},\"sampling\":{},\"elicitation\":{}}";
    d.on_notify = on_notify;
    c = mcp_client_new(&d);
    turns(c, 1);
    (void)hear(&p);
    g_asked = g_notes = 0;
    ask_row(c, &p, MCP_OK, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}");    /* before initialize is answered */
    ask_row(c, &p, MCP_OK, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[]}}");
    EQ_INT(g_ready, 0);
    reply(&p, 1, INIT_RESULT);
    turns(c, 1);
    EQ_INT(g_ready_status, MCP_OK);
    (void)hear(&p);
    k = tool_call("x", NULL, &r);
    (void)mcp_client_send(c, &k);
    turns(c, 1);
    (void)hear(&p);
    ask_row(c, &p, MCP_OK, "{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"a\"}", "{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"result\":{\"m\":\"a\"}}");
    ask_row(c, &p, 1, "{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"a\"}", "{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"result\":{\"now\":true}}");
    ask_row(c, &p, MCP_ERR_UNKNOWN, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"a\"}", "{\"jsonrpc\":\"2.0\",\"id\":0,\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}");
    ask_row(c, &p, MCP_ERR_DECLINED, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"elicitation/create\"}", "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"action\":\"decline\"}}");
    ask_row(c, &p, MCP_ERR_CANCELLED, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"elicitation/create\"}", "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"action\":\"cancel\"}}");
    ask_row(c, &p, MCP_ERR_DECLINED, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"sampling/createMessage\"}", "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-1,\"message\":\"the user declined\"}}");
    ask_row(c, &p, 2, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\"}", "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,\"message\":\"the answer to a cannot be sent: bad argument\"}}");
    ask_row(c, &p, MCP_OK, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"a\",\"params\":[]}", "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32602,\"message\":\"params is not an object\"}}");
    ask_row(c, &p, MCP_OK, "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"a\"}", "");
    EQ_INT(g_asked, 8);

    ask_row(c, &p, MCP_ERR_AGAIN, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\"}", "");
    first = g_ask;
    ask_row(c, &p, MCP_ERR_AGAIN, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"a\"}", "");
    ask_row(c, &p, MCP_ERR_AGAIN, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"a\"}", "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{\"code\":-32600,\"message\":\"this id is in use\"}}");
    EQ_INT(mcp_client_answer(c, first, MCP_OK, "{\"action\":"), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_client_answer(c, first, MCP_OK, "[]"), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_client_answer(c, first, MCP_OK, NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_client_answer(c, first, MCP_OK, "{\"action\": \"accept\"}"), MCP_OK);
    EQ_INT(mcp_client_answer(c, first, MCP_OK, "{}"), MCP_ERR_UNKNOWN);
    turns(c, 1);
    EQ_STR(hear(&p), "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"action\":\"accept\"}}");
    EQ_INT(mcp_client_cancel(c, g_ask, NULL), MCP_ERR_UNKNOWN);      /* a question is not a call */
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":9}}");
    turns(c, 1);
    EQ_INT(mcp_client_answer(c, g_ask, MCP_OK, "{}"), MCP_ERR_UNKNOWN);
    EQ_STR(hear(&p), "");
    ask_row(c, &p, MCP_ERR_AGAIN, "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"a\"}", "");    /* open to the end */
    ask_row(c, &p, MCP_OK, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}", "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");  /* our call has id 2 too */
    EQ_INT(r.calls, 0);
    reply(&p, 3, OK_RESULT);
    g_notes = 0;
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":9}}");
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}");
    turns(c, 1);
    EQ_INT(r.calls, 1);
    EQ_INT(g_notes, 1);
    EQ_STR(g_note, "notifications/message");
    done(c, &p);

    d = desc_of(&p, MCP_ERA_MODERN);                         /* the modern era has no such requests */
    d.on_ask = on_ask;
    c = ready(&p, &d);
    g_asked = 0;
    ask_row(c, &p, MCP_OK, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}", "");
    ask_row(c, &p, MCP_OK, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"roots/list\"}", "");
    EQ_INT(g_asked, 0);
    EQ_INT(mcp_client_stats(c).bad, 2);
    done(c, &p);

    d = desc_of(&p, MCP_ERA_LEGACY);                         /* nobody to ask */
    c = ready(&p, &d);
    ask_row(c, &p, MCP_OK, "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"roots/list\"}", "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"error\":{\"code\":-32601,\"message\":\"Method not found\"}}");
    done(c, &p);
}

/* Many questions are open at once, but not more than max_pending; the server cancels some, and knows the others. */
TEST(open_questions)
{
    enum { N = 100 };
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    mcp_id ask[N];
    char line[256];
    int i;
    d.on_ask = on_ask;
    d.max_pending = N;
    c = ready(&p, &d);
    g_ask_status = MCP_ERR_AGAIN;
    for (i = 0; i < N; i++) {
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"a\"}", i);
        ask_row(c, &p, MCP_ERR_AGAIN, line, "");
        ask[i] = g_ask;
    }
    ask_row(c, &p, MCP_ERR_AGAIN, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"a\"}", "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-31000,\"message\":\"busy: too many requests are open\"}}");
    for (i = 0; i < N; i += 2) {
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%d}}", i);
        ask_row(c, &p, MCP_ERR_AGAIN, line, "");
    }
    for (i = 1; i < N; i += 2) {
        char answer[256];
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"a\"}", i);
        snprintf(answer, sizeof answer, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"error\":{\"code\":-32600,\"message\":\"this id is in use\"}}", i);
        ask_row(c, &p, MCP_ERR_AGAIN, line, answer);
    }
    for (i = N - 1; i >= 0; i--) EQ_INT(mcp_client_answer(c, ask[i], MCP_OK, "{}"), i % 2 ? MCP_OK : MCP_ERR_UNKNOWN);
    turns(c, 1);
    for (i = N - 1; i >= 0; i -= 2) {
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}", i);
        EQ_STR(hear(&p), line);
    }
    EQ_STR(hear(&p), "");
    done(c, &p);
}

/* A server that asks for ever and reads nothing is cut off, with bounded memory. */
TEST(ping_flood)
{
    peer p;
    int i, j, status = MCP_OK;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    d.max_message = 1 << 20;
    c = ready(&p, &d);
    for (i = 0; i < 5000 && g_ready_status == MCP_OK && status == MCP_OK; i++) {
        p.write_max = 0;
        for (j = 0; j < 100; j++) say(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}");
        p.on_line = NULL;
        p.mute = true;
        status = mcp_client_step(c, NULL, 0);
        if (i == 0) CHECK(mcp_client_stats(c).bytes_out > 0);
        p.got_len = p.got_at = 0;
    }
    EQ_INT(status, MCP_OK);                                  /* this one reads */
    done(c, &p);
}

TEST(ping_flood_unread)
{
    peer p;
    int i, j, status = MCP_OK;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    mcp_io io = d.io;
    d.max_message = 1 << 20;
    io.write = write_nothing;
    d.io = io;
    d.start_timeout_ms = 1000000;
    c = mcp_client_new(&d);
    for (i = 0; i < 5000 && status == MCP_OK; i++) {
        for (j = 0; j < 100; j++) say(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}");
        g_now++;
        status = mcp_client_step(c, NULL, 0);
        CHECK(mcp_client_stats(c).queued < (3u << 20));
    }
    EQ_INT(g_ready_status, MCP_ERR_LIMIT);
    done(c, &p);
}

/* -- calls that block, and calls inside callbacks ------------------------------------------------------------------------------------ */

/* Answers everything at once; "slow" is answered after a notification, a progress report and a question. */
static void auto_server(peer *p, const char *line, size_t len)
{
    char text[8192];
    long long id;
    if (len >= sizeof text) len = sizeof text - 1;
    memcpy(text, line, len);
    text[len] = 0;
    id = id_of(text);
    p->requests++;
    if (p->mute || !has(text, "\"method\"") || id < 0) return;
    if (has(text, "\"initialize\"")) reply(p, id, INIT_RESULT);
    else if (has(text, "server/discover")) refuse(p, id, -32601, NULL);
    else if (has(text, "\"name\":\"slow\"")) {
        char t[256];
        say(p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
        snprintf(t, sizeof t, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%lld,\"progress\":1}}", id);
        say(p, t);
        say(p, "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"roots/list\"}");
        reply(p, id, "{\"content\":[{\"type\":\"text\",\"text\":\"slow\"},{\"type\":\"text\",\"text\":\"!\"}]}");
    } else if (has(text, "\"name\":\"never\"")) {
        say(p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/never\"}");
    } else if (has(text, "tools/list")) reply(p, id, "{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"}]}");
    else reply(p, id, OK_RESULT);
}

static int g_depth, g_deepest, g_misuse, g_inner_ok;
static mcp_call inner_call(const char *tool)
{
    mcp_call k;
    memset(&k, 0, sizeof k);
    k.tool = tool;
    return k;
}

static void call_inside(mcp_client *c)
{
    mcp_call k = inner_call("quick");
    const mcp_reply *r, *r2;
    r = mcp_client_call(c, &k);
    if (r->status == MCP_OK) {
        g_inner_ok++;
        EQ_STR(mcp_reply_text(r, NULL), "ok");
        (void)mcp_client_timeout(c);                         /* getters end nothing */
        EQ_STR(mcp_reply_text(r, NULL), "ok");
        r2 = mcp_client_call(c, &k);                         /* and once more at the same level */
        EQ_INT(r2->status, MCP_OK);
        EQ_STR(mcp_reply_text(r2, NULL), "ok");
    }
}

static void nested_notify(mcp_client *c, const char *method, const mcp_json *params, void *user)
{
    (void)user;
    call_inside(c);
    EQ_INT(mcp_client_wait(c, 0), MCP_OK);
    CHECK(has(method, "notifications/"));                    /* what this callback was given is still there */
    CHECK(params == NULL);
}
static void nested_progress(double dn, double total, const char *message, void *user)
{
    (void)total; (void)message;
    CHECK(dn == 1);
    call_inside((mcp_client *)user);
}
static int nested_ask(mcp_client *c, mcp_id ask, const char *method, const mcp_json *params, mcp_writer *w, void *user)
{
    (void)ask; (void)params; (void)user;
    mcp_put_str(w, "before", "x");
    call_inside(c);
    mcp_put_str(w, "after", method);
    mcp_put_array(w, "roots");
    mcp_put_end(w);
    return MCP_OK;
}
static void nested_fn(const mcp_reply *r, void *user)
{
    const char *text = mcp_reply_text(r, NULL);
    call_inside((mcp_client *)user);
    EQ_STR(text, "slow\n!");
}
static bool nested_each(const mcp_json *item, void *user)
{
    const char *name = mcp_json_str(mcp_json_get(item, "name"), "");
    call_inside((mcp_client *)user);
    CHECK(strcmp(name, "a") == 0 || strcmp(name, "b") == 0);
    return true;
}

TEST(nested)                                                                           /* B46 B47 */
{
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_BOTH);
    mcp_client *c;
    mcp_call k = inner_call("slow");
    const mcp_reply *r;
    p.on_line = auto_server;
    d.on_notify = nested_notify;
    d.on_ask = nested_ask;
    d.capabilities = "{\"roots\":{},\"sampling\":{},\"elicitation\":{}}";
    c = mcp_client_new(&d);
    g_inner_ok = 0;
    k.fn = nested_fn;
    k.user = c;
    k.on_progress = nested_progress;
    r = mcp_client_call(c, &k);
    EQ_INT(r->status, MCP_OK);
    EQ_STR(mcp_reply_text(r, NULL), "slow\n!");
    EQ_INT(g_inner_ok, 4);
    CHECK(has(p.got, "\"id\":\"s\",\"result\":{\"before\":\"x\",\"after\":\"roots/list\",\"roots\":[]}"));
    memset(&k, 0, sizeof k);
    k.method = "tools/list";
    k.each = nested_each;
    k.user = c;
    r = mcp_client_call(c, &k);
    EQ_INT(r->status, MCP_OK);
    CHECK(mcp_json_at(r->result, "/tools/1/name") != NULL);
    EQ_INT(g_inner_ok, 6);
    done(c, &p);
}

/* Each level waits for a call that only a deeper level's reading settles. */
static void deep_notify(mcp_client *c, const char *method, const mcp_json *params, void *user)
{
    mcp_call k = inner_call("never");
    const mcp_reply *r;
    (void)method; (void)params; (void)user;
    if (++g_depth > g_deepest) g_deepest = g_depth;
    k.timeout_ms = 1000;
    r = mcp_client_call(c, &k);
    if (r->status == MCP_ERR_MISUSE) {
        peer *p = (peer *)user;
        int i;
        g_misuse++;
        EQ_INT(mcp_client_step(c, NULL, 0), MCP_ERR_MISUSE);
        EQ_INT(mcp_client_wait(c, 0), MCP_ERR_MISUSE);
        for (i = 2; i < 11; i++) reply(p, i, OK_RESULT);
    } else {
        EQ_INT(r->status, MCP_OK);
        EQ_STR(mcp_reply_text(r, NULL), "ok");
        g_inner_ok++;
    }
    g_depth--;
}

TEST(depth)
{
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    mcp_call k = inner_call("never");
    const mcp_reply *r;
    p.on_line = auto_server;
    d.on_notify = deep_notify;
    d.user = &p;
    d.now_ms = clock_ms;
    c = mcp_client_new(&d);
    g_depth = g_deepest = g_misuse = g_inner_ok = 0;
    (void)mcp_client_step(c, NULL, 0);
    r = mcp_client_call(c, &k);
    EQ_INT(g_misuse, 1);
    EQ_INT(g_deepest, 9);
    CHECK(g_inner_ok == 8);
    EQ_INT(r->status, MCP_OK);
    EQ_STR(mcp_reply_text(r, NULL), "ok");
    done(c, &p);
}

/* The deeper level reads the outer call's answer, then its own: both replies are good. */
static void outer_then_inner(mcp_client *c, const char *method, const mcp_json *params, void *user)
{
    peer *p = (peer *)user;
    mcp_call k = inner_call("mine");
    const mcp_reply *r;
    (void)method; (void)params;
    p->mute = true;
    reply(p, 2, "{\"content\":[{\"type\":\"text\",\"text\":\"outer\"}],\"big\":[1,2,3]}");
    refuse(p, 3, -5, "{\"d\":1}");
    r = mcp_client_call(c, &k);
    EQ_INT(r->status, MCP_ERR_PEER);
    EQ_INT(r->code, -5);
    EQ_STR(r->message, "no");
    CHECK(mcp_json_get(r->data, "d") != NULL);
}

/* A blocking call reads a batch with its answer and a notification behind it, whose callback makes a blocking call. */
static char g_batch_text[2][64];
static int g_batch_at;
static void calls_in_a_batch(mcp_client *c, const char *method, const mcp_json *params, void *user)
{
    mcp_call k = inner_call("inner");
    const mcp_reply *r;
    (void)params; (void)user;
    if (has(method, "later")) { g_batch_at = 9; return; }
    r = mcp_client_call(c, &k);
    EQ_INT(r->status, MCP_OK);
    if (g_batch_at < 2) snprintf(g_batch_text[g_batch_at++], sizeof *g_batch_text, "%s", mcp_reply_text(r, NULL));
}

static void batch_server(peer *p, const char *line, size_t len)
{
    char text[512];
    long long id;
    snprintf(text, sizeof text, "%.*s", (int)len, line);
    id = id_of(text);
    if (has(text, "\"initialize\"")) reply(p, id, "{\"protocolVersion\":\"2025-03-26\",\"capabilities\":{}}");
    else if (has(text, "\"outer\"")) {
        static const char note_line[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}";
        snprintf(text, sizeof text, "[{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"mine\"}]}},%s,%s]", id, note_line, note_line);
        say(p, text);
    } else if (has(text, "\"inner\"")) {
        reply(p, id, OK_RESULT);
        if (g_batch_at == 1)
            say(p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/later\",\"params\":{\"a\":[\"b\",\"c\",\"d\",\"e\",\"f\",\"g\"]}}");
    }
}

TEST(calls_inside_a_batch)
{
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    mcp_call k = inner_call("outer");
    const mcp_reply *r;
    p.on_line = batch_server;
    d.on_notify = calls_in_a_batch;
    g_batch_at = 0;
    g_tick = 1;                                              /* a call that stays deaf ends by its timeout */
    c = mcp_client_new(&d);
    r = mcp_client_call(c, &k);
    EQ_INT(r->status, MCP_OK);
    EQ_STR(mcp_reply_text(r, NULL), "mine");
    EQ_INT(g_batch_at, 2);                                   /* and the line behind the batch waits for the next turn */
    EQ_STR(g_batch_text[0], "ok");
    EQ_STR(g_batch_text[1], "ok");
    g_tick = 0;
    done(c, &p);
}

TEST(replies_live)
{
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    mcp_call k = inner_call("never");
    const mcp_reply *r;
    p.on_line = auto_server;
    d.on_notify = outer_then_inner;
    d.user = &p;
    c = mcp_client_new(&d);
    r = mcp_client_call(c, &k);
    EQ_INT(r->status, MCP_OK);
    EQ_STR(mcp_reply_text(r, NULL), "outer");
    CHECK(mcp_json_at(r->result, "/big/2") != NULL);
    k = inner_call("q");
    (void)mcp_client_send(c, &k);                            /* send ends no reply */
    EQ_STR(mcp_reply_text(r, NULL), "outer");
    done(c, &p);
}

/* -- free, close and cancel inside each callback ---------------------------------------------------------------------------------------- */

enum { IN_READY, IN_NOTIFY, IN_PROGRESS, IN_ASK, IN_FN, IN_EACH, IN_STDERR, IN_POST, IN_COUNT };
static int g_where, g_how;                                   /* how: 0 free, 1 close, 2 free inside a nested call */
static result g_others[3];

static void strike(mcp_client *c, int where)
{
    if (where != g_where) return;
    g_where = -1;
    if (g_how == 1) (void)mcp_client_close(c);
    else {
        mcp_call k = inner_call("x");
        mcp_client_free(c);
        EQ_INT(g_others[1].calls, 1);                        /* all that was pending has been told */
        EQ_INT(g_others[1].status, MCP_ERR_CLOSED);
        EQ_INT(mcp_client_send(c, &k), 0);
        EQ_INT(mcp_client_step(c, NULL, 0), MCP_ERR_CLOSED);
        EQ_INT(mcp_client_call(c, &k)->status, MCP_ERR_CLOSED);
        mcp_client_free(c);
    }
}

static void s_ready(mcp_client *c, int status, void *user) { (void)user; note_ready(c, status, user); strike(c, IN_READY); }
static void s_notify(mcp_client *c, const char *m, const mcp_json *ps, void *user)
{
    (void)m; (void)ps; (void)user;
    if (g_how == 2 && g_where >= 0) { mcp_call k = inner_call("slow"); g_how = 3; EQ_INT(mcp_client_call(c, &k)->status, MCP_ERR_CLOSED); return; }
    if (g_how == 3) { g_how = 0; g_where = IN_NOTIFY; }
    strike(c, IN_NOTIFY);
}
static void s_progress(double a, double b, const char *m, void *user) { (void)a; (void)b; (void)m; strike((mcp_client *)user, IN_PROGRESS); }
static int s_ask(mcp_client *c, mcp_id ask, const char *m, const mcp_json *ps, mcp_writer *w, void *user)
{
    (void)ask; (void)m; (void)ps; (void)user;
    mcp_put_int(w, "a", 1);
    strike(c, IN_ASK);
    mcp_put_int(w, "b", 1);
    return MCP_OK;
}
static void s_fn(const mcp_reply *r, void *user) { (void)r; strike((mcp_client *)user, IN_FN); }
static bool s_each(const mcp_json *i, void *user) { strike((mcp_client *)user, IN_EACH); CHECK(mcp_json_get(i, "name") != NULL); return true; }
static void s_post(void *owner, void *arg) { (void)arg; if (owner) strike((mcp_client *)owner, IN_POST); }

static void strike_row(int where, int how)
{
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    mcp_call k;
    mcp_poster *post;
    const mcp_reply *r;
    int i;
    g_where = where;
    g_how = how;
    p.on_line = auto_server;
    d.on_ready = s_ready;
    d.on_notify = s_notify;
    d.on_ask = s_ask;
    d.capabilities = "{\"roots\":{},\"sampling\":{},\"elicitation\":{}}";
    c = mcp_client_new(&d);
    for (i = 0; i < 3; i++) {                                /* bystanders: never answered */
        k = tool_call("hold", NULL, &g_others[i]);
        k.timeout_ms = -1;
        k.tool = "never";
        CHECK(mcp_client_send(c, &k) != 0);
    }
    post = mcp_client_poster(c);
    if (where == IN_POST) EQ_INT(mcp_post(post, s_post, NULL), MCP_OK);
    memset(&k, 0, sizeof k);
    if (where == IN_EACH) { k.method = "tools/list"; k.each = s_each; }
    else k.tool = where == IN_POST ? "never" : "slow";
    k.fn = s_fn;
    k.on_progress = s_progress;
    k.user = c;
    r = mcp_client_call(c, &k);
    EQ_INT(g_where, -1);
    if (how == 1 && where == IN_FN) EQ_INT(r->status, MCP_OK);          /* it was settled before */
    else if (how == 1 && (where == IN_ASK || where == IN_PROGRESS || where == IN_NOTIFY || where == IN_READY)) EQ_INT(r->status, MCP_ERR_CLOSED);
    else if (how != 1) EQ_INT(r->status, MCP_ERR_CLOSED);
    CHECK(r->status == MCP_OK || mcp_reply_text(r, NULL)[0]);
    if (how == 1) {
        for (i = 0; i < 5; i++) (void)mcp_client_step(c, NULL, 0);
        EQ_INT(mcp_client_step(c, NULL, 0), MCP_ERR_CLOSED);
        mcp_client_free(c);
    }
    for (i = 0; i < 3; i++) { EQ_INT(g_others[i].calls, 1); EQ_INT(g_others[i].status, MCP_ERR_CLOSED); }
    EQ_INT(g_ready, 1);
    if (post) EQ_INT(mcp_post(post, s_post, NULL), MCP_ERR_CLOSED);
    mcp_poster_free(post);
    CHECK(p.closed);
    peer_free(&p);
    EQ_INT(g_live, 0);
}

TEST(strikes)                                                                              /* B48 */
{
    int where;
    for (where = 0; where < IN_COUNT; where++) {
        if (where == IN_STDERR) continue;
        strike_row(where, 0);
        strike_row(where, 1);
    }
    strike_row(IN_NOTIFY, 2);
}

/* A callback of free that tries to go on. */
static int g_cancelled;
static void greedy(const mcp_reply *r, void *user)
{
    mcp_client *c = (mcp_client *)user;
    mcp_call k = inner_call("x");
    g_inner_ok++;
    if (r->status == MCP_ERR_CANCELLED) g_cancelled++;
    else EQ_INT(r->status, MCP_ERR_CLOSED);
    EQ_INT(mcp_client_send(c, &k), 0);
    EQ_INT(mcp_client_call(c, &k)->status, MCP_ERR_CLOSED);
    EQ_INT(mcp_client_wait(c, 1000), MCP_ERR_CLOSED);
    mcp_client_free(c);
}

TEST(free_calls_back)                                                                      /* B48 */
{
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c = mcp_client_new(&d);
    mcp_call k = inner_call("x");
    int i;
    g_inner_ok = g_cancelled = 0;
    k.fn = greedy;
    k.user = c;
    for (i = 0; i < 3; i++) CHECK(mcp_client_send(c, &k) != 0);
    EQ_INT(mcp_client_cancel(c, mcp_client_send(c, &k), NULL), MCP_OK);
    k.fn = NULL;
    CHECK(mcp_client_send(c, &k) != 0);
    mcp_client_free(NULL);
    mcp_client_free(c);
    EQ_INT(g_inner_ok, 4);
    EQ_INT(g_cancelled, 1);
    EQ_INT(g_ready, 1);
    EQ_INT(g_ready_status, MCP_ERR_CLOSED);
    CHECK(p.closed);
    peer_free(&p);
    EQ_INT(g_live, 0);
}

/* -- many, big, slow, and without memory ---------------------------------------------------------------------------------------------------- */

TEST(many)                                                                             /* B12 B14 */
{
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    mcp_call k;
    static result rs[64];
    long before;
    int i, n = 100000, failed = 0;
    d.max_pending = n;
    c = ready(&p, &d);
    k = tool_call("x", NULL, &rs[0]);
    memset(rs, 0, sizeof rs);
    for (i = 0; i < n; i++) { k.user = &rs[i % 64]; k.timeout_ms = 1000 + i % 7; if (!mcp_client_send(c, &k)) failed++; }
    EQ_INT(failed, 0);
    EQ_INT(mcp_client_send(c, &k), 0);
    turns(c, 1);
    for (i = n; i > n / 2; i--) reply(&p, i + 1, OK_RESULT);           /* the last half is answered, backwards */
    turns(c, 500);
    EQ_INT(mcp_client_stats(c).pending, n / 2);
    g_now += 2000;
    turns(c, 1);
    EQ_INT(mcp_client_stats(c).pending, 0);
    for (i = 0, n = 0; i < 64; i++) n += rs[i].calls;
    EQ_INT(n, 100000);
    before = 0;
    for (i = 0; i < 300; i++) {                              /* once warm, and shrunk: no allocation for a call and its answer */
        if (i == 200) before = g_calls;
        k.user = &rs[0];
        reply(&p, (long long)mcp_client_send(c, &k), OK_RESULT);
        turns(c, 1);
    }
    EQ_INT(g_calls - before, 0);
    done(c, &p);
}

TEST(byte_by_byte)
{
    peer p;
    result r;
    int i;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c = mcp_client_new(&d);
    mcp_call k = tool_call("x", "{\"t\":\"h\xC3\xA9\xF0\x9F\x98\x80\"}", &r);
    p.read_max = p.write_max = 1;
    p.on_line = auto_server;
    (void)mcp_client_send(c, &k);
    for (i = 0; i < 2000 && !r.calls; i++) turns(c, 1);
    EQ_INT(r.status, MCP_OK);
    CHECK(has(p.got, "h\xC3\xA9\xF0\x9F\x98\x80"));
    done(c, &p);
}

/* Both sides send 16 MiB before they read: a bounded pair of streams and no deadlock. */
TEST(back_pressure)
{
    size_t n = (size_t)16 << 20, i, got = 0, at = 0, len;
    mcp_io ends[2];
    mcp_client_desc d;
    mcp_client *c;
    mcp_call k;
    result r;
    char *args = (char *)malloc(n + 16), *answer = (char *)malloc(n + 256), *buf = (char *)malloc(65536);
    memset(&d, 0, sizeof d);
    EQ_INT(mcp_io_pair(NULL, ends), MCP_OK);
    d.name = d.version = "x";
    d.io = ends[0];
    d.era = MCP_ERA_LEGACY;
    d.on_ready = note_ready;
    g_ready = 0;
    c = mcp_client_new(&d);
    turns(c, 1);
    (void)ends[1].read(ends[1].user, buf, 65536);
    len = (size_t)sprintf(answer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":" INIT_RESULT "}\n");
    (void)ends[1].write(ends[1].user, answer, len);
    turns(c, 1);
    EQ_INT(g_ready, 1);
    memcpy(args, "{\"t\":\"", 6);
    memset(args + 6, 'x', n);
    memcpy(args + 6 + n, "\"}", 3);
    k = tool_call("x", args, &r);
    CHECK(mcp_client_send(c, &k) == 2);
    len = (size_t)sprintf(answer, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
    memset(answer + len, 'y', n);
    len += n;
    len += (size_t)sprintf(answer + len, "\"}]}}\n");
    for (i = 0; i < 100000 && !r.calls; i++) {               /* the peer reads nothing until it has written all of its answer */
        ptrdiff_t w = at < len ? ends[1].write(ends[1].user, answer + at, len - at) : MCP_ERR_AGAIN;
        if (w > 0) at += (size_t)w;
        turns(c, 1);
    }
    EQ_INT(r.calls, 1);
    EQ_INT(at, len);
    EQ_INT(r.text[0], 'y');
    for (i = 0; i < 100000 && mcp_client_stats(c).queued; i++) {
        ptrdiff_t m = ends[1].read(ends[1].user, buf, 65536);
        if (m > 0) got += (size_t)m;
        turns(c, 1);
    }
    for (;;) {
        ptrdiff_t m = ends[1].read(ends[1].user, buf, 65536);
        if (m <= 0) break;
        got += (size_t)m;
    }
    CHECK(got > n);
    mcp_client_free(c);
    ends[1].close(ends[1].user);
    free(args);
    free(answer);
    free(buf);
}

/* The whole of it again and again, each time with one allocation failing. Whatever fails, nothing leaks and everybody is told once. */
static int oom_round(long fail_at)
{
    peer p;
    result a, b, w;
    mcp_client_desc d = desc_of(&p, MCP_ERA_BOTH);
    mcp_client *c;
    mcp_call k;
    mcp_id ia, ib, iw;
    int i, hit;
    g_calls = 0;
    g_fail_at = fail_at;
    p.on_line = auto_server;
    d.on_ask = on_ask;
    d.on_notify = on_notify;
    d.capabilities = "{\"roots\":{}}";
    g_ask_status = MCP_OK;
    g_names[0] = 0;
    c = mcp_client_new(&d);
    if (c) {
        k = tool_call("slow", NULL, &a);
        ia = mcp_client_send(c, &k);
        k = tool_call("x", "{\"a\":[1,2,{\"b\":\"c\"}]}", &b);
        k.meta = "{\"traceparent\":\"00\"}";
        k.progress = true;
        ib = mcp_client_send(c, &k);
        k = tool_call(NULL, NULL, &w);
        k.method = "tools/list";
        k.each = each_name;
        iw = mcp_client_send(c, &k);
        for (i = 0; i < 12; i++) (void)mcp_client_step(c, NULL, 0);
        k = inner_call("x");
        k.timeout_ms = 20;
        g_tick = 1;
        i = mcp_client_call(c, &k)->status;
        CHECK(i <= MCP_OK);
        g_tick = 0;
        mcp_client_free(c);
        EQ_INT(a.calls, ia != 0);
        EQ_INT(b.calls, ib != 0);
        EQ_INT(w.calls, iw != 0);
        EQ_INT(g_ready, 1);
        CHECK(p.closed);
    }
    hit = g_calls >= fail_at;
    g_fail_at = 0;
    peer_free(&p);
    if (g_live) printf("  (failing allocation %ld leaks %ld)\n", fail_at, g_live);
    EQ_INT(g_live, 0);
    g_live = 0;
    return hit;
}

TEST(no_memory)
{
    long n = 1;
    while (oom_round(n) && n < 2000) n++;
    CHECK(n > 10 && n < 2000);
}

TEST(arguments)
{
    mcp_client_desc d;
    mcp_client *c;
    static const char *const asked[] = { "{\"roots\":{}}", "{\"sampling\":{}}", "{\"elicitation\":{}}", "{\"elicitation\":{\"url\":{}}}", "{\"extensions\":{}}", "{}" };
    mcp_call k = inner_call("x");
    mcp_io ends[2];
    size_t i;
    memset(&d, 0, sizeof d);
    d.on_ready = note_ready;
    EQ_INT(mcp_client_step(NULL, NULL, 0), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_client_wait(NULL, 0), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_client_call(NULL, &k)->status, MCP_ERR_ARGUMENT);
    EQ_INT(mcp_client_send(NULL, &k), 0);
    EQ_INT(mcp_client_close(NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_client_timeout(NULL), -1);
    EQ_STR(mcp_client_error(NULL), "");
    CHECK(!mcp_client_info(NULL) && !mcp_client_protocol(NULL) && !mcp_client_poster(NULL));
    c = mcp_client_new(NULL);
    EQ_INT(mcp_client_call(c, &k)->status, MCP_ERR_ARGUMENT);
    mcp_client_free(c);
    d.name = d.version = "x";
    g_ready = 0;
    c = mcp_client_new(&d);
    EQ_INT(mcp_client_step(c, NULL, 0), MCP_ERR_ARGUMENT);
    EQ_INT(g_ready, 1);
    EQ_INT(g_ready_status, MCP_ERR_ARGUMENT);
    CHECK(has(mcp_client_error(c), "argv"));
    mcp_client_free(c);
    EQ_INT(mcp_io_pair(NULL, ends), MCP_OK);
    d.io = ends[0];
    d.capabilities = "{\"roots\":}";
    c = mcp_client_new(&d);
    EQ_INT(mcp_client_step(c, NULL, 0), MCP_ERR_ARGUMENT);
    CHECK(has(mcp_client_error(c), "capabilities") && has(mcp_client_error(c), "9"));
    mcp_client_free(c);
    ends[1].close(ends[1].user);                             /* the client has closed its end: this frees the pair */
    for (i = 0; i < sizeof asked / sizeof *asked; i++) {     /* who says that servers may ask has to listen */
        EQ_INT(mcp_io_pair(NULL, ends), MCP_OK);
        d.io = ends[0];
        d.capabilities = asked[i];
        c = mcp_client_new(&d);
        EQ_INT(mcp_client_step(c, NULL, 0), i < 4 ? MCP_ERR_ARGUMENT : MCP_OK);
        CHECK(has(mcp_client_error(c), "there is no on_ask") == (i < 4));
        mcp_client_free(c);
        ends[1].close(ends[1].user);
    }
}

static char g_log[65536];
static void on_log(int level, const char *text, void *user)
{
    (void)level; (void)user;
    CHECK(strlen(text) < 2100);
    if (strlen(g_log) + strlen(text) + 2 < sizeof g_log) { strcat(g_log, text); strcat(g_log, "\n"); }
}

TEST(logging)
{
    peer p;
    char *big = (char *)malloc(10001);
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    d.log.fn = on_log;
    d.log.level = 3;
    g_log[0] = 0;
    c = ready(&p, &d);
    CHECK(has(g_log, "-> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\""));
    CHECK(has(g_log, "<- {\"jsonrpc\":\"2.0\",\"id\":1,\"result\""));
    memset(big, 'b', 10000);
    big[10000] = 0;
    say(&p, big);
    turns(c, 5);
    CHECK(has(g_log, "<- bbbb"));
    EQ_INT(mcp_client_stats(c).bad, 1);
    free(big);
    done(c, &p);
}

static int g_posts, g_orphans;
static void posted(void *owner, void *arg) { if (owner) g_posts++; else g_orphans++; *(int *)arg += 1; }

TEST(posts)
{
    peer p;
    int n = 0;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c = ready(&p, &d);
    mcp_poster *q = mcp_client_poster(c), *q2 = mcp_client_poster(c);
    CHECK(q && q2);
    g_posts = g_orphans = 0;
    EQ_INT(mcp_post(q, posted, &n), MCP_OK);
    EQ_INT(mcp_post(q2, posted, &n), MCP_OK);
    turns(c, 1);
    EQ_INT(g_posts, 2);
    EQ_INT(mcp_post(q, posted, &n), MCP_OK);
    mcp_client_free(c);
    EQ_INT(g_orphans, 1);
    EQ_INT(mcp_post(q, posted, &n), MCP_ERR_CLOSED);
    EQ_INT(n, 3);
    mcp_poster_free(q);
    mcp_poster_free(q2);
    peer_free(&p);
    EQ_INT(g_live, 0);
}

/* -- our own server on the other end ------------------------------------------------------------------------------------------------------- */

static void echo(mcp_req *r, void *user)
{
    (void)user;
    (void)mcp_req_progress(r, 1, 2, "half");
    (void)mcp_req_text(r, mcp_arg_str(r, "text", "?"));
}

static void pair_row(int era)
{
    static const char *const names[] = { "echo", "two", "three" };
    mcp_io ends[2];
    mcp_server_desc sd;
    mcp_client_desc d;
    mcp_server *s;
    mcp_client *c;
    mcp_call k;
    mcp_tool t;
    result r, lr, pr;
    int i;
    memset(&sd, 0, sizeof sd);
    memset(&d, 0, sizeof d);
    EQ_INT(mcp_io_pair(NULL, ends), MCP_OK);
    sd.name = sd.version = d.name = d.version = "x";
    sd.io = ends[0];
    sd.page_size = 1;
    d.io = ends[1];
    d.era = era;
    s = mcp_server_new(&sd);
    for (i = 0; i < 3; i++) {
        memset(&t, 0, sizeof t);
        t.name = names[i];
        t.fn = echo;
        EQ_INT(mcp_server_tool(s, &t), MCP_OK);
    }
    c = mcp_client_new(&d);
    k = tool_call("echo", "{\"text\":\"h\xC3\xA9\"}", &r);
    memset(&g_t, 0, sizeof g_t);
    k.on_progress = on_progress;
    CHECK(mcp_client_send(c, &k) != 0);
    k = tool_call(NULL, NULL, &lr);
    k.method = "tools/list";
    k.each = each_name;
    g_names[0] = 0;
    CHECK(mcp_client_send(c, &k) != 0);
    k = tool_call(NULL, NULL, &pr);
    k.method = "prompts/list";
    k.each = each_name;
    CHECK(mcp_client_send(c, &k) != 0);
    for (i = 0; i < 50 && !(r.calls && lr.calls && pr.calls); i++) {
        (void)mcp_client_step(c, NULL, 0);
        (void)mcp_server_step(s, NULL, 0);
    }
    EQ_INT(r.status, MCP_OK);
    EQ_STR(r.text, "h\xC3\xA9");
    EQ_INT(g_t.n, 1);
    EQ_STR(g_t.message, "half");
    EQ_INT(lr.status, MCP_OK);
    EQ_STR(g_names, "echo,two,three,");
    EQ_INT(pr.status, MCP_OK);
    EQ_INT(mcp_client_era(c), era == MCP_ERA_LEGACY ? MCP_ERA_LEGACY : MCP_ERA_MODERN);
    EQ_INT(mcp_client_stats(c).unknown, 0);
    EQ_INT(mcp_client_stats(c).bad, 0);
    mcp_client_free(c);
    mcp_server_free(s);
}

TEST(our_server)
{
    pair_row(MCP_ERA_BOTH);
    pair_row(MCP_ERA_MODERN);
    pair_row(MCP_ERA_LEGACY);
}

/* -- anything in any order ------------------------------------------------------------------------------------------------------------------ */

static uint32_t g_seed;
static unsigned dice(unsigned n) { g_seed = g_seed * 1664525u + 1013904223u; return (g_seed >> 8) % n; }

enum { CHAOS_CALLS = 4000 };
static struct { int sent, told; mcp_id id[CHAOS_CALLS]; unsigned char seen[CHAOS_CALLS]; mcp_client *c; peer *p; bool freed; mcp_id ask; int depth; } g_chaos;

static void chaos_act(int how_many);
static void chaos_fn(const mcp_reply *r, void *user)
{
    size_t i = (size_t)(uintptr_t)user, n;
    CHECK(g_chaos.seen[i] == 0);
    CHECK(r->message != NULL && (g_chaos.id[i] == 0 || r->id == g_chaos.id[i]));
    g_chaos.seen[i] = 1;
    g_chaos.told++;
    (void)mcp_reply_text(r, &n);
    chaos_act(1);
    (void)mcp_json_size(r->result);                          /* still there, whatever was done meanwhile */
    CHECK(strlen(r->message) < 4000);
    (void)mcp_reply_text(r, &n);
}
static void chaos_progress(double a, double b, const char *m, void *user) { (void)a; (void)b; (void)user; chaos_act(1); CHECK(!m || strlen(m) < 10); }
static bool chaos_each(const mcp_json *item, void *user) { (void)user; chaos_act(1); CHECK(mcp_json_type(item) == MCP_JSON_OBJECT); return dice(8) != 0; }
static void chaos_notify(mcp_client *c, const char *m, const mcp_json *ps, void *user)
{
    (void)c; (void)user;
    chaos_act(1);
    CHECK(strlen(m) < 100);
    (void)mcp_json_size(ps);
}
static void chaos_ready(mcp_client *c, int status, void *user) { note_ready(c, status, user); chaos_act(1); }
static int chaos_ask(mcp_client *c, mcp_id ask, const char *m, const mcp_json *ps, mcp_writer *w, void *user)
{
    static const int ends[] = { MCP_OK, MCP_OK, MCP_ERR_AGAIN, MCP_ERR_AGAIN, MCP_ERR_DECLINED, MCP_ERR_CANCELLED, MCP_ERR_UNKNOWN, MCP_ERR_FAILED };
    (void)c; (void)ps; (void)user;
    g_chaos.ask = ask;
    mcp_put_str(w, "a", m);
    chaos_act(1);
    mcp_put_str(w, "b", m);
    return ends[dice(8)];
}

static void chaos_send(bool block)
{
    mcp_call k;
    int i = g_chaos.sent;
    const mcp_reply *r;
    if (i >= CHAOS_CALLS) return;
    memset(&k, 0, sizeof k);
    if (dice(4) == 0) { k.method = dice(2) ? "tools/list" : "resources/list"; k.each = chaos_each; }
    else { k.tool = "x"; k.args = dice(2) ? "{\"a\":[1,{\"b\":null}]}" : NULL; }
    if (dice(3) == 0) k.on_progress = chaos_progress;
    k.timeout_ms = dice(5) ? 20 : 3;
    k.max_ms = 60;                                           /* an open question stops the other clock */
    k.fn = chaos_fn;
    k.user = (void *)(uintptr_t)i;
    g_chaos.sent++;
    g_chaos.id[i] = 0;
    if (!block) {
        g_chaos.id[i] = mcp_client_send(g_chaos.c, &k);
        if (!g_chaos.id[i]) { g_chaos.seen[i] = 1; g_chaos.told++; }
        return;
    }
    r = mcp_client_call(g_chaos.c, &k);
    CHECK(r && (r->message || r->status == MCP_ERR_CLOSED));
    if (!g_chaos.seen[i]) { CHECK(r->status != MCP_OK); g_chaos.seen[i] = 1; g_chaos.told++; }      /* never sent */
    if (!g_chaos.freed) (void)mcp_reply_text(r, NULL);
}

/* What a server might say, right or wrong; ids near those in use. */
static void chaos_say(void)
{
    static const char *const lines[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":" OK_RESULT "}", "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":" OK_RESULT "}", "{\"jsonrpc\":\"2.0\",\"id\":\"%d\",\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"resources\":[{},7,{}],\"nextCursor\":\"c\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"tools\":[{\"name\":\"a\"}]}}", "{\"jsonrpc\":\"2.0\",\"id\":%d,\"error\":{\"code\":-32601,\"message\":\"m\",\"data\":[1]}}",
        "{\"jsonrpc\":\"2.0\",\"id\":%d}", "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":7}", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%d,\"progress\":1,\"message\":\"m\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"elicitation/create\",\"params\":{\"x\":[1,2]}}", "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%d}}", "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"n\":%d}}",
        "noise %d", "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":", "[{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}},{\"jsonrpc\":\"2.0\",\"method\":\"n\"}]"
    };
    char text[256];
    snprintf(text, sizeof text, lines[dice(sizeof lines / sizeof *lines)], (int)(2 + (unsigned)g_chaos.sent + dice(8)) - (int)dice(8));
    say(g_chaos.p, text);
}

static void chaos_act(int how_many)
{
    if (g_chaos.depth > 12) return;
    g_chaos.depth++;
    while (how_many-- > 0) {
        g_now += dice(3);
        switch (dice(16)) {
        case 0: case 1: chaos_send(false); break;
        case 2: if (g_chaos.sent < CHAOS_CALLS - 50) chaos_send(true); break;
        case 3: (void)mcp_client_step(g_chaos.c, NULL, 0); break;
        case 4: (void)mcp_client_wait(g_chaos.c, 0); break;
        case 5: if (g_chaos.sent) (void)mcp_client_cancel(g_chaos.c, g_chaos.id[dice((unsigned)g_chaos.sent)], "r"); break;
        case 6: (void)mcp_client_answer(g_chaos.c, g_chaos.ask, MCP_OK, "{\"late\":1}"); break;
        case 7: (void)mcp_client_notify(g_chaos.c, "n", "{}"); break;
        case 8: if (dice(60) == 0) (void)mcp_client_close(g_chaos.c); break;
        case 9: if (dice(90) == 0) { g_chaos.freed = true; mcp_client_free(g_chaos.c); } break;
        case 10: if (dice(60) == 0) g_chaos.p->eof = true; break;
        case 11: if (dice(60) == 0) g_chaos.p->deaf = true; break;
        default: chaos_say(); break;
        }
        if (g_chaos.freed) break;
    }
    g_chaos.depth--;
}

TEST(chaos)
{
    unsigned round;
    int i, rounds = getenv("CHAOS") ? atoi(getenv("CHAOS")) : 60;
    unsigned first = getenv("CHAOS_SEED") ? (unsigned)atoi(getenv("CHAOS_SEED")) : 0;
    for (round = first; round < first + (unsigned)rounds; round++) {
        peer p;
        int before = test_failed;
        mcp_client_desc d = desc_of(&p, (int)(round % 3));
        memset(&g_chaos, 0, sizeof g_chaos);
        g_seed = round * 7919u + 17;
        g_tick = 0;
        d.on_ready = chaos_ready;
        d.on_notify = chaos_notify;
        d.on_ask = chaos_ask;
        d.capabilities = "{\"roots\":{},\"sampling\":{},\"elicitation\":{}}";
        d.now_ms = clock_ms;
        d.max_message = dice(4) ? 0 : 120;
        d.max_pending = dice(4) ? 0 : 3;
        d.probe_ms = 5;
        d.start_timeout_ms = 50;
        g_tick = 1;
        g_chaos.p = &p;
        g_chaos.c = mcp_client_new(&d);
        p.read_max = dice(3) ? 0 : 1 + dice(40);
        p.write_max = dice(3) ? 0 : 1 + dice(40);
        if (round % 3 != 2) reply(&p, 1, DISCOVER_RESULT);
        else reply(&p, 1, dice(3) ? INIT_RESULT : "{\"protocolVersion\":\"2025-03-26\"}");
        for (i = 0; i < 150 && !g_chaos.freed; i++) chaos_act(3);
        if (!g_chaos.freed) { g_chaos.freed = true; g_chaos.depth = 100; mcp_client_free(g_chaos.c); }
        EQ_INT(g_chaos.told, g_chaos.sent);
        EQ_INT(g_ready, 1);
        CHECK(p.closed);
        peer_free(&p);
        EQ_INT(g_live, 0);
        g_live = 0;
        if (test_failed != before) printf("  (round %u)\n", round);
    }
}

/* -- real children --------------------------------------------------------------------------------------------------------------------------- */

static const char *g_self;

static void out(const char *s)
{
    size_t n = strlen(s);
    while (n) {
        ssize_t k = write(1, s, n);
        if (k <= 0) _exit(9);
        s += k;
        n -= (size_t)k;
    }
}

static void child_reply(long long id, const char *result)
{
    char text[512];
    snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":%s}\n", id, result);
    out(text);
}

static void flood(int fd, size_t n)
{
    char buf[4096];
    memset(buf, 'e', sizeof buf);
    while (n >= sizeof buf) { ssize_t k = write(fd, buf, sizeof buf); if (k < 0) break; n -= (size_t)k; }
}

/* The server: reads lines until EOF; the mode says what is wrong with it. */
static int child_main(const char *mode)
{
    static char line[1 << 16];
    bool modern = has(mode, "modern");
    if (has(mode, "ignore-term")) signal(SIGTERM, SIG_IGN);
    if (has(mode, "banner")) out("Starting up...\n\n");
    if (has(mode, "die-at-start")) { fprintf(stderr, "no config\n"); return 4; }
    while (fgets(line, sizeof line, stdin)) {
        long long id = id_of(line);
        if (has(mode, "stderr-flood")) flood(2, 256 * 1024);
        if (has(line, "server/discover")) {
            if (has(mode, "exit-on-probe")) return 1;
            if (has(mode, "silent")) continue;
            if (modern) child_reply(id, DISCOVER_RESULT);
            else { char t[128]; snprintf(t, sizeof t, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"error\":{\"code\":-32601,\"message\":\"m\"}}\n", id); out(t); }
        } else if (has(line, "\"initialize\"")) { if (!has(mode, "mute")) child_reply(id, INIT_RESULT); }
        else if (has(line, "\"name\":\"boom\"")) { fprintf(stderr, "first\nboom h\xC3\xA9\n"); return 3; }
        else if (has(line, "\"name\":\"kill\"")) raise(SIGKILL);
        else if (has(line, "\"name\":\"last\"")) { child_reply(id, OK_RESULT); return 0; }
        else if (has(line, "\"name\":\"close\"")) { close(1); sleep(30); }
        else if (has(line, "\"name\":\"fork\"")) {
            if (fork() == 0) { close(0); sleep(20); _exit(0); }
            return 7;
        } else if (has(line, "\"name\":\"hang\"")) continue;
        else if (has(line, "\"name\":\"deaf\"")) sleep(30);
        else if (id >= 0) child_reply(id, OK_RESULT);
    }
    if (has(mode, "ignore-eof")) sleep(30);
    return 0;
}

static mcp_client_desc child_desc(const char **argv, const char *mode)
{
    mcp_client_desc d;
    memset(&d, 0, sizeof d);
    argv[0] = g_self;
    argv[1] = mode;
    argv[2] = NULL;
    d.name = "t";
    d.version = "1";
    d.argv = argv;
    d.grace_ms = 300;
    d.timeout_ms = 5000;
    d.probe_ms = 300;
    d.capture_stderr = true;
    d.alloc.resize = count_resize;
    d.on_ready = note_ready;
    g_ready = 0;
    return d;
}

static int64_t real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void no_children(void)
{
    EQ_INT(waitpid(-1, NULL, WNOHANG), -1);                  /* ECHILD: no zombie is left */
    EQ_INT(g_live, 0);
}

static int child_call(mcp_client *c, const char *tool, char *message, size_t cap)
{
    mcp_call k = inner_call(tool);
    const mcp_reply *r = mcp_client_call(c, &k);
    if (message) snprintf(message, cap, "%s", r->message);
    return r->status;
}

/* However short the grace, a killed child is waited for: SIGKILL works, but not at once. */
TEST(killed_without_grace)
{
    const char *argv[3];
    int i;
    for (i = 0; i < 10; i++) {
        mcp_client_desc d = child_desc(argv, "serve-ignore-term-ignore-eof");
        mcp_client *c;
        d.grace_ms = i % 2 ? 1 : -1;
        c = mcp_client_new(&d);
        EQ_INT(child_call(c, "x", NULL, 0), MCP_OK);
        mcp_client_free(c);
        no_children();
    }
}

/* A client that finds no memory any more, from whichever allocation on, does not wait for a server that has ended long
   ago: not even once for the grace. */
TEST(no_memory_any_more)
{
    const char *argv[3];
    long n;
    bool failed = true;
    for (n = 1; failed && n < 200; n++) {
        mcp_client_desc d = child_desc(argv, "serve-modern");
        mcp_client *c;
        int64_t t = real_ms(), spent;
        d.grace_ms = 3000;
        g_calls = 0;
        g_fail_at = n;
        g_fail_on = true;
        c = mcp_client_new(&d);
        if (c) {
            mcp_call k = inner_call("x");
            (void)mcp_client_call(c, &k);
            mcp_client_free(c);
        }
        failed = g_calls >= n;
        g_fail_at = 0;
        g_fail_on = false;
        spent = real_ms() - t;
        CHECK(spent < 1500);
        if (spent >= 1500) printf("  from allocation %ld on: %d ms\n", n, (int)spent);
        no_children();
    }
    CHECK(n > 5 && !failed);
}

TEST(children)                                                                         /* D61 D63 */
{
    static const char *const modes[] = { "serve-legacy", "serve-modern", "serve-banner", "serve-silent", "serve-exit-on-probe", "serve-stderr-flood", "serve-modern-stderr-flood" };
    const char *argv[3];
    size_t i;
    for (i = 0; i < sizeof modes / sizeof *modes; i++) {
        mcp_client_desc d = child_desc(argv, modes[i]);
        mcp_client *c = mcp_client_new(&d);
        argv[0] = argv[1] = "gone";                          /* copied: not used any more */
        EQ_INT(child_call(c, "x", NULL, 0), MCP_OK);
        EQ_INT(mcp_client_era(c), has(modes[i], "modern") ? MCP_ERA_MODERN : MCP_ERA_LEGACY);
        EQ_INT(child_call(c, "x", NULL, 0), MCP_OK);
        EQ_INT(g_ready, 1);
        mcp_client_free(c);
        no_children();
    }
}

/* How a server can go in a call, and what the caller reads. */
static void death(const char *mode, const char *tool, int status, const char *word, int most_ms)
{
    const char *argv[3];
    char message[512];
    mcp_client_desc d = child_desc(argv, mode);
    mcp_client *c = mcp_client_new(&d);
    int64_t t = real_ms();
    result others[2];
    mcp_call k;
    k = tool_call("hang", NULL, &others[0]);
    (void)mcp_client_send(c, &k);
    EQ_INT(child_call(c, tool, message, sizeof message), status);
    CHECK(has(message, word));
    CHECK(real_ms() - t < most_ms);
    if (status != MCP_OK) {
        EQ_INT(child_call(c, "x", message, sizeof message), status);    /* and so does all that comes later */
        CHECK(has(message, word));
        CHECK(has(mcp_client_error(c), word));
        EQ_INT(others[0].calls, 1);
        EQ_INT(others[0].status, status);
    }
    mcp_client_free(c);
    EQ_INT(others[0].calls, 1);
    no_children();
}

TEST(deaths)
{
    death("serve", "boom", MCP_ERR_CLOSED, "exited with status 3; its last words: first\nboom h\xC3\xA9", 1500);
    death("serve", "kill", MCP_ERR_CLOSED, "was killed by signal 9", 1500);
    death("serve", "last", MCP_OK, "", 1500);
    death("serve", "close", MCP_ERR_CLOSED, "closed the connection", 1500);
    death("serve", "fork", MCP_ERR_CLOSED, "exited with status 7", 2500);
    death("serve-die-at-start", "x", MCP_ERR_CLOSED, "status 4; its last words: no config", 2500);
    death("serve-modern", "boom", MCP_ERR_CLOSED, "status 3", 1500);
}

TEST(spawn_failures)
{
    static const char *const missing[] = { "no-such-command-xyz", NULL }, *const dir[] = { "/", NULL }, *const none[] = { NULL }, *const cat[] = { "cat", NULL };
    mcp_client_desc d;
    mcp_client *c;
    mcp_call k = inner_call("x");
    int i;
    for (i = 0; i < 4; i++) {
        memset(&d, 0, sizeof d);
        d.name = d.version = "x";
        d.argv = i == 0 ? missing : i == 1 ? dir : i == 2 ? none : cat;
        if (i == 3) d.cwd = "/no/such";
        d.on_ready = note_ready;
        d.alloc.resize = count_resize;
        g_ready = 0;
        c = mcp_client_new(&d);
        CHECK(c != NULL);
        EQ_INT(g_ready, 0);
        EQ_INT(mcp_client_step(c, NULL, 0), MCP_ERR_SPAWN);
        EQ_INT(g_ready, 1);
        EQ_INT(g_ready_status, MCP_ERR_SPAWN);
        EQ_INT(mcp_client_call(c, &k)->status, MCP_ERR_SPAWN);
        if (i == 0) CHECK(has(mcp_client_error(c), "no-such-command-xyz"));
        if (i == 3) CHECK(has(mcp_client_error(c), "/no/such"));
        EQ_INT(mcp_client_timeout(c), -1);
        EQ_INT(mcp_client_pollfds(c, NULL, 0), 0);
        mcp_client_free(c);
        no_children();
    }
}

static void shutdown_row(const char *mode, int how, int least, int most)
{
    const char *argv[3];
    mcp_client_desc d = child_desc(argv, mode);
    mcp_client *c = mcp_client_new(&d);
    mcp_call k = inner_call("x");
    int64_t t;
    int i, status = MCP_OK;
    EQ_INT(child_call(c, "x", NULL, 0), MCP_OK);
    t = real_ms();
    if (how == 1) {                                          /* without blocking */
        EQ_INT(mcp_client_close(c), MCP_OK);
        EQ_INT(mcp_client_close(c), MCP_OK);
        EQ_INT(mcp_client_send(c, &k), 0);
        for (i = 0; i < 1000 && status == MCP_OK; i++) {
            int64_t before = real_ms();
            status = mcp_client_step(c, NULL, 0);
            CHECK(real_ms() - before < 100);
            usleep(2000);
        }
        EQ_INT(status, MCP_ERR_CLOSED);
        EQ_INT(mcp_client_timeout(c), -1);
        EQ_INT(waitpid(-1, NULL, WNOHANG), -1);
    }
    mcp_client_free(c);
    t = real_ms() - t;
    if (t < least || t > most) printf("  %s: %d ms\n", mode, (int)t);
    CHECK(t >= least && t <= most);
    no_children();
}

TEST(shutdown_steps)
{
    int how;
    for (how = 0; how < 2; how++) {
        shutdown_row("serve", how, 0, 250);
        shutdown_row("serve-modern-ignore-eof", how, 300, 590);
        shutdown_row("serve-ignore-eof-ignore-term", how, 600, 1200);
    }
}

TEST(start_timeout)
{
    const char *argv[3];
    mcp_client_desc d = child_desc(argv, "serve-mute");
    mcp_client *c;
    mcp_call k = inner_call("x");
    int64_t t = real_ms();
    d.start_timeout_ms = 400;
    c = mcp_client_new(&d);
    EQ_INT(mcp_client_call(c, &k)->status, MCP_ERR_TIMEOUT);
    EQ_INT(g_ready_status, MCP_ERR_TIMEOUT);
    t = real_ms() - t;
    CHECK(t >= 390 && t < 700);
    mcp_client_free(c);
    no_children();
}

/* The server stops reading while much is queued: the call times out and the end is bounded. */
TEST(deaf_child)
{
    const char *argv[3];
    size_t n = 4 << 20;
    char *args = (char *)malloc(n + 16);
    mcp_client_desc d = child_desc(argv, "serve");
    mcp_client *c = mcp_client_new(&d);
    mcp_call k = inner_call("deaf");
    int64_t t;
    memcpy(args, "{\"t\":\"", 6);
    memset(args + 6, 'x', n);
    memcpy(args + 6 + n, "\"}", 3);
    EQ_INT(child_call(c, "x", NULL, 0), MCP_OK);
    k.timeout_ms = 50;
    EQ_INT(mcp_client_call(c, &k)->status, MCP_ERR_TIMEOUT);
    k.args = args;
    EQ_INT(mcp_client_call(c, &k)->status, MCP_ERR_TIMEOUT);
    CHECK(mcp_client_stats(c).queued > n / 2);
    t = real_ms();
    mcp_client_free(c);
    CHECK(real_ms() - t < 1500);
    free(args);
    no_children();
}

static size_t g_err_bytes;
static void count_stderr(mcp_client *c, const char *bytes, size_t n, void *user) { (void)bytes; (void)user; g_err_bytes += n; strike(c, IN_STDERR); }

TEST(stderr_handed_on)
{
    const char *argv[3];
    mcp_client_desc d = child_desc(argv, "serve-stderr-flood");
    mcp_client *c;
    mcp_call k = tool_call("x", NULL, &g_others[1]);
    d.capture_stderr = false;
    d.on_stderr = count_stderr;
    g_where = -1;
    g_err_bytes = 0;
    c = mcp_client_new(&d);
    EQ_INT(child_call(c, "x", NULL, 0), MCP_OK);
    CHECK(g_err_bytes >= 3 * 256 * 1024);
    mcp_client_free(c);
    no_children();
    c = mcp_client_new(&d);                                  /* and free inside */
    g_where = IN_STDERR;
    g_how = 0;
    (void)mcp_client_send(c, &k);
    EQ_INT(child_call(c, "x", NULL, 0), MCP_ERR_CLOSED);
    EQ_INT(g_others[1].calls, 1);
    no_children();
}

/* A killed process whose parent has gone too stays a zombie where nobody reaps: that counts as gone. */
static bool is_gone(long pid)
{
    char path[64], text[256] = "";
    FILE *f;
    if (kill((pid_t)pid, 0) != 0) return true;
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    f = fopen(path, "r");
    if (f && !fgets(text, sizeof text, f)) text[0] = 0;
    if (f) fclose(f);
    return has(text, ") Z ");
}

/* The number that a shell writes into a file, which it may do after its server has answered. The file goes. */
static long pid_in(const char *path)
{
    char text[64] = "";
    int i;
    for (i = 0; i < 500 && !strchr(text, '\n'); i++) {
        FILE *f = fopen(path, "r");
        if (f && !fgets(text, sizeof text, f)) text[0] = 0;
        if (f) fclose(f);
        usleep(10000);
    }
    unlink(path);
    return atol(text);
}

/* A wrapper whose child is the real server: the group ends as a whole. */
TEST(wrapper)
{
    const char *argv[6];
    char path[64];
    mcp_client_desc d = child_desc(argv, NULL);
    mcp_client *c;
    long pid;
    snprintf(path, sizeof path, "/tmp/mcp-test-client-%ld", (long)getpid());
    argv[0] = "sh";
    argv[1] = "-c";
    argv[3] = g_self;
    argv[4] = path;
    argv[5] = NULL;
    argv[2] = "exec 3<&0; \"$0\" serve-ignore-eof <&3 & echo $! > \"$1\"; wait; true";
    c = mcp_client_new(&d);
    EQ_INT(child_call(c, "x", NULL, 0), MCP_OK);
    pid = pid_in(path);
    CHECK(pid > 0);
    mcp_client_free(c);
    usleep(50000);
    CHECK(pid > 0 && is_gone(pid));
    no_children();
}

/* The same in a program that ignores SIGCHLD, where the wrapper is gone without a trace. The real server does not
   care for the end of its input, nor (but in the last row) for SIGTERM. */
static void wrapper_row(const char *script, const char *tool, int status)
{
    const char *argv[6];
    char path[64];
    mcp_client_desc d = child_desc(argv, NULL);
    mcp_client *c;
    long pid;
    int i;
    snprintf(path, sizeof path, "/tmp/mcp-test-client-%ld", (long)getpid());
    argv[0] = "sh";
    argv[1] = "-c";
    argv[2] = script;
    argv[3] = g_self;
    argv[4] = path;
    argv[5] = NULL;
    c = mcp_client_new(&d);
    EQ_INT(child_call(c, "x", NULL, 0), MCP_OK);
    pid = pid_in(path);
    CHECK(pid > 0);
    if (tool) EQ_INT(child_call(c, tool, NULL, 0), status);
    mcp_client_free(c);
    for (i = 0; i < 100 && !is_gone(pid); i++) usleep(10000);
    CHECK(pid > 0 && is_gone(pid));
    if (pid > 0) (void)kill((pid_t)pid, SIGKILL);
    EQ_INT(g_live, 0);
}

TEST(wrapper_without_a_zombie)
{
    signal(SIGCHLD, SIG_IGN);
    wrapper_row("exec 3<&0; \"$0\" serve-ignore-eof-ignore-term <&3 & echo $! > \"$1\"; wait; true", NULL, 0);
    wrapper_row("exec 3<&0; \"$0\" serve-ignore-eof-ignore-term <&3 & echo $! > \"$1\"; sleep 1", "hang", MCP_ERR_CLOSED);
    wrapper_row("exec 3<&0; \"$0\" serve-ignore-eof <&3 & echo $! > \"$1\"; wait; true", NULL, 0);
    signal(SIGCHLD, SIG_DFL);
    no_children();
}

/* The loop of a program of one's own. */
TEST(own_loop)
{
    const char *argv[3];
    mcp_client_desc d = child_desc(argv, "serve-modern");
    mcp_client *c = mcp_client_new(&d);
    result r;
    mcp_call k = tool_call("x", NULL, &r);
    int i;
    CHECK(mcp_client_send(c, &k) != 0);
    for (i = 0; i < 200 && !r.calls; i++) {
        struct pollfd fds[4];
        int n = mcp_client_pollfds(c, fds, 4);
        CHECK(n >= 1 && n <= 4);
        (void)poll(fds, (nfds_t)n, mcp_client_timeout(c));
        EQ_INT(mcp_client_step(c, fds, n), MCP_OK);
    }
    EQ_INT(r.status, MCP_OK);
    CHECK(i < 50);
    EQ_INT(mcp_client_timeout(c), -1);                       /* idle: nothing wakes up */
    for (i = 0; i < 2; i++) {                                /* too little room: slower, but not deaf */
        struct pollfd one;
        int n, rounds = 0;
        memset(&r, 0, sizeof r);
        CHECK(mcp_client_send(c, &k) != 0);
        for (; rounds < 200 && !r.calls; rounds++) {
            n = mcp_client_pollfds(c, &one, i);
            CHECK(n >= 2);
            CHECK(mcp_client_timeout(c) >= 0 && mcp_client_timeout(c) <= 20);
            (void)poll(&one, (nfds_t)i, mcp_client_timeout(c));
            EQ_INT(mcp_client_step(c, &one, i), MCP_OK);
        }
        EQ_INT(r.status, MCP_OK);
    }
    EQ_INT(mcp_client_pollfds(c, NULL, 0), 2);
    mcp_client_free(c);
    no_children();
}

int main(int argc, char **argv)
{
    if (argc > 1) return child_main(argv[1]);
    g_self = argv[0];
    RUN(modern_shape);
    RUN(legacy_shape);
    RUN(verdicts);
    RUN(refused_and_named);
    RUN(silence);
    RUN(initialize);
    RUN(offered_again_once);
    RUN(params);
    RUN(answers);
    RUN(batches);
    RUN(timeouts);
    RUN(timeouts_of_all_kinds);
    RUN(answered_in_time);
    RUN(progress);
    RUN(limits);
    RUN(stream_ends);
    RUN(first_reason_holds);
    RUN(server_that_does_not_read);
    RUN(lists);
    RUN(list_ends);
    RUN(questions);
    RUN(open_questions);
    RUN(ping_flood);
    RUN(ping_flood_unread);
    RUN(nested);
    RUN(depth);
    RUN(calls_inside_a_batch);
    RUN(replies_live);
    RUN(strikes);
    RUN(free_calls_back);
    RUN(many);
    RUN(byte_by_byte);
    RUN(back_pressure);
    RUN(no_memory);
    RUN(arguments);
    RUN(logging);
    RUN(posts);
    RUN(our_server);
    RUN(chaos);
    RUN(children);
    RUN(killed_without_grace);
    RUN(no_memory_any_more);
    RUN(deaths);
    RUN(spawn_failures);
    RUN(shutdown_steps);
    RUN(start_timeout);
    RUN(deaf_child);
    RUN(stderr_handed_on);
    RUN(wrapper);
    RUN(wrapper_without_a_zombie);
    RUN(own_loop);
    return test_end();
}
