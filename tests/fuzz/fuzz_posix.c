/* clang -g -O1 -fsanitize=fuzzer,address,undefined -I. tests/fuzz/fuzz_posix.c -o fuzz_posix
 * A server and a client over pipes and sockets (fuzz_posix.h): whatever comes between them, each ends, calls back once, and leaves nothing. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "fuzz.h"
#include "fuzz_posix.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int i, before = open_descriptors();
    fuzz_begin(data, size);
    begin();
    for (i = 0; i < 300; i++)
        switch (fuzz_pick(8)) {
        case 0: ask(); break;
        case 1: if (fuzz_pick(4) == 0) post((int)fuzz_pick(2)); break;
        case 2: case 3: drive((int)fuzz_pick(2)); break;
        default: far_end((int)fuzz_pick(2));
        }
    end();
    MUST(open_descriptors() == before);
    return 0;
}
