/* The arena, and texts. */
#include "portcullis/data.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As much as the arena asks for at once. */
#define CHUNK (16 << 10)
#define ALIGN 16

void *pc_alloc(size_t size) {
    static char *free_from, *end;
    if (size > SIZE_MAX / 2) abort();
    size = (size + (size == 0) + ALIGN - 1) / ALIGN * ALIGN;
    if ((size_t)(end - free_from) < size) {
        size_t chunk = size > CHUNK ? size : CHUNK;
        char *fresh = calloc(1, chunk);
        if (fresh == NULL) abort();
        /* A chunk of its own leaves the current one in use. */
        if (size > CHUNK) return fresh;
        free_from = fresh;
        end = fresh + chunk;
    }
    void *found = free_from;
    free_from += size;
    return found;
}

void *pc_alloc_items(size_t count, size_t size) {
    size_t room = 1;
    while (room < count) {
        if (room > SIZE_MAX / 2) abort();
        room *= 2;
    }
    if (size != 0 && room > SIZE_MAX / size) abort();
    return pc_alloc(room * size);
}

void *pc_one_more(void *items, size_t count, size_t size) {
    /* The room is a power of two: it is used up where the count is one. */
    if (count != 0 && (count & (count - 1)) != 0) return items;
    void *more = pc_alloc_items(count + 1, size);
    if (count != 0) memcpy(more, items, count * size);
    return more;
}

pc_text pc_of(const char *string) {
    return string == NULL ? PC_NONE : (pc_text){string, strlen(string)};
}

bool pc_is(pc_text text, const char *string) {
    size_t length = strlen(string);
    return text.at != NULL && text.length == length && memcmp(text.at, string, length) == 0;
}

pc_text pc_or(pc_text text, const char *otherwise) {
    return text.at == NULL ? pc_of(otherwise) : text;
}

pc_text pc_formatted(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) abort();
    char *text = pc_alloc((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return (pc_text){text, (size_t)length};
}

pc_text pc_format(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    pc_text text = pc_formatted(format, arguments);
    va_end(arguments);
    return text;
}

pc_text pc_join(const pc_text *texts, size_t count, const char *separator) {
    size_t between = strlen(separator), length = 0;
    for (size_t i = 0; i < count; i++) {
        if (texts[i].length + between > SIZE_MAX - length) abort();
        length += texts[i].length + between;
    }
    char *joined = pc_alloc(length + 1), *to = joined;
    for (size_t i = 0; i < count; i++) {
        if (i != 0) {
            memcpy(to, separator, between);
            to += between;
        }
        if (texts[i].length != 0) memcpy(to, texts[i].at, texts[i].length);
        to += texts[i].length;
    }
    return (pc_text){joined, (size_t)(to - joined)};
}

pc_text pc_upper(pc_text text) {
    char *upper = pc_alloc(text.length + 1);
    for (size_t i = 0; i < text.length; i++) {
        char c = text.at[i];
        upper[i] = c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
    }
    return (pc_text){upper, text.length};
}

size_t pc_characters(pc_text text) {
    size_t count = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (((unsigned char)text.at[i] & 0xC0) != 0x80) count++;
    }
    return count;
}

bool pc_reads_integer(pc_text text, int64_t *integer) {
    size_t at = 0;
    bool negative = text.length > 0 && text.at[0] == '-';
    if (negative || (text.length > 0 && text.at[0] == '+')) at++;
    if (at == text.length) return false;
    uint64_t most = negative ? (uint64_t)1 << 63 : (uint64_t)INT64_MAX, value = 0;
    for (; at < text.length; at++) {
        unsigned digit = (unsigned char)text.at[at] - (unsigned)'0';
        if (digit > 9 || value > (most - digit) / 10) return false;
        value = value * 10 + digit;
    }
    *integer = negative ? (int64_t)(0 - value) : (int64_t)value;
    return true;
}

/* The length of the valid sequence at the beginning; 0 if there is none. */
static size_t sequence(const unsigned char *at, size_t left) {
    unsigned first = at[0];
    if (first < 0x80) return 1;
    size_t length = first >= 0xF0 && first <= 0xF4 ? 4 : first >= 0xE0 && first < 0xF0 ? 3 : first >= 0xC2 && first < 0xE0 ? 2 : 0;
    if (length == 0 || length > left) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xC0) != 0x80) return 0;
    }
    /* Too long an encoding, a surrogate, or beyond U+10FFFF. */
    if (first == 0xE0 && at[1] < 0xA0) return 0;
    if (first == 0xED && at[1] > 0x9F) return 0;
    if (first == 0xF0 && at[1] < 0x90) return 0;
    if (first == 0xF4 && at[1] > 0x8F) return 0;
    return length;
}

pc_text pc_valid(pc_text bytes) {
    static const char replacement[] = "\xEF\xBF\xBD";
    if (bytes.at == NULL) return bytes;
    const unsigned char *from = (const unsigned char *)bytes.at;
    size_t wrong = 0;
    for (size_t at = 0; at < bytes.length;) {
        size_t length = sequence(from + at, bytes.length - at);
        wrong += length == 0;
        at += length == 0 ? 1 : length;
    }
    if (wrong == 0) return bytes;
    if (wrong > SIZE_MAX / 8) abort();
    char *valid = pc_alloc(bytes.length + wrong * 2), *to = valid;
    for (size_t at = 0; at < bytes.length;) {
        size_t length = sequence(from + at, bytes.length - at);
        if (length == 0) {
            memcpy(to, replacement, 3);
            to += 3;
            at++;
        } else {
            memcpy(to, from + at, length);
            to += length;
            at += length;
        }
    }
    return (pc_text){valid, (size_t)(to - valid)};
}

static const pc_error *made(pc_error_kind kind, const char *format, va_list arguments) {
    pc_error *error = pc_alloc(sizeof *error);
    error->kind = kind;
    error->text = pc_valid(pc_formatted(format, arguments));
    return error;
}

const pc_error *pc_failed(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const pc_error *error = made(PC_FAILED, format, arguments);
    va_end(arguments);
    return error;
}

const pc_error *pc_invalid(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const pc_error *error = made(PC_INVALID_ARGUMENTS, format, arguments);
    va_end(arguments);
    return error;
}

const pc_error *pc_unsupported(const char *what) {
    pc_error *error = pc_alloc(sizeof *error);
    error->kind = PC_UNSUPPORTED;
    error->text = pc_of(what);
    return error;
}

const pc_error *pc_denied(const char *capability, pc_text target) {
    pc_error *error = pc_alloc(sizeof *error);
    error->kind = PC_DENIED;
    error->capability = pc_of(capability);
    error->target = target;
    error->remedy = pc_of("");
    error->text = pc_format("denied: %s does not allow `%.*s`", capability, PC_ARG(target));
    return error;
}
