/* The operating system part: children, streams over descriptors, the stdout guard, posts, SIGPIPE, Unix sockets.
 * The program starts itself with an argument to be the child that is looked at. */
#define _XOPEN_SOURCE 700                   /* posix_openpt */
#define _DEFAULT_SOURCE 1
#define _DARWIN_C_SOURCE 1
#include <signal.h>
#include <stdbool.h>

/* A signal that is seen here may be gone the next moment. */
static bool taken_by_another;
static int seen_pending(sigset_t *set)
{
    int rc = sigpending(set), number;
    sigset_t pipe;
    if (!taken_by_another || rc != 0 || sigismember(set, SIGPIPE) != 1) return rc;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    return sigwait(&pipe, &number);
}
#define sigpending seen_pending

#define MCP_IMPLEMENTATION      /* looks inside */
#define MCP_NO_VALIDATE
#define MCP_NO_SANITIZE
#define MCP_STATIC
#define close watched_close                 /* in mcp.h and here, see below */
#define waitpid watched_waitpid
#include "mcp.h"
#include "test.h"
#include <pthread.h>
#include <sys/resource.h>
#include <sys/time.h>

#undef close
#undef waitpid
extern int close(int fd);
extern pid_t waitpid(pid_t pid, int *status, int options);
static int closed_in_vain, reaped_before;

/* In a program with threads, the number of a descriptor that was closed may be somebody else's by now. */
int watched_close(int fd)
{
    int rc = close(fd);
    if (rc < 0 && errno == EBADF) closed_in_vain++;
    return rc;
}

/* Another thread is faster once. */
pid_t watched_waitpid(pid_t pid, int *status, int options)
{
    if (reaped_before) { reaped_before = 0; (void)waitpid(pid, NULL, 0); }
    return waitpid(pid, status, options);
}
#define close watched_close
#define waitpid watched_waitpid

extern char **environ;
static char self[4096];                     /* this program */
static int emulated;                        /* by valgrind, whose execve does not fail as the kernel's does */
static char dir[64];                        /* a folder of our own for files and sockets */

/* -- what the children do ----------------------------------------------------------------------------------------- */

static void copy_input(void)
{
    char buf[4096];
    ssize_t n;
    while ((n = read(0, buf, sizeof buf)) > 0) if (write(1, buf, (size_t)n) != n) break;
}

static void show_process(void)
{
    int fd, sig;
    struct sigaction sa;
    sigset_t mask;
    printf("fds:");
    for (fd = 0; fd < 512; fd++) if (fcntl(fd, F_GETFD) >= 0) printf(" %d", fd);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    printf("\nblocked:");
    for (sig = 1; sig < NSIG; sig++) if (sigismember(&mask, sig) == 1) printf(" %d", sig);
    printf("\nignored:");
    for (sig = 1; sig < NSIG; sig++) if (sigaction(sig, NULL, &sa) == 0 && sa.sa_handler == SIG_IGN) printf(" %d", sig);
    printf("\nleads its group: %d\nblocking: %d%d\n", getpgrp() == getpid(),
           !(fcntl(0, F_GETFL) & O_NONBLOCK), !(fcntl(1, F_GETFL) & O_NONBLOCK));
}

static int child_main(int argc, char **argv)
{
    const char *what = argv[1] + 2;
    int i;
    char cwd[4096];
    if (!strcmp(what, "args")) for (i = 2; i < argc; i++) printf("[%s]\n", argv[i]);
    else if (!strcmp(what, "env")) for (i = 0; environ[i]; i++) printf("%s\n", environ[i]);
    else if (!strcmp(what, "cwd")) printf("%s\n", getcwd(cwd, sizeof cwd));
    else if (!strcmp(what, "cat")) copy_input();
    else if (!strcmp(what, "process")) show_process();
    else if (!strcmp(what, "stderr")) { fprintf(stderr, "oops"); printf("fine"); }
    else if (!strcmp(what, "exit")) return atoi(argv[2]);
    else if (!strcmp(what, "kill")) { raise(atoi(argv[2])); sleep(10); }
    else if (!strcmp(what, "sleep")) sleep(10);
    else if (!strcmp(what, "leave")) {      /* leaves somebody in the group, who says its number */
        pid_t pid = fork();
        if (pid == 0) { close(0); sleep(10); _exit(0); }
        printf("%d\n", (int)pid);
        fflush(stdout);
        _exit(7);
    } else return 99;
    fflush(stdout);
    return 0;
}

/* -- helpers --------------------------------------------------------------------------------------------------------- */

static int open_fds(void)
{
    int fd, n = 0;
    for (fd = 0; fd < 512; fd++) n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

static void nap(int ms)
{
    (void)poll(NULL, 0, ms);
}

/* No process of ours is left, not even a zombie. */
static int childless(void)
{
    return waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD;
}

/* Runs a test in a process of its own: for what changes the process. Its checks are counted here. */
static void apart(void (*fn)(void))
{
    int ends[2], counts[2] = { 0, 1 };
    pid_t pid;
    fflush(stdout);
    if (pipe(ends) < 0) abort();
    ends[0] = mcpi_fd_own(ends[0], false);
    ends[1] = mcpi_fd_own(ends[1], false);
    pid = fork();
    if (pid == 0) {
        test_passed = test_failed = 0;
        fn();
        fflush(stdout);
        counts[0] = test_passed;
        counts[1] = test_failed;
        _exit(write(ends[1], counts, sizeof counts) != (ssize_t)sizeof counts);
    }
    close(ends[1]);
    if (read(ends[0], counts, sizeof counts) != (ssize_t)sizeof counts) printf("%s: died\n", test_name);
    close(ends[0]);
    waitpid(pid, NULL, 0);
    test_passed += counts[0];
    test_failed += counts[1];
}

static void write_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text)) abort();
    close(fd);
}

static const char *in_dir(const char *name)
{
    static char path[4][128];
    static int turn;
    char *p = path[turn++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", dir, name);
    return p;
}

static char why[256];

static int start(mcpi_child *ch, mcpi_spawn *how)
{
    why[0] = 0;
    return mcpi_child_start(ch, how, why, sizeof why);
}

/* Starts this program with `what` and up to two arguments. */
static int start_self(mcpi_child *ch, mcpi_spawn *how, const char *what, const char *one, const char *two)
{
    const char *argv[5];
    argv[0] = self; argv[1] = what; argv[2] = one; argv[3] = two; argv[4] = NULL;
    how->argv = argv;
    return start(ch, how);
}

/* All that comes until the end, at most 5 s. */
static const char *drain(int fd)
{
    static char buf[65536];
    size_t n = 0;
    struct pollfd p;
    p.fd = fd;
    p.events = POLLIN;
    while (n < sizeof buf - 1 && poll(&p, 1, 5000) > 0) {
        ptrdiff_t k = mcpi_fd_read(fd, buf + n, sizeof buf - 1 - n);
        if (k == MCP_ERR_AGAIN) continue;
        if (k <= 0) break;
        n += (size_t)k;
    }
    buf[n] = 0;
    return buf;
}

static int wait_exit(mcpi_child *ch)
{
    int i;
    for (i = 0; i < 1000 && !ch->exited; i++) {
        mcpi_child_reap(ch, false);
        if (!ch->exited && ch->pid) nap(5);
    }
    return ch->exited;
}

static const char *how_it_ended(const mcpi_child *ch)
{
    static char text[128];
    mcpi_child_why(ch, text, sizeof text);
    return text;
}

static void put_away(mcpi_child *ch)
{
    mcpi_close(&ch->in);
    mcpi_close(&ch->out);
    mcpi_close(&ch->err);
    mcpi_child_signal(ch, SIGKILL);
    wait_exit(ch);
}

/* -- starting children ------------------------------------------------------------------------------------------------ */

TEST(arguments_as_they_are)
{
    mcpi_child ch;
    mcpi_spawn how;
    int before = open_fds();
    memset(&how, 0, sizeof how);
    EQ_INT(start_self(&ch, &how, "--args", "a b \"c\" 'd' $(id) `id` $HOME ~ * ; touch x", ""), MCP_OK);
    EQ_STR(drain(ch.out), "[a b \"c\" 'd' $(id) `id` $HOME ~ * ; touch x]\n[]\n");
    CHECK(ch.err == -1);
    CHECK(wait_exit(&ch));
    EQ_STR(how_it_ended(&ch), "exited with status 0");
    put_away(&ch);
    EQ_INT(open_fds(), before);
    CHECK(childless());
}

TEST(environment)
{
    static const char *const over[] = { "MCP_A=1", "MCP_B=first", "MCP_B=x=y", "MCP_GONE", "MCP_EMPTY=", "", "=odd", "PATH_=z", NULL };
    mcpi_child ch;
    mcpi_spawn how;
    const char *out;
    setenv("MCP_GONE", "secret", 1);
    setenv("MCP_B", "old", 1);
    setenv("MCP_KEPT", "yes", 1);
    setenv("TERM", "dumb", 1);
    memset(&how, 0, sizeof how);
    how.env = over;
    EQ_INT(start_self(&ch, &how, "--env", NULL, NULL), MCP_OK);
    out = drain(ch.out);
    CHECK(strstr(out, "MCP_A=1\n") && strstr(out, "MCP_B=x=y\n") && strstr(out, "MCP_KEPT=yes\n") && strstr(out, "MCP_EMPTY=\n"));
    CHECK(!strstr(out, "MCP_GONE") && !strstr(out, "=old\n") && !strstr(out, "=first\n") && !strstr(out, "=odd\n"));
    CHECK(strstr(out, "PATH=") && strstr(out, "PATH_=z\n"));
    put_away(&ch);
    how.clean_env = true;
    EQ_INT(start_self(&ch, &how, "--env", NULL, NULL), MCP_OK);
    out = drain(ch.out);
    CHECK(strstr(out, "MCP_A=1\n") && strstr(out, "TERM=dumb\n") && strstr(out, "PATH="));
    CHECK(!strstr(out, "MCP_KEPT") && !strstr(out, "MCP_GONE"));
    put_away(&ch);
    unsetenv("MCP_GONE"); unsetenv("MCP_B"); unsetenv("MCP_KEPT");
}

TEST(path_of_the_resulting_environment)
{
    const char *argv[] = { "mcp-test-tool", NULL }, *env[] = { NULL, NULL };
    char path[512];
    mcpi_child ch;
    mcpi_spawn how;
    memset(&how, 0, sizeof how);
    how.argv = argv;
    how.env = env;
    write_file(in_dir("mcp-test-tool"), "#!/bin/sh\necho found in $PATH\n", 0755);
    mkdir(in_dir("locked"), 0);
    mkdir(in_dir("first"), 0755);
    write_file(in_dir("first/mcp-test-tool"), "not executable", 0644);
    snprintf(path, sizeof path, "PATH=/no/such:%s/locked:/etc/passwd:%s/first:%s:/bin", dir, dir, dir);
    env[0] = path;
    EQ_INT(start(&ch, &how), MCP_OK);
    EQ_STR(why, "");
    CHECK(strncmp(drain(ch.out), "found in /no/such", 17) == 0);
    put_away(&ch);
    snprintf(path, sizeof path, "PATH=%s/first:/no/such", dir);
    EQ_INT(start(&ch, &how), MCP_ERR_SPAWN);
    EQ_STR(why, "cannot start \"mcp-test-tool\": Permission denied");
    snprintf(path, sizeof path, "PATH=/no/such:%s/locked", dir);
    EQ_INT(start(&ch, &how), MCP_ERR_SPAWN);
    EQ_STR(why, "cannot start \"mcp-test-tool\": not found in PATH");
    how.cwd = dir;                          /* an empty entry is the current directory, which is the child's */
    snprintf(path, sizeof path, "PATH=/no/such:");
    EQ_INT(start(&ch, &how), MCP_OK);
    put_away(&ch);
    env[0] = "PATH";                        /* no PATH at all: the system's */
    how.cwd = NULL;
    argv[0] = "true";
    EQ_INT(start(&ch, &how), MCP_OK);
    put_away(&ch);
    CHECK(childless());
}

TEST(failures_are_told_at_once)
{
    static const struct { const char *command, *cwd, *sentence; int error; } row[] = {
        { "no-such-cmd-xyz", NULL, "cannot start \"no-such-cmd-xyz\": not found in PATH", 0 },
        { "/no/such/cmd", NULL, "cannot start \"/no/such/cmd\": ", ENOENT },
        { "/etc/passwd/x", NULL, "cannot start \"/etc/passwd/x\": ", ENOTDIR },
        { "~/bin/s", NULL, "cannot start \"~/bin/s\": ", ENOENT },
        { "/etc", NULL, "cannot start \"/etc\": ", EACCES },
        { "./plain", dir, "cannot start \"./plain\": ", EACCES },
        { "./badinterp", dir, "cannot start \"./badinterp\": the interpreter in its first line was not found", 0 },
        { "./noexec", dir, "cannot start \"./noexec\": ", ENOEXEC },
        { "/bin/cat", "/no", "cannot change directory to \"/no\": ", ENOENT },
        { "/bin/cat", "/etc/passwd", "cannot change directory to \"/etc/passwd\": ", ENOTDIR },
        { "no-such-cmd-xyz", "", "cannot change directory to \"\": ", ENOENT },
        { "", NULL, "no command to start", 0 },
        { NULL, NULL, "no command to start", 0 }
    };
    char sentence[256];
    size_t i;
    int before = open_fds();
    write_file(in_dir("plain"), "echo\n", 0644);
    write_file(in_dir("badinterp"), "#!/no/such/interpreter\n", 0755);
    write_file(in_dir("noexec"), "echo no first line\n", 0755);
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        const char *argv[2];
        if (emulated && row[i].command && !strcmp(row[i].command, "./badinterp")) continue;
        mcpi_child ch;
        mcpi_spawn how;
        argv[0] = row[i].command;
        argv[1] = NULL;
        memset(&how, 0, sizeof how);
        how.argv = argv;
        how.cwd = row[i].cwd;
        how.capture_stderr = i % 2 != 0;
        EQ_INT(start(&ch, &how), MCP_ERR_SPAWN);
        snprintf(sentence, sizeof sentence, "%s%s", row[i].sentence, row[i].error ? strerror(row[i].error) : "");
        EQ_STR(why, sentence);
        CHECK(ch.pid == 0 && ch.in == -1 && ch.out == -1 && ch.err == -1 && mcpi_child_peek(&ch) == -1);
        CHECK(childless());
        EQ_INT(open_fds(), before);
    }
}

TEST(too_many_arguments)
{
    mcpi_child ch;
    mcpi_spawn how;
    char *big = (char *)malloc(4000000);
    if (!big) abort();
    if (emulated) { free(big); return; }
    memset(big, 'x', 3999999);
    big[3999999] = 0;
    memset(&how, 0, sizeof how);
    EQ_INT(start_self(&ch, &how, "--args", big, NULL), MCP_ERR_SPAWN);
    CHECK(strstr(why, strerror(E2BIG)) != NULL);
    CHECK(childless());
    free(big);
}

TEST(working_directory)
{
    mcpi_child ch;
    mcpi_spawn how;
    memset(&how, 0, sizeof how);
    how.cwd = "/";
    EQ_INT(start_self(&ch, &how, "--cwd", NULL, NULL), MCP_OK);
    EQ_STR(drain(ch.out), "/\n");
    put_away(&ch);
}

static void start_with_odd_signals(void)
{
    mcpi_child ch;
    mcpi_spawn how;
    sigset_t term, mask;
    int extra = open("/dev/null", O_RDONLY);        /* not close-on-exec: somebody else's */
    memset(&how, 0, sizeof how);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_IGN);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    EQ_INT(start_self(&ch, &how, "--process", NULL, NULL), MCP_OK);
    CHECK(extra > 2);
    CHECK(fcntl(ch.in, F_GETFL) & O_NONBLOCK && fcntl(ch.out, F_GETFL) & O_NONBLOCK);
    CHECK(fcntl(ch.in, F_GETFD) & FD_CLOEXEC && fcntl(ch.out, F_GETFD) & FD_CLOEXEC);
    EQ_STR(drain(ch.out), "fds: 0 1 2\nblocked:\nignored:\nleads its group: 1\nblocking: 11\n");
    sigprocmask(SIG_BLOCK, NULL, &mask);
    CHECK(sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 0);
    CHECK(wait_exit(&ch));                  /* SIGCHLD is ignored: nobody knows how */
    EQ_STR(how_it_ended(&ch), "exited, status unknown");
    mcpi_child_signal(&ch, SIGKILL);        /* to nobody */
    put_away(&ch);
}
TEST(signals_and_descriptors) { apart(start_with_odd_signals); }

static void start_without_standard_streams(void)
{
    mcpi_child ch;
    mcpi_spawn how;
    const char *argv[] = { "/no/such", NULL };
    int log = fcntl(1, F_DUPFD_CLOEXEC, 20), fd, before;
    fflush(stdout);
    for (fd = 0; fd < 3; fd++) close(fd);
    before = open_fds();
    memset(&how, 0, sizeof how);
    how.argv = argv;
    EQ_INT(start(&ch, &how), MCP_ERR_SPAWN);
    EQ_INT(open_fds(), before);
    EQ_INT(start_self(&ch, &how, "--process", NULL, NULL), MCP_OK);
    CHECK(ch.in > 2 && ch.out > 2);
    EQ_STR(drain(ch.out), "fds: 0 1 2\nblocked:\nignored:\nleads its group: 1\nblocking: 11\n");
    put_away(&ch);
    how.capture_stderr = true;
    EQ_INT(start_self(&ch, &how, "--stderr", NULL, NULL), MCP_OK);
    EQ_STR(drain(ch.err), "oops");
    put_away(&ch);
    EQ_INT(open_fds(), before);
    dup2(log, 1);
    close(log);
}
TEST(closed_standard_streams) { apart(start_without_standard_streams); }

static void start_with_stderr_close_on_exec(void)
{
    mcpi_child ch;
    mcpi_spawn how;
    int ends[2], log = dup(2);
    if (pipe(ends) < 0) abort();
    dup2(ends[1], 2);
    close(ends[1]);
    fcntl(2, F_SETFD, FD_CLOEXEC);
    memset(&how, 0, sizeof how);
    EQ_INT(start_self(&ch, &how, "--stderr", NULL, NULL), MCP_OK);
    EQ_STR(drain(ch.out), "fine");
    wait_exit(&ch);
    dup2(log, 2);
    EQ_STR(drain(ends[0]), "oops");
    put_away(&ch);
}
TEST(stderr_is_inherited) { apart(start_with_stderr_close_on_exec); }

TEST(stderr_is_captured)
{
    mcpi_child ch;
    mcpi_spawn how;
    memset(&how, 0, sizeof how);
    how.capture_stderr = true;
    EQ_INT(start_self(&ch, &how, "--stderr", NULL, NULL), MCP_OK);
    CHECK(fcntl(ch.err, F_GETFL) & O_NONBLOCK);
    EQ_STR(drain(ch.err), "oops");
    EQ_STR(drain(ch.out), "fine");
    put_away(&ch);
}

TEST(one_child_does_not_hold_the_others_input)
{
    mcpi_child x, y;
    mcpi_spawn how;
    memset(&how, 0, sizeof how);
    EQ_INT(start_self(&x, &how, "--cat", NULL, NULL), MCP_OK);
    EQ_INT(start_self(&y, &how, "--cat", NULL, NULL), MCP_OK);
    CHECK(write(x.in, "hello", 5) == 5);
    mcpi_close(&x.in);
    EQ_STR(drain(x.out), "hello");
    CHECK(wait_exit(&x));
    EQ_STR(how_it_ended(&x), "exited with status 0");
    EQ_INT(mcpi_child_peek(&y), 0);
    EQ_STR(how_it_ended(&y), "");
    mcpi_child_signal(&y, SIGKILL);
    CHECK(wait_exit(&y));
    put_away(&x);
    put_away(&y);
    EQ_STR(how_it_ended(&y), "was killed by signal 9 (SIGKILL)");
    CHECK(childless());
}

/* Opens files until only n descriptors are left; gives them back. */
static int held[64], held_count;
static struct rlimit held_limit;
static void hold_all_but(int n)
{
    struct rlimit few;
    getrlimit(RLIMIT_NOFILE, &held_limit);
    few = held_limit;
    few.rlim_cur = 40;
    setrlimit(RLIMIT_NOFILE, &few);
    while ((held[held_count] = open("/dev/null", O_RDONLY)) >= 0) held_count++;
    while (n--) close(held[--held_count]);
}
static void let_go(void)
{
    while (held_count) close(held[--held_count]);
    setrlimit(RLIMIT_NOFILE, &held_limit);
}

static void start_without_descriptors(void)
{
    mcpi_child ch;
    mcpi_spawn how;
    int n, before = open_fds();
    memset(&how, 0, sizeof how);
    how.capture_stderr = true;
    for (n = 0; n <= 8; n++) {              /* a start takes eight */
        hold_all_but(n);
        if (n < 8) {
            EQ_INT(start_self(&ch, &how, "--exit", "0", NULL), MCP_ERR_SPAWN);
            CHECK(strstr(why, strerror(EMFILE)) != NULL);
        } else {
            EQ_INT(start_self(&ch, &how, "--exit", "0", NULL), MCP_OK);
            put_away(&ch);
        }
        let_go();
        EQ_INT(open_fds(), before);
        CHECK(childless());
    }
}
TEST(no_descriptors_left) { apart(start_without_descriptors); }

static void start_without_processes(void)
{
    mcpi_child ch;
    mcpi_spawn how;
    struct rlimit none;
    sigset_t mask;
    int before = open_fds();
    memset(&how, 0, sizeof how);
    none.rlim_cur = none.rlim_max = 0;
    if (setrlimit(RLIMIT_NPROC, &none) < 0 || setuid(12345) < 0) return;    /* root has no limit */
    EQ_INT(start_self(&ch, &how, "--exit", "0", NULL), MCP_ERR_SPAWN);
    CHECK(strstr(why, "Resource temporarily unavailable") != NULL);
    EQ_INT(open_fds(), before);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    CHECK(sigismember(&mask, SIGTERM) == 0);
}
TEST(no_processes_left) { apart(start_without_processes); }

/* An allocator that fails after so many calls, and counts what is out. */
typedef struct scarce { int left; size_t out; } scarce;
static void *scarce_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    scarce *s = (scarce *)user;
    if (new_size == 0) { s->out -= old_size; free(ptr); return NULL; }
    if (s->left-- <= 0) return NULL;
    ptr = realloc(ptr, new_size);
    s->out += new_size - old_size;
    return ptr;
}

TEST(no_memory_left)
{
    int n, status = MCP_ERR_MEMORY, before = open_fds();
    for (n = 0; n < 8 && status == MCP_ERR_MEMORY; n++) {
        scarce s;
        mcp_allocator a;
        mcpi_child ch;
        mcpi_spawn how;
        s.left = n;
        s.out = 0;
        a.resize = scarce_resize;
        a.user = &s;
        memset(&how, 0, sizeof how);
        how.alloc = &a;
        status = start_self(&ch, &how, "--exit", "0", NULL);
        CHECK(status == MCP_OK || status == MCP_ERR_MEMORY);
        EQ_INT(s.out, 0);
        put_away(&ch);
        EQ_INT(open_fds(), before);
    }
    EQ_INT(status, MCP_OK);
    EQ_INT(n, 3);
}

/* -- the end of children --------------------------------------------------------------------------------------------- */

TEST(how_children_end)
{
    static const struct { const char *what, *arg, *ended; } row[] = {
        { "--exit", "0", "exited with status 0" }, { "--exit", "3", "exited with status 3" },
        { "--kill", "9", "was killed by signal 9 (SIGKILL)" }, { "--kill", "15", "was killed by signal 15 (SIGTERM)" },
        { "--kill", "10", "was killed by signal 10" }
    };
    size_t i;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        mcpi_child ch;
        mcpi_spawn how;
        memset(&how, 0, sizeof how);
        EQ_INT(start_self(&ch, &how, row[i].what, row[i].arg, NULL), MCP_OK);
        CHECK(wait_exit(&ch));
        EQ_STR(how_it_ended(&ch), row[i].ended);
        CHECK(mcpi_child_peek(&ch) == -1 && ch.known);
        put_away(&ch);
    }
    CHECK(childless());
}

TEST(what_is_left_in_the_group)
{
    mcpi_child ch;
    mcpi_spawn how;
    int grandchild, i;
    char line[32] = "";
    siginfo_t info;
    int64_t since;
    memset(&how, 0, sizeof how);
    EQ_INT(start_self(&ch, &how, "--leave", NULL, NULL), MCP_OK);
    for (i = 0; i < 500 && mcpi_fd_read(ch.out, line, sizeof line - 1) < 0; i++) nap(2);
    grandchild = atoi(line);
    CHECK(waitid(P_PID, (id_t)ch.pid, &info, WEXITED | WNOWAIT) == 0);      /* the leader has exited; it is not reaped */
    CHECK(grandchild > 0 && kill(grandchild, 0) == 0);
    mcpi_child_signal(&ch, 0);
    CHECK(!ch.exited && mcpi_child_peek(&ch) == 1);
    mcpi_child_reap(&ch, true);
    CHECK(ch.exited && ch.known);
    EQ_STR(how_it_ended(&ch), "exited with status 7");
    since = mcpi_clock_ms();
    EQ_STR(drain(ch.out), "");              /* the end, at once: nobody holds the pipe */
    CHECK(mcpi_clock_ms() - since < 2000);
    put_away(&ch);
}

TEST(signal_to_the_group)
{
    mcpi_child ch;
    mcpi_spawn how;
    const char *argv[] = { "/bin/sh", "-c", "sleep 10; true", NULL };
    int64_t since;
    memset(&how, 0, sizeof how);
    how.argv = argv;
    EQ_INT(start(&ch, &how), MCP_OK);
    mcpi_child_reap(&ch, true);             /* runs: nothing happens */
    EQ_INT(mcpi_child_peek(&ch), 0);
    mcpi_child_signal(&ch, SIGTERM);
    CHECK(wait_exit(&ch));
    EQ_STR(how_it_ended(&ch), "was killed by signal 15 (SIGTERM)");
    since = mcpi_clock_ms();
    EQ_STR(drain(ch.out), "");              /* sleep has gone too */
    CHECK(mcpi_clock_ms() - since < 2000);
    put_away(&ch);
}

TEST(somebody_else_reaps)
{
    mcpi_child ch;
    mcpi_spawn how;
    memset(&how, 0, sizeof how);
    EQ_INT(start_self(&ch, &how, "--exit", "5", NULL), MCP_OK);
    CHECK(waitpid(-1, NULL, 0) == (pid_t)ch.pid);
    CHECK(mcpi_child_peek(&ch) == -1 && ch.exited && !ch.known);
    EQ_STR(how_it_ended(&ch), "exited, status unknown");
    mcpi_child_signal(&ch, SIGTERM);
    mcpi_child_reap(&ch, true);
    put_away(&ch);

    EQ_INT(start_self(&ch, &how, "--exit", "5", NULL), MCP_OK);             /* between the look and the wait */
    while (mcpi_child_peek(&ch) == 0) (void)poll(NULL, 0, 1);
    reaped_before = 1;
    mcpi_child_reap(&ch, true);
    EQ_INT(reaped_before, 0);
    CHECK(ch.exited && !ch.known);
    EQ_STR(how_it_ended(&ch), "exited, status unknown");
    put_away(&ch);
}

/* SIGCHLD is ignored: nobody can see the child as a zombie, and what it leaves in its group is killed all the same. */
static void left_without_a_zombie(void)
{
    int turn;
    signal(SIGCHLD, SIG_IGN);
    for (turn = 0; turn < 2; turn++) {
        mcpi_child ch;
        mcpi_spawn how;
        int i, grandchild;
        char line[32] = "";
        struct pollfd p;
        memset(&how, 0, sizeof how);
        EQ_INT(start_self(&ch, &how, "--leave", NULL, NULL), MCP_OK);
        for (i = 0; i < 500 && mcpi_fd_read(ch.out, line, sizeof line - 1) < 0; i++) nap(2);
        grandchild = atoi(line);
        for (i = 0; i < 500 && mcpi_child_peek(&ch) == 0; i++) nap(2);
        CHECK(ch.exited && !ch.known && grandchild > 0);
        mcpi_child_reap(&ch, false);
        p.fd = ch.out;
        p.events = POLLIN;
        EQ_INT(poll(&p, 1, 30), 0);         /* somebody holds the pipe */
        if (turn) {                         /* too long ago: its number may be another's by now */
            ch.seen -= 60000;
            mcpi_child_reap(&ch, true);
            EQ_INT(poll(&p, 1, 30), 0);
            ch.seen += 60000;
        }
        mcpi_child_reap(&ch, true);
        EQ_INT(poll(&p, 1, 3000), 1);
        EQ_STR(drain(ch.out), "");          /* the end: nobody holds the pipe any more */
        mcpi_child_reap(&ch, true);
        put_away(&ch);
    }
}
TEST(left_in_the_group_without_a_zombie) { apart(left_without_a_zombie); }

/* Its number belongs to another process by now, which leads a group: that one is left alone. */
TEST(group_of_a_stranger)
{
    mcpi_child ch, gone;
    mcpi_spawn how;
    memset(&how, 0, sizeof how);
    EQ_INT(start_self(&ch, &how, "--sleep", NULL, NULL), MCP_OK);
    gone = ch;
    gone.exited = true;                     /* as if it had been reaped by somebody else */
    mcpi_child_reap(&gone, true);
    nap(50);
    EQ_INT(mcpi_child_peek(&ch), 0);
    put_away(&ch);
    gone.pid = 0;
    mcpi_child_reap(&gone, true);           /* no child: nothing, and not our own group */
    EQ_STR(how_it_ended(&ch), "was killed by signal 9 (SIGKILL)");
    CHECK(childless());
}

/* -- streams over descriptors ----------------------------------------------------------------------------------------- */

static char block[1 << 18];

/* Fills a stream until it takes no more; how much went in, or the error. */
static long fill(const mcp_io *io)
{
    long sum = 0;
    ptrdiff_t k;
    while ((k = io->write(io->user, block, sizeof block)) > 0) sum += (long)k;
    return k == MCP_ERR_AGAIN ? sum : (long)k;
}

static void check_pipe(int given_flags, bool no_proc)
{
    int ends[2], before = open_fds();
    mcp_io io;
    char buf[64];
    long first;
    if (pipe(ends) < 0) abort();
    fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) | given_flags);
    EQ_INT(mcp_io_fds(NULL, ends[0], ends[1], false, &io), MCP_OK);
    if (no_proc && ((mcpi_fds *)io.user)->out != ends[1]) {         /* as where /proc is missing */
        mcpi_fds *f = (mcpi_fds *)io.user;
        mcpi_close(&f->out);
        f->out = f->wfd;
        f->wkind = MCPI_FD_FIFO;
    }
    EQ_INT(io.read(io.user, buf, sizeof buf), MCP_ERR_AGAIN);       /* blocking, and does not block */
    EQ_INT(fcntl(ends[1], F_GETFL) & O_NONBLOCK, given_flags);
#ifdef __linux__
    EQ_INT(((mcpi_fds *)io.user)->out != ends[1], !given_flags && !no_proc);
#endif
    first = fill(&io);
    CHECK(first >= 4096);
    EQ_INT(io.read(io.user, buf, 64), 64);
    EQ_INT(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
    EQ_INT(fcntl(ends[1], F_GETFL) & O_NONBLOCK, given_flags);
    io.close(io.user);
    CHECK(fcntl(ends[0], F_GETFD) >= 0 && fcntl(ends[1], F_GETFD) >= 0);
    close(ends[0]);
    close(ends[1]);
    EQ_INT(open_fds(), before);
}

TEST(pipe_never_blocks)
{
    check_pipe(0, false);
    check_pipe(0, true);
    check_pipe(O_NONBLOCK, false);
}

TEST(pipe_with_one_free_page)
{
    int ends[2];
    mcp_io io;
    ptrdiff_t k;
    if (pipe(ends) < 0) abort();
    EQ_INT(mcp_io_fds(NULL, ends[0], ends[1], true, &io), MCP_OK);
    (void)fill(&io);
    CHECK(read(ends[0], block, 4096) == 4096);
    k = io.write(io.user, block, 9600);     /* a blocking write would stop in the middle, for ever */
    CHECK(k > 0 && k <= 4096);
    EQ_INT(io.write(io.user, block, 9600), MCP_ERR_AGAIN);
    memset(block, 0, sizeof block);
    io.close(io.user);
    EQ_INT(fcntl(ends[0], F_GETFD), -1);
    EQ_INT(fcntl(ends[1], F_GETFD), -1);
}

TEST(read_goes_straight_when_told)
{
    int ends[2];
    mcp_io io;
    char buf[8];
    if (pipe(ends) < 0) abort();
    EQ_INT(mcp_io_fds(NULL, ends[0], ends[1], true, &io), MCP_OK);
    CHECK(write(ends[1], "ab", 2) == 2);
    mcpi_io_readable(&io);
    CHECK(((mcpi_fds *)io.user)->ready);
    EQ_INT(io.read(io.user, buf, 1), 1);
    CHECK(!((mcpi_fds *)io.user)->ready);   /* for one read only */
    EQ_INT(io.read(io.user, buf, 8), 1);
    EQ_INT(io.read(io.user, buf, 8), MCP_ERR_AGAIN);
    CHECK(mcpi_io_is_fds(&io));
    io.close(io.user);
    EQ_INT(mcp_io_fds(NULL, -1, 1, false, &io), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_io_fds(NULL, 0, 400, false, &io), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_io_fds(NULL, 0, 1, false, NULL), MCP_ERR_ARGUMENT);
    CHECK(io.read == NULL && !mcpi_io_is_fds(&io));
}

TEST(socket_twice_the_same)
{
    int ends[2];
    mcp_io io;
    struct pollfd p[2];
    char buf[8];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0) abort();
    EQ_INT(mcp_io_fds(NULL, ends[0], ends[0], true, &io), MCP_OK);
    EQ_INT(io.read(io.user, buf, sizeof buf), MCP_ERR_AGAIN);
    CHECK(fill(&io) > 4096);
    EQ_INT(fcntl(ends[0], F_GETFL) & O_NONBLOCK, 0);
    EQ_INT(io.poll(io.user, true, true, p, 2), 1);
    CHECK(p[0].fd == ends[0] && p[0].events == (POLLIN | POLLOUT));
    EQ_INT(io.poll(io.user, true, true, NULL, 0), 1);
    EQ_INT(io.poll(io.user, false, false, p, 2), 0);
    close(ends[1]);
    EQ_INT(io.write(io.user, "x", 1), MCP_ERR_CLOSED);      /* and no SIGPIPE */
    io.close(io.user);
    EQ_INT(fcntl(ends[0], F_GETFD), -1);
}

TEST(what_to_wait_for)
{
    int ends[2];
    mcp_io io;
    struct pollfd p[2];
    if (pipe(ends) < 0) abort();
    EQ_INT(mcp_io_fds(NULL, ends[0], ends[1], true, &io), MCP_OK);
    EQ_INT(io.poll(io.user, true, true, p, 2), 2);
    CHECK(p[0].fd == ends[0] && p[0].events == POLLIN && p[1].fd != ends[0] && p[1].events == POLLOUT);
    EQ_INT(io.poll(io.user, false, true, p, 2), 1);
    CHECK(p[0].fd != ends[0] && p[0].events == POLLOUT);
    p[1].fd = 77;
    EQ_INT(io.poll(io.user, true, true, p, 1), 2);
    CHECK(p[0].fd == ends[0] && p[1].fd == 77);
    io.close(io.user);
}

static volatile sig_atomic_t pipe_signals;
static void count_sigpipe(int sig) { (void)sig; pipe_signals++; }

TEST(nobody_reads_any_more)
{
    int ends[2], turn;
    struct sigaction sa, old;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = count_sigpipe;
    sigaction(SIGPIPE, &sa, &old);
    for (turn = 0; turn < 2; turn++) {
        mcp_io io;
        mcpi_sigpipe shield;
        char buf[4];
        if (pipe(ends) < 0) abort();
        EQ_INT(mcp_io_fds(NULL, ends[0], ends[1], false, &io), MCP_OK);
        if (turn) { mcpi_sigpipe_block(&shield); mcpi_io_shield(&io, true); }
        close(ends[0]);
        EQ_INT(io.write(io.user, "x", 1), MCP_ERR_CLOSED);
        if (turn) mcpi_sigpipe_restore(&shield);
        EQ_INT(pipe_signals, 0);
        EQ_INT(io.read(io.user, buf, 4), MCP_ERR_TRANSPORT);        /* its descriptor is closed */
        io.close(io.user);
        close(ends[1]);
    }
    sigaction(SIGPIPE, &old, NULL);
}

TEST(end_of_stream)
{
    int ends[2], fd;
    mcp_io io;
    char buf[4];
    if (pipe(ends) < 0) abort();
    EQ_INT(mcp_io_fds(NULL, ends[0], ends[1], false, &io), MCP_OK);
    CHECK(io.write(io.user, "z", 1) == 1);
    io.close(io.user);                      /* the second description goes with it */
    close(ends[1]);
    EQ_INT(mcp_io_fds(NULL, ends[0], 2, false, &io), MCP_OK);
    EQ_INT(io.read(io.user, buf, 4), 1);
    EQ_INT(io.read(io.user, buf, 4), 0);
    io.close(io.user);
    close(ends[0]);
    fd = open("/dev/null", O_RDWR);
    EQ_INT(mcp_io_fds(NULL, fd, fd, true, &io), MCP_OK);
    EQ_INT(io.read(io.user, buf, 4), 0);
    EQ_INT(io.write(io.user, "abc", 3), 3);
    io.close(io.user);
}

TEST(regular_files)
{
    int fd, in;
    mcp_io io;
    char buf[16];
    write_file(in_dir("file"), "0123456789", 0644);
    fd = open(in_dir("file"), O_WRONLY);
    in = open(in_dir("file"), O_RDONLY);
    lseek(fd, 4, SEEK_SET);
    lseek(in, 2, SEEK_SET);
    EQ_INT(mcp_io_fds(NULL, in, fd, true, &io), MCP_OK);
    EQ_INT(io.write(io.user, "abc", 3), 3); /* behind what was written before, not over it */
    EQ_INT(io.read(io.user, buf, 16), 8);
    EQ_MEM(buf, 8, "23abc789");
    EQ_INT(io.read(io.user, buf, 16), 0);
    io.close(io.user);
}

TEST(terminal_that_hangs_up)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
    mcp_io io;
    char buf[16];
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0 || !ptsname(master)) return;
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    if (slave < 0) return;
    EQ_INT(mcp_io_fds(NULL, slave, slave, true, &io), MCP_OK);
    EQ_INT(io.read(io.user, buf, sizeof buf), MCP_ERR_AGAIN);
    EQ_INT(io.write(io.user, "hi\n", 3), 3);
    EQ_INT(fcntl(slave, F_GETFL) & O_NONBLOCK, 0);
    CHECK(write(master, "yo\n", 3) == 3);
    EQ_INT(io.read(io.user, buf, sizeof buf), 3);
    close(master);
    EQ_INT(io.read(io.user, buf, sizeof buf), 0);
    io.close(io.user);
    master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0) return;
    slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    EQ_INT(mcp_io_fds(NULL, master, master, true, &io), MCP_OK);
    close(slave);
    EQ_INT(io.read(io.user, buf, sizeof buf), 0);   /* EIO */
    io.close(io.user);
}

/* -- the guard --------------------------------------------------------------------------------------------------------- */

/* Makes pipes of 0, 1 and 2; [0] is what to write to 0, [1] and [2] what to read from 1 and 2. */
static void pipes_for_stdio(int ours[3])
{
    int i, ends[2];
    fflush(stdout);
    for (i = 0; i < 3; i++) {
        if (pipe(ends) < 0) abort();
        ours[i] = mcpi_fd_own(ends[i == 0], false);
        dup2(ends[i != 0], i);
        close(ends[i != 0]);
    }
}

static void stdio_back(int log)
{
    fflush(stdout);
    dup2(log, 1);
    dup2(log, 2);
}

static void guard_keeps_noise_out(void)
{
    int log = fcntl(1, F_DUPFD_CLOEXEC, 20), ours[3], before, rc;
    mcpi_guard g, h;
    mcp_io io;
    char buf[64], text[64];
    struct stat in, out, now;
    pipes_for_stdio(ours);
    fstat(0, &in);
    fstat(1, &out);
    before = open_fds();
    EQ_INT(mcpi_guard_take(&g, false, why, sizeof why), MCP_OK);
    CHECK(g.in > 2 && g.out > 2 && g.active);
    CHECK(fcntl(g.in, F_GETFD) == FD_CLOEXEC && fcntl(g.out, F_GETFD) == FD_CLOEXEC);
    EQ_INT(open_fds(), before + 2);
    EQ_INT(mcpi_guard_take(&h, false, why, sizeof why), MCP_ERR_MISUSE);
    EQ_STR(why, "another server of this process has stdin and stdout");
    EQ_INT(mcpi_guard_take(&h, true, why, sizeof why), MCP_ERR_MISUSE);
    mcpi_guard_undo(&h);
    EQ_INT(open_fds(), before + 2);
    EQ_INT(mcp_io_fds(NULL, g.in, g.out, false, &io), MCP_OK);
    CHECK(write(ours[0], "request\n", 8) == 8);
    printf("stray ");
    fflush(stdout);
    CHECK(write(1, "noise ", 6) == 6);
    rc = system("cat; echo of a child");    /* eats no request and spoils no answer */
    EQ_INT(rc, 0);
    EQ_INT(io.read(io.user, buf, sizeof buf), 8);
    EQ_MEM(buf, 8, "request\n");
    EQ_INT(io.write(io.user, "answer\n", 7), 7);
    io.close(io.user);
    mcpi_guard_undo(&g);
    mcpi_guard_undo(&g);
    EQ_INT(open_fds(), before);
    fstat(0, &now);
    CHECK(now.st_ino == in.st_ino);
    fstat(1, &now);
    CHECK(now.st_ino == out.st_ino);
    EQ_INT(mcpi_guard_take(&g, false, why, sizeof why), MCP_OK);     /* free again */
    mcpi_guard_undo(&g);
    CHECK(write(1, "back", 4) == 4);
    stdio_back(log);
    EQ_MEM(buf, (size_t)read(ours[1], buf, sizeof buf), "answer\nback");
    EQ_MEM(text, (size_t)read(ours[2], text, sizeof text), "stray noise of a child\n");
}
TEST(guard) { apart(guard_keeps_noise_out); }

static void guard_raw(void)
{
    int before = open_fds();
    mcpi_guard g;
    struct stat a, b;
    EQ_INT(mcpi_guard_take(&g, true, why, sizeof why), MCP_OK);
    CHECK(g.in > 2 && g.out > 2 && !g.active);
    fstat(0, &a);
    fstat(g.in, &b);
    CHECK(a.st_ino == b.st_ino && a.st_dev == b.st_dev);
    mcpi_guard_undo(&g);
    memset(&g, 0, sizeof g);
    mcpi_guard_undo(&g);                    /* all zero is a guard that took nothing */
    EQ_INT(open_fds(), before);
}
TEST(guard_that_only_duplicates) { apart(guard_raw); }

static void guard_in_an_empty_root(void)
{
    int log = fcntl(1, F_DUPFD_CLOEXEC, 20), ours[3], before;
    mcpi_guard g, h;
    mcp_io io;
    char c;
    if (chroot(dir) < 0 || chdir("/") < 0) return;          /* only root can */
    pipes_for_stdio(ours);
    before = open_fds();
    EQ_INT(mcpi_guard_take(&g, false, why, sizeof why), MCP_OK);
    EQ_INT(open_fds(), before + 2);
    EQ_INT(read(0, &c, 1), 0);              /* no /dev/null, but the end all the same */
    EQ_INT(mcpi_guard_take(&h, false, why, sizeof why), MCP_ERR_MISUSE);
    EQ_INT(mcp_io_fds(NULL, g.in, g.out, false, &io), MCP_OK);
    EQ_INT(io.read(io.user, &c, 1), MCP_ERR_AGAIN);
    CHECK(fill(&io) > 4096);                /* no /proc, and does not block */
    io.close(io.user);
    mcpi_guard_undo(&g);
    EQ_INT(open_fds(), before);
    stdio_back(log);
}
TEST(guard_without_dev_null) { apart(guard_in_an_empty_root); }

static void guard_closed(void)
{
    int log = fcntl(1, F_DUPFD_CLOEXEC, 20), in = fcntl(0, F_DUPFD_CLOEXEC, 20), before;
    mcpi_guard g;
    char a[64], b[64];
    struct stat st;
    fflush(stdout);
    close(0);
    before = open_fds();
    EQ_INT(mcpi_guard_take(&g, false, a, sizeof a), MCP_ERR_TRANSPORT);
    dup2(in, 0);
    close(1);
    EQ_INT(mcpi_guard_take(&g, true, b, sizeof b), MCP_ERR_TRANSPORT);
    EQ_INT(open_fds(), before);
    mcpi_guard_undo(&g);
    dup2(log, 1);
    EQ_STR(a, "descriptor 0 is closed");
    EQ_STR(b, "descriptor 1 is closed");
    close(2);
    before = open_fds();
    EQ_INT(mcpi_guard_take(&g, false, why, sizeof why), MCP_OK);
    EQ_INT(open_fds(), before + 2);
    EQ_INT(fcntl(2, F_GETFD), -1);
    CHECK(g.in > 2 && fstat(1, &st) == 0 && S_ISCHR(st.st_mode));           /* /dev/null */
    mcpi_stderr("nobody hears this");
    mcpi_guard_undo(&g);
    EQ_INT(open_fds(), before);
}
TEST(guard_with_closed_descriptors) { apart(guard_closed); }

static void guard_without_descriptors(void)
{
    mcpi_guard g;
    int n;
    struct stat a, b;
    fstat(0, &a);
    for (n = 0; n < 3; n++) {
        hold_all_but(n);
        EQ_INT(mcpi_guard_take(&g, false, why, sizeof why), MCP_ERR_TRANSPORT);
        let_go();
        CHECK(strncmp(why, "cannot move stdin and stdout away: ", 35) == 0 && strstr(why, strerror(EMFILE)));
        CHECK(g.in == -1 && g.out == -1 && !g.active);
        fstat(0, &b);
        CHECK(a.st_ino == b.st_ino && a.st_dev == b.st_dev && !mcpi_guard_taken());
    }
}
TEST(guard_with_no_descriptors_left) { apart(guard_without_descriptors); }

static void stderr_full(void)
{
    int log = fcntl(1, F_DUPFD_CLOEXEC, 20), ours[3], i;
    char buf[1024], text[2000];
    ssize_t n;
    pipes_for_stdio(ours);
    mcpi_stderr("one line");
    n = read(ours[2], buf, sizeof buf);
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = 0;
    for (i = 0; i < 1000; i++) mcpi_stderr(text);           /* full, and does not block */
    close(ours[2]);
    mcpi_stderr("no reader, and no SIGPIPE");
    stdio_back(log);
    EQ_MEM(buf, (size_t)n, "mcp: one line\n");
}
TEST(log_to_stderr) { apart(stderr_full); }

/* -- posts ---------------------------------------------------------------------------------------------------------------- */

static int ran, ran_late;
static void *ran_owner;
static void note(void *owner, void *arg)
{
    ran_owner = owner;
    if (owner) ran++;
    else ran_late++;
    if (arg) ++*(int *)arg;
}

TEST(posts_run_in_the_loop)
{
    mcpi_mailbox m;
    mcp_poster *p, *q;
    int owner = 0, hits = 0, before = open_fds(), i;
    struct pollfd w;
    ran = ran_late = 0;
    EQ_INT(mcpi_mailbox_open(&m), MCP_OK);
    p = mcpi_mailbox_poster(&m, NULL);
    q = mcpi_mailbox_poster(&m, NULL);
    CHECK(p && q && p->fd > 2);
    EQ_INT(mcpi_mailbox_run(&m, &owner, 10), 0);
    errno = 77;
    EQ_INT(mcp_post(p, note, &hits), MCP_OK);
    EQ_INT(mcp_post(q, note, &hits), MCP_OK);
    EQ_INT(mcp_post(q, note, NULL), MCP_OK);
    EQ_INT(mcp_post(NULL, note, NULL), MCP_ERR_ARGUMENT);
    EQ_INT(mcp_post(p, NULL, NULL), MCP_ERR_ARGUMENT);
    EQ_INT(errno, 77);
    EQ_INT(ran, 0);
    w.fd = m.rfd;
    w.events = POLLIN;
    EQ_INT(mcpi_poll(&w, 1, 0), 1);
    EQ_INT(mcpi_mailbox_run(&m, &owner, 2), 2);
    EQ_INT(hits, 2);
    CHECK(ran_owner == &owner);
    EQ_INT(mcpi_mailbox_run(&m, &owner, 2), 1);
    EQ_INT(mcpi_poll(&w, 1, 0), 0);
    for (i = 0; mcp_post(p, note, &hits) == MCP_OK; i++) { }
    errno = 77;
    EQ_INT(mcp_post(p, note, &hits), MCP_ERR_AGAIN);
    EQ_INT(errno, 77);
    CHECK(i >= 10);
    hits = 0;
    EQ_INT(mcpi_mailbox_run(&m, &owner, 100000), i);
    EQ_INT(hits, i);
    EQ_INT(mcp_post(p, note, &hits), MCP_OK);
    EQ_INT(mcp_post(q, note, &hits), MCP_OK);
    mcpi_mailbox_close(&m);
    EQ_INT(ran_late, 2);
    CHECK(ran_owner == NULL && m.rfd == -1 && m.wfd == -1);
    mcpi_mailbox_close(&m);
    errno = 77;
    EQ_INT(mcp_post(p, note, &hits), MCP_ERR_CLOSED);
    EQ_INT(errno, 77);
    CHECK(mcpi_mailbox_poster(&m, NULL) == NULL);
    EQ_INT(mcpi_mailbox_run(&m, &owner, 1), 0);
    mcp_poster_free(p);
    mcp_poster_free(q);
    mcp_poster_free(NULL);
    memset(&m, 0, sizeof m);
    mcpi_mailbox_close(&m);                 /* all zero is no mailbox */
    EQ_INT(open_fds(), before);
}

static mcpi_mailbox closing;
static void close_it(void *owner, void *arg) { note(owner, arg); mcpi_mailbox_close(&closing); }

TEST(mailbox_closed_by_a_post)
{
    mcp_poster *p;
    int hits = 0;
    ran = ran_late = 0;
    EQ_INT(mcpi_mailbox_open(&closing), MCP_OK);
    p = mcpi_mailbox_poster(&closing, NULL);
    EQ_INT(mcp_post(p, close_it, &hits), MCP_OK);
    EQ_INT(mcp_post(p, close_it, &hits), MCP_OK);
    EQ_INT(mcpi_mailbox_run(&closing, p, 100), 1);
    CHECK(ran == 1 && ran_late == 1 && hits == 2);
    mcp_poster_free(p);
}

static const mcp_poster *signal_poster;
static int signal_hits;
static void post_from_handler(int sig) { (void)sig; (void)mcp_post(signal_poster, note, &signal_hits); }

TEST(posts_from_a_signal_handler)
{
    mcpi_mailbox m;
    mcp_poster *p;
    struct pollfd w;
    struct itimerval soon;
    EQ_INT(mcpi_mailbox_open(&m), MCP_OK);
    p = mcpi_mailbox_poster(&m, NULL);
    signal_poster = p;
    signal(SIGALRM, post_from_handler);
    memset(&soon, 0, sizeof soon);
    soon.it_value.tv_usec = 20000;
    setitimer(ITIMER_REAL, &soon, NULL);
    w.fd = m.rfd;
    w.events = POLLIN;
    w.revents = 77;
    if (mcpi_poll(&w, 1, 5000) == 0) { EQ_INT(w.revents, 0); EQ_INT(mcpi_poll(&w, 1, 5000), 1); }    /* EINTR is nothing */
    EQ_INT(mcpi_mailbox_run(&m, &m, 10), 1);
    EQ_INT(signal_hits, 1);
    signal(SIGALRM, SIG_DFL);
    mcpi_mailbox_close(&m);
    mcp_poster_free(p);
}

typedef struct racer { const mcp_poster *p; long sent, refused; pthread_t thread; } racer;
static long raced;
static void race_hit(void *owner, void *arg) { (void)owner; (void)arg; raced++; }      /* only on the loop's thread */

static void *race(void *arg)
{
    racer *r = (racer *)arg;
    for (;;) {
        int rc = mcp_post(r->p, race_hit, NULL);
        if (rc == MCP_OK) r->sent++;
        else if (rc == MCP_ERR_CLOSED) { r->refused++; return NULL; }
    }
}

TEST(posts_race_with_close)
{
    int turn, i;
    for (turn = 0; turn < 60; turn++) {
        mcpi_mailbox m;
        mcp_poster *p;
        racer r[3];
        long sent = 0, stop = raced + 20 * (turn % 5);
        raced = 0;
        EQ_INT(mcpi_mailbox_open(&m), MCP_OK);
        p = mcpi_mailbox_poster(&m, NULL);
        memset(r, 0, sizeof r);
        for (i = 0; i < 3; i++) { r[i].p = p; if (pthread_create(&r[i].thread, NULL, race, &r[i])) abort(); }
        stop = 20 * (turn % 5);
        while (raced < stop) (void)mcpi_mailbox_run(&m, &m, 8);
        mcpi_mailbox_close(&m);
        for (i = 0; i < 3; i++) { pthread_join(r[i].thread, NULL); sent += r[i].sent; EQ_INT(r[i].refused, 1); }
        EQ_INT(raced, sent);
        mcp_poster_free(p);
    }
}

TEST(poster_without_memory)
{
    scarce s = { 0, 0 };
    mcp_allocator a;
    mcpi_mailbox m;
    mcp_io io;
    int before = open_fds();
    a.resize = scarce_resize;
    a.user = &s;
    EQ_INT(mcpi_mailbox_open(&m), MCP_OK);
    CHECK(mcpi_mailbox_poster(&m, &a) == NULL);
    EQ_INT(mcp_io_fds(&a, 0, 1, false, &io), MCP_ERR_MEMORY);
    s.left = 1;
    mcp_poster_free(mcpi_mailbox_poster(&m, &a));
    EQ_INT(s.out, 0);
    mcpi_mailbox_close(&m);
    EQ_INT(open_fds(), before);
}

/* -- SIGPIPE -------------------------------------------------------------------------------------------------------------- */

static void sigpipe_alone(void)
{
    mcpi_sigpipe s;
    sigset_t set;
    signal(SIGPIPE, count_sigpipe);
    pipe_signals = 0;
    mcpi_sigpipe_block(&s);
    raise(SIGPIPE);
    errno = 77;
    mcpi_sigpipe_restore(&s);
    EQ_INT(errno, 77);
    EQ_INT(pipe_signals, 0);                /* ours is swallowed */
    raise(SIGPIPE);
    EQ_INT(pipe_signals, 1);                /* and no longer blocked */
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    sigprocmask(SIG_BLOCK, &set, NULL);
    mcpi_sigpipe_block(&s);
    raise(SIGPIPE);
    mcpi_sigpipe_restore(&s);
    CHECK(!mcpi_sigpipe_pending());
    raise(SIGPIPE);                         /* theirs is kept */
    mcpi_sigpipe_block(&s);
    raise(SIGPIPE);
    mcpi_sigpipe_restore(&s);
    CHECK(mcpi_sigpipe_pending());
    mcpi_sigpipe_block(&s);                 /* what else changes meanwhile is left alone */
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    mcpi_sigpipe_restore(&s);
    sigprocmask(SIG_BLOCK, NULL, &set);
    CHECK(sigismember(&set, SIGUSR1) == 1 && sigismember(&set, SIGPIPE) == 1);
    sigemptyset(&set);
    sigprocmask(SIG_SETMASK, &set, NULL);
    EQ_INT(pipe_signals, 2);
}
TEST(sigpipe) { apart(sigpipe_alone); }

/* A SIGPIPE for the whole process, which another thread takes as soon as this one has seen it: nobody waits for a
   second one. */
static void sigpipe_for_two(void)
{
    mcpi_sigpipe s;
    sigset_t set;
    int turn, number;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    for (turn = 0; turn < 2; turn++) {
        mcpi_sigpipe_block(&s);
        kill(getpid(), SIGPIPE);
        taken_by_another = true;
        (void)alarm(10);                    /* else it waits for ever */
        errno = 77;
        mcpi_sigpipe_restore(&s);
        EQ_INT(errno, 77);
        taken_by_another = false;
        (void)alarm(0);
        mcpi_sigpipe_block(&s);             /* and one that is taken before it is looked for */
        kill(getpid(), SIGPIPE);
        sigwait(&set, &number);
        mcpi_sigpipe_restore(&s);
        CHECK(!mcpi_sigpipe_pending());
        sigprocmask(SIG_BLOCK, &set, NULL); /* the second time it was blocked before */
    }
}
TEST(sigpipe_of_two_threads) { apart(sigpipe_for_two); }

/* -- Unix sockets ----------------------------------------------------------------------------------------------------------- */

static int connect_to(const char *path)
{
    struct sockaddr_un to;
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    memset(&to, 0, sizeof to);
    to.sun_family = AF_UNIX;
    strcpy(to.sun_path, path);
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) == 0) return fd;
    close(fd);
    return -1;
}

TEST(unix_socket)
{
    char path[128], text[300], principal[32], wanted[64];
    int before = open_fds(), a, b, peer, client;
    snprintf(path, sizeof path, "%s/sock", dir);
    a = mcpi_listen_unix(path, why, sizeof why);
    CHECK(a > 2);
    CHECK(fcntl(a, F_GETFL) & O_NONBLOCK && fcntl(a, F_GETFD) & FD_CLOEXEC);
    EQ_INT(mcpi_accept(a, principal, sizeof principal), MCP_ERR_AGAIN);
    client = connect_to(path);
    CHECK(client >= 0);
    peer = mcpi_accept(a, principal, sizeof principal);
    CHECK(peer > 2 && fcntl(peer, F_GETFL) & O_NONBLOCK && fcntl(peer, F_GETFD) & FD_CLOEXEC);
    snprintf(wanted, sizeof wanted, "uid:%u", (unsigned)geteuid());
#ifdef __linux__
    EQ_STR(principal, wanted);
#endif
    close(peer);
    close(client);
    b = mcpi_listen_unix(path, why, sizeof why);            /* somebody lives there */
    EQ_INT(b, MCP_ERR_TRANSPORT);
    snprintf(text, sizeof text, "cannot listen on \"%s\": another process listens there", path);
    EQ_STR(why, text);
    CHECK((client = connect_to(path)) >= 0);
    close(client);
    close(a);                               /* died without unlinking */
    a = mcpi_listen_unix(path, why, sizeof why);
    CHECK(a > 2);
    CHECK((client = connect_to(path)) >= 0);
    close(client);
    mcpi_unlisten(&a, path);
    EQ_INT(a, -1);
    EQ_INT(access(path, F_OK), -1);
    write_file(path, "precious", 0644);
    EQ_INT(mcpi_listen_unix(path, why, sizeof why), MCP_ERR_TRANSPORT);
    snprintf(text, sizeof text, "cannot listen on \"%s\": there is a file that is no socket", path);
    EQ_STR(why, text);
    EQ_INT(access(path, F_OK), 0);
    unlink(path);
    EQ_INT(symlink("/no/such/place", path), 0);
    EQ_INT(mcpi_listen_unix(path, why, sizeof why), MCP_ERR_TRANSPORT);
    unlink(path);
    EQ_INT(mcpi_listen_unix("/no/such/sock", why, sizeof why), MCP_ERR_TRANSPORT);
    EQ_STR(why, "cannot listen on \"/no/such/sock\": No such file or directory");
    memset(text, 'a', sizeof text);
    text[sizeof(((struct sockaddr_un *)0)->sun_path)] = 0;
    EQ_INT(mcpi_listen_unix(text, why, sizeof why), MCP_ERR_ARGUMENT);
    CHECK(strncmp(why, "the path of a socket has 1 to ", 30) == 0);
    EQ_INT(mcpi_listen_unix("", why, sizeof why), MCP_ERR_ARGUMENT);
    EQ_INT(open_fds(), before);
}

TEST(clock_goes_on)
{
    int64_t t = mcpi_clock_ms();
    nap(15);
    CHECK(mcpi_clock_ms() - t >= 10 && mcpi_clock_ms() - t < 5000);
}

/* In all the tests before. */
TEST(nothing_was_closed_twice)
{
    EQ_INT(closed_in_vain, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strncmp(argv[1], "--", 2) == 0) return child_main(argc, argv);
    if (!realpath(argv[0], self)) return 1;
    emulated = getenv("LD_PRELOAD") && strstr(getenv("LD_PRELOAD"), "vgpreload");
    snprintf(dir, sizeof dir, "/tmp/mcp-test-%ld", (long)getpid());
    if (mkdir(dir, 0755) < 0) return 1;
    if (fcntl(0, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != 0) return 1;
    RUN(arguments_as_they_are);
    RUN(environment);
    RUN(path_of_the_resulting_environment);
    RUN(failures_are_told_at_once);
    RUN(too_many_arguments);
    RUN(working_directory);
    RUN(signals_and_descriptors);
    RUN(closed_standard_streams);
    RUN(stderr_is_inherited);
    RUN(stderr_is_captured);
    RUN(one_child_does_not_hold_the_others_input);
    RUN(no_descriptors_left);
    RUN(no_processes_left);
    RUN(no_memory_left);
    RUN(how_children_end);
    RUN(what_is_left_in_the_group);
    RUN(signal_to_the_group);
    RUN(somebody_else_reaps);
    RUN(left_in_the_group_without_a_zombie);
    RUN(group_of_a_stranger);
    RUN(pipe_never_blocks);
    RUN(pipe_with_one_free_page);
    RUN(read_goes_straight_when_told);
    RUN(socket_twice_the_same);
    RUN(what_to_wait_for);
    RUN(nobody_reads_any_more);
    RUN(end_of_stream);
    RUN(regular_files);
    RUN(terminal_that_hangs_up);
    RUN(guard);
    RUN(guard_that_only_duplicates);
    RUN(guard_without_dev_null);
    RUN(guard_with_closed_descriptors);
    RUN(guard_with_no_descriptors_left);
    RUN(log_to_stderr);
    RUN(posts_run_in_the_loop);
    RUN(mailbox_closed_by_a_post);
    RUN(posts_from_a_signal_handler);
    RUN(posts_race_with_close);
    RUN(poster_without_memory);
    RUN(sigpipe);
    RUN(sigpipe_of_two_threads);
    RUN(unix_socket);
    RUN(clock_goes_on);
    RUN(nothing_was_closed_twice);
    unlink(in_dir("mcp-test-tool")); unlink(in_dir("first/mcp-test-tool")); unlink(in_dir("plain")); unlink(in_dir("badinterp"));
    unlink(in_dir("noexec")); unlink(in_dir("file")); rmdir(in_dir("first")); rmdir(in_dir("locked")); rmdir(dir);
    return test_end();
}
