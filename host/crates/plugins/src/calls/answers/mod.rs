//! The answer of a call: its checks, its size, and errors that a guest reports.

pub(super) mod answer;
pub(super) mod answer_check;
pub(super) mod guest_error;
pub(super) mod non_tool_answer;
pub(super) mod payload_size;
