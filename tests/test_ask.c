/* Asking the user: one handler, both eras. */
#define MCP_IMPLEMENTATION
#include "mcp.h"
#include "test.h"

/* -- the seal: published vectors ---------------------------------------------------------------------------------- */

static const char *hex(const unsigned char *p)
{
    static char text[65];
    int i;
    for (i = 0; i < 32; i++) snprintf(text + 2 * i, 3, "%02x", p[i]);
    return text;
}

/* In pieces of `step` bytes. */
static const char *sha(const char *text, size_t n, size_t step)
{
    static unsigned char out[32];
    mcpi_sha c;
    size_t i;
    mcpi_sha_begin(&c);
    for (i = 0; i < n; i += step) mcpi_sha_add(&c, text + i, n - i < step ? n - i : step);
    mcpi_sha_end(&c, out);
    return hex(out);
}

/* FIPS 180-4's examples, as NIST publishes them. */
TEST(sha256)
{
    static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const char four[] = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
    static char a[1000000];
    size_t step;
    memset(a, 'a', sizeof a);
    EQ_STR(sha("", 0, 1), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    for (step = 1; step < 130; step += 7) {
        EQ_STR(sha("abc", 3, step), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        EQ_STR(sha(two, sizeof two - 1, step), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        EQ_STR(sha(four, sizeof four - 1, step), "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    }
    EQ_STR(sha(a, sizeof a, 4099), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static const char *mac(const void *key, size_t key_len, const char *text, size_t n)
{
    static unsigned char out[32];
    mcpi_sha c;
    mcpi_hmac_begin(&c, key, key_len);
    mcpi_sha_add(&c, text, n);
    mcpi_hmac_end(&c, key, key_len, out);
    return hex(out);
}

/* RFC 4231, test cases 1 to 4, 6 and 7. */
TEST(hmac)
{
    static const char large[] = "Test Using Larger Than Block-Size Key - Hash Key First";
    static const char larger[] = "This is a test using a larger than block-size key and a larger than block-size data. "
        "The key needs to be hashed before being used by the HMAC algorithm.";
    char key[131], text[50];
    int i;
    memset(key, 0x0b, 20);
    EQ_STR(mac(key, 20, "Hi There", 8), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    EQ_STR(mac("Jefe", 4, "what do ya want for nothing?", 28), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    memset(text, 0xdd, 50);
    EQ_STR(mac(key, 20, text, 50), "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    EQ_STR(mac(key, 131, large, sizeof large - 1), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    EQ_STR(mac(key, 131, larger, sizeof larger - 1), "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
    for (i = 0; i < 25; i++) key[i] = (char)(i + 1);
    memset(text, 0xcd, 50);
    EQ_STR(mac(key, 25, text, 50), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
}

int main(void)
{
    RUN(sha256);
    RUN(hmac);
    return test_end();
}
