//! One audit record.

use super::event::AuditEvent;
use policy::{Digest, PluginId, Principal};
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub struct AuditRecord {
    /// `None` for a command of the operator.
    pub principal: Option<Principal>,
    pub plugin: Option<PluginId>,
    pub digest: Option<Digest>,
    pub call: Option<Arc<str>>,
    /// The call that this one is nested in.
    pub parent: Option<Arc<str>>,
    pub event: AuditEvent,
}

impl AuditRecord {
    /// The record of an operator's command.
    pub fn for_operator(plugin: Option<PluginId>, digest: Option<Digest>, event: AuditEvent) -> Self {
        Self { principal: None, plugin, digest, call: None, parent: None, event }
    }

    /// The record that a recorded change was not made after all.
    pub(super) fn not_made(self) -> Option<Self> {
        Some(Self { event: self.event.not_made()?, ..self })
    }
}
