//! The table `[code]`.

use policy::{ApprovalRule, PluginId};

/// Code mode: a plugin runs programs that clients send.
#[derive(Debug, Clone)]
pub struct CodeSettings {
    pub plugin: PluginId,
    /// Whether clients can use this plugin's tools only.
    pub only: bool,
    /// Which calls of programs their user must approve.
    pub approval: ApprovalRule,
}
