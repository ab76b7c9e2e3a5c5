/* A client inside a program's own poll loop, next to the program's own descriptor and timer. It teaches mcp_client_send,
   pollfds, timeout and step, a deadline, and a cancel.
   cc -o loop_client loop_client.c && ./loop_client ./worker_server */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <poll.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

struct call { const char *name, *args; int timeout_ms; mcp_id id; };
static struct call calls[] = {
    { "a short one",                 "{\"below\": 100000}",     10000, 0 },
    { "one with 500 ms to answer",   "{\"below\": 4000000000}",   500, 0 },
    { "one that will be cancelled",  "{\"below\": 4000000000}", 60000, 0 }
};
static int open_calls;

static void done(const mcp_reply *r, void *user)
{
    struct call *k = user;
    printf("%s: %s\n", k->name, r->status == MCP_OK ? mcp_reply_text(r, NULL) : r->message);
    k->id = 0;
    open_calls--;
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(int argc, char **argv)
{
    if (argc < 2) { fprintf(stderr, "usage: %s SERVER [ARGUMENT...]\n", argv[0]); return 2; }
    mcp_client *c = mcp_client_new(&(mcp_client_desc){
        .name = "loop-client", .version = "1.0", .argv = (const char *const *)(argv + 1) });

    /* All at the same time. Nothing is written yet: the loop does that. */
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        struct call *k = &calls[i];
        k->id = mcp_client_send(c, &(mcp_call){
            .tool = "primes", .args = k->args, .timeout_ms = k->timeout_ms, .fn = done, .user = k });
        if (k->id) open_calls++;
        else printf("%s: %s\n", k->name, mcp_client_error(c));
    }

    int64_t give_up = now_ms() + 1500;
    int input = STDIN_FILENO;
    struct call *last = &calls[2];
    while (open_calls > 0) {
        struct pollfd fds[1 + 8] = {{ .fd = input, .events = POLLIN }};         /* poll leaves out what is below 0 */
        int n = mcp_client_pollfds(c, fds + 1, 8);
        if (n > 8) n = 8;

        int wait = mcp_client_timeout(c);                                       /* -1: nothing to wait for */
        if (last->id) {
            int64_t mine = give_up > now_ms() ? give_up - now_ms() : 0;
            if (wait < 0 || mine < wait) wait = (int)mine;
        }
        if (poll(fds, (nfds_t)(1 + n), wait) < 0) continue;                     /* a signal */

        char line[256];
        if (fds[0].revents) {                                                   /* the user: Enter gives up at once */
            if (read(input, line, sizeof line) > 0) give_up = 0;
            else input = -1;
        }
        if (last->id && now_ms() >= give_up) mcp_client_cancel(c, last->id, "waited long enough");
        if (mcp_client_step(c, fds + 1, n) != MCP_OK) break;                    /* callbacks run in here */
    }
    mcp_client_free(c);
    return 0;
}
