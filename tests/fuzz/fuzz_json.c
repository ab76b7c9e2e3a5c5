/* clang -g -O1 -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_json.c -o fuzz_json
 * What is read is written, and reads back as the same; put_raw takes what the reader takes; fuzz_json.h: the getters agree. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "fuzz.h"
#include "fuzz_json.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t pos = 0, pos2 = 0, n = 0, m = 0;
    char *text = (char *)malloc(size + 1), *fixed = (char *)malloc(size * 8 + 64);
    const mcp_json *v = mcp_json_parse(&a, (const char *)data, size, &pos), *same;
    mcp_arena b;
    MUST(text && fixed && (v || pos <= size));
    if (size) memcpy(text, data, size);
    same = mcp_json_parse_inplace(&a, text, size, &pos2);
    MUST(!v == !same && (v || pos == pos2));
    put(&w, v); put(&x, same);
    MUST(mcp_writer_status(&w) == MCP_OK && same_text(&w, &x));
    mcp_writer_reset(&x);
    mcp_put_raw(&x, NULL, (const char *)data, size);
    MUST((mcp_writer_text(&x, &m) != NULL) == (v != NULL));
    if (v) { put(&x, mcp_json_parse(&a, x.buf, m, NULL)); MUST(same_text(&w, &x)); }
    if (v) { put(&x, mcp_json_parse(&a, mcp_writer_text(&w, &n), w.len, NULL)); MUST(same_text(&w, &x)); }
    mcp_arena_fixed(&b, fixed, size * 8 + 64);
    if (v && (same = mcp_json_copy(&b, v)) != NULL) { put(&x, same); MUST(same_text(&w, &x)); }
    tight(data, size, v);
    if (v) look(v, v);
    free(text); free(fixed); mcp_arena_reset(&a);
    return 0;
}
