//! Calls of a server's tools and requests for its other items, from the first message to the result.

pub(crate) mod exchange;
pub(crate) mod invoke;
pub(crate) mod request;
pub(crate) mod request_answer;
pub(crate) mod rounds;
pub(crate) mod task;
pub(crate) mod task_calls;
