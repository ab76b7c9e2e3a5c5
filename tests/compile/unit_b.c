/* The other file: see unit_a.c. */
#ifdef MCP_STATIC
#define MCP_IMPLEMENTATION
#endif
#include "mcp.h"

int unit_b(void);
int unit_b(void)
{
    return mcp_version();
}
