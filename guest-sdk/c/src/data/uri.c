/* URIs and their patterns. */
#include "portcullis/data.h"

#include <string.h>

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decodes percent-encoding. False if it is not valid, or what it says is no text. */
static bool decode(const char *from, size_t length, pc_text *decoded) {
    char *text = pc_alloc(length + 1), *to = text;
    for (size_t i = 0; i < length; i++) {
        if (from[i] != '%') {
            *to++ = from[i];
            continue;
        }
        if (length - i < 3 || hex(from[i + 1]) < 0 || hex(from[i + 2]) < 0) return false;
        *to++ = (char)(hex(from[i + 1]) << 4 | hex(from[i + 2]));
        i += 2;
    }
    *decoded = (pc_text){text, (size_t)(to - text)};
    return pc_valid(*decoded).at == text;
}

static bool matches(const char *pattern, const char *at, const char *end, pc_text *variables) {
    while (*pattern != '\0' && *pattern != '{') {
        if (at == end || *at != *pattern) return false;
        pattern++;
        at++;
    }
    if (*pattern == '\0') return at == end;
    const char *rest = strchr(pattern, '}');
    if (rest == NULL) return false;
    /* The shortest value first, so that `{name}-{number}` splits at the first dash. */
    for (const char *until = at; until < end && strchr("/?#", *until) == NULL;) {
        until++;
        if (matches(rest + 1, until, end, variables + 1)) return decode(at, (size_t)(until - at), variables);
    }
    return false;
}

bool pc_matches(const char *pattern, pc_text uri, pc_text **variables) {
    size_t count = 1;
    for (const char *c = pattern; *c != '\0'; c++) count += *c == '{';
    *variables = pc_alloc_items(count, sizeof **variables);
    return uri.at != NULL && matches(pattern, uri.at, uri.at + uri.length, *variables);
}
