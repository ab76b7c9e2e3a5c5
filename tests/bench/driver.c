/* Measures servers over pipes, in turns, by a raw client of its own.
     driver calls [-m] [-w WINDOW] [-s SIZE] [-n COUNT] [-r ROUNDS] [-t TOOL | -l] PROGRAM...
         calls of the echo tool (or TOOL, or tools/list) with a text of SIZE bytes; -m: modern. For each program a line
         with the medians over all rounds: RTT p50 in us, CPU of the server per call in us, and both as ratios to the
         first program in the same round
     driver start [-r ROUNDS] PROGRAM...     time from fork to the answer to initialize: us, ratio to the first
     driver memory [-r ROUNDS] PROGRAM...    KiB: RSS when initialized, and what of it is not pages of files; the
                                             peak of RSS after 20,000 calls, and after 10 of 1 MiB
     driver read [-n COUNT] [-r ROUNDS] PROGRAM...   reads of bench://blob: as calls, wall us and CPU us of each
     driver pages [-n COUNT] [-r ROUNDS] PROGRAM     CPU us of the server for COUNT lists of all resources, page by page
     driver updates -n COUNT [-r ROUNDS] PROGRAM     subscribes to bench://0 and on, then has all of them changed: CPU us of
                                             the server for each subscription, and for each change
     driver asks [-m] [-n COUNT] [-r ROUNDS] PROGRAM...      calls of the tool `ask`, which asks one question: as calls
     driver allocations PROGRAM              allocations of 10,000 calls, once warm: legacy, modern */
#include "bench.h"

enum { PROGRAMS = 4, ROUNDS = 64 };

static struct options { bool modern, list, blob; size_t window, size, count, rounds; const char *tool; } o =
    { false, false, false, 1, 100, 1000, 9, "echo" };

static void print_ratio(double v[PROGRAMS][ROUNDS], int at, size_t rounds)
{
    double ratio[ROUNDS];
    size_t r;
    for (r = 0; r < rounds; r++) ratio[r] = v[0][r] > 0 ? v[at][r] / v[0][r] : 0;
    printf(" %.4g", median(ratio, rounds));
}

static void calls(char **programs, int n)
{
    static double rtt[PROGRAMS][ROUNDS], cpu[PROGRAMS][ROUNDS];
    proc p[PROGRAMS];
    double *times = more(NULL, (o.count + o.window) * sizeof *times), copy[ROUNDS];
    size_t len, r, warm = o.window;
    char *tail = call_tail(o.modern, o.tool, o.size, &len);
    int i;
    if (o.blob) {
        snprintf(tail, len, ",\"method\":\"resources/read\",\"params\":{\"uri\":\"bench://blob\"}}\n");
        len = strlen(tail);
    }
    if (o.list) {
        snprintf(tail, len, ",\"method\":\"tools/list\"%s}\n", o.modern ? ",\"params\":{" META "}" : "");
        len = strlen(tail);
    }
    for (i = 0; i < n; i++) {
        const char *first;
        p[i] = proc_start(programs[i]);
        handshake(&p[i], o.modern);
        first = ask(&p[i], tail);
        if (!strstr(first, o.list ? "tools" : o.blob ? "\"blob\":" : "xxx") || strstr(first, "\"error\":") || strstr(first, "\"isError\":true")) die(first);
        play(&p[i], tail, len, o.window, warm, NULL, NULL);
    }
    for (r = 0; r < o.rounds; r++)
        for (i = 0; i < n; i++) {
            double before = child_cpu_us(p[i].pid);
            if (o.count) play(&p[i], tail, len, o.window, o.count, times, NULL);
            cpu[i][r] = o.count ? (child_cpu_us(p[i].pid) - before) / (double)o.count : 0;
            rtt[i][r] = o.count ? median(times, o.count) : 0;
        }
    for (i = 0; i < n; i++) {
        memcpy(copy, rtt[i], sizeof copy); printf("%.4g", median(copy, o.rounds));
        memcpy(copy, cpu[i], sizeof copy); printf(" %.4g", median(copy, o.rounds));
        print_ratio(rtt, i, o.rounds);
        print_ratio(cpu, i, o.rounds);
        printf("\n");
        proc_end(&p[i]);
    }
    free(tail); free(times);
}

/* The text between `before` and the next quote, or NULL. */
static char *quoted(const char *line, const char *before)
{
    const char *s = strstr(line, before), *end = s ? strchr(s + strlen(before), '"') : NULL;
    char *copy;
    if (!end) return NULL;
    s += strlen(before);
    copy = more(NULL, (size_t)(end - s) + 1);
    memcpy(copy, s, (size_t)(end - s));
    copy[end - s] = 0;
    return copy;
}

static void pages(const char *program)
{
    double cpu[ROUNDS];
    char tail[256];
    size_t r, i;
    proc p = proc_start(program);
    handshake(&p, false);
    for (r = 0; r < o.rounds; r++) {
        double before = child_cpu_us(p.pid);
        for (i = 0; i < o.count; i++) {
            char *cursor = NULL;
            do {
                const char *line;
                if (cursor) snprintf(tail, sizeof tail, ",\"method\":\"resources/list\",\"params\":{\"cursor\":\"%s\"}}\n", cursor);
                else snprintf(tail, sizeof tail, ",\"method\":\"resources/list\"}\n");
                line = ask(&p, tail);
                if (!strstr(line, "\"resources\":[{")) die(line);
                free(cursor);
                cursor = quoted(line, "\"nextCursor\":\"");
            } while (cursor);
        }
        cpu[r] = (child_cpu_us(p.pid) - before) / (double)o.count;
    }
    printf("%.4g\n", median(cpu, o.rounds));
    proc_end(&p);
}

/* Waits for `count` notifications of a change, and the answer to a call besides if there is one to come. */
static void changes(proc *p, size_t count, bool answer)
{
    size_t got = 0;
    char *line;
    while (got < count || answer) {
        proc_move(p);
        while ((line = proc_line(p))) {
            if (strstr(line, "notifications/resources/updated")) got++;
            else if (id_of(line)) answer = false;
        }
    }
}

static void updates(const char *program)
{
    double cpu[ROUNDS], subscribing;
    size_t len, r, i;
    char *touch = call_tail(false, "touch", 1, &len);
    proc p = proc_start(program);
    handshake(&p, false);
    subscribing = child_cpu_us(p.pid);
    for (i = 0; i < o.count; i++) {
        char tail[128];
        snprintf(tail, sizeof tail, ",\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"bench://%lu\"}}\n", (unsigned long)i);
        if (strstr(ask(&p, tail), "error")) die("no subscription");
    }
    subscribing = (child_cpu_us(p.pid) - subscribing) / (double)o.count;
    for (r = 0; r < o.rounds; r++) {
        double before = child_cpu_us(p.pid);
        for (i = 0; i < 20; i++) {
            char id[24];
            snprintf(id, sizeof id, "%lu", p.next_id++);
            put(&p, HEAD, sizeof HEAD - 1); put(&p, id, strlen(id)); put(&p, touch, len);
            changes(&p, o.count, true);
        }
        cpu[r] = (child_cpu_us(p.pid) - before) / 20 / (double)o.count;
    }
    printf("%.4g %.4g\n", subscribing, median(cpu, o.rounds));
    free(touch);
    proc_end(&p);
}

#define CAN_ANSWER "{\"elicitation\":{\"form\":{}}}"

/* One call of `ask`, and the answer to its question. */
static void ask_one(proc *p)
{
    static const char answer[] = "{\"action\":\"accept\",\"content\":{\"name\":\"xxx\"}}";
    char tail[2048], *state;
    const char *line;
    snprintf(tail, sizeof tail, ",\"method\":\"tools/call\",\"params\":{%s\"name\":\"ask\",\"arguments\":{}}}\n", o.modern ? META_OF(CAN_ANSWER) "," : "");
    line = ask(p, tail);
    if (o.modern) {
        if (!(state = quoted(line, "\"requestState\":\""))) die(line);
        snprintf(tail, sizeof tail, ",\"method\":\"tools/call\",\"params\":{%s,\"name\":\"ask\",\"arguments\":{},\"inputResponses\":{\"q\":%s},"
                 "\"requestState\":\"%s\"}}\n", META_OF(CAN_ANSWER), answer, state);
        free(state);
        line = ask(p, tail);
    } else {
        if (!strstr(line, "elicitation/create")) die(line);
        snprintf(tail, sizeof tail, "{\"jsonrpc\":\"2.0\",\"id\":%lu,\"result\":%s}\n", id_of(line), answer);
        put(p, tail, strlen(tail));
        while (!(line = proc_line(p))) proc_move(p);
    }
    if (!strstr(line, "xxx")) die(line);
}

static void asks(char **programs, int n)
{
    static double wall[PROGRAMS][ROUNDS], cpu[PROGRAMS][ROUNDS];
    double copy[ROUNDS];
    proc p[PROGRAMS];
    size_t r, k;
    int i;
    for (i = 0; i < n; i++) {
        p[i] = proc_start(programs[i]);
        (void)ask(&p[i], o.modern ? DISCOVER : INITIALIZE_OF(CAN_ANSWER));
        if (!o.modern) put(&p[i], INITIALIZED, sizeof INITIALIZED - 1);
        for (k = 0; k < 100; k++) ask_one(&p[i]);
    }
    for (r = 0; r < o.rounds; r++)
        for (i = 0; i < n; i++) {
            double before = child_cpu_us(p[i].pid), begin = wall_us();
            for (k = 0; k < o.count; k++) ask_one(&p[i]);
            wall[i][r] = (wall_us() - begin) / (double)o.count;
            cpu[i][r] = (child_cpu_us(p[i].pid) - before) / (double)o.count;
        }
    for (i = 0; i < n; i++) {
        memcpy(copy, wall[i], sizeof copy); printf("%.4g", median(copy, o.rounds));
        memcpy(copy, cpu[i], sizeof copy); printf(" %.4g", median(copy, o.rounds));
        print_ratio(wall, i, o.rounds);
        print_ratio(cpu, i, o.rounds);
        printf("\n");
        proc_end(&p[i]);
    }
}

static void start(char **programs, int n)
{
    static double t[PROGRAMS][ROUNDS];
    double copy[ROUNDS];
    size_t r;
    int i;
    for (r = 0; r < o.rounds; r++)
        for (i = 0; i < n; i++) {
            double begin = wall_us();
            proc p = proc_start(programs[i]);
            (void)ask(&p, INITIALIZE);
            t[i][r] = wall_us() - begin;
            proc_end(&p);
        }
    for (i = 0; i < n; i++) {
        memcpy(copy, t[i], sizeof copy); printf("%.4g", median(copy, o.rounds));
        print_ratio(t, i, o.rounds);
        printf("\n");
    }
}

/* KiB in the lines of /proc/PID/`file` that begin with `name`, added up; 0 where there is no such file. (The numbers in
   `status` may lag behind by some pages, those in `smaps` are exact.) */
static long resident(pid_t pid, const char *file, const char *name)
{
    char line[512];
    long n = 0;
    FILE *f;
    snprintf(line, sizeof line, "/proc/%ld/%s", (long)pid, file);
    if (!(f = fopen(line, "r"))) return 0;
    while (fgets(line, sizeof line, f)) if (!strncmp(line, name, strlen(name))) n += atol(line + strlen(name));
    fclose(f);
    return n;
}

static void memory(char **programs, int n)
{
    static double idle[PROGRAMS][ROUNDS], own[PROGRAMS][ROUNDS];
    size_t len, r;
    int i;
    for (r = 0; r < o.rounds; r++)
        for (i = 0; i < n; i++) {
            proc p = proc_start(programs[i]);
            handshake(&p, false);
            (void)ask(&p, ",\"method\":\"ping\"}\n");
            idle[i][r] = (double)resident(p.pid, "smaps", "Rss:");
            own[i][r] = (double)resident(p.pid, "smaps", "Anonymous:");
            proc_end(&p);
        }
    for (i = 0; i < n; i++) {
        proc p = proc_start(programs[i]);
        char *tail = call_tail(false, "echo", 100, &len);
        handshake(&p, false);
        play(&p, tail, len, 1024, 20000, NULL, NULL);
        printf("%.0f %.0f %ld", median(idle[i], o.rounds), median(own[i], o.rounds), resident(p.pid, "status", "VmHWM:"));
        free(tail);
        tail = call_tail(false, "echo", 1 << 20, &len);
        play(&p, tail, len, 1, 10, NULL, NULL);
        printf(" %ld\n", resident(p.pid, "status", "VmHWM:"));
        free(tail);
        proc_end(&p);
    }
}

static long told(proc *p, bool modern)
{
    size_t len;
    char *tail = call_tail(modern, "allocations", 0, &len);
    const char *text = strstr(ask(p, tail), "\"text\":\"");
    free(tail);
    if (!text) die("no number of allocations");
    return atol(text + 8);
}

static void allocations(const char *program)
{
    size_t len;
    int modern;
    for (modern = 0; modern < 2; modern++) {
        proc p = proc_start(program);
        char *tail = call_tail(modern, "echo", 100, &len);
        long before, base;
        handshake(&p, modern);
        play(&p, tail, len, 64, 1000, NULL, NULL);
        (void)told(&p, modern);
        before = told(&p, modern);
        base = told(&p, modern) - before;                   /* what asking costs */
        before += base;
        play(&p, tail, len, 64, 10000, NULL, NULL);
        printf("%ld%s", told(&p, modern) - before - base, modern ? "\n" : " ");
        proc_end(&p);
        free(tail);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    int c;
    if (argc < 3) die("how? see the comment at the top of driver.c");
    argv++; argc--;
    while ((c = getopt(argc, argv, "mlw:s:n:r:t:")) != -1)
        switch (c) {
        case 'm': o.modern = true; break;
        case 'l': o.list = true; break;
        case 'w': o.window = (size_t)atol(optarg); break;
        case 's': o.size = (size_t)atol(optarg); break;
        case 'n': o.count = (size_t)atol(optarg); break;
        case 'r': o.rounds = (size_t)atol(optarg); break;
        case 't': o.tool = optarg; break;
        default: return 2;
        }
    argv += optind; argc -= optind;
    if (argc < 1 || argc > PROGRAMS || o.rounds < 1 || o.rounds > ROUNDS || !o.window) die("how? see the comment at the top of driver.c");
    if (!strcmp(mode, "calls")) calls(argv, argc);
    else if (!strcmp(mode, "read")) { o.blob = true; calls(argv, argc); }
    else if (!strcmp(mode, "asks")) asks(argv, argc);
    else if (!strcmp(mode, "pages")) pages(argv[0]);
    else if (!strcmp(mode, "updates")) updates(argv[0]);
    else if (!strcmp(mode, "start")) start(argv, argc);
    else if (!strcmp(mode, "memory")) memory(argv, argc);
    else if (!strcmp(mode, "allocations")) allocations(argv[0]);
    else die("no such mode");
    return 0;
}
