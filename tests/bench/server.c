/* The library's server under test: an echo tool with one property in its schema.
     -t N   N more tools, tool_0 and on
     -r N   resources bench://0 and on, in pages of 100, the tool `touch` that says of all of them that they changed, and
            bench://blob, which is 10 MB
     -q     the tool `ask`, which asks one question
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

static void ask(mcp_req *r, void *user)
{
    const mcp_json *content;
    (void)user;
    if (mcp_req_elicit(r, "q", "Your name?", MCP_JSON({ "type": "object", "properties": { "name": { "type": "string" } } }), &content) == MCP_OK)
        mcp_req_text(r, mcp_json_str(mcp_json_get(content, "name"), ""));
}

static int resources;

static void touch(mcp_req *r, void *user)
{
    int i;
    (void)user;
    for (i = 0; i < resources; i++) {
        char uri[32];
        snprintf(uri, sizeof uri, "bench://%d", i);
        mcp_server_updated(mcp_req_server(r), uri);
    }
    mcp_req_text(r, "");
}

/* Some bytes of every value. */
static void blob(mcp_req *r, void *user)
{
    static unsigned char bytes[10000000];
    size_t i;
    (void)user;
    if (!bytes[1]) for (i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 2654435761u >> 13);
    mcp_req_add_image(r, "image/png", bytes, sizeof bytes);
    mcp_req_done(r);
}

int main(int argc, char **argv)
{
    mcp_server_desc d = { .name = "bench", .version = "1" };
    mcp_tool t = { .description = "Say the same again.", .fn = echo, .input_schema = MCP_JSON({
        "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] }) };
    mcp_server *s;
    bool asks = false;
    int i, n = 0, rc;
    for (i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-a")) d.alloc.resize = counted;
        if (!strcmp(argv[i], "-q")) asks = true;
        if (!strcmp(argv[i], "-t") && i + 1 < argc) n = atoi(argv[++i]);
        if (!strcmp(argv[i], "-r") && i + 1 < argc) { resources = atoi(argv[++i]); d.page_size = 100; d.max_subscriptions = 1000000; }
    }
    s = mcp_server_new(&d);
    t.name = "echo";
    mcp_server_tool(s, &t);
    if (asks) mcp_server_tool(s, &(mcp_tool){ .name = "ask", .fn = ask });
    for (i = 0; i < n; i++) {
        char name[32];
        snprintf(name, sizeof name, "tool_%d", i);
        t.name = name;
        mcp_server_tool(s, &t);
    }
    for (i = 0; i < resources; i++) {
        char uri[32];
        snprintf(uri, sizeof uri, "bench://%d", i);
        mcp_server_resource(s, &(mcp_resource){ .uri = uri, .name = uri, .mime = "text/plain", .data = "x", .data_size = 1 });
    }
    if (resources) {
        mcp_server_resource(s, &(mcp_resource){ .uri = "bench://blob", .name = "blob", .mime = "image/png", .fn = blob });
        mcp_server_tool(s, &(mcp_tool){ .name = "touch", .fn = touch });
    }
    if (d.alloc.resize) mcp_server_tool(s, &(mcp_tool){ .name = "allocations", .fn = tell });
    rc = mcp_server_run(s);
    if (rc) fprintf(stderr, "%s\n", mcp_server_error(s));
    mcp_server_free(s);
    return rc != MCP_OK;
}
