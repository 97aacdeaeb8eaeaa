//! The reasons why a store did not do what was requested.

use super::types::Revision;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurableError {
    /// The precondition of a change did not hold; nothing has changed.
    #[error("it has changed meanwhile (it is at {})", at(.0))]
    Conflict(Option<Revision>),
    /// The log's next number is not the expected one; nothing was appended.
    #[error("the log has {next} entries, and not as many as its writer thinks")]
    Moved { next: u64 },
    /// A later owner has taken over, or the lease has expired; nothing has changed.
    #[error("another process has taken over, or the lease has expired")]
    Fenced,
    /// A value, an entry or a log would have more bytes than the store accepts; nothing has changed.
    #[error("{bytes} bytes are too many; the store takes at most {most} there")]
    TooLarge { bytes: u64, most: u64 },
    /// There is no room; nothing has changed. Reads and removals still work.
    #[error("the store is full: {0}")]
    Full(String),
    /// The store failed. Whether the change was made is unknown until the data is read.
    #[error("the store does not work: {0}")]
    Failed(String),
    #[error("the store is closed")]
    Closed,
}

fn at(revision: &Option<Revision>) -> String {
    revision.map_or_else(|| "no revision".to_owned(), |revision| format!("revision {}", revision.0))
}
