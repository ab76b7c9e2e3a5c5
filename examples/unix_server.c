/* A server for many clients on a Unix-domain socket, through streams of one's own: the program accepts, reads and writes. It
   teaches mcp_io, mcp_server_attach, and the server in a loop of one's own. (mcp_server_desc.listen does the same in one line.)
   cc -o unix_server unix_server.c && ./unix_server /tmp/hello.sock */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The stream: `user` is the descriptor. None of these blocks. */
static int fd_of(void *user) { return (int)(size_t)user; }

static ptrdiff_t moved(ssize_t n)
{
    if (n >= 0) return n;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? MCP_ERR_AGAIN : MCP_ERR_TRANSPORT;
}
static ptrdiff_t sock_read (void *user, void *buf, size_t n)       { return moved(read(fd_of(user), buf, n)); }
static ptrdiff_t sock_write(void *user, const void *buf, size_t n) { return moved(write(fd_of(user), buf, n)); }
static void      sock_close(void *user)                            { close(fd_of(user)); }

static int sock_poll(void *user, bool want_read, bool want_write, struct pollfd *fds, int cap)
{
    if (cap > 0) fds[0] = (struct pollfd){
        .fd = fd_of(user), .events = (short)((want_read ? POLLIN : 0) | (want_write ? POLLOUT : 0)) };
    return 1;
}

static void greet(mcp_req *req, void *user)
{
    (void)user;
    mcp_req_textf(req, "Hello, %s on the socket!", mcp_arg_str(req, "name", "world"));
}

static int listen_on(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0 || strlen(path) >= sizeof a.sun_path) return -1;
    strcpy(a.sun_path, path);
    unlink(path);
    if (bind(fd, (struct sockaddr *)&a, sizeof a) < 0 || listen(fd, 16) < 0) return -1;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

int main(int argc, char **argv)
{
    if (argc != 2) { fprintf(stderr, "usage: %s PATH\n", argv[0]); return 2; }
    signal(SIGPIPE, SIG_IGN);                           /* a client that leaves is an error of write, not our end */
    int door = listen_on(argv[1]);
    if (door < 0) { perror(argv[1]); return 1; }

    mcp_server *s = mcp_server_new(&(mcp_server_desc){ .name = "unix", .version = "1.0", .no_stdio = true });
    mcp_server_tool(s, &(mcp_tool){ .name = "greet", .description = "Say hello to someone.", .fn = greet });

    struct pollfd *fds = NULL;
    int cap = 0, rc = MCP_OK;
    while (rc == MCP_OK) {
        int n;
        while ((n = 1 + mcp_server_pollfds(s, fds ? fds + 1 : NULL, cap ? cap - 1 : 0)) > cap) {
            struct pollfd *more = realloc(fds, (size_t)(cap = n + 8) * sizeof *fds);
            if (!more) { perror("realloc"); return 1; }
            fds = more;
        }
        fds[0] = (struct pollfd){ .fd = door, .events = POLLIN };
        if (poll(fds, (nfds_t)n, mcp_server_timeout(s)) < 0) continue;

        int fd = fds[0].revents ? accept(door, NULL, NULL) : -1;
        if (fd >= 0) {
            mcp_io io = { .read = sock_read, .write = sock_write, .poll = sock_poll, .close = sock_close,
                          .user = (void *)(size_t)fd };
            fcntl(fd, F_SETFL, O_NONBLOCK);
            if (!mcp_server_attach(s, &io, NULL)) close(fd);    /* over max_peers */
        }
        rc = mcp_server_step(s, fds + 1, n - 1);
    }
    fprintf(stderr, "%s\n", mcp_server_error(s));
    mcp_server_free(s);
    free(fds);
    unlink(argv[1]);
    return 1;
}
