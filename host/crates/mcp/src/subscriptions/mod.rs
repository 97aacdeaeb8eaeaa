//! Notifications about changes to lists and resources.

pub(crate) mod changes;
pub(crate) mod listen;
pub(crate) mod task_listen;
pub(crate) mod updates;
