//! Requests of guests to other servers: parsed, authorized, resolved once, sent to a checked address, redirects followed
//! in the same way, and their answers passed on within limits.
//!
//! The order is what makes it safe. A URL is parsed once (`policy::HttpTarget`), grants are checked against what was parsed,
//! every address of one look-up is checked, and the connection goes to one of those addresses. Nothing that the network answers
//! afterwards influences a decision.

mod body;
mod deadline;
mod error;
mod headers;
mod http_sender;
mod redirect;
mod secret_injection;
mod secret_mask;
mod secret_search;
mod shares;
#[cfg(test)]
mod tests;

pub use http_sender::HttpSender;
pub use secret_injection::named_secrets;
pub use secret_search::SecretSearch;
