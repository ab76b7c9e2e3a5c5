/* clang -g -O1 -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_fit.c -o fuzz_fit
 * Schemas of all keywords and odd shapes, fitted to all profiles: what tests/fit_props.h says holds. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "fuzz.h"
#include "../fit_props.h"
#include "fuzz_fit.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t budgets[] = { 0, 0, 0, 300, 3000 };
    const mcp_json *v;
    const char *broken;
    mcp_fit_desc d;
    char room[300];
    fuzz_begin(data, size);
    v = any_schema();
    memset(&d, 0, sizeof d);
    d.profile = (mcp_profile)fuzz_pick(15);
    broken = fit_check(v, d.profile, fuzz_pick(2), budgets[fuzz_pick(5)], room);
    if (broken) fprintf(stderr, "%s\n%s\n", broken, mcp_writer_text(&made, NULL));
    MUST(!broken);
    short_of_memory(v, &d);
    mcp_arena_reset(&memory);
    return 0;
}
