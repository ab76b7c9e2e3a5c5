/* How long it takes to fit schemas for a provider, from text to text, as a ratio to parsing the same text and writing it again, in the
   same round.
     sanitize [-r ROUNDS] [FILE...]  each FILE is the answer to tools/list of a real server, a JSON message a line. A line for each profile,
                                     over the schemas of all tools of all files: name, schemas, their bytes, MB/s to parse and write, MB/s
                                     to fit, ratio of the times. Then growth: a larger schema (ten times, but for the deep one), ns for a
                                     byte of each, ratio.
   The heap is warm: arenas and writers keep their memory. A schema that cannot be fitted ends the program. */
#include "bench.h"
#define MCP_IMPLEMENTATION
#include "mcp.h"

enum { ROUNDS = 64, MOST = 4096 };
typedef struct text { char *at; size_t len; } text;
typedef struct set { text schema[MOST]; size_t n, bytes; } set;

static void add(set *s, char *at, size_t len)
{
    if (s->n == MOST) die("too many schemas");
    s->schema[s->n].at = at;
    s->schema[s->n++].len = len;
    s->bytes += len;
}

/* ns for one round over all schemas: [0] parsed and written, [1] parsed and fitted. */
static void measure(const set *s, mcp_profile profile, size_t rounds, double out[2])
{
    static double plain[ROUNDS], fitted[ROUNDS];
    size_t r, i, j, times = 1 + 300000 / (s->bytes + 1);
    mcp_fit_desc d;
    mcp_arena a;
    mcp_writer w;
    memset(&d, 0, sizeof d);
    d.profile = profile;
    mcp_arena_init(&a, NULL, 0);
    mcp_writer_init(&w, NULL, 0);
    for (r = 0; r <= rounds; r++) {         /* the first one warms the heap */
        double us[2] = { 0, 0 }, begin;
        int fit;
        for (fit = 0; fit < 2; fit++) {
            begin = own_cpu_us();
            for (j = 0; j < times; j++) for (i = 0; i < s->n; i++) {
                const mcp_json *v;
                mcp_arena_reset(&a);
                mcp_writer_reset(&w);
                v = mcp_json_parse(&a, s->schema[i].at, s->schema[i].len, NULL);
                if (fit) (void)mcp_schema_fit(&a, v, &d, &w); else mcp_put_json(&w, NULL, v);
                if (!v || !mcp_writer_text(&w, NULL)) die("a schema");
            }
            us[fit] = own_cpu_us() - begin;
        }
        if (!r) continue;
        plain[r - 1] = us[0] * 1000 / (double)times;
        fitted[r - 1] = us[1] * 1000 / (double)times;
    }
    out[0] = median(plain, rounds);
    out[1] = median(fitted, rounds);
    mcp_writer_free(&w);
    mcp_arena_free(&a);
}

static void file(set *s, const char *path)
{
    FILE *f = fopen(path, "rb");
    char *all = NULL;
    const char *line;
    size_t len = 0, n;
    mcp_arena a;
    if (!f) die(path);
    do { all = (char *)more(all, len + 65536); len += n = fread(all + len, 1, 65536, f); } while (n);
    fclose(f);
    mcp_arena_init(&a, NULL, 0);
    for (line = all; line < all + len; line += n + 1) {
        const char *end = (const char *)memchr(line, '\n', (size_t)(all + len - line));
        n = end ? (size_t)(end - line) : (size_t)(all + len - line);
        mcp_json_each(t, mcp_json_at(mcp_json_parse(&a, line, n, NULL), "/result/tools")) {
            mcp_writer w;
            size_t size;
            mcp_writer_init(&w, NULL, 0);
            mcp_put_json(&w, NULL, mcp_json_get(t, "inputSchema"));
            if (!mcp_writer_text(&w, &size)) die(path);
            add(s, w.buf, size);            /* which is kept */
        }
    }
    free(all);
    mcp_arena_free(&a);
}

/* -- growth -- */

/* `piece` n times, with its number in it up to three times, between the other two. */
static char *repeat(const char *before, const char *piece, unsigned n, const char *after)
{
    char *s = (char *)more(NULL, strlen(before) + strlen(after) + n * (strlen(piece) + 40) + 1), *p = s + sprintf(s, "%s", before);
    unsigned i;
    for (i = 0; i < n; i++) { if (i && *piece == '"') *p++ = ','; p += sprintf(p, piece, i, i + 1, i); }
    strcpy(p, after);
    return s;
}

static char *deep(const char *open, const char *core, const char *close, unsigned n)
{
    char *before = repeat("", open, n, core), *s = repeat(before, close, n, "");
    free(before);
    return s;
}

static void growth(const char *name, mcp_profile profile, char *small, char *large)
{
    double each[2], ns[2];
    int i;
    for (i = 0; i < 2; i++) {
        static set s;
        s.n = s.bytes = 0;
        add(&s, i ? large : small, strlen(i ? large : small));
        measure(&s, profile, 5, ns);
        each[i] = ns[1] / (double)s.bytes;
    }
    printf("growth %s, %s|1|%lu|%.3f|%.3f|%.3f\n", name, mcp_profile_name(profile), (unsigned long)strlen(large), each[0], each[1], each[1] / each[0]);
    free(small);
    free(large);
}

#define WIDE(n)     repeat("{\"type\":\"object\",\"properties\":{", "\"key%u\":{\"type\":\"integer\",\"const\":%u}", n, "}}")
#define BRANCHES(n) repeat("{\"type\":\"object\",\"properties\":{\"u\":{\"anyOf\":[{\"type\":\"null\"}", \
                           ",{\"type\":\"object\",\"properties\":{\"k%u\":{\"type\":\"string\"}},\"description\":\"branch %u\"}", n, "]}}}")
#define VALUES(n)   repeat("{\"type\":\"object\",\"properties\":{\"e\":{\"enum\":[", "\"value %u\"", n, "]}}}")
#define PARTS(n)    repeat("{\"type\":\"object\",\"allOf\":[{}", ",{\"properties\":{\"k%u\":{\"type\":\"string\"}},\"required\":[\"k%u\"]}", n, "]}")
#define DEEP(n)     deep("{\"type\":\"object\",\"properties\":{\"a\":", "{\"type\":\"string\"}", "}}", n)
#define CHAIN(n)    repeat("{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/d0\"}},\"$defs\":{", \
                           "\"d%u\":{\"$ref\":\"#/$defs/d%u\"}", n, ",\"end\":{}}}")
#define RING(n)     repeat("{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#/$defs/d0\"}},\"$defs\":{", \
                           "\"d%u\":{\"type\":\"object\",\"properties\":{\"next\":{\"$ref\":\"#/$defs/d%u\"},\"first\":{\"$ref\":\"#/$defs/d0\"}}}", n, \
                           ",\"end\":{}}}")
#define TREES(n)    repeat("{\"type\":\"object\",\"$defs\":{\"t\":{\"type\":\"object\",\"properties\":{\"l\":{\"$ref\":\"#/$defs/t\"},\"r\":{\"$ref\":\"#/$defs/t\"}}}}," \
                           "\"properties\":{", "\"t%u\":{\"$ref\":\"#/$defs/t\"}", n, "}}")

int main(int argc, char **argv)
{
    static set all;
    size_t rounds = 9;
    double ns[2];
    int c, p;
    while ((c = getopt(argc, argv, "r:")) != -1) if (c == 'r') rounds = (size_t)atol(optarg); else return 2;
    if (rounds < 1 || rounds > ROUNDS) return 2;
    for (; optind < argc; optind++) file(&all, argv[optind]);
    for (p = 0; all.n && mcp_profile_name((mcp_profile)p); p++) {
        measure(&all, (mcp_profile)p, rounds, ns);
        printf("%s|%lu|%lu|%.0f|%.0f|%.3f\n", mcp_profile_name((mcp_profile)p), (unsigned long)all.n, (unsigned long)all.bytes,
               (double)all.bytes * 1000 / ns[0], (double)all.bytes * 1000 / ns[1], ns[1] / ns[0]);
    }
    for (p = 0; mcp_profile_name((mcp_profile)p); p++) {        /* one that inlines, one that keeps references, one that is strict */
        if (p != MCP_GEMINI && p != MCP_MOONSHOT && p != MCP_OPENAI_STRICT) continue;
        growth("wide", (mcp_profile)p, WIDE(400), WIDE(4000));
        growth("wide, past the budget", (mcp_profile)p, WIDE(10000), WIDE(100000));
        growth("branches of a union", (mcp_profile)p, BRANCHES(100), BRANCHES(1000));
        growth("values of an enum", (mcp_profile)p, VALUES(1500), VALUES(15000));
        growth("parts of allOf", (mcp_profile)p, PARTS(200), PARTS(2000));
        growth("deep", (mcp_profile)p, DEEP(70), DEEP(250));    /* all that is parsed */
        growth("a chain of references", (mcp_profile)p, CHAIN(400), CHAIN(4000));
        growth("a ring of references", (mcp_profile)p, RING(400), RING(4000));
        growth("trees that refer to themselves", (mcp_profile)p, TREES(100), TREES(1000));
    }
    return 0;
}
