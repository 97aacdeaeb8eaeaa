//! Tasks: calls of tools that go on after their request is answered (`io.modelcontextprotocol/tasks`).
//!
//! - `record` is a task as it is stored, and its states; `table` counts tasks against the limits;
//! - `tasks` has what a client asks of its tasks; `create` makes one, before its client learns of it;
//! - `control` is how a running task is reached; `runner` serves a task's call, as a request would; `questions` is what it asks, `recorder` stores how it stands;
//! - `fate` is the one place for tasks that their process leaves behind: at the start, and when it stops;
//! - `upkeep` renews what open tasks hold and removes those whose time is over; it sleeps while there is nothing to do.

mod control;
mod create;
mod fate;
mod questions;
mod record;
mod recorder;
mod runner;
mod table;
#[allow(clippy::module_inception, reason = "the tasks themselves")]
mod tasks;
#[cfg(test)]
mod tests;
mod upkeep;

pub(crate) use create::{CreatedTask, NewTask, NotCreated};
pub(crate) use record::{TaskRecord, TaskState};
pub(crate) use runner::{EndedCall, Finish};
pub use tasks::Tasks;
pub(crate) use tasks::{TASK_URI, TaskError};
