/* The header alone, in a file that makes no implementation. */
#include "mcp.h"

int header_alone(const mcp_json *v, mcp_writer *w);
int header_alone(const mcp_json *v, mcp_writer *w)
{
    mcp_json_each(item, v) mcp_put_json(w, NULL, item);
    return mcp_writer_status(w);
}
