//! `state`: values that a plugin keeps from call to call, each principal's apart. Keys and authority are checked here; who
//! keeps them counts.
//!
//! A value remembers whose private results its call knew when it was kept, and whoever reads it knows them from then on:
//! keeping something for later is no way around the rule that private results are not passed on.

use super::{Budgeted, CallContext, Exhaustion, GuestDenial, Permit};
use async_trait::async_trait;
use policy::{Lineage, PluginId, Principal, Secrets, StateGrant};
use std::sync::Arc;

/// The longest key, in bytes.
const MAX_KEY: usize = 256;
/// Keys of one page.
const PAGE: u32 = 100;

/// Why a value was not kept or found.
#[derive(Debug, Clone, PartialEq)]
pub enum StateError {
    /// Not granted.
    Denied(GuestDenial),
    /// Not a key.
    Invalid(String),
    /// The quota is used up.
    Exhausted(Exhaustion),
    /// Something else was there than the caller knew.
    Conflict,
    /// The host could not; its log says why.
    Failed(String),
}

/// Whose values.
#[derive(Debug, Clone)]
pub struct StateOwner {
    /// Which plugin's.
    pub plugin: PluginId,
    /// On whose behalf.
    pub principal: Principal,
}

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub struct StateEntry {
    /// Itself.
    pub value: Vec<u8>,
    /// Another one after every change.
    pub version: u64,
    /// Whose private results may be in it.
    pub secrets: Secrets,
}

/// What must be there for a value to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// Whatever is.
    Any,
    /// This version; none: nothing.
    Is(Option<u64>),
}

/// Keeps values. Implemented by `state`. What is answered is durable.
#[async_trait]
pub trait StateStore: Send + Sync {
    /// The value under a key.
    async fn get(&self, owner: &StateOwner, key: &str) -> Result<Option<StateEntry>, StateError>;
    /// Keeps a value, if what is expected is there, and says its version.
    async fn put(
        &self,
        owner: &StateOwner,
        key: String,
        value: Vec<u8>,
        secrets: Secrets,
        expected: Expectation,
        quota: StateGrant,
    ) -> Result<u64, StateError>;
    /// Removes a value; false when there was none.
    async fn remove(&self, owner: &StateOwner, key: String) -> Result<bool, StateError>;
    /// Keys that begin so and come after this one, in order, at most so many, with what may be in their values.
    async fn keys(
        &self,
        owner: &StateOwner,
        prefix: String,
        after: String,
        most: u32,
    ) -> Result<Vec<(String, Secrets)>, StateError>;
}

/// A host without a place for them.
pub(super) struct NoState;

impl NoState {
    fn none<T>() -> Result<T, StateError> {
        Err(StateError::Failed("this host keeps nothing: it has no state folder".into()))
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
        _: Secrets,
        _: Expectation,
        _: StateGrant,
    ) -> Result<u64, StateError> {
        Self::none()
    }

    async fn remove(&self, _: &StateOwner, _: String) -> Result<bool, StateError> {
        Self::none()
    }

    async fn keys(&self, _: &StateOwner, _: String, _: String, _: u32) -> Result<Vec<(String, Secrets)>, StateError> {
        Self::none()
    }
}

/// One call's way to what its plugin keeps for its principal.
pub struct State {
    permit: Permit,
    lineage: Lineage,
    owner: StateOwner,
    store: Arc<dyn StateStore>,
}

impl State {
    pub(super) fn new(permit: Permit, lineage: Lineage, call: &CallContext, store: Arc<dyn StateStore>) -> Self {
        let owner = StateOwner { plugin: permit.plugin().clone(), principal: call.principal.clone() };
        Self { permit, lineage, owner, store }
    }

    /// The value under a key.
    pub async fn get(&self, key: &str) -> Result<Option<StateEntry>, StateError> {
        self.granted()?;
        check_key(key)?;
        let entry = self.store.get(&self.owner, key).await?;
        self.learn(entry.iter().map(|entry| &entry.secrets));
        Ok(entry)
    }

    /// Keeps a value, if what is expected is there, and says its version.
    pub async fn put(&self, key: String, value: Vec<u8>, expected: Expectation) -> Result<u64, StateError> {
        let quota = self.granted()?;
        check_key(&key)?;
        // Refused by the store as well; here before anything is copied.
        if value.len() as u64 > quota.size.as_u64() {
            return Err(StateError::Exhausted(Exhaustion { budget: Budgeted::Stored, limit: quota.size.as_u64() }));
        }
        self.store.put(&self.owner, key, value, self.lineage.secrets(), expected, quota).await
    }

    /// Removes a value; false when there was none.
    pub async fn remove(&self, key: String) -> Result<bool, StateError> {
        self.granted()?;
        check_key(&key)?;
        self.store.remove(&self.owner, key).await
    }

    /// A page of keys.
    pub async fn keys(&self, prefix: String, after: Option<String>) -> Result<Vec<String>, StateError> {
        self.granted()?;
        for part in [Some(&prefix), after.as_ref()].into_iter().flatten().filter(|part| !part.is_empty()) {
            check_key(part)?;
        }
        let keys = self.store.keys(&self.owner, prefix, after.unwrap_or_default(), PAGE).await?;
        self.learn(keys.iter().map(|(_, secrets)| secrets));
        Ok(keys.into_iter().map(|(key, _)| key).collect())
    }

    fn learn<'a>(&self, secrets: impl Iterator<Item = &'a Secrets>) {
        secrets.flatten().for_each(|origin| self.lineage.confide(origin.clone()));
    }

    fn granted(&self) -> Result<StateGrant, StateError> {
        self.permit.decided(self.permit.state()).map_err(StateError::Denied)
    }
}

fn check_key(key: &str) -> Result<(), StateError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._:/-".contains(c);
    if !key.is_empty() && key.len() <= MAX_KEY && key.chars().all(plain) {
        return Ok(());
    }
    let shown: String = key.chars().take(64).collect();
    Err(StateError::Invalid(format!("{shown:?} is not a key: write 1 to {MAX_KEY} bytes of A-Z a-z 0-9 . _ : / -")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Authority, Limits, Origin, Side};
    use std::sync::Mutex;

    /// Keeps one value.
    #[derive(Default)]
    struct One(Mutex<Option<StateEntry>>);

    #[async_trait]
    impl StateStore for One {
        async fn get(&self, _: &StateOwner, _: &str) -> Result<Option<StateEntry>, StateError> {
            Ok(self.0.lock().unwrap().clone())
        }

        async fn put(
            &self,
            _: &StateOwner,
            _: String,
            value: Vec<u8>,
            secrets: Secrets,
            _: Expectation,
            _: StateGrant,
        ) -> Result<u64, StateError> {
            *self.0.lock().unwrap() = Some(StateEntry { value, version: 1, secrets });
            Ok(1)
        }

        async fn remove(&self, _: &StateOwner, _: String) -> Result<bool, StateError> {
            Ok(self.0.lock().unwrap().take().is_some())
        }

        async fn keys(
            &self,
            _: &StateOwner,
            _: String,
            _: String,
            _: u32,
        ) -> Result<Vec<(String, Secrets)>, StateError> {
            Ok(self.0.lock().unwrap().iter().map(|entry| ("k".into(), entry.secrets.clone())).collect())
        }
    }

    fn state(requests: &str, grants: &str, store: &Arc<One>) -> State {
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let authority = Authority::new(plugin, &toml::from_str(requests).unwrap(), &toml::from_str(grants).unwrap());
        let lineage = Lineage::root("plugins.p.x".into(), &Limits::default());
        State::new(Arc::new(authority).into(), lineage, &CallContext::new("local"), store.clone())
    }

    #[tokio::test]
    async fn both_keys_are_needed_for_everything() {
        let store = Arc::new(One::default());
        let (asked, given) = ("state = true", "state = { size = \"16 B\" }");
        for (requests, grants) in [(asked, ""), ("", given), ("", "")] {
            let state = state(requests, grants, &store);
            let denied = |error| matches!(error, StateError::Denied(denial) if denial.capability == "state");
            assert!(denied(state.get("k").await.unwrap_err()));
            assert!(denied(state.put("k".into(), vec![], Expectation::Any).await.unwrap_err()));
            assert!(denied(state.remove("k".into()).await.unwrap_err()));
            assert!(denied(state.keys(String::new(), None).await.unwrap_err()));
        }
        let state = state(asked, given, &store);
        assert_eq!(state.put("k".into(), vec![0; 16], Expectation::Any).await, Ok(1));
        let exhausted = Exhaustion { budget: Budgeted::Stored, limit: 16 };
        let large = state.put("k".into(), vec![0; 17], Expectation::Any).await;
        assert_eq!(large, Err(StateError::Exhausted(exhausted)));
        for bad in ["", "a b", "ä", "a\n", "a%", &"x".repeat(257)] {
            assert!(matches!(state.get(bad).await, Err(StateError::Invalid(_))), "{bad}");
        }
        assert!(matches!(state.keys("a b".into(), None).await, Err(StateError::Invalid(_))));
    }

    #[tokio::test]
    async fn private_results_stay_private_when_they_are_kept() {
        let (store, both) = (Arc::new(One::default()), ("state = true", "state = {}"));
        let knows = state(both.0, both.1, &store);
        knows.lineage.confide(Origin::Client);
        knows.put("k".into(), vec![], Expectation::Any).await.unwrap();
        let (later, lists) = (state(both.0, both.1, &store), state(both.0, both.1, &store));
        assert!(later.lineage.secrets().is_empty());
        later.get("k").await.unwrap();
        lists.keys(String::new(), None).await.unwrap();
        assert_eq!(
            (later.lineage.secrets(), lists.lineage.secrets()),
            ([Origin::Client].into(), [Origin::Client].into())
        );
    }
}
