//! How a running call reaches its client: events, notifications, questions, and what the client declared.

pub(crate) mod asker;
pub(crate) mod chunk_record;
pub(crate) mod format;
pub(crate) mod notification_sender;
pub(crate) mod pending;
mod progress;
pub(crate) mod progress_token;
pub(crate) mod served_request;
pub(crate) mod session;
pub(crate) mod stream;
pub(crate) mod view;
