/* Small tests for faults that tests/mutate.sh planted and nothing else saw. */
#define MCP_IMPLEMENTATION      /* looks inside */
#define MCP_NO_VALIDATE
#define MCP_NO_SANITIZE
#include "mcp.h"
#include "test.h"

/* Padding in the middle: nothing but white space may stand behind it. */
TEST(base64_data_behind_padding)
{
    static const char *const bad[] = { "\"QQ=A=\"", "\"QQ=A\"", "\"QQ==QQ==\"", "\"QUI=Q\"", "\"QQ=QQ=\"" };
    size_t i, len;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        mcp_arena a;
        mcp_arena_init(&a, NULL, 0);
        CHECK(!mcp_json_base64(&a, mcp_json_parse(&a, bad[i], MCP_NTS, NULL), &len));
        EQ_INT(len, 0);
        mcp_arena_free(&a);
    }
}

/* The limit itself may be reached, and no byte more. */
TEST(writer_fills_its_limit)
{
    size_t limit;
    for (limit = 8; limit <= 9; limit++) {
        mcp_writer w;
        mcp_writer_init(&w, NULL, limit);
        mcp_put_str(&w, NULL, "123456");
        EQ_INT(mcp_writer_status(&w), MCP_OK);
        EQ_STR(mcp_writer_text(&w, NULL), "\"123456\"");
        mcp_writer_free(&w);
    }
    {
        mcp_writer w;
        mcp_writer_init(&w, NULL, 7);
        mcp_put_str(&w, NULL, "123456");
        EQ_INT(mcp_writer_status(&w), MCP_ERR_LIMIT);
        mcp_writer_free(&w);
    }
}

static void *counted(void *user, void *p, size_t old_size, size_t new_size)
{
    void *q;
    if (!new_size) { free(p); *(long *)user -= (long)old_size; return NULL; }
    q = realloc(p, new_size);
    if (q) *(long *)user += (long)new_size - (long)old_size;
    return q;
}

static void quiet(const mcp_reply *r, void *user) { (void)r; (void)user; }

TEST(pending_gives_all_back)
{
    long held = 0;
    mcp_allocator alloc = { counted, NULL };
    mcp_pending *p;
    int i;
    alloc.user = &held;
    p = mcp_pending_new(&alloc, 0);
    for (i = 0; i < 10; i++) CHECK(mcp_pending_add(p, MCP_NEVER, MCP_NEVER, quiet, NULL) != 0);
    mcp_pending_fail_all(p, MCP_ERR_CLOSED);
    CHECK(mcp_pending_add(p, MCP_NEVER, MCP_NEVER, quiet, NULL) != 0);
    mcp_pending_free(p);
    EQ_INT(held, 0);
}

/* An id that was never given, in a cell that is taken: 32 cells at first, so 1 and 33 share one. */
TEST(pending_id_in_a_taken_cell)
{
    mcp_pending *p = mcp_pending_new(NULL, 0);
    mcp_id id = mcp_pending_add(p, MCP_NEVER, MCP_NEVER, quiet, NULL);
    mcp_reply r;
    memset(&r, 0, sizeof r);
    EQ_INT(mcp_pending_settle(p, id + 32, &r), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_pending_extend(p, id + 1024, 5), MCP_ERR_UNKNOWN);
    EQ_INT(mcp_pending_count(p), 1);
    EQ_INT(mcp_pending_unknown(p), 1);
    EQ_INT(mcp_pending_settle(p, id, &r), MCP_OK);
    mcp_pending_free(p);
}

static ptrdiff_t read_fails(void *user, void *buf, size_t n) { (void)user; (void)buf; (void)n; return MCP_ERR_TRANSPORT; }
static ptrdiff_t write_all(void *user, const void *buf, size_t n) { (void)user; (void)buf; return (ptrdiff_t)n; }

/* A read that fails is an error of the server, and no quiet end. */
TEST(read_error_is_no_end)
{
    mcp_server_desc d;
    mcp_server *s;
    int i, rc = MCP_OK;
    memset(&d, 0, sizeof d);
    d.name = "n";
    d.version = "1";
    d.io.read = read_fails;
    d.io.write = write_all;
    s = mcp_server_new(&d);
    CHECK(s != NULL);
    for (i = 0; s && i < 10 && rc == MCP_OK; i++) rc = mcp_server_step(s, NULL, 0);
    EQ_INT(rc, MCP_ERR_TRANSPORT);
    mcp_server_free(s);
}

TEST(escape_digits)
{
    mcp_arena a;
    mcp_arena_init(&a, NULL, 0);
    CHECK(!mcp_json_parse(&a, "\"\\u000g\"", MCP_NTS, NULL));
    CHECK(!mcp_json_parse(&a, "\"\\u000G\"", MCP_NTS, NULL));
    CHECK(mcp_json_parse(&a, "\"\\u00fF\"", MCP_NTS, NULL) != NULL);
    mcp_arena_free(&a);
}

TEST(close_keeps_errno)
{
    int fd = 9999;
    errno = ENOTDIR;
    mcpi_close(&fd);
    EQ_INT(errno, ENOTDIR);
    EQ_INT(fd, -1);
}

TEST(own_pair_leaves_nothing)
{
    int pair[2], fd = dup(1);
    pair[0] = fd;
    pair[1] = -1;
    CHECK(!mcpi_fd_own_pair(pair, false));
    EQ_INT(fcntl(fd, F_GETFD), -1);
}

TEST(own_is_above_stderr)
{
    int kept = fcntl(2, F_DUPFD_CLOEXEC, 10), fd;
    (void)close(2);
    fd = mcpi_fd_own(open("/dev/null", O_RDONLY), false);       /* is 2, the lowest free */
    CHECK(fd > 2);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    (void)dup2(kept, 2);
    (void)close(kept);
    mcpi_close(&fd);
    fd = mcpi_fd_own(dup(1), false);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    mcpi_close(&fd);
}

static int wake_fd;
static void wake(int number) { (void)number; if (write(wake_fd, "x", 1) < 0) _exit(3); }

/* A signal ends a poll without an error, and does not end a read. */
TEST(signals_in_between)
{
    int ends[2];
    char c;
    struct sigaction act, old;
    memset(&act, 0, sizeof act);
    act.sa_handler = wake;
    (void)sigaction(SIGALRM, &act, &old);
    CHECK(mcpi_pipe(ends));
    wake_fd = ends[1];
    (void)alarm(1);
    EQ_INT(mcpi_poll(NULL, 0, 5000), 0);
    EQ_INT(mcpi_fd_read(ends[0], &c, 1), 1);
    (void)alarm(1);
    EQ_INT(mcpi_fd_read(ends[0], &c, 1), 1);
    (void)sigaction(SIGALRM, &old, NULL);
    mcpi_close(&ends[0]);
    mcpi_close(&ends[1]);
}

int main(void)
{
    RUN(base64_data_behind_padding);
    RUN(writer_fills_its_limit);
    RUN(pending_gives_all_back);
    RUN(pending_id_in_a_taken_cell);
    RUN(read_error_is_no_end);
    RUN(escape_digits);
    RUN(close_keeps_errno);
    RUN(own_pair_leaves_nothing);
    RUN(own_is_above_stderr);
    RUN(signals_in_between);
    return test_end();
}
