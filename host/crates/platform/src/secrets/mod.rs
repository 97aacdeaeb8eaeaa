//! Secrets of the operator. The host sends them for plugins and never shows them to a guest, a client, a log or a record.
//!
//! No `Debug`, `Display` or `Serialize` shows a value. Its memory is overwritten when it is dropped.

mod secret;
mod source;
mod store;

pub use secret::{Secret, SecretError};
pub use source::SecretSource;
pub use store::{SecretStore, write_secret};
