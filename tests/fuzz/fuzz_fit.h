/* For fuzz_fit: schemas of all keywords and odd shapes, made from the input's bytes. */
static mcp_arena memory;
static mcp_writer made;
static int left;                            /* how many more schemas */

static const char *pick_of(const char *const *list, unsigned n) { return list[fuzz_pick(n)]; }
#define PICK(list) pick_of(list, (unsigned)(sizeof list / sizeof *list))

static const char *name(void)
{
    static const char *const names[] = { "a", "b", "c", "type", "$top", "top", "", "gr\xC3\xB6\xC3\x9F" "e", "a b", "a_b", "x-y", "input", "required",
        "properties", "9", "a/b", "m~n", "tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt", "$defs", "kind" };
    return PICK(names);
}

static const char *text(void)
{
    static const char *const texts[] = { "x", "", "y", "Some text.", "\xE4\xB8\xAD\xE6\x96\x87", "date-time", "uri", "int64", "uuid", "^a", "^[a-z]+$", "(?=x)",
        "[a", "\\p{L}", "object", "A longer text, with words. And another sentence, so that there is something to cut off at its end." };
    return PICK(texts);
}

static void value(const char *key, int depth)
{
    unsigned n = fuzz_pick(depth > 3 ? 6 : 8);
    switch (n) {
    case 0: mcp_put_null(&made, key); break;
    case 1: mcp_put_bool(&made, key, fuzz_pick(2)); break;
    case 2: mcp_put_int(&made, key, (int64_t)fuzz_pick(7) - 2); break;
    case 3: mcp_put_raw(&made, key, fuzz_pick(2) ? "9223372036854775807" : "1.5e2", MCP_NTS); break;
    case 4: case 5: mcp_put_str(&made, key, text()); break;
    default:
        if (n == 6) mcp_put_array(&made, key);
        else mcp_put_object(&made, key);
        for (n = fuzz_pick(4); n; n--) value(mcpi_in_object(&made) ? name() : NULL, depth + 1);
        mcp_put_end(&made);
    }
}

static void schema(const char *key, int depth);

static void list(const char *key, int depth)
{
    unsigned n = fuzz_pick(5);
    mcp_put_array(&made, key);
    while (n--) schema(NULL, depth + 1);
    mcp_put_end(&made);
}

static void map(const char *key, int depth)
{
    unsigned n = fuzz_pick(fuzz_pick(20) ? 5 : 25);
    mcp_put_object(&made, key);
    while (n--) schema(name(), depth + 1);
    mcp_put_end(&made);
}

static void word(int depth)
{
    static const char *const types[] = { "string", "integer", "number", "boolean", "object", "array", "null", "any", "str", "Integer", "" };
    static const char *const counts[] = { "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains" };
    static const char *const numbers[] = { "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf" };
    static const char *const strings[] = { "pattern", "format", "title", "description", "contentEncoding", "contentMediaType", "$anchor", "$id", "id", "$comment", "$schema" };
    static const char *const flags[] = { "uniqueItems", "nullable", "deprecated", "readOnly", "optional", "required", "exclusiveMinimum", "additionalProperties" };
    static const char *const singles[] = { "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedProperties", "unevaluatedItems", "additionalItems" };
    static const char *const unions[] = { "anyOf", "oneOf", "allOf" };
    static const char *const maps[] = { "properties", "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies" };
    static const char *const any[] = { "default", "const", "example", "examples", "enum", "type", "xml", "dependentRequired", "properties", "required", "anyOf", "items", "description" };
    unsigned n = fuzz_pick(4);
    switch (fuzz_pick(14)) {
    case 0: case 1: mcp_put_str(&made, "type", PICK(types)); break;
    case 2: mcp_put_array(&made, "type"); while (n--) mcp_put_str(&made, NULL, PICK(types)); mcp_put_end(&made); break;
    case 3: mcp_put_int(&made, PICK(counts), (int64_t)fuzz_pick(2000)); break;
    case 4: mcp_put_num(&made, PICK(numbers), (double)fuzz_pick(20) / 2 - 3); break;
    case 5: mcp_put_str(&made, PICK(strings), text()); break;
    case 6: mcp_put_bool(&made, PICK(flags), fuzz_pick(2)); break;
    case 7: schema(PICK(singles), depth + 1); break;
    case 8: list(PICK(unions), depth); break;
    case 9: case 10: map(PICK(maps), depth); break;
    case 11: list(fuzz_pick(2) ? "prefixItems" : "items", depth); break;
    case 12: mcp_put_array(&made, fuzz_pick(2) ? "required" : "enum"); while (n--) mcp_put_str(&made, NULL, name()); mcp_put_end(&made); break;
    default: value(PICK(any), 0); break;
    }
}

static void schema(const char *key, int depth)
{
    static const char *const refs[] = { "#/$defs/a", "#/$defs/b", "#/$defs/kind", "#", "#/properties/a", "#/properties/b/items", "#/$defs/none", "https://x.invalid/y",
        "#x", "x", "#/definitions/a", "#/%24defs/c", "#/$defs/a~1b", "#/$defs/m~0n", "#/anyOf/1", "#/$defs/a/properties/b", "#/properties/type" };
    unsigned n = 1 + fuzz_pick(5);
    if (left-- <= 0 || depth > 9 || fuzz_pick(16) == 0) { value(key, 2); return; }
    mcp_put_object(&made, key);
    if (fuzz_pick(5) == 0) { mcp_put_str(&made, fuzz_pick(9) ? "$ref" : "$dynamicRef", PICK(refs)); n = fuzz_pick(3); }
    if (depth == 0) {
        n += 2;
        if (fuzz_pick(2)) mcp_put_str(&made, "type", "object");
        if (fuzz_pick(2)) map("$defs", depth);
        map("properties", depth);
    }
    while (n--) word(depth);
    mcp_put_end(&made);
}

/* A schema, in `memory`: the input itself if it is JSON, else one made from it. */
static const mcp_json *any_schema(void)
{
    const mcp_json *v = mcp_json_parse(&memory, (const char *)fuzz.data, fuzz.size, NULL);
    if (v) return v;
    mcp_writer_reset(&made);
    left = 150;
    schema(NULL, 0);
    v = mcp_json_parse(&memory, mcp_writer_text(&made, NULL), MCP_NTS, NULL);
    MUST(v);
    return v;
}

/* With memory that may be missing: the same bytes or nothing; and arguments of any shape come back as JSON. */
static void short_of_memory(const mcp_json *v, const mcp_fit_desc *d)
{
    mcp_allocator alloc = fuzz_memory();
    mcp_arena a;
    mcp_writer w, back;
    const mcp_fit *f;
    mcp_arena_init(&a, &alloc, 0);
    mcp_writer_init(&w, NULL, 0);
    mcp_writer_init(&back, NULL, 0);
    f = mcp_schema_fit(&a, v, d, &w);
    MUST(f || fuzz.fails);
    if (f) {
        mcp_writer_reset(&made);
        value(NULL, 0);
        MUST(mcp_schema_unfit(f, mcp_json_parse(&memory, mcp_writer_text(&made, NULL), MCP_NTS, NULL), &back) == MCP_OK);
        MUST(mcp_json_parse(&memory, mcp_writer_text(&back, NULL), MCP_NTS, NULL));
    }
    mcp_writer_free(&w);
    mcp_writer_free(&back);
    mcp_arena_free(&a);
}
