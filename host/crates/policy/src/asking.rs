//! Grants for asking the other side: its user, its model, its workspace.

use super::HostPattern;
use serde::{Deserialize, Serialize};

/// What a plugin's manifest asks for of `client`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ClientRequests {
    /// To put forms to the user.
    #[serde(skip_serializing_if = "is_false")]
    pub form: bool,
    /// To send the user to pages; which hosts is the operator's choice.
    #[serde(skip_serializing_if = "is_false")]
    pub url: bool,
    /// To ask the client's model.
    #[serde(skip_serializing_if = "is_false")]
    pub sample: bool,
    /// To see the client's roots.
    #[serde(skip_serializing_if = "is_false")]
    pub roots: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What the operator gave of `client`. The default gives nothing.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ClientGrants {
    /// Forms.
    pub form: bool,
    /// Hosts of pages.
    pub url: Vec<HostPattern>,
    /// Sampling, and how much of it.
    pub sample: Option<SampleGrant>,
    /// Roots.
    pub roots: bool,
}

/// How much a plugin may ask of a model. Per call: each costs somebody money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct SampleGrant {
    /// Requests under one call. Bounds a loop of a guest with somebody else's model.
    pub calls: u32,
    /// Sum of `max-tokens` under one call. Bounds the bill.
    pub tokens: u32,
    /// Whether the host's own model answers when the client has none.
    pub fallback: bool,
}

impl Default for SampleGrant {
    fn default() -> Self {
        Self { calls: 4, tokens: 2_000, fallback: false }
    }
}
