//! What servers behind this host offer, to be exposed beside what plugins offer.

use super::upstream_server::UpstreamServer;
use crate::offer::PluginTool;
use policy::{PluginId, Side};
use runtime::imports::ToolCaller;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the servers behind this host offer now.
#[derive(Default, Clone)]
pub struct UpstreamOffers {
    pub tools: Vec<Arc<UpstreamTool>>,
    /// All servers by their names, with what they offer besides tools.
    pub servers: BTreeMap<String, Arc<UpstreamServer>>,
    /// Sentences about listed entries that are not used, by the name of the server. Bounded.
    pub left_out: BTreeMap<String, Vec<String>>,
    /// Why servers have no lists yet, by their names.
    pub missing: BTreeMap<String, String>,
}

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
}
