//! A tool of an upstream server, exposed beside the plugins' tools.

use crate::offer::PluginTool;
use policy::{Digest, KEPT_OF_NAME, PluginId, Side};
use runtime::imports::ToolCaller;
use std::sync::Arc;

/// Hexadecimal digits of a digest that tell two names apart. A server that finds two equal ones shadows its own tool.
const SHORT_DIGEST: usize = 8;

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

    /// Whether clients accept the server's own name for it as it is.
    pub(super) fn has_plain_name(&self) -> bool {
        self.tool.tool.name.chars().all(is_plain)
    }

    /// The name by which clients call it, if it fits: other characters than clients accept are replaced.
    pub(super) fn exposed_name(&self) -> String {
        let plain = |c: char| if is_plain(c) { c } else { '_' };
        format!("{}__{}", self.id.name, self.tool.tool.name.chars().map(plain).collect::<String>())
    }

    /// Another name by which clients call it: its end depends on all of the server's own name, and no client shortens it.
    pub(super) fn short_name(&self) -> String {
        let name = self.exposed_name();
        let digest = Digest::sha256(self.tool.full_name.as_bytes());
        let end = digest.hex().get(..SHORT_DIGEST).unwrap_or_default();
        format!("{}_{end}", name.get(..KEPT_OF_NAME - SHORT_DIGEST - 1).unwrap_or(&name))
    }
}

/// Whether clients accept the character in a name.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}
