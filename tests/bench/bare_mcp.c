/* The least that an MCP server can cost: finds method, id and text by string search and puts id and text into canned
   answers, all answers to what one read brought in one write. Checks nothing and is no example of anything. */
#include "bench.h"

static char *out;
static size_t out_len, out_cap;

static void say(const char *s, size_t n)
{
    if (out_cap - out_len < n) out = more(out, out_cap = (out_len + n) * 2);
    memcpy(out + out_len, s, n);
    out_len += n;
}

/* 10 MB in base64: what they say does not matter. */
static void say_blob(void)
{
    size_t n = 13333336;
    static char *letters;
    if (!letters) { letters = more(NULL, n); memset(letters, 'A', n); }
    say(letters, n);
}
#define SAY(literal) say(literal, sizeof literal - 1)

static void answer(const char *line)
{
    static char asked[32];
    const char *method = strstr(line, "\"method\":\""), *id = strstr(line, "\"id\":"), *text;
    if (!method && id && strstr(line, "\"result\":") && (text = strstr(line, "\"name\":\""))) {     /* the answer to a question */
        SAY("{\"jsonrpc\":\"2.0\",\"id\":");
        say(asked, strlen(asked));
        SAY(",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
        say(text + 8, strcspn(text + 8, "\""));
        SAY("\"}]}}\n");
        return;
    }
    if (!method || !id) return;
    if (strstr(line, "\"name\":\"ask\"") && !strstr(line, "requestState")) {
        if (strstr(line, "/protocolVersion\":")) {
            SAY("{\"jsonrpc\":\"2.0\",\"id\":");
            say(id + 5, strcspn(id + 5, ",}"));
            SAY(",\"result\":{\"resultType\":\"input_required\",\"inputRequests\":{\"q\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\","
                "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}},\"requestState\":\"x\"}}\n");
            return;
        }
        snprintf(asked, sizeof asked, "%.*s", (int)strcspn(id + 5, ",}"), id + 5);
        SAY("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\",\"params\":{\"message\":\"?\",\"requestedSchema\":{\"type\":\"object\","
            "\"properties\":{}}}}\n");
        return;
    }
    method += 10; id += 5;
    SAY("{\"jsonrpc\":\"2.0\",\"id\":");
    say(id, strcspn(id, ",}"));
    if (!strncmp(method, "tools/call\"", 11) && strstr(line, "requestState"))
        SAY(",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"xxx\"}],\"resultType\":\"complete\"}}\n");
    else if (!strncmp(method, "tools/call\"", 11) && (text = strstr(line, "\"text\":\""))) {
        const char *end = text += 8;
        while ((end = strchr(end, '"')) && end[-1] == '\\') end++;
        SAY(",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
        say(text, end ? (size_t)(end - text) : 0);
        if (strstr(line, "/protocolVersion\":")) SAY("\"}],\"resultType\":\"complete\"}}\n");
        else SAY("\"}]}}\n");
    }
    else if (!strncmp(method, "resources/read\"", 15)) {
        SAY(",\"result\":{\"contents\":[{\"uri\":\"bench://blob\",\"blob\":\"");
        say_blob();
        SAY("\"}]}}\n");
    }
    else if (!strncmp(method, "initialize\"", 11))
        SAY(",\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
            "\"serverInfo\":{\"name\":\"bare\",\"version\":\"1\"}}}\n");
    else if (!strncmp(method, "server/discover\"", 16))
        SAY(",\"result\":{\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
            "\"ttlMs\":0,\"cacheScope\":\"private\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":"
            "{\"name\":\"bare\",\"version\":\"1\"}}}}\n");
    else
        SAY(",\"result\":{}}\n");
}

int main(void)
{
    size_t len = 0, cap = 1 << 16;
    char *buf = more(NULL, cap);
    for (;;) {
        size_t at = 0, from = len;
        char *end;
        ptrdiff_t n;
        if (len == cap) buf = more(buf, cap *= 2);
        n = read(0, buf + len, cap - len);
        if (n <= 0) return n < 0;
        len += (size_t)n;
        while ((end = memchr(buf + from, '\n', len - from))) {
            *end = 0;
            answer(buf + at);
            at = from = (size_t)(end - buf) + 1;
        }
        for (from = 0; from < out_len; from += (size_t)n)
            if ((n = write(1, out + from, out_len - from)) <= 0) return 1;
        out_len = 0;
        if (at) memmove(buf, buf + at, len -= at);
    }
}
