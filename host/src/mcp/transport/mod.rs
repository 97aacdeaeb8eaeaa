//! The two ways in.

mod connect;
mod http;
mod identity;
mod stdio;

pub use connect::serve_pages;
pub use http::{HttpError, HttpOptions, serve_http};
pub use stdio::{StdioError, serve_stdio};
