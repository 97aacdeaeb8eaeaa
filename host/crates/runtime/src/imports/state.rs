//! `state`: values that a plugin keeps between calls, separately for each principal. Keys and authority are checked
//! here; quotas are enforced by the store.
//!
//! A value is labelled with the private origins that its call knew when it was stored, and a call that reads it then
//! knows them too: storing a value is no way around the rules for private flows.

use super::call_scope::CallScope;
use super::import_span::ErrorName;
use super::types::{BudgetKind, Exhaustion, GuestDenial};
use async_trait::async_trait;
use platform::text::truncate_chars;
use policy::{PluginId, Principal, PrivateOrigins, StateGrant, is_name};

/// Length of a key in bytes.
const MAX_KEY: usize = 256;
const PAGE: u32 = 100;

#[derive(Debug, Clone, PartialEq)]
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
    pub plugin: PluginId,
    pub principal: Principal,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StateEntry {
    pub value: Vec<u8>,
    /// Changes with every write.
    pub version: u64,
    /// The origins whose private results may be in the value.
    pub secrets: PrivateOrigins,
}

/// What must be stored for a value to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedVersion {
    Any,
    /// This version; `None`: no value.
    Is(Option<u64>),
}

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
        secrets: PrivateOrigins,
        expected: ExpectedVersion,
        quota: StateGrant,
    ) -> Result<u64, StateError>;
    /// Returns whether there was a value.
    async fn remove(&self, owner: &StateOwner, key: String) -> Result<bool, StateError>;
    /// At most `most` keys with this prefix after `after`, in order, each with the private origins of its value.
    async fn keys(
        &self,
        owner: &StateOwner,
        prefix: String,
        after: String,
        most: u32,
    ) -> Result<Vec<(String, PrivateOrigins)>, StateError>;
}

/// A host without a state folder.
pub(super) struct NoState;

impl NoState {
    fn none<T>() -> Result<T, StateError> {
        Err(StateError::Failed("this host has no state folder, so nothing can be stored".into()))
    }
}

#[async_trait]
impl StateStore for NoState {
    async fn get(&self, _: &StateOwner, _: &str) -> Result<Option<StateEntry>, StateError> {
        Self::none()
    }

    async fn put(
        &self,
        _: &StateOwner,
        _: String,
        _: Vec<u8>,
        _: PrivateOrigins,
        _: ExpectedVersion,
        _: StateGrant,
    ) -> Result<u64, StateError> {
        Self::none()
    }

    async fn remove(&self, _: &StateOwner, _: String) -> Result<bool, StateError> {
        Self::none()
    }

    async fn keys(
        &self,
        _: &StateOwner,
        _: String,
        _: String,
        _: u32,
    ) -> Result<Vec<(String, PrivateOrigins)>, StateError> {
        Self::none()
    }
}

/// One call's access to its plugin's values for its principal.
pub struct PluginState<'a> {
    scope: &'a CallScope,
    owner: StateOwner,
    store: &'a dyn StateStore,
}

impl<'a> PluginState<'a> {
    pub(super) fn new(scope: &'a CallScope, store: &'a dyn StateStore) -> Self {
        let owner = StateOwner { plugin: scope.authority.plugin().clone(), principal: scope.context.principal.clone() };
        Self { scope, owner, store }
    }

    pub async fn get(&self, key: &str) -> Result<Option<StateEntry>, StateError> {
        self.granted()?;
        check_key(key)?;
        let entry = self.store.get(&self.owner, key).await?;
        self.learn(entry.iter().map(|entry| &entry.secrets));
        Ok(entry)
    }

    /// Stores a value if `expected` holds, and returns its version.
    pub async fn put(&self, key: String, value: Vec<u8>, expected: ExpectedVersion) -> Result<u64, StateError> {
        let quota = self.granted()?;
        check_key(&key)?;
        // The store checks this too; here it is refused before anything is copied.
        if value.len() as u64 > quota.size.as_u64() {
            return Err(StateError::Exhausted(Exhaustion { budget: BudgetKind::Stored, limit: quota.size.as_u64() }));
        }
        self.store.put(&self.owner, key, value, self.scope.lineage.private_origins(), expected, quota).await
    }

    /// Returns whether there was a value.
    pub async fn remove(&self, key: String) -> Result<bool, StateError> {
        self.granted()?;
        check_key(&key)?;
        self.store.remove(&self.owner, key).await
    }

    pub async fn keys(&self, prefix: String, after: Option<String>) -> Result<Vec<String>, StateError> {
        self.granted()?;
        for part in [Some(&prefix), after.as_ref()].into_iter().flatten().filter(|part| !part.is_empty()) {
            check_key(part)?;
        }
        let keys = self.store.keys(&self.owner, prefix, after.unwrap_or_default(), PAGE).await?;
        self.learn(keys.iter().map(|(_, secrets)| secrets));
        Ok(keys.into_iter().map(|(key, _)| key).collect())
    }

    fn learn<'b>(&self, secrets: impl Iterator<Item = &'b PrivateOrigins>) {
        secrets.flatten().for_each(|origin| self.scope.lineage.mark_private(origin.clone()));
    }

    fn granted(&self) -> Result<StateGrant, StateError> {
        self.scope.authority.enforce(self.scope.authority.state()).map_err(StateError::Denied)
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
    use policy::{Authority, Limits, Lineage, Origin, Side};
    use std::sync::Arc;

    #[derive(Default)]
    struct One(Mutex<Option<StateEntry>>);

    #[async_trait]
    impl StateStore for One {
        async fn get(&self, _: &StateOwner, _: &str) -> Result<Option<StateEntry>, StateError> {
            Ok(self.0.lock().clone())
        }

        async fn put(
            &self,
            _: &StateOwner,
            _: String,
            value: Vec<u8>,
            secrets: PrivateOrigins,
            _: ExpectedVersion,
            _: StateGrant,
        ) -> Result<u64, StateError> {
            *self.0.lock() = Some(StateEntry { value, version: 1, secrets });
            Ok(1)
        }

        async fn remove(&self, _: &StateOwner, _: String) -> Result<bool, StateError> {
            Ok(self.0.lock().take().is_some())
        }

        async fn keys(
            &self,
            _: &StateOwner,
            _: String,
            _: String,
            _: u32,
        ) -> Result<Vec<(String, PrivateOrigins)>, StateError> {
            Ok(self.0.lock().iter().map(|entry| ("k".into(), entry.secrets.clone())).collect())
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
            let state = PluginState::new(&scope, &store);
            let denied = |error| matches!(error, StateError::Denied(denial) if denial.capability == "state");
            assert!(denied(state.get("k").await.unwrap_err()));
            assert!(denied(state.put("k".into(), vec![], ExpectedVersion::Any).await.unwrap_err()));
            assert!(denied(state.remove("k".into()).await.unwrap_err()));
            assert!(denied(state.keys(String::new(), None).await.unwrap_err()));
        }
        let scope = scope(asked, given);
        let state = PluginState::new(&scope, &store);
        assert_eq!(state.put("k".into(), vec![0; 16], ExpectedVersion::Any).await, Ok(1));
        let exhausted = Exhaustion { budget: BudgetKind::Stored, limit: 16 };
        let large = state.put("k".into(), vec![0; 17], ExpectedVersion::Any).await;
        assert_eq!(large, Err(StateError::Exhausted(exhausted)));
        for bad in ["", "a b", "ä", "a\n", "a%", &"x".repeat(257)] {
            assert!(matches!(state.get(bad).await, Err(StateError::Invalid(_))), "{bad}");
        }
        assert!(matches!(state.keys("a b".into(), None).await, Err(StateError::Invalid(_))));
    }

    #[tokio::test]
    async fn a_stored_private_result_stays_private() {
        let (store, scope) = (One::default(), || scope("state = true", "state = {}"));
        let (knows, reads, lists) = (scope(), scope(), scope());
        let state = |scope| PluginState::new(scope, &store);
        knows.lineage.mark_private(Origin::Client);
        state(&knows).put("k".into(), vec![], ExpectedVersion::Any).await.unwrap();
        assert!(reads.lineage.private_origins().is_empty());
        state(&reads).get("k").await.unwrap();
        state(&lists).keys(String::new(), None).await.unwrap();
        assert_eq!(reads.lineage.private_origins(), [Origin::Client].into());
        assert_eq!(lists.lineage.private_origins(), [Origin::Client].into());
    }
}
