/* The library's server under test: an echo tool with one property in its schema.
     -t N   N more tools, tool_0 and on
     -a     count allocations; the tool `allocations` tells how many there were so far */
#define MCP_IMPLEMENTATION
#include "mcp.h"

static long allocations;

static void *counted(void *user, void *p, size_t old_size, size_t new_size)
{
    (void)user; (void)old_size;
    if (!new_size) { free(p); return NULL; }
    allocations++;
    return realloc(p, new_size);
}

static void echo(mcp_req *r, void *user)
{
    (void)user;
    mcp_req_text(r, mcp_arg_str(r, "text", ""));
}

static void tell(mcp_req *r, void *user)
{
    (void)user;
    mcp_req_textf(r, "%ld", allocations);
}

int main(int argc, char **argv)
{
    mcp_server_desc d = { .name = "bench", .version = "1" };
    mcp_tool t = { .description = "Say the same again.", .fn = echo, .input_schema = MCP_JSON({
        "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] }) };
    mcp_server *s;
    int i, n = 0, rc;
    for (i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-a")) d.alloc.resize = counted;
        if (!strcmp(argv[i], "-t") && i + 1 < argc) n = atoi(argv[++i]);
    }
    s = mcp_server_new(&d);
    t.name = "echo";
    mcp_server_tool(s, &t);
    for (i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "tool_%d", i);
        t.name = name;
        mcp_server_tool(s, &t);
    }
    if (d.alloc.resize) mcp_server_tool(s, &(mcp_tool){ .name = "allocations", .fn = tell });
    rc = mcp_server_run(s);
    if (rc) fprintf(stderr, "%s\n", mcp_server_error(s));
    mcp_server_free(s);
    return rc != MCP_OK;
}
