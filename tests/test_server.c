/* The server core, driven through streams in memory with a clock of the test's own. */
/* Behind the name of a test may stand the rows (B01 ...) that it covers of the catalogue which tests/faults.sh runs the cases of. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "test.h"
#include "server_peer.h"

/* -- handlers ---------------------------------------------------------------------------------------------------------- */

static void echo(mcp_req *r, void *user)
{
    (void)user;
    mcp_req_text(r, mcp_arg_str(r, "text", "?"));
}

static void add(mcp_server *s, const char *name, mcp_req_fn fn)
{
    mcp_tool t;
    memset(&t, 0, sizeof t);
    t.name = name;
    t.fn = fn;
    EQ_INT(mcp_server_tool(s, &t), MCP_OK);
}

static const char *call(peer *p, const char *name, const char *args)
{
    static char line[4096];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":%s}}", name, args);
    return say(p, line);
}

static const char *call_modern(peer *p, const char *name, const char *args)
{
    static char line[4096];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":%s," META "}}", name, args);
    return say(p, line);
}

/* -- handshake and eras -------------------------------------------------------------------------------------------------- */

TEST(initialize_negotiates)                                                    /* B53 B54 B58 D53 */
{
    static const char *const versions[][2] = {
        { "\"2025-11-25\"", "2025-11-25" }, { "\"2025-06-18\"", "2025-06-18" }, { "\"2025-03-26\"", "2025-03-26" }, { "\"2024-11-05\"", "2024-11-05" },
        { "\"2026-07-28\"", "2025-11-25" }, { "\"1999-01-01\"", "2025-11-25" }, { "\"2099-01-01\"", "2025-11-25" }, { "\"\"", "2025-11-25" }, { "7", "2025-11-25" }, { "null", "2025-11-25" },
    };
    mcp_server *s = server();
    peer p = join(s);
    size_t i;
    char line[256], want[64];
    add(s, "echo", echo);
    EQ_STR(say(&p, INIT), J({"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"srv","version":"1"}}}) "\n");
    for (i = 0; i < sizeof versions / sizeof *versions; i++) {
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":%s}}", versions[i][0]);
        snprintf(want, sizeof want, "\"protocolVersion\":\"%s\"", versions[i][1]);
        CHECK(strstr(say(&p, line), want) != NULL);
    }
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"initialize"})), "\"result\"") != NULL);
    end(s, &p);
}

TEST(before_initialize)                                                    /* B56 B57 B58 B23 B17 */
{
    mcp_server *s = server();
    peer p = join(s);
    add(s, "echo", echo);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":1,"method":"ping"})), J({"jsonrpc":"2.0","id":1,"result":{}}) "\n");
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/list"})), "\"code\":-32602") != NULL);
    EQ_STR(say(&p, INITIALIZED), "");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"notifications/whatever","params":[1]})), "");
    CHECK(strstr(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}"), "\"name\":\"echo\"") != NULL);
    legacy(&p);
    CHECK(strstr(call(&p, "echo", "{\"text\":\"a\"}"), "\"text\":\"a\"") != NULL);
    CHECK(strstr(call_modern(&p, "echo", "{\"text\":\"b\"}"), "\"resultType\":\"complete\"") != NULL);
    CHECK(strstr(call(&p, "echo", "{\"text\":\"c\"}"), "\"text\":\"c\"") != NULL);
    end(s, &p);
}

TEST(one_era_only)                                                                 /* B57 D54 D18 */
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    memset(&d, 0, sizeof d);
    d.era = MCP_ERA_MODERN;
    s = server_with(&d);
    p = join(s);
    CHECK(strstr(say(&p, INIT), "2026-07-28") != NULL);
    CHECK(strstr(p.text, "\"error\"") != NULL);
    CHECK(strstr(p.text, "\"requested\":\"2025-11-25\"") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":7}})), "\"requested\":\"\"") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"a version that is far too long to be one"}})), "\"requested\":\"\"") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/list"})), "-32602") != NULL);
    CHECK(strstr(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}"), "\"result\"") != NULL);
    end(s, &p);

    d.era = MCP_ERA_LEGACY;
    s = server_with(&d);
    p = join(s);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/list"})), "-32600") != NULL);
    legacy(&p);
    CHECK(strstr(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" META "}}"), "-32601") != NULL);
    end(s, &p);
}

TEST(modern_metadata)                                                          /* D51 D52 D55 B23 */
{
    static const struct { const char *params; const char *code; } t[] = {
        { "", "-32602" },
        { ",\"params\":{}", "-32602" },
        { ",\"params\":{\"_meta\":7}", "-32602" },
        { ",\"params\":{\"_meta\":{}}", "-32602" },
        { ",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}}", "-32602" },
        { ",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":20260728,\"io.modelcontextprotocol/clientCapabilities\":{}}}", "-32602" },
        { ",\"params\":{\"_meta\":{\"io.modelcontextprotocol/clientCapabilities\":{}}}", "-32602" },
        { ",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":[]}}", "-32602" },
        { ",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{},\"io.modelcontextprotocol/clientInfo\":7}}", "-32602" },
        { ",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{},\"io.modelcontextprotocol/logLevel\":\"loud\"}}", "-32602" },
        { ",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"1900-01-01\",\"io.modelcontextprotocol/clientCapabilities\":{}}}", "-32022" },
        { ",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2025-11-25\",\"io.modelcontextprotocol/clientCapabilities\":{}}}", "-32022" },
    };
    mcp_server *s = server();
    peer p = join(s);
    char line[512];
    size_t i;
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"method\":\"server/discover\"%s}", t[i].params);
        CHECK(strstr(say(&p, line), t[i].code) != NULL);
        CHECK(strstr(p.text, "\"id\":9007199254740993") != NULL);
    }
    CHECK(strstr(p.text, "\"data\":{\"supported\":[\"2026-07-28\"],\"requested\":\"2025-11-25\"}") != NULL);
    for (i = 0; i < 2; i++) {                                   /* what is no object has no members, however long it is */
        static char big[200200];
        size_t n = (size_t)sprintf(big, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":%s", i ? "[" : "\"");
        for (; n < 200000; n += 2) memcpy(big + n, i ? "1," : "11", 2);
        strcpy(big + n, i ? "1]}}" : "\"}}");
        CHECK(strstr(say(&p, big), "params._meta is not an object") != NULL);
    }
    EQ_STR(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":\"d\",\"method\":\"server/discover\",\"params\":{" META "}}"),
           "{\"jsonrpc\":\"2.0\",\"id\":\"d\",\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{},\"ttlMs\":0,\"cacheScope\":\"private\",\"resultType\":\"complete\"," SERVER_INFO "}}\n");
    for (i = 0; i < 3; i++) {
        static const char *const gone[] = { "ping", "initialize", "logging/setLevel" };
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{" META "}}", gone[i]);
        CHECK(strstr(say(&p, line), "-32601") != NULL);
    }
    CHECK(strstr(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}"), "-32601") != NULL);      /* no tools, not announced */
    end(s, &p);
}

TEST(identity_and_capabilities)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    memset(&d, 0, sizeof d);
    d.title = "T";
    d.description = "D";
    d.website = "https://w";
    d.icons = "[{\"src\": \"https://i\"}]";
    d.instructions = "Say \"hi\"\n";
    d.capabilities = MCP_JSON({"logging": {}, "extensions": {"io.x/y": {}}});
    d.ttl_ms = 5000;
    d.scope = MCP_SCOPE_PUBLIC;
    s = server_with(&d);
    p = join(s);
    add(s, "echo", echo);
    CHECK(strstr(say(&p, INIT), "\"capabilities\":{\"tools\":{\"listChanged\":true},\"logging\":{},\"extensions\":{\"io.x/y\":{}}},\"serverInfo\":{\"name\":\"srv\",\"version\":\"1\",\"title\":\"T\","
          "\"description\":\"D\",\"websiteUrl\":\"https://w\",\"icons\":[{\"src\":\"https://i\"}]},\"instructions\":\"Say \\\"hi\\\"\\n\"") != NULL);
    CHECK(strstr(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}"), "\"ttlMs\":5000,\"cacheScope\":\"public\"") != NULL);
    end(s, &p);
    d.capabilities = "[]";
    s = server_with(&d);
    EQ_INT(mcp_server_step(s, NULL, 0), MCP_ERR_ARGUMENT);
    EQ_STR(mcp_server_error(s), "server: capabilities is not an object");
    mcp_server_free(s);
}

/* -- envelope -------------------------------------------------------------------------------------------------------------- */

TEST(bad_lines)                                                /* B15 B16 B17 B18 B21 B25 B29 B37 */
{
    static const char *const silent[] = {
        "", "   ", "\t\r", J({"jsonrpc":"2.0","method":"notifications/foo"}), J({"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}),
        J({"jsonrpc":"2.0","id":1,"result":{}}), J({"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}), J({"jsonrpc":"2.0","method":"notifications/x","params":7}),
        J({"jsonrpc":"2.0","method":"notifications/cancelled"}), J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}),
    };
    mcp_server *s = server();
    peer p = join(s);
    size_t i;
    add(s, "echo", echo);
    legacy(&p);
    for (i = 0; i < sizeof silent / sizeof *silent; i++) EQ_STR(say(&p, silent[i]), "");
    EQ_STR(say(&p, "{bad"), J({"jsonrpc":"2.0","error":{"code":-32700,"message":"invalid JSON at byte 1"}}) "\n");
    CHECK(strstr(say(&p, "\xff\xfe"), "-32700") != NULL);
    EQ_STR(say(&p, "[]"), J({"jsonrpc":"2.0","error":{"code":-32600,"message":"an empty batch"}}) "\n");
    CHECK(strstr(say(&p, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]"), "-32600") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"nope"})), "-32601") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"notifications/initialized"})), "-32601") != NULL);
    EQ_STR(say(&p, "\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r"), J({"jsonrpc":"2.0","id":1,"result":{}}) "\n");
    CHECK(mcp_server_stats(s).bad >= 4);
    end(s, &p);
}

TEST(ids_come_back_as_they_were)                                       /* B01 B02 B03 B04 B07 B19 */
{
    static const char *const ids[] = { "0", "-1", "18446744073709551615", "123456789012345678901234567890", "-9223372036854775808", "\"\"", "\"1\"", "\"a\\\"\\n\\u0000\"", "\"\\ud800\"" };
    mcp_server *s = server();
    peer p = join(s);
    char line[256], want[256];
    size_t i;
    for (i = 0; i < sizeof ids / sizeof *ids; i++) {
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", ids[i]);
        snprintf(want, sizeof want, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}\n", ids[i]);
        EQ_STR(say(&p, line), want);
    }
    EQ_STR(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":\"\\u00e9\\/\",\"method\":\"ping\"}"), "{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\xa9/\",\"result\":{}}\n");
    legacy(&p);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":0,"method":"nope"})), J({"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"Method not found: nope"}}) "\n");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"nope"})), "");                 /* no id is not the id 0 */
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"ping"})), "");
    end(s, &p);
}

/* Params of no type that belongs there, for every method: an error with the id, never a crash, and nothing that hangs. */
TEST(params_of_every_type)                                                     /* B30 B31 B32 B33 */
{
    static const char *const methods[] = { "initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "resources/subscribe",
        "resources/unsubscribe", "prompts/list", "prompts/get", "completion/complete", "logging/setLevel", "server/discover", "subscriptions/listen", "nope" };
    static const char *const types[] = { "12345", "-1", "\"x\"", "[1]", "true", "null", "1e400" };
    static const char *const names[] = { "7", "null", "{}", "[\"echo\"]", "true" };
    static const char *const needs[] = { "tools/call", "prompts/get", "resources/read", "completion/complete", "resources/subscribe" };
    mcp_server *s = server();
    mcp_resource d;
    mcp_prompt q;
    peer p = join(s);
    char line[512];
    size_t i, j;
    add(s, "echo", echo);
    memset(&d, 0, sizeof d);
    d.uri = "x:1"; d.data = "text";
    EQ_INT(mcp_server_resource(s, &d), MCP_OK);
    memset(&q, 0, sizeof q);
    q.name = "echo"; q.fn = q.complete = echo;
    EQ_INT(mcp_server_prompt(s, &q), MCP_OK);
    legacy(&p);
    for (i = 0; i < sizeof methods / sizeof *methods; i++) {
        for (j = 0; j < sizeof types / sizeof *types; j++) {
            snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":%s}", methods[i], types[j]);
            CHECK(strstr(say(&p, line), "\"id\":7,\"error\":{\"code\":-32602") != NULL);
            snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":%s}", methods[i], types[j]);
            EQ_STR(say(&p, line), "");
        }
    }
    for (i = 0; i < sizeof needs / sizeof *needs; i++) {            /* without params; and what it is about is no string */
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\"}", needs[i]);
        CHECK(strstr(say(&p, line), "\"code\":-32602") != NULL);
        for (j = 0; j < sizeof names / sizeof *names; j++) {
            snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{\"name\":%s,\"uri\":%s,\"ref\":%s,\"argument\":%s}}", needs[i], names[j], names[j], names[j], names[j]);
            CHECK(strstr(say(&p, line), "\"code\":-32602") != NULL);
        }
    }
    for (i = 0; i < 2; i++) {                                       /* arguments: none are {}, anything but an object is refused */
        const char *method = i ? "prompts/get" : "tools/call";
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{\"name\":\"echo\"}}", method);
        CHECK(strstr(say(&p, line), "\"result\"") != NULL);
        for (j = 0; j < sizeof types / sizeof *types; j++) {
            snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"%s\",\"params\":{\"name\":\"echo\",\"arguments\":%s}}", method, types[j]);
            CHECK(strstr(say(&p, line), "\"code\":-32602") != NULL);
        }
    }
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":8,"method":"tools/list"})), "\"tools\":[") != NULL);       /* lists need none */
    end(s, &p);
}

/* Only a line feed ends a message: not the separators that Unicode knows. */
TEST(line_separators)
{
    mcp_server *s = server();
    peer p = join(s);
    add(s, "echo", echo);
    legacy(&p);
    CHECK(strstr(call(&p, "echo", "{\"text\":\"a\xe2\x80\xa8 b\xe2\x80\xa9 c\xc2\x85 d\\u000b\"}"), "a\xe2\x80\xa8 b\xe2\x80\xa9 c\xc2\x85 d\\u000b") != NULL);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":1,"method":"ping"}) "\x0b"), J({"jsonrpc":"2.0","error":{"code":-32700,"message":"invalid JSON at byte 40"}}) "\n");
    end(s, &p);
}

TEST(framing)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    static const char two[] = J({"jsonrpc":"2.0","id":1,"method":"ping"}) "\r\n\n" J({"jsonrpc":"2.0","id":2,"method":"ping"}) "\n";
    static const char last[] = J({"jsonrpc":"2.0","id":3,"method":"ping"});
    size_t i;
    memset(&d, 0, sizeof d);
    d.max_message = 100;
    s = server_with(&d);
    p = join(s);
    for (i = 0; i < sizeof two - 1; i++) { write_all(&p, two + i, 1); (void)mcp_server_step(s, NULL, 0); }
    EQ_STR(hear(&p), J({"jsonrpc":"2.0","id":1,"result":{}}) "\n" J({"jsonrpc":"2.0","id":2,"result":{}}) "\n");
    for (i = 0; i < 50000; i++) write_all(&p, "x", 1);         /* far over the limit: dropped up to its end, told once */
    CHECK(strstr(say(&p, ""), "-32600") != NULL);
    EQ_INT(mcp_server_stats(s).oversize, 1);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":4,"method":"ping"})), J({"jsonrpc":"2.0","id":4,"result":{}}) "\n");
    for (i = 100; i <= 101; i++) {                              /* a whole line of just the limit is taken, one byte more is not */
        char line[128];
        memset(line, ' ', sizeof line);
        memcpy(line, last, sizeof last - 2);
        line[i - 1] = '}';
        line[i] = 0;
        CHECK(strstr(say(&p, line), i == 100 ? "\"id\":3,\"result\"" : "-32600") != NULL);
        EQ_INT(mcp_server_stats(s).oversize, i == 100 ? 1 : 2);
    }
    write_all(&p, last, sizeof last - 1);
    EQ_STR(hear(&p), "");
    p.io.close(p.io.user);                                      /* the end of the stream ends the line; the answer has no reader */
    for (i = 0; i < 5; i++) (void)mcp_server_step(s, NULL, 0);
    EQ_INT(mcp_server_stats(s).messages_in, 5);
    EQ_INT(mcp_server_stats(s).peers, 0);
    mcp_server_free(s);
    free(p.text);
}

/* -- tools ------------------------------------------------------------------------------------------------------------------ */

static void nothing(mcp_req *r, void *user) { (void)r; (void)user; }
static void twice(mcp_req *r, void *user)
{
    (void)user;
    EQ_INT(mcp_req_text(r, "one"), MCP_OK);
    EQ_INT(mcp_req_text(r, "two"), MCP_ERR_MISUSE);
    EQ_INT(mcp_req_error(r, 1, "x", NULL), MCP_ERR_MISUSE);
    EQ_INT(mcp_req_progress(r, 1, 0, NULL), MCP_ERR_MISUSE);
    EQ_INT(mcp_req_defer(r), 0);
}
static void failing(mcp_req *r, void *user) { (void)user; mcp_req_failf(r, "no %s: %d", "luck", 7); }
static void error_data(mcp_req *r, void *user)
{
    (void)user;
    EQ_INT(mcp_req_error(r, -5, "bad", "{oops"), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_error(r, -5, "bad", "{\"uri\" : \"x\"}"), MCP_OK);
}
static void pieces(mcp_req *r, void *user)
{
    (void)user;
    mcp_req_add_text(r, "a\0b", 3);
    mcp_req_add_image(r, "image/png", "\x89PNG", 4);
    mcp_req_add_audio(r, "audio/wav", "", 0);
    mcp_req_add_resource(r, "f:///a", "text/plain", "hi", 2, false);
    mcp_req_add_resource(r, "f:///b", NULL, "\xff", 1, true);
    mcp_req_add_link(r, "f:///c", "c", NULL);
    mcp_req_add_json(r, "{\"type\" : \"text\", \"text\" : \"z\"}", MCP_NTS);
    EQ_INT(mcp_req_done(r), MCP_OK);
}
static void structured(mcp_req *r, void *user)
{
    EQ_INT(mcp_req_structured(r, user ? "[1, 2]" : "{\"n\" : 1.0}", MCP_NTS), MCP_OK);
    mcp_req_done(r);
}
static void fields(mcp_req *r, void *user)
{
    mcp_writer *w = mcp_req_begin(r);
    (void)user;
    mcp_put_array(w, "content");
    mcp_put_end(w);
    mcp_put_object(w, "_meta");
    mcp_put_int(w, "k", 1);
    mcp_put_end(w);
    EQ_INT(mcp_req_end(r), MCP_OK);
}
static void unbalanced(mcp_req *r, void *user)
{
    mcp_writer *w = mcp_req_begin(r);
    (void)user;
    mcp_put_array(w, "content");
    EQ_INT(mcp_req_end(r), MCP_ERR_ARGUMENT);
}
static void raw_result(mcp_req *r, void *user)
{
    (void)user;
    EQ_INT(mcp_req_result(r, "[]", 2), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_result(r, "{", 1), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_result(r, "{\"content\": [], \"resultType\": \"complete\"}", MCP_NTS), MCP_OK);
}
static void long_text(mcp_req *r, void *user) { (void)user; mcp_req_textf(r, "%1000d", 7); }
static void nan_piece(mcp_req *r, void *user)
{
    mcp_writer *w = mcp_req_begin(r);
    (void)user;
    mcp_put_num(w, "x", 1e308 * 10);
    CHECK(mcp_req_end(r) != MCP_OK);
}

TEST(tool_results)                                                                         /* B63 */
{
    mcp_server *s = server();
    peer p = join(s);
    mcp_tool t;
    add(s, "echo", echo);
    add(s, "nothing", nothing);
    add(s, "twice", twice);
    add(s, "failing", failing);
    add(s, "error", error_data);
    add(s, "pieces", pieces);
    add(s, "object", structured);
    memset(&t, 0, sizeof t);
    t.name = "array"; t.fn = structured; t.user = s;
    mcp_server_tool(s, &t);
    add(s, "fields", fields);
    add(s, "unbalanced", unbalanced);
    add(s, "raw", raw_result);
    add(s, "long", long_text);
    add(s, "nan", nan_piece);
    legacy(&p);
    EQ_STR(call(&p, "echo", "{\"text\":\"h\\u00e9\\n\"}"), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"h\xc3\xa9\\n\"}]}}\n");
    EQ_STR(call_modern(&p, "echo", "{\"text\":\"x\"}"), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"resultType\":\"complete\"," SERVER_INFO "}}\n");
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"echo"}})), "\"text\":\"?\"") != NULL);
    CHECK(strstr(call(&p, "nope", "{}"), "{\"code\":-32602,\"message\":\"Unknown tool: nope\"}") != NULL);
    CHECK(strstr(call(&p, "echo", "[]"), "-32602") != NULL);
    CHECK(strstr(call(&p, "echo", "null"), "-32602") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":6,"method":"tools/call"})), "-32602") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":{}}})), "-32602") != NULL);
    CHECK(strstr(call(&p, "nothing", "{}"), "{\"code\":-32603,\"message\":\"the handler did not answer\"}") != NULL);
    EQ_STR(mcp_server_error(s), "the handler of tools/call nothing did not answer");
    CHECK(strstr(call(&p, "twice", "{}"), "one") != NULL);
    CHECK(strstr(p.text, "two") == NULL);
    EQ_STR(call(&p, "failing", "{}"), J({"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"no luck: 7"}],"isError":true}}) "\n");
    EQ_STR(call(&p, "error", "{}"), J({"jsonrpc":"2.0","id":5,"error":{"code":-5,"message":"bad","data":{"uri":"x"}}}) "\n");
    EQ_STR(call(&p, "pieces", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\\u0000b\"},"
           "{\"type\":\"image\",\"data\":\"iVBORw==\",\"mimeType\":\"image/png\"},{\"type\":\"audio\",\"data\":\"\",\"mimeType\":\"audio/wav\"},"
           "{\"type\":\"resource\",\"resource\":{\"uri\":\"f:///a\",\"mimeType\":\"text/plain\",\"text\":\"hi\"}},{\"type\":\"resource\",\"resource\":{\"uri\":\"f:///b\",\"blob\":\"/w==\"}},"
           "{\"type\":\"resource_link\",\"uri\":\"f:///c\",\"name\":\"c\"},{\"type\":\"text\",\"text\":\"z\"}]}}\n");
    EQ_STR(call(&p, "object", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"n\\\":1.0}\"}],\"structuredContent\":{\"n\":1.0}}}\n");
    EQ_STR(call(&p, "array", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"[1,2]\"}]}}\n");
    CHECK(strstr(call_modern(&p, "array", "{}"), "\"structuredContent\":[1,2],\"resultType\":\"complete\"") != NULL);
    EQ_STR(call(&p, "fields", "{}"), J({"jsonrpc":"2.0","id":5,"result":{"content":[],"_meta":{"k":1}}}) "\n");
    EQ_STR(call_modern(&p, "fields", "{}"), J({"jsonrpc":"2.0","id":5,"result":{"content":[],"resultType":"complete","_meta":{"k":1,"io.modelcontextprotocol/serverInfo":{"name":"srv","version":"1"}}}}) "\n");
    CHECK(strstr(call(&p, "unbalanced", "{}"), "-32603") != NULL);
    EQ_STR(call(&p, "raw", "{}"), J({"jsonrpc":"2.0","id":5,"result":{"content":[],"resultType":"complete"}}) "\n");
    EQ_STR(call_modern(&p, "raw", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[],\"resultType\":\"complete\"," SERVER_INFO "}}\n");
    CHECK(strlen(call(&p, "long", "{}")) > 1000);
    CHECK(strstr(call(&p, "nan", "{}"), "-32603") != NULL);
    end(s, &p);
}

TEST(registration)                                                                         /* B62 */
{
    static const struct { const char *input, *output, *annotations, *extra, *error; } bad[] = {
        { "{\"type\":", NULL, NULL, NULL, "tool \"t\": inputSchema is not JSON: byte 8" },
        { "[]", NULL, NULL, NULL, "tool \"t\": inputSchema is not an object" },
        { "{\"type\":\"string\"}", NULL, NULL, NULL, "tool \"t\": inputSchema: type is not \"object\"" },
        { NULL, "7", NULL, NULL, "tool \"t\": outputSchema is not an object" },
        { NULL, NULL, "[]", NULL, "tool \"t\": annotations is not an object" },
        { NULL, NULL, NULL, "{\"name\":\"x\"}", "tool \"t\": extra: \"name\" has a field of its own" },
    };
    mcp_server *s;
    mcp_tool t;
    peer p;
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        s = server();
        memset(&t, 0, sizeof t);
        t.name = "t"; t.fn = echo; t.input_schema = bad[i].input; t.output_schema = bad[i].output; t.annotations = bad[i].annotations; t.extra = bad[i].extra;
        EQ_INT(mcp_server_tool(s, &t), MCP_ERR_ARGUMENT);
        EQ_STR(mcp_server_error(s), bad[i].error);
        EQ_INT(mcp_server_step(s, NULL, 0), MCP_ERR_ARGUMENT);      /* it sticks */
        mcp_server_free(s);
    }
    s = server();
    t.name = NULL;
    EQ_INT(mcp_server_tool(s, &t), MCP_ERR_ARGUMENT);
    EQ_STR(mcp_server_error(s), "a tool without a name");
    mcp_server_free(s);

    s = server();
    p = join(s);
    memset(&t, 0, sizeof t);
    t.name = "a"; t.title = "A"; t.description = "d"; t.fn = echo;
    t.input_schema = MCP_JSON({"properties": {"x": {"type": "number", "default": 1.50}}, "required": ["x", "y"]});
    t.output_schema = "{\"type\":\"object\"}"; t.annotations = "{\"readOnlyHint\":true}"; t.icons = "[]"; t.meta = "{\"m\":1}"; t.extra = "{\"execution\":{}}";
    EQ_INT(mcp_server_tool(s, &t), MCP_OK);
    add(s, "b", echo);
    legacy(&p);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/list"})), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"a\",\"title\":\"A\",\"description\":\"d\",\"inputSchema\":"
        J({"type":"object","properties":{"x":{"type":"number","default":1.50}},"required":["x","y"]}) ",\"outputSchema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true},"
        "\"icons\":[],\"_meta\":{\"m\":1},\"execution\":{}},{\"name\":\"b\",\"inputSchema\":{\"type\":\"object\"}}]}}\n");
    CHECK(strstr(call(&p, "a", "{\"x\":1}"), "\"text\":\"$: \\\"y\\\" is required\"}],\"isError\":true") != NULL);
    t.description = "new"; t.input_schema = t.output_schema = NULL;
    EQ_INT(mcp_server_tool(s, &t), MCP_OK);                          /* replaced, in its place */
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/list"})), "\"tools\":[{\"name\":\"a\",\"title\":\"A\",\"description\":\"new\"") != NULL);
    CHECK(strstr(call(&p, "a", "{\"text\":\"now\"}"), "now") != NULL);
    EQ_INT(mcp_server_remove(s, MCP_LIST_TOOLS, "a"), MCP_OK);
    EQ_INT(mcp_server_remove(s, MCP_LIST_TOOLS, "a"), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_server_remove(s, 3, "b"), MCP_ERR_ARGUMENT);
    CHECK(strstr(call(&p, "a", "{}"), "Unknown tool") != NULL);
    EQ_INT(mcp_server_remove(s, MCP_LIST_TOOLS, "b"), MCP_OK);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/list"})), "\"tools\":[]") != NULL);
    CHECK(strstr(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}"), "\"tools\":[]") != NULL);
    end(s, &p);
}

TEST(pages)                                                                            /* B51 B52 */
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    char name[16], line[256], cursor[64] = "";
    int i, pages = 0, seen = 0;
    static const char *const bad[] = { "\"\"", "\"t\"", "\"tg\"", "\"t0\"", "\"t01\"", "\"tffffffffffffffff\"", "7", "{}", "\"x1\"" };
    memset(&d, 0, sizeof d);
    d.page_size = 3;
    s = server_with(&d);
    p = join(s);
    for (i = 0; i < 10; i++) { snprintf(name, sizeof name, "tool%d", i); add(s, name, echo); }
    legacy(&p);
    for (;;) {
        const char *out, *c;
        if (*cursor) snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":\"%s\"}}", cursor);
        else snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
        out = say(&p, line);
        for (c = out; (c = strstr(c, "\"name\"")) != NULL; c++) seen++;
        c = strstr(out, "\"nextCursor\":\"");
        *cursor = 0;
        if (c) sscanf(c + 14, "%63[^\"]", cursor);
        if (++pages == 1) {                   /* tools come and go: the cursor stays good */
            EQ_INT(mcp_server_remove(s, MCP_LIST_TOOLS, "tool2"), MCP_OK);
            EQ_INT(mcp_server_remove(s, MCP_LIST_TOOLS, "tool0"), MCP_OK);
            (void)hear(&p);
        }
        if (!*cursor) break;
    }
    EQ_INT(pages, 4);
    EQ_INT(seen, 10);
    for (i = 0; i < (int)(sizeof bad / sizeof *bad); i++) {
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"cursor\":%s}}", bad[i]);
        CHECK(strstr(say(&p, line), "-32602") != NULL);
    }
    end(s, &p);
}

TEST(other_lists)                                                                          /* B60 */
{
    mcp_server_desc d;
    mcp_server *s = server();
    peer p = join(s);
    legacy(&p);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/list"})), J({"jsonrpc":"2.0","id":1,"result":{"tools":[]}}) "\n");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":1,"method":"resources/list"})), J({"jsonrpc":"2.0","id":1,"result":{"resources":[]}}) "\n");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":1,"method":"resources/templates/list"})), J({"jsonrpc":"2.0","id":1,"result":{"resourceTemplates":[]}}) "\n");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":1,"method":"prompts/list"})), J({"jsonrpc":"2.0","id":1,"result":{"prompts":[]}}) "\n");
    CHECK(strstr(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/list\",\"params\":{" META "}}"), "-32601") != NULL);
    end(s, &p);
    memset(&d, 0, sizeof d);
    d.strict_lists = true;
    s = server_with(&d);
    p = join(s);
    legacy(&p);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"prompts/list"})), "-32601") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/list"})), "-32601") != NULL);
    end(s, &p);
}

TEST(ten_thousand_tools)
{
    mcp_server *s = server();
    peer p = join(s);
    char name[32];
    int i;
    for (i = 0; i < 10000; i++) { snprintf(name, sizeof name, "tool_number_%d", i); add(s, name, echo); }
    legacy(&p);
    CHECK(strlen(say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/list"}))) > 500000);
    CHECK(strstr(call(&p, "tool_number_9999", "{\"text\":\"last\"}"), "last") != NULL);
    for (i = 9999; i >= 0; i -= 2) { snprintf(name, sizeof name, "tool_number_%d", i); EQ_INT(mcp_server_remove(s, MCP_LIST_TOOLS, name), MCP_OK); }
    (void)hear(&p);
    CHECK(strstr(call(&p, "tool_number_9998", "{\"text\":\"kept\"}"), "kept") != NULL);
    CHECK(strstr(call(&p, "tool_number_9999", "{}"), "Unknown tool") != NULL);
    end(s, &p);
}

/* -- changes ------------------------------------------------------------------------------------------------------------------ */

TEST(list_changed)                                                                         /* B49 */
{
    mcp_server *s = server();
    peer p = join(s), q = join(s);
    add(s, "a", echo);
    legacy(&p);
    (void)say(&q, INIT);                                                  /* not initialized: not told */
    EQ_STR(hear(&p), "");
    add(s, "b", echo);
    add(s, "c", echo);
    EQ_INT(mcp_server_changed(s, MCP_LIST_TOOLS), MCP_OK);
    EQ_STR(hear(&p), J({"jsonrpc":"2.0","method":"notifications/tools/list_changed"}) "\n");
    EQ_STR(hear(&p), "");
    EQ_STR(hear(&q), "");
    EQ_INT(mcp_server_changed(s, 64), MCP_ERR_ARGUMENT);
    mcp_server_free(s);
    leave(&p);
    leave(&q);
}

/* Who does not read hears of a change when he reads again. */
TEST(list_changed_later)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    int i;
    memset(&d, 0, sizeof d);
    d.max_queue = 1000;
    s = server_with(&d);
    p = join(s);
    add(s, "a", echo);
    legacy(&p);
    for (i = 0; i < 100000 && mcp_server_stats(s).queued <= 1000; i++) {
        static const char ping[] = J({"jsonrpc":"2.0","id":"some more bytes for the answer","method":"ping"}) "\n";
        write_all(&p, ping, sizeof ping - 1);
        (void)mcp_server_step(s, NULL, 0);
    }
    add(s, "b", echo);
    for (i = 0; i < 5; i++) (void)mcp_server_step(s, NULL, 0);
    CHECK(strstr(hear(&p), "list_changed") != NULL);
    EQ_STR(hear(&p), "");
    end(s, &p);
}

TEST(subscriptions)                                                                /* D67 D68 D70 */
{
    static const char *const bad[] = { "", ",\"notifications\":7", ",\"notifications\":{\"toolsListChanged\":1}", ",\"notifications\":{\"resourceSubscriptions\":[1]}", ",\"notifications\":{\"resourceSubscriptions\":\"x\"}" };
    mcp_server *s = server();
    peer p = join(s);
    char line[512];
    size_t i;
    add(s, "a", echo);
    (void)hear(&p);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{" META "%s}}", bad[i]);
        CHECK(strstr(say(&p, line), "-32602") != NULL);
    }
    EQ_STR(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"subscriptions/listen\",\"params\":{" META ",\"notifications\":{\"toolsListChanged\":true,\"promptsListChanged\":true,\"resourceSubscriptions\":[\"f:///\"]}}}"),
           J({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s1"},"notifications":{"toolsListChanged":true}}}) "\n");
    EQ_STR(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"subscriptions/listen\",\"params\":{" META ",\"notifications\":{}}}"),
           J({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"notifications":{}}}) "\n");
    CHECK(strstr(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"subscriptions/listen\",\"params\":{" META ",\"notifications\":{}}}"), "-32600") != NULL);  /* still open */
    add(s, "b", echo);
    EQ_STR(hear(&p), J({"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s1"}}}) "\n");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s1"}})), "");
    add(s, "c", echo);
    EQ_STR(hear(&p), "");
    mcp_server_stop(s);
    EQ_STR(hear(&p), J({"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":2}}}) "\n"
           J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}) "\n");
    CHECK(p.closed);
    EQ_INT(mcp_server_step(s, NULL, 0), MCP_ERR_CLOSED);
    end(s, &p);
}

/* -- later: deferral, cancel, progress ------------------------------------------------------------------------------------------ */

static mcp_id kept[64];
static int kept_count, cancel_calls;
static mcp_id cancel_id;
static void on_cancel(mcp_server *s, mcp_id id, void *arg) { CHECK(s != NULL); cancel_calls++; cancel_id = id; EQ_STR((const char *)arg, "worker"); }
static char worker_name[] = "worker";
static void defer(mcp_req *r, void *user)
{
    (void)user;
    kept[kept_count] = mcp_req_defer(r);
    CHECK(kept[kept_count] != 0);
    EQ_INT(mcp_req_defer(r), kept[kept_count]);
    EQ_INT(mcp_req_on_cancel(r, on_cancel, worker_name), MCP_OK);
    kept_count++;
}

TEST(deferred)                                                                 /* B13 B14 B35 B36 */
{
    mcp_server *s = server();
    peer p = join(s);
    mcp_req *r;
    kept_count = cancel_calls = 0;
    add(s, "defer", defer);
    legacy(&p);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":"\ud83d\ude00x","method":"tools/call","params":{"name":"defer","arguments":{"text":"kept","deep":[1,{"a":null}]},"_meta":{"progressToken":0,"note":"kept, too"}}})), "");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"defer"}})), "");
    EQ_INT(mcp_server_stats(s).pending, 2);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"defer"}})), "-32600") != NULL);      /* the id is in use */
    {                                                                       /* what comes now is read into the same memory */
        char line[4096];
        size_t n = (size_t)sprintf(line, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\",\"params\":{\"x\":[");
        while (n < sizeof line - 10) { memcpy(line + n, "\"y\",", 4); n += 4; }
        strcpy(line + n, "9]}}");
        CHECK(strstr(say(&p, line), "\"id\":9,\"result\"") != NULL);
    }
    r = mcp_server_req(s, kept[0]);
    CHECK(r != NULL);
    EQ_STR(mcp_arg_str(r, "text", ""), "kept");
    CHECK(mcp_json_at(mcp_req_args(r), "/deep/1/a") != NULL);
    EQ_STR(mcp_json_str(mcp_json_get(mcp_req_meta(r), "note"), ""), "kept, too");
    EQ_STR(mcp_req_tool(r), "defer");
    EQ_STR(mcp_req_method(r), "tools/call");
    EQ_STR(mcp_req_principal(r), "alice");
    EQ_STR(mcp_json_str(mcp_json_get(mcp_req_client(r), "name"), ""), "t");
    EQ_INT(mcp_req_progress(r, 1, 0, NULL), MCP_OK);
    EQ_STR(hear(&p), J({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":0,"progress":1}}) "\n");
    EQ_INT(mcp_req_text(r, "done"), MCP_OK);
    CHECK(strstr(hear(&p), "\"id\":\"\xf0\x9f\x98\x80x\",\"result\"") != NULL);
    CHECK(mcp_server_req(s, kept[0]) == NULL);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"2"}})), "");                     /* another type: not that one */
    EQ_INT(cancel_calls, 0);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})), "");
    EQ_INT(cancel_calls, 1);
    EQ_INT(cancel_id, kept[1]);
    CHECK(mcp_server_req(s, kept[1]) == NULL);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}})), "");
    EQ_INT(cancel_calls, 1);
    CHECK(mcp_server_stats(s).unknown >= 2);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":77}})), "");                      /* before its request: nothing to cancel */
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":77,"method":"ping"})), J({"jsonrpc":"2.0","id":77,"result":{}}) "\n");

    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"defer"}})), "");
    EQ_INT(mcp_server_remove(s, MCP_LIST_TOOLS, "defer"), MCP_OK);         /* its call lives on */
    EQ_STR(mcp_req_tool(mcp_server_req(s, kept[2])), "defer");
    p.io.close(p.io.user);                                                  /* the peer leaves */
    for (r = NULL; fake_now < 5000; fake_now += 500) (void)mcp_server_step(s, NULL, 0);
    EQ_INT(cancel_calls, 2);
    CHECK(mcp_server_req(s, kept[2]) == NULL);
    EQ_INT(mcp_server_stats(s).pending, 0);
    mcp_server_free(s);
    free(p.text);
}

TEST(too_many_open)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    char line[128];
    int i;
    memset(&d, 0, sizeof d);
    d.max_inflight = 3;
    s = server_with(&d);
    p = join(s);
    kept_count = cancel_calls = 0;
    add(s, "defer", defer);
    legacy(&p);
    for (i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"defer\"}}", i);
        EQ_STR(say(&p, line), "");
    }
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"defer"}})), "-31000") != NULL);
    end(s, &p);
    EQ_INT(cancel_calls, 3);                /* free tells the workers */
}

static const char *const rising[] = { "1", "2", "3" };
static void progress(mcp_req *r, void *user)
{
    (void)user; (void)rising;
    EQ_INT(mcp_req_progress(r, 1, 4, "a\n"), MCP_OK);
    mcp_req_progress(r, 1, 4, "not higher");
    mcp_req_progress(r, 0.5, 4, "falls");
    mcp_req_progress(r, 2.5, 0, NULL);
    mcp_req_logf(r, "debug", "d%d", 1);
    mcp_req_logf(r, "error", "e%d", 2);
    EQ_INT(mcp_req_log(r, "info", "lib", "{\"k\" : 1}"), MCP_OK);
    EQ_INT(mcp_req_log(r, "loud", NULL, "1"), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_notify(r, "notifications/x", NULL), MCP_OK);
    EQ_INT(mcp_req_notify(r, "notifications/x", "[1]"), MCP_ERR_ARGUMENT);
    mcp_req_text(r, "ok");
    EQ_INT(mcp_req_progress(r, 9, 0, NULL), MCP_ERR_MISUSE);
}

TEST(progress_and_log)                                                         /* B42 B44 B45 D79 */
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    memset(&d, 0, sizeof d);
    d.capabilities = MCP_JSON({"logging":{}});
    s = server_with(&d);
    p = join(s);
    add(s, "progress", progress);
    legacy(&p);
    EQ_STR(call(&p, "progress", "{}"), J({"jsonrpc":"2.0","method":"notifications/x"}) "\n" J({"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"ok"}]}}) "\n");
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"loud"}})), "-32602") != NULL);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}})), J({"jsonrpc":"2.0","id":1,"result":{}}) "\n");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":"t\n"}}})),
           J({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t\n","progress":1,"total":4,"message":"a\n"}}) "\n"
           J({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t\n","progress":2.5}}) "\n"
           J({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error","data":"e2"}}) "\n"
           J({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"lib","data":{"k":1}}}) "\n"
           J({"jsonrpc":"2.0","method":"notifications/x"}) "\n"
           J({"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"ok"}]}}) "\n");
    CHECK(strstr(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"progress\"," META "}}"), "notifications/message") == NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"progress","_meta":{"progressToken":1.5}}})), "notifications/progress") == NULL);
    end(s, &p);
}

/* A handler that works for long: it hears its cancel and answers pings while it runs, and leaves everything else alone. */
static peer *working_peer;
static int heard_cancel;
static void works(mcp_req *r, void *user)
{
    int i;
    (void)user;
    fake_now += 5;
    mcp_req_progress(r, 1, 0, NULL);
    working_peer->io.write(working_peer->io.user, J({"jsonrpc":"2.0","id":11,"method":"ping"}) "\n" J({"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"echo","arguments":{"text":"later"}}}) "\n"
                           J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}) "\n{\"jsonrpc\":\"2.0\",",
                           strlen(J({"jsonrpc":"2.0","id":11,"method":"ping"}) "\n" J({"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"echo","arguments":{"text":"later"}}}) "\n"
                           J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}) "\n{\"jsonrpc\":\"2.0\","));
    EQ_INT(mcp_req_cancelled(r), false);    /* less than a millisecond later: not asked again */
    for (i = 0; i < 5 && !mcp_req_cancelled(r); i++) fake_now += 2;
    heard_cancel = mcp_req_cancelled(r);
    EQ_STR(mcp_arg_str(r, "text", ""), "mine");         /* what it was called with has not moved */
    EQ_INT(mcp_req_text(r, "nobody hears this"), MCP_ERR_CANCELLED);
}

TEST(hears_while_it_works)                                                             /* B23 B36 */
{
    mcp_server *s = server();
    peer p = join(s);
    const char *out;
    add(s, "works", works);
    add(s, "echo", echo);
    legacy(&p);
    working_peer = &p;
    heard_cancel = 0;
    out = call(&p, "works", "{\"text\":\"mine\"}");
    EQ_INT(heard_cancel, 1);
    CHECK(strstr(out, J({"jsonrpc":"2.0","id":11,"result":{}}) "\n{\"jsonrpc\":\"2.0\",\"id\":12,") == out);
    CHECK(strstr(out, "later") != NULL);
    CHECK(strstr(out, "\"id\":5") == NULL);
    EQ_STR(say(&p, "\"id\":13,\"method\":\"ping\"}"), J({"jsonrpc":"2.0","id":13,"result":{}}) "\n");      /* the half line came to its end */
    end(s, &p);
}

/* -- batches (2025-03-26) ---------------------------------------------------------------------------------------------------------- */

TEST(batches)                                                                              /* B16 */
{
    mcp_server *s = server();
    peer p = join(s);
    kept_count = 0;
    add(s, "echo", echo);
    add(s, "defer", defer);
    (void)say(&p, J({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}));
    (void)say(&p, INITIALIZED);
    EQ_STR(say(&p, "[" J({"jsonrpc":"2.0","id":1,"method":"ping"}) "," J({"jsonrpc":"2.0","method":"notifications/x"}) ",1," J({"jsonrpc":"2.0","id":2,"method":"initialize"}) "]"),
           "[" J({"jsonrpc":"2.0","id":1,"result":{}}) "," J({"jsonrpc":"2.0","error":{"code":-32600,"message":"a message is a JSON object"}}) ","
           J({"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"initialize must not be part of a batch"}}) "]\n");
    EQ_STR(say(&p, "[" J({"jsonrpc":"2.0","method":"notifications/x"}) "]"), "");
    EQ_STR(say(&p, "[" J({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"defer"}}) "," J({"jsonrpc":"2.0","id":2,"method":"ping"}) "]"), "");
    EQ_INT(mcp_req_text(mcp_server_req(s, kept[0]), "x"), MCP_OK);
    EQ_STR(hear(&p), "[" J({"jsonrpc":"2.0","id":2,"result":{}}) "," J({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"}]}}) "]\n");
    EQ_STR(say(&p, "[" J({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"defer"}}) "," J({"jsonrpc":"2.0","id":2,"method":"ping"}) "]"), "");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})), "[" J({"jsonrpc":"2.0","id":2,"result":{}}) "]\n");
    end(s, &p);
}

/* -- methods of the program's own ------------------------------------------------------------------------------------------------------ */

static int notes;
static void on_note(mcp_req *r, void *user) { (void)user; notes++; EQ_INT(mcp_req_text(r, "x"), MCP_ERR_MISUSE); CHECK(mcp_json_get(mcp_req_params(r), "a") != NULL); }
static void computed(mcp_req *r, void *user) { (void)user; mcp_req_result(r, "{\"tools\":[],\"_meta\":{\"x\":1}}", MCP_NTS); }
static void removes_itself(mcp_req *r, void *user) { (void)user; EQ_INT(mcp_server_method(mcp_req_server(r), "x/y", NULL, NULL), MCP_OK); mcp_req_fail(r, "gone"); }

TEST(own_methods)
{
    mcp_server *s = server();
    peer p = join(s);
    notes = 0;
    add(s, "echo", echo);
    EQ_INT(mcp_server_method(s, "notifications/x", on_note, NULL), MCP_OK);
    EQ_INT(mcp_server_method(s, "tools/list", computed, NULL), MCP_OK);
    EQ_INT(mcp_server_method(s, "x/y", removes_itself, NULL), MCP_OK);
    EQ_INT(mcp_server_method(s, "nope", NULL, NULL), MCP_ERR_UNKNOWN);
    legacy(&p);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"notifications/x","params":{"a":1}})), "");
    EQ_INT(notes, 1);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"x/y","params":{"a":1}})), "");              /* a request's method without an id */
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/list"})), J({"jsonrpc":"2.0","id":1,"result":{"tools":[],"_meta":{"x":1}}}) "\n");
    CHECK(strstr(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{" META "}}"),
          "{\"tools\":[],\"resultType\":\"complete\",\"ttlMs\":0,\"cacheScope\":\"private\",\"_meta\":{\"x\":1,\"io.modelcontextprotocol/serverInfo\":") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"x/y"})), "{\"code\":-32603,\"message\":\"gone\"}") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"x/y"})), "-32601") != NULL);
    EQ_INT(mcp_server_method(s, "tools/list", NULL, NULL), MCP_OK);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/list"})), "echo") != NULL);
    EQ_INT(mcp_server_notify(s, NULL, "notifications/y", "{\"a\" : 1}"), MCP_OK);
    EQ_STR(hear(&p), J({"jsonrpc":"2.0","method":"notifications/y","params":{"a":1}}) "\n");
    EQ_INT(mcp_server_notify(s, p.conn, "notifications/y", "7"), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_server_method(s, "initialize", computed, NULL), MCP_ERR_ARGUMENT);
    end(s, &p);
}

/* A notification's name in a request is no method, even if the program hears that notification. */
TEST(notification_with_an_id)                                                              /* B17 */
{
    mcp_server *s = server();
    peer p = join(s);
    notes = 0;
    EQ_INT(mcp_server_method(s, "notifications/x", on_note, NULL), MCP_OK);
    legacy(&p);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"notifications/x","params":{"a":1}})), "-32601") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"notifications/y","params":{"a":1}})), "-32601") != NULL);
    EQ_INT(notes, 0);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"notifications/x","params":{"a":1}})), "");
    EQ_INT(notes, 1);
    end(s, &p);
}

/* Keys of params and _meta count whole; of equal ones the last. */
TEST(keys_of_params)
{
    static const struct { const char *params, *want; } t[] = {
        { J({"name":"echo","arguments":{"text":"a"}}), "\"a\"" },
        { J({"name":"nobody","name":"echo","arguments":{"text":"b"}}), "\"b\"" },
        { J({"name":"echo","arguments":7,"arguments":{"text":"c"}}), "\"c\"" },
        { J({"name":"echo","_meta":7,"_meta":{},"arguments":{"text":"d"}}), "\"d\"" },
        { J({"name":"echo","nama":"nobody","argumentx":7,"_metz":7,"arguments":{"text":"e"}}), "\"e\"" },
        { J({"name":"echo","names":"nobody","arguments2":7,"_meta_":7,"arguments":{"text":"f"}}), "\"f\"" },
        { J({"name":"echo","nam":"nobody","argument":7,"_met":7,"arguments":{"text":"g"}}), "\"g\"" },
        { J({"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersioM":"x","io.modelcontextprotocol/clientCapabilitieZ":7,"io.modelcontextprotocol/clientInfO":7,
             "io.modelcontextprotocol/logLeveL":"loud"},"arguments":{"text":"h"}}), "\"h\"" },
        { J({"name":"echo","_meta":{"io.modelcontextprotocol.protocolVersion":"x","io.modelcontextprotocol-clientCapabilities":7,"io.modelcontextprotocoll/clientInfo":7,
             "clientInfo":7,"io.modelcontextprotocol/":7,"io.modelcontextprotocol":7},"arguments":{"text":"i"}}), "\"i\"" },
        { J({"name":"echo"}), "\"?\"" },
        { J({"name":"echo","arguments":null}), "-32602" },
        { J({"name":"echo","name":7}), "-32602" },
        { J({"arguments":{"name":"echo"}}), "-32602" },
    };
    mcp_server *s = server();
    peer p = join(s);
    size_t i;
    add(s, "echo", echo);
    legacy(&p);
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        char line[1024];
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":%s}", t[i].params);
        if (!strstr(say(&p, line), t[i].want)) printf("%s%s", p.text, t[i].params);
        CHECK(strstr(p.text, t[i].want) != NULL);
    }
    end(s, &p);
}

/* -- timers, peers, nesting, ends ------------------------------------------------------------------------------------------------------ */

static int fired[4], fire_order;
static void fire(void *owner, void *arg) { *(int *)arg = owner ? ++fire_order : -1; }
static void fire_again(void *owner, void *arg) { ++*(int *)arg; if (owner) (void)mcp_server_after((mcp_server *)owner, 0, fire_again, arg); }

TEST(timers)
{
    mcp_server *s = server();
    mcp_id id;
    memset(fired, 0, sizeof fired);
    fire_order = 0;
    CHECK(mcp_server_after(s, 30, fire, &fired[0]) != 0);
    CHECK(mcp_server_after(s, 10, fire, &fired[1]) != 0);
    id = mcp_server_after(s, 20, fire, &fired[2]);
    EQ_INT(mcp_server_timeout(s), 10);
    EQ_INT(mcp_server_cancel_timer(s, id), MCP_OK);
    EQ_INT(mcp_server_cancel_timer(s, id), MCP_ERR_UNKNOWN);
    (void)mcp_server_step(s, NULL, 0);
    EQ_INT(fired[1], 0);
    fake_now += 50;
    EQ_INT(mcp_server_timeout(s), 0);
    (void)mcp_server_step(s, NULL, 0);
    EQ_INT(fired[1], 1);
    EQ_INT(fired[0], 2);
    EQ_INT(fired[2], 0);
    CHECK(mcp_server_after(s, 0, fire_again, &fired[3]) != 0);
    (void)mcp_server_step(s, NULL, 0);
    EQ_INT(fired[3], 1);                    /* one that sets itself for now waits for the next turn */
    (void)mcp_server_step(s, NULL, 0);
    EQ_INT(fired[3], 2);
    CHECK(mcp_server_after(s, 1000, fire, &fired[2]) != 0);
    mcp_server_free(s);
    EQ_INT(fired[2], -1);
    EQ_INT(fired[3], 3);
}

/* Timers that were cancelled wake nobody. */
TEST(cancelled_timers)
{
    mcp_server *s = server();
    mcp_id id[50];
    int i;
    for (i = 0; i < 50; i++) id[i] = mcp_server_after(s, 100 + i % 7, fire, &fired[0]);
    EQ_INT(mcp_server_timeout(s), 100);
    for (i = 0; i < 50; i++) EQ_INT(mcp_server_cancel_timer(s, id[i]), MCP_OK);
    EQ_INT(mcp_server_timeout(s), -1);
    mcp_server_free(s);
}

static peer *inner_peer;
static const char *inner_line;

/* A handler that pumps while inner_peer says inner_line. */
static void goes_on(mcp_req *r, void *user)
{
    (void)user;
    if (inner_line) write_all(inner_peer, inner_line, strlen(inner_line));
    inner_line = NULL;
    (void)mcp_server_step(mcp_req_server(r), NULL, 0);
    CHECK(!mcp_req_cancelled(r));
    mcp_req_text(r, mcp_arg_str(r, "text", ""));
}

/* An id is taken while its request runs, but only for the peer whose request that is. */
TEST(ids_of_running_requests)                                                              /* B13 */
{
    mcp_server *s = server();
    peer p = join(s), q = join(s);
    add(s, "goes_on", goes_on);
    legacy(&p);
    legacy(&q);
    inner_peer = &p;
    inner_line = J({"jsonrpc":"2.0","id":5,"method":"ping"}) "\n";
    EQ_STR(call(&p, "goes_on", "{\"text\":\"a\"}"), J({"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"a request with this id is still open"}}) "\n"
                                                 J({"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"a"}]}}) "\n");
    inner_peer = &q;
    inner_line = J({"jsonrpc":"2.0","id":5,"method":"ping"}) "\n" J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}) "\n";
    EQ_STR(call(&p, "goes_on", "{\"text\":\"b\"}"), J({"jsonrpc":"2.0","id":5,"result":{"content":[{"type":"text","text":"b"}]}}) "\n");
    EQ_STR(hear(&q), J({"jsonrpc":"2.0","id":5,"result":{}}) "\n");
    EQ_INT(mcp_server_stats(s).cancelled, 0);
    mcp_server_free(s);
    leave(&p);
    leave(&q);
}

static void nested_step(mcp_req *r, void *user)
{
    static const char arg[] = "before";
    (void)user;
    EQ_STR(mcp_arg_str(r, "text", ""), arg);
    (void)mcp_server_step(mcp_req_server(r), NULL, 0);
    EQ_STR(mcp_arg_str(r, "text", ""), arg);
    mcp_req_text(r, "outer");
}

static int deepest, depth;
static void recurses(mcp_req *r, void *user)
{
    int rc;
    (void)user;
    if (++depth > deepest) deepest = depth;
    rc = mcp_server_step(mcp_req_server(r), NULL, 0);
    CHECK(rc == MCP_OK || rc == MCP_ERR_MISUSE);
    depth--;
    mcp_req_text(r, "x");
}

TEST(nesting)
{
    mcp_server *s = server();
    peer p = join(s);
    char line[128];
    int i;
    add(s, "nested", nested_step);
    add(s, "echo", echo);
    add(s, "recurses", recurses);
    legacy(&p);
    write_all(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nested","arguments":{"text":"before"}}}) "\n"
                  J({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"inner"}}}) "\n{\"jsonrpc\"", strlen(
                  J({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nested","arguments":{"text":"before"}}}) "\n"
                  J({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"inner"}}}) "\n{\"jsonrpc\""));
    EQ_STR(hear(&p), J({"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"inner"}]}}) "\n" J({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"outer"}]}}) "\n");
    EQ_STR(say(&p, ":\"2.0\",\"id\":3,\"method\":\"ping\"}"), J({"jsonrpc":"2.0","id":3,"result":{}}) "\n");
    deepest = 0;
    for (i = 0; i < 40; i++) {
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"recurses\"}}\n", i);
        write_all(&p, line, strlen(line));
    }
    (void)hear(&p);
    for (i = 0; i < 40; i++) { snprintf(line, sizeof line, "\"id\":%d,", i); CHECK(strstr(p.text, line) != NULL); }
    EQ_INT(deepest, 8);
    end(s, &p);
}

static void frees(mcp_req *r, void *user)
{
    (void)user;
    mcp_server_free(mcp_req_server(r));
    EQ_STR(mcp_arg_str(r, "text", ""), "still here");
    (void)mcp_req_text(r, "x");
}
static void detaches(mcp_req *r, void *user) { (void)user; mcp_server_detach(mcp_req_server(r), mcp_req_conn(r)); EQ_STR(mcp_arg_str(r, "text", ""), "still here"); mcp_req_text(r, "x"); }
static void stops(mcp_req *r, void *user) { (void)user; mcp_server_stop(mcp_req_server(r)); mcp_req_text(r, "bye"); }

TEST(ends_from_inside)                                                                     /* B48 */
{
    static const char line[] = J({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"text":"still here"}}}) "\n" J({"jsonrpc":"2.0","id":2,"method":"ping"}) "\n";
    mcp_server *s = server();
    peer p = join(s), q;
    add(s, "x", frees);
    legacy(&p);
    write_all(&p, line, sizeof line - 1);
    EQ_INT(mcp_server_step(s, NULL, 0), MCP_ERR_CLOSED);       /* s is gone */
    leave(&p);

    s = server();
    p = join(s);
    q = join(s);
    add(s, "x", detaches);
    legacy(&p);
    legacy(&q);
    write_all(&p, line, sizeof line - 1);
    EQ_INT(mcp_server_step(s, NULL, 0), MCP_OK);
    EQ_INT(mcp_server_stats(s).peers, 1);
    EQ_STR(say(&q, J({"jsonrpc":"2.0","id":2,"method":"ping"})), J({"jsonrpc":"2.0","id":2,"result":{}}) "\n");
    leave(&p);
    end(s, &q);

    s = server();
    p = join(s);
    add(s, "x", stops);
    legacy(&p);
    write_all(&p, line, sizeof line - 1);
    CHECK(strstr(hear(&p), "bye") != NULL);
    CHECK(strstr(p.text, "\"id\":2") == NULL);                  /* no new requests after stop */
    CHECK(p.closed);
    end(s, &p);
}

/* -- pressure, memory -------------------------------------------------------------------------------------------------------------------- */

TEST(a_peer_that_does_not_read)
{
    enum { N = 400 };
    mcp_server *s = server();
    peer p = join(s);
    char *big = (char *)malloc(70000), *c;
    size_t sent = 0, n;
    int i, answers = 0, stuck = 0;
    add(s, "echo", echo);
    legacy(&p);
    n = (size_t)snprintf(big, 70000, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"");
    memset(big + n, 'e', 65536);
    n += 65536;
    memcpy(big + n, "\"}}}\n", 5);
    n += 5;
    for (i = 0; i < N && stuck < 50; ) {                        /* 26 MiB in, nothing is read */
        ptrdiff_t k = p.io.write(p.io.user, big + sent, n - sent);
        if (k > 0) { sent += (size_t)k; stuck = 0; if (sent == n) { sent = 0; i++; } }
        else { stuck++; (void)mcp_server_step(s, NULL, 0); }
    }
    EQ_INT(i, N);                                               /* the server goes on reading ... */
    CHECK(mcp_server_stats(s).queued < (3u << 20));             /* ... but does not pile up answers */
    (void)hear(&p);
    for (c = p.text; (c = strstr(c, "\"id\":1,")) != NULL; c++) answers++;
    EQ_INT(answers, N);
    free(big);
    end(s, &p);
}

TEST(no_allocation_once_warm)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    long before;
    int i;
    memset(&d, 0, sizeof d);
    d.alloc.resize = counting;
    fail_at = -1;
    s = server_with(&d);
    p = join(s);
    add(s, "echo", echo);
    legacy(&p);
    for (i = 0; i < 10; i++) { (void)call(&p, "echo", "{\"text\":\"warm\"}"); (void)call_modern(&p, "echo", "{\"text\":\"warm\"}"); }
    before = allocations;
    for (i = 0; i < 100; i++) { (void)call(&p, "echo", "{\"text\":\"warm\"}"); (void)call_modern(&p, "echo", "{\"text\":\"warm\"}"); }
    EQ_INT(allocations, before);
    end(s, &p);
    EQ_INT(live_bytes, 0);
}

static void deferring_quietly(mcp_req *r, void *user)
{
    mcp_id id = mcp_req_defer(r);
    (void)user;
    if (id) kept[kept_count++] = id;
    else mcp_req_fail(r, "no memory");
}

/* A whole session in which every allocation from the n-th on fails, for all n: nothing leaks, nothing crashes, and what is answered is whole. */
TEST(every_allocation_fails)
{
    long n;
    bool failed = true;
    for (n = 0; failed && n < 2000; n++) {
        mcp_server_desc d;
        mcp_server *s;
        mcp_tool t;
        mcp_io ends[2];
        peer p;
        memset(&d, 0, sizeof d);
        memset(&t, 0, sizeof t);
        memset(&p, 0, sizeof p);
        d.alloc.resize = counting;
        d.capabilities = "{\"logging\":{}}";
        d.instructions = "x";
        allocations = 0;
        fail_at = n;
        kept_count = 0;
        s = server_with(&d);
        if (s) {
            const char *c;
            (void)mcp_io_pair(NULL, ends);
            p.s = s;
            p.conn = mcp_server_attach(s, &ends[0], "alice");
            p.io = ends[1];
            if (!p.conn) ends[0].close(ends[0].user);
            t.name = "echo"; t.fn = echo; t.input_schema = "{\"type\":\"object\",\"required\":[\"text\"]}";
            (void)mcp_server_tool(s, &t);
            t.name = "defer"; t.fn = deferring_quietly; t.input_schema = NULL;
            (void)mcp_server_tool(s, &t);
            (void)mcp_server_after(s, 0, fire, &fired[0]);
            if (p.conn) {
                (void)say(&p, INIT);
                (void)say(&p, INITIALIZED);
                (void)say(&p, "[1]");
                (void)call(&p, "echo", "{\"text\":\"0123456789\"}");
                for (c = p.text; *c; c++) if (*c == '\n') CHECK(c[-1] == '}');
                (void)call_modern(&p, "echo", "{\"text\":\"0123456789\"}");
                (void)call(&p, "defer", "{\"text\":\"x\"}");
                (void)say(&p, "{\"jsonrpc\":\"2.0\",\"id\":77,\"method\":\"subscriptions/listen\",\"params\":{" META ",\"notifications\":{}}}");
                if (kept_count) (void)mcp_req_text(mcp_server_req(s, kept[0]), "late");
                (void)hear(&p);
            }
            mcp_server_free(s);
            p.io.close(p.io.user);
            free(p.text);
        }
        failed = allocations >= n;
        EQ_INT(live_bytes, 0);
    }
    CHECK(n > 20 && n < 2000);
    fail_at = -1;
}

/* -- faults that reviews found --------------------------------------------------------------------------------------------- */

TEST(waits_at_the_end)
{
    mcp_server *s = server();
    peer p = join(s);
    kept_count = 0;
    add(s, "defer", defer);
    legacy(&p);
    (void)say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"defer"}}));
    p.io.close(p.io.user);                  /* the peer leaves; its call is still worked on */
    (void)mcp_server_step(s, NULL, 0);
    CHECK(mcp_server_timeout(s) > 500);     /* and the loop sleeps meanwhile */
    mcp_server_free(s);
    free(p.text);
}

static void pumps(mcp_req *r, void *user)
{
    const mcp_json *client = mcp_req_client(r);
    (void)user;
    if (inner_line) write_all(inner_peer, inner_line, strlen(inner_line));
    else inner_peer->io.close(inner_peer->io.user);
    (void)mcp_server_step(mcp_req_server(r), NULL, 0);
    (void)mcp_server_step(mcp_req_server(r), NULL, 0);
    EQ_STR(mcp_json_str(mcp_json_get(client, "name"), ""), "t");       /* what was handed out lives */
    CHECK(mcp_req_text(r, "outer") == MCP_OK);
}

TEST(from_inside_a_handler)
{
    mcp_server *s = server();
    peer p = join(s);
    mcp_conn *gone = p.conn;
    inner_peer = &p;
    add(s, "pumps", pumps);
    legacy(&p);
    inner_line = J({"jsonrpc":"2.0","id":9,"method":"initialize","params":{"clientInfo":{"name":"other","version":"2"}}}) "\n";
    CHECK(strstr(call(&p, "pumps", "{}"), "\"id\":9,\"error\":{\"code\":-32600") != NULL);
    CHECK(strstr(p.text, "outer") != NULL);
    CHECK(strstr(say(&p, INIT), "\"result\"") != NULL);               /* and outside it is welcome */
    inner_line = NULL;                                                /* the peer leaves while its call runs */
    write_all(&p, J({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"pumps"}}) "\n", strlen(J({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"pumps"}}) "\n"));
    (void)mcp_server_step(s, NULL, 0);
    (void)mcp_server_step(s, NULL, 0);
    EQ_INT(mcp_server_stats(s).peers, 0);
    mcp_server_detach(s, gone);                                       /* of a peer that has left: nothing */
    mcp_server_free(s);
    free(p.text);
}

static void floods(mcp_req *r, void *user)
{
    static char big[10000];
    int i, rc = MCP_OK;
    (void)user;
    memset(big, 'f', sizeof big - 1);
    for (i = 1; i < 4000; i++) rc = mcp_req_progress(r, i, 0, big);
    EQ_INT(rc, MCP_ERR_LIMIT);
    mcp_req_text(r, "flooded");
}

TEST(a_flood_is_bounded)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    memset(&d, 0, sizeof d);
    d.max_queue = 1 << 20;
    s = server_with(&d);
    p = join(s);
    add(s, "floods", floods);
    legacy(&p);
    write_all(&p, J({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"floods","_meta":{"progressToken":1}}}) "\n",
              strlen(J({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"floods","_meta":{"progressToken":1}}}) "\n"));
    (void)mcp_server_step(s, NULL, 0);
    CHECK(mcp_server_stats(s).queued < (2u << 20));
    CHECK(mcp_server_stats(s).dropped > 1000);
    add(s, "another", echo);                                         /* a change that cannot be told yet */
    (void)mcp_server_step(s, NULL, 0);
    CHECK(strstr(hear(&p), "flooded") != NULL);                      /* answers are never dropped */
    CHECK(strstr(p.text, "list_changed") != NULL);                   /* and the change is told once there is room */
    end(s, &p);
}

static void old_content(mcp_req *r, void *user)
{
    (void)user;
    mcp_req_add_audio(r, "audio/wav", "x", 1);
    mcp_req_add_link(r, "f:///a", "a", NULL);
    EQ_INT(mcp_req_add_text(r, "t", MCP_NTS), MCP_OK);
    mcp_req_done(r);
}
static void no_block(mcp_req *r, void *user)
{
    (void)user;
    EQ_INT(mcp_req_add_json(r, " \"text\"", MCP_NTS), MCP_ERR_ARGUMENT);
    CHECK(mcp_req_done(r) != MCP_OK);
}

TEST(what_old_revisions_know)                                                              /* D58 */
{
    mcp_server *s = server();
    peer p = join(s);
    add(s, "old", old_content);
    add(s, "no_block", no_block);
    legacy(&p);
    CHECK(strstr(call(&p, "old", "{}"), "\"type\":\"audio\"") != NULL);
    CHECK(strstr(p.text, "\"type\":\"resource_link\"") != NULL);
    CHECK(strstr(call(&p, "no_block", "{}"), "-32603") != NULL);
    (void)say(&p, J({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}));
    EQ_STR(call(&p, "old", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"audio:data\",\"mimeType\":\"audio/wav\",\"blob\":\"eA==\"}},"
           "{\"type\":\"text\",\"text\":\"f:///a\"},{\"type\":\"text\",\"text\":\"t\"}]}}\n");
    end(s, &p);
}

TEST(ids_that_look_alike)
{
    mcp_server *s = server();
    peer p = join(s);
    kept_count = 0;
    add(s, "defer", defer);
    legacy(&p);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":"\ud800","method":"tools/call","params":{"name":"defer"}})), "");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":"\ud801","method":"tools/call","params":{"name":"defer"}})), "");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":"7","method":"tools/call","params":{"name":"defer"}})), "");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"defer"}})), "");
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":"\ud801","method":"ping"})), "-32600") != NULL);
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})), "");
    EQ_INT(mcp_server_stats(s).pending, 3);
    CHECK(mcp_server_req(s, kept[2]) != NULL && mcp_server_req(s, kept[3]) == NULL);
    EQ_INT(mcp_req_text(mcp_server_req(s, kept[1]), "x"), MCP_OK);
    CHECK(strstr(hear(&p), "\"id\":\"\\ud801\"") != NULL);
    end(s, &p);
}

static void structure(mcp_req *r, void *user)
{
    mcp_writer *w = mcp_req_structure(r);
    (void)user;
    mcp_put_object(w, NULL);
    mcp_put_num(w, "sum", 3.5);
    mcp_put_end(w);
    EQ_INT(mcp_req_done(r), MCP_OK);
}
static void structure_by_hand(mcp_req *r, void *user)
{
    mcp_writer *w = mcp_req_begin(r);
    (void)user;
    mcp_put_object(w, "structuredContent");
    mcp_put_num(w, "sum", 3.5);
    mcp_put_end(w);
    EQ_INT(mcp_req_end(r), MCP_OK);
}

TEST(structured_results_have_text)
{
    static const char content[] = "\"content\":[{\"type\":\"text\",\"text\":\"{\\\"sum\\\":3.5}\"}]", value[] = "\"structuredContent\":{\"sum\":3.5}";
    mcp_server *s = server();
    peer p = join(s);
    add(s, "one", structure);
    add(s, "two", structure_by_hand);
    legacy(&p);
    CHECK(strstr(call(&p, "one", "{}"), content) && strstr(p.text, value));
    CHECK(strstr(call(&p, "two", "{}"), content) && strstr(p.text, value));
    CHECK(strstr(call_modern(&p, "two", "{}"), content) && strstr(p.text, value));
    end(s, &p);
}

static int free_order[2], free_steps;
static mcp_id free_timer;
static void at_cancel(mcp_server *s, mcp_id id, void *arg) { (void)id; (void)arg; free_order[0] = ++free_steps; (void)mcp_server_cancel_timer(s, free_timer); }
static void at_timer(void *owner, void *arg)
{
    (void)arg;
    if (!owner) free_order[1] = ++free_steps;
    if (!owner) EQ_INT(mcp_server_after((mcp_server *)owner, 0, at_timer, NULL), 0);
}
static void with_timer(mcp_req *r, void *user)
{
    (void)user;
    (void)mcp_req_defer(r);
    (void)mcp_req_on_cancel(r, at_cancel, NULL);
    free_timer = mcp_server_after(mcp_req_server(r), 1000, at_timer, NULL);
}

TEST(free_tells_in_order)
{
    mcp_server *s = server();
    peer p = join(s);
    free_steps = free_order[0] = free_order[1] = 0;
    add(s, "with_timer", with_timer);
    legacy(&p);
    (void)call(&p, "with_timer", "{}");
    mcp_server_free(s);
    EQ_INT(free_order[0], 1);               /* on_cancel first; it could still take back the timer */
    EQ_INT(free_order[1], 0);
    leave(&p);

    s = server();
    mcp_tool t;
    memset(&t, 0, sizeof t);
    t.name = "no function";
    EQ_INT(mcp_server_tool(s, &t), MCP_ERR_ARGUMENT);
    EQ_STR(mcp_server_error(s), "tool \"no function\" has no fn");
    t.name = "\xff";
    t.fn = echo;
    EQ_INT(mcp_server_tool(s, &t), MCP_ERR_ARGUMENT);
    mcp_server_free(s);
}

/* A cancel that comes while a timer works on a deferred request. */
static mcp_id slow_id;
static int slow_heard;
static void slow_work(void *owner, void *arg)
{
    mcp_req *r = owner ? mcp_server_req((mcp_server *)owner, slow_id) : NULL;
    int i;
    (void)arg;
    if (!r) return;
    write_all(inner_peer, inner_line, strlen(inner_line));
    for (i = 0; i < 5 && !mcp_req_cancelled(r); i++) fake_now += 2;
    slow_heard = mcp_req_cancelled(r);
    EQ_INT(mcp_req_text(r, "too late"), MCP_ERR_CANCELLED);
}
static void slow(mcp_req *r, void *user)
{
    (void)user;
    slow_id = mcp_req_defer(r);
    (void)mcp_req_on_cancel(r, on_cancel, worker_name);
    (void)mcp_server_after(mcp_req_server(r), 0, slow_work, NULL);
}

/* A deferred answer that finds no memory for its text is an error all the same: nobody comes back to give another. */
static void long_work(void *owner, void *arg)
{
    (void)arg;
    fail_at = allocations;
    EQ_INT(mcp_req_textf(mcp_server_req((mcp_server *)owner, slow_id), "%09999d", 1), MCP_ERR_MEMORY);
    fail_at = -1;
    CHECK(!mcp_server_req((mcp_server *)owner, slow_id));
}
static void long_answer(mcp_req *r, void *user)
{
    (void)user;
    slow_id = mcp_req_defer(r);
    (void)mcp_req_on_cancel(r, on_cancel, worker_name);
    (void)mcp_server_after(mcp_req_server(r), 0, long_work, NULL);
}

TEST(deferred_text_without_memory)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    memset(&d, 0, sizeof d);
    d.alloc.resize = counting;
    fail_at = -1;
    s = server_with(&d);
    p = join(s);
    cancel_calls = 0;
    add(s, "long", long_answer);
    legacy(&p);
    CHECK(strstr(call(&p, "long", "{}"), "\"code\":-32603,\"message\":\"out of memory\""));
    end(s, &p);
    EQ_INT(cancel_calls, 0);
}

TEST(heard_from_a_timer)
{
    mcp_server *s = server();
    peer p = join(s);
    inner_peer = &p;
    inner_line = J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}) "\n";
    cancel_calls = slow_heard = 0;
    add(s, "slow", slow);
    legacy(&p);
    EQ_STR(call(&p, "slow", "{}"), "");
    EQ_INT(slow_heard, 1);
    EQ_INT(cancel_calls, 0);                /* the answer that came too late was the end of it */
    end(s, &p);
    EQ_INT(cancel_calls, 0);
}

/* -- small things ---------------------------------------------------------------------------------------------------------- */

static void asks_can(mcp_req *r, void *user)
{
    (void)user;
    CHECK(mcp_req_can(r, "/sampling") && mcp_req_can(r, "/extensions/io.x~1y") && mcp_req_can(r, "/elicitation/form"));
    CHECK(!mcp_req_can(r, "/elicitation/url") && !mcp_req_can(r, "/roots") && !mcp_req_can(r, NULL));
    EQ_STR(mcp_req_protocol(r), "2025-11-25");
    mcp_req_text(r, "x");
}

TEST(what_the_client_can)
{
    mcp_server *s = server();
    peer p = join(s);
    add(s, "can", asks_can);
    (void)say(&p, J({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"elicitation":{},"extensions":{"io.x/y":{}}}}}));
    CHECK(strstr(call(&p, "can", "{}"), "\"x\"") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}})), "-32601") != NULL);    /* it does not log */
    end(s, &p);
}

TEST(no_listen_in_a_batch)
{
    mcp_server *s = server();
    peer p = join(s);
    (void)say(&p, J({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}));
    CHECK(strstr(say(&p, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{" META ",\"notifications\":{}}}," J({"jsonrpc":"2.0","id":2,"method":"ping"}) "]"),
          "\"code\":-32600") != NULL);
    CHECK(strstr(p.text, J({"jsonrpc":"2.0","id":2,"result":{}})) != NULL);
    end(s, &p);
}

static char traced[4096];
static void trace(int level, const char *text, void *user)
{
    (void)user;
    if (level == 3) { strncat(traced, text, sizeof traced - strlen(traced) - 2); strcat(traced, "|"); }
}

TEST(traces)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    memset(&d, 0, sizeof d);
    d.log.fn = trace;
    d.log.level = 3;
    s = server_with(&d);
    p = join(s);
    traced[0] = 0;
    (void)say(&p, J({"jsonrpc":"2.0","id":1,"method":"ping"}));
    EQ_STR(traced, "<- " J({"jsonrpc":"2.0","id":1,"method":"ping"}) "|-> " J({"jsonrpc":"2.0","id":1,"result":{}}) "|");
    end(s, &p);
    memset(&d, 0, sizeof d);
    d.no_stdio = true;
    d.log.level = -1;
    s = mcp_server_new(&d);                 /* without a name */
    EQ_INT(mcp_server_run(s), MCP_ERR_ARGUMENT);
    mcp_server_free(s);
}

/* After an outlier its memory is given back, though not at once. */
TEST(an_outlier_is_forgotten)
{
    enum { SIZE = 4 << 20 };
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    char *big = (char *)malloc(SIZE + 200);
    size_t n;
    int i;
    memset(&d, 0, sizeof d);
    d.alloc.resize = counting;
    fail_at = -1;
    live_bytes = 0;
    s = server_with(&d);
    p = join(s);
    add(s, "echo", echo);
    legacy(&p);
    n = (size_t)sprintf(big, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"");
    memset(big + n, 'o', SIZE);
    strcpy(big + n + SIZE, "\"}}}");
    CHECK(strlen(say(&p, big)) > SIZE);
    CHECK(live_bytes > SIZE);
    for (i = 0; i < 200; i++) (void)call(&p, "echo", "{\"text\":\"small\"}");
    CHECK(live_bytes < SIZE / 8);
    end(s, &p);
    EQ_INT(live_bytes, 0);
    free(big);
}

/* A handler that pumps: the cancel of its own request comes in the nested turn. */
static void hears_nested(mcp_req *r, void *user)
{
    (void)user;
    write_all(inner_peer, inner_line, strlen(inner_line));
    (void)mcp_server_step(mcp_req_server(r), NULL, 0);
    CHECK(mcp_req_cancelled(r));
    EQ_INT(mcp_req_text(r, "x"), MCP_ERR_CANCELLED);
}

TEST(cancelled_in_a_nested_turn)
{
    mcp_server *s = server();
    peer p = join(s);
    inner_peer = &p;
    inner_line = J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"no"}}) "\n";
    add(s, "hears", hears_nested);
    legacy(&p);
    EQ_STR(call(&p, "hears", "{}"), "");
    EQ_INT(mcp_server_stats(s).cancelled, 1);
    end(s, &p);
}

TEST(peers_do_not_meddle)                                                              /* B13 D22 */
{
    mcp_server_desc d;
    mcp_server *s;
    peer p, q;
    mcp_io ends[2];
    memset(&d, 0, sizeof d);
    d.max_peers = 2;
    d.capabilities = MCP_JSON({"logging":{}});
    s = server_with(&d);
    p = join(s);
    q = join(s);
    EQ_INT(mcp_io_pair(NULL, ends), MCP_OK);
    CHECK(mcp_server_attach(s, &ends[0], NULL) == NULL);        /* two are enough */
    ends[0].close(ends[0].user);
    ends[1].close(ends[1].user);
    kept_count = cancel_calls = 0;
    add(s, "defer", defer);
    add(s, "progress", progress);
    legacy(&p);
    legacy(&q);
    EQ_STR(call(&p, "defer", "{}"), "");
    EQ_STR(call(&q, "defer", "{}"), "");                        /* the same id, another peer */
    EQ_STR(say(&q, J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})), "");
    CHECK(mcp_server_req(s, kept[0]) != NULL && mcp_server_req(s, kept[1]) == NULL);
    EQ_INT(mcp_req_text(mcp_server_req(s, kept[0]), "p's"), MCP_OK);
    CHECK(strstr(hear(&p), "p's") != NULL);
    EQ_STR(hear(&q), "");
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"debug"}})), J({"jsonrpc":"2.0","id":1,"result":{}}) "\n");
    CHECK(strstr(call(&p, "progress", "{}"), "notifications/message") != NULL);
    CHECK(strstr(call(&q, "progress", "{}"), "notifications/message") == NULL);
    legacy(&p);                                                  /* a new session starts without a level */
    CHECK(strstr(call(&p, "progress", "{}"), "notifications/message") == NULL);
    mcp_server_free(s);
    leave(&p);
    leave(&q);
}

/* -- copying, and the end from inside ------------------------------------------------------------------------------------- */

/* An allocator that copies each time it is asked for another size, and counts what it copied. */
static size_t copied;
static void *copying(void *user, void *ptr, size_t old_size, size_t new_size)
{
    void *p = new_size ? malloc(new_size) : NULL;
    size_t n = old_size < new_size ? old_size : new_size;
    (void)user;
    if (new_size && !p) return NULL;
    if (ptr && n) { memcpy(p, ptr, n); copied += n; }
    if (ptr) free(ptr);
    return p;
}

/* The input buffer is as large as it may get, and what is in it is moved, not grown for each read. */
TEST(a_full_buffer_is_not_copied_for_each_read)
{
    enum { M = 4 << 20 };
    static const size_t sizes[] = { M, M / 2, M, M - 1, M / 2 + 7, M };
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    char *line = (char *)malloc(M + 1);
    size_t i, n, total = 0;
    memset(&d, 0, sizeof d);
    d.max_message = M;
    d.alloc.resize = copying;
    s = server_with(&d);
    p = join(s);
    legacy(&p);
    copied = 0;
    for (i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        n = (size_t)sprintf(line, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"a\":\"");
        memset(line + n, 'c', sizes[i] - n);
        memcpy(line + sizes[i] - 3, "\"}}", 3);
        line[sizes[i]] = '\n';
        write_all(&p, line, sizes[i] + 1);
        total += sizes[i];
    }
    EQ_STR(say(&p, J({"jsonrpc":"2.0","id":1,"method":"ping"})), J({"jsonrpc":"2.0","id":1,"result":{}}) "\n");
    EQ_INT(mcp_server_stats(s).oversize, 0);
    EQ_INT(mcp_server_stats(s).bad, 0);
    CHECK(copied < 2 * total);
    if (copied >= 2 * total) printf("  %lu bytes were copied for %lu\n", (unsigned long)copied, (unsigned long)total);
    free(line);
    end(s, &p);
}

static void frees_at_cancel(mcp_server *s, mcp_id id, void *arg) { (void)id; ++*(int *)arg; mcp_server_free(s); }
static void defers_till_freed(mcp_req *r, void *user) { (void)mcp_req_on_cancel(r, frees_at_cancel, user); (void)mcp_req_defer(r); }

/* detach calls on_cancel, which frees the server: all is given back, and nothing is used after that. */
TEST(freed_by_a_detach)
{
    mcp_server_desc d;
    int calls = 0;
    memset(&d, 0, sizeof d);
    d.alloc.resize = counting;
    fail_at = -1;
    live_bytes = 0;
    {
        mcp_server *s = server_with(&d);
        peer p = join(s), q = join(s);
        mcp_tool t;
        memset(&t, 0, sizeof t);
        t.name = "x";
        t.fn = defers_till_freed;
        t.user = &calls;
        EQ_INT(mcp_server_tool(s, &t), MCP_OK);
        legacy(&p);
        EQ_STR(call(&p, "x", "{}"), "");
        EQ_STR(say(&p, J({"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"x"}})), "");
        mcp_server_detach(s, p.conn);
        EQ_INT(calls, 2);
        EQ_INT(live_bytes, 0);
        leave(&p);
        leave(&q);
    }
}

/* What the description says of max_inflight: a deferred request holds at most 16 times the text of its params, and
   one that was answered three small buffers. */
TEST(what_deferred_requests_hold)
{
    enum { SIZE = 300000, N = 4 };
    static const char *const parts[] = { "1,", "[],", "\"\",", "{\"\":1},", "[1]," };
    size_t k;
    for (k = 0; k < sizeof parts / sizeof *parts; k++) {
        mcp_server_desc d;
        mcp_server *s;
        peer p;
        char *line = (char *)malloc(SIZE + 300);
        size_t n, len = strlen(parts[k]);
        long first = 0;
        int i;
        memset(&d, 0, sizeof d);
        d.alloc.resize = counting;
        fail_at = -1;
        live_bytes = 0;
        s = server_with(&d);
        p = join(s);
        add(s, "holds", deferring_quietly);
        add(s, "echo", echo);
        kept_count = 0;
        legacy(&p);
        for (i = 0; i < N; i++) {
            n = (size_t)sprintf(line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{\"name\":\"holds\",\"arguments\":{\"x\":[", i);
            while (n < SIZE) { memcpy(line + n, parts[k], len); n += len; }
            strcpy(line + n - 1, "]}}}");
            EQ_STR(say(&p, line), "");
            if (i == 0) first = live_bytes;
        }
        EQ_INT(kept_count, N);
        CHECK(live_bytes - first > (N - 1) * SIZE && live_bytes - first < 16L * (N - 1) * (SIZE + 4096));
        for (i = 0; i < N; i++) EQ_INT(mcp_req_text(mcp_server_req(s, kept[i]), "x"), MCP_OK);
        for (i = 0; i < 200; i++) (void)call(&p, "echo", "{\"text\":\"small\"}");
        CHECK(live_bytes < (N + 1) * 3 * 65536 + (2 << 20) + 200000);     /* and the input buffer its 1 MiB, twice */
        end(s, &p);
        EQ_INT(live_bytes, 0);
        free(line);
    }
}

/* The rest of a line that is dropped is no message, whatever it looks like, for a handler that listens while it works:
   neither when it comes whole nor in two pieces. What stands behind it is one. */
static int rest_turn;
static void with_the_rest(void *owner, void *arg)
{
    static const char cancel[] = J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}});
    static const char ping[] = "\n" J({"jsonrpc":"2.0","id":9,"method":"ping"}) "\n";
    mcp_server *s = (mcp_server *)owner;
    mcp_req *r = mcp_server_req(s, kept[0]);
    peer *p = (peer *)arg;
    ptrdiff_t n;
    CHECK(r != NULL);
    write_all(p, cancel, sizeof cancel - 1);
    fake_now += 10;
    if (rest_turn) CHECK(!mcp_req_cancelled(r));
    write_all(p, ping, sizeof ping - 1);
    fake_now += 10;
    CHECK(!mcp_req_cancelled(r));
    n = p->io.read(p->io.user, p->text, 1000);
    p->text[n > 0 ? n : 0] = 0;
    EQ_STR(p->text, J({"jsonrpc":"2.0","id":9,"result":{}}) "\n");  /* answered while this one works */
}

TEST(the_rest_of_a_dropped_line)
{
    for (rest_turn = 0; rest_turn < 2; rest_turn++) {
        mcp_server_desc d;
        mcp_server *s;
        peer p;
        char big[3000];
        memset(&d, 0, sizeof d);
        d.max_message = 2000;
        s = server_with(&d);
        p = join(s);
        add(s, "holds", deferring_quietly);
        kept_count = 0;
        legacy(&p);
        EQ_STR(call(&p, "holds", "{}"), "");
        memset(big, 'x', sizeof big);
        write_all(&p, big, sizeof big);
        CHECK(strstr(hear(&p), "over the limit") != NULL);
        CHECK(mcp_server_after(s, 0, with_the_rest, &p) != 0);
        (void)hear(&p);
        EQ_INT(mcp_server_stats(s).cancelled, 0);
        EQ_INT(mcp_server_stats(s).oversize, 1);
        EQ_INT(mcp_req_text(mcp_server_req(s, kept[0]), "done"), MCP_OK);
        CHECK(strstr(hear(&p), "done") != NULL);
        EQ_STR(say(&p, J({"jsonrpc":"2.0","id":1,"method":"ping"})), J({"jsonrpc":"2.0","id":1,"result":{}}) "\n");
        end(s, &p);
    }
}

/* Keys may hold U+0000, and then are none of the names that they begin with. */
static void nul_keys(mcp_req *r, void *user)
{
    (void)user;
    EQ_INT(mcp_req_result(r, "{\"content\":[],\"a\\u0000b\":1,\"a\\u0000c\":{\"d\\u0000\":2},\"_meta\":{\"m\\u0000n\":3},\"resultType\\u0000\":4}", MCP_NTS), MCP_OK);
}

TEST(keys_with_a_nul)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    mcp_tool t;
    memset(&d, 0, sizeof d);
    memset(&t, 0, sizeof t);
    d.capabilities = "{\"tools\":{},\"x\\u0000y\":{}}";
    s = server_with(&d);
    p = join(s);
    t.name = "k";
    t.fn = nul_keys;
    t.input_schema = "{\"p\\u0000q\":{},\"properties\":{\"r\\u0000s\":{}},\"required\":[\"r\\u0000s\",\"z\"]}";
    t.meta = "{\"v\\u0000w\":1}";
    t.extra = "{\"e\\u0000f\":2}";
    EQ_INT(mcp_server_tool(s, &t), MCP_OK);
    CHECK(strstr(say(&p, INIT), "\"capabilities\":{\"tools\":{\"listChanged\":true},\"x\\u0000y\":{}}") != NULL);
    CHECK(strstr(say(&p, J({"jsonrpc":"2.0","id":1,"method":"tools/list"})), "{\"name\":\"k\",\"inputSchema\":{\"type\":\"object\",\"p\\u0000q\":{},\"properties\":{\"r\\u0000s\":{}},"
          "\"required\":[\"r\\u0000s\",\"z\"]},\"_meta\":{\"v\\u0000w\":1},\"e\\u0000f\":2}") != NULL);
    CHECK(strstr(call(&p, "k", "{\"r\":1,\"z\":1}"), "is required") != NULL);
    CHECK(strstr(call(&p, "k", "{\"r\\u0000s\":1}"), "\\\"z\\\" is required") != NULL);
    EQ_STR(call(&p, "k", "{\"r\\u0000s\":1,\"z\":1}"),
           "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[],\"a\\u0000b\":1,\"a\\u0000c\":{\"d\\u0000\":2},\"_meta\":{\"m\\u0000n\":3},\"resultType\\u0000\":4}}\n");
    CHECK(strstr(call_modern(&p, "k", "{\"r\\u0000s\":1,\"z\":1}"), "\"a\\u0000b\":1,\"a\\u0000c\":{\"d\\u0000\":2},\"resultType\\u0000\":4,\"resultType\":\"complete\","
          "\"_meta\":{\"m\\u0000n\":3,") != NULL);
    /* no claim of the modern era, and no progress token */
    EQ_STR(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\\u0000\":7}}}"), J({"jsonrpc":"2.0","id":2,"result":{}}) "\n");
    kept_count = 0;
    add(s, "progress", progress);
    CHECK(strstr(say(&p, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":\"progress\",\"_meta\":{\"progressToken\\u0000\":7}}}"), "notifications/progress") == NULL);
    end(s, &p);
}

TEST(null_is_harmless)
{
    mcp_req_fn none = NULL;
    mcp_server_free(NULL);
    EQ_INT(mcp_server_tool(NULL, NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_server_remove(NULL, 1, "x"), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_server_changed(NULL, 1), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_server_method(NULL, "x", none, NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_server_notify(NULL, NULL, "x", NULL), MCP_ERR_ARGUMENT);
    CHECK(mcp_server_attach(NULL, NULL, NULL) == NULL);
    mcp_server_detach(NULL, NULL);
    EQ_STR(mcp_server_address(NULL), "");
    CHECK(mcp_server_poster(NULL) == NULL);
    EQ_INT(mcp_server_after(NULL, 0, fire, NULL), 0);
    EQ_INT(mcp_server_cancel_timer(NULL, 1), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_server_run(NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_server_stop(NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_server_pollfds(NULL, NULL, 0), 0);
    EQ_INT(mcp_server_timeout(NULL), -1);
    EQ_INT(mcp_server_step(NULL, NULL, 0), MCP_ERR_ARGUMENT);
    EQ_STR(mcp_server_error(NULL), "");
    EQ_INT(mcp_server_stats(NULL).peers, 0);
    CHECK(!mcp_req_args(NULL) && !mcp_req_params(NULL) && !mcp_req_meta(NULL) && !mcp_req_client(NULL) && !mcp_req_capabilities(NULL));
    CHECK(!mcp_req_server(NULL) && !mcp_req_conn(NULL) && !mcp_req_begin(NULL) && !mcp_req_can(NULL, "/x"));
    EQ_STR(mcp_req_method(NULL), ""); EQ_STR(mcp_req_tool(NULL), ""); EQ_STR(mcp_req_protocol(NULL), ""); EQ_STR(mcp_req_principal(NULL), "");
    EQ_STR(mcp_arg_str(NULL, "x", "f"), "f"); EQ_INT(mcp_arg_int(NULL, "x", 3), 3); CHECK(mcp_arg_num(NULL, "x", 0.5) == 0.5 && mcp_arg_bool(NULL, "x", true));
    CHECK(mcp_req_cancelled(NULL));
    EQ_INT(mcp_req_progress(NULL, 1, 1, NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_log(NULL, "info", NULL, "1"), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_logf(NULL, "info", "x"), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_notify(NULL, "x", NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_text(NULL, "x"), MCP_ERR_ARGUMENT); EQ_INT(mcp_req_textf(NULL, "x"), MCP_ERR_ARGUMENT); EQ_INT(mcp_req_failf(NULL, "x"), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_fail(NULL, "x"), MCP_ERR_ARGUMENT); EQ_INT(mcp_req_error(NULL, 1, "x", NULL), MCP_ERR_ARGUMENT); EQ_INT(mcp_req_result(NULL, "{}", 2), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_end(NULL), MCP_ERR_ARGUMENT); EQ_INT(mcp_req_add_text(NULL, "", 0), MCP_ERR_ARGUMENT); EQ_INT(mcp_req_add_image(NULL, "", "", 0), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_add_audio(NULL, "", "", 0), MCP_ERR_ARGUMENT); EQ_INT(mcp_req_add_resource(NULL, "", "", "", 0, false), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_add_link(NULL, "", "", ""), MCP_ERR_ARGUMENT); EQ_INT(mcp_req_add_json(NULL, "", 0), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_req_structured(NULL, "", 0), MCP_ERR_ARGUMENT); EQ_INT(mcp_req_done(NULL), MCP_ERR_ARGUMENT); EQ_INT(mcp_req_defer(NULL), 0);
    CHECK(mcp_server_req(NULL, 1) == NULL);
    EQ_INT(mcp_req_on_cancel(NULL, on_cancel, NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_version(), MCP_VERSION_NUMBER);
    EQ_STR(mcp_strerror(MCP_ERR_TIMEOUT), "timed out");
    EQ_STR(mcp_strerror(99), "unknown status");
}

int main(void)
{
    RUN(initialize_negotiates);
    RUN(before_initialize);
    RUN(one_era_only);
    RUN(modern_metadata);
    RUN(identity_and_capabilities);
    RUN(bad_lines);
    RUN(ids_come_back_as_they_were);
    RUN(params_of_every_type);
    RUN(line_separators);
    RUN(framing);
    RUN(tool_results);
    RUN(registration);
    RUN(pages);
    RUN(other_lists);
    RUN(ten_thousand_tools);
    RUN(list_changed);
    RUN(list_changed_later);
    RUN(subscriptions);
    RUN(deferred);
    RUN(too_many_open);
    RUN(progress_and_log);
    RUN(hears_while_it_works);
    RUN(batches);
    RUN(own_methods);
    RUN(notification_with_an_id);
    RUN(keys_of_params);
    RUN(timers);
    RUN(cancelled_timers);
    RUN(ids_of_running_requests);
    RUN(nesting);
    RUN(ends_from_inside);
    RUN(a_peer_that_does_not_read);
    RUN(no_allocation_once_warm);
    RUN(every_allocation_fails);
    RUN(waits_at_the_end);
    RUN(from_inside_a_handler);
    RUN(a_flood_is_bounded);
    RUN(what_old_revisions_know);
    RUN(ids_that_look_alike);
    RUN(structured_results_have_text);
    RUN(free_tells_in_order);
    RUN(heard_from_a_timer);
    RUN(deferred_text_without_memory);
    RUN(what_the_client_can);
    RUN(no_listen_in_a_batch);
    RUN(traces);
    RUN(an_outlier_is_forgotten);
    RUN(cancelled_in_a_nested_turn);
    RUN(peers_do_not_meddle);
    RUN(a_full_buffer_is_not_copied_for_each_read);
    RUN(freed_by_a_detach);
    RUN(what_deferred_requests_hold);
    RUN(the_rest_of_a_dropped_line);
    RUN(keys_with_a_nul);
    RUN(null_is_harmless);
    return test_end();
}
