//! Tasks: calls of tools that go on after their request is answered (`io.modelcontextprotocol/tasks`).
//!
//! - `records` is what is known of a task: `record`, as it is stored, under `keys`; `table` counts tasks against the limits;
//!   `call` is the call that it begins with, `control` how the running one is reached;
//! - `tasks` has the requests of a client about its tasks; `create` makes a task, before its client learns of it; `shown` is a
//!   task as its client sees it;
//! - `run` runs the call: `runner` serves it, as a request would; `questions` and `tool_calls` are what it asks its client,
//!   `extension` asks for more fuel; `recorder` stores its current state; `suspension` drops the instances of calls that wait;
//!   `fate` is the one place that decides about tasks which their process leaves behind;
//! - `take_up` finds these, at the start and later; `upkeep` renews the leases of open tasks, and removes those whose time is
//!   over;
//! - `messages` keeps messages to a call that does not run; `mailbox` passes on requests to a task that another process serves;
//! - `stored_tasks` is what the operator sees of tasks; `timeline` is what a call did.

mod create;
mod mailbox;
mod messages;
mod records;
mod run;
mod shown;
mod stored_tasks;
mod take_up;
#[allow(clippy::module_inception, reason = "the tasks themselves")]
mod tasks;
#[cfg(test)]
mod tests;
mod timeline;
mod upkeep;

pub(crate) use create::{CreatedTask, NewTask, NotCreated};
pub(crate) use records::call::{CallMaker, EarlierRun, EndedCall, Finish, MadeCall, NotMade, TaskCall};
pub(crate) use records::record::{TaskRecord, TaskState};
pub use records::samples::Sample;
pub(crate) use shown::{ShownTask, ShownTo};
pub use stored_tasks::{OperatorRequest, StoredTask, StoredTasks};
pub(crate) use tasks::{TASK_URI, TaskError};
pub use tasks::{TaskStore, Tasks};
pub use timeline::{Timeline, TimelineStep};
