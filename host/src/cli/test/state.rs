//! The state of a tested plugin: kept between the calls of one transcript, in a temporary folder.

use async_trait::async_trait;
use policy::StateGrant;
use runtime::imports::{ExpectedVersion, StateEntry, StateError, StateOwner, StateStore};
use services::state::SqliteStateStore;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;

pub(super) struct TestState {
    store: SqliteStateStore,
    used: AtomicBool,
    folder: TempDir,
}

impl TestState {
    pub(super) fn new() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        Ok(Self { store: SqliteStateStore::open(folder.path())?, used: AtomicBool::new(false), folder })
    }

    /// The folder of the state, which also holds the scratch directories.
    pub(super) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    pub(super) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    fn store(&self) -> &SqliteStateStore {
        self.used.store(true, Ordering::Relaxed);
        &self.store
    }
}

#[async_trait]
impl StateStore for TestState {
    async fn get(&self, owner: &StateOwner, key: &str) -> Result<Option<StateEntry>, StateError> {
        self.store().get(owner, key).await
    }

    async fn put(
        &self,
        owner: &StateOwner,
        key: String,
        value: Vec<u8>,
        expected: ExpectedVersion,
        quota: StateGrant,
    ) -> Result<u64, StateError> {
        self.store().put(owner, key, value, expected, quota).await
    }

    async fn remove(&self, owner: &StateOwner, key: String, quota: StateGrant) -> Result<bool, StateError> {
        self.store().remove(owner, key, quota).await
    }

    async fn keys(
        &self,
        owner: &StateOwner,
        prefix: String,
        after: String,
        most: u32,
    ) -> Result<Vec<String>, StateError> {
        self.store().keys(owner, prefix, after, most).await
    }
    fn session_id(&self, owner: &StateOwner) -> Option<u128> {
        self.store().session_id(owner)
    }
}
