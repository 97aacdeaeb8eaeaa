//! Tasks: calls of tools that go on after their request is answered (`io.modelcontextprotocol/tasks`).
//!
//! - `record` is a task as it is stored, and its states; `table` counts tasks against the limits;
//! - `shown` is a task as its client sees it, `shown_calls` the calls of its tools among that;
//! - `keys` says under which keys a task is stored, `call` is the call that it begins with;
//! - `tasks` has the requests of a client about its tasks; `create` makes a task, before its client learns of it;
//! - `control` is how a running task is reached; `runner` serves a task's call, as a request would; `questions`, `tool_calls`
//!   and `asked` are what it asks its client; `extension` asks for more fuel; `recorder` stores its current state;
//! - `suspension` drops the instances of calls that wait;
//! - `messages` keeps messages to a call that does not run;
//! - `mailbox` passes on requests to a task that another process serves;
//! - `fate` is the one place that decides about tasks which their process leaves behind; `take_up` finds these, at the start
//!   and later;
//! - `stored_tasks` is what the operator sees of tasks; `timeline` is what a call did; `sampler` measures what it uses
//!   meanwhile, into `samples`;
//! - `upkeep` renews the leases of open tasks, looks for tasks that other processes have left, and removes those whose time is
//!   over.

mod asked;
mod call;
#[cfg(test)]
mod call_tests;
mod control;
mod create;
#[cfg(test)]
mod durability_tests;
mod extension;
mod fate;
mod fuel;
mod keys;
#[cfg(test)]
mod left_tests;
mod mailbox;
mod messages;
mod questions;
mod record;
mod recorder;
mod runner;
mod sampler;
mod samples;
mod serve;
mod shown;
mod shown_calls;
mod stored_tasks;
mod suspension;
mod table;
mod take_up;
#[cfg(test)]
mod take_up_tests;
#[allow(clippy::module_inception, reason = "the tasks themselves")]
mod tasks;
#[cfg(test)]
mod tests;
mod timeline;
mod tool_calls;
mod upkeep;
#[cfg(test)]
mod watched_store;

pub(crate) use call::{CallMaker, EarlierRun, EndedCall, Finish, MadeCall, NotMade, TaskCall};
pub(crate) use create::{CreatedTask, NewTask, NotCreated};
pub(crate) use record::{TaskRecord, TaskState};
pub use samples::Sample;
pub(crate) use shown::{ShownTask, ShownTo};
pub use stored_tasks::{OperatorRequest, StoredTask, StoredTasks};
pub(crate) use tasks::{TASK_URI, TaskError};
pub use tasks::{TaskStore, Tasks};
pub use timeline::{Timeline, TimelineStep};
