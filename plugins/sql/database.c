/* Opening a database, and what statements may do.
 *
 * A sandbox has no locks and no shared memory that other programs see. So reading opens a database read-only without locks, and says if a
 * file changed meanwhile; writing locks against other calls of this plugin only, by a folder beside the database. */
#include "sql.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Memory that SQLite may use: half of a call's usual limit, so that a large sort is an error that says so and no stopped call. */
#define MOST_MEMORY (32 << 20)
/* Statements of the virtual machine between two looks at the budget. */
#define STEPS 20000

static const char *const ends[3] = {"", "-wal", "-journal"};

static sql_seen look(pc_text path) {
    sql_seen seen = {0};
    for (int i = 0; i < 3; i++) {
        struct stat is;
        if (stat(pc_format("%.*s%s", PC_ARG(path), ends[i]).at, &is) != 0) continue;
        seen.files[i].is = true;
        seen.files[i].size = is.st_size;
        seen.files[i].seconds = is.st_mtim.tv_sec;
        seen.files[i].nanoseconds = is.st_mtim.tv_nsec;
    }
    return seen;
}

const pc_error *database_unchanged(const database *open) {
    sql_seen now = look(open->path);
    for (int i = 0; i < 3; i++) {
        if (now.files[i].is != open->seen.files[i].is || now.files[i].size != open->seen.files[i].size ||
            now.files[i].seconds != open->seen.files[i].seconds || now.files[i].nanoseconds != open->seen.files[i].nanoseconds) {
            return pc_failed("another program wrote `%.*s` while it was read, so that what was read may be wrong; ask again", PC_ARG(open->path));
        }
    }
    return NULL;
}

/* PRAGMAs that only read, without an argument or with the name of what they describe. */
static bool reads(const char *pragma, const char *argument) {
    static const char *const named[] = {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo",
                                        "foreign_key_list", "foreign_key_check", "integrity_check", "quick_check"};
    static const char *const plain[] = {"application_id", "auto_vacuum", "collation_list", "compile_options", "data_version", "database_list", "encoding",
                                        "foreign_keys", "freelist_count", "function_list", "journal_mode", "module_list", "page_count",
                                        "page_size", "pragma_list", "schema_version", "user_version"};
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (sqlite3_stricmp(pragma, named[i]) == 0) return true;
    }
    for (size_t i = 0; argument == NULL && i < sizeof plain / sizeof *plain; i++) {
        if (sqlite3_stricmp(pragma, plain[i]) == 0) return true;
    }
    return false;
}

/* SQLite asks for each action of a statement while it compiles it. What is not named here is refused. */
static int authorize(void *opened, int action, const char *first, const char *second, const char *third, const char *fourth) {
    const database *open = opened;
    (void)third, (void)fourth;
    switch (action) {
        case SQLITE_SELECT:
        case SQLITE_READ:
        case SQLITE_FUNCTION:
        case SQLITE_RECURSIVE: return SQLITE_OK;
        case SQLITE_PRAGMA: return reads(first, second) ? SQLITE_OK : SQLITE_DENY;
        /* They leave the database or the transaction. */
        case SQLITE_ATTACH:
        case SQLITE_DETACH:
        case SQLITE_TRANSACTION:
        case SQLITE_SAVEPOINT: return SQLITE_DENY;
        default: return open->mode == READING ? SQLITE_DENY : SQLITE_OK;
    }
}

/* Stops a statement before the budget of the call is used up. */
static int budget(void *opened) {
    database *open = opened;
    uint64_t fuel;
    if (pc_fuel_left(&fuel) && fuel < open->fuel) open->stopped = "fuel";
    else if (pc_deadline_left() < open->time) open->stopped = "time";
    return open->stopped != NULL;
}

static void confine(database *open) {
    static const int limits[][2] = {
        {SQLITE_LIMIT_LENGTH, 16 << 20},      /* a value, or a row */
        {SQLITE_LIMIT_SQL_LENGTH, 256 << 10},
        {SQLITE_LIMIT_EXPR_DEPTH, 200},       /* each level takes stack */
        {SQLITE_LIMIT_COMPOUND_SELECT, 200},
        {SQLITE_LIMIT_VDBE_OP, 1 << 20},
        {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000}, /* the time of a match grows with its square */
        {SQLITE_LIMIT_TRIGGER_DEPTH, 20},
        {SQLITE_LIMIT_VARIABLE_NUMBER, 1000},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) sqlite3_limit(open->handle, limits[i][0], limits[i][1]);
    sqlite3_hard_heap_limit64(MOST_MEMORY);
    /* A schema may be made to attack who reads it. */
    sqlite3_db_config(open->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(open->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    /* "name" that is no column is an error, not a text. */
    sqlite3_db_config(open->handle, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    if (pc_fuel_left(&open->fuel)) open->fuel /= 10;
    open->time = pc_deadline_left() / 10;
    sqlite3_progress_handler(open->handle, STEPS, budget, open);
    sqlite3_set_authorizer(open->handle, authorize, open);
}

/* The first bytes of the file: whether it is a database, and one with a write-ahead log. */
static const pc_error *begin(const database *open, bool *logged) {
    int file = openat(AT_FDCWD, open->path.at, open->mode == READING ? O_RDONLY : open->mode == WRITING ? O_RDWR : O_RDWR | O_CREAT, 0644);
    if (file < 0) return file_failed(open->path, errno);
    char head[20];
    ssize_t count = read(file, head, sizeof head);
    int number = errno;
    close(file);
    if (count < 0) return file_failed(open->path, number);
    /* An empty file is an empty database. */
    if (count != 0 && (count != sizeof head || memcmp(head, "SQLite format 3", 16) != 0)) {
        return pc_failed("`%.*s` is no SQLite database, or it is encrypted", PC_ARG(open->path));
    }
    *logged = count != 0 && head[19] == 2;
    return NULL;
}

/* A URI that is read at its place, whatever is in the path. */
static const char *uri_of(pc_text path, const char *query) {
    char *uri = pc_alloc(path.length * 3 + strlen(query) + 6);
    char *to = strcpy(uri, "file:") + 5;
    for (size_t i = 0; i < path.length; i++) {
        unsigned char byte = (unsigned char)path.at[i];
        bool plain = byte == '/' || byte == '.' || byte == '_' || (byte >= '0' && byte <= '9') || ((byte | 32) >= 'a' && (byte | 32) <= 'z');
        to += snprintf(to, 4, plain ? "%c" : "%%%02X", byte);
    }
    strcpy(to, query);
    return uri;
}

const pc_error *database_open(pc_text path, sql_mode mode, database *opened) {
    *opened = (database){.mode = mode};
    bool logged;
    PC_TRY(file_path(path, &opened->path));
    PC_TRY(begin(opened, &logged));
    opened->seen = look(opened->path);
    bool log = opened->seen.files[1].is && opened->seen.files[1].size != 0;
    if (logged && mode != READING) {
        return pc_failed("`%.*s` has a write-ahead log, which is of no use without shared memory. With a program outside: PRAGMA "
                         "journal_mode = DELETE", PC_ARG(path));
    }
    int flags = SQLITE_OPEN_URI | (mode == READING ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE);
    /* Without a log, the file of a database that uses one is complete: read as one that nobody changes. */
    const char *uri = uri_of(opened->path, logged && !log ? "?immutable=1" : "");
    int code = sqlite3_open_v2(uri, &opened->handle, flags, mode == READING ? "unix-none" : "unix-dotfile");
    if (code != SQLITE_OK) return database_failed(opened, "opening it");
    /* The index of a log is kept in memory, which takes no other access than this. */
    if (logged && log) code = sqlite3_exec(opened->handle, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
    if (mode != READING) code = sqlite3_exec(opened->handle, "PRAGMA foreign_keys = ON", NULL, NULL, NULL);
    if (code != SQLITE_OK) return database_failed(opened, "opening it");
    confine(opened);
    return NULL;
}

const pc_error *database_transaction(database *open, const char *sql) {
    sqlite3_set_authorizer(open->handle, NULL, NULL);
    /* The end of a transaction must not be stopped half-way. */
    sqlite3_progress_handler(open->handle, 0, NULL, NULL);
    int code = sqlite3_exec(open->handle, sql, NULL, NULL, NULL);
    const pc_error *wrong = code == SQLITE_OK ? NULL : database_failed(open, sql);
    sqlite3_set_authorizer(open->handle, authorize, open);
    sqlite3_progress_handler(open->handle, STEPS, budget, open);
    return wrong;
}

void database_close(database *open) {
    /* A statement that an error has left, and its transaction, would keep the lock. */
    sqlite3_finalize(open->running);
    open->running = NULL;
    if (sqlite3_get_autocommit(open->handle) == 0) database_transaction(open, "ROLLBACK");
    sqlite3_close(open->handle);
    open->handle = NULL;
}

const pc_error *database_failed(const database *open, const char *doing) {
    int code = sqlite3_extended_errcode(open->handle);
    const char *advice = NULL;
    if (open->stopped != NULL) return pc_failed("%s: the call's %s is nearly used up; ask for less", doing, open->stopped);
    switch (code & 0xff) {
        case SQLITE_AUTH:
            advice = open->mode == READING ? "only reading is allowed here, in this database; `execute` writes"
                                           : "other databases, transactions and PRAGMAs that write are not allowed; each call is a transaction";
            break;
        case SQLITE_CORRUPT: advice = "the database is damaged"; break;
        case SQLITE_NOMEM: advice = "it takes more than 32 MiB of memory; ask for less"; break;
        case SQLITE_BUSY:
            advice = "another call is writing. If none is, one was stopped: remove the folder with the database's name and `.lock`";
            break;
        case SQLITE_READONLY:
            if (code == SQLITE_READONLY_ROLLBACK) advice = "another program is writing, or was stopped while it wrote: its journal is there. Open "
                                                           "it once with a program outside, or with `execute`";
            break;
        default: break;
    }
    pc_text said = pc_valid(pc_join(&(pc_text){sqlite3_errmsg(open->handle), strlen(sqlite3_errmsg(open->handle))}, 1, ""));
    return pc_failed("%s: %.*s%s%s", doing, PC_ARG(said), advice == NULL ? "" : ". ", advice == NULL ? "" : advice);
}

const pc_error *database_prepare(database *open, pc_text sql, sqlite3_stmt **statement, pc_text *rest) {
    const char *tail;
    *statement = NULL;
    *rest = (pc_text){"", 0};
    /* Text that is only space and comments makes no statement. */
    for (pc_text from = sql; from.length != 0 && *statement == NULL; from = *rest) {
        if (sqlite3_prepare_v2(open->handle, from.at, (int)from.length, statement, &tail) != SQLITE_OK) return database_failed(open, "SQL");
        size_t taken = (size_t)(tail - from.at);
        open->running = *statement;
        if (taken == 0) break;
        *rest = (pc_text){tail, from.length - taken};
    }
    return NULL;
}
