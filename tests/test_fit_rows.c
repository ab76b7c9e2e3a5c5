/* Fitting schemas for the providers, rule by rule: tables of a schema and what becomes of it; reports, budgets, and the way back of
 * arguments. A row with several profiles holds for each. What is fitted is also checked against the rules of fit_props.h: it stays the same when it is
 * fitted again, with notes and without. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "test.h"
#include "fit_props.h"

#define J(...) #__VA_ARGS__
#define N(table) (sizeof(table) / sizeof *(table))

/* A schema and what becomes of it, for each of the profiles, whose names stand with a blank between them. kind: 'r' the schema is
 * the whole, 'a' it is that of the required property "a" of an object; in upper case if strictness is lost. */
typedef struct row { char kind; const char *profiles, *schema, *wanted; } row;

static void failed(const char *profile, const char *schema, const char *what, const char *got)
{
    char text[4000];
    snprintf(text, sizeof text, "%s: %.1200s\n    %s: %.2000s", profile, schema, what, got ? got : "nothing");
    test_check(0, __FILE__, __LINE__, text);
}

/* Is it the same JSON but for the order of members? */
static bool same(const mcp_json *a, const mcp_json *b)
{
    const mcp_json *p = mcp_json_first(a), *q = mcp_json_first(b);
    size_t m = 0, n = 0;
    const char *s, *t;
    if (mcp_json_type(a) != mcp_json_type(b) || mcp_json_size(a) != mcp_json_size(b)) return false;
    switch (mcp_json_type(a)) {
    case MCP_JSON_OBJECT:
        for (; p; p = mcp_json_next(p)) {
            s = mcp_json_keyn(p, &m);
            q = mcp_json_getn(b, s, m);
            if (!q || mcp_json_getn(a, s, m) != p || !same(p, q)) return false;
        }
        return true;
    case MCP_JSON_ARRAY:
        for (; p && q; p = mcp_json_next(p), q = mcp_json_next(q)) if (!same(p, q)) return false;
        return !p && !q;
    case MCP_JSON_BOOL: return mcp_json_bool(a, false) == mcp_json_bool(b, false);
    case MCP_JSON_NUMBER: case MCP_JSON_STRING:
        s = mcp_json_text(a, &m);
        t = mcp_json_text(b, &n);
        return m == n && memcmp(s, t, m) == 0;
    default: return true;
    }
}

static const mcp_json *parsed(mcp_arena *a, const char *text)
{
    const mcp_json *v = mcp_json_parse(a, text, MCP_NTS, NULL);
    if (!v) failed("", text, "this is", "no JSON");
    return v;
}

/* A value as text, in the arena. */
static const char *written(mcp_arena *a, const mcp_json *v)
{
    mcp_writer w;
    const char *text;
    char *copy;
    size_t len = 0;
    mcp_writer_init(&w, NULL, 0);
    mcp_put_json(&w, NULL, v);
    text = mcp_writer_text(&w, &len);
    copy = (char *)mcp_arena_alloc(a, len + 1);
    if (copy) memcpy(copy, text ? text : "", text ? len + 1 : 1);
    mcp_writer_free(&w);
    return copy;
}

/* Fits; *out is the result, parsed. */
static const mcp_fit *fitted(mcp_arena *a, const mcp_json *schema, const mcp_fit_desc *d, const mcp_json **out)
{
    mcp_writer w;
    const mcp_fit *f;
    const char *text;
    size_t len = 0;
    mcp_writer_init(&w, NULL, 0);
    f = mcp_schema_fit(a, schema, d, &w);
    text = mcp_writer_text(&w, &len);
    *out = text ? mcp_json_parse(a, text, len, NULL) : NULL;
    mcp_writer_free(&w);
    return *out ? f : NULL;
}

/* Fits for a profile; NULL: a failed check. */
static const mcp_fit *fit_for(mcp_arena *a, const char *schema, mcp_profile profile, bool notes, const mcp_json **out)
{
    mcp_fit_desc d;
    const mcp_fit *f;
    memset(&d, 0, sizeof d);
    d.profile = profile;
    d.no_notes = !notes;
    f = fitted(a, parsed(a, schema), &d, out);
    if (!f) failed(mcp_profile_name(profile), schema, "result", NULL);
    return f;
}

static void check_row(const row *r, const char *profile)
{
    mcp_arena a;
    mcp_writer w;
    const mcp_json *in, *out, *wanted;
    bool of_a = r->kind == 'a' || r->kind == 'A', lost = r->kind < 'a';
    const mcp_fit *f;
    mcp_fit_desc d;
    const char *before, *wrong;
    char room[300];
    int p = mcp_profile_find(profile), notes;
    bool strict = (p == MCP_OPENAI_STRICT || p == MCP_DEEPSEEK_STRICT) && !lost;
    mcp_arena_init(&a, NULL, 0);
    in = parsed(&a, r->schema);
    wanted = parsed(&a, r->wanted);
    memset(&d, 0, sizeof d);
    d.profile = (mcp_profile)(p < 0 ? 0 : p);
    if (p < 0) failed(profile, r->schema, "profile", NULL);
    if (of_a) {
        mcp_writer_init(&w, NULL, 0);
        mcp_put_object(&w, NULL);
        mcp_put_str(&w, "type", "object");
        mcp_put_object(&w, "properties");
        mcp_put_json(&w, "a", in);
        mcp_put_end(&w);
        mcp_put_array(&w, "required");
        mcp_put_str(&w, NULL, "a");
        mcp_put_end(&w);
        mcp_put_end(&w);
        in = mcp_json_parse(&a, mcp_writer_text(&w, NULL), MCP_NTS, NULL);
        mcp_writer_free(&w);
    }
    before = written(&a, in);
    f = fitted(&a, in, &d, &out);
    if (!f) failed(profile, r->schema, "result", NULL);
    else {
        if (of_a) {
            if (!mcp_json_at(out, "/required/0")) failed(profile, r->schema, "required is lost", written(&a, out));
            out = mcp_json_at(out, "/properties/a");
        }
        if (!same(out, wanted)) failed(profile, r->schema, "result", written(&a, out));
        else test_passed++;
        if (mcp_fit_strict(f) != strict) failed(profile, r->schema, "strict is not as it should be", mcp_fit_notes(f));
    }
    if (strcmp(before, written(&a, in)) != 0) failed(profile, r->schema, "the input has changed", written(&a, in));
    for (notes = 0; notes < 2; notes++) {
        wrong = fit_check(in, d.profile, notes != 0, 0, room);
        if (wrong) failed(profile, r->schema, notes ? "with notes" : "without notes", wrong);
    }
    mcp_arena_free(&a);
}

/* The rules that hold for each profile, also when the budget is short. */
static void check_everywhere(const char *schema)
{
    static const size_t budgets[] = { 0, 200 };
    mcp_arena a;
    const mcp_json *in;
    char room[300], what[60];
    size_t i;
    int p;
    mcp_arena_init(&a, NULL, 0);
    in = parsed(&a, schema);
    for (i = 0; i < N(budgets); i++)
        for (p = MCP_GENERIC; p <= MCP_LLAMACPP; p++) {
            const char *wrong = fit_check(in, (mcp_profile)p, true, budgets[i], room);
            snprintf(what, sizeof what, "budget %d", (int)budgets[i]);
            if (wrong) failed(mcp_profile_name((mcp_profile)p), schema, what, wrong);
            else test_passed++;
        }
    mcp_arena_free(&a);
}

static void check_rows(const row *rows, size_t n)
{
    size_t i;
    for (i = 0; i < n; i++) {
        const char *p = rows[i].profiles, *end;
        check_everywhere(rows[i].schema);
        for (; *p; p = *end ? end + 1 : end) {
            char name[32];
            end = strchr(p, ' ');
            if (!end) end = p + strlen(p);
            snprintf(name, sizeof name, "%.*s", (int)(end - p), p);
            check_row(rows + i, name);
        }
    }
}

TEST(profiles)
{
    static const char *const names[] = { "generic", "openai", "openai-strict", "anthropic", "bedrock", "mistral", "gemini", "gemini-json",
                                         "deepseek", "deepseek-strict", "moonshot", "glm", "qwen", "ollama", "llamacpp" };
    int i;
    for (i = 0; i < (int)N(names); i++) {
        EQ_STR(mcp_profile_name((mcp_profile)i), names[i]);
        EQ_INT(mcp_profile_find(names[i]), i);
    }
    EQ_INT(N(names), MCP_LLAMACPP + 1);
    CHECK(mcp_profile_name((mcp_profile)15) == NULL);
    CHECK(mcp_profile_name((mcp_profile)-1) == NULL);
    EQ_INT(mcp_profile_find("OpenAI"), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_profile_find("open"), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_profile_find(""), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_profile_find(NULL), MCP_ERR_UNKNOWN);
}

/* Whatever comes in, an object schema with properties goes out. */
TEST(shapes)
{
    static const row rows[] = {
        { 'r', "openai", J(null), J({"type": "object", "properties": {}}) },
        { 'r', "openai", J(true), J({"type": "object", "properties": {}}) },
        { 'r', "openai", J([]), J({"type": "object", "properties": {}}) },
        { 'r', "openai", J("object"), J({"type": "object", "properties": {}}) },
        { 'r', "openai gemini ollama", J({}), J({"type": "object", "properties": {}}) },
        { 'r', "openai", J({"properties": {"a": {"type": "string"}}}), J({"type": "object", "properties": {"a": {"type": "string"}}}) },
        { 'r', "openai", J({"type": "object", "properties": []}), J({"type": "object", "properties": {}}) },
        { 'r', "openai", J({"type": "object", "properties": null, "required": null}), J({"type": "object", "properties": {}}) },
        { 'r', "openai", J({"type": ["object", "null"], "properties": {"a": {"type": "string"}}}),
          J({"type": "object", "properties": {"a": {"type": "string"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "a", "b", 1, null]}),
          J({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"type": "string"}}, "required": "a"}),
          J({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"type": "string", "required": true}, "b": {"type": "string", "required": false}}}),
          J({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"type": "string", "required": true}}, "required": true}),
          J({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"type": "string"}}, "required": [], "strict": true, "x-order": 1}),
          J({"type": "object", "properties": {"a": {"type": "string"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": null, "b": 7, "c": [], "d": "string", "e": "nonsense", "f": true, "g": false}}),
          J({"type": "object", "properties": {"a": {}, "b": {}, "c": {}, "d": {"type": "string"}, "e": {}, "f": {}, "g": {"description": "Leave this out."}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "number"}, "a": {"type": "boolean"}}}),
          J({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {"type": "number"}}}) },
        { 'r', "openai", J({"type": "string", "type": "object", "properties": {}}), J({"type": "object", "properties": {}}) },
        { 'r', "openai", J({"type": "object", "properties": {"type": {"type": "string"}, "properties": {"type": "object", "properties": {"properties": {"type": "array", "items": {"type": "string"}}}}, "required": {"type": "boolean"}, "$ref": {"type": "string"}, "enum": {"type": "integer"}, "title": {"type": "string"}}, "required": ["type", "$ref"]}),
          J({"type": "object", "properties": {"type": {"type": "string"}, "properties": {"type": "object", "properties": {"properties": {"type": "array", "items": {"type": "string"}}}}, "required": {"type": "boolean"}, "$ref": {"type": "string"}, "enum": {"type": "integer"}, "title": {"type": "string"}}, "required": ["type", "$ref"]}) },
        { 'r', "openai", J({"type": "object", "properties": {}, "description": ""}), J({"type": "object", "properties": {}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"type": "string"}}, "description": ["one", "", 2, "two"]}),
          J({"type": "object", "properties": {"a": {"type": "string"}}, "description": "one two"}) },
        { 'r', "openai", J({"type": "object", "properties": {}, "description": {"en": "x"}}), J({"type": "object", "properties": {}}) },
        { 'r', "openai", J({"type": "object", "properties": {}, "description": []}), J({"type": "object", "properties": {}}) },
        { 'r', "openai", J({"type": "object", "properties": {}, "description": "kept", "title": "T", "$schema": "http://json-schema.org/draft-07/schema#", "$id": "urn:x", "$comment": "c", "examples": [{}]}),
          J({"type": "object", "properties": {}, "description": "kept. Example: {}."}) },
        { 'r', "anthropic", J({"type": "object", "properties": {}, "description": "kept", "title": "T", "$schema": "http://json-schema.org/draft-07/schema#", "$id": "urn:x", "$comment": "c", "examples": [{}], "readOnly": true, "deprecated": true, "writeOnly": true}),
          J({"type": "object", "properties": {}, "description": "kept", "examples": [{}]}) },
    };
    check_rows(rows, N(rows));
}

/* Words of types, of other languages too, types that are inferred, keywords that belong to other types or have values of the wrong one. */
TEST(type_words)
{
    static const row rows[] = {
        { 'a', "openai", J({"type": "STRING"}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "Int"}), J({"type": "integer"}) },
        { 'a', "openai", J({"type": "int64"}), J({"type": "integer"}) },
        { 'a', "openai", J({"type": "float"}), J({"type": "number"}) },
        { 'a', "openai", J({"type": "bool"}), J({"type": "boolean"}) },
        { 'a', "openai", J({"type": "list", "items": {"type": "str"}}), J({"type": "array", "items": {"type": "string"}}) },
        { 'a', "openai", J({"type": "tuple"}), J({"type": "array", "items": {}}) },
        { 'a', "openai", J({"type": "dict"}), J({"type": "object", "properties": {}}) },
        { 'a', "openai", J({"type": "date"}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "uuid"}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "any"}), J({}) },
        { 'a', "openai", J({"type": ""}), J({}) },
        { 'a', "openai", J({"type": null}), J({}) },
        { 'a', "openai", J({"type": "a-type-of-a-very-long-name"}), J({}) },
        { 'a', "openai", J({"type": {"type": "string"}}), J({}) },
        { 'a', "openai", J({"type": []}), J({}) },
        { 'a', "openai", J({"type": ["string"]}), J({"type": "string"}) },
        { 'a', "openai", J({"type": ["string", "string"]}), J({"type": "string"}) },
        { 'a', "openai", J({"type": ["string", "any"]}), J({}) },
        { 'a', "openai", J({"type": ["string", 3]}), J({}) },
        { 'a', "openai", J({"type": ["string", "integer", "boolean"]}), J({"type": ["string", "integer", "boolean"]}) },
        { 'a', "openai", J({"title": "T", "description": "d"}), J({"description": "d"}) },
        { 'a', "openai", J({"properties": {"b": {"type": "string"}}}), J({"type": "object", "properties": {"b": {"type": "string"}}}) },
        { 'a', "openai", J({"required": ["b"]}), J({"type": "object", "properties": {}}) },
        { 'a', "openai", J({"additionalProperties": {"type": "string"}}), J({"type": "object", "additionalProperties": {"type": "string"}}) },
        { 'a', "openai", J({"items": {"type": "string"}}), J({"type": "array", "items": {"type": "string"}}) },
        { 'a', "openai", J({"minItems": 1}), J({"type": "array", "minItems": 1, "items": {}}) },
        { 'a', "openai", J({"minLength": 1}), J({"type": "string", "minLength": 1}) },
        { 'a', "openai", J({"pattern": "^a"}), J({"type": "string", "pattern": "^a"}) },
        { 'a', "openai", J({"format": "email"}), J({"type": "string", "format": "email"}) },
        { 'a', "openai", J({"minimum": 1}), J({"type": "number", "minimum": 1}) },
        { 'a', "openai", J({"multipleOf": 2}), J({"type": "number", "multipleOf": 2}) },
        { 'a', "openai", J({"enum": ["x", "y"]}), J({"type": "string", "enum": ["x", "y"]}) },
        { 'a', "openai", J({"enum": [1, 2]}), J({"type": "integer", "enum": [1, 2]}) },
        { 'a', "openai", J({"enum": [1, 2.5]}), J({"type": "number", "enum": [1, 2.5]}) },
        { 'a', "openai", J({"enum": [true, "x"]}), J({"type": ["boolean", "string"], "enum": [true, "x"]}) },
        { 'a', "openai", J({"const": 3}), J({"type": "integer", "enum": [3]}) },
        { 'a', "openai", J({"const": null}), J({"type": "null"}) },
        { 'a', "openai", J({"const": {"b": 1}}), J({"type": "object", "enum": [{"b": 1}], "properties": {}}) },
        { 'a', "openai", J({"type": "string", "minimum": 1, "minLength": 2, "items": {"type": "string"}}), J({"type": "string", "minLength": 2}) },
        { 'a', "openai", J({"type": "integer", "minLength": 2, "multipleOf": 0, "maximum": "5"}), J({"type": "integer"}) },
        { 'a', "openai", J({"type": "string", "minLength": -1, "maxLength": 1.5}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "string", "minLength": 2.0, "maxLength": 5e0}), J({"type": "string", "minLength": 2.0, "maxLength": 5e0}) },
        { 'a', "openai", J({"type": "string", "pattern": 5, "format": null, "title": 1, "enum": "x"}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "string", "enum": []}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "string", "enum": ["x", "x", "y"]}), J({"type": "string", "enum": ["x", "y"]}) },
        { 'a', "openai", J({"type": "string", "optional": true, "readOnly": true, "deprecated": true}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "array", "items": 5}), J({"type": "array", "items": {}}) },
        { 'a', "openai", J({"type": "array", "items": true}), J({"type": "array", "items": {}}) },
        { 'a', "openai", J({"type": "array", "items": false}), J({"description": "No items.", "type": "array", "items": {}}) },
        { 'a', "openai", J({"type": "object", "additionalProperties": "yes"}), J({"type": "object", "properties": {}}) },
        { 'a', "openai", J({"type": "object", "anyOf": 1, "oneOf": "x", "allOf": null, "not": 5, "prefixItems": {}}),
          J({"type": "object", "properties": {}}) },
        { 'a', "openai", J({"anyOf": {"type": "string"}}), J({"type": "string"}) },
        { 'a', "openai", J({"allOf": {"type": "string"}}), J({"type": "string"}) },
        { 'a', "openai", J({"anyOf": []}), J({}) },
        { 'a', "openai", J({"allOf": []}), J({}) },
    };
    check_rows(rows, N(rows));
}

/* Drafts 3 to 7 and OpenAPI. */
TEST(old_drafts)
{
    static const row rows[] = {
        { 'a', "openai", J({"type": "number", "minimum": 1, "exclusiveMinimum": true}), J({"type": "number", "exclusiveMinimum": 1}) },
        { 'a', "openai", J({"type": "number", "minimum": 1, "exclusiveMinimum": false}), J({"type": "number", "minimum": 1}) },
        { 'a', "openai", J({"type": "number", "exclusiveMaximum": true, "maximum": 9}), J({"type": "number", "exclusiveMaximum": 9}) },
        { 'a', "openai", J({"type": "number", "exclusiveMinimum": true}), J({"type": "number"}) },
        { 'a', "openai", J({"type": "array", "items": [{"type": "string"}, {"type": "number"}]}),
          J({"description": "Items in order: string, number.", "type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}}) },
        { 'a', "anthropic", J({"type": "array", "items": [{"type": "string"}, {"type": "number"}]}),
          J({"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]}) },
        { 'a', "openai", J({"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "boolean"}}),
          J({"description": "Items in order: string.", "type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "boolean"}]}}) },
        { 'a', "anthropic", J({"type": "array", "items": [{"type": "string"}], "additionalItems": {"type": "boolean"}}),
          J({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "boolean"}}) },
        { 'a', "anthropic", J({"type": "array", "items": [{"type": "string"}], "additionalItems": false}),
          J({"type": "array", "prefixItems": [{"type": "string"}], "items": false}) },
        { 'a', "anthropic", J({"type": "array", "items": {"type": "string"}, "additionalItems": false}),
          J({"type": "array", "items": {"type": "string"}}) },
        { 'a', "openai", J({"type": "string", "nullable": true}), J({"type": ["string", "null"]}) },
        { 'a', "openai", J({"type": "string", "nullable": false}), J({"type": "string"}) },
        { 'a', "openai", J({"$ref": "#/definitions/x", "definitions": {"x": {"type": "string"}}}), J({}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/definitions/x"}}, "definitions": {"x": {"type": "string"}}}),
          J({"type": "object", "properties": {"a": {"type": "string"}}}) },
        { 'a', "openai anthropic", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "dependencies": {"b": ["c"]}}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "dependentRequired": {"b": ["c"]}}) },
        { 'a', "generic", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "dependencies": {"b": ["c"]}}),
          J({"description": "With b: [\"c\"].", "type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}) },
        { 'a', "openai", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "dependencies": {"b": {"required": ["c"]}}}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "dependentSchemas": {"b": {"type": "object", "required": ["c"], "properties": {"c": {}}}}}) },
        { 'a', "generic", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "dependencies": {"b": {"required": ["c"]}}}),
          J({"description": "With b: {\"required\":[\"c\"]}.", "type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}) },
        { 'a', "openai", J({"type": "object", "properties": {"b": {"type": "string"}}, "dependencies": []}),
          J({"type": "object", "properties": {"b": {"type": "string"}}}) },
        { 'a', "openai", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "dependentRequired": {"b": ["c"], "d": ["b"]}}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "dependentRequired": {"b": ["c"]}}) },
        { 'a', "openai", J({"type": "object", "properties": {"b": {"type": "string"}}, "unevaluatedProperties": false}),
          J({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": false}) },
        { 'r', "openai", J({"id": "urn:x", "type": "object", "properties": {"id": {"type": "string", "id": "y"}}}),
          J({"type": "object", "properties": {"id": {"type": "string"}}}) },
    };
    check_rows(rows, N(rows));
}

/* Pointers with escapes, anchors, ids, siblings, circles; kept with $defs where the profile takes them. */
TEST(references)
{
    static const row rows[] = {
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/a~1b"}, "c": {"$ref": "#/$defs/d~0e"}, "f": {"$ref": "#/$defs/g%20h"}, "i": {"$ref": "#/$defs/j%2Fk"}}, "$defs": {"a/b": {"type": "string"}, "d~e": {"type": "integer"}, "g h": {"type": "boolean"}, "j": {"k": {"type": "number"}}}}),
          J({"type": "object", "properties": {"a": {"type": "string"}, "c": {"type": "integer"}, "f": {"type": "boolean"}, "i": {"type": "number"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/50%"}, "b": {"$ref": "#/$defs/x%zz"}, "c": {"$ref": "#/$defs/~01"}}, "$defs": {"50%": {"type": "string"}, "x%zz": {"type": "integer"}, "~1": {"type": "boolean"}}}),
          J({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "boolean"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "string"}}}),
          J({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/u/anyOf/1"}, "b": {"$ref": "#/$defs/u/anyOf/7"}, "c": {"$ref": "#/$defs/u/anyOf/x"}}, "$defs": {"u": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}),
          J({"type": "object", "properties": {"a": {"type": "integer"}, "b": {}, "c": {}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#one"}, "b": {"$ref": "#two"}, "c": {"$ref": "#three"}}, "$defs": {"x": {"$anchor": "one", "type": "string"}, "y": {"$dynamicAnchor": "two", "type": "integer"}, "z": {"$id": "#three", "type": "boolean"}}}),
          J({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "boolean"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$dynamicRef": "#two"}}, "$defs": {"y": {"$dynamicAnchor": "two", "type": "integer"}}}),
          J({"type": "object", "properties": {"a": {"type": "integer"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "urn:part"}, "b": {"$ref": "urn:part#/$defs/q"}, "c": {"$ref": "urn:part#"}, "d": {"$ref": "urn:other#/x"}}, "$defs": {"x": {"$id": "urn:part", "type": "string", "$defs": {"q": {"type": "integer"}}}}}),
          J({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}, "c": {"type": "string"}, "d": {}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "urn:part"}}, "$defs": {"x": {"$id": "urn:part", "type": "object", "properties": {"b": {"$ref": "#/$defs/q"}, "c": {"$ref": "#/$defs/outer"}}, "$defs": {"q": {"type": "integer"}}}, "outer": {"type": "boolean"}}}),
          J({"type": "object", "properties": {"a": {"type": "object", "properties": {"b": {"type": "integer"}, "c": {"type": "boolean"}}}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "https://example.com/s.json", "description": "kept"}, "b": {"$ref": "#/$defs/none", "type": "string"}, "c": {"$ref": "#none"}, "d": {"$ref": 5}, "e": {"$ref": "other.json#/a"}}}),
          J({"type": "object", "properties": {"a": {"description": "kept"}, "b": {"type": "string"}, "c": {}, "d": {}, "e": {}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/x", "description": "near", "title": "N"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string", "description": "far", "title": "F", "maxLength": 9}}}),
          J({"type": "object", "properties": {"a": {"description": "near", "type": "string", "maxLength": 9}, "b": {"type": "string", "description": "far", "maxLength": 9}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/x", "properties": {"c": {"type": "string"}}, "required": ["c"], "minProperties": 2}}, "$defs": {"x": {"type": "object", "properties": {"d": {"type": "integer"}}, "required": ["d"], "minProperties": 1}}}),
          J({"type": "object", "properties": {"a": {"properties": {"c": {"type": "string"}, "d": {"type": "integer"}}, "required": ["c", "d"], "minProperties": 2, "type": "object"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/z"}, "z": {"type": "string"}}}),
          J({"type": "object", "properties": {"a": {"type": "string"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}}}),
          J({"type": "object", "properties": {"a": {}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": true, "y": false}}),
          J({"type": "object", "properties": {"a": {}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/y"}}, "$defs": {"x": true, "y": false}}),
          J({"type": "object", "properties": {"a": {"description": "Leave this out."}}}) },
        { 'r', "openai", J({"$ref": "#/$defs/x", "$defs": {"x": {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}}}),
          J({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}) },
        { 'r', "openai", J({"$ref": "#"}), J({"type": "object", "properties": {}}) },
        { 'r', "openai", J({"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#"}}}),
          J({"type": "object", "properties": {"name": {"type": "string"}, "next": {"description": "Recursive: same shape as the whole.", "type": "object", "properties": {}}}}) },
        { 'r', "anthropic gemini", J({"type": "object", "properties": {"name": {"type": "string"}, "next": {"$ref": "#"}}}),
          J({"type": "object", "properties": {"name": {"type": "string"}, "next": {"description": "Recursive: same shape as the whole.", "type": "object"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#"}}}}),
          J({"type": "object", "properties": {"kids": {"type": "array", "items": {"description": "Recursive: same shape as the whole.", "type": "object", "properties": {}}}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"], "$defs": {"node": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"$ref": "#/$defs/node"}}, "required": ["name"]}}}),
          J({"type": "object", "properties": {"tree": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"description": "Recursive: same shape as node.", "type": "object", "properties": {}}}, "required": ["name"]}}, "required": ["tree"]}) },
        { 'r', "gemini", J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"], "$defs": {"node": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"$ref": "#/$defs/node"}}, "required": ["name"]}}}),
          J({"type": "object", "properties": {"tree": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"description": "Recursive: same shape as node.", "type": "object"}}, "required": ["name"]}}, "required": ["tree"]}) },
        { 'R', "deepseek-strict", J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"], "$defs": {"node": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"$ref": "#/$defs/node"}}, "required": ["name"]}}}),
          J({"type": "object", "properties": {"tree": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"description": "Recursive: same shape as node.", "type": "object", "properties": {}}}, "required": ["name"]}}, "required": ["tree"]}) },
        { 'r', "openai-strict", J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"], "$defs": {"node": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"$ref": "#/$defs/node"}}, "required": ["name"]}}}),
          J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"], "additionalProperties": false, "$defs": {"node": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}, "required": ["name", "left"], "additionalProperties": false}}}) },
        { 'r', "moonshot llamacpp gemini-json", J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"], "$defs": {"node": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"$ref": "#/$defs/node"}}, "required": ["name"]}}}),
          J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"], "$defs": {"node": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"$ref": "#/$defs/node"}}, "required": ["name"]}}}) },
        { 'r', "gemini-json", J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/node"}}, "required": ["tree"], "$defs": {"node": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"$ref": "#/$defs/node"}}, "required": ["name", "left"]}}}),
          J({"type": "object", "properties": {"tree": {"type": "object", "properties": {"name": {"type": "string"}, "left": {"description": "Recursive: same shape as node.", "type": "object"}}, "required": ["name", "left"]}}, "required": ["tree"]}) },
        { 'r', "moonshot", J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/my~1node", "description": "the tree", "default": {}}, "b": {"$ref": "#/definitions/my_node"}}, "$defs": {"my/node": {"type": "object", "properties": {"left": {"$ref": "#/$defs/my~1node"}}}}, "definitions": {"my_node": {"type": "array", "items": {"$ref": "#/definitions/my_node"}}}}),
          J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/my_node", "description": "the tree. Default: {}."}, "b": {"$ref": "#/$defs/my_node_1"}}, "$defs": {"my_node": {"type": "object", "properties": {"left": {"$ref": "#/$defs/my_node"}}}, "my_node_1": {"type": "array", "items": {"$ref": "#/$defs/my_node_1"}}}}) },
        { 'r', "openai-strict", J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/n", "description": "the tree"}}, "required": ["tree"], "$defs": {"n": {"type": "object", "properties": {"left": {"$ref": "#/$defs/n"}}, "required": ["left"]}}}),
          J({"type": "object", "properties": {"tree": {"description": "the tree", "anyOf": [{"$ref": "#/$defs/n"}]}}, "required": ["tree"], "additionalProperties": false, "$defs": {"n": {"type": "object", "properties": {"left": {"$ref": "#/$defs/n"}}, "required": ["left"], "additionalProperties": false}}}) },
        { 'r', "llamacpp", J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/n", "description": "the tree"}}, "required": ["tree"], "$defs": {"n": {"type": "object", "properties": {"left": {"$ref": "#/$defs/n"}}, "required": ["left"]}}}),
          J({"type": "object", "properties": {"tree": {"$ref": "#/$defs/n", "description": "the tree"}}, "required": ["tree"], "$defs": {"n": {"type": "object", "properties": {"left": {"$ref": "#/$defs/n"}}, "required": ["left"]}}}) },
        { 'r', "llamacpp", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string"}}}),
          J({"type": "object", "properties": {"a": {"type": "string"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/y"}}, "$defs": {"x": {"type": "object", "properties": {"y": {"$ref": "#/$defs/y"}}}, "y": {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}}}}),
          J({"type": "object", "properties": {"a": {"type": "object", "properties": {"y": {"type": "object", "properties": {"x": {"description": "Recursive: same shape as x.", "type": "object", "properties": {}}}}}}, "b": {"type": "object", "properties": {"x": {"type": "object", "properties": {"y": {"description": "Recursive: same shape as y.", "type": "object", "properties": {}}}}}}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/l"}}, "$defs": {"l": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/l"}}]}}}),
          J({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"description": "Recursive: same shape as l."}}]}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"default": {"$ref": "#/$defs/x"}, "enum": [{"$ref": "#/$defs/x"}]}}, "$defs": {"x": {"type": "string"}}}),
          J({"type": "object", "properties": {"a": {"type": "object", "default": {"$ref": "#/$defs/x"}, "enum": [{"$ref": "#/$defs/x"}], "properties": {}}}}) },
    };
    check_rows(rows, N(rows));
}

/* Two of one keyword become one. */
TEST(all_of)
{
    static const row rows[] = {
        { 'a', "openai", J({"allOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}, {"properties": {"c": {"type": "integer"}}, "required": ["c"]}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "integer"}}, "required": ["b", "c"]}) },
        { 'a', "openai", J({"allOf": [{"properties": {"b": {"type": "string", "minLength": 2}}}, {"properties": {"b": {"maxLength": 5}}}]}),
          J({"type": "object", "properties": {"b": {"type": "string", "minLength": 2, "maxLength": 5}}}) },
        { 'a', "openai", J({"type": "number", "allOf": [{"minimum": 1, "maximum": 10}, {"minimum": 3, "maximum": 20}, {"type": "integer"}]}),
          J({"type": "integer", "minimum": 3, "maximum": 10}) },
        { 'a', "openai", J({"allOf": [{"type": ["string", "number", "null"]}, {"type": ["integer", "null", "boolean"]}]}),
          J({"type": ["integer", "null"]}) },
        { 'a', "openai", J({"allOf": [{"enum": ["x", "y", "z"]}, {"enum": ["z", "y", "w"]}]}), J({"type": "string", "enum": ["y", "z"]}) },
        { 'a', "openai", J({"allOf": [{"enum": ["x", "y"]}, {"const": "y"}]}), J({"type": "string", "enum": ["y"]}) },
        { 'a', "openai", J({"allOf": [{"enum": ["x"]}, {"const": "y"}], "description": "d"}), J({"description": "d"}) },
        { 'a', "openai", J({"allOf": [{"type": "string"}, {"type": "integer"}], "description": "d"}), J({"description": "d"}) },
        { 'a', "openai", J({"allOf": [{"type": "string"}, false]}), J({"description": "Leave this out."}) },
        { 'a', "openai", J({"allOf": [{"type": "string"}, true, {}, 5]}), J({"type": "string"}) },
        { 'a', "openai", J({"description": "outer", "allOf": [{"description": "inner", "type": "string"}]}),
          J({"description": "outer", "type": "string"}) },
        { 'a', "openai", J({"allOf": [{"description": "inner", "type": "string", "default": "x"}]}),
          J({"description": "inner", "type": "string", "default": "x"}) },
        { 'a', "openai", J({"allOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": false}, {"type": "object", "properties": {"c": {"type": "string"}}, "additionalProperties": false}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}) },
        { 'a', "openai", J({"allOf": [{"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "additionalProperties": false}, {"type": "object", "properties": {"c": {"minLength": 1}}}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string", "minLength": 1}}, "additionalProperties": false}) },
        { 'a', "openai", J({"allOf": [{"type": "object", "additionalProperties": {"type": "string"}}, {"type": "object", "additionalProperties": {"minLength": 2}}]}),
          J({"type": "object", "additionalProperties": {"type": "string", "minLength": 2}}) },
        { 'a', "openai", J({"allOf": [{"type": "object", "additionalProperties": {"type": "string"}}, {"type": "object", "additionalProperties": false}]}),
          J({"type": "object", "additionalProperties": false, "properties": {}}) },
        { 'a', "openai", J({"allOf": [{"type": "array", "items": {"type": "string"}}, {"items": {"maxLength": 3}, "uniqueItems": true}, {"uniqueItems": false}]}),
          J({"type": "array", "items": {"type": "string", "maxLength": 3}, "uniqueItems": true}) },
        { 'a', "anthropic", J({"allOf": [{"prefixItems": [{"type": "string"}]}, {"prefixItems": [{"minLength": 1}, {"type": "number"}]}]}),
          J({"type": "array", "prefixItems": [{"type": "string", "minLength": 1}, {"type": "number"}]}) },
        { 'a', "openai", J({"allOf": [{"type": "string", "pattern": "^a"}, {"pattern": "b$"}]}), J({"type": "string", "pattern": "^a", "description": "Pattern: b$"}) },
        { 'a', "openai", J({"type": "string", "allOf": [{"not": {"const": "x"}}, {"not": {"const": "y"}}]}),
          J({"type": "string", "not": {"type": "string", "enum": ["x", "y"]}}) },
        { 'a', "openai", J({"allOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"description": "d"}]}),
          J({"description": "d", "anyOf": [{"type": "string"}, {"type": "integer"}]}) },
        { 'a', "openai", J({"allOf": [{"allOf": [{"allOf": [{"type": "string"}]}, {"minLength": 1}]}, {"maxLength": 2}]}),
          J({"maxLength": 2, "minLength": 1, "type": "string"}) },
        { 'a', "openai", J({"type": "object", "properties": {"b": {"type": "string"}}, "allOf": [{"if": {"properties": {"b": {"const": "x"}}}, "then": {"required": ["b"]}}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}}, "if": {"type": "object", "properties": {"b": {"type": "string", "enum": ["x"]}}}, "then": {"type": "object", "required": ["b"], "properties": {"b": {}}}}) },
        { 'a', "generic", J({"type": "object", "properties": {"b": {"type": "string"}}, "allOf": [{"if": {"properties": {"b": {"const": "x"}}}, "then": {"required": ["b"]}}]}),
          J({"description": "If: {\"properties\":{\"b\":{\"const\":\"x\"}}}. Then: {\"required\":[\"b\"]}.", "type": "object", "properties": {"b": {"type": "string"}}}) },
        { 'a', "openai", J({"allOf": [{"patternProperties": {"^x": {"type": "string"}}}, {"patternProperties": {"^x": {"minLength": 1}, "^y": {"type": "number"}}}]}),
          J({"type": "object", "patternProperties": {"^x": {"type": "string", "minLength": 1}, "^y": {"type": "number"}}}) },
        { 'a', "openai", J({"allOf": [{"propertyNames": {"minLength": 1}}, {"propertyNames": {"maxLength": 4}}], "type": "object"}),
          J({"type": "object", "propertyNames": {"minLength": 1, "maxLength": 4, "type": "string"}, "properties": {}}) },
        { 'a', "openai", J({"type": "object", "properties": {"b": {"type": "string"}}, "unevaluatedProperties": false, "allOf": [{"properties": {"c": {"type": "string"}}}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "additionalProperties": false}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"allOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/y"}]}}, "$defs": {"x": {"properties": {"b": {"type": "string"}}}, "y": {"properties": {"c": {"type": "string"}}}}}),
          J({"type": "object", "properties": {"a": {"type": "object", "properties": {"c": {"type": "string"}, "b": {"type": "string"}}}}}) },
        { 'r', "openai", J({"allOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}, {"properties": {"c": {"type": "string"}}}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "required": ["b"]}) },
        { 'r', "openai", J({"allOf": [{"type": "object"}, {"type": "string"}], "properties": {"b": {"type": "string"}}}),
          J({"properties": {"b": {"type": "string"}}, "type": "object"}) },
        { 'a', "openai", J({"allOf": [{"minItems": 2, "maxItems": 5, "minContains": 1, "contains": {"type": "string"}}, {"minItems": 1, "maxItems": 4, "minContains": 2}]}),
          J({"type": "array", "minItems": 2, "maxItems": 4, "minContains": 2, "contains": {"type": "string"}, "items": {}}) },
        { 'a', "openai", J({"type": "integer", "allOf": [{"exclusiveMinimum": 1}, {"exclusiveMinimum": 5}, {"exclusiveMaximum": 9}, {"exclusiveMaximum": 8}]}),
          J({"type": "integer", "exclusiveMinimum": 5, "exclusiveMaximum": 8}) },
    };
    check_rows(rows, N(rows));
}

/* Variants become one object. */
TEST(root_unions)
{
    static const row rows[] = {
        { 'r', "openai", J({"type": "object", "anyOf": [{"properties": {"path": {"type": "string"}}, "required": ["path"]}, {"properties": {"url": {"type": "string"}}, "required": ["url"]}]}),
          J({"description": "Variants: (path) | (url).", "type": "object", "properties": {"path": {"type": "string"}, "url": {"type": "string"}}}) },
        { 'r', "openai", J({"oneOf": [{"type": "object", "properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["kind", "path"]}, {"type": "object", "properties": {"kind": {"const": "web"}, "url": {"type": "string"}}, "required": ["kind", "url"]}]}),
          J({"description": "Variants: (kind file, path) | (kind web, url).", "type": "object", "properties": {"kind": {"type": "string", "enum": ["file", "web"]}, "path": {"type": "string"}, "url": {"type": "string"}}, "required": ["kind"]}) },
        { 'r', "openai", J({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"], "oneOf": [{"properties": {"x": {"type": "string"}}, "required": ["x", "id"]}, {"properties": {"y": {"type": "string"}}, "required": ["y"]}]}),
          J({"description": "Variants: (x, id) | (y).", "type": "object", "properties": {"id": {"type": "integer"}, "x": {"type": "string"}, "y": {"type": "string"}}, "required": ["id"]}) },
        { 'r', "openai", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}, "d": {"type": "string"}}, "anyOf": [{"required": ["b"]}, {"required": ["c", "d"]}]}),
          J({"description": "Give at least one of: b | c,d.", "type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}, "d": {"type": "string"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "oneOf": [{"required": ["b"]}, {"required": ["c"]}]}),
          J({"description": "Give exactly one of: b | c.", "type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}) },
        { 'r', "openai", J({"anyOf": [{"type": "object", "properties": {"v": {"type": "string"}}, "required": ["v"]}, {"type": "object", "properties": {"v": {"type": "integer"}}, "required": ["v"]}]}),
          J({"type": "object", "properties": {"v": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}, "required": ["v"]}) },
        { 'r', "openai", J({"anyOf": [{"type": "object", "properties": {"v": {"type": "string"}}}, {"type": "object", "properties": {"v": {"type": "string"}}}]}),
          J({"type": "object", "properties": {"v": {"type": "string"}}}) },
        { 'r', "openai", J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}}, {"type": "string"}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}}}) },
        { 'r', "openai", J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}}, {"type": "null"}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"b": {"type": "string"}}, "anyOf": [{"type": "string"}, {"type": "integer"}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}}}) },
        { 'r', "openai", J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": false}, {"type": "object", "properties": {"c": {"type": "string"}}, "additionalProperties": false}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "additionalProperties": false}) },
        { 'r', "openai", J({"anyOf": [{"properties": {"b": {"type": "string"}}}, {"properties": {"c": {"type": "string"}}}], "oneOf": [{"properties": {"d": {"type": "string"}}}, {"properties": {"b": {"maxLength": 4}}}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}, "d": {"type": "string"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"v": {"type": "string"}}, "anyOf": [{"properties": {"v": {"maxLength": 3}}}, {"properties": {"v": {"minLength": 7}}}]}),
          J({"type": "object", "properties": {"v": {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "string", "minLength": 7}]}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"v": {"type": "string"}}, "anyOf": [{"properties": {"v": {"maxLength": 3}}}, {"properties": {"w": {"minLength": 7}}}]}),
          J({"type": "object", "properties": {"v": {"type": "string"}, "w": {"type": "string", "minLength": 7}}}) },
        { 'r', "openai", J({"anyOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/y"}], "$defs": {"x": {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}, "y": {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]}}}),
          J({"description": "Variants: (b) | (c).", "type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}) },
        { 'r', "openai anthropic", J({"type": "object", "properties": {"b": {"type": "string"}}, "not": {"required": ["b"]}}),
          J({"description": "Not: {\"required\":[\"b\"]}.", "type": "object", "properties": {"b": {"type": "string"}}}) },
        { 'r', "openai anthropic", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "if": {"required": ["b"]}, "then": {"required": ["c"]}, "else": {"required": ["b"]}}),
          J({"description": "If: {\"required\":[\"b\"]}. Then: {\"required\":[\"c\"]}. Else: {\"required\":[\"b\"]}.", "type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "dependentRequired": {"b": ["c"]}, "dependentSchemas": {"c": {"required": ["b"]}}}),
          J({"description": "With b: [\"c\"]. With c: {\"required\":[\"b\"]}.", "type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"b": {"type": "integer"}}, "enum": [{"b": 1}, {"b": 2}]}),
          J({"description": "One of {\"b\":1}, {\"b\":2}.", "type": "object", "properties": {"b": {"type": "integer"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"b": {"type": "integer"}}, "allOf": [false]}),
          J({"type": "object", "properties": {"b": {"type": "integer"}}}) },
        { 'r', "openai", J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "minProperties": 2}, {"type": "object", "properties": {"c": {"type": "string"}}}]}),
          J({"description": "Variants: (b) | ().", "type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}) },
        { 'r', "openai", J({"oneOf": [{"type": "object", "properties": {"op": {"enum": ["x", "y"]}}}, {"type": "object", "properties": {"op": {"const": "z"}}}], "description": "does it"}),
          J({"type": "object", "description": "does it", "properties": {"op": {"type": "string", "enum": ["x", "y", "z"]}}}) },
    };
    check_rows(rows, N(rows));
}

/* Branches that say nothing, or the same, or the impossible. */
TEST(unions)
{
    static const row rows[] = {
        { 'a', "openai", J({"oneOf": [{"type": "string"}, {"type": "integer"}]}), J({"anyOf": [{"type": "string"}, {"type": "integer"}]}) },
        { 'a', "anthropic llamacpp", J({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
          J({"oneOf": [{"type": "string"}, {"type": "integer"}]}) },
        { 'a', "openai", J({"anyOf": [{"type": "string"}]}), J({"type": "string"}) },
        { 'a', "openai", J({"description": "d", "anyOf": [{"type": "string", "description": "inner", "minLength": 1}]}),
          J({"description": "d", "type": "string", "minLength": 1}) },
        { 'a', "openai", J({"anyOf": [{"type": "string"}, false]}), J({"type": "string"}) },
        { 'a', "openai", J({"anyOf": [{"type": "string"}, {"not": {}}]}), J({"type": "string"}) },
        { 'a', "openai", J({"anyOf": [{"type": "string"}, {"type": "string"}]}), J({"type": "string"}) },
        { 'a', "openai", J({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "string"}]}),
          J({"anyOf": [{"type": "string"}, {"type": "integer"}]}) },
        { 'a', "openai", J({"anyOf": [{"type": "string"}, 5, "x"]}), J({"type": "string"}) },
        { 'a', "openai", J({"anyOf": [false, {"not": {}}]}), J({}) },
        { 'a', "openai", J({"anyOf": [{"const": "x"}, {"const": "y"}, {"enum": ["z"]}]}), J({"type": "string", "enum": ["x", "y", "z"]}) },
        { 'a', "openai", J({"oneOf": [{"const": 1}, {"const": 2}]}), J({"type": "integer", "enum": [1, 2]}) },
        { 'a', "openai", J({"oneOf": [{"const": 1, "title": "one"}, {"const": 2.5, "title": "two"}]}), J({"type": "number", "enum": [1, 2.5]}) },
        { 'a', "openai", J({"oneOf": [{"const": "x", "description": "the x"}, {"const": "y", "description": "the y"}]}),
          J({"anyOf": [{"type": "string", "enum": ["x"], "description": "the x"}, {"type": "string", "enum": ["y"], "description": "the y"}]}) },
        { 'a', "openai", J({"oneOf": [{"const": "x"}, {"const": 1}]}),
          J({"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "integer", "enum": [1]}]}) },
        { 'a', "openai", J({"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "string"}]}),
          J({"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "string"}]}) },
        { 'a', "openai", J({"anyOf": [{}, {"type": "string"}]}), J({"anyOf": [{}, {"type": "string"}]}) },
        { 'a', "openai", J({"anyOf": [{}, {}]}), J({}) },
        { 'a', "openai", J({"anyOf": [{"description": "x"}, {"title": "y"}]}), J({}) },
        { 'a', "openai", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "anyOf": [{"required": ["b"]}, {"required": ["c"]}]}),
          J({"description": "Give at least one of: b | c.", "type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}) },
        { 'a', "openai", J({"type": "object", "properties": {"b": {"type": "string"}}, "anyOf": [{"properties": {"c": {"type": "string"}}, "required": ["b", "c"]}, {"properties": {"d": {"type": "string"}}}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}}, "anyOf": [{"properties": {"c": {"type": "string"}, "b": {}}, "required": ["b", "c"], "type": "object"}, {"properties": {"d": {"type": "string"}}, "type": "object"}]}) },
        { 'a', "gemini moonshot llamacpp", J({"type": "object", "properties": {"b": {"type": "string"}}, "anyOf": [{"properties": {"c": {"type": "string"}}, "required": ["b", "c"]}, {"properties": {"d": {"type": "string"}}}]}),
          J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "required": ["b", "c"]}, {"type": "object", "properties": {"b": {"type": "string"}, "d": {"type": "string"}}}]}) },
        { 'a', "gemini", J({"type": "string", "description": "d", "title": "T", "default": "x", "anyOf": [{"minLength": 3}, {"maxLength": 1}]}),
          J({"description": "d. Default: \"x\".", "anyOf": [{"type": "string", "minLength": 3}, {"type": "string", "maxLength": 1}]}) },
        { 'a', "moonshot", J({"type": "string", "description": "d", "title": "T", "default": "x", "anyOf": [{"minLength": 3}, {"maxLength": 1}]}),
          J({"description": "d. Default: \"x\".", "title": "T", "anyOf": [{"type": "string", "minLength": 3}, {"type": "string", "maxLength": 1}]}) },
        { 'a', "gemini", J({"type": "string", "anyOf": [{"type": "integer"}, {"maxLength": 1}]}), J({"type": "string", "maxLength": 1}) },
        { 'a', "openai", J({"type": "string", "anyOf": [{"type": "integer"}, {"maxLength": 1}]}), J({"type": "string", "maxLength": 1}) },
        { 'a', "openai", J({"type": ["string", "integer"], "anyOf": [{"type": "string", "minLength": 1}, {"type": "boolean"}, {"minimum": 4}]}),
          J({"type": ["string", "integer"], "anyOf": [{"type": "string", "minLength": 1}, {"minimum": 4, "type": "integer"}]}) },
        { 'a', "openai", J({"anyOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "boolean"}]}),
          J({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}]}) },
        { 'a', "openai", J({"anyOf": [{"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "boolean"}]}),
          J({"anyOf": [{"type": ["string", "null"]}, {"type": "boolean"}]}) },
        { 'a', "openai", J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]}),
          J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}}, {"type": "array", "items": {"type": "string"}}, {"type": "null"}]}) },
        { 'a', "openai", J({"anyOf": [{"type": "string"}, {"type": "integer"}], "oneOf": [{"minLength": 1}, {"minimum": 2}]}),
          J({"anyOf": [{"type": "string", "anyOf": [{"minLength": 1, "type": "string"}, {}]}, {"type": "integer", "anyOf": [{}, {"minimum": 2, "type": "integer"}]}]}) },
        { 'a', "openai", J({"type": "string", "anyOf": [{"format": "uuid"}, {"format": "email"}], "allOf": [{"anyOf": [{"minLength": 3}, {"maxLength": 2}]}]}),
          J({"type": "string", "anyOf": [{"format": "uuid", "type": "string", "anyOf": [{"minLength": 3, "type": "string"}, {"maxLength": 2, "type": "string"}]}, {"format": "email", "type": "string", "anyOf": [{"minLength": 3, "type": "string"}, {"maxLength": 2, "type": "string"}]}]}) },
        { 'a', "openai", J({"anyOf": [{"type": ["string", "null"]}, {"type": "integer"}]}),
          J({"anyOf": [{"type": ["string", "null"]}, {"type": "integer"}]}) },
        { 'a', "openai", J({"anyOf": [{"type": "array", "items": {}}, {"minItems": 2}]}),
          J({"anyOf": [{"type": "array", "items": {}}, {"type": "array", "minItems": 2, "items": {}}]}) },
        { 'a', "anthropic", J({"oneOf": [{"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "boolean"}]}),
          J({"oneOf": [{"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "boolean"}]}) },
    };
    check_rows(rows, N(rows));
}

/* Or null, in the form of each profile. */
TEST(nulls)
{
    static const row rows[] = {
        { 'a', "openai deepseek-strict gemini-json llamacpp", J({"type": ["string", "null"]}), J({"type": ["string", "null"]}) },
        { 'a', "gemini", J({"type": ["string", "null"]}), J({"type": "string", "nullable": true}) },
        { 'a', "moonshot", J({"type": ["string", "null"]}), J({"anyOf": [{"type": "string"}, {"type": "null"}]}) },
        { 'a', "ollama", J({"type": ["string", "null"]}), J({"type": "string"}) },
        { 'a', "openai", J({"type": ["null", "string"], "description": "d", "minLength": 2}),
          J({"type": ["null", "string"], "description": "d", "minLength": 2}) },
        { 'a', "gemini", J({"type": ["null", "string"], "description": "d", "minLength": 2}),
          J({"type": "string", "description": "d", "minLength": 2, "nullable": true}) },
        { 'a', "moonshot", J({"type": ["null", "string"], "description": "d", "minLength": 2}),
          J({"description": "d", "anyOf": [{"type": "string", "minLength": 2}, {"type": "null"}]}) },
        { 'a', "ollama", J({"type": ["null", "string"], "description": "d", "minLength": 2}),
          J({"type": "string", "description": "d. Length at least 2."}) },
        { 'a', "deepseek-strict gemini-json", J({"type": ["null", "string"], "description": "d", "minLength": 2}),
          J({"type": ["null", "string"], "description": "d. Length at least 2."}) },
        { 'a', "openai gemini-json openai-strict", J({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}),
          J({"type": ["integer", "null"], "minimum": 1}) },
        { 'a', "gemini", J({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}),
          J({"type": "integer", "minimum": 1, "nullable": true}) },
        { 'a', "moonshot", J({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}),
          J({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}) },
        { 'a', "ollama", J({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}),
          J({"description": "Range at least 1.", "type": "integer"}) },
        { 'a', "openai moonshot gemini-json", J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}, {"type": "null"}]}),
          J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}, {"type": "null"}]}) },
        { 'a', "gemini", J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}, {"type": "null"}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "nullable": true}) },
        { 'a', "ollama", J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}, {"type": "null"}]}),
          J({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}) },
        { 'a', "deepseek-strict", J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}, {"type": "null"}]}),
          J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "additionalProperties": false}, {"type": "null"}]}) },
        { 'a', "openai gemini-json", J({"type": ["object", "null"], "properties": {"b": {"type": "string"}}, "required": ["b"]}),
          J({"type": ["object", "null"], "properties": {"b": {"type": "string"}}, "required": ["b"]}) },
        { 'a', "gemini", J({"type": ["object", "null"], "properties": {"b": {"type": "string"}}, "required": ["b"]}),
          J({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "nullable": true}) },
        { 'a', "moonshot", J({"type": ["object", "null"], "properties": {"b": {"type": "string"}}, "required": ["b"]}),
          J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}, {"type": "null"}]}) },
        { 'a', "ollama", J({"type": ["object", "null"], "properties": {"b": {"type": "string"}}, "required": ["b"]}),
          J({"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"]}) },
        { 'a', "deepseek-strict", J({"type": ["object", "null"], "properties": {"b": {"type": "string"}}, "required": ["b"]}),
          J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b"], "additionalProperties": false}, {"type": "null"}]}) },
        { 'a', "openai moonshot gemini-json deepseek-strict", J({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
          J({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}) },
        { 'a', "gemini", J({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
          J({"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": true}) },
        { 'a', "ollama", J({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}),
          J({"anyOf": [{"type": "string"}, {"type": "integer"}]}) },
        { 'a', "openai gemini-json deepseek-strict", J({"type": ["string", "integer", "null"]}), J({"type": ["string", "integer", "null"]}) },
        { 'a', "gemini", J({"type": ["string", "integer", "null"]}), J({"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": true}) },
        { 'a', "moonshot", J({"type": ["string", "integer", "null"]}), J({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}) },
        { 'a', "ollama", J({"type": ["string", "integer", "null"]}), J({"type": ["string", "integer"]}) },
        { 'a', "openai llamacpp", J({"type": ["string", "null"], "enum": ["x", "y", null]}),
          J({"type": ["string", "null"], "enum": ["x", "y", null]}) },
        { 'a', "gemini", J({"type": ["string", "null"], "enum": ["x", "y", null]}), J({"type": "string", "enum": ["x", "y"], "nullable": true}) },
        { 'a', "moonshot gemini-json", J({"type": ["string", "null"], "enum": ["x", "y", null]}),
          J({"anyOf": [{"type": "string", "enum": ["x", "y"]}, {"type": "null"}]}) },
        { 'a', "ollama", J({"type": ["string", "null"], "enum": ["x", "y", null]}), J({"type": "string", "enum": ["x", "y"]}) },
        { 'a', "openai gemini moonshot", J({"type": ["string", "null"], "enum": ["x", "y"]}), J({"type": "string", "enum": ["x", "y"]}) },
        { 'a', "openai gemini moonshot", J({"type": "string", "enum": ["x", null]}), J({"type": "string", "enum": ["x"]}) },
        { 'a', "openai", J({"enum": ["x", null]}), J({"type": ["string", "null"], "enum": ["x", null]}) },
        { 'a', "gemini", J({"enum": ["x", null]}), J({"type": "string", "enum": ["x"], "nullable": true}) },
        { 'a', "moonshot gemini-json", J({"enum": ["x", null]}), J({"anyOf": [{"type": "string", "enum": ["x"]}, {"type": "null"}]}) },
        { 'a', "openai moonshot", J({"type": "null"}), J({"type": "null"}) },
        { 'a', "gemini", J({"type": "null"}), J({"type": "string", "nullable": true}) },
        { 'a', "ollama", J({"type": "null"}), J({"type": "string"}) },
        { 'a', "openai moonshot", J({"enum": [null]}), J({"type": "null"}) },
        { 'a', "gemini", J({"enum": [null]}), J({"type": "string", "nullable": true}) },
        { 'a', "ollama", J({"enum": [null]}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "string", "enum": [null]}), J({"type": "null"}) },
        { 'a', "openai", J({"type": "string", "anyOf": [{"type": "null"}, {"minLength": 2}]}), J({"type": "string", "minLength": 2}) },
        { 'a', "openai", J({"nullable": true}), J({}) },
        { 'a', "gemini", J({"nullable": true}), J({"description": "Any JSON value.", "type": "string", "nullable": true}) },
        { 'a', "openai", J({"type": "integer", "nullable": true, "enum": [1, 2]}), J({"type": ["integer", "null"], "enum": [1, 2, null]}) },
        { 'a', "gemini", J({"type": "integer", "nullable": true, "enum": [1, 2]}),
          J({"description": "One of 1, 2.", "type": "integer", "nullable": true}) },
        { 'a', "moonshot", J({"type": "integer", "nullable": true, "enum": [1, 2]}),
          J({"anyOf": [{"type": "integer", "enum": [1, 2]}, {"type": "null"}]}) },
        { 'a', "openai", J({"type": "array", "items": {"type": "string", "nullable": true}}),
          J({"type": "array", "items": {"type": ["string", "null"]}}) },
        { 'a', "gemini", J({"type": "array", "items": {"type": "string", "nullable": true}}),
          J({"type": "array", "items": {"type": "string", "nullable": true}}) },
        { 'a', "moonshot", J({"type": "array", "items": {"type": "string", "nullable": true}}),
          J({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}) },
        { 'a', "openai", J({"type": ["array", "null"], "items": {"type": "string"}}), J({"type": ["array", "null"], "items": {"type": "string"}}) },
        { 'a', "gemini", J({"type": ["array", "null"], "items": {"type": "string"}}),
          J({"type": "array", "items": {"type": "string"}, "nullable": true}) },
        { 'a', "moonshot", J({"type": ["array", "null"], "items": {"type": "string"}}),
          J({"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}) },
        { 'a', "openai", J({"anyOf": [{"type": "null"}, {"const": null}]}), J({"type": "null"}) },
        { 'a', "openai", J({"type": "string", "default": null}), J({"type": "string"}) },
        { 'a', "openai", J({"type": ["string", "null"], "default": null}), J({"type": ["string", "null"], "default": null}) },
        { 'a', "gemini", J({"type": ["string", "null"], "default": null}), J({"type": "string", "nullable": true}) },
        { 'a', "openai", J({"anyOf": [{"type": "string", "nullable": true}, {"type": "integer"}]}),
          J({"anyOf": [{"type": ["string", "null"]}, {"type": "integer"}]}) },
        { 'a', "moonshot", J({"type": ["string", "integer"], "description": "d"}), J({"type": ["string", "integer"], "description": "d"}) },
        { 'a', "moonshot", J({"type": ["string", "integer"], "minLength": 2, "minimum": 1}),
          J({"anyOf": [{"type": "string", "minLength": 2}, {"type": "integer", "minimum": 1}]}) },
        { 'a', "moonshot", J({"type": ["string", "array"]}),
          J({"anyOf": [{"type": "string"}, {"type": "array", "items": {"description": "Any JSON value.", "type": "string"}}]}) },
        { 'a', "gemini deepseek-strict", J({"type": ["string", "array", "number", "integer"], "items": {"type": "string"}}),
          J({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "number"}]}) },
    };
    check_rows(rows, N(rows));
}

/* const and enum, in the form of each profile. */
TEST(constants)
{
    static const row rows[] = {
        { 'a', "openai gemini gemini-json", J({"const": "x"}), J({"type": "string", "enum": ["x"]}) },
        { 'a', "anthropic llamacpp", J({"const": "x"}), J({"type": "string", "const": "x"}) },
        { 'a', "openai gemini-json moonshot ollama", J({"const": 7}), J({"type": "integer", "enum": [7]}) },
        { 'a', "anthropic", J({"const": 7}), J({"type": "integer", "const": 7}) },
        { 'a', "gemini", J({"const": 7}), J({"description": "Must be 7.", "type": "integer"}) },
        { 'a', "openai moonshot openai-strict deepseek-strict", J({"const": true}), J({"type": "boolean", "enum": [true]}) },
        { 'a', "anthropic", J({"const": true}), J({"type": "boolean", "const": true}) },
        { 'a', "gemini gemini-json", J({"const": true}), J({"description": "Must be true.", "type": "boolean"}) },
        { 'a', "openai anthropic gemini-json moonshot", J({"type": "integer", "enum": [1, 2, 3]}), J({"type": "integer", "enum": [1, 2, 3]}) },
        { 'a', "gemini", J({"type": "integer", "enum": [1, 2, 3]}), J({"description": "One of 1, 2, 3.", "type": "integer"}) },
        { 'a', "openai", J({"enum": ["x", 1]}), J({"type": ["string", "integer"], "enum": ["x", 1]}) },
        { 'a', "gemini", J({"enum": ["x", 1]}), J({"anyOf": [{"enum": ["x"], "type": "string"}, {"description": "Must be 1.", "type": "integer"}]}) },
        { 'a', "gemini-json moonshot openai-strict", J({"enum": ["x", 1]}),
          J({"anyOf": [{"enum": ["x"], "type": "string"}, {"enum": [1], "type": "integer"}]}) },
        { 'a', "openai", J({"enum": ["x", true, 2]}), J({"type": ["string", "boolean", "integer"], "enum": ["x", true, 2]}) },
        { 'a', "gemini", J({"enum": ["x", true, 2]}),
          J({"anyOf": [{"enum": ["x"], "type": "string"}, {"description": "Must be true.", "type": "boolean"}, {"description": "Must be 2.", "type": "integer"}]}) },
        { 'a', "gemini-json", J({"enum": ["x", true, 2]}),
          J({"anyOf": [{"enum": ["x"], "type": "string"}, {"description": "Must be true.", "type": "boolean"}, {"enum": [2], "type": "integer"}]}) },
        { 'a', "moonshot", J({"enum": ["x", true, 2]}),
          J({"anyOf": [{"enum": ["x"], "type": "string"}, {"enum": [true], "type": "boolean"}, {"enum": [2], "type": "integer"}]}) },
        { 'a', "openai", J({"enum": [{"b": 1}, {"b": 2}]}), J({"type": "object", "enum": [{"b": 1}, {"b": 2}], "properties": {}}) },
        { 'a', "gemini gemini-json moonshot", J({"enum": [{"b": 1}, {"b": 2}]}),
          J({"description": "One of {\"b\":1}, {\"b\":2}.", "type": "object"}) },
        { 'a', "openai", J({"enum": [[1], [2]]}), J({"type": "array", "enum": [[1], [2]], "items": {}}) },
        { 'a', "gemini moonshot", J({"enum": [[1], [2]]}),
          J({"description": "One of [1], [2].", "type": "array", "items": {"description": "Any JSON value.", "type": "string"}}) },
        { 'a', "gemini-json", J({"enum": [[1], [2]]}), J({"description": "One of [1], [2].", "type": "array"}) },
        { 'a', "gemini", J({"type": "string", "enum": ["", "x"]}), J({"type": "string", "enum": ["x"]}) },
        { 'a', "gemini", J({"type": "string", "enum": [""]}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "integer", "enum": ["x", "y"]}), J({"type": "string", "enum": ["x", "y"]}) },
        { 'a', "openai", J({"type": "integer", "enum": [1, "x", 2.5]}), J({"type": "integer", "enum": [1]}) },
        { 'a', "openai", J({"type": "number", "enum": [1, 2.5]}), J({"type": "number", "enum": [1, 2.5]}) },
        { 'a', "openai", J({"type": "string", "enum": ["x"], "const": "x"}), J({"type": "string", "enum": ["x"]}) },
        { 'a', "anthropic", J({"type": "string", "enum": ["x"]}), J({"type": "string", "enum": ["x"]}) },
        { 'a', "openai", J({"enum": [1, 1.0, 9007199254740993, 1e400]}), J({"type": "number", "enum": [1, 1.0, 9007199254740993, 1e400]}) },
    };
    check_rows(rows, N(rows));
}

/* Items, tuples and their bounds. */
TEST(arrays)
{
    static const row rows[] = {
        { 'a', "openai generic", J({"type": "array"}), J({"type": "array", "items": {}}) },
        { 'a', "anthropic gemini-json llamacpp ollama", J({"type": "array"}), J({"type": "array"}) },
        { 'a', "gemini moonshot", J({"type": "array"}), J({"type": "array", "items": {"description": "Any JSON value.", "type": "string"}}) },
        { 'a', "openai llamacpp", J({"type": "array", "items": {}}), J({"type": "array", "items": {}}) },
        { 'a', "gemini moonshot", J({"type": "array", "items": {}}),
          J({"type": "array", "items": {"description": "Any JSON value.", "type": "string"}}) },
        { 'A', "deepseek-strict", J({"type": "array", "items": {}}), J({"type": "array", "items": {}}) },
        { 'a', "openai", J({"type": "array", "items": {"description": "d"}}), J({"type": "array", "items": {"description": "d"}}) },
        { 'a', "gemini moonshot", J({"type": "array", "items": {"description": "d"}}),
          J({"type": "array", "items": {"type": "string", "description": "d. Any JSON value."}}) },
        { 'a', "openai gemini openai-strict", J({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}),
          J({"description": "Items in order: string, integer. At most 2.", "type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}) },
        { 'a', "anthropic gemini-json llamacpp", J({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}),
          J({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}], "items": false}) },
        { 'a', "openai", J({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "string"}}),
          J({"description": "Items in order: string.", "type": "array", "items": {"type": "string"}}) },
        { 'a', "openai", J({"type": "array", "prefixItems": []}), J({"type": "array", "items": {}}) },
        { 'a', "openai anthropic", J({"type": "array", "prefixItems": 7, "items": {"type": "string"}}),
          J({"type": "array", "items": {"type": "string"}}) },
        { 'a', "openai generic", J({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3, "uniqueItems": true}),
          J({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3, "uniqueItems": true}) },
        { 'a', "ollama", J({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3, "uniqueItems": true}),
          J({"description": "Items: 1..3. No duplicates.", "type": "array", "items": {"type": "string"}}) },
        { 'a', "openai-strict", J({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3, "uniqueItems": true}),
          J({"description": "No duplicates.", "type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3}) },
        { 'a', "gemini moonshot gemini-json", J({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3, "uniqueItems": true}),
          J({"description": "No duplicates.", "type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3}) },
        { 'a', "deepseek-strict", J({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3, "uniqueItems": true}),
          J({"description": "Items: 1..3. No duplicates.", "type": "array", "items": {"type": "string"}}) },
        { 'a', "openai", J({"type": "array", "items": {"type": "string"}, "contains": {"const": "x"}, "minContains": 1, "maxContains": 2}),
          J({"type": "array", "items": {"type": "string"}, "contains": {"type": "string", "enum": ["x"]}, "minContains": 1, "maxContains": 2}) },
        { 'a', "generic", J({"type": "array", "items": {"type": "string"}, "contains": {"const": "x"}, "minContains": 1, "maxContains": 2}),
          J({"description": "Contains: {\"const\":\"x\"}.", "type": "array", "items": {"type": "string"}}) },
        { 'a', "llamacpp", J({"type": "array", "items": {"type": "string"}, "contains": {"const": "x"}, "minContains": 1, "maxContains": 2}),
          J({"type": "array", "items": {"type": "string"}}) },
        { 'a', "openai", J({"type": "array", "items": {"type": "string"}, "minItems": 4, "maxItems": 2}),
          J({"type": "array", "items": {"type": "string"}}) },
    };
    check_rows(rows, N(rows));
}

/* Formats by the list of the profile; the others are told. */
TEST(formats)
{
    static const row rows[] = {
        { 'a', "openai openai-strict gemini gemini-json llamacpp anthropic", J({"type": "string", "format": "date-time"}),
          J({"type": "string", "format": "date-time"}) },
        { 'a', "deepseek-strict moonshot ollama", J({"type": "string", "format": "date-time"}),
          J({"description": "Format: date-time.", "type": "string"}) },
        { 'a', "openai openai-strict deepseek-strict", J({"type": "string", "format": "email", "description": "An address"}),
          J({"type": "string", "format": "email", "description": "An address"}) },
        { 'a', "gemini gemini-json moonshot ollama llamacpp", J({"type": "string", "format": "email", "description": "An address"}),
          J({"type": "string", "description": "An address. Format: email."}) },
        { 'a', "openai", J({"type": "string", "format": "uri"}), J({"type": "string", "format": "uri"}) },
        { 'a', "openai-strict gemini gemini-json deepseek-strict moonshot ollama llamacpp", J({"type": "string", "format": "uri"}),
          J({"description": "Format: uri.", "type": "string"}) },
        { 'a', "gemini", J({"type": "string", "format": "time"}), J({"description": "Format: time.", "type": "string"}) },
        { 'a', "gemini-json openai-strict llamacpp", J({"type": "string", "format": "time"}), J({"type": "string", "format": "time"}) },
        { 'a', "gemini openai", J({"type": "integer", "format": "int32"}), J({"type": "integer", "format": "int32"}) },
        { 'a', "gemini-json", J({"type": "integer", "format": "int32"}), J({"description": "Format: int32.", "type": "integer"}) },
        { 'a', "gemini openai", J({"type": "number", "format": "double"}), J({"type": "number", "format": "double"}) },
        { 'a', "gemini", J({"type": "integer", "format": "uint8"}), J({"description": "Format: uint8.", "type": "integer"}) },
        { 'a', "gemini", J({"type": "boolean", "format": "x"}), J({"type": "boolean"}) },
    };
    check_rows(rows, N(rows));
}

/* Patterns that an engine does not know are told. */
TEST(patterns)
{
    static const row rows[] = {
        { 'a', "openai anthropic generic openai-strict gemini llamacpp", J({"type": "string", "pattern": "^[a-z]+$"}),
          J({"type": "string", "pattern": "^[a-z]+$"}) },
        { 'a', "gemini-json moonshot ollama deepseek-strict", J({"type": "string", "pattern": "^[a-z]+$"}),
          J({"description": "Pattern: ^[a-z]+$", "type": "string"}) },
        { 'a', "openai anthropic generic openai-strict gemini", J({"type": "string", "pattern": "[a-z]+"}),
          J({"type": "string", "pattern": "[a-z]+"}) },
        { 'a', "llamacpp", J({"type": "string", "pattern": "[a-z]+"}), J({"description": "Pattern: [a-z]+", "type": "string"}) },
        { 'a', "openai generic openai-strict gemini deepseek", J({"type": "string", "pattern": "^(?!x)y$"}),
          J({"description": "Pattern: ^(?!x)y$", "type": "string"}) },
        { 'a', "anthropic", J({"type": "string", "pattern": "^(?!x)y$"}), J({"type": "string", "pattern": "^(?!x)y$"}) },
        { 'a', "openai generic", J({"type": "string", "pattern": "(?<=x)y"}), J({"description": "Pattern: (?<=x)y", "type": "string"}) },
        { 'a', "anthropic", J({"type": "string", "pattern": "(?<=x)y"}), J({"type": "string", "pattern": "(?<=x)y"}) },
        { 'a', "openai generic", J({"type": "string", "pattern": "(a)\\1"}), J({"description": "Pattern: (a)\\1", "type": "string"}) },
        { 'a', "anthropic", J({"type": "string", "pattern": "(a)\\1"}), J({"type": "string", "pattern": "(a)\\1"}) },
        { 'a', "openai generic", J({"type": "string", "pattern": "\\p{L}"}), J({"description": "Pattern: \\p{L}", "type": "string"}) },
        { 'a', "anthropic", J({"type": "string", "pattern": "\\p{L}"}), J({"type": "string", "pattern": "\\p{L}"}) },
        { 'a', "openai generic", J({"type": "string", "pattern": "(?<year>[0-9]+)"}),
          J({"description": "Pattern: (?<year>[0-9]+)", "type": "string"}) },
        { 'a', "anthropic", J({"type": "string", "pattern": "(?<year>[0-9]+)"}), J({"type": "string", "pattern": "(?<year>[0-9]+)"}) },
        { 'a', "openai anthropic", J({"type": "string", "pattern": "(a"}), J({"description": "Pattern: (a", "type": "string"}) },
        { 'a', "llamacpp", J({"type": "string", "pattern": "^a{2,5000}$"}), J({"description": "Pattern: ^a{2,5000}$", "type": "string"}) },
    };
    check_rows(rows, N(rows));
}

/* Numbers are copied as they were written; bounds that nothing can meet go. */
TEST(bounds)
{
    static const row rows[] = {
        { 'a', "openai gemini gemini-json moonshot llamacpp deepseek-strict openai-strict", J({"type": "integer", "minimum": 1, "maximum": 5}),
          J({"type": "integer", "minimum": 1, "maximum": 5}) },
        { 'a', "ollama", J({"type": "integer", "minimum": 1, "maximum": 5}), J({"description": "Range 1..5.", "type": "integer"}) },
        { 'a', "ollama", J({"type": "integer", "minimum": 1}), J({"description": "Range at least 1.", "type": "integer"}) },
        { 'a', "ollama", J({"type": "integer", "maximum": 5, "description": "How many? "}),
          J({"type": "integer", "description": "How many? Range at most 5."}) },
        { 'a', "openai llamacpp", J({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10}),
          J({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10}) },
        { 'a', "gemini gemini-json moonshot", J({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10}),
          J({"type": "integer", "minimum": 1, "maximum": 9}) },
        { 'a', "ollama", J({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10}),
          J({"description": "Over 0. Under 10.", "type": "integer"}) },
        { 'a', "gemini moonshot", J({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1.5}),
          J({"description": "Over 0. Under 1.5.", "type": "number", "minimum": 0, "maximum": 1.5}) },
        { 'a', "gemini", J({"type": "integer", "minimum": 3, "exclusiveMinimum": 0}), J({"type": "integer", "minimum": 3}) },
        { 'a', "gemini", J({"type": "integer", "minimum": 3, "exclusiveMinimum": 7}), J({"type": "integer", "minimum": 8}) },
        { 'a', "openai", J({"type": "integer", "minimum": 0, "maximum": 18446744073709551616}),
          J({"type": "integer", "minimum": 0, "maximum": 18446744073709551616}) },
        { 'a', "openai", J({"type": "number", "minimum": 1.50, "maximum": 1e400}), J({"type": "number", "minimum": 1.50, "maximum": 1e400}) },
        { 'a', "openai", J({"type": "integer", "minimum": 9, "maximum": 3}), J({"type": "integer"}) },
        { 'a', "openai", J({"type": "string", "minLength": 9, "maxLength": 3}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "object", "minProperties": 9, "maxProperties": 3}), J({"type": "object", "properties": {}}) },
        { 'a', "openai-strict deepseek-strict ollama", J({"type": "string", "minLength": 2, "maxLength": 30}),
          J({"description": "Length 2..30.", "type": "string"}) },
        { 'a', "llamacpp gemini", J({"type": "string", "minLength": 2, "maxLength": 30}), J({"type": "string", "minLength": 2, "maxLength": 30}) },
        { 'a', "openai openai-strict", J({"type": "number", "multipleOf": 0.5}), J({"type": "number", "multipleOf": 0.5}) },
        { 'a', "gemini moonshot deepseek-strict", J({"type": "number", "multipleOf": 0.5}),
          J({"description": "Multiple of 0.5.", "type": "number"}) },
        { 'a', "llamacpp", J({"type": "number", "multipleOf": 0.5}), J({"type": "number"}) },
        { 'a', "gemini generic deepseek", J({"type": "object", "properties": {"b": {"type": "string"}}, "minProperties": 1, "maxProperties": 3}),
          J({"type": "object", "properties": {"b": {"type": "string"}}, "minProperties": 1, "maxProperties": 3}) },
        { 'a', "moonshot ollama", J({"type": "object", "properties": {"b": {"type": "string"}}, "minProperties": 1, "maxProperties": 3}),
          J({"description": "Properties: 1..3.", "type": "object", "properties": {"b": {"type": "string"}}}) },
    };
    check_rows(rows, N(rows));
}

/* Data is never entered. */
TEST(defaults)
{
    static const row rows[] = {
        { 'a', "openai gemini moonshot", J({"type": "integer", "default": 2}), J({"type": "integer", "default": 2}) },
        { 'a', "openai-strict gemini-json ollama", J({"type": "integer", "default": 2}), J({"description": "Default: 2.", "type": "integer"}) },
        { 'a', "llamacpp", J({"type": "integer", "default": 2}), J({"type": "integer"}) },
        { 'a', "moonshot", J({"type": "integer", "default": "x"}), J({"description": "Default: \"x\".", "type": "integer"}) },
        { 'a', "moonshot", J({"type": "array", "items": {"type": "string"}, "default": ["x"]}),
          J({"description": "Default: [\"x\"].", "type": "array", "items": {"type": "string"}}) },
        { 'a', "moonshot", J({"type": "string", "enum": ["x"], "default": "y"}),
          J({"description": "Default: \"y\".", "type": "string", "enum": ["x"]}) },
        { 'a', "openai", J({"type": "object", "default": {"type": "object", "properties": {"$ref": "x"}}}),
          J({"type": "object", "default": {"type": "object", "properties": {"$ref": "x"}}, "properties": {}}) },
        { 'a', "moonshot", J({"default": 3}), J({"description": "Default: 3. Any JSON value.", "type": "string"}) },
        { 'a', "openai moonshot ollama", J({"type": "string", "example": "e", "examples": ["f", "g"]}),
          J({"description": "Example: \"e\". Example: \"f\".", "type": "string"}) },
        { 'a', "gemini", J({"type": "string", "example": "e", "examples": ["f", "g"]}),
          J({"description": "Example: \"f\".", "type": "string", "example": "e"}) },
        { 'a', "anthropic", J({"type": "string", "example": "e", "examples": ["f", "g"]}),
          J({"description": "Example: \"e\".", "type": "string", "examples": ["f", "g"]}) },
        { 'a', "llamacpp", J({"type": "string", "example": "e", "examples": ["f", "g"]}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "string", "examples": [], "example": {"b": 1}}), J({"description": "Example: {\"b\":1}.", "type": "string"}) },
        { 'a', "openai anthropic ollama", J({"type": "string", "contentEncoding": "base64", "contentMediaType": "image/png"}),
          J({"description": "Encoding: base64. Content: image/png.", "type": "string"}) },
    };
    check_rows(rows, N(rows));
}

/* additionalProperties, patternProperties, propertyNames. */
TEST(maps)
{
    static const row rows[] = {
        { 'a', "openai gemini-json moonshot llamacpp", J({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": false}),
          J({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": false}) },
        { 'a', "openai-strict", J({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": false}),
          J({"type": "object", "properties": {"b": {"type": ["string", "null"]}}, "additionalProperties": false, "required": ["b"]}) },
        { 'a', "gemini ollama", J({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": false}),
          J({"type": "object", "properties": {"b": {"type": "string"}}}) },
        { 'a', "openai gemini-json moonshot llamacpp", J({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": true}),
          J({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": true}) },
        { 'a', "gemini", J({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": true}),
          J({"type": "object", "properties": {"b": {"type": "string"}}}) },
        { 'a', "ollama", J({"type": "object", "properties": {"b": {"type": "string"}}, "additionalProperties": true}),
          J({"description": "Other keys are allowed.", "type": "object", "properties": {"b": {"type": "string"}}}) },
        { 'a', "openai llamacpp", J({"type": "object", "additionalProperties": {}}), J({"type": "object", "additionalProperties": {}}) },
        { 'a', "gemini", J({"type": "object", "additionalProperties": {}}), J({"type": "object"}) },
        { 'a', "gemini-json moonshot", J({"type": "object", "additionalProperties": {}}), J({"type": "object", "additionalProperties": true}) },
        { 'a', "ollama", J({"type": "object", "additionalProperties": {}}), J({"description": "Other keys are allowed.", "type": "object"}) },
        { 'a', "openai gemini-json moonshot llamacpp", J({"type": "object", "additionalProperties": {"type": "number"}}),
          J({"type": "object", "additionalProperties": {"type": "number"}}) },
        { 'a', "gemini ollama", J({"type": "object", "additionalProperties": {"type": "number"}}),
          J({"description": "Map of number.", "type": "object"}) },
        { 'a', "ollama", J({"type": "object", "additionalProperties": {"type": ["number", "null"]}}),
          J({"description": "Map of number or null.", "type": "object"}) },
        { 'a', "gemini", J({"type": "object", "additionalProperties": {"enum": ["x"]}}), J({"description": "Map of string.", "type": "object"}) },
        { 'a', "gemini", J({"type": "object", "additionalProperties": {"properties": {"b": {"type": "string"}}}}),
          J({"description": "Map of object.", "type": "object"}) },
        { 'a', "gemini", J({"type": "object", "additionalProperties": {"description": "d"}}),
          J({"description": "Map of any value.", "type": "object"}) },
        { 'a', "openai", J({"type": "object", "patternProperties": {"^x-": {"type": "string"}}}),
          J({"type": "object", "patternProperties": {"^x-": {"type": "string"}}}) },
        { 'a', "gemini moonshot", J({"type": "object", "patternProperties": {"^x-": {"type": "string"}}}),
          J({"description": "Keys like ^x-: string.", "type": "object"}) },
        { 'a', "llamacpp", J({"type": "object", "patternProperties": {"^x-": {"type": "string"}}}), J({"type": "object"}) },
        { 'a', "openai", J({"type": "object", "propertyNames": {"pattern": "^x"}, "additionalProperties": {"type": "integer"}}),
          J({"type": "object", "propertyNames": {"pattern": "^x", "type": "string"}, "additionalProperties": {"type": "integer"}}) },
        { 'a', "gemini", J({"type": "object", "propertyNames": {"type": "string"}, "additionalProperties": {"type": "integer"}}),
          J({"description": "Map of integer.", "type": "object"}) },
        { 'a', "gemini", J({"type": "object", "propertyNames": {"type": "string", "maxLength": 3}}),
          J({"description": "Keys: {\"type\":\"string\",\"maxLength\":3}.", "type": "object"}) },
    };
    check_rows(rows, N(rows));
}

/* not, if, dependent... */
TEST(logic)
{
    static const row rows[] = {
        { 'a', "openai", J({"type": "string", "not": {"const": "x"}}), J({"type": "string", "not": {"type": "string", "enum": ["x"]}}) },
        { 'a', "generic openai-strict gemini", J({"type": "string", "not": {"const": "x"}}),
          J({"description": "Not: {\"const\":\"x\"}.", "type": "string"}) },
        { 'a', "anthropic", J({"type": "string", "not": {"const": "x"}}), J({"type": "string", "not": {"type": "string", "const": "x"}}) },
        { 'a', "llamacpp", J({"type": "string", "not": {"const": "x"}}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "string", "not": true}), J({"description": "Leave this out."}) },
        { 'a', "openai", J({"type": "string", "not": false}), J({"type": "string"}) },
        { 'a', "openai", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "if": {"properties": {"b": {"const": "x"}}}, "then": {"required": ["c"]}, "else": {"required": ["b"]}}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "if": {"type": "object", "properties": {"b": {"type": "string", "enum": ["x"]}}}, "then": {"type": "object", "required": ["c"], "properties": {"c": {}}}, "else": {"type": "object", "required": ["b"], "properties": {"b": {}}}}) },
        { 'a', "generic", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "if": {"properties": {"b": {"const": "x"}}}, "then": {"required": ["c"]}, "else": {"required": ["b"]}}),
          J({"description": "If: {\"properties\":{\"b\":{\"const\":\"x\"}}}. Then: {\"required\":[\"c\"]}. Else: {\"required\":[\"b\"]}.", "type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}) },
        { 'a', "llamacpp", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "if": {"properties": {"b": {"const": "x"}}}, "then": {"required": ["c"]}, "else": {"required": ["b"]}}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}) },
        { 'a', "generic", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "dependentSchemas": {"b": {"required": ["c"]}}}),
          J({"description": "With b: {\"required\":[\"c\"]}.", "type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}}) },
        { 'a', "anthropic", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "dependentSchemas": {"b": {"required": ["c"]}}}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "string"}}, "dependentSchemas": {"b": {"type": "object", "required": ["c"], "properties": {"c": {}}}}}) },
        { 'a', "openai", J({"type": "object", "properties": {"b": {"type": "string"}}, "if": true, "then": 5}),
          J({"type": "object", "properties": {"b": {"type": "string"}}}) },
    };
    check_rows(rows, N(rows));
}

/* Names that the provider refuses. */
TEST(keys)
{
    static const row rows[] = {
        { 'r', "anthropic", J({"type": "object", "properties": {"$top": {"type": "integer"}, "uids[]": {"type": "array", "items": {"type": "string"}}, "ok-1.x": {"type": "string"}, "": {"type": "string"}}, "required": ["uids[]"]}),
          J({"type": "object", "properties": {"top": {"type": "integer"}, "uids_": {"type": "array", "items": {"type": "string"}}, "ok-1.x": {"type": "string"}, "_": {"type": "string"}}, "required": ["uids_"]}) },
        { 'r', "gemini", J({"type": "object", "properties": {"$top": {"type": "integer"}, "uids[]": {"type": "array", "items": {"type": "string"}}, "ok-1.x": {"type": "string"}, "": {"type": "string"}}, "required": ["uids[]"]}),
          J({"type": "object", "properties": {"top": {"type": "integer"}, "uids_": {"type": "array", "items": {"type": "string"}}, "ok_1_x": {"type": "string"}, "_": {"type": "string"}}, "required": ["uids_"]}) },
        { 'r', "gemini", J({"type": "object", "properties": {"9lives": {"type": "integer"}, "a b  c": {"type": "string"}, "a.b": {"type": "string"}}}),
          J({"type": "object", "properties": {"_9lives": {"type": "integer"}, "a_b_c": {"type": "string"}, "a_b": {"type": "string"}}}) },
        { 'r', "anthropic", J({"type": "object", "properties": {"$top": {"type": "integer"}, "top": {"type": "string"}}}),
          J({"type": "object", "properties": {"_top": {"type": "integer"}, "top": {"type": "string"}}}) },
        { 'r', "anthropic", J({"type": "object", "properties": {"a b": {"type": "integer"}, "a/b": {"type": "string"}}}),
          J({"type": "object", "properties": {"a_b_2f9f3a": {"type": "integer"}, "a_b_1c57e8": {"type": "string"}}}) },
        { 'r', "anthropic", J({"type": "object", "properties": {"a b": {"type": "integer"}, "a_b": {"type": "string"}}}),
          J({"type": "object", "properties": {"a_b_2f9f3a": {"type": "integer"}, "a_b": {"type": "string"}}}) },
        { 'r', "anthropic", J({"type": "object", "properties": {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggggg": {"type": "integer"}}}),
          J({"type": "object", "properties": {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefffffff_c2a0ab": {"type": "integer"}}}) },
        { 'r', "anthropic", J({"type": "object", "properties": {"größe": {"type": "integer"}, "日本": {"type": "string"}, "$": {"type": "string"}}}),
          J({"type": "object", "properties": {"gr_e": {"type": "integer"}, "__15ee62": {"type": "string"}, "__3398c0": {"type": "string"}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"$top": {"type": "integer"}, "a b": {"type": "string"}}}),
          J({"type": "object", "properties": {"$top": {"type": "integer"}, "a b": {"type": "string"}}}) },
        { 'r', "moonshot", J({"type": "object", "properties": {"$defs": {"type": "string"}, "$ref": {"type": "string"}, "anyOf": {"type": "string"}, "required": {"type": "string"}, "additionalProperties": {"type": "string"}, "a/b": {"type": "string"}, "type": {"type": "string"}}, "required": ["anyOf"]}),
          J({"type": "object", "properties": {"$defs_": {"type": "string"}, "$ref_": {"type": "string"}, "anyOf_": {"type": "string"}, "required_": {"type": "string"}, "additionalProperties_": {"type": "string"}, "a_b": {"type": "string"}, "type": {"type": "string"}}, "required": ["anyOf_"]}) },
        { 'r', "openai", J({"type": "object", "properties": {"a\nb": {"type": "string"}, "": {"type": "integer"}}}),
          J({"type": "object", "properties": {"a_b": {"type": "string"}, "_": {"type": "integer"}}}) },
        { 'r', "anthropic", J({"type": "object", "properties": {"o": {"type": "object", "properties": {"$x": {"type": "string"}, "y": {"type": "string"}}, "dependentRequired": {"$x": ["y"], "y": ["$x"]}}}}),
          J({"type": "object", "properties": {"o": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "string"}}, "dependentRequired": {"x": ["y"], "y": ["x"]}}}}) },
        { 'r', "anthropic", J({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"@id": {"type": "string"}}, "required": ["@id"]}}}}),
          J({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"_id": {"type": "string"}}, "required": ["_id"]}}}}) },
    };
    check_rows(rows, N(rows));
}

/* What is optional becomes required, or null; what cannot be said loses strictness. */
TEST(strictness)
{
    static const row rows[] = {
        { 'r', "openai-strict deepseek-strict", J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": "integer", "enum": [1, 2]}, "d": {"type": ["boolean", "null"]}}, "required": ["b"]}),
          J({"type": "object", "properties": {"b": {"type": "string"}, "c": {"type": ["integer", "null"], "enum": [1, 2, null]}, "d": {"type": ["boolean", "null"]}}, "required": ["b", "c", "d"], "additionalProperties": false}) },
        { 'r', "openai-strict", J({}), J({"type": "object", "properties": {}, "additionalProperties": false, "required": []}) },
        { 'r', "openai-strict", J({"type": "object", "properties": {"o": {"type": "object", "properties": {"x": {"type": "number"}}}}}),
          J({"type": "object", "properties": {"o": {"anyOf": [{"type": "object", "properties": {"x": {"type": ["number", "null"]}}, "required": ["x"], "additionalProperties": false}, {"type": "null"}]}}, "required": ["o"], "additionalProperties": false}) },
        { 'r', "openai-strict", J({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "number"}}}}}, "required": ["l"]}),
          J({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": ["number", "null"]}}, "required": ["x"], "additionalProperties": false}}}, "required": ["l"], "additionalProperties": false}) },
        { 'r', "openai-strict", J({"type": "object", "properties": {"u": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}}),
          J({"type": "object", "properties": {"u": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]}}, "required": ["u"], "additionalProperties": false}) },
        { 'r', "openai-strict", J({"type": "object", "properties": {"k": {"const": "x"}}}),
          J({"type": "object", "properties": {"k": {"type": ["string", "null"], "enum": ["x", null]}}, "required": ["k"], "additionalProperties": false}) },
        { 'R', "openai-strict deepseek-strict", J({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}}}),
          J({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": {"type": "string"}}}}) },
        { 'R', "openai-strict deepseek-strict", J({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": true}}}),
          J({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": true}}}) },
        { 'R', "openai-strict deepseek-strict", J({"type": "object", "properties": {"m": {"description": "any"}}}),
          J({"type": "object", "properties": {"m": {"description": "any"}}}) },
        { 'R', "openai-strict deepseek-strict", J({"type": "object", "properties": {"m": {"type": "object"}}}),
          J({"type": "object", "properties": {"m": {"type": "object", "properties": {}}}}) },
        { 'r', "openai-strict", J({"type": "object", "properties": {"m": {"type": "object", "additionalProperties": false}}}),
          J({"type": "object", "properties": {"m": {"anyOf": [{"type": "object", "additionalProperties": false, "properties": {}, "required": []}, {"type": "null"}]}}, "required": ["m"], "additionalProperties": false}) },
        { 'R', "openai-strict", J({"type": "object", "properties": {"m": {"type": "array"}}}),
          J({"type": "object", "properties": {"m": {"type": "array", "items": {}}}}) },
        { 'R', "openai-strict", J({"type": "object", "properties": {"m": {"type": "object", "properties": {"x": {"type": "string"}}, "patternProperties": {"^y": {"type": "string"}}}}}),
          J({"type": "object", "properties": {"m": {"type": "object", "properties": {"x": {"type": "string"}}, "patternProperties": {"^y": {"type": "string"}}}}}) },
        { 'R', "openai-strict", J({"type": "object", "properties": {"m": {"type": "object", "properties": {"x": {"type": "string"}}, "propertyNames": {"maxLength": 3}}}}),
          J({"type": "object", "properties": {"m": {"type": "object", "properties": {"x": {"type": "string"}}, "propertyNames": {"maxLength": 3, "type": "string"}}}}) },
        { 'R', "openai-strict", J({"type": "object", "properties": {"m": {"type": "string"}}, "additionalProperties": true}),
          J({"type": "object", "properties": {"m": {"type": "string"}}, "additionalProperties": true}) },
        { 'R', "openai-strict", J({"type": "object", "properties": {"a": {"anyOf": [{"type": "object", "properties": {"x": {"type": "string"}}}, {}]}}}),
          J({"type": "object", "properties": {"a": {"anyOf": [{"type": "object", "properties": {"x": {"type": "string"}}}, {}]}}}) },
        { 'r', "openai-strict", J({"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "string", "pattern": "^(?=x)"}}}),
          J({"type": "object", "properties": {"a": {"type": "null"}, "b": {"description": "Pattern: ^(?=x)", "type": ["string", "null"]}}, "required": ["a", "b"], "additionalProperties": false}) },
    };
    check_rows(rows, N(rows));
}

/* A root that is no object is the property "input" of one. */
TEST(wrapped)
{
    static const row rows[] = {
        { 'r', "openai", J({"type": "string"}), J({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}) },
        { 'r', "openai", J({"type": "array", "items": {"$ref": "#"}}),
          J({"type": "object", "properties": {"input": {"type": "array", "items": {"description": "Recursive: same shape as the whole.", "type": "array", "items": {}}}}, "required": ["input"]}) },
        { 'r', "openai", J({"oneOf": [{"type": "string"}, {"type": "integer"}]}),
          J({"type": "object", "properties": {"input": {"anyOf": [{"type": "string"}, {"type": "integer"}]}}, "required": ["input"]}) },
        { 'r', "openai", J({"minimum": 3}), J({"type": "object", "properties": {}}) },
        { 'r', "openai-strict", J({"type": ["string", "integer"]}),
          J({"type": "object", "properties": {"input": {"type": ["string", "integer"]}}, "required": ["input"], "additionalProperties": false}) },
        { 'r', "anthropic", J({"type": "array", "items": {"type": "object", "properties": {"$a": {"type": "string"}}}, "$defs": {"x": {}}}),
          J({"type": "object", "properties": {"input": {"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"}}}}}, "required": ["input"]}) },
    };
    check_rows(rows, N(rows));
}

/* Many keys and values; unions, references and notes in one another. */
TEST(wide_and_nested)
{
    static const row rows[] = {
        { 'a', "openai", J({"type": "object", "properties": {"p01": {}, "p02": {}, "p03": {}, "p04": {}, "p05": {}, "p06": {}, "p07": {}, "p08": {}, "p09": {}, "p10": {}, "p11": {}, "p12": {}, "p13": {}, "p14": {}, "p15": {}, "p16": {}, "p17": {"type": "string"}, "p03": {"type": "integer"}}, "required": ["p17", "p01", "nope"]}),
          J({"type": "object", "properties": {"p01": {}, "p02": {}, "p03": {"type": "integer"}, "p04": {}, "p05": {}, "p06": {}, "p07": {}, "p08": {}, "p09": {}, "p10": {}, "p11": {}, "p12": {}, "p13": {}, "p14": {}, "p15": {}, "p16": {}, "p17": {"type": "string"}}, "required": ["p17", "p01"]}) },
        { 'a', "openai", J({"enum": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 3, 17]}),
          J({"type": "integer", "enum": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]}) },
        { 'a', "openai", J({"allOf": [{"enum": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]}, {"enum": [17, 16, 0]}]}),
          J({"type": "integer", "enum": [16, 17]}) },
        { 'a', "openai", J({"allOf": [{"uniqueItems": true}, {"type": "array", "uniqueItems": true, "items": {"type": "string"}}]}),
          J({"uniqueItems": true, "type": "array", "items": {"type": "string"}}) },
        { 'a', "openai", J({"allOf": [{"uniqueItems": true}, {"anyOf": [{"type": "array", "uniqueItems": true, "items": {"type": "string"}, "description": "d"}]}]}),
          J({"uniqueItems": true, "type": "array", "items": {"type": "string"}, "description": "d"}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"anyOf": [{"allOf": [{"$ref": "#/$defs/x"}, {"minLength": 2}]}, {"$ref": "#/$defs/y"}]}}, "$defs": {"x": {"type": "string"}, "y": {"type": "integer"}}}),
          J({"type": "object", "properties": {"a": {"anyOf": [{"minLength": 2, "type": "string"}, {"type": "integer"}]}}}) },
        { 'a', "openai", J({"type": ["string", "integer"], "anyOf": [{"enum": ["x"]}, {"enum": [1, true]}]}),
          J({"type": ["string", "integer"], "anyOf": [{"enum": ["x"], "type": "string"}, {"enum": [1], "type": "integer"}]}) },
        { 'a', "gemini", J({"type": "object", "anyOf": [{"description": "d"}, {"properties": {"b": {"type": "string"}}}]}),
          J({"anyOf": [{"type": "object", "description": "d"}, {"type": "object", "properties": {"b": {"type": "string"}}}]}) },
        { 'a', "gemini", J({"anyOf": [{"properties": {"b": {"type": "string"}}}, {"items": {"type": "string"}}, {"description": "d"}]}),
          J({"anyOf": [{"type": "object", "properties": {"b": {"type": "string"}}}, {"type": "array", "items": {"type": "string"}}, {"type": "string", "description": "d. Any JSON value."}]}) },
        { 'a', "gemini", J({"minLength": 2, "anyOf": [{"pattern": "x"}, {"description": "d", "maxLength": 3}]}),
          J({"anyOf": [{"type": "string", "minLength": 2, "pattern": "x"}, {"type": "string", "minLength": 2, "description": "d", "maxLength": 3}]}) },
        { 'a', "gemini", J({"anyOf": [{"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "integer"}]}, {"type": "boolean"}]}),
          J({"anyOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": true}, {"type": "boolean"}]}) },
        { 'a', "moonshot", J({"anyOf": [{"anyOf": [{"type": "string"}, {"type": "null"}, {"type": "integer"}]}, {"type": "boolean"}]}),
          J({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "boolean"}, {"type": "null"}]}) },
        { 'a', "openai", J({"anyOf": [{"type": "object", "properties": {"b": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}, {"type": "boolean"}]}),
          J({"anyOf": [{"type": "object", "properties": {"b": {"type": ["string", "null"]}}}, {"type": "boolean"}]}) },
        { 'a', "anthropic", J({"oneOf": [{"type": "object", "properties": {"x": {"type": "string"}}, "required": ["y"]}, {"type": "boolean"}]}),
          J({"oneOf": [{"type": "object", "properties": {"x": {"type": "string"}, "y": {}}, "required": ["y"]}, {"type": "boolean"}]}) },
        { 'a', "openai", J({"type": "array", "items": {"type": "array", "items": [{"type": "string"}, {"type": "string"}]}}),
          J({"type": "array", "items": {"description": "Items in order: string, string.", "type": "array", "items": {"type": "string"}}}) },
        { 'r', "anthropic", J({"type": "object", "properties": {"a": {"type": "object", "properties": {"k": {"type": "string"}, "b": {"type": "object", "properties": {"k": {"$ref": "#/properties/a/properties/k"}}}}}}}),
          J({"type": "object", "properties": {"a": {"type": "object", "properties": {"k": {"type": "string"}, "b": {"type": "object", "properties": {"k": {"type": "string"}}}}}}}) },
        { 'r', "openai", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/m/p17"}, "b": {"$ref": "#/$defs/m/p01"}, "c": {"$ref": "#/$defs/m/none"}}, "$defs": {"m": {"p01": {"type": "string"}, "p02": 1, "p03": 1, "p04": 1, "p05": 1, "p06": 1, "p07": 1, "p08": 1, "p09": 1, "p10": 1, "p11": 1, "p12": 1, "p13": 1, "p14": 1, "p15": 1, "p16": 1, "p17": {"type": "integer"}, "p01": {"type": "boolean"}}}}),
          J({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}, "c": {}}}) },
        { 'r', "gemini-json", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "object", "properties": {"y": {"$ref": "#/$defs/y"}}, "required": ["y"]}, "y": {"type": "object", "properties": {"z": {"$ref": "#/$defs/z"}}, "required": ["z"]}, "z": {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "required": ["x"]}}}),
          J({"type": "object", "properties": {"a": {"type": "object", "properties": {"y": {"type": "object", "properties": {"z": {"type": "object", "properties": {"x": {"description": "Recursive: same shape as x.", "type": "object"}}, "required": ["x"]}}, "required": ["z"]}}, "required": ["y"]}}}) },
        { 'r', "gemini-json", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "object", "properties": {"y": {"$ref": "#/$defs/y"}}, "required": ["y"]}, "y": {"type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}}}}),
          J({"type": "object", "properties": {"a": {"type": "object", "properties": {"y": {"type": "object", "properties": {"x": {"description": "Recursive: same shape as x.", "type": "object"}}}}, "required": ["y"]}}}) },
        { 'r', "llamacpp", J({"type": "object", "properties": {"a": {"$ref": "#/$defs/long"}, "b": {"$ref": "#/$defs/long"}, "c": {"$ref": "#/$defs/long"}, "d": {"$ref": "#/$defs/long"}}, "$defs": {"long": {"type": "object", "properties": {"number": {"type": "integer", "description": "a text of some length which counts when it is there four times"}, "next": {"$ref": "#/$defs/short"}}}, "short": {"type": "string", "enum": ["north", "south", "east", "west", "up", "down"]}}}),
          J({"type": "object", "properties": {"a": {"$ref": "#/$defs/long"}, "b": {"$ref": "#/$defs/long"}, "c": {"$ref": "#/$defs/long"}, "d": {"$ref": "#/$defs/long"}}, "$defs": {"long": {"type": "object", "properties": {"number": {"type": "integer", "description": "a text of some length which counts when it is there four times"}, "next": {"$ref": "#/$defs/short"}}}, "short": {"type": "string", "enum": ["north", "south", "east", "west", "up", "down"]}}}) },
        { 'a', "gemini", J({"type": "string", "description": "Two lines.\n"}), J({"type": "string", "description": "Two lines.\n"}) },
        { 'a', "gemini", J({"type": "string", "format": "x", "description": "Ends with a word"}),
          J({"type": "string", "description": "Ends with a word. Format: x."}) },
        { 'a', "gemini", J({"type": "string", "pattern": "(?=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)"}),
          J({"description": "Pattern: (?=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…", "type": "string"}) },
        { 'a', "gemini", J({"type": "array", "items": {"type": "string"}, "contains": {"const": "x"}, "uniqueItems": true, "not": {"maxItems": 1}, "if": {"minItems": 3}, "then": {"contains": {"const": "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"}}, "else": {"contains": {"const": "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz"}}, "examples": [["wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww"]]}),
          J({"description": "Contains: {\"const\":\"x\"}. No duplicates. Not: {\"maxItems\":1}. If: {\"minItems\":3}. Then: {\"contains\":{\"const\":\"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\"}}. Example: [\"wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww\"].", "type": "array", "items": {"type": "string"}}) },
    };
    check_rows(rows, N(rows));
}

/* What is cut below not, if, contains and oneOf; unions that become lists of values, or nothing. */
TEST(rare)
{
    static const row rows[] = {
        { 'a', "openai", J({"type": "string", "anyOf": [{"description": "x"}, {"minLength": 2}], "oneOf": [{"pattern": "a"}, {"pattern": "b"}]}),
          J({"type": "string", "anyOf": [{"description": "x", "type": "string", "anyOf": [{"pattern": "a", "type": "string"}, {"pattern": "b", "type": "string"}]}, {"minLength": 2, "type": "string", "anyOf": [{"pattern": "a", "type": "string"}, {"pattern": "b", "type": "string"}]}]}) },
        { 'a', "gemini moonshot", J({"enum": ["x"], "anyOf": [{"const": "y", "description": "q"}, {"const": "z", "description": "r"}]}),
          J({"type": "string", "enum": ["x"]}) },
        { 'r', "anthropic", J({"type": "object", "properties": {"a": {"oneOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/properties/a"}}]}}}),
          J({"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"description": "Recursive: same shape as a."}}]}}}) },
        { 'a', "anthropic", J({"type": "string", "not": {"$ref": "https://example.com/x"}}), J({"type": "string"}) },
        { 'a', "anthropic", J({"type": "object", "properties": {"b": {"type": "string"}}, "if": {"$ref": "#/nowhere"}, "then": {"required": ["b"]}, "else": {"minProperties": 1}}),
          J({"type": "object", "properties": {"b": {"type": "string"}}}) },
        { 'a', "anthropic", J({"type": "array", "items": {"type": "string"}, "contains": {"$ref": "#/nowhere"}, "minContains": 1}),
          J({"type": "array", "items": {"type": "string"}}) },
        { 'a', "llamacpp", J({"anyOf": [{"const": 3, "multipleOf": 3}, {"const": 6, "multipleOf": 3}]}), J({"type": "integer", "enum": [3, 6]}) },
        { 'a', "llamacpp", J({"anyOf": [{"not": {"const": 3}}, {"not": {"const": 4}}]}), J({}) },
        { 'r', "anthropic", J({"type": "object", "properties": {"a b": {}, "a/b": {}, "a?b": {}, "a_b": {}, "$a b": {}}}),
          J({"type": "object", "properties": {"a_b_2f9f3a": {}, "a_b_1c57e8": {}, "a_b_1d255b": {}, "a_b": {}, "_a_b": {}}}) },
        { 'a', "gemini-json", J({"type": "string", "default": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}),
          J({"description": "Default: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa….", "type": "string"}) },
        { 'a', "gemini", J({"enum": [100001, 100002, 100003, 100004, 100005, 100006, 100007, 100008, 100009, 100010, 100011, 100012, 100013, 100014, 100015, 100016, 100017, 100018, 100019]}),
          J({"description": "One of 100001, 100002, 100003, 100004, 100005, 100006, 100007, 100008, 100009, 100010, 100011, 100012, 100013, 100014…", "type": "integer"}) },
        { 'a', "gemini", J({"type": "array", "prefixItems": [{"type": ["string", "integer"]}, {}, {"const": 1}, {"minimum": 1}], "items": {"type": "boolean"}}),
          J({"description": "Items in order: string or integer, any value, integer, number.", "type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"description": "Any JSON value.", "type": "string"}, {"description": "Must be 1.", "type": "integer"}, {"type": "number", "minimum": 1}, {"type": "boolean"}]}}) },
        { 'a', "moonshot", J({"type": "object", "patternProperties": {}, "default": {"b": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41]}}),
          J({"description": "Default: {\"b\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36,37,…", "type": "object"}) },
        { 'a', "gemini", J({"type": "integer", "exclusiveMinimum": 1.5, "exclusiveMaximum": 3e0}),
          J({"description": "Over 1.5.", "type": "integer", "maximum": 2}) },
        { 'a', "gemini", J({"type": ["integer", "string"], "exclusiveMinimum": 1, "minLength": 1}),
          J({"anyOf": [{"type": "integer", "minimum": 2}, {"type": "string", "minLength": 1}]}) },
        { 'a', "gemini", J({"anyOf": [{"type": "object", "properties": {"b": {}}}, {"type": "object", "properties": {"b": {}}, "required": ["b"]}, {"type": "null"}], "title": "T", "default": null}),
          J({"anyOf": [{"type": "object", "properties": {"b": {"description": "Any JSON value.", "type": "string"}}}, {"type": "object", "properties": {"b": {"description": "Any JSON value.", "type": "string"}}, "required": ["b"]}], "nullable": true}) },
        { 'a', "moonshot", J({"type": "string", "enum": ["x", "y"], "default": "y", "title": "T"}),
          J({"type": "string", "enum": ["x", "y"], "default": "y", "title": "T"}) },
        { 'a', "moonshot", J({"type": "boolean", "default": true, "nullable": true}),
          J({"anyOf": [{"type": "boolean", "default": true}, {"type": "null"}]}) },
        { 'a', "openai", J({"additionalProperties": {"type": "string"}, "properties": {"b": {"type": "integer"}}, "allOf": [{"additionalProperties": {"maxLength": 4}}]}),
          J({"type": "object", "additionalProperties": {"type": "string", "maxLength": 4}, "properties": {"b": {"type": "integer"}}}) },
    };
    check_rows(rows, N(rows));
}

/* What was lost, or told as said, at some time. */
TEST(nothing_is_lost)
{
    static const row rows[] = {
        { 'a', "anthropic llamacpp", J({"type": "array", "prefixItems": [{"type": "string"}], "items": true}),
          J({"type": "array", "prefixItems": [{"type": "string"}], "items": true}) },
        { 'a', "openai", J({"type": "array", "prefixItems": [{"type": "string"}], "items": true}),
          J({"type": "array", "description": "Items in order: string.", "items": {}}) },
        { 'a', "openai gemini moonshot anthropic", J({"allOf": [{"anyOf": [{"type": "string"}, {"type": "number"}]}, {"anyOf": [{"type": "string", "minLength": 2}, {"type": "boolean"}]}]}),
          J({"type": "string", "minLength": 2}) },
        { 'a', "openai", J({"type": ["string", "null"], "anyOf": [{"minLength": 2}, {"maxLength": 1}]}),
          J({"type": ["string", "null"], "anyOf": [{"type": "string", "minLength": 2}, {"type": "string", "maxLength": 1}, {"type": "null"}]}) },
        { 'r', "openai", J({"enum": ["a", "b"]}), J({"type": "object", "properties": {"input": {"type": "string", "enum": ["a", "b"]}}, "required": ["input"]}) },
        { 'r', "openai", J({"allOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/y"}], "$defs": {"x": {"description": "X", "properties": {"x": {}}}, "y": {"description": "Y", "properties": {"y": {}}}}}),
          J({"type": "object", "description": "X", "properties": {"x": {}, "y": {}}}) },
        { 'a', "gemini", J({"default": 3}), J({"type": "string", "description": "Default: 3. Any JSON value."}) },
        { 'a', "gemini", J({"default": "x"}), J({"type": "string", "description": "Any JSON value.", "default": "x"}) },
        { 'A', "deepseek-strict", J({"type": "object", "properties": {}, "additionalProperties": false}),
          J({"type": "object", "properties": {}, "additionalProperties": false}) },
        { 'a', "openai anthropic", J({"type": "string", "not": {"description": "x"}}), J({"type": "string"}) },
        { 'a', "gemini moonshot", J({"type": "object", "propertyNames": {"pattern": "^a"}}),
          J({"type": "object", "description": "Keys: {\"pattern\":\"^a\"}."}) },
        { 'a', "gemini moonshot", J({"type": "object", "propertyNames": {"type": "string"}}), J({"type": "object"}) },
        { 'a', "llamacpp", J({"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 5000}),
          J({"type": "array", "items": {"type": "string"}, "minItems": 2, "description": "Items: at most 5000."}) },
        { 'a', "gemini", J({"type": "integer", "maximum": 9223372036854775807}), J({"type": "integer", "description": "Range at most 9223372036854775807."}) },
        { 'a', "anthropic bedrock mistral", J({"type": "string", "title": "T"}), J({"type": "string"}) },
        { 'a', "anthropic", J({"type": "object", "properties": {"x": {}}, "dependentRequired": {"x": ["y", true]}}), J({"type": "object", "properties": {"x": {}}}) },
        { 'a', "openai generic", J({"type": "object", "properties": {"x": {}}, "dependentRequired": {"x": []}}), J({"type": "object", "properties": {"x": {}}}) },
        { 'a', "openai", J({"anyOf": [{"$ref": "#"}]}), J({"type": "object", "properties": {}, "description": "Recursive: same shape as the whole."}) },
        { 'r', "openai", J({"anyOf": [{"type": "object", "properties": {"a": {}}, "required": ["a"]}, {"anyOf": [{"type": "object", "properties": {"b": {}}, "required": ["b"]}, {"type": "object", "properties": {"c": {}}, "required": ["c"]}]}]}),
          J({"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "description": "Variants: (a) | (b) | (c)."}) },
        { 'r', "openai", J({"anyOf": [{"properties": {"a": {}}, "required": ["a"], "anyOf": [{"properties": {"b": {}}, "required": ["b"]}, {"properties": {"c": {}}, "required": ["c"]}]}, {"properties": {"d": {}}, "required": ["d"]}]}),
          J({"type": "object", "properties": {"a": {}, "b": {}, "c": {}, "d": {}}, "description": "Variants: (a, b) | (a, c) | (d)."}) },
    };
    check_rows(rows, N(rows));
}

/* What a report says: a piece of a line; NULL: no line at all. */
TEST(reports)
{
    static const struct { const char *profile, *schema, *line; } rows[] = {
        { "openai", J({"type": "object", "properties": {"a": {"type": "string"}}}), NULL },
        { "openai", J(null), "#: there is no object schema: an object without properties\n" },
        { "openai", J([]), "#: there is no object schema: an object without properties\n" },
        { "openai", J({"properties": []}), "#: properties is no map and is dropped\n" },
        { "openai", J({"properties": {"a": {"type": "Str"}}}), "#/properties/a: type \"Str\" is read as string\n" },
        { "openai", J({"properties": {"a/b~c": {"type": 5}}}), "#/properties/a~1b~0c: type is no word: any value\n" },
        { "openai", J({"properties": {"a": {"type": ["x"]}}}), "#/properties/a: a type of the list is unknown: any value\n" },
        { "openai", J({"properties": {"a": 5}}), "#/properties/a: this is no schema: any value\n" },
        { "openai", J({"properties": {"a": "int"}}), "#/properties/a: a type stands where a schema belongs\n" },
        { "openai", J({"properties": {"a": {"$ref": "#/x"}}}), "#/properties/a: reference #/x leads to no schema of this document: any value\n" },
        { "openai", J({"properties": {"a": {"enum": []}}}), "#/properties/a: enum is empty and is dropped\n" },
        { "generic", J({"properties": {"a": {"examples": []}}}), "#/properties/a: examples is dropped\n" },
        { "openai", J({"properties": {"a": {"items": {"wrong": 1}}}}), "#/properties/a/items: wrong is no keyword and is dropped\n" },
        { "openai", J({"properties": {"a": {"wrong": 1}}}), "#/properties/a: wrong is no keyword and is dropped\n" },
        { "openai", J({"properties": {"a": {"anyOf": [{"type": "string"}, {"properties": {"b": {"enum": 3}}}]}}}),
          "#/properties/a/anyOf/1/properties/b: enum is no list and is dropped\n" },
        { "openai", J({"properties": {"a": {"properties": {"b": {"minLength": "1"}}}}}),
          "#/properties/a/properties/b: minLength has a value of the wrong type and is dropped\n" },
        { "anthropic", J({"properties": {"a": {"prefixItems": [{}, {"properties": {"b": {"required": {}}}}]}}}),
          "#/properties/a/prefixItems/1/properties/b: required is no list and is dropped\n" },
        { "openai", J({"required": ["a"], "properties": {}}), "#: required names a which is no property\n" },
        { "openai", J({"required": ["a", "a", 1], "properties": {"a": {}}}), "#: required names a twice\n" },
        { "openai", J({"required": ["a", "a", 1], "properties": {"a": {}}}), "#: required lists what is no name\n" },
        { "openai", J({"properties": {"a": {"allOf": [{"type": "string"}, {"type": "boolean"}]}}}),
          "#/properties/a: its parts contradict each other: any value\n" },
        { "openai", J({"properties": {"a": {"type": "integer", "minimum": 3, "maximum": 1}}}), "minimum is over maximum: both are dropped\n" },
        { "gemini", J({"properties": {"a": {"type": "integer", "multipleOf": 3}}}), "#/properties/a: multipleOf is told in the description\n" },
        { "llamacpp", J({"properties": {"a": {"type": "integer", "multipleOf": 3}}}), "#/properties/a: multipleOf is dropped\n" },
        { "anthropic", J({"properties": {"$a": {}}}), "#: property $a is sent as a\n" },
        { "gemini", J({"properties": {"a": {"type": "integer", "exclusiveMinimum": 3}}}), "#/properties/a: exclusiveMinimum becomes minimum\n" },
        { "gemini", J({"properties": {"a": {"exclusiveMinimum": true, "description": 5}}}), "#/properties/a: description is no string\n" },
        { "openai-strict", J({"properties": {"a": {"type": "array"}}}),
          "#: strictness is not possible: #/properties/a: items of any type cannot be said\n" },
        { "openai", J({"allOf": [{"type": "object"}, {"type": "string"}], "properties": {}}), "#: no value fits the schema: its constraints are dropped\n" },
    };
    size_t i;
    for (i = 0; i < N(rows); i++) {
        mcp_arena a;
        const mcp_json *out;
        const mcp_fit *f;
        mcp_arena_init(&a, NULL, 0);
        f = fit_for(&a, rows[i].schema, (mcp_profile)mcp_profile_find(rows[i].profile), true, &out);
        if (!f || (rows[i].line ? !strstr(mcp_fit_notes(f), rows[i].line) : *mcp_fit_notes(f) != 0))
            failed(rows[i].profile, rows[i].schema, "report", mcp_fit_notes(f));
        else test_passed++;
        mcp_arena_free(&a);
    }
    EQ_STR(mcp_fit_notes(NULL), "");
    CHECK(!mcp_fit_strict(NULL));
}

/* What a model says, as the server wants it. */
TEST(the_way_back)
{
    static const struct { const char *profile, *schema, *args, *wanted; } rows[] = {
        { "openai", J({"properties": {"a": {"type": "string"}}}), J({"a": "1", "b": null}), J({"a": "1", "b": null}) },
        /* names, at every depth */
        { "anthropic", J({"properties": {"$top": {"type": "object", "properties": {"a b": {"type": "array", "items": {"type": "object",
          "properties": {"@id": {"type": "string"}}}}}}}}), J({"top": {"a_b": [{"_id": "x"}, {"other": 1}, 5]}, "more": {"top": 1}}),
          J({"$top": {"a b": [{"@id": "x"}, {"other": 1}, 5]}, "more": {"top": 1}}) },
        { "anthropic", J({"properties": {"m": {"type": "object", "additionalProperties": {"type": "object", "properties": {"$x": {"type": "string"}}}}}}),
          J({"m": {"k": {"x": "1"}, "x": {"x": "2"}}}), J({"m": {"k": {"$x": "1"}, "x": {"$x": "2"}}}) },
        { "anthropic", J({"properties": {"m": {"type": "object", "patternProperties": {"^k": {"type": "object", "properties": {"$x": {"type": "string"}}}}}}}),
          J({"m": {"k": {"x": "1"}}}), J({"m": {"k": {"$x": "1"}}}) },
        { "anthropic", J({"properties": {"t": {"type": "array", "prefixItems": [{"type": "object", "properties": {"$x": {"type": "string"}}}, {"type": "string"}]}}}),
          J({"t": [{"x": "1"}, "x"]}), J({"t": [{"$x": "1"}, "x"]}) },
        { "anthropic", J({"properties": {"u": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"$x": {"type": "string"}}}]}}}),
          J({"u": {"x": "1"}}), J({"u": {"$x": "1"}}) },
        { "anthropic", J({"properties": {"u": {"anyOf": [{"type": "string"}, {"type": "object", "properties": {"$x": {"type": "string"}}}]}}}),
          J({"u": "x"}), J({"u": "x"}) },
        /* a tag tells variants apart */
        { "anthropic", J({"properties": {"u": {"anyOf": [
          {"type": "object", "properties": {"kind": {"const": "p"}, "a b": {"type": "string"}, "c": {"type": "string"}}},
          {"type": "object", "properties": {"kind": {"const": "q"}, "a/b": {"type": "string"}}}]}}}),
          J({"u": {"kind": "q", "a_b_1c57e8": "x"}}), J({"u": {"kind": "q", "a/b": "x"}}) },
        /* branches beside properties */
        { "anthropic", J({"properties": {"u": {"type": "object", "properties": {"$o": {"type": "object", "properties": {"$i": {}}}}, "anyOf": [
          {"properties": {"$p": {"type": "string"}}}, {"properties": {"$q": {"type": "string"}}}]}}}),
          J({"u": {"o": {"i": 1}, "q": "x"}}), J({"u": {"$o": {"$i": 1}, "$q": "x"}}) },
        { "anthropic", J({"properties": {"n": {"type": "object", "properties": {"$n": {"type": "integer"}}}, "$r": {"$ref": "#/properties/n"}}}),
          J({"r": {"_n": 1}}), J({"$r": {"$n": 1}}) },
        /* nulls that strictness has invented, and those that were there */
        { "openai-strict", J({"properties": {"a": {"type": "string"}, "b": {"type": ["string", "null"]}, "c": {"type": "string"}}, "required": ["c"]}),
          J({"a": null, "b": null, "c": null}), J({"b": null, "c": null}) },
        { "openai-strict", J({"properties": {"l": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}}}}}),
          J({"l": [{"x": null, "y": 1}, {"x": 2, "y": null}, null]}), J({"l": [{"y": 1}, {"x": 2}, null]}) },
        { "openai-strict", J({"properties": {"o": {"type": "object", "properties": {"x": {"enum": ["k", null]}, "y": {"enum": ["k"]}}}}}),
          J({"o": {"x": null, "y": null}}), J({"o": {"x": null}}) },
        { "openai-strict", J({"properties": {"t": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "object", "properties": {"v": {"type": "integer"}, "t": {"$ref": "#/$defs/n"}}}}}),
          J({"t": {"v": 1, "t": {"v": null, "t": {"v": 3, "t": null}}}}), J({"t": {"v": 1, "t": {"t": {"v": 3}}}}) },
        /* JSON in strings, where any value is taken */
        { "gemini", J({"properties": {"a": {}, "b": {"type": "string"}, "c": {"type": "array"}}}),
          J({"a": "{\"x\":[1,null]}", "b": "[1]", "c": ["2", "plain", "", "\"s\"", 4]}), J({"a": {"x": [1, null]}, "b": "[1]", "c": [2, "plain", "", "s", 4]}) },
        { "gemini", J({"properties": {"a": {}}}), J({"a": "1 2"}), J({"a": "1 2"}) },
        /* a root that is no object */
        { "openai", J({"type": "array", "items": {"type": "string"}}), J({"input": ["x"]}), J(["x"]) },
        { "openai", J({"type": "array", "items": {"type": "string"}}), J({"other": ["x"]}), J({"other": ["x"]}) },
        { "anthropic", J({"type": "array", "items": {"type": "object", "properties": {"$x": {}}}}), J({"input": [{"x": 1}]}), J([{"$x": 1}]) },
        /* what does not fit stays */
        { "anthropic", J({"properties": {"$a": {"type": "object", "properties": {"$b": {}}}}}), J({"a": 5}), J({"$a": 5}) },
        { "anthropic", J({"properties": {"$a": {}}}), J([{"a": 5}, "a"]), J([{"a": 5}, "a"]) },
        { "anthropic", J({"properties": {"$a": {}}}), J(null), J(null) },
    };
    size_t i;
    mcp_writer w;
    mcp_arena a;
    mcp_arena_init(&a, NULL, 0);
    for (i = 0; i < N(rows); i++) {
        const mcp_json *out, *args, *got;
        const mcp_fit *f = fit_for(&a, rows[i].schema, (mcp_profile)mcp_profile_find(rows[i].profile), true, &out);
        args = parsed(&a, rows[i].args);
        mcp_writer_init(&w, NULL, 0);
        if (mcp_schema_unfit(f, args, &w) != MCP_OK) failed(rows[i].profile, rows[i].schema, "unfit", NULL);
        got = parsed(&a, mcp_writer_text(&w, NULL) ? mcp_writer_text(&w, NULL) : "0");
        if (!same(got, parsed(&a, rows[i].wanted))) failed(rows[i].profile, rows[i].schema, "arguments", written(&a, got));
        else test_passed++;
        mcp_writer_free(&w);
        mcp_arena_reset(&a);
    }
    mcp_writer_init(&w, NULL, 0);
    EQ_INT(mcp_schema_unfit(NULL, parsed(&a, J({"a": 1})), &w), MCP_OK);
    EQ_STR(mcp_writer_text(&w, NULL), "{\"a\":1}");
    EQ_INT(mcp_schema_unfit(NULL, NULL, NULL), MCP_ERR_ARGUMENT);
    mcp_writer_free(&w);
    mcp_arena_free(&a);
}

/* The description of a schema for a limit in code points. */
static const char *cut(mcp_arena *a, const char *text, size_t most, mcp_profile profile, const char *key, const char *value)
{
    mcp_fit_desc d;
    mcp_writer w;
    const mcp_json *out, *in;
    memset(&d, 0, sizeof d);
    d.profile = profile;
    d.max_description = most;
    mcp_writer_init(&w, NULL, 0);
    mcp_put_object(&w, NULL);
    mcp_put_object(&w, "properties");
    mcp_put_object(&w, "a");
    mcp_put_str(&w, "type", "string");
    mcp_put_str(&w, "description", text);
    if (key) mcp_put_str(&w, key, value);
    mcp_put_end(&w);
    mcp_put_end(&w);
    mcp_put_end(&w);
    in = mcp_json_parse(a, mcp_writer_text(&w, NULL), MCP_NTS, NULL);
    mcp_writer_free(&w);
    return fitted(a, in, &d, &out) ? mcp_json_str(mcp_json_at(out, "/properties/a/description"), "(none)") : "(nothing)";
}

#define ELLIPSIS "\xE2\x80\xA6"

TEST(descriptions)
{
    static const size_t limits[] = { 1, 2, 5, 9, 12, 14, 15, 16, 17, 20, 25, 30, 39 };
    mcp_arena a;
    size_t l;
    mcp_arena_init(&a, NULL, 0);
    EQ_STR(cut(&a, "0123456789", 10, MCP_OPENAI, NULL, NULL), "0123456789");
    EQ_STR(cut(&a, "0123456789x", 10, MCP_OPENAI, NULL, NULL), "012345678" ELLIPSIS);
    EQ_STR(cut(&a, "0123456 89x", 10, MCP_OPENAI, NULL, NULL), "0123456 8" ELLIPSIS);               /* the word ends too early */
    EQ_STR(cut(&a, "01234567 9x", 10, MCP_OPENAI, NULL, NULL), "01234567" ELLIPSIS);                 /* at the end of a word */
    EQ_STR(cut(&a, "One two three four. Five six seven", 22, MCP_OPENAI, NULL, NULL), "One two three four." ELLIPSIS);
    EQ_STR(cut(&a, "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 3, MCP_OPENAI, NULL, NULL), "\xC3\xA9\xC3\xA9" ELLIPSIS);
    EQ_STR(cut(&a, "abce\xCC\x81xyz", 5, MCP_OPENAI, NULL, NULL), "abc" ELLIPSIS);                   /* e with its accent goes */
    EQ_STR(cut(&a, "a\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7" "bcd", 4, MCP_OPENAI, NULL, NULL), "a" ELLIPSIS);    /* a family */
    EQ_STR(cut(&a, "abcdefghijklmnopqrst", 30, MCP_MOONSHOT, "pattern", "^x$"), "abcdefghijklmno" ELLIPSIS " Pattern: ^x$");
    EQ_STR(cut(&a, "ab", 5, MCP_MOONSHOT, "title", "T"), "ab");
    for (l = 0; l < N(limits); l++) {                       /* code points at most, with the notes */
        size_t most = limits[l];
        const char *s = cut(&a, "Ein langer Text \xC3\xBC" "ber e\xCC\x81tude. Und mehr!", most, MCP_MOONSHOT, "pattern", "^x$");
        size_t n = 0, i;
        for (i = 0; s[i]; i++) n += (s[i] & 0xC0) != 0x80;
        CHECK(n && n <= most);
    }
    mcp_arena_free(&a);
}

/* Fits a text that was made here; *out is the result. Freed with the arena. */
static const mcp_fit *fit_made(mcp_arena *a, mcp_writer *w, const mcp_fit_desc *d, const mcp_json **out)
{
    const mcp_fit *f;
    const mcp_json *in = mcp_json_parse(a, mcp_writer_text(w, NULL), MCP_NTS, NULL);
    CHECK(in != NULL);
    f = fitted(a, in, d, out);
    CHECK(f != NULL);
    mcp_writer_reset(w);
    return f;
}

/* {"type": "object", "properties": {"p": {...{"type": "string"}...}}}, `levels` objects deep. */
static void put_levels(mcp_writer *w, int levels)
{
    int i;
    mcp_writer_reset(w);
    for (i = 0; i < levels; i++) {
        mcp_put_object(w, i ? "p" : NULL);
        mcp_put_str(w, "type", "object");
        mcp_put_object(w, "properties");
    }
    mcp_put_object(w, "p");
    mcp_put_str(w, "type", "string");
    mcp_put_end(w);
    for (i = 0; i < levels; i++) { mcp_put_end(w); mcp_put_end(w); }
}

static int depth_of(const mcp_json *s)
{
    int n = 0;
    for (; s; s = mcp_json_at(s, "/properties/p")) n++;
    return n;
}

TEST(depths)
{
    static const struct { mcp_profile profile; int levels, most, wanted; } rows[] = {
        { MCP_OPENAI, 5, 0, 6 }, { MCP_OPENAI, 62, 0, 63 }, { MCP_OPENAI, 200, 0, 64 }, { MCP_OPENAI, 5, 3, 3 }, { MCP_OPENAI, 5, 1, 2 },
        { MCP_MOONSHOT, 40, 0, 30 }, { MCP_MOONSHOT, 40, 50, 30 }, { MCP_OPENAI, 200, 1000, 64 }, { MCP_OPENAI, 5, -1, 6 },
    };
    mcp_arena a;
    mcp_writer w;
    mcp_fit_desc d;
    const mcp_json *out;
    const mcp_fit *f;
    size_t i;
    mcp_arena_init(&a, NULL, 0);
    mcp_writer_init(&w, NULL, 0);
    for (i = 0; i < N(rows); i++) {
        memset(&d, 0, sizeof d);
        d.profile = rows[i].profile;
        d.max_depth = rows[i].most;
        put_levels(&w, rows[i].levels);
        f = fit_made(&a, &w, &d, &out);
        EQ_INT(depth_of(out), rows[i].wanted);
        EQ_INT(strstr(mcp_fit_notes(f), "too deep") != NULL, rows[i].wanted <= rows[i].levels);
    }
    memset(&d, 0, sizeof d);                                 /* the lowest object names its keys; a union there is any value */
    d.max_depth = 2;
    d.profile = MCP_OPENAI;
    f = fitted(&a, parsed(&a, J({"properties": {"o": {"type": "object", "description": "d", "properties": {"k": {}, "l": {}}, "required": ["k"], "additionalProperties": false},
        "u": {"anyOf": [{"type": "string"}, {"type": "boolean"}]}, "l": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
        "m": {"type": "object", "additionalProperties": {"type": "string"}}, "n": {"type": "string", "not": {"const": "x"}}, "e": {"type": "object", "properties": {}}}})), &d, &out);
    CHECK(f && same(out, parsed(&a, J({"type": "object", "properties": {"o": {"type": "object", "description": "d. Keys: k, l.", "properties": {}}, "u": {},
        "l": {"type": "array", "items": {}}, "m": {"type": "object", "properties": {}}, "n": {"type": "string"}, "e": {"type": "object", "properties": {}}}}))));
    if (!f || !same(mcp_json_at(out, "/properties/o"), parsed(&a, J({"type": "object", "description": "d. Keys: k, l.", "properties": {}})))) failed("openai", "depth 2", "result", written(&a, out));
    d.profile = MCP_OPENAI_STRICT;                          /* ten levels */
    d.max_depth = 0;
    put_levels(&w, 9);
    CHECK(mcp_fit_strict(fit_made(&a, &w, &d, &out)));
    put_levels(&w, 12);
    f = fit_made(&a, &w, &d, &out);
    CHECK(!mcp_fit_strict(f) && strstr(mcp_fit_notes(f), "too deep") && depth_of(out) == 13);
    mcp_writer_free(&w);
    mcp_arena_free(&a);
}

/* An object of n properties, key0 to key(n-1); all required if asked; `schema` is that of each. */
static void put_wide(mcp_writer *w, int n, bool required, const char *schema)
{
    char key[24];
    int i;
    mcp_put_object(w, NULL);
    mcp_put_str(w, "type", "object");
    mcp_put_object(w, "properties");
    for (i = 0; i < n; i++) {
        snprintf(key, sizeof key, "key%d", i);
        mcp_put_raw(w, key, schema, MCP_NTS);
    }
    mcp_put_end(w);
    if (required) {
        mcp_put_array(w, "required");
        for (i = 0; i < n; i++) {
            snprintf(key, sizeof key, "key%d", i);
            mcp_put_str(w, NULL, key);
        }
        mcp_put_end(w);
    }
}

TEST(budgets)
{
    mcp_arena a;
    mcp_writer w;
    mcp_fit_desc d;
    const mcp_json *out;
    const mcp_fit *f;
    char text[32];
    size_t n;
    int i;
    mcp_arena_init(&a, NULL, 0);
    mcp_writer_init(&w, NULL, 0);
    memset(&d, 0, sizeof d);
    d.profile = MCP_OPENAI;
    put_wide(&w, 6000, true, J({"type": "string"}));        /* all of it fits */
    mcp_put_end(&w);
    f = fit_made(&a, &w, &d, &out);
    EQ_INT(mcp_json_size(mcp_json_get(out, "properties")), 6000);
    EQ_INT(mcp_json_size(mcp_json_get(out, "required")), 6000);
    EQ_STR(mcp_fit_notes(f), "");
    put_wide(&w, 50000, true, J({"type": "string", "description": "a text"}));
    mcp_put_end(&w);
    f = fit_made(&a, &w, &d, &out);                          /* as many as there is room for, the first ones */
    n = mcp_json_size(mcp_json_get(out, "properties"));
    CHECK(n > 2000 && n < 20000);
    EQ_INT(mcp_json_size(mcp_json_get(out, "required")), n);
    snprintf(text, sizeof text, "/properties/key%d", (int)n - 1);
    CHECK(mcp_json_at(out, "/properties/key0") && mcp_json_at(out, text));
    CHECK(strstr(mcp_fit_notes(f), "are left out: the budget is spent") != NULL);
    put_wide(&w, 50000, true, J({"type": "string"}));        /* more room, more of them: all */
    mcp_put_end(&w);
    d.max_nodes = 200000;
    d.max_bytes = (size_t)8 << 20;
    f = fit_made(&a, &w, &d, &out);
    EQ_INT(mcp_json_size(mcp_json_get(out, "properties")), 50000);
    EQ_INT(mcp_json_size(mcp_json_get(out, "required")), 50000);
    EQ_STR(mcp_fit_notes(f), "");
    d.max_nodes = d.max_bytes = 0;
    put_wide(&w, 3, false, J({"type": "boolean"}));          /* a long enum beside others */
    mcp_writer_reset(&w);
    mcp_put_object(&w, NULL);
    mcp_put_object(&w, "properties");
    mcp_put_object(&w, "e");
    mcp_put_array(&w, "enum");
    for (i = 0; i < 20000; i++) mcp_put_int(&w, NULL, i % 19999);
    mcp_put_end(&w);
    mcp_put_end(&w);
    mcp_put_raw(&w, "b", J({"type": "boolean"}), MCP_NTS);
    mcp_put_end(&w);
    mcp_put_end(&w);
    f = fit_made(&a, &w, &d, &out);
    EQ_INT(mcp_json_size(mcp_json_at(out, "/properties/e/enum")), 19999);
    EQ_STR(mcp_json_str(mcp_json_at(out, "/properties/b/type"), ""), "boolean");
    CHECK(strstr(mcp_fit_notes(f), "#/properties/e: enum lost duplicates\n") != NULL);
    mcp_put_object(&w, NULL);
    mcp_put_object(&w, "properties");
    mcp_put_object(&w, "e");
    mcp_put_array(&w, "enum");
    for (i = 0; i < 20000; i++) { snprintf(text, sizeof text, "a longer value %d", i); mcp_put_str(&w, NULL, text); }
    mcp_put_end(&w);
    mcp_put_end(&w);
    mcp_put_raw(&w, "b", J({"type": "boolean"}), MCP_NTS);
    mcp_put_end(&w);
    mcp_put_end(&w);
    fit_made(&a, &w, &d, &out);                              /* over the bytes: both properties stay, with their types */
    EQ_STR(mcp_json_str(mcp_json_at(out, "/properties/e/type"), ""), "string");
    EQ_STR(mcp_json_str(mcp_json_at(out, "/properties/b/type"), ""), "boolean");
    put_wide(&w, 2000, false, J({"$ref": "#/$defs/t"}));     /* many references to one */
    mcp_put_object(&w, "$defs");
    mcp_put_raw(&w, "t", J({"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "integer"}}}), MCP_NTS);
    mcp_put_end(&w);
    mcp_put_end(&w);
    f = fit_made(&a, &w, &d, &out);
    EQ_INT(mcp_json_size(mcp_json_get(out, "properties")), 2000);
    EQ_STR(mcp_json_str(mcp_json_at(out, "/properties/key1999/properties/y/type"), ""), "integer");
    EQ_STR(mcp_fit_notes(f), "");
    put_wide(&w, 2000, false, J({"$ref": "#/$defs/t"}));
    mcp_put_object(&w, "$defs");
    mcp_put_raw(&w, "t", J({"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}, "y": {"type": "integer"},
        "a long name": {"type": "string"}, "another long name": {"type": "string"}}}}}}), MCP_NTS);
    mcp_put_end(&w);
    mcp_put_end(&w);
    f = fit_made(&a, &w, &d, &out);
    EQ_INT(mcp_json_size(mcp_json_get(out, "properties")), 2000);
    CHECK(strstr(mcp_fit_notes(f), "#/properties/key0: too deep: an object without its properties\n") != NULL);
    d.profile = MCP_MOONSHOT;                               /* kept there, nothing is cut */
    put_wide(&w, 2000, false, J({"$ref": "#/$defs/t"}));
    mcp_put_object(&w, "$defs");
    mcp_put_raw(&w, "t", J({"type": "object", "properties": {"x": {"type": "string", "minLength": 1}, "y": {"type": "integer", "minimum": 1}}}), MCP_NTS);
    mcp_put_end(&w);
    mcp_put_end(&w);
    f = fit_made(&a, &w, &d, &out);
    EQ_STR(mcp_json_str(mcp_json_at(out, "/properties/key1999/$ref"), ""), "#/$defs/t");
    EQ_STR(mcp_fit_notes(f), "");
    d.profile = MCP_GENERIC;                                /* hopeless */
    d.max_bytes = 40;
    put_wide(&w, 3, true, J({"type": "string"}));
    mcp_put_end(&w);
    fit_made(&a, &w, &d, &out);
    CHECK(same(out, parsed(&a, J({"type": "object", "properties": {}}))));
    d.max_bytes = 0;
    d.max_nodes = 1;
    put_wide(&w, 3, true, J({"type": "string"}));
    mcp_put_end(&w);
    fit_made(&a, &w, &d, &out);
    EQ_STR(mcp_json_str(mcp_json_get(out, "type"), ""), "object");
    d.max_nodes = 0;                                        /* a report has an end */
    put_wide(&w, 3000, false, J({"type": "oops", "minLength": "x"}));
    mcp_put_end(&w);
    f = fit_made(&a, &w, &d, &out);
    n = strlen(mcp_fit_notes(f));
    CHECK(n > 32768 && n <= 65536 && mcp_fit_notes(f)[n - 1] == '\n');
    d.profile = MCP_OPENAI_STRICT;                          /* the sizes of strictness */
    put_wide(&w, 1000, true, J({"type": "boolean"}));
    mcp_put_end(&w);
    CHECK(mcp_fit_strict(fit_made(&a, &w, &d, &out)));
    put_wide(&w, 5001, true, J({"type": "boolean"}));
    mcp_put_end(&w);
    f = fit_made(&a, &w, &d, &out);
    CHECK(!mcp_fit_strict(f) && strstr(mcp_fit_notes(f), "over the size that strictness allows"));
    put_wide(&w, 251, true, J({"enum": ["a", "b", "c", "d"]}));
    mcp_put_end(&w);
    CHECK(!mcp_fit_strict(fit_made(&a, &w, &d, &out)));
    put_wide(&w, 250, true, J({"enum": ["a", "b", "c", "d"]}));
    mcp_put_end(&w);
    CHECK(mcp_fit_strict(fit_made(&a, &w, &d, &out)));
    d.max_nodes = 100;                                      /* strict in two steps: what was cut can be said strictly */
    put_wide(&w, 200, true, J({"type": "boolean"}));
    mcp_put_end(&w);
    f = fit_made(&a, &w, &d, &out);
    n = mcp_json_size(mcp_json_get(out, "properties"));
    CHECK(n > 50 && n < 100 && mcp_json_at(out, "/properties/key0"));
    CHECK(!mcp_json_bool(mcp_json_get(out, "additionalProperties"), true) == mcp_fit_strict(f));
    EQ_INT(mcp_schema_unfit(f, parsed(&a, J({"key0": true})), &w), MCP_OK);
    EQ_STR(mcp_writer_text(&w, NULL), "{\"key0\":true}");
    mcp_writer_free(&w);
    mcp_arena_free(&a);
}

/* References that grow when they are written out: some are cut, but the result stays within bounds and has all of the root. */
TEST(growth)
{
    static const mcp_profile profiles[] = { MCP_OPENAI, MCP_GEMINI, MCP_GEMINI_JSON, MCP_LLAMACPP, MCP_OPENAI_STRICT };
    char key[24], ref[32], room[300];
    mcp_arena a;
    mcp_writer w;
    size_t p;
    int i, k, how;
    mcp_arena_init(&a, NULL, 0);
    mcp_writer_init(&w, NULL, 0);
    for (how = 0; how < 2; how++) {                         /* each leads twice to the next; each leads to all */
        const mcp_json *in;
        int n = how ? 12 : 30;
        mcp_put_object(&w, NULL);
        mcp_put_object(&w, "properties");
        mcp_put_raw(&w, "a", J({"$ref": "#/$defs/d0"}), MCP_NTS);
        mcp_put_raw(&w, "b", J({"type": "string"}), MCP_NTS);
        mcp_put_end(&w);
        mcp_put_object(&w, "$defs");
        for (i = 0; i < n; i++) {
            snprintf(key, sizeof key, "d%d", i);
            mcp_put_object(&w, key);
            mcp_put_str(&w, "type", "object");
            mcp_put_object(&w, "properties");
            for (k = 0; k < (how ? n : 2); k++) {
                snprintf(key, sizeof key, "p%d", k);
                snprintf(ref, sizeof ref, "#/$defs/d%d", how ? k : i + 1 < n ? i + 1 : i);
                mcp_put_object(&w, key);
                if (how || i + 1 < n) mcp_put_str(&w, "$ref", ref);
                else mcp_put_str(&w, "type", "integer");
                mcp_put_end(&w);
            }
            mcp_put_end(&w);
            mcp_put_end(&w);
        }
        mcp_put_end(&w);
        mcp_put_end(&w);
        in = mcp_json_parse(&a, mcp_writer_text(&w, NULL), MCP_NTS, NULL);
        mcp_writer_reset(&w);
        for (p = 0; p < N(profiles); p++) {
            const char *wrong = fit_check(in, profiles[p], true, 20000, room);
            if (wrong) failed(mcp_profile_name(profiles[p]), how ? "all to all" : "a chain of pairs", "broken", wrong);
            else test_passed++;
        }
    }
    mcp_writer_free(&w);
    mcp_arena_free(&a);
}

/* An allocator that fails at one call and counts what lives. */
typedef struct failing { long calls, fail_at, blocks; } failing;

static void *fail_resize(void *user, void *p, size_t old_size, size_t new_size)
{
    failing *c = (failing *)user;
    void *moved;
    (void)old_size;
    if (!new_size) {
        if (p) c->blocks--;
        free(p);
        return NULL;
    }
    if (++c->calls == c->fail_at) return NULL;
    moved = realloc(p, new_size);
    if (moved && !p) c->blocks++;
    return moved;
}

TEST(memory)
{
    static const struct { mcp_profile profile; const char *schema, *args; } rows[] = {
        { MCP_OPENAI_STRICT, J({"properties": {"t": {"$ref": "#/$defs/n"}, "m": {"type": "object", "additionalProperties": {"type": "string"}}},
          "$defs": {"n": {"type": "object", "properties": {"v": {"type": "integer"}, "n": {"$ref": "#/$defs/n"}}}}}), J({"t": {"v": null, "n": {"v": 1}}}) },
        { MCP_GEMINI, J({"anyOf": [{"properties": {"$a": {"enum": [1, 2]}, "x y": {"type": ["string", "array", "null"]}}, "required": ["$a"]},
          {"properties": {"$a": {"const": "k"}, "z": {"allOf": [{"$ref": "#/$defs/u"}, {"description": "d", "pattern": "(?=x)"}]}}}],
          "$defs": {"u": {"$anchor": "u", "oneOf": [{"type": "string"}, {"$ref": "#u"}, {"type": "object", "properties": {"b": true}}]}}}), J({"a": "1", "x_y": ["{}"]}) },
        { MCP_ANTHROPIC, J({"type": "array", "items": {"type": "object", "properties": {"p01": {}, "p02": {}, "p03": {}, "p04": {}, "p05": {}, "p06": {}, "p07": {}, "p08": {}, "p09": {},
          "p10": {}, "p11": {}, "p12": {}, "p13": {}, "p14": {}, "p15": {}, "p16": {}, "@p": {"enum": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 1]}},
          "required": ["@p"]}}), J({"input": [{"_p": 1}, {"p01": "x"}]}) },
        { MCP_OPENAI_STRICT, J({"properties": {"a b": {"type": "string", "description": "d", "format": "x"}}}), J({"a b": null}) },
    };
    size_t i;
    for (i = 0; i < N(rows); i++) {
        failing c;
        mcp_allocator alloc;
        long n;
        bool done = false;
        memset(&c, 0, sizeof c);
        alloc.resize = fail_resize;
        alloc.user = &c;
        for (n = 1; n < 5000 && !done; n++) {
            mcp_arena a, own;
            mcp_writer w, back;
            const mcp_fit *f;
            const mcp_json *in, *args;
            mcp_fit_desc d;
            memset(&d, 0, sizeof d);
            d.profile = rows[i].profile;
            mcp_arena_init(&own, NULL, 0);
            in = parsed(&own, rows[i].schema);
            args = parsed(&own, rows[i].args);
            c.calls = 0;
            c.fail_at = n;
            mcp_arena_init(&a, &alloc, 0);
            mcp_writer_init(&w, &alloc, 0);
            mcp_writer_init(&back, &alloc, 0);
            f = mcp_schema_fit(&a, in, &d, &w);
            if (f && mcp_schema_unfit(f, args, &back) == MCP_OK) {
                done = c.calls < n;
                CHECK(done || mcp_writer_text(&back, NULL));
            } else CHECK(c.calls >= n);
            mcp_writer_free(&w);
            mcp_writer_free(&back);
            mcp_arena_free(&a);
            mcp_arena_free(&own);
            if (c.blocks) { CHECK(c.blocks == 0); break; }
        }
        CHECK(done && n > 3);
    }
}

/* A writer with an error stays as it is, and one that is full says so. */
TEST(writers)
{
    mcp_arena a;
    mcp_writer w;
    char small[20];
    mcp_arena_init(&a, NULL, 0);
    mcp_writer_fixed(&w, small, sizeof small);
    CHECK(mcp_schema_fit(&a, NULL, NULL, &w) == NULL);
    EQ_INT(mcp_writer_status(&w), MCP_ERR_LIMIT);
    CHECK(mcp_schema_fit(&a, NULL, NULL, &w) == NULL);
    {
        static char block[20000], room[4096];
        mcp_arena fixed;
        mcp_fit_desc d;
        const mcp_json *in = parsed(&a, J({"properties": {"$a": {"type": ["string", "null"], "description": "d"}}}));
        mcp_arena_fixed(&fixed, block, sizeof block);
        memset(&d, 0, sizeof d);
        d.profile = (mcp_profile)99;                        /* is the generic one */
        mcp_writer_fixed(&w, room, sizeof room);
        CHECK(mcp_schema_fit(&fixed, in, &d, &w) != NULL);
        CHECK(same(parsed(&a, room), parsed(&a, J({"type": "object", "properties": {"$a": {"type": ["string", "null"], "description": "d"}}}))));
        mcp_arena_fixed(&fixed, block, 300);
        mcp_writer_fixed(&w, room, sizeof room);
        CHECK(mcp_schema_fit(&fixed, in, &d, &w) == NULL);
    }
    mcp_writer_init(&w, NULL, 0);
    CHECK(mcp_schema_fit(NULL, NULL, NULL, &w) == NULL && mcp_schema_fit(&a, NULL, NULL, NULL) == NULL);
    mcp_put_array(&w, NULL);
    CHECK(mcp_schema_fit(&a, NULL, NULL, &w) != NULL);
    CHECK(mcp_schema_fit(&a, parsed(&a, J({"properties": {"x": {"type": "integer"}}})), NULL, &w) != NULL);
    mcp_put_end(&w);
    CHECK(same(parsed(&a, mcp_writer_text(&w, NULL)), parsed(&a, J([{"type": "object", "properties": {}},
        {"type": "object", "properties": {"x": {"type": "integer"}}}]))));
    mcp_writer_free(&w);
    mcp_arena_free(&a);
}

int main(void)
{
    RUN(profiles);
    RUN(shapes);
    RUN(type_words);
    RUN(old_drafts);
    RUN(references);
    RUN(all_of);
    RUN(root_unions);
    RUN(unions);
    RUN(nulls);
    RUN(constants);
    RUN(arrays);
    RUN(formats);
    RUN(patterns);
    RUN(bounds);
    RUN(defaults);
    RUN(maps);
    RUN(logic);
    RUN(keys);
    RUN(strictness);
    RUN(wrapped);
    RUN(wide_and_nested);
    RUN(rare);
    RUN(nothing_is_lost);
    RUN(reports);
    RUN(the_way_back);
    RUN(descriptions);
    RUN(depths);
    RUN(budgets);
    RUN(growth);
    RUN(memory);
    RUN(writers);
    return test_end();
}
