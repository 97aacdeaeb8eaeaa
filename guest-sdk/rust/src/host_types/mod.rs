//! Arguments and results of the host's functions. The public modules re-export them. The real imports and the fake host
//! of `testing` use them too, so this module imports none of those.

pub(crate) mod agent_tools;
pub(crate) mod checkpoint;
pub(crate) mod client;
pub(crate) mod connections;
pub(crate) mod events;
pub(crate) mod http;
pub(crate) mod output;
pub(crate) mod publish;
pub(crate) mod state;
pub(crate) mod steering;
