//! `events`: news for the principal. Name and payload are checked here; who keeps them counts and remembers.

use super::{Budgeted, CallContext, Exhaustion, GuestDenial, Permit, Provenance};
use policy::Principal;
use serde_json::Value;
use std::sync::Arc;

/// The longest name, in bytes.
const MAX_NAME: usize = 64;
/// The largest payload, in bytes. An event is news; what is larger is a resource, and the event names it.
const MAX_PAYLOAD: usize = 16 << 10;
/// The longest deduplication key, in bytes. Keys are remembered longer than events.
const MAX_KEY: usize = 256;

/// Why an event was not added.
#[derive(Debug, Clone, PartialEq)]
pub enum EventError {
    /// Not granted.
    Denied(GuestDenial),
    /// Cannot be added as it is.
    Invalid(String),
    /// Too many, or too large.
    Exhausted(Exhaustion),
}

/// One event, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Dotted words.
    pub name: String,
    /// JSON text without needless bytes.
    pub payload: String,
    /// Equal for repetitions of one event.
    pub dedupe_key: Option<String>,
}

/// Keeps events for their principal. Implemented by `shelf`.
pub trait EventSink: Send + Sync {
    /// Adds one; false when it was there already.
    fn emit(&self, owner: &Principal, source: Provenance, event: Event) -> Result<bool, EventError>;
}

/// One call's way to the inbox.
pub struct Events {
    permit: Permit,
    sink: Arc<dyn EventSink>,
}

impl Events {
    pub(super) fn new(permit: Permit, sink: Arc<dyn EventSink>) -> Self {
        Self { permit, sink }
    }

    /// Adds an event; false when it was there already.
    pub fn emit(
        &self,
        call: &CallContext,
        name: String,
        payload: &str,
        dedupe_key: Option<String>,
    ) -> Result<bool, EventError> {
        check_name(&name).map_err(EventError::Invalid)?;
        self.permit.decided(self.permit.event(&name)).map_err(EventError::Denied)?;
        if payload.len() > MAX_PAYLOAD {
            return Err(EventError::Exhausted(Exhaustion { budget: Budgeted::Stored, limit: MAX_PAYLOAD as u64 }));
        }
        if dedupe_key.as_ref().is_some_and(|key| key.is_empty() || key.len() > MAX_KEY) {
            return Err(EventError::Invalid(format!("a dedupe-key has 1 to {MAX_KEY} bytes")));
        }
        // Clients read the payload inside a larger document, so it is read here first, which also bounds its depth.
        let payload = serde_json::from_str::<Value>(payload)
            .map_err(|error| EventError::Invalid(format!("the payload is not JSON: {error}")))?
            .to_string();
        let source = Provenance::of(self.permit.plugin(), call);
        self.sink.emit(&call.principal, source, Event { name, payload, dedupe_key })
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let words = name.split('.').all(|word| !word.is_empty() && word.chars().all(plain));
    if name.len() > MAX_NAME || !words || !name.contains('.') {
        let shown: String = name.chars().take(MAX_NAME).collect();
        return Err(format!(
            "{shown:?} is not an event's name: write at least two words of A-Z a-z 0-9 _ - with `.` between them, such as `policy.effective`, at most {MAX_NAME} bytes"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::Keepers;
    use policy::{Authority, Grants, PluginId, Requests, Side};

    #[test]
    fn only_granted_names_and_json_pass() {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let requests: Requests = toml::from_str(r#"events = ["policy.*", "trip.*"]"#).unwrap();
        let grants: Grants = toml::from_str(r#"events = ["policy.*"]"#).unwrap();
        let authority = Arc::new(Authority::new(plugin, &requests, &grants));
        let events = Events::new(authority.into(), Keepers::none().events);
        let call = CallContext::new("local");
        let emit = |name: &str, payload: &str| events.emit(&call, name.into(), payload, None).unwrap_err();
        for bad in ["", "policy", "policy.", ".x", "policy..x", "policy x.y", &format!("policy.{}", "x".repeat(64))] {
            assert!(matches!(emit(bad, "{}"), EventError::Invalid(_)), "{bad}");
        }
        let EventError::Denied(denial) = emit("trip.booked", "{}") else { panic!() };
        assert!(denial.remedy.contains(r#"events = ["trip.booked"]"#), "{}", denial.remedy);
        let deep = "[".repeat(1_000) + &"]".repeat(1_000);
        for bad in ["", "{", "nope", &deep] {
            assert!(matches!(emit("policy.effective", bad), EventError::Invalid(_)), "{bad}");
        }
        let large = format!("\"{}\"", "x".repeat(MAX_PAYLOAD));
        let full = |limit| EventError::Exhausted(Exhaustion { budget: Budgeted::Stored, limit });
        assert_eq!(emit("policy.effective", &large), full(MAX_PAYLOAD as u64));
        assert_eq!(emit("policy.effective", "{}"), full(0), "it came as far as to who keeps nothing");
    }
}
