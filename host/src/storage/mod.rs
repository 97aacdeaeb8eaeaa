//! What outlives the process: the only place that names SQLite.

mod tokens;

pub use tokens::{Tokens, TokensError};
