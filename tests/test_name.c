/* Names that models see: made, taken apart, matched, and mapped back. NAMES=1000000 in the environment: that many pairs in the test
 * with random ones. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "test.h"

/* An allocator that counts what lives and can fail. */
static long live, calls, fail_at = -1;
static void *counted(void *user, void *ptr, size_t old_size, size_t new_size)
{
    (void)user;
    if (new_size && ++calls == fail_at) return NULL;
    live += (long)new_size - (long)old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}
static const mcp_allocator counting = { counted, NULL };

/* What an independent program made of these. */
static const struct { const char *server, *tool, *name; } known[] = {
    { "github", "create_issue", "mcp__github__create_issue" },
    { "my_server", "my_tool", "mcp__my_server__my_tool" },
    { "s", "GetUser", "mcp__s__GetUser" },
    { "3d", "9patch", "mcp__3d__9patch" },
    { "git", "git_status", "mcp__git__git_status" },
    { "x", "mcp__git__git_status", "mcp__x__mcp__git__git_status" },
    { "aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "mcp__aaaaaaaaaaaaaaaaaaaa__bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb" },
    { "aaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "mcp__aaaaaaaaaa__bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb_de84be0f" },
    { "a-rather-long-server-name", "short", "mcp__a-rather-long-server-name__short" },
    { "a-rather-long-server-name", "getConfluencePageFooterCommentsWithAuthors", "mcp__a-rather__getConfluencePageFoorCommentsWithAuthors_ddd106ba" },
    { "plugin_e_and_more", "getConfluencePageFooterCommentsWithAuthor", "mcp__plugin_e__getConfluencePageFooerCommentsWithAuthor_45a8af0c" },
    { "Atlassian Rovo", "getJiraIssue", "mcp__Atlassian_Rovo__getJiraIssue_39ef2b7e" },
    { "src", "pat.batch", "mcp__src__pat_batch_5eb0a9cf" },
    { "\346\210\221\347\232\204\344\274\272\346\234\215\345\231\250", "\346\237\245\350\257\242", "mcp__srv__tool_d8887b37" },
    { "\345\244\251\346\260\224", "\346\237\245\350\257\242", "mcp__srv__tool_1236009d" },
    { "evil_", "_thing", "mcp__evil__thing_947b75c7" },
    { "evil", "__thing", "mcp__evil__thing_f9d198e3" },
    { "ev", "il____thing", "mcp__ev__il____thing" },
    { "a__b", "c", "mcp__a_b__c_a92700ce" },
    { "_a", "c", "mcp__a__c_e80a8bfb" },
    { "s", "", "mcp__s__tool_28a3d6d5" },
    { "", "t", "mcp__srv__t_6f950d6a" },
    { "", "", "mcp__srv__tool_6e340b9c" },
    { "__x__y__", "___", "mcp__x_y__tool_dbc3182d" },
    { "long server name", "many.dots.in.the.name.of.a.tool.that.never.ends.and.still.goes.on", "mcp__long_ser__many_dots_in_the_namds_and_still_goes_on_39ee66de" },
    { "abcdefg_hijklmnopqrst", "tttttttttttttttttttttttttttttttttttttttttttttttttttttttttttt", "mcp__abcdefg__ttttttttttttttttttttttttttttttttttttttttt_14195dd4" }
};

static const char *join(const char *server, const char *tool)
{
    static char name[MCP_NAME_MAX + 1];
    return mcp_name_join(name, sizeof name, server, tool) ? name : "(none)";
}

TEST(joined)
{
    char small[8], server[301], tool[420];
    size_t i;
    for (i = 0; i < sizeof known / sizeof *known; i++) EQ_STR(join(known[i].server, known[i].tool), known[i].name);
    EQ_STR(join(NULL, NULL), join("", ""));
    memset(server, 'x', 300); server[300] = 0;
    memset(tool, 'y', 300); tool[300] = 0;
    EQ_STR(join(server, tool), "mcp__xxxxxxxx__yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy_4f05a8c9");
    /* both ends of a long name are there, also where a character is many bytes */
    tool[0] = 'a';
    memset(tool + 1, '.', 100);
    for (i = 0; i < 150; i++) memcpy(tool + 101 + 2 * i, "\303\251", 2);
    memcpy(tool + 401, "end", 4);
    EQ_STR(join("s", tool), "mcp__s__a___________________________________________end_7fde8c56");
    EQ_INT(mcp_name_join(small, sizeof small, "a", "b"), 0);
    EQ_INT(mcp_name_join(NULL, 100, "a", "b"), 0);
    EQ_INT(mcp_name_join(small, 0, "a", "b"), 0);
    EQ_INT(mcp_name_join(tool, 9, "a", "b"), 0);
    EQ_INT(mcp_name_join(tool, 11, "a", "bcd"), 0);
    EQ_INT(mcp_name_join(tool, 11, "a", "bc"), 10);
    EQ_STR(tool, "mcp__a__bc");
}

TEST(split)
{
    const char *server = NULL, *tool = NULL;
    size_t n = 0;
    CHECK(mcp_name_split("mcp__my_server__my__tool", &server, &n, &tool));
    EQ_MEM(server, n, "my_server");
    EQ_STR(tool, "my__tool");
    CHECK(mcp_name_split("mcp__s__t", NULL, NULL, NULL));
    CHECK(!mcp_name_split(NULL, NULL, NULL, NULL));
    CHECK(!mcp_name_split("", NULL, NULL, NULL));
    CHECK(!mcp_name_split("mcp__", NULL, NULL, NULL));
    CHECK(!mcp_name_split("mcp__server", NULL, NULL, NULL));
    CHECK(!mcp_name_split("mcp__server_tool", NULL, NULL, NULL));
    CHECK(!mcp_name_split("mcp__server__", NULL, NULL, NULL));
    CHECK(!mcp_name_split("mcp____tool", NULL, NULL, NULL));
    CHECK(!mcp_name_split("server__tool", NULL, NULL, NULL));
}

TEST(match)
{
    static const struct { const char *pattern, *name; bool fits; } c[] = {
        { "mcp__git__*", "mcp__git__status", true }, { "mcp__git__*", "mcp__git__", true }, { "mcp__git__*", "mcp__github__x", false },
        { "mcp__*__read_*", "mcp__files__read_file", true }, { "mcp__*__read_*", "mcp__files__write_file", false },
        { "*", "", true }, { "*", "x", true }, { "", "", true }, { "", "x", false }, { "x", "", false }, { "a", "a", true }, { "a", "A", false },
        { "*b", "aabab", true }, { "*ab*b", "aab", false }, { "*ab*b", "aabb", true }, { "a*a", "a", false }, { "a**a", "aa", true },
        { "**", "x", true }, { "*x*y*z", "axbyxcz", true }, { "*x*y*z", "axbyxc", false }, { "a*", "ba", false }, { "a?c", "abc", false },
        { "mcp__a__b", "mcp__a__bc", false }, { "mcp__a__bc", "mcp__a__b", false }
    };
    char name[MCP_NAME_MAX + 2], *pattern = (char *)malloc(2000001);
    size_t i;
    for (i = 0; i < sizeof c / sizeof *c; i++)
        test_check(mcp_name_match(c[i].pattern, c[i].name) == c[i].fits, __FILE__, __LINE__, c[i].pattern);
    CHECK(!mcp_name_match(NULL, "x") && !mcp_name_match("x", NULL));
    memset(name, 'a', sizeof name);
    name[MCP_NAME_MAX + 1] = 0;
    CHECK(!mcp_name_match("*", name));
    name[MCP_NAME_MAX] = 0;
    CHECK(mcp_name_match("*", name));
    for (i = 0; i < 1000000; i++) memcpy(pattern + 2 * i, "*a", 2);         /* a pattern that makes others think for hours */
    pattern[2000000] = 0;
    CHECK(!mcp_name_match(pattern, name));
    memcpy(pattern + 2 * MCP_NAME_MAX - 2, "*b", 3);
    CHECK(!mcp_name_match(pattern, name));
    free(pattern);
}

static bool is(const mcp_name *x, const char *server, const char *tool)
{
    return x && strcmp(x->server, server) == 0 && strcmp(x->tool, tool) == 0;
}

TEST(table)
{
    mcp_names *n = mcp_names_new(&counting);
    int status = 1;
    const char *name = mcp_names_add(n, "git", "status", &status), *other;
    EQ_STR(name, "mcp__git__status");
    EQ_INT(status, MCP_OK);
    EQ_INT(mcp_names_count(n), 1);
    CHECK(mcp_names_add(n, "git", "status", &status) == name);      /* twice: told, and once in the table */
    EQ_INT(status, MCP_ERR_ARGUMENT);
    EQ_INT(mcp_names_count(n), 1);
    other = mcp_names_add(n, "git!", "status", NULL);
    CHECK(is(mcp_names_find(n, name), "git", "status"));
    EQ_STR(mcp_names_error(n), "");
    CHECK(is(mcp_names_find(n, other), "git!", "status"));
    EQ_STR(mcp_names_find(n, other)->name, other);
    EQ_STR(mcp_names_add(n, "git", "log", NULL), "mcp__git__log");
    EQ_INT(mcp_names_remove(n, "gi", NULL), 0);
    EQ_INT(mcp_names_remove(n, "git", "stat"), 0);
    EQ_INT(mcp_names_remove(n, "git", "log"), 1);
    EQ_INT(mcp_names_remove(n, "git", "log"), 0);
    mcp_names_add(n, "git", "push", NULL);
    EQ_INT(mcp_names_remove(n, "git", NULL), 2);
    EQ_INT(mcp_names_count(n), 1);
    CHECK(is(mcp_names_find(n, other), "git!", "status"));
    EQ_INT(mcp_names_remove(n, "git!", NULL), 1);
    EQ_INT(mcp_names_count(n), 0);
    CHECK(!mcp_names_find(n, join("git!", "status")));
    EQ_STR(mcp_names_add(n, NULL, NULL, NULL), join("", ""));
    EQ_INT(mcp_names_remove(n, NULL, NULL), 1);
    mcp_names_free(n);
    EQ_INT(live, 0);
    CHECK(!mcp_names_add(NULL, "a", "b", &status) && status == MCP_ERR_ARGUMENT);
    CHECK(!mcp_names_find(NULL, "a") && !mcp_names_remove(NULL, "a", NULL) && !mcp_names_count(NULL));
    EQ_STR(mcp_names_error(NULL), "");
    mcp_names_free(NULL);
}

/* Somebody gives a tool the name that another's digest makes, and the longer ones, too. */
TEST(forged)
{
    enum { LEVELS = 6 };
    char part[LEVELS][MCP_NAME_MAX], first[MCP_NAME_MAX + 1];
    const char *x = NULL, *tool;
    int order, i, k;
    for (k = 0; k < LEVELS; k++) {              /* part[k]: what a.b is called when k of its names are taken */
        mcp_names *n = mcp_names_new(NULL);
        for (i = 0; i < k; i++) mcp_names_add(n, "s", part[i], NULL);
        x = mcp_names_add(n, "s", "a.b", NULL);
        EQ_INT(strlen(x), strlen("mcp__s__a_b_") + (size_t)(k < 2 ? 8 + 4 * k : 16));
        CHECK(mcp_name_split(x, NULL, NULL, &tool));
        for (i = 0; i < k; i++) CHECK(strcmp(part[i], tool) != 0);
        strcpy(part[k], tool);
        CHECK(k == 0 || k > 2 || strncmp(part[k], part[k - 1], strlen(part[k - 1])) == 0);
        mcp_names_free(n);
    }
    for (order = 0; order < LEVELS + 1; order++) {      /* a.b comes at each place */
        mcp_names *n = mcp_names_new(NULL);
        char was[MCP_NAME_MAX + 1];
        for (i = 0; i < LEVELS; i++) {
            if (i == order) x = mcp_names_add(n, "s", "a.b", NULL);
            mcp_names_add(n, "s", part[(i * 5 + 3) % LEVELS], NULL);
        }
        if (order == LEVELS) x = mcp_names_add(n, "s", "a.b", NULL);
        CHECK(is(mcp_names_find(n, x), "s", "a.b"));
        strcpy(was, x);
        for (i = 0; i < LEVELS; i++) {
            char name[MCP_NAME_MAX + 1];
            mcp_name_join(name, sizeof name, "s", part[i]);
            CHECK(is(mcp_names_find(n, name), "s", part[i]));
        }
        EQ_INT(mcp_names_remove(n, "s", part[1]), 1);   /* who has given way stays where it went */
        CHECK(is(mcp_names_find(n, was), "s", "a.b"));
        EQ_STR(x, was);
        mcp_names_add(n, "s", part[1], NULL);
        EQ_STR(x, was);
        mcp_names_free(n);
        if (order == 0) strcpy(first, was);
        EQ_STR(was, first);                             /* the same in each order */
    }
}

TEST(tolerant)
{
    mcp_names *n = mcp_names_new(NULL);
    const char *dotted;
    char longest[5000];
    mcp_names_add(n, "my-server", "do-thing", NULL);
    mcp_names_add(n, "git", "Status", NULL);
    mcp_names_add(n, "hub", "status", NULL);
    dotted = mcp_names_add(n, "hub", "issue.list", NULL);
    CHECK(is(mcp_names_find(n, "mcp__my_server__do_thing"), "my-server", "do-thing"));
    CHECK(is(mcp_names_find(n, "MCP__My_Server__Do-Thing"), "my-server", "do-thing"));
    CHECK(is(mcp_names_find(n, "my_server__do_thing"), "my-server", "do-thing"));
    CHECK(is(mcp_names_find(n, "do_thing"), "my-server", "do-thing"));
    CHECK(is(mcp_names_find(n, "issue.list"), "hub", "issue.list"));       /* its server's own word for it */
    CHECK(is(mcp_names_find(n, dotted + 10), "hub", "issue.list"));
    CHECK(!mcp_names_find(n, "status"));
    EQ_STR(mcp_names_error(n), "\"status\" could be mcp__git__Status, mcp__hub__status. Call one of them by its exact name.");
    CHECK(is(mcp_names_find(n, "git__status"), "git", "Status"));
    EQ_STR(mcp_names_error(n), "");
    CHECK(!mcp_names_find(n, "stat") && !mcp_names_find(n, "mcp__git__status_") && !mcp_names_find(n, "server__do_thing"));
    CHECK(!mcp_names_find(n, "mcp__git__statu"));
    EQ_STR(mcp_names_error(n), "There is no tool \"mcp__git__statu\". Call one that there is, by its exact name.");
    mcp_names_add(n, "s", "", NULL);
    CHECK(!mcp_names_find(n, "") && !mcp_names_find(n, NULL));
    mcp_names_add(n, "my_server", "do_thing", NULL);                       /* now it is exact */
    CHECK(is(mcp_names_find(n, "mcp__my_server__do_thing"), "my_server", "do_thing"));
    CHECK(!mcp_names_find(n, "mcp__My_server__do_thing"));
    CHECK(strstr(mcp_names_error(n), "mcp__my-server__do-thing, mcp__my_server__do_thing."));
    mcp_names_add(n, "x", "mcp__git__STATUS", NULL);    /* a name like another's: an error, and the exact one as before */
    CHECK(!mcp_names_find(n, "mcp__git__STATUS"));
    CHECK(is(mcp_names_find(n, "mcp__git__Status"), "git", "Status"));
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    CHECK(!mcp_names_find(n, longest) && strlen(mcp_names_error(n)) < 250);
    {
        char server[40];
        int i;
        for (i = 0; i < 40; i++) { sprintf(server, "a-long-name-of-a-one-%d", i); mcp_names_add(n, server, "the_tool_that_they_all_have", NULL); }
        CHECK(!mcp_names_find(n, "the_tool_that_they_all_have"));
        CHECK(strstr(mcp_names_error(n), "one-5__the_tool_that_they_all_have and 34 more. Call one of them by its exact name."));
    }
    mcp_names_free(n);
}

/* -- pairs that mean no good ------------------------------------------------------------------------------------- */

static uint32_t seed = 1;
static uint32_t pick(uint32_t n)
{
    seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5;
    return seed % n;
}

/* A string of any kind: words, control bytes, invalid UTF-8, CJK, underscores, long ones. */
static void hostile(char *to)
{
    static const char *const bits[] = { "a", "B", "get", "_", "__", "-", ".", "/", " ", "\t", "\001", "\177", "\xC3", "\x80", "\xFF", "\xF0\x9F",
                                        "\xE6\x9F\xA5", "\xE8\xAF\xA2", "\xC3\xA9", "x1", "mcp__", "list_all", "9", "%", "\"", "\\" };
    uint32_t kind = pick(8), n = kind == 0 ? 60 + pick(40) : kind == 1 ? 0 : 1 + pick(kind == 2 ? 12 : 4);
    char *p = to;
    while (n--) {
        const char *b = bits[kind == 3 ? pick(3) : kind == 4 ? 3 + pick(3) : pick(sizeof bits / sizeof *bits)];
        memcpy(p, b, strlen(b));
        p += strlen(b);
    }
    *p = 0;
}

static bool legal(const char *name)
{
    size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    return n && n <= 64 && !name[n] && (name[0] < '0' || name[0] > '9') && name[0] != '-';
}

TEST(random_pairs)
{
    size_t want = getenv("NAMES") ? (size_t)strtoul(getenv("NAMES"), NULL, 10) : 20000, count = 0, i, wrong[5] = {0}, renamed = 0;
    const char **names = (const char **)malloc(want * sizeof *names), **others = (const char **)malloc(want * sizeof *others);
    mcp_names *n = mcp_names_new(&counting), *m = mcp_names_new(NULL);
    char server[700], tool[700];
    while (count < want) {
        int status;
        const char *name;
        if (count && pick(5) == 0) {                    /* a name that somebody has, as a tool of a server that looks like it */
            const char *s, *t;
            size_t sn;
            if (!mcp_name_split(names[pick((uint32_t)count)], &s, &sn, &t)) { wrong[0]++; continue; }
            memcpy(server, s, sn);
            server[sn] = 0;
            strcpy(tool, t);
        } else { hostile(server); hostile(tool); }
        name = mcp_names_add(n, server, tool, &status);
        if (status == MCP_OK) names[count++] = name;
        else if (status != MCP_ERR_ARGUMENT) wrong[1]++;
    }
    for (i = 0; i < count; i++) {
        const mcp_name *x = mcp_names_find(n, names[i]);
        if (!legal(names[i])) wrong[0]++;
        if (!x || x->name != names[i]) { wrong[2]++; others[i] = NULL; continue; }     /* not distinct */
        renamed += strcmp(names[i], join(x->server, x->tool)) != 0;
    }
    /* the same in another order, and after half of them has gone and come back; the table finds the pair of each name */
    for (i = count; i-- > 0;) {
        const mcp_name *x = mcp_names_find(n, names[(i * 7919 + 13) % count]);
        if (count % 7919) others[(i * 7919 + 13) % count] = mcp_names_add(m, x->server, x->tool, NULL);
    }
    for (i = 0; i < count; i++) wrong[3] += strcmp(names[i], others[i]) != 0;
    for (i = 0; i < count; i += 2) {
        const mcp_name *x = mcp_names_find(n, names[i]);
        if (mcp_names_remove(m, x->server, x->tool) != 1) wrong[4]++;
    }
    EQ_INT(mcp_names_count(m), count / 2);
    for (i = 1; i < count; i += 2) wrong[4] += mcp_names_find(m, names[i]) == NULL;
    for (i = 0; i < count; i += 2) {
        const mcp_name *x = mcp_names_find(n, names[i]);
        others[i] = mcp_names_add(m, x->server, x->tool, NULL);
    }
    for (i = 0; i < count; i++) wrong[4] += strcmp(names[i], others[i]) != 0;
    for (i = 0; i < 5; i++) EQ_INT(wrong[i], 0);
    CHECK(renamed > 0 && renamed < count / 4);          /* forged digests: it did happen */
    printf("%lu pairs, %lu of them gave way to a forged name\n", (unsigned long)count, (unsigned long)renamed);
    mcp_names_free(n);
    mcp_names_free(m);
    EQ_INT(live, 0);
    free(names);
    free(others);
}

TEST(no_memory)
{
    long at;
    for (at = 1; ; at++) {
        mcp_names *n;
        int status = MCP_OK, i;
        bool all = true;
        calls = 0;
        fail_at = at;
        n = mcp_names_new(&counting);
        for (i = 0; n && i < 4; i++) {
            char tool[2] = { (char)('a' + i), 0 };
            const char *name = mcp_names_add(n, "s", tool, &status);
            CHECK((name == NULL) == (status == MCP_ERR_MEMORY));
            all = all && name;
            fail_at = -1;                               /* then it goes on as if nothing had been */
            CHECK(is(mcp_names_find(n, mcp_names_add(n, "s", tool, NULL)), "s", tool));
            fail_at = at;
        }
        if (n) EQ_INT(mcp_names_count(n), 4);
        mcp_names_free(n);
        EQ_INT(live, 0);
        if (n && all) break;
    }
    fail_at = -1;
    CHECK(at > 5);
}

/* The cases that others have reported, where they are. */
TEST(reported)
{
    FILE *f = fopen("../shared/data/schema_cases.json", "rb");
    size_t len, cases = 0;
    char *text;
    mcp_arena a;
    const mcp_json *all;
    if (!f) { puts("skip  no ../shared/data/schema_cases.json: names that others reported"); return; }
    text = (char *)malloc(1 << 20);
    len = fread(text, 1, 1 << 20, f);
    fclose(f);
    mcp_arena_init(&a, NULL, 0);
    all = mcp_json_parse(&a, text, len, NULL);
    mcp_json_each(c, all) {
        mcp_names *n = mcp_names_new(NULL);
        const mcp_json *want = mcp_json_first(mcp_json_get(c, "expected"));
        const char *id = mcp_json_str(mcp_json_get(c, "id"), "");
        size_t pairs = 0;
        if (strcmp(mcp_json_str(mcp_json_get(c, "kind"), ""), "name") == 0) {
            mcp_json_each(pair, mcp_json_get(c, "input_names")) {
                const char *s = mcp_json_str(mcp_json_at(pair, "/0"), ""), *t = mcp_json_str(mcp_json_at(pair, "/1"), "");
                int status;
                const char *name = mcp_names_add(n, s, t, &status);
                test_check(status == MCP_OK || strcmp(id, "name-same-server-dup") == 0, __FILE__, __LINE__, id);
                test_check(legal(name) && is(mcp_names_find(n, name), s, t), __FILE__, __LINE__, id);
                if (want) { EQ_STR(name, mcp_json_str(want, "")); want = mcp_json_next(want); }
                pairs += status == MCP_OK;
            }
            EQ_INT(mcp_names_count(n), pairs);
            cases++;
        }
        mcp_names_free(n);
    }
    CHECK(cases >= 14);
    mcp_arena_free(&a);
    free(text);
}

int main(void)
{
    RUN(joined);
    RUN(split);
    RUN(match);
    RUN(table);
    RUN(forged);
    RUN(tolerant);
    RUN(random_pairs);
    RUN(no_memory);
    RUN(reported);
    return test_end();
}
