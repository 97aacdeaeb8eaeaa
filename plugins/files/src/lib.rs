//! Lists, reads, searches and writes files inside the folders it was granted.
//!
//! The sandbox keeps it inside; the code here only makes its refusals readable.

mod list;
mod read;
mod search;
#[cfg(test)]
mod tests;
mod walk;
mod write;

#[portcullis_guest::plugin(requests(filesystem = "write"))]
mod files {
    use portcullis_guest::{Content, ToolError};

    use crate::list::{self, Listing};
    use crate::read::{self, Range};
    use crate::search::{self, Found, Query};
    use crate::write::{self, Mode, Written};

    /// Lists a folder: its files with their sizes, its folders and links, sorted by name. Without a path, lists what is
    /// granted.
    #[tool(title = "List a folder", read_only, idempotent, open_world = false)]
    fn list(
        /// Folder to list, such as `/src/docs`.
        path: Option<String>,
    ) -> Result<Listing, ToolError> {
        list::list(path.as_deref())
    }

    /// Reads a file, or a range of its lines or bytes.
    ///
    /// At most 2,000 lines or 256 KiB at once; a note at the end says how to read on. Binary files come as an image or as
    /// bytes.
    #[tool(title = "Read a file", read_only, idempotent, open_world = false)]
    fn read(
        /// File to read.
        path: String,
        /// First line, counted from 1.
        #[schemars(range(min = 1))]
        start_line: Option<u64>,
        /// Number of lines.
        #[schemars(range(min = 1))]
        lines: Option<u64>,
        /// First byte, counted from 0. Not together with lines.
        offset: Option<u64>,
        /// Number of bytes. Not together with lines.
        #[schemars(range(min = 1))]
        bytes: Option<u64>,
    ) -> Result<Vec<Content>, ToolError> {
        read::read(&path, &Range::new(start_line, lines, offset, bytes)?)
    }

    /// Searches files for a regular expression and reports the lines that match, file by file while it searches.
    ///
    /// Goes through folders in alphabetical order; skips `.git`, `target` and `node_modules` unless named in the path, links,
    /// binary files and files over 8 MiB.
    #[tool(title = "Search files", read_only, idempotent, open_world = false, execution = "may-run-long")]
    fn search(
        /// Regular expression in Rust's syntax: no look-around, no back-references. `^` and `$` match at lines.
        #[schemars(length(min = 1))]
        pattern: String,
        /// File or folder to search; everything that is granted by default.
        path: Option<String>,
        /// Only files whose names end like this, such as `.rs`.
        suffix: Option<String>,
        /// Whether upper and lower case are the same.
        #[arg(default)]
        ignore_case: bool,
        /// Stop after this many matching lines.
        #[arg(default = 200)]
        #[schemars(range(min = 1, max = 1000))]
        max_matches: usize,
    ) -> Result<Found, ToolError> {
        search::search(&Query { pattern, path, suffix, ignore_case, max_matches })
    }

    /// Writes a text file; missing folders on the way are created.
    ///
    /// Replacing is atomic: a reader sees the old text or the new one.
    #[tool(title = "Write a file", destructive, open_world = false)]
    fn write(
        /// File to write.
        path: String,
        /// Its text.
        text: String,
        /// What to do when the file exists: `create` refuses, `replace` overwrites, `append` adds at the end.
        #[arg(default)]
        mode: Mode,
    ) -> Result<Written, ToolError> {
        write::write(&path, &text, mode)
    }
}
