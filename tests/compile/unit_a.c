/* One of two files of a program: this one has the implementation (with MCP_STATIC both have their own). */
#define MCP_IMPLEMENTATION
#include "mcp.h"

int unit_b(void);
int main(void)
{
    return unit_b() == mcp_version() ? 0 : 1;
}
