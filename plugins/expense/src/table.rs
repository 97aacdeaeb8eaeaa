//! Tables of the granted folder: a heading, then a line each; no commas inside of values.

use std::fs;
use std::path::{Path, PathBuf};

use portcullis_guest::filesystem::{explain, folders};
use portcullis_guest::{Denial, ToolError};

/// Where everything is kept.
pub(crate) fn folder() -> Result<PathBuf, ToolError> {
    folders().into_iter().next().ok_or_else(|| Denial::new("filesystem", "/expenses").into())
}

/// The lines of a table with these columns.
pub(crate) fn read<const N: usize>(path: &Path, columns: [&str; N]) -> Result<Vec<[String; N]>, ToolError> {
    let text = fs::read_to_string(path).map_err(|error| explain(path, &error))?;
    let mut lines = text.lines().enumerate();
    let wrong = |line: usize, what: &str| ToolError::failed(format_args!("`{}`, line {line}: {what}", path.display()));
    if lines.next().map(|(_, heading)| heading) != Some(columns.join(",").as_str()) {
        return Err(wrong(1, &format!("the columns are not {}", columns.join(","))));
    }
    let cells = |(at, line): (usize, &str)| {
        let cells: Vec<String> = line.split(',').map(|cell| cell.trim().to_owned()).collect();
        cells.try_into().map_err(|_| wrong(at + 1, &format!("not {N} columns")))
    };
    lines.map(cells).collect()
}
