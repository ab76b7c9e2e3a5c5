/* mcp.h - v0.1.0 - Model Context Protocol server and client in one C99 file - MIT-0, no warranty; text at the end

   Do this in *one* C file, before any other include, to make the implementation:

       #define MCP_IMPLEMENTATION
       #include "mcp.h"

   Every other file just includes "mcp.h". It needs libc and POSIX, nothing else; no Windows. On a glibc older than
   2.34 a program that starts threads of its own links -lpthread, as it does anyway.

   WHAT IT IS NOT (yet): no HTTP and no TLS, no host for many servers. It is not thread-safe: an object belongs to one
   thread at a time.

   CONTENTS (search for the key)
       public part:      == version, status, memory, JSON: reading, JSON: writing, JSON-RPC, streams, schemas, names,
                         server, client, function calling
       implementation:   >>status >>memory >>json >>rpc >>io >>schema >>fit >>name >>server >>client >>calling >>posix

   A SERVER, WHOLE
       1. a handler reads its arguments and answers once:
              static void greet(mcp_req *r, void *user)
              { mcp_req_textf(r, "Hello, %s!", mcp_arg_str(r, "name", "world")); (void)user; }
       2. mcp_server *s = mcp_server_new(&(mcp_server_desc){ .name = "hello", .version = "1.0" });
       3. mcp_server_tool(s, &(mcp_tool){ .name = "greet", .description = "Say hello.", .fn = greet,
              .input_schema = MCP_JSON({"type": "object", "properties": {"name": {"type": "string"}}}) });
       4. int rc = mcp_server_run(s);               (stdin and stdout, until their end)
       5. mcp_server_free(s); return rc != MCP_OK;

   A CLIENT, WHOLE
       1. const char *const argv[] = { "./hello", NULL };
          mcp_client *c = mcp_client_new(&(mcp_client_desc){ .name = "me", .version = "1.0", .argv = argv });
       2. const mcp_reply *r = mcp_client_call(c, &(mcp_call){ .tool = "greet", .args = MCP_JSON({"name": "C"}) });
       3. fprintf(mcp_reply_is_error(r) ? stderr : stdout, "%s\n", mcp_reply_text(r, NULL));
       4. mcp_client_free(c);

   Neither knows which revision of the protocol the other end speaks: 2026-07-28, or one of 2025-11-25, 2025-06-18,
   2025-03-26 and 2024-11-05. The library finds out, and does on the wire what that revision wants.

   OWNERSHIP
       What you pass in is copied: free it when the call returns. Buffers given to a _fixed or _inplace function or to
   a pool, and what `user` points at, stay yours and must outlive the object. A stream that an object has taken is
       closed by that object.
       What you are handed lives until your callback returns; outside callbacks, until your next call that can move
   the object on (step, run, wait, call, close, free): getters, send and error never end it. What you parse into an
       arena lives as long as the arena.

   CALLBACKS (handlers, timers, posted functions, fn, on_..., each) run outside the reader and may call anything, also
   a blocking call on the same object, or free it. They nest eight deep. `free` calls every pending callback before it
   returns and none after; inside a callback the memory goes when the outermost call has returned. send, cancel and
   answer never call back before they return.

   THREADS AND SIGNALS No threads, no signal handlers, no globals. One thing may be touched from any thread or signal
   handler: a poster (mcp_server_poster, mcp_client_poster), which hands a function back to the object's loop. The
   blocking functions (run, wait, call, and mcp_client_free) block SIGPIPE in their thread while they run, and take one
   that came meanwhile.

   SWITCHES  Define them before the include. "everywhere" means in every file that includes mcp.h, the same way.
       MCP_IMPLEMENTATION  one file        makes the implementation
       MCP_STATIC          that file       all functions are static: for a program of one file
       MCP_API             everywhere      what stands before each declaration; default extern
       MCP_NO_SERVER       everywhere      without the server (saves two fifths)
       MCP_NO_CLIENT       everywhere      without the client and what only it needs: replies, the pending table
                                           (saves about a third)
       MCP_NO_VALIDATE     everywhere      without the check of values against JSON Schema
       MCP_NO_SANITIZE     everywhere      without what is for models: fitting of schemas, names, function calling
       MCP_NO_POSIX        everywhere      without descriptors, processes, sockets, clock: bytes in and out by your
                                           own mcp_io, time by now_ms
       MCP_NO_PRINTF       everywhere      without the ...f functions, and so without <stdio.h>
       MCP_MAX_DEPTH       that file       how deep JSON may nest; default 512
*/
#ifdef MCP_IMPLEMENTATION
/* The implementation needs POSIX names, which `-std=c99` hides. They are asked for here, before the first libc
   header. */
#  if !defined(MCP_NO_POSIX) && !defined(MCPI_FEATURES)
#    define MCPI_FEATURES
#    if defined(__APPLE__)
#      ifndef _DARWIN_C_SOURCE
#        define _DARWIN_C_SOURCE 1
#      endif
#    elif defined(__linux__)
#      if defined(_FEATURES_H) && !defined(_POSIX_C_SOURCE) && !defined(_GNU_SOURCE) && !defined(_DEFAULT_SOURCE)
/* If a compile error led you here: a libc header came before mcp.h and fixed the names that are visible. */
#        error "include mcp.h (with MCP_IMPLEMENTATION) before any libc header, or compile with -D_GNU_SOURCE"
#      endif
#      ifndef _DEFAULT_SOURCE
#        define _DEFAULT_SOURCE 1
#      endif
#      ifndef _POSIX_C_SOURCE
#        define _POSIX_C_SOURCE 200809L
#      endif
#    endif
#  endif
#elif defined(MCP_STATIC)
#  error "MCP_STATIC needs MCP_IMPLEMENTATION in the same file"
#endif

#ifndef MCP_MODEL_CONTEXT_PROTOCOL_H
#define MCP_MODEL_CONTEXT_PROTOCOL_H
#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__) || defined(__clang__)
#  define MCP_PRINTF(f, a) __attribute__((format(printf, f, a)))
#  define MCP_UNUSED       __attribute__((unused))
#else
#  define MCP_PRINTF(f, a)
#  define MCP_UNUSED
#endif
#ifndef MCP_API
#  ifdef MCP_STATIC
#    define MCP_API static MCP_UNUSED
#  else
#    define MCP_API extern
#  endif
#endif

/* A length that means: the string ends at its NUL. Every length of a text takes it, of JSON too. */
#define MCP_NTS ((size_t)-1)

/* == version ================================================================================================= */

#define MCP_VERSION_MAJOR   0
#define MCP_VERSION_MINOR   1
#define MCP_VERSION_PATCH   0
#define MCP_VERSION_STRING  "0.1.0"
#define MCP_VERSION_NUMBER  1000            /* major * 1000000 + minor * 1000 + patch */
#define MCP_PROTOCOL_MODERN "2026-07-28"    /* per-request metadata, server/discover */
#define MCP_PROTOCOL_LEGACY "2025-11-25"    /* the newest with the initialize handshake */

/* MCP_VERSION_NUMBER of the implementation that was linked; compare it with the macro of the header you included. */
MCP_API int mcp_version(void);

/* == status ================================================================================================== */

/* Every function that can fail returns MCP_OK (0) or one of these, all negative. None is named like an errno macro,
   and -1 is a plain failure: a stream of yours that passes on read()'s -1 reports an error and never "try later". A
   local failure is never mistaken for an error that the peer sent: that is MCP_ERR_PEER alone, with the peer's own
   code beside it. */
#define MCP_OK 0
#define MCP_STATUS_LIST(X) \
    X(FAILED,      -1, "failed") \
    X(AGAIN,       -2, "nothing to do yet") \
    X(ARGUMENT,    -3, "bad argument") \
    X(MEMORY,      -4, "out of memory") \
    X(PARSE,       -5, "invalid JSON") \
    X(PROTOCOL,    -6, "the peer broke the protocol") \
    X(TRANSPORT,   -7, "read or write failed") \
    X(CLOSED,      -8, "connection closed") \
    X(TIMEOUT,     -9, "timed out") \
    X(CANCELLED,  -10, "cancelled") \
    X(LIMIT,      -11, "over a configured limit") \
    X(SPAWN,      -12, "could not start the server") \
    X(VERSION,    -13, "no protocol version in common") \
    X(PEER,       -14, "the peer answered with an error") \
    X(UNKNOWN,    -15, "no such name") \
    X(MISUSE,     -16, "called at the wrong time") \
    X(CAPABILITY, -17, "the peer did not declare the capability") \
    X(DECLINED,   -18, "the user declined") \
    X(INVALID,    -19, "does not fit its schema")
enum mcp_status {
#define MCP_X(name, number, text) MCP_ERR_##name = number,
    MCP_STATUS_LIST(MCP_X)
#undef MCP_X
    MCP_STATUS_FORCE_INT = 0x7fffffff
};
/* The sentence of a status, "ok" for MCP_OK, "unknown status" for anything else. Never NULL; static. */
MCP_API const char *mcp_strerror(int status);

/* == memory ================================================================================================== */

/* Where memory comes from. resize(user, NULL, 0, n) allocates, resize(user, p, old, n) grows or shrinks and may move,
   resize(user, p, old, 0) frees and returns NULL. It returns NULL when there is no memory; the old block then still
   lives. Blocks are aligned for any type. An all-zero allocator means libc's realloc and free. Never called from two
   threads at once for one object. The struct is copied; what `user` points at must outlive the object. */
typedef struct mcp_allocator {
    void *(*resize)(void *user, void *ptr, size_t old_size, size_t new_size);
    void *user;
} mcp_allocator;

/* An allocator that carves one block of yours: for boards without malloc, or to cap what an object may use. First
   fit, freed neighbours are joined; every call is O(number of blocks in the pool). `memory` stays yours and must
   outlive all that uses the pool. */
typedef struct mcp_pool { char *base; size_t size, used, peak; } mcp_pool;  /* used, peak: bytes, headers included */
MCP_API mcp_allocator mcp_pool_init(mcp_pool *pool, void *memory, size_t size);

/* An arena: memory that is freed all at once. Parsed JSON lives in one. Open so that it can stand on the stack or in
   a struct; the fields are private. Must not be copied or moved while it holds memory. */
typedef struct mcp_arena {
    mcp_allocator alloc; void *blocks; char *next; size_t left, total, limit; bool fixed;
} mcp_arena;
/* An empty arena that allocates from `alloc` (NULL: libc) and never holds more than `limit` bytes (0: no limit).
   Cannot fail. */
MCP_API void  mcp_arena_init (mcp_arena *a, const mcp_allocator *alloc, size_t limit);
/* An arena in `size` bytes of yours; it never allocates. `memory` must outlive it. */
MCP_API void  mcp_arena_fixed(mcp_arena *a, void *memory, size_t size);
/* `size` bytes aligned for any type (0 counts as 1), or NULL: out of memory or over the limit. */
MCP_API void *mcp_arena_alloc(mcp_arena *a, size_t size);
/* Forgets everything and keeps the memory for the next use, in one block. */
MCP_API void  mcp_arena_reset(mcp_arena *a);
/* Gives the memory back. The arena can be used again. */
MCP_API void  mcp_arena_free (mcp_arena *a);

/* == JSON: reading =========================================================================================== */

/* A parsed value. Immutable, lives in the arena it was parsed into; NULL means absent, and every getter takes NULL,
   so a chain of getters needs one check at its end. */
typedef struct mcp_json mcp_json;
typedef enum mcp_type {
    MCP_JSON_NONE = 0, MCP_JSON_NULL, MCP_JSON_BOOL, MCP_JSON_NUMBER, MCP_JSON_STRING, MCP_JSON_ARRAY, MCP_JSON_OBJECT
} mcp_type;

/* JSON text pasted into C without escaping: MCP_JSON({"type": "object"}). Over 4,095 bytes, pedantic C99 warns. */
#define MCP_JSON(...) #__VA_ARGS__

/* Parses one JSON text (RFC 8259, strict; white space around it is fine, anything else is not). `len` may be MCP_NTS.
   The text is copied into the arena. NULL when it is refused; then *err_pos (may be NULL) is the byte where reading
   stopped, or MCP_NTS when memory or the limit of the arena ran out. Texts over 4 GiB - 1 are refused. A lone
   surrogate (`\ud800`) becomes U+FFFD; of equal keys the last one is found by mcp_json_get, and iteration shows them
   all. */
MCP_API const mcp_json *mcp_json_parse(mcp_arena *a, const char *text, size_t len, size_t *err_pos);
/* The same, decoding strings where they stand: `text` is changed, needs no NUL, and must live as long as the values
   are used. */
MCP_API const mcp_json *mcp_json_parse_inplace(mcp_arena *a, char *text, size_t len, size_t *err_pos);
/* A copy of a value into another arena, to keep it or to give it to a thread. NULL: no memory, or v was NULL. */
MCP_API const mcp_json *mcp_json_copy (mcp_arena *a, const mcp_json *v);

MCP_API mcp_type        mcp_json_type (const mcp_json *v);                  /* MCP_JSON_NONE for NULL */
/* Member of an object, byte-exact; the last one of equal keys. NULL: no object, or no such key. Linear in the
   members. */
MCP_API const mcp_json *mcp_json_get  (const mcp_json *v, const char *key);
MCP_API const mcp_json *mcp_json_getn (const mcp_json *v, const char *key, size_t key_len);
/* JSON Pointer, RFC 6901: "" is v itself, "/a~1b/0" the first item of member "a/b". NULL when there is nothing. */
MCP_API const mcp_json *mcp_json_at   (const mcp_json *v, const char *pointer);
/* First child of an array or object; NULL: none. */
MCP_API const mcp_json *mcp_json_first(const mcp_json *v);
/* The next sibling; NULL after the last. O(1). */
MCP_API const mcp_json *mcp_json_next (const mcp_json *v);
/* The key of a member (never of an array's item: NULL). It ends in NUL, and *len (may be NULL) tells its length if it
   holds NULs. */
MCP_API const char     *mcp_json_key  (const mcp_json *v);
MCP_API const char     *mcp_json_keyn (const mcp_json *v, size_t *len);
/* Children of an array or object, bytes of a string or of a number's text, else 0. */
MCP_API size_t          mcp_json_size (const mcp_json *v);
/* A string, NUL at its end (and perhaps inside: see mcp_json_text), or `fallback` when v is no string. */
MCP_API const char     *mcp_json_str  (const mcp_json *v, const char *fallback);
/* A string's bytes, or a number's own digits as they were sent (no NUL behind those). NULL: neither. len may be NULL.
   */
MCP_API const char     *mcp_json_text (const mcp_json *v, size_t *len);
/* A number that is integral and in range (7, 7.0 and 70e-1 are), exactly; else `fallback`. */
MCP_API int64_t         mcp_json_int  (const mcp_json *v, int64_t fallback);
/* The same without sign; true when *out was set. */
MCP_API bool            mcp_json_uint (const mcp_json *v, uint64_t *out);
/* A number, correctly rounded whatever the locale; over the range of double: plus or minus HUGE_VAL. Else `fallback`.
   */
MCP_API double          mcp_json_num  (const mcp_json *v, double fallback);
MCP_API bool            mcp_json_bool (const mcp_json *v, bool fallback);
/* A string's bytes out of base64 (RFC 4648 section 4; white space and missing padding are taken). NULL: no string,
   not base64, no memory. */
MCP_API const void     *mcp_json_base64(mcp_arena *a, const mcp_json *v, size_t *len);

/* for (each child) of an array or object: mcp_json_each(item, list) { ... } */
#define mcp_json_each(it, parent) \
    for (const mcp_json *it = mcp_json_first(parent); it; it = mcp_json_next(it))

/* == JSON: writing =========================================================================================== */

/* A streaming writer into memory. `key` names a member and is NULL inside arrays and at the top. The first error
   sticks and later puts do nothing, so check once, at the end. It cannot produce invalid JSON unnoticed: a missing
   key, a key where none belongs, a second value at the top, an unbalanced end, NaN, bad raw JSON are
   MCP_ERR_ARGUMENT. Output is compact, valid UTF-8 (bytes that are not become U+FFFD), and holds no raw control byte;
   arrays and objects nest at most 512 deep. Open so that it can stand on the stack; fields are private. */
typedef struct mcp_writer {
    mcp_allocator alloc; char *buf; size_t len, cap, limit; int status; uint32_t depth; bool fixed, comma, done;
    uint32_t kinds[16];
} mcp_writer;
/* An empty writer; `alloc` NULL: libc; `limit` in bytes, 0: none. Cannot fail. */
MCP_API void mcp_writer_init (mcp_writer *w, const mcp_allocator *alloc, size_t limit);
/* A writer into `size` bytes of yours, one of them for the NUL; when they are full, the status is MCP_ERR_LIMIT. */
MCP_API void mcp_writer_fixed(mcp_writer *w, char *memory, size_t size);
MCP_API void mcp_put_object(mcp_writer *w, const char *key);
MCP_API void mcp_put_array (mcp_writer *w, const char *key);
MCP_API void mcp_put_end   (mcp_writer *w);                                 /* closes the innermost object or array */
MCP_API void mcp_put_str   (mcp_writer *w, const char *key, const char *s); /* NULL writes null */
MCP_API void mcp_put_strn  (mcp_writer *w, const char *key, const char *s, size_t len);
MCP_API void mcp_put_base64(mcp_writer *w, const char *key, const void *data, size_t len);
MCP_API void mcp_put_int   (mcp_writer *w, const char *key, int64_t n);
MCP_API void mcp_put_uint  (mcp_writer *w, const char *key, uint64_t n);
/* the shortest text that reads back as n; NaN, infinity: an error */
MCP_API void mcp_put_num   (mcp_writer *w, const char *key, double n);
MCP_API void mcp_put_bool  (mcp_writer *w, const char *key, bool b);
MCP_API void mcp_put_null  (mcp_writer *w, const char *key);
/* a parsed value; NULL writes null. With mcp_json_key(v) as its key, a member is copied whole: a key may hold NULs */
MCP_API void mcp_put_json  (mcp_writer *w, const char *key, const mcp_json *v);
/* checked and made compact; len may be MCP_NTS */
MCP_API void mcp_put_raw   (mcp_writer *w, const char *key, const char *json, size_t len);
/* The text, with a NUL behind it; NULL if a put failed (see the status), or if nothing was written yet or something
   is still open (the status is then MCP_OK: writing may go on). Valid until the next put or free. */
MCP_API const char *mcp_writer_text  (mcp_writer *w, size_t *len);
MCP_API int         mcp_writer_status(const mcp_writer *w);                 /* MCP_OK or the first error */
MCP_API void        mcp_writer_reset (mcp_writer *w);                       /* empty again, memory kept */
MCP_API void        mcp_writer_free  (mcp_writer *w);

/* == JSON-RPC: messages ====================================================================================== */

/* What one JSON text is, as JSON-RPC 2.0 and MCP see it. MCP_MSG_BAD: `code` is the JSON-RPC error code to answer
   with, `why` a sentence, `id` the id if it could be read. Envelope keys (jsonrpc, id, method, params, result, error)
   that come twice are BAD; unknown ones are ignored. MCP_MSG_BATCH: `batch` is a non-empty array; classify its items
   with mcp_msg_classify. */
typedef enum mcp_kind {
    MCP_MSG_BAD = 0, MCP_MSG_REQUEST, MCP_MSG_NOTIFICATION, MCP_MSG_RESULT, MCP_MSG_ERROR, MCP_MSG_BATCH
} mcp_kind;
typedef struct mcp_msg {
    mcp_kind kind;
    const mcp_json *id;                     /* string or integral number; NULL: none that can be used */
    const char *method;                     /* requests and notifications */
    const mcp_json *params;                 /* an object or NULL */
    const mcp_json *result, *error;         /* answers: exactly one is set (an answer with both or neither is BAD,
                                               with its id) */
    const mcp_json *batch;
    int code; const char *why; size_t pos;  /* BAD: -32700 (pos: where) or -32600 or -32602 */
} mcp_msg;
/* Parses and classifies one message. MCP_OK (also for BAD: see kind), or MCP_ERR_MEMORY. The text is copied into the
   arena. */
MCP_API int  mcp_msg_parse   (mcp_arena *a, const char *line, size_t len, mcp_msg *out);
MCP_API void mcp_msg_classify(const mcp_json *value, mcp_msg *out);

/* == JSON-RPC: pending requests ============================================================================== */

/* An id: generation and slot in one number that counts up from 1. It fits in 53 bits, is never used twice, stays
   below 2^31 for the first 2^30 requests at least, and 0 is never valid. A stale id matches nothing. */
typedef uint64_t mcp_id;
#define MCP_NEVER INT64_MAX                 /* a time that does not come */

#ifndef MCP_NO_CLIENT
/* How a request ended. Everything it points at lives until the callback returns (or as the function that gave it
   says). */
typedef struct mcp_reply {
    int status;                             /* MCP_OK, MCP_ERR_PEER, MCP_ERR_TIMEOUT, MCP_ERR_CLOSED,
                                               MCP_ERR_CANCELLED, MCP_ERR_INVALID (mcp_call.output), ... */
    mcp_id id;
    const mcp_json *result;                 /* MCP_OK, MCP_ERR_INVALID: the result object as it came */
    int64_t code;                           /* MCP_ERR_PEER: the JSON-RPC error's code ... */
    const char *message;                    /* ... and message; any other failure: a sentence. NULL only when the
                                               client was freed by a callback, or there was none */
    const mcp_json *data;                   /* ... and data, or NULL */
    void *priv;                             /* the library's: memory for the helpers below */
} mcp_reply;
typedef void (*mcp_reply_fn)(const mcp_reply *reply, void *user);

/* What there is to show, pieces joined by LF: the text blocks of a tool result, the texts of a resource or of the
   messages of a prompt, the values of a completion; "" if there is none. Of a call that failed, the message. *len (may
   be NULL) for texts with NULs. */
MCP_API const char *mcp_reply_text    (const mcp_reply *r, size_t *len);
/* The n-th (from 0) piece that is bytes and not text: an image, a sound, a blob; of a tool result, a resource or a
   prompt. Decoded; *len bytes, *mime is its type ("" if not told). NULL: there are fewer, or no memory, or it is not
   base64. len and mime may be NULL. It lives as long as the reply. */
MCP_API const void *mcp_reply_data    (const mcp_reply *r, size_t n, size_t *len, const char **mime);
/* Did it fail: a status other than MCP_OK, or a tool result with isError true. */
MCP_API bool        mcp_reply_is_error(const mcp_reply *r);

/* The table of requests that wait for an answer, for transports of your own. Add, settle
   and look-up are O(1), deadlines O(log n). A request is settled exactly once: by an answer, by its deadline, or by
   fail_all. */
typedef struct mcp_pending mcp_pending;
/* A table for at most `max` requests at a time (0: 1,000,000). NULL: no memory. */
MCP_API mcp_pending *mcp_pending_new(const mcp_allocator *alloc, size_t max);
/* A new id, or 0: the table is full or there is no memory. fn is called once, from settle, expire, fail_all or free.
   Times are milliseconds of any clock that does not go back; MCP_NEVER: none. cap_ms is the last moment of all, which
   extend does not move. */
MCP_API mcp_id mcp_pending_add(mcp_pending *p, int64_t deadline_ms, int64_t cap_ms, mcp_reply_fn fn, void *user);
/* Moves the deadline, in either direction (progress came), but not past the cap. MCP_OK or MCP_ERR_UNKNOWN. */
MCP_API int     mcp_pending_extend  (mcp_pending *p, mcp_id id, int64_t deadline_ms);
/* Ends the request: fn gets `reply` with its id filled in. MCP_ERR_UNKNOWN: late, a duplicate, or never ours; it is
   counted. */
MCP_API int     mcp_pending_settle  (mcp_pending *p, mcp_id id, const mcp_reply *reply);
/* The id in an answer of a peer: our number, also as the string "7" or as 7.0, as some peers echo it; 0 if it cannot
   be ours. */
MCP_API mcp_id  mcp_pending_id      (const mcp_json *id);
/* Ends all requests whose deadline is at or before now_ms with MCP_ERR_TIMEOUT, earliest first; returns how many. */
MCP_API size_t  mcp_pending_expire  (mcp_pending *p, int64_t now_ms);
MCP_API int64_t mcp_pending_deadline(const mcp_pending *p);                 /* the next one, or MCP_NEVER */
MCP_API void    mcp_pending_fail_all(mcp_pending *p, int status);           /* requests added meanwhile stay */
MCP_API size_t  mcp_pending_count   (const mcp_pending *p);
MCP_API uint64_t mcp_pending_unknown(const mcp_pending *p);                 /* settles that matched nothing so far */
/* fail_all with MCP_ERR_CLOSED, then frees; not in a callback */
MCP_API void    mcp_pending_free    (mcp_pending *p);
#endif /* MCP_NO_CLIENT */

/* == streams ================================================================================================= */

struct pollfd;                              /* from <poll.h>, if you use it */

/* A stream of bytes in both directions. read and write return the bytes moved (> 0), MCP_ERR_AGAIN when nothing moves
   now, 0 from read at the end of the stream, MCP_ERR_CLOSED when the peer has gone, any other negative number when it
   is broken. They never block. poll (may
   be NULL) fills in what to wait for, at most cap entries, and returns how many there are; without it the owner's
   step has to be called whenever something may have come. close (may be NULL) is called once. */
typedef struct mcp_io {
    ptrdiff_t (*read )(void *user, void *buf, size_t n);
    ptrdiff_t (*write)(void *user, const void *buf, size_t n);
    int       (*poll )(void *user, bool want_read, bool want_write, struct pollfd *fds, int cap);
    void      (*close)(void *user);
    void *user;
} mcp_io;

#ifndef MCP_NO_POSIX
/* A stream over two descriptors (pipes, sockets, terminals; may be the same one twice). Their O_NONBLOCK flags are
   not touched. `own`: they are closed with the stream. MCP_OK, MCP_ERR_MEMORY or MCP_ERR_ARGUMENT. Not with
   MCP_NO_POSIX. */
MCP_API int mcp_io_fds (const mcp_allocator *alloc, int read_fd, int write_fd, bool own, mcp_io *out);
#endif
/* Two ends of a stream in memory, each a bounded buffer of 64 KiB: a client and a server in one thread, for tests.
   Give one to mcp_server_attach and one to a client, and step both in turn; a blocking call would wait for an end
   that nobody steps. Each end is closed by who took it. */
MCP_API int mcp_io_pair(const mcp_allocator *alloc, mcp_io ends[2]);

/* What other threads and signal handlers may touch: a poster hands a function back to the loop of the object it was
   made for. Make it on the loop's thread; it may outlive its object, and is freed by you after the last post.
   mcp_post is safe anywhere: MCP_OK, MCP_ERR_AGAIN (full: try again), MCP_ERR_CLOSED (the object is gone; fn is not
   called). A posted fn is called once: in the loop with the owner (mcp_server * or mcp_client *), or with owner NULL
   when the object was freed before. */
typedef struct mcp_poster mcp_poster;
#ifndef MCP_NO_POSIX
MCP_API int  mcp_post       (const mcp_poster *p, void (*fn)(void *owner, void *arg), void *arg);
MCP_API void mcp_poster_free(mcp_poster *p);
#endif

/* Where the library tells what happens. level: 0 error, 1 warning, 2 info, 3 trace of every message. Text has no
   newline at its end. fn, like now_ms, the allocator and the functions of an mcp_io, must not call the object that
   called it. */
typedef struct mcp_log {
    void (*fn)(int level, const char *text, void *user);
    void *user;
    int level;                              /* up to which level; default 0, errors */
} mcp_log;

/* What was counted since the object was made. */
typedef struct mcp_stats {
    uint64_t messages_in, messages_out;     /* JSON-RPC messages */
    uint64_t bytes_in, bytes_out;
    uint64_t bad;                           /* lines that were no JSON-RPC message */
    uint64_t oversize;                      /* messages over max_message, dropped */
    uint64_t unknown;                       /* answers, cancels and progress for what is not (or no longer) there */
    uint64_t dropped;                       /* notifications not sent, since the peer does not read */
    uint64_t timeouts, cancelled;
    size_t pending;                         /* requests not answered yet, now */
    size_t queued;                          /* bytes waiting to be written, now */
    size_t peers;                           /* open streams, now */
} mcp_stats;

/* == schemas: checking ======================================================================================= */

/* A schema, made ready for checks. */
typedef struct mcp_schema mcp_schema;
#ifndef MCP_NO_VALIDATE
/* Compiles a JSON Schema: 2020-12, or what its $schema names of 2019-09, draft-07, draft-06 and draft-04. All of it
   lives in `a`; `schema` must live as long. NULL: refused or no memory; *why (may be NULL) is then a sentence in `a`, or
   static, that says where and what: a keyword with a value that it cannot have, another dialect, a reference to what is
   not in this schema. Nothing is ever fetched. `format` and content... are annotations: they are not checked. Takes time
   linear in the schema's size. https://json-schema.org/draft/2020-12 */
MCP_API const mcp_schema *mcp_schema_compile(mcp_arena *a, const mcp_json *schema, const char **why);
/* What the schema says and is not enforced, a line each, with its place and why: patterns with look-around, back-references
   or properties of characters other than letters, marks and numbers, patterns that are malformed or too large. The
   first 100, and how many more there are; "" if there is nothing. Never NULL; lives as long as the schema. */
MCP_API const char *mcp_schema_notes(const mcp_schema *s);
/* Does the value fit? MCP_OK; MCP_ERR_INVALID; MCP_ERR_LIMIT: it could not be told within 1,000,000 steps plus 256 for
   each value in it, or schemas nest over 4,000 deep, as they do without end in one that refers to itself;
   MCP_ERR_MEMORY; MCP_ERR_ARGUMENT: s, value or scratch is NULL. `scratch`, which may be the schema's arena, keeps what
   it holds and may have more memory afterwards; a second check of the kind needs no more. `errors` (NULL: the verdict
   alone, which is quicker) gets, as its next value, an array of at most max_errors (0 and less: 10; at most 1,000)
   objects, none if it fits, in the terms of JSON Schema's output format:
       {"instanceLocation": "/items/3/count", "keywordLocation": "/properties/items/items/properties/count/maximum",
        "error": "$.items[3].count: 7 is over the maximum 5"}
   Numbers are compared by their text, exactly; exponents over 10^15 count as that. Of equal keys the last one is
   checked. */
MCP_API int mcp_schema_check(const mcp_schema *s, const mcp_json *value, mcp_arena *scratch, mcp_writer *errors,
                             int max_errors);
#endif /* MCP_NO_VALIDATE */

/* == schemas: fitting ======================================================================================== */
#ifndef MCP_NO_SANITIZE
/* Providers of models refuse schemas that MCP allows, or read them wrongly: a union at the root, a $ref, a type list, a
   pattern that their engine does not know. Fitting rewrites the input schema of a tool into the words that one of them
   takes, loses as little as it can, and remembers how a model's arguments become what the server wants. It never
   fails for what is in the schema: one that is hopeless becomes an object without properties, and the notes say why.
   Nothing is ever fetched. */

/* The providers, each one column of the table in >>fit. MCP_GENERIC is what all OpenAI-compatible endpoints take. */
typedef enum mcp_profile {
    MCP_GENERIC = 0, MCP_OPENAI, MCP_OPENAI_STRICT, MCP_ANTHROPIC, MCP_BEDROCK, MCP_MISTRAL, MCP_GEMINI, MCP_GEMINI_JSON,
    MCP_DEEPSEEK, MCP_DEEPSEEK_STRICT, MCP_MOONSHOT, MCP_GLM, MCP_QWEN, MCP_OLLAMA, MCP_LLAMACPP
} mcp_profile;
/* "generic", "openai", "openai-strict", ...; NULL: there is none of that number. Static. */
MCP_API const char *mcp_profile_name(mcp_profile p);
/* The profile of that name, or MCP_ERR_UNKNOWN, which is negative. */
MCP_API int         mcp_profile_find(const char *name);

typedef struct mcp_fit_desc {
    mcp_profile profile;                    /* what is none of them counts as MCP_GENERIC */
    bool   no_notes;                        /* descriptions stay as they are; else they get short notes on what the
                                               provider has no word for: "Range 1..5." */
    size_t max_description;                 /* code points of a description; 0: no limit. Cut late, between characters,
                                               with an ellipsis */
    int    max_depth;                       /* of nested schemas, the root counts as 1; deeper objects become bare and
                                               name their keys; 0: what the profile takes; at most 64, at least 2 */
    size_t max_nodes, max_bytes;            /* of the result; 0: 20,000 and 256 KiB. What is larger is cut at a lower
                                               depth; a root with too many properties loses some */
} mcp_fit_desc;
/* What was done to one schema, and the way back. Lives in the arena; immutable. */
typedef struct mcp_fit mcp_fit;

/* Writes `schema` (any JSON, also NULL), as profile d->profile (d NULL: MCP_GENERIC) takes it, as the next value of
   `out`. It is always an object schema with "properties". The same input gives the same bytes, and fitting the result
   again changes nothing. `schema` is not needed afterwards. NULL: no memory, or `out` has an error (see its status).
   The result of a strict profile follows the rules of "strict": true, if the schema can be said so; see mcp_fit_strict.
   Needs memory for a while besides the arena, from the arena's allocator. */
MCP_API const mcp_fit *mcp_schema_fit(mcp_arena *a, const mcp_json *schema, const mcp_fit_desc *d, mcp_writer *out);
/* What a model does not see as it was written, and why, a line each: "#/properties/a: ...", with the JSON Pointer of the
   place, before names were changed; "" if nothing. What says the same in other words has no line. At most 64 KiB; what
   is more is counted. Lives as long as the fit. */
MCP_API const char *mcp_fit_notes (const mcp_fit *f);
/* May the result be sent with "strict": true? With other profiles than the two strict ones: never. When a strict
   profile cannot say the schema (an open map, a value of any type), the result is that of the profile without
   strictness, and this is false. */
MCP_API bool        mcp_fit_strict(const mcp_fit *f);
/* Writes a model's arguments as the server wants them, as the next value of `out`: keys that were renamed get their
   names back at every depth, nulls that only strictness asked for are left out, JSON in a string becomes the value
   where the schema takes any value and the provider could only be told "string", and a root that is no object is
   taken out of its wrapper. What does not fit the schema stays as it is; with f NULL, all of it. MCP_OK or the status of
   `out`. */
MCP_API int         mcp_schema_unfit(const mcp_fit *f, const mcp_json *args, mcp_writer *out);
#endif /* MCP_NO_SANITIZE */

/* == names =================================================================================================== */
#ifndef MCP_NO_SANITIZE

/* The name under which a model sees a tool: mcp__{server}__{tool}, of A-Z a-z 0-9 _ -, at most 64 bytes, a letter
   first, which is what all providers take. Of a pair that had to be altered (a character that is none of these, too
   long) it ends in _ and eight hex digits of a digest of both, so that the name depends on the pair alone: not on what
   other tools there are, nor on their order. `server` is a name of your own choosing, never the one that a server
   gives itself: two could give the same. */
#define MCP_NAME_MAX 64
/* Writes it with its NUL to `dst`, of `cap` bytes (MCP_NAME_MAX + 1 always suffices), and returns its length; 0: it did
   not fit. NULL counts as "". */
MCP_API size_t mcp_name_join (char *dst, size_t cap, const char *server, const char *tool);
/* The two parts of such a name, to show them: *server is of *server_len bytes, *tool ends with the name. They are what
   mcp_name_join has made of both; which tool is meant, only a table knows. false: the name is not of this shape. The
   out-parameters may be NULL. */
MCP_API bool   mcp_name_split(const char *name, const char **server, size_t *server_len, const char **tool);
/* Does a name fit a pattern like mcp__git__*? A * stands for any bytes, also none; all else for itself. No name over
   MCP_NAME_MAX bytes fits any. Several servers can have the same part in a name, and that of a long one is cut by the
   length of its tools' names: what may be called is a question for mcp_name.server, not for a pattern. */
MCP_API bool   mcp_name_match(const char *pattern, const char *name);

/* The table that maps back: of any number of servers and tools, who is meant by a name. Names in it are distinct. Of
   pairs whose names would be equal (somebody has given a tool the name that another's digest makes) one that needed no
   altering keeps it, whenever it came, and the other takes more digits: the one case in which a name depends on what
   else there is, and a name that is in the table already may change then, where it stands. */
typedef struct mcp_names mcp_names;
typedef struct mcp_name { const char *name, *server, *tool; } mcp_name;    /* as the model knows it; whose; as its
                                                                              server knows it */
MCP_API mcp_names      *mcp_names_new   (const mcp_allocator *alloc);              /* NULL: no memory */
/* Adds a pair and returns its name, which lives until the pair is removed. *status (may be NULL): MCP_OK;
   MCP_ERR_ARGUMENT: the pair was there already, and what comes back is its name; MCP_ERR_MEMORY, with NULL. */
MCP_API const char     *mcp_names_add   (mcp_names *n, const char *server, const char *tool, int *status);
/* Removes a pair, or with tool NULL all of a server. Returns how many. No other name changes. */
MCP_API size_t          mcp_names_remove(mcp_names *n, const char *server, const char *tool);
/* Who is meant by a name that a model used. First the exact one. If there is none, upper and lower case count as the
   same, - as _, and the prefix mcp__ or mcp__{server}__ may be missing; then there has to be exactly one that fits.
   It lives until it is removed. NULL: mcp_names_error says why, and if several fit, which. Never a guess. */
MCP_API const mcp_name *mcp_names_find  (mcp_names *n, const char *name);
/* Why the last mcp_names_find found nothing, in a sentence that a model can use; "" if it found. Lives until the next.
   */
MCP_API const char     *mcp_names_error (const mcp_names *n);
MCP_API size_t          mcp_names_count (const mcp_names *n);
MCP_API void            mcp_names_free  (mcp_names *n);
#endif /* MCP_NO_SANITIZE */

/* == server ================================================================================================== */
#ifndef MCP_NO_SERVER

typedef struct mcp_server mcp_server;
typedef struct mcp_conn mcp_conn;           /* one peer: a stream; gone when the peer has left and io was closed */
typedef struct mcp_req mcp_req;             /* one request that is being handled */
/* A handler. It answers r exactly once, now or later (mcp_req_defer). One that does neither is answered with an
   internal error. */
typedef void (*mcp_req_fn)(mcp_req *r, void *user);

enum { MCP_ERA_BOTH = 0, MCP_ERA_MODERN = 1, MCP_ERA_LEGACY = 2 };
enum { MCP_LIST_TOOLS = 1, MCP_LIST_RESOURCES = 2, MCP_LIST_PROMPTS = 4, MCP_LIST_TEMPLATES = 8 };
enum { MCP_SCOPE_PRIVATE = 0, MCP_SCOPE_PUBLIC = 1 };     /* zero is the safe one */

/* All-zero means the defaults. Strings are copied. */
typedef struct mcp_server_desc {
    const char *name, *version;             /* required: who we are (Implementation) */
    const char *title, *description, *website;
    const char *icons;                      /* JSON text: [{"src": "https://..."}] */
    const char *instructions;               /* for the model: how to use this server */
    const char *capabilities;               /* JSON object; what follows from the registry is added to it: a server that
                                               starts without tools says MCP_JSON({"tools": {"listChanged": true}});
                                               with false for that, or for "subscribe" of resources, it tells no such
                                               changes */
    mcp_io io;                              /* default: stdin and stdout, guarded: see mcp_server_new */
    bool no_stdio;                          /* neither io nor listen: peers come by mcp_server_attach alone */
    const char *listen;                     /* "unix:/run/x.sock": a listening socket instead of io; framing as on
                                               stdio */
    bool raw_stdout;                        /* leave descriptors 0 and 1 as they are */
    int era;                                /* MCP_ERA_BOTH, or only one */
    int page_size;                          /* items in a page of a list; default: all in one */
    int ttl_ms, scope;                      /* caching hints of lists and discover; default 0, MCP_SCOPE_PRIVATE */
    size_t max_message;                     /* bytes of one message; default 64 MiB */
    size_t max_queue;                       /* bytes that wait for a peer that does not read; over it notifications
                                               are dropped and counted; default 16 MiB */
    int max_inflight;                       /* unanswered requests of one peer; default 1024; over it: error
                                               -31000, busy. It bounds their number, not their bytes: a deferred
                                               request holds its params (text of n bytes takes up to 16 n), so one
                                               peer can make the server hold 16 * max_inflight * max_message. Lower
                                               both for peers that are not trusted. What has been answered keeps
                                               three buffers of at most 64 KiB for the next request */
    int max_peers;                          /* default 256 */
    int drain_ms;                           /* at EOF or stop: how long answers may still take, and then anew for each
                                               byte that the peer reads, up to ten times this; default 1000. What a
                                               slower worker answers is lost, and the log says so */
    int max_subscriptions;                  /* resources that one peer may watch; default 10,000 */
    bool trust_arguments;                   /* default: a tool's arguments are checked against its input_schema before
                                               fn runs; what does not fit is told in a result with isError */
    bool trust_results;                     /* default: structured content is checked against output_schema before it
                                               is sent */
    bool strict_lists;                      /* legacy: -32601 for lists of what the server does not have; default:
                                               an empty list */
    /* May this caller see and use it? kind: MCP_LIST_...; name: of a tool or prompt, else the URI or template. What is
       not visible is not listed, and unknown when it is called or to be watched. Must not change the registry. */
    bool (*visible)(mcp_req *r, int kind, const char *name, void *user);
    /* For handlers that ask (mcp_req_ask). What a modern client carries from one round to the next is sealed with this
       key: 32 random bytes, the same in all processes that serve it. Default: one that this server makes up. */
    const void *state_key; size_t state_key_size;
    int state_ttl_ms;                       /* modern: how long the next round may take; default 10 minutes */
    int ask_timeout_ms;                     /* legacy: how long an answer may take; default 10 minutes */
    mcp_allocator alloc;                    /* default: libc */
    mcp_log log;                            /* default: errors to descriptor 2 */
    int64_t (*now_ms)(void *user);          /* default: CLOCK_MONOTONIC */
    int64_t (*wall_ms)(void *user);         /* Unix time; default: CLOCK_REALTIME, without POSIX now_ms */
    int (*random)(void *user, void *buf, size_t n); /* fills buf: MCP_OK, or no; default: getrandom, /dev/urandom */
    void *user;                             /* for the functions above */
} mcp_server_desc;

/* A tool. All strings are copied; JSON is given as text.
   https://modelcontextprotocol.io/specification/2026-07-28/server/tools */
typedef struct mcp_tool {
    const char *name;                       /* 1 to 128 characters of [A-Za-z0-9_.-] are sure to work everywhere */
    const char *title, *description;
    const char *input_schema;               /* JSON Schema object (see mcp_schema_compile); default
                                               {"type": "object"}. Arguments that do not fit never reach fn. With
                                               MCP_NO_VALIDATE only "required" is looked at */
    const char *output_schema;              /* optional: what every result but isError promises. An answer without
                                               structured content that fits becomes an internal error, which says
                                               what is wrong and goes to the log; the function that was to send it
                                               returns MCP_ERR_INVALID */
    const char *annotations;                /* optional object: {"readOnlyHint": true} */
    const char *icons, *meta;               /* optional array, object */
    const char *extra;                      /* optional object: further members of the Tool */
    mcp_req_fn fn;
    void *user;
} mcp_tool;

/* A resource, or a template of many. All strings and the data are copied.
   https://modelcontextprotocol.io/specification/2026-07-28/server/resources
   A `uri` with braces is a template (RFC 6570): {name} stands for one or more characters without a slash, {+name} for
   any, {/name} for a slash and a name; URIs of up to 8 KiB fit. Templates are tried in the order in which they were
   added; what stood in their place is handed to fn, percent-decoded, by mcp_req_var: it comes from the caller, so look
   for "..". */
typedef struct mcp_resource {
    const char *uri;                        /* required */
    const char *name;                       /* default: the URI */
    const char *title, *description, *mime;
    const void *data; size_t data_size;     /* the content; NULL: fn makes it. Text: data_size 0 is MCP_NTS */
    bool binary;                            /* data goes as base64; default: as text */
    int64_t size;                           /* in bytes, if it is known; with data: data_size */
    const char *annotations, *meta;         /* optional objects: {"audience": ["user"], "priority": 0.5} */
    const char *icons;                      /* optional array */
    int ttl_ms, scope;                      /* caching hints of its content; default 0, MCP_SCOPE_PRIVATE */
    mcp_req_fn fn;                          /* answers with pieces: mcp_req_text, mcp_req_add_... and mcp_req_done */
    mcp_req_fn complete;                    /* values for a template's variables: see mcp_req_values */
    void *user;
} mcp_resource;

/* A prompt. All strings are copied. https://modelcontextprotocol.io/specification/2026-07-28/server/prompts */
typedef struct mcp_prompt {
    const char *name;
    const char *title, *description;
    const char *arguments;                  /* array: [{"name": "x", "description": "...", "required": true}] */
    const char *icons, *meta;               /* optional array, object */
    mcp_req_fn fn;                          /* answers with messages: mcp_req_role, mcp_req_add_..., mcp_req_done */
    mcp_req_fn complete;                    /* values for its arguments: see mcp_req_values */
    void *user;
} mcp_prompt;

/* A server. https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning (both eras),
   https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle. NULL only when there is no memory (d->io
   is still yours then); any other mistake is kept, told by mcp_server_error, and returned by run and step. Without
   io, listen and no_stdio it takes over stdio: the protocol moves to private duplicates of descriptors 0 and 1,
   descriptor 0 becomes /dev/null and 1 a copy of 2, so that a stray printf or a child process cannot break the
   stream; mcp_server_free puts them back. raw_stdout leaves them alone. One such server per process. */
MCP_API mcp_server *mcp_server_new(const mcp_server_desc *d);
/* Ends everything, with or without run: on_cancel is called for each deferred request, then timers and posted
   functions with owner NULL; streams are closed. Inside a callback of this server it takes effect when the outermost
   call returns. NULL is fine. */
MCP_API void mcp_server_free(mcp_server *s);

/* Adds a tool, or replaces the one with its name (which keeps its place in the list). MCP_OK, MCP_ERR_ARGUMENT (a
   sentence says which field and where; also of a schema that cannot be compiled), MCP_ERR_MEMORY; the first failure
   sticks and run reports it. Peers that asked
   are told that the list changed, once per loop. */
MCP_API int  mcp_server_tool   (mcp_server *s, const mcp_tool *t);
/* The same for a resource or template, by its URI, and for a prompt. */
MCP_API int  mcp_server_resource(mcp_server *s, const mcp_resource *r);
MCP_API int  mcp_server_prompt (mcp_server *s, const mcp_prompt *p);
/* Removes a tool or prompt by its name, a resource or template by its URI; kind is one of MCP_LIST_... Requests that
   run go on. MCP_OK or MCP_ERR_UNKNOWN. */
MCP_API int  mcp_server_remove (mcp_server *s, int kind, const char *name);
/* https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
   Tells peers that lists changed though the registry did not (adding and removing tell by themselves). what: any of
   MCP_LIST_..., together. */
MCP_API int  mcp_server_changed(mcp_server *s, unsigned what);
/* The content of a resource changed: whoever subscribed to this URI is told, once per loop. It is compared byte by
   byte: for a template, the expanded URI as readers write it. MCP_OK, also when nobody subscribed. */
MCP_API int  mcp_server_updated(mcp_server *s, const char *uri);
/* A method or notification of your own, or in place of a built-in one (a list that is computed), except initialize,
   notifications/initialized, ping, server/discover, subscriptions/listen and notifications/cancelled. A
   notification's request cannot be answered. fn NULL takes it away. MCP_OK; MCP_ERR_ARGUMENT: one of those, or no name;
   MCP_ERR_MEMORY; MCP_ERR_UNKNOWN: there is none to take away. */
MCP_API int  mcp_server_method (mcp_server *s, const char *method, mcp_req_fn fn, void *user);
/* Sends a notification to one legacy peer, or to all of them (to NULL). params: JSON object text or NULL.
   MCP_ERR_MISUSE when `to` never sent notifications/initialized: the modern era has no notification that belongs to
   nothing. */
MCP_API int  mcp_server_notify (mcp_server *s, mcp_conn *to, const char *method, const char *params);

/* One more peer on a stream. The server closes io when the peer leaves or on detach. `principal` (may be NULL) names
   who it is for mcp_req_principal. NULL: no memory, or over max_peers; io is then still yours. */
MCP_API mcp_conn   *mcp_server_attach (mcp_server *s, const mcp_io *io, const char *principal);
MCP_API void        mcp_server_detach (mcp_server *s, mcp_conn *c);        /* of a peer that has left: does nothing */
#ifndef MCP_NO_POSIX
/* Where it listens ("unix:/run/x.sock"), or "". */
MCP_API const char *mcp_server_address(const mcp_server *s);
/* A poster for other threads; see mcp_post. NULL: no memory or no descriptors. Free it with mcp_poster_free. */
MCP_API mcp_poster *mcp_server_poster (mcp_server *s);
#endif
/* Calls fn(server, arg) once, in the loop, after `ms`. The id can be given to mcp_server_cancel_timer; 0: no
   memory. */
MCP_API mcp_id      mcp_server_after  (mcp_server *s, int ms, void (*fn)(void *owner, void *arg), void *arg);
/* fn is not called; MCP_OK or MCP_ERR_UNKNOWN */
MCP_API int         mcp_server_cancel_timer(mcp_server *s, mcp_id timer);

/* Blocks and serves until the end of stdio (or of desc.io, when no other peer is left), or until stop; then lets
   unanswered requests end and output drain for at most drain_ms. MCP_OK, or the error that ended it. A peer that goes
   before it has read its last answers (EPIPE, ECONNRESET) is an end, too, and no error; the log has a warning. SIGPIPE
   is blocked meanwhile in this thread. */
MCP_API int  mcp_server_run    (mcp_server *s);
/* Ends run (or makes step return MCP_ERR_CLOSED in the end): no new requests are taken, listens end, output drains.
   From a handler, a timer or a posted function; from elsewhere use a poster. */
MCP_API int  mcp_server_stop   (mcp_server *s);
/* For your own loop: pollfds writes at most cap entries and returns how many there are; timeout is for poll(), -1
   none; step does all that can be done now and never blocks. Give step what poll filled in, or NULL: then it polls by
   itself. Who is left out since there are more entries than cap is asked 50 times a second: make room for all. step:
   MCP_OK while the server lives, MCP_ERR_CLOSED when it has ended, else the error. */
MCP_API int  mcp_server_pollfds(mcp_server *s, struct pollfd *fds, int cap);
MCP_API int  mcp_server_timeout(const mcp_server *s);
MCP_API int  mcp_server_step   (mcp_server *s, const struct pollfd *fds, int n);
/* The last error as a sentence; "" when there was none. Never NULL; valid until the next call on s. */
MCP_API const char *mcp_server_error(const mcp_server *s);
MCP_API mcp_stats   mcp_server_stats(const mcp_server *s);

/* -- requests: what came. All take NULL. What they return lives until the handler returns, for a deferred request
   until it is answered. */
/* `arguments` of a tool call or prompt, {} when they were left out; for a completion, what is known already: the
   values of other arguments (`context`) */
MCP_API const mcp_json *mcp_req_args    (const mcp_req *r);
MCP_API const mcp_json *mcp_req_params  (const mcp_req *r);                 /* whole params, or NULL */
MCP_API const mcp_json *mcp_req_meta    (const mcp_req *r);                 /* params._meta: traceparent, ... */
MCP_API const char     *mcp_req_method  (const mcp_req *r);
MCP_API const char     *mcp_req_tool    (const mcp_req *r);                 /* the called tool's name, else "" */
/* "2026-07-28", or what initialize negotiated */
MCP_API const char     *mcp_req_protocol(const mcp_req *r);
/* clientInfo, or NULL. Not verified: display only */
MCP_API const mcp_json *mcp_req_client  (const mcp_req *r);
MCP_API const mcp_json *mcp_req_capabilities(const mcp_req *r);             /* the client's */
/* Did the client declare it: a JSON Pointer into its capabilities, "/elicitation/url", "/extensions/io.x~1y". */
MCP_API bool            mcp_req_can     (const mcp_req *r, const char *pointer);
/* as attach said; "uid:N" on a Unix socket where the system tells; else "" */
MCP_API const char     *mcp_req_principal(const mcp_req *r);
/* resources/read: the URI that was asked for, else ""; and what stood for {name} in the template, or NULL */
MCP_API const char     *mcp_req_uri     (const mcp_req *r);
MCP_API const char     *mcp_req_var     (const mcp_req *r, const char *name);
/* completion: the name of the argument or variable, and in *value (may be NULL) what has been typed of it; else "".
   Whether there is such an argument is for you to see */
MCP_API const char     *mcp_req_completes(const mcp_req *r, const char **value);
MCP_API mcp_server     *mcp_req_server  (const mcp_req *r);
MCP_API mcp_conn       *mcp_req_conn    (const mcp_req *r);
/* One argument in one call: the member `name` of the arguments, or `fallback`, also when it has another type. */
MCP_API const char     *mcp_arg_str     (const mcp_req *r, const char *name, const char *fallback);
MCP_API int64_t         mcp_arg_int     (const mcp_req *r, const char *name, int64_t fallback);
MCP_API double          mcp_arg_num     (const mcp_req *r, const char *name, double fallback);
MCP_API bool            mcp_arg_bool    (const mcp_req *r, const char *name, bool fallback);

/* -- requests: while it runs. These also write out what is queued and read what has come, at most once a millisecond:
   cancels and pings are taken, everything else waits its turn. So a handler, a timer or a posted function that works
   for long without returning is heard, and can be stopped. They call no callback. */
/* cancelled, or the peer has gone: just return */
MCP_API bool mcp_req_cancelled(mcp_req *r);
/* https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/progress
   Progress, if the client asked for it. Values that do not rise are dropped. total 0: unknown. message may be
   NULL. */
MCP_API int  mcp_req_progress (mcp_req *r, double done, double total, const char *message);
/* https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/logging
   A log message to the client, if it asked for this level. level: "debug" to "emergency"; logger may be NULL; data:
   JSON text. Declare the capability: .capabilities = MCP_JSON({"logging": {}}). */
MCP_API int  mcp_req_log      (mcp_req *r, const char *level, const char *logger, const char *data);
#ifndef MCP_NO_PRINTF
MCP_API int  mcp_req_logf     (mcp_req *r, const char *level, const char *fmt, ...) MCP_PRINTF(3, 4);
#endif
/* A notification that belongs to this request, on its stream. params: JSON object text or NULL. */
MCP_API int  mcp_req_notify   (mcp_req *r, const char *method, const char *params);

/* -- requests: the answer, in one call. MCP_OK; MCP_ERR_MISUSE when it is answered already or a notification;
   MCP_ERR_CANCELLED; MCP_ERR_CLOSED: the peer has gone; MCP_ERR_ARGUMENT when what you gave is not JSON (the request
   is still open then). r is dead afterwards, except inside its own handler. The text is one block of a tool's content,
   one message of the user's in a prompt, one content of a resource. */
MCP_API int  mcp_req_text  (mcp_req *r, const char *text);
#ifndef MCP_NO_PRINTF
MCP_API int  mcp_req_textf (mcp_req *r, const char *fmt, ...) MCP_PRINTF(2, 3);
/* tools: a result with isError, which the model sees; other methods: error -32603 */
MCP_API int  mcp_req_failf (mcp_req *r, const char *fmt, ...) MCP_PRINTF(2, 3);
#endif
MCP_API int  mcp_req_fail  (mcp_req *r, const char *text);
/* A JSON-RPC error; data: JSON text or NULL. From the function of a resource, -32002 without data says that this one
   is not there: it goes out as the era has it (2026-07-28: -32602), with the URI. */
MCP_API int  mcp_req_error (mcp_req *r, int code, const char *message, const char *data);
/* the whole result object; what the era requires is added where missing */
MCP_API int  mcp_req_result(mcp_req *r, const char *json, size_t len);
/* Or write the result's members: begin gives a writer inside the result object, end sends it. A tool result without
   content gets some: the text of its structuredContent, or none. */
MCP_API mcp_writer *mcp_req_begin(mcp_req *r);
MCP_API int         mcp_req_end  (mcp_req *r);
/* Or content piece by piece; mcp_req_done sends it. Bytes are encoded in base64 here. A failed piece fails the whole
   answer in done. The pieces stand where the method has them: in a tool's content; for a prompt each is a message of
   its own; for a resource each is one of its contents, with the URI that was asked for unless it names another
   (mcp_req_add_resource), and a link is MCP_ERR_ARGUMENT. */
MCP_API int  mcp_req_add_text    (mcp_req *r, const char *s, size_t len);
MCP_API int  mcp_req_add_image   (mcp_req *r, const char *mime, const void *data, size_t len);
MCP_API int  mcp_req_add_audio   (mcp_req *r, const char *mime, const void *data, size_t len);
MCP_API int  mcp_req_add_resource(mcp_req *r, const char *uri, const char *mime, const void *data, size_t len,
                                  bool binary);
MCP_API int  mcp_req_add_link    (mcp_req *r, const char *uri, const char *name, const char *mime);
MCP_API int  mcp_req_add_json    (mcp_req *r, const char *block, size_t len);     /* any other content block */
/* prompts: who says what is added from here on: "user" (the default) or "assistant"; MCP_OK, MCP_ERR_ARGUMENT for any
   other, or why r cannot be answered */
MCP_API int  mcp_req_role        (mcp_req *r, const char *role);
/* Caching hints for this answer, in place of the server's or the resource's: lists and resources. MCP_OK, or why r
   cannot be answered. */
MCP_API int  mcp_req_cache       (mcp_req *r, int ttl_ms, int scope);
/* The answer to a completion, which has no content; MCP_ERR_MISUSE elsewhere. Best first: at most 100 of the n values
   go out. total: how many there are, or -1. more: there are more than these.
   https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion */
MCP_API int  mcp_req_values      (mcp_req *r, const char *const *values, int n, int total, bool more);
/* structuredContent: any JSON value (an object, to be seen by legacy peers), as text, or written through a writer
   whose top is that value. Its text is added as a text block if there is no content. Then mcp_req_done. */
MCP_API int  mcp_req_structured  (mcp_req *r, const char *json, size_t len);
MCP_API mcp_writer *mcp_req_structure(mcp_req *r);
MCP_API int  mcp_req_done        (mcp_req *r);

/* -- requests: the answer, later. Keep the id, not r; mcp_server_req gives r back, or NULL once it was cancelled,
   answered, or its peer has gone. What was handed out before stays valid until the handler returns; ask mcp_req_args
   again later. It belongs to the loop's thread: mcp_json_copy what a worker needs. 0: no memory (still to be answered
   now). A worker hands its result back through a poster: it posts finish(owner, job), which in the loop does
       mcp_req *r = owner ? mcp_server_req((mcp_server *)owner, job->id) : NULL;
       if (r) mcp_req_text(r, job->text);
   and frees the job; MCP_ERR_CLOSED from mcp_post means that finish will not run. See examples/worker_server.c. */
MCP_API mcp_id   mcp_req_defer    (mcp_req *r);
MCP_API mcp_req *mcp_server_req   (mcp_server *s, mcp_id id);
/* fn(server, id, arg) is called once if the deferred request is cancelled, its peer has left (and drain_ms are over),
   or the server is freed: tell the worker. Not after an answer, even one too late (MCP_ERR_CANCELLED,
   MCP_ERR_CLOSED), and never from inside a function of the request's. */
MCP_API int      mcp_req_on_cancel(mcp_req *r, void (*fn)(mcp_server *s, mcp_id id, void *arg), void *arg);

/* -- requests: asking. In tools/call, prompts/get and resources/read, in both eras the same way:
   https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr,
   https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
   A handler asks as if the answer were there. MCP_OK: it is. MCP_ERR_AGAIN: it has been asked; just return, and the
   handler is run again from its start with the answers so far. All that it asked before it returned goes out together.
   So what it does before a question it does again after it: whatever must happen only once stands after the last
   question. And even there a client may come twice with the same answers: what must never be done twice (a payment)
   the handler has to remember, for instance by a number that it has put into mcp_req_keep.
   Any other status: just return as well, and the client is told; or answer otherwise.
     MCP_ERR_DECLINED     the user said no (elicit)
     MCP_ERR_CANCELLED    the user closed the dialog (elicit); or the request is cancelled
     MCP_ERR_PEER         legacy: the client answered with an error, *answer
     MCP_ERR_TIMEOUT      legacy: ask_timeout_ms are over
     MCP_ERR_CAPABILITY   this client, or its revision, cannot: ask for something else, or return: it is told by -32021
     MCP_ERR_PROTOCOL     what came does not fit (a form: its schema); the client has been told, r is answered
     MCP_ERR_MISUSE       not in such a request; or without POSIX: neither state_key nor random
     MCP_ERR_ARGUMENT     not one of these methods, or no JSON; mcp_server_error says what
     MCP_ERR_MEMORY       r may have been answered
   key names the question within the request: the same key, the same answer, also if it was no. What is handed out
   lives until the handler returns. A deferred request may ask: it goes out at the end of the turn, its id and its
   on_cancel are then gone, and its handler is run anew; any other status leaves it deferred, and to be answered. */
/* method: "elicitation/create", "sampling/createMessage" or "roots/list"; params: a JSON object, as 2026-07-28 has it
   (of elicitation: mode "url" is known since 2025-11-25; elicitationId is added where it belongs), or NULL. *answer
   (may be NULL): the result, whose main members have the right types; of an elicitation whatever its action is. */
MCP_API int  mcp_req_ask       (mcp_req *r, const char *key, const char *method, const char *params,
                                const mcp_json **answer);
/* Asks the user to fill in a form. schema: an object of plain fields (strings, numbers, booleans, and lists of choices;
   anything else is MCP_ERR_ARGUMENT, and mcp_server_error names it),
   https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema
   MCP_OK: *content is what was filled in, and fits the schema (types, required, choices, limits and the four formats;
   not pattern). Not for secrets: they go to a page, see below. */
MCP_API int  mcp_req_elicit    (mcp_req *r, const char *key, const char *message, const char *schema,
                                const mcp_json **content);
/* Sends the user to a page. MCP_OK: the user agrees to go there, not more: what has been done there only the page
   knows. When it is done call mcp_server_elicited with the same url, which tells clients of 2025-11-25 that wait for
   it (MCP_OK, also when there are none; the last 256 pages are remembered). The url must not let in by itself
   whoever opens it. */
MCP_API int  mcp_req_elicit_url(mcp_req *r, const char *key, const char *message, const char *url);
MCP_API int  mcp_server_elicited(mcp_server *s, const char *url);
/* A JSON value of the handler's own that the next run finds by mcp_req_kept (NULL: nothing), until it keeps another;
   NULL: nothing. A modern client carries it: it cannot change it, but it can read it. keep: MCP_OK, MCP_ERR_ARGUMENT
   (no JSON), MCP_ERR_MEMORY, MCP_ERR_MISUSE, or as mcp_req_ask where the state that came does not fit. kept lives until
   the handler returns. */
MCP_API int  mcp_req_keep      (mcp_req *r, const char *json);
MCP_API const mcp_json *mcp_req_kept(mcp_req *r);
#endif /* MCP_NO_SERVER */

/* == client ================================================================================================== */
#ifndef MCP_NO_CLIENT

typedef struct mcp_client mcp_client;
#ifdef MCP_NO_SERVER
enum { MCP_ERA_BOTH = 0, MCP_ERA_MODERN = 1, MCP_ERA_LEGACY = 2 };
enum { MCP_LIST_TOOLS = 1, MCP_LIST_RESOURCES = 2, MCP_LIST_PROMPTS = 4, MCP_LIST_TEMPLATES = 8 };
#endif

/* All-zero means the defaults. Strings are copied. */
typedef struct mcp_client_desc {
    const char *name, *version;             /* required: who we are (Implementation) */
    const char *title;
    const char *const *argv;                /* the server to start, ends in NULL: no shell, PATH is searched. Not
                                               with MCP_NO_POSIX */
    const char *const *env;                 /* "K=V" entries over our environment, "K" alone takes K away; ends in
                                               NULL */
    bool clean_env;                         /* start from HOME LOGNAME PATH SHELL TERM USER alone */
    const char *cwd;
    mcp_io io;                              /* or a stream that is there already; it is closed with the client */
    bool capture_stderr;                    /* drain the server's stderr and keep its last 4 KiB for error
                                               sentences; default: inherited */
    /* and hand it on; implies capture_stderr */
    void (*on_stderr)(mcp_client *c, const char *bytes, size_t n, void *user);
    const char *capabilities;               /* JSON object; default {}. What on_ask is asked follows from it; with
                                               elicitation, sampling or roots there has to be one */
    int era; /* MCP_ERA_BOTH: probe with server/discover, then fall back (a server that
                exits at the probe is started once more); or what an earlier client found */
    int start_timeout_ms;                   /* until ready; default 60,000 */
    int probe_ms;                           /* how long server/discover may be silent, from the server's first byte
                                               on; default 10,000 */
    int timeout_ms, max_ms;                 /* of each request, from when it is on the wire: silence (progress starts
                                               it anew, and while the server waits for an answer of ours it stands
                                               still), default 30,000; the deadline in all, default 600,000 */
    int grace_ms;                           /* free: wait after closing stdin, and again after SIGTERM; default
                                               2,000 */
    size_t max_message;                     /* bytes of one message, and of a legacy server's questions that are put
                                               off; default 64 MiB */
    size_t max_queue;                       /* bytes that wait for a server that does not read; over it send and
                                               notify fail with MCP_ERR_LIMIT; default 128 MiB */
    int max_pending;                        /* default 4,096 */
    int max_pages;                          /* of one list; default 10,000 */
    int max_rounds;                         /* how often one call may need more input; default 10 */
    int max_restarts;                       /* how often in a row a server (of argv) that was ready and then went by
                                               itself is started again; default 0: never. See mcp_client_new */
    /* Room for results of lists and of resources/read, which are kept as long as the server says (ttlMs) or until it
       tells a change; default 0: none are kept. With it, a storm of the same list_changed that is read at once is
       told once, with params NULL.
       https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching */
    size_t cache_bytes;
    /* the handshake is over: MCP_OK, or why not; once, and again after each restart */
    void (*on_ready)(mcp_client *c, int status, void *user);
    void (*on_notify)(mcp_client *c, const char *method, const mcp_json *params, void *user);
    /* The server asks something: elicitation/create, sampling/createMessage or roots/list, if `capabilities` says
       that you can; in either era, and in the middle of a call or (legacy) at any time.
       https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation
       Write the result's members and return MCP_OK; or MCP_ERR_AGAIN, and call mcp_client_answer later; or
       MCP_ERR_DECLINED, MCP_ERR_CANCELLED: an elicitation has that action, anything else is refused, which ends a
       modern call with that status; MCP_ERR_UNKNOWN: you do not know the method.
       Of an elicitation, params.message is what to ask and params.requestedSchema the form. The answer is "accept"
       unless you write another `action`: mcp_put_object(result, "content"); mcp_put_bool(result, "sure", true);
       mcp_put_end(result); return MCP_OK. Its `content` gets the defaults of the members that you left out, and is then
       checked against what was asked for: one that does not fit is not sent (see mcp_client_answer), nor a model's
       message without role, model and content, or a root that is no file:// URI. mode "url":
       MCP_OK says that the user agreed to open params.url. If the server has refused a call until that is done (error
       -32042), MCP_OK sends the call again: return MCP_ERR_AGAIN until the user is through, or until the server says so
       by itself.
       A question goes away unanswered when its call ends (fn is called) or a legacy server takes it back
       (on_notify: notifications/cancelled). Legacy servers' methods of other kinds come here too; ping never does. */
    int  (*on_ask)(mcp_client *c, mcp_id ask, const char *method, const mcp_json *params, mcp_writer *result,
                   void *user);
    mcp_allocator alloc;                    /* default: libc */
    mcp_log log;                            /* default: silent */
    int64_t (*now_ms)(void *user);          /* default: CLOCK_MONOTONIC */
    void *user;                             /* for all callbacks above */
} mcp_client_desc;

/* One request: a tool call, a prompt, a resource, a completion, or any method. All-zero means the defaults. Strings are
   copied. The result is raw JSON in mcp_reply.result; mcp_reply_text and mcp_reply_data take it apart. */
typedef struct mcp_call {
    const char *tool;                       /* tools/call: its name ... */
    const char *prompt;                     /* or prompts/get */
    const char *uri;                        /* or resources/read */
    const char *args;                       /* arguments of a tool (NULL: {}) or prompt, JSON object text */
    const char *complete, *value;           /* completion/complete: the name of an argument of `prompt`, or of a
                                               variable of the template `uri`, and what was typed so far; args: those
                                               that are known already */
    const char *method, *params;            /* or any method, params as JSON object text (NULL: none). "ping" is
                                               asked in the words of either era; inputResponses and requestState
                                               are the library's */
    const char *meta;                       /* JSON object merged into _meta: traceparent, tracestate, baggage, keys
                                               of extensions */
    const char *log_level;                  /* "debug" to "emergency": log messages from this level on, to on_notify
                                               (notifications/message). A legacy server keeps it for the session */
    const mcp_schema *output;               /* tool: its outputSchema, compiled; it must live until the call is over. A
                                               result that it does not fit, but isError, has status MCP_ERR_INVALID
                                               and says why in `message`, a line for each fault; `result` is there */
    int timeout_ms, max_ms;                 /* idle and in all; 0: the client's default, -1: none */
    bool fresh;                             /* not from the cache */
    bool progress;                          /* ask for progress, which starts timeout_ms anew; on_progress implies
                                               it */
    /* total 0: unknown; message may be NULL */
    void (*on_progress)(double done, double total, const char *message, void *user);
    /* For a list method: called for each item of all pages (cursors are followed); false stops. fn gets the last
       page. Items that are no objects are skipped. A list that the server does not know (-32601), but tools/list, is
       an empty one. */
    bool (*each)(const mcp_json *item, void *user);
    mcp_reply_fn fn;                        /* called once when it is over; may be NULL */
    void *user;
} mcp_call;

/* A client; starts the server or takes the stream, and returns at once.
   https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio. NULL only when there is no memory
   (io is still yours then); any other failure (the command was not found) is kept: calls fail with it at once,
   mcp_client_error tells it as a sentence, and on_ready gets it from the first step, or from free.

   With max_restarts, the loss of a server that was ready does not end the client. What was pending fails at once with
   MCP_ERR_CLOSED and says how the server ended; nothing of it is sent a second time. The server is started again after
   100 ms, and after twice as long each time until it has been ready for a minute, at most 10 s; what is sent meanwhile
   waits for it. Then subscriptions are asked for again under the ids that they have (on_notify gets their
   acknowledgements anew; what changed in between was not told), nothing is left in the cache, and on_ready is called.
   When it has died too often, or cannot be started, the client ends as it does without. */
MCP_API mcp_client *mcp_client_new   (const mcp_client_desc *d);
/* Ends: fails what is pending with MCP_ERR_CLOSED (calling back, before it returns), closes the server's stdin, waits
   grace_ms, SIGTERM to its process group, waits grace_ms, SIGKILL, reaps. Blocks at most 2 * grace_ms + a little;
   call mcp_client_close and step before it to wait without blocking. Inside a callback it takes effect when the
   outermost call returns. In a program that ignores SIGCHLD or reaps all children itself, what a server leaves in its
   group is killed only if the server was seen running less than a second before (by a call that waits, or by the
   shutdown): later the group's number could be another's. */
MCP_API void        mcp_client_free  (mcp_client *c);
/* Begins that shutdown without blocking: pending requests fail with MCP_ERR_CLOSED in the next step, stdin is closed
   once output has drained (at most grace_ms), then step goes on with it and returns MCP_ERR_CLOSED at its end.
   Idempotent. */
MCP_API int         mcp_client_close (mcp_client *c);
/* Sends a request, or queues it until the client is ready. Its id, or 0: the client has failed or closed, a bad
   argument, no memory, over max_pending; mcp_client_error says which, and fn is not called. Never calls back before
   it returns. */
MCP_API mcp_id      mcp_client_send  (mcp_client *c, const mcp_call *call);
/* https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/cancellation
   Ends a request with MCP_ERR_CANCELLED (fn is called from the next step) and tells the server. MCP_OK or
   MCP_ERR_UNKNOWN. reason may be NULL. */
MCP_API int         mcp_client_cancel(mcp_client *c, mcp_id id, const char *reason);
/* https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
   Asks to be told when lists change (MCP_LIST_TOOLS | ...) and when the resources in `uris` (ends in NULL; may be NULL)
   do. In either era on_notify gets first notifications/subscriptions/acknowledged, whose params.notifications says
   what the server will tell, then notifications/tools/list_changed and its like and notifications/resources/updated.
   The _meta of modern ones names the subscription. Legacy servers tell all list changes, asked for or not.
   Goes on until mcp_client_cancel(id). `ended` (may be NULL) is called once: MCP_OK, the server has ended it in good
   order; MCP_ERR_CANCELLED, you have; MCP_ERR_CLOSED, the connection is lost for good; or why it could not begin. No
   time-out once it is acknowledged. Returns an id as mcp_client_send does, or 0. */
MCP_API mcp_id      mcp_client_listen(mcp_client *c, unsigned lists, const char *const *uris, mcp_reply_fn ended,
                                      void *user);
/* Sends a notification. params: JSON object text or NULL. MCP_ERR_MISUSE before the client is ready. */
MCP_API int         mcp_client_notify(mcp_client *c, const char *method, const char *params);
/* Answers a question that on_ask put off, also inside on_ask. status as on_ask's; result: JSON object text for MCP_OK,
   for a form {"content": {...}}. MCP_ERR_UNKNOWN: no such question (any more). MCP_ERR_ARGUMENT: it is not JSON, or not
   what was asked for, as mcp_client_error says; the question is still open. (Such an answer out of on_ask itself ends a
   modern call with MCP_ERR_ARGUMENT; a legacy server gets an error.) */
MCP_API int         mcp_client_answer(mcp_client *c, mcp_id ask, int status, const char *result);
#ifndef MCP_NO_POSIX
/* For other threads; see mcp_post. */
MCP_API mcp_poster *mcp_client_poster(mcp_client *c);
#endif

/* the result of server/discover or initialize; NULL until ready, and while the server is started again */
MCP_API const mcp_json *mcp_client_info    (const mcp_client *c);
MCP_API const char     *mcp_client_protocol(const mcp_client *c);           /* "2025-11-25", ...; NULL until ready */
/* MCP_ERA_MODERN or _LEGACY; MCP_ERA_BOTH: not known yet */
MCP_API int             mcp_client_era     (const mcp_client *c);
/* The last failure as a sentence, of the client or of a call; it stays until the next failure, so look at a status
   first. "" when there was none. Never NULL; valid until the next call that can move the client on. */
MCP_API const char     *mcp_client_error   (const mcp_client *c);
MCP_API mcp_stats       mcp_client_stats   (const mcp_client *c);

/* For your own loop; as mcp_server_pollfds and its neighbours. step: MCP_OK while the client lives (its shutdown
   included), then MCP_ERR_CLOSED, or the error that ended it. */
MCP_API int mcp_client_pollfds(mcp_client *c, struct pollfd *fds, int cap);
MCP_API int mcp_client_timeout(const mcp_client *c);
MCP_API int mcp_client_step   (mcp_client *c, const struct pollfd *fds, int n);
/* Blocking, built from the three above. wait: polls once for at most timeout_ms (-1: no limit of its own) and steps
   once; its result is step's. call: sends and waits until it is settled; never NULL; the reply lives until the next
   call that can move the client on. Both may be called inside any callback, eight levels deep. */
MCP_API int              mcp_client_wait (mcp_client *c, int timeout_ms);
MCP_API const mcp_reply *mcp_client_call (mcp_client *c, const mcp_call *call);
#endif /* MCP_NO_CLIENT */

/* == function calling ======================================================================================== */
#if !defined(MCP_NO_CLIENT) && !defined(MCP_NO_SANITIZE)

/* Between MCP servers and the API of a model: the tools of all servers as that API's list of tools, a call that the
   model makes as a tool call of MCP, and what came of it as the message that the API wants. A toolbox does no input or
   output. In the terms of a program:

       mcp_toolbox *b = mcp_toolbox_new(&(mcp_toolbox_desc){ .form = MCP_FORM_ANTHROPIC });
       mcp_toolbox_add(b, "files", reply->result);             (of tools/list, per server, and again when it changes;
                                                                one with several pages: gathered by mcp_call.each)
       mcp_toolbox_write(b, &request, "tools");
       ...                                                     (for each call in the model's answer:)
       mcp_tool_call k;
       if (mcp_toolbox_call(b, call, &arena, &k) == MCP_OK)
           reply = mcp_client_call(client_of(k.server), &(mcp_call){ .tool = k.tool, .args = k.args });
       mcp_toolbox_result(b, &k, reply, &answer, NULL);        (an error in k is an answer, too) */

/* How requests to a provider carry tools, calls and results. */
typedef enum mcp_form {
    MCP_FORM_OPENAI = 0,                    /* chat completions: OpenAI, and what is compatible with it */
    MCP_FORM_RESPONSES,                     /* OpenAI's responses */
    MCP_FORM_ANTHROPIC,                     /* messages */
    MCP_FORM_GEMINI,                        /* generateContent, a schema as `parameters` */
    MCP_FORM_GEMINI_JSON                    /* generateContent, a schema as `parametersJsonSchema` */
} mcp_form;

/* All-zero means the defaults. */
typedef struct mcp_toolbox_desc {
    mcp_form form;
    mcp_fit_desc fit;                       /* what is done to schemas. The profile MCP_GENERIC becomes that of the
                                               form's own provider, but for chat completions, where it suits all */
    size_t max_description;                 /* code points of a tool's description; 0: no limit */
    size_t max_text;                        /* bytes of text of one result, behind which it is cut; default 100,000 */
    size_t max_images;                      /* bytes, as base64, of the images of one result; default 5,000,000 */
    bool no_images;                         /* the model sees no images: they become sentences */
    mcp_allocator alloc;                    /* default: libc */
} mcp_toolbox_desc;
typedef struct mcp_toolbox mcp_toolbox;

MCP_API mcp_toolbox *mcp_toolbox_new   (const mcp_toolbox_desc *d);         /* NULL: no memory */
MCP_API void         mcp_toolbox_free  (mcp_toolbox *b);
/* The tools of a server, a result of tools/list or the array in it, in place of those that it had before; `server` is
   the name that you know it by. Nothing of `tools` is kept. A tool that cannot be used is left out and harms no other:
   mcp_toolbox_next tells. MCP_OK; MCP_ERR_ARGUMENT: no such list, or one page of it (it has a nextCursor: mcp_call.each
   hands over the tools of all pages); MCP_ERR_MEMORY. Then its tools are those from before. */
MCP_API int          mcp_toolbox_add   (mcp_toolbox *b, const char *server, const mcp_json *tools);
/* MCP_OK or MCP_ERR_UNKNOWN. */
MCP_API int          mcp_toolbox_remove(mcp_toolbox *b, const char *server);
/* Writes the `tools` array of a request: servers in the order in which they came, tools in that of their lists, and so
   the same bytes as long as nothing changes, as caches of prompts want it. */
MCP_API void         mcp_toolbox_write (const mcp_toolbox *b, mcp_writer *w, const char *key);

/* What has become of a tool. */
typedef struct mcp_tool_report {
    const char *server, *tool;              /* tool: "" if it has no name */
    const char *name;                       /* as the model knows it; NULL: it was left out */
    bool strict;                            /* it is sent with strict: true */
    const char *notes;                      /* what was done and why, a line each; "" nothing. Of one left out: why */
    const void *priv;                       /* the library's */
} mcp_tool_report;
/* All tools, in order: mcp_tool_report t = {0}; while (mcp_toolbox_next(b, &t)) ...; with no change in between. */
MCP_API bool mcp_toolbox_next(const mcp_toolbox *b, mcp_tool_report *t);

/* What a model wants called. */
typedef struct mcp_tool_call {
    int status;                             /* MCP_OK; MCP_ERR_UNKNOWN: no such tool; MCP_ERR_PARSE or _INVALID: its
                                               arguments; MCP_ERR_ARGUMENT: this is no call; MCP_ERR_MEMORY. Set one of your own if it is not to be
                                               called (MCP_ERR_DECLINED) */
    const char *error;                      /* then a sentence for the model, which mcp_toolbox_result sends */
    const char *id;                         /* the provider's; "" none */
    const char *used;                       /* the name that the model used */
    const char *name;                       /* the one that it was given, to show; unknown: as it used */
    const char *server, *tool;              /* as servers know it, for rules; NULL: not known */
    const char *args;                       /* JSON text for mcp_call.args: keys and values as the server wants them */
} mcp_tool_call;
/* Takes a call out of what the model has answered: an item of tool_calls (chat completions), an item of `output` of
   type function_call (responses), a block of type tool_use (Anthropic), or a part with a functionCall (Gemini); each
   is known by itself. Arguments may be an object or the text of one. Strings live in `a`. Returns out->status. */
MCP_API int mcp_toolbox_call(mcp_toolbox *b, const mcp_json *call, mcp_arena *a, mcp_tool_call *out);
/* Writes what has come of it, as one more item of an array that you have opened in `w`: of `messages` (chat
   completions), `input` (responses), the `content` of the one user message that answers all calls (Anthropic), or the
   `parts` of one (Gemini; an image is a part of its own behind it).
   Texts are joined with LF, images go as images where the form has room for them, anything else becomes a line that
   says what it is; structuredContent is sent when there is no text. That it failed is visible, be it the tool, the
   server or the connection. `r` may be NULL if k->status says why.
   In chat completions only users show images. So with `images`, a writer in which an array is open, they go there as
   content for a user message, which is to follow when all calls of the turn are answered; NULL: they become lines. */
MCP_API int mcp_toolbox_result(mcp_toolbox *b, const mcp_tool_call *k, const mcp_reply *r, mcp_writer *w,
                               mcp_writer *images);
#endif

#ifdef __cplusplus
}
#endif
#endif /* MCP_MODEL_CONTEXT_PROTOCOL_H */
/* ============================================================================================================== *
 *                                               IMPLEMENTATION                                                   *
 * ============================================================================================================== */
#ifdef MCP_IMPLEMENTATION
#ifndef MCP_IMPLEMENTED
#define MCP_IMPLEMENTED
#include <stdlib.h>
#include <string.h>
#include <stdarg.h>
#ifndef MCP_NO_PRINTF
#  include <stdio.h>
#endif
#ifndef MCP_NO_POSIX
#  include <sys/types.h>
#  include <sys/stat.h>
#  include <sys/socket.h>
#  include <sys/un.h>
#  include <sys/wait.h>
#  include <errno.h>
#  include <fcntl.h>
#  include <limits.h>
#  include <poll.h>
#  include <signal.h>
#  include <time.h>
#  include <unistd.h>
#  ifdef __linux__
#    include <sys/syscall.h>
#  endif
#endif
/* Bytes that strings are searched by at a time; see >>json. */
#if !defined(MCPI_PLAIN_C) && (defined(__GNUC__) || defined(__clang__)) && defined(__SSE2__)
#  include <emmintrin.h>
#  define MCPI_SSE2
#  define MCPI_WIDE 16
#elif !defined(MCPI_PLAIN_C) && (defined(__GNUC__) || defined(__clang__)) && defined(__ARM_NEON)
#  include <arm_neon.h>
#  define MCPI_NEON
#  define MCPI_WIDE 16
#else
#  define MCPI_WIDE 8
#endif
/* A build for size (-Os) leaves out the fast paths that slower code beside them can stand in for. */
#ifdef __OPTIMIZE_SIZE__
#  define MCPI_FAST 0
#else
#  define MCPI_FAST 1
#endif
#ifdef __cplusplus
extern "C" {
#endif

#ifndef MCP_MAX_DEPTH
#  define MCP_MAX_DEPTH 512                 /* how deep the JSON reader follows arrays and objects */
#endif

/* ============================================================================================================== *
 * >>status  what can go wrong, and how it is said                                                                 *
 * ============================================================================================================== */
/* Statuses are small negative numbers; the list in the public part above makes the enum there and the
   sentences here, so the two cannot drift apart. Where a status says too little (which file, which tool),
   objects keep a sentence of their own. Those are made by mcpi_say, a printf of a few lines: the core must
   not drag in stdio, and libc's printf follows the locale. */

int mcp_version(void)
{
    return MCP_VERSION_NUMBER;
}

const char *mcp_strerror(int status)
{
    switch (status) {
    case MCP_OK: return "ok";
#define MCP_X(name, number, text) case MCP_ERR_##name: return text;
    MCP_STATUS_LIST(MCP_X)
#undef MCP_X
    default: return "unknown status";
    }
}

/* A piece of text that is being said: `full` once something did not fit. */
typedef struct mcpi_said { char *buf; size_t cap, len; bool full; } mcpi_said;

static void mcpi_say_bytes(mcpi_said *t, const char *s, size_t n)
{
    size_t room = t->cap - 1 - t->len;
    if (t->full) return;
    if (n > room) { n = room; t->full = true; }
    if (n) memcpy(t->buf + t->len, s, n);
    t->len += n;
}

/* Writes the digits of a number before `end`, at most 20, and returns the first. */
static char *mcpi_to_decimal(char *end, uint64_t u)
{
    do *--end = (char)('0' + (int)(u % 10)); while ((u /= 10) != 0);
    return end;
}

static void mcpi_say_number(mcpi_said *t, uint64_t u, bool negative)
{
    char digits[21], *p = mcpi_to_decimal(digits + sizeof digits, u);
    if (negative) *--p = '-';
    mcpi_say_bytes(t, p, (size_t)(digits + sizeof digits - p));
}

static void mcpi_say_signed(mcpi_said *t, int64_t n)
{
    mcpi_say_number(t, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, n < 0);
}

/* At most `max` bytes of s, which needs no NUL within them. */
static void mcpi_say_string(mcpi_said *t, const char *s, size_t max)
{
    size_t n = 0;
    if (!s) s = "(null)";
    while (n < max && s[n]) n++;
    mcpi_say_bytes(t, s, n);
}

/* Takes a UTF-8 sequence off the end that was cut in two. */
static void mcpi_say_mend(mcpi_said *t)
{
    size_t at = t->len, want;
    while (at && t->len - at < 3 && ((unsigned char)t->buf[at - 1] & 0xC0) == 0x80) at--;
    if (!at || (unsigned char)t->buf[at - 1] < 0xC0) return;
    want = (unsigned char)t->buf[at - 1] >= 0xF0 ? 4 : (unsigned char)t->buf[at - 1] >= 0xE0 ? 3 : 2;
    if (t->len - (at - 1) < want) t->len = at - 1;
}

/* %s (NULL: "(null)"), %.*s, %c, %d int, %u unsigned, %z size_t, %l int64_t, %%. */
static void mcpi_vsay_form(mcpi_said *t, const char *fmt, va_list ap)
{
    while (*fmt) {
        const char *run = fmt;
        size_t max = MCP_NTS;
        char c;
        while (*fmt && *fmt != '%') fmt++;
        mcpi_say_bytes(t, run, (size_t)(fmt - run));
        if (!*fmt || !*++fmt) break;
        if (fmt[0] == '.' && fmt[1] == '*' && fmt[2] == 's') {
            int given = va_arg(ap, int);
            max = given < 0 ? 0 : (size_t)given;
            fmt += 2;
        }
        switch (c = *fmt++) {
        case 's': mcpi_say_string(t, va_arg(ap, const char *), max); break;
        case 'd': mcpi_say_signed(t, va_arg(ap, int)); break;
        case 'u': mcpi_say_number(t, va_arg(ap, unsigned), false); break;
        case 'z': mcpi_say_number(t, va_arg(ap, size_t), false); break;
        case 'l': mcpi_say_signed(t, va_arg(ap, int64_t)); break;
        case 'c': c = (char)va_arg(ap, int); mcpi_say_bytes(t, &c, 1); break;
        default:  mcpi_say_bytes(t, &c, 1); break;
        }
    }
}

static MCP_UNUSED void mcpi_say_form(mcpi_said *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    mcpi_vsay_form(t, fmt, ap);
    va_end(ap);
}

/* Ends in NUL whenever there is a buffer, cuts between characters, and returns the length written. */
static size_t mcpi_vsay(char *buf, size_t cap, const char *fmt, va_list ap)
{
    mcpi_said t;
    if (!buf || !cap) return 0;
    t.buf = buf; t.cap = cap; t.len = 0; t.full = false;
    mcpi_vsay_form(&t, fmt, ap);
    if (t.full) mcpi_say_mend(&t);
    buf[t.len] = 0;
    return t.len;
}

static MCP_UNUSED size_t mcpi_say(char *buf, size_t cap, const char *fmt, ...)
{
    va_list ap;
    size_t n;
    va_start(ap, fmt);
    n = mcpi_vsay(buf, cap, fmt, ap);
    va_end(ap);
    return n;
}

/* ============================================================================================================== *
 * >>memory  one hook, a pool, arenas                                                                              *
 * ============================================================================================================== */
/* Every byte the library holds comes through one function pointer, which is told the old size of what it
   frees or resizes: an allocator for a small board then needs no bookkeeping of its own. On top of it stand
   two things. A pool cuts one block of the user's memory into pieces. An arena gives out memory that is freed
   all at once; parsed JSON lives in one. After its first message an arena is one block that is used over and
   over, because a fresh page costs more than parsing what is in it. */

#define MCPI_ALIGN (2 * sizeof(void *))     /* enough for any type of C99 */

/* n rounded up to whole units of MCPI_ALIGN, or 0 when that is over SIZE_MAX. */
static size_t mcpi_align(size_t n)
{
    return (n + (MCPI_ALIGN - 1)) & ~(size_t)(MCPI_ALIGN - 1);
}

/* How far p is from the next aligned address. */
static size_t mcpi_misaligned(const void *p)
{
    return (size_t)(0 - (uintptr_t)p) & (MCPI_ALIGN - 1);
}

static void *mcpi_resize(const mcp_allocator *a, void *p, size_t old_size, size_t new_size)
{
    if (a && a->resize) return p || new_size ? a->resize(a->user, p, old_size, new_size) : NULL;
    if (new_size) return realloc(p, new_size);
    free(p);
    return NULL;
}

static void *mcpi_alloc(const mcp_allocator *a, size_t n)
{
    return mcpi_resize(a, NULL, 0, n);
}

static void mcpi_free(const mcp_allocator *a, void *p, size_t n)
{
    if (p) (void)mcpi_resize(a, p, n, 0);
}

static MCP_UNUSED void *mcpi_zalloc(const mcp_allocator *a, size_t n)
{
    void *p = mcpi_alloc(a, n);
    if (p) memset(p, 0, n);
    return p;
}

/* A copy with a NUL behind it; NULL for NULL. */
static MCP_UNUSED char *mcpi_strdup(const mcp_allocator *a, const char *s, size_t len)
{
    char *copy;
    if (!s) return NULL;
    if (len == MCP_NTS) len = strlen(s);
    if (len + 1 == 0 || !(copy = (char *)mcpi_alloc(a, len + 1))) return NULL;
    memcpy(copy, s, len);
    copy[len] = 0;
    return copy;
}

static MCP_UNUSED void mcpi_strfree(const mcp_allocator *a, char *s)
{
    if (s) mcpi_free(a, s, strlen(s) + 1);
}

/* Doubles *buf until it holds `need` bytes, and at most `limit` (0: no limit). What was in it stays, also on
   failure. */
static bool mcpi_grow(const mcp_allocator *a, char **buf, size_t *cap, size_t need, size_t limit)
{
    size_t n = *cap ? *cap : 64;
    char *p;
    if (need <= *cap) return true;
    if (limit && need > limit) return false;
    while (n < need) n = n > MCP_NTS / 2 ? need : n * 2;
    if (limit && n > limit) n = limit;
    p = (char *)mcpi_resize(a, *buf, *cap, n);
    if (!p) return false;
    *buf = p;
    *cap = n;
    return true;
}

/* -- the pool -------------------------------------------------------------------------------------------- */
/* The block is a row of chunks without gaps, each a header and its bytes. Freeing marks a chunk; whoever
   walks over free chunks joins them. */

typedef struct mcpi_chunk {
    size_t size;                            /* with this header; a multiple of MCPI_ALIGN */
    size_t taken;                           /* 0: free */
} mcpi_chunk;

static mcpi_chunk *mcpi_chunk_next(mcpi_chunk *c)
{
    return (mcpi_chunk *)(void *)((char *)c + c->size);
}

/* Joins c with the free chunks behind it. */
static void mcpi_chunk_join(mcp_pool *p, mcpi_chunk *c)
{
    mcpi_chunk *end = (mcpi_chunk *)(void *)(p->base + p->size), *next;
    while ((next = mcpi_chunk_next(c)) != end && !next->taken) c->size += next->size;
}

/* Takes `need` bytes of c, which has them; what is left over becomes a free chunk. */
static void mcpi_chunk_take(mcp_pool *p, mcpi_chunk *c, size_t need)
{
    if (c->size - need >= 2 * sizeof(mcpi_chunk)) {
        mcpi_chunk *rest = (mcpi_chunk *)(void *)((char *)c + need);
        rest->size = c->size - need;
        rest->taken = 0;
        c->size = need;
    }
    c->taken = 1;
    p->used += c->size;
    if (p->used > p->peak) p->peak = p->used;
}

static void *mcpi_pool_resize(void *user, void *ptr, size_t old_size, size_t new_size)
{
    mcp_pool *p = (mcp_pool *)user;
    mcpi_chunk *c, *end;
    size_t need = mcpi_align(new_size) + sizeof(mcpi_chunk);
    void *moved;
    if (!p) return NULL;
    if (ptr) {
        c = (mcpi_chunk *)ptr - 1;
        p->used -= c->size;
        if (!new_size) { c->taken = 0; return NULL; }
        if (need > new_size) {
            size_t was = c->size;
            mcpi_chunk_join(p, c);
            if (c->size >= need) { mcpi_chunk_take(p, c, need); return ptr; }
            mcpi_chunk_take(p, c, was);     /* as before, so that what stands behind it is free again */
        } else p->used += c->size;
    }
    if (!new_size || need <= new_size || !p->size) return NULL;
    end = (mcpi_chunk *)(void *)(p->base + p->size);
    for (c = (mcpi_chunk *)(void *)p->base; c != end; c = mcpi_chunk_next(c)) {
        if (c->taken) continue;
        mcpi_chunk_join(p, c);
        if (c->size < need) continue;
        mcpi_chunk_take(p, c, need);
        moved = c + 1;
        if (!ptr) return moved;
        memcpy(moved, ptr, old_size < new_size ? old_size : new_size);
        (void)mcpi_pool_resize(p, ptr, old_size, 0);
        return moved;
    }
    return NULL;
}

mcp_allocator mcp_pool_init(mcp_pool *pool, void *memory, size_t size)
{
    mcp_allocator a;
    a.resize = mcpi_pool_resize;
    a.user = pool;
    if (!pool) return a;
    memset(pool, 0, sizeof *pool);
    if (memory && size >= mcpi_misaligned(memory) + 2 * sizeof(mcpi_chunk)) {
        mcpi_chunk *all;
        pool->base = (char *)memory + mcpi_misaligned(memory);
        pool->size = (size - mcpi_misaligned(memory)) & ~(size_t)(MCPI_ALIGN - 1);
        all = (mcpi_chunk *)(void *)pool->base;
        all->size = pool->size;
        all->taken = 0;
    }
    return a;
}

/* -- arenas ---------------------------------------------------------------------------------------------- */
/* [next, next + left) is free. Memory is cut off its front; while the JSON reader lets its tape grow there,
   strings that need memory of their own are cut off its back. */

#define MCPI_BLOCK_MIN ((size_t)1024)

typedef struct mcpi_block { struct mcpi_block *older; size_t size; } mcpi_block;

void mcp_arena_init(mcp_arena *a, const mcp_allocator *alloc, size_t limit)
{
    if (!a) return;
    memset(a, 0, sizeof *a);
    if (alloc) a->alloc = *alloc;
    a->limit = limit;
}

void mcp_arena_fixed(mcp_arena *a, void *memory, size_t size)
{
    size_t skip = mcpi_misaligned(memory);
    mcp_arena_init(a, NULL, 0);
    if (!a) return;
    a->fixed = true;
    if (!memory || size < skip) return;
    a->blocks = a->next = (char *)memory + skip;
    a->left = a->total = size - skip;
}

/* Makes at least `need` bytes free in one piece, and as much again as there was if it may: whoever grows step
   by step then copies little. What is free in the older block is lost until the reset. */
static bool mcpi_arena_block(mcp_arena *a, size_t need)
{
    size_t room = (a->limit ? a->limit : MCP_NTS) - a->total;
    size_t want = a->total < MCPI_BLOCK_MIN ? MCPI_BLOCK_MIN : a->total;
    mcpi_block *b;
    if (a->fixed || need > MCP_NTS - sizeof *b - MCPI_ALIGN) return false;
    need += sizeof *b + MCPI_ALIGN;         /* an allocator for 32 bits may align less than we do */
    if (need > room) return false;
    if (want < need) want = need;
    if (want > room) want = room;
    b = (mcpi_block *)mcpi_alloc(&a->alloc, want);
    if (!b && want > need) b = (mcpi_block *)mcpi_alloc(&a->alloc, want = need);
    if (!b) return false;
    b->older = (mcpi_block *)a->blocks;
    b->size = want;
    a->blocks = b;
    a->total += want;
    a->next = (char *)(b + 1) + mcpi_misaligned(b + 1);
    a->left = want - (size_t)(a->next - (char *)b);
    return true;
}

void *mcp_arena_alloc(mcp_arena *a, size_t size)
{
    size_t n = mcpi_align(size ? size : 1);
    char *p;
    if (!a || n < size || (n > a->left && !mcpi_arena_block(a, n))) return NULL;
    p = a->next;
    a->next += n;
    a->left -= n;
    return p;
}

void mcp_arena_free(mcp_arena *a)
{
    mcpi_block *b, *older;
    if (!a) return;
    if (a->fixed) { mcp_arena_reset(a); return; }
    for (b = (mcpi_block *)a->blocks; b; b = older) {
        older = b->older;
        mcpi_free(&a->alloc, b, b->size);
    }
    a->blocks = a->next = NULL;
    a->left = a->total = 0;
}

void mcp_arena_reset(mcp_arena *a)
{
    mcpi_block *b;
    if (!a) return;
    b = (mcpi_block *)a->blocks;
    if (a->fixed) {
        a->next = (char *)a->blocks;
        a->left = a->total;
    } else if (b && b->older) {
        size_t all = a->total;
        mcp_arena_free(a);
        if (all > sizeof *b + MCPI_ALIGN) (void)mcpi_arena_block(a, all - sizeof *b - MCPI_ALIGN);
    } else if (b) {
        a->next = (char *)(b + 1) + mcpi_misaligned(b + 1);
        a->left = b->size - (size_t)(a->next - (char *)b);
    }
}

/* ============================================================================================================== *
 * >>json  JSON: reading and writing                                                                               *
 * ============================================================================================================== */
/* A parsed text is a tape: one row of small nodes in the order of the text, a member's key right before its
   value. A container knows how many nodes it spans, so the next sibling is one addition away, and nothing
   ever recurses. Strings are decoded where they stand in the text, with a NUL over their closing quote;
   numbers stay text until somebody asks for a value, so a 30-digit id passes through unharmed. The reader
   checks everything in one pass: grammar, UTF-8, depth. It never looks at a byte behind the text that is not its own.

   Long runs without anything special are the common case in strings, so reader and writer search 16 bytes at
   a time where the compiler says how (SSE2, NEON), else 8 bytes in a word. What they find is the same
   everywhere. */

/* -- characters ------------------------------------------------------------------------------------------ */

#define MCPI_FFFD "\xEF\xBF\xBD"            /* the replacement character */

/* Of the MCPI_WIDE bytes at p, how many stand before the first that is special in a string: quote, backslash,
   control byte, or part of a UTF-8 sequence. MCPI_WIDE: none is. */
static inline unsigned mcpi_plain(const char *p)
{
#if defined(MCPI_SSE2)
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(x, _mm_set1_epi8('"')), _mm_cmpeq_epi8(x, _mm_set1_epi8('\\')));
    __m128i plain = _mm_andnot_si128(hit, _mm_cmpgt_epi8(x, _mm_set1_epi8(0x1F)));   /* signed: not 0x80 and up */
    return (unsigned)__builtin_ctz(~(unsigned)_mm_movemask_epi8(plain));
#elif defined(MCPI_NEON)
    uint8x16_t x = vld1q_u8((const uint8_t *)p);
    uint8x16_t hit = vorrq_u8(vceqq_u8(x, vdupq_n_u8('"')), vceqq_u8(x, vdupq_n_u8('\\')));
    uint64_t bits;                                                          /* four bits for each byte */
    hit = vorrq_u8(hit, vcltq_s8(vreinterpretq_s8_u8(x), vdupq_n_s8(0x20)));
    bits = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(hit), 4)), 0);
    return bits ? (unsigned)__builtin_ctzll(bits) >> 2 : 16;
#else
    const unsigned char *u = (const unsigned char *)p;
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t x, hit;
    unsigned n;
    /* The first byte goes lowest. A borrow can make a byte look special only above one that is. */
    x = (uint64_t)u[0] | (uint64_t)u[1] << 8 | (uint64_t)u[2] << 16 | (uint64_t)u[3] << 24 |
        (uint64_t)u[4] << 32 | (uint64_t)u[5] << 40 | (uint64_t)u[6] << 48 | (uint64_t)u[7] << 56;
    hit = (((x ^ ones * '"') - ones) | ((x ^ ones * '\\') - ones) | (x - ones * 0x20) | x) & ones * 0x80;
    if (!hit) return 8;
    for (n = 0; !(hit & 0x80); n++) hit >>= 8;
    return n;
#endif
}

/* Is c special in the sense of mcpi_plain? */
static inline bool mcpi_special(char c)
{
    return (signed char)c < 0x20 || c == '"' || c == '\\';
}

/* Is one of the eight bytes of x special? See mcpi_plain. */
static inline bool mcpi_word_special(uint64_t x)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t hit = ((x ^ ones * '"') - ones) | ((x ^ ones * '\\') - ones) | (x - ones * 0x20) | x;
    return (hit & ones * 0x80) != 0;
}

/* Copies n < 16 bytes and returns true if none is special. */
static inline bool mcpi_move_plain(char *d, const char *s, size_t n)
{
    uint64_t a = 0, b;
    if (n >= 8) {
        memcpy(&a, s, 8); memcpy(&b, s + n - 8, 8);
        if (mcpi_word_special(a) || mcpi_word_special(b)) return false;
        memcpy(d, &a, 8); memcpy(d + n - 8, &b, 8);
    } else if (n >= 4) {
        uint32_t i, j;
        memcpy(&i, s, 4); memcpy(&j, s + n - 4, 4);
        if (mcpi_word_special((uint64_t)i << 32 | j)) return false;
        memcpy(d, &i, 4); memcpy(d + n - 4, &j, 4);
    } else
        for (; n; n--) {
            if (mcpi_special(*s)) return false;
            *d++ = *s++;
        }
    return true;
}

/* The first special byte of [p, end), or end. */
static const char *mcpi_plain_rest(const char *p, const char *end)
{
    for (; MCPI_FAST && end - p >= MCPI_WIDE; p += MCPI_WIDE) {
        unsigned k = mcpi_plain(p);
        if (k < MCPI_WIDE) return p + k;
    }
    while (p < end && !mcpi_special(*p)) p++;
    return p;
}

/* Most strings are short: one step is enough for them. */
static inline const char *mcpi_plain_end(const char *p, const char *end)
{
    if (MCPI_FAST && end - p >= MCPI_WIDE) {
        unsigned k = mcpi_plain(p);
        if (k < MCPI_WIDE) return p + k;
        p += MCPI_WIDE;
    }
    return mcpi_plain_rest(p, end);
}

/* Moves n < 16 bytes, also to the left over themselves; never writes more than n. */
static inline void mcpi_move(char *d, const char *s, size_t n)
{
    uint64_t a, b;
    uint32_t i, j;
    if (n >= 8) {
        memcpy(&a, s, 8); memcpy(&b, s + n - 8, 8);
        memcpy(d, &a, 8); memcpy(d + n - 8, &b, 8);
    } else if (n >= 4) {
        memcpy(&i, s, 4); memcpy(&j, s + n - 4, 4);
        memcpy(d, &i, 4); memcpy(d + n - 4, &j, 4);
    } else for (; n; n--) *d++ = *s++;
}

static inline bool mcpi_is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* Behind the white space at p: the four characters of RFC 8259 and no others. */
static const char *mcpi_blanks(const char *p, const char *end)
{
    for (;;) {
        while (MCPI_FAST && end - p >= 8 && memcmp(p, "        ", 8) == 0) p += 8;      /* indented text */
        if (p == end || !mcpi_is_blank(*p)) return p;
        p++;
    }
}

/* The length of the well-formed UTF-8 sequence at p, of which four bytes can be read; 0: it is none. By the
   highest bits of the code point. */
static inline int mcpi_utf8_quick(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;
    uint32_t w = u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 | (uint32_t)u[3] << 24, top;
    if ((w & 0xC0E0) == 0x80C0) return w & 0x1E ? 2 : 0;
    if ((w & 0xC0C0F0) == 0x8080E0) {
        top = (w & 15) << 1 | (w >> 13 & 1);
        return top && top != 0xD800 >> 11 ? 3 : 0;
    }
    top = (w & 7) << 2 | (w >> 12 & 3);
    return (w & 0xC0C0C0F8) == 0x808080F0 && top && top <= 0x10FFFF >> 16 ? 4 : 0;
}

/* The length of the UTF-8 sequence at p, whose first byte is 0x80 or above: 2 to 4; or, if it is ill-formed,
   minus the number of bytes that one U+FFFD stands for (the longest part that could have begun a sequence, as
   the Unicode Standard recommends). */
static int mcpi_utf8(const char *p, const char *end)
{
    const unsigned char *u = (const unsigned char *)p;
    unsigned c = u[0], low, high;
    int i, n;
    low = c == 0xE0 ? 0xA0 : c == 0xF0 ? 0x90 : 0x80;
    high = c == 0xED ? 0x9F : c == 0xF4 ? 0x8F : 0xBF;
    n = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (c < 0xC2 || c > 0xF4) return -1;
    for (i = 1; i < n; i++, low = 0x80, high = 0xBF)
        if (p + i >= end || u[i] < low || u[i] > high) return -i;
    return n;
}

/* Moves over UTF-8 sequences, and over single blanks between them: words mostly end so. Stops at p itself if
   the first is ill-formed. */
static const char *mcpi_utf8_run(const char *p, const char *end)
{
    while (p < end && *p & 0x80) {
        int k = MCPI_FAST && end - p >= 4 ? mcpi_utf8_quick(p) : 0;
        if (!k) k = mcpi_utf8(p, end);
        if (k < 0) break;
        p += k;
        if (p < end && *p == ' ') p++;
    }
    return p;
}

/* Writes a code point; a surrogate, too, as three bytes. */
static char *mcpi_utf8_put(char *d, unsigned c)
{
    if (c < 0x80) { *d++ = (char)c; return d; }
    if (c < 0x800) *d++ = (char)(0xC0 | c >> 6);
    else {
        if (c < 0x10000) *d++ = (char)(0xE0 | c >> 12);
        else {
            *d++ = (char)(0xF0 | c >> 18);
            *d++ = (char)(0x80 | (c >> 12 & 0x3F));
        }
        *d++ = (char)(0x80 | (c >> 6 & 0x3F));
    }
    *d++ = (char)(0x80 | (c & 0x3F));
    return d;
}

/* Four hexadecimal digits, or -1. */
static int mcpi_hex4(const char *p, const char *end)
{
    int i, v = 0;
    if (end - p < 4) return -1;
    for (i = 0; i < 4; i++) {
        unsigned c = (unsigned char)p[i], d = c - '0';
        if (d > 9) {
            d = (c | 32) - 'a';
            if (d > 5) return -1;
            d += 10;
        }
        v = v << 4 | (int)d;
    }
    return v;
}

/* What the second character of an escape stands for, or 0: `u` and what is none. Each of the eight letters
   has a place of its own in the table, found by arithmetic: what comes next in a text is hard to foresee, and
   a jump that was guessed wrong costs more. */
static inline char mcpi_unescape(char c)
{
    static const char letter[17] = "./\\.b.f..nrt\"...", meaning[17] = "./\\.\b.\f..\n\r\t\"...";
    unsigned at = (unsigned)(unsigned char)c * 3 >> 3 & 15;
    return letter[at] == c && c != '.' ? meaning[at] : 0;
}

static MCP_UNUSED int mcpi_hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Behind the digits at p. */
static inline const char *mcpi_digits(const char *p, const char *end)
{
    while (p < end && (unsigned char)(*p - '0') < 10) p++;
    return p;
}

/* Moves *pp over a number: -? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?, which is stricter than C.
   False: *pp is the byte that does not fit. */
static bool mcpi_scan_number(const char **pp, const char *end)
{
    const char *p = *pp, *q;
    if (*p == '-') p++;
    q = mcpi_digits(p, end);
    if (q == p) { *pp = q; return false; }
    if (*p == '0' && q - p > 1) { *pp = p + 1; return false; }
    if (q < end && *q == '.') {
        p = q + 1;
        q = mcpi_digits(p, end);
        if (q == p) { *pp = q; return false; }
    }
    if (q < end && (*q == 'e' || *q == 'E')) {
        p = q + 1;
        if (p < end && (*p == '+' || *p == '-')) p++;
        q = mcpi_digits(p, end);
        if (q == p) { *pp = q; return false; }
    }
    *pp = q;
    return true;
}

/* Moves *pp over `true`, `false` or `null`; false: to the byte that does not fit. */
static bool mcpi_scan_word(const char **pp, const char *end)
{
    const char *p = *pp, *word = *p == 't' ? "true" : *p == 'f' ? "false" : "null";
    if (MCPI_FAST && end - p > 4) {
        bool five = *p == 'f';
        if (memcmp(p + five, five ? "alse" : word, 4) == 0) { *pp = p + 4 + five; return true; }
    }
    for (; *word && p < end && *p == *word; word++) p++;
    *pp = p;
    return !*word;
}

/* -- the reader ------------------------------------------------------------------------------------------ */

/* {"a": [1, 2], "b": "c"} becomes seven nodes:

       0  object  2 children, spans 7   last
       1  key     "a"
       2  array   2 children, spans 3   member
       3  number  1
       4  number  2                     last
       5  key     "b"
       6  string  "c"                   member, last

   The next sibling of node 2 is behind what it spans and behind the key that stands there: 2 + 3 + 1. A text
   ends up with one node for every few bytes, so they are kept at 16 bytes (12 where pointers have 32 bits).

   A string that has to be longer than its source, or needs to remember more than its bytes, moves to the
   arena; all others stay in the text. */

/* What a node says besides its type. */
#define MCPI_TYPE   7u
#define MCPI_KEY    8u                      /* the key of the value that follows */
#define MCPI_MEMBER 16u                     /* a value with its key before it */
#define MCPI_LAST   32u                     /* no sibling follows */
#define MCPI_TRUE   64u
#define MCPI_LONE   128u                    /* it holds lone surrogates: behind its NUL is a second form of
                                               that length, with ED Ax xx or ED Bx xx where this has U+FFFD */
struct mcp_json {
    union {
        const char *text;                   /* strings: decoded; numbers: as they came */
        size_t span;                        /* containers: nodes in all; while open: back to the parent */
    } u;
    uint32_t n;                             /* bytes of text; children */
    uint32_t tag;                           /* mcp_type and flags */
};

#define MCPI_TEXT_MAX ((size_t)0xFFFFFFFE)  /* lengths are 32 bits wide in a node */

/* Flags of mcpi_parse. */
#define MCPI_REPLACE_UTF8 1u                /* ill-formed UTF-8 in strings becomes U+FFFD and is no error */

typedef struct mcpi_reader {
    mcp_arena *arena;
    const char *end;
    unsigned flags;
    mcp_json *tape, *node, *room;           /* first node, the next to be written, the end of what fits */
    mcp_json *open, *last;                  /* the innermost open container; the last finished value in it */
    mcp_json top;                           /* stands in for a container around the whole text */
    const char *stop;                       /* where reading failed; NULL: no memory */
} mcpi_reader;

/* The tape has what the arena has free. When that runs out, it moves to a new block of at least twice the
   size. `extra`: bytes wanted besides. */
static bool mcpi_tape_grow(mcpi_reader *r, size_t extra)
{
    mcp_json *old = r->tape;
    size_t used = (size_t)(r->node - old) * sizeof *old;
    r->stop = NULL;
    if (used > MCP_NTS / 4 || extra > MCP_NTS / 4) return false;
    if (!mcpi_arena_block(r->arena, used * 2 + 16 * sizeof *old + extra)) return false;
    r->tape = (mcp_json *)(void *)r->arena->next;
    r->room = r->tape + r->arena->left / sizeof *r->tape;
    if (used) memcpy(r->tape, old, used);
    r->node = r->tape + (r->node - old);
    if (r->open != &r->top) r->open = r->tape + (r->open - old);
    if (r->last) r->last = r->tape + (r->last - old);
    return true;
}

/* n more bytes for a string, from the arena while the tape grows in it: from its end. There is still room for
   the node that is being made, and behind a key for its value. That value may have the last place of the tape. */
static char *mcpi_reader_alloc(mcpi_reader *r, size_t n)
{
    size_t used = (size_t)((char *)(r->node + 2) - (char *)r->tape);
    if ((used > r->arena->left || n > r->arena->left - used) && !mcpi_tape_grow(r, n)) return NULL;
    r->arena->left -= n;
    r->room = r->tape + r->arena->left / sizeof *r->tape;
    return r->arena->next + r->arena->left;
}

/* Decodes the \u escape at p to *d, and returns the byte behind it, or NULL. A lone surrogate is written as
   three bytes all the same, and *lone set: mcpi_string puts it right. */
static const char *mcpi_escape_u(const char *p, const char *end, char **d, bool *lone)
{
    int low, c = mcpi_hex4(p + 2, end);
    if (c < 0) return NULL;
    p += 6;
    if ((c & 0xF800) == 0xD800) {
        low = c < 0xDC00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' ? mcpi_hex4(p + 2, end) : -1;
        if ((low & ~0x3FF) == 0xDC00) {
            c = 0x10000 + ((c & 0x3FF) << 10 | (low & 0x3FF));
            p += 6;
        } else *lone = true;
    }
    *d = mcpi_utf8_put(*d, (unsigned)c);
    return p;
}

/* Room in the arena for a string of which `done` bytes are decoded and the rest begins at p: U+FFFD may be
   longer than what it replaces. */
static char *mcpi_string_room(mcpi_reader *r, const char *p, size_t done)
{
    size_t n = done + 4 + MCPI_WIDE;
    r->stop = NULL;
    if (n > MCP_NTS / 8 || (size_t)(r->end - p) > MCP_NTS / 8) return NULL;
    for (; p < r->end && *p != '"'; p++, n++) {
        if (*p & 0x80) n += 2;
        else if (*p == '\\' && r->end - p > 1) { p++; n++; }
    }
    return n > MCPI_TEXT_MAX ? NULL : mcpi_reader_alloc(r, n);
}

/* The second form for strings with lone surrogates; see MCPI_LONE. */
static char *mcpi_string_lone(mcpi_reader *r, const char *s, size_t n)
{
    char *two = NULL;
    size_t i;
    r->stop = NULL;
    if (n < MCP_NTS / 8) two = mcpi_reader_alloc(r, 2 * n + 2);
    if (!two) return NULL;
    memcpy(two, s, n);
    memcpy(two + n + 1, s, n);
    two[n] = two[2 * n + 1] = 0;
    for (i = 0; i + 2 < n; i++)             /* ED with A0 or more behind it is nothing else */
        if (two[i] == '\xED' && (unsigned char)two[i + 1] >= 0xA0) memcpy(two + i, MCPI_FFFD, 3);
    return two;
}

/* Reads the rest of a string that is not plain, or is near the end of the text: it begins at `start`, and is
   plain up to p. Writes r->node (but for its tag's flags, which are in `tag`) and returns the byte behind the
   quote, or NULL with r->stop set. Decoded bytes go to d, which is never ahead of p in the text; wide stores
   must not reach beyond what has been read. */
static const char *mcpi_string(mcpi_reader *r, char *start, char *p, uint32_t tag)
{
    char *d = p, *moved;
    const char *end = r->end, *next;
    bool lone = false, away = false;        /* away: d is in the arena */
    for (;;) {
        while (MCPI_FAST && end - p >= MCPI_WIDE) {
            unsigned k = mcpi_plain(p);
            if (d != p) {
                if (k == MCPI_WIDE || away || p - d >= MCPI_WIDE) {
                    char piece[MCPI_WIDE];
                    memcpy(piece, p, MCPI_WIDE);
                    memcpy(d, piece, MCPI_WIDE);
                } else mcpi_move(d, p, k);
            }
            d += k;
            p += k;
            if (k < MCPI_WIDE) break;
        }
        r->stop = p;
        if (p == end) return NULL;
        if (!mcpi_special(*p)) { *d++ = *p++; continue; }
        if (*p == '"') break;
        if (*p == '\\') {
            do {
                char c = end - p > 1 ? mcpi_unescape(p[1]) : 0;
                if (c) { *d++ = c; p += 2; }
                else {
                    next = end - p > 1 && p[1] == 'u' ? mcpi_escape_u(p, end, &d, &lone) : NULL;
                    r->stop = end - p > 1 ? p + 1 : end;
                    if (!next) return NULL;
                    p += next - p;
                }
            } while (p < end && *p == '\\');
            continue;
        }
        if (!(*p & 0x80)) return NULL;
        next = mcpi_utf8_run(p, end);
        if (next != p) {
            size_t n = (size_t)(next - p);
            if (d != p) memmove(d, p, n);
            d += n;
            p += n;
            continue;
        }
        if (!(r->flags & MCPI_REPLACE_UTF8)) return NULL;
        p -= mcpi_utf8(p, end);
        if (!away && p - d < 3) {                               /* no room where it stands: on in the arena */
            moved = mcpi_string_room(r, p, (size_t)(d - start));
            if (!moved) return NULL;
            away = true;
            memcpy(moved, start, (size_t)(d - start));
            d = moved + (d - start);
            start = moved;
        }
        memcpy(d, MCPI_FFFD, 3);
        d += 3;
    }
    if (lone) {
        tag |= MCPI_LONE;
        moved = mcpi_string_lone(r, start, (size_t)(d - start));
        if (!moved) return NULL;
        d = moved + (d - start);
        start = moved;
    }
    *d = 0;
    r->node->u.text = start;
    r->node->n = (uint32_t)(d - start);
    r->node->tag = tag;
    return p + 1;
}

/* The reader proper; fails with r->stop set. `key` is where a member begins, `item` where an element does, `value`
   at the first byte of either's value, and `behind` after a finished value, where only a comma or a closing bracket
   may follow. An open container keeps in its span how far back its parent is, so the way up needs no stack.

   It looks at the byte where the next token has to begin without asking whether there is one: see mcpi_parse. Only
   behind a closing bracket the end has to be looked for.

   What is used all the time is kept in locals. r gets it before anything is called that may move the tape,
   and says afterwards where it is now. */
static bool mcpi_read(mcpi_reader *r, char *text)
{
    char *p = text, *end = text + (r->end - text), *q;
    mcp_json *node = r->node, *room = r->room, *open = r->open, *last = NULL;
    uint32_t role = 0;
    int depth = 0;
    char close = 0;                         /* the bracket that ends the open container */
    const char *at;

#define MCPI_SKIP() do { if (!MCPI_FAST || *p <= ' ') p += mcpi_blanks(p, end) - p; } while (0)
#define MCPI_REFUSE(where) do { r->stop = (where); return false; } while (0)
#define MCPI_LEND() (r->node = node, r->open = open, r->last = last)
#define MCPI_TAKE_BACK() (node = r->node, room = r->room, open = r->open, last = r->last)
#define MCPI_ROOM() do { if (room - node < 2) { \
        MCPI_LEND(); \
        if (!mcpi_tape_grow(r, 0)) return false; \
        MCPI_TAKE_BACK(); } } while (0)
/* The string at p becomes a node, and p moves behind it. A string with nothing to decode stays as it is. */
#define MCPI_STRING(flags) do { \
        p++; \
        q = MCPI_FAST ? p + (mcpi_plain_end(p, end) - p) : p; \
        if (MCPI_FAST && q < end && *q == '"') { \
            *q = 0; \
            node->u.text = p; \
            node->n = (uint32_t)(q - p); \
            node->tag = (uint32_t)MCP_JSON_STRING | (flags); \
            p = q + 1; \
        } else { \
            MCPI_LEND(); \
            at = mcpi_string(r, p, q, (uint32_t)MCP_JSON_STRING | (flags)); \
            if (!at) return false; \
            p += at - p; \
            MCPI_TAKE_BACK(); \
        } } while (0)

    MCPI_SKIP();
item:
    MCPI_ROOM();
    role = 0;
value:
    if (*p == '"') MCPI_STRING(role);
    else if (*p == '{' || *p == '[') {
        if (depth == MCP_MAX_DEPTH) MCPI_REFUSE(p);
        depth++;
        open->n++;
        node->u.span = open == &r->top ? 0 : (size_t)(node - open);
        node->n = 0;
        node->tag = (uint32_t)(*p == '{' ? MCP_JSON_OBJECT : MCP_JSON_ARRAY) | role;
        open = node++;
        close = (char)(*p++ + 2);           /* in ASCII, both pairs are two apart */
        MCPI_SKIP();
        if (*p == close) goto closing;
        if (close == '}') goto key;
        goto item;
    } else {
        /* Whatever is no number has to be one of the three words. */
        bool ok;
        node->u.text = at = p;
        if (MCPI_FAST && (unsigned char)(*p - '1') < 9) {
            q = p;
            do q++; while ((unsigned char)(*q - '0') < 10);
            if (*q != '.' && (*q | 32) != 'e') {            /* nearly all of them: no sign, no fraction */
                node->n = (uint32_t)(q - p);
                node->tag = (uint32_t)MCP_JSON_NUMBER | role;
                p = q;
                goto finished;
            }
        }
        if (*p == '-' || (*p >= '0' && *p <= '9')) {
            ok = mcpi_scan_number(&at, end);
            node->n = (uint32_t)(at - p);
            node->tag = (uint32_t)MCP_JSON_NUMBER | role;
        } else {
            ok = mcpi_scan_word(&at, end);
            node->n = 0;
            node->tag = (uint32_t)(*p == 'n' ? MCP_JSON_NULL : MCP_JSON_BOOL) | role;
            if (*p == 't') node->tag |= MCPI_TRUE;
        }
        if (!ok) MCPI_REFUSE(at);
        p += at - p;
    }
finished:
    open->n++;
    last = node++;
behind:
    if (depth == 0) {
        p += mcpi_blanks(p, end) - p;
        if (p != end) MCPI_REFUSE(p);
        r->tape->tag |= MCPI_LAST;
        r->node = node;
        return true;
    }
    MCPI_SKIP();
    if (*p == ',') {
        p++;
        MCPI_SKIP();
        if (close != '}') goto item;
    key:
        MCPI_ROOM();                        /* for the value, too */
        if (*p != '"') MCPI_REFUSE(p);
        MCPI_STRING(MCPI_KEY);
        node++;
        MCPI_SKIP();
        if (*p != ':') MCPI_REFUSE(p);
        p++;
        MCPI_SKIP();
        role = MCPI_MEMBER;
        goto value;
    }
    if (*p != close) MCPI_REFUSE(p);
closing:                                    /* the open container becomes the finished value */
    p++;
    if (open->n) last->tag |= MCPI_LAST;
    last = open;
    open = last->u.span ? last - last->u.span : &r->top;
    last->u.span = (size_t)(node - last);
    depth--;
    if (depth && p == end) MCPI_REFUSE(p);
    close = (open->tag & MCPI_TYPE) == MCP_JSON_OBJECT ? '}' : ']';
    goto behind;
#undef MCPI_SKIP
#undef MCPI_REFUSE
#undef MCPI_LEND
#undef MCPI_TAKE_BACK
#undef MCPI_ROOM
#undef MCPI_STRING
}

/* Parses text[0..len): where it stands if that is `here`, else (NULL) a copy in the arena; see mcp_json_parse for the
   rest. A text that ends with a closing bracket, as each message does, stops the reader by itself: there is no way past
   that bracket but the one that asks for the end. Any other text is a scalar, or broken; it, too, is read from a copy,
   since a copy has a NUL behind it. */
static const mcp_json *mcpi_parse(mcp_arena *a, const char *text, char *here, size_t len, unsigned flags,
                                  size_t *err_pos)
{
    mcpi_reader r;
    size_t pos, used, n;
    if (text && len == MCP_NTS) len = strlen(text);
    if (!text || len > MCPI_TEXT_MAX) {
        if (err_pos) *err_pos = text ? MCPI_TEXT_MAX : 0;
        return NULL;
    }
    for (n = len; n && mcpi_is_blank(text[n - 1]); n--) { }
    if (!here || !n || (text[n - 1] | 32) != '}') {         /* the other bracket is 32 below it */
        here = (char *)mcp_arena_alloc(a, n + 1);
        if (here) { memcpy(here, text, n); here[n] = 0; }
    }
    memset(&r, 0, sizeof r);
    if (here && a && (a->next || mcpi_arena_block(a, 1))) {
        r.arena = a;
        r.end = here + n;
        r.flags = flags;
        r.tape = r.node = (mcp_json *)(void *)a->next;
        r.room = r.tape + a->left / sizeof *r.tape;
        r.open = &r.top;
        if (mcpi_read(&r, here)) {
            used = mcpi_align((size_t)((char *)r.node - (char *)r.tape));
            if (used > a->left) used = a->left;
            a->next += used;
            a->left -= used;
            return r.tape;
        }
    }
    pos = r.stop ? (size_t)(r.stop - here) : MCP_NTS;
    if (err_pos) *err_pos = pos == n ? len : pos;
    return NULL;
}

const mcp_json *mcp_json_parse_inplace(mcp_arena *a, char *text, size_t len, size_t *err_pos)
{
    return mcpi_parse(a, text, text, len, 0, err_pos);
}

const mcp_json *mcp_json_parse(mcp_arena *a, const char *text, size_t len, size_t *err_pos)
{
    return mcpi_parse(a, text, NULL, len, 0, err_pos);
}

/* -- getters --------------------------------------------------------------------------------------------- */

mcp_type mcp_json_type(const mcp_json *v)
{
    return v ? (mcp_type)(v->tag & MCPI_TYPE) : MCP_JSON_NONE;
}

static bool mcpi_is_container(const mcp_json *v)
{
    return mcp_json_type(v) >= MCP_JSON_ARRAY;
}

static bool mcpi_has_text(const mcp_json *v)
{
    return mcp_json_type(v) == MCP_JSON_STRING || mcp_json_type(v) == MCP_JSON_NUMBER;
}

const mcp_json *mcp_json_first(const mcp_json *v)
{
    if (!mcpi_is_container(v) || !v->n) return NULL;
    return (v->tag & MCPI_TYPE) == MCP_JSON_OBJECT ? v + 2 : v + 1;
}

const mcp_json *mcp_json_next(const mcp_json *v)
{
    if (!v || v->tag & MCPI_LAST) return NULL;
    return v + (mcpi_is_container(v) ? v->u.span : 1) + (v->tag & MCPI_MEMBER ? 1 : 0);
}

const char *mcp_json_keyn(const mcp_json *v, size_t *len)
{
    bool member = v && v->tag & MCPI_MEMBER;
    if (len) *len = member ? v[-1].n : 0;
    return member ? v[-1].u.text : NULL;
}

const char *mcp_json_key(const mcp_json *v)
{
    return mcp_json_keyn(v, NULL);
}

size_t mcp_json_size(const mcp_json *v)
{
    return v ? v->n : 0;
}

const char *mcp_json_text(const mcp_json *v, size_t *len)
{
    bool text = mcpi_has_text(v);
    if (len) *len = text ? v->n : 0;
    return text ? v->u.text : NULL;
}

const char *mcp_json_str(const mcp_json *v, const char *fallback)
{
    return mcp_json_type(v) == MCP_JSON_STRING ? v->u.text : fallback;
}

bool mcp_json_bool(const mcp_json *v, bool fallback)
{
    return mcp_json_type(v) == MCP_JSON_BOOL ? (v->tag & MCPI_TRUE) != 0 : fallback;
}

/* What stands behind a value that is not NULL: its parent's next key or element, if there is one. */
static inline const mcp_json *mcpi_behind(const mcp_json *v)
{
    return v + ((v->tag & MCPI_TYPE) >= MCP_JSON_ARRAY ? v->u.span : 1);
}

/* for (each key of a value that is an object): the member's value is k[1]. */
#define mcpi_each_key(k, left, object) \
    for (left = (object)->n, k = (object) + 1; left; left--, k = mcpi_behind(k + 1))

const mcp_json *mcp_json_getn(const mcp_json *v, const char *key, size_t key_len)
{
    const mcp_json *k, *found = NULL;
    uint32_t left;
    if (!v || mcp_json_type(v) != MCP_JSON_OBJECT || !key) return NULL;
    mcpi_each_key(k, left, v)
        if (k->n == key_len && memcmp(k->u.text, key, key_len) == 0) found = k + 1;
    return found;
}

const mcp_json *mcp_json_get(const mcp_json *v, const char *key)
{
    return v && key ? mcp_json_getn(v, key, strlen(key)) : NULL;
}

/* Is the key of member v the pointer's token [t, end), in which ~0 is ~ and ~1 is / ? */
static bool mcpi_token_is(const mcp_json *v, const char *t, const char *end)
{
    const char *k = v[-1].u.text, *k_end = k + v[-1].n;
    for (; t < end && k < k_end; t++, k++) {
        char c = *t;
        if (c == '~') c = *++t == '1' ? '/' : '~';
        if (c != *k) return false;
    }
    return t == end && k == k_end;
}

/* A token that is no index: past the end of any array. */
static uint64_t mcpi_token_index(const char *t, const char *end)
{
    uint64_t i = 0;
    if (t == end || mcpi_digits(t, end) != end || (*t == '0' && end - t > 1)) return UINT64_MAX;
    for (; t < end; t++) {
        if (i > UINT32_MAX) return UINT64_MAX;
        i = i * 10 + (uint64_t)(*t - '0');
    }
    return i;
}

const mcp_json *mcp_json_at(const mcp_json *v, const char *pointer)
{
    const char *p = pointer, *end;
    if (!p) return NULL;
    while (v && *p) {
        const mcp_json *item = mcp_json_first(v), *found = NULL;
        if (*p++ != '/') return NULL;
        for (end = p; *end && *end != '/'; end++)
            if (*end == '~' && end[1] != '0' && end[1] != '1') return NULL;
        if (mcp_json_type(v) == MCP_JSON_ARRAY) {
            uint64_t i = mcpi_token_index(p, end);
            if (i < v->n) {
                while (i--) item = mcp_json_next(item);
                found = item;
            }
        } else
            for (; item; item = mcp_json_next(item))
                if (mcpi_token_is(item, p, end)) found = item;
        v = found;
        p = end;
    }
    return v;
}

static MCP_UNUSED bool mcpi_is(const mcp_json *v, const char *literal)
{
    size_t n = strlen(literal);
    return mcp_json_type(v) == MCP_JSON_STRING && v->n == n && memcmp(v->u.text, literal, n) == 0;
}

/* The bytes a string holds behind its text: a NUL, and the second form if there is one. */
static size_t mcpi_text_size(const mcp_json *v)
{
    if ((v->tag & MCPI_TYPE) == MCP_JSON_NUMBER) return v->n;
    return v->tag & MCPI_LONE ? 2 * (size_t)v->n + 2 : (size_t)v->n + 1;
}

/* Scalars that say the same: strings by what was sent, numbers by their digits. */
static MCP_UNUSED bool mcpi_equal(const mcp_json *a, const mcp_json *b)
{
    const uint32_t kind = MCPI_TYPE | MCPI_TRUE | MCPI_LONE;
    if (a == b) return true;
    if (!a || !b || (a->tag & kind) != (b->tag & kind) || mcpi_is_container(a)) return false;
    return a->n == b->n && (!mcpi_has_text(a) || memcmp(a->u.text, b->u.text, mcpi_text_size(a)) == 0);
}

const mcp_json *mcp_json_copy(mcp_arena *a, const mcp_json *v)
{
    size_t nodes, bytes = 0, i;
    mcp_json *copy;
    char *text;
    if (!v || !a) return NULL;
    nodes = mcpi_is_container(v) ? v->u.span : 1;
    for (i = 0; i < nodes; i++)
        if (mcpi_has_text(v + i)) bytes += mcpi_text_size(v + i);
    copy = (mcp_json *)mcp_arena_alloc(a, nodes * sizeof *copy);
    text = copy ? (char *)mcp_arena_alloc(a, bytes) : NULL;
    if (!text) return NULL;
    memcpy(copy, v, nodes * sizeof *copy);
    for (i = 0; i < nodes; i++) {
        if (!mcpi_has_text(v + i)) continue;
        memcpy(text, v[i].u.text, mcpi_text_size(v + i));
        copy[i].u.text = text;
        text += mcpi_text_size(v + i);
    }
    copy->tag = (copy->tag & ~MCPI_MEMBER) | MCPI_LAST;
    return copy;
}

/* -- numbers: exact in both directions ------------------------------------------------------------------- */
/* A number's text becomes digits * 10^e first, which is all that integers need. For a double, w * 10^e is
   computed to 128 bits from two small tables, with a bound of the error. When the bound leaves open to which
   of two neighbours the number is nearer (about once in 2^60, and at exact halves), a long comparison in
   whole numbers decides. No floating point arithmetic is done: the rounding mode, the precision of the x87
   and the locale do not matter. Printing is Steele and White's and Dragon4's method on the same long numbers:
   the shortest digits that read back as the same double, and of these the nearest. */

typedef struct mcpi_decimal {
    uint64_t w;                             /* w * 10^e */
    int64_t e;
    bool negative;
    bool more;                              /* digits were left out: below (w + 1) * 10^e, and w > 2^57 */
} mcpi_decimal;

/* What stands behind the digits: nothing, or e and the exponent. One of more digits than a text can make up
   for is cut. */
static int64_t mcpi_exponent(const char *p, const char *end)
{
    int64_t e = 0, sign = 1;
    if (p == end) return 0;
    if (*++p == '-' || *p == '+') sign = *p++ == '-' ? -1 : 1;
    for (; p < end; p++)
        if (e < INT64_C(1000000000000000)) e = e * 10 + (*p - '0');
    return sign * e;
}

/* Reads the digits into w until it is full. Zeros are held back until another digit follows, so that 1000...0
   stays exact however long it is, and a number that has a fraction is known by e < 0 (in short numbers w may
   end in zeros). */
static mcpi_decimal mcpi_decimal_read(const char *p, size_t n)
{
    const char *end = p + n, *point = NULL;
    mcpi_decimal d;
    int64_t zeros = 0;                      /* zeros that were read and are not in w yet */
    bool fraction = false;
    d.w = 0;
    d.e = 0;
    d.negative = *p == '-';
    d.more = false;
    if (d.negative) p++;
    if (n < 20) {                           /* nothing can overflow */
        for (; MCPI_FAST && p < end && (unsigned char)(*p - '0') < 10; p++) d.w = d.w * 10 + (unsigned)(*p - '0');
        for (; p < end && (*p | 32) != 'e'; p++) {
            if (*p == '.') point = p + 1;
            else d.w = d.w * 10 + (unsigned)(*p - '0');
        }
        if (point) d.e = point - p;
        if (p < end) d.e += mcpi_exponent(p, end);
        return d;
    }
    for (; p < end && (*p | 32) != 'e'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (*p == '.') { fraction = true; continue; }
        d.e -= fraction;
        if (d.more) d.e++;
        else if (digit == 0) zeros += d.w != 0;
        else {
            uint64_t w = d.w;
            int64_t k = zeros;
            while (k && w <= UINT64_MAX / 100) { w *= 10; k--; }
            d.more = k || w > (UINT64_MAX - digit) / 10;
            d.w = d.more ? w : w * 10 + digit;
            d.e += d.more;
            zeros = k;
        }
    }
    d.e += zeros + mcpi_exponent(p, end);
    return d;
}

/* 10^(27 k) for k = -13 to 11: the 128 highest bits, cut off. */
static const uint64_t mcpi_ten27[25][2] = {
    { UINT64_C(0x8049A4AC0C5811AE), UINT64_C(0x205B896D777D6278) },
    { UINT64_C(0xCF42894A5DCE35EA), UINT64_C(0x52064CAC828675B9) },
    { UINT64_C(0xA76C582338ED2621), UINT64_C(0xAF2AF2B80AF6F24E) },
    { UINT64_C(0x873E4F75E2224E68), UINT64_C(0x5A7744A6E804A291) },
    { UINT64_C(0xDA7F5BF590966848), UINT64_C(0xAF39A475506A899E) },
    { UINT64_C(0xB080392CC4349DEC), UINT64_C(0xBD8D794D96AACFB3) },
    { UINT64_C(0x8E938662882AF53E), UINT64_C(0x547EB47B7282EE9C) },
    { UINT64_C(0xE65829B3046B0AFA), UINT64_C(0x0CB4A5A3112A5112) },
    { UINT64_C(0xBA121A4650E4DDEB), UINT64_C(0x92F34D62616CE413) },
    { UINT64_C(0x964E858C91BA2655), UINT64_C(0x3A6A07F8D510F86F) },
    { UINT64_C(0xF2D56790AB41C2A2), UINT64_C(0xFAE27299423FB9C3) },
    { UINT64_C(0xC428D05AA4751E4C), UINT64_C(0xAA97E14C3C26B886) },
    { UINT64_C(0x9E74D1B791E07E48), UINT64_C(0x775EA264CF55347D) },
    { UINT64_C(0x8000000000000000), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xCECB8F27F4200F3A), UINT64_C(0x0000000000000000) },
    { UINT64_C(0xA70C3C40A64E6C51), UINT64_C(0x999090B65F67D924) },
    { UINT64_C(0x86F0AC99B4E8DAFD), UINT64_C(0x69A028BB3DED71A3) },
    { UINT64_C(0xDA01EE641A708DE9), UINT64_C(0xE80E6F4820CC9495) },
    { UINT64_C(0xB01AE745B101E9E4), UINT64_C(0x5EC05DCFF72E7F8F) },
    { UINT64_C(0x8E41ADE9FBEBC27D), UINT64_C(0x14588F13BE847307) },
    { UINT64_C(0xE5D3EF282A242E81), UINT64_C(0x8F1668C8A86DA5FA) },
    { UINT64_C(0xB9A74A0637CE2EE1), UINT64_C(0x6D953E2BD7173692) },
    { UINT64_C(0x95F83D0A1FB69CD9), UINT64_C(0x4ABDAF101564F98E) },
    { UINT64_C(0xF24A01A73CF2DCCF), UINT64_C(0xBC633B39673C8CEC) },
    { UINT64_C(0xC3B8358109E84F07), UINT64_C(0x0A862F80EC4700C8) }
};

/* 5^r for r = 0 to 26. */
static const uint64_t mcpi_five[27] = {
    UINT64_C(1), UINT64_C(5), UINT64_C(25), UINT64_C(125), UINT64_C(625), UINT64_C(3125), UINT64_C(15625),
    UINT64_C(78125), UINT64_C(390625), UINT64_C(1953125), UINT64_C(9765625), UINT64_C(48828125),
    UINT64_C(244140625), UINT64_C(1220703125), UINT64_C(6103515625), UINT64_C(30517578125),
    UINT64_C(152587890625), UINT64_C(762939453125), UINT64_C(3814697265625), UINT64_C(19073486328125),
    UINT64_C(95367431640625), UINT64_C(476837158203125), UINT64_C(2384185791015625),
    UINT64_C(11920928955078125), UINT64_C(59604644775390625), UINT64_C(298023223876953125),
    UINT64_C(1490116119384765625)
};

/* a * b: returns the upper half, *low is the lower. */
static uint64_t mcpi_mul64(uint64_t a, uint64_t b, uint64_t *low)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 mcpi_u128;
    mcpi_u128 p = (mcpi_u128)a * b;
    *low = (uint64_t)p;
    return (uint64_t)(p >> 64);
#else
    uint64_t al = a & 0xFFFFFFFFu, ah = a >> 32, bl = b & 0xFFFFFFFFu, bh = b >> 32;
    uint64_t ll = al * bl, lh = al * bh, hl = ah * bl;
    uint64_t mid = (ll >> 32) + (lh & 0xFFFFFFFFu) + (hl & 0xFFFFFFFFu);
    *low = mid << 32 | (ll & 0xFFFFFFFFu);
    return ah * bh + (lh >> 32) + (hl >> 32) + (mid >> 32);
#endif
}

/* How many bits x has; 0 for 0. */
static int mcpi_bits(uint64_t x)
{
#if defined(__GNUC__) || defined(__clang__)
    return x ? 64 - __builtin_clzll(x) : 0;
#else
    int n = 0;
    for (; x; x >>= 1) n++;
    return n;
#endif
}

/* -- numbers: long ones ---------------------------------------------------------------------------------- */
/* Big enough for both sides of the comparison below (under 2,700 bits) and for printing (under 1,200). */

#define MCPI_LIMBS 96

typedef struct mcpi_big { int n; uint32_t limb[MCPI_LIMBS]; } mcpi_big;

/* times by, plus plus */
static void mcpi_big_mul(mcpi_big *b, uint32_t by, uint32_t plus)
{
    uint64_t carry = plus;
    int i;
    for (i = 0; i < b->n; i++) {
        carry += (uint64_t)b->limb[i] * by;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry && b->n < MCPI_LIMBS) b->limb[b->n++] = (uint32_t)carry;
}

static void mcpi_big_set(mcpi_big *b, uint64_t v)
{
    b->limb[0] = (uint32_t)v;
    b->limb[1] = (uint32_t)(v >> 32);
    b->n = b->limb[1] ? 2 : b->limb[0] ? 1 : 0;
}

/* times 2^bits */
static void mcpi_big_shift(mcpi_big *b, int bits)
{
    int words = bits / 32, i;
    if (bits % 32) mcpi_big_mul(b, (uint32_t)1 << bits % 32, 0);
    if (!words || !b->n || b->n + words > MCPI_LIMBS) return;
    for (i = b->n - 1; i >= 0; i--) b->limb[i + words] = b->limb[i];
    for (i = 0; i < words; i++) b->limb[i] = 0;
    b->n += words;
}

/* times 5^power; 5^13 is the highest that fits into a limb */
static void mcpi_big_mul_five(mcpi_big *b, int power)
{
    for (; power >= 13; power -= 13) mcpi_big_mul(b, 1220703125u, 0);
    mcpi_big_mul(b, (uint32_t)mcpi_five[power], 0);
}

/* Compares a + plus, which may be NULL, with b. */
static int mcpi_big_compare(const mcpi_big *a, const mcpi_big *plus, const mcpi_big *b)
{
    mcpi_big sum;
    int i;
    if (plus) {
        uint64_t carry = 0;
        sum.n = a->n > plus->n ? a->n : plus->n;
        for (i = 0; i < sum.n; i++) {
            carry += (uint64_t)(i < a->n ? a->limb[i] : 0) + (i < plus->n ? plus->limb[i] : 0);
            sum.limb[i] = (uint32_t)carry;
            carry >>= 32;
        }
        if (carry && sum.n < MCPI_LIMBS) sum.limb[sum.n++] = (uint32_t)carry;
        a = &sum;
    }
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (i = a->n - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i]) return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

/* a -= b, which is not greater. */
static void mcpi_big_sub(mcpi_big *a, const mcpi_big *b)
{
    int64_t carry = 0;
    int i;
    for (i = 0; i < a->n; i++) {
        carry += (int64_t)a->limb[i] - (i < b->n ? (int64_t)b->limb[i] : 0);
        a->limb[i] = (uint32_t)(uint64_t)carry;
        carry = carry < 0 ? -1 : 0;
    }
    while (a->n && !a->limb[a->n - 1]) a->n--;
}

/* Is the number at p above (1), at (0) or below (-1) the middle between m * 2^x and (m + 1) * 2^x? Both sides
   are multiplied by what makes them whole: powers of five on one side, the twos that are left over on the
   other. The middle between doubles has at most 767 digits, so of the digits beyond 768 only matters whether
   one is not 0. */
static int mcpi_compare_middle(const char *p, const char *end, uint64_t m, int x)
{
    mcpi_big number, middle;
    int e, digits = 0, twos;
    bool fraction = false, rest = false;
    int64_t exponent = 0;
    number.n = 0;
    if (*p == '-') p++;
    for (; p < end && (*p | 32) != 'e'; p++) {
        if (*p == '.') { fraction = true; continue; }
        if (digits < 768) {
            mcpi_big_mul(&number, 10, (uint32_t)(*p - '0'));
            digits += number.n != 0;
            exponent -= fraction;
        } else {
            rest = rest || *p != '0';
            exponent += !fraction;
        }
    }
    if (rest) { mcpi_big_mul(&number, 10, 1); exponent--; }
    e = (int)(exponent + mcpi_exponent(p, end));            /* -1,120 to 310, else we were not asked */
    mcpi_big_set(&middle, 2 * m + 1);
    mcpi_big_mul_five(e < 0 ? &middle : &number, e < 0 ? -e : e);
    twos = e - (x - 1);
    mcpi_big_shift(twos < 0 ? &middle : &number, twos < 0 ? -twos : twos);
    return mcpi_big_compare(&number, NULL, &middle);
}

/* -- numbers: text to double ----------------------------------------------------------------------------- */

static double mcpi_double(const char *p, size_t n)
{
    mcpi_decimal d = mcpi_decimal_read(p, n);
    uint64_t bits = 0, m, high, low, rest, err_high = d.more ? 1u << 8 : 0, err_low = 8, sum;
    int k, r, z, x, drop;
    double value;

    if (d.e == 0 && d.w >> 53 == 0) {       /* exact, whatever the rounding mode */
        value = (double)d.w;
        return d.negative ? -value : value;
    }
    if (d.w == 0 || d.e < -345) goto done;
    bits = UINT64_C(0x7FF) << 52;
    if (d.e > 310) goto done;

    /* 10^e = 10^(27 k) * 5^r * 2^r. First w * 5^r, which fits into 128 bits, moved up until its highest bit
       is set; then times 10^(27 k), of which the upper 128 bits are kept. high:low * 2^(x - 127) is the
       number. What was cut off from the table and the product is less than 8 in the last place; what was cut
       off from w, less than 2^72. */
    k = ((int)d.e + 27 * 13) / 27 - 13;
    r = (int)d.e - 27 * k;
    high = mcpi_mul64(d.w, mcpi_five[r], &low);
    z = 64 - mcpi_bits(high);
    if (z == 64) { high = low; low = 0; z += 64 - mcpi_bits(high); high <<= z - 64; }
    else if (z) { high = high << z | low >> (64 - z); low <<= z; }
    x = 127 - z + r;
    if (k) {
        uint64_t a, b, lost;
        const uint64_t *t = mcpi_ten27[k + 13];
        a = mcpi_mul64(high, t[1], &lost);
        b = mcpi_mul64(low, t[0], &lost);
        high = mcpi_mul64(high, t[0], &low);
        low += a;
        high += low < a;
        low += b;
        high += low < b;
        x += ((27 * k * 217706 + (1 << 26)) >> 16) - 1024;
        if (high >> 63) x++;
        else { high = high << 1 | low >> 63; low <<= 1; }
    }

    /* The double has 53 bits of this, less when it is subnormal: `drop` bits go. They lie below or above the
       middle, unless the error that is possible reaches over it. */
    drop = x < -1022 ? 75 - 1022 - x : 75;
    if (x > 1023) goto done;
    bits = 0;
    if (drop > 130) goto done;
    x = x < -1022 ? -1074 : x - 52;
    if (drop >= 128) {
        m = 0;
        z = mcpi_compare_middle(p, p + n, m, x);
    } else {
        m = high >> (drop - 64);
        rest = high & ((UINT64_C(1) << (drop - 64)) - 1);
        z = rest >> (drop - 65) ? 1 : -1;
        sum = rest + err_high + (low + err_low < low);
        if (z < 0 ? sum >> (drop - 65) != 0 : rest == UINT64_C(1) << (drop - 65) && low == 0)
            z = mcpi_compare_middle(p, p + n, m, x);
    }
    if (z > 0 || (z == 0 && m & 1)) m++;
    bits = ((uint64_t)(x + 1074) << 52) + m;
done:
    bits |= (uint64_t)d.negative << 63;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double mcp_json_num(const mcp_json *v, double fallback)
{
    return mcp_json_type(v) == MCP_JSON_NUMBER ? mcpi_double(v->u.text, v->n) : fallback;
}

/* The size of an integral number; false: it is no number, has a fraction, or is over 64 bits. */
static bool mcpi_integer(const mcp_json *v, uint64_t *size, bool *negative)
{
    mcpi_decimal d;
    if (mcp_json_type(v) != MCP_JSON_NUMBER) return false;
    d = mcpi_decimal_read(v->u.text, v->n);
    while (d.e < 0 && d.w % 10 == 0 && d.w) { d.w /= 10; d.e++; }
    if (d.w && (d.more || d.e < 0)) return false;
    for (; d.w && d.e; d.e--) {
        if (d.w > UINT64_MAX / 10) return false;
        d.w *= 10;
    }
    *size = d.w;
    *negative = d.negative && d.w;
    return true;
}

bool mcp_json_uint(const mcp_json *v, uint64_t *out)
{
    uint64_t u;
    bool negative;
    if (!mcpi_integer(v, &u, &negative) || negative) return false;
    if (out) *out = u;
    return true;
}

int64_t mcp_json_int(const mcp_json *v, int64_t fallback)
{
    uint64_t u;
    bool negative;
    if (!mcpi_integer(v, &u, &negative) || u > (uint64_t)INT64_MAX + negative) return fallback;
    return negative ? -(int64_t)(u - 1) - 1 : (int64_t)u;
}

/* -- numbers: double to text ----------------------------------------------------------------------------- */

/* The shortest digits of m * 2^x, m > 0, and where the point is: 0.DIGITS * 10^point. `uneven`: the neighbour
   below is half as far away as the one above. */
/* All that is within half the distance to a neighbour reads back as this double, and the ends of that range
   do if m is even. Digits are made until what is left is that close to 0, or that close to one more in the
   last place. */
static int mcpi_shortest(uint64_t m, int x, bool uneven, char *digits, int *point)
{
    mcpi_big v, unit, gap, gap_up;          /* what is left is v / unit; gap: half way to a neighbour */
    int k, n = 0, even = !(m & 1);
    mcpi_big_set(&v, m);
    mcpi_big_set(&unit, 1);
    mcpi_big_set(&gap, 1);
    mcpi_big_shift(&v, 1 + uneven + (x > 0 ? x : 0));
    mcpi_big_shift(&gap, x > 0 ? x : 0);
    mcpi_big_shift(&unit, 1 + uneven + (x < 0 ? -x : 0));
    /* The decimal exponent, or one too low: log10(2) is 78913 / 2^18. */
    k = (((mcpi_bits(m) + x - 1) * 78913 + (1 << 28)) >> 18) - 1024 + 1;
    if (k > 0) { mcpi_big_mul_five(&unit, k); mcpi_big_shift(&unit, k); }
    if (k < 0) {
        mcpi_big_mul_five(&v, -k); mcpi_big_shift(&v, -k);
        mcpi_big_mul_five(&gap, -k); mcpi_big_shift(&gap, -k);
    }
    gap_up = gap;
    if (uneven) mcpi_big_shift(&gap_up, 1);
    if (mcpi_big_compare(&v, &gap_up, &unit) + even > 0) { mcpi_big_mul(&unit, 10, 0); k++; }
    *point = k;
    for (;;) {
        char digit = '0';
        bool low, high;
        mcpi_big_mul(&v, 10, 0);
        mcpi_big_mul(&gap, 10, 0);
        mcpi_big_mul(&gap_up, 10, 0);
        for (; mcpi_big_compare(&v, NULL, &unit) >= 0; digit++) mcpi_big_sub(&v, &unit);
        low = mcpi_big_compare(&v, NULL, &gap) - even < 0;
        high = mcpi_big_compare(&v, &gap_up, &unit) + even > 0;
        if (low && high) {                  /* either would do: the nearer one */
            int half = mcpi_big_compare(&v, &v, &unit);
            high = half > 0 || (half == 0 && digit & 1);
        }
        digits[n++] = (char)(digit + high);
        if (low || high) return n;
    }
}

/* Writes a finite double in at most 32 bytes: plainly up to 21 digits before the point or 5 zeros behind it,
   else with an exponent, as JavaScript does. Only -0.0 has a point of its own: as -0 many readers would take
   it for an integer. */
static size_t mcpi_print_double(char *out, double value)
{
    uint64_t bits, m;
    int n, point, x, i;
    char digits[20], *p = out;
    memcpy(&bits, &value, sizeof bits);
    m = bits & (UINT64_MAX >> 12);
    x = (int)(bits >> 52 & 0x7FF);
    if (bits >> 63) *p++ = '-';
    if (!x && !m) {
        if (bits) { memcpy(p, "0.0", 3); return 4; }
        *p = '0';
        return 1;
    }
    n = mcpi_shortest(x ? m | UINT64_C(1) << 52 : m, (x ? x : 1) - 1075, !m && x > 1, digits, &point);
    if (point > 21 || point < -5) {                         /* d.ddde-ddd */
        *p++ = digits[0];
        if (n > 1) *p++ = '.';
        for (i = 1; i < n; i++) *p++ = digits[i];
        *p++ = 'e';
        point--;
        if (point < 0) { *p++ = '-'; point = -point; }
        if (point >= 100) *p++ = (char)('0' + point / 100);
        if (point >= 10) *p++ = (char)('0' + point / 10 % 10);
        *p++ = (char)('0' + point % 10);
        return (size_t)(p - out);
    }
    if (point < 1) *p++ = '0';
    for (i = point < 1 ? point : 0; i < n || i < point; i++) {
        if (i == point) *p++ = '.';
        *p++ = i < 0 || i >= n ? '0' : digits[i];
    }
    return (size_t)(p - out);
}

/* -- base64 ---------------------------------------------------------------------------------------------- */

static const char mcpi_base64[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* What the characters from + to z stand for; 64: nothing. */
static const unsigned char mcpi_base64_value[80] = {
    62, 64, 64, 64, 63, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 64, 64, 64, 64, 64, 64, 64,
     0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    64, 64, 64, 64, 64, 64,
    26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51
};

static inline unsigned mcpi_base64_digit(char c)
{
    unsigned i = (unsigned)(unsigned char)c - '+';
    return i < sizeof mcpi_base64_value ? mcpi_base64_value[i] : 64;
}

/* Four digits at a time while nothing is in the way, else one by one. Fails on a character that does not
   belong, on padding that is wrong, and on a single digit left over. Bits left over are ignored. */
static bool mcpi_base64_decode(const char *p, size_t n, unsigned char *out, size_t *size)
{
    const char *end = p + n;
    unsigned char *o = out;
    unsigned bits = 0, have = 0, pad = 0, v;
    for (;;) {
        while (MCPI_FAST && have == 0 && end - p >= 4 && !pad) {
            unsigned a = mcpi_base64_digit(p[0]), b = mcpi_base64_digit(p[1]);
            unsigned c = mcpi_base64_digit(p[2]), d = mcpi_base64_digit(p[3]);
            if ((a | b | c | d) & 64) break;
            bits = a << 18 | b << 12 | c << 6 | d;
            o[0] = (unsigned char)(bits >> 16);
            o[1] = (unsigned char)(bits >> 8);
            o[2] = (unsigned char)bits;
            o += 3;
            p += 4;
        }
        if (p == end) break;
        v = mcpi_base64_digit(*p);
        if (*p == '=') { if (++pad > 2 || have + pad > 4 || have < 2) return false; }
        else if (v < 64) {
            if (pad) return false;
            bits = bits << 6 | v;
            if (++have == 4) {
                *o++ = (unsigned char)(bits >> 16);
                *o++ = (unsigned char)(bits >> 8);
                *o++ = (unsigned char)bits;
                have = 0;
            }
        } else if (!mcpi_is_blank(*p)) return false;
        p++;
    }
    if (have == 1 || (pad && have + pad != 4)) return false;
    if (have == 2) *o++ = (unsigned char)(bits >> 4);
    if (have == 3) { *o++ = (unsigned char)(bits >> 10); *o++ = (unsigned char)(bits >> 2); }
    *size = (size_t)(o - out);
    return true;
}

const void *mcp_json_base64(mcp_arena *a, const mcp_json *v, size_t *len)
{
    unsigned char *out;
    size_t size = 0;
    if (len) *len = 0;
    if (mcp_json_type(v) != MCP_JSON_STRING) return NULL;
    out = (unsigned char *)mcp_arena_alloc(a, (size_t)v->n / 4 * 3 + 3);
    if (!out || !mcpi_base64_decode(v->u.text, v->n, out, &size)) return NULL;
    if (len) *len = size;
    return out;
}

/* -- the writer ------------------------------------------------------------------------------------------ */
/* What is written stands in one buffer that grows. The writer knows the kind of each open container by one
   bit, so it can refuse what would not be JSON. There is always room for a NUL behind the text. */

#define MCPI_WRITER_DEPTH 512u

void mcp_writer_init(mcp_writer *w, const mcp_allocator *alloc, size_t limit)
{
    if (!w) return;
    memset(w, 0, sizeof *w);
    if (alloc) w->alloc = *alloc;
    w->limit = limit;
}

void mcp_writer_fixed(mcp_writer *w, char *memory, size_t size)
{
    mcp_writer_init(w, NULL, 0);
    if (!w) return;
    w->fixed = true;
    w->buf = memory;
    w->cap = memory ? size : 0;
}

void mcp_writer_reset(mcp_writer *w)
{
    if (!w) return;
    w->len = 0;
    w->status = MCP_OK;
    w->depth = 0;
    w->comma = w->done = false;
}

void mcp_writer_free(mcp_writer *w)
{
    if (!w) return;
    if (!w->fixed) {
        mcpi_free(&w->alloc, w->buf, w->cap);
        w->buf = NULL;
        w->cap = 0;
    }
    mcp_writer_reset(w);
}

int mcp_writer_status(const mcp_writer *w)
{
    return w ? w->status : MCP_ERR_ARGUMENT;
}

static bool mcpi_put_fail(mcp_writer *w, int status)
{
    if (w->status == MCP_OK) w->status = status;
    return false;
}

static bool mcpi_writer_more(mcp_writer *w, size_t n)
{
    size_t need = w->len + n + 1;
    if (need <= n || w->fixed || (w->limit && need - 1 > w->limit)) return mcpi_put_fail(w, MCP_ERR_LIMIT);
    if (mcpi_grow(&w->alloc, &w->buf, &w->cap, need, w->limit ? w->limit + 1 : 0)) return true;
    return mcpi_put_fail(w, MCP_ERR_MEMORY);
}

/* Room for n more bytes, and the NUL. */
static inline bool mcpi_writer_reserve(mcp_writer *w, size_t n)
{
    return w->status == MCP_OK && (n < w->cap - w->len || mcpi_writer_more(w, n));
}

const char *mcp_writer_text(mcp_writer *w, size_t *len)
{
    bool whole = w && w->status == MCP_OK && w->depth == 0 && w->done && mcpi_writer_reserve(w, 0);
    if (len) *len = whole ? w->len : 0;
    if (!whole) return NULL;
    w->buf[w->len] = 0;
    return w->buf;
}

/* Appends bytes as they are. */
static void mcpi_put_bytes(mcp_writer *w, const char *bytes, size_t n)
{
    if (!n || !mcpi_writer_reserve(w, n)) return;
    memcpy(w->buf + w->len, bytes, n);
    w->len += n;
}

/* Text of our own that ends a value or stands between values. */
#define MCPI_PUT_LITERAL(w, literal) do { \
        if (!MCPI_FAST) mcpi_put_bytes(w, literal, sizeof literal - 1); \
        else if (mcpi_writer_reserve(w, sizeof literal - 1)) { \
            memcpy((w)->buf + (w)->len, literal, sizeof literal - 1); \
            (w)->len += sizeof literal - 1; \
        } } while (0)

static inline void mcpi_put_char(mcp_writer *w, char c)
{
    if (mcpi_writer_reserve(w, 1)) w->buf[w->len++] = c;
}

/* What is written for the special byte at *p (which does not begin a well-formed UTF-8 sequence), to out (6
   bytes); moves *p behind it. `lone`: lone surrogates (in their three bytes) become escapes. */
static size_t mcpi_put_special(const char **p, const char *end, bool lone, char *out)
{
    static const char hex[17] = "0123456789abcdef";
    const unsigned char *u = (const unsigned char *)*p;
    unsigned c = u[0];
    int k;
    out[0] = '\\';
    if (c < 0x80) {
        out[1] = c < 14 ? "uuuuuuuubtnufr"[c] : c < 0x20 ? 'u' : (char)c;
        ++*p;
        if (out[1] != 'u') return 2;
    } else {
        if (!lone || c != 0xED || end - *p < 3) {
            *p -= mcpi_utf8(*p, end);
            memcpy(out, MCPI_FFFD, 3);
            return 3;
        }
        c = 0xD000 | (unsigned)(u[1] & 0x3F) << 6 | (u[2] & 0x3F);
        out[1] = 'u';
        *p += 3;
    }
    for (k = 0; k < 4; k++) out[2 + k] = hex[c >> (12 - 4 * k) & 15];
    return 6;
}

/* Writes a string with its quotes, and before and behind it one character each if it is not 0. No byte of s
   becomes less than one, so there is always room for what is left of s and for the end. */
static void mcpi_put_quoted(mcp_writer *w, char before, const char *s, size_t n, char behind, bool lone)
{
    const char *end;
    char *d, special[6];
    size_t k;
    if (n > MCP_NTS / 2) { mcpi_put_fail(w, MCP_ERR_LIMIT); return; }
    if (!mcpi_writer_reserve(w, n + 2 + (before != 0) + (behind != 0))) return;
    end = s + n;
    d = w->buf + w->len;
    if (before) *d++ = before;
    *d++ = '"';
    for (;;) {
        k = (size_t)(end - s);
        if (MCPI_FAST && k >= MCPI_WIDE) {
            memcpy(d, s, MCPI_WIDE);
            k = mcpi_plain(s);
            if (k == MCPI_WIDE) {                           /* so that the next step need not wait for k */
                d += MCPI_WIDE;
                s += MCPI_WIDE;
                continue;
            }
            d += k;
            s += k;
        } else if (MCPI_FAST && k < 16 && mcpi_move_plain(d, s, k)) {
            d += k;
            break;
        } else
            while (s < end && !mcpi_special(*s)) *d++ = *s++;
        if (s == end) break;
        if (*s & 0x80) {
            const char *from = s;
            s = mcpi_utf8_run(s, end);
            if (s != from) {
                memcpy(d, from, (size_t)(s - from));
                d += s - from;
                continue;
            }
        }
        k = mcpi_put_special(&s, end, lone, special);
        w->len = (size_t)(d - w->buf);
        if (!mcpi_writer_reserve(w, k + (size_t)(end - s) + 1 + (behind != 0))) return;
        d = w->buf + w->len;
        memcpy(d, special, k);
        d += k;
    }
    *d++ = '"';
    if (behind) *d++ = behind;
    w->len = (size_t)(d - w->buf);
}

/* The kinds are one bit per level: 1 for an object. */
static inline bool mcpi_in_object(const mcp_writer *w)
{
    return w->depth && (w->kinds[(w->depth - 1) / 32] >> (w->depth - 1) % 32 & 1);
}

/* What stands before a value: the comma, and in an object the key. False: no value may come here, or it had
   no room. The key of a member that is copied may hold NULs: it is known by its address. */
static bool mcpi_put_begin(mcp_writer *w, const char *key, const mcp_json *copied)
{
    size_t n;
    if (!w || w->status != MCP_OK) return false;
    if (mcpi_in_object(w) != (key != NULL)) return mcpi_put_fail(w, MCP_ERR_ARGUMENT);
    if (w->done && !w->depth) return mcpi_put_fail(w, MCP_ERR_ARGUMENT);
    if (key) {
        n = copied && copied->tag & MCPI_MEMBER && key == copied[-1].u.text ? copied[-1].n : strlen(key);
        mcpi_put_quoted(w, w->comma ? ',' : 0, key, n, ':', false);
    } else if (w->comma) mcpi_put_char(w, ',');
    w->comma = w->done = true;
    return w->status == MCP_OK;
}

static bool mcpi_put_key(mcp_writer *w, const char *key)
{
    return mcpi_put_begin(w, key, NULL);
}

/* The opening bracket, after mcpi_put_begin. */
static bool mcpi_put_open(mcp_writer *w, bool object)
{
    uint32_t bit = (uint32_t)1 << w->depth % 32;
    if (w->depth == MCPI_WRITER_DEPTH) return mcpi_put_fail(w, MCP_ERR_LIMIT);
    if (object) w->kinds[w->depth / 32] |= bit;
    else w->kinds[w->depth / 32] &= ~bit;
    w->depth++;
    w->comma = false;
    mcpi_put_char(w, object ? '{' : '[');
    return w->status == MCP_OK;
}

static void mcpi_put_close(mcp_writer *w)
{
    mcpi_put_char(w, mcpi_in_object(w) ? '}' : ']');
    w->depth--;
    w->comma = true;
}

void mcp_put_object(mcp_writer *w, const char *key)
{
    if (mcpi_put_key(w, key)) mcpi_put_open(w, true);
}

void mcp_put_array(mcp_writer *w, const char *key)
{
    if (mcpi_put_key(w, key)) mcpi_put_open(w, false);
}

void mcp_put_end(mcp_writer *w)
{
    if (!w || w->status != MCP_OK) return;
    if (w->depth) mcpi_put_close(w);
    else mcpi_put_fail(w, MCP_ERR_ARGUMENT);
}

/* A value whose text is known, after its key: trusted. */
static void mcpi_put_splice(mcp_writer *w, const char *key, const char *json, size_t n)
{
    if (mcpi_put_key(w, key)) mcpi_put_bytes(w, json, n);
}

void mcp_put_null(mcp_writer *w, const char *key)
{
    mcpi_put_splice(w, key, "null", 4);
}

void mcp_put_bool(mcp_writer *w, const char *key, bool b)
{
    mcpi_put_splice(w, key, b ? "true" : "false", b ? 4 : 5);
}

void mcp_put_strn(mcp_writer *w, const char *key, const char *s, size_t len)
{
    if (!s) mcp_put_null(w, key);
    else if (mcpi_put_key(w, key)) mcpi_put_quoted(w, 0, s, len == MCP_NTS ? strlen(s) : len, 0, false);
}

void mcp_put_str(mcp_writer *w, const char *key, const char *s)
{
    mcp_put_strn(w, key, s, MCP_NTS);
}

static void mcpi_put_integer(mcp_writer *w, const char *key, uint64_t u, bool negative)
{
    char digits[24], *end = digits + sizeof digits, *p = mcpi_to_decimal(end, u);
    if (negative) *--p = '-';
    mcpi_put_splice(w, key, p, (size_t)(end - p));
}

void mcp_put_uint(mcp_writer *w, const char *key, uint64_t n)
{
    mcpi_put_integer(w, key, n, false);
}

void mcp_put_int(mcp_writer *w, const char *key, int64_t n)
{
    mcpi_put_integer(w, key, n < 0 ? 0 - (uint64_t)n : (uint64_t)n, n < 0);
}

void mcp_put_num(mcp_writer *w, const char *key, double n)
{
    char text[32];
    uint64_t bits;
    memcpy(&bits, &n, sizeof bits);
    if ((bits >> 52 & 0x7FF) != 0x7FF) mcpi_put_splice(w, key, text, mcpi_print_double(text, n));
    else if (w) mcpi_put_fail(w, MCP_ERR_ARGUMENT);
}

void mcp_put_base64(mcp_writer *w, const char *key, const void *data, size_t len)
{
    const unsigned char *s = (const unsigned char *)(data ? data : ""), *end;
    unsigned v;
    char *d;
    if (!mcpi_put_key(w, key)) return;
    if (!data && len) { mcpi_put_fail(w, MCP_ERR_ARGUMENT); return; }
    if (len > MCP_NTS / 2) { mcpi_put_fail(w, MCP_ERR_LIMIT); return; }
    if (!mcpi_writer_reserve(w, len / 3 * 4 + (len % 3 ? 4 : 0) + 2)) return;
    d = w->buf + w->len;
    *d++ = '"';
    for (end = s + len / 3 * 3; s < end; s += 3, d += 4) {
        v = (unsigned)s[0] << 16 | (unsigned)s[1] << 8 | s[2];
        d[0] = mcpi_base64[v >> 18];
        d[1] = mcpi_base64[v >> 12 & 63];
        d[2] = mcpi_base64[v >> 6 & 63];
        d[3] = mcpi_base64[v & 63];
    }
    if (len % 3) {
        v = (unsigned)s[0] << 16 | (len % 3 == 2 ? (unsigned)s[1] << 8 : 0);
        *d++ = mcpi_base64[v >> 18];
        *d++ = mcpi_base64[v >> 12 & 63];
        *d++ = len % 3 == 2 ? mcpi_base64[v >> 6 & 63] : '=';
        *d++ = '=';
    }
    *d++ = '"';
    w->len = (size_t)(d - w->buf);
}

static void mcpi_put_scalar(mcp_writer *w, const mcp_json *v, bool lexeme)
{
    bool yes = v->tag & MCPI_TRUE;
    switch (v->tag & MCPI_TYPE) {
    case MCP_JSON_STRING:
        if (lexeme && v->tag & MCPI_LONE) mcpi_put_quoted(w, 0, v->u.text + v->n + 1, v->n, 0, true);
        else mcpi_put_quoted(w, 0, v->u.text, v->n, 0, false);
        break;
    case MCP_JSON_NUMBER: mcpi_put_bytes(w, v->u.text, v->n); break;
    case MCP_JSON_BOOL:   mcpi_put_bytes(w, yes ? "true" : "false", yes ? 4 : 5); break;
    default:              mcpi_put_bytes(w, "null", 4); break;
    }
}

/* Writes a scalar as it came: a number's digits, a string with its lone surrogates. */
static MCP_UNUSED void mcpi_put_lexeme(mcp_writer *w, const char *key, const mcp_json *v)
{
    if (!v || mcpi_is_container(v)) mcp_put_json(w, key, v);
    else if (mcpi_put_key(w, key)) mcpi_put_scalar(w, v, true);
}

/* The nodes of a subtree stand in a row in the order of the text, so they are written in a row; only the ends
   of containers have to be found. A bit per level tells whether the container that is open there is its
   parent's last. */
void mcp_put_json(mcp_writer *w, const char *key, const mcp_json *v)
{
    uint32_t lasts[MCPI_WRITER_DEPTH / 32], base = w ? w->depth : 0;
    if (!v) { mcp_put_null(w, key); return; }
    while (mcpi_put_begin(w, key, v)) {
        bool last = (v->tag & MCPI_LAST) != 0;
        if (mcpi_is_container(v)) {
            uint32_t at = w->depth, bit = (uint32_t)1 << at % 32;
            if (!mcpi_put_open(w, (v->tag & MCPI_TYPE) == MCP_JSON_OBJECT)) return;
            if (last) lasts[at / 32] |= bit;
            else lasts[at / 32] &= ~bit;
            last = !v->n;
            if (last) {
                mcpi_put_close(w);
                last = lasts[at / 32] & bit;
            }
        } else mcpi_put_scalar(w, v, false);
        while (last && w->depth > base) {
            mcpi_put_close(w);
            last = lasts[w->depth / 32] >> w->depth % 32 & 1;
        }
        if (w->depth == base) return;
        v++;
        key = v->tag & MCPI_KEY ? v++->u.text : NULL;
    }
}

/* The end of the string that begins at p, or NULL if it is none. */
static const char *mcpi_scan_string(const char *p, const char *end)
{
    for (p++;;) {
        const char *q;
        p = mcpi_plain_end(p, end);
        if (p == end) return NULL;
        if (*p == '"') return p + 1;
        if (*p == '\\') {
            if (end - p < 2) return NULL;
            if (p[1] == 'u' ? mcpi_hex4(p + 2, end) < 0 : !mcpi_unescape(p[1])) return NULL;
            p += p[1] == 'u' ? 6 : 2;
            continue;
        }
        q = mcpi_utf8_run(p, end);
        if (q == p) return NULL;
        p = q;
    }
}

/* Copies one JSON text without its white space, checking it as it goes. It needs no tape: what may come next
   follows from the token before and from the kind of the innermost container, which the writer knows. What
   needs no change is copied in runs, so a compact text is copied at once. Lone surrogates stay the escapes
   they were. */
static bool mcpi_put_compact(mcp_writer *w, const char *p, const char *end)
{
    /* What may come. ITEM: a value, or the end of an empty array; MEMBER: a key, or the end of an empty
       object. */
    enum { MCPI_W_VALUE, MCPI_W_ITEM, MCPI_W_KEY, MCPI_W_MEMBER, MCPI_W_COLON, MCPI_W_MORE } want;
    const char *run = p;
    uint32_t base = w->depth;
    want = MCPI_W_VALUE;
    for (;;) {
        const char *blank = p;
        if (p < end && (unsigned char)*p <= ' ') {
            p = mcpi_blanks(p, end);
            mcpi_put_bytes(w, run, (size_t)(blank - run));
            run = p;
        }
        if (p == end) break;
        if (*p == '"' && want < MCPI_W_COLON) {
            p = mcpi_scan_string(p, end);
            if (!p) return false;
            want = want < MCPI_W_KEY ? MCPI_W_MORE : MCPI_W_COLON;
        } else if (*p == ':' && want == MCPI_W_COLON) {
            p++;
            want = MCPI_W_VALUE;
        } else if (*p == ',' && want == MCPI_W_MORE && w->depth > base) {
            p++;
            want = mcpi_in_object(w) ? MCPI_W_KEY : MCPI_W_VALUE;
        } else if ((*p == '}' || *p == ']') && w->depth > base && mcpi_in_object(w) == (*p == '}') &&
                   (want == MCPI_W_MORE || want == (*p == '}' ? MCPI_W_MEMBER : MCPI_W_ITEM))) {
            p++;
            w->depth--;
            want = MCPI_W_MORE;
        } else if (want > MCPI_W_ITEM) {
            return false;
        } else if (*p == '{' || *p == '[') {
            bool object = *p++ == '{';
            mcpi_put_bytes(w, run, (size_t)(p - 1 - run));
            run = p;
            if (!mcpi_put_open(w, object)) return false;
            want = object ? MCPI_W_MEMBER : MCPI_W_ITEM;
        } else {
            bool number = *p == '-' || (*p >= '0' && *p <= '9');
            if (!(number ? mcpi_scan_number(&p, end) : mcpi_scan_word(&p, end))) return false;
            want = MCPI_W_MORE;
        }
    }
    mcpi_put_bytes(w, run, (size_t)(p - run));
    w->comma = true;
    return want == MCPI_W_MORE && w->depth == base;
}

void mcp_put_raw(mcp_writer *w, const char *key, const char *json, size_t len)
{
    size_t mark = w ? w->len : 0;
    uint32_t depth = w ? w->depth : 0;
    if (!mcpi_put_key(w, key)) return;
    if (json && mcpi_put_compact(w, json, json + (len == MCP_NTS ? strlen(json) : len))) return;
    mcpi_put_fail(w, MCP_ERR_ARGUMENT);
    w->len = mark;
    w->depth = depth;
}
/* ============================================================================================================== *
 * >>rpc  JSON-RPC 2.0: messages, and the table of requests that wait for an answer                               *
 * ============================================================================================================== */
/* JSON-RPC is three shapes of one object: a request has method and id, a notification a method alone, an answer an id
   with either result or error. MCP narrows it: an id is a string or an integer and never null, params is an object,
   and a result is an object. https://modelcontextprotocol.io/specification/2026-07-28/basic#messages

   The classifier looks at each member of the envelope once. It is strict where two readers could see two different
   messages (a key that comes twice) and lenient where nothing can go wrong (unknown members). What it refuses keeps
   its id where that could be read, so that the sender's error finds its way home. */

#define MCPI_PARSE_ERROR         (-32700)
#define MCPI_INVALID_REQUEST     (-32600)
#define MCPI_METHOD_NOT_FOUND    (-32601)
#define MCPI_INVALID_PARAMS      (-32602)
#define MCPI_INTERNAL_ERROR      (-32603)
#define MCPI_RESOURCE_NOT_FOUND  (-32002)   /* legacy; since 2026-07-28 an invalid parameter */
#define MCPI_HEADER_MISMATCH     (-32020)
#define MCPI_MISSING_CAPABILITY  (-32021)
#define MCPI_UNSUPPORTED_VERSION (-32022)
#define MCPI_URL_ELICITATION     (-32042)   /* 2025-11-25 only */
#define MCPI_USER_REJECTED       (-1)       /* sampling, as the specification's example has it */
#define MCPI_BUSY                (-31000)   /* ours, outside the range that JSON-RPC and MCP reserve */

/* Words in one string, each with its NUL, an empty one at the end. (An array of pointers would need relocation, and
   so writable data, in every position-independent program.) The place of s among them, or -1. */
static MCP_UNUSED int mcpi_word_of(const char *words, const char *s)
{
    int i;
    for (i = 0; s && *words; words += strlen(words) + 1, i++)
        if (strcmp(words, s) == 0) return i;
    return -1;
}

static MCP_UNUSED const char *mcpi_word_at(const char *words, int i)
{
    while (i-- > 0) words += strlen(words) + 1;
    return words;
}

/* What is mixed in moves up by the multiplication, so the upper half of the product depends on all of it. */
static MCP_UNUSED uint32_t mcpi_hash(const char *s, size_t n)
{
    uint64_t h = n, w;
    for (; MCPI_FAST && n >= 8; n -= 8, s += 8) {
        memcpy(&w, s, 8);
        h = (h ^ w) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 32;
    }
    for (; n; n--) h = (h ^ (unsigned char)*s++) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(h >> 32);
}

#if !defined(MCP_NO_SERVER) || !defined(MCP_NO_CLIENT)

/* JSON text that has to be an object: MCP_ERR_ARGUMENT sticks if it is none. */
static void mcpi_put_object_text(mcp_writer *w, const char *key, const char *json, size_t len)
{
    const char *p, *end;
    if (!json) json = "";
    end = json + (len == MCP_NTS ? strlen(json) : len);
    p = mcpi_blanks(json, end);
    if (p < end && *p == '{') mcp_put_raw(w, key, p, (size_t)(end - p));
    else if (w->status == MCP_OK) w->status = MCP_ERR_ARGUMENT;
}

/* The protocol versions that we speak, newest first; only the first is modern. */
static const char mcpi_versions[] =
    MCP_PROTOCOL_MODERN "\0" MCP_PROTOCOL_LEGACY "\0" "2025-06-18\0" "2025-03-26\0" "2024-11-05\0";
enum { MCPI_VERSION_MODERN = 0, MCPI_VERSION_LEGACY = 1, MCPI_VERSION_BATCHES = 3, MCPI_VERSION_COUNT = 5 };

/* The levels of RFC 5424 that logging uses, lowest first. */
static const char mcpi_levels[] =
    "debug\0" "info\0" "notice\0" "warning\0" "error\0" "critical\0" "alert\0" "emergency\0";

/* The lists, by the members that hold them in results, in the order of MCP_LIST_TOOLS and its neighbours; and what a
   listen calls the changes of the first three. */
enum { MCPI_TOOLS, MCPI_RESOURCES, MCPI_PROMPTS, MCPI_TEMPLATES, MCPI_KINDS };
static const char mcpi_lists[] = "tools\0" "resources\0" "prompts\0" "resourceTemplates\0";
static const char mcpi_filter_flags[] = "toolsListChanged\0" "resourcesListChanged\0" "promptsListChanged\0";

/* The notifications that a subscription brings. MCPI_CHANGED + MCPI_TOOLS is that of the tools. */
enum { MCPI_ACKNOWLEDGED, MCPI_CHANGED, MCPI_UPDATED = 4 };
static const char mcpi_changes[] = "notifications/subscriptions/acknowledged\0notifications/tools/list_changed\0"
    "notifications/resources/list_changed\0notifications/prompts/list_changed\0notifications/resources/updated\0";
#endif

/* An integer in any notation that keeps its digits: no fraction, no exponent. `7.0` is for answers only, see
   mcp_pending_id. */
static bool mcpi_is_integer_text(const mcp_json *v)
{
    size_t i, n;
    const char *s = mcp_json_text(v, &n);
    if (mcp_json_type(v) != MCP_JSON_NUMBER) return false;
    for (i = s[0] == '-'; i < n; i++)
        if (s[i] < '0' || s[i] > '9') return false;
    return true;
}

static bool mcpi_is_id(const mcp_json *v)
{
    return mcp_json_type(v) == MCP_JSON_STRING || mcpi_is_integer_text(v);
}

enum { MCPI_JSONRPC = 1, MCPI_ID = 2, MCPI_METHOD = 4, MCPI_PARAMS = 8, MCPI_RESULT = 16, MCPI_ERROR = 32 };

/* Which member of the envelope a key is, or 0. Told apart by length first: one compare at most. */
static unsigned mcpi_envelope_key(const char *key, size_t n)
{
    switch (n) {
    case 2: return memcmp(key, "id", 2) == 0 ? MCPI_ID : 0;
    case 5: return memcmp(key, "error", 5) == 0 ? MCPI_ERROR : 0;
    case 6: return memcmp(key, "method", 6) == 0 ? MCPI_METHOD : memcmp(key, "params", 6) == 0 ? MCPI_PARAMS
                 : memcmp(key, "result", 6) == 0 ? MCPI_RESULT : 0;
    case 7: return memcmp(key, "jsonrpc", 7) == 0 ? MCPI_JSONRPC : 0;
    default: return 0;
    }
}

/* An answer has exactly one of result and error. NULL, or what is wrong with it; a bad one still ends the request
   that it names. */
static const char *mcpi_answer_fault(mcp_msg *m, unsigned seen)
{
    m->kind = seen & MCPI_ERROR ? MCP_MSG_ERROR : MCP_MSG_RESULT;
    if ((seen & MCPI_RESULT) && (seen & MCPI_ERROR)) return "an answer with both result and error";
    if (!(seen & (MCPI_RESULT | MCPI_ERROR))) return "neither method, nor result, nor error";
    if (seen & MCPI_ERROR) return mcp_json_type(m->error) == MCP_JSON_OBJECT ? NULL : "error is not an object";
    if (!m->id) return "a result without an id";
    return mcp_json_type(m->result) == MCP_JSON_OBJECT ? NULL : "result is not an object";
}

static const char *mcpi_request_fault(mcp_msg *m, unsigned seen, const mcp_json *method)
{
    m->kind = seen & MCPI_ID ? MCP_MSG_REQUEST : MCP_MSG_NOTIFICATION;
    m->method = mcp_json_str(method, NULL);
    if (!m->method) return "method is not a string";
    if (mcp_json_size(method) != strlen(m->method)) return "method holds a NUL";
    if (seen & (MCPI_RESULT | MCPI_ERROR)) return "both a request and an answer";
    if ((seen & MCPI_ID) && !m->id) return "id is neither a string nor an integer";
    if (!m->params || mcp_json_type(m->params) == MCP_JSON_OBJECT) return NULL;
    m->code = MCPI_INVALID_PARAMS;
    return "params is not an object";
}

static const char *mcpi_object_fault(mcp_msg *m, const mcp_json *object)
{
    const mcp_json *k, *id = NULL, *method = NULL;
    unsigned seen = 0, twice = 0;
    uint32_t left;
    bool version = false;
    mcpi_each_key(k, left, object) {
        const mcp_json *v = k + 1;
        unsigned which = mcpi_envelope_key(k->u.text, k->n);
        twice |= seen & which;
        seen |= which;
        switch (which) {
        case MCPI_JSONRPC:
            version = mcp_json_type(v) == MCP_JSON_STRING && v->n == 3 && memcmp(v->u.text, "2.0", 3) == 0;
            break;
        case MCPI_ID:      id = v; break;
        case MCPI_METHOD:  method = v; break;
        case MCPI_PARAMS:  m->params = v; break;
        case MCPI_RESULT:  m->result = v; break;
        case MCPI_ERROR:   m->error = v; break;
        default: break;
        }
    }
    /* Our own id may come back as 7.0: mcp_pending_id tells. */
    if (twice & MCPI_ID) { }
    else if (mcpi_is_id(id) || (!method && mcp_json_type(id) == MCP_JSON_NUMBER)) m->id = id;
    if (twice) return "a member of the envelope comes twice";
    if (!version) return "jsonrpc is not \"2.0\"";
    return method ? mcpi_request_fault(m, seen, method) : mcpi_answer_fault(m, seen);
}

static const char *mcpi_batch_fault(mcp_msg *m, const mcp_json *array)
{
    m->kind = MCP_MSG_BATCH;
    m->batch = array;
    return mcp_json_first(array) ? NULL : "an empty batch";
}

void mcp_msg_classify(const mcp_json *value, mcp_msg *m)
{
    if (!m) return;
    memset(m, 0, sizeof *m);
    m->code = MCPI_INVALID_REQUEST;
    m->why = "a message is a JSON object";
    if (mcp_json_type(value) == MCP_JSON_OBJECT) m->why = mcpi_object_fault(m, value);
    else if (mcp_json_type(value) == MCP_JSON_ARRAY) m->why = mcpi_batch_fault(m, value);
    if (m->why) m->kind = MCP_MSG_BAD;
    else m->code = 0;
}

/* Parses a line where it stands. MCP_ERR_MEMORY, or MCP_OK with m filled in. */
static int mcpi_msg_read(mcp_arena *a, char *line, size_t len, unsigned flags, mcp_msg *m)
{
    size_t pos = 0;
    const mcp_json *v = mcpi_parse(a, line, line, len, flags, &pos);
    if (v) { mcp_msg_classify(v, m); return MCP_OK; }
    memset(m, 0, sizeof *m);
    if (pos == MCP_NTS) return MCP_ERR_MEMORY;
    m->code = MCPI_PARSE_ERROR;
    m->why = "invalid JSON";
    m->pos = pos;
    return MCP_OK;
}

int mcp_msg_parse(mcp_arena *a, const char *line, size_t len, mcp_msg *out)
{
    char *copy;
    if (!a || !line || !out) return MCP_ERR_ARGUMENT;
    if (len == MCP_NTS) len = strlen(line);
    copy = (char *)mcp_arena_alloc(a, len);
    if (!copy) return MCP_ERR_MEMORY;
    memcpy(copy, line, len);
    return mcpi_msg_read(a, copy, len, 0, out);
}

#if !defined(MCP_NO_SERVER) || !defined(MCP_NO_CLIENT)
/* -- slots: one table for everything that has an id -------------------------------------------------------------- */
/* Requests that wait, deferred requests, timers and questions all need the same four things: a small id that is never
   used twice, look-up and removal in O(1), and the earliest deadline. Ids count up from 1, and an id lives in the
   cell `id & mask`: the low bits are its slot, the rest its generation. A cell that is still taken when the counter
   comes round to it is skipped, and the table doubles before it is half full, so that skips stay rare. Doubling never
   makes two ids collide, since ids that differ in their low bits still do with one bit more. Deadlines are a binary
   heap. Most requests are answered long before their deadline, so an entry is not taken out when its item goes or gets
   another deadline. It stays behind, void, since its number is no longer the item's; when more than half are void, all
   of them are left out. So the first deadline may be that of a void entry: a wake-up for nothing, at most one for each
   item that waits. */

typedef struct mcpi_item {                  /* the head of whatever has an id */
    mcp_id id;                              /* 0: not in a table */
    int64_t deadline;                       /* MCP_NEVER: not in the heap */
    uint32_t due;                           /* the number of its entry; 0: none */
} mcpi_item;

typedef struct mcpi_due {
    int64_t deadline;
    uint32_t id, number;                    /* the low bits of the id; mcpi_item.due */
} mcpi_due;

typedef struct mcpi_slots {
    mcp_allocator alloc;
    mcpi_item **cell; size_t cells;         /* a power of two */
    mcpi_due *heap; size_t heap_len, heap_cap;
    size_t due;                             /* entries that are not void */
    size_t count, max;
    uint32_t number;                        /* of the newest entry */
    mcp_id last;
} mcpi_slots;

static void mcpi_slots_init(mcpi_slots *t, const mcp_allocator *alloc, size_t max)
{
    memset(t, 0, sizeof *t);
    if (alloc) t->alloc = *alloc;
    t->max = max;
}

static void mcpi_slots_free(mcpi_slots *t)
{
    mcpi_free(&t->alloc, t->cell, t->cells * sizeof *t->cell);
    mcpi_free(&t->alloc, t->heap, t->heap_cap * sizeof *t->heap);
    mcpi_slots_init(t, NULL, 0);
}

static mcpi_item *mcpi_slots_get(const mcpi_slots *t, mcp_id id)
{
    mcpi_item *it = t->cells && id ? t->cell[(size_t)id & (t->cells - 1)] : NULL;
    return it && it->id == id ? it : NULL;
}

/* The item whose deadline this is, or NULL. */
static mcpi_item *mcpi_due_item(const mcpi_slots *t, mcpi_due d)
{
    mcpi_item *it = t->cell[d.id & (t->cells - 1)];
    return it && it->due == d.number ? it : NULL;
}

static void mcpi_heap_push(mcpi_slots *t, mcpi_due d)
{
    mcpi_due *heap = t->heap;
    size_t at = t->heap_len++;
    for (; at > 0 && heap[(at - 1) / 2].deadline > d.deadline; at = (at - 1) / 2) heap[at] = heap[(at - 1) / 2];
    heap[at] = d;
}

/* Takes the first entry off. */
static void mcpi_heap_pop(mcpi_slots *t)
{
    mcpi_due *heap = t->heap, *d = &heap[--t->heap_len];
    size_t at = 0, child;
    for (; (child = 2 * at + 1) < t->heap_len; at = child) {
        if (heap[child + 1].deadline < heap[child].deadline) child++;       /* behind the last, there is d */
        if (heap[child].deadline >= d->deadline) break;
        heap[at] = heap[child];
    }
    heap[at] = *d;
}

/* Leaves out what is void. */
static void mcpi_heap_pack(mcpi_slots *t)
{
    size_t i, n = t->heap_len;
    t->heap_len = 0;
    for (i = 0; i < n; i++)
        if (mcpi_due_item(t, t->heap[i])) mcpi_heap_push(t, t->heap[i]);
}

static void mcpi_due_drop(mcpi_slots *t, mcpi_item *it)
{
    if (!it->due) return;
    it->due = 0;
    if (t->heap_len > 2 * --t->due) mcpi_heap_pack(t);
}

/* Cannot fail: the heap has room for more entries than there may be items. */
static void mcpi_slots_deadline(mcpi_slots *t, mcpi_item *it, int64_t deadline)
{
    mcpi_due d;
    mcpi_due_drop(t, it);
    it->deadline = deadline;
    if (deadline == MCP_NEVER) return;
    if (t->heap_len == t->heap_cap) mcpi_heap_pack(t);
    if (!++t->number) t->number = 1;
    d.deadline = deadline;
    d.id = (uint32_t)it->id;
    d.number = it->due = t->number;
    t->due++;
    mcpi_heap_push(t, d);
}

static bool mcpi_slots_double(mcpi_slots *t)
{
    size_t i, cells = t->cells ? t->cells * 2 : 32, heap_cap = cells / 4 * 3;       /* half of the cells are taken */
    mcpi_item **cell;
    mcpi_due *heap;
    if (cells > (size_t)-1 / 4 / sizeof *cell) return false;
    heap = (mcpi_due *)mcpi_resize(&t->alloc, t->heap, t->heap_cap * sizeof *heap, heap_cap * sizeof *heap);
    if (!heap) return false;
    t->heap = heap;
    t->heap_cap = heap_cap;
    cell = (mcpi_item **)mcpi_zalloc(&t->alloc, cells * sizeof *cell);
    if (!cell) return false;
    for (i = 0; i < t->cells; i++)
        if (t->cell[i]) cell[(size_t)t->cell[i]->id & (cells - 1)] = t->cell[i];
    mcpi_free(&t->alloc, t->cell, t->cells * sizeof *cell);
    t->cell = cell;
    t->cells = cells;
    return true;
}

/* MCP_OK, MCP_ERR_LIMIT or MCP_ERR_MEMORY. */
static int mcpi_slots_add(mcpi_slots *t, mcpi_item *it, int64_t deadline)
{
    if (t->max && t->count >= t->max) return MCP_ERR_LIMIT;
    if (t->count >= t->cells / 2 && !mcpi_slots_double(t)) return MCP_ERR_MEMORY;
    do t->last++; while (t->cell[(size_t)t->last & (t->cells - 1)]);
    it->id = t->last;
    it->due = 0;
    t->cell[(size_t)it->id & (t->cells - 1)] = it;
    t->count++;
    mcpi_slots_deadline(t, it, deadline);
    return MCP_OK;
}

static void mcpi_slots_remove(mcpi_slots *t, mcpi_item *it)
{
    if (!it->id) return;
    t->cell[(size_t)it->id & (t->cells - 1)] = NULL;
    t->count--;
    it->id = 0;
    mcpi_due_drop(t, it);
}

/* Takes void entries with a deadline at or before now off the top. The item that is due then, or NULL. */
static mcpi_item *mcpi_slots_due(mcpi_slots *t, int64_t now)
{
    while (t->heap_len && t->heap[0].deadline <= now) {
        mcpi_item *it = mcpi_due_item(t, t->heap[0]);
        if (it) return it;
        mcpi_heap_pop(t);
    }
    return NULL;
}

/* When to look again: nothing is due before. */
static int64_t mcpi_slots_next(const mcpi_slots *t)
{
    return t->heap_len ? t->heap[0].deadline : MCP_NEVER;
}

/* Any item with an id at or below `last`, looking from cell *from on: to empty a table while callbacks add to it. */
static mcpi_item *mcpi_slots_any(const mcpi_slots *t, mcp_id last, size_t *from)
{
    for (; *from < t->cells; ++*from)
        if (t->cell[*from] && t->cell[*from]->id <= last) return t->cell[*from];
    return NULL;
}

/* -- names: a hash map of whatever has one ----------------------------------------------------------------------- */

typedef struct mcpi_named { const char *name; size_t len; uint32_t hash; } mcpi_named;
typedef struct mcpi_map { mcpi_named **cell; size_t cells, count; } mcpi_map;  /* linear probing, at most half full */

static mcpi_named *mcpi_map_find(const mcpi_map *m, const char *name, size_t len)
{
    uint32_t h;
    size_t i;
    if (m->count == 0) return NULL;
    h = mcpi_hash(name, len);
    for (i = h & (m->cells - 1); m->cell[i]; i = (i + 1) & (m->cells - 1)) {
        mcpi_named *x = m->cell[i];
        if (x->hash == h && x->len == len && memcmp(x->name, name, len) == 0) return x;
    }
    return NULL;
}

static void mcpi_map_place(mcpi_map *m, mcpi_named *x)
{
    size_t i = x->hash & (m->cells - 1);
    while (m->cell[i]) i = (i + 1) & (m->cells - 1);
    m->cell[i] = x;
}

/* x->name and x->len are set; the name must live as long as x is in the map. */
static bool mcpi_map_add(const mcp_allocator *a, mcpi_map *m, mcpi_named *x)
{
    if (m->count * 2 >= m->cells) {
        mcpi_map big;
        size_t i;
        big.cells = m->cells ? m->cells * 2 : 16;
        big.count = m->count;
        big.cell = (mcpi_named **)mcpi_zalloc(a, big.cells * sizeof *big.cell);
        if (!big.cell) return false;
        for (i = 0; i < m->cells; i++)
            if (m->cell[i]) mcpi_map_place(&big, m->cell[i]);
        mcpi_free(a, m->cell, m->cells * sizeof *m->cell);
        *m = big;
    }
    x->hash = mcpi_hash(x->name, x->len);
    mcpi_map_place(m, x);
    m->count++;
    return true;
}

/* Closes the gap by moving back what had been pushed past it: no tombstones to pile up. */
static void mcpi_map_remove(mcpi_map *m, mcpi_named *x)
{
    size_t mask = m->cells - 1, i, j;
    for (i = x->hash & mask; m->cell[i] != x; i = (i + 1) & mask)
        if (!m->cell[i]) return;
    m->cell[i] = NULL;
    m->count--;
    for (j = (i + 1) & mask; m->cell[j]; j = (j + 1) & mask) {
        size_t home = m->cell[j]->hash & mask;
        if (((j - home) & mask) < ((j - i) & mask)) continue;
        m->cell[i] = m->cell[j];
        m->cell[j] = NULL;
        i = j;
    }
}

static void mcpi_map_free(const mcp_allocator *a, mcpi_map *m)
{
    mcpi_free(a, m->cell, m->cells * sizeof *m->cell);
    memset(m, 0, sizeof *m);
}

/* Our number in an answer; see mcp_pending_id. */
static MCP_UNUSED mcp_id mcpi_own_id(const mcp_json *id)
{
    size_t i, n;
    uint64_t u = 0;
    const char *s;
    if (mcp_json_type(id) == MCP_JSON_NUMBER) return mcp_json_uint(id, &u) ? u : 0;
    if (mcp_json_type(id) != MCP_JSON_STRING) return 0;
    s = mcp_json_text(id, &n);
    if (n == 0 || n > 16 || s[0] == '0') return 0;          /* 2^53 has 16 digits */
    for (i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') return 0;
        u = u * 10 + (uint64_t)(s[i] - '0');
    }
    return u;
}
#endif /* either end */

#ifndef MCP_NO_CLIENT
/* -- the public table -------------------------------------------------------------------------------------------- */

typedef struct mcpi_wait {
    mcpi_item item;
    int64_t cap;
    mcp_reply_fn fn;
    void *user;
    struct mcpi_wait *next;
} mcpi_wait;

struct mcp_pending {
    mcpi_slots slots;
    mcpi_wait *spare;                       /* kept for the next request: nothing is allocated once warm */
    uint64_t unknown;
    bool closing;                           /* free runs: a callback that adds gets 0 */
};

mcp_pending *mcp_pending_new(const mcp_allocator *alloc, size_t max)
{
    mcp_pending *p = (mcp_pending *)mcpi_zalloc(alloc, sizeof *p);
    if (p) mcpi_slots_init(&p->slots, alloc, max ? max : 1000000);
    return p;
}

mcp_id mcp_pending_add(mcp_pending *p, int64_t deadline_ms, int64_t cap_ms, mcp_reply_fn fn, void *user)
{
    mcpi_wait *w;
    if (!p || p->closing) return 0;
    w = p->spare;
    if (w) p->spare = w->next;
    else if (!(w = (mcpi_wait *)mcpi_alloc(&p->slots.alloc, sizeof *w))) return 0;
    memset(w, 0, sizeof *w);
    w->cap = cap_ms;
    w->fn = fn;
    w->user = user;
    if (mcpi_slots_add(&p->slots, &w->item, deadline_ms < cap_ms ? deadline_ms : cap_ms) == MCP_OK) return w->item.id;
    w->next = p->spare;
    p->spare = w;
    return 0;
}

int mcp_pending_extend(mcp_pending *p, mcp_id id, int64_t deadline_ms)
{
    mcpi_item *it = p ? mcpi_slots_get(&p->slots, id) : NULL;
    int64_t cap = it ? ((mcpi_wait *)it)->cap : 0;
    if (!it) return MCP_ERR_UNKNOWN;
    mcpi_slots_deadline(&p->slots, it, deadline_ms < cap ? deadline_ms : cap);
    return MCP_OK;
}

/* The request leaves the table before its callback runs: whatever the callback does, it cannot be settled again. */
static void mcpi_pending_end(mcp_pending *p, mcpi_wait *w, const mcp_reply *reply)
{
    mcp_reply r = *reply;
    mcp_reply_fn fn = w->fn;
    void *user = w->user;
    r.id = w->item.id;
    if (!r.message) r.message = mcp_strerror(r.status);
    mcpi_slots_remove(&p->slots, &w->item);
    w->next = p->spare;
    p->spare = w;
    if (fn) fn(&r, user);
}

int mcp_pending_settle(mcp_pending *p, mcp_id id, const mcp_reply *reply)
{
    mcpi_wait *w = p ? (mcpi_wait *)mcpi_slots_get(&p->slots, id) : NULL;
    if (!reply) return MCP_ERR_ARGUMENT;
    if (w) { mcpi_pending_end(p, w, reply); return MCP_OK; }
    if (p) p->unknown++;
    return MCP_ERR_UNKNOWN;
}

mcp_id mcp_pending_id(const mcp_json *id)
{
    return mcpi_own_id(id);
}

static void mcpi_reply_local(mcp_reply *r, int status)
{
    memset(r, 0, sizeof *r);
    r->status = status;
    r->message = mcp_strerror(status);
}

size_t mcp_pending_expire(mcp_pending *p, int64_t now_ms)
{
    size_t n = 0;
    mcpi_item *it;
    mcp_reply r;
    mcpi_reply_local(&r, MCP_ERR_TIMEOUT);
    for (; p && (it = mcpi_slots_due(&p->slots, now_ms)) != NULL; n++) mcpi_pending_end(p, (mcpi_wait *)it, &r);
    return n;
}

int64_t mcp_pending_deadline(const mcp_pending *p)
{
    mcpi_item *it = p ? mcpi_slots_due((mcpi_slots *)(uintptr_t)&p->slots, MCP_NEVER) : NULL;     /* void ones go */
    return it ? it->deadline : MCP_NEVER;
}

void mcp_pending_fail_all(mcp_pending *p, int status)
{
    size_t from = 0;
    mcp_id last;
    mcpi_item *it;
    mcp_reply r;
    if (!p) return;
    last = p->slots.last;
    mcpi_reply_local(&r, status);
    while ((it = mcpi_slots_any(&p->slots, last, &from)) != NULL) mcpi_pending_end(p, (mcpi_wait *)it, &r);
}

size_t mcp_pending_count(const mcp_pending *p)
{
    return p ? p->slots.count : 0;
}

uint64_t mcp_pending_unknown(const mcp_pending *p)
{
    return p ? p->unknown : 0;
}

void mcp_pending_free(mcp_pending *p)
{
    mcp_allocator a;
    if (!p) return;
    p->closing = true;
    mcp_pending_fail_all(p, MCP_ERR_CLOSED);
    a = p->slots.alloc;
    while (p->spare) {
        mcpi_wait *w = p->spare;
        p->spare = w->next;
        mcpi_free(&a, w, sizeof *w);
    }
    mcpi_slots_free(&p->slots);
    mcpi_free(&a, p, sizeof *p);
}

/* -- helpers on replies ------------------------------------------------------------------------------------------ */

/* The pieces of a result: the blocks of a tool's, the contents of a resource, a prompt's messages, values. */
static const mcp_json *mcpi_reply_pieces(const mcp_reply *r)
{
    const mcp_json *v = r ? mcp_json_get(r->result, "content") : NULL;
    if (!v && r) v = mcp_json_get(r->result, "contents");
    if (!v && r) v = mcp_json_get(r->result, "messages");
    return v || !r ? v : mcp_json_at(r->result, "/completion/values");
}

/* A message of a prompt is a piece in an envelope. */
static const mcp_json *mcpi_reply_piece(const mcp_json *v)
{
    const mcp_json *inner = mcp_json_get(v, "content");
    return inner ? inner : v;
}

static const mcp_json *mcpi_text_of(const mcp_json *piece)
{
    const mcp_json *text = mcp_json_get(piece, "text"), *type;
    if (mcp_json_type(piece) == MCP_JSON_STRING) return piece;
    if (!text) text = mcp_json_get(piece = mcpi_reply_piece(piece), "text");
    type = mcp_json_get(piece, "type");
    return mcp_json_type(text) == MCP_JSON_STRING && (!type || mcpi_is(type, "text")) ? text : NULL;
}

const char *mcp_reply_text(const mcp_reply *r, size_t *len)
{
    const mcp_json *content = mcpi_reply_pieces(r), *b, *t, *only = NULL;
    size_t n = 0, blocks = 0, size;
    char *out, *p;
    if (len) *len = 0;
    if (r && r->status != MCP_OK) {
        const char *message = r->message ? r->message : mcp_strerror(r->status);
        if (len) *len = strlen(message);
        return message;
    }
    for (b = mcp_json_first(content); b; b = mcp_json_next(b))
        if ((t = mcpi_text_of(b)) != NULL) { only = t; n += mcp_json_size(t) + 1; blocks++; }
    if (blocks == 0) return "";
    if (blocks == 1) return mcp_json_text(only, len);       /* the usual case: nothing is copied */
    p = out = r->priv ? (char *)mcp_arena_alloc((mcp_arena *)r->priv, n) : NULL;
    if (!out) return "";
    for (b = mcp_json_first(content); b; b = mcp_json_next(b)) {
        if (!(t = mcpi_text_of(b))) continue;
        if (p != out) *p++ = '\n';
        memcpy(p, mcp_json_text(t, &size), mcp_json_size(t));
        p += size;
    }
    *p = 0;
    if (len) *len = (size_t)(p - out);
    return out;
}

const void *mcp_reply_data(const mcp_reply *r, size_t n, size_t *len, const char **mime)
{
    const mcp_json *v;
    if (len) *len = 0;
    if (mime) *mime = "";
    for (v = mcp_json_first(mcpi_reply_pieces(r)); v; v = mcp_json_next(v)) {
        const mcp_json *block = mcpi_reply_piece(v), *inner = mcp_json_get(block, "resource"), *data;
        if (inner) block = inner;
        data = mcp_json_get(block, "data");
        if (!data) data = mcp_json_get(block, "blob");
        if (!data || n--) continue;
        if (mime) *mime = mcp_json_str(mcp_json_get(block, "mimeType"), "");
        return r->priv ? mcp_json_base64((mcp_arena *)r->priv, data, len) : NULL;
    }
    return NULL;
}

bool mcp_reply_is_error(const mcp_reply *r)
{
    return !r || r->status != MCP_OK || mcp_json_bool(mcp_json_get(r->result, "isError"), false);
}
#endif /* MCP_NO_CLIENT */

#if !defined(MCP_NO_POSIX) && (!defined(MCP_NO_SERVER) || !defined(MCP_NO_CLIENT))
/* -- what >>posix, at the end of the file, gives to the parts before it ------------------------------------------ */

static void      mcpi_close       (int *fd);
static ptrdiff_t mcpi_fd_read     (int fd, void *buf, size_t n);

static void mcpi_io_readable(const mcp_io *io);          /* POLLIN was seen, or the caller wants to block in read */
static bool mcpi_io_is_fds  (const mcp_io *io);
static void mcpi_io_shield  (const mcp_io *io, bool on); /* the caller has blocked SIGPIPE */

typedef struct mcpi_mailbox { int rfd, wfd; } mcpi_mailbox;     /* -1, or 0: none */
static int         mcpi_mailbox_open  (mcpi_mailbox *m);
static mcp_poster *mcpi_mailbox_poster(mcpi_mailbox *m, const mcp_allocator *a);
static int         mcpi_mailbox_run   (mcpi_mailbox *m, void *owner, int max);
static void        mcpi_mailbox_close (mcpi_mailbox *m);

static int64_t mcpi_clock_ms(void);
static int     mcpi_poll    (struct pollfd *fds, int n, int timeout_ms);
#endif
#ifndef MCP_NO_POSIX
typedef struct mcpi_sigpipe { sigset_t old; bool blocked, pending; } mcpi_sigpipe;
static void mcpi_sigpipe_block  (mcpi_sigpipe *s);
static void mcpi_sigpipe_restore(mcpi_sigpipe *s);
#endif
#if !defined(MCP_NO_POSIX) && !defined(MCP_NO_SERVER)
typedef struct mcpi_guard { int in, out; bool active; } mcpi_guard;
static int  mcpi_guard_take (mcpi_guard *g, bool raw, char *why, size_t cap);
static void mcpi_guard_undo (mcpi_guard *g);
static int  mcpi_listen_unix(const char *path, char *why, size_t cap);
static int  mcpi_accept     (int fd, char *principal, size_t cap);
static void mcpi_unlisten   (int *fd, const char *path);
static void mcpi_stderr     (const char *text);
static bool mcpi_random     (void *buf, size_t n);
static int64_t mcpi_wall_ms (void);
#endif
#if !defined(MCP_NO_POSIX) && !defined(MCP_NO_CLIENT)
typedef struct mcpi_child {
    long pid;                               /* 0: none */
    int in, out, err;                       /* our ends: we write in, read out and err; -1: none */
    bool exited;                            /* reaped, by us or by somebody else */
    bool known;                             /* wstatus is known */
    int wstatus;
    int64_t seen;                           /* when it was last known to be there */
} mcpi_child;

typedef struct mcpi_spawn {
    const char *const *argv, *const *env;
    bool clean_env, capture_stderr;
    const char *cwd;
    const mcp_allocator *alloc;
} mcpi_spawn;

static int    mcpi_child_start (mcpi_child *ch, const mcpi_spawn *how, char *why, size_t cap);
static int    mcpi_child_peek  (mcpi_child *ch);
static void   mcpi_child_signal(mcpi_child *ch, int sig);
static void   mcpi_child_reap  (mcpi_child *ch, bool kill_group);
static size_t mcpi_child_why   (const mcpi_child *ch, char *buf, size_t cap);
#endif
#if !defined(MCP_NO_SERVER) || !defined(MCP_NO_CLIENT)
/* -- questions --------------------------------------------------------------------------------------------------- */
/* What servers can ask clients for, and what a client has to be able to do for it, as its capabilities say. */

static const char mcpi_questions[] = "elicitation/create\0" "sampling/createMessage\0" "roots/list\0";
enum { MCPI_ELICIT, MCPI_SAMPLE, MCPI_LIST_ROOTS };
enum {
    MCPI_CAN_FORM = 1, MCPI_CAN_URL = 2, MCPI_CAN_SAMPLE = 4, MCPI_CAN_SAMPLE_TOOLS = 8, MCPI_CAN_SAMPLE_CONTEXT = 16,
    MCPI_CAN_ROOTS = 32, MCPI_CAN_NOTHING = 64,     /* what nobody can */
    MCPI_CAN_ELICIT = MCPI_CAN_FORM | MCPI_CAN_URL
};

/* Before there were two modes, an elicitation was a form. */
static unsigned mcpi_abilities(const mcp_json *caps)
{
    const mcp_json *elicit = mcp_json_get(caps, "elicitation"), *sample = mcp_json_get(caps, "sampling");
    const mcp_json *url = mcp_json_get(elicit, "url");
    unsigned can = url ? MCPI_CAN_URL : 0;
    if (mcp_json_type(elicit) == MCP_JSON_OBJECT && (!url || mcp_json_get(elicit, "form"))) can |= MCPI_CAN_FORM;
    if (sample) can |= MCPI_CAN_SAMPLE;
    if (mcp_json_get(sample, "tools")) can |= MCPI_CAN_SAMPLE_TOOLS;
    if (mcp_json_get(sample, "context")) can |= MCPI_CAN_SAMPLE_CONTEXT;
    return mcp_json_get(caps, "roots") ? can | MCPI_CAN_ROOTS : can;
}

/* What a question needs; 0: it is none of these. */
static unsigned mcpi_question_needs(int question, const mcp_json *params)
{
    const mcp_json *mode = mcp_json_get(params, "mode"), *context = mcp_json_get(params, "includeContext");
    unsigned needs = MCPI_CAN_SAMPLE;
    switch (question) {
    case MCPI_ELICIT:
        if (!mode || mcpi_is(mode, "form")) return MCPI_CAN_FORM;
        return mcpi_is(mode, "url") ? MCPI_CAN_URL : MCPI_CAN_NOTHING;
    case MCPI_SAMPLE:
        if (mcp_json_get(params, "tools") || mcp_json_get(params, "toolChoice")) needs |= MCPI_CAN_SAMPLE_TOOLS;
        return context && !mcpi_is(context, "none") ? needs | MCPI_CAN_SAMPLE_CONTEXT : needs;
    case MCPI_LIST_ROOTS: return MCPI_CAN_ROOTS;
    default: return 0;
    }
}

/* -- forms ------------------------------------------------------------------------------------------------------- */
/* What an elicitation asks for is a flat object of simple fields, described in a small part of JSON Schema: strings
   with a length and a format, numbers with bounds, booleans, and choices, of one or of several. So the check below is
   whole, without a validator: on the client, so that what does not fit never leaves, and on the server, which trusts
   none.
   https://modelcontextprotocol.io/specification/2026-07-28/client/elicitation#requested-schema */

/* Does s begin like the pattern, in which each 0 stands for a digit? */
static bool mcpi_field_pattern(const char *s, size_t n, const char *pattern)
{
    size_t i;
    for (i = 0; pattern[i]; i++) {
        if (i >= n) return false;
        if (pattern[i] == '0' ? s[i] < '0' || s[i] > '9' : s[i] != pattern[i]) return false;
    }
    return true;
}

static int mcpi_field_pair(const char *s)
{
    return (s[0] - '0') * 10 + s[1] - '0';
}

static bool mcpi_field_date(const char *s, size_t n)
{
    int year, month, day, days;
    if (!mcpi_field_pattern(s, n, "0000-00-00")) return false;
    year = mcpi_field_pair(s) * 100 + mcpi_field_pair(s + 2);
    month = mcpi_field_pair(s + 5);
    day = mcpi_field_pair(s + 8);
    days = month == 2 ? 28 + (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)) : 30 + ((month + month / 8) & 1);
    return month >= 1 && month <= 12 && day >= 1 && day <= days;
}

/* RFC 3339: 2026-07-28T12:30:00.5+02:00 */
static bool mcpi_field_time(const char *s, size_t n)
{
    size_t at = 19;
    if (!mcpi_field_date(s, n) || n < 20 || (s[10] != 'T' && s[10] != 't')) return false;
    if (!mcpi_field_pattern(s + 11, n - 11, "00:00:00") || mcpi_field_pair(s + 11) > 23 || mcpi_field_pair(s + 14) > 59
        || mcpi_field_pair(s + 17) > 60) return false;
    if (s[at] == '.') {
        size_t digits = ++at;
        while (at < n && s[at] >= '0' && s[at] <= '9') at++;
        if (at == digits || at == n) return false;
    }
    if (s[at] == 'Z' || s[at] == 'z') return at + 1 == n;
    return (s[at] == '+' || s[at] == '-') && at + 6 == n && mcpi_field_pattern(s + at + 1, 5, "00:00")
        && mcpi_field_pair(s + at + 1) <= 23 && mcpi_field_pair(s + at + 4) <= 59;
}

/* A scheme, a colon, and something without blanks. */
static bool mcpi_field_uri(const char *s, size_t n)
{
    size_t i, colon = 0;
    for (i = 0; i < n; i++) {
        unsigned char ch = (unsigned char)s[i], low = (unsigned char)(ch | 0x20);
        bool letter = low >= 'a' && low <= 'z';
        if (ch <= ' ' || ch == 0x7F) return false;
        if (colon) continue;
        if (ch == ':' && i) colon = i;
        else if (!letter && (!i || !((ch >= '0' && ch <= '9') || ch == '+' || ch == '-' || ch == '.'))) return false;
    }
    return colon && colon + 1 < n;
}

/* One @ with something on both sides, and no blanks: what mail servers take is theirs to say. */
static bool mcpi_field_email(const char *s, size_t n)
{
    const char *at = (const char *)memchr(s, '@', n);
    size_t i;
    for (i = 0; i < n; i++)
        if ((unsigned char)s[i] <= ' ' || s[i] == 0x7F) return false;
    return at && at > s && at + 1 < s + n && !memchr(at + 1, '@', (size_t)(s + n - at - 1));
}

static const char *mcpi_field_string(const mcp_json *schema, const mcp_json *v)
{
    const mcp_json *format = mcp_json_get(schema, "format");
    size_t n, i;
    int64_t chars = 0;
    const char *s = mcp_json_text(v, &n);
    if (mcp_json_type(v) != MCP_JSON_STRING) return "is not a string";
    for (i = 0; i < n; i++) chars += ((unsigned char)s[i] & 0xC0) != 0x80;
    if (chars < mcp_json_int(mcp_json_get(schema, "minLength"), 0)) return "is too short";
    if (chars > mcp_json_int(mcp_json_get(schema, "maxLength"), INT64_MAX)) return "is too long";
    if (mcpi_is(format, "email") && !mcpi_field_email(s, n)) return "is not an e-mail address";
    if (mcpi_is(format, "uri") && !mcpi_field_uri(s, n)) return "is not a URI";
    if (mcpi_is(format, "date") && !(n == 10 && mcpi_field_date(s, n))) return "is not a date like 2026-07-28";
    if (mcpi_is(format, "date-time") && !mcpi_field_time(s, n)) return "is not a time like 2026-07-28T12:30:00Z";
    return NULL;
}

static const char *mcpi_field_number(const mcp_json *schema, const mcp_json *v, bool integer)
{
    const mcp_json *min = mcp_json_get(schema, "minimum"), *max = mcp_json_get(schema, "maximum");
    double x = mcp_json_num(v, 0);
    if (mcp_json_type(v) != MCP_JSON_NUMBER) return "is not a number";
    if (integer && mcp_json_int(v, 0) != mcp_json_int(v, 1) && x < 9e18 && x > -9e18) return "is not an integer";
    if (min && x < mcp_json_num(min, x)) return "is under the minimum";
    if (max && x > mcp_json_num(max, x)) return "is over the maximum";
    return NULL;
}

/* Is it one of the choices, bare (enum) or with titles (oneOf, anyOf)? True if there are none. */
static bool mcpi_field_choice(const mcp_json *schema, const mcp_json *v)
{
    const mcp_json *bare = mcp_json_get(schema, "enum"), *i, *list = bare;
    if (!list) list = mcp_json_get(schema, "oneOf");
    if (!list) list = mcp_json_get(schema, "anyOf");
    if (mcp_json_type(list) != MCP_JSON_ARRAY) return true;
    for (i = mcp_json_first(list); i; i = mcp_json_next(i))
        if (mcpi_equal(bare ? i : mcp_json_get(i, "const"), v)) return true;
    return false;
}

/* Each item is looked for among the choices, and each field among those that are required, so what a peer makes us
   compare has a bound. */
#define MCPI_FORM_WORK 10000000
static uint64_t mcpi_field_work(const mcp_json *schema, const mcp_json *v)
{
    return mcpi_is_container(schema) && mcp_json_type(v) == MCP_JSON_ARRAY ? (uint64_t)v->n * schema->u.span : 0;
}

static const char *mcpi_field_array(const mcp_json *schema, const mcp_json *v)
{
    const mcp_json *i;
    int64_t n = (int64_t)mcp_json_size(v);
    if (mcp_json_type(v) != MCP_JSON_ARRAY) return "is not an array";
    if (mcpi_field_work(schema, v) > MCPI_FORM_WORK) return "has too many items";
    if (n < mcp_json_int(mcp_json_get(schema, "minItems"), 0)) return "has too few items";
    if (n > mcp_json_int(mcp_json_get(schema, "maxItems"), INT64_MAX)) return "has too many items";
    for (i = mcp_json_first(v); i; i = mcp_json_next(i)) {
        if (mcp_json_type(i) != MCP_JSON_STRING) return "has an item that is not a string";
        if (!mcpi_field_choice(mcp_json_get(schema, "items"), i)) return "has an item that is not one of the choices";
    }
    return NULL;
}

/* What is wrong with the value of a field: a sentence to stand behind its name. NULL: it fits. */
static const char *mcpi_field_fault(const mcp_json *schema, const mcp_json *v)
{
    const mcp_json *type = mcp_json_get(schema, "type");
    const char *why = NULL;
    if (mcpi_is(type, "string")) why = mcpi_field_string(schema, v);
    else if (mcpi_is(type, "number")) why = mcpi_field_number(schema, v, false);
    else if (mcpi_is(type, "integer")) why = mcpi_field_number(schema, v, true);
    else if (mcpi_is(type, "array")) return mcpi_field_array(schema, v);
    else if (mcpi_is(type, "boolean") && mcp_json_type(v) != MCP_JSON_BOOL) why = "is not true or false";
    return why || mcpi_field_choice(schema, v) ? why : "is not one of the choices";
}

/* Values that no form can hold, whatever it asks for: what there is besides strings, numbers, booleans and lists of
   strings. NULL: there are none; else *field is the first. */
static const char *mcpi_fields_alien(const mcp_json *content, const char **field)
{
    mcp_json_each(v, content) {
        mcp_type type = mcp_json_type(v);
        bool alien = type == MCP_JSON_NULL || type == MCP_JSON_OBJECT;
        if (type == MCP_JSON_ARRAY)
            mcp_json_each(item, v) alien = alien || mcp_json_type(item) != MCP_JSON_STRING;
        *field = mcp_json_key(v);
        if (alien) return "is nothing that a form can hold";
    }
    return NULL;
}
#endif /* either end */

/* ============================================================================================================== *
 * >>io  streams: framing what comes in, queueing what goes out                                                   *
 * ============================================================================================================== */
/* On a stream a message is a line: JSON that holds no line feed, and a line feed.
   https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio

   Incoming bytes go into one buffer that is kept. A line is parsed where it stands, so a message is copied once, by
   read(2), and touched once. The place up to which there is no line feed is remembered, which keeps the search linear
   however small the pieces are.

   While a callback runs, the message it was called for must not move, yet the callback may itself read on: it may
   wait for an answer. So the buffer is a stack of frames. A frame whose message is in use is pinned; reading on then
   pushes a new frame, which takes over the bytes that were not read yet. When the callback has returned, the frames
   above give their bytes back. The pin is the nesting level that uses the message, and the rule is one line: whoever
   enters the stream at level n may reuse a frame pinned above n, and must not touch one pinned at or below it.

   Outgoing messages are written by a mcp_writer straight into a queue, a whole message or nothing. All messages of
   one turn leave in one write. */

#if !defined(MCP_NO_SERVER) || !defined(MCP_NO_CLIENT)
#define MCPI_READ_MIN   ((size_t)4096)      /* a frame starts with this ... */
#define MCPI_READ_BATCH ((size_t)65536)     /* ... and reads at most this much at once: what a pipe holds */
#define MCPI_MAX_MESSAGE ((size_t)64 << 20)
#define MCPI_KEEP       ((size_t)1 << 20)   /* buffers over this are given back after an outlier */
#define MCPI_QUEUE_HIGH ((size_t)1 << 20)   /* over this much unsent output, a server takes no new request */
#define MCPI_NEST_MAX   8                   /* callbacks inside callbacks */
#define MCPI_LEFT_MS    20                  /* how often what could not be polled is tried */

typedef struct mcpi_frame {
    struct mcpi_frame *outer;
    char *buf; size_t cap;
    size_t pos, scan, len;                  /* unread: [pos, len); no line feed in [pos, scan) */
    size_t peek;                            /* lines before this were looked at while a handler ran */
    int pin;                                /* 0: free; else the level that uses the message */
    unsigned calm;                          /* messages since the buffer was last needed in full */
    mcp_arena arena;                        /* the message's nodes */
} mcpi_frame;

typedef struct mcpi_stream {
    mcpi_frame *in, *spare;
    bool open, eof, broken, oversize;       /* oversize: dropping up to the next line feed */
    bool gone;                              /* broken, since the peer has closed its end */
    bool may_read, may_write;               /* poll said so, or there is no poll */
    bool fd_left;                           /* there was no room for all of pollfds' entries */
    int fd_at, fd_count;                    /* where those are */
    mcp_writer out; size_t sent;            /* queue: [sent, out.len) of out.buf */
    size_t mark;                            /* where the message that is being written begins */
    unsigned calm;
    size_t max_message, max_queue;
    mcp_stats *stats;
    mcp_allocator alloc;
    mcp_io io;
} mcpi_stream;

static void mcpi_frame_free(mcpi_stream *st, mcpi_frame *f)
{
    mcpi_free(&st->alloc, f->buf, f->cap);
    mcp_arena_free(&f->arena);
    mcpi_free(&st->alloc, f, sizeof *f);
}

static mcpi_frame *mcpi_frame_new(mcpi_stream *st)
{
    mcpi_frame *f = st->spare;
    if (f) { st->spare = f->outer; f->outer = NULL; return f; }
    f = (mcpi_frame *)mcpi_zalloc(&st->alloc, sizeof *f);
    if (f) mcp_arena_init(&f->arena, &st->alloc, 0);
    return f;
}

/* Takes over io (also when it fails: then it is not closed). */
static int mcpi_stream_open(mcpi_stream *st, const mcp_allocator *alloc, const mcp_io *io, size_t max_message,
                            size_t max_queue, mcp_stats *stats)
{
    memset(st, 0, sizeof *st);
    st->alloc = *alloc;
    st->max_message = max_message;
    st->max_queue = max_queue;
    st->stats = stats;
    mcp_writer_init(&st->out, alloc, 0);
    st->in = mcpi_frame_new(st);
    if (!st->in) return MCP_ERR_MEMORY;
    st->io = *io;
    st->open = true;
    st->may_read = st->may_write = !io->poll;
    return MCP_OK;
}

static void mcpi_stream_shut(mcpi_stream *st)
{
    if (!st->open) return;
    st->open = false;
    if (st->io.close) st->io.close(st->io.user);
}

static void mcpi_stream_free(mcpi_stream *st)
{
    mcpi_stream_shut(st);
    while (st->in) { mcpi_frame *f = st->in; st->in = f->outer; mcpi_frame_free(st, f); }
    while (st->spare) { mcpi_frame *f = st->spare; st->spare = f->outer; mcpi_frame_free(st, f); }
    mcp_writer_free(&st->out);
}

/* -- frames ------------------------------------------------------------------------------------------------------ */

static void mcpi_frame_release(mcpi_frame *f)
{
    f->pin = 0;
    mcp_arena_reset(&f->arena);
}

/* Makes st->in a frame that level `level` may read into. MCP_OK or MCP_ERR_MEMORY. */
static int mcpi_stream_enter(mcpi_stream *st, int level)
{
    mcpi_frame *f = st->in, *g;
    size_t unread = f->len - f->pos;
    if (f->pin == 0) return MCP_OK;
    if (f->pin > level) { mcpi_frame_release(f); return MCP_OK; }
    g = mcpi_frame_new(st);
    if (!g) return MCP_ERR_MEMORY;
    if (unread && !mcpi_grow(&st->alloc, &g->buf, &g->cap, unread, 0)) {
        g->outer = st->spare;
        st->spare = g;
        return MCP_ERR_MEMORY;
    }
    if (unread) memcpy(g->buf, f->buf + f->pos, unread);
    g->pos = g->peek = 0;
    g->len = unread;
    g->scan = f->scan > f->pos ? f->scan - f->pos : 0;
    f->pos = f->scan = f->len;
    g->outer = f;
    st->in = g;
    return MCP_OK;
}

/* The callback for frame f's message has returned: what was read above it comes back down. */
static void mcpi_stream_leave(mcpi_stream *st, mcpi_frame *f)
{
    while (st->in != f) {
        mcpi_frame *g = st->in, *below = g->outer;
        char *buf = below->buf;
        size_t cap = below->cap;
        below->buf = g->buf; below->cap = g->cap;
        below->pos = g->pos; below->scan = g->scan; below->len = g->len; below->peek = g->peek;
        g->buf = buf; g->cap = cap;
        g->pos = g->scan = g->len = 0;
        mcpi_frame_release(g);
        g->outer = st->spare;
        st->spare = g;
        st->in = below;
    }
}

/* -- reading ----------------------------------------------------------------------------------------------------- */

/* After 64 messages that needed little of a big buffer it is given back: one outlier does not cost its size for ever.
   */
static void mcpi_frame_shrink(mcpi_stream *st, mcpi_frame *f)
{
    if ((f->cap <= MCPI_KEEP && f->arena.total <= MCPI_KEEP) || f->pos != f->len || ++f->calm < 64) return;
    mcpi_free(&st->alloc, f->buf, f->cap);
    f->buf = NULL;
    f->cap = 0;
    f->pos = f->scan = f->len = 0;
    f->calm = 0;
    mcp_arena_free(&f->arena);
}

/* Moves unread bytes to the front when that frees at least as much as it moves, else grows. */
static bool mcpi_frame_room(mcpi_stream *st, mcpi_frame *f)
{
    size_t unread = f->len - f->pos, limit = st->max_message + MCPI_READ_BATCH;
    if (f->pos == f->len) f->pos = f->scan = f->len = f->peek = 0;
    if (f->len < f->cap) return true;
    if (f->pos && (f->pos >= unread || f->cap >= limit)) {
        memmove(f->buf, f->buf + f->pos, unread);
        f->scan -= f->pos;
        f->peek -= f->peek > f->pos ? f->pos : f->peek;
        f->pos = 0;
        f->len = unread;
        return true;
    }
    f->calm = 0;
    return mcpi_grow(&st->alloc, &f->buf, &f->cap, f->cap ? f->cap + 1 : MCPI_READ_MIN,
                     limit < f->cap + MCPI_READ_MIN ? f->cap + MCPI_READ_MIN : limit);
}

/* True while another read makes sense: a peer that sends faster than it is served is stopped by its full pipe. */
static bool mcpi_stream_hungry(const mcpi_stream *st)
{
    return st->open && !st->eof && !st->broken && st->in->len - st->in->pos <= st->max_message;
}

/* One read. MCP_OK (bytes came, or the end: st->eof), MCP_ERR_AGAIN, MCP_ERR_MEMORY, MCP_ERR_TRANSPORT. */
static int mcpi_stream_fill(mcpi_stream *st)
{
    mcpi_frame *f = st->in;
    ptrdiff_t n;
    size_t room;
    if (!mcpi_stream_hungry(st)) return MCP_ERR_AGAIN;
    if (!mcpi_frame_room(st, f)) return MCP_ERR_MEMORY;
    room = f->cap - f->len;
    n = st->io.read(st->io.user, f->buf + f->len, room < MCPI_READ_BATCH ? room : MCPI_READ_BATCH);
    if (st->io.poll) st->may_read = false;
    if (n > 0) {
        f->len += (size_t)n;
        st->stats->bytes_in += (uint64_t)n;
        if ((size_t)n == room && f->cap < MCPI_READ_BATCH)
            (void)mcpi_grow(&st->alloc, &f->buf, &f->cap, f->cap * 2, 0);
        return MCP_OK;
    }
    if (n == 0 || n == MCP_ERR_CLOSED) { st->eof = true; return MCP_OK; }
    if (n == MCP_ERR_AGAIN) return MCP_ERR_AGAIN;
    st->broken = true;
    return MCP_ERR_TRANSPORT;
}

/* Drops a byte order mark and blanks before a line, a carriage return and blanks behind it. */
static void mcpi_line_trim(char **line, size_t *len)
{
    char *s = *line;
    size_t n = *len;
    if (n >= 3 && memcmp(s, "\xEF\xBB\xBF", 3) == 0) { s += 3; n -= 3; }
    while (n && (*s == ' ' || *s == '\t' || *s == '\r')) { s++; n--; }
    while (n && (s[n - 1] == ' ' || s[n - 1] == '\t' || s[n - 1] == '\r')) n--;
    *line = s;
    *len = n;
}

/* The next line that is not empty. MCP_OK; MCP_ERR_AGAIN: none yet; MCP_ERR_LIMIT: a line over max_message has begun,
   and is being dropped (told once per line). The bytes stay where they are until the next fill at this level. */
static int mcpi_stream_line(mcpi_stream *st, char **line, size_t *len)
{
    mcpi_frame *f = st->in;
    for (;;) {
        char *lf = f->len > f->scan ? (char *)memchr(f->buf + f->scan, '\n', f->len - f->scan) : NULL;
        size_t end;
        if (!lf && st->eof && f->len > f->pos && !st->oversize) { f->scan = f->len; end = f->len; }
        else if (lf) { end = (size_t)(lf - f->buf); f->scan = end + 1; }
        else {
            f->scan = f->len;
            if (st->oversize) f->pos = f->len;
            if (f->len - f->pos <= st->max_message) return MCP_ERR_AGAIN;
            f->pos = f->len;
            st->oversize = true;
            st->stats->oversize++;
            return MCP_ERR_LIMIT;
        }
        *line = f->buf + f->pos;
        *len = end - f->pos;
        f->pos = f->scan;
        if (st->oversize) { st->oversize = false; continue; }
        if (*len > st->max_message) { st->stats->oversize++; return MCP_ERR_LIMIT; }
        if (*len > f->cap / 4) f->calm = 0;
        mcpi_line_trim(line, len);
        if (*len) return MCP_OK;
    }
}

/* Is there a whole line to take without another read? */
static bool mcpi_stream_has_line(const mcpi_stream *st)
{
    const mcpi_frame *f = st->in;
    if (f->len == f->pos) return false;
    return st->eof || f->len - f->pos > st->max_message ||
           (f->len > f->scan && memchr(f->buf + f->scan, '\n', f->len - f->scan));
}

/* -- writing ----------------------------------------------------------------------------------------------------- */

static size_t mcpi_stream_queued(const mcpi_stream *st)
{
    return st->out.len - st->sent;
}

/* A writer for one message. Nothing else may be written to the stream before mcpi_stream_end. */
static mcp_writer *mcpi_stream_begin(mcpi_stream *st)
{
    mcp_writer *w = &st->out;
    if (st->sent == w->len) w->len = st->sent = 0;
    else if (st->sent >= w->len - st->sent) {
        memmove(w->buf, w->buf + st->sent, w->len - st->sent);
        w->len -= st->sent;
        st->sent = 0;
    }
    st->mark = w->len;
    w->status = MCP_OK;
    w->depth = 0;
    w->comma = w->done = false;
    return w;
}

/* Begins a message; id NULL: a notification. */
static void mcpi_put_envelope(mcp_writer *w, const mcp_json *id)
{
    if (w->comma) mcpi_put_char(w, ',');
    w->done = true;
    if (!mcpi_put_open(w, true)) return;
    if (id) {
        MCPI_PUT_LITERAL(w, "\"jsonrpc\":\"2.0\",\"id\":");
        mcpi_put_scalar(w, id, true);
    } else MCPI_PUT_LITERAL(w, "\"jsonrpc\":\"2.0\"");
    w->comma = true;
}

static mcp_writer *mcpi_note_begin(mcpi_stream *st, const char *method)
{
    mcp_writer *w = mcpi_stream_begin(st);
    mcpi_put_envelope(w, NULL);
    mcp_put_str(w, "method", method);
    mcp_put_object(w, "params");
    return w;
}

/* Queues what was written since begin, or drops it whole: MCP_OK or the writer's error. */
static int mcpi_stream_end(mcpi_stream *st)
{
    mcp_writer *w = &st->out;
    int status = w->status == MCP_OK && w->depth ? MCP_ERR_ARGUMENT : w->status;
    if (status == MCP_OK) mcpi_put_bytes(w, "\n", 1);
    if (status == MCP_OK) status = w->status;
    w->status = MCP_OK;
    if (status != MCP_OK) { w->len = st->mark; return status; }
    st->stats->messages_out++;
    return MCP_OK;
}

#ifndef MCP_NO_SERVER
/* The same for what nobody waits for: it is not added to more than max_queue. A peer that does not read cannot make
   us keep all that it would be told. */
static int mcpi_stream_end_note(mcpi_stream *st)
{
    if (st->mark - st->sent > st->max_queue && st->out.status == MCP_OK) {
        st->out.status = MCP_ERR_LIMIT;
        st->stats->dropped++;
    }
    return mcpi_stream_end(st);
}
#endif

static void mcpi_stream_shrink_out(mcpi_stream *st)
{
    if (st->out.cap <= MCPI_KEEP || ++st->calm < 64) return;
    st->calm = 0;
    mcp_writer_free(&st->out);
    mcp_writer_init(&st->out, &st->alloc, 0);
}

/* Writes what the stream takes. MCP_OK: all is out; MCP_ERR_AGAIN: some is left; MCP_ERR_CLOSED: the peer reads no
   more, and what is queued is dropped. */
static int mcpi_stream_flush(mcpi_stream *st)
{
    if (st->sent == st->out.len) return MCP_OK;             /* and shrinks nothing: this is no message */
    while (st->sent < st->out.len) {
        size_t n = st->out.len - st->sent;
        ptrdiff_t k;
        if (!st->open || st->broken) { st->sent = st->out.len = 0; return MCP_ERR_CLOSED; }
        k = st->io.write(st->io.user, st->out.buf + st->sent, n);
        if (k == MCP_ERR_AGAIN || k == 0) { st->may_write = !st->io.poll; return MCP_ERR_AGAIN; }
        if (k < 0) { st->broken = true; st->gone = k == MCP_ERR_CLOSED; continue; }
        st->sent += (size_t)k < n ? (size_t)k : n;
        st->stats->bytes_out += (uint64_t)k;
        if (n > MCPI_KEEP) st->calm = 0;
    }
    st->sent = st->out.len = 0;
    mcpi_stream_shrink_out(st);
    return MCP_OK;
}

/* -- what to wait for -------------------------------------------------------------------------------------------- */

#ifndef MCP_NO_POSIX
/* Appends this stream's entries at *n (counted also beyond cap) and remembers where they are. */
static void mcpi_stream_pollfds(mcpi_stream *st, bool want_read, struct pollfd *fds, int cap, int *n)
{
    bool want_write = mcpi_stream_queued(st) > 0;
    int room = cap > *n ? cap - *n : 0, k = 0;
    st->fd_at = *n;
    st->fd_count = 0;
    want_read = want_read && mcpi_stream_hungry(st);
    if (st->open && st->io.poll && (want_read || want_write))
        k = st->io.poll(st->io.user, want_read, want_write, room ? fds + *n : NULL, room);
    st->fd_count = k < room ? k : room;
    st->fd_left = k > room;
    *n += k;
}

/* Takes what poll said. Any event lets both directions try: a stream of the user's may need to write in order to
   read. */
static void mcpi_stream_polled(mcpi_stream *st, const struct pollfd *fds, int n)
{
    int i;
    if (!st->open || !st->io.poll) return;
    st->may_read = st->may_write = false;
    for (i = st->fd_at; i < st->fd_at + st->fd_count && i < n; i++) {
        if (!fds[i].revents) continue;
        if ((fds[i].events & POLLIN) && (fds[i].revents & ~POLLOUT)) st->may_read = true;
        st->may_write = true;
        if (!mcpi_io_is_fds(&st->io)) st->may_read = true;
    }
    if (st->may_read) mcpi_io_readable(&st->io);
    if (st->fd_left) st->may_read = st->may_write = true;   /* it never blocks: it is just tried */
}

/* An entry for a descriptor that is only read. Returns its place; one beyond cap is not polled. */
static int mcpi_want(struct pollfd *fds, int cap, int *n, int fd)
{
    if (fd < 0) return -1;
    if (*n < cap) { fds[*n].fd = fd; fds[*n].events = POLLIN; fds[*n].revents = 0; }
    return (*n)++;
}

/* Was it seen? What could not be polled is tried. n: how many entries poll filled in. */
static bool mcpi_was_seen(const struct pollfd *fds, int n, int at)
{
    return at >= 0 && (at >= n || fds[at].revents);
}
#endif
#endif /* either end */

/* -- a pair of streams in memory --------------------------------------------------------------------------------- */

#define MCPI_PAIR_BYTES 65536

struct mcpi_pair;
struct mcpi_end {
    struct mcpi_pair *pair;
    int side;
    bool closed;
    size_t head, len;                       /* a ring: what this end will read */
    char buf[MCPI_PAIR_BYTES];
};
typedef struct mcpi_pair { mcp_allocator alloc; struct mcpi_end end[2]; } mcpi_pair;

static ptrdiff_t mcpi_pair_read(void *user, void *buf, size_t n)
{
    struct mcpi_end *e = (struct mcpi_end *)user;
    size_t run = MCPI_PAIR_BYTES - e->head;
    if (e->len == 0) return e->pair->end[!e->side].closed ? 0 : MCP_ERR_AGAIN;
    if (n > e->len) n = e->len;
    if (n > run) n = run;
    memcpy(buf, e->buf + e->head, n);
    e->head = (e->head + n) % MCPI_PAIR_BYTES;
    e->len -= n;
    return (ptrdiff_t)n;
}

static ptrdiff_t mcpi_pair_write(void *user, const void *buf, size_t n)
{
    struct mcpi_end *e = (struct mcpi_end *)user, *to = &e->pair->end[!e->side];
    size_t tail = (to->head + to->len) % MCPI_PAIR_BYTES, room = MCPI_PAIR_BYTES - to->len,
           run = MCPI_PAIR_BYTES - tail;
    if (to->closed) return MCP_ERR_CLOSED;
    if (n > room) n = room;
    if (n > run) n = run;
    if (n == 0) return MCP_ERR_AGAIN;
    memcpy(to->buf + tail, buf, n);
    to->len += n;
    return (ptrdiff_t)n;
}

static void mcpi_pair_close(void *user)
{
    struct mcpi_end *e = (struct mcpi_end *)user;
    mcpi_pair *p = e->pair;
    e->closed = true;
    if (p->end[!e->side].closed) { mcp_allocator a = p->alloc; mcpi_free(&a, p, sizeof *p); }
}

int mcp_io_pair(const mcp_allocator *alloc, mcp_io ends[2])
{
    int i;
    mcpi_pair *p;
    if (!ends) return MCP_ERR_ARGUMENT;
    memset(ends, 0, 2 * sizeof *ends);
    p = (mcpi_pair *)mcpi_zalloc(alloc, sizeof *p);
    if (!p) return MCP_ERR_MEMORY;
    if (alloc) p->alloc = *alloc;
    for (i = 0; i < 2; i++) {
        p->end[i].pair = p;
        p->end[i].side = i;
        ends[i].read = mcpi_pair_read;
        ends[i].write = mcpi_pair_write;
        ends[i].close = mcpi_pair_close;
        ends[i].user = &p->end[i];
    }
    return MCP_OK;
}

#if !defined(MCP_NO_VALIDATE) || !defined(MCP_NO_SANITIZE)
/* ============================================================================================================== *
 * >>schema  JSON Schema: does a value fit                                                                        *
 * ============================================================================================================== */
/* A schema is compiled once into nodes, one for each subschema that can be reached: which types it takes, its
   assertions (rules that look at the value alone), its applicators (rules that hand the value, or what is in it, to
   other nodes), and the names of members that it knows. A check then walks value and nodes together. It does not
   recurse: what is unfinished is a chain of frames in the scratch arena, so that a hostile schema or value meets a
   limit and not the end of the stack; and every step is paid for from a budget that follows from the value's size.

   The first walk wants the verdict alone and stops at the first fault. Only when there is one and the caller wants to
   know, a second walk goes on behind faults and tells them. */

/* -- patterns ---------------------------------------------------------------------------------------------------- */
/* The keyword `pattern` and the keys of patternProperties are regular expressions of ECMA-262 with the flag `u`: they
   match code points, anywhere in a string. They come from strangers and meet strings of strangers, so the matcher
   never goes back: it follows all the ways through a pattern at once, one character after the other (Thompson, 1968;
   Pike's machine without captures). Its work is at most the size of the program times the length of the string.

   Understood are alternatives, groups of all kinds (a name says nothing), quantifiers (lazy ones match where greedy
   ones do), sets, `.`, `^`, `$`, `\b`, `\B`, all escapes of characters, `\d`, `\w`, `\s` and their opposites, and
   `\p{...}` of letters, marks, numbers and decimal digits. What the flag forbids and schemas use all the same means
   what it means without the flag: an escape of any sign (`\-`), `{`, `}` and `]` that stand for themselves, `[\w-.]`.
   Look-around and back-references are outside, which a matcher of this kind cannot do, other properties, and what has
   one meaning here and another one in the language its author had in mind (`\A`, `\Z`, `x{,5}`, `[]x]`, octal escapes).

   A pattern is read twice by the same reader: first it only counts and judges, then it writes a program of exactly that
   size. The first half is all that >>fit needs to know what a provider will think of a pattern. */

#define MCPI_PATTERN_MAX    8192u           /* words of a program, and of what a search remembers for its counters */
#define MCPI_PATTERN_GROUPS 64              /* how deep groups may nest */
#define MCPI_PATTERN_TEXT   ((size_t)1 << 20)
#define MCPI_COUNT_MAX      (1u << 30)      /* more than a string has characters */
#define MCPI_COUNT_BIG      1000u           /* over the limits of other engines */
#define MCPI_MANY           UINT32_MAX      /* no upper bound */

/* What is special about a pattern, as bits. */
enum {
    MCPI_PATTERN_MALFORMED      = 1 << 0,   /* or of another dialect, or too deep: not read to its end */
    MCPI_PATTERN_LOOK_AROUND    = 1 << 1,
    MCPI_PATTERN_BACK_REFERENCE = 1 << 2,
    MCPI_PATTERN_UNICODE_CLASS  = 1 << 3,   /* \p{...} */
    MCPI_PATTERN_NAMED_GROUP    = 1 << 4,
    MCPI_PATTERN_BIG_COUNT      = 1 << 5,   /* a bound over MCPI_COUNT_BIG */
    MCPI_PATTERN_TOO_LARGE      = 1 << 6,   /* for our own matcher */
    MCPI_PATTERN_FROM_START     = 1 << 7,   /* every match begins at the first character: ^ in front ... */
    MCPI_PATTERN_TO_END         = 1 << 8    /* ... and ends behind the last: $ at the end */
};

/* An instruction is a word: what to do in its lowest four bits, above them a character, a class, a place or a
   distance. Those before MCPI_OP_LOOP take a character; the others do not. */
enum {
    MCPI_OP_CHAR, MCPI_OP_CLASS, MCPI_OP_SET,
    MCPI_OP_LOOP,                           /* then the instruction for a character that may come any number of times */
    MCPI_OP_COUNT,                          /* least, most, place of its counters; then MCPI_OP_COUNTED */
    MCPI_OP_COUNTED,                        /* then the instruction for the character that is counted */
    MCPI_OP_FORK, MCPI_OP_JUMP, MCPI_OP_START, MCPI_OP_END, MCPI_OP_EDGE, MCPI_OP_NO_EDGE, MCPI_OP_MATCH
};
#define MCPI_COUNT_WORDS 6                  /* COUNT, least, most, counters, COUNTED, the character */
#define MCPI_OP(word)  ((word) & 15)
#define MCPI_ARG(word) ((word) >> 4)
#define MCPI_WORD(op, arg) ((uint32_t)(arg) << 4 | (uint32_t)(op))
#define MCPI_FAR (1u << 20)                 /* a distance of 0: they go both ways */

static uint32_t mcpi_pattern_leap(unsigned op, uint32_t from, uint32_t to)
{
    return MCPI_WORD(op, to - from + MCPI_FAR);
}

/* The code point at *p, behind which it moves; U+FFFD for a byte that begins none. */
static uint32_t mcpi_utf8_take(const char **p, const char *end)
{
    const unsigned char *u = (const unsigned char *)*p;
    uint32_t c = u[0];
    int i, n = c < 0x80 ? 1 : mcpi_utf8(*p, end);
    *p += n < 0 ? 1 : n;
    if (n < 0) return 0xFFFD;
    if (n > 1) c &= 0x7Fu >> n;
    for (i = 1; i < n; i++) c = c << 6 | (u[i] & 0x3Fu);
    return c;
}

/* -- patterns: classes of characters ------------------------------------------------------------------------------- */

/* A class is twice its number, plus 1 for all characters that are not in it: `.`, \d, \w, \s and the properties letter,
   mark, number, decimal digit. */
enum { MCPI_CLASS_DOT = 0, MCPI_CLASS_PROPERTY = 4, MCPI_IS_CLASS = 1 << 24 };
static const uint32_t mcpi_class_ascii[8][4] = {
    { 0xFFFFDBFF, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF }, { 0, 0x03FF0000, 0, 0 },
    { 0, 0x03FF0000, 0x87FFFFFE, 0x07FFFFFE }, { 0x00003E00, 1, 0, 0 },
    { 0, 0, 0x07FFFFFE, 0x07FFFFFE }, { 0, 0, 0, 0 }, { 0, 0x03FF0000, 0, 0 }, { 0, 0x03FF0000, 0, 0 }
};
static const char mcpi_class_escapes[] = "..dDwWsS";
static const char mcpi_property_names[] =
    "L\0" "Letter\0" "M\0" "Mark\0" "Combining_Mark\0" "N\0" "Number\0" "Nd\0" "Decimal_Number\0" "digit\0";
static const char mcpi_property_of[] = "\4\4\5\5\5\6\6\7\7\7";

static bool mcpi_is_word(uint32_t c)
{
    return c - '0' < 10 || (c | 32) - 'a' < 26 || c == '_';
}

/* -- patterns: reading --------------------------------------------------------------------------------------------- */

typedef struct mcpi_regex {
    const char *p, *end;
    uint32_t *code, *sets;                  /* NULL: only counting */
    uint32_t size, sets_size, set_count;    /* words of both, and how many sets there are */
    uint32_t last;                          /* the last word of the code */
    unsigned traits;
    bool empty_set;                         /* there was a [] or [^] */
    const char *why;                        /* why there is no program */
} mcpi_regex;

/* A group that is open, or the whole. */
typedef struct mcpi_regex_group { uint32_t start, branch, chain; } mcpi_regex_group;

/* The matcher cannot do it; reading goes on. */
static void mcpi_regex_outside(mcpi_regex *r, unsigned trait, const char *why)
{
    r->traits |= trait;
    if (!r->why) r->why = why;
}

/* Reading ends. */
static uint32_t mcpi_regex_malformed(mcpi_regex *r, const char *why)
{
    if (!(r->traits & MCPI_PATTERN_MALFORMED)) r->why = why;
    r->traits |= MCPI_PATTERN_MALFORMED;
    r->p = r->end;
    return 0;
}

static bool mcpi_regex_next(mcpi_regex *r, char c)
{
    if (r->p == r->end || *r->p != c) return false;
    r->p++;
    return true;
}

static bool mcpi_regex_room(mcpi_regex *r, uint64_t n)
{
    if (n <= MCPI_PATTERN_MAX - r->size) return true;
    mcpi_regex_outside(r, MCPI_PATTERN_TOO_LARGE, "too large for the matcher");
    return false;
}


/* Moves what was written from `at` on, to put a word before it. Distances within it stay as they are. */
static void mcpi_regex_insert(mcpi_regex *r, uint32_t at, uint32_t word)
{
    if (!mcpi_regex_room(r, 1)) return;
    if (r->code) {
        memmove(r->code + at + 1, r->code + at, (r->size - at) * sizeof *r->code);
        r->code[at] = word;
    }
    r->size++;
}

static void mcpi_regex_emit(mcpi_regex *r, uint32_t word)
{
    r->last = word;
    mcpi_regex_insert(r, r->size, word);
}

static void mcpi_regex_leap(mcpi_regex *r, unsigned op, uint32_t to)
{
    mcpi_regex_emit(r, mcpi_pattern_leap(op, r->size, to));
}

/* From `least` to `most` hexadecimal digits. */
static uint32_t mcpi_regex_hex(mcpi_regex *r, int least, int most)
{
    uint32_t v = 0;
    int n;
    for (n = 0; n < most && r->p < r->end; n++, r->p++) {
        uint32_t c = (unsigned char)*r->p, digit = c - '0' < 10 ? c - '0' : (c | 32) - 'a' + 10;
        if (digit > 9 && (c | 32) - 'a' > 5) break;
        if (v > 0x10FFFF) v = 0x10FFFF + 1;
        v = v << 4 | digit;
    }
    return n < least || v > 0x10FFFF ? mcpi_regex_malformed(r, "malformed: an escape lacks its digits") : v;
}

/* Behind `\u`. */
static uint32_t mcpi_regex_unicode(mcpi_regex *r)
{
    uint32_t c, low;
    if (mcpi_regex_next(r, '{')) {
        c = mcpi_regex_hex(r, 1, 1 << 20);
        return mcpi_regex_next(r, '}') ? c : mcpi_regex_malformed(r, "malformed: an escape lacks its }");
    }
    c = mcpi_regex_hex(r, 4, 4);
    if (c >> 10 == 0xD800 >> 10 && r->end - r->p >= 6 && r->p[0] == '\\' && r->p[1] == 'u') {
        low = (uint32_t)mcpi_hex4(r->p + 2, r->end);
        if (low >> 10 == 0xDC00 >> 10) {
            r->p += 6;
            return 0x10000 + ((c & 0x3FF) << 10 | (low & 0x3FF));
        }
    }
    return c;
}

/* Behind `\p` or `\P`. */
static uint32_t mcpi_regex_property(mcpi_regex *r, bool negated)
{
    const char *name = r->p + 1, *close, *words;
    size_t n, k;
    unsigned i;
    close = r->p < r->end && *r->p == '{' ? (const char *)memchr(r->p, '}', (size_t)(r->end - r->p)) : NULL;
    if (!close) return mcpi_regex_malformed(r, "malformed: \\p without {...}");
    r->p = close + 1;
    r->traits |= MCPI_PATTERN_UNICODE_CLASS;
    n = (size_t)(close - name);
    for (words = mcpi_property_names, i = 0; *words; words += k + 1, i++) {
        k = strlen(words);
        if (k == n && memcmp(words, name, n) == 0)
            return MCPI_IS_CLASS | (uint32_t)mcpi_property_of[i] << 1 | (uint32_t)negated;
    }
    mcpi_regex_outside(r, 0, "a property of Unicode that is not known here");
    return 0;
}

/* Behind a backslash: a code point, or MCPI_IS_CLASS and a class. `\b` and `\B` are seen to before, outside of sets. */
static uint32_t mcpi_regex_escape(mcpi_regex *r, bool in_set)
{
    static const char letters[] = "tnvfrb", meanings[] = "\t\n\v\f\r\b";
    const char *at;
    uint32_t c;
    if (r->p == r->end) return mcpi_regex_malformed(r, "malformed: it ends in a backslash");
    c = mcpi_utf8_take(&r->p, r->end);
    if (c - '0' >= 10 && (c | 32) - 'a' >= 26) return c;
    at = strchr(mcpi_class_escapes, (int)c);
    if (at) return MCPI_IS_CLASS | (uint32_t)(at - mcpi_class_escapes);
    at = strchr(letters, (int)c);
    if (at) return (unsigned char)meanings[at - letters];
    switch (c) {
    case 'x': return mcpi_regex_hex(r, 2, 2);
    case 'u': return mcpi_regex_unicode(r);
    case 'p': case 'P': return mcpi_regex_property(r, c == 'P');
    case 'c':
        if (r->p == r->end || ((unsigned char)*r->p | 32u) - 'a' >= 26) break;
        return (unsigned char)*r->p++ & 31;
    case '0':
        if (r->p == r->end || (unsigned char)*r->p - (unsigned)'0' >= 10) return 0;
        break;                              /* octal */
    default:
        if (in_set || (c != 'k' && c - '0' >= 10)) break;
        mcpi_regex_outside(r, MCPI_PATTERN_BACK_REFERENCE, "a back-reference");
        return 0;
    }
    return mcpi_regex_malformed(r, "malformed: an escape that ECMA-262 does not know");
}

/* Adds code points to the set at `at`. Those of ASCII are bits in its first four words, the others pairs at its end. */
static void mcpi_regex_set_add(mcpi_regex *r, uint32_t at, uint32_t low, uint32_t high)
{
    for (; low <= high && low < 0x80; low++)
        if (r->sets) r->sets[at + (low >> 5)] |= 1u << (low & 31);
    if (low > high) return;
    if (r->sets) {
        r->sets[r->sets_size] = low;
        r->sets[r->sets_size + 1] = high;
    }
    r->sets_size += 2;
}

static void mcpi_regex_set_class(mcpi_regex *r, uint32_t at, uint32_t kind)
{
    uint32_t i;
    for (i = 0; r->sets && i < 4; i++) {
        uint32_t bits = mcpi_class_ascii[kind >> 1 & 7][i];
        r->sets[at + i] |= kind & 1 ? ~bits : bits;
    }
    mcpi_regex_set_add(r, at, kind, kind);
}

static uint32_t mcpi_regex_set_item(mcpi_regex *r)
{
    return mcpi_regex_next(r, '\\') ? mcpi_regex_escape(r, true) : mcpi_utf8_take(&r->p, r->end);
}

/* A set: 128 bits for ASCII, the number of pairs twice and 1 if negated, its own number, pairs: from and to, or a class
   twice. */
#define MCPI_SET_HEAD 6

static void mcpi_regex_set(mcpi_regex *r)
{
    uint32_t at = r->sets_size, low, high, i;
    bool negated = mcpi_regex_next(r, '^');
    if (r->sets) memset(r->sets + at, 0, MCPI_SET_HEAD * sizeof *r->sets);
    r->sets_size += MCPI_SET_HEAD;
    if (r->p < r->end && *r->p == ']') r->empty_set = true;
    while (r->p < r->end && *r->p != ']') {
        low = high = mcpi_regex_set_item(r);
        if (r->end - r->p > 1 && r->p[0] == '-' && r->p[1] != ']') {
            r->p++;
            high = mcpi_regex_set_item(r);
            if ((low | high) & MCPI_IS_CLASS) {             /* [\w-.] is no range */
                mcpi_regex_set_add(r, at, '-', '-');
                if (high & MCPI_IS_CLASS) mcpi_regex_set_class(r, at, high);
                else mcpi_regex_set_add(r, at, high, high);
                high = low;
            } else if (low > high) mcpi_regex_malformed(r, "malformed: a range in a set goes backwards");
        }
        if (low & MCPI_IS_CLASS) mcpi_regex_set_class(r, at, low);
        else mcpi_regex_set_add(r, at, low, high);
    }
    if (!mcpi_regex_next(r, ']')) mcpi_regex_malformed(r, "malformed: a [ without its ]");
    if (r->sets) {
        for (i = 0; negated && i < 4; i++) r->sets[at + i] = ~r->sets[at + i];
        r->sets[at + 4] = (r->sets_size - at - MCPI_SET_HEAD) | (uint32_t)negated;
        r->sets[at + 5] = r->set_count;
    }
    r->set_count++;
    mcpi_regex_emit(r, MCPI_WORD(MCPI_OP_SET, at));
}

static uint32_t mcpi_regex_number(const char **p, const char *end)
{
    uint32_t n = 0;
    for (; *p < end && (unsigned char)**p - (unsigned)'0' < 10; ++*p)
        if (n < MCPI_COUNT_MAX) n = n * 10 + ((unsigned char)**p - (unsigned)'0');
    return n < MCPI_COUNT_MAX ? n : MCPI_COUNT_MAX;
}

/* Behind {n}, {n,} or {n,m} at r->p, or NULL: there is none. An upper bound that no string can reach is none. */
static const char *mcpi_regex_braces(const mcpi_regex *r, uint32_t *least, uint32_t *most)
{
    const char *p = r->p, *digits;
    if (p == r->end || *p++ != '{') return NULL;
    digits = p;
    *least = *most = mcpi_regex_number(&p, r->end);
    if (p == digits) return NULL;
    if (p < r->end && *p == ',') {
        digits = ++p;
        *most = mcpi_regex_number(&p, r->end);
        if (p == digits || *most >= MCPI_COUNT_MAX) *most = MCPI_MANY;
    }
    return p < r->end && *p == '}' ? p + 1 : NULL;
}

/* How often what stands before r->p may come. false: no quantifier, once. */
static bool mcpi_regex_quantifier(mcpi_regex *r, uint32_t *least, uint32_t *most)
{
    const char *behind = mcpi_regex_braces(r, least, most);
    if (behind) {
        r->p = behind;
        if (*least > *most) mcpi_regex_malformed(r, "malformed: a quantifier's bounds are out of order");
        if (*least > MCPI_COUNT_BIG || (*most > MCPI_COUNT_BIG && *most != MCPI_MANY))
            r->traits |= MCPI_PATTERN_BIG_COUNT;
    } else {
        char c = r->p < r->end ? *r->p : 0;
        if (c != '*' && c != '+' && c != '?') return false;
        r->p++;
        *least = c == '+';
        *most = c == '?' ? 1 : MCPI_MANY;
    }
    (void)mcpi_regex_next(r, '?');
    return true;
}

/* Counts the character that the last word takes, instead of writing it down many times: see mcpi_counter. */
static void mcpi_regex_count(mcpi_regex *r, uint32_t least, uint32_t most)
{
    uint32_t words[MCPI_COUNT_WORDS] = { MCPI_OP_COUNT, 0, 0, 0, MCPI_OP_COUNTED, 0 }, i;
    words[1] = least ? least : 1;
    words[2] = most;
    words[MCPI_COUNT_WORDS - 1] = r->last;
    r->size--;
    if (least == 0) mcpi_regex_leap(r, MCPI_OP_FORK, r->size + MCPI_COUNT_WORDS + 1);
    for (i = 0; i < MCPI_COUNT_WORDS; i++) mcpi_regex_emit(r, words[i]);
}

/* The character that the last word takes any number of times, or once and then any number of times. */
static void mcpi_regex_loop(mcpi_regex *r, uint32_t least)
{
    uint32_t taken = r->last;
    r->size -= !least;
    mcpi_regex_emit(r, MCPI_OP_LOOP);
    mcpi_regex_emit(r, taken);
}

/* The code from `start` on, `least` to `most` times: it is written down as often as it may come, each time that is one
   too many behind a fork to the end; without upper bound, the last one forks back or is a loop. */
static void mcpi_regex_repeat(mcpi_regex *r, uint32_t start, uint32_t least, uint32_t most)
{
    uint32_t size = r->size - start, times = most != MCPI_MANY ? most : least ? least : 1, i, unit, end;
    uint64_t all;
    if ((least == 1 && most == 1) || size == 0) return;
    if (most == 0) {                        /* it stays where it is, and is jumped over */
        mcpi_regex_insert(r, start, mcpi_pattern_leap(MCPI_OP_JUMP, start, r->size + 1));
        return;
    }
    if (size == 1 && MCPI_OP(r->last) < MCPI_OP_LOOP && most > 1) {
        if (most != MCPI_MANY || least > 1) mcpi_regex_count(r, least, most);
        else mcpi_regex_loop(r, least);
        return;
    }
    all = (uint64_t)size * times + (most == MCPI_MANY ? 1u + !least : most - least);
    if (!mcpi_regex_room(r, all - size)) return;
    end = start + (uint32_t)all;
    unit = start + !least;
    if (!least) mcpi_regex_insert(r, start, mcpi_pattern_leap(MCPI_OP_FORK, start, end));
    for (i = 1; i < times; i++) {
        if (i >= least && most != MCPI_MANY) mcpi_regex_leap(r, MCPI_OP_FORK, end);
        if (r->code) memcpy(r->code + r->size, r->code + unit, size * sizeof *r->code);
        r->size += size;
    }
    if (most == MCPI_MANY && least) mcpi_regex_leap(r, MCPI_OP_FORK, r->size - size);
    else if (most == MCPI_MANY) mcpi_regex_leap(r, MCPI_OP_JUMP, start);
}

/* At a |: a fork before the branch that ends here, and behind it a jump to the end of the group. These jumps form a
   chain until it is known where that is: each holds its distance to the one before. */
static void mcpi_regex_branch(mcpi_regex *r, mcpi_regex_group *g)
{
    mcpi_regex_insert(r, g->branch, mcpi_pattern_leap(MCPI_OP_FORK, g->branch, r->size + 2));
    if (g->chain) mcpi_regex_leap(r, MCPI_OP_JUMP, g->chain - 1);
    else mcpi_regex_emit(r, MCPI_OP_JUMP);
    g->chain = g->branch = r->size;
}

static void mcpi_regex_close(mcpi_regex *r, const mcpi_regex_group *g)
{
    uint32_t at, next;
    for (at = g->chain; at && r->code; at = next) {
        uint32_t *jump = &r->code[at - 1];
        next = *jump == MCPI_OP_JUMP ? 0 : at + MCPI_ARG(*jump) - MCPI_FAR;
        *jump = mcpi_pattern_leap(MCPI_OP_JUMP, at - 1, r->size);
    }
}

/* Behind a (. */
static void mcpi_regex_open(mcpi_regex *r)
{
    static const char around[] = "a look-ahead or look-behind";
    bool behind;
    if (!mcpi_regex_next(r, '?') || mcpi_regex_next(r, ':')) return;
    behind = mcpi_regex_next(r, '<');
    if (mcpi_regex_next(r, '=') || mcpi_regex_next(r, '!')) mcpi_regex_outside(r, MCPI_PATTERN_LOOK_AROUND, around);
    else if (behind) {
        const char *name = r->p;
        r->traits |= MCPI_PATTERN_NAMED_GROUP;
        while (r->p < r->end && (mcpi_is_word((unsigned char)*r->p) || *r->p == '$' || *r->p & 0x80)) r->p++;
        if (r->p == name || (unsigned char)*name - (unsigned)'0' < 10 || !mcpi_regex_next(r, '>'))
            mcpi_regex_malformed(r, "malformed: a group's name");
    } else mcpi_regex_malformed(r, "malformed: a group that ECMA-262 does not know");
}

/* A sign that stands for itself only where it cannot be anything else. */
static void mcpi_regex_sign(mcpi_regex *r, uint32_t c)
{
    uint32_t least, most;
    mcpi_regex_emit(r, MCPI_WORD(MCPI_OP_CHAR, c));
    if (c == ']') {
        if (r->empty_set) mcpi_regex_malformed(r, "malformed: a set that begins with ] is not ECMA-262");
        return;
    }
    if (c == '{') {
        if (r->end - r->p > 1 && r->p[0] == ',' && (unsigned char)r->p[1] - (unsigned)'0' < 10)
            mcpi_regex_malformed(r, "malformed: {,n} is not ECMA-262");
        r->p--;
        c = mcpi_regex_braces(r, &least, &most) != NULL;
        r->p++;
        if (!c) return;
    }
    mcpi_regex_malformed(r, "malformed: a quantifier with nothing to repeat");
}

/* Reads what stands next; the code of what a quantifier may follow begins at *start. false: none may follow. */
static bool mcpi_regex_atom(mcpi_regex *r, mcpi_regex_group *g, int *depth, uint32_t *start)
{
    uint32_t c = mcpi_utf8_take(&r->p, r->end);
    *start = r->size;
    switch (c) {
    case '(':
        if (*depth == MCPI_PATTERN_GROUPS) { mcpi_regex_malformed(r, "groups nest too deep"); return false; }
        mcpi_regex_open(r);
        g += ++*depth;
        g->start = g->branch = r->size;
        g->chain = 0;
        return false;
    case ')':
        if (*depth == 0) { mcpi_regex_malformed(r, "malformed: a ) without its ("); return false; }
        mcpi_regex_close(r, g + *depth);
        *start = g[(*depth)--].start;
        return true;
    case '|': mcpi_regex_branch(r, g + *depth); return false;
    case '^': mcpi_regex_emit(r, MCPI_OP_START); return false;
    case '$': mcpi_regex_emit(r, MCPI_OP_END); return false;
    case '.': mcpi_regex_emit(r, MCPI_WORD(MCPI_OP_CLASS, MCPI_CLASS_DOT)); return true;
    case '[': mcpi_regex_set(r); return true;
    case '*': case '+': case '?': case '{': case ']': mcpi_regex_sign(r, c); return true;
    case '\\':
        if (mcpi_regex_next(r, 'b')) { mcpi_regex_emit(r, MCPI_OP_EDGE); return false; }
        if (mcpi_regex_next(r, 'B')) { mcpi_regex_emit(r, MCPI_OP_NO_EDGE); return false; }
        c = mcpi_regex_escape(r, false);
        mcpi_regex_emit(r, c & MCPI_IS_CLASS ? MCPI_WORD(MCPI_OP_CLASS, c & 15) : MCPI_WORD(MCPI_OP_CHAR, c));
        return true;
    default: mcpi_regex_emit(r, MCPI_WORD(MCPI_OP_CHAR, c)); return true;
    }
}

/* Reads a pattern; with code and sets, which are as large as it said when it had none, it writes them. */
static void mcpi_regex_read(mcpi_regex *r, const char *text, size_t len, uint32_t *code, uint32_t *sets)
{
    mcpi_regex_group g[MCPI_PATTERN_GROUPS + 1];
    uint32_t start, least, most;
    int depth = 0;
    memset(r, 0, sizeof *r);
    r->p = text;
    r->end = text + len;
    r->code = code;
    r->sets = sets;
    memset(g, 0, sizeof *g);
    if (len > MCPI_PATTERN_TEXT) mcpi_regex_malformed(r, "too long");
    while (r->p < r->end)
        if (mcpi_regex_atom(r, g, &depth, &start) && mcpi_regex_quantifier(r, &least, &most))
            mcpi_regex_repeat(r, start, least, most);
    if (depth) mcpi_regex_malformed(r, "malformed: a ( without its )");
    mcpi_regex_close(r, g);
    if (len && !g->chain && text[0] == '^') r->traits |= MCPI_PATTERN_FROM_START;
    if (len && !g->chain && text[len - 1] == '$' && r->last == MCPI_OP_END) r->traits |= MCPI_PATTERN_TO_END;
    mcpi_regex_emit(r, MCPI_OP_MATCH);
}

#ifndef MCP_NO_SANITIZE
/* What is special about a pattern: MCPI_PATTERN_... bits. */
static unsigned mcpi_pattern_traits(const char *text, size_t len)
{
    mcpi_regex r;
    mcpi_regex_read(&r, text, len, NULL, NULL);
    return r.traits;
}
#endif
/* -- work with a bound, and what is found by its hash -------------------------------------------------------------- */

typedef struct mcpi_work { mcp_arena *arena; uint64_t left; int status; } mcpi_work;

static bool mcpi_spend(mcpi_work *w, size_t steps)
{
    if (w->status != MCP_OK) return false;
    if (w->left < steps) { w->status = MCP_ERR_LIMIT; return false; }
    w->left -= steps;
    return true;
}

/* Zeroed memory, or NULL and the status. */
static void *mcpi_work_alloc(mcpi_work *w, size_t n)
{
    void *p = mcpi_spend(w, n / 64) ? mcp_arena_alloc(w->arena, n) : NULL;
    if (p) memset(p, 0, n);
    else if (w->status == MCP_OK) w->status = MCP_ERR_MEMORY;
    return p;
}

/* A hash table that only grows: entries with equal hashes hang together, the caller compares. */
typedef struct mcpi_hashed {
    struct mcpi_hashed *next;
    const void *key;
    const mcp_json *json;
    void *value;
    uint32_t hash;
} mcpi_hashed;
typedef struct mcpi_index { mcpi_hashed **heads; size_t size, n; } mcpi_index;

static mcpi_hashed *mcpi_lookup(const mcpi_index *x, uint32_t hash)
{
    mcpi_hashed *e = x->size ? x->heads[hash & (x->size - 1)] : NULL;
    while (e && e->hash != hash) e = e->next;
    return e;
}

static mcpi_hashed *mcpi_lookup_next(mcpi_hashed *e)
{
    uint32_t hash = e->hash;
    do e = e->next; while (e && e->hash != hash);
    return e;
}

/* Adds an entry; of equal ones the newest is found first. */
static mcpi_hashed *mcpi_index_add(mcpi_work *w, mcpi_index *x, uint32_t hash, const void *key, const mcp_json *json,
                                  void *value)
{
    mcpi_hashed *e = (mcpi_hashed *)mcpi_work_alloc(w, sizeof *e), *old, *next;
    if (!e) return NULL;
    if (x->n >= x->size) {
        size_t size = x->size ? 2 * x->size : 32, i;
        mcpi_hashed **heads = (mcpi_hashed **)mcpi_work_alloc(w, size * sizeof(mcpi_hashed *));
        if (!heads) return NULL;
        for (i = 0; i < x->size; i++) {
            mcpi_hashed *turned = NULL;              /* so that the order within a hash stays */
            for (old = x->heads[i]; old; old = next) { next = old->next; old->next = turned; turned = old; }
            for (old = turned; old; old = next) {
                next = old->next;
                old->next = heads[old->hash & (size - 1)];
                heads[old->hash & (size - 1)] = old;
            }
        }
        x->heads = heads;
        x->size = size;
    }
    e->hash = hash; e->key = key; e->json = json; e->value = value;
    e->next = x->heads[hash & (x->size - 1)];
    x->heads[hash & (x->size - 1)] = e;
    x->n++;
    return e;
}

/* A member of an object, the last of equal keys. Objects with many members are searched by hash from the first time on,
   so that many references into one map stay linear. */
static const mcp_json *mcpi_member_of(mcpi_work *w, mcpi_index *x, const mcp_json *object, const char *key, size_t len)
{
    const mcp_json *k;
    mcpi_hashed *e;
    uint32_t left, of = mcpi_hash((const char *)&object, sizeof object);
    if (mcp_json_type(object) != MCP_JSON_OBJECT) return NULL;
    if (object->n <= 16) return mcp_json_getn(object, key, len);
    for (e = mcpi_lookup(x, of); e && e->key != object && mcpi_spend(w, 1); e = mcpi_lookup_next(e)) { }
    if (!e) {
        mcpi_index_add(w, x, of, object, NULL, NULL);
        mcpi_each_key(k, left, object)
            if (!mcpi_index_add(w, x, of ^ (1 | mcpi_hash(k->u.text, k->n)), object, k, NULL)) return NULL;
    }
    for (e = mcpi_lookup(x, of ^ (1 | mcpi_hash(key, len))); e && mcpi_spend(w, 1); e = mcpi_lookup_next(e)) {
        k = e->json;
        if (e->key == object && k && k->n == len && memcmp(k->u.text, key, len) == 0) return k + 1;
    }
    return NULL;
}

/* Takes the escapes with percent signs out of a fragment, and returns its length. Any other sign stands for itself. */
static size_t mcpi_fragment_decode(char *s, size_t n)
{
    size_t from, to = 0;
    for (from = 0; from < n; from++)
        if (s[from] == '%' && n - from > 2 && mcpi_hex(s[from + 1]) >= 0 && mcpi_hex(s[from + 2]) >= 0) {
            s[to++] = (char)(mcpi_hex(s[from + 1]) << 4 | mcpi_hex(s[from + 2]));
            from += 2;
        } else s[to++] = s[from];
    return to;
}

/* Takes one step of a JSON pointer, whose token stands between *p, a slash, and the next one: *p moves there. */
static const mcp_json *mcpi_pointer_step(mcpi_work *w, mcpi_index *x, const mcp_json *v, char **p, const char *end)
{
    char *word = *p + 1, *to = word, *from;
    for (from = word; from < end && *from != '/'; *to++ = *from++) {
        if (*from != '~') continue;
        if (++from == end || (*from != '0' && *from != '1')) return NULL;
        *from = *from == '0' ? '~' : '/';
    }
    *p = from;
    if (mcp_json_type(v) == MCP_JSON_ARRAY) {
        uint64_t i = mcpi_token_index(word, to);
        if (i >= v->n || !mcpi_spend(w, (size_t)i)) return NULL;
        for (v = mcp_json_first(v); i; i--) v = mcp_json_next(v);
        return v;
    }
    return mcpi_spend(w, 1) ? mcpi_member_of(w, x, v, word, (size_t)(to - word)) : NULL;
}

#endif /* !MCP_NO_VALIDATE || !MCP_NO_SANITIZE */
#ifndef MCP_NO_VALIDATE

/* -- patterns: matching -------------------------------------------------------------------------------------------- */

/* The code points of each class, of \d, \w and \s only those beyond ASCII; properties as of Unicode 17.0. How many are
   not in it, how many are, and so on. A digit below 80 ends a length, whose digits before it are those from 80 on, less
   80, to the base 12. */
static const char mcpi_class_runs[] =
    "#{yk%z~~~I\0" "\0" "\0" "u#$x|r$uyB.@%($R$wu#$wzuA$\0"
    "d=)=R$-$'$(:$B$x]'/1(*$$$tT($%%'$$)$$&$$$7$t&$t^+u)$I%$)Lj>''PNF%$t6$$2%*%-&%$3$$A@t,.$;D,%'$(9'$,$&$:<*.(;$*3M]"
    "Y&$5$*-23'+%%%9$*$$&'&$3$0%$&1%-$+)'%%9$*$%$%$%B'$$6&3,$&$9$*$%$(&$5$2%:$.+%%%9$*$%$(&$A%$&2$4$$)&&$'&%$$$%&%&&&"
    "/9$W+$&$:$3&$=&$%%%A$'+$&$:$-$(&$A&$%2%4,$&$L%$3$(&+&;)(5&;$,$$%*]S$%/*]%$$$($;$$$-$%,$%($$8'C$b+$G>(tFN7$3)''&$"
    "&%*&'0/$4I$$($%N$w0$'%*$$$'%L$'%D$'%*$$$'%2$\\$'%fH33t)%)&z_%4$=(n)+*5061510$&2WF$'$ft,*(%E$$(i-BTA%(.O'=Y:,Xt%$"
    "t0R4+YA0%-O=GL&-G%.(N%&L'$)$%&$(uCcvI%)%I%)%+$$$$$$$B%X$*$$&&$*&'%)'0(&$*tG$0$30t8$'$%-$$&()$$$$$$'$.%'(('$W%u|N"
    "uh)'&%/I$$($%[*$3:,*$*$*$*$*$*$*$*t#$xh%M((%'t))&$t-$'(N$t14CS3yCy}Cct~spfQ%v@&3-%7R3B%iT,%t:%t%74$&$'$:@W1Ua)&$"
    "$%.\?-:<@*R\?$3($--($L:&$+7:&$&U$$&%%(%$$$;&%.*&/)%)%),*$*$N$1)tF@~zW/:'T{|WwQ%t=I*/(($$-$0$($$$%$%$t\?DwN5c%YK/"
    "tG($tZG=)=.t,&)%)%)%&F/$=$6$%$2%1EtNwh@&TRC07$+)I-A%G'+Stq5G'G'K+W/.$2$*$%$.$2$*$%&W/vj,9-+;)$M$,h)%$$O$%&$%:-:,"
    "Bd6$%-9-=)=I[)%c$2'$&$@M@&@F+$\?>Y-9-605tAlZV0V0GI\?,:v-M)%3)[@-$+9M5Q8>:/X\\%%$0PC<=G@$%$+F&$/S1'8$$$F5$<6%b*$$"
    "$'$2$-*RI+%%%9$*$%$(&$5$/(A-$$%$$I$$<$$$OX5'7&AS7%$$u;RL'GS7$^N0$j>H*u<OtGcB+%$%+$%$;2$$$t1+%J3$$$\?$-K*$8$.Q6$5"
    "luJDB,$H4$TAtC*$%$I8$<)$%$C1$:Ov762$$0$EtO$r~MuiuGu{ot42ttC4)<wtn(z:ztLAt}%z,*B4r4A5S3'B8(6xCPuVcC<%<On($e0c%$$1"
    "%/z{9LCt4tF|s`'$*$%$vV2$@&%$1'+wouwgt>(0&,*-yuit($j$%%$%%%'$/$$$*$d$'%+$*$\?$'$($$&*$w7%<$<$B$<$B$<$B$<$B$<$+t~'"
    "B))v8ateP-*3$w$A5Oy'\?ugA%$uRB$&$%$*%(,%uc*$'$%$2$uH^g*$tv''$>$%$$%$$-$'$$$$)$'$$$$$$&$%$$%$$$$$$$$$$%$$%'$*$'$'"
    "$$$-$4(&$($4wz7v{y#Cwya%ys1%z|D2zauyeyatyext^({}-\0"
    "|StCvF*v:P$$$%$%$$k.S83$t8*%)%%$'F$A>t..],,$;'$,$&$(N&^,M;$DY&$5$*-%@&[$$*%%%&,$-%=$%&[$$('%%&&$A%&$.&[$$+$&$&7%"
    "9)$&[$$*%%%&*&-%A$^(&&$',$K(Z$$*$&$'*%.%@&[$$*$&$'*%.%2$/'Z%$*$&$',$-%@&i$')$$$+5%`$%*/+t5$%,.*l%>$$$$$'%T7$%(.$"
    "G,$t77:''&$&%*&'0/$$-'{b&~e'\?&@%A%cC,$P&$$tH%E$tI/'/u^(\\-$@%$SQ%/7(R4I,/&A0[1S7tk&$8'$)$%&uIc|#DvuA&t`$t3Cym)t"
    "<%uzx''$-C%t#%vC$&$'$:('$t&%U5=50$I+<0O'R1G$f1/$+%P&U$$&%%(%$$L((%uo+$%t|tC$|4333ts0$ue$th(t{i&$%('K&'$u(%z0'd(v"
    "p%p)i.T'tM&X2L$%%-'P.*$`&G13%O$/&S1+'$%t//)$%$tp/8'Z%$*%%%&,$-%%*&(f,$$%$$'$($$1%t%5:$t$7un*%,>%t%4t=0t82v32v()$"
    "%%'$$$%t`*%*&$\?-K*$'+$,.Q3uI+uJ+$+t%9$1tM)&$$%$*$$e($%$(w>',%$$S*&(:$xyh$)2~~;5uz3(^*tt+$$Z*'t$$.%t{x>%w}dQ%:ya"
    "(&)++%*A'tg&us^Z'U+$1$9($2tx#*$4%*$%$(t7$u#*wZ$`'y\?'v1%v&$%$*%($xm*t@*x{|y8v#\0"
    "S-tK%($%&ty$-tY-uI-x/-tI-')t\?-tI-tI-%)tA0tF-+*t:-t;**6t@-t3-tI-i7v\?-i-{r7~$&ur-)-9-v_-tS.u(-)-u9-t)-tY-)-tt)$&"
    "))-uIV%(|)_q9ziAtx<$|\\$<,1&w:'t]-A+$2C-J2uy|3-u\?-w#)tm-I-uI-9-t)-x)-t}ti-y0P/\\4%w8>G'@$+$tY(uM-~a+<*J,n(9)u#%"
    "%3%Qc,W%A&n(t;+;+L*w-)S-)-vIBtq-M'tC*tYAtS-_-tc-*7v.-w9-tI-wY-t9-)7o/x76t0-{9-t)@uf-i-Y-wI-t98tt>tBtwuD-ux9-t)-t"
    "Y-$*yQ-v9:w@&us|L-tyI7/7t\?<tthUuxS-x9-y9-v*-{o,tS-|j^$&$'oP$2ts%0u}f-\0"
    "S-tzY-tY-uI-x/-tI-tI-tI-tI-tI-tI-tI-tI-tI-t3-tI-i-vI-i-t~9-I-v_-tS-u)-)-u9-t)-tY-)-vs{i-{I-I-uI-9-t)-x)-t}ti-txY"
    "-uv9-)-|o-tS-_-tc-vI-w9-tI-wY-t9-)7o-x9-t9-{9-t)-v)-i-Y-wI-txyY-ux9-t)-tY-yY-utxI-u}WUuxS-x9-y9-v*-}X-w~I-\0";

/* Is a code point beyond ASCII in the class of that number? */
static bool mcpi_in_class(uint32_t c, unsigned number)
{
    const char *p = mcpi_class_runs;
    uint32_t at = 0, high = 0;
    bool in = false;
    while (number--) p += strlen(p) + 1;
    for (; *p; p++) {
        uint32_t digit = (uint32_t)(unsigned char)*p - 35;
        if (digit >= 80) { high = high * 12 + digit - 80; continue; }
        at += high * 80 + digit;
        if (c < at) return in;
        in = !in;
        high = 0;
    }
    return in;
}

typedef struct mcpi_pattern {
    const uint32_t *code, *sets;
    uint32_t size, set_count, cells;        /* cells: words for the counters of one search */
} mcpi_pattern;

/* A character that is counted may be in the middle of several counts, which began at different places; all of them go
   on with the next character, or all of them end. So it is enough to know where they began, and not even each place:
   `least` to `most` times are reached without a gap when the next count begins at most `most - least + 1` later. A
   counter is a ring of such spans (first and last place), behind the index of the oldest and their number. */

/* How many spans there can be: between two lie most - least + 2 places or more, and none is older than `most`. */
static uint32_t mcpi_counter_spans(uint32_t least, uint32_t most)
{
    return most / (most - least + 2) + 1;
}

/* At place `at`: forgets counts that are over `most`. Whether one is at `least` or more. */
static bool mcpi_counter_done(uint32_t *cell, const uint32_t *count, uint32_t at)
{
    for (; cell[1] && at - cell[3 + 2 * cell[0]] > count[2]; cell[1]--)
        cell[0] = (cell[0] + 1) % mcpi_counter_spans(count[1], count[2]);
    return cell[1] && at - cell[2 + 2 * cell[0]] >= count[1];
}

static void mcpi_counter_begin(uint32_t *cell, const uint32_t *count, uint32_t at)
{
    uint32_t spans = mcpi_counter_spans(count[1], count[2]), *span;
    (void)mcpi_counter_done(cell, count, at);
    if (cell[1]) {
        span = cell + 2 + 2 * ((cell[0] + cell[1] - 1) % spans);
        if (at - span[1] <= count[2] - count[1] + 1) { span[1] = at; return; }
    }
    span = cell + 2 + 2 * ((cell[0] + cell[1]++) % spans);
    span[0] = span[1] = at;
}

/* Makes a pattern ready for searches; it lives in `a`, the text need not. NULL: it is malformed, outside of what is
   understood here, too large, or there is no memory; *why is then a piece of a sentence, static. */
static const mcpi_pattern *mcpi_pattern_compile(mcp_arena *a, const char *text, size_t len, const char **why)
{
    mcpi_regex r;
    mcpi_pattern *p;
    uint32_t *code, i;
    mcpi_regex_read(&r, text, len, NULL, NULL);
    *why = r.why;
    if (r.why) return NULL;
    p = (mcpi_pattern *)mcp_arena_alloc(a, sizeof *p + ((size_t)r.size + r.sets_size) * sizeof *code);
    *why = mcp_strerror(MCP_ERR_MEMORY);
    if (!p) return NULL;
    code = (uint32_t *)(void *)(p + 1);
    mcpi_regex_read(&r, text, len, code, code + r.size);
    p->code = code;
    p->sets = code + r.size;
    p->size = r.size;
    p->set_count = r.set_count;
    p->cells = 0;
    *why = "too large for the matcher";
    for (i = 0; i < r.size; i++) {
        uint32_t spans;
        if (code[i] != MCPI_OP_COUNT) continue;
        spans = mcpi_counter_spans(code[i + 1], code[i + 2]);
        if (spans > (MCPI_PATTERN_MAX - p->cells) / 2 - 1) return NULL;
        code[i + 3] = p->cells;
        p->cells += 2 + 2 * spans;
        i += MCPI_COUNT_WORDS - 1;
    }
    *why = NULL;
    return p;
}

/* A search. Marks, verdicts and counters are one row of words, all zero at first. */
typedef struct mcpi_search {
    const mcpi_pattern *p;
    uint32_t *marks;                        /* of each instruction: where it was tried last */
    uint32_t *verdicts;                     /* of each set: the last character beyond ASCII twice, 1 if it is in */
    uint32_t *cells;
    uint64_t steps;                         /* that may still be taken */
    uint32_t c;                             /* the last character beyond ASCII that was looked up in classes ... */
    unsigned known, in;                     /* ... in these, and it is in those */
} mcpi_search;

#define MCPI_NO_CHAR 0x110000               /* before the first and behind the last */
#define MCPI_SET_STEP 8                     /* pairs of a set, looked through in the time of one instruction */
#define MCPI_PROPERTY_STEPS 64

static void mcpi_search_pay(mcpi_search *s, uint32_t steps)
{
    s->steps = s->steps > steps ? s->steps - steps : 0;
}

static bool mcpi_search_class(mcpi_search *s, uint32_t kind, uint32_t c)
{
    unsigned number = kind >> 1 & 7, bit = 1u << number;
    if (s->c != c) { s->c = c; s->known = s->in = 0; }
    if (!(s->known & bit)) {
        if (number >= MCPI_CLASS_PROPERTY) mcpi_search_pay(s, MCPI_PROPERTY_STEPS);
        s->known |= bit;
        if (mcpi_in_class(c, number)) s->in |= bit;
    }
    return ((s->in & bit) != 0) != (kind & 1);
}

static bool mcpi_search_set(mcpi_search *s, const uint32_t *set, uint32_t c)
{
    const uint32_t *pair = set + MCPI_SET_HEAD, *end = pair + (set[4] & ~1u);
    uint32_t *verdict = &s->verdicts[set[5]];
    bool in = false;
    if (*verdict >> 1 == c) return *verdict & 1;
    for (; pair < end && !in; pair += 2)
        in = pair[0] & MCPI_IS_CLASS ? mcpi_search_class(s, pair[0], c) : pair[0] <= c && c <= pair[1];
    mcpi_search_pay(s, (uint32_t)(pair - set) / 2 / MCPI_SET_STEP);
    in = in != (set[4] & 1);
    *verdict = c << 1 | (uint32_t)in;
    return in;
}

/* Does this instruction take the character? */
static inline bool mcpi_search_takes(mcpi_search *s, uint32_t word, uint32_t c)
{
    uint32_t arg = MCPI_ARG(word);
    bool set = MCPI_OP(word) == MCPI_OP_SET;
    if (MCPI_OP(word) == MCPI_OP_CHAR) return c == arg;
    if (c < 0x80) {
        const uint32_t *bits = set ? s->p->sets + arg : mcpi_class_ascii[arg >> 1];
        return (bits[c >> 5] >> (c & 31) & 1) != (set ? 0 : arg & 1);
    }
    if (c == MCPI_NO_CHAR) return false;
    return set ? mcpi_search_set(s, s->p->sets + arg, c) : mcpi_search_class(s, arg, c);
}

/* At each place of the text: `now` are the instructions that go on from the place before, and grows as they fork;
   `next` those that have taken the character. No instruction is tried twice at a place, so neither list outgrows the
   program. */
static int mcpi_search_run(mcpi_search *s, const char *text, size_t n, uint16_t *now, uint16_t *next)
{
    const uint32_t *code = s->p->code;
    uint32_t *marks = s->marks, before, c = MCPI_NO_CHAR, at, count = 0, coming, i, pc, word;
    const char *end = text + n;
    for (at = 1;; at++) {
        uint16_t *other = now;
        before = c;
        c = text == end ? MCPI_NO_CHAR : *text & 0x80 ? mcpi_utf8_take(&text, end) : (unsigned char)*text++;
        if (at == 1 || code[0] != MCPI_OP_START) now[count++] = 0;
        else if (!count) return 0;
        for (i = coming = 0; i < count; i++)
            for (pc = now[i]; marks[pc] != at;) {
                if (s->steps == 0) return MCP_ERR_LIMIT;
                s->steps--;
                marks[pc] = at;
                word = code[pc];
                switch (MCPI_OP(word)) {
                case MCPI_OP_LOOP:
                    if (mcpi_search_takes(s, code[pc + 1], c)) next[coming++] = (uint16_t)pc;
                    pc += 2;
                    continue;
                case MCPI_OP_COUNT:
                    if (!mcpi_search_takes(s, code[pc + MCPI_COUNT_WORDS - 1], c)) break;
                    mcpi_counter_begin(s->cells + code[pc + 3], code + pc, at);
                    pc += MCPI_COUNT_WORDS - 2;
                    continue;
                case MCPI_OP_COUNTED: {
                    const uint32_t *counted = code + pc - (MCPI_COUNT_WORDS - 2);
                    uint32_t *cell = s->cells + counted[3];
                    bool done = mcpi_counter_done(cell, counted, at);
                    if (mcpi_search_takes(s, code[pc + 1], c)) next[coming++] = (uint16_t)pc;
                    else cell[1] = 0;
                    if (!done) break;
                    pc += 2;
                    continue;
                }
                case MCPI_OP_FORK:  now[count++] = (uint16_t)(pc + MCPI_ARG(word) - MCPI_FAR); pc++; continue;
                case MCPI_OP_JUMP:  pc += MCPI_ARG(word) - MCPI_FAR; continue;
                case MCPI_OP_START: if (at != 1) break; pc++; continue;
                case MCPI_OP_END:   if (c != MCPI_NO_CHAR) break; pc++; continue;
                case MCPI_OP_EDGE:  if (mcpi_is_word(before) == mcpi_is_word(c)) break; pc++; continue;
                case MCPI_OP_NO_EDGE: if (mcpi_is_word(before) != mcpi_is_word(c)) break; pc++; continue;
                case MCPI_OP_MATCH: return 1;
                default: if (mcpi_search_takes(s, word, c)) next[coming++] = (uint16_t)(pc + 1);
                }
                break;
            }
        if (c == MCPI_NO_CHAR) return 0;
        count = coming;
        now = next;
        next = other;
    }
}

/* Does the pattern match somewhere in s (UTF-8)? 1 or 0, MCP_ERR_MEMORY, or MCP_ERR_LIMIT: it would take more than
   *steps, from which those are taken that it took. A step is an instruction tried, at most `size` for each character,
   or as much work on a set. What it needs of `scratch` is free again afterwards. */
static int mcpi_pattern_find(const mcpi_pattern *p, const char *s, size_t n, mcp_arena *scratch, uint64_t *steps)
{
    mcpi_search search;
    uint32_t few[256], *words = few;
    size_t zeroed = (size_t)p->size + p->set_count + p->cells, all = zeroed + p->size + 1;
    uint16_t *lists;
    int found;
    if (all > sizeof few / sizeof *few) {
        words = (uint32_t *)mcp_arena_alloc(scratch, all * sizeof *words);
        if (!words) return MCP_ERR_MEMORY;
    }
    memset(words, 0, zeroed * sizeof *words);
    search.p = p;
    search.marks = words;
    search.verdicts = words + p->size;
    search.cells = search.verdicts + p->set_count;
    search.steps = *steps;
    search.c = MCPI_NO_CHAR;
    search.known = search.in = 0;
    lists = (uint16_t *)(void *)(words + zeroed);
    found = mcpi_search_run(&search, s, n, lists, lists + p->size + 1);
    *steps = search.steps;
    if (words != few) {                     /* nothing was taken since */
        scratch->left += (size_t)(scratch->next - (char *)words);
        scratch->next = (char *)words;
    }
    return found;
}

enum { MCPI_PATTERN_STEPS = 16 };                           /* of a search, for the price of one of these: */
enum { MCPI_STEPS = 1000000, MCPI_STEPS_EACH = 256 };      /* for a check, and for each part of the value */

/* What was cut off an arena since a mark is given back, unless a new block was begun: that is kept for the next time. */
typedef struct mcpi_mark { void *blocks; char *next; size_t left; } mcpi_mark;

static mcpi_mark mcpi_mark_set(const mcp_arena *a)
{
    mcpi_mark m;
    m.blocks = a->blocks;
    m.next = a->next;
    m.left = a->left;
    return m;
}

static void mcpi_mark_back(mcp_arena *a, const mcpi_mark *m)
{
    if (a->blocks != m->blocks) return;
    a->next = m->next;
    a->left = m->left;
}

/* -- numbers by their text --------------------------------------------------------------------------------------- */

/* 0.D * 10^e, D being n digits from p on, with neither a first nor a last zero; a point may stand among them. Zero has
   no digits. */
typedef struct mcpi_exact { const char *p; size_t n; int64_t e; bool negative; } mcpi_exact;

static mcpi_exact mcpi_exact_read(const mcp_json *v)
{
    const char *p = v->u.text, *end = p + v->n, *stop;
    bool point = false;
    size_t k = 0;
    mcpi_exact x;
    x.negative = *p == '-';
    if (x.negative) p++;
    for (stop = p; stop < end && (*stop | 32) != 'e'; stop++) { }
    x.e = mcpi_exponent(stop, end);
    for (; p < stop && (*p == '0' || *p == '.'); p++) {
        if (*p == '.') point = true;
        else x.e -= point;
    }
    x.p = p;
    x.n = 0;
    for (; p < stop; p++) {
        if (*p == '.') { point = true; continue; }
        k++;
        x.e += !point;
        if (*p != '0') x.n = k;
    }
    if (x.n == 0) { x.e = 0; x.negative = false; }
    return x;
}

/* The digit at *p, which moves on. */
static unsigned mcpi_exact_digit(const char **p)
{
    if (**p == '.') ++*p;
    return (unsigned)(*(*p)++ - '0');
}

static int mcpi_exact_compare(const mcpi_exact *a, const mcpi_exact *b)
{
    const char *p = a->p, *q = b->p;
    size_t left = a->n < b->n ? a->n : b->n;
    int r = a->e < b->e ? -1 : a->e > b->e;
    if (a->n == 0 || b->n == 0 || a->negative != b->negative) {
        int sign_a = a->n == 0 ? 0 : a->negative ? -1 : 1, sign_b = b->n == 0 ? 0 : b->negative ? -1 : 1;
        return sign_a - sign_b;
    }
    for (; r == 0 && left; left--) r = (int)mcpi_exact_digit(&p) - (int)mcpi_exact_digit(&q);
    if (r == 0) r = a->n < b->n ? -1 : a->n > b->n;
    return a->negative ? -r : r;
}

/* Is a a multiple of b, which is over 0? Both are whole numbers times a power of ten; the first, followed by as many
   zeros as its power is the higher one, has to leave no remainder. Neither whole number ends in zero, so a lower power
   cannot fit; and four zeros for each digit of b hold all the twos and fives that b can have. */
static bool mcpi_exact_multiple(mcpi_work *w, const mcpi_exact *a, const mcpi_exact *b)
{
    int64_t shift = (a->e - (int64_t)a->n) - (b->e - (int64_t)b->n);
    size_t zeros, digits, i;
    const char *p = a->p, *q = b->p;
    mcpi_mark mark = mcpi_mark_set(w->arena);
    unsigned char *rest, *by;
    if (a->n == 0) return true;
    if (shift < 0) return false;
    zeros = (uint64_t)shift < 4 * (uint64_t)b->n ? (size_t)shift : 4 * b->n;
    digits = a->n + zeros;
    /* Long division on paper: `rest` has one digit more than `by`. */
    if (digits > UINT32_MAX || b->n > UINT32_MAX || !mcpi_spend(w, digits / 8 * b->n)) return false;
    rest = (unsigned char *)mcpi_work_alloc(w, 2 * b->n + 1);
    if (!rest) return false;
    by = rest + b->n + 1;
    for (i = 0; i < b->n; i++) by[i] = (unsigned char)mcpi_exact_digit(&q);
    for (i = 0; i < digits; i++) {
        memmove(rest, rest + 1, b->n);
        rest[b->n] = (unsigned char)(i < a->n ? mcpi_exact_digit(&p) : 0);
        while (rest[0] || memcmp(rest + 1, by, b->n) >= 0) {
            int borrow = 0;
            size_t k;
            for (k = b->n; k; k--) {
                int x = rest[k] - by[k - 1] - borrow;
                borrow = x < 0;
                rest[k] = (unsigned char)(x + 10 * borrow);
            }
            rest[0] = (unsigned char)(rest[0] - borrow);
        }
    }
    for (i = 0; i <= b->n && rest[i] == 0; i++) { }
    mcpi_mark_back(w->arena, &mark);
    return i > b->n;
}

/* Nearly every number: at most 18 digits and no more. */
static bool mcpi_small(const mcp_json *v, int64_t *out)
{
    const char *p = v->u.text, *end = p + v->n;
    bool negative = *p == '-';
    int64_t n = 0;
    if (v->n > 18) return false;
    for (p += negative; p < end; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (digit > 9) return false;
        n = n * 10 + (int64_t)digit;
    }
    *out = negative ? -n : n;
    return true;
}

static int mcpi_number_compare(mcpi_work *w, const mcp_json *a, const mcp_json *b)
{
    int64_t m, n;
    mcpi_exact x, y;
    if (mcpi_small(a, &m) && mcpi_small(b, &n)) return m < n ? -1 : m > n;
    if (!mcpi_spend(w, ((size_t)a->n + b->n) / 16)) return 0;
    x = mcpi_exact_read(a);
    y = mcpi_exact_read(b);
    return mcpi_exact_compare(&x, &y);
}

static bool mcpi_number_multiple(mcpi_work *w, const mcp_json *a, const mcp_json *b)
{
    int64_t m, n;
    mcpi_exact x, y;
    if (mcpi_small(a, &m) && mcpi_small(b, &n)) return m % n == 0;
    if (!mcpi_spend(w, ((size_t)a->n + b->n) / 16)) return false;
    x = mcpi_exact_read(a);
    y = mcpi_exact_read(b);
    return mcpi_exact_multiple(w, &x, &y);
}

/* Is the number whole? In draft-04 it must not even be written with a point or an exponent. */
static bool mcpi_number_whole(mcpi_work *w, const mcp_json *v, bool written)
{
    const char *end = v->u.text + v->n;
    mcpi_exact x;
    if (mcpi_digits(v->u.text + (*v->u.text == '-'), end) == end) return true;
    if (written || !mcpi_spend(w, v->n / 16)) return false;
    x = mcpi_exact_read(v);
    return x.e >= (int64_t)x.n;
}

/* -- values: what is equal ----------------------------------------------------------------------------------------- */
/* As JSON Schema sees it: numbers by value, members in any order, of equal keys the last one. A set of values is a hash
   table; an object's members are a set of their keys, since a key is a node like a string's. */

enum { MCPI_SAME_DEPTH = 512, MCPI_HASH_DEPTH = 32 };
typedef struct mcpi_cell { const mcp_json *v; uint32_t hash, i; } mcpi_cell;   /* i: for whoever fills the set */
typedef struct mcpi_set { mcpi_cell *cell; uint32_t mask, count; } mcpi_set;

static bool mcpi_same(mcpi_work *w, const mcp_json *a, const mcp_json *b, int depth);

static bool mcpi_set_make(mcpi_work *w, mcpi_set *s, uint32_t n)
{
    size_t cells = 4;
    while (cells < 2 * (size_t)n) cells *= 2;
    s->mask = (uint32_t)(cells - 1);
    s->count = 0;
    s->cell = (mcpi_cell *)mcpi_work_alloc(w, cells * sizeof *s->cell);
    return s->cell != NULL;
}

/* The cell with a value equal to this one, or the empty one where it belongs. NULL: the status says why. */
static mcpi_cell *mcpi_set_find(mcpi_work *w, const mcpi_set *s, const mcp_json *v, uint32_t hash, int depth)
{
    uint32_t i;
    for (i = hash & s->mask; mcpi_spend(w, 1); i = (i + 1) & s->mask) {
        mcpi_cell *c = &s->cell[i];
        if (!c->v) c->hash = hash;
        if (!c->v || (c->hash == hash && mcpi_same(w, c->v, v, depth))) return w->status == MCP_OK ? c : NULL;
    }
    return NULL;
}

static uint32_t mcpi_value_hash(mcpi_work *w, const mcp_json *v, int depth);

static mcpi_cell *mcpi_set_cell(mcpi_work *w, const mcpi_set *s, const mcp_json *v)
{
    return mcpi_set_find(w, s, v, mcpi_value_hash(w, v, 0), 0);
}

#define MCPI_NONE UINT32_MAX                /* a member of no known name */
#define MCPI_OVER (UINT32_MAX - 1)          /* a member whose key comes again */

/* An object's keys. `over` (may be NULL) gets MCPI_OVER for each member whose key comes again. */
static bool mcpi_set_keys(mcpi_work *w, mcpi_set *s, const mcp_json *object, uint32_t *over)
{
    const mcp_json *k;
    uint32_t left, i = 0;
    if (!mcpi_set_make(w, s, object->n)) return false;
    mcpi_each_key(k, left, object) {
        mcpi_cell *c = mcpi_set_cell(w, s, k);
        if (!c) return false;
        if (!c->v) s->count++;
        else if (over) over[c->i] = MCPI_OVER;
        c->v = k;
        c->i = i++;
    }
    return true;
}

/* Equal values have equal hashes. What is nested deeper than anybody nests does not count. */
static uint32_t mcpi_value_hash(mcpi_work *w, const mcp_json *v, int depth)
{
    const uint32_t odd = UINT32_C(0x9E3779B1);
    uint32_t h = (uint32_t)mcp_json_type(v), i;
    mcpi_mark mark;
    mcpi_set keys;
    mcpi_exact x;
    size_t k;
    if (depth == MCPI_HASH_DEPTH || !mcpi_spend(w, 1 + (mcpi_has_text(v) ? v->n / 16 : 0))) return h;
    switch (mcp_json_type(v)) {
    case MCP_JSON_BOOL:
        return h + (v->tag & MCPI_TRUE);
    case MCP_JSON_STRING:
        return mcpi_hash(v->u.text, v->n);
    case MCP_JSON_NUMBER:
        x = mcpi_exact_read(v);
        h += x.negative + (uint32_t)x.e * 2;
        for (k = x.n; k; k--) h = (h ^ mcpi_exact_digit(&x.p)) * odd;
        return h;
    case MCP_JSON_ARRAY:
        mcp_json_each(item, v) h = (h ^ mcpi_value_hash(w, item, depth + 1)) * odd;
        return h;
    case MCP_JSON_OBJECT:
        mark = mcpi_mark_set(w->arena);
        if (!mcpi_set_keys(w, &keys, v, NULL)) return h;
        for (i = 0; i <= keys.mask; i++)
            if (keys.cell[i].v) h += (keys.cell[i].hash ^ mcpi_value_hash(w, keys.cell[i].v + 1, depth + 1)) * odd;
        mcpi_mark_back(w->arena, &mark);
        return h;
    default:
        return h;
    }
}

static bool mcpi_same_members(mcpi_work *w, const mcp_json *a, const mcp_json *b, int depth)
{
    mcpi_set x, y;
    uint32_t i;
    if (!mcpi_set_keys(w, &x, a, NULL) || !mcpi_set_keys(w, &y, b, NULL) || x.count != y.count) return false;
    for (i = 0; i <= x.mask; i++) {
        mcpi_cell *c;
        if (!x.cell[i].v) continue;
        c = mcpi_set_find(w, &y, x.cell[i].v, x.cell[i].hash, depth);
        if (!c || !c->v || !mcpi_same(w, x.cell[i].v + 1, c->v + 1, depth + 1)) return false;
    }
    return true;
}

static bool mcpi_same(mcpi_work *w, const mcp_json *a, const mcp_json *b, int depth)
{
    mcpi_mark mark;
    const mcp_json *x, *y;
    bool same;
    if (mcp_json_type(a) != mcp_json_type(b) || !mcpi_spend(w, 1)) return false;
    if (depth > MCPI_SAME_DEPTH) { w->status = MCP_ERR_LIMIT; return false; }
    switch (mcp_json_type(a)) {
    case MCP_JSON_NUMBER:
        return mcpi_number_compare(w, a, b) == 0 && w->status == MCP_OK;
    case MCP_JSON_ARRAY:
        if (a->n != b->n) return false;
        for (x = mcp_json_first(a), y = mcp_json_first(b); x; x = mcp_json_next(x), y = mcp_json_next(y))
            if (!mcpi_same(w, x, y, depth + 1)) return false;
        return true;
    case MCP_JSON_OBJECT:
        mark = mcpi_mark_set(w->arena);
        same = mcpi_same_members(w, a, b, depth);
        mcpi_mark_back(w->arena, &mark);
        return same;
    default:
        return mcpi_spend(w, a->n / 16) && mcpi_equal(a, b);
    }
}

/* -- the compiled form --------------------------------------------------------------------------------------------- */

/* The dialects, oldest first. */
enum { MCPI_D4, MCPI_D6, MCPI_D7, MCPI_D19, MCPI_D20 };
static const char mcpi_dialects[] =
    "json-schema.org/draft-04/schema\0" "json-schema.org/draft-06/schema\0" "json-schema.org/draft-07/schema\0"
    "json-schema.org/draft/2019-09/schema\0" "json-schema.org/draft/2020-12/schema\0";

/* What a keyword's value has to be. */
enum {
    MCPI_IS_TYPES, MCPI_IS_ANY, MCPI_IS_LIST, MCPI_IS_NUMBER, MCPI_IS_FACTOR, MCPI_IS_COUNT, MCPI_IS_BOOL,
    MCPI_IS_TEXT, MCPI_IS_NAMES, MCPI_IS_SCHEMA, MCPI_IS_SCHEMAS, MCPI_IS_SCHEMA_OR_LIST, MCPI_IS_MAP,
    MCPI_IS_NAMES_MAP, MCPI_IS_EITHER_MAP
};

/* The keywords that do something: what their value is, the first and the last dialect that know them, the only type of
   value that they look at, and the rule that they make or are a part of. A value is held against the rules in this order; those before `required` look at the value
   alone. */
#define MCPI_KEYWORDS(X) \
    X(TYPE,            "type",                  TYPES,          D4,  D20, NONE,   NONE) \
    X(ENUM,            "enum",                  LIST,           D4,  D20, NONE,   ENUM) \
    X(CONST,           "const",                 ANY,            D6,  D20, NONE,   CONST) \
    X(MULTIPLE,        "multipleOf",            FACTOR,         D4,  D20, NUMBER, MULTIPLE) \
    X(MAXIMUM,         "maximum",               NUMBER,         D4,  D20, NUMBER, MAXIMUM) \
    X(BELOW4,          "exclusiveMaximum",      BOOL,           D4,  D4,  NUMBER, NONE) \
    X(BELOW,           "exclusiveMaximum",      NUMBER,         D6,  D20, NUMBER, BELOW) \
    X(MINIMUM,         "minimum",               NUMBER,         D4,  D20, NUMBER, MINIMUM) \
    X(ABOVE4,          "exclusiveMinimum",      BOOL,           D4,  D4,  NUMBER, NONE) \
    X(ABOVE,           "exclusiveMinimum",      NUMBER,         D6,  D20, NUMBER, ABOVE) \
    X(MAX_LENGTH,      "maxLength",             COUNT,          D4,  D20, STRING, MAX_LENGTH) \
    X(MIN_LENGTH,      "minLength",             COUNT,          D4,  D20, STRING, MIN_LENGTH) \
    X(PATTERN,         "pattern",               TEXT,           D4,  D20, STRING, PATTERN) \
    X(MAX_ITEMS,       "maxItems",              COUNT,          D4,  D20, ARRAY,  MAX_ITEMS) \
    X(MIN_ITEMS,       "minItems",              COUNT,          D4,  D20, ARRAY,  MIN_ITEMS) \
    X(UNIQUE,          "uniqueItems",           BOOL,           D4,  D20, ARRAY,  UNIQUE) \
    X(REQUIRED,        "required",              NAMES,          D4,  D20, OBJECT, REQUIRED) \
    X(MAX_MEMBERS,     "maxProperties",         COUNT,          D4,  D20, OBJECT, MAX_MEMBERS) \
    X(MIN_MEMBERS,     "minProperties",         COUNT,          D4,  D20, OBJECT, MIN_MEMBERS) \
    X(NEEDS,           "dependentRequired",     NAMES_MAP,      D19, D20, OBJECT, NEEDS) \
    X(NEEDS_FIT,       "dependentSchemas",      MAP,            D19, D20, OBJECT, NEEDS_FIT) \
    X(NEEDS_EITHER,    "dependencies",          EITHER_MAP,     D4,  D20, OBJECT, NEEDS_EITHER) \
    X(NAMES,           "propertyNames",         SCHEMA,         D6,  D20, OBJECT, NAMES) \
    X(MEMBERS,         "properties",            MAP,            D4,  D20, OBJECT, MEMBERS) \
    X(PATTERNS,        "patternProperties",     MAP,            D4,  D20, OBJECT, MEMBERS) \
    X(ADDITIONAL,      "additionalProperties",  SCHEMA,         D4,  D20, OBJECT, MEMBERS) \
    X(PREFIX,          "prefixItems",           SCHEMAS,        D20, D20, ARRAY,  ITEMS) \
    X(ITEMS,           "items",                 SCHEMA,         D20, D20, ARRAY,  ITEMS) \
    X(ITEMS7,          "items",                 SCHEMA_OR_LIST, D4,  D19, ARRAY,  ITEMS) \
    X(REST7,           "additionalItems",       SCHEMA,         D4,  D19, ARRAY,  ITEMS) \
    X(CONTAINS,        "contains",              SCHEMA,         D6,  D20, ARRAY,  CONTAINS) \
    X(MAX_CONTAINS,    "maxContains",           COUNT,          D19, D20, ARRAY,  NONE) \
    X(MIN_CONTAINS,    "minContains",           COUNT,          D19, D20, ARRAY,  NONE) \
    X(REF,             "$ref",                  TEXT,           D4,  D20, NONE,   REF) \
    X(DYNAMIC_REF,     "$dynamicRef",           TEXT,           D20, D20, NONE,   DYNAMIC_REF) \
    X(RECURSIVE_REF,   "$recursiveRef",         TEXT,           D19, D19, NONE,   RECURSIVE_REF) \
    X(ALL,             "allOf",                 SCHEMAS,        D4,  D20, NONE,   ALL) \
    X(ANY,             "anyOf",                 SCHEMAS,        D4,  D20, NONE,   ANY) \
    X(ONE,             "oneOf",                 SCHEMAS,        D4,  D20, NONE,   ONE) \
    X(NOT,             "not",                   SCHEMA,         D4,  D20, NONE,   NOT) \
    X(IF,              "if",                    SCHEMA,         D7,  D20, NONE,   IF) \
    X(THEN,            "then",                  SCHEMA,         D7,  D20, NONE,   IF) \
    X(ELSE,            "else",                  SCHEMA,         D7,  D20, NONE,   IF) \
    X(LEFT_ITEMS,      "unevaluatedItems",      SCHEMA,         D19, D20, ARRAY,  LEFT_ITEMS) \
    X(LEFT_MEMBERS,    "unevaluatedProperties", SCHEMA,         D19, D20, OBJECT, LEFT_MEMBERS) \
    X(DEFS,            "$defs",                 MAP,            D19, D20, NONE,   NONE) \
    X(DEFINITIONS,     "definitions",           MAP,            D4,  D20, NONE,   NONE) \
    X(CONTENT,         "contentSchema",         SCHEMA,         D19, D20, NONE,   NONE) \
    X(SCHEMA,          "$schema",               TEXT,           D4,  D20, NONE,   NONE) \
    X(ID4,             "id",                    TEXT,           D4,  D4,  NONE,   NONE) \
    X(ID,              "$id",                   TEXT,           D6,  D20, NONE,   NONE) \
    X(ANCHOR,          "$anchor",               TEXT,           D19, D20, NONE,   NONE) \
    X(DYNAMIC_ANCHOR,  "$dynamicAnchor",        TEXT,           D20, D20, NONE,   NONE) \
    X(RECURSIVE_ANCHOR,"$recursiveAnchor",      BOOL,           D19, D19, NONE,   NONE)
enum {
#define MCPI_X(id, name, is, from, to, of, rule) MCPI_KW_##id,
    MCPI_KEYWORDS(MCPI_X)
#undef MCPI_X
    MCPI_KEYWORD_COUNT, MCPI_KW_NONE = MCPI_KEYWORD_COUNT
};
static const struct mcpi_keyword { char name[22], is, from, to, of, rule; } mcpi_keywords[MCPI_KEYWORD_COUNT] = {
#define MCPI_X(id, name, is, from, to, of, rule) { name, MCPI_IS_##is, MCPI_##from, MCPI_##to, MCP_JSON_##of, MCPI_KW_##rule },
    MCPI_KEYWORDS(MCPI_X)
#undef MCPI_X
};

typedef struct mcpi_node mcpi_node;

/* A schema resource: what has a URI, and where references begin. */
typedef struct mcpi_home {
    const char *uri; size_t len;            /* without a fragment; "": the whole schema says none */
    uint32_t hash;
    int dialect;
    mcpi_node *root;
} mcpi_home;

/* What a reference can name: a resource (name "") or an anchor in it. */
typedef struct mcpi_ident {
    struct mcpi_ident *next;
    const mcpi_home *home;
    const char *name; size_t len;
    mcpi_node *node;
    bool dynamic;
} mcpi_ident;

typedef struct mcpi_rule {
    struct mcpi_rule *next;
    unsigned char op, of;                   /* MCPI_KW_..., and the type that it looks at; MCP_JSON_NONE: all */
    bool small;                             /* `number` is the limit */
    bool strict;                            /* the limit itself does not fit; a reference is looked up anew */
    uint32_t n;                             /* of list */
    const mcp_json *src, *properties;       /* the keyword's value; rule of members: `properties` */
    mcpi_node *sub, *yes, *no;              /* the one node, or the one for the rest; then and else */
    mcpi_node **list;
    const mcp_json **needs; uint32_t needs_count;   /* arrays of names that have to be there beside a member */
    const mcpi_pattern **patterns, *pattern;        /* for each of the list; or one */
    const mcp_json *least, *most;           /* minContains, maxContains */
    int64_t number;
    uint64_t min, max;
    mcpi_set set;                           /* of a long enum */
} mcpi_rule;

/* A member's name that a node knows. */
typedef struct mcpi_known { const char *text; size_t len; uint32_t hash; bool required; mcpi_node *sub; } mcpi_known;

enum { MCPI_WHOLE = 1 << 7, MCPI_ALL_TYPES = 0x7E };       /* bits of mcp_type, and one for whole numbers */

struct mcpi_node {
    mcpi_node *next;                        /* in the order in which they were found */
    const mcp_json *src;
    const mcpi_home *home;
    mcpi_rule *asserts, *rules;
    mcpi_known *known; uint32_t known_count, required;
    uint32_t *cells, mask;                  /* hash table of more than a few known names: index + 1 */
    unsigned char types;
    bool distinct;                          /* members whose key comes again have to be told apart */
    bool tracks;                            /* has unevaluated... */
    unsigned char height;                   /* 1 and up: see mcpi_flat */
    const mcpi_node *rest;                  /* there: for members of no known name */
};

/* Whoever has a schema can check it: what links the checks is mcp_schema_compile alone. */
struct mcp_schema {
    int (*check)(const mcp_schema *s, const mcp_json *value, mcp_arena *scratch, mcp_writer *errors, int max_errors,
                 bool lines);
    mcpi_node *root;
    mcpi_ident **idents; uint32_t mask;
    const char *notes;
};

static uint32_t mcpi_known_find(const mcpi_node *x, const char *text, size_t len)
{
    uint32_t i, h;
    if (!x->cells) {
        for (i = 0; i < x->known_count; i++)
            if (x->known[i].len == len && memcmp(x->known[i].text, text, len) == 0) return i;
        return MCPI_NONE;
    }
    h = mcpi_hash(text, len);
    for (i = h & x->mask; x->cells[i]; i = (i + 1) & x->mask) {
        const mcpi_known *k = &x->known[x->cells[i] - 1];
        if (k->hash == h && k->len == len && memcmp(k->text, text, len) == 0) return x->cells[i] - 1;
    }
    return MCPI_NONE;
}

/* -- URIs ------------------------------------------------------------------------------------------------------------ */
/* Only what RFC 3986, section 5.2 needs: a reference is resolved against the base where it stands, as text. */

enum { MCPI_URI_SCHEME, MCPI_URI_AUTHORITY, MCPI_URI_PATH, MCPI_URI_QUERY, MCPI_URI_PARTS };
enum { MCPI_URI_LONGEST = 1024 };

/* Where each part ends; a part that is not there ends where it begins. */
static void mcpi_uri_cut(const char *s, size_t n, size_t end[MCPI_URI_PARTS])
{
    size_t i = 0;
    while (i < n && !strchr(":/?#", s[i])) i++;
    end[MCPI_URI_SCHEME] = i = i < n && s[i] == ':' && i ? i + 1 : 0;
    if (n - i >= 2 && s[i] == '/' && s[i + 1] == '/')
        for (i += 2; i < n && !strchr("/?#", s[i]); i++) { }
    end[MCPI_URI_AUTHORITY] = i;
    while (i < n && !strchr("?#", s[i])) i++;
    end[MCPI_URI_PATH] = i;
    while (i < n && s[i] != '#') i++;
    end[MCPI_URI_QUERY] = i;
}

/* 5.2.4: takes the segments . and .. out of a path; returns its length. */
static size_t mcpi_uri_dots(char *p, size_t n)
{
    size_t from = 0, to = 0, end, slash, len;
    for (; from < n; from = end) {
        slash = p[from] == '/';
        for (end = from + slash; end < n && p[end] != '/'; end++) { }
        len = end - from - slash;
        if (len && len <= 2 && p[from + slash] == '.' && p[end - 1] == '.') {
            if (len == 2) while (to && p[--to] != '/') { }
            if (end == n && slash) p[to++] = '/';
            continue;
        }
        memmove(p + to, p + from, end - from);
        to += end - from;
    }
    return to;
}

/* 5.2.2, without the fragment: so much of the base, and all of the reference. Returns the length, or MCP_NTS: too long. */
static size_t mcpi_uri_join(char out[MCPI_URI_LONGEST], const char *base, size_t base_len, const char *ref, size_t len)
{
    size_t b[MCPI_URI_PARTS], r[MCPI_URI_PARTS], keep, path, end, query;
    if (base_len + len + 2 > MCPI_URI_LONGEST) return MCP_NTS;
    mcpi_uri_cut(base, base_len, b);
    mcpi_uri_cut(ref, len, r);
    query = r[MCPI_URI_QUERY] - r[MCPI_URI_PATH];
    if (r[MCPI_URI_SCHEME]) keep = 0;
    else if (r[MCPI_URI_AUTHORITY]) keep = b[MCPI_URI_SCHEME];
    else if (r[MCPI_URI_PATH] == 0) keep = b[query ? MCPI_URI_PATH : MCPI_URI_QUERY];
    else if (*ref == '/') keep = b[MCPI_URI_AUTHORITY];
    else for (keep = b[MCPI_URI_PATH]; keep > b[MCPI_URI_AUTHORITY] && base[keep - 1] != '/'; keep--) { }
    memcpy(out, base, keep);
    path = r[MCPI_URI_AUTHORITY] ? keep + r[MCPI_URI_AUTHORITY] : b[MCPI_URI_AUTHORITY];
    if (!r[MCPI_URI_AUTHORITY] && r[MCPI_URI_PATH] && *ref != '/' && b[MCPI_URI_AUTHORITY] > b[MCPI_URI_SCHEME] &&
        b[MCPI_URI_PATH] == path) out[keep++] = '/';
    memcpy(out + keep, ref, r[MCPI_URI_QUERY]);
    if (r[MCPI_URI_PATH] == 0) return keep + query;
    end = keep + r[MCPI_URI_PATH];
    path += mcpi_uri_dots(out + path, end - path);
    memmove(out + path, out + end, query);
    return path + query;
}

/* -- compiling --------------------------------------------------------------------------------------------------------- */
/* Nodes are made when something names them, and filled one after the other; which names more. When none is left, the
   references are resolved: by then all identifiers are known. They may name places that no keyword led to, which makes
   nodes once more. */

typedef struct mcpi_pending_ref { struct mcpi_pending_ref *next; mcpi_rule *rule; const mcpi_home *home; } mcpi_pending_ref;
typedef struct mcpi_remark { struct mcpi_remark *next; const mcp_json *where; const char *why; } mcpi_remark;

typedef struct mcpi_compiler {
    mcpi_work work;
    mcp_schema *schema;
    const mcp_json *root; size_t span;
    mcpi_node **at;                         /* for each value of the schema, its node */
    mcpi_node *last, *filled;               /* of the nodes */
    mcpi_pending_ref *refs;
    mcpi_remark *notes, **notes_end; size_t notes_count;
    mcpi_index members;                     /* of objects that pointers led through */
    const char *why;
} mcpi_compiler;

static void mcpi_say_words(mcpi_said *t, const char *s) { mcpi_say_bytes(t, s, strlen(s)); }

enum { MCPI_VALUE_SHOWN = 60 };

/* A string in quotes and on one line, cut after MCPI_VALUE_SHOWN bytes. */
static void mcpi_say_quoted(mcpi_said *t, const char *s, size_t n)
{
    char buf[8 * MCPI_VALUE_SHOWN];
    mcp_writer w;
    size_t cut = n, len = 0;
    const char *text;
    if (n > MCPI_VALUE_SHOWN) for (cut = MCPI_VALUE_SHOWN; cut && (s[cut] & 0xC0) == 0x80; cut--) { }
    mcp_writer_fixed(&w, buf, sizeof buf);
    mcp_put_strn(&w, NULL, s, cut);
    text = mcp_writer_text(&w, &len);
    if (!text) return;
    if (cut < n) len--;
    mcpi_say_bytes(t, text, len);
    if (cut < n) mcpi_say_bytes(t, "...\"", 4);
}

static void mcpi_say_escaped(mcpi_said *t, const char *s, size_t n)
{
    size_t i;
    for (i = 0; i < n; i++)
        if (s[i] == '~' || s[i] == '/') mcpi_say_bytes(t, s[i] == '~' ? "~0" : "~1", 2);
        else mcpi_say_bytes(t, s + i, 1);
}

/* Where a value stands in the schema, as a pointer in a fragment. */
static void mcpi_say_place(mcpi_said *t, const mcp_json *root, const mcp_json *v)
{
    mcpi_say_bytes(t, "#", 1);
    while (root != v) {
        const mcp_json *item = mcp_json_first(root);
        uint64_t i = 0;
        for (; item && mcpi_behind(item) <= v; item = mcp_json_next(item)) i++;
        if (!item) return;
        mcpi_say_bytes(t, "/", 1);
        if (mcp_json_key(item)) mcpi_say_escaped(t, item[-1].u.text, item[-1].n);
        else mcpi_say_number(t, i, false);
        root = item;
    }
}

static void mcpi_said_in(mcpi_said *t, char *buf, size_t cap)
{
    t->buf = buf;
    t->cap = cap;
    t->len = 0;
    t->full = false;
}

/* A copy of what was said. */
static const char *mcpi_said_copy(mcp_arena *a, mcpi_said *t)
{
    char *copy = (char *)mcp_arena_alloc(a, t->len + 1);
    if (t->full) mcpi_say_mend(t);
    if (!copy) return NULL;
    memcpy(copy, t->buf, t->len);
    copy[t->len] = 0;
    return copy;
}

/* The schema is refused: where, why, and the value if it is a string. The first fault is the one that is told. */
static void mcpi_refuse_schema(mcpi_compiler *c, const mcp_json *where, const char *why)
{
    char buf[512];
    mcpi_said t;
    if (c->work.status != MCP_OK) return;
    c->work.status = MCP_ERR_ARGUMENT;
    mcpi_said_in(&t, buf, sizeof buf);
    mcpi_say_place(&t, c->root, where);
    mcpi_say_form(&t, ": %s", why);
    if (mcp_json_type(where) == MCP_JSON_STRING) {
        mcpi_say_words(&t, ": ");
        mcpi_say_quoted(&t, where->u.text, where->n);
    }
    c->why = mcpi_said_copy(c->work.arena, &t);
}

/* The node of a value of the schema, which is filled later. */
static mcpi_node *mcpi_node_at(mcpi_compiler *c, const mcp_json *v, const mcpi_home *home)
{
    mcpi_node **at = &c->at[v - c->root], *x = *at;
    if (x) return x;
    x = *at = (mcpi_node *)mcpi_work_alloc(&c->work, sizeof *x);
    if (!x) return NULL;
    x->src = v;
    x->home = home;
    x->types = MCPI_ALL_TYPES;
    if (c->last) c->last->next = x;
    c->last = x;
    return x;
}

static const mcpi_ident *mcpi_ident_of(const mcp_schema *s, const mcpi_home *home, const char *name, size_t len,
                                       bool dynamic)
{
    const mcpi_ident *x = s->idents[(home->hash + mcpi_hash(name, len)) & s->mask];
    for (; x; x = x->next)
        if (x->home == home && x->dynamic >= dynamic && x->len == len && memcmp(x->name, name, len) == 0) return x;
    return NULL;
}

static void mcpi_ident_add(mcpi_compiler *c, const mcpi_home *home, const char *name, size_t len, mcpi_node *node,
                           bool dynamic)
{
    mcpi_ident *x = (mcpi_ident *)mcpi_work_alloc(&c->work, sizeof *x), **at;
    if (!x) return;
    x->home = home;
    x->name = name;
    x->len = len;
    x->node = node;
    x->dynamic = dynamic;
    at = &c->schema->idents[(home->hash + mcpi_hash(name, len)) & c->schema->mask];
    while (*at) at = &(*at)->next;          /* of equal ones, the first is the one that is found */
    *at = x;
}

static const mcpi_home *mcpi_home_of(const mcp_schema *s, const char *uri, size_t len)
{
    const mcpi_ident *x = s->idents[(mcpi_hash(uri, len) + mcpi_hash("", 0)) & s->mask];
    for (; x; x = x->next)
        if (x->len == 0 && x->home->len == len && memcmp(x->home->uri, uri, len) == 0) return x->home;
    return NULL;
}

static int mcpi_dialect(mcpi_compiler *c, const mcp_json *v, int inherited)
{
    size_t n, i;
    const char *s = mcp_json_text(v, &n), *word = mcpi_dialects;
    int d;
    if (!v) return inherited;
    if (mcp_json_type(v) != MCP_JSON_STRING) { mcpi_refuse_schema(c, v, "not a string"); return inherited; }
    i = n > 8 && memcmp(s, "https://", 8) == 0 ? 8 : n > 7 && memcmp(s, "http://", 7) == 0 ? 7 : n;
    for (d = MCPI_D4; d <= MCPI_D20; d++, word += strlen(word) + 1) {
        size_t len = strlen(word);
        if (n - i >= len && memcmp(s + i, word, len) == 0 && (n - i == len || (n - i == len + 1 && s[n - 1] == '#')))
            return d;
    }
    mcpi_refuse_schema(c, v, "this dialect is not supported (2020-12, 2019-09, draft-07, draft-06 and draft-04 are)");
    return inherited;
}

/* A node begins a resource: with a URI of its own, or as the root. */
static void mcpi_home_begin(mcpi_compiler *c, mcpi_node *x, const char *id, size_t len, const mcp_json *dialect)
{
    mcpi_home *h = (mcpi_home *)mcpi_work_alloc(&c->work, sizeof *h);
    char buf[MCPI_URI_LONGEST], *copy;
    size_t n;
    if (!h) return;
    h->dialect = mcpi_dialect(c, dialect, x->home ? x->home->dialect : MCPI_D20);
    h->root = x;
    h->uri = "";
    n = mcpi_uri_join(buf, x->home ? x->home->uri : "", x->home ? x->home->len : 0, id, len);
    if (n == MCP_NTS) { mcpi_refuse_schema(c, x->src, "an $id of over 1,000 bytes"); return; }
    if (n) {
        copy = (char *)mcpi_work_alloc(&c->work, n);
        if (!copy) return;
        memcpy(copy, buf, n);
        h->uri = copy;
        h->len = n;
    }
    h->hash = mcpi_hash(h->uri, n);
    x->home = h;
    mcpi_ident_add(c, h, "", 0, x, false);
}

static void mcpi_anchor_add(mcpi_compiler *c, mcpi_node *x, const char *keyword, bool dynamic)
{
    const mcp_json *v = mcp_json_get(x->src, keyword);
    if (mcp_json_type(v) == MCP_JSON_STRING) mcpi_ident_add(c, x->home, v->u.text, v->n, x, dynamic);
}

/* What a schema calls itself. */
static void mcpi_identify(mcpi_compiler *c, mcpi_node *x)
{
    const mcp_json *dialect = mcp_json_get(x->src, "$schema"), *id;
    bool root = x->src == c->root;
    int d = root ? mcpi_dialect(c, dialect, MCPI_D20) : x->home->dialect;
    size_t n = 0, end[MCPI_URI_PARTS];
    const char *s;
    id = d <= MCPI_D7 && mcp_json_get(x->src, "$ref") ? NULL : mcp_json_get(x->src, d == MCPI_D4 ? "id" : "$id");
    s = mcp_json_type(id) == MCP_JSON_STRING ? mcp_json_text(id, &n) : "";
    mcpi_uri_cut(s, n, end);
    if (root || end[MCPI_URI_QUERY]) mcpi_home_begin(c, x, s, end[MCPI_URI_QUERY], dialect);
    if (c->work.status != MCP_OK) return;
    if (n > end[MCPI_URI_QUERY] + 1) {      /* a fragment: up to draft-07 an anchor */
        if (x->home->dialect <= MCPI_D7)
            mcpi_ident_add(c, x->home, s + end[MCPI_URI_QUERY] + 1, n - end[MCPI_URI_QUERY] - 1, x, false);
        else mcpi_refuse_schema(c, id, "an $id has no fragment; an $anchor is meant");
    }
    if (x->home->dialect < MCPI_D19) return;
    mcpi_anchor_add(c, x, "$anchor", false);
    if (x->home->dialect == MCPI_D20) mcpi_anchor_add(c, x, "$dynamicAnchor", true);
    else if (x->home->root == x && mcp_json_bool(mcp_json_get(x->src, "$recursiveAnchor"), false))
        mcpi_ident_add(c, x->home, "#", 1, x, true);        /* no anchor can have that name */
}

/* A keyword of this dialect, or -1. */
static int mcpi_keyword_of(const char *s, size_t n, int dialect)
{
    int i;
    for (i = 0; i < MCPI_KEYWORD_COUNT; i++) {
        const struct mcpi_keyword *k = &mcpi_keywords[i];
        if (k->name[0] == *s && n < sizeof k->name && memcmp(k->name, s, n) == 0 && !k->name[n] && k->from <= dialect &&
            dialect <= k->to)
            return i;
    }
    return -1;
}

static bool mcpi_is_names(const mcp_json *list)
{
    if (mcp_json_type(list) != MCP_JSON_ARRAY) return false;
    mcp_json_each(v, list) if (mcp_json_type(v) != MCP_JSON_STRING) return false;
    return true;
}

/* What is wrong with a keyword's value, or NULL. Of what has to be a schema, the node finds out. */
static const char *mcpi_misfit(mcpi_compiler *c, const mcp_json *v, int is)
{
    static const char whys[] = "\0" "\0" "not an array\0" "not a number\0" "not a number over 0\0" "not a whole number from 0 on\0"
        "neither true nor false\0" "not a string\0" "not an array of strings\0" "\0" "not an array of schemas\0" "\0"
        "not an object\0" "not an object\0" "not an object\0";
    static const unsigned char types[] = { 0, 0, MCP_JSON_ARRAY, MCP_JSON_NUMBER, MCP_JSON_NUMBER, MCP_JSON_NUMBER, MCP_JSON_BOOL,
        MCP_JSON_STRING, MCP_JSON_ARRAY, 0, MCP_JSON_ARRAY, 0, MCP_JSON_OBJECT, MCP_JSON_OBJECT, MCP_JSON_OBJECT };
    bool fits = !types[is] || types[is] == mcp_json_type(v);
    if (fits && types[is] == MCP_JSON_NUMBER && is != MCPI_IS_NUMBER) {
        mcpi_exact x = mcpi_exact_read(v);
        fits = !x.negative && (is == MCPI_IS_FACTOR ? x.n != 0 : mcpi_number_whole(&c->work, v, false));
    }
    if (is == MCPI_IS_NAMES) fits = mcpi_is_names(v);
    if (is == MCPI_IS_SCHEMAS) fits = fits && v->n;
    if (!fits) return mcpi_word_at(whys, is);
    if (is == MCPI_IS_NAMES_MAP || is == MCPI_IS_EITHER_MAP)
        mcp_json_each(item, v)
            if ((is == MCPI_IS_NAMES_MAP || mcp_json_type(item) == MCP_JSON_ARRAY) && !mcpi_is_names(item))
                return "a member is not an array of strings";
    return NULL;
}

/* The types that a schema takes, as bits. */
static unsigned char mcpi_types_of(mcpi_compiler *c, const mcp_json *v)
{
    static const char names[] = "null\0" "boolean\0" "number\0" "string\0" "array\0" "object\0" "integer\0";
    unsigned bits = 0;
    if (mcp_json_type(v) == MCP_JSON_ARRAY) {
        mcp_json_each(item, v) {
            if (mcp_json_type(item) != MCP_JSON_STRING) mcpi_refuse_schema(c, item, "not the name of a type");
            else bits |= mcpi_types_of(c, item);
        }
    } else {
        const char *s = mcp_json_str(v, "");
        int i = mcp_json_size(v) == strlen(s) ? mcpi_word_of(names, s) : -1;
        if (i >= 0) bits = 2u << i;
        else if (mcp_json_type(v) == MCP_JSON_STRING)
            mcpi_refuse_schema(c, v, "not the name of a type");
        else mcpi_refuse_schema(c, v, "neither the name of a type nor an array of them");
    }
    return (unsigned char)bits;
}

/* The node's rule of this kind, added behind those that it has if it has none. */
static mcpi_rule *mcpi_rule_have(mcpi_compiler *c, mcpi_node *x, int op, const mcp_json *src)
{
    mcpi_rule **at = op < MCPI_KW_REQUIRED ? &x->asserts : &x->rules, *r;
    while (*at && (*at)->op != op) at = &(*at)->next;
    r = *at;
    if (r) return r;
    r = *at = (mcpi_rule *)mcpi_work_alloc(&c->work, sizeof *r);
    if (!r) return NULL;
    r->op = (unsigned char)op;
    r->of = (unsigned char)mcpi_keywords[op].of;
    r->src = src;
    return r;
}

/* A known name of the node, whose room has been made. */
static mcpi_known *mcpi_known_have(mcpi_node *x, const char *text, size_t len)
{
    uint32_t i = mcpi_known_find(x, text, len);
    mcpi_known *k;
    if (i != MCPI_NONE) return &x->known[i];
    k = &x->known[x->known_count++];
    k->text = text;
    k->len = len;
    k->hash = mcpi_hash(text, len);
    if (x->cells) {
        for (i = k->hash & x->mask; x->cells[i]; i = (i + 1) & x->mask) { }
        x->cells[i] = x->known_count;
    }
    return k;
}

static void mcpi_known_all(mcpi_node *x, const mcp_json *names)
{
    mcp_json_each(v, names)
        if (mcp_json_type(v) == MCP_JSON_STRING) (void)mcpi_known_have(x, v->u.text, v->n);
}

/* The names of members that the node's keywords speak of. */
static void mcpi_known_make(mcpi_compiler *c, mcpi_node *x, const mcp_json *const *kw)
{
    static const unsigned char maps[] = { MCPI_KW_MEMBERS, MCPI_KW_NEEDS, MCPI_KW_NEEDS_FIT, MCPI_KW_NEEDS_EITHER };
    size_t most = mcp_json_size(kw[MCPI_KW_REQUIRED]), i, cells = 16;
    for (i = 0; i < sizeof maps; i++)
        mcp_json_each(v, kw[maps[i]]) most += 1 + (mcp_json_type(v) == MCP_JSON_ARRAY ? v->n : 0);
    if (most == 0) return;
    x->known = (mcpi_known *)mcpi_work_alloc(&c->work, most * sizeof *x->known);
    if (x->known && most > 6) {
        while (cells < 2 * most) cells *= 2;
        x->mask = (uint32_t)(cells - 1);
        x->cells = (uint32_t *)mcpi_work_alloc(&c->work, cells * sizeof *x->cells);
    }
    if (c->work.status != MCP_OK) return;
    mcp_json_each(v, kw[MCPI_KW_MEMBERS]) {
        mcpi_known *k = mcpi_known_have(x, v[-1].u.text, v[-1].n);
        k->sub = mcpi_node_at(c, v, x->home);
    }
    mcp_json_each(v, kw[MCPI_KW_REQUIRED]) {
        mcpi_known *k = mcpi_known_have(x, v->u.text, v->n);
        x->required += !k->required;
        k->required = true;
    }
    for (i = 1; i < sizeof maps; i++)
        mcp_json_each(v, kw[maps[i]]) {
            (void)mcpi_known_have(x, v[-1].u.text, v[-1].n);
            if (mcp_json_type(v) == MCP_JSON_ARRAY) mcpi_known_all(x, v);
        }
}

/* The children of an array or object that count: of equal keys the last one. NULL: no memory, or there are none. */
static const mcp_json **mcpi_children_of(mcpi_compiler *c, const mcp_json *list, uint32_t *n)
{
    const mcp_json **at = (const mcp_json **)mcpi_work_alloc(&c->work, list->n * sizeof *at);
    uint32_t *over = NULL, i = 0;
    mcpi_set keys;
    *n = 0;
    if (mcp_json_type(list) == MCP_JSON_OBJECT && list->n > 1) {
        over = (uint32_t *)mcpi_work_alloc(&c->work, list->n * sizeof *over);
        if (!over || !mcpi_set_keys(&c->work, &keys, list, over)) return NULL;
    }
    if (!at) return NULL;
    mcp_json_each(v, list) {
        if (!over || over[i] != MCPI_OVER) at[(*n)++] = v;
        i++;
    }
    return at;
}

/* The nodes of an array or object of schemas. Arrays of names, which dependencies has too, go to the rule's needs. */
static void mcpi_list_make(mcpi_compiler *c, mcpi_node *x, mcpi_rule *r, const mcp_json *list)
{
    uint32_t i, n = 0;
    const mcp_json **at = r ? mcpi_children_of(c, list, &n) : NULL;
    if (!at) return;
    r->list = (mcpi_node **)mcpi_work_alloc(&c->work, n * sizeof *r->list);
    r->needs = at;
    for (i = 0; r->list && i < n; i++)
        if (r->op == MCPI_KW_NEEDS || (r->op == MCPI_KW_NEEDS_EITHER && mcp_json_type(at[i]) == MCP_JSON_ARRAY))
            r->needs[r->needs_count++] = at[i];
        else r->list[r->n++] = mcpi_node_at(c, at[i], x->home);
}

/* A pattern, or NULL and a note that it is not enforced. */
static const mcpi_pattern *mcpi_pattern_of(mcpi_compiler *c, const mcp_json *where, const char *text, size_t len)
{
    const char *why = NULL;
    const mcpi_pattern *p = mcpi_pattern_compile(c->work.arena, text, len, &why);
    mcpi_remark *note;
    if (why == mcp_strerror(MCP_ERR_MEMORY)) c->work.status = MCP_ERR_MEMORY;
    (void)mcpi_spend(&c->work, len / 16 + (p ? p->size / 4 : 0));      /* a few bytes can make a large program */
    if (p || c->work.status != MCP_OK) return p;
    note = (mcpi_remark *)mcpi_work_alloc(&c->work, sizeof *note);
    if (!note) return NULL;
    note->where = where;
    note->why = why;
    *c->notes_end = note;
    c->notes_end = &note->next;
    c->notes_count++;
    return NULL;
}

static void mcpi_enum_make(mcpi_compiler *c, mcpi_rule *r)
{
    if (r->src->n <= 8 || !mcpi_set_make(&c->work, &r->set, r->src->n)) return;
    mcp_json_each(v, r->src) {
        mcpi_cell *cell = mcpi_set_cell(&c->work, &r->set, v);
        if (!cell) return;
        cell->v = v;
    }
}

/* A count; more than anything can have is as good as any such number. */
static uint64_t mcpi_count_of(const mcp_json *v)
{
    uint64_t n;
    return mcp_json_uint(v, &n) ? n : UINT64_MAX;
}

static void mcpi_patterns_make(mcpi_compiler *c, mcpi_rule *r)
{
    uint32_t i;
    if (!r->n) return;
    r->patterns = (const mcpi_pattern **)mcpi_work_alloc(&c->work, r->n * sizeof *r->patterns);
    for (i = 0; r->patterns && i < r->n; i++) {
        const mcp_json *v = r->list[i] ? r->list[i]->src : NULL;
        if (v) r->patterns[i] = mcpi_pattern_of(c, v, v[-1].u.text, v[-1].n);
    }
}

/* A reference, to be resolved when all identifiers are known. */
static void mcpi_ref_add(mcpi_compiler *c, mcpi_rule *r, const mcpi_home *home)
{
    mcpi_pending_ref *ref = (mcpi_pending_ref *)mcpi_work_alloc(&c->work, sizeof *ref);
    if (!ref) return;
    ref->rule = r;
    ref->home = home;
    ref->next = c->refs;
    c->refs = ref;
}

/* Turns one keyword into a rule, or into its part of one. */
static void mcpi_keyword_compile(mcpi_compiler *c, mcpi_node *x, int op, const mcp_json *const *kw)
{
    const mcp_json *v = kw[op];
    int is = mcpi_keywords[op].is;
    bool list = mcp_json_type(v) == MCP_JSON_ARRAY;
    mcpi_node *sub = NULL;
    mcpi_rule *r;
    if (is == MCPI_IS_SCHEMA || (is == MCPI_IS_SCHEMA_OR_LIST && !list)) sub = mcpi_node_at(c, v, x->home);
    if (op == MCPI_KW_TYPE) x->types = mcpi_types_of(c, v);
    if (op == MCPI_KW_DEFS || op == MCPI_KW_DEFINITIONS) mcp_json_each(item, v) (void)mcpi_node_at(c, item, x->home);
    if (mcpi_keywords[op].rule == MCPI_KW_NONE || (op == MCPI_KW_UNIQUE && !mcp_json_bool(v, false))) return;
    if ((op == MCPI_KW_THEN || op == MCPI_KW_ELSE) && !kw[MCPI_KW_IF]) return;
    if (op == MCPI_KW_REST7 && mcp_json_type(kw[MCPI_KW_ITEMS7]) != MCP_JSON_ARRAY) return;
    r = mcpi_rule_have(c, x, mcpi_keywords[op].rule, v);
    if (!r) return;
    if (sub) *(op == MCPI_KW_THEN ? &r->yes : op == MCPI_KW_ELSE ? &r->no : &r->sub) = sub;
    if (op == MCPI_KW_MAX_MEMBERS || op == MCPI_KW_MIN_MEMBERS || op == MCPI_KW_PATTERNS ||
        ((op == MCPI_KW_ADDITIONAL || op == MCPI_KW_LEFT_MEMBERS) && mcp_json_type(v) != MCP_JSON_BOOL)) x->distinct = true;
    if (op == MCPI_KW_LEFT_ITEMS || op == MCPI_KW_LEFT_MEMBERS) x->tracks = true;
    switch (is) {
    case MCPI_IS_LIST:
        mcpi_enum_make(c, r);
        break;
    case MCPI_IS_NUMBER: case MCPI_IS_FACTOR:
        r->small = mcpi_small(v, &r->number);
        r->strict = op == MCPI_KW_BELOW || op == MCPI_KW_ABOVE ||
                    mcp_json_bool(kw[op == MCPI_KW_MAXIMUM ? MCPI_KW_BELOW4 : MCPI_KW_ABOVE4], false);
        break;
    case MCPI_IS_COUNT:
        r->max = mcpi_count_of(v);
        break;
    case MCPI_IS_TEXT:
        if (op == MCPI_KW_PATTERN) r->pattern = mcpi_pattern_of(c, v, v->u.text, v->n);
        else mcpi_ref_add(c, r, x->home);
        break;
    case MCPI_IS_SCHEMA:
        if (op != MCPI_KW_CONTAINS) break;
        r->least = kw[MCPI_KW_MIN_CONTAINS];
        r->most = kw[MCPI_KW_MAX_CONTAINS];
        r->min = r->least ? mcpi_count_of(r->least) : 1;
        r->max = r->most ? mcpi_count_of(r->most) : UINT64_MAX;
        break;
    case MCPI_IS_SCHEMAS: case MCPI_IS_MAP: case MCPI_IS_NAMES_MAP: case MCPI_IS_EITHER_MAP: case MCPI_IS_SCHEMA_OR_LIST:
        if (op == MCPI_KW_MEMBERS) r->properties = v;       /* the nodes are those of the known names */
        else if (!sub) mcpi_list_make(c, x, r, v);
        if (op != MCPI_KW_PATTERNS) break;
        r->src = v;
        mcpi_patterns_make(c, r);
        break;
    default: break;
    }
}

static void mcpi_node_fill(mcpi_compiler *c, mcpi_node *x)
{
    const mcp_json *kw[MCPI_KEYWORD_COUNT];
    const char *fault;
    int op;
    if (mcp_json_type(x->src) == MCP_JSON_BOOL) {
        if (x->src == c->root) mcpi_identify(c, x);
        if (!mcp_json_bool(x->src, true)) x->types = 0;
        return;
    }
    if (mcp_json_type(x->src) != MCP_JSON_OBJECT) {
        mcpi_refuse_schema(c, x->src, mcp_json_type(x->src) == MCP_JSON_ARRAY && x->home && x->home->dialect == MCPI_D20
            ? "not a schema; the tuple of older drafts is prefixItems now, or $schema has to name the draft"
            : "not a schema: neither an object nor true or false");
        return;
    }
    mcpi_identify(c, x);
    if (!mcpi_spend(&c->work, x->src->n)) return;
    memset(kw, 0, sizeof kw);
    mcp_json_each(v, x->src) {
        op = mcpi_keyword_of(v[-1].u.text, v[-1].n, x->home->dialect);
        if (op >= 0) kw[op] = v;
    }
    for (op = 0; op < MCPI_KEYWORD_COUNT; op++) {
        fault = kw[op] ? mcpi_misfit(c, kw[op], mcpi_keywords[op].is) : NULL;
        if (fault) { mcpi_refuse_schema(c, kw[op], fault); return; }
    }
    if (x->home->dialect <= MCPI_D7 && kw[MCPI_KW_REF]) {  /* what stands beside it does not count */
        mcpi_keyword_compile(c, x, MCPI_KW_REF, kw);
        return;
    }
    mcpi_known_make(c, x, kw);
    for (op = 0; op < MCPI_KEYWORD_COUNT && c->work.status == MCP_OK; op++)
        if (kw[op]) mcpi_keyword_compile(c, x, op, kw);
}

/* -- references ---------------------------------------------------------------------------------------------------------- */

/* Follows a JSON pointer from the root of a resource. *home becomes the resource that the place belongs to. */
static const mcp_json *mcpi_pointer(mcpi_compiler *c, const mcpi_home **home, char *p, const char *end)
{
    const mcp_json *v = (*home)->root->src;
    while (v && p < end) {
        v = mcpi_pointer_step(&c->work, &c->members, v, &p, end);
        if (v && c->at[v - c->root]) *home = c->at[v - c->root]->home;
    }
    return v;
}

static void mcpi_ref_resolve(mcpi_compiler *c, const mcpi_pending_ref *ref)
{
    mcpi_rule *r = ref->rule;
    const char *s = r->src->u.text, *hash = (const char *)memchr(s, '#', r->src->n);
    const mcpi_home *home = ref->home;
    const mcpi_ident *x;
    const mcp_json *v = NULL;
    char buf[MCPI_URI_LONGEST], *fragment;
    size_t len = hash ? (size_t)(hash - s) : r->src->n, n = hash ? r->src->n - len - 1 : 0;
    if (len) {
        len = mcpi_uri_join(buf, home->uri, home->len, s, len);
        home = len == MCP_NTS ? NULL : mcpi_home_of(c->schema, buf, len);
    }
    if (!home) {
        mcpi_refuse_schema(c, r->src, "no part of this schema has that URI, and nothing is fetched");
        return;
    }
    fragment = (char *)mcpi_work_alloc(&c->work, n + 1);
    if (!fragment) return;
    if (n) memcpy(fragment, hash + 1, n);
    n = mcpi_fragment_decode(fragment, n);
    if (n == 0 || *fragment == '/') v = mcpi_pointer(c, &home, fragment, fragment + n);
    else {
        x = mcpi_ident_of(c->schema, home, fragment, n, r->op == MCPI_KW_DYNAMIC_REF);
        r->strict = x && r->op == MCPI_KW_DYNAMIC_REF;
        if (!x) x = mcpi_ident_of(c->schema, home, fragment, n, false);
        if (x) v = x->node->src;
        if (x) home = x->home;
    }
    if (r->op == MCPI_KW_RECURSIVE_REF) r->strict = mcpi_ident_of(c->schema, home, "#", 1, true) != NULL;
    if (v) r->sub = mcpi_node_at(c, v, home);
    else mcpi_refuse_schema(c, r->src, "it leads to nothing in this schema");
}

/* The places that are not enforced, as lines: the first of them, since each is looked for from the root. */
static const char *mcpi_notes_make(mcpi_compiler *c)
{
    enum { LINE = 300, MOST = 100 };
    const mcpi_remark *note;
    size_t left = c->notes_count < MOST ? c->notes_count : (size_t)MOST, cap = (left + 1) * LINE + 1, end;
    mcpi_said t;
    mcpi_said_in(&t, (char *)mcpi_work_alloc(&c->work, cap), cap);
    for (note = c->notes; t.buf && note && left; note = note->next, left--) {
        end = t.len + LINE - 1;
        t.cap = end + 1;
        mcpi_say_place(&t, c->root, note->where);
        mcpi_say_form(&t, " is not enforced: %s", note->why);
        if (t.full) mcpi_say_mend(&t);
        t.full = false;
        t.buf[t.len++] = '\n';
    }
    if (t.buf && c->notes_count > MOST) {
        t.cap = cap;
        mcpi_say_form(&t, "and so in more places: %z\n", c->notes_count - MOST);
    }
    return t.buf;
}

/* Nodes that say no more than nearly all nodes of tools do: types and assertions, members by their names, one kind of
   items, alternatives and references, and below that only nodes of this kind, at most MCPI_FLAT_HIGHEST deep. They are
   checked without frames. `height` is more than any node below has. */
enum { MCPI_FLAT_HIGHEST = 8, MCPI_FLAT_NAMES = 64 };

static bool mcpi_flat_below(const mcpi_node *x, unsigned char height)
{
    return !x || (x->height && x->height < height);
}

static bool mcpi_flat_rule(const mcpi_rule *r, unsigned char height)
{
    uint32_t i;
    switch (r->op) {
    case MCPI_KW_MEMBERS: case MCPI_KW_ITEMS: case MCPI_KW_REF:
        return r->n == 0 && mcpi_flat_below(r->sub, height);
    case MCPI_KW_ALL: case MCPI_KW_ANY: case MCPI_KW_ONE:
        for (i = 0; i < r->n; i++) if (!mcpi_flat_below(r->list[i], height)) return false;
        return true;
    default:
        return r->op == MCPI_KW_REQUIRED;
    }
}

static void mcpi_flat_find(mcpi_node *x, unsigned char height)
{
    const mcpi_rule *r;
    uint32_t i;
    if (x->height || x->distinct || x->known_count > MCPI_FLAT_NAMES) return;
    for (i = 0; i < x->known_count; i++) if (!mcpi_flat_below(x->known[i].sub, height)) return;
    for (r = x->rules; r; r = r->next) if (!mcpi_flat_rule(r, height)) return;
    for (r = x->rules; r; r = r->next) if (r->op == MCPI_KW_MEMBERS) x->rest = r->sub;
    x->height = height;
}

static bool mcpi_schema_build(mcpi_compiler *c)
{
    unsigned char height;
    mcp_schema *s = c->schema = (mcp_schema *)mcpi_work_alloc(&c->work, sizeof *s);
    size_t cells = 4;
    while (cells < c->span / 16) cells *= 2;
    c->at = (mcpi_node **)mcpi_work_alloc(&c->work, c->span * sizeof *c->at);
    if (!s || !c->at) return false;
    s->mask = (uint32_t)(cells - 1);
    s->idents = (mcpi_ident **)mcpi_work_alloc(&c->work, cells * sizeof *s->idents);
    if (!s->idents) return false;
    s->root = mcpi_node_at(c, c->root, NULL);
    c->filled = s->root;
    while (c->filled && c->work.status == MCP_OK) {
        mcpi_node *x;
        for (x = c->filled; x && c->work.status == MCP_OK; x = x->next) { c->filled = x; mcpi_node_fill(c, x); }
        for (; c->refs && c->work.status == MCP_OK; c->refs = c->refs->next) mcpi_ref_resolve(c, c->refs);
        if (c->filled) c->filled = c->filled->next;
    }
    for (height = 1; MCPI_FAST && height <= MCPI_FLAT_HIGHEST && c->work.status == MCP_OK; height++) {
        mcpi_node *x;
        for (x = s->root; x; x = x->next) mcpi_flat_find(x, height);
    }
    if (c->work.status == MCP_OK) s->notes = mcpi_notes_make(c);
    return c->work.status == MCP_OK;
}

static int mcpi_schema_check(const mcp_schema *s, const mcp_json *value, mcp_arena *scratch, mcp_writer *errors,
                             int max_errors, bool lines);

/* The same as mcp_schema_compile; *status tells a refusal (MCP_ERR_ARGUMENT, MCP_ERR_LIMIT) from MCP_ERR_MEMORY. */
static const mcp_schema *mcpi_schema_compile(mcp_arena *a, const mcp_json *schema, const char **why, int *status)
{
    mcpi_compiler c;
    memset(&c, 0, sizeof c);
    *status = MCP_ERR_ARGUMENT;
    if (why) *why = "there is no schema";
    if (!a || !schema) return NULL;
    c.root = schema;
    c.span = (size_t)(mcpi_behind(schema) - schema);
    c.work.arena = a;
    c.work.left = MCPI_STEPS + MCPI_STEPS_EACH * (uint64_t)c.span;
    c.notes_end = &c.notes;
    if (mcpi_schema_build(&c)) { c.schema->check = mcpi_schema_check; *status = MCP_OK; return c.schema; }
    *status = c.work.status;
    if (why) *why = c.why ? c.why : c.work.status == MCP_ERR_LIMIT ? "too much work to compile" : mcp_strerror(*status);
    return NULL;
}

const mcp_schema *mcp_schema_compile(mcp_arena *a, const mcp_json *schema, const char **why)
{
    int status;
    return mcpi_schema_compile(a, schema, why, &status);
}

const char *mcp_schema_notes(const mcp_schema *s)
{
    return s ? s->notes : "";
}

/* -- checking ------------------------------------------------------------------------------------------------------------ */

/* How a frame's value stands to the one before: itself, a member or item of it, the name of a member. */
enum { MCPI_SAME, MCPI_CHILD, MCPI_NAME };
/* What becomes of a fault: the frame ends; it is weighed (to find the alternative that is nearest); it is told. */
enum { MCPI_QUIET, MCPI_WEIGH, MCPI_TELL };
enum { MCPI_FITS_NOT, MCPI_FITS, MCPI_PUSHED };
enum { MCPI_VISITS_MAX = 4000 };
/* What an alternative weighs that was not meant: the value has another type or is another constant; or a member of it
   is another constant, as where `kind` tells the alternatives apart. All other faults together weigh less. */
enum { MCPI_STRANGER = 100000, MCPI_OTHER_KIND = 100 };

/* A node that is held against a value, and is not done. */
typedef struct mcpi_visit {
    struct mcpi_visit *up;
    const struct mcpi_visit *outer;         /* the one from which this resource was entered */
    const mcpi_node *node;
    const mcp_json *v;
    const mcp_json *via;                    /* the keyword's value in the schema that led here from `up` */
    uint32_t nth, item;                     /* which of its list; which item v is */
    unsigned char place, mode;
    bool ok, told, kinds;                   /* told: faults of alternatives are being told, or were; kinds: only those
                                               of their kind */
    mcpi_mark mark;
    const mcpi_rule *rule;                  /* the applicator at work, and how far it is: */
    const mcp_json *child;                  /* the member or item at hand, ... */
    uint32_t i, j, count;                   /* ... its number, a number in a list; hits so far */
    uint32_t *weights;                      /* of alternatives */
    uint32_t *known;                        /* for each member: a known name, MCPI_NONE or MCPI_OVER */
    uint32_t *seen, required, members;      /* bits of the known names that are there; how many required; of all */
    uint32_t *marks;                        /* bits of the children that were evaluated; NULL: nobody asks */
} mcpi_visit;

typedef struct mcpi_checker {
    mcpi_work work;
    const mcp_schema *schema;
    mcpi_visit *top;
    int visits;
    mcpi_visit next;                        /* what is to be applied next: node, v, via, nth, item, place, mode */
    const mcpi_visit *weighed;              /* whose alternatives are weighed */
    uint32_t weight;
    mcp_writer *errors; bool lines;         /* lines of text; else objects */
    int told, most;
    uint32_t *hashes;                       /* of the sentences told */
} mcpi_checker;

static void mcpi_tell(mcpi_checker *k, mcpi_visit *f, const mcpi_rule *r, int op, const mcp_json *what);

static bool mcpi_bit(const uint32_t *bits, uint32_t i) { return bits[i / 32] >> i % 32 & 1; }
static void mcpi_bit_set(uint32_t *bits, uint32_t i) { bits[i / 32] |= UINT32_C(1) << i % 32; }

/* A fault of the frame's value. op: the keyword; what: the member, item or part of it that it is about. */
static void mcpi_fault(mcpi_checker *k, mcpi_visit *f, const mcpi_rule *r, int op, const mcp_json *what)
{
    f->ok = false;
    if (f->mode != MCPI_QUIET) mcpi_tell(k, f, r, op, what);
}

static bool mcpi_type_fits(mcpi_work *w, const mcpi_node *x, const mcp_json *v)
{
    if (x->types >> (v->tag & MCPI_TYPE) & 1) return true;
    return x->types & MCPI_WHOLE && mcp_json_type(v) == MCP_JSON_NUMBER &&
           mcpi_number_whole(w, v, x->home->dialect == MCPI_D4);
}

static uint64_t mcpi_code_points(const mcp_json *v)
{
    size_t i;
    uint64_t n = 0;
    for (i = 0; i < v->n; i++) n += (v->u.text[i] & 0xC0) != 0x80;
    return n;
}

/* Compares a length, told in bytes when that suffices. */
static bool mcpi_length_fits(mcpi_work *w, const mcpi_rule *r, const mcp_json *v)
{
    bool most = r->op == MCPI_KW_MAX_LENGTH;
    if (most ? v->n <= r->max : v->n < r->max) return most;
    if (!mcpi_spend(w, v->n / 16)) return false;
    return most ? mcpi_code_points(v) <= r->max : mcpi_code_points(v) >= r->max;
}

static int mcpi_limit_compare(mcpi_work *w, const mcpi_rule *r, const mcp_json *v)
{
    int64_t n;
    if (r->small && mcpi_small(v, &n)) return n < r->number ? -1 : n > r->number;
    return mcpi_number_compare(w, v, r->src);
}

/* The first of two items that are equal, with the second one in *again; NULL: all are different. */
static const mcp_json *mcpi_twice(mcpi_work *w, const mcp_json *v, const mcp_json **again)
{
    mcpi_mark mark = mcpi_mark_set(w->arena);
    const mcp_json *first = NULL;
    mcpi_set set;
    if (v->n < 2 || !mcpi_set_make(w, &set, v->n)) return NULL;
    mcp_json_each(item, v) {
        mcpi_cell *c = mcpi_set_cell(w, &set, item);
        if (c && !c->v) { c->v = item; continue; }
        if (c) { first = c->v; *again = item; }
        break;
    }
    mcpi_mark_back(w->arena, &mark);
    return first;
}

static bool mcpi_listed(mcpi_work *w, const mcpi_rule *r, const mcp_json *v)
{
    if (r->set.cell) {
        mcpi_cell *c = mcpi_set_cell(w, &r->set, v);
        return c && c->v;
    }
    mcp_json_each(item, r->src)
        if (mcpi_same(w, item, v, 0)) return true;
    return false;
}

static bool mcpi_pattern_fits(mcpi_work *w, const mcpi_pattern *p, const char *s, size_t n)
{
    mcpi_mark mark = mcpi_mark_set(w->arena);
    uint64_t left, most;
    int found;
    if (!p) return true;
    if (!mcpi_spend(w, 1 + (p->size + p->cells) / 64)) return false;
    left = most = w->left * MCPI_PATTERN_STEPS;
    found = mcpi_pattern_find(p, s, n, w->arena, &left);
    mcpi_mark_back(w->arena, &mark);
    if (found < 0) w->status = found;
    w->left -= (most - left) / MCPI_PATTERN_STEPS;
    return found > 0;
}

/* Does the rule look at values of this type? */
static bool mcpi_looks_at(const mcpi_rule *r, const mcp_json *v) { return !r->of || r->of == (v->tag & MCPI_TYPE); }

/* Does the value fit an assertion? */
static bool mcpi_assert_fits(mcpi_work *w, const mcpi_rule *r, const mcp_json *v)
{
    const mcp_json *again;
    if (!mcpi_looks_at(r, v)) return true;
    switch (r->op) {
    case MCPI_KW_ENUM:     return mcpi_listed(w, r, v);
    case MCPI_KW_CONST:    return mcpi_same(w, r->src, v, 0);
    case MCPI_KW_MULTIPLE: return mcpi_number_multiple(w, v, r->src);
    case MCPI_KW_MAXIMUM: case MCPI_KW_BELOW: return mcpi_limit_compare(w, r, v) < !r->strict;
    case MCPI_KW_MINIMUM: case MCPI_KW_ABOVE: return mcpi_limit_compare(w, r, v) > -!r->strict;
    case MCPI_KW_MAX_LENGTH: case MCPI_KW_MIN_LENGTH: return mcpi_length_fits(w, r, v);
    case MCPI_KW_PATTERN:  return mcpi_pattern_fits(w, r->pattern, v->u.text, v->n);
    case MCPI_KW_MAX_ITEMS: return v->n <= r->max;
    case MCPI_KW_MIN_ITEMS: return v->n >= r->max;
    default:               return !mcpi_twice(w, v, &again);    /* uniqueItems */
    }
}

/* Which known names an object's members have. Where a key comes twice, the last one counts. */
static void mcpi_survey(mcpi_checker *k, mcpi_visit *f)
{
    const mcpi_node *x = f->node;
    const mcp_json *key;
    uint32_t left, i = 0, n = f->v->n;
    bool again = false;
    mcpi_set set;
    f->members = n;
    if (!mcpi_spend(&k->work, n)) return;
    f->seen = (uint32_t *)mcpi_work_alloc(&k->work, (x->known_count / 32 + 1) * sizeof *f->seen);
    f->known = (uint32_t *)mcpi_work_alloc(&k->work, n * sizeof *f->known);
    if (!f->seen || !f->known) return;
    mcpi_each_key(key, left, f->v) {
        uint32_t at = f->known[i++] = mcpi_known_find(x, key->u.text, key->n);
        if (at == MCPI_NONE) continue;
        if (mcpi_bit(f->seen, at)) { again = true; continue; }
        mcpi_bit_set(f->seen, at);
        f->required += x->known[at].required;
    }
    if ((x->distinct && n > 1) || again) {
        mcpi_mark mark = mcpi_mark_set(k->work.arena);
        if (mcpi_set_keys(&k->work, &set, f->v, f->known)) f->members = set.count;
        mcpi_mark_back(k->work.arena, &mark);
    }
}

static bool mcpi_has(const mcpi_visit *f, const char *name, size_t len)
{
    uint32_t at = mcpi_known_find(f->node, name, len);
    return at != MCPI_NONE && mcpi_bit(f->seen, at);
}

static int mcpi_flat(mcpi_work *w, const mcpi_node *x, const mcp_json *v);

static int mcpi_flat_members(mcpi_work *w, const mcpi_node *x, const mcp_json *v)
{
    const mcp_json *k;
    uint64_t seen = 0;
    uint32_t left, required = 0, at = MCPI_NONE;
    int verdict = MCPI_FITS;
    if (!mcpi_spend(w, v->n)) return MCPI_FITS_NOT;
    mcpi_each_key(k, left, v) {
        uint32_t next = at + 1;             /* members often come in the order in which the schema has them */
        const mcpi_node *sub = x->rest;
        if (next < x->known_count && x->known[next].len == k->n && memcmp(x->known[next].text, k->u.text, k->n) == 0)
            at = next;
        else at = mcpi_known_find(x, k->u.text, k->n);
        if (at != MCPI_NONE) {
            if (seen >> at & 1) return MCPI_PUSHED;
            seen |= UINT64_C(1) << at;
            required += x->known[at].required;
            sub = x->known[at].sub;
        }
        if (sub && verdict == MCPI_FITS) verdict = mcpi_flat(w, sub, k + 1);    /* a key may still come again */
    }
    return verdict == MCPI_FITS && required < x->required ? MCPI_FITS_NOT : verdict;
}

static int mcpi_flat_rule_fits(mcpi_work *w, const mcpi_rule *r, const mcp_json *v)
{
    uint32_t i, count = 0;
    int verdict = MCPI_FITS;
    switch (r->op) {
    case MCPI_KW_REF:
        return mcpi_flat(w, r->sub, v);
    case MCPI_KW_ITEMS:
        if (mcp_json_type(v) == MCP_JSON_ARRAY && r->sub)
            for (v = mcp_json_first(v); v && verdict == MCPI_FITS; v = mcp_json_next(v)) verdict = mcpi_flat(w, r->sub, v);
        return verdict;
    case MCPI_KW_ALL:
        for (i = 0; i < r->n && verdict == MCPI_FITS; i++) verdict = mcpi_flat(w, r->list[i], v);
        return verdict;
    case MCPI_KW_ANY: case MCPI_KW_ONE:
        for (i = 0; i < r->n && verdict != MCPI_PUSHED && count < 1u + (r->op == MCPI_KW_ONE); i++) {
            verdict = mcpi_flat(w, r->list[i], v);
            count += verdict == MCPI_FITS;
        }
        return verdict == MCPI_PUSHED ? verdict : count == 1 ? MCPI_FITS : MCPI_FITS_NOT;
    default:
        return verdict;
    }
}

/* The verdict on a value of a node that has a height; MCPI_PUSHED: a key came twice, and so it takes frames to know. As
   the height is bounded, so is the recursion. */
static int mcpi_flat(mcpi_work *w, const mcpi_node *x, const mcp_json *v)
{
    const mcpi_rule *r;
    int verdict = MCPI_FITS;
    if (!mcpi_spend(w, 1) || !mcpi_type_fits(w, x, v)) return MCPI_FITS_NOT;
    for (r = x->asserts; r; r = r->next) if (!mcpi_assert_fits(w, r, v)) return MCPI_FITS_NOT;
    if (mcp_json_type(v) == MCP_JSON_OBJECT && (x->known || x->rest)) verdict = mcpi_flat_members(w, x, v);
    for (r = x->rules; r && verdict == MCPI_FITS; r = r->next) verdict = mcpi_flat_rule_fits(w, r, v);
    return verdict;
}

/* Applies k->next: the verdict, or MCPI_PUSHED when that takes a frame. */
static int mcpi_apply(mcpi_checker *k)
{
    const mcpi_visit *n = &k->next;
    const mcpi_node *x = n->node;
    const mcpi_rule *r;
    mcpi_visit *f, *up = k->top;
    mcpi_mark mark = mcpi_mark_set(k->work.arena);
    bool ok;
    if (!mcpi_spend(&k->work, 1)) return MCPI_FITS_NOT;
    if (MCPI_FAST && x->height && n->mode == MCPI_QUIET && !(n->place == MCPI_SAME && up && up->marks)) {
        int verdict = mcpi_flat(&k->work, x, n->v);
        if (verdict != MCPI_PUSHED) return verdict;
    }
    ok = mcpi_type_fits(&k->work, x, n->v);
    for (r = x->asserts; r && ok; r = r->next) ok = mcpi_spend(&k->work, 1) && mcpi_assert_fits(&k->work, r, n->v);
    if (ok ? !x->rules : n->mode == MCPI_QUIET) return ok ? MCPI_FITS : MCPI_FITS_NOT;
    if (k->visits == MCPI_VISITS_MAX) k->work.status = MCP_ERR_LIMIT;
    f = (mcpi_visit *)mcpi_work_alloc(&k->work, sizeof *f);
    if (!f) return MCPI_FITS_NOT;
    *f = *n;
    f->up = up;
    f->outer = up && up->node->home == x->home ? up->outer : up;
    f->mark = mark;
    f->ok = true;
    f->rule = x->rules;
    k->top = f;
    k->visits++;
    if (!ok) {                              /* once more, to tell */
        if (!mcpi_type_fits(&k->work, x, f->v)) {
            mcpi_fault(k, f, NULL, MCPI_KW_TYPE, NULL);
            f->rule = NULL;
        } else
            for (r = x->asserts; r; r = r->next)
                if (!mcpi_assert_fits(&k->work, r, f->v)) mcpi_fault(k, f, r, r->op, NULL);
    }
    if (f->rule && mcpi_is_container(f->v) && f->v->n && (x->tracks || (n->place == MCPI_SAME && up && up->marks)))
        f->marks = (uint32_t *)mcpi_work_alloc(&k->work, (f->v->n / 32 + 1) * sizeof *f->marks);
    if (f->rule && mcp_json_type(f->v) == MCP_JSON_OBJECT && (x->known || x->distinct)) mcpi_survey(k, f);
    return MCPI_PUSHED;
}

/* Takes the top frame off, and gives its verdict. What it evaluated of the same value goes to the one below. */
static int mcpi_pop(mcpi_checker *k)
{
    mcpi_visit *f = k->top, *up = f->up;
    uint32_t i, words = f->v->n / 32 + 1;
    if (f->ok && f->marks && f->place == MCPI_SAME && up && up->marks && up->rule->op != MCPI_KW_NOT &&
        mcpi_spend(&k->work, words / 16))
        for (i = 0; i < words; i++) up->marks[i] |= f->marks[i];
    k->top = up;
    k->visits--;
    mcpi_mark_back(k->work.arena, &f->mark);
    return f->ok ? MCPI_FITS : MCPI_FITS_NOT;
}

/* The outermost resource on the way here that has a dynamic anchor of this name. */
static const mcpi_node *mcpi_dynamic(mcpi_checker *k, const mcpi_visit *f, const mcpi_rule *r)
{
    const char *name = r->op == MCPI_KW_RECURSIVE_REF ? "#" : (const char *)memchr(r->src->u.text, '#', r->src->n) + 1;
    size_t len = r->op == MCPI_KW_RECURSIVE_REF ? 1 : (size_t)(r->src->u.text + r->src->n - name);
    const mcpi_node *found = r->sub;
    for (; f && mcpi_spend(&k->work, 1); f = f->outer) {
        const mcpi_ident *x = mcpi_ident_of(k->schema, f->node->home, name, len, true);
        if (x) found = x->node;
    }
    return found;
}

/* Sets what to apply next: a node, and the value itself. */
static bool mcpi_next_same(mcpi_checker *k, mcpi_visit *f, const mcpi_node *x, const mcp_json *via)
{
    mcpi_visit *n = &k->next;
    n->node = x;
    n->v = f->v;
    n->via = via;
    n->nth = f->i;
    n->item = 0;
    n->place = MCPI_SAME;
    n->mode = f->mode;
    return true;
}

/* The same with the child at hand. */
static bool mcpi_next_child(mcpi_checker *k, mcpi_visit *f, const mcpi_node *x, const mcp_json *via)
{
    mcpi_next_same(k, f, x, via);
    k->next.v = f->child;
    k->next.item = k->next.nth = f->i - 1;
    k->next.place = MCPI_CHILD;
    return true;
}

/* Moves on to the next child that is not overridden. */
static bool mcpi_step(mcpi_checker *k, mcpi_visit *f)
{
    do {
        f->child = f->i ? mcp_json_next(f->child) : mcp_json_first(f->v);
        if (!f->child) return false;
        f->i++;
    } while (mcpi_spend(&k->work, 1) && f->known && f->known[f->i - 1] == MCPI_OVER);
    return true;
}

static void mcpi_evaluated(mcpi_visit *f) { if (f->marks) mcpi_bit_set(f->marks, f->i - 1); }

/* properties, patternProperties, additionalProperties: of each member the nodes that it has to fit. */
static bool mcpi_next_member(mcpi_checker *k, mcpi_visit *f, const mcpi_rule *r)
{
    for (;;) {
        const mcpi_node *x = NULL;
        const mcp_json *via = r->src;
        if (f->i == 0 || f->j == r->n + 2) {
            if (!mcpi_step(k, f)) return false;
            f->j = f->count = 0;
        }
        if (k->work.status != MCP_OK) return false;
        if (f->j == 0) {
            uint32_t at = f->known ? f->known[f->i - 1] : MCPI_NONE;
            if (at != MCPI_NONE) x = f->node->known[at].sub;
            via = r->properties;
        } else if (f->j <= r->n) {
            if (!r->patterns[f->j - 1] ||
                mcpi_pattern_fits(&k->work, r->patterns[f->j - 1], f->child[-1].u.text, f->child[-1].n))
                x = r->list[f->j - 1];
            if (x && !r->patterns[f->j - 1]) { x = NULL; f->count++; mcpi_evaluated(f); }   /* it may match */
        } else if (f->count == 0) { x = r->sub; via = x ? x->src : NULL; }
        f->j++;
        if (!x) continue;
        f->count++;
        mcpi_evaluated(f);
        return mcpi_next_child(k, f, x, via);
    }
}

static bool mcpi_next_item(mcpi_checker *k, mcpi_visit *f, const mcpi_rule *r)
{
    const mcpi_node *x;
    if ((f->i >= r->n && !r->sub) || !mcpi_step(k, f)) return false;
    x = f->i <= r->n ? r->list[f->i - 1] : r->sub;
    mcpi_evaluated(f);
    return mcpi_next_child(k, f, x, f->i <= r->n ? r->src : x->src);
}

/* Alternatives: each of them, and those once more whose faults are to be told. */
static bool mcpi_next_alternative(mcpi_checker *k, mcpi_visit *f, const mcpi_rule *r)
{
    uint32_t i, least = UINT32_MAX;
    bool tracks = f->marks != NULL, tell = f->mode == MCPI_TELL;
    if (f->i == 0 && tell && !f->weights) f->weights = (uint32_t *)mcpi_work_alloc(&k->work, r->n * sizeof *f->weights);
    if (k->work.status != MCP_OK) return false;
    if (f->i < r->n) {
        if (!tracks && !tell && f->count > (r->op == MCPI_KW_ONE)) return false;
        mcpi_next_same(k, f, r->list[f->i], r->src);
        k->next.mode = tell ? MCPI_WEIGH : MCPI_QUIET;
        if (tell) { k->weighed = f; k->weight = 0; }
        f->i++;
        return true;
    }
    if (f->count || !tell) return false;
    for (i = 0; i < r->n; i++) if (f->weights[i] < least) least = f->weights[i];
    if (least >= MCPI_STRANGER) return false;
    f->kinds = least >= MCPI_OTHER_KIND;
    for (i = f->j; i < r->n; i++) {
        if (f->kinds ? f->weights[i] >= MCPI_STRANGER : f->weights[i] != least) continue;
        mcpi_next_same(k, f, r->list[i], r->src);
        k->next.nth = i;
        f->j = i + 1;
        f->told = true;
        return true;
    }
    return false;
}

/* What the rule at work asks for next, in k->next. false: it has asked for everything. */
static bool mcpi_next(mcpi_checker *k, mcpi_visit *f)
{
    const mcpi_rule *r = f->rule;
    const mcpi_node *x = NULL;
    switch (r->op) {
    case MCPI_KW_MEMBERS:
        return mcpi_next_member(k, f, r);
    case MCPI_KW_ITEMS:
        return mcpi_next_item(k, f, r);
    case MCPI_KW_ANY: case MCPI_KW_ONE:
        return mcpi_next_alternative(k, f, r);
    case MCPI_KW_LEFT_ITEMS: case MCPI_KW_LEFT_MEMBERS:
        if (!f->ok && !f->i) return false;  /* what was evaluated is known only when nothing went wrong before */
        do if (!mcpi_step(k, f)) return false; while (mcpi_bit(f->marks, f->i - 1) && k->work.status == MCP_OK);
        mcpi_evaluated(f);
        return mcpi_next_child(k, f, r->sub, r->src);
    case MCPI_KW_NAMES: case MCPI_KW_CONTAINS:
        if (!mcpi_step(k, f)) return false;
        mcpi_next_child(k, f, r->sub, r->src);
        if (r->op == MCPI_KW_CONTAINS) k->next.mode = MCPI_QUIET;
        else { k->next.v--; k->next.place = MCPI_NAME; }
        return true;
    case MCPI_KW_NEEDS_FIT: case MCPI_KW_NEEDS_EITHER:
        for (; f->i < r->n && !x && mcpi_spend(&k->work, 1); f->i += !x)
            if (mcpi_has(f, r->list[f->i]->src[-1].u.text, r->list[f->i]->src[-1].n)) x = r->list[f->i];
        break;
    case MCPI_KW_ALL:
        if (f->i < r->n) x = r->list[f->i];
        break;
    case MCPI_KW_IF:                        /* then what it says: count is the verdict of `if` */
        x = f->i == 0 ? r->sub : f->i > 1 ? NULL : f->count ? r->yes : r->no;
        break;
    default:                                /* not, references */
        if (f->i == 0) x = r->strict ? mcpi_dynamic(k, f, r) : r->sub;
    }
    if (!x) return false;
    mcpi_next_same(k, f, x, r->op == MCPI_KW_IF ? x->src : r->src);
    if (r->op == MCPI_KW_NOT || (r->op == MCPI_KW_IF && f->i == 0)) k->next.mode = MCPI_QUIET;
    f->i++;
    return true;
}

/* What was asked for is decided. */
static void mcpi_took(mcpi_visit *f, bool ok, uint32_t weight)
{
    int op = f->rule->op;
    if (f->told) return;
    if (op == MCPI_KW_ANY || op == MCPI_KW_ONE || op == MCPI_KW_CONTAINS || op == MCPI_KW_NOT || (op == MCPI_KW_IF && f->i == 1))
        f->count += ok;
    else if (!ok) f->ok = false;
    if (f->weights) f->weights[f->i - 1] = ok ? 0 : weight;
    if (op == MCPI_KW_CONTAINS && ok && f->node->home->dialect == MCPI_D20) mcpi_evaluated(f);
}

/* The faults of a rule for members that have to be there. */
static void mcpi_lacking(mcpi_checker *k, mcpi_visit *f, const mcpi_rule *r, const mcp_json *names)
{
    mcp_json_each(name, names)
        if (mcpi_spend(&k->work, 1) && !mcpi_has(f, name->u.text, name->n) && (f->ok || f->mode != MCPI_QUIET))
            mcpi_fault(k, f, r, r->op, name);
}

/* All that the rule at work asked for is decided: does the value fit it? */
static void mcpi_conclude(mcpi_checker *k, mcpi_visit *f)
{
    const mcpi_rule *r = f->rule;
    bool bad = false;
    uint32_t i;
    switch (r->op) {
    case MCPI_KW_REQUIRED:
        if (f->required < f->node->required) mcpi_lacking(k, f, r, r->src);
        return;
    case MCPI_KW_NEEDS: case MCPI_KW_NEEDS_EITHER:
        for (i = 0; i < r->needs_count && mcpi_spend(&k->work, 1); i++)
            if (mcpi_has(f, r->needs[i][-1].u.text, r->needs[i][-1].n)) mcpi_lacking(k, f, r, r->needs[i]);
        return;
    case MCPI_KW_MAX_MEMBERS: bad = f->members > r->max; break;
    case MCPI_KW_MIN_MEMBERS: bad = f->members < r->max; break;
    case MCPI_KW_CONTAINS:
        if (f->count < r->min) mcpi_fault(k, f, r, r->least ? MCPI_KW_MIN_CONTAINS : MCPI_KW_CONTAINS, NULL);
        if (f->count > r->max) mcpi_fault(k, f, r, MCPI_KW_MAX_CONTAINS, NULL);
        return;
    case MCPI_KW_NOT: bad = f->count != 0; break;
    case MCPI_KW_ANY: case MCPI_KW_ONE:
        if (f->told) f->ok = false;
        else bad = f->count == 0 || (r->op == MCPI_KW_ONE && f->count > 1);
        break;
    default: break;
    }
    if (bad) mcpi_fault(k, f, r, r->op, NULL);
}

/* Goes on with the top frame until it needs another, or is done. */
static int mcpi_advance(mcpi_checker *k)
{
    mcpi_visit *f = k->top;
    while (f->rule && (f->ok || f->mode != MCPI_QUIET)) {
        if (mcpi_looks_at(f->rule, f->v) && mcpi_next(k, f)) {
            int verdict = mcpi_apply(k);
            if (verdict == MCPI_PUSHED || k->work.status != MCP_OK) return verdict;
            mcpi_took(f, verdict == MCPI_FITS, MCPI_STRANGER);
        } else {
            if (k->work.status != MCP_OK) return MCPI_FITS_NOT;
            if (mcpi_looks_at(f->rule, f->v)) mcpi_conclude(k, f);
            f->rule = f->rule->next;
            f->i = f->j = f->count = 0;
            f->child = NULL;
            f->weights = NULL;
            f->told = f->kinds = false;
        }
    }
    return mcpi_pop(k);
}

static bool mcpi_walk(mcpi_checker *k, const mcp_json *v, int mode)
{
    int verdict;
    memset(&k->next, 0, sizeof k->next);
    k->next.node = k->schema->root;
    k->next.v = v;
    k->next.mode = (unsigned char)mode;
    k->top = NULL;
    k->visits = 0;
    verdict = mcpi_apply(k);
    while (k->work.status == MCP_OK && (verdict == MCPI_PUSHED || k->top)) {
        if (verdict != MCPI_PUSHED) mcpi_took(k->top, verdict == MCPI_FITS, k->weight);
        verdict = mcpi_advance(k);
    }
    return verdict == MCPI_FITS;
}

/* -- telling ------------------------------------------------------------------------------------------------------------- */
/* A fault is told as a sentence for whoever has to put it right, and as two pointers. */

enum { MCPI_PATH_SHOWN = 240, MCPI_LIST_SHOWN = 240 };

/* A small array or object as it is. */
static bool mcpi_say_whole(mcpi_said *t, const mcp_json *v)
{
    char buf[MCPI_VALUE_SHOWN + 1];
    mcp_writer w;
    const mcp_json *x, *end = mcpi_behind(v);
    size_t n = 0;
    const char *text;
    for (x = v; x < end && n <= MCPI_VALUE_SHOWN; x++) n += mcpi_has_text(x) ? (size_t)x->n + 1 : 1;
    mcp_writer_fixed(&w, buf, sizeof buf);
    if (n <= MCPI_VALUE_SHOWN) mcp_put_json(&w, NULL, v);
    text = mcp_writer_text(&w, &n);
    if (text) mcpi_say_bytes(t, text, n);
    return text != NULL;
}

static void mcpi_say_value(mcpi_said *t, const mcp_json *v)
{
    switch (mcp_json_type(v)) {
    case MCP_JSON_NULL:   mcpi_say_words(t, "null"); break;
    case MCP_JSON_BOOL:   mcpi_say_words(t, mcp_json_bool(v, false) ? "true" : "false"); break;
    case MCP_JSON_STRING: mcpi_say_quoted(t, v->u.text, v->n); break;
    case MCP_JSON_NUMBER:
        mcpi_say_bytes(t, v->u.text, v->n < MCPI_VALUE_SHOWN ? v->n : (size_t)MCPI_VALUE_SHOWN);
        if (v->n > MCPI_VALUE_SHOWN) mcpi_say_words(t, "...");
        break;
    default:
        if (mcpi_say_whole(t, v)) break;
        mcpi_say_words(t, mcp_json_type(v) == MCP_JSON_ARRAY ? "an array" : "an object");
    }
}

/* The value of a frame, which may be the name of a member. */
static void mcpi_say_subject(mcpi_said *t, const mcpi_visit *f)
{
    if (f->place == MCPI_NAME) mcpi_say_words(t, "the name ");
    mcpi_say_value(t, f->v);
}

/* The words between the parts of a list; false: there is no room for more. */
static bool mcpi_say_between(mcpi_said *t, size_t begin, const char *between)
{
    if (t->len == begin) return true;
    mcpi_say_words(t, between);
    if (t->len - begin < MCPI_LIST_SHOWN) return true;
    mcpi_say_words(t, "...");
    return false;
}

static void mcpi_say_values(mcpi_said *t, const mcp_json *list)
{
    size_t begin = t->len;
    mcp_json_each(v, list) {
        if (!mcpi_say_between(t, begin, ", ")) return;
        mcpi_say_value(t, v);
    }
}

static void mcpi_say_types(mcpi_said *t, unsigned types, const char *between)
{
    static const char names[] = "null\0" "a boolean\0" "a number\0" "a string\0" "an array\0" "an object\0" "an integer\0";
    size_t begin = t->len;
    int i;
    for (i = 0; i < 7; i++)
        if (types >> (i + 1) & 1) {
            (void)mcpi_say_between(t, begin, between);
            mcpi_say_words(t, mcpi_word_at(names, i));
        }
}

/* What a node wants, in short. false: that cannot be said. */
static bool mcpi_say_wanted(mcpi_said *t, const mcpi_node *x)
{
    int hops = 0;
    while (x->types == MCPI_ALL_TYPES && !x->asserts && x->rules && x->rules->op == MCPI_KW_REF && hops++ < 8)
        x = x->rules->sub;
    if (x->asserts && x->asserts->op == MCPI_KW_CONST) mcpi_say_value(t, x->asserts->src);
    else if (x->asserts && x->asserts->op == MCPI_KW_ENUM) mcpi_say_values(t, x->asserts->src);
    else if (x->types != MCPI_ALL_TYPES && x->types) mcpi_say_types(t, x->types, " or ");
    else return false;
    return true;
}

/* The frames from the root to f, of which there are *n. */
static const mcpi_visit **mcpi_way(mcpi_checker *k, const mcpi_visit *f, size_t *n)
{
    const mcpi_visit *x, **way;
    size_t i = 0;
    for (x = f; x; x = x->up) i++;
    way = (const mcpi_visit **)mcpi_work_alloc(&k->work, i * sizeof *way);
    *n = i;
    for (x = f; x && way; x = x->up) way[--i] = x;
    return way;
}

static bool mcpi_is_plain_name(const char *s, size_t n)
{
    size_t i;
    for (i = 0; i < n; i++) {
        unsigned char letter = (unsigned char)(s[i] | 32);
        if (s[i] != '_' && !(letter >= 'a' && letter <= 'z') && !(i && s[i] >= '0' && s[i] <= '9')) return false;
    }
    return n && n <= MCPI_VALUE_SHOWN;
}

/* $.items[3].count; the middle of a long one is left out. */
static void mcpi_say_path(mcpi_said *t, const mcpi_visit **way, size_t n)
{
    size_t i, last = 0;
    bool gap = false;
    mcpi_say_words(t, "$");
    for (i = 0; i < n; i++) if (way[i]->place == MCPI_CHILD) last = i;
    for (i = 0; i < n; i++) {
        const mcp_json *v = way[i]->v;
        if (way[i]->place != MCPI_CHILD) continue;
        if (t->len > MCPI_PATH_SHOWN && i < last) {
            if (!gap) mcpi_say_words(t, "...");
            gap = true;
        } else if (!(v->tag & MCPI_MEMBER)) {
            mcpi_say_form(t, "[%u]", way[i]->item);
        } else if (mcpi_is_plain_name(v[-1].u.text, v[-1].n)) {
            mcpi_say_words(t, ".");
            mcpi_say_bytes(t, v[-1].u.text, v[-1].n);
        } else {
            mcpi_say_words(t, "[");
            mcpi_say_quoted(t, v[-1].u.text, v[-1].n);
            mcpi_say_words(t, "]");
        }
    }
}

/* A value that no value fits. Returns whether the sentence is about the frame below. */
static bool mcpi_is_extra(const mcpi_visit *f)
{
    return f->node->types == 0 && f->place == MCPI_CHILD && f->up->rule->properties != f->via;
}

static void mcpi_say_extra(mcpi_said *t, const mcpi_visit *f)
{
    const mcpi_visit *up = f->up;
    const mcpi_rule *r = up->rule;
    size_t begin;
    uint32_t i;
    if (!(f->v->tag & MCPI_MEMBER)) {
        mcpi_say_form(t, "item %u is one too many", f->item);
        return;
    }
    mcpi_say_quoted(t, f->v[-1].u.text, f->v[-1].n);
    mcpi_say_words(t, " is not allowed here");
    if (r->op != MCPI_KW_MEMBERS || r->n || !r->properties) return;
    mcpi_say_words(t, "; allowed are: ");
    begin = t->len;
    for (i = 0; i < up->node->known_count; i++) {
        const mcpi_known *known = &up->node->known[i];
        if (!known->sub || !known->sub->types) continue;
        if (!mcpi_say_between(t, begin, ", ")) return;
        mcpi_say_quoted(t, known->text, known->len);
    }
    if (t->len == begin) t->len -= strlen("; allowed are: ");
}

static void mcpi_say_alternatives(mcpi_said *t, const mcpi_visit *f, const mcpi_rule *r)
{
    size_t begin, end = t->len;
    uint32_t i;
    mcpi_say_subject(t, f);
    if (f->count > 1) {
        mcpi_say_form(t, " fits %u of the alternatives of oneOf, and may fit only one: ", f->count);
        for (begin = t->len, i = 0; i < r->n; i++)
            if (f->weights && f->weights[i] == 0) {
                if (!mcpi_say_between(t, begin, ", ")) return;
                mcpi_say_number(t, i + 1, false);
            }
        return;
    }
    mcpi_say_words(t, " is none of: ");
    for (begin = t->len, i = 0; i < r->n; i++)
        if (!mcpi_say_between(t, begin, ", ")) return;
        else if (!mcpi_say_wanted(t, r->list[i])) break;
    if (i == r->n) return;
    t->len = end;
    t->full = false;
    mcpi_say_subject(t, f);
    mcpi_say_form(t, " fits none of the %u alternative%s", r->n, r->n == 1 ? "" : "s");
}

/* What is wrong, without the path: %v is the value, %r what the rule says, %l all that it lists, %t the types, %n what was
   counted (and %s the plural's), %m what it is held against, %w what is lacking, %k the member that asks for it. */
static const struct mcpi_sentence { unsigned char op; char words[75]; } mcpi_sentences[] = {
    { MCPI_KW_TYPE,         "%v is not %t" },
    { MCPI_KW_ENUM,         "%v is not one of %l" },
    { MCPI_KW_CONST,        "%v is not %r" },
    { MCPI_KW_MULTIPLE,     "%v is not a multiple of %r" },
    { MCPI_KW_MAXIMUM,      "%v is over the maximum %r" },
    { MCPI_KW_BELOW,        "%v is not under %r" },
    { MCPI_KW_MINIMUM,      "%v is under the minimum %r" },
    { MCPI_KW_ABOVE,        "%v is not over %r" },
    { MCPI_KW_MAX_LENGTH,   "%v has %n character%s, over the maximum %r" },
    { MCPI_KW_MIN_LENGTH,   "%v has %n character%s, under the minimum %r" },
    { MCPI_KW_PATTERN,      "%v does not match the pattern %r" },
    { MCPI_KW_MAX_ITEMS,    "has %n item%s, over the maximum %r" },
    { MCPI_KW_MIN_ITEMS,    "has %n item%s, under the minimum %r" },
    { MCPI_KW_UNIQUE,       "items %m and %n are the same" },
    { MCPI_KW_REQUIRED,     "%w is required" },
    { MCPI_KW_MAX_MEMBERS,  "has %n member%s, over the maximum %r" },
    { MCPI_KW_MIN_MEMBERS,  "has %n member%s, under the minimum %r" },
    { MCPI_KW_NEEDS,        "%w is required when %k is there" },
    { MCPI_KW_NEEDS_EITHER, "%w is required when %k is there" },
    { MCPI_KW_CONTAINS,     "contains %n item%s of a kind that it must contain at least %m of" },
    { MCPI_KW_MIN_CONTAINS, "contains %n item%s of a kind that it must contain at least %m of" },
    { MCPI_KW_MAX_CONTAINS, "contains %n item%s of a kind that it must contain at most %m of" },
    { MCPI_KW_NOT,          "%v must not be " }
};

static void mcpi_say_sentence(mcpi_said *t, const mcpi_visit *f, const mcpi_rule *r, const char *words, const mcp_json *what,
                              uint64_t n, uint64_t m)
{
    const mcp_json *item;
    for (; *words; words++) {
        if (*words != '%') { mcpi_say_bytes(t, words, 1); continue; }
        switch (*++words) {
        case 'v': mcpi_say_subject(t, f); break;
        case 'r': mcpi_say_value(t, r->src); break;
        case 'l': mcpi_say_values(t, r->src); break;
        case 't': mcpi_say_types(t, f->node->types, " or "); break;
        case 'n': mcpi_say_number(t, n, false); break;
        case 'm': mcpi_say_number(t, m, false); break;
        case 'w': mcpi_say_quoted(t, what->u.text, what->n); break;
        case 'k':
            for (item = mcp_json_first(r->src); item && mcpi_behind(item) <= what; item = mcp_json_next(item)) { }
            if (item) mcpi_say_quoted(t, item[-1].u.text, item[-1].n);
            break;
        default: if (n != 1) mcpi_say_bytes(t, "s", 1);
        }
    }
}

static void mcpi_say_fault(mcpi_said *t, const mcpi_visit *f, const mcpi_rule *r, int op, const mcp_json *what,
                           mcpi_work *work)
{
    const mcp_json *again = NULL, *item;
    const struct mcpi_sentence *s = mcpi_sentences;
    const char *words;
    uint64_t n = f->count, m = 0;
    size_t begin;
    if (op == MCPI_KW_ANY || op == MCPI_KW_ONE) { mcpi_say_alternatives(t, f, r); return; }
    if (r && r->strict && op == MCPI_KW_MAXIMUM) op = MCPI_KW_BELOW;
    if (r && r->strict && op == MCPI_KW_MINIMUM) op = MCPI_KW_ABOVE;
    while (s->op != op) s++;
    words = s->words;
    switch (op) {
    case MCPI_KW_TYPE:
        if (mcpi_is_extra(f)) { mcpi_say_extra(t, f); return; }
        if (!f->node->types) words = f->place == MCPI_CHILD ? "is not allowed" : "%v is not allowed";
        break;
    case MCPI_KW_ENUM:
        if (r->src->n < 2) words = r->src->n ? "%v is not %l" : "%v is not allowed";
        break;
    case MCPI_KW_MAX_LENGTH: case MCPI_KW_MIN_LENGTH:
        n = mcpi_code_points(f->v);
        break;
    case MCPI_KW_MAX_ITEMS: case MCPI_KW_MIN_ITEMS:
        n = f->v->n;
        break;
    case MCPI_KW_MAX_MEMBERS: case MCPI_KW_MIN_MEMBERS:
        n = f->members;
        break;
    case MCPI_KW_UNIQUE:
        what = mcpi_twice(work, f->v, &again);
        for (item = mcp_json_first(f->v), n = 0; item && item != again; item = mcp_json_next(item), n++)
            if (item == what) m = n;
        break;
    default:
        m = op == MCPI_KW_MAX_CONTAINS ? r->max : r->min;
    }
    mcpi_say_sentence(t, f, r, words, what, n, m);
    begin = t->len;
    if (op == MCPI_KW_NOT) {
        if (mcpi_say_wanted(t, r->sub)) return;
        t->len = begin - strlen("must not be ");
        mcpi_say_form(t, "fits what is excluded here");
    } else if (op >= MCPI_KW_CONTAINS) {
        mcpi_say_form(t, ": ");
        if (!mcpi_say_wanted(t, r->sub)) t->len = begin;
    }
}

/* A pointer to the value, or (keywords) to the rule by the way that was taken, in memory of the checker's. */
static mcpi_said mcpi_pointer_of(mcpi_checker *k, const mcpi_visit **way, size_t n, bool keywords, const char *last)
{
    mcpi_said t;
    size_t i, most = strlen(last) + 2;
    for (i = 0; i < n; i++) {
        const mcp_json *v = keywords ? way[i]->node->src : way[i]->v;
        most += 24 + 2 * (v->tag & MCPI_MEMBER ? (size_t)v[-1].n : 0);
        if (keywords && way[i]->via) most += 2 * (size_t)way[i]->via[-1].n;
    }
    mcpi_said_in(&t, (char *)mcpi_work_alloc(&k->work, most), most);
    for (i = 0; t.buf && i < n; i++) {
        const mcp_json *via = way[i]->via, *src = way[i]->node->src, *v = way[i]->v;
        bool inside = via && src > via && src < mcpi_behind(via);      /* the keyword has several */
        if (keywords ? !via : way[i]->place != MCPI_CHILD) continue;
        mcpi_say_words(&t, "/");
        if (keywords) {
            mcpi_say_escaped(&t, via[-1].u.text, via[-1].n);
            if (!inside) continue;
            mcpi_say_words(&t, "/");
            v = src;
        }
        if (v->tag & MCPI_MEMBER) mcpi_say_escaped(&t, v[-1].u.text, v[-1].n);
        else mcpi_say_number(&t, keywords ? way[i]->nth : way[i]->item, false);
    }
    if (t.buf && *last) mcpi_say_form(&t, "/%s", last);
    return t;
}

/* Is the fault one of kind? Of the value that has the alternatives, or of a member of it; else 0. */
static uint32_t mcpi_kind_of(mcpi_checker *k, const mcpi_visit *f, const mcpi_visit *whose, int op)
{
    bool constant = op == MCPI_KW_CONST || op == MCPI_KW_ENUM;
    int steps = 0;
    for (; f && f != whose && mcpi_spend(&k->work, 1); f = f->up) steps += f->place != MCPI_SAME;
    if (steps == 0 && (constant || op == MCPI_KW_TYPE)) return MCPI_STRANGER;
    return steps == 1 && constant ? MCPI_OTHER_KIND : 0;
}

/* How much a fault says that an alternative was not meant. */
static void mcpi_weigh(mcpi_checker *k, const mcpi_visit *f, int op)
{
    uint32_t w = mcpi_kind_of(k, f, k->weighed, op);
    if (k->weight >= MCPI_STRANGER) return;
    if (!w && k->weight % MCPI_OTHER_KIND < MCPI_OTHER_KIND - 5) w = op == MCPI_KW_REQUIRED ? 4 : 3;
    k->weight += w;
}

/* The sentence was not told before. */
static bool mcpi_is_news(mcpi_checker *k, const mcpi_said *t)
{
    uint32_t h = mcpi_hash(t->buf, t->len);
    int i;
    for (i = 0; i < k->told; i++) if (k->hashes[i] == h) return false;
    k->hashes[k->told++] = h;
    return true;
}

/* Puts a sentence where it belongs; the two pointers are NULL for the whole. */
static void mcpi_put_fault(mcpi_checker *k, const mcpi_said *at, const mcpi_said *rule, const char *text, size_t len)
{
    mcp_writer *w = k->errors;
    if (k->lines) {
        if (w->len) mcpi_put_bytes(w, "\n", 1);
        mcpi_put_bytes(w, text, len);
        return;
    }
    mcp_put_object(w, NULL);
    mcp_put_strn(w, "instanceLocation", at ? at->buf : "", at ? at->len : 0);
    mcp_put_strn(w, "keywordLocation", rule ? rule->buf : "", rule ? rule->len : 0);
    mcp_put_strn(w, "error", text, len);
    mcp_put_end(w);
}

/* The alternative that the fault is in, or NULL. */
static const mcpi_visit *mcpi_alternative_of(const mcpi_visit *f)
{
    while (f->up && !f->up->told) f = f->up;
    return f->up ? f : NULL;
}

static void mcpi_tell(mcpi_checker *k, mcpi_visit *f, const mcpi_rule *r, int op, const mcp_json *what)
{
    mcpi_mark mark = mcpi_mark_set(k->work.arena);
    char buf[1200];
    mcpi_said t, at, rule;
    const mcpi_visit **way, *one;
    size_t n;
    if (f->mode == MCPI_WEIGH) { mcpi_weigh(k, f, op); return; }
    one = mcpi_alternative_of(f);
    if (one && one->up->kinds && !mcpi_kind_of(k, f, one->up, op)) return;
    if (k->work.status != MCP_OK || (way = mcpi_way(k, f, &n)) == NULL) return;
    mcpi_said_in(&t, buf, sizeof buf);
    mcpi_say_path(&t, way, op == MCPI_KW_TYPE && mcpi_is_extra(f) ? n - 1 : n);
    mcpi_say_words(&t, ": ");
    mcpi_say_fault(&t, f, r, op, what, &k->work);
    if (one) mcpi_say_form(&t, " (alternative %u of %u)", one->nth + 1, one->up->rule->n);     /* another one might do */
    if (t.full) mcpi_say_mend(&t);
    if (mcpi_is_news(k, &t)) {
        at = mcpi_pointer_of(k, way, n, false, "");
        rule = mcpi_pointer_of(k, way, n, true, op == MCPI_KW_TYPE && !f->node->types ? "" : mcpi_keywords[op].name);
        if (at.buf && rule.buf) mcpi_put_fault(k, &at, &rule, t.buf, t.len);
        if (k->told == k->most && k->work.status == MCP_OK) k->work.status = MCP_ERR_INVALID;
    }
    mcpi_mark_back(k->work.arena, &mark);
}

/* The second walk. Returns the status, which is the first one's unless there was no memory. */
static int mcpi_tell_all(mcpi_checker *k, const mcp_json *value, int status, int max_errors)
{
    static const char loop[] = "$: the schema nests too deep here, or refers to itself without end";
    static const char work[] = "$: to check this takes more work than is allowed", other[] = "$: it does not fit";
    enum { MOST = 1000 };
    const char *said = status == MCP_ERR_INVALID ? other : k->visits == MCPI_VISITS_MAX ? loop : work;
    if (status == MCP_OK || status == MCP_ERR_MEMORY) return status;
    if (status == MCP_ERR_INVALID) {
        k->most = max_errors <= 0 ? 10 : max_errors < MOST ? max_errors : MOST;
        k->hashes = (uint32_t *)mcpi_work_alloc(&k->work, (size_t)k->most * sizeof *k->hashes);
        if (k->hashes) (void)mcpi_walk(k, value, MCPI_TELL);
        if (k->work.status == MCP_ERR_MEMORY) return MCP_ERR_MEMORY;
    }
    if (!k->told) mcpi_put_fault(k, NULL, NULL, said, strlen(said));
    return status;
}

static int mcpi_schema_check(const mcp_schema *s, const mcp_json *value, mcp_arena *scratch, mcp_writer *errors,
                             int max_errors, bool lines)
{
    mcpi_checker k;
    mcpi_mark mark = mcpi_mark_set(scratch);
    uint64_t steps = MCPI_STEPS + MCPI_STEPS_EACH * (uint64_t)(mcpi_behind(value) - value);
    int status;
    bool fits;
    memset(&k, 0, sizeof k);
    k.schema = s;
    k.work.arena = scratch;
    k.work.left = steps;
    fits = mcpi_walk(&k, value, MCPI_QUIET);
    status = k.work.status != MCP_OK ? k.work.status : fits ? MCP_OK : MCP_ERR_INVALID;
    mcpi_mark_back(scratch, &mark);
    if (errors) {
        k.work.left = steps;
        k.work.status = MCP_OK;
        k.errors = errors;
        k.lines = lines;
        if (!lines) mcp_put_array(errors, NULL);
        status = mcpi_tell_all(&k, value, status, max_errors);
        if (!lines) mcp_put_end(errors);
        mcpi_mark_back(scratch, &mark);
    }
    return status;
}

int mcp_schema_check(const mcp_schema *s, const mcp_json *value, mcp_arena *scratch, mcp_writer *errors, int max_errors)
{
    if (!s || !value || !scratch) return MCP_ERR_ARGUMENT;
    return s->check(s, value, scratch, errors, max_errors, false);
}

#endif /* MCP_NO_VALIDATE */
#ifndef MCP_NO_SANITIZE
/* ============================================================================================================== *
 * >>fit  JSON Schema: what a provider of models takes                                                            *
 * ============================================================================================================== */
/* A schema comes in as JSON and goes out as JSON; between them stands a tree of nodes, one for each schema that goes
   out.

   A node is what several schemas say at the same time. It absorbs them one after the other: the schema itself, what its
   "allOf" lists, what its "$ref" points at. Each keyword knows how two of it become one (of two minimums the greater,
   of two "properties" the union), so inlining and merging are one mechanism, and shape repair and old drafts are dealt
   with where a keyword is read. The places below a node only collect their schemas; they become nodes when the walk
   comes to them, which is what ends cycles: a reference that is being followed already becomes a stand-in.

   Then a node is finished for the provider: its unions are sorted out, its type is found, and each keyword is kept,
   rewritten, dropped, or told in the description, as the table says. Last the tree is written.

   The walk knows three kinds of place: a schema, a map from names to schemas, and data. A property named "type" is a
   name, and an object in "default" is data that is never entered.

   Budgets are kept by trying again. A try that makes too many nodes or bytes stops, and the next one cuts the schema at
   a lower depth, so that the top of it, which a model needs most, is there in any case. */

/* What the providers take: a row for each keyword and, at the end, for each habit; a column for each profile. To change
   a rule, change its cell.
       k  kept             n  dropped, and told in the description
       x  dropped          r  rewritten, as the comment of the row says
       F  cannot be said with strictness: the tool falls back to the profile without
   The second column tells which values a keyword speaks of: o objects, a arrays, s strings, n numbers, f strings
   and numbers, * all.

   gen generic   oai openai   oas openai-strict   ant anthropic   bed bedrock   mis mistral   gem gemini
   gmj gemini-json   dsk deepseek   dss deepseek-strict   moo moonshot   glm glm   qwe qwen   oll ollama   lla llamacpp

                                                        goo abm gg dd m gq o l
                                                        eaa nei em ss o lw l l
                                                        nis tds mj ks o me l a                                      */
#define MCPI_FIT_TABLE(X) \
    X(TITLE,            "title",                 '*', "xxx xxx kk xx k xx x x") \
    X(DESCRIPTION,      "description",           '*', "kkk kkk kk kk k kk k k") \
    X(DEFAULT,          "default",               '*', "kkn kkk kn kn r kk n x") /* r: a scalar that fits */ \
    X(EXAMPLES,         "examples",              '*', "nnx kkk nn xx n nn n x") \
    X(EXAMPLE,          "example",               '*', "nnx nnn kn xx n nn n x") \
    X(TYPE,             "type",                  '*', "kkk kkk rk ko a kk k k") /* lists: r split; o split if they name
                                                         object or array; a kept if nothing stands beside */ \
    X(ENUM,             "enum",                  '*', "kks kkk tp ks 1 kk k k") /* values: t strings; p strings and
                                                         numbers; s scalars; 1 scalars of one type */ \
    X(CONST,            "const",                 '*', "rrr kkk rr rr r rr r k") /* r: enum */ \
    X(PROPERTIES,       "properties",            'o', "kkk kkk kk kk k kk k k") \
    X(REQUIRED,         "required",              'o', "kkk kkk kk kk k kk k k") \
    X(MORE,             "additionalProperties",  'o', "kkF kkk nk kF k kk n k") /* a schema; true and false: below */ \
    X(PATTERNS,         "patternProperties",     'o', "kkF kkk nn kF n kk n x") \
    X(NAMES,            "propertyNames",         'o', "kkF kkk nn kF n kk n x") \
    X(MIN_PROPERTIES,   "minProperties",         'o', "kkn kkk kn kn n kk n x") \
    X(MAX_PROPERTIES,   "maxProperties",         'o', "kkn kkk kn kn n kk n x") \
    X(NEEDS,            "dependentRequired",     'o', "nkn kkk nn nn n nn n x") \
    X(NEEDS_SCHEMA,     "dependentSchemas",      'o', "nkn kkk nn nn n nn n x") \
    X(ITEMS,            "items",                 'a', "kkk kkk kk kk k kk k k") \
    X(TUPLE,            "prefixItems",           'a', "rrr kkk rk rr r rr r k") /* r: a union in items */ \
    X(CONTAINS,         "contains",              'a', "nkn kkk nn nn n nn n x") \
    X(MIN_CONTAINS,     "minContains",           'a', "xkx kkk xx xx x xx x x") \
    X(MAX_CONTAINS,     "maxContains",           'a', "xkx kkk xx xx x xx x x") \
    X(MIN_ITEMS,        "minItems",              'a', "kkk kkk kk kn k kk n c") /* c: if it is not too large */ \
    X(MAX_ITEMS,        "maxItems",              'a', "kkk kkk kk kn k kk n c") \
    X(UNIQUE,           "uniqueItems",           'a', "kkn kkk nn kn n kk n x") \
    X(MIN_LENGTH,       "minLength",             's', "kkn kkk kn kn k kk n c") \
    X(MAX_LENGTH,       "maxLength",             's', "kkn kkk kn kn k kk n c") \
    X(PATTERN,          "pattern",               's', "ppp kkk pn pn n pp n a") /* p: without look-around and the like;
                                                         a: and from ^ to $ */ \
    X(FORMAT,           "format",                'f', "kk9 kkk GJ k5 n kk n L") /* those of a list: see below */ \
    X(ENCODING,         "contentEncoding",       's', "nnn nnn nn nn n nn n x") \
    X(MEDIA,            "contentMediaType",      's', "nnn nnn nn nn n nn n x") \
    X(MINIMUM,          "minimum",               'n', "kkk kkk dd kk k kk n k") /* d: if a double holds it */ \
    X(MAXIMUM,          "maximum",               'n', "kkk kkk dd kk k kk n k") \
    X(ABOVE,            "exclusiveMinimum",      'n', "kkk kkk rr kk r kk n k") /* r: minimum */ \
    X(BELOW,            "exclusiveMaximum",      'n', "kkk kkk rr kk r kk n k") /* r: maximum */ \
    X(MULTIPLE,         "multipleOf",            'n', "kkk kkk nn kn n kk n x") \
    X(ANY_OF,           "anyOf",                 '*', "kkk kkk kk kk k kk k k") \
    X(ONE_OF,           "oneOf",                 '*', "rrr kkk rr rr r rr r k") /* r: anyOf */ \
    X(NOT,              "not",                   '*', "nkn kkk nn nn n nn n x") \
    X(IF,               "if",                    '*', "nkn kkk nn nn n nn n x") \
    X(THEN,             "then",                  '*', "nkn kkk nn nn n nn n x") \
    X(ELSE,             "else",                  '*', "nkn kkk nn nn n nn n x") \
    X(NULLABLE,         "nullable",              '*', "xxx xxx kx xx x xx x x") \
    X(LAST_STORED,      "",                      '*', "xxx xxx xx xx x xx x x") \
    X(ALL_OF,           "allOf",                 '*', "xxx xxx xx xx x xx x x") /* merged, always */ \
    X(REF,              "$ref",                  '*', "xxx xxx xx xx x xx x x") /* see REFS below */ \
    X(DYNAMIC_REF,      "$dynamicRef",           '*', "xxx xxx xx xx x xx x x") \
    X(RECURSIVE_REF,    "$recursiveRef",         '*', "xxx xxx xx xx x xx x x") \
    X(MORE_ITEMS,       "additionalItems",       'a', "xxx xxx xx xx x xx x x") \
    X(OLD_NEEDS,        "dependencies",          'o', "xxx xxx xx xx x xx x x") \
    X(OTHER_PROPERTIES, "unevaluatedProperties", 'o', "xxx xxx xx xx x xx x x") \
    X(OTHER_ITEMS,      "unevaluatedItems",      'a', "xxx xxx xx xx x xx x x") \
    X(ID,               "$id",                   '*', "xxx xxx xx xx x xx x x") \
    X(OLD_ID,           "id",                    '*', "xxx xxx xx xx x xx x x") \
    X(ANCHOR,           "$anchor",               '*', "xxx xxx xx xx x xx x x") \
    X(DYNAMIC_ANCHOR,   "$dynamicAnchor",        '*', "xxx xxx xx xx x xx x x") \
    X(DEFS,             "$defs",                 '*', "xxx xxx xx xx x xx x x") \
    X(DEFINITIONS,      "definitions",           '*', "xxx xxx xx xx x xx x x") \
    X(SCHEMA,           "$schema",               '*', "xxx xxx xx xx x xx x x") \
    X(COMMENT,          "$comment",              '*', "xxx xxx xx xx x xx x x") \
    X(READ_ONLY,        "readOnly",              '*', "xxx xxx xx xx x xx x x") \
    X(WRITE_ONLY,       "writeOnly",             '*', "xxx xxx xx xx x xx x x") \
    X(DEPRECATED,       "deprecated",            '*', "xxx xxx xx xx x xx x x") \
    X(CONTENT,          "contentSchema",         's', "xxx xxx xx xx x xx x x") \
    X(OPTIONAL,         "optional",              '*', "xxx xxx xx xx x xx x x") \
    X(ORDERING,         "propertyOrdering",      'o', "xxx xxx xx xx x xx x x") \
    X(CLOSED,           "",                      'o', "kkk kkk xk kk k kk x k") /* additionalProperties false */ \
    X(OPEN,             "",                      'o', "kkF kkk xk kF t kk n k") /* ... true or {}; t: written true */ \
    X(ANYTHING,         "",                      '*', "kkF kkk rr kF e kk r k") /* no type: r "string", and arguments
                                                         are parsed; e only if the schema is {} */ \
    X(NULLS,            "",                      '*', "lll lll ul ll a ll x l") /* or null: l a type list; u nullable;
                                                         a a branch of anyOf; x not said */ \
    X(PUSH,             "",                      '*', "--p --- pp -p p -- p p") /* p: what stands beside anyOf moves
                                                         into the branches */ \
    X(BESIDE,           "",                      '*', "kkk kkk dk kk t kk k k") /* annotations beside anyOf: d only
                                                         description and nullable; t description and title */ \
    X(NO_ITEMS,         "",                      'a', "rrF --- s- rF s rr - -") /* no items: r {}; s string */ \
    X(BARE,             "",                      'o', "ppp --- x- p- - pp - -") /* an object without properties: p gets
                                                         an empty map; x has none but at the root */ \
    X(KEYS,             "",                      '*', "--- aa- i- -- w -- - -") /* names: a [A-Za-z0-9_.-]{1,64};
                                                         i [A-Za-z_][A-Za-z0-9_]{0,63}; w no word of moonshot's */ \
    X(REFS,             "",                      '*', "--k --- -o -- k -- - k") /* cyclic, or twice as long without:
                                                         k kept; o kept if cycles go through optional properties */ \
    X(BESIDE_REF,       "",                      '*', "--w --- -w -- d -- - d") /* text beside $ref: w in anyOf */ \
    X(STRICT,           "",                      '*', "--s --- -- -s - -- - -") \
    X(DEPTH,            "",                      '*', "--x --- -- -- y -- - -") /* x 10 levels, y 30; all: 64 */

enum mcpi_fit_id {
#define MCPI_X(id, word, of, cells) MCPI_F_##id,
    MCPI_FIT_TABLE(MCPI_X)
#undef MCPI_X
    MCPI_F_COUNT
};

typedef struct mcpi_fit_rule { char word[22], len, of, cells[23]; } mcpi_fit_rule;
static const mcpi_fit_rule mcpi_fit_rules[] = {
#define MCPI_X(id, word, of, cells) { word, sizeof word - 1, of, cells },
    MCPI_FIT_TABLE(MCPI_X)
#undef MCPI_X
};

/* In the order of mcp_profile, which is that of the columns. */
static const char mcpi_fit_profiles[] =
    "generic\0openai\0openai-strict\0anthropic\0bedrock\0mistral\0gemini\0gemini-json\0deepseek\0deepseek-strict\0"
    "moonshot\0glm\0qwen\0ollama\0llamacpp\0";

/* The words of the lists that FORMAT names; in the list of gemini those of strings, numbers and integers. */
static const char mcpi_fit_formats_9[] = "date-time\0time\0date\0duration\0email\0hostname\0ipv4\0ipv6\0uuid\0";
static const char mcpi_fit_formats_5[] = "email\0hostname\0ipv4\0ipv6\0uuid\0";
static const char mcpi_fit_formats_g[] = "date-time\0enum\0";
static const char mcpi_fit_formats_number[] = "float\0double\0";
static const char mcpi_fit_formats_integer[] = "int32\0int64\0";
static const char mcpi_fit_formats_j[] = "date-time\0date\0time\0";
static const char mcpi_fit_formats_l[] = "date-time\0date\0time\0uuid\0";

const char *mcp_profile_name(mcp_profile p)
{
    return (unsigned)p <= MCP_LLAMACPP ? mcpi_word_at(mcpi_fit_profiles, (int)p) : NULL;
}

int mcp_profile_find(const char *name)
{
    int i = mcpi_word_of(mcpi_fit_profiles, name);
    return i < 0 ? MCP_ERR_UNKNOWN : i;
}

/* -- the tree ---------------------------------------------------------------------------------------------------- */

#define MCPI_FIT_ELLIPSIS "\xE2\x80\xA6"
#define MCPI_FIT_DEPTH 64                   /* of the tree, and so of all recursion here */

/* Types are written one behind the other in the hexadecimal digits of a number, the first one lowest; 0: any value. */
enum { MCPI_T_NULL = 1, MCPI_T_BOOLEAN, MCPI_T_INTEGER, MCPI_T_NUMBER, MCPI_T_STRING, MCPI_T_ARRAY, MCPI_T_OBJECT };
static const char mcpi_fit_types[8][8] = { "", "null", "boolean", "integer", "number", "string", "array", "object" };

struct mcpi_fit_node;

/* A JSON schema, and the resource ("$id") that its references start from. */
typedef struct mcpi_fit_src {
    const mcp_json *json, *base;
    struct mcpi_fit_src *next;              /* what holds at the same time */
} mcpi_fit_src;

/* A place for a schema: a property, an item, a branch. */
typedef struct mcpi_fit_slot {
    struct mcpi_fit_slot *next;             /* in the same map or list */
    struct mcpi_fit_slot *other;            /* what may be there instead: the variants of a root union */
    mcpi_fit_src all, *last;
    struct mcpi_fit_node *node;             /* once the walk has come here */
    const char *key, *sent;                 /* of a map: the name, and the one that is sent */
    size_t key_len;
    uint32_t type;                          /* a branch that was made by splitting a type list */
    struct mcpi_fit_slot *forms, *forms_last;   /* while a root union is folded: what its variants say, ... */
    uint32_t count, round;                  /* ... how many of them, and in which union */
    bool needed, invented;                  /* required; null is only allowed for the sake of strictness */
} mcpi_fit_slot;

/* A value of "enum", a name in "required". */
typedef struct mcpi_fit_value {
    const mcp_json *json;
    mcpi_fit_slot *slot;
    struct mcpi_fit_value *next;
} mcpi_fit_value;

/* A keyword of a node, with whichever of these it needs. */
typedef struct mcpi_fit_word {
    struct mcpi_fit_word *next;
    const mcp_json *json;                   /* data, as it came */
    mcpi_fit_slot *first, *last;            /* schemas */
    mcpi_fit_value *values, *values_last;   /* of enum and required */
    struct mcpi_index *index;           /* of many keys or values */
    uint32_t n;
    uint8_t id;
} mcpi_fit_word;

/* A union that was read and not sorted out yet. */
typedef struct mcpi_fit_union { mcpi_fit_slot *first; bool one; struct mcpi_fit_union *next; } mcpi_fit_union;

/* A reference that was read and not followed yet. */
typedef struct mcpi_fit_ref { const mcp_json *text, *base; struct mcpi_fit_ref *next; } mcpi_fit_ref;

/* What references point at. */
typedef struct mcpi_fit_target {
    const mcp_json *json, *base;
    const char *name;                       /* the last word of the pointer, to speak of it */
    struct mcpi_fit_target *group;          /* one of its strongly connected component */
    struct mcpi_fit_target *next_def;
    struct mcpi_fit_node *node;             /* its definition, where references are kept */
    struct mcpi_undo *undo;
    const char *def;
    uint32_t active;                        /* of a group: how many of its members are being expanded */
    uint32_t stamp;                         /* the last node that absorbed it */
    struct mcpi_fit_active *leads;          /* of a definition: to which others */
    size_t led;                             /* from how many places */
} mcpi_fit_target;
typedef struct mcpi_fit_active { mcpi_fit_target *target; struct mcpi_fit_active *next; } mcpi_fit_active;

typedef struct mcpi_fit_node {
    uint64_t has;                           /* a bit for each keyword in the list */
    mcpi_fit_word *words, *words_last;
    mcpi_fit_union *unions, *unions_last;
    mcpi_fit_ref *refs;
    mcpi_fit_active *targets;               /* what it has absorbed through references */
    mcpi_fit_target *kept;                  /* it is only a reference */
    mcpi_fit_target *again;                 /* it stands for this, which is being expanded around it */
    struct mcpi_fit_node *outer;            /* what has moved into the branches */
    struct mcpi_fit_node *wrapped;          /* what became a branch beside null */
    const char *description;
    char *note;
    const char *text;                       /* written already */
    size_t description_len, note_len, text_len;
    uint32_t types, serial, closed;         /* closed: properties beside a false additionalProperties, and one */
    mcpi_fit_word *branches;                /* of a union that is sorted out */
    bool never;                             /* no value fits */
    bool clash;                             /* two of its schemas contradict each other */
    bool null, null_first;                  /* or null */
    bool nullable, needed, sealed, constant, free, typed, in_place, barren, no_keep, top, from_union, done, joined, named;
} mcpi_fit_node;

/* -- the fitter -------------------------------------------------------------------------------------------------- */

/* Where the walk is. */
typedef struct mcpi_fit_place {
    const struct mcpi_fit_place *up;
    const mcp_json *json;
    const char *key;
    size_t len, index;
    int id;                                 /* the keyword; for a list or map, then the index or the key */
} mcpi_fit_place;

typedef struct mcpi_fitter {
    mcp_arena *arena;
    const mcp_json *root;
    mcp_fit_desc d;
    size_t work_max, told_nodes, told_bytes;        /* told: the budgets */
    char why[200];                          /* strictness was lost */
    bool plainly;                           /* ... for something that will be there without strictness, too */
    unsigned char words[256];               /* from the hash of a keyword to its row, plus one */
    int column;                             /* of the profile, in the table; from here on: of one try */
    size_t work, nodes;
    int depth_max;
    bool no_memory, over, lost;             /* lost: strictness */
    bool keep, hard;                        /* references are kept; cycles are cut early */
    bool plain, tight;                      /* types alone below the root; the budget was not enough for the whole */
    bool strict, cyclic, changed, wrapped;  /* changed: there is something to undo */
    bool cut;                               /* something was left out: what is not said would be wider */
    bool odd;                               /* there was a union, a reference or a contradiction */
    bool closing;                           /* the last lines of the report have their place in any case */
    bool anchored, keyed, optional;         /* optional: since the definition began, through what may be left out */
    size_t most, refs;                      /* properties of the root; references that were met */
    uint32_t serial;
    mcpi_fit_place top;                     /* of the root */
    const mcpi_fit_place *place;
    mcpi_index members, targets, followed, anchors, keys, wishes, renamed, sent, def_names;
    mcpi_fit_target *defs, *defs_last, *walked;     /* definitions that are kept; the one that is being walked */
    size_t strict_names, strict_properties, strict_values;
    mcp_writer out, branch;                 /* the result; a branch, to compare it by its text */
    char *said;                             /* the report */
    size_t said_len, said_cap, unsaid;
} mcpi_fitter;

static char mcpi_fit_cell(const mcpi_fitter *f, int id)
{
    return mcpi_fit_rules[id].cells[f->column];
}

static void *mcpi_fit_new(mcpi_fitter *f, size_t size)
{
    void *p = mcp_arena_alloc(f->arena, size);
    if (p) memset(p, 0, size);
    else f->no_memory = true;
    return p;
}

static bool mcpi_fit_stopped(const mcpi_fitter *f)
{
    return f->no_memory || f->over || f->lost;
}

/* Counts work, which is linear in the input plus the budget of the result. */
static void mcpi_fit_work(mcpi_fitter *f, size_t n)
{
    f->work += n;
    if (f->work > f->work_max) f->over = true;
}

static unsigned mcpi_fit_word_hash(const char *s, size_t n)
{
    return ((unsigned)n * 31 + (unsigned char)s[0] * 7u + (unsigned char)s[n - 1] * 3u + (unsigned char)s[n / 2]) & 255;
}

static void mcpi_fit_learn_words(mcpi_fitter *f)
{
    int i;
    for (i = 0; i < MCPI_F_COUNT; i++) {
        size_t n = (size_t)mcpi_fit_rules[i].len;
        unsigned at;
        if (!n) continue;
        for (at = mcpi_fit_word_hash(mcpi_fit_rules[i].word, n); f->words[at]; at = (at + 1) & 255) { }
        f->words[at] = (unsigned char)(i + 1);
    }
}

/* The row of a keyword, or MCPI_F_COUNT. */
static int mcpi_fit_word_of(const mcpi_fitter *f, const char *s, size_t n)
{
    unsigned at;
    if (!n || n >= sizeof mcpi_fit_rules[0].word) return MCPI_F_COUNT;
    for (at = mcpi_fit_word_hash(s, n); f->words[at]; at = (at + 1) & 255) {
        const mcpi_fit_rule *rule = mcpi_fit_rules + (f->words[at] - 1);
        if ((size_t)rule->len == n && memcmp(rule->word, s, n) == 0) return f->words[at] - 1;
    }
    return MCPI_F_COUNT;
}

static mcpi_hashed *mcpi_fit_index_add(mcpi_fitter *f, mcpi_index *x, uint32_t hash, const void *key,
                                          const mcp_json *json, void *value)
{
    mcpi_work w = { NULL, UINT64_MAX, MCP_OK };
    mcpi_hashed *e;
    w.arena = f->arena;
    e = mcpi_index_add(&w, x, hash, key, json, value);
    if (!e) f->no_memory = true;
    return e;
}

static size_t mcpi_fit_span(const mcp_json *v)
{
    return mcpi_is_container(v) ? v->u.span : 1;
}

/* Are two JSON values written the same? Their nodes stand in a row each. */
static bool mcpi_fit_same(const mcp_json *a, const mcp_json *b)
{
    const uint32_t kind = MCPI_TYPE | MCPI_KEY | MCPI_TRUE;
    size_t i, n = mcpi_fit_span(a);
    if (a == b) return true;
    if (n != mcpi_fit_span(b)) return false;
    for (i = 0; i < n; i++) {
        if ((a[i].tag & kind) != (b[i].tag & kind) || a[i].n != b[i].n) return false;
        if (mcpi_has_text(a + i) && memcmp(a[i].u.text, b[i].u.text, a[i].n) != 0) return false;
    }
    return true;
}

static uint32_t mcpi_fit_value_hash(const mcp_json *v)
{
    uint32_t h = v->tag & (MCPI_TYPE | MCPI_TRUE);
    size_t i, n = mcpi_fit_span(v);
    for (i = 0; i < n; i++) h = h * 31 + (mcpi_has_text(v + i) ? mcpi_hash(v[i].u.text, v[i].n) : v[i].n);
    return h;
}

/* -- what is reported -------------------------------------------------------------------------------------------- */

#define MCPI_FIT_REPORT_MAX ((size_t)65536 - 64)

static void mcpi_fit_say_bytes(mcpi_fitter *f, const char *s, size_t n)
{
    if (f->said_len + n + 1 > f->said_cap) {
        size_t cap = 2 * f->said_cap + n + 256;
        char *p = (char *)mcp_arena_alloc(f->arena, cap);
        if (!p) { f->no_memory = true; return; }
        if (f->said_len) memcpy(p, f->said, f->said_len);
        f->said = p;
        f->said_cap = cap;
    }
    for (; n; n--, s++) f->said[f->said_len++] = (unsigned char)*s < ' ' ? ' ' : *s;
    f->said[f->said_len] = 0;
}

static void mcpi_fit_say_key(mcpi_fitter *f, const char *key, size_t n)
{
    size_t i, from = 0;
    mcpi_fit_say_bytes(f, "/", 1);
    for (i = 0; i < n; i++) {
        if (key[i] != '~' && key[i] != '/') continue;
        mcpi_fit_say_bytes(f, key + from, i - from);
        mcpi_fit_say_bytes(f, key[i] == '~' ? "~0" : "~1", 2);
        from = i + 1;
    }
    mcpi_fit_say_bytes(f, key + from, n - from);
}

static void mcpi_fit_say_place(mcpi_fitter *f, const mcpi_fit_place *at)
{
    const mcpi_fit_place *chain[MCPI_FIT_DEPTH + 8];
    char number[24];
    int n = 0;
    for (; at && at->up && n < MCPI_FIT_DEPTH + 8; at = at->up) chain[n++] = at;
    mcpi_fit_say_bytes(f, "#", 1);
    while (n > 0) {
        at = chain[--n];
        mcpi_fit_say_key(f, mcpi_fit_rules[at->id].word, strlen(mcpi_fit_rules[at->id].word));
        if (at->key) mcpi_fit_say_key(f, at->key, at->len);
        else if (at->index != MCP_NTS) mcpi_fit_say_key(f, number, mcpi_say(number, sizeof number, "%z", at->index));
    }
    mcpi_fit_say_bytes(f, ": ", 2);
}

/* A line of the report about the place where the walk is. The format is that of mcpi_say. */
static void mcpi_fit_report(mcpi_fitter *f, const char *fmt, ...)
{
    char line[256];
    va_list ap;
    size_t n;
    if (f->said_len > MCPI_FIT_REPORT_MAX - 8192 && !f->closing) { f->unsaid++; return; }
    va_start(ap, fmt);
    n = mcpi_vsay(line, sizeof line, fmt, ap);
    va_end(ap);
    mcpi_fit_say_place(f, f->place);
    mcpi_fit_say_bytes(f, line, n);
    if (f->said) f->said[f->said_len++] = '\n';             /* say_bytes leaves room for it */
}

/* Strictness cannot say this: a line of the report, too. */
static void mcpi_fit_lose(mcpi_fitter *f, const char *why, const char *what)
{
    if (f->said_len) f->said_len = 0;       /* this try ends; only why is of interest */
    mcpi_fit_say_place(f, f->place);
    if (f->said && !f->lost)
        mcpi_say(f->why, sizeof f->why, "%.*s%s%s", (int)(f->said_len < 120 ? f->said_len : 120), f->said, what, why);
    f->plainly = !f->odd;
    f->lost = true;
}

static const char *mcpi_fit_name(int id)
{
    return mcpi_fit_rules[id].word;
}

/* A short sentence for the description of a node: at most 120 bytes, and 240 in all; of the root, more. */
enum { MCPI_FIT_NOTE = 120, MCPI_FIT_NOTES = 240, MCPI_FIT_NOTES_ROOT = 1200 };
static void mcpi_fit_note(mcpi_fitter *f, mcpi_fit_node *n, const char *fmt, ...)
{
    char text[MCPI_FIT_NOTES_ROOT];
    mcpi_said t;
    size_t most = n->top ? MCPI_FIT_NOTES_ROOT / 2 : MCPI_FIT_NOTE, cap = n->top ? MCPI_FIT_NOTES_ROOT : MCPI_FIT_NOTES;
    va_list ap;
    if (f->d.no_notes) return;
    va_start(ap, fmt);
    t.len = mcpi_vsay(text, most + 8, fmt, ap);
    va_end(ap);
    t.buf = text; t.cap = sizeof text; t.full = false;
    if (t.len > most) {
        t.len = most - 3;
        mcpi_say_mend(&t);
        mcpi_say_bytes(&t, MCPI_FIT_ELLIPSIS, 3);
    }
    if (!n->note) n->note = (char *)mcp_arena_alloc(f->arena, cap + 1);
    if (!n->note) f->no_memory = true;
    if (!n->note || n->note_len + 1 + t.len > cap) return;
    if (n->note_len) n->note[n->note_len++] = ' ';
    memcpy(n->note + n->note_len, text, t.len);
    n->note_len += t.len;
}

/* The beginning of a value as JSON, for a note; with an ellipsis where it is cut. */
static const char *mcpi_fit_excerpt(const mcp_json *v, char *buf, size_t cap)
{
    mcp_writer w;
    mcpi_said t;
    mcp_writer_fixed(&w, buf, cap - 4);
    mcp_put_json(&w, NULL, v);
    t.buf = buf; t.cap = cap; t.len = w.len; t.full = false;
    if (!mcp_writer_text(&w, NULL)) {
        if (mcp_json_type(v) == MCP_JSON_STRING && !t.len)
            mcpi_say_bytes(&t, v->u.text, v->n < cap / 2 ? v->n : cap / 2);
        mcpi_say_mend(&t);
        mcpi_say_bytes(&t, MCPI_FIT_ELLIPSIS, 3);
    }
    buf[t.len] = 0;
    return buf;
}

/* -- types and values -------------------------------------------------------------------------------------------- */

static unsigned mcpi_fit_mask(uint32_t types)
{
    unsigned mask = 0;
    for (; types; types >>= 4) mask |= 1u << (types & 15);
    return mask;
}

static bool mcpi_fit_has_type(uint32_t types, unsigned type)
{
    return (mcpi_fit_mask(types) >> type & 1) != 0;
}

static uint32_t mcpi_fit_add_type(uint32_t types, unsigned type)
{
    uint32_t t = types;
    unsigned shift = 0;
    for (; t; t >>= 4, shift += 4) if ((t & 15) == type) return types;
    return types | (uint32_t)type << shift;
}

static uint32_t mcpi_fit_without_type(uint32_t types, unsigned type)
{
    uint32_t left = 0;
    for (; types; types >>= 4) if ((types & 15) != type) left = mcpi_fit_add_type(left, types & 15);
    return left;
}

/* What is in both lists, in the order of the first; an integer is a number. 0: nothing. */
static uint32_t mcpi_fit_common_types(uint32_t a, uint32_t b)
{
    uint32_t both = 0;
    unsigned mask = mcpi_fit_mask(b), t;
    for (; a; a >>= 4) {
        t = a & 15;
        if (mask >> t & 1) both = mcpi_fit_add_type(both, t);
        else if (t == MCPI_T_INTEGER && mask >> MCPI_T_NUMBER & 1) both = mcpi_fit_add_type(both, t);
        else if (t == MCPI_T_NUMBER && mask >> MCPI_T_INTEGER & 1) both = mcpi_fit_add_type(both, MCPI_T_INTEGER);
    }
    return both;
}

/* The type of that name; 0: none. */
static unsigned mcpi_fit_type_named(const char *s, size_t n)
{
    unsigned t;
    for (t = MCPI_T_OBJECT; t; t--)
        if (mcpi_fit_types[t][0] == *s && memcmp(mcpi_fit_types[t], s, n < 8 ? n : 8) == 0 &&
            (n >= 8 || !mcpi_fit_types[t][n])) break;
    return n < 8 ? t : 0;
}

/* The type that a word of "type" means, also of other languages; 0: any, or none that is known. */
static unsigned mcpi_fit_type_word(const char *s, size_t n)
{
    static const char words[] =
        "bool\0int\0int32\0int64\0long\0float\0double\0decimal\0str\0text\0char\0date\0datetime\0"
        "date-time\0uuid\0uri\0url\0enum\0list\0tuple\0set\0dict\0map\0record\0struct\0";
    static const char types[] = "2" "3333" "444" "5555555555" "666" "7777";
    char low[16];
    size_t i;
    int at;
    unsigned t = n ? mcpi_fit_type_named(s, n) : 0;
    if (t || !n || n >= sizeof low) return t;
    for (i = 0; i < n; i++) low[i] = (char)(s[i] >= 'A' && s[i] <= 'Z' ? s[i] + 32 : s[i]);
    low[n] = 0;
    t = mcpi_fit_type_named(low, n);
    at = !t && strlen(low) == n ? mcpi_word_of(words, low) : -1;
    return at < 0 ? t : (unsigned)(types[at] - '0');
}

static uint32_t mcpi_fit_read_types(mcpi_fitter *f, const mcp_json *v)
{
    uint32_t types = 0;
    if (mcp_json_type(v) == MCP_JSON_STRING) {
        types = v->n ? mcpi_fit_type_named(v->u.text, v->n) : 0;
        if (types) return types;
        types = mcpi_fit_type_word(v->u.text, v->n);
        mcpi_fit_report(f, "type \"%.*s\" is read as %s", v->n < 40 ? (int)v->n : 40, v->u.text,
                        types ? mcpi_fit_types[types] : "any value");
        return types;
    }
    if (mcp_json_type(v) == MCP_JSON_ARRAY)
        mcp_json_each(item, v) {
            unsigned t = mcp_json_type(item) == MCP_JSON_STRING ? mcpi_fit_type_word(item->u.text, item->n) : 0;
            if (!t) { mcpi_fit_report(f, "a type of the list is unknown: any value"); return 0; }
            types = mcpi_fit_add_type(types, t);
        }
    else mcpi_fit_report(f, "type is no word: any value");
    return types;
}

static bool mcpi_fit_integral(const mcp_json *v)
{
    size_t i;
    for (i = 0; i < v->n; i++)
        if (v->u.text[i] == '.' || (v->u.text[i] | 32) == 'e') return mcp_json_int(v, 0) == mcp_json_int(v, 1);
    return true;
}

static unsigned mcpi_fit_type_of_value(const mcp_json *v)
{
    static const char types[] = "0124567";                  /* in the order of mcp_type */
    unsigned t = (unsigned)(types[mcp_json_type(v)] - '0');
    return t == MCPI_T_NUMBER && mcpi_fit_integral(v) ? (unsigned)MCPI_T_INTEGER : t;
}

static bool mcpi_fit_value_fits(uint32_t types, const mcp_json *v)
{
    return !types || mcpi_fit_common_types(mcpi_fit_type_of_value(v), types) == mcpi_fit_type_of_value(v);
}

/* -- the words of a node ----------------------------------------------------------------------------------------- */

#define MCPI_FIT_BIT(id) (UINT64_C(1) << (id))
#define MCPI_FIT_HAS(node, id) (((node)->has & MCPI_FIT_BIT(MCPI_F_##id)) != 0)
/* What says nothing about which values fit. */
#define MCPI_FIT_ANNOTATIONS (MCPI_FIT_BIT(MCPI_F_TITLE) | MCPI_FIT_BIT(MCPI_F_DESCRIPTION) | \
                              MCPI_FIT_BIT(MCPI_F_DEFAULT) | MCPI_FIT_BIT(MCPI_F_EXAMPLES) | \
                              MCPI_FIT_BIT(MCPI_F_EXAMPLE))

static mcpi_fit_word *mcpi_fit_find(const mcpi_fit_node *n, int id)
{
    mcpi_fit_word *w;
    if (!(n->has >> id & 1)) return NULL;
    for (w = n->words; w->id != id; w = w->next) { }
    return w;
}

static mcpi_fit_word *mcpi_fit_put_word(mcpi_fitter *f, mcpi_fit_node *n, int id)
{
    mcpi_fit_word *w = mcpi_fit_find(n, id);
    if (w || !(w = (mcpi_fit_word *)mcpi_fit_new(f, sizeof *w))) return w;
    w->id = (uint8_t)id;
    n->has |= MCPI_FIT_BIT(id);
    if (n->words_last) n->words_last->next = w;
    else n->words = w;
    n->words_last = w;
    return w;
}

static void mcpi_fit_drop(mcpi_fit_node *n, uint64_t which)
{
    mcpi_fit_word *w, *left = NULL, **at = &n->words;
    if (!(n->has & which)) return;
    for (w = n->words; w; w = w->next)
        if (!(which >> w->id & 1)) { *at = left = w; at = &w->next; }
    *at = NULL;
    n->words_last = left;
    n->has &= ~which;
}

static mcpi_fit_slot *mcpi_fit_slot_for(mcpi_fitter *f, const mcp_json *json, const mcp_json *base)
{
    mcpi_fit_slot *s = (mcpi_fit_slot *)mcpi_fit_new(f, sizeof *s);
    if (!s) return NULL;
    s->all.json = json;
    s->all.base = base;
    s->last = &s->all;
    return s;
}

/* What b says holds at a, too. */
static void mcpi_fit_conjoin(mcpi_fitter *f, mcpi_fit_slot *a, const mcpi_fit_slot *b)
{
    const mcpi_fit_src *s;
    for (s = &b->all; s; s = s->next) {
        mcpi_fit_src *copy;
        if (s->json == a->all.json) continue;
        copy = (mcpi_fit_src *)mcpi_fit_new(f, sizeof *copy);
        if (!copy) return;
        copy->json = s->json;
        copy->base = s->base;
        a->last->next = copy;
        a->last = copy;
        mcpi_fit_work(f, 1);
    }
}

static mcpi_fit_slot *mcpi_fit_clone_slot(mcpi_fitter *f, const mcpi_fit_slot *from)
{
    mcpi_fit_slot *s = mcpi_fit_slot_for(f, from->all.json, from->all.base);
    if (!s) return NULL;
    s->key = from->key;
    s->key_len = from->key_len;
    s->type = from->type;
    s->other = from->other;
    mcpi_fit_conjoin(f, s, from);
    return s;
}

static void mcpi_fit_append(mcpi_fit_word *w, mcpi_fit_slot *s)
{
    s->next = NULL;
    if (w->last) w->last->next = s;
    else w->first = s;
    w->last = s;
    w->n++;
}

/* The slot of a name in a map. Few are searched in a row, many by hash. */
static mcpi_fit_slot *mcpi_fit_slot_of(const mcpi_fit_word *w, const char *key, size_t len)
{
    mcpi_fit_slot *s;
    mcpi_hashed *e;
    if (!w) return NULL;
    if (!w->index) {
        for (s = w->first; s; s = s->next)
            if (s->key_len == len && memcmp(s->key, key, len) == 0) return s;
        return NULL;
    }
    for (e = mcpi_lookup(w->index, mcpi_hash(key, len)); e; e = mcpi_lookup_next(e)) {
        s = (mcpi_fit_slot *)e->value;
        if (s->key_len == len && memcmp(s->key, key, len) == 0) return s;
    }
    return NULL;
}

static void mcpi_fit_append_named(mcpi_fitter *f, mcpi_fit_word *w, mcpi_fit_slot *s)
{
    mcpi_fit_append(w, s);
    if (w->n == 16) {
        w->index = (mcpi_index *)mcpi_fit_new(f, sizeof *w->index);
        for (s = w->first; s && w->index; s = s->next)
            mcpi_fit_index_add(f, w->index, mcpi_hash(s->key, s->key_len), s->key, NULL, s);
    } else if (w->index) mcpi_fit_index_add(f, w->index, mcpi_hash(s->key, s->key_len), s->key, NULL, s);
}

static mcpi_fit_slot *mcpi_fit_put_slot(mcpi_fitter *f, mcpi_fit_word *w, const mcp_json *json, const mcp_json *base,
                                        const char *key, size_t len)
{
    mcpi_fit_slot *s = mcpi_fit_slot_for(f, json, base);
    if (!s) return NULL;
    s->key = key;
    s->key_len = len;
    mcpi_fit_append_named(f, w, s);
    return s;
}

static void mcpi_fit_append_value(mcpi_fitter *f, mcpi_fit_word *w, const mcp_json *json, mcpi_fit_slot *slot)
{
    mcpi_fit_value *v = (mcpi_fit_value *)mcpi_fit_new(f, sizeof *v);
    if (!v) return;
    v->json = json;
    v->slot = slot;
    if (w->values_last) w->values_last->next = v;
    else w->values = v;
    w->values_last = v;
    w->n++;
    if (w->id == MCPI_F_ENUM && (w->index || w->n == 16)) {
        if (w->index) { mcpi_fit_index_add(f, w->index, mcpi_fit_value_hash(json), NULL, json, NULL); return; }
        w->index = (mcpi_index *)mcpi_fit_new(f, sizeof *w->index);
        for (v = w->values; v && w->index; v = v->next)
            mcpi_fit_index_add(f, w->index, mcpi_fit_value_hash(v->json), NULL, v->json, NULL);
    }
}

static bool mcpi_fit_has_value(const mcpi_fit_word *w, const mcp_json *json)
{
    const mcpi_fit_value *v;
    mcpi_hashed *e;
    if (!w->index) {
        for (v = w->values; v; v = v->next) if (mcpi_fit_same(v->json, json)) return true;
        return false;
    }
    for (e = mcpi_lookup(w->index, mcpi_fit_value_hash(json)); e; e = mcpi_lookup_next(e))
        if (mcpi_fit_same(e->json, json)) return true;
    return false;
}

/* Keeps the values that `keep` says. */
static void mcpi_fit_filter_values(mcpi_fitter *f, mcpi_fit_word *w, bool (*keep)(const void *, const mcp_json *),
                                   const void *with)
{
    mcpi_fit_value *v = w->values;
    w->values = w->values_last = NULL;
    w->index = NULL;
    w->n = 0;
    for (; v; v = v->next) if (keep(with, v->json)) mcpi_fit_append_value(f, w, v->json, v->slot);
}

static bool mcpi_fit_value_in(const void *word, const mcp_json *v)
{
    return mcpi_fit_has_value((const mcpi_fit_word *)word, v);
}

static bool mcpi_fit_value_of(const void *types, const mcp_json *v)
{
    return mcpi_fit_value_fits(*(const uint32_t *)types, v);
}

static bool mcpi_fit_value_not_null(const void *unused, const mcp_json *v)
{
    (void)unused;
    return mcp_json_type(v) != MCP_JSON_NULL;
}

static bool mcpi_fit_value_not_empty(const void *unused, const mcp_json *v)
{
    (void)unused;
    return mcp_json_type(v) != MCP_JSON_STRING || v->n;
}

/* -- two of one keyword ------------------------------------------------------------------------------------------ */

static void mcpi_fit_tell(mcpi_fitter *f, mcpi_fit_node *n, const mcpi_fit_word *w);

static void mcpi_fit_take_types(mcpi_fit_node *n, uint32_t types)
{
    uint32_t both = n->types ? mcpi_fit_common_types(n->types, types) : types;
    if (!both) n->clash = true;
    n->types = both;
}

/* Of two bounds the stricter one. */
static void mcpi_fit_take_bound(mcpi_fit_word *old, const mcp_json *json)
{
    bool least = old->id == MCPI_F_MINIMUM || old->id == MCPI_F_ABOVE || old->id == MCPI_F_MIN_LENGTH ||
                 old->id == MCPI_F_MIN_ITEMS || old->id == MCPI_F_MIN_PROPERTIES || old->id == MCPI_F_MIN_CONTAINS;
    double a = mcp_json_num(old->json, 0), b = mcp_json_num(json, 0);
    if (least ? b > a : b < a) old->json = json;
}

/* Adds what `w`, whose slots nobody else has, says to a node that has the keyword already. */
static void mcpi_fit_take(mcpi_fitter *f, mcpi_fit_node *n, mcpi_fit_word *old, mcpi_fit_word *w)
{
    mcpi_fit_slot *s, *next, *same;
    mcpi_fit_value *v;
    switch (w->id) {
    case MCPI_F_MINIMUM: case MCPI_F_MAXIMUM: case MCPI_F_ABOVE: case MCPI_F_BELOW: case MCPI_F_MIN_LENGTH:
    case MCPI_F_MAX_LENGTH: case MCPI_F_MIN_ITEMS: case MCPI_F_MAX_ITEMS: case MCPI_F_MIN_PROPERTIES:
    case MCPI_F_MAX_PROPERTIES: case MCPI_F_MIN_CONTAINS: case MCPI_F_MAX_CONTAINS:
        mcpi_fit_take_bound(old, w->json);
        break;
    case MCPI_F_UNIQUE:
        if (mcp_json_bool(w->json, false)) old->json = w->json;
        break;
    case MCPI_F_ENUM:
        mcpi_fit_filter_values(f, old, mcpi_fit_value_in, w);
        if (!old->n) { n->clash = true; mcpi_fit_drop(n, MCPI_FIT_BIT(MCPI_F_ENUM)); }
        break;
    case MCPI_F_REQUIRED:
        for (v = w->values; v; v = v->next) mcpi_fit_append_value(f, old, v->json, v->slot);
        break;
    case MCPI_F_PROPERTIES: case MCPI_F_PATTERNS: case MCPI_F_NEEDS_SCHEMA:
        for (s = w->first; s; s = next) {
            next = s->next;
            same = mcpi_fit_slot_of(old, s->key, s->key_len);
            if (same) mcpi_fit_conjoin(f, same, s);
            else mcpi_fit_append_named(f, old, s);
        }
        break;
    case MCPI_F_TUPLE:
        for (s = w->first, same = old->first; s; s = next) {
            next = s->next;
            if (same) { mcpi_fit_conjoin(f, same, s); same = same->next; }
            else mcpi_fit_append(old, s);
        }
        break;
    case MCPI_F_NOT:                        /* none of several: not any of them */
        for (same = old->first; same->other; same = same->other) { }
        same->other = w->first;
        break;
    case MCPI_F_MORE:                       /* false beside a schema: false; mcpi_fit_check_closed has the last word */
        if (!w->first) { old->first = old->last = NULL; old->n = 0; old->json = w->json; }
        else if (old->first) mcpi_fit_conjoin(f, old->first, w->first);
        break;
    case MCPI_F_ITEMS: case MCPI_F_NAMES:
        mcpi_fit_conjoin(f, old->first, w->first);
        break;
    case MCPI_F_TITLE: case MCPI_F_DESCRIPTION: case MCPI_F_DEFAULT: case MCPI_F_EXAMPLES: case MCPI_F_EXAMPLE:
    case MCPI_F_TYPE:
        break;                              /* the outer one wins; types are common ones already */
    default:
        if (w->json && old->json && mcpi_fit_same(w->json, old->json)) break;
        mcpi_fit_report(f, "only one of two %s is kept", mcpi_fit_name(w->id));
        mcpi_fit_tell(f, n, w);
        break;
    }
}

static void mcpi_fit_add(mcpi_fitter *f, mcpi_fit_node *n, const mcpi_fit_word *w)
{
    mcpi_fit_word *old = mcpi_fit_find(n, w->id), copy = *w;
    if (old) { mcpi_fit_take(f, n, old, &copy); return; }
    old = mcpi_fit_put_word(f, n, w->id);
    if (!old) return;
    copy.next = NULL;
    *old = copy;
}

static void mcpi_fit_put_target(mcpi_fitter *f, mcpi_fit_active **list, mcpi_fit_target *t)
{
    mcpi_fit_active *a = (mcpi_fit_active *)mcpi_fit_new(f, sizeof *a);
    if (!a) return;
    a->target = t;
    a->next = *list;
    *list = a;
}

static void mcpi_fit_put_union(mcpi_fitter *f, mcpi_fit_node *n, mcpi_fit_slot *first, bool one)
{
    mcpi_fit_union *u = (mcpi_fit_union *)mcpi_fit_new(f, sizeof *u);
    if (!u) return;
    u->first = first;
    u->one = one;
    if (n->unions_last) n->unions_last->next = u;
    else n->unions = u;
    n->unions_last = u;
}

static void mcpi_fit_refer(mcpi_fitter *f, mcpi_fit_node *n, const mcp_json *text, const mcp_json *base)
{
    mcpi_fit_ref *r = (mcpi_fit_ref *)mcpi_fit_new(f, sizeof *r), **at = &n->refs;
    if (!r) return;
    r->text = text;
    r->base = base;
    while (*at) at = &(*at)->next;
    *at = r;
}

/* What m says, n says too. m stays as it is. Annotations of m only where n has none, and only if asked. */
static void mcpi_fit_merge(mcpi_fitter *f, mcpi_fit_node *n, const mcpi_fit_node *m, bool annotations)
{
    const mcpi_fit_word *w;
    const mcpi_fit_slot *s;
    const mcpi_fit_union *u;
    const mcpi_fit_ref *r;
    const mcpi_fit_active *t;
    for (w = m->words; w && !mcpi_fit_stopped(f); w = w->next) {
        mcpi_fit_word fresh;
        if (!annotations && MCPI_FIT_ANNOTATIONS >> w->id & 1) continue;
        fresh = *w;
        fresh.index = NULL;
        if (w->id == MCPI_F_DESCRIPTION && !n->description) {
            n->description = m->description;
            n->description_len = m->description_len;
        }
        if (w->first) {
            mcpi_fit_slot *copy;
            fresh.first = fresh.last = NULL;
            fresh.n = 0;
            for (s = w->first; s && !mcpi_fit_stopped(f); s = s->next) {
                mcpi_fit_work(f, 1);
                copy = mcpi_fit_clone_slot(f, s);
                if (!copy) return;
                if (s->key) mcpi_fit_append_named(f, &fresh, copy);
                else mcpi_fit_append(&fresh, copy);
            }
        }
        if (w->values) {
            const mcpi_fit_value *v;
            fresh.values = fresh.values_last = NULL;
            fresh.n = 0;
            mcpi_fit_work(f, w->n);
            for (v = w->values; v && !mcpi_fit_stopped(f); v = v->next)
                mcpi_fit_append_value(f, &fresh, v->json, v->slot);
        }
        mcpi_fit_add(f, n, &fresh);
    }
    if (m->types) mcpi_fit_take_types(n, m->types);
    for (u = m->unions; u; u = u->next) mcpi_fit_put_union(f, n, u->first, u->one);
    for (r = m->refs; r; r = r->next) mcpi_fit_refer(f, n, r->text, r->base);
    for (t = m->targets; t; t = t->next) mcpi_fit_put_target(f, &n->targets, t->target);
    if (annotations && m->note_len) mcpi_fit_note(f, n, "%.*s", (int)m->note_len, m->note);
    if (m->kept && !n->kept) n->kept = m->kept;
    if (m->again) n->again = m->again;
    if (m->closed > n->closed) n->closed = m->closed;
    n->never |= m->never;
    n->clash |= m->clash;
    n->nullable |= m->nullable;
    n->needed |= m->needed;
    n->sealed |= m->sealed;
    n->constant |= m->constant;
}

/* -- reading a schema -------------------------------------------------------------------------------------------- */
/* Shape repair and old drafts are dealt with here, keyword by keyword; what comes out is 2020-12. */

/* A word with one schema in it, and so on for lists and maps. */
static void mcpi_fit_read_schema(mcpi_fitter *f, mcpi_fit_node *n, int id, const mcp_json *v, const mcp_json *base)
{
    mcpi_fit_word w;
    mcpi_fit_slot *s = mcpi_fit_slot_for(f, v, base);
    if (!s) return;
    memset(&w, 0, sizeof w);
    w.id = (uint8_t)id;
    mcpi_fit_append(&w, s);
    mcpi_fit_add(f, n, &w);
}

static void mcpi_fit_read_list(mcpi_fitter *f, mcpi_fit_node *n, int id, const mcp_json *v, const mcp_json *base)
{
    mcpi_fit_word w;
    memset(&w, 0, sizeof w);
    w.id = (uint8_t)id;
    mcpi_fit_work(f, v->n);
    if (mcpi_fit_stopped(f)) return;
    mcp_json_each(item, v) {
        mcpi_fit_slot *s = mcpi_fit_slot_for(f, item, base);
        if (!s) return;
        mcpi_fit_append(&w, s);
    }
    if (w.n) mcpi_fit_add(f, n, &w);
}

/* The last of equal keys counts, in the place of the first. Keywords whose schemas nobody keeps are not looked at. */
static void mcpi_fit_read_map(mcpi_fitter *f, mcpi_fit_node *n, int id, const mcp_json *v, const mcp_json *base)
{
    mcpi_fit_word w;
    memset(&w, 0, sizeof w);
    w.id = (uint8_t)id;
    if (mcp_json_type(v) != MCP_JSON_OBJECT) {
        mcpi_fit_report(f, "%s is no map and is dropped", mcpi_fit_name(id));
        if (id != MCPI_F_PROPERTIES) return;
    } else mcpi_fit_work(f, v->n);
    if (mcpi_fit_stopped(f)) return;
    mcp_json_each(item, v) {
        mcpi_fit_slot *s;
        if (mcp_json_type(v) != MCP_JSON_OBJECT) break;
        s = mcpi_fit_slot_of(&w, item[-1].u.text, item[-1].n);
        if (s) { s->all.json = item; continue; }
        mcpi_fit_put_slot(f, &w, item, base, item[-1].u.text, item[-1].n);
    }
    mcpi_fit_add(f, n, &w);
}

static void mcpi_fit_read_data(mcpi_fitter *f, mcpi_fit_node *n, int id, const mcp_json *v)
{
    mcpi_fit_word w;
    memset(&w, 0, sizeof w);
    w.id = (uint8_t)id;
    w.json = v;
    mcpi_fit_add(f, n, &w);
}

/* A value that has to be of a type, or it is dropped. `count`: an integer from 0. */
static void mcpi_fit_read_checked(mcpi_fitter *f, mcpi_fit_node *n, int id, const mcp_json *v, mcp_type type,
                                  bool count)
{
    if (mcp_json_type(v) != type || (count && (!mcpi_fit_integral(v) || v->u.text[0] == '-')))
        mcpi_fit_report(f, "%s has a value of the wrong type and is dropped", mcpi_fit_name(id));
    else mcpi_fit_read_data(f, n, id, v);
}

static void mcpi_fit_read_description(mcpi_fitter *f, mcpi_fit_node *n, const mcp_json *v)
{
    size_t len = 0;
    char *p;
    if (mcp_json_type(v) == MCP_JSON_STRING) {
        if (!v->n || n->description) return;                /* an empty one is left out */
        n->description = v->u.text;
        n->description_len = v->n;
    } else {
        mcpi_fit_report(f, "description is no string");
        if (n->description || mcp_json_type(v) != MCP_JSON_ARRAY) return;
        mcp_json_each(item, v) if (mcp_json_type(item) == MCP_JSON_STRING && item->n) len += item->n + 1;
        p = len > 1 ? (char *)mcpi_fit_new(f, len) : NULL;
        if (!p) return;
        n->description = p;
        mcp_json_each(item, v) {
            if (mcp_json_type(item) != MCP_JSON_STRING || !item->n) continue;
            if (p != n->description) *p++ = ' ';
            memcpy(p, item->u.text, item->n);
            p += item->n;
        }
        n->description_len = len - 1;
    }
    mcpi_fit_put_word(f, n, MCPI_F_DESCRIPTION);
}

enum { MCPI_FIT_VALUES = 1000 };            /* of one enum, when the budget is short */

static void mcpi_fit_read_values(mcpi_fitter *f, mcpi_fit_node *n, const mcp_json *v, bool constant)
{
    mcpi_fit_word w;
    memset(&w, 0, sizeof w);
    w.id = MCPI_F_ENUM;
    if (!constant && mcp_json_type(v) != MCP_JSON_ARRAY) {
        mcpi_fit_report(f, "enum is no list and is dropped");
        return;
    }
    if (constant) mcpi_fit_append_value(f, &w, v, NULL);
    else if (f->tight && v->n > MCPI_FIT_VALUES) {          /* too long for the budget: its types stay */
        uint32_t types = 0;
        mcpi_fit_work(f, v->n);
        mcp_json_each(item, v) types = mcpi_fit_add_type(types, mcpi_fit_type_of_value(item));
        if (mcpi_fit_has_type(types, MCPI_T_NUMBER)) types = mcpi_fit_without_type(types, MCPI_T_INTEGER);
        mcpi_fit_report(f, "enum of %z values is left out: the budget is spent", (size_t)v->n);
        mcpi_fit_note(f, n, "One of %z values.", (size_t)v->n);
        f->cut = true;
        if (!n->types) { mcpi_fit_take_types(n, types); mcpi_fit_put_word(f, n, MCPI_F_TYPE); }
    } else {
        mcpi_fit_work(f, v->n);
        if (mcpi_fit_stopped(f)) return;
        mcp_json_each(item, v) if (!mcpi_fit_has_value(&w, item)) mcpi_fit_append_value(f, &w, item, NULL);
        if (!w.n || w.n < v->n) mcpi_fit_report(f, w.n ? "enum lost duplicates" : "enum is empty and is dropped");
    }
    if (!w.n) return;
    if (!MCPI_FIT_HAS(n, ENUM)) n->constant = constant;
    mcpi_fit_add(f, n, &w);
}

static void mcpi_fit_read_required(mcpi_fitter *f, mcpi_fit_node *n, const mcp_json *v)
{
    mcpi_fit_word w;
    memset(&w, 0, sizeof w);
    w.id = MCPI_F_REQUIRED;
    if (mcp_json_type(v) == MCP_JSON_BOOL) { n->needed |= mcp_json_bool(v, false); return; }    /* draft 3 */
    if (mcp_json_type(v) == MCP_JSON_STRING) mcpi_fit_append_value(f, &w, v, NULL);
    else if (mcp_json_type(v) != MCP_JSON_ARRAY) { mcpi_fit_report(f, "required is no list and is dropped"); return; }
    else {
        mcpi_fit_work(f, v->n);
        if (mcpi_fit_stopped(f)) return;
        mcp_json_each(item, v) {
            if (mcp_json_type(item) == MCP_JSON_STRING) mcpi_fit_append_value(f, &w, item, NULL);
            else mcpi_fit_report(f, "required lists what is no name");
        }
    }
    if (w.n) mcpi_fit_add(f, n, &w);
}

static void mcpi_fit_read_union(mcpi_fitter *f, mcpi_fit_node *n, bool one, const mcp_json *v, const mcp_json *base)
{
    mcpi_fit_slot *first = NULL, **at = &first;
    if (!mcpi_is_container(v)) {
        mcpi_fit_report(f, "%s is no list and is dropped", one ? "oneOf" : "anyOf");
        return;
    }
    if (!v->n) return;
    f->odd = true;
    if (mcp_json_type(v) == MCP_JSON_OBJECT) *at = mcpi_fit_slot_for(f, v, base);
    else {
        mcpi_fit_work(f, v->n);
        if (mcpi_fit_stopped(f)) return;
        mcp_json_each(item, v) {
            *at = mcpi_fit_slot_for(f, item, base);
            if (!*at) return;
            at = &(*at)->next;
        }
    }
    mcpi_fit_put_union(f, n, first, one);
}

/* Where "allOf" and the like wait until the schema that lists them is read. */
typedef struct mcpi_fit_queue { mcpi_fit_src *first, **end; } mcpi_fit_queue;

static void mcpi_fit_enqueue(mcpi_fitter *f, mcpi_fit_queue *q, const mcp_json *v, const mcp_json *base)
{
    mcpi_fit_src *s = (mcpi_fit_src *)mcpi_fit_new(f, sizeof *s);
    if (!s) return;
    s->json = v;
    s->base = base;
    *q->end = s;
    q->end = &s->next;
}

static void mcpi_fit_read_ref(mcpi_fitter *f, mcpi_fit_node *n, const mcp_json *v, const mcp_json *base)
{
    if (mcp_json_type(v) != MCP_JSON_STRING) { mcpi_fit_report(f, "$ref is no string and is dropped"); return; }
    f->odd = true;
    mcpi_fit_refer(f, n, v, base);
}

static void mcpi_fit_read_not(mcpi_fitter *f, mcpi_fit_node *n, const mcp_json *v, const mcp_json *base)
{
    bool all = mcp_json_type(v) == MCP_JSON_OBJECT ? v->n == 0 : mcp_json_bool(v, false);
    if (all) n->never = true;
    else if (mcp_json_type(v) == MCP_JSON_OBJECT) mcpi_fit_read_schema(f, n, MCPI_F_NOT, v, base);
}

/* "dependencies" is two keywords of today in one. */
static void mcpi_fit_read_needs(mcpi_fitter *f, mcpi_fit_node *n, const mcp_json *v, const mcp_json *base)
{
    mcpi_fit_word names, schemas;
    memset(&names, 0, sizeof names);
    memset(&schemas, 0, sizeof schemas);
    names.id = MCPI_F_NEEDS;
    schemas.id = MCPI_F_NEEDS_SCHEMA;
    if (mcp_json_type(v) != MCP_JSON_OBJECT) { mcpi_fit_report(f, "dependencies is no map and is dropped"); return; }
    mcpi_fit_work(f, v->n);
    if (mcpi_fit_stopped(f)) return;
    mcp_json_each(item, v) {
        mcpi_fit_word *w = mcp_json_type(item) == MCP_JSON_ARRAY ? &names : &schemas;
        if (!mcpi_fit_slot_of(w, item[-1].u.text, item[-1].n))
            mcpi_fit_put_slot(f, w, item, base, item[-1].u.text, item[-1].n);
    }
    if (names.n) mcpi_fit_add(f, n, &names);
    if (schemas.n) mcpi_fit_add(f, n, &schemas);
}

/* One keyword. `last` has the values of some that others depend on. */
static void mcpi_fit_read_word(mcpi_fitter *f, mcpi_fit_node *n, int id, const mcp_json *v, const mcp_json *base,
                               const mcp_json *const *last, mcpi_fit_queue *queue)
{
    uint32_t types;
    bool object = mcp_json_type(v) == MCP_JSON_OBJECT, boolean = mcp_json_type(v) == MCP_JSON_BOOL;
    switch (id) {
    case MCPI_F_TYPE:
        types = mcpi_fit_read_types(f, v);
        if (!types) break;
        mcpi_fit_take_types(n, types);
        mcpi_fit_put_word(f, n, id);
        break;
    case MCPI_F_DESCRIPTION: mcpi_fit_read_description(f, n, v); break;
    case MCPI_F_TITLE: case MCPI_F_PATTERN: case MCPI_F_FORMAT: case MCPI_F_ENCODING: case MCPI_F_MEDIA:
        mcpi_fit_read_checked(f, n, id, v, MCP_JSON_STRING, false);
        break;
    case MCPI_F_DEFAULT: case MCPI_F_EXAMPLE: mcpi_fit_read_data(f, n, id, v); break;
    case MCPI_F_EXAMPLES: mcpi_fit_read_checked(f, n, id, v, MCP_JSON_ARRAY, false); break;
    case MCPI_F_ENUM: case MCPI_F_CONST: mcpi_fit_read_values(f, n, v, id == MCPI_F_CONST); break;
    case MCPI_F_PROPERTIES: case MCPI_F_PATTERNS: case MCPI_F_NEEDS_SCHEMA: mcpi_fit_read_map(f, n, id, v, base); break;
    case MCPI_F_REQUIRED: mcpi_fit_read_required(f, n, v); break;
    case MCPI_F_MORE:
        if (boolean && !mcp_json_bool(v, true)) {
            uint32_t beside = 1 + (uint32_t)mcp_json_size(last[MCPI_F_PROPERTIES]);
            if (beside > n->closed) n->closed = beside;
            mcpi_fit_read_data(f, n, id, v);
        } else if (object || boolean) mcpi_fit_read_schema(f, n, id, v, base);
        else mcpi_fit_report(f, "additionalProperties is no schema and is dropped");
        break;
    case MCPI_F_NEEDS: case MCPI_F_OLD_NEEDS: mcpi_fit_read_needs(f, n, v, base); break;
    case MCPI_F_NAMES: case MCPI_F_CONTAINS: case MCPI_F_IF: case MCPI_F_THEN: case MCPI_F_ELSE:
        if (object) mcpi_fit_read_schema(f, n, id, v, base);
        break;
    case MCPI_F_ITEMS:
        if (mcp_json_type(v) == MCP_JSON_ARRAY) mcpi_fit_read_list(f, n, MCPI_F_TUPLE, v, base);
        else if (object || boolean) mcpi_fit_read_schema(f, n, id, v, base);
        else mcpi_fit_report(f, "items is no schema and is dropped");
        break;
    case MCPI_F_MORE_ITEMS:
        if (mcp_json_type(last[MCPI_F_ITEMS]) == MCP_JSON_ARRAY && (object || boolean))
            mcpi_fit_read_schema(f, n, MCPI_F_ITEMS, v, base);
        break;
    case MCPI_F_TUPLE:
        if (mcp_json_type(v) == MCP_JSON_ARRAY) mcpi_fit_read_list(f, n, id, v, base);
        else mcpi_fit_report(f, "prefixItems is no list and is dropped");
        break;
    case MCPI_F_MIN_CONTAINS: case MCPI_F_MAX_CONTAINS: case MCPI_F_MIN_ITEMS: case MCPI_F_MAX_ITEMS:
    case MCPI_F_MIN_LENGTH: case MCPI_F_MAX_LENGTH: case MCPI_F_MIN_PROPERTIES: case MCPI_F_MAX_PROPERTIES:
        mcpi_fit_read_checked(f, n, id, v, MCP_JSON_NUMBER, true);
        break;
    case MCPI_F_UNIQUE: if (mcp_json_bool(v, false)) mcpi_fit_read_data(f, n, id, v); break;
    case MCPI_F_MINIMUM: case MCPI_F_MAXIMUM:               /* draft 4: a boolean beside it says which bound it is */
        if (mcp_json_bool(last[id == MCPI_F_MINIMUM ? MCPI_F_ABOVE : MCPI_F_BELOW], false))
            id = id == MCPI_F_MINIMUM ? MCPI_F_ABOVE : MCPI_F_BELOW;
        mcpi_fit_read_checked(f, n, id, v, MCP_JSON_NUMBER, false);
        break;
    case MCPI_F_ABOVE: case MCPI_F_BELOW:
        if (!boolean) mcpi_fit_read_checked(f, n, id, v, MCP_JSON_NUMBER, false);
        break;
    case MCPI_F_MULTIPLE:
        mcpi_fit_read_checked(f, n, id, v, mcp_json_num(v, 0) > 0 ? MCP_JSON_NUMBER : MCP_JSON_NONE, false);
        break;
    case MCPI_F_ANY_OF: case MCPI_F_ONE_OF: mcpi_fit_read_union(f, n, id == MCPI_F_ONE_OF, v, base); break;
    case MCPI_F_NOT: mcpi_fit_read_not(f, n, v, base); break;
    case MCPI_F_NULLABLE: n->nullable |= mcp_json_bool(v, false); break;
    case MCPI_F_ALL_OF:
        if (!mcpi_is_container(v)) { mcpi_fit_report(f, "allOf is no list and is dropped"); break; }
        mcpi_fit_work(f, v->n);
        if (object) mcpi_fit_enqueue(f, queue, v, base);
        else if (!mcpi_fit_stopped(f)) mcp_json_each(item, v) mcpi_fit_enqueue(f, queue, item, base);
        break;
    case MCPI_F_REF: case MCPI_F_DYNAMIC_REF: case MCPI_F_RECURSIVE_REF: mcpi_fit_read_ref(f, n, v, base); break;
    case MCPI_F_OTHER_PROPERTIES: if (boolean && !mcp_json_bool(v, true)) n->sealed = true; break;
    default: break;                         /* nothing that a value has to follow */
    }
}

/* Reads one schema into the node. What it refers to waits in n->refs, what it lists in "allOf" in the queue. */
static void mcpi_fit_read(mcpi_fitter *f, mcpi_fit_node *n, const mcp_json *s, const mcp_json *base,
                          mcpi_fit_queue *queue)
{
    const mcp_json *last[MCPI_F_COUNT + 1], *k;     /* but the five below, what is not there is not set */
    unsigned char ids[24];
    uint32_t left, i;
    mcpi_fit_work(f, 1);
    if (mcp_json_type(s) == MCP_JSON_BOOL) { n->never |= !mcp_json_bool(s, true); return; }
    if (mcp_json_type(s) == MCP_JSON_STRING && mcpi_fit_type_word(s->u.text, s->n)) {
        mcpi_fit_report(f, "a type stands where a schema belongs");
        mcpi_fit_take_types(n, mcpi_fit_type_word(s->u.text, s->n));
        mcpi_fit_put_word(f, n, MCPI_F_TYPE);
        return;
    }
    if (mcp_json_type(s) != MCP_JSON_OBJECT) { mcpi_fit_report(f, "this is no schema: any value"); return; }
    mcpi_fit_work(f, s->n);
    if (mcpi_fit_stopped(f)) return;
    last[MCPI_F_PROPERTIES] = last[MCPI_F_ITEMS] = last[MCPI_F_ABOVE] = last[MCPI_F_BELOW] = last[MCPI_F_ID] = NULL;
    i = 0;
    mcpi_each_key(k, left, s) {
        int id = mcpi_fit_word_of(f, k->u.text, k->n);
        if (i < sizeof ids) ids[i] = (unsigned char)id;
        i++;
        last[id] = k + 1;
    }
    if (mcp_json_type(last[MCPI_F_ID]) == MCP_JSON_STRING && last[MCPI_F_ID]->u.text[0] != '#') base = s;
    i = 0;
    mcpi_each_key(k, left, s) {
        int id = i < sizeof ids ? ids[i] : mcpi_fit_word_of(f, k->u.text, k->n);
        i++;
        if (mcpi_fit_stopped(f)) return;
        if (id == MCPI_F_COUNT) {
            if (last[id] == k + 1)
                mcpi_fit_report(f, "%.*s is no keyword and is dropped", k->n < 60 ? (int)k->n : 60, k->u.text);
        } else if (last[id] == k + 1) mcpi_fit_read_word(f, n, id, k + 1, base, last, queue);
    }
}

/* Reads a schema and all that holds with it into the node, but what it refers to. */
static void mcpi_fit_absorb(mcpi_fitter *f, mcpi_fit_node *n, const mcpi_fit_src *first)
{
    mcpi_fit_queue queue;
    const mcpi_fit_src *s;
    mcpi_fit_src *waiting;
    for (s = first; s && !mcpi_fit_stopped(f); s = s->next) {
        queue.first = NULL;
        queue.end = &queue.first;
        mcpi_fit_read(f, n, s->json, s->base, &queue);
        for (waiting = queue.first; waiting && !mcpi_fit_stopped(f); waiting = waiting->next)
            mcpi_fit_read(f, n, waiting->json, waiting->base, &queue);
    }
}

/* -- references -------------------------------------------------------------------------------------------------- */

/* What a fragment that is a JSON Pointer leads to. */
static const mcp_json *mcpi_fit_walk(mcpi_fitter *f, const mcp_json *v, const char *s, size_t n)
{
    mcpi_work w = { NULL, 0, MCP_OK };
    char *p = (char *)mcpi_fit_new(f, n + 1), *end;
    if (!p) return NULL;
    memcpy(p, s, n);
    w.arena = f->arena;
    w.left = f->work < f->work_max ? f->work_max - f->work : 0;
    for (end = p + mcpi_fragment_decode(p, n); v && p < end; ) v = mcpi_pointer_step(&w, &f->members, v, &p, end);
    f->work = f->work_max - (size_t)w.left;
    if (w.status == MCP_ERR_MEMORY) f->no_memory = true;
    if (w.status == MCP_ERR_LIMIT) f->over = true;
    return v;
}

/* Finds all "$anchor" and "$id" of the document, once, with the objects that hold them. */
static void mcpi_fit_find_anchors(mcpi_fitter *f)
{
    const mcp_json *k = f->root, *end = k + mcpi_fit_span(k), **open;
    size_t depth = 0;
    f->anchored = true;
    open = (const mcp_json **)mcp_arena_alloc(f->arena, (MCP_MAX_DEPTH + 1) * sizeof *open);
    if (!open) { f->no_memory = true; return; }
    for (; k < end; k++) {
        int id;
        while (depth && k >= open[depth - 1] + open[depth - 1]->u.span) depth--;
        if (mcpi_is_container(k) && depth <= MCP_MAX_DEPTH) open[depth++] = k;
        if (!(k->tag & MCPI_KEY) || mcp_json_type(k + 1) != MCP_JSON_STRING) continue;
        id = mcpi_fit_word_of(f, k->u.text, k->n);
        if (id != MCPI_F_ANCHOR && id != MCPI_F_DYNAMIC_ANCHOR && id != MCPI_F_ID && id != MCPI_F_OLD_ID) continue;
        mcpi_fit_index_add(f, &f->anchors, mcpi_hash(k[1].u.text, k[1].n), open[depth - 1], k + 1, NULL);
    }
}

/* The object with that "$id", or with that anchor ("name", or "#name" as an id); the first one in the text. */
static const mcp_json *mcpi_fit_anchor(mcpi_fitter *f, const char *s, size_t n, bool anchor)
{
    const mcp_json *found = NULL;
    mcpi_hashed *e;
    if (!f->anchored) mcpi_fit_find_anchors(f);
    for (e = mcpi_lookup(&f->anchors, mcpi_hash(s, n)); e; e = mcpi_lookup_next(e)) {
        const mcp_json *v = e->json;
        int id = mcpi_fit_word_of(f, v[-1].u.text, v[-1].n);
        bool is_anchor = id == MCPI_F_ANCHOR || id == MCPI_F_DYNAMIC_ANCHOR;
        if (v->n == n && memcmp(v->u.text, s, n) == 0 && is_anchor == anchor) found = (const mcp_json *)e->key;
    }
    return found;
}

/* The schema that a reference means, and the resource it lies in; NULL: it is outside of the document, or nowhere. */
static const mcp_json *mcpi_fit_resolve(mcpi_fitter *f, const char *s, size_t n, const mcp_json **base)
{
    const char *hash = (const char *)memchr(s, '#', n);
    const mcp_json *found;
    size_t before = hash ? (size_t)(hash - s) : n;
    if (before) {
        *base = mcpi_fit_anchor(f, s, before, false);
        if (!*base || !hash || before + 1 == n) return *base;
    }
    if (!hash || before + 1 == n) return *base;             /* "" and "#" */
    if (hash[1] != '/') {
        found = mcpi_fit_anchor(f, hash + 1, n - before - 1, true);
        return found ? found : mcpi_fit_anchor(f, hash, n - before, false);
    }
    found = mcpi_fit_walk(f, *base, hash + 1, n - before - 1);
    if (!found && *base != f->root) found = mcpi_fit_walk(f, *base = f->root, hash + 1, n - before - 1);
    return found;
}

/* "#/$defs/A" where the schema there is nothing but a reference, too: where that leads in the end. */
static const mcp_json *mcpi_fit_alias(mcpi_fitter *f, const mcp_json *v, const mcp_json **base)
{
    int hops = 0;
    while (v && mcp_json_type(v) == MCP_JSON_OBJECT && v->n == 1 && mcp_json_type(v + 2) == MCP_JSON_STRING &&
           v[1].n == 4 && memcmp(v[1].u.text, "$ref", 4) == 0) {
        if (++hops > 32) return NULL;
        v = mcpi_fit_resolve(f, v[2].u.text, v[2].n, base);
    }
    return v;
}

static mcpi_fit_target *mcpi_fit_target_at(mcpi_fitter *f, const mcp_json *v, const mcp_json *base)
{
    uint32_t hash = mcpi_hash((const char *)&v, sizeof v);
    mcpi_hashed *e = mcpi_lookup(&f->targets, hash);
    mcpi_fit_target *t;
    while (e && e->key != v) e = mcpi_lookup_next(e);
    if (e) return (mcpi_fit_target *)e->value;
    t = (mcpi_fit_target *)mcpi_fit_new(f, sizeof *t);
    if (!t) return NULL;
    t->json = v;
    t->base = base;
    t->name = v == f->root ? "the whole" : v->tag & MCPI_MEMBER ? v[-1].u.text : "an item";
    t->group = t;
    return mcpi_fit_index_add(f, &f->targets, hash, v, NULL, t) ? t : NULL;
}

/* What a reference points at; NULL: nothing, as the report then says. The same text is resolved once. */
static mcpi_fit_target *mcpi_fit_target_of(mcpi_fitter *f, const mcp_json *text, const mcp_json *base)
{
    uint32_t hash = mcpi_hash(text->u.text, text->n) ^ mcpi_hash((const char *)&base, sizeof base);
    mcpi_hashed *e;
    mcpi_fit_target *t = NULL;
    const mcp_json *v, *in = base;
    for (e = mcpi_lookup(&f->followed, hash); e; e = mcpi_lookup_next(e)) {
        const mcpi_fit_ref *r = (const mcpi_fit_ref *)e->key;
        if (r->base == base && r->text->n == text->n && memcmp(r->text->u.text, text->u.text, text->n) == 0)
            return (mcpi_fit_target *)e->value;
    }
    v = mcpi_fit_alias(f, mcpi_fit_resolve(f, text->u.text, text->n, &in), &in);
    if (v && (mcp_json_type(v) == MCP_JSON_OBJECT || mcp_json_type(v) == MCP_JSON_BOOL))
        t = mcpi_fit_target_at(f, v, in);
    if (!mcpi_fit_stopped(f)) {
        mcpi_fit_ref *r = (mcpi_fit_ref *)mcpi_fit_new(f, sizeof *r);
        if (!r) return NULL;
        r->text = text;
        r->base = base;
        mcpi_fit_index_add(f, &f->followed, hash, r, NULL, t);
    }
    return t;
}

/* The type of what is not expanded again. */
static uint32_t mcpi_fit_peek_type(mcpi_fitter *f, const mcp_json *v)
{
    const mcp_json *k;
    uint32_t left, guess = 0;
    if (mcp_json_type(v) != MCP_JSON_OBJECT) return 0;
    mcpi_fit_work(f, v->n);
    mcpi_each_key(k, left, v) {
        int id = mcpi_fit_word_of(f, k->u.text, k->n);
        if (id == MCPI_F_TYPE && mcp_json_type(k + 1) == MCP_JSON_STRING)
            return mcpi_fit_type_word(k[1].u.text, k[1].n);
        if (id == MCPI_F_PROPERTIES || id == MCPI_F_MORE) guess = MCPI_T_OBJECT;
        if (id == MCPI_F_ITEMS && !guess) guess = MCPI_T_ARRAY;
    }
    return guess;
}

static void mcpi_fit_absorb_one(mcpi_fitter *f, mcpi_fit_node *n, const mcp_json *json, const mcp_json *base)
{
    mcpi_fit_src src;
    src.json = json;
    src.base = base;
    src.next = NULL;
    mcpi_fit_absorb(f, n, &src);
}

/* Is a schema at this address being read on the way from the root to here? */
static bool mcpi_fit_is_open(const mcpi_fitter *f, const mcpi_fit_target *t)
{
    const mcpi_fit_place *p;
    if (t->group->active) return true;
    for (p = f->place; p; p = p->up) if (p->json == t->json) return true;
    return false;
}

/* A reference to what is being expanded already: the shape of it, without what is inside. */
static void mcpi_fit_cut(mcpi_fitter *f, mcpi_fit_node *n, mcpi_fit_target *t)
{
    uint32_t type = mcpi_fit_peek_type(f, t->json);
    f->cyclic = f->cut = true;
    n->again = t;
    if (type) {
        mcpi_fit_take_types(n, type);
        mcpi_fit_put_word(f, n, MCPI_F_TYPE);
    }
    mcpi_fit_report(f, "recursive: the same shape as %.*s; it is not expanded again", 60, t->name);
    mcpi_fit_note(f, n, "Recursive: same shape as %.*s.", 60, t->name);
}

/* Is the node nothing but one reference, which this try keeps? */
static bool mcpi_fit_keeps(mcpi_fitter *f, mcpi_fit_node *n)
{
    mcpi_fit_target *t;
    if (!f->keep || n->no_keep || n->unions || n->never || n->nullable || n->has & ~MCPI_FIT_ANNOTATIONS) return false;
    if (n->kept && !n->refs) return true;
    if (n->kept || !n->refs || n->refs->next || !(t = mcpi_fit_target_of(f, n->refs->text, n->refs->base)))
        return false;
    /* Gemini takes a cycle only where a property can be left out. */
    if (f->walked && t->group == f->walked->group && !f->optional && mcpi_fit_cell(f, MCPI_F_REFS) == 'o')
        f->lost = true;                     /* ends this try */
    n->refs = NULL;
    n->kept = t;
    f->refs++;
    return true;
}

/* Follows all references of the node, but one that is kept. */
static void mcpi_fit_settle(mcpi_fitter *f, mcpi_fit_node *n)
{
    mcpi_fit_ref *r;
    mcpi_fit_target *t;
    if (mcpi_fit_keeps(f, n)) return;
    if (!n->serial) n->serial = ++f->serial;
    while ((n->refs || n->kept) && !mcpi_fit_stopped(f)) {
        if (n->kept) { t = n->kept; n->kept = NULL; }
        else {
            r = n->refs;
            n->refs = r->next;
            f->refs++;
            t = mcpi_fit_target_of(f, r->text, r->base);
            if (!t) {
                f->cut = true;
                if (!mcpi_fit_stopped(f))
                    mcpi_fit_report(f, "reference %.*s leads to no schema of this document: any value",
                                    r->text->n < 100 ? (int)r->text->n : 100, r->text->u.text);
                continue;
            }
        }
        if (t->stamp == n->serial) continue;                /* a reference to itself says nothing */
        if (mcpi_fit_is_open(f, t)) { mcpi_fit_cut(f, n, t); continue; }
        t->stamp = n->serial;
        mcpi_fit_put_target(f, &n->targets, t);
        mcpi_fit_absorb_one(f, n, t->json, t->base);
    }
}

/* While the places below a node are walked, what it absorbed is open. */
static void mcpi_fit_open(mcpi_fit_node *n, bool open)
{
    const mcpi_fit_active *a;
    for (a = n->targets; a; a = a->next) {
        if (open) a->target->group->active++;
        else a->target->group->active--;
    }
}

/* A node of all that a slot holds, not finished. */
static mcpi_fit_node *mcpi_fit_raw(mcpi_fitter *f, const mcpi_fit_slot *s)
{
    mcpi_fit_node *n = (mcpi_fit_node *)mcpi_fit_new(f, sizeof *n);
    if (!n) return NULL;
    if (++f->nodes > f->d.max_nodes) f->over = true;
    if (s->other) {                         /* any of these: a union that was not written as one */
        mcpi_fit_slot *first = NULL, **at = &first;
        for (; s; s = s->other, at = &(*at)->next) {
            *at = mcpi_fit_clone_slot(f, s);
            if (!*at) return NULL;
            (*at)->other = NULL;
        }
        mcpi_fit_put_union(f, n, first, false);
        return n;
    }
    mcpi_fit_absorb(f, n, &s->all);
    mcpi_fit_settle(f, n);
    return n;
}

/* Which definitions refer to each other in a circle: the strongly connected components of the references of the
   document, by Tarjan's algorithm. A definition leads to all that is referred to inside of it, but not inside of a
   definition in it, and to that definition. The tape of the document has them all in order. */
typedef struct mcpi_fit_vertex {
    mcpi_fit_target *target;
    struct mcpi_fit_edge *edges;
    size_t low, order, up;                  /* up: the one that the search came from */
    bool stacked;
} mcpi_fit_vertex;
typedef struct mcpi_fit_edge { size_t to; struct mcpi_fit_edge *next; } mcpi_fit_edge;

static int mcpi_fit_by_place(const void *a, const void *b)
{
    const mcp_json *x = ((const mcpi_fit_vertex *)a)->target->json, *y = ((const mcpi_fit_vertex *)b)->target->json;
    return x < y ? -1 : x > y;
}

static size_t mcpi_fit_vertex_of(const mcpi_fit_vertex *v, size_t n, const mcp_json *json)
{
    size_t low = 0, high = n;
    while (low + 1 < high) {
        size_t mid = low + (high - low) / 2;
        if (v[mid].target->json <= json) low = mid;
        else high = mid;
    }
    return low;
}

static void mcpi_fit_edge_to(mcpi_fitter *f, mcpi_fit_vertex *from, size_t to)
{
    mcpi_fit_edge *e = (mcpi_fit_edge *)mcpi_fit_new(f, sizeof *e);
    if (!e) return;
    e->to = to;
    e->next = from->edges;
    from->edges = e;
}

static bool mcpi_fit_is_ref(const mcpi_fitter *f, const mcp_json *k)
{
    int id;
    if (!(k->tag & MCPI_KEY) || k->u.text[0] != '$' || mcp_json_type(k + 1) != MCP_JSON_STRING) return false;
    id = mcpi_fit_word_of(f, k->u.text, k->n);
    return id == MCPI_F_REF || id == MCPI_F_DYNAMIC_REF || id == MCPI_F_RECURSIVE_REF;
}

static void mcpi_fit_connect(mcpi_fitter *f, mcpi_fit_vertex *v, size_t n)
{
    const mcp_json *k = f->root, *end = k + mcpi_fit_span(k);
    size_t *open = (size_t *)mcp_arena_alloc(f->arena, (MCP_MAX_DEPTH + 1) * sizeof *open), depth = 0, next = 0;
    if (!open) { f->no_memory = true; return; }
    for (; k < end && !mcpi_fit_stopped(f); k++) {
        while (depth && k >= v[open[depth - 1]].target->json + mcpi_fit_span(v[open[depth - 1]].target->json)) depth--;
        if (next < n && v[next].target->json == k) {
            if (depth) mcpi_fit_edge_to(f, v + open[depth - 1], next);
            if (mcpi_is_container(k) && depth <= MCP_MAX_DEPTH) open[depth++] = next;
            next++;
        }
        if (depth && mcpi_fit_is_ref(f, k)) {
            mcpi_fit_target *t = mcpi_fit_target_of(f, k + 1, f->root);
            size_t to = t ? mcpi_fit_vertex_of(v, n, t->json) : n;
            if (to < n && v[to].target == t) mcpi_fit_edge_to(f, v + open[depth - 1], to);
        }
    }
}

static void mcpi_fit_group(mcpi_fitter *f)
{
    const mcp_json *k = f->root, *end = k + mcpi_fit_span(k);
    mcpi_fit_vertex *v;
    size_t *stack, n = 0, i, top = 0, order = 0, at;
    mcpi_hashed *e;
    for (; k < end && !mcpi_fit_stopped(f); k++)
        if (mcpi_fit_is_ref(f, k)) (void)mcpi_fit_target_of(f, k + 1, f->root);
    v = (mcpi_fit_vertex *)mcpi_fit_new(f, (f->targets.n + 1) * sizeof *v);
    stack = (size_t *)mcpi_fit_new(f, (f->targets.n + 1) * sizeof *stack);
    if (!v || !stack || mcpi_fit_stopped(f)) return;
    for (i = 0; i < f->targets.size; i++)
        for (e = f->targets.heads[i]; e; e = e->next) v[n++].target = (mcpi_fit_target *)e->value;
    qsort(v, n, sizeof *v, mcpi_fit_by_place);
    mcpi_fit_connect(f, v, n);
    for (i = 0; i < n && !mcpi_fit_stopped(f); i++) {
        if (v[i].order) continue;
        v[i].up = n;
        v[i].low = v[i].order = ++order;
        v[i].stacked = true;
        stack[top++] = at = i;
        while (at < n) {
            mcpi_fit_edge *edge = v[at].edges;
            size_t to = edge ? edge->to : n, up;
            if (edge) {
                v[at].edges = edge->next;
                if (!v[to].order) {
                    v[to].up = at;
                    v[to].low = v[to].order = ++order;
                    v[to].stacked = true;
                    stack[top++] = to;
                    at = to;
                } else if (v[to].stacked && v[to].order < v[at].low) v[at].low = v[to].order;
                continue;
            }
            if (v[at].low == v[at].order)
                do {
                    v[stack[--top]].stacked = false;
                    v[stack[top]].target->group = v[at].target;
                } while (stack[top] != at);
            up = v[at].up;
            if (up < n && v[at].low < v[up].low) v[up].low = v[at].low;
            at = up;
        }
    }
}

/* -- unions ------------------------------------------------------------------------------------------------------ */

static mcpi_fit_node *mcpi_fit_new_node(mcpi_fitter *f)
{
    return (mcpi_fit_node *)mcpi_fit_new(f, sizeof(mcpi_fit_node));
}

static bool mcpi_fit_only(const mcpi_fit_node *n, uint64_t words)
{
    return !(n->has & ~words) && !n->unions && !n->kept;
}

/* Is there something that says which type fits? */
static bool mcpi_fit_typed(const mcpi_fit_node *n)
{
    return n->types || n->branches || n->kept;
}

static bool mcpi_fit_is_null(const mcpi_fit_node *n)
{
    const mcpi_fit_word *w = mcpi_fit_find(n, MCPI_F_ENUM);
    if (!mcpi_fit_only(n, MCPI_FIT_ANNOTATIONS | MCPI_FIT_BIT(MCPI_F_TYPE) | MCPI_FIT_BIT(MCPI_F_ENUM))) return false;
    if (w) return w->n == 1 && mcp_json_type(w->values->json) == MCP_JSON_NULL;
    return n->types == MCPI_T_NULL;
}

/* The type that all values have which a node allows by listing them; 0: it is no list of scalars of one type. */
static unsigned mcpi_fit_constant_type(const mcpi_fit_node *n)
{
    const mcpi_fit_word *w = mcpi_fit_find(n, MCPI_F_ENUM);
    const mcpi_fit_value *v;
    unsigned type = 0, t;
    if (!w || n->nullable || n->null ||
        !mcpi_fit_only(n, MCPI_FIT_BIT(MCPI_F_TITLE) | MCPI_FIT_BIT(MCPI_F_TYPE) | MCPI_FIT_BIT(MCPI_F_ENUM))) return 0;
    for (v = w->values; v; v = v->next) {
        t = mcpi_fit_type_of_value(v->json);
        if (t == MCPI_T_INTEGER && type == MCPI_T_NUMBER) t = type;
        if (t == MCPI_T_NUMBER && type == MCPI_T_INTEGER) type = t;
        if (t < MCPI_T_BOOLEAN || t > MCPI_T_STRING || (type && t != type) || !mcpi_fit_value_fits(n->types, v->json))
            return 0;
        type = t;
    }
    return type;
}

static bool mcpi_fit_only_needs(const mcpi_fit_node *n)
{
    return MCPI_FIT_HAS(n, REQUIRED) && (!n->types || n->types == MCPI_T_OBJECT) &&
           mcpi_fit_only(n, MCPI_FIT_ANNOTATIONS | MCPI_FIT_BIT(MCPI_F_TYPE) | MCPI_FIT_BIT(MCPI_F_REQUIRED));
}

static uint32_t mcpi_fit_types_of_values(const mcpi_fit_word *w)
{
    const mcpi_fit_value *v;
    uint32_t types = 0;
    for (v = w ? w->values : NULL; v; v = v->next) types = mcpi_fit_add_type(types, mcpi_fit_type_of_value(v->json));
    if (mcpi_fit_has_type(types, MCPI_T_NUMBER)) types = mcpi_fit_without_type(types, MCPI_T_INTEGER);
    return types;
}

/* What types the node names, or its values have. */
static uint32_t mcpi_fit_own_types(const mcpi_fit_node *n)
{
    return n->types ? n->types : mcpi_fit_types_of_values(mcpi_fit_find(n, MCPI_F_ENUM));
}

/* The type that the keywords speak of. */
static unsigned mcpi_fit_guess_type(const mcpi_fit_node *n)
{
    static const char order[] = "oasnf";
    static const unsigned char types[] = { MCPI_T_OBJECT, MCPI_T_ARRAY, MCPI_T_STRING, MCPI_T_NUMBER, MCPI_T_STRING };
    const mcpi_fit_word *w;
    int i;
    for (i = 0; i < 5; i++)
        for (w = n->words; w; w = w->next)
            if (mcpi_fit_rules[w->id].of == order[i]) return types[i];
    return 0;
}

/* Types that no value of the list has go. If none is left, the type was a mistake: the list says more. */
static void mcpi_fit_reconcile(mcpi_fitter *f, mcpi_fit_node *n)
{
    uint32_t types = mcpi_fit_types_of_values(mcpi_fit_find(n, MCPI_F_ENUM)), all, left = 0;
    if (!n->types || !types) return;
    for (all = n->types; all; all >>= 4)
        if (mcpi_fit_common_types(all & 15, types)) left = mcpi_fit_add_type(left, all & 15);
    if (!left) mcpi_fit_report(f, "type fits no value of enum: it is that of the values");
    n->types = left ? left : types;
}

/* Drops the keywords that speak of other types than these: they never had an effect. */
static void mcpi_fit_drop_strangers(mcpi_fitter *f, mcpi_fit_node *n, uint32_t types)
{
    unsigned mask = mcpi_fit_mask(types);
    const mcpi_fit_word *w;
    uint64_t gone = 0;
    if (!mask) return;
    for (w = n->words; w; w = w->next) {
        char of = mcpi_fit_rules[w->id].of;
        bool fits = of == '*' || (of == 'o' && mask >> MCPI_T_OBJECT & 1) || (of == 'a' && mask >> MCPI_T_ARRAY & 1) ||
                    ((of == 's' || of == 'f') && mask >> MCPI_T_STRING & 1) ||
                    ((of == 'n' || of == 'f') && mask & (1u << MCPI_T_NUMBER | 1u << MCPI_T_INTEGER));
        if (fits) continue;
        gone |= MCPI_FIT_BIT(w->id);
        mcpi_fit_report(f, "%s says nothing about this type and is dropped", mcpi_fit_name(w->id));
    }
    mcpi_fit_drop(n, gone);
}

/* "a,b | c": the names that each branch asks for, but those in `common`. */
static void mcpi_fit_tell_needs(mcpi_fitter *f, mcpi_fit_node *n, const mcpi_fit_slot *branch, bool one)
{
    char text[MCPI_FIT_NOTES];
    mcpi_said t;
    t.buf = text; t.cap = sizeof text; t.len = 0; t.full = false;
    for (; branch; branch = branch->next) {
        const mcpi_fit_word *w = mcpi_fit_find(branch->node, MCPI_F_REQUIRED);
        const mcpi_fit_value *v;
        for (v = w ? w->values : NULL; v; v = v->next) {
            mcpi_say_string(&t, v->json->u.text, 60);
            if (v->next) mcpi_say_bytes(&t, ",", 1);
        }
        if (branch->next) mcpi_say_bytes(&t, " | ", 3);
        if (t.full) { mcpi_say_mend(&t); break; }
    }
    text[t.len] = 0;
    mcpi_fit_report(f, "%s of \"required\" alone is told in the description", one ? "oneOf" : "anyOf");
    mcpi_fit_note(f, n, "Give %s one of: %s.", one ? "exactly" : "at least", text);
}

/* The branches of a union as nodes, without those that nothing fits (`types`: what is allowed beside it; 0: all);
   *null: one was for null. Each is a slot of w. */
static void mcpi_fit_read_branches(mcpi_fitter *f, mcpi_fit_word *w, const mcpi_fit_union *u, uint32_t types,
                                   bool *null)
{
    uint32_t own, guess;
    const mcpi_fit_slot *from;
    const mcpi_fit_place *up = f->place;
    mcpi_fit_place here;
    memset(&here, 0, sizeof here);
    here.up = up;
    here.id = u->one ? MCPI_F_ONE_OF : MCPI_F_ANY_OF;
    for (from = u->first; from && !mcpi_fit_stopped(f); from = from->next, here.index++) {
        mcpi_fit_slot *s = NULL;
        if (f->most && here.index >= f->most) {
            mcpi_fit_report(f, "branches from the %zth on are left out: the budget is spent", here.index);
            break;
        }
        s = mcpi_fit_clone_slot(f, from);
        if (!s) break;
        mcpi_fit_work(f, 1);
        f->place = &here;
        s->node = mcpi_fit_raw(f, s);
        if (!s->node) break;
        mcpi_fit_reconcile(f, s->node);
        own = mcpi_fit_own_types(s->node);
        mcpi_fit_drop_strangers(f, s->node, own ? own : types);
        if (types && !mcpi_fit_has_type(types, MCPI_T_NULL)) s->node->nullable = false;
        if (types && s->node->types && mcpi_fit_common_types(s->node->types, types))
            s->node->types = mcpi_fit_common_types(s->node->types, types);
        if (types && own && !s->node->types && mcpi_fit_common_types(own, types)) {
            s->node->types = mcpi_fit_common_types(own, types);
            mcpi_fit_put_word(f, s->node, MCPI_F_TYPE);
        }
        guess = own || !types ? 0 : mcpi_fit_guess_type(s->node);
        *null |= guess && mcpi_fit_has_type(types, MCPI_T_NULL);        /* of which it says nothing */
        if (!own && types && (guess || s->node->unions)) {  /* what is in it speaks of these types, too */
            s->node->types = guess ? mcpi_fit_common_types(guess, types) : types;
            if (!s->node->types) s->node->types = types;
            mcpi_fit_put_word(f, s->node, MCPI_F_TYPE);
        }
        if (s->node->never || s->node->clash || (types && own && !mcpi_fit_common_types(types, own)) ||
            !(mcp_json_type(from->all.json) == MCP_JSON_OBJECT ||
                                                  mcp_json_type(from->all.json) == MCP_JSON_BOOL || from->other))
            mcpi_fit_report(f, "nothing fits this branch: it is dropped");
        else if (mcpi_fit_is_null(s->node)) *null = true;
        else mcpi_fit_append(w, s);
    }
    f->place = up;
}

/* One list of values for branches that are constants of one type. */
static bool mcpi_fit_join_constants(mcpi_fitter *f, mcpi_fit_node *n, const mcpi_fit_word *branches)
{
    const mcpi_fit_slot *s;
    const mcpi_fit_value *v;
    const mcpi_fit_word *own;
    mcpi_fit_word w;
    unsigned type = 0, t;
    for (s = branches->first; s; s = s->next) {
        t = mcpi_fit_constant_type(s->node);
        if (t == MCPI_T_INTEGER && type == MCPI_T_NUMBER) t = type;
        if (t == MCPI_T_NUMBER && type == MCPI_T_INTEGER) type = t;
        if (!t || (type && t != type)) return false;
        type = t;
    }
    memset(&w, 0, sizeof w);
    w.id = MCPI_F_ENUM;
    for (s = branches->first; s; s = s->next)
        for (own = mcpi_fit_find(s->node, MCPI_F_ENUM), v = own ? own->values : NULL; v; v = v->next)
            if (!mcpi_fit_has_value(&w, v->json)) mcpi_fit_append_value(f, &w, v->json, NULL);
    if (mcpi_fit_stopped(f)) return true;
    mcpi_fit_take_types(n, type);
    mcpi_fit_put_word(f, n, MCPI_F_TYPE);
    n->constant = false;
    mcpi_fit_add(f, n, &w);
    mcpi_fit_report(f, "constants become one enum");
    return true;
}

/* The union that is sorted out. */
static void mcpi_fit_put_branches(mcpi_fitter *f, mcpi_fit_node *n, int id, const mcpi_fit_word *branches)
{
    mcpi_fit_word *w = mcpi_fit_put_word(f, n, id);
    if (!w) return;
    w->first = branches->first;
    w->last = branches->last;
    w->n = branches->n;
    n->branches = w;
}

/* A branch that is the only one is part of the node. */
static void mcpi_fit_take_in(mcpi_fitter *f, mcpi_fit_node *n, const mcpi_fit_node *branch)
{
    mcpi_fit_open(n, false);
    mcpi_fit_merge(f, n, branch, true);
    mcpi_fit_settle(f, n);
    mcpi_fit_open(n, true);
}

static void mcpi_fit_sort_unions(mcpi_fitter *f, mcpi_fit_node *n);

/* Can a branch that one more union belongs to be met? Tried on a copy, without a word of it. */
static bool mcpi_fit_can_be_met(mcpi_fitter *f, const mcpi_fit_node *branch)
{
    size_t said = f->said_len, unsaid = f->unsaid;
    mcpi_fit_node *n = mcpi_fit_new_node(f);
    if (!n) return false;
    mcpi_fit_merge(f, n, branch, false);
    mcpi_fit_open(n, true);
    mcpi_fit_sort_unions(f, n);
    mcpi_fit_open(n, false);
    f->said_len = said;
    f->unsaid = unsaid;
    return !n->barren && !n->never && !n->clash;
}

/* What the unions of `rest` say goes into each branch. Those that cannot be met then go, if that is seen at once. */
static void mcpi_fit_distribute(mcpi_fitter *f, mcpi_fit_word *branches, mcpi_fit_union *rest, uint32_t types)
{
    mcpi_fit_slot *s = branches->first, *next;
    mcpi_fit_word met;
    memset(&met, 0, sizeof met);
    for (; s && !mcpi_fit_stopped(f); s = next) {
        bool simple = !s->node->unions && !rest->next;
        mcpi_fit_node more;
        next = s->next;
        memset(&more, 0, sizeof more);
        more.unions = rest;
        if (!s->node->types && types) {
            s->node->types = types;
            mcpi_fit_put_word(f, s->node, MCPI_F_TYPE);
        }
        mcpi_fit_merge(f, s->node, &more, false);
        if (!simple || mcpi_fit_can_be_met(f, s->node)) mcpi_fit_append(&met, s);
        else mcpi_fit_report(f, "nothing fits a branch: it is dropped");
    }
    if (met.n) *branches = met;             /* none: they stay, to be reported where they stand */
}

/* Sorts out the unions that were read, until there is none, or one whose branches differ: n->branches. What was a
   second union then belongs to each branch of the first. */
static void mcpi_fit_sort_unions(mcpi_fitter *f, mcpi_fit_node *n)
{
    while (n->unions && !mcpi_fit_stopped(f)) {
        mcpi_fit_union *u = n->unions, *rest;
        mcpi_fit_slot *s;
        mcpi_fit_word branches;
        bool null = false, needs = true, any = true, typed = n->types && !mcpi_fit_has_type(n->types, MCPI_T_NULL);
        uint32_t types = mcpi_fit_own_types(n);
        n->unions = u->next;
        if (!n->unions) n->unions_last = NULL;
        memset(&branches, 0, sizeof branches);
        mcpi_fit_read_branches(f, &branches, u, types, &null);
        if (mcpi_fit_stopped(f)) return;
        for (s = branches.first; s; s = s->next) {
            needs &= mcpi_fit_only_needs(s->node);
            any &= !s->node->types && mcpi_fit_only(s->node, MCPI_FIT_ANNOTATIONS);
        }
        if (branches.n > 1 && any) continue;                /* it says nothing */
        if (!branches.n && null) {
            mcpi_fit_take_types(n, MCPI_T_NULL);
            mcpi_fit_put_word(f, n, MCPI_F_TYPE);
            continue;
        }
        if (null && !typed) n->null = n->from_union = true;
        if (!branches.n) {
            mcpi_fit_report(f, "no branch of %s can be met: it is dropped", u->one ? "oneOf" : "anyOf");
            n->barren = true;
        }
        else if (branches.n == 1) mcpi_fit_take_in(f, n, branches.first->node);
        else if (needs) mcpi_fit_tell_needs(f, n, branches.first, u->one);
        else if (!mcpi_fit_join_constants(f, n, &branches)) {
            rest = n->unions;
            n->unions = n->unions_last = NULL;
            if (rest) {
                mcpi_fit_report(f, "what is a second union here goes into each branch of the first");
                mcpi_fit_distribute(f, &branches, rest, types);
                if (branches.n == 1) { mcpi_fit_take_in(f, n, branches.first->node); continue; }
            }
            if (u->one && mcpi_fit_cell(f, MCPI_F_ONE_OF) == 'r') mcpi_fit_report(f, "oneOf becomes anyOf");
            mcpi_fit_put_branches(f, n, u->one && mcpi_fit_cell(f, MCPI_F_ONE_OF) != 'r' ? MCPI_F_ONE_OF :
                                  MCPI_F_ANY_OF, &branches);
            for (s = branches.first; s; s = s->next) s->node->in_place = true;
            return;
        }
    }
}

/* What `outer` says besides its annotations, and what a branch says. Of a slot that was made by splitting types: the
   outer with that type alone. */
static mcpi_fit_node *mcpi_fit_branch(mcpi_fitter *f, const mcpi_fit_node *outer, const mcpi_fit_slot *s,
                                      const mcpi_fit_node *raw)
{
    mcpi_fit_node *n = mcpi_fit_new_node(f);
    mcpi_fit_word *values;
    if (!n) return NULL;
    if (++f->nodes > f->d.max_nodes) f->over = true;
    if (outer) mcpi_fit_merge(f, n, outer, false);
    if (s->type) {
        n->types = s->type;
        mcpi_fit_put_word(f, n, MCPI_F_TYPE);
        values = mcpi_fit_find(n, MCPI_F_ENUM);
        if (values) mcpi_fit_filter_values(f, values, mcpi_fit_value_of, &n->types);
        return n;
    }
    if (!raw) raw = mcpi_fit_raw(f, s);
    if (raw && outer && !n->types && !raw->types && !raw->kept) {   /* it says of what it speaks */
        n->types = mcpi_fit_guess_type(raw);
        if (f->strict && !raw->unions && !(raw->has & ~MCPI_FIT_ANNOTATIONS))
            mcpi_fit_lose(f, "a value of any type cannot be said", "");
    }
    if (raw) mcpi_fit_merge(f, n, raw, true);
    mcpi_fit_settle(f, n);
    n->in_place = !outer;
    return n;
}

/* Moves what the node says, but annotations, to n->outer; for the branches that are made of it. */
static void mcpi_fit_move_out(mcpi_fitter *f, mcpi_fit_node *n)
{
    uint64_t stay = MCPI_FIT_ANNOTATIONS | MCPI_FIT_BIT(MCPI_F_ANY_OF) | MCPI_FIT_BIT(MCPI_F_ONE_OF);
    mcpi_fit_word *branches = n->branches;
    n->outer = mcpi_fit_new_node(f);
    if (!n->outer) return;
    mcpi_fit_drop(n, MCPI_FIT_BIT(MCPI_F_ANY_OF) | MCPI_FIT_BIT(MCPI_F_ONE_OF));
    n->branches = NULL;
    mcpi_fit_merge(f, n->outer, n, false);
    n->outer->targets = NULL;               /* they stay open through n */
    mcpi_fit_drop(n, ~stay);
    n->types = 0;
    n->closed = 0;
    n->sealed = n->constant = n->nullable = false;
    if (branches) {
        mcpi_fit_put_branches(f, n, branches->id, branches);
    }
}

/* A union of the branches of that list; no branch: no union. One: it becomes part of the node, which is to be looked at
   again. */
static bool mcpi_fit_few_branches(mcpi_fitter *f, mcpi_fit_node *n, mcpi_fit_node *outer)
{
    mcpi_fit_word *w = n->branches;
    mcpi_fit_slot *only = w->first;
    mcpi_fit_node *raw;
    if (w->n > 1) return false;
    mcpi_fit_drop(n, MCPI_FIT_BIT(w->id));
    n->branches = NULL;
    n->outer = NULL;
    mcpi_fit_open(n, false);
    if (n->joined) n->joined = false;
    else if (!only) {
        if (n->null) { n->null = false; n->types = MCPI_T_NULL; mcpi_fit_put_word(f, n, MCPI_F_TYPE); }
        mcpi_fit_report(f, "no branch can be met: the union is dropped");
        if (outer) mcpi_fit_merge(f, n, outer, false);
    } else if ((raw = mcpi_fit_branch(f, outer, only, NULL)) != NULL) mcpi_fit_merge(f, n, raw, true);
    mcpi_fit_settle(f, n);
    mcpi_fit_open(n, true);
    return true;
}

/* What stands beside the union moves into its branches. */
static void mcpi_fit_push(mcpi_fitter *f, mcpi_fit_node *n)
{
    mcpi_fit_slot *s, *next;
    mcpi_fit_word *w;
    if (!(n->has & ~(MCPI_FIT_ANNOTATIONS | MCPI_FIT_BIT(n->branches->id))) && !n->types) return;
    mcpi_fit_move_out(f, n);
    if (mcpi_fit_stopped(f)) return;
    w = n->branches;
    s = w->first;
    w->first = w->last = NULL;
    w->n = 0;
    for (; s && !mcpi_fit_stopped(f); s = next) {
        next = s->next;
        s->node = mcpi_fit_branch(f, n->outer, s, s->node);
        if (!s->node) return;
        if (s->node->never || s->node->clash)
            mcpi_fit_report(f, "a branch contradicts what stands beside it and is dropped");
        else mcpi_fit_append(w, s);
    }
}

/* One branch for each type of the list. */
static void mcpi_fit_split(mcpi_fitter *f, mcpi_fit_node *n)
{
    uint32_t types = n->types;
    mcpi_fit_word *w;
    if (mcpi_fit_has_type(types, MCPI_T_NUMBER)) types = mcpi_fit_without_type(types, MCPI_T_INTEGER);
    mcpi_fit_report(f, "one branch for each type");
    mcpi_fit_move_out(f, n);
    w = n->outer ? mcpi_fit_put_word(f, n, MCPI_F_ANY_OF) : NULL;
    if (!w) return;
    n->branches = w;
    for (; types && !mcpi_fit_stopped(f); types >>= 4) {
        mcpi_fit_slot *s = mcpi_fit_slot_for(f, NULL, NULL);
        if (!s) return;
        s->type = types & 15;
        s->node = mcpi_fit_branch(f, n->outer, s, NULL);
        mcpi_fit_append(w, s);
    }
}

/* -- one node ---------------------------------------------------------------------------------------------------- */

/* The values of "enum", and whether null is one of them. */
static void mcpi_fit_settle_values(mcpi_fitter *f, mcpi_fit_node *n, bool null_typed)
{
    mcpi_fit_word *w = mcpi_fit_find(n, MCPI_F_ENUM);
    uint32_t all = w ? w->n : 0, types;
    bool null;
    if (!w) return;
    mcpi_fit_filter_values(f, w, mcpi_fit_value_not_null, NULL);
    null = w->n < all && (null_typed || !n->types);
    if (!w->n) {                            /* it is null, or nothing */
        mcpi_fit_drop(n, MCPI_FIT_BIT(MCPI_F_ENUM));
        if (!null && n->types) mcpi_fit_report(f, "enum fits no type and is dropped");
        else n->types = MCPI_T_NULL;
        return;
    }
    n->null |= null;
    all = w->n;
    types = n->types;
    if (types) {
        mcpi_fit_filter_values(f, w, mcpi_fit_value_of, &types);
        if (w->n < all) mcpi_fit_report(f, "values that do not fit the type are dropped");
    }
    if (!n->types) n->types = mcpi_fit_types_of_values(w);
}

/* Bounds that no value can meet go, both of them. */
static void mcpi_fit_check_bounds(mcpi_fitter *f, mcpi_fit_node *n)
{
    static const unsigned char pairs[] = {
        MCPI_F_MINIMUM, MCPI_F_MAXIMUM, MCPI_F_ABOVE, MCPI_F_MAXIMUM, MCPI_F_MINIMUM, MCPI_F_BELOW, MCPI_F_ABOVE,
            MCPI_F_BELOW,
        MCPI_F_MIN_LENGTH, MCPI_F_MAX_LENGTH, MCPI_F_MIN_ITEMS, MCPI_F_MAX_ITEMS,
        MCPI_F_MIN_PROPERTIES, MCPI_F_MAX_PROPERTIES, MCPI_F_MIN_CONTAINS, MCPI_F_MAX_CONTAINS
    };
    uint64_t bounds = MCPI_FIT_BIT(MCPI_F_MAXIMUM) | MCPI_FIT_BIT(MCPI_F_BELOW) |
                      MCPI_FIT_BIT(MCPI_F_MAX_LENGTH) | MCPI_FIT_BIT(MCPI_F_MAX_ITEMS) |
                      MCPI_FIT_BIT(MCPI_F_MAX_PROPERTIES) | MCPI_FIT_BIT(MCPI_F_MAX_CONTAINS);
    size_t i;
    for (i = 0; i < sizeof pairs && n->has & bounds; i += 2) {
        const mcpi_fit_word *low = mcpi_fit_find(n, pairs[i]), *high = mcpi_fit_find(n, pairs[i + 1]);
        if (!low || !high || mcp_json_num(low->json, 0) <= mcp_json_num(high->json, 0)) continue;
        mcpi_fit_report(f, "%s is over %s: both are dropped", mcpi_fit_name(pairs[i]), mcpi_fit_name(pairs[i + 1]));
        mcpi_fit_drop(n, MCPI_FIT_BIT(pairs[i]) | MCPI_FIT_BIT(pairs[i + 1]));
    }
}

/* A false "additionalProperties" of one of several schemas stays only if that schema knew all properties. */
static void mcpi_fit_check_closed(mcpi_fitter *f, mcpi_fit_node *n)
{
    mcpi_fit_word *w = mcpi_fit_find(n, MCPI_F_MORE), *p = mcpi_fit_find(n, MCPI_F_PROPERTIES);
    if (w && !w->first && n->closed && p && n->closed - 1 < p->n) {
        mcpi_fit_drop(n, MCPI_FIT_BIT(MCPI_F_MORE));
        mcpi_fit_report(f, "additionalProperties false of one part would forbid the properties of another: dropped");
    }
    if (n->sealed && !n->branches && !MCPI_FIT_HAS(n, MORE) && (p || n->types == MCPI_T_OBJECT)) {
        (void)mcpi_fit_put_word(f, n, MCPI_F_MORE);
        n->closed = 1 + (p ? p->n : 0);
    }
    n->sealed = false;
}

/* Drops all that says which values fit. */
static void mcpi_fit_clear(mcpi_fit_node *n)
{
    mcpi_fit_drop(n, ~MCPI_FIT_ANNOTATIONS);
    n->types = 0;
    n->unions = n->unions_last = NULL;
    n->branches = NULL;
    n->kept = NULL;
    n->constant = n->null = n->nullable = false;
    n->closed = 0;
}

/* Finds out what the node says: contradictions go, null becomes n->null, the type is found. */
static void mcpi_fit_settle_types(mcpi_fitter *f, mcpi_fit_node *n)
{
    bool null_typed;
    unsigned guess;
    if (n->never || n->clash) {
        f->odd = true;
        mcpi_fit_report(f, n->never ? "no value is allowed here: any value" :
                        "its parts contradict each other: any value");
        if (n->never) mcpi_fit_note(f, n, "Leave this out.");
        mcpi_fit_clear(n);
        n->never = n->clash = false;
    }
    mcpi_fit_reconcile(f, n);
    null_typed = mcpi_fit_has_type(n->types, MCPI_T_NULL);
    if (n->nullable) n->null = n->from_union = true;
    n->nullable = false;
    if (null_typed && n->types != MCPI_T_NULL) {
        n->null_first = (n->types & 15) == MCPI_T_NULL;
        n->types = mcpi_fit_without_type(n->types, MCPI_T_NULL);
        if (!MCPI_FIT_HAS(n, ENUM)) n->null = true;
    }
    mcpi_fit_settle_values(f, n, null_typed);
    if (n->types == MCPI_T_NULL) n->null = false;
    if (!n->types && !n->branches && (guess = mcpi_fit_guess_type(n)) != 0) n->types = guess;
    mcpi_fit_drop_strangers(f, n, n->types);
    mcpi_fit_check_bounds(f, n);
    mcpi_fit_check_closed(f, n);
}

/* Does the table ask for one branch for each type? */
static bool mcpi_fit_must_split(const mcpi_fitter *f, const mcpi_fit_node *n)
{
    const mcpi_fit_word *w = mcpi_fit_find(n, MCPI_F_ENUM);
    char c = mcpi_fit_cell(f, MCPI_F_TYPE);
    if (n->types < 16) return false;
    if (w && mcpi_fit_cell(f, MCPI_F_ENUM) != 'k') return true;
    if (c == 'o') return mcpi_fit_has_type(n->types, MCPI_T_OBJECT) || mcpi_fit_has_type(n->types, MCPI_T_ARRAY);
    if (c == 'a') return n->null || mcpi_fit_has_type(n->types, MCPI_T_ARRAY)
        || n->has & ~(MCPI_FIT_BIT(MCPI_F_TYPE) | MCPI_FIT_BIT(MCPI_F_TITLE) | MCPI_FIT_BIT(MCPI_F_DESCRIPTION));
    return c == 'r';
}

/* The names of the keys that are cut off, for the description. */
static void mcpi_fit_tell_keys(mcpi_fitter *f, mcpi_fit_node *n, const mcpi_fit_word *w)
{
    char text[MCPI_FIT_NOTE];
    mcpi_said t;
    const mcpi_fit_slot *s;
    t.buf = text; t.cap = sizeof text; t.len = 0; t.full = false;
    for (s = w->first; s && !t.full; s = s->next) {
        if (s != w->first) mcpi_say_bytes(&t, ", ", 2);
        mcpi_say_string(&t, s->key, 60);
    }
    if (t.full) mcpi_say_mend(&t);
    text[t.len] = 0;
    mcpi_fit_note(f, n, "Keys: %s.", text);
}

/* At the lowest depth that is allowed nothing more may stand below: an object is bare, a union is any value. */
static void mcpi_fit_shallow(mcpi_fitter *f, mcpi_fit_node *n, int depth)
{
    const mcpi_fit_word *w = mcpi_fit_find(n, MCPI_F_PROPERTIES);
    uint64_t below = MCPI_FIT_BIT(MCPI_F_PATTERNS) | MCPI_FIT_BIT(MCPI_F_NAMES) | MCPI_FIT_BIT(MCPI_F_NEEDS) |
                     MCPI_FIT_BIT(MCPI_F_NEEDS_SCHEMA) | MCPI_FIT_BIT(MCPI_F_CONTAINS) | MCPI_FIT_BIT(MCPI_F_NOT) |
                     MCPI_FIT_BIT(MCPI_F_IF) | MCPI_FIT_BIT(MCPI_F_THEN) | MCPI_FIT_BIT(MCPI_F_ELSE);
    if (depth < f->depth_max) return;
    if (n->branches || n->kept || mcpi_fit_must_split(f, n) || (depth > f->depth_max &&
                                                                mcpi_fit_has_type(n->types, MCPI_T_ARRAY))) {
        if (n->kept && depth == f->depth_max) return;
        mcpi_fit_report(f, "too deep: any value");
        f->cut = true;
        if (f->strict) mcpi_fit_lose(f, "too deep", "");
        mcpi_fit_clear(n);
        return;
    }
    if (w && w->n) {
        mcpi_fit_report(f, "too deep: an object without its properties");
        f->cut = true;
        if (f->strict) mcpi_fit_lose(f, "too deep", "");
        mcpi_fit_tell_keys(f, n, w);
        below |= MCPI_FIT_BIT(MCPI_F_PROPERTIES) | MCPI_FIT_BIT(MCPI_F_REQUIRED) | MCPI_FIT_BIT(MCPI_F_MORE);
    }
    w = mcpi_fit_find(n, MCPI_F_MORE);
    if (w && w->first && mcp_json_type(w->first->all.json) == MCP_JSON_OBJECT) below |= MCPI_FIT_BIT(MCPI_F_MORE);
    if (depth > f->depth_max) below |= MCPI_FIT_BIT(MCPI_F_ITEMS) | MCPI_FIT_BIT(MCPI_F_TUPLE);
    if (n->has & below) f->cut = true;
    mcpi_fit_drop(n, below);
}

/* -- what a keyword becomes -------------------------------------------------------------------------------------- */

/* true, {} or [] */
static bool mcpi_fit_says_nothing(const mcp_json *v)
{
    return mcp_json_bool(v, mcpi_is_container(v) && !v->n);
}

/* The type of the values of a place, in words. */
static const char *mcpi_fit_say_type(mcpi_fitter *f, const mcpi_fit_slot *s, char *buf, size_t cap)
{
    bool cyclic = f->cyclic;
    mcpi_fit_node *n = mcpi_fit_raw(f, s);
    mcpi_said t;
    uint32_t types;
    f->cyclic = cyclic;
    t.buf = buf; t.cap = cap; t.len = 0; t.full = false;
    types = n ? mcpi_fit_own_types(n) : 0;
    for (types = n && !types ? mcpi_fit_guess_type(n) : types; types; types >>= 4) {
        mcpi_say_string(&t, mcpi_fit_types[types & 7], cap);
        if (types >= 16) mcpi_say_bytes(&t, " or ", 4);
    }
    if (!t.len) mcpi_say_bytes(&t, "any value", 9);
    buf[t.len] = 0;
    return buf;
}

/* Can a double tell the number exactly? */
static bool mcpi_fit_in_double(const mcp_json *v)
{
    double d = mcp_json_num(v, 0);
    return d <= 9007199254740992.0 && d >= -9007199254740992.0;
}

/* What becomes of a bound that includes its value. */
static char mcpi_fit_judge_bound(const mcpi_fitter *f, const mcpi_fit_word *w)
{
    char c = mcpi_fit_cell(f, w->id);
    return c == 'd' ? mcpi_fit_in_double(w->json) ? 'k' : 'n' : c == 'c' ? mcp_json_num(w->json, 0) <= 1000 ? 'k' : 'n' : c;
}

/* "Range 1..5." for a lower bound and an upper one, which is the next row of the table, of which the first that comes tells of both, if both are dropped. */
static void mcpi_fit_tell_bounds(mcpi_fitter *f, mcpi_fit_node *n, const mcpi_fit_word *w, int low, const char *what)
{
    const mcpi_fit_word *a = mcpi_fit_find(n, low), *b = mcpi_fit_find(n, low + 1), *first;
    char from[48], to[48];
    if (a && mcpi_fit_judge_bound(f, a) != 'n') a = NULL;
    if (b && mcpi_fit_judge_bound(f, b) != 'n') b = NULL;
    for (first = n->words; first != w && first != a && first != b; first = first->next) { }
    if (first != w) return;
    if (a) mcpi_fit_excerpt(a->json, from, sizeof from);
    if (b) mcpi_fit_excerpt(b->json, to, sizeof to);
    if (a && b) mcpi_fit_note(f, n, "%s %s..%s.", what, from, to);
    else if (a) mcpi_fit_note(f, n, "%s at least %s.", what, from);
    else if (b) mcpi_fit_note(f, n, "%s at most %s.", what, to);
}

/* One of a list: "a, b". */
static void mcpi_fit_say_more(mcpi_said *t, const char *what, bool more)
{
    mcpi_say_string(t, what, 64);
    if (more) mcpi_say_bytes(t, ", ", 2);
}

/* A keyword that is dropped, as a short sentence in the description. */
static void mcpi_fit_tell(mcpi_fitter *f, mcpi_fit_node *n, const mcpi_fit_word *w)
{
    char text[MCPI_FIT_NOTE], type[64];
    const char *what;
    const mcpi_fit_slot *s = w->first;
    const mcp_json *v = s ? s->all.json : w->json;
    const mcpi_fit_value *value;
    mcpi_said t;
    if (f->d.no_notes) return;
    t.buf = text; t.cap = sizeof text; t.len = 0; t.full = false;
    switch (w->id) {
    case MCPI_F_MINIMUM: case MCPI_F_MAXIMUM: mcpi_fit_tell_bounds(f, n, w, MCPI_F_MINIMUM, "Range"); return;
    case MCPI_F_MIN_LENGTH: case MCPI_F_MAX_LENGTH: mcpi_fit_tell_bounds(f, n, w, MCPI_F_MIN_LENGTH, "Length"); return;
    case MCPI_F_MIN_ITEMS: case MCPI_F_MAX_ITEMS: mcpi_fit_tell_bounds(f, n, w, MCPI_F_MIN_ITEMS, "Items:"); return;
    case MCPI_F_MIN_PROPERTIES: case MCPI_F_MAX_PROPERTIES:
        mcpi_fit_tell_bounds(f, n, w, MCPI_F_MIN_PROPERTIES, "Properties:"); return;
    case MCPI_F_UNIQUE: mcpi_fit_note(f, n, "No duplicates."); return;
    case MCPI_F_PATTERN: mcpi_fit_note(f, n, "Pattern: %.*s", v->n < 1000 ? (int)v->n : 1000, v->u.text); return;
    case MCPI_F_FORMAT: mcpi_fit_note(f, n, "Format: %s.", v->u.text); return;
    case MCPI_F_ENCODING: mcpi_fit_note(f, n, "Encoding: %s.", v->u.text); return;
    case MCPI_F_MEDIA: mcpi_fit_note(f, n, "Content: %s.", v->u.text); return;
    case MCPI_F_MORE: if (s) mcpi_fit_note(f, n, "Map of %s.", mcpi_fit_say_type(f, s, type, sizeof type)); return;
    case MCPI_F_PATTERNS:
        if (s) mcpi_fit_note(f, n, "Keys like %.*s: %s.", s->key_len < 60 ? (int)s->key_len : 60, s->key,
                             mcpi_fit_say_type(f, s, type, sizeof type));
        return;
    case MCPI_F_ENUM:
        for (value = w->values; value && !t.full; value = value->next)
            mcpi_fit_say_more(&t, mcpi_fit_excerpt(value->json, type, sizeof type), value->next != NULL);
        if (t.full) mcpi_say_mend(&t);
        text[t.len] = 0;
        mcpi_fit_note(f, n, w->n == 1 ? "Must be %s." : "One of %s.", text);
        return;
    case MCPI_F_TUPLE:
        for (; s && !t.full; s = s->next)
            mcpi_fit_say_more(&t, mcpi_fit_say_type(f, s, type, sizeof type), s->next != NULL);
        text[t.len] = 0;
        mcpi_fit_note(f, n, "Items in order: %s.", text);
        return;
    case MCPI_F_NEEDS: case MCPI_F_NEEDS_SCHEMA:
        for (; s; s = s->next)
            if (!mcpi_fit_says_nothing(s->all.json))
                mcpi_fit_note(f, n, "With %.*s: %s.", s->key_len < 40 ? (int)s->key_len : 40, s->key,
                              mcpi_fit_excerpt(s->all.json, type, sizeof type));
        return;
    case MCPI_F_ABOVE: what = "Over"; break;
    case MCPI_F_BELOW: what = "Under"; break;
    case MCPI_F_MULTIPLE: what = "Multiple of"; break;
    case MCPI_F_DEFAULT: what = "Default:"; break;
    case MCPI_F_EXAMPLES: what = "Example:"; v = mcp_json_first(v); break;
    case MCPI_F_EXAMPLE: what = "Example:"; break;
    case MCPI_F_NAMES: what = "Keys:"; break;
    case MCPI_F_NOT: what = "Not:"; break;
    case MCPI_F_CONTAINS: what = "Contains:"; break;
    case MCPI_F_IF: what = "If:"; break;
    case MCPI_F_THEN: what = "Then:"; break;
    case MCPI_F_ELSE: what = "Else:"; break;
    default: return;
    }
    if (!v || (w->id == MCPI_F_DEFAULT && mcp_json_type(v) == MCP_JSON_NULL) ||
        (w->id == MCPI_F_NAMES && mcp_json_size(v) <= (mcp_json_get(v, "type") != NULL))) return;   /* nothing new */
    mcpi_fit_note(f, n, "%s %s.", what, mcpi_fit_excerpt(v, text, sizeof text));
}

/* A pattern: malformed ones never stay. */
static bool mcpi_fit_keeps_pattern(const mcpi_fitter *f, const mcp_json *v)
{
    unsigned traits = mcpi_pattern_traits(v->u.text, v->n),
        odd = MCPI_PATTERN_LOOK_AROUND | MCPI_PATTERN_BACK_REFERENCE |
        MCPI_PATTERN_UNICODE_CLASS | MCPI_PATTERN_NAMED_GROUP;
    char c = mcpi_fit_cell(f, MCPI_F_PATTERN);
    if (traits & MCPI_PATTERN_MALFORMED || c == 'n' || c == 'x') return false;
    if (c == 'a' && ((traits & (MCPI_PATTERN_FROM_START | MCPI_PATTERN_TO_END)) !=
                     (MCPI_PATTERN_FROM_START | MCPI_PATTERN_TO_END) || traits & MCPI_PATTERN_BIG_COUNT)) return false;
    return c == 'k' || !(traits & odd);
}

static bool mcpi_fit_keeps_format(const mcpi_fitter *f, const mcpi_fit_node *n, const mcp_json *v)
{
    const char *words = NULL;
    bool string = n->types == MCPI_T_STRING;
    switch (mcpi_fit_cell(f, MCPI_F_FORMAT)) {
    case 'k': return true;
    case '9': words = mcpi_fit_formats_9; break;
    case '5': words = mcpi_fit_formats_5; break;
    case 'J': words = mcpi_fit_formats_j; break;
    case 'L': words = mcpi_fit_formats_l; break;
    case 'G':
        string = true;
        words = n->types == MCPI_T_STRING ? mcpi_fit_formats_g : n->types == MCPI_T_NUMBER ? mcpi_fit_formats_number :
                n->types == MCPI_T_INTEGER ? mcpi_fit_formats_integer : NULL;
        break;
    default: break;
    }
    return words && string && mcpi_word_of(words, v->u.text) >= 0;
}

/* Values of "enum": all of the kind that the profile takes? */
static bool mcpi_fit_keeps_values(const mcpi_fitter *f, const mcpi_fit_word *w)
{
    char c = mcpi_fit_cell(f, MCPI_F_ENUM);
    const mcpi_fit_value *v;
    for (v = w->values; v; v = v->next) {
        mcp_type t = mcp_json_type(v->json);
        if ((c == 't' && t != MCP_JSON_STRING) || (c == 'p' && t != MCP_JSON_STRING && t != MCP_JSON_NUMBER) ||
            (c != 'k' && mcpi_is_container(v->json))) return false;
    }
    return true;
}

/* An exclusive bound of integers is the next integer; of numbers, the same bound and a note. */
static bool mcpi_fit_include_bound(mcpi_fitter *f, mcpi_fit_node *n, mcpi_fit_word *w)
{
    bool least = w->id == MCPI_F_ABOVE;
    int id = least ? MCPI_F_MINIMUM : MCPI_F_MAXIMUM;
    mcpi_fit_word *other = mcpi_fit_find(n, id), as;
    const mcp_json *json = w->json;
    if (n->types == MCPI_T_INTEGER) {
        int64_t i = mcp_json_int(json, INT64_MAX);
        mcp_json *next = (mcp_json *)mcpi_fit_new(f, sizeof *next);
        char *digits = (char *)mcpi_fit_new(f, 24);
        if (!next || !digits) return false;
        if (i >= INT64_MAX - 1 || i <= INT64_MIN + 1) return false;
        next->tag = MCP_JSON_NUMBER | MCPI_LAST;
        next->n = (uint32_t)mcpi_say(digits, 24, "%l", least ? i + 1 : i - 1);
        next->u.text = digits;
        json = next;
    } else mcpi_fit_tell(f, n, w);
    mcpi_fit_report(f, "%s becomes %s", mcpi_fit_name(w->id), mcpi_fit_name(id));
    if (other) { mcpi_fit_take_bound(other, json); return true; }
    memset(&as, 0, sizeof as);
    as = *w;
    w->id = (uint8_t)id;                    /* in its place */
    w->json = json;
    n->has = (n->has & ~MCPI_FIT_BIT(as.id)) | MCPI_FIT_BIT(id);
    return true;
}

static bool mcpi_fit_keeps_default(const mcpi_fitter *f, const mcpi_fit_node *n, const mcp_json *v)
{
    const mcpi_fit_word *w = mcpi_fit_find(n, MCPI_F_ENUM);
    char c = mcpi_fit_cell(f, MCPI_F_DEFAULT);
    if (mcp_json_type(v) == MCP_JSON_NULL && ((n->types && !n->null && n->types != MCPI_T_NULL) ||
                                              mcpi_fit_cell(f, MCPI_F_NULLS) == 'u'))
        return false;
    if (!mcpi_fit_typed(n) && mcpi_fit_cell(f, MCPI_F_ANYTHING) == 'r' && mcp_json_type(v) != MCP_JSON_STRING)
        return false;                       /* it will be a string */
    if (c != 'r') return c == 'k';
    if (mcp_json_type(v) == MCP_JSON_NULL) return n->types == MCPI_T_NULL;      /* or null is a branch of its own */
    return !mcpi_is_container(v) && n->types && mcpi_fit_value_fits(n->types, v) && (!w || mcpi_fit_has_value(w, v));
}

/* What of a keyword of the node stays: 'k' all; 'n', 'x' or 'F' as in the table. Rewrites where the table says so. */
static char mcpi_fit_judge(mcpi_fitter *f, mcpi_fit_node *n, mcpi_fit_word *w)
{
    char c = mcpi_fit_cell(f, w->id);
    const mcp_json *v = w->json;
    switch (w->id) {
    case MCPI_F_TYPE: case MCPI_F_DESCRIPTION: case MCPI_F_PROPERTIES: case MCPI_F_REQUIRED: case MCPI_F_ANY_OF:
        case MCPI_F_ONE_OF:
    case MCPI_F_TUPLE: case MCPI_F_ITEMS: case MCPI_F_NULLABLE:
        return 'k';                         /* these have been seen to, or will be */
    case MCPI_F_ENUM:
        if (c == 't') mcpi_fit_filter_values(f, w, mcpi_fit_value_not_empty, NULL);
        return !w->n ? 'x' : mcpi_fit_keeps_values(f, w) ? 'k' : 'n';
    case MCPI_F_MORE:
        if (!w->first) return mcpi_fit_cell(f, MCPI_F_CLOSED);
        v = w->first->all.json;
        if (w->first->all.next || !(mcp_json_type(v) == MCP_JSON_BOOL || !mcp_json_size(v))) return c;
        c = mcpi_fit_cell(f, MCPI_F_OPEN);
        if (c == 't' || (c == 'k' && mcp_json_type(v) == MCP_JSON_BOOL) ||
            (c == 'k' && mcpi_fit_cell(f, MCPI_F_ANYTHING) != 'k')) { w->json = v; c = 'k'; }
        if (c == 'n') { mcpi_fit_note(f, n, "Other keys are allowed."); c = 'x'; }
        return c;
    case MCPI_F_PATTERN: return mcpi_fit_keeps_pattern(f, v) ? 'k' : c == 'x' ? 'x' : 'n';
    case MCPI_F_FORMAT: return mcpi_fit_keeps_format(f, n, v) ? 'k' : 'n';
    case MCPI_F_ABOVE: case MCPI_F_BELOW:
        return c != 'r' ? c : mcpi_fit_include_bound(f, n, w) ? w->id == MCPI_F_ABOVE || w->id == MCPI_F_BELOW ? 'x' :
            'k' : 'n';
    case MCPI_F_MINIMUM: case MCPI_F_MAXIMUM:
    case MCPI_F_MIN_LENGTH: case MCPI_F_MAX_LENGTH: case MCPI_F_MIN_ITEMS: case MCPI_F_MAX_ITEMS:
        return mcpi_fit_judge_bound(f, w);
    case MCPI_F_EXAMPLES: return v->n ? c : 'x';
    case MCPI_F_DEFAULT:
        return mcpi_fit_keeps_default(f, n, v) ? 'k' : mcp_json_type(v) == MCP_JSON_NULL || c == 'x' ? 'x' : 'n';
    default: return c;
    }
}

/* Applies the table to all keywords of the node. At the root no keyword stays that combines schemas. */
static void mcpi_fit_apply(mcpi_fitter *f, mcpi_fit_node *n)
{
    const uint64_t never_top = MCPI_FIT_BIT(MCPI_F_NOT) | MCPI_FIT_BIT(MCPI_F_IF) | MCPI_FIT_BIT(MCPI_F_THEN) |
                               MCPI_FIT_BIT(MCPI_F_ELSE) | MCPI_FIT_BIT(MCPI_F_NEEDS) |
                               MCPI_FIT_BIT(MCPI_F_NEEDS_SCHEMA) | MCPI_FIT_BIT(MCPI_F_ENUM);
    char beside = n->branches ? mcpi_fit_cell(f, MCPI_F_BESIDE) : 'k';
    mcpi_fit_word *w;
    uint64_t gone = 0;
    for (w = n->words; w && !mcpi_fit_stopped(f); w = w->next) {
        char c = mcpi_fit_judge(f, n, w);
        uint64_t bit = MCPI_FIT_BIT(w->id);
        if (c == 'k' && n->top && never_top & bit) c = 'n';
        if (c == 'k' && beside != 'k' && MCPI_FIT_ANNOTATIONS & bit && w->id != MCPI_F_DESCRIPTION &&
            !(beside == 't' && w->id == MCPI_F_TITLE)) c = w->id == MCPI_F_TITLE ? 'x' : 'n';
        if (c == 'F' && w->id == MCPI_F_NAMES) f->odd = true;       /* it may be dropped without strictness */
        if (c == 'F') { mcpi_fit_lose(f, " cannot be said", mcpi_fit_name(w->id)); return; }
        if (c == 'k') continue;
        if (c == 'n') mcpi_fit_tell(f, n, w);
        mcpi_fit_report(f, c == 'n' ? "%s is told in the description" : "%s is dropped", mcpi_fit_name(w->id));
        gone |= bit;
    }
    mcpi_fit_drop(n, gone);
    mcpi_fit_check_bounds(f, n);            /* some have become others */
}

/* -- names of properties ----------------------------------------------------------------------------------------- */
/* A name that the provider refuses is sent as another one. Which, follows from the set of all names of the document
   alone, so the same name is sent the same way wherever it stands, and no two names become one. */

static bool mcpi_fit_legal_char(char rule, char c)
{
    bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (rule == 'a') return word || c == '-' || c == '.';
    if (rule == 'i') return word;
    if (rule == 'w') return (unsigned char)c >= ' ' && c != '/';
    return (unsigned char)c >= ' ';
}

static bool mcpi_fit_legal_key(const mcpi_fitter *f, const char *s, size_t n)
{
    static const char words[] = "$defs\0$ref\0anyOf\0required\0additionalProperties\0";
    char rule = mcpi_fit_cell(f, MCPI_F_KEYS);
    size_t i;
    if (!n || ((rule == 'a' || rule == 'i') && n > 64) || (rule == 'i' && s[0] >= '0' && s[0] <= '9')) return false;
    for (i = 0; i < n; i++) if (!mcpi_fit_legal_char(rule, s[i])) return false;
    return rule != 'w' || mcpi_word_of(words, s) < 0;
}

/* The first and the second try at a legal name for s, of at most 64 bytes; cap 65. */
static size_t mcpi_fit_clean_key(const mcpi_fitter *f, const char *s, size_t n, bool strip, char *to)
{
    char rule = mcpi_fit_cell(f, MCPI_F_KEYS);
    size_t i = 0, k = 0;
    if (strip && n > 1 && s[0] == '$' && (rule == 'a' || rule == 'i')) i = 1;
    if (rule == 'i' && i < n && s[i] >= '0' && s[i] <= '9') to[k++] = '_';
    for (; i < n && k < 64; i++) {
        bool legal = mcpi_fit_legal_char(rule, s[i]);
        if (legal) to[k++] = s[i];
        else if (i == 0 || mcpi_fit_legal_char(rule, s[i - 1]) || (i == 1 && strip && s[0] == '$')) to[k++] = '_';
    }
    while (i < n && k && (to[k - 1] & 0xC0) == 0x80) k--;   /* not in the middle of a character */
    if (i < n && k && (to[k - 1] & 0x80)) k--;
    if (!k) to[k++] = '_';
    to[k] = 0;
    if (!mcpi_fit_legal_key(f, to, k) && k < 64) { to[k++] = '_'; to[k] = 0; }
    return k;
}

static void mcpi_fit_learn_key(mcpi_fitter *f, const mcp_json *k)
{
    mcpi_hashed *e;
    char to[66];
    uint32_t hash = mcpi_hash(k->u.text, k->n);
    for (e = mcpi_lookup(&f->keys, hash); e; e = mcpi_lookup_next(e))
        if (e->json->n == k->n && memcmp(e->json->u.text, k->u.text, k->n) == 0) return;
    mcpi_fit_index_add(f, &f->keys, hash, NULL, k, NULL);
    if (!mcpi_fit_legal_key(f, k->u.text, k->n))
        mcpi_fit_index_add(f, &f->wishes, mcpi_hash(to, mcpi_fit_clean_key(f, k->u.text, k->n, true, to)), NULL, k,
                           NULL);
}

/* Learns all names of the document, legal ones, and what the others would like to become. */
static void mcpi_fit_learn_keys(mcpi_fitter *f)
{
    const mcp_json *k = f->root, *end = k + mcpi_fit_span(k);
    f->keyed = true;
    for (; k < end && !mcpi_fit_stopped(f); k++) {
        if (!(k->tag & MCPI_KEY)) continue;
        mcpi_fit_learn_key(f, k);
        if (k->n != 8 || memcmp(k->u.text, "required", 8) != 0 || mcp_json_type(k + 1) != MCP_JSON_ARRAY) continue;
        mcp_json_each(item, k + 1) if (mcp_json_type(item) == MCP_JSON_STRING) mcpi_fit_learn_key(f, item);
    }
}

/* Is a name taken by another one of the document, or wished for by another one that has to change? */
static bool mcpi_fit_key_taken(mcpi_fitter *f, const char *to, size_t n, const char *key, size_t key_len)
{
    uint32_t hash = mcpi_hash(to, n);
    mcpi_hashed *e;
    char other[66];
    for (e = mcpi_lookup(&f->keys, hash); e; e = mcpi_lookup_next(e))
        if (e->json->n == n && memcmp(e->json->u.text, to, n) == 0) return true;
    for (e = mcpi_lookup(&f->sent, hash); e; e = mcpi_lookup_next(e))
        if (strcmp((const char *)e->value, to) == 0) return true;
    for (e = mcpi_lookup(&f->wishes, hash); e; e = mcpi_lookup_next(e)) {
        if (e->json->n == key_len && memcmp(e->json->u.text, key, key_len) == 0) continue;
        if (mcpi_fit_clean_key(f, e->json->u.text, e->json->n, true, other) == n && memcmp(other, to, n) == 0)
            return true;
    }
    return false;
}

/* The name that is sent for a key, ending in NUL. */
static const char *mcpi_fit_sent_key(mcpi_fitter *f, const char *key, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    uint32_t at = mcpi_hash(key, n), digest = 2166136261u;  /* FNV-1a: the same on every machine */
    mcpi_hashed *e;
    char *to;
    size_t len, i;
    if (mcpi_fit_legal_key(f, key, n)) return key;
    for (e = mcpi_lookup(&f->renamed, at); e; e = mcpi_lookup_next(e))
        if (e->json->n == n && memcmp(e->json->u.text, key, n) == 0) return (const char *)e->value;
    if (!f->keyed) mcpi_fit_learn_keys(f);
    to = (char *)mcpi_fit_new(f, 72);
    if (!to) return key;
    len = mcpi_fit_clean_key(f, key, n, true, to);
    if (n > 64 || mcpi_fit_key_taken(f, to, len, key, n)) {
        bool twice = n > 64;
        len = mcpi_fit_clean_key(f, key, n, false, to);
        for (i = 0; i < n; i++) digest = (digest ^ (unsigned char)key[i]) * 16777619u;
        while (twice || mcpi_fit_key_taken(f, to, len, key, n)) {
            if (len > 57) for (len = 57; len && (to[len] & 0xC0) == 0x80; len--) { }
            to[len++] = '_';
            for (i = 0; i < 6; i++) to[len++] = hex[digest >> (4 * i) & 15];
            to[len] = 0;
            digest = digest * 16777619u + 1;
            twice = false;
        }
    }
    for (e = mcpi_lookup(&f->keys, at); e; e = mcpi_lookup_next(e))
        if (e->json->n == n && memcmp(e->json->u.text, key, n) == 0)
            { mcpi_fit_index_add(f, &f->renamed, at, NULL, e->json, to); break; }
    mcpi_fit_index_add(f, &f->sent, mcpi_hash(to, len), NULL, NULL, to);
    mcpi_fit_report(f, "property %.*s is sent as %s", n < 60 ? (int)n : 60, key, to);
    f->changed = true;
    return to;
}

/* -- the walk ---------------------------------------------------------------------------------------------------- */

static void mcpi_fit_write(mcpi_fitter *f, mcp_writer *out, const mcpi_fit_node *n, const char *key);
static void mcpi_fit_finish(mcpi_fitter *f, mcpi_fit_node *n, int depth);

/* Reads what is in a slot, and finishes it if a depth is given. */
static void mcpi_fit_child(mcpi_fitter *f, mcpi_fit_slot *s, int id, size_t index, int depth)
{
    mcpi_fit_place here;
    here.up = f->place;
    here.json = NULL;                       /* while it is read, it is not open yet */
    here.key = s->key;
    here.len = s->key_len;
    here.index = index;
    here.id = id;
    f->place = &here;
    if (!s->node) s->node = mcpi_fit_raw(f, s);
    here.json = s->all.json;
    if (depth && s->node && !mcpi_fit_stopped(f)) mcpi_fit_finish(f, s->node, depth);
    f->place = here.up;
}

static const mcp_json mcpi_fit_null = { { NULL }, 0, MCP_JSON_NULL | MCPI_LAST };
static const mcp_json mcpi_fit_true = { { NULL }, 0, MCP_JSON_BOOL | MCPI_TRUE | MCPI_LAST };

/* All that the node says, but annotations, becomes a branch of it. */
static void mcpi_fit_wrap(mcpi_fitter *f, mcpi_fit_node *n)
{
    mcpi_fit_slot *s = mcpi_fit_slot_for(f, NULL, NULL);
    mcpi_fit_node *inner = mcpi_fit_new_node(f);
    mcpi_fit_word *w, *moved, *next;
    uint64_t stay = MCPI_FIT_ANNOTATIONS;
    if (!s || !inner) return;
    if (++f->nodes > f->d.max_nodes) f->over = true;
    inner->types = n->types;
    inner->kept = n->kept;
    inner->again = n->again;
    inner->constant = n->constant;
    inner->free = n->free;
    if (mcpi_fit_cell(f, MCPI_F_BESIDE) != 'k') stay = MCPI_FIT_BIT(MCPI_F_TITLE) | MCPI_FIT_BIT(MCPI_F_DESCRIPTION);
    for (w = n->words; w; w = w->next) {
        if (stay >> w->id & 1) continue;
        moved = mcpi_fit_put_word(f, inner, w->id);
        if (!moved) return;
        next = moved->next;
        *moved = *w;
        moved->next = next;
    }
    mcpi_fit_drop(n, ~stay);
    n->types = 0;
    n->kept = NULL;
    n->free = false;
    s->node = n->wrapped = inner;
    n->branches = mcpi_fit_put_word(f, n, MCPI_F_ANY_OF);
    if (n->branches) mcpi_fit_append(n->branches, s);
}

/* Null is allowed, too: in the form that the profile knows. False: it cannot be said here. */
static bool mcpi_fit_allow_null(mcpi_fitter *f, mcpi_fit_node *n)
{
    char form = mcpi_fit_cell(f, MCPI_F_NULLS);
    bool simple = n->types && !n->branches && !n->kept;
    mcpi_fit_word *w = mcpi_fit_find(n, MCPI_F_ENUM);
    mcpi_fit_slot *null;
    if (n->types == MCPI_T_NULL || form == 'x') return false;
    if (!mcpi_fit_typed(n)) return true;    /* any value: null, too */
    if (form == 'u') return mcpi_fit_put_word(f, n, MCPI_F_NULLABLE) != NULL;
    if (form == 'l' && simple && !(w && mcpi_fit_cell(f, MCPI_F_ENUM) == 'p') && !(n->from_union &&
        (mcpi_fit_has_type(n->types, MCPI_T_OBJECT) || mcpi_fit_has_type(n->types, MCPI_T_ARRAY))) &&
        !(mcpi_fit_cell(f, MCPI_F_TYPE) == 'o' &&
        (mcpi_fit_has_type(n->types, MCPI_T_OBJECT) || mcpi_fit_has_type(n->types, MCPI_T_ARRAY)))) {
        n->types = n->null_first ? n->types << 4 | MCPI_T_NULL : mcpi_fit_add_type(n->types, MCPI_T_NULL);
        n->constant = false;
        if (w) mcpi_fit_append_value(f, w, &mcpi_fit_null, NULL);
        return true;
    }
    if (form == 'l' && n->branches && n->types) {
        n->types = n->null_first ? n->types << 4 | MCPI_T_NULL : mcpi_fit_add_type(n->types, MCPI_T_NULL);
        if (w) mcpi_fit_append_value(f, w, &mcpi_fit_null, NULL);
        if (!n->from_union) return true;
    }
    null = mcpi_fit_slot_for(f, NULL, NULL);
    if (!null || !(null->node = mcpi_fit_new_node(f))) return false;
    null->type = null->node->types = MCPI_T_NULL;
    mcpi_fit_put_word(f, null->node, MCPI_F_TYPE);
    f->nodes++;
    if (!n->branches) mcpi_fit_wrap(f, n);
    if (n->branches) mcpi_fit_append(n->branches, null);
    return n->branches != NULL;
}

/* The branches, finished: equal ones become one, a union in a union becomes part of it. */
static void mcpi_fit_finish_branches(mcpi_fitter *f, mcpi_fit_node *n, int depth)
{
    mcpi_fit_word *w = n->branches;
    mcpi_fit_slot *s = w->first, *next;
    mcpi_index seen;
    size_t index = 0;
    bool cut = f->cut;
    f->cut = false;
    memset(&seen, 0, sizeof seen);
    w->first = w->last = NULL;
    w->n = 0;
    for (; s && !mcpi_fit_stopped(f); s = next, index++) {
        mcpi_hashed *e;
        mcpi_fit_node *b;
        const char *text;
        char *copy;
        size_t len;
        uint32_t hash;
        next = s->next;
        if (!s->node->done) mcpi_fit_child(f, s, w->id, index, depth + 1);
        b = s->node;
        if (mcpi_fit_stopped(f)) return;
        if (b->branches && b->has == MCPI_FIT_BIT(MCPI_F_ANY_OF) && w->id == MCPI_F_ANY_OF && !b->note_len &&
            !b->wrapped) {
            mcpi_fit_slot *inner = b->branches->first, *after = next, *last = NULL, *follows;
            for (next = NULL; inner; inner = follows) {
                follows = inner->next;
                if (inner->type == MCPI_T_NULL && !inner->all.json) { n->null = true; continue; }
                if (last) last->next = inner;
                else next = inner;
                inner->next = NULL;
                last = inner;
            }
            if (last) last->next = after;
            else next = after;
            continue;
        }
        if (mcpi_fit_is_null(b)) { n->null = n->from_union = true; continue; }
        mcp_writer_reset(&f->branch);
        mcpi_fit_write(f, &f->branch, b, NULL);
        text = mcp_writer_text(&f->branch, &len);
        if (!text) { if (f->branch.status == MCP_ERR_LIMIT) f->over = true; else f->no_memory = true; return; }
        hash = mcpi_hash(text, len);
        for (e = mcpi_lookup(&seen, hash); e; e = mcpi_lookup_next(e)) {
            const mcpi_fit_node *same = (const mcpi_fit_node *)e->value;
            if (same->text_len == len && memcmp(same->text, text, len) == 0) break;
        }
        if (e) { mcpi_fit_report(f, "equal branches become one"); continue; }
        copy = (char *)mcp_arena_alloc(f->arena, len + 1);
        if (!copy) { f->no_memory = true; return; }
        memcpy(copy, text, len + 1);
        b->text = copy;
        b->text_len = len;
        mcpi_fit_index_add(f, &seen, hash, NULL, NULL, b);
        mcpi_fit_append(w, s);
    }
    if (f->cut && w->id == MCPI_F_ONE_OF) {                 /* a value may fit two branches now */
        n->has = (n->has & ~MCPI_FIT_BIT(MCPI_F_ONE_OF)) | MCPI_FIT_BIT(MCPI_F_ANY_OF);
        w->id = MCPI_F_ANY_OF;
        mcpi_fit_finish_branches(f, n, depth);
        f->cut = true;
        return;
    }
    f->cut |= cut;
    for (s = w->first; s && !s->node->types && mcpi_fit_only(s->node, MCPI_FIT_ANNOTATIONS); s = s->next) { }
    if (w->n > 1 && (!s || mcpi_fit_join_constants(f, n, w))) {     /* it says nothing, or it is a list of values */
        w->first = w->last = NULL;
        w->n = 0;
        n->joined = true;
    }
}

/* Names in "required": each once, and only those of properties. Where a schema stands for the same value as the one
   around it (a branch, "then"), it may ask for properties of that one. */
static void mcpi_fit_finish_required(mcpi_fitter *f, mcpi_fit_node *n, bool in_place)
{
    mcpi_fit_word *w = mcpi_fit_find(n, MCPI_F_REQUIRED), *p = mcpi_fit_find(n, MCPI_F_PROPERTIES);
    mcpi_fit_value *v;
    if (!w) return;
    v = w->values;
    w->values = w->values_last = NULL;
    w->n = 0;
    if (!p && in_place && v) p = mcpi_fit_put_word(f, n, MCPI_F_PROPERTIES);
    for (; v && !mcpi_fit_stopped(f); v = v->next) {
        const char *key = v->slot ? v->slot->key : v->json->u.text;
        size_t len = v->slot ? v->slot->key_len : v->json->n;
        mcpi_fit_slot *s = mcpi_fit_slot_of(p, key, len);
        if (!s && p && in_place) s = mcpi_fit_put_slot(f, p, &mcpi_fit_true, NULL, key, len);
        if (!s && n->in_place) f->cut = true;
        if (s && !s->needed) { s->needed = true; mcpi_fit_append_value(f, w, v->json, s); }
        else if (!f->most) mcpi_fit_report(f, "required names %.*s %s", len < 60 ? (int)len : 60, key, s ? "twice" :
                             "which is no property");
    }
    if (!w->n) mcpi_fit_drop(n, MCPI_FIT_BIT(MCPI_F_REQUIRED));
}

static void mcpi_fit_need(mcpi_fitter *f, mcpi_fit_node *n, mcpi_fit_slot *s)
{
    mcpi_fit_word *w = mcpi_fit_put_word(f, n, MCPI_F_REQUIRED);
    if (w && !s->needed) mcpi_fit_append_value(f, w, NULL, s);
    s->needed = true;
}

/* A root with more properties than there is room for keeps the first ones. */
static void mcpi_fit_shorten(mcpi_fitter *f, mcpi_fit_word *p)
{
    mcpi_fit_slot *s = p->first, *next;
    uint32_t all = p->n;
    p->first = p->last = NULL;
    p->index = NULL;
    p->n = 0;
    for (; s && p->n < f->most && !mcpi_fit_stopped(f); s = next) { next = s->next; mcpi_fit_append_named(f, p, s); }
    mcpi_fit_report(f, "%z properties of %z are left out: the budget is spent", (size_t)(all - p->n), (size_t)all);
}

/* "dependentRequired" of names that are no property says nothing. */
static void mcpi_fit_finish_needs(mcpi_fit_node *n, const mcpi_fit_word *p)
{
    mcpi_fit_word *w = mcpi_fit_find(n, MCPI_F_NEEDS);
    mcpi_fit_slot *s = w ? w->first : NULL, *next;
    if (!w) return;
    w->first = w->last = NULL;
    w->n = 0;
    for (; s; s = next) {
        bool needs = false;
        next = s->next;
        if (!mcpi_fit_slot_of(p, s->key, s->key_len)) continue;
        mcp_json_each(item, s->all.json)
            needs |= mcp_json_type(item) == MCP_JSON_STRING && mcpi_fit_slot_of(p, item->u.text, item->n);
        if (needs) mcpi_fit_append(w, s);
    }
    if (!w->n) mcpi_fit_drop(n, MCPI_FIT_BIT(MCPI_F_NEEDS));
}

static void mcpi_fit_finish_object(mcpi_fitter *f, mcpi_fit_node *n, int depth)
{
    mcpi_fit_word *p = mcpi_fit_find(n, MCPI_F_PROPERTIES), *w = mcpi_fit_find(n, MCPI_F_MORE);
    mcpi_fit_slot *s;
    char bare = mcpi_fit_cell(f, MCPI_F_BARE);
    bool optional = f->optional;
    if (p && n->top && f->most && p->n > f->most) mcpi_fit_shorten(f, p);
    mcpi_fit_finish_required(f, n, n->in_place && depth < f->depth_max);
    p = mcpi_fit_find(n, MCPI_F_PROPERTIES);
    for (s = p ? p->first : NULL; s && !mcpi_fit_stopped(f); s = s->next) {
        f->optional = optional || !(s->needed || (mcpi_fit_cell(f, MCPI_F_REFS) == 'o' && /* draft 3 */
                                                  mcp_json_bool(mcp_json_get(s->all.json, "required"), false)));
        mcpi_fit_child(f, s, MCPI_F_PROPERTIES, MCP_NTS, depth + 1);
        if (mcpi_fit_stopped(f)) break;
        s->sent = mcpi_fit_sent_key(f, s->key, s->key_len);
        if (s->node->needed) mcpi_fit_need(f, n, s);
        if (f->strict && !s->needed) {
            mcpi_fit_need(f, n, s);
            s->node->from_union = true;
            if (!s->node->null && s->node->types != MCPI_T_NULL) {
                s->invented = f->changed = true;
                if (!mcpi_fit_allow_null(f, s->node)) mcpi_fit_lose(f, "null cannot be said", "");
            }
        }
        if (f->strict) {
            f->strict_properties++;
            f->strict_names += s->key_len;
        }
    }
    f->optional = optional;
    if (mcpi_fit_stopped(f)) return;
    mcpi_fit_finish_needs(n, p);
    if (f->strict) {
        if (!n->top && !(p && p->n) && (!w || bare == '-'))
            mcpi_fit_lose(f, w ? "an object without properties cannot be said" :
                          "an object of any properties cannot be said", "");
        mcpi_fit_put_word(f, n, MCPI_F_PROPERTIES);
        mcpi_fit_put_word(f, n, MCPI_F_MORE);
        mcpi_fit_put_word(f, n, MCPI_F_REQUIRED);
        return;
    }
    if (n->top || (bare == 'p' && n->types == MCPI_T_OBJECT && !(w && w->first) && !MCPI_FIT_HAS(n, PATTERNS)))
        mcpi_fit_put_word(f, n, MCPI_F_PROPERTIES);
    else if (bare == 'x' && p && !p->n) mcpi_fit_drop(n, MCPI_FIT_BIT(MCPI_F_PROPERTIES));
}

/* A place for any value, under a node that needs one. */
static void mcpi_fit_put_any(mcpi_fitter *f, mcpi_fit_node *n, int id)
{
    mcpi_fit_word *w = mcpi_fit_put_word(f, n, id);
    mcpi_fit_slot *s = mcpi_fit_slot_for(f, &mcpi_fit_true, NULL);
    if (!w || !s) return;
    w->first = w->last = NULL;
    w->n = 0;
    mcpi_fit_append(w, s);
}

static void mcpi_fit_finish_array(mcpi_fitter *f, mcpi_fit_node *n)
{
    mcpi_fit_word *w = mcpi_fit_find(n, MCPI_F_ITEMS), *tuple = mcpi_fit_find(n, MCPI_F_TUPLE);
    char none = mcpi_fit_cell(f, MCPI_F_NO_ITEMS);
    bool closed = w && !mcp_json_bool(w->first->all.json, true);
    if (tuple && mcpi_fit_cell(f, MCPI_F_TUPLE) == 'r') {
        mcpi_fit_slot *all = NULL, **at = &all, *s;
        mcpi_fit_tell(f, n, tuple);
        if (closed) mcpi_fit_note(f, n, "At most %u.", (unsigned)tuple->n);
        for (s = w && mcpi_fit_says_nothing(w->first->all.json) ? NULL : tuple->first; s; s = s->next) {
            *at = mcpi_fit_clone_slot(f, s);
            if (!*at) return;
            at = &(*at)->other;
        }
        if (w && !closed) *at = mcpi_fit_clone_slot(f, w->first);
        if (!all) return;
        mcpi_fit_drop(n, MCPI_FIT_BIT(MCPI_F_TUPLE) | MCPI_FIT_BIT(MCPI_F_ITEMS));
        w = mcpi_fit_put_word(f, n, MCPI_F_ITEMS);
        if (!w) return;
        mcpi_fit_append(w, all);
        mcpi_fit_report(f, "the types of single items become one union");
        tuple = NULL;
    } else if (closed && !tuple) {
        mcpi_fit_note(f, n, "No items.");
        mcpi_fit_drop(n, MCPI_FIT_BIT(MCPI_F_ITEMS));
        w = NULL;
    }
    if (!w && !tuple && none != '-' && n->types) {
        if (none == 'F') { mcpi_fit_lose(f, "items of any type cannot be said", ""); return; }
        mcpi_fit_report(f, "items is added");
        mcpi_fit_put_any(f, n, MCPI_F_ITEMS);
    }
    w = mcpi_fit_find(n, MCPI_F_ITEMS);
    if (w && none == 's' && !f->no_memory) {
        mcpi_fit_child(f, w->first, MCPI_F_ITEMS, MCP_NTS, 0);
        if (w->first->node) w->first->node->typed = true;
    }
}

/* Below the keywords that have schemas in them. */
static void mcpi_fit_finish_words(mcpi_fitter *f, mcpi_fit_node *n, int depth)
{
    mcpi_fit_word *w;
    uint64_t gone = 0;                      /* what would say something else now that a part of it is cut */
    bool cut;
    for (w = n->words; w && !mcpi_fit_stopped(f); w = w->next) {
        mcpi_fit_slot *s;
        size_t index = 0;
        bool list = w->id == MCPI_F_TUPLE;
        if (w->id == MCPI_F_PROPERTIES || w->id == MCPI_F_ANY_OF || w->id == MCPI_F_ONE_OF || w->id == MCPI_F_NEEDS)
            continue;
        if (w->id == MCPI_F_MORE && w->json) continue;
        for (s = w->first; s && !mcpi_fit_stopped(f); s = s->next, index++) {
            if (w->id == MCPI_F_ITEMS && mcp_json_type(s->all.json) == MCP_JSON_BOOL && MCPI_FIT_HAS(n, TUPLE))
                continue;
            cut = f->cut;
            f->cut = false;
            mcpi_fit_child(f, s, w->id, list ? index : MCP_NTS, 0);
            if (s->node && w->id == MCPI_F_NAMES && !s->node->kept) {    /* names are strings */
                uint32_t types = mcpi_fit_own_types(s->node);
                mcpi_fit_drop_strangers(f, s->node, MCPI_T_STRING);
                if (s->node->never || s->node->clash || (types && !mcpi_fit_has_type(types, MCPI_T_STRING)))
                    gone |= MCPI_FIT_BIT(MCPI_F_NAMES);
                s->node->types = MCPI_T_STRING;
                s->node->nullable = false;
                s->node->named = true;
                mcpi_fit_put_word(f, s->node, MCPI_F_TYPE);
            }
            if (s->node && (w->id == MCPI_F_NOT || w->id == MCPI_F_IF || w->id == MCPI_F_THEN || w->id == MCPI_F_ELSE ||
                            w->id == MCPI_F_NEEDS_SCHEMA)) s->node->in_place = true;
            mcpi_fit_child(f, s, w->id, list ? index : MCP_NTS, depth + 1);
            if ((w->id == MCPI_F_NOT || w->id == MCPI_F_IF || w->id == MCPI_F_CONTAINS) && s->node &&
                f->cut) gone |= MCPI_FIT_BIT(w->id);
            if ((w->id == MCPI_F_NOT || w->id == MCPI_F_NAMES) && s->node && !mcpi_fit_typed(s->node) &&
                !(s->node->has & ~MCPI_FIT_ANNOTATIONS))
                gone |= MCPI_FIT_BIT(w->id);
            if (w->id == MCPI_F_NAMES && s->node && s->node->types && !mcpi_fit_has_type(s->node->types, MCPI_T_STRING))
                gone |= MCPI_FIT_BIT(w->id);
            if (gone & MCPI_FIT_BIT(w->id)) {
                if (w->id == MCPI_F_IF) gone |= MCPI_FIT_BIT(MCPI_F_THEN) | MCPI_FIT_BIT(MCPI_F_ELSE);
                if (w->id == MCPI_F_CONTAINS)
                    gone |= MCPI_FIT_BIT(MCPI_F_MIN_CONTAINS) | MCPI_FIT_BIT(MCPI_F_MAX_CONTAINS);
                mcpi_fit_report(f, "%s cannot be said whole and is dropped", mcpi_fit_name(w->id));
            }
            f->cut |= cut;
        }
    }
    mcpi_fit_drop(n, gone);
}

/* A node without a type: any value. */
static void mcpi_fit_finish_anything(mcpi_fitter *f, mcpi_fit_node *n)
{
    char c = mcpi_fit_cell(f, MCPI_F_ANYTHING), nulls = mcpi_fit_cell(f, MCPI_F_NULLS);
    if (n->types == MCPI_T_NULL && (nulls == 'u' || nulls == 'x')) {        /* null alone has no type there */
        n->types = MCPI_T_STRING;
        n->null = true;
        mcpi_fit_report(f, "null alone is told as a string that may be null");
    }
    if (mcpi_fit_typed(n) || n->top || c == 'k') return;
    if (c == 'F') { mcpi_fit_lose(f, "a value of any type cannot be said", ""); return; }
    if (c == 'e' && !n->has && !n->note_len && !n->typed) return;
    n->types = MCPI_T_STRING;
    n->free = f->changed = true;
    mcpi_fit_report(f, "any value is told as a string: JSON in it is parsed");
    mcpi_fit_note(f, n, "Any JSON value.");
}

/* The type is a keyword, too; one that was found out comes first. */
static void mcpi_fit_put_type(mcpi_fitter *f, mcpi_fit_node *n)
{
    mcpi_fit_word *w;
    if (!n->types) { mcpi_fit_drop(n, MCPI_FIT_BIT(MCPI_F_TYPE)); return; }
    if (MCPI_FIT_HAS(n, TYPE)) return;
    w = (mcpi_fit_word *)mcpi_fit_new(f, sizeof *w);
    if (!w) return;
    w->id = MCPI_F_TYPE;
    w->next = n->words;
    n->words = w;
    if (!n->words_last) n->words_last = w;
    n->has |= MCPI_FIT_BIT(MCPI_F_TYPE);
}

/* A reference that is kept: its definition gets a name and waits to be walked. */
static void mcpi_fit_finish_kept(mcpi_fitter *f, mcpi_fit_node *n)
{
    mcpi_fit_target *t = n->kept;
    char *name;
    size_t len = 0, i, stem;
    if (!t->def) {
        size_t max = strlen(t->name) < 60 ? strlen(t->name) : 60;
        name = (char *)mcpi_fit_new(f, 96);
        if (!name) return;
        for (i = 0; i < max; i++) name[len++] = (char)(mcpi_fit_legal_char('a', t->name[i]) ? t->name[i] : '_');
        if (!len) name[len++] = '_';
        for (stem = len, i = f->def_names.n;; i++) {
            mcpi_hashed *e;
            name[len] = 0;
            for (e = mcpi_lookup(&f->def_names, mcpi_hash(name, len)); e; e = mcpi_lookup_next(e))
                if (strcmp((const char *)e->value, name) == 0) break;
            if (!e) break;
            len = stem + mcpi_say(name + stem, 96 - stem, "_%z", i);
        }
        mcpi_fit_index_add(f, &f->def_names, mcpi_hash(name, len), NULL, NULL, name);
        t->def = name;
        if (f->defs_last) f->defs_last->next_def = t;
        else f->defs = t;
        f->defs_last = t;
    }
    if (mcpi_fit_cell(f, MCPI_F_BESIDE_REF) == 'w') {
        if (n->has || n->note_len) mcpi_fit_wrap(f, n);
    } else mcpi_fit_drop(n, ~(MCPI_FIT_BIT(MCPI_F_TITLE) | MCPI_FIT_BIT(MCPI_F_DESCRIPTION)));
}

/* What strictness allows in all, https://platform.openai.com/docs/guides/structured-outputs */
static void mcpi_fit_count_strict(mcpi_fitter *f, const mcpi_fit_node *n)
{
    const mcpi_fit_word *w = mcpi_fit_find(n, MCPI_F_ENUM);
    const mcpi_fit_value *v;
    size_t bytes = 0;
    for (v = w ? w->values : NULL; v; v = v->next) if (mcpi_has_text(v->json)) bytes += v->json->n;
    f->strict_values += w ? w->n : 0;
    f->strict_names += bytes;
    if (f->strict_values > 1000 || f->strict_names > 120000 || f->strict_properties > 5000 ||
        (w && w->n > 250 && bytes > 15000)) {
        mcpi_fit_lose(f, "over the size that strictness allows", "");
    }
}

/* Keywords keep the order in which they came. Those that may have been read and written anew go to the end, so that the
   order is the same when the result is fitted again. */
static void mcpi_fit_to_end(mcpi_fit_node *n, int id)
{
    mcpi_fit_word *w = mcpi_fit_find(n, id), **at;
    if (!w || !w->next) return;
    for (at = &n->words; *at != w; at = &(*at)->next) { }
    *at = w->next;
    w->next = NULL;
    n->words_last->next = w;
    n->words_last = w;
}

/* Makes of a node that has absorbed all it says, what the profile takes, and walks on. */
static void mcpi_fit_finish(mcpi_fitter *f, mcpi_fit_node *n, int depth)
{
    int rounds = 0;
    mcpi_fit_open(n, true);
again:
    mcpi_fit_reconcile(f, n);
    mcpi_fit_sort_unions(f, n);
    if (mcpi_fit_stopped(f)) return;
    mcpi_fit_settle_types(f, n);
    mcpi_fit_shallow(f, n, depth);
    if (n->branches && mcpi_fit_cell(f, MCPI_F_PUSH) == 'p') {
        mcpi_fit_push(f, n);
        if (mcpi_fit_stopped(f)) return;
        if (mcpi_fit_few_branches(f, n, n->outer)) goto again;
    } else if (!n->branches && !n->top && mcpi_fit_must_split(f, n)) mcpi_fit_split(f, n);
    if (n->branches) {
        mcpi_fit_finish_branches(f, n, depth);
        if (mcpi_fit_stopped(f)) return;
        if (mcpi_fit_few_branches(f, n, n->outer) && ++rounds < 8) goto again;
    }
    mcpi_fit_apply(f, n);
    if (mcpi_fit_has_type(n->types, MCPI_T_OBJECT) || MCPI_FIT_HAS(n, PROPERTIES) || MCPI_FIT_HAS(n, REQUIRED) ||
        MCPI_FIT_HAS(n, NEEDS))
        mcpi_fit_finish_object(f, n, depth);
    if (mcpi_fit_has_type(n->types, MCPI_T_ARRAY) || MCPI_FIT_HAS(n, ITEMS) || MCPI_FIT_HAS(n, TUPLE))
        mcpi_fit_finish_array(f, n);
    mcpi_fit_finish_words(f, n, depth);
    mcpi_fit_finish_anything(f, n);
    if (n->kept) mcpi_fit_finish_kept(f, n);
    if (n->null && !n->top && (n->named || !mcpi_fit_allow_null(f, n))) n->null = false;
    mcpi_fit_put_type(f, n);
    if (n->wrapped) mcpi_fit_put_type(f, n->wrapped);
    if (f->strict) mcpi_fit_count_strict(f, n);
    mcpi_fit_to_end(n, MCPI_F_ANY_OF);
    mcpi_fit_to_end(n, MCPI_F_ONE_OF);
    mcpi_fit_to_end(n, MCPI_F_NULLABLE);
    if (f->plain && depth > 1) {
        n->note_len = 0;
        n->description = NULL;
        mcpi_fit_drop(n, ~(MCPI_FIT_BIT(MCPI_F_TYPE) | MCPI_FIT_BIT(MCPI_F_NULLABLE) | MCPI_FIT_BIT(MCPI_F_ITEMS) |
                           MCPI_FIT_BIT(MCPI_F_ANY_OF) | MCPI_FIT_BIT(MCPI_F_PROPERTIES) |
                           MCPI_FIT_BIT(MCPI_F_REQUIRED) | MCPI_FIT_BIT(MCPI_F_MORE)));
    }
    mcpi_fit_open(n, false);
    n->done = true;
}

/* -- the root ---------------------------------------------------------------------------------------------------- */
/* No provider takes a union at the root. Its variants become one object: all their properties, of which those are
   required that every variant requires; and a line in the description that tells the variants apart. */

/* "(path) | (href)": what each variant requires and not all do; a tag with its value. */
static void mcpi_fit_tell_variants(mcpi_fitter *f, mcpi_fit_node *n, const mcpi_fit_word *variants)
{
    char text[MCPI_FIT_NOTES_ROOT / 2];
    mcpi_said t;
    const mcpi_fit_slot *s;
    bool any = false;
    t.buf = text; t.cap = sizeof text; t.len = 0; t.full = false;
    for (s = variants->first; s && !t.full; s = s->next) {
        const mcpi_fit_word *w = mcpi_fit_find(s->node, MCPI_F_REQUIRED),
            *p = mcpi_fit_find(s->node, MCPI_F_PROPERTIES);
        const mcpi_fit_value *v;
        bool first = true;
        mcpi_say_bytes(&t, s == variants->first ? "(" : " | (", s == variants->first ? 1 : 4);
        for (v = w ? w->values : NULL; v; v = v->next) {
            mcpi_fit_slot *own = mcpi_fit_slot_of(p, v->json->u.text, v->json->n);
            const mcp_json *is = own ? mcp_json_get(own->all.json, "const") : NULL;
            mcpi_fit_slot *all = mcpi_fit_slot_of(mcpi_fit_find(n, MCPI_F_PROPERTIES), v->json->u.text, v->json->n);
            if (!is && all && all->needed) continue;
            if (!first) mcpi_say_bytes(&t, ", ", 2);
            mcpi_say_string(&t, v->json->u.text, 40);
            if (is && mcpi_has_text(is))
                { mcpi_say_bytes(&t, " ", 1); mcpi_say_string(&t, is->u.text, 40); }
            first = false;
            any = true;
        }
        mcpi_say_bytes(&t, ")", 1);
    }
    if (t.full) mcpi_say_mend(&t);
    text[t.len] = 0;
    if (any) mcpi_fit_note(f, n, "Variants: %s.", text);
}

/* One property of a variant: a new one of the root, or one more form of one that is there. `round` tells properties
   that came with this union from older ones, which hold at the same time. */
static void mcpi_fit_fold_property(mcpi_fitter *f, mcpi_fit_word *p, const mcpi_fit_slot *own, uint32_t round)
{
    mcpi_fit_slot *s = mcpi_fit_slot_of(p, own->key, own->key_len), *more, *last;
    mcpi_fit_work(f, 1);
    if (!s) {
        s = mcpi_fit_clone_slot(f, own);
        if (!s) return;
        s->round = round;
        s->count = 1;
        mcpi_fit_append_named(f, p, s);
        return;
    }
    if (s->round != round && s->other) return;              /* two unions speak of it: the first one counts */
    if (s->round != round) {
        more = mcpi_fit_clone_slot(f, s);
        if (!more) return;
        mcpi_fit_conjoin(f, more, own);
    } else {
        if (!s->all.next && !own->other && !own->all.next && mcpi_fit_same(s->all.json, own->all.json))
            { s->count++; return; }
        more = mcpi_fit_clone_slot(f, own);
        if (!more) return;
    }
    s->count++;
    for (last = more; last->other; last = last->other) { }
    if (s->forms) s->forms_last->other = more;
    else s->forms = more;
    s->forms_last = last;
}

/* Merges the variants into the node. */
static void mcpi_fit_fold_variants(mcpi_fitter *f, mcpi_fit_node *n, mcpi_fit_word *variants, bool one)
{
    mcpi_fit_word *p = mcpi_fit_put_word(f, n, MCPI_F_PROPERTIES), *needs, *w;
    mcpi_fit_slot *s, *own;
    mcpi_fit_value *v;
    uint32_t round = ++f->serial;
    bool closed = true;
    if (!p) return;
    for (s = variants->first; s && !mcpi_fit_stopped(f); s = s->next) {
        w = mcpi_fit_find(s->node, MCPI_F_PROPERTIES);
        for (own = w ? w->first : NULL; own && !mcpi_fit_stopped(f); own = own->next)
            mcpi_fit_fold_property(f, p, own, round);
        w = mcpi_fit_find(s->node, MCPI_F_MORE);
        closed &= w && !w->first;
        for (w = s->node->words; w; w = w->next)
            if (w->id != MCPI_F_PROPERTIES && w->id != MCPI_F_REQUIRED && w->id != MCPI_F_TYPE &&
                w->id != MCPI_F_MORE &&
                !(MCPI_FIT_ANNOTATIONS >> w->id & 1)) mcpi_fit_report(f, "%s of a variant is dropped",
                                                                      mcpi_fit_name(w->id));
    }
    for (s = p->first; s; s = s->next) {                    /* the forms of a property become alternatives */
        if (s->forms && s->round != round) {                /* it was there before: only if all variants narrow it */
            if (s->count == variants->n)
                { s->all = s->forms->all; s->last = s->forms->last; s->other = s->forms->other; }
            if (s->last == &s->forms->all) s->last = &s->all;
        } else if (s->forms) {
            for (own = s; own->other; own = own->other) { }
            own->other = s->forms;
        }
        s->forms = NULL;
        s->count = 0;
        s->round = 0;
    }
    needs = mcpi_fit_put_word(f, n, MCPI_F_REQUIRED);       /* what all require is required */
    for (s = variants->first; s && needs && !mcpi_fit_stopped(f); s = s->next) {
        uint32_t stamp = ++f->serial;
        w = mcpi_fit_find(s->node, MCPI_F_REQUIRED);
        for (v = w ? w->values : NULL; v; v = v->next) {
            own = mcpi_fit_slot_of(p, v->json->u.text, v->json->n);
            mcpi_fit_work(f, 1);
            if (!own || own->round == stamp) continue;
            own->round = stamp;
            if (++own->count == variants->n) { own->needed = true; mcpi_fit_append_value(f, needs, v->json, NULL); }
        }
    }
    if (closed && !MCPI_FIT_HAS(n, MORE) && mcpi_fit_put_word(f, n, MCPI_F_MORE)) n->closed = UINT32_MAX;
    mcpi_fit_tell_variants(f, n, variants);
    mcpi_fit_report(f, "the %z variants of %s become one object", (size_t)variants->n, one ? "oneOf" : "anyOf");
    for (s = p->first; s; s = s->next) { s->needed = false; s->round = s->count = 0; }
}

/* A variant that is a union itself stands for several: what follows s instead of it. */
static void mcpi_fit_flatten(mcpi_fitter *f, mcpi_fit_slot *s)
{
    mcpi_fit_node *v = s->node;
    mcpi_fit_union *u = v->unions;
    mcpi_fit_word inner;
    mcpi_fit_slot *b;
    bool null = false;
    v->unions = u->next;
    memset(&inner, 0, sizeof inner);
    mcpi_fit_open(v, true);
    mcpi_fit_read_branches(f, &inner, u, 0, &null);
    mcpi_fit_open(v, false);
    for (b = inner.first; b && !mcpi_fit_stopped(f); b = b->next) {
        mcpi_fit_node *both = mcpi_fit_new_node(f);
        if (!both) return;
        if (++f->nodes > f->d.max_nodes) f->over = true;
        mcpi_fit_merge(f, both, v, true);
        mcpi_fit_merge(f, both, b->node, true);
        mcpi_fit_settle(f, both);
        b->node = both;
    }
    if (!inner.n && (b = mcpi_fit_clone_slot(f, s)) != NULL) {      /* nothing fits the inner one: without it */
        b->node = v;
        mcpi_fit_append(&inner, b);
    }
    if (!inner.n) return;
    inner.last->next = s->next;
    s->next = inner.first;
}

/* Folds all unions of the root. False: no branch is an object. */
static bool mcpi_fit_fold(mcpi_fitter *f, mcpi_fit_node *n)
{
    bool object = true;
    while (n->unions && !mcpi_fit_stopped(f)) {
        mcpi_fit_union *u = n->unions;
        mcpi_fit_word all, variants;
        mcpi_fit_slot *s, *next;
        int nested = 0;
        bool null = false, needs = true;
        n->unions = u->next;
        if (!n->unions) n->unions_last = NULL;
        memset(&all, 0, sizeof all);
        memset(&variants, 0, sizeof variants);
        mcpi_fit_read_branches(f, &all, u, 0, &null);
        for (s = all.first; s && !mcpi_fit_stopped(f); s = next) {
            uint32_t own = mcpi_fit_own_types(s->node), types = own ? own : mcpi_fit_guess_type(s->node);
            bool fits = !types || mcpi_fit_has_type(types, MCPI_T_OBJECT);
            if (nested >= 64) s->node->unions = NULL;       /* enough */
            if (fits && s->node->unions) { nested++; mcpi_fit_flatten(f, s); next = s->next; continue; }
            next = s->next;
            if (!fits) { mcpi_fit_report(f, "a variant is no object and is dropped"); continue; }
            mcpi_fit_check_closed(f, s->node);
            needs &= mcpi_fit_only_needs(s->node);
            mcpi_fit_append(&variants, s);
        }
        if (!variants.n) {
            if (all.n) object = false;
            mcpi_fit_report(f, "no variant of %s is an object: it is dropped", u->one ? "oneOf" : "anyOf");
        } else if (needs && variants.n > 1) mcpi_fit_tell_needs(f, n, variants.first, u->one);
        else if (variants.n == 1) {
            mcpi_fit_take_in(f, n, variants.first->node);
        } else mcpi_fit_fold_variants(f, n, &variants, u->one);
    }
    return object;
}

/* The root that holds a schema of another type than object as its property "input". */
static void mcpi_fit_put_input(mcpi_fitter *f, mcpi_fit_node *n)
{
    mcpi_fit_word *w = mcpi_fit_put_word(f, n, MCPI_F_PROPERTIES);
    mcpi_fit_slot *s = w ? mcpi_fit_put_slot(f, w, f->root, f->root, "input", 5) : NULL;
    if (!s) return;
    mcpi_fit_need(f, n, s);
    s->needed = false;                      /* mcpi_fit_finish_required marks it */
    mcpi_fit_report(f, "the schema is no object: it is sent as property \"input\" of one");
    f->changed = true;
}

/* The tree of the whole schema. *wrap: the root is no object and has to be wrapped; the caller tries again. */
static mcpi_fit_node *mcpi_fit_tree(mcpi_fitter *f, bool *wrap)
{
    mcpi_fit_node *n = mcpi_fit_new_node(f);
    mcpi_fit_place here;
    mcpi_fit_target *t;
    uint32_t types;
    bool object = true;
    f->top.json = f->root;
    f->place = &f->top;
    if (!n) return NULL;
    n->top = n->no_keep = true;
    f->nodes++;
    if (f->wrapped) { f->top.json = NULL; mcpi_fit_put_input(f, n); }
    else if (mcp_json_type(f->root) == MCP_JSON_OBJECT) {
        mcpi_fit_absorb_one(f, n, f->root, f->root);
        mcpi_fit_settle(f, n);
        mcpi_fit_open(n, true);
        types = MCPI_FIT_HAS(n, PROPERTIES) ? 0 : mcpi_fit_own_types(n);    /* with properties it is an object */
        if (types && types != MCPI_T_NULL && !mcpi_fit_has_type(types, MCPI_T_OBJECT)) object = false;
        mcpi_fit_check_closed(f, n);
        if (object && !mcpi_fit_fold(f, n) && !MCPI_FIT_HAS(n, PROPERTIES) && !n->types) object = false;
        mcpi_fit_open(n, false);
        if (!object && !mcpi_fit_stopped(f)) { *wrap = true; return NULL; }
        if (MCPI_FIT_HAS(n, ENUM))
            { mcpi_fit_tell(f, n, mcpi_fit_find(n, MCPI_F_ENUM)); mcpi_fit_drop(n, MCPI_FIT_BIT(MCPI_F_ENUM)); }
        if (n->never || n->clash) {
            mcpi_fit_report(f, "no value fits the schema: its constraints are dropped");
            n->never = n->clash = false;
        }
    } else mcpi_fit_report(f, "there is no object schema: an object without properties");
    n->types = MCPI_T_OBJECT;
    n->null = n->nullable = false;
    if (!mcpi_fit_stopped(f)) mcpi_fit_finish(f, n, 1);
    for (t = f->defs; t && !mcpi_fit_stopped(f); t = t->next_def) {
        memset(&here, 0, sizeof here);
        here.up = &f->top;
        here.id = MCPI_F_DEFS;
        here.key = t->def;
        here.len = strlen(t->def);
        f->place = &here;
        f->optional = false;
        f->walked = t;
        f->top.json = NULL;
        t->node = mcpi_fit_new_node(f);
        if (!t->node) return NULL;
        if (++f->nodes > f->d.max_nodes) f->over = true;
        t->node->no_keep = true;
        t->node->serial = t->stamp = ++f->serial;
        mcpi_fit_absorb_one(f, t->node, t->json, t->base);
        mcpi_fit_settle(f, t->node);
        if (!mcpi_fit_stopped(f)) mcpi_fit_finish(f, t->node, 2);
    }
    f->place = &f->top;
    return mcpi_fit_stopped(f) ? NULL : n;
}

/* -- writing ----------------------------------------------------------------------------------------------------- */

/* Is a code point part of the character before it: marks, joiners, variation selectors, skin tones, tags? */
static bool mcpi_fit_joins(uint32_t c)
{
    static const uint32_t ranges[] = {
        0x0300, 0x036F, 0x0483, 0x0489, 0x0591, 0x05BD, 0x0610, 0x061A, 0x064B, 0x065F, 0x093A, 0x093C, 0x093E, 0x094F,
        0x0E31, 0x0E31, 0x0E34, 0x0E3A, 0x0E47, 0x0E4E, 0x1AB0, 0x1AFF, 0x1DC0, 0x1DFF, 0x200D, 0x200D, 0x20D0, 0x20FF,
        0x3099, 0x309A, 0xFE00, 0xFE0F, 0xFE20, 0xFE2F, 0x1F3FB, 0x1F3FF, 0xE0020, 0xE007F, 0xE0100, 0xE01EF
    };
    size_t i;
    if (c < 0x300) return false;
    for (i = 0; i < sizeof ranges / sizeof *ranges; i += 2) if (c >= ranges[i] && c <= ranges[i + 1]) return true;
    return false;
}

/* How many bytes of a text to keep so that it has at most `most` code points with an ellipsis behind it: cut at the end
   of a sentence or of a word if there is one in the last fifth, and never inside of a character. */
static size_t mcpi_text_cut(const char *s, size_t n, size_t most)
{
    const char *p = s, *end = s + n, *at, *word = NULL, *sentence = NULL;
    size_t count = 0;
    uint32_t c, before = 0;
    while (p < end && count <= most) { mcpi_utf8_take(&p, end); count++; }
    if (count <= most) return n;
    for (p = at = s, count = 0; p < end && count < most; count++) {     /* `at`: where it may be cut */
        const char *here = p;
        c = mcpi_utf8_take(&p, end);
        if (!mcpi_fit_joins(c) && before != 0x200D) {
            at = here;
            if (count >= most - most / 5 && here > s) {
                if (c == ' ' || c == '\n' || c == '\t') word = here;
                if ((c == ' ' || c == '\n') && (before == '.' || before == '!' || before == '?')) sentence = here;
                if (before == 0x3002 || before == 0xFF01 || before == 0xFF1F) sentence = here;
            }
        }
        before = c;
    }
    if (sentence) at = sentence;
    else if (word) at = word;
    while (at > s && (at[-1] == ' ' || at[-1] == '\n' || at[-1] == '\t')) at--;
    return (size_t)(at - s);
}

/* The description with the notes behind it; of a text that is cut, the notes stay. */
static void mcpi_fit_write_description(mcpi_fitter *f, mcp_writer *out, const mcpi_fit_node *n)
{
    size_t len = n->description_len, most = f->d.max_description, notes = 0, keep, i;
    char *text, *p;
    if (!n->note_len && !most) { mcp_put_strn(out, "description", n->description ? n->description : "", len); return; }
    for (i = 0; i < n->note_len; i++) notes += (n->note[i] & 0xC0) != 0x80;
    if (n->note_len) while (len && mcpi_is_blank(n->description[len - 1])) len--;
    p = text = (char *)mcp_arena_alloc(f->arena, len + n->note_len + 8);
    if (!text) { f->no_memory = true; return; }
    keep = most && len ? mcpi_text_cut(n->description, len, most > notes + 2 ? most - notes - (notes ? 2 : 0) : 1) :
        len;
    if (keep) memcpy(p, n->description, keep);
    p += keep;
    if (keep < len && (keep || !n->note_len)) { memcpy(p, MCPI_FIT_ELLIPSIS, 3); p += 3; }
    else if (len && keep == len && n->note_len && mcpi_fit_legal_char('i', p[-1])) *p++ = '.';
    if (n->note_len && p != text) *p++ = ' ';
    if (n->note_len) memcpy(p, n->note, n->note_len);
    p += n->note_len;
    if (most && notes >= most) {                            /* not even they fit */
        keep = mcpi_text_cut(text, (size_t)(p - text), most);
        if (keep < (size_t)(p - text)) { memcpy(text + keep, MCPI_FIT_ELLIPSIS, 3); p = text + keep + 3; }
    }
    mcp_put_strn(out, "description", text, (size_t)(p - text));
}

static void mcpi_fit_write_types(mcp_writer *out, uint32_t types)
{
    if (types < 16) { mcp_put_str(out, "type", mcpi_fit_types[types & 7]); return; }
    mcp_put_array(out, "type");
    for (; types; types >>= 4) mcp_put_str(out, NULL, mcpi_fit_types[types & 7]);
    mcp_put_end(out);
}

static const char *mcpi_fit_key_of(const mcpi_fit_slot *s)
{
    return s->sent ? s->sent : s->key;
}

/* {"a": ["b"]} of "dependentRequired", with the names that are sent. */
static void mcpi_fit_write_needs(mcp_writer *out, const mcpi_fit_node *n, const mcpi_fit_word *w)
{
    const mcpi_fit_word *p = mcpi_fit_find(n, MCPI_F_PROPERTIES);
    const mcpi_fit_slot *s, *own;
    mcp_put_object(out, mcpi_fit_name(w->id));
    for (s = w->first; s; s = s->next) {
        own = mcpi_fit_slot_of(p, s->key, s->key_len);
        if (!own) continue;
        mcp_put_array(out, mcpi_fit_key_of(own));
        mcp_json_each(item, s->all.json)
            if (mcp_json_type(item) == MCP_JSON_STRING && (own = mcpi_fit_slot_of(p, item->u.text, item->n)) != NULL)
                mcp_put_str(out, NULL, mcpi_fit_key_of(own));
        mcp_put_end(out);
    }
    mcp_put_end(out);
}

static bool mcpi_fit_is_any(const mcpi_fit_node *n)
{
    return n && !n->has && !mcpi_fit_typed(n) && !n->note_len;
}

/* One schema of a keyword: false only where the profile may have it. */
static void mcpi_fit_write_place(mcpi_fitter *f, mcp_writer *out, const mcpi_fit_slot *s, const char *key)
{
    if (s->node) mcpi_fit_write(f, out, s->node, key);
    else mcp_put_bool(out, key, mcp_json_bool(s->all.json, false));
}

static void mcpi_fit_write_word(mcpi_fitter *f, mcp_writer *out, const mcpi_fit_node *n, const mcpi_fit_word *w)
{
    const char *name = mcpi_fit_name(w->id);
    const mcpi_fit_slot *s;
    const mcpi_fit_value *v;
    switch (w->id) {
    case MCPI_F_TYPE: mcpi_fit_write_types(out, n->types); break;
    case MCPI_F_DESCRIPTION: mcpi_fit_write_description(f, out, n); break;
    case MCPI_F_ENUM:
        if (n->constant && w->n == 1 && mcpi_fit_cell(f, MCPI_F_CONST) == 'k')
            { mcp_put_json(out, "const", w->values->json); break; }
        mcp_put_array(out, name);
        for (v = w->values; v; v = v->next) mcp_put_json(out, NULL, v->json);
        mcp_put_end(out);
        break;
    case MCPI_F_REQUIRED:
        mcp_put_array(out, name);
        for (v = w->values; v; v = v->next) mcp_put_str(out, NULL, mcpi_fit_key_of(v->slot));
        mcp_put_end(out);
        break;
    case MCPI_F_NULLABLE: mcp_put_bool(out, name, true); break;
    case MCPI_F_NEEDS: mcpi_fit_write_needs(out, n, w); break;
    case MCPI_F_PROPERTIES: case MCPI_F_PATTERNS: case MCPI_F_NEEDS_SCHEMA:
        mcp_put_object(out, name);
        for (s = w->first; s; s = s->next) mcpi_fit_write_place(f, out, s, mcpi_fit_key_of(s));
        mcp_put_end(out);
        break;
    case MCPI_F_TUPLE: case MCPI_F_ANY_OF: case MCPI_F_ONE_OF:
        mcp_put_array(out, name);
        for (s = w->first; s; s = s->next) mcpi_fit_write_place(f, out, s, NULL);
        mcp_put_end(out);
        break;
    case MCPI_F_MORE:
        if (!w->first) mcp_put_bool(out, name, false);
        else if (w->json || (mcpi_fit_cell(f, MCPI_F_ANYTHING) != 'k' &&
                             mcpi_fit_is_any(w->first->node))) mcp_put_bool(out, name, true);
        else mcpi_fit_write_place(f, out, w->first, name);
        break;
    case MCPI_F_ITEMS: case MCPI_F_NAMES: case MCPI_F_CONTAINS: case MCPI_F_NOT: case MCPI_F_IF: case MCPI_F_THEN:
        case MCPI_F_ELSE:
        mcpi_fit_write_place(f, out, w->first, name);
        break;
    default: mcp_put_json(out, name, w->json); break;
    }
}

/* Writes a finished node. */
static void mcpi_fit_write(mcpi_fitter *f, mcp_writer *out, const mcpi_fit_node *n, const char *key)
{
    const mcpi_fit_word *w;
    const mcpi_fit_target *t;
    char ref[112];
    if (out->status != MCP_OK) return;
    if (n->text) { mcpi_put_splice(out, key, n->text, n->text_len); return; }
    mcp_put_object(out, key);
    if (n->kept) {
        mcpi_say(ref, sizeof ref, "#/$defs/%s", n->kept->def);
        mcp_put_str(out, "$ref", ref);
    }
    if (n->note_len && !MCPI_FIT_HAS(n, DESCRIPTION)) mcpi_fit_write_description(f, out, n);
    for (w = n->words; w; w = w->next) mcpi_fit_write_word(f, out, n, w);
    if (n->top && f->defs) {
        mcp_put_object(out, "$defs");
        for (t = f->defs; t; t = t->next_def) mcpi_fit_write(f, out, t->node, t->def);
        mcp_put_end(out);
    }
    mcp_put_end(out);
}

/* -- the way back ------------------------------------------------------------------------------------------------ */
/* A second tree, kept with the fit: of each object its properties by the names that were sent, with their own names.
   It is only there if something has to be undone. Where references were kept, it has circles, as the schema has. */

typedef struct mcpi_undo_member {
    const char *sent, *key;                 /* both end in NUL */
    size_t sent_len, key_len;
    const mcp_json *only;                   /* the one value that it may have: it tells variants apart */
    struct mcpi_undo *undo;
    bool invented;
} mcpi_undo_member;

typedef struct mcpi_undo {
    mcpi_undo_member *members;              /* in the order of mcpi_undo_order */
    size_t n;
    struct mcpi_undo *more, *items;         /* of properties that are not listed; of items */
    struct mcpi_undo_link *others;          /* branches: one of these */
    unsigned mask;                          /* types; 0: any */
    bool free;                              /* a string may be JSON */
} mcpi_undo;

typedef struct mcpi_undo_link { mcpi_undo *undo; struct mcpi_undo_link *next; } mcpi_undo_link;

struct mcp_fit {
    const char *notes;
    const mcpi_undo *undo;
    const struct mcp_fit *inner;            /* what came before it */
    bool strict, wrapped;
};

static int mcpi_undo_order(const void *a, const void *b)
{
    const mcpi_undo_member *x = (const mcpi_undo_member *)a, *y = (const mcpi_undo_member *)b;
    if (x->sent_len != y->sent_len) return x->sent_len < y->sent_len ? -1 : 1;
    return memcmp(x->sent, y->sent, x->sent_len);
}

static void *mcpi_undo_new(mcpi_fitter *f, mcp_arena *a, size_t size)
{
    void *p = mcp_arena_alloc(a, size ? size : 1);
    if (p) memset(p, 0, size);
    else f->no_memory = true;
    return p;
}

static const char *mcpi_undo_text(mcpi_fitter *f, mcp_arena *a, const char *s, size_t n)
{
    char *copy = (char *)mcpi_undo_new(f, a, n + 1);
    if (copy && n) memcpy(copy, s, n);
    return copy;
}

static mcpi_undo *mcpi_undo_of(mcpi_fitter *f, mcp_arena *a, const mcpi_fit_node *n, const mcp_json *json);

/* Adds what may stand in any of these places. */
static void mcpi_undo_any(mcpi_fitter *f, mcp_arena *a, const mcpi_fit_word *w, mcpi_undo **all)
{
    const mcpi_fit_slot *s;
    for (s = w ? w->first : NULL; s && !f->no_memory; s = s->next) {
        mcpi_undo_link *link;
        mcpi_undo *u = s->node && s->node->types != MCPI_T_NULL ? mcpi_undo_of(f, a, s->node, s->all.json)
                                                                : NULL;
        if (!u) continue;
        if (!*all && !s->next) { *all = u; return; }        /* the only one */
        if (!*all && !(*all = (mcpi_undo *)mcpi_undo_new(f, a, sizeof **all))) return;
        link = (mcpi_undo_link *)mcpi_undo_new(f, a, sizeof *link);
        if (!link) return;
        link->undo = u;
        link->next = (*all)->others;
        (*all)->others = link;
    }
}

static void mcpi_undo_fill(mcpi_fitter *f, mcp_arena *a, const mcpi_fit_node *n, mcpi_undo *u)
{
    const mcpi_fit_word *p = mcpi_fit_find(n, MCPI_F_PROPERTIES), *w;
    const mcpi_fit_slot *s;
    mcpi_undo_member *m;
    mcpi_undo *more = NULL, *all = NULL;
    u->mask = mcpi_fit_mask(n->types);
    if (u->mask >> MCPI_T_NUMBER & 1) u->mask |= 1u << MCPI_T_INTEGER;
    u->free = n->free;
    mcpi_undo_any(f, a, n->branches, &all);
    if (all && (u->others = (mcpi_undo_link *)mcpi_undo_new(f, a, sizeof *u->others)) != NULL) u->others->undo = all;
    u->members = (mcpi_undo_member *)mcpi_undo_new(f, a, (p ? p->n : 0) * sizeof *u->members);
    for (s = p ? p->first : NULL; s && !f->no_memory; s = s->next) {
        m = u->members + u->n++;
        m->key = mcpi_undo_text(f, a, s->key, s->key_len);
        m->key_len = s->key_len;
        m->sent = s->sent && s->sent != s->key ? mcpi_undo_text(f, a, s->sent, strlen(s->sent)) : m->key;
        m->sent_len = m->sent && m->sent != m->key ? strlen(m->sent) : s->key_len;
        m->invented = s->invented;
        if (!s->node) continue;
        w = mcpi_fit_find(s->node, MCPI_F_ENUM);
        if (w && w->n == 1) m->only = mcp_json_copy(a, w->values->json);
        m->undo = mcpi_undo_of(f, a, s->node, s->all.json);
    }
    if (f->no_memory) return;
    if (u->n) qsort(u->members, u->n, sizeof *u->members, mcpi_undo_order);
    mcpi_undo_any(f, a, mcpi_fit_find(n, MCPI_F_PATTERNS), &more);
    w = mcpi_fit_find(n, MCPI_F_MORE);
    if (w && !w->json) mcpi_undo_any(f, a, w, &more);
    u->more = more;
    all = NULL;
    mcpi_undo_any(f, a, mcpi_fit_find(n, MCPI_F_TUPLE), &all);
    mcpi_undo_any(f, a, mcpi_fit_find(n, MCPI_F_ITEMS), &all);
    u->items = all;
}

/* `json`: where the node was read. A shape that is not expanded again has the way back of the one around it. */
static mcpi_undo *mcpi_undo_of(mcpi_fitter *f, mcp_arena *a, const mcpi_fit_node *n, const mcp_json *json)
{
    const mcpi_fit_word *p = mcpi_fit_find(n, MCPI_F_PROPERTIES);
    const mcpi_fit_active *into;
    mcpi_fit_target *t;
    mcpi_undo *u;
    if (n->kept) return n->kept->undo;
    if (n->again && n->again->undo && !(p && p->n)) return n->again->undo;
    u = (mcpi_undo *)mcpi_undo_new(f, a, sizeof *u);
    if (!u) return NULL;
    if (f->cyclic && !f->keep) {
        for (into = n->targets; into; into = into->next) into->target->undo = u;
        if (json && (t = mcpi_fit_target_at(f, json, json)) != NULL) t->undo = u;
    }
    mcpi_undo_fill(f, a, n, u);
    return u;
}

/* The tree for the way back, with those of the definitions. */
static const mcpi_undo *mcpi_undo_tree(mcpi_fitter *f, mcp_arena *a, const mcpi_fit_node *root)
{
    mcpi_fit_target *t;
    for (t = f->defs; t; t = t->next_def) t->undo = (mcpi_undo *)mcpi_undo_new(f, a, sizeof *t->undo);
    for (t = f->defs; t && !f->no_memory; t = t->next_def) mcpi_undo_fill(f, a, t->node, t->undo);
    return f->no_memory ? NULL : mcpi_undo_of(f, a, root, f->root);
}

static const mcpi_undo_member *mcpi_undo_find(const mcpi_undo *u, const char *key, size_t len)
{
    mcpi_undo_member like;
    if (!u || !u->n) return NULL;
    memset(&like, 0, sizeof like);
    like.sent = key;
    like.sent_len = len;
    return (const mcpi_undo_member *)bsearch(&like, u->members, u->n, sizeof *u->members, mcpi_undo_order);
}

/* How well a value fits a branch: by its type, its keys, and the tag that tells variants apart. */
enum { MCPI_UNDO_BRANCHES = 256, MCPI_UNDO_NESTED = 8 };
static long mcpi_undo_score(const mcpi_undo *u, const mcp_json *v, int nested)
{
    const mcpi_undo_link *link;
    const mcpi_undo_member *m;
    long best = -1000000, score;
    int left = MCPI_UNDO_BRANCHES;
    if (u->others) {
        for (link = u->others; link && left-- && nested < MCPI_UNDO_NESTED; link = link->next) {
            score = mcpi_undo_score(link->undo, v, nested + 1);
            if (score > best) best = score;
        }
        return best;
    }
    if (u->mask && !(u->mask >> mcpi_fit_type_of_value(v) & 1)) return best;
    if (mcp_json_type(v) != MCP_JSON_OBJECT) return u->mask != 0;
    score = u->mask != 0;
    mcp_json_each(item, v) {
        m = mcpi_undo_find(u, item[-1].u.text, item[-1].n);
        if (!m) score -= 1;
        else if (m->only && !mcpi_is_container(m->only)) score += mcpi_equal(m->only, item) ? 100 : -1000;
        else score += 2;
    }
    return score;
}

static const mcpi_undo *mcpi_undo_pick(const mcpi_undo *u, const mcp_json *v)
{
    int nested;
    for (nested = 0; u && u->others && nested < MCPI_UNDO_NESTED; nested++) {
        const mcpi_undo_link *link = u->others;
        long most = mcpi_undo_score(link->undo, v, nested), score;
        int left = MCPI_UNDO_BRANCHES;
        for (u = link->undo; (link = link->next) != NULL && left--;) {
            score = mcpi_undo_score(link->undo, v, nested);
            if (score >= most) { most = score; u = link->undo; }    /* the list is in reverse */
        }
    }
    return u;
}

/* A string that is a whole JSON text becomes that. */
static void mcpi_undo_string(mcp_writer *out, const char *key, const mcp_json *v)
{
    mcp_arena a;
    const mcp_json *parsed;
    size_t pos = 0;
    mcp_arena_init(&a, &out->alloc, 0);
    parsed = mcp_json_parse(&a, v->u.text, v->n, &pos);
    if (!parsed && pos == MCP_NTS && v->n) mcpi_put_fail(out, MCP_ERR_MEMORY);
    mcp_put_json(out, key, parsed ? parsed : v);
    mcp_arena_free(&a);
}

/* A property, as the branch knows it, or else what stands beside the branches. */
static const mcpi_undo_member *mcpi_undo_member_of(const mcpi_undo *branch, const mcpi_undo *outer, const char *key,
                                                   size_t len)
{
    const mcpi_undo_member *m = mcpi_undo_find(branch, key, len), *o = branch == outer ? NULL :
        mcpi_undo_find(outer, key, len);
    const mcpi_undo *u = m ? m->undo : NULL;
    return o && (!m || !u || !(u->n || u->others || u->items || u->more || u->free)) ? o : m;
}

static void mcpi_undo_write(const mcpi_undo *u, const char *key, const mcp_json *v, mcp_writer *out)
{
    const mcpi_undo *outer = u;
    u = mcpi_undo_pick(u, v);
    if (out->status != MCP_OK) return;
    if (u && u->free && mcp_json_type(v) == MCP_JSON_STRING) mcpi_undo_string(out, key, v);
    else if (u && mcp_json_type(v) == MCP_JSON_OBJECT) {
        mcp_put_object(out, key);
        mcp_json_each(item, v) {
            const mcpi_undo_member *m = mcpi_undo_member_of(u, outer, item[-1].u.text, item[-1].n);
            if (!m) mcpi_undo_write(u->more ? u->more : outer->more, item[-1].u.text, item, out);
            else if (!m->invented || mcp_json_type(item) != MCP_JSON_NULL) mcpi_undo_write(m->undo, m->key, item, out);
        }
        mcp_put_end(out);
    } else if (u && mcp_json_type(v) == MCP_JSON_ARRAY) {
        mcp_put_array(out, key);
        mcp_json_each(item, v) mcpi_undo_write(u->items ? u->items : outer->items, NULL, item, out);
        mcp_put_end(out);
    } else mcp_put_json(out, key, v);
}

int mcp_schema_unfit(const mcp_fit *f, const mcp_json *args, mcp_writer *out)
{
    const mcpi_undo *u = f ? f->undo : NULL;
    const mcp_json *input = f && f->wrapped ? mcp_json_get(args, "input") : NULL;
    const mcpi_undo_member *m = input ? mcpi_undo_find(u, "input", 5) : NULL;
    if (!out) return MCP_ERR_ARGUMENT;
    if (f && f->inner) {                    /* two steps */
        mcp_arena a;
        mcp_writer w;
        mcp_fit step = *f;
        const mcp_json *between;
        step.inner = NULL;
        mcp_arena_init(&a, &out->alloc, 0);
        mcp_writer_init(&w, &out->alloc, 0);
        mcp_schema_unfit(&step, args, &w);
        between = mcp_json_parse(&a, mcp_writer_text(&w, NULL), MCP_NTS, NULL);
        if (between) mcp_schema_unfit(f->inner, between, out);
        else mcpi_put_fail(out, w.status ? w.status : MCP_ERR_MEMORY);
        mcp_writer_free(&w);
        mcp_arena_free(&a);
    } else if (input) mcpi_undo_write(m ? m->undo : NULL, NULL, input, out);
    else mcpi_undo_write(u, NULL, args, out);
    return out->status;
}

/* -- fitting ----------------------------------------------------------------------------------------------------- */

/* Memory for writers out of an arena, which forgets what is resized. */
static void *mcpi_fit_resize(void *user, void *p, size_t old_size, size_t new_size)
{
    void *moved = new_size ? mcp_arena_alloc((mcp_arena *)user, new_size) : NULL;
    if (moved && p) memcpy(moved, p, old_size < new_size ? old_size : new_size);
    return moved;
}

/* What one try does differently from the next. */
typedef struct mcpi_fit_try { int profile, depth; bool keep, hard, plain; size_t most; } mcpi_fit_try;

/* One try. The tree, or NULL; the text is in f->out. Nothing stays of the try before. */
static const mcpi_fit_node *mcpi_fit_run(mcpi_fitter *f, const mcpi_fit_try *t, bool wrapped)
{
    mcp_allocator alloc;
    mcpi_fit_node *root;
    bool wrap = false;
    int column, left;
    memset((char *)f + offsetof(mcpi_fitter, column), 0, sizeof *f - offsetof(mcpi_fitter, column));
    if (!f->arena->fixed) mcp_arena_reset(f->arena);
    for (column = 0, left = t->profile; left || mcpi_fit_rules[0].cells[column] == ' '; column++)
        left -= mcpi_fit_rules[0].cells[column] != ' ';
    f->column = column;
    f->keep = t->keep;
    f->hard = t->hard;
    f->plain = t->plain;
    f->tight = t->depth != 0;
    f->most = t->most;
    f->wrapped = wrapped;
    f->strict = mcpi_fit_cell(f, MCPI_F_STRICT) == 's';
    f->depth_max = mcpi_fit_cell(f, MCPI_F_DEPTH) == 'x' ? 10 : mcpi_fit_cell(f, MCPI_F_DEPTH) == 'y' ? 30 :
        MCPI_FIT_DEPTH;
    if (f->d.max_depth > 0 && f->d.max_depth < f->depth_max) f->depth_max = f->d.max_depth;
    if (t->depth && t->depth < f->depth_max) f->depth_max = t->depth;
    if (f->depth_max < 2) f->depth_max = 2;
    alloc.resize = mcpi_fit_resize;
    alloc.user = f->arena;
    mcp_writer_init(&f->out, &alloc, f->d.max_bytes);
    mcp_writer_init(&f->branch, &alloc, f->d.max_bytes);
    (void)mcpi_writer_reserve(&f->out, 24 * mcpi_fit_span(f->root) < f->d.max_bytes ? 24 * mcpi_fit_span(f->root) :
                              f->d.max_bytes);
    if (f->hard || (f->keep && mcpi_fit_cell(f, MCPI_F_REFS) == 'o')) mcpi_fit_group(f);
    root = mcpi_fit_tree(f, &wrap);
    if (wrap) return mcpi_fit_run(f, t, true);
    if (!root) return NULL;
    mcpi_fit_write(f, &f->out, root, NULL);
    if (f->out.status == MCP_ERR_LIMIT) f->over = true;
    else if (!mcp_writer_text(&f->out, NULL)) f->no_memory = true;
    return mcpi_fit_stopped(f) ? NULL : root;
}

/* To which definitions the node of one leads, as it will be written. */
static void mcpi_fit_find_leads(mcpi_fitter *f, mcpi_fit_target *t, const mcpi_fit_node *n)
{
    const mcpi_fit_word *w;
    const mcpi_fit_slot *s;
    if (n->kept) { mcpi_fit_put_target(f, &t->leads, n->kept); n->kept->led++; }
    for (w = n->words; w; w = w->next)
        for (s = w->first; s; s = s->next) if (s->node) mcpi_fit_find_leads(f, t, s->node);
}

/* Do the definitions that were kept lead in a circle? Those that no other leads to are taken away, again and again. */
static bool mcpi_fit_has_circle(mcpi_fitter *f)
{
    mcpi_fit_target *t, *free = NULL, *next;
    size_t left = 0;
    for (t = f->defs; t; t = t->next_def) mcpi_fit_find_leads(f, t, t->node);
    for (t = f->defs; t; t = t->next_def) {
        left++;
        if (!t->led) { t->group = free; free = t; }         /* the groups have done their duty */
    }
    for (; free; left--) {
        const mcpi_fit_active *a;
        t = free;
        free = t->group;
        for (a = t->leads; a; a = a->next) {
            next = a->target;
            if (!--next->led) { next->group = free; free = next; }
        }
    }
    return left != 0;
}

/* About how many bytes a value has when it is written. */
static size_t mcpi_fit_weight(const mcp_json *v)
{
    size_t i, n = mcpi_fit_span(v), bytes = 0;
    for (i = 0; i < n; i++) bytes += (mcpi_has_text(v + i) || v[i].tag & MCPI_KEY ? v[i].n : 0) + 3;
    return bytes;
}

/* The best of the ways to say references: written out where they stand; if that is too long, with cycles cut early; or
   kept, where the profile can and the text would be twice as long without. NULL: over the budget, or not strict. */
static const mcpi_fit_node *mcpi_fit_best(mcpi_fitter *f, mcpi_fit_try *t)
{
    const mcpi_fit_node *root = mcpi_fit_run(f, t, false);
    bool good = root != NULL, cyclic = f->cyclic;
    size_t len = f->out.len;
    if (f->no_memory || !f->refs) return root;
    if (mcpi_fit_cell(f, MCPI_F_REFS) != '-') {
        t->keep = true;
        root = mcpi_fit_run(f, t, false);
        if (f->no_memory || (root && (cyclic ? mcpi_fit_has_circle(f) : !good || len > 2 * f->out.len))) return root;
        t->keep = false;
    } else if (good && !(f->cyclic && len > 2 * mcpi_fit_weight(f->root))) return root;
    else t->hard = true;
    root = mcpi_fit_run(f, t, false);
    if (root || !good || f->no_memory || !t->hard) return root;
    t->hard = false;
    return mcpi_fit_run(f, t, false);
}

/* Tries until the result is within its budget. NULL: no memory, or the schema cannot be said strictly. */
static const mcpi_fit_node *mcpi_fit_within(mcpi_fitter *f, mcpi_fit_try *t)
{
    static const unsigned char depths[] = { 16, 8, 6, 5, 4, 3, 2 };
    const mcpi_fit_node *root = mcpi_fit_best(f, t);
    size_t i;
    if (root || f->no_memory || f->strict) return root;
    t->hard = true;
    t->keep = false;
    for (i = 0; i < sizeof depths; i++) {
        t->depth = depths[i];
        root = mcpi_fit_run(f, t, false);
        if (root || f->no_memory) return root;
    }
    t->plain = true;
    for (t->most = f->d.max_nodes; t->most; t->most -= t->most / 4 + 1) {
        root = mcpi_fit_run(f, t, false);
        if (root || f->no_memory) return root;
    }
    f->root = &mcpi_fit_null;
    f->d.max_bytes = 0;
    f->d.max_nodes = 1;
    return mcpi_fit_run(f, t, false);
}

/* What is to stay goes to the caller's arena. NULL: no memory. */
static mcp_fit *mcpi_fit_done(mcpi_fitter *f, const mcpi_fit_try *t, const mcpi_fit_node *root, mcp_arena *a)
{
    mcp_fit *fit = root ? (mcp_fit *)mcpi_undo_new(f, a, sizeof *fit) : NULL;
    if (!fit) return NULL;
    f->place = &f->top;
    f->closing = true;
    if (t->depth) mcpi_fit_report(f, "over the budget of %z nodes and %z bytes: cut at depth %d", f->told_nodes,
                                  f->told_bytes, t->depth);
    if (t->plain) mcpi_fit_report(f, "over the budget: types alone");
    if (f->why[0] && !f->strict) mcpi_fit_report(f, "strictness is not possible: %s", f->why);
    if (f->unsaid) mcpi_fit_report(f, "and %z more", f->unsaid);
    fit->notes = f->said ? mcpi_undo_text(f, a, f->said, f->said_len) : "";
    fit->strict = f->strict;
    fit->wrapped = f->wrapped;
    if (f->changed) fit->undo = mcpi_undo_tree(f, a, root);
    return f->no_memory ? NULL : fit;
}

/* A schema that cannot be said strictly is said without; what came out of that, perhaps, can be said strictly. */
static mcp_fit *mcpi_fit_unstrict(mcpi_fitter *f, mcpi_fit_try *t, mcp_arena *a, mcp_arena *second, const char **text,
                                  size_t *len)
{
    mcp_fit *fit, *again;
    mcpi_fit_try strict = *t;
    char *copy;
    if (!f->why[0]) memcpy(f->why, "over the budget", 16);
    if (f->over) f->plainly = false;
    t->profile = t->profile == MCP_OPENAI_STRICT ? MCP_OPENAI : MCP_DEEPSEEK;
    t->keep = t->hard = false;
    fit = mcpi_fit_done(f, t, mcpi_fit_within(f, t), a);
    *text = f->out.buf;
    *len = f->out.len;
    if (f->plainly && !t->depth) return fit;
    copy = fit ? (char *)mcp_arena_alloc(second, *len + 1) : NULL;
    if (!copy) return NULL;
    memcpy(copy, f->out.buf, *len + 1);
    *text = copy;
    f->root = mcp_json_parse(second, copy, *len, NULL);
    if (!f->root) return NULL;
    again = mcpi_fit_done(f, &strict, mcpi_fit_best(f, &strict), a);
    if (f->no_memory || !again) return f->no_memory ? NULL : fit;
    *text = f->out.buf;
    *len = f->out.len;
    again->inner = fit;
    return again;
}

const mcp_fit *mcp_schema_fit(mcp_arena *a, const mcp_json *schema, const mcp_fit_desc *d, mcp_writer *out)
{
    mcpi_fitter f;
    mcpi_fit_try t;
    mcp_arena scratch, second;
    const mcpi_fit_node *root;
    const char *text;
    size_t len;
    mcp_fit *fit;
    if (!a || !out || out->status != MCP_OK) return NULL;
    memset(&f, 0, sizeof f);
    memset(&t, 0, sizeof t);
    mcp_arena_init(&scratch, &a->alloc, 0);
    mcp_arena_init(&second, &a->alloc, 0);
    f.arena = a->fixed ? a : &scratch;
    f.root = schema ? schema : &mcpi_fit_null;
    if (d) f.d = *d;
    if (!f.d.max_nodes) f.d.max_nodes = 20000;
    if (!f.d.max_bytes) f.d.max_bytes = 262144;
    f.told_nodes = f.d.max_nodes;
    f.told_bytes = f.d.max_bytes;
    f.work_max = 16 * mcpi_fit_span(f.root) + 64 * f.d.max_nodes;
    t.profile = (unsigned)f.d.profile <= MCP_LLAMACPP ? (int)f.d.profile : MCP_GENERIC;
    mcpi_fit_learn_words(&f);
    if (!a->fixed) (void)mcpi_arena_block(&scratch, 4096 + 160 * mcpi_fit_span(f.root));   /* most need no more */
    root = mcpi_fit_within(&f, &t);
    if (root || f.no_memory) {
        fit = mcpi_fit_done(&f, &t, root, a);
        text = f.out.buf;
        len = f.out.len;
    } else fit = mcpi_fit_unstrict(&f, &t, a, a->fixed ? a : &second, &text, &len);
    if (fit) mcpi_put_splice(out, NULL, text, len);
    mcp_arena_free(&scratch);
    mcp_arena_free(&second);
    return fit && out->status == MCP_OK ? fit : NULL;
}

/* Of a strict form of a result, what was done twice is told once. */
const char *mcp_fit_notes(const mcp_fit *f)
{
    return !f ? "" : f->inner ? f->inner->notes : f->notes;
}

bool mcp_fit_strict(const mcp_fit *f)
{
    return f && f->strict;
}
#endif /* MCP_NO_SANITIZE */
/* ============================================================================================================== *
 * >>name  digests, and the names that models see                                                                 *
 * ============================================================================================================== */

#if !defined(MCP_NO_SERVER) || !defined(MCP_NO_SANITIZE)
/* -- SHA-256 ----------------------------------------------------------------------------------------------------- */
/* FIPS 180-4, written for size: it seals what a server asks, and tells names apart that had to be altered. */

static const uint32_t mcpi_sha_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

typedef struct mcpi_sha { uint32_t h[8]; uint64_t len; unsigned char block[64]; } mcpi_sha;

static uint32_t mcpi_rotated(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void mcpi_sha_block(mcpi_sha *c)
{
    uint32_t w[64], v[8], a, b;
    int i;
    for (i = 0; i < 16; i++) {
        const unsigned char *p = c->block + 4 * i;
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    }
    for (; i < 64; i++) {
        a = w[i - 15];
        b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (mcpi_rotated(a, 7) ^ mcpi_rotated(a, 18) ^ a >> 3) +
               (mcpi_rotated(b, 17) ^ mcpi_rotated(b, 19) ^ b >> 10);
    }
    memcpy(v, c->h, sizeof v);
    for (i = 0; i < 64; i++) {
        a = v[7] + (mcpi_rotated(v[4], 6) ^ mcpi_rotated(v[4], 11) ^ mcpi_rotated(v[4], 25)) +
            ((v[4] & v[5]) ^ (~v[4] & v[6])) + mcpi_sha_k[i] + w[i];
        b = (mcpi_rotated(v[0], 2) ^ mcpi_rotated(v[0], 13) ^ mcpi_rotated(v[0], 22)) +
            ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += a;
        v[0] = a + b;
    }
    for (i = 0; i < 8; i++) c->h[i] += v[i];
}

static void mcpi_sha_begin(mcpi_sha *c)
{
    static const uint32_t h[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    memcpy(c->h, h, sizeof h);
    c->len = 0;
}

static void mcpi_sha_add(mcpi_sha *c, const void *data, size_t n)
{
    const unsigned char *p = (const unsigned char *)data;
    while (n--) {
        c->block[c->len++ % 64] = *p++;
        if (c->len % 64 == 0) mcpi_sha_block(c);
    }
}

static void mcpi_sha_end(mcpi_sha *c, unsigned char out[32])
{
    uint64_t bits = c->len * 8;
    unsigned char b = 0x80;
    int i;
    do { mcpi_sha_add(c, &b, 1); b = 0; } while (c->len % 64 != 56);
    for (i = 56; i >= 0; i -= 8) { b = (unsigned char)(bits >> i); mcpi_sha_add(c, &b, 1); }
    for (i = 0; i < 32; i++) out[i] = (unsigned char)(c->h[i / 4] >> (24 - i % 4 * 8));
}

#endif
#ifndef MCP_NO_SANITIZE
/* -- names ------------------------------------------------------------------------------------------------------- */
/* Most pairs are legal as they are and keep their words. Any other is made legal byte by byte and gets a digest of what
   it was, so two pairs that look the same afterwards still differ. The server's part is cut first, since what a model
   reads is the tool's; of a long tool both ends are kept, since both tell something. */

enum { MCPI_NAME_FRAME = 7, MCPI_NAME_SERVER_MIN = 8 };     /* mcp__ and __; what is never cut of a server */

/* What a byte becomes; 0: nothing. A character outside of ASCII becomes one '_', by its first byte. */
static char mcpi_name_byte(char b)
{
    unsigned char c = (unsigned char)b, letter = c | 32;
    if ((c & 0xC0) == 0x80) return 0;
    return c == '-' || (c >= '0' && c <= '9') || (letter >= 'a' && letter <= 'z') ? b : '_';
}

/* A server's part, of at most `cap` bytes: never two '_' in a row, and none at either end. So the first __ behind the
   prefix is where the tool begins. */
static size_t mcpi_name_server(char *to, size_t cap, const char *from)
{
    size_t n = 0;
    for (; *from && n < cap; from++) {
        char c = mcpi_name_byte(*from);
        if (c && (c != '_' || (n && to[n - 1] != '_'))) to[n++] = c;
    }
    while (n && to[n - 1] == '_') n--;
    return n;
}

/* A tool's part without '_' at its front, of at most `cap` bytes: its first and its last half. */
static size_t mcpi_name_tool(char *to, size_t cap, const char *from)
{
    const char *end = from + strlen(from);
    size_t n = 0, all = 0, i;
    char c;
    while (*from && (!(c = mcpi_name_byte(*from)) || c == '_')) from++;
    for (; from < end; from++) {
        if (!(c = mcpi_name_byte(*from))) continue;
        if (all++ < cap) to[n++] = c;
    }
    if (all > cap)
        for (i = cap; i > (cap + 1) / 2;) if ((c = mcpi_name_byte(*--end)) != 0) to[--i] = c;
    return n;
}

static bool mcpi_name_legal(const char *s)
{
    while (*s && mcpi_name_byte(*s) == *s) s++;
    return !*s;
}

/* Is the pair legal as it is? */
static bool mcpi_name_plain(const char *server, const char *tool)
{
    size_t sn = strlen(server), tn = strlen(tool);
    return sn && tn && sn + tn <= MCP_NAME_MAX - MCPI_NAME_FRAME && mcpi_name_legal(server) && mcpi_name_legal(tool) &&
           server[0] != '_' && server[sn - 1] != '_' && !strstr(server, "__") && tool[0] != '_';
}

/* The name of a pair that is not, to `name` of MCP_NAME_MAX + 1 bytes. `level` 0 has 8 digits, 1 and 2 have 12 and 16,
   and the next ones 16 of another digest each. */
static size_t mcpi_name_digested(char *name, const char *server, const char *tool, unsigned level)
{
    static const char hex[] = "0123456789abcdef";
    size_t digits = level < 2 ? 8 + 4 * level : 16, room = MCP_NAME_MAX - MCPI_NAME_FRAME - 1 - digits, sn, tn, i;
    unsigned char digest[32];
    char t[MCP_NAME_MAX], *p = name + 5;
    mcpi_sha c;
    memcpy(name, "mcp__", 5);
    sn = mcpi_name_server(p, room, server);
    tn = mcpi_name_tool(t, room, tool);
    if (!sn) { memcpy(p, "srv", 3); sn = 3; }
    if (!tn) { memcpy(t, "tool", 4); tn = 4; }
    if (sn + tn > room && sn > MCPI_NAME_SERVER_MIN)
        sn = room > tn + MCPI_NAME_SERVER_MIN ? room - tn : (size_t)MCPI_NAME_SERVER_MIN;
    while (p[sn - 1] == '_') sn--;
    p += sn;
    *p++ = '_';
    *p++ = '_';
    if (sn + tn > room) tn = mcpi_name_tool(t, room - sn, tool);
    memcpy(p, t, tn);
    p += tn;
    mcpi_sha_begin(&c);
    mcpi_sha_add(&c, server, strlen(server) + 1);
    mcpi_sha_add(&c, tool, strlen(tool));
    for (i = 0; level > 2 && i < 5; i++) {                  /* NUL and the level */
        unsigned char byte = (unsigned char)(i ? level >> (8 * i - 8) : 0);
        mcpi_sha_add(&c, &byte, 1);
    }
    mcpi_sha_end(&c, digest);
    *p++ = '_';
    for (i = 0; i < digits; i++) *p++ = hex[digest[i / 2] >> (i % 2 ? 0 : 4) & 15];
    *p = 0;
    return (size_t)(p - name);
}

static size_t mcpi_name_join(char *name, const char *server, const char *tool, unsigned level, bool plain)
{
    if (!plain) return mcpi_name_digested(name, server, tool, level);
    return mcpi_say(name, MCP_NAME_MAX + 1, "mcp__%s__%s", server, tool);
}

size_t mcp_name_join(char *dst, size_t cap, const char *server, const char *tool)
{
    char name[MCP_NAME_MAX + 1];
    size_t n;
    if (!server) server = "";
    if (!tool) tool = "";
    n = mcpi_name_join(name, server, tool, 0, mcpi_name_plain(server, tool));
    if (!dst || cap <= n) return 0;
    memcpy(dst, name, n + 1);
    return n;
}

bool mcp_name_split(const char *name, const char **server, size_t *server_len, const char **tool)
{
    const char *border;
    if (!name || strncmp(name, "mcp__", 5) != 0) return false;
    border = strstr(name + 5, "__");
    if (!border || border == name + 5 || !border[2]) return false;
    if (server) *server = name + 5;
    if (server_len) *server_len = (size_t)(border - name - 5);
    if (tool) *tool = border + 2;
    return true;
}

/* Where it fails behind a *, that * takes one byte more; the last * is enough to go back to. Names are short, so this
   is linear in the pattern. */
bool mcp_name_match(const char *pattern, const char *name)
{
    const char *star = NULL, *from = NULL;
    if (!pattern || !name || strlen(name) > MCP_NAME_MAX) return false;
    while (*name) {
        if (*pattern == '*') { star = ++pattern; from = name; }
        else if (*pattern == *name) { pattern++; name++; }
        else if (star) { pattern = star; name = ++from; }
        else return false;
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

/* -- a tree of strings ------------------------------------------------------------------------------------------- */
/* Names come from strangers, who could choose them so that a hash table becomes a list. A crit-bit tree has no such
   weakness: it forks at the bits in which keys differ, so a look-up takes at most a step for each bit of the key and
   one comparison, whatever else is in it. Each key brings along the fork that it needs; n keys use n - 1 of them. A
   key is one string or two in a row. */

typedef struct mcpi_key { const char *a, *b; size_t an, bn; } mcpi_key;
typedef struct mcpi_link { struct mcpi_leaf *to; bool fork; } mcpi_link;        /* to its key, or to its fork */
typedef struct mcpi_leaf {
    mcpi_key key;                           /* no two in a tree differ in zeros at their end alone */
    mcpi_link side[2]; size_t at;           /* its fork: by the bit `mask` of byte `at` */
    unsigned mask;
} mcpi_leaf;

static unsigned mcpi_key_byte(const mcpi_key *k, size_t at)
{
    if (at < k->an) return (unsigned char)k->a[at];
    return at - k->an < k->bn ? (unsigned char)k->b[at - k->an] : 0u;
}

static mcpi_link *mcpi_fork_side(mcpi_leaf *f, const mcpi_key *k)
{
    return &f->side[(mcpi_key_byte(k, f->at) & f->mask) != 0];
}

/* The key that may be this one, or begin with it. */
static mcpi_leaf *mcpi_tree_near(const mcpi_link *tree, const mcpi_key *k)
{
    while (tree->fork) tree = mcpi_fork_side(tree->to, k);
    return tree->to;
}

/* A key that begins with this one, which may be it; NULL: there is none. */
static mcpi_leaf *mcpi_tree_find(const mcpi_link *tree, const mcpi_key *k)
{
    mcpi_leaf *x = mcpi_tree_near(tree, k);
    size_t at = 0, n = k->an + k->bn;
    if (!x || x->key.an + x->key.bn < n) return NULL;
    while (at < n && mcpi_key_byte(k, at) == mcpi_key_byte(&x->key, at)) at++;
    return at == n ? x : NULL;
}

/* x->key is set, and is not there yet. */
static void mcpi_tree_add(mcpi_link *tree, mcpi_leaf *x)
{
    const mcpi_leaf *near = mcpi_tree_near(tree, &x->key);
    if (near) {
        mcpi_link *side;
        for (x->at = 0; mcpi_key_byte(&x->key, x->at) == mcpi_key_byte(&near->key, x->at);) x->at++;
        x->mask = mcpi_key_byte(&x->key, x->at) ^ mcpi_key_byte(&near->key, x->at);
        while (x->mask & (x->mask - 1)) x->mask &= x->mask - 1;         /* the highest bit alone */
        while (tree->fork && (tree->to->at < x->at || (tree->to->at == x->at && tree->to->mask > x->mask)))
            tree = mcpi_fork_side(tree->to, &x->key);
        side = mcpi_fork_side(x, &x->key);
        x->side[side == x->side] = *tree;
        side->to = x;
        side->fork = false;
    }
    tree->to = x;
    tree->fork = near != NULL;
}

/* The fork above x goes with it. If x's own is another, which is still needed, the one that has gone stands in. */
static void mcpi_tree_remove(mcpi_link *tree, mcpi_leaf *x)
{
    mcpi_link *above = NULL, *own = NULL;
    mcpi_leaf *gone;
    while (tree->fork) {
        if (tree->to == x) own = tree;
        above = tree;
        tree = mcpi_fork_side(tree->to, &x->key);
    }
    if (!above) { tree->to = NULL; return; }
    gone = above->to;
    *above = gone->side[tree == gone->side];
    if (!own || own == above) return;
    memcpy(gone->side, x->side, sizeof gone->side);
    gone->at = x->at;
    gone->mask = x->mask;
    own->to = gone;
}

/* -- the table of names ------------------------------------------------------------------------------------------ */
/* When two pairs want one name, one of them has the better right to it, and the other tries its next one. Who has it
   depends on the pairs alone, so all end up with the same names in whatever order they came (stable matching, as Gale
   and Shapley have it). A pair that has given way stays where it went when the other goes: names change as seldom as
   can be. */

typedef struct mcpi_name {
    mcp_name pub;                           /* first; points into `text` and behind it */
    mcpi_leaf by_name, by_pair;
    struct mcpi_name *prev, *next;          /* in the order they came */
    void *user;                             /* of >>calling: its tool */
    unsigned level;
    bool plain;
    char text[MCP_NAME_MAX + 1];            /* then server NUL tool NUL */
} mcpi_name;

struct mcp_names {
    mcp_allocator alloc;
    mcpi_link by_name, by_pair;
    mcpi_name *first, *last;
    size_t count;
    char error[640];
};

mcp_names *mcp_names_new(const mcp_allocator *alloc)
{
    mcp_names *n = (mcp_names *)mcpi_zalloc(alloc, sizeof *n);
    if (n && alloc) n->alloc = *alloc;
    return n;
}

static mcpi_name *mcpi_name_of(mcpi_leaf *x, size_t offset)
{
    return x ? (mcpi_name *)(void *)((char *)x - offset) : NULL;
}

static mcpi_name *mcpi_names_by_name(const mcp_names *n, const char *name)
{
    mcpi_key k;
    k.a = k.b = name;
    k.an = strlen(name) + 1;                /* with its NUL: no name begins with another */
    k.bn = 0;
    return mcpi_name_of(mcpi_tree_find(&n->by_name, &k), offsetof(mcpi_name, by_name));
}

/* A pair, or with tool NULL any of that server. */
static mcpi_name *mcpi_names_by_pair(const mcp_names *n, const char *server, const char *tool)
{
    mcpi_key k;
    k.a = server;
    k.an = strlen(server) + 1;
    k.b = tool;
    k.bn = tool ? strlen(tool) + 1 : 0;
    return mcpi_name_of(mcpi_tree_find(&n->by_pair, &k), offsetof(mcpi_name, by_pair));
}

/* Has a the better right to a name that both want? */
static bool mcpi_name_before(const mcpi_name *a, const mcpi_name *b)
{
    int order = strcmp(a->pub.server, b->pub.server);
    if (a->plain || b->plain) return a->plain;
    return order ? order < 0 : strcmp(a->pub.tool, b->pub.tool) < 0;
}

/* Gives x a name, and another one to whoever has to give way for it. */
static void mcpi_names_place(mcp_names *n, mcpi_name *x)
{
    for (;; x->level++) {
        mcpi_name *holder;
        x->by_name.key.an = mcpi_name_join(x->text, x->pub.server, x->pub.tool, x->level, x->plain) + 1;
        holder = mcpi_names_by_name(n, x->text);
        if (holder && mcpi_name_before(holder, x)) continue;
        if (holder) mcpi_tree_remove(&n->by_name, &holder->by_name);
        mcpi_tree_add(&n->by_name, &x->by_name);
        if (!holder) return;
        x = holder;
    }
}

static mcpi_name *mcpi_names_add(mcp_names *n, const char *server, const char *tool)
{
    size_t sn = strlen(server) + 1, tn = strlen(tool) + 1;
    mcpi_name *x = (mcpi_name *)mcpi_zalloc(&n->alloc, sizeof *x + sn + tn);
    char *s;
    if (!x) return NULL;
    s = (char *)(x + 1);
    memcpy(s, server, sn);
    memcpy(s + sn, tool, tn);
    x->pub.name = x->by_name.key.a = x->text;
    x->pub.server = x->by_pair.key.a = s;
    x->pub.tool = x->by_pair.key.b = s + sn;
    x->by_pair.key.an = sn;
    x->by_pair.key.bn = tn;
    x->plain = mcpi_name_plain(server, tool);
    mcpi_tree_add(&n->by_pair, &x->by_pair);
    mcpi_names_place(n, x);
    x->prev = n->last;
    *(n->last ? &n->last->next : &n->first) = x;
    n->last = x;
    n->count++;
    return x;
}

const char *mcp_names_add(mcp_names *n, const char *server, const char *tool, int *status)
{
    int ignored;
    mcpi_name *x;
    if (!status) status = &ignored;
    *status = MCP_ERR_ARGUMENT;
    if (!n) return NULL;
    if (!server) server = "";
    if (!tool) tool = "";
    if ((x = mcpi_names_by_pair(n, server, tool)) != NULL) return x->text;
    x = mcpi_names_add(n, server, tool);
    *status = x ? MCP_OK : MCP_ERR_MEMORY;
    return x ? x->text : NULL;
}

static void mcpi_names_drop(mcp_names *n, mcpi_name *x)
{
    mcpi_tree_remove(&n->by_name, &x->by_name);
    mcpi_tree_remove(&n->by_pair, &x->by_pair);
    *(x->prev ? &x->prev->next : &n->first) = x->next;
    *(x->next ? &x->next->prev : &n->last) = x->prev;
    n->count--;
    mcpi_free(&n->alloc, x, sizeof *x + x->by_pair.key.an + x->by_pair.key.bn);
}

size_t mcp_names_remove(mcp_names *n, const char *server, const char *tool)
{
    mcpi_name *x;
    size_t gone = 0;
    while (n && (x = mcpi_names_by_pair(n, server ? server : "", tool)) != NULL) {
        mcpi_names_drop(n, x);
        gone++;
    }
    return gone;
}

/* Are they the same to somebody who minds neither case nor - and _? */
static bool mcpi_name_like(const char *a, const char *b)
{
    for (;; a++, b++) {
        char x = *a == '-' ? '_' : *a, y = *b == '-' ? '_' : *b;
        if (x >= 'A' && x <= 'Z') x = (char)(x | 32);
        if (y >= 'A' && y <= 'Z') y = (char)(y | 32);
        if (x != y) return false;
        if (!x) return true;
    }
}

const mcp_name *mcp_names_find(mcp_names *n, const char *name)
{
    enum { SHOWN = 128, LISTED = 6 };
    mcpi_name *x, *found = NULL;
    size_t fit = 0, used = 0;
    const char *tool;
    if (!n) return NULL;
    if (!name) name = "";
    n->error[0] = 0;
    if ((x = mcpi_names_by_name(n, name)) != NULL) return &x->pub;
    for (x = *name ? n->first : NULL; x; x = x->next) {
        (void)mcp_name_split(x->text, NULL, NULL, &tool);
        if (!mcpi_name_like(name, x->text) && !mcpi_name_like(name, x->text + 5) && !mcpi_name_like(name, tool) &&
            !mcpi_name_like(name, x->pub.tool)) continue;
        if (++fit > LISTED) continue;
        if (found) {
            if (fit == 2) used = mcpi_say(n->error, sizeof n->error, "\"%.*s\" could be %s", (int)SHOWN, name,
                                          found->text);
            used += mcpi_say(n->error + used, sizeof n->error - used, ", %s", x->text);
        }
        found = x;
    }
    if (fit == 1) return &found->pub;
    if (!fit)
        mcpi_say(n->error, sizeof n->error, "There is no tool \"%.*s\". Call one that there is, by its exact name.",
                 (int)SHOWN, name);
    else {
        if (fit > LISTED) used += mcpi_say(n->error + used, sizeof n->error - used, " and %z more", fit - LISTED);
        mcpi_say(n->error + used, sizeof n->error - used, ". Call one of them by its exact name.");
    }
    return NULL;
}

const char *mcp_names_error(const mcp_names *n) { return n ? n->error : ""; }

size_t mcp_names_count(const mcp_names *n) { return n ? n->count : 0; }

void mcp_names_free(mcp_names *n)
{
    mcp_allocator a;
    mcpi_name *x, *next;
    if (!n) return;
    a = n->alloc;
    for (x = n->first; x; x = next) {
        next = x->next;
        mcpi_free(&a, x, sizeof *x + x->by_pair.key.an + x->by_pair.key.bn);
    }
    mcpi_free(&a, n, sizeof *n);
}
#endif /* MCP_NO_SANITIZE */
#ifndef MCP_NO_SERVER
/* ============================================================================================================== *
 * >>server  registry, dispatch, both eras                                                                        *
 * ============================================================================================================== */
/* A server is a registry (tools, methods), some peers, and the requests that are being handled. A message comes in on
   a peer's stream, is classified, and becomes a mcp_req that knows its peer, its era and where its answer goes; the
   registry gives it a handler. A handler that answers before it returns costs no allocation: the request object, its
   result buffer and the nodes of its message are all kept from the last one. One that defers gets copies of what it
   was called with, and two entries: in the server's table under the id that the program keeps, and in its peer's map
   under the id that the client used, where a cancel finds it.

   The two eras differ in three places only: how a request says who asks (session or _meta), what a result must carry,
   and how changes are told. All three are here in one place each, and a handler sees none of it.

   Whatever a handler calls may come back into the server. So nothing that is in use is freed while `nest` says that
   callbacks run: peers and the server itself are marked, and go when the outermost call returns. */

/* -- what there is ----------------------------------------------------------------------------------------------- */

enum { MCPI_MISSED_URIS = 16 };
enum { MCPI_URI_MAX = 8192 };              /* bytes of one that a template may fit, or that is watched */
enum { MCPI_ONLY_LEGACY = 1, MCPI_ONLY_MODERN = 2, MCPI_FIXED = 4, MCPI_EARLY = 8, MCPI_BUILTIN = 16 };

/* A method points at what it does, and what only some servers do is named only by the function that a program calls
   to have it: a linker or compiler that leaves out what is not used leaves out the rest. */
typedef struct mcpi_method {
    mcpi_named named;
    unsigned flags;
    int kind;                               /* of the list that it is about */
    void (*run)(mcp_req *r);                /* the built-in method, or NULL */
    mcp_req_fn fn;                          /* the program's, in place of it */
    void *user;
} mcpi_method;

/* A tool, prompt, resource or template. */
typedef struct mcpi_feature {
    mcpi_named named;                       /* its name, or the URI */
    uint64_t seq;                           /* place in the list; cursors point between these */
    int kind;
    int uses;                               /* the registry's and each running call's */
    char *text; size_t len;                 /* the object as it goes out in its list */
    char *required; size_t required_len;    /* names of arguments, each with its length before it and its NUL */
    char *about;                            /* a prompt's description; the MIME type of a resource */
    char *data; size_t data_len; bool binary, has_data;
    int ttl_ms, scope;
    mcp_req_fn fn, complete;
    void *user;
#ifndef MCP_NO_VALIDATE
    mcp_arena schemas;                      /* a tool's, compiled */
    const mcp_schema *input, *output;       /* NULL: none, or they are trusted */
#endif
} mcpi_feature;

typedef struct mcpi_list {
    mcpi_feature **at; size_t count, cap;     /* in order of seq */
    mcpi_map by_name;
    bool said;                              /* there is such a list, also when it is empty */
} mcpi_list;

/* A variable of a template. */
typedef struct mcpi_var { struct mcpi_var *next; const char *name; size_t len; char *value; } mcpi_var;

/* Who wants to know when a resource changes: subscriptions hang on the URI that they watch, and on the peer (legacy) or
   the listen that they belong to. */
typedef struct mcpi_watch {
    mcpi_named named;                       /* the URI */
    struct mcpi_sub *subs;
    struct mcpi_watch *next;                /* of those that have changed */
    bool changed;
} mcpi_watch;
typedef struct mcpi_sub {
    mcpi_named named;                       /* legacy: in the peer's map */
    mcpi_watch *watch;
    struct mcpi_sub *next, **at;            /* of the watch */
    struct mcpi_sub *sister;                /* the next of its owner */
    mcp_conn *conn;
    mcp_req *listen;                        /* NULL: legacy */
    bool missed;                            /* a change is still to be told */
} mcpi_sub;

/* A batch (2025-03-26) is answered with one array, when the last of its requests has been. */
typedef struct mcpi_batch { mcp_writer w; size_t open; mcp_conn *conn; } mcpi_batch;

/* What a request has once its handler has asked something, and a server that has; see "asking". All that is done with
   it hangs on the functions in here: a program that never asks holds none of them. */
typedef struct mcpi_query mcpi_query;
typedef struct mcpi_page mcpi_page;
typedef struct mcpi_talk {
    bool (*returned)(mcp_req *r);           /* the handler has, without an answer; true: that has been seen to */
    void (*end)(mcp_req *r);
    mcp_req *r;
    struct mcpi_talk *next;                 /* of those whose questions go out at the end of the turn */
    bool ready;                             /* one of those */
    mcpi_query *asks;
    const mcp_json *kept, *keep;            /* by the run before this one; for the next */
    mcp_arena arena;
    mcp_id timer;                           /* legacy: gives up */
    unsigned missing;                       /* what the client would have to be able to do */
    int told;                               /* the last answer that was none */
} mcpi_talk;
typedef struct mcpi_asks {
    bool (*answer)(mcp_conn *c, const mcp_msg *m);
    void (*turn)(mcp_server *s);
    void (*left)(mcp_server *s, const mcp_conn *c);
    mcpi_slots out;                         /* questions that a legacy client has not answered yet */
    mcpi_talk *ready;
    mcpi_page *pages;
    unsigned char key[32]; bool keyed;      /* random, unless the program has a key */
} mcpi_asks;

/* In the large structs of this file what is used most stands first: machine code reaches 128 bytes with a shorter
   offset. */
struct mcp_req {
    mcpi_item item;                         /* in the server's table, once deferred */
    mcp_server *s;
    mcp_conn *conn;
    mcpi_talk *talk;                        /* NULL: it never asked */
    mcpi_feature *feature;                  /* what was called, if it is one of the registry's */
    const char *method;
    const mcp_json *id, *params;
    mcpi_stream *stream;                    /* where its answer and all its notifications go */
    bool modern, notification, running, deferred, answered, cancelled, listen;
    bool copied;                            /* what it points at is in its own arena */
    bool waits;                             /* deferred, until questions are answered */
    bool heard;                             /* deferred: its cancel has been seen, but is still to be handled */
    bool begun, content, structured, progressed, assistant;
    mcpi_batch *batch;
    const mcp_json *args;
    mcp_writer w, extra;                    /* the result object; structuredContent */
    mcp_arena arena;                        /* what a deferred request keeps; scratch for results given as text */
    mcpi_named key;                         /* in the peer's map, once deferred: the id's text */
    mcp_req *outer;                         /* running: whose handler this one interrupted; free: the next one */
    const mcpi_method *call;
    mcpi_var *vars;
    mcpi_sub *subs;                         /* of a listen */
    const char *protocol;
    const mcp_json *name, *meta, *token, *client, *caps;
    int ttl_ms, scope;                      /* caching hints; ttl_ms -1: the server's */
    unsigned calm;                          /* answers since the result buffer was last needed in full */
    unsigned filter;                        /* listen: MCP_LIST_... asked for and agreed */
    int log_level;                          /* -1: none */
    double progress;
    void (*on_cancel)(mcp_server *s, mcp_id id, void *arg);
    void *on_cancel_arg;
};

struct mcp_conn {
    mcp_conn *next;
    mcp_server *s;
    const char *version;                    /* legacy: what initialize negotiated */
    const mcp_json *client, *caps;          /* ... and what the client said of itself there */
    int log_level;
    int handlers;                           /* that run */
    bool initialized, dead, draining;
    unsigned missed;                        /* MCP_LIST_... whose changes are still to be told; MCPI_MISSED_URIS */
    int64_t drain_until, drain_end;         /* gives up when nothing moved until then; gives up anyway */
    mcpi_map inflight;                      /* deferred requests by the client's id */
    mcpi_stream st;
    mcp_arena session;                      /* holds client and caps */
    char *principal;
    mcpi_map subs;                          /* legacy: by URI */
    size_t sub_count;                       /* with those of its listens */
};

typedef struct mcpi_timer {
    mcpi_item item;
    void (*fn)(void *owner, void *arg);
    void *arg;
    struct mcpi_timer *next;
} mcpi_timer;

struct mcp_server {
    mcp_allocator alloc;
    int64_t now;
    int nest, pumps;                        /* callbacks that run; entries that run */
    int status, end;                        /* the first mistake; how the main stream ended */
    bool stopping, ended, freed, must_poll, shielded;
    bool has_logging, has_completions;
    unsigned changed;                       /* MCP_LIST_... */
    mcp_conn *conns, *main;
    mcp_req *spare, *running;
    mcpi_asks *asks;                        /* NULL: nothing was ever asked */
    mcpi_timer *spare_timer;
    mcpi_list lists[MCPI_KINDS];
    uint64_t seq;
    int64_t peeked;

    char *info, *instructions;              /* Implementation as JSON; plain text */
    char *meta; size_t meta_len;            /* {"io.modelcontextprotocol/serverInfo":{...}} */
    const mcp_json *caps, *empty;           /* declared capabilities; {} */
    mcp_arena fixed;                        /* holds both */
#ifndef MCP_NO_VALIDATE
    mcp_arena check;                        /* scratch of checks */
#endif

    mcpi_map methods, watches;
    mcpi_watch *updates;                    /* watches whose change is to be told */
    mcpi_slots deferred, timers;
    char *state_key;
    mcp_stats stats;
#ifndef MCP_NO_POSIX
    mcpi_guard guard;
    mcpi_mailbox mail;
    int listen_fd;
    char *listen_path;
    struct pollfd *fds; int fds_cap;
    int mail_at, listen_at; bool fds_left;  /* where their entries are; there was no room for all that there are */
    int64_t accept_at;                      /* no descriptors were left: the next peer is not asked in before */
#endif
    mcp_server_desc d;                      /* with the defaults filled in; its strings are not used after new */
    char error[320];
};

/* -- telling ----------------------------------------------------------------------------------------------------- */

static void mcpi_server_log(mcp_server *s, int level, const char *text)
{
    if (level > s->d.log.level) return;
    if (s->d.log.fn) s->d.log.fn(level, text, s->d.log.user);
#ifndef MCP_NO_POSIX
    else if (level == 0) mcpi_stderr(text);
#endif
}

/* Keeps a sentence, tells the log, returns the status. */
static int mcpi_server_fail(mcp_server *s, int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    mcpi_vsay(s->error, sizeof s->error, fmt, ap);
    va_end(ap);
    mcpi_server_log(s, 0, s->error);
    return status;
}

static int64_t mcpi_server_peek_clock(const mcp_server *s)
{
#ifndef MCP_NO_POSIX
    if (!s->d.now_ms) return mcpi_clock_ms();
#endif
    return s->d.now_ms ? s->d.now_ms(s->d.user) : 0;
}

static int64_t mcpi_server_clock(mcp_server *s)
{
    return s->now = mcpi_server_peek_clock(s);
}

/* One frame in the log: who, which way, and the first 2 KiB. Costs nothing unless asked for. */
static void mcpi_server_trace(mcp_server *s, const char *arrow, const char *bytes, size_t n)
{
    char text[2112];
    if (s->d.log.level < 3) return;
    mcpi_say(text, sizeof text, "%s %.*s", arrow, (int)(n < 2048 ? n : 2048), bytes);
    mcpi_server_log(s, 3, text);
}

/* -- request objects --------------------------------------------------------------------------------------------- */

static mcp_req *mcpi_req_new(mcp_conn *c)
{
    mcp_server *s = c->s;
    mcp_req *r = s->spare;
    if (r) s->spare = r->outer;
    else {
        r = (mcp_req *)mcpi_zalloc(&s->alloc, sizeof *r);
        if (!r) return NULL;
        mcp_writer_init(&r->w, &s->alloc, 0);
        mcp_writer_init(&r->extra, &s->alloc, 0);
        mcp_arena_init(&r->arena, &s->alloc, 0);
    }
    r->s = s;
    r->conn = c;
    r->stream = &c->st;
    r->batch = NULL;
    r->outer = NULL;
    r->feature = NULL;
    r->call = NULL;
    r->vars = NULL;
    r->subs = NULL;
    r->id = r->params = r->name = r->args = r->meta = r->token = r->client = r->caps = NULL;
    r->method = r->protocol = "";
    r->modern = r->notification = r->running = r->deferred = r->answered = r->cancelled = r->listen = r->heard =
        r->copied = r->waits = false;
    r->begun = r->content = r->structured = r->progressed = r->assistant = false;
    r->ttl_ms = -1;
    r->filter = 0;
    r->log_level = -1;
    r->on_cancel = NULL;
    r->key.name = NULL;
    return r;
}

static void mcpi_req_destroy(mcp_req *r)
{
    mcp_writer_free(&r->w);
    mcp_writer_free(&r->extra);
    mcp_arena_free(&r->arena);
    mcpi_free(&r->s->alloc, r, sizeof *r);
}

static void mcpi_feature_release(mcp_server *s, mcpi_feature *x)
{
    if (!x || --x->uses > 0) return;
    mcpi_strfree(&s->alloc, x->text);
    mcpi_free(&s->alloc, x->required, x->required_len);
    mcpi_free(&s->alloc, x->data, x->data_len + 1);
#ifndef MCP_NO_VALIDATE
    mcp_arena_free(&x->schemas);
#endif
    mcpi_strfree(&s->alloc, x->about);
    mcpi_strfree(&s->alloc, (char *)(uintptr_t)x->named.name);
    mcpi_free(&s->alloc, x, sizeof *x);
}

/* A watch goes with its last subscription, but not while its change is to be told. */
static void mcpi_watch_release(mcp_server *s, mcpi_watch *w)
{
    if (w->subs || w->changed) return;
    mcpi_map_remove(&s->watches, &w->named);
    mcpi_free(&s->alloc, (char *)(uintptr_t)w->named.name, w->named.len + 1);
    mcpi_free(&s->alloc, w, sizeof *w);
}

static void mcpi_sub_free(mcp_server *s, mcpi_sub *b)
{
    mcpi_watch *w = b->watch;
    *b->at = b->next;
    if (b->next) b->next->at = b->at;
    b->conn->sub_count--;
    if (b->named.name) mcpi_map_remove(&b->conn->subs, &b->named);
    mcpi_free(&s->alloc, b, sizeof *b);
    mcpi_watch_release(s, w);
}

static bool mcpi_is_kind(const mcp_req *r, int kind) { return r->feature && r->feature->kind == kind; }

/* A resource that is read, through a template or not. */
static bool mcpi_is_read(const mcp_req *r)
{
    return mcpi_is_kind(r, MCPI_RESOURCES) || mcpi_is_kind(r, MCPI_TEMPLATES);
}

/* What a request object keeps in the pool: small buffers; and the first object there, which the next call gets, also
   a big one for its result, until 64 answers in a row did without. */
static void mcpi_req_shrink(mcp_req *r)
{
    if (r->w.len > MCPI_READ_BATCH) r->calm = 0;
    if (r->w.cap > MCPI_READ_BATCH && (r->s->spare || ++r->calm >= 64)) mcp_writer_free(&r->w);
    if (r->extra.cap > MCPI_READ_BATCH) mcp_writer_free(&r->extra);
    if (r->arena.total > MCPI_READ_BATCH) mcp_arena_free(&r->arena);
    else mcp_arena_reset(&r->arena);
}

/* Out of the tables, and back into the pool unless its handler is still on the stack. */
static void mcpi_req_recycle(mcp_req *r)
{
    mcp_server *s = r->s;
    r->answered = true;
    if (r->deferred) {
        if (r->item.id) mcpi_slots_remove(&s->deferred, &r->item);
        if (r->key.name) mcpi_map_remove(&r->conn->inflight, &r->key);
        r->key.name = NULL;
        r->deferred = false;
    }
    while (r->subs) {
        mcpi_sub *b = r->subs;
        r->subs = b->sister;
        mcpi_sub_free(s, b);
    }
    if (r->running) return;
    if (r->talk) r->talk->end(r);
    mcpi_feature_release(s, r->feature);
    r->feature = NULL;
    r->begun = false;
    mcpi_req_shrink(r);
    r->outer = s->spare;
    s->spare = r;
}

/* -- sending ----------------------------------------------------------------------------------------------------- */

/* An answer that cannot be queued is not lost in silence: the connection ends, and the client knows. */
static int mcpi_conn_broke(mcp_conn *c, int status)
{
    if (status == MCP_OK || status == MCP_ERR_LIMIT) return status;     /* LIMIT: nobody waits for it */
    mcpi_server_fail(c->s, status, "an answer could not be queued (%s): the connection is closed",
                     mcp_strerror(status));
    c->st.broken = true;
    return status;
}

static void mcpi_put_empty(mcp_writer *w, const char *key)
{
    mcpi_put_splice(w, key, "{}", 2);
}

/* The message that was written goes out. */
static int mcpi_queue(mcp_server *s, mcpi_stream *st, bool note)
{
    int rc = note ? mcpi_stream_end_note(st) : mcpi_stream_end(st);
    if (rc == MCP_OK) mcpi_server_trace(s, "->", st->out.buf + st->mark, st->out.len - st->mark - 1);
    return rc;
}

/* note: one that may be dropped when the peer does not read. */
static int mcpi_note_end(mcp_server *s, mcpi_stream *st, bool note)
{
    mcp_put_end(&st->out);
    mcp_put_end(&st->out);
    return mcpi_queue(s, st, note);
}

/* Where an answer is written: the stream, or the batch it belongs to. */
typedef struct mcpi_place { mcp_writer *w; size_t len; bool comma; } mcpi_place;

static mcpi_place mcpi_answer_begin(mcpi_stream *st, mcpi_batch *b, const mcp_json *id)
{
    mcpi_place p;
    p.w = b ? &b->w : mcpi_stream_begin(st);
    p.len = p.w->len;
    p.comma = p.w->comma;
    mcpi_put_envelope(p.w, id);
    return p;
}

static int mcpi_answer_end(mcp_conn *c, mcpi_stream *st, mcpi_batch *b, mcpi_place p)
{
    int rc;
    mcp_put_end(p.w);
    if (!b) return mcpi_queue(c->s, st, false);
    rc = p.w->status;
    if (rc == MCP_OK) return MCP_OK;
    p.w->status = MCP_OK;                   /* the batch goes on without the half of an answer */
    p.w->len = p.len;
    p.w->comma = p.comma;
    p.w->depth = 1;
    return rc;
}

/* One request of the batch is over: after the last one the array goes out. */
static void mcpi_batch_settle(mcpi_batch *b)
{
    mcp_conn *c = b->conn;
    const char *text;
    size_t n;
    if (--b->open > 0) return;
    mcp_put_end(&b->w);
    text = mcp_writer_text(&b->w, &n);
    if (text && n > 2) {
        mcp_writer *w = mcpi_stream_begin(&c->st);
        mcpi_put_splice(w, NULL, text, n);
        (void)mcpi_conn_broke(c, mcpi_queue(c->s, &c->st, false));
    } else if (!text) (void)mcpi_conn_broke(c, b->w.status);
    mcp_writer_free(&b->w);
    mcpi_free(&c->s->alloc, b, sizeof *b);
}

static int mcpi_put_error(mcp_conn *c, mcpi_stream *st, mcpi_batch *b, const mcp_json *id, int code,
                          const char *message, const char *data)
{
    mcpi_place p = mcpi_answer_begin(st, b, id);
    mcp_put_object(p.w, "error");
    mcp_put_int(p.w, "code", code);
    mcp_put_str(p.w, "message", message);
    if (data) mcp_put_raw(p.w, "data", data, MCP_NTS);
    mcp_put_end(p.w);
    return mcpi_answer_end(c, st, b, p);
}

static const char mcpi_no_memory[] = "out of memory";

/* An error for something that never became a request; id may be NULL. */
static void mcpi_conn_error(mcp_conn *c, mcpi_batch *b, const mcp_json *id, int code, const char *message)
{
    (void)mcpi_conn_broke(c, mcpi_put_error(c, &c->st, b, id, code, message, NULL));
}

static void mcpi_conn_no_memory(mcp_conn *c, mcpi_batch *b, const mcp_json *id)
{
    mcpi_conn_error(c, b, id, MCPI_INTERNAL_ERROR, mcpi_no_memory);
}

/* -- the answer -------------------------------------------------------------------------------------------------- */

/* MCP_OK while r can still be answered. */
static int mcpi_req_open(const mcp_req *r)
{
    if (!r) return MCP_ERR_ARGUMENT;
    if (r->cancelled || r->heard) return MCP_ERR_CANCELLED;
    if (r->conn->dead) return MCP_ERR_CLOSED;
    return r->answered || r->notification ? MCP_ERR_MISUSE : MCP_OK;
}

/* The same for what answers: an answer that comes too late is one, too, after which on_cancel does not follow. */
static int mcpi_req_answers(mcp_req *r)
{
    int rc = mcpi_req_open(r);
    if (rc == MCP_ERR_CANCELLED || rc == MCP_ERR_CLOSED) r->on_cancel = NULL;
    return rc;
}

static void mcpi_req_over(mcp_req *r)
{
    mcpi_batch *b = r->batch;
    r->batch = NULL;
    mcpi_req_recycle(r);
    if (b) mcpi_batch_settle(b);
}

static const char mcpi_no_resource[] = "Resource not found";
static int mcpi_not_found(mcp_req *r, const char *message, const mcp_json *uri);

/* Data that is no JSON is the caller's mistake and leaves the request open; an answer that finds no memory ends the
   connection. */
int mcp_req_error(mcp_req *r, int code, const char *message, const char *data)
{
    int rc = mcpi_req_answers(r);
    if (rc != MCP_OK) return rc;
    if (code == MCPI_RESOURCE_NOT_FOUND && !data && mcpi_is_read(r))
        return mcpi_not_found(r, message, mcp_json_get(r->params, "uri"));
    rc = mcpi_put_error(r->conn, r->stream, r->batch, r->id, code, message ? message : "", data);
    if (rc == MCP_ERR_ARGUMENT) return rc;
    rc = mcpi_conn_broke(r->conn, rc);
    mcpi_req_over(r);
    return rc;
}

static void mcpi_refuse(mcp_req *r, int code, const char *message)
{
    (void)mcp_req_error(r, code, message, NULL);
}

static void mcpi_refuse_memory(mcp_req *r)
{
    mcpi_refuse(r, MCPI_INTERNAL_ERROR, mcpi_no_memory);
}

static mcp_writer *mcpi_body(mcp_req *r)
{
    if (r->begun) return &r->w;
    r->begun = true;
    r->content = r->structured = false;
    mcp_writer_reset(&r->w);
    mcp_put_object(&r->w, NULL);
    return &r->w;
}

/* Caching hints, each unless the result has it: the handler's, or the server's. A list that differs per caller is
   private. https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching */
static void mcpi_put_cache(mcp_req *r, mcp_writer *w, const mcp_json *have)
{
    bool own = r->ttl_ms >= 0, open = (own ? r->scope : r->s->d.scope) == MCP_SCOPE_PUBLIC;
    if (!own && r->s->d.visible) open = false;
    if (!mcp_json_get(have, "ttlMs")) mcp_put_int(w, "ttlMs", own ? r->ttl_ms : r->s->d.ttl_ms);
    if (!mcp_json_get(have, "cacheScope")) mcp_put_str(w, "cacheScope", open ? "public" : "private");
}

int mcp_req_cache(mcp_req *r, int ttl_ms, int scope)
{
    int rc = mcpi_req_open(r);
    if (rc != MCP_OK) return rc;
    r->ttl_ms = ttl_ms > 0 ? ttl_ms : 0;
    r->scope = scope;
    return MCP_OK;
}

/* A result that could not be written becomes an error, which is small. */
static int mcpi_result_end(mcp_req *r, int status)
{
    if (status == MCP_OK) mcpi_req_over(r);
    else mcpi_refuse(r, MCPI_INTERNAL_ERROR, status == MCP_ERR_MEMORY ? mcpi_no_memory
                     : status == MCP_ERR_LIMIT ? "the result nests too deep" : "the result could not be written");
    return status;
}

/* Sends the result object in r->w, which is complete but for its end and what the era adds. type: with its quotes.
   `visible` may have answered in the middle of a built-in method. */
static int mcpi_send_typed(mcp_req *r, const char *type)
{
    mcp_writer *w = &r->w;
    mcpi_place p;
    const char *text;
    size_t n;
    int rc = mcpi_req_open(r);
    if (rc != MCP_OK) return rc;
    if (r->modern) {
        mcpi_put_splice(w, "resultType", type, strlen(type));
        mcpi_put_splice(w, "_meta", r->s->meta, r->s->meta_len);
    }
    mcp_put_end(w);
    text = mcp_writer_text(w, &n);
    if (!text) return mcpi_result_end(r, w->status != MCP_OK ? w->status : MCP_ERR_ARGUMENT);
    p = mcpi_answer_begin(r->stream, r->batch, r->id);
    MCPI_PUT_LITERAL(p.w, ",\"result\":");
    mcpi_put_bytes(p.w, text, n);
    return mcpi_result_end(r, mcpi_answer_end(r->conn, r->stream, r->batch, p));
}

static int mcpi_send_body(mcp_req *r)
{
    return mcpi_send_typed(r, "\"complete\"");
}

#ifndef MCP_NO_VALIDATE
/* The scratch of checks is kept, but not after an outlier. */
static int mcpi_check(mcp_server *s, const mcp_schema *schema, const mcp_json *v, mcp_writer *lines)
{
    enum { KEPT = 256 * 1024 };
    int status = schema->check(schema, v, &s->check, NULL, 0, true);
    if (status != MCP_OK && lines) status = schema->check(schema, v, &s->check, lines, 0, true);
    if (lines && lines->status != MCP_OK) status = lines->status;
    if (s->check.total > KEPT) mcp_arena_free(&s->check);
    return status;
}

/* Does structured content, as a value or as text, fit what its tool promises? Neither: there is none. If not, that is a
   fault of this program: r has been answered with an error. */
static int mcpi_check_output(mcp_req *r, const mcp_json *v, const char *text, size_t n)
{
    const mcp_schema *output = r->feature ? r->feature->output : NULL;
    mcp_writer lines;
    char why[480];
    int status = MCP_ERR_INVALID;
    if (!output) return MCP_OK;
    mcp_writer_init(&lines, &r->s->alloc, 0);
    mcp_arena_reset(&r->s->check);
    if (text) v = mcp_json_parse(&r->s->check, text, n, NULL);
    if (v) status = mcpi_check(r->s, output, v, &lines);
    else if (text) status = MCP_ERR_MEMORY;
    if (status != MCP_OK) {
        const char *what = !v && !text ? "there is none" : mcp_strerror(status);
        mcpi_say(why, sizeof why, "tool \"%.*s\": its structured content does not fit outputSchema: %.*s", 64,
                 r->feature->named.name, lines.len ? (int)(lines.len < 400 ? lines.len : 400) : 400,
                 lines.len ? lines.buf : what);
        mcpi_server_log(r->s, 0, why);
        mcpi_refuse(r, MCPI_INTERNAL_ERROR, why);
    }
    mcp_writer_free(&lines);
    return status;
}
#else
static int mcpi_check_output(mcp_req *r, const mcp_json *v, const char *text, size_t n)
{
    (void)r; (void)v; (void)text; (void)n;
    return MCP_OK;
}
#endif

/* A tool result always has content: structured content stands there as text, too. */
static void mcpi_put_content_of(mcp_req *r, mcp_writer *w, const mcp_json *structured)
{
    const char *text;
    size_t n;
    mcp_put_array(w, "content");
    if (structured) {
        mcp_writer_reset(&r->extra);
        mcp_put_json(&r->extra, NULL, structured);
        text = mcp_writer_text(&r->extra, &n);
        if (!text) w->status = mcp_writer_status(&r->extra);
        mcp_put_object(w, NULL);
        mcp_put_str(w, "type", "text");
        mcp_put_strn(w, "text", text, n);
        mcp_put_end(w);
    }
    mcp_put_end(w);
}

/* The same for a result that somebody else wrote: what the era requires is added where it is missing. */
static int mcpi_send_value(mcp_req *r, const mcp_json *v)
{
    const mcp_json *meta = mcp_json_get(v, "_meta"), *m;
    size_t method_len = strlen(r->method);
    mcp_writer *w;
    bool cacheable = (method_len > 5 && strcmp(r->method + method_len - 5, "/list") == 0) ||
                     strcmp(r->method, "resources/read") == 0;
    bool own_type = mcp_json_get(v, "resultType") != NULL;
    bool content = !mcpi_is_kind(r, MCPI_TOOLS) || mcp_json_get(v, "content");
    mcpi_place p;
    int rc = MCP_OK;
    if (!mcp_json_bool(mcp_json_get(v, "isError"), false) &&
        (!own_type || mcpi_is(mcp_json_get(v, "resultType"), "complete")))
        rc = mcpi_check_output(r, mcp_json_get(v, "structuredContent"), NULL, 0);
    if (rc != MCP_OK) return rc;
    p = mcpi_answer_begin(r->stream, r->batch, r->id);
    w = p.w;
    mcp_put_object(w, "result");
    mcp_json_each(member, v)
        if (!r->modern || member != meta) mcp_put_json(w, mcp_json_key(member), member);
    if (!content) mcpi_put_content_of(r, w, mcp_json_get(v, "structuredContent"));
    if (r->modern) {
        if (!own_type) mcp_put_str(w, "resultType", "complete");
        if (cacheable) mcpi_put_cache(r, w, v);
        mcp_put_object(w, "_meta");
        for (m = mcp_json_first(meta); m; m = mcp_json_next(m)) mcp_put_json(w, mcp_json_key(m), m);
        if (!mcp_json_get(meta, "io.modelcontextprotocol/serverInfo"))
            mcpi_put_splice(w, "io.modelcontextprotocol/serverInfo", r->s->info, strlen(r->s->info));
        mcp_put_end(w);
    }
    mcp_put_end(w);
    rc = mcpi_answer_end(r->conn, r->stream, r->batch, p);
    return mcpi_result_end(r, rc);
}

int mcp_req_result(mcp_req *r, const char *json, size_t len)
{
    const mcp_json *v;
    size_t pos = 0;
    int rc = mcpi_req_answers(r);
    if (rc != MCP_OK) return rc;
    if (!json) return MCP_ERR_ARGUMENT;
    v = mcp_json_parse(&r->arena, json, len, &pos);
    if (v && mcp_json_type(v) == MCP_JSON_OBJECT) rc = mcpi_send_value(r, v);
    else if (!v && pos == MCP_NTS) rc = MCP_ERR_MEMORY;
    else
        rc = mcpi_server_fail(r->s, MCP_ERR_ARGUMENT,
                              v ? "the result of %s is not an object" : "the result of %s is not JSON: byte %z",
                              r->method, pos);
    return rc;
}

mcp_writer *mcp_req_begin(mcp_req *r)
{
    if (mcpi_req_open(r) != MCP_OK) return NULL;
    r->begun = false;
    return mcpi_body(r);
}

int mcp_req_end(mcp_req *r)
{
    const char *text;
    size_t n;
    int rc = mcpi_req_answers(r);
    if (rc != MCP_OK) return rc;
    if (!r->begun || r->content) return MCP_ERR_MISUSE;
    mcp_put_end(&r->w);
    r->begun = false;
    text = mcp_writer_text(&r->w, &n);
    return text ? mcp_req_result(r, text, n) : r->w.status != MCP_OK ? r->w.status : MCP_ERR_ARGUMENT;
}

/* -- the answer: content ----------------------------------------------------------------------------------------- */
/* The same pieces make a tool's content, a prompt's messages, and the contents of a resource:
   https://modelcontextprotocol.io/specification/2026-07-28/server/tools#tool-result,
   https://modelcontextprotocol.io/specification/2026-07-28/server/prompts#promptmessage,
   https://modelcontextprotocol.io/specification/2026-07-28/server/resources#resource-contents. A message is a content
   block with a role around it. The contents of a resource are what stands inside an embedded resource, without the
   block around it. */

/* Its answer is values, and no content. */
static bool mcpi_is_completion(const mcp_req *r)
{
    return !r->feature && strcmp(r->method, "completion/complete") == 0;
}

/* A writer inside the array that the pieces stand in; NULL when r cannot be answered. */
static mcp_writer *mcpi_pieces(mcp_req *r, int *rc)
{
    mcp_writer *w;
    *rc = mcpi_req_open(r);
    if (*rc == MCP_OK && mcpi_is_completion(r)) *rc = MCP_ERR_MISUSE;
    if (*rc != MCP_OK) return NULL;
    w = mcpi_body(r);
    if (r->content) return w;
    r->content = true;
    mcp_put_array(w, mcpi_is_kind(r, MCPI_PROMPTS) ? "messages" : mcpi_is_read(r) ? "contents" : "content");
    return w;
}

/* The key that a block stands behind: a message begins here, if it has to be one. */
static const char *mcpi_piece_key(mcp_req *r, mcp_writer *w)
{
    if (!mcpi_is_kind(r, MCPI_PROMPTS)) return NULL;
    mcp_put_object(w, NULL);
    mcp_put_str(w, "role", r->assistant ? "assistant" : "user");
    return "content";
}

/* A writer in a block of this type. */
static mcp_writer *mcpi_piece(mcp_req *r, const char *type, int *rc)
{
    mcp_writer *w = mcpi_pieces(r, rc);
    if (!w) return NULL;
    mcp_put_object(w, mcpi_piece_key(r, w));
    mcp_put_str(w, "type", type);
    return w;
}

static int mcpi_piece_end(mcp_req *r, mcp_writer *w)
{
    mcp_put_end(w);
    if (mcpi_is_kind(r, MCPI_PROMPTS)) mcp_put_end(w);
    return w->status;
}

int mcp_req_role(mcp_req *r, const char *role)
{
    int rc = mcpi_req_open(r);
    if (rc != MCP_OK) return rc;
    if (mcpi_word_of("user\0" "assistant\0", role) < 0) return MCP_ERR_ARGUMENT;
    r->assistant = *role == 'a';
    return MCP_OK;
}

/* TextResourceContents or BlobResourceContents. */
static void mcpi_put_contents(mcp_writer *w, const char *key, const char *uri, const char *mime, const void *data,
                              size_t len, bool binary)
{
    mcp_put_object(w, key);
    mcp_put_str(w, "uri", uri ? uri : "");
    if (mime) mcp_put_str(w, "mimeType", mime);
    if (binary) mcp_put_base64(w, "blob", data, len);
    else mcp_put_strn(w, "text", data ? (const char *)data : "", data ? len : 0);
    mcp_put_end(w);
}

/* One of the contents of the resource that is read. */
static int mcpi_add_contents(mcp_req *r, const char *uri, const char *mime, const void *data, size_t len, bool binary)
{
    int rc;
    mcp_writer *w = mcpi_pieces(r, &rc);
    if (!w) return rc;
    mcpi_put_contents(w, NULL, uri, mime, data, len, binary);
    return w->status;
}

int mcp_req_add_text(mcp_req *r, const char *s, size_t len)
{
    int rc;
    mcp_writer *w;
    if (r && mcpi_is_read(r)) return mcpi_add_contents(r, mcp_req_uri(r), r->feature->about, s, len, false);
    w = mcpi_piece(r, "text", &rc);
    if (!w) return rc;
    mcp_put_strn(w, "text", s ? s : "", s ? len : 0);
    return mcpi_piece_end(r, w);
}

/* Revisions before this one do not know something: they are dates, so that text order is their order. */
static bool mcpi_is_before(const mcp_req *r, const char *version)
{
    return strcmp(r->protocol, version) < 0;
}

static int mcpi_add_media(mcp_req *r, const char *type, const char *mime, const void *data, size_t len)
{
    int rc;
    mcp_writer *w;
    if (r && mcpi_is_read(r)) return mcpi_add_contents(r, mcp_req_uri(r), mime, data, len, true);
    w = mcpi_piece(r, type, &rc);
    if (!w) return rc;
    mcp_put_base64(w, "data", data, len);
    mcp_put_str(w, "mimeType", mime ? mime : "application/octet-stream");
    return mcpi_piece_end(r, w);
}

int mcp_req_add_image(mcp_req *r, const char *mime, const void *data, size_t len)
{
    return mcpi_add_media(r, "image", mime, data, len);
}

/* Before 2025-03-26 there is no audio: the bytes go as an embedded resource. */
int mcp_req_add_audio(mcp_req *r, const char *mime, const void *data, size_t len)
{
    if (r && mcpi_is_before(r, "2025-03-26") && !mcpi_is_read(r))
        return mcp_req_add_resource(r, "audio:data", mime, data, len, true);
    return mcpi_add_media(r, "audio", mime, data, len);
}

int mcp_req_add_resource(mcp_req *r, const char *uri, const char *mime, const void *data, size_t len, bool binary)
{
    int rc;
    mcp_writer *w;
    if (r && mcpi_is_read(r)) return mcpi_add_contents(r, uri ? uri : mcp_req_uri(r), mime, data, len, binary);
    w = mcpi_piece(r, "resource", &rc);
    if (!w) return rc;
    mcpi_put_contents(w, "resource", uri, mime, data, len, binary);
    return mcpi_piece_end(r, w);
}

/* Before 2025-06-18 there are no links: the URI goes as text. */
int mcp_req_add_link(mcp_req *r, const char *uri, const char *name, const char *mime)
{
    int rc;
    mcp_writer *w;
    if (r && mcpi_is_read(r)) return MCP_ERR_ARGUMENT;
    if (r && mcpi_is_before(r, "2025-06-18")) return mcp_req_add_text(r, uri ? uri : "", MCP_NTS);
    w = mcpi_piece(r, "resource_link", &rc);
    if (!w) return rc;
    mcp_put_str(w, "uri", uri ? uri : "");
    mcp_put_str(w, "name", name ? name : uri ? uri : "");
    if (mime) mcp_put_str(w, "mimeType", mime);
    return mcpi_piece_end(r, w);
}

int mcp_req_add_json(mcp_req *r, const char *block, size_t len)
{
    int rc;
    mcp_writer *w = mcpi_pieces(r, &rc);
    if (!w) return rc;
    mcpi_put_object_text(w, mcpi_piece_key(r, w), block, len);
    if (mcpi_is_kind(r, MCPI_PROMPTS)) mcp_put_end(w);
    return w->status;
}

mcp_writer *mcp_req_structure(mcp_req *r)
{
    if (mcpi_req_open(r) != MCP_OK || mcpi_is_completion(r)) return NULL;
    if (r->feature && r->feature->kind != MCPI_TOOLS) return NULL;
    (void)mcpi_body(r);
    mcp_writer_reset(&r->extra);
    r->structured = true;
    return &r->extra;
}

int mcp_req_structured(mcp_req *r, const char *json, size_t len)
{
    mcp_writer *w = mcp_req_structure(r);
    int rc = mcpi_req_open(r);
    if (!w) return rc != MCP_OK ? rc : MCP_ERR_MISUSE;
    mcp_put_raw(w, NULL, json, len);
    return w->status;
}

/* structuredContent may be any value in the modern era, only an object in the legacy one, where the text alone stands
   for others. */
static int mcpi_done(mcp_req *r, bool is_error)
{
    mcp_writer *w;
    const char *text = NULL;
    size_t n = 0;
    bool content = r && r->begun && r->content;
    int rc = mcpi_req_answers(r);
    if (rc != MCP_OK) return rc;
    w = mcpi_pieces(r, &rc);
    if (!w) return rc;
    if (!r->structured && !is_error && (rc = mcpi_check_output(r, NULL, NULL, 0)) != MCP_OK) return rc;
    if (r->structured) {
        text = mcp_writer_text(&r->extra, &n);
        if (!text) w->status = r->extra.status != MCP_OK ? r->extra.status : MCP_ERR_ARGUMENT;
        else if (!is_error && (rc = mcpi_check_output(r, NULL, text, n)) != MCP_OK) return rc;
        else if (!content) (void)mcp_req_add_text(r, text, n);
    }
    mcp_put_end(w);
    if (text && (r->modern || *text == '{')) mcpi_put_splice(w, "structuredContent", text, n);
    if (is_error) mcp_put_bool(w, "isError", true);
    if (mcpi_is_kind(r, MCPI_PROMPTS) && r->feature->about) mcp_put_str(w, "description", r->feature->about);
    if (r->modern && mcpi_is_read(r)) mcpi_put_cache(r, w, NULL);
    return mcpi_send_body(r);
}

int mcp_req_done(mcp_req *r)
{
    return mcpi_done(r, false);
}

/* A one-call answer replaces whatever pieces were added before it. It is written where it goes out, in one piece. */
static int mcpi_only_text(mcp_req *r, const char *text, size_t len, bool is_error)
{
    mcpi_place p;
    int rc = mcpi_req_answers(r);
    if (rc != MCP_OK) return rc;
    if (mcpi_is_completion(r)) return MCP_ERR_MISUSE;
    r->begun = false;
    if (len == MCP_NTS) len = text ? strlen(text) : 0;
    if (r->feature && r->feature->kind != MCPI_TOOLS) {
        (void)mcp_req_add_text(r, text, len);
        return mcpi_done(r, false);
    }
    if (!is_error && (rc = mcpi_check_output(r, NULL, NULL, 0)) != MCP_OK) return rc;
    p = mcpi_answer_begin(r->stream, r->batch, r->id);
    MCPI_PUT_LITERAL(p.w, ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
    mcpi_put_quoted(p.w, 0, text ? text : "", len, 0, false);
    if (is_error) MCPI_PUT_LITERAL(p.w, "}],\"isError\":true");
    else MCPI_PUT_LITERAL(p.w, "}]");
    if (r->modern) {
        MCPI_PUT_LITERAL(p.w, ",\"resultType\":\"complete\",\"_meta\":");
        mcpi_put_bytes(p.w, r->s->meta, r->s->meta_len);
    }
    MCPI_PUT_LITERAL(p.w, "}");
    return mcpi_result_end(r, mcpi_answer_end(r->conn, r->stream, r->batch, p));
}

int mcp_req_text(mcp_req *r, const char *text)
{
    return mcpi_only_text(r, text, MCP_NTS, false);
}

int mcp_req_fail(mcp_req *r, const char *text)
{
    if (r && !mcpi_is_kind(r, MCPI_TOOLS)) return mcp_req_error(r, MCPI_INTERNAL_ERROR, text, NULL);
    return mcpi_only_text(r, text, MCP_NTS, true);
}

#ifndef MCP_NO_PRINTF
/* A text that was printed, in place if it is short. */
typedef struct mcpi_print { char small[512]; char *text; size_t size; } mcpi_print;

static int mcpi_printf(mcpi_print *p, const mcp_allocator *a, const char *fmt, va_list ap) MCP_PRINTF(3, 0);
static int mcpi_answerf(mcp_req *r, int (*use)(mcp_req *, const char *), const char *fmt, va_list ap)
    MCP_PRINTF(3, 0);

static int mcpi_printf(mcpi_print *p, const mcp_allocator *a, const char *fmt, va_list ap)
{
    va_list again;
    int n;
    va_copy(again, ap);
    p->text = p->small;
    p->size = 0;
    n = vsnprintf(p->small, sizeof p->small, fmt, ap);
    if (n >= (int)sizeof p->small) {
        p->size = (size_t)n + 1;
        p->text = (char *)mcpi_alloc(a, p->size);
        if (p->text) vsnprintf(p->text, p->size, fmt, again);
    }
    va_end(again);
    return n < 0 ? MCP_ERR_ARGUMENT : p->text ? MCP_OK : MCP_ERR_MEMORY;
}

/* The request may be gone when its answer is out, and the server with it: the allocator is kept. */
static int mcpi_answerf(mcp_req *r, int (*use)(mcp_req *, const char *), const char *fmt, va_list ap)
{
    mcpi_print p;
    mcp_allocator a;
    int rc = mcpi_req_answers(r);
    if (rc != MCP_OK) return rc;
    a = r->s->alloc;
    rc = mcpi_printf(&p, &a, fmt, ap);
    if (rc == MCP_OK) rc = use(r, p.text);
    else if (rc == MCP_ERR_MEMORY) (void)mcpi_result_end(r, rc);
    if (p.size) mcpi_free(&a, p.text, p.size);
    return rc;
}

int mcp_req_textf(mcp_req *r, const char *fmt, ...)
{
    va_list ap;
    int rc;
    va_start(ap, fmt);
    rc = mcpi_answerf(r, mcp_req_text, fmt, ap);
    va_end(ap);
    return rc;
}

int mcp_req_failf(mcp_req *r, const char *fmt, ...)
{
    va_list ap;
    int rc;
    va_start(ap, fmt);
    rc = mcpi_answerf(r, mcp_req_fail, fmt, ap);
    va_end(ap);
    return rc;
}
#endif

/* -- what a request says ----------------------------------------------------------------------------------------- */

const mcp_json *mcp_req_args  (const mcp_req *r) { return r ? r->args : NULL; }
const mcp_json *mcp_req_params(const mcp_req *r) { return r ? r->params : NULL; }
const mcp_json *mcp_req_meta  (const mcp_req *r) { return r ? r->meta : NULL; }
const char *mcp_req_method    (const mcp_req *r) { return r ? r->method : ""; }
const char *mcp_req_tool      (const mcp_req *r)
{
    return r && mcpi_is_kind(r, MCPI_TOOLS) ? r->feature->named.name : "";
}
const char *mcp_req_protocol  (const mcp_req *r) { return r ? r->protocol : ""; }
const mcp_json *mcp_req_client(const mcp_req *r) { return r ? r->client : NULL; }
const mcp_json *mcp_req_capabilities(const mcp_req *r) { return r ? r->caps : NULL; }
const char *mcp_req_principal (const mcp_req *r) { return r && r->conn->principal ? r->conn->principal : ""; }
const char *mcp_req_uri       (const mcp_req *r)
{
    return r && mcpi_is_read(r) ? mcp_json_str(mcp_json_get(r->params, "uri"), "") : "";
}
mcp_server *mcp_req_server    (const mcp_req *r) { return r ? r->s : NULL; }
mcp_conn *mcp_req_conn        (const mcp_req *r) { return r ? r->conn : NULL; }

bool mcp_req_can(const mcp_req *r, const char *pointer)
{
    const mcp_json *e;
    if (!r || !pointer) return false;
    if (mcp_json_at(r->caps, pointer)) return true;
    e = mcp_json_get(r->caps, "elicitation");           /* before there were two modes, {} meant form */
    return strcmp(pointer, "/elicitation/form") == 0 && mcp_json_type(e) == MCP_JSON_OBJECT && mcp_json_size(e) == 0;
}

const char *mcp_arg_str(const mcp_req *r, const char *name, const char *fallback)
{
    return mcp_json_str(mcp_json_get(mcp_req_args(r), name), fallback);
}
int64_t mcp_arg_int(const mcp_req *r, const char *name, int64_t fallback)
{
    return mcp_json_int(mcp_json_get(mcp_req_args(r), name), fallback);
}
double mcp_arg_num(const mcp_req *r, const char *name, double fallback)
{
    return mcp_json_num(mcp_json_get(mcp_req_args(r), name), fallback);
}
bool mcp_arg_bool(const mcp_req *r, const char *name, bool fallback)
{
    return mcp_json_bool(mcp_json_get(mcp_req_args(r), name), fallback);
}

/* -- deferring --------------------------------------------------------------------------------------------------- */

static mcp_req *mcpi_req_of_key(mcpi_named *x)
{
    return x ? (mcp_req *)(void *)((char *)x - offsetof(mcp_req, key)) : NULL;
}

/* The deferred request of this peer with this id. The map knows ids by their text; "2" and 2 share one, so the ids
   themselves are compared. */
static mcp_req *mcpi_find_inflight(const mcp_conn *c, const mcp_json *id)
{
    const mcpi_map *m = &c->inflight;
    size_t i, n = 0;
    const char *text = mcp_json_text(id, &n);
    uint32_t h;
    if (m->count == 0) return NULL;
    h = mcpi_hash(text, n);
    for (i = h & (m->cells - 1); m->cell[i]; i = (i + 1) & (m->cells - 1)) {
        mcp_req *r = mcpi_req_of_key(m->cell[i]);
        if (r->key.hash == h && mcpi_equal(r->id, id)) return r;
    }
    return NULL;
}

/* The members of params that most requests have. */
static void mcpi_req_read_params(mcp_req *r)
{
    const mcp_json *k;
    uint32_t left;
    if (!r->params) return;
    mcpi_each_key(k, left, r->params) {
        const mcp_json **to;
        const char *word;
        switch (k->n) {
        case 4:  word = "name"; to = &r->name; break;
        case 5:  word = "_meta"; to = &r->meta; break;
        case 9:  word = "arguments"; to = &r->args; break;
        default: continue;
        }
        if (memcmp(k->u.text, word, k->n) == 0) *to = k + 1;
    }
}

/* A completion's arguments are what is known already. */
static void mcpi_req_read_context(mcp_req *r)
{
    r->args = mcp_json_at(r->params, "/context/arguments");
    if (mcp_json_type(r->args) != MCP_JSON_OBJECT) r->args = r->s->empty;
}

/* Copies what r points at into its own arena. */
static bool mcpi_req_keep(mcp_req *r)
{
    mcp_arena *a = &r->arena;
    const mcp_json *id = mcp_json_copy(a, r->id), *params = mcp_json_copy(a, r->params);
    const mcp_json *client = mcp_json_copy(a, r->client), *caps = mcp_json_copy(a, r->caps);
    size_t n = strlen(r->method) + 1;
    char *method = (char *)mcp_arena_alloc(a, n);
    if (!id || !method || (r->params && !params) || (r->client && !client) || (r->caps && !caps)) return false;
    memcpy(method, r->method, n);
    r->id = id;
    r->params = params;
    r->client = client;
    r->caps = caps;
    r->method = method;
    mcpi_req_read_params(r);
    if (strcmp(method, "completion/complete") == 0) mcpi_req_read_context(r);
    r->copied = true;
    if (r->token) r->token = mcp_json_get(r->meta, "progressToken");
    return true;
}

mcp_id mcp_req_defer(mcp_req *r)
{
    if (mcpi_req_open(r) != MCP_OK) return 0;
    if (r->deferred) return r->item.id;
    if (!r->copied && !mcpi_req_keep(r)) return 0;
    if (mcpi_slots_add(&r->s->deferred, &r->item, MCP_NEVER) != MCP_OK) return 0;
    r->key.name = mcp_json_text(r->id, &r->key.len);
    if (!mcpi_map_add(&r->s->alloc, &r->conn->inflight, &r->key)) {
        r->key.name = NULL;
        mcpi_slots_remove(&r->s->deferred, &r->item);
        return 0;
    }
    r->deferred = true;
    return r->item.id;
}

mcp_req *mcp_server_req(mcp_server *s, mcp_id id)
{
    mcp_req *r = s ? (mcp_req *)mcpi_slots_get(&s->deferred, id) : NULL;
    return r && !r->listen && !r->cancelled ? r : NULL;
}

int mcp_req_on_cancel(mcp_req *r, void (*fn)(mcp_server *s, mcp_id id, void *arg), void *arg)
{
    int rc = mcpi_req_open(r);
    if (rc != MCP_OK) return rc;
    r->on_cancel = fn;
    r->on_cancel_arg = arg;
    return MCP_OK;
}

/* A request that will not be answered ends; whoever works on it is told. */
static void mcpi_req_drop(mcp_req *r)
{
    mcp_server *s = r->s;
    mcp_id id = r->item.id;
    void (*fn)(mcp_server *, mcp_id, void *) = r->deferred ? r->on_cancel : NULL;
    void *arg = r->on_cancel_arg;
    mcpi_req_over(r);
    if (!fn) return;
    s->nest++;
    fn(s, id, arg);
    s->nest--;
}

/* The client takes r back, or has gone. A running handler learns it from mcp_req_cancelled, and r is dropped when it
   returns. */
static void mcpi_req_cancel(mcp_req *r)
{
    if (r->cancelled || r->answered) return;
    r->cancelled = true;
    r->s->stats.cancelled++;
    if (!r->running) mcpi_req_drop(r);
}

/* -- while it runs ----------------------------------------------------------------------------------------------- */

/* One line that came while r is worked on: taken if it is a cancel of a running request, or a ping. A cancel of r
   itself is noticed, and left to be handled in its turn if r is deferred. */
static bool mcpi_peek_line(mcp_req *r, mcpi_frame *f, const char *line, size_t len)
{
    mcp_conn *c = r->conn;
    mcp_msg m;
    mcp_req *run;
    bool taken = false;
    if (len > MCPI_READ_MIN || mcp_msg_parse(&f->arena, line, len, &m) != MCP_OK) len = 0;   /* a cancel is short */
    if (len && m.kind == MCP_MSG_NOTIFICATION && strcmp(m.method, "notifications/cancelled") == 0) {
        const mcp_json *id = mcp_json_get(m.params, "requestId");
        for (run = c->s->running; run && !taken; run = run->outer)
            if (run->conn == c && !run->cancelled && mcpi_equal(run->id, id)) {
                mcpi_req_cancel(run);
                taken = true;
            }
        if (!r->running && mcpi_equal(r->id, id)) r->heard = true;
    } else if (len && m.kind == MCP_MSG_REQUEST && strcmp(m.method, "ping") == 0 && c->version &&
               !mcp_json_at(m.params, "/_meta/io.modelcontextprotocol~1protocolVersion")) {
        mcpi_place p = mcpi_answer_begin(&c->st, NULL, m.id);
        mcpi_put_empty(p.w, "result");
        (void)mcpi_conn_broke(c, mcpi_answer_end(c, &c->st, NULL, p));
        taken = true;
    }
    mcp_arena_reset(&f->arena);
    return taken;
}

/* Writes out what is queued and reads what has come, at most once a millisecond. Lines that are taken are blanked out
   where they stand; the others wait their turn. */
static void mcpi_peek(mcp_req *r)
{
    mcp_conn *c = r->conn;
    mcpi_stream *st = &c->st;
    mcpi_frame *f;
    if (c->dead || r->answered || mcpi_server_clock(r->s) == r->s->peeked) return;
    r->s->peeked = r->s->now;
    (void)mcpi_stream_flush(st);
    if (mcpi_stream_enter(st, r->s->nest) != MCP_OK) return;
    (void)mcpi_stream_fill(st);
    f = st->in;
    if (f->peek < f->pos) f->peek = f->pos;
    while (f->peek < f->len) {
        char *line = f->buf + f->peek, *lf = (char *)memchr(line, '\n', f->len - f->peek);
        if (!lf) break;
        if (!(st->oversize && f->peek == f->pos) &&         /* that is the rest of a line that is dropped */
            mcpi_peek_line(r, f, line, (size_t)(lf - line))) {
            mcpi_server_trace(r->s, "<-", line, (size_t)(lf - line));
            r->s->stats.messages_in++;
            memset(line, ' ', (size_t)(lf - line));
        }
        f->peek = (size_t)(lf - f->buf) + 1;
    }
    if (mcpi_stream_queued(st)) (void)mcpi_stream_flush(st);
}

bool mcp_req_cancelled(mcp_req *r)
{
    if (!r || r->cancelled) return true;
    mcpi_peek(r);
    return r->cancelled || r->heard || r->conn->dead || r->conn->st.broken ||
           (r->conn->draining && r->s->now >= r->conn->drain_until);
}

int mcp_req_progress(mcp_req *r, double done, double total, const char *message)
{
    mcp_writer *w;
    int rc = mcpi_req_open(r);
    if (rc != MCP_OK) return rc;
    if (r->token && done - done == 0 && (!r->progressed || done > r->progress)) {       /* neither NaN nor infinite */
        r->progressed = true;
        r->progress = done;
        w = mcpi_note_begin(r->stream, "notifications/progress");
        mcpi_put_lexeme(w, "progressToken", r->token);
        mcp_put_num(w, "progress", done);
        if (total > 0) mcp_put_num(w, "total", total);
        if (message) mcp_put_str(w, "message", message);
        rc = mcpi_note_end(r->s, r->stream, true);
    }
    mcpi_peek(r);
    return rc;
}

static bool mcpi_wants_log(const mcp_req *r, const char *level)
{
    int n = mcpi_word_of(mcpi_levels, level);
    return n >= 0 && r->log_level >= 0 && n >= r->log_level && r->s->has_logging;
}

/* Exactly one of data (JSON) and text (plain) is given. */
static int mcpi_req_log(mcp_req *r, const char *level, const char *logger, const char *data, const char *text)
{
    int rc = mcpi_req_open(r);
    if (rc != MCP_OK) return rc;
    if (mcpi_word_of(mcpi_levels, level) < 0) return MCP_ERR_ARGUMENT;
    if (mcpi_wants_log(r, level)) {
        mcp_writer *w = mcpi_note_begin(r->stream, "notifications/message");
        mcp_put_str(w, "level", level);
        if (logger) mcp_put_str(w, "logger", logger);
        if (data) mcp_put_raw(w, "data", data, MCP_NTS);
        else mcp_put_str(w, "data", text);
        rc = mcpi_note_end(r->s, r->stream, true);
    }
    mcpi_peek(r);
    return rc;
}

int mcp_req_log(mcp_req *r, const char *level, const char *logger, const char *data)
{
    return data ? mcpi_req_log(r, level, logger, data, NULL) : MCP_ERR_ARGUMENT;
}

#ifndef MCP_NO_PRINTF
int mcp_req_logf(mcp_req *r, const char *level, const char *fmt, ...)
{
    mcpi_print p;
    va_list ap;
    int rc = mcpi_req_open(r);
    if (rc != MCP_OK) return rc;
    if (!mcpi_wants_log(r, level)) return mcpi_req_log(r, level, NULL, NULL, "");
    va_start(ap, fmt);
    rc = mcpi_printf(&p, &r->s->alloc, fmt, ap);
    va_end(ap);
    if (rc == MCP_OK) rc = mcpi_req_log(r, level, NULL, NULL, p.text);
    if (p.size) mcpi_free(&r->s->alloc, p.text, p.size);
    return rc;
}
#endif

static int mcpi_send_note(mcp_server *s, mcpi_stream *st, const char *method, const char *params)
{
    mcp_writer *w = mcpi_stream_begin(st);
    mcpi_put_envelope(w, NULL);
    mcp_put_str(w, "method", method);
    if (params) mcpi_put_object_text(w, "params", params, MCP_NTS);
    mcp_put_end(w);
    return mcpi_queue(s, st, true);
}

int mcp_req_notify(mcp_req *r, const char *method, const char *params)
{
    int rc = mcpi_req_open(r);
    if (rc != MCP_OK) return rc;
    rc = method ? mcpi_send_note(r->s, r->stream, method, params) : MCP_ERR_ARGUMENT;
    mcpi_peek(r);
    return rc;
}

static void mcpi_tell_changes(mcp_server *s);
static mcpi_feature *mcpi_resource_find(mcp_req *r, mcp_arena *a, const mcp_json *uri, int *rc);

/* -- built-in methods: handshake and discovery ------------------------------------------------------------------- */

static bool mcpi_says(const mcp_server *s, const char *capability)
{
    return mcp_json_get(s->caps, capability) != NULL;
}

/* Resources and templates come together. */
static bool mcpi_has_list(const mcp_server *s, int kind)
{
    const mcpi_list *l = &s->lists[kind], *other = l;
    if (kind == MCPI_RESOURCES || kind == MCPI_TEMPLATES)
        other = &s->lists[MCPI_RESOURCES + MCPI_TEMPLATES - kind];
    return l->count > 0 || l->said || other->count > 0 || other->said;
}

/* Does it tell changes of this list, or (subscribe) of its resources? It does, unless the program has said no. */
static bool mcpi_offers(const mcp_server *s, int kind, const char *what)
{
    const mcp_json *said = mcp_json_get(mcp_json_get(s->caps, mcpi_word_at(mcpi_lists, kind)), what);
    return mcpi_has_list(s, kind) && (!said || mcp_json_bool(said, false));
}

/* What the registry says, and over it what the program declared. */
static void mcpi_put_capabilities(mcp_server *s, mcp_writer *w)
{
    int kind;
    mcp_put_object(w, "capabilities");
    for (kind = 0; kind <= MCPI_PROMPTS; kind++) {
        const char *name = mcpi_word_at(mcpi_lists, kind);
        const mcp_json *said = mcp_json_get(s->caps, name);
        if (!mcpi_has_list(s, kind)) continue;
        mcp_put_object(w, name);
        if (!mcp_json_get(said, "listChanged")) mcp_put_bool(w, "listChanged", true);
        if (kind == MCPI_RESOURCES && !mcp_json_get(said, "subscribe")) mcp_put_bool(w, "subscribe", true);
        mcp_json_each(v, said) mcp_put_json(w, mcp_json_key(v), v);
        mcp_put_end(w);
    }
    if (s->has_completions && !mcpi_says(s, "completions")) mcpi_put_empty(w, "completions");
    mcp_json_each(v, s->caps)
        if (mcpi_word_of(mcpi_lists, mcp_json_key(v)) < 0) mcp_put_json(w, mcp_json_key(v), v);
    mcp_put_end(w);
}

/* https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle: the version that was asked for if we
   speak it, else our newest. */
static void mcpi_do_initialize(mcp_req *r)
{
    mcp_conn *c = r->conn;
    mcp_server *s = r->s;
    int i = mcpi_word_of(mcpi_versions, mcp_json_str(mcp_json_get(r->params, "protocolVersion"), NULL));
    const mcp_json *client = mcp_json_get(r->params, "clientInfo"), *caps = mcp_json_get(r->params, "capabilities");
    mcp_writer *w;
    if (r->batch || c->handlers > 1) {      /* a handler that runs may look at what the last initialize said */
        mcpi_refuse(r, MCPI_INVALID_REQUEST, r->batch ? "initialize must not be part of a batch"
                                                      : "initialize while another request runs");
        return;
    }
    mcp_arena_reset(&c->session);
    c->client = mcp_json_copy(&c->session, client);
    c->caps = mcp_json_copy(&c->session, caps);
    if ((client && !c->client) || (caps && !c->caps)) {
        mcpi_refuse_memory(r);
        return;
    }
    c->version = mcpi_word_at(mcpi_versions, i < MCPI_VERSION_LEGACY ? MCPI_VERSION_LEGACY : i);
    c->log_level = -1;
    w = mcpi_body(r);
    mcp_put_str(w, "protocolVersion", c->version);
    mcpi_put_capabilities(s, w);
    mcpi_put_splice(w, "serverInfo", s->info, strlen(s->info));
    if (s->instructions) mcp_put_str(w, "instructions", s->instructions);
    (void)mcpi_send_body(r);
}

static void mcpi_do_ping(mcp_req *r)
{
    (void)mcpi_body(r);
    (void)mcpi_send_body(r);
}

/* https://modelcontextprotocol.io/specification/2026-07-28/server/discover */
static void mcpi_do_discover(mcp_req *r)
{
    mcp_writer *w = mcpi_body(r);
    mcp_put_array(w, "supportedVersions");
    mcp_put_str(w, NULL, MCP_PROTOCOL_MODERN);
    mcp_put_end(w);
    mcpi_put_capabilities(r->s, w);
    if (r->s->instructions) mcp_put_str(w, "instructions", r->s->instructions);
    mcpi_put_cache(r, w, NULL);
    (void)mcpi_send_body(r);
}

static void mcpi_do_set_level(mcp_req *r)
{
    int n = mcpi_word_of(mcpi_levels, mcp_json_str(mcp_json_get(r->params, "level"), NULL));
    if (!r->s->has_logging) {
        mcpi_refuse(r, MCPI_METHOD_NOT_FOUND, "this server does not log");
        return;
    }
    if (n < 0) {
        mcpi_refuse(r, MCPI_INVALID_PARAMS,
                    "level is none of debug, info, notice, warning, error, critical, alert, emergency");
        return;
    }
    r->conn->log_level = n;
    mcpi_do_ping(r);
}

/* -- built-in methods: subscriptions ----------------------------------------------------------------------------- */
/* https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions. A listen is a request that
   stays open: deferred, and marked. */

static void mcpi_put_subscription(mcp_writer *w, const mcp_json *id)
{
    mcp_put_object(w, "_meta");
    mcpi_put_lexeme(w, "io.modelcontextprotocol/subscriptionId", id);
    mcp_put_end(w);
}

/* NULL, or which member of the filter is malformed. */
static const char *mcpi_filter_fault(const mcp_json *f)
{
    const mcp_json *uris = mcp_json_get(f, "resourceSubscriptions"), *u;
    const char *flag;
    if (mcp_json_type(f) != MCP_JSON_OBJECT) return "notifications";
    for (flag = mcpi_filter_flags; *flag; flag += strlen(flag) + 1) {
        const mcp_json *v = mcp_json_get(f, flag);
        if (v && mcp_json_type(v) != MCP_JSON_BOOL) return flag;
    }
    if (uris && mcp_json_type(uris) != MCP_JSON_ARRAY) return "resourceSubscriptions";
    for (u = mcp_json_first(uris); u; u = mcp_json_next(u))
        if (mcp_json_type(u) != MCP_JSON_STRING) return "resourceSubscriptions";
    return NULL;
}

static mcpi_watch *mcpi_watch_new(mcp_server *s, const char *uri, size_t n)
{
    mcpi_watch *w = (mcpi_watch *)mcpi_zalloc(&s->alloc, sizeof *w);
    if (!w) return NULL;
    w->named.len = n;
    w->named.name = mcpi_strdup(&s->alloc, uri, n);
    if (w->named.name && mcpi_map_add(&s->alloc, &s->watches, &w->named)) return w;
    mcpi_free(&s->alloc, (char *)(uintptr_t)w->named.name, n + 1);
    mcpi_free(&s->alloc, w, sizeof *w);
    return NULL;
}

/* Does a listen that has just come watch this? Its subscriptions are the first ones. */
static bool mcpi_is_watching(const mcpi_watch *w, const mcp_req *listen)
{
    return w && w->subs && w->subs->listen == listen;
}

/* A subscription of a peer, or of its listen. MCP_OK, MCP_ERR_MEMORY or MCP_ERR_LIMIT. */
static int mcpi_sub_add(mcp_conn *c, mcp_req *listen, const mcp_json *uri)
{
    mcp_server *s = c->s;
    size_t n = 0;
    const char *text = mcp_json_text(uri, &n);
    mcpi_watch *w = (mcpi_watch *)mcpi_map_find(&s->watches, text, n);
    mcpi_sub *b;
    if (listen ? mcpi_is_watching(w, listen) : mcpi_map_find(&c->subs, text, n) != NULL) return MCP_OK;
    if (n > MCPI_URI_MAX || c->sub_count >= (size_t)s->d.max_subscriptions) return MCP_ERR_LIMIT;
    b = (mcpi_sub *)mcpi_zalloc(&s->alloc, sizeof *b);
    if (!b) return MCP_ERR_MEMORY;
    if (!w) w = mcpi_watch_new(s, text, n);
    if (!w) { mcpi_free(&s->alloc, b, sizeof *b); return MCP_ERR_MEMORY; }
    b->watch = w;
    b->conn = c;
    b->listen = listen;
    b->at = &w->subs;
    b->next = w->subs;
    if (b->next) b->next->at = &b->next;
    w->subs = b;
    c->sub_count++;
    if (listen) {
        b->sister = listen->subs;
        listen->subs = b;
        return MCP_OK;
    }
    b->named.name = w->named.name;
    b->named.len = n;
    if (mcpi_map_add(&s->alloc, &c->subs, &b->named)) return MCP_OK;
    b->named.name = NULL;
    mcpi_sub_free(s, b);
    return MCP_ERR_MEMORY;
}

/* What mcpi_sub_add could not do. */
static void mcpi_refuse_sub(mcp_req *r, int rc)
{
    if (rc == MCP_ERR_LIMIT) mcpi_refuse(r, MCPI_BUSY, "busy: too many subscriptions");
    else mcpi_refuse_memory(r);
}

/* What the caller may not see cannot be watched: MCP_ERR_UNKNOWN. What is found out here is not kept: a listen may name
   many. */
static int mcpi_may_watch(mcp_req *r, const mcp_json *uri)
{
    mcp_arena a;
    int rc = MCP_OK;
    if (!r->s->d.visible) return rc;
    mcp_arena_init(&a, &r->s->alloc, 0);
    (void)mcpi_resource_find(r, &a, uri, &rc);
    mcp_arena_free(&a);
    r->vars = NULL;
    return mcpi_req_open(r) == MCP_OK ? rc : MCP_ERR_UNKNOWN;
}

/* What a listen asks for and this server tells: into r->filter. */
static void mcpi_listen_lists(mcp_req *r, const mcp_json *filter)
{
    int kind;
    for (kind = 0; kind <= MCPI_PROMPTS; kind++)
        if (mcp_json_bool(mcp_json_get(filter, mcpi_word_at(mcpi_filter_flags, kind)), false)
            && mcpi_offers(r->s, kind, "listChanged"))
            r->filter |= 1u << kind;
}

/* Watches its URIs, but what the caller may not see. MCP_OK, MCP_ERR_MEMORY or MCP_ERR_LIMIT. */
static int mcpi_listen_watch(mcp_req *r, const mcp_json *uris)
{
    int rc = MCP_OK;
    mcp_json_each(u, uris) {
        if (rc == MCP_OK) rc = mcpi_may_watch(r, u);
        else break;
        if (rc == MCP_OK) rc = mcpi_sub_add(r->conn, r, u);
        else if (rc == MCP_ERR_UNKNOWN) rc = MCP_OK;
    }
    return rc;
}

/* The first message of a subscription: what has been agreed to. */
static void mcpi_listen_acknowledge(mcp_req *r, const mcp_json *uris)
{
    mcp_writer *w = mcpi_note_begin(r->stream, mcpi_changes);
    int kind;
    mcpi_put_subscription(w, r->id);
    mcp_put_object(w, "notifications");
    for (kind = 0; kind <= MCPI_PROMPTS; kind++)
        if (r->filter >> kind & 1) mcp_put_bool(w, mcpi_word_at(mcpi_filter_flags, kind), true);
    if (uris) {
        mcp_put_array(w, "resourceSubscriptions");
        mcp_json_each(u, uris) {
            size_t n;
            const char *uri = mcp_json_text(u, &n);
            if (mcpi_is_watching((mcpi_watch *)mcpi_map_find(&r->s->watches, uri, n), r)) mcp_put_json(w, NULL, u);
        }
        mcp_put_end(w);
    }
    mcp_put_end(w);
    (void)mcpi_conn_broke(r->conn, mcpi_note_end(r->s, r->stream, false));
}

static void mcpi_do_listen(mcp_req *r)
{
    const mcp_json *filter = mcp_json_get(r->params, "notifications"), *uris;
    const char *fault = mcpi_filter_fault(filter);
    char text[96];
    int rc;
    if (fault) {
        mcpi_say(text, sizeof text, "the filter is malformed: %s", fault);
        mcpi_refuse(r, MCPI_INVALID_PARAMS, text);
        return;
    }
    if (r->batch) {                         /* all other answers would wait for its end */
        mcpi_refuse(r, MCPI_INVALID_REQUEST, "subscriptions/listen must not be part of a batch");
        return;
    }
    mcpi_listen_lists(r, filter);
    mcpi_tell_changes(r->s);                /* what changed before is no news to this one */
    if (!mcp_req_defer(r)) {
        mcpi_refuse_memory(r);
        return;
    }
    uris = mcp_json_at(r->params, "/notifications/resourceSubscriptions");         /* the copy */
    if (!mcpi_offers(r->s, MCPI_RESOURCES, "subscribe")) uris = NULL;
    rc = mcpi_listen_watch(r, uris);
    if (rc != MCP_OK) {
        mcpi_refuse_sub(r, rc);
        return;
    }
    if (mcpi_req_open(r) != MCP_OK) return;
    r->listen = true;
    mcpi_listen_acknowledge(r, uris);
}

/* resources/subscribe and resources/unsubscribe, of the legacy era:
   https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions */
static void mcpi_do_subscribe(mcp_req *r)
{
    const mcp_json *uri = mcp_json_get(r->params, "uri");
    bool add = strcmp(r->method, "resources/subscribe") == 0;
    size_t n = 0;
    const char *text = mcp_json_text(uri, &n);
    mcpi_sub *b;
    int rc = MCP_OK;
    if (!mcpi_offers(r->s, MCPI_RESOURCES, "subscribe")) {
        mcpi_refuse(r, MCPI_METHOD_NOT_FOUND, "this server has no subscriptions");
        return;
    }
    if (mcp_json_type(uri) != MCP_JSON_STRING) {
        mcpi_refuse(r, MCPI_INVALID_PARAMS, "params.uri is not a string");
        return;
    }
    if (add && (rc = mcpi_may_watch(r, uri)) == MCP_OK) rc = mcpi_sub_add(r->conn, NULL, uri);
    else if (rc == MCP_ERR_UNKNOWN) { (void)mcpi_not_found(r, mcpi_no_resource, uri); return; }
    else if (!add && (b = (mcpi_sub *)(void *)mcpi_map_find(&r->conn->subs, text, n)) != NULL) mcpi_sub_free(r->s, b);
    if (rc == MCP_OK) mcpi_do_ping(r);
    else mcpi_refuse_sub(r, rc);
}

/* The server's own end of a listen: its result, and on a stream notifications/cancelled right behind it. */
static void mcpi_end_listen(mcp_req *r)
{
    mcpi_stream *st = r->stream;
    mcpi_place p = mcpi_answer_begin(st, NULL, r->id);
    mcp_put_object(p.w, "result");
    mcp_put_str(p.w, "resultType", "complete");
    mcpi_put_subscription(p.w, r->id);
    mcp_put_end(p.w);
    (void)mcpi_conn_broke(r->conn, mcpi_answer_end(r->conn, st, NULL, p));
    mcpi_put_lexeme(mcpi_note_begin(st, "notifications/cancelled"), "requestId", r->id);
    (void)mcpi_conn_broke(r->conn, mcpi_note_end(r->s, st, false));
    mcpi_req_over(r);
}

/* -- built-in methods: lists ------------------------------------------------------------------------------------- */

/* Index of the first entry behind `seq`. */
static size_t mcpi_list_after(const mcpi_list *l, uint64_t seq)
{
    size_t lo = 0, hi = l->count;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (l->at[mid]->seq <= seq) lo = mid + 1; else hi = mid;
    }
    return lo;
}

/* A cursor is the seq of the last entry that was looked at, so it stays good while others come and go. false: not one
   of ours. */
static bool mcpi_read_cursor(const mcp_server *s, const mcp_json *cursor, uint64_t *seq)
{
    size_t i, n;
    const char *t = mcp_json_text(cursor, &n);
    *seq = 0;
    if (!cursor || mcp_json_type(cursor) == MCP_JSON_NULL) return true;
    if (mcp_json_type(cursor) != MCP_JSON_STRING || s->d.page_size <= 0 || n < 2 || n > 17 || t[0] != 't')
        return false;
    for (i = 1; i < n; i++) {
        if (t[i] >= '0' && t[i] <= '9') *seq = *seq << 4 | (uint64_t)(t[i] - '0');
        else if (t[i] >= 'a' && t[i] <= 'f') *seq = *seq << 4 | (uint64_t)(t[i] - 'a' + 10);
        else return false;
    }
    return t[1] != '0' && *seq <= s->seq;
}

static void mcpi_put_cursor(mcp_writer *w, uint64_t seq)
{
    char text[20], *p = text + sizeof text;
    *--p = 0;
    for (; seq; seq >>= 4) *--p = "0123456789abcdef"[seq & 15];
    *--p = 't';
    mcp_put_str(w, "nextCursor", p);
}

static bool mcpi_visible(mcp_req *r, const mcpi_feature *x)
{
    return !r->s->d.visible || r->s->d.visible(r, 1 << x->kind, x->named.name, r->s->d.user);
}

/* The entry that the caller may use under this name. */
static mcpi_feature *mcpi_feature_find(mcp_req *r, int kind, const mcp_json *name)
{
    size_t n = 0;
    const char *text = mcp_json_text(name, &n);
    mcpi_feature *x = text ? (mcpi_feature *)mcpi_map_find(&r->s->lists[kind].by_name, text, n) : NULL;
    return x && mcpi_visible(r, x) ? x : NULL;
}

/* Legacy clients ask for every list whatever was announced, and some die of an error. */
static void mcpi_do_list(mcp_req *r)
{
    mcp_server *s = r->s;
    int kind = r->call->kind, shown = 0;
    const mcpi_list *l = &s->lists[kind];
    uint64_t seq;
    size_t i;
    mcp_writer *w;
    if (!mcpi_has_list(s, kind) && (r->modern || s->d.strict_lists)) {
        mcpi_refuse(r, MCPI_METHOD_NOT_FOUND, "this server does not have that list");
        return;
    }
    if (!mcpi_read_cursor(s, mcp_json_get(r->params, "cursor"), &seq)) {
        mcpi_refuse(r, MCPI_INVALID_PARAMS, "cursor is none of this server's");
        return;
    }
    w = mcpi_body(r);
    mcp_put_array(w, mcpi_word_at(mcpi_lists, kind));
    for (i = mcpi_list_after(l, seq); i < l->count && (s->d.page_size <= 0 || shown < s->d.page_size); i++) {
        if (!mcpi_visible(r, l->at[i])) continue;
        mcpi_put_splice(w, NULL, l->at[i]->text, l->at[i]->len);
        shown++;
    }
    mcp_put_end(w);
    if (i < l->count) mcpi_put_cursor(w, l->at[i - 1]->seq);
    if (r->modern) mcpi_put_cache(r, w, NULL);
    (void)mcpi_send_body(r);
}

/* -- built-in methods: tools ------------------------------------------------------------------------------------- */

/* The first argument that is missing, or NULL. */
static const char *mcpi_missing(const mcp_req *r)
{
    const char *p = r->feature->required, *end = p ? p + r->feature->required_len : NULL;
    size_t n;
    for (; p < end; p += n + 1) {
        memcpy(&n, p, sizeof n);
        p += sizeof n;
        if (!mcp_json_getn(r->args, p, n)) return p;
    }
    return NULL;
}

/* An error that names what was asked for. */
static void mcpi_refuse_name(mcp_req *r, const char *what, const char *name, size_t len)
{
    char why[192];
    mcpi_say(why, sizeof why, "%s%.*s", what, (int)(len < 128 ? len : 128), name);
    mcpi_refuse(r, MCPI_INVALID_PARAMS, why);
}

/* Finds what params.name calls, and its arguments. false: refused. */
static bool mcpi_req_call(mcp_req *r, int kind, const char *unknown)
{
    size_t n = 0;
    const char *name = mcp_json_text(r->name, &n);
    if (r->modern && !mcpi_has_list(r->s, kind)) {
        mcpi_refuse(r, MCPI_METHOD_NOT_FOUND, "this server has nothing of the kind");
        return false;
    }
    if (mcp_json_type(r->name) != MCP_JSON_STRING) {
        mcpi_refuse(r, MCPI_INVALID_PARAMS, "params.name is not a string");
        return false;
    }
    if (!r->args) r->args = r->s->empty;
    if (mcp_json_type(r->args) != MCP_JSON_OBJECT) {
        mcpi_refuse(r, MCPI_INVALID_PARAMS, "params.arguments is not an object");
        return false;
    }
    r->feature = mcpi_feature_find(r, kind, r->name);
    if (r->feature) r->feature->uses++;
    else mcpi_refuse_name(r, unknown, name, n);
    return r->feature != NULL;
}

/* Are the arguments what the tool's schema asks for? false: r has been answered with a result that the model can act
   on, a line for each fault. */
static bool mcpi_check_args(mcp_req *r)
{
#ifndef MCP_NO_VALIDATE
    mcp_writer lines;
    int status;
    if (!r->feature->input) return true;
    mcp_writer_init(&lines, &r->s->alloc, 0);
    mcp_arena_reset(&r->s->check);
    status = mcpi_check(r->s, r->feature->input, r->args, &lines);
    if (status == MCP_ERR_MEMORY) mcpi_refuse(r, MCPI_INTERNAL_ERROR, "out of memory");
    else if (status != MCP_OK) (void)mcpi_only_text(r, lines.buf, lines.len, true);
    mcp_writer_free(&lines);
    return status == MCP_OK;
#else
    const char *missing = r->s->d.trust_arguments ? NULL : mcpi_missing(r);
    char text[256];
    if (!missing) return true;
    mcpi_say(text, sizeof text, "$: \"%s\" is required", missing);
    (void)mcpi_only_text(r, text, MCP_NTS, true);
    return false;
#endif
}

static void mcpi_do_tools_call(mcp_req *r)
{
    if (mcpi_req_call(r, MCPI_TOOLS, "Unknown tool: ") && mcpi_check_args(r)) r->feature->fn(r, r->feature->user);
}

/* -- built-in methods: prompts ----------------------------------------------------------------------------------- */

static void mcpi_do_prompts_get(mcp_req *r)
{
    const char *missing;
    if (!mcpi_req_call(r, MCPI_PROMPTS, "Unknown prompt: ")) return;
    mcp_json_each(v, r->args)
        if (mcp_json_type(v) != MCP_JSON_STRING) {
            mcpi_refuse_name(r, "arguments of prompts are strings, and this one is not: ", mcp_json_key(v),
                             strlen(mcp_json_key(v)));
            return;
        }
    missing = mcpi_missing(r);
    if (missing) mcpi_refuse_name(r, "this argument is required: ", missing, strlen(missing));
    else r->feature->fn(r, r->feature->user);
}

/* -- built-in methods: resources --------------------------------------------------------------------------------- */
/* https://modelcontextprotocol.io/specification/2026-07-28/server/resources */

/* A template is cut into parts: literal text, and variables. */
typedef struct mcpi_part { const char *text; size_t len; char kind; } mcpi_part;   /* kind: 0 literal, 'v' or '+' */
enum { MCPI_PARTS_MAX = 61 };

/* The number of parts, or -1: it is none that we know, or too long. */
static int mcpi_template_cut(const char *t, mcpi_part *part)
{
    int n = 0;
    while (*t) {
        size_t len = strcspn(t, "{}");
        char kind = 0;
        if (n + 2 > MCPI_PARTS_MAX) return -1;
        if (len == 0) {
            const char *end = strchr(t, '}');
            if (*t != '{' || !end) return -1;
            t++;
            kind = *t == '+' ? '+' : 'v';
            if (*t == '/') { part[n].text = t; part[n].len = 1; part[n++].kind = 0; }
            if (*t == '+' || *t == '/') t++;
            for (len = 0; t + len < end; len++) {
                char c = t[len];
                bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
                if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != '.') return -1;
            }
            if (len == 0) return -1;
        }
        part[n].text = t;
        part[n].len = len;
        part[n++].kind = kind;
        t += len + (kind != 0);
    }
    return n;
}

/* One character of a variable. */
static bool mcpi_part_takes(const mcpi_part *part, char c) { return part->kind == '+' || c != '/'; }

/* Where each part can begin so that the rest fits: bit k of can[i] says that parts k and on match uri[i..n). Worked
   out from the end, so each byte is looked at once for each part, and nothing is tried twice. For a variable the bit
   also means that it can go on here. */
static void mcpi_template_fit(const mcpi_part *part, int parts, const char *uri, size_t n, uint64_t *can)
{
    size_t i = n;
    int k;
    can[n] = (uint64_t)1 << parts;
    while (i-- > 0) {
        can[i] = 0;
        for (k = 0; k < parts; k++) {
            bool fits;
            if (part[k].kind) fits = mcpi_part_takes(&part[k], uri[i]) && (can[i + 1] >> k & 3);
            else fits = part[k].len <= n - i && (can[i + part[k].len] >> (k + 1) & 1) &&
                        memcmp(uri + i, part[k].text, part[k].len) == 0;
            if (fits) can[i] |= (uint64_t)1 << k;
        }
    }
}

/* Keeps what stands for a variable, percent-decoded: MCP_OK or MCP_ERR_MEMORY. A NUL would cut it where the program
   looks: MCP_ERR_UNKNOWN, no match then. */
static int mcpi_var_add(mcp_req *r, mcp_arena *a, const mcpi_part *part, const char *from, size_t n)
{
    mcpi_var *v = (mcpi_var *)mcp_arena_alloc(a, sizeof *v);
    char *d = v ? (char *)mcp_arena_alloc(a, n + 1) : NULL;
    size_t i;
    if (!d) return MCP_ERR_MEMORY;
    v->name = part->text;
    v->len = part->len;
    v->value = d;
    v->next = r->vars;
    for (i = 0; i < n; i++) {
        int hi = from[i] == '%' && n - i > 2 ? mcpi_hex(from[i + 1]) : -1, lo = hi < 0 ? -1 : mcpi_hex(from[i + 2]);
        if (lo < 0) *d++ = from[i];
        else { *d++ = (char)(hi << 4 | lo); i += 2; }
        if (!d[-1]) return MCP_ERR_UNKNOWN;
    }
    *d = 0;
    r->vars = v;
    return MCP_OK;
}

/* Does the template match (MCP_OK, MCP_ERR_UNKNOWN, MCP_ERR_MEMORY), and what are its variables? The longest text that
   fits is taken for each, from the left. */
static int mcpi_template_match(mcp_req *r, mcp_arena *a, const mcpi_feature *x, const char *uri, size_t n,
                               uint64_t **can)
{
    mcpi_part part[MCPI_PARTS_MAX];
    int parts = mcpi_template_cut(x->named.name, part), k, rc;
    size_t i = 0, j;
    if (parts < 1 || n == 0 || n > MCPI_URI_MAX) return MCP_ERR_UNKNOWN;
    if (!part[0].kind && (part[0].len > n || memcmp(uri, part[0].text, part[0].len) != 0)) return MCP_ERR_UNKNOWN;
    if (!*can) *can = (uint64_t *)mcp_arena_alloc(a, (n + 1) * sizeof **can);
    if (!*can) return MCP_ERR_MEMORY;
    mcpi_template_fit(part, parts, uri, n, *can);
    if (!((*can)[0] & 1)) return MCP_ERR_UNKNOWN;
    r->vars = NULL;
    for (k = 0; k < parts; k++) {
        size_t end = i + part[k].len;
        if (part[k].kind) {
            for (j = end = i + 1; j <= n && mcpi_part_takes(&part[k], uri[j - 1]); j++)
                if ((*can)[j] >> (k + 1) & 1) end = j;
            if ((rc = mcpi_var_add(r, a, &part[k], uri + i, end - i)) != MCP_OK) return rc;
        }
        i = end;
    }
    return MCP_OK;
}

const char *mcp_req_var(const mcp_req *r, const char *name)
{
    const mcpi_var *v = r && name ? r->vars : NULL;
    while (v && (v->len != strlen(name) || memcmp(v->name, name, v->len) != 0)) v = v->next;
    return v ? v->value : NULL;
}

/* The resource with this URI, or the first template that it fits. NULL: *rc is MCP_ERR_UNKNOWN or MCP_ERR_MEMORY. */
static mcpi_feature *mcpi_resource_find(mcp_req *r, mcp_arena *a, const mcp_json *uri, int *rc)
{
    const mcpi_list *l = &r->s->lists[MCPI_TEMPLATES];
    mcpi_feature *x = mcpi_feature_find(r, MCPI_RESOURCES, uri);
    uint64_t *can = NULL;
    size_t i, n;
    const char *text = mcp_json_text(uri, &n);
    *rc = x ? MCP_OK : MCP_ERR_UNKNOWN;
    for (i = 0; text && !x && i < l->count && *rc != MCP_ERR_MEMORY; i++) {
        *rc = mcpi_template_match(r, a, l->at[i], text, n, &can);
        if (*rc == MCP_OK && mcpi_visible(r, l->at[i])) x = l->at[i];
        else if (*rc == MCP_OK) *rc = MCP_ERR_UNKNOWN;
    }
    return x;
}

/* Unknown: an error with the URI, under the number of the era. */
static int mcpi_not_found(mcp_req *r, const char *message, const mcp_json *uri)
{
    const char *data;
    mcp_writer_reset(&r->extra);
    mcp_put_object(&r->extra, NULL);
    mcp_put_json(&r->extra, "uri", uri);
    mcp_put_end(&r->extra);
    data = mcp_writer_text(&r->extra, NULL);
    return mcp_req_error(r, r->modern ? MCPI_INVALID_PARAMS : MCPI_RESOURCE_NOT_FOUND, message, data ? data : "{}");
}

/* Stands in for a method that a server declares before it has anything to use it on: small, since every server has it. */
static void mcpi_do_unknown(mcp_req *r)
{
    const mcp_json *uri = mcp_json_get(r->params, "uri");
    if (strcmp(r->method, "resources/read") == 0 && mcp_json_type(uri) == MCP_JSON_STRING)
        (void)mcpi_not_found(r, mcpi_no_resource, uri);
    else mcpi_refuse(r, MCPI_INVALID_PARAMS, "there is nothing of that name");
}

static void mcpi_do_read(mcp_req *r)
{
    const mcp_json *uri = mcp_json_get(r->params, "uri");
    mcpi_feature *x;
    int rc;
    if (mcp_json_type(uri) != MCP_JSON_STRING) {
        mcpi_refuse(r, MCPI_INVALID_PARAMS, "params.uri is not a string");
        return;
    }
    x = mcpi_resource_find(r, &r->arena, uri, &rc);
    if (!x && rc == MCP_ERR_MEMORY) mcpi_refuse_memory(r);
    else if (!x) (void)mcpi_not_found(r, mcpi_no_resource, uri);
    if (!x) return;
    x->uses++;
    r->feature = x;
    r->ttl_ms = x->ttl_ms;
    r->scope = x->scope;
    if (!x->has_data) { x->fn(r, x->user); return; }
    (void)mcpi_add_contents(r, mcp_json_str(uri, ""), x->about, x->data, x->data_len, x->binary);
    (void)mcp_req_done(r);
}

/* -- built-in methods: completion -------------------------------------------------------------------------------- */
/* https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/completion */

int mcp_req_values(mcp_req *r, const char *const *values, int n, int total, bool more)
{
    mcp_writer *w;
    int i, rc = mcpi_req_answers(r);
    if (rc == MCP_OK && !mcpi_is_completion(r)) rc = MCP_ERR_MISUSE;
    if (rc != MCP_OK) return rc;
    w = mcp_req_begin(r);
    mcp_put_object(w, "completion");
    mcp_put_array(w, "values");
    for (i = 0; values && i < n && i < 100; i++) mcp_put_str(w, NULL, values[i] ? values[i] : "");
    mcp_put_end(w);
    if (total >= 0) mcp_put_int(w, "total", total);
    mcp_put_bool(w, "hasMore", more || n > 100);
    mcp_put_end(w);
    return mcpi_send_body(r);
}

const char *mcp_req_completes(const mcp_req *r, const char **value)
{
    const mcp_json *a = r && strcmp(r->method, "completion/complete") == 0 ? mcp_json_get(r->params, "argument") : NULL;
    if (value) *value = mcp_json_str(mcp_json_get(a, "value"), "");
    return mcp_json_str(mcp_json_get(a, "name"), "");
}

static void mcpi_do_complete(mcp_req *r)
{
    const mcp_json *ref = mcp_json_get(r->params, "ref"), *type = mcp_json_get(ref, "type"), *name;
    const mcp_json *argument = mcp_json_get(r->params, "argument");
    bool prompt = mcpi_is(type, "ref/prompt");
    mcpi_feature *x;
    if ((!prompt && !mcpi_is(type, "ref/resource")) ||
        mcp_json_type(mcp_json_get(argument, "name")) != MCP_JSON_STRING ||
        mcp_json_type(mcp_json_get(argument, "value")) != MCP_JSON_STRING) {
        mcpi_refuse(r, MCPI_INVALID_PARAMS, "completion needs ref, of type ref/prompt or ref/resource, and argument");
        return;
    }
    name = mcp_json_get(ref, prompt ? "name" : "uri");
    if (mcp_json_type(name) != MCP_JSON_STRING) name = NULL;
    x = mcpi_feature_find(r, prompt ? MCPI_PROMPTS : MCPI_TEMPLATES, name);
    if (!x && !prompt) x = mcpi_feature_find(r, MCPI_RESOURCES, name);
    if (!x) {
        size_t n = 0;
        const char *text = mcp_json_text(name, &n);
        mcpi_refuse_name(r, prompt ? "Unknown prompt: " : "Unknown template: ", text ? text : "", n);
        return;
    }
    mcpi_req_read_context(r);
    if (!x->complete) { (void)mcp_req_values(r, NULL, 0, 0, false); return; }
    x->complete(r, x->user);
}

/* -- dispatch ---------------------------------------------------------------------------------------------------- */

/* What a request's _meta says of the one who asks. */
typedef struct mcpi_claims { const mcp_json *version, *client, *caps, *level; } mcpi_claims;

static void mcpi_read_claims(mcp_req *r, mcpi_claims *k)
{
    static const char prefix[] = "io.modelcontextprotocol/";
    const mcp_json *m;
    uint32_t left;
    memset(k, 0, sizeof *k);
    if (mcp_json_type(r->meta) != MCP_JSON_OBJECT) return;
    mcpi_each_key(m, left, r->meta) {
        const mcp_json *v = m + 1, **to;
        const char *key = m->u.text, *word;
        size_t len = m->n;
        if (len <= sizeof prefix - 1 || memcmp(key, prefix, sizeof prefix - 1) != 0) {
            if (len == 13 && memcmp(key, "progressToken", 13) == 0 && mcpi_is_id(v)) r->token = v;
            continue;
        }
        key += sizeof prefix - 1;
        switch (len -= sizeof prefix - 1) {                 /* each of the four has a length of its own */
        case 8:  word = "logLevel"; to = &k->level; break;
        case 10: word = "clientInfo"; to = &k->client; break;
        case 15: word = "protocolVersion"; to = &k->version; break;
        case 18: word = "clientCapabilities"; to = &k->caps; break;
        default: continue;
        }
        if (memcmp(key, word, len) == 0) *to = v;
    }
}

/* `requested` is empty when it is no version but something long. */
static void mcpi_refuse_version(mcp_req *r, const char *message, const mcp_json *version)
{
    const char *asked = mcp_json_str(version, NULL);
    size_t n = asked && mcp_json_size(version) <= 32 ? mcp_json_size(version) : 0;
    char data[256];
    mcp_writer w;
    mcp_writer_fixed(&w, data, sizeof data);
    mcp_put_object(&w, NULL);
    mcp_put_array(&w, "supported");
    mcp_put_str(&w, NULL, MCP_PROTOCOL_MODERN);
    mcp_put_end(&w);
    mcp_put_strn(&w, "requested", asked ? asked : "", n);
    mcp_put_end(&w);
    (void)mcp_req_error(r, MCPI_UNSUPPORTED_VERSION, message, mcp_writer_text(&w, NULL));
}

/* NULL, or what is wrong with the metadata that every modern request carries. (The version has been looked at.)
   https://modelcontextprotocol.io/specification/2026-07-28/basic#meta */
static const char *mcpi_modern_fault(mcp_req *r, const mcpi_claims *k)
{
    if (mcp_json_type(k->caps) != MCP_JSON_OBJECT)
        return "params._meta needs io.modelcontextprotocol/clientCapabilities, an object";
    if (k->client && mcp_json_type(k->client) != MCP_JSON_OBJECT)
        return "io.modelcontextprotocol/clientInfo is not an object";
    if (k->level && (r->log_level = mcpi_word_of(mcpi_levels, mcp_json_str(k->level, NULL))) < 0)
        return "io.modelcontextprotocol/logLevel is not a log level";
    r->protocol = MCP_PROTOCOL_MODERN;
    r->client = k->client;
    r->caps = k->caps;
    return NULL;
}

/* The same for a legacy request, where it is the session that says who asks. */
static const char *mcpi_legacy_fault(mcp_req *r, bool early)
{
    mcp_conn *c = r->conn;
    if (r->s->d.era == MCP_ERA_MODERN)
        return "this server speaks protocol version " MCP_PROTOCOL_MODERN " alone: put "
               "io.modelcontextprotocol/protocolVersion and clientCapabilities into params._meta";
    if (!c->version && !early)
        return r->s->d.era == MCP_ERA_LEGACY ? "initialize comes first"
               : "send initialize first, or put io.modelcontextprotocol/protocolVersion into params._meta";
    if (c->version) r->protocol = c->version;
    r->client = c->client;
    r->caps = c->caps;
    r->log_level = c->log_level;
    return NULL;
}

/* Finds out who asks, and in which era. false: refused, and answered. */
static bool mcpi_req_identify(mcp_req *r, unsigned flags)
{
    int era = r->s->d.era, code = MCPI_INVALID_PARAMS;
    const char *asked, *fault = NULL;
    mcpi_claims k;
    mcpi_req_read_params(r);
    if (r->meta && mcp_json_type(r->meta) != MCP_JSON_OBJECT) fault = "params._meta is not an object";
    mcpi_read_claims(r, &k);
    asked = mcp_json_str(k.version, NULL);
    r->modern = era != MCP_ERA_LEGACY && (k.version || k.client || k.caps || (flags & MCPI_ONLY_MODERN));
    if (fault) { }
    else if (r->modern && !asked) fault = "params._meta needs io.modelcontextprotocol/protocolVersion, a string";
    else if (r->modern && strcmp(asked, MCP_PROTOCOL_MODERN) != 0) {
        mcpi_refuse_version(r, "Unsupported protocol version", k.version);
        return false;
    } else if (r->modern) fault = mcpi_modern_fault(r, &k);
    else {
        fault = mcpi_legacy_fault(r, (flags & MCPI_EARLY) != 0);
        if (fault && era == MCP_ERA_LEGACY) code = MCPI_INVALID_REQUEST;
        if (fault && strcmp(r->method, "initialize") == 0) {    /* the text may be all that an old client can show */
            mcpi_refuse_version(r, fault, mcp_json_get(r->params, "protocolVersion"));
            return false;
        }
    }
    if (fault) mcpi_refuse(r, code, fault);
    return !fault;
}

static const mcpi_method *mcpi_method_of(const mcp_server *s, const char *name)
{
    return (const mcpi_method *)mcpi_map_find(&s->methods, name, strlen(name));
}

static void mcpi_req_run(mcp_req *r, const mcpi_method *m)
{
    mcp_server *s = r->s;
    r->running = true;
    r->call = m;
    r->outer = s->running;
    s->running = r;
    r->conn->handlers++;
    if (m->fn) m->fn(r, m->user);
    else m->run(r);
    s->running = r->outer;
    r->conn->handlers--;
    r->running = false;
    if (r->answered) mcpi_req_recycle(r);
    else if (r->cancelled || r->notification || r->conn->dead) mcpi_req_drop(r);
    else if (r->talk && r->talk->returned(r)) { }
    else if (!r->deferred) {
        mcpi_server_fail(s, MCP_ERR_FAILED, "the handler of %s%s%s did not answer", r->method, r->feature ? " " : "",
                         r->feature ? r->feature->named.name : "");
        mcpi_refuse(r, MCPI_INTERNAL_ERROR, r->begun ? "the handler wrote an answer and did not send it (done, or end)"
                                                     : "the handler did not answer");
    }
}

/* Runs the method, if there is one in this era. */
static void mcpi_req_dispatch(mcp_req *r, const mcpi_method *m)
{
    if (!m || (m->flags & (r->modern ? MCPI_ONLY_LEGACY : MCPI_ONLY_MODERN)) ||
        (m->fn && strncmp(r->method, "notifications/", 14) == 0)) {
        char text[160];
        mcpi_say(text, sizeof text, "Method not found: %.*s", 128, r->method);
        mcpi_refuse(r, MCPI_METHOD_NOT_FOUND, text);
    } else mcpi_req_run(r, m);
}

static void mcpi_on_request(mcp_conn *c, const mcp_msg *m, mcpi_batch *b)
{
    mcp_server *s = c->s;
    const mcpi_method *method = mcpi_method_of(s, m->method);
    mcp_req *r, *other;
    for (other = s->running; other; other = other->outer)
        if (other->conn == c && mcpi_equal(other->id, m->id)) break;
    if (other || mcpi_find_inflight(c, m->id)) {
        mcpi_conn_error(c, b, m->id, MCPI_INVALID_REQUEST, "a request with this id is still open");
        return;
    }
    r = mcpi_req_new(c);
    if (!r) { mcpi_conn_no_memory(c, b, m->id); return; }
    r->id = m->id;
    r->method = m->method;
    r->params = m->params;
    r->batch = b;
    if (b) b->open++;
    if (c->inflight.count >= (size_t)s->d.max_inflight) {
        mcpi_refuse(r, MCPI_BUSY, "busy: too many requests are open");
        return;
    }
    if (mcpi_req_identify(r, method ? method->flags : 0)) mcpi_req_dispatch(r, method);
}

static void mcpi_on_cancelled(mcp_conn *c, const mcp_json *params)
{
    const char *reason = mcp_json_str(mcp_json_get(params, "reason"), NULL);
    const mcp_json *id = mcp_json_get(params, "requestId");
    mcp_req *r = mcpi_is_id(id) ? mcpi_find_inflight(c, id) : NULL, *run;
    for (run = c->s->running; run && !r; run = run->outer)
        if (run->conn == c && mcpi_equal(run->id, id)) r = run;
    if (r && reason) mcpi_server_log(c->s, 2, reason);
    if (r) mcpi_req_cancel(r);
    else c->s->stats.unknown++;
}

/* A notification is never answered, and a request's method without an id is not run. */
static void mcpi_on_notification(mcp_conn *c, const mcp_msg *m)
{
    const mcpi_method *method;
    mcp_req *r;
    if (strcmp(m->method, "notifications/cancelled") == 0) { mcpi_on_cancelled(c, m->params); return; }
    if (strcmp(m->method, "notifications/initialized") == 0) {
        mcpi_tell_changes(c->s);            /* what changed before is no news to this one */
        c->initialized = c->version != NULL;
        return;
    }
    method = mcpi_method_of(c->s, m->method);
    if (!method || !method->fn || strncmp(m->method, "notifications/", 14) != 0) return;
    r = mcpi_req_new(c);
    if (!r) return;
    r->method = m->method;
    r->params = m->params;
    mcpi_req_read_params(r);
    r->notification = true;
    r->protocol = c->version ? c->version : MCP_PROTOCOL_MODERN;
    r->client = c->client;
    r->caps = c->caps;
    mcpi_req_run(r, method);
}

static void mcpi_on_message(mcp_conn *c, const mcp_msg *m, mcpi_batch *b)
{
    mcp_server *s = c->s;
    char text[128];
    switch (m->kind) {
    case MCP_MSG_REQUEST:      mcpi_on_request(c, m, b); break;
    case MCP_MSG_NOTIFICATION: mcpi_on_notification(c, m); break;
    case MCP_MSG_RESULT:
    case MCP_MSG_ERROR:
        if (!s->asks || !s->asks->answer(c, m)) s->stats.unknown++;
        break;
    case MCP_MSG_BATCH:
        mcpi_conn_error(c, b, NULL, MCPI_INVALID_REQUEST, "batches are not part of this protocol version");
        break;
    case MCP_MSG_BAD:
    default:
        s->stats.bad++;
        if (m->code == MCPI_INVALID_PARAMS && !m->id) break;    /* a notification */
        if (!m->method && m->id && s->asks && s->asks->answer(c, m)) break;
        if (m->code == MCPI_PARSE_ERROR) mcpi_say(text, sizeof text, "%s at byte %z", m->why, m->pos);
        mcpi_conn_error(c, b, m->id, m->code, m->code == MCPI_PARSE_ERROR ? text : m->why);
        break;
    }
}

static void mcpi_on_batch(mcp_conn *c, const mcp_json *items)
{
    mcp_server *s = c->s;
    mcpi_batch *b = (mcpi_batch *)mcpi_zalloc(&s->alloc, sizeof *b);
    mcp_msg m;
    if (!b) { mcpi_conn_no_memory(c, NULL, NULL); return; }
    b->conn = c;
    b->open = 1;                            /* ours, until all have been seen */
    mcp_writer_init(&b->w, &s->alloc, 0);
    mcp_put_array(&b->w, NULL);
    if (b->w.status != MCP_OK) {            /* nothing of it has been run */
        mcpi_free(&s->alloc, b, sizeof *b);
        mcpi_conn_no_memory(c, NULL, NULL);
        return;
    }
    mcp_json_each(v, items) {
        if (c->dead || s->freed) break;
        mcp_msg_classify(v, &m);
        mcpi_on_message(c, &m, b);
    }
    mcpi_batch_settle(b);
}

static void mcpi_on_line(mcp_conn *c, char *line, size_t len)
{
    mcp_server *s = c->s;
    mcpi_frame *f = c->st.in;
    mcp_msg m;
    mcpi_server_trace(s, "<-", line, len);
    s->stats.messages_in++;
    f->pin = s->nest + 1;
    s->nest++;
    if (mcpi_msg_read(&f->arena, line, len, 0, &m) != MCP_OK)
        mcpi_conn_no_memory(c, NULL, NULL);
    else if (m.kind == MCP_MSG_BATCH && c->version && strcmp(c->version, "2025-03-26") == 0)
        mcpi_on_batch(c, m.batch);
    else mcpi_on_message(c, &m, NULL);
    s->nest--;
    mcpi_stream_leave(&c->st, f);
    mcpi_frame_release(f);
}

/* -- sealing ------------------------------------------------------------------------------------------------------ */
/* HMAC (RFC 2104) over SHA-256: it runs over some hundred bytes for each question that is asked of a modern client, and
   never otherwise. */

/* Begins one of HMAC's two hashes: with 0x36 the inner one, over the message; with 0x5c the outer one, over that. */
static void mcpi_hmac_pass(mcpi_sha *c, const void *key, size_t n, unsigned char pad)
{
    unsigned char k[64];
    size_t i;
    memset(k, 0, sizeof k);
    if (n > sizeof k) {
        mcpi_sha_begin(c);
        mcpi_sha_add(c, key, n);
        mcpi_sha_end(c, k);
    } else memcpy(k, key, n);
    for (i = 0; i < sizeof k; i++) k[i] ^= pad;
    mcpi_sha_begin(c);
    mcpi_sha_add(c, k, sizeof k);
}

static void mcpi_hmac_begin(mcpi_sha *c, const void *key, size_t n) { mcpi_hmac_pass(c, key, n, 0x36); }

static void mcpi_hmac_end(mcpi_sha *c, const void *key, size_t n, unsigned char out[32])
{
    unsigned char inner[32];
    mcpi_sha_end(c, inner);
    mcpi_hmac_pass(c, key, n, 0x5c);
    mcpi_sha_add(c, inner, sizeof inner);
    mcpi_sha_end(c, out);
}

/* -- asking ------------------------------------------------------------------------------------------------------- */
/* A handler asks as if the answer were there, and is run again from its start until it is. So all that has to be
   carried from one run to the next is what was answered so far, and what the handler keeps. A request that has asked
   has a mcpi_talk with both: one mcpi_query for each key, and its own arena.

   The eras differ in who carries it. Modern: the request ends with a result that says what is asked, and the client
   sends it anew with the answers (https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr). What
   was answered in earlier rounds and what was kept goes out with it, sealed, and comes back. Legacy: the server sends
   requests of its own (https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation), and the request
   waits in the server as a deferred one, until all of them have been answered or are given up.

   Questions are collected while the handler runs and go out when it has returned, a deferred request's at the end of
   the turn. Nothing of this is named by the dispatch: it finds the way through pointers that asking sets, so a program
   that never asks does not hold it. */

/* A question, and its answer. */
struct mcpi_query {
    mcpi_item item;                         /* legacy: in the server's table while it is out */
    mcpi_query *next;
    mcp_req *r;
    const char *key;
    int method;
    const mcp_json *params, *answer;
    int status;                             /* MCP_ERR_AGAIN: not answered yet */
};

/* A page that a 2025-11-25 client was sent to: it can be told when the user is done there. */
struct mcpi_page { mcpi_page *next; mcp_conn *conn; size_t size; char id[48], url[1]; };
enum { MCPI_PAGES_MAX = 256 };

/* -- asking: the state -------------------------------------------------------------------------------------------- */

/* Is there a key? Without one of the program's, random bytes that this server has to itself. */
static bool mcpi_state_keyed(mcp_server *s)
{
    mcpi_asks *k = s->asks;
    if (s->state_key || k->keyed) return true;
    if (s->d.random) k->keyed = s->d.random(s->d.user, k->key, sizeof k->key) == MCP_OK;
#ifndef MCP_NO_POSIX
    else k->keyed = mcpi_random(k->key, sizeof k->key);
#endif
    return k->keyed;
}

static int64_t mcpi_wall_clock(const mcp_server *s)
{
    if (s->d.wall_ms) return s->d.wall_ms(s->d.user);
#ifdef MCP_NO_POSIX
    return mcpi_server_peek_clock(s);
#else
    return mcpi_wall_ms();
#endif
}

static bool mcpi_key_before(const mcp_json *x, const mcp_json *y)
{
    int d = memcmp(x->u.text, y->u.text, x->n < y->n ? x->n : y->n);
    if (d == 0 && x->n != y->n) return x->n < y->n;
    return d ? d < 0 : x < y;
}

/* A heapsort: it takes no memory of its own, as qsort may. */
static void mcpi_keys_sort(const mcp_json **k, size_t n)
{
    size_t root = n / 2, end = n, at, child;
    while (end > 1) {
        const mcp_json *x;
        if (root) x = k[--root];
        else { x = k[--end]; k[end] = k[0]; }
        for (at = root; (child = 2 * at + 1) < end; at = child) {
            if (child + 1 < end && mcpi_key_before(k[child], k[child + 1])) child++;
            if (!mcpi_key_before(x, k[child])) break;
            k[at] = k[child];
        }
        k[at] = x;
    }
}

/* Hashes a value so that two that say the same, in whatever order, have the same hash. `top`: it is params, of which
   what differs from round to round is left out. It calls itself as deep as what the reader took, MCP_MAX_DEPTH. false:
   no memory. */
static bool mcpi_digest(mcpi_sha *c, mcp_arena *a, const mcp_json *v, bool top)
{
    static const char other[] = "_meta\0" "inputResponses\0" "requestState\0";
    static const unsigned char end = 0xFF;
    bool object = mcp_json_type(v) == MCP_JSON_OBJECT;
    const mcp_json **keys, *k;
    unsigned char head[9];
    uint64_t n = mcpi_has_text(v) ? mcpi_text_size(v) : 0;
    uint32_t i, left;
    head[0] = (unsigned char)(v->tag & (MCPI_TYPE | MCPI_TRUE | MCPI_LONE));
    for (i = 1; i < 9; i++, n >>= 8) head[i] = (unsigned char)n;
    mcpi_sha_add(c, head, sizeof head);
    if (mcpi_has_text(v)) mcpi_sha_add(c, v->u.text, mcpi_text_size(v));
    if (!mcpi_is_container(v)) return true;
    if (object) {
        i = 0;
        keys = (const mcp_json **)mcp_arena_alloc(a, v->n * sizeof *keys);
        if (!keys) return false;
        mcpi_each_key(k, left, v) keys[i++] = k;
        mcpi_keys_sort(keys, v->n);
        for (i = 0; i < v->n; i++) {
            if (top && strlen(keys[i]->u.text) == keys[i]->n && mcpi_word_of(other, keys[i]->u.text) >= 0) continue;
            if (!mcpi_digest(c, a, keys[i], false) || !mcpi_digest(c, a, keys[i] + 1, false)) return false;
        }
    } else mcp_json_each(item, v) if (!mcpi_digest(c, a, item, false)) return false;
    mcpi_sha_add(c, &end, 1);
    return true;
}

/* What binds a state to this request of this caller. false: no memory. */
static bool mcpi_state_mac(mcp_req *r, const void *text, size_t n, unsigned char out[32])
{
    static const char purpose[] = "mcp.h requestState " MCP_PROTOCOL_MODERN;
    mcp_server *s = r->s;
    const void *key = s->state_key ? (const void *)s->state_key : s->asks->key;
    size_t key_size = s->state_key ? s->d.state_key_size : sizeof s->asks->key;
    const char *principal = mcp_req_principal(r);
    unsigned char digest[32];
    mcpi_sha c;
    mcpi_sha_begin(&c);
    if (!mcpi_digest(&c, &r->talk->arena, r->params, true)) return false;
    mcpi_sha_end(&c, digest);
    mcpi_hmac_begin(&c, key, key_size);
    mcpi_sha_add(&c, purpose, sizeof purpose);
    mcpi_sha_add(&c, r->method, strlen(r->method) + 1);
    mcpi_sha_add(&c, principal, strlen(principal) + 1);
    mcpi_sha_add(&c, digest, sizeof digest);
    mcpi_sha_add(&c, text, n);
    mcpi_hmac_end(&c, key, key_size, out);
    return true;
}

/* The state is the seal, and behind it JSON: e, when it expires; k, what was kept; a, the answers by their keys. */
static void mcpi_put_state(mcp_req *r, mcp_writer *w)
{
    mcpi_talk *t = r->talk;
    unsigned char *state = NULL;
    const char *text;
    mcp_writer p;
    mcpi_query *q;
    size_t n = 0;
    mcp_writer_init(&p, &r->s->alloc, 0);
    mcp_put_object(&p, NULL);
    mcp_put_int(&p, "e", mcpi_wall_clock(r->s) + r->s->d.state_ttl_ms);
    if (t->keep) mcp_put_json(&p, "k", t->keep);
    mcp_put_object(&p, "a");
    for (q = t->asks; q; q = q->next)
        if (q->status == MCP_OK) mcp_put_json(&p, q->key, q->answer);
    mcp_put_end(&p);
    mcp_put_end(&p);
    text = mcp_writer_text(&p, &n);
    if (text) state = (unsigned char *)mcp_arena_alloc(&t->arena, 32 + n);
    if (state && mcpi_state_mac(r, text, n, state)) {
        memcpy(state + 32, text, n);
        mcp_put_base64(w, "requestState", state, 32 + n);
    } else if (w->status == MCP_OK) w->status = p.status != MCP_OK ? p.status : MCP_ERR_MEMORY;
    mcp_writer_free(&p);
}

static mcpi_query *mcpi_query_find(const mcpi_talk *t, const char *key)
{
    mcpi_query *q = t->asks;
    while (q && strcmp(q->key, key) != 0) q = q->next;
    return q;
}

/* A new one, behind the others. NULL: no memory. */
static mcpi_query *mcpi_query_add(mcp_req *r, const char *key, const mcp_json *params, const mcp_json *answer)
{
    mcp_arena *a = &r->talk->arena;
    mcpi_query *q = (mcpi_query *)mcp_arena_alloc(a, sizeof *q), **at = &r->talk->asks;
    char *copy = (char *)mcp_arena_alloc(a, strlen(key) + 1);
    if (!q || !copy) return NULL;
    memset(q, 0, sizeof *q);
    memcpy(copy, key, strlen(key) + 1);
    q->r = r;
    q->key = copy;
    q->params = params;
    q->answer = mcp_json_copy(a, answer);
    q->status = !answer ? MCP_ERR_AGAIN : q->answer ? MCP_OK : MCP_ERR_MEMORY;
    while (*at) at = &(*at)->next;
    *at = q;
    return q;
}

/* Takes what the client has brought back. NULL, or what is wrong with it. */
static const char *mcpi_state_open(mcp_req *r, const mcp_json *state)
{
    mcpi_talk *t = r->talk;
    size_t n = 0, i;
    const unsigned char *bytes = (const unsigned char *)mcp_json_base64(&t->arena, state, &n);
    unsigned char mac[32], other = 0;
    const mcp_json *v;
    if (!bytes || n < 32 || !mcpi_state_keyed(r->s)) return "params.requestState is not one of this server's";
    if (!mcpi_state_mac(r, bytes + 32, n - 32, mac)) return mcpi_no_memory;
    for (i = 0; i < 32; i++) other |= mac[i] ^ bytes[i];        /* takes as long, however much of it is right */
    if (other) return "params.requestState does not belong to this request";
    v = mcp_json_parse(&t->arena, (const char *)bytes + 32, n - 32, NULL);
    if (!v) return mcpi_no_memory;
    if (mcp_json_int(mcp_json_get(v, "e"), 0) < mcpi_wall_clock(r->s)) return "params.requestState has expired";
    t->kept = t->keep = mcp_json_get(v, "k");
    mcp_json_each(answer, mcp_json_get(v, "a"))
        if (!mcpi_query_add(r, mcp_json_key(answer), NULL, answer)) return mcpi_no_memory;
    return NULL;
}

/* What came from the client does not fit. Modern: it is part of the request; legacy: the request was good, the call
   fails. */
static int mcpi_query_refuse(mcp_req *r, const char *why)
{
    if (r->modern) mcpi_refuse(r, why == mcpi_no_memory ? MCPI_INTERNAL_ERROR : MCPI_INVALID_PARAMS, why);
    else (void)mcp_req_fail(r, why);
    return why == mcpi_no_memory ? MCP_ERR_MEMORY : MCP_ERR_PROTOCOL;
}

/* -- asking: sending ---------------------------------------------------------------------------------------------- */

static void mcpi_page_add(mcpi_query *q, const char *id)
{
    mcp_server *s = q->r->s;
    const char *url = mcp_json_str(mcp_json_get(q->params, "url"), "");
    size_t size = sizeof(mcpi_page) + strlen(url), n = 0;
    mcpi_page *p = (mcpi_page *)mcpi_zalloc(&s->alloc, size), **at = &s->asks->pages;
    if (!p) return;                         /* the client will not hear that it is done; it need not */
    p->conn = q->r->conn;
    p->size = size;
    memcpy(p->id, id, strlen(id));
    memcpy(p->url, url, strlen(url));
    for (; *at; at = &(*at)->next) n++;
    *at = p;
    if (n < MCPI_PAGES_MAX) return;
    p = s->asks->pages;
    s->asks->pages = p->next;
    mcpi_free(&s->alloc, p, p->size);
}

/* Takes out the pages of a peer that has gone, or (url) tells the peers that were sent there, and takes them out. */
static int mcpi_pages_end(mcp_server *s, const mcp_conn *gone, const char *url)
{
    mcpi_page **at = &s->asks->pages;
    int rc = MCP_OK;
    while (*at) {
        mcpi_page *p = *at;
        if (url ? strcmp(p->url, url) != 0 : gone && p->conn != gone) { at = &p->next; continue; }
        if (url && !p->conn->dead) {
            mcp_put_str(mcpi_note_begin(&p->conn->st, "notifications/elicitation/complete"), "elicitationId", p->id);
            rc = mcpi_note_end(s, &p->conn->st, true);
        }
        *at = p->next;
        mcpi_free(&s->alloc, p, p->size);
    }
    return rc;
}

static void mcpi_pages_forget(mcp_server *s, const mcp_conn *gone) { (void)mcpi_pages_end(s, gone, NULL); }

int mcp_server_elicited(mcp_server *s, const char *url)
{
    if (!s || !url) return MCP_ERR_ARGUMENT;
    return s->asks ? mcpi_pages_end(s, NULL, url) : MCP_OK;
}

/* A field whose choices have titles, as 2025-06-18 has it: the titles stand beside the choices. */
static void mcpi_put_old_field(mcp_writer *w, const mcp_json *field)
{
    const mcp_json *choices = mcp_json_get(field, "oneOf");
    int i;
    if (mcp_json_type(choices) != MCP_JSON_ARRAY) { mcp_put_json(w, mcp_json_key(field), field); return; }
    mcp_put_object(w, mcp_json_key(field));
    mcp_json_each(v, field)
        if (v != choices) mcp_put_json(w, mcp_json_key(v), v);
    for (i = 0; i < 2; i++) {
        mcp_put_array(w, i ? "enumNames" : "enum");
        mcp_json_each(c, choices) {
            const mcp_json *title = i ? mcp_json_get(c, "title") : NULL;
            mcp_put_json(w, NULL, title ? title : mcp_json_get(c, "const"));
        }
        mcp_put_end(w);
    }
    mcp_put_end(w);
}

static void mcpi_put_old_form(mcp_writer *w, const mcp_json *schema)
{
    const mcp_json *fields = mcp_json_get(schema, "properties");
    mcp_put_object(w, mcp_json_key(schema));
    mcp_json_each(v, schema)
        if (v != fields) mcp_put_json(w, mcp_json_key(v), v);
    mcp_put_object(w, "properties");
    mcp_json_each(f, fields) mcpi_put_old_field(w, f);
    mcp_put_end(w);
    mcp_put_end(w);
}

/* Method and params of a question, as the revision knows them. */
static void mcpi_put_ask(mcpi_query *q, mcp_writer *w)
{
    mcp_req *r = q->r;
    bool elicit = q->method == MCPI_ELICIT, url = elicit && mcpi_is(mcp_json_get(q->params, "mode"), "url");
    bool old = elicit && mcpi_is_before(r, "2025-11-25");
    mcp_put_str(w, "method", mcpi_word_at(mcpi_questions, q->method));
    if (q->method == MCPI_LIST_ROOTS && mcp_json_size(q->params) == 0) return;
    mcp_put_object(w, "params");
    mcp_json_each(v, q->params) {
        const char *key = mcp_json_key(v);
        if (elicit && strcmp(key, "elicitationId") == 0) continue;
        if (old && strcmp(key, "mode") == 0) continue;
        if (old && strcmp(key, "requestedSchema") == 0) mcpi_put_old_form(w, v);
        else mcp_put_json(w, key, v);
    }
    if (url && !r->modern) {
        char id[48];
        mcpi_say(id, sizeof id, "%l-%l", mcpi_wall_clock(r->s), (int64_t)q->item.id);
        mcp_put_str(w, "elicitationId", id);
        mcpi_page_add(q, id);
    }
    mcp_put_end(w);
}

/* The request ends; the client comes again with another. */
static void mcpi_asks_modern(mcp_req *r)
{
    mcp_writer *w;
    mcpi_query *q;
    r->begun = false;
    w = mcpi_body(r);
    mcp_put_object(w, "inputRequests");
    for (q = r->talk->asks; q; q = q->next) {
        if (q->status != MCP_ERR_AGAIN) continue;
        mcp_put_object(w, q->key);
        mcpi_put_ask(q, w);
        mcp_put_end(w);
    }
    mcp_put_end(w);
    mcpi_put_state(r, w);
    (void)mcpi_send_typed(r, "\"input_required\"");
}

/* Takes back a question that is out. */
static void mcpi_query_withdraw(mcpi_query *q)
{
    mcp_conn *c = q->r->conn;
    mcp_writer *w;
    mcp_id id = q->item.id;
    if (!id) return;
    mcpi_slots_remove(&c->s->asks->out, &q->item);
    if (c->dead || c->draining) return;
    w = mcpi_note_begin(q->r->stream, "notifications/cancelled");
    mcp_put_uint(w, "requestId", id);
    mcp_put_str(w, "reason", "the answer is no longer needed");
    (void)mcpi_note_end(c->s, q->r->stream, false);
}

/* Runs the handler again, unless some answers are still missing. What it was called for is looked up anew: it may have
   been replaced or taken away since. */
static void mcpi_asks_again(mcp_req *r)
{
    mcpi_talk *t = r->talk;
    mcp_server *s = r->s;
    mcpi_query *q;
    for (q = t->asks; q; q = q->next)
        if (q->item.id) return;
    (void)mcp_server_cancel_timer(s, t->timer);
    mcpi_slots_remove(&s->deferred, &r->item);
    mcpi_map_remove(&r->conn->inflight, &r->key);
    mcpi_feature_release(s, r->feature);
    r->key.name = NULL;
    r->feature = NULL;
    r->vars = NULL;
    r->deferred = r->waits = r->begun = r->assistant = false;
    r->ttl_ms = -1;
    t->kept = t->keep;
    t->missing = 0;
    t->told = MCP_OK;
    mcpi_req_dispatch(r, mcpi_method_of(s, r->method));
}

static void mcpi_asks_late(void *owner, void *arg)
{
    mcp_req *r = (mcp_req *)arg;
    mcpi_query *q;
    if (!owner) return;
    for (q = r->talk->asks; q; q = q->next) {
        if (!q->item.id) continue;
        q->status = MCP_ERR_TIMEOUT;
        r->s->stats.timeouts++;
        mcpi_query_withdraw(q);
    }
    mcpi_asks_again(r);
}

/* An answer: is it to a question of ours to this peer? One that is malformed is one, too. */
static bool mcpi_asks_answer(mcp_conn *c, const mcp_msg *m)
{
    mcpi_query *q = (mcpi_query *)mcpi_slots_get(&c->s->asks->out, mcpi_own_id(m->id));
    const mcp_json *v = m->kind == MCP_MSG_RESULT ? m->result : m->error;
    if (!q || q->r->conn != c) return false;
    mcpi_slots_remove(&c->s->asks->out, &q->item);
    q->status = m->kind == MCP_MSG_RESULT ? MCP_OK : m->kind == MCP_MSG_ERROR ? MCP_ERR_PEER : MCP_ERR_PROTOCOL;
    q->answer = mcp_json_copy(&q->r->talk->arena, v);
    if (v && !q->answer) q->status = MCP_ERR_MEMORY;
    mcpi_asks_again(q->r);
    return true;
}

/* The request waits as a deferred one does, under an id that nobody knows; its own, had it one, is dead. */
static bool mcpi_asks_wait(mcp_req *r)
{
    mcp_server *s = r->s;
    mcpi_talk *t = r->talk;
    mcpi_query *q;
    r->on_cancel = NULL;
    if (r->deferred) {
        mcpi_slots_remove(&s->deferred, &r->item);
        if (mcpi_slots_add(&s->deferred, &r->item, MCP_NEVER) != MCP_OK) return false;
    } else if (!mcp_req_defer(r)) return false;
    t->timer = mcp_server_after(s, s->d.ask_timeout_ms, mcpi_asks_late, r);
    if (!t->timer) return false;
    for (q = t->asks; q; q = q->next)
        if (q->status == MCP_ERR_AGAIN && mcpi_slots_add(&s->asks->out, &q->item, MCP_NEVER) != MCP_OK) break;
    if (!q) return r->waits = true;
    for (q = t->asks; q; q = q->next) mcpi_slots_remove(&s->asks->out, &q->item);
    return false;
}

static void mcpi_asks_legacy(mcp_req *r)
{
    mcp_conn *c = r->conn;
    mcpi_query *q;
    if (c->draining) { mcpi_req_drop(r); return; }              /* no answer can come */
    if (!mcpi_asks_wait(r)) { mcpi_refuse_memory(r); return; }
    for (q = r->talk->asks; q; q = q->next) {
        mcp_writer *w;
        if (!q->item.id) continue;
        w = mcpi_stream_begin(r->stream);
        mcpi_put_envelope(w, NULL);
        mcp_put_uint(w, "id", q->item.id);
        mcpi_put_ask(q, w);
        mcp_put_end(w);
        (void)mcpi_conn_broke(c, mcpi_queue(r->s, r->stream, false));
    }
}

/* Sends what has been asked. false: nothing has. */
static bool mcpi_asks_flush(mcp_req *r)
{
    mcpi_query *q = r->talk->asks;
    while (q && q->status != MCP_ERR_AGAIN) q = q->next;
    if (!q) return false;
    if (r->modern) mcpi_asks_modern(r); else mcpi_asks_legacy(r);
    return true;
}

/* The end of a turn. One whose cancel has been heard waits for that. */
static void mcpi_asks_turn(mcp_server *s)
{
    mcpi_talk *t;
    while (!s->freed && (t = s->asks->ready) != NULL) {
        s->asks->ready = t->next;
        t->ready = false;
        if (mcpi_req_open(t->r) == MCP_OK) (void)mcpi_asks_flush(t->r);
    }
}

/* -32021, with the capabilities that the client would have to have.
   https://modelcontextprotocol.io/specification/2026-07-28/schema#missingrequiredclientcapabilityerror */
static void mcpi_refuse_capability(mcp_req *r)
{
    unsigned need = r->talk->missing;
    char data[160];
    mcp_writer w;
    mcp_writer_fixed(&w, data, sizeof data);
    mcp_put_object(&w, NULL);
    mcp_put_object(&w, "requiredCapabilities");
    if (need & MCPI_CAN_ELICIT) {
        mcp_put_object(&w, "elicitation");
        if (need & MCPI_CAN_FORM) mcpi_put_empty(&w, "form");
        if (need & MCPI_CAN_URL) mcpi_put_empty(&w, "url");
        mcp_put_end(&w);
    }
    if (need & (MCPI_CAN_SAMPLE | MCPI_CAN_SAMPLE_TOOLS | MCPI_CAN_SAMPLE_CONTEXT)) {
        mcp_put_object(&w, "sampling");
        if (need & MCPI_CAN_SAMPLE_TOOLS) mcpi_put_empty(&w, "tools");
        if (need & MCPI_CAN_SAMPLE_CONTEXT) mcpi_put_empty(&w, "context");
        mcp_put_end(&w);
    }
    if (need & MCPI_CAN_ROOTS) mcpi_put_empty(&w, "roots");
    mcp_put_end(&w);
    mcp_put_end(&w);
    (void)mcp_req_error(r, MCPI_MISSING_CAPABILITY, "this needs a capability that the client does not have",
                        mcp_writer_text(&w, NULL));
}

/* The last answer that was none, as a sentence. */
static void mcpi_asks_why(const mcpi_talk *t, char *text, size_t cap)
{
    const mcpi_query *q = t->asks;
    const char *method;
    while (q && q->status != t->told) q = q->next;
    method = q ? mcpi_word_at(mcpi_questions, q->method) : "";
    if (q && t->told == MCP_ERR_PEER)
        mcpi_say(text, cap, "the client answered %s with error %l: %.*s", method,
                 mcp_json_int(mcp_json_get(q->answer, "code"), 0), 128,
                 mcp_json_str(mcp_json_get(q->answer, "message"), ""));
    else if (q && t->told == MCP_ERR_TIMEOUT)
        mcpi_say(text, cap, "the client did not answer %s within %d ms", method, t->r->s->d.ask_timeout_ms);
    else mcpi_say(text, cap, "%s", mcp_strerror(t->told));
}

/* The handler has returned and r is not answered. true: that has been seen to. */
static bool mcpi_asks_returned(mcp_req *r)
{
    char why[256];
    mcpi_talk *t = r->talk;
    if (r->s->freed) mcpi_req_drop(r);
    else if (t->told != MCP_ERR_MEMORY && mcpi_asks_flush(r)) { }
    else if (r->deferred) return false;
    else if (t->missing) mcpi_refuse_capability(r);
    else if (t->told != MCP_OK) {
        mcpi_asks_why(t, why, sizeof why);
        (void)mcp_req_fail(r, why);
    } else return false;
    return true;
}

static void mcpi_asks_end(mcp_req *r)
{
    mcp_server *s = r->s;
    mcpi_talk *t = r->talk, **at = &s->asks->ready;
    mcpi_query *q;
    for (q = t->asks; q; q = q->next) mcpi_query_withdraw(q);
    (void)mcp_server_cancel_timer(s, t->timer);
    while (*at && *at != t) at = &(*at)->next;
    if (*at) *at = t->next;
    r->talk = NULL;
    r->waits = false;
    mcp_arena_free(&t->arena);
    mcpi_free(&s->alloc, t, sizeof *t);
}

/* -- asking: what a handler calls --------------------------------------------------------------------------------- */

static bool mcpi_asks_have(mcp_server *s)
{
    if (s->asks) return true;
    s->asks = (mcpi_asks *)mcpi_zalloc(&s->alloc, sizeof *s->asks);
    if (!s->asks) return false;
    mcpi_slots_init(&s->asks->out, &s->alloc, 0);
    s->asks->answer = mcpi_asks_answer;
    s->asks->turn = mcpi_asks_turn;
    s->asks->left = mcpi_pages_forget;
    return true;
}

/* r's talk, begun if there is none. NULL: r cannot ask, and *rc says why. */
static mcpi_talk *mcpi_talk_of(mcp_req *r, int *rc)
{
    const mcp_json *given, *state;
    const char *why;
    *rc = mcpi_req_open(r);
    if (*rc != MCP_OK || r->talk) return *rc == MCP_OK ? r->talk : NULL;
    if (mcpi_word_of("tools/call\0" "prompts/get\0" "resources/read\0", r->method) < 0) {
        *rc = mcpi_server_fail(r->s, MCP_ERR_MISUSE,
                               "%.*s cannot ask: only tools/call, prompts/get, resources/read can",
                               64, r->method);
        return NULL;
    }
    if (mcpi_asks_have(r->s)) r->talk = (mcpi_talk *)mcpi_zalloc(&r->s->alloc, sizeof *r->talk);
    if (!r->talk) {                         /* told here: mcp_req_kept cannot, and must not seem to have nothing */
        mcpi_refuse_memory(r);
        *rc = MCP_ERR_MEMORY;
        return NULL;
    }
    mcp_arena_init(&r->talk->arena, &r->s->alloc, 0);
    r->talk->r = r;
    r->talk->returned = mcpi_asks_returned;
    r->talk->end = mcpi_asks_end;
    if (!r->modern) return r->talk;
    given = mcp_json_get(r->params, "inputResponses");
    state = mcp_json_get(r->params, "requestState");
    why = given && mcp_json_type(given) != MCP_JSON_OBJECT ? "params.inputResponses is not an object"
          : state ? mcpi_state_open(r, state) : NULL;
    if (!why) return r->talk;
    *rc = mcpi_query_refuse(r, why);
    return NULL;
}

int mcp_req_keep(mcp_req *r, const char *json)
{
    int rc;
    mcpi_talk *t = mcpi_talk_of(r, &rc);
    const mcp_json *v;
    size_t pos = 0;
    if (!t) return rc;
    v = json ? mcp_json_parse(&t->arena, json, MCP_NTS, &pos) : NULL;
    if (json && !v)
        return pos == MCP_NTS ? MCP_ERR_MEMORY
               : mcpi_server_fail(r->s, MCP_ERR_ARGUMENT, "what is to be kept is not JSON: byte %z", pos);
    t->keep = v;
    return MCP_OK;
}

const mcp_json *mcp_req_kept(mcp_req *r)
{
    int rc;
    mcpi_talk *t;
    if (!r) return NULL;
    t = r->talk;
    if (!t && r->modern && mcp_json_get(r->params, "requestState")) t = mcpi_talk_of(r, &rc);
    return t ? t->kept : NULL;
}

/* What the client has. Older revisions do not know all of it, and had some of it without saying so. */
static unsigned mcpi_query_can(const mcp_req *r)
{
    unsigned can = mcpi_abilities(r->caps);
    if (!mcpi_is_before(r, "2025-11-25")) return can;
    can &= MCPI_CAN_SAMPLE | MCPI_CAN_ROOTS;
    if (!mcpi_is_before(r, "2025-06-18") && mcp_json_get(r->caps, "elicitation")) can |= MCPI_CAN_FORM;
    return can & MCPI_CAN_SAMPLE ? can | MCPI_CAN_SAMPLE_CONTEXT : can;
}

/* NULL, or why this cannot be the answer. */
static const char *mcpi_query_fault(int method, const mcp_json *answer)
{
    const mcp_json *content = mcp_json_get(answer, "content");
    mcp_type type = mcp_json_type(content);
    if (mcp_json_type(answer) != MCP_JSON_OBJECT) return "not an object";
    if (method == MCPI_LIST_ROOTS)
        return mcp_json_type(mcp_json_get(answer, "roots")) == MCP_JSON_ARRAY ? NULL : "roots is not an array";
    if (method == MCPI_SAMPLE)
        return type == MCP_JSON_OBJECT || type == MCP_JSON_ARRAY ? NULL : "content is neither an object nor an array";
    if (mcpi_word_of("accept\0" "decline\0" "cancel\0", mcp_json_str(mcp_json_get(answer, "action"), NULL)) < 0)
        return "action is not accept, decline or cancel";
    return !content || type == MCP_JSON_OBJECT || type == MCP_JSON_NULL ? NULL : "content is not an object";
}

static int mcpi_query_misfit(mcp_req *r, const char *key, const char *field, const char *why)
{
    char text[256];
    mcpi_say(text, sizeof text, "the answer to \"%.*s\" does not fit: %.*s%s%s", 64, key, 64, field, *field ? " " : "",
             why);
    return mcpi_query_refuse(r, text);
}

/* NULL, or why no form can hold this, and in *field which of its fields. */
static const char *mcpi_schema_fault(const mcp_json *schema, const char **field)
{
    const mcp_json *fields = mcp_json_get(schema, "properties");
    *field = "";
    if (!mcpi_is(mcp_json_get(schema, "type"), "object") || mcp_json_type(fields) != MCP_JSON_OBJECT)
        return "it needs type \"object\", and properties";
    mcp_json_each(f, fields) {
        const mcp_json *type = mcp_json_get(f, "type"), *items = mcp_json_get(f, "items");
        *field = mcp_json_key(f);
        if (mcpi_is(type, "array") && !mcp_json_get(items, "enum") && !mcp_json_get(items, "anyOf"))
            return "is a list without choices (items with enum or anyOf)";
        if (mcpi_word_of("string\0number\0integer\0boolean\0array\0", mcp_json_str(type, NULL)) < 0)
            return "is none of string, number, integer, boolean and a list of choices";
    }
    mcp_json_each(name, mcp_json_get(schema, "required")) {
        *field = mcp_json_str(name, "");
        if (!mcp_json_get(fields, *field)) return "is required, but not among the properties";
    }
    return NULL;
}

/* A question that has no answer yet. */
static int mcpi_query_new(mcp_req *r, const char *key, int method, const char *params)
{
    mcpi_talk *t = r->talk;
    size_t pos = 0;
    const char *fault, *field;
    const mcp_json *v = mcp_json_parse(&t->arena, params ? params : "{}", MCP_NTS, &pos);
    unsigned needs = mcpi_question_needs(method, v), missing = needs & ~mcpi_query_can(r);
    mcpi_query *q;
    if (!v && pos == MCP_NTS) return MCP_ERR_MEMORY;
    if (mcp_json_type(v) != MCP_JSON_OBJECT)
        return mcpi_server_fail(r->s, MCP_ERR_ARGUMENT, "asking for \"%.*s\": params is no JSON object", 64, key);
    fault = needs == MCPI_CAN_FORM ? mcpi_schema_fault(mcp_json_get(v, "requestedSchema"), &field) : NULL;
    if (fault)
        return mcpi_server_fail(r->s, MCP_ERR_ARGUMENT, "asking for \"%.*s\": no form can hold this schema: %.*s%s%s", 64,
                                key, 64, field, *field ? " " : "", fault);
    if (needs == MCPI_CAN_NOTHING)
        return mcpi_server_fail(r->s, MCP_ERR_ARGUMENT, "asking for \"%.*s\": mode is neither form nor url", 64, key);
    if (mcpi_is_before(r, "2025-11-25"))            /* no field could be more than one choice */
        mcp_json_each(f, mcp_json_at(v, "/requestedSchema/properties"))
            if (mcpi_is(mcp_json_get(f, "type"), "array")) missing |= MCPI_CAN_FORM;
    t->missing |= missing;
    if (missing) return MCP_ERR_CAPABILITY;
    if (r->modern && !mcpi_state_keyed(r->s))
        return mcpi_server_fail(r->s, MCP_ERR_MISUSE, "asking needs state_key or random in mcp_server_desc");
    q = mcpi_query_add(r, key, v, NULL);
    if (!q) return MCP_ERR_MEMORY;
    q->method = method;
    if (r->running || t->ready) return MCP_ERR_AGAIN;
    t->ready = true;
    t->next = r->s->asks->ready;
    r->s->asks->ready = t;
    return MCP_ERR_AGAIN;
}

/* What is told to the client when the handler just returns. */
static int mcpi_query_told(mcp_req *r, int rc)
{
    if (r->talk && (rc == MCP_ERR_PEER || rc == MCP_ERR_TIMEOUT || rc == MCP_ERR_DECLINED || rc == MCP_ERR_CANCELLED ||
                    rc == MCP_ERR_MEMORY || rc == MCP_ERR_PROTOCOL))
        r->talk->told = rc;
    return rc;
}

int mcp_req_ask(mcp_req *r, const char *key, const char *method, const char *params, const mcp_json **answer)
{
    int rc, which = mcpi_word_of(mcpi_questions, method);
    mcpi_talk *t = mcpi_talk_of(r, &rc);
    const mcp_json *given;
    const char *fault;
    mcpi_query *q;
    if (answer) *answer = NULL;
    if (!t) return rc;
    if (!key || which < 0)
        return mcpi_server_fail(r->s, MCP_ERR_ARGUMENT, "\"%.*s\" cannot be asked", 64, method ? method : "");
    q = mcpi_query_find(t, key);
    given = !q && r->modern ? mcp_json_get(mcp_json_get(r->params, "inputResponses"), key) : NULL;
    if (given && !(q = mcpi_query_add(r, key, NULL, given))) return mcpi_query_told(r, MCP_ERR_MEMORY);
    if (!q) return mcpi_query_told(r, mcpi_query_new(r, key, which, params));
    fault = q->status == MCP_OK ? mcpi_query_fault(which, q->answer) : NULL;
    if (fault) return mcpi_query_misfit(r, key, "", fault);
    if (answer) *answer = q->answer;
    return mcpi_query_told(r, q->status);
}

/* -- asking: forms ------------------------------------------------------------------------------------------------ */

/* NULL, or what is wrong with a field of the form, and in *field which. */
static const char *mcpi_fields_fault(const mcp_json *schema, const mcp_json *content, const char **field)
{
    mcp_json_each(name, mcp_json_get(schema, "required")) {
        *field = mcp_json_str(name, "");
        if (!mcp_json_get(content, *field)) return "is missing";
    }
    mcp_json_each(f, mcp_json_get(schema, "properties")) {
        const mcp_json *v = mcp_json_get(content, *field = mcp_json_key(f));
        const char *fault = v ? mcpi_field_fault(f, v) : NULL;
        if (fault) return fault;
    }
    return mcpi_fields_alien(content, field);
}

/* Exactly one of schema and url is given. The params are written in order to be read again at once: one way in. */
static int mcpi_elicit(mcp_req *r, const char *key, const char *message, const char *schema, const char *url,
                       const mcp_json **answer)
{
    const char *text, *action;
    mcp_writer w;
    int rc;
    *answer = NULL;
    if (!r || !message) return MCP_ERR_ARGUMENT;
    mcp_writer_init(&w, &r->s->alloc, 0);
    mcp_put_object(&w, NULL);
    if (url) mcp_put_str(&w, "mode", "url");
    mcp_put_str(&w, "message", message);
    if (url) mcp_put_str(&w, "url", url);
    else mcpi_put_object_text(&w, "requestedSchema", schema, MCP_NTS);
    mcp_put_end(&w);
    text = mcp_writer_text(&w, NULL);
    rc = mcp_writer_status(&w);
    if (text) rc = mcp_req_ask(r, key, "elicitation/create", text, answer);
    else if (rc != MCP_ERR_MEMORY)
        rc = mcpi_server_fail(r->s, MCP_ERR_ARGUMENT, "asking for \"%.*s\": the schema is no JSON object", 64,
                              key ? key : "");
    mcp_writer_free(&w);
    if (rc != MCP_OK) return rc;
    action = mcp_json_str(mcp_json_get(*answer, "action"), "");
    return *action == 'a' ? MCP_OK : mcpi_query_told(r, *action == 'd' ? MCP_ERR_DECLINED : MCP_ERR_CANCELLED);
}

int mcp_req_elicit(mcp_req *r, const char *key, const char *message, const char *schema, const mcp_json **content)
{
    const mcp_json *answer, *v;
    const char *field = "", *fault;
    int rc = mcpi_elicit(r, key, message, schema, NULL, &answer);
    if (content) *content = NULL;
    if (rc != MCP_OK) return rc;
    v = mcp_json_get(answer, "content");
    if (mcp_json_type(v) != MCP_JSON_OBJECT) v = r->s->empty;
    answer = mcp_json_parse(&r->talk->arena, schema, MCP_NTS, NULL);
    if (!answer) return mcpi_query_told(r, MCP_ERR_MEMORY);
    fault = mcpi_fields_fault(answer, v, &field);
    if (fault) return mcpi_query_misfit(r, key, field, fault);
    if (content) *content = v;
    return MCP_OK;
}

int mcp_req_elicit_url(mcp_req *r, const char *key, const char *message, const char *url)
{
    const mcp_json *answer;
    return url ? mcpi_elicit(r, key, message, NULL, url, &answer) : MCP_ERR_ARGUMENT;
}

/* -- peers ------------------------------------------------------------------------------------------------------- */

static mcp_conn *mcpi_conn_new(mcp_server *s, const mcp_io *io, const char *principal)
{
    mcp_conn *c, **at;
    if (s->stats.peers >= (size_t)s->d.max_peers) return NULL;
    c = (mcp_conn *)mcpi_zalloc(&s->alloc, sizeof *c);
    if (!c) return NULL;
    if (principal && !(c->principal = mcpi_strdup(&s->alloc, principal, MCP_NTS))) {
        mcpi_free(&s->alloc, c, sizeof *c);
        return NULL;
    }
    if (mcpi_stream_open(&c->st, &s->alloc, io, s->d.max_message, s->d.max_queue, &s->stats) != MCP_OK) {
        mcpi_stream_free(&c->st);
        mcpi_strfree(&s->alloc, c->principal);
        mcpi_free(&s->alloc, c, sizeof *c);
        return NULL;
    }
    c->s = s;
    c->log_level = -1;
    mcp_arena_init(&c->session, &s->alloc, 0);
    for (at = &s->conns; *at; at = &(*at)->next) { }
    *at = c;
    s->stats.peers++;
    return c;
}

/* Every deferred request of this peer, or only those that end with what it says: listens, and what waits for its
   answers. Removal pulls later ones into the cell, so a cell is left
   only when it stays. */
static void mcpi_conn_drop(mcp_conn *c, bool listens)
{
    size_t i = 0;
    while (i < c->inflight.cells) {
        mcp_req *r = mcpi_req_of_key(c->inflight.cell[i]);
        if (r && (!listens || r->listen || r->waits)) {
            if (listens && r->listen) mcpi_end_listen(r); else mcpi_req_cancel(r);
        }
        if (mcpi_req_of_key(c->inflight.cell[i]) == r) i++;
    }
}

static void mcpi_conn_close(mcp_conn *c)
{
    if (c->dead) return;
    c->dead = true;
    mcpi_conn_drop(c, false);
    mcpi_stream_shut(&c->st);
    c->s->stats.peers--;
}

/* Frees the peers that are marked; only when no callback runs. */
static void mcpi_conns_sweep(mcp_server *s)
{
    mcp_conn **at = &s->conns;
    size_t i;
    if (s->nest) return;
    while (*at) {
        mcp_conn *c = *at;
        if (!c->dead) { at = &c->next; continue; }
        *at = c->next;
        if (s->main == c) { s->main = NULL; s->ended = true; }
        mcpi_conn_drop(c, false);
        mcpi_map_free(&s->alloc, &c->inflight);
        for (i = 0; i < c->subs.cells; )            /* removal pulls later ones into the cell */
            if (c->subs.cell[i]) mcpi_sub_free(s, (mcpi_sub *)(void *)c->subs.cell[i]); else i++;
        mcpi_map_free(&s->alloc, &c->subs);
        if (s->asks) s->asks->left(s, c);
        mcpi_stream_free(&c->st);
        mcp_arena_free(&c->session);
        mcpi_strfree(&s->alloc, c->principal);
        mcpi_free(&s->alloc, c, sizeof *c);
    }
}

/* No more requests from here: listens end, what is open may still be answered for a while. */
static void mcpi_conn_drain(mcp_conn *c)
{
    if (c->draining) return;
    c->draining = true;
    c->drain_until = c->s->now + c->s->d.drain_ms;
    c->drain_end = c->s->now + 10 * (int64_t)c->s->d.drain_ms;
    mcpi_conn_drop(c, true);
}

/* Handles the lines that are there, as long as their answers do not pile up unread. */
static void mcpi_conn_serve(mcp_conn *c)
{
    mcp_server *s = c->s;
    mcpi_stream *st = &c->st;
    char *line;
    size_t len;
    int rc;
    if (c->dead || c->draining) return;
    if (mcpi_stream_enter(st, s->nest) != MCP_OK) return;
    if (st->may_read && mcpi_stream_fill(st) == MCP_ERR_MEMORY) (void)mcpi_conn_broke(c, MCP_ERR_MEMORY);
    while (!c->dead && !s->freed && !s->stopping && mcpi_stream_queued(st) < MCPI_QUEUE_HIGH &&
           (rc = mcpi_stream_line(st, &line, &len)) != MCP_ERR_AGAIN) {
        if (rc == MCP_OK) mcpi_on_line(c, line, len);
        else {
            char text[96];
            mcpi_say(text, sizeof text, "a message over the limit of %z bytes was dropped", st->max_message);
            mcpi_server_log(s, 1, text);
            mcpi_conn_error(c, NULL, NULL, MCPI_INVALID_REQUEST, text);
        }
    }
    if (!c->dead) mcpi_frame_shrink(st, st->in);
    if (st->eof && !mcpi_stream_has_line(st)) mcpi_conn_drain(c);
}

/* Reading or writing failed: what was not said is lost, and whoever runs the server learns it. A peer that has gone
   before it read its last answers is the usual end of a stdio server, and no error. (That its other end is still open
   says nothing: a process that exits closes one after the other.) */
static void mcpi_conn_lost(mcp_conn *c)
{
    mcp_server *s = c->s;
    if (c == s->main && !c->st.gone) s->end = MCP_ERR_TRANSPORT;
    mcpi_say(s->error, sizeof s->error, "a peer is gone: reading or writing failed");
    mcpi_server_log(s, 1, s->error);
    mcpi_conn_close(c);
}

/* Writes, and ends what has come to its end. A peer that drains keeps its time anew with every byte that it reads, up
   to ten times that. */
static void mcpi_conn_settle(mcp_conn *c)
{
    mcpi_stream *st = &c->st;
    size_t before = mcpi_stream_queued(st);
    if (c->dead) return;
    (void)mcpi_stream_flush(st);
    if (st->broken) mcpi_conn_lost(c);
    if (c->dead) return;
    if (st->eof && !c->draining) {          /* lines are left, but their answers pile up unread */
        if (!c->drain_until || mcpi_stream_queued(st) < before) c->drain_until = c->s->now + c->s->d.drain_ms;
        else if (c->s->now >= c->drain_until) mcpi_conn_close(c);
        return;
    }
    if (!c->draining) return;
    if (mcpi_stream_queued(st) < before) c->drain_until = c->s->now + c->s->d.drain_ms;
    if (c->inflight.count == 0 && c->handlers == 0 && mcpi_stream_queued(st) == 0) mcpi_conn_close(c);
    else if (c->s->now >= c->drain_until || c->s->now >= c->drain_end) {
        char text[96];
        mcpi_say(text, sizeof text, "drain_ms are over: %z requests were not answered", c->inflight.count);
        if (c->inflight.count) mcpi_server_log(c->s, 1, text);
        mcpi_conn_close(c);
    }
}

/* -- changes ----------------------------------------------------------------------------------------------------- */

/* One peer that does not read is told when it does. */
static bool mcpi_is_full(const mcp_conn *c) { return mcpi_stream_queued(&c->st) > c->s->d.max_queue; }

static bool mcpi_has_news(const mcp_server *s)
{
    const mcp_conn *c;
    for (c = s->conns; c; c = c->next)
        if (c->missed && !c->dead && !c->draining && !mcpi_is_full(c)) return true;
    return s->changed || s->updates || (s->asks && s->asks->ready);
}

/* One change of a list, to a legacy session and to its listens. */
static void mcpi_tell_list(mcp_conn *c, int kind)
{
    const char *method = mcpi_word_at(mcpi_changes, MCPI_CHANGED + kind);
    size_t i;
    if (c->initialized && mcpi_offers(c->s, kind, "listChanged"))
        (void)mcpi_conn_broke(c, mcpi_send_note(c->s, &c->st, method, NULL));
    for (i = 0; i < c->inflight.cells; i++) {
        mcp_req *r = mcpi_req_of_key(c->inflight.cell[i]);
        if (!r || !r->listen || !(r->filter >> kind & 1)) continue;
        mcpi_put_subscription(mcpi_note_begin(r->stream, method), r->id);
        (void)mcpi_conn_broke(c, mcpi_note_end(c->s, r->stream, false));
    }
}

static void mcpi_tell_update(mcpi_sub *b)
{
    mcp_conn *c = b->conn;
    mcp_writer *w;
    if (c->dead || c->draining) return;
    b->missed = mcpi_is_full(c);
    if (b->missed) { c->missed |= MCPI_MISSED_URIS; return; }
    w = mcpi_note_begin(&c->st, mcpi_word_at(mcpi_changes, MCPI_UPDATED));
    if (b->listen) mcpi_put_subscription(w, b->listen->id);
    mcp_put_strn(w, "uri", b->watch->named.name, b->watch->named.len);
    (void)mcpi_conn_broke(c, mcpi_note_end(c->s, &c->st, false));
}

/* What a peer that did not read has missed. */
static void mcpi_tell_missed(mcp_conn *c)
{
    size_t i;
    mcpi_sub *b;
    c->missed &= ~(unsigned)MCPI_MISSED_URIS;
    for (i = 0; i < c->subs.cells; i++) {
        b = (mcpi_sub *)(void *)c->subs.cell[i];
        if (b && b->missed) mcpi_tell_update(b);
    }
    for (i = 0; i < c->inflight.cells; i++) {
        mcp_req *r = mcpi_req_of_key(c->inflight.cell[i]);
        for (b = r ? r->subs : NULL; b; b = b->sister)
            if (b->missed) mcpi_tell_update(b);
    }
}

/* All changes of one turn are told once, to those who asked: legacy sessions by their handshake, modern clients by
   their listens. */
static void mcpi_tell_changes(mcp_server *s)
{
    mcp_conn *c;
    mcpi_watch *w;
    mcpi_sub *b;
    int kind;
    unsigned changed = s->changed;
    s->changed = 0;
    for (c = s->conns; c; c = c->next) {
        if (c->dead || c->draining) continue;
        c->missed |= changed;
        for (kind = 0; kind <= MCPI_PROMPTS; kind++)
            if (c->missed >> kind & 1 && !mcpi_is_full(c)) {
                c->missed &= ~(1u << kind);
                mcpi_tell_list(c, kind);
            }
        if (c->missed & MCPI_MISSED_URIS && !mcpi_is_full(c)) mcpi_tell_missed(c);
    }
    while ((w = s->updates) != NULL) {
        s->updates = w->next;
        w->changed = false;
        for (b = w->subs; b; b = b->next) mcpi_tell_update(b);
        mcpi_watch_release(s, w);
    }
}

int mcp_server_changed(mcp_server *s, unsigned what)
{
    unsigned all = MCP_LIST_TOOLS | MCP_LIST_RESOURCES | MCP_LIST_PROMPTS | MCP_LIST_TEMPLATES;
    if (!s || what & ~all) return MCP_ERR_ARGUMENT;
    if (what & MCP_LIST_TEMPLATES) what = (what & ~(unsigned)MCP_LIST_TEMPLATES) | MCP_LIST_RESOURCES;
    s->changed |= what;
    return MCP_OK;
}

int mcp_server_updated(mcp_server *s, const char *uri)
{
    mcpi_watch *w;
    if (!s || !uri) return MCP_ERR_ARGUMENT;
    w = (mcpi_watch *)mcpi_map_find(&s->watches, uri, strlen(uri));
    if (!w || w->changed) return MCP_OK;
    w->changed = true;
    w->next = s->updates;
    s->updates = w;
    return MCP_OK;
}

int mcp_server_notify(mcp_server *s, mcp_conn *to, const char *method, const char *params)
{
    mcp_conn *c;
    int rc = to ? MCP_ERR_MISUSE : MCP_OK, one;
    if (!s || !method) return MCP_ERR_ARGUMENT;
    for (c = s->conns; c; c = c->next) {
        if (c->dead || !c->initialized || (to && c != to)) continue;
        one = mcpi_send_note(s, &c->st, method, params);
        if (one != MCP_OK) rc = one;
        else if (to) rc = MCP_OK;
    }
    return rc;
}

/* -- registry ---------------------------------------------------------------------------------------------------- */

/* A mistake in the registry sticks: run reports the first one. */
static int mcpi_stick(mcp_server *s, int status)
{
    if (status != MCP_OK && s->status == MCP_OK) s->status = status;
    return status;
}

static int mcpi_stick_no_memory(mcp_server *s)
{
    return mcpi_stick(s, mcpi_server_fail(s, MCP_ERR_MEMORY, "%s", mcpi_no_memory));
}

/* What a program says of itself and of its tools, in a mixture of plain strings and JSON, written as one JSON object.
   The first mistake sticks. */
typedef struct mcpi_decl {
    mcp_server *s;
    const char *whose;                      /* for sentences */
    mcp_arena arena;
    mcp_writer w;
    int status;
} mcpi_decl;

static void mcpi_decl_begin(mcpi_decl *f, mcp_server *s, const char *whose)
{
    f->s = s;
    f->whose = whose;
    f->status = MCP_OK;
    mcp_arena_init(&f->arena, &s->alloc, 0);
    mcp_writer_init(&f->w, &s->alloc, 0);
    mcp_put_object(&f->w, NULL);
}

static void mcpi_decl_no_memory(mcpi_decl *f)
{
    if (f->status == MCP_OK) f->status = mcpi_server_fail(f->s, MCP_ERR_MEMORY, "%s: %s", f->whose, mcpi_no_memory);
}

static void mcpi_decl_free(mcpi_decl *f)
{
    mcp_writer_free(&f->w);
    mcp_arena_free(&f->arena);
}

/* A value of the type that a field must have; NULL: there is none, or it is wrong. */
static const mcp_json *mcpi_decl_parse(mcpi_decl *f, mcp_arena *a, const char *key, const char *json, mcp_type type)
{
    size_t pos = 0;
    const mcp_json *v = json && f->status == MCP_OK ? mcp_json_parse(a, json, MCP_NTS, &pos) : NULL;
    if (!json || f->status != MCP_OK || mcp_json_type(v) == type) return v;
    if (!v && pos == MCP_NTS) mcpi_decl_no_memory(f);
    else if (!v)
        f->status = mcpi_server_fail(f->s, MCP_ERR_ARGUMENT, "%s: %s is not JSON: byte %z", f->whose, key, pos);
    else f->status = mcpi_server_fail(f->s, MCP_ERR_ARGUMENT, "%s: %s is not an %s", f->whose, key,
                                      type == MCP_JSON_ARRAY ? "array" : "object");
    return NULL;
}

static void mcpi_decl_json(mcpi_decl *f, const char *key, const char *json, mcp_type type)
{
    const mcp_json *v = mcpi_decl_parse(f, &f->arena, key, json, type);
    if (v) mcp_put_json(&f->w, key, v);
}

static void mcpi_decl_str(mcpi_decl *f, const char *key, const char *s)
{
    if (s) mcp_put_str(&f->w, key, s);
}

/* A copy of the whole text, or NULL and the status. */
static char *mcpi_decl_end(mcpi_decl *f, size_t *len)
{
    const char *text;
    char *copy = NULL;
    mcp_put_end(&f->w);
    text = mcp_writer_text(&f->w, len);
    if (f->status == MCP_OK && text) copy = mcpi_strdup(&f->s->alloc, text, *len);
    if (f->status == MCP_OK && !copy) {
        int status = text ? MCP_ERR_MEMORY : mcp_writer_status(&f->w);
        f->status = mcpi_server_fail(f->s, status, "%s: %s", f->whose, mcp_strerror(status));
    }
    return copy;
}

/* What is taken as it is, but not everybody will. */
static void mcpi_decl_warn(mcpi_decl *f, bool odd, const char *why)
{
    char text[256];
    if (!odd || f->s->d.log.level < 1) return;
    mcpi_say(text, sizeof text, "%s: %s", f->whose, why);
    mcpi_server_log(f->s, 1, text);
}

/* The input schema, made to say that it describes an object. */
static const mcp_json *mcpi_decl_schema(mcpi_decl *f, const char *json)
{
    const mcp_json *schema = mcpi_decl_parse(f, &f->arena, "inputSchema", json ? json : "{}", MCP_JSON_OBJECT);
    const mcp_json *type = mcp_json_get(schema, "type");
    if (type && !mcpi_is(type, "object"))
        f->status = mcpi_server_fail(f->s, MCP_ERR_ARGUMENT, "%s: inputSchema: type is not \"object\"", f->whose);
    mcp_put_object(&f->w, "inputSchema");
    if (!type) mcp_put_str(&f->w, "type", "object");
    mcp_json_each(v, schema) mcp_put_json(&f->w, mcp_json_key(v), v);
    mcp_put_end(&f->w);
    return schema;
}

/* Members of the program's own; those that have a field are refused, since they would come twice. */
static void mcpi_decl_extra(mcpi_decl *f, const char *json)
{
    static const char own[] =
        "name\0" "title\0" "description\0" "inputSchema\0" "outputSchema\0" "annotations\0" "icons\0" "_meta\0";
    mcp_json_each(v, mcpi_decl_parse(f, &f->arena, "extra", json, MCP_JSON_OBJECT)) {
        const char *key = mcp_json_key(v);
        if (mcpi_word_of(own, key) < 0) mcp_put_json(&f->w, key, v);
        else
            f->status =
                mcpi_server_fail(f->s, MCP_ERR_ARGUMENT, "%s: extra: \"%s\" has a field of its own", f->whose, key);
    }
}

/* What all entries have. */
static void mcpi_decl_named(mcpi_decl *f, const char *name, const char *title, const char *description)
{
    mcpi_decl_str(f, "name", name);
    mcpi_decl_str(f, "title", title);
    mcpi_decl_str(f, "description", description);
}

static void mcpi_decl_looks(mcpi_decl *f, const char *icons, const char *meta)
{
    mcpi_decl_json(f, "icons", icons, MCP_JSON_ARRAY);
    mcpi_decl_json(f, "_meta", meta, MCP_JSON_OBJECT);
}

/* An entry would be listed under another name than the one it is found by. */
static bool mcpi_name_is_utf8(const char *name)
{
    const char *end = name + strlen(name), *next;
    while (name < end) {
        next = *name & 0x80 ? mcpi_utf8_run(name, end) : name + 1;
        if (next == name) return false;
        name = next;
    }
    return true;
}

/* Begins an entry: what it is called, and the form for its object. NULL: the status is in f. */
static mcpi_feature *mcpi_feature_begin(mcpi_decl *f, mcp_server *s, int kind, const char *name, mcp_req_fn fn,
                                        char *whose, size_t cap)
{
    static const char kinds[] = "tool\0" "resource\0" "prompt\0" "template\0";
    const char *what = mcpi_word_at(kinds, kind);
    mcpi_feature *x = NULL;
    mcpi_say(whose, cap, "%s \"%.*s\"", what, 128, name ? name : "");
    mcpi_decl_begin(f, s, whose);
    if (!name || !*name) f->status = mcpi_server_fail(s, MCP_ERR_ARGUMENT, "a %s without a name", what);
    else if (!mcpi_name_is_utf8(name))
        f->status = mcpi_server_fail(s, MCP_ERR_ARGUMENT, "%s: its name is not UTF-8", whose);
    else if (!fn)
        f->status = mcpi_server_fail(s, MCP_ERR_ARGUMENT, "%s has no fn%s", whose,
                                     kind == MCPI_RESOURCES ? " and no data" : "");
    else {
        x = (mcpi_feature *)mcpi_zalloc(&s->alloc, sizeof *x);
        if (x) {
            x->named.len = strlen(name);
            x->named.name = mcpi_strdup(&s->alloc, name, x->named.len);
        }
        if (!x || !x->named.name) mcpi_decl_no_memory(f);
    }
    if (!x) return NULL;
    x->kind = kind;
    x->uses = 1;
    x->fn = fn;
#ifndef MCP_NO_VALIDATE
    mcp_arena_init(&x->schemas, &s->alloc, 0);
#endif
    return x;
}

/* A copy of something of the entry's. */
static char *mcpi_decl_copy(mcpi_decl *f, const void *bytes, size_t n)
{
    char *copy = mcpi_strdup(&f->s->alloc, (const char *)bytes, n);
    if (!copy) mcpi_decl_no_memory(f);
    return copy;
}

/* A required argument's name: a string of a schema's `required`, or the name of a prompt's argument that says so. */
static const mcp_json *mcpi_required_name(const mcp_json *v)
{
    if (mcp_json_type(v) == MCP_JSON_OBJECT)
        v = mcp_json_bool(mcp_json_get(v, "required"), false) ? mcp_json_get(v, "name") : NULL;
    return mcp_json_type(v) == MCP_JSON_STRING ? v : NULL;
}

/* The names of required arguments, packed: a length, the name, a NUL. */
static void mcpi_feature_required(mcpi_decl *f, mcpi_feature *x, const mcp_json *list)
{
    size_t n = 0, k;
    char *p;
    if (f->status != MCP_OK || mcp_json_type(list) != MCP_JSON_ARRAY) return;
    mcp_json_each(v, list)
        if (mcpi_required_name(v)) n += sizeof k + mcp_json_size(mcpi_required_name(v)) + 1;
    if (n == 0) return;
    p = x->required = (char *)mcpi_alloc(&f->s->alloc, n);
    if (!p) { mcpi_decl_no_memory(f); return; }
    x->required_len = n;
    mcp_json_each(v, list)
        if (mcpi_required_name(v)) {
            const char *name = mcp_json_text(mcpi_required_name(v), &k);
            memcpy(p, &k, sizeof k);
            memcpy(p + sizeof k, name, k + 1);
            p += sizeof k + k + 1;
        }
}

/* Puts the entry into its list, in the place of the one with its name if there is one. */
static int mcpi_list_put(mcp_server *s, mcpi_feature *x)
{
    mcpi_list *l = &s->lists[x->kind];
    mcpi_feature *old = (mcpi_feature *)mcpi_map_find(&l->by_name, x->named.name, x->named.len);
    if (old) {
        x->seq = old->seq;
        l->at[mcpi_list_after(l, x->seq - 1)] = x;
        mcpi_map_remove(&l->by_name, &old->named);
        (void)mcpi_map_add(&s->alloc, &l->by_name, &x->named);          /* one was just taken out: it cannot fail */
        mcpi_feature_release(s, old);
        return MCP_OK;
    }
    if (l->count == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 8;
        mcpi_feature **more = (mcpi_feature **)mcpi_resize(&s->alloc, l->at, l->cap * sizeof *more, cap * sizeof *more);
        if (!more) return MCP_ERR_MEMORY;
        l->at = more;
        l->cap = cap;
    }
    if (!mcpi_map_add(&s->alloc, &l->by_name, &x->named)) return MCP_ERR_MEMORY;
    x->seq = ++s->seq;
    l->at[l->count++] = x;
    return MCP_OK;
}

static mcpi_method *mcpi_method_new(mcp_server *s, const char *name)
{
    mcpi_method *m = (mcpi_method *)mcpi_zalloc(&s->alloc, sizeof *m);
    if (!m) return NULL;
    m->named.len = strlen(name);
    m->named.name = mcpi_strdup(&s->alloc, name, m->named.len);
    if (m->named.name && mcpi_map_add(&s->alloc, &s->methods, &m->named)) return m;
    mcpi_strfree(&s->alloc, (char *)(uintptr_t)m->named.name);
    mcpi_free(&s->alloc, m, sizeof *m);
    return NULL;
}

static void mcpi_method_free(mcp_server *s, mcpi_method *m)
{
    mcpi_strfree(&s->alloc, (char *)(uintptr_t)m->named.name);
    mcpi_free(&s->alloc, m, sizeof *m);
}

/* A built-in method. One that the program has put in its place stays there. */
static bool mcpi_method_have(mcp_server *s, const char *name, unsigned flags, int kind, void (*run)(mcp_req *))
{
    mcpi_method *m = (mcpi_method *)mcpi_map_find(&s->methods, name, strlen(name));
    if (!m) m = mcpi_method_new(s, name);
    if (!m) return false;
    m->flags = flags | MCPI_BUILTIN;
    m->kind = kind;
    m->run = run;
    return true;
}

/* The method that an entry is used by. */
static void mcpi_feature_method(mcpi_decl *f, const char *name, void (*run)(mcp_req *))
{
    if (f->status == MCP_OK && !mcpi_method_have(f->s, name, 0, 0, run)) mcpi_decl_no_memory(f);
}

static bool mcpi_have_resources(mcp_server *s, void (*read)(mcp_req *))
{
    return mcpi_method_have(s, "resources/read", 0, 0, read) &&
           mcpi_method_have(s, "resources/subscribe", MCPI_ONLY_LEGACY, 0, mcpi_do_subscribe) &&
           mcpi_method_have(s, "resources/unsubscribe", MCPI_ONLY_LEGACY, 0, mcpi_do_subscribe);
}

static void mcpi_feature_completes(mcpi_decl *f, mcpi_feature *x, mcp_req_fn complete)
{
    x->complete = complete;
    if (!complete) return;
    f->s->has_completions = true;
    mcpi_feature_method(f, "completion/complete", mcpi_do_complete);
}

/* Ends what begin began: the entry is in its list, complete, or it is not there at all. */
static int mcpi_feature_end(mcpi_decl *f, mcpi_feature *x)
{
    mcp_server *s = f->s;
    if (x) {
        x->text = mcpi_decl_end(f, &x->len);
        if (f->status == MCP_OK && mcpi_list_put(s, x) != MCP_OK) mcpi_decl_no_memory(f);
        if (f->status == MCP_OK) s->changed |= 1u << (x->kind == MCPI_TEMPLATES ? MCPI_RESOURCES : x->kind);
        else mcpi_feature_release(s, x);
    }
    mcpi_decl_free(f);
    return mcpi_stick(s, f->status);
}

#ifndef MCP_NO_VALIDATE
/* Compiles a schema of a tool's, and logs what of it is not enforced. NULL: there is none, or it is refused. */
static const mcp_schema *mcpi_decl_compile(mcpi_decl *f, mcpi_feature *x, const char *key, const char *json)
{
    const mcp_json *v = json ? mcp_json_copy(&x->schemas, mcpi_decl_parse(f, &f->arena, key, json, MCP_JSON_OBJECT)) : NULL;
    const char *why = mcp_strerror(MCP_ERR_MEMORY), *line, *end;
    const mcp_schema *schema;
    char text[640];
    int status = MCP_ERR_MEMORY;
    if (!json || f->status != MCP_OK) return NULL;
    schema = v ? mcpi_schema_compile(&x->schemas, v, &why, &status) : NULL;
    if (!schema) f->status = mcpi_server_fail(f->s, status, "%s: %s%s%s", f->whose, key, *why == '#' ? "" : ": ", why);
    for (line = mcp_schema_notes(schema); (end = strchr(line, '\n')) != NULL; line = end + 1) {
        mcpi_say(text, sizeof text, "%s: %s%.*s", f->whose, key, (int)(end - line), line);
        mcpi_server_log(f->s, 1, text);
    }
    return schema;
}
#endif

static const char mcpi_sure[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";

int mcp_server_tool(mcp_server *s, const mcp_tool *t)
{
    mcpi_decl f;
    mcpi_feature *x;
    const mcp_json *schema;
    char whose[160];
    if (!s || !t) return MCP_ERR_ARGUMENT;
    x = mcpi_feature_begin(&f, s, MCPI_TOOLS, t->name, t->fn, whose, sizeof whose);
    if (x) {
        x->user = t->user;
        mcpi_decl_warn(&f, strlen(t->name) > 128 || t->name[strspn(t->name, mcpi_sure)],
                       "some clients take only names of 1 to 128 characters of A-Z a-z 0-9 _ - .");
        mcpi_decl_named(&f, t->name, t->title, t->description);
        schema = mcpi_decl_schema(&f, t->input_schema);
        mcpi_decl_json(&f, "outputSchema", t->output_schema, MCP_JSON_OBJECT);
        mcpi_decl_json(&f, "annotations", t->annotations, MCP_JSON_OBJECT);
        mcpi_decl_looks(&f, t->icons, t->meta);
        mcpi_decl_extra(&f, t->extra);
#ifndef MCP_NO_VALIDATE
        (void)schema;
        if (!s->d.trust_arguments) x->input = mcpi_decl_compile(&f, x, "inputSchema", t->input_schema);
        if (!s->d.trust_results) x->output = mcpi_decl_compile(&f, x, "outputSchema", t->output_schema);
#else
        mcpi_feature_required(&f, x, mcp_json_get(schema, "required"));
#endif
    }
    return mcpi_feature_end(&f, x);
}

int mcp_server_prompt(mcp_server *s, const mcp_prompt *p)
{
    mcpi_decl f;
    mcpi_feature *x;
    const mcp_json *arguments;
    char whose[160];
    if (!s || !p) return MCP_ERR_ARGUMENT;
    x = mcpi_feature_begin(&f, s, MCPI_PROMPTS, p->name, p->fn, whose, sizeof whose);
    if (x) {
        x->user = p->user;
        mcpi_feature_completes(&f, x, p->complete);
        mcpi_decl_named(&f, p->name, p->title, p->description);
        mcpi_decl_looks(&f, p->icons, p->meta);
        arguments = mcpi_decl_parse(&f, &f.arena, "arguments", p->arguments, MCP_JSON_ARRAY);
        if (arguments) mcp_put_json(&f.w, "arguments", arguments);
        mcp_json_each(v, arguments)
            if (mcp_json_type(mcp_json_get(v, "name")) != MCP_JSON_STRING && f.status == MCP_OK)
                f.status = mcpi_server_fail(s, MCP_ERR_ARGUMENT, "%s: arguments: each is an object with a name", whose);
        mcpi_feature_required(&f, x, arguments);
        if (p->description) x->about = mcpi_decl_copy(&f, p->description, MCP_NTS);
        mcpi_feature_method(&f, "prompts/get", mcpi_do_prompts_get);
    }
    return mcpi_feature_end(&f, x);
}

static void mcpi_decl_data(mcpi_decl *f, mcpi_feature *x, const mcp_resource *d)
{
    bool text = d->data && (d->data_size == MCP_NTS || (!d->data_size && !d->binary));
    size_t n = text ? strlen((const char *)d->data) : d->data_size;
    int64_t size = d->data ? (int64_t)n : d->size;
    if (size > 0 || d->data) mcp_put_int(&f->w, "size", size);
    if (!d->data) return;
    x->data = mcpi_decl_copy(f, d->data, n);
    x->data_len = n;
    x->has_data = true;
    x->binary = d->binary;
}

/* Content that is there already needs no function. */
static void mcpi_no_fn(mcp_req *r, void *user) { (void)r; (void)user; }

int mcp_server_resource(mcp_server *s, const mcp_resource *d)
{
    mcpi_decl f;
    mcpi_feature *x;
    mcpi_part part[MCPI_PARTS_MAX];
    char whose[160];
    bool is_template;
    if (!s || !d) return MCP_ERR_ARGUMENT;
    is_template = d->uri && strpbrk(d->uri, "{}");
    x = mcpi_feature_begin(&f, s, is_template ? MCPI_TEMPLATES : MCPI_RESOURCES, d->uri,
                         d->fn || !d->data || is_template ? d->fn : mcpi_no_fn, whose, sizeof whose);
    if (x) {
        x->user = d->user;
        mcpi_feature_completes(&f, x, d->complete);
        x->ttl_ms = d->ttl_ms > 0 ? d->ttl_ms : 0;
        x->scope = d->scope;
        if (is_template && mcpi_template_cut(d->uri, part) < 1)
            f.status = mcpi_server_fail(s, MCP_ERR_ARGUMENT,
                                        "%s: only {name}, {+name} and {/name} are known, in at most 60 parts", whose);
        mcpi_decl_warn(&f, !is_template && !mcpi_field_uri(d->uri, strlen(d->uri)),
                       "this is no URI: it needs a scheme, and no blanks");
        mcpi_decl_str(&f, is_template ? "uriTemplate" : "uri", d->uri);
        mcpi_decl_named(&f, d->name ? d->name : d->uri, d->title, d->description);
        mcpi_decl_looks(&f, d->icons, d->meta);
        mcpi_decl_str(&f, "mimeType", d->mime);
        mcpi_decl_json(&f, "annotations", d->annotations, MCP_JSON_OBJECT);
        if (!is_template) mcpi_decl_data(&f, x, d);
        else if (d->data && f.status == MCP_OK)
            f.status = mcpi_server_fail(s, MCP_ERR_ARGUMENT, "%s: a template has fn, and no data", whose);
        if (d->mime) x->about = mcpi_decl_copy(&f, d->mime, MCP_NTS);
        if (f.status == MCP_OK && !mcpi_have_resources(s, mcpi_do_read)) mcpi_decl_no_memory(&f);
    }
    return mcpi_feature_end(&f, x);
}

int mcp_server_remove(mcp_server *s, int kind, const char *name)
{
    mcpi_list *l;
    mcpi_feature *x;
    size_t at;
    int k;
    for (k = 0; k < MCPI_KINDS && kind != 1 << k; k++) { }
    if (!s || !name || k == MCPI_KINDS) return MCP_ERR_ARGUMENT;
    l = &s->lists[k];
    x = (mcpi_feature *)mcpi_map_find(&l->by_name, name, strlen(name));
    if (!x) return MCP_ERR_UNKNOWN;
    at = mcpi_list_after(l, x->seq - 1);
    memmove(l->at + at, l->at + at + 1, (l->count - at - 1) * sizeof *l->at);
    l->count--;
    l->said = true;                         /* a server that had tools goes on having the (empty) list */
    mcpi_map_remove(&l->by_name, &x->named);
    mcpi_feature_release(s, x);
    s->changed |= 1u << (k == MCPI_TEMPLATES ? MCPI_RESOURCES : k);
    return MCP_OK;
}

int mcp_server_method(mcp_server *s, const char *method, mcp_req_fn fn, void *user)
{
    mcpi_method *m;
    if (!s || !method || !*method) return MCP_ERR_ARGUMENT;
    m = (mcpi_method *)mcpi_map_find(&s->methods, method, strlen(method));
    if ((m && m->flags & MCPI_FIXED) || strcmp(method, "notifications/cancelled") == 0 ||
        strcmp(method, "notifications/initialized") == 0)
        return mcpi_stick(s, mcpi_server_fail(s, MCP_ERR_ARGUMENT, "%s is the library's own", method));
    if (!fn && m && !(m->flags & MCPI_BUILTIN)) {
        mcpi_map_remove(&s->methods, &m->named);
        mcpi_method_free(s, m);
        return MCP_OK;
    }
    if (!m && !fn) return MCP_ERR_UNKNOWN;
    if (!m && !(m = mcpi_method_new(s, method)))
        return mcpi_stick_no_memory(s);
    m->fn = fn;
    m->user = user;
    return MCP_OK;
}

/* -- timers ------------------------------------------------------------------------------------------------------ */

mcp_id mcp_server_after(mcp_server *s, int ms, void (*fn)(void *owner, void *arg), void *arg)
{
    mcpi_timer *t;
    if (!s || !fn || s->freed) return 0;
    t = s->spare_timer;
    if (t) s->spare_timer = t->next;
    else if (!(t = (mcpi_timer *)mcpi_alloc(&s->alloc, sizeof *t))) return 0;
    memset(t, 0, sizeof *t);
    t->fn = fn;
    t->arg = arg;
    if (mcpi_slots_add(&s->timers, &t->item, mcpi_server_clock(s) + (ms > 0 ? ms : 0)) == MCP_OK) return t->item.id;
    t->next = s->spare_timer;
    s->spare_timer = t;
    return 0;
}

/* Takes a timer out of the table, and its function with it. */
static void mcpi_timer_end(mcp_server *s, mcpi_timer *t)
{
    mcpi_slots_remove(&s->timers, &t->item);
    t->next = s->spare_timer;
    s->spare_timer = t;
}

int mcp_server_cancel_timer(mcp_server *s, mcp_id timer)
{
    mcpi_timer *t = s ? (mcpi_timer *)mcpi_slots_get(&s->timers, timer) : NULL;
    if (!t) return MCP_ERR_UNKNOWN;
    mcpi_timer_end(s, t);
    return MCP_OK;
}

static void mcpi_timer_fire(mcp_server *s, mcpi_timer *t, void *owner)
{
    void (*fn)(void *, void *) = t->fn;
    void *arg = t->arg;
    mcpi_timer_end(s, t);
    s->nest++;
    fn(owner, arg);
    s->nest--;
}

/* Those that are due now; one that a timer sets for now waits for the next turn. */
static void mcpi_timers_run(mcp_server *s)
{
    mcpi_item *t;
    mcp_id last = s->timers.last;
    while (!s->freed && (t = mcpi_slots_due(&s->timers, s->now)) != NULL && t->id <= last)
        mcpi_timer_fire(s, (mcpi_timer *)t, s);
}

/* -- life -------------------------------------------------------------------------------------------------------- */

/* What stays the same in all results: who we are. */
static bool mcpi_describe(mcp_server *s, const mcp_server_desc *d)
{
    mcpi_decl f;
    size_t n;
    mcpi_decl_begin(&f, s, "server");
    mcp_put_str(&f.w, "name", d->name ? d->name : "");
    mcp_put_str(&f.w, "version", d->version ? d->version : "");
    mcpi_decl_str(&f, "title", d->title);
    mcpi_decl_str(&f, "description", d->description);
    mcpi_decl_str(&f, "websiteUrl", d->website);
    mcpi_decl_json(&f, "icons", d->icons, MCP_JSON_ARRAY);
    s->caps = mcpi_decl_parse(&f, &s->fixed, "capabilities", d->capabilities, MCP_JSON_OBJECT);
    (void)mcpi_stick(s, f.status);
    f.status = MCP_OK;                      /* a mistake in these is told by run; there is a server all the same */
    s->info = mcpi_decl_end(&f, &n);
    mcpi_decl_free(&f);
    mcpi_decl_begin(&f, s, "server");
    if (s->info) mcpi_put_splice(&f.w, "io.modelcontextprotocol/serverInfo", s->info, n);
    s->meta = mcpi_decl_end(&f, &s->meta_len);
    mcpi_decl_free(&f);
    if (d->instructions) s->instructions = mcpi_strdup(&s->alloc, d->instructions, MCP_NTS);
    return s->info && s->meta && (!d->instructions || s->instructions);
}

static bool mcpi_server_fill(mcp_server *s, const mcp_server_desc *d)
{
    int kind;
    mcp_arena_init(&s->fixed, &s->alloc, 0);
#ifndef MCP_NO_VALIDATE
    mcp_arena_init(&s->check, &s->alloc, 0);
#endif
    s->empty = mcp_json_parse(&s->fixed, "{}", 2, NULL);
    if (!s->empty || !mcpi_describe(s, d)) return false;
    if (d->state_key) s->state_key = mcpi_strdup(&s->alloc, (const char *)d->state_key, s->d.state_key_size);
    if (d->state_key && !s->state_key) return false;
    s->has_logging = mcpi_says(s, "logging");
    for (kind = 0; kind < MCPI_KINDS; kind++)
        s->lists[kind].said =
            mcpi_says(s, mcpi_word_at(mcpi_lists, kind == MCPI_TEMPLATES ? MCPI_RESOURCES : kind));
    if (mcpi_says(s, "resources") && !mcpi_have_resources(s, mcpi_do_unknown)) return false;
    if (mcpi_says(s, "prompts") && !mcpi_method_have(s, "prompts/get", 0, 0, mcpi_do_unknown)) return false;
    if (mcpi_says(s, "completions") && !mcpi_method_have(s, "completion/complete", 0, 0, mcpi_do_unknown)) return false;
    return mcpi_method_have(s, "initialize", MCPI_ONLY_LEGACY | MCPI_FIXED | MCPI_EARLY, 0, mcpi_do_initialize) &&
           mcpi_method_have(s, "ping", MCPI_ONLY_LEGACY | MCPI_FIXED | MCPI_EARLY, 0, mcpi_do_ping) &&
           mcpi_method_have(s, "server/discover", MCPI_ONLY_MODERN | MCPI_FIXED, 0, mcpi_do_discover) &&
           mcpi_method_have(s, "subscriptions/listen", MCPI_ONLY_MODERN | MCPI_FIXED, 0, mcpi_do_listen) &&
           mcpi_method_have(s, "logging/setLevel", MCPI_ONLY_LEGACY, 0, mcpi_do_set_level) &&
           mcpi_method_have(s, "tools/call", 0, 0, mcpi_do_tools_call) &&
           mcpi_method_have(s, "tools/list", 0, MCPI_TOOLS, mcpi_do_list) &&
           mcpi_method_have(s, "resources/list", 0, MCPI_RESOURCES, mcpi_do_list) &&
           mcpi_method_have(s, "prompts/list", 0, MCPI_PROMPTS, mcpi_do_list) &&
           mcpi_method_have(s, "resources/templates/list", 0, MCPI_TEMPLATES, mcpi_do_list);
}

/* The stream or listener that the description asks for. */
static void mcpi_server_open(mcp_server *s, const mcp_server_desc *d)
{
    mcp_io io = d->io;
    if (io.read && io.write) {
        s->main = mcpi_conn_new(s, &io, NULL);
        if (!s->main) {
            (void)mcpi_stick_no_memory(s);
            if (io.close) io.close(io.user);
        }
        return;
    }
#ifdef MCP_NO_POSIX
    if (!d->no_stdio)
        (void)mcpi_stick(s, mcpi_server_fail(s, MCP_ERR_ARGUMENT,
                                             "without POSIX a server needs io, or no_stdio and mcp_server_attach"));
#else
    if (d->listen) {
        char why[200];
        int fd;
        if (strncmp(d->listen, "unix:", 5) != 0) {
            (void)mcpi_stick(
                s, mcpi_server_fail(s, MCP_ERR_ARGUMENT, "listen: \"%s\" does not begin with unix:", d->listen));
            return;
        }
        s->listen_path = mcpi_strdup(&s->alloc, d->listen, MCP_NTS);
        if (!s->listen_path) { (void)mcpi_stick_no_memory(s); return; }
        fd = mcpi_listen_unix(d->listen + 5, why, sizeof why);
        if (fd < 0) (void)mcpi_stick(s, mcpi_server_fail(s, fd, "%s", why));
        else s->listen_fd = fd;
    } else if (!d->no_stdio) {
        char why[200];
        int rc = mcpi_guard_take(&s->guard, d->raw_stdout, why, sizeof why);
        if (rc != MCP_OK) { (void)mcpi_stick(s, mcpi_server_fail(s, rc, "%s", why)); return; }
        rc = mcp_io_fds(&s->alloc, s->guard.in, s->guard.out, false, &io);
        if (rc == MCP_OK && !(s->main = mcpi_conn_new(s, &io, NULL))) { io.close(io.user); rc = MCP_ERR_MEMORY; }
        if (rc != MCP_OK) (void)mcpi_stick(s, mcpi_server_fail(s, rc, "stdio: %s", mcp_strerror(rc)));
    }
#endif
}

static void mcpi_registry_free(mcp_server *s)
{
    size_t i;
    int kind;
    for (kind = 0; kind < MCPI_KINDS; kind++) {
        mcpi_list *l = &s->lists[kind];
        for (i = 0; i < l->count; i++) mcpi_feature_release(s, l->at[i]);
        mcpi_map_free(&s->alloc, &l->by_name);
        mcpi_free(&s->alloc, l->at, l->cap * sizeof *l->at);
    }
    for (i = 0; i < s->methods.cells; i++)
        if (s->methods.cell[i]) mcpi_method_free(s, (mcpi_method *)s->methods.cell[i]);
    mcpi_map_free(&s->alloc, &s->methods);
}

/* All that waits for its end is told, then the memory goes. */
static void mcpi_server_destroy(mcp_server *s)
{
    mcp_allocator a = s->alloc;
    size_t from = 0;
    mcpi_item *it;
    mcp_conn *c;
    s->freed = true;
    s->nest++;                              /* callbacks below may call anything; nothing is freed under them */
    for (c = s->conns; c; c = c->next) mcp_server_detach(s, c);     /* on_cancel first: it may still cancel a timer */
    while ((it = mcpi_slots_any(&s->timers, s->timers.last, &from)) != NULL)
        mcpi_timer_fire(s, (mcpi_timer *)it, NULL);
#ifndef MCP_NO_POSIX
    mcpi_mailbox_close(&s->mail);
    if (s->listen_fd >= 0) mcpi_unlisten(&s->listen_fd, s->listen_path + 5);
    mcpi_strfree(&a, s->listen_path);
    mcpi_free(&a, s->fds, (size_t)s->fds_cap * sizeof *s->fds);
#endif
    s->nest = 0;
    mcpi_conns_sweep(s);
#ifndef MCP_NO_POSIX
    mcpi_guard_undo(&s->guard);
#endif
    mcpi_registry_free(s);
    while (s->spare) { mcp_req *r = s->spare; s->spare = r->outer; mcpi_req_destroy(r); }
    while (s->spare_timer) { mcpi_timer *t = s->spare_timer; s->spare_timer = t->next; mcpi_free(&a, t, sizeof *t); }
    mcpi_tell_changes(s);                   /* to nobody: lets go of what was still to be told */
    mcpi_map_free(&a, &s->watches);
    mcpi_slots_free(&s->deferred);
    mcpi_slots_free(&s->timers);
    if (s->asks) {
        s->asks->left(s, NULL);
        mcpi_slots_free(&s->asks->out);
        mcpi_free(&a, s->asks, sizeof *s->asks);
    }
    mcpi_free(&a, s->state_key, s->d.state_key_size + 1);
    mcp_arena_free(&s->fixed);
#ifndef MCP_NO_VALIDATE
    mcp_arena_free(&s->check);
#endif
    mcpi_strfree(&a, s->info);
    mcpi_strfree(&a, s->meta);
    mcpi_strfree(&a, s->instructions);
    mcpi_free(&a, s, sizeof *s);
}

mcp_server *mcp_server_new(const mcp_server_desc *d)
{
    mcp_server_desc zero;
    mcp_server *s;
    memset(&zero, 0, sizeof zero);
    if (!d) d = &zero;
    s = (mcp_server *)mcpi_zalloc(&d->alloc, sizeof *s);
    if (!s) return NULL;
    s->d = *d;
    s->alloc = d->alloc;
    if (!d->max_message) s->d.max_message = MCPI_MAX_MESSAGE;
    if (!d->max_queue) s->d.max_queue = MCPI_MAX_MESSAGE / 4;
    if (d->max_inflight <= 0) s->d.max_inflight = 1024;
    if (d->max_peers <= 0) s->d.max_peers = 256;
    if (d->max_subscriptions <= 0) s->d.max_subscriptions = 10000;
    if (d->drain_ms <= 0) s->d.drain_ms = 1000;
    if (d->ttl_ms < 0) s->d.ttl_ms = 0;
    if (d->state_key && d->state_key_size == MCP_NTS) s->d.state_key_size = strlen((const char *)d->state_key);
    if (d->ask_timeout_ms <= 0) s->d.ask_timeout_ms = 600000;
    if (d->state_ttl_ms <= 0) s->d.state_ttl_ms = 600000;
    s->peeked = -1;
    mcpi_slots_init(&s->deferred, &s->alloc, 0);
    mcpi_slots_init(&s->timers, &s->alloc, 0);
#ifndef MCP_NO_POSIX
    s->listen_fd = s->mail.rfd = s->mail.wfd = -1;
#endif
    (void)mcpi_server_clock(s);
    if (!mcpi_server_fill(s, d)) {
        mcpi_server_destroy(s);
        return NULL;
    }
    if (!d->name || !d->version)
        (void)mcpi_stick(s, mcpi_server_fail(s, MCP_ERR_ARGUMENT, "a server needs a name and a version"));
    if (d->state_key && !d->state_key_size)         /* anybody could seal with that */
        (void)mcpi_stick(s, mcpi_server_fail(s, MCP_ERR_ARGUMENT, "state_key without state_key_size"));
    mcpi_server_open(s, d);
    return s;
}

/* The memory goes when nothing of the server is on the stack any more. */
static int mcpi_server_exit(mcp_server *s, int rc)
{
    if (!s->freed || s->nest || s->pumps) return rc;
    mcpi_server_destroy(s);
    return MCP_ERR_CLOSED;
}

void mcp_server_free(mcp_server *s)
{
    if (!s || s->freed) return;
    s->freed = s->stopping = true;
    (void)mcpi_server_exit(s, MCP_OK);
}

int mcp_server_stop(mcp_server *s)
{
    if (!s) return MCP_ERR_ARGUMENT;
    s->stopping = true;
    return MCP_OK;
}

mcp_conn *mcp_server_attach(mcp_server *s, const mcp_io *io, const char *principal)
{
    mcp_conn *c;
    if (!s || !io || !io->read || !io->write || s->freed) return NULL;
    c = mcpi_conn_new(s, io, principal);
#ifndef MCP_NO_POSIX
    if (c && s->shielded) mcpi_io_shield(io, true);
#endif
    return c;
}

/* A peer that has left is not in the list, and may not be looked at. */
static bool mcpi_conn_lives(const mcp_server *s, const mcp_conn *c)
{
    const mcp_conn *x;
    for (x = s->conns; x && x != c; x = x->next) { }
    return x && !x->dead;
}

void mcp_server_detach(mcp_server *s, mcp_conn *c)
{
    if (!s || !mcpi_conn_lives(s, c)) return;
    (void)mcpi_stream_flush(&c->st);
    mcpi_conn_close(c);
    (void)mcpi_server_exit(s, MCP_OK);      /* on_cancel may have freed the server */
}

const char *mcp_server_error(const mcp_server *s)
{
    return s ? s->error : "";
}

mcp_stats mcp_server_stats(const mcp_server *s)
{
    mcp_stats out;
    const mcp_conn *c;
    memset(&out, 0, sizeof out);
    if (!s) return out;
    out = s->stats;
    out.pending = s->deferred.count;
    for (c = s->conns; c; c = c->next) out.queued += mcpi_stream_queued(&c->st);
    return out;
}

/* -- the loop ---------------------------------------------------------------------------------------------------- */

/* No peer is left, and none will come. (One that has left stays in the list while a callback runs.) */
static bool mcpi_server_is_over(const mcp_server *s)
{
    const mcp_conn *c;
    for (c = s->conns; c && c->dead; c = c->next) { }
    return !c && (s->stopping || s->ended || s->main);
}

/* One turn: everything that can be done without waiting, and one write for each peer at its end. */
static int mcpi_server_turn(mcp_server *s)
{
    mcp_conn *c;
    (void)mcpi_server_clock(s);
    mcpi_timers_run(s);
    for (c = s->conns; c && !s->freed; c = c->next) {
        if (s->stopping) mcpi_conn_drain(c);
        mcpi_conn_serve(c);
    }
    if (s->asks) s->asks->turn(s);
    if (s->freed) return MCP_ERR_CLOSED;
    mcpi_tell_changes(s);
    for (c = s->conns; c && !s->freed; c = c->next) mcpi_conn_settle(c);
    mcpi_conns_sweep(s);
    if (s->freed || mcpi_server_is_over(s)) return s->end != MCP_OK ? s->end : MCP_ERR_CLOSED;
    return MCP_OK;
}

#ifndef MCP_NO_POSIX
const char *mcp_server_address(const mcp_server *s)
{
    return s && s->listen_fd >= 0 ? s->listen_path : "";
}

mcp_poster *mcp_server_poster(mcp_server *s)
{
    if (!s || s->freed) return NULL;
    if (s->mail.rfd < 0 && mcpi_mailbox_open(&s->mail) != MCP_OK) return NULL;
    return mcpi_mailbox_poster(&s->mail, &s->alloc);
}

int mcp_server_pollfds(mcp_server *s, struct pollfd *fds, int cap)
{
    bool accepts;
    int n = 0;
    mcp_conn *c;
    if (!s) return 0;
    accepts = !s->stopping && mcpi_server_peek_clock(s) >= s->accept_at;
    s->mail_at = mcpi_want(fds, cap, &n, s->mail.rfd);
    s->listen_at = mcpi_want(fds, cap, &n, accepts ? s->listen_fd : -1);
    for (c = s->conns; c; c = c->next)
        if (!c->dead) mcpi_stream_pollfds(&c->st, !c->draining && !s->stopping, fds, cap, &n);
    s->fds_left = n > cap;
    return n;
}

/* Polls the server's own descriptors. false: no memory for the list. */
static bool mcpi_server_poll(mcp_server *s, int timeout, int *count)
{
    int n = mcp_server_pollfds(s, s->fds, s->fds_cap);
    if (n > s->fds_cap) {
        struct pollfd *more = (struct pollfd *)mcpi_resize(&s->alloc, s->fds, (size_t)s->fds_cap * sizeof *more,
                                                           (size_t)(n + 8) * sizeof *more);
        if (!more) return false;
        s->fds = more;
        s->fds_cap = n + 8;
        n = mcp_server_pollfds(s, s->fds, s->fds_cap);
    }
    *count = n;
    return mcpi_poll(s->fds, n, timeout) >= 0;
}

static void mcpi_server_accept(mcp_server *s)
{
    char principal[32];
    mcp_io io;
    int fd, i;
    for (i = 0; i < 16; i++) {
        fd = mcpi_accept(s->listen_fd, principal, sizeof principal);
        if (fd == MCP_ERR_TRANSPORT) {
            if (!s->accept_at) mcpi_server_log(s, 1, "no descriptors are left: new peers have to wait");
            s->accept_at = mcpi_server_clock(s) + 100;
        }
        if (fd < 0) return;
        s->accept_at = 0;
        if (mcp_io_fds(&s->alloc, fd, fd, true, &io) == MCP_OK) {
            if (mcp_server_attach(s, &io, principal)) continue;
            io.close(io.user);
        } else mcpi_close(&fd);
        mcpi_server_log(s, 1, "a peer was turned away: too many peers, or no memory");
    }
}

int mcp_server_step(mcp_server *s, const struct pollfd *fds, int n)
{
    mcp_conn *c;
    int rc;
    if (!s) return MCP_ERR_ARGUMENT;
    if (s->freed) return MCP_ERR_CLOSED;
    if (s->nest >= MCPI_NEST_MAX) return mcpi_server_fail(s, MCP_ERR_MISUSE, "callbacks are nested too deep");
    if (s->status != MCP_OK) return s->status;
    if (!fds) {
        if (!mcpi_server_poll(s, 0, &n)) return mcpi_server_fail(s, MCP_ERR_TRANSPORT, "poll failed");
        fds = s->fds;
    }
    for (c = s->conns; c; c = c->next) mcpi_stream_polled(&c->st, fds, n);
    s->pumps++;
    if (mcpi_was_seen(fds, n, s->listen_at)) mcpi_server_accept(s);
    if (mcpi_was_seen(fds, n, s->mail_at)) {
        int i;
        s->nest++;
        for (i = 0; i < 64 && !s->freed && mcpi_mailbox_run(&s->mail, s, 1); i++) { }
        s->nest--;
    }
    rc = s->freed ? MCP_ERR_CLOSED : mcpi_server_turn(s);
    s->pumps--;
    return mcpi_server_exit(s, rc);
}

/* Nothing to wait for but the next message of one stream: then a plain blocking read does what poll and read would.
   */
static bool mcpi_may_block(const mcp_server *s)
{
    const mcp_conn *c = s->conns;
    return c && c == s->main && !c->next && !c->dead && !c->draining && mcpi_io_is_fds(&c->st.io) && !s->must_poll &&
           !s->stopping && s->mail.rfd < 0 && s->listen_fd < 0 && s->timers.count == 0 && !mcpi_has_news(s) &&
           mcpi_stream_queued(&c->st) == 0 && mcpi_stream_hungry(&c->st) && !mcpi_stream_has_line(&c->st);
}

static int mcpi_run_once(mcp_server *s)
{
    int n = 0, timeout;
    mcp_conn *c;
    if (s->nest >= MCPI_NEST_MAX) return mcpi_server_fail(s, MCP_ERR_MISUSE, "callbacks are nested too deep");
    if (mcpi_may_block(s) && mcpi_stream_enter(&s->main->st, s->nest) == MCP_OK) {
        c = s->main;
        mcpi_io_readable(&c->st.io);
        c->st.may_read = true;
        s->must_poll = mcpi_stream_fill(&c->st) == MCP_ERR_AGAIN;      /* not a blocking descriptor after all */
        return mcpi_server_exit(s, mcpi_server_turn(s));
    }
    timeout = mcp_server_timeout(s);
    for (c = s->conns; c; c = c->next)
        if (!c->st.io.poll && (timeout < 0 || timeout > 5)) timeout = 5;    /* cannot be waited for: asked again */
    if (!mcpi_server_poll(s, timeout, &n)) return mcpi_server_fail(s, MCP_ERR_TRANSPORT, "poll failed");
    return mcp_server_step(s, s->fds, n);
}

int mcp_server_run(mcp_server *s)
{
    mcpi_sigpipe sig;
    mcp_conn *c;
    int rc;
    if (!s) return MCP_ERR_ARGUMENT;
    if (s->freed) return MCP_ERR_CLOSED;
    if (s->status != MCP_OK) return s->status;
    mcpi_sigpipe_block(&sig);
    s->pumps++;
    s->shielded = true;
    for (c = s->conns; c; c = c->next)
        if (c->st.open) mcpi_io_shield(&c->st.io, true);
    do rc = mcpi_run_once(s); while (rc == MCP_OK);
    for (c = s->conns; c; c = c->next)
        if (c->st.open) mcpi_io_shield(&c->st.io, false);
    s->shielded = false;
    s->pumps--;
    mcpi_sigpipe_restore(&sig);
    rc = rc == MCP_ERR_CLOSED && !s->freed ? MCP_OK : rc;
    return mcpi_server_exit(s, rc);
}
#else
int mcp_server_pollfds(mcp_server *s, struct pollfd *fds, int cap)
{
    (void)s; (void)fds; (void)cap;
    return 0;
}

int mcp_server_step(mcp_server *s, const struct pollfd *fds, int n)
{
    int rc;
    (void)fds; (void)n;
    if (!s) return MCP_ERR_ARGUMENT;
    if (s->freed) return MCP_ERR_CLOSED;
    if (s->nest >= MCPI_NEST_MAX) return mcpi_server_fail(s, MCP_ERR_MISUSE, "callbacks are nested too deep");
    if (s->status != MCP_OK) return s->status;
    s->pumps++;
    rc = mcpi_server_turn(s);
    s->pumps--;
    return mcpi_server_exit(s, rc);
}

int mcp_server_run(mcp_server *s)
{
    int rc;
    do rc = mcp_server_step(s, NULL, 0); while (rc == MCP_OK);
    return rc == MCP_ERR_CLOSED ? MCP_OK : rc;
}
#endif

int mcp_server_timeout(const mcp_server *s)
{
    const mcp_conn *c;
    int64_t at, now;
    if (!s) return -1;
    at = mcpi_slots_next(&s->timers);
    now = mcpi_server_peek_clock(s);
#ifndef MCP_NO_POSIX
    if (s->listen_fd >= 0 && s->accept_at > now && s->accept_at < at) at = s->accept_at;
    if (s->fds_left && now + MCPI_LEFT_MS < at) at = now + MCPI_LEFT_MS;
#endif
    if (mcpi_has_news(s)) return 0;
    for (c = s->conns; c; c = c->next) {
        if (c->dead) continue;
        if (s->stopping && !c->draining) return 0;
        if (c->drain_until && c->drain_until < at) at = c->drain_until;
        if (c->draining && c->drain_end < at) at = c->drain_end;
        if (!c->draining && mcpi_stream_queued(&c->st) < MCPI_QUEUE_HIGH && mcpi_stream_has_line(&c->st)) return 0;
    }
    if (mcpi_server_is_over(s)) return 0;
    if (at == MCP_NEVER) return -1;
    return at <= now ? 0 : at - now > 60000 ? 60000 : (int)(at - now);
}
#endif /* MCP_NO_SERVER */

#ifndef MCP_NO_CLIENT
/* ============================================================================================================== *
 * >>client  finding the era, requests, paging, questions, and the life of a child process                        *
 * ============================================================================================================== */
/* A client is a stream, a table of everything that has an id, and a phase. Nothing in it blocks: one turn
   takes what poll said, reads once, handles the lines that are complete, ends what is overdue, moves the
   phase on, and writes once. `wait` is a poll and a turn; `call` is turns until its request is settled.

   The phases follow the server's life. START: server/discover is asked, since a modern server answers it
   and a legacy one refuses it, says nothing, or dies of it; then initialize may follow. READY. LOST: the
   peer has gone, and its last words are awaited. FLUSH to KILL: the shutdown, each step with its deadline.
   ENDED; or PAUSE, if the server is to be started again, and then START.
   https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#backward-compatibility

   A request's text is worked out when it is sent, in parts that are era-free; what the era adds goes
   around them. So a request that waits for the handshake, or that asks for page after page, is those parts
   kept.

   Callbacks may do anything, and three rules make that safe. Before a callback what it is about has left
   its table. After a callback nothing is believed: objects are looked up again by id. And a client that
   was freed inside stays in memory until the outermost entry returns. */

#define MCPI_LAST_WORDS 4096                /* of stderr, kept for error sentences */
#define MCPI_LINGER_MS  200                 /* how long a dead server's pipes are read */
#define MCPI_KILL_MS    5000                /* SIGKILL cannot be refused, but a busy machine takes its time */
#define MCPI_CHILD_MS   100                 /* how often a child is looked at while an answer is awaited */
#define MCPI_PAUSE_MS   100                 /* before a server is started again; twice as long each time ... */
#define MCPI_PAUSE_MAX  10000               /* ... up to this ... */
#define MCPI_STEADY_MS  60000               /* ... until it has been ready for so long */
#define MCPI_AT_ONCE    INT64_MIN           /* a deadline: the next turn */

/* Methods with something special about them. The first three may answer that they need more input; the next four are
   lists, in the order of mcpi_lists. A request to listen is no request to a legacy server, and ping is another one to a
   modern server. */
static const char mcpi_client_methods[] = "tools/call\0" "prompts/get\0" "resources/read\0"
    "tools/list\0" "resources/list\0" "prompts/list\0" "resources/templates/list\0" "subscriptions/listen\0" "ping\0";
enum {
    MCPI_METHOD_READ = 2, MCPI_METHOD_LISTS = 3, MCPI_METHOD_LISTEN = MCPI_METHOD_LISTS + MCPI_KINDS, MCPI_METHOD_PING
};

typedef enum mcpi_phase {
    MCPI_PHASE_PAUSE, MCPI_PHASE_START, MCPI_PHASE_READY, MCPI_PHASE_LOST, MCPI_PHASE_FLUSH, MCPI_PHASE_EOF,
    MCPI_PHASE_TERM, MCPI_PHASE_KILL, MCPI_PHASE_ENDED
} mcpi_phase;

/* The parts of a request, each as compact JSON: the method, what is inside the braces of params and of
   params._meta, the cursor, requestState, inputResponses. The last one grows while answers come in. */
enum {
    MCPI_PART_METHOD, MCPI_PART_PARAMS, MCPI_PART_META, MCPI_PART_CURSOR, MCPI_PART_STATE, MCPI_PART_INPUT, MCPI_PARTS
};
typedef struct mcpi_parts { const char *at[MCPI_PARTS]; size_t len[MCPI_PARTS]; } mcpi_parts;

typedef enum mcpi_entry_kind {
    MCPI_ENTRY_CALL, MCPI_ENTRY_PAGE, MCPI_ENTRY_PROBE, MCPI_ENTRY_INIT, MCPI_ENTRY_ASK
} mcpi_entry_kind;

typedef struct mcpi_entry {                 /* the head of whatever has an id in a client */
    mcpi_item item;
    mcpi_entry_kind kind;
    struct mcpi_call *call;                 /* whose it is; NULL: the handshake's */
} mcpi_entry;

typedef struct mcpi_level {                 /* a blocking call at one nesting level, and its reply */
    mcp_reply reply;
    mcp_arena arena;
    bool done;
} mcpi_level;

/* A request of ours, or (ASK) a question of the server's that is open. */
typedef struct mcpi_call {
    mcpi_entry head;                        /* the user's id, and the deadline */
    mcp_id id, wire;                        /* the user's id; what an answer has to carry now, 0: nothing */
    int known;                              /* place among mcpi_client_methods, or -1 */
    int rounds;                             /* how often more input was needed; listen: requests under way */
    bool said;                              /* in the done list: text is the sentence */
    bool progress, quiet;                   /* quiet: ours, not the program's */
    bool acked;                             /* listen: it has begun */
    bool fresh, hit;                        /* not from the cache; it is in there */
    bool shown;                             /* ASK: on_ask has it, or had it */
    struct mcpi_uris *uris;                 /* a legacy subscription: its URIs */
    char *text; size_t cap, len[MCPI_PARTS];    /* the parts, if kept; ASK: see mcpi_ask_new */
    struct mcpi_call *asked, *owner;        /* the open questions of a call; ASK: whose it is, NULL: a request */
    size_t place;                           /* a request for one of a subscription's URIs: which */
    mcpi_entry page;                        /* the id of a later page's request */
    mcpi_named named;                       /* ASK, of a legacy server: its id */
    int64_t end; int idle, max;             /* the last moment of all; in milliseconds, -1: none */
    int status;                             /* in the done list: how it ended */
    unsigned changes;                       /* mcp_client.changes when it was sent */
    int log_level;                          /* 1 + place among mcpi_levels, or 0 */
    mcp_id listen;                          /* a request for a legacy subscription: what it is part of */
    unsigned needs;                         /* ASK: MCPI_CAN_... */
    const mcp_json *item;                   /* ASK: what is to be shown, while the message is there */
    mcpi_level *waiter;
    void (*on_progress)(double done, double total, const char *message, void *user);
    bool (*each)(const mcp_json *item, void *user);
    mcp_reply_fn fn;
    void *user;
#ifndef MCP_NO_VALIDATE
    const mcp_schema *output;
#endif
    int pages, lap, lap_len; uint64_t seen;     /* pages so far, and one that later ones are compared with */
    struct mcpi_call *next;                 /* in the pool, the done list, or a list of questions */
} mcpi_call;

struct mcp_client {
    int64_t now;
    int busy, nest;                         /* entries that run; user callbacks that run */
    int status, last;                       /* why it ended; why the last send failed */
    mcpi_phase phase;
    int version, era, offer;                /* negotiated; MCP_ERA_...; what initialize offers */
    int quiet;                              /* of the calls, those that are ours and not the program's */
    int live, waiting, open_asks;           /* calls; requests on the wire, of any kind; questions of a legacy server */
    int listens;                            /* of the calls, those that are subscriptions */
    bool heard, refused, offered_again, probed_again;
    bool restart;                           /* the shutdown that runs is of the server alone: it is started again */
    bool restarted;                         /* it was, since it exited when it was asked server/discover */
    bool bereft;                            /* calls of before the last crash have not been told */
    bool deaf;                              /* the server reads no more */
    bool closing;                           /* close or free was called: its end is no failure */
    bool told;                              /* on_ready was called */
    bool stop;                              /* a blocking call has its reply, in this frame: its turn ends */
    bool freed, shielded;
    int crashes;                            /* of a server that was ready once, in a row */
    int64_t timer, probe_due;
    const mcp_json *info;
    mcpi_stream st;
    mcpi_slots slots;
    mcp_writer scratch;
    mcpi_entry probe, init;
    mcp_arena arena, info_arena, fixed;     /* for one send; for info; for copies of what new was given */
    mcp_stats stats;
    int64_t start_end, ready_at;
    mcp_id before;                          /* ids up to this are of before the last crash */
    size_t ask_bytes;                       /* that open_asks hold */
    size_t replies;                         /* bytes of answers queued since the queue was last empty */
    int64_t refusal;                        /* initialize was refused with this code */
    int64_t answered;                       /* when the last question of a legacy server was over */
    unsigned can;                           /* MCPI_CAN_... */
    int log_level;                          /* that a legacy server was told; as mcpi_call.log_level */
    size_t pooled;                          /* bytes that the pool's calls hold */
    struct mcpi_kept *kept[64], *kept_new, *kept_old;      /* the cache, by hash and by age */
    size_t kept_bytes;
    unsigned changes, untold;               /* changes told by the server; bits of those to be told to the program */
    bool telling;
    mcpi_call *pool, *done, **done_end;
    const char *const *argv, *const *env;   /* these four are in `fixed` */
    const char *cwd;
    const char *meta; size_t meta_len;      /* what each modern request carries in _meta, a JSON object */
#ifndef MCP_NO_POSIX
    mcpi_child child;
    bool child_gone;                        /* it has exited; perhaps not reaped yet */
    int64_t check_at; int check_ms;
    mcpi_mailbox box;
    int err_at, box_at; bool fds_left;      /* as in a server */
    bool err_ready, box_ready;
#endif
    mcp_client_desc d;                      /* defaults filled in; its strings are used in new only */
    mcpi_map asks;                          /* questions of a legacy server that are open, by its id */
    mcpi_map uris;                          /* what legacy subscriptions have asked for */
    mcpi_level level[MCPI_NEST_MAX + 1];
    mcp_reply nested;                       /* for a call that is nested too deep */
#ifndef MCP_NO_POSIX
    char tail[MCPI_LAST_WORDS]; size_t tail_len; bool tail_cut;
    char error[MCPI_LAST_WORDS + 512];
#else
    char error[512];
#endif
};

/* What a blocked call returns when its client was freed meanwhile, and for calls that have no client. Without a
   message: a pointer in a constant would need relocation, and so writable data. */
static const mcp_reply mcpi_reply_freed  = { MCP_ERR_CLOSED, 0, NULL, 0, NULL, NULL, NULL };
static const mcp_reply mcpi_reply_nobody = { MCP_ERR_ARGUMENT, 0, NULL, 0, NULL, NULL, NULL };

/* -- telling ----------------------------------------------------------------------------------------------------- */

static void mcpi_client_log(mcp_client *c, int level, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    if (!c->d.log.fn || level > c->d.log.level) return;
    va_start(ap, fmt);
    (void)mcpi_vsay(text, sizeof text, fmt, ap);
    va_end(ap);
    c->d.log.fn(level, text, c->d.log.user);
}

static void mcpi_client_trace(mcp_client *c, const char *way, const char *line, size_t len)
{
    char text[2048 + 8];
    if (!c->d.log.fn || c->d.log.level < 3) return;
    (void)mcpi_say(text, sizeof text, "%s %.*s", way, (int)(len < 2048 ? len : 2048), line);
    c->d.log.fn(3, text, c->d.log.user);
}

/* Keeps a sentence for mcp_client_error; what ended the client is never replaced. */
static int mcpi_client_say(mcp_client *c, int status, const char *fmt, ...)
{
    va_list ap;
    c->last = status;
    if (c->status != MCP_OK) return status;
    va_start(ap, fmt);
    (void)mcpi_vsay(c->error, sizeof c->error, fmt, ap);
    va_end(ap);
    return status;
}

static int mcpi_client_say_status(mcp_client *c, int status)
{
    return mcpi_client_say(c, status, "%s", mcp_strerror(status));
}

static int64_t mcpi_client_clock(const mcp_client *c)
{
#ifndef MCP_NO_POSIX
    if (c->freed || !c->d.now_ms) return mcpi_clock_ms();   /* free must not hang on a clock that stands */
#endif
    return c->d.now_ms ? c->d.now_ms(c->d.user) : 0;
}

/* The handshake is over, or will never be. */
static void mcpi_client_tell_ready(mcp_client *c, int status)
{
    c->told = true;
    if (!c->d.on_ready) return;
    c->nest++;
    c->d.on_ready(c, status, c->d.user);
    c->nest--;
}

static void mcpi_client_tell_note(mcp_client *c, const char *method, const mcp_json *params)
{
    if (!c->d.on_notify || c->freed) return;
    c->nest++;
    c->d.on_notify(c, method, params, c->d.user);
    c->nest--;
}

static int64_t mcpi_after(int64_t now, int ms)
{
    return ms < 0 ? MCP_NEVER : now + ms;
}

/* `ms`: when the phase is over at the latest; -1: never by itself. */
static void mcpi_client_enter_phase(mcp_client *c, mcpi_phase phase, int ms)
{
    c->phase = phase;
    c->timer = mcpi_after(c->now, ms);
#ifndef MCP_NO_POSIX
    c->check_ms = 1;                        /* in a shutdown, a child is looked at often at first */
    c->check_at = c->now;
#endif
}

/* Ends the client: what is pending fails in this or the next turn, and the shutdown begins. The first
   reason holds. */
static void mcpi_client_fail(mcp_client *c, int status, const char *fmt, ...)
{
    va_list ap;
    if (c->status != MCP_OK) return;
    va_start(ap, fmt);
    (void)mcpi_vsay(c->error, sizeof c->error, fmt, ap);
    va_end(ap);
    c->status = c->last = status;
    c->restart = false;
    c->now = mcpi_client_clock(c);
    if (c->phase < MCPI_PHASE_FLUSH) mcpi_client_enter_phase(c, MCPI_PHASE_FLUSH, c->d.grace_ms);
    mcpi_client_log(c, c->closing ? 2 : 0, "%s", c->error);
}

static void mcpi_client_give_up(mcp_client *c)
{
    c->closing = true;
    mcpi_client_fail(c, MCP_ERR_CLOSED, "the client was closed");
}

static void mcpi_client_no_memory(mcp_client *c)
{
    mcpi_client_fail(c, MCP_ERR_MEMORY, "out of memory");
}

/* -- requests: the objects --------------------------------------------------------------------------------------- */
/* A call is in the table under its head's id from send to settle; the user knows that id and no other.
   Whether an answer is awaited at the moment, and under which id, is `wire`: 0 while the call waits for
   the handshake or while its items are handed out. So one look-up and one comparison tell an answer from a
   late one, a duplicate, or one that was made up. Objects come from a pool and go back to it: once warm, a
   call allocates nothing. */

/* A blank call. It keeps the buffer that it had the last time. */
static mcpi_call *mcpi_call_new(mcp_client *c, mcpi_entry_kind kind)
{
    mcpi_call *k = c->pool;
    char *text;
    size_t cap;
    if (k) c->pool = k->next;
    else if (!(k = (mcpi_call *)mcpi_zalloc(&c->d.alloc, sizeof *k))) return NULL;
    text = k->text;
    cap = k->cap;
    c->pooled -= cap;
    memset(k, 0, sizeof *k);
    k->text = text;
    k->cap = cap;
    k->head.kind = kind;
    k->page.kind = MCPI_ENTRY_PAGE;
    k->head.call = k->page.call = k;
    return k;
}

static void mcpi_uris_free(mcp_client *c, mcpi_call *k);

/* Out of the table and back into the pool, whose buffers have a bound together. */
static void mcpi_call_free(mcp_client *c, mcpi_call *k)
{
    mcpi_uris_free(c, k);
    mcpi_slots_remove(&c->slots, &k->head.item);
    mcpi_slots_remove(&c->slots, &k->page.item);
    if (k->cap > MCPI_KEEP - c->pooled) {
        mcpi_free(&c->d.alloc, k->text, k->cap);
        k->text = NULL;
        k->cap = 0;
    }
    c->pooled += k->cap;
    k->next = c->pool;
    c->pool = k;
}

/* The question of a legacy server's with this id, or NULL. */
static mcpi_call *mcpi_ask_find(mcp_client *c, const char *id, size_t n)
{
    mcpi_named *x = mcpi_map_find(&c->asks, id, n);
    return x ? (mcpi_call *)(void *)((char *)x - offsetof(mcpi_call, named)) : NULL;
}

static size_t mcpi_ask_bytes(const mcpi_call *q)
{
    return q->len[0] + q->len[1] + q->len[2];
}

/* A question is over: it leaves its call, or the map. */
static void mcpi_ask_free(mcp_client *c, mcpi_call *q)
{
    mcpi_call **at = q->owner ? &q->owner->asked : NULL;
    if (at) {
        while (*at != q) at = &(*at)->next;
        *at = q->next;
    } else {
        mcpi_map_remove(&c->asks, &q->named);
        c->open_asks--;
        c->ask_bytes -= mcpi_ask_bytes(q);
        c->answered = mcpi_client_clock(c);
    }
    mcpi_call_free(c, q);
}

/* Appends to the part that grows. */
static bool mcpi_call_add(mcp_client *c, mcpi_call *k, const char *s, size_t n)
{
    size_t i, at = 0;
    for (i = 0; i < MCPI_PARTS; i++) at += k->len[i];
    if (!mcpi_grow(&c->d.alloc, &k->text, &k->cap, at + n, 0)) return false;
    memcpy(k->text + at, s, n);
    k->len[MCPI_PART_INPUT] += n;
    return true;
}

/* No answer is awaited any more: one that comes is unknown. */
static void mcpi_call_unwire(mcp_client *c, mcpi_call *k)
{
    if (k->wire && k->known != MCPI_METHOD_LISTEN) c->waiting--;
    k->wire = 0;
}

/* The call that an answer or a progress report with this id belongs to. */
static mcpi_call *mcpi_client_find(const mcp_client *c, mcp_id id)
{
    mcpi_entry *e = (mcpi_entry *)mcpi_slots_get(&c->slots, id);
    return e && e->kind <= MCPI_ENTRY_PAGE && e->call->wire == id ? e->call : NULL;
}

static const char *mcpi_level_keep(mcpi_level *to, const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = (char *)mcp_arena_alloc(&to->arena, n);
    if (copy) memcpy(copy, text, n);
    return copy;
}

/* Gives a reply to the blocked call that waits for it. If that call is the one that reads right now, the
   reply stays where it was parsed, and the turn ends; else it moves into the call's own arena, since the
   frame it is in will be read into again. */
static void mcpi_level_take(mcp_client *c, mcpi_level *to, const mcp_reply *r, bool in_frame)
{
    mcp_reply *mine = &to->reply;
    *mine = *r;
    to->done = true;
    if (in_frame && to == &c->level[c->nest]) { c->stop = true; return; }
    mine->priv = &to->arena;
    mine->result = mcp_json_copy(&to->arena, r->result);
    mine->data = mcp_json_copy(&to->arena, r->data);
    mine->message = mcpi_level_keep(to, r->message);
    if (mine->message && !mine->result == !r->result && !mine->data == !r->data) return;
    mcpi_reply_local(mine, MCP_ERR_MEMORY);
    mine->id = r->id;
}

static void mcpi_listen_answered(mcp_client *c, mcpi_call *k, size_t place, bool agreed);

/* A request of our own has ended. */
static void mcpi_call_quiet_end(mcp_client *c, const mcpi_call *k, const mcp_reply *r)
{
    mcpi_entry *e = (mcpi_entry *)mcpi_slots_get(&c->slots, k->listen);
    if (r->status != MCP_OK)
        mcpi_client_log(c, 1, "%.*s was not done: %s", (int)k->len[MCPI_PART_METHOD], k->text, r->message);
    if (e) mcpi_listen_answered(c, e->call, k->place, r->status == MCP_OK);
}

/* Ends a call. Its object is free before anything is called, so that it cannot be settled again. in_frame:
   the reply is in the frame that is being read. */
static void mcpi_call_end(mcp_client *c, mcpi_call *k, mcp_reply *r, bool in_frame)
{
    mcp_reply_fn fn = k->fn;
    void *user = k->user;
    mcpi_level *waiter = k->waiter;
    bool quiet = k->quiet;
    c->listens -= k->known == MCPI_METHOD_LISTEN;
    r->id = k->id;
    c->quiet -= quiet;
    if (quiet) mcpi_call_quiet_end(c, k, r);
    mcpi_call_unwire(c, k);
    while (k->asked) mcpi_ask_free(c, k->asked);
    mcpi_call_free(c, k);
    c->live--;
    if (quiet) return;
    if (r->status == MCP_ERR_PEER) (void)mcpi_client_say(c, r->status, "error %l: %s", r->code, r->message);
    else if (r->status != MCP_OK) (void)mcpi_client_say(c, r->status, "%s", r->message);
    if (fn) {
        c->nest++;
        fn(r, user);
        c->nest--;
    }
    if (waiter && !c->freed) mcpi_level_take(c, waiter, r, in_frame);
}

/* A failure of our own; why: a sentence that lives until the callback has returned, or NULL for that of
   the status. */
static void mcpi_call_fail(mcp_client *c, mcpi_call *k, int status, const char *why)
{
    mcp_reply r;
    mcpi_reply_local(&r, status);
    if (why) r.message = why;
    mcpi_call_end(c, k, &r, false);
}

/* Ends a call from where no callback may run: the next turn does it. why: NULL, or a sentence, which is copied. */
static void mcpi_call_later(mcp_client *c, mcpi_call *k, int status, const char *why)
{
    size_t n = why ? strlen(why) + 1 : 0;
    mcpi_call_unwire(c, k);
    while (k->asked) mcpi_ask_free(c, k->asked);
    k->said = n && mcpi_grow(&c->d.alloc, &k->text, &k->cap, n, 0);
    if (k->said) memcpy(k->text, why, n);
    mcpi_slots_remove(&c->slots, &k->head.item);
    mcpi_slots_remove(&c->slots, &k->page.item);
    k->status = status;
    k->next = NULL;
    *c->done_end = k;
    c->done_end = &k->next;
}

/* What was put off; all of it when the client ends, else only what was there at the start. */
static void mcpi_client_settle_done(mcp_client *c)
{
    mcpi_call *k, *last = NULL;
    char why[256];
    for (k = c->done; k; k = k->next) last = k;
    while ((k = c->done) != NULL) {
        bool end = k == last;
        c->done = k->next;
        if (!c->done) c->done_end = &c->done;
        if (k->said) (void)mcpi_say(why, sizeof why, "%s", k->text);
        mcpi_call_fail(c, k, k->status, k->said ? why : NULL);
        if (end && !c->freed) return;
    }
}

/* -- requests: the text ------------------------------------------------------------------------------------------ */
/* The eras differ only in what stands around the parts. A legacy request is

     {"jsonrpc":"2.0","id":7,"method":METHOD,
      "params":{PARAMS,"cursor":CURSOR,"_meta":{"progressToken":7,META}}}

   with "inputResponses":{INPUT} and "requestState":STATE behind PARAMS when it goes on after more input was asked for,
   and in the modern era _meta begins with who we are, which revision we speak and what we can do: that is
   the same for all requests, and was written once. The progress token is the id, which is unique as long as
   the request lives. https://modelcontextprotocol.io/specification/2026-07-28/basic#meta */

static void mcpi_put_text(mcp_writer *w, const char *s)
{
    mcpi_put_bytes(w, s, strlen(s));
}

static void mcpi_put_id(mcp_writer *w, mcp_id id)
{
    char digits[24], *end = digits + sizeof digits, *p = mcpi_to_decimal(end, id);
    mcpi_put_bytes(w, p, (size_t)(end - p));
}

/* Members behind a key that is given with its punctuation. */
static void mcpi_put_part(mcp_writer *w, bool *comma, const char *key, const char *bytes, size_t n)
{
    if (!n) return;
    if (*comma) mcpi_put_text(w, ",");
    mcpi_put_text(w, key);
    mcpi_put_bytes(w, bytes, n);
    *comma = true;
}

/* Ends the message that was begun. One that cannot be written in full is not there at all. */
static int mcpi_client_end(mcp_client *c)
{
    int status = mcpi_stream_end(&c->st);
    if (status != MCP_OK) return status;
    mcpi_client_trace(c, "->", c->st.out.buf + c->st.mark, c->st.out.len - c->st.mark - 1);
    return MCP_OK;
}

/* The parts of a request of our own: the method, in quotes, and what an object has inside (NULL: nothing). */
static void mcpi_parts_init(mcpi_parts *p, const char *method, const mcp_writer *params)
{
    memset(p, 0, sizeof *p);
    p->at[MCPI_PART_METHOD] = method;
    p->len[MCPI_PART_METHOD] = strlen(method);
    if (!params) return;
    p->at[MCPI_PART_PARAMS] = params->buf + 1;
    p->len[MCPI_PART_PARAMS] = params->len - 2;
}

/* Queues a request. */
static int mcpi_client_put(mcp_client *c, mcp_id id, const mcpi_parts *p, bool modern, bool progress, int level)
{
    mcp_writer *w = mcpi_stream_begin(&c->st);
    bool meta = modern || progress || p->len[MCPI_PART_META], comma = false;
    MCPI_PUT_LITERAL(w, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcpi_put_id(w, id);
    MCPI_PUT_LITERAL(w, ",\"method\":");
    mcpi_put_bytes(w, p->at[MCPI_PART_METHOD], p->len[MCPI_PART_METHOD]);
    if (meta || p->len[MCPI_PART_PARAMS] || p->len[MCPI_PART_CURSOR]) {     /* what needs input has PARAMS */
        MCPI_PUT_LITERAL(w, ",\"params\":{");
        mcpi_put_part(w, &comma, "", p->at[MCPI_PART_PARAMS], p->len[MCPI_PART_PARAMS]);
        mcpi_put_part(w, &comma, "\"cursor\":", p->at[MCPI_PART_CURSOR], p->len[MCPI_PART_CURSOR]);
        mcpi_put_part(w, &comma, "\"inputResponses\":{", p->at[MCPI_PART_INPUT], p->len[MCPI_PART_INPUT]);
        if (p->len[MCPI_PART_INPUT]) MCPI_PUT_LITERAL(w, "}");
        mcpi_put_part(w, &comma, "\"requestState\":", p->at[MCPI_PART_STATE], p->len[MCPI_PART_STATE]);
        if (meta) {
            mcpi_put_text(w, comma ? ",\"_meta\":{" : "\"_meta\":{");
            comma = false;
            if (modern) mcpi_put_part(w, &comma, "", c->meta + 1, c->meta_len - 2);
            if (modern && level) {
                const char *name = mcpi_word_at(mcpi_levels, level - 1);
                mcpi_put_part(w, &comma, "\"io.modelcontextprotocol/logLevel\":\"", name, strlen(name));
                MCPI_PUT_LITERAL(w, "\"");
            }
            if (progress) {
                mcpi_put_text(w, comma ? ",\"progressToken\":" : "\"progressToken\":");
                mcpi_put_id(w, id);
                comma = true;
            }
            mcpi_put_part(w, &comma, "", p->at[MCPI_PART_META], p->len[MCPI_PART_META]);
            MCPI_PUT_LITERAL(w, "}");
        }
        MCPI_PUT_LITERAL(w, "}");
    }
    MCPI_PUT_LITERAL(w, "}");
    return mcpi_client_end(c);
}

/* Reads a field that has to be JSON object text; NULL leaves a sentence that says where it is wrong. */
static const mcp_json *mcpi_client_object(mcp_client *c, const char *field, const char *text)
{
    size_t pos = 0;
    const mcp_json *v = mcp_json_parse(&c->arena, text, MCP_NTS, &pos);
    if (mcp_json_type(v) == MCP_JSON_OBJECT) return v;
    if (v) (void)mcpi_client_say(c, MCP_ERR_ARGUMENT, "%s is not a JSON object", field);
    else if (pos == MCP_NTS) (void)mcpi_client_say_status(c, MCP_ERR_MEMORY);
    else (void)mcpi_client_say(c, MCP_ERR_ARGUMENT, "%s is not JSON: see its byte %z", field, pos);
    return NULL;
}

/* The same for text that is only passed on: checked by the writer, without a tree of it. */
static bool mcpi_client_raw(mcp_client *c, mcp_writer *w, const char *key, const char *field,
                            const char *text)
{
    mcpi_put_object_text(w, key, text, MCP_NTS);
    if (mcp_writer_status(w) != MCP_ERR_ARGUMENT) return true;
    (void)mcpi_client_object(c, field, text);
    return false;
}

/* A member's key, or "" if it holds a NUL: such a key is none that we know. */
static const char *mcpi_known_key(const mcp_json *v)
{
    size_t n;
    const char *key = mcp_json_keyn(v, &n);
    return strlen(key) == n ? key : "";
}

/* Keys of _meta that are the library's in every request. A progressToken of the user's could be the id of
   another call. */
static bool mcpi_is_our_meta(const char *key, bool level)
{
    static const char prefix[] = "io.modelcontextprotocol/";
    if (strcmp(key, "progressToken") == 0) return true;
    if (strncmp(key, prefix, sizeof prefix - 1) != 0) return false;
    key += sizeof prefix - 1;
    return mcpi_word_of("protocolVersion\0clientInfo\0clientCapabilities\0", key) >= 0
        || (level && strcmp(key, "logLevel") == 0);
}

/* The user's part of _meta; what `over` has too is left to it. */
static void mcpi_put_meta(mcp_writer *w, const mcp_json *meta, const mcp_json *over, bool level)
{
    const mcp_json *v;
    for (v = mcp_json_first(meta); v; v = mcp_json_next(v)) {
        size_t n;
        const char *key = mcp_json_keyn(v, &n);
        if (!mcpi_is_our_meta(mcpi_known_key(v), level) && !mcp_json_getn(over, key, n)) mcp_put_json(w, key, v);
    }
}

static const char *mcpi_call_method(const mcp_call *call)
{
    return call->method ? call->method : call->tool ? "tools/call" : call->complete ? "completion/complete"
         : call->prompt ? "prompts/get" : "resources/read";
}

/* What is wrong with the fields of a call, as a sentence, or NULL. */
static const char *mcpi_call_fault(const mcp_call *call)
{
    int named = !!call->tool + !!call->prompt + !!call->uri + !!call->method;
    if (named != 1) return "a call needs exactly one of tool, prompt, uri and method";
    if (call->params && !call->method) return "params belongs to method";
    if (call->complete && !call->prompt && !call->uri) return "complete belongs to prompt or uri";
    if (call->args && !call->tool && !call->prompt && !call->complete)
        return "args belongs to tool, prompt or complete";
    if (call->log_level && mcpi_word_of(mcpi_levels, call->log_level) < 0) return "there is no such log_level";
    return NULL;
}

/* The members of params that follow from tool, prompt, uri and complete. False: args is wrong. */
static bool mcpi_put_call(mcp_client *c, mcp_writer *w, const mcp_call *call)
{
    const char *args = call->args ? call->args : call->tool ? "{}" : NULL, *key = call->uri ? "uri" : "name";
    const char *name = call->tool ? call->tool : call->prompt ? call->prompt : call->uri;
    if (!call->complete) {
        mcp_put_str(w, key, name);
        return !args || mcpi_client_raw(c, w, "arguments", "args", args);
    }
    mcp_put_object(w, "ref");
    mcp_put_str(w, "type", call->prompt ? "ref/prompt" : "ref/resource");
    mcp_put_str(w, key, name);
    mcp_put_end(w);
    mcp_put_object(w, "argument");
    mcp_put_str(w, "name", call->complete);
    mcp_put_str(w, "value", call->value ? call->value : "");
    mcp_put_end(w);
    if (!args) return true;
    mcp_put_object(w, "context");
    if (!mcpi_client_raw(c, w, "arguments", "args", args)) return false;
    mcp_put_end(w);
    return true;
}

/* The members of params that the program gave, without what is the library's or has a place of its own. The cursor of a
   list that is walked, or NULL. */
static const mcp_json *mcpi_put_params(mcp_writer *w, const mcp_call *call, const mcp_json *params)
{
    const mcp_json *v, *cursor = NULL;
    for (v = mcp_json_first(params); v; v = mcp_json_next(v)) {
        const char *key = mcpi_known_key(v);
        if (call->each && strcmp(key, "cursor") == 0) cursor = v;
        else if (mcpi_word_of("_meta\0inputResponses\0requestState\0", key) < 0) mcp_put_json(w, mcp_json_key(v), v);
    }
    if (call->method && strcmp(call->method, "tools/call") == 0 && !mcp_json_get(params, "arguments")) {
        mcp_put_object(w, "arguments");
        mcp_put_end(w);
    }
    return cursor;
}

/* Writes into scratch what a call asks for, as ["method",{params},{_meta},cursor], and finds the parts in
   it. MCP_OK, or a status with its sentence. */
static int mcpi_client_compose(mcp_client *c, const mcp_call *call, mcpi_parts *p)
{
    mcp_writer *w = &c->scratch;
    const mcp_json *params = NULL, *meta = NULL, *cursor;
    const char *fault = mcpi_call_fault(call);
    size_t end[MCPI_PARTS], i;
    if (fault) return mcpi_client_say(c, MCP_ERR_ARGUMENT, "%s", fault);
    if (call->params && !(params = mcpi_client_object(c, "params", call->params))) return c->last;
    if (call->meta && !(meta = mcpi_client_object(c, "meta", call->meta))) return c->last;
    mcp_put_array(w, NULL);
    mcp_put_str(w, NULL, mcpi_call_method(call));
    end[MCPI_PART_METHOD] = w->len;
    mcp_put_object(w, NULL);
    if (!call->method && !mcpi_put_call(c, w, call)) return c->last;
    cursor = mcpi_put_params(w, call, params);
    mcp_put_end(w);
    end[MCPI_PART_PARAMS] = w->len;
    if (params || meta) {
        mcp_put_object(w, NULL);
        mcpi_put_meta(w, mcp_json_get(params, "_meta"), meta, call->log_level != NULL);
        mcpi_put_meta(w, meta, NULL, call->log_level != NULL);
        mcp_put_end(w);
    } else MCPI_PUT_LITERAL(w, ",{}");
    end[MCPI_PART_META] = w->len;
    if (cursor) mcpi_put_lexeme(w, NULL, cursor);
    end[MCPI_PART_CURSOR] = w->len;
    mcp_put_end(w);
    if (mcp_writer_status(w) != MCP_OK) return mcpi_client_say_status(c, mcp_writer_status(w));
    memset(p, 0, sizeof *p);
    p->at[MCPI_PART_METHOD] = w->buf + 1;
    p->len[MCPI_PART_METHOD] = end[MCPI_PART_METHOD] - 1;
    for (i = MCPI_PART_PARAMS; i <= MCPI_PART_META; i++) {  /* without the comma and the braces */
        p->at[i] = w->buf + end[i - 1] + 2;
        p->len[i] = end[i] - end[i - 1] - 3;
    }
    if (!cursor) return MCP_OK;
    p->at[MCPI_PART_CURSOR] = w->buf + end[MCPI_PART_META] + 1;
    p->len[MCPI_PART_CURSOR] = end[MCPI_PART_CURSOR] - end[MCPI_PART_META] - 1;
    return MCP_OK;
}

/* scratch and arena, empty. They keep what they have for the next call, but not an outlier. */
static void mcpi_client_clear(mcp_client *c)
{
    mcp_writer_reset(&c->scratch);
    if (c->scratch.cap > MCPI_KEEP) mcp_writer_free(&c->scratch);
    mcp_arena_reset(&c->arena);
    if (c->arena.total > MCPI_KEEP) mcp_arena_free(&c->arena);
}

/* A value as text in scratch, numbers as they came. NULL: no memory. */
static const char *mcpi_client_text(mcp_client *c, const mcp_json *v, size_t *n)
{
    mcpi_client_clear(c);
    mcpi_put_lexeme(&c->scratch, NULL, v);
    return mcp_writer_text(&c->scratch, n);
}

/* Keeps the parts for later: they are sent when the client is ready, or again for each page. */
static bool mcpi_call_keep(mcp_client *c, mcpi_call *k, const mcpi_parts *p)
{
    size_t i, n = 0;
    for (i = 0; i < MCPI_PARTS; i++) n += p->len[i];
    if (!mcpi_grow(&c->d.alloc, &k->text, &k->cap, n, 0)) return false;
    for (i = 0, n = 0; i < MCPI_PARTS; n += k->len[i++]) {
        if (p->len[i]) memcpy(k->text + n, p->at[i], p->len[i]);
        k->len[i] = p->len[i];
    }
    return true;
}

static void mcpi_call_parts(const mcpi_call *k, mcpi_parts *p)
{
    size_t i, n = 0;
    for (i = 0; i < MCPI_PARTS; n += k->len[i++]) {
        p->at[i] = k->text + n;
        p->len[i] = k->len[i];
    }
}

/* Makes a value (NULL: nothing) one of the parts that are kept. Those behind it were of an earlier round, and go. */
static int mcpi_call_set(mcp_client *c, mcpi_call *k, int part, const mcp_json *v)
{
    const char *s;
    size_t n, at = 0;
    int i;
    for (i = 0; i < part; i++) at += k->len[i];
    for (; i < MCPI_PARTS; i++) k->len[i] = 0;
    if (!v) return MCP_OK;
    s = mcpi_client_text(c, v, &n);
    if (!s || !mcpi_grow(&c->d.alloc, &k->text, &k->cap, at + n, 0)) return MCP_ERR_MEMORY;
    memcpy(k->text + at, s, n);
    k->len[part] = n;
    return MCP_OK;
}

/* -- kept results ------------------------------------------------------------------------------------------------ */
/* Lists and resources come with the time for which they may be kept. If the program has given room for that, a request
   for one is answered with what is there, in the next turn and not before. The key is the method and the params, cursor
   included, without _meta; a client has one server and one identity, so the scope makes no difference here. A change
   that is told drops what it concerns, and so does an error in the middle of a list. What was asked for before a change
   and answered after it is not kept, nor what came after more input. When there is no room the oldest goes.
   https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/caching */

typedef struct mcpi_kept {
    struct mcpi_kept *next;                 /* of the same hash */
    struct mcpi_kept *newer, *older;
    size_t chain;
    int64_t until;
    int known;                              /* place among mcpi_client_methods */
    size_t params, cursor, len;             /* bytes of the two parts and of the result, which stand behind this */
} mcpi_kept;

static char *mcpi_kept_text(mcpi_kept *e)
{
    return (char *)(e + 1);
}

static size_t mcpi_kept_size(const mcpi_kept *e)
{
    return sizeof *e + e->params + e->cursor + e->len;
}

/* Is this a request whose result can be kept? */
static bool mcpi_call_is_kept(const mcp_client *c, const mcpi_call *k)
{
    return c->d.cache_bytes && k->known >= MCPI_METHOD_READ && k->known < MCPI_METHOD_LISTEN;
}

static size_t mcpi_kept_chain(int known, const mcpi_parts *p)
{
    uint32_t h = mcpi_hash(p->at[MCPI_PART_PARAMS], p->len[MCPI_PART_PARAMS]);
    return (h ^ (mcpi_hash(p->at[MCPI_PART_CURSOR], p->len[MCPI_PART_CURSOR]) >> 3) ^ (unsigned)known) & 63;
}

static mcpi_kept **mcpi_kept_find(mcp_client *c, int known, const mcpi_parts *p)
{
    size_t params = p->len[MCPI_PART_PARAMS], cursor = p->len[MCPI_PART_CURSOR];
    mcpi_kept **at = &c->kept[mcpi_kept_chain(known, p)];
    for (; *at; at = &(*at)->next) {
        const char *s = mcpi_kept_text(*at);
        if ((*at)->known != known || (*at)->params != params || (*at)->cursor != cursor) continue;
        if ((!params || memcmp(s, p->at[MCPI_PART_PARAMS], params) == 0)
            && (!cursor || memcmp(s + params, p->at[MCPI_PART_CURSOR], cursor) == 0)) break;
    }
    return at;
}

static void mcpi_kept_drop(mcp_client *c, mcpi_kept **at)
{
    mcpi_kept *e = *at;
    *at = e->next;
    if (e->newer) e->newer->older = e->older; else c->kept_new = e->older;
    if (e->older) e->older->newer = e->newer; else c->kept_old = e->newer;
    c->kept_bytes -= mcpi_kept_size(e);
    mcpi_free(&c->d.alloc, e, mcpi_kept_size(e));
}

static void mcpi_kept_evict(mcp_client *c, mcpi_kept *e)
{
    mcpi_kept **at = &c->kept[e->chain];
    while (*at != e) at = &(*at)->next;
    mcpi_kept_drop(c, at);
}

static bool mcpi_has_word(const char *s, size_t n, const char *word)
{
    size_t k = strlen(word);
    const char *end = s + n;
    for (; (size_t)(end - s) >= k; s++) {
        s = (const char *)memchr(s, word[0], (size_t)(end - s) - k + 1);
        if (!s) return false;
        if (memcmp(s, word, k) == 0) return true;
    }
    return false;
}

/* Drops what a method gave; word: only where it is in the params. */
static void mcpi_kept_forget(mcp_client *c, int known, const char *word)
{
    mcpi_kept *e, *older;
    for (e = c->kept_new; e; e = older) {
        older = e->older;
        if (e->known == known && (!word || mcpi_has_word(mcpi_kept_text(e), e->params, word))) mcpi_kept_evict(c, e);
    }
}

/* Keeps a result, if it says so. Without memory it is not kept. */
static void mcpi_kept_add(mcp_client *c, const mcpi_call *k, const mcp_json *result)
{
    int64_t ttl = mcp_json_int(mcp_json_get(result, "ttlMs"), 0);
    mcpi_kept *e, **at;
    mcpi_parts p;
    size_t n, size;
    const char *s;
    char *to;
    if (!mcpi_call_is_kept(c, k) || ttl <= 0 || k->rounds || k->changes != c->changes) return;
    mcpi_call_parts(k, &p);
    at = mcpi_kept_find(c, k->known, &p);
    if (*at) mcpi_kept_drop(c, at);
    s = mcpi_client_text(c, result, &n);
    size = sizeof *e + p.len[MCPI_PART_PARAMS] + p.len[MCPI_PART_CURSOR] + n;
    if (!s || size > c->d.cache_bytes || !(e = (mcpi_kept *)mcpi_alloc(&c->d.alloc, size))) return;
    while (c->kept_bytes + size > c->d.cache_bytes) mcpi_kept_evict(c, c->kept_old);
    e->chain = mcpi_kept_chain(k->known, &p);
    e->next = c->kept[e->chain];
    e->newer = NULL;
    e->older = c->kept_new;
    if (e->older) e->older->newer = e; else c->kept_old = e;
    e->until = ttl < MCP_NEVER - c->now ? c->now + ttl : MCP_NEVER;
    e->known = k->known;
    e->params = p.len[MCPI_PART_PARAMS];
    e->cursor = p.len[MCPI_PART_CURSOR];
    e->len = n;
    to = mcpi_kept_text(e);
    if (e->params) memcpy(to, p.at[MCPI_PART_PARAMS], e->params);
    if (e->cursor) memcpy(to + e->params, p.at[MCPI_PART_CURSOR], e->cursor);
    memcpy(to + e->params + e->cursor, s, n);
    c->kept[e->chain] = c->kept_new = e;
    c->kept_bytes += size;
}

/* A change was told (its place among mcpi_changes). */
static void mcpi_kept_change(mcp_client *c, int change, const mcp_json *params)
{
    const char *uri;
    c->changes++;
    if (change != MCPI_UPDATED) mcpi_kept_forget(c, MCPI_METHOD_LISTS + change - MCPI_CHANGED, NULL);
    if (change == MCPI_CHANGED + (int)MCPI_RESOURCES) mcpi_kept_forget(c, MCPI_METHOD_LISTS + (int)MCPI_TEMPLATES, NULL);
    if (change != MCPI_UPDATED) return;
    uri = mcpi_client_text(c, mcp_json_get(params, "uri"), NULL);
    mcpi_kept_forget(c, MCPI_METHOD_READ, uri);         /* without memory for the URI, all of them */
}

/* -- requests: sending ------------------------------------------------------------------------------------------- */

/* Starts the idle time anew. It never goes past the end of all. */
static void mcpi_call_touch(mcp_client *c, mcpi_call *k, int64_t now)
{
    int64_t at = mcpi_after(now, k->idle);
    mcpi_slots_deadline(&c->slots, &k->head.item, at < k->end ? at : k->end);
}

static int mcpi_client_quiet(mcp_client *c, const char *method, const char *key, const char *value, size_t n,
                             const mcpi_call *listen);
static int mcpi_listen_start(mcp_client *c, mcpi_call *k);

/* Puts a call on the wire. Its time starts now: waiting for the handshake has a limit of its own. */
static int mcpi_call_start(mcp_client *c, mcpi_call *k, const mcpi_parts *parts)
{
    static const char discover[] = "\"server/discover\"";
    int64_t now = mcpi_client_clock(c);
    mcp_id id = k->page.item.id ? k->page.item.id : k->head.item.id;
    bool modern = c->era == MCP_ERA_MODERN;
    mcpi_parts p = *parts;
    int status = MCP_OK;
    if (k->known == MCPI_METHOD_LISTEN && !modern) return mcpi_listen_start(c, k);
    if (!k->end) k->end = mcpi_after(now, k->max);
    k->changes = c->changes;
    if (!k->fresh && !k->rounds && mcpi_call_is_kept(c, k)) {
        mcpi_kept *e = *mcpi_kept_find(c, k->known, &p);
        k->hit = e && e->until > now;
        if (k->hit) { mcpi_slots_deadline(&c->slots, &k->head.item, MCPI_AT_ONCE); return MCP_OK; }
    }
    if (k->known == MCPI_METHOD_PING && modern) {           /* it has no ping; every server answers this instead */
        p.at[MCPI_PART_METHOD] = discover;
        p.len[MCPI_PART_METHOD] = sizeof discover - 1;
    }
    if (k->log_level && !modern && k->log_level != c->log_level && mcp_json_at(c->info, "/capabilities/logging")) {
        const char *level = mcpi_word_at(mcpi_levels, k->log_level - 1);
        status = mcpi_client_quiet(c, "\"logging/setLevel\"", "level", level, strlen(level), NULL);
        if (status == MCP_OK) c->log_level = k->log_level;
    }
    if (status == MCP_OK) status = mcpi_client_put(c, id, &p, modern, k->progress, k->log_level);
    if (status != MCP_OK) return status;
#ifndef MCP_NO_POSIX
    if (c->waiting == 0) c->check_at = now + MCPI_CHILD_MS;
#endif
    k->wire = id;
    if (k->known != MCPI_METHOD_LISTEN) c->waiting++;
    mcpi_call_touch(c, k, now);
    return MCP_OK;
}

/* The server does not read: nothing more is kept for it. */
static bool mcpi_client_is_full(mcp_client *c)
{
    if (mcpi_stream_queued(&c->st) <= c->d.max_queue) return false;
    (void)mcpi_client_say(c, MCP_ERR_LIMIT, "the server does not read: %z bytes wait for it",
                          mcpi_stream_queued(&c->st));
    return true;
}

/* The same request again, with the parts as they are now, under a new id. A server can have as many of these as it
   likes, by answers to what it has not read. */
static int mcpi_call_again(mcp_client *c, mcpi_call *k)
{
    mcpi_parts p;
    int status;
    if (mcpi_client_is_full(c)) return MCP_ERR_LIMIT;
    mcpi_slots_remove(&c->slots, &k->page.item);
    status = mcpi_slots_add(&c->slots, &k->page.item, MCP_NEVER);
    if (status != MCP_OK) return status;
    mcpi_call_parts(k, &p);
    return mcpi_call_start(c, k, &p);
}

/* Will the parts be needed again? For the next page, or for the next round with more input. */
static bool mcpi_call_goes_on(const mcp_client *c, const mcpi_call *k)
{
    if (c->phase != MCPI_PHASE_READY || k->each || k->known == MCPI_METHOD_LISTEN) return true;
    if (mcpi_call_is_kept(c, k)) return true;
    return k->known >= 0 && k->known < MCPI_METHOD_LISTS && (c->era == MCP_ERA_MODERN || c->can & MCPI_CAN_URL);
}

/* A call, from the user's struct to the wire or to the waiting room. Nothing is left behind when it fails. */
static mcp_id mcpi_client_send(mcp_client *c, const mcp_call *call, mcpi_level *waiter)
{
    bool ready = c->phase == MCPI_PHASE_READY;
    mcpi_parts p;
    mcpi_call *k;
    int status;
    if (c->status != MCP_OK) { c->last = c->status; return 0; }
    if (!call) { (void)mcpi_client_say(c, MCP_ERR_ARGUMENT, "there is no call"); return 0; }
    if (mcpi_client_is_full(c)) return 0;
    if (c->live - c->quiet >= c->d.max_pending) {
        (void)mcpi_client_say(c, MCP_ERR_LIMIT, "%d requests are pending already", c->live - c->quiet);
        return 0;
    }
    mcpi_client_clear(c);
    if (mcpi_client_compose(c, call, &p) != MCP_OK) return 0;
    k = mcpi_call_new(c, MCPI_ENTRY_CALL);
    if (!k) { (void)mcpi_client_say_status(c, MCP_ERR_MEMORY); return 0; }
    k->idle = call->timeout_ms ? call->timeout_ms : c->d.timeout_ms;
    k->max = call->max_ms ? call->max_ms : c->d.max_ms;
    k->progress = call->progress || call->on_progress;
    k->fresh = call->fresh;
    k->known = mcpi_word_of(mcpi_client_methods, mcpi_call_method(call));
    k->log_level = call->log_level ? 1 + mcpi_word_of(mcpi_levels, call->log_level) : 0;
    k->waiter = waiter;
#ifndef MCP_NO_VALIDATE
    k->output = call->tool ? call->output : NULL;
#endif
    k->on_progress = call->on_progress;
    k->each = call->each;
    k->fn = call->fn;
    k->user = call->user;
    status = mcpi_slots_add(&c->slots, &k->head.item, MCP_NEVER);
    k->id = k->head.item.id;
    if (status == MCP_OK && mcpi_call_goes_on(c, k) && !mcpi_call_keep(c, k, &p)) status = MCP_ERR_MEMORY;
    if (status == MCP_OK && ready) status = mcpi_call_start(c, k, &p);
    if (status == MCP_OK) {
        c->live++;
        c->listens += k->known == MCPI_METHOD_LISTEN;
        return k->id;
    }
    mcpi_call_free(c, k);
    (void)mcpi_client_say_status(c, status);
    return 0;
}

/* Tells the server that nobody waits for this any more. Never for the handshake. */
static void mcpi_client_cancelled(mcp_client *c, mcp_id wire, const char *reason)
{
    mcp_writer *w;
    if (!wire || c->phase != MCPI_PHASE_READY) return;
    w = mcpi_note_begin(&c->st, "notifications/cancelled");
    mcp_put_uint(w, "requestId", wire);
    if (reason) mcp_put_str(w, "reason", reason);
    mcp_put_end(w);
    mcp_put_end(w);
    (void)mcpi_client_end(c);
}

/* -- subscriptions ----------------------------------------------------------------------------------------------- */
/* In the modern era a subscription is a request that stays open. A legacy session tells all changes of its lists, and
   those of a resource after resources/subscribe. There the call that stands for a subscription is never on the wire: it
   sends a request for each URI, some at a time, and begins when all are answered. Subscriptions can share URIs: each is
   in the client's map with the number of its users, and the last one gives it back. A server that is started again gets
   what waits for the handshake, so subscriptions too.
   https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
   https://modelcontextprotocol.io/specification/2025-11-25/server/resources#subscriptions */

#define MCPI_LISTEN_ONCE 64                 /* requests for one subscription that are not answered yet */

typedef struct mcpi_uri { mcpi_named named; size_t users; } mcpi_uri;   /* its text stands behind it */
typedef struct mcpi_uris {
    size_t count, next;                     /* before `next` all have been asked for */
    mcpi_uri *at[1];                        /* NULL: the server does not want to */
} mcpi_uris;

/* A request of our own to a legacy server, with one string in its params. The method is in quotes; the string is
   written as JSON. listen: whose next URI that is, or NULL. MCP_OK or a status. */
static int mcpi_client_quiet(mcp_client *c, const char *method, const char *key, const char *value, size_t n,
                             const mcpi_call *listen)
{
    mcpi_call *k = mcpi_call_new(c, MCPI_ENTRY_CALL);
    mcpi_parts p;
    mcp_writer w;
    int status = MCP_ERR_MEMORY;
    if (!k) return status;
    k->idle = k->max = c->d.timeout_ms;
    k->known = -1;
    k->quiet = true;
    k->listen = listen ? listen->id : 0;
    k->place = listen ? listen->uris->next : 0;
    mcp_writer_init(&w, &c->d.alloc, 0);
    mcp_put_object(&w, NULL);
    mcp_put_strn(&w, key, value, n);
    mcp_put_end(&w);
    if (mcp_writer_status(&w) == MCP_OK) {
        mcpi_parts_init(&p, method, &w);
        status = mcpi_slots_add(&c->slots, &k->head.item, MCP_NEVER);
        k->id = k->head.item.id;
        if (status == MCP_OK && !mcpi_call_keep(c, k, &p)) status = MCP_ERR_MEMORY;
        if (status == MCP_OK) status = mcpi_call_start(c, k, &p);
    }
    mcp_writer_free(&w);
    if (status == MCP_OK) { c->live++; c->quiet++; }
    else mcpi_call_free(c, k);
    return status;
}

/* What a subscription asks for, parsed into the arena. NULL: no memory. */
static const mcp_json *mcpi_listen_filter(const mcpi_call *k, mcp_arena *a)
{
    size_t n = k->len[MCPI_PART_PARAMS];
    char *text = (char *)mcp_arena_alloc(a, n + 2);
    if (!text) return NULL;
    text[0] = '{';
    memcpy(text + 1, k->text + k->len[MCPI_PART_METHOD], n);
    text[n + 1] = '}';
    return mcp_json_get(mcp_json_parse_inplace(a, text, n + 2, NULL), "notifications");
}

static bool mcpi_can_subscribe(const mcp_client *c)
{
    return mcp_json_bool(mcp_json_at(c->info, "/capabilities/resources/subscribe"), false);
}

/* One more user of a URI. NULL: no memory. */
static mcpi_uri *mcpi_uri_use(mcp_client *c, const char *s, size_t n)
{
    mcpi_uri *u = (mcpi_uri *)(void *)mcpi_map_find(&c->uris, s, n);
    if (!u) {
        u = (mcpi_uri *)mcpi_zalloc(&c->d.alloc, sizeof *u + n + 1);
        if (!u) return NULL;
        memcpy(u + 1, s, n);
        u->named.name = (const char *)(u + 1);
        u->named.len = n;
        if (!mcpi_map_add(&c->d.alloc, &c->uris, &u->named)) {
            mcpi_free(&c->d.alloc, u, sizeof *u + n + 1);
            return NULL;
        }
    }
    u->users++;
    return u;
}

static void mcpi_uri_leave(mcp_client *c, mcpi_uri *u)
{
    if (!u || --u->users) return;
    mcpi_map_remove(&c->uris, &u->named);
    mcpi_free(&c->d.alloc, u, sizeof *u + u->named.len + 1);
}

static size_t mcpi_uris_size(size_t count)
{
    return sizeof(mcpi_uris) + count * sizeof(mcpi_uri *);
}

static void mcpi_uris_free(mcp_client *c, mcpi_call *k)
{
    size_t i;
    if (!k->uris) return;
    for (i = 0; i < k->uris->count; i++) mcpi_uri_leave(c, k->uris->at[i]);
    mcpi_free(&c->d.alloc, k->uris, mcpi_uris_size(k->uris->count));
    k->uris = NULL;
}

/* Asks for the next URIs, or sees that all have been answered. MCP_OK or a status. */
static int mcpi_listen_more(mcp_client *c, mcpi_call *k)
{
    mcpi_uris *l = k->uris;
    for (; l && l->next < l->count && k->rounds < MCPI_LISTEN_ONCE; l->next++, k->rounds++) {
        const mcpi_uri *u = l->at[l->next];
        int status = mcpi_client_quiet(c, "\"resources/subscribe\"", "uri", u->named.name, u->named.len, k);
        if (status != MCP_OK) return status;
    }
    if (!k->rounds) mcpi_slots_deadline(&c->slots, &k->head.item, MCPI_AT_ONCE);
    return MCP_OK;
}

static int mcpi_listen_start(mcp_client *c, mcpi_call *k)
{
    mcp_arena a;
    const mcp_json *filter, *list, *uri;
    int status = MCP_OK;
    mcp_arena_init(&a, &c->d.alloc, 0);
    filter = mcpi_listen_filter(k, &a);
    list = mcp_json_get(filter, "resourceSubscriptions");
    k->end = MCP_NEVER;
    if (filter && mcp_json_size(list) && mcpi_can_subscribe(c))
        k->uris = (mcpi_uris *)mcpi_zalloc(&c->d.alloc, mcpi_uris_size(mcp_json_size(list)));
    if (!filter || (mcp_json_size(list) && mcpi_can_subscribe(c) && !k->uris)) status = MCP_ERR_MEMORY;
    if (k->uris) {
        k->uris->count = mcp_json_size(list);
        for (uri = mcp_json_first(list); uri && status == MCP_OK; uri = mcp_json_next(uri)) {
            size_t n = 0;
            const char *s = mcp_json_text(uri, &n);
            mcpi_uri *u = mcpi_uri_use(c, s ? s : "", n);
            if (!u) status = MCP_ERR_MEMORY;
            k->uris->at[k->uris->next++] = u;
        }
        k->uris->next = 0;
    }
    mcp_arena_free(&a);
    return status == MCP_OK ? mcpi_listen_more(c, k) : status;
}

/* One URI was agreed to, or not. */
static void mcpi_listen_answered(mcp_client *c, mcpi_call *k, size_t place, bool agreed)
{
    int status = MCP_OK;
    k->rounds--;
    if (!agreed) {
        mcpi_uri_leave(c, k->uris->at[place]);
        k->uris->at[place] = NULL;
    }
    if (c->phase == MCPI_PHASE_READY && c->status == MCP_OK) status = mcpi_listen_more(c, k);
    if (status != MCP_OK) mcpi_call_later(c, k, status, NULL);
}

/* A legacy subscription has begun: on_notify hears of it as it would in the modern era. */
static void mcpi_listen_begun(mcp_client *c, mcpi_call *k)
{
    static const char pointers[] =
        "/capabilities/tools/listChanged\0/capabilities/resources/listChanged\0/capabilities/prompts/listChanged\0";
    mcp_arena a;
    mcp_writer w;
    const mcp_json *filter, *params;
    size_t i;
    mcp_arena_init(&a, &c->d.alloc, 0);
    mcp_writer_init(&w, &c->d.alloc, 0);
    mcpi_slots_deadline(&c->slots, &k->head.item, MCP_NEVER);
    filter = mcpi_listen_filter(k, &a);
    mcp_put_object(&w, NULL);
    mcp_put_object(&w, "_meta");
    mcp_put_uint(&w, "io.modelcontextprotocol/subscriptionId", k->id);
    mcp_put_end(&w);
    mcp_put_object(&w, "notifications");
    for (i = 0; i < 3; i++) {
        const char *list = mcpi_word_at(mcpi_filter_flags, (int)i);
        if (mcp_json_bool(mcp_json_get(filter, list), false)
            && mcp_json_bool(mcp_json_at(c->info, mcpi_word_at(pointers, (int)i)), false))
            mcp_put_bool(&w, list, true);
    }
    if (k->uris) {
        mcp_put_array(&w, "resourceSubscriptions");
        for (i = 0; i < k->uris->count; i++) {
            const mcpi_uri *u = k->uris->at[i];
            if (u) mcp_put_strn(&w, NULL, u->named.name, u->named.len);
        }
        mcp_put_end(&w);
    }
    mcp_put_end(&w);
    mcp_put_end(&w);
    params = mcp_writer_text(&w, NULL) ? mcp_json_parse(&a, w.buf, w.len, NULL) : NULL;
    if (!filter || !params) mcpi_call_later(c, k, MCP_ERR_MEMORY, NULL);
    else if (c->d.on_notify) {
        c->nest++;
        c->d.on_notify(c, mcpi_changes, params, c->d.user);
        c->nest--;
    }
    mcp_writer_free(&w);
    mcp_arena_free(&a);
}

/* A legacy subscription is cancelled: what it alone has asked for is given back. */
static void mcpi_listen_stop(mcp_client *c, mcpi_call *k)
{
    size_t i;
    for (i = 0; c->phase == MCPI_PHASE_READY && k->uris && i < k->uris->next; i++) {
        const mcpi_uri *u = k->uris->at[i];
        if (u && u->users == 1)
            (void)mcpi_client_quiet(c, "\"resources/unsubscribe\"", "uri", u->named.name, u->named.len, NULL);
        mcpi_uri_leave(c, k->uris->at[i]);
        k->uris->at[i] = NULL;
    }
    mcpi_uris_free(c, k);
}

static void mcpi_call_answer(mcp_client *c, mcpi_call *k, const mcp_msg *m, mcp_arena *a, bool in_frame);

/* Answers from the cache. What went away meanwhile is asked for after all. */
static void mcpi_call_hit(mcp_client *c, mcpi_call *k)
{
    mcp_arena a;
    mcp_msg m;
    mcpi_parts p;
    mcpi_kept *e;
    int status = MCP_OK;
    memset(&m, 0, sizeof m);
    mcp_arena_init(&a, &c->d.alloc, 0);
    mcpi_call_parts(k, &p);
    e = *mcpi_kept_find(c, k->known, &p);
    if (e) m.result = mcp_json_parse(&a, mcpi_kept_text(e) + e->params + e->cursor, e->len, NULL);
    m.kind = MCP_MSG_RESULT;
    k->hit = false;
    if (m.result) mcpi_call_answer(c, k, &m, &a, false);
    else {
        bool fresh = k->fresh;
        k->fresh = true;
        status = mcpi_call_start(c, k, &p);
        k->fresh = fresh;
    }
    if (status != MCP_OK) mcpi_call_fail(c, k, status, NULL);
    mcp_arena_free(&a);
}

/* The server may still be at it: it is told that nobody waits. The connection is fine, and so is the next
   call. But while a legacy server waits for an answer of ours, its silence is our doing. */
static void mcpi_call_overdue(mcp_client *c, mcpi_call *k)
{
    char why[64];
    int64_t since = c->open_asks ? c->now : c->answered;
    if (k->known == MCPI_METHOD_LISTEN && c->era == MCP_ERA_LEGACY) { mcpi_listen_begun(c, k); return; }
    if (k->hit) { mcpi_call_hit(c, k); return; }
    if (k->end > c->now && mcpi_after(since, k->idle) > c->now) { mcpi_call_touch(c, k, since); return; }
    if (k->end <= c->now) (void)mcpi_say(why, sizeof why, "not done within %d ms in all", k->max);
    else (void)mcpi_say(why, sizeof why, "no answer within %d ms", k->idle);
    c->stats.timeouts++;
    mcpi_client_cancelled(c, k->wire, why);
    mcpi_call_fail(c, k, MCP_ERR_TIMEOUT, why);
}

/* -- forms ------------------------------------------------------------------------------------------------------- */

static bool mcpi_form_requires(const mcp_json *required, const char *key)
{
    const mcp_json *i;
    for (i = mcp_json_first(required); i; i = mcp_json_next(i))
        if (mcpi_is(i, key)) return true;
    return false;
}

/* Writes the members of a form: what the program gave, then the defaults of what it left out. A sentence in `why`, and
   false, if that is not what was asked for. */
static bool mcpi_put_form(mcp_writer *w, const mcp_json *schema, const mcp_json *content, char *why, size_t cap)
{
    const mcp_json *v, *field, *required = mcp_json_get(schema, "required");
    const char *alien = NULL, *name = "";
    uint64_t work = 0;
    if (content && mcp_json_type(content) != MCP_JSON_OBJECT) {
        (void)mcpi_say(why, cap, "content is not an object");
        return false;
    }
    for (v = mcp_json_first(content); v; v = mcp_json_next(v)) mcp_put_json(w, mcp_json_key(v), v);
    for (field = mcp_json_first(mcp_json_get(schema, "properties")); field; field = mcp_json_next(field)) {
        const char *key = mcp_json_key(field), *fault = NULL;
        const mcp_json *fallback = mcp_json_get(field, "default");
        v = mcp_json_get(content, key);
        work += mcp_json_size(required) + mcpi_field_work(field, v ? v : fallback);
        if (work > MCPI_FORM_WORK) {
            (void)mcpi_say(why, cap, "the form is too large");
            return false;
        }
        if (v) fault = mcpi_field_fault(field, v);
        else if (fallback && !mcpi_field_fault(field, fallback)) mcp_put_json(w, key, fallback);
        else if (mcpi_form_requires(required, key)) fault = "is missing";
        if (!fault) continue;
        (void)mcpi_say(why, cap, "%s %s", key, fault);
        return false;
    }
    for (v = mcp_json_first(required); v; v = mcp_json_next(v)) {
        name = mcp_json_str(v, "");
        if (mcp_json_get(content, name) || mcp_json_get(mcp_json_get(schema, "properties"), name)) continue;
        alien = "is missing";
        break;
    }
    if (!alien) alien = mcpi_fields_alien(content, &name);
    if (alien) (void)mcpi_say(why, cap, "%s %s", name, alien);
    return !alien;
}

/* -- questions --------------------------------------------------------------------------------------------------- */
/* A server has two ways to ask: a legacy one sends a request, a modern one answers ours with what it needs first. To
   the program both are the same callback. A question is in the table, where the program's answer finds it, and hangs
   in one of two other places: in a map by the server's id, where a cancel or a duplicate finds it, or with the call
   that needs it. */

/* What the program must be able to do to be asked this; 0: some other method. */
static unsigned mcpi_ask_needs(const char *method, const mcp_json *params)
{
    return mcpi_question_needs(mcpi_word_of(mcpi_questions, method), params) & ~(unsigned)MCPI_CAN_SAMPLE_CONTEXT;
}

/* Does the program say that it can do nothing of the kind? */
static bool mcpi_ask_is_unknown(const mcp_client *c, unsigned needs)
{
    if (needs & (MCPI_CAN_ELICIT | MCPI_CAN_NOTHING)) return !(c->can & MCPI_CAN_ELICIT);
    return (needs & (MCPI_CAN_SAMPLE | MCPI_CAN_ROOTS) & ~c->can) != 0;
}

/* A question; NULL: no memory. Its parts are the id that the answer carries (a key with its quotes, or nothing, where
   it belongs to a call), the schema of the form, and the elicitationId. */
static mcpi_call *mcpi_ask_new(mcp_client *c, const char *id, size_t n, const mcp_json *params, unsigned needs)
{
    mcpi_call *q = mcpi_call_new(c, MCPI_ENTRY_ASK);
    mcp_writer w;
    size_t i;
    if (!q) return NULL;
    mcp_writer_init(&w, &c->d.alloc, 0);
    w.buf = q->text;
    w.cap = q->cap;
    mcpi_put_bytes(&w, id, n);
    q->len[0] = n;
    for (i = 1; i < 3; i++) {
        const mcp_json *v = mcp_json_get(params, i == 1 ? "requestedSchema" : "elicitationId");
        size_t before = w.len;
        w.comma = w.done = false;
        if (v && needs == (i == 1 ? MCPI_CAN_FORM : MCPI_CAN_URL)) mcpi_put_lexeme(&w, NULL, v);
        q->len[i] = w.len - before;
    }
    q->text = w.buf;
    q->cap = w.cap;
    q->needs = needs;
    if (w.status == MCP_OK && mcpi_slots_add(&c->slots, &q->head.item, MCP_NEVER) == MCP_OK) {
        q->id = q->head.item.id;
        return q;
    }
    mcpi_call_free(c, q);
    return NULL;
}

/* Answers a request of the server's with a result, or with an error if that is NULL. Who asks without end
   and reads no answer is not a peer to keep. */
static void mcpi_client_reply(mcp_client *c, const char *id, size_t id_len, const char *result, size_t len,
                              int code, const char *message)
{
    mcp_writer *w;
    if (c->phase >= MCPI_PHASE_LOST) return;
    w = mcpi_stream_begin(&c->st);
    mcpi_put_text(w, "{\"jsonrpc\":\"2.0\",\"id\":");
    mcpi_put_bytes(w, id, id_len);
    mcpi_put_text(w, result ? ",\"result\":" : ",\"error\":");
    if (result) mcpi_put_bytes(w, result, len);
    else {
        mcp_put_object(w, NULL);
        mcp_put_int(w, "code", code);
        mcp_put_str(w, "message", message);
        mcp_put_end(w);
    }
    mcpi_put_text(w, "}");
    if (mcpi_client_end(c) != MCP_OK) mcpi_client_no_memory(c);
    c->replies += c->st.out.len - c->st.mark;
    if (c->replies > MCPI_QUEUE_HIGH && mcpi_stream_queued(&c->st) > c->d.max_message)
        mcpi_client_fail(c, MCP_ERR_LIMIT, "the server asks and does not read the answers");
}

/* A question of a call has its answer. After the last one the request is sent again. What was refused, and cannot be
   told as a result, ends the call. */
static void mcpi_input_end(mcp_client *c, mcpi_call *q, int status, const char *result, size_t len)
{
    static const char accept[] = "{\"action\":\"accept\"";
    mcpi_call *k = q->owner;
    const char *why = NULL;
    if (status == MCP_OK && q->len[0]) {
        if ((k->len[MCPI_PART_INPUT] && !mcpi_call_add(c, k, ",", 1)) || !mcpi_call_add(c, k, q->text, q->len[0])
            || !mcpi_call_add(c, k, ":", 1) || !mcpi_call_add(c, k, result, len)) status = MCP_ERR_MEMORY;
    } else if (status == MCP_OK && strncmp(result, accept, sizeof accept - 1) != 0) status = MCP_ERR_DECLINED;
    else if (status == MCP_ERR_UNKNOWN) {
        status = MCP_ERR_CAPABILITY;
        why = "the program does not know what the server asks for";
    }
    mcpi_ask_free(c, q);
    if (status == MCP_OK && (k->asked || c->phase != MCPI_PHASE_READY)) return;
    if (status == MCP_OK) status = mcpi_call_again(c, k);
    if (status != MCP_OK) mcpi_call_later(c, k, status, why);
}

/* Ends a question. The user's "no" is a result for an elicitation, which has words for it, and an error
   elsewhere. */
static void mcpi_ask_end(mcp_client *c, mcpi_call *q, int status, const char *result, size_t len)
{
    const char *message = mcp_strerror(status);
    int code = MCPI_INTERNAL_ERROR;
    bool refused = status == MCP_ERR_DECLINED || status == MCP_ERR_CANCELLED;
    if (refused && q->needs & MCPI_CAN_ELICIT && q->len[0]) {
        result = status == MCP_ERR_DECLINED ? "{\"action\":\"decline\"}" : "{\"action\":\"cancel\"}";
        len = strlen(result);
        status = MCP_OK;
    }
    if (q->owner) { mcpi_input_end(c, q, status, result, len); return; }
    if (status != MCP_OK) result = NULL;
    if (refused) code = MCPI_USER_REJECTED;
    else if (status == MCP_ERR_UNKNOWN) { code = MCPI_METHOD_NOT_FOUND; message = "Method not found"; }
    mcpi_client_reply(c, q->text, q->len[0], result, len, code, message);
    mcpi_ask_free(c, q);
}

/* Writes the result of an elicitation as it goes out, action first. NULL, or what is wrong with it. */
static const char *mcpi_put_elicited(mcp_writer *w, const mcp_json *schema, const mcp_json *answer, bool form,
                                     char *why, size_t size)
{
    const mcp_json *action = mcp_json_get(answer, "action"), *content = mcp_json_get(answer, "content"), *v;
    bool accept = !action || mcpi_is(action, "accept");
    if (!accept && !mcpi_is(action, "decline") && !mcpi_is(action, "cancel"))
        return "action is not accept, decline or cancel";
    mcp_put_object(w, NULL);
    mcp_put_str(w, "action", accept ? "accept" : mcp_json_str(action, NULL));
    for (v = mcp_json_first(answer); v; v = mcp_json_next(v))
        if (v != action && v != content) mcp_put_json(w, mcp_json_key(v), v);
    if (accept && form && (content || schema)) {
        mcp_put_object(w, "content");
        if (!mcpi_put_form(w, schema, content, why, size)) return why;
        mcp_put_end(w);
    }
    mcp_put_end(w);
    return NULL;
}

static bool mcpi_has_str(const mcp_json *v, const char *key)
{
    return mcp_json_type(mcp_json_get(v, key)) == MCP_JSON_STRING;
}

/* NULL, or what is wrong with a block of what a model said; a version that is older than 2025-11-25 has fewer kinds. */
static const char *mcpi_said_fault(const mcp_json *b, int version)
{
    int kind = mcpi_word_of("text\0image\0audio\0tool_use\0tool_result\0", mcp_json_str(mcp_json_get(b, "type"), NULL));
    bool fits = false;
    if ((kind == 2 && version > MCPI_VERSION_BATCHES) || (kind > 2 && version > MCPI_VERSION_LEGACY))
        return "its content is of a type that this protocol version does not have";
    if (kind == 0) fits = mcpi_has_str(b, "text");
    else if (kind == 1 || kind == 2) fits = mcpi_has_str(b, "data") && mcpi_has_str(b, "mimeType");
    else if (kind == 3)
        fits = mcpi_has_str(b, "id") && mcpi_has_str(b, "name")
               && mcp_json_type(mcp_json_get(b, "input")) == MCP_JSON_OBJECT;
    else if (kind == 4)
        fits = mcpi_has_str(b, "toolUseId") && mcp_json_type(mcp_json_get(b, "content")) == MCP_JSON_ARRAY;
    else return "its content is none of text, image, audio, tool_use and tool_result";
    return fits ? NULL : "its content lacks a member, or has one of another type";
}

/* NULL, or what is wrong with a model's message: https://modelcontextprotocol.io/specification/2026-07-28/client/sampling */
static const char *mcpi_sampled_fault(const mcp_json *answer, int version)
{
    const mcp_json *role = mcp_json_get(answer, "role"), *content = mcp_json_get(answer, "content"), *b;
    const char *fault = NULL;
    if (!mcpi_is(role, "user") && !mcpi_is(role, "assistant")) return "its role is neither user nor assistant";
    if (!mcpi_has_str(answer, "model")) return "it has no model, a string";
    if (mcp_json_get(answer, "stopReason") && !mcpi_has_str(answer, "stopReason")) return "its stopReason is not a string";
    if (mcp_json_type(content) != MCP_JSON_ARRAY) return mcpi_said_fault(content, version);
    if (version > MCPI_VERSION_LEGACY) return "its content is an array, which this protocol version does not have";
    for (b = mcp_json_first(content); b && !fault; b = mcp_json_next(b)) fault = mcpi_said_fault(b, version);
    return fault;
}

/* The same for a list of roots: https://modelcontextprotocol.io/specification/2026-07-28/client/roots */
static const char *mcpi_roots_fault(const mcp_json *answer)
{
    const mcp_json *roots = mcp_json_get(answer, "roots"), *i;
    if (mcp_json_type(roots) != MCP_JSON_ARRAY) return "it has no roots, an array";
    for (i = mcp_json_first(roots); i; i = mcp_json_next(i)) {
        if (strncmp(mcp_json_str(mcp_json_get(i, "uri"), ""), "file://", 7) != 0)
            return "each root has a uri that begins with file://";
        if (mcp_json_get(i, "name") && !mcpi_has_str(i, "name")) return "the name of a root is not a string";
    }
    return NULL;
}

/* Takes the program's answer. One that does not fit leaves the question open: a status with its sentence. */
static int mcpi_ask_answer(mcp_client *c, mcpi_call *q, int status, const char *result, size_t len)
{
    mcp_writer w;
    mcp_arena a;
    char why[160];
    int rc = MCP_OK;
    mcp_writer_init(&w, &c->d.alloc, 0);
    mcp_arena_init(&a, &c->d.alloc, 0);
    if (status == MCP_OK && q->needs) {
        const mcp_json *answer = mcp_json_parse(&a, result, len, NULL);
        const mcp_json *schema = q->len[1] ? mcp_json_parse(&a, q->text + q->len[0], q->len[1], NULL) : NULL;
        const char *fault = NULL;
        bool elicit = (q->needs & MCPI_CAN_ELICIT) != 0, there = answer && !schema == !q->len[1];
        if (!there) w.status = MCP_ERR_MEMORY;
        else if (elicit)
            fault = mcpi_put_elicited(&w, schema, answer, (q->needs & MCPI_CAN_FORM) != 0, why, sizeof why);
        else if (q->needs & MCPI_CAN_SAMPLE) fault = mcpi_sampled_fault(answer, c->version);
        else if (q->needs & MCPI_CAN_ROOTS) fault = mcpi_roots_fault(answer);
        if (fault) rc = mcpi_client_say(c, MCP_ERR_ARGUMENT, "the answer does not fit the question: %s", fault);
        else if (w.status != MCP_OK) rc = mcpi_client_say_status(c, w.status);
        else if (elicit) result = mcp_writer_text(&w, &len);
    }
    if (rc == MCP_OK) mcpi_ask_end(c, q, status, result, len);
    mcp_writer_free(&w);
    mcp_arena_free(&a);
    return rc;
}

/* Puts a question to the program. The scratch writer is borrowed for the answer: one that is asked meanwhile
   gets another. */
static void mcpi_client_ask(mcp_client *c, mcpi_call *q, const char *method, const mcp_json *params)
{
    mcp_writer w = c->scratch;
    mcp_id id = q->id;
    const char *result = NULL;
    size_t len = 0;
    int status, rc = MCP_OK;
    q->shown = true;
    mcp_writer_init(&c->scratch, &c->d.alloc, 0);
    mcp_writer_reset(&w);
    mcp_put_object(&w, NULL);
    c->nest++;
    status = c->d.on_ask(c, id, method, params, &w, c->d.user);
    c->nest--;
    if (mcpi_slots_get(&c->slots, id) && status != MCP_ERR_AGAIN) {
        if (status == MCP_OK) {
            mcp_put_end(&w);
            result = mcp_writer_text(&w, &len);
            if (!result) rc = mcpi_client_say(c, MCP_ERR_FAILED, "the answer to %s cannot be sent: %s", method,
                                              mcp_strerror(w.status));
        }
        if (rc == MCP_OK) rc = mcpi_ask_answer(c, q, status, result, len);
        if (rc != MCP_OK) {
            mcpi_client_log(c, 0, "%s", c->error);
            if (q->owner) mcpi_call_later(c, q->owner, rc, c->error);
            else {
                mcpi_client_reply(c, q->text, q->len[0], NULL, 0, MCPI_INTERNAL_ERROR, c->error);
                mcpi_ask_free(c, q);
            }
        }
    }
    mcp_writer_free(&c->scratch);
    c->scratch = w;
}

/* -- requests: more input ---------------------------------------------------------------------------------------- */
/* A modern server that needs something answers a request with what it needs, and forgets it. The request is then sent
   again, under a new id, with what was asked for and with the server's state, which is none of our business and goes
   back as it came. A server of 2025-11-25 has one case of this kind: error -32042 names pages that the user has to
   visit before the call can work.
   https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
   https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation#url-elicitation-required-error */

/* One thing that is asked for: its method and params. -32042 lists the params alone. */
static const char *mcpi_input_method(const mcp_json *item, bool bare, const mcp_json **params)
{
    *params = bare ? item : mcp_json_get(item, "params");
    return bare ? "elicitation/create" : mcp_json_str(mcp_json_get(item, "method"), NULL);
}

/* May all of it be asked? MCP_OK, or a status and its sentence. */
static int mcpi_input_check(const mcp_client *c, const mcp_json *list, bool bare, const char **why)
{
    const mcp_json *i, *params;
    for (i = mcp_json_first(list); i; i = mcp_json_next(i)) {
        const char *method = mcpi_input_method(i, bare, &params);
        unsigned needs = method ? mcpi_ask_needs(method, params) : 0;
        *why = "the server asks for input of an unknown kind";
        if (!needs || (bare && needs != MCPI_CAN_URL)) return MCP_ERR_PROTOCOL;
        if (params && mcp_json_type(params) != MCP_JSON_OBJECT) return MCP_ERR_PROTOCOL;
        *why = "the server asks for what is not among the client's capabilities (mcp_client_desc.capabilities)";
        if (needs & ~c->can) return MCP_ERR_CAPABILITY;
    }
    return MCP_OK;
}

/* Opens a question for each thing that is asked for, in order, before any is shown. */
static bool mcpi_input_open(mcp_client *c, mcpi_call *k, const mcp_json *list, bool bare)
{
    const mcp_json *i, *params;
    mcpi_call **end = &k->asked;
    for (i = mcp_json_first(list); i; i = mcp_json_next(i)) {
        const char *method = mcpi_input_method(i, bare, &params), *key = NULL;
        size_t n = 0;
        mcpi_call *q;
        if (!bare) {
            if (mcp_json_get(list, mcp_json_key(i)) != i) continue;         /* of equal keys the last one counts */
            mcpi_client_clear(c);
            key = mcp_json_keyn(i, &n);
            mcp_put_strn(&c->scratch, NULL, key, n);
            key = mcp_writer_text(&c->scratch, &n);
            if (!key) return false;
        }
        q = mcpi_ask_new(c, key, n, params, mcpi_ask_needs(method, params));
        if (!q) return false;
        q->owner = k;
        q->item = i;
        *end = q;
        end = &q->next;
    }
    return true;
}

/* The call needs this before it can go on. MCP_OK: it is being asked for, or even over; else the status that the call
   ends with, and its sentence. list: inputRequests, or the array of -32042. */
static int mcpi_call_input(mcp_client *c, mcpi_call *k, const mcp_json *list, const mcp_json *state, const char **why)
{
    bool bare = mcp_json_type(list) == MCP_JSON_ARRAY;
    mcp_id id = k->id;
    mcpi_call *q;
    int status;
    *why = "the server asks for input where that is not possible";
    if (k->known < 0 || k->known >= MCPI_METHOD_LISTS) return MCP_ERR_PROTOCOL;
    *why = "the server asks for input and does not say what";
    if ((!list && !state) || (state && mcp_json_type(state) != MCP_JSON_STRING) || (bare && !mcp_json_first(list))
        || (list && !bare && mcp_json_type(list) != MCP_JSON_OBJECT) || bare != (c->era == MCP_ERA_LEGACY))
        return MCP_ERR_PROTOCOL;
    *why = "the server asks again and again";
    if (++k->rounds > c->d.max_rounds || mcp_json_size(list) > (size_t)c->d.max_pending) return MCP_ERR_LIMIT;
    status = mcpi_input_check(c, list, bare, why);
    if (status != MCP_OK) return status;
    *why = NULL;
    status = mcpi_call_set(c, k, MCPI_PART_STATE, state);
    if (status == MCP_OK && !mcpi_input_open(c, k, list, bare)) status = MCP_ERR_MEMORY;
    if (status == MCP_OK && !k->asked) status = mcpi_call_again(c, k);
    if (status != MCP_OK) return status;
    if (k->asked) mcpi_slots_deadline(&c->slots, &k->head.item, k->end);    /* the user's time is not the server's */
    for (;;) {
        const mcp_json *params;
        const char *method;
        if (!mcpi_slots_get(&c->slots, id)) return MCP_OK;
        for (q = k->asked; q && q->shown; ) q = q->next;
        if (!q) return MCP_OK;
        method = mcpi_input_method(q->item, bare, &params);
        mcpi_client_ask(c, q, method, params);
    }
}

/* The user is through with a page, says the server: what waited for it goes on. */
static void mcpi_client_completed(mcp_client *c, const mcp_json *params)
{
    size_t from = 0, n;
    const char *id = mcpi_client_text(c, mcp_json_get(params, "elicitationId"), &n);
    mcpi_entry *e;
    for (; id && (e = (mcpi_entry *)mcpi_slots_any(&c->slots, c->slots.last, &from)) != NULL; from++) {
        mcpi_call *q = e->call;
        if (e->kind != MCPI_ENTRY_ASK || !q->owner || !q->shown || q->len[2] != n
            || memcmp(q->text + q->len[0] + q->len[1], id, n) != 0) continue;
        mcpi_ask_end(c, q, MCP_OK, "{\"action\":\"accept\"}", 19);
        return;
    }
}

/* -- requests: answers ------------------------------------------------------------------------------------------- */
/* Lists come in pages. A page is a request of its own, with a new id, but all pages are one call to the
   user: one id, one deadline for the whole, and one reply. Cursors mean nothing to us, the empty string
   included; what ends a walk is their absence. A server whose pages never end is stopped by their number,
   and sooner if they repeat.
   https://modelcontextprotocol.io/specification/2026-07-28/server/utilities/pagination */

/* FNV-1a over a page, cursor included, as compact JSON. 0: no memory. */
static uint64_t mcpi_client_hash(mcp_client *c, const mcp_json *page)
{
    uint64_t h = 14695981039346656037u;
    size_t n;
    const char *s = mcpi_client_text(c, page, &n);
    if (!s) return 0;
    while (n--) h = (h ^ (unsigned char)*s++) * 1099511628211u;
    return h ? h : 1;
}

/* Was this page here before? One page is remembered, a newer one each time as many have passed as before
   it: any circle is noticed, with bounded memory. */
static bool mcpi_call_circles(mcp_client *c, mcpi_call *k, const mcp_json *page)
{
    uint64_t h = mcpi_client_hash(c, page);
    if (h && h == k->seen) return true;
    if (++k->lap >= k->lap_len) {
        k->seen = h;
        k->lap = 0;
        k->lap_len = k->lap_len ? 2 * k->lap_len : 1;
    }
    return false;
}

/* Where the items are: under the name the method is known for, else the first array. */
static const mcp_json *mcpi_call_list(const mcpi_call *k, const mcp_json *result)
{
    const mcp_json *v;
    if (k->known >= MCPI_METHOD_LISTS && k->known < MCPI_METHOD_LISTEN)
        return mcp_json_get(result, mcpi_word_at(mcpi_lists, k->known - MCPI_METHOD_LISTS));
    for (v = mcp_json_first(result); v && mcp_json_type(v) != MCP_JSON_ARRAY; ) v = mcp_json_next(v);
    return v;
}

/* Hands out the items of a page and asks for the next one. True: this was the last page; false: it goes
   on, or the call is over already. */
static bool mcpi_call_page(mcp_client *c, mcpi_call *k, const mcp_json *result)
{
    const mcp_json *list = mcpi_call_list(k, result), *item, *cursor;
    bool (*each)(const mcp_json *item, void *user) = k->each;
    void *user = k->user;
    const char *why = NULL;
    mcp_id id = k->id;
    int status;
    mcpi_slots_deadline(&c->slots, &k->head.item, k->end);      /* the user's time is not the server's */
    if (mcp_json_type(list) == MCP_JSON_ARRAY)
        for (item = mcp_json_first(list); item; item = mcp_json_next(item)) {
            bool more;
            if (mcp_json_type(item) != MCP_JSON_OBJECT) continue;
            c->nest++;
            more = each(item, user);
            c->nest--;
            if (c->freed || !mcpi_slots_get(&c->slots, id)) return false;
            if (!more) return true;
        }
    cursor = mcp_json_get(result, "nextCursor");
    if (!cursor || mcp_json_type(cursor) == MCP_JSON_NULL) return true;
    if (c->status != MCP_OK) return false;
    status = MCP_ERR_LIMIT;
    if (mcp_json_type(cursor) != MCP_JSON_STRING) {
        status = MCP_ERR_PROTOCOL;
        why = "nextCursor is not a string";
    } else if (++k->pages >= c->d.max_pages) why = "the list has too many pages";
    else if (mcpi_call_circles(c, k, result)) why = "the pages of the list repeat";
    else {                                  /* the same parts with another cursor, under a new id */
        status = mcpi_call_set(c, k, MCPI_PART_CURSOR, cursor);
        if (status == MCP_OK) status = mcpi_call_again(c, k);
    }
    if (status != MCP_OK) mcpi_call_fail(c, k, status, why);
    return false;
}

static int64_t mcpi_error_code(const mcp_json *error)
{
    return mcp_json_int(mcp_json_get(error, "code"), 0);
}

static const char *mcpi_error_text(const mcp_json *error)
{
    return mcp_json_str(mcp_json_get(error, "message"), "");
}

/* The first page of a list that a server need not have. One without resources does not know the method, and
   that is an empty list. */
static bool mcpi_call_is_optional(const mcpi_call *k)
{
    return k->each && !k->pages && k->known > MCPI_METHOD_LISTS && k->known < MCPI_METHOD_LISTEN;
}

#ifndef MCP_NO_VALIDATE
/* Does a tool's result fit the schema that the program has of it? If not, why. */
static int mcpi_call_check(mcp_client *c, const mcpi_call *k, const mcp_json *result, mcp_arena *a, const char **why)
{
    const mcp_json *v = mcp_json_get(result, "structuredContent");
    mcp_writer lines;
    char *copy;
    int status;
    if (!k->output || mcp_json_bool(mcp_json_get(result, "isError"), false)) return MCP_OK;
    *why = "the result has no structuredContent";
    if (!v) return MCP_ERR_INVALID;
    mcp_writer_init(&lines, &c->d.alloc, 0);
    status = k->output->check(k->output, v, a, &lines, 0, true);
    *why = mcp_strerror(status);
    copy = lines.len ? (char *)mcp_arena_alloc(a, lines.len + 1) : NULL;
    if (copy) {
        memcpy(copy, lines.buf, lines.len);
        copy[lines.len] = 0;
        *why = copy;
    }
    mcp_writer_free(&lines);
    return status == MCP_OK ? MCP_OK : MCP_ERR_INVALID;
}
#endif

/* An answer to a call, valid or not. What it says is taken as it is, and an error object that lacks its
   code or its message is still an error: the one thing that must not happen is that the request stays
   open. */
static void mcpi_call_answer(mcp_client *c, mcpi_call *k, const mcp_msg *m, mcp_arena *a, bool in_frame)
{
    mcp_reply r;
    const char *why = m->why;
    int status = MCP_ERR_PROTOCOL;
    mcpi_call_unwire(c, k);
    memset(&r, 0, sizeof r);
    r.message = "";
    r.priv = a;
    if (m->kind == MCP_MSG_RESULT) {
        const mcp_json *type = c->era == MCP_ERA_MODERN ? mcp_json_get(m->result, "resultType") : NULL;
        r.result = m->result;
        why = "the result has an unknown resultType";
        if (mcpi_is(type, "input_required")) {
            status = mcpi_call_input(c, k, mcp_json_get(r.result, "inputRequests"),
                                     mcp_json_get(r.result, "requestState"), &why);
            if (status == MCP_OK) return;
        } else if (!type || mcpi_is(type, "complete")) status = MCP_OK;
        if (status == MCP_OK && in_frame) mcpi_kept_add(c, k, m->result);
        if (status == MCP_OK && k->each && !mcpi_call_page(c, k, m->result)) return;
#ifndef MCP_NO_VALIDATE
        if (status == MCP_OK) status = mcpi_call_check(c, k, m->result, a, &why);
        if (status == MCP_ERR_INVALID) r.message = why;
#endif
    } else if (m->kind == MCP_MSG_ERROR) {
        status = MCP_ERR_PEER;
        r.code = mcpi_error_code(m->error);
        r.message = mcpi_error_text(m->error);
        r.data = mcp_json_get(m->error, "data");
        if (k->len[MCPI_PART_CURSOR]) mcpi_kept_forget(c, k->known, NULL);
        if (r.code == MCPI_METHOD_NOT_FOUND && mcpi_call_is_optional(k)) {
            status = MCP_OK;
            r.code = 0;
            r.message = "";
            r.data = NULL;
            r.result = mcp_json_parse(a, "{}", 2, NULL);
        } else if (r.code == MCPI_URL_ELICITATION && (c->can & MCPI_CAN_URL)) {
            if (mcpi_call_input(c, k, mcp_json_get(r.data, "elicitations"), NULL, &why) == MCP_OK) return;
        }
    }
    r.status = status;
    if (status == MCP_OK || status == MCP_ERR_PEER || status == MCP_ERR_INVALID) mcpi_call_end(c, k, &r, in_frame);
    else mcpi_call_fail(c, k, status, why);
}

/* -- the handshake ----------------------------------------------------------------------------------------------- */
/* Two questions may be on the wire, server/discover and initialize, and the first good answer decides. To
   server/discover the server

     answers with versions        modern, if ours is among them; initialize, if only legacy ones of ours are;
                                  else there is no version in common
     answers -32022               the same for the versions that it says it supports; what it has just
                                  refused is tried once more, and no further
     answers -32020 or -32021     it is modern, and the error stands
     answers anything else        it is legacy: initialize
     is silent for probe_ms       initialize too; a late good answer still wins
     exits                        it is started once more, and asked to initialize at once

   and if it refuses initialize, that is the end, unless its answer to server/discover is still to come.
   https://modelcontextprotocol.io/specification/2026-07-28/basic/versioning
   https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle */

static void mcpi_entry_drop(mcp_client *c, mcpi_entry *e)
{
    if (!e->item.id) return;
    mcpi_slots_remove(&c->slots, &e->item);
    c->waiting--;
}

/* A request of the handshake. It has no deadline of its own and is never cancelled. */
static void mcpi_client_hello(mcp_client *c, mcpi_entry *e, const mcpi_parts *p, bool modern)
{
    int status = mcpi_slots_add(&c->slots, &e->item, MCP_NEVER);
    if (status == MCP_OK) {
        c->waiting++;
        status = mcpi_client_put(c, e->item.id, p, modern, false, 0);
    }
    if (status != MCP_OK) mcpi_client_no_memory(c);
}

static void mcpi_client_probe(mcp_client *c)
{
    mcpi_parts p;
    mcpi_parts_init(&p, "\"server/discover\"", NULL);
    c->probe_due = c->d.era == MCP_ERA_MODERN ? MCP_NEVER : mcpi_after(c->now, c->d.probe_ms);
    mcpi_client_hello(c, &c->probe, &p, true);
}

static void mcpi_client_initialize(mcp_client *c)
{
    mcp_writer *w = &c->scratch;
    const mcp_json *meta;
    mcpi_parts p;
    mcpi_client_clear(c);
    c->probe_due = MCP_NEVER;
    meta = mcp_json_parse(&c->arena, c->meta, c->meta_len, NULL);
    mcp_put_object(w, NULL);
    mcp_put_str(w, "protocolVersion", mcpi_word_at(mcpi_versions, c->offer));
    mcp_put_json(w, "capabilities", mcp_json_get(meta, "io.modelcontextprotocol/clientCapabilities"));
    mcp_put_json(w, "clientInfo", mcp_json_get(meta, "io.modelcontextprotocol/clientInfo"));
    mcp_put_end(w);
    if (!meta || mcp_writer_status(w) != MCP_OK) { mcpi_client_no_memory(c); return; }
    mcpi_parts_init(&p, "\"initialize\"", w);
    mcpi_client_hello(c, &c->init, &p, false);
}

static int mcpi_client_version_of(const char *name)
{
    int i = mcpi_word_of(mcpi_versions, name);
    return i < 0 ? MCPI_VERSION_COUNT : i;
}

/* The best of the versions in a list, MCPI_VERSION_COUNT if there is none of ours. */
static int mcpi_client_best_of(const mcp_json *list)
{
    const mcp_json *v;
    int best = MCPI_VERSION_COUNT;
    if (mcp_json_type(list) != MCP_JSON_ARRAY) return best;
    for (v = mcp_json_first(list); v; v = mcp_json_next(v)) {
        int i = mcpi_client_version_of(mcp_json_str(v, NULL));
        if (i < best) best = i;
    }
    return best;
}

/* Names what each side speaks, so that whoever reads it knows which of the two to update. */
static void mcpi_client_no_version(mcp_client *c, const mcp_json *theirs)
{
    char a[160], b[160];
    size_t n = 0;
    const mcp_json *v;
    int i, last = c->d.era == MCP_ERA_MODERN ? 1 : MCPI_VERSION_COUNT;
    a[0] = b[0] = 0;
    for (v = mcp_json_type(theirs) == MCP_JSON_ARRAY ? mcp_json_first(theirs) : NULL; v; v = mcp_json_next(v))
        n += mcpi_say(a + n, sizeof a - n, "%s%s", n ? ", " : "", mcp_json_str(v, "?"));
    for (i = 0, n = 0; i < last; i++)
        n += mcpi_say(b + n, sizeof b - n, "%s%s", n ? ", " : "", mcpi_word_at(mcpi_versions, i));
    mcpi_client_fail(c, MCP_ERR_VERSION, "no protocol version in common: the server says %s, the client %s",
                     a[0] ? a : "nothing", b);
}

/* Starts a call that has waited. (It may come by twice: the table can double meanwhile.) */
static void mcpi_client_resume(mcp_client *c, const mcpi_entry *e)
{
    mcpi_parts p;
    int status;
    if (e->kind != MCPI_ENTRY_CALL || e->call->end) return;
    mcpi_call_parts(e->call, &p);
    status = mcpi_call_start(c, e->call, &p);
    if (status != MCP_OK) mcpi_call_later(c, e->call, status, NULL);
}

/* The handshake is over. What waited for it goes out: the subscriptions that an earlier server had, then the rest in
   order; ids count up, so that is the order of ids. */
static void mcpi_client_ready(mcp_client *c, int version, const mcp_json *result)
{
    mcp_id id, last = c->slots.last;
    mcpi_entry *e;
    size_t from = 0;
    mcpi_entry_drop(c, &c->probe);
    mcpi_entry_drop(c, &c->init);
    mcp_arena_reset(&c->info_arena);
    c->info = mcp_json_copy(&c->info_arena, result);
    c->ready_at = c->now;
    c->version = version;
    c->era = version == MCPI_VERSION_MODERN ? MCP_ERA_MODERN : MCP_ERA_LEGACY;
    mcpi_client_enter_phase(c, MCPI_PHASE_READY, -1);
    if (version != MCPI_VERSION_MODERN) {
        mcpi_put_text(mcpi_stream_begin(&c->st),
                      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
        if (mcpi_client_end(c) != MCP_OK) c->info = NULL;
    }
    if (!c->info) { mcpi_client_no_memory(c); return; }
    for (; (e = (mcpi_entry *)mcpi_slots_any(&c->slots, c->before, &from)) != NULL; from++) mcpi_client_resume(c, e);
    for (id = c->before + 1; id <= last; id++)
        if ((e = (mcpi_entry *)mcpi_slots_get(&c->slots, id)) != NULL) mcpi_client_resume(c, e);
    mcpi_client_tell_ready(c, MCP_OK);
}

/* server/discover was answered. Known modern errors come from a modern server; anything else that is not a
   DiscoverResult is a legacy server's way to say no. */
static void mcpi_client_probed(mcp_client *c, const mcp_msg *m)
{
    const mcp_json *versions = NULL;
    int64_t code = 0;
    int best;
    mcpi_entry_drop(c, &c->probe);
    if (m->kind == MCP_MSG_RESULT) {
        const mcp_json *type = mcp_json_get(m->result, "resultType");
        if (!type || mcpi_is(type, "complete")) versions = mcp_json_get(m->result, "supportedVersions");
        if (mcp_json_type(versions) != MCP_JSON_ARRAY) versions = NULL;
    } else if (m->kind == MCP_MSG_ERROR) {
        code = mcpi_error_code(m->error);
        if (code == MCPI_UNSUPPORTED_VERSION) versions = mcp_json_at(m->error, "/data/supported");
    }
    if (code == MCPI_HEADER_MISMATCH || code == MCPI_MISSING_CAPABILITY) {
        mcpi_client_fail(c, MCP_ERR_PEER, "server/discover was answered with error %l: %s", code,
                         mcpi_error_text(m->error));
        return;
    }
    best = mcpi_client_best_of(versions);
    if (best == MCPI_VERSION_MODERN && code == 0) { mcpi_client_ready(c, best, m->result); return; }
    if (best == MCPI_VERSION_MODERN && !c->probed_again) {
        c->probed_again = true;
        mcpi_client_probe(c);
        return;
    }
    if (versions || code == MCPI_UNSUPPORTED_VERSION) {
        if (best == MCPI_VERSION_MODERN)
            mcpi_client_fail(c, MCP_ERR_VERSION, "the server refused %s, which it says it supports",
                             MCP_PROTOCOL_MODERN);
        else if (best < MCPI_VERSION_COUNT && c->d.era != MCP_ERA_MODERN) c->offer = best;
        else mcpi_client_no_version(c, versions);
    } else if (c->d.era == MCP_ERA_MODERN)
        mcpi_client_fail(c, MCP_ERR_VERSION, "the server does not speak %s: it does not know server/discover",
                         MCP_PROTOCOL_MODERN);
    if (c->refused)
        mcpi_client_fail(c, MCP_ERR_PEER, "initialize was refused with error %l, and so was server/discover",
                         c->refusal);
    else if (c->status == MCP_OK && !c->init.item.id) mcpi_client_initialize(c);
}

/* initialize was not answered with a result. A server that was asked both questions may still answer the
   other one. */
static void mcpi_client_refused(mcp_client *c, const mcp_msg *m)
{
    int best = mcpi_client_best_of(mcp_json_at(m->error, "/data/supported"));
    c->refusal = mcpi_error_code(m->error);
    if (best != MCPI_VERSION_MODERN && best != MCPI_VERSION_COUNT && best != c->offer && !c->offered_again) {
        c->offered_again = true;
        c->offer = best;
        mcpi_client_initialize(c);
    } else if (c->probe.item.id) {
        c->refused = true;
        c->probe_due = c->refusal == MCPI_UNSUPPORTED_VERSION ? MCP_NEVER : mcpi_after(c->now, c->d.probe_ms);
    } else if (m->kind == MCP_MSG_ERROR) {
        mcpi_client_fail(c, c->refusal == MCPI_UNSUPPORTED_VERSION ? MCP_ERR_VERSION : MCP_ERR_PEER,
                         "initialize was refused with error %l: %s", c->refusal, mcpi_error_text(m->error));
    } else mcpi_client_fail(c, MCP_ERR_PROTOCOL, "the answer to initialize is invalid: %s", m->why);
}

static void mcpi_client_initialized(mcp_client *c, const mcp_msg *m)
{
    const char *name;
    int version;
    mcpi_entry_drop(c, &c->init);
    if (m->kind != MCP_MSG_RESULT) { mcpi_client_refused(c, m); return; }
    name = mcp_json_str(mcp_json_get(m->result, "protocolVersion"), NULL);
    version = mcpi_client_version_of(name);
    if (version != MCPI_VERSION_MODERN && version != MCPI_VERSION_COUNT)
        mcpi_client_ready(c, version, m->result);
    else if (name)
        mcpi_client_fail(c, MCP_ERR_VERSION, "the server chose version \"%s\", unknown to this client", name);
    else mcpi_client_fail(c, MCP_ERR_VERSION, "the answer to initialize names no protocol version");
}

/* Bytes came, on stdout or stderr: from now on silence means something. */
static void mcpi_client_heard(mcp_client *c)
{
    if (c->heard) return;
    c->heard = true;
    if (c->probe_due != MCP_NEVER && !c->refused) c->probe_due = mcpi_after(c->now, c->d.probe_ms);
}

/* What time alone decides during the handshake. */
static void mcpi_client_start_tick(mcp_client *c)
{
    if (c->now >= c->start_end)
        mcpi_client_fail(c, MCP_ERR_TIMEOUT, "the server was not ready within %d ms", c->d.start_timeout_ms);
    else if (c->now < c->probe_due) c->timer = c->start_end < c->probe_due ? c->start_end : c->probe_due;
    else if (!c->refused) mcpi_client_initialize(c);
    else
        mcpi_client_fail(c, MCP_ERR_PEER, "initialize was refused with error %l, server/discover ignored",
                         c->refusal);
}

/* -- what the server asks ---------------------------------------------------------------------------------------- */
/* Legacy servers send requests too: for roots, for sampling, to ask the user. An id of theirs has nothing
   to do with ours, and is echoed with its own digits or characters. */

/* The question that a request is, in the map under the request's id. NULL: none, and the error that says so. */
static mcpi_call *mcpi_request_open(mcp_client *c, const mcp_msg *m, const char *id, size_t n, int *code,
                                    const char **why)
{
    unsigned needs = m->kind == MCP_MSG_BAD ? 0 : mcpi_ask_needs(m->method, m->params);
    mcpi_call *q = NULL;
    if (m->kind == MCP_MSG_BAD) { *code = m->code; *why = m->why; return NULL; }
    if (!c->d.on_ask || mcpi_ask_is_unknown(c, needs)) { *code = MCPI_METHOD_NOT_FOUND; *why = "Method not found"; }
    else if (needs & ~c->can) { *code = MCPI_INVALID_PARAMS; *why = "the client did not say that it can do this"; }
    else if (mcpi_ask_find(c, id, n)) { *code = MCPI_INVALID_REQUEST; *why = "this id is in use"; }
    else {
        *code = MCPI_BUSY;
        *why = "busy: too many requests are open";
        if (c->open_asks < c->d.max_pending && c->ask_bytes <= c->d.max_message)
            q = mcpi_ask_new(c, id, n, m->params, needs);
    }
    if (!q) return NULL;
    q->named.name = q->text;
    q->named.len = q->len[0];
    if (mcpi_map_add(&c->d.alloc, &c->asks, &q->named)) return q;
    *code = MCPI_INTERNAL_ERROR;
    *why = mcp_strerror(MCP_ERR_MEMORY);
    mcpi_call_free(c, q);
    return NULL;
}

/* A request of the server's: the legacy era has them, at any time; in the modern era there is no such
   thing, and nothing may be answered. */
static void mcpi_client_request(mcp_client *c, const mcp_msg *m)
{
    size_t n = 0;
    const char *id, *why;
    int code;
    mcpi_call *q;
    if (c->era == MCP_ERA_MODERN) {
        c->stats.bad++;
        mcpi_client_log(c, 1, "the server sent a request, which %s does not have: %s", MCP_PROTOCOL_MODERN,
                        m->method);
        return;
    }
    if (m->method && mcpi_word_of("initialize\0" "server/discover\0", m->method) >= 0) {
        mcpi_client_fail(c, MCP_ERR_PROTOCOL, "the server sends back what it is sent: it is no MCP server");
        return;
    }
    id = mcpi_client_text(c, m->id, &n);
    if (!id) { mcpi_client_no_memory(c); return; }
    if (m->method && m->kind != MCP_MSG_BAD && strcmp(m->method, "ping") == 0) {
        mcpi_client_reply(c, id, n, "{}", 2, 0, NULL);
        return;
    }
    q = mcpi_request_open(c, m, id, n, &code, &why);
    if (!q) { mcpi_client_reply(c, id, n, NULL, 0, code, why); return; }
    c->open_asks++;
    c->ask_bytes += mcpi_ask_bytes(q);
    mcpi_client_ask(c, q, m->method, m->params);
}

/* -- what the server tells --------------------------------------------------------------------------------------- */

/* Progress for what is finished or was never asked for is normal: it crossed our cancel, or the answer, on
   its way. */
static void mcpi_client_progress(mcp_client *c, const mcp_json *params)
{
    mcpi_call *k = mcpi_client_find(c, mcp_pending_id(mcp_json_get(params, "progressToken")));
    if (!k || !k->progress) { c->stats.unknown++; return; }
    mcpi_call_touch(c, k, c->now);
    if (!k->on_progress) return;
    c->nest++;
    k->on_progress(mcp_json_num(mcp_json_get(params, "progress"), 0),
                   mcp_json_num(mcp_json_get(params, "total"), 0),
                   mcp_json_str(mcp_json_get(params, "message"), NULL), k->user);
    c->nest--;
}

/* Something is taken back: a question of a legacy server, or a subscription of a modern one's. */
static void mcpi_client_taken_back(mcp_client *c, const mcp_json *id)
{
    size_t n = 0;
    if (c->era == MCP_ERA_MODERN) {
        mcpi_call *k = mcpi_client_find(c, mcp_pending_id(id));
        mcp_reply r;
        if (!k || k->known != MCPI_METHOD_LISTEN) { c->stats.unknown++; return; }
        mcpi_reply_local(&r, MCP_OK);
        r.result = mcp_json_parse(&c->st.in->arena, "{}", 2, NULL);
        r.priv = &c->st.in->arena;
        if (r.result) mcpi_call_end(c, k, &r, true);
        else mcpi_call_fail(c, k, MCP_ERR_MEMORY, NULL);
    } else if (c->open_asks) {
        const char *s = mcpi_is_id(id) ? mcpi_client_text(c, id, &n) : NULL;
        mcpi_call *q = s ? mcpi_ask_find(c, s, n) : NULL;
        if (q) mcpi_ask_free(c, q);
        else c->stats.unknown++;
    }
}

/* What the server will not tell, though it was asked to. */
static void mcpi_listen_compare(mcp_client *c, const mcpi_call *k, const mcp_json *agreed)
{
    mcp_arena a;
    const mcp_json *v;
    if (!c->d.log.fn) return;
    mcp_arena_init(&a, &c->d.alloc, 0);
    for (v = mcp_json_first(mcpi_listen_filter(k, &a)); v; v = mcp_json_next(v)) {
        const mcp_json *got = mcp_json_get(agreed, mcp_json_key(v));
        if (mcp_json_type(v) == MCP_JSON_ARRAY ? mcp_json_size(got) < mcp_json_size(v) : !mcp_json_bool(got, false))
            mcpi_client_log(c, 1, "the server will not tell all of %s", mcp_json_key(v));
    }
    mcp_arena_free(&a);
}

/* Does it belong to a subscription that is open, and has that begun? Else it is nothing to us. */
static bool mcpi_client_listens(mcp_client *c, int change, const mcp_json *params)
{
    const mcp_json *id = mcp_json_at(params, "/_meta/io.modelcontextprotocol~1subscriptionId");
    mcpi_call *k = mcpi_client_find(c, mcp_pending_id(id));
    if (k && k->known == MCPI_METHOD_LISTEN && change == 0 && !k->acked) {
        k->acked = true;
        mcpi_slots_deadline(&c->slots, &k->head.item, k->end);
        mcpi_listen_compare(c, k, mcp_json_get(params, "notifications"));
        return true;
    }
    if (k && k->known == MCPI_METHOD_LISTEN && change && k->acked) return true;
    c->stats.unknown++;
    return false;
}

static void mcpi_client_notification(mcp_client *c, const mcp_msg *m)
{
    int change;
    if (strcmp(m->method, "notifications/progress") == 0) { mcpi_client_progress(c, m->params); return; }
    change = mcpi_word_of(mcpi_changes, m->method);
    if (change > MCPI_ACKNOWLEDGED && c->d.cache_bytes) mcpi_kept_change(c, change, m->params);
    if (change >= 0 && c->era == MCP_ERA_MODERN && !mcpi_client_listens(c, change, m->params)) return;
    if (change > MCPI_ACKNOWLEDGED && change < MCPI_UPDATED && c->d.cache_bytes) {
        c->untold |= 1u << change;
        return;
    }
    if (strcmp(m->method, "notifications/cancelled") == 0) {
        mcpi_client_taken_back(c, mcp_json_get(m->params, "requestId"));
        if (c->era == MCP_ERA_MODERN) return;               /* `ended` was told */
    }
    if (strcmp(m->method, "notifications/elicitation/complete") == 0) mcpi_client_completed(c, m->params);
    mcpi_client_tell_note(c, m->method, m->params);
}

/* -- reading ----------------------------------------------------------------------------------------------------- */
/* A server writes what it likes, and its standard output is where stray prints end up. So whatever is no
   message is counted, told to the log, and skipped; the connection lives. But nobody should wait in vain
   for an answer that came and could not be read: a bad answer with a known id ends its request, and one
   without, if only one request is out, must have been that one's. */

static void mcpi_client_bad(mcp_client *c, const char *why)
{
    c->stats.bad++;
    mcpi_client_log(c, 1, "skipped a message: %s", why);
}

/* An answer, valid or not, with an id. */
static void mcpi_client_answered(mcp_client *c, const mcp_msg *m, const mcp_json *id)
{
    mcp_id n = mcp_pending_id(id);
    mcpi_call *k = mcpi_client_find(c, n);
    if (k) mcpi_call_answer(c, k, m, &c->st.in->arena, true);
    else if (n && n == c->probe.item.id) mcpi_client_probed(c, m);
    else if (n && n == c->init.item.id) mcpi_client_initialized(c, m);
    else {
        c->stats.unknown++;
        mcpi_client_log(c, 2, "an answer to nothing that is pending");
    }
}

static void mcpi_client_message(mcp_client *c, const mcp_json *value);

/* A blocked call that has its reply by one of the items must not
   make the calls deaf that callbacks of the next make. */
static void mcpi_client_batch(mcp_client *c, const mcp_json *batch)
{
    const mcp_json *v;
    bool stop = c->stop;
    for (v = mcp_json_first(batch); v && c->phase == MCPI_PHASE_READY; v = mcp_json_next(v)) {
        if (mcp_json_type(v) == MCP_JSON_ARRAY) continue;
        c->stop = false;
        mcpi_client_message(c, v);
        stop = stop || c->stop;
    }
    c->stop = stop;
}

static void mcpi_client_message(mcp_client *c, const mcp_json *value)
{
    mcp_msg m;
    const mcp_json *v;
    mcp_msg_classify(value, &m);
    if (m.kind != MCP_MSG_BAD && m.kind != MCP_MSG_BATCH) c->stats.messages_in++;
    switch (m.kind) {
    case MCP_MSG_REQUEST:      mcpi_client_request(c, &m); break;
    case MCP_MSG_NOTIFICATION: mcpi_client_notification(c, &m); break;
    case MCP_MSG_RESULT:
    case MCP_MSG_ERROR:
        if (m.id) mcpi_client_answered(c, &m, m.id);
        else mcpi_client_log(c, 1, "an error of the server without an id: %s", mcpi_error_text(m.error));
        break;
    case MCP_MSG_BATCH:
        if (c->version != MCPI_VERSION_BATCHES) { mcpi_client_bad(c, "an array"); break; }
        mcpi_client_batch(c, m.batch);
        break;
    default:
        mcpi_client_bad(c, m.why);
        v = mcp_json_get(value, "id");
        if (!mcp_json_get(value, "method")) { if (v) mcpi_client_answered(c, &m, v); }
        else if (m.id && m.method) mcpi_client_request(c, &m);
        break;
    }
}

/* If exactly one request is out, what cannot be read was its answer: it fails, so that nobody waits in
   vain. */
static void mcpi_client_fail_only(mcp_client *c, int status, const char *why)
{
    size_t from = 0;
    mcp_msg m;
    mcpi_entry *e;
    memset(&m, 0, sizeof m);
    m.why = why;
    if (c->waiting != 1) return;
    for (; (e = (mcpi_entry *)mcpi_slots_any(&c->slots, c->slots.last, &from)) != NULL; from++) {
        if (e == &c->probe) mcpi_client_probed(c, &m);
        else if (e == &c->init) mcpi_client_initialized(c, &m);
        else if (e->kind == MCPI_ENTRY_CALL && e->call->wire && e->call->known != MCPI_METHOD_LISTEN)
            mcpi_call_fail(c, e->call, status, why);
        else continue;
        return;
    }
}

/* One line. While it is handled its frame is pinned, one level above this turn's; a reply that a call at
   this level waits for stays pinned. */
static void mcpi_client_line(mcp_client *c, char *line, size_t len)
{
    mcpi_frame *f = c->st.in;
    size_t pos = 0;
    bool object = *line == '{';
    const mcp_json *value;
    if (c->phase >= MCPI_PHASE_FLUSH) return;
    mcpi_client_trace(c, "<-", line, len);
    f->pin = c->nest + 1;
    value = mcpi_parse(&f->arena, line, line, len, MCPI_REPLACE_UTF8, &pos);
    if (value) mcpi_client_message(c, value);
    else {
        mcpi_client_bad(c, pos == MCP_NTS ? mcp_strerror(MCP_ERR_MEMORY) : "it is not JSON");
        if (pos == MCP_NTS) mcpi_client_fail_only(c, MCP_ERR_MEMORY, mcp_strerror(MCP_ERR_MEMORY));
        else if (object && (mcpi_has_word(line, len, "jsonrpc") || mcpi_has_word(line, len, "result")
                            || mcpi_has_word(line, len, "error")))
            mcpi_client_fail_only(c, MCP_ERR_PARSE, "the answer is not valid JSON");
    }
    mcpi_stream_leave(&c->st, f);
    if (c->stop) return;
    mcpi_frame_release(f);
    mcpi_frame_shrink(&c->st, f);
}

/* The peer has gone. What it wrote before may still be on its way. */
static void mcpi_client_lost(mcp_client *c)
{
    if (c->phase < MCPI_PHASE_LOST) mcpi_client_enter_phase(c, MCPI_PHASE_LOST, MCPI_LINGER_MS);
}

/* Freed by a callback that has not returned yet: nothing more is done. */
static bool mcpi_client_leaving(const mcp_client *c)
{
    return c->freed && c->busy > 0;
}

/* One read, and all lines that are whole then. What a blocking call waits for stops it: the rest is for
   the next turn. */
static void mcpi_client_read(mcp_client *c)
{
    char *line;
    size_t len;
    bool first = true;
    while (c->st.open && !c->stop && !mcpi_client_leaving(c)) {
        uint64_t before = c->stats.bytes_in;
        int status = mcpi_stream_enter(&c->st, c->nest);
        if (status == MCP_OK && first && c->st.may_read) status = mcpi_stream_fill(&c->st);
        if (c->stats.bytes_in != before) mcpi_client_heard(c);
        first = false;
        if (status == MCP_ERR_MEMORY) {     /* no more is read, and the shutdown does not wait for the end of it */
            mcpi_client_no_memory(c);
            c->st.broken = true;
            return;
        }
        status = mcpi_stream_line(&c->st, &line, &len);
        if (status == MCP_OK) mcpi_client_line(c, line, len);
        else if (status == MCP_ERR_LIMIT) mcpi_client_fail_only(c, status, "a message is over max_message");
        else break;
    }
    if (!c->stop && (c->st.eof || c->st.broken) && !mcpi_stream_has_line(&c->st)) mcpi_client_lost(c);
}

/* Writes what is queued. A server that reads no more may still have answers under way: only writing ends. */
static void mcpi_client_flush(mcp_client *c)
{
    bool broken = c->st.broken;
    if (c->deaf) c->st.out.len = c->st.sent = 0;
    else if (c->st.open && mcpi_stream_flush(&c->st) == MCP_ERR_CLOSED) {
        c->st.broken = broken;
        c->deaf = true;
        mcpi_client_lost(c);
    }
    if (mcpi_stream_queued(&c->st) == 0) c->replies = 0;
}

/* -- the child process ------------------------------------------------------------------------------------------- */
/* The life of a child ends in one of two ways, and both come to the same steps. If it goes by itself, its
   stdout ends or waitid says so: either alone may come late or never, since a grandchild can hold the
   pipe, and a pipe can be closed by a process that lives on. Or we end it: stdin is closed, which is how
   the protocol says goodbye; then SIGTERM and SIGKILL go to its whole group, as `npx` and `sh -c` put the
   real server below themselves. Its output is read all the while, so that it cannot hang in a write.
   https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#shutdown */

static void mcpi_client_start(mcp_client *c);

/* A stream takes the place of the last one; frames in use by callbacks stay. */
static void mcpi_client_bind(mcp_client *c, const mcp_io *io)
{
    mcpi_stream *st = &c->st;
    mcpi_frame *f = st->in;
    st->io = *io;
    st->open = true;
    st->eof = st->broken = st->oversize = c->deaf = false;
    st->may_read = st->may_write = !io->poll;
    st->fd_count = 0;
    f->pos = f->scan = f->len = f->peek = 0;
    st->out.len = st->sent = 0;
#ifndef MCP_NO_POSIX
    mcpi_io_shield(io, c->shielded);
#endif
}

#ifndef MCP_NO_POSIX
static bool mcpi_client_spawn(mcp_client *c)
{
    char why[256];
    mcpi_spawn how;
    mcp_io io;
    int status;
    memset(&how, 0, sizeof how);
    how.argv = c->argv;
    how.env = c->env;
    how.clean_env = c->d.clean_env;
    how.cwd = c->cwd;
    how.capture_stderr = c->d.capture_stderr;
    how.alloc = &c->d.alloc;
    why[0] = 0;
    c->child_gone = false;
    status = mcpi_child_start(&c->child, &how, why, sizeof why);
    if (status == MCP_OK) status = mcp_io_fds(&c->d.alloc, c->child.out, c->child.in, false, &io);
    if (status != MCP_OK) {
        mcpi_client_fail(c, status, "%s", why[0] ? why : mcp_strerror(status));
        return false;
    }
    c->tail_len = 0;
    c->tail_cut = false;
    mcpi_client_bind(c, &io);
    return true;
}

/* The last bytes of stderr, in order. Moving them costs at most what was read. */
static void mcpi_client_keep_tail(mcp_client *c, const char *s, size_t n)
{
    size_t keep;
    if (n > sizeof c->tail) { s += n - sizeof c->tail; n = sizeof c->tail; }
    keep = c->tail_len < sizeof c->tail - n ? c->tail_len : sizeof c->tail - n;
    if (keep < c->tail_len) c->tail_cut = true;
    memmove(c->tail, c->tail + c->tail_len - keep, keep);
    memcpy(c->tail + keep, s, n);
    c->tail_len = keep + n;
}

/* stderr is drained whatever comes: a server must never block on it. */
static void mcpi_client_read_stderr(mcp_client *c)
{
    char buf[4096];
    int i;
    for (i = 0; i < 16 && c->child.err >= 0; i++) {
        ptrdiff_t n = mcpi_fd_read(c->child.err, buf, sizeof buf);
        if (n == MCP_ERR_AGAIN) return;
        if (n <= 0) { mcpi_close(&c->child.err); return; }
        mcpi_client_heard(c);
        mcpi_client_keep_tail(c, buf, (size_t)n);
        if (!c->d.on_stderr || c->freed) continue;
        c->nest++;
        c->d.on_stderr(c, buf, (size_t)n, c->d.user);
        c->nest--;
    }
}

/* What stderr ended with, from the start of a line on. */
static const char *mcpi_client_last_words(const mcp_client *c, size_t *len)
{
    const char *s = c->tail, *end = s + c->tail_len;
    const char *lf = c->tail_cut ? (const char *)memchr(s, '\n', c->tail_len) : NULL;
    while (end > s && (end[-1] == '\n' || end[-1] == '\r' || end[-1] == ' ' || end[-1] == '\t')) end--;
    if (lf && lf < end) s = lf + 1;
    while (s < end && ((unsigned char)*s & 0xC0) == 0x80) s++;
    *len = (size_t)(end - s);
    return s;
}

/* Is the child looked at, apart from its pipes? Only while somebody waits for it. */
static bool mcpi_client_watches(const mcp_client *c)
{
    return c->child.pid && !c->child_gone && (c->waiting || c->phase >= MCPI_PHASE_LOST);
}

static void mcpi_client_check_child(mcp_client *c)
{
    if (!mcpi_client_watches(c) || c->now < c->check_at) return;
    c->child_gone = mcpi_child_peek(&c->child) != 0;
    c->check_ms = c->phase < MCPI_PHASE_LOST ? MCPI_CHILD_MS : c->check_ms < 32 ? c->check_ms * 2 : 50;
    c->check_at = c->now + c->check_ms;
    if (c->child_gone) mcpi_client_lost(c);
}

/* A server that was ready has gone. Is it to be started again? Its subscriptions then go back to where they were before
   the handshake, and the questions of either side, the program's calls apart, are over. */
static bool mcpi_client_mourn(mcp_client *c)
{
    mcpi_entry *e;
    size_t from = 0;
    if (c->era == MCP_ERA_BOTH) return false;
    if (c->info && c->now - c->ready_at >= MCPI_STEADY_MS) c->crashes = 0;
    if (c->crashes >= c->d.max_restarts) return false;
    c->crashes++;
    for (; (e = (mcpi_entry *)mcpi_slots_any(&c->slots, c->slots.last, &from)) != NULL; from++) {
        mcpi_call *k = e->call;
        if (e->kind == MCPI_ENTRY_ASK) mcpi_ask_free(c, k);
        else if (e->kind == MCPI_ENTRY_CALL && k->quiet) {
            mcpi_call_unwire(c, k);
            mcpi_call_free(c, k);
            c->quiet--;
            c->live--;
        } else if (e->kind == MCPI_ENTRY_CALL && k->known == MCPI_METHOD_LISTEN) {
            mcpi_call_unwire(c, k);
            mcpi_slots_deadline(&c->slots, &k->head.item, MCP_NEVER);
            mcpi_uris_free(c, k);
            k->end = k->rounds = 0;
            k->acked = false;
        }
    }
    while (c->kept_old) mcpi_kept_evict(c, c->kept_old);
    if (c->info) c->before = c->slots.last;
    c->bereft = c->info != NULL;
    c->info = NULL;
    c->told = c->refused = c->offered_again = c->probed_again = false;
    c->log_level = 0;
    return true;
}

/* Lost, and nothing more to come: the child and its group are cleared away. One that died of the probe is
   started again, once; one that was ready, as often as the program says. */
static void mcpi_client_bury(mcp_client *c)
{
    char how[96];
    size_t n = 0;
    const char *words = mcpi_client_last_words(c, &n), *name = c->argv ? c->argv[0] : "";
    if (c->child_gone) mcpi_child_reap(&c->child, true);
    if (mcpi_child_why(&c->child, how, sizeof how) == 0)
        (void)mcpi_say(how, sizeof how, "closed the connection");
    c->deaf = true;
    if (!c->child.pid) mcpi_client_fail(c, MCP_ERR_CLOSED, "the server closed the connection");
    else if (c->era == MCP_ERA_BOTH && !c->restarted && c->d.era == MCP_ERA_BOTH) {
        mcpi_client_log(c, 2, "server \"%s\" %s when asked server/discover; it is started again", name, how);
        c->restart = true;
    } else if (mcpi_client_mourn(c)) {
        (void)mcpi_client_say(c, MCP_ERR_CLOSED, "server \"%s\" %s%s%.*s", name, how, n ? "; its last words: " : "",
                              (int)n, words);
        mcpi_client_log(c, 1, "%s; it is started again (%d of %d)", c->error, c->crashes, c->d.max_restarts);
        c->restart = true;
    } else
        mcpi_client_fail(c, MCP_ERR_CLOSED, "server \"%s\" %s%s%.*s", name, how,
                         n ? "; its last words: " : "", (int)n, words);
    if (c->restart) mcpi_client_enter_phase(c, MCPI_PHASE_FLUSH, 0);
}

/* How long a server that has crashed is left alone before it is started again. */
static int mcpi_client_pause(const mcp_client *c)
{
    int ms = MCPI_PAUSE_MS, i;
    for (i = 1; i < c->crashes && ms < MCPI_PAUSE_MAX; i++) ms *= 2;
    return !c->crashes ? 0 : ms < MCPI_PAUSE_MAX ? ms : MCPI_PAUSE_MAX;
}
#else
static void mcpi_client_bury(mcp_client *c)
{
    c->deaf = true;
    mcpi_client_fail(c, MCP_ERR_CLOSED, "the server closed the connection");
}
#endif

/* The end of the shutdown: the leader is reaped, and what is left of its group killed. */
static void mcpi_client_finish(mcp_client *c)
{
    mcpi_stream_shut(&c->st);
#ifndef MCP_NO_POSIX
    mcpi_child_reap(&c->child, true);
    mcpi_close(&c->child.in);
    mcpi_close(&c->child.out);
    mcpi_close(&c->child.err);
    c->child.pid = 0;
#endif
    if (!c->restart) { mcpi_client_enter_phase(c, MCPI_PHASE_ENDED, -1); return; }
    c->restart = c->st.eof = c->st.broken = false;
    mcpi_entry_drop(c, &c->probe);
    mcpi_entry_drop(c, &c->init);
#ifndef MCP_NO_POSIX
    if (c->era == MCP_ERA_BOTH) c->restarted = true;
    mcpi_client_enter_phase(c, MCPI_PHASE_PAUSE, mcpi_client_pause(c));
#endif
}

/* Output has drained or never will: the server's stdin is closed, which asks it to end. */
static void mcpi_client_hang_up(mcp_client *c)
{
    c->st.out.len = c->st.sent = 0;
#ifndef MCP_NO_POSIX
    mcpi_close(&c->child.in);
    if (c->child.pid) { c->phase = MCPI_PHASE_EOF; return; }    /* with what draining left of the grace */
#endif
    mcpi_client_finish(c);
}

#ifndef MCP_NO_POSIX
static void mcpi_client_end_child(mcp_client *c)
{
    bool silent = !c->st.open || c->st.eof || c->st.broken, last = c->phase == MCPI_PHASE_KILL;
    bool due = c->now >= c->timer;
    if ((c->child_gone && (silent || last || c->child.exited)) || (last && due)) mcpi_client_finish(c);
    else if (due) {
        mcpi_phase next = c->phase == MCPI_PHASE_EOF ? MCPI_PHASE_TERM : MCPI_PHASE_KILL;
        mcpi_child_signal(&c->child, next == MCPI_PHASE_TERM ? SIGTERM : SIGKILL);
        mcpi_client_enter_phase(c, next, next == MCPI_PHASE_TERM ? c->d.grace_ms : MCPI_KILL_MS);
    }
}
#endif

/* Nothing more can come, so there is nothing to linger for. */
static bool mcpi_client_silent(const mcp_client *c)
{
#ifndef MCP_NO_POSIX
    if (c->child.pid) return c->child_gone && (c->st.eof || c->st.broken) && c->child.err < 0;
#endif
    return c->st.eof || c->st.broken;
}

static bool mcpi_client_drained(const mcp_client *c)
{
    return c->deaf || mcpi_stream_queued(&c->st) == 0;
}

/* Moves the phase on as far as it goes now. */
static void mcpi_client_tick(mcp_client *c)
{
    mcpi_phase before;
    do {
        bool due;
        before = c->phase;
#ifndef MCP_NO_POSIX
        mcpi_client_check_child(c);
#endif
        due = c->now >= c->timer;
        switch (c->phase) {
        case MCPI_PHASE_PAUSE: if (due) mcpi_client_start(c); break;
        case MCPI_PHASE_START: mcpi_client_start_tick(c); break;
        case MCPI_PHASE_LOST:  if (due || mcpi_client_silent(c)) mcpi_client_bury(c); break;
        case MCPI_PHASE_FLUSH: if (due || mcpi_client_drained(c)) mcpi_client_hang_up(c); break;
#ifndef MCP_NO_POSIX
        case MCPI_PHASE_EOF:
        case MCPI_PHASE_TERM:
        case MCPI_PHASE_KILL:  mcpi_client_end_child(c); break;
#endif
        default: break;
        }
    } while (c->phase != before);
}

/* -- turns ------------------------------------------------------------------------------------------------------- */
/* The clock is read once per turn. Deadlines that a callback sets are therefore never due in the turn that
   set them, and no loop below can be kept busy by what it calls. */

/* The client has ended: tells everybody who waits. No new call can come, since send refuses. */
static void mcpi_client_settle_all(mcp_client *c)
{
    size_t from = 0;
    mcpi_entry *e;
    if (!c->told) mcpi_client_tell_ready(c, c->status);
    mcpi_client_settle_done(c);
    mcpi_entry_drop(c, &c->probe);
    mcpi_entry_drop(c, &c->init);
    while ((e = (mcpi_entry *)mcpi_slots_any(&c->slots, c->slots.last, &from)) != NULL) {
        if (e->kind == MCPI_ENTRY_CALL) mcpi_call_fail(c, e->call, c->status, c->error);
        else if (e->kind == MCPI_ENTRY_ASK) mcpi_ask_free(c, e->call);
        else from++;
    }
    if (c->live) mcpi_client_settle_done(c);
}

/* The server has gone, and will be started again: tells those who waited for it. What they say in return waits for the
   next one. */
static void mcpi_client_settle_bereft(mcp_client *c)
{
    char why[sizeof c->error];
    size_t from = 0;
    mcpi_entry *e;
    memcpy(why, c->error, sizeof why);
    c->bereft = false;
    while (!c->freed && (e = (mcpi_entry *)mcpi_slots_any(&c->slots, c->before, &from)) != NULL) {
        if (e->kind == MCPI_ENTRY_CALL && e->call->known != MCPI_METHOD_LISTEN)
            mcpi_call_fail(c, e->call, MCP_ERR_CLOSED, why);
        else from++;
    }
}

#ifndef MCP_NO_POSIX
static void mcpi_client_run_posts(mcp_client *c)
{
    int i, n = 1;
    c->nest++;
    for (i = 0; i < 64 && n == 1 && !c->freed; i++) n = mcpi_mailbox_run(&c->box, c, 1);
    c->nest--;
}
#endif

/* What is due, and was at the start. */
static void mcpi_client_due(mcp_client *c, int64_t until)
{
    size_t n = c->slots.count;
    mcpi_item *it;
    for (; n && !c->freed && (it = mcpi_slots_due(&c->slots, until)) != NULL; n--)
        mcpi_call_overdue(c, ((mcpi_entry *)it)->call);
}

/* Tells the program which lists have changed, each once. What changes while it is told is for the next turn. */
static void mcpi_client_tell(mcp_client *c)
{
    unsigned what = c->untold;
    int i;
    if (!what || c->telling || c->freed) return;
    c->untold = 0;
    c->telling = true;
    for (i = MCPI_CHANGED; i < MCPI_UPDATED; i++)
        if (what >> i & 1) mcpi_client_tell_note(c, mcpi_word_at(mcpi_changes, i), NULL);
    c->telling = false;
}

/* All that can be done now. */
static void mcpi_client_turn(mcp_client *c)
{
    c->now = mcpi_client_clock(c);
#ifndef MCP_NO_POSIX
    if (c->err_ready) mcpi_client_read_stderr(c);
    c->err_ready = false;
    if (c->box_ready) mcpi_client_run_posts(c);
    c->box_ready = false;
#endif
    mcpi_client_due(c, MCPI_AT_ONCE);
    mcpi_client_tell(c);
    mcpi_client_read(c);
    if (!c->stop) {
        mcpi_client_tell(c);
        mcpi_client_due(c, c->now);
        mcpi_client_settle_done(c);
        if (!mcpi_client_leaving(c)) mcpi_client_tick(c);
        if (c->bereft && c->status == MCP_OK) mcpi_client_settle_bereft(c);
        if (c->status != MCP_OK && !c->freed) mcpi_client_settle_all(c);
    }
    mcpi_client_flush(c);
}

#ifndef MCP_NO_POSIX
static void mcpi_client_polled(mcp_client *c, const struct pollfd *fds, int n)
{
    mcpi_stream_polled(&c->st, fds, n);
    c->err_ready = mcpi_was_seen(fds, n, c->err_at);
    c->box_ready = mcpi_was_seen(fds, n, c->box_at);
}
#endif

/* Polls once and takes a turn. A stream without poll cannot be waited for, so it is looked at each
   millisecond. */
static void mcpi_client_pump(mcp_client *c, int timeout_ms)
{
#ifndef MCP_NO_POSIX
    struct pollfd fds[16];
    int n, own;
    mcpi_client_flush(c);                   /* there is room, most often: then only the answer is waited for */
    n = mcp_client_pollfds(c, fds, 16);
    own = mcp_client_timeout(c);
    if (n > 16) n = 16;
    if (own >= 0 && (timeout_ms < 0 || own < timeout_ms)) timeout_ms = own;
    if (timeout_ms != 0 && c->st.open && !c->st.io.poll) timeout_ms = 1;
    if (mcpi_poll(fds, n, timeout_ms) < 0) n = 0;
    mcpi_client_polled(c, fds, n);
#else
    (void)timeout_ms;
#endif
    mcpi_client_turn(c);
}

/* -- the public functions ---------------------------------------------------------------------------------------- */

static const char *mcpi_client_copy(mcp_client *c, const char *s, size_t n)
{
    char *copy;
    if (n == MCP_NTS) n = strlen(s);
    copy = (char *)mcp_arena_alloc(&c->fixed, n + 1);
    if (!copy) return NULL;
    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

#ifndef MCP_NO_POSIX
static bool mcpi_client_copy_list(mcp_client *c, const char *const *from, const char *const **to)
{
    const char **list;
    size_t i, n = 0;
    *to = NULL;
    if (!from) return true;
    while (from[n]) n++;
    list = (const char **)mcp_arena_alloc(&c->fixed, (n + 1) * sizeof *list);
    if (!list) return false;
    for (i = 0; i < n; i++)
        if (!(list[i] = mcpi_client_copy(c, from[i], MCP_NTS))) return false;
    list[n] = NULL;
    *to = list;
    return true;
}
#endif

/* Writes what each modern request says of us. False: no memory; another mistake is kept as the client's
   failure. */
static bool mcpi_client_describe(mcp_client *c, const mcp_client_desc *d)
{
    mcp_writer *w = &c->scratch;
    const char *text;
    mcp_put_object(w, NULL);
    mcp_put_str(w, "io.modelcontextprotocol/protocolVersion", MCP_PROTOCOL_MODERN);
    mcp_put_object(w, "io.modelcontextprotocol/clientInfo");
    mcp_put_str(w, "name", d->name);
    if (d->title) mcp_put_str(w, "title", d->title);
    mcp_put_str(w, "version", d->version);
    mcp_put_end(w);
    if (!mcpi_client_raw(c, w, "io.modelcontextprotocol/clientCapabilities", "capabilities",
                         d->capabilities ? d->capabilities : "{}")) {
        if (c->last == MCP_ERR_ARGUMENT) mcpi_client_fail(c, c->last, "%s", c->error);
        return c->last == MCP_ERR_ARGUMENT;
    }
    mcp_put_end(w);
    text = mcp_writer_text(w, &c->meta_len);
    c->meta = text ? mcpi_client_copy(c, text, c->meta_len) : NULL;
    if (d->capabilities) {
        const mcp_json *caps = mcp_json_parse(&c->arena, d->capabilities, MCP_NTS, NULL);
        if (!caps) return false;
        c->can = mcpi_abilities(caps);
        if (c->can && !d->on_ask)
            mcpi_client_fail(c, MCP_ERR_ARGUMENT, "capabilities say that servers may ask, and there is no on_ask");
    }
    return c->meta != NULL;
}

/* Starts the server, if that is ours to do, and the handshake, which goes by what is known of an earlier one. */
static void mcpi_client_start(mcp_client *c)
{
    if (c->crashes) c->start_end = mcpi_after(c->now, c->d.start_timeout_ms);
#ifndef MCP_NO_POSIX
    if (c->argv && !mcpi_client_spawn(c)) return;
#endif
    c->heard = false;
    mcpi_client_enter_phase(c, MCPI_PHASE_START, 0);
    if (c->restarted || c->d.era == MCP_ERA_LEGACY || c->era == MCP_ERA_LEGACY) mcpi_client_initialize(c);
    else mcpi_client_probe(c);
}

/* Nothing runs any more: the shutdown is waited for, and the memory goes. */
static void mcpi_client_destroy(mcp_client *c)
{
    mcp_allocator a = c->d.alloc;
    mcpi_call *k;
    int i;
    mcpi_client_flush(c);
#ifndef MCP_NO_POSIX
    mcpi_mailbox_close(&c->box);
#endif
    while (c->phase != MCPI_PHASE_ENDED) mcpi_client_pump(c, -1);
    mcpi_stream_free(&c->st);
    mcpi_slots_free(&c->slots);
    mcpi_map_free(&a, &c->uris);
    mcpi_map_free(&a, &c->asks);
    while (c->kept_old) mcpi_kept_evict(c, c->kept_old);
    while ((k = c->pool) != NULL) {
        c->pool = k->next;
        mcpi_free(&a, k->text, k->cap);
        mcpi_free(&a, k, sizeof *k);
    }
    for (i = 0; i <= MCPI_NEST_MAX; i++) mcp_arena_free(&c->level[i].arena);
    mcp_writer_free(&c->scratch);
    mcp_arena_free(&c->arena);
    mcp_arena_free(&c->info_arena);
    mcp_arena_free(&c->fixed);
    mcpi_free(&a, c, sizeof *c);
}

static int mcpi_or(int value, int fallback)
{
    return value ? value : fallback;
}

/* What new sets before anything can fail. */
static void mcpi_client_defaults(mcp_client *c, const mcp_client_desc *d)
{
    int i;
    c->d = *d;
    c->d.start_timeout_ms = mcpi_or(d->start_timeout_ms, 60000);
    c->d.probe_ms = mcpi_or(d->probe_ms, 10000);
    c->d.timeout_ms = mcpi_or(d->timeout_ms, 30000);
    c->d.max_ms = mcpi_or(d->max_ms, 600000);
    c->d.grace_ms = mcpi_or(d->grace_ms, 2000);
    c->d.max_pending = d->max_pending > 0 ? d->max_pending : 4096;
    c->d.max_pages = d->max_pages > 0 ? d->max_pages : 10000;
    c->d.max_rounds = d->max_rounds > 0 ? d->max_rounds : 10;
    if (c->d.grace_ms < 0) c->d.grace_ms = 0;
    if (!c->d.max_message) c->d.max_message = MCPI_MAX_MESSAGE;
    if (!c->d.max_queue) c->d.max_queue = 2 * MCPI_MAX_MESSAGE;
    if (c->d.on_stderr) c->d.capture_stderr = true;
    c->probe.kind = MCPI_ENTRY_PROBE;
    c->init.kind = MCPI_ENTRY_INIT;
    c->offer = MCPI_VERSION_LEGACY;
    c->done_end = &c->done;
    c->probe_due = MCP_NEVER;
    mcpi_slots_init(&c->slots, &d->alloc, 0);
    mcp_writer_init(&c->scratch, &d->alloc, 0);
    mcp_arena_init(&c->arena, &d->alloc, 0);
    mcp_arena_init(&c->info_arena, &d->alloc, 0);
    mcp_arena_init(&c->fixed, &d->alloc, 0);
    for (i = 0; i <= MCPI_NEST_MAX; i++) mcp_arena_init(&c->level[i].arena, &d->alloc, 0);
#ifndef MCP_NO_POSIX
    c->child.in = c->child.out = c->child.err = c->box.rfd = c->box.wfd = c->err_at = c->box_at = -1;
#endif
    c->now = mcpi_client_clock(c);
    c->start_end = mcpi_after(c->now, c->d.start_timeout_ms);
}

/* Copies what has to be kept, and checks it. False: no memory. */
static bool mcpi_client_take(mcp_client *c, const mcp_client_desc *d)
{
#ifndef MCP_NO_POSIX
    if (!mcpi_client_copy_list(c, d->argv, &c->argv)) return false;
    if (!mcpi_client_copy_list(c, d->env, &c->env)) return false;
    if (d->cwd && !(c->cwd = mcpi_client_copy(c, d->cwd, MCP_NTS))) return false;
#endif
#ifdef MCP_NO_POSIX
    if (!d->now_ms) mcpi_client_fail(c, MCP_ERR_ARGUMENT, "without POSIX a client needs now_ms");
#endif
    if (!d->name || !d->version) mcpi_client_fail(c, MCP_ERR_ARGUMENT, "a client needs a name and a version");
    else if (!d->io.read == !c->argv)
        mcpi_client_fail(c, MCP_ERR_ARGUMENT, "a client needs argv or io, and not both");
    else if (d->io.read && !d->io.write) mcpi_client_fail(c, MCP_ERR_ARGUMENT, "io has no write");
    return c->status != MCP_OK || mcpi_client_describe(c, d);
}

mcp_client *mcp_client_new(const mcp_client_desc *d)
{
    mcp_client_desc none;
    mcp_client *c;
    mcp_io io;
    memset(&none, 0, sizeof none);
    memset(&io, 0, sizeof io);
    if (!d) d = &none;
    c = (mcp_client *)mcpi_zalloc(&d->alloc, sizeof *c);
    if (!c) return NULL;
    mcpi_client_defaults(c, d);
    if (mcpi_stream_open(&c->st, &d->alloc, &io, c->d.max_message, c->d.max_queue, &c->stats) == MCP_OK) {
        c->st.open = false;
        if (mcpi_client_take(c, d)) {
            if (d->io.read) mcpi_client_bind(c, &d->io);
            if (c->status == MCP_OK) mcpi_client_start(c);
            return c;
        }
    }
    c->phase = MCPI_PHASE_ENDED;
    c->freed = true;
    mcpi_client_destroy(c);
    return NULL;
}

/* Every function that may call back begins with enter and ends with leave. Between the two, free only
   marks. */
static int mcpi_client_enter(mcp_client *c)
{
    if (!c) return MCP_ERR_ARGUMENT;
    if (c->freed) return MCP_ERR_CLOSED;
    if (c->nest > MCPI_NEST_MAX) return MCP_ERR_MISUSE;
    c->busy++;
    return MCP_OK;
}

/* The last thing that an entry does with c. */
static int mcpi_client_leave(mcp_client *c)
{
    int status = c->freed ? MCP_ERR_CLOSED : c->phase == MCPI_PHASE_ENDED ? c->status : MCP_OK;
    if (--c->busy == 0 && c->freed) mcpi_client_destroy(c);
    return status;
}

void mcp_client_free(mcp_client *c)
{
    bool waits;
    if (!c || c->freed) return;
    c->freed = true;
    c->busy++;
    c->now = mcpi_client_clock(c);
    mcpi_client_give_up(c);
    waits = c->st.io.poll != NULL;
#ifndef MCP_NO_POSIX
    waits = waits || c->child.pid;
#endif
    if (c->phase != MCPI_PHASE_ENDED) c->timer = mcpi_after(c->now, waits ? c->d.grace_ms : 0);
    mcpi_client_settle_all(c);
    (void)mcpi_client_leave(c);
}

int mcp_client_close(mcp_client *c)
{
    if (!c) return MCP_ERR_ARGUMENT;
    c->now = mcpi_client_clock(c);
    mcpi_client_give_up(c);
    return MCP_OK;
}

mcp_id mcp_client_send(mcp_client *c, const mcp_call *call)
{
    return c ? mcpi_client_send(c, call, NULL) : 0;
}

int mcp_client_cancel(mcp_client *c, mcp_id id, const char *reason)
{
    mcpi_entry *e = c ? (mcpi_entry *)mcpi_slots_get(&c->slots, id) : NULL;
    if (!e || e->kind != MCPI_ENTRY_CALL) return MCP_ERR_UNKNOWN;
    if (e->call->known == MCPI_METHOD_LISTEN && c->era == MCP_ERA_LEGACY) mcpi_listen_stop(c, e->call);
    mcpi_client_cancelled(c, e->call->wire, reason);
    c->stats.cancelled++;
    mcpi_call_later(c, e->call, MCP_ERR_CANCELLED, NULL);
    return MCP_OK;
}

mcp_id mcp_client_listen(mcp_client *c, unsigned lists, const char *const *uris, mcp_reply_fn ended, void *user)
{
    mcp_writer w;
    mcp_call call;
    mcp_id id;
    int i;
    if (!c) return 0;
    memset(&call, 0, sizeof call);
    mcp_writer_init(&w, &c->d.alloc, 0);
    mcp_put_object(&w, NULL);
    mcp_put_object(&w, "notifications");
    for (i = 0; i < 3; i++)
        if (lists & 1u << i || (i == 1 && lists & MCP_LIST_TEMPLATES))
            mcp_put_bool(&w, mcpi_word_at(mcpi_filter_flags, i), true);
    if (uris && *uris) {
        mcp_put_array(&w, "resourceSubscriptions");
        while (*uris) mcp_put_str(&w, NULL, *uris++);
        mcp_put_end(&w);
    }
    mcp_put_end(&w);
    mcp_put_end(&w);
    call.method = "subscriptions/listen";
    call.params = mcp_writer_text(&w, NULL);
    call.max_ms = -1;
    call.fn = ended;
    call.user = user;
    if (!call.params) (void)mcpi_client_say_status(c, MCP_ERR_MEMORY);
    id = call.params ? mcpi_client_send(c, &call, NULL) : 0;
    mcp_writer_free(&w);
    return id;
}

int mcp_client_notify(mcp_client *c, const char *method, const char *params)
{
    mcp_writer *w;
    int status;
    if (!c) return MCP_ERR_ARGUMENT;
    if (c->status != MCP_OK) return c->status;
    if (c->phase != MCPI_PHASE_READY) return mcpi_client_say(c, MCP_ERR_MISUSE, "the client is not ready");
    if (!method) return mcpi_client_say(c, MCP_ERR_ARGUMENT, "a notification needs a method");
    if (mcpi_client_is_full(c)) return MCP_ERR_LIMIT;
    mcpi_client_clear(c);
    w = mcpi_stream_begin(&c->st);
    mcpi_put_envelope(w, NULL);
    mcp_put_str(w, "method", method);
    if (params && !mcpi_client_raw(c, w, "params", "params", params)) {
        w->status = MCP_ERR_ARGUMENT;
        (void)mcpi_stream_end(&c->st);
        return c->last;
    }
    mcp_put_end(w);
    status = mcpi_client_end(c);
    return status == MCP_OK ? status : mcpi_client_say_status(c, status);
}

int mcp_client_answer(mcp_client *c, mcp_id ask, int status, const char *result)
{
    mcpi_entry *e = c ? (mcpi_entry *)mcpi_slots_get(&c->slots, ask) : NULL;
    const char *text = NULL;
    size_t n = 0;
    if (!e || e->kind != MCPI_ENTRY_ASK) return MCP_ERR_UNKNOWN;
    if (status == MCP_ERR_AGAIN) return MCP_OK;
    if (status == MCP_OK) {
        if (!result) return mcpi_client_say(c, MCP_ERR_ARGUMENT, "an answer needs a result");
        mcpi_client_clear(c);
        if (!mcpi_client_raw(c, &c->scratch, NULL, "result", result)) return c->last;
        text = mcp_writer_text(&c->scratch, &n);
        if (!text) return mcpi_client_say_status(c, MCP_ERR_MEMORY);
    }
    return mcpi_ask_answer(c, e->call, status, text, n);
}

const mcp_json *mcp_client_info(const mcp_client *c)
{
    return c ? c->info : NULL;
}

const char *mcp_client_protocol(const mcp_client *c)
{
    return c && c->info ? mcpi_word_at(mcpi_versions, c->version) : NULL;
}

int mcp_client_era(const mcp_client *c)
{
    return c ? c->era : MCP_ERA_BOTH;
}

const char *mcp_client_error(const mcp_client *c)
{
    return c ? c->error : "";
}

mcp_stats mcp_client_stats(const mcp_client *c)
{
    mcp_stats s;
    memset(&s, 0, sizeof s);
    if (!c) return s;
    s = c->stats;
    s.pending = (size_t)(c->live - c->listens - c->quiet);
    s.queued = mcpi_stream_queued(&c->st);
    s.peers = c->st.open;
    return s;
}

int mcp_client_pollfds(mcp_client *c, struct pollfd *fds, int cap)
{
#ifndef MCP_NO_POSIX
    int n = 0;
    if (!c) return 0;
    if (!fds) cap = 0;
    c->err_at = mcpi_want(fds, cap, &n, c->child.err);
    c->box_at = mcpi_want(fds, cap, &n, c->box.rfd);
    mcpi_stream_pollfds(&c->st, true, fds, cap, &n);    /* last: a stream of the user's may have many */
    c->fds_left = n > cap;
    return n;
#else
    (void)c; (void)fds; (void)cap;
    return 0;
#endif
}

int mcp_client_timeout(const mcp_client *c)
{
    int64_t at, now;
    if (!c) return -1;
    if (c->done || (c->untold && !c->telling) || (c->status != MCP_OK && (c->live || !c->told))) return 0;
    if (c->st.open && mcpi_stream_has_line(&c->st)) return 0;
    if (c->phase < MCPI_PHASE_LOST && (c->st.eof || c->st.broken)) return 0;
    if (c->phase == MCPI_PHASE_FLUSH && mcpi_client_drained(c)) return 0;
    at = mcpi_slots_next(&c->slots);
    if (c->timer < at) at = c->timer;
#ifndef MCP_NO_POSIX
    if (mcpi_client_watches(c) && c->check_at < at) at = c->check_at;
#endif
    now = mcpi_client_clock(c);
#ifndef MCP_NO_POSIX
    if (c->fds_left && now + MCPI_LEFT_MS < at) at = now + MCPI_LEFT_MS;
#endif
    if (at == MCP_NEVER) return -1;
    return at <= now ? 0 : at - now > INT32_MAX ? INT32_MAX : (int)(at - now);
}

int mcp_client_step(mcp_client *c, const struct pollfd *fds, int n)
{
    int status = mcpi_client_enter(c);
    if (status != MCP_OK) return status;
#ifndef MCP_NO_POSIX
    if (fds) {
        mcpi_client_polled(c, fds, n);
        mcpi_client_turn(c);
        return mcpi_client_leave(c);
    }
#else
    (void)fds;
#endif
    (void)n;
    mcpi_client_pump(c, 0);
    return mcpi_client_leave(c);
}

/* SIGPIPE stays blocked while a blocking function runs, the outermost of them. */
typedef struct mcpi_shelter {
    bool mine;
#ifndef MCP_NO_POSIX
    mcpi_sigpipe sigpipe;
#endif
} mcpi_shelter;

static void mcpi_client_shelter(mcp_client *c, mcpi_shelter *s)
{
    s->mine = !c->shielded;
    c->shielded = true;
#ifndef MCP_NO_POSIX
    if (!s->mine) return;
    mcpi_sigpipe_block(&s->sigpipe);
    if (c->st.open) mcpi_io_shield(&c->st.io, true);
#endif
}

static int mcpi_client_unshelter(mcp_client *c, mcpi_shelter *s)
{
    int status;
    if (s->mine) c->shielded = false;
#ifndef MCP_NO_POSIX
    if (s->mine && c->st.open) mcpi_io_shield(&c->st.io, false);
#endif
    status = mcpi_client_leave(c);
#ifndef MCP_NO_POSIX
    if (s->mine) mcpi_sigpipe_restore(&s->sigpipe);
#endif
    return status;
}

int mcp_client_wait(mcp_client *c, int timeout_ms)
{
    mcpi_shelter shelter;
    int status = mcpi_client_enter(c);
    if (status != MCP_OK) return status;
    mcpi_client_shelter(c, &shelter);
    mcpi_client_pump(c, c->phase == MCPI_PHASE_ENDED ? 0 : timeout_ms);
    return mcpi_client_unshelter(c, &shelter);
}

const mcp_reply *mcp_client_call(mcp_client *c, const mcp_call *call)
{
    mcpi_shelter shelter;
    mcpi_level *mine;
    int status = mcpi_client_enter(c);
    if (status == MCP_ERR_MISUSE) {
        mcpi_reply_local(&c->nested, status);
        return &c->nested;
    }
    if (status != MCP_OK) return status == MCP_ERR_CLOSED ? &mcpi_reply_freed : &mcpi_reply_nobody;
    mine = &c->level[c->nest];
    mcp_arena_reset(&mine->arena);
    mine->done = false;
    mcpi_client_shelter(c, &shelter);
    if (mcpi_client_send(c, call, mine)) while (!mine->done && !c->freed) mcpi_client_pump(c, -1);
    else {
        mcpi_reply_local(&mine->reply, c->last);
        if (c->error[0]) {
            const char *message = mcpi_level_keep(mine, c->error);
            if (message) mine->reply.message = message;
        }
    }
    c->stop = false;
    if (c->freed) mine = NULL;
    (void)mcpi_client_unshelter(c, &shelter);
    return mine ? &mine->reply : &mcpi_reply_freed;
}

#ifndef MCP_NO_POSIX
mcp_poster *mcp_client_poster(mcp_client *c)
{
    if (!c || c->freed || (c->box.rfd < 0 && mcpi_mailbox_open(&c->box) != MCP_OK)) return NULL;
    return mcpi_mailbox_poster(&c->box, &c->d.alloc);
}
#endif
#endif /* MCP_NO_CLIENT */
#if !defined(MCP_NO_CLIENT) && !defined(MCP_NO_SANITIZE)
/* ============================================================================================================== *
 * >>calling  tools for models, and what models call                                                              *
 * ============================================================================================================== */
/* A toolbox keeps for each server what its list of tools has become: the fitted schema as text, and the record of the
   fitting, by which arguments find their way back. Names are kept in the table of >>name; an entry there points at its
   tool here. A list that comes again is made ready beside the old one and takes its place when all of it is there: its
   names stay, and a failure changes nothing.

   The five forms differ in how a tool, a call and a result are wrapped; what is inside is made once for all. */

typedef struct mcpi_tool {
    struct mcpi_toolset *set;
    mcpi_name *name;                        /* NULL: left out */
    void *was;                              /* what the name pointed at, until the list is complete */
    const char *tool, *description, *notes; /* description: NULL none */
    const char *schema; size_t schema_len;
    const mcp_fit *fit;
    bool added, strict;
} mcpi_tool;

typedef struct mcpi_toolset {
    mcpi_leaf by_server;                    /* first; its key is the name, with its NUL */
    struct mcpi_toolset *prev, *next;
    mcp_arena arena;                        /* all that follows */
    mcpi_tool *tools;
    size_t count;
} mcpi_toolset;

struct mcp_toolbox {
    mcp_toolbox_desc d;
    mcp_names *names;
    mcpi_link by_server;
    mcpi_toolset *first, *last;
    mcp_writer scratch;                     /* a schema, or arguments */
    char *text; size_t text_cap;            /* of a result */
};

mcp_toolbox *mcp_toolbox_new(const mcp_toolbox_desc *d)
{
    static const unsigned char own[] = { MCP_GENERIC, MCP_OPENAI, MCP_ANTHROPIC, MCP_GEMINI, MCP_GEMINI_JSON };
    mcp_toolbox *b = (mcp_toolbox *)mcpi_zalloc(d ? &d->alloc : NULL, sizeof *b);
    if (!b) return NULL;
    if (d) b->d = *d;
    if ((unsigned)b->d.form >= sizeof own) b->d.form = MCP_FORM_OPENAI;
    if (b->d.fit.profile == MCP_GENERIC) b->d.fit.profile = (mcp_profile)own[b->d.form];
    if (!b->d.max_text) b->d.max_text = 100000;
    if (!b->d.max_images) b->d.max_images = 5000000;
    mcp_writer_init(&b->scratch, &b->d.alloc, 0);
    b->names = mcp_names_new(&b->d.alloc);
    if (b->names) return b;
    mcpi_free(&b->d.alloc, b, sizeof *b);
    return NULL;
}

static void mcpi_toolset_free(mcp_toolbox *b, mcpi_toolset *set)
{
    mcp_arena_free(&set->arena);
    mcpi_free(&b->d.alloc, set, sizeof *set + set->by_server.key.an);
}

void mcp_toolbox_free(mcp_toolbox *b)
{
    mcp_allocator a;
    if (!b) return;
    a = b->d.alloc;
    while (b->first) {
        mcpi_toolset *set = b->first;
        b->first = set->next;
        mcpi_toolset_free(b, set);
    }
    mcp_names_free(b->names);
    mcp_writer_free(&b->scratch);
    mcpi_free(&a, b->text, b->text_cap);
    mcpi_free(&a, b, sizeof *b);
}

static mcpi_toolset *mcpi_toolset_find(const mcp_toolbox *b, const char *server)
{
    mcpi_key k;
    k.a = k.b = server;
    k.an = strlen(server) + 1;
    k.bn = 0;
    return (mcpi_toolset *)(void *)mcpi_tree_find(&b->by_server, &k);
}

/* -- tools ------------------------------------------------------------------------------------------------------- */

static const char *mcpi_arena_text(mcp_arena *a, const char *s)
{
    size_t n = strlen(s) + 1;
    char *copy = (char *)mcp_arena_alloc(a, n);
    if (copy) memcpy(copy, s, n);
    return copy;
}

/* s, and a line more, in the arena; NULL: no memory (or s was NULL). */
static const char *mcpi_note(mcp_arena *a, const char *s, const char *line)
{
    size_t n = s ? strlen(s) : 0, size = n + strlen(line) + 2;
    char *both = s ? (char *)mcp_arena_alloc(a, size) : NULL;
    if (both) mcpi_say(both, size, "%s%s%s", s, n && s[n - 1] != '\n' ? "\n" : "", line);
    return both;
}

/* At most `max` code points of s (0: all), with an ellipsis if that is not all of it. */
static const char *mcpi_shortened(mcp_arena *a, const char *s, size_t max)
{
    size_t n = strlen(s), keep = max ? mcpi_text_cut(s, n, max) : n;
    char *copy = keep < n ? (char *)mcp_arena_alloc(a, keep + sizeof MCPI_FIT_ELLIPSIS) : NULL;
    if (keep == n) return s;
    if (copy) mcpi_say(copy, keep + sizeof MCPI_FIT_ELLIPSIS, "%.*s" MCPI_FIT_ELLIPSIS, (int)keep, s);
    return copy;
}

static const char *mcpi_tool_text(const mcp_json *v, const char *key)
{
    const char *s = mcp_json_str(mcp_json_get(v, key), "");
    return *s ? s : NULL;
}

/* Why an entry of a list is no tool that can be called, or NULL. */
static const char *mcpi_tool_refused(const mcp_json *v)
{
    const mcp_json *name = mcp_json_get(v, "name");
    if (mcp_json_type(v) != MCP_JSON_OBJECT) return "left out: it is no object";
    if (mcp_json_type(name) != MCP_JSON_STRING || !mcp_json_size(name)) return "left out: it has no name";
    return strlen(mcp_json_str(name, "")) == mcp_json_size(name) ? NULL : "left out: its name holds a NUL";
}

/* The schema of v for the provider, as text in the arena. MCP_OK, also when v has to be left out: t->notes then says
   why, and t->schema is NULL. */
static int mcpi_tool_fit(mcp_toolbox *b, mcpi_tool *t, const mcp_json *v)
{
    mcp_arena *a = &t->set->arena;
    char *copy;
    mcp_writer_reset(&b->scratch);
    t->fit = mcp_schema_fit(a, mcp_json_get(v, "inputSchema"), &b->d.fit, &b->scratch);
    if (b->scratch.status == MCP_ERR_MEMORY || (!t->fit && b->scratch.status == MCP_OK)) return MCP_ERR_MEMORY;
    if (!t->fit || !mcp_writer_text(&b->scratch, NULL)) {
        t->notes = "left out: its schema is too large";
        return MCP_OK;
    }
    t->notes = mcp_fit_notes(t->fit);
    t->strict = mcp_fit_strict(t->fit);
    copy = (char *)mcp_arena_alloc(a, b->scratch.len);
    if (!copy) return MCP_ERR_MEMORY;
    memcpy(copy, b->scratch.buf, b->scratch.len);
    t->schema = copy;
    t->schema_len = b->scratch.len;
    return MCP_OK;
}

/* What a provider is told of the tool: its description, or its title, or where there has to be something, its name. */
static const char *mcpi_tool_describe(const mcp_toolbox *b, mcpi_tool *t, const mcp_json *v)
{
    const char *s = mcpi_tool_text(v, "description"), *cut;
    if (!s) s = mcpi_tool_text(v, "title");
    if (!s) s = mcpi_tool_text(mcp_json_get(v, "annotations"), "title");
    if (!s && b->d.fit.profile != MCP_BEDROCK && b->d.form < MCP_FORM_GEMINI) return "";
    if (!s) {
        s = t->tool;
        t->notes = mcpi_note(&t->set->arena, t->notes, "it has no description: its name stands there");
    }
    cut = mcpi_shortened(&t->set->arena, s, b->d.max_description);
    if (cut && cut != s) t->notes = mcpi_note(&t->set->arena, t->notes, "its description is cut");
    return cut == s ? mcpi_arena_text(&t->set->arena, s) : cut;
}

/* Makes one tool ready. What it needs of v is copied. */
static int mcpi_tool_make(mcp_toolbox *b, mcpi_tool *t, const mcp_json *v)
{
    mcp_arena *a = &t->set->arena;
    const char *server = t->set->by_server.key.a;
    t->tool = mcpi_arena_text(a, mcp_json_str(mcp_json_get(v, "name"), ""));
    if (!t->tool) return MCP_ERR_MEMORY;
    t->notes = mcpi_tool_refused(v);
    if (t->notes) return MCP_OK;
    t->name = mcpi_names_by_pair(b->names, server, t->tool);
    if (t->name && t->name->user && ((mcpi_tool *)t->name->user)->set == t->set) {
        t->name = NULL;
        t->notes = "left out: an earlier one of this list has the same name";
        return MCP_OK;
    }
    if (mcpi_tool_fit(b, t, v) != MCP_OK) { t->name = NULL; return MCP_ERR_MEMORY; }
    if (!t->schema) { t->name = NULL; return MCP_OK; }
    if (!t->name) t->added = (t->name = mcpi_names_add(b->names, server, t->tool)) != NULL;
    if (!t->name) return MCP_ERR_MEMORY;
    t->was = t->name->user;
    t->name->user = t;
    t->description = mcpi_tool_describe(b, t, v);
    if (!t->name->plain)
        t->notes = mcpi_note(a, t->notes, "its name is altered: providers take A-Z a-z 0-9 _ - and 64 bytes in all");
    return t->description && t->notes ? MCP_OK : MCP_ERR_MEMORY;
}

/* Lets go of the names that point at the tools of a set; `undo`: as if it had never been. */
static void mcpi_toolset_leave(mcp_toolbox *b, mcpi_toolset *set, bool undo)
{
    size_t i;
    for (i = 0; i < set->count; i++) {
        mcpi_tool *t = &set->tools[i];
        if (!t->name || t->name->user != t) continue;       /* a newer tool has taken it over */
        if (undo && !t->added) t->name->user = t->was;
        else mcpi_names_drop(b->names, t->name);
    }
}

/* The same name, and the same place in the row, as the one that goes. */
static void mcpi_toolset_enter(mcp_toolbox *b, mcpi_toolset *set, mcpi_toolset *old)
{
    if (old) mcpi_tree_remove(&b->by_server, &old->by_server);
    mcpi_tree_add(&b->by_server, &set->by_server);
    set->prev = old ? old->prev : b->last;
    set->next = old ? old->next : NULL;
    *(set->prev ? &set->prev->next : &b->first) = set;
    *(set->next ? &set->next->prev : &b->last) = set;
    if (!old) return;
    mcpi_toolset_leave(b, old, false);
    mcpi_toolset_free(b, old);
}

int mcp_toolbox_add(mcp_toolbox *b, const char *server, const mcp_json *tools)
{
    const mcp_json *v;
    mcpi_toolset *set;
    size_t n;
    int rc = MCP_OK;
    if (mcp_json_type(mcp_json_get(tools, "nextCursor")) == MCP_JSON_STRING) return MCP_ERR_ARGUMENT;
    if (mcp_json_type(tools) == MCP_JSON_OBJECT) tools = mcp_json_get(tools, "tools");
    if (!b || !server || mcp_json_type(tools) != MCP_JSON_ARRAY) return MCP_ERR_ARGUMENT;
    n = strlen(server) + 1;
    set = (mcpi_toolset *)mcpi_zalloc(&b->d.alloc, sizeof *set + n);
    if (!set) return MCP_ERR_MEMORY;
    memcpy(set + 1, server, n);
    set->by_server.key.a = (const char *)(set + 1);
    set->by_server.key.an = n;
    mcp_arena_init(&set->arena, &b->d.alloc, 0);
    n = mcp_json_size(tools);
    if (n < MCP_NTS / sizeof *set->tools)
        set->tools = (mcpi_tool *)mcp_arena_alloc(&set->arena, n * sizeof *set->tools);
    if (!set->tools) rc = MCP_ERR_MEMORY;
    for (v = mcp_json_first(tools); v && rc == MCP_OK; v = mcp_json_next(v)) {
        mcpi_tool *t = &set->tools[set->count++];
        memset(t, 0, sizeof *t);
        t->set = set;
        rc = mcpi_tool_make(b, t, v);
    }
    if (rc == MCP_OK) mcpi_toolset_enter(b, set, mcpi_toolset_find(b, server));
    else {
        mcpi_toolset_leave(b, set, true);
        mcpi_toolset_free(b, set);
    }
    return rc;
}

int mcp_toolbox_remove(mcp_toolbox *b, const char *server)
{
    mcpi_toolset *set = b && server ? mcpi_toolset_find(b, server) : NULL;
    if (!set) return MCP_ERR_UNKNOWN;
    mcpi_tree_remove(&b->by_server, &set->by_server);
    *(set->prev ? &set->prev->next : &b->first) = set->next;
    *(set->next ? &set->next->prev : &b->last) = set->prev;
    mcpi_toolset_leave(b, set, false);
    mcpi_toolset_free(b, set);
    return MCP_OK;
}

/* The tool at or behind this place. */
static const mcpi_tool *mcpi_toolbox_step(const mcp_toolbox *b, const mcpi_tool *t)
{
    const mcpi_toolset *set = t ? t->set : b->first;
    if (t && ++t < set->tools + set->count) return t;
    if (t) set = set->next;
    while (set && !set->count) set = set->next;
    return set ? set->tools : NULL;
}

bool mcp_toolbox_next(const mcp_toolbox *b, mcp_tool_report *r)
{
    const mcpi_tool *t = b && r ? mcpi_toolbox_step(b, (const mcpi_tool *)r->priv) : NULL;
    if (!t) return false;
    r->server = t->set->by_server.key.a;
    r->tool = t->tool;
    r->name = t->name ? t->name->text : NULL;
    r->strict = t->strict;
    r->notes = t->notes;
    r->priv = t;
    return true;
}

static void mcpi_put_tool(mcp_writer *w, mcp_form form, const mcpi_tool *t)
{
    static const char schema[] = "parameters\0" "parameters\0" "input_schema\0" "parameters\0" "parametersJsonSchema\0";
    mcp_put_object(w, NULL);
    if (form <= MCP_FORM_RESPONSES) mcp_put_str(w, "type", "function");
    if (form == MCP_FORM_OPENAI) mcp_put_object(w, "function");
    mcp_put_str(w, "name", t->name->text);
    if (*t->description) mcp_put_str(w, "description", t->description);
    mcpi_put_splice(w, mcpi_word_at(schema, (int)form), t->schema, t->schema_len);
    if (form == MCP_FORM_RESPONSES || (t->strict && form < MCP_FORM_GEMINI)) mcp_put_bool(w, "strict", t->strict);
    if (form == MCP_FORM_OPENAI) mcp_put_end(w);
    mcp_put_end(w);
}

void mcp_toolbox_write(const mcp_toolbox *b, mcp_writer *w, const char *key)
{
    const mcpi_tool *t = NULL;
    bool any = false;
    mcp_put_array(w, key);
    while (b && (t = mcpi_toolbox_step(b, t)) != NULL) {
        if (!t->name) continue;
        if (!any && b->d.form >= MCP_FORM_GEMINI) {         /* one entry for all of them, which may not be empty */
            mcp_put_object(w, NULL);
            mcp_put_array(w, "functionDeclarations");
        }
        any = true;
        mcpi_put_tool(w, b->d.form, t);
    }
    if (any && b->d.form >= MCP_FORM_GEMINI) { mcp_put_end(w); mcp_put_end(w); }
    mcp_put_end(w);
}

/* -- calls ------------------------------------------------------------------------------------------------------- */

static int mcpi_call_failed(mcp_arena *a, mcp_tool_call *k, int status, const char *why)
{
    k->status = status;
    k->error = why ? mcpi_arena_text(a, why) : mcp_strerror(status);
    if (k->error) return status;
    k->error = mcp_strerror(MCP_ERR_MEMORY);
    return k->status = MCP_ERR_MEMORY;
}

/* The object that the arguments are, or NULL with the call failed. Some models wrap it in a string once too often. */
static const mcp_json *mcpi_call_args(mcp_arena *a, mcp_tool_call *k, const mcp_json *args)
{
    static const char kinds[] = "nothing\0" "null\0" "a boolean\0" "a number\0" "a string\0" "an array\0";
    enum { SHOWN = 70, BEHIND = 20 };
    char why[400];
    size_t len, at = 0;
    int turn;
    for (turn = 0; turn < 2 && mcp_json_type(args) == MCP_JSON_STRING; turn++) {
        const char *text = mcp_json_text(args, &len);
        if (mcpi_blanks(text, text + len) == text + len) args = NULL;
        else if (!(args = mcp_json_parse(a, text, len, &at))) {
            size_t from = at < BEHIND ? 0 : at - BEHIND;
            if (at == MCP_NTS) break;
            while (from < at && ((unsigned char)text[from] & 0xC0) == 0x80) from++;
            mcpi_say(why, sizeof why, "The arguments of \"%.*s\" are not valid JSON from byte %z on, behind \"%.*s\". "
                     "Call it again with one JSON object.", (int)SHOWN, k->name, at, (int)(at - from), text + from);
            mcpi_call_failed(a, k, MCP_ERR_PARSE, why);
            return NULL;
        }
    }
    if (at != MCP_NTS && (!args || mcp_json_type(args) == MCP_JSON_NULL)) args = mcp_json_parse(a, "{}", 2, &at);
    if (mcp_json_type(args) == MCP_JSON_OBJECT) return args;
    mcpi_say(why, sizeof why, "The arguments of \"%.*s\" are %s. Call it again with one JSON object.", (int)SHOWN,
             k->name, mcpi_word_at(kinds, (int)mcp_json_type(args)));
    if (args) mcpi_call_failed(a, k, MCP_ERR_INVALID, why);
    else mcpi_call_failed(a, k, MCP_ERR_MEMORY, NULL);
    return NULL;
}

int mcp_toolbox_call(mcp_toolbox *b, const mcp_json *call, mcp_arena *a, mcp_tool_call *k)
{
    static const char words[] = "arguments\0" "input\0" "args\0";
    const mcp_json *inner = mcp_json_get(call, "function"), *args = NULL, *id = mcp_json_get(call, "call_id"), *name;
    const mcpi_name *x;
    int i, rc;
    if (!k) return MCP_ERR_ARGUMENT;
    memset(k, 0, sizeof *k);
    if (!inner) inner = mcp_json_get(call, "functionCall");
    if (!inner) inner = call;
    if (!id) id = mcp_json_get(call, "id");
    if (!id) id = mcp_json_get(inner, "id");
    for (i = 0; !args && i < 3; i++) args = mcp_json_get(inner, mcpi_word_at(words, i));
    k->id = mcpi_arena_text(a, mcp_json_str(id, ""));
    name = mcp_json_get(inner, "name");
    k->used = mcpi_arena_text(a, mcp_json_str(name, ""));
    rc = !b ? MCP_ERR_ARGUMENT : k->id && k->used ? MCP_OK : MCP_ERR_MEMORY;
    if (!k->id) k->id = "";
    if (!k->used) k->used = "";
    k->name = k->used;
    if (rc != MCP_OK) return mcpi_call_failed(a, k, rc, NULL);
    if (mcp_json_type(name) != MCP_JSON_STRING)
        return mcpi_call_failed(a, k, MCP_ERR_ARGUMENT, "This is no tool call: it names no tool.");
    if (*k->used && strlen(k->used) != mcp_json_size(name))
        return mcpi_call_failed(a, k, MCP_ERR_UNKNOWN, "There is no tool of this name: it holds a NUL.");
    x = (const mcpi_name *)(const void *)mcp_names_find(b->names, k->used);
    if (!x) return mcpi_call_failed(a, k, MCP_ERR_UNKNOWN, b->names->error);
    if (strcmp(x->text, k->used) != 0) k->name = mcpi_arena_text(a, x->text);
    if (!k->name) { k->name = ""; return mcpi_call_failed(a, k, MCP_ERR_MEMORY, NULL); }
    k->server = mcpi_arena_text(a, x->pub.server);
    k->tool = mcpi_arena_text(a, x->pub.tool);
    args = mcpi_call_args(a, k, args);
    if (!args) return k->status;
    mcp_writer_reset(&b->scratch);
    rc = mcp_schema_unfit(((const mcpi_tool *)x->user)->fit, args, &b->scratch);
    k->args = rc == MCP_OK ? mcp_writer_text(&b->scratch, NULL) : NULL;
    if (k->args) k->args = mcpi_arena_text(a, k->args);
    if (rc == MCP_OK && (!k->args || !k->server || !k->tool)) rc = MCP_ERR_MEMORY;
    if (rc == MCP_OK && *k->args != '{')            /* a root that is no object is sent as "input", and comes back bare */
        return mcpi_call_failed(a, k, MCP_ERR_INVALID, "The schema of this tool is not one of an object, so it cannot be called.");
    return rc == MCP_OK ? rc : mcpi_call_failed(a, k, rc, NULL);
}

/* -- results ----------------------------------------------------------------------------------------------------- */
/* A result is read twice: which of its images can be sent decides how it is wrapped. Text gathers until an image comes
   between, or the end. */

typedef struct mcpi_result {
    mcp_toolbox *b;
    mcp_writer *w, *images;                 /* where images go as parts; NULL: nowhere */
    size_t len, lost;                       /* of the text that has gathered; bytes over the limit */
    size_t text, limit, room;               /* bytes of text so far, and at most; bytes left for images */
    bool parts, spoken;                     /* w is in an array of parts; there was text of the tool's */
    int status;
} mcpi_result;

static void mcpi_result_bytes(mcpi_result *r, const char *s, size_t n)
{
    mcp_toolbox *b = r->b;
    size_t left = r->limit - r->text, cut = n;
    int i;
    if (cut > left) {
        cut = left;
        for (i = 0; i < 3 && cut && ((unsigned char)s[cut] & 0xC0) == 0x80; i++) cut--;
        r->lost += n - cut;
        r->limit = r->text + cut;           /* and nothing comes behind it */
    }
    if (r->status == MCP_OK && !mcpi_grow(&b->d.alloc, &b->text, &b->text_cap, r->len + cut, 0))
        r->status = MCP_ERR_MEMORY;
    if (r->status != MCP_OK) return;
    memcpy(b->text + r->len, s, cut);
    r->len += cut;
    r->text += cut;
}

static void mcpi_result_text(mcpi_result *r, const char *s) { mcpi_result_bytes(r, s, strlen(s)); }

/* Begins a piece: pieces are joined with LF. */
static void mcpi_result_piece(mcpi_result *r, const char *s, size_t n)
{
    if (r->len) mcpi_result_bytes(r, "\n", 1);
    mcpi_result_bytes(r, s, n);
}

/* What is not text, as a line in brackets: what it is, and what is known of it. */
static void mcpi_result_note(mcpi_result *r, const char *what, const mcp_json *body, const mcp_json *data,
                             const char *tail)
{
    static const char keys[] = "name\0" "uri\0" "mimeType\0" "description\0";
    uint64_t size = mcp_json_size(data) / 4 * 3;
    const char *text = mcp_json_str(data, ""), *s;
    char number[40];
    int i;
    if (size && text[mcp_json_size(data) - 1] == '=') size -= text[mcp_json_size(data) - 2] == '=' ? 2 : 1;
    mcpi_result_piece(r, "[", 1);
    mcpi_result_text(r, what);
    for (i = 0; i < 4; i++) {
        if (!*(s = mcp_json_str(mcp_json_get(body, mcpi_word_at(keys, i)), ""))) continue;
        mcpi_result_text(r, i == 0 ? " " : ", ");
        mcpi_result_text(r, s);
    }
    if (size || mcp_json_uint(mcp_json_get(body, "size"), &size)) {
        mcpi_say(number, sizeof number, ", %l bytes", (int64_t)size);
        mcpi_result_text(r, number);
    }
    mcpi_result_text(r, tail);
    mcpi_result_text(r, "]");
}

static bool mcpi_is_base64(const char *s, size_t n)
{
    if (!n || n % 4) return false;
    if (s[n - 1] == '=') n -= s[n - 2] == '=' ? 2 : 1;
    while (n && mcpi_base64_digit(s[n - 1]) < 64) n--;
    return !n;
}

/* The base64 text of a block that can go as an image, or NULL. */
static const mcp_json *mcpi_result_image(const mcpi_result *r, const mcp_json *block, const char **mime)
{
    bool resource = mcpi_is(mcp_json_get(block, "type"), "resource");
    const mcp_json *body = resource ? mcp_json_get(block, "resource") : block;
    const mcp_json *data = mcp_json_get(body, resource ? "blob" : "data");
    if (!r->images || mcp_json_type(data) != MCP_JSON_STRING || mcp_json_size(data) > r->room) return NULL;
    *mime = mcp_json_str(mcp_json_get(body, "mimeType"), "");
    if (strcmp(*mime, "image/jpg") == 0) *mime = "image/jpeg";
    if (mcpi_word_of(r->b->d.form < MCP_FORM_GEMINI ? "image/png\0" "image/jpeg\0" "image/webp\0" "image/gif\0" :
                     "image/png\0" "image/jpeg\0" "image/webp\0" "image/heic\0" "image/heif\0", *mime) < 0) return NULL;
    return mcpi_is_base64(mcp_json_str(data, ""), mcp_json_size(data)) ? data : NULL;
}

static void mcpi_put_data_url(mcp_writer *w, const char *key, const char *mime, const mcp_json *data)
{
    if (!mcpi_put_key(w, key)) return;
    mcpi_put_bytes(w, "\"data:", 6);
    mcpi_put_bytes(w, mime, strlen(mime));
    mcpi_put_bytes(w, ";base64,", 8);
    mcpi_put_bytes(w, data->u.text, data->n);
    mcpi_put_bytes(w, "\"", 1);
}

static void mcpi_put_image(mcp_writer *w, mcp_form form, const char *mime, const mcp_json *data)
{
    mcp_put_object(w, NULL);
    switch (form) {
    case MCP_FORM_RESPONSES:
        mcp_put_str(w, "type", "input_image");
        mcpi_put_data_url(w, "image_url", mime, data);
        break;
    case MCP_FORM_ANTHROPIC:
        mcp_put_str(w, "type", "image");
        mcp_put_object(w, "source");
        mcp_put_str(w, "type", "base64");
        mcp_put_str(w, "media_type", mime);
        mcp_put_json(w, "data", data);
        mcp_put_end(w);
        break;
    case MCP_FORM_GEMINI: case MCP_FORM_GEMINI_JSON:
        mcp_put_object(w, "inlineData");
        mcp_put_str(w, "mimeType", mime);
        mcp_put_json(w, "data", data);
        mcp_put_end(w);
        break;
    case MCP_FORM_OPENAI: default:
        mcp_put_str(w, "type", "image_url");
        mcp_put_object(w, "image_url");
        mcpi_put_data_url(w, "url", mime, data);
        mcp_put_end(w);
    }
    mcp_put_end(w);
}

static void mcpi_put_text_part(mcp_writer *w, mcp_form form, const char *s, size_t n)
{
    mcp_put_object(w, NULL);
    mcp_put_str(w, "type", form == MCP_FORM_RESPONSES ? "input_text" : "text");
    mcp_put_strn(w, "text", s, n);
    mcp_put_end(w);
}

/* What has gathered becomes a part. */
static void mcpi_result_flush(mcpi_result *r)
{
    if (r->len) mcpi_put_text_part(r->w, r->b->d.form, r->b->text, r->len);
    r->len = 0;
}

static void mcpi_result_block(mcpi_result *r, const mcp_json *block)
{
    const mcp_json *type = mcp_json_get(block, "type"), *inner = mcp_json_get(block, "resource"), *data;
    const mcp_json *text = mcp_json_get(inner ? inner : block, "text");
    const char *mime = "";
    size_t n = 0;
    if ((data = mcpi_result_image(r, block, &mime)) != NULL) {
        r->room -= mcp_json_size(data);
        if (r->parts) {
            mcpi_result_flush(r);
            mcpi_put_image(r->w, r->b->d.form, mime, data);
        } else mcpi_result_note(r, "image", inner ? inner : block, data, ": it follows");
    } else if (mcp_json_type(text) == MCP_JSON_STRING) {
        const char *s = mcp_json_text(text, &n);
        if (inner) mcpi_result_note(r, "resource", inner, NULL, "");
        if (mcpi_blanks(s, s + n) == s + n) return;         /* there are providers that refuse it */
        mcpi_result_piece(r, s, n);
        r->spoken = true;
    } else if (mcpi_is(type, "resource_link")) mcpi_result_note(r, "link to", block, NULL, "");
    else if (mcp_json_type(block) == MCP_JSON_OBJECT) {
        data = mcp_json_get(inner ? inner : block, inner ? "blob" : "data");
        mcpi_result_note(r, mcp_json_str(type, "content"), inner ? inner : block, data, ": not shown");
    }
}

/* The images alone, in the order in which the lines named them. */
static void mcpi_result_images(mcpi_result *r, const mcp_json *content, const char *id, const char *name)
{
    const mcp_json *v, *data;
    const char *mime;
    char label[200];
    bool any = false;
    r->room = r->b->d.max_images;
    for (v = mcp_json_first(content); v; v = mcp_json_next(v)) {
        if (!(data = mcpi_result_image(r, v, &mime))) continue;
        r->room -= mcp_json_size(data);
        if (!any && r->images != r->w) {
            mcpi_say(label, sizeof label, "From the tool %.*s, call %.*s:", 70, name, 70, id);
            mcpi_put_text_part(r->images, r->b->d.form, label, strlen(label));
        }
        any = true;
        mcpi_put_image(r->images, r->b->d.form, mime, data);
    }
}

/* All that there is to say. */
static void mcpi_result_gather(mcpi_result *r, const mcp_tool_call *k, const mcp_reply *reply, bool flag)
{
    const mcp_json *v, *content = mcp_json_get(reply ? reply->result : NULL, "content");
    char text[64];
    if (k->status != MCP_OK || !reply)
        mcpi_result_text(r, k->error ? k->error : mcp_strerror(k->status != MCP_OK ? k->status : MCP_ERR_FAILED));
    else if (reply->status != MCP_OK) {
        mcpi_result_text(r, "The call failed: ");
        mcpi_result_text(r, reply->message ? reply->message : mcp_strerror(reply->status));
        if (reply->status == MCP_ERR_PEER) {
            mcpi_say(text, sizeof text, " (error %l)", reply->code);
            mcpi_result_text(r, text);
        }
    } else {
        if (flag) mcpi_result_text(r, "The tool reported an error:");
        for (v = mcp_json_first(content); v; v = mcp_json_next(v)) mcpi_result_block(r, v);
        v = mcp_json_get(reply->result, "structuredContent");
        if (v && !r->spoken) {
            mcp_writer_reset(&r->b->scratch);
            mcp_put_json(&r->b->scratch, NULL, v);
            if (!mcp_writer_text(&r->b->scratch, NULL)) r->status = MCP_ERR_MEMORY;
            else mcpi_result_piece(r, r->b->scratch.buf, r->b->scratch.len);
        } else if (!r->text && r->room == r->b->d.max_images) mcpi_result_text(r, "The tool returned nothing.");
    }
    if (!r->lost) return;
    r->limit = MCP_NTS;
    mcpi_result_piece(r, text, mcpi_say(text, sizeof text, "[cut here: %z bytes more]", r->lost));
}

/* A member for what was said. In an array of parts each text is one, as what has gathered is at the end. */
static void mcpi_result_say(mcpi_result *r, const char *key, const mcp_tool_call *k, const mcp_reply *reply, bool flag)
{
    if (r->parts) mcp_put_array(r->w, key);
    mcpi_result_gather(r, k, reply, flag);
    if (r->parts) {
        mcpi_result_flush(r);
        mcp_put_end(r->w);
    } else mcp_put_strn(r->w, key, r->len ? r->b->text : "", r->len);
}

int mcp_toolbox_result(mcp_toolbox *b, const mcp_tool_call *k, const mcp_reply *reply, mcp_writer *w,
                       mcp_writer *images)
{
    bool called = k && k->status == MCP_OK && reply, failed = !called || mcp_reply_is_error(reply);
    const mcp_json *content = called && reply->status == MCP_OK ? mcp_json_get(reply->result, "content") : NULL, *v;
    const char *mime, *id, *name;
    mcpi_result r;
    if (!b || !k || !w) return MCP_ERR_ARGUMENT;
    id = k->id ? k->id : "";
    name = k->used ? k->used : k->name ? k->name : "";
    memset(&r, 0, sizeof r);
    r.b = b;
    r.w = w;
    r.limit = b->d.max_text;
    r.room = b->d.max_images;
    if (!b->d.no_images) r.images = b->d.form == MCP_FORM_OPENAI ? images : w;
    if (failed && b->d.form == MCP_FORM_ANTHROPIC) r.images = NULL;         /* what has is_error is text alone */
    if (b->d.form == MCP_FORM_RESPONSES || b->d.form == MCP_FORM_ANTHROPIC)
        for (v = mcp_json_first(content); v && !r.parts; v = mcp_json_next(v))
            r.parts = mcpi_result_image(&r, v, &mime) != NULL;
    mcp_put_object(w, NULL);
    switch (b->d.form) {
    case MCP_FORM_RESPONSES:
        mcp_put_str(w, "type", "function_call_output");
        mcp_put_str(w, "call_id", id);
        mcpi_result_say(&r, "output", k, reply, failed);
        break;
    case MCP_FORM_ANTHROPIC:
        mcp_put_str(w, "type", "tool_result");
        mcp_put_str(w, "tool_use_id", id);
        if (failed) mcp_put_bool(w, "is_error", true);
        mcpi_result_say(&r, "content", k, reply, false);
        break;
    case MCP_FORM_GEMINI: case MCP_FORM_GEMINI_JSON:
        mcp_put_object(w, "functionResponse");
        if (*id) mcp_put_str(w, "id", id);
        mcp_put_str(w, "name", name);
        mcp_put_object(w, "response");
        mcpi_result_say(&r, failed ? "error" : "output", k, reply, false);
        mcp_put_end(w);
        mcp_put_end(w);
        break;
    case MCP_FORM_OPENAI: default:
        mcp_put_str(w, "role", "tool");
        mcp_put_str(w, "tool_call_id", id);
        mcpi_result_say(&r, "content", k, reply, failed);
    }
    mcp_put_end(w);
    if (!r.parts) mcpi_result_images(&r, content, id, name);
    return r.status != MCP_OK ? r.status : r.images && r.images->status != MCP_OK ? r.images->status : w->status;
}

#endif
#ifndef MCP_NO_POSIX
/* ============================================================================================================== *
 * >>posix  the only part that touches the operating system                                                        *
 * ============================================================================================================== */
/* A library inside somebody else's program owns neither its descriptors nor its signals nor its children.
   Most of the code below is there to keep to that.

   Descriptors that were given keep their flags: O_NONBLOCK belongs to the open file, and so also to the
   shell or the terminal that shares it. What kind of file it is decides how reading and writing are kept
   from blocking. Descriptors of our own are close-on-exec, and never 0, 1 or 2, even when the program has
   closed those: else the next printf would write into a pipe of ours.

   No signal handler is set. SIGPIPE is blocked in this thread around a write, and taken back if the write
   made it. SIGCHLD may be ignored or handled by the program, so that somebody else may reap our child: its
   status is then unknown, and that is no error.

   Nothing is kept in globals: what has to be known about the process is asked of the system.

   Nothing waits, but for one thing: starting a child waits until exec has happened or failed, so that a
   mistyped command is an error of the call that made it. */

/* On Linux sigprocmask concerns this thread only, and needs no -lpthread where glibc is old. */
#ifdef __linux__
#  define MCPI_SIGMASK sigprocmask
#else
#  define MCPI_SIGMASK pthread_sigmask
#endif
#ifdef MSG_NOSIGNAL
#  define MCPI_NOSIGNAL MSG_NOSIGNAL
#else
#  define MCPI_NOSIGNAL 0                   /* such systems have SO_NOSIGPIPE or F_SETNOSIGPIPE */
#endif
#ifdef SOCK_CLOEXEC
#  define MCPI_SOCK_CLOEXEC SOCK_CLOEXEC    /* another thread may fork before mcpi_fd_own has set it */
#else
#  define MCPI_SOCK_CLOEXEC 0
#endif
#if !defined(MCP_NO_SERVER) || !defined(MCP_NO_CLIENT)
#  define MCPI_ENGINE
#endif

/* -- descriptors ----------------------------------------------------------------------------------------- */

/* Keeps errno. EINTR is not retried: the descriptor is gone, its number perhaps another thread's already. */
static void mcpi_close(int *fd)
{
    int saved = errno;
    if (*fd >= 0) (void)close(*fd);
    *fd = -1;
    errno = saved;
}

#if defined(MCPI_ENGINE) || defined(__linux__)
/* Makes a new descriptor one of ours: close-on-exec, at least 3, non-blocking if asked. Its number is then
   the one that is returned, or -1 when there was none or there are no more. */
static int mcpi_fd_own(int fd, bool nonblock)
{
    int own = fd;
    if (fd >= 0 && fd < 3) {
        own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
        mcpi_close(&fd);
    }
    if (own < 0) return -1;
    (void)fcntl(own, F_SETFD, FD_CLOEXEC);
    if (nonblock) (void)fcntl(own, F_SETFL, fcntl(own, F_GETFL) | O_NONBLOCK);
#ifdef F_SETNOSIGPIPE
    (void)fcntl(own, F_SETNOSIGPIPE, 1);
#endif
    return own;
}
#endif

#ifdef MCPI_ENGINE
static bool mcpi_fd_own_pair(int pair[2], bool nonblock)
{
    pair[0] = mcpi_fd_own(pair[0], nonblock);
    pair[1] = mcpi_fd_own(pair[1], nonblock);
    if (pair[0] >= 0 && pair[1] >= 0) return true;
    mcpi_close(&pair[0]);
    mcpi_close(&pair[1]);
    return false;
}

/* Where there is no pipe2, another thread that forks at the wrong moment passes the pipe on. */
static bool mcpi_pipe(int ends[2])
{
#if defined(__linux__) && defined(SYS_pipe2)
    bool made = syscall(SYS_pipe2, ends, O_CLOEXEC) == 0;
#else
    bool made = pipe(ends) == 0;
#endif
    if (!made) ends[0] = ends[1] = -1;
    return made && mcpi_fd_own_pair(ends, false);
}
#endif

/* How many are ready; 0 also when a signal came, and -1 is an error. */
static int mcpi_poll(struct pollfd *fds, int n, int timeout_ms)
{
    int i, ready = poll(fds, (nfds_t)n, timeout_ms);
    if (ready >= 0 || errno != EINTR) return ready;
    for (i = 0; i < n; i++) fds[i].revents = 0;
    return 0;
}

/* Any event counts. POLLNVAL too: some systems answer it for a terminal or /dev/null, and for the rest read
   tells. */
static bool mcpi_fd_ready(int fd, short events)
{
    struct pollfd p;
    p.fd = fd;
    p.events = events;
    p.revents = 0;
    return mcpi_poll(&p, 1, 0) > 0;
}

/* The status for errno. EWOULDBLOCK is EAGAIN on every system that has poll. ECONNRESET: the peer has closed its
   socket, and not read all. */
static int mcpi_errno_status(void)
{
    if (errno == EAGAIN || errno == EINTR) return MCP_ERR_AGAIN;
    return errno == EPIPE || errno == ECONNRESET ? MCP_ERR_CLOSED : MCP_ERR_TRANSPORT;
}

/* Bytes read, 0 at the end, or a status. A caller that lets it block does not hear of signals. */
static ptrdiff_t mcpi_fd_read(int fd, void *buf, size_t n)
{
    ssize_t k;
    do k = read(fd, buf, n); while (k < 0 && errno == EINTR);
    return k < 0 ? mcpi_errno_status() : (ptrdiff_t)k;
}

/* -- SIGPIPE --------------------------------------------------------------------------------------------- */

static bool mcpi_sigpipe_pending(void)
{
    sigset_t set;
    return sigpending(&set) == 0 && sigismember(&set, SIGPIPE) == 1;
}

/* Until restore, a write without a reader fails with EPIPE, and this thread gets no signal for it. */
static void mcpi_sigpipe_block(mcpi_sigpipe *s)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGPIPE);
    (void)MCPI_SIGMASK(SIG_BLOCK, &set, &s->old);
    s->blocked = sigismember(&s->old, SIGPIPE) == 1;
    s->pending = s->blocked && mcpi_sigpipe_pending();      /* one that is not blocked does not wait */
}

/* Takes a SIGPIPE that came meanwhile, but none that was waiting before. Changes nothing else in the mask:
   a callback may have done so. Keeps errno.

   A write's SIGPIPE is for the thread that wrote, and it alone can take it. What kill(2) sends is for the whole
   process, and cannot be told apart: if it waits for any thread, it is taken here, too. Another thread may take it
   first, so nothing here may wait for it; where there is no sigtimedwait (macOS, OpenBSD), the moment between the two
   calls is left. */
static void mcpi_sigpipe_restore(mcpi_sigpipe *s)
{
    int saved = errno;
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGPIPE);
    if (!s->pending) {
#if defined(_POSIX_REALTIME_SIGNALS) && _POSIX_REALTIME_SIGNALS > 0
        struct timespec now = { 0, 0 };
        (void)sigtimedwait(&set, NULL, &now);
#else
        int number;
        if (mcpi_sigpipe_pending()) (void)sigwait(&set, &number);
#endif
    }
    if (!s->blocked) (void)MCPI_SIGMASK(SIG_UNBLOCK, &set, NULL);
    errno = saved;
}

/* Bytes written, or a status: MCP_ERR_CLOSED when nobody reads any more. */
static ptrdiff_t mcpi_write(int fd, const void *buf, size_t n, bool shielded)
{
    mcpi_sigpipe sigpipe;
    ssize_t k;
    if (!shielded) mcpi_sigpipe_block(&sigpipe);
    k = write(fd, buf, n);
    if (!shielded) mcpi_sigpipe_restore(&sigpipe);
    return k < 0 ? mcpi_errno_status() : (ptrdiff_t)k;
}

/* -- streams over descriptors ---------------------------------------------------------------------------- */
/* How a descriptor is kept from blocking. A socket takes MSG_DONTWAIT. A regular file is not waited for,
   and what is O_NONBLOCK already needs no care. A pipe is opened once more for writing, where the system
   can do that: the new file description has flags of its own. All else is asked by poll before each read or
   write, and written PIPE_BUF bytes at most: so much a pipe promises when it is ready, one byte more may
   block. */

enum { MCPI_FD_PLAIN, MCPI_FD_SOCKET, MCPI_FD_FIFO, MCPI_FD_ASK };   /* from MCPI_FD_FIFO on: asked by poll */

typedef struct mcpi_fds {
    mcp_allocator alloc;
    int rfd, wfd;                           /* as given */
    int out;                                /* where to write: wfd, or the same pipe opened once more */
    int rkind, wkind;
    bool own, ready, shield;                /* ready: the next read need not ask */
} mcpi_fds;

static int mcpi_fd_kind(int fd)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0) return MCP_ERR_ARGUMENT;
    if (fstat(fd, &st) < 0) return MCPI_FD_PLAIN;       /* EOVERFLOW: a regular file over 2 GiB */
    if (S_ISSOCK(st.st_mode)) return MCPI_FD_SOCKET;
    if ((flags & O_NONBLOCK) || S_ISREG(st.st_mode)) return MCPI_FD_PLAIN;
    return S_ISFIFO(st.st_mode) ? MCPI_FD_FIFO : MCPI_FD_ASK;
}

/* A terminal whose other side has gone says EIO. */
static bool mcpi_fd_hung_up(int fd)
{
    struct stat st;
    return errno == EIO && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode);
}

/* Asking first costs a system call for each read. A loop that has polled already says so with
   mcpi_io_readable. */
static ptrdiff_t mcpi_fds_read(void *user, void *buf, size_t n)
{
    mcpi_fds *f = (mcpi_fds *)user;
    bool ask = f->rkind >= MCPI_FD_FIFO && !f->ready;
    ptrdiff_t k;
    f->ready = false;
    if (f->rkind == MCPI_FD_SOCKET) {
        k = recv(f->rfd, buf, n, MSG_DONTWAIT);
        return k < 0 ? mcpi_errno_status() : k;
    }
    if (ask && !mcpi_fd_ready(f->rfd, POLLIN)) return MCP_ERR_AGAIN;
    k = mcpi_fd_read(f->rfd, buf, n);
    return k < 0 && mcpi_fd_hung_up(f->rfd) ? 0 : k;
}

static ptrdiff_t mcpi_fds_write(void *user, const void *buf, size_t n)
{
    mcpi_fds *f = (mcpi_fds *)user;
    ptrdiff_t k;
    if (n > (size_t)1 << 30) n = (size_t)1 << 30;       /* some systems refuse more than INT_MAX */
    if (f->wkind == MCPI_FD_SOCKET) {
        k = send(f->out, buf, n, MSG_DONTWAIT | MCPI_NOSIGNAL);
        return k < 0 ? mcpi_errno_status() : k;
    }
    if (f->wkind != MCPI_FD_PLAIN) {
        if (!mcpi_fd_ready(f->out, POLLOUT)) return MCP_ERR_AGAIN;
        if (n > PIPE_BUF) n = PIPE_BUF;
    }
    return mcpi_write(f->out, buf, n, f->shield);
}

/* One entry when reading and writing concern the same descriptor, since some systems want it once only. */
static int mcpi_fds_poll(void *user, bool want_read, bool want_write, struct pollfd *fds, int cap)
{
    mcpi_fds *f = (mcpi_fds *)user;
    int i, n = want_read && want_write && f->rfd != f->out ? 2 : want_read || want_write;
    for (i = 0; i < n && i < cap; i++) {
        bool reads = want_read && i == 0, writes = want_write && i == n - 1;
        fds[i].fd = reads ? f->rfd : f->out;
        fds[i].events = (short)((reads ? POLLIN : 0) | (writes ? POLLOUT : 0));
        fds[i].revents = 0;
    }
    return n;
}

/* The pipe that was opened once more is ours, and while it is open its reader sees no end. */
static void mcpi_fds_close(void *user)
{
    mcpi_fds *f = (mcpi_fds *)user;
    mcp_allocator alloc = f->alloc;
    if (f->out != f->wfd) mcpi_close(&f->out);
    if (f->own && f->wfd != f->rfd) mcpi_close(&f->wfd);
    if (f->own) mcpi_close(&f->rfd);
    mcpi_free(&alloc, f, sizeof *f);
}

/* Once, when the stream is made. Where /proc is missing or the pipe is another user's, poll has to do. */
static void mcpi_fds_prepare_write(mcpi_fds *f)
{
    (void)f;
#ifdef __linux__
    if (f->wkind == MCPI_FD_FIFO) {
        char path[32];
        int fd;
        (void)mcpi_say(path, sizeof path, "/proc/self/fd/%d", f->wfd);
        fd = mcpi_fd_own(open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC), false);
        if (fd >= 0) { f->out = fd; f->wkind = MCPI_FD_PLAIN; }
    }
#endif
#if !defined(MSG_NOSIGNAL) && defined(SO_NOSIGPIPE)
    if (f->wkind == MCPI_FD_SOCKET) {
        int on = 1;
        (void)setsockopt(f->wfd, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    }
#endif
}

int mcp_io_fds(const mcp_allocator *alloc, int read_fd, int write_fd, bool own, mcp_io *out)
{
    int rkind = mcpi_fd_kind(read_fd), wkind = mcpi_fd_kind(write_fd);
    mcpi_fds *f;
    if (!out) return MCP_ERR_ARGUMENT;
    memset(out, 0, sizeof *out);
    if (rkind < 0 || wkind < 0) return MCP_ERR_ARGUMENT;
    f = (mcpi_fds *)mcpi_zalloc(alloc, sizeof *f);
    if (!f) return MCP_ERR_MEMORY;
    if (alloc) f->alloc = *alloc;
    f->rfd = read_fd;
    f->wfd = f->out = write_fd;
    f->rkind = rkind;
    f->wkind = wkind;
    f->own = own;
    mcpi_fds_prepare_write(f);
    out->read = mcpi_fds_read;
    out->write = mcpi_fds_write;
    out->poll = mcpi_fds_poll;
    out->close = mcpi_fds_close;
    out->user = f;
    return MCP_OK;
}

#ifdef MCPI_ENGINE
/* What a loop knows about the streams it polls. The next read need not ask, once: poll has seen something,
   or the caller would rather wait in read. And writes need not block SIGPIPE, which the caller has done for
   all of them. */
static bool mcpi_io_is_fds(const mcp_io *io)
{
    return io->read == mcpi_fds_read;
}

static void mcpi_io_readable(const mcp_io *io)
{
    if (mcpi_io_is_fds(io)) ((mcpi_fds *)io->user)->ready = true;
}

static void mcpi_io_shield(const mcp_io *io, bool on)
{
    if (mcpi_io_is_fds(io)) ((mcpi_fds *)io->user)->shield = on;
}
#endif

/* -- posts from other threads and signal handlers -------------------------------------------------------- */
/* What is posted is a function and its argument, and these two pointers themselves travel through a pair of
   sockets: send may be called anywhere, even in a signal handler, and C99 has no atomics to build a queue
   in memory with. Sequenced packets where they exist, because shutdown is exact with them: a packet is
   refused, or it is in the queue when shutdown returns. */

typedef struct mcpi_letter { void (*fn)(void *owner, void *arg); void *arg; } mcpi_letter;

struct mcp_poster { mcp_allocator alloc; int fd; };

/* Shared by all posters of a mailbox, which wants no lock: a packet is sent whole or not at all. */
int mcp_post(const mcp_poster *p, void (*fn)(void *owner, void *arg), void *arg)
{
    mcpi_letter letter;
    int saved = errno, status = MCP_OK;
    ssize_t k;
    if (!p || !fn) return MCP_ERR_ARGUMENT;
    letter.fn = fn;
    letter.arg = arg;
    k = send(p->fd, &letter, sizeof letter, MSG_DONTWAIT | MCPI_NOSIGNAL);
    if (k < 0 && (errno == ENOBUFS || errno == ENOMEM)) errno = EAGAIN;     /* full, elsewhere */
    if (k < 0) status = mcpi_errno_status() == MCP_ERR_AGAIN ? MCP_ERR_AGAIN : MCP_ERR_CLOSED;
    errno = saved;
    return status;
}

void mcp_poster_free(mcp_poster *p)
{
    mcp_allocator alloc;
    if (!p) return;
    alloc = p->alloc;
    mcpi_close(&p->fd);
    mcpi_free(&alloc, p, sizeof *p);
}

#ifdef MCPI_ENGINE
/* macOS has no sequenced packets here; its datagrams keep their borders just as well. */
static int mcpi_mailbox_open(mcpi_mailbox *m)
{
    int ends[2];
    m->rfd = m->wfd = -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | MCPI_SOCK_CLOEXEC, 0, ends) < 0
        && socketpair(AF_UNIX, SOCK_DGRAM | MCPI_SOCK_CLOEXEC, 0, ends) < 0) return MCP_ERR_TRANSPORT;
    if (!mcpi_fd_own_pair(ends, true)) return MCP_ERR_TRANSPORT;
    m->rfd = ends[0];
    m->wfd = ends[1];
    return MCP_OK;
}

/* Has a descriptor of its own, so that it may outlive the mailbox. */
static mcp_poster *mcpi_mailbox_poster(mcpi_mailbox *m, const mcp_allocator *a)
{
    mcp_poster *p = m->wfd < 0 ? NULL : (mcp_poster *)mcpi_zalloc(a, sizeof *p);
    if (!p) return NULL;
    if (a) p->alloc = *a;
    p->fd = fcntl(m->wfd, F_DUPFD_CLOEXEC, 3);
    if (p->fd >= 0) return p;
    mcp_poster_free(p);
    return NULL;
}

/* The next letter, if there is one. What has another length is none: the end of the mailbox has no bytes. */
static bool mcpi_mailbox_take(int fd, mcpi_letter *letter)
{
    ssize_t k;
    do k = recv(fd, letter, sizeof *letter, MSG_DONTWAIT); while (k < 0 && errno == EINTR);
    return k == (ssize_t)sizeof *letter;
}

/* Calls what was posted, at most max; how many. A call may close the mailbox. */
static int mcpi_mailbox_run(mcpi_mailbox *m, void *owner, int max)
{
    mcpi_letter letter;
    int n = 0;
    while (n < max && m->rfd >= 0 && mcpi_mailbox_take(m->rfd, &letter)) {
        n++;
        letter.fn(owner, letter.arg);
    }
    return n;
}

/* From here on posts are refused; what is queued is called with owner NULL. A post that races with this is
   either run or refused. The writing side is shut down, since shutting down the other drops the queue on
   some systems. */
static void mcpi_mailbox_close(mcpi_mailbox *m)
{
    mcpi_letter letter;
    int fd = m->rfd;
    if (fd < 3) return;                     /* none, or all bits zero */
    m->rfd = -1;
    (void)shutdown(m->wfd, SHUT_WR);
    mcpi_close(&m->wfd);
    while (mcpi_mailbox_take(fd, &letter)) letter.fn(NULL, letter.arg);
    mcpi_close(&fd);
}

static int64_t mcpi_clock_ms(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) < 0) return 0;
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
#endif /* MCPI_ENGINE */

#ifndef MCP_NO_SERVER
static int64_t mcpi_wall_ms(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_REALTIME, &t) < 0) return 0;
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Bytes that nobody can guess. false: the system has none. */
static bool mcpi_random(void *buf, size_t n)
{
    ptrdiff_t k = 0;
    size_t have = 0;
    int fd;
#if defined(__linux__) && defined(SYS_getrandom)
    if (syscall(SYS_getrandom, buf, n, 1) == (long)n) return true;      /* 1: GRND_NONBLOCK */
#endif
    fd = mcpi_fd_own(open("/dev/urandom", O_RDONLY | O_CLOEXEC), false);
    if (fd < 0) return false;
    while (have < n && (k = mcpi_fd_read(fd, (char *)buf + have, n - have)) > 0) have += (size_t)k;
    mcpi_close(&fd);
    return have == n;
}

/* -- standard streams ------------------------------------------------------------------------------------ */

/* One line in one write. Dropped when stderr is a full pipe: a log must not stop the protocol. */
static void mcpi_stderr(const char *text)
{
    char line[512];                         /* PIPE_BUF is at least this */
    int saved = errno;
    size_t n = mcpi_say(line, sizeof line - 1, "mcp: %s", text);
    line[n++] = '\n';
    if (mcpi_fd_ready(2, POLLOUT)) (void)mcpi_write(2, line, n, false);
    errno = saved;
}

/* The guard leaves its mark in the open file: nobody else makes this process the owner of a descriptor 0
   that is no terminal. Where /dev/null can have no owner a second server is not noticed, and just finds its
   input at its end. */
static bool mcpi_guard_taken(void)
{
    return fcntl(0, F_GETOWN) == (int)getpid() && !isatty(0);
}

/* What stray readers of descriptor 0 get; in a root without /dev/null, a pipe that nobody writes to. */
static int mcpi_guard_null(void)
{
    int ends[2], fd = mcpi_fd_own(open("/dev/null", O_RDWR | O_CLOEXEC), false);
    if (fd >= 0 || !mcpi_pipe(ends)) return fd;
    mcpi_close(&ends[1]);
    return ends[0];
}

/* Moves 0 and 1 out of the way. dup2 does it in one step: no other thread can get the number in between. */
static bool mcpi_guard_redirect(void)
{
    int null = mcpi_guard_null();
    bool ok = null >= 0 && dup2(null, 0) == 0 && (dup2(2, 1) == 1 || dup2(null, 1) == 1);
    if (ok) (void)fcntl(0, F_SETOWN, getpid());
    mcpi_close(&null);
    return ok;
}

/* From here on the protocol has descriptors 0 and 1 for itself, under other numbers; a printf or a child of
   the program finds /dev/null and stderr there. raw leaves 0 and 1 alone and only duplicates. */
static int mcpi_guard_take(mcpi_guard *g, bool raw, char *why, size_t cap)
{
    int fd;
    g->in = g->out = -1;
    g->active = false;
    for (fd = 0; fd < 2; fd++) {            /* a daemon may have closed them, or opened its database there */
        if (fcntl(fd, F_GETFD) >= 0) continue;
        (void)mcpi_say(why, cap, "descriptor %d is closed", fd);
        return MCP_ERR_TRANSPORT;
    }
    if (mcpi_guard_taken()) {
        (void)mcpi_say(why, cap, "another server of this process has stdin and stdout");
        return MCP_ERR_MISUSE;
    }
    g->in = fcntl(0, F_DUPFD_CLOEXEC, 3);
    g->out = fcntl(1, F_DUPFD_CLOEXEC, 3);
    g->active = !raw && g->in >= 0 && g->out >= 0;
    if (g->in >= 0 && g->out >= 0 && (raw || mcpi_guard_redirect())) return MCP_OK;
    (void)mcpi_say(why, cap, "cannot move stdin and stdout away: %s", strerror(errno));
    mcpi_guard_undo(g);
    return MCP_ERR_TRANSPORT;
}

static void mcpi_guard_undo(mcpi_guard *g)
{
    if (g->active) {
        (void)dup2(g->in, 0);
        (void)dup2(g->out, 1);
    }
    g->active = false;
    if (g->in >= 3) mcpi_close(&g->in);     /* all bits zero: nothing was taken */
    if (g->out >= 3) mcpi_close(&g->out);
}

/* -- a listening Unix socket ----------------------------------------------------------------------------- */

static int mcpi_socket(void)
{
    return mcpi_fd_own(socket(AF_UNIX, SOCK_STREAM | MCPI_SOCK_CLOEXEC, 0), true);
}

/* NULL: nobody listens at this address and its socket file, if any, can go; else why not. */
static const char *mcpi_unix_occupied(const struct sockaddr_un *to)
{
    struct stat st;
    int fd, failed;
    if (lstat(to->sun_path, &st) < 0) return NULL;
    if (!S_ISSOCK(st.st_mode)) return "there is a file that is no socket";
    fd = mcpi_socket();
    failed = fd >= 0 && connect(fd, (const struct sockaddr *)to, sizeof *to) == 0 ? 0 : errno;
    mcpi_close(&fd);
    if (failed == ECONNREFUSED || failed == ENOENT) return NULL;
    if (failed == 0 || failed == EAGAIN || failed == EPROTOTYPE) return "another process listens there";
    return strerror(failed);
}

/* NULL, or why not. */
static const char *mcpi_unix_bind(int fd, const struct sockaddr_un *to)
{
    const char *why;
    if (bind(fd, (const struct sockaddr *)to, sizeof *to) == 0) return NULL;
    if (errno != EADDRINUSE) return strerror(errno);
    why = mcpi_unix_occupied(to);
    if (why) return why;
    (void)unlink(to->sun_path);
    return bind(fd, (const struct sockaddr *)to, sizeof *to) == 0 ? NULL : strerror(errno);
}

/* A listening descriptor, or a status and why. The socket file of a process that has died is replaced. */
static int mcpi_listen_unix(const char *path, char *why, size_t cap)
{
    struct sockaddr_un to;
    size_t len = strlen(path);
    const char *wrong;
    int fd;
    memset(&to, 0, sizeof to);
    if (len == 0 || len >= sizeof to.sun_path) {
        (void)mcpi_say(why, cap, "the path of a socket has 1 to %z bytes, not %z",
                       sizeof to.sun_path - 1, len);
        return MCP_ERR_ARGUMENT;
    }
    to.sun_family = AF_UNIX;
    memcpy(to.sun_path, path, len);
    fd = mcpi_socket();
    wrong = fd < 0 ? strerror(errno) : mcpi_unix_bind(fd, &to);
    if (!wrong && listen(fd, SOMAXCONN) < 0) wrong = strerror(errno);
    if (!wrong) return fd;
    (void)mcpi_say(why, cap, "cannot listen on \"%s\": %s", path, wrong);
    mcpi_close(&fd);
    return MCP_ERR_TRANSPORT;
}

/* Who is at the other end, by the word of the system. */
static void mcpi_peer_principal(int fd, char *principal, size_t cap)
{
#if defined(__linux__) && defined(SO_PEERCRED)
    struct { int pid; unsigned uid, gid; } peer;        /* struct ucred, which only _GNU_SOURCE shows */
    socklen_t len = sizeof peer;
    bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.uid != ~0u;
    if (known) (void)mcpi_say(principal, cap, "uid:%u", peer.uid);
#elif defined(__APPLE__) || defined(__FreeBSD__) || defined(__DragonFly__) || defined(__OpenBSD__) \
   || defined(__NetBSD__)
    uid_t uid;
    gid_t gid;
    if (getpeereid(fd, &uid, &gid) == 0) (void)mcpi_say(principal, cap, "uid:%u", (unsigned)uid);
#else
    (void)fd; (void)principal; (void)cap;
#endif
}

/* A non-blocking descriptor, or a status. A peer that left before it was accepted is none. With
   MCP_ERR_TRANSPORT (no descriptors are left) poll goes on to report the listener as readable. */
static int mcpi_accept(int fd, char *principal, size_t cap)
{
    int peer;
    if (cap) *principal = 0;
#if defined(__linux__) && defined(SYS_accept4)
    peer = mcpi_fd_own((int)syscall(SYS_accept4, fd, NULL, NULL, SOCK_CLOEXEC), true);
#else
    peer = mcpi_fd_own(accept(fd, NULL, NULL), true);
#endif
    if (peer >= 0) {
        mcpi_peer_principal(peer, principal, cap);
        return peer;
    }
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED || errno == EPROTO) return MCP_ERR_AGAIN;
    return MCP_ERR_TRANSPORT;
}

static void mcpi_unlisten(int *fd, const char *path)
{
    if (*fd >= 0) (void)unlink(path);
    mcpi_close(fd);
}
#endif /* MCP_NO_SERVER */

#ifndef MCP_NO_CLIENT
/* -- starting a child ------------------------------------------------------------------------------------ */
/* Between fork and exec only async-signal-safe calls are allowed: another thread may have held a lock of
   malloc when we forked. So everything is worked out before. What goes wrong in the child comes back
   through a pipe that exec closes: its end without a word is success. */

#ifdef __APPLE__
#  include <crt_externs.h>
#  define MCPI_ENVIRON (*_NSGetEnviron())
#else
#  ifndef _GNU_SOURCE
extern char **environ;
#  endif
#  define MCPI_ENVIRON environ
#endif

/* Why a child could not start. found: the file is there, so that ENOENT means the interpreter in its first
   line. */
typedef struct mcpi_failure { int error, in_chdir, found; } mcpi_failure;

/* All that the child needs to know, on both sides of the fork. */
typedef struct mcpi_image {
    const mcpi_spawn *how;
    const char **env; size_t env_size;
    const char *dirs;                       /* where to search: PATH, or "" for a command that is a path */
    char *file; size_t file_size;           /* room for each of them and the name */
    int max_fd;
    int pipe[4][2];                         /* stdin, stdout, stderr, failure */
} mcpi_image;

/* What is passed on with clean_env. */
static bool mcpi_env_is_clean(const char *name, size_t len)
{
    const char *s = "HOME LOGNAME PATH SHELL TERM USER ";
    size_t n;
    for (; *s; s += n + 1) {
        n = strcspn(s, " ");
        if (n == len && memcmp(s, name, n) == 0) return true;
    }
    return false;
}

/* The entry with this name, which holds no NUL in its first len bytes. */
static const char *mcpi_env_find(const char *const *list, const char *name, size_t len)
{
    for (; list && *list; list++)
        if (strncmp(*list, name, len) == 0 && ((*list)[len] == '=' || !(*list)[len])) return *list;
    return NULL;
}

/* The strings stay where they are; only the list is new. Of entries with one name the last holds. */
static bool mcpi_env_make(mcpi_image *im)
{
    const mcpi_spawn *how = im->how;
    const char *const *base = (const char *const *)MCPI_ENVIRON, *const *e;
    size_t n = 1, len;
    for (e = base; e && *e; e++) n++;
    for (e = how->env; e && *e; e++) n++;
    im->env_size = n * sizeof *im->env;
    im->env = (const char **)mcpi_alloc(how->alloc, im->env_size);
    if (!im->env) return false;
    n = 0;
    for (e = base; e && *e; e++) {
        len = strcspn(*e, "=");
        if (how->clean_env && !mcpi_env_is_clean(*e, len)) continue;
        if (!mcpi_env_find(how->env, *e, len)) im->env[n++] = *e;
    }
    for (e = how->env; e && *e; e++) {
        len = strcspn(*e, "=");
        if (len && (*e)[len] && !mcpi_env_find(e + 1, *e, len)) im->env[n++] = *e;
    }
    im->env[n] = NULL;
    return true;
}

/* Which file it is cannot be decided here: a relative PATH is relative to the child's directory, and only
   execve knows what may be executed. So the child tries them all, and here is the room for it. false: no
   memory. */
static bool mcpi_image_make(mcpi_image *im)
{
    const char *path, *name = im->how->argv[0];
    if (!mcpi_env_make(im)) return false;
    path = mcpi_env_find(im->env, "PATH", 4);
    im->dirs = strchr(name, '/') ? "" : path && path[4] ? path + 5 : "/usr/bin:/bin";
    im->file_size = strlen(im->dirs) + strlen(name) + 2;
    im->file = (char *)mcpi_alloc(im->how->alloc, im->file_size);
    return im->file != NULL;
}

static void mcpi_image_free(mcpi_image *im)
{
    mcpi_free(im->how->alloc, im->env, im->env_size);
    mcpi_free(im->how->alloc, im->file, im->file_size);
}

/* For execve, whose strings are const in all but their type. */
static char *const *mcpi_exec_list(const char *const *list)
{
    char *const *same;
    memcpy(&same, &list, sizeof same);
    return same;
}

/* Tries each directory as execvp does (an empty one is the current), but never a shell. Returns only when
   it fails. A directory that may not be searched says nothing about the command; a file that may not be
   executed does. */
static void mcpi_child_exec(const mcpi_image *im, mcpi_failure *why)
{
    const char *dir = im->dirs, *name = im->how->argv[0];
    why->error = ENOENT;
    for (;;) {
        size_t len = strcspn(dir, ":"), at = len;
        bool there, stop;
        int error;
        memcpy(im->file, dir, len);
        if (len) im->file[at++] = '/';
        memcpy(im->file + at, name, strlen(name) + 1);
        (void)execve(im->file, mcpi_exec_list(im->how->argv), mcpi_exec_list(im->env));
        error = errno;
        there = access(im->file, F_OK) == 0;
        stop = error != ENOENT && error != ENOTDIR && error != EACCES;
        if (there || stop || !*im->dirs) { why->error = error; why->found = there; }
        if (stop || !dir[len]) return;
        dir += len + 1;
    }
}

/* The program's descriptors are nobody else's business; not all of them are close-on-exec. */
static void mcpi_close_from(int fd, int max)
{
#if defined(__linux__) && defined(SYS_close_range)
    if (syscall(SYS_close_range, (unsigned)fd, ~0u, 0) == 0) return;
#endif
    for (; fd < max; fd++) (void)close(fd);
}

/* The child's life up to exec. All pipe ends are at least 3, so that no dup2 here overwrites one that is
   still needed. */
static void mcpi_child_main(const mcpi_image *im)
{
    mcpi_failure why;
    sigset_t none;
    int number;
    ssize_t told;
    memset(&why, 0, sizeof why);
    for (number = 1; number < NSIG; number++) (void)signal(number, SIG_DFL);
    (void)setpgid(0, 0);
    (void)dup2(im->pipe[0][0], 0);
    (void)dup2(im->pipe[1][1], 1);
    if (im->pipe[2][1] >= 0) (void)dup2(im->pipe[2][1], 2);
    else if (fcntl(2, F_SETFD, 0) < 0) (void)open("/dev/null", O_RDWR);     /* is 2, the lowest free */
    (void)dup2(im->pipe[3][1], 3);
    (void)fcntl(3, F_SETFD, FD_CLOEXEC);
    mcpi_close_from(4, im->max_fd);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (im->how->cwd && chdir(im->how->cwd) < 0) {
        why.error = errno;
        why.in_chdir = 1;
    } else mcpi_child_exec(im, &why);
    told = write(3, &why, sizeof why);
    _exit(told < 0 ? 126 : 127);
}

/* All signals wait meanwhile, so that no handler of the program runs in the child, where the threads have
   gone that it may count on. The child sets dispositions first, and then the mask. */
static pid_t mcpi_fork(const mcpi_image *im)
{
    sigset_t all, old;
    pid_t pid;
    (void)sigfillset(&all);
    (void)MCPI_SIGMASK(SIG_SETMASK, &all, &old);
    pid = fork();
    if (pid == 0) mcpi_child_main(im);
    (void)MCPI_SIGMASK(SIG_SETMASK, &old, NULL);
    return pid;
}

/* The process, or -1 and why. The child has its own group before exec, and so before this returns. */
static pid_t mcpi_child_launch(mcpi_image *im, mcpi_failure *why)
{
    int i;
    pid_t pid = -1;
    bool ok = true;
    for (i = 0; i < 4; i++) im->pipe[i][0] = im->pipe[i][1] = -1;
    for (i = 0; ok && i < 4; i++) ok = (i == 2 && !im->how->capture_stderr) || mcpi_pipe(im->pipe[i]);
    if (ok) pid = mcpi_fork(im);
    why->error = errno;
    for (i = 0; i < 4; i++) mcpi_close(&im->pipe[i][i != 0]);
    if (pid > 0 && mcpi_fd_read(im->pipe[3][0], why, sizeof *why) == (ptrdiff_t)sizeof *why) {
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) { }
        pid = -1;
    }
    mcpi_close(&im->pipe[3][0]);
    return pid;
}

static void mcpi_child_explain(const mcpi_spawn *how, const mcpi_failure *f, char *why, size_t cap)
{
    const char *detail = strerror(f->error);
    if (f->in_chdir) {
        (void)mcpi_say(why, cap, "cannot change directory to \"%s\": %s", how->cwd, detail);
        return;
    }
    if (f->error == ENOENT && f->found) detail = "the interpreter in its first line was not found";
    else if (f->error == ENOENT && !strchr(how->argv[0], '/')) detail = "not found in PATH";
    (void)mcpi_say(why, cap, "cannot start \"%s\": %s", how->argv[0], detail);
}

/* MCP_OK; or MCP_ERR_SPAWN and a sentence, or MCP_ERR_MEMORY: then there is no process, no zombie, and no
   descriptor that was not there before. Our ends of the pipes are non-blocking, the child's are not. */
static int mcpi_child_start(mcpi_child *ch, const mcpi_spawn *how, char *why, size_t cap)
{
    mcpi_image im;
    mcpi_failure failure;
    pid_t pid;
    long limit = sysconf(_SC_OPEN_MAX);
    memset(ch, 0, sizeof *ch);
    memset(&im, 0, sizeof im);
    memset(&failure, 0, sizeof failure);
    ch->in = ch->out = ch->err = -1;
    if (!how->argv || !how->argv[0] || !how->argv[0][0]) {
        (void)mcpi_say(why, cap, "no command to start");
        return MCP_ERR_SPAWN;
    }
    im.how = how;
    im.max_fd = limit < 0 || limit > 65536 ? 65536 : (int)limit;
    if (!mcpi_image_make(&im)) { mcpi_image_free(&im); return MCP_ERR_MEMORY; }
    pid = mcpi_child_launch(&im, &failure);
    mcpi_image_free(&im);
    ch->in = mcpi_fd_own(im.pipe[0][1], true);
    ch->out = mcpi_fd_own(im.pipe[1][0], true);
    ch->err = mcpi_fd_own(im.pipe[2][0], true);
    if (pid > 0) {
        ch->pid = pid;
        ch->seen = mcpi_clock_ms();
        return MCP_OK;
    }
    mcpi_close(&ch->in);
    mcpi_close(&ch->out);
    mcpi_close(&ch->err);
    mcpi_child_explain(how, &failure, why, cap);
    return MCP_ERR_SPAWN;
}

/* -- the end of a child ---------------------------------------------------------------------------------- */
/* Its number is the child's own until it is reaped, and so is that of its group. So we look first without
   reaping, and a signal goes out only while the child is there, be it as a zombie: else it might hit a
   stranger. Nothing but exactly our process is ever waited for.

   Where SIGCHLD is ignored, or somebody else reaps, there is no zombie to hold the number. It stays the group's while
   anybody is left in it; but a group that is there without its leader may also be a stranger's, if ours had ended
   and its number was given out again. That takes as many new processes as there are numbers. So such a group is
   killed if the child was still seen a moment ago and no process has its number now, and else left alone. */

#define MCPI_ORPHAN_MS 1000                 /* that moment; more than a lost client lingers */

/* 1: it has exited and can be reaped. 0: it runs. -1: there is none, or not any more. */
static int mcpi_child_peek(mcpi_child *ch)
{
    siginfo_t info;
    int failed;
    if (ch->pid == 0 || ch->exited) return -1;
    memset(&info, 0, sizeof info);          /* some systems leave it alone while the child runs */
    do failed = waitid(P_PID, (id_t)ch->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    while (failed && errno == EINTR);
    ch->exited = failed && errno == ECHILD; /* somebody else has reaped it */
    if (!failed) ch->seen = mcpi_clock_ms();
    return ch->exited ? -1 : !failed && info.si_pid != 0;
}

/* To its whole group. */
static void mcpi_child_signal(mcpi_child *ch, int sig)
{
    if (mcpi_child_peek(ch) < 0) return;
    if (kill((pid_t)-ch->pid, sig) < 0) (void)kill((pid_t)ch->pid, sig);
}

/* What a child that somebody else has reaped left in its group. */
static void mcpi_child_kill_orphans(const mcpi_child *ch)
{
    pid_t pid = (pid_t)ch->pid;
    if (pid <= 0 || ch->known || mcpi_clock_ms() - ch->seen > MCPI_ORPHAN_MS) return;
    if (kill(pid, 0) < 0 && errno == ESRCH) (void)kill(-pid, SIGKILL);
}

/* Reaps the child if it has exited. kill_group takes along what it left in its group: `sh -c "server &
   exit"`. */
static void mcpi_child_reap(mcpi_child *ch, bool kill_group)
{
    pid_t pid = (pid_t)ch->pid, got;
    int there = mcpi_child_peek(ch);
    if (there < 0 && kill_group) mcpi_child_kill_orphans(ch);
    if (there <= 0) return;
    if (kill_group) (void)kill(-pid, SIGKILL);
    got = waitpid(pid, &ch->wstatus, WNOHANG);
    ch->known = got == pid;
    ch->exited = got != 0;
}

/* Names for the signals that end programs; their numbers differ between systems. */
typedef struct mcpi_signal_name { unsigned char number; char name[5]; } mcpi_signal_name;
static const mcpi_signal_name mcpi_signal_names[] = {
    {SIGHUP, "HUP"}, {SIGINT, "INT"}, {SIGQUIT, "QUIT"}, {SIGILL, "ILL"}, {SIGTRAP, "TRAP"},
    {SIGABRT, "ABRT"}, {SIGBUS, "BUS"}, {SIGFPE, "FPE"}, {SIGKILL, "KILL"}, {SIGSEGV, "SEGV"},
    {SIGPIPE, "PIPE"}, {SIGALRM, "ALRM"}, {SIGTERM, "TERM"}, {SIGSYS, "SYS"}
};

/* A phrase that goes on after "the server", empty while it runs. Its length. */
static size_t mcpi_child_why(const mcpi_child *ch, char *buf, size_t cap)
{
    size_t i;
    int sig;
    if (!ch->exited) return mcpi_say(buf, cap, "%s", "");
    if (!ch->known) return mcpi_say(buf, cap, "exited, status unknown");
    if (WIFEXITED(ch->wstatus)) return mcpi_say(buf, cap, "exited with status %d", WEXITSTATUS(ch->wstatus));
    sig = WTERMSIG(ch->wstatus);
    for (i = 0; i < sizeof mcpi_signal_names / sizeof *mcpi_signal_names; i++)
        if (mcpi_signal_names[i].number == sig)
            return mcpi_say(buf, cap, "was killed by signal %d (SIG%s)", sig, mcpi_signal_names[i].name);
    return mcpi_say(buf, cap, "was killed by signal %d", sig);
}
#endif /* MCP_NO_CLIENT */
#endif /* MCP_NO_POSIX */
#ifdef __cplusplus
}
#endif
#endif /* MCP_IMPLEMENTED */
#endif /* MCP_IMPLEMENTATION */

/*
MIT No Attribution

Copyright 2026 the mcp.h authors

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
*/
