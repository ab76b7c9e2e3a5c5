/* What the benchmark programs share: clocks, medians, a child on two pipes, and a raw client that finds what it needs
   in the answers by string search. Include it first. */
#ifndef BENCH_H
#define BENCH_H
#if !defined(__APPLE__)
#  define _POSIX_C_SOURCE 200809L
#  define _DEFAULT_SOURCE 1
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static inline void die(const char *what)
{
    fprintf(stderr, "bench: %s\n", what);
    exit(1);
}

static inline void *more(void *p, size_t n)
{
    if (!(p = realloc(p, n ? n : 1))) die("out of memory");
    return p;
}

/* -- clocks, in microseconds -- */

static inline double clock_us(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static inline double wall_us(void) { return clock_us(CLOCK_MONOTONIC); }
static inline double own_cpu_us(void) { return clock_us(CLOCK_PROCESS_CPUTIME_ID); }

/* CPU that a living child has used. Where the system does not tell: 0, and what is computed from it is left out. */
static inline double child_cpu_us(pid_t pid)
{
#if defined(_POSIX_CPUTIME) && _POSIX_CPUTIME >= 0 && !defined(__APPLE__)
    clockid_t id;
    if (clock_getcpuclockid(pid, &id) == 0) return clock_us(id);
#endif
    (void)pid;
    return 0;
}

static inline int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* -- a child and its pipes -- */

typedef struct proc {
    pid_t pid;
    int to, from;
    char *in, *out;                     /* bytes read and not yet taken; bytes to be written */
    size_t in_at, in_len, in_cap, out_at, out_len, out_cap, scanned;
    unsigned long next_id;
} proc;

/* Starts `command`, words with single blanks between them. */
static inline proc proc_start(const char *command)
{
    proc p;
    int to[2], from[2];
    memset(&p, 0, sizeof p);
    if (pipe(to) || pipe(from)) die("no pipe");
    signal(SIGPIPE, SIG_IGN);
    if ((p.pid = fork()) < 0) die("no fork");
    if (p.pid == 0) {
        char words[1024], *argv[32], *s = words;
        int n = 0;
        snprintf(words, sizeof words, "%s", command);
        while (s && n < 31) { argv[n++] = s; if ((s = strchr(s, ' '))) *s++ = 0; }
        argv[n] = NULL;
        dup2(to[0], 0); dup2(from[1], 1);
        close(to[0]); close(to[1]); close(from[0]); close(from[1]);
        execvp(argv[0], argv);
        _exit(127);
    }
    close(to[0]); close(from[1]);
    p.to = to[1]; p.from = from[0]; p.next_id = 1;
    fcntl(p.to, F_SETFL, O_NONBLOCK);
    fcntl(p.to, F_SETFD, FD_CLOEXEC); fcntl(p.from, F_SETFD, FD_CLOEXEC);
    p.in = more(NULL, p.in_cap = 1 << 17);
    return p;
}

static inline void proc_end(proc *p)
{
    int status;
    close(p->to);
    if (waitpid(p->pid, &status, 0) != p->pid || status) die("a child did not end well");
    close(p->from);
    free(p->in); free(p->out);
}

static inline void put(proc *p, const char *s, size_t n)
{
    if (p->out_cap - p->out_len < n) p->out = more(p->out, p->out_cap = (p->out_len + n) * 2);
    memcpy(p->out + p->out_len, s, n);
    p->out_len += n;
}

/* Writes what can be written, and reads something: blocking if there is nothing else to do. */
static inline void proc_move(proc *p)
{
    ptrdiff_t n;
    if (p->out_len) {
        n = write(p->to, p->out + p->out_at, p->out_len - p->out_at);
        if (n < 0 && errno != EAGAIN) die("a child does not read");
        if (n > 0) p->out_at += (size_t)n;
        if (p->out_at == p->out_len) p->out_at = p->out_len = 0;
    }
    if (p->out_len) {
        struct pollfd fds[2] = { { p->from, POLLIN, 0 }, { p->to, POLLOUT, 0 } };
        poll(fds, 2, -1);
        if (!(fds[0].revents)) return;
    }
    if (p->in_at) {
        memmove(p->in, p->in + p->in_at, p->in_len - p->in_at);
        p->in_len -= p->in_at; p->scanned -= p->in_at; p->in_at = 0;
    }
    if (p->in_cap - p->in_len < 1 << 16) p->in = more(p->in, p->in_cap *= 2);
    if ((n = read(p->from, p->in + p->in_len, p->in_cap - p->in_len - 1)) <= 0) die("a child has ended");
    p->in_len += (size_t)n;
}

/* The next whole line among what was read, as a string, or NULL. */
static inline char *proc_line(proc *p)
{
    char *line = p->in + p->in_at, *end = memchr(p->in + p->scanned, '\n', p->in_len - p->scanned);
    if (!end) { p->scanned = p->in_len; return NULL; }
    *end = 0;
    p->in_at = p->scanned = (size_t)(end - p->in) + 1;
    return line;
}

/* The id of an answer, or 0: a notification, or an id that is no number. */
static inline unsigned long id_of(const char *line)
{
    const char *s = strstr(line, "\"id\":");
    return s ? strtoul(s + 5, NULL, 10) : 0;
}

/* Calls: request = HEAD id `tail`. `count` of them with `window` outstanding; answers must come in order. rtt: count
   times in microseconds, or NULL. text: what each must have as its text, or NULL. */
#define HEAD "{\"jsonrpc\":\"2.0\",\"id\":"
static inline void play(proc *p, const char *tail, size_t tail_len, size_t window, size_t count, double *rtt,
                        const char *text)
{
    size_t sent = 0, got = 0;
    unsigned long first = p->next_id;
    while (got < count) {
        char *line;
        while (sent < count && sent - got < window && p->out_len < 1 << 16) {
            char digits[24], *d = digits + sizeof digits;
            unsigned long id = p->next_id++;
            do *--d = (char)('0' + id % 10); while (id /= 10);
            put(p, HEAD, sizeof HEAD - 1);
            put(p, d, (size_t)(digits + sizeof digits - d));
            put(p, tail, tail_len);
            if (rtt) rtt[sent] = wall_us();
            sent++;
        }
        proc_move(p);
        while ((line = proc_line(p))) {
            unsigned long id = id_of(line);
            if (!id) continue;                              /* an echoed notification */
            if (id != first + got) { fprintf(stderr, "%.200s\n", line); die("an answer out of turn"); }
            if (text) {
                const char *s = strstr(line, "\"text\":\""), *end = s ? strchr(s + 8, '"') : NULL;
                if (!end || (size_t)(end - s) - 8 != strlen(text) || memcmp(s + 8, text, strlen(text))) die("a wrong answer");
            }
            if (rtt) rtt[got] = wall_us() - rtt[got];
            got++;
        }
    }
}

/* One call, and its answer, until the next call. */
static inline const char *ask(proc *p, const char *tail)
{
    char *line;
    char id[24];
    snprintf(id, sizeof id, "%lu", p->next_id++);
    put(p, HEAD, sizeof HEAD - 1); put(p, id, strlen(id)); put(p, tail, strlen(tail));
    for (;;) {
        proc_move(p);
        while ((line = proc_line(p))) if (id_of(line)) return line;
    }
}

/* -- what is sent -- */

#define META_OF(caps) "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":" \
    "{\"name\":\"bench\",\"version\":\"1\"},\"io.modelcontextprotocol/clientCapabilities\":" caps "}"
#define META META_OF("{}")
#define INITIALIZE_OF(caps) ",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":" caps "," \
    "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1\"}}}\n"
#define INITIALIZE INITIALIZE_OF("{}")
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
#define DISCOVER ",\"method\":\"server/discover\",\"params\":{" META "}}\n"

/* What follows the id of a call of `tool` with a text of `size` bytes. */
static inline char *call_tail(bool modern, const char *tool, size_t size, size_t *len)
{
    char *s = more(NULL, size + 1024);
    int n = snprintf(s, 1024, ",\"method\":\"tools/call\",\"params\":{%s\"name\":\"%s\",\"arguments\":{\"text\":\"",
                     modern ? META "," : "", tool);
    memset(s + n, 'x', size);
    memcpy(s + n + size, "\"}}}\n", 6);
    *len = (size_t)n + size + 5;
    return s;
}

static inline void handshake(proc *p, bool modern)
{
    (void)ask(p, modern ? DISCOVER : INITIALIZE);
    if (!modern) put(p, INITIALIZED, sizeof INITIALIZED - 1);
}
#endif
