/* What a server offers besides tools: resources and templates, prompts, completion, the lists of all kinds, who may see what,
 * caching hints, and the ways in which changes are told. Driven through streams in memory with a clock of the test's own. */
#if defined(__APPLE__)
#  define _DARWIN_C_SOURCE 1
#elif defined(__linux__)
#  define _GNU_SOURCE 1
#endif
#include <string.h>

/* Bytes that are compared one by one: what matching a template costs. */
static unsigned long long compared;
static int counted_memcmp(const void *a, const void *b, size_t n) { compared += n; return memcmp(a, b, n); }
#define memcmp counted_memcmp
/* Behind the name of a test may stand the rows (B01 ...) that it covers of the catalogue which tests/faults.sh runs the cases of. */
#define MCP_IMPLEMENTATION      /* looks inside */
#include "mcp.h"
#undef memcmp
#include "test.h"
#include "server_peer.h"

#define DONE "\"resultType\":\"complete\"," SERVER_INFO
#define HAS(p, what) CHECK(strstr((p)->text, what) != NULL)
#define HASNT(p, what) CHECK(strstr((p)->text, what) == NULL)

/* A request with these members in its params, in either era. */
enum { LEGACY, MODERN };
static const char *ask_as(peer *p, int era, const char *id, const char *method, const char *members)
{
    size_t n = strlen(members) + 512;
    char *line = (char *)malloc(n);
    const char *out;
    snprintf(line, n, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":{%s%s%s}}", id, method, members, era == MODERN && *members ? "," : "", era == MODERN ? META : "");
    out = say(p, line);
    free(line);
    return out;
}
static const char *ask(peer *p, int era, const char *method, const char *members) { return ask_as(p, era, "1", method, members); }
static const char *read_uri(peer *p, int era, const char *uri)
{
    size_t n = strlen(uri) + 16;
    char *members = (char *)malloc(n);
    const char *out;
    snprintf(members, n, "\"uri\":\"%s\"", uri);
    out = ask(p, era, "resources/read", members);
    free(members);
    return out;
}
static size_t times(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)) != NULL; text++) n++;
    return n;
}

static void nothing(mcp_req *r, void *user) { mcp_req_text(r, user ? (const char *)user : "ok"); }

static int resource(mcp_server *s, const char *uri, mcp_req_fn fn, const void *user)
{
    mcp_resource r;
    memset(&r, 0, sizeof r);
    r.uri = uri;
    r.fn = fn;
    r.user = (void *)(uintptr_t)user;
    return mcp_server_resource(s, &r);
}
static int text_resource(mcp_server *s, const char *uri, const char *text)
{
    mcp_resource r;
    memset(&r, 0, sizeof r);
    r.uri = uri;
    r.data = text;
    r.data_size = MCP_NTS;
    return mcp_server_resource(s, &r);
}
static int prompt(mcp_server *s, const char *name, mcp_req_fn fn, const char *arguments)
{
    mcp_prompt p;
    memset(&p, 0, sizeof p);
    p.name = name;
    p.fn = fn;
    p.arguments = arguments;
    return mcp_server_prompt(s, &p);
}
static int tool(mcp_server *s, const char *name, mcp_req_fn fn)
{
    mcp_tool t;
    memset(&t, 0, sizeof t);
    t.name = name;
    t.fn = fn;
    return mcp_server_tool(s, &t);
}

/* -- resources ----------------------------------------------------------------------------------------------------------- */

TEST(static_resources)
{
    mcp_server *s = server();
    peer p = join(s);
    mcp_resource r;
    char data[] = "a\0b\"\n\xff";
    memset(&r, 0, sizeof r);
    r.uri = "x:text"; r.name = "n"; r.title = "t"; r.description = "d"; r.mime = "text/plain";
    r.data = data; r.data_size = 6; r.size = 99;
    r.annotations = MCP_JSON({"audience": ["user"], "priority": 0.50});
    r.icons = MCP_JSON([{"src": "https://i"}]); r.meta = MCP_JSON({"k": 1});
    EQ_INT(mcp_server_resource(s, &r), MCP_OK);
    memset(data, 'z', sizeof data);                              /* it was copied */
    memset(&r, 0, sizeof r);
    r.uri = "x:blob"; r.mime = "image/png"; r.data = "\x89PNG"; r.data_size = 4; r.binary = true;
    EQ_INT(mcp_server_resource(s, &r), MCP_OK);
    memset(&r, 0, sizeof r);
    r.uri = "x:empty"; r.data = ""; r.data_size = 0;
    EQ_INT(mcp_server_resource(s, &r), MCP_OK);
    r.uri = "x:sized"; r.data = NULL; r.size = 4096; r.fn = nothing;
    EQ_INT(mcp_server_resource(s, &r), MCP_OK);
    legacy(&p);
    EQ_STR(ask(&p, LEGACY, "resources/list", ""), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resources\":["
        J({"uri":"x:text","name":"n","title":"t","description":"d","icons":[{"src":"https://i"}],"_meta":{"k":1},"mimeType":"text/plain","annotations":{"audience":["user"],"priority":0.50},"size":6}) ","
        J({"uri":"x:blob","name":"x:blob","mimeType":"image/png","size":4}) "," J({"uri":"x:empty","name":"x:empty","size":0}) "," J({"uri":"x:sized","name":"x:sized","size":4096}) "]}}\n");
    EQ_STR(read_uri(&p, LEGACY, "x:text"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"contents\":[{\"uri\":\"x:text\",\"mimeType\":\"text/plain\",\"text\":\"a\\u0000b\\\"\\n\xEF\xBF\xBD\"}]}}\n");
    EQ_STR(read_uri(&p, LEGACY, "x:blob"), J({"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"x:blob","mimeType":"image/png","blob":"iVBORw=="}]}}) "\n");
    EQ_STR(read_uri(&p, LEGACY, "x:empty"), J({"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"x:empty","text":""}]}}) "\n");
    EQ_STR(read_uri(&p, MODERN, "x:blob"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"contents\":[{\"uri\":\"x:blob\",\"mimeType\":\"image/png\",\"blob\":\"iVBORw==\"}],\"ttlMs\":0,\"cacheScope\":\"private\"," DONE "}}\n");
    CHECK(strstr(say(&p, INIT), J({"resources":{"listChanged":true,"subscribe":true}})) != NULL);
    HASNT(&p, "completions");
    EQ_INT(text_resource(s, "x:empty", "new"), MCP_OK);           /* replaced, in its place */
    (void)hear(&p);
    HAS(&p, "resources/list_changed");
    CHECK(strstr(read_uri(&p, LEGACY, "x:empty"), "\"text\":\"new\"") != NULL);
    CHECK(strstr(ask(&p, LEGACY, "resources/list", ""), "\"uri\":\"x:blob\",\"name\":\"x:blob\",\"mimeType\":\"image/png\",\"size\":4},{\"uri\":\"x:empty\"") != NULL);
    EQ_INT(mcp_server_remove(s, MCP_LIST_TEMPLATES, "x:empty"), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_server_remove(s, MCP_LIST_RESOURCES, "x:empty"), MCP_OK);
    CHECK(strstr(read_uri(&p, LEGACY, "x:empty"), "-32002") != NULL);
    end(s, &p);
}

static void how(mcp_req *r, void *user)
{
    const char *what = (const char *)user;
    const mcp_json *none = mcp_req_args(r);
    (void)none;
    EQ_STR(mcp_req_tool(r), "");
    if (!strcmp(what, "several")) {
        CHECK(!strncmp(mcp_req_uri(r), "c:several", 9));
        EQ_INT(mcp_req_add_text(r, "one\0two", 7), MCP_OK);
        EQ_INT(mcp_req_add_image(r, "image/png", "abc", 3), MCP_OK);
        EQ_INT(mcp_req_add_audio(r, "audio/wav", "abc", 3), MCP_OK);
        EQ_INT(mcp_req_add_resource(r, "c:other", "text/x", "t", 1, false), MCP_OK);
        EQ_INT(mcp_req_add_resource(r, NULL, NULL, "b", 1, true), MCP_OK);
        EQ_INT(mcp_req_add_json(r, "{\"uri\":\"c:json\",\"text\":\"j\"}", MCP_NTS), MCP_OK);
        EQ_INT(mcp_req_add_link(r, "c:x", "x", NULL), MCP_ERR_ARGUMENT);
        EQ_INT(mcp_req_structured(r, "{}", 2), MCP_ERR_MISUSE);
        CHECK(mcp_req_structure(r) == NULL);
        EQ_INT(mcp_req_done(r), MCP_OK);
    } else if (!strcmp(what, "fail")) EQ_INT(mcp_req_failf(r, "no %s", "luck"), MCP_OK);
    else if (!strcmp(what, "error")) EQ_INT(mcp_req_error(r, -32602, "gone", "{\"uri\":\"c:error\"}"), MCP_OK);
    else if (!strcmp(what, "gone")) EQ_INT(mcp_req_error(r, -32002, "no longer here", NULL), MCP_OK);
    else if (!strcmp(what, "bad")) {
        EQ_INT(mcp_req_add_json(r, "[1]", MCP_NTS), MCP_ERR_ARGUMENT);
        EQ_INT(mcp_req_done(r), MCP_ERR_ARGUMENT);               /* a failed piece fails the whole answer */
    } else if (!strcmp(what, "result")) EQ_INT(mcp_req_result(r, "{\"contents\":[{\"uri\":\"c:r\",\"text\":\"\"}],\"ttlMs\":7,\"_meta\":{\"a\":1}}", MCP_NTS), MCP_OK);
    else if (!strcmp(what, "begin")) {
        mcp_writer *w = mcp_req_begin(r);
        mcp_put_array(w, "contents");
        mcp_put_end(w);
        EQ_INT(mcp_req_end(r), MCP_OK);
    } else if (!strcmp(what, "replaced")) {                      /* pieces before a text are forgotten */
        EQ_INT(mcp_req_add_text(r, "lost", 4), MCP_OK);
        EQ_INT(mcp_req_text(r, "kept"), MCP_OK);
    } else if (!strcmp(what, "removes")) {
        EQ_INT(mcp_server_remove(mcp_req_server(r), MCP_LIST_RESOURCES, "c:removes"), MCP_OK);
        EQ_INT(mcp_req_text(r, "still here"), MCP_OK);
    }
}

TEST(computed_resources)
{
    static const char *const names[] = { "several", "fail", "error", "bad", "result", "begin", "replaced", "removes", "gone", "silent" };
    mcp_server *s = server();
    peer p = join(s);
    mcp_resource r;
    size_t i;
    char uri[32];
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(uri, sizeof uri, "c:%s", names[i]);
        memset(&r, 0, sizeof r);
        r.uri = uri; r.mime = "text/plain"; r.fn = how; r.user = (void *)(uintptr_t)names[i];
        EQ_INT(mcp_server_resource(s, &r), MCP_OK);
    }
    legacy(&p);
#define SEVERAL "{\"uri\":\"c:several\",\"mimeType\":\"text/plain\",\"text\":\"one\\u0000two\"},{\"uri\":\"c:several\",\"mimeType\":\"image/png\",\"blob\":\"YWJj\"},{\"uri\":\"c:several\",\"mimeType\":\"audio/wav\",\"blob\":\"YWJj\"}," \
    "{\"uri\":\"c:other\",\"mimeType\":\"text/x\",\"text\":\"t\"},{\"uri\":\"c:several\",\"blob\":\"Yg==\"},{\"uri\":\"c:json\",\"text\":\"j\"}"
    EQ_STR(read_uri(&p, LEGACY, "c:several"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"contents\":[" SEVERAL "]}}\n");
    EQ_STR(read_uri(&p, MODERN, "c:several"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"contents\":[" SEVERAL "],\"ttlMs\":0,\"cacheScope\":\"private\"," DONE "}}\n");
    EQ_STR(read_uri(&p, LEGACY, "c:fail"), J({"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no luck"}}) "\n");
    EQ_STR(read_uri(&p, LEGACY, "c:error"), J({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"gone","data":{"uri":"c:error"}}}) "\n");
    EQ_STR(read_uri(&p, LEGACY, "c:gone"), J({"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"no longer here","data":{"uri":"c:gone"}}}) "\n");
    EQ_STR(read_uri(&p, MODERN, "c:gone"), J({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no longer here","data":{"uri":"c:gone"}}}) "\n");
    CHECK(strstr(read_uri(&p, LEGACY, "c:bad"), "\"code\":-32603") != NULL);
    EQ_STR(read_uri(&p, MODERN, "c:result"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"contents\":[{\"uri\":\"c:r\",\"text\":\"\"}],\"ttlMs\":7,\"resultType\":\"complete\",\"cacheScope\":\"private\",\"_meta\":{\"a\":1,\"io.modelcontextprotocol/serverInfo\":{\"name\":\"srv\",\"version\":\"1\"}}}}\n");
    EQ_STR(read_uri(&p, LEGACY, "c:begin"), J({"jsonrpc":"2.0","id":1,"result":{"contents":[]}}) "\n");
    EQ_STR(read_uri(&p, LEGACY, "c:replaced"), J({"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"c:replaced","mimeType":"text/plain","text":"kept"}]}}) "\n");
    EQ_STR(read_uri(&p, LEGACY, "c:removes"), J({"jsonrpc":"2.0","id":1,"result":{"contents":[{"uri":"c:removes","mimeType":"text/plain","text":"still here"}]}}) "\n" J({"jsonrpc":"2.0","method":"notifications/resources/list_changed"}) "\n");
    CHECK(strstr(read_uri(&p, LEGACY, "c:removes"), "-32002") != NULL);
    CHECK(strstr(read_uri(&p, LEGACY, "c:silent"), "the handler did not answer") != NULL);
    /* before 2025-03-26 there is no audio content; the contents of a resource are the same in all revisions */
    (void)say(&p, J({"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}));
    EQ_STR(read_uri(&p, LEGACY, "c:several"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"contents\":[" SEVERAL "]}}\n");
    end(s, &p);
}

TEST(unknown_resources)
{
    static const char *const params[] = { "", "\"uri\":7", "\"uri\":null", "\"uri\":{}", "\"uri\":[\"a:b\"]" };
    mcp_server *s = server();
    peer p = join(s);
    size_t i;
    int era;
    EQ_INT(text_resource(s, "a:b", "x"), MCP_OK);
    legacy(&p);
    EQ_STR(read_uri(&p, LEGACY, "a:\\\"c\\u0000"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32002,\"message\":\"Resource not found\",\"data\":{\"uri\":\"a:\\\"c\\u0000\"}}}\n");
    EQ_STR(read_uri(&p, MODERN, "a:c"), J({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Resource not found","data":{"uri":"a:c"}}}) "\n");
    CHECK(strstr(read_uri(&p, MODERN, ""), "\"data\":{\"uri\":\"\"}") != NULL);
    CHECK(strstr(read_uri(&p, MODERN, "a:b\\u0000"), "Resource not found") != NULL);      /* not cut at the NUL */
    CHECK(strstr(read_uri(&p, MODERN, "A:b"), "Resource not found") != NULL);
    for (era = LEGACY; era <= MODERN; era++)
        for (i = 0; i < sizeof params / sizeof *params; i++)
            CHECK(strstr(ask(&p, era, "resources/read", params[i]), "\"code\":-32602,\"message\":\"params.uri is not a string\"") != NULL);
    end(s, &p);
    s = server();                                                 /* without resources there is no such method */
    p = join(s);
    CHECK(strstr(read_uri(&p, MODERN, "a:b"), "-32601") != NULL);
    legacy(&p);
    CHECK(strstr(read_uri(&p, LEGACY, "a:b"), "-32601") != NULL);
    CHECK(strstr(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"a:b\""), "-32601") != NULL);
    HASNT(&p, "\"result\"");
    end(s, &p);
}

/* -- templates ----------------------------------------------------------------------------------------------------------- */

/* Answers with what stood for the variables a to e, each in brackets. */
static void vars(mcp_req *r, void *user)
{
    static const char *const names[] = { "a", "b", "c", "d", "e" };
    char text[4096] = "";
    size_t i, n = 0;
    (void)user;
    for (i = 0; i < 5; i++) {
        const char *v = mcp_req_var(r, names[i]);
        if (v) n += (size_t)snprintf(text + n, sizeof text - n, "%s=[%s]", names[i], v);
    }
    CHECK(mcp_req_var(r, "zz") == NULL);
    CHECK(mcp_req_var(r, "") == NULL);
    CHECK(mcp_req_var(r, NULL) == NULL);
    mcp_req_text(r, text);
}

TEST(templates_match)
{
    static const struct { const char *template, *uri, *text; } t[] = {    /* text NULL: no match */
        { "x:{a}", "x:1", "a=[1]" },
        { "x:{a}", "x:", NULL },                                  /* one or more characters */
        { "x:{a}", "x:a/b", NULL },
        { "x:{a}", "y:1", NULL },
        { "x:{a}", "xx:1", NULL },
        { "x:{a}", "x:a?b#c", "a=[a?b#c]" },
        { "x:{+a}", "x:a/b/c", "a=[a/b/c]" },
        { "x:{+a}", "x:/", "a=[/]" },
        { "x:{+a}", "x:", NULL },
        { "x:{+a}{b}", "x:1/2", "a=[1/]b=[2]" },                  /* b has at least one, and no slash */
        { "x:{+a}{b}", "x:1", NULL },
        { "x:{+a}{b}", "x:1/", NULL },
        { "x:r{/a}", "x:r/1", "a=[1]" },
        { "x:r{/a}", "x:r", NULL },
        { "x:r{/a}", "x:r/", NULL },
        { "x:r{/a}{/b}", "x:r/1/2", "a=[1]b=[2]" },
        { "x:r{/a}{/b}", "x:r/1/2/3", NULL },
        { "{a}:{+b}", "q:w/e", "a=[q]b=[w/e]" },
        { "{+a}", "anything", "a=[anything]" },
        { "x:{a}/data", "x:12/data", "a=[12]" },
        { "x:{a}/data", "x:12/data/", NULL },
        { "x:{a}/data", "x:/data", NULL },
        { "x:{a}-{b}", "x:1-2-3", "a=[1-2]b=[3]" },               /* the longest, from the left */
        { "x:{a}-{b}", "x:1-", NULL },
        { "x:{a}-{b}", "x:--", NULL },
        { "x:{a}-{b}", "x:---", "a=[-]b=[-]" },
        { "x:{a}{b}{c}", "x:abcd", "a=[ab]b=[c]c=[d]" },
        { "x:{a}{b}{c}", "x:ab", NULL },
        { "x:{a}.{b}.{c}", "x:a.b.c.d", "a=[a.b]b=[c]c=[d]" },
        { "x:{+a}/x/{b}", "x:1/x/2/x/3", "a=[1/x/2]b=[3]" },
        { "x:{+a}/x/{b}", "x:1/x/2/y", NULL },
        { "x:{+a}aab{+b}", "x:aaaab", NULL },                     /* nothing is left for b */
        { "x:{+a}aab{+b}", "x:aaaabb", "a=[aa]b=[b]" },
        { "x:{+a}abab{b}", "x:abababab1", "a=[abab]b=[1]" },
        { "x:{a}", "x:%41%62%2f%2F%25", "a=[Ab//%]" },            /* decoded after it was matched */
        { "x:{a}", "x:a+b", "a=[a+b]" },
        { "x:{a}", "x:%", "a=[%]" },                              /* wrong escapes stay as they are */
        { "x:{a}", "x:%4", "a=[%4]" },
        { "x:{a}", "x:%4g%g4%%41", "a=[%4g%g4%A]" },
        { "x:{a}", "x:a%00b", NULL },
        { "x:{a}", "x:%00", NULL },
        { "x:{a}-{b}", "x:1-%00", NULL },
        { "x:{a}", "x:%c3%a9", "a=[\xc3\xa9]" },
        { "x:{a}", "x:\xc3\xa9", "a=[\xc3\xa9]" },
        { "x:{a}", "x:%ff", "a=[\xEF\xBF\xBD]" },                 /* no UTF-8: it is mended when it goes out */
        { "x:{a}", "x:%7B%7d", "a=[{}]" },
        { "x:%41{a}", "x:%41b", "a=[b]" },                        /* the literal parts are compared as they are */
        { "x:%41{a}", "x:Ab", NULL },
        { "x:..{a}", "x:...", "a=[.]" },
    };
    size_t i;
    char want[256];
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        mcp_server *s = server();
        peer p = join(s);
        EQ_INT(resource(s, t[i].template, vars, NULL), MCP_OK);
        snprintf(want, sizeof want, "\"text\":\"%s\"}]", t[i].text ? t[i].text : "");
        (void)read_uri(&p, MODERN, t[i].uri);
        if (strstr(p.text, t[i].text ? want : "Resource not found") == NULL) printf("%s against %s: %s", t[i].uri, t[i].template, p.text);
        HAS(&p, t[i].text ? want : "Resource not found");
        end(s, &p);
    }
    {
        mcp_server *s = server();
        peer p = join(s);
        EQ_INT(resource(s, "x:{a}", vars, NULL), MCP_OK);
        CHECK(strstr(read_uri(&p, MODERN, "x:a\\u0000b"), "Resource not found") != NULL);
        end(s, &p);
    }
}

TEST(templates_in_order)
{
    mcp_server *s = server();
    peer p = join(s);
    EQ_INT(resource(s, "x:{a}-{b}", vars, NULL), MCP_OK);
    EQ_INT(resource(s, "x:{a}", nothing, "second"), MCP_OK);
    EQ_INT(resource(s, "x:{+c}", vars, NULL), MCP_OK);
    EQ_INT(text_resource(s, "x:1-2", "fixed"), MCP_OK);
    EQ_INT(text_resource(s, "x:{a", NULL), MCP_ERR_ARGUMENT);
    mcp_server_free(s); leave(&p);
    s = server();
    p = join(s);
    EQ_INT(resource(s, "x:{a}-{b}", vars, NULL), MCP_OK);
    EQ_INT(resource(s, "x:{a}", nothing, "second"), MCP_OK);
    EQ_INT(resource(s, "x:{+c}", vars, NULL), MCP_OK);
    EQ_INT(text_resource(s, "x:1-2", "fixed"), MCP_OK);
    CHECK(strstr(read_uri(&p, MODERN, "x:1-2"), "fixed") != NULL);               /* a resource comes before any template */
    CHECK(strstr(read_uri(&p, MODERN, "x:1-3"), "a=[1]b=[3]") != NULL);
    CHECK(strstr(read_uri(&p, MODERN, "x:1"), "second") != NULL);
    CHECK(strstr(read_uri(&p, MODERN, "x:1/2"), "c=[1/2]") != NULL);
    HASNT(&p, "a=[");
    CHECK(strstr(read_uri(&p, MODERN, "x:1-%00"), "Resource not found") != NULL);
    EQ_STR(ask(&p, MODERN, "resources/templates/list", ""), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resourceTemplates\":[" J({"uriTemplate":"x:{a}-{b}","name":"x:{a}-{b}"}) ","
        J({"uriTemplate":"x:{a}","name":"x:{a}"}) "," J({"uriTemplate":"x:{+c}","name":"x:{+c}"}) "],\"ttlMs\":0,\"cacheScope\":\"private\"," DONE "}}\n");
    EQ_INT(mcp_server_remove(s, MCP_LIST_RESOURCES, "x:{a}"), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_server_remove(s, MCP_LIST_TEMPLATES, "x:{a}"), MCP_OK);
    CHECK(strstr(read_uri(&p, MODERN, "x:1"), "c=[1]") != NULL);
    EQ_INT(mcp_server_remove(s, MCP_LIST_TEMPLATES, "x:{a}-{b}"), MCP_OK);
    EQ_INT(mcp_server_remove(s, MCP_LIST_TEMPLATES, "x:{+c}"), MCP_OK);
    CHECK(strstr(ask(&p, MODERN, "resources/templates/list", ""), "\"resourceTemplates\":[]") != NULL);
    end(s, &p);
}

static char warned[1024];
static void warn(int level, const char *text, void *user)
{
    (void)user;
    if (level == 1 && strlen(warned) + strlen(text) + 2 < sizeof warned) strcat(strcat(warned, text), "\n");
}

/* What is taken though it is odd is said to whoever listens. */
TEST(odd_names)
{
    mcp_server_desc d;
    mcp_server *s;
    char longest[131];
    memset(&d, 0, sizeof d);
    d.log.fn = warn;
    d.log.level = 1;
    s = server_with(&d);
    warned[0] = 0;
    memset(longest, 'x', 129);
    longest[128] = 0;
    EQ_INT(tool(s, longest, nothing), MCP_OK);
    EQ_INT(tool(s, "A-b_c.9", nothing), MCP_OK);
    EQ_INT(text_resource(s, "x:1", ""), MCP_OK);
    EQ_INT(resource(s, "{a}", vars, NULL), MCP_OK);
    EQ_STR(warned, "");
    longest[128] = 'x';
    longest[129] = 0;
    EQ_INT(tool(s, "has space", nothing), MCP_OK);
    EQ_INT(tool(s, "\xc3\xa9", nothing), MCP_OK);
    EQ_INT(text_resource(s, "no-scheme", ""), MCP_OK);
    EQ_INT(text_resource(s, "x: y", ""), MCP_OK);
    EQ_STR(warned, "tool \"has space\": some clients take only names of 1 to 128 characters of A-Z a-z 0-9 _ - .\n"
                   "tool \"\xc3\xa9\": some clients take only names of 1 to 128 characters of A-Z a-z 0-9 _ - .\n"
                   "resource \"no-scheme\": this is no URI: it needs a scheme, and no blanks\n"
                   "resource \"x: y\": this is no URI: it needs a scheme, and no blanks\n");
    warned[0] = 0;
    EQ_INT(tool(s, longest, nothing), MCP_OK);
    CHECK(strstr(warned, "1 to 128") != NULL);
    mcp_server_free(s);
}

TEST(bad_templates)
{
    static const char *const bad[] = {
        "x:{", "x:}", "x:{}", "x:{a", "x:a}", "x:{+}", "x:{/}", "x:{a}{", "x:{a}}", "x:{{a}}", "x:{a b}", "x:{a,b}", "x:{a:3}", "x:{a*}", "x:{#a}", "x:{?a}", "x:{&a}", "x:{.a}{;b}",
        "x:{%41}", "x:{\xc3\xa9}", "x:{a-b}", "x:{++a}", "x:{+/a}",
    };
    size_t i;
    char uri[1024], want[1200];
    int n;
    mcp_server *s;
    mcp_resource r;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        s = server();
        if (resource(s, bad[i], vars, NULL) != MCP_ERR_ARGUMENT) printf("%s is taken\n", bad[i]);
        EQ_INT(resource(s, bad[i], vars, NULL), MCP_ERR_ARGUMENT);
        snprintf(want, sizeof want, "template \"%s\": only {name}, {+name} and {/name} are known, in at most 60 parts", bad[i]);
        EQ_STR(mcp_server_error(s), want);
        EQ_INT(mcp_server_step(s, NULL, 0), MCP_ERR_ARGUMENT);
        mcp_server_free(s);
    }
    for (n = 2; n < 100; n++) {                                   /* up to 60 parts, then it says so */
        peer p;
        size_t len = (size_t)snprintf(uri, sizeof uri, "x:");
        int k;
        for (k = 1; k < n; k++) len += (size_t)snprintf(uri + len, sizeof uri - len, "{v}");
        s = server();
        p = join(s);
        EQ_INT(resource(s, uri, nothing, NULL), n <= 60 ? MCP_OK : MCP_ERR_ARGUMENT);
        if (n > 60) CHECK(strstr(mcp_server_error(s), "parts") != NULL);
        if (n <= 60) {
            char request[160] = "x:";
            memset(request + 2, 'y', (size_t)n - 1);
            request[n + 1] = 0;
            CHECK(strstr(read_uri(&p, MODERN, request), "\"text\":\"ok\"") != NULL);
            request[n] = 0;                                       /* one too short */
            CHECK(strstr(read_uri(&p, MODERN, request), "Resource not found") != NULL);
        }
        end(s, &p);
    }
    s = server();
    memset(&r, 0, sizeof r);
    r.fn = vars;
    EQ_INT(mcp_server_resource(s, &r), MCP_ERR_ARGUMENT);
    EQ_STR(mcp_server_error(s), "a resource without a name");
    r.uri = "";
    EQ_INT(mcp_server_resource(s, &r), MCP_ERR_ARGUMENT);
    r.uri = "x:\xff";
    EQ_INT(mcp_server_resource(s, &r), MCP_ERR_ARGUMENT);
    r.uri = "x:1"; r.fn = NULL;
    EQ_INT(mcp_server_resource(s, &r), MCP_ERR_ARGUMENT);
    EQ_STR(mcp_server_error(s), "resource \"x:1\" has no fn and no data");
    r.uri = "x:{a}"; r.data = "x";                                /* a template has no content */
    EQ_INT(mcp_server_resource(s, &r), MCP_ERR_ARGUMENT);
    EQ_STR(mcp_server_error(s), "template \"x:{a}\" has no fn");
    r.uri = "x:1"; r.annotations = "[]";
    EQ_INT(mcp_server_resource(s, &r), MCP_ERR_ARGUMENT);
    EQ_STR(mcp_server_error(s), "resource \"x:1\": annotations is not an object");
    r.annotations = NULL; r.icons = "{}";
    EQ_INT(mcp_server_resource(s, &r), MCP_ERR_ARGUMENT);
    EQ_STR(mcp_server_error(s), "resource \"x:1\": icons is not an array");
    r.icons = NULL; r.meta = "{";
    EQ_INT(mcp_server_resource(s, &r), MCP_ERR_ARGUMENT);
    EQ_STR(mcp_server_error(s), "resource \"x:1\": _meta is not JSON: byte 1");
    EQ_INT(mcp_server_resource(s, NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_server_resource(NULL, &r), MCP_ERR_ARGUMENT);
    mcp_server_free(s);
}

/* A URI made to be tried in many ways costs no more than its length times that of the template, and what is beyond any good length
   is not looked at. */
TEST(hostile_uris)
{
    static const char *const templates[] = { "x:{+a}-{+b}-{+c}-{+d}-{+e}!", "x:{+a}{+b}{+c}{+d}{+e}!", "x:{+a}aaaaaaaaaaaaaaab{+b}", "x:{a}a{b}a{c}a{d}a{e}a!" };
    size_t i, n;
    for (i = 0; i < sizeof templates / sizeof *templates; i++) {
        mcp_server *s = server();
        peer p = join(s);
        char *uri = (char *)malloc(70000);
        EQ_INT(resource(s, templates[i], nothing, NULL), MCP_OK);
        for (n = 1000; n <= 8000; n *= 2) {
            memset(uri, i == 0 ? '-' : 'a', n);
            memcpy(uri, "x:", 2);
            uri[n] = 0;
            compared = 0;
            CHECK(strstr(read_uri(&p, MODERN, uri), "Resource not found") != NULL);
            CHECK(compared < 40 * n);
        }
        memset(uri, 'a', 8192);
        memcpy(uri, "x:", 2);
        uri[8191] = '!';
        uri[8192] = 0;
        if (i == 1) {
            CHECK(strstr(read_uri(&p, MODERN, uri), "\"contents\"") != NULL);
            memcpy(uri + 8191, "a!", 3);
            CHECK(strstr(read_uri(&p, MODERN, uri), "Resource not found") != NULL);
        }
        free(uri);
        end(s, &p);
    }
}

/* Without memory a resource is not unknown: nobody may take it for gone. */
TEST(templates_without_memory)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    long n;
    memset(&d, 0, sizeof d);
    d.alloc.resize = counting;
    s = server_with(&d);
    p = join(s);
    EQ_INT(resource(s, "x:{a}/{b}", vars, NULL), MCP_OK);
    CHECK(strstr(ask(&p, MODERN, "resources/list", ""), "\"result\"") != NULL);
    for (n = 0; n < 20; n++) {
        char uri[3000];
        memset(uri, 'u', sizeof uri);
        memcpy(uri, "x:u/", 4);
        uri[1000 + 90 * n] = 0;                                   /* longer than the last one: no buffer is large enough yet */
        fail_at = allocations + n;
        (void)read_uri(&p, MODERN, uri);
        fail_at = -1;
        CHECK(strstr(p.text, "a=[u]b=[uu") != NULL || strstr(p.text, "out of memory") != NULL);
        HASNT(&p, "not found");
    }
    HAS(&p, "a=[u]b=[uu");
    end(s, &p);
    EQ_INT(live_bytes, 0);
}

/* A resource that asks first: what stood for the variables is there in each run. */
static int runs;
static void asking(mcp_req *r, void *user)
{
    const mcp_json *roots;
    char text[64];
    (void)user;
    runs++;
    snprintf(text, sizeof text, "%s", mcp_req_var(r, "a"));
    if (mcp_req_ask(r, "k", "roots/list", NULL, &roots) == MCP_OK) mcp_req_textf(r, "%s and %s of %s: %d", text, mcp_req_var(r, "a"), mcp_req_uri(r), (int)mcp_json_size(mcp_json_get(roots, "roots")));
}

TEST(templates_that_ask)
{
    mcp_server *s = server();
    peer p = join(s);
    EQ_INT(resource(s, "x:{a}", asking, NULL), MCP_OK);
    runs = 0;
    (void)say(&p, J({"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}));
    EQ_STR(say(&p, INITIALIZED), "");
    CHECK(strstr(read_uri(&p, LEGACY, "x:o%6Ee"), "\"method\":\"roots/list\"") != NULL);
    {
        const char *id = strstr(p.text, "\"id\":");
        char line[128];
        snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":{\"roots\":[]}}", id ? atol(id + 5) : 0);
        CHECK(strstr(say(&p, line), "{\"uri\":\"x:o%6Ee\",\"text\":\"one and one of x:o%6Ee: 0\"}") != NULL);
    }
    EQ_INT(runs, 2);
    (void)say(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"x:o%6Ee\",\"inputResponses\":{\"k\":{\"roots\":[]}},\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}}}}}");
    HAS(&p, "one and one of x:o%6Ee: 0");
    (void)say(&p, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{\"uri\":\"x:o%6Ee\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}}}}}");
    HAS(&p, "input_required");
    HASNT(&p, "ttlMs");
    end(s, &p);
}

/* -- prompts ------------------------------------------------------------------------------------------------------------- */

static void pieces(mcp_req *r, void *user)
{
    const char *what = user ? (const char *)user : "";
    if (!strcmp(what, "all")) {
        EQ_INT(mcp_req_add_text(r, "t", 1), MCP_OK);
        EQ_INT(mcp_req_role(r, "assistant"), MCP_OK);
        EQ_INT(mcp_req_role(r, "system"), MCP_ERR_ARGUMENT);
        EQ_INT(mcp_req_role(r, NULL), MCP_ERR_ARGUMENT);
        EQ_INT(mcp_req_role(r, ""), MCP_ERR_ARGUMENT);
        EQ_INT(mcp_req_add_image(r, "image/png", "abc", 3), MCP_OK);
        EQ_INT(mcp_req_add_audio(r, "audio/wav", "abc", 3), MCP_OK);
        EQ_INT(mcp_req_role(r, "user"), MCP_OK);
        EQ_INT(mcp_req_add_resource(r, "x:r", "text/plain", "q", 1, false), MCP_OK);
        EQ_INT(mcp_req_add_link(r, "x:l", "n", "text/plain"), MCP_OK);
        EQ_INT(mcp_req_add_json(r, "{\"type\":\"text\",\"text\":\"j\"}", MCP_NTS), MCP_OK);
        EQ_INT(mcp_req_structured(r, "{}", 2), MCP_ERR_MISUSE);
        EQ_INT(mcp_req_values(r, NULL, 0, -1, false), MCP_ERR_MISUSE);
        EQ_INT(mcp_req_done(r), MCP_OK);
    } else if (!strcmp(what, "fail")) EQ_INT(mcp_req_fail(r, "no"), MCP_OK);
    else if (!strcmp(what, "args")) {
        EQ_STR(mcp_req_method(r), "prompts/get");
        EQ_STR(mcp_req_tool(r), "");
        EQ_STR(mcp_req_uri(r), "");
        mcp_req_textf(r, "%s and %s", mcp_arg_str(r, "one", "none"), mcp_arg_str(r, "two", "none"));
    } else mcp_req_text(r, "hello");
}

TEST(prompts)
{
    mcp_server *s = server();
    peer p = join(s);
    mcp_prompt d;
    memset(&d, 0, sizeof d);
    d.name = "all"; d.title = "T"; d.description = "D\"\xc3\xa9"; d.fn = pieces; d.user = (void *)(uintptr_t)"all";
    d.icons = "[]"; d.meta = "{\"m\":1}"; d.arguments = MCP_JSON([{"name": "one", "description": "d", "required": true}, {"name": "two", "required": false}, {"name": "three"}]);
    EQ_INT(mcp_server_prompt(s, &d), MCP_OK);
    EQ_INT(prompt(s, "plain", pieces, NULL), MCP_OK);
    d.name = "fail"; d.user = (void *)(uintptr_t)"fail"; d.arguments = NULL;
    EQ_INT(mcp_server_prompt(s, &d), MCP_OK);
    d.name = "args"; d.user = (void *)(uintptr_t)"args"; d.description = NULL;
    EQ_INT(mcp_server_prompt(s, &d), MCP_OK);
    CHECK(strstr(say(&p, INIT), "\"capabilities\":{\"prompts\":{\"listChanged\":true}}") != NULL);
    legacy(&p);
    EQ_STR(ask(&p, LEGACY, "prompts/list", ""), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"prompts\":["
        J({"name":"all","title":"T","description":"D\"é","icons":[],"_meta":{"m":1},"arguments":[{"name":"one","description":"d","required":true},{"name":"two","required":false},{"name":"three"}]}) ","
        J({"name":"plain"}) "," J({"name":"fail","title":"T","description":"D\"é","icons":[],"_meta":{"m":1}}) "," J({"name":"args","title":"T","icons":[],"_meta":{"m":1}}) "]}}\n");
#define ALL "\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"t\"}},{\"role\":\"assistant\",\"content\":{\"type\":\"image\",\"data\":\"YWJj\",\"mimeType\":\"image/png\"}}," \
    "{\"role\":\"assistant\",\"content\":{\"type\":\"audio\",\"data\":\"YWJj\",\"mimeType\":\"audio/wav\"}},{\"role\":\"user\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":\"x:r\",\"mimeType\":\"text/plain\",\"text\":\"q\"}}}," \
    "{\"role\":\"user\",\"content\":{\"type\":\"resource_link\",\"uri\":\"x:l\",\"name\":\"n\",\"mimeType\":\"text/plain\"}},{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"j\"}}],\"description\":\"D\\\"\xc3\xa9\""
    EQ_STR(ask(&p, LEGACY, "prompts/get", "\"name\":\"all\",\"arguments\":{\"one\":\"\"}"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{" ALL "}}\n");
    EQ_STR(ask(&p, MODERN, "prompts/get", "\"name\":\"all\",\"arguments\":{\"one\":\"\"}"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{" ALL "," DONE "}}\n");
    EQ_STR(ask(&p, LEGACY, "prompts/get", "\"name\":\"plain\""), J({"jsonrpc":"2.0","id":1,"result":{"messages":[{"role":"user","content":{"type":"text","text":"hello"}}]}}) "\n");
    EQ_STR(ask(&p, LEGACY, "prompts/get", "\"name\":\"fail\""), J({"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}) "\n");
    CHECK(strstr(ask(&p, LEGACY, "prompts/get", "\"name\":\"args\",\"arguments\":{\"two\":\"zwei\",\"other\":\"x\"}"), "none and zwei") != NULL);
    EQ_STR(ask(&p, LEGACY, "prompts/get", "\"name\":\"all\",\"arguments\":{\"two\":\"\"}"), J({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"this argument is required: one"}}) "\n");
    EQ_STR(ask(&p, LEGACY, "prompts/get", "\"name\":\"all\""), J({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"this argument is required: one"}}) "\n");
    EQ_STR(ask(&p, LEGACY, "prompts/get", "\"name\":\"nope\""), J({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown prompt: nope"}}) "\n");
    {
        static const char *const bad[] = { "", "\"name\":7", "\"name\":\"all\",\"arguments\":[]", "\"name\":\"all\",\"arguments\":null", "\"name\":\"all\",\"arguments\":{\"one\":1}",
            "\"name\":\"all\",\"arguments\":{\"one\":\"x\",\"two\":null}", "\"name\":\"all\",\"arguments\":{\"one\":\"x\",\"z\":{}}", "\"name\":\"all\",\"arguments\":{\"one\":true}" };
        size_t i;
        for (i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(strstr(ask(&p, i % 2 ? MODERN : LEGACY, "prompts/get", bad[i]), "\"code\":-32602") != NULL);
    }
    /* what a revision does not have goes as something that it has */
    (void)say(&p, J({"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}));
    (void)ask(&p, LEGACY, "prompts/get", "\"name\":\"all\",\"arguments\":{\"one\":\"\"}");
    HAS(&p, "{\"role\":\"assistant\",\"content\":{\"type\":\"resource\",\"resource\":{\"uri\":\"audio:data\",\"mimeType\":\"audio/wav\",\"blob\":\"YWJj\"}}}");
    HAS(&p, "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"x:l\"}}");
    HASNT(&p, "resource_link");
    /* replaced, removed */
    EQ_INT(prompt(s, "all", pieces, NULL), MCP_OK);
    EQ_INT(mcp_server_remove(s, MCP_LIST_PROMPTS, "plain"), MCP_OK);
    EQ_STR(hear(&p), J({"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}) "\n");
    CHECK(strstr(ask(&p, LEGACY, "prompts/list", ""), "\"prompts\":[{\"name\":\"all\"},{\"name\":\"fail\"") != NULL);
    CHECK(strstr(ask(&p, LEGACY, "prompts/get", "\"name\":\"plain\""), "Unknown prompt") != NULL);
    end(s, &p);
}

TEST(bad_prompts)
{
    static const struct { const char *arguments, *icons, *error; } bad[] = {
        { "{}", NULL, "prompt \"p\": arguments is not an array" },
        { "[", NULL, "prompt \"p\": arguments is not JSON: byte 1" },
        { "[\"x\"]", NULL, "prompt \"p\": arguments: each is an object with a name" },
        { "[{\"name\":\"a\"},{\"description\":\"x\"}]", NULL, "prompt \"p\": arguments: each is an object with a name" },
        { "[{\"name\":7}]", NULL, "prompt \"p\": arguments: each is an object with a name" },
        { NULL, "{}", "prompt \"p\": icons is not an array" },
    };
    size_t i;
    mcp_prompt d;
    mcp_server *s;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        s = server();
        memset(&d, 0, sizeof d);
        d.name = "p"; d.fn = pieces; d.arguments = bad[i].arguments; d.icons = bad[i].icons;
        EQ_INT(mcp_server_prompt(s, &d), MCP_ERR_ARGUMENT);
        EQ_STR(mcp_server_error(s), bad[i].error);
        EQ_INT(mcp_server_step(s, NULL, 0), MCP_ERR_ARGUMENT);
        mcp_server_free(s);
    }
    s = server();
    memset(&d, 0, sizeof d);
    EQ_INT(mcp_server_prompt(s, &d), MCP_ERR_ARGUMENT);
    EQ_STR(mcp_server_error(s), "a prompt without a name");
    d.name = "p";
    EQ_INT(mcp_server_prompt(s, &d), MCP_ERR_ARGUMENT);
    EQ_STR(mcp_server_error(s), "prompt \"p\" has no fn");
    EQ_INT(mcp_server_prompt(s, NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_server_prompt(NULL, &d), MCP_ERR_ARGUMENT);
    mcp_server_free(s);
}

/* -- completion ---------------------------------------------------------------------------------------------------------- */

static mcp_id late_id;
static void completes(mcp_req *r, void *user)
{
    static char text[150][16];
    const char *values[150], *typed, *name = mcp_req_completes(r, &typed);
    int i;
    (void)user;
    for (i = 0; i < 150; i++) { snprintf(text[i], sizeof text[i], "v%d", i); values[i] = text[i]; }
    if (!strcmp(name, "many")) EQ_INT(mcp_req_values(r, values, 150, -1, false), MCP_OK);
    else if (!strcmp(name, "exact")) EQ_INT(mcp_req_values(r, values, 100, 100, false), MCP_OK);
    else if (!strcmp(name, "some")) EQ_INT(mcp_req_values(r, values, 2, 4000, true), MCP_OK);
    else if (!strcmp(name, "null")) { values[1] = NULL; EQ_INT(mcp_req_values(r, values, 3, -1, false), MCP_OK); }
    else if (!strcmp(name, "none")) EQ_INT(mcp_req_values(r, NULL, 7, 0, false), MCP_OK);
    else if (!strcmp(name, "content")) {                          /* a completion has no content */
        EQ_INT(mcp_req_text(r, "x"), MCP_ERR_MISUSE);
        EQ_INT(mcp_req_add_text(r, "x", 1), MCP_ERR_MISUSE);
        EQ_INT(mcp_req_add_image(r, "image/png", "x", 1), MCP_ERR_MISUSE);
        EQ_INT(mcp_req_structured(r, "{}", 2), MCP_ERR_MISUSE);
        EQ_INT(mcp_req_done(r), MCP_ERR_MISUSE);
    } else if (!strcmp(name, "fail")) EQ_INT(mcp_req_fail(r, "no index"), MCP_OK);
    else if (!strcmp(name, "late")) { late_id = mcp_req_defer(r); CHECK(late_id != 0); }
    else {
        char said[64];
        snprintf(said, sizeof said, "%s:%s:%s", name, typed, mcp_arg_str(r, "before", "-"));
        values[0] = said;
        EQ_INT(mcp_req_values(r, values, 1, 1, false), MCP_OK);
    }
}

static const char *complete(peer *p, int era, const char *ref, const char *name, const char *rest)
{
    char members[512];
    snprintf(members, sizeof members, "\"ref\":%s,\"argument\":{\"name\":\"%s\",\"value\":\"ty\"}%s", ref, name, rest);
    return ask(p, era, "completion/complete", members);
}

TEST(completion)
{
    static const char *const bad[] = {
        "", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"}", "\"argument\":{\"name\":\"a\",\"value\":\"\"}", "\"ref\":{\"type\":\"ref/tool\",\"name\":\"p\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}",
        "\"ref\":{\"name\":\"p\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"a\"}",
        "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":{\"name\":1,\"value\":\"\"}", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},\"argument\":{\"name\":\"a\",\"value\":1}",
        "\"ref\":{\"type\":\"ref/prompt\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}", "\"ref\":{\"type\":\"ref/prompt\",\"name\":\"nope\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}",
        "\"ref\":{\"type\":\"ref/resource\",\"uri\":\"x:none\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}", "\"ref\":{\"type\":\"ref/resource\",\"name\":\"p\"},\"argument\":{\"name\":\"a\",\"value\":\"\"}",
        "\"ref\":{\"type\":\"ref/prompt\",\"name\":7},\"argument\":{\"name\":\"a\",\"value\":\"\"}",
    };
#define P "{\"type\":\"ref/prompt\",\"name\":\"p\"}"
#define T "{\"type\":\"ref/resource\",\"uri\":\"x:{a}\"}"
    mcp_server *s = server();
    peer p = join(s);
    mcp_prompt d;
    mcp_resource r;
    size_t i;
    memset(&d, 0, sizeof d);
    memset(&r, 0, sizeof r);
    d.name = "p"; d.fn = pieces;
    EQ_INT(mcp_server_prompt(s, &d), MCP_OK);
    CHECK(strstr(complete(&p, MODERN, P, "a", ""), "-32601") != NULL);           /* nobody completes anything */
    HASNT(&p, "\"result\"");
    d.complete = completes;
    EQ_INT(mcp_server_prompt(s, &d), MCP_OK);
    EQ_INT(prompt(s, "plain", pieces, NULL), MCP_OK);
    EQ_INT(prompt(s, "7", pieces, NULL), MCP_OK);
    r.uri = "x:{a}"; r.fn = vars; r.complete = completes;
    EQ_INT(mcp_server_resource(s, &r), MCP_OK);
    EQ_INT(text_resource(s, "x:fixed", ""), MCP_OK);
    CHECK(strstr(say(&p, INIT), "\"completions\":{}") != NULL);
    legacy(&p);
    EQ_STR(complete(&p, LEGACY, P, "arg", ",\"context\":{\"arguments\":{\"before\":\"b\"}}"), J({"jsonrpc":"2.0","id":1,"result":{"completion":{"values":["arg:ty:b"],"total":1,"hasMore":false}}}) "\n");
    EQ_STR(complete(&p, MODERN, T, "a", ",\"context\":{\"arguments\":{\"before\":\"b\"}}"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"completion\":{\"values\":[\"a:ty:b\"],\"total\":1,\"hasMore\":false}," DONE "}}\n");
    CHECK(strstr(complete(&p, LEGACY, P, "arg", ""), "arg:ty:-") != NULL);
    CHECK(strstr(complete(&p, LEGACY, P, "arg", ",\"context\":{\"arguments\":[1]}"), "arg:ty:-") != NULL);
    CHECK(strstr(complete(&p, LEGACY, P, "arg", ",\"context\":7"), "arg:ty:-") != NULL);
    CHECK(strstr(complete(&p, LEGACY, P, "many", ""), "\"v99\"],\"hasMore\":true}") != NULL);
    EQ_INT(times(p.text, "\"v"), 101);                            /* "values", and a hundred of them */
    CHECK(strstr(complete(&p, LEGACY, P, "exact", ""), "\"v99\"],\"total\":100,\"hasMore\":false}") != NULL);
    CHECK(strstr(complete(&p, LEGACY, P, "some", ""), "{\"values\":[\"v0\",\"v1\"],\"total\":4000,\"hasMore\":true}") != NULL);
    CHECK(strstr(complete(&p, LEGACY, P, "null", ""), "{\"values\":[\"v0\",\"\",\"v2\"],\"hasMore\":false}") != NULL);
    CHECK(strstr(complete(&p, LEGACY, P, "none", ""), "{\"values\":[],\"total\":0,\"hasMore\":false}") != NULL);
    CHECK(strstr(complete(&p, LEGACY, P, "content", ""), "the handler did not answer") != NULL);
    CHECK(strstr(complete(&p, LEGACY, P, "fail", ""), "\"code\":-32603,\"message\":\"no index\"") != NULL);
    /* what cannot be completed has no values, and is no error */
    CHECK(strstr(complete(&p, LEGACY, "{\"type\":\"ref/prompt\",\"name\":\"plain\"}", "a", ""), "\"completion\":{\"values\":[],\"total\":0,\"hasMore\":false}") != NULL);
    CHECK(strstr(complete(&p, LEGACY, "{\"type\":\"ref/resource\",\"uri\":\"x:fixed\"}", "a", ""), "\"completion\":{\"values\":[]") != NULL);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (!strstr(ask(&p, i % 2 ? MODERN : LEGACY, "completion/complete", bad[i]), "\"code\":-32602")) printf("%s: %s", bad[i], p.text);
        HAS(&p, "\"code\":-32602");
    }
    /* later: what was asked is still there */
    EQ_STR(complete(&p, MODERN, P, "late", ",\"context\":{\"arguments\":{\"before\":\"early\"}}"), "");
    for (i = 0; i < 3; i++) (void)complete(&p, MODERN, T, "overwrites_the_buffer", ",\"context\":{\"arguments\":{\"before\":\"xxxxx\"}}");
    {
        const char *typed, *values[1];
        mcp_req *q = mcp_server_req(s, late_id);
        EQ_STR(mcp_req_completes(q, &typed), "late");
        EQ_STR(typed, "ty");
        EQ_STR(mcp_arg_str(q, "before", "-"), "early");
        values[0] = mcp_arg_str(q, "before", "-");
        EQ_INT(mcp_req_values(q, values, 1, -1, false), MCP_OK);
        CHECK(strstr(hear(&p), "\"values\":[\"early\"]") != NULL);
        EQ_INT(mcp_req_values(mcp_server_req(s, late_id), values, 1, -1, false), MCP_ERR_ARGUMENT);
    }
    EQ_STR(mcp_req_completes(NULL, NULL), "");
    end(s, &p);
}

/* -- deferred ------------------------------------------------------------------------------------------------------------ */

static void later(mcp_req *r, void *user) { (void)user; late_id = mcp_req_defer(r); CHECK(late_id != 0); }

TEST(answered_later)
{
    mcp_server *s = server();
    peer p = join(s);
    mcp_req *r;
    int i;
    EQ_INT(resource(s, "x:{a}/{b}", later, NULL), MCP_OK);
    EQ_INT(prompt(s, "p", later, NULL), MCP_OK);
    legacy(&p);
    EQ_STR(read_uri(&p, MODERN, "x:on%65/two"), "");
    for (i = 0; i < 3; i++) CHECK(strstr(ask_as(&p, MODERN, "2", "resources/read", "\"uri\":\"y:aaaaaaaaaaaaaaaaaaaaaaaa\""), "not found") != NULL);
    r = mcp_server_req(s, late_id);
    EQ_STR(mcp_req_var(r, "a"), "one");
    EQ_STR(mcp_req_var(r, "b"), "two");
    EQ_STR(mcp_req_uri(r), "x:on%65/two");
    EQ_INT(mcp_server_remove(s, MCP_LIST_TEMPLATES, "x:{a}/{b}"), MCP_OK);        /* it is still in use */
    EQ_STR(mcp_req_var(mcp_server_req(s, late_id), "a"), "one");
    EQ_INT(mcp_req_text(mcp_server_req(s, late_id), "now"), MCP_OK);
    CHECK(strstr(hear(&p), "{\"uri\":\"x:on%65/two\",\"text\":\"now\"}") != NULL);
    EQ_STR(ask(&p, MODERN, "prompts/get", "\"name\":\"p\""), "");
    EQ_INT(mcp_server_remove(s, MCP_LIST_PROMPTS, "p"), MCP_OK);
    EQ_INT(mcp_req_role(mcp_server_req(s, late_id), "assistant"), MCP_OK);
    EQ_INT(mcp_req_text(mcp_server_req(s, late_id), "now"), MCP_OK);
    CHECK(strstr(hear(&p), "\"messages\":[{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"now\"}}]") != NULL);
    end(s, &p);
}

/* -- lists --------------------------------------------------------------------------------------------------------------- */

static void cursor_of(const char *text, char *cursor)
{
    const char *c = strstr(text, "\"nextCursor\":\"");
    *cursor = 0;
    if (c) sscanf(c + 14, "%63[^\"]", cursor);
}

TEST(pages_of_all_kinds)                                                                   /* B52 */
{
    static const char *const methods[] = { "tools/list", "resources/list", "prompts/list", "resources/templates/list" };
    static const char *const bad[] = { "\"\"", "\"t\"", "\"tg\"", "\"t0\"", "\"t01\"", "\"tffffffffffffffff\"", "\"T1\"", "\"tF\"", "7", "{}", "\"x1\"", "true" };
    static const int kinds[] = { MCP_LIST_TOOLS, MCP_LIST_RESOURCES, MCP_LIST_PROMPTS, MCP_LIST_TEMPLATES };
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    char name[32], members[96], cursor[64], kept[64], key[40];
    int i, kind, era;
    size_t k;
    memset(&d, 0, sizeof d);
    d.page_size = 3;
    s = server_with(&d);
    p = join(s);
    for (i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "n:%d", i);
        EQ_INT(tool(s, name, nothing), MCP_OK);
        EQ_INT(prompt(s, name, nothing, NULL), MCP_OK);
        EQ_INT(text_resource(s, name, ""), MCP_OK);
        snprintf(name, sizeof name, "n:%d{a}", i);
        EQ_INT(resource(s, name, nothing, NULL), MCP_OK);
    }
    legacy(&p);
    for (era = LEGACY; era <= MODERN; era++)
        for (kind = 0; kind < 4; kind++) {
            int seen = 0, pages = 0;
            *cursor = 0;
            do {
                snprintf(members, sizeof members, *cursor ? "\"cursor\":\"%s\"" : "%s", cursor);
                (void)ask(&p, era, methods[kind], members);
                for (i = 0; i < 10; i++) {                        /* each once, in order */
                    snprintf(key, sizeof key, "\"name\":\"n:%d%s\"", i, kind == 3 ? "{a}" : "");
                    if (strstr(p.text, key)) { EQ_INT(i, seen); seen++; }
                }
                if (era == MODERN) HAS(&p, "\"ttlMs\":0,\"cacheScope\":\"private\"");
                pages++;
                cursor_of(p.text, cursor);
            } while (*cursor && pages < 20);
            EQ_INT(seen, 10);
            EQ_INT(pages, 4);
        }
    for (kind = 0; kind < 4; kind++)
        for (k = 0; k < sizeof bad / sizeof *bad; k++) {
            snprintf(members, sizeof members, "\"cursor\":%s", bad[k]);
            CHECK(strstr(ask(&p, (int)(k % 2), methods[kind], members), "\"code\":-32602,\"message\":\"cursor is none of this server's\"") != NULL);
        }
    /* a cursor stays good while entries come and go around it */
    for (kind = 0; kind < 4; kind++) {
        const char *tail = kind == 3 ? "{a}" : "";
        (void)ask(&p, LEGACY, methods[kind], "");
        cursor_of(p.text, kept);
        for (i = 0; i < 6; i += 2) {                              /* 0, 2 (the cursor's own), 4 go */
            snprintf(name, sizeof name, "n:%d%s", i, tail);
            EQ_INT(mcp_server_remove(s, kinds[kind], name), MCP_OK);
        }
        snprintf(name, sizeof name, "n:%d%s", 77, tail);
        EQ_INT(kind == 0 ? tool(s, name, nothing) : kind == 2 ? prompt(s, name, nothing, NULL) : resource(s, name, nothing, NULL), MCP_OK);
        (void)hear(&p);
        snprintf(members, sizeof members, "\"cursor\":\"%s\"", kept);
        (void)ask(&p, LEGACY, methods[kind], members);
        EQ_INT(times(p.text, "\"name\":"), 3);
        for (i = 0; i < 3; i++) {
            static const int want[] = { 3, 5, 6 };
            snprintf(key, sizeof key, "\"name\":\"n:%d%s\"", want[i], tail);
            HAS(&p, key);
        }
        while (cursor_of(p.text, cursor), *cursor) {              /* what is new stands at the end */
            snprintf(members, sizeof members, "\"cursor\":\"%s\"", cursor);
            (void)ask(&p, LEGACY, methods[kind], members);
        }
        HAS(&p, "n:77");
    }
    CHECK(strstr(ask(&p, LEGACY, "tools/list", "\"cursor\":null"), "\"tools\":[") != NULL);
    end(s, &p);
    s = server();                                                 /* a server that gives out no cursors knows none */
    p = join(s);
    EQ_INT(tool(s, "t", nothing), MCP_OK);
    CHECK(strstr(ask(&p, MODERN, "tools/list", "\"cursor\":\"t1\""), "-32602") != NULL);
    end(s, &p);
}

TEST(lists_that_are_not_there)                                                             /* B60 */
{
    mcp_server *s = server();
    peer p = join(s);
    EQ_INT(resource(s, "x:{a}", vars, NULL), MCP_OK);             /* templates alone: there is a list of resources too */
    CHECK(strstr(ask(&p, MODERN, "resources/list", ""), "\"resources\":[]") != NULL);
    CHECK(strstr(ask(&p, MODERN, "resources/templates/list", ""), "x:{a}") != NULL);
    CHECK(strstr(ask(&p, MODERN, "prompts/list", ""), "-32601") != NULL);
    CHECK(strstr(ask(&p, MODERN, "tools/list", ""), "-32601") != NULL);
    (void)ask(&p, MODERN, "server/discover", "");
    HAS(&p, "\"capabilities\":{\"resources\":{\"listChanged\":true,\"subscribe\":true}}");
    end(s, &p);
    s = server();
    p = join(s);
    EQ_INT(text_resource(s, "x:1", ""), MCP_OK);
    CHECK(strstr(ask(&p, MODERN, "resources/templates/list", ""), "\"resourceTemplates\":[]") != NULL);
    end(s, &p);
}

/* -- who may see what ---------------------------------------------------------------------------------------------------- */

static bool sees_odd(mcp_req *r, int kind, const char *name, void *user)
{
    size_t n = strcspn(name, "0123456789");
    EQ_STR(mcp_req_principal(r), "alice");
    CHECK(kind == MCP_LIST_TOOLS || kind == MCP_LIST_RESOURCES || kind == MCP_LIST_PROMPTS || kind == MCP_LIST_TEMPLATES);
    CHECK((kind == MCP_LIST_TEMPLATES) == (strchr(name, '{') != NULL));
    CHECK(user != NULL);
    return (name[n] - '0') % 2 == 1;
}

TEST(hidden)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    int i;
    char name[96], cursor[64];
    mcp_prompt q;
    static int mark;
    memset(&d, 0, sizeof d);
    d.visible = sees_odd;
    d.user = &mark;
    d.page_size = 2;
    d.ttl_ms = 50;
    d.scope = MCP_SCOPE_PUBLIC;
    s = server_with(&d);
    p = join(s);
    for (i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "n:%d", i);
        EQ_INT(tool(s, name, nothing), MCP_OK);
        memset(&q, 0, sizeof q);
        q.name = name; q.fn = nothing; q.complete = completes;
        EQ_INT(mcp_server_prompt(s, &q), MCP_OK);
        EQ_INT(text_resource(s, name, "data"), MCP_OK);
        snprintf(name, sizeof name, "n:%d{a}", i);
        EQ_INT(resource(s, name, vars, NULL), MCP_OK);
    }
    legacy(&p);
    (void)ask(&p, MODERN, "tools/list", "");
    HAS(&p, "n:1");
    HAS(&p, "n:3");
    EQ_INT(times(p.text, "\"name\":\"n:"), 2);                    /* a page is of what is seen */
    HAS(&p, "\"ttlMs\":50,\"cacheScope\":\"private\"");           /* it differs per caller */
    cursor_of(p.text, cursor);
    snprintf(name, sizeof name, "\"cursor\":\"%s\"", cursor);
    (void)ask(&p, MODERN, "tools/list", name);
    HAS(&p, "n:5");
    HAS(&p, "n:7");
    EQ_INT(times(ask(&p, LEGACY, "resources/list", ""), "\"uri\":"), 2);
    HASNT(&p, "n:2");
    EQ_INT(times(ask(&p, LEGACY, "prompts/list", ""), "\"name\":"), 2);
    EQ_INT(times(ask(&p, LEGACY, "resources/templates/list", ""), "\"uriTemplate\":"), 2);
    CHECK(strstr(ask(&p, LEGACY, "tools/call", "\"name\":\"n:1\""), "\"text\":\"ok\"") != NULL);
    EQ_STR(ask(&p, LEGACY, "tools/call", "\"name\":\"n:2\""), J({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: n:2"}}) "\n");
    EQ_STR(ask(&p, LEGACY, "prompts/get", "\"name\":\"n:2\""), J({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown prompt: n:2"}}) "\n");
    CHECK(strstr(ask(&p, LEGACY, "prompts/get", "\"name\":\"n:3\""), "\"messages\"") != NULL);
    CHECK(strstr(complete(&p, LEGACY, "{\"type\":\"ref/prompt\",\"name\":\"n:2\"}", "a", ""), "\"code\":-32602") != NULL);
    CHECK(strstr(complete(&p, LEGACY, "{\"type\":\"ref/prompt\",\"name\":\"n:3\"}", "a", ""), "a:ty:-") != NULL);
    CHECK(strstr(complete(&p, LEGACY, "{\"type\":\"ref/resource\",\"uri\":\"n:2{a}\"}", "a", ""), "\"code\":-32602") != NULL);
    CHECK(strstr(read_uri(&p, LEGACY, "n:3"), "data") != NULL);
    EQ_STR(read_uri(&p, LEGACY, "n:2"), J({"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"n:2"}}}) "\n");
    CHECK(strstr(read_uri(&p, LEGACY, "n:3x"), "a=[x]") != NULL);
    CHECK(strstr(read_uri(&p, LEGACY, "n:2x"), "Resource not found") != NULL);
    /* and nothing tells when what is hidden changes */
    CHECK(strstr(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"n:2\""), "-32002") != NULL);
    CHECK(strstr(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"n:2x\""), "-32002") != NULL);
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"n:3\""), J({"jsonrpc":"2.0","id":1,"result":{}}) "\n");
    (void)ask(&p, MODERN, "subscriptions/listen", "\"notifications\":{\"resourceSubscriptions\":[\"n:2\",\"n:3x\",\"n:2x\",\"n:5\"]}");
    HAS(&p, "\"resourceSubscriptions\":[\"n:3x\",\"n:5\"]");
    EQ_INT(mcp_server_updated(s, "n:2"), MCP_OK);
    EQ_INT(mcp_server_updated(s, "n:2x"), MCP_OK);
    EQ_STR(hear(&p), "");
    EQ_INT(mcp_server_updated(s, "n:5"), MCP_OK);
    CHECK(strstr(hear(&p), "n:5") != NULL);
    end(s, &p);
}

/* -- caching hints ------------------------------------------------------------------------------------------------------- */

static void hints(mcp_req *r, void *user)
{
    (void)user;
    EQ_INT(mcp_req_cache(r, 777, MCP_SCOPE_PUBLIC), MCP_OK);
    EQ_INT(mcp_req_text(r, "hinted"), MCP_OK);
    EQ_INT(mcp_req_cache(r, 1, MCP_SCOPE_PUBLIC), MCP_ERR_MISUSE);
}
static void rows(mcp_req *r, void *user)
{
    mcp_writer *w = mcp_req_begin(r);
    mcp_put_array(w, "resources");
    mcp_put_end(w);
    if (user) EQ_INT(mcp_req_cache(r, -5, MCP_SCOPE_PUBLIC), MCP_OK);
    EQ_INT(mcp_req_end(r), MCP_OK);
}

TEST(caching)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    mcp_resource r;
    static int mark;
    memset(&d, 0, sizeof d);
    d.ttl_ms = 1000;
    d.scope = MCP_SCOPE_PUBLIC;
    s = server_with(&d);
    p = join(s);
    memset(&r, 0, sizeof r);
    r.uri = "x:own"; r.data = ""; r.ttl_ms = 60000; r.scope = MCP_SCOPE_PUBLIC;
    EQ_INT(mcp_server_resource(s, &r), MCP_OK);
    r.uri = "x:negative"; r.ttl_ms = -1; r.scope = MCP_SCOPE_PRIVATE;
    EQ_INT(mcp_server_resource(s, &r), MCP_OK);
    r.uri = "x:hinted"; r.data = NULL; r.fn = hints; r.ttl_ms = 5;
    EQ_INT(mcp_server_resource(s, &r), MCP_OK);
    EQ_INT(text_resource(s, "x:default", ""), MCP_OK);
    EQ_INT(prompt(s, "p", hints, NULL), MCP_OK);
    EQ_INT(tool(s, "t", hints), MCP_OK);
    legacy(&p);
#define HINTS(ttl, scope) "\"ttlMs\":" ttl ",\"cacheScope\":\"" scope "\""
    CHECK(strstr(read_uri(&p, MODERN, "x:own"), HINTS("60000", "public")) != NULL);
    CHECK(strstr(read_uri(&p, MODERN, "x:negative"), HINTS("0", "private")) != NULL);
    CHECK(strstr(read_uri(&p, MODERN, "x:hinted"), HINTS("777", "public")) != NULL);
    CHECK(strstr(read_uri(&p, MODERN, "x:default"), HINTS("0", "private")) != NULL);    /* the server's are for lists */
    CHECK(strstr(ask(&p, MODERN, "resources/list", ""), HINTS("1000", "public")) != NULL);
    CHECK(strstr(ask(&p, MODERN, "resources/templates/list", ""), HINTS("1000", "public")) != NULL);
    CHECK(strstr(ask(&p, MODERN, "prompts/list", ""), HINTS("1000", "public")) != NULL);
    CHECK(strstr(ask(&p, MODERN, "tools/list", ""), HINTS("1000", "public")) != NULL);
    CHECK(strstr(ask(&p, MODERN, "server/discover", ""), HINTS("1000", "public")) != NULL);
    CHECK(strstr(ask(&p, MODERN, "prompts/get", "\"name\":\"p\""), "ttlMs") == NULL);       /* not a result that is cached */
    CHECK(strstr(ask(&p, MODERN, "tools/call", "\"name\":\"t\""), "ttlMs") == NULL);
    CHECK(strstr(read_uri(&p, LEGACY, "x:own"), "ttlMs") == NULL);
    CHECK(strstr(ask(&p, LEGACY, "resources/list", ""), "ttlMs") == NULL);
    EQ_INT(mcp_server_method(s, "resources/list", rows, NULL), MCP_OK);
    CHECK(strstr(ask(&p, MODERN, "resources/list", ""), HINTS("1000", "public")) != NULL);
    EQ_INT(mcp_server_method(s, "resources/list", rows, &mark), MCP_OK);
    CHECK(strstr(ask(&p, MODERN, "resources/list", ""), HINTS("0", "public")) != NULL);
    EQ_INT(mcp_server_method(s, "resources/list", NULL, NULL), MCP_OK);
    CHECK(strstr(ask(&p, MODERN, "resources/list", ""), "x:own") != NULL);
    EQ_INT(mcp_req_cache(NULL, 1, 0), MCP_ERR_ARGUMENT);
    end(s, &p);
}

/* -- changes ------------------------------------------------------------------------------------------------------------- */

#define NOTE(what) "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" what "/list_changed\"}\n"
#define NOTE_ON(what, id) "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/" what "/list_changed\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "}}}\n"
#define UPDATED(uri) "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"uri\":\"" uri "\"}}\n"
#define UPDATED_ON(uri, id) "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "},\"uri\":\"" uri "\"}}\n"
#define ACK(id, filter) "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":" id "},\"notifications\":" filter "}}\n"
#define OK_LINE J({"jsonrpc":"2.0","id":1,"result":{}}) "\n"

static const char *listen_for(peer *p, const char *id, const char *filter)
{
    char members[512];
    snprintf(members, sizeof members, "\"notifications\":%s", filter);
    return ask_as(p, MODERN, id, "subscriptions/listen", members);
}

/* A server with one of each kind. */
static mcp_server *one_of_each(mcp_server_desc *d)
{
    mcp_server *s = server_with(d);
    EQ_INT(tool(s, "t", nothing), MCP_OK);
    EQ_INT(prompt(s, "p", nothing, NULL), MCP_OK);
    EQ_INT(text_resource(s, "x:1", ""), MCP_OK);
    EQ_INT(text_resource(s, "x:2", ""), MCP_OK);
    EQ_INT(resource(s, "x:{+a}", nothing, NULL), MCP_OK);
    return s;
}

TEST(changes_told_to_sessions)                                                             /* B49 */
{
    mcp_server_desc d;
    mcp_server *s;
    peer p, q;
    int i;
    memset(&d, 0, sizeof d);
    s = one_of_each(&d);
    p = join(s);
    q = join(s);
    (void)say(&q, INIT);                                          /* never says that it is initialized */
    legacy(&p);
    EQ_STR(hear(&p), "");
    for (i = 0; i < 5; i++) {
        EQ_INT(tool(s, "t2", nothing), MCP_OK);
        EQ_INT(mcp_server_changed(s, MCP_LIST_PROMPTS), MCP_OK);
        EQ_INT(mcp_server_changed(s, MCP_LIST_TEMPLATES | MCP_LIST_RESOURCES), MCP_OK);
    }
    EQ_STR(hear(&p), NOTE("tools") NOTE("resources") NOTE("prompts"));           /* once each */
    EQ_STR(hear(&p), "");
    EQ_INT(mcp_server_remove(s, MCP_LIST_TEMPLATES, "x:{+a}"), MCP_OK);
    EQ_STR(hear(&p), NOTE("resources"));
    EQ_INT(mcp_server_changed(s, 0), MCP_OK);
    EQ_INT(mcp_server_changed(s, 16), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_server_changed(NULL, 1), MCP_ERR_ARGUMENT);
    EQ_STR(hear(&p), "");
    EQ_STR(hear(&q), "");
    /* subscriptions */
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:1\""), OK_LINE);
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:1\""), OK_LINE);  /* twice is once */
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"not:registered\""), OK_LINE);
    for (i = 0; i < 5; i++) EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
    EQ_INT(mcp_server_updated(s, "x:2"), MCP_OK);
    EQ_INT(mcp_server_updated(s, "x:1\xff"), MCP_OK);
    EQ_STR(hear(&p), UPDATED("x:1"));
    EQ_STR(hear(&p), "");
    EQ_STR(hear(&q), "");
    EQ_INT(mcp_server_updated(s, "not:registered"), MCP_OK);
    EQ_STR(hear(&p), UPDATED("not:registered"));
    EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);                 /* in flight when it is given up */
    EQ_STR(ask(&p, LEGACY, "resources/unsubscribe", "\"uri\":\"x:1\""), OK_LINE);
    EQ_STR(ask(&p, LEGACY, "resources/unsubscribe", "\"uri\":\"x:1\""), OK_LINE);
    EQ_STR(ask(&p, LEGACY, "resources/unsubscribe", "\"uri\":\"never\""), OK_LINE);
    EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
    EQ_STR(hear(&p), "");
    CHECK(strstr(ask(&p, LEGACY, "resources/subscribe", ""), "-32602") != NULL);
    CHECK(strstr(ask(&p, LEGACY, "resources/subscribe", "\"uri\":1"), "-32602") != NULL);
    CHECK(strstr(ask(&p, LEGACY, "resources/unsubscribe", "\"uri\":null"), "-32602") != NULL);
    CHECK(strstr(ask(&p, MODERN, "resources/subscribe", "\"uri\":\"x:1\""), "-32601") != NULL);
    CHECK(strstr(ask(&p, MODERN, "resources/unsubscribe", "\"uri\":\"x:1\""), "-32601") != NULL);
    EQ_INT(mcp_server_updated(NULL, "x"), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_server_updated(s, NULL), MCP_ERR_ARGUMENT);
    mcp_server_free(s);
    leave(&p);
    leave(&q);
}

TEST(changes_told_to_listens)                                                              /* D68 */
{
    mcp_server_desc d;
    mcp_server *s;
    peer p, q;
    memset(&d, 0, sizeof d);
    s = one_of_each(&d);
    p = join(s);
    q = join(s);
    EQ_STR(listen_for(&p, "7", "{\"toolsListChanged\":true,\"promptsListChanged\":false}"), ACK("7", "{\"toolsListChanged\":true}"));
    EQ_STR(listen_for(&p, "\"7\"", "{\"toolsListChanged\":true,\"resourcesListChanged\":true,\"promptsListChanged\":true,\"resourceSubscriptions\":[\"x:1\",\"x:\\u0041\"],\"unknownFlag\":true}"),
           ACK("\"7\"", "{\"toolsListChanged\":true,\"resourcesListChanged\":true,\"promptsListChanged\":true,\"resourceSubscriptions\":[\"x:1\",\"x:A\"]}"));
    EQ_STR(listen_for(&p, "-9007199254740993", "{\"resourceSubscriptions\":[\"x:1\",\"x:1\",\"x:2\",\"x:1\"]}"), ACK("-9007199254740993", "{\"resourceSubscriptions\":[\"x:1\",\"x:1\",\"x:2\",\"x:1\"]}"));
    EQ_STR(listen_for(&q, "7", "{\"resourceSubscriptions\":[]}"), ACK("7", "{\"resourceSubscriptions\":[]}"));
    EQ_STR(hear(&p), "");
    EQ_INT(mcp_server_changed(s, MCP_LIST_TOOLS), MCP_OK);
    EQ_INT(tool(s, "t2", nothing), MCP_OK);
    (void)hear(&p);
    EQ_INT(times(p.text, "\n"), 2);
    HAS(&p, NOTE_ON("tools", "7"));
    HAS(&p, NOTE_ON("tools", "\"7\""));
    EQ_INT(mcp_server_changed(s, MCP_LIST_PROMPTS | MCP_LIST_TEMPLATES), MCP_OK);
    EQ_STR(hear(&p), NOTE_ON("resources", "\"7\"") NOTE_ON("prompts", "\"7\""));
    EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
    EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
    (void)hear(&p);
    EQ_INT(times(p.text, "\n"), 2);                               /* once for each listen, though one named it three times */
    HAS(&p, UPDATED_ON("x:1", "\"7\""));
    HAS(&p, UPDATED_ON("x:1", "-9007199254740993"));
    EQ_INT(mcp_server_updated(s, "x:A"), MCP_OK);
    EQ_STR(hear(&p), UPDATED_ON("x:A", "\"7\""));
    EQ_STR(say(&p, J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"7"}})), "");
    EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
    EQ_INT(mcp_server_changed(s, MCP_LIST_PROMPTS), MCP_OK);
    EQ_STR(hear(&p), UPDATED_ON("x:1", "-9007199254740993"));
    EQ_STR(hear(&q), "");
    /* what changed before is no news to a listen that comes later */
    EQ_INT(mcp_server_changed(s, MCP_LIST_TOOLS), MCP_OK);
    (void)listen_for(&q, "8", "{\"toolsListChanged\":true}");
    EQ_STR(q.text, ACK("8", "{\"toolsListChanged\":true}"));
    EQ_STR(hear(&p), NOTE_ON("tools", "7"));
    mcp_server_stop(s);
    (void)hear(&p);
    HAS(&p, "\"id\":7,\"result\":{\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":7}}");
    HAS(&p, "\"id\":-9007199254740993,\"result\":{\"resultType\":\"complete\"");
    EQ_INT(times(p.text, "notifications/cancelled"), 2);
    mcp_server_free(s);
    leave(&p);
    leave(&q);
}

/* What a server does not have is not agreed to; what it declares without having it is. */
TEST(filters_that_are_cut)
{
    mcp_server_desc d;
    mcp_server *s = server();
    peer p = join(s);
    EQ_STR(listen_for(&p, "1", "{\"toolsListChanged\":true,\"resourcesListChanged\":true,\"promptsListChanged\":true,\"resourceSubscriptions\":[\"x:1\"]}"), ACK("1", "{}"));
    EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
    EQ_INT(mcp_server_changed(s, 15), MCP_OK);
    EQ_STR(hear(&p), "");
    end(s, &p);
    memset(&d, 0, sizeof d);
    d.capabilities = MCP_JSON({"resources": {"subscribe": true, "listChanged": true}, "prompts": {"listChanged": true}});
    s = server_with(&d);
    p = join(s);
    EQ_STR(listen_for(&p, "1", "{\"toolsListChanged\":true,\"resourcesListChanged\":true,\"promptsListChanged\":true,\"resourceSubscriptions\":[\"x:1\"]}"),
           ACK("1", "{\"resourcesListChanged\":true,\"promptsListChanged\":true,\"resourceSubscriptions\":[\"x:1\"]}"));
    EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
    EQ_STR(hear(&p), UPDATED_ON("x:1", "1"));
    end(s, &p);
}

/* What a server says that it does not do, it does not do when it is asked. */
TEST(what_was_declined)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    memset(&d, 0, sizeof d);
    d.capabilities = MCP_JSON({"tools": {"listChanged": false}, "resources": {"subscribe": false}, "prompts": {}});
    s = one_of_each(&d);
    p = join(s);
    legacy(&p);
    (void)ask(&p, MODERN, "server/discover", "");
    HAS(&p, "\"tools\":{\"listChanged\":false},\"resources\":{\"listChanged\":true,\"subscribe\":false},\"prompts\":{\"listChanged\":true}");
    EQ_STR(listen_for(&p, "2", "{\"toolsListChanged\":true,\"resourcesListChanged\":true,\"promptsListChanged\":true,\"resourceSubscriptions\":[\"x:1\"]}"),
           ACK("2", "{\"resourcesListChanged\":true,\"promptsListChanged\":true}"));
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:1\""), J({"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"this server has no subscriptions"}}) "\n");
    CHECK(strstr(ask(&p, LEGACY, "resources/unsubscribe", "\"uri\":\"x:1\""), "-32601") != NULL);
    EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
    EQ_INT(mcp_server_changed(s, MCP_LIST_TOOLS | MCP_LIST_PROMPTS), MCP_OK);
    EQ_STR(hear(&p), NOTE("prompts") NOTE_ON("prompts", "2"));
    EQ_INT(tool(s, "t2", nothing), MCP_OK);
    EQ_STR(hear(&p), "");
    end(s, &p);
}

/* What it says that it has is there, though nothing is in it: what is asked for is unknown, not the method. */
TEST(what_was_declared)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    memset(&d, 0, sizeof d);
    d.capabilities = MCP_JSON({"resources": {}, "prompts": {}, "tools": {}, "completions": {}});
    s = server_with(&d);
    p = join(s);
    legacy(&p);
    EQ_STR(read_uri(&p, LEGACY, "x:1"), J({"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"Resource not found","data":{"uri":"x:1"}}}) "\n");
    EQ_STR(read_uri(&p, MODERN, "x:1"), J({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Resource not found","data":{"uri":"x:1"}}}) "\n");
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:1\""), OK_LINE);
    EQ_STR(ask(&p, LEGACY, "resources/unsubscribe", "\"uri\":\"x:1\""), OK_LINE);
    CHECK(strstr(read_uri(&p, LEGACY, "x:1\",\"uri\":\"x:2"), "x:2") != NULL);
    CHECK(strstr(ask(&p, LEGACY, "resources/read", "\"uri\":7"), "-32602") != NULL);
    EQ_STR(ask(&p, MODERN, "prompts/get", "\"name\":\"p\""), J({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"there is nothing of that name"}}) "\n");
    EQ_STR(ask(&p, MODERN, "tools/call", "\"name\":\"t\""), J({"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"Unknown tool: t"}}) "\n");
    CHECK(strstr(complete(&p, MODERN, "{\"type\":\"ref/prompt\",\"name\":\"p\"}", "a", ""), "\"code\":-32602") != NULL);
    EQ_INT(text_resource(s, "x:1", "late"), MCP_OK);              /* and as soon as there is something, it is found */
    EQ_INT(prompt(s, "p", nothing, NULL), MCP_OK);
    CHECK(strstr(read_uri(&p, LEGACY, "x:1"), "late") != NULL);
    CHECK(strstr(ask(&p, MODERN, "prompts/get", "\"name\":\"p\""), "\"messages\"") != NULL);
    end(s, &p);
    s = server();                                                 /* and what it does not say is not */
    p = join(s);
    legacy(&p);
    CHECK(strstr(read_uri(&p, LEGACY, "x:1"), "-32601") != NULL);
    CHECK(strstr(read_uri(&p, MODERN, "x:1"), "-32601") != NULL);
    CHECK(strstr(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:1\""), "-32601") != NULL);
    CHECK(strstr(ask(&p, MODERN, "prompts/get", "\"name\":\"p\""), "-32601") != NULL);
    CHECK(strstr(ask(&p, MODERN, "tools/call", "\"name\":\"t\""), "-32601") != NULL);
    CHECK(strstr(ask(&p, LEGACY, "tools/call", "\"name\":\"t\""), "-32602") != NULL);      /* its list is an empty one there */
    CHECK(strstr(complete(&p, MODERN, "{\"type\":\"ref/prompt\",\"name\":\"p\"}", "a", ""), "-32601") != NULL);
    end(s, &p);
}

/* A session is told of lists that there are. */
TEST(no_news_of_what_is_not_there)
{
    mcp_server *s = server();
    peer p = join(s);
    EQ_INT(tool(s, "t", nothing), MCP_OK);
    legacy(&p);
    EQ_INT(mcp_server_changed(s, 15), MCP_OK);
    EQ_STR(hear(&p), NOTE("tools"));
    EQ_INT(prompt(s, "p", nothing, NULL), MCP_OK);
    EQ_STR(hear(&p), NOTE("prompts"));
    EQ_INT(mcp_server_remove(s, MCP_LIST_PROMPTS, "p"), MCP_OK);
    EQ_STR(hear(&p), NOTE("prompts"));
    end(s, &p);
}

/* Templates alone make resources, and their listens. */
TEST(listens_for_templates)
{
    mcp_server *s = server();
    peer p = join(s);
    EQ_INT(resource(s, "x:{a}", vars, NULL), MCP_OK);
    EQ_STR(listen_for(&p, "1", "{\"resourcesListChanged\":true,\"resourceSubscriptions\":[\"x:5\"]}"), ACK("1", "{\"resourcesListChanged\":true,\"resourceSubscriptions\":[\"x:5\"]}"));
    EQ_INT(resource(s, "y:{a}", vars, NULL), MCP_OK);
    EQ_INT(mcp_server_updated(s, "x:5"), MCP_OK);
    EQ_STR(hear(&p), NOTE_ON("resources", "1") UPDATED_ON("x:5", "1"));
    end(s, &p);
}

/* -- a peer that does not read -------------------------------------------------------------------------------------------- */

static void big(mcp_req *r, void *user)
{
    static char text[200001];
    (void)user;
    memset(text, 'b', 200000);
    mcp_req_text(r, text);
}

/* The server's stream takes nothing until `room` says so. */
typedef struct narrow { mcp_io inner; size_t room; char *wrote; size_t len, cap; const char *feed; size_t fed; bool closed; } narrow;
static ptrdiff_t narrow_read(void *user, void *buf, size_t n)
{
    narrow *x = (narrow *)user;
    size_t left = x->feed ? strlen(x->feed) - x->fed : 0;
    if (!left) return MCP_ERR_AGAIN;
    if (n > left) n = left;
    memcpy(buf, x->feed + x->fed, n);
    x->fed += n;
    return (ptrdiff_t)n;
}
static ptrdiff_t narrow_write(void *user, const void *buf, size_t n)
{
    narrow *x = (narrow *)user;
    if (n > x->room) n = x->room;
    if (!n) return MCP_ERR_AGAIN;
    if (x->len + n + 1 > x->cap) x->wrote = (char *)realloc(x->wrote, x->cap = (x->len + n + 1) * 2);
    memcpy(x->wrote + x->len, buf, n);
    x->len += n;
    x->wrote[x->len] = 0;
    x->room -= n;
    return (ptrdiff_t)n;
}
static void narrow_close(void *user) { ((narrow *)user)->closed = true; }

static void work(mcp_server *s)
{
    int i;
    for (i = 0; i < 8; i++) (void)mcp_server_step(s, NULL, 0);
}

static void tell(narrow *x, mcp_server *s, const char *lines) { x->feed = lines; x->fed = 0; work(s); }

TEST(missed_changes_are_told_later)
{
    mcp_server_desc d;
    mcp_server *s;
    narrow x;
    mcp_io io;
    int i;
    memset(&d, 0, sizeof d);
    memset(&x, 0, sizeof x);
    memset(&io, 0, sizeof io);
    d.max_queue = 100000;
    s = one_of_each(&d);
    EQ_INT(tool(s, "big", big), MCP_OK);
    io.read = narrow_read; io.write = narrow_write; io.close = narrow_close; io.user = &x;
    CHECK(mcp_server_attach(s, &io, NULL) != NULL);
    x.room = 100000;
    tell(&x, s, INIT "\n" INITIALIZED "\n"
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"x:1\"}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"x:2\"}}\n"
        "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"x:1\"]}," META "}}\n");
    CHECK(x.wrote && strstr(x.wrote, "acknowledged"));
    x.room = 0;
    tell(&x, s, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{\"name\":\"big\"}}\n");
    CHECK(mcp_server_stats(s).queued > 200000);
    for (i = 0; i < 100; i++) {
        EQ_INT(mcp_server_changed(s, MCP_LIST_TOOLS | MCP_LIST_RESOURCES | MCP_LIST_PROMPTS), MCP_OK);
        EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
        work(s);
    }
    CHECK(mcp_server_stats(s).queued < 201000);                   /* nothing piles up */
    EQ_INT(mcp_server_timeout(s), -1);                            /* and nothing spins */
    x.len = 0;
    x.room = 1000000;                                             /* it reads all at once, and says nothing itself */
    (void)mcp_server_step(s, NULL, 0);
    EQ_INT(mcp_server_timeout(s), 0);                             /* there is something to tell now */
    work(s);
    EQ_INT(mcp_server_timeout(s), -1);
    EQ_INT(times(x.wrote, NOTE("tools")), 1);
    EQ_INT(times(x.wrote, NOTE("resources")), 1);
    EQ_INT(times(x.wrote, NOTE("prompts")), 1);
    EQ_INT(times(x.wrote, NOTE_ON("tools", "4")), 1);
    EQ_INT(times(x.wrote, UPDATED("x:1")), 1);
    EQ_INT(times(x.wrote, UPDATED_ON("x:1", "4")), 1);
    EQ_INT(times(x.wrote, "notifications/"), 6);                  /* and not x:2, which did not change */
    mcp_server_free(s);
    free(x.wrote);
    CHECK(x.closed);
    /* a queue that holds one note: all three are told in the end */
    memset(&x, 0, sizeof x);
    d.max_queue = 20;
    s = one_of_each(&d);
    CHECK(mcp_server_attach(s, &io, NULL) != NULL);
    x.room = 100000;
    tell(&x, s, INIT "\n" INITIALIZED "\n");
    x.room = 0;
    EQ_INT(mcp_server_changed(s, MCP_LIST_TOOLS | MCP_LIST_RESOURCES | MCP_LIST_PROMPTS), MCP_OK);
    work(s);
    CHECK(mcp_server_stats(s).queued < 100);
    x.len = 0;
    for (i = 0; i < 4; i++) { x.room = 60; work(s); }
    x.room = 10000;
    work(s);
    EQ_STR(x.wrote, NOTE("tools") NOTE("resources") NOTE("prompts"));
    EQ_INT(mcp_server_stats(s).dropped, 0);
    mcp_server_free(s);
    free(x.wrote);
}

/* -- many, and the ends of them ------------------------------------------------------------------------------------------ */

TEST(too_many_subscriptions)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p, q;
    memset(&d, 0, sizeof d);
    d.max_subscriptions = 3;
    s = one_of_each(&d);
    p = join(s);
    q = join(s);
    legacy(&p);
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:1\""), OK_LINE);
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:2\""), OK_LINE);
    CHECK(strstr(listen_for(&p, "2", "{\"resourceSubscriptions\":[\"x:3\",\"x:4\"]}"), "\"id\":2,\"error\":{\"code\":-31000,\"message\":\"busy: too many subscriptions\"") != NULL);
    EQ_STR(listen_for(&p, "2", "{\"resourceSubscriptions\":[\"x:3\"]}"), ACK("2", "{\"resourceSubscriptions\":[\"x:3\"]}"));      /* the failed one left nothing behind */
    CHECK(strstr(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:5\""), "-31000") != NULL);
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:1\""), OK_LINE);                  /* there already */
    EQ_STR(listen_for(&q, "2", "{\"resourceSubscriptions\":[\"x:3\",\"x:4\",\"x:5\"]}"), ACK("2", "{\"resourceSubscriptions\":[\"x:3\",\"x:4\",\"x:5\"]}"));     /* each peer has its own */
    (void)say(&p, J({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}));
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:5\""), OK_LINE);
    EQ_STR(ask(&p, LEGACY, "resources/unsubscribe", "\"uri\":\"x:5\""), OK_LINE);
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:6\""), OK_LINE);
    {                                                             /* nor is one of any length kept */
        char *line = (char *)malloc(70100);
        EQ_STR(ask(&p, LEGACY, "resources/unsubscribe", "\"uri\":\"x:2\""), OK_LINE);
        snprintf(line, 70100, "\"uri\":\"%070000d\"", 0);
        CHECK(strstr(ask(&p, LEGACY, "resources/subscribe", line), "-31000") != NULL);
        line[7 + 8192] = '"';
        line[8 + 8192] = 0;
        EQ_STR(ask(&p, LEGACY, "resources/subscribe", line), OK_LINE);
        free(line);
    }
    EQ_INT(mcp_server_updated(s, "x:3"), MCP_OK);
    EQ_INT(mcp_server_updated(s, "x:6"), MCP_OK);
    EQ_STR(hear(&p), UPDATED("x:6"));
    EQ_STR(hear(&q), UPDATED_ON("x:3", "2"));
    mcp_server_free(s);
    leave(&p);
    leave(&q);
}

TEST(a_thousand_subscriptions)
{
    enum { N = 1000 };
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    int i;
    char members[128], uri[32], id[16], filter[64];
    memset(&d, 0, sizeof d);
    d.alloc.resize = counting;
    d.max_inflight = 2000;
    s = one_of_each(&d);
    p = join(s);
    legacy(&p);
    for (i = 0; i < N; i++) {
        snprintf(members, sizeof members, "\"uri\":\"y:%d\"", i);
        EQ_STR(ask(&p, LEGACY, "resources/subscribe", members), OK_LINE);
        snprintf(id, sizeof id, "%d", 10 + i);
        snprintf(filter, sizeof filter, "{\"resourceSubscriptions\":[\"y:%d\",\"z:%d\"]}", i / 2, i);
        CHECK(strstr(listen_for(&p, id, filter), "acknowledged") != NULL);
    }
    for (i = 0; i < N; i++) {
        snprintf(uri, sizeof uri, "y:%d", i);
        EQ_INT(mcp_server_updated(s, uri), MCP_OK);
        EQ_INT(mcp_server_updated(s, uri), MCP_OK);
    }
    (void)hear(&p);
    EQ_INT(times(p.text, "resources/updated"), 2 * N);            /* each to its subscription, the first half also to two listens */
    for (i = 0; i < N; i += 2) {
        snprintf(members, sizeof members, "\"uri\":\"y:%d\"", i);
        EQ_STR(ask(&p, LEGACY, "resources/unsubscribe", members), OK_LINE);
        snprintf(members, sizeof members, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":%d}}", 10 + i);
        EQ_STR(say(&p, members), "");
    }
    for (i = 0; i < N; i++) {
        snprintf(uri, sizeof uri, "y:%d", i);
        EQ_INT(mcp_server_updated(s, uri), MCP_OK);
    }
    (void)hear(&p);
    EQ_INT(times(p.text, "resources/updated"), N);
    EQ_INT(mcp_server_updated(s, "y:1"), MCP_OK);                 /* and one is on its way when all ends */
    end(s, &p);
    EQ_INT(live_bytes, 0);
}

TEST(ends_with_subscriptions_open)
{
    int way;
    for (way = 0; way < 6; way++) {
        mcp_server_desc d;
        mcp_server *s;
        peer p, q;
        memset(&d, 0, sizeof d);
        d.alloc.resize = counting;
        s = one_of_each(&d);
        p = join(s);
        q = join(s);
        legacy(&p);
        legacy(&q);
        EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:1\""), OK_LINE);
        EQ_STR(ask(&q, LEGACY, "resources/subscribe", "\"uri\":\"x:1\""), OK_LINE);
        CHECK(strstr(listen_for(&p, "2", "{\"toolsListChanged\":true,\"resourceSubscriptions\":[\"x:1\",\"x:2\"]}"), "acknowledged") != NULL);
        EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
        EQ_INT(mcp_server_updated(s, "x:2"), MCP_OK);
        EQ_INT(mcp_server_changed(s, 15), MCP_OK);
        switch (way) {
        case 0: mcp_server_detach(s, p.conn); break;
        case 1: p.io.close(p.io.user); p.io.close = NULL; break;
        case 2: mcp_server_stop(s); break;
        case 3: break;
        case 4: mcp_server_detach(s, p.conn); mcp_server_detach(s, q.conn); break;
        default: EQ_INT(mcp_server_remove(s, MCP_LIST_RESOURCES, "x:1"), MCP_OK); break;
        }
        if (way < 2) {
            (void)hear(&q);                                       /* the other one is told all the same */
            HAS(&q, UPDATED("x:1"));
            HAS(&q, NOTE("tools"));
            EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
            EQ_STR(hear(&q), UPDATED("x:1"));
        }
        if (way == 2) { (void)hear(&p); HAS(&p, "\"id\":2,\"result\""); }
        mcp_server_free(s);
        if (p.io.close) p.io.close(p.io.user);
        free(p.text);
        leave(&q);
        EQ_INT(live_bytes, 0);
    }
}

/* A tool changes everything from inside, and its answer comes before the news. */
static void changes_all(mcp_req *r, void *user)
{
    mcp_server *s = mcp_req_server(r);
    (void)user;
    EQ_INT(tool(s, "new", nothing), MCP_OK);
    EQ_INT(prompt(s, "new", nothing, NULL), MCP_OK);
    EQ_INT(mcp_server_remove(s, MCP_LIST_TOOLS, "changes"), MCP_OK);
    EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
    mcp_req_text(r, "done");
}

TEST(changed_from_a_handler)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    memset(&d, 0, sizeof d);
    s = one_of_each(&d);
    p = join(s);
    EQ_INT(tool(s, "changes", changes_all), MCP_OK);
    legacy(&p);
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:1\""), OK_LINE);
    EQ_STR(ask(&p, LEGACY, "tools/call", "\"name\":\"changes\""), J({"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"done"}]}}) "\n" NOTE("tools") NOTE("prompts") UPDATED("x:1"));
    CHECK(strstr(ask(&p, LEGACY, "tools/call", "\"name\":\"changes\""), "Unknown tool") != NULL);
    end(s, &p);
}

/* `visible` puts off the answer, in the middle of finding out what may be watched. */
static bool sees_later(mcp_req *r, int kind, const char *name, void *user)
{
    (void)kind; (void)name; (void)user;
    CHECK(mcp_req_defer(r) != 0);
    return true;
}

static void *scribbling(void *user, void *ptr, size_t old_size, size_t new_size)
{
    void *p = new_size ? malloc(new_size) : NULL;
    volatile char *old = (volatile char *)ptr;      /* a compiler would leave out a memset */
    size_t i;
    (void)user;
    if (p && ptr) memcpy(p, ptr, old_size < new_size ? old_size : new_size);
    if (!ptr || (new_size && !p)) return p;
    for (i = 0; i < old_size; i++) old[i] = 0;
    free(ptr);
    return p;
}

TEST(deferred_while_looking)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    memset(&d, 0, sizeof d);
    d.visible = sees_later;
    d.alloc.resize = scribbling;
    s = one_of_each(&d);
    p = join(s);
    legacy(&p);
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:1\""), OK_LINE);
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"x:1\""), OK_LINE);
    CHECK(strstr(ask(&p, LEGACY, "resources/read", "\"uri\":\"x:1\""), "\"id\":1,\"result\"") != NULL);
    EQ_INT(mcp_server_stats(s).pending, 0);
    end(s, &p);
}

/* A URI may hold a NUL; the allocator is told the size that it gave. */
TEST(subscribed_beyond_a_nul)
{
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    memset(&d, 0, sizeof d);
    d.alloc.resize = counting;
    s = one_of_each(&d);
    p = join(s);
    legacy(&p);
    EQ_STR(ask(&p, LEGACY, "resources/subscribe", "\"uri\":\"y:\\u0000abcdefgh\""), OK_LINE);
    EQ_STR(ask(&p, LEGACY, "resources/unsubscribe", "\"uri\":\"y:\\u0000abcdefgh\""), OK_LINE);
    end(s, &p);
    EQ_INT(live_bytes, 0);
}

/* `visible` answers, which it need not do, and says yes: that was the answer, and no other follows. */
static bool sees_and_answers(mcp_req *r, int kind, const char *name, void *user)
{
    (void)kind; (void)name; (void)user;
    (void)mcp_req_error(r, -1, "not now", NULL);
    return true;
}

TEST(answered_while_looking)
{
    static const char *const methods[4][2] = { { "tools/list", "" }, { "resources/subscribe", "\"uri\":\"x:1\"" },
        { "resources/read", "\"uri\":\"x:1\"" }, { "prompts/list", "" } };
    mcp_server_desc d;
    mcp_server *s;
    peer p;
    int i;
    memset(&d, 0, sizeof d);
    d.visible = sees_and_answers;
    s = one_of_each(&d);
    p = join(s);
    legacy(&p);
    for (i = 0; i < 4; i++)
        EQ_STR(ask(&p, LEGACY, methods[i][0], methods[i][1]), J({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"not now"}}) "\n");
    EQ_STR(listen_for(&p, "1", "{\"resourceSubscriptions\":[\"x:1\",\"y:1\"]}"), J({"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"not now"}}) "\n");
    EQ_INT(mcp_server_updated(s, "x:1"), MCP_OK);
    EQ_INT(mcp_server_updated(s, "y:1"), MCP_OK);
    EQ_STR(hear(&p), "");                           /* neither of the two watches anything */
    end(s, &p);
}

int main(void)
{
    RUN(static_resources);
    RUN(computed_resources);
    RUN(unknown_resources);
    RUN(templates_match);
    RUN(templates_in_order);
    RUN(odd_names);
    RUN(bad_templates);
    RUN(hostile_uris);
    RUN(templates_without_memory);
    RUN(templates_that_ask);
    RUN(prompts);
    RUN(bad_prompts);
    RUN(completion);
    RUN(answered_later);
    RUN(pages_of_all_kinds);
    RUN(lists_that_are_not_there);
    RUN(hidden);
    RUN(caching);
    RUN(changes_told_to_sessions);
    RUN(changes_told_to_listens);
    RUN(filters_that_are_cut);
    RUN(what_was_declined);
    RUN(what_was_declared);
    RUN(no_news_of_what_is_not_there);
    RUN(listens_for_templates);
    RUN(missed_changes_are_told_later);
    RUN(too_many_subscriptions);
    RUN(a_thousand_subscriptions);
    RUN(ends_with_subscriptions_open);
    RUN(changed_from_a_handler);
    RUN(deferred_while_looking);
    RUN(subscribed_beyond_a_nul);
    RUN(answered_while_looking);
    return test_end();
}
