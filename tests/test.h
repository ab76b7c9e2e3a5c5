/* A tiny test harness. A test program includes this after mcp.h, writes functions with TEST(name) { ... } whose
 * checks are CHECK, EQ_INT, EQ_STR or EQ_MEM, lists them in main with RUN(name), and ends with `return test_end();`.
 * A failed check says where and what, and the test goes on. The last line is "N passed, N failed": checks, not tests. */
#ifndef MCP_TEST_H
#define MCP_TEST_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static int test_end(void)
{
    printf("%d passed, %d failed\n", test_passed, test_failed);
    return test_failed != 0;
}
#endif
