/* What the fuzz targets share. MUST ends the program when a promise is broken. A `wire` is a mcp_io that reads the input in
 * pieces and keeps what is written. With -DREPLAY there is also a main that feeds files to the target: any compiler will do.
 * A target includes this after mcp.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define MUST(x) do { if (!(x)) { fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #x); abort(); } } while (0)
#ifdef __cplusplus
extern "C"
#endif
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input, and a stream of small numbers that follow from it: what to do next, how much to read. */
static struct { const uint8_t *data; size_t size, at; uint64_t sum; int64_t ms; unsigned allocations, fails; } fuzz;

static MCP_UNUSED unsigned fuzz_pick(unsigned below)
{
    fuzz.sum = fuzz.sum * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407) +
               (fuzz.size ? fuzz.data[fuzz.size - 1 - fuzz.at++ % fuzz.size] : 0);
    return (unsigned)(fuzz.sum >> 33) % below;              /* the lower bits come round too soon */
}

/* A clock that goes on by itself, so that deadlines pass. */
static MCP_UNUSED int64_t fuzz_clock(void *user) { (void)user; return fuzz.ms += 1 + (int64_t)fuzz_pick(8); }

/* Memory, which in one of two runs is missing once. */
static MCP_UNUSED void *fuzz_resize(void *user, void *p, size_t old_size, size_t new_size)
{
    (void)user; (void)old_size;
    if (new_size) return ++fuzz.allocations == fuzz.fails ? NULL : realloc(p, new_size);
    free(p);
    return NULL;
}

static MCP_UNUSED mcp_allocator fuzz_memory(void)
{
    mcp_allocator a = {fuzz_resize, NULL};
    fuzz.fails = fuzz_pick(2) ? fuzz_pick(200) : 0;
    return a;
}

static MCP_UNUSED void fuzz_begin(const uint8_t *data, size_t size)
{
    memset(&fuzz, 0, sizeof fuzz);
    fuzz.data = data;
    fuzz.size = size;
}

typedef struct wire { size_t at, len, cap; char *out; int whole, cut, used, closed; } wire;     /* cut: the peer reads no more */

static MCP_UNUSED ptrdiff_t wire_read(void *user, void *buf, size_t n)
{
    wire *x = (wire *)user;
    size_t left = fuzz.size - x->at, most = x->whole ? left : 1 + fuzz_pick(fuzz_pick(4) ? 16 : 2000);
    if (!x->whole && fuzz_pick(16) == 0) return MCP_ERR_AGAIN;
    if (n > left) n = left;
    if (n > most) n = most;
    if (n) memcpy(buf, fuzz.data + x->at, n);
    x->at += n;
    return (ptrdiff_t)n;
}

static MCP_UNUSED ptrdiff_t wire_write(void *user, const void *buf, size_t n)
{
    wire *x = (wire *)user;
    if (!x->whole && n > 1) n = 1 + fuzz_pick((unsigned)(n < 3000 ? n : 3000));
    if (!x->whole && fuzz_pick(16) == 0) return fuzz_pick(64) ? MCP_ERR_AGAIN : (x->cut = 1, MCP_ERR_CLOSED);
    if (x->len + n > x->cap) x->out = (char *)realloc(x->out, x->cap = 2 * (x->len + n) + 64);
    MUST(x->out && !x->closed);
    memcpy(x->out + x->len, buf, n);
    x->len += n;
    return (ptrdiff_t)n;
}

static MCP_UNUSED void wire_close(void *user) { wire *x = (wire *)user; MUST(!x->closed); x->closed = 1; }

static MCP_UNUSED mcp_io wire_io(wire *x)
{
    mcp_io io;
    memset(&io, 0, sizeof io);
    io.read = wire_read; io.write = wire_write; io.close = wire_close; io.user = x;
    return io;
}

/* Every whole line that was written is a message; frees what was kept. */
static MCP_UNUSED void wire_end(wire *x)
{
    char *s = x->out, *lf;
    mcp_arena a;
    mcp_msg m;
    mcp_arena_init(&a, NULL, 0);
    for (; x->len && (lf = (char *)memchr(s, '\n', x->len - (size_t)(s - x->out))) != NULL; s = lf + 1) {
        MUST(mcp_msg_parse(&a, s, (size_t)(lf - s), &m) == MCP_OK && m.kind != MCP_MSG_BAD);
        mcp_arena_reset(&a);
    }
    mcp_arena_free(&a);
    free(x->out);
    memset(x, 0, sizeof *x);
}

#ifdef REPLAY
int main(int argc, char **argv)
{
    int i;
    for (i = 1; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        uint8_t *data = NULL;
        size_t size = 0, n;
        if (!f) { perror(argv[i]); return 1; }
        do {
            data = (uint8_t *)realloc(data, size + 65536);
            if (!data) return 1;
            n = fread(data + size, 1, 65536, f);
            size += n;
        } while (n);
        fclose(f);
        data = (uint8_t *)realloc(data, size ? size : 1);       /* exact: reading past the end is seen */
        if (data) LLVMFuzzerTestOneInput(data, size);
        free(data);
    }
    printf("%d files\n", argc - 1);
    return 0;
}
#endif
