/* The implementation, with the switches of the command line. */
#define MCP_IMPLEMENTATION
#include "mcp.h"

int main(void)
{
    return mcp_version() == MCP_VERSION_NUMBER ? 0 : 1;
}
