/* The matcher of regular expressions: what it finds, what it refuses and why, and how much work it does. */
#define MCP_IMPLEMENTATION      /* looks inside */
#define MCP_NO_SERVER
#define MCP_NO_CLIENT
#define MCP_STATIC
#define MCP_NO_POSIX
#include "mcp.h"
#include "test.h"

static mcp_arena arena;

static uint64_t *unbounded(void) { static uint64_t steps; steps = UINT64_MAX; return &steps; }

/* 1 or 0: it matches or not; -1: there is no program for it. */
static int finds_n(const char *pattern, size_t pattern_len, const char *text, size_t len)
{
    const char *why = "";
    const mcpi_pattern *p;
    int found;
    mcp_arena_reset(&arena);
    p = mcpi_pattern_compile(&arena, pattern, pattern_len, &why);
    CHECK(!p == (why != NULL));
    if (!p) return -1;
    found = mcpi_pattern_find(p, text, len, &arena, unbounded());
    CHECK(found == 0 || found == 1);
    return found;
}

static int finds(const char *pattern, const char *text) { return finds_n(pattern, strlen(pattern), text, strlen(text)); }

static const char *why(const char *pattern)
{
    const char *why = NULL;
    mcp_arena_reset(&arena);
    (void)mcpi_pattern_compile(&arena, pattern, strlen(pattern), &why);
    return why ? why : "";
}

typedef struct verdict { const char *pattern, *text; int found; } verdict;

static void judge(const verdict *table, size_t n)
{
    size_t i;
    for (i = 0; i < n; i++) {
        int found = finds(table[i].pattern, table[i].text);
        if (found != table[i].found) printf("/%s/ on \"%s\": %d\n", table[i].pattern, table[i].text, found);
        EQ_INT(found, table[i].found);
    }
}
#define JUDGE(table) judge(table, sizeof table / sizeof *table)

TEST(plain)
{
    static const verdict table[] = {
        { "", "", 1 }, { "", "x", 1 }, { "a", "", 0 }, { "b", "abc", 1 }, { "bc", "abc", 1 }, { "bd", "abcbd", 1 }, { "ac", "abc", 0 },
        { "^b", "abc", 0 }, { "^a", "abc", 1 }, { "c$", "abc", 1 }, { "b$", "abc", 0 }, { "^$", "", 1 }, { "^$", "a", 0 }, { "$^", "", 1 },
        { "^abc$", "abc\n", 0 }, { "^b", "a\nb", 0 }, { "a$", "a\nb", 0 }, { "a^", "a", 0 }, { "$a", "a", 0 },
        { "a|b", "xb", 1 }, { "a|b", "xc", 0 }, { "|a", "", 1 }, { "a|", "", 1 }, { "^(?:|a)$", "a", 1 }, { "^(?:a|bc|def)$", "def", 1 },
        { "^(?:a|bc|def)$", "bcf", 0 }, { "^a|b$", "ax", 1 }, { "^a|b$", "xb", 1 }, { "^a|b$", "xax", 0 }, { "^(?:ab|a)(?:c|bcd)$", "abcd", 1 },
        { "^(?:(?:a|b)|(?:c|(?:d|e)))+$", "abcde", 1 }, { "^(?:(?:a|b)|(?:c|(?:d|e)))+$", "abcdef", 0 },
        { ".", "\n", 0 }, { ".", "\r", 0 }, { ".", "\xE2\x80\xA8", 0 }, { ".", "\xE2\x80\xA9", 0 }, { "^.$", "\xF0\x9F\x90\xB2", 1 }, { "^.$", "\xC3\xA9", 1 },
        { "^..$", "\xC3\xA9", 0 }, { "^\xF0\x9F\x90\xB2*$", "\xF0\x9F\x90\xB2\xF0\x9F\x90\xB2", 1 }, { "^\xF0\x9F\x90\xB2*$", "\xF0\x9F\x90\x89", 0 },
        { "(?<year>\\d{4})-(?<_m$1>\\d\\d)", "on 2026-07-28", 1 }, { "^(a)(?:b)(?<c>c)$", "abc", 1 },
    };
    JUDGE(table);
    EQ_INT(finds_n("a\0b", 3, "xa\0b", 4), 1);
    EQ_INT(finds_n("a\0b", 3, "xa\0c", 4), 0);
    EQ_INT(finds_n("^.$", 3, "", 1), 1);
    EQ_INT(finds_n("\\0$", 3, "a", 2), 1);
}

TEST(quantifiers)
{
    static const verdict table[] = {
        { "^a*$", "", 1 }, { "^a*$", "aaa", 1 }, { "^a*$", "aab", 0 }, { "^a+$", "", 0 }, { "^a+$", "aa", 1 }, { "^a?$", "", 1 }, { "^a?$", "a", 1 },
        { "^a?$", "aa", 0 }, { "^a*?$", "aaa", 1 }, { "^a+?b??$", "aab", 1 }, { "^a{2,3}?$", "aaaa", 0 }, { "^a{2}$", "a", 0 }, { "^a{2}$", "aa", 1 },
        { "^a{2}$", "aaa", 0 }, { "^a{2,}$", "a", 0 }, { "^a{2,}$", "aaaaa", 1 }, { "^a{2,3}$", "aaaa", 0 }, { "^a{2,3}$", "aaa", 1 }, { "^a{0}$", "", 1 },
        { "^a{0}$", "a", 0 }, { "^a{0,0}b$", "b", 1 }, { "^a{0,1}$", "aa", 0 }, { "^a{0,2}$", "", 1 }, { "^a{0,2}$", "aa", 1 }, { "^a{0,2}$", "aaa", 0 },
        { "^a{1}$", "a", 1 }, { "^a{1,1}$", "aa", 0 }, { "^a{0,}$", "aa", 1 }, { "^a{1,}$", "", 0 },
        { "^(?:ab){2}$", "abab", 1 }, { "^(?:ab){2}$", "ababab", 0 }, { "^(?:ab){2,}$", "ab", 0 }, { "^(?:ab){2,}$", "ababab", 1 }, { "^(?:ab){2,3}$", "ab", 0 },
        { "^(?:ab){2,3}$", "ababab", 1 }, { "^(?:ab){2,3}$", "abababab", 0 }, { "^(?:ab){0,2}$", "", 1 }, { "^(?:ab){0,2}$", "abab", 1 }, { "^(?:ab){0,2}$", "aba", 0 },
        { "^(?:ab){0}$", "", 1 }, { "^(?:abcdef){0}[g]$", "g", 1 }, { "^(?:(?:ab|c[d]){0}|e)$", "e", 1 }, { "^(?:ab){0,}c$", "ababc", 1 }, { "^(?:ab)*c$", "c", 1 }, { "^(?:ab)+c$", "c", 0 }, { "^(?:ab)?c$", "abc", 1 },
        { "^(?:a|b){3}$", "aba", 1 }, { "^(?:a|b){3}$", "ab", 0 }, { "^(?:a|bc){1,2}$", "bcbc", 1 }, { "^(?:a|bc){1,2}$", "bcabc", 0 },
        { "^(?:a*)*$", "aaa", 1 }, { "^(?:a*)+$", "b", 0 }, { "^(?:a?){3}$", "aa", 1 }, { "^(?:a?){3}$", "aaaa", 0 }, { "^(?:){5}$", "", 1 }, { "^(?:|a)+$", "aaa", 1 },
        { "^(?:a{2}){2}$", "aaaa", 1 }, { "^(?:a{2}){2}$", "aaa", 0 }, { "^(?:a{2,3}){2}$", "aaaaa", 1 }, { "^(?:a{2,3}){2}$", "aaaaaaa", 0 }, { "^(a{2,3}b){2}$", "aabaaab", 1 },
        { "^(?:a{2,3}b?){2,}$", "aaaaaaaaa", 1 }, { "^(?:a{4}b?)+$", "aaaaaaaa", 1 }, { "^(?:a{4}b?)+$", "aaaaaaa", 0 },
        { "^([0-9]){4}$", "2026", 1 }, { "^([0-9]){4}$", "20266", 0 }, { "^(\\b){3}a$", "a", 1 }, { "^(?:\\ba{0}){3}a$", "a", 1 }, { "^(?:\\Ba{0}){3}a$", "a", 0 },
        { "^a{2,1000000}$", "aaa", 1 }, { "^a{0,99999999999999999999}$", "aaa", 1 }, { "^a{2,99999999999999999999}$", "a", 0 }, { "^.{1,100000}$", "abc", 1 },
        { "a{3}b", "aaab", 1 }, { "a{3}b", "aabaaab", 1 }, { "a{3}b", "aabaab", 0 }, { "[ab]{3}c", "xabababc", 1 }, { "(?:a|ab){2}c{2,3}d", "aabccd", 1 },
    };
    JUDGE(table);
}

TEST(classes)
{
    static const verdict table[] = {
        { "^\\d+$", "0123456789", 1 }, { "\\d", "a/:", 0 }, { "^\\d$", "\xDF\x80", 0 }, { "^\\D$", "\xDF\x80", 1 }, { "^\\D$", "7", 0 }, { "^\\w+$", "azAZ09_", 1 },
        { "\\w", "@[`{/:-", 0 }, { "^\\w$", "\xC3\xA9", 0 }, { "^\\W$", "\xC3\xA9", 1 }, { "\\W", "a_", 0 }, { "^\\s+$", "\t\n\v\f\r \xC2\xA0\xEF\xBB\xBF\xE2\x80\xA8\xE2\x80\xA9", 1 },
        { "^\\s+$", "\xE1\x9A\x80\xE2\x80\x80\xE2\x80\x8A\xE2\x80\xAF\xE2\x81\x9F\xE3\x80\x80", 1 }, { "\\s", "\xE2\x80\x8B\x08\x0E\x1C\xC2\x85", 0 }, { "^\\S$", "\xE2\x80\x83", 0 },
        { "^\\S$", "a", 1 }, { "^\\S$", " ", 0 },
        { "^[abc]$", "b", 1 }, { "^[abc]$", "d", 0 }, { "^[^abc]$", "d", 1 }, { "^[^abc]$", "b", 0 }, { "^[a-c]$", "b", 1 }, { "^[a-c-]$", "-", 1 }, { "^[-a]$", "-", 1 },
        { "^[a-]$", "-", 1 }, { "^[\\w-.]+$", "a-b.c", 1 }, { "^[\\w-.]+$", "a,b", 0 }, { "^[.-\\w]+$", "a-b.c", 1 }, { "^[\\d-\\s]+$", "1 - 2", 1 }, { "^[\\d-\\s]+$", "a", 0 },
        { "^[^\\d]$", "1", 0 }, { "^[^\\D]$", "1", 1 }, { "^[\\D\\d]$", "\xC3\xA9", 1 }, { "^[^\\D\\d]$", "\xC3\xA9", 0 }, { "^[^\\n]+$", "a\xC3\xA9", 1 }, { "[]", "abc", 0 },
        { "^[^]$", "\n", 1 }, { "^[\\]]$", "]", 1 }, { "^[\\-\\^]+$", "^-", 1 }, { "^[\\b]$", "\b", 1 }, { "^[a^]$", "^", 1 }, { "^[.*+?()|{}$/]+$", ".*+?()|{}$/", 1 }, { "[.]", "a", 0 },
        { "^[\xC3\xA0-\xC3\xBF]$", "\xC3\xA9", 1 }, { "^[\xC3\xA0-\xC3\xBF]$", "\xC3\x80", 0 }, { "^[^\xC3\xA0-\xC3\xBF]$", "\xC3\xA9", 0 }, { "^[a-\xC3\xBF]$", "z", 1 }, { "^[a-\xC3\xBF]$", "\xC3\xA9", 1 },
        { "^[a-\xC3\xBF]$", "A", 0 }, { "^[\xC3\xA0\xC3\xA9]+$", "\xC3\xA9\xC3\xA8", 0 }, { "^\\p{L}+$", "\xCF\x80\xC2\xB2", 0 }, { "^[\xF0\x9F\x90\xB1-\xF0\x9F\x90\xB3]$", "\xF0\x9F\x90\xB2", 1 }, { "^[\xF0\x9F\x90\xB1-\xF0\x9F\x90\xB3]$", "\xF0\x9F\x90\xB4", 0 },
        { "^[\\s\\S]+$", "a\n\xE2\x80\xA8", 1 }, { "^[\\s\\S]$", "\xE2\x80\xA8", 1 }, { "^[^\\s]+$", "a\xE2\x80\xA8", 0 }, { "^[\xC3\xA9\xC3\xA8]+$", "\xC3\xA9\xC3\xA8\xC3\xA9", 1 },
        { "^\\p{L}+$", "a\xCF\x80\xE4\xB8\xAD\xF0\xA0\x80\x80", 1 }, { "^\\p{Letter}$", "1", 0 }, { "^\\P{L}$", "1", 1 }, { "^\\P{L}$", "\xCF\x80", 0 }, { "^[\\p{L}\\p{N}_]+$", "x\xD9\xA3_", 1 },
        { "^[^\\p{L}]$", "\xCF\x80", 0 }, { "^[^\\p{L}]$", "\xD9\xA3", 1 }, { "^\\p{digit}+$", "42\xE0\xA7\xAA\xE0\xA7\xA8", 1 }, { "^\\p{Nd}$", "\xC2\xBD", 0 }, { "^\\p{N}$", "\xC2\xBD", 1 },
        { "^\\p{M}$", "\xCC\x81", 1 }, { "^\\p{Mark}$", "a", 0 }, { "^\\p{Decimal_Number}$", "7", 1 }, { "^\\p{L}$", "\xF4\x8F\xBF\xBF", 0 }, { "^\\P{N}$", "\xF4\x8F\xBF\xBF", 1 },
    };
    JUDGE(table);
}

TEST(escapes)
{
    static const verdict table[] = {
        { "^\\t\\n\\v\\f\\r$", "\t\n\v\f\r", 1 }, { "^\\cC\\cc$", "\3\3", 1 }, { "^\\cC$", "\\cC", 0 }, { "^\\x41\\u00e9$", "A\xC3\xA9", 1 }, { "^\\u{1F432}$", "\xF0\x9F\x90\xB2", 1 },
        { "^\\uD83D\\uDC32$", "\xF0\x9F\x90\xB2", 1 }, { "^\\u{000000041}$", "A", 1 }, { "^[\\uD83D\\uDC31-\\uD83D\\uDC33]$", "\xF0\x9F\x90\xB2", 1 }, { "\\uD83D", "\xF0\x9F\x90\xB2", 0 },
        { "^[^\\uD83D]$", "\xF0\x9F\x90\xB2", 1 }, { "^[\\uD83D\\u0041]+$", "A", 1 }, { "^\\^\\$\\\\\\.\\*\\+\\?\\(\\)\\[\\]\\{\\}\\|\\/$", "^$\\.*+?()[]{}|/", 1 },
        { "^\\-\\_\\@\\ \\#\\&\\,\\:\\\"\\'$", "-_@ #&,:\"'", 1 }, { "^[\\_\\@\\,]+$", "_@,", 1 }, { "^\\\xC3\xA9$", "\xC3\xA9", 1 },
        { "^{}$", "{}", 1 }, { "^a{$", "a{", 1 }, { "^a{b}$", "a{b}", 1 }, { "^{a,b}$", "{a,b}", 1 }, { "^a{1$", "a{1", 1 }, { "^a{1,$", "a{1,", 1 }, { "^a{1,b}$", "a{1,b}", 1 }, { "^a{,b}$", "a{,b}", 1 },
        { "^a{,}$", "a{,}", 1 }, { "^a]}$", "a]}", 1 }, { "^{{[a-z]+}}$", "{{name}}", 1 }, { "^a{+$", "a{{{", 1 },
        { "\\bfoo\\b", "a foo b", 1 }, { "\\bfoo\\b", "afoo b", 0 }, { "\\bfoo\\b", "foo", 1 }, { "\\Bo", "foo", 1 }, { "\\Bf", "foo", 0 }, { "^\\B$", "", 1 }, { "^\\b$", "", 0 }, { "\\b\xC3\xA9", "a\xC3\xA9", 1 },
        { "\\b\xC3\xA9", " \xC3\xA9", 0 },
    };
    JUDGE(table);
}

/* What schemas of real servers say, more or less. */
TEST(everyday)
{
    static const char uuid[] = "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|0{8}(?:-0{4}){3}-0{12})$";
    static const char host[] = "^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,63}$";
    static const char semver[] = "^(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(?:-((?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*)(?:\\.(?:0|[1-9]\\d*|\\d*[a-zA-Z-][0-9a-zA-Z-]*))*))?$";
    static const char date[] = "^\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])(?:T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d+)?)?(?:Z|[+-]\\d{2}:?\\d{2}))?$";
    const verdict table[] = {
        { uuid, "123e4567-e89b-42d3-a456-426614174000", 1 }, { uuid, "00000000-0000-0000-0000-000000000000", 1 }, { uuid, "123e4567-e89b-92d3-a456-426614174000", 0 },
        { uuid, "123e4567-e89b-42d3-a456-4266141740000", 0 }, { host, "www.example-1.org", 1 }, { host, "-a.org", 0 }, { host, "a-.org", 0 },
        { host, "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff123.org", 1 }, { host, "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff1234.org", 0 },
        { semver, "1.0.0-alpha.1", 1 }, { semver, "1.0.0-01", 0 }, { semver, "1.0", 0 }, { date, "2026-07-28T12:30:00.5+02:00", 1 }, { date, "2026-07-28", 1 }, { date, "2026-13-28", 0 },
        { "^#(?:[0-9a-fA-F]{3}){1,2}$", "#a0c", 1 }, { "^#(?:[0-9a-fA-F]{3}){1,2}$", "#a0c4", 0 }, { "^https?:\\/\\/[^\\s]+$", "https://example.org/?q=1", 1 },
        { "^[^@\\s]+@[^@\\s]+\\.[^@\\s]{2,}$", "a.b@example.org", 1 }, { "^[^@\\s]+@[^@\\s]+\\.[^@\\s]{2,}$", "a@b", 0 }, { "^[a-z0-9]+(?:-[a-z0-9]+)*$", "a-b-c9", 1 },
        { "^[a-z0-9]+(?:-[a-z0-9]+)*$", "a--b", 0 }, { "\\S", "  x", 1 }, { "\\S", "  ", 0 }, { "^\\+[1-9]\\d{1,14}$", "+4915112345678", 1 }, { "^[\\w.\\-\\/]+$", "src/a-b.c", 1 },
        { "^x-", "x-foo", 1 }, { "^(?!x-)", "", -1 }, { "^[A-Za-z_][\\w$]{0,62}$", "_id", 1 }, { "^(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)(?:\\.(?!$)|$)){4}$", "", -1 },
        { "^(?:(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)$", "192.168.255.1", 1 },
        { "^(?:(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)$", "192.168.256.1", 0 },
    };
    JUDGE(table);
}

TEST(refused)
{
    static const struct { const char *pattern, *why; unsigned traits; } table[] = {
        { "*", "malformed: a quantifier with nothing to repeat", MCPI_PATTERN_MALFORMED }, { "a**", "malformed: a quantifier with nothing to repeat", MCPI_PATTERN_MALFORMED },
        { "a{2}{3}", "malformed: a quantifier with nothing to repeat", MCPI_PATTERN_MALFORMED }, { "a{2}+", "malformed: a quantifier with nothing to repeat", MCPI_PATTERN_MALFORMED },
        { "(+)", "malformed: a quantifier with nothing to repeat", MCPI_PATTERN_MALFORMED }, { "a|?", "malformed: a quantifier with nothing to repeat", MCPI_PATTERN_MALFORMED },
        { "^*", "malformed: a quantifier with nothing to repeat", MCPI_PATTERN_MALFORMED | MCPI_PATTERN_FROM_START }, { "\\b+", "malformed: a quantifier with nothing to repeat", MCPI_PATTERN_MALFORMED },
        { "{1}", "malformed: a quantifier with nothing to repeat", MCPI_PATTERN_MALFORMED }, { "a???", "malformed: a quantifier with nothing to repeat", MCPI_PATTERN_MALFORMED },
        { "a{3,2}", "malformed: a quantifier's bounds are out of order", MCPI_PATTERN_MALFORMED }, { "x{,5}", "malformed: {,n} is not ECMA-262", MCPI_PATTERN_MALFORMED },
        { "(", "malformed: a ( without its )", MCPI_PATTERN_MALFORMED }, { "(?:a", "malformed: a ( without its )", MCPI_PATTERN_MALFORMED }, { "a)", "malformed: a ) without its (", MCPI_PATTERN_MALFORMED },
        { "[a", "malformed: a [ without its ]", MCPI_PATTERN_MALFORMED }, { "^[a-z", "malformed: a [ without its ]", MCPI_PATTERN_MALFORMED | MCPI_PATTERN_FROM_START },
        { "[a\\]", "malformed: a [ without its ]", MCPI_PATTERN_MALFORMED }, { "[z-a]", "malformed: a range in a set goes backwards", MCPI_PATTERN_MALFORMED },
        { "[]x]", "malformed: a set that begins with ] is not ECMA-262", MCPI_PATTERN_MALFORMED }, { "[^]x]", "malformed: a set that begins with ] is not ECMA-262", MCPI_PATTERN_MALFORMED },
        { "\\", "malformed: it ends in a backslash", MCPI_PATTERN_MALFORMED }, { "a\\", "malformed: it ends in a backslash", MCPI_PATTERN_MALFORMED }, { "[\\", "malformed: it ends in a backslash", MCPI_PATTERN_MALFORMED },
        { "\\A", "malformed: an escape that ECMA-262 does not know", MCPI_PATTERN_MALFORMED }, { "a\\Z", "malformed: an escape that ECMA-262 does not know", MCPI_PATTERN_MALFORMED },
        { "\\c", "malformed: an escape that ECMA-262 does not know", MCPI_PATTERN_MALFORMED }, { "\\c1", "malformed: an escape that ECMA-262 does not know", MCPI_PATTERN_MALFORMED },
        { "[\\B]", "malformed: an escape that ECMA-262 does not know", MCPI_PATTERN_MALFORMED }, { "[\\1]", "malformed: an escape that ECMA-262 does not know", MCPI_PATTERN_MALFORMED },
        { "\\x4", "malformed: an escape lacks its digits", MCPI_PATTERN_MALFORMED }, { "\\xg0", "malformed: an escape lacks its digits", MCPI_PATTERN_MALFORMED }, { "\\u12", "malformed: an escape lacks its digits", MCPI_PATTERN_MALFORMED },
        { "\\u{}", "malformed: an escape lacks its digits", MCPI_PATTERN_MALFORMED }, { "\\u{110000}", "malformed: an escape lacks its digits", MCPI_PATTERN_MALFORMED },
        { "\\u{FFFFFFFFFFFFFFFFFF}", "malformed: an escape lacks its digits", MCPI_PATTERN_MALFORMED }, { "\\u{41", "malformed: an escape lacks its }", MCPI_PATTERN_MALFORMED },
        { "\\01", "malformed: an escape that ECMA-262 does not know", MCPI_PATTERN_MALFORMED }, { "\\p", "malformed: \\p without {...}", MCPI_PATTERN_MALFORMED }, { "\\pL", "malformed: \\p without {...}", MCPI_PATTERN_MALFORMED },
        { "\\p{L", "malformed: \\p without {...}", MCPI_PATTERN_MALFORMED }, { "(?<>a)", "malformed: a group's name", MCPI_PATTERN_MALFORMED | MCPI_PATTERN_NAMED_GROUP },
        { "(?<1a>a)", "malformed: a group's name", MCPI_PATTERN_MALFORMED | MCPI_PATTERN_NAMED_GROUP }, { "(?<a", "malformed: a group's name", MCPI_PATTERN_MALFORMED | MCPI_PATTERN_NAMED_GROUP },
        { "(?P<a>b)", "malformed: a group that ECMA-262 does not know", MCPI_PATTERN_MALFORMED }, { "(?>a)", "malformed: a group that ECMA-262 does not know", MCPI_PATTERN_MALFORMED },
        { "(?i)a", "malformed: a group that ECMA-262 does not know", MCPI_PATTERN_MALFORMED }, { "(?", "malformed: a group that ECMA-262 does not know", MCPI_PATTERN_MALFORMED },
        { "a(?=b)c", "a look-ahead or look-behind", MCPI_PATTERN_LOOK_AROUND }, { "(?!b)", "a look-ahead or look-behind", MCPI_PATTERN_LOOK_AROUND },
        { "(?<=b)", "a look-ahead or look-behind", MCPI_PATTERN_LOOK_AROUND }, { "^(?<!b)a$", "a look-ahead or look-behind", MCPI_PATTERN_LOOK_AROUND | MCPI_PATTERN_FROM_START | MCPI_PATTERN_TO_END },
        { "(?=b", "malformed: a ( without its )", MCPI_PATTERN_LOOK_AROUND | MCPI_PATTERN_MALFORMED }, { "(a)\\1", "a back-reference", MCPI_PATTERN_BACK_REFERENCE },
        { "(?<n>a)\\k<n>", "a back-reference", MCPI_PATTERN_BACK_REFERENCE | MCPI_PATTERN_NAMED_GROUP }, { "\\p{Lu}", "a property of Unicode that is not known here", MCPI_PATTERN_UNICODE_CLASS },
        { "[\\p{Script=Greek}(?=]", "a property of Unicode that is not known here", MCPI_PATTERN_UNICODE_CLASS }, { "\\p{}", "a property of Unicode that is not known here", MCPI_PATTERN_UNICODE_CLASS },
        { "(?:ab){5000}", "too large for the matcher", MCPI_PATTERN_TOO_LARGE | MCPI_PATTERN_BIG_COUNT }, { "(?:(?:ab){200}){200}", "too large for the matcher", MCPI_PATTERN_TOO_LARGE },
        { "(?:ab){0,99999999999999999999999}c{2000000000}", "too large for the matcher", MCPI_PATTERN_BIG_COUNT },
    };
    size_t i;
    for (i = 0; i < sizeof table / sizeof *table; i++) {
        EQ_STR(why(table[i].pattern), table[i].why);
        EQ_INT(mcpi_pattern_traits(table[i].pattern, strlen(table[i].pattern)), table[i].traits);
    }
}

TEST(traits)
{
    static const struct { const char *pattern; unsigned traits; } table[] = {
        { "", 0 }, { "abc", 0 }, { "^abc$", MCPI_PATTERN_FROM_START | MCPI_PATTERN_TO_END }, { "^a|b$", 0 }, { "^(?:a|b)$", MCPI_PATTERN_FROM_START | MCPI_PATTERN_TO_END }, { "^a\\$", MCPI_PATTERN_FROM_START },
        { "\\^a[$]", 0 }, { "(^a$)", 0 }, { "^", MCPI_PATTERN_FROM_START }, { "$", MCPI_PATTERN_TO_END }, { "^a{1000}", MCPI_PATTERN_FROM_START }, { "a{1001}", MCPI_PATTERN_BIG_COUNT },
        { "a{0,1001}", MCPI_PATTERN_BIG_COUNT }, { "a{1000,}", 0 }, { "\\p{L}$", MCPI_PATTERN_UNICODE_CLASS | MCPI_PATTERN_TO_END }, { "(?<a>b)", MCPI_PATTERN_NAMED_GROUP },
    };
    size_t i;
    for (i = 0; i < sizeof table / sizeof *table; i++) EQ_INT(mcpi_pattern_traits(table[i].pattern, strlen(table[i].pattern)), table[i].traits);
}

/* `n` times what is given, in memory that lives until the next call. */
static const char *times(const char *s, size_t n)
{
    static char *all;
    size_t len = strlen(s), i;
    free(all);
    all = (char *)malloc(n * len + 1);
    if (!all) exit(1);
    for (i = 0; i < n; i++) memcpy(all + i * len, s, len);
    all[n * len] = 0;
    return all;
}

/* What a search costs: it must find what is said, in at most `each` steps for each character, and say so when it may not take them. */
static void costs(const char *pattern, const char *text, int found, uint64_t each)
{
    const char *reason = "";
    size_t n = strlen(text);
    uint64_t left = UINT64_MAX, taken, last;
    const mcpi_pattern *p;
    mcp_arena_reset(&arena);
    p = mcpi_pattern_compile(&arena, pattern, strlen(pattern), &reason);
    if (!p) printf("/%.60s/: %s\n", pattern, reason);
    CHECK(p != NULL);
    if (!p) return;
    EQ_INT(mcpi_pattern_find(p, text, n, &arena, &left), found);
    taken = UINT64_MAX - left;
    if (taken > each * (n + 1)) printf("/%.60s/: %.1f steps for each of %lu characters\n", pattern, (double)taken / (double)(n + 1), (unsigned long)n);
    CHECK(taken <= each * (n + 1));
    CHECK(taken <= (uint64_t)p->size * (n + 1));
    last = taken;
    EQ_INT(mcpi_pattern_find(p, text, n, &arena, &last), found);
    EQ_INT(last, 0);
    left = taken - 1;
    EQ_INT(mcpi_pattern_find(p, text, n, &arena, &left), MCP_ERR_LIMIT);
    EQ_INT(left, 0);
}

/* Patterns and texts that keep a matcher which goes back busy for years. */
TEST(hostile)
{
    costs("(a*)*b", times("a", 100000), 0, 6);
    costs("^(a+)+$", times("a", 100000), 1, 6);
    costs("^(?:a|a)*$", times("a", 100000), 1, 7);
    costs("^(?:a|aa)+$", times("a", 100000), 1, 7);
    costs("(?:x+x+)+y", times("x", 100000), 0, 9);
    costs("(?:.*)*(?:.*)*(?:.*)*z", times("ab", 50000), 0, 14);
    costs("^(?:[^,]*,){0,100}[^,]*x", times("a,", 50000), 0, 500);
    costs("(?:a?){30}a{30}", times("a", 29), 0, 100);
    costs("(?:a?){30}a{30}", times("a", 30), 1, 100);
    costs("(?:(?:(?:(?:a?)*)*)*)*b", times("a", 10000), 0, 14);
    costs("^.{1,100000}$", times("a", 100000), 1, 6);
    costs("^.{1,100000}$", times("a", 100001), 0, 6);
    costs("^(?:[ab]{20,2000}b?)*$", times("ab", 50000), 1, 12);
    costs("[ab]{3000}c", times("ab", 50000), 0, 5);
    costs("(?:.a|b){500}z", times("ab", 2000), 0, 2000);
}

static void around(char *out, size_t size, int way, const char *piece)
{
    static const char *const before[] = { "^", "b", "(?:a|ab)[a]{2}", "^(?:" }, *const behind[] = { "$", "b", "[a]{1,3}b", "b?)+$" };
    snprintf(out, size, "%s%s%s", before[way], piece, behind[way]);
}

/* Counts that begin at many places at once, against the pattern written out. */
TEST(counters)
{
    static const char *const texts[] = { "xaaaaaaaax", "aabaaabaaaabaaaaab", "abababababab", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "baab", "aaaabaaaaaabaaa", "" };
    int least, most, way, i, bad = 0;
    for (least = 0; least < 7; least++)
        for (most = least; most < 9; most++)
            for (way = 0; way < 4; way++) {
                char counted[64], written[256] = "", a[256], b[1024];
                if (most == 8) snprintf(counted, sizeof counted, "[a]{%d,}", least);
                else snprintf(counted, sizeof counted, "[a]{%d,%d}", least, most);
                for (i = 0; i < least; i++) strcat(written, "a");
                for (i = least; i < most; i++) strcat(written, most == 8 ? i == least ? "a*" : "" : "(?:a|)");
                around(a, sizeof a, way, counted);
                around(b, sizeof b, way, written);
                for (i = 0; i < (int)(sizeof texts / sizeof *texts); i++)
                    if (finds(a, texts[i]) != finds(b, texts[i])) {
                        if (!bad++) printf("/%s/ and /%s/ differ on \"%s\"\n", a, b, texts[i]);
                    }
            }
    EQ_INT(bad, 0);
    /* as many spans as there can be: a count begins at every second place */
    EQ_INT(finds("(?:xy)*.{400}z", times("xy", 600)), 0);
    for (i = 1; i < 40; i++) {
        char pattern[64], text[128] = "";
        int k;
        snprintf(pattern, sizeof pattern, "^(?:..)*[ab]{%d}c", i);
        for (k = 0; k < 30; k++) strcat(text, k % 7 == 3 ? "ba" : "ab");
        strcat(text, "c");
        EQ_INT(finds(pattern, text), i % 2 == 0);
    }
}

TEST(limits)
{
    char deep[200], wide[70000];
    const char *reason = NULL;
    const mcpi_pattern *p;
    size_t i;
    for (i = 0; i < 65; i++) deep[i] = '(';
    for (i = 65; i < 130; i++) deep[i] = ')';
    EQ_INT(finds_n(deep + 1, 128, "", 0), 1);
    EQ_INT(finds_n(deep, 130, "", 0), -1);
    deep[130] = 0;
    EQ_STR(why(deep), "groups nest too deep");
    /* a program of exactly so many words, and one more */
    memset(wide, 'a', sizeof wide);
    EQ_INT(finds_n(wide, MCPI_PATTERN_MAX - 1, "b", 1), 0);
    EQ_INT(finds_n(wide, MCPI_PATTERN_MAX, "b", 1), -1);
    EQ_INT(finds_n(wide, MCPI_PATTERN_MAX - 1, wide, MCPI_PATTERN_MAX - 1), 1);
    EQ_INT(finds("^(?:ab){4094}$", times("ab", 4094)), 1);
    EQ_INT(finds("^(?:ab){4094}$", times("ab", 4093)), 0);
    EQ_INT(finds("^(?:ab){4095}$", ""), -1);
    EQ_INT(finds("^[ab]{8000}$", times("ab", 4000)), 1);
    EQ_INT(finds("^[ab]{8000}$", times("ab", 3999)), 0);
    EQ_INT(finds("[ab]{9000}", ""), -1);
    EQ_INT(finds("[ab]{5000}[ab]{5000}", ""), -1);
    EQ_INT(finds("a{1,1000000}b{1000000,}c{0,1000000}", times("a", 9)), 0);
    /* sets are no part of the program: only the length of the pattern limits them */
    wide[0] = '[';
    for (i = 1; i + 2 < sizeof wide; i += 2) { wide[i] = (char)0xC4; wide[i + 1] = (char)(0x80 | (i / 2 & 63)); }
    wide[i] = ']';
    EQ_INT(finds_n(wide, i + 1, "x\xC4\xBF", 3), 1);
    EQ_INT(finds_n(wide, i + 1, "x\xC5\xBF", 3), 0);
    p = mcpi_pattern_compile(&arena, times("a", ((size_t)1 << 20) + 1), ((size_t)1 << 20) + 1, &reason);
    CHECK(p == NULL);
    EQ_STR(reason, "too long");
}

/* Memory that is missing is told; what a search takes of its arena it gives back. */
TEST(memory)
{
    static const char large[] = "^(?:a[bc]){1000}[^x]{7,700}$";
    char room[100000];
    const char *reason = NULL, *text = times("ab", 1010);
    mcp_arena fixed;
    size_t size, left, lacking = 0;
    const mcpi_pattern *p;
    for (size = 0; size < 20000; size += 100) {
        mcp_arena_fixed(&fixed, room, size);
        p = mcpi_pattern_compile(&fixed, large, strlen(large), &reason);
        if (p) break;
        EQ_STR(reason, "out of memory");
    }
    CHECK(p != NULL && reason == NULL);
    for (; p; size += 1000) {
        int found;
        mcp_arena_fixed(&fixed, room, size);
        p = mcpi_pattern_compile(&fixed, large, strlen(large), &reason);
        if (!p) continue;
        left = fixed.left;
        found = mcpi_pattern_find(p, text, 2020, &fixed, unbounded());
        EQ_INT(fixed.left, left);
        if (found == MCP_ERR_MEMORY) { lacking++; CHECK(size < 50000); continue; }
        EQ_INT(found, 1);
        EQ_INT(mcpi_pattern_find(p, text, 2003, &fixed, unbounded()), 0);
        break;
    }
    CHECK(lacking > 3);
    /* a small one takes nothing */
    mcp_arena_fixed(&fixed, room, 400);
    p = mcpi_pattern_compile(&fixed, "^[a-z]+-\\d{4}$", 14, &reason);
    CHECK(p != NULL);
    left = fixed.left;
    fixed.left = 0;
    if (p) EQ_INT(mcpi_pattern_find(p, "abc-2026", 8, &fixed, unbounded()), 1);
}

static int fits(const char *schema, size_t schema_len, const char *text, size_t len)
{
    const mcp_schema *s;
    mcp_writer w;
    int rc = 1;
    mcp_arena_reset(&arena);
    mcp_writer_init(&w, NULL, 0);
    mcp_put_strn(&w, NULL, text, len);
    s = mcp_schema_compile(&arena, mcp_json_parse(&arena, schema, schema_len, NULL), NULL);
    if (s) rc = mcp_schema_check(s, mcp_json_parse(&arena, mcp_writer_text(&w, NULL), MCP_NTS, NULL), &arena, NULL, 0);
    mcp_writer_free(&w);
    return rc;
}

/* A check pays for what its patterns cost, and a schema for how large they are. */
TEST(paid)
{
    static const char slow[] = MCP_JSON({"pattern": "(?:.?){2000}z"}), quick[] = MCP_JSON({"pattern": "^[a-z]*$"});
    const char *text = times("ab", 500000);
    char *many;
    size_t n = 0, i;
    EQ_INT(fits(slow, strlen(slow), text, 1000), MCP_ERR_INVALID);
    EQ_INT(fits(slow, strlen(slow), text, 1000000), MCP_ERR_LIMIT);
    EQ_INT(fits(quick, strlen(quick), text, 1000000), MCP_OK);
    many = (char *)malloc(5000 * 64);
    if (!many) return;
    for (i = 0; i < 5000; i++) n += (size_t)snprintf(many + n, 64, "%s{\"pattern\": \"(?:abcd){2000}\"}", i ? ", " : "{\"anyOf\": [");
    n += (size_t)snprintf(many + n, 64, "]}");
    EQ_INT(fits(many, n, "", 0), 1);
    CHECK(arena.total < 100000000);
    free(many);
}

/* A pattern for which there is no memory is no pattern that is not enforced. */
TEST(memory_of_a_schema)
{
    static const char large[] = MCP_JSON({"pattern": "^(?:a[bc]){1000}$"});
    char room[40000];
    mcp_arena fixed;
    const char *reason;
    const mcp_schema *s = NULL;
    size_t size;
    for (size = 1000; !s && size < sizeof room; size += 200) {
        mcp_arena_reset(&arena);
        mcp_arena_fixed(&fixed, room, size);
        s = mcp_schema_compile(&fixed, mcp_json_parse(&arena, large, MCP_NTS, NULL), &reason);
        if (s) EQ_STR(mcp_schema_notes(s), "");
    }
    CHECK(s != NULL);
}

/* Bytes that are no UTF-8 are U+FFFD each, and nothing is read behind the end. */
TEST(broken_text)
{
    static const char *const broken[] = { "\x80", "\xC3", "\xE4\xB8", "\xF0\x9F\x90", "\xFF", "\xED\xA0\x80", "\xC0\x80" };
    size_t i, n;
    for (i = 0; i < sizeof broken / sizeof *broken; i++) {
        n = strlen(broken[i]);
        EQ_INT(finds_n("\\ufffd", 6, broken[i], n), 1);
        EQ_INT(finds_n("[a-z]", 5, broken[i], n), 0);
        EQ_INT(finds_n(broken[i], n, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 9), 1);
        (void)finds_n("[", 1, "", 0);
    }
    for (n = 0; n < 6; n++) (void)finds_n("(?<\\u{", n, "", 0);
}

int main(void)
{
    mcp_arena_init(&arena, NULL, 0);
    RUN(plain);
    RUN(quantifiers);
    RUN(classes);
    RUN(escapes);
    RUN(everyday);
    RUN(refused);
    RUN(traits);
    RUN(hostile);
    RUN(counters);
    RUN(limits);
    RUN(memory);
    RUN(paid);
    RUN(memory_of_a_schema);
    RUN(broken_text);
    mcp_arena_free(&arena);
    return test_end();
}
