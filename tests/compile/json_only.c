/* A program that uses all of the JSON reader and writer and nothing else, to measure their size: with MCP_STATIC the rest is left out. */
#define MCP_IMPLEMENTATION
#define MCP_STATIC
#include "mcp.h"

typedef void (*function)(void);
extern const function json_functions[];
#define F(f) (function)f
const function json_functions[] = {
    F(mcp_json_parse), F(mcp_json_parse_inplace), F(mcp_json_copy), F(mcp_json_type), F(mcp_json_get), F(mcp_json_getn),
    F(mcp_json_at), F(mcp_json_first), F(mcp_json_next), F(mcp_json_key), F(mcp_json_keyn), F(mcp_json_size),
    F(mcp_json_str), F(mcp_json_text), F(mcp_json_int), F(mcp_json_uint), F(mcp_json_num), F(mcp_json_bool),
    F(mcp_json_base64), F(mcp_writer_init), F(mcp_writer_fixed), F(mcp_put_object), F(mcp_put_array), F(mcp_put_end),
    F(mcp_put_str), F(mcp_put_strn), F(mcp_put_base64), F(mcp_put_int), F(mcp_put_uint), F(mcp_put_num), F(mcp_put_bool),
    F(mcp_put_null), F(mcp_put_json), F(mcp_put_raw), F(mcp_writer_text), F(mcp_writer_status), F(mcp_writer_reset),
    F(mcp_writer_free)
};
