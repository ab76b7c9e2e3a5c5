/* The client, second part: what a server may ask in the middle of a call, in both eras, and what is built on that. */
/* Behind the name of a test may stand the rows (B01 ...) that it covers of the catalogue which tests/faults.sh runs the cases of. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "test.h"
#include "peer.h"

#define FORM(properties, more) "{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{" properties "}" more "}}"
#define ELICIT(params) "{\"method\":\"elicitation/create\",\"params\":" params "}"
#define NEEDS(requests, state) "{\"resultType\":\"input_required\",\"inputRequests\":{" requests "}" state "}"
#define NAME FORM("\"name\":{\"type\":\"string\"}", ",\"required\":[\"name\"]")
#define ALL "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{\"tools\":{}},\"roots\":{}}"

/* -- a program that answers ------------------------------------------------------------------------------------------ */

static struct { int asked, status; const char *answer; mcp_id ask[8]; char method[8][32], message[8][64]; int act; mcp_id call; } g;

static int on_ask(mcp_client *c, mcp_id ask, const char *method, const mcp_json *params, mcp_writer *w, void *user)
{
    int i = g.asked++ % 8;
    (void)user;
    g.ask[i] = ask;
    snprintf(g.method[i], sizeof g.method[i], "%s", method);
    snprintf(g.message[i], sizeof g.message[i], "%s", mcp_json_str(mcp_json_get(params, "message"), ""));
    if (g.act == 1) { EQ_INT(mcp_client_answer(c, ask, MCP_OK, g.answer), MCP_OK); return MCP_OK; }
    if (g.act == 2) { EQ_INT(mcp_client_cancel(c, g.call, NULL), MCP_OK); return MCP_OK; }
    if (g.act == 3) { mcp_client_free(c); return MCP_OK; }
    if (g.act == 4) { mcp_put_int(w, NULL, 1); return MCP_OK; }
    if (g.answer && g.status == MCP_OK) {
        mcp_arena a;
        mcp_arena_init(&a, NULL, 0);
        mcp_json_each(m, mcp_json_parse(&a, g.answer, MCP_NTS, NULL)) mcp_put_json(w, mcp_json_key(m), m);
        mcp_arena_free(&a);
    }
    return g.status;
}

static mcp_client *asking(peer *p, int era, const char *caps)
{
    mcp_client_desc d = desc_of(p, era);
    memset(&g, 0, sizeof g);
    d.on_ask = on_ask;
    d.capabilities = caps;
    return ready(p, &d);
}

/* Starts a tool call and takes it off the wire. Its id there. */
static long long begin(mcp_client *c, peer *p, result *r)
{
    mcp_call k = tool_call("x", "{\"a\":1.0}", r);
    g.call = mcp_client_send(c, &k);
    turns(c, 1);
    return id_of(hear(p));
}

/* -- more input ------------------------------------------------------------------------------------------------------- */

TEST(one_round)                                                                        /* D72 D73 */
{
    peer p;
    result r;
    mcp_client *c = asking(&p, MCP_ERA_MODERN, ALL);
    long long id = begin(c, &p, &r), next;
    const char *s;
    g.answer = "{\"action\":\"accept\",\"content\":{\"name\":\"Zo\\u00eb\"}}";
    reply(&p, id, NEEDS("\"k\\\"1\":" ELICIT(NAME), ",\"requestState\":\"a\\u0000\\ud800 \\u00e9/\""));
    turns(c, 1);
    EQ_INT(g.asked, 1);
    EQ_STR(g.method[0], "elicitation/create");
    EQ_STR(g.message[0], "m");
    s = hear(&p);
    next = id_of(s);
    CHECK(next > id);
    CHECK(has(s, "\"method\":\"tools/call\",\"params\":{\"name\":\"x\",\"arguments\":{\"a\":1.0},\"inputResponses\":{\"k\\\"1\":{\"action\":\"accept\",\"content\":{\"name\":\"Zo\xC3\xAB\"}}},"
        "\"requestState\":\"a\\u0000\\ud800 \xC3\xA9/\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\""));
    EQ_INT(r.calls, 0);
    reply(&p, id, OK_RESULT);                                /* the old id is over */
    turns(c, 1);
    EQ_INT(r.calls, 0);
    reply(&p, next, NEEDS("", ",\"requestState\":\"2\""));   /* a second round, which needs nothing */
    turns(c, 1);
    s = hear(&p);
    CHECK(has(s, "\"requestState\":\"2\"") && !has(s, "inputResponses") && id_of(s) > next);
    reply(&p, id_of(s), OK_RESULT);
    turns(c, 1);
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, MCP_OK);
    EQ_INT(r.id, g.call);
    EQ_STR(r.text, "ok");
    id = begin(c, &p, &r);                                   /* the next call has nothing of this one */
    reply(&p, id, NEEDS("\"q\":" ELICIT(NAME), ""));
    turns(c, 1);
    s = hear(&p);
    CHECK(has(s, "inputResponses") && !has(s, "requestState"));
    reply(&p, id_of(s), OK_RESULT);
    turns(c, 1);
    EQ_INT(r.status, MCP_OK);
    EQ_INT(mcp_client_stats(c).pending, 0);
    done(c, &p);
}

TEST(several_at_once)
{
    peer p;
    result r;
    mcp_client *c = asking(&p, MCP_ERA_MODERN, ALL);
    long long id = begin(c, &p, &r);
    const char *s;
    g.status = MCP_ERR_AGAIN;
    reply(&p, id, NEEDS("\"a\":" ELICIT(NAME) ",\"b\":{\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[],\"maxTokens\":9,\"tools\":[]}},\"c\":{\"method\":\"roots/list\"}",
        ",\"requestState\":\"s\""));
    turns(c, 2);
    EQ_INT(g.asked, 3);
    EQ_STR(hear(&p), "");
    EQ_STR(g.method[1], "sampling/createMessage");
    EQ_STR(g.method[2], "roots/list");
    g_now += 40000;                                          /* the user's time is not the server's */
    turns(c, 1);
    EQ_INT(r.calls, 0);
    EQ_INT(mcp_client_answer(c, g.ask[2], MCP_OK, "{\"roots\": []}"), MCP_OK);
    EQ_INT(mcp_client_answer(c, g.ask[2], MCP_OK, "{\"roots\": []}"), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_client_answer(c, g.ask[0], MCP_ERR_DECLINED, NULL), MCP_OK);
    turns(c, 1);
    EQ_STR(hear(&p), "");
    EQ_INT(mcp_client_answer(c, g.ask[1], MCP_OK, "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"n\",\"input\":{}}],\"model\":\"m\",\"stopReason\":\"toolUse\"}"), MCP_OK);
    turns(c, 1);
    s = hear(&p);
    CHECK(has(s, "\"inputResponses\":{\"c\":{\"roots\":[]},\"a\":{\"action\":\"decline\"},\"b\":{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\""));
    g_now += 20000;
    turns(c, 1);
    EQ_INT(r.calls, 0);
    reply(&p, id_of(s), OK_RESULT);
    turns(c, 1);
    EQ_INT(r.status, MCP_OK);
    done(c, &p);
}

/* One InputRequiredResult and how the call ends; `sent`: what the retry must hold, NULL: there is none. */
static void input_row(const char *caps, int how, const char *answer, const char *result_text, int status, const char *word)
{
    peer p;
    result r;
    mcp_client *c = asking(&p, MCP_ERA_MODERN, caps);
    long long id = begin(c, &p, &r);
    g.status = how;
    g.answer = answer;
    reply(&p, id, result_text);
    turns(c, 1);
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, status);
    if (word && !has(r.message, word)) printf("  %s\n", r.message);
    CHECK(!word || has(r.message, word));
    EQ_STR(hear(&p), "");
    EQ_INT(mcp_client_stats(c).pending, 0);
    done(c, &p);
}

TEST(input_that_ends_the_call)                                                             /* D75 */
{
    static const char *const bad[] = { "{\"resultType\":\"input_required\"}", NEEDS("\"q\":7", ""), NEEDS("\"q\":{\"method\":\"tools/call\"}", ""), NEEDS("\"q\":{\"method\":\"roots/list\",\"params\":7}", ""),
        "{\"resultType\":\"input_required\",\"requestState\":7}", "{\"resultType\":\"input_required\",\"inputRequests\":[]}", "{\"resultType\":\"input_required\",\"inputRequests\":7,\"requestState\":\"s\"}" };
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) input_row(ALL, MCP_OK, "{}", bad[i], MCP_ERR_PROTOCOL, "input");
    input_row("{}", MCP_OK, "{}", NEEDS("\"q\":" ELICIT(NAME), ""), MCP_ERR_CAPABILITY, "is not among the client");
    input_row("{\"elicitation\":{\"url\":{}}}", MCP_OK, "{}", NEEDS("\"q\":" ELICIT(NAME), ""), MCP_ERR_CAPABILITY, NULL);
    input_row("{\"elicitation\":{}}", MCP_OK, "{}", NEEDS("\"q\":" ELICIT("{\"mode\":\"url\"}"), ""), MCP_ERR_CAPABILITY, NULL);
    input_row(ALL, MCP_OK, "{}", NEEDS("\"q\":" ELICIT("{\"mode\":\"voice\"}"), ""), MCP_ERR_CAPABILITY, NULL);
    input_row("{\"sampling\":{}}", MCP_OK, "{}", NEEDS("\"q\":{\"method\":\"sampling/createMessage\",\"params\":{\"tools\":[]}}", ""), MCP_ERR_CAPABILITY, NULL);
    input_row(ALL, MCP_ERR_DECLINED, NULL, NEEDS("\"q\":{\"method\":\"roots/list\"}", ""), MCP_ERR_DECLINED, "declined");
    input_row(ALL, MCP_ERR_CANCELLED, NULL, NEEDS("\"q\":{\"method\":\"roots/list\"},\"r\":" ELICIT(NAME), ""), MCP_ERR_CANCELLED, NULL);
    input_row(ALL, MCP_ERR_UNKNOWN, NULL, NEEDS("\"q\":{\"method\":\"roots/list\"}", ""), MCP_ERR_CAPABILITY, "does not know");
    input_row(ALL, MCP_OK, "{\"content\":{\"name\":7}}", NEEDS("\"q\":" ELICIT(NAME), ""), MCP_ERR_ARGUMENT, "name is not a string");
    input_row(ALL, MCP_OK, "{\"action\":\"yes\"}", NEEDS("\"q\":" ELICIT(NAME), ""), MCP_ERR_ARGUMENT, "action");
}

/* Without an end: it is given up, and the number of requests is bounded. */
TEST(rounds)                                                                               /* D74 */
{
    peer p;
    result r;
    int n = 0;
    mcp_client *c = asking(&p, MCP_ERA_MODERN, ALL);
    long long id = begin(c, &p, &r);
    while (r.calls == 0 && n < 100) {
        const char *s;
        reply(&p, id, "{\"resultType\":\"input_required\",\"requestState\":\"s\"}");
        turns(c, 1);
        s = hear(&p);
        if (*s) id = id_of(s);
        n++;
    }
    EQ_INT(n, 11);
    EQ_INT(r.status, MCP_ERR_LIMIT);
    CHECK(has(r.message, "again"));
    done(c, &p);
}

/* Whatever happens to a call whose question is open, the question goes with it. */
TEST(questions_go_with_the_call)
{
    peer p;
    result r;
    int i;
    for (i = 0; i < 6; i++) {
        mcp_client *c = asking(&p, MCP_ERA_MODERN, ALL);
        long long id = begin(c, &p, &r);
        g.status = MCP_ERR_AGAIN;
        if (i >= 3) g.act = i - 1;
        reply(&p, id, NEEDS("\"q\":" ELICIT(NAME) ",\"r\":{\"method\":\"roots/list\"}", ""));
        if (i == 3) {                                        /* freed inside; act 2, 3, 4 */
            turns(c, 1);
            EQ_INT(r.status, MCP_ERR_CANCELLED);
        } else if (i == 4) {
            turns(c, 1);
            EQ_INT(r.calls, 1);
            EQ_INT(r.status, MCP_ERR_CLOSED);
            CHECK(p.closed);
            peer_free(&p);
            EQ_INT(g_live, 0);
            continue;
        } else turns(c, 1);
        if (i == 5) { EQ_INT(r.status, MCP_ERR_FAILED); CHECK(has(r.message, "cannot be sent")); }
        if (i == 0) {
            EQ_INT(mcp_client_cancel(c, g.call, "no more"), MCP_OK);
            EQ_INT(mcp_client_answer(c, g.ask[0], MCP_OK, "{\"content\":{\"name\":\"n\"}}"), MCP_ERR_UNKNOWN);
            turns(c, 1);
            EQ_INT(r.status, MCP_ERR_CANCELLED);
        }
        if (i == 1) { g_now += 600001; turns(c, 1); EQ_INT(r.status, MCP_ERR_TIMEOUT); }
        if (i == 2) { p.eof = true; turns(c, 2); EQ_INT(r.status, MCP_ERR_CLOSED); }
        EQ_STR(hear(&p), "");
        EQ_INT(r.calls, 1);
        EQ_INT(mcp_client_answer(c, g.ask[0], MCP_OK, "{\"content\":{\"name\":\"n\"}}"), MCP_ERR_UNKNOWN);
        EQ_INT(mcp_client_answer(c, g.ask[1], MCP_OK, "{\"roots\":[]}"), MCP_ERR_UNKNOWN);
        done(c, &p);
    }
}

/* What a call needs to go on with is kept where the last one had it: nothing is allocated once warm, whatever its size. */
TEST(warm)
{
    static char args[20000];
    peer p;
    result r;
    mcp_call k;
    long before = 0;
    int i;
    mcp_client *c = asking(&p, MCP_ERA_MODERN, ALL);
    memset(args, ' ', sizeof args - 1);
    memcpy(args, "{\"a\":\"", 6);
    memset(args + 6, 'x', 15000);
    memcpy(args + sizeof args - 3, "\"}", 2);
    for (i = 0; i < 10; i++) {
        if (i == 5) before = g_calls;
        k = tool_call("x", args, &r);
        CHECK(mcp_client_send(c, &k) != 0);
        turns(c, 1);
        reply(&p, id_of(hear(&p)), OK_RESULT);
        turns(c, 1);
        EQ_INT(r.status, MCP_OK);
    }
    EQ_INT(g_calls - before, 0);
    done(c, &p);
}

/* -- forms ------------------------------------------------------------------------------------------------------------ */

/* An answer to a form, in both eras: what goes out, or the sentence why not. */
static void form_row(const char *properties, const char *answer, const char *goes, const char *why)
{
    char schema[2048], line[4096], wanted[1024];
    peer p;
    result r;
    mcp_client *c = asking(&p, MCP_ERA_MODERN, "{\"elicitation\":{}}");
    long long id = begin(c, &p, &r);
    const char *s;
    snprintf(schema, sizeof schema, "{\"message\":\"m\",\"mode\":\"form\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{%s},\"required\":[\"must\"]}}", properties);
    snprintf(line, sizeof line, "{\"resultType\":\"input_required\",\"inputRequests\":{\"q\":{\"method\":\"elicitation/create\",\"params\":%s}}}", schema);
    g.status = MCP_ERR_AGAIN;
    reply(&p, id, line);
    turns(c, 1);
    EQ_INT(g.asked, 1);
    EQ_INT(mcp_client_answer(c, g.ask[0], MCP_OK, answer), goes ? MCP_OK : MCP_ERR_ARGUMENT);
    turns(c, 1);
    s = hear(&p);
    if (goes) {
        snprintf(wanted, sizeof wanted, "\"inputResponses\":{\"q\":%s},", goes);
        if (!has(s, wanted)) printf("  %s\n  %s\n", s, wanted);
        CHECK(has(s, wanted));
    } else {
        EQ_STR(s, "");
        if (!has(mcp_client_error(c), why)) printf("  %s\n", mcp_client_error(c));
        CHECK(has(mcp_client_error(c), why));
        EQ_INT(mcp_client_answer(c, g.ask[0], MCP_ERR_CANCELLED, NULL), MCP_OK);   /* it is still open */
        turns(c, 1);
        CHECK(has(hear(&p), "{\"action\":\"cancel\"}"));
    }
    done(c, &p);

    c = asking(&p, MCP_ERA_LEGACY, "{\"elicitation\":{}}");
    g.answer = answer;
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"method\":\"elicitation/create\",\"params\":%s}", schema);
    say(&p, line);
    turns(c, 1);
    if (goes) snprintf(wanted, sizeof wanted, "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"result\":%s}", goes);
    if (!goes) snprintf(wanted, sizeof wanted, "{\"jsonrpc\":\"2.0\",\"id\":\"s\",\"error\":{\"code\":-32603,\"message\":\"%s\"}}", mcp_client_error(c));
    EQ_STR(hear(&p), wanted);
    if (!goes) CHECK(has(mcp_client_error(c), why));
    done(c, &p);
}

#define ACCEPT(content) "{\"action\":\"accept\",\"content\":" content "}"
static void field_row(const char *schema, const char *value, const char *why)
{
    char properties[512], answer[256], goes[256];
    snprintf(properties, sizeof properties, "\"must\":%s", schema);
    snprintf(answer, sizeof answer, "{\"action\":\"accept\",\"content\":{\"must\":%s}}", value);
    snprintf(goes, sizeof goes, "{\"action\":\"accept\",\"content\":{\"must\":%s}}", value);
    form_row(properties, answer, why ? NULL : goes, why);
}

TEST(forms)
{
    static const char defaults[] = "\"must\":{\"type\":\"string\",\"default\":\"John\"},\"age\":{\"type\":\"integer\",\"default\":30},\"score\":{\"type\":\"number\",\"default\":95.50},"
        "\"s\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"],\"default\":\"b\"},\"ok\":{\"type\":\"boolean\",\"default\":true},\"m\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"x\",\"title\":\"X\"}]},\"default\":[\"x\"]},"
        "\"bad\":{\"type\":\"string\",\"default\":7},\"none\":{\"type\":\"string\"}";
    form_row(defaults, "{}", ACCEPT("{\"must\":\"John\",\"age\":30,\"score\":95.50,\"s\":\"b\",\"ok\":true,\"m\":[\"x\"]}"), NULL);
    form_row(defaults, ACCEPT("{\"more\":null}"), NULL, "more is nothing that a form can hold");
    form_row(defaults, ACCEPT("{\"age\":1,\"more\":7}"), ACCEPT("{\"age\":1,\"more\":7,\"must\":\"John\",\"score\":95.50,\"s\":\"b\",\"ok\":true,\"m\":[\"x\"]}"), NULL);
    form_row(defaults, "{\"action\":\"decline\",\"content\":{\"age\":\"x\"}}", "{\"action\":\"decline\"}", NULL);
    form_row(defaults, "{\"action\":\"cancel\",\"_meta\":{\"a\":1}}", "{\"action\":\"cancel\",\"_meta\":{\"a\":1}}", NULL);
    form_row(defaults, "{\"action\":7}", NULL, "action");
    form_row(defaults, "{\"content\":[]}", NULL, "content is not an object");
    form_row("\"must\":{\"type\":\"string\"}", "{}", NULL, "must is missing");
    field_row("{\"type\":\"string\"}", "null", "must is not a string");
    field_row("{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\xC3\xA9\"", "too short");
    field_row("{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"\xC3\xA9\xC3\xA9\xE2\x82\xAC\"", NULL);
    field_row("{\"type\":\"string\",\"minLength\":2,\"maxLength\":3}", "\"abcd\"", "too long");
    field_row("{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}", "\"a\"", NULL);
    field_row("{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}", "\"c\"", "not one of");
    field_row("{\"type\":\"string\",\"oneOf\":[{\"const\":\"a\",\"title\":\"A\"}]}", "\"A\"", "not one of");
    field_row("{\"type\":\"string\",\"oneOf\":[{\"const\":\"a\",\"title\":\"A\"}]}", "\"a\"", NULL);
    field_row("{\"type\":\"integer\",\"minimum\":0,\"maximum\":10}", "10", NULL);
    field_row("{\"type\":\"integer\",\"minimum\":0,\"maximum\":10}", "10.0", NULL);
    field_row("{\"type\":\"integer\",\"minimum\":0,\"maximum\":10}", "1.5", "not an integer");
    field_row("{\"type\":\"integer\"}", "123456789012345678901234567890", NULL);
    field_row("{\"type\":\"number\",\"minimum\":0.5}", "0.25", "under the minimum");
    field_row("{\"type\":\"number\",\"maximum\":0.5}", "1e300", "over the maximum");
    field_row("{\"type\":\"number\"}", "\"1\"", "not a number");
    field_row("{\"type\":\"boolean\"}", "0", "not true or false");
    field_row("{\"type\":\"boolean\"}", "false", NULL);
    field_row("{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\",\"c\"]}}", "[]", "too few");
    field_row("{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\",\"c\"]}}", "[\"a\",\"b\",\"c\"]", "too many");
    field_row("{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\",\"c\"]}}", "[\"a\",\"d\"]", "not one of");
    field_row("{\"type\":\"array\",\"items\":{\"type\":\"string\"}}", "[1]", "not a string");
    field_row("{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"a\"},{\"const\":\"b\"}]}}", "[\"b\"]", NULL);
    field_row("{\"type\":\"array\"}", "\"a\"", "not an array");
    field_row("{\"type\":\"string\",\"format\":\"email\"}", "\"a@b.c\"", NULL);
    field_row("{\"type\":\"string\",\"format\":\"email\"}", "\"a@b@c\"", "e-mail");
    field_row("{\"type\":\"string\",\"format\":\"email\"}", "\"@b\"", "e-mail");
    field_row("{\"type\":\"string\",\"format\":\"email\"}", "\"a b@c\"", "e-mail");
    field_row("{\"type\":\"string\",\"format\":\"email\"}", "\"a\"", "e-mail");
    field_row("{\"type\":\"string\",\"format\":\"uri\"}", "\"https://a/b?c\"", NULL);
    field_row("{\"type\":\"string\",\"format\":\"uri\"}", "\"urn:x\"", NULL);
    field_row("{\"type\":\"string\",\"format\":\"uri\"}", "\"/a:b\"", "URI");
    field_row("{\"type\":\"string\",\"format\":\"uri\"}", "\"1a:b\"", "URI");
    field_row("{\"type\":\"string\",\"format\":\"uri\"}", "\"a: b\"", "URI");
    field_row("{\"type\":\"string\",\"format\":\"uri\"}", "\"a:\"", "URI");
    field_row("{\"type\":\"string\",\"format\":\"date\"}", "\"2024-02-29\"", NULL);
    field_row("{\"type\":\"string\",\"format\":\"date\"}", "\"2026-08-31\"", NULL);
    field_row("{\"type\":\"string\",\"format\":\"date\"}", "\"2026-02-29\"", "date");
    field_row("{\"type\":\"string\",\"format\":\"date\"}", "\"2026-09-31\"", "date");
    field_row("{\"type\":\"string\",\"format\":\"date\"}", "\"2026-13-01\"", "date");
    field_row("{\"type\":\"string\",\"format\":\"date\"}", "\"2026-1-01\"", "date");
    field_row("{\"type\":\"string\",\"format\":\"date\"}", "\"2026-01-011\"", "date");
    field_row("{\"type\":\"string\",\"format\":\"date-time\"}", "\"2026-07-28T12:30:00Z\"", NULL);
    field_row("{\"type\":\"string\",\"format\":\"date-time\"}", "\"2026-07-28t23:59:60.25+02:00\"", NULL);
    field_row("{\"type\":\"string\",\"format\":\"date-time\"}", "\"2026-07-28T12:30:00\"", "time");
    field_row("{\"type\":\"string\",\"format\":\"date-time\"}", "\"2026-07-28T24:30:00Z\"", "time");
    field_row("{\"type\":\"string\",\"format\":\"date-time\"}", "\"2026-07-28T12:30:00.Z\"", "time");
    field_row("{\"type\":\"string\",\"format\":\"date-time\"}", "\"2026-07-28T12:30:00.5\"", "time");
    field_row("{\"type\":\"string\",\"format\":\"date-time\"}", "\"2026-07-28T12:30:00+2:00\"", "time");
    field_row("{\"type\":\"string\",\"format\":\"date-time\"}", "\"2026-07-28 12:30:00Z\"", "time");
}

/* -- what a model says, and roots --------------------------------------------------------------------------------------- */

/* One answer to one question, in the middle of a call or at the end of one: sent as it is, or refused with this word. */
static void shape_row(const char *version, const char *method, const char *answer, const char *word)
{
    char line[512];
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, version ? MCP_ERA_LEGACY : MCP_ERA_MODERN);
    mcp_client *c;
    long long id;
    int i;
    memset(&g, 0, sizeof g);
    d.on_ask = on_ask;
    d.capabilities = ALL;
    if (version) {
        c = mcp_client_new(&d);
        turns(c, 1);
        snprintf(line, sizeof line, "{\"protocolVersion\":\"%s\"}", version);
        reply(&p, id_of(hear(&p)), line);
        turns(c, 1);
        (void)hear(&p);
    } else c = ready(&p, &d);
    for (i = 0; i < 2; i++) {                                           /* out of on_ask, and later */
        const char *s;
        g.asked = 0;
        g.answer = answer;
        g.status = i ? MCP_ERR_AGAIN : MCP_OK;
        id = begin(c, &p, &r);
        if (version) snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"%s\",\"params\":{}}", method);
        else snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%lld,\"result\":" NEEDS("\"q\":{\"method\":\"%s\",\"params\":{}}", "") "}", id, method);
        say(&p, line);
        turns(c, 1);
        EQ_INT(g.asked, 1);
        if (i) {
            EQ_INT(mcp_client_answer(c, g.ask[0], MCP_OK, answer), word ? MCP_ERR_ARGUMENT : MCP_OK);
            if (word) EQ_INT(mcp_client_answer(c, g.ask[0], MCP_ERR_DECLINED, NULL), MCP_OK);       /* it was still open */
        }
        turns(c, 1);
        s = hear(&p);
        if (!word) { snprintf(line, sizeof line, version ? "\"result\":%s}" : "\"inputResponses\":{\"q\":%s}", answer); CHECK(has(s, line)); }
        else if (version) CHECK(has(s, "\"error\":"));
        else { EQ_STR(s, ""); EQ_INT(r.status, i ? MCP_ERR_DECLINED : MCP_ERR_ARGUMENT); }
        if (word && (!i || version)) { if (!has(mcp_client_error(c), word)) printf("  (%s)\n", mcp_client_error(c)); CHECK(has(mcp_client_error(c), word)); }
    }
    done(c, &p);
}

#define SAID(content) "{\"role\":\"assistant\",\"content\":" content ",\"model\":\"m\"}"
#define TEXT "{\"type\":\"text\",\"text\":\"t\"}"
#define AUDIO "{\"type\":\"audio\",\"data\":\"AA==\",\"mimeType\":\"audio/wav\"}"
#define USE "{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"n\",\"input\":{}}"

TEST(shapes_of_answers)
{
    static const char *const good[] = { SAID(TEXT), SAID("{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"image/png\"}"), "{\"role\":\"user\",\"content\":" TEXT ",\"model\":\"\",\"stopReason\":\"own\",\"x\":1}" };
    static const char *const newer[] = { SAID("[" TEXT "," USE "]"), SAID(USE), SAID("[]"), SAID("{\"type\":\"tool_result\",\"toolUseId\":\"1\",\"content\":[]}") };
    static const struct { const char *answer, *word; } bad[] = {
        { "{}", "role" }, { "{\"content\":" TEXT ",\"model\":\"m\"}", "role" }, { "{\"role\":\"system\",\"content\":" TEXT ",\"model\":\"m\"}", "role" },
        { "{\"role\":\"user\",\"content\":" TEXT "}", "no model" }, { "{\"role\":\"user\",\"content\":" TEXT ",\"model\":7}", "no model" },
        { "{\"role\":\"user\",\"content\":" TEXT ",\"model\":\"m\",\"stopReason\":1}", "stopReason" },
        { "{\"role\":\"user\",\"model\":\"m\"}", "content is none" }, { SAID("\"text\""), "content is none" }, { SAID("{\"type\":\"video\"}"), "content is none" },
        { SAID("{\"type\":\"text\"}"), "lacks" }, { SAID("{\"type\":\"text\",\"text\":1}"), "lacks" }, { SAID("{\"type\":\"image\",\"data\":\"\"}"), "lacks" },
        { SAID("{\"type\":\"audio\",\"mimeType\":\"\"}"), "" },
    };
    static const char *const bad_newer[] = { SAID("[" TEXT ",7]"), SAID("{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"n\"}"), SAID("{\"type\":\"tool_result\",\"toolUseId\":\"1\"}") };
    static const char *const roots[] = { "{\"roots\":[]}", "{\"roots\":[{\"uri\":\"file:///a\"},{\"uri\":\"file://h/b\",\"name\":\"B\"}]}" };
    static const char *const bad_roots[] = { "{}", "{\"roots\":{}}", "{\"roots\":[\"file:///a\"]}", "{\"roots\":[{\"name\":\"a\"}]}", "{\"roots\":[{\"uri\":\"/a\"}]}", "{\"roots\":[{\"uri\":\"file:/a\"}]}", "{\"roots\":[{\"uri\":\"file:///a\"},{\"uri\":\"https://a\"}]}",
        "{\"roots\":[{\"uri\":\"file:///a\",\"name\":7}]}" };
    static const char *const versions[] = { NULL, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05" };
    size_t v, i;
    for (v = 0; v < 5; v++) {
        for (i = 0; i < sizeof good / sizeof *good; i++) shape_row(versions[v], "sampling/createMessage", good[i], NULL);
        for (i = 0; i < sizeof newer / sizeof *newer; i++) shape_row(versions[v], "sampling/createMessage", newer[i], v < 2 ? NULL : "protocol version does not have");
        shape_row(versions[v], "sampling/createMessage", SAID(AUDIO), v < 4 ? NULL : "protocol version does not have");
        for (i = 0; i < sizeof bad / sizeof *bad; i++) shape_row(versions[v], "sampling/createMessage", bad[i].answer, bad[i].word);
        for (i = 0; i < sizeof roots / sizeof *roots; i++) shape_row(versions[v], "roots/list", roots[i], NULL);
        for (i = 0; i < sizeof bad_roots / sizeof *bad_roots; i++) shape_row(versions[v], "roots/list", bad_roots[i], "root");
    }
    for (i = 0; i < sizeof bad_newer / sizeof *bad_newer; i++) shape_row(NULL, "sampling/createMessage", bad_newer[i], "content");
}

/* -- the legacy era ----------------------------------------------------------------------------------------------------- */

static void refused_row(const char *caps, const char *method, const char *params, int code)
{
    char line[512], wanted[64];
    peer p;
    mcp_client *c = asking(&p, MCP_ERA_LEGACY, caps);
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"%s\",\"params\":%s}", method, params);
    say(&p, line);
    turns(c, 1);
    snprintf(wanted, sizeof wanted, "\"id\":5,\"error\":{\"code\":%d", code);
    CHECK(has(hear(&p), wanted));
    EQ_INT(g.asked, 0);
    done(c, &p);
}

/* A form in which each of many things is looked for among many others is refused, and costs no time to speak of. */
static void huge_form_row(const char *what, const char *mid, const char *one, const char *end)
{
    peer p;
    mcp_client *c = asking(&p, MCP_ERA_LEGACY, "{\"elicitation\":{}}");
    char item[64];
    int i, n = 8000;
    g.answer = "{}";
    put(&p.say, &p.say_len, &p.say_cap, what, strlen(what));
    for (i = 0; i < n; i++) {
        snprintf(item, sizeof item, one, i ? "," : "", i);
        put(&p.say, &p.say_len, &p.say_cap, item, strlen(item));
    }
    put(&p.say, &p.say_len, &p.say_cap, mid, strlen(mid));
    for (i = 0; i < n; i++) {
        snprintf(item, sizeof item, "%s\"b\"", i ? "," : "");
        put(&p.say, &p.say_len, &p.say_cap, item, strlen(item));
    }
    say(&p, end);
    while (p.say_len) turns(c, 1);
    turns(c, 1);
    EQ_STR(hear(&p), "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603,\"message\":\"the answer does not fit the question: the form is too large\"}}");
    CHECK(has(mcp_client_error(c), "the form is too large"));
    done(c, &p);
}

TEST(huge_forms)
{
#define ASKS "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\",\"requestedSchema\":{\"properties\":{"
    huge_form_row(ASKS, "},\"required\":[", "%s\"a%d\":{}", "]}}}");
    huge_form_row(ASKS "\"a\":{\"type\":\"array\",\"items\":{\"enum\":[", ",\"b\"]},\"default\":[", "%s\"a%d\"", "]}}}}}");
    huge_form_row(ASKS "\"a\":{\"type\":\"array\",\"x\":{", "},\"default\":[", "%s\"a%d\":0", "]}}}}}");
}

/* A server that answers and does not read: what goes on by itself, page after page or round after round, does not pile up. */
static bool full;
static ptrdiff_t full_write(void *user, const void *buf, size_t n) { return full ? MCP_ERR_AGAIN : peer_write(user, buf, n); }
static bool any_item(const mcp_json *item, void *user) { (void)item; (void)user; return true; }

TEST(what_goes_on_by_itself)
{
    static const char *const answers[2] = { "{\"resultType\":\"complete\",\"tools\":[],\"nextCursor\":\"%03d%s\"}",
                                            "{\"resultType\":\"input_required\",\"requestState\":\"%03d%s\"}" };
    char text[3001], line[4096];
    int what, i;
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (what = 0; what < 2; what++) {
        peer p;
        result r;
        mcp_client_desc d = desc_of(&p, MCP_ERA_MODERN);
        mcp_call k = tool_call("x", NULL, &r);
        mcp_client *c;
        mcp_id id;
        d.io.write = full_write;
        d.max_queue = 20000;
        d.max_rounds = 1000;
        full = false;
        c = ready(&p, &d);
        full = true;
        if (what == 0) {
            k.tool = NULL;
            k.method = "tools/list";
            k.each = any_item;
        }
        id = mcp_client_send(c, &k);
        for (i = 0; i < 50; i++) {
            snprintf(line, sizeof line, answers[what], i, text);
            reply(&p, (long long)id + i, line);
            turns(c, 3);
        }
        EQ_INT(r.calls, 1);
        EQ_INT(r.status, MCP_ERR_LIMIT);
        CHECK(mcp_client_stats(c).queued < 30000);
        done(c, &p);
    }
}

TEST(legacy_capabilities)
{
    refused_row("{}", "roots/list", "{}", -32601);
    refused_row("{\"roots\":{}}", "sampling/createMessage", "{}", -32601);
    refused_row("{\"sampling\":{}}", "sampling/createMessage", "{\"tools\":[]}", -32602);
    refused_row("{\"sampling\":{}}", "elicitation/create", "{}", -32601);
    refused_row("{\"elicitation\":{}}", "elicitation/create", "{\"mode\":\"url\"}", -32602);
    refused_row("{\"elicitation\":{\"url\":{}}}", "elicitation/create", "{}", -32602);
    refused_row("{\"elicitation\":{\"url\":{}}}", "elicitation/create", "{\"mode\":\"x\"}", -32602);
}

/* Who asks without end is told so. */
TEST(too_many_questions)
{
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    long long id;
    memset(&g, 0, sizeof g);
    g.status = MCP_ERR_AGAIN;
    d.on_ask = on_ask;
    d.capabilities = ALL;
    d.max_pending = 2;
    c = ready(&p, &d);
    say(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}");
    say(&p, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"roots/list\"}");
    say(&p, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}");
    turns(c, 1);
    EQ_STR(hear(&p), "{\"jsonrpc\":\"2.0\",\"id\":3,\"error\":{\"code\":-31000,\"message\":\"busy: too many requests are open\"}}");
    EQ_INT(g.asked, 2);
    done(c, &p);
    d = desc_of(&p, MCP_ERA_MODERN);
    d.on_ask = on_ask;
    d.capabilities = ALL;
    d.max_pending = 2;
    c = ready(&p, &d);
    id = begin(c, &p, &r);
    reply(&p, id, NEEDS("\"a\":{\"method\":\"roots/list\"},\"b\":{\"method\":\"roots/list\"},\"c\":{\"method\":\"roots/list\"}", ""));
    turns(c, 1);
    EQ_INT(r.status, MCP_ERR_LIMIT);
    EQ_INT(g.asked, 2);
    done(c, &p);
}

/* What is kept of questions that wait for their answers has a bound, too, and not only their number. */
TEST(large_questions)
{
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    char line[2048], text[1501];
    int i;
    memset(&g, 0, sizeof g);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    g.status = MCP_ERR_AGAIN;
    d.on_ask = on_ask;
    d.capabilities = ALL;
    d.max_message = 2000;
    c = ready(&p, &d);
    for (i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"elicitation/create\",\"params\":" FORM("", ",\"title\":\"%s\"") "}", i, text);
        say(&p, line);
        turns(c, 1);
    }
    EQ_INT(g.asked, 2);
    EQ_STR(hear(&p), "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-31000,\"message\":\"busy: too many requests are open\"}}");
    EQ_INT(mcp_client_answer(c, g.ask[0], MCP_ERR_DECLINED, NULL), MCP_OK);
    say(&p, line);
    turns(c, 1);
    EQ_INT(g.asked, 3);
    done(c, &p);
}

/* While a legacy server waits for the user, its silence is not its fault. */
TEST(legacy_patience)
{
    peer p;
    result r;
    mcp_client *c = asking(&p, MCP_ERA_LEGACY, ALL);
    (void)begin(c, &p, &r);
    g.status = MCP_ERR_AGAIN;
    g_now += 20000;
    say(&p, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"roots/list\"}");
    turns(c, 1);
    g_now += 25000;
    turns(c, 1);
    g_now += 25000;
    turns(c, 1);
    EQ_INT(r.calls, 0);
    EQ_INT(mcp_client_answer(c, g.ask[0], MCP_OK, "{\"roots\":[]}"), MCP_OK);
    g_now += 29000;
    turns(c, 1);
    EQ_INT(r.calls, 0);
    g_now += 2000;
    turns(c, 1);
    EQ_INT(r.status, MCP_ERR_TIMEOUT);
    done(c, &p);
}

/* Error -32042: pages to visit before the call can work. */
#define VISIT(id) "{\"mode\":\"url\",\"elicitationId\":\"" id "\",\"url\":\"https://a/" id "\",\"message\":\"visit\"}"
TEST(url_errors)
{
    peer p;
    result r;
    mcp_client *c = asking(&p, MCP_ERA_LEGACY, ALL);
    long long id = begin(c, &p, &r);
    const char *s;
    g.answer = "{\"content\":{\"dropped\":1}}";
    refuse(&p, id, -32042, "{\"elicitations\":[" VISIT("1") "]}");
    turns(c, 1);
    EQ_INT(g.asked, 1);
    EQ_STR(g.method[0], "elicitation/create");
    EQ_STR(g.message[0], "visit");
    s = hear(&p);
    CHECK(has(s, "\"params\":{\"name\":\"x\",\"arguments\":{\"a\":1.0}}}") && id_of(s) > id);
    id = id_of(s);
    g.status = MCP_ERR_AGAIN;
    refuse(&p, id, -32042, "{\"elicitations\":[" VISIT("2") "," VISIT("3") "]}");
    turns(c, 1);
    EQ_INT(g.asked, 3);
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\",\"params\":{\"elicitationId\":\"9\"}}");
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\",\"params\":{}}");
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/elicitation/complete\",\"params\":{\"elicitationId\":\"3\"}}");
    turns(c, 1);
    EQ_STR(hear(&p), "");
    EQ_INT(mcp_client_answer(c, g.ask[2], MCP_OK, "{}"), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_client_answer(c, g.ask[1], MCP_OK, "{}"), MCP_OK);
    turns(c, 1);
    s = hear(&p);
    CHECK(has(s, "tools/call"));
    refuse(&p, id_of(s), -32042, "{\"elicitations\":[" VISIT("4") "]}");
    turns(c, 1);
    EQ_INT(mcp_client_answer(c, g.ask[3], MCP_OK, "{\"action\":\"decline\"}"), MCP_OK);
    turns(c, 1);
    EQ_INT(r.status, MCP_ERR_DECLINED);
    id = begin(c, &p, &r);                                   /* not such a list: an error as any other */
    refuse(&p, id, -32042, "{\"elicitations\":[" VISIT("4") ",{\"message\":\"m\"}]}");
    turns(c, 1);
    EQ_INT(r.status, MCP_ERR_PEER);
    EQ_INT(r.code, -32042);
    done(c, &p);
    c = asking(&p, MCP_ERA_LEGACY, "{\"elicitation\":{}}");
    id = begin(c, &p, &r);
    refuse(&p, id, -32042, "{\"elicitations\":[" VISIT("4") "]}");
    turns(c, 1);
    EQ_INT(r.status, MCP_ERR_PEER);
    EQ_INT(g.asked, 0);
    done(c, &p);
}

/* -- calls of every kind -------------------------------------------------------------------------------------------------- */

/* What a call puts on the wire, behind "jsonrpc" and id; "" and a sentence if it is refused. */
static void call_row(int era, mcp_call k, const char *wire, const char *why)
{
    peer p;
    mcp_client *c = asking(&p, era, "{}");
    const char *s;
    CHECK(!mcp_client_send(c, &k) == (why != NULL));
    turns(c, 1);
    s = hear(&p);
    if (!has(s, wire)) printf("  %s\n  %s\n", s, wire);
    CHECK(has(s, wire));
    if (why) CHECK(has(mcp_client_error(c), why));
    done(c, &p);
}

static mcp_call blank(void) { mcp_call k; memset(&k, 0, sizeof k); return k; }

TEST(typed_calls)
{
    mcp_call k = blank();
    k.uri = "file:///a \"b\"";
    call_row(MCP_ERA_LEGACY, k, "\"method\":\"resources/read\",\"params\":{\"uri\":\"file:///a \\\"b\\\"\"}}", NULL);
    k.complete = "path";
    k.value = "sr";
    call_row(MCP_ERA_LEGACY, k, "\"method\":\"completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"file:///a \\\"b\\\"\"},\"argument\":{\"name\":\"path\",\"value\":\"sr\"}}}", NULL);
    k = blank();
    k.prompt = "p";
    call_row(MCP_ERA_LEGACY, k, "\"method\":\"prompts/get\",\"params\":{\"name\":\"p\"}}", NULL);
    k.args = "{\"a\": \"b\"}";
    call_row(MCP_ERA_LEGACY, k, "\"method\":\"prompts/get\",\"params\":{\"name\":\"p\",\"arguments\":{\"a\":\"b\"}}}", NULL);
    k.complete = "lang";
    call_row(MCP_ERA_LEGACY, k, "\"method\":\"completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"lang\",\"value\":\"\"},\"context\":{\"arguments\":{\"a\":\"b\"}}}}", NULL);
    k.args = "[]";
    call_row(MCP_ERA_LEGACY, k, "", "args");
    k = blank();
    k.method = "ping";
    call_row(MCP_ERA_LEGACY, k, "\"method\":\"ping\"}", NULL);
    call_row(MCP_ERA_MODERN, k, "\"method\":\"server/discover\",\"params\":{\"_meta\":{", NULL);
    k = blank();
    k.tool = "t";
    k.log_level = "warning";
    k.meta = "{\"io.modelcontextprotocol/logLevel\":\"debug\",\"traceparent\":\"00-1-2-01\"}";
    call_row(MCP_ERA_MODERN, k, "\"io.modelcontextprotocol/logLevel\":\"warning\",\"traceparent\":\"00-1-2-01\"}}}", NULL);
    k.log_level = "loud";
    call_row(MCP_ERA_MODERN, k, "", "log_level");
    k = blank();
    call_row(MCP_ERA_MODERN, k, "", "one of tool");
    k.tool = k.prompt = "t";
    call_row(MCP_ERA_MODERN, k, "", "one of tool");
    k = blank();
    k.uri = "x:u";
    k.args = "{}";
    call_row(MCP_ERA_MODERN, k, "", "args belongs");
    k = blank();
    k.tool = k.complete = "t";
    call_row(MCP_ERA_MODERN, k, "", "complete belongs");
    k = blank();
    k.tool = "t";
    k.params = "{}";
    call_row(MCP_ERA_MODERN, k, "", "params belongs");
}

static void text_row(const char *result_text, const char *text, size_t n, const char *data, const char *mime)
{
    peer p;
    result r;
    mcp_client *c = asking(&p, MCP_ERA_LEGACY, "{}");
    mcp_arena a;
    mcp_reply reply_;
    const char *m, *d;
    size_t len;
    mcp_arena_init(&a, NULL, 0);
    memset(&reply_, 0, sizeof reply_);
    memset(&r, 0, sizeof r);
    reply_.result = mcp_json_parse(&a, result_text, MCP_NTS, NULL);
    reply_.priv = &a;
    EQ_STR(mcp_reply_text(&reply_, NULL), text);
    d = (const char *)mcp_reply_data(&reply_, n, &len, &m);
    CHECK(!d == !data);
    if (d) CHECK(len == strlen(data) && memcmp(d, data, len) == 0);
    EQ_STR(m, mime);
    mcp_arena_free(&a);
    done(c, &p);
}

TEST(reply_texts)
{
    text_row("{\"contents\":[{\"uri\":\"a\",\"text\":\"one\"},{\"uri\":\"b\",\"blob\":\"aGk=\",\"mimeType\":\"x/y\"},{\"uri\":\"c\",\"text\":\"two\"}]}", "one\ntwo", 0, "hi", "x/y");
    text_row("{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"q\"}},{\"role\":\"user\",\"content\":{\"type\":\"image\",\"data\":\"aGk=\",\"mimeType\":\"image/png\"}},"
        "{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":\"x:u\",\"blob\":\"aG8=\"}}}]}", "q", 1, "ho", "");
    text_row("{\"completion\":{\"values\":[\"python\",\"pytorch\"],\"hasMore\":true}}", "python\npytorch", 0, NULL, "");
    text_row("{\"content\":[{\"type\":\"audio\",\"data\":\"!!\",\"mimeType\":\"audio/wav\"},{\"type\":\"link\",\"text\":\"no\"}]}", "", 0, NULL, "audio/wav");
    text_row("{}", "", 0, NULL, "");
    text_row("null", "", 3, NULL, "");
    CHECK(mcp_reply_data(NULL, 0, NULL, NULL) == NULL);
}

TEST(log_levels)
{
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c = mcp_client_new(&d);
    mcp_call k = tool_call("t", NULL, &r);
    const char *s;
    turns(c, 1);
    reply(&p, id_of(hear(&p)), "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"logging\":{}}}");
    turns(c, 1);
    (void)hear(&p);
    k.log_level = "debug";
    (void)mcp_client_send(c, &k);
    (void)mcp_client_send(c, &k);
    k.log_level = NULL;
    (void)mcp_client_send(c, &k);
    k.log_level = "error";
    (void)mcp_client_send(c, &k);
    turns(c, 1);
    s = hear(&p);
    CHECK(has(s, "\"method\":\"logging/setLevel\",\"params\":{\"level\":\"debug\"}}"));
    refuse(&p, id_of(s), -32602, NULL);                      /* nobody's business */
    CHECK(has(hear(&p), "tools/call") && has(hear(&p), "tools/call") && has(hear(&p), "tools/call"));
    s = hear(&p);
    CHECK(has(s, "\"level\":\"error\""));
    reply(&p, id_of(s), "{}");
    CHECK(has(hear(&p), "tools/call"));
    turns(c, 1);
    EQ_STR(mcp_client_error(c), "");
    EQ_INT(mcp_client_stats(c).pending, 4);
    EQ_INT(r.calls, 0);
    done(c, &p);
    EQ_INT(r.calls, 4);
    d = desc_of(&p, MCP_ERA_LEGACY);                         /* a server that has no logging */
    c = ready(&p, &d);
    k = tool_call("t", NULL, &r);
    k.log_level = "debug";
    (void)mcp_client_send(c, &k);
    turns(c, 1);
    CHECK(has(hear(&p), "tools/call"));
    done(c, &p);
}

/* -- subscriptions ------------------------------------------------------------------------------------------------------ */

static struct { int n; char method[64], params[256]; mcp_id cancel; } heard;
static void on_notify(mcp_client *c, const char *method, const mcp_json *params, void *user)
{
    mcp_writer w;
    (void)user;
    heard.n++;
    mcp_writer_init(&w, NULL, 0);
    mcp_put_json(&w, NULL, params);
    snprintf(heard.method, sizeof heard.method, "%s", method);
    snprintf(heard.params, sizeof heard.params, "%s", mcp_writer_text(&w, NULL));
    mcp_writer_free(&w);
    if (heard.cancel) (void)mcp_client_cancel(c, heard.cancel, NULL);
}

static char g_log[512];
static void on_log(int level, const char *text, void *user)
{
    (void)user;
    if (level == 1 && strlen(g_log) + strlen(text) + 2 < sizeof g_log) strcat(strcat(g_log, text), "\n");
}

static mcp_client *listening(peer *p, int era, const char *init)
{
    mcp_client_desc d = desc_of(p, era);
    mcp_client *c;
    memset(&heard, 0, sizeof heard);
    g_log[0] = 0;
    d.log.fn = on_log;
    d.log.level = 1;
    d.on_notify = on_notify;
    if (!init) return ready(p, &d);
    c = mcp_client_new(&d);
    turns(c, 1);
    reply(p, id_of(hear(p)), init);
    turns(c, 1);
    (void)hear(p);
    return c;
}

static void tell(mcp_client *c, peer *p, const char *method, long long sub, const char *more)
{
    char line[512];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%lld}%s}}", method, sub, more);
    say(p, line);
    turns(c, 1);
}

static const char *const uris[] = { "file:///a", "file:///\"b\"", NULL };

TEST(listen_modern)                                                                /* D66 D69 D70 */
{
    peer p;
    result r, r2;
    mcp_client *c = listening(&p, MCP_ERA_MODERN, NULL);
    mcp_id a, b;
    const char *s;
    long long id;
    memset(&r, 0, sizeof r);
    memset(&r2, 0, sizeof r2);
    a = mcp_client_listen(c, MCP_LIST_TOOLS | MCP_LIST_TEMPLATES | MCP_LIST_PROMPTS, uris, note, &r);
    CHECK(a != 0);
    turns(c, 1);
    s = hear(&p);
    CHECK(has(s, "\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{\"toolsListChanged\":true,\"resourcesListChanged\":true,\"promptsListChanged\":true,\"resourceSubscriptions\":[\"file:///a\",\"file:///\\\"b\\\"\"]},\"_meta\":{"));
    id = id_of(s);
    tell(c, &p, "notifications/tools/list_changed", id, "");            /* not before it is acknowledged */
    EQ_INT(heard.n, 0);
    tell(c, &p, "notifications/subscriptions/acknowledged", id, ",\"notifications\":{\"toolsListChanged\":true}");
    EQ_INT(heard.n, 1);
    EQ_INT(mcp_client_stats(c).pending, 0);                              /* a subscription is nothing that is waited for */
    EQ_STR(heard.method, "notifications/subscriptions/acknowledged");
    EQ_STR(g_log, "the server will not tell all of resourcesListChanged\nthe server will not tell all of promptsListChanged\nthe server will not tell all of resourceSubscriptions\n");
    g_now += 3600000;                                                    /* it has no time-out now */
    turns(c, 1);
    say(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,");                           /* nor is it "the only request" that noise could be meant for */
    turns(c, 1);
    EQ_INT(r.calls, 0);
    {
        result r3;
        mcp_call k = tool_call("x", NULL, &r3);
        memset(&r3, 0, sizeof r3);
        (void)mcp_client_send(c, &k);                                    /* ... but this one is, though the listen is older */
        turns(c, 1);
        (void)hear(&p);
        say(&p, "{\"jsonrpc\":\"2.0\",\"id\":7,");
        turns(c, 1);
        EQ_INT(r3.calls, 1);
        EQ_INT(r3.status, MCP_ERR_PARSE);
        EQ_INT(r.calls, 0);
    }
    tell(c, &p, "notifications/tools/list_changed", id, "");
    EQ_INT(heard.n, 2);
    tell(c, &p, "notifications/tools/list_changed", id + 1, "");
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"file:///a\"}}");
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    turns(c, 1);
    EQ_INT(heard.n, 2);
    EQ_INT(mcp_client_stats(c).unknown, 4);
    b = mcp_client_listen(c, 0, NULL, note, &r2);
    turns(c, 1);
    s = hear(&p);
    CHECK(has(s, "\"notifications\":{},"));
    tell(c, &p, "notifications/subscriptions/acknowledged", id_of(s), ",\"notifications\":{}");
    tell(c, &p, "notifications/resources/updated", id_of(s), ",\"uri\":\"file:///a\"");
    EQ_INT(heard.n, 4);
    reply(&p, id, "{\"resultType\":\"complete\",\"_meta\":{}}");          /* a good end: the result, then its cancel */
    tell(c, &p, "notifications/cancelled", id, ",\"requestId\":9");
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, MCP_OK);
    EQ_INT(r.id, a);
    EQ_INT(mcp_client_cancel(c, b, NULL), MCP_OK);
    turns(c, 1);
    CHECK(has(hear(&p), "\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":"));
    EQ_INT(r2.status, MCP_ERR_CANCELLED);
    a = mcp_client_listen(c, MCP_LIST_TOOLS, NULL, note, &r);            /* or the cancel first, and alone */
    turns(c, 1);
    id = id_of(hear(&p));
    { char more[32]; snprintf(more, sizeof more, ",\"requestId\":%lld", id); tell(c, &p, "notifications/cancelled", id, more); }
    EQ_INT(r.calls, 2);
    EQ_INT(r.status, MCP_OK);
    (void)mcp_client_listen(c, MCP_LIST_TOOLS, NULL, note, &r);          /* never acknowledged */
    turns(c, 1);
    (void)hear(&p);
    g_now += 30001;
    turns(c, 1);
    EQ_INT(r.status, MCP_ERR_TIMEOUT);
    CHECK(has(hear(&p), "notifications/cancelled"));
    (void)mcp_client_listen(c, MCP_LIST_TOOLS, NULL, note, &r);          /* refused */
    turns(c, 1);
    refuse(&p, id_of(hear(&p)), -32601, NULL);
    turns(c, 1);
    EQ_INT(r.status, MCP_ERR_PEER);
    (void)mcp_client_listen(c, MCP_LIST_TOOLS, NULL, note, &r);          /* lost */
    turns(c, 1);
    p.eof = true;
    turns(c, 2);
    EQ_INT(r.status, MCP_ERR_CLOSED);
    EQ_INT(mcp_client_listen(c, MCP_LIST_TOOLS, NULL, note, &r), 0);
    EQ_INT(mcp_client_listen(NULL, MCP_LIST_TOOLS, NULL, note, &r), 0);
    done(c, &p);
}

#define SUBSCRIBABLE "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":true},\"prompts\":{},\"resources\":{\"subscribe\":true}}}"
TEST(listen_legacy)
{
    peer p;
    result r, r2;
    mcp_client *c = listening(&p, MCP_ERA_LEGACY, SUBSCRIBABLE);
    mcp_id a, b;
    const char *s;
    char wanted[256];
    memset(&r, 0, sizeof r);
    memset(&r2, 0, sizeof r2);
    a = mcp_client_listen(c, MCP_LIST_TOOLS | MCP_LIST_RESOURCES | MCP_LIST_PROMPTS, uris, note, &r);
    turns(c, 1);
    s = hear(&p);
    CHECK(has(s, "\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"file:///a\"}}"));
    refuse(&p, id_of(s), -32602, NULL);
    s = hear(&p);
    CHECK(has(s, "\"uri\":\"file:///\\\"b\\\"\"}}"));
    EQ_STR(hear(&p), "");
    turns(c, 1);
    EQ_INT(heard.n, 0);
    reply(&p, id_of(s), "{}");
    turns(c, 1);
    EQ_INT(heard.n, 1);
    EQ_STR(heard.method, "notifications/subscriptions/acknowledged");
    snprintf(wanted, sizeof wanted, "{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%d},\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"file:///\\\"b\\\"\"]}}", (int)a);
    EQ_STR(heard.params, wanted);
    EQ_INT(mcp_client_stats(c).pending, 0);                  /* a subscription is nothing that is waited for */
    g_now += 3600000;
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"file:///a\"}}");
    turns(c, 1);
    EQ_INT(heard.n, 2);
    b = mcp_client_listen(c, 0, uris + 1, note, &r2);        /* shares a URI */
    turns(c, 1);
    reply(&p, id_of(hear(&p)), "{}");
    turns(c, 1);
    EQ_INT(heard.n, 3);
    EQ_INT(mcp_client_cancel(c, b, NULL), MCP_OK);
    turns(c, 1);
    EQ_STR(hear(&p), "");
    EQ_INT(r2.status, MCP_ERR_CANCELLED);
    EQ_INT(mcp_client_cancel(c, a, NULL), MCP_OK);
    turns(c, 1);
    CHECK(has(hear(&p), "\"method\":\"resources/unsubscribe\",\"params\":{\"uri\":\"file:///\\\"b\\\"\"}}"));
    EQ_STR(hear(&p), "");                                    /* the other one was refused */
    EQ_INT(r.status, MCP_ERR_CANCELLED);
    heard.n = 0;
    a = mcp_client_listen(c, MCP_LIST_TOOLS, NULL, note, &r); /* nothing to ask for; cancelled inside of its first word */
    EQ_INT(heard.n, 0);
    heard.cancel = a;
    turns(c, 2);
    EQ_INT(heard.n, 1);
    EQ_INT(r.calls, 2);
    heard.cancel = 0;
    (void)mcp_client_listen(c, MCP_LIST_TOOLS, uris, note, &r);
    p.eof = true;
    turns(c, 2);
    EQ_INT(r.calls, 3);
    EQ_INT(r.status, MCP_ERR_CLOSED);
    done(c, &p);
    c = listening(&p, MCP_ERA_LEGACY, INIT_RESULT);           /* a server that knows no subscriptions */
    a = mcp_client_listen(c, MCP_LIST_TOOLS, uris, note, &r);
    turns(c, 1);
    EQ_STR(hear(&p), "");
    CHECK(has(heard.params, "\"notifications\":{}"));
    EQ_INT(mcp_client_cancel(c, a, NULL), MCP_OK);
    turns(c, 1);
    EQ_STR(hear(&p), "");
    done(c, &p);
}

/* What waits for the handshake is a subscription in whatever era comes of it. */
TEST(listen_early)
{
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, MCP_ERA_BOTH);
    mcp_client *c;
    memset(&r, 0, sizeof r);
    memset(&heard, 0, sizeof heard);
    d.on_notify = on_notify;
    c = mcp_client_new(&d);
    CHECK(mcp_client_listen(c, MCP_LIST_TOOLS, uris, note, &r) != 0);
    turns(c, 1);
    refuse(&p, id_of(hear(&p)), -32601, NULL);
    turns(c, 1);
    reply(&p, id_of(hear(&p)), SUBSCRIBABLE);
    turns(c, 1);
    (void)hear(&p);
    CHECK(has(hear(&p), "resources/subscribe") && has(hear(&p), "resources/subscribe"));
    EQ_STR(hear(&p), "");
    done(c, &p);
    EQ_INT(r.calls, 1);
    EQ_INT(r.status, MCP_ERR_CLOSED);
}

/* Subscribing to many takes many requests of ours, which leave the program's its room. */
TEST(listen_to_many)
{
    static const char *const many[] = { "x:1", "x:2", "x:3", "x:4", "x:5", NULL };
    peer p;
    result r, r2;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    mcp_call k = tool_call("x", NULL, &r2);
    memset(&r, 0, sizeof r);
    d.max_pending = 3;
    c = mcp_client_new(&d);
    turns(c, 1);
    reply(&p, id_of(hear(&p)), SUBSCRIBABLE);
    turns(c, 1);
    (void)hear(&p);
    CHECK(mcp_client_listen(c, 0, many, note, &r) != 0);
    turns(c, 1);
    EQ_INT(mcp_client_stats(c).pending, 0);
    CHECK(mcp_client_send(c, &k) != 0);
    CHECK(mcp_client_send(c, &k) != 0);
    CHECK(mcp_client_send(c, &k) == 0);                      /* the listen is one of three */
    EQ_INT(mcp_client_stats(c).pending, 2);
    done(c, &p);
    EQ_INT(r.calls, 1);
}

/* A server is asked for so many at a time, and whatever the order of its answers, the order of the URIs is kept. */
static const char **uris_of(int n, int first)
{
    const char **list = (const char **)malloc((size_t)(n + 1) * sizeof *list);
    char *text = (char *)malloc((size_t)n * 16);
    int i;
    for (i = 0; i < n; i++) {
        snprintf(text + 16 * i, 16, "x:%d", first + i);
        list[i] = text + 16 * i;
    }
    list[n] = NULL;
    return list;
}

static void uris_free(const char **list) { free((void *)(uintptr_t)list[0]); free((void *)(uintptr_t)list); }

TEST(listen_in_portions)
{
    enum { N = 200, ONCE = 64 };
    peer p;
    result r;
    mcp_client *c = listening(&p, MCP_ERA_LEGACY, SUBSCRIBABLE);
    const char **list = uris_of(N, 0), *s;
    long long id[N];
    char uri[32];
    int asked, answered = 0, i;
    mcp_id a;
    memset(&r, 0, sizeof r);
    a = mcp_client_listen(c, 0, list, note, &r);
    for (asked = 0; answered < N; answered += i) {
        turns(c, 1);
        for (i = asked; *(s = hear(&p)) != 0; i++) {
            snprintf(uri, sizeof uri, "\"uri\":\"x:%d\"}", i);
            CHECK(i < N && has(s, "resources/subscribe") && has(s, uri));
            id[i % N] = id_of(s);
        }
        asked = i;
        EQ_INT(asked, answered + ONCE < N ? answered + ONCE : N);
        EQ_INT(heard.n, 0);
        for (i = 0; i < 7 && answered + i < asked; i++) {               /* the last first; one in ten is refused */
            int k = asked - 1 - i;
            if (asked < N || asked - answered > 7) { k = answered + i; }
            if (k % 10 == 3) refuse(&p, id[k], -32002, NULL); else reply(&p, id[k], "{}");
        }
    }
    turns(c, 2);
    EQ_INT(heard.n, 1);
    CHECK(has(heard.params, "\"resourceSubscriptions\":[\"x:0\",\"x:1\",\"x:2\",\"x:4\","));
    EQ_INT(mcp_client_cancel(c, a, NULL), MCP_OK);                      /* what was refused is not given back */
    turns(c, 1);
    for (i = 0; *(s = hear(&p)) != 0; i++) CHECK(has(s, "resources/unsubscribe") && !has(s, "x:3\""));
    EQ_INT(i, N - N / 10);
    EQ_INT(r.status, MCP_ERR_CANCELLED);
    a = mcp_client_listen(c, 0, list, note, &r);                        /* cancelled while only some were asked for */
    turns(c, 1);
    while (*hear(&p)) { }
    EQ_INT(mcp_client_cancel(c, a, NULL), MCP_OK);
    turns(c, 1);
    for (i = 0; *(s = hear(&p)) != 0; i++) CHECK(has(s, "resources/unsubscribe"));
    EQ_INT(i, ONCE);
    EQ_INT(heard.n, 1);
    uris_free(list);
    done(c, &p);
}

/* Many that share their URIs: each is given back once, by the last that has it. */
TEST(listens_that_share)
{
    enum { N = 3000 };
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    const char **list = uris_of(N, 0), **last = uris_of(N, N / 2), *s;
    mcp_id a, b, b2;
    int i, n;
    memset(&r, 0, sizeof r);
    memset(&heard, 0, sizeof heard);
    d.on_notify = on_notify;
    c = mcp_client_new(&d);
    turns(c, 1);
    reply(&p, id_of(hear(&p)), SUBSCRIBABLE);
    turns(c, 1);
    (void)hear(&p);
    a = mcp_client_listen(c, 0, list, note, &r);
    b = mcp_client_listen(c, 0, last, note, &r);
    b2 = mcp_client_listen(c, 0, last, note, &r);
    for (n = 0, i = 0; heard.n < 3 && i < 10000; i++) {
        turns(c, 1);
        for (; *(s = hear(&p)) != 0; n++) reply(&p, id_of(s), "{}");
    }
    EQ_INT(heard.n, 3);
    EQ_INT(n, 3 * N);
    EQ_INT(mcp_client_cancel(c, b, NULL), MCP_OK);
    turns(c, 1);
    EQ_STR(hear(&p), "");
    EQ_INT(mcp_client_cancel(c, a, NULL), MCP_OK);          /* both at once: neither is left to the other */
    EQ_INT(mcp_client_cancel(c, b2, NULL), MCP_OK);
    turns(c, 1);
    for (n = 0; *(s = hear(&p)) != 0; n++) CHECK(has(s, "resources/unsubscribe"));
    EQ_INT(n, N + N / 2);
    EQ_INT(r.calls, 3);
    uris_free(list);
    uris_free(last);
    done(c, &p);
}

/* -- kept results ------------------------------------------------------------------------------------------------------- */

static char g_items[128];
static bool each_item(const mcp_json *item, void *user)
{
    (void)user;
    strcat(g_items, mcp_json_str(mcp_json_get(item, "name"), "?"));
    return true;
}

static mcp_client *keeping(peer *p, size_t bytes)
{
    mcp_client_desc d = desc_of(p, MCP_ERA_LEGACY);
    memset(&heard, 0, sizeof heard);
    d.on_notify = on_notify;
    d.cache_bytes = bytes;
    return ready(p, &d);
}

/* Asks for a list or a resource. `answer` if it is to be asked of the server, else NULL. What came of it. */
static const char *ask_for(mcp_client *c, peer *p, const char *method, const char *uri, const char *answer, result *r)
{
    mcp_call k = blank();
    const char *s;
    memset(r, 0, sizeof *r);
    g_items[0] = 0;
    k.method = method;
    k.uri = uri;
    k.each = method ? each_item : NULL;
    k.meta = g_now % 2 ? "{\"a\":1}" : NULL;                 /* no part of the key */
    k.fn = note;
    k.user = r;
    CHECK(mcp_client_send(c, &k) != 0);
    EQ_INT(r->calls, 0);
    EQ_INT(mcp_client_timeout(c) == 0, answer == NULL);
    turns(c, 1);
    s = hear(p);
    CHECK(!*s == !answer);
    if (!answer) { EQ_INT(r->calls, 1); return method ? g_items : r->text; }
    reply(p, id_of(s), answer);
    turns(c, 1);
    EQ_INT(r->calls, !has(answer, "nextCursor"));
    return method ? g_items : r->text;
}

#define TOOLS_AB "{\"tools\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"ttlMs\":1000,\"cacheScope\":\"private\"}"
#define READ(text) "{\"contents\":[{\"uri\":\"x:u\",\"text\":\"" text "\"}],\"ttlMs\":1000}"
static void change(mcp_client *c, peer *p, const char *what, const char *params)
{
    char line[256];
    snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s\",\"params\":%s}", what, params);
    say(p, line);
    turns(c, 1);
}

TEST(kept_results)
{
    peer p;
    result r;
    mcp_call k = blank();
    const mcp_reply *now;
    const char *s;
    mcp_client *c = keeping(&p, 100000);
    EQ_STR(ask_for(c, &p, "tools/list", NULL, TOOLS_AB, &r), "ab");
    g_now += 999;
    EQ_STR(ask_for(c, &p, "tools/list", NULL, NULL, &r), "ab");
    EQ_INT(r.status, MCP_OK);
    g_now += 1;
    EQ_STR(ask_for(c, &p, "tools/list", NULL, TOOLS_AB, &r), "ab");     /* its time is over */
    k.method = "tools/list";
    now = mcp_client_call(c, &k);                                        /* blocking, and without each */
    EQ_INT(now->status, MCP_OK);
    EQ_INT(mcp_json_size(mcp_json_get(now->result, "tools")), 2);
    k.fresh = true;
    k.fn = note;
    k.user = &r;
    (void)mcp_client_send(c, &k);
    turns(c, 1);
    CHECK(has(hear(&p), "tools/list"));
    k.fresh = false;
    k.params = "{\"x\":1}";                                              /* another request */
    (void)mcp_client_send(c, &k);
    turns(c, 1);
    CHECK(has(hear(&p), "\"x\":1"));
    EQ_STR(ask_for(c, &p, NULL, "a", READ("A"), &r), "A");
    EQ_STR(ask_for(c, &p, NULL, "b", READ("B"), &r), "B");
    EQ_STR(ask_for(c, &p, NULL, "a", NULL, &r), "A");
    change(c, &p, "resources/updated", "{\"uri\":\"a\"}");
    EQ_STR(heard.method, "notifications/resources/updated");
    EQ_STR(ask_for(c, &p, NULL, "b", NULL, &r), "B");
    EQ_STR(ask_for(c, &p, NULL, "a", "{\"contents\":[{\"text\":\"N\"}],\"ttlMs\":0}", &r), "N");
    EQ_STR(ask_for(c, &p, NULL, "a", "{\"contents\":[{\"text\":\"N\"}],\"ttlMs\":-5}", &r), "N");
    EQ_STR(ask_for(c, &p, NULL, "a", "{\"contents\":[{\"text\":\"N\"}]}", &r), "N");
    EQ_STR(ask_for(c, &p, "prompts/list", NULL, "{\"prompts\":[{\"name\":\"p\"}],\"ttlMs\":1000}", &r), "p");
    EQ_STR(ask_for(c, &p, "resources/list", NULL, "{\"resources\":[{\"name\":\"r\"}],\"ttlMs\":1000}", &r), "r");
    EQ_STR(ask_for(c, &p, "resources/templates/list", NULL, "{\"resourceTemplates\":[{\"name\":\"t\"}],\"ttlMs\":1000}", &r), "t");
    change(c, &p, "tools/list_changed", "{}");
    EQ_STR(ask_for(c, &p, "prompts/list", NULL, NULL, &r), "p");
    EQ_STR(ask_for(c, &p, "resources/list", NULL, NULL, &r), "r");
    EQ_STR(ask_for(c, &p, "tools/list", NULL, TOOLS_AB, &r), "ab");
    change(c, &p, "resources/list_changed", "{}");
    EQ_STR(ask_for(c, &p, "prompts/list", NULL, NULL, &r), "p");
    EQ_STR(ask_for(c, &p, "resources/list", NULL, "{\"resources\":[]}", &r), "");
    EQ_STR(ask_for(c, &p, "resources/templates/list", NULL, "{\"resourceTemplates\":[]}", &r), "");
    change(c, &p, "prompts/list_changed", "{}");
    EQ_STR(ask_for(c, &p, "prompts/list", NULL, "{\"prompts\":[],\"ttlMs\":1000}", &r), "");
    EQ_STR(ask_for(c, &p, NULL, "b", NULL, &r), "B");
    k = blank();                                                          /* asked before a change, answered after it */
    k.uri = "c";
    (void)mcp_client_send(c, &k);
    turns(c, 1);
    s = hear(&p);
    change(c, &p, "resources/updated", "{\"uri\":\"z\"}");
    reply(&p, id_of(s), READ("old"));
    turns(c, 1);
    EQ_STR(ask_for(c, &p, NULL, "c", READ("C"), &r), "C");
    (void)mcp_client_send(c, &k);                                         /* it goes before it could be handed out */
    say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}");
    (void)mcp_client_cancel(c, mcp_client_send(c, &k), NULL);
    turns(c, 1);
    EQ_STR(hear(&p), "");
    done(c, &p);
}

TEST(kept_pages)
{
    peer p;
    result r;
    const char *s;
    mcp_client *c = keeping(&p, 100000);
    (void)ask_for(c, &p, "tools/list", NULL, "{\"tools\":[{\"name\":\"a\"}],\"nextCursor\":\"\",\"ttlMs\":1000}", &r);
    s = hear(&p);
    CHECK(has(s, "\"cursor\":\"\""));
    reply(&p, id_of(s), "{\"tools\":[{\"name\":\"b\"}],\"ttlMs\":500}");
    turns(c, 1);
    EQ_INT(r.calls, 1);
    EQ_STR(g_items, "ab");
    EQ_STR(ask_for(c, &p, "tools/list", NULL, NULL, &r), "ab");           /* both pages at once */
    g_now += 600;
    {
        mcp_call k = blank();                                             /* the second is asked for, and refused: all go */
        memset(&r, 0, sizeof r);
        g_items[0] = 0;
        k.method = "tools/list";
        k.each = each_item;
        k.fn = note;
        k.user = &r;
        (void)mcp_client_send(c, &k);
        turns(c, 1);
        EQ_STR(g_items, "a");
        s = hear(&p);
        CHECK(has(s, "\"cursor\":\"\""));
        refuse(&p, id_of(s), -32602, NULL);
        turns(c, 1);
        EQ_INT(r.status, MCP_ERR_PEER);
    }
    EQ_STR(ask_for(c, &p, "tools/list", NULL, TOOLS_AB, &r), "ab");
    done(c, &p);
}

TEST(kept_bounds)
{
    char uri[16];
    peer p;
    result r;
    int i, hits = 0;
    long before;
    mcp_client *c = keeping(&p, 1000);
    for (i = 0; i < 20; i++) {
        snprintf(uri, sizeof uri, "%d", i);
        EQ_STR(ask_for(c, &p, NULL, uri, READ("x"), &r), "x");
    }
    before = g_live;
    for (i = 0; i < 200; i++) {
        snprintf(uri, sizeof uri, "%d", i);
        EQ_STR(ask_for(c, &p, NULL, uri, READ("x"), &r), "x");
    }
    CHECK(g_live <= before + 200);
    for (i = 150; i < 200; i++) {
        mcp_call k = blank();
        const char *s;
        snprintf(uri, sizeof uri, "%d", i);
        k.uri = uri;
        (void)mcp_client_send(c, &k);
        turns(c, 1);
        s = hear(&p);
        if (!*s) hits++;
        else reply(&p, id_of(s), "{}");
    }
    CHECK(hits >= 4 && hits <= (sizeof(void *) == 8 ? 10 : 13));           /* short pointers leave more room */
    done(c, &p);
    c = keeping(&p, 60);                                                  /* too big to be kept, by its text alone */
    EQ_STR(ask_for(c, &p, NULL, "x:u", READ("x"), &r), "x");
    EQ_STR(ask_for(c, &p, NULL, "x:u", READ("x"), &r), "x");
    done(c, &p);
    c = keeping(&p, 0);                                                   /* off */
    EQ_STR(ask_for(c, &p, NULL, "x:u", READ("x"), &r), "x");
    EQ_STR(ask_for(c, &p, NULL, "x:u", READ("x"), &r), "x");
    done(c, &p);
}

/* What came of an input_required is nobody else's. */
TEST(kept_not_after_input)
{
    peer p;
    result r;
    mcp_client_desc d = desc_of(&p, MCP_ERA_MODERN);
    mcp_client *c;
    mcp_call k = blank();
    const char *s;
    int i;
    d.cache_bytes = 10000;
    c = ready(&p, &d);
    k.uri = "x:u";
    k.fn = note;
    k.user = &r;
    for (i = 0; i < 2; i++) {
        memset(&r, 0, sizeof r);
        (void)mcp_client_send(c, &k);
        turns(c, 1);
        s = hear(&p);
        CHECK(has(s, "resources/read"));
        reply(&p, id_of(s), "{\"resultType\":\"input_required\",\"requestState\":\"s\",\"ttlMs\":1000}");
        turns(c, 1);
        reply(&p, id_of(hear(&p)), READ("x"));
        turns(c, 1);
        EQ_STR(r.text, "x");
    }
    done(c, &p);
}

/* Many changes, one refresh: also while that runs. */
static int g_lists;
static void refresh(mcp_client *c, const char *method, const mcp_json *params, void *user)
{
    mcp_call k = blank();
    CHECK(has(method, "tools/list_changed") && params == NULL);
    (void)user;
    k.method = "tools/list";
    g_lists++;
    EQ_INT(mcp_client_call(c, &k)->status, MCP_OK);
}
static void storm_line(peer *p, const char *line, size_t len)
{
    char text[256];
    int i;
    snprintf(text, sizeof text, "%.*s", (int)len, line);
    if (!has(text, "tools/list")) return;
    for (i = 0; i < 100 && g_lists < 3; i++) say(p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    reply(p, id_of(text), TOOLS_AB);
}
TEST(storms)                                                                               /* B49 */
{
    peer p;
    mcp_client_desc d = desc_of(&p, MCP_ERA_LEGACY);
    mcp_client *c;
    int i;
    d.cache_bytes = 10000;
    d.on_notify = refresh;
    c = ready(&p, &d);
    p.on_line = storm_line;
    p.auto_at = p.got_len;
    g_lists = 0;
    for (i = 0; i < 100; i++) say(&p, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}");
    turns(c, 1);
    turns(c, 5);
    EQ_INT(g_lists, 3);
    done(c, &p);
}

int main(void)
{
    RUN(one_round);
    RUN(several_at_once);
    RUN(input_that_ends_the_call);
    RUN(rounds);
    RUN(questions_go_with_the_call);
    RUN(warm);
    RUN(forms);
    RUN(huge_forms);
    RUN(shapes_of_answers);
    RUN(what_goes_on_by_itself);
    RUN(legacy_capabilities);
    RUN(too_many_questions);
    RUN(large_questions);
    RUN(legacy_patience);
    RUN(url_errors);
    RUN(typed_calls);
    RUN(reply_texts);
    RUN(log_levels);
    RUN(listen_modern);
    RUN(listen_legacy);
    RUN(listen_early);
    RUN(listen_to_many);
    RUN(listen_in_portions);
    RUN(listens_that_share);
    RUN(kept_results);
    RUN(kept_pages);
    RUN(kept_bounds);
    RUN(kept_not_after_input);
    RUN(storms);
    return test_end();
}
