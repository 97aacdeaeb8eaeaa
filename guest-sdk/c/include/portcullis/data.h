/* Texts, JSON, and records that tables describe. Nothing in here needs a host.
 *
 * Memory: what these functions return lies in one arena, is zeroed before use, and stays valid until the call ends; there
 * is nothing to free. Each call of a tool has an instance of its own, whose memory is gone afterwards. A call that uses
 * more memory than the operator allows ends. */
#ifndef PORTCULLIS_DATA_H
#define PORTCULLIS_DATA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct pc_error pc_error;

/* Zeroed memory for any type. Never NULL. */
void *pc_alloc(size_t size);
/* Zeroed memory for `count` items of this size, with room up to the next power of two. */
void *pc_alloc_items(size_t count, size_t size);
/* The items and room for one more behind them, where `count` are in use: the memory itself, or a larger copy. Only for items
 * from here: of pc_alloc_items, of this function (which makes the first room of NULL), and of lists that the SDK has read. */
void *pc_one_more(void *items, size_t count, size_t size);

/* -- texts ------------------------------------------------------------------------------------------------------------ */

/* Text in UTF-8, or bytes. It has no NUL at its end unless a function says so. `at` is NULL if there is none, which an
 * empty text is not. */
typedef struct pc_text {
    const char *at;
    size_t length;
} pc_text;

#define PC_NONE ((pc_text){NULL, 0})
/* For "%.*s". */
#define PC_ARG(text) (int)(text).length, (text).at

/* A view of a C string, which must live as long; none for NULL. */
pc_text pc_of(const char *string);
bool pc_is(pc_text text, const char *string);
/* The text, or another if there is none. */
pc_text pc_or(pc_text text, const char *otherwise);
/* As printf; "%.*s" ends at the first NUL of a text. A NUL is behind the result, so that `at` is a C string, too. */
pc_text pc_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
pc_text pc_formatted(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));
/* All texts with a separator between them. */
pc_text pc_join(const pc_text *texts, size_t count, const char *separator);
/* With ASCII letters in upper case. */
pc_text pc_upper(pc_text text);
/* The number of Unicode code points. */
size_t pc_characters(pc_text text);
/* Whether the whole text is a decimal integer that fits. */
bool pc_reads_integer(pc_text text, int64_t *integer);
/* With invalid UTF-8 replaced by U+FFFD; texts for the host must be valid. */
pc_text pc_valid(pc_text bytes);

/* Whether a URI has the pattern, `guide://city/{name}`. A variable is one or more characters but `/?#`; its decoded text
 * becomes an item of `variables`, which has one for each variable. */
bool pc_matches(const char *pattern, pc_text uri, pc_text **variables);

/* -- JSON ------------------------------------------------------------------------------------------------------------- */

typedef enum { PC_JSON_NULL, PC_JSON_TRUTH, PC_JSON_NUMBER, PC_JSON_TEXT, PC_JSON_ARRAY, PC_JSON_OBJECT } pc_json_kind;

/* A value. A number is kept as it was written, so that none is changed on its way. Copies share their items: what has been
 * put into another value must not grow any more. */
typedef struct pc_json {
    pc_json_kind kind;
    bool truth;
    pc_text text;          /* of a string, decoded; of a number, its digits */
    struct pc_json *items; /* of an array or object */
    pc_text *names;        /* of an object */
    size_t count;
} pc_json;

/* Reads one value. At most 128 values lie in each other: deeper text is refused, since it would use up the stack. */
const pc_error *pc_json_read(pc_text text, pc_json *value);
/* Compact; strings are escaped where they must be. */
pc_text pc_json_write(const pc_json *value);
/* The member of an object; null if there is none, or this is no object. The last one, if there are several. */
const pc_json *pc_member(const pc_json *object, const char *name);
bool pc_json_integer(const pc_json *value, int64_t *integer);
bool pc_json_number(const pc_json *value, double *number);

pc_json pc_json_of_text(pc_text text);
pc_json pc_json_of_integer(int64_t integer);
/* Shortest digits that read as the same number. JSON has no infinity and no NaN: they are written as null. */
pc_json pc_json_of_number(double number);
pc_json pc_json_of_truth(bool truth);
pc_json pc_json_object(void);
pc_json pc_json_array(void);
/* Appends a member; its name must live as long as the object. */
void pc_set(pc_json *object, const char *name, pc_json value);
void pc_push(pc_json *array, pc_json value);

/* -- records ---------------------------------------------------------------------------------------------------------- */

/* A list; PC_LIST(int64_t) is one of integers. */
#define PC_LIST(type) struct { type *at; size_t count; }
/* A map, as a list of entries. */
#define PC_MAP(type) struct { struct { pc_text name; type value; } *at; size_t count; }

typedef enum { PC_IS_TEXT, PC_IS_INTEGER, PC_IS_NUMBER, PC_IS_TRUTH, PC_IS_CHOICE, PC_IS_LIST, PC_IS_MAP, PC_IS_RECORD, PC_IS_VALUE } pc_kind;

typedef struct pc_field pc_field;

/* A type: what a field of a struct is, and the items of lists and maps. */
typedef struct pc_type {
    pc_kind kind;
    size_t size, align;       /* of the C type */
    const char *const *words; /* of a choice: NULL at the end; the C type is `int`, the position */
    const struct pc_type *of; /* of a list, the items; of a map, the values */
    const pc_field *fields;   /* of a record */
} pc_type;

#define PC_LAID_OUT(type) .size = sizeof(type), .align = _Alignof(type)
extern const pc_type pc_texts, pc_integers, pc_numbers, pc_truths, pc_values;
#define PC_RECORDS(type, described) {.kind = PC_IS_RECORD, PC_LAID_OUT(type), .fields = (described)}
#define PC_CHOICES(choices) {.kind = PC_IS_CHOICE, PC_LAID_OUT(int), .words = (choices)}

typedef struct pc_bound {
    bool is;
    double value;
} pc_bound;

/* A field of a struct, and what JSON Schema says of it. */
struct pc_field {
    const char *name; /* NULL in the last one */
    size_t offset;
    pc_type type;
    bool optional; /* a text without `at`; a pointer to anything else, NULL if there is none */
    const char *about, *title;
    const char *format; /* of texts in forms: `email`, `uri`, `date` or `date-time` */
    pc_bound from, upto; /* of numbers; of texts and lists, their length */
    struct {
        bool is;
        const char *text; /* of texts and choices */
        double number;    /* of numbers */
        bool truth;
    } otherwise;
};

/* Fields: `{PC_TEXT(greeting, name), .about = "Whom to greet.", PC_FROM(1), PC_UPTO(40)}`. */
#define PC_AT(type, name) #name, offsetof(type, name)
#define PC_TEXT(type, name) PC_AT(type, name), {.kind = PC_IS_TEXT, PC_LAID_OUT(pc_text)}
#define PC_INTEGER(type, name) PC_AT(type, name), {.kind = PC_IS_INTEGER, PC_LAID_OUT(int64_t)}
#define PC_NUMBER(type, name) PC_AT(type, name), {.kind = PC_IS_NUMBER, PC_LAID_OUT(double)}
#define PC_TRUTH(type, name) PC_AT(type, name), {.kind = PC_IS_TRUTH, PC_LAID_OUT(bool)}
/* Any JSON; in C a pc_json. */
#define PC_VALUE(type, name) PC_AT(type, name), {.kind = PC_IS_VALUE, PC_LAID_OUT(pc_json)}
#define PC_CHOICE(type, name, choices) PC_AT(type, name), PC_CHOICES(choices)
#define PC_RECORD(type, name, of, described) PC_AT(type, name), PC_RECORDS(of, described)
#define PC_LIST_OF(type, name, items) PC_AT(type, name), {.kind = PC_IS_LIST, .of = (items)}
#define PC_MAP_OF(type, name, values) PC_AT(type, name), {.kind = PC_IS_MAP, .of = (values)}
#define PC_END {.name = NULL}

#define PC_OPTIONAL .optional = true
#define PC_FROM(bound) .from = {true, bound}
#define PC_UPTO(bound) .upto = {true, bound}
#define PC_ELSE_TEXT(value) .otherwise = {.is = true, .text = (value)}
#define PC_ELSE_NUMBER(value) .otherwise = {.is = true, .number = (value)}
#define PC_ELSE_TRUTH(value) .otherwise = {.is = true, .truth = (value)}

/* Fills a struct, whose bytes are overwritten. Missing fields get their default. Unknown members are ignored. An error says
 * which field is wrong. */
const pc_error *pc_record_from(const pc_field *fields, void *record, const pc_json *value);
const pc_error *pc_record_read(const pc_field *fields, void *record, pc_text json);
pc_json pc_record_value(const pc_field *fields, const void *record);
pc_text pc_record_write(const pc_field *fields, const void *record);

/* JSON Schema of a tool's arguments, of arguments that a model chooses, of a structured result, and of a form. */
pc_text pc_input_schema(const pc_field *fields);
pc_text pc_plain_schema(const pc_field *fields);
pc_text pc_output_schema(const pc_field *fields);
pc_text pc_form_schema(const pc_field *fields);

/* -- errors ----------------------------------------------------------------------------------------------------------- */

/* As what a call ends. */
typedef enum {
    PC_INVALID_ARGUMENTS, /* they match the schema but are not valid */
    PC_FAILED,
    PC_CANCELLED,
    PC_DENIED,      /* authority that was not granted */
    PC_EXHAUSTED,   /* a limit of the call was reached */
    PC_UNSUPPORTED, /* this host or client does not offer something */
} pc_error_kind;

/* Which failure it is, where a tool can do something about it. */
typedef enum {
    PC_ANY,
    PC_CONFLICT,     /* somebody else changed a value meanwhile */
    PC_NO_ANSWER,    /* not in time */
    PC_DECLINED,     /* on the client's or the agent's side */
    PC_TOOL_FAILED,  /* an agent's tool ran and reported it */
    PC_UNKNOWN_TOOL, /* the agent's side has no such tool */
    PC_BAD_STATUS,   /* the other server's answer has no status of success */
    PC_NOT_CONNECTED,  /* the user has not connected this account, or must do it again */
    PC_NOT_PUBLISHED,  /* nothing is published under this path or name */
} pc_cause;

/* An error, which a tool returns: NULL is success. */
struct pc_error {
    pc_error_kind kind;
    pc_cause cause;
    pc_text text; /* a sentence for the model */
    pc_text capability, target, remedy; /* of a denial */
    uint8_t budget;                     /* of an exhaustion, as in the WIT's enum */
    uint64_t limit;
};

/* A failure with a sentence, as printf. */
const pc_error *pc_failed(const char *format, ...) __attribute__((format(printf, 1, 2)));
const pc_error *pc_invalid(const char *format, ...) __attribute__((format(printf, 1, 2)));
const pc_error *pc_unsupported(const char *what);
const pc_error *pc_denied(const char *capability, pc_text target);

/* Ends the function with the error, if there is one. */
#define PC_TRY(call)                          \
    do {                                      \
        const pc_error *pc_tried = (call);    \
        if (pc_tried != NULL) return pc_tried; \
    } while (0)

#endif
