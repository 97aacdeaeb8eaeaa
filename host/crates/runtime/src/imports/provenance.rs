//! Which plugin and call something comes from.

use super::types::CallContext;
use policy::{Authority, DataKey, PrivateOrigins};
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
    /// Whose data it is.
    #[serde(skip)]
    pub data: DataKey,
    /// The private results that the call had seen. What calls leave behind is kept apart by it: what a call finds, and what it
    /// is refused, never depends on what another call has left that had seen more.
    #[serde(skip)]
    pub knows: PrivateOrigins,
}

impl Provenance {
    pub fn for_call(authority: &Authority, call: &CallContext, knows: PrivateOrigins) -> Self {
        let (plugin, data) = (authority.plugin().cli_name(), authority.data().clone());
        let (call, correlation_id) = (call.id.to_string(), call.correlation_id.clone());
        Self { plugin, call, correlation_id, data, knows }
    }

    /// Whether the call of `self` may notice what the call of `other` left behind.
    pub fn may_notice(&self, other: &Self) -> bool {
        other.knows.is_subset(&self.knows)
    }
}
