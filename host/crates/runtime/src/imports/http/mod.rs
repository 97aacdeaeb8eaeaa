//! `wasi:http`: requests of a guest to other servers.

mod access;
mod answered;
mod error;
mod exchange;
mod headers;
mod hooks;
#[cfg(test)]
mod random_replay_tests;
mod request_parts;
mod steps;

pub use access::{Egress, Http, HttpBody, HttpRequest, HttpTimeouts, NoEgress};
pub use error::HttpError;
pub use exchange::HttpExchange;
pub use hooks::{HttpHooks, HttpHost, is_forbidden_header};
pub use steps::add_to_linker;
