/* Random load for a long time: `soak SECONDS [SEED]`. This program is the clients, starts itself as the servers, and plays the
 * peers that misbehave. Clients come and go, on children of their own, on a socket that they share, and on a server that is
 * broken on purpose; calls of 1 byte to 2 MiB with deadlines, cancels, answers put off, floods of progress; servers are killed;
 * raw peers send half lines and rubbish, and read slowly or not at all. Every call must be answered once, with what it asked for,
 * or fail for a reason that there is; and in the end nothing may be left: no memory, no descriptor, no process. */
#define MCP_IMPLEMENTATION
#define MCP_STATIC
#include "mcp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much the sanitizers make of each KiB. */
#if defined(__SANITIZE_ADDRESS__)
#  define EXTRA 8
#else
#  define EXTRA 1
#endif

static int passed, failed;
static unsigned long long seed;
static char self[4096], dir[32], address[64];

static bool must(bool ok, const char *what, long detail)
{
    if (ok) { passed++; return true; }
    if (failed++ < 20) printf("FAIL  %s (%ld)\n", what, detail);
    fflush(stdout);
    return false;
}

static unsigned long long next(unsigned long long *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static unsigned dice(unsigned below) { return (unsigned)(next(&seed) >> 20) % below; }

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Memory is counted, and its peak is a part of the verdict. */
static size_t live, peak;

static void *counted(void *user, void *p, size_t old_size, size_t new_size)
{
    (void)user;
    if (new_size && !(p = realloc(p, new_size))) return NULL;
    live += new_size - old_size;
    if (live > peak) peak = live;
    if (new_size) return p;
    free(p);
    return NULL;
}

static const mcp_allocator counting = { counted, NULL };

/* The text that number `n` stands for: all kinds of characters, valid UTF-8, `len` bytes. */
static char *text_of(unsigned long long n, size_t len)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz ABCDEFG 0123456789 \"\\/\n\t{}[]:,\x01";
    char *s = (char *)malloc(len + 1);
    size_t i = 0;
    n = n * 2654435761u + 88172645463325252u;
    if (!s) exit(3);
    while (i < len) {
        unsigned long long bits = next(&n);
        int k;
        for (k = 0; k < 8 && i < len; k++, bits >>= 8) {
            if ((bits & 0xFF) == 0xFF && len - i >= 2) { memcpy(s + i, "\xC3\xA9", 2); i += 2; }
            else s[i++] = letters[(bits & 0xFF) % (sizeof letters - 1)];
        }
    }
    s[len] = 0;
    return s;
}

/* -- the server ----------------------------------------------------------------------------------------------------- */

typedef struct job { mcp_id req, timer; unsigned long long n; size_t len; int steps, done; struct job *next; } job;
static job *jobs;

/* Every job ends once, by its answer or by its cancel. */
static void end_job(job *j)
{
    job **at = &jobs;
    while (*at && *at != j) at = &(*at)->next;
    if (!*at) exit(6);
    *at = j->next;
    free(j);
}

static void answer(mcp_req *r, unsigned long long n, size_t len)
{
    char *s = text_of(n, len);
    mcp_req_add_text(r, s, len);
    mcp_req_done(r);
    free(s);
}

static void make(mcp_req *r, void *user)
{
    (void)user;
    answer(r, (unsigned long long)mcp_arg_int(r, "n", 0), (size_t)mcp_arg_int(r, "len", 0));
}

static void echo(mcp_req *r, void *user)
{
    size_t len = 0;
    const char *s = mcp_json_text(mcp_json_get(mcp_req_args(r), "text"), &len);
    (void)user;
    mcp_req_add_text(r, s, len);
    mcp_req_done(r);
}

static void wake(void *owner, void *arg)
{
    job *j = (job *)arg;
    mcp_req *r = mcp_server_req((mcp_server *)owner, j->req);
    while (r && j->done < j->steps) {
        mcp_req_progress(r, ++j->done, j->steps, "on its way");
        if (j->done % 50) continue;
        j->timer = mcp_server_after((mcp_server *)owner, 0, wake, j);
        if (j->timer) return;
    }
    if (r) answer(r, j->n, j->len);
    end_job(j);
}

static void give_up(mcp_server *s, mcp_id id, void *arg)
{
    job *j = (job *)arg, *k;
    for (k = jobs; k && k != j; k = k->next) { }
    if (!k || k->req != id) return;         /* its answer came too late, and has ended it */
    mcp_server_cancel_timer(s, j->timer);
    end_job(j);
}

/* Puts the answer off, with or without progress. */
static void late(mcp_req *r, void *user)
{
    job *j = (job *)calloc(1, sizeof *j);
    (void)user;
    if (!j) exit(3);
    j->n = (unsigned long long)mcp_arg_int(r, "n", 0);
    j->len = (size_t)mcp_arg_int(r, "len", 0);
    j->steps = (int)mcp_arg_int(r, "steps", 0);
    j->next = jobs;
    jobs = j;
    mcp_req_on_cancel(r, give_up, j);
    j->timer = mcp_server_after(mcp_req_server(r), (int)mcp_arg_int(r, "ms", 0), wake, j);
    j->req = mcp_req_defer(r);
    if (!j->req || !j->timer) exit(3);
}

/* Works without returning, and listens meanwhile. */
static void busy(mcp_req *r, void *user)
{
    int64_t until = now_ms() + mcp_arg_int(r, "ms", 0) / 4;
    (void)user;
    while (!mcp_req_cancelled(r) && now_ms() < until) { }
    make(r, NULL);
}

static void tools(mcp_req *r, void *user)
{
    mcp_tool t = {0};
    (void)user;
    t.name = "extra";
    t.fn = make;
    if (mcp_server_remove(mcp_req_server(r), MCP_LIST_TOOLS, "extra") != MCP_OK) mcp_server_tool(mcp_req_server(r), &t);
    make(r, NULL);
}

static void die(mcp_req *r, void *user)
{
    (void)user;
    if (mcp_arg_int(r, "n", 0) % 2) _exit(7);
    raise(SIGKILL);
}

static void stop(mcp_req *r, void *user)
{
    (void)user;
    mcp_req_text(r, "bye");
    mcp_server_stop(mcp_req_server(r));
}

/* Nobody is left behind when the test is interrupted. */
static void look_for_parent(void *owner, void *arg)
{
    mcp_server *s = (mcp_server *)owner;
    if (s && getppid() != (pid_t)(intptr_t)arg) mcp_server_stop(s);
    else if (s) (void)mcp_server_after(s, 1000, look_for_parent, arg);
}

static int serve(const char *listen_at)
{
    static const struct { const char *name; mcp_req_fn fn; } all[] = {
        {"make", make}, {"echo", echo}, {"late", late}, {"busy", busy}, {"tools", tools}, {"die", die}, {"stop", stop}
    };
    mcp_server_desc d = {0};
    mcp_server *s;
    size_t i;
    int rc;
    d.name = "soak";
    d.version = "1";
    d.listen = listen_at;
    d.max_message = (size_t)8 << 20;
    d.max_inflight = 200;
    d.alloc = counting;
    s = mcp_server_new(&d);
    for (i = 0; i < sizeof all / sizeof *all; i++) {
        mcp_tool t = {0};
        t.name = all[i].name;
        t.fn = all[i].fn;
        mcp_server_tool(s, &t);
    }
    if (listen_at) (void)mcp_server_after(s, 0, look_for_parent, (void *)(intptr_t)getppid());
    rc = mcp_server_run(s);
    mcp_server_free(s);
    if (live || jobs) fprintf(stderr, "soak: the server has %lu bytes left\n", (unsigned long)live);
    return live || jobs ? 4 : rc == MCP_OK ? 0 : 5;
}

/* A server that is broken on purpose. It writes no wrong text for a call, everything else it does. */
static void hostile_answer(const char *id, size_t n)
{
    char half[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"resu";
    char pad[5000];
    memset(pad, ' ', sizeof pad);
    switch (dice(12)) {
    case 0: return;
    case 1: (void)!write(1, half, dice(sizeof half - 1) + 1); _exit(1);
    case 2: printf("%.*s\n", (int)n, id); break;
    case 3: printf("print without end\n\n{\"jsonrpc\":\"2.0\",\"id\":99999999,\"result\":{}}\n[]\n{}\nnull\n"); break;
    case 4: printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":7}\n", (int)n, id); break;
    case 5: printf("{\"jsonrpc\":\"2.0\",\"id\":\"%.*s\",\"error\":{\"code\":1}}\n", (int)n, id); break;
    case 6: printf("{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"%s\"}\n", dice(100), dice(2) ? "ping" : "roots/list"); break;
    case 7: printf("%.*s{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":2,\"message\":\"no\"}}\r\n", (int)dice(5000), pad, (int)n, id); break;
    case 8: printf("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":%.*s,\"progress\":1}}\n", (int)n, id); break;
    case 9: poll(NULL, 0, (int)dice(50)); break;
    default:
        printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":3,\"message\":\"once\"}}\n", (int)n, id);
        printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":3,\"message\":\"twice\"}}\n", (int)n, id);
    }
    fflush(stdout);
}

static int hostile(void)
{
    static char line[1 << 16];
    while (fgets(line, sizeof line, stdin)) {
        const char *id = strstr(line, "\"id\":");
        size_t n = id ? strspn(id += 5, "0123456789") : 0;
        if (n && strstr(line, "\"initialize\"")) printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":{\"protocolVersion\":\"2025-06-18\"}}\n", (int)n, id);
        else if (n && strstr(line, "server/discover")) printf("{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"error\":{\"code\":-32601,\"message\":\"?\"}}\n", (int)n, id);
        else if (n) hostile_answer(id, n);
        fflush(stdout);
        if (dice(300) == 0) return 1;
    }
    if (dice(4) == 0) { signal(SIGTERM, SIG_IGN); sleep(5); }       /* does not want to end */
    return 0;
}

/* -- the clients ----------------------------------------------------------------------------------------------------- */

enum { SLOTS = 5, CALLS = 400, CHILD = 0, SOCKET, HOSTILE };
typedef struct slot { mcp_client *c; int kind, pending; bool spoilt; int64_t until, asleep; } slot;     /* spoilt: there is a reason for failures */
typedef struct call { slot *at; mcp_id id; unsigned long long n; size_t len; bool used, cancelled, hurried, deadly; double progress; } call;
static slot slots[SLOTS];
static call calls[CALLS];
static unsigned long sent, answered, failures[32], progresses, sessions, kills;
static size_t outstanding;                  /* bytes that were asked for */
static pid_t shared;

static void over(const mcp_reply *r, void *user)
{
    call *k = (call *)user;
    slot *at = k->at;
    size_t n = 0;
    const char *s = mcp_reply_text(r, &n);
    must(k->used, "a call was answered twice", r->status);
    if (r->status == MCP_OK && !mcp_reply_is_error(r)) {
        char *want = text_of(k->n, k->len);
        must(at->kind != HOSTILE && n == k->len && memcmp(s, want, n) == 0, "a call got another text", (long)k->len);
        free(want);
    } else {
        bool reason = at->kind == HOSTILE || at->spoilt;
        if (r->status == MCP_ERR_CANCELLED) reason = k->cancelled;
        if (r->status == MCP_ERR_TIMEOUT) reason = reason || k->hurried;
        if (r->status == MCP_ERR_PEER) reason = reason || r->code == -31000;
        must(reason, "a call failed without a reason", r->status);
        if (!reason && failed < 20) printf("      %s\n", r->message);
        must(r->message && (r->message[0] || r->status == MCP_ERR_PEER), "a failure without a sentence", r->status);
        if (r->status <= 0 && r->status > -32) failures[-r->status]++;
    }
    answered++;
    k->used = false;
    at->pending--;
    outstanding -= k->len;
}

static void rises(double done, double total, const char *message, void *user)
{
    call *k = (call *)user;
    must(k->at->kind == HOSTILE || (k->used && done > k->progress && done <= total && message), "progress does not rise", (long)done);
    k->progress = done;
    progresses++;
}

static int ask(mcp_client *c, mcp_id id, const char *method, const mcp_json *params, mcp_writer *w, void *user)
{
    (void)c; (void)id; (void)method; (void)params; (void)w; (void)user;
    return dice(2) ? MCP_ERR_UNKNOWN : MCP_OK;
}

static size_t a_size(void)
{
    unsigned n = dice(100);
    return 1 + (n < 60 ? dice(100) : n < 85 ? dice(5000) : n < 97 ? dice(100000) : dice((2 << 20) - 1));
}

/* Sends one call, or makes it and waits. */
static void make_call(slot *at, bool wait)
{
    static const char *const names[] = { "make", "echo", "late", "late", "busy", "tools" };
    mcp_call m = {0};
    mcp_writer w;
    call *k = NULL;
    char *text;
    size_t i, len = a_size();
    for (i = 0; i < CALLS && !k; i++) if (!calls[i].used) k = &calls[i];
    if (!k || (outstanding > (size_t)8 << 20 && len > 1000)) return;
    memset(k, 0, sizeof *k);
    k->at = at;
    k->n = next(&seed) >> 16;
    k->len = len;
    m.tool = names[dice(6)];
    if (at->kind == CHILD && dice(1500) == 0) { m.tool = "die"; at->spoilt = true; }
    mcp_writer_init(&w, NULL, 0);
    mcp_put_object(&w, NULL);
    mcp_put_uint(&w, "n", k->n);
    mcp_put_uint(&w, "len", len);
    mcp_put_int(&w, "ms", dice(60));
    if (dice(4) == 0) { m.on_progress = rises; mcp_put_int(&w, "steps", dice(1000)); }
    if (strcmp(m.tool, "echo") == 0) {
        text = text_of(k->n, len);
        mcp_put_strn(&w, "text", text, len);
        free(text);
    }
    mcp_put_end(&w);
    m.args = mcp_writer_text(&w, NULL);
    if (dice(10) == 0) { m.timeout_ms = 1 + (int)dice(30); k->hurried = true; }
    if (dice(20) == 0) { m.max_ms = 1 + (int)dice(60); k->hurried = true; }
    m.fn = over;
    m.user = k;
    k->used = true;
    at->pending++;
    outstanding += len;
    sent++;
    if (wait) (void)mcp_client_call(at->c, &m);
    else k->id = mcp_client_send(at->c, &m);
    if (wait ? k->used : !k->id) {          /* refused: never called back */
        must(mcp_client_error(at->c)[0], "a refusal without a sentence", 0);
        k->used = false;
        at->pending--;
        outstanding -= len;
        sent--;
    }
    mcp_writer_free(&w);
}

static int dial(void)
{
    struct sockaddr_un to;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memset(&to, 0, sizeof to);
    to.sun_family = AF_UNIX;
    snprintf(to.sun_path, sizeof to.sun_path, "%s", address + 5);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

static void start_shared(void)
{
    int i, fd = -1;
    shared = fork();
    if (shared == 0) { execl(self, self, "--listen", address, (char *)NULL); _exit(9); }
    for (i = 0; i < 500 && (fd = dial()) < 0; i++) poll(NULL, 0, 10);
    must(fd >= 0, "the server on a socket does not start", 0);
    if (fd >= 0) close(fd);
}

static void open_slot(slot *at)
{
    const char *argv[4];
    char number[24];
    mcp_client_desc d = {0};
    int fd;
    memset(at, 0, sizeof *at);
    at->kind = dice(10) < 5 ? SOCKET : dice(10) < 7 ? CHILD : HOSTILE;
    at->until = now_ms() + 200 + dice(8000);
    snprintf(number, sizeof number, "%u", dice(1000000) + 1);
    argv[0] = self;
    argv[1] = at->kind == CHILD ? "--serve" : "--hostile";
    argv[2] = number;
    argv[3] = NULL;
    d.name = "soak";
    d.version = "1";
    d.era = at->kind == HOSTILE ? MCP_ERA_BOTH : (int)dice(3);
    if (at->kind == SOCKET) {
        if ((fd = dial()) < 0 || mcp_io_fds(&counting, fd, fd, true, &d.io) != MCP_OK) { if (fd >= 0) close(fd); return; }
    } else d.argv = argv;
    d.capture_stderr = dice(2);
    d.timeout_ms = at->kind == HOSTILE ? 300 : 30000;
    d.grace_ms = 100;
    d.on_ask = ask;
    d.alloc = counting;
    at->c = mcp_client_new(&d);
    must(at->c != NULL, "no client", 0);
    sessions++;
}

static void close_slot(slot *at)
{
    at->spoilt = true;
    mcp_client_free(at->c);
    must(at->pending == 0, "calls were lost", at->pending);
    at->c = NULL;
}

/* -- raw peers of the server on the socket --------------------------------------------------------------------------- */

enum { RAW = 4 };
static struct { int fd; int64_t until; bool reads; } raw[RAW];
#define WHO "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"

static void raw_send(int fd, const char *s, size_t n) { (void)!send(fd, s, n, MSG_DONTWAIT); }      /* SIGPIPE is ignored */

static void raw_act(int i)
{
    static const char odd[] = "\n\n[]\n[1,2]\n{\"jsonrpc\":\"2.0\",\"id\":1}\n\xff\n";
    char text[512], *s;
    int n;
    if (raw[i].fd < 0) {
        raw[i].fd = dial();
        raw[i].until = now_ms() + dice(3000);
        raw[i].reads = dice(2);
        return;
    }
    n = snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{\"name\":\"%s\",\"arguments\":"
                 "{\"n\":1,\"len\":%u,\"steps\":%u,\"ms\":%u}," WHO "}}\n", dice(1000), dice(2) ? "make" : "late", dice(60000), dice(100), dice(500));
    switch (dice(8)) {
    case 0: raw_send(raw[i].fd, text, dice((unsigned)n)); break;                             /* half a line */
    case 1: s = text_of(next(&seed), 20000); raw_send(raw[i].fd, s, 20000); free(s); break;  /* rubbish */
    case 2: raw_send(raw[i].fd, odd, sizeof odd - 1); break;
    default: raw_send(raw[i].fd, text, (size_t)n); break;
    }
    if (raw[i].reads) { char sink[4096]; (void)!recv(raw[i].fd, sink, sizeof sink, MSG_DONTWAIT); }
    if (now_ms() > raw[i].until) { close(raw[i].fd); raw[i].fd = -1; }
}

/* -- the load --------------------------------------------------------------------------------------------------------- */

static long rss_kb(pid_t pid)
{
    char path[64];
    long pages = 0, rest = 0;
    FILE *f;
    snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    f = fopen(path, "r");
    if (f && fscanf(f, "%ld %ld", &rest, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int open_fds(void)
{
    int fd, n = 0;
    for (fd = 0; fd < 512; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void kill_shared(void)
{
    int i, status;
    for (i = 0; i < SLOTS; i++) if (slots[i].kind == SOCKET) slots[i].spoilt = true;
    kill(shared, SIGKILL);
    waitpid(shared, &status, 0);
    kills++;
    start_shared();
}

static void act(int64_t now)
{
    slot *at = &slots[dice(SLOTS)];
    call *k = &calls[dice(CALLS)];
    if (!at->c) { open_slot(at); return; }
    if (at->asleep > now) return;
    switch (dice(1000)) {
    case 0: at->asleep = now + dice(400); break;                                            /* a slow reader */
    case 1: at->spoilt = true; mcp_client_close(at->c); break;
    case 2: close_slot(at); break;
    case 3: if (dice(30) == 0) kill_shared(); break;
    case 4: case 5: make_call(at, true); break;
    case 6: mcp_client_notify(at->c, "notifications/roots/list_changed", NULL); break;
    case 7: must(mcp_client_cancel(at->c, (mcp_id)1 << 40, NULL) == MCP_ERR_UNKNOWN, "a call that is not there was cancelled", 0); break;
    default:
        if (dice(20) == 0 && k->used && k->id) { k->cancelled = true; (void)mcp_client_cancel(k->at->c, k->id, "enough"); }
        else if (at->pending < 60 && dice(3) == 0) make_call(at, false);
    }
    if (at->c && at->until < now && (at->pending == 0 || dice(50) == 0)) close_slot(at);
}

/* One turn of the loop that all clients share. */
static void turn(int64_t now)
{
    struct pollfd fds[SLOTS * 8];
    int n = 0, i, at[SLOTS], count[SLOTS], ms = 5, rc, status;
    for (i = 0; i < SLOTS; i++) {
        slot *s = &slots[i];
        count[i] = 0;
        if (!s->c || s->asleep > now) continue;
        at[i] = n;
        count[i] = mcp_client_pollfds(s->c, fds + n, 8);
        must(count[i] <= 8, "many descriptors", count[i]);
        n += count[i];
        rc = mcp_client_timeout(s->c);
        if (rc >= 0 && rc < ms) ms = rc;
    }
    poll(fds, (nfds_t)n, ms);
    for (i = 0; i < SLOTS; i++) {
        slot *s = &slots[i];
        if (!s->c || s->asleep > now) continue;
        rc = mcp_client_step(s->c, count[i] ? fds + at[i] : NULL, count[i]);
        if (rc == MCP_OK) continue;
        must(s->spoilt || s->kind == HOSTILE, "a client ended without a reason", rc);
        if (!s->spoilt && s->kind != HOSTILE && failed < 20) printf("      %s\n", mcp_client_error(s->c));
        close_slot(s);
    }
    if (waitpid(shared, &status, WNOHANG) != shared) return;
    must(false, "the server on a socket ended by itself", status);
    start_shared();
}

/* The end: the shared server is asked to stop, and has to say that it lost nothing. */
static void stop_shared(void)
{
    mcp_client_desc d = {0};
    mcp_call m = {0};
    mcp_client *c;
    int fd = dial(), status = -1, i;
    d.name = "soak";
    d.version = "1";
    d.alloc = counting;
    if (fd < 0 || mcp_io_fds(&counting, fd, fd, true, &d.io) != MCP_OK) exit(3);
    c = mcp_client_new(&d);
    m.tool = "stop";
    must(strcmp(mcp_reply_text(mcp_client_call(c, &m), NULL), "bye") == 0, "the server does not stop", 0);
    mcp_client_free(c);
    for (i = 0; i < 300 && waitpid(shared, &status, WNOHANG) == 0; i++) poll(NULL, 0, 50);
    if (!must(i < 300 && WIFEXITED(status) && WEXITSTATUS(status) == 0, "the server on a socket did not end well", status)) kill(shared, SIGKILL);
}

int main(int argc, char **argv)
{
    int i, fds;
    long rss, first = 0, most = 0, most_shared = 0;
    int64_t began = now_ms(), now, sampled = 0, end;
    unsigned long turns = 0;
    seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    if (argc > 1 && strcmp(argv[1], "--listen") == 0) return serve(argv[2]);
    if (argc > 1 && strcmp(argv[1], "--serve") == 0) return serve(NULL);
    seed = seed * 2654435761u + 1;
    if (argc > 1 && strcmp(argv[1], "--hostile") == 0) return hostile();
    end = began + (argc > 1 ? atoi(argv[1]) : 30) * 1000;
    if (!realpath(argv[0], self)) return 2;
    fds = open_fds();
    snprintf(dir, sizeof dir, "/tmp/soak.XXXXXX");
    if (!mkdtemp(dir)) return 2;
    snprintf(address, sizeof address, "unix:%s/s", dir);
    signal(SIGPIPE, SIG_IGN);
    for (i = 0; i < RAW; i++) raw[i].fd = -1;
    start_shared();
    for (now = began; now < end; now = now_ms(), turns++) {
        for (i = 0; i < 4; i++) act(now);
        if (dice(4) == 0) raw_act((int)dice(RAW));
        turn(now);
        if (now < sampled) continue;
        sampled = now + 500;
        if ((rss = rss_kb(getpid())) > most) most = rss;
        if (now - began > (end - began) / 5 && !first) first = most;
        if ((rss = rss_kb(shared)) > most_shared) most_shared = rss;
    }
    for (i = 0; i < SLOTS; i++) if (slots[i].c) close_slot(&slots[i]);
    for (i = 0; i < RAW; i++) if (raw[i].fd >= 0) close(raw[i].fd);
    stop_shared();
    must(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "children are left", 0);
    must(live == 0, "memory is left", (long)live);
    must(open_fds() == fds, "descriptors are left", open_fds() - fds);
    must(sent == answered, "calls without an answer", (long)(sent - answered));
    must(most < 150000 * EXTRA, "too much memory, KiB", most);
    must(most_shared < 150000 * EXTRA, "too much memory in the server, KiB", most_shared);
    must(most <= first + 40000 * EXTRA, "memory grows, KiB", most - first);
    rmdir(dir);
    printf("%lu sessions, %lu calls, %lu progress reports, %lu deaths of the shared server, %lu turns\n", sessions, sent, progresses, kills, turns);
    for (i = 1; i < 32; i++) if (failures[i]) printf("%lu x %s, ", failures[i], mcp_strerror(-i));
    printf("peak %lu KiB in the clients, RSS %ld KiB here (%ld after a fifth), %ld KiB there\n", (unsigned long)(peak >> 10), most, first, most_shared);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
