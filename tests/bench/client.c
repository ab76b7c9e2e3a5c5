/* The library's client against a bare C client, both with the same bare server: CPU of the client's process per call,
   in turns, each with its own server.
     client [-m] [-w WINDOW] [-n COUNT] [-r ROUNDS] SERVER
   prints medians: CPU us per call of the library, of the bare client, and the ratio of each round. -m: modern.
     client [-m] -1 [-w WINDOW] [-n COUNT] SERVER        runs the library's client alone, to be profiled */
#include "bench.h"
#define MCP_IMPLEMENTATION
#include "mcp.h"

enum { ROUNDS = 64 };

typedef struct run { mcp_client *c; mcp_call call; size_t window, count, sent, got, wrong; char text[101]; } run;

static void send_one(run *r)
{
    r->sent++;
    if (!mcp_client_send(r->c, &r->call)) die(mcp_client_error(r->c));
}

static void done(const mcp_reply *reply, void *user)
{
    run *r = user;
    size_t n;
    const char *text = mcp_reply_text(reply, &n);
    if (reply->status != MCP_OK || n != 100 || memcmp(text, r->text, n)) r->wrong++;
    r->got++;
}

/* As a program with a loop of its own does it. */
static void library(run *r, size_t count)
{
    r->count = count; r->sent = r->got = 0;
    while (r->got < count) {
        while (r->sent < count && r->sent - r->got < r->window) send_one(r);
        if (mcp_client_wait(r->c, -1) != MCP_OK) die(mcp_client_error(r->c));
    }
    if (r->wrong) die("a wrong answer");
}

static double percall(double begin, size_t count) { return (own_cpu_us() - begin) / (double)count; }

int main(int argc, char **argv)
{
    static run r = { .window = 1 };
    bool modern = false, alone = false;
    size_t count = 10000, rounds = 9, i, len, warm;
    double ours[ROUNDS], bare[ROUNDS], ratio[ROUNDS];
    char args[128], *tail;
    proc p;
    int c;
    while ((c = getopt(argc, argv, "m1w:n:r:")) != -1)
        switch (c) {
        case 'm': modern = true; break;
        case '1': alone = true; break;
        case 'w': r.window = (size_t)atol(optarg); break;
        case 'n': count = (size_t)atol(optarg); break;
        case 'r': rounds = (size_t)atol(optarg); break;
        default: return 2;
        }
    if (optind + 1 != argc || rounds < 1 || rounds > ROUNDS || !r.window) die("how? see the comment at the top of client.c");
    memset(r.text, 'x', 100);
    snprintf(args, sizeof args, "{\"text\":\"%s\"}", r.text);
    r.c = mcp_client_new(&(mcp_client_desc){ .name = "bench", .version = "1", .max_pending = 1 << 20,
        .argv = (const char *const[]){ argv[optind], NULL }, .era = modern ? MCP_ERA_MODERN : MCP_ERA_LEGACY });
    r.call = (mcp_call){ .tool = "echo", .args = args, .fn = done, .user = &r };
    warm = r.window < count ? r.window : count;
    library(&r, warm);
    if (alone) {
        if (count > warm) library(&r, count - warm);
        mcp_client_free(r.c);
        return 0;
    }
    p = proc_start(argv[optind]);
    tail = call_tail(modern, "echo", 100, &len);
    handshake(&p, modern);
    play(&p, tail, len, r.window, warm, NULL, r.text);
    for (i = 0; i < rounds; i++) {
        double begin = own_cpu_us();
        play(&p, tail, len, r.window, count, NULL, r.text);
        bare[i] = percall(begin, count);
        begin = own_cpu_us();
        library(&r, count);
        ours[i] = percall(begin, count);
        ratio[i] = ours[i] / bare[i];
    }
    printf("%.4g %.4g %.4g\n", median(ours, rounds), median(bare, rounds), median(ratio, rounds));
    proc_end(&p);
    mcp_client_free(r.c);
    free(tail);
    return 0;
}
