/* A filter: the schema of a tool in, the schema that a provider of models takes out.
 *
 *     build/sanitize --profile gemini <schema.json
 *
 * On stderr it tells what it changed, a line each with the place. Options:
 *     --profile NAME           one of those that --help lists; default generic, which any OpenAI-compatible endpoint takes
 *     --no-notes               descriptions stay as they are
 *     --max-description N      descriptions of at most N characters
 *     --max-depth N            schemas nested at most N deep
 *     --explain                no schema: only what would be changed, on stdout
 *     --unfit ARGUMENTS        no schema: a model's arguments (JSON) as the server wants them
 *
 * It exits with 0; 1: the input is not JSON, or no memory; 2: a wrong option. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void)
{
    int p;
    fprintf(stderr, "usage: sanitize [--profile NAME] [--no-notes] [--max-description N] [--max-depth N]\n"
                    "                [--explain | --unfit ARGUMENTS] <schema.json\nprofiles:");
    for (p = 0; mcp_profile_name((mcp_profile)p); p++) fprintf(stderr, " %s", mcp_profile_name((mcp_profile)p));
    fputc('\n', stderr);
    return 2;
}

/* All of stdin; NULL: no memory. */
static char *read_all(size_t *len)
{
    char *text = NULL, *more;
    size_t n;
    *len = 0;
    do {
        more = (char *)realloc(text, *len + 65536);
        if (!more) { free(text); return NULL; }
        text = more;
        n = fread(text + *len, 1, 65536, stdin);
        *len += n;
    } while (n);
    return text;
}

int main(int argc, char **argv)
{
    mcp_fit_desc desc = { MCP_GENERIC, false, 0, 0, 0, 0 };
    const char *unfit = NULL, *text;
    bool explain = false;
    mcp_arena arena;                        /* what is parsed and what is fitted lives here */
    mcp_writer out;
    size_t len, pos = 0;
    char *input;
    int i, profile, rc = 1;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--no-notes") == 0) desc.no_notes = true;
        else if (strcmp(argv[i], "--explain") == 0) explain = true;
        else if (i + 1 == argc) return usage();
        else if (strcmp(argv[i], "--max-description") == 0) desc.max_description = strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--max-depth") == 0) desc.max_depth = atoi(argv[++i]);
        else if (strcmp(argv[i], "--unfit") == 0) unfit = argv[++i];
        else if (strcmp(argv[i], "--profile") == 0 && (profile = mcp_profile_find(argv[++i])) >= 0) desc.profile = (mcp_profile)profile;
        else return usage();
    }
    mcp_arena_init(&arena, NULL, 0);
    mcp_writer_init(&out, NULL, 0);
    input = read_all(&len);
    if (input) {
        const mcp_json *schema = mcp_json_parse(&arena, input, len, &pos);
        const mcp_fit *fit = schema ? mcp_schema_fit(&arena, schema, &desc, &out) : NULL;
        if (fit && unfit) {
            mcp_writer_reset(&out);
            mcp_schema_unfit(fit, mcp_json_parse(&arena, unfit, MCP_NTS, &pos), &out);
        }
        text = mcp_writer_text(&out, NULL);
        if (!schema) fprintf(stderr, "not JSON, from byte %lu\n", (unsigned long)pos);
        else if (!fit || !text) fprintf(stderr, "%s\n", mcp_strerror(out.status ? out.status : MCP_ERR_MEMORY));
        else {
            if (!explain) puts(text);
            fputs(mcp_fit_notes(fit), explain ? stdout : stderr);
            rc = 0;
        }
    }
    free(input);
    mcp_writer_free(&out);
    mcp_arena_free(&arena);
    return rc;
}
