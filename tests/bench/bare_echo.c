/* The bare limit of a round trip: reads lines and writes the same bytes, as many lines at a time as one read brought. */
#include "bench.h"

int main(void)
{
    size_t len = 0, cap = 1 << 16;
    char *buf = more(NULL, cap);
    for (;;) {
        size_t end = 0, at = 0, from = len;
        const char *lf;
        ptrdiff_t n;
        if (len == cap) buf = more(buf, cap *= 2);
        n = read(0, buf + len, cap - len);
        if (n <= 0) return n < 0;
        len += (size_t)n;
        while ((lf = memchr(buf + from, '\n', len - from))) from = end = (size_t)(lf - buf) + 1;
        while (at < end) {
            if ((n = write(1, buf + at, end - at)) <= 0) return 1;
            at += (size_t)n;
        }
        if (end) memmove(buf, buf + end, len -= end);
    }
}
