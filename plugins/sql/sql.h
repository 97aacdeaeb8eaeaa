/* The plugin `sql`: SQLite databases in granted folders. */
#ifndef SQL_H
#define SQL_H

#include <portcullis.h>
#include <sqlite3.h>

/* -- database.c: opening a database, and what statements may do --------------------------------------------------------- */

typedef enum { READING, WRITING, CREATING } sql_mode;

/* What was seen of the database's files, to notice that another program writes. */
typedef struct {
    struct { bool is; int64_t size, seconds, nanoseconds; } files[3];
} sql_seen;

typedef struct {
    sqlite3 *handle;
    sqlite3_stmt *running; /* the last one that was prepared */
    pc_text path;
    sql_mode mode;
    sql_seen seen;
    /* What a call leaves of its budget, so that it ends with a result rather than being stopped without one. */
    uint64_t fuel, time;
    const char *stopped; /* NULL, or "fuel" or "time" */
} database;

const pc_error *database_open(pc_text path, sql_mode mode, database *opened);
/* An error if another program has written since it was opened: what was read may be of two states. */
const pc_error *database_unchanged(const database *open);
void database_close(database *open);
/* What SQLite says of its last failure. */
const pc_error *database_failed(const database *open, const char *doing);
/* One more statement of a text; NULL at its end. `rest` is what follows. */
const pc_error *database_prepare(database *open, pc_text sql, sqlite3_stmt **statement, pc_text *rest);
/* Begins or ends the transaction of a call, which no SQL of a caller may. */
const pc_error *database_transaction(database *open, const char *sql);

/* -- files.c: paths and errors ------------------------------------------------------------------------------------------- */

/* The path as a C string, inside of a granted folder by its name. The sandbox checks where it leads. */
const pc_error *file_path(pc_text path, pc_text *plain);
/* What opening a file has failed with. */
const pc_error *file_failed(pc_text path, int number);

/* -- rows.c: values, parameters and rows --------------------------------------------------------------------------------- */

typedef struct {
    PC_LIST(pc_text) columns;
    PC_LIST(pc_json) rows; /* each an array */
    bool truncated;
    pc_text reason; /* why; none if it is not truncated */
    size_t bytes;   /* of all rows as JSON, also of other statements of the call */
} found_rows;

/* Binds an array to `?`, or an object to `:name`, `@name` and `$name`. NULL: there are none. */
const pc_error *rows_bind(const database *open, sqlite3_stmt *statement, const pc_json *parameters);
/* Runs a statement to its end, or to `most` rows. Rows are sent as chunks meanwhile. */
const pc_error *rows_read(database *open, sqlite3_stmt *statement, int64_t most, found_rows *found);

/* -- the tools ----------------------------------------------------------------------------------------------------------- */

typedef struct { pc_text database, sql; pc_json *parameters; int64_t max_rows; } querying;
typedef struct { pc_text database, sql; pc_json *parameters; bool create; } executing;
typedef struct { pc_text database, table; } asking_schema;

extern const pc_field query_arguments[], query_returns[], execute_arguments[], execute_returns[], schema_arguments[], schema_returns[];
const pc_error *query(const pc_call *call, const void *arguments, pc_result *result);
const pc_error *execute(const pc_call *call, const void *arguments, pc_result *result);
const pc_error *schema(const pc_call *call, const void *arguments, pc_result *result);

#endif
