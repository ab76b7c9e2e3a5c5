/* A whole MCP server: one tool, on stdin and stdout. It teaches mcp_server_new, mcp_server_tool, mcp_server_run.
   cc -o hello_server hello_server.c                                   (mcp.h beside it, or add -I) */
#define MCP_IMPLEMENTATION
#include "mcp.h"

static void greet(mcp_req *req, void *user)
{
    (void)user;
    mcp_req_textf(req, "Hello, %s!", mcp_arg_str(req, "name", "world"));
}

int main(void)
{
    mcp_server *s = mcp_server_new(&(mcp_server_desc){ .name = "hello", .version = "1.0" });
    mcp_server_tool(s, &(mcp_tool){
        .name = "greet",
        .description = "Say hello to someone.",
        .input_schema = MCP_JSON({
            "type": "object",
            "properties": { "name": { "type": "string", "description": "Whom to greet." } }
        }),
        .fn = greet
    });
    int rc = mcp_server_run(s);          /* stdin and stdout, until EOF; the first error of any call above ends here */
    mcp_server_free(s);
    return rc != MCP_OK;
}
