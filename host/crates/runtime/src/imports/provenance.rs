//! Which plugin and call something comes from.

use super::types::CallContext;
use policy::PluginId;
use serde::Serialize;

/// The plugin and call that produced something. Clients see it; the JSON form is in `wit/extensions/meta.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Provenance {
    /// The plugin's name; `agent.<name>` on the agent's side, since both sides may use the same name.
    pub plugin: String,
    pub call: String,
    /// Chosen by the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_id: Option<String>,
}

impl Provenance {
    pub fn for_call(plugin: &PluginId, call: &CallContext) -> Self {
        Self { plugin: plugin.cli_name(), call: call.id.to_string(), correlation_id: call.correlation_id.clone() }
    }
}
