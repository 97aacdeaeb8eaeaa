//! A tool of an upstream server, exposed beside the plugins' tools.

use crate::offer::PluginTool;
use policy::{PluginId, Side};
use runtime::imports::ToolCaller;
use std::sync::Arc;

pub struct UpstreamTool {
    /// The server's configured name, in the place of a plugin's.
    pub id: PluginId,
    /// Under the name that the server gives it.
    pub tool: Arc<PluginTool>,
    pub caller: Arc<dyn ToolCaller>,
}

impl UpstreamTool {
    pub fn new(server: &str, tool: Arc<PluginTool>, caller: Arc<dyn ToolCaller>) -> Self {
        Self { id: PluginId { side: Side::Server, name: server.into() }, tool, caller }
    }

    /// The name by which clients call it: characters that MCP does not allow in names are replaced.
    pub fn exposed_name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
        format!("{}__{}", self.id.name, self.tool.tool.name.chars().map(plain).collect::<String>())
    }
}
