/* What the plugin offers. */
#include "sql.h"

PC_TOOLS(
    {.name = "query", .title = "Query a database",
     .about = "Reads from a SQLite database with one SELECT, VALUES, EXPLAIN or reading PRAGMA. Rows arrive in batches while it runs; the "
              "result has them all, up to `max_rows` and 1 MiB. Put values into `parameters`, not into the SQL.",
     PC_ARGUMENTS(querying, query_arguments), .returns = query_returns, .call = query, .read_only = PC_YES, .idempotent = PC_YES,
     .open_world = PC_NO, .execution = PC_MAY_RUN_LONG},
    {.name = "schema", .title = "Show a database's schema",
     .about = "Lists the tables and views of a SQLite database with their columns, keys and indexes.",
     PC_ARGUMENTS(asking_schema, schema_arguments), .returns = schema_returns, .call = schema, .read_only = PC_YES, .idempotent = PC_YES,
     .open_world = PC_NO},
    {.name = "execute", .title = "Change a database",
     .about = "Runs SQL that changes a SQLite database, in one transaction: all of it or nothing. Needs a folder that is granted for "
              "writing, and a database that no other program has open.",
     PC_ARGUMENTS(executing, execute_arguments), .returns = execute_returns, .call = execute, .destructive = PC_YES, .open_world = PC_NO}
);
