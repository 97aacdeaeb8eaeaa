//! The transports: stdio and Streamable HTTP.

mod account_pages;
mod connections;
mod health;
mod http;
mod legacy;
mod mcp_endpoint;
mod metrics;
mod request;
mod responses;
mod shutdown;
mod stdio;
mod welcome;

pub use account_pages::serve_account_pages;
pub use http::{HttpOptions, HttpServer, HttpServerError};
pub use legacy::LegacyOptions;
pub use metrics::serve_metrics;
pub use request::guard::HttpGuardError;
pub use stdio::{StdioError, refuse_first_request, serve_stdio};
