/* A tiny test harness. A test program includes this after mcp.h, writes functions with TEST(name) { ... } whose
 * checks are CHECK, EQ_INT, EQ_STR or EQ_MEM, lists them in main with RUN(name), and ends with `return test_end();`.
 * A failed check says where and what, and the test goes on. The last line is "N passed, N failed": checks, not tests. */
#ifndef MCP_TEST_H
#define MCP_TEST_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#  define TEST_UNUSED __attribute__((unused))
#else
#  define TEST_UNUSED
#endif

static int test_passed, test_failed;
static const char *test_name = "";

#define TEST(name) static void name(void)
#define RUN(name) (test_name = #name, name())

static void test_check(int ok, const char *file, int line, const char *what)
{
    if (ok) { test_passed++; return; }
    test_failed++;
    printf("%s:%d: %s: %s\n", file, line, test_name, what);
    fflush(stdout);
}
#define CHECK(x) test_check(!!(x), __FILE__, __LINE__, #x)

#define EQ_INT(a, b) do { long long test_a_ = (long long)(a), test_b_ = (long long)(b); char test_t_[256]; \
    snprintf(test_t_, sizeof test_t_, "%s: %lld, wanted %lld", #a, test_a_, test_b_); \
    test_check(test_a_ == test_b_, __FILE__, __LINE__, test_t_); } while (0)

#define EQ_STR(a, b) do { const char *test_a_ = (a), *test_b_ = (b); char test_t_[4096]; \
    snprintf(test_t_, sizeof test_t_, "%.1000s: \"%.1000s\", wanted \"%.1000s\"", #a, test_a_ ? test_a_ : "(NULL)", test_b_); \
    test_check(test_a_ && strcmp(test_a_, test_b_) == 0, __FILE__, __LINE__, test_t_); } while (0)

#define EQ_MEM(p, n, lit) do { const void *test_p_ = (p); size_t test_n_ = (n); \
    test_check(test_p_ && test_n_ == sizeof(lit) - 1 && memcmp(test_p_, lit, test_n_) == 0, __FILE__, __LINE__, #p " equals " #lit); \
    } while (0)

/* MCP_TEST_WIRE=FILE: what goes over the streams of tests is added to that file, for tests/wire.sh. who: 'S' a server's or 'C' a
 * client's stream begins, '<' it reads this, '>' it writes this. A record is a line `test stream who bytes`, and the bytes. */
TEST_UNUSED static void test_wire(const void *stream, char who, const void *bytes, size_t n)
{
    static FILE *f;
    static int known;
    if (!known) {
        const char *path = getenv("MCP_TEST_WIRE");
        known = 1;
        f = path && *path ? fopen(path, "ab") : NULL;
    }
    if (!f) return;
    fprintf(f, "%s %p %c %lu\n", test_name, stream, who, (unsigned long)n);
    if (n) fwrite(bytes, 1, n, f);
    fputc('\n', f);
    fflush(f);
}

static int test_end(void)
{
    printf("%d passed, %d failed\n", test_passed, test_failed);
    return test_failed != 0;
}
#endif
