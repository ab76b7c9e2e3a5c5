/* For fuzz_posix: a server and a client on real descriptors, and between them somebody who passes their bytes on in pieces, adds bytes of
 * the input, hangs up, and drives both loops in odd ways. `clean`: nothing is added and nobody hangs up, so every call is answered well. */
enum { CALLS = 12 };
typedef struct line { int to, from, never_blocks; size_t passed, added; wire got; } line;   /* far ends; got: what the object has written */
static line lines[2];                                                           /* the server's, the client's */
static mcp_server *server;
static mcp_client *client;
static int clean, sent, sent_at[CALLS], done_at[CALLS], posted, ran, server_ended, client_ended;
static void quiet(int level, const char *text, void *user) { (void)level; (void)text; (void)user; }
static void run_post(void *owner, void *arg) { (void)owner; (void)arg; ran++; }
static int64_t slow_clock(void *user) { return clean ? 1 : fuzz_clock(user); }  /* without deadlines */

static int open_descriptors(void)
{
    int fd, n = 0;
    for (fd = 0; fd < 64; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* A stream over two pipes or over a socket, blocking or not, with little room in it or much. What poll said of a blocking pipe has to be
 * true: the library reads from it without asking again. */
static mcp_io new_line(line *x)
{
    mcp_io io;
    int a[2], b[2], small = 2048, room = (int)fuzz_pick(2);
    if (fuzz_pick(2)) {
        MUST(!pipe(a) && !pipe(b));                         /* a: to the object, b: from it */
#if defined(__linux__) && defined(F_SETPIPE_SZ)
        if (room) { (void)fcntl(a[1], F_SETPIPE_SZ, 4096); (void)fcntl(b[1], F_SETPIPE_SZ, 4096); }
#endif
        x->to = a[1]; x->from = b[0];
        a[1] = b[1];
    } else {
        MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, a));
        if (room) { (void)setsockopt(a[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small); (void)setsockopt(a[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof small); }
        x->never_blocks = 1;
        x->to = a[1]; MUST((x->from = dup(a[1])) >= 0);
        if (fuzz_pick(2)) a[1] = a[0]; else MUST((a[1] = dup(a[0])) >= 0);
    }
    if (fuzz_pick(2)) { x->never_blocks = 1; (void)fcntl(a[0], F_SETFL, O_NONBLOCK); (void)fcntl(a[1], F_SETFL, O_NONBLOCK); }
    (void)fcntl(x->to, F_SETFL, fcntl(x->to, F_GETFL) | O_NONBLOCK);
    (void)fcntl(x->from, F_SETFL, fcntl(x->from, F_GETFL) | O_NONBLOCK);
    x->got.whole = 1;
    MUST(mcp_io_fds(NULL, a[0], a[1], true, &io) == MCP_OK);
    return io;
}

/* Only here is SIGPIPE ignored: the library has to see to it itself. */
static void no_sigpipe(int number) { MUST(number != SIGPIPE); }
static size_t put_bytes(int fd, const void *bytes, size_t n)
{
    void (*old)(int) = signal(SIGPIPE, SIG_IGN);
    ssize_t k = fd >= 0 && n ? write(fd, bytes, n) : 0;
    (void)signal(SIGPIPE, old);
    return k > 0 ? (size_t)k : 0;
}

static void take(line *x)
{
    char buf[5000];
    size_t most = 1 + fuzz_pick(fuzz_pick(3) ? sizeof buf : 20);
    ssize_t n = x->from >= 0 ? read(x->from, buf, most) : 0;
    if (n > 0) MUST(wire_write(&x->got, buf, (size_t)n) == n);
}

/* In one direction, also when it is a socket. */
static void hang_up(int *fd, int direction)
{
    if (*fd < 0) return;
    (void)shutdown(*fd, direction);
    (void)close(*fd);
    *fd = -1;
}

/* What the other object has written, for that of line i. */
static void pass(int i, size_t most)
{
    line *x = &lines[i], *other = &lines[!i];
    size_t left = other->got.len - x->passed;
    if (left) x->passed += put_bytes(x->to, other->got.out + x->passed, left < most ? left : most);
}

/* Something happens at the far end of line i. */
static void far_end(int i)
{
    line *x = &lines[i];
    size_t most = 1 + fuzz_pick(fuzz_pick(3) ? 3000 : 20), left;
    switch (fuzz_pick(clean ? 6 : 9)) {
    case 0: case 1: take(x); break;
    case 2: case 3: case 4: case 5: pass(i, most); break;
    case 6: case 7:
        left = fuzz.size - x->added;
        x->added += put_bytes(x->to, fuzz.data + x->added, left < most ? left : most);
        break;
    default:
        if (fuzz_pick(30) == 0) hang_up(&x->to, SHUT_WR);
        if (fuzz_pick(30) == 0) hang_up(&x->from, SHUT_RD);
    }
}

/* One turn of the loop of the server or the client: by the book, or with what poll never said. */
static void drive(int i)
{
    struct pollfd fds[8];
    int *ended = i ? &client_ended : &server_ended, cap = (int)fuzz_pick(9), k, rc;
    int n = i ? mcp_client_pollfds(client, fds, cap) : mcp_server_pollfds(server, fds, cap);
    int timeout = i ? mcp_client_timeout(client) : mcp_server_timeout(server);
    MUST(n >= 0 && timeout >= -1);
    if (n > cap) n = cap;
    for (k = 0; k < n; k++) { MUST(fds[k].fd > 2 && fds[k].events); fds[k].revents = 0; }
    switch (lines[i].never_blocks ? fuzz_pick(8) : 1 + fuzz_pick(7)) {
    case 0: for (k = 0; k < n; k++) fds[k].revents = (short)fuzz_pick(64); break;   /* anything may have come */
    case 1: n = -1; break;
    case 2: n = (int)fuzz_pick((unsigned)n + 1); break;                             /* some, and nothing came */
    default: while (poll(fds, (nfds_t)n, 0) < 0) MUST(errno == EINTR);              /* the fuzzer has a timer */
    }
    rc = i ? mcp_client_step(client, n < 0 ? NULL : fds, n < 0 ? 0 : n) : mcp_server_step(server, n < 0 ? NULL : fds, n < 0 ? 0 : n);
    MUST(rc == MCP_OK || (rc < 0 && rc != MCP_ERR_AGAIN));
    MUST(rc != MCP_OK || !*ended);
    *ended = rc != MCP_OK;
}

static void echo(mcp_req *r, void *user)
{
    (void)user;
    if (fuzz_pick(2)) (void)mcp_req_progress(r, 1, 2, "p");
    (void)mcp_req_text(r, mcp_arg_str(r, "s", ""));
}

static void answered(const mcp_reply *r, void *user)
{
    int i = (int)(intptr_t)user;
    size_t n = 0;
    MUST(!done_at[i]);
    done_at[i] = 1;
    if (clean && !client_ended) MUST(r->status == MCP_OK && strlen(mcp_reply_text(r, &n)) == (size_t)(i * 700 + 2) && n);
}

/* The call of number `sent`, with an argument that is longer each time; a post; a notification. */
static void ask(void)
{
    static char args[CALLS * 700 + 64];
    mcp_call k;
    memset(&k, 0, sizeof k);
    if (sent == CALLS) return;
    memset(args, 'x', sizeof args);
    memcpy(args, "{\"s\":\"", 6);
    strcpy(args + 6 + sent * 700 + 2, "\"}");
    k.tool = "e"; k.args = args; k.fn = answered; k.user = (void *)(intptr_t)sent;
    k.timeout_ms = 1 + (int)fuzz_pick(400); k.max_ms = 500;
    sent_at[sent] = mcp_client_send(client, &k) != 0;
    MUST(!clean || sent_at[sent]);
    sent++;
}

static void post(int i)
{
    mcp_poster *p = i ? mcp_client_poster(client) : mcp_server_poster(server);
    if (p && mcp_post(p, run_post, NULL) == MCP_OK) posted++;
    mcp_poster_free(p);
}

static void begin(void)
{
    mcp_server_desc sd;
    mcp_client_desc cd;
    mcp_tool t;
    memset(&sd, 0, sizeof sd); memset(&cd, 0, sizeof cd); memset(&t, 0, sizeof t);
    memset(lines, 0, sizeof lines); memset(sent_at, 0, sizeof sent_at); memset(done_at, 0, sizeof done_at);
    sent = posted = ran = server_ended = client_ended = 0;
    clean = fuzz_pick(4) == 0;
    (void)signal(SIGPIPE, no_sigpipe);
    sd.name = cd.name = "f"; sd.version = cd.version = "1"; sd.log.fn = cd.log.fn = quiet; sd.now_ms = cd.now_ms = slow_clock;
    sd.io = new_line(&lines[0]); cd.io = new_line(&lines[1]);
    sd.drain_ms = cd.grace_ms = 50;
    cd.era = (int)fuzz_pick(3);
    t.name = "e"; t.fn = echo;
    MUST((server = mcp_server_new(&sd)) != NULL && (client = mcp_client_new(&cd)) != NULL && mcp_server_tool(server, &t) == MCP_OK);
}

static int all_answered(void)
{
    int i;
    for (i = 0; i < sent; i++) if (sent_at[i] && !done_at[i]) return 0;
    return 1;
}

/* Nothing odd happens any more: every call that was made is answered. */
static void calm(void)
{
    int i;
    while (sent < CALLS) ask();
    for (i = 0; i < 2000 && !all_answered(); i++) {
        take(&lines[i % 2]);
        pass(i % 2, 5000);
        MUST((i % 2 ? mcp_client_step(client, NULL, 0) : mcp_server_step(server, NULL, 0)) == MCP_OK);
    }
    MUST(all_answered());
}

static void end(void)
{
    int i;
    if (clean) calm();
    clean = 0;
    if (!client_ended) (void)mcp_client_close(client);
    for (i = 0; i < 5000 && !client_ended; i++) { take(&lines[1]); drive(1); }
    hang_up(&lines[0].to, SHUT_WR);
    for (i = 0; i < 5000 && !server_ended; i++) { take(&lines[0]); drive(0); }
    MUST(client_ended && server_ended);
    mcp_client_free(client);
    mcp_server_free(server);
    MUST(all_answered() && ran == posted);
    for (i = 0; i < 2; i++) { hang_up(&lines[i].to, SHUT_WR); hang_up(&lines[i].from, SHUT_RD); wire_end(&lines[i].got); }
}
