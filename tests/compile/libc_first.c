/* Must not compile under -std=c99 with glibc: a libc header has fixed the visible names before mcp.h could ask for POSIX. */
#include <stdio.h>
#define MCP_IMPLEMENTATION
#include "mcp.h"
