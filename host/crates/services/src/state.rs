//! Values that plugins keep between calls, in SQLite.
//!
//! Rows belong to a plugin, by the key of its data, and to a principal.

use async_trait::async_trait;
use hmac::{Hmac, KeyInit as _, Mac as _};
use platform::files::read_or_create_key;
use platform::storage::{PutCondition, PutOutcome, StorageError, ValueOwner, ValueQuota, ValueStore};
use platform::sync::Mutex;
use policy::{Origin, StateGrant};
use runtime::imports::{
    BudgetKind, Exhaustion, ExpectedVersion, STATE_FAILED, StateEntry, StateError, StateOwner, StateStore,
};
use sha2::Sha256;
use std::io;
use std::path::Path;

pub struct SqliteStateStore {
    values: ValueStore,
    /// The key from which the ids of sessions are derived.
    session_key: [u8; 32],
    /// Why the last read and the last write failed; none if they did not.
    reading: Mutex<Option<StorageError>>,
    writing: Mutex<Option<StorageError>>,
}

#[derive(Debug, thiserror::Error)]
pub enum OpenStateError {
    #[error(transparent)]
    Values(#[from] StorageError),
    #[error("the key of sessions cannot be used: {0}")]
    SessionKey(#[from] io::Error),
}

impl SqliteStateStore {
    /// Opens the database in this folder. Blocks.
    pub fn open(folder: &Path) -> Result<Self, OpenStateError> {
        let values = ValueStore::open(folder)?;
        let session_key = read_or_create_key(&folder.join("sessions.key"))?;
        Ok(Self { values, session_key, reading: Mutex::default(), writing: Mutex::default() })
    }
}

/// Notes in `problem` whether the operation failed. The error for the guest says only that it failed.
fn noted<T>(problem: &Mutex<Option<StorageError>>, result: Result<T, StorageError>) -> Result<T, StateError> {
    let failed = result.as_ref().err().cloned();
    let mut problem = problem.lock();
    match (&failed, &*problem) {
        (Some(error), None) => tracing::error!("plugin state cannot be stored or loaded: {error}"),
        (None, Some(_)) => tracing::info!("plugin state can be stored and loaded again"),
        _ => {}
    }
    *problem = failed;
    result.map_err(|_| StateError::Failed(STATE_FAILED.into()))
}

#[async_trait]
impl StateStore for SqliteStateStore {
    async fn get(&self, owner: &StateOwner, key: &str) -> Result<Option<StateEntry>, StateError> {
        let kept = noted(&self.reading, self.values.get(rows(owner), key.to_owned()).await)?;
        Ok(kept.map(|kept| StateEntry { value: kept.value, version: kept.version }))
    }

    async fn put(
        &self,
        owner: &StateOwner,
        key: String,
        value: Vec<u8>,
        expected: ExpectedVersion,
        quota: StateGrant,
    ) -> Result<u64, StateError> {
        let expected = match expected {
            ExpectedVersion::Any => PutCondition::Any,
            ExpectedVersion::Is(None) => PutCondition::Nothing,
            ExpectedVersion::Is(Some(version)) => PutCondition::Version(version),
        };
        version(noted(&self.writing, self.values.put(rows(owner), key, value, expected, room(&quota)).await)?)
    }

    async fn remove(&self, owner: &StateOwner, key: String, quota: StateGrant) -> Result<bool, StateError> {
        let removed = noted(&self.writing, self.values.remove(rows(owner), key, room(&quota)).await)?;
        removed.or_else(|refused| version(refused).map(|_| true))
    }

    async fn keys(
        &self,
        owner: &StateOwner,
        prefix: String,
        after: String,
        most: u32,
    ) -> Result<Vec<String>, StateError> {
        noted(&self.reading, self.values.keys(rows(owner), prefix, after, most).await)
    }

    fn session_id(&self, owner: &StateOwner) -> Option<u128> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.session_key).ok()?;
        let (plugin, principal) = (owner.data.as_str().as_bytes(), owner.principal.to_string());
        // The length is included, so that no two owners give the same bytes.
        mac.update(&(plugin.len() as u64).to_be_bytes());
        mac.update(plugin);
        mac.update(principal.as_bytes());
        let id = mac.finalize().into_bytes();
        id.first_chunk().copied().map(u128::from_be_bytes)
    }

    fn problem(&self) -> Option<String> {
        let problem = self.writing.lock().clone().or_else(|| self.reading.lock().clone());
        // A full store can still be read.
        problem.filter(|error| !matches!(error, StorageError::Full(_))).map(|error| error.to_string())
    }
}

fn rows(owner: &StateOwner) -> ValueOwner {
    let label = owner.knows.iter().map(Origin::to_string).collect::<Vec<_>>().join("\n");
    ValueOwner { plugin: owner.data.to_string(), principal: owner.principal.to_string(), label }
}

fn room(quota: &StateGrant) -> ValueQuota {
    ValueQuota { bytes: quota.size.as_u64(), keys: quota.keys.into() }
}

fn version(outcome: PutOutcome) -> Result<u64, StateError> {
    let full = |limit| StateError::Exhausted(Exhaustion { budget: BudgetKind::Stored, limit });
    match outcome {
        PutOutcome::Done(version) => Ok(version),
        PutOutcome::Conflict => Err(StateError::Conflict),
        PutOutcome::TooLarge(limit) | PutOutcome::TooMany(limit) => Err(full(limit)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{DataKey, Principal, PrivateOrigins};

    #[tokio::test]
    async fn values_and_sessions_belong_to_the_data_of_a_plugin_and_to_a_principal() {
        let folder = tempfile::tempdir().unwrap();
        let knows = [Origin::Client, Origin::Upstream("a".into())].into();
        let owner = StateOwner { data: DataKey::from_stored("plugins.p"), principal: Principal::local(), knows };
        let plain = StateOwner { knows: [Origin::Client].into(), ..owner.clone() };
        let other_source = StateOwner { data: DataKey::from_stored("plugins.p@oci://r/p"), ..owner.clone() };
        let state = SqliteStateStore::open(folder.path()).unwrap();
        state.put(&owner, "k".into(), vec![1], ExpectedVersion::Any, StateGrant::default()).await.unwrap();
        assert_eq!(state.get(&owner, "k").await.unwrap().unwrap().value, [1]);
        for nobody in [&plain, &other_source] {
            assert_eq!(state.get(nobody, "k").await, Ok(None));
        }
        let id = state.session_id(&owner).unwrap();
        let of = |state: &SqliteStateStore, data: &str, principal: Principal| {
            let data = DataKey::from_stored(data);
            state.session_id(&StateOwner { data, principal, knows: PrivateOrigins::new() }).unwrap()
        };
        assert_eq!(of(&state, "plugins.p", Principal::local()), id, "whatever a call knows");
        assert_ne!(of(&state, "plugins.q", Principal::local()), id);
        assert_ne!(of(&state, "plugins.p@oci://r/p", Principal::local()), id);
        assert_ne!(of(&state, "plugins.p", Principal::anonymous()), id);
        let again = SqliteStateStore::open(folder.path()).unwrap();
        assert_eq!(of(&again, "plugins.p", Principal::local()), id, "after a restart");
        let other = SqliteStateStore::open(tempfile::tempdir().unwrap().path()).unwrap();
        assert_ne!(of(&other, "plugins.p", Principal::local()), id, "of another host");
    }
}
