/* For fuzz_json: what must hold for each value. */
static mcp_arena a;
static mcp_writer w, x;

static void put(mcp_writer *to, const mcp_json *v)
{
    mcp_writer_reset(to);
    mcp_put_json(to, NULL, v);
}

static int same_text(mcp_writer *one, mcp_writer *two)
{
    size_t n, m;
    const char *s = mcp_writer_text(one, &n), *t = mcp_writer_text(two, &m);
    return s && t && n == m && memcmp(s, t, n) == 0;
}

/* The same in memory of some other size, up to a little more than it needs: it is read as before, or not at all. `v` has to be
 * the value in w. */
static void tight(const uint8_t *data, size_t size, const mcp_json *v)
{
    size_t most = size * 40 + 256, need, k;
    char *text = (char *)malloc(size + 1), *room = (char *)malloc(most);
    mcp_arena b;
    int i;
    MUST(text && room);
    if (size) memcpy(text, data, size);
    mcp_arena_fixed(&b, room, most);
    (void)mcpi_parse(&b, text, text, size, MCPI_REPLACE_UTF8, NULL);
    need = (size_t)(b.next - room);
    free(room);
    fuzz_begin(data, size);
    for (i = 0; i < 6; i++) {
        const mcp_json *same;
        k = 1 + 8 * (size_t)fuzz_pick((unsigned)need / 8 + 3);
        room = (char *)malloc(k);
        MUST(room != NULL);
        if (size) memcpy(text, data, size);
        mcp_arena_fixed(&b, room, k);
        same = mcpi_parse(&b, text, text, size, MCPI_REPLACE_UTF8, NULL);
        if (v && same) { put(&x, same); MUST(same_text(&w, &x)); }
        free(room);
    }
    free(text);
}

static void look_at_number(const mcp_json *v)
{
    size_t n;
    uint64_t u;
    double d = mcp_json_num(v, 0);
    int64_t i = mcp_json_int(v, 1);
    const char *digits = mcp_json_text(v, &n);
    char *copy = (char *)calloc(n + 1, 1);
    MUST(copy && digits);
    memcpy(copy, digits, n);
    MUST(d == strtod(copy, NULL));
    free(copy);
    if (i == mcp_json_int(v, 2)) MUST(d == (double)i);
    if (mcp_json_uint(v, &u)) MUST(d == (double)u && (u > INT64_MAX || (int64_t)u == mcp_json_int(v, -1)));
    mcp_writer_reset(&x);
    mcp_put_num(&x, NULL, d);
    if (mcp_writer_text(&x, &n)) MUST(mcp_json_num(mcp_json_parse(&a, x.buf, n, NULL), 7) == d);
    else MUST(d - d != 0);
}

static void look_at_string(const mcp_json *root, const mcp_json *v)
{
    size_t n, m, k;
    const char *s = mcp_json_text(v, &n);
    const mcp_json *back;
    const void *bytes = mcp_json_base64(&a, v, &m), *again;
    MUST(s == mcp_json_str(v, NULL) && s[n] == 0 && n == mcp_json_size(v));
    (void)mcp_json_type(mcp_json_at(root, s));
    if (!bytes) return;
    mcp_writer_reset(&x);
    mcp_put_base64(&x, NULL, bytes, m);
    back = mcp_json_parse(&a, mcp_writer_text(&x, NULL), MCP_NTS, NULL);
    again = mcp_json_base64(&a, back, &k);
    MUST(again && k == m && memcmp(again, bytes, m) == 0);
}

/* The member with this key whose pointer is built the long way. */
static void look_at_member(const mcp_json *v, const mcp_json *member)
{
    size_t n, i, k = 1;
    const char *key = mcp_json_keyn(member, &n);
    const mcp_json *found = mcp_json_getn(v, key, n);
    char *pointer = (char *)malloc(2 * n + 2);
    MUST(pointer && key[n] == 0 && key == mcp_json_key(member) && found && found >= member);
    pointer[0] = '/';
    for (i = 0; i < n; i++) {
        if (key[i] == '~' || key[i] == '/') pointer[k++] = '~';
        pointer[k++] = key[i] == '~' ? '0' : key[i] == '/' ? '1' : key[i];
    }
    pointer[k] = 0;
    if (strlen(key) == n) MUST(mcp_json_at(v, pointer) == found && mcp_json_get(v, key) == found);
    free(pointer);
}

static void look(const mcp_json *root, const mcp_json *v)
{
    size_t count = 0;
    mcp_type type = mcp_json_type(v);
    char pointer[32];
    MUST(type != MCP_JSON_NONE);
    if (type == MCP_JSON_NUMBER) look_at_number(v);
    else MUST(mcp_json_int(v, 5) == 5 && mcp_json_num(v, 5) == 5);
    if (type == MCP_JSON_STRING) look_at_string(root, v);
    else MUST(mcp_json_str(v, NULL) == NULL && mcp_json_base64(&a, v, NULL) == NULL);
    if (type != MCP_JSON_BOOL) MUST(mcp_json_bool(v, true) && !mcp_json_bool(v, false));
    mcp_json_each(c, v) {
        if (type == MCP_JSON_OBJECT) look_at_member(v, c);
        else {
            snprintf(pointer, sizeof pointer, "/%lu", (unsigned long)count);
            MUST(type == MCP_JSON_ARRAY && !mcp_json_key(c) && (count > 64 || mcp_json_at(v, pointer) == c));
        }
        count++;
        if (count < 200) look(root, c);
    }
    if (type == MCP_JSON_ARRAY || type == MCP_JSON_OBJECT) MUST(mcp_json_size(v) == count);
    else MUST(count == 0);
}
