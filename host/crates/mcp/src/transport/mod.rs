//! The two ways in.

mod asking;
mod body;
mod connect;
mod connections;
mod gate;
mod guard;
mod http;
mod identity;
mod legacy;
mod metrics;
mod nesting;
mod refusal;
mod stdio;
mod weighed;

pub use connect::serve_pages;
pub use guard::GuardError;
pub use http::{HttpError, HttpOptions, HttpServer};
pub use legacy::LegacyOptions;
pub use metrics::serve_metrics;
pub use stdio::{StdioError, serve_stdio};

use std::time::Duration;

/// How long calls in flight may go on after the stop signal, and how long their answers may take to leave after that.
const DRAIN: Duration = Duration::from_secs(9);
const LEAVE: Duration = Duration::from_secs(1);
