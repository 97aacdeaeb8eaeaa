//! What calls of the host take and return. The public modules re-export it; the real imports and the fake host of
//! `testing` use it too, so it imports none of them.

pub(crate) mod agent_tools;
pub(crate) mod client;
pub(crate) mod connections;
pub(crate) mod events;
pub(crate) mod http;
pub(crate) mod output;
pub(crate) mod publish;
pub(crate) mod state;
