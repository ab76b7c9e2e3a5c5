/* The server on real descriptors: stdio in a child process, a listening Unix socket, a client and a server in two
 * processes that both send 16 MiB before they read, posts from another thread, ends of every kind. */
#define MCP_IMPLEMENTATION      /* looks inside */
#define MCP_NO_VALIDATE
#define MCP_NO_SANITIZE
#include "mcp.h"
#include "test.h"
#include <pthread.h>
#include <sys/resource.h>

#define J(...) #__VA_ARGS__
#define INIT J({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}) "\n" \
             J({"jsonrpc":"2.0","method":"notifications/initialized"}) "\n"

static void echo(mcp_req *r, void *user)  { (void)user; mcp_req_text(r, mcp_arg_str(r, "text", "")); }
static void noisy(mcp_req *r, void *user)
{
    (void)user;
    printf("a stray line\n");
    fflush(stdout);
    if (system("cat; echo noise from a child") < 0) { }
    mcp_req_text(r, "clean");
}
static void never(mcp_req *r, void *user) { (void)user; (void)mcp_req_defer(r); }

typedef struct work { mcp_poster *post; mcp_id id; } work;
static void finish(void *owner, void *arg)
{
    work *w = (work *)arg;
    mcp_req *r = owner ? mcp_server_req((mcp_server *)owner, w->id) : NULL;
    if (r) mcp_req_text(r, "from a thread");
    mcp_poster_free(w->post);
    free(w);
}
static void *worker(void *arg)
{
    work *w = (work *)arg;
    usleep(20000);
    if (mcp_post(w->post, finish, w) != MCP_OK) finish(NULL, w);
    return NULL;
}
static void threaded(mcp_req *r, void *user)
{
    work *w = (work *)calloc(1, sizeof *w);
    pthread_t t;
    (void)user;
    w->post = mcp_server_poster(mcp_req_server(r));
    w->id = mcp_req_defer(r);
    if (pthread_create(&t, NULL, worker, w) == 0) pthread_detach(t);
    else finish(mcp_req_server(r), w);
}
static void stop(mcp_req *r, void *user) { (void)user; mcp_server_stop(mcp_req_server(r)); mcp_req_text(r, "stopping"); }
static void drip_on(void *owner, void *arg)
{
    mcp_req *r = owner ? mcp_server_req((mcp_server *)owner, *(mcp_id *)arg) : NULL;
    if (r) mcp_req_text(r, "in time");
}
static mcp_id drip_id;
static void later(mcp_req *r, void *user)
{
    (void)user;
    drip_id = mcp_req_defer(r);
    (void)mcp_server_after(mcp_req_server(r), (int)mcp_arg_int(r, "ms", 0), drip_on, &drip_id);
}

static mcp_server *make(const char *listen)
{
    static const struct { const char *name; mcp_req_fn fn; } tools[] = {
        { "echo", echo }, { "noisy", noisy }, { "never", never }, { "threaded", threaded }, { "stop", stop }, { "later", later },
    };
    mcp_server_desc d;
    mcp_server *s;
    size_t i;
    memset(&d, 0, sizeof d);
    d.name = "loop";
    d.version = "1";
    d.listen = listen;
    s = mcp_server_new(&d);
    for (i = 0; i < sizeof tools / sizeof *tools; i++) {
        mcp_tool t;
        memset(&t, 0, sizeof t);
        t.name = tools[i].name;
        t.fn = tools[i].fn;
        (void)mcp_server_tool(s, &t);
    }
    return s;
}

/* -- a server process ------------------------------------------------------------------------------------------------- */

typedef struct proc { pid_t pid; int in, out; } proc;

static proc start(bool stdin_null)
{
    proc p;
    int to[2], from[2];
    if (pipe(to) < 0 || pipe(from) < 0) exit(9);
    fflush(stdout);
    p.pid = fork();
    if (p.pid == 0) {
        mcp_server *s;
        int rc, null = open("/dev/null", O_RDWR);
        signal(SIGPIPE, SIG_DFL);
        dup2(stdin_null ? null : to[0], 0);
        dup2(from[1], 1);
        dup2(null, 2);
        close(to[0]); close(to[1]); close(from[0]); close(from[1]); close(null);
        s = make(NULL);
        rc = mcp_server_run(s);
        mcp_server_free(s);
        signal(SIGPIPE, SIG_IGN);
        if (write(1, "after\n", 6) < 0 && errno != EPIPE) rc = 3;        /* stdout is back where it was */
        _exit(rc == MCP_OK ? 0 : 1);
    }
    close(to[0]);
    close(from[1]);
    p.in = to[1];
    p.out = from[0];
    return p;
}

static void tell(int fd, const char *text)
{
    size_t n = strlen(text);
    while (n) {
        ssize_t k = write(fd, text, n);
        if (k <= 0) return;
        text += k;
        n -= (size_t)k;
    }
}

/* Reads until `what` was seen, the end, or ms have passed; returns all of it. */
static char *hear(int fd, const char *what, int ms)
{
    static char *buf;
    static size_t cap;
    size_t len = 0;
    int64_t until = mcpi_clock_ms() + ms;
    for (;;) {
        struct pollfd p;
        ssize_t k;
        int64_t left = until - mcpi_clock_ms();
        if (cap - len < 70000) buf = (char *)realloc(buf, cap = cap * 2 + 200000);
        buf[len] = 0;
        if (what && len >= strlen(what) && strstr(len > 100000 ? buf + len - 100000 : buf, what)) break;
        p.fd = fd;
        p.events = POLLIN;
        if (left <= 0 || poll(&p, 1, (int)left) <= 0) break;
        k = read(fd, buf + len, 65536);
        if (k <= 0) break;
        len += (size_t)k;
    }
    buf[len] = 0;
    return buf;
}

/* The exit status, or -1 when it did not end within ms (it is killed then). */
static int ended(proc *p, int ms)
{
    int status = 0;
    int64_t until = mcpi_clock_ms() + ms;
    while (waitpid(p->pid, &status, WNOHANG) == 0) {
        if (mcpi_clock_ms() > until) { kill(p->pid, SIGKILL); waitpid(p->pid, &status, 0); return -1; }
        usleep(2000);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(stdio_round_trip)
{
    proc p = start(false);
    char *out;
    tell(p.in, INIT J({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"noisy"}}) "\n");
    out = hear(p.out, "\"id\":1,", 5000);
    CHECK(strstr(out, "clean") != NULL);
    CHECK(strstr(out, "stray") == NULL && strstr(out, "noise") == NULL);
    tell(p.in, J({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"threaded"}}) "\n" J({"jsonrpc":"2.0","id":3,"method":"ping"}) "\n");
    out = hear(p.out, "\"id\":2,", 5000);
    CHECK(strstr(out, "from a thread") != NULL);
    CHECK(strstr(out, "\"id\":3") < strstr(out, "\"id\":2"));
    tell(p.in, J({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"later","arguments":{"ms":100}}}) "\n" J({"jsonrpc":"2.0","id":5,"method":"ping"}));
    close(p.in);                                        /* no line feed, and an answer is still to come */
    out = hear(p.out, "after\n", 5000);
    CHECK(strstr(out, "\"id\":5,\"result\":{}") != NULL);
    CHECK(strstr(out, "in time") != NULL);
    CHECK(strstr(out, "after\n") != NULL);
    EQ_INT(ended(&p, 3000), 0);
    close(p.out);
}

TEST(ends)
{
    proc p = start(true);                               /* stdin is /dev/null */
    EQ_INT(ended(&p, 3000), 0);
    close(p.in); close(p.out);

    p = start(false);                                   /* a call that never ends does not hold the server */
    tell(p.in, INIT J({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"never"}}) "\n");
    (void)hear(p.out, "\"id\":0", 3000);
    close(p.in);
    EQ_INT(ended(&p, 2500), 0);
    close(p.out);

    p = start(false);                                   /* nobody reads any more: an end, and not by a signal */
    tell(p.in, INIT);
    (void)hear(p.out, "\"id\":0", 3000);
    close(p.out);
    tell(p.in, J({"jsonrpc":"2.0","id":1,"method":"ping"}) "\n");
    EQ_INT(ended(&p, 3000), 0);
    close(p.in);

    p = start(false);
    tell(p.in, INIT J({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stop"}}) "\n");
    CHECK(strstr(hear(p.out, "after\n", 5000), "stopping") != NULL);
    EQ_INT(ended(&p, 3000), 0);
    close(p.in); close(p.out);
}

/* A client that leaves without reading its answers is an end like any other, over pipes and over a socket. What fails
   for another reason is an error. */
TEST(leaves_without_reading)
{
    int turn;
    for (turn = 0; turn < 6; turn++) {
        int a[2], rc;
        mcp_server_desc d;
        mcp_server *s;
        mcp_tool t;
        memset(&d, 0, sizeof d);
        memset(&t, 0, sizeof t);
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0);
        if (turn < 4) EQ_INT(mcp_io_fds(NULL, a[0], a[0], true, &d.io), MCP_OK);
        else {
            int full = open(turn == 4 ? "/dev/full" : "/dev/null", turn == 4 ? O_WRONLY : O_RDONLY);
            if (full < 0) { close(a[0]); close(a[1]); continue; }          /* not on every system */
            EQ_INT(mcp_io_fds(NULL, a[0], full, true, &d.io), MCP_OK);
        }
        d.name = "l"; d.version = "1"; d.log.level = -1;
        s = mcp_server_new(&d);
        t.name = "echo"; t.fn = echo;
        (void)mcp_server_tool(s, &t);
        if (turn == 1 || turn == 2) {       /* answers are there, and not read: ECONNRESET */
            tell(a[1], INIT);
            EQ_INT(mcp_server_step(s, NULL, 0), MCP_OK);
        }
        if (turn != 1) tell(a[1], INIT J({"jsonrpc":"2.0","id":1,"method":"ping"}) "\n");
        if (turn == 3) { EQ_INT(mcp_server_step(s, NULL, 0), MCP_OK); tell(a[1], "{\"half\":"); }
        if (turn < 4) close(a[1]);
        rc = mcp_server_run(s);
        EQ_INT(rc, turn < 4 ? MCP_OK : MCP_ERR_TRANSPORT);
        mcp_server_free(s);
        if (turn >= 4) close(a[1]);
    }
}

/* The client has closed its end and reads on slowly: it gets the whole answer. */
TEST(slow_reader_at_the_end)
{
    enum { SIZE = 3 << 20 };
    proc p = start(false);
    char *line = (char *)malloc(SIZE + 200), *buf = (char *)malloc(1 << 16);
    size_t n, got = 0;
    ssize_t k;
    tell(p.in, INIT);
    (void)hear(p.out, "\"id\":0", 3000);
    n = (size_t)sprintf(line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"");
    memset(line + n, 's', SIZE);
    strcpy(line + n + SIZE, "\"}}}\n");
    tell(p.in, line);
    close(p.in);
    while ((k = read(p.out, buf, 1 << 16)) > 0) {
        got += (size_t)k;
        usleep(35000);                                  /* 1.7 seconds in all, longer than drain_ms */
    }
    CHECK(got > SIZE);
    EQ_INT(ended(&p, 3000), 0);
    close(p.out);
    free(line);
    free(buf);
}

/* 16 MiB are on their way in both directions before anybody reads: neither side may stop for the other. */
TEST(sixteen_megabytes_both_ways)
{
    enum { N = 16, SIZE = 1 << 20 };
    proc p = start(false);
    char *line = (char *)malloc(SIZE + 200), *out, *c;
    size_t n;
    int i, answers = 0;
    tell(p.in, INIT);
    (void)hear(p.out, "\"id\":0", 3000);
    n = (size_t)sprintf(line, "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"");
    memset(line + n, 'm', SIZE);
    strcpy(line + n + SIZE, "\"}}}\n");
    for (i = 0; i < N; i++) tell(p.in, line);           /* blocks if the server stops reading */
    tell(p.in, J({"jsonrpc":"2.0","id":8,"method":"ping"}) "\n");
    out = hear(p.out, "\"id\":8,\"result\":{}}\n", 20000);
    for (c = out; (c = strstr(c, "\"id\":7,")) != NULL; c++) answers++;
    EQ_INT(answers, N);
    CHECK(strlen(out) > (size_t)N * SIZE);
    close(p.in);
    EQ_INT(ended(&p, 3000), 0);
    close(p.out);
    free(line);
}

/* -- a listening socket ----------------------------------------------------------------------------------------------------- */

static char path[64], address[80];

static int connect_to(const char *where)
{
    struct sockaddr_un a;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memset(&a, 0, sizeof a);
    a.sun_family = AF_UNIX;
    strcpy(a.sun_path, where);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) < 0) { close(fd); return -1; }
    return fd;
}

TEST(listening)
{
    int fd[20], i, status = 0;
    pid_t pid;
    mcp_server *s;
    snprintf(path, sizeof path, "/tmp/mcp-test-%d.sock", (int)getpid());
    snprintf(address, sizeof address, "unix:%s", path);
    s = make(address);
    EQ_STR(mcp_server_error(s), "");
    EQ_STR(mcp_server_address(s), address);
    fflush(stdout);
    pid = fork();
    if (pid == 0) _exit(mcp_server_run(s) == MCP_OK ? 0 : 1);
    for (i = 0; i < 20; i++) {
        fd[i] = connect_to(path);
        CHECK(fd[i] >= 0);
        tell(fd[i], INIT);
    }
    for (i = 0; i < 20; i++) CHECK(strstr(hear(fd[i], "\"id\":0", 3000), "protocolVersion") != NULL);
    for (i = 0; i < 10; i++) close(fd[i]);               /* half of them leave without a word */
    for (i = 10; i < 20; i++) tell(fd[i], J({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}) "\n");
    for (i = 10; i < 20; i++) CHECK(strstr(hear(fd[i], "\"id\":1", 3000), "hi") != NULL);
    tell(fd[19], J({"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"stop"}}) "\n");
    CHECK(strstr(hear(fd[19], NULL, 3000), "stopping") != NULL);
    EQ_INT(waitpid(pid, &status, 0), pid);
    EQ_INT(status, 0);
    for (i = 10; i < 20; i++) close(fd[i]);
    mcp_server_free(s);
    CHECK(access(path, F_OK) != 0);                       /* the socket file is gone */
    s = make("tcp:1");
    EQ_INT(mcp_server_run(s), MCP_ERR_ARGUMENT);
    mcp_server_free(s);
}

/* A peer for which there is no memory, or no descriptor, is turned away or has to wait, and the log says so. */
static int scarce_left = -1, warnings;                    /* allocations that still succeed; -1: all */
static char warning[256];
static void *scarce(void *user, void *ptr, size_t old_size, size_t new_size)
{
    (void)user; (void)old_size;
    if (!new_size) { free(ptr); return NULL; }
    if (scarce_left == 0) return NULL;
    if (scarce_left > 0) scarce_left--;
    return realloc(ptr, new_size);
}
static void warned(int level, const char *text, void *user)
{
    (void)user;
    EQ_INT(level, 1);
    warnings++;
    snprintf(warning, sizeof warning, "%s", text);
}

TEST(no_room_for_a_peer)
{
    struct rlimit old, few;
    mcp_server_desc d;
    mcp_server *s;
    int fd, left, i;
    bool in = false;
    memset(&d, 0, sizeof d);
    snprintf(path, sizeof path, "/tmp/mcp-test-%d.sock", (int)getpid());
    snprintf(address, sizeof address, "unix:%s", path);
    d.name = "r"; d.version = "1"; d.listen = address;
    d.alloc.resize = scarce;
    d.log.fn = warned;
    d.log.level = 1;
    s = mcp_server_new(&d);
    EQ_INT(mcp_server_step(s, NULL, 0), MCP_OK);
    for (left = 0; left < 20 && !in; left++) {
        char c;
        warnings = 0;
        fd = connect_to(path);
        CHECK(fd >= 0);
        scarce_left = left;
        EQ_INT(mcp_server_step(s, NULL, 0), MCP_OK);
        scarce_left = -1;
        in = mcp_server_stats(s).peers == 1;
        if (!in) {
            EQ_INT(warnings, 1);
            EQ_STR(warning, "a peer was turned away: too many peers, or no memory");
            EQ_INT(recv(fd, &c, 1, MSG_DONTWAIT), 0);     /* and is not left hanging */
        } else EQ_INT(warnings, 0);
        close(fd);
    }
    CHECK(in && left > 3);
    EQ_INT(mcp_server_step(s, NULL, 0), MCP_OK);
    if (!getenv("UNDER_VALGRIND") && getrlimit(RLIMIT_NOFILE, &old) == 0) {    /* which keeps descriptors back */
        fd = connect_to(path);
        few = old;
        few.rlim_cur = (rlim_t)fd + 1;
        EQ_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
        warnings = 0;
        for (i = 0; i < 5; i++) {
            EQ_INT(mcp_server_step(s, NULL, 0), MCP_OK);
            usleep(120000);
        }
        EQ_INT(warnings, 1);                              /* once, not ten times a second */
        EQ_STR(warning, "no descriptors are left: new peers have to wait");
        (void)setrlimit(RLIMIT_NOFILE, &old);
        EQ_INT(mcp_server_step(s, NULL, 0), MCP_OK);
        EQ_INT(mcp_server_stats(s).peers, 1);
        tell(fd, INIT);
        (void)mcp_server_step(s, NULL, 0);
        CHECK(strstr(hear(fd, "\"id\":0", 1000), "protocolVersion") != NULL);
        (void)setrlimit(RLIMIT_NOFILE, &few);             /* the next time it is told again */
        EQ_INT(warnings, 1);
        (void)setrlimit(RLIMIT_NOFILE, &old);
        i = connect_to(path);
        (void)setrlimit(RLIMIT_NOFILE, &few);
        (void)mcp_server_step(s, NULL, 0);
        EQ_INT(warnings, 2);
        (void)setrlimit(RLIMIT_NOFILE, &old);
        close(i);
        close(fd);
    }
    mcp_server_free(s);
}

/* -- posts ---------------------------------------------------------------------------------------------------------------------- */

static int ran_in_loop, ran_without;
static void count(void *owner, void *arg) { (void)arg; if (owner) ran_in_loop++; else ran_without++; }
static void stop_it(void *owner, void *arg) { (void)arg; if (owner) mcp_server_stop((mcp_server *)owner); }

static int posted;
static void *posts(void *arg)
{
    mcp_poster *p = (mcp_poster *)arg;
    int i, rc;
    for (i = 0; i < 2000; i++) {
        while ((rc = mcp_post(p, count, NULL)) == MCP_ERR_AGAIN) usleep(100);
        if (rc == MCP_OK) posted++;
    }
    while (mcp_post(p, stop_it, NULL) == MCP_ERR_AGAIN) usleep(100);
    return NULL;
}

TEST(posting)
{
    mcp_server_desc d;
    mcp_server *s;
    mcp_poster *p;
    pthread_t t;
    memset(&d, 0, sizeof d);
    d.name = "p"; d.version = "1"; d.no_stdio = true;
    s = mcp_server_new(&d);
    p = mcp_server_poster(s);
    CHECK(p != NULL);
    CHECK(pthread_create(&t, NULL, posts, p) == 0);
    EQ_INT(mcp_server_run(s), MCP_OK);
    pthread_join(t, NULL);
    EQ_INT(posted, 2000);
    EQ_INT(ran_in_loop, 2000);
    EQ_INT(mcp_post(p, count, NULL), MCP_OK);
    mcp_server_free(s);
    EQ_INT(ran_without, 1);
    EQ_INT(mcp_post(p, count, NULL), MCP_ERR_CLOSED);
    mcp_poster_free(p);
    mcp_poster_free(NULL);
}

/* -- one's own loop --------------------------------------------------------------------------------------------------------------- */

TEST(own_loop)
{
    int a[2], rounds = 0;
    mcp_server_desc d;
    mcp_server *s;
    mcp_io io;
    mcp_tool t;
    char *out = NULL;
    memset(&d, 0, sizeof d);
    memset(&t, 0, sizeof t);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0);
    EQ_INT(mcp_io_fds(NULL, a[0], a[0], true, &io), MCP_OK);
    d.name = "o"; d.version = "1"; d.io = io;
    s = mcp_server_new(&d);
    t.name = "echo"; t.fn = echo;
    (void)mcp_server_tool(s, &t);
    tell(a[1], INIT J({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"own"}}}) "\n");
    shutdown(a[1], SHUT_WR);
    for (; rounds < 100; rounds++) {
        struct pollfd p[4];
        int n = mcp_server_pollfds(s, p, 4);
        CHECK(n <= 4);
        poll(p, (nfds_t)n, mcp_server_timeout(s));
        if (mcp_server_step(s, p, n) != MCP_OK) break;
    }
    CHECK(rounds < 20);
    out = hear(a[1], NULL, 1000);
    CHECK(strstr(out, "own") != NULL);
    mcp_server_free(s);
    close(a[1]);
}

/* More peers than the program has room for: all are served, the listener and the mailbox among them. */
static int posted;
static void count_post(void *owner, void *arg) { (void)arg; posted += owner != NULL; }

TEST(too_little_room)
{
    enum { PEERS = 5 };
    int a[PEERS][2], cap, i, rounds;
    for (cap = 0; cap <= 3; cap++) {
        mcp_server_desc d;
        mcp_server *s;
        mcp_poster *poster;
        mcp_tool t;
        memset(&d, 0, sizeof d);
        memset(&t, 0, sizeof t);
        d.name = "o"; d.version = "1"; d.no_stdio = true;
        s = mcp_server_new(&d);
        t.name = "echo"; t.fn = echo;
        (void)mcp_server_tool(s, &t);
        poster = mcp_server_poster(s);
        posted = 0;
        for (i = 0; i < PEERS; i++) {
            mcp_io io;
            CHECK(i % 2 ? socketpair(AF_UNIX, SOCK_STREAM, 0, a[i]) == 0 : pipe(a[i]) == 0);
            EQ_INT(mcp_io_fds(NULL, a[i][0], i % 2 ? a[i][0] : open("/dev/null", O_WRONLY), true, &io), MCP_OK);
            CHECK(mcp_server_attach(s, &io, NULL) != NULL);
            tell(a[i][1], INIT);
        }
        EQ_INT(mcp_post(poster, count_post, NULL), MCP_OK);
        for (rounds = 0; rounds < 100 && (posted < 1 || mcp_server_stats(s).messages_in < 2 * PEERS); rounds++) {
            struct pollfd p[4];
            int n = mcp_server_pollfds(s, p, cap);
            EQ_INT(n, PEERS + 1);
            CHECK(mcp_server_timeout(s) >= 0 && mcp_server_timeout(s) <= 20);
            poll(p, (nfds_t)cap, mcp_server_timeout(s));
            EQ_INT(mcp_server_step(s, p, cap), MCP_OK);
        }
        EQ_INT(posted, 1);
        EQ_INT(mcp_server_stats(s).messages_in, 2 * PEERS);
        (void)mcp_server_pollfds(s, NULL, 0);
        EQ_INT(mcp_server_timeout(s), 20);
        {
            struct pollfd p[8];
            EQ_INT(mcp_server_pollfds(s, p, 8), PEERS + 1);
            EQ_INT(mcp_server_timeout(s), -1);                  /* room for all: nothing wakes up */
        }
        mcp_server_free(s);
        mcp_poster_free(poster);
        for (i = 0; i < PEERS; i++) close(a[i][1]);
    }
}

/* An allocator that moves every block, and keeps what is freed to see whether anybody still writes there. */
static struct { unsigned char *p; size_t n; } freed_blocks[4096];
static int freed_count;
static void *keeps_freed(void *user, void *ptr, size_t old_size, size_t new_size)
{
    void *p = new_size ? malloc(new_size) : NULL;
    (void)user;
    if (new_size && !p) return NULL;
    if (p && ptr) memcpy(p, ptr, old_size < new_size ? old_size : new_size);
    if (ptr && freed_count < 4096) {
        memset(ptr, 0xA5, old_size);
        freed_blocks[freed_count].p = (unsigned char *)ptr;
        freed_blocks[freed_count++].n = old_size;
    }
    return p;
}
static int freed_and_written(void)
{
    int i, bad = 0;
    size_t k;
    for (i = 0; i < freed_count; i++) {
        for (k = 0; k < freed_blocks[i].n && freed_blocks[i].p[k] == 0xA5; k++) { }
        bad += k < freed_blocks[i].n;
        free(freed_blocks[i].p);
    }
    freed_count = 0;
    return bad;
}

/* A peer that is detached after poll has seen something of it, or before run: its stream is not touched any more. */
TEST(detached_after_poll)
{
    int how;
    for (how = 0; how < 3; how++) {
        int a[2], b[2];
        mcp_server_desc d;
        mcp_server *s;
        mcp_io io[2];
        mcp_conn *gone;
        struct pollfd p[4];
        int n;
        memset(&d, 0, sizeof d);
        d.name = "d"; d.version = "1"; d.no_stdio = true;
        d.alloc.resize = keeps_freed;
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, b) == 0);
        s = mcp_server_new(&d);
        EQ_INT(mcp_io_fds(&d.alloc, a[0], a[0], true, &io[0]), MCP_OK);
        EQ_INT(mcp_io_fds(&d.alloc, b[0], b[0], true, &io[1]), MCP_OK);
        gone = mcp_server_attach(s, &io[0], NULL);
        CHECK(gone && mcp_server_attach(s, &io[1], NULL));
        tell(a[1], INIT);
        tell(b[1], INIT);
        n = mcp_server_pollfds(s, p, 4);
        EQ_INT(n, 2);
        EQ_INT(poll(p, (nfds_t)n, 1000), 2);
        mcp_server_detach(s, gone);
        if (how == 0) EQ_INT(mcp_server_step(s, p, n), MCP_OK);
        if (how == 1) EQ_INT(mcp_server_step(s, NULL, 0), MCP_OK);
        if (how == 2) { mcp_server_stop(s); EQ_INT(mcp_server_run(s), MCP_OK); }
        else CHECK(strstr(hear(b[1], "\"id\":0", 1000), "protocolVersion") != NULL);
        mcp_server_free(s);
        EQ_INT(freed_and_written(), 0);
        close(a[1]);
        close(b[1]);
    }
}

/* The client has closed its end and reads nothing, while more answers are queued than the server lets pile up, and
   lines are left: the end comes after drain_ms all the same. */
static void big(mcp_req *r, void *user) { (void)user; mcp_req_text(r, (const char *)user); }
TEST(unread_answers_at_the_end)
{
    enum { SIZE = 1 << 20 };
    char *text = (char *)malloc(SIZE + 1);
    int a[2], i;
    mcp_server_desc d;
    mcp_server *s;
    mcp_tool t;
    int64_t since;
    memset(text, 'u', SIZE);
    text[SIZE] = 0;
    memset(&d, 0, sizeof d);
    memset(&t, 0, sizeof t);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, a) == 0);
    EQ_INT(mcp_io_fds(NULL, a[0], a[0], true, &d.io), MCP_OK);
    d.name = "u"; d.version = "1"; d.drain_ms = 200;
    s = mcp_server_new(&d);
    t.name = "big"; t.fn = big; t.user = text;
    (void)mcp_server_tool(s, &t);
    tell(a[1], INIT);
    for (i = 0; i < 5; i++) tell(a[1], J({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"big"}}) "\n");
    shutdown(a[1], SHUT_WR);
    since = mcpi_clock_ms();
    (void)alarm(5);                                     /* else it hangs */
    EQ_INT(mcp_server_run(s), MCP_OK);
    (void)alarm(0);
    since = mcpi_clock_ms() - since;
    CHECK(since >= 150 && since < 2000);
    mcp_server_free(s);
    close(a[1]);
    free(text);
}

/* poll, not select: descriptors over 1,023 are like any other. */
TEST(high_descriptors)
{
    struct rlimit limit;
    int fd[1200], i, n = 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 2000 && limit.rlim_max >= 2000) {
        limit.rlim_cur = 2000;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    while (n < 1200 && (fd[n] = open("/dev/null", O_RDONLY)) >= 0) n++;
    if (n == 1200) own_loop();
    for (i = 0; i < n; i++) close(fd[i]);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);                             /* ours, for tell; the server's is tested in its own process */
    RUN(stdio_round_trip);
    RUN(ends);
    RUN(leaves_without_reading);
    RUN(slow_reader_at_the_end);
    RUN(sixteen_megabytes_both_ways);
    RUN(listening);
    RUN(no_room_for_a_peer);
    RUN(posting);
    RUN(own_loop);
    RUN(too_little_room);
    RUN(detached_after_poll);
    RUN(unread_answers_at_the_end);
    RUN(high_descriptors);
    return test_end();
}
