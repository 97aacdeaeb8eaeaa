//! Who runs the tools that a plugin calls: components of this host, servers behind it, or nobody; and programs of code mode.

pub(super) mod approvals;
pub(super) mod local_tools;
pub(super) mod no_tools;
pub(super) mod programs;
pub(super) mod tool_caller_chain;
pub(super) mod upstream;
