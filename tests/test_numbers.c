/* Numbers: text to integers and doubles, doubles to text. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "test.h"
#include <locale.h>
#include <math.h>
#include <float.h>

static mcp_arena arena;

static const mcp_json *number(const char *text)
{
    mcp_arena_reset(&arena);
    return mcp_json_parse(&arena, text, MCP_NTS, NULL);
}

static int same(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void check_int(const char *text, int64_t want)
{
    const mcp_json *v = number(text);
    char what[200];
    snprintf(what, sizeof what, "%s is %lld, got %lld", text, (long long)want, (long long)mcp_json_int(v, 12321));
    test_check(v && mcp_json_int(v, 12321) == want && mcp_json_int(v, 32123) == want, __FILE__, __LINE__, what);
}

static void check_no_int(const char *text)
{
    const mcp_json *v = number(text);
    test_check(v && mcp_json_int(v, 12321) == 12321 && mcp_json_int(v, 32123) == 32123, __FILE__, __LINE__, text);
}

TEST(integers)
{
    static const struct { const char *text; int64_t value; } good[] = {
        { "0", 0 }, { "-0", 0 }, { "7", 7 }, { "-7", -7 }, { "7.0", 7 }, { "70e-1", 7 }, { "0.7e1", 7 }, { "1e3", 1000 }, { "1E+3", 1000 },
        { "-1.5e1", -15 }, { "9007199254740993", INT64_C(9007199254740993) }, { "9223372036854775807", INT64_MAX },
        { "-9223372036854775808", INT64_MIN }, { "9.223372036854775807e18", INT64_MAX }, { "-9.223372036854775808E18", INT64_MIN },
        { "9223372036854775807.000", INT64_MAX }, { "92233720368547758070e-1", INT64_MAX }, { "9223372036854775807000000000000e-12", INT64_MAX },
        { "0e999999999999999999999", 0 }, { "-0.000e-99999999", 0 }, { "0.0000000000000000000000000000000000001e37", 1 },
        { "100000000000000000000000000000000000000e-38", 1 }, { "1000000000000000000", INT64_C(1000000000000000000) },
        { "1e18", INT64_C(1000000000000000000) }, { "12345678901234567890e-1", INT64_C(1234567890123456789) },
    };
    static const char *const bad[] = {
        "9223372036854775808", "-9223372036854775809", "18446744073709551616", "0.5", "7.1", "1e-1", "1e19", "1e400", "1e-400", "1e99999999999",
        "1e-99999999999", "7.00000000000000000000000000000001", "-0.1", "123456789012345678901234567890", "1e18446744073709551616",
        "10000000000000000000000000000000000000e-38",
    };
    uint64_t u;
    size_t i;
    for (i = 0; i < sizeof good / sizeof *good; i++) check_int(good[i].text, good[i].value);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) check_no_int(bad[i]);
    CHECK(mcp_json_uint(number("18446744073709551615"), &u) && u == UINT64_MAX);
    CHECK(mcp_json_uint(number("1.8446744073709551615e19"), &u) && u == UINT64_MAX);
    CHECK(mcp_json_uint(number("184467440737095516150e-1"), &u) && u == UINT64_MAX);
    CHECK(mcp_json_uint(number("0"), &u) && u == 0);
    CHECK(mcp_json_uint(number("-0"), &u) && u == 0);
    CHECK(mcp_json_uint(number("1e19"), &u) && u == UINT64_C(10000000000000000000));
    CHECK(mcp_json_uint(number("5"), NULL));
    u = 77;
    CHECK(!mcp_json_uint(number("18446744073709551616"), &u) && u == 77);
    CHECK(!mcp_json_uint(number("-1"), &u) && u == 77);
    CHECK(!mcp_json_uint(number("2e19"), &u));
    CHECK(!mcp_json_uint(number("1e20"), &u));
    CHECK(!mcp_json_uint(number("\"5\""), &u));
    CHECK(!mcp_json_uint(NULL, &u));
    EQ_INT(mcp_json_int(NULL, 3), 3);
    EQ_INT(mcp_json_int(number("\"5\""), 3), 3);
    EQ_INT(mcp_json_int(number("true"), 3), 3);
    EQ_INT(mcp_json_int(number("[1]"), 3), 3);
    CHECK(same(mcp_json_num(NULL, 2.5), 2.5));
    CHECK(same(mcp_json_num(number("\"1\""), 2.5), 2.5));
    CHECK(same(mcp_json_num(number("null"), 2.5), 2.5));
}

static void check_num(const char *text, double want)
{
    double got = mcp_json_num(number(text), 42.125);
    char what[200];
    snprintf(what, sizeof what, "%.100s is %.17g, got %.17g", text, want, got);
    test_check(same(got, want), __FILE__, __LINE__, what);
}

TEST(doubles)
{
    static const struct { const char *text; double value; } table[] = {
        { "0", 0.0 }, { "-0", -0.0 }, { "-0.0", -0.0 }, { "0e5", 0.0 }, { "0.1", 0.1 }, { "1e0", 1.0 }, { "123.456", 123.456 }, { "-2.5e-3", -2.5e-3 },
        { "9007199254740993", 9007199254740992.0 }, { "9007199254740993.0000000000000000000000000000001", 9007199254740994.0 },
        { "9007199254740995", 9007199254740996.0 }, { "1e22", 1e22 }, { "1e23", 1e23 }, { "8.5e22", 8.5e22 },
        { "1.7976931348623157e308", DBL_MAX }, { "1.7976931348623158e308", DBL_MAX }, { "-1.7976931348623157e308", -DBL_MAX },
        { "2.2250738585072014e-308", DBL_MIN }, { "2.2250738585072011e-308", 2.2250738585072011e-308 }, { "2.225073858507201e-308", 2.225073858507201e-308 },
        { "4.9e-324", 4.9406564584124654e-324 }, { "5e-324", 4.9406564584124654e-324 }, { "2.4703282292062328e-324", 4.9406564584124654e-324 },
        { "2.4703282292062327e-324", 0.0 }, { "1e-400", 0.0 }, { "-1e-400", -0.0 }, { "1e-99999999999999999999", 0.0 },
        { "0.0000000001e-315", 0.0 }, { "0.00000000001e-312", 1e-323 },
        { "6.9294956446009195e15", 6929495644600919.5 }, { "3.7455744005952583e15", 3745574400595258.3 }, { "89255e-22", 0x1.494af6ce5221fp-57 },
        { "104110013277974872254e-225", 0x1.0b661a31987aep-681 }, { "12345678901234567890123", 12345678901234567890123.0 },
    };
    char text[1200];
    size_t i;
    for (i = 0; i < sizeof table / sizeof *table; i++) check_num(table[i].text, table[i].value);
    check_num("1e400", HUGE_VAL);
    check_num("-1e400", -HUGE_VAL);
    check_num("1.7976931348623159e308", HUGE_VAL);
    check_num("1e99999999999999999999", HUGE_VAL);
    check_num("17976931348623157000000000000000000000000000000000000000e253", DBL_MAX);

    /* half between 1 and its neighbour, and one digit 790 places on that decides */
    memset(text, '0', sizeof text);
    memcpy(text, "1.00000000000000011102230246251565404236316680908203125", 55);
    text[800] = 0;
    check_num(text, 1.0);
    text[799] = '1';
    check_num(text, 1.0 + DBL_EPSILON);
    /* 400 zeros before a digit, with and without an exponent that makes up for them */
    memset(text, '0', sizeof text);
    text[1] = '.';
    memcpy(text + 402, "15", 3);
    check_num(text, 0.0);
    memcpy(text + 402, "15e401", 7);
    check_num(text, 1.5);
    memset(text, '7', 400);
    text[400] = 0;
    check_num(text, HUGE_VAL);
    memcpy(text + 400, "e-400", 6);
    check_num(text, 0.7777777777777777777777777777);
    memset(text, '0', 1000);
    text[0] = '1';
    memcpy(text + 1000, "e-1000", 7);
    check_num(text, 1e-1);
}

static uint64_t state = UINT64_C(88172645463325252);
static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static double from_bits(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

static const char *printed(double d)
{
    static mcp_writer w;
    static char buf[64];
    mcp_writer_fixed(&w, buf, sizeof buf);
    mcp_put_num(&w, NULL, d);
    return mcp_writer_text(&w, NULL);
}

TEST(printing)
{
    static const struct { double value; const char *text; } table[] = {
        { 0.0, "0" }, { -0.0, "-0.0" }, { 1.0, "1" }, { -1.0, "-1" }, { 0.1, "0.1" }, { 0.30000000000000004, "0.30000000000000004" }, { 100.0, "100" },
        { 1e21, "1e21" }, { 1e20, "100000000000000000000" }, { 123456789012345678.0, "123456789012345680" }, { 999999999999999900000.0, "999999999999999900000" },
        { 5e-324, "5e-324" }, { DBL_MAX, "1.7976931348623157e308" }, { DBL_MIN, "2.2250738585072014e-308" }, { -1.5e300, "-1.5e300" },
        { 0.000001, "0.000001" }, { 0.0000001, "1e-7" }, { 1.25e-7, "1.25e-7" }, { 123.456, "123.456" }, { 9007199254740991.0, "9007199254740991" },
        { 9007199254740993.0, "9007199254740992" }, { 5.684341886080801e-14, "5.684341886080801e-14" }, { 9.5367431640625e-7, "9.5367431640625e-7" },
        { 2.0e-44, "2e-44" }, { 1e23, "1e23" }, { 9.109e-31, "9.109e-31" }, { 4.450147717014403e-308, "4.450147717014403e-308" },
        { 5.684341886080802e-14, "5.684341886080802e-14" },
    };
    size_t i;
    for (i = 0; i < sizeof table / sizeof *table; i++) EQ_STR(printed(table[i].value), table[i].text);
    CHECK(printed(HUGE_VAL) == NULL);
    CHECK(printed(-HUGE_VAL) == NULL);
    CHECK(printed(HUGE_VAL - HUGE_VAL) == NULL);
}

/* The significant digits of a number, without zeros at either end. */
static size_t digits_of(const char *text, char *out)
{
    size_t n = 0;
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (n || *text != '0')) out[n++] = *text;
    while (n && out[n - 1] == '0') n--;
    out[n] = 0;
    return n;
}

/* Against libc in the C locale: reads the same, and no shorter text reads back. */
static int agrees(double d)
{
    char text[64], ours[64], a[64], b[64];
    const char *p = printed(d);
    size_t n;
    int ok;
    if (!p) return 0;
    strcpy(ours, p);
    ok = same(strtod(ours, NULL), d) && same(mcp_json_num(number(ours), 42), d);
    n = digits_of(ours, a);
    if (n > 1) {
        snprintf(text, sizeof text, "%.*e", (int)n - 2, d);
        ok = ok && strtod(text, NULL) != d;
    }
    snprintf(text, sizeof text, "%.*e", (int)n - 1, d);
    digits_of(text, b);
    if (same(strtod(text, NULL), d)) ok = ok && strcmp(a, b) == 0;         /* the nearest of that length */
    if (!ok) printf("%.17g is printed as %s\n", d, ours);
    return ok;
}

static int reads(const char *text)
{
    double got = mcp_json_num(number(text), 42), want = strtod(text, NULL);
    if (!same(got, want)) printf("%s: %.17g, wanted %.17g\n", text, got, want);
    return same(got, want);
}

TEST(at_random)
{
    char text[1200];
    int i, bad = 0;
    for (i = 0; i < 4000; i++) {
        double d = from_bits(next_random());
        if (d - d != 0) continue;
        bad += !agrees(d);
        snprintf(text, sizeof text, "%.*g", (int)(next_random() % 30), d);
        bad += !reads(text);
        d = from_bits(next_random() >> 12 >> next_random() % 52);           /* subnormal */
        bad += !agrees(d);
        snprintf(text, sizeof text, "%.*g", (int)(next_random() % 800), d);
        bad += !reads(text);
        snprintf(text, sizeof text, "%llu.%llue%d", (unsigned long long)(next_random() >> next_random() % 64),
                 (unsigned long long)(next_random() >> next_random() % 64), (int)(next_random() % 700) - 350);
        bad += !reads(text);
        d = (double)(int64_t)(next_random() % 10000000) / 100;
        bad += !agrees(d);
    }
    for (i = 1; i < 2047; i++) bad += !agrees(from_bits((uint64_t)i << 52)) + !agrees(from_bits(((uint64_t)i << 52) - 1));
    EQ_INT(bad, 0);
}

/* Exactly between two doubles, and a digit to either side. */
TEST(halves)
{
    char text[1200];
    int i, bad = 0;
    for (i = 0; i < 600; i++) {
        uint64_t m = next_random() >> 11 | UINT64_C(1) << 52;
        int shift = (int)(next_random() % 10) + 1;
        uint64_t half = (m << shift | UINT64_C(1) << (shift - 1)), below = m, up = m + (m & 1);
        snprintf(text, sizeof text, "%llu", (unsigned long long)half);
        bad += !same(mcp_json_num(number(text), 42), ldexp((double)up, shift));
        strcat(text, ".00000000000000000000000000000000001");
        bad += !same(mcp_json_num(number(text), 42), ldexp((double)(m + 1), shift));
        if (shift > 1) {
            snprintf(text, sizeof text, "%llu.99999999999999999999", (unsigned long long)half - 1);
            bad += !same(mcp_json_num(number(text), 42), ldexp((double)below, shift));
        }
    }
    EQ_INT(bad, 0);
}

/* A locale with a decimal comma must not matter. */
TEST(locales)
{
    static const char *const names[] = { "de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR.utf8", "ru_RU.UTF-8" };
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_ALL, names[i])) break;
    EQ_STR(printed(3.14), "3.14");
    CHECK(same(mcp_json_num(number("3.14"), 0), 3.14));
    CHECK(number("3,14") == NULL);
    setlocale(LC_ALL, "C");
}

int main(void)
{
    mcp_arena_init(&arena, NULL, 0);
    RUN(integers);
    RUN(doubles);
    RUN(printing);
    RUN(at_random);
    RUN(halves);
    RUN(locales);
    mcp_arena_free(&arena);
    return test_end();
}
