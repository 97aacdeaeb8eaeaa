/* Structs that tables describe, from and to JSON. */
#include "portcullis/data.h"

#include <string.h>

const pc_type pc_texts = {.kind = PC_IS_TEXT, PC_LAID_OUT(pc_text)};
const pc_type pc_integers = {.kind = PC_IS_INTEGER, PC_LAID_OUT(int64_t)};
const pc_type pc_numbers = {.kind = PC_IS_NUMBER, PC_LAID_OUT(double)};
const pc_type pc_truths = {.kind = PC_IS_TRUTH, PC_LAID_OUT(bool)};
const pc_type pc_values = {.kind = PC_IS_VALUE, PC_LAID_OUT(pc_json)};

/* As every PC_LIST and PC_MAP. */
typedef struct any_list {
    void *at;
    size_t count;
} any_list;

typedef struct entry {
    size_t value, size;
} entry;

/* Where the value of a map's entry is, and how large the entry. */
static entry entry_of(const pc_type *type) {
    size_t align = type->align > _Alignof(pc_text) ? type->align : _Alignof(pc_text);
    size_t value = (sizeof(pc_text) + type->align - 1) / type->align * type->align;
    return (entry){value, (value + type->size + align - 1) / align * align};
}

static const pc_error *take(const pc_type *type, void *to, const pc_json *from);

static const pc_error *take_items(const pc_type *type, void *to, const pc_json *from) {
    bool map = type->kind == PC_IS_MAP;
    if (from->kind != (map ? PC_JSON_OBJECT : PC_JSON_ARRAY)) return pc_invalid(map ? "is no object" : "is no list");
    entry in = map ? entry_of(type->of) : (entry){0, type->of->size};
    any_list list = {pc_alloc_items(from->count, in.size), from->count};
    for (size_t i = 0; i < from->count; i++) {
        char *item = (char *)list.at + i * in.size;
        if (map) memcpy(item, &from->names[i], sizeof(pc_text));
        const pc_error *wrong = take(type->of, item + in.value, &from->items[i]);
        if (wrong != NULL) return pc_invalid("[%zu] %.*s", i, PC_ARG(wrong->text));
    }
    memcpy(to, &list, sizeof list);
    return NULL;
}

static const pc_error *take(const pc_type *type, void *to, const pc_json *from) {
    switch (type->kind) {
        case PC_IS_TEXT:
            if (from->kind != PC_JSON_TEXT) return pc_invalid("is no text");
            memcpy(to, &from->text, sizeof from->text);
            return NULL;
        case PC_IS_INTEGER: {
            int64_t integer;
            if (!pc_json_integer(from, &integer)) return pc_invalid("is no integer of 64 bits");
            memcpy(to, &integer, sizeof integer);
            return NULL;
        }
        case PC_IS_NUMBER: {
            double number;
            if (!pc_json_number(from, &number)) return pc_invalid("is no number");
            memcpy(to, &number, sizeof number);
            return NULL;
        }
        case PC_IS_TRUTH:
            if (from->kind != PC_JSON_TRUTH) return pc_invalid("is neither true nor false");
            memcpy(to, &from->truth, sizeof from->truth);
            return NULL;
        case PC_IS_CHOICE:
            for (int i = 0; type->words[i] != NULL; i++) {
                if (from->kind != PC_JSON_TEXT || !pc_is(from->text, type->words[i])) continue;
                memcpy(to, &i, sizeof i);
                return NULL;
            }
            return pc_invalid("is none of the words that it may be");
        case PC_IS_RECORD: return pc_record_from(type->fields, to, from);
        case PC_IS_VALUE: memcpy(to, from, sizeof *from); return NULL;
        default: return take_items(type, to, from);
    }
}

/* What a field has that is not there. */
static pc_json otherwise(const pc_field *field) {
    if (!field->otherwise.is) return (pc_json){0};
    switch (field->type.kind) {
        case PC_IS_INTEGER: return pc_json_of_integer((int64_t)field->otherwise.number);
        case PC_IS_NUMBER: return pc_json_of_number(field->otherwise.number);
        case PC_IS_TRUTH: return pc_json_of_truth(field->otherwise.truth);
        default: return pc_json_of_text(pc_of(field->otherwise.text));
    }
}

const pc_error *pc_record_from(const pc_field *fields, void *record, const pc_json *value) {
    if (value->kind != PC_JSON_OBJECT) return pc_invalid("is no object");
    for (const pc_field *field = fields; field->name != NULL; field++) {
        char *to = (char *)record + field->offset;
        const pc_json *found = pc_member(value, field->name);
        pc_json fallback;
        if (found->kind == PC_JSON_NULL) {
            fallback = otherwise(field);
            found = &fallback;
        }
        bool text = field->type.kind == PC_IS_TEXT;
        if (found->kind == PC_JSON_NULL) {
            if (!field->optional) return pc_invalid("`%s` is missing", field->name);
            if (text) memset(to, 0, sizeof(pc_text));
            if (!text) memset(to, 0, sizeof(void *));
            continue;
        }
        void *target = to;
        if (field->optional && !text) {
            bool list = field->type.kind == PC_IS_LIST || field->type.kind == PC_IS_MAP;
            target = pc_alloc(list ? sizeof(any_list) : field->type.size);
            memcpy(to, &target, sizeof target);
        }
        const pc_error *wrong = take(&field->type, target, found);
        if (wrong != NULL) return pc_invalid("`%s` %.*s", field->name, PC_ARG(wrong->text));
    }
    return NULL;
}

const pc_error *pc_record_read(const pc_field *fields, void *record, pc_text json) {
    pc_json value;
    PC_TRY(pc_json_read(json, &value));
    return pc_record_from(fields, record, &value);
}

static pc_json made(const pc_type *type, const void *from) {
    switch (type->kind) {
        case PC_IS_TEXT: {
            pc_text text;
            memcpy(&text, from, sizeof text);
            return pc_json_of_text(text.at == NULL ? pc_of("") : text);
        }
        case PC_IS_INTEGER: {
            int64_t integer;
            memcpy(&integer, from, sizeof integer);
            return pc_json_of_integer(integer);
        }
        case PC_IS_NUMBER: {
            double number;
            memcpy(&number, from, sizeof number);
            return pc_json_of_number(number);
        }
        case PC_IS_TRUTH: {
            bool truth;
            memcpy(&truth, from, sizeof truth);
            return pc_json_of_truth(truth);
        }
        case PC_IS_CHOICE: {
            int chosen;
            memcpy(&chosen, from, sizeof chosen);
            for (int i = 0; type->words[i] != NULL; i++) {
                if (i == chosen) return pc_json_of_text(pc_of(type->words[i]));
            }
            return (pc_json){0};
        }
        case PC_IS_RECORD: return pc_record_value(type->fields, from);
        case PC_IS_VALUE: {
            pc_json value;
            memcpy(&value, from, sizeof value);
            return value;
        }
        default: {
            bool map = type->kind == PC_IS_MAP;
            any_list list;
            memcpy(&list, from, sizeof list);
            entry in = map ? entry_of(type->of) : (entry){0, type->of->size};
            pc_json items = map ? pc_json_object() : pc_json_array();
            for (size_t i = 0; i < list.count; i++) {
                const char *item = (const char *)list.at + i * in.size;
                if (map) {
                    items.names = pc_one_more(items.names, i, sizeof(pc_text));
                    memcpy(&items.names[i], item, sizeof(pc_text));
                }
                pc_push(&items, made(type->of, item + in.value));
            }
            return items;
        }
    }
}

pc_json pc_record_value(const pc_field *fields, const void *record) {
    pc_json object = pc_json_object();
    for (const pc_field *field = fields; field->name != NULL; field++) {
        const void *from = (const char *)record + field->offset;
        pc_text text = PC_NONE;
        bool there = true;
        if (field->optional && field->type.kind == PC_IS_TEXT) {
            memcpy(&text, from, sizeof text);
            there = text.at != NULL;
        } else if (field->optional) {
            memcpy(&from, from, sizeof from);
            there = from != NULL;
        }
        pc_set(&object, field->name, there ? made(&field->type, from) : (pc_json){0});
    }
    return object;
}

pc_text pc_record_write(const pc_field *fields, const void *record) {
    pc_json value = pc_record_value(fields, record);
    return pc_json_write(&value);
}
