//! Sessions of the protocol before 2026-07-28, with streams that a client may resume after a broken connection or a
//! restart of the server.
//!
//! Everything said to a client is stored before it is sent, and every stream, new or resumed, is read from what is
//! stored: there is one way to read, so nothing is missed or said twice. A session is its principal's; to anybody else
//! it does not exist, nor do its events.

mod follow;
mod keeper;
mod log;
mod message;
mod session;
mod sessions;
#[cfg(test)]
mod tests;
mod wire;

pub(super) use sessions::Sessions;

use std::time::Duration;

/// How legacy clients are served.
#[derive(Debug, Clone, Copy)]
pub struct LegacyOptions {
    /// Sessions of all principals together; one may have half of them.
    pub max_sessions: u32,
    /// A stream that was open for so long is closed although its request still runs; the client comes back for the
    /// rest. None: only the client closes.
    pub poll_after: Option<Duration>,
}
