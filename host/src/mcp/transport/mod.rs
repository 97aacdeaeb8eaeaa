//! The two ways in.

mod http;
mod identity;
mod stdio;

pub use http::{HttpError, HttpOptions, serve_http};
pub use stdio::{StdioError, serve_stdio};
