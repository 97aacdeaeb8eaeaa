//! Output while a call is still running.

use crate::{Content, IntoContent, imports};

pub use crate::host_types::output::OutputError;

/// Sends one piece of content as a chunk and returns the chunk's number, counted from 0.
///
/// Blocks while the reader is slower than the tool. Chunks show work in progress; the result must be complete without
/// them.
///
/// # Errors
/// When the chunk cannot be sent; `?` ends the call with the matching [`ToolError`](crate::ToolError).
pub fn emit(content: impl IntoContent) -> Result<u64, OutputError> {
    imports::emit(vec![content.into_content()])
}

/// Sends several pieces of content together as one chunk.
///
/// # Errors
/// As [`emit`].
pub fn emit_all<I>(contents: I) -> Result<u64, OutputError>
where
    I: IntoIterator,
    I::Item: IntoContent,
{
    let contents: Vec<Content> = contents.into_iter().map(IntoContent::into_content).collect();
    imports::emit(contents)
}
