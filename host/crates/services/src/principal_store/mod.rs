//! What calls leave behind for their principal: published resources and prompts, an inbox of events, logs of runs.
//!
//! In memory only, bounded at every level, and gone when it expires or the host restarts. Everything is kept under its
//! principal and looked up there and nowhere else, so another principal's data cannot be found. Clients read through
//! `read` and `prompts`; guests write through the traits of `runtime::imports`.

mod context;
mod event_sink;
mod inbox;
mod owner;
mod prompt;
mod prompts;
mod publisher;
mod quota;
mod read;
mod resource;
mod run;
mod run_log;
mod store;
#[cfg(test)]
mod tests;

pub use inbox::INBOX;
pub use prompt::{FillError, FilledPrompt};
pub use prompts::ListedPrompt;
pub use read::{ListedResource, ResourceSnapshot, StoreTemplate, TEMPLATES};
pub use run::Run;
pub use run_log::RunLog;
pub use store::PrincipalStore;
