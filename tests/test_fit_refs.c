/* References in schemas that are fitted. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "test.h"

/* Fits a schema for OpenAI; the text lives in the arena. */
static const char *fit(mcp_arena *a, const char *schema)
{
    mcp_fit_desc d;
    mcp_writer w;
    const char *text;
    char *copy;
    size_t len = 0;
    memset(&d, 0, sizeof d);
    d.profile = MCP_OPENAI;
    mcp_writer_init(&w, NULL, 0);
    CHECK(mcp_schema_fit(a, mcp_json_parse(a, schema, MCP_NTS, NULL), &d, &w) != NULL);
    text = mcp_writer_text(&w, &len);
    copy = (char *)mcp_arena_alloc(a, len + 1);
    if (text && copy) memcpy(copy, text, len + 1);
    mcp_writer_free(&w);
    return text && copy ? copy : "";
}

/* An empty reference means the document, as "#" does, wherever it stands. */
TEST(an_empty_reference_is_the_whole)
{
    mcp_arena a;
    const char *hash;
    mcp_arena_init(&a, NULL, 0);
    hash = fit(&a, "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"#\"}}}");
    EQ_STR(fit(&a, "{\"type\":\"object\",\"properties\":{\"a\":{\"$ref\":\"\"}}}"), hash);
    CHECK(strstr(fit(&a, "{\"type\":\"object\",\"properties\":{\"a\":{\"enum\":[{\"$ref\":\"\"}]}}}"), "{\"$ref\":\"\"}") != NULL);
    mcp_arena_free(&a);
}

int main(void)
{
    RUN(an_empty_reference_is_the_whole);
    return test_end();
}
