//! Components that were installed, each under its digest: `<state>/components/sha256-<hex>.wasm`.
//!
//! Several configurations may share a state folder. `users` has the lock files that use the store, so that nothing is
//! thrown away that one of them still names.

use super::disk::{self, Step, TEMPORARY};
use super::lock::Lock;
use policy::Digest;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The store cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("components cannot be kept in {path}: {source}")]
pub struct StoreError {
    path: PathBuf,
    source: io::Error,
}

/// Where components are kept.
#[derive(Debug, Clone)]
pub struct Store {
    folder: PathBuf,
}

/// A store that no other process changes meanwhile.
pub(super) struct HeldStore<'a> {
    store: &'a Store,
    _guard: File,
}

impl Store {
    /// In a folder for state; it is made with the first component.
    pub fn new(state: &Path) -> Self {
        Self { folder: folder(state) }
    }

    /// Where a component is kept in a folder for state, if it is there.
    pub fn component(state: &Path, digest: &Digest) -> PathBuf {
        folder(state).join(name(digest))
    }

    /// The same in this store.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(name(digest))
    }

    fn fail(&self) -> impl Fn(io::Error) -> StoreError {
        |source| StoreError { path: self.folder.clone(), source }
    }

    /// Waits until no other process changes the store, and notes that a lock file uses it. Blocks.
    pub(super) fn hold(&self, user: &Path) -> Result<HeldStore<'_>, StoreError> {
        let held = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            let there = fs::symlink_metadata(&self.folder)?;
            if !there.is_dir() || there.mode() & 0o022 != 0 {
                return Err(io::Error::other(
                    "it must be a folder that only you can write to (chmod 700), and no link",
                ));
            }
            let guard = File::open(&self.folder)?;
            flock(&guard, FlockOperation::LockExclusive)?;
            let held = HeldStore { store: self, _guard: guard };
            held.note(user)?;
            Ok(held)
        };
        held().map_err(self.fail())
    }
}

impl HeldStore<'_> {
    /// Keeps a component. One that is there already is written again: nobody knows what became of it.
    pub(super) fn put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.store.path(digest);
        disk::replace(&path, bytes, 0o400, Step::ComponentWritten, Step::ComponentNamed).map_err(self.store.fail())
    }

    /// Throws away what no lock file names, and what a crash has left behind. Where one cannot be read, nothing is thrown
    /// away: what it names is not known.
    pub(super) fn prune(&self) -> Result<(), StoreError> {
        let mut named = BTreeSet::new();
        for user in self.users() {
            match Lock::load(&user) {
                Ok(lock) => {
                    named.extend(
                        lock.iter()
                            .flat_map(|(_, entry)| entry.versions().map(|it| name(&it.digest)).collect::<Vec<_>>()),
                    );
                }
                Err(error) => {
                    tracing::warn!(
                        "components that nobody uses any more are kept, since a lock file cannot be read: {error}"
                    );
                    return Ok(());
                }
            }
        }
        let pruned = || {
            for entry in fs::read_dir(&self.store.folder)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let component = name.starts_with("sha256-") && !named.contains(&name);
                if component || name.starts_with(TEMPORARY) {
                    fs::remove_file(entry.path())?;
                }
            }
            disk::reached(Step::Pruned)
        };
        pruned().map_err(self.store.fail())
    }

    fn users_file(&self) -> PathBuf {
        self.store.folder.join("users")
    }

    /// The lock files that use the store, those that are still there.
    fn users(&self) -> Vec<PathBuf> {
        let text = fs::read_to_string(self.users_file()).unwrap_or_default();
        text.lines().map(PathBuf::from).filter(|path| path.exists()).collect()
    }

    fn note(&self, user: &Path) -> io::Result<()> {
        let line = user.to_str().filter(|line| !line.contains('\n'));
        let line = line.ok_or_else(|| io::Error::other(format!("the path {user:?} is no line of text")))?;
        let mut users = self.users();
        if users.iter().any(|known| known == user) {
            return Ok(());
        }
        users.push(line.into());
        let text: String = users.iter().map(|path| format!("{}\n", path.display())).collect();
        disk::replace(&self.users_file(), text.as_bytes(), 0o600, Step::UserWritten, Step::UserNamed)
    }
}

fn folder(state: &Path) -> PathBuf {
    state.join("components")
}

fn name(digest: &Digest) -> String {
    format!("sha256-{}.wasm", digest.hex())
}
