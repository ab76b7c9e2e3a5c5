/* The JSON reader: grammar, strings, limits, getters, pointers, copies, base64, and what happens when memory runs out. */
#define MCP_IMPLEMENTATION      /* looks inside */
#define MCP_NO_SERVER
#define MCP_NO_CLIENT
#define MCP_NO_VALIDATE
#define MCP_NO_SANITIZE
#include "mcp.h"
#include "test.h"

static const char rich[] =
    " {\"a\" : [1, -2.5e+10 ,0, -0, true,false,null,\"\",\"plain text that is longer than sixteen bytes\"],\r\n\t"
    "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\" : {\"\":{},\"x\":[[],[[{}]]]},"
    "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\":\"caf\xC3\xA9 \xD0\x9F\xD1\x80\xD0\xB8\xD0\xB2\xD0\xB5\xD1\x82 \xE6\x97\xA5\xE6\x9C\xAC\\n and more text behind it\","
    "\"lone\":\"a\\ud800b\\udc00\",\"nul\":\"a\\u0000b\",\"num\":123456789012345678901234567890e-5} ";

/* Text in a block of exactly its size, so that AddressSanitizer sees a step beyond it. */
static char *exact(const char *text, size_t n)
{
    char *p = (char *)malloc(n ? n : 1);
    if (!p) exit(2);
    if (n) memcpy(p, text, n);
    return p;
}

static mcp_arena arena;

static const mcp_json *parse(const char *text)
{
    mcp_arena_reset(&arena);
    return mcp_json_parse(&arena, text, MCP_NTS, NULL);
}

static const char *written(const mcp_json *v)
{
    static mcp_writer w;
    static char buf[4096];
    mcp_writer_fixed(&w, buf, sizeof buf);
    mcp_put_json(&w, NULL, v);
    return mcp_writer_text(&w, NULL);
}

static void check_refused(const char *text, size_t len, size_t want_pos)
{
    size_t pos = 12345;
    char *block = exact(text, len);
    const mcp_json *v;
    mcp_arena_reset(&arena);
    v = mcp_json_parse_inplace(&arena, block, len, &pos);
    if (v || pos != want_pos) printf("\"%s\": %s, stopped at %lu, wanted %lu\n", text, v ? "accepted" : "refused", (unsigned long)pos, (unsigned long)want_pos);
    CHECK(!v && pos == want_pos);
    free(block);
}

TEST(grammar)
{
    static const struct { const char *text; size_t pos; } bad[] = {
        { "", 0 }, { " ", 1 }, { "{", 1 }, { "[", 1 }, { "\"", 1 }, { "tru", 3 }, { "trux", 3 }, { "nul", 3 }, { "-", 1 }, { "1e", 2 }, { "1e+", 3 },
        { "01", 1 }, { "-01", 2 }, { "+1", 0 }, { ".5", 0 }, { "1.", 2 }, { "1.e3", 2 }, { "0x1", 1 }, { "NaN", 0 }, { "Infinity", 0 }, { "-Infinity", 1 }, { "nan", 1 },
        { "[1,]", 3 }, { "[,1]", 1 }, { "[1 2]", 3 }, { "[1", 2 }, { "[1,", 3 }, { "{\"a\" 1}", 5 }, { "{\"a\":}", 5 }, { "{\"a\"}", 4 }, { "{a:1}", 1 },
        { "{1:1}", 1 }, { "{\"a\":1,}", 7 }, { "{,}", 1 }, { "{\"a\":1 \"b\":2}", 7 }, { "{\"a\":1", 6 }, { "{\"a\":", 5 }, { "{\"a\"", 4 }, { "[}", 1 }, { "{]", 1 },
        { "[1}", 2 }, { "{\"a\":1]", 6 }, { "]", 0 }, { "}", 0 }, { ",", 0 }, { ":", 0 }, { "1 2", 2 }, { "{}{}", 2 }, { "{} x", 3 }, { "{},", 2 }, { "[]]", 2 },
        { "'x'", 0 }, { "// c\n1", 0 }, { "1 // c", 2 }, { "/**/1", 0 }, { "\"a\tb\"", 2 }, { "\"a\nb\"", 2 }, { "\"\x01\"", 1 }, { "\"\x1f\"", 1 }, { "\"\\", 2 },
        { "\"\\x\"", 2 }, { "\"\\u12\"", 2 }, { "\"\\uZZZZ\"", 2 }, { "\"\\u\"", 2 }, { "\"\\u00e\"", 2 }, { "\"\\U0041\"", 2 }, { "\"\\.\"", 2 }, { "\"abc\\\"", 6 },
        { "\xC2\xA0" "1", 0 }, { "\x0C" "1", 0 }, { "\x0B" "1", 0 }, { "1\xC2\xA0", 1 }, { "\xEF\xBB\xBF{}", 0 }, { "True", 0 }, { "[1,2", 4 }, { "1\x01", 1 },
        { "-a", 1 }, { "1e5.", 3 }, { "1.5.5", 3 }, { "--1", 1 }, { "truefalse", 4 }, { "[falsx]", 5 }, { "[falsex]", 6 }, { "[trux ]", 4 }, { "[nulx ]", 4 }, { "[talse]", 2 }, { "[fals]", 5 }, { "\"a\" \"b\"", 4 }, { "[\"a\":1]", 4 }, { "\"\\u005\xC3\xA9\"", 2 },
    };
    static const char nuls[] = "1\0", inside[] = "\"a\0b\"", before[] = "\0" "1", between[] = "[1\0,2]";
    size_t i, pos;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) check_refused(bad[i].text, strlen(bad[i].text), bad[i].pos);
    check_refused(nuls, 2, 1);
    check_refused(inside, 5, 2);
    check_refused(before, 2, 0);
    check_refused(between, 6, 2);
    EQ_STR(written(parse("\t{ \"a\" :\r1 , \"b\"\n:\n[ ] }\n ")), "{\"a\":1,\"b\":[]}");
    EQ_STR(written(parse("[1.50,1E400,-0,0.0,1e-400,123456789012345678901234567890]")), "[1.50,1E400,-0,0.0,1e-400,123456789012345678901234567890]");
    EQ_STR(written(parse("\"x\"")), "\"x\"");
    EQ_STR(written(parse(" 7 ")), "7");
    EQ_STR(written(parse("true")), "true");
    EQ_STR(written(parse("null")), "null");
    EQ_STR(written(parse("                                  [                 1                  ]                    ")), "[1]");

    /* arguments that make no sense */
    pos = 7;
    CHECK(mcp_json_parse(&arena, NULL, 0, &pos) == NULL && pos == 0);
    CHECK(mcp_json_parse(&arena, NULL, MCP_NTS, &pos) == NULL);
    CHECK(mcp_json_parse_inplace(&arena, NULL, MCP_NTS, &pos) == NULL);
    CHECK(mcp_json_parse(NULL, "1", 1, NULL) == NULL);
    CHECK(mcp_json_parse(NULL, "1", 1, &pos) == NULL && pos == MCP_NTS);
    if (sizeof(size_t) > 4) CHECK(mcp_json_parse(&arena, "1", (size_t)0xFFFFFFFF + 1, &pos) == NULL && pos != MCP_NTS);
    CHECK(mcp_json_parse(&arena, "12", 1, NULL) != NULL);               /* a slice */
}

/* Every prefix, in a block of its size and with the rest behind it: only the whole text is accepted, and the rest is
   nobody's business. */
TEST(prefixes)
{
    static const char *const texts[] = {
        rich, "[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\\n\\n\\\\aaaaaaaaaaaaaaaaaaaaaaaaaaa\\taaaaaaaaaaaaaaaaaaaaaa\"]",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"hi\"}}}",
        "[\"\xF0\x9F\x98\x80\xE2\x82\xAC\xC3\xA9\",\"\\ud83d\\ude00\\ud83d\\u0041\\ud83d\"]", "[-1.25e-10,true,false,null,{\"a\":{\"b\":[{}]}}]",
    };
    size_t t, n;
    for (t = 0; t < sizeof texts / sizeof *texts; t++) {
        size_t len = strlen(texts[t]), whole = len;
        int wrong = 0;
        while (texts[t][whole - 1] == ' ') whole--;
        for (n = 0; n <= len; n++) {
            unsigned i;
            for (i = 0; i < 4; i++) {
                size_t size = i & 2 ? len : n, pos = MCP_NTS;
                char *block = exact(texts[t], size);
                const mcp_json *v;
                mcp_arena_reset(&arena);
                v = mcpi_parse(&arena, block, block, n, i & 1 ? MCPI_REPLACE_UTF8 : 0, &pos);
                wrong += (v != NULL) != (n >= whole);
                if (!v) wrong += pos > n;
                wrong += memcmp(block + n, texts[t] + n, size - n) != 0;
                free(block);
            }
        }
        EQ_INT(wrong, 0);
    }
}

/* The text ends where it is said to end, whatever stands behind it. */
TEST(slices)
{
    static const struct { const char *text; size_t n; const char *want; } t[] = {
        { "12", 1, "1" }, { "1.5", 1, "1" }, { "1.55", 3, "1.5" }, { "1e55", 3, "1e5" }, { "01", 1, "0" }, { "-12", 2, "-1" }, { "1]", 1, "1" },
        { "truee", 4, "true" }, { "falsee", 5, "false" }, { "nulll", 4, "null" }, { "\"a\"b\"", 3, "\"a\"" }, { "1  1", 3, "1" },
        { "[1]]", 3, "[1]" }, { "{\"a\":{}}}", 8, "{\"a\":{}}" }, { "[] []", 3, "[]" },
    };
    static const struct { const char *text; size_t n, pos; } bad[] = {
        { "[[1]]", 4, 4 }, { "{\"a\":{}}", 7, 7 }, { "true", 3, 3 }, { "false", 4, 4 }, { "null", 2, 2 }, { "1.5", 2, 2 }, { "1e5", 2, 2 }, { "-1", 1, 1 },
        { "\"a\"", 2, 2 }, { "[1]", 2, 2 }, { "[1,1]", 3, 3 }, { "[1,1]", 4, 4 }, { "{\"a\":1}", 4, 4 }, { "{\"a\":1}", 5, 5 }, { "{\"a\":1}", 1, 1 }, { "{}", 1, 1 },
        { "\"\\u00411\"", 6, 2 }, { "\"\\n\"", 2, 2 }, { "\"]\"", 2, 2 }, { "[\"]\"]", 3, 3 }, { "1", 0, 0 },
    };
    size_t i;
    for (i = 0; i < sizeof t / sizeof *t; i++) {
        char *block = exact(t[i].text, strlen(t[i].text));
        mcp_arena_reset(&arena);
        EQ_STR(written(mcp_json_parse_inplace(&arena, block, t[i].n, NULL)), t[i].want);
        mcp_arena_reset(&arena);
        EQ_STR(written(mcp_json_parse(&arena, t[i].text, t[i].n, NULL)), t[i].want);
        free(block);
    }
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *block = exact(bad[i].text, strlen(bad[i].text));
        size_t pos = 12345;
        mcp_arena_reset(&arena);
        CHECK(!mcp_json_parse_inplace(&arena, block, bad[i].n, &pos));
        EQ_INT(pos, bad[i].pos);
        CHECK(!mcp_json_parse(&arena, bad[i].text, bad[i].n, &pos));
        EQ_INT(pos, bad[i].pos);
        free(block);
    }
    {
        char brackets[] = "[]1";                            /* an empty one, behind a bracket */
        size_t pos = 12345;
        CHECK(!mcp_json_parse_inplace(&arena, brackets + 2, 0, &pos));
        EQ_INT(pos, 0);
    }
}

static unsigned seed = 4711;
static unsigned next_random(void)
{
    seed = seed * 1664525u + 1013904223u;
    return seed >> 8;
}

/* Mutations: no crash, raw writer and reader agree on what is JSON, and what is accepted is the same after another round. */
TEST(mutations)
{
    static const char spice[] = "{}[]\",:\\/0123456789.eE+-tfnu \x00\x01\x7f\x80\xbf\xc2\xe0\xed\xf0\xf4\xff";
    mcp_writer w, w2, raw;
    mcp_arena second;
    int i, accepted = 0, wrong = 0;
    mcp_writer_init(&w, NULL, 0);
    mcp_writer_init(&w2, NULL, 0);
    mcp_writer_init(&raw, NULL, 0);
    mcp_arena_init(&second, NULL, 0);
    for (i = 0; i < 60000; i++) {
        size_t len = sizeof rich - 1, n, m, k, changes = next_random() % 3 + 1;
        char *text = exact(rich, len), *block;
        const char *a, *b, *c;
        const mcp_json *v;
        for (k = 0; k < changes; k++) {
            size_t at = next_random() % len;
            switch (next_random() % 3) {
            case 0: text[at] = spice[next_random() % (sizeof spice - 1)]; break;
            case 1: memmove(text + at, text + at + 1, len - at - 1); len--; break;
            default: text[at] = text[next_random() % len]; break;
            }
        }
        block = exact(text, len);
        mcp_arena_reset(&arena);
        v = mcp_json_parse_inplace(&arena, block, len, NULL);
        mcp_writer_reset(&raw);
        mcp_put_raw(&raw, NULL, text, len);
        c = mcp_writer_text(&raw, &m);
        wrong += (c != NULL) != (v != NULL);
        if (v) {
            mcp_writer_reset(&w);
            mcp_writer_reset(&w2);
            mcp_put_json(&w, NULL, v);
            a = mcp_writer_text(&w, &n);
            mcp_arena_reset(&second);
            v = a ? mcp_json_parse(&second, a, n, NULL) : NULL;
            mcp_put_json(&w2, NULL, v);
            b = mcp_writer_text(&w2, &k);
            wrong += !v || !b || k != n || memcmp(a, b, n) != 0;
            mcp_arena_reset(&second);                       /* what the raw writer made means the same */
            v = mcp_json_parse(&second, c, c ? m : 0, NULL);
            mcp_writer_reset(&w2);
            mcp_put_json(&w2, NULL, v);
            b = mcp_writer_text(&w2, &k);
            wrong += !v || !b || k != n || memcmp(a, b, n) != 0;
            accepted++;
        } else {                                            /* with replacing, it may pass, and is valid UTF-8 then */
            memcpy(block, text, len);
            mcp_arena_reset(&arena);
            v = mcpi_parse(&arena, block, block, len, MCPI_REPLACE_UTF8, NULL);
            if (v) {
                mcp_writer_reset(&w);
                mcp_put_json(&w, NULL, v);
                a = mcp_writer_text(&w, &n);
                mcp_arena_reset(&second);
                wrong += !a || !mcp_json_parse(&second, a, n, NULL);
            }
        }
        free(block);
        free(text);
    }
    CHECK(accepted > 5000 && accepted < 55000);
    EQ_INT(wrong, 0);
    mcp_arena_free(&second);
    mcp_writer_free(&w);
    mcp_writer_free(&w2);
    mcp_writer_free(&raw);
}

static void check_string(const char *json, const char *want, size_t n)
{
    size_t len, shift;
    for (shift = 0; shift < 40; shift++) {                  /* wherever it stands to a step of 8 or 16 */
        char text[512], padded[512];
        const mcp_json *v;
        const char *s;
        memset(text, 'x', sizeof text);
        text[0] = '"';
        strcpy(text + 1 + shift, json);
        strcat(text, shift % 2 ? "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\"" : "\"");
        memset(padded, 'x', sizeof padded);
        memcpy(padded + shift, want, n);
        len = n + shift;
        if (shift % 2) { memset(padded + len, 'y', 36); len += 36; }
        v = parse(text);
        s = mcp_json_text(v, &n);
        if (!s || n != len || memcmp(s, padded, len) != 0 || s[len] != 0) { printf("%s at %d\n", text, (int)shift); CHECK(0); return; }
        n = len - shift - (shift % 2 ? 36 : 0);
    }
    CHECK(1);
}
#define STRING(json, want) check_string(json, want, sizeof(want) - 1)
#define FFFD "\xEF\xBF\xBD"

TEST(strings)
{
    const mcp_json *v, *w;
    size_t n;
    STRING("", "");
    STRING("abc", "abc");
    STRING("\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t");
    STRING("\\u0041\\u00e9\\u20aC\\uD83D\\uDE00", "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    STRING("\\uFFFF\\u0800\\u07ff\\u0080\\u007f\\udbff\\udfff", "\xEF\xBF\xBF\xE0\xA0\x80\xDF\xBF\xC2\x80\x7F\xF4\x8F\xBF\xBF");
    STRING("\\u0000", "\0");
    STRING("a\\u0000b", "a\0b");
    STRING("\\n1234567\\n12345678\\n123456789012345\\n1234567890123456\\n12345678901234567\\n", "\n1234567\n12345678\n123456789012345\n1234567890123456\n12345678901234567\n");
    STRING("a\\nb\\nc\\nd\\\\e\xC3\xA9\\f\xE2\x82\xAC\xF0\x9F\x98\x80", "a\nb\nc\nd\\e\xC3\xA9\f\xE2\x82\xAC\xF0\x9F\x98\x80");
    STRING("\x7F/\xE2\x80\xA8", "\x7F/\xE2\x80\xA8");
    /* lone surrogates of all kinds */
    STRING("\\ud800", FFFD);
    STRING("\\udc00", FFFD);
    STRING("\\udfffx", FFFD "x");
    STRING("\\ud800\\ud800", FFFD FFFD);
    STRING("\\udc00\\ud800", FFFD FFFD);
    STRING("\\ud83d\\u0041", FFFD "A");
    STRING("\\ud83dA", FFFD "A");
    STRING("\\ud83d\\n", FFFD "\n");
    STRING("\\ud83d\\ud83d\\ude00", FFFD "\xF0\x9F\x98\x80");
    STRING("\\ud83d\\ude00\\ude00", "\xF0\x9F\x98\x80" FFFD);
    STRING("\\udbff\xF0\x9F\x92\x80", FFFD "\xF0\x9F\x92\x80");
    STRING("\\ud800 \xED\x9F\xBF \xEE\x80\x80 \xEF\xBF\xBD", FFFD " \xED\x9F\xBF \xEE\x80\x80 " FFFD);
    check_refused("[\"\\ud800\\u00\"]", 13, 9);
    check_refused("[\"\\ud800\\uzzzz\"]", 15, 9);

    v = parse("{\"a\\u0000b\":1,\"a\":2,\"k\\ud800\":3}");
    EQ_INT(mcp_json_int(mcp_json_get(v, "a"), 0), 2);
    EQ_INT(mcp_json_int(mcp_json_getn(v, "a\0b", 3), 0), 1);
    EQ_INT(mcp_json_int(mcp_json_get(v, "k" FFFD), 0), 3);
    w = mcp_json_first(v);
    EQ_MEM(mcp_json_keyn(w, &n), n, "a\0b");
    EQ_STR(mcp_json_key(w), "a");
    EQ_STR(written(v), "{\"a\\u0000b\":1,\"a\":2,\"k" FFFD "\":3}");
}

/* Nodes, and strings that need bytes of the arena, as key and as value, wherever the tape ends at that time: in an arena
   that grows, and in one that does not. */
TEST(where_the_tape_ends)
{
    static const struct { const char *tail, *want; } t[] = {
        { "{\"a\":\"\\ud800 is longer than two nodes\",\"\\udc00\":\"\\ud800\",\"\\ud800\":[0]}]",
          "{\"a\":\"" FFFD " is longer than two nodes\",\"" FFFD "\":\"" FFFD "\",\"" FFFD "\":[0]}]" },
        { "{\"a\":1,\"b\":[\"c\",{}],\"d\":{\"e\":{\"f\":true}}}]", "{\"a\":1,\"b\":[\"c\",{}],\"d\":{\"e\":{\"f\":true}}}]" },
    };
    static const char guard[64] = "what stands behind the arena";
    int n, wrong = 0, fits = 0, fixed, i;
    size_t k;
    for (n = 0; n < 1000; n++)
        for (k = 0; k < 4; k++) {
            char text[2048], *block = NULL;
            const mcp_json *v;
            mcp_arena a;
            size_t at = 1;
            fixed = k % 2 != 0;
            text[0] = '[';
            if (fixed) {
                block = (char *)malloc((size_t)n + sizeof guard);
                if (!block) exit(2);
                memcpy(block + n, guard, sizeof guard);
                mcp_arena_fixed(&a, block, (size_t)n);
            } else {
                mcp_arena_init(&a, NULL, 0);
                for (i = 0; i < n / 2; i++, at += 2) memcpy(text + at, "1,", 2);
            }
            strcpy(text + at, t[k / 2].tail);
            v = mcp_json_parse_inplace(&a, text, MCP_NTS, NULL);
            fits += v != NULL;
            wrong += (!v && !fixed) || (v && strcmp(written(v) + at, t[k / 2].want) != 0);
            wrong += fixed && memcmp(block + n, guard, sizeof guard) != 0;
            mcp_arena_free(&a);
            free(block);
        }
    CHECK(fits > 3000 && fits < 3900);
    EQ_INT(wrong, 0);
}

TEST(utf8)
{
    /* ill-formed sequences, and what stands for them when replacing */
    static const struct { const char *bytes, *replaced; } bad[] = {
        { "\x80", FFFD }, { "\xBF", FFFD }, { "\xC0\x80", FFFD FFFD }, { "\xC1\xBF", FFFD FFFD }, { "\xC2", FFFD }, { "\xC2" "A", FFFD "A" }, { "\xC2\xC3\xA9", FFFD "\xC3\xA9" },
        { "\xE0\x80\xAF", FFFD FFFD FFFD }, { "\xE0\x9F\xBF", FFFD FFFD FFFD }, { "\xE2\x82", FFFD }, { "\xE2\x82" "A", FFFD "A" }, { "\xE2" "AB", FFFD "AB" },
        { "\xED\xA0\x80", FFFD FFFD FFFD }, { "\xED\xBF\xBF", FFFD FFFD FFFD }, { "\xF0\x8F\xBF\xBF", FFFD FFFD FFFD FFFD }, { "\xF0\x9F\x98", FFFD },
        { "\xF0\x9F\x98" "A", FFFD "A" }, { "\xF0\x9F" "AB", FFFD "AB" }, { "\xF4\x90\x80\x80", FFFD FFFD FFFD FFFD }, { "\xF5\x80\x80\x80", FFFD FFFD FFFD FFFD },
        { "\xF8\x88\x80\x80\x80", FFFD FFFD FFFD FFFD FFFD }, { "\xFE", FFFD }, { "\xFF", FFFD }, { "\xE2\x82\xE2\x82\xAC", FFFD "\xE2\x82\xAC" },
        { "\xC3\xA9\xFF\xC3\xA9", "\xC3\xA9" FFFD "\xC3\xA9" }, { "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", FFFD FFFD FFFD FFFD FFFD FFFD FFFD FFFD },
        { "a\\n\xFF\\n\xFF\\u0041\\ud83d\\ude00\\\\\xFF", "a\n" FFFD "\n" FFFD "A\xF0\x9F\x98\x80\\" FFFD }, { "\\ud800\xFF\\ud800", FFFD FFFD FFFD },
        { "\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\xFF long enough text to be copied wide\xFF", "\n\n\n\n\n\n\n\n\n\n\n" FFFD " long enough text to be copied wide" FFFD },
    };
    static const char *const good[] = {
        "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "\xC2\x80 \xC2\x80  \xE2\x82\xAC a",
    };
    size_t i, shift;
    for (i = 0; i < sizeof good / sizeof *good; i++) check_string(good[i], good[i], strlen(good[i]));
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        int wrong = 0;
        for (shift = 0; shift < 40; shift++) {
            char text[300], want[300], *block;
            const mcp_json *v;
            const char *s;
            size_t len, n, after = shift % 3 * 11, at;
            memset(text, 'x', sizeof text);
            text[0] = '"';
            at = shift + 1;
            strcpy(text + at, bad[i].bytes);
            len = strlen(text);
            memset(text + len, 'y', after);
            len += after;
            text[len++] = '"';
            memset(want, 'x', sizeof want);
            strcpy(want + shift, bad[i].replaced);
            n = strlen(want);
            memset(want + n, 'y', after);
            want[n + after] = 0;
            block = exact(text, len);
            mcp_arena_reset(&arena);
            wrong += mcp_json_parse(&arena, block, len, NULL) != NULL;
            v = mcpi_parse(&arena, block, block, len, MCPI_REPLACE_UTF8, NULL);
            s = mcp_json_str(v, "");
            wrong += strcmp(s, want) != 0 || mcp_json_size(v) != strlen(want);
            free(block);
        }
        if (wrong) printf("case %d\n", (int)i);
        EQ_INT(wrong, 0);
    }
    check_refused("\"\xC3\"", 3, 1);
    check_refused("\"ab\xED\xA0\x80\"", 7, 3);
    check_refused("\"abcdefghijklmnopqrst\xF5\"", 23, 21);
    check_refused("{\"\xFF\":1}", 7, 2);
    mcp_arena_reset(&arena);
    {
        char key[] = "{\"\xFF\":1}";
        const mcp_json *v = mcpi_parse(&arena, key, key, 7, MCPI_REPLACE_UTF8, NULL);
        EQ_INT(mcp_json_int(mcp_json_get(v, FFFD), 0), 1);
    }
}

TEST(depth)
{
    static char text[2 * 100000 + 10];
    size_t pos = 0;
    int n, k;
    const mcp_json *v;
    for (n = MCP_MAX_DEPTH; n <= MCP_MAX_DEPTH + 1; n++) {
        memset(text, '[', (size_t)n);
        memset(text + n, ']', (size_t)n);
        mcp_arena_reset(&arena);
        v = mcp_json_parse(&arena, text, 2 * (size_t)n, &pos);
        CHECK((v != NULL) == (n == MCP_MAX_DEPTH));
        if (v) {
            for (k = 1; (v = mcp_json_first(v)) != NULL; k++) { }
            EQ_INT(k, n);
        } else EQ_INT(pos, MCP_MAX_DEPTH);
    }
    memset(text, '[', 100000);
    mcp_arena_reset(&arena);
    CHECK(mcp_json_parse(&arena, text, 100000, &pos) == NULL && pos == MCP_MAX_DEPTH);
    for (k = 0; k < 20000; k++) memcpy(text + 5 * k, "{\"a\":", 5);
    mcp_arena_reset(&arena);
    CHECK(mcp_json_parse(&arena, text, 100000, &pos) == NULL && pos == 5 * MCP_MAX_DEPTH);
    for (k = 0; k < 64; k++) memcpy(text + 5 * k, "{\"a\":", 5);         /* a deep schema */
    text[5 * 64] = '1';
    memset(text + 5 * 64 + 1, '}', 64);
    mcp_arena_reset(&arena);
    CHECK(mcp_json_parse(&arena, text, 6 * 64 + 1, &pos) != NULL);
}

TEST(wide)
{
    enum { N = 100000 };
    char *text = (char *)malloc(N * 20), *p = text;
    const mcp_json *v, *it;
    int i, wrong = 0;
    if (!text) exit(2);
    *p++ = '[';
    for (i = 0; i < 5000; i++) p += sprintf(p, "%s{\"a\":%d}", i ? "," : "", i);
    *p++ = ']';
    mcp_arena_reset(&arena);
    v = mcp_json_parse(&arena, text, (size_t)(p - text), NULL);
    EQ_INT(mcp_json_size(v), 5000);
    i = 0;
    mcp_json_each(item, v) wrong += mcp_json_int(mcp_json_get(item, "a"), -1) != i++;
    EQ_INT(i, 5000);
    p = text;
    *p++ = '{';
    for (i = 0; i < N; i++) p += sprintf(p, "%s\"k%d\":%d", i ? "," : "", i / 2, i);
    *p++ = '}';
    mcp_arena_reset(&arena);
    v = mcp_json_parse(&arena, text, (size_t)(p - text), NULL);
    EQ_INT(mcp_json_size(v), N);
    for (i = 0, it = mcp_json_first(v); it; it = mcp_json_next(it), i++) wrong += mcp_json_int(it, -1) != i;
    EQ_INT(i, N);
    EQ_INT(mcp_json_int(mcp_json_get(v, "k77"), 0), 155);               /* the last of equal keys */
    EQ_INT(wrong, 0);
    free(text);
}

TEST(getters)
{
    static const char *const values[] = { "null", "true", "12", "\"s\"", "[1]", "{\"a\":1}" };
    const mcp_json *v;
    size_t i, n;
    uint64_t u;
    for (i = 0; i <= 6; i++) {                              /* 0: NULL */
        v = i ? parse(values[i - 1]) : NULL;
        EQ_INT(mcp_json_type(v), i);
        CHECK((mcp_json_first(v) != NULL) == (i >= 5));
        CHECK(mcp_json_next(v) == NULL);
        CHECK(mcp_json_key(v) == NULL);
        n = 9;
        CHECK(mcp_json_keyn(v, &n) == NULL && n == 0);
        EQ_INT(mcp_json_size(v), i == 3 ? 2 : i >= 4 ? 1 : 0);
        EQ_STR(mcp_json_str(v, "fallback"), i == 4 ? "s" : "fallback");
        CHECK(mcp_json_str(v, NULL) == NULL || i == 4);
        n = 9;
        CHECK((mcp_json_text(v, &n) != NULL) == (i == 3 || i == 4));
        EQ_INT(n, i == 3 ? 2 : i == 4 ? 1 : 0);
        mcp_json_text(v, NULL);
        EQ_INT(mcp_json_int(v, 5), i == 3 ? 12 : 5);
        CHECK(mcp_json_uint(v, &u) == (i == 3));
        CHECK(mcp_json_num(v, 5) == (i == 3 ? 12 : 5));
        CHECK(mcp_json_bool(v, false) == (i == 2));
        CHECK(mcp_json_bool(v, true));
        EQ_INT(mcp_json_int(mcp_json_get(v, "a"), 0), i == 6);
        CHECK(mcp_json_get(v, NULL) == NULL && mcp_json_getn(v, NULL, 0) == NULL);
        CHECK(mcp_json_get(v, "") == NULL && mcp_json_get(v, "A") == NULL && mcp_json_get(v, "aa") == NULL);
        CHECK(mcp_json_at(v, "") == v);
        CHECK(mcp_json_at(v, NULL) == NULL);
        CHECK((mcp_json_at(v, "/0") != NULL) == (i == 5));
        CHECK((mcp_json_at(v, "/a") != NULL) == (i == 6));
        CHECK(mcp_json_base64(&arena, v, &n) == NULL);      /* "s" is no base64 */
        CHECK(mcpi_is(v, "s") == (i == 4));
        CHECK((mcp_json_copy(&arena, v) != NULL) == (i != 0));
    }
    CHECK(mcp_json_bool(parse("false"), true) == false);
    v = parse("{\"a\":{\"b\":[10,{\"c\":\"d\"},[],{}],\"e\":null},\"f\":[]}");
    EQ_INT(mcp_json_size(v), 2);
    EQ_STR(mcp_json_key(mcp_json_first(v)), "a");
    EQ_STR(mcp_json_key(mcp_json_next(mcp_json_first(v))), "f");
    CHECK(mcp_json_next(mcp_json_next(mcp_json_first(v))) == NULL);
    EQ_STR(mcp_json_key(mcp_json_at(v, "/a/e")), "e");
    CHECK(mcp_json_key(mcp_json_at(v, "/a/b/1")) == NULL);
    EQ_STR(mcp_json_key(mcp_json_at(v, "/a/b/1/c")), "c");
    CHECK(mcp_json_first(mcp_json_at(v, "/f")) == NULL);
    CHECK(mcp_json_next(mcp_json_at(v, "/a/b/3")) == NULL);
    v = parse("{\"method\":\"ping\",\"Method\":\"x\",\"param\xC5\xBF\":1}");
    EQ_STR(mcp_json_str(mcp_json_get(v, "method"), ""), "ping");
    CHECK(mcp_json_get(v, "params") == NULL);
    v = parse("{\"a\":1,\"b\":2,\"a\":[3]}");
    CHECK(mcp_json_type(mcp_json_get(v, "a")) == MCP_JSON_ARRAY);
    EQ_INT(mcp_json_size(v), 3);
}

TEST(pointers)
{
    static const struct { const char *pointer, *value; } table[] = {     /* the document of RFC 6901 and more */
        { "/foo", "[\"bar\",\"baz\"]" }, { "/foo/0", "\"bar\"" }, { "/", "0" }, { "/a~1b", "1" }, { "/c%d", "2" }, { "/e^f", "3" }, { "/g|h", "4" }, { "/i\\j", "5" },
        { "/k\"l", "6" }, { "/ ", "7" }, { "/m~0n", "8" }, { "/foo/1", "\"baz\"" }, { "/foo/2", NULL }, { "/foo/-", NULL }, { "/foo/-1", NULL }, { "/foo/0A", NULL },
        { "/foo/00", NULL }, { "/foo/01", NULL }, { "/foo/", NULL }, { "/foo/99999999999999999999", NULL }, { "/foo/18446744073709551616", NULL }, { "/foo/4294967296", NULL },
        { "/foo/1/0", NULL }, { "/foo/1/", NULL }, { "foo", NULL }, { "0", NULL }, { "//", NULL }, { "/nope", NULL }, { "/~01", "9" }, { "/~2", NULL }, { "/~", NULL },
        { "/a~", NULL }, { "/a~1", NULL }, { "/m~", NULL }, { "/q/", "10" }, { "/q//x", NULL }, { "/fo", NULL }, { "/fooo", NULL }, { "/dup", "2" }, { "#/foo", NULL },
        { "/foo/+1", NULL }, { "/foo/1 ", NULL }, { "/foo/1e0", NULL }, { "/q/~1", "11" },
    };
    static const char text[] = "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8,"
                               "\"~1\":9,\"q\":{\"\":10,\"/\":11},\"dup\":1,\"dup\":2,\"~2\":0,\"~\":0,\"a~\":0}";
    size_t i;
    const mcp_json *v = parse(text);
    for (i = 0; i < sizeof table / sizeof *table; i++) {
        const mcp_json *found = mcp_json_at(v, table[i].pointer);
        if (!table[i].value) { if (found) printf("%s\n", table[i].pointer); CHECK(!found); }
        else EQ_STR(written(found), table[i].value);
    }
}

TEST(copies)
{
    mcp_arena other;
    const mcp_json *v, *c;
    char *text = exact(rich, sizeof rich - 1);
    const char *was;
    char kept[1024];
    mcp_arena_init(&other, NULL, 0);
    mcp_arena_reset(&arena);
    v = mcp_json_parse_inplace(&arena, text, sizeof rich - 1, NULL);
    was = written(v);
    CHECK(was && strlen(was) < sizeof kept);
    strcpy(kept, was ? was : "");
    c = mcp_json_copy(&other, v);
    memset(text, 'z', sizeof rich - 1);
    free(text);
    mcp_arena_free(&arena);
    EQ_STR(written(c), kept);
    v = mcp_json_copy(&other, mcp_json_get(c, "lone"));
    CHECK(mcp_json_key(v) == NULL && mcp_json_next(v) == NULL);
    EQ_STR(mcp_json_str(v, ""), "a" FFFD "b" FFFD);
    CHECK(mcpi_equal(v, mcp_json_get(c, "lone")));
    v = mcp_json_copy(&other, mcp_json_at(c, "/a"));
    CHECK(mcp_json_key(v) == NULL && mcp_json_next(v) == NULL);
    EQ_INT(mcp_json_size(v), 9);
    EQ_STR(written(mcp_json_at(v, "/1")), "-2.5e+10");
    CHECK(mcp_json_copy(NULL, v) == NULL);
    mcp_arena_free(&other);
}

TEST(equal)
{
    const mcp_json *v = parse("[1,1,1.0,\"1\",\"1\",\"\\ud800\",\"\\ud801\",\"" FFFD "\",\"\\ud800\",true,true,false,null,null,[],[],\"1\\u0000\"]");
    const mcp_json *item[17];
    int i, k;
    static const int same[17] = { 0, 0, 2, 3, 3, 5, 6, 7, 5, 9, 9, 11, 12, 12, 14, 15, 16 };
    for (i = 0; i < 17; i++) { char p[16]; sprintf(p, "/%d", i); item[i] = mcp_json_at(v, p); }
    for (i = 0; i < 17; i++)
        for (k = 0; k < 17; k++) CHECK(mcpi_equal(item[i], item[k]) == (same[i] == same[k]));
    CHECK(mcpi_equal(NULL, NULL));
    CHECK(!mcpi_equal(NULL, item[0]) && !mcpi_equal(item[0], NULL));
}

TEST(base64)
{
    static const struct { const char *text, *bytes; } good[] = {
        { "", "" }, { "Zg==", "f" }, { "Zm8=", "fo" }, { "Zm9v", "foo" }, { "Zm9vYg==", "foob" }, { "Zm9vYmE=", "fooba" }, { "Zm9vYmFy", "foobar" },
        { "Zg", "f" }, { "Zm8", "fo" }, { " Z m\\n9\\r\\tv ", "foo" }, { "Zm9v Yg= = ", "foob" }, { "+/+/", "\xFB\xFF\xBF" },
    };
    static const char *const bad[] = { "Z", "Zm9vY", "Z===", "====", "=", "Zg=", "Zm9=v", "Zg==Zg==", "Zm9v=", "Zm9v==", "Zm8==", "Zm-_", "Zm9v!", "Zm\xC3\xA9", "Zm\\u0000v", "Zg===", "*" };
    size_t i, n;
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        char text[64];
        const void *p;
        sprintf(text, "\"%s\"", good[i].text);
        p = mcp_json_base64(&arena, parse(text), &n);
        CHECK(p && n == strlen(good[i].bytes) && memcmp(p, good[i].bytes, n) == 0);
    }
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[64];
        sprintf(text, "\"%s\"", bad[i]);
        n = 5;
        if (mcp_json_base64(&arena, parse(text), &n)) printf("%s\n", text);
        CHECK(mcp_json_base64(&arena, parse(text), &n) == NULL && n == 0);
    }
    CHECK(mcp_json_base64(&arena, parse("\"AAAA\""), NULL) != NULL);
    CHECK(mcp_json_base64(NULL, parse("\"AAAA\""), NULL) == NULL);
}

/* -- memory ----------------------------------------------------------------------------------------------------------- */

typedef struct counter { size_t live, calls, fail_at; int stay; } counter;    /* stay: fails from then on */

static void *counted(void *user, void *ptr, size_t old_size, size_t new_size)
{
    counter *c = (counter *)user;
    void *p;
    if (!new_size) { c->live -= old_size; free(ptr); return NULL; }
    c->calls++;
    if (c->calls == c->fail_at || (c->stay && c->calls > c->fail_at)) return NULL;
    p = realloc(ptr, new_size);
    if (p) c->live += new_size - old_size;
    return p;
}

TEST(failing_memory)
{
    counter c;
    mcp_allocator alloc;
    mcp_arena a, b;
    size_t n, fails = 0;
    char *big = (char *)malloc(40000), *p = big;
    int i;
    if (!big) exit(2);
    alloc.resize = counted;
    alloc.user = &c;
    *p++ = '[';
    for (i = 0; i < 1000; i++) p += sprintf(p, "%s\"\\ud800\xFF %d\"", i ? "," : "", i);
    *p++ = ']';
    for (n = 2; n < 60; n++) {
        char *text = exact(big, (size_t)(p - big));
        size_t pos = 0;
        const mcp_json *v;
        memset(&c, 0, sizeof c);
        c.fail_at = n / 2;
        c.stay = n % 2;
        mcp_arena_init(&a, &alloc, 0);
        mcp_arena_init(&b, &alloc, 0);
        v = mcpi_parse(&a, text, text, (size_t)(p - big), MCPI_REPLACE_UTF8, &pos);
        if (!v) { CHECK(pos == MCP_NTS); fails++; }
        else {
            EQ_INT(mcp_json_size(v), 1000);
            v = mcp_json_copy(&b, v);
            if (!v) fails++;
            else EQ_STR(mcp_json_str(mcp_json_at(v, "/999"), ""), FFFD FFFD " 999");
        }
        c.stay = 0;
        mcp_arena_reset(&a);                                /* still of use */
        v = mcp_json_parse(&a, "{\"a\":[1]}", MCP_NTS, NULL);
        EQ_INT(mcp_json_int(mcp_json_at(v, "/a/0"), 0), 1);
        mcp_arena_free(&a);
        mcp_arena_free(&b);
        EQ_INT(c.live, 0);
        free(text);
    }
    CHECK(fails > 5 && fails < 40);
    free(big);
}

/* With a limit, and in fixed memory: small texts go, large ones stop with MCP_NTS, and the next small one goes again. */
TEST(limits)
{
    static char memory[4096];
    mcp_arena a;
    char text[4000];
    int round;
    size_t n, pos;
    for (round = 0; round < 2; round++) {
        int fits = 0, refused = 0;
        if (round) mcp_arena_fixed(&a, memory + 1, sizeof memory - 1);
        else mcp_arena_init(&a, NULL, 4096);
        for (n = 2; n < sizeof text - 1; n += 2) {
            const mcp_json *v;
            size_t i;
            text[0] = '[';
            for (i = 1; i < n; i++) text[i] = i % 2 ? '1' : ',';
            text[n] = ']';
            pos = 0;
            mcp_arena_reset(&a);
            v = mcp_json_parse(&a, text, n + 1, &pos);
            if (v) { fits++; CHECK(mcp_json_size(v) == n / 2); }
            else { refused++; CHECK(pos == MCP_NTS); }
            CHECK(a.total <= 4096);
            mcp_arena_reset(&a);
            CHECK(mcp_json_parse(&a, "[1,2,3]", 7, NULL) != NULL);
        }
        CHECK(fits > 50 && refused > 50);
        mcp_arena_free(&a);
    }
}

/* Once warm, nothing is allocated, whatever the text. */
TEST(warm)
{
    counter c;
    mcp_allocator alloc;
    mcp_arena a;
    size_t before;
    int i;
    memset(&c, 0, sizeof c);
    alloc.resize = counted;
    alloc.user = &c;
    mcp_arena_init(&a, &alloc, 0);
    for (i = 0; i < 3; i++) {
        mcp_arena_reset(&a);
        CHECK(mcp_json_parse(&a, rich, sizeof rich - 1, NULL) != NULL);
    }
    mcp_arena_reset(&a);
    before = c.calls;
    for (i = 0; i < 100; i++) {
        mcp_arena_reset(&a);
        CHECK(mcp_json_parse(&a, rich, sizeof rich - 1, NULL) != NULL);
    }
    EQ_INT(c.calls, before);
    mcp_arena_free(&a);
    EQ_INT(c.live, 0);
}

int main(void)
{
    mcp_arena_init(&arena, NULL, 0);
    RUN(grammar);
    RUN(prefixes);
    RUN(slices);
    RUN(mutations);
    RUN(strings);
    RUN(where_the_tape_ends);
    RUN(utf8);
    RUN(depth);
    RUN(wide);
    RUN(getters);
    RUN(pointers);
    RUN(copies);
    RUN(equal);
    RUN(base64);
    RUN(failing_memory);
    RUN(limits);
    RUN(warm);
    mcp_arena_free(&arena);
    return test_end();
}
