//! Counts and removes, for the operator, what plugins keep between calls.

use platform::folder::Folder;
use platform::storage::{StorageError, ValueCount, ValueStore};
use policy::{DataKey, HostEnvironment, PluginId};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind};
use std::path::Path;

#[derive(Debug, thiserror::Error)]
pub enum PluginDataError {
    #[error(transparent)]
    Values(#[from] StorageError),
    #[error("the scratch directory cannot be used: {0}")]
    Scratch(#[from] io::Error),
}

/// What is kept under one key, for all principals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeptData {
    pub values: u64,
    pub principals: u64,
    pub has_scratch: bool,
}

impl fmt::Display for KeptData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { values, principals, has_scratch } = self;
        let counted = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        match (values, has_scratch) {
            (0, false) => f.write_str("nothing"),
            (0, true) => f.write_str("a scratch directory"),
            (_, true) => {
                write!(f, "{} of {} and a scratch directory", counted(*values, "value"), counted(*principals, "user"))
            }
            (_, false) => write!(f, "{} of {}", counted(*values, "value"), counted(*principals, "user")),
        }
    }
}

/// The values and scratch directories of all plugins of this name, whatever they were installed from. `own` is the key of the
/// plugin that the operator asks about.
///
/// If the source of another plugin is too long for a directory's name, its scratch directory is found only if it has values
/// too.
pub async fn kept(
    machine: &HostEnvironment,
    id: &PluginId,
    own: &DataKey,
) -> Result<BTreeMap<DataKey, KeptData>, PluginDataError> {
    let mut found = BTreeMap::from([(own.clone(), KeptData::default())]);
    let Some(folder) = machine.state.as_deref() else { return Ok(found) };
    if ValueStore::is_there(folder) {
        for ValueCount { plugin, values, principals } in ValueStore::open(folder)?.count(id.table()).await? {
            found.insert(DataKey::from_stored(&plugin), KeptData { values, principals, has_scratch: false });
        }
    }
    for name in scratch_folders(machine)? {
        if let Some(key) = name.to_str().and_then(|name| DataKey::from_folder_name(id, name)) {
            found.entry(key).or_default();
        }
    }
    for (key, kept) in &mut found {
        kept.has_scratch = machine.scratch(key).is_some_and(|path| path.exists());
    }
    found.retain(|_, kept| kept.values > 0 || kept.has_scratch);
    Ok(found)
}

fn scratch_folders(machine: &HostEnvironment) -> io::Result<Vec<OsString>> {
    let Some(place) = machine.scratch_folder() else { return Ok(Vec::new()) };
    match Folder::open(&place).and_then(|folder| folder.names()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        names => names,
    }
}

/// Removes the values and the scratch directory that are kept under a key, for all principals. Returns the number of values.
pub async fn forget(machine: &HostEnvironment, data: &DataKey) -> Result<u64, PluginDataError> {
    if let Some(scratch) = machine.scratch(data) {
        remove_scratch(&scratch)?;
    }
    match machine.state.as_deref().filter(|folder| ValueStore::is_there(folder)) {
        Some(folder) => Ok(ValueStore::open(folder)?.forget(data.to_string()).await?),
        None => Ok(0),
    }
}

/// Removes a scratch directory. It is renamed first, so that a crash leaves nothing under the plugin's name.
fn remove_scratch(scratch: &Path) -> io::Result<()> {
    let (Some(place), Some(name)) = (scratch.parent(), scratch.file_name()) else { return Ok(()) };
    let none = |error: io::Error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) };
    let folder = match Folder::open(place) {
        Ok(folder) => folder,
        Err(error) => return none(error),
    };
    // No plugin has a directory of this name, because each starts with the plugin's table.
    let mut gone = OsString::from(".removed-");
    gone.push(name);
    let gone = Path::new(&gone);
    folder.remove_all(gone).or_else(none)?;
    match folder.rename(Path::new(name), gone) {
        Ok(()) => folder.remove_all(gone),
        Err(error) => none(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::SqliteStateStore;
    use policy::{Principal, PrivateOrigins, Side, StateGrant};
    use runtime::imports::{ExpectedVersion, StateOwner, StateStore as _};
    use std::fs;

    #[tokio::test]
    async fn data_is_counted_and_removed_by_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let machine = HostEnvironment { state: Some(folder.path().to_owned()), ..HostEnvironment::default() };
        let id = PluginId { side: Side::Server, name: "p".into() };
        let (own, other) = (DataKey::configured(&id), DataKey::installed(&id, "oci://r.example/p"));
        assert!(kept(&machine, &id, &own).await.unwrap().is_empty() && !folder.path().join("values.db").exists());
        let longer = DataKey::configured(&PluginId { side: Side::Server, name: "pp".into() });
        let state = SqliteStateStore::open(folder.path()).unwrap();
        for (data, principal) in [
            (&own, Principal::local()),
            (&own, Principal::anonymous()),
            (&other, Principal::local()),
            (&longer, Principal::local()),
        ] {
            let owner = StateOwner { data: data.clone(), principal, knows: PrivateOrigins::new() };
            state.put(&owner, "k".into(), vec![1], ExpectedVersion::Any, StateGrant::default()).await.unwrap();
        }
        let scratch = machine.scratch(&own).unwrap();
        let only_scratch = DataKey::installed(&id, "file:/a b.wasm");
        for place in [&scratch, &machine.scratch(&only_scratch).unwrap()] {
            fs::create_dir_all(place).unwrap();
            fs::write(place.join("file"), "x").unwrap();
        }
        let found: Vec<_> =
            kept(&machine, &id, &own).await.unwrap().into_iter().map(|(key, it)| (key, it.to_string())).collect();
        assert_eq!(
            found,
            [
                (own.clone(), "2 values of 2 users and a scratch directory".to_owned()),
                (only_scratch.clone(), "a scratch directory".into()),
                (other.clone(), "1 value of 1 user".into())
            ]
        );
        // A key that is too long for its folder's name.
        let long = DataKey::installed(&id, &"x".repeat(300));
        fs::create_dir_all(machine.scratch(&long).unwrap()).unwrap();
        assert!(kept(&machine, &id, &long).await.unwrap()[&long].has_scratch);
        forget(&machine, &long).await.unwrap();
        assert_eq!(forget(&machine, &own).await.unwrap(), 2);
        assert!(!scratch.exists() && forget(&machine, &own).await.unwrap() == 0);
        assert_eq!(kept(&machine, &id, &own).await.unwrap().into_keys().collect::<Vec<_>>(), [only_scratch, other]);
        // What an interrupted removal has left does not block the next removal, nor that of another plugin's data.
        for left in ["scratch/plugins.removed/x", "scratch/.removed-plugins.p/x"] {
            fs::create_dir_all(folder.path().join(left)).unwrap();
        }
        fs::create_dir_all(scratch.join("x")).unwrap();
        forget(&machine, &own).await.unwrap();
        let mut left: Vec<_> =
            fs::read_dir(folder.path().join("scratch")).unwrap().map(|it| it.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["plugins.p@file%3a%2fa%20b.wasm", "plugins.removed"], "that is of a plugin called `removed`");
    }
}
