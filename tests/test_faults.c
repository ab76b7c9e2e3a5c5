/* What fails must fail cleanly. Whole sessions of servers and clients are run again and again, and each time another allocation
 * or system call fails: the first, the second, and so on, until a run in which none is left to fail. After each run nothing may be
 * left over (memory, descriptors, children), no answer may be wrong, and if something went wrong somebody must have been told
 * so in words. Then all is well again, and the same session has to work.
 *
 * The system calls are taken over by macros, so all of libc is included before. (`read`, `write`, `close` and `poll` are members
 * of mcp_io too; here these have another name.) */
#if defined(__APPLE__)
#  define _DARWIN_C_SOURCE 1
#elif defined(__linux__)
#  define _GNU_SOURCE 1
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#  include <sys/syscall.h>
#endif

/* -- the faults ---------------------------------------------------------------------------------------------------- */

/* How a call fails: with an error; by having nothing to do yet, or a signal; by moving one byte; by the end of the file. MEMORY:
   an allocation fails; DROUGHT: so do all after it. */
enum { FAIL, WAIT, BYTE, END, MEMORY, DROUGHT, HOWS };
static const char *const how_names[] = { "error", "nothing yet", "one byte", "end", "no memory", "no memory any more" };
static struct { int how, at, count; bool on, fired; const char *call; } fault;

/* Is it this call's turn? `hows`: which ways it can fail in. */
static bool faulty(const char *call, unsigned hows)
{
    if (!fault.on || !fault.at || !(hows & 1u << fault.how)) return false;
    fault.count++;
    if (fault.how == DROUGHT ? fault.count < fault.at : fault.count != fault.at) return false;
    if (!fault.fired) fault.call = call;
    return fault.fired = true;
}

static int fail_with(int error)
{
    errno = error;
    return -1;
}

#define LETTER (sizeof(void (*)(void)) + sizeof(void *))    /* what a post is: never cut in two */

static ssize_t faulty_read(int fd, void *buf, size_t n)
{
    if (faulty("read", 1 << FAIL | 1 << WAIT | 1 << BYTE | 1 << END)) {
        if (fault.how == FAIL) return fail_with(EIO);
        if (fault.how == WAIT) return fail_with(EAGAIN);
        if (fault.how == END) return 0;
        n = 1;
    }
    return read(fd, buf, n);
}

static ssize_t faulty_recv(int fd, void *buf, size_t n, int flags)
{
    if (n != LETTER && faulty("recv", 1 << FAIL | 1 << WAIT | 1 << BYTE | 1 << END)) {
        if (fault.how == FAIL) return fail_with(ECONNRESET);
        if (fault.how == WAIT) return fail_with(EAGAIN);
        if (fault.how == END) return 0;
        n = 1;
    }
    return recv(fd, buf, n, flags);
}

static ssize_t faulty_write(int fd, const void *buf, size_t n)
{
    if (faulty("write", 1 << FAIL | 1 << WAIT | 1 << BYTE)) {
        if (fault.how == FAIL) return fail_with(EIO);
        if (fault.how == WAIT) return fail_with(EAGAIN);
        n = 1;
    }
    return write(fd, buf, n);
}

static ssize_t faulty_send(int fd, const void *buf, size_t n, int flags)
{
    if (n != LETTER && faulty("send", 1 << FAIL | 1 << WAIT | 1 << BYTE)) {
        if (fault.how == FAIL) return fail_with(ECONNRESET);
        if (fault.how == WAIT) return fail_with(EAGAIN);
        n = 1;
    }
    return send(fd, buf, n, flags);
}

static int faulty_poll(struct pollfd *fds, nfds_t n, int ms)
{
    nfds_t i;
    if (!faulty("poll", 1 << FAIL | 1 << WAIT)) return poll(fds, n, ms);
    for (i = 0; i < n; i++) fds[i].revents = 0;
    return fault.how == WAIT ? fail_with(EINTR) : fail_with(ENOMEM);
}

static int faulty_close(int fd)
{
    int rc = close(fd);
    return faulty("close", 1 << FAIL) ? fail_with(EIO) : rc;
}

/* The child has no faults: what goes wrong there is no more than what can go wrong in exec. */
static pid_t faulty_fork(void)
{
    pid_t pid = faulty("fork", 1 << FAIL) ? fail_with(EAGAIN) : fork();
    if (pid == 0) fault.on = false;
    return pid;
}

/* fcntl fails where it makes a descriptor, and nowhere else. */
static bool duplicates(int fd, int what, ...)
{
    (void)fd;
    return what == F_DUPFD_CLOEXEC;
}

#define read  faulty_read
#define write faulty_write
#define close faulty_close
#define poll  faulty_poll
#define recv  faulty_recv
#define send  faulty_send
#define fork  faulty_fork
#define FAILS(call, error) (faulty(call, 1 << FAIL) && fail_with(error))
#define open(...)       (FAILS("open", EMFILE) ? -1 : open(__VA_ARGS__))
#define pipe(...)       (FAILS("pipe", EMFILE) ? -1 : pipe(__VA_ARGS__))
#define dup2(...)       (FAILS("dup2", EBUSY) ? -1 : dup2(__VA_ARGS__))
#define socket(...)     (FAILS("socket", EMFILE) ? -1 : socket(__VA_ARGS__))
#define socketpair(...) (FAILS("socketpair", EMFILE) ? -1 : socketpair(__VA_ARGS__))
#define bind(...)       (FAILS("bind", ENOSPC) ? -1 : bind(__VA_ARGS__))
#define listen(...)     (FAILS("listen", EADDRINUSE) ? -1 : listen(__VA_ARGS__))
#define accept(...)     (FAILS("accept", EMFILE) ? -1 : accept(__VA_ARGS__))
#define syscall(...)    (FAILS("syscall", EMFILE) ? -1 : syscall(__VA_ARGS__))      /* pipe2, accept4 */
#define waitid(...)     (FAILS("waitid", EINTR) ? -1 : waitid(__VA_ARGS__))
#define fcntl(...)      (duplicates(__VA_ARGS__, 0) && FAILS("fcntl", EMFILE) ? -1 : fcntl(__VA_ARGS__))
#define MCP_IMPLEMENTATION      /* looks inside */
#define MCP_STATIC
#include "mcp.h"
#include "test.h"

/* Deadlines where everything is slower: SCALE times as long. */
static int scaled(int ms)
{
    const char *by = getenv("SCALE");
    return by && atoi(by) > 0 ? ms * atoi(by) : ms;
}

/* An allocator that can fail, and knows what it has given out. It is told the truth about sizes, or says so. */
static struct { size_t live; int wrong; } memory;

static void *counted(void *user, void *ptr, size_t old_size, size_t new_size)
{
    size_t *head = ptr ? (size_t *)ptr - 2 : NULL;
    (void)user;
    if (ptr && head[0] != old_size) memory.wrong++;
    if (!new_size) {
        memory.live -= old_size;
        free(head);
        return NULL;
    }
    if (faulty("resize", 1 << MEMORY | 1 << DROUGHT)) return NULL;
    head = (size_t *)realloc(head, new_size + 2 * sizeof *head);
    if (!head) return NULL;
    memory.live += new_size - old_size;
    head[0] = new_size;
    return head + 2;
}

static const mcp_allocator counting = { counted, NULL };

/* -- what is looked at --------------------------------------------------------------------------------------------- */

static char self[PATH_MAX], dir[64];
static const char *session = "";

/* A check that says in which run it failed. */
static bool expect(bool ok, const char *wanted)
{
    if (ok) { test_passed++; return true; }
    test_failed++;
    printf("%s, %s at %d (%s): %s\n", session, how_names[fault.how], fault.at, fault.call ? fault.call : "none", wanted);
    return false;
}

static void hangs(int sig)
{
    static const char text[] = "hangs: ";
    (void)sig;
    fault.on = false;
    (void)!write(1, text, sizeof text - 1);
    (void)!write(1, session, strlen(session));
    printf(" (%s at %d)\n", how_names[fault.how], fault.at);
    fflush(stdout);
    _exit(1);
}

static int open_fds(void)
{
    int fd, n = 0;
    for (fd = 0; fd < 256; fd++) n += fcntl(fd, F_GETFD, 0) >= 0;
    return n;
}

static bool childless(void)
{
    return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

/* How a session went, by its own account. */
static struct { int status; char why[256]; bool wrong; int right; } went;

static void went_badly(int status, const char *why)
{
    if (went.status != MCP_OK || status == MCP_OK) return;
    went.status = status;
    snprintf(went.why, sizeof went.why, "%s", why ? why : "");
}

static void quiet(int level, const char *text, void *user)
{
    (void)user;
    if (level <= 1) went_badly(MCP_ERR_FAILED, text);
}

/* -- the server of all sessions ------------------------------------------------------------------------------------ */

static void late(void *owner, void *arg)
{
    mcp_req *r = owner ? mcp_server_req((mcp_server *)owner, (mcp_id)(uintptr_t)arg) : NULL;
    const char *values[1];
    values[0] = "late";
    mcp_req_progress(r, 1, 2, "half");
    if (*mcp_req_completes(r, NULL)) mcp_req_values(r, values, 1, -1, false);
    else mcp_req_text(r, "late");
}

static void say(mcp_req *r, void *user)
{
    const char *how = mcp_arg_str(r, "how", "text");
    mcp_server *s = mcp_req_server(r);
    (void)user;
    if (strcmp(how, "text") == 0) mcp_req_textf(r, "%s and %600d", mcp_arg_str(r, "how", ""), 7);
    else if (strcmp(how, "result") == 0) mcp_req_result(r, "{\"structuredContent\":{\"a\":[1,2,3]}}", MCP_NTS);
    else if (strcmp(how, "begin") == 0) { mcp_put_bool(mcp_req_begin(r), "isError", false); mcp_req_end(r); }
    else if (strcmp(how, "pieces") == 0) {
        mcp_req_add_image(r, "image/png", how, 6);
        mcp_req_add_resource(r, "a:b", "text/plain", how, 6, false);
        mcp_req_structured(r, "{\"x\":1}", MCP_NTS);
        mcp_req_logf(r, "info", "%s", how);
        mcp_req_done(r);
    } else if (strcmp(how, "late") == 0) {
        mcp_id id = mcp_req_defer(r);
        if (!id) mcp_req_fail(r, "no memory to wait");
        else if (!mcp_server_after(s, 1, late, (void *)(uintptr_t)id)) mcp_req_fail(r, "no memory for a timer");
    } else if (strcmp(how, "never") == 0) { if (!mcp_req_defer(r)) mcp_req_fail(r, "no memory to wait"); }
    else {
        mcp_tool t = {0};
        t.name = "more";
        t.fn = say;
        if (mcp_server_tool(s, &t) == MCP_OK) mcp_req_text(r, "added");
        else mcp_req_failf(r, "not added: %s", mcp_server_error(s));
    }
}

static mcp_server *new_server(mcp_server_desc *d)
{
    mcp_server *s;
    mcp_tool t = {0};
    d->name = "faults";
    d->version = "1";
    d->capabilities = MCP_JSON({"logging": {}});
    d->instructions = "none";
    d->drain_ms = 100;
    d->log.fn = quiet;
    d->log.level = 1;
    s = mcp_server_new(d);
    t.name = "say";
    t.description = "Says something.";
    t.input_schema = MCP_JSON({"type": "object", "properties": {"how": {"type": "string"}}, "required": ["how"]});
    t.fn = say;
    mcp_server_tool(s, &t);
    return s;
}

/* What is asked of it; each answer is a line, found by its id. */
#define MODERN "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define SAY(id, how) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"say\"," \
    "\"arguments\":{\"how\":\"" how "\"},\"_meta\":{\"progressToken\":" id "}}}"
static const char script[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-03-26\",\"capabilities\":"
    "{\"roots\":{}},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n"
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"logging/setLevel\",\"params\":{\"level\":\"debug\"}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}\n"
    SAY("4", "never") "\n" SAY("5", "late") "\n" SAY("6", "text") "\n" SAY("7", "result") "\n" SAY("8", "begin") "\n"
    SAY("9", "pieces") "\n[" SAY("10", "text") "," SAY("11", "result") ",{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"ping\"}]\n"
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":4}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":13,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{\"toolsListChanged\":true}," MODERN "}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":14,\"method\":\"tools/call\",\"params\":{\"name\":\"say\",\"arguments\":{\"how\":\"result\"}," MODERN "}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":15,\"method\":\"tools/call\",\"params\":{\"name\":\"say\",\"arguments\":{\"how\":\"add\"}," MODERN "}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":16,\"method\":\"server/discover\",\"params\":{" MODERN "}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":17,\"method\":\"nothing\"}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":\"a string\",\"method\":\"ping\",\"params\":{}}\n";
enum { ANSWERS = 17 };                      /* 4 is cancelled; the string counts as 18 */
static int answers = ANSWERS;               /* of this session */

/* Resources, prompts, completion and subscriptions: of a server that has them. */
static const char features[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
    "\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n"
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/list\"}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"resources/templates/list\",\"params\":{" MODERN "}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"prompts/list\"}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"resources/read\",\"params\":{\"uri\":\"x:fixed\"," MODERN "}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"resources/read\",\"params\":{\"uri\":\"x:now/%41\"}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"resources/read\",\"params\":{\"uri\":\"y:unknown\"," MODERN "}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"resources/read\",\"params\":{\"uri\":\"x:late/two\"," MODERN "}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"prompts/get\",\"params\":{\"name\":\"p\",\"arguments\":{\"a\":\"x\"}}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":11,\"method\":\"completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"p\"},"
    "\"argument\":{\"name\":\"a\",\"value\":\"\"},\"context\":{\"arguments\":{\"b\":\"c\"}}}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"x:fixed\"}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":13,\"method\":\"resources/subscribe\",\"params\":{\"uri\":\"x:a/b\"}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":14,\"method\":\"subscriptions/listen\",\"params\":{\"notifications\":{\"promptsListChanged\":true,"
    "\"resourceSubscriptions\":[\"x:fixed\",\"x:a/b\",\"x:fixed\"]}," MODERN "}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":15,\"method\":\"tools/call\",\"params\":{\"name\":\"touch\"}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":16,\"method\":\"resources/unsubscribe\",\"params\":{\"uri\":\"x:a/b\"}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":17,\"method\":\"completion/complete\",\"params\":{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"x:{a}/{b}\"},"
    "\"argument\":{\"name\":\"late\",\"value\":\"\"}," MODERN "}}\n"
    "{\"jsonrpc\":\"2.0\",\"id\":18,\"method\":\"ping\"}\n";
/* All but 3 is answered, the listen at the end; and six notes: the acknowledgement, the prompts' change in two ways, the resource's
   in two, the tools' (what the touch adds). */
enum { FEATURE_ANSWERS = 17, FEATURE_NOTES = 6 };

/* The answers of the run without a fault; and whether each has come in this one. */
static const char *asked = script;
static size_t asked_len = sizeof script - 1;
static int notes;
static char *good[20];
static int came[20];
static struct { char text[65536]; size_t len; } got;

static void one_answer(mcp_arena *a, const mcp_msg *m)
{
    size_t i = mcp_json_type(m->id) == MCP_JSON_STRING ? 18 : (size_t)mcp_json_int(m->id, 19);
    mcp_writer w;
    const char *text;
    if (!expect(i > 0 && i < 19 && ++came[i] == 1, "an answer to something else, or a second one")) return;
    mcp_writer_init(&w, NULL, 0);
    mcp_put_json(&w, NULL, m->result ? m->result : m->error);
    text = mcp_writer_text(&w, NULL);
    if (!fault.at) good[i] = (char *)realloc(good[i], strlen(text) + 1), strcpy(good[i], text);
    if (good[i] && strcmp(text, good[i]) == 0) went.right++;
    else if (m->kind == MCP_MSG_ERROR) went_badly(MCP_ERR_PEER, m->error ? mcp_json_str(mcp_json_get(m->error, "message"), "") : "");
    else if (mcp_json_bool(mcp_json_get(m->result, "isError"), false)) went_badly(MCP_ERR_PEER, text);
    else if (i != 3 && !expect(false, "a wrong answer")) printf("    %s\n    instead of %s\n", text, good[i] ? good[i] : "none");
    mcp_writer_free(&w);
    (void)a;
}

/* Reads what the server has written; everything must be a message. */
static void take_answers(void)
{
    char *s = got.text, *end = s + got.len, *lf;
    mcp_arena a;
    mcp_msg m;
    memset(came, 0, sizeof came);
    mcp_arena_init(&a, NULL, 0);
    for (; s < end && (lf = (char *)memchr(s, '\n', (size_t)(end - s))) != NULL; s = lf + 1) {
        if (!expect(mcp_msg_parse(&a, s, (size_t)(lf - s), &m) == MCP_OK && m.kind != MCP_MSG_BAD, "no message")) {
            printf("    %.*s\n", (int)(lf - s), s);
            continue;
        }
        if (m.kind == MCP_MSG_BATCH) mcp_json_each(v, m.batch) { mcp_msg one; mcp_msg_classify(v, &one); one_answer(&a, &one); }
        else if (m.kind == MCP_MSG_NOTIFICATION) notes += strncmp(m.method, "notifications/cancelled", 23) != 0;
        else if (m.kind == MCP_MSG_RESULT || m.kind == MCP_MSG_ERROR) {
            if (m.id) one_answer(&a, &m);
            else went_badly(MCP_ERR_PEER, mcp_json_str(mcp_json_get(m.error, "message"), ""));
        }
    }
    mcp_arena_free(&a);
    if (!fault.at) expect(went.right == answers, "not all answers came");
}

/* -- sessions of a server ------------------------------------------------------------------------------------------- */

static size_t fed;

static ptrdiff_t feed(void *user, void *buf, size_t n)
{
    (void)user;
    if (faulty("read", 1 << FAIL | 1 << WAIT | 1 << BYTE | 1 << END)) {
        if (fault.how == FAIL) return -1;
        if (fault.how == WAIT) return MCP_ERR_AGAIN;
        if (fault.how == END) return 0;
        n = 1;
    }
    if (n > 700) n = 700;
    if (n > asked_len - fed) n = asked_len - fed;
    memcpy(buf, asked + fed, n);
    fed += n;
    return (ptrdiff_t)n;
}

static ptrdiff_t keep(void *user, const void *buf, size_t n)
{
    (void)user;
    if (faulty("write", 1 << FAIL | 1 << WAIT | 1 << BYTE)) {
        if (fault.how == FAIL) return -1;
        if (fault.how == WAIT) return MCP_ERR_AGAIN;
        n = 1;
    }
    if (n > sizeof got.text - got.len) n = sizeof got.text - got.len;
    memcpy(got.text + got.len, buf, n);
    got.len += n;
    return (ptrdiff_t)n;
}

static int64_t ticks(void *user)
{
    static int64_t now;
    (void)user;
    return ++now;
}

static void finish_server(mcp_server *s, int rc)
{
    if (!s) went_badly(MCP_ERR_MEMORY, "no server");
    if (rc != MCP_OK && rc != MCP_ERR_CLOSED) went_badly(rc, mcp_server_error(s));
    if (mcp_server_error(s)[0]) went_badly(MCP_ERR_FAILED, mcp_server_error(s));
    mcp_server_free(s);
}

/* A server on a stream of the program's own. */
static void bytes_server(void)
{
    mcp_server_desc d = {0};
    mcp_server *s;
    int rc;
    d.io.read = feed;
    d.io.write = keep;
    d.now_ms = ticks;
    d.alloc = counting;
    fed = 0;
    s = new_server(&d);
    do rc = mcp_server_step(s, NULL, 0); while (rc == MCP_OK);
    finish_server(s, rc);
    take_answers();
}

/* -- the same with resources, prompts and completion */

static void offer(mcp_req *r, void *user)
{
    const char *a = mcp_req_var(r, "a");
    const char *values[1];
    mcp_id id;
    (void)user;
    values[0] = mcp_arg_str(r, "b", "none");
    if ((a && strcmp(a, "late") == 0) || strcmp(mcp_req_completes(r, NULL), "late") == 0) {
        id = mcp_req_defer(r);
        if (!id) mcp_req_fail(r, "no memory to wait");
        else if (!mcp_server_after(mcp_req_server(r), 1, late, (void *)(uintptr_t)id)) mcp_req_fail(r, "no memory for a timer");
    } else if (a) {
        mcp_req_add_text(r, a, MCP_NTS);
        mcp_req_add_resource(r, NULL, "text/plain", mcp_req_var(r, "b"), 1, true);
        mcp_req_cache(r, 5, MCP_SCOPE_PUBLIC);
        mcp_req_done(r);
    } else if (*mcp_req_completes(r, NULL)) mcp_req_values(r, values, 1, 1, false);
    else {
        mcp_req_role(r, "assistant");
        mcp_req_add_text(r, mcp_arg_str(r, "a", ""), MCP_NTS);
        mcp_req_add_link(r, "x:fixed", "n", NULL);
        mcp_req_done(r);
    }
}

static void touch(mcp_req *r, void *user)
{
    mcp_server *s = mcp_req_server(r);
    mcp_tool t = {0};
    (void)user;
    t.name = "added";
    t.fn = say;
    if (mcp_server_tool(s, &t) != MCP_OK) { mcp_req_failf(r, "not added: %s", mcp_server_error(s)); return; }
    mcp_server_updated(s, "x:fixed");
    mcp_server_changed(s, MCP_LIST_PROMPTS);
    mcp_req_text(r, "touched");
}

static bool sees_all(mcp_req *r, int kind, const char *name, void *user)
{
    (void)r; (void)kind; (void)name; (void)user;
    return true;
}

static void features_server(void)
{
    mcp_server_desc d = {0};
    mcp_server *s;
    mcp_resource x = {0};
    mcp_prompt p = {0};
    mcp_tool t = {0};
    int rc;
    d.io.read = feed;
    d.io.write = keep;
    d.now_ms = ticks;
    d.alloc = counting;
    d.visible = sees_all;
    asked = features;
    answers = FEATURE_ANSWERS;
    asked_len = sizeof features - 1;
    fed = 0;
    notes = 0;
    s = new_server(&d);
    x.uri = "x:fixed"; x.mime = "text/plain"; x.data = "content"; x.data_size = MCP_NTS; x.annotations = "{\"priority\":1}";
    mcp_server_resource(s, &x);
    memset(&x, 0, sizeof x);
    x.uri = "x:{a}/{b}"; x.fn = x.complete = offer;
    mcp_server_resource(s, &x);
    p.name = "p"; p.description = "d"; p.fn = p.complete = offer; p.arguments = "[{\"name\":\"a\",\"required\":true}]";
    mcp_server_prompt(s, &p);
    t.name = "touch"; t.fn = touch;
    mcp_server_tool(s, &t);
    do rc = mcp_server_step(s, NULL, 0); while (rc == MCP_OK);
    finish_server(s, rc);
    take_answers();
    if (!fault.at) expect(notes == FEATURE_NOTES, "not all notes came");
    if (went.status == MCP_OK && fault.how != END && notes != FEATURE_NOTES) expect(false, "a note is missing, and nobody was told");
}

/* A server whose handler asks. What it is sent next depends on what it has said. */
static struct { char text[4096]; size_t len, at; } next;

static ptrdiff_t feed_next(void *user, void *buf, size_t n)
{
    (void)user;
    if (next.at == next.len) return MCP_ERR_AGAIN;
    if (n > next.len - next.at) n = next.len - next.at;
    memcpy(buf, next.text + next.at, n);
    next.at += n;
    return (ptrdiff_t)n;
}

static int64_t a_time(void *user) { (void)user; return 1700000000000; }

static void asking(mcp_req *r, void *user)
{
    const mcp_json *c, *roots;
    int n = (int)mcp_json_int(mcp_req_kept(r), 0), x, y;
    (void)user;
    x = mcp_req_elicit(r, "q", "Name?", MCP_JSON({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}), &c);
    if (x == MCP_ERR_MEMORY) return;
    y = mcp_req_ask(r, "roots", "roots/list", NULL, &roots);
    if (mcp_req_keep(r, n == 0 ? "1" : n == 1 ? "2" : "3") != MCP_OK) { mcp_req_fail(r, "not kept"); return; }
    if (x != MCP_OK || y != MCP_OK) return;
    x = mcp_req_elicit_url(r, "page", "Go there", "https://a.b/c");
    if (x != MCP_OK) return;
    mcp_req_textf(r, "%s, %d", mcp_json_str(mcp_json_get(c, "name"), ""), n);
}

/* Sends one line and lets the server work on it. What it has said before is kept for the end; what it says now begins
   at the place that is returned. */
static const char *tell(mcp_server *s, const char *fmt, ...) MCP_PRINTF(2, 3);
static const char *tell(mcp_server *s, const char *fmt, ...)
{
    size_t before = got.len;
    va_list ap;
    int i;
    va_start(ap, fmt);
    next.len = (size_t)vsnprintf(next.text, sizeof next.text, fmt, ap);
    va_end(ap);
    next.at = 0;
    for (i = 0; i < 8 && mcp_server_step(s, NULL, 0) == MCP_OK; i++) { }
    got.text[got.len] = 0;
    return got.text + before;
}

/* Answers all that the server has asked, until it asks no more. */
static void answer_all(mcp_server *s, const char *said)
{
    int round, id;
    for (round = 0; round < 3; round++) {
        static char asked[8192];
        char *at = asked;
        snprintf(asked, sizeof asked, "%s", said);
        said = got.text + got.len;
        while ((at = strstr(at, "{\"jsonrpc\":\"2.0\",\"id\":")) != NULL) {
            id = atoi(at += 22);
            if (strncmp(at + strspn(at, "0123456789"), ",\"method\"", 9) == 0)
                tell(s, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"roots\":[],\"action\":\"accept\",\"content\":{\"name\":\"n\"}}}\n", id);
        }
    }
}

static void asking_server(void)
{
#define CALL(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"ask\""
#define ACCEPT "{\"action\":\"accept\",\"content\":{\"name\":\"n\"}}"
#define CAN "{\"elicitation\":{\"form\":{},\"url\":{}},\"roots\":{}}"
#define CAN_META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":" CAN "}}}\n"
    mcp_server_desc d = {0};
    mcp_server *s;
    mcp_tool t = {0};
    const char *said, *state;
    char copy[2048] = "";
    d.io.read = feed_next;
    d.io.write = keep;
    d.now_ms = ticks;
    d.wall_ms = a_time;
    d.state_key = "a key";
    d.state_key_size = 5;
    d.alloc = counting;
    answers = 6;
    s = new_server(&d);
    t.name = "ask";
    t.fn = asking;
    mcp_server_tool(s, &t);
    tell(s, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":" CAN
            ",\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}\n");
    answer_all(s, tell(s, CALL("2") "}}\n"));
    mcp_server_elicited(s, "https://a.b/c");
    tell(s, CALL("3") "}}\n");
    tell(s, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":3}}\n");
    said = tell(s, CALL("4") "," CAN_META);
    state = strstr(said, "\"requestState\":\"");
    copy[0] = 0;
    if (state) snprintf(copy, sizeof copy, "%.*s", (int)strcspn(state + 16, "\""), state + 16);
    said = tell(s, CALL("5") ",\"inputResponses\":{\"q\":" ACCEPT ",\"roots\":{\"roots\":[]}},\"requestState\":\"%s\"," CAN_META, copy);
    state = strstr(said, "\"requestState\":\"");
    copy[0] = 0;
    if (state) snprintf(copy, sizeof copy, "%.*s", (int)strcspn(state + 16, "\""), state + 16);
    tell(s, CALL("6") ",\"inputResponses\":{\"page\":{\"action\":\"accept\"}},\"requestState\":\"%s\"," CAN_META, copy);
    tell(s, CALL("7") ",\"inputResponses\":{\"q\":5}," CAN_META);
    tell(s, CALL("8") "}}\n");              /* not answered: it goes with the server */
    finish_server(s, MCP_OK);
    take_answers();
}

/* True when the other end has been closed. */
static bool take_from(int fd)
{
    ssize_t n;
    bool on = fault.on;
    fault.on = false;
    while ((n = recv(fd, got.text + got.len, sizeof got.text - got.len, MSG_DONTWAIT)) > 0
           || (n < 0 && errno == ENOTSOCK && (n = read(fd, got.text + got.len, sizeof got.text - got.len)) > 0))
        got.len += (size_t)n;
    fault.on = on;
    return n == 0 || (n < 0 && errno != EAGAIN);
}

/* A server on stdin and stdout, which are pipes here. */
static void stdio_server(void)
{
    mcp_server_desc d = {0};
    mcp_server *s;
    int in[2], out[2], old[2], rc;
    bool on = fault.on;
    fault.on = false;
    fflush(stdout);
    old[0] = fcntl(0, F_DUPFD_CLOEXEC, 3);
    old[1] = fcntl(1, F_DUPFD_CLOEXEC, 3);
    if (pipe(in) || pipe(out) || write(in[1], script, sizeof script - 1) != (ssize_t)sizeof script - 1) abort();
    dup2(in[0], 0);
    dup2(out[1], 1);
    close(in[0]); close(in[1]); close(out[1]);
    d.alloc = counting;
    fault.on = on;
    s = new_server(&d);
    rc = mcp_server_run(s);
    finish_server(s, rc);
    fault.on = false;
    dup2(old[0], 0);
    dup2(old[1], 1);
    close(old[0]); close(old[1]);
    take_from(out[0]);
    close(out[0]);
    fault.on = on;
    take_answers();
}

static void posted(void *owner, void *arg)
{
    (void)owner;
    ++*(int *)arg;
}

/* A server on a listening socket; and something is posted to it. */
static void socket_server(void)
{
    mcp_server_desc d = {0};
    mcp_server *s;
    mcp_poster *p;
    struct sockaddr_un to;
    int fd, i, rc = MCP_OK, runs = 0, sent;
    bool on = fault.on, gone = false;
    char address[128];
    snprintf(address, sizeof address, "unix:%s/s", dir);
    d.listen = address;
    d.alloc = counting;
    s = new_server(&d);
    p = mcp_server_poster(s);
    sent = mcp_post(p, posted, &runs) == MCP_OK;
    if (!p) went_badly(MCP_ERR_FAILED, "no poster");
    fault.on = false;
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memset(&to, 0, sizeof to);
    to.sun_family = AF_UNIX;
    strcpy(to.sun_path, address + 5);
    if (mcp_server_address(s)[0]) {
        if (connect(fd, (struct sockaddr *)&to, sizeof to) || send(fd, script, sizeof script - 1, 0) < 0) abort();
        shutdown(fd, SHUT_WR);
    }
    fault.on = on;
    for (i = 0; i < 200 && rc == MCP_OK && mcp_server_address(s)[0] && !gone; i++) {
        struct pollfd fds[8];
        int n = mcp_server_pollfds(s, fds, 8), ms = mcp_server_timeout(s);
        on = fault.on;
        fault.on = false;
        poll(fds, (nfds_t)n, ms < 0 || ms > 3 ? 3 : ms);
        fault.on = on;
        rc = mcp_server_step(s, i % 2 ? fds : NULL, n);
        gone = take_from(fd);
    }
    mcp_server_stop(s);
    while (rc == MCP_OK) rc = mcp_server_step(s, NULL, 0);
    finish_server(s, rc);
    mcp_poster_free(p);
    expect(runs == sent, "a post was lost, or came twice");
    fault.on = false;
    take_from(fd);
    close(fd);
    fault.on = on;
    if (!got.len) went_badly(MCP_ERR_CLOSED, "nobody answered");
    take_answers();
}

/* -- sessions of a client ------------------------------------------------------------------------------------------- */

static mcp_client *client;
static int told, over, wanted;

static void on_ready(mcp_client *c, int status, void *user)
{
    (void)user;
    told++;
    if (status != MCP_OK) went_badly(status, mcp_client_error(c));
}

static int on_ask(mcp_client *c, mcp_id ask, const char *method, const mcp_json *params, mcp_writer *w, void *user)
{
    (void)c; (void)ask; (void)method; (void)params; (void)user;
    mcp_put_array(w, "roots");
    mcp_put_end(w);
    return MCP_OK;
}

static void look_at(const mcp_reply *r, const char *text)
{
    const char *s = mcp_reply_text(r, NULL);
    if (r->status != MCP_OK) {
        expect(r->message || client == NULL, "a failure without a sentence");
        if (r->status != MCP_ERR_CANCELLED) went_badly(r->status, r->message);
    } else if (mcp_reply_is_error(r)) went_badly(MCP_ERR_PEER, s);
    else if (text && strcmp(text, s) != 0) { if (!expect(false, "a wrong answer")) printf("    \"%s\" instead of \"%s\"\n", s, text); }
    else went.right++;
}

static void on_reply(const mcp_reply *r, void *user)
{
    over++;
    look_at(r, (const char *)user);
}

static bool each(const mcp_json *item, void *user)
{
    *(int *)user += mcp_json_size(item) > 0;
    return true;
}

static mcp_call say_call(const char *how)
{
    mcp_call k = {0};
    k.tool = "say";
    k.args = how;
    k.meta = MCP_JSON({"a": 1});
    k.fn = on_reply;
    return k;
}

static mcp_id send_call(const char *how, const char *text)
{
    mcp_call k = say_call(how);
    mcp_id id;
    k.user = (void *)(uintptr_t)text;
    id = mcp_client_send(client, &k);
    if (id) wanted++;
    else expect(!client || mcp_client_error(client)[0], "a refusal without a sentence");
    if (!id) went_badly(MCP_ERR_FAILED, mcp_client_error(client));
    return id;
}

/* What every client does, whatever is at the other end. */
static void use_client(mcp_client_desc *d)
{
    static const char structured[] = "{\"a\":[1,2,3]}";
    mcp_call k = {0};
    mcp_poster *p;
    mcp_id id;
    const mcp_reply *r;
    int items = 0, runs = 0, sent;
    d->name = "faults";
    d->version = "1";
    d->capabilities = MCP_JSON({"roots": {}});
    d->timeout_ms = scaled(1500);
    d->start_timeout_ms = scaled(3000);
    d->probe_ms = scaled(1000);
    d->grace_ms = 50;
    d->on_ready = on_ready;
    d->on_ask = on_ask;
    d->alloc = counting;
    told = over = wanted = 0;
    client = mcp_client_new(d);
    if (!client) {
        went_badly(MCP_ERR_MEMORY, "no client");
        expect(fault.how >= MEMORY, "no client, though there is memory");
        if (d->io.close) d->io.close(d->io.user);
        return;
    }
    send_call(MCP_JSON({"how": "result"}), structured);         /* waits for the handshake */
    id = send_call(MCP_JSON({"how": "never"}), "nothing");
    k.method = "tools/list";
    k.each = each;
    k.user = &items;
    r = mcp_client_call(client, &k);
    look_at(r, NULL);
    if (r->status == MCP_OK) expect(items == 1, "a tool is missing");
    mcp_client_cancel(client, id, "enough");
    p = mcp_client_poster(client);
    if (!p) went_badly(MCP_ERR_FAILED, "no poster");
    sent = mcp_post(p, posted, &runs) == MCP_OK;
    send_call(MCP_JSON({"how": "late"}), "late");
    k = say_call(MCP_JSON({"how": "result"}));
    k.fn = NULL;
    look_at(mcp_client_call(client, &k), structured);
    k = say_call(MCP_JSON({"how": "late"}));
    k.fn = NULL;
    look_at(mcp_client_call(client, &k), "late");
    mcp_client_notify(client, "notifications/x", "{\"a\":1}");
    expect(fault.fired || mcp_client_protocol(client), "no protocol");
    if (mcp_client_error(client)[0] && id == 0) went_badly(MCP_ERR_FAILED, mcp_client_error(client));
    mcp_client_free(client);
    client = NULL;
    mcp_poster_free(p);
    expect(told == 1, "on_ready was not called once");
    expect(over == wanted, "a reply was lost, or came twice");
    expect(runs == sent, "a post was lost, or came twice");
    if (!fault.at) expect(went.right == 5, "not all answers came");
}

/* This program itself is the server. */
static void child_client(void)
{
    const char *argv[3];
    mcp_client_desc d = {0};
    argv[0] = self;
    argv[1] = "--server";
    argv[2] = NULL;
    d.argv = argv;
    d.capture_stderr = true;
    d.cwd = dir;
    use_client(&d);
}

/* The server runs inside of the stream: whoever reads and finds nothing lets it take a turn. */
static mcp_io ends[2];
static mcp_server *inside;
static bool server_fails;

static void turn(void)
{
    bool on = fault.on;
    int rc;
    fault.on = on && server_fails;
    if (inside && (rc = mcp_server_step(inside, NULL, 0)) != MCP_OK) {     /* a program would end */
        finish_server(inside, rc);
        inside = NULL;
    }
    fault.on = on;
}

static ptrdiff_t turn_read(void *user, void *buf, size_t n)
{
    (void)user;
    if (!server_fails && faulty("read", 1 << FAIL | 1 << WAIT | 1 << BYTE | 1 << END)) {
        if (fault.how == FAIL) return MCP_ERR_TRANSPORT;
        if (fault.how == WAIT) return MCP_ERR_AGAIN;
        if (fault.how == END) return 0;
        n = 1;
    }
    turn();
    return ends[0].read(ends[0].user, buf, n);
}

static ptrdiff_t turn_write(void *user, const void *buf, size_t n)
{
    (void)user;
    if (!server_fails && faulty("write", 1 << FAIL | 1 << WAIT | 1 << BYTE)) {
        if (fault.how == FAIL) return MCP_ERR_TRANSPORT;
        if (fault.how == WAIT) return MCP_ERR_AGAIN;
        n = 1;
    }
    return ends[0].write(ends[0].user, buf, n);
}

static void turn_close(void *user) { (void)user; ends[0].close(ends[0].user); }

static void pair(int era)
{
    mcp_server_desc s = {0};
    mcp_client_desc c = {0};
    bool on = fault.on;
    fault.on = on && server_fails;
    s.alloc = counting;
    s.era = era;
    if (mcp_io_pair(server_fails ? &counting : NULL, ends) != MCP_OK) { went_badly(MCP_ERR_MEMORY, "no pair"); fault.on = on; return; }
    s.io = ends[1];
    inside = new_server(&s);
    if (!inside) { went_badly(MCP_ERR_MEMORY, "no server"); ends[1].close(ends[1].user); }
    c.io.read = turn_read;
    c.io.write = turn_write;
    c.io.close = turn_close;
    fault.on = on && !server_fails;
    use_client(&c);
    fault.on = on && server_fails;
    if (inside) finish_server(inside, MCP_OK);
    inside = NULL;
    fault.on = on;
}

static void pair_client(void)  { server_fails = false; pair(MCP_ERA_BOTH); }
static void pair_server(void)  { server_fails = true; pair(MCP_ERA_BOTH); }
static void pair_legacy(void)  { server_fails = false; pair(MCP_ERA_LEGACY); }

/* -- a client that is asked: the server is a script, which answers as soon as it is written to ------------------------- */

static struct { char in[8192], out[16384]; size_t in_len, out_len, out_at; bool legacy; int call; mcp_id ask; } scripted;

static void script_say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    scripted.out_len += (size_t)vsnprintf(scripted.out + scripted.out_len, sizeof scripted.out - scripted.out_len, fmt, ap);
    va_end(ap);
}

static void script_line(const char *line)
{
    static const char schema[] = "{\"message\":\"m\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"string\",\"default\":\"x\"}},\"required\":[\"n\"]}}";
    const char *at = strstr(line, "\"id\":");
    int id = at ? atoi(at + 5) : 0;
    if (strstr(line, "\"id\":\"q\""))                      /* the answer to our question, or its refusal */
        script_say("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"isError\":%s}}\n", scripted.call,
                   strstr(line, "\"content\":{\"n\":\"x\"}") ? "false" : "true");
    else if (!id) return;
    else if (strstr(line, "server/discover") && scripted.legacy) script_say("{\"jsonrpc\":\"2.0\",\"id\":%d,\"error\":{\"code\":-32601,\"message\":\"no\"}}\n", id);
    else if (strstr(line, "server/discover")) script_say("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}}\n", id);
    else if (strstr(line, "\"initialize\"")) script_say("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"logging\":{},\"resources\":{\"subscribe\":true}}}}\n", id);
    else if (strstr(line, "tools/call") && scripted.legacy) {
        scripted.call = id;
        script_say("{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":%s}\n", schema);
    } else if (strstr(line, "\"inputResponses\""))
        script_say("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"isError\":%s}}\n", id,
                   strstr(line, "\"content\":{\"n\":\"x\"}") && strstr(line, "\"requestState\":\"s\"") ? "false" : "true");
    else if (strstr(line, "tools/call"))
        script_say("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"resultType\":\"input_required\",\"requestState\":\"s\",\"inputRequests\":{\"a\":{\"method\":\"elicitation/create\",\"params\":%s},\"b\":{\"method\":\"roots/list\"}}}}\n", id, schema);
    else if (strstr(line, "subscriptions/listen"))
        script_say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":%d},\"notifications\":{}}}\n", id);
    else if (strstr(line, "resources/read")) script_say("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"contents\":[{\"uri\":\"u\",\"text\":\"T\"}],\"ttlMs\":100000}}\n", id);
    else script_say("{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}\n", id);
}

static ptrdiff_t script_read(void *user, void *buf, size_t n)
{
    size_t left = scripted.out_len - scripted.out_at;
    (void)user;
    if (faulty("read", 1 << FAIL | 1 << WAIT | 1 << BYTE | 1 << END)) {
        if (fault.how == FAIL) return MCP_ERR_TRANSPORT;
        if (fault.how == WAIT) return MCP_ERR_AGAIN;
        if (fault.how == END) return 0;
        n = 1;
    }
    if (!left) return MCP_ERR_AGAIN;
    if (n > left) n = left;
    memcpy(buf, scripted.out + scripted.out_at, n);
    scripted.out_at += n;
    return (ptrdiff_t)n;
}

static ptrdiff_t script_write(void *user, const void *buf, size_t n)
{
    char *lf;
    (void)user;
    if (faulty("write", 1 << FAIL | 1 << WAIT | 1 << BYTE)) {
        if (fault.how == FAIL) return MCP_ERR_TRANSPORT;
        if (fault.how == WAIT) return MCP_ERR_AGAIN;
        n = 1;
    }
    if (n > sizeof scripted.in - scripted.in_len) abort();
    memcpy(scripted.in + scripted.in_len, buf, n);
    scripted.in_len += n;
    while ((lf = (char *)memchr(scripted.in, '\n', scripted.in_len)) != NULL) {
        *lf = 0;
        script_line(scripted.in);
        scripted.in_len -= (size_t)(lf + 1 - scripted.in);
        memmove(scripted.in, lf + 1, scripted.in_len);
    }
    return (ptrdiff_t)n;
}

/* The form is put off, and answered when the roots are asked for; a legacy server asks for nothing else. */
static int on_script_ask(mcp_client *c, mcp_id ask, const char *method, const mcp_json *params, mcp_writer *w, void *user)
{
    (void)params; (void)user;
    if (strcmp(method, "roots/list") != 0) {
        scripted.ask = ask;
        return scripted.legacy ? MCP_OK : MCP_ERR_AGAIN;
    }
    if (mcp_client_answer(c, scripted.ask, MCP_OK, "{\"action\": \"accept\"}") != MCP_OK) {
        expect(mcp_client_error(c)[0], "a refused answer without a sentence");
        mcp_client_answer(c, scripted.ask, MCP_ERR_CANCELLED, NULL);
    }
    mcp_put_array(w, "roots");
    mcp_put_end(w);
    return MCP_OK;
}

static int acks;
static void on_script_note(mcp_client *c, const char *method, const mcp_json *params, void *user)
{
    (void)c; (void)user; (void)params;
    acks += strcmp(method, "notifications/subscriptions/acknowledged") == 0;
}

static void asked_of(bool legacy)
{
    static const char *const uris[] = { "u", "v", NULL };
    mcp_client_desc d = {0};
    mcp_call k = {0};
    mcp_id listen;
    int i;
    memset(&scripted, 0, sizeof scripted);
    scripted.legacy = legacy;
    d.name = "asked";
    d.version = "1";
    d.capabilities = MCP_JSON({"roots": {}, "elicitation": {}});
    d.io.read = script_read;
    d.io.write = script_write;
    d.timeout_ms = scaled(300);
    d.start_timeout_ms = scaled(500);
    d.probe_ms = scaled(200);
    d.on_ready = on_ready;
    d.on_ask = on_script_ask;
    d.on_notify = on_script_note;
    d.cache_bytes = 1000;
    d.alloc = counting;
    told = over = wanted = acks = 0;
    client = mcp_client_new(&d);
    if (!client) { went_badly(MCP_ERR_MEMORY, "no client"); return; }
    k.tool = "x";
    k.log_level = "info";
    look_at(mcp_client_call(client, &k), "done");
    listen = mcp_client_listen(client, MCP_LIST_TOOLS, uris, on_reply, NULL);
    if (listen) wanted++;
    else went_badly(MCP_ERR_FAILED, mcp_client_error(client));
    memset(&k, 0, sizeof k);
    k.uri = "u";
    for (i = 0; i < 3; i++) look_at(mcp_client_call(client, &k), "T");
    if (listen) mcp_client_cancel(client, listen, NULL);
    k.uri = NULL;
    k.prompt = "p";
    k.complete = "c";
    look_at(mcp_client_call(client, &k), "");
    if (acks != 1 && went.status == MCP_OK) went_badly(MCP_ERR_FAILED, "not acknowledged");
    mcp_client_free(client);
    client = NULL;
    expect(told == 1, "on_ready was not called once");
    expect(over == wanted, "a reply was lost, or came twice");
    if (!fault.at) expect(went.right == 5, "not all answers came");
}

static void asked_modern(void) { asked_of(false); }
static void asked_legacy(void) { asked_of(true); }

/* -- all faults of a session ----------------------------------------------------------------------------------------- */

static int64_t real_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* One run, with the n-th call failing; 0: none. True: there was an n-th call. */
static bool run_once(void (*fn)(void), int how, int n)
{
    int fds = open_fds(), was_failed = test_failed;
    int64_t began;
    memset(&memory, 0, sizeof memory);
    memset(&fault, 0, sizeof fault);
    memset(&went, 0, sizeof went);
    got.len = 0;
    fault.how = how;
    fault.at = n;
    fault.on = true;
    alarm(20);
    began = real_ms();
    fn();
    alarm(0);
    fault.on = false;
    if (real_ms() - began > 100 && getenv("VERBOSE"))
        printf("%s, %s at %d (%s): %d ms: %s\n", session, how_names[how], n, fault.call ? fault.call : "none", (int)(real_ms() - began), went.why);
    expect(memory.live == 0, "memory is left");
    expect(memory.wrong == 0, "a wrong size was told to the allocator");
    expect(open_fds() == fds, "descriptors are left");
    expect(childless(), "children are left");
    if (went.status != MCP_OK) expect(went.why[0], "a failure without a sentence");
    if (!fault.fired) expect(went.status == MCP_OK, went.why);
    return fault.fired && test_failed < was_failed + 20;
}

/* The n-th call for all n. Where a run is slow (valgrind) not all of them. */
static void run_all(const char *name, void (*fn)(void), unsigned hows)
{
    int how, n, right, step;
    bool ends_count = strncmp(name, "a server", 8) != 0;     /* a server that has read the end is right to stop */
    int64_t began = real_ms();
    session = name;
    run_once(fn, FAIL, 0);
    right = went.right;
    step = 1 + (int)((real_ms() - began) / 40);
    for (how = 0; how < HOWS; how++) {
        if (!(hows & 1u << how)) continue;
        for (n = 1; run_once(fn, how, n); n += step) {
            if (how == WAIT || how == BYTE) expect(went.status == MCP_OK && went.right == right, "what only took longer did harm");
            else if (how != END || ends_count) expect(went.status != MCP_OK || went.right == right, "something is missing, and nobody was told");
        }
        run_once(fn, how, 0);
        expect(went.right == right, "it does not work again");
        if (getenv("VERBOSE")) printf("%s, %s: %d, %d ms\n", name, how_names[how], n - 1, (int)(real_ms() - began));
    }
}

enum { CALLS = 1 << FAIL | 1 << WAIT | 1 << BYTE | 1 << END, ALLOCATIONS = 1 << MEMORY | 1 << DROUGHT };

/* Each kind of session has a process to itself: most of their time is waiting. The checks are counted here. */
static int counts_of(const char *name, void (*fn)(void), unsigned hows)
{
    int ends[2], i;
    pid_t pid;
    if (pipe(ends) < 0 || (pid = fork()) < 0) abort();
    if (pid) { close(ends[1]); return ends[0]; }
    test_passed = test_failed = 0;
    run_all(name, fn, hows);
    fflush(stdout);
    for (i = 0; i < (int)(sizeof good / sizeof *good); i++) free(good[i]);
    ends[0] = test_passed;
    i = ends[1];
    ends[1] = test_failed;
    if (write(i, ends, sizeof ends) != (ssize_t)sizeof ends) abort();
    exit(0);
}

int main(int argc, char **argv)
{
    static const struct { const char *name; void (*fn)(void); unsigned hows; } sessions[] = {
        { "a client with a child", child_client, CALLS | ALLOCATIONS },
        { "a client on a stream", pair_client, CALLS | ALLOCATIONS },
        { "a client, legacy", pair_legacy, CALLS | ALLOCATIONS },
        { "a client's server", pair_server, ALLOCATIONS },
        { "a client that is asked", asked_modern, CALLS | ALLOCATIONS },
        { "a client that is asked, legacy", asked_legacy, CALLS | ALLOCATIONS },
        { "an asking server", asking_server, ALLOCATIONS },
        { "a server on a stream", bytes_server, CALLS | ALLOCATIONS },
        { "a server with resources and prompts", features_server, CALLS | ALLOCATIONS },
        { "a server on stdin and stdout", stdio_server, CALLS | ALLOCATIONS },
        { "a server on a socket", socket_server, CALLS | ALLOCATIONS }
    };
    enum { SESSIONS = sizeof sessions / sizeof *sessions };
    int fds[SESSIONS], counts[2], i;
    if (argc > 1 && strcmp(argv[1], "--server") == 0) {
        mcp_server_desc d = {0};
        mcp_server *s = new_server(&d);
        int rc = mcp_server_run(s);
        mcp_server_free(s);
        return rc != MCP_OK;
    }
    snprintf(dir, sizeof dir, "/tmp/faults.XXXXXX");
    CHECK(realpath(argv[0], self));
    CHECK(mkdtemp(dir));
    signal(SIGALRM, hangs);
    fflush(stdout);
    for (i = 0; i < SESSIONS; i++) fds[i] = counts_of(sessions[i].name, sessions[i].fn, sessions[i].hows);
    for (i = 0; i < SESSIONS; i++) {
        if (read(fds[i], counts, sizeof counts) != (ssize_t)sizeof counts) {
            printf("%s: it died\n", sessions[i].name);
            counts[0] = 0; counts[1] = 1;
        }
        close(fds[i]);
        test_passed += counts[0];
        test_failed += counts[1];
        (void)wait(NULL);
    }
    rmdir(dir);
    return test_end();
}
