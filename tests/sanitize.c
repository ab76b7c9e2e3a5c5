/* The schema sanitizer against cases that were rebuilt from reports, and against the tools of real servers.
 *     sanitize cases FILE      a list of cases: the result that is expected, if the case has one, and what must hold by the table below;
 *                              a case without an entry there fails, so that none is forgotten. Of kind "name" are those of names.sh
 *     sanitize tools FILE...   each FILE is the answer to tools/list of a server, a JSON message a line: for all tools and all profiles
 *                              what tests/fit_props.h says, with notes and without, and in little room; and no property of a root gets lost */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "test.h"
#include "fit_props.h"

static char *slurp(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t n;
    *len = 0;
    if (!f) { fprintf(stderr, "cannot read %s\n", path); exit(2); }
    do {
        text = (char *)realloc(text, *len + 65536);
        if (!text) exit(2);
        *len += n = fread(text + *len, 1, 65536, f);
    } while (n);
    fclose(f);
    return text;
}

/* Equal as JSON: members in any order, numbers by their text. */
static bool same(const mcp_json *a, const mcp_json *b)
{
    mcp_type type = mcp_json_type(a);
    const mcp_json *j = mcp_json_first(b);
    const char *s, *t;
    size_t n, m;
    if (type != mcp_json_type(b) || mcp_json_size(a) != mcp_json_size(b)) return false;
    switch (type) {
    case MCP_JSON_OBJECT:
        mcp_json_each(i, a) if (!same(i, mcp_json_get(b, mcp_json_key(i)))) return false;
        return true;
    case MCP_JSON_ARRAY:
        mcp_json_each(i, a) { if (!same(i, j)) return false; j = mcp_json_next(j); }
        return true;
    case MCP_JSON_NUMBER: case MCP_JSON_STRING:
        s = mcp_json_text(a, &n); t = mcp_json_text(b, &m);
        return n == m && memcmp(s, t, n) == 0;
    case MCP_JSON_BOOL: return mcp_json_bool(a, false) == mcp_json_bool(b, false);
    default: return true;
    }
}

/* -- a case that was fitted for one profile -- */

typedef struct fitted { const mcp_fit *fit; const mcp_json *out; const char *text; } fitted;
typedef struct run {
    mcp_arena *a;
    const mcp_json *in;
    mcp_profile profile;
    bool strict;
    fitted bare, told;                      /* without notes in descriptions, and with them */
} run;

static const mcp_json *parse(const run *r, const char *json) { return mcp_json_parse(r->a, json, MCP_NTS, NULL); }

static const char *text_of(const run *r, mcp_writer *w)
{
    const char *text = mcp_writer_text(w, NULL);
    char *copy = (char *)mcp_arena_alloc(r->a, w->len + 1);
    if (text && copy) memcpy(copy, text, w->len + 1);
    mcp_writer_free(w);
    return text && copy ? copy : "";
}

static fitted fit(const run *r, const mcp_json *schema, mcp_profile profile, bool no_notes, int max_depth)
{
    mcp_fit_desc d;
    mcp_writer w;
    fitted f;
    memset(&d, 0, sizeof d);
    d.profile = profile; d.no_notes = no_notes; d.max_depth = max_depth;
    mcp_writer_init(&w, NULL, 0);
    f.fit = mcp_schema_fit(r->a, schema, &d, &w);
    f.text = text_of(r, &w);
    f.out = parse(r, f.text);
    return f;
}

static bool unfits(const run *r, const char *args, const char *wanted)
{
    mcp_writer w;
    mcp_writer_init(&w, NULL, 0);
    mcp_schema_unfit(r->bare.fit, parse(r, args), &w);
    return same(parse(r, text_of(r, &w)), parse(r, wanted));
}

static bool has(const char *text, const char *part) { return strstr(text, part) != NULL; }
static const char *str(const mcp_json *v, const char *key) { return mcp_json_str(mcp_json_get(v, key), ""); }
static bool noted(const run *r, const char *part) { return has(mcp_fit_notes(r->bare.fit), part); }
static bool refs(const run *r) { return has(r->bare.text, "\"$ref\"") || has(r->told.text, "\"$ref\""); }

/* The schema within: strict profiles make what is optional one that may be null. */
static const mcp_json *within(const mcp_json *s)
{
    const mcp_json *any = mcp_json_get(s, "anyOf"), *second = mcp_json_next(mcp_json_first(any));
    return mcp_json_size(any) == 2 && strcmp(str(second, "type"), "null") == 0 ? mcp_json_first(any) : s;
}
static const mcp_json *prop(const mcp_json *s, const char *name) { return mcp_json_get(mcp_json_get(within(s), "properties"), name); }

static bool lists(const mcp_json *list, const char *word)
{
    mcp_json_each(i, list) if (strcmp(mcp_json_str(i, ""), word) == 0) return true;
    return false;
}

/* Is `got` the strict form of `e`? In every object of `got` all properties are required and no others may come; those that are
 * optional in `e` may be null in `got`: by a type list, by a branch, and with null in the enum. All else is as in `e`. */
static bool strict_form(const mcp_json *e, const mcp_json *got, bool optional)
{
    const mcp_json *properties, *required;
    if (mcp_json_type(e) != MCP_JSON_OBJECT || mcp_json_type(got) != MCP_JSON_OBJECT) return same(e, got);
    if (optional && !mcp_json_get(e, "anyOf")) {
        const mcp_json *type = mcp_json_get(got, "type");
        if (within(got) == got && !(mcp_json_size(type) == 2 && lists(type, "null"))) return false;
        got = within(got);
    }
    properties = mcp_json_get(got, "properties"); required = mcp_json_get(got, "required");
    if (properties && (mcp_json_size(required) != mcp_json_size(properties) || mcp_json_bool(mcp_json_get(got, "additionalProperties"), true))) return false;
    mcp_json_each(m, got)
        if (!mcp_json_get(e, mcp_json_key(m)) && m != required && strcmp(mcp_json_key(m), "additionalProperties")) return false;
    mcp_json_each(m, e) {
        const mcp_json *g = mcp_json_get(got, mcp_json_key(m));
        const char *word = mcp_json_key(m);
        if (strcmp(word, "required") == 0 || strcmp(word, "additionalProperties") == 0) continue;
        if (strcmp(word, "properties") == 0) {
            if (mcp_json_size(m) != mcp_json_size(g)) return false;
            mcp_json_each(p, m)
                if (!strict_form(p, mcp_json_get(g, mcp_json_key(p)), !lists(mcp_json_get(e, "required"), mcp_json_key(p)))) return false;
        } else if (strcmp(word, "type") == 0 && optional && mcp_json_type(g) == MCP_JSON_ARRAY) {
            if (!same(m, mcp_json_first(g))) return false;
        } else if (strcmp(word, "enum") == 0 && optional && mcp_json_size(g) == mcp_json_size(m) + 1) {
            const mcp_json *v = mcp_json_first(g);
            mcp_json_each(i, m) { if (!same(i, v)) return false; v = mcp_json_next(v); }
            if (mcp_json_type(v) != MCP_JSON_NULL) return false;
        } else if (!strict_form(m, g, false)) return false;
    }
    return true;
}

/* Is it this schema, or a property's strict form of it? */
static bool is(const run *r, const mcp_json *got, const char *json)
{
    const mcp_json *e = parse(r, json);
    return got && (same(e, got) || (r->strict && (strict_form(e, got, true) || strict_form(e, got, false))));
}

/* What says nothing: nothing but a description, or a string where the profile knows no such thing. */
static bool any_value(const run *r, const mcp_json *s)
{
    bool typed = r->profile == MCP_GEMINI || r->profile == MCP_GEMINI_JSON || r->profile == MCP_OLLAMA, text = mcp_json_get(s, "description") != NULL;
    if (r->profile == MCP_MOONSHOT) typed = text;
    return mcp_json_type(s) == MCP_JSON_OBJECT && mcp_json_size(s) == (size_t)text + typed && (!typed || strcmp(str(s, "type"), "string") == 0);
}

static bool permits(const run *r, const char *value)
{
    mcp_arena scratch;
    const mcp_schema *s = mcp_schema_compile(r->a, r->bare.out, NULL);
    int status;
    mcp_arena_init(&scratch, NULL, 0);
    status = s ? mcp_schema_check(s, parse(r, value), &scratch, NULL, 0) : MCP_ERR_MEMORY;
    mcp_arena_free(&scratch);
    return status == MCP_OK;
}

/* How deep schemas nest, the root counts as 1. */
static int depth(const mcp_json *s)
{
    int most = 0, d;
    mcp_json_each(m, mcp_json_get(s, "properties")) if ((d = depth(m)) > most) most = d;
    mcp_json_each(m, mcp_json_get(s, "anyOf")) if ((d = depth(m)) > most) most = d;
    if (mcp_json_get(s, "items") && (d = depth(mcp_json_get(s, "items"))) > most) most = d;
    return most + 1;
}

static bool no_union(const mcp_json *s) { return !mcp_json_get(s, "anyOf") && !mcp_json_get(s, "oneOf") && !mcp_json_get(s, "allOf"); }

/* -- what must hold, by case -- */

#define OUT (r->bare.out)
#define P(name) prop(r->bare.out, name)
#define TOLD(name) str(prop(r->told.out, name), "description")
#define HOLDS(name) static bool name(const run *r)

HOLDS(ref_sibling_wins)
{
    return strcmp(str(P("cond"), "description"), "outer text") == 0 && strcmp(TOLD("cond"), "outer text") == 0 &&
           !has(r->told.text, "inner") && is(r, P("cond"), "{\"type\":\"string\",\"description\":\"outer text\"}");
}
HOLDS(ref_nested_chain)
{
    return !refs(r) && is(r, mcp_json_get(within(prop(P("a"), "b")), "items"), "{\"type\":\"string\",\"enum\":[\"x\",\"y\"]}");
}
HOLDS(ref_cycle_tree)
{
    const mcp_json *item = mcp_json_get(prop(P("root"), "children"), "items"), *again = mcp_json_get(prop(prop(r->told.out, "root"), "children"), "items");
    return !refs(r) && is(r, item, "{\"type\":\"object\"}") && has(str(again, "description"), "ecursive") && !mcp_json_get(again, "properties");
}
HOLDS(ref_cycle_kept)
{
    const mcp_json *defs = mcp_json_get(OUT, "$defs"), *node = mcp_json_get(defs, "Node");
    if (!refs(r)) return !defs && prop(P("root"), "name");
    return mcp_json_size(defs) == 1 && prop(node, "name") && prop(node, "next") && has(r->bare.text, "\"$ref\":\"#/$defs/Node\"") && mcp_fit_strict(r->bare.fit);
}
HOLDS(ref_self_loop) { return !refs(r) && any_value(r, P("a")) && noted(r, "#/properties/a: "); }
HOLDS(ref_dangling)
{
    return !refs(r) && any_value(r, P("options")) && strcmp(str(P("options"), "description"), "Block options") == 0 &&
           strncmp(TOLD("options"), "Block options", 13) == 0 && is(r, P("id"), "{\"type\":\"string\"}") && noted(r, "#/properties/options: ");
}
HOLDS(ref_external) { return !refs(r) && (any_value(r, P("geo")) || is(r, P("geo"), "{\"type\":\"object\"}")) && noted(r, "geojson.example.invalid"); }
HOLDS(ref_in_additional)
{
    static const char all[] = MCP_JSON({"type": "object", "properties": {
        "a": {"type": "object", "additionalProperties": {"$ref": "#/$defs/V"}}, "i": {"type": "array", "items": {"$ref": "#/$defs/V"}},
        "u": {"anyOf": [{"$ref": "#/$defs/V"}, {"type": "string"}]}, "t": {"type": "array", "prefixItems": [{"$ref": "#/$defs/V"}]}},
        "$defs": {"V": {"type": "integer", "minimum": 0}}});
    fitted f = fit(r, parse(r, all), r->profile, true, 0);
    return !refs(r) && !has(f.text, "$ref") && is(r, mcp_json_get(prop(f.out, "a"), "additionalProperties"), "{\"type\":\"integer\",\"minimum\":0}") &&
           is(r, mcp_json_get(prop(f.out, "i"), "items"), "{\"type\":\"integer\",\"minimum\":0}") &&
           is(r, mcp_json_first(mcp_json_get(prop(f.out, "u"), "anyOf")), "{\"type\":\"integer\",\"minimum\":0}") &&
           is(r, mcp_json_first(mcp_json_get(prop(f.out, "t"), "prefixItems")), "{\"type\":\"integer\",\"minimum\":0}");
}
HOLDS(keyword_named_props)
{
    mcp_json_each(p, mcp_json_get(r->in, "properties")) if (!same(p, P(mcp_json_key(p)))) return false;
    return mcp_json_size(mcp_json_get(OUT, "properties")) == mcp_json_size(mcp_json_get(r->in, "properties"));
}
HOLDS(data_positions)
{
    const mcp_json *was = mcp_json_at(r->in, "/properties/filter/default"), *is_bare = mcp_json_get(P("filter"), "default"),
                   *is_told = mcp_json_get(prop(r->told.out, "filter"), "default");
    return P("filter") && was && (!is_bare || same(is_bare, was)) && (!is_told || same(is_told, was));
}
HOLDS(root_empty) { return is(r, OUT, "{\"type\":\"object\",\"properties\":{}}") && same(OUT, r->told.out); }
HOLDS(root_type_missing) { return strcmp(str(OUT, "type"), "object") == 0 && is(r, P("a"), "{\"type\":\"string\"}"); }
HOLDS(root_type_array)
{
    return strcmp(str(OUT, "type"), "object") == 0 && same(P("input"), r->in) && noted(r, "#: ") &&
           unfits(r, "{\"input\":[\"a\",\"b\"]}", "[\"a\",\"b\"]");
}
HOLDS(root_anyof_variants)
{
    const char *d = str(r->told.out, "description");
    return no_union(OUT) && P("content") && P("source_url") && P("name") && same(mcp_json_get(OUT, "required"), parse(r, "[\"name\"]")) &&
           has(d, "content") && has(d, "source_url");
}
HOLDS(root_oneof_discriminated)
{
    return no_union(OUT) && is(r, P("kind"), "{\"type\":\"string\",\"enum\":[\"file\",\"url\"]}") && same(mcp_json_get(OUT, "required"), parse(r, "[\"kind\"]")) &&
           P("path") && P("href");
}
HOLDS(root_allof) { return no_union(OUT) && P("a") && P("b") && mcp_json_size(mcp_json_get(OUT, "required")) == 2; }
HOLDS(root_ref) { return !refs(r) && is(r, P("u"), "{\"type\":\"string\"}"); }
HOLDS(allof_contradiction) { return strcmp(str(OUT, "type"), "object") == 0 && is(r, P("k"), "{\"type\":\"string\"}") && (!P("n") || any_value(r, P("n"))); }
HOLDS(anyof_null_gemini) { return mcp_json_bool(mcp_json_get(P("q"), "nullable"), false) && no_union(P("q")) && !mcp_json_get(P("q"), "default"); }
HOLDS(anyof_null_openai)
{
    return !lists(mcp_json_get(OUT, "required"), "q") && permits(r, "{\"q\":\"x\"}") && permits(r, "{}") && !permits(r, "{\"q\":1}") && !has(r->told.text, "nullable");
}
HOLDS(type_array_null) { return mcp_json_type(mcp_json_get(P("q"), "type")) == MCP_JSON_STRING && mcp_json_type(mcp_json_get(P("t"), "type")) == MCP_JSON_STRING; }
HOLDS(type_array_multi) { return mcp_json_size(mcp_json_get(P("v"), "anyOf")) == 2 && !mcp_json_get(P("v"), "type"); }
HOLDS(anyof_of_consts) { return no_union(P("units")) && same(mcp_json_get(P("units"), "enum"), parse(r, "[\"metric\",\"imperial\"]")); }
HOLDS(anyof_in_items) { return mcp_json_size(mcp_json_at(P("xs"), "/items/anyOf")) == 2 && mcp_json_at(P("xs"), "/items/anyOf/1/properties/k"); }
HOLDS(anyof_branch_required) { return no_union(P("target")) && prop(P("target"), "id") && has(TOLD("target"), "id") && has(TOLD("target"), "name"); }
HOLDS(const_number) { return is(r, P("v"), "{\"type\":\"integer\"}") && !mcp_json_get(prop(r->told.out, "v"), "enum") && has(TOLD("v"), "3"); }
HOLDS(enum_integers)
{
    mcp_json_each(i, mcp_json_get(P("n"), "enum")) if (mcp_json_type(i) != MCP_JSON_STRING) return false;
    if (mcp_json_get(P("n"), "enum")) return unfits(r, "{\"n\":\"2\"}", "{\"n\":2}");
    return strcmp(str(P("n"), "type"), "integer") == 0 && has(TOLD("n"), "1, 2, 3") && unfits(r, "{\"n\":2}", "{\"n\":2}");
}
HOLDS(enum_mixed)
{
    mcp_json_each(b, mcp_json_get(P("c"), "anyOf")) {
        mcp_type kind = mcp_json_type(mcp_json_first(mcp_json_get(b, "enum")));
        if (mcp_json_type(mcp_json_get(b, "type")) != MCP_JSON_STRING || (!kind && strcmp(str(b, "type"), "null"))) return false;
        mcp_json_each(i, mcp_json_get(b, "enum")) if (mcp_json_type(i) != kind) return false;
    }
    return !mcp_json_get(P("c"), "enum") && permits(r, "{\"c\":\"a\"}") && permits(r, "{\"c\":1}") && permits(r, "{\"c\":null}") &&
           !permits(r, "{\"c\":\"b\"}") && !permits(r, "{\"c\":2}");
}
HOLDS(enum_empty_or_dup)
{
    return !mcp_json_get(P("c"), "enum") &&
           is(r, P("d"), r->profile == MCP_GEMINI ? "{\"type\":\"string\",\"enum\":[\"x\"]}" : "{\"type\":\"string\",\"enum\":[\"x\",\"\"]}");
}
HOLDS(array_no_items) { return mcp_json_type(mcp_json_get(P("tags"), "items")) == MCP_JSON_OBJECT; }
HOLDS(tuple_draft7)
{
    return mcp_json_size(mcp_json_get(P("w"), "prefixItems")) == 2 && !mcp_json_bool(mcp_json_get(P("w"), "items"), true) && !has(r->told.text, "additionalItems");
}
HOLDS(tuple_hetero) { return !mcp_json_get(P("w"), "prefixItems") && mcp_json_size(mcp_json_at(P("w"), "/items/anyOf")) == 2; }
HOLDS(bool_items_true) { return mcp_json_get(mcp_json_get(P("c"), "items"), "type") && mcp_json_bool(mcp_json_get(P("c"), "nullable"), false); }
HOLDS(draft4_exclusive)
{
    return mcp_json_type(mcp_json_get(P("n"), "exclusiveMinimum")) == MCP_JSON_NUMBER && !mcp_json_get(P("n"), "minimum") &&
           !mcp_json_get(P("n"), "exclusiveMaximum") && mcp_json_int(mcp_json_get(P("n"), "maximum"), 0) == 9;
}
HOLDS(openapi_leak)
{
    return !has(r->told.text, "\"nullable\"") && !has(r->told.text, "\"xml\"") && !has(r->told.text, "\"example\"") && permits(r, "{\"a\":\"y\"}") && permits(r, "{}");
}
HOLDS(bad_type_words)
{
    return any_value(r, P("a")) && is(r, P("b"), "{\"type\":\"string\"}") && any_value(r, P("c")) && is(r, P("d"), "{\"type\":\"integer\"}") &&
           is(r, P("e"), "{\"type\":\"string\"}");
}
HOLDS(required_unknown) { return same(mcp_json_get(OUT, "required"), parse(r, "[\"a\"]")); }
HOLDS(required_dup) { return required_unknown(r) && P("o") && !mcp_json_get(P("o"), "required"); }
HOLDS(props_on_string) { return is(r, P("a"), "{\"type\":\"string\"}"); }
HOLDS(zod_record)
{
    return !has(r->told.text, "\"propertyNames\"") && !has(r->told.text, "\"additionalProperties\"") && is(r, P("h"), "{\"type\":\"object\"}");
}
HOLDS(map_typed) { return strncmp(TOLD("m"), "weights", 7) == 0 && has(TOLD("m"), "number"); }
HOLDS(untouched) { return same(OUT, r->in) && same(r->told.out, r->in); }
HOLDS(format_gemini)
{
    return !mcp_json_get(P("u"), "format") && !mcp_json_get(P("n"), "format") && !mcp_json_get(P("s"), "format") &&
           strcmp(str(P("w"), "format"), "date-time") == 0 && strcmp(str(P("k"), "format"), "int64") == 0;
}
HOLDS(content_encoding) { return is(r, P("img"), "{\"type\":\"string\"}") && has(TOLD("img"), "base64") && has(TOLD("img"), "image/png"); }
HOLDS(pattern_unanchored)
{
    const char *p = str(P("d"), "pattern");
    return mcp_json_get(P("d"), "pattern") ? strcmp(p, "^.*[0-9]+h.*$") == 0 : has(TOLD("d"), "[0-9]+h");
}
HOLDS(pattern_escapes) { return P("d") && P("e") && !mcp_json_get(P("d"), "pattern") && !mcp_json_get(P("e"), "pattern"); }
HOLDS(moonshot_plain)
{
    char room[300];
    return !has(r->told.text, "$schema") && !mcp_json_get(P("d"), "default") && !fit_check(r->in, MCP_MOONSHOT, false, 0, room);
}
HOLDS(schema_uri) { return !has(r->told.text, "$schema") && !has(r->told.text, "$comment") && is(r, P("a"), "{\"type\":\"string\"}"); }
HOLDS(prop_header)
{
    mcp_json_each(p, mcp_json_get(OUT, "properties")) if (!fit_legal_key(MCP_GEMINI, mcp_json_key(p), strlen(mcp_json_key(p)))) return false;
    return lists(mcp_json_get(OUT, "required"), mcp_json_key(mcp_json_first(mcp_json_get(OUT, "properties")))) &&
           unfits(r, "{\"If_Match\":\"e\",\"x_loc_lat\":1.5}", "{\"If-Match\":\"e\",\"x-loc-lat\":1.5}") &&
           same(fit(r, r->in, MCP_ANTHROPIC, true, 0).out, r->in) && same(fit(r, r->in, MCP_OPENAI, true, 0).out, r->in);
}
/* The sent names of the three, in order; "" where there is none. */
static const char *sent(const mcp_json *s, int i)
{
    const mcp_json *m = mcp_json_first(mcp_json_get(s, "properties"));
    while (i-- && m) m = mcp_json_next(m);
    return m && mcp_json_key(m) ? mcp_json_key(m) : "";
}
HOLDS(prop_unicode)
{
    const mcp_json *o = P("o");
    const char *a = sent(OUT, 0), *b = sent(OUT, 1), *c = sent(o, 0);
    char args[400];
    if (!fit_legal_key(MCP_ANTHROPIC, a, strlen(a)) || !fit_legal_key(MCP_ANTHROPIC, b, strlen(b)) || !fit_legal_key(MCP_ANTHROPIC, c, strlen(c))) return false;
    snprintf(args, sizeof args, "{\"%s\":1,\"%s\":\"x\",\"o\":{\"%s\":\"y\"}}", a, b, c);
    return strcmp(a, b) && lists(mcp_json_get(OUT, "required"), a) && lists(mcp_json_get(o, "required"), c) &&
           strcmp(fit(r, r->in, r->profile, true, 0).text, r->bare.text) == 0 &&
           unfits(r, args, "{\"gr\\u00f6\\u00dfe\":1,\"\\u540d\\u524d\":\"x\",\"o\":{\"\\u00e9\":\"y\"}}");
}
HOLDS(prop_long)
{
    const char *a = sent(OUT, 0), *b = sent(OUT, 1);
    char args[400], wanted[400];
    snprintf(args, sizeof args, "{\"%s\":1,\"%s\":2}", a, b);
    snprintf(wanted, sizeof wanted, "{\"%s\":1,\"%s\":2}", sent(r->in, 0), sent(r->in, 1));
    return strlen(a) <= 64 && strlen(b) <= 64 && *a && *b && strcmp(a, b) && strcmp(sent(r->in, 0), sent(r->in, 1)) && unfits(r, args, wanted);
}
HOLDS(prop_proto)
{
    const char *empty = sent(OUT, 2);
    char args[200];
    if (!is(r, P("__proto__"), "{\"type\":\"string\"}") || !is(r, P("constructor"), "{\"type\":\"string\"}") || P("")) return false;
    if (!noted(r, "#: ")) return false;
    if (mcp_json_size(mcp_json_get(OUT, "properties")) == 3) return true;
    snprintf(args, sizeof args, "{\"%s\":\"x\",\"%s\":\"y\"}", empty, sent(OUT, 3));
    return unfits(r, args, "{\"\":\"x\",\"a b\":\"y\"}");
}
HOLDS(desc_empty) { return is(r, P("a"), "{\"type\":\"string\"}"); }
HOLDS(desc_nonstring)
{
    const mcp_json *d = mcp_json_get(P("a"), "description"), *t = mcp_json_get(P("b"), "title");
    return P("a") && P("b") && (!d || mcp_json_type(d) == MCP_JSON_STRING) && (!t || mcp_json_type(t) == MCP_JSON_STRING);
}
HOLDS(depth_soft)
{
    int n;
    if (!same(OUT, r->in) || !same(r->told.out, r->in)) return false;
    for (n = 2; n < depth(r->in); n++) {
        fitted f = fit(r, r->in, r->profile, false, n);
        const mcp_json *last = f.out;
        while (mcp_json_first(mcp_json_get(last, "properties"))) last = mcp_json_first(mcp_json_get(last, "properties"));
        if (depth(f.out) != n || strcmp(str(last, "type"), "object") || !has(str(last, "description"), ": n")) return false;
    }
    return true;
}
HOLDS(depth_hard)       /* an array at the cap keeps its items, which then say nothing */
{
    int cap = r->profile == MCP_MOONSHOT ? 30 : 64;
    return depth(OUT) > 9 && depth(OUT) <= cap + 1 && depth(r->told.out) <= cap + 1 && noted(r, "too deep");
}
HOLDS(default_null_clash) { return is(r, P("a"), "{\"type\":\"string\"}") && is(r, P("b"), "{\"type\":\"integer\",\"default\":0}"); }
HOLDS(min_gt_max) { return is(r, P("n"), "{\"type\":\"integer\"}"); }
HOLDS(big_number)
{
    bool kept = has(r->bare.text, ":9223372036854775807}") && has(r->bare.text, ":18446744073709551615}");
    return r->profile == MCP_GEMINI || !mcp_json_get(P("n"), "maximum") ? !has(r->bare.text, "maximum") && !has(r->bare.text, "9223") : kept;
}
HOLDS(identity)
{
    mcp_writer w;
    const char *was;
    mcp_writer_init(&w, NULL, 0);
    mcp_put_json(&w, NULL, r->in);
    was = text_of(r, &w);
    return strcmp(r->bare.text, was) == 0 && strcmp(r->told.text, was) == 0 && strcmp(fit(r, r->bare.out, r->profile, true, 0).text, was) == 0;
}

/* -- what must hold of whole tools -- */

/* The list of tools that is sent when `tools` are what one server has. */
static const mcp_json *request(const run *r, mcp_toolbox *b, const mcp_json *tools)
{
    mcp_writer w;
    CHECK(mcp_toolbox_add(b, "s", tools) == MCP_OK);
    mcp_writer_init(&w, NULL, 0);
    mcp_put_object(&w, NULL);
    mcp_toolbox_write(b, &w, "tools");
    mcp_put_end(&w);
    return mcp_json_get(parse(r, text_of(r, &w)), "tools");
}

static const mcp_json *one_tool(const run *r, mcp_form form, mcp_profile profile, size_t max, const char *description)
{
    mcp_toolbox_desc d;
    mcp_toolbox *b;
    mcp_writer w;
    const mcp_json *out;
    memset(&d, 0, sizeof d);
    d.form = form; d.fit.profile = profile; d.max_description = max;
    b = mcp_toolbox_new(&d);
    mcp_writer_init(&w, NULL, 0);
    mcp_put_array(&w, NULL);
    mcp_put_object(&w, NULL);
    mcp_put_str(&w, "name", "t");
    mcp_put_str(&w, "description", description);
    mcp_put_json(&w, "inputSchema", parse(r, "{\"type\":\"object\",\"properties\":{}}"));
    mcp_put_end(&w);
    mcp_put_end(&w);
    out = mcp_json_first(request(r, b, parse(r, text_of(r, &w))));
    mcp_toolbox_free(b);
    return out;
}

/* In this case the description of the tool stands in the schema. The provider counts characters, and so does the limit. */
HOLDS(desc_long)
{
    const char *was = str(r->in, "$tool_description"), *cut;
    const mcp_json *whole = mcp_json_get(one_tool(r, MCP_FORM_OPENAI, MCP_OPENAI, 0, was), "function"),
                   *less = mcp_json_get(one_tool(r, MCP_FORM_OPENAI, MCP_OPENAI, 1024, was), "function");
    size_t n;
    cut = str(less, "description");
    n = strlen(cut);
    return strlen(was) > 1024 && strcmp(str(whole, "description"), was) == 0 && n > 900 && n - 2 <= 1024 && memcmp(cut, was, n - 3) == 0 &&
           strcmp(cut + n - 3, "\xE2\x80\xA6") == 0 && (cut[n - 4] == '.' || (cut[n - 4] == 'p' && was[n - 3] == '.')) &&
           same(mcp_json_get(less, "parameters"), parse(r, "{\"type\":\"object\",\"properties\":{}}")) &&
           is(r, OUT, "{\"type\":\"object\",\"properties\":{}}");
}
HOLDS(desc_empty_tool)
{
    const mcp_json *t = one_tool(r, MCP_FORM_ANTHROPIC, MCP_BEDROCK, 0, "");
    return t && desc_empty(r) && *str(t, "description");
}

/* The good tool is as it was; each of the others is there with an object as its schema, or is left out; and in both cases it says why. */
static bool list_isolation(const run *r, const mcp_json *tools)
{
    mcp_toolbox_desc d;
    mcp_toolbox *b;
    mcp_tool_report t;
    const mcp_json *sent_tools;
    int seen = 0;
    bool good = true;
    memset(&d, 0, sizeof d);
    memset(&t, 0, sizeof t);
    d.form = MCP_FORM_ANTHROPIC;
    b = mcp_toolbox_new(&d);
    sent_tools = request(r, b, tools);
    while (mcp_toolbox_next(b, &t)) {
        const mcp_json *s = NULL;
        mcp_json_each(i, sent_tools) if (t.name && strcmp(str(i, "name"), t.name) == 0) s = mcp_json_get(i, "input_schema");
        seen++;
        if (strcmp(t.tool, "good") == 0) good = good && s && same(s, mcp_json_get(mcp_json_first(tools), "inputSchema")) && !*t.notes;
        else good = good && *t.notes && (!t.name || (strcmp(str(s, "type"), "object") == 0 && mcp_json_get(s, "properties") && no_union(s)));
    }
    mcp_toolbox_free(b);
    return good && seen == 3;
}

static const struct { const char *id; bool (*holds)(const run *r); } must_hold[] = {
    { "ref-sibling-wins", ref_sibling_wins }, { "ref-nested-chain", ref_nested_chain }, { "ref-cycle-tree", ref_cycle_tree },
    { "ref-cycle-kept", ref_cycle_kept }, { "ref-self-loop", ref_self_loop }, { "ref-dangling", ref_dangling }, { "ref-external", ref_external },
    { "ref-in-additionalProperties", ref_in_additional }, { "keyword-named-props", keyword_named_props }, { "data-positions", data_positions },
    { "root-empty-1", root_empty }, { "root-empty-2", root_empty }, { "root-empty-4", root_empty }, { "root-empty-6", root_empty },
    { "root-empty-7", root_empty }, { "root-type-missing", root_type_missing }, { "root-type-array", root_type_array },
    { "root-anyof-variants", root_anyof_variants }, { "root-oneof-discriminated", root_oneof_discriminated }, { "root-allof", root_allof },
    { "root-ref", root_ref }, { "allof-contradiction", allof_contradiction }, { "anyof-null-gemini", anyof_null_gemini },
    { "anyof-null-openai", anyof_null_openai }, { "type-array-null", type_array_null }, { "type-array-multi", type_array_multi },
    { "anyof-of-consts", anyof_of_consts }, { "anyof-in-items", anyof_in_items }, { "anyof-branch-required-only-nested", anyof_branch_required },
    { "const-number", const_number }, { "enum-integers", enum_integers }, { "enum-mixed", enum_mixed }, { "enum-empty-or-dup", enum_empty_or_dup },
    { "array-no-items", array_no_items }, { "tuple-draft7-anthropic", tuple_draft7 }, { "tuple-prefix-hetero", tuple_hetero },
    { "bool-items-true", bool_items_true }, { "draft4-exclusive", draft4_exclusive }, { "openapi-leak", openapi_leak },
    { "bad-type-words", bad_type_words }, { "required-unknown", required_unknown }, { "required-dup-and-null", required_dup },
    { "props-on-string", props_on_string }, { "zod-record", zod_record }, { "map-typed", map_typed }, { "untyped-any-openai", untouched },
    { "format-gemini", format_gemini }, { "content-encoding", content_encoding }, { "pattern-unanchored", pattern_unanchored },
    { "pattern-escapes", pattern_escapes }, { "moonshot-plain", moonshot_plain }, { "schema-uri", schema_uri }, { "prop-header", prop_header },
    { "prop-unicode", prop_unicode }, { "prop-long", prop_long }, { "prop-proto", prop_proto }, { "desc-long", desc_long },
    { "desc-empty", desc_empty_tool }, { "desc-nonstring", desc_nonstring }, { "depth-soft", depth_soft }, { "depth-hard", depth_hard },
    { "default-null-clash", default_null_clash }, { "min-gt-max", min_gt_max }, { "big-number", big_number }, { "identity", identity }
};
enum { CASES = sizeof must_hold / sizeof *must_hold };

static void check_case(const mcp_json *c, mcp_profile profile, bool (*holds)(const run *r))
{
    char what[900];
    mcp_arena a;
    run r;
    const mcp_json *expected = mcp_json_get(c, "expected");
    mcp_arena_init(&a, NULL, 0);
    r.a = &a; r.in = mcp_json_get(c, "input_schema"); r.profile = profile; r.strict = false;
    r.bare = fit(&r, r.in, profile, true, 0);
    r.told = fit(&r, r.in, profile, false, 0);
    snprintf(what, sizeof what, "%s, %s: nothing comes out", str(c, "id"), mcp_profile_name(profile));
    test_check(r.bare.fit && r.told.fit && r.bare.out && r.told.out, __FILE__, __LINE__, what);
    if (r.bare.fit && r.told.fit && r.bare.out && r.told.out) {
        r.strict = mcp_fit_strict(r.bare.fit);
        snprintf(what, sizeof what, "%s, %s: not as expected: %.600s", str(c, "id"), mcp_profile_name(profile), r.bare.text);
        /* In a case for all profiles the strict ones differ where they must. */
        if (expected) test_check(same(expected, r.bare.out) || (r.strict && strict_form(expected, r.bare.out, false)), __FILE__, __LINE__, what);
        snprintf(what, sizeof what, "%s, %s: does not hold: %.200s: %.500s", str(c, "id"), mcp_profile_name(profile), str(c, "must_hold"), r.told.text);
        test_check(holds(&r), __FILE__, __LINE__, what);
    }
    mcp_arena_free(&a);
}

static void check_cases(const char *file)
{
    static bool used[CASES];
    size_t len, i;
    char *text = slurp(file, &len);
    mcp_arena a;
    run r;
    const mcp_json *cases;
    mcp_arena_init(&a, NULL, 0);
    memset(&r, 0, sizeof r);
    r.a = &a;
    cases = mcp_json_parse(&a, text, len, NULL);
    free(text);
    CHECK(mcp_json_size(cases) > 0);
    mcp_json_each(c, cases) {
        const char *kind = str(c, "kind"), *profile = str(c, "profile");
        char what[200];
        int p = mcp_profile_find(profile);
        bool all = strcmp(profile, "any") == 0, known = false;
        if (strcmp(kind, "name") == 0) continue;
        snprintf(what, sizeof what, "%s: nothing here knows what must hold", str(c, "id"));
        if (strcmp(str(c, "id"), "list-isolation") == 0) {
            known = true;
            test_check(list_isolation(&r, mcp_json_get(c, "input_tools")), __FILE__, __LINE__, "list-isolation");
        }
        for (i = 0; i < CASES; i++) {
            if (strcmp(kind, "schema") || strcmp(must_hold[i].id, str(c, "id"))) continue;
            known = used[i] = true;
            if (!all) check_case(c, (mcp_profile)p, must_hold[i].holds);
            else for (p = 0; mcp_profile_name((mcp_profile)p); p++) check_case(c, (mcp_profile)p, must_hold[i].holds);
        }
        test_check(known && (all || p >= 0), __FILE__, __LINE__, what);
    }
    for (i = 0; i < CASES; i++) test_check(used[i], __FILE__, __LINE__, must_hold[i].id);
    mcp_arena_free(&a);
}

/* -- tools of real servers -- */

/* Each property of the root is there by its name, or by another if the name is one that the profile does not take. */
static const char *lost(mcp_arena *a, const mcp_json *schema, mcp_profile p)
{
    const mcp_json *was = mcp_json_get(schema, "properties"), *now;
    run r;
    memset(&r, 0, sizeof r);
    r.a = a;
    now = mcp_json_get(fit(&r, schema, p, true, 0).out, "properties");
    if (fit_names(was) != mcp_json_size(now)) return "another number of properties";
    mcp_json_each(m, was) {
        size_t n;
        const char *key = mcp_json_keyn(m, &n);
        if (fit_legal_key((int)p, key, n) && !mcp_json_getn(now, key, n)) return key;
    }
    return NULL;
}

static void check_tools(const char *file)
{
    size_t len, n;
    char *text = slurp(file, &len);
    const char *line, *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    unsigned tools = 0;
    mcp_arena a, scratch;
    mcp_arena_init(&a, NULL, 0);
    mcp_arena_init(&scratch, NULL, 0);
    for (line = text; line < text + len; line += n + 1) {
        const char *end = (const char *)memchr(line, '\n', (size_t)(text + len - line));
        n = end ? (size_t)(end - line) : (size_t)(text + len - line);
        mcp_json_each(t, mcp_json_at(mcp_json_parse(&a, line, n, NULL), "/result/tools")) {
            const mcp_json *schema = mcp_json_get(t, "inputSchema");
            int p;
            tools++;
            for (p = 0; mcp_profile_name((mcp_profile)p); p++) {
                char room[300], what[500];
                const char *wrong;
                int way;
                for (way = 0; way < 3; way++) {         /* with notes, without, and with notes in little room */
                    wrong = fit_check(schema, (mcp_profile)p, way != 1, way == 2 ? 700 : 0, room);
                    if (wrong) snprintf(what, sizeof what, "%s: %s: %.300s", name, str(t, "name"), wrong);
                    test_check(!wrong, __FILE__, __LINE__, what);
                }
                wrong = lost(&scratch, schema, (mcp_profile)p);
                if (wrong) snprintf(what, sizeof what, "%s: %s: %s lost %.300s", name, str(t, "name"), mcp_profile_name((mcp_profile)p), wrong);
                test_check(!wrong, __FILE__, __LINE__, what);
                mcp_arena_reset(&scratch);
            }
        }
    }
    test_check(tools > 0, __FILE__, __LINE__, file);
    free(text);
    mcp_arena_free(&a);
    mcp_arena_free(&scratch);
}

int main(int argc, char **argv)
{
    bool cases = argc > 1 && strcmp(argv[1], "cases") == 0;
    int i;
    if (argc < 3 || (!cases && strcmp(argv[1], "tools"))) { fprintf(stderr, "usage: sanitize cases FILE | tools FILE...\n"); return 2; }
    test_name = argv[1];
    for (i = 2; i < argc; i++) if (cases) check_cases(argv[i]); else check_tools(argv[i]);
    return test_end();
}
