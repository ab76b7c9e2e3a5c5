/* A client: starts a server, prints its tools, calls one. It teaches mcp_client_new, mcp_client_call and replies.
   cc -o hello_client hello_client.c && ./hello_client ./hello_server */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <stdio.h>

static bool show(const mcp_json *tool, void *user)
{
    (void)user;
    printf("%s: %s\n", mcp_json_str(mcp_json_get(tool, "name"), "?"),
                       mcp_json_str(mcp_json_get(tool, "description"), ""));
    return true;                         /* go on; pages are followed by the library */
}

int main(int argc, char **argv)
{
    if (argc < 2) { fprintf(stderr, "usage: %s SERVER [ARGUMENT...]\n", argv[0]); return 2; }

    mcp_client *c = mcp_client_new(&(mcp_client_desc){
        .name = "hello-client", .version = "1.0", .argv = (const char *const *)(argv + 1) });
    mcp_client_call(c, &(mcp_call){ .method = "tools/list", .each = show });

    const mcp_reply *r = mcp_client_call(c, &(mcp_call){
        .tool = "greet", .args = MCP_JSON({"name": "C"}), .timeout_ms = 5000 });
    int bad = mcp_reply_is_error(r);
    if (!bad)                      printf("%s\n", mcp_reply_text(r, NULL));
    else if (r->status == MCP_OK)  fprintf(stderr, "the tool failed: %s\n", mcp_reply_text(r, NULL));
    else                           fprintf(stderr, "%s\n", mcp_client_error(c));
    mcp_client_free(c);                  /* closes the server's stdin and waits for it to end */
    return bad;
}
