/* The tools `query` and `execute`. */
#include "sql.h"

static const pc_type row = {.kind = PC_IS_VALUE, PC_LAID_OUT(pc_json)};

#define ABOUT_DATABASE .about = "The file as this plugin sees it, such as `/data/shop.db`."
#define ABOUT_PARAMETERS .about = "A list of values for `?`, or an object with those for `:name`: texts, numbers, true, false, null."

const pc_field query_arguments[] = {
    {PC_TEXT(querying, database), ABOUT_DATABASE},
    {PC_TEXT(querying, sql), .about = "One statement that reads.", PC_FROM(1)},
    {PC_VALUE(querying, parameters), PC_OPTIONAL, ABOUT_PARAMETERS},
    {PC_INTEGER(querying, max_rows), PC_FROM(1), PC_UPTO(10000), PC_ELSE_NUMBER(200)},
    PC_END,
};

typedef struct {
    found_rows found;
    int64_t count;
} queried;
const pc_field query_returns[] = {
    {"columns", offsetof(queried, found.columns), {.kind = PC_IS_LIST, .of = &pc_texts}},
    {"rows", offsetof(queried, found.rows), {.kind = PC_IS_LIST, .of = &row}, .about = "Each an array, in the order of the columns."},
    {PC_INTEGER(queried, count)},
    {"truncated", offsetof(queried, found.truncated), {.kind = PC_IS_TRUTH, PC_LAID_OUT(bool)}},
    {"reason", offsetof(queried, found.reason), {.kind = PC_IS_TEXT, PC_LAID_OUT(pc_text)}, PC_OPTIONAL, .about = "Why it is truncated."},
    PC_END,
};

static const pc_error *read_rows(database *open, const querying *asked, found_rows *found) {
    sqlite3_stmt *statement, *another;
    pc_text rest;
    PC_TRY(database_prepare(open, asked->sql, &statement, &rest));
    if (statement == NULL) return pc_invalid("sql: there is no statement in it");
    PC_TRY(database_prepare(open, rest, &another, &rest));
    if (another != NULL) return pc_invalid("sql: give one statement; a `;` ends it");
    if (!sqlite3_stmt_readonly(statement)) return pc_failed("SQL: only reading is allowed here; `execute` writes");
    PC_TRY(rows_bind(open, statement, asked->parameters));
    PC_TRY(rows_read(open, statement, asked->max_rows, found));
    return database_unchanged(open);
}

const pc_error *query(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const querying *asked = arguments;
    database open;
    queried got = {0};
    PC_TRY(database_open(asked->database, READING, &open));
    PC_TRY(read_rows(&open, asked, &got.found));
    got.count = (int64_t)got.found.rows.count;
    pc_return(result, query_returns, &got);
    return NULL;
}

const pc_field execute_arguments[] = {
    {PC_TEXT(executing, database), ABOUT_DATABASE},
    {PC_TEXT(executing, sql), .about = "One or more statements; parameters only with one.", PC_FROM(1)},
    {PC_VALUE(executing, parameters), PC_OPTIONAL, ABOUT_PARAMETERS},
    {PC_TRUTH(executing, create), .about = "Makes the database if there is none.", PC_ELSE_TRUTH(false)},
    PC_END,
};

typedef struct {
    int64_t statements, changes, last_row_id;
    found_rows returned;
} executed;
const pc_field execute_returns[] = {
    {PC_INTEGER(executed, statements)},
    {PC_INTEGER(executed, changes), .about = "Rows that were inserted, changed or removed, also by triggers."},
    {PC_INTEGER(executed, last_row_id)},
    {"rows", offsetof(executed, returned.rows), {.kind = PC_IS_LIST, .of = &row}, .about = "What RETURNING returned."},
    {"truncated", offsetof(executed, returned.truncated), {.kind = PC_IS_TRUTH, PC_LAID_OUT(bool)}, .about = "RETURNING returned more: at most 1,000 rows and 1 MiB are here."},
    PC_END,
};

static const pc_error *run(database *open, const executing *asked, executed *done) {
    pc_text rest = asked->sql;
    for (;;) {
        sqlite3_stmt *statement;
        PC_TRY(database_prepare(open, rest, &statement, &rest));
        if (statement == NULL) break;
        if (done->statements != 0 && asked->parameters != NULL) return pc_invalid("parameters: only with one statement");
        PC_TRY(rows_bind(open, statement, asked->parameters));
        PC_TRY(rows_read(open, statement, 1000, &done->returned));
        /* The rest of a statement that returns more must still happen. */
        while (done->returned.truncated && sqlite3_step(statement) == SQLITE_ROW) {}
        open->running = NULL;
        if (sqlite3_finalize(statement) != SQLITE_OK) return database_failed(open, "SQL");
        done->statements++;
    }
    return done->statements == 0 ? pc_invalid("sql: there is no statement in it") : NULL;
}

const pc_error *execute(const pc_call *call, const void *arguments, pc_result *result) {
    (void)call;
    const executing *asked = arguments;
    database open;
    executed done = {0};
    PC_TRY(database_open(asked->database, asked->create ? CREATING : WRITING, &open));
    const pc_error *wrong = database_transaction(&open, "BEGIN IMMEDIATE");
    if (wrong == NULL) wrong = run(&open, asked, &done);
    if (wrong == NULL) wrong = database_transaction(&open, "COMMIT");
    if (wrong == NULL) {
        done.changes = sqlite3_total_changes64(open.handle);
        done.last_row_id = sqlite3_last_insert_rowid(open.handle);
    }
    /* Closing rolls back what is not committed, and gives the lock back. */
    database_close(&open);
    if (wrong != NULL) return wrong;
    pc_return(result, execute_returns, &done);
    return NULL;
}
