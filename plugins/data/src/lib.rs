//! Answers questions to CSV, TSV, JSON, NDJSON and Parquet files of the folders it was granted.
//!
//! A file is read row by row, so that it may be larger than memory. What must be kept meanwhile, groups and distinct values,
//! is bounded; sorting keeps only the rows that are asked for.

mod aggregate;
mod describe;
mod filter;
mod parquet_file;
mod query;
mod table;
#[cfg(test)]
mod tests;
mod value;

#[portcullis_guest::plugin(requests(filesystem = "read"))]
mod data {
    use portcullis_guest::ToolError;

    use crate::aggregate::Aggregate;
    use crate::describe::{self, Description};
    use crate::filter::Filter;
    use crate::query::{self, Answer, Order, Query};

    /// Describes a table: its columns with their types, how many values are missing, samples, and the number of rows.
    ///
    /// By its ending a file is CSV (.csv), TSV (.tsv), a JSON array of objects (.json), a JSON object per line (.ndjson, .jsonl)
    /// or Parquet (.parquet).
    #[tool(title = "Describe a table", read_only, idempotent, open_world = false, execution = "may-run-long")]
    fn describe(
        /// The file.
        #[schemars(length(min = 1, max = 1024))]
        path: String,
    ) -> Result<Description, ToolError> {
        describe::describe(&path)
    }

    /// Selects, filters, groups, aggregates and sorts the rows of a table.
    ///
    /// Without groups and order, rows are sent in batches while the file is read. Ask `describe` first for the columns.
    #[tool(title = "Query a table", read_only, idempotent, open_world = false, execution = "may-run-long")]
    fn query(
        /// The file, as for `describe`.
        #[schemars(length(min = 1, max = 1024))]
        path: String,
        /// The columns of the result; all by default. Not together with groups or aggregates.
        #[arg(default)]
        #[schemars(length(max = 200))]
        columns: Vec<String>,
        /// Conditions that rows must all meet.
        #[arg(default)]
        #[schemars(length(max = 50))]
        filters: Vec<Filter>,
        /// Columns whose equal values make a group.
        #[arg(default)]
        #[schemars(length(max = 20))]
        group_by: Vec<String>,
        /// What to compute of each group, or of all rows.
        #[arg(default)]
        #[schemars(length(max = 50))]
        aggregates: Vec<Aggregate>,
        /// Columns of the result to sort by, the most important first.
        #[arg(default)]
        #[schemars(length(max = 10))]
        order_by: Vec<Order>,
        /// How many rows at most.
        #[arg(default = 100)]
        #[schemars(range(min = 1, max = 1000))]
        limit: usize,
    ) -> Result<Answer, ToolError> {
        query::query(&Query { path, columns, filters, group_by, aggregates, order_by, limit: limit.clamp(1, 1000) })
    }
}
