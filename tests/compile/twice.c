/* The header several times in one file: for the declarations, for the implementation, and once more by accident. */
#ifdef HEADER_FIRST
#include "mcp.h"
#endif
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "mcp.h"
#undef MCP_IMPLEMENTATION
#include "mcp.h"

int main(void)
{
    return mcp_version() == MCP_VERSION_NUMBER ? 0 : 1;
}
