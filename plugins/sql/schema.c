/* The tool `schema`. */
#include "sql.h"

/* What one call describes at most: schemas that machines made have thousands. */
#define MOST_TABLES 200

typedef struct { pc_text name, type; bool required; int64_t primary_key; pc_text otherwise; } column;
static const pc_field column_fields[] = {
    {PC_TEXT(column, name)},
    {PC_TEXT(column, type), .about = "As it was declared; empty if it was not."},
    {PC_TRUTH(column, required)},
    {PC_INTEGER(column, primary_key), .about = "Its place in the primary key, from 1; 0 if it is not in it."},
    {"default", offsetof(column, otherwise), {.kind = PC_IS_TEXT, PC_LAID_OUT(pc_text)}, PC_OPTIONAL, .about = "An SQL expression."},
    PC_END,
};
typedef struct { pc_text name; bool unique; pc_text columns; } table_index;
static const pc_field index_fields[] = {
    {PC_TEXT(table_index, name)}, {PC_TRUTH(table_index, unique)}, {PC_TEXT(table_index, columns), .about = "With commas between."}, PC_END,
};
typedef struct { pc_text columns, table, references; } foreign_key;
static const pc_field key_fields[] = {
    {PC_TEXT(foreign_key, columns)}, {PC_TEXT(foreign_key, table)}, {PC_TEXT(foreign_key, references), PC_OPTIONAL}, PC_END,
};
typedef struct {
    pc_text name, kind;
    PC_LIST(column) columns;
    PC_LIST(table_index) indexes;
    PC_LIST(foreign_key) foreign_keys;
} table;
static const pc_type columns = PC_RECORDS(column, column_fields), indexes = PC_RECORDS(table_index, index_fields),
                     keys = PC_RECORDS(foreign_key, key_fields);
static const pc_field table_fields[] = {
    {PC_TEXT(table, name)},
    {PC_TEXT(table, kind), .about = "table, view, virtual or shadow."},
    {PC_LIST_OF(table, columns, &columns)},
    {PC_LIST_OF(table, indexes, &indexes)},
    {PC_LIST_OF(table, foreign_keys, &keys)},
    PC_END,
};
typedef struct { PC_LIST(table) tables; bool truncated; } shown;
static const pc_type tables = PC_RECORDS(table, table_fields);

const pc_field schema_arguments[] = {
    {PC_TEXT(asking_schema, database), .about = "The file as this plugin sees it, such as `/data/shop.db`."},
    {PC_TEXT(asking_schema, table), PC_OPTIONAL, .about = "Only this table or view."},
    PC_END,
};
const pc_field schema_returns[] = {
    {PC_LIST_OF(shown, tables, &tables)},
    {PC_TRUTH(shown, truncated), .about = "There are more than 200; name one."},
    PC_END,
};

/* A statement of the plugin's own with one name in it. */
static const pc_error *ask(database *open, const char *sql, pc_text name, sqlite3_stmt **statement) {
    pc_text rest;
    PC_TRY(database_prepare(open, pc_of(sql), statement, &rest));
    sqlite3_bind_text64(*statement, 1, name.at, name.length, SQLITE_STATIC, SQLITE_UTF8);
    return NULL;
}

/* True for a row; false at the end, or with an error. */
static bool next(database *open, sqlite3_stmt *statement, const pc_error **wrong) {
    int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) *wrong = database_failed(open, "the schema");
    if (code != SQLITE_ROW) sqlite3_finalize(statement);
    return code == SQLITE_ROW;
}

static pc_text word(sqlite3_stmt *statement, int at) {
    if (sqlite3_column_type(statement, at) == SQLITE_NULL) return PC_NONE;
    pc_text text = {(const char *)sqlite3_column_text(statement, at), (size_t)sqlite3_column_bytes(statement, at)};
    return text.at == NULL ? pc_of("") : pc_valid(pc_join(&text, 1, ""));
}

#define ADD(list, item)                                                        \
    do {                                                                       \
        (list).at = pc_one_more((list).at, (list).count, sizeof *(list).at); \
        (list).at[(list).count++] = (item);                                    \
    } while (0)

static const pc_error *describe(database *open, table *to) {
    const pc_error *wrong = NULL;
    sqlite3_stmt *rows;
    PC_TRY(ask(open, "SELECT name, type, \"notnull\", pk, dflt_value FROM pragma_table_xinfo(?) WHERE hidden <> 1", to->name, &rows));
    while (next(open, rows, &wrong)) {
        column found = {word(rows, 0), pc_or(word(rows, 1), ""), sqlite3_column_int(rows, 2) != 0, sqlite3_column_int(rows, 3), word(rows, 4)};
        ADD(to->columns, found);
    }
    PC_TRY(wrong);
    PC_TRY(ask(open,
               "SELECT l.name, l.\"unique\", (SELECT group_concat(coalesce(i.name, '(expression)'), ', ') FROM pragma_index_info(l.name) i)"
               " FROM pragma_index_list(?) l", to->name, &rows));
    while (next(open, rows, &wrong)) {
        table_index found = {word(rows, 0), sqlite3_column_int(rows, 1) != 0, pc_or(word(rows, 2), "")};
        ADD(to->indexes, found);
    }
    PC_TRY(wrong);
    PC_TRY(ask(open,
               "SELECT group_concat(\"from\", ', '), \"table\", group_concat(\"to\", ', ') FROM pragma_foreign_key_list(?) GROUP BY id", to->name,
               &rows));
    while (next(open, rows, &wrong)) {
        foreign_key found = {pc_or(word(rows, 0), ""), pc_or(word(rows, 1), ""), word(rows, 2)};
        ADD(to->foreign_keys, found);
    }
    return wrong;
}

const pc_error *schema(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const asking_schema *asked = arguments;
    const pc_error *wrong = NULL;
    database open;
    shown found = {0};
    sqlite3_stmt *rows;
    PC_TRY(database_open(asked->database, READING, &open));
    PC_TRY(ask(&open,
               "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
               " AND (?1 IS NULL OR name = ?1 COLLATE NOCASE) ORDER BY name", asked->table, &rows));
    if (asked->table.at == NULL) sqlite3_bind_null(rows, 1);
    while (next(&open, rows, &wrong)) {
        if (found.tables.count == MOST_TABLES) {
            found.truncated = true;
            sqlite3_finalize(rows);
            break;
        }
        table here = {.name = word(rows, 0), .kind = word(rows, 1)};
        ADD(found.tables, here);
    }
    PC_TRY(wrong);
    if (asked->table.at != NULL && found.tables.count == 0) return pc_failed("there is no table or view `%.*s`", PC_ARG(asked->table));
    for (size_t i = 0; i < found.tables.count; i++) PC_TRY(describe(&open, &found.tables.at[i]));
    PC_TRY(database_unchanged(&open));
    pc_return(result, schema_returns, &found);
    return NULL;
}
