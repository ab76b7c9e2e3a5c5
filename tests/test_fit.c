/* Fitting schemas to what providers take: exact results, the way back, reports, budgets, memory that is missing. */
#define MCP_IMPLEMENTATION      /* looks inside */
#define MCP_NO_SERVER
#define MCP_NO_CLIENT
#include "mcp.h"
#include "test.h"
#include "fit_props.h"

static mcp_arena arena;
static mcp_writer out, back;
static const mcp_fit *fit;

/* The fitted schema, without notes. */
static const char *fitted(mcp_profile p, const char *schema)
{
    mcp_fit_desc d;
    memset(&d, 0, sizeof d);
    d.profile = p;
    d.no_notes = true;
    mcp_writer_reset(&out);
    fit = mcp_schema_fit(&arena, mcp_json_parse(&arena, schema, MCP_NTS, NULL), &d, &out);
    return fit ? mcp_writer_text(&out, NULL) : NULL;
}

/* The fitted schema of one property, with notes. */
static const char *noted(mcp_profile p, const char *schema)
{
    static char text[4096];
    mcp_fit_desc d;
    const char *s;
    memset(&d, 0, sizeof d);
    d.profile = p;
    snprintf(text, sizeof text, "{\"type\":\"object\",\"properties\":{\"a\":%s}}", schema);
    mcp_writer_reset(&out);
    fit = mcp_schema_fit(&arena, mcp_json_parse(&arena, text, MCP_NTS, NULL), &d, &out);
    s = fit ? mcp_writer_text(&out, NULL) : NULL;
    s = s ? strstr(s, "{\"a\":") : NULL;
    if (!s) return NULL;
    snprintf(text, sizeof text, "%s", s + 5);
    if (strstr(text, "}}")) text[strlen(text) - 2] = 0;
    return text;
}

/* The same without notes. */
static const char *property(mcp_profile p, const char *schema)
{
    static char text[4096];
    const char *s;
    snprintf(text, sizeof text, "{\"type\":\"object\",\"properties\":{\"a\":%s}}", schema);
    s = fitted(p, text);
    s = s ? strstr(s, "{\"a\":") : NULL;
    if (!s) return NULL;
    snprintf(text, sizeof text, "%s", s + 5);
    text[strlen(text) - 2] = 0;
    return text;
}

static const char *unfitted(const char *args)
{
    mcp_writer_reset(&back);
    if (mcp_schema_unfit(fit, mcp_json_parse(&arena, args, MCP_NTS, NULL), &back) != MCP_OK) return NULL;
    return mcp_writer_text(&back, NULL);
}

TEST(profiles)
{
    int p;
    for (p = 0; p <= MCP_LLAMACPP; p++) EQ_INT(mcp_profile_find(mcp_profile_name((mcp_profile)p)), p);
    CHECK(mcp_profile_name((mcp_profile)p) == NULL && mcp_profile_name((mcp_profile)-1) == NULL);
    EQ_INT(mcp_profile_find("gpt"), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_profile_find(NULL), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_profile_find(""), MCP_ERR_UNKNOWN);
    EQ_STR(mcp_profile_name(MCP_OPENAI_STRICT), "openai-strict");
    EQ_STR(mcp_profile_name(MCP_LLAMACPP), "llamacpp");
}

/* Whatever is no object schema becomes one. */
TEST(roots)
{
    static const char *const empty[] = { "{}", "null", "true", "false", "[]", "\"oops\"", "5", "{\"type\":\"object\"}", "{\"properties\":true}",
        "{\"type\":null,\"properties\":[]}", "{\"$ref\":\"#\"}", "{\"type\":\"object\",\"anyOf\":[{\"$ref\":\"#/nowhere\"},5]}", "{\"required\":null}" };
    size_t i;
    for (i = 0; i < sizeof empty / sizeof *empty; i++) EQ_STR(fitted(MCP_GENERIC, empty[i]), "{\"type\":\"object\",\"properties\":{}}");
    mcp_writer_reset(&out);
    CHECK(mcp_schema_fit(&arena, NULL, NULL, &out) != NULL);
    EQ_STR(mcp_writer_text(&out, NULL), "{\"type\":\"object\",\"properties\":{}}");
    EQ_STR(fitted(MCP_OPENAI_STRICT, "{}"), "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false,\"required\":[]}");
    CHECK(mcp_fit_strict(fit));
    EQ_STR(fitted(MCP_OPENAI, "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"),
           "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},\"required\":[\"input\"]}");
    CHECK(strstr(mcp_fit_notes(fit), "is no object"));
    EQ_STR(unfitted("{\"input\":[\"x\"]}"), "[\"x\"]");
    EQ_STR(unfitted("[1]"), "[1]");
    EQ_STR(fitted(MCP_OPENAI, "{\"properties\":{\"a\":\"string\",\"b\":null,\"c\":7}}"),
           "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{},\"c\":{}}}");
}

TEST(old_drafts)
{
    EQ_STR(property(MCP_ANTHROPIC, "{\"type\":\"integer\",\"minimum\":0,\"exclusiveMinimum\":true}"), "{\"type\":\"integer\",\"exclusiveMinimum\":0}");
    EQ_STR(property(MCP_ANTHROPIC, "{\"items\":[{\"type\":\"number\"}],\"additionalItems\":{\"type\":\"string\"}}"),
           "{\"type\":\"array\",\"prefixItems\":[{\"type\":\"number\"}],\"items\":{\"type\":\"string\"}}");
    EQ_STR(property(MCP_OPENAI, "{\"type\":\"array\",\"items\":[{\"type\":\"number\"},{\"type\":\"number\"}],\"minItems\":2}"),
           "{\"type\":\"array\",\"minItems\":2,\"items\":{\"type\":\"number\"}}");
    EQ_STR(fitted(MCP_OPENAI, "{\"properties\":{\"a\":{\"type\":\"string\",\"required\":true},\"b\":{\"type\":\"string\",\"optional\":true}}}"),
           "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}},\"required\":[\"a\"]}");
    EQ_STR(property(MCP_ANTHROPIC, "{\"properties\":{\"x\":{},\"y\":{}},\"dependencies\":{\"x\":[\"y\"]}}"),
           "{\"type\":\"object\",\"properties\":{\"x\":{},\"y\":{}},\"dependentRequired\":{\"x\":[\"y\"]}}");
    EQ_STR(property(MCP_OPENAI, "{\"type\":\"Str\",\"nullable\":true}"), "{\"type\":[\"string\",\"null\"]}");
    EQ_STR(property(MCP_GEMINI, "{\"type\":\"string\",\"nullable\":true}"), "{\"type\":\"string\",\"nullable\":true}");
    EQ_STR(property(MCP_OPENAI, "{\"type\":\"any\"}"), "{}");
    EQ_STR(property(MCP_OPENAI, "{\"type\":[\"list\",\"Dict\"]}"), "{\"type\":[\"array\",\"object\"],\"items\":{}}");
}

TEST(references)
{
    EQ_STR(fitted(MCP_OPENAI, "{\"properties\":{\"a\":{\"$ref\":\"#/%24defs/x~1y\"},\"b\":{\"$ref\":\"#here\"},\"c\":{\"$ref\":\"https://x.invalid/s#/definitions/z\"}},"
                              "\"$id\":\"https://x.invalid/s\",\"$defs\":{\"x/y\":{\"type\":\"string\"},\"q\":{\"$anchor\":\"here\",\"type\":\"number\"}},"
                              "\"definitions\":{\"z\":{\"type\":\"boolean\"}}}"),
           "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"number\"},\"c\":{\"type\":\"boolean\"}}}");
    EQ_STR(fitted(MCP_OPENAI, "{\"properties\":{\"a\":{\"$ref\":\"#/$defs/A\",\"maxLength\":5,\"description\":\"mine\"}},"
                              "\"$defs\":{\"A\":{\"type\":\"string\",\"maxLength\":9,\"minLength\":2,\"description\":\"its\"}}}"),
           "{\"type\":\"object\",\"properties\":{\"a\":{\"maxLength\":5,\"description\":\"mine\",\"type\":\"string\",\"minLength\":2}}}");
    EQ_STR(fitted(MCP_OPENAI, "{\"properties\":{\"a\":{\"$ref\":\"#/$defs/A\"}},\"$defs\":{\"A\":{\"$ref\":\"#/$defs/B\"},\"B\":{\"$ref\":\"#/$defs/A\"}}}"),
           "{\"type\":\"object\",\"properties\":{\"a\":{}}}");
    EQ_STR(fitted(MCP_OPENAI, "{\"properties\":{\"kids\":{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}}}"),
           "{\"type\":\"object\",\"properties\":{\"kids\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{}}}}}");
    CHECK(strstr(mcp_fit_notes(fit), "#/properties/kids/items: recursive") || strstr(mcp_fit_notes(fit), "#/properties/kids: recursive"));
    /* where references are kept, a cycle stays a cycle */
    EQ_STR(fitted(MCP_LLAMACPP, "{\"properties\":{\"n\":{\"$ref\":\"#/$defs/N\"}},\"$defs\":{\"N\":{\"properties\":{\"n\":{\"$ref\":\"#/$defs/N\"}}}}}"),
           "{\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":\"#/$defs/N\"}},\"$defs\":{\"N\":{\"type\":\"object\",\"properties\":{\"n\":{\"$ref\":\"#/$defs/N\"}}}}}");
    /* gemini takes a cycle only through what may be left out */
    CHECK(strstr(fitted(MCP_GEMINI_JSON, "{\"properties\":{\"n\":{\"$ref\":\"#/$defs/N\"}},\"$defs\":{\"N\":{\"properties\":{\"n\":{\"$ref\":\"#/$defs/N\"}}}}}"), "$ref"));
    CHECK(!strstr(fitted(MCP_GEMINI_JSON, "{\"properties\":{\"n\":{\"$ref\":\"#/$defs/N\"}},\"$defs\":{\"N\":{\"properties\":{\"n\":{\"$ref\":\"#/$defs/N\"}},\"required\":[\"n\"]}}}"), "$ref"));
}

TEST(merging)
{
    EQ_STR(property(MCP_OPENAI, "{\"allOf\":[{\"type\":\"number\",\"minimum\":1},{\"type\":\"integer\",\"minimum\":3,\"maximum\":9}],\"maximum\":8}"),
           "{\"maximum\":8,\"type\":\"integer\",\"minimum\":3}");
    EQ_STR(property(MCP_OPENAI, "{\"allOf\":[{\"enum\":[\"a\",\"b\",\"c\"]},{\"enum\":[\"c\",\"d\",\"b\"]}]}"), "{\"type\":\"string\",\"enum\":[\"b\",\"c\"]}");
    EQ_STR(property(MCP_OPENAI, "{\"allOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}],\"description\":\"d\"}"), "{\"description\":\"d\"}");
    EQ_STR(property(MCP_OPENAI, "{\"allOf\":[{\"properties\":{\"x\":{\"type\":\"string\"}},\"additionalProperties\":false},{\"properties\":{\"y\":{}}}]}"),
           "{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"},\"y\":{}}}");
    EQ_STR(property(MCP_OPENAI, "{\"allOf\":[{\"properties\":{\"x\":{}}}],\"unevaluatedProperties\":false}"),
           "{\"type\":\"object\",\"properties\":{\"x\":{}},\"additionalProperties\":false}");
    /* a conditional part is not unconditional */
    EQ_STR(fitted(MCP_ANTHROPIC, "{\"properties\":{\"a\":{\"type\":\"string\"}},\"allOf\":[{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]}}]}"),
           "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}");
}

TEST(root_unions)
{
    const char *s = "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"}},\"required\":[\"id\"],\"oneOf\":["
        "{\"properties\":{\"kind\":{\"const\":\"file\"},\"path\":{\"type\":\"string\"}},\"required\":[\"kind\",\"path\"]},"
        "{\"properties\":{\"kind\":{\"const\":\"url\"},\"href\":{\"type\":\"string\"}},\"required\":[\"kind\",\"href\"]}]}";
    mcp_fit_desc d;
    EQ_STR(fitted(MCP_ANTHROPIC, s), "{\"type\":\"object\",\"properties\":{\"id\":{\"type\":\"string\"},\"kind\":{\"type\":\"string\",\"enum\":[\"file\",\"url\"]},"
           "\"path\":{\"type\":\"string\"},\"href\":{\"type\":\"string\"}},\"required\":[\"id\",\"kind\"]}");
    memset(&d, 0, sizeof d);
    mcp_writer_reset(&out);
    fit = mcp_schema_fit(&arena, mcp_json_parse(&arena, s, MCP_NTS, NULL), &d, &out);
    CHECK(strstr(mcp_writer_text(&out, NULL), "\"description\":\"Variants: (kind file, path) | (kind url, href).\""));
    mcp_writer_reset(&out);
    s = "{\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}},\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}";
    fit = mcp_schema_fit(&arena, mcp_json_parse(&arena, s, MCP_NTS, NULL), &d, &out);
    CHECK(strstr(mcp_writer_text(&out, NULL), "\"description\":\"Give at least one of: a | b.\""));
    EQ_STR(fitted(MCP_OPENAI, s), "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}}}");
    /* one property in two forms */
    EQ_STR(fitted(MCP_OPENAI, "{\"anyOf\":[{\"properties\":{\"v\":{\"type\":\"string\"}},\"required\":[\"v\"]},{\"properties\":{\"v\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},\"required\":[\"v\"]}]}"),
           "{\"type\":\"object\",\"properties\":{\"v\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"type\":\"string\"}}]}},\"required\":[\"v\"]}");
    /* no variant is an object */
    EQ_STR(fitted(MCP_OPENAI, "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}"),
           "{\"type\":\"object\",\"properties\":{\"input\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"number\"}]}},\"required\":[\"input\"]}");
}

TEST(unions)
{
    EQ_STR(property(MCP_OPENAI, "{\"anyOf\":[{\"type\":\"string\"},{\"not\":{}}]}"), "{\"type\":\"string\"}");
    EQ_STR(property(MCP_OPENAI, "{\"anyOf\":[{\"type\":\"string\"},false,{\"type\":\"string\"}]}"), "{\"type\":\"string\"}");
    EQ_STR(property(MCP_OPENAI, "{\"oneOf\":[{\"const\":1},{\"const\":2}]}"), "{\"type\":\"integer\",\"enum\":[1,2]}");
    EQ_STR(property(MCP_OPENAI, "{\"anyOf\":[{\"type\":\"object\",\"properties\":{}},{\"type\":\"null\"}]}"),
           "{\"anyOf\":[{\"type\":\"object\",\"properties\":{}},{\"type\":\"null\"}]}");
    EQ_STR(property(MCP_ANTHROPIC, "{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}"), "{\"oneOf\":[{\"type\":\"string\"},{\"type\":\"integer\"}]}");
    EQ_STR(property(MCP_MOONSHOT, "{\"type\":\"object\",\"required\":[\"x\"],\"anyOf\":[{\"properties\":{\"x\":{\"type\":\"string\"}}},{\"properties\":{\"x\":{\"type\":\"number\"}}}]}"),
           "{\"anyOf\":[{\"type\":\"object\",\"required\":[\"x\"],\"properties\":{\"x\":{\"type\":\"string\"}}},"
           "{\"type\":\"object\",\"required\":[\"x\"],\"properties\":{\"x\":{\"type\":\"number\"}}}]}");
    EQ_STR(property(MCP_MOONSHOT, "{\"enum\":[\"a\",1,null]}"), "{\"anyOf\":[{\"enum\":[\"a\"],\"type\":\"string\"},{\"enum\":[1],\"type\":\"integer\"},{\"type\":\"null\"}]}");
    EQ_STR(property(MCP_OLLAMA, "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]}"), "{\"type\":\"string\"}");
    EQ_STR(property(MCP_GEMINI, "{\"type\":[\"string\",\"number\",\"null\"],\"maxLength\":3}"),
           "{\"anyOf\":[{\"type\":\"string\",\"maxLength\":3},{\"type\":\"number\"}],\"nullable\":true}");
    EQ_STR(property(MCP_GEMINI, "{\"type\":[\"string\",\"null\"],\"enum\":[\"a\",\"\",null]}"), "{\"type\":\"string\",\"enum\":[\"a\"],\"nullable\":true}");
    EQ_STR(property(MCP_DEEPSEEK_STRICT, "{\"type\":[\"string\",\"null\"]}"), "{\"type\":[\"string\",\"null\"]}},\"required\":[\"a\"],\"additionalProperties\":fals");
}

TEST(values)
{
    EQ_STR(property(MCP_GEMINI, "true"), "{\"type\":\"string\"}");
    EQ_STR(property(MCP_OPENAI, "true"), "{}");
    EQ_STR(property(MCP_GEMINI, "{\"type\":\"array\"}"), "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}");
    EQ_STR(property(MCP_ANTHROPIC, "{\"type\":\"array\"}"), "{\"type\":\"array\"}");
    EQ_STR(property(MCP_MOONSHOT, "{\"type\":\"object\",\"additionalProperties\":{}}"), "{\"type\":\"object\",\"additionalProperties\":true}");
    EQ_STR(property(MCP_OPENAI, "{\"type\":\"string\",\"pattern\":\"^(?=x)\"}"), "{\"type\":\"string\"}");
    EQ_STR(property(MCP_ANTHROPIC, "{\"type\":\"string\",\"pattern\":\"^(?=x)\"}"), "{\"type\":\"string\",\"pattern\":\"^(?=x)\"}");
    EQ_STR(property(MCP_LLAMACPP, "{\"type\":\"string\",\"pattern\":\"^[a-z]+$\",\"maxLength\":100000}"), "{\"type\":\"string\",\"pattern\":\"^[a-z]+$\"}");
    EQ_STR(property(MCP_MOONSHOT, "{\"type\":\"integer\",\"exclusiveMinimum\":0,\"exclusiveMaximum\":10,\"default\":\"x\"}"), "{\"type\":\"integer\",\"minimum\":1,\"maximum\":9}");
    EQ_STR(property(MCP_OPENAI, "{\"type\":\"integer\",\"maximum\":18446744073709551615}"), "{\"type\":\"integer\",\"maximum\":18446744073709551615}");
    EQ_STR(property(MCP_GEMINI, "{\"type\":\"integer\",\"maximum\":18446744073709551615}"), "{\"type\":\"integer\"}");
    EQ_STR(property(MCP_OPENAI, "{\"type\":\"string\",\"enum\":[1,2]}"), "{\"type\":\"integer\",\"enum\":[1,2]}");
    EQ_STR(property(MCP_OPENAI, "{\"type\":\"integer\",\"enum\":[\"x\",\"x\"],\"type\":\"string\"}"), "{\"enum\":[\"x\"],\"type\":\"string\"}");
    EQ_STR(property(MCP_DEEPSEEK_STRICT, "{\"type\":\"string\",\"format\":\"uuid\"}"), "{\"type\":[\"string\",\"null\"],\"format\":\"uuid\"}},\"required\":[\"a\"],\"additionalProperties\":fals");
    EQ_STR(property(MCP_OLLAMA, "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"number\"}}"), "{\"type\":\"object\"}");
}

TEST(notes)
{
    EQ_STR(noted(MCP_OLLAMA, "{\"type\":\"integer\",\"minimum\":1,\"maximum\":5,\"default\":2,\"description\":\"Count\"}"),
           "{\"type\":\"integer\",\"description\":\"Count. Range 1..5. Default: 2.\"}");
    EQ_STR(noted(MCP_GEMINI, "{\"type\":\"object\",\"additionalProperties\":{\"type\":\"number\"},\"description\":\"w!\"}"), "{\"type\":\"object\",\"description\":\"w! Map of number.\"}");
    EQ_STR(noted(MCP_GEMINI, "{\"const\":3}"), "{\"description\":\"Must be 3.\",\"type\":\"integer\"}");
    EQ_STR(noted(MCP_GEMINI, "{\"type\":\"string\",\"contentEncoding\":\"base64\",\"contentMediaType\":\"image/png\"}"),
           "{\"description\":\"Encoding: base64. Content: image/png.\",\"type\":\"string\"}");
    EQ_STR(noted(MCP_GEMINI, "{}"), "{\"description\":\"Any JSON value.\",\"type\":\"string\"}");
    CHECK(strstr(mcp_fit_notes(fit), "#/properties/a: any value is told as a string"));
    CHECK(strstr(noted(MCP_MOONSHOT, "{\"type\":\"string\",\"pattern\":\"^aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa$\"}"), "\xE2\x80\xA6\""));
    EQ_STR(noted(MCP_OPENAI, "{\"type\":\"string\"}"), "{\"type\":\"string\"}");
    EQ_STR(mcp_fit_notes(fit), "");
    EQ_STR(mcp_fit_notes(NULL), "");
}

/* Null is a branch of its own there: a default of null fits no other. */
TEST(a_default_fits_its_branch)
{
    EQ_STR(fitted(MCP_MOONSHOT, "{\"properties\":{\"p\":{\"type\":[\"string\",\"null\"],\"default\":null},\"q\":{\"type\":\"null\",\"default\":null}}}"),
           "{\"type\":\"object\",\"properties\":{\"p\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}]},\"q\":{\"type\":\"null\",\"default\":null}}}");
}

TEST(keys_and_the_way_back)
{
    EQ_STR(fitted(MCP_ANTHROPIC, "{\"properties\":{\"$top\":{\"type\":\"integer\"},\"o\":{\"properties\":{\"gr\xC3\xB6\xC3\x9F" "e\":{\"type\":\"number\"}},\"required\":[\"gr\xC3\xB6\xC3\x9F" "e\"]}},\"required\":[\"$top\"]}"),
           "{\"type\":\"object\",\"properties\":{\"top\":{\"type\":\"integer\"},\"o\":{\"type\":\"object\",\"properties\":{\"gr_e\":{\"type\":\"number\"}},\"required\":[\"gr_e\"]}},\"required\":[\"top\"]}");
    EQ_STR(unfitted("{\"top\":3,\"o\":{\"gr_e\":1.50,\"top\":null},\"x\":[]}"), "{\"$top\":3,\"o\":{\"gr\xC3\xB6\xC3\x9F" "e\":1.50,\"top\":null},\"x\":[]}");
    /* a name that is taken stays with its owner */
    CHECK(strstr(fitted(MCP_ANTHROPIC, "{\"properties\":{\"$top\":{},\"top\":{}}}"), "\"properties\":{\"_top\":{},\"top\":{}}"));
    EQ_STR(unfitted("{\"top\":1,\"_top\":2}"), "{\"top\":1,\"$top\":2}");
    /* two that would become one do not, whatever their order */
    EQ_STR(fitted(MCP_ANTHROPIC, "{\"properties\":{\"a b\":{},\"a/b\":{}}}"), "{\"type\":\"object\",\"properties\":{\"a_b_2f9f3a\":{},\"a_b_1c57e8\":{}}}");
    EQ_STR(fitted(MCP_ANTHROPIC, "{\"properties\":{\"a/b\":{},\"a b\":{}}}"), "{\"type\":\"object\",\"properties\":{\"a_b_1c57e8\":{},\"a_b_2f9f3a\":{}}}");
    EQ_STR(fitted(MCP_GEMINI, "{\"properties\":{\"If-Match\":{\"type\":\"string\"},\"3d\":{\"type\":\"string\"}}}"),
           "{\"type\":\"object\",\"properties\":{\"If_Match\":{\"type\":\"string\"},\"_3d\":{\"type\":\"string\"}}}");
    EQ_STR(fitted(MCP_OPENAI, "{\"properties\":{\"If-Match\":{},\"\":{}}}"), "{\"type\":\"object\",\"properties\":{\"If-Match\":{},\"_\":{}}}");
    EQ_STR(fitted(MCP_MOONSHOT, "{\"properties\":{\"required\":{\"type\":\"boolean\"},\"type\":{\"type\":\"string\"}}}"),
           "{\"type\":\"object\",\"properties\":{\"required_\":{\"type\":\"boolean\"},\"type\":{\"type\":\"string\"}}}");
    /* free-form values: only whole JSON texts are parsed */
    fitted(MCP_GEMINI, "{\"properties\":{\"v\":{},\"l\":{\"type\":\"array\"},\"s\":{\"type\":\"string\"}}}");
    EQ_STR(unfitted("{\"v\":\"{\\\"a\\\":[1,2.50]}\",\"s\":\"[1]\"}"), "{\"v\":{\"a\":[1,2.50]},\"s\":\"[1]\"}");
    EQ_STR(unfitted("{\"v\":\"hello\",\"l\":[\"7\",\"x y\",\"\\\"q\\\"\",\"null\",\"{\"]}"), "{\"v\":\"hello\",\"l\":[7,\"x y\",\"q\",null,\"{\"]}");
    EQ_STR(unfitted("{\"v\":{\"already\":true},\"l\":[true]}"), "{\"v\":{\"already\":true},\"l\":[true]}");
    EQ_STR(unfitted("null"), "null");
    /* the branch of a union that fits */
    fitted(MCP_ANTHROPIC, "{\"properties\":{\"u\":{\"anyOf\":[{\"properties\":{\"k\":{\"const\":\"x\"},\"a b\":{}}},{\"properties\":{\"k\":{\"const\":\"y\"},\"a_b\":{}}}]}}}");
    CHECK(strstr(unfitted("{\"u\":{\"k\":\"y\",\"a_b\":1}}"), "{\"u\":{\"k\":\"y\",\"a_b\":1}}"));
    /* what stands for a shape around it has the names of that shape: a definition, the whole, a place */
    fitted(MCP_GEMINI, "{\"properties\":{\"n\":{\"$ref\":\"#/$defs/N\"}},\"$defs\":{\"N\":{\"type\":\"object\",\"properties\":{\"a b\":{\"type\":\"string\"},\"kid\":{\"$ref\":\"#/$defs/N\"}}}}}");
    EQ_STR(unfitted("{\"n\":{\"a_b\":\"1\",\"kid\":{\"a_b\":\"2\",\"kid\":{\"a_b\":\"3\"}}}}"), "{\"n\":{\"a b\":\"1\",\"kid\":{\"a b\":\"2\",\"kid\":{\"a b\":\"3\"}}}}");
    fitted(MCP_ANTHROPIC, "{\"type\":\"object\",\"properties\":{\"a b\":{\"type\":\"string\"},\"kids\":{\"type\":\"array\",\"items\":{\"$ref\":\"#\"}}}}");
    EQ_STR(unfitted("{\"a_b\":\"1\",\"kids\":[{\"a_b\":\"2\",\"kids\":[{\"a_b\":\"3\"}]}]}"), "{\"a b\":\"1\",\"kids\":[{\"a b\":\"2\",\"kids\":[{\"a b\":\"3\"}]}]}");
    fitted(MCP_ANTHROPIC, "{\"properties\":{\"x\":{\"type\":\"object\",\"properties\":{\"a b\":{\"type\":\"string\"},\"up\":{\"$ref\":\"#/properties/x\"}}}}}");
    EQ_STR(unfitted("{\"x\":{\"a_b\":\"1\",\"up\":{\"a_b\":\"2\"}}}"), "{\"x\":{\"a b\":\"1\",\"up\":{\"a b\":\"2\"}}}");
    EQ_INT(mcp_schema_unfit(NULL, NULL, NULL), MCP_ERR_ARGUMENT);
}

TEST(strictness)
{
    EQ_STR(fitted(MCP_OPENAI_STRICT, "{\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":[\"string\",\"null\"]},\"o\":{\"properties\":{\"x\":{\"enum\":[\"q\"]}}}},\"required\":[\"a\"]}"),
           "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":[\"string\",\"null\"]},\"o\":{\"anyOf\":[{\"type\":\"object\",\"properties\":"
           "{\"x\":{\"type\":[\"string\",\"null\"],\"enum\":[\"q\",null]}},\"required\":[\"x\"],\"additionalProperties\":false},{\"type\":\"null\"}]}},"
           "\"required\":[\"a\",\"b\",\"o\"],\"additionalProperties\":false}");
    CHECK(mcp_fit_strict(fit));
    EQ_STR(unfitted("{\"a\":null,\"b\":null,\"o\":{\"x\":null}}"), "{\"a\":null,\"b\":null,\"o\":{}}");
    EQ_STR(unfitted("{\"a\":\"\",\"b\":\"\",\"o\":null}"), "{\"a\":\"\",\"b\":\"\"}");
    EQ_STR(fitted(MCP_OPENAI_STRICT, "{\"properties\":{\"m\":{\"type\":\"object\",\"additionalProperties\":true}}}"),
           "{\"type\":\"object\",\"properties\":{\"m\":{\"type\":\"object\",\"additionalProperties\":true}}}");
    CHECK(!mcp_fit_strict(fit));
    CHECK(strstr(mcp_fit_notes(fit), "strictness is not possible: #/properties/m: additionalProperties cannot be said"));
    fitted(MCP_DEEPSEEK_STRICT, "{\"properties\":{\"v\":{}}}");
    CHECK(!mcp_fit_strict(fit) && strstr(mcp_fit_notes(fit), "#/properties/v: a value of any type"));
    fitted(MCP_OPENAI, "{}");
    CHECK(!mcp_fit_strict(fit) && !mcp_fit_strict(NULL));
    /* a list that keeps its references gives nulls back, too */
    fitted(MCP_OPENAI_STRICT, "{\"properties\":{\"n\":{\"$ref\":\"#/$defs/N\"}},\"required\":[\"n\"],\"$defs\":{\"N\":{\"properties\":{\"v\":{\"type\":\"string\"},\"next\":{\"$ref\":\"#/$defs/N\"}}}}}");
    CHECK(mcp_fit_strict(fit));
    EQ_STR(unfitted("{\"n\":{\"v\":null,\"next\":{\"v\":\"x\",\"next\":null}}}"), "{\"n\":{\"next\":{\"v\":\"x\"}}}");
}

TEST(descriptions)
{
    mcp_fit_desc d;
    const mcp_json *v;
    memset(&d, 0, sizeof d);
    d.max_description = 20;
    mcp_writer_reset(&out);
    fit = mcp_schema_fit(&arena, mcp_json_parse(&arena, "{\"properties\":{\"a\":{\"type\":\"string\",\"description\":\"One two three four five six\"},"
        "\"b\":{\"type\":\"string\",\"description\":\"xxxxxxxxxxxxxxxxxxe\\u0301\\u0301zzz\"},\"c\":{\"type\":\"string\",\"description\":\"\xE4\xB8\xAD\xE6\x96\x87\"},"
        "\"d\":{\"type\":\"string\",\"description\":\"A sentence now. And more\"}}}", MCP_NTS, NULL), &d, &out);
    v = mcp_json_parse(&arena, mcp_writer_text(&out, NULL), MCP_NTS, NULL);
    EQ_STR(mcp_json_str(mcp_json_at(v, "/properties/a/description"), NULL), "One two three four\xE2\x80\xA6");
    EQ_STR(mcp_json_str(mcp_json_at(v, "/properties/b/description"), NULL), "xxxxxxxxxxxxxxxxxx\xE2\x80\xA6");
    EQ_STR(mcp_json_str(mcp_json_at(v, "/properties/c/description"), NULL), "\xE4\xB8\xAD\xE6\x96\x87");
    EQ_STR(mcp_json_str(mcp_json_at(v, "/properties/d/description"), NULL), "A sentence now. And\xE2\x80\xA6");
    EQ_STR(property(MCP_BEDROCK, "{\"type\":\"string\",\"description\":\"\"}"), "{\"type\":\"string\"}");
    EQ_STR(property(MCP_BEDROCK, "{\"type\":\"string\",\"description\":[\"x\",1,\"y\"]}"), "{\"type\":\"string\",\"description\":\"x y\"}");
}

/* n times `text`, in memory that the caller frees. */
static char *times(const char *before, const char *text, size_t n, const char *after)
{
    size_t one = strlen(text), size = strlen(before) + n * (one + 24) + strlen(after) + 1, i;
    char *s = (char *)malloc(size), *p;
    if (!s) exit(1);
    p = s + sprintf(s, "%s", before);
    for (i = 0; i < n; i++) {
        const char *t;
        if (i && strchr(",", text[0]) == NULL && before[strlen(before) - 1] != ':') *p++ = ',';
        for (t = text; *t; t++) {
            if (*t == '@') p += sprintf(p, "%lu", (unsigned long)i);
            else *p++ = *t;
        }
    }
    strcpy(p, after);
    return s;
}

TEST(budgets)
{
    const mcp_json *v;
    mcp_fit_desc d;
    char *s, room[300];
    int p;
    /* deep: cut at 64, whatever the reader took */
    s = times("{\"properties\":{\"a\":", "{\"items\":", 300, "{}");
    s = (char *)realloc(s, strlen(s) + 400);
    if (!s) exit(1);
    memset(s + strlen(s), 0, 1);
    { size_t i, n = strlen(s); for (i = 0; i < 302; i++) s[n++] = '}'; s[n] = 0; }
    for (p = 0; p <= MCP_LLAMACPP; p++) CHECK(fit_check(mcp_json_parse(&arena, s, MCP_NTS, NULL), (mcp_profile)p, true, 0, room) == NULL);
    memset(&d, 0, sizeof d);
    d.max_depth = 3;
    mcp_writer_reset(&out);
    fit = mcp_schema_fit(&arena, mcp_json_parse(&arena, "{\"properties\":{\"a\":{\"properties\":{\"b\":{\"properties\":{\"c\":{},\"d\":{}}}}}}}", MCP_NTS, NULL), &d, &out);
    CHECK(strstr(mcp_writer_text(&out, NULL), "\"b\":{\"description\":\"Keys: c, d.\",\"type\":\"object\",\"properties\":{}}"));
    free(s);
    /* wide: the first ones stay */
    s = times("{\"properties\":{", "\"p@\":{\"type\":\"string\"}", 30000, "},\"required\":[\"p1\",\"p29999\"]}");
    CHECK(fit_check(mcp_json_parse(&arena, s, MCP_NTS, NULL), MCP_GENERIC, true, 0, room) == NULL);
    fitted(MCP_GENERIC, s);
    v = mcp_json_parse(&arena, mcp_writer_text(&out, NULL), MCP_NTS, NULL);
    CHECK(mcp_json_size(mcp_json_get(v, "properties")) > 5000 && strstr(mcp_fit_notes(fit), "are left out"));
    EQ_INT(mcp_json_size(mcp_json_get(v, "required")), 1);
    free(s);
    /* a reference that doubles thirty times, and many to one place */
    s = times("{\"properties\":{\"a\":{\"$ref\":\"#/$defs/0\"}},\"$defs\":{", "\"@\":{\"properties\":{\"l\":{\"$ref\":\"#/$defs/1@\"},\"r\":{\"$ref\":\"#/$defs/1@\"}}}", 3, "}}");
    free(s);
    s = (char *)malloc(8192);
    if (!s) exit(1);
    p = sprintf(s, "{\"properties\":{\"a\":{\"$ref\":\"#/$defs/d0\"}},\"$defs\":{");
    { int i; for (i = 0; i < 30; i++) p += sprintf(s + p, "\"d%d\":{\"properties\":{\"l\":{\"$ref\":\"#/$defs/d%d\"},\"r\":{\"$ref\":\"#/$defs/d%d\"}}},", i, i + 1, i + 1); }
    sprintf(s + p, "\"d30\":{\"type\":\"string\"}}}");
    for (p = 0; p <= MCP_LLAMACPP; p++) CHECK(fit_check(mcp_json_parse(&arena, s, MCP_NTS, NULL), (mcp_profile)p, false, 0, room) == NULL);
    fitted(MCP_OPENAI, s);
    CHECK(strstr(mcp_fit_notes(fit), "over the budget of 20000 nodes and 262144 bytes: cut at depth 8"));
    CHECK(strstr(fitted(MCP_LLAMACPP, s), "#/$defs/d30"));  /* kept, it is small */
    free(s);
    s = times("{\"properties\":{", "\"p@\":{\"$ref\":\"#/$defs/x\"}", 3000, "},\"$defs\":{\"x\":{\"type\":\"string\"}}}");
    CHECK(fit_check(mcp_json_parse(&arena, s, MCP_NTS, NULL), MCP_ANTHROPIC, false, 0, room) == NULL);
    free(s);
    /* many branches, many of them equal; the same names required again and again */
    s = times("{\"properties\":{\"u\":{\"anyOf\":[", "{\"const\":\"c@\"},{\"type\":\"integer\",\"minimum\":1}", 4000, "]}}}");
    CHECK(fit_check(mcp_json_parse(&arena, s, MCP_NTS, NULL), MCP_OPENAI, false, 0, room) == NULL);
    free(s);
    s = times("{\"anyOf\":[", "{\"properties\":{\"k\":{\"const\":\"c@\"},\"p@\":{\"type\":\"string\"}},\"required\":[\"k\",\"p@\"]}", 3000, "]}");
    CHECK(fit_check(mcp_json_parse(&arena, s, MCP_NTS, NULL), MCP_OPENAI, false, 0, room) == NULL);
    fitted(MCP_OPENAI, s);
    v = mcp_json_parse(&arena, mcp_writer_text(&out, NULL), MCP_NTS, NULL);
    EQ_INT(mcp_json_size(mcp_json_get(v, "properties")), 3001);
    EQ_INT(mcp_json_size(mcp_json_at(v, "/properties/k/enum")), 3000);
    EQ_INT(mcp_json_size(mcp_json_get(v, "required")), 1);
    free(s);
    /* nothing fits */
    memset(&d, 0, sizeof d);
    d.max_bytes = 10;
    mcp_writer_reset(&out);
    CHECK(mcp_schema_fit(&arena, mcp_json_parse(&arena, "{\"properties\":{\"a\":{\"type\":\"string\"}}}", MCP_NTS, NULL), &d, &out) != NULL);
    EQ_STR(mcp_writer_text(&out, NULL), "{\"type\":\"object\",\"properties\":{}}");
}

/* A cyclic group grows only once. */
TEST(cycles_do_not_grow)
{
    char s[4096];
    int i, j, n = sprintf(s, "{\"properties\":{\"a\":{\"$ref\":\"#/$defs/d0\"}},\"$defs\":{");
    size_t len;
    for (i = 0; i < 6; i++) {
        n += sprintf(s + n, "%s\"d%d\":{\"properties\":{", i ? "," : "", i);
        for (j = 0; j < 6; j++) n += sprintf(s + n, "%s\"p%d\":{\"$ref\":\"#/$defs/d%d\"}", j ? "," : "", j, j);
        n += sprintf(s + n, "}}");
    }
    sprintf(s + n, "}}");
    fitted(MCP_OPENAI, s);
    mcp_writer_text(&out, &len);
    CHECK(len < 2 * strlen(s));
}

static struct { size_t count, fails; } memory;
static void *counting(void *user, void *p, size_t old_size, size_t new_size)
{
    (void)user; (void)old_size;
    if (!new_size) { free(p); return NULL; }
    return ++memory.count == memory.fails ? NULL : realloc(p, new_size);
}

/* The n-th allocation fails: nothing leaks, and nothing comes out, or the same. */
TEST(missing_memory)
{
    static const mcp_profile profiles[] = { MCP_GENERIC, MCP_OPENAI_STRICT, MCP_GEMINI, MCP_LLAMACPP, MCP_DEEPSEEK_STRICT };
    const char *s = "{\"properties\":{\"$a\":{\"$ref\":\"#/$defs/N\"},\"b\":{\"anyOf\":[{\"type\":\"string\",\"pattern\":\"(?=x)\"},{\"properties\":{\"x y\":{}}},{\"type\":\"null\"}]},"
        "\"c\":{\"enum\":[1,2,3]}},\"$defs\":{\"N\":{\"properties\":{\"n\":{\"$ref\":\"#/$defs/N\"},\"v\":{\"type\":[\"string\",\"number\"]}}}},\"oneOf\":[{\"required\":[\"b\"]},{\"required\":[\"c\"]}]}";
    const mcp_json *v = mcp_json_parse(&arena, s, MCP_NTS, NULL);
    mcp_allocator alloc = { counting, NULL };
    size_t k, n, done;
    char block[400];
    mcp_arena small;
    for (k = 0; k < sizeof profiles / sizeof *profiles; k++) {
        char *want = NULL;
        for (n = 0, done = 0; !done && n < 500; n++) {
            mcp_arena a;
            mcp_writer w;
            mcp_fit_desc d;
            const mcp_fit *f;
            memset(&d, 0, sizeof d);
            d.profile = profiles[k];
            memory.count = 0;
            memory.fails = n;
            mcp_arena_init(&a, &alloc, 0);
            mcp_writer_init(&w, &alloc, 0);
            f = mcp_schema_fit(&a, v, &d, &w);
            if (n == 0) want = mcpi_strdup(NULL, mcp_writer_text(&w, NULL), MCP_NTS);
            if (f) EQ_STR(mcp_writer_text(&w, NULL), want);
            done = n && f && memory.count < n;
            mcp_writer_free(&w);
            mcp_arena_free(&a);
        }
        CHECK(done);
        mcpi_strfree(NULL, want);
    }
    mcp_arena_fixed(&small, block, sizeof block);
    mcp_writer_reset(&out);
    CHECK(mcp_schema_fit(&small, NULL, NULL, &out) == NULL);
    mcp_writer_reset(&out);
    mcp_put_end(&out);                                      /* a writer that has an error already */
    CHECK(mcp_schema_fit(&arena, NULL, NULL, &out) == NULL && mcp_writer_status(&out) == MCP_ERR_ARGUMENT);
    CHECK(mcp_schema_fit(NULL, NULL, NULL, &out) == NULL && mcp_schema_fit(&arena, NULL, NULL, NULL) == NULL);
}

/* An arena in memory of one's own is enough; the input stays as it is. */
TEST(fixed_memory)
{
    static char block[100000];
    const char *s = "{\"properties\":{\"a\":{\"type\":[\"string\",\"number\"],\"nullable\":true,\"default\":null}}}";
    mcp_arena a;
    mcp_writer before;
    const mcp_json *v = mcp_json_parse(&arena, s, MCP_NTS, NULL);
    mcp_fit_desc d;
    memset(&d, 0, sizeof d);
    d.profile = MCP_GEMINI;
    mcp_writer_init(&before, NULL, 0);
    mcp_put_json(&before, NULL, v);
    mcp_arena_fixed(&a, block, sizeof block);
    mcp_writer_reset(&out);
    CHECK(mcp_schema_fit(&a, v, &d, &out) != NULL);
    EQ_STR(mcp_writer_text(&out, NULL), "{\"type\":\"object\",\"properties\":{\"a\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"number\"}],\"nullable\":true}}}");
    mcp_writer_reset(&out);
    mcp_put_json(&out, NULL, v);
    EQ_STR(mcp_writer_text(&out, NULL), mcp_writer_text(&before, NULL));
    mcp_writer_free(&before);
}

int main(void)
{
    mcp_arena_init(&arena, NULL, 0);
    mcp_writer_init(&out, NULL, 0);
    mcp_writer_init(&back, NULL, 0);
    RUN(profiles);
    RUN(a_default_fits_its_branch);
    RUN(roots);
    RUN(old_drafts);
    RUN(references);
    RUN(merging);
    RUN(root_unions);
    RUN(unions);
    RUN(values);
    RUN(notes);
    RUN(keys_and_the_way_back);
    RUN(strictness);
    RUN(descriptions);
    RUN(budgets);
    RUN(cycles_do_not_grow);
    mcp_arena_free(&arena);
    RUN(missing_memory);
    RUN(fixed_memory);
    mcp_writer_free(&out);
    mcp_writer_free(&back);
    mcp_arena_free(&arena);
    return test_end();
}
