/* Where values are checked: a tool's arguments before its handler, its structured content before it is sent, a result that a client
 * asks to be checked. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "test.h"
#include "server_peer.h"

static int calls;
static const char *answer;              /* of the tool: JSON text for structured content; NULL: text alone */
static int answered;

static void tool(mcp_req *r, void *user)
{
    calls++;
    if (user) { answered = mcp_req_result(r, (const char *)user, MCP_NTS); return; }
    if (!answer) { answered = mcp_req_text(r, "done"); return; }
    (void)mcp_req_structured(r, answer, MCP_NTS);
    answered = mcp_req_done(r);
}

static void failing(mcp_req *r, void *user) { (void)user; answered = mcp_req_fail(r, "no"); }

static char logged[4096];
static void log_fn(int level, const char *line, void *user) { (void)user; snprintf(logged, sizeof logged, "%d %.4000s", level, line); }

static mcp_server *checking(bool trust_arguments, bool trust_results)
{
    mcp_server_desc d;
    memset(&d, 0, sizeof d);
    d.trust_arguments = trust_arguments;
    d.trust_results = trust_results;
    d.log.fn = log_fn;
    d.log.level = 1;
    d.alloc.resize = counting;
    return server_with(&d);
}

static int add(mcp_server *s, const char *name, const char *input, const char *output, mcp_req_fn fn, const char *result)
{
    mcp_tool t;
    memset(&t, 0, sizeof t);
    t.name = name; t.input_schema = input; t.output_schema = output; t.fn = fn; t.user = (void *)(uintptr_t)result;
    return mcp_server_tool(s, &t);
}

static const char *call(peer *p, int modern, const char *name, const char *args)
{
    static char line[4096];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{%s\"name\":\"%s\"%s%s}}", modern ? META "," : "", name,
             args ? ",\"arguments\":" : "", args ? args : "");
    return say(p, line);
}

#define INPUT J({"type": "object", "properties": {"unit": {"enum": ["celsius", "fahrenheit"]}, "count": {"type": "integer", "maximum": 5}}, \
    "required": ["unit"], "additionalProperties": false})
#define OUTPUT J({"type": "object", "properties": {"degrees": {"type": "number"}}, "required": ["degrees"]})

TEST(arguments)
{
    mcp_server *s = checking(false, false);
    peer p = join(s);
    EQ_INT(add(s, "t", INPUT, NULL, tool, NULL), MCP_OK);
    EQ_INT(add(s, "plain", NULL, NULL, tool, NULL), MCP_OK);
    legacy(&p);
    calls = 0; answer = NULL;
    EQ_STR(call(&p, 0, "t", "{\"unit\":\"kelvin\",\"count\":7,\"x\\n\":1}"),
        "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$.unit: \\\"kelvin\\\" is not one of \\\"celsius\\\", \\\"fahrenheit\\\"\\n"
        "$.count: 7 is over the maximum 5\\n$: \\\"x\\\\n\\\" is not allowed here; allowed are: \\\"unit\\\", \\\"count\\\"\"}],\"isError\":true}}\n");
    EQ_STR(call(&p, 0, "t", NULL), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$: \\\"unit\\\" is required\"}],\"isError\":true}}\n");
    EQ_STR(call(&p, 1, "t", "{}"), "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"$: \\\"unit\\\" is required\"}],\"isError\":true,"
        "\"resultType\":\"complete\"," SERVER_INFO "}}\n");
    EQ_INT(calls, 0);
    CHECK(strstr(call(&p, 0, "t", "{\"unit\":\"celsius\",\"count\":5}"), "\"done\"") != NULL);
    CHECK(strstr(call(&p, 0, "plain", "{\"x\":1}"), "\"done\"") != NULL);
    EQ_INT(calls, 2);
    CHECK(strstr(call(&p, 0, "t", "[]"), "-32602") != NULL);
    end(s, &p);
    EQ_INT(live_bytes, 0);
}

TEST(trusted)
{
    mcp_server *s = checking(true, true);
    peer p = join(s);
    EQ_INT(add(s, "t", INPUT, OUTPUT, tool, NULL), MCP_OK);
    EQ_INT(add(s, "other", J({"$schema": "http://x/own", "type": "object"}), J({"$ref": "http://x/y"}), tool, NULL), MCP_OK);
    legacy(&p);
    calls = 0; answer = "{}";
    CHECK(strstr(call(&p, 0, "t", "{\"unit\":7}"), "\"structuredContent\":{}") != NULL);
    CHECK(strstr(call(&p, 0, "other", "{}"), "\"structuredContent\":{}") != NULL);
    EQ_INT(calls, 2);
    end(s, &p);
    EQ_INT(live_bytes, 0);
}

TEST(structured_content)
{
    static const char breach[] = "tool \"t\": its structured content does not fit outputSchema: ";
    mcp_server *s = checking(false, false);
    peer p = join(s);
    char want[400];
    int modern;
    EQ_INT(add(s, "t", NULL, OUTPUT, tool, NULL), MCP_OK);
    EQ_INT(add(s, "f", NULL, OUTPUT, failing, NULL), MCP_OK);
    EQ_INT(add(s, "raw", NULL, OUTPUT, tool, J({"content": [], "structuredContent": {"degrees": "x"}})), MCP_OK);
    EQ_INT(add(s, "rawless", NULL, OUTPUT, tool, J({"content": []})), MCP_OK);
    EQ_INT(add(s, "rawerror", NULL, OUTPUT, tool, J({"content": [], "isError": true})), MCP_OK);
    EQ_INT(add(s, "list", NULL, J({"type": "array"}), tool, NULL), MCP_OK);
    legacy(&p);
    for (modern = 0; modern < 2; modern++) {
        answer = "{\"degrees\":22.5}";
        CHECK(strstr(call(&p, modern, "t", "{}"), "\"structuredContent\":{\"degrees\":22.5}") != NULL);
        EQ_INT(answered, MCP_OK);
        answer = "{\"degrees\":\"hot\"}";
        snprintf(want, sizeof want, "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32603,\"message\":\"tool \\\"t\\\": its structured content does not fit outputSchema: "
                 "$.degrees: \\\"hot\\\" is not a number\"}}\n");
        logged[0] = 0;
        EQ_STR(call(&p, modern, "t", "{}"), want);
        EQ_INT(answered, MCP_ERR_INVALID);
        snprintf(want, sizeof want, "0 %s$.degrees: \"hot\" is not a number", breach);
        EQ_STR(logged, want);
        answer = NULL;                      /* a promise that is not kept at all */
        CHECK(strstr(call(&p, modern, "t", "{}"), "\"code\":-32603") != NULL);
        snprintf(want, sizeof want, "0 %sthere is none", breach);
        EQ_STR(logged, want);
        CHECK(strstr(call(&p, modern, "f", "{}"), "\"isError\":true") != NULL);     /* errors promise nothing */
        EQ_INT(answered, MCP_OK);
        CHECK(strstr(call(&p, modern, "raw", "{}"), "$.degrees: \\\"x\\\" is not a number") != NULL);
        EQ_INT(answered, MCP_ERR_INVALID);
        CHECK(strstr(call(&p, modern, "rawless", "{}"), "there is none") != NULL);
        CHECK(strstr(call(&p, modern, "rawerror", "{}"), "\"isError\":true") != NULL);
        answer = "[1]";
        CHECK(strstr(call(&p, modern, "list", "{}"), "[1]") != NULL);
        EQ_INT(answered, MCP_OK);
    }
    end(s, &p);
    EQ_INT(live_bytes, 0);
}

TEST(registration)
{
    static const struct { const char *input, *output, *why; } bad[] = {
        { J({"properties": {"a": {"type": "strin"}}}), NULL, "tool \"t\": inputSchema#/properties/a/type: not the name of a type: \"strin\"" },
        { J({"$schema": "http://x/y"}), NULL, "tool \"t\": inputSchema#/$schema: this dialect is not supported (2020-12, 2019-09, draft-07, draft-06 and draft-04 are): \"http://x/y\"" },
        { NULL, J({"$ref": "http://x/y"}), "tool \"t\": outputSchema#/$ref: no part of this schema has that URI, and nothing is fetched: \"http://x/y\"" },
    };
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        mcp_server *s = checking(false, false);
        EQ_INT(add(s, "t", bad[i].input, bad[i].output, tool, NULL), MCP_ERR_ARGUMENT);
        EQ_STR(mcp_server_error(s), bad[i].why);
        mcp_server_free(s);
    }
    {
        mcp_server *s = checking(false, false);
        logged[0] = 0;
        EQ_INT(add(s, "t", J({"properties": {"a": {"pattern": "(?=a)"}}}), NULL, tool, NULL), MCP_OK);
        CHECK(strstr(logged, "1 tool \"t\": inputSchema#/properties/a/pattern is not enforced: ") == logged);
        mcp_server_free(s);
    }
    EQ_INT(live_bytes, 0);
}

/* Each allocation of a registration and of a call that does not fit may be the one that fails. */
TEST(without_memory)
{
    long n;
    int done = 0;
    for (n = 0; n < 400 && !done; n++) {
        mcp_server *s = checking(false, false);
        peer p = join(s);
        legacy(&p);
        allocations = 0;
        fail_at = n;
        if (add(s, "t", INPUT, OUTPUT, tool, NULL) == MCP_OK) {
            const char *said = call(&p, 0, "t", "{\"unit\":1,\"count\":6}");
            done = strstr(said, "$.count: 6 is over the maximum 5") != NULL;
        }
        fail_at = -1;
        end(s, &p);
        EQ_INT(live_bytes, 0);
    }
    CHECK(done && n > 10);
}

/* -- the client ------------------------------------------------------------------------------------------------------------- */

static void own_result(const mcp_reply *r, void *user)
{
    *(int *)user = r->status;
    CHECK(mcp_json_type(r->result) == MCP_JSON_OBJECT);     /* it can be read all the same */
    EQ_INT(mcp_reply_is_error(r), r->status != MCP_OK || mcp_json_bool(mcp_json_get(r->result, "isError"), false));
    if (r->status == MCP_ERR_INVALID) EQ_STR(mcp_reply_text(r, NULL), r->message);
}

TEST(results)
{
    static mcp_arena arena;
    mcp_server *s = checking(false, true);
    mcp_client_desc d;
    mcp_client *c;
    mcp_call k;
    mcp_io ends[2];
    int status = 1, i;
    mcp_arena_init(&arena, NULL, 0);
    EQ_INT(add(s, "t", NULL, OUTPUT, tool, NULL), MCP_OK);
    EQ_INT(add(s, "f", NULL, OUTPUT, failing, NULL), MCP_OK);
    EQ_INT(mcp_io_pair(NULL, ends), MCP_OK);
    CHECK(mcp_server_attach(s, &ends[0], NULL) != NULL);
    memset(&d, 0, sizeof d);
    d.name = "c"; d.version = "1"; d.io = ends[1]; d.now_ms = clock_fn; d.log.level = -1;
    c = mcp_client_new(&d);
    memset(&k, 0, sizeof k);
    k.tool = "t";
    k.output = mcp_schema_compile(&arena, mcp_json_parse(&arena, OUTPUT, MCP_NTS, NULL), NULL);
    CHECK(k.output != NULL);
    k.fn = own_result;
    k.user = &status;
#define ASK() do { status = 1; CHECK(mcp_client_send(c, &k) != 0); \
        for (i = 0; i < 50 && status == 1; i++) { (void)mcp_client_step(c, NULL, 0); (void)mcp_server_step(s, NULL, 0); } } while (0)
    answer = "{\"degrees\":1}";
    ASK(); EQ_INT(status, MCP_OK);
    answer = "{\"degrees\":\"x\",\"y\":1}";
    ASK(); EQ_INT(status, MCP_ERR_INVALID);
    EQ_STR(mcp_client_error(c), "$.degrees: \"x\" is not a number");
    answer = NULL;
    ASK(); EQ_INT(status, MCP_ERR_INVALID);
    EQ_STR(mcp_client_error(c), "the result has no structuredContent");
    k.tool = "f";
    ASK(); EQ_INT(status, MCP_OK);          /* an error promises nothing */
    k.tool = "t";
    k.output = NULL;
    ASK(); EQ_INT(status, MCP_OK);
    mcp_client_free(c);
    mcp_server_free(s);
    mcp_arena_free(&arena);
    EQ_INT(live_bytes, 0);
}

int main(void)
{
    RUN(arguments); RUN(trusted); RUN(structured_content); RUN(registration); RUN(without_memory); RUN(results);
    return test_end();
}
