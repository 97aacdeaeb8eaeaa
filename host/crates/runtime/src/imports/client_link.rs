//! Who is on the other side of a call.

use super::agent_tools::ToolCaller;
use super::call_sink::CallSink;
use super::client::ClientCalls;
use super::steering::Steering;
use crate::engine::{FuelAccount, HeldResources};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The connection from a call to its caller. Clones share it.
#[derive(Clone)]
pub struct ClientLink {
    /// Receives chunks, progress and log messages.
    pub sink: Arc<dyn CallSink>,
    /// Answers questions.
    pub client: Arc<dyn ClientCalls>,
    /// Serves reverse calls.
    pub agent: Arc<dyn ToolCaller>,
    /// Messages to the running call; none if its plugin does not read them.
    pub steering: Option<Steering>,
    /// Cancelled when nobody wants the result any more.
    pub cancel: CancellationToken,
    /// What the tree of calls holds, for the code that suspends the tree.
    pub held: HeldResources,
    /// The fuel of the tree of calls, for those who may add to it; none if nobody may.
    pub fuel: Option<FuelAccount>,
}
