/* The JSON Schema validator: what fits and what does not, how that is told, what is refused, and how much work a check may take.
 * tests/schema_suite.sh runs the official suite beside this. */
#define MCP_IMPLEMENTATION      /* looks inside */
#define MCP_NO_SERVER
#define MCP_NO_CLIENT
#include "mcp.h"
#include "test.h"

static mcp_arena arena, scratch;
static mcp_writer out;

static const mcp_json *json(const char *text)
{
    const mcp_json *v = mcp_json_parse(&arena, text, MCP_NTS, NULL);
    test_check(v != NULL, __FILE__, __LINE__, text);
    return v;
}

static const mcp_schema *compiled(const char *schema)
{
    const char *why = "";
    const mcp_schema *s = mcp_schema_compile(&arena, json(schema), &why);
    if (!s) printf("%s\n", schema);
    test_check(s != NULL, __FILE__, __LINE__, why);
    return s;
}

/* The status; the faults are in `out`, a line each. */
static int check_at_most(const char *schema, const char *value, int most)
{
    const mcp_schema *s = compiled(schema);
    const mcp_json *v = json(value);
    int quick = mcp_schema_check(s, v, &scratch, NULL, 0), status;
    mcp_writer errors;
    mcp_writer_init(&errors, NULL, 0);
    status = mcp_schema_check(s, v, &scratch, &errors, most);
    EQ_INT(status, quick);
    mcp_writer_reset(&out);
    mcp_json_each(e, json(mcp_writer_text(&errors, NULL))) {
        const char *text = mcp_json_str(mcp_json_get(e, "error"), "?");
        const mcp_json *at = mcp_json_get(e, "instanceLocation");
        if (strlen(mcp_json_str(at, "")) == mcp_json_size(at)) CHECK(mcp_json_at(v, mcp_json_str(at, "?")) != NULL);
        mcpi_put_bytes(&out, text, strlen(text));
        mcpi_put_bytes(&out, "\n", 1);
    }
    mcpi_put_bytes(&out, "", 1);
    mcp_writer_free(&errors);
    return status;
}

static int check(const char *schema, const char *value) { return check_at_most(schema, value, 0); }

static void begin(void)
{
    mcp_arena_reset(&arena);
    mcp_arena_reset(&scratch);
}

/* -- sentences -------------------------------------------------------------------------------------------------------- */

typedef struct told { const char *schema, *value, *lines; } told;

static void tell(const told *t, size_t n)
{
    for (; n--; t++) {
        begin();
        (void)check(t->schema, t->value);
        if (strcmp(out.buf, t->lines) != 0) printf("%s <- %s\n", t->schema, t->value);
        EQ_STR(out.buf, t->lines);
    }
}
#define TELL(table) tell(table, sizeof table / sizeof *table)

TEST(sentences)
{
    static const told table[] = {
        { "{\"type\":\"string\"}", "5", "$: 5 is not a string\n" },
        { "{\"type\":[\"string\",\"null\"]}", "[1,2]", "$: [1,2] is not null or a string\n" },
        { "{\"type\":\"integer\"}", "1.5", "$: 1.5 is not an integer\n" },
        { "{\"type\":\"integer\"}", "1.0", "" },
        { "{\"type\":\"integer\",\"maximum\":5}", "\"x\"", "$: \"x\" is not an integer\n" },
        { "{\"properties\":{\"unit\":{\"enum\":[\"celsius\",\"fahrenheit\"]}}}", "{\"unit\":\"kelvin\"}",
          "$.unit: \"kelvin\" is not one of \"celsius\", \"fahrenheit\"\n" },
        { "{\"enum\":[]}", "1", "$: 1 is not allowed\n" },
        { "{\"enum\":[7]}", "1", "$: 1 is not 7\n" },
        { "{\"const\":{\"a\":[1,2]}}", "{\"a\":[2,1]}", "$: {\"a\":[2,1]} is not {\"a\":[1,2]}\n" },
        { "{\"const\":null}", "{\"a\":\"01234567890123456789012345678901234567890123456789012345678901234567890\"}", "$: an object is not null\n" },
        { "{\"type\":\"null\"}", "\"01234567890123456789012345678901234567890123456789012345678\\u00e9\"",
          "$: \"01234567890123456789012345678901234567890123456789012345678...\" is not null\n" },
        { "{\"type\":\"null\"}", "\"a\\n\\u0000\\\"\"", "$: \"a\\n\\u0000\\\"\" is not null\n" },
        { "{\"maximum\":5}", "7", "$: 7 is over the maximum 5\n" },
        { "{\"minimum\":5}", "-7", "$: -7 is under the minimum 5\n" },
        { "{\"exclusiveMaximum\":5}", "5", "$: 5 is not under 5\n" },
        { "{\"exclusiveMinimum\":5}", "5.0", "$: 5.0 is not over 5\n" },
        { "{\"multipleOf\":0.1}", "0.25", "$: 0.25 is not a multiple of 0.1\n" },
        { "{\"maxLength\":2}", "\"\\u00e9\\u00e9\"", "" },
        { "{\"maxLength\":2}", "\"abc\"", "$: \"abc\" has 3 characters, over the maximum 2\n" },
        { "{\"minLength\":2}", "\"\\ud83d\\ude00\"", "$: \"\xF0\x9F\x98\x80\" has 1 character, under the minimum 2\n" },
        { "{\"pattern\":\"^a+$\"}", "\"b\"", "$: \"b\" does not match the pattern \"^a+$\"\n" },
        { "{\"maxItems\":1}", "[1,2]", "$: has 2 items, over the maximum 1\n" },
        { "{\"minItems\":3}", "[1]", "$: has 1 item, under the minimum 3\n" },
        { "{\"uniqueItems\":true}", "[1,{\"a\":1,\"b\":2},{\"b\":2.0,\"a\":1e0}]", "$: items 1 and 2 are the same\n" },
        { "{\"maxProperties\":1}", "{\"a\":1,\"b\":2}", "$: has 2 members, over the maximum 1\n" },
        { "{\"minProperties\":2}", "{\"a\":1,\"a\":2}", "$: has 1 member, under the minimum 2\n" },
        { "{\"required\":[\"path\",\"mode\"]}", "{}", "$: \"path\" is required\n$: \"mode\" is required\n" },
        { "{\"dependentRequired\":{\"a\":[\"b\"],\"c\":[\"d\"]}}", "{\"c\":1}", "$: \"d\" is required when \"c\" is there\n" },
        { "{\"dependentSchemas\":{\"a\":{\"required\":[\"b\"]}}}", "{\"a\":1}", "$: \"b\" is required\n" },
        { "{\"dependencies\":{\"a\":[\"b\"],\"c\":{\"minProperties\":3}}}", "{\"a\":1,\"c\":1}",
          "$: has 2 members, under the minimum 3\n$: \"b\" is required when \"a\" is there\n" },
        { "{\"propertyNames\":{\"maxLength\":2}}", "{\"abc\":1}", "$: the name \"abc\" has 3 characters, over the maximum 2\n" },
        { "{\"propertyNames\":false}", "{\"abc\":1}", "$: the name \"abc\" is not allowed\n" },
        { "{\"properties\":{\"color\":{},\"size\":{}},\"additionalProperties\":false}", "{\"colour\":1}",
          "$: \"colour\" is not allowed here; allowed are: \"color\", \"size\"\n" },
        { "{\"additionalProperties\":false}", "{\"colour\":1}", "$: \"colour\" is not allowed here\n" },
        { "{\"properties\":{\"a\":{}},\"patternProperties\":{\"^x\":{}},\"additionalProperties\":false}", "{\"b\":1}", "$: \"b\" is not allowed here\n" },
        { "{\"properties\":{\"a\":{}},\"unevaluatedProperties\":false}", "{\"b\":1}", "$: \"b\" is not allowed here\n" },
        { "{\"properties\":{\"a\":false}}", "{\"a\":1}", "$.a: is not allowed\n" },
        { "{\"prefixItems\":[{}],\"items\":false}", "[1,2]", "$: item 1 is one too many\n" },
        { "{\"contains\":{\"type\":\"string\"}}", "[1]", "$: contains 0 items of a kind that it must contain at least 1 of: a string\n" },
        { "{\"contains\":{\"minimum\":2},\"maxContains\":1}", "[2,3]", "$: contains 2 items of a kind that it must contain at most 1 of\n" },
        { "{\"not\":{\"type\":\"string\"}}", "\"x\"", "$: \"x\" must not be a string\n" },
        { "{\"not\":{\"required\":[\"a\"]}}", "{\"a\":1}", "$: {\"a\":1} fits what is excluded here\n" },
        { "{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},\"else\":{\"required\":[\"c\"]}}", "{\"a\":1}", "$: \"b\" is required\n" },
        { "{\"if\":{\"required\":[\"a\"]},\"then\":{\"required\":[\"b\"]},\"else\":{\"required\":[\"c\"]}}", "{}", "$: \"c\" is required\n" },
        { "false", "1", "$: 1 is not allowed\n" },
        { "true", "1", "" },
        { "{\"properties\":{\"items\":{\"items\":{\"properties\":{\"count\":{\"maximum\":5}}}}}}", "{\"items\":[1,2,3,{\"count\":7}]}",
          "$.items[3].count: 7 is over the maximum 5\n" },
        { "{\"additionalProperties\":{\"additionalProperties\":{\"type\":\"null\"}}}", "{\"a b\":{\"c'\":1}}", "$[\"a b\"][\"c'\"]: 1 is not null\n" },
        { "{\"allOf\":[{\"required\":[\"a\"]},{\"required\":[\"a\"]}]}", "{}", "$: \"a\" is required\n" },       /* once */
        /* alternatives: what they are; the nearest one; their kinds */
        { "{\"anyOf\":[{\"type\":\"string\"},{\"$ref\":\"#/$defs/n\"},{\"enum\":[1,2]}],\"$defs\":{\"n\":{\"type\":\"null\"}}}", "5",
          "$: 5 is none of: a string, null, 1, 2\n" },
        { "{\"anyOf\":[{\"type\":\"string\",\"maxLength\":1},{\"type\":\"null\"}]}", "\"ab\"",
          "$: \"ab\" has 2 characters, over the maximum 1 (alternative 1 of 2)\n" },
        { "{\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}", "{}",
          "$: \"a\" is required (alternative 1 of 2)\n$: \"b\" is required (alternative 2 of 2)\n" },
        { "{\"oneOf\":[{\"properties\":{\"k\":{\"const\":\"a\"},\"n\":{\"type\":\"number\"}}},{\"properties\":{\"k\":{\"const\":\"b\"}},\"required\":[\"m\"]}]}",
          "{\"n\":\"x\",\"k\":\"a\"}", "$.n: \"x\" is not a number (alternative 1 of 2)\n" },
        { "{\"oneOf\":[{\"properties\":{\"k\":{\"const\":\"a\"},\"n\":{\"type\":\"number\"}}},{\"properties\":{\"k\":{\"const\":\"b\"}},\"required\":[\"m\"]}]}",
          "{\"n\":\"x\",\"k\":\"c\"}", "$.k: \"c\" is not \"a\" (alternative 1 of 2)\n$.k: \"c\" is not \"b\" (alternative 2 of 2)\n" },
        { "{\"oneOf\":[{\"minimum\":1},{\"maximum\":9},{\"type\":\"string\"}]}", "5", "$: 5 fits 2 of the alternatives of oneOf, and may fit only one: 1, 2\n" },
        /* the alternative whose keys are there is the one that was meant */
        { "{\"anyOf\":[{\"properties\":{\"card\":{\"type\":\"string\"}},\"required\":[\"card\"]},{\"required\":[\"iban\"]}]}", "{\"card\":1}", "$.card: 1 is not a string (alternative 1 of 2)\n" },
        { "{\"anyOf\":[{\"required\":[\"path\"]},{\"properties\":{\"url\":{\"pattern\":\"^https\"}},\"required\":[\"url\"]}]}", "{\"url\":\"x\"}",
          "$.url: \"x\" does not match the pattern \"^https\" (alternative 2 of 2)\n" },
        { "{\"properties\":{\"a\":true},\"unevaluatedProperties\":false}", "{\"x\":1,\"a\":1,\"y\":2}", "$: \"x\" is not allowed here\n$: \"y\" is not allowed here\n" },
        { "{\"anyOf\":[{\"minimum\":7},{\"type\":\"string\"}]}", "5", "$: 5 is under the minimum 7 (alternative 1 of 2)\n" },
        { "{\"items\":{\"anyOf\":[{\"anyOf\":[{\"type\":\"null\"},{\"type\":\"string\"}]},{\"minimum\":3}]}}", "[2]", "$[0]: 2 is none of: null, a string (alternative 1 of 2)\n"
          "$[0]: 2 is under the minimum 3 (alternative 2 of 2)\n" },
        /* what was evaluated is not known where something else is wrong */
        { "{\"allOf\":[{\"properties\":{\"a\":{\"type\":\"string\"}}}],\"unevaluatedProperties\":false}", "{\"a\":1}", "$.a: 1 is not a string\n" },
    };
    TELL(table);
}

TEST(long_ones_are_cut)
{
    char schema[4096], value[40000];
    size_t n = 0;
    int i;
    begin();
    n += (size_t)sprintf(schema + n, "{\"enum\":[");
    for (i = 0; i < 200; i++) n += (size_t)sprintf(schema + n, "%s\"value-%d\"", i ? "," : "", i);
    sprintf(schema + n, "]}");
    EQ_INT(check(schema, "\"x\""), MCP_ERR_INVALID);
    CHECK(strlen(out.buf) < 400 && strstr(out.buf, "\"value-1\", ") && strstr(out.buf, "...") != NULL);
    EQ_INT(check(schema, "\"value-199\""), MCP_OK);
    begin();
    for (n = 0, i = 0; i < 400; i++) n += (size_t)sprintf(value + n, "{\"some_name_%03d\":", i);
    value[n++] = '1';
    for (i = 0; i < 400; i++) value[n++] = '}';
    value[n] = 0;
    EQ_INT(check("{\"additionalProperties\":{\"$ref\":\"#\"},\"type\":\"object\"}", value), MCP_ERR_INVALID);
    CHECK(strlen(out.buf) < 400 && strstr(out.buf, "$.some_name_000.some_name_001") == out.buf && strstr(out.buf, "....some_name_399: 1 is not an object") != NULL);
}

TEST(locations)
{
    static const char schema[] =
        "{\"properties\":{\"items\":{\"items\":{\"$ref\":\"#/$defs/a~1b\"}},\"~\":{\"allOf\":[{},{\"minimum\":3}]}},"
        "\"patternProperties\":{\"^x\":{\"type\":\"null\"}},\"additionalProperties\":{\"type\":\"null\"},"
        "\"$defs\":{\"a/b\":{\"prefixItems\":[{},{\"maximum\":5}]}},\"propertyNames\":{\"maxLength\":5},\"if\":{},\"then\":{\"required\":[\"r\"]}}";
    const mcp_json *e;
    mcp_writer w;
    begin();
    mcp_writer_init(&w, NULL, 0);
    EQ_INT(mcp_schema_check(compiled(schema), json("{\"items\":[[],[0,7]],\"~\":2,\"x/\":1,\"longer\":1}"), &scratch, &w, 0), MCP_ERR_INVALID);
    EQ_STR(mcp_writer_text(&w, NULL),
        "[{\"instanceLocation\":\"\",\"keywordLocation\":\"/propertyNames/maxLength\",\"error\":\"$: the name \\\"longer\\\" has 6 characters, over the maximum 5\"},"
        "{\"instanceLocation\":\"/items/1/1\",\"keywordLocation\":\"/properties/items/items/$ref/prefixItems/1/maximum\",\"error\":\"$.items[1][1]: 7 is over the maximum 5\"},"
        "{\"instanceLocation\":\"/~0\",\"keywordLocation\":\"/properties/~0/allOf/1/minimum\",\"error\":\"$[\\\"~\\\"]: 2 is under the minimum 3\"},"
        "{\"instanceLocation\":\"/x~1\",\"keywordLocation\":\"/patternProperties/^x/type\",\"error\":\"$[\\\"x/\\\"]: 1 is not null\"},"
        "{\"instanceLocation\":\"/longer\",\"keywordLocation\":\"/additionalProperties/type\",\"error\":\"$.longer: 1 is not null\"},"
        "{\"instanceLocation\":\"\",\"keywordLocation\":\"/then/required\",\"error\":\"$: \\\"r\\\" is required\"}]");
    mcp_writer_reset(&w);
    EQ_INT(mcp_schema_check(compiled("{\"additionalProperties\":false}"), json("{\"a\":1}"), &scratch, &w, 0), MCP_ERR_INVALID);
    e = mcp_json_first(json(mcp_writer_text(&w, NULL)));
    EQ_STR(mcp_json_str(mcp_json_get(e, "instanceLocation"), ""), "/a");
    EQ_STR(mcp_json_str(mcp_json_get(e, "keywordLocation"), ""), "/additionalProperties");
    mcp_writer_reset(&w);
    EQ_INT(mcp_schema_check(compiled("{}"), json("{\"a\":1}"), &scratch, &w, 0), MCP_OK);
    EQ_STR(mcp_writer_text(&w, NULL), "[]");
    mcp_writer_free(&w);
}

TEST(limits_of_errors)
{
    int i, lines;
    const char *p;
    char value[4096];
    size_t n = 1;
    value[0] = '[';
    for (i = 0; i < 50; i++) n += (size_t)sprintf(value + n, "%d,", i);
    value[n - 1] = ']'; value[n] = 0;
    for (i = 0; i < 60; i += 10) {
        begin();
        EQ_INT(check_at_most("{\"items\":{\"type\":\"string\"}}", value, i), MCP_ERR_INVALID);
        for (lines = 0, p = out.buf; (p = strchr(p, '\n')) != NULL; p++) lines++;
        EQ_INT(lines, i == 0 ? 10 : i < 50 ? i : 50);
        CHECK(strstr(out.buf, "$[0]: 0 is not a string\n$[1]: 1 is not") == out.buf);
    }
    EQ_INT(mcp_schema_check(NULL, json("1"), &scratch, NULL, 0), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_schema_check(compiled("{}"), NULL, &scratch, NULL, 0), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_schema_check(compiled("{}"), json("1"), NULL, NULL, 0), MCP_ERR_ARGUMENT);
}

/* -- values ------------------------------------------------------------------------------------------------------------ */

typedef struct verdict { const char *schema, *value; int fits; } verdict;
static void judge(const verdict *t, size_t n)
{
    for (; n--; t++) {
        int status;
        begin();
        status = check(t->schema, t->value);
        if (status != (t->fits ? MCP_OK : MCP_ERR_INVALID)) printf("%s <- %s\n", t->schema, t->value);
        EQ_INT(status, t->fits ? MCP_OK : MCP_ERR_INVALID);
    }
}
#define JUDGE(table) judge(table, sizeof table / sizeof *table)

TEST(numbers)
{
    static const verdict table[] = {
        { "{\"const\":1}", "1.0", 1 }, { "{\"const\":1}", "10e-1", 1 }, { "{\"const\":1}", "0.1E+1", 1 }, { "{\"const\":100}", "1e2", 1 }, { "{\"const\":0}", "-0.0e7", 1 },
        { "{\"const\":1}", "-1", 0 }, { "{\"const\":1}", "1.0000000000000000000000000001", 0 },
        { "{\"const\":9007199254740993}", "9007199254740992", 0 }, { "{\"const\":9007199254740993}", "9007199254740993.000", 1 },
        { "{\"maximum\":18446744073709551616}", "18446744073709551616", 1 }, { "{\"maximum\":18446744073709551616}", "18446744073709551617", 0 },
        { "{\"maximum\":1e400}", "1e400", 1 }, { "{\"maximum\":1e400}", "1.1e400", 0 }, { "{\"minimum\":-1e400}", "-1e401", 0 }, { "{\"minimum\":-1e400}", "1", 1 },
        { "{\"exclusiveMinimum\":0}", "1e-400", 1 }, { "{\"exclusiveMinimum\":0}", "0e-400", 0 }, { "{\"exclusiveMaximum\":0}", "-1e-999999999999", 1 },
        { "{\"maximum\":123456789012345678901234567890}", "123456789012345678901234567890", 1 },
        { "{\"maximum\":123456789012345678901234567890}", "123456789012345678901234567891", 0 },
        { "{\"maximum\":12.5}", "12.50", 1 }, { "{\"maximum\":12.5}", "12.51", 0 }, { "{\"maximum\":12.5}", "125e-1", 1 }, { "{\"maximum\":99}", "100", 0 },
        { "{\"maximum\":0.05}", "0.049", 1 }, { "{\"maximum\":0.05}", "0.5", 0 }, { "{\"minimum\":0.001}", "0.0010", 1 }, { "{\"minimum\":-2}", "-2.0001", 0 },
        { "{\"multipleOf\":0.01}", "19.99", 1 }, { "{\"multipleOf\":0.01}", "19.999", 0 }, { "{\"multipleOf\":0.1}", "0.3", 1 }, { "{\"multipleOf\":1e-8}", "12391239123", 1 },
        { "{\"multipleOf\":0.123456789}", "1e308", 0 }, { "{\"multipleOf\":0.5}", "1e308", 1 }, { "{\"multipleOf\":3}", "1e1000000000000", 0 },
        { "{\"multipleOf\":1024}", "1e10", 1 }, { "{\"multipleOf\":1024}", "1e9", 0 }, { "{\"multipleOf\":7}", "49e0", 1 }, { "{\"multipleOf\":2.5}", "-7.5", 1 },
        { "{\"multipleOf\":2.5}", "-7.6", 0 }, { "{\"multipleOf\":1e400}", "1e400", 1 }, { "{\"multipleOf\":1e400}", "1e399", 0 }, { "{\"multipleOf\":5}", "0", 1 }, { "{\"multipleOf\":5}", "0.0", 1 },
        { "{\"multipleOf\":1e-400}", "1", 1 }, { "{\"multipleOf\":3}", "300000000000000000000000000000000", 1 }, { "{\"multipleOf\":3}", "300000000000000000000000000000001", 0 },
        { "{\"multipleOf\":1234567890123456789012}", "2469135780246913578024", 1 }, { "{\"multipleOf\":1234567890123456789012}", "2469135780246913578025", 0 },
        { "{\"multipleOf\":1234567890123456789012}", "1234567890123456789011", 0 }, { "{\"multipleOf\":18446744073709551616}", "340282366920938463463374607431768211456", 1 },
        { "{\"multipleOf\":18446744073709551616}", "1e64", 1 }, { "{\"multipleOf\":18446744073709551616}", "1e63", 0 }, { "{\"multipleOf\":9007199254740993}", "9007199254740992", 0 },
        { "{\"type\":\"integer\"}", "1e2", 1 }, { "{\"type\":\"integer\"}", "12.50e1", 1 }, { "{\"type\":\"integer\"}", "12.5", 0 }, { "{\"type\":\"integer\"}", "1e400", 1 },
        { "{\"type\":\"integer\"}", "1e-1", 0 }, { "{\"type\":\"integer\"}", "0.0", 1 }, { "{\"type\":\"integer\"}", "123456789012345678901234567890", 1 }, { "{\"type\":\"integer\"}", "1.5e0", 0 },
        { "{\"type\":\"number\"}", "1e400", 1 }, { "{\"maxLength\":1e2}", "\"abc\"", 1 }, { "{\"maxLength\":1e30}", "\"abc\"", 1 }, { "{\"minLength\":1e30}", "\"abc\"", 0 }, { "{\"minItems\":2.0}", "[1]", 0 },
        { "{\"uniqueItems\":true}", "[1,1.0]", 0 }, { "{\"uniqueItems\":true}", "[1,true,\"1\",[1],{\"1\":1},null,0,false,\"\"]", 1 }, { "{\"uniqueItems\":true}", "[0,-0]", 0 },
        { "{\"uniqueItems\":true}", "[1e400,10e399]", 0 }, { "{\"uniqueItems\":false}", "[1,1]", 1 },
    };
    JUDGE(table);
}

/* Every comparison of small numbers, against their value in quarters. */
TEST(numbers_against_arithmetic)
{
    int a, b;
    char schema[64], value[32];
    for (a = -9; a <= 9; a++)
        for (b = -9; b <= 9; b++) {
            begin();
            sprintf(value, a % 2 ? "%d.%02de0" : "%d.%02d", abs(a) / 4, abs(a) % 4 * 25);
            memmove(value + (a < 0), value, strlen(value) + 1);
            if (a < 0) value[0] = '-';
            sprintf(schema, "{\"maximum\":%s%d.%02d}", b < 0 ? "-" : "", abs(b) / 4, abs(b) % 4 * 25);
            EQ_INT(check(schema, value), a <= b ? MCP_OK : MCP_ERR_INVALID);
            sprintf(schema, "{\"const\":%s%d.%02d}", b < 0 ? "-" : "", abs(b) / 4, abs(b) % 4 * 25);
            EQ_INT(check(schema, value), a == b ? MCP_OK : MCP_ERR_INVALID);
            if (b <= 0) continue;
            sprintf(schema, "{\"multipleOf\":%d.%02d}", b / 4, b % 4 * 25);
            EQ_INT(check(schema, value), a % b == 0 ? MCP_OK : MCP_ERR_INVALID);
        }
}

TEST(equality)
{
    static const verdict table[] = {
        { "{\"const\":{\"a\":1,\"b\":[1,{\"c\":null}]}}", "{\"b\":[1.0,{\"c\":null}],\"a\":1}", 1 },
        { "{\"const\":{\"a\":1}}", "{\"a\":1,\"b\":2}", 0 }, { "{\"const\":{\"a\":1,\"b\":2}}", "{\"a\":1,\"c\":2}", 0 }, { "{\"const\":[1,2]}", "[2,1]", 0 }, { "{\"const\":[1]}", "[1,1]", 0 },
        { "{\"const\":{\"a\":1}}", "{\"a\":2,\"a\":1}", 1 }, { "{\"const\":{\"a\":1}}", "{\"a\":1,\"a\":2}", 0 }, { "{\"const\":{\"a\":2,\"a\":1}}", "{\"a\":1}", 1 },
        { "{\"const\":\"a\\u0000b\"}", "\"a\\u0000b\"", 1 }, { "{\"const\":\"a\\u0000b\"}", "\"a\\u0000c\"", 0 }, { "{\"const\":\"\\ud800\"}", "\"\\ud801\"", 0 },
        { "{\"enum\":[1,2,3,4,5,6,7,8,9,{\"a\":[]}]}", "{\"a\":[]}", 1 }, { "{\"enum\":[1,2,3,4,5,6,7,8,9,{\"a\":[]}]}", "{\"a\":[0]}", 0 }, { "{\"enum\":[1,2,3,4,5,6,7,8,9,10]}", "90e-1", 1 },
        { "{\"enum\":[1,1,1,1,1,1,1,1,1,1]}", "1", 1 }, { "{\"uniqueItems\":true}", "[{\"a\":1,\"b\":2},{\"b\":2,\"a\":1}]", 0 }, { "{\"uniqueItems\":true}", "[{\"a\":1},{\"a\":1,\"a\":1.0}]", 0 },
        { "{\"uniqueItems\":true}", "[[1,2],[2,1]]", 1 }, { "{\"uniqueItems\":true}", "[{\"a\":1},{\"a\":2},{\"b\":1}]", 1 }, { "{\"uniqueItems\":true}", "[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"a\"]", 0 },
        /* of equal keys the last one counts, everywhere */
        { "{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":1,\"a\":\"x\"}", 1 }, { "{\"properties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":\"x\",\"b\":0,\"a\":1}", 0 },
        { "{\"additionalProperties\":{\"type\":\"string\"}}", "{\"a\":1,\"a\":\"x\"}", 1 }, { "{\"additionalProperties\":{\"type\":\"string\"}}", "{\"a\":\"x\",\"a\":1}", 0 },
        { "{\"patternProperties\":{\"a\":{\"type\":\"string\"}}}", "{\"a\":1,\"a\":2,\"a\":\"x\"}", 1 }, { "{\"unevaluatedProperties\":{\"type\":\"string\"}}", "{\"a\":1,\"a\":\"x\"}", 1 },
        { "{\"maxProperties\":1}", "{\"a\":1,\"a\":2}", 1 }, { "{\"required\":[\"a\",\"b\"]}", "{\"a\":1,\"a\":2}", 0 },
        { "{\"properties\":{\"a\":true,\"a\":false}}", "{\"a\":1}", 0 }, { "{\"type\":\"null\",\"type\":\"string\"}", "\"\"", 1 },
        { "{\"properties\":{\"a\\u0000b\":{\"type\":\"null\"},\"a\":{}}}", "{\"a\":1}", 1 }, { "{\"properties\":{\"a\\u0000b\":{\"type\":\"null\"},\"a\":{}}}", "{\"a\\u0000b\":1}", 0 },
        { "{\"dependencies\":{\"a\":[\"b\"],\"a\":[]}}", "{\"a\":1}", 1 }, { "{\"dependentSchemas\":{\"a\":false,\"a\":{}}}", "{\"a\":1}", 1 },
        { "{\"patternProperties\":{\"a\":false,\"a\":{}}}", "{\"a\":1}", 1 }, { "{\"dependentRequired\":{\"a\":[],\"a\":[\"b\"]}}", "{\"a\":1}", 0 },
        { "{\"type\\u0000x\":\"null\"}", "1", 1 },
    };
    JUDGE(table);
}

TEST(drafts)
{
#define D4 "\"$schema\":\"http://json-schema.org/draft-04/schema#\","
#define D6 "\"$schema\":\"http://json-schema.org/draft-06/schema\","
#define D7 "\"$schema\":\"http://json-schema.org/draft-07/schema#\","
#define D19 "\"$schema\":\"https://json-schema.org/draft/2019-09/schema\","
#define D20 "\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
    static const verdict table[] = {
        { "{" D4 "\"maximum\":5,\"exclusiveMaximum\":true}", "5", 0 }, { "{" D4 "\"maximum\":5,\"exclusiveMaximum\":false}", "5", 1 }, { "{" D4 "\"minimum\":5,\"exclusiveMinimum\":true}", "5", 0 },
        { "{" D4 "\"exclusiveMaximum\":true}", "5", 1 }, { "{" D4 "\"type\":\"integer\"}", "1.0", 0 }, { "{" D4 "\"type\":\"integer\"}", "1", 1 }, { "{" D4 "\"type\":\"integer\"}", "1e2", 0 },
        { "{" D6 "\"type\":\"integer\"}", "1.0", 1 }, { "{" D4 "\"const\":1}", "2", 1 }, { "{" D6 "\"const\":1}", "2", 0 }, { "{" D4 "\"contains\":false}", "[1]", 1 }, { "{" D6 "\"contains\":false}", "[1]", 0 },
        { "{" D6 "\"if\":true,\"then\":false}", "1", 1 }, { "{" D7 "\"if\":true,\"then\":false}", "1", 0 }, { "{" D7 "\"items\":[{\"type\":\"null\"}],\"additionalItems\":false}", "[null,1]", 0 },
        { "{" D7 "\"items\":[{\"type\":\"null\"}]}", "[null,1]", 1 }, { "{" D7 "\"items\":[]}", "[1]", 1 }, { "{" D7 "\"items\":{\"type\":\"null\"},\"additionalItems\":false}", "[null]", 1 }, { "{" D7 "\"dependencies\":{\"a\":[\"b\"]}}", "{\"a\":1}", 0 },
        { "{" D7 "\"$ref\":\"#/definitions/a\",\"type\":\"null\",\"definitions\":{\"a\":{}}}", "1", 1 }, { "{" D19 "\"$ref\":\"#/definitions/a\",\"type\":\"null\",\"definitions\":{\"a\":{}}}", "1", 0 },
        { "{" D7 "\"$id\":\"http://x/y\",\"definitions\":{\"a\":{\"$id\":\"#b\",\"type\":\"null\"}},\"properties\":{\"z\":{\"$ref\":\"#b\"}}}", "{\"z\":1}", 0 },
        { "{" D4 "\"id\":\"http://x/y\",\"definitions\":{\"a\":{\"id\":\"z\",\"type\":\"null\"}},\"properties\":{\"z\":{\"$ref\":\"http://x/z\"}}}", "{\"z\":1}", 0 },
        { "{" D7 "\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}", 1 }, { "{" D19 "\"dependentRequired\":{\"a\":[\"b\"]}}", "{\"a\":1}", 0 },
        { "{" D19 "\"items\":[{\"type\":\"null\"}],\"additionalItems\":{\"type\":\"string\"}}", "[null,1]", 0 }, { "{" D19 "\"prefixItems\":[{\"type\":\"null\"}]}", "[1]", 1 },
        { "{" D20 "\"prefixItems\":[{\"type\":\"null\"}]}", "[1]", 0 }, { "{" D20 "\"items\":{\"type\":\"null\"}}", "[1]", 0 }, { "{\"additionalItems\":false}", "[1]", 1 },
        { "{" D20 "\"contains\":{\"const\":1},\"unevaluatedItems\":false}", "[1]", 1 }, { "{" D19 "\"contains\":{\"const\":1},\"unevaluatedItems\":false}", "[1]", 0 },
        { "{" D19 "\"$recursiveAnchor\":true,\"$defs\":{\"t\":{\"$id\":\"t\",\"$recursiveAnchor\":true,\"properties\":{\"c\":{\"$recursiveRef\":\"#\"}}}},\"$ref\":\"t\",\"required\":[\"r\"]}", "{\"r\":1,\"c\":{}}", 0 },
        { "{" D19 "\"$defs\":{\"t\":{\"$id\":\"t\",\"$recursiveAnchor\":true,\"properties\":{\"c\":{\"$recursiveRef\":\"#\"}}}},\"$ref\":\"t\",\"required\":[\"r\"]}", "{\"r\":1,\"c\":{}}", 1 },
        { "{" D20 "\"$defs\":{\"o\":{\"$id\":\"o\"," D7 "\"items\":[{\"type\":\"null\"}]}},\"$ref\":\"o\"}", "[1]", 0 },       /* an embedded resource of another draft */
        { "{\"$schema\":\"http://json-schema.org/draft/2020-12/schema#\",\"type\":\"null\"}", "1", 0 },
    };
    JUDGE(table);
}

TEST(references)
{
    static const verdict table[] = {
        { "{\"foo\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"null\"},\"cc\":{\"type\":\"null\"}},\"properties\":{\"x\":{\"$ref\":\"#/foo/a\"},\"y\":{\"$ref\":\"#/foo/b\"},\"z\":{\"$ref\":\"#/foo/cc\"}}}",
          "{\"x\":\"\",\"y\":null,\"z\":0}", 0 },      /* several references to places that no keyword led to */
        { "{\"$defs\":{\"a b\":{\"type\":\"null\"}},\"$ref\":\"#/$defs/a%20b\"}", "1", 0 }, { "{\"$defs\":{\"~/%\":{\"type\":\"null\"}},\"$ref\":\"#/$defs/~0~1%25\"}", "1", 0 },
        { "{\"allOf\":[{\"type\":\"null\"},{}],\"properties\":{\"a\":{\"$ref\":\"#/allOf/0\"}}}", "null", 1 }, { "{\"x-here\":[{\"y\":{\"type\":\"null\"}}],\"$ref\":\"#/x-here/0/y\"}", "1", 0 },
        { "{\"$defs\":{\"a\":{\"$anchor\":\"b\",\"type\":\"null\"}},\"$ref\":\"#b\"}", "1", 0 }, { "{\"$id\":\"http://x/a/b\",\"$defs\":{\"a\":{\"$id\":\"../c?q=1\",\"type\":\"null\"}},\"$ref\":\"/c?q=1\"}", "1", 0 },
        { "{\"$id\":\"http://x\",\"$defs\":{\"a\":{\"$id\":\"y\",\"type\":\"null\"}},\"$ref\":\"http://x/y\"}", "1", 0 }, { "{\"$id\":\"http://x/a\",\"$defs\":{\"a\":{\"$id\":\"//z/./q/../b/.\",\"type\":\"null\"}},\"$ref\":\"http://z/b/\"}", "1", 0 },
        { "{\"$id\":\"http://x/a?k\",\"$defs\":{\"a\":{\"$id\":\"?l\",\"type\":\"null\"}},\"$ref\":\"http://x/a?l\"}", "1", 0 }, { "{\"$id\":\"http://x/a/b/c\",\"$defs\":{\"a\":{\"$id\":\"./../../../d\",\"type\":\"null\"}},\"$ref\":\"http://x/d#\"}", "1", 0 },
        { "{\"$id\":\"urn:a:b\",\"$defs\":{\"a\":{\"type\":\"null\"}},\"$ref\":\"urn:a:b#/$defs/a\"}", "1", 0 }, { "{\"$defs\":{\"a\":{\"$id\":\"n\",\"$defs\":{\"b\":{\"type\":\"null\"}},\"$ref\":\"#/$defs/b\"}},\"$ref\":\"n\"}", "1", 0 },
        { "{\"$defs\":{\"x\":{\"type\":\"null\"},\"x\":{\"type\":\"string\"}},\"$ref\":\"#/$defs/x\"}", "\"\"", 1 },        /* of equal keys the last */
        { "{\"properties\":{\"next\":{\"$ref\":\"#\"},\"v\":{\"type\":\"integer\"}},\"required\":[\"v\"]}", "{\"v\":1,\"next\":{\"v\":2,\"next\":{\"v\":\"x\"}}}", 0 },
        { "{\"$id\":\"r\",\"$defs\":{\"l\":{\"$id\":\"l\",\"$dynamicAnchor\":\"i\",\"items\":{\"$dynamicRef\":\"#i\"}}},\"$dynamicAnchor\":\"i\",\"$ref\":\"l\",\"minItems\":1}", "[[]]", 0 },
    };
    JUDGE(table);
}

/* -- what is refused ------------------------------------------------------------------------------------------------------ */

TEST(refusals)
{
    static const struct { const char *schema, *why; } bad[] = {
        { "1", "#: not a schema: neither an object nor true or false" }, { "{\"properties\":{\"a/b\":{\"type\":\"strin\"}}}", "#/properties/a~1b/type: not the name of a type: \"strin\"" },
        { "{\"type\":5}", "#/type: neither the name of a type nor an array of them" }, { "{\"type\":[\"null\",1]}", "#/type/1: not the name of a type" }, { "{\"type\":\"null\\u0000\"}", "#/type: not the name of a type" },
        { "{\"minimum\":\"5\"}", "#/minimum: not a number" }, { "{\"multipleOf\":0}", "#/multipleOf: not a number over 0" }, { "{\"multipleOf\":-2}", "#/multipleOf: not a number over 0" },
        { "{\"maxLength\":-1}", "#/maxLength: not a whole number from 0 on" }, { "{\"maxLength\":1.5}", "#/maxLength: not a whole number from 0 on" }, { "{\"required\":true}", "#/required: not an array of strings" },
        { "{\"required\":[1]}", "#/required: not an array of strings" }, { "{\"properties\":[]}", "#/properties: not an object" }, { "{\"properties\":{\"a\":1}}", "#/properties/a: not a schema" },
        { "{\"allOf\":[]}", "#/allOf: not an array of schemas" }, { "{\"anyOf\":{}}", "#/anyOf: not an array of schemas" }, { "{\"enum\":1}", "#/enum: not an array" }, { "{\"uniqueItems\":1}", "#/uniqueItems: neither true nor false" },
        { "{\"pattern\":1}", "#/pattern: not a string" }, { "{\"items\":[{}]}", "#/items: not a schema; the tuple of older drafts is prefixItems now, or $schema has to name the draft" },
        { "{\"exclusiveMaximum\":true}", "#/exclusiveMaximum: not a number" }, { "{\"dependentRequired\":{\"a\":1}}", "#/dependentRequired: a member is not an array of strings" },
        { "{\"dependentRequired\":{\"a\":[\"b\",null]}}", "#/dependentRequired: a member is not an array of strings" }, { "{\"dependencies\":{\"a\":[1]}}", "#/dependencies: a member is not an array of strings" },
        { "{\"$schema\":\"http://x/y\"}", "#/$schema: this dialect is not supported (2020-12, 2019-09, draft-07, draft-06 and draft-04 are): \"http://x/y\"" },
        { "{\"$schema\":\"http://json-schema.org/draft-03/schema#\"}", "#/$schema: this dialect is not supported" }, { "{\"$schema\":1}", "#/$schema: not a string" },
        { "{\"$defs\":{\"a\":{\"$id\":\"b\",\"$schema\":\"z\"}}}", "#/$defs/a/$schema: this dialect is not supported" },
        { "{\"$ref\":\"#/nowhere\"}", "#/$ref: it leads to nothing in this schema: \"#/nowhere\"" }, { "{\"$ref\":\"#/$ref\"}", "#/$ref: not a schema" }, { "{\"$ref\":\"#/%zz\"}", "#/$ref: it leads to nothing" },
        { "{\"$ref\":\"#anchor\"}", "#/$ref: it leads to nothing" }, { "{\"allOf\":[{}],\"$ref\":\"#/allOf/00\"}", "#/$ref: it leads to nothing" }, { "{\"allOf\":[{}],\"$ref\":\"#/allOf/1\"}", "#/$ref: it leads to nothing" },
        { "{\"$ref\":\"http://x/y\"}", "#/$ref: no part of this schema has that URI, and nothing is fetched: \"http://x/y\"" }, { "{\"$id\":\"a#b\"}", "#/$id: an $id has no fragment; an $anchor is meant: \"a#b\"" },
        { "{\"items\":{\"$dynamicRef\":\"#a\"}}", "#/items/$dynamicRef: it leads to nothing" }, { "{\"$ref\":\"#/a~2\"}", "#/$ref: it leads to nothing" }, { "{\"$defs\":{\"~2\":{}},\"$ref\":\"#/$defs/~2\"}", "#/$ref: it leads to nothing" },
    };
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *why = "";
        begin();
        CHECK(mcp_schema_compile(&arena, json(bad[i].schema), &why) == NULL);
        if (strncmp(why, bad[i].why, strlen(bad[i].why)) != 0) EQ_STR(why, bad[i].why);
        CHECK(mcp_schema_compile(&arena, json(bad[i].schema), NULL) == NULL);
    }
    {
        const char *why = NULL;
        CHECK(mcp_schema_compile(&arena, NULL, &why) == NULL && why);
        CHECK(mcp_schema_compile(NULL, json("{}"), &why) == NULL && why);
        EQ_STR(mcp_schema_notes(NULL), "");
    }
}

TEST(notes)
{
    begin();
    EQ_STR(mcp_schema_notes(compiled("{\"pattern\":\"^a$\"}")), "");
    CHECK(strstr(mcp_schema_notes(compiled("{\"properties\":{\"a\":{\"pattern\":\"(?=a)\"},\"b\":{\"patternProperties\":{\"(?!b)\":{}}}}}")),
                 "#/properties/a/pattern is not enforced: ") != NULL);
    {   /* each has its place looked for, so a schema full of them has only the first told */
        char text[8192] = "{\"anyOf\":[{\"pattern\":\"(?=a)\"}";
        const char *notes, *p;
        int i, lines = 0;
        for (i = 1; i < 250; i++) strcat(text, ",{\"pattern\":\"(?=a)\"}");
        strcat(text, "]}");
        notes = mcp_schema_notes(compiled(text));
        for (p = notes; *p; p++) lines += *p == '\n';
        EQ_INT(lines, 101);
        CHECK(strstr(notes, "#/anyOf/99/pattern") && !strstr(notes, "#/anyOf/100/pattern"));
        CHECK(strstr(notes, "\nand so in more places: 150\n") != NULL);
    }
    /* what is not enforced never refuses a value */
    EQ_INT(check("{\"pattern\":\"(?=a)\"}", "\"b\""), MCP_OK);
    EQ_INT(check("{\"patternProperties\":{\"(?!b)\":{\"type\":\"null\"}},\"additionalProperties\":false}", "{\"c\":1}"), MCP_OK);
    EQ_INT(check("{\"patternProperties\":{\"(?!b)\":{\"type\":\"null\"}},\"unevaluatedProperties\":false}", "{\"c\":1}"), MCP_OK);
}

/* -- work ------------------------------------------------------------------------------------------------------------------ */

static char *text;
static size_t text_len, text_cap;
static void add(const char *s)
{
    size_t n = strlen(s);
    if (text_len + n + 1 > text_cap) { text = (char *)realloc(text, text_cap = 2 * (text_len + n + 1)); if (!text) exit(2); }
    memcpy(text + text_len, s, n + 1);
    text_len += n;
}
static void add_number(const char *format, int i) { char buf[200]; sprintf(buf, format, i, i, i); add(buf); }

static char *taken(void)
{
    char *t = text;
    text = NULL; text_len = text_cap = 0;
    return t;
}

static char *repeated(const char *before, const char *piece, int n, const char *after)
{
    int i;
    add(before);
    for (i = 0; i < n; i++) { if (i) add(","); add_number(piece, i); }
    add(after);
    return taken();
}

/* Steps that a check takes. */
static double steps(const char *schema, const char *value)
{
    mcpi_checker k;
    mcpi_mark mark;
    begin();
    memset(&k, 0, sizeof k);
    k.schema = compiled(schema);
    k.work.arena = &scratch;
    k.work.left = UINT64_C(1) << 60;
    mark = mcpi_mark_set(&scratch);
    (void)mcpi_walk(&k, json(value), MCPI_QUIET);
    EQ_INT(k.work.status, MCP_OK);
    mcpi_mark_back(&scratch, &mark);
    return (double)((UINT64_C(1) << 60) - k.work.left);
}

/* Ten times as much of everything takes about ten times the steps. */
static void grows(const char *sb, const char *sp, const char *sa, const char *vb, const char *vp, const char *va)
{
    char *s = repeated(sb, sp, 300, sa), *v = repeated(vb, vp, 300, va);
    double a = steps(s, v), b;
    free(s); free(v);
    s = repeated(sb, sp, 3000, sa); v = repeated(vb, vp, 3000, va);
    b = steps(s, v);
    if (b > 13 * a) printf("%s <- %s: %g, then %g steps\n", sp, vp, a, b);
    CHECK(b <= 13 * a);
    free(s); free(v);
}

TEST(growth)
{
    grows("{\"properties\":{", "\"k%d\":{\"type\":\"integer\"}", "},\"additionalProperties\":false}", "{", "\"k%d\":1", "}");
    grows("{\"required\":[", "\"k%d\"", "]}", "{", "\"k%d\":1", "}");
    grows("{\"items\":{\"enum\":[", "\"v%d\"", "]}}", "[", "\"v%d\"", "]");
    grows("{\"uniqueItems\":true,", "\"x%d\":1", "}", "[", "{\"a\":%d,\"b\":[%d]}", "]");
    grows("{\"const\":{", "\"k%d\":%d", "}}", "{", "\"k%d\":%d", "}");
    grows("{\"dependentRequired\":{", "\"k%d\":[\"k1\",\"k%d\"]", "}}", "{", "\"k%d\":1", "}");
    grows("{\"dependentSchemas\":{", "\"k%d\":{\"type\":\"object\"}", "}}", "{", "\"k%d\":1", "}");
    grows("{\"additionalProperties\":{\"type\":\"null\"},\"minProperties\":1,", "\"x%d\":1", "}", "{", "\"k%d\":null", "}");
    grows("{\"prefixItems\":[", "{\"$ref\":\"#/$defs/x\"}", "],\"$defs\":{\"x\":{\"minimum\":0}}}", "[", "%d", "]");
    grows("{\"allOf\":[", "{\"properties\":{\"k%d\":{}}}", "],\"type\":\"object\"}", "{\"k1\":[", "%d", "]}");
    grows("{\"unevaluatedItems\":false,\"allOf\":[{\"items\":{}}],", "\"x%d\":1", "}", "[", "%d", "]");
}

/* What was compiled in time linear in its size takes at most 1,000,000 steps and 256 for each part. */
TEST(wide_schemas)
{
    char *s;
    begin();
    s = repeated("{\"$defs\":{", "\"d%d\":{\"type\":\"integer\"},\"r%d\":{\"$ref\":\"#/$defs/d%d\"}", 20000, "}}");
    CHECK(compiled(s) != NULL);
    free(s);
    begin();
    s = repeated("{\"$id\":\"http://x/y\",\"$defs\":{", "\"d%d\":{\"$id\":\"i%d\",\"items\":{\"$ref\":\"i%d\"}}", 20000, "}}");
    CHECK(compiled(s) != NULL);
    free(s);
    begin();
    s = repeated("{\"$defs\":{", "\"d%d\":{\"$anchor\":\"a%d\",\"items\":{\"$ref\":\"#a%d\"}}", 20000, "}}");
    CHECK(compiled(s) != NULL);
    free(s);
}

static char *nested(const char *before, const char *core, const char *after, int n)
{
    int i;
    for (i = 0; i < n; i++) add(before);
    add(core);
    for (i = 0; i < n; i++) add(after);
    return taken();
}

TEST(deep)
{
    char *v = nested("{\"c\":[", "{}", "]}", 255), *w = nested("{\"c\":[", "{\"c\":1}", "]}", 255), *s;
    static const char tree[] = "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"anyOf\":[{\"$ref\":\"#/$defs/n\"}]},\"n\":{\"properties\":{\"c\":{\"items\":{\"$ref\":\"#/$defs/t\"},\"type\":\"array\"}}}}}";
    begin();
    EQ_INT(check(tree, v), MCP_OK);
    EQ_INT(check(tree, w), MCP_ERR_INVALID);
    CHECK(strlen(out.buf) < 500);
    s = nested("[", "", "]", 511);
    begin();
    EQ_INT(check("{\"items\":{\"$ref\":\"#\"},\"uniqueItems\":true}", s), MCP_OK);
    free(s);
    s = nested("{\"allOf\":[", "{\"type\":\"null\"}", "]}", 250);
    begin();
    EQ_INT(check(s, "null"), MCP_OK);
    EQ_INT(check(s, "1"), MCP_ERR_INVALID);
    free(s);
    s = nested("{\"not\":", "false", "}", 500);
    begin();
    EQ_INT(check(s, "null"), MCP_ERR_INVALID);
    free(s); free(v); free(w);
}

TEST(hostile)
{
    static const char *const loops[] = {
        "{\"$ref\":\"#\"}", "{\"anyOf\":[{\"$ref\":\"#\"},{\"$ref\":\"#\"}]}", "{\"not\":{\"$ref\":\"#\"}}", "{\"if\":{\"$ref\":\"#\"}}", "{\"allOf\":[{\"oneOf\":[{\"$ref\":\"#\"}]}]}",
        "{\"$dynamicAnchor\":\"a\",\"$dynamicRef\":\"#a\"}", "{\"$defs\":{\"a\":{\"$ref\":\"#/$defs/b\"},\"b\":{\"$ref\":\"#/$defs/a\"}},\"$ref\":\"#/$defs/a\"}", "{\"dependentSchemas\":{\"a\":{\"$ref\":\"#\"}}}",
        "{\"unevaluatedProperties\":false,\"anyOf\":[{\"$ref\":\"#\"}]}", "{\"$schema\":\"https://json-schema.org/draft/2019-09/schema\",\"$recursiveRef\":\"#\"}"
    };
    size_t i;
    int k;
    char *s, *v;
    for (i = 0; i < sizeof loops / sizeof *loops; i++) {
        begin();
        EQ_INT(check(loops[i], "{\"a\":1}"), MCP_ERR_LIMIT);
        EQ_STR(out.buf, "$: the schema nests too deep here, or refers to itself without end\n");
    }
    begin();                                /* 2^40 ways through a schema of 40 lines */
    add("{\"$ref\":\"#/$defs/d0\",\"$defs\":{\"d40\":{\"type\":\"integer\"}");
    for (k = 0; k < 40; k++) { char buf[120]; sprintf(buf, ",\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]}", k, k + 1, k + 1); add(buf); }
    add("}}");
    s = taken();
    EQ_INT(check(s, "1"), MCP_ERR_LIMIT);
    EQ_STR(out.buf, "$: to check this takes more work than is allowed\n");
    EQ_INT(check(s, "\"x\""), MCP_ERR_INVALID);
    free(s);
    begin();                                /* the same with anyOf, each of which fails */
    add("{\"$ref\":\"#/$defs/d0\",\"$defs\":{\"d40\":{\"type\":\"string\"}");
    for (k = 0; k < 40; k++) { char buf[120]; sprintf(buf, ",\"d%d\":{\"anyOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]}", k, k + 1, k + 1); add(buf); }
    add("}}");
    s = taken();
    EQ_INT(check(s, "1"), MCP_ERR_LIMIT);
    free(s);
    begin();                                /* much of both */
    s = repeated("{\"items\":{\"anyOf\":[", "{\"properties\":{\"b\":{\"const\":%d}}}", 2000, "]}}");
    v = repeated("[", "{\"b\":%d}", 2000, "]");
    EQ_INT(check(s, v), MCP_ERR_LIMIT);
    free(s); free(v);
    begin();                                /* numbers of many digits */
    for (k = 0; k < 30000; k++) add("7");
    s = taken();
    for (k = 0; k < 30000; k++) add("3");
    add("1");
    v = taken();
    text = NULL; add("{\"multipleOf\":"); add(s); add("}");
    free(s);
    s = taken();
    EQ_INT(check(s, v), MCP_ERR_LIMIT);
    free(s);
    begin();
    EQ_INT(check("{\"multipleOf\":7}", v), MCP_ERR_INVALID);
    EQ_INT(check("{\"maximum\":7}", v), MCP_ERR_INVALID);
    EQ_INT(check("{\"multipleOf\":1e-1000000000}", "1e1000000000"), MCP_OK);
    free(v);
}

/* -- memory ---------------------------------------------------------------------------------------------------------------- */

static long allocations, live, fail_at = -1;
static void *counting(void *user, void *p, size_t old_size, size_t new_size)
{
    (void)user;
    if (!new_size) { live -= (long)old_size; free(p); return NULL; }
    if (fail_at >= 0 && allocations >= fail_at) return NULL;
    allocations++;
    p = realloc(p, new_size);
    if (p) live += (long)new_size - (long)old_size;
    return p;
}

static const char everything[] =
    "{\"$id\":\"http://x/\",\"type\":\"object\",\"properties\":{\"a\":{\"enum\":[1,2,3,4,5,6,7,8,9,{\"k\":[1]}]},\"b\":{\"pattern\":\"^(a|b){2,30}$\"},\"c\":{\"$ref\":\"#/$defs/c\"},"
    "\"d\":{\"uniqueItems\":true,\"items\":{\"anyOf\":[{\"type\":\"object\",\"properties\":{\"k\":{\"const\":1}}},{\"type\":\"string\"}]}},\"e\":{},\"f\":{},\"g\":{},\"h\":{\"multipleOf\":12345678901234567890123}},"
    "\"patternProperties\":{\"^x\":{\"type\":\"null\"},\"(?=no)\":{}},\"unevaluatedProperties\":{\"$dynamicRef\":\"#l\"},\"maxProperties\":50,"
    "\"$defs\":{\"c\":{\"$anchor\":\"c\",\"oneOf\":[{\"$ref\":\"#c2\"},{\"minimum\":5}]},\"c2\":{\"$anchor\":\"c2\",\"type\":\"string\"},\"l\":{\"$dynamicAnchor\":\"l\",\"maxLength\":3}}}";
static const char anything[] =
    "{\"a\":{\"k\":[1]},\"b\":\"abab\",\"c\":7,\"d\":[{\"k\":1},\"x\",{\"k\":1,\"l\":2}],\"xy\":null,\"z\":\"abc\",\"h\":24691357802469135780246}";
static const char nothing[] =
    "{\"a\":{\"k\":[2]},\"b\":\"ab!\",\"c\":1,\"d\":[{\"k\":2},\"x\",\"x\",5],\"xy\":1,\"z\":\"abcd\",\"h\":24691357802469135780247}";

TEST(no_allocation_once_warm)
{
    mcp_allocator a;
    mcp_arena mine;
    const mcp_schema *s;
    const mcp_json *v, *w;
    long before;
    int i;
    a.resize = counting; a.user = NULL;
    begin();
    s = compiled(everything);
    v = json(anything);
    w = json(nothing);
    mcp_arena_init(&mine, &a, 0);
    EQ_INT(mcp_schema_check(s, v, &mine, NULL, 0), MCP_OK);
    EQ_INT(mcp_schema_check(s, w, &mine, NULL, 0), MCP_ERR_INVALID);
    mcp_arena_reset(&mine);
    EQ_INT(mcp_schema_check(s, v, &mine, NULL, 0), MCP_OK);
    before = allocations;
    for (i = 0; i < 100; i++) {
        EQ_INT(mcp_schema_check(s, v, &mine, NULL, 0), MCP_OK);
        EQ_INT(mcp_schema_check(s, w, &mine, NULL, 0), MCP_ERR_INVALID);
    }
    EQ_INT(allocations, before);
    mcp_arena_free(&mine);
    EQ_INT(live, 0);
}

TEST(without_memory)
{
    mcp_allocator a;
    mcp_arena mine, room;
    mcp_writer w;
    const mcp_schema *s = NULL;
    const mcp_json *schema, *v, *bad;
    const char *why = NULL;
    long n;
    int status = MCP_ERR_MEMORY;
    a.resize = counting; a.user = NULL;
    begin();
    schema = json(everything);
    v = json(anything);
    bad = json(nothing);
    for (n = 0; !s && n < 100; n++) {
        allocations = 0; fail_at = n;
        mcp_arena_init(&mine, &a, 0);
        s = mcp_schema_compile(&mine, schema, &why);
        if (!s) EQ_STR(why, "out of memory");
        mcp_arena_free(&mine);
    }
    CHECK(s != NULL && n > 2);
    fail_at = -1;
    s = mcp_schema_compile(&arena, schema, NULL);
    for (n = 0; status == MCP_ERR_MEMORY && n < 100; n++) {
        allocations = 0; fail_at = n;
        mcp_arena_init(&mine, &a, 0);
        mcp_writer_init(&w, &a, 0);
        status = mcp_schema_check(s, bad, &mine, NULL, 0);
        if (status != MCP_ERR_MEMORY) status = mcp_schema_check(s, bad, &mine, &w, 100);
        if (status == MCP_ERR_INVALID && !mcp_writer_text(&w, NULL)) { EQ_INT(mcp_writer_status(&w), MCP_ERR_MEMORY); status = MCP_ERR_MEMORY; }
        mcp_writer_free(&w);
        mcp_arena_free(&mine);
    }
    EQ_INT(status, MCP_ERR_INVALID);
    fail_at = -1;
    EQ_INT(live, 0);
    /* in every amount of fixed memory: as with plenty, or no memory */
    {
        static char memory[24000];
        size_t size;
        int fitted = 0, checked = 0;
        for (size = 0; size < sizeof memory; size += 40) {
            mcp_arena_fixed(&room, memory, size);
            s = mcp_schema_compile(&room, schema, &why);
            if (!s) { EQ_STR(why, "out of memory"); continue; }
            fitted++;
            status = mcp_schema_check(s, v, &room, NULL, 0);
            CHECK(status == MCP_OK || status == MCP_ERR_MEMORY);
            checked += status == MCP_OK;
            status = mcp_schema_check(s, bad, &room, NULL, 0);
            CHECK(status == MCP_ERR_INVALID || status == MCP_ERR_MEMORY);
        }
        CHECK(fitted && checked);
    }
}

int main(void)
{
    mcp_arena_init(&arena, NULL, 0);
    mcp_arena_init(&scratch, NULL, 0);
    mcp_writer_init(&out, NULL, 0);
    RUN(sentences); RUN(long_ones_are_cut); RUN(locations); RUN(limits_of_errors);
    RUN(numbers); RUN(numbers_against_arithmetic); RUN(equality); RUN(drafts); RUN(references);
    RUN(refusals); RUN(notes);
    RUN(growth); RUN(wide_schemas); RUN(deep); RUN(hostile);
    RUN(no_allocation_once_warm); RUN(without_memory);
    mcp_writer_free(&out);
    mcp_arena_free(&scratch);
    mcp_arena_free(&arena);
    return test_end();
}
