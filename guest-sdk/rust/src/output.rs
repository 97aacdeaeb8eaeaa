//! Output while a call is still running.

use std::fmt;

use crate::{Content, Exhaustion, IntoContent, imports};

/// Why a chunk was not sent.
#[derive(Clone, Debug, PartialEq)]
pub enum OutputError {
    /// Nobody will read any more: the call was cancelled. Stop soon.
    Closed,
    /// The chunk would exceed the call's ceiling on bytes or number of chunks.
    Exhausted(Exhaustion),
    /// The content cannot be sent as it is; says why.
    Invalid(String),
}

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

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("nobody reads the output any more"),
            Self::Exhausted(exhaustion) => exhaustion.fmt(f),
            Self::Invalid(why) => write!(f, "the content cannot be sent: {why}"),
        }
    }
}

impl std::error::Error for OutputError {}
