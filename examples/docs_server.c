/* A server that shows documents instead of doing things. It teaches resources (a fixed one, and a template for many), a
   prompt whose argument is completed, and how clients learn that something has changed.
   cc -o docs_server docs_server.c */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <stdio.h>
#include <string.h>

static struct page { const char *name; char text[256]; } pages[] = {
    { "install", "Copy mcp.h into your project." },
    { "hello",   "One handler, one mcp_server_tool, one mcp_server_run." },
    { "loop",    "Give mcp_server_pollfds to your poll(), then call mcp_server_step." },
};
enum { PAGES = sizeof pages / sizeof *pages };

static struct page *find(const char *name)
{
    for (int i = 0; i < PAGES; i++)
        if (strcmp(pages[i].name, name) == 0) return &pages[i];
    return NULL;
}

/* docs://page/{name}: a template stands for any number of resources. What stands for {name} comes from the client. */
static void read_page(mcp_req *r, void *user)
{
    (void)user;
    const struct page *p = find(mcp_req_var(r, "name"));
    if (p) mcp_req_text(r, p->text);
    else mcp_req_error(r, -32002, "There is no such page", NULL);
}

/* docs://pages: one read can give several contents, each with its own URI. */
static void read_all(mcp_req *r, void *user)
{
    (void)user;
    for (int i = 0; i < PAGES; i++) {
        char uri[64];
        snprintf(uri, sizeof uri, "docs://page/%s", pages[i].name);
        mcp_req_add_resource(r, uri, "text/plain", pages[i].text, MCP_NTS, false);
    }
    mcp_req_done(r);
}

/* While the user types the name of a page: what can it become? The prompt and the template share this. */
static void complete_page(mcp_req *r, void *user)
{
    (void)user;
    const char *typed, *names[PAGES];
    int n = 0;
    mcp_req_completes(r, &typed);
    for (int i = 0; i < PAGES; i++)
        if (strncmp(pages[i].name, typed, strlen(typed)) == 0) names[n++] = pages[i].name;
    mcp_req_values(r, names, n, n, false);
}

/* A prompt is a text that the user picks; it is handed to the model as messages. */
static void explain(mcp_req *r, void *user)
{
    (void)user;
    const struct page *p = find(mcp_arg_str(r, "page", ""));
    if (!p) { mcp_req_error(r, -32602, "There is no such page", NULL); return; }
    mcp_req_add_text(r, "Explain this page to a beginner, in three sentences:", MCP_NTS);
    mcp_req_add_text(r, p->text, MCP_NTS);
    mcp_req_done(r);
}

/* Whoever watches this page (or all of them) is told, in the way of its protocol version. */
static void edit(mcp_req *r, void *user)
{
    (void)user;
    struct page *p = find(mcp_arg_str(r, "page", ""));
    if (!p) { mcp_req_fail(r, "there is no such page"); return; }
    char uri[64];
    snprintf(p->text, sizeof p->text, "%s", mcp_arg_str(r, "text", ""));
    snprintf(uri, sizeof uri, "docs://page/%s", p->name);
    mcp_server_updated(mcp_req_server(r), uri);
    mcp_server_updated(mcp_req_server(r), "docs://pages");
    mcp_req_text(r, "saved");
}

int main(void)
{
    mcp_server *s = mcp_server_new(&(mcp_server_desc){ .name = "docs", .version = "1.0" });
    mcp_server_resource(s, &(mcp_resource){ .uri = "docs://pages", .name = "All pages", .fn = read_all, .ttl_ms = 60000 });
    mcp_server_resource(s, &(mcp_resource){
        .uri = "docs://page/{name}", .name = "A page", .mime = "text/plain", .fn = read_page, .complete = complete_page });
    mcp_server_prompt(s, &(mcp_prompt){ .name = "explain", .description = "Explain a page.", .fn = explain,
        .arguments = MCP_JSON([{"name": "page", "required": true}]), .complete = complete_page });
    mcp_server_tool(s, &(mcp_tool){ .name = "edit", .description = "Change a page.", .fn = edit,
        .input_schema = MCP_JSON({"type": "object", "properties": {"page": {"type": "string"}, "text": {"type": "string"}},
                                  "required": ["page", "text"]}) });
    int rc = mcp_server_run(s);
    mcp_server_free(s);
    return rc != MCP_OK;
}
