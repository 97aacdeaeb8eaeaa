//! The methods of the protocol, one file each, and the steps of a request that calls a plugin.

pub(crate) mod call_result;
pub(crate) mod completion;
pub(crate) mod dispatch;
pub(crate) mod extensions;
pub(crate) mod fallback_tools;
mod keyed_call;
pub(crate) mod loading;
pub(crate) mod prompts;
mod repeated;
mod request_key;
pub(crate) mod resources;
pub(crate) mod round;
mod round_response;
pub(crate) mod steer;
pub(crate) mod task_call;
mod task_listen;
mod task_resource;
pub(crate) mod task_resume;
pub(crate) mod tasks;
pub(crate) mod text_copy;
pub(crate) mod tools;
