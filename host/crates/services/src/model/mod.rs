//! The host's own model, for plugins whose client has none: an endpoint with OpenAI's chat completions API.
//!
//! Off unless `[model]` is configured, and then only for plugins whose grant has `client.sample.fallback`.

mod chat_model;
mod key;
mod rate_limit;
mod request;
mod response;
mod settings;
#[cfg(test)]
mod tests;

pub use chat_model::{ChatModel, ModelSetupError};
pub use key::KeyError;
pub use settings::ModelSettings;
