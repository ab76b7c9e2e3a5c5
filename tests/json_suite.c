/* Runs a directory of the JSONTestSuite: y_*.json must be accepted, n_*.json refused; with -i the table of the i_*.json is printed, where both
 * is right. What is accepted must also be written and read again, and the raw writer must agree with the reader.
 * Usage: json_suite [-i] DIRECTORY */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "test.h"
#include <dirent.h>

static char *slurp(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL, *exact;
    size_t cap = 0, n;
    *len = 0;
    if (!f) return NULL;
    do {
        if (*len == cap) {
            char *more = (char *)realloc(text, cap = cap ? cap * 2 : 4096);
            if (!more) exit(2);
            text = more;
        }
        n = fread(text + *len, 1, cap - *len, f);
        *len += n;
    } while (n);
    fclose(f);
    exact = (char *)malloc(*len ? *len : 1);            /* no byte more, for AddressSanitizer */
    if (!exact) exit(2);
    if (*len) memcpy(exact, text, *len);
    free(text);
    return exact;
}

/* Is it accepted? Also: does the writer agree, and read its own output back? */
static int accepted(const char *name, const char *text, size_t len)
{
    mcp_arena a;
    mcp_writer w, raw;
    const mcp_json *v;
    const char *out, *again, *checked;
    size_t n, m, pos = 0;
    int ok;
    mcp_arena_init(&a, NULL, 0);
    mcp_writer_init(&w, NULL, 0);
    mcp_writer_init(&raw, NULL, 0);
    v = mcp_json_parse(&a, text, len, &pos);
    ok = v != NULL;
    if (!ok) test_check(pos <= len, __FILE__, __LINE__, name);
    mcp_put_raw(&raw, NULL, text, len);
    checked = mcp_writer_text(&raw, NULL);
    test_check((checked != NULL) == ok, __FILE__, __LINE__, name);
    if (ok) {
        mcp_put_json(&w, NULL, v);
        out = mcp_writer_text(&w, &n);
        test_check(out != NULL, __FILE__, __LINE__, name);
        v = mcp_json_parse(&a, out, n, NULL);
        test_check(v != NULL, __FILE__, __LINE__, name);
        mcp_writer_reset(&raw);
        mcp_put_json(&raw, NULL, v);
        again = mcp_writer_text(&raw, &m);
        test_check(out && again && n == m && memcmp(out, again, n) == 0, __FILE__, __LINE__, name);
    }
    mcp_writer_free(&w);
    mcp_writer_free(&raw);
    mcp_arena_free(&a);
    return ok;
}

int main(int argc, char **argv)
{
    const char *dir = argv[argc - 1];
    int table = argc > 2 && strcmp(argv[1], "-i") == 0, files = 0;
    struct dirent *e;
    DIR *d;
    if (argc < 2 || argc > 3 || !(d = opendir(dir))) {
        fprintf(stderr, "usage: json_suite [-i] DIRECTORY\n");
        return 2;
    }
    test_name = dir;
    while ((e = readdir(d)) != NULL) {
        char path[4096], kind = e->d_name[0];
        size_t len, n = strlen(e->d_name);
        char *text;
        int ok;
        if (n < 7 || strcmp(e->d_name + n - 5, ".json") != 0 || e->d_name[1] != '_') continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        text = slurp(path, &len);
        if (!text) { test_check(0, __FILE__, __LINE__, path); continue; }
        ok = accepted(e->d_name, text, len);
        if (kind == 'y' || kind == 'n') test_check(ok == (kind == 'y'), __FILE__, __LINE__, e->d_name);
        else if (table) printf("%s %s\n", ok ? "accept" : "refuse", e->d_name);
        files++;
        free(text);
    }
    closedir(d);
    test_check(files > 0, __FILE__, __LINE__, "there are files");
    return test_end();
}
