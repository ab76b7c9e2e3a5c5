/* For fuzz_schema: schemas and values that the input's bytes choose, of few names and numbers, so that they meet. */
static mcp_arena a, scratch;
static mcp_writer w;

static const char *const names[] = { "a", "b", "ab", "", "a~/b", "%", "c", "$ref" };
static const char *const scalars[] = { "0", "1", "1.0", "-1", "2", "0.5", "1e400", "10e-1", "12345678901234567890123", "\"\"", "\"a\"", "\"ab\"", "\"\\u0000\"", "null", "true", "false" };
static const char *const numbers[] = { "0", "1", "2", "3.0", "0.5", "-1", "1e2", "1e-400", "4", "18446744073709551616" };
static const char *const refs[] = { "#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#a", "#b", "x", "x#a", "http://h/x#/$defs/a", "#/allOf/0", "../x", "?q", "#/$defs/a~1b", "#%61" };
static const char *const patterns[] = { "a", "^a$", "^[a-c]{1,3}$", "(?=a)", "(a|b)*c", "[", "\\\\d+", ".", "^(a?){5}b" };
static const char *const dialects[] = { "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema", "none" };
#define PICK(list) list[fuzz_pick(sizeof list / sizeof *list)]

static void put_value(const char *key, int depth)
{
    unsigned kind = fuzz_pick(depth > 3 ? 2 : 4), n = fuzz_pick(5);
    if (kind < 2) { mcp_put_raw(&w, key, PICK(scalars), MCP_NTS); return; }
    if (kind == 2) mcp_put_array(&w, key); else mcp_put_object(&w, key);
    while (n--) put_value(kind == 2 ? NULL : PICK(names), depth + 1);
    mcp_put_end(&w);
}

static void put_names(const char *key)
{
    unsigned n = fuzz_pick(4);
    mcp_put_array(&w, key);
    while (n--) mcp_put_str(&w, NULL, PICK(names));
    mcp_put_end(&w);
}

static unsigned dialect;                /* of the schema that is being written */
static void put_schema(const char *key, int depth);

/* A keyword of the validator's own table with a value of the kind that it wants; at times with any. */
static void put_keyword(int depth)
{
    const struct mcpi_keyword *k = &mcpi_keywords[fuzz_pick(MCPI_KEYWORD_COUNT)];
    unsigned n = fuzz_pick(4);
    int is = k->is;
    if (fuzz_pick(100) == 0) { put_value(k->name, depth); return; }
    if (dialect < (unsigned)k->from || (unsigned)k->to < dialect) return;
    if (is == MCPI_IS_SCHEMA_OR_LIST) is = fuzz_pick(2) ? MCPI_IS_SCHEMA : MCPI_IS_SCHEMAS;
    switch (is) {
    case MCPI_IS_TYPES: mcp_put_str(&w, k->name, mcpi_word_at("null\0boolean\0number\0string\0array\0object\0integer\0", (int)fuzz_pick(7))); break;
    case MCPI_IS_ANY: put_value(k->name, depth); break;
    case MCPI_IS_LIST: mcp_put_array(&w, k->name); for (n *= 4; n; n--) put_value(NULL, depth + 1); mcp_put_end(&w); break;
    case MCPI_IS_NUMBER: mcp_put_raw(&w, k->name, PICK(numbers), MCP_NTS); break;
    case MCPI_IS_FACTOR: mcp_put_raw(&w, k->name, numbers[1 + fuzz_pick(4)], MCP_NTS); break;
    case MCPI_IS_COUNT: mcp_put_raw(&w, k->name, numbers[fuzz_pick(4)], MCP_NTS); break;
    case MCPI_IS_BOOL: mcp_put_bool(&w, k->name, fuzz_pick(2)); break;
    case MCPI_IS_TEXT:
        if (*k->name == 'p') mcp_put_str(&w, k->name, PICK(patterns));
        else if (strcmp(k->name, "$schema") == 0) break;
        else if (strstr(k->name, "nchor")) mcp_put_str(&w, k->name, PICK(names));
        else mcp_put_str(&w, k->name, PICK(refs));
        break;
    case MCPI_IS_NAMES: put_names(k->name); break;
    case MCPI_IS_SCHEMA: put_schema(k->name, depth + 1); break;
    case MCPI_IS_SCHEMAS: mcp_put_array(&w, k->name); do put_schema(NULL, depth + 1); while (n--); mcp_put_end(&w); break;
    default:
        mcp_put_object(&w, k->name);
        while (n--) {
            const char *name = strcmp(k->name, "patternProperties") == 0 ? PICK(patterns) : PICK(names);
            if (is == MCPI_IS_NAMES_MAP || (is == MCPI_IS_EITHER_MAP && fuzz_pick(2))) put_names(name);
            else put_schema(name, depth + 1);
        }
        mcp_put_end(&w);
    }
}

static void put_schema(const char *key, int depth)
{
    unsigned n = depth > 4 ? 0 : 1 + fuzz_pick(4);
    if (fuzz_pick(8) == 0) { mcp_put_bool(&w, key, fuzz_pick(2)); return; }
    mcp_put_object(&w, key);
    if (depth == 0) {
        dialect = fuzz_pick(MCPI_D20 + 1);
        if (dialect < MCPI_D20 || fuzz_pick(2)) mcp_put_str(&w, "$schema", dialects[fuzz_pick(50) ? dialect : MCPI_D20 + 1]);
    }
    while (n--) put_keyword(depth);
    mcp_put_end(&w);
}

static const mcp_json *written(void)
{
    size_t n;
    const char *text = mcp_writer_text(&w, &n);
    const mcp_json *v = text ? mcp_json_parse(&a, text, n, NULL) : NULL;
    mcp_writer_reset(&w);
    return v;
}

/* The verdict, which must be the same with and without errors, and in a schema around it that changes nothing. */
static int verdict(const mcp_schema *s, const mcp_json *v)
{
    int quick = mcp_schema_check(s, v, &scratch, NULL, 0), full;
    const mcp_json *errors;
    mcp_writer_reset(&w);
    full = mcp_schema_check(s, v, &scratch, &w, 5);
    errors = written();
    MUST(quick == full && errors && (quick == MCP_OK || quick == MCP_ERR_INVALID || quick == MCP_ERR_LIMIT));
    MUST((mcp_json_size(errors) == 0) == (quick == MCP_OK) && mcp_json_size(errors) <= 5);
    mcp_json_each(e, errors) {
        const mcp_json *at = mcp_json_get(e, "instanceLocation");
        MUST(strlen(mcp_json_str(at, "")) != mcp_json_size(at) || mcp_json_at(v, mcp_json_str(at, "?")));
    }
    return quick;
}

static void around(const mcp_json *schema, const mcp_json *v, const char *keyword, int want)
{
    const mcp_json *dialect = mcp_json_get(schema, "$schema");
    const mcp_schema *s;
    int got;
    mcp_writer_reset(&w);
    mcp_put_object(&w, NULL);
    if (dialect) mcp_put_json(&w, "$schema", dialect);
    mcp_put_array(&w, keyword);
    mcp_put_json(&w, NULL, schema);
    mcp_put_end(&w);
    mcp_put_end(&w);
    s = mcp_schema_compile(&a, written(), NULL);
    got = s ? verdict(s, v) : want;
    MUST(got == want || got == MCP_ERR_LIMIT || want == MCP_ERR_LIMIT);
}
