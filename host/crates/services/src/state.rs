//! Values that plugins keep from call to call: the import `state`, over `storage`.
//!
//! Rows are kept by plugin, as the operator named it, and by principal. So a plugin that is removed leaves nothing to the
//! next of its name only if its rows go with it: [`forget`] is for whoever removes one.

use async_trait::async_trait;
use platform::storage::{Expected, Owner, Put, Room, StorageError, Values};
use policy::{Machine, Origin, PluginId, Secrets, StateGrant};
use runtime::imports::{Budgeted, Exhaustion, Expectation, StateEntry, StateError, StateOwner, StateStore};
use std::path::Path;

/// Keeps values of plugins.
pub struct State(Values);

impl State {
    /// In this folder. Blocks.
    pub fn open(folder: &Path) -> Result<Self, StorageError> {
        Values::open(folder).map(Self)
    }
}

/// A plugin's values and its directory could not be removed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence is that of the error inside")]
pub enum ForgetError {
    #[error(transparent)]
    Values(#[from] StorageError),
    #[error("the scratch directory cannot be removed: {0}")]
    Scratch(#[from] std::io::Error),
}

/// Removes all that a plugin has kept, for everybody: its values and its directory. How many values that were.
pub async fn forget(machine: &Machine, plugin: &PluginId) -> Result<u64, ForgetError> {
    let Some(folder) = machine.state.clone().filter(|folder| folder.exists()) else { return Ok(0) };
    if let Some(scratch) = machine.scratch(plugin).filter(|scratch| scratch.symlink_metadata().is_ok()) {
        // The name goes first, so that what is left of a crash is nobody's.
        let gone = scratch.with_extension("removed");
        std::fs::rename(&scratch, &gone).and_then(|()| std::fs::remove_dir_all(&gone))?;
    }
    Ok(Values::open(&folder)?.forget(plugin.table()).await?)
}

#[async_trait]
impl StateStore for State {
    async fn get(&self, owner: &StateOwner, key: &str) -> Result<Option<StateEntry>, StateError> {
        let kept = self.0.get(rows(owner), key.to_owned()).await.map_err(lost)?;
        let entry = |kept: platform::storage::Kept| {
            let secrets = secrets(&kept.label)?;
            Ok(StateEntry { value: kept.value, version: kept.version, secrets })
        };
        kept.map(entry).transpose()
    }

    async fn put(
        &self,
        owner: &StateOwner,
        key: String,
        value: Vec<u8>,
        secrets: Secrets,
        expected: Expectation,
        quota: StateGrant,
    ) -> Result<u64, StateError> {
        let expected = match expected {
            Expectation::Any => Expected::Any,
            Expectation::Is(None) => Expected::Nothing,
            Expectation::Is(Some(version)) => Expected::Version(version),
        };
        let room = Room { bytes: quota.size.as_u64(), keys: quota.keys.into() };
        let full = |limit| StateError::Exhausted(Exhaustion { budget: Budgeted::Stored, limit });
        match self.0.put(rows(owner), key, value, label(&secrets), expected, room).await.map_err(lost)? {
            Put::Done(version) => Ok(version),
            Put::Conflict => Err(StateError::Conflict),
            Put::TooLarge(limit) | Put::TooMany(limit) => Err(full(limit)),
        }
    }

    async fn remove(&self, owner: &StateOwner, key: String) -> Result<bool, StateError> {
        self.0.remove(rows(owner), key).await.map_err(lost)
    }

    async fn keys(
        &self,
        owner: &StateOwner,
        prefix: String,
        after: String,
        most: u32,
    ) -> Result<Vec<(String, Secrets)>, StateError> {
        let keys = self.0.keys(rows(owner), prefix, after, most).await.map_err(lost)?;
        keys.into_iter().map(|(key, label)| Ok((key, secrets(&label)?))).collect()
    }
}

fn rows(owner: &StateOwner) -> Owner {
    Owner { plugin: owner.plugin.table(), principal: owner.principal.to_string() }
}

/// Origins, one a line.
fn label(secrets: &Secrets) -> String {
    secrets.iter().map(Origin::to_string).collect::<Vec<_>>().join("\n")
}

/// What cannot be read is not taken for public.
fn secrets(label: &str) -> Result<Secrets, StateError> {
    let origin = |line| Origin::parse(line).ok_or_else(|| lost(format_args!("`{line}` is no origin")));
    label.lines().map(origin).collect()
}

fn lost(error: impl std::fmt::Display) -> StateError {
    tracing::error!("values of plugins cannot be kept or found: {error}");
    StateError::Failed("the host could not keep or find it; its log has the details".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Principal, Side};

    #[tokio::test]
    async fn what_a_plugin_kept_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let machine = Machine { state: Some(folder.path().to_owned()), ..Machine::default() };
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let scratch = machine.scratch(&plugin).unwrap();
        std::fs::create_dir_all(&scratch).unwrap();
        std::fs::write(scratch.join("file"), "x").unwrap();
        let owner = StateOwner { plugin: plugin.clone(), principal: Principal::local() };
        let state = State::open(folder.path()).unwrap();
        let secrets: Secrets = [Origin::Client, Origin::Upstream("a".into())].into();
        let put = state.put(&owner, "k".into(), vec![1], secrets.clone(), Expectation::Any, StateGrant::default());
        assert_eq!(put.await, Ok(1));
        assert_eq!(state.get(&owner, "k").await.unwrap().unwrap().secrets, secrets);
        assert_eq!(forget(&machine, &plugin).await.unwrap(), 1);
        assert_eq!(state.get(&owner, "k").await, Ok(None));
        assert!(!scratch.exists() && forget(&machine, &plugin).await.unwrap() == 0);
    }
}
