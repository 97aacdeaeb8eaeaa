//! Which tools the calls of a plugin may call.

use policy::PluginId;
use runtime::imports::ToolCaller;
use std::sync::Arc;

/// Decides that where not all plugins may call the same.
pub trait ToolAccess: Send + Sync {
    /// What a call of a plugin may call, within its grants. `agent` is what calls of every plugin may.
    fn of_call(&self, plugin: &PluginId, agent: Arc<dyn ToolCaller>) -> Arc<dyn ToolCaller>;
}
