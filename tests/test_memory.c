/* Statuses, sentences, the allocator hook, the pool and arenas. */
#define MCP_IMPLEMENTATION      /* looks inside */
#define MCP_NO_SERVER
#define MCP_NO_CLIENT
#define MCP_NO_VALIDATE
#define MCP_NO_SANITIZE
#include "mcp.h"
#include "test.h"

/* An allocator that counts what lives, checks the sizes it is told, and can fail. */
typedef struct counter { size_t live, blocks, calls, fail_at; int wrong; } counter;

static void *counted(void *user, void *ptr, size_t old_size, size_t new_size)
{
    counter *c = (counter *)user;
    size_t *head = ptr ? (size_t *)ptr - 2 : NULL, *moved;
    if (ptr && head[0] != old_size) c->wrong++;
    if (!ptr && (old_size || !new_size)) c->wrong++;
    if (!new_size) {
        c->live -= old_size;
        c->blocks--;
        free(head);
        return NULL;
    }
    if (++c->calls == c->fail_at) return NULL;
    moved = (size_t *)realloc(head, new_size + 2 * sizeof *head);
    if (!moved) return NULL;
    moved[0] = new_size;
    c->live += new_size - old_size;
    c->blocks += !ptr;
    return moved + 2;
}

static mcp_allocator counting(counter *c)
{
    mcp_allocator a;
    memset(c, 0, sizeof *c);
    a.resize = counted;
    a.user = c;
    return a;
}

TEST(statuses)
{
    int i;
    EQ_STR(mcp_strerror(MCP_OK), "ok");
    EQ_STR(mcp_strerror(MCP_ERR_MEMORY), "out of memory");
    EQ_STR(mcp_strerror(1), "unknown status");
    EQ_STR(mcp_strerror(-1000), "unknown status");
    for (i = -19; i < 0; i++) CHECK(strcmp(mcp_strerror(i), "unknown status") != 0);
    EQ_STR(mcp_strerror(-20), "unknown status");
    EQ_INT(mcp_version(), MCP_VERSION_NUMBER);
}

TEST(sentences)
{
    char b[64];
    size_t n;
    EQ_INT(mcpi_say(b, sizeof b, "cannot start \"%s\": %s", "uvx", "not found"), 29);
    EQ_STR(b, "cannot start \"uvx\": not found");
    mcpi_say(b, sizeof b, "%s|%.*s|%.*s|%c|%%|%q", (const char *)NULL, 3, "abcdef", 0, "abc", 'x');
    EQ_STR(b, "(null)|abc||x|%|q");
    mcpi_say(b, sizeof b, "%d %d %d %u", 0, -2147483647 - 1, 2147483647, 4294967295u);
    EQ_STR(b, "0 -2147483648 2147483647 4294967295");
    mcpi_say(b, sizeof b, "%l %l", INT64_MIN, INT64_MAX);
    EQ_STR(b, "-9223372036854775808 9223372036854775807");
    mcpi_say(b, sizeof b, "%z%", (size_t)12);
    EQ_STR(b, "12");
    mcpi_say(b, sizeof b, "%.*s", -1, "abc");
    EQ_STR(b, "");
    EQ_INT(mcpi_say(NULL, 0, "%s", "x"), 0);
    EQ_INT(mcpi_say(b, 0, "%s", "x"), 0);
    EQ_INT(mcpi_say(b, 1, "%s", "x"), 0);
    EQ_STR(b, "");
    EQ_INT(mcpi_say(b, 4, "%s%s", "ab", "cd"), 3);
    EQ_STR(b, "abc");
    EQ_INT(mcpi_say(b, 4, "%s%s", "abcd", "z"), 3);     /* nothing comes after a cut */
    EQ_STR(b, "abc");
    /* a cut never halves a character */
    for (n = 1; n < 16; n++) {
        size_t k = mcpi_say(b, n, "a%s", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z"), full = n - 1, want;
        want = full >= 11 ? 11 : full >= 10 ? 10 : full >= 6 ? 6 : full >= 3 ? 3 : full >= 1 ? 1 : 0;
        EQ_INT(k, want);
        EQ_INT(strlen(b), want);
    }
}

TEST(allocators)
{
    counter c;
    mcp_allocator a = counting(&c), none;
    char *p, *buf = NULL;
    size_t cap = 0;
    memset(&none, 0, sizeof none);
    p = (char *)mcpi_zalloc(&a, 10);
    CHECK(p && p[0] == 0 && p[9] == 0);
    p = (char *)mcpi_resize(&a, p, 10, 20);
    mcpi_free(&a, p, 20);
    mcpi_free(&a, NULL, 0);
    CHECK(mcpi_strdup(&a, NULL, 3) == NULL);
    p = mcpi_strdup(&a, "hello", 4);
    EQ_STR(p, "hell");
    mcpi_strfree(&a, p);
    p = mcpi_strdup(&a, "hello", MCP_NTS);
    EQ_STR(p, "hello");
    mcpi_strfree(&a, p);
    mcpi_strfree(&a, NULL);
    CHECK(mcpi_grow(&a, &buf, &cap, 1, 0) && cap == 64);
    memcpy(buf, "keep", 5);
    CHECK(mcpi_grow(&a, &buf, &cap, 65, 0) && cap == 128);
    CHECK(mcpi_grow(&a, &buf, &cap, 10, 5) && cap == 128);
    CHECK(!mcpi_grow(&a, &buf, &cap, 201, 200) && cap == 128);
    CHECK(mcpi_grow(&a, &buf, &cap, 150, 200) && cap == 200);
    c.fail_at = c.calls + 1;
    CHECK(!mcpi_grow(&a, &buf, &cap, 1000, 0) && cap == 200);
    EQ_STR(buf, "keep");
    mcpi_free(&a, buf, cap);
    EQ_INT(c.live, 0);
    EQ_INT(c.blocks, 0);
    EQ_INT(c.wrong, 0);
    p = (char *)mcpi_alloc(&none, 8);
    CHECK(p != NULL);
    mcpi_free(NULL, p, 8);
}

static unsigned seed = 12345;
static unsigned next_random(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

TEST(pool)
{
    static char memory[4096 + 7];
    mcp_pool p;
    mcp_allocator a;
    size_t shift;
    char *x, *y, *z;
    for (shift = 0; shift < 8; shift++) {                   /* wherever it begins */
        a = mcp_pool_init(&p, memory + shift, 4096);
        x = (char *)a.resize(a.user, NULL, 0, 100);
        CHECK(x && (uintptr_t)x % (2 * sizeof(void *)) == 0);
        y = (char *)a.resize(a.user, NULL, 0, 100);
        CHECK(y && y >= x + 100);
        if (!x || !y) return;
        memset(x, 'x', 100);
        memset(y, 'y', 100);
        CHECK(a.resize(a.user, NULL, 0, 5000) == NULL);
        CHECK(a.resize(a.user, NULL, 0, (size_t)-1) == NULL);
        CHECK(a.resize(a.user, NULL, 0, (size_t)-17) == NULL);
        z = (char *)a.resize(a.user, y, 100, 2000);         /* what is behind it is free: in place */
        CHECK(z == y && z[99] == 'y');
        CHECK(a.resize(a.user, x, 100, 3000) == NULL && x[99] == 'x');
        CHECK(a.resize(a.user, x, 100, (size_t)-1) == NULL && x[99] == 'x');
        z = (char *)a.resize(a.user, x, 100, 1000);         /* has to move */
        CHECK(z && z != x && z[0] == 'x' && z[99] == 'x');
        CHECK(a.resize(a.user, z, 1000, 10) == z);
        CHECK(a.resize(a.user, z, 10, 0) == NULL);
        CHECK(a.resize(a.user, y, 2000, 0) == NULL);
        EQ_INT(p.used, 0);
        CHECK(p.peak > 3000 && p.peak <= 4096);
        x = (char *)a.resize(a.user, NULL, 0, p.size - 2 * sizeof(void *));   /* all of it, in one piece again */
        CHECK(x != NULL);
        EQ_INT(p.used, p.size);
        CHECK(a.resize(a.user, NULL, 0, 1) == NULL);
    }
    a = mcp_pool_init(&p, memory, 3);
    CHECK(a.resize && a.resize(a.user, NULL, 0, 1) == NULL);
    a = mcp_pool_init(&p, NULL, 0);
    CHECK(a.resize(a.user, NULL, 0, 1) == NULL);
    a = mcp_pool_init(NULL, memory, 4096);
    CHECK(a.resize(a.user, NULL, 0, 1) == NULL);
}

/* Random work; every block is filled with its own byte, and must still hold it. */
TEST(pool_at_random)
{
    enum { BLOCKS = 40 };
    static char memory[16384];
    struct { unsigned char *p; size_t n; unsigned char fill; } b[BLOCKS];
    mcp_pool p;
    mcp_allocator a = mcp_pool_init(&p, memory, sizeof memory);
    int i, round, damaged = 0;
    size_t k;
    memset(b, 0, sizeof b);
    for (round = 0; round < 20000; round++) {
        size_t n = next_random() % 4 ? next_random() % 300 : 0;
        unsigned char *moved;
        i = (int)(next_random() % BLOCKS);
        if (!b[i].p && !n) continue;
        moved = (unsigned char *)a.resize(a.user, b[i].p, b[i].n, n);
        if (!n) { b[i].p = NULL; b[i].n = 0; continue; }
        if (!moved) continue;
        for (k = 0; k < b[i].n && k < n; k++) damaged += moved[k] != b[i].fill;
        b[i].p = moved;
        b[i].n = n;
        b[i].fill = (unsigned char)next_random();
        memset(moved, b[i].fill, n);
        damaged += (uintptr_t)moved % (2 * sizeof(void *)) != 0;
        damaged += p.used > p.size || p.peak < p.used;
    }
    for (i = 0; i < BLOCKS; i++) {
        for (k = 0; k < b[i].n; k++) damaged += b[i].p[k] != b[i].fill;
        if (b[i].p) a.resize(a.user, b[i].p, b[i].n, 0);
    }
    EQ_INT(damaged, 0);
    EQ_INT(p.used, 0);
    CHECK(a.resize(a.user, NULL, 0, p.size - 2 * sizeof(void *)) != NULL);
}

TEST(arenas)
{
    counter c;
    mcp_allocator alloc = counting(&c);
    mcp_arena a;
    size_t i, calls, total;
    char *p, *q;
    mcp_arena_init(&a, &alloc, 0);
    EQ_INT(c.calls, 0);
    p = (char *)mcp_arena_alloc(&a, 0);
    q = (char *)mcp_arena_alloc(&a, 1);
    CHECK(p && q && p != q);
    for (i = 1; i < 2000; i++) {
        p = (char *)mcp_arena_alloc(&a, i);
        CHECK(p && (uintptr_t)p % (2 * sizeof(void *)) == 0);
        if (p) memset(p, 'p', i);
    }
    CHECK(c.calls < 20);
    total = a.total;
    mcp_arena_reset(&a);
    EQ_INT(c.blocks, 1);
    CHECK(a.total <= total);
    calls = c.calls;
    for (i = 1; i < 2000; i++) mcp_arena_alloc(&a, i);
    EQ_INT(c.calls, calls);                                 /* warm: nothing is allocated */
    mcp_arena_reset(&a);
    EQ_INT(c.calls, calls);
    CHECK(mcp_arena_alloc(&a, (size_t)-1) == NULL);
    CHECK(mcp_arena_alloc(&a, (size_t)-20) == NULL);
    mcp_arena_free(&a);
    EQ_INT(c.live, 0);
    EQ_INT(c.wrong, 0);
    CHECK(mcp_arena_alloc(&a, 10) != NULL);                 /* can be used again */
    mcp_arena_free(&a);
    mcp_arena_free(&a);
    EQ_INT(c.live, 0);

    mcp_arena_init(&a, &alloc, 10000);                      /* a limit */
    for (i = 0; mcp_arena_alloc(&a, 100); i++) { }
    CHECK(i > 70 && i < 100);
    CHECK(c.live <= 10000);
    mcp_arena_reset(&a);
    CHECK(c.live <= 10000);
    for (i = 0; mcp_arena_alloc(&a, 100); i++) { }
    CHECK(i > 80 && i < 100);
    CHECK(mcp_arena_alloc(&a, 20000) == NULL);
    mcp_arena_free(&a);
    EQ_INT(c.live, 0);
    CHECK(mcp_arena_alloc(&a, 20000) == NULL);              /* more than is left, which is not nothing */
    CHECK(mcp_arena_alloc(&a, 6000) != NULL);
    CHECK(mcp_arena_alloc(&a, 6000) == NULL);
    CHECK(mcp_arena_alloc(&a, 1000) != NULL);
    mcp_arena_free(&a);
    EQ_INT(c.live, 0);

    for (i = 1; i < 8; i++) {                               /* failing allocations */
        int k;
        alloc = counting(&c);
        c.fail_at = i;
        mcp_arena_init(&a, &alloc, 0);
        for (k = 0; k < 100; k++) mcp_arena_alloc(&a, 300);
        mcp_arena_reset(&a);
        CHECK(mcp_arena_alloc(&a, 300) != NULL);
        mcp_arena_free(&a);
        EQ_INT(c.live, 0);
        EQ_INT(c.wrong, 0);
    }
    mcp_arena_init(NULL, NULL, 0);
    mcp_arena_reset(NULL);
    mcp_arena_free(NULL);
    mcp_arena_fixed(NULL, NULL, 0);
    CHECK(mcp_arena_alloc(NULL, 1) == NULL);
}

TEST(fixed_arenas)
{
    static char memory[1000];
    mcp_arena a;
    size_t shift, i;
    for (shift = 0; shift < 17; shift++) {
        mcp_arena_fixed(&a, memory + shift, 900);
        for (i = 0; mcp_arena_alloc(&a, 16); i++) { }
        CHECK(i >= 55 && i <= 56);
        mcp_arena_reset(&a);
        for (i = 0; mcp_arena_alloc(&a, 16); i++) { }
        CHECK(i >= 55 && i <= 56);
        mcp_arena_free(&a);
    }
    mcp_arena_fixed(&a, memory + 1, 2);
    CHECK(mcp_arena_alloc(&a, 1) == NULL);
    mcp_arena_reset(&a);
    CHECK(mcp_arena_alloc(&a, 1) == NULL);
    mcp_arena_fixed(&a, NULL, 100);
    CHECK(mcp_arena_alloc(&a, 1) == NULL);
    mcp_arena_reset(&a);
}

int main(void)
{
    RUN(statuses);
    RUN(sentences);
    RUN(allocators);
    RUN(pool);
    RUN(pool_at_random);
    RUN(arenas);
    RUN(fixed_arenas);
    return test_end();
}
