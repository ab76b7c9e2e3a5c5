/* The JSON writer: what it writes, what it refuses, fixed memory, limits, and what happens when memory runs out. */
#define MCP_IMPLEMENTATION      /* looks inside */
#define MCP_NO_SERVER
#define MCP_NO_CLIENT
#define MCP_NO_VALIDATE
#define MCP_NO_SANITIZE
#include "mcp.h"
#include "test.h"

#define FFFD "\xEF\xBF\xBD"

static mcp_writer w;

static const char *text(void)
{
    return mcp_writer_text(&w, NULL);
}

/* A bit of everything. */
static void write_all(mcp_writer *out)
{
    static const unsigned char bytes[5] = { 0, 255, 128, 7, 9 };
    mcp_put_object(out, NULL);
    mcp_put_str(out, "s", "a\"b\\c\n\x01 and a longer run of plain text \xC3\xA9 \xF0\x9F\x98\x80 \xFF!");
    mcp_put_strn(out, "n", "a\0b", 3);
    mcp_put_array(out, "list");
    mcp_put_int(out, NULL, INT64_MIN);
    mcp_put_uint(out, NULL, UINT64_MAX);
    mcp_put_num(out, NULL, 0.1);
    mcp_put_bool(out, NULL, true);
    mcp_put_bool(out, NULL, false);
    mcp_put_null(out, NULL);
    mcp_put_str(out, NULL, NULL);
    mcp_put_json(out, NULL, NULL);
    mcp_put_object(out, NULL);
    mcp_put_end(out);
    mcp_put_array(out, NULL);
    mcp_put_end(out);
    mcp_put_end(out);
    mcp_put_base64(out, "b\"", bytes, 5);
    mcp_put_raw(out, "raw", " { \"x\" : [ 1 , \"y\\n\" , { } ] } ", MCP_NTS);
    mcp_put_end(out);
}
static const char all[] =
    "{\"s\":\"a\\\"b\\\\c\\n\\u0001 and a longer run of plain text \xC3\xA9 \xF0\x9F\x98\x80 " FFFD "!\",\"n\":\"a\\u0000b\","
    "\"list\":[-9223372036854775808,18446744073709551615,0.1,true,false,null,null,null,{},[]],\"b\\\"\":\"AP+ABwk=\",\"raw\":{\"x\":[1,\"y\\n\",{}]}}";

TEST(everything)
{
    size_t len;
    const char *s;
    mcp_writer_reset(&w);
    write_all(&w);
    s = mcp_writer_text(&w, &len);
    EQ_STR(s, all);
    EQ_INT(len, sizeof all - 1);
    mcp_writer_reset(&w);
    CHECK(text() == NULL && mcp_writer_status(&w) == MCP_OK);
    write_all(&w);
    EQ_STR(text(), all);
}

TEST(tops)
{
    static const char *const want[] = { "7", "\"s\"", "null", "true", "{}", "[]", "1.5", "\"\"", "\"\"" };
    int i;
    for (i = 0; i < 9; i++) {
        mcp_writer_reset(&w);
        switch (i) {
        case 0: mcp_put_int(&w, NULL, 7); break;
        case 1: mcp_put_str(&w, NULL, "s"); break;
        case 2: mcp_put_null(&w, NULL); break;
        case 3: mcp_put_bool(&w, NULL, true); break;
        case 4: mcp_put_object(&w, NULL); mcp_put_end(&w); break;
        case 5: mcp_put_array(&w, NULL); mcp_put_end(&w); break;
        case 6: mcp_put_num(&w, NULL, 1.5); break;
        case 7: mcp_put_base64(&w, NULL, NULL, 0); break;
        default: mcp_put_strn(&w, NULL, "", 0); break;
        }
        EQ_STR(text(), want[i]);
        mcp_put_int(&w, NULL, 8);                           /* a second value */
        EQ_INT(mcp_writer_status(&w), MCP_ERR_ARGUMENT);
        CHECK(text() == NULL);
    }
}

/* Each wrong step: ARGUMENT, it sticks, and nothing is written any more. */
TEST(misuse)
{
    int i;
    for (i = 0; i < 19; i++) {
        size_t len;
        mcp_writer_reset(&w);
        if (i < 10) mcp_put_object(&w, NULL);
        else if (i < 17) mcp_put_array(&w, NULL);
        switch (i) {
        case 0: mcp_put_int(&w, NULL, 1); break;            /* no key in an object */
        case 1: mcp_put_str(&w, NULL, "x"); break;
        case 2: mcp_put_object(&w, NULL); break;
        case 3: mcp_put_raw(&w, NULL, "1", 1); break;
        case 4: mcp_put_end(&w); mcp_put_end(&w); break;    /* one end too many */
        case 5: mcp_put_raw(&w, "k", "{", 1); break;
        case 6: mcp_put_raw(&w, "k", "1,2", MCP_NTS); break;
        case 7: mcp_put_raw(&w, "k", NULL, 0); break;
        case 8: mcp_put_num(&w, "k", 1e300 * 1e300); break;
        case 9: mcp_put_json(&w, NULL, NULL); break;
        case 10: mcp_put_int(&w, "k", 1); break;            /* a key in an array */
        case 11: mcp_put_null(&w, "k"); break;
        case 12: mcp_put_array(&w, "k"); break;
        case 13: mcp_put_raw(&w, NULL, "", 0); break;
        case 14: mcp_put_raw(&w, NULL, "]", 1); break;
        case 15: mcp_put_base64(&w, NULL, NULL, 5); break;
        case 16: mcp_put_raw(&w, NULL, "1],[2", 5); break;
        case 17: mcp_put_end(&w); break;                    /* nothing is open */
        default: mcp_put_bool(&w, "k", true); break;        /* a key at the top */
        }
        if (mcp_writer_status(&w) != MCP_ERR_ARGUMENT) printf("case %d\n", i);
        EQ_INT(mcp_writer_status(&w), MCP_ERR_ARGUMENT);
        len = w.len;
        mcp_put_int(&w, NULL, 1);
        mcp_put_int(&w, "k", 1);
        mcp_put_end(&w);
        mcp_put_end(&w);
        EQ_INT(w.len, len);
        EQ_INT(mcp_writer_status(&w), MCP_ERR_ARGUMENT);
        CHECK(text() == NULL);
    }
    mcp_writer_reset(&w);
    mcp_put_array(&w, NULL);
    CHECK(text() == NULL);                                  /* still open */
    EQ_INT(mcp_writer_status(&w), MCP_OK);

    /* no writer at all */
    mcp_writer_init(NULL, NULL, 0);
    mcp_writer_fixed(NULL, NULL, 0);
    mcp_put_object(NULL, NULL); mcp_put_array(NULL, NULL); mcp_put_end(NULL); mcp_put_str(NULL, NULL, ""); mcp_put_strn(NULL, "", "", 0);
    mcp_put_base64(NULL, NULL, NULL, 0); mcp_put_int(NULL, NULL, 1); mcp_put_uint(NULL, NULL, 1); mcp_put_num(NULL, NULL, 1); mcp_put_num(NULL, NULL, 1e300 * 1e300);
    mcp_put_bool(NULL, NULL, true); mcp_put_null(NULL, NULL); mcp_put_json(NULL, NULL, NULL); mcp_put_raw(NULL, NULL, "1", 1);
    CHECK(mcp_writer_text(NULL, NULL) == NULL);
    EQ_INT(mcp_writer_status(NULL), MCP_ERR_ARGUMENT);
    mcp_writer_reset(NULL);
    mcp_writer_free(NULL);
}

TEST(nesting)
{
    int i;
    mcp_writer_reset(&w);
    for (i = 0; i < 512; i++) if (i % 2) mcp_put_object(&w, NULL); else mcp_put_array(&w, i ? "k" : NULL);
    EQ_INT(mcp_writer_status(&w), MCP_OK);
    for (i = 0; i < 512; i++) mcp_put_end(&w);
    CHECK(text() != NULL && w.len == 512 * 2 + 4 * 255);
    mcp_writer_reset(&w);
    for (i = 0; i < 513; i++) mcp_put_array(&w, NULL);
    EQ_INT(mcp_writer_status(&w), MCP_ERR_LIMIT);
    {
        static char deep[1100];
        mcp_arena a;
        const mcp_json *v;
        memset(deep, '[', 512);
        memset(deep + 512, ']', 512);
        mcp_writer_reset(&w);
        mcp_put_raw(&w, NULL, deep, 1024);
        EQ_STR(text(), deep);
        mcp_writer_reset(&w);
        mcp_put_array(&w, NULL);
        mcp_put_raw(&w, NULL, deep, 1024);
        EQ_INT(mcp_writer_status(&w), MCP_ERR_LIMIT);
        mcp_arena_init(&a, NULL, 0);
        v = mcp_json_parse(&a, deep, 1024, NULL);
        mcp_writer_reset(&w);
        mcp_put_json(&w, NULL, v);
        EQ_STR(text(), deep);
        mcp_writer_reset(&w);
        mcp_put_array(&w, NULL);
        mcp_put_json(&w, NULL, v);
        EQ_INT(mcp_writer_status(&w), MCP_ERR_LIMIT);
        mcp_arena_free(&a);
    }
}

/* Strings of every length, with a special byte at every place: 8 and 16 bytes at a time must not matter. */
TEST(escapes)
{
    static const struct { const char *in, *out; } special[] = {
        { "\"", "\\\"" }, { "\\", "\\\\" }, { "\n", "\\n" }, { "\x1f", "\\u001f" }, { "\x7f", "\x7f" }, { "\xC3\xA9", "\xC3\xA9" }, { "\xC3", FFFD }, { "\xED\xA0\x80", FFFD FFFD FFFD },
        { "\xE2\x82\xAC\xE2\x82", "\xE2\x82\xAC" FFFD }, { "\xF0\x9F\x98\x80 \xFF", "\xF0\x9F\x98\x80 " FFFD }, { "/", "/" }, { "\xE2\x80\xA8", "\xE2\x80\xA8" },
    };
    char in[200], want[256], bytes[128];
    size_t n, at, k, len;
    int wrong = 0;
    for (k = 0; k < sizeof special / sizeof *special; k++)
        for (n = 0; n < 40; n++)
            for (at = 0; at <= n; at++) {
                char *block;
                const char *s;
                memset(in, 'a', sizeof in);
                memcpy(in + at, special[k].in, strlen(special[k].in));
                len = n + strlen(special[k].in);
                block = (char *)malloc(len);
                if (!block) exit(2);
                memcpy(block, in, len);
                memset(want, 'a', sizeof want);
                want[0] = '"';
                memcpy(want + 1 + at, special[k].out, strlen(special[k].out));
                strcpy(want + 1 + n + strlen(special[k].out), "\"");
                mcp_writer_free(&w);                        /* a small buffer, which has to grow */
                mcp_put_strn(&w, NULL, block, len);
                s = text();
                wrong += !s || strcmp(s, want) != 0;
                free(block);
            }
    EQ_INT(wrong, 0);

    for (n = 0; n < 128; n++) bytes[n] = (char)n;
    mcp_writer_reset(&w);
    mcp_put_strn(&w, NULL, bytes, 128);
    for (n = 0; n < w.len; n++) CHECK((unsigned char)w.buf[n] >= 0x20);
    {
        mcp_arena a;
        const mcp_json *v;
        const char *s;
        mcp_arena_init(&a, NULL, 0);
        v = mcp_json_parse(&a, text(), MCP_NTS, NULL);
        s = mcp_json_text(v, &len);
        CHECK(s && len == 128 && memcmp(s, bytes, 128) == 0);
        mcp_arena_free(&a);
    }
    CHECK(strstr(text(), "\\u0000\\u0001\\u0002\\u0003\\u0004\\u0005\\u0006\\u0007\\b\\t\\n\\u000b\\f\\r\\u000e") != NULL);
}

TEST(base64)
{
    static const char *const want[] = { "", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy" };
    unsigned char bytes[300];
    mcp_arena a;
    size_t n, len, i;
    char quoted[16];
    for (n = 0; n <= 6; n++) {
        mcp_writer_reset(&w);
        mcp_put_base64(&w, NULL, "foobar", n);
        sprintf(quoted, "\"%s\"", want[n]);
        EQ_STR(text(), quoted);
    }
    mcp_arena_init(&a, NULL, 0);
    for (n = 0; n < 300; n++) {
        const void *p;
        for (i = 0; i < n; i++) bytes[i] = (unsigned char)(i * 7 + n);
        mcp_writer_reset(&w);
        mcp_put_base64(&w, NULL, bytes, n);
        mcp_arena_reset(&a);
        p = mcp_json_base64(&a, mcp_json_parse(&a, text(), MCP_NTS, NULL), &len);
        CHECK(p && len == n && memcmp(p, bytes, n) == 0);
    }
    mcp_arena_free(&a);
}

TEST(raw)
{
    static const char *const good[][2] = {
        { " 1 ", "1" }, { "-0.0e+10", "-0.0e+10" }, { "[ ]", "[]" }, { "{ }", "{}" }, { "\t[\n1 ,\r2 ]", "[1,2]" }, { "{ \"a b\" : [ { } , [ ] ] , \"\" : null }", "{\"a b\":[{},[]],\"\":null}" },
        { "\"\\ud800\"", "\"\\ud800\"" }, { "\"\\/\\u0041\\\"\"", "\"\\/\\u0041\\\"\"" }, { "123456789012345678901234567890", "123456789012345678901234567890" }, { "true", "true" },
        { "[[[[\"a\"], \"  \" ]]]", "[[[[\"a\"],\"  \"]]]" }, { "{\"a\":1,\"a\":2}", "{\"a\":1,\"a\":2}" },
    };
    static const char *const bad[] = {
        "", " ", "{", "[", "[1", "[1,", "[1,]", "[,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{1:2}", "{a:1}", "1 2", "[1 2]", "[1}", "{]", "]", "}", ",", ":", "\"", "\"\\", "\"\\x\"",
        "\"\\u12\"", "\"\\u123", "\"a\nb\"", "\"\xFF\"", "\"\xED\xA0\x80\"", "01", "1.", "-", "+1", "nul", "nulll", "truefalse", "NaN", "\"a\" : 1", "{\"a\":1}}", "{} {}", "// x", "[\"a\":1]", "\xEF\xBB\xBF{}",
        "{\"a\" 1}", "{\"a\",1}", "{\"a\":\"b\":1}", "[1:2]", "\"a\"\"b\"", "1\"a\"", "{\"a\":1 \"b\":2}", "[]1", "[1]2", "\xC2\xA0",
    };
    size_t i;
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        mcp_writer_reset(&w);
        mcp_put_raw(&w, NULL, good[i][0], MCP_NTS);
        EQ_STR(text(), good[i][1]);
    }
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        size_t n = strlen(bad[i]), before;
        char *block = (char *)malloc(n ? n : 1);
        if (!block) exit(2);
        memcpy(block, bad[i], n);
        mcp_writer_reset(&w);
        mcp_put_array(&w, NULL);
        mcp_put_int(&w, NULL, 1);
        before = w.len;
        mcp_put_raw(&w, NULL, block, n);
        if (mcp_writer_status(&w) != MCP_ERR_ARGUMENT) printf("%s\n", bad[i]);
        EQ_INT(mcp_writer_status(&w), MCP_ERR_ARGUMENT);
        EQ_INT(w.len, before);                              /* nothing of it is left */
        EQ_INT(w.depth, 1);
        free(block);
    }
    mcp_writer_reset(&w);                                   /* commas around it are right */
    mcp_put_object(&w, NULL);
    mcp_put_raw(&w, "a", "[ 1 , { \"x\" : 2 } ]", MCP_NTS);
    mcp_put_raw(&w, "b", "{}", 2);
    mcp_put_int(&w, "c", 1);
    mcp_put_end(&w);
    EQ_STR(text(), "{\"a\":[1,{\"x\":2}],\"b\":{},\"c\":1}");
}

TEST(lexemes)
{
    static const char given[] = "[1.0,123456789012345678901234567890,\"a\\ud800\\\"b\\udc00\\ud83d\\ude00\\ufffd\",\"plain\",\"\\u0041\",true,null,{\"k\":[1]}]";
    mcp_arena a;
    const mcp_json *v, *it;
    mcp_arena_init(&a, NULL, 0);
    v = mcp_json_parse(&a, given, MCP_NTS, NULL);
    v = mcp_json_copy(&a, v);
    mcp_writer_reset(&w);
    mcp_put_array(&w, NULL);
    for (it = mcp_json_first(v); it; it = mcp_json_next(it)) mcpi_put_lexeme(&w, NULL, it);
    mcpi_put_lexeme(&w, NULL, NULL);
    mcp_put_end(&w);
    EQ_STR(text(), "[1.0,123456789012345678901234567890,\"a\\ud800\\\"b\\udc00\xF0\x9F\x98\x80" FFFD "\",\"plain\",\"A\",true,null,{\"k\":[1]},null]");
    mcp_writer_reset(&w);
    mcp_put_json(&w, NULL, v);
    EQ_STR(text(), "[1.0,123456789012345678901234567890,\"a" FFFD "\\\"b" FFFD "\xF0\x9F\x98\x80" FFFD "\",\"plain\",\"A\",true,null,{\"k\":[1]}]");
    mcp_arena_free(&a);
}

/* mcp_put_json of any part, at any place. */
TEST(parts)
{
    static const char given[] = "{\"a\":{\"b\":[10,{\"c\":\"d\"},[],{}],\"e\":null},\"f\":[[[]],[{}]]}";
    static const char *const at[][2] = {
        { "", given }, { "/a", "{\"b\":[10,{\"c\":\"d\"},[],{}],\"e\":null}" }, { "/a/b", "[10,{\"c\":\"d\"},[],{}]" }, { "/a/b/0", "10" }, { "/a/b/1", "{\"c\":\"d\"}" },
        { "/a/b/1/c", "\"d\"" }, { "/a/b/2", "[]" }, { "/a/b/3", "{}" }, { "/a/e", "null" }, { "/f", "[[[]],[{}]]" }, { "/f/0", "[[]]" }, { "/f/0/0", "[]" }, { "/f/1", "[{}]" },
    };
    mcp_arena a;
    const mcp_json *v;
    size_t i;
    char want[200];
    mcp_arena_init(&a, NULL, 0);
    v = mcp_json_parse(&a, given, MCP_NTS, NULL);
    for (i = 0; i < sizeof at / sizeof *at; i++) {
        mcp_writer_reset(&w);
        mcp_put_json(&w, NULL, mcp_json_at(v, at[i][0]));
        EQ_STR(text(), at[i][1]);
        mcp_writer_reset(&w);
        mcp_put_object(&w, NULL);
        mcp_put_json(&w, "x", mcp_json_at(v, at[i][0]));
        mcp_put_json(&w, "y", mcp_json_at(v, at[i][0]));
        mcp_put_end(&w);
        sprintf(want, "{\"x\":%s,\"y\":%s}", at[i][1], at[i][1]);
        EQ_STR(text(), want);
    }
    mcp_arena_free(&a);
}

/* In fixed memory of each size: right when it fits with its NUL, else LIMIT, and never a byte beyond. */
TEST(fixed)
{
    size_t size, need = sizeof all;
    for (size = 0; size <= need + 5; size++) {
        char *memory = (char *)malloc(size ? size : 1);
        mcp_writer out;
        if (!memory) exit(2);
        mcp_writer_fixed(&out, memory, size);
        write_all(&out);
        if (size >= need) EQ_STR(mcp_writer_text(&out, NULL), all);
        else {
            EQ_INT(mcp_writer_status(&out), MCP_ERR_LIMIT);
            CHECK(mcp_writer_text(&out, NULL) == NULL);
        }
        mcp_writer_free(&out);
        free(memory);
    }
    {
        mcp_writer out;
        mcp_writer_fixed(&out, NULL, 100);
        mcp_put_int(&out, NULL, 1);
        EQ_INT(mcp_writer_status(&out), MCP_ERR_LIMIT);
    }
}

typedef struct counter { size_t live, calls, fail_at; } counter;

static void *counted(void *user, void *ptr, size_t old_size, size_t new_size)
{
    counter *c = (counter *)user;
    void *p;
    if (!new_size) { c->live -= old_size; free(ptr); return NULL; }
    if (++c->calls == c->fail_at) return NULL;
    p = realloc(ptr, new_size);
    if (p) c->live += new_size - old_size;
    return p;
}

TEST(memory)
{
    counter c;
    mcp_allocator alloc;
    mcp_writer out;
    size_t n, limit, calls;
    alloc.resize = counted;
    alloc.user = &c;
    for (n = 1; n < 8; n++) {
        memset(&c, 0, sizeof c);
        c.fail_at = n;
        mcp_writer_init(&out, &alloc, 0);
        write_all(&out);
        if (c.calls >= n) EQ_INT(mcp_writer_status(&out), MCP_ERR_MEMORY);
        else EQ_STR(mcp_writer_text(&out, NULL), all);
        mcp_writer_reset(&out);                             /* of use again */
        mcp_put_int(&out, NULL, 1);
        EQ_STR(mcp_writer_text(&out, NULL), "1");
        mcp_writer_free(&out);
        EQ_INT(c.live, 0);
    }
    memset(&c, 0, sizeof c);
    for (limit = 1; limit < sizeof all + 3; limit++) {
        mcp_writer_init(&out, &alloc, limit);
        write_all(&out);
        if (limit >= sizeof all - 1) EQ_STR(mcp_writer_text(&out, NULL), all);
        else EQ_INT(mcp_writer_status(&out), MCP_ERR_LIMIT);
        CHECK(out.cap <= limit + 1);
        mcp_writer_free(&out);
    }
    EQ_INT(c.live, 0);
    mcp_writer_init(&out, &alloc, 0);                       /* warm: no allocation */
    write_all(&out);
    calls = c.calls;
    for (n = 0; n < 10; n++) {
        mcp_writer_reset(&out);
        write_all(&out);
    }
    EQ_INT(c.calls, calls);
    EQ_STR(mcp_writer_text(&out, NULL), all);
    mcp_writer_free(&out);
    EQ_INT(c.live, 0);
    mcp_writer_init(&out, &alloc, 0);                       /* lengths that no memory has */
    mcp_put_strn(&out, NULL, "x", MCP_NTS - 1);
    EQ_INT(mcp_writer_status(&out), MCP_ERR_LIMIT);
    mcp_writer_reset(&out);
    mcp_put_base64(&out, NULL, "x", MCP_NTS - 1);
    EQ_INT(mcp_writer_status(&out), MCP_ERR_LIMIT);
    mcp_writer_free(&out);
}

/* Bytes put in by hand, as the streams do. */
TEST(bytes)
{
    mcp_writer_reset(&w);
    mcpi_put_bytes(&w, "[1", 2);
    mcpi_put_bytes(&w, NULL, 0);
    mcpi_put_bytes(&w, "]\n", 2);
    EQ_MEM(w.buf, w.len, "[1]\n");
    mcp_writer_reset(&w);
    mcp_put_object(&w, NULL);
    mcpi_put_splice(&w, "a", "[1, 2]", 6);
    mcpi_put_splice(&w, "b", "3", 1);
    mcp_put_end(&w);
    EQ_STR(text(), "{\"a\":[1, 2],\"b\":3}");
    CHECK(mcpi_writer_reserve(&w, 100) && w.cap - w.len > 100);
    CHECK(!mcpi_writer_reserve(&w, MCP_NTS));
    EQ_INT(mcp_writer_status(&w), MCP_ERR_LIMIT);
}

/* Member by member, as one copies an object with other members added: a key is copied whole. */
TEST(members_keep_their_keys)
{
    static const char text[] = "{\"\":1,\"a\\u0000b\":2,\"\\u0000\":{\"c\\u0000\":[{\"\\u0000d\":null}]},\"plain\":\"x\",\"a\":3}";
    mcp_arena a;
    mcp_writer w;
    const mcp_json *v, *second = NULL;
    mcp_arena_init(&a, NULL, 0);
    mcp_writer_init(&w, NULL, 0);
    v = mcp_json_parse(&a, text, MCP_NTS, NULL);
    mcp_put_object(&w, NULL);
    mcp_json_each(m, v) {
        mcp_put_json(&w, mcp_json_key(m), m);
        if (mcp_json_int(m, 0) == 2) second = m;
    }
    mcp_put_end(&w);
    EQ_STR(mcp_writer_text(&w, NULL), text);
    mcp_writer_reset(&w);
    mcp_put_object(&w, NULL);
    mcp_put_json(&w, "a", second);                           /* another key is that key */
    mcp_put_json(&w, "b", mcp_json_first(mcp_json_parse(&a, "[[7]]", MCP_NTS, NULL)));
    mcp_put_json(&w, "c", NULL);
    mcp_put_end(&w);
    EQ_STR(mcp_writer_text(&w, NULL), "{\"a\":2,\"b\":[7],\"c\":null}");
    mcp_writer_reset(&w);
    mcp_put_array(&w, NULL);
    mcp_put_json(&w, NULL, second);                          /* no key in an array */
    mcp_put_end(&w);
    EQ_STR(mcp_writer_text(&w, NULL), "[2]");
    mcp_put_json(NULL, NULL, second);
    mcp_put_json(NULL, "k", NULL);
    mcp_writer_free(&w);
    mcp_arena_free(&a);
}

int main(void)
{
    mcp_writer_init(&w, NULL, 0);
    RUN(everything);
    RUN(tops);
    RUN(misuse);
    RUN(nesting);
    RUN(escapes);
    RUN(base64);
    RUN(raw);
    RUN(lexemes);
    RUN(parts);
    RUN(fixed);
    RUN(memory);
    RUN(bytes);
    mcp_writer_free(&w);
    RUN(members_keep_their_keys);
    return test_end();
}
