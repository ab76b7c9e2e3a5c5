/* clang -g -O1 -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_calling.c -o fuzz_calling
 * Three lines: a list of tools, a call, a result. What is written is JSON, whatever comes; each tool that is listed can be called. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "fuzz.h"
static int is_json(mcp_arena *a, mcp_writer *w) { return mcp_json_parse(a, mcp_writer_text(w, NULL), MCP_NTS, NULL) != NULL; }
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size, *lf;
    const mcp_json *v[3] = {0};
    mcp_toolbox_desc d = {0}; mcp_tool_report t = {0}; mcp_reply r = {0};
    mcp_tool_call k; mcp_writer w, x; mcp_arena a; int i, rc;
    fuzz_begin(data, size); mcp_arena_init(&a, NULL, 0); mcp_writer_init(&w, NULL, 0); mcp_writer_init(&x, NULL, 0);
    for (i = 0; i < 3 && at < end; i++, at = lf + 1) {
        if (!(lf = (const char *)memchr(at, '\n', (size_t)(end - at)))) lf = end;
        v[i] = mcp_json_parse(&a, at, (size_t)(lf - at), NULL);
    }
    d.form = (mcp_form)fuzz_pick(5); d.fit.profile = (mcp_profile)fuzz_pick(15);
    d.max_text = fuzz_pick(60); d.max_images = fuzz_pick(99); d.alloc = fuzz_memory();
    mcp_toolbox *b = mcp_toolbox_new(&d); for (i = 0; b && i < 3; i++) (void)mcp_toolbox_add(b, i == 1 ? "a server" : "s", v[0]);
    mcp_toolbox_write(b, &w, NULL); MUST(is_json(&a, &w));
    while (mcp_toolbox_next(b, &t)) MUST(t.notes && (!t.name || mcp_names_find(b->names, t.name)->name == t.name));
    r.result = v[2]; r.status = fuzz_pick(4) ? MCP_OK : MCP_ERR_PEER; r.message = "m";
    MUST(mcp_toolbox_call(b, v[1], &a, &k) == k.status && k.id && k.used && k.name && (k.status ? k.error : k.args && k.tool ? k.server : NULL));
    mcp_put_array(&x, NULL); mcp_writer_reset(&w); mcp_put_array(&w, NULL);
    rc = mcp_toolbox_result(b, &k, fuzz_pick(8) ? &r : NULL, &w, fuzz_pick(2) ? &x : NULL);
    mcp_put_end(&w); mcp_put_end(&x); MUST((rc == MCP_OK || rc == MCP_ERR_MEMORY || !b) && is_json(&a, &w) && is_json(&a, &x));
    mcp_toolbox_free(b); mcp_writer_free(&w); mcp_writer_free(&x); mcp_arena_free(&a); return 0;
}
