//! The transports: stdio and Streamable HTTP.

mod accept;
mod account_pages;
mod body;
mod connection_table;
mod counted_stream;
mod error_body;
mod guard;
mod health;
mod http;
mod http_connections;
mod identity;
mod large_answer;
mod legacy;
mod lifecycle;
mod mcp_endpoint;
mod message_memory;
mod metrics;
mod refusal;
mod repoll;
mod request_scope;
mod response;
mod sent_text;
mod serving_shares;
mod shutdown;
mod stdio;
mod task_route;
mod welcome;

pub use account_pages::serve_account_pages;
pub use guard::HttpGuardError;
pub use http::{HttpOptions, HttpServer, HttpServerError};
pub use legacy::LegacyOptions;
pub use metrics::serve_metrics;
pub use stdio::{StdioError, refuse_first_request, serve_stdio};
