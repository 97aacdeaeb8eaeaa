//! Checks the databases in a state folder, even while a server is running.

use super::error::StorageError;
use super::state_files::{STATE_FILES, StateFile, read_only, unreadable};
use rusqlite::Connection;
use std::fs;
use std::path::Path;

/// How many problems of one file are reported. Bounds the report of a file that is damaged everywhere.
const PROBLEMS: usize = 20;

/// What was found in a database.
#[derive(Debug)]
pub struct FileReport {
    pub file: &'static str,
    /// What the database contains.
    pub content: &'static str,
    pub finding: Finding,
}

#[derive(Debug)]
pub enum Finding {
    /// The file does not exist, because nothing was stored yet.
    Missing,
    Sound {
        format: i64,
        /// Size of the file and its write-ahead log together.
        bytes: u64,
        counts: Vec<(&'static str, u64)>,
    },
    /// What SQLite or our own queries found.
    Damaged(Vec<String>),
    /// A server uses the file exclusively.
    InUse,
    Failed(StorageError),
}

/// Checks each database in the folder. Blocks, and reads all of them completely.
pub fn check_state(folder: &Path) -> Vec<FileReport> {
    let report = |file: &StateFile| {
        let finding = check(file, &folder.join(file.name)).unwrap_or_else(|error| match error {
            StorageError::InUse { .. } => Finding::InUse,
            error => Finding::Failed(error),
        });
        FileReport { file: file.name, content: file.content, finding }
    };
    STATE_FILES.iter().map(report).collect()
}

fn check(file: &StateFile, path: &Path) -> Result<Finding, StorageError> {
    let size = |path: &Path| fs::metadata(path).map(|metadata| metadata.len());
    let Ok(bytes) = size(path) else { return Ok(Finding::Missing) };
    let bytes = bytes + size(&path.with_extension("db-wal")).unwrap_or_default();
    let mut connection = read_only(path)?;
    let fail = |error: rusqlite::Error| unreadable(path, &error);
    // The transaction makes all queries see the same moment.
    let moment = connection.transaction().map_err(fail)?;
    let format: i64 = moment.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(fail)?;
    if format > file.format {
        return Err(StorageError::Newer { path: path.to_owned(), found: format, known: file.format });
    }
    let mut problems = rows(&moment, "PRAGMA integrity_check(20)").map_err(fail)?;
    if problems != ["ok"] {
        return Ok(Finding::Damaged(problems));
    }
    problems =
        rows(&moment, "SELECT format('%s refers to what %s has not', \"table\", parent) FROM pragma_foreign_key_check")
            .map_err(fail)?;
    if format == file.format {
        for query in file.contradictions {
            problems.extend(rows(&moment, query).map_err(fail)?);
        }
    }
    if !problems.is_empty() {
        problems.truncate(PROBLEMS);
        return Ok(Finding::Damaged(problems));
    }
    let mut counts = Vec::new();
    for (what, query) in file.counts.iter().filter(|_| format == file.format) {
        let count: i64 = moment.query_row(query, [], |row| row.get(0)).map_err(fail)?;
        counts.push((*what, count.unsigned_abs()));
    }
    Ok(Finding::Sound { format, bytes, counts })
}

fn rows(connection: &Connection, query: &str) -> rusqlite::Result<Vec<String>> {
    connection.prepare(query)?.query_map([], |row| row.get(0))?.take(PROBLEMS).collect()
}
