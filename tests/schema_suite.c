/* Runs files of the JSON Schema Test Suite through the validator. Usage: schema_suite [-v] DIALECT FILE...
 * DIALECT is the $schema of schemas that name none, "" for none. A schema that is refused because it leads to another document is not
 * tested: the group is counted and named. Any other refusal, and each verdict that is not the one wanted, fails. Also: the quick
 * verdict and the one with errors agree, errors are there exactly if the value does not fit, and have no duplicates. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "test.h"

static int tests, groups, remote, remote_tests;

static char *slurp(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t n;
    *len = 0;
    if (!f) return NULL;
    do {
        text = (char *)realloc(text, *len + 65536);
        if (!text) exit(2);
        *len += n = fread(text + *len, 1, 65536, f);
    } while (n);
    fclose(f);
    return text;
}

static const char *text_of(const mcp_json *v, const char *key) { return mcp_json_str(mcp_json_get(v, key), "?"); }

/* The schema, made to name its dialect. */
static const mcp_json *with_dialect(mcp_arena *a, const mcp_json *schema, const char *dialect)
{
    mcp_writer w;
    const mcp_json *v = schema;
    if (!*dialect || mcp_json_type(schema) != MCP_JSON_OBJECT || mcp_json_get(schema, "$schema")) return schema;
    mcp_writer_init(&w, NULL, 0);
    mcp_put_object(&w, NULL);
    mcp_put_str(&w, "$schema", dialect);
    mcp_json_each(m, schema) mcp_put_json(&w, mcp_json_key(m), m);
    mcp_put_end(&w);
    v = mcp_json_parse(a, mcp_writer_text(&w, NULL), w.len, NULL);
    mcp_writer_free(&w);
    return v;
}

static void run(const mcp_schema *s, const mcp_json *group, const mcp_json *test, const char *file, int verbose)
{
    static mcp_arena scratch;
    mcp_writer w;
    const mcp_json *data = mcp_json_get(test, "data"), *errors;
    bool want = mcp_json_bool(mcp_json_get(test, "valid"), false);
    int quick = mcp_schema_check(s, data, &scratch, NULL, 0), full;
    char what[512];
    mcp_arena a;
    mcp_arena_init(&a, NULL, 0);
    mcp_writer_init(&w, NULL, 0);
    full = mcp_schema_check(s, data, &scratch, &w, 100);
    errors = mcp_json_parse(&a, mcp_writer_text(&w, NULL), w.len, NULL);
    snprintf(what, sizeof what, "%s: %s: %s: %s", file, text_of(group, "description"), text_of(test, "description"), mcp_strerror(quick));
    test_check(quick == (want ? MCP_OK : MCP_ERR_INVALID), __FILE__, __LINE__, what);
    test_check(quick == full && (mcp_json_size(errors) != 0) == (full != MCP_OK), __FILE__, __LINE__, what);
    mcp_json_each(e, errors) {
        if (verbose) printf("  %s\n", text_of(e, "error"));
        for (const mcp_json *o = mcp_json_next(e); o; o = mcp_json_next(o)) CHECK(strcmp(text_of(e, "error"), text_of(o, "error")) != 0);
        test_check(mcp_json_at(data, text_of(e, "instanceLocation")) != NULL, __FILE__, __LINE__, what);
    }
    tests++;
    mcp_writer_free(&w);
    mcp_arena_free(&a);
    mcp_arena_reset(&scratch);
}

int main(int argc, char **argv)
{
    int i = 1, verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    const char *dialect;
    i += verbose;
    if (argc < i + 2) { fprintf(stderr, "usage: schema_suite [-v] DIALECT FILE...\n"); return 2; }
    for (dialect = argv[i++]; i < argc; i++) {
        const char *file = strrchr(argv[i], '/') ? strrchr(argv[i], '/') + 1 : argv[i];
        size_t len;
        char *text = slurp(argv[i], &len);
        mcp_arena a;
        const mcp_json *all;
        mcp_arena_init(&a, NULL, 0);
        all = text ? mcp_json_parse(&a, text, len, NULL) : NULL;
        test_check(all != NULL, __FILE__, __LINE__, argv[i]);
        test_name = file;
        mcp_json_each(group, all) {
            const char *why = "";
            const mcp_schema *s = mcp_schema_compile(&a, with_dialect(&a, mcp_json_get(group, "schema"), dialect), &why);
            groups++;
            if (!s && (strstr(why, "nothing is fetched") || strstr(why, "this dialect"))) {
                printf("not tested: %s: %s: %s\n", file, text_of(group, "description"), why);
                remote++;
                remote_tests += (int)mcp_json_size(mcp_json_get(group, "tests"));
                continue;
            }
            if (s && *mcp_schema_notes(s)) printf("note: %s: %s: %s", file, text_of(group, "description"), mcp_schema_notes(s));
            if (!s) {
                char what[512];
                snprintf(what, sizeof what, "%s: %s: refused: %s", file, text_of(group, "description"), why);
                test_check(0, __FILE__, __LINE__, what);
                continue;
            }
            if (verbose) printf("%s: %s\n", file, text_of(group, "description"));
            mcp_json_each(test, mcp_json_get(group, "tests")) run(s, group, test, file, verbose);
        }
        free(text);
        mcp_arena_free(&a);
    }
    printf("%d groups, %d tests; %d groups with %d tests are left out, since they lead to other documents\n", groups, tests, remote, remote_tests);
    return test_end();
}
