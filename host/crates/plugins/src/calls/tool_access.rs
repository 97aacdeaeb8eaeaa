//! Which tools the calls of a plugin may call.

use policy::PluginId;
use runtime::imports::ToolCaller;
use std::sync::Arc;

/// Decides which tools the calls of each plugin may call, for hosts where this differs between plugins.
pub trait ToolAccess: Send + Sync {
    /// What a call of this plugin may call, within its grants. `agent` has what the calls of every plugin may call.
    fn of_call(&self, plugin: &PluginId, agent: Arc<dyn ToolCaller>) -> Arc<dyn ToolCaller>;
}
