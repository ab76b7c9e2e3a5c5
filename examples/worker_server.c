/* A server whose tool works in a thread while the loop goes on serving. It teaches deferred answers, the poster (the one
   thing that other threads may touch), progress from a thread, and cancelling.
   cc -o worker_server worker_server.c -lpthread */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* One call. The thread owns it until it posts `finish`; `lock` guards what both sides look at meanwhile. */
typedef struct job {
    mcp_poster *post;
    mcp_id id;
    int64_t below, at, count;
    bool cancelled;
    pthread_mutex_t lock;
} job;

static void report(void *owner, void *arg)              /* in the loop */
{
    job *j = arg;
    pthread_mutex_lock(&j->lock);
    int64_t at = j->at;
    pthread_mutex_unlock(&j->lock);
    mcp_req_progress(mcp_server_req(owner, j->id), (double)at, (double)j->below, "counting");
}

static void finish(void *owner, void *arg)              /* in the loop; without an owner the server has gone */
{
    job *j = arg;
    mcp_req *r = mcp_server_req(owner, j->id);          /* NULL: cancelled, or there is no owner */
    if (r) mcp_req_textf(r, "%lld primes below %lld", (long long)j->count, (long long)j->below);
    mcp_poster_free(j->post);
    pthread_mutex_destroy(&j->lock);
    free(j);
}

static void cancel(mcp_server *s, mcp_id id, void *arg) /* in the loop; the job still lives: finish has not run */
{
    job *j = arg;
    (void)s; (void)id;
    pthread_mutex_lock(&j->lock);
    j->cancelled = true;
    pthread_mutex_unlock(&j->lock);
}

static void *work(void *arg)                            /* the thread: touches the job and the poster, nothing else */
{
    job *j = arg;
    const struct timespec moment = { 0, 1000000 };
    bool stop = false;
    for (int64_t n = 2; n < j->below && !stop; n++) {
        int64_t d = 2;
        while (d * d <= n && n % d) d++;
        if (d * d > n) j->count++;
        if (n % 65536) continue;
        pthread_mutex_lock(&j->lock);
        j->at = n;
        stop = j->cancelled;
        pthread_mutex_unlock(&j->lock);
        stop = stop || mcp_post(j->post, report, j) == MCP_ERR_CLOSED;
    }
    int rc;
    while ((rc = mcp_post(j->post, finish, j)) == MCP_ERR_AGAIN) nanosleep(&moment, NULL);
    if (rc != MCP_OK) finish(NULL, j);                  /* the server has gone: nobody else will free the job */
    return NULL;
}

static void primes(mcp_req *r, void *user)
{
    (void)user;
    pthread_t thread;
    job *j = calloc(1, sizeof *j);
    if (!j || !(j->post = mcp_server_poster(mcp_req_server(r))) || !(j->id = mcp_req_defer(r))) {
        if (j) mcp_poster_free(j->post);
        free(j);
        mcp_req_fail(r, "out of memory");
        return;
    }
    j->below = mcp_arg_int(r, "below", 0);
    pthread_mutex_init(&j->lock, NULL);
    mcp_req_on_cancel(r, cancel, j);
    if (pthread_create(&thread, NULL, work, j) == 0) pthread_detach(thread);
    else finish(mcp_req_server(r), j);
}

int main(void)
{
    mcp_server *s = mcp_server_new(&(mcp_server_desc){ .name = "worker", .version = "1.0" });
    mcp_server_tool(s, &(mcp_tool){
        .name = "primes", .description = "Count the primes below a number.", .fn = primes,
        .input_schema = MCP_JSON({"type": "object", "properties": {"below": {"type": "integer"}}, "required": ["below"]}) });
    int rc = mcp_server_run(s);
    mcp_server_free(s);
    return rc != MCP_OK;
}
