//! What other crates give to this one and get from it: settings, calls and their results, errors, and the agent's side.

pub(crate) mod call;
pub(crate) mod capabilities;
pub(crate) mod error;
pub mod handler;
pub(crate) mod links;
pub(crate) mod offer;
pub(crate) mod resume_point;
pub(crate) mod settings;
