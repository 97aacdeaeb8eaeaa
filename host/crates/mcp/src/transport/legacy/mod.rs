//! Sessions of the protocol before 2026-07-28. A client may resume a stream after a broken connection or a restart of
//! the server.
//!
//! Every message to a client is stored before it is sent, and every stream, new or resumed, is read from the stored
//! messages. There is only one way to read, so no message is missed or sent twice. A session and its events exist only
//! for the principal that opened it.

mod asked;
mod delivery;
mod event_log;
mod manager;
mod message;
mod options;
mod reader;
mod registry;
mod resumption;
mod session;
#[cfg(test)]
mod tests;
mod transport;
mod waiting;

pub(super) use manager::LegacySessionManager;
pub use options::LegacyOptions;
