/* A server that asks the user. The same code serves clients of both eras: a legacy client gets requests from the server, a modern
 * one a result that says what is missing, and calls again with it. The handler does not see which.
 *
 * A handler asks as if the answer were there. MCP_OK: it is. Anything else: return. The handler is run again from its start when
 * the answer has come; when it cannot come (the user said no, the client cannot ask) the client is told.
 *
 * Build: cc -o ask_server ask_server.c      Run: ask_server, from an MCP client that knows elicitation */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <stdio.h>

/* Two questions, one after the other: the second depends on the first. What must happen once stands after the last. */
static void order(mcp_req *r, void *user)
{
    const mcp_json *a, *b;
    char question[128];
    int *orders = (int *)user, rc;
    rc = mcp_req_elicit(r, "drink", "What would you like?", MCP_JSON({
        "type": "object",
        "properties": {
            "drink": { "type": "string", "enum": ["coffee", "tea"] },
            "cups": { "type": "integer", "minimum": 1, "maximum": 9, "default": 1 }
        },
        "required": ["drink"] }), &a);
    if (rc != MCP_OK) return;
    snprintf(question, sizeof question, "%d %s: is that right?", (int)mcp_json_int(mcp_json_get(a, "cups"), 1),
             mcp_json_str(mcp_json_get(a, "drink"), ""));
    rc = mcp_req_elicit(r, "sure", question, MCP_JSON({
        "type": "object",
        "properties": { "sure": { "type": "boolean" } },
        "required": ["sure"] }), &b);
    if (rc == MCP_ERR_DECLINED || rc == MCP_ERR_CANCELLED || (rc == MCP_OK && !mcp_json_bool(mcp_json_get(b, "sure"), false)))
        mcp_req_text(r, "Nothing was ordered.");
    else if (rc == MCP_OK)
        mcp_req_textf(r, "Order %d is on its way.", ++*orders);
}

/* Two at once: the client's model, and the folders that it works on. Who has no model is served without. */
static void summary(mcp_req *r, void *user)
{
    const mcp_json *roots, *answer = NULL;
    int rc = mcp_req_ask(r, "roots", "roots/list", NULL, &roots), model;
    (void)user;
    model = mcp_req_ask(r, "model", "sampling/createMessage", MCP_JSON({
        "messages": [{ "role": "user", "content": { "type": "text", "text": "Say something about folders, in one line." } }],
        "maxTokens": 60 }), &answer);
    if (rc != MCP_OK || model == MCP_ERR_AGAIN) return;
    mcp_req_textf(r, "%d folders. %s", (int)mcp_json_size(mcp_json_get(roots, "roots")),
                  model == MCP_OK ? mcp_json_str(mcp_json_at(answer, "/content/text"), "") : "No model has anything to say about them.");
}

int main(void)
{
    int orders = 0, rc;
    mcp_server *s = mcp_server_new(&(mcp_server_desc){ .name = "ask", .version = "1.0" });
    mcp_server_tool(s, &(mcp_tool){ .name = "order", .description = "Order a drink for the user; asks what it shall be.",
                                    .fn = order, .user = &orders });
    mcp_server_tool(s, &(mcp_tool){ .name = "summary", .description = "Tell about the folders that the user works on.",
                                    .fn = summary });
    rc = mcp_server_run(s);
    mcp_server_free(s);
    return rc != MCP_OK;
}
