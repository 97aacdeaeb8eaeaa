/* Values, parameters and rows. */
#include "sql.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A model has little use for more at once; each is said where it cuts. */
#define LONGEST_TEXT 4096
#define SHOWN_BYTES 64
#define MOST_BYTES (1 << 20)

/* A chunk stays well below the usual ceiling of 64 KiB. */
#define CHUNK_BYTES (24 << 10)
#define CHUNK_ROWS 50

static const pc_error *bind_one(const database *open, sqlite3_stmt *statement, int at, const pc_json *value) {
    int64_t integer;
    double number;
    int code;
    switch (value->kind) {
        case PC_JSON_NULL: code = sqlite3_bind_null(statement, at); break;
        case PC_JSON_TRUTH: code = sqlite3_bind_int(statement, at, value->truth); break;
        case PC_JSON_TEXT: code = sqlite3_bind_text64(statement, at, value->text.at, value->text.length, SQLITE_STATIC, SQLITE_UTF8); break;
        case PC_JSON_NUMBER:
            if (pc_json_integer(value, &integer)) code = sqlite3_bind_int64(statement, at, integer);
            else if (pc_json_number(value, &number)) code = sqlite3_bind_double(statement, at, number);
            else return pc_invalid("parameters: %.*s is no number that SQLite has", PC_ARG(value->text));
            break;
        default: return pc_invalid("parameters: a value must be text, a number, true, false or null");
    }
    return code == SQLITE_OK ? NULL : database_failed(open, "parameters");
}

const pc_error *rows_bind(const database *open, sqlite3_stmt *statement, const pc_json *parameters) {
    int wanted = sqlite3_bind_parameter_count(statement);
    if (parameters == NULL || parameters->kind == PC_JSON_ARRAY) {
        size_t given = parameters == NULL ? 0 : parameters->count;
        if (given != (size_t)wanted) return pc_invalid("parameters: the SQL has %d, %zu are given", wanted, given);
        for (int i = 0; i < wanted; i++) PC_TRY(bind_one(open, statement, i + 1, &parameters->items[i]));
        return NULL;
    }
    if (parameters->kind != PC_JSON_OBJECT) return pc_invalid("parameters: must be a list for `?`, or an object for `:name`");
    for (int i = 1; i <= wanted; i++) {
        const char *name = sqlite3_bind_parameter_name(statement, i);
        if (name == NULL || *name == '?') return pc_invalid("parameters: the SQL has a `?`, which a list is for");
        bool found = false;
        for (size_t member = 0; member < parameters->count; member++) {
            if (!pc_is(parameters->names[member], name + 1)) continue;
            PC_TRY(bind_one(open, statement, i, &parameters->items[member]));
            found = true;
        }
        if (!found) return pc_invalid("parameters: `%s` is missing", name + 1);
    }
    return NULL;
}

/* The length of a text that is cut, without a part of a character at its end. */
static size_t cut(const char *text, size_t length) {
    while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length--;
    return length;
}

static pc_json value_of(sqlite3_stmt *statement, int column) {
    switch (sqlite3_column_type(statement, column)) {
        case SQLITE_INTEGER: return pc_json_of_integer(sqlite3_column_int64(statement, column));
        case SQLITE_FLOAT: {
            double number = sqlite3_column_double(statement, column);
            /* JSON has no infinity. */
            return isinf(number) ? pc_json_of_text(pc_of(number < 0 ? "-Infinity" : "Infinity")) : pc_json_of_number(number);
        }
        case SQLITE_TEXT: {
            pc_text text = {(const char *)sqlite3_column_text(statement, column), (size_t)sqlite3_column_bytes(statement, column)};
            if (text.at == NULL) text = (pc_text){"", 0};
            size_t all = text.length;
            if (all > LONGEST_TEXT) text.length = cut(text.at, LONGEST_TEXT);
            pc_text parts[2] = {text, all > LONGEST_TEXT ? pc_format(" ... [%zu bytes in all; substr() reads on]", all) : pc_of("")};
            return pc_json_of_text(pc_valid(pc_join(parts, 2, "")));
        }
        case SQLITE_BLOB: {
            const unsigned char *bytes = sqlite3_column_blob(statement, column);
            int length = sqlite3_column_bytes(statement, column), shown = length < SHOWN_BYTES ? length : SHOWN_BYTES;
            char *hex = pc_alloc((size_t)shown * 2 + 1);
            for (int i = 0; i < shown; i++) snprintf(hex + i * 2, 3, "%02x", bytes[i]);
            pc_json blob = pc_json_object();
            pc_set(&blob, "bytes", pc_json_of_integer(length));
            pc_set(&blob, shown == length ? "hex" : "begins", pc_json_of_text(pc_of(hex)));
            return blob;
        }
        default: return (pc_json){0};
    }
}

/* Rows that are not sent yet. */
typedef struct {
    pc_text lines[CHUNK_ROWS];
    size_t count, bytes;
} waiting;

static const pc_error *send(waiting *waiting) {
    if (waiting->count == 0) return NULL;
    pc_text text = pc_join(waiting->lines, waiting->count, "\n");
    waiting->count = waiting->bytes = 0;
    return pc_emit(text, NULL);
}

static const pc_error *send_row(waiting *waiting, pc_text line) {
    if (line.length > CHUNK_BYTES) line = pc_of("[a row that is too long for a chunk; the result has it]");
    if (waiting->count == CHUNK_ROWS || waiting->bytes + line.length > CHUNK_BYTES) PC_TRY(send(waiting));
    waiting->lines[waiting->count++] = line;
    waiting->bytes += line.length;
    return NULL;
}

static void stop(found_rows *found, const char *reason) {
    found->truncated = true;
    found->reason = pc_of(reason);
}

const pc_error *rows_read(database *open, sqlite3_stmt *statement, int64_t most, found_rows *found) {
    int columns = sqlite3_column_count(statement), code;
    for (int i = 0; i < columns; i++) {
        pc_text name = pc_of(sqlite3_column_name(statement, i));
        found->columns.at = pc_one_more(found->columns.at, found->columns.count, sizeof name);
        found->columns.at[found->columns.count++] = pc_valid(pc_join(&name, 1, ""));
    }
    waiting waiting = {.count = 0};
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        if ((int64_t)found->rows.count == most) {
            stop(found, "max_rows: there are more rows");
            break;
        }
        pc_json row = pc_json_array();
        for (int i = 0; i < columns; i++) pc_push(&row, value_of(statement, i));
        pc_text line = pc_json_write(&row);
        found->bytes += line.length;
        if (found->bytes > MOST_BYTES) {
            stop(found, "size: a result has at most 1 MiB; select fewer columns or rows");
            break;
        }
        found->rows.at = pc_one_more(found->rows.at, found->rows.count, sizeof row);
        found->rows.at[found->rows.count++] = row;
        PC_TRY(send_row(&waiting, line));
    }
    /* Rows that were found before the budget came to its end are worth having; a change is not half done. */
    if ((code & 0xff) == SQLITE_INTERRUPT && open->stopped != NULL && open->mode == READING) {
        stop(found, pc_format("%s: the call's %s is nearly used up; ask for less", open->stopped, open->stopped).at);
    } else if (code != SQLITE_ROW && code != SQLITE_DONE) {
        return database_failed(open, "SQL");
    }
    return send(&waiting);
}
