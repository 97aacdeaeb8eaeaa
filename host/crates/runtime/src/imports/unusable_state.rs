//! The state store of a host that has none, or cannot use its own.

use super::state::{ExpectedVersion, NO_FOLDER, STATE_FAILED, StateEntry, StateError, StateOwner, StateStore};
use async_trait::async_trait;
use policy::StateGrant;

/// A store that refuses every request with the same error.
pub struct UnusableState {
    /// The error that guests get.
    told: &'static str,
    problem: Option<String>,
}

impl UnusableState {
    /// The store of a host without a state folder.
    pub(super) const NO_FOLDER: Self = Self { told: NO_FOLDER, problem: None };

    /// The store of a host that cannot open its state folder.
    pub fn broken(problem: String) -> Self {
        Self { told: STATE_FAILED, problem: Some(problem) }
    }

    fn refuse<T>(&self) -> Result<T, StateError> {
        Err(StateError::Failed(self.told.into()))
    }
}

#[async_trait]
impl StateStore for UnusableState {
    async fn get(&self, _: &StateOwner, _: &str) -> Result<Option<StateEntry>, StateError> {
        self.refuse()
    }

    async fn put(
        &self,
        _: &StateOwner,
        _: String,
        _: Vec<u8>,
        _: ExpectedVersion,
        _: StateGrant,
    ) -> Result<u64, StateError> {
        self.refuse()
    }

    async fn remove(&self, _: &StateOwner, _: String, _: StateGrant) -> Result<bool, StateError> {
        self.refuse()
    }

    async fn keys(&self, _: &StateOwner, _: String, _: String, _: u32) -> Result<Vec<String>, StateError> {
        self.refuse()
    }

    fn session_id(&self, _: &StateOwner) -> Option<u128> {
        None
    }

    fn problem(&self) -> Option<String> {
        self.problem.clone()
    }
}
