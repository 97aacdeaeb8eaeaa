//! What comes of waiting for a message.

/// What came of waiting for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Received {
    /// Untrusted text.
    Message(String),
    /// There will be no more messages: the sender has said so, or nobody can send any.
    Ended,
    /// No message came in that time.
    TimedOut,
}
