//! What belongs to a call while it is open on a server: its chunks, the server's questions, and reverse calls.

pub(crate) mod chain;
pub(crate) mod live_lane;
pub(crate) mod open_calls;
pub(crate) mod pausing_client;
pub(crate) mod questions;
pub(crate) mod queued_chunks;
pub(crate) mod responder;
pub(crate) mod reverse;
pub(crate) mod reverse_calls;
pub(crate) mod serving_time;
