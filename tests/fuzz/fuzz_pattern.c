/* clang -g -O1 -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_pattern.c -o fuzz_pattern
 * A pattern in the first line, then a text: the work has a bound, and the same pattern in other words finds the same. */
#define MCP_NO_POSIX
#define MCP_STATIC
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "fuzz.h"
static int finds(const char *format, int len, const char *pattern, const char *text, size_t n)
{
    static char whole[8192];
    mcp_arena a;
    const char *why = "";
    uint64_t left = UINT64_MAX;
    size_t all = mcpi_say(whole, sizeof whole, format, len, pattern);
    const mcpi_pattern *p = (mcp_arena_init(&a, NULL, 0), mcpi_pattern_compile(&a, whole, all, &why));
    int found = p ? mcpi_pattern_find(p, text, n, &a, &left) : -1;
    MUST(!p == !!why && (!p || !(mcpi_pattern_traits(whole, all) & (MCPI_PATTERN_MALFORMED | MCPI_PATTERN_LOOK_AROUND))));
    MUST(!p || ((found == 0 || found == 1) && UINT64_MAX - left <= (p->size + all + 4 * MCPI_PROPERTY_STEPS) * (n + 1)));
    mcp_arena_free(&a);
    return found;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char ways[][28] = {"(?:%.*s)", "^(?:[^]*?(?:%.*s))", "(?:%.*s){1,3}", "[]|%.*s", "(?:[]|%.*s|[]{2,}){1}[^]*$", "(?:%.*s){2}|[]{3,5}"};
    const char *s = (const char *)data, *lf = size ? (const char *)memchr(s, '\n', size) : NULL, *text = lf ? lf + 1 : s + size;
    int len = (int)(lf ? lf - s : (ptrdiff_t)size), other, i, found = finds("%.*s", len, s, text, size - (size_t)(text - s));
    for (i = 0; found >= 0 && i < 6; i++) {
        other = finds(ways[i], len, s, text, size - (size_t)(text - s));
        MUST(other < 0 || other == found || (i == 5 && found));         /* it is there once, but not twice in a row */
    }
    return 0;
}
