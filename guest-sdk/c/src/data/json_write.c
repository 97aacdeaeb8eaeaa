/* Writes JSON, and makes values. */
#include "portcullis/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A text that grows. */
typedef struct writer {
    char *at;
    size_t length, room;
} writer;

static void put(writer *w, const char *bytes, size_t length) {
    if (length > w->room - w->length) {
        if (length > SIZE_MAX / 4 || w->room > SIZE_MAX / 4) abort();
        size_t room = w->room * 2 > w->length + length ? w->room * 2 : w->length + length + 64;
        char *more = pc_alloc(room);
        if (w->length != 0) memcpy(more, w->at, w->length);
        w->at = more;
        w->room = room;
    }
    if (length != 0) memcpy(w->at + w->length, bytes, length);
    w->length += length;
}

static void word(writer *w, const char *word) {
    put(w, word, strlen(word));
}

static void string(writer *w, pc_text text) {
    text = pc_valid(text);
    put(w, "\"", 1);
    size_t from = 0;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        put(w, text.at + from, i - from);
        from = i + 1;
        switch (c) {
            case '"': word(w, "\\\""); break;
            case '\\': word(w, "\\\\"); break;
            case '\b': word(w, "\\b"); break;
            case '\f': word(w, "\\f"); break;
            case '\n': word(w, "\\n"); break;
            case '\r': word(w, "\\r"); break;
            case '\t': word(w, "\\t"); break;
            default: {
                char escaped[7];
                put(w, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", c));
            }
        }
    }
    if (text.length != from) put(w, text.at + from, text.length - from);
    put(w, "\"", 1);
}

/* Values that a program makes may be deeper than those that are read; it has made them, so no stranger chooses the depth. */
static void value(writer *w, const pc_json *v) {
    switch (v->kind) {
        case PC_JSON_NULL: word(w, "null"); break;
        case PC_JSON_TRUTH: word(w, v->truth ? "true" : "false"); break;
        case PC_JSON_NUMBER: put(w, v->text.at, v->text.length); break;
        case PC_JSON_TEXT: string(w, v->text); break;
        case PC_JSON_ARRAY:
        case PC_JSON_OBJECT:
            put(w, v->kind == PC_JSON_ARRAY ? "[" : "{", 1);
            for (size_t i = 0; i < v->count; i++) {
                if (i != 0) put(w, ",", 1);
                if (v->kind == PC_JSON_OBJECT) {
                    string(w, v->names[i]);
                    put(w, ":", 1);
                }
                value(w, &v->items[i]);
            }
            put(w, v->kind == PC_JSON_ARRAY ? "]" : "}", 1);
    }
}

pc_text pc_json_write(const pc_json *v) {
    writer w = {0};
    value(&w, v);
    return (pc_text){w.at, w.length};
}

pc_json pc_json_of_text(pc_text text) {
    return text.at == NULL ? (pc_json){0} : (pc_json){.kind = PC_JSON_TEXT, .text = text};
}

pc_json pc_json_of_integer(int64_t integer) {
    return (pc_json){.kind = PC_JSON_NUMBER, .text = pc_format("%lld", (long long)integer)};
}

pc_json pc_json_of_number(double number) {
    if (!isfinite(number)) return (pc_json){0};
    char digits[40];
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(digits, sizeof digits, "%.*g", precision, number);
        if (strtod(digits, NULL) == number) break;
    }
    bool whole = strpbrk(digits, ".e") == NULL;
    return (pc_json){.kind = PC_JSON_NUMBER, .text = pc_format("%s%s", digits, whole ? ".0" : "")};
}

pc_json pc_json_of_truth(bool truth) {
    return (pc_json){.kind = PC_JSON_TRUTH, .truth = truth};
}

pc_json pc_json_object(void) {
    return (pc_json){.kind = PC_JSON_OBJECT};
}

pc_json pc_json_array(void) {
    return (pc_json){.kind = PC_JSON_ARRAY};
}

void pc_push(pc_json *array, pc_json item) {
    array->items = pc_one_more(array->items, array->count, sizeof item);
    array->items[array->count++] = item;
}

void pc_set(pc_json *object, const char *name, pc_json item) {
    object->names = pc_one_more(object->names, object->count, sizeof *object->names);
    object->names[object->count] = pc_of(name);
    pc_push(object, item);
}
