/* C++11 that uses the header as a C++ program does: no designated initialisers, lambdas as callbacks, RAII around objects. A client and a
   server in one thread, over a stream in memory. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <memory>
#include <string>

struct delete_server { void operator()(mcp_server *s) const { mcp_server_free(s); } };
struct delete_client { void operator()(mcp_client *c) const { mcp_client_free(c); } };

int main()
{
    mcp_io ends[2];
    if (mcp_io_pair(nullptr, ends) != MCP_OK) return 1;

    mcp_server_desc sd = {};
    sd.name = "cplusplus";
    sd.version = "1";
    sd.io = ends[0];
    std::unique_ptr<mcp_server, delete_server> server(mcp_server_new(&sd));

    std::string prefix = "Hello, ";
    mcp_tool tool = {};
    tool.name = "greet";
    tool.input_schema = MCP_JSON({"type": "object", "properties": {"name": {"type": "string"}}});
    tool.user = &prefix;
    tool.fn = [](mcp_req *r, void *user) {
        std::string text = *static_cast<std::string *>(user) + mcp_arg_str(r, "name", "?");
        mcp_req_text(r, text.c_str());
    };
    if (mcp_server_tool(server.get(), &tool) != MCP_OK) return 2;

    mcp_client_desc cd = {};
    cd.name = "cplusplus";
    cd.version = "1";
    cd.io = ends[1];
    std::unique_ptr<mcp_client, delete_client> client(mcp_client_new(&cd));

    std::string answer;
    mcp_call call = {};
    call.tool = "greet";
    call.args = MCP_JSON({"name": "C++"});
    call.user = &answer;
    call.fn = [](const mcp_reply *r, void *user) { *static_cast<std::string *>(user) = mcp_reply_text(r, nullptr); };
    if (!mcp_client_send(client.get(), &call)) return 3;
    for (int i = 0; answer.empty() && i < 1000; i++) {
        if (mcp_client_step(client.get(), nullptr, 0) != MCP_OK) return 4;
        if (mcp_server_step(server.get(), nullptr, 0) != MCP_OK) return 5;
    }

    mcp_arena arena;
    mcp_arena_init(&arena, nullptr, 0);
    int sum = 0;
    mcp_json_each(item, mcp_json_parse(&arena, "[1, 2, 3]", MCP_NTS, nullptr)) sum += static_cast<int>(mcp_json_int(item, 0));
    mcp_arena_free(&arena);
    return answer == "Hello, C++" && sum == 6 ? 0 : 6;
}
