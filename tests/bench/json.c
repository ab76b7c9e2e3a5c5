/* How fast JSON is read and written, as MB/s of CPU time and as a ratio to memcpy of the same bytes in the same round.
     json [-r ROUNDS] [FILE...]      each line of the files is one text; synthetic texts come after them. A line each:
                                     name, bytes, then MB/s and ratio for memcpy, parse, parse and touch, write again
     json -c N                       parses and touches the tool list of 50 KB N times, to be counted; prints its size
   The heap is warm: arena and writer keep their memory. "Touch" reads every key and string and converts each number. */
#include "bench.h"
#define MCP_IMPLEMENTATION
#include "mcp.h"

enum { ROUNDS = 64, MOST = 4096 };
typedef struct set { const char *name; char *text[MOST]; size_t len[MOST], n, bytes; } set;
enum { COPY, PARSE, TOUCH, WRITE, WORKS };

static volatile double sink;

static double touch(const mcp_json *v)
{
    double sum = 0;
    for (; v; v = mcp_json_next(v)) {
        size_t n;
        const char *key = mcp_json_keyn(v, &n), *s;
        if (key) sum += (double)n + key[0];
        switch (mcp_json_type(v)) {
        case MCP_JSON_STRING: if ((s = mcp_json_text(v, &n))) sum += (double)n + s[0]; break;
        case MCP_JSON_NUMBER: sum += mcp_json_num(v, 0); break;
        case MCP_JSON_BOOL:   sum += mcp_json_bool(v, false); break;
        default:              sum += touch(mcp_json_first(v));
        }
    }
    return sum;
}

/* Does one work with all texts of the set; the values to be written were parsed before. */
static void work(const set *t, int what, const mcp_json *const *values, mcp_arena *a, mcp_writer *w, char *copy)
{
    size_t i, pos;
    for (i = 0; i < t->n; i++) {
        const mcp_json *v;
        switch (what) {
        case COPY:
            memcpy(copy, t->text[i], t->len[i]);
            sink += copy[t->len[i] / 2];
            break;
        case WRITE:
            mcp_writer_reset(w);
            mcp_put_json(w, NULL, values[i]);
            if (mcp_writer_status(w)) die(mcp_strerror(mcp_writer_status(w)));
            break;
        default:
            mcp_arena_reset(a);
            if (!(v = mcp_json_parse(a, t->text[i], t->len[i], &pos))) die("a text is not JSON");
            if (what == TOUCH) sink += touch(v);
        }
    }
}

static void measure(const set *t, size_t rounds)
{
    static const mcp_json *values[MOST];
    static double speed[WORKS][ROUNDS], ratio[WORKS][ROUNDS];
    mcp_arena kept, a;
    mcp_writer w;
    char *copy;
    size_t i, r, longest = 0;
    int k;
    mcp_arena_init(&kept, NULL, 0); mcp_arena_init(&a, NULL, 0); mcp_writer_init(&w, NULL, 0);
    for (i = 0; i < t->n; i++) {
        if (!(values[i] = mcp_json_parse(&kept, t->text[i], t->len[i], NULL))) die("a text is not JSON");
        if (t->len[i] > longest) longest = t->len[i];
    }
    copy = more(NULL, longest);
    for (k = 0; k < WORKS; k++) work(t, k, values, &a, &w, copy);           /* warm */
    for (r = 0; r < rounds; r++)
        for (k = 0; k < WORKS; k++) {
            double begin = own_cpu_us(), us;
            size_t times = 0;
            do {
                size_t j, chunk = t->bytes < 10000 ? 200 : 1;
                for (j = 0; j < chunk; j++) work(t, k, values, &a, &w, copy);
                times += chunk;
            } while ((us = own_cpu_us() - begin) < 8000);
            speed[k][r] = (double)t->bytes * (double)times / us;
            ratio[k][r] = speed[k][r] / speed[COPY][r];
        }
    printf("%s|%lu", t->name, (unsigned long)t->bytes);
    for (k = 0; k < WORKS; k++) printf("|%.0f|%.4f", median(speed[k], rounds), median(ratio[k], rounds));
    printf("\n");
    mcp_arena_free(&kept); mcp_arena_free(&a); mcp_writer_free(&w); free(copy);
}

static void add(set *t, char *text, size_t len)
{
    if (t->n == MOST) die("too many texts");
    t->text[t->n] = text; t->len[t->n++] = len; t->bytes += len;
}

static void add_file(set *t, const char *path)
{
    FILE *f = fopen(path, "rb");
    char *all = NULL, *end;
    size_t len = 0, n;
    if (!f) die(path);
    do { all = more(all, len + 65537); len += n = fread(all + len, 1, 65536, f); } while (n);
    fclose(f);
    for (all[len] = '\n'; len && (end = memchr(all, '\n', len + 1)); len -= (size_t)(end - all), all = end) {
        if (end > all) add(t, all, (size_t)(end - all));
        end++; if ((size_t)(end - all) > len) break;
    }
}

/* -- synthetic texts: `piece` (with a number in it) over and over, up to about `size` bytes -- */

static set synthetic(const char *name, const char *before, const char *piece, const char *after, size_t size)
{
    set t = { .name = name };
    char *s = more(NULL, size + 2048);
    size_t len = strlen(before);
    unsigned long i = 0, x = 1;
    memcpy(s, before, len);
    while (len < size) {
        x = x * 1103515245UL + 12345UL; x &= 0xffffffffUL;
        len += (size_t)snprintf(s + len, 2048, piece, i++, x);
    }
    if (s[len - 1] == ',') len--;
    memcpy(s + len, after, strlen(after));
    add(&t, s, len + strlen(after));
    return t;
}

static set tool_list(void)
{
    return synthetic("tool list, 50 KB", "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[",
        "{\"name\":\"tool_%lu\",\"title\":\"A tool\",\"description\":\"Does what tool %lu does: reads \\\"one\\\" file and tells\\n"
        "what is in it. Paths are relative to the root, and must not leave it.\",\"inputSchema\":{\"type\":\"object\","
        "\"properties\":{\"path\":{\"type\":\"string\",\"description\":\"Which file to read\",\"minLength\":1},\"lines\":"
        "{\"type\":\"integer\",\"minimum\":0,\"maximum\":10000,\"default\":100},\"follow\":{\"type\":\"boolean\",\"default\":false}},"
        "\"required\":[\"path\"],\"additionalProperties\":false},\"annotations\":{\"readOnlyHint\":true}},", "]}}", 50000);
}

int main(int argc, char **argv)
{
    static set files = { .name = "tool lists of real servers" };
    size_t rounds = 7, count = 0, i;
    int c;
    while ((c = getopt(argc, argv, "r:c:")) != -1)
        if (c == 'r') rounds = (size_t)atol(optarg);
        else if (c == 'c') count = (size_t)atol(optarg);
        else return 2;
    if (rounds < 1 || rounds > ROUNDS) return 2;
    if (count) {
        set t = tool_list();
        mcp_arena a;
        mcp_arena_init(&a, NULL, 0);
        for (i = 0; i < count; i++) work(&t, TOUCH, NULL, &a, NULL, NULL);
        mcp_arena_free(&a);
        printf("%lu\n", (unsigned long)t.bytes);
        return 0;
    }
    for (; optind < argc; optind++) add_file(&files, argv[optind]);
    if (files.n) measure(&files, rounds);
    {
        static set t[6];
        t[0] = synthetic("small call", "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":"
            "{\"text\":\"Hello.\"}}}", "", "", 0);
        t[1] = tool_list();
        t[2] = synthetic("base64, 10 MB", "\"", "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4%08lu%08lx", "\"", 10000000);
        t[3] = synthetic("escapes and unicode, 5 MB", "[", "\"line %lu\\n\\tsaid \\\"%lx\\\" \\u00e9t\\u00e9 \\ud83d\\ude00 caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e \\\\path\\/\",", "]", 5000000);
        t[4] = synthetic("numbers, 5 MB", "[", "%lu,-%lu.25,1.5e3,0.1234567890123,", "]", 5000000);
        for (i = 0; i < 5; i++) measure(&t[i], rounds);
    }
    return 0;
}
