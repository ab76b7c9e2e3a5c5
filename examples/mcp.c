/* mcp: ask any MCP server from the command line. It teaches a whole client: era, timeouts, progress, Ctrl-C, questions of the
   server's, subscriptions, every kind of content and of failure.
   cc -o mcp mcp.c && ./mcp tools ./hello_server                    (see `mcp --help`) */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char help[] =
    "usage: mcp tools [OPTION...] [--] SERVER [ARGUMENT...]      list the tools\n"
    "       mcp call [OPTION...] TOOL [JSON] -- SERVER...        call one; JSON: its arguments, - reads them from stdin\n"
    "       mcp schema [OPTION...] TOOL -- SERVER...             its input schema as providers of models take it\n"
    "       mcp resources [OPTION...] [--] SERVER...             list the resources, and the templates of more\n"
    "       mcp read [OPTION...] URI -- SERVER...                print one\n"
    "       mcp prompts [OPTION...] [--] SERVER...               list the prompts\n"
    "       mcp prompt [OPTION...] NAME [JSON] -- SERVER...      print one\n"
    "       mcp complete [OPTION...] NAME ARGUMENT [VALUE] -- SERVER...   what an argument of a prompt could be, or\n"
    "                                                            a variable, if NAME is a template such as file:///{path}\n"
    "       mcp watch [OPTION...] [URI...] -- SERVER...          tell what changes, until Ctrl-C\n"
    "       mcp info [OPTION...] [--] SERVER...                  what the server says about itself\n"
    "       mcp ping [OPTION...] [--] SERVER...                  how long it takes to answer\n"
    "\n"
    "SERVER is the command that starts an MCP server on its stdin and stdout. What it asks is asked on the terminal, if stdin is one.\n"
    "\n"
    "  -t, --timeout SECONDS     give up after this time (default: 60 to start, 30 without an answer or progress)\n"
    "      --era auto|legacy|modern   which protocol to speak: with the initialize handshake, or of 2026-07-28\n"
    "      --json                print the result as one line of JSON\n"
    "      --no-check            call: send arguments that do not fit the tool's schema, too\n"
    "      --profile NAME        schema: for generic (default), openai, openai-strict, anthropic, bedrock, mistral, gemini, ...\n"
    "      --explain             schema: tell on stderr what was changed, and why\n"
    "  -q, --quiet               hide what the server writes to stderr, unless it fails\n"
    "  -h, --help    -V, --version\n"
    "\n"
    "exit status: 0 ok, 1 the tool reported an error, 2 wrong usage, 3 the server could not be started or spoken to,\n"
    "             4 it answered with an error, 5 it took too long, 6 the connection broke, 130 interrupted\n";

enum { EXIT_TOOL = 1, EXIT_USAGE, EXIT_START, EXIT_PEER, EXIT_TIMEOUT, EXIT_BROKEN, EXIT_INTERRUPTED = 130 };

static mcp_client *client;
static mcp_poster *poster;
static bool json, bar_shown, interrupted, watching, no_check, explain;
static mcp_profile profile;
static mcp_id current;
static mcp_arena arena;                 /* what is kept of an answer */

static int usage(const char *why, const char *what)
{
    fprintf(stderr, "mcp: %s%s\nTry `mcp --help`.\n", why, what);
    return EXIT_USAGE;
}

/* -- printing ------------------------------------------------------------------------------------------------- */

/* Text of a server, its second and later lines behind `indent` spaces. A terminal obeys control characters, and a server is a
   stranger: there they become "?". */
static void put(FILE *f, const char *s, int indent)
{
    bool careful = isatty(fileno(f));
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s, next = (unsigned char)s[1];
        if (c == '\n') { if (next) fprintf(f, "\n%*s", indent, ""); }
        else if (careful && ((c < 0x20 && c != '\t') || c == 0x7F)) putc('?', f);
        else if (careful && c == 0xC2 && next >= 0x80 && next < 0xA0) { putc('?', f); s++; }     /* U+0080 to U+009F */
        else putc(c, f);
    }
}

static void print(FILE *f, const char *s, int indent)
{
    fprintf(f, "%*s", indent, "");
    put(f, s, indent);
    putc('\n', f);
}

static void print_json(const mcp_json *v)
{
    mcp_writer w;
    mcp_writer_init(&w, NULL, 0);
    mcp_put_json(&w, NULL, v);
    puts(mcp_writer_text(&w, NULL) ? mcp_writer_text(&w, NULL) : "null");
    mcp_writer_free(&w);
}

static const char *str(const mcp_json *v, const char *key) { return mcp_json_str(mcp_json_get(v, key), ""); }

/* A content block: its text, or a line that says what it is. */
static void print_block(FILE *f, const mcp_json *block)
{
    const char *type = str(block, "type");
    bool embedded = strcmp(type, "resource") == 0;
    const mcp_json *body = embedded ? mcp_json_get(block, "resource") : block;
    const mcp_json *text = mcp_json_get(body, "text");
    size_t len = mcp_json_size(text);
    bool sized = text || mcp_json_base64(&arena, mcp_json_get(body, embedded ? "blob" : "data"), &len);
    if (text && !embedded) { print(f, mcp_json_str(text, ""), 0); return; }
    putc('[', f);
    put(f, *type ? type : "?", 0);
    if (*str(body, "uri")) { putc(' ', f); put(f, str(body, "uri"), 0); }
    if (*str(body, "mimeType")) { putc(' ', f); put(f, str(body, "mimeType"), 0); }
    if (sized) fprintf(f, ", %lu bytes", (unsigned long)len);
    fputs("]\n", f);
}

/* "string", "integer or null", "array of string", "one of "a" "b"" */
static void print_type(const mcp_json *schema)
{
    const mcp_json *type = mcp_json_get(schema, "type"), *choice = mcp_json_get(schema, "enum");
    const mcp_json *item = mcp_json_at(schema, "/items/type");
    if (choice) fputs("one of", stdout);
    mcp_json_each(v, choice) {
        size_t len = 0;
        const char *text = mcp_json_text(v, &len);
        if (mcp_json_type(v) == MCP_JSON_NUMBER) printf(" %.*s", (int)len, text);
        else { fputs(" \"", stdout); put(stdout, mcp_json_str(v, "?"), 0); putchar('"'); }
    }
    if (choice) return;
    mcp_json_each(v, type) {
        if (v != mcp_json_first(type)) fputs(" or ", stdout);
        put(stdout, mcp_json_str(v, "?"), 0);
    }
    if (!mcp_json_first(type)) put(stdout, mcp_json_str(type, "any"), 0);
    if (item) { fputs(" of ", stdout); put(stdout, mcp_json_str(item, "any"), 0); }
}

/* Resources, templates, prompts: what they are called, and what is said about them. */
static void print_entry(const mcp_json *v)
{
    const char *uri = *str(v, "uri") ? str(v, "uri") : str(v, "uriTemplate");
    print(stdout, *uri ? uri : str(v, "name"), 0);
    if (*uri) {
        fputs("    ", stdout);
        put(stdout, str(v, "name"), 4);
        if (*str(v, "mimeType")) { fputs(", ", stdout); put(stdout, str(v, "mimeType"), 4); }
        putchar('\n');
    }
    if (*str(v, "description")) print(stdout, str(v, "description"), 4);
    mcp_json_each(a, mcp_json_get(v, "arguments")) {
        fputs("      ", stdout);
        put(stdout, str(a, "name"), 0);
        puts(mcp_json_bool(mcp_json_get(a, "required"), false) ? ", required" : "");
        if (*str(a, "description")) print(stdout, str(a, "description"), 10);
    }
}

static void print_tool(const mcp_json *tool)
{
    const mcp_json *schema = mcp_json_get(tool, "inputSchema");
    print(stdout, str(tool, "name"), 0);
    if (*str(tool, "description")) print(stdout, str(tool, "description"), 4);
    mcp_json_each(p, mcp_json_get(schema, "properties")) {
        bool required = false;
        mcp_json_each(r, mcp_json_get(schema, "required")) required |= strcmp(mcp_json_str(r, ""), mcp_json_key(p)) == 0;
        fputs("      ", stdout);
        put(stdout, mcp_json_key(p), 0);
        fputs(": ", stdout);
        print_type(p);
        puts(required ? ", required" : "");
        if (*str(p, "description")) print(stdout, str(p, "description"), 10);
    }
}

static void progress(double done, double total, const char *message, void *user)
{
    enum { WIDTH = 30 };
    int full = total > 0 && done >= 0 ? done < total ? (int)(done / total * WIDTH) : WIDTH : 0;
    (void)user;
    if (!isatty(STDERR_FILENO)) return;
    fprintf(stderr, "\r\033[K[%.*s%*s] ", full, "##############################", WIDTH - full, "");
    if (total > 0) fprintf(stderr, "%.0f%% ", done / total * 100); else fprintf(stderr, "%g ", done);
    if (message) put(stderr, message, 0);
    bar_shown = true;
}

/* -- asking --------------------------------------------------------------------------------------------------- */

static void interrupt(void *owner, void *arg)   /* in the loop; a second Ctrl-C kills us as usual */
{
    (void)arg;
    interrupted = true;
    signal(SIGINT, SIG_DFL);
    mcp_client_cancel(owner, current, "interrupted by the user");
}
static void on_signal(int sig) { (void)sig; mcp_post(poster, interrupt, NULL); }

/* Says why it failed, and gives the exit status for it. */
static int failure(int status)
{
    if (interrupted) return EXIT_INTERRUPTED;
    fputs("mcp: ", stderr);
    print(stderr, *mcp_client_error(client) ? mcp_client_error(client) : mcp_strerror(status), 0);
    if (status == MCP_ERR_PEER) return EXIT_PEER;
    if (status == MCP_ERR_TIMEOUT) return EXIT_TIMEOUT;
    return mcp_client_protocol(client) ? EXIT_BROKEN : EXIT_START;
}

typedef struct answer { bool over; int status; const mcp_json *result; mcp_writer *items; void (*show)(const mcp_json *item); } answer;

static void settled(const mcp_reply *r, void *user)
{
    answer *a = user;
    a->over = true;
    a->result = mcp_json_copy(&arena, r->result);       /* it lives until we return: keep a copy */
    a->status = r->status == MCP_OK && !a->result ? MCP_ERR_MEMORY : r->status;
}

static bool each_item(const mcp_json *item, void *user)
{
    answer *a = user;
    if (json) mcp_put_json(a->items, NULL, item);
    else a->show(item);
    return true;
}

/* One request, waited for: mcp_client_call, but Ctrl-C knows its id. */
static int ask(mcp_call call, answer *a)
{
    int rc = MCP_OK;
    call.fn = settled;
    call.user = a;
    current = mcp_client_send(client, &call);
    while (current && !a->over && rc == MCP_OK) rc = mcp_client_wait(client, -1);
    current = 0;
    if (bar_shown) fputs("\r\033[K", stderr);
    return a->over ? a->status : rc != MCP_OK ? rc : MCP_ERR_FAILED;
}

/* -- the server asks ------------------------------------------------------------------------------------------ */

/* What the user types for a field of a form. Nothing: it is left out, and the library fills in its default. False: the end. */
static bool ask_field(mcp_writer *w, const mcp_json *field)
{
    char line[1024], *end;
    const char *name = mcp_json_key(field), *type = str(field, "type");
    const mcp_json *fallback = mcp_json_get(field, "default");
    fputs("  ", stderr);
    put(stderr, *str(field, "title") ? str(field, "title") : name, 0);
    if (*str(field, "description")) { fputs(": ", stderr); put(stderr, str(field, "description"), 4); }
    fputs(" (", stderr);
    put(stderr, type, 0);
    mcp_json_each(v, mcp_json_get(field, "enum")) { fputs(", ", stderr); put(stderr, mcp_json_str(v, "?"), 0); }
    mcp_json_each(v, mcp_json_get(field, "oneOf")) {
        fputs(", ", stderr);
        put(stderr, str(v, "const"), 0);
        fputs(" = ", stderr);
        put(stderr, str(v, "title"), 0);
    }
    if (fallback) { fputs(", or else ", stderr); put(stderr, mcp_json_str(fallback, "its default"), 0); }
    fputs("): ", stderr);
    if (!fgets(line, sizeof line, stdin)) return false;
    line[strcspn(line, "\n")] = '\0';
    if (!*line) return true;
    (void)strtod(line, &end);
    if (strcmp(type, "boolean") == 0) mcp_put_bool(w, name, *line == 'y' || *line == 't');
    else if ((strcmp(type, "number") == 0 || strcmp(type, "integer") == 0) && end != line && !*end) mcp_put_num(w, name, strtod(line, NULL));
    else if (strcmp(type, "array") == 0) {              /* a, b, c */
        mcp_put_array(w, name);
        for (char *s = strtok(line, ", "); s; s = strtok(NULL, ", ")) mcp_put_str(w, NULL, s);
        mcp_put_end(w);
    } else mcp_put_str(w, name, line);
    return true;
}

/* Forms and pages to visit. What does not fit the form is asked for again. */
static int on_ask(mcp_client *c, mcp_id question, const char *method, const mcp_json *params, mcp_writer *result, void *user)
{
    const mcp_json *fields = mcp_json_at(params, "/requestedSchema/properties");
    bool more = true;
    (void)result; (void)user;
    if (strcmp(method, "elicitation/create") != 0) return MCP_ERR_UNKNOWN;   /* a legacy server's own: nothing for the user */
    fputs(bar_shown ? "\nThe server asks: " : "The server asks: ", stderr);
    print(stderr, str(params, "message"), 0);
    if (*str(params, "url")) {
        char line[8];
        print(stderr, str(params, "url"), 2);
        fputs("  Visit this page, then type y; anything else declines: ", stderr);
        return fgets(line, sizeof line, stdin) && line[0] == 'y' ? MCP_OK : MCP_ERR_DECLINED;
    }
    while (more) {
        mcp_writer w;
        int rc;
        mcp_writer_init(&w, NULL, 0);
        mcp_put_object(&w, NULL);
        mcp_put_object(&w, "content");
        mcp_json_each(f, fields) more = more && ask_field(&w, f);
        mcp_put_end(&w);
        mcp_put_end(&w);
        rc = more ? mcp_client_answer(c, question, MCP_OK, mcp_writer_text(&w, NULL)) : MCP_ERR_CANCELLED;
        mcp_writer_free(&w);
        if (rc != MCP_ERR_ARGUMENT) return rc == MCP_ERR_CANCELLED ? rc : MCP_OK;
        print(stderr, mcp_client_error(c), 0);
    }
    return MCP_ERR_CANCELLED;
}

static int ready(void)
{
    int rc = MCP_OK;
    while (rc == MCP_OK && !mcp_client_protocol(client) && !interrupted) rc = mcp_client_wait(client, -1);
    return interrupted ? MCP_ERR_CANCELLED : rc;
}

/* -- the commands --------------------------------------------------------------------------------------------- */

/* All pages of a list, printed or written as a member of w. */
static int list(mcp_writer *w, const char *key, const char *method, void (*show)(const mcp_json *item))
{
    answer a = { .items = w, .show = show };
    mcp_put_array(w, key);
    int rc = ask((mcp_call){ .method = method, .each = each_item }, &a);
    mcp_put_end(w);
    return rc;
}

static int print_lists(bool tools, bool resources, bool prompts)
{
    mcp_writer w;
    int rc = MCP_OK;
    mcp_writer_init(&w, NULL, 0);
    mcp_put_object(&w, NULL);
    if (tools) rc = list(&w, "tools", "tools/list", print_tool);
    if (resources) rc = list(&w, "resources", "resources/list", print_entry);
    if (resources && rc == MCP_OK) rc = list(&w, "resourceTemplates", "resources/templates/list", print_entry);
    if (prompts) rc = list(&w, "prompts", "prompts/list", print_entry);
    mcp_put_end(&w);
    if (rc == MCP_OK && json) puts(mcp_writer_text(&w, NULL) ? mcp_writer_text(&w, NULL) : "");
    mcp_writer_free(&w);
    return rc == MCP_OK ? 0 : failure(rc);
}

static int tools(const char **words)     { (void)words; return print_lists(true, false, false); }
static int resources(const char **words) { (void)words; return print_lists(false, true, false); }
static int prompts(const char **words)   { (void)words; return print_lists(false, false, true); }

/* What a tool's list entry says; *tool NULL: there is none of that name. */
typedef struct search { const char *name; const mcp_json *tool; } search;
static search wanted;

static bool each_tool(const mcp_json *item, void *user)
{
    (void)user;
    if (strcmp(str(item, "name"), wanted.name) == 0) wanted.tool = mcp_json_copy(&arena, item);
    return !wanted.tool;
}

static int find_tool(const char *name)
{
    answer a = {0};
    wanted = (search){ .name = name };
    return ask((mcp_call){ .method = "tools/list", .each = each_tool }, &a);
}

/* Do the arguments fit what the tool wants? If not, it is said where and why. What cannot be known now is the server's to say. */
static bool fits(const mcp_json *tool, const char *args)
{
    const char *why = NULL;
    const mcp_schema *schema = tool ? mcp_schema_compile(&arena, mcp_json_get(tool, "inputSchema"), &why) : NULL;
    mcp_writer errors;
    mcp_writer_init(&errors, NULL, 0);
    bool wrong = schema && mcp_schema_check(schema, mcp_json_parse(&arena, args ? args : "{}", MCP_NTS, NULL), &arena, &errors, 0) == MCP_ERR_INVALID;
    const mcp_json *list = wrong ? mcp_json_parse(&arena, mcp_writer_text(&errors, NULL), MCP_NTS, NULL) : NULL;
    mcp_json_each(e, list) { fputs("mcp: ", stderr); print(stderr, str(e, "error"), 0); }
    mcp_writer_free(&errors);
    return !wrong;
}

static int schema(const char **words)
{
    int rc = find_tool(words[0]);
    mcp_writer w;
    if (rc != MCP_OK) return failure(rc);
    if (!wanted.tool) return usage("the server has no such tool: ", words[0]);
    mcp_writer_init(&w, NULL, 0);
    const mcp_fit *fit = mcp_schema_fit(&arena, mcp_json_get(wanted.tool, "inputSchema"), &(mcp_fit_desc){ .profile = profile }, &w);
    puts(fit && mcp_writer_text(&w, NULL) ? mcp_writer_text(&w, NULL) : "null");
    if (fit && explain) fputs(mcp_fit_notes(fit), stderr);
    mcp_writer_free(&w);
    return fit ? 0 : EXIT_BROKEN;
}

static int call(const char **words)
{
    answer a = {0};
    if (!no_check && find_tool(words[0]) == MCP_OK && !fits(wanted.tool, words[1])) return EXIT_USAGE;
    if (interrupted) return EXIT_INTERRUPTED;
    int rc = ask((mcp_call){ .tool = words[0], .args = words[1], .on_progress = progress }, &a);
    if (rc != MCP_OK) return failure(rc);
    bool failed = mcp_json_bool(mcp_json_get(a.result, "isError"), false);
    if (json) print_json(a.result);
    else {
        const mcp_json *content = mcp_json_get(a.result, "content"), *value = mcp_json_get(a.result, "structuredContent");
        mcp_json_each(block, content) print_block(failed ? stderr : stdout, block);
        if (!mcp_json_size(content) && value) print_json(value);
    }
    return failed ? EXIT_TOOL : 0;
}

/* Into a file or a pipe it goes as it is, bytes too. */
static int read_resource(const char **words)
{
    answer a = {0};
    int rc = ask((mcp_call){ .uri = words[0], .on_progress = progress }, &a);
    if (rc != MCP_OK) return failure(rc);
    if (json) { print_json(a.result); return 0; }
    mcp_json_each(c, mcp_json_get(a.result, "contents")) {
        size_t len;
        const mcp_json *text = mcp_json_get(c, "text");
        const void *bytes = text ? mcp_json_text(text, &len) : mcp_json_base64(&arena, mcp_json_get(c, "blob"), &len);
        if (!isatty(STDOUT_FILENO)) fwrite(bytes ? bytes : "", 1, bytes ? len : 0, stdout);
        else if (text) print(stdout, mcp_json_str(text, ""), 0);
        else print_block(stdout, c);
    }
    return 0;
}

static int prompt(const char **words)
{
    answer a = {0};
    int rc = ask((mcp_call){ .prompt = words[0], .args = words[1], .on_progress = progress }, &a);
    if (rc != MCP_OK) return failure(rc);
    if (json) { print_json(a.result); return 0; }
    mcp_json_each(m, mcp_json_get(a.result, "messages")) {
        put(stdout, str(m, "role"), 0);
        fputs(": ", stdout);
        print_block(stdout, mcp_json_get(m, "content"));
    }
    return 0;
}

static int complete(const char **words)
{
    answer a = {0};
    mcp_call k = { .complete = words[1], .value = words[2] };
    *(strchr(words[0], ':') ? &k.uri : &k.prompt) = words[0];
    int rc = ask(k, &a);
    if (rc != MCP_OK) return failure(rc);
    if (json) print_json(a.result);
    else mcp_json_each(v, mcp_json_at(a.result, "/completion/values")) print(stdout, mcp_json_str(v, ""), 0);
    return 0;
}

static void on_notify(mcp_client *c, const char *method, const mcp_json *params, void *user)
{
    static const char prefix[] = "notifications/";
    (void)c; (void)user;
    if (!watching || strncmp(method, prefix, sizeof prefix - 1) != 0) return;
    method += sizeof prefix - 1;
    if (strcmp(method, "subscriptions/acknowledged") == 0) {
        fputs("watching ", stderr);
        mcp_json_each(v, mcp_json_get(params, "notifications")) { put(stderr, mcp_json_key(v), 0); putc(' ', stderr); }
        fputs("\n", stderr);
        return;
    }
    put(stdout, method, 0);
    if (*str(params, "uri")) { putchar(' '); put(stdout, str(params, "uri"), 0); }
    putchar('\n');
    fflush(stdout);
}

static int watch(const char **words)
{
    answer a = {0};
    int rc = MCP_OK;
    watching = true;
    current = mcp_client_listen(client, MCP_LIST_TOOLS | MCP_LIST_RESOURCES | MCP_LIST_PROMPTS, words, settled, &a);
    while (current && !a.over && rc == MCP_OK) rc = mcp_client_wait(client, -1);
    if (!a.over) return failure(rc != MCP_OK ? rc : MCP_ERR_FAILED);
    return a.status == MCP_OK ? 0 : failure(a.status);
}

static int info(const char **words)
{
    int rc = ready();
    (void)words;
    if (rc != MCP_OK) return failure(rc);
    const mcp_json *i = mcp_client_info(client), *who = mcp_json_get(i, "serverInfo");
    if (!who) who = mcp_json_at(i, "/_meta/io.modelcontextprotocol~1serverInfo");         /* modern */
    if (json) { print_json(i); return 0; }
    fputs("name          ", stdout); print(stdout, *str(who, "name") ? str(who, "name") : "(not told)", 0);
    if (*str(who, "title")) { fputs("title         ", stdout); print(stdout, str(who, "title"), 0); }
    fputs("version       ", stdout); print(stdout, str(who, "version"), 0);
    printf("protocol      %s, %s\n", mcp_client_protocol(client),
           mcp_client_era(client) == MCP_ERA_MODERN ? "modern: no handshake" : "legacy: initialize handshake");
    fputs("capabilities ", stdout);
    mcp_json_each(c, mcp_json_get(i, "capabilities")) { putchar(' '); put(stdout, mcp_json_key(c), 0); }
    putchar('\n');
    if (*str(i, "instructions")) { puts("instructions"); print(stdout, str(i, "instructions"), 4); }
    return 0;
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double started;

static int ping(const char **words)
{
    answer a = {0};
    int rc = ready();
    (void)words;
    if (rc != MCP_OK) return failure(rc);
    double asked = now_ms();
    rc = ask((mcp_call){ .method = "ping" }, &a);
    if (rc != MCP_OK) return failure(rc);
    if (json) { print_json(a.result); return 0; }
    printf("%s: ready after %.1f ms, answers in %.2f ms\n", mcp_client_protocol(client), asked - started, now_ms() - asked);
    return 0;
}

/* All of stdin, or NULL. */
static char *read_stdin(void)
{
    size_t len = 0, cap = 0, n;
    char *text = NULL, *more;
    do {
        if (!(more = realloc(text, cap = 2 * cap + 4096))) break;
        text = more;
        len += n = fread(text + len, 1, cap - 1 - len, stdin);
        text[len] = '\0';
    } while (n);
    return text;
}

static const struct command { const char *name; int least, most; const char *needs; int (*run)(const char **words); } commands[] = {
    { "tools", 0, 0, "", tools }, { "resources", 0, 0, "", resources }, { "prompts", 0, 0, "", prompts },
    { "call", 1, 2, "call which tool?", call }, { "schema", 1, 1, "the schema of which tool?", schema }, { "read", 1, 1, "read which resource?", read_resource },
    { "prompt", 1, 2, "which prompt?", prompt }, { "complete", 2, 3, "which prompt, and which argument of it?", complete },
    { "watch", 0, 30, "", watch }, { "info", 0, 0, "", info }, { "ping", 0, 0, "", ping }
};

static const struct command *command_of(const char *name)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0) return &commands[i];
    return NULL;
}

int main(int argc, char **argv)
{
    static const char *const eras[] = { "auto", "modern", "legacy" };   /* in the order of MCP_ERA_BOTH, _MODERN, _LEGACY */
    mcp_client_desc d = { .name = "mcp", .version = MCP_VERSION_STRING };
    const struct command *command = NULL;
    const char *words[32] = { NULL };                   /* behind the command: TOOL, JSON, ... */
    int have = 0, i, code;
    for (i = 1; i < argc; i++) {
        const char *a = argv[i], *value = NULL;
        if (strcmp(a, "--") == 0) { i++; break; }
        if (a[0] != '-' || a[1] == '\0') {
            if (command && have == command->most) break;        /* here the server's command begins */
            if (command) words[have++] = a;
            else if (!(command = command_of(a))) return usage("no such command: ", a);
            continue;
        }
        if (strcmp(a, "-h") == 0 || strcmp(a, "--help") == 0) { fputs(help, stdout); return 0; }
        if (strcmp(a, "-V") == 0 || strcmp(a, "--version") == 0) { puts("mcp " MCP_VERSION_STRING); return 0; }
        if (strcmp(a, "--json") == 0) { json = true; continue; }
        if (strcmp(a, "--no-check") == 0) { no_check = true; continue; }
        if (strcmp(a, "--explain") == 0) { explain = true; continue; }
        if (strcmp(a, "-q") == 0 || strcmp(a, "--quiet") == 0) { d.capture_stderr = true; continue; }
        if (strcmp(a, "-t") && strcmp(a, "--timeout") && strcmp(a, "--era") && strcmp(a, "--profile")) return usage("no such option: ", a);
        if (!(value = argv[++i])) return usage("a value is missing after ", a);
        if (strcmp(a, "--profile") == 0) {
            int p = mcp_profile_find(value);
            if (p < 0) return usage("no such profile: ", value);
            profile = (mcp_profile)p;
        } else if (strcmp(a, "--era") == 0) {
            for (d.era = 0; d.era < 3 && strcmp(value, eras[d.era]); d.era++) { }
            if (d.era == 3) return usage("no such era: ", value);
        } else {
            double s = strtod(value, NULL);
            if (!(s >= 0.001 && s <= 1e6)) return usage("not a number of seconds: ", value);
            d.timeout_ms = d.max_ms = d.start_timeout_ms = (int)(s * 1000);
            d.probe_ms = s < 20 ? d.timeout_ms / 2 : 0; /* leave time for the other era */
        }
    }
    if (!command) return usage("which command? tools, call, schema, resources, read, prompts, prompt, complete, watch, info or ping", "");
    if (have < command->least) return usage(command->needs, "");
    if (i >= argc) return usage("which server? Its command goes at the end", command->most ? ", after --" : "");

    bool takes_args = command->run == call || command->run == prompt;
    char *input = takes_args && words[1] && strcmp(words[1], "-") == 0 ? read_stdin() : NULL;
    const char *args = takes_args ? words[1] = input ? input : words[1] : NULL;
    size_t pos = 0;
    mcp_arena_init(&arena, NULL, 0);
    if (args && mcp_json_type(mcp_json_parse(&arena, args, MCP_NTS, &pos)) != MCP_JSON_OBJECT) {
        fprintf(stderr, "mcp: the arguments are not a JSON object (byte %lu): %s\n", (unsigned long)pos, args);
        return EXIT_USAGE;
    }

    started = now_ms();
    if (isatty(STDIN_FILENO)) d.capabilities = MCP_JSON({"elicitation": {"form": {}, "url": {}}});
    d.on_ask = on_ask;
    d.on_notify = on_notify;
    d.argv = (const char *const *)(argv + i);
    client = mcp_client_new(&d);
    poster = mcp_client_poster(client);
    if (poster) signal(SIGINT, on_signal);
    code = command->run(words);
    mcp_client_free(client);
    signal(SIGINT, SIG_DFL);
    mcp_poster_free(poster);
    mcp_arena_free(&arena);
    free(input);
    return code;
}
