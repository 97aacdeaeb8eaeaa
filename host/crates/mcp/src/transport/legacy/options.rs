//! How legacy clients are served.

use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub struct LegacyOptions {
    /// Sessions of all principals together; one principal may have half of them.
    pub max_sessions: u32,
    /// After this time the server closes a stream although its request still runs; the client comes back for the rest.
    /// Without it, only the client closes streams.
    pub poll_after: Option<Duration>,
}
