/* What must hold for every fitted schema, whatever came in. Written from the providers' rules and not from the table in mcp.h:
 * fit_check(in, profile, notes, room) fits `in` and returns NULL, or what is broken, in `room`. Include it after mcp.h. */
#include <stdio.h>
#include <string.h>

#define FIT_ALL "type description enum items properties required anyOf additionalProperties "
#define FIT_NUMBERS "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf "
#define FIT_COUNTS "minLength maxLength minItems maxItems "
#define FIT_OPENAI FIT_ALL FIT_NUMBERS FIT_COUNTS "pattern format default uniqueItems minProperties maxProperties patternProperties propertyNames "
#define FIT_LOGIC "not if then else dependentRequired dependentSchemas contains minContains maxContains "
#define FIT_2020 FIT_OPENAI FIT_LOGIC "oneOf const title examples prefixItems "

/* The words of each profile, in the order of mcp_profile. */
static const char *fit_words(int p)
{
    switch (p) {
    case MCP_OPENAI: return FIT_OPENAI FIT_LOGIC;
    case MCP_OPENAI_STRICT: return FIT_ALL FIT_NUMBERS "pattern format minItems maxItems ";
    case MCP_ANTHROPIC: case MCP_BEDROCK: case MCP_MISTRAL: return FIT_2020;
    case MCP_GEMINI: return "type format title description nullable enum items minItems maxItems properties propertyOrdering required "
                            "minProperties maxProperties minLength maxLength pattern minimum maximum anyOf default example ";
    case MCP_GEMINI_JSON: return FIT_ALL "format title prefixItems minItems maxItems minimum maximum ";
    case MCP_DEEPSEEK_STRICT: return FIT_ALL "format minimum maximum exclusiveMinimum exclusiveMaximum ";
    case MCP_MOONSHOT: return FIT_ALL "title default minLength maxLength minItems maxItems minimum maximum ";
    case MCP_OLLAMA: return "anyOf type items description enum properties required ";
    case MCP_LLAMACPP: return FIT_ALL "minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems pattern format "
                              "oneOf const prefixItems ";
    default: return FIT_OPENAI;
    }
}

static bool fit_in(const char *words, const char *word)
{
    size_t n = strlen(word);
    const char *at = words;
    for (; n && (at = strstr(at, word)) != NULL; at++) if ((at == words || at[-1] == ' ') && at[n] == ' ') return true;
    return false;
}

typedef struct fit_checker { const mcp_json *root; int p; bool strict; char *room; } fit_checker;

static bool fit_wrong(fit_checker *c, const char *what, const char *where)
{
    snprintf(c->room, 300, "%s: %s at %.100s", mcp_profile_name((mcp_profile)c->p), what, where);
    return false;
}

static bool fit_one_of(int p, const char *letters)      /* a letter for each profile, in the order of mcp_profile */
{
    return letters[p] == 'y';
}

static bool fit_legal_key(int p, const char *s, size_t n)
{
    size_t i;
    bool named = p == MCP_ANTHROPIC || p == MCP_BEDROCK, word = p == MCP_GEMINI;
    if (!n || strlen(s) != n || ((named || word) && n > 64)) return false;
    if (word && s[0] >= '0' && s[0] <= '9') return false;
    for (i = 0; i < n; i++) {
        bool w = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') || (s[i] >= '0' && s[i] <= '9') || s[i] == '_';
        if ((named && !w && s[i] != '-' && s[i] != '.') || (word && !w)) return false;
    }
    return true;
}

static bool fit_check_type(fit_checker *c, const mcp_json *t, const char *at)
{
    const char *all = "null boolean integer number string array object ";
    if (mcp_json_type(t) == MCP_JSON_STRING) {
        if (!fit_in(all, mcp_json_str(t, ""))) return fit_wrong(c, "an unknown type", at);
        return c->p != MCP_GEMINI || strcmp(mcp_json_str(t, ""), "null") ? true : fit_wrong(c, "type null", at);
    }
    if (mcp_json_type(t) != MCP_JSON_ARRAY || mcp_json_size(t) < 2) return fit_wrong(c, "a type that is no word", at);
    if (c->p == MCP_GEMINI) return fit_wrong(c, "a type list", at);
    mcp_json_each(i, t) if (!fit_in(all, mcp_json_str(i, "?"))) return fit_wrong(c, "an unknown type in a list", at);
    return true;
}

static bool fit_may_be(const mcp_json *schema, const char *type)
{
    const mcp_json *t = mcp_json_get(schema, "type");
    if (mcp_json_type(t) == MCP_JSON_STRING) return strcmp(mcp_json_str(t, ""), type) == 0;
    mcp_json_each(i, t) if (strcmp(mcp_json_str(i, ""), type) == 0) return true;
    return false;
}

static bool fit_check_enum(fit_checker *c, const mcp_json *e, const char *at)
{
    const mcp_json *a, *b;
    mcp_type kind = MCP_JSON_NONE;
    int left = 100;
    if (mcp_json_type(e) != MCP_JSON_ARRAY || !mcp_json_size(e)) return fit_wrong(c, "an empty enum", at);
    for (a = mcp_json_first(e); a; a = mcp_json_next(a)) {
        if (c->p == MCP_GEMINI && (mcp_json_type(a) != MCP_JSON_STRING || !mcp_json_size(a))) return fit_wrong(c, "enum of no strings", at);
        if (c->p == MCP_MOONSHOT && kind && kind != mcp_json_type(a)) return fit_wrong(c, "an enum of two types", at);
        if (c->p == MCP_GEMINI_JSON && mcp_json_type(a) != MCP_JSON_STRING && mcp_json_type(a) != MCP_JSON_NUMBER)
            return fit_wrong(c, "enum of neither strings nor numbers", at);
        kind = mcp_json_type(a);
        if (kind != MCP_JSON_STRING || !left--) continue;
        for (b = mcp_json_next(a); b; b = mcp_json_next(b))
            if (mcp_json_type(b) == kind && mcp_json_size(a) == mcp_json_size(b) &&
                memcmp(mcp_json_str(a, ""), mcp_json_str(b, ""), mcp_json_size(a)) == 0) return fit_wrong(c, "equal values in enum", at);
    }
    return true;
}

/* Is a member the one that counts, and so the last of its name? */
static bool fit_counts(const mcp_json *object, const mcp_json *member)
{
    size_t n;
    const char *key = mcp_json_keyn(member, &n);
    return mcp_json_getn(object, key, n) == member;
}

static bool fit_check_object(fit_checker *c, const mcp_json *s, const char *at)
{
    const mcp_json *p = mcp_json_get(s, "properties"), *r = mcp_json_get(s, "required"), *first;
    size_t n = 0;
    mcp_json_each(i, p) {
        const char *key = mcp_json_keyn(i, &n);
        if (!fit_legal_key(c->p, key, n)) return fit_wrong(c, "an illegal key", key);
    }
    if (mcp_json_size(p) > 3000) return true;                /* the rest takes the square of it */
    mcp_json_each(i, p)
        if (!fit_counts(p, i)) return fit_wrong(c, "a key that comes twice", mcp_json_key(i));
    if (r && mcp_json_type(r) != MCP_JSON_ARRAY) return fit_wrong(c, "required is no list", at);
    first = mcp_json_first(r);
    mcp_json_each(i, r) {
        if (!mcp_json_getn(p, mcp_json_str(i, ""), mcp_json_size(i))) return fit_wrong(c, "required names no property", at);
        for (; first != i; first = mcp_json_next(first))
            if (strcmp(mcp_json_str(first, ""), mcp_json_str(i, "")) == 0) return fit_wrong(c, "required names one twice", at);
        first = mcp_json_first(r);
    }
    if (c->strict && fit_may_be(s, "object") && (mcp_json_size(r) != mcp_json_size(p) || mcp_json_bool(mcp_json_get(s, "additionalProperties"), true) || !p || !r))
        return fit_wrong(c, "an object that is not strict", at);
    return true;
}

static bool fit_check_schema(fit_checker *c, const mcp_json *s, const char *at, int depth)
{
    /*                    g o O a b m G J d D k z q l c */
    const char *untyped  = "yynyyynnynnyyny", *items = "yyynnnynyyyyynn", *kept = "nnynnnnynnynnny", *tuple = "nnnyyynynnnnnny";
    const mcp_json *any = mcp_json_get(s, "anyOf"), *ref = mcp_json_get(s, "$ref"), *t = mcp_json_get(s, "type"), *i;
    const char *word = "";
    if (mcp_json_type(s) != MCP_JSON_OBJECT) return fit_wrong(c, "no schema", at);
    if (depth > 70) return fit_wrong(c, "too deep", at);
    if (ref) {
        char pointer[200];
        snprintf(pointer, sizeof pointer, "%s", mcp_json_str(ref, ""));
        if (!fit_one_of(c->p, kept)) return fit_wrong(c, "a $ref", at);
        if (strncmp(pointer, "#/$defs/", 8) != 0 || !mcp_json_at(c->root, pointer + 1)) return fit_wrong(c, "a $ref that dangles", pointer);
    }
    for (i = mcp_json_first(s); i; i = mcp_json_next(i)) {
        word = mcp_json_key(i);
        if (strcmp(word, "$ref") == 0 || (depth == 0 && strcmp(word, "$defs") == 0)) continue;
        if (!fit_in(fit_words(c->p), word)) return fit_wrong(c, "a word that it does not take", word);
        if (ref && strcmp(word, "description") && strcmp(word, "title")) return fit_wrong(c, "a word beside $ref", word);
        if (any && (c->p == MCP_GEMINI || c->p == MCP_MOONSHOT) && !fit_in("anyOf description nullable title ", word))
            return fit_wrong(c, "a word beside anyOf", word);
    }
    if (t && !fit_check_type(c, t, at)) return false;
    if (!t && !any && !ref && !mcp_json_get(s, "oneOf") && !fit_one_of(c->p, untyped) && !(c->p == MCP_MOONSHOT && !mcp_json_size(s)))
        return fit_wrong(c, "no type", at);
    if (mcp_json_get(s, "enum") && !fit_check_enum(c, mcp_json_get(s, "enum"), at)) return false;
    if (mcp_json_get(s, "description") && !mcp_json_size(mcp_json_get(s, "description"))) return fit_wrong(c, "an empty description", at);
    if (!fit_check_object(c, s, at)) return false;
    if (fit_may_be(s, "array") && fit_one_of(c->p, items) && !mcp_json_get(s, "items")) return fit_wrong(c, "an array without items", at);
    if (any && mcp_json_size(any) < (ref ? 2u : 1u)) return fit_wrong(c, "an empty anyOf", at);
    for (i = mcp_json_first(s); i; i = mcp_json_next(i)) {
        word = mcp_json_key(i);
        if (fit_in("properties $defs patternProperties dependentSchemas ", word)) {
            if (mcp_json_type(i) != MCP_JSON_OBJECT) return fit_wrong(c, "no map", word);
            mcp_json_each(m, i) if (!fit_check_schema(c, m, mcp_json_key(m), depth + 1)) return false;
        } else if (fit_in("anyOf oneOf prefixItems ", word)) {
            if (mcp_json_type(i) != MCP_JSON_ARRAY) return fit_wrong(c, "no list", word);
            if (word[0] == 'p' && !fit_one_of(c->p, tuple)) return fit_wrong(c, "prefixItems", at);
            mcp_json_each(m, i) if (!fit_check_schema(c, m, word, depth + 1)) return false;
        } else if (fit_in("items not if then else contains propertyNames additionalProperties ", word)) {
            bool boolean = mcp_json_type(i) == MCP_JSON_BOOL && (word[0] == 'a' || (word[0] == 'i' && mcp_json_get(s, "prefixItems")));
            if (!boolean && !fit_check_schema(c, i, word, depth + 1)) return false;
        } else if (strcmp(word, "title") == 0 || strcmp(word, "pattern") == 0 || strcmp(word, "format") == 0 || strcmp(word, "description") == 0) {
            if (mcp_json_type(i) != MCP_JSON_STRING) return fit_wrong(c, "no string", word);
        } else if (fit_in(FIT_NUMBERS FIT_COUNTS, word) && mcp_json_type(i) != MCP_JSON_NUMBER) return fit_wrong(c, "no number", word);
    }
    return true;
}

/* How many names the root's own properties have. */
static size_t fit_names(const mcp_json *p)
{
    size_t n = 0;
    if (mcp_json_size(p) > 2000) return 0;
    mcp_json_each(i, p) n += fit_counts(p, i);
    return n;
}

/* Is the text in w that of `was`? */
static bool fit_same(mcp_writer *w, const char *was, size_t n)
{
    size_t m;
    const char *text = mcp_writer_text(w, &m);
    return text && m == n && memcmp(text, was, n) == 0;
}

/* Fits `in`, looks at the result, and fits the result. `max`: bytes of it, 0: the default. */
static const char *fit_check(const mcp_json *in, mcp_profile profile, bool notes, size_t max, char room[300])
{
    mcp_fit_desc d;
    mcp_arena a;
    mcp_writer w, again;
    const mcp_fit *fit;
    const mcp_json *out, *p;
    fit_checker c;
    size_t n = 0;
    const char *text;
    bool good = false;
    memset(&d, 0, sizeof d);
    d.profile = profile;
    d.no_notes = !notes;
    d.max_bytes = max;
    mcp_arena_init(&a, NULL, 0);
    mcp_writer_init(&w, NULL, 0);
    mcp_writer_init(&again, NULL, 0);
    c.p = (int)profile; c.room = room;
    fit = mcp_schema_fit(&a, in, &d, &w);
    text = mcp_writer_text(&w, &n);
    out = text ? mcp_json_parse(&a, text, n, NULL) : NULL;
    if (!fit || !out) fit_wrong(&c, fit ? "no JSON" : "nothing", "the root");
    else {
        c.root = out;
        c.strict = mcp_fit_strict(fit);
        if (!c.strict && (profile == MCP_OPENAI_STRICT || profile == MCP_DEEPSEEK_STRICT))
            c.p = profile == MCP_OPENAI_STRICT ? MCP_OPENAI : MCP_DEEPSEEK;
        p = mcp_json_get(mcp_json_get(out, "properties"), "input") && strstr(mcp_fit_notes(fit), "is no object:") ? NULL : mcp_json_get(in, "properties");
        if (strcmp(mcp_json_str(mcp_json_get(out, "type"), ""), "object") || mcp_json_type(mcp_json_get(out, "properties")) != MCP_JSON_OBJECT)
            fit_wrong(&c, "no object", "the root");
        else if (mcp_json_get(out, "anyOf") || mcp_json_get(out, "oneOf") || mcp_json_get(out, "allOf") || mcp_json_get(out, "not") ||
                 mcp_json_get(out, "enum") || mcp_json_get(out, "if") || mcp_json_get(out, "$ref")) fit_wrong(&c, "a union", "the root");
        else if (n > (max ? max : 262144) && n > 100) fit_wrong(&c, "over the budget", "the root");
        else if (fit_names(p) > mcp_json_size(mcp_json_get(out, "properties")) && !strstr(mcp_fit_notes(fit), "over the budget") &&
                 !strstr(mcp_fit_notes(fit), "more\n") && mcp_json_type(p) == MCP_JSON_OBJECT) fit_wrong(&c, "a lost property", "the root");
        else good = fit_check_schema(&c, out, "", 0);
        if (good) {
            good = mcp_schema_fit(&a, out, &d, &again) && fit_same(&again, text, n);
            if (!good) {
                fit_wrong(&c, "another result when fitted again", "");
                if (getenv("FIT_SHOW")) fprintf(stderr, "%s\n%s\n", text, mcp_writer_text(&again, NULL));
            }
        }
        if (good) {
            mcp_writer_reset(&again);
            good = mcp_schema_fit(&a, in, &d, &again) && fit_same(&again, text, n);
            if (!good) fit_wrong(&c, "not the same result for the same input", "");
        }
    }
    mcp_writer_free(&w);
    mcp_writer_free(&again);
    mcp_arena_free(&a);
    return good ? NULL : room;
}
