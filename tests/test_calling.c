/* Function calling: tools for models in five forms, the calls that models make, and what came of them. */
#define MCP_IMPLEMENTATION      /* looks inside */
#include "mcp.h"
#include "test.h"

/* An allocator that counts what lives and can fail: once, or from then on. */
static long live, calls, fail_at = -1;
static bool stay;
static void *counted(void *user, void *ptr, size_t old_size, size_t new_size)
{
    (void)user;
    if (new_size && (++calls == fail_at || (stay && fail_at > 0 && calls > fail_at))) return NULL;
    live += (long)new_size - (long)old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

static mcp_arena arena;
static mcp_writer out;

static const mcp_json *json(const char *text)
{
    const mcp_json *v = mcp_json_parse(&arena, text, MCP_NTS, NULL);
    if (!v) printf("bad JSON in the test: %s\n", text);
    return v;
}

static mcp_toolbox *box_of(mcp_form form, mcp_profile profile)
{
    mcp_toolbox_desc d;
    memset(&d, 0, sizeof d);
    d.form = form;
    d.fit.profile = profile;
    d.alloc.resize = counted;
    return mcp_toolbox_new(&d);
}

static const char *written(mcp_toolbox *b)
{
    mcp_writer_reset(&out);
    mcp_toolbox_write(b, &out, NULL);
    return mcp_writer_text(&out, NULL);
}

static int add(mcp_toolbox *b, const char *server, const char *tools) { return mcp_toolbox_add(b, server, json(tools)); }

/* What was noted of a tool; "(none)": there is no such tool. */
static const char *notes_of(mcp_toolbox *b, const char *server, const char *tool, bool left_out)
{
    mcp_tool_report t;
    memset(&t, 0, sizeof t);
    while (mcp_toolbox_next(b, &t))
        if (strcmp(t.server, server) == 0 && strcmp(t.tool, tool) == 0 && left_out == !t.name) return t.notes;
    return "(none)";
}

static size_t count(mcp_toolbox *b, bool usable)
{
    size_t n = 0;
    mcp_tool_report t;
    memset(&t, 0, sizeof t);
    while (mcp_toolbox_next(b, &t)) n += !usable || t.name;
    return n;
}

#define SCHEMA "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}},\"required\":[\"a\"]}"
#define ONE    "[{\"name\":\"one\",\"description\":\"The first.\",\"inputSchema\":" SCHEMA "}]"

TEST(forms)
{
    static const struct { mcp_form form; const char *text; } c[] = {
        { MCP_FORM_OPENAI, "[{\"type\":\"function\",\"function\":{\"name\":\"mcp__s__one\",\"description\":\"The first.\",\"parameters\":" SCHEMA "}}]" },
        { MCP_FORM_RESPONSES, "[{\"type\":\"function\",\"name\":\"mcp__s__one\",\"description\":\"The first.\",\"parameters\":" SCHEMA ",\"strict\":false}]" },
        { MCP_FORM_ANTHROPIC, "[{\"name\":\"mcp__s__one\",\"description\":\"The first.\",\"input_schema\":" SCHEMA "}]" },
        { MCP_FORM_GEMINI, "[{\"functionDeclarations\":[{\"name\":\"mcp__s__one\",\"description\":\"The first.\",\"parameters\":" SCHEMA "}]}]" },
        { MCP_FORM_GEMINI_JSON, "[{\"functionDeclarations\":[{\"name\":\"mcp__s__one\",\"description\":\"The first.\",\"parametersJsonSchema\":" SCHEMA "}]}]" }
    };
    size_t i;
    for (i = 0; i < sizeof c / sizeof *c; i++) {
        mcp_toolbox *b = box_of(c[i].form, MCP_GENERIC);
        EQ_STR(written(b), "[]");
        EQ_INT(add(b, "s", "{\"tools\":" ONE ",\"nextCursor\":\"c\"}"), MCP_ERR_ARGUMENT);     /* one page of several */
        EQ_STR(written(b), "[]");
        EQ_INT(add(b, "s", "{\"tools\":" ONE ",\"nextCursor\":null}"), MCP_OK);
        EQ_STR(written(b), c[i].text);
        EQ_INT(add(b, "s", ONE), MCP_OK);               /* once more: nothing changes */
        EQ_STR(written(b), c[i].text);
        EQ_INT(mcp_toolbox_remove(b, "s"), MCP_OK);
        EQ_INT(mcp_toolbox_remove(b, "s"), MCP_ERR_UNKNOWN);
        EQ_STR(written(b), "[]");
        mcp_toolbox_free(b);
        EQ_INT(live, 0);
    }
    {
        mcp_toolbox *b = box_of((mcp_form)77, MCP_GENERIC);     /* no such form: chat completions */
        EQ_INT(add(b, "s", ONE), MCP_OK);
        EQ_STR(written(b), c[0].text);
        mcp_toolbox_free(b);
    }
    {
        mcp_toolbox *b = mcp_toolbox_new(NULL);
        EQ_INT(add(b, "s", ONE), MCP_OK);
        EQ_STR(written(b), c[0].text);
        mcp_writer_reset(&out);
        mcp_put_object(&out, NULL);
        mcp_toolbox_write(b, &out, "tools");
        mcp_put_end(&out);
        CHECK(strncmp(mcp_writer_text(&out, NULL), "{\"tools\":[{", 11) == 0);
        mcp_toolbox_free(b);
    }
    mcp_toolbox_free(NULL);
    EQ_STR(written(NULL), "[]");
}

TEST(strict)
{
    mcp_toolbox *b = box_of(MCP_FORM_OPENAI, MCP_OPENAI_STRICT);
    mcp_tool_report t;
    add(b, "s", "[{\"name\":\"closed\",\"inputSchema\":" SCHEMA "},"
                "{\"name\":\"open\",\"inputSchema\":{\"type\":\"object\",\"additionalProperties\":true}}]");
    memset(&t, 0, sizeof t);
    CHECK(mcp_toolbox_next(b, &t) && t.strict);
    CHECK(mcp_toolbox_next(b, &t) && !t.strict);
    CHECK(!mcp_toolbox_next(b, &t));
    CHECK(strstr(written(b), "\"required\":[\"a\"]") && strstr(written(b), "\"strict\":true}},") && !strstr(written(b), "\"strict\":true}}]"));
    mcp_toolbox_free(b);
}

/* What fitting has renamed comes back, nulls of strictness go. */
TEST(fitted)
{
    mcp_toolbox *b = box_of(MCP_FORM_ANTHROPIC, MCP_GENERIC);
    mcp_tool_call k;
    add(b, "s", "[{\"name\":\"t\",\"description\":\"d\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"$top\":{\"type\":\"integer\"},"
                "\"uids[]\":{\"type\":\"array\"}},\"required\":[\"$top\"]}}]");
    CHECK(!strstr(written(b), "$top") && strstr(written(b), "\"required\":[\"top\"]"));
    CHECK(strstr(notes_of(b, "s", "t", false), "top"));
    EQ_INT(mcp_toolbox_call(b, json("{\"name\":\"mcp__s__t\",\"input\":{\"top\":3,\"other\":[1]}}"), &arena, &k), MCP_OK);
    EQ_STR(k.args, "{\"$top\":3,\"other\":[1]}");
    mcp_toolbox_free(b);
    b = box_of(MCP_FORM_OPENAI, MCP_OPENAI_STRICT);
    add(b, "s", "[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}},"
                "\"required\":[\"a\"],\"additionalProperties\":false}}]");
    CHECK(strstr(written(b), "\"required\":[\"a\",\"b\"]") && strstr(written(b), "\"strict\":true"));
    EQ_INT(mcp_toolbox_call(b, json("{\"id\":\"1\",\"function\":{\"name\":\"mcp__s__t\",\"arguments\":\"{\\\"a\\\":\\\"x\\\",\\\"b\\\":null}\"}}"), &arena, &k), MCP_OK);
    EQ_STR(k.args, "{\"a\":\"x\"}");
    mcp_toolbox_free(b);
    EQ_INT(live, 0);
}

/* One bad tool harms no other, and each has its reason. */
TEST(isolation)
{
    mcp_toolbox *b = box_of(MCP_FORM_ANTHROPIC, MCP_GENERIC);
    char longest[600];
    int rc;
    rc = add(b, "s", "[5, null, {\"name\":7}, {}, {\"name\":\"\"}, {\"name\":\"a\\u0000b\"}, {\"name\":\"twice\",\"description\":\"1\"},"
                       "{\"name\":\"twice\",\"description\":\"2\"}, {\"name\":\"bad\",\"inputSchema\":\"oops\"},"
                       "{\"name\":\"worse\",\"inputSchema\":[1],\"description\":{\"a\":1}}, {\"name\":\"a b\",\"title\":\"A title\"}]");
    EQ_INT(rc, MCP_OK);
    EQ_INT(count(b, false), 11);
    EQ_INT(count(b, true), 4);
    EQ_STR(notes_of(b, "s", "twice", true), "left out: an earlier one of this list has the same name");
    EQ_STR(notes_of(b, "s", "a", true), "left out: its name holds a NUL");
    EQ_STR(notes_of(b, "s", "", true), "left out: it is no object");
    CHECK(strstr(notes_of(b, "s", "a b", false), "its name is altered"));
    CHECK(!strstr(notes_of(b, "s", "twice", false), "altered"));
    CHECK(strstr(written(b), "\"name\":\"mcp__s__twice\",\"description\":\"1\"") && !strstr(written(b), "\"2\""));
    CHECK(strstr(written(b), "{\"name\":\"mcp__s__worse\",\"input_schema\":{\"type\":\"object\""));
    CHECK(strstr(written(b), "\"description\":\"A title\""));
    /* what is no list */
    EQ_INT(add(b, "s", "{\"tools\":{}}"), MCP_ERR_ARGUMENT);
    EQ_INT(add(b, "s", "{}"), MCP_ERR_ARGUMENT);
    EQ_INT(add(b, "s", "7"), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_toolbox_add(b, "s", NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_toolbox_add(NULL, "s", json("[]")), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_toolbox_add(b, NULL, json("[]")), MCP_ERR_ARGUMENT);
    EQ_INT(count(b, true), 4);
    EQ_INT(add(b, "s", "[]"), MCP_OK);
    EQ_INT(count(b, false), 0);
    mcp_toolbox_free(b);
    /* too large, by a limit of ours */
    {
        mcp_toolbox_desc d;
        memset(&d, 0, sizeof d);
        d.alloc.resize = counted;
        d.max_description = 20;
        b = mcp_toolbox_new(&d);
        sprintf(longest, "[{\"name\":\"t\",\"description\":\"\xC3\xA4 description that is far too long for anybody\"},"
                         "{\"name\":\"u\",\"description\":\"exactly twenty chars\"},{\"name\":\"v\",\"description\":\"notoneblankinallofthistext\"}]");
        add(b, "s", longest);
        CHECK(strstr(written(b), "\"description\":\"\xC3\xA4 description that\xE2\x80\xA6\""));
        CHECK(strstr(written(b), "\"description\":\"exactly twenty chars\""));
        CHECK(strstr(written(b), "\"description\":\"notoneblankinalloft\xE2\x80\xA6\""));
        CHECK(strstr(notes_of(b, "s", "t", false), "\nits description is cut"));
        mcp_toolbox_free(b);
    }
    /* who wants a description gets one */
    b = box_of(MCP_FORM_ANTHROPIC, MCP_BEDROCK);
    add(b, "s", "[{\"name\":\"t\"},{\"name\":\"u\",\"description\":\"\",\"annotations\":{\"title\":\"U\"}}]");
    CHECK(strstr(written(b), "\"name\":\"mcp__s__t\",\"description\":\"t\"") && strstr(written(b), "\"description\":\"U\""));
    CHECK(strstr(notes_of(b, "s", "t", false), "it has no description"));
    mcp_toolbox_free(b);
    EQ_INT(live, 0);
}

/* Lists change: what stays keeps its name, its place, and the bytes. */
TEST(changes)
{
    mcp_toolbox *b = box_of(MCP_FORM_ANTHROPIC, MCP_GENERIC);
    mcp_tool_call k;
    const char *before;
    add(b, "a", "[{\"name\":\"x.y\"},{\"name\":\"z\"}]");
    add(b, "b", "[{\"name\":\"one\"},{\"name\":\"z\"}]");
    add(b, "c", "[{\"name\":\"last\"}]");
    before = strcpy((char *)mcp_arena_alloc(&arena, 2000), written(b));
    EQ_INT(mcp_toolbox_call(b, json("{\"name\":\"last\"}"), &arena, &k), MCP_OK);
    add(b, "b", "[{\"name\":\"new\"},{\"name\":\"z\"}]");
    CHECK(strstr(written(b), "mcp__b__new") < strstr(written(b), "mcp__b__z") && strstr(written(b), "mcp__b__z") < strstr(written(b), "mcp__c__last"));
    CHECK(!strstr(written(b), "mcp__b__one"));
    EQ_INT(mcp_toolbox_call(b, json("{\"name\":\"mcp__b__one\"}"), &arena, &k), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_toolbox_call(b, json("{\"name\":\"mcp__b__z\"}"), &arena, &k), MCP_OK);
    EQ_STR(k.server, "b");
    add(b, "b", "[{\"name\":\"one\"},{\"name\":\"z\"}]");
    EQ_STR(written(b), before);
    EQ_INT(mcp_toolbox_remove(b, "a"), MCP_OK);
    CHECK(strncmp(written(b), "[{\"name\":\"mcp__b__one\"", 21) == 0);
    EQ_INT(mcp_toolbox_remove(b, "c"), MCP_OK);
    EQ_INT(count(b, true), 2);
    EQ_INT(mcp_toolbox_remove(b, "b"), MCP_OK);
    EQ_INT(count(b, false), 0);
    EQ_INT(mcp_toolbox_remove(b, NULL), MCP_ERR_UNKNOWN);
    mcp_toolbox_free(b);
    EQ_INT(live, 0);
}

/* -- calls ------------------------------------------------------------------------------------------------------- */

static const char *error_of(mcp_toolbox *b, const char *call, int status)
{
    static mcp_tool_call k;
    EQ_INT(mcp_toolbox_call(b, json(call), &arena, &k), status);
    EQ_INT(k.status, status);
    return k.error;
}

TEST(call_forms)
{
    static const char *const same[] = {
        "{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"mcp__s__one\",\"arguments\":\"{\\\"a\\\": 1.50}\"}}",
        "{\"id\":\"c1\",\"function\":{\"name\":\"mcp__s__one\",\"arguments\":{\"a\":1.50}}}",
        "{\"type\":\"function_call\",\"id\":\"fc_1\",\"call_id\":\"c1\",\"name\":\"mcp__s__one\",\"arguments\":\"{\\\"a\\\":1.50}\"}",
        "{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"mcp__s__one\",\"input\":{\"a\":1.50}}",
        "{\"functionCall\":{\"id\":\"c1\",\"name\":\"mcp__s__one\",\"args\":{\"a\":1.50}},\"thoughtSignature\":\"x\"}",
        "{\"id\":\"c1\",\"function\":{\"name\":\"mcp__s__one\",\"arguments\":\"\\\"{\\\\\\\"a\\\\\\\": 1.50}\\\"\"}}"     /* a string in a string */
    };
    static const char *const none[] = {
        "{\"functionCall\":{\"name\":\"mcp__s__one\"}}", "{\"name\":\"mcp__s__one\",\"input\":null}", "{\"name\":\"mcp__s__one\",\"arguments\":\"\"}",
        "{\"name\":\"mcp__s__one\",\"arguments\":\" \\n\"}", "{\"name\":\"mcp__s__one\",\"arguments\":\"null\"}", "{\"name\":\"mcp__s__one\",\"arguments\":\"{}\"}"
    };
    mcp_toolbox *b = box_of(MCP_FORM_OPENAI, MCP_GENERIC);
    mcp_tool_call k;
    size_t i;
    add(b, "s", "[{\"name\":\"one\"}]");
    add(b, "other server", "[{\"name\":\"a tool\"}]");
    for (i = 0; i < sizeof same / sizeof *same; i++) {
        EQ_INT(mcp_toolbox_call(b, json(same[i]), &arena, &k), MCP_OK);
        EQ_STR(k.id, "c1");
        EQ_STR(k.name, "mcp__s__one");
        EQ_STR(k.server, "s");
        EQ_STR(k.tool, "one");
        EQ_STR(k.args, "{\"a\":1.50}");
        CHECK(!k.error);
    }
    for (i = 0; i < sizeof none / sizeof *none; i++) {
        EQ_INT(mcp_toolbox_call(b, json(none[i]), &arena, &k), MCP_OK);
        EQ_STR(k.args, "{}");
        EQ_STR(k.id, "");
    }
    EQ_INT(mcp_toolbox_call(b, json("{\"name\":\"a_tool\"}"), &arena, &k), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_toolbox_call(b, json("{\"name\":\"a tool\"}"), &arena, &k), MCP_OK);     /* a prefix left out, the server's own word */
    EQ_STR(k.server, "other server");
    EQ_STR(k.tool, "a tool");
    EQ_STR(k.used, "a tool");                           /* a rule sees the name that it was given */
    CHECK(mcp_name_match("mcp__other_server__a_tool_*", k.name));
    mcp_toolbox_free(b);
    EQ_STR(k.args, "{}");                               /* it lives in the arena */
}

TEST(call_errors)
{
    mcp_toolbox *b = box_of(MCP_FORM_OPENAI, MCP_GENERIC);
    mcp_tool_call k;
    add(b, "s", "[{\"name\":\"one\"}]");
    add(b, "t", "[{\"name\":\"one\"}]");
    EQ_STR(error_of(b, "{\"name\":\"mcp__s__two\"}", MCP_ERR_UNKNOWN), "There is no tool \"mcp__s__two\". Call one that there is, by its exact name.");
    EQ_STR(error_of(b, "{\"name\":\"one\"}", MCP_ERR_UNKNOWN), "\"one\" could be mcp__s__one, mcp__t__one. Call one of them by its exact name.");
    EQ_STR(error_of(b, "{\"name\":\"mcp__s__one\",\"arguments\":\"{\\\"a\\\": \\\"x\\\", b: 1}\"}", MCP_ERR_PARSE),
           "The arguments of \"mcp__s__one\" are not valid JSON from byte 11 on, behind \"{\"a\": \"x\", \". Call it again with one JSON object.");
    EQ_STR(error_of(b, "{\"name\":\"mcp__s__one\",\"arguments\":\"[1]\"}", MCP_ERR_INVALID),
           "The arguments of \"mcp__s__one\" are an array. Call it again with one JSON object.");
    EQ_STR(error_of(b, "{\"name\":\"mcp__s__one\",\"input\":true}", MCP_ERR_INVALID),
           "The arguments of \"mcp__s__one\" are a boolean. Call it again with one JSON object.");
    EQ_STR(error_of(b, "{\"name\":\"mcp__s__one\",\"arguments\":\"\\\"\\\\\\\"{}\\\\\\\"\\\"\"}", MCP_ERR_INVALID),     /* deeper than a string in a string */
           "The arguments of \"mcp__s__one\" are a string. Call it again with one JSON object.");
    EQ_STR(error_of(b, "{\"name\":\"mcp__s__one\\u0000x\"}", MCP_ERR_UNKNOWN), "There is no tool of this name: it holds a NUL.");
    EQ_STR(error_of(b, "{}", MCP_ERR_ARGUMENT), "This is no tool call: it names no tool.");
    EQ_STR(error_of(b, "7", MCP_ERR_ARGUMENT), "This is no tool call: it names no tool.");
    EQ_INT(mcp_toolbox_call(b, NULL, &arena, &k), MCP_ERR_ARGUMENT);
    EQ_STR(k.id, "");
    EQ_INT(mcp_toolbox_call(NULL, json("{}"), &arena, &k), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_toolbox_call(b, json("{}"), &arena, NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_toolbox_call(b, json("{\"name\":\"mcp__s__one\"}"), NULL, &k), MCP_ERR_MEMORY);
    CHECK(k.error && k.id && k.name);
    mcp_toolbox_free(b);
}

/* -- results ----------------------------------------------------------------------------------------------------- */

#define PNG "\"iVBORw0KGgo=\""              /* 8 bytes */

static char images_text[2000];

/* The item for a result; images: chat completions' way. */
static const char *result(mcp_form form, const char *body, bool images, size_t max_text)
{
    mcp_toolbox_desc d;
    mcp_toolbox *b;
    mcp_reply r;
    mcp_tool_call k;
    mcp_writer w;
    int rc;
    memset(&d, 0, sizeof d);
    d.form = form;
    d.max_text = max_text;
    d.alloc.resize = counted;
    b = mcp_toolbox_new(&d);
    memset(&r, 0, sizeof r);
    memset(&k, 0, sizeof k);
    k.id = "c1";
    k.name = "mcp__s__one";
    r.result = json(body);
    mcp_writer_reset(&out);
    mcp_put_array(&out, NULL);
    mcp_writer_init(&w, NULL, 0);
    mcp_put_array(&w, NULL);
    rc = mcp_toolbox_result(b, &k, &r, &out, images ? &w : NULL);
    mcp_put_end(&w);
    mcp_put_end(&out);
    strncpy(images_text, mcp_writer_text(&w, NULL), sizeof images_text - 1);
    mcp_writer_free(&w);
    mcp_toolbox_free(b);
    EQ_INT(rc, MCP_OK);
    EQ_INT(live, 0);
    return mcp_writer_text(&out, NULL);
}

/* What is said to a model of chat completions. */
static const char *said(const char *body)
{
    const char *text = result(MCP_FORM_OPENAI, body, false, 0);
    return mcp_json_str(mcp_json_at(json(text), "/0/content"), "(nothing)");
}

#define TEXTS  "{\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\",\"text\":\"b\\n\"},{\"type\":\"text\",\"text\":\"c\"}]}"
#define FAILED "{\"content\":[{\"type\":\"text\",\"text\":\"no such file\"}],\"isError\":true}"
#define MIXED  "{\"content\":[{\"type\":\"text\",\"text\":\"before\"},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":" PNG "}," \
               "{\"type\":\"text\",\"text\":\"between\"},{\"type\":\"image\",\"mimeType\":\"image/jpg\",\"data\":" PNG "}," \
               "{\"type\":\"image\",\"mimeType\":\"image/tiff\",\"data\":" PNG "}]}"

TEST(result_forms)
{
    EQ_STR(result(MCP_FORM_OPENAI, TEXTS, false, 0), "[{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"a\\nb\\n\\nc\"}]");
    EQ_STR(result(MCP_FORM_RESPONSES, TEXTS, false, 0), "[{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"a\\nb\\n\\nc\"}]");
    EQ_STR(result(MCP_FORM_ANTHROPIC, TEXTS, false, 0), "[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":\"a\\nb\\n\\nc\"}]");
    EQ_STR(result(MCP_FORM_GEMINI, TEXTS, false, 0), "[{\"functionResponse\":{\"id\":\"c1\",\"name\":\"mcp__s__one\",\"response\":{\"output\":\"a\\nb\\n\\nc\"}}}]");
    /* the tool failed */
    EQ_STR(result(MCP_FORM_OPENAI, FAILED, false, 0), "[{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"The tool reported an error:\\nno such file\"}]");
    EQ_STR(result(MCP_FORM_RESPONSES, FAILED, false, 0), "[{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"The tool reported an error:\\nno such file\"}]");
    EQ_STR(result(MCP_FORM_ANTHROPIC, FAILED, false, 0), "[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"is_error\":true,\"content\":\"no such file\"}]");
    EQ_STR(result(MCP_FORM_GEMINI_JSON, FAILED, false, 0), "[{\"functionResponse\":{\"id\":\"c1\",\"name\":\"mcp__s__one\",\"response\":{\"error\":\"no such file\"}}}]");
}

TEST(result_images)
{
    EQ_STR(result(MCP_FORM_ANTHROPIC, MIXED, false, 0), "[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":["
        "{\"type\":\"text\",\"text\":\"before\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":" PNG "}},"
        "{\"type\":\"text\",\"text\":\"between\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/jpeg\",\"data\":" PNG "}},"
        "{\"type\":\"text\",\"text\":\"[image, image/tiff, 8 bytes: not shown]\"}]}]");
    EQ_STR(result(MCP_FORM_RESPONSES, MIXED, false, 0), "[{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":["
        "{\"type\":\"input_text\",\"text\":\"before\"},{\"type\":\"input_image\",\"image_url\":\"data:image/png;base64,iVBORw0KGgo=\"},"
        "{\"type\":\"input_text\",\"text\":\"between\"},{\"type\":\"input_image\",\"image_url\":\"data:image/jpeg;base64,iVBORw0KGgo=\"},"
        "{\"type\":\"input_text\",\"text\":\"[image, image/tiff, 8 bytes: not shown]\"}]}]");
    EQ_STR(result(MCP_FORM_GEMINI, MIXED, false, 0), "[{\"functionResponse\":{\"id\":\"c1\",\"name\":\"mcp__s__one\",\"response\":{\"output\":"
        "\"before\\n[image, image/png, 8 bytes: it follows]\\nbetween\\n[image, image/jpg, 8 bytes: it follows]\\n[image, image/tiff, 8 bytes: not shown]\"}}},"
        "{\"inlineData\":{\"mimeType\":\"image/png\",\"data\":" PNG "}},{\"inlineData\":{\"mimeType\":\"image/jpeg\",\"data\":" PNG "}}]");
    EQ_STR(result(MCP_FORM_OPENAI, MIXED, false, 0), "[{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"before\\n[image, image/png, 8 bytes: not shown]\\n"
        "between\\n[image, image/jpg, 8 bytes: not shown]\\n[image, image/tiff, 8 bytes: not shown]\"}]");
    EQ_STR(result(MCP_FORM_OPENAI, MIXED, true, 0), "[{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"before\\n[image, image/png, 8 bytes: it follows]\\n"
        "between\\n[image, image/jpg, 8 bytes: it follows]\\n[image, image/tiff, 8 bytes: not shown]\"}]");
    EQ_STR(images_text, "[{\"type\":\"text\",\"text\":\"From the tool mcp__s__one, call c1:\"},"
        "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,iVBORw0KGgo=\"}},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/jpeg;base64,iVBORw0KGgo=\"}}]");
    result(MCP_FORM_OPENAI, TEXTS, true, 0);
    EQ_STR(images_text, "[]");
    /* an image that is a resource is one, bytes that are no base64 are none */
    EQ_STR(result(MCP_FORM_ANTHROPIC, "{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///i\",\"mimeType\":\"image/png\",\"blob\":" PNG "}}]}", false, 0),
        "[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":" PNG "}}]}]");
    EQ_STR(said("{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AAAA\"},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"AA==\"}]}"),
           "[image, image/png, 3 bytes: not shown]\n[image, image/png, 1 bytes: not shown]");
    {
        static const char *const bad[] = { "", "A", "AAA", "AAAAA", "A===", "====", "AA=A", "AA\\nA", "AAA\\u00e4", "\\\"AAA", "AAA-" };
        size_t i;
        for (i = 0; i < sizeof bad / sizeof *bad; i++) {
            char body[200];
            sprintf(body, "{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"%s\"}]}", bad[i]);
            CHECK(strstr(result(MCP_FORM_ANTHROPIC, body, false, 0), "not shown]\"}"));
        }
    }
    /* of a failure Anthropic takes text alone */
    EQ_STR(result(MCP_FORM_ANTHROPIC, "{\"isError\":true,\"content\":[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":" PNG "}]}", false, 0),
        "[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"is_error\":true,\"content\":\"[image, image/png, 8 bytes: not shown]\"}]");
    /* nor does it take a text of blanks */
    EQ_STR(result(MCP_FORM_ANTHROPIC, "{\"content\":[{\"type\":\"text\",\"text\":\" \\n\"},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":" PNG "}]}", false, 0),
        "[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":" PNG "}}]}]");
    /* no more than there is room for, in order */
    {
        mcp_toolbox_desc d;
        mcp_toolbox *b;
        mcp_reply r;
        mcp_tool_call k;
        memset(&d, 0, sizeof d);
        memset(&r, 0, sizeof r);
        memset(&k, 0, sizeof k);
        d.form = MCP_FORM_ANTHROPIC;
        d.max_images = 15;
        b = mcp_toolbox_new(&d);
        k.id = "c1";
        r.result = json(MIXED);
        mcp_writer_reset(&out);
        EQ_INT(mcp_toolbox_result(b, &k, &r, &out, NULL), MCP_OK);
        EQ_STR(mcp_writer_text(&out, NULL), "{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":["
            "{\"type\":\"text\",\"text\":\"before\"},{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":" PNG "}},"
            "{\"type\":\"text\",\"text\":\"between\\n[image, image/jpg, 8 bytes: not shown]\\n[image, image/tiff, 8 bytes: not shown]\"}]}");
        mcp_toolbox_free(b);
        d.no_images = true;
        d.max_images = 0;
        b = mcp_toolbox_new(&d);
        mcp_writer_reset(&out);
        EQ_INT(mcp_toolbox_result(b, &k, &r, &out, NULL), MCP_OK);
        CHECK(strstr(mcp_writer_text(&out, NULL), "\"content\":\"before\\n[image, image/png, 8 bytes: not shown]\\nbetween"));
        EQ_INT(mcp_toolbox_result(NULL, &k, &r, &out, NULL), MCP_ERR_ARGUMENT);
        EQ_INT(mcp_toolbox_result(b, NULL, &r, &out, NULL), MCP_ERR_ARGUMENT);
        EQ_INT(mcp_toolbox_result(b, &k, &r, NULL, NULL), MCP_ERR_ARGUMENT);
        mcp_toolbox_free(b);
    }
}

TEST(result_kinds)
{
    EQ_STR(said("{\"content\":[{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"AAAAAAAA\"}]}"), "[audio, audio/wav, 6 bytes: not shown]");
    EQ_STR(said("{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///a\",\"mimeType\":\"text/plain\",\"text\":\"x\\ny\"}}]}"),
           "[resource, file:///a, text/plain]\nx\ny");
    EQ_STR(said("{\"content\":[{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///b\",\"mimeType\":\"application/pdf\",\"blob\":\"AAA=\"}}]}"),
           "[resource, file:///b, application/pdf, 2 bytes: not shown]");
    EQ_STR(said("{\"content\":[{\"type\":\"resource_link\",\"uri\":\"file:///c\",\"name\":\"c\",\"mimeType\":\"text/x-c\",\"description\":\"source\",\"size\":12}]}"),
           "[link to c, file:///c, text/x-c, source, 12 bytes]");
    EQ_STR(said("{\"content\":[{\"type\":\"hologram\"},5,{}]}"), "[hologram: not shown]\n[content: not shown]");
    /* structured content: when there is no text, and never twice */
    EQ_STR(said("{\"content\":[],\"structuredContent\":{\"n\":[1.0,null]}}"), "{\"n\":[1.0,null]}");
    EQ_STR(said("{\"structuredContent\":{\"n\":1}}"), "{\"n\":1}");
    EQ_STR(said("{\"content\":[{\"type\":\"text\",\"text\":\"\"}],\"structuredContent\":{\"n\":1}}"), "{\"n\":1}");
    EQ_STR(said("{\"content\":[{\"type\":\"text\",\"text\":\"one\"}],\"structuredContent\":{\"n\":1}}"), "one");
    EQ_STR(said("{\"content\":[{\"type\":\"audio\",\"data\":\"AAAA\"}],\"structuredContent\":{\"n\":1}}"), "[audio, 3 bytes: not shown]\n{\"n\":1}");
    EQ_STR(said("{\"content\":[],\"structuredContent\":{\"n\":1},\"isError\":true}"), "The tool reported an error:\n{\"n\":1}");
    EQ_STR(said("{}"), "The tool returned nothing.");
    EQ_STR(said("{\"content\":[{\"type\":\"text\",\"text\":\"\"}]}"), "The tool returned nothing.");
    EQ_STR(said("{\"content\":[{\"type\":\"text\",\"text\":\"\\n \\t\"}]}"), "The tool returned nothing.");
    EQ_STR(said("{\"content\":\"no array\"}"), "The tool returned nothing.");
    EQ_STR(said("{\"content\":[],\"isError\":true}"), "The tool reported an error:");
    EQ_STR(said("{\"content\":[{\"type\":\"text\",\"text\":\"a\\u0000b\"}]}"), "a");     /* as C sees it: the NUL is there */
}

/* Too much text is cut where a character ends, and it says so. */
TEST(result_limit)
{
    size_t n;
    for (n = 1; n < 14; n++) {
        static const char all[] = "a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z";
        const char *text = result(MCP_FORM_OPENAI, "{\"content\":[{\"type\":\"text\",\"text\":\"a\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80z\"},{\"type\":\"text\",\"text\":\"end\"}]}", false, n);
        const char *s = mcp_json_str(mcp_json_at(json(text), "/0/content"), "");
        size_t keep = n >= 11 ? n : n >= 10 ? 10 : n >= 6 ? 6 : n >= 3 ? 3 : 1;
        char want[100];
        sprintf(want, "%.*s%s[cut here: %d bytes more]", (int)(keep < 11 ? keep : 11), all, n >= 13 ? "\ne\n" : n >= 12 ? "\n\n" : "\n", (int)(15 - keep));
        EQ_STR(s, want);
    }
    EQ_STR(result(MCP_FORM_OPENAI, "{\"content\":[{\"type\":\"text\",\"text\":\"abcd\"},{\"type\":\"text\",\"text\":\"e\"}]}", false, 6),
           "[{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"abcd\\ne\"}]");
    EQ_STR(result(MCP_FORM_ANTHROPIC, "{\"content\":[{\"type\":\"text\",\"text\":\"abcd\"},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":" PNG "},{\"type\":\"text\",\"text\":\"efg\"}]}", false, 5),
           "[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":[{\"type\":\"text\",\"text\":\"abcd\"},"
           "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":" PNG "}},{\"type\":\"text\",\"text\":\"e\\n[cut here: 2 bytes more]\"}]}]");
}

TEST(result_failures)
{
    mcp_toolbox *b = box_of(MCP_FORM_OPENAI, MCP_GENERIC), *n = box_of(MCP_FORM_ANTHROPIC, MCP_GENERIC);
    mcp_tool_call k;
    mcp_reply r;
    add(b, "s", "[{\"name\":\"one\"}]");
    memset(&r, 0, sizeof r);
    mcp_toolbox_call(b, json("{\"id\":\"c1\",\"name\":\"mcp__s__one\"}"), &arena, &k);
    r.status = MCP_ERR_TIMEOUT;
    r.message = "no answer within 30 s";
    mcp_writer_reset(&out);
    mcp_toolbox_result(b, &k, &r, &out, NULL);
    EQ_STR(mcp_writer_text(&out, NULL), "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"The call failed: no answer within 30 s\"}");
    r.status = MCP_ERR_PEER;
    r.code = -32602;
    r.message = "wrong";
    mcp_writer_reset(&out);
    mcp_toolbox_result(n, &k, &r, &out, NULL);
    EQ_STR(mcp_writer_text(&out, NULL), "{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"is_error\":true,\"content\":\"The call failed: wrong (error -32602)\"}");
    r.message = NULL;
    r.status = MCP_ERR_CLOSED;
    mcp_writer_reset(&out);
    mcp_toolbox_result(n, &k, &r, &out, NULL);
    CHECK(strstr(mcp_writer_text(&out, NULL), "The call failed: connection closed\"}"));
    mcp_writer_reset(&out);
    mcp_toolbox_result(n, &k, NULL, &out, NULL);
    CHECK(strstr(mcp_writer_text(&out, NULL), "\"is_error\":true,\"content\":\"failed\"}"));
    mcp_toolbox_call(b, json("{\"id\":\"c2\",\"name\":\"mcp__s__two\"}"), &arena, &k);
    mcp_writer_reset(&out);
    mcp_toolbox_result(b, &k, NULL, &out, NULL);
    EQ_STR(mcp_writer_text(&out, NULL), "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"There is no tool \\\"mcp__s__two\\\". Call one that there is, by its exact name.\"}");
    k.status = MCP_ERR_DECLINED;                        /* a program's own */
    k.error = NULL;
    mcp_writer_reset(&out);
    mcp_toolbox_result(n, &k, NULL, &out, NULL);
    CHECK(strstr(mcp_writer_text(&out, NULL), "\"is_error\":true,\"content\":\"the user declined\"}"));
    memset(&k, 0, sizeof k);                            /* nothing is known of it */
    mcp_writer_reset(&out);
    mcp_toolbox_result(n, &k, NULL, &out, NULL);
    CHECK(strstr(mcp_writer_text(&out, NULL), "\"tool_use_id\":\"\",\"is_error\":true"));
    mcp_toolbox_free(b);
    mcp_toolbox_free(n);
    EQ_INT(live, 0);
}

/* Each allocation fails once: nothing leaks, and what was there before is there still. */
TEST(no_memory)
{
    const char *list = "[{\"name\":\"one\",\"description\":\"d\"},{\"name\":\"two words\",\"inputSchema\":" SCHEMA "}]";
    long at, failures = 0;
    bool more;
    for (at = 1, stay = !stay, more = true; more || stay; at++) {
        if (!more) { at = 1; stay = false; }            /* all over again, once each */
        mcp_toolbox *b;
        mcp_tool_call k;
        mcp_arena a;
        mcp_allocator alloc;
        int rc = MCP_ERR_MEMORY;
        memset(&alloc, 0, sizeof alloc);
        alloc.resize = counted;
        mcp_arena_init(&a, &alloc, 0);
        more = false;
        calls = 0;
        fail_at = at;
        b = box_of(MCP_FORM_ANTHROPIC, MCP_BEDROCK);
        if (!b) { more = true; EQ_INT(live, 0); continue; }
        rc = mcp_toolbox_add(b, "s", json(list));
        CHECK(rc == MCP_OK || rc == MCP_ERR_MEMORY);
        EQ_INT(count(b, true), rc == MCP_OK ? 2 : 0);
        EQ_INT(mcp_names_count(b->names), rc == MCP_OK ? 2 : 0);
        if (rc == MCP_OK) {
            rc = mcp_toolbox_add(b, "s", json("[{\"name\":\"one\"},{\"name\":\"three\"}]"));
            CHECK(rc == MCP_OK || (mcp_names_count(b->names) == 2 && strstr(notes_of(b, "s", "two words", false), "altered")));
            if (rc != MCP_OK) {                             /* the names are those of the list that stays */
                const mcpi_toolset *set = mcpi_toolset_find(b, "s");
                const mcpi_name *x = mcpi_names_by_pair(b->names, "s", "one");
                CHECK(set && x && x->user == &set->tools[0]);
            }
        }
        if (rc == MCP_OK) {
            rc = mcp_toolbox_call(b, json("{\"id\":\"1\",\"name\":\"mcp__s__three\",\"input\":\"{}\"}"), &a, &k);
            CHECK(rc == MCP_OK ? !k.error : k.error != NULL);
        }
        if (rc == MCP_OK) {
            mcp_reply r;
            memset(&r, 0, sizeof r);
            r.result = json("{\"structuredContent\":{\"a\":1}}");
            mcp_writer_reset(&out);
            rc = mcp_toolbox_result(b, &k, &r, &out, NULL);
        }
        more = rc != MCP_OK;
        failures += more;
        fail_at = -1;
        EQ_INT(add(b, "s", list), MCP_OK);
        EQ_INT(count(b, true), 2);
        EQ_INT(mcp_names_count(b->names), 2);
        mcp_toolbox_free(b);
        mcp_arena_free(&a);
        EQ_INT(live, 0);
    }
    fail_at = -1;
    CHECK(failures > 10);
}

/* Many tools, many servers: a list that comes again does not walk over all others. */
TEST(many)
{
    enum { SERVERS = 3000 };
    mcp_toolbox *b = box_of(MCP_FORM_OPENAI, MCP_GENERIC);
    char server[40];
    mcp_tool_call k;
    int i;
    for (i = 0; i < SERVERS; i++) {
        sprintf(server, "server-%d", i);
        EQ_INT(mcp_toolbox_add(b, server, json("[{\"name\":\"t\"}]")), MCP_OK);
    }
    EQ_INT(count(b, true), SERVERS);
    EQ_INT(mcp_toolbox_call(b, json("{\"name\":\"mcp__server-2718__t\"}"), &arena, &k), MCP_OK);
    EQ_STR(k.server, "server-2718");
    for (i = SERVERS; i-- > 1;) {
        sprintf(server, "server-%d", i);
        EQ_INT(mcp_toolbox_remove(b, server), MCP_OK);
    }
    EQ_INT(count(b, true), 1);
    mcp_toolbox_free(b);
}

/* Lists of real servers, where they are. */
TEST(real)
{
    static const char *const servers[] = { "filesystem", "gitlab", "everything", "mongodb", "ms-365", "notion" };
    size_t i;
    int form, have = 0;
    for (i = 0; i < sizeof servers / sizeof *servers; i++) {
        char path[100], *line = (char *)malloc(4 << 20);
        FILE *f;
        sprintf(path, "../shared/data/tools/%s.tools.json", servers[i]);
        if ((f = fopen(path, "rb")) != NULL) {
            const mcp_json *tools = NULL;
            while (!tools && fgets(line, 4 << 20, f)) tools = mcp_json_at(json(line), "/result/tools");
            fclose(f);
            CHECK(tools != NULL);
            for (form = MCP_FORM_OPENAI; form <= MCP_FORM_GEMINI_JSON; form++) {
                mcp_toolbox *b = box_of((mcp_form)form, MCP_GENERIC);
                EQ_INT(mcp_toolbox_add(b, servers[i], tools), MCP_OK);
                EQ_INT(count(b, true), mcp_json_size(tools));
                CHECK(json(written(b)) != NULL);
                mcp_toolbox_free(b);
            }
            have++;
        }
        free(line);
    }
    if (!have) puts("skip  no ../shared/data/tools: lists of real servers");
    EQ_INT(live, 0);
}

/* A list that others have reported: one good tool, a bad one and a worse one. */
TEST(reported)
{
    FILE *f = fopen("../shared/data/schema_cases.json", "rb");
    char *text = (char *)malloc(1 << 20);
    size_t lists = 0;
    if (!f) puts("skip  no ../shared/data/schema_cases.json: lists that others reported");
    else {
        text[fread(text, 1, (1 << 20) - 1, f)] = 0;
        fclose(f);
        mcp_json_each(c, json(text)) {
            mcp_toolbox *b;
            if (strcmp(mcp_json_str(mcp_json_get(c, "kind"), ""), "list") != 0) continue;
            b = box_of(MCP_FORM_ANTHROPIC, MCP_GENERIC);
            EQ_INT(mcp_toolbox_add(b, "s", mcp_json_get(c, "input_tools")), MCP_OK);
            CHECK(strstr(written(b), "[{\"name\":\"mcp__s__good\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}}"));
            EQ_STR(notes_of(b, "s", "good", false), "");
            CHECK(*notes_of(b, "s", "bad", false) && *notes_of(b, "s", "worse", false));
            mcp_toolbox_free(b);
            lists++;
        }
        CHECK(lists > 0);
    }
    free(text);
    EQ_INT(live, 0);
}

int main(void)
{
    mcp_arena_init(&arena, NULL, 0);
    mcp_writer_init(&out, NULL, 0);
    RUN(forms);
    RUN(strict);
    RUN(fitted);
    RUN(isolation);
    RUN(changes);
    RUN(call_forms);
    RUN(call_errors);
    RUN(result_forms);
    RUN(result_images);
    RUN(result_kinds);
    RUN(result_limit);
    RUN(result_failures);
    RUN(no_memory);
    RUN(many);
    RUN(real);
    RUN(reported);
    mcp_arena_free(&arena);
    mcp_writer_free(&out);
    return test_end();
}
