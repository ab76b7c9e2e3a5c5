/* clang -g -O1 -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_schema.c -o fuzz_schema
 * Any two texts, or a schema and a value that the bytes choose (fuzz_schema.h): checked with bounded work, with the same verdict in
 * other words, and when memory runs out. */
#define MCP_NO_POSIX
#define MCP_NO_CLIENT
#define MCP_NO_SERVER
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "fuzz.h"
#include "fuzz_schema.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *cut = size ? (const uint8_t *)memchr(data, '\n', size) : NULL;
    const mcp_json *schema, *v;
    const mcp_schema *s;
    const char *why = NULL;
    mcp_allocator bad;
    mcp_arena b;
    int want;
    fuzz_begin(data, size);
    if (!cut) { put_schema(NULL, 0); schema = written(); put_value(NULL, 0); v = written(); }
    else { schema = mcp_json_parse(&a, (const char *)data, (size_t)(cut - data), NULL); v = mcp_json_parse(&a, (const char *)cut, (size_t)(data + size - cut), NULL); }
    s = mcp_schema_compile(&a, schema, &why);
    MUST(s || why);
    if (s && v) {
        want = verdict(s, v);
        MUST(strlen(mcp_schema_notes(s)) < 100000);
        if (!mcp_json_get(schema, "$id") && !mcp_json_get(schema, "id") && !mcp_json_get(schema, "$recursiveAnchor"))
            around(schema, v, fuzz_pick(2) ? "anyOf" : "oneOf", want);
        bad = fuzz_memory();
        mcp_arena_init(&b, &bad, 0);
        if ((s = mcp_schema_compile(&b, schema, NULL)) != NULL) { int got = mcp_schema_check(s, v, &b, NULL, 0); MUST(got == want || (fuzz.fails && got == MCP_ERR_MEMORY)); }
        else MUST(fuzz.fails);
        mcp_arena_free(&b);
    }
    mcp_arena_reset(&a); mcp_arena_reset(&scratch); mcp_writer_reset(&w);
    return 0;
}
