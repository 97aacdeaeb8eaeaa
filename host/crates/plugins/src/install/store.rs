//! The store of installed components, each under its digest: `<state>/components/sha256-<hex>.wasm`.
//!
//! Several configurations may share a state folder. The file `users` lists the lock files that use the store, so that no
//! component is removed that one of them still refers to.

use super::atomic_file::{self, TEMP_PREFIX, WriteStep};
use super::lockfile::Lockfile;
use platform::files::{create_private_folder, replace_file};
use platform::folder::Folder;
use policy::Digest;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// The list of lock files that use the store.
const USERS: &str = "users";

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
    folder: Folder,
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

    /// Copies the components that a lock file refers to and that are only in the other store. Their digests are checked
    /// whenever one is loaded.
    pub fn copy_missing(&self, other: &Self, lock: &Lockfile) -> Result<(), ComponentStoreError> {
        let copied = || {
            for version in lock.iter().flat_map(|(_, entry)| entry.versions().cloned().collect::<Vec<_>>()) {
                let (from, to) = (other.path(&version.digest), self.path(&version.digest));
                if from.is_file() && !to.exists() {
                    create_private_folder(&self.folder)?;
                    // The file is replaced atomically, because an interrupted copy would be taken for the component ever after.
                    replace_file(&to, &fs::read(&from)?, fs::metadata(&from)?.permissions())?;
                }
            }
            Ok(())
        };
        copied().map_err(self.fail())
    }

    fn fail(&self) -> impl Fn(io::Error) -> ComponentStoreError {
        |source| ComponentStoreError { path: self.folder.clone(), source }
    }

    /// Waits for the lock, and adds a lock file to the users of the store. Blocks.
    pub(super) fn lock(&self, user: &Path) -> Result<ComponentStoreGuard<'_>, ComponentStoreError> {
        let locked = || {
            let folder = Folder::create_own(&self.folder)?;
            folder.check_owner()?;
            folder.lock()?;
            let store = ComponentStoreGuard { store: self, folder };
            store.add_user(user)?;
            Ok(store)
        };
        locked().map_err(self.fail())
    }
}

impl ComponentStoreGuard<'_> {
    /// Stores a component. An existing file is written again, since it may be damaged.
    pub(super) fn put(&self, digest: &Digest, bytes: &[u8]) -> Result<(), ComponentStoreError> {
        let (name, written, renamed) = (file_name(digest), WriteStep::ComponentWritten, WriteStep::ComponentRenamed);
        atomic_file::replace(&self.folder, Path::new(&name), bytes, 0o400, written, renamed).map_err(self.store.fail())
    }

    /// Removes components that no lock file refers to, and temporary files of crashes. If a lock file cannot be read,
    /// nothing is removed, since its components are unknown.
    pub(super) fn prune(&self) -> Result<(), ComponentStoreError> {
        let mut used = BTreeSet::new();
        for user in self.users()? {
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
            for name in self.folder.names()? {
                let text = name.to_string_lossy();
                let component = text.starts_with("sha256-") && !used.contains(&*text);
                if component || text.starts_with(TEMP_PREFIX) {
                    self.folder.remove_file(Path::new(&name))?;
                }
            }
            atomic_file::reached(WriteStep::Pruned)
        };
        pruned().map_err(self.store.fail())
    }

    /// The existing lock files that use the store. A list that cannot be read is an error: without it, components of
    /// others would be removed.
    pub(super) fn users(&self) -> Result<Vec<PathBuf>, ComponentStoreError> {
        self.read_users().map_err(self.store.fail())
    }

    fn read_users(&self) -> io::Result<Vec<PathBuf>> {
        let unusable = |why: &str| {
            let what = "make it a file with the path of each lock file that uses this folder, a line each";
            io::Error::other(format!("its file `{USERS}` {why}; {what}"))
        };
        let mut text = String::new();
        match self.folder.open_file(Path::new(USERS)) {
            Ok(Some(mut file)) => file.read_to_string(&mut text)?,
            Ok(None) => return Err(unusable("is a link, or not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => return Err(unusable(&format!("cannot be read ({error})"))),
        };
        Ok(text.lines().map(PathBuf::from).filter(|path| path.exists()).collect())
    }

    fn add_user(&self, user: &Path) -> io::Result<()> {
        let line = user.to_str().filter(|line| !line.contains('\n'));
        let line =
            line.ok_or_else(|| io::Error::other(format!("the path {user:?} has a line break or is not UTF-8")))?;
        let mut users = self.read_users()?;
        if users.iter().any(|known| known == user) {
            return Ok(());
        }
        users.push(line.into());
        let text: String = users.iter().map(|path| format!("{}\n", path.display())).collect();
        let (written, renamed) = (WriteStep::UsersWritten, WriteStep::UsersRenamed);
        atomic_file::replace(&self.folder, Path::new(USERS), text.as_bytes(), 0o600, written, renamed)
    }
}

fn components_folder(state: &Path) -> PathBuf {
    state.join("components")
}

fn file_name(digest: &Digest) -> String {
    format!("sha256-{}.wasm", digest.hex())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_locked_store_stays_the_folder_that_was_locked() {
        let base = tempfile::tempdir().unwrap();
        let (place, elsewhere) = (base.path().join("components"), base.path().join("elsewhere"));
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("sha256-x.wasm"), "of somebody else").unwrap();
        let (store, digest) = (ComponentStore::new(base.path()), Digest::sha256(b"one"));
        let guard = store.lock(&base.path().join("p.lock")).unwrap();
        fs::rename(&place, base.path().join("moved")).unwrap();
        symlink(&elsewhere, &place).unwrap();
        guard.put(&digest, b"one").unwrap();
        assert!(base.path().join("moved").join(file_name(&digest)).exists());
        guard.prune().unwrap();
        assert!(!base.path().join("moved").join(file_name(&digest)).exists(), "no lock file refers to it");
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
        assert!(store.lock(&base.path().join("p.lock")).is_err(), "it is a link now");
    }

    #[test]
    fn a_list_of_users_that_cannot_be_read_is_an_error() {
        let base = tempfile::tempdir().unwrap();
        let (store, user) = (ComponentStore::new(base.path()), base.path().join("p.lock"));
        fs::write(&user, "").unwrap();
        drop(store.lock(&user).unwrap());
        let users = base.path().join("components/users");
        fs::rename(&users, base.path().join("real")).unwrap();
        symlink("../real", &users).unwrap();
        let error = store.lock(&user).err().unwrap().to_string();
        assert!(error.contains("`users` is a link"), "{error}");
        fs::remove_file(&users).unwrap();
        fs::write(&users, b"\xff").unwrap();
        assert!(store.lock(&user).is_err());
        fs::remove_file(&users).unwrap();
        assert!(store.lock(&user).is_ok());
    }
}
