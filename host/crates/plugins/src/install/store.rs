//! The store of installed components, each under its digest: `<state>/components/sha256-<hex>.wasm`.
//!
//! Several configurations may share a state folder. The file `users` lists the lock files that use the store, so that no
//! component is removed that one of them still refers to.

use super::atomic_file::{self, CrashPoint, TEMP_PREFIX};
use super::lockfile::Lockfile;
use policy::Digest;
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
#[error("components cannot be kept in {path}: {source}")]
pub struct ComponentStoreError {
    path: PathBuf,
    source: io::Error,
}

#[derive(Debug, Clone)]
pub struct ComponentStore {
    folder: PathBuf,
}

/// An exclusively locked store: no other process changes it until this is dropped.
pub(super) struct ComponentStoreGuard<'a> {
    store: &'a ComponentStore,
    _guard: File,
}

impl ComponentStore {
    /// The store in a state folder. It is created with the first component.
    pub fn new(state: &Path) -> Self {
        Self { folder: components_folder(state) }
    }

    /// The path of a component in the store of a state folder.
    pub fn component_path(state: &Path, digest: &Digest) -> PathBuf {
        components_folder(state).join(file_name(digest))
    }

    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.folder.join(file_name(digest))
    }

    fn fail(&self) -> impl Fn(io::Error) -> ComponentStoreError {
        |source| ComponentStoreError { path: self.folder.clone(), source }
    }

    /// Waits for the lock, and adds a lock file to the users of the store. Blocks.
    pub(super) fn lock(&self, user: &Path) -> Result<ComponentStoreGuard<'_>, ComponentStoreError> {
        let locked = || {
            DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            let metadata = fs::symlink_metadata(&self.folder)?;
            if !metadata.is_dir() || metadata.mode() & 0o022 != 0 {
                return Err(io::Error::other(
                    "it must be a folder that only you can write to (chmod 700), and no link",
                ));
            }
            let guard = File::open(&self.folder)?;
            flock(&guard, FlockOperation::LockExclusive)?;
            let store = ComponentStoreGuard { store: self, _guard: guard };
            store.add_user(user)?;
            Ok(store)
        };
        locked().map_err(self.fail())
    }
}

impl ComponentStoreGuard<'_> {
    /// Stores a component. An existing file is written again, since it may be damaged.
    pub(super) fn put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), ComponentStoreError> {
        let path = self.store.path(digest);
        atomic_file::replace(&path, bytes, 0o400, CrashPoint::ComponentWritten, CrashPoint::ComponentRenamed)
            .map_err(self.store.fail())
    }

    /// Removes components that no lock file refers to, and temporary files of crashes. If a lock file cannot be read,
    /// nothing is removed, since its components are unknown.
    pub(super) fn prune(&self) -> Result<(), ComponentStoreError> {
        let mut used = BTreeSet::new();
        for user in self.users() {
            match Lockfile::load(&user) {
                Ok(lock) => {
                    used.extend(
                        lock.iter().flat_map(|(_, entry)| {
                            entry.versions().map(|it| file_name(&it.digest)).collect::<Vec<_>>()
                        }),
                    );
                }
                Err(error) => {
                    tracing::warn!("unused components are kept because a lock file cannot be read: {error}");
                    return Ok(());
                }
            }
        }
        let pruned = || {
            for entry in fs::read_dir(&self.store.folder)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let component = name.starts_with("sha256-") && !used.contains(&name);
                if component || name.starts_with(TEMP_PREFIX) {
                    fs::remove_file(entry.path())?;
                }
            }
            atomic_file::reached(CrashPoint::Pruned)
        };
        pruned().map_err(self.store.fail())
    }

    fn users_file(&self) -> PathBuf {
        self.store.folder.join("users")
    }

    /// The existing lock files that use the store.
    fn users(&self) -> Vec<PathBuf> {
        let text = fs::read_to_string(self.users_file()).unwrap_or_default();
        text.lines().map(PathBuf::from).filter(|path| path.exists()).collect()
    }

    fn add_user(&self, user: &Path) -> io::Result<()> {
        let line = user.to_str().filter(|line| !line.contains('\n'));
        let line =
            line.ok_or_else(|| io::Error::other(format!("the path {user:?} has a line break or is not UTF-8")))?;
        let mut users = self.users();
        if users.iter().any(|known| known == user) {
            return Ok(());
        }
        users.push(line.into());
        let text: String = users.iter().map(|path| format!("{}\n", path.display())).collect();
        atomic_file::replace(
            &self.users_file(),
            text.as_bytes(),
            0o600,
            CrashPoint::UsersWritten,
            CrashPoint::UsersRenamed,
        )
    }
}

fn components_folder(state: &Path) -> PathBuf {
    state.join("components")
}

fn file_name(digest: &Digest) -> String {
    format!("sha256-{}.wasm", digest.hex())
}
