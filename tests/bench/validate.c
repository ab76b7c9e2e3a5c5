/* How long it takes to check arguments against a tool's schema, as a ratio to parsing them, in the same round.
     validate [-r ROUNDS] [FILE...]  each FILE is the answer to tools/list of a real server; arguments for its tools are made up from
                                     their schemas. A line each: name, tools, bytes of arguments, ns to parse, ns to check, ratio.
                                     Synthetic tools come after them, then growth: a value ten times as large, ns for a byte of it.
   The heap is warm: arenas keep their memory. A schema that is refused, and arguments that turn out not to fit, end the program. */
#include "bench.h"
#define MCP_IMPLEMENTATION
#include "mcp.h"

enum { ROUNDS = 64, MOST = 512 };
typedef struct tool { const mcp_schema *schema; char *args; size_t len; } tool;
typedef struct set { const char *name; tool tool[MOST]; size_t n, bytes; } set;

static mcp_arena kept;

/* Something of the kind that a schema asks for: all that is required, and most of what is not. */
static void make(mcp_writer *w, const char *key, const mcp_json *root, const mcp_json *s, int depth)
{
    const mcp_json *type = mcp_json_get(s, "type"), *v, *ref = mcp_json_get(s, "$ref");
    const char *t, *alternatives = mcp_json_get(s, "anyOf") ? "anyOf" : "oneOf";
    int64_t n;
    if (ref) { make(w, key, root, mcp_json_at(root, mcp_json_str(ref, "#") + 1), depth + 1); return; }
    if ((v = mcp_json_get(s, "const")) || (v = mcp_json_first(mcp_json_get(s, "enum")))) { mcp_put_json(w, key, v); return; }
    if ((v = mcp_json_first(mcp_json_get(s, alternatives))) && !mcp_json_get(s, "properties")) { make(w, key, root, v, depth); return; }
    t = mcp_json_str(mcp_json_type(type) == MCP_JSON_ARRAY ? mcp_json_first(type) : type, mcp_json_get(s, "properties") ? "object" : "string");
    n = mcp_json_int(mcp_json_get(s, "minimum"), mcp_json_int(mcp_json_get(s, "exclusiveMinimum"), 2) + 1);
    if (strcmp(t, "object") == 0) {
        mcp_put_object(w, key);
        if (depth < 6) mcp_json_each(m, mcp_json_get(s, "properties")) make(w, mcp_json_key(m), root, m, depth + 1);
        mcp_put_end(w);
    } else if (strcmp(t, "array") == 0) {
        int64_t items = mcp_json_int(mcp_json_get(s, "minItems"), 2);
        mcp_put_array(w, key);
        if (depth < 6) for (; items > 0; items--) make(w, NULL, root, mcp_json_get(s, "items"), depth + 1);
        mcp_put_end(w);
    } else if (strcmp(t, "integer") == 0 || strcmp(t, "number") == 0) mcp_put_int(w, key, n);
    else if (strcmp(t, "boolean") == 0) mcp_put_bool(w, key, true);
    else if (strcmp(t, "null") == 0) mcp_put_null(w, key);
    else mcp_put_str(w, key, strcmp(mcp_json_str(mcp_json_get(s, "format"), ""), "uri") == 0 ? "https://example.com/a/page" : "some words of text");
}

static void add(set *t, const char *name, const mcp_json *schema, const char *args)
{
    mcp_writer w;
    const char *why = NULL;
    tool *x = &t->tool[t->n++];
    if (t->n == MOST) die("too many tools");
    mcp_writer_init(&w, NULL, 0);
    x->schema = mcp_schema_compile(&kept, schema, &why);
    if (!x->schema) { fprintf(stderr, "%s: %s: ", t->name, name); die(why); }
    if (args) mcp_put_raw(&w, NULL, args, MCP_NTS); else make(&w, NULL, schema, schema, 0);
    if (!mcp_writer_text(&w, &x->len)) die(name);
    x->args = (char *)more(NULL, x->len + 1);
    memcpy(x->args, w.buf, x->len + 1);
    t->bytes += x->len;
    mcp_writer_free(&w);
}

static bool fits(const tool *x, mcp_arena *a, mcp_arena *scratch)
{
    mcp_arena_reset(a);
    mcp_arena_reset(scratch);
    return mcp_schema_check(x->schema, mcp_json_parse(a, x->args, x->len, NULL), scratch, NULL, 0) == MCP_OK;
}

/* ns for one round over all tools: to parse, and to check what was parsed. */
static void measure(const set *t, size_t rounds, double out[2])
{
    static double parse[ROUNDS], check[ROUNDS];
    mcp_arena a, scratch;
    size_t i, r, j;
    volatile int sum = 0;
    mcp_arena_init(&a, NULL, 0); mcp_arena_init(&scratch, NULL, 0);
    for (i = 0; i < t->n; i++) if (!fits(&t->tool[i], &a, &scratch)) die("arguments do not fit");
    for (r = 0; r < rounds; r++) {
        double us[2] = { 0, 0 };
        size_t times = 1 + 200000 / (t->bytes + 1);
        for (i = 0; i < t->n; i++) {
            const tool *x = &t->tool[i];
            const mcp_json *v = NULL;
            double begin = own_cpu_us();
            for (j = 0; j < times; j++) { mcp_arena_reset(&a); v = mcp_json_parse(&a, x->args, x->len, NULL); }
            us[0] += own_cpu_us() - begin;
            begin = own_cpu_us();
            for (j = 0; j < times; j++) sum += mcp_schema_check(x->schema, v, &scratch, NULL, 0);
            us[1] += own_cpu_us() - begin;
        }
        parse[r] = us[0] * 1000 / (double)times;
        check[r] = us[1] * 1000 / (double)times;
    }
    if (sum) die("arguments do not fit");
    out[0] = median(parse, rounds);
    out[1] = median(check, rounds);
    mcp_arena_free(&a); mcp_arena_free(&scratch);
}

static void row(set *t, size_t rounds, size_t left_out)
{
    double ns[2];
    measure(t, rounds, ns);
    printf("%s|%lu|%lu|%lu|%.0f|%.0f|%.3f\n", t->name, (unsigned long)t->n, (unsigned long)left_out, (unsigned long)t->bytes, ns[0], ns[1], ns[1] / ns[0]);
}

static void file_row(const char *path, size_t rounds)
{
    static set t;
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    const char *line;
    size_t len = 0, n, left_out = 0;
    mcp_arena a, scratch;
    const mcp_json *tools;
    if (!f) die(path);
    do { text = (char *)more(text, len + 65536); len += n = fread(text + len, 1, 65536, f); } while (n);
    fclose(f);
    memset(&t, 0, sizeof t);
    t.name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
    mcp_arena_init(&a, NULL, 0); mcp_arena_init(&scratch, NULL, 0);
    for (line = text; line < text + len; line += n + 1) {
        const char *end = (const char *)memchr(line, '\n', (size_t)(text + len - line));
        n = end ? (size_t)(end - line) : (size_t)(text + len - line);
        tools = mcp_json_at(mcp_json_parse(&kept, line, n, NULL), "/result/tools");
    mcp_json_each(x, tools) {
        add(&t, mcp_json_str(mcp_json_get(x, "name"), "?"), mcp_json_get(x, "inputSchema"), NULL);
        if (fits(&t.tool[t.n - 1], &a, &scratch)) continue;
        t.bytes -= t.tool[--t.n].len;       /* a pattern, most often: made-up arguments cannot fit */
        free(t.tool[t.n].args);
        left_out++;
    }
    }
    if (t.n) row(&t, rounds, left_out);
    free(text);
    mcp_arena_free(&a); mcp_arena_free(&scratch);
}

/* -- growth -- */

static char *repeat(const char *before, const char *piece, unsigned n, const char *after)
{
    char *s = (char *)more(NULL, strlen(before) + strlen(after) + n * (strlen(piece) + 24) + 1), *p = s + sprintf(s, "%s", before);
    unsigned i;
    for (i = 0; i < n; i++) { if (i && *piece != ',') *p++ = ','; p += sprintf(p, piece, i, i); }
    strcpy(p, after);
    return s;
}

static void growth(const char *name, const char *schema, const char *before, const char *piece, const char *after, unsigned n)
{
    double each[2], ns[2];
    int i;
    for (i = 0; i < 2; i++, n *= 10) {
        static set t;
        char *v = repeat(before, piece, n, after), *s = strstr(schema, "%u") ? repeat("{\"properties\":{", schema, n, "}}") : NULL;
        memset(&t, 0, sizeof t);
        t.name = name;
        add(&t, name, mcp_json_parse(&kept, s ? s : schema, MCP_NTS, NULL), v);
        measure(&t, 5, ns);
        each[i] = ns[1] / (double)t.bytes;
        free(v); free(s); free(t.tool[0].args);
    }
    printf("growth %s|1|0|0|%.3f|%.3f|%.3f\n", name, each[0], each[1], each[1] / each[0]);
}

static char *nested(const char *open, const char *core, char close, unsigned n)
{
    char *s = (char *)more(NULL, n * (strlen(open) + 2) + strlen(core) + 1), *p = s;
    unsigned i;
    for (i = 0; i < n; i++) p += sprintf(p, "%s", open);
    p += sprintf(p, "%s", core);
    for (i = 0; i < n; i++) *p++ = close;
    *p = 0;
    return s;
}

static void deep(const char *name, const char *schema, const char *open, const char *core, char close)
{
    double each[2], ns[2];
    unsigned n = 50;
    int i;
    for (i = 0; i < 2; i++, n *= 10) {
        static set t;
        char *v = nested(open, core, close, n);
        memset(&t, 0, sizeof t);
        t.name = name;
        add(&t, name, mcp_json_parse(&kept, schema, MCP_NTS, NULL), v);
        measure(&t, 15, ns);
        each[i] = ns[1] / (double)t.bytes;
        free(v); free(t.tool[0].args);
    }
    printf("growth %s|1|0|0|%.3f|%.3f|%.3f\n", name, each[0], each[1], each[1] / each[0]);
}

static void synthetic(const char *name, const char *schema, const char *args, size_t rounds)
{
    static set t;
    memset(&t, 0, sizeof t);
    t.name = name;
    add(&t, name, mcp_json_parse(&kept, schema, MCP_NTS, NULL), args);
    row(&t, rounds, 0);
}

int main(int argc, char **argv)
{
    size_t rounds = 9;
    int c;
    while ((c = getopt(argc, argv, "r:")) != -1) if (c == 'r') rounds = (size_t)atol(optarg); else return 2;
    if (rounds < 1 || rounds > ROUNDS) return 2;
    mcp_arena_init(&kept, NULL, 0);
    for (; optind < argc; optind++) file_row(argv[optind], rounds);
    synthetic("one string", MCP_JSON({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}),
              MCP_JSON({"text": "Hello, what is the weather like today?"}), rounds);
    synthetic("a search", MCP_JSON({"type": "object", "properties": {"query": {"type": "string", "minLength": 1, "maxLength": 400},
        "count": {"type": "integer", "minimum": 1, "maximum": 20}, "offset": {"type": "integer", "minimum": 0}, "safe": {"enum": ["off", "moderate", "strict"]}},
        "required": ["query"], "additionalProperties": false}), MCP_JSON({"query": "json schema validators in C", "count": 10, "offset": 0, "safe": "off"}), rounds);
    synthetic("edits of a file", MCP_JSON({"type": "object", "properties": {"path": {"type": "string"}, "edits": {"type": "array", "items": {"type": "object",
        "properties": {"oldText": {"type": "string"}, "newText": {"type": "string"}}, "required": ["oldText", "newText"], "additionalProperties": false}},
        "dryRun": {"type": "boolean", "default": false}}, "required": ["path", "edits"], "additionalProperties": false}),
        MCP_JSON({"path": "/src/main.c", "edits": [{"oldText": "int main(void)", "newText": "int main(int argc, char **argv)"}, {"oldText": "return 1;", "newText": "return 0;"}]}), rounds);
    synthetic("a union", MCP_JSON({"type": "object", "properties": {"shape": {"oneOf": [{"type": "object", "properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
        "required": ["kind", "r"]}, {"type": "object", "properties": {"kind": {"const": "box"}, "w": {"type": "number"}, "h": {"type": "number"}}, "required": ["kind", "w", "h"]}]}}}),
        MCP_JSON({"shape": {"kind": "box", "w": 12.5, "h": 3}}), rounds);
    growth("wide values", "{\"additionalProperties\":{\"type\":\"integer\"}}", "{", "\"key%u\":%u", "}", 1000);
    growth("wide schemas", "\"key%u\":{\"type\":\"integer\"}", "{", "\"key%u\":%u", "}", 1000);
    growth("long arrays", "{\"items\":{\"properties\":{\"a\":{\"minimum\":0}}}}", "[0", ",{\"a\":%u,\"b\":%u}", "]", 1000);
    growth("unique items", "{\"uniqueItems\":true}", "[", "%u", "]", 1000);
    deep("deep and cyclic", "{\"$ref\":\"#/$defs/t\",\"$defs\":{\"t\":{\"anyOf\":[{\"type\":\"integer\"},{\"items\":{\"$ref\":\"#/$defs/t\"},\"type\":\"array\"}]}}}", "[", "1", ']');
    deep("deep", "{\"items\":{\"$ref\":\"#\"}}", "[", "1", ']');
    mcp_arena_free(&kept);
    return 0;
}
