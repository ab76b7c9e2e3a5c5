/* agent: a model on one side, MCP servers on the other. The model is any endpoint that is compatible with OpenAI's chat completions
   and speaks plain HTTP, such as llama.cpp or Ollama on this machine. It teaches the toolbox: the tools of several servers for one model,
   the model's calls, what comes of them, and that the user has the last word.
   cc -o agent agent.c && ./agent -m qwen3 -- hello=./hello_server -- files=npx -y @modelcontextprotocol/server-filesystem /tmp */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char usage[] =
    "usage: agent [OPTION...] -- NAME=SERVER [ARGUMENT...] [-- NAME=SERVER [ARGUMENT...]]...\n"
    "Each line on stdin is a turn of the user's. Before a tool is called, it asks: y yes, n no, a always this tool.\n"
    "  -u URL      the endpoint; default http://127.0.0.1:11434/v1        -m MODEL  which one there\n"
    "  -P PROFILE  whose rules the schemas of tools follow: generic, openai, ollama, llamacpp, ...\n"
    "  -i          show the model images          -y  call without asking\n";

enum { MAX_SERVERS = 32, MAX_ROUNDS = 30, MAX_BODY = 64 << 20 };
static struct server { char name[64]; mcp_client *client; bool loaded; } servers[MAX_SERVERS];
static int server_count;
static mcp_toolbox *toolbox;
static mcp_writer out, images;              /* what is being written: a message or a request; pictures for the next message */
static char *history, *always;              /* the messages so far, a comma between two; the names of tools that need no asking */
static const char *url = "http://127.0.0.1:11434/v1", *model = "default";
static bool never_ask, show_images;

/* A line. What comes from a model or a server may hold bytes that a terminal obeys. */
static void print(const char *s)
{
    if (!*s) return;
    for (; *s; s++) putchar(((unsigned char)*s < 0x20 && *s != '\n' && *s != '\t') || *s == 0x7F ? '?' : *s);
    putchar('\n');
}

/* Adds text to a list. */
static void append(char **list, const char *before, const char *text)
{
    size_t n = *list ? strlen(*list) : 0, size = n + strlen(before) + strlen(text) + 1;
    char *more = realloc(*list, size);
    if (!more) { fputs("agent: out of memory\n", stderr); exit(1); }
    snprintf(more + n, size - n, "%s%s", before, text);
    *list = more;
}

/* -- the endpoint ------------------------------------------------------------------------------------------------- */

/* The body of an HTTP answer, for free(): of a length that is told, or in chunks. NULL: it broke off. */
static char *receive(FILE *f, int *status)
{
    char line[4096], *text = NULL, *more;
    size_t have = 0, length = 0;
    bool chunked = false, whole = false;
    if (!fgets(line, sizeof line, f) || sscanf(line, "HTTP/%*s %d", status) != 1) return NULL;
    while (fgets(line, sizeof line, f) && line[0] != '\r' && line[0] != '\n') {
        if (strncasecmp(line, "Content-Length:", 15) == 0) length = strtoul(line + 15, NULL, 10);
        if (strncasecmp(line, "Transfer-Encoding:", 18) == 0) chunked = strstr(line, "chunked") != NULL;
    }
    do {
        if (chunked) length = fgets(line, sizeof line, f) ? strtoul(line, NULL, 16) : MAX_BODY;
        if (length >= MAX_BODY - have || !(more = realloc(text, have + length + 1))) break;
        text = more;
        if (fread(text + have, 1, length, f) != length) break;
        text[have += length] = '\0';
        whole = !chunked || length == 0;
    } while (!whole && fgets(line, sizeof line, f));        /* CR LF behind a chunk */
    if (whole) return text;
    free(text);
    return NULL;
}

/* POSTs a request; the answer, for free(), or NULL with a sentence on stderr. */
static char *post(const char *body)
{
    struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *a = NULL;
    char host[256] = "", port[8] = "80", path[256] = "", *text = NULL;
    int status = 0, fd = -1;
    FILE *f = NULL;
    if (sscanf(url, "http://%255[^:/]:%7[0-9]%255s", host, port, path) < 2) sscanf(url, "http://%255[^:/]%255s", host, path);
    if (getaddrinfo(host, port, &hints, &a) == 0) fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0) f = fdopen(fd, "r+");
    if (a) freeaddrinfo(a);
    if (!f) { fprintf(stderr, "agent: nobody answers at %s\n", url); close(fd); return NULL; }
    fprintf(f, "POST %s/chat/completions HTTP/1.1\r\nHost: %s:%s\r\nContent-Type: application/json\r\nContent-Length: %lu\r\n"
            "Connection: close\r\n\r\n%s", path, host, port, (unsigned long)strlen(body), body);
    fflush(f);
    text = receive(f, &status);
    fclose(f);
    if (text && status == 200) return text;
    fprintf(stderr, "agent: the endpoint answers with status %d %s\n", status, text ? text : "and hangs up");
    free(text);
    return NULL;
}

/* -- the servers -------------------------------------------------------------------------------------------------- */

static bool keep(const mcp_json *item, void *list) { mcp_put_json(list, NULL, item); return true; }

/* Asks a server for its tools, all pages, and puts them into the toolbox in place of those from before. */
static void load(struct server *s)
{
    mcp_arena a;
    mcp_tool_report t = {0};
    mcp_arena_init(&a, NULL, 0);
    mcp_put_array(&out, NULL);
    const mcp_reply *r = mcp_client_call(s->client, &(mcp_call){ .method = "tools/list", .each = keep, .user = &out });
    mcp_put_end(&out);
    if (r->status != MCP_OK) fprintf(stderr, "agent: %s: %s\n", s->name, mcp_reply_text(r, NULL));
    else mcp_toolbox_add(toolbox, s->name, mcp_json_parse(&a, mcp_writer_text(&out, NULL), MCP_NTS, NULL));
    while (!s->loaded && mcp_toolbox_next(toolbox, &t))
        if (!t.name && strcmp(t.server, s->name) == 0) fprintf(stderr, "agent: %s: \"%s\" is %s\n", s->name, t.tool, t.notes);
    s->loaded = true;
    mcp_writer_reset(&out);
    mcp_arena_free(&a);
}

/* -- the conversation --------------------------------------------------------------------------------------------- */

/* What was written becomes a message. */
static void remember(void)
{
    append(&history, history ? "," : "[", mcp_writer_text(&out, NULL) ? mcp_writer_text(&out, NULL) : "null");
    mcp_writer_reset(&out);
}

/* The user says a text, or shows parts. */
static void say(const char *text, const char *parts)
{
    mcp_put_object(&out, NULL);
    mcp_put_str(&out, "role", "user");
    if (text) mcp_put_str(&out, "content", text);
    else mcp_put_raw(&out, "content", parts, MCP_NTS);
    mcp_put_end(&out);
    remember();
}

/* Does the user allow it? */
static bool confirm(const mcp_tool_call *k)
{
    char line[64] = "", name[MCP_NAME_MAX + 3];
    snprintf(name, sizeof name, "\n%s\n", k->name);
    printf("* %s ", k->name);
    print(k->args);
    if (never_ask || (always && strstr(always, name))) return true;
    fputs("  Call it? (y/n/a) ", stdout);
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) && line[0] == 'a') append(&always, name, "");
    return line[0] == 'a' || line[0] == 'y';
}

/* One call of the model's. What comes of it is a message, also when nothing does. */
static void call(const mcp_json *wanted, mcp_arena *a)
{
    mcp_tool_call k;
    const mcp_reply *r = NULL;
    mcp_toolbox_call(toolbox, wanted, a, &k);
    if (k.status == MCP_OK && !confirm(&k)) { k.status = MCP_ERR_DECLINED; k.error = "The user does not allow this call."; }
    for (int i = 0; i < server_count && k.status == MCP_OK; i++)
        if (strcmp(servers[i].name, k.server) == 0)
            r = mcp_client_call(servers[i].client, &(mcp_call){ .tool = k.tool, .args = k.args });
    mcp_toolbox_result(toolbox, &k, r, &out, show_images ? &images : NULL);
    remember();
}

/* All that was said so far goes to the model. Its answer, or NULL. */
static const mcp_json *ask(mcp_arena *a)
{
    char *all = NULL, *text;
    const mcp_json *message = NULL;
    mcp_tool_report any = {0};
    append(&all, history, "]");
    mcp_put_object(&out, NULL);
    mcp_put_str(&out, "model", model);
    mcp_put_raw(&out, "messages", all, MCP_NTS);
    if (mcp_toolbox_next(toolbox, &any)) mcp_toolbox_write(toolbox, &out, "tools");
    mcp_put_end(&out);
    text = mcp_writer_text(&out, NULL) ? post(mcp_writer_text(&out, NULL)) : NULL;
    if (text && !(message = mcp_json_at(mcp_json_parse(a, text, MCP_NTS, NULL), "/choices/0/message")))
        fprintf(stderr, "agent: there is no message in the answer: %s\n", text);
    mcp_writer_reset(&out);
    free(all);
    free(text);
    return message;
}

/* The model answers; or it wants calls, and answers then, or wants more. */
static void turn(void)
{
    mcp_arena a;
    mcp_arena_init(&a, NULL, 0);
    for (int round = 0; round < MAX_ROUNDS; round++) {
        const mcp_json *message = ask(&a), *wanted = mcp_json_get(message, "tool_calls");
        if (!message) break;
        print(mcp_json_str(mcp_json_get(message, "content"), ""));
        mcp_put_json(&out, NULL, message);
        remember();
        if (!mcp_json_size(wanted)) break;
        mcp_put_array(&images, NULL);
        mcp_json_each(one, wanted) call(one, &a);           /* each is answered, then comes what they show */
        mcp_put_end(&images);
        if (images.len > 2) say(NULL, mcp_writer_text(&images, NULL));
        mcp_writer_reset(&images);
    }
    mcp_arena_free(&a);
}

int main(int argc, char **argv)
{
    mcp_toolbox_desc d = { .form = MCP_FORM_OPENAI };
    char line[8192];
    int option, profile = 0, i;
    mcp_writer_init(&out, NULL, 0);
    mcp_writer_init(&images, NULL, 0);
    while ((option = getopt(argc, argv, "u:m:P:iy")) != -1)
        if (option == 'u') url = optarg;
        else if (option == 'm') model = optarg;
        else if (option == 'i') show_images = true;
        else if (option == 'y') never_ask = true;
        else if (option != 'P' || (profile = mcp_profile_find(optarg)) < 0) { fputs(usage, stderr); return 2; }
    d.fit.profile = (mcp_profile)profile;
    toolbox = mcp_toolbox_new(&d);
    if (!toolbox || optind == argc) { fputs(usage, stderr); return 2; }
    signal(SIGPIPE, SIG_IGN);
    for (i = argc - 1; i >= optind; i--) if (strcmp(argv[i], "--") == 0) argv[i] = NULL;
    for (i = optind; i < argc && server_count < MAX_SERVERS; i++) {     /* they all come up at the same time */
        struct server *s = &servers[server_count];
        char *equals = argv[i] && (i == optind || !argv[i - 1]) ? strchr(argv[i], '=') : NULL;
        if (!equals) continue;
        snprintf(s->name, sizeof s->name, "%.*s", (int)(equals - argv[i]), argv[i]);
        argv[i] = equals + 1;
        s->client = mcp_client_new(&(mcp_client_desc){ .name = "agent", .version = MCP_VERSION_STRING, .cache_bytes = 1 << 20,
                                                       .argv = (const char *const *)argv + i });
        if (s->client) server_count++;
    }
    while (fputs("> ", stdout), fflush(stdout), fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = '\0';
        for (i = 0; i < server_count; i++) load(&servers[i]);           /* from the cache, while they stay the same */
        say(line, NULL);
        turn();
    }
    for (i = 0; i < server_count; i++) mcp_client_free(servers[i].client);
    mcp_toolbox_free(toolbox);
    mcp_writer_free(&out);
    mcp_writer_free(&images);
    free(history); free(always);
    return 0;
}
