//! `events`: notifications for the principal's inbox. Names and payloads are checked here; the sink checks rates and
//! duplicates.

use super::call_scope::CallScope;
use super::import_span::ErrorName;
use super::provenance::Provenance;
use super::types::{BudgetKind, Exhaustion, GuestDenial};
use crate::journal::CallJournal;
use platform::text::truncate_chars;
use policy::{Principal, is_name};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Length of a name in bytes.
const MAX_NAME: usize = 64;
/// Size of a payload in bytes. Anything larger should be published as a resource that the event names.
const MAX_PAYLOAD: usize = 16 << 10;
/// Length of a deduplication key in bytes. Keys are remembered longer than events.
const MAX_KEY: usize = 256;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum EventError {
    Denied(GuestDenial),
    Invalid(String),
    Exhausted(Exhaustion),
}

impl ErrorName for EventError {
    fn error_name(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::Invalid(_) => "invalid",
            Self::Exhausted(_) => "exhausted",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PluginEvent {
    pub name: String,
    /// Compact JSON text.
    pub payload: String,
    /// Events with equal name and key are the same event.
    pub dedupe_key: Option<String>,
}

/// Stores events for their principal; implemented by `services::principal_store`. It may return before an event is on disk.
pub trait EventSink: Send + Sync {
    /// Returns false for a duplicate.
    fn emit(&self, owner: &Principal, source: Provenance, event: PluginEvent) -> Result<bool, EventError>;
}

/// Refuses to store anything.
pub(super) struct NoInbox;

impl EventSink for NoInbox {
    fn emit(&self, _owner: &Principal, _source: Provenance, _event: PluginEvent) -> Result<bool, EventError> {
        Err(EventError::Exhausted(Exhaustion::NO_ROOM))
    }
}

/// One call's access to its principal's inbox.
pub struct Events<'a> {
    scope: &'a CallScope,
    sink: &'a dyn EventSink,
    journal: &'a CallJournal,
}

impl<'a> Events<'a> {
    pub(super) fn new(scope: &'a CallScope, sink: &'a dyn EventSink, journal: &'a CallJournal) -> Self {
        Self { scope, sink, journal }
    }

    /// Returns false for a duplicate.
    pub fn emit(&self, name: String, payload: &str, dedupe_key: Option<String>) -> Result<bool, EventError> {
        check_name(&name).map_err(EventError::Invalid)?;
        let authority = &self.scope.authority;
        authority.enforce(authority.event(&name)).map_err(EventError::Denied)?;
        if payload.len() > MAX_PAYLOAD {
            return Err(EventError::Exhausted(Exhaustion { budget: BudgetKind::Stored, limit: MAX_PAYLOAD as u64 }));
        }
        if dedupe_key.as_ref().is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
            return Err(EventError::Invalid(format!("a dedupe-key has 1 to {MAX_KEY} bytes")));
        }
        // Clients parse the payload inside a larger document; parsing it here first also bounds its depth.
        let payload = serde_json::from_str::<Value>(payload)
            .map_err(|error| EventError::Invalid(format!("the payload is not JSON: {error}")))?
            .to_string();
        let (owner, source) = (&self.scope.context.principal, self.scope.provenance());
        let event = PluginEvent { name, payload, dedupe_key };
        let step = self.journal.begin("events.emit", &event);
        if step.has_to_end() {
            return Err(EventError::Invalid("the call ends here".into()));
        }
        step.see(|| self.sink.emit(owner, source, event))
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let words = name.split('.').all(|word| is_name(word, MAX_NAME, "_-"));
    if name.len() > MAX_NAME || !words || !name.contains('.') {
        let shown = truncate_chars(name, MAX_NAME);
        return Err(format!(
            "{shown:?} is not an event's name: write at least two words of A-Z a-z 0-9 _ - with `.` between them, such as `policy.effective`, at most {MAX_NAME} bytes"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::{CallContext, HostServices};
    use policy::{Authority, Grants, Limits, Lineage, PluginId, Requests, Side};
    use std::sync::Arc;

    #[test]
    fn only_granted_names_and_json_pass() {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let requests: Requests = toml::from_str(r#"events = ["policy.*", "trip.*"]"#).unwrap();
        let grants: Grants = toml::from_str(r#"events = ["policy.*"]"#).unwrap();
        let authority = Arc::new(Authority::new(plugin, &requests, &grants));
        let limits = Arc::new(Limits::default());
        let lineage = Lineage::root("plugins.p.x", &limits);
        let scope = CallScope::new(CallContext::new("local"), authority, lineage, limits);
        let services = HostServices::none();
        let journal = CallJournal::default();
        let events = Events::new(&scope, &*services.events, &journal);
        let emit = |name: &str, payload: &str| events.emit(name.into(), payload, None).unwrap_err();
        for bad in ["", "policy", "policy.", ".x", "policy..x", "policy x.y", &format!("policy.{}", "x".repeat(64))] {
            assert!(matches!(emit(bad, "{}"), EventError::Invalid(_)), "{bad}");
        }
        let EventError::Denied(denial) = emit("trip.booked", "{}") else { panic!() };
        assert_eq!((&*denial.target, &*denial.remedy), ("trip.booked", policy::ASK_THE_USER));
        let deep = "[".repeat(1_000) + &"]".repeat(1_000);
        for bad in ["", "{", "nope", &deep] {
            assert!(matches!(emit("policy.effective", bad), EventError::Invalid(_)), "{bad}");
        }
        let large = format!("\"{}\"", "x".repeat(MAX_PAYLOAD));
        let full = |limit| EventError::Exhausted(Exhaustion { budget: BudgetKind::Stored, limit });
        assert_eq!(emit("policy.effective", &large), full(MAX_PAYLOAD as u64));
        assert_eq!(emit("policy.effective", "{}"), full(0), "it reached the sink, which stores nothing");
    }
}
