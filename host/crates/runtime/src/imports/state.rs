//! `state`: values that a plugin keeps between calls, separately for each principal. Keys and authority are checked
//! here; quotas are enforced by the store.
//!
//! A call finds only values of calls that knew no private origin besides those that it knows itself. Values that were stored by
//! other calls change nothing for it: no value, no version, no quota. So storing is no way around the rules for private flows,
//! not even by whether something is stored. With `grants.state.private`, a plugin's calls count as knowing more origins from
//! their first use of state.

use super::call_scope::CallScope;
use super::import_span::ErrorName;
use super::types::{BudgetKind, Exhaustion, GuestDenial};
use crate::journal::{CallJournal, Repeat, bytes};
use async_trait::async_trait;
use platform::text::truncate_chars;
use policy::{DataKey, Principal, PrivateOrigins, StateGrant, is_name};
use serde::{Deserialize, Serialize};

/// Length of a key in bytes.
const MAX_KEY: usize = 256;
const PAGE: u32 = 100;
/// The first character of keys that only the host uses. No key of a guest begins with it, and such keys sort after all keys of
/// guests.
pub(super) const HOST_KEY: &str = "~";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum StateError {
    Denied(GuestDenial),
    Invalid(String),
    Exhausted(Exhaustion),
    /// The stored version is not the expected one.
    Conflict,
    /// The host failed; its log has the reason.
    Failed(String),
}

impl ErrorName for StateError {
    fn error_name(&self) -> &'static str {
        match self {
            Self::Denied(_) => "denied",
            Self::Invalid(_) => "invalid",
            Self::Exhausted(_) => "exhausted",
            Self::Conflict => "conflict",
            Self::Failed(_) => "failed",
        }
    }
}

#[derive(Debug, Clone)]
pub struct StateOwner {
    /// The key of the calling plugin's data.
    pub data: DataKey,
    pub principal: Principal,
    /// The private results that the call has seen. It finds only values of calls that had seen no others.
    pub knows: PrivateOrigins,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateEntry {
    #[serde(with = "bytes")]
    pub value: Vec<u8>,
    /// Changes with every write.
    pub version: u64,
}

/// What must be stored for a value to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedVersion {
    Any,
    /// This version; `None`: no value.
    Is(Option<u64>),
}

/// The error that guests get where there is no state folder.
pub(super) const NO_FOLDER: &str = "this host has no state folder, so nothing can be stored";
/// The error that guests get when the store fails.
pub const STATE_FAILED: &str = "the host could not store or load it; its log has the details";

/// Stores values; implemented by `services::state`. A successful write is durable.
#[async_trait]
pub trait StateStore: Send + Sync {
    async fn get(&self, owner: &StateOwner, key: &str) -> Result<Option<StateEntry>, StateError>;
    /// Stores a value if `expected` holds, and returns its version.
    async fn put(
        &self,
        owner: &StateOwner,
        key: String,
        value: Vec<u8>,
        expected: ExpectedVersion,
        quota: StateGrant,
    ) -> Result<u64, StateError>;
    /// Returns whether there was a value.
    async fn remove(&self, owner: &StateOwner, key: String, quota: StateGrant) -> Result<bool, StateError>;
    /// At most `most` keys with this prefix after `after`, in order.
    async fn keys(
        &self,
        owner: &StateOwner,
        prefix: String,
        after: String,
        most: u32,
    ) -> Result<Vec<String>, StateError>;
    /// The id of the session of a plugin's principal: always the same, and nobody can know it without a key of this host.
    /// None if nothing can be kept here.
    fn session_id(&self, owner: &StateOwner) -> Option<u128>;

    /// Why values can be neither stored nor found at the moment; for the operator.
    fn problem(&self) -> Option<String> {
        None
    }
}

/// One call's access to its plugin's values for its principal.
pub struct PluginState<'a> {
    scope: &'a CallScope,
    store: &'a dyn StateStore,
    journal: &'a CallJournal,
}

/// Whose values a call uses, and their quota.
pub(super) struct Granted {
    owner: StateOwner,
    quota: StateGrant,
}

impl<'a> PluginState<'a> {
    /// The error for a store that cannot even give a session id: why it keeps nothing.
    pub(super) fn why_nothing_is_kept(&self) -> StateError {
        let told = if self.store.problem().is_some() { STATE_FAILED } else { NO_FOLDER };
        StateError::Failed(told.into())
    }

    pub(super) fn new(scope: &'a CallScope, store: &'a dyn StateStore, journal: &'a CallJournal) -> Self {
        Self { scope, store, journal }
    }

    pub async fn get(&self, key: &str) -> Result<Option<StateEntry>, StateError> {
        let granted = self.granted()?;
        check_key(key)?;
        self.get_as(granted, key).await
    }

    /// Stores a value if `expected` holds, and returns its version.
    pub async fn put(&self, key: String, value: Vec<u8>, expected: ExpectedVersion) -> Result<u64, StateError> {
        let granted = self.granted()?;
        check_key(&key)?;
        self.put_as(granted, key, value, expected).await
    }

    /// Returns whether there was a value.
    pub async fn remove(&self, key: String) -> Result<bool, StateError> {
        let granted = self.granted()?;
        check_key(&key)?;
        self.remove_as(granted, key).await
    }

    pub async fn keys(&self, prefix: String, after: Option<String>) -> Result<Vec<String>, StateError> {
        let granted = self.granted()?;
        for part in [Some(&prefix), after.as_ref()].into_iter().flatten().filter(|part| !part.is_empty()) {
            check_key(part)?;
        }
        let mut keys = self.keys_as(granted, prefix, after.unwrap_or_default()).await?;
        keys.retain(|key| !key.starts_with(HOST_KEY));
        Ok(keys)
    }

    pub(super) async fn get_as(&self, granted: Granted, key: &str) -> Result<Option<StateEntry>, StateError> {
        let Granted { owner, .. } = granted;
        self.journal.begin("state.get", &key).ask(self.store.get(&owner, key)).await
    }

    pub(super) async fn put_as(
        &self,
        granted: Granted,
        key: String,
        value: Vec<u8>,
        expected: ExpectedVersion,
    ) -> Result<u64, StateError> {
        let Granted { owner, quota } = granted;
        // The store checks this too; here it is refused before anything is copied.
        if value.len() as u64 > quota.size.as_u64() {
            return Err(StateError::Exhausted(Exhaustion { budget: BudgetKind::Stored, limit: quota.size.as_u64() }));
        }
        let (name, version) = match expected {
            ExpectedVersion::Any => ("state.set", None),
            ExpectedVersion::Is(version) => ("state.swap", Some(version)),
        };
        let mut step = self.journal.begin(name, &(&key, &value, version));
        if let Some(stored) = step.recorded().await {
            return stored;
        }
        let may_be_stored = step.before_effect(Repeat::Safe).await;
        let stored = match version {
            Some(version) if may_be_stored => self.swap_again(&owner, key, value, version, quota).await,
            _ => self.store.put(&owner, key, value, expected, quota).await,
        };
        step.ended(&stored).await;
        stored
    }

    pub(super) async fn remove_as(&self, granted: Granted, key: String) -> Result<bool, StateError> {
        let Granted { owner, quota } = granted;
        let step = self.journal.begin("state.remove", &key);
        step.act(Repeat::Safe, self.store.remove(&owner, key, quota)).await
    }

    pub(super) async fn keys_as(
        &self,
        granted: Granted,
        prefix: String,
        after: String,
    ) -> Result<Vec<String>, StateError> {
        let Granted { owner, .. } = granted;
        let step = self.journal.begin("state.keys", &(&prefix, &after));
        step.ask(self.store.keys(&owner, prefix, after, PAGE)).await
    }

    /// Repeats a swap that may have been done before the host ended. If it was done, the value is stored under another version.
    async fn swap_again(
        &self,
        owner: &StateOwner,
        key: String,
        value: Vec<u8>,
        version: Option<u64>,
        quota: StateGrant,
    ) -> Result<u64, StateError> {
        match self.store.get(owner, &key).await? {
            Some(found) if found.value == value && Some(found.version) != version => Ok(found.version),
            _ => self.store.put(owner, key, value, ExpectedVersion::Is(version), quota).await,
        }
    }

    /// Checks the grant. From here on the call counts as knowing the private origins that the grant lists, whatever it finds.
    pub(super) fn granted(&self) -> Result<Granted, StateError> {
        let CallScope { authority, lineage, .. } = self.scope;
        let grant = authority.enforce(authority.state()).map_err(StateError::Denied)?;
        grant.private.iter().for_each(|origin| lineage.mark_private(origin.clone()));
        Ok(Granted { owner: self.owner(), quota: grant })
    }

    /// The id of the call's session, for the dialects that have them; none if nothing can be kept.
    pub(super) fn session_id(&self) -> Option<u128> {
        let step = self.journal.begin("session.id", &());
        let id = step.see(|| self.store.session_id(&self.owner()).map(|id| format!("{id:032x}")))?;
        u128::from_str_radix(&id, 16).ok()
    }

    /// The id of the call.
    pub(super) fn call_id(&self) -> &str {
        &self.scope.context.id
    }

    /// Whose values the call uses.
    fn owner(&self) -> StateOwner {
        let CallScope { authority, lineage, context, .. } = self.scope;
        let (data, principal) = (authority.data().clone(), context.principal.clone());
        StateOwner { data, principal, knows: lineage.private_origins() }
    }
}

fn check_key(key: &str) -> Result<(), StateError> {
    if is_name(key, MAX_KEY, "._:/-") {
        return Ok(());
    }
    let shown = truncate_chars(key, 64);
    Err(StateError::Invalid(format!("{shown:?} is not a key: write 1 to {MAX_KEY} bytes of A-Z a-z 0-9 . _ : / -")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::CallContext;
    use platform::sync::Mutex;
    use policy::{Authority, Limits, Lineage, Origin, PluginId, Side};
    use std::sync::Arc;

    /// Keeps the last value, and who stored it.
    #[derive(Default)]
    struct One(Mutex<Option<(StateEntry, PrivateOrigins)>>);

    #[async_trait]
    impl StateStore for One {
        async fn get(&self, owner: &StateOwner, _: &str) -> Result<Option<StateEntry>, StateError> {
            Ok(self.0.lock().clone().filter(|(_, knew)| knew.is_subset(&owner.knows)).map(|(entry, _)| entry))
        }

        async fn put(
            &self,
            owner: &StateOwner,
            _: String,
            value: Vec<u8>,
            _: ExpectedVersion,
            _: StateGrant,
        ) -> Result<u64, StateError> {
            *self.0.lock() = Some((StateEntry { value, version: 1 }, owner.knows.clone()));
            Ok(1)
        }

        async fn remove(&self, _: &StateOwner, _: String, _: StateGrant) -> Result<bool, StateError> {
            Ok(self.0.lock().take().is_some())
        }

        async fn keys(&self, _: &StateOwner, _: String, _: String, _: u32) -> Result<Vec<String>, StateError> {
            Ok(vec!["k".into(), format!("{HOST_KEY}session/x")])
        }

        fn session_id(&self, _: &StateOwner) -> Option<u128> {
            None
        }
    }

    fn scope(requests: &str, grants: &str) -> Arc<CallScope> {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let authority = Authority::new(plugin, &toml::from_str(requests).unwrap(), &toml::from_str(grants).unwrap());
        let limits = Arc::new(Limits::default());
        let lineage = Lineage::root("plugins.p.x", &limits);
        CallScope::new(CallContext::new("local"), Arc::new(authority), lineage, limits)
    }

    #[tokio::test]
    async fn a_request_and_a_grant_are_needed() {
        let store = One::default();
        let (asked, given) = ("state = true", "state = { size = \"16 B\" }");
        for (requests, grants) in [(asked, ""), ("", given), ("", "")] {
            let scope = scope(requests, grants);
            let journal = CallJournal::default();
            let state = PluginState::new(&scope, &store, &journal);
            let denied = |error| matches!(error, StateError::Denied(denial) if denial.capability == "state");
            assert!(denied(state.get("k").await.unwrap_err()));
            assert!(denied(state.put("k".into(), vec![], ExpectedVersion::Any).await.unwrap_err()));
            assert!(denied(state.remove("k".into()).await.unwrap_err()));
            assert!(denied(state.keys(String::new(), None).await.unwrap_err()));
        }
        let scope = scope(asked, given);
        let journal = CallJournal::default();
        let state = PluginState::new(&scope, &store, &journal);
        assert_eq!(state.put("k".into(), vec![0; 16], ExpectedVersion::Any).await, Ok(1));
        let exhausted = Exhaustion { budget: BudgetKind::Stored, limit: 16 };
        let large = state.put("k".into(), vec![0; 17], ExpectedVersion::Any).await;
        assert_eq!(large, Err(StateError::Exhausted(exhausted)));
        // No guest finds or changes what the host itself keeps in the store.
        assert_eq!(state.keys(String::new(), None).await, Ok(vec!["k".into()]));
        for bad in ["", "a b", "ä", "a\n", "a%", "~session/x", &"x".repeat(257)] {
            assert!(matches!(state.get(bad).await, Err(StateError::Invalid(_))), "{bad}");
        }
        assert!(matches!(state.keys("a b".into(), None).await, Err(StateError::Invalid(_))));
    }

    #[tokio::test]
    async fn a_stored_private_result_stays_private() {
        let store = One::default();
        let journal = CallJournal::default();
        let state = |scope| PluginState::new(scope, &store, &journal);
        let (knows, plain) = (scope("state = true", "state = {}"), scope("state = true", "state = {}"));
        let raised = scope("state = true", r#"state = { private = ["client"] }"#);
        knows.lineage.mark_private(Origin::Client);
        state(&knows).put("k".into(), vec![7], ExpectedVersion::Any).await.unwrap();
        assert_eq!(state(&plain).get("k").await, Ok(None));
        assert!(plain.lineage.private_origins().is_empty());
        assert_eq!(state(&raised).get("k").await.unwrap().unwrap().value, [7]);
        assert_eq!(raised.lineage.private_origins(), [Origin::Client].into());
    }
}
