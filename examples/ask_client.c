/* What a server needs to know in the middle of a call is asked on the terminal, and its progress is shown. It teaches on_ask: a
   form that is filled in, one that does not fit, a page to visit, and a "no". Defaults and checks are the library's.
   cc -o ask_client ask_client.c && ./ask_client TOOL '{"its": "arguments"}' SERVER [ARGUMENT...] */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <stdio.h>
#include <string.h>

static const char *str(const mcp_json *v, const char *key) { return mcp_json_str(mcp_json_get(v, key), ""); }

/* A line that the user types, without its end. False: there is none. */
static bool type_line(char *line, size_t size)
{
    fflush(stdout);
    if (!fgets(line, (int)size, stdin)) return false;
    line[strcspn(line, "\r\n")] = '\0';
    return true;
}

/* One field of a form. What is left empty is left out: the library fills in the default, if there is one. */
static bool ask_field(mcp_writer *w, const mcp_json *field)
{
    char line[1000];
    const char *name = mcp_json_key(field), *type = str(field, "type");
    printf("  %s", *str(field, "title") ? str(field, "title") : name);
    if (*str(field, "description")) printf(", %s", str(field, "description"));
    mcp_json_each(v, mcp_json_get(field, "enum")) printf(" [%s]", mcp_json_str(v, ""));
    mcp_json_each(v, mcp_json_get(field, "oneOf")) printf(" [%s: %s]", str(v, "const"), str(v, "title"));
    printf(": ");
    if (!type_line(line, sizeof line)) return false;
    if (!*line) return true;
    if (strcmp(type, "string") == 0) mcp_put_str(w, name, line);
    else if (strcmp(type, "boolean") == 0) mcp_put_bool(w, name, *line == 'y');
    else mcp_put_raw(w, name, line, MCP_NTS);       /* a number, or a list such as ["a", "b"] */
    return true;
}

/* Asks until it fits. Without an end of the input in between, the question is answered when this returns. */
static int ask_form(mcp_client *c, mcp_id question, const mcp_json *fields)
{
    int rc = MCP_ERR_ARGUMENT;
    while (rc == MCP_ERR_ARGUMENT) {
        bool typed = true;
        mcp_writer w;
        mcp_writer_init(&w, NULL, 0);
        mcp_put_object(&w, NULL);
        mcp_put_object(&w, "content");
        mcp_json_each(field, fields) typed = typed && ask_field(&w, field);
        mcp_put_end(&w);
        mcp_put_end(&w);
        rc = typed ? mcp_client_answer(c, question, MCP_OK, mcp_writer_text(&w, NULL)) : MCP_ERR_CANCELLED;
        mcp_writer_free(&w);
        if (rc == MCP_ERR_ARGUMENT) printf("%s\n", mcp_client_error(c));
    }
    return rc;
}

static int on_ask(mcp_client *c, mcp_id question, const char *method, const mcp_json *params, mcp_writer *result, void *user)
{
    char line[16];
    (void)result; (void)user;
    if (strcmp(method, "elicitation/create") != 0) return MCP_ERR_UNKNOWN;   /* a legacy server's own: nothing for the user */
    printf("%s\n", str(params, "message"));
    if (!*str(params, "url")) return ask_form(c, question, mcp_json_at(params, "/requestedSchema/properties"));
    printf("  Please visit %s\n  and type y when you are through: ", str(params, "url"));
    return type_line(line, sizeof line) && *line == 'y' ? MCP_OK : MCP_ERR_DECLINED;
}

static void on_progress(double done, double total, const char *message, void *user)
{
    (void)user;
    if (total > 0) printf("%3.0f%% ", done / total * 100);
    else printf("%g ", done);
    printf("%s\n", message ? message : "");
}

int main(int argc, char **argv)
{
    if (argc < 4) { fprintf(stderr, "usage: ask_client TOOL JSON SERVER [ARGUMENT...]\n"); return 2; }
    mcp_client *c = mcp_client_new(&(mcp_client_desc){
        .name = "ask_client", .version = "1.0",
        .argv = (const char *const *)argv + 3,
        .capabilities = MCP_JSON({"elicitation": {"form": {}, "url": {}}}),     /* what it may be asked */
        .on_ask = on_ask
    });
    const mcp_reply *r = mcp_client_call(c, &(mcp_call){ .tool = argv[1], .args = argv[2], .on_progress = on_progress });
    int bad = mcp_reply_is_error(r);
    fprintf(bad ? stderr : stdout, "%s\n", mcp_reply_text(r, NULL));
    mcp_client_free(c);
    return bad;
}
