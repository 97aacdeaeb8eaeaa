//! Values that plugins keep between calls, in SQLite.
//!
//! Rows belong to a plugin, by the operator's name for it, and to a principal. When a plugin is removed, [`forget`]
//! must remove its rows, or the next plugin of that name would read them.

use async_trait::async_trait;
use hmac::{Hmac, KeyInit as _, Mac as _};
use platform::files::read_or_create_key;
use platform::folder::Folder;
use platform::storage::{PutCondition, PutOutcome, StorageError, ValueOwner, ValueQuota, ValueStore};
use platform::sync::Mutex;
use policy::{HostEnvironment, Origin, PluginId, StateGrant};
use runtime::imports::{
    BudgetKind, Exhaustion, ExpectedVersion, STATE_FAILED, StateEntry, StateError, StateOwner, StateStore,
};
use sha2::Sha256;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::Path;

pub struct SqliteStateStore {
    values: ValueStore,
    /// Of which the ids of sessions are made.
    session_key: [u8; 32],
    /// Why the last reading and the last writing failed; none if it did not.
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

/// Notes in `problem` how it went. A guest is told only that it failed.
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

#[derive(Debug, thiserror::Error)]
pub enum ForgetError {
    #[error(transparent)]
    Values(#[from] StorageError),
    #[error("the scratch directory cannot be removed: {0}")]
    Scratch(#[from] io::Error),
}

/// Removes everything that a plugin has stored, for all principals: its values and its directory. Returns the number of
/// values.
pub async fn forget(machine: &HostEnvironment, plugin: &PluginId) -> Result<u64, ForgetError> {
    let Some(folder) = machine.state.clone().filter(|folder| folder.exists()) else { return Ok(0) };
    if let Some(scratch) = machine.scratch(plugin) {
        remove_scratch(&scratch)?;
    }
    Ok(ValueStore::open(&folder)?.forget(plugin.table()).await?)
}

/// Removes a scratch directory. It is renamed first, so that a crash leaves nothing under the plugin's name.
fn remove_scratch(scratch: &Path) -> io::Result<()> {
    let (Some(place), Some(name)) = (scratch.parent(), scratch.file_name()) else { return Ok(()) };
    let none = |error: io::Error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) };
    let folder = match Folder::open(place) {
        Ok(folder) => folder,
        Err(error) => return none(error),
    };
    // No plugin is called so: its directory starts with its table.
    let mut gone = OsString::from(".removed-");
    gone.push(name);
    let gone = Path::new(&gone);
    folder.remove_all(gone).or_else(none)?;
    match folder.rename(Path::new(name), gone) {
        Ok(()) => folder.remove_all(gone),
        Err(error) => none(error),
    }
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
        let (plugin, principal) = (owner.plugin.table(), owner.principal.to_string());
        // With its length: no two owners have one text.
        mac.update(&(plugin.len() as u64).to_be_bytes());
        mac.update(plugin.as_bytes());
        mac.update(principal.as_bytes());
        let id = mac.finalize().into_bytes();
        id.first_chunk().copied().map(u128::from_be_bytes)
    }

    fn problem(&self) -> Option<String> {
        let problem = self.writing.lock().clone().or_else(|| self.reading.lock().clone());
        // A store that is full still knows what it has.
        problem.filter(|error| !matches!(error, StorageError::Full(_))).map(|error| error.to_string())
    }
}

fn rows(owner: &StateOwner) -> ValueOwner {
    let label = owner.knows.iter().map(Origin::to_string).collect::<Vec<_>>().join("\n");
    ValueOwner { plugin: owner.plugin.table(), principal: owner.principal.to_string(), label }
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
    use policy::{Principal, PrivateOrigins, Side};

    #[tokio::test]
    async fn forgetting_a_plugin_removes_its_values_and_directory() {
        let folder = tempfile::tempdir().unwrap();
        let machine = HostEnvironment { state: Some(folder.path().to_owned()), ..HostEnvironment::default() };
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let scratch = machine.scratch(&plugin).unwrap();
        std::fs::create_dir_all(&scratch).unwrap();
        std::fs::write(scratch.join("file"), "x").unwrap();
        let knows = [Origin::Client, Origin::Upstream("a".into())].into();
        let owner = StateOwner { plugin: plugin.clone(), principal: Principal::local(), knows };
        let plain = StateOwner { knows: [Origin::Client].into(), ..owner.clone() };
        let state = SqliteStateStore::open(folder.path()).unwrap();
        state.put(&owner, "k".into(), vec![1], ExpectedVersion::Any, StateGrant::default()).await.unwrap();
        assert_eq!(state.get(&owner, "k").await.unwrap().unwrap().value, [1]);
        assert_eq!(state.get(&plain, "k").await, Ok(None));
        let id = state.session_id(&owner).unwrap();
        let of = |state: &SqliteStateStore, plugin: &str, principal: Principal| {
            let plugin = PluginId { side: Side::Server, name: plugin.into() };
            state.session_id(&StateOwner { plugin, principal, knows: PrivateOrigins::new() }).unwrap()
        };
        assert_eq!(of(&state, "p", Principal::local()), id, "whatever a call knows");
        assert_ne!(of(&state, "q", Principal::local()), id);
        assert_ne!(of(&state, "p", Principal::anonymous()), id);
        let again = SqliteStateStore::open(folder.path()).unwrap();
        assert_eq!(of(&again, "p", Principal::local()), id, "after a restart");
        let other = tempfile::tempdir().unwrap();
        assert_ne!(of(&SqliteStateStore::open(other.path()).unwrap(), "p", Principal::local()), id, "of another host");
        assert_eq!(forget(&machine, &plugin).await.unwrap(), 1);
        assert_eq!(state.get(&owner, "k").await, Ok(None));
        assert!(!scratch.exists() && forget(&machine, &plugin).await.unwrap() == 0);
        // What an interrupted removal left does not stand in the way of the next one, nor of another plugin's.
        for left in ["scratch/plugins.removed/x", "scratch/.removed-plugins.p/x"] {
            std::fs::create_dir_all(folder.path().join(left)).unwrap();
        }
        std::fs::create_dir_all(scratch.join("x")).unwrap();
        forget(&machine, &plugin).await.unwrap();
        let left: Vec<_> =
            std::fs::read_dir(folder.path().join("scratch")).unwrap().map(|it| it.unwrap().file_name()).collect();
        assert_eq!(left, ["plugins.removed"], "that is the directory of a plugin called `removed`");
    }
}
