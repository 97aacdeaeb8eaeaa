//! What calls leave behind for their principal: published resources and prompts, an inbox of events, logs of runs.
//!
//! It is kept in memory, bounded at every level, and removed when it expires. If the host has a durable store, everything
//! except logs of runs is also kept there (`save`), and is loaded again after a restart (`load`). Everything is kept under its
//! principal and looked up there and nowhere else, so another principal's data cannot be found. Clients read through `read` and
//! `prompts`; guests write through the traits of `runtime::imports`.
//!
//! Principals are keys, subjects of tokens, the local user, and the anonymous one. Each outlives a process, so its data is
//! stored: as much of it as memory may hold (`quota`), and for a day at most.

mod context;
mod event_sink;
mod give_way;
mod inbox;
mod inbox_record;
mod item;
mod keeper;
mod load;
mod moment;
mod owner;
mod prompt;
mod prompts;
mod publisher;
mod quota;
mod read;
mod record;
mod resource;
mod run;
mod run_log;
mod save;
mod source_record;
mod store;
#[cfg(test)]
mod tests;
mod unsaved;

pub use inbox::INBOX;
pub use prompt::{FillError, FilledPrompt};
pub use prompts::ListedPrompt;
pub use read::{ListedResource, ResourceSnapshot, StoreTemplate, TEMPLATES};
pub use run::Run;
pub use run_log::RunLog;
pub use store::PrincipalStore;
