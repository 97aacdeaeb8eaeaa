/* Reads JSON: RFC 8259, no more. The text may come from anywhere. */
#include "portcullis/data.h"

#include <stdlib.h>
#include <string.h>

/* Values in each other. A reader that calls itself for each level would let deep text end the call by its stack. */
#define DEEPEST 128

typedef struct reader {
    const char *at, *end;
    const char *begin;
    const char *wrong; /* what is expected where it stands */
} reader;

static bool fail(reader *r, const char *expected) {
    if (r->wrong == NULL) r->wrong = expected;
    return false;
}

static void skip(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

static bool take(reader *r, char c) {
    if (r->at == r->end || *r->at != c) return false;
    r->at++;
    return true;
}

static bool literal(reader *r, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length) != 0) return fail(r, "a value");
    r->at += length;
    return true;
}

static bool digits(reader *r) {
    const char *from = r->at;
    while (r->at < r->end && *r->at >= '0' && *r->at <= '9') r->at++;
    return r->at > from || fail(r, "a digit");
}

static bool number(reader *r, pc_json *value) {
    const char *from = r->at;
    take(r, '-');
    if (!take(r, '0') && !digits(r)) return false;
    if (take(r, '.') && !digits(r)) return false;
    if (take(r, 'e') || take(r, 'E')) {
        if (!take(r, '+')) take(r, '-');
        if (!digits(r)) return false;
    }
    value->kind = PC_JSON_NUMBER;
    value->text = (pc_text){from, (size_t)(r->at - from)};
    return true;
}

static bool hex(reader *r, unsigned *code) {
    *code = 0;
    for (int i = 0; i < 4; i++) {
        if (r->at == r->end) return fail(r, "four hexadecimal digits");
        char c = *r->at++;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;
        if (digit == 16) return fail(r, "four hexadecimal digits");
        *code = *code * 16 + digit;
    }
    return true;
}

static char *put(char *to, unsigned code) {
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
        *to++ = (char)(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        *to++ = (char)(0xE0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
        *to++ = (char)(0x80 | (code & 0x3F));
    } else {
        *to++ = (char)(0xF0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 0x3F));
        *to++ = (char)(0x80 | (code >> 6 & 0x3F));
        *to++ = (char)(0x80 | (code & 0x3F));
    }
    return to;
}

static bool escape(reader *r, char **to) {
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (r->at == r->end) return fail(r, "an escape");
    char c = *r->at++;
    if (c != 'u') {
        const char *known = c == '\0' ? NULL : strchr(names, c);
        if (known == NULL) return fail(r, "an escape");
        *(*to)++ = values[known - names];
        return true;
    }
    unsigned code, low;
    if (!hex(r, &code)) return false;
    if (code >= 0xD800 && code < 0xDC00) {
        if (!take(r, '\\') || !take(r, 'u') || !hex(r, &low) || low < 0xDC00 || low > 0xDFFF) {
            return fail(r, "the second half of a pair of surrogates");
        }
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    } else if (code >= 0xDC00 && code < 0xE000) {
        return fail(r, "the first half of a pair of surrogates");
    }
    *to = put(*to, code);
    return true;
}

static bool string(reader *r, pc_text *text) {
    if (!take(r, '"')) return fail(r, "a string");
    const char *from = r->at;
    bool plain = true;
    for (const char *end = from; end < r->end && *end != '"'; end++) {
        if ((unsigned char)*end < 0x20) return fail(r, "no control character in a string");
        if (*end == '\\') {
            plain = false;
            if (++end == r->end) break;
        }
        r->at = end + 1;
    }
    const char *end = r->at;
    if (end >= r->end || *end != '"') return fail(r, "the end of a string");
    r->at = end + 1;
    if (plain) {
        *text = pc_valid((pc_text){from, (size_t)(end - from)});
        return true;
    }
    /* No escape is shorter than what it stands for. */
    char *decoded = pc_alloc((size_t)(end - from)), *to = decoded;
    reader inside = {.at = from, .end = end, .begin = r->begin};
    while (inside.at < end) {
        char c = *inside.at++;
        if (c != '\\') {
            *to++ = c;
        } else if (!escape(&inside, &to)) {
            r->at = inside.at;
            return fail(r, inside.wrong);
        }
    }
    *text = pc_valid((pc_text){decoded, (size_t)(to - decoded)});
    return true;
}

static bool read(reader *r, pc_json *value, int depth);

static bool members(reader *r, pc_json *value, int depth, char close) {
    bool named = close == '}';
    r->at++;
    skip(r);
    if (take(r, close)) return true;
    do {
        skip(r);
        pc_text name = PC_NONE;
        if (named) {
            if (!string(r, &name)) return false;
            skip(r);
            if (!take(r, ':')) return fail(r, "`:`");
        }
        pc_json item = {0};
        if (!read(r, &item, depth)) return false;
        value->items = pc_one_more(value->items, value->count, sizeof item);
        value->items[value->count] = item;
        if (named) {
            value->names = pc_one_more(value->names, value->count, sizeof name);
            value->names[value->count] = name;
        }
        value->count++;
        skip(r);
    } while (take(r, ','));
    return take(r, close) || fail(r, named ? "`,` or `}`" : "`,` or `]`");
}

static bool read(reader *r, pc_json *value, int depth) {
    skip(r);
    if (r->at == r->end) return fail(r, "a value");
    if (depth == 0) return fail(r, "fewer values in each other");
    switch (*r->at) {
        case '{': value->kind = PC_JSON_OBJECT; return members(r, value, depth - 1, '}');
        case '[': value->kind = PC_JSON_ARRAY; return members(r, value, depth - 1, ']');
        case '"': value->kind = PC_JSON_TEXT; return string(r, &value->text);
        case 't': value->kind = PC_JSON_TRUTH; value->truth = true; return literal(r, "true");
        case 'f': value->kind = PC_JSON_TRUTH; return literal(r, "false");
        case 'n': return literal(r, "null");
        default: return number(r, value);
    }
}

const pc_error *pc_json_read(pc_text text, pc_json *value) {
    *value = (pc_json){0};
    /* Its own copy of nothing: `at` may be NULL, with which nothing may be computed. */
    if (text.at == NULL) text = pc_of("");
    reader r = {.at = text.at, .end = text.at + text.length, .begin = text.at};
    bool read_all = read(&r, value, DEEPEST);
    if (read_all) skip(&r);
    if (read_all && r.at == r.end) return NULL;
    if (r.wrong == NULL) r.wrong = "the end";
    *value = (pc_json){0};
    return pc_failed("no JSON: expected %s at byte %zu", r.wrong, (size_t)(r.at - r.begin));
}

const pc_json *pc_member(const pc_json *object, const char *name) {
    static const pc_json null = {0};
    if (object->kind != PC_JSON_OBJECT) return &null;
    for (size_t i = object->count; i > 0; i--) {
        if (pc_is(object->names[i - 1], name)) return &object->items[i - 1];
    }
    return &null;
}

bool pc_json_number(const pc_json *value, double *number) {
    if (value->kind != PC_JSON_NUMBER) return false;
    /* With a NUL behind it. */
    *number = strtod(pc_format("%.*s", PC_ARG(value->text)).at, NULL);
    return true;
}

bool pc_json_integer(const pc_json *value, int64_t *integer) {
    double number;
    if (value->kind != PC_JSON_NUMBER) return false;
    if (pc_reads_integer(value->text, integer)) return true;
    /* 3.0 is an integer, too; beyond this, a double cannot tell neighbours apart. */
    if (!pc_json_number(value, &number) || number > 9007199254740992.0 || number < -9007199254740992.0) return false;
    *integer = (int64_t)number;
    return (double)*integer == number;
}
