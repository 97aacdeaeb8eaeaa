/* JSON Schema 2020-12 of structs that tables describe. */
#include "portcullis/data.h"

/* What a schema is for. */
typedef enum { INPUT, OUTPUT, FORM } use;

static pc_json text(const char *words) {
    return pc_json_of_text(pc_of(words));
}

static pc_json bound(pc_bound limit) {
    int64_t whole = (int64_t)limit.value;
    return (double)whole == limit.value ? pc_json_of_integer(whole) : pc_json_of_number(limit.value);
}

static pc_json object(const pc_field *fields, use for_what);

static pc_json plain(const pc_type *type, use for_what) {
    static const char *const names[] = {"string", "integer", "number", "boolean", "string", "array", "object"};
    if (type->kind == PC_IS_RECORD) return object(type->fields, for_what);
    pc_json schema = pc_json_object();
    if (type->kind == PC_IS_VALUE) return schema;
    pc_set(&schema, "type", text(names[type->kind]));
    if (type->kind == PC_IS_CHOICE) {
        pc_json words = pc_json_array();
        for (int i = 0; type->words[i] != NULL; i++) pc_push(&words, text(type->words[i]));
        pc_set(&schema, "enum", words);
    }
    if (type->kind == PC_IS_LIST) pc_set(&schema, "items", plain(type->of, for_what));
    if (type->kind == PC_IS_MAP) pc_set(&schema, "additionalProperties", plain(type->of, for_what));
    return schema;
}

/* That it may also be null. */
static pc_json or_null(const pc_type *type, use for_what) {
    pc_json schema = plain(type, for_what), both = pc_json_array();
    if (type->kind == PC_IS_VALUE) return schema;
    if (type->kind == PC_IS_CHOICE) {
        /* Null is none of the words. */
        pc_json null = pc_json_object(), either = pc_json_object();
        pc_set(&null, "type", text("null"));
        pc_push(&both, schema);
        pc_push(&both, null);
        pc_set(&either, "anyOf", both);
        return either;
    }
    pc_push(&both, schema.items[0]);
    pc_push(&both, text("null"));
    schema.items[0] = both;
    return schema;
}

static pc_json field_schema(const pc_field *field, use for_what) {
    const pc_type *type = &field->type;
    pc_json schema = field->optional && for_what != FORM ? or_null(type, for_what) : plain(type, for_what);
    if (field->title != NULL) pc_set(&schema, "title", text(field->title));
    if (field->about != NULL) pc_set(&schema, "description", text(field->about));
    if (field->format != NULL) pc_set(&schema, "format", text(field->format));
    bool list = type->kind == PC_IS_LIST, word = type->kind == PC_IS_TEXT;
    if (field->from.is) pc_set(&schema, list ? "minItems" : word ? "minLength" : "minimum", bound(field->from));
    if (field->upto.is) pc_set(&schema, list ? "maxItems" : word ? "maxLength" : "maximum", bound(field->upto));
    if (field->otherwise.is) {
        pc_json value = type->kind == PC_IS_TRUTH                              ? pc_json_of_truth(field->otherwise.truth)
                        : type->kind == PC_IS_INTEGER || type->kind == PC_IS_NUMBER ? bound((pc_bound){true, field->otherwise.number})
                                                                               : text(field->otherwise.text);
        pc_set(&schema, "default", value);
    }
    return schema;
}

static pc_json object(const pc_field *fields, use for_what) {
    pc_json schema = pc_json_object(), properties = pc_json_object(), required = pc_json_array();
    for (const pc_field *field = fields; field != NULL && field->name != NULL; field++) {
        pc_set(&properties, field->name, field_schema(field, for_what));
        if (for_what == OUTPUT || (!field->optional && !field->otherwise.is)) pc_push(&required, text(field->name));
    }
    pc_set(&schema, "type", text("object"));
    pc_set(&schema, "properties", properties);
    if (required.count != 0) pc_set(&schema, "required", required);
    return schema;
}

pc_text pc_plain_schema(const pc_field *fields) {
    pc_json schema = object(fields, INPUT);
    return pc_json_write(&schema);
}

pc_text pc_input_schema(const pc_field *fields) {
    pc_json schema = object(fields, INPUT);
    pc_set(&schema, "additionalProperties", pc_json_of_truth(false));
    return pc_json_write(&schema);
}

pc_text pc_output_schema(const pc_field *fields) {
    pc_json schema = object(fields, OUTPUT);
    return pc_json_write(&schema);
}

pc_text pc_form_schema(const pc_field *fields) {
    pc_json schema = object(fields, FORM);
    return pc_json_write(&schema);
}
