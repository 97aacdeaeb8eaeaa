//! Installing, updating, switching and removing: each a change of the lock file that happens as a whole or not at all.

use super::compare::{self, Verdict};
use super::lines as grant_lines;
use super::lock::{Entry, Held, Lock, LockError, Version};
use super::review::Candidate;
use super::store::{Store, StoreError};
use crate::package;
use platform::audit::{Audit, Event, Record};
use platform::clock::Clock;
use policy::{Authority, Digest, PluginId};
use std::path::PathBuf;
use std::sync::Arc;
use toml_edit::Table;

/// Something that could not be done; nothing has changed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum InstallError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("[{0}] is installed already: `portcullis plugin update {name}`, or install it under another name with --name", name = .0.split('.').next_back().unwrap_or_default())]
    Installed(String),
    #[error("[{0}] is not installed; `portcullis plugin list` names what is")]
    NotInstalled(String),
    #[error("[{0}] has changed meanwhile: look at it again")]
    Moved(String),
    #[error(
        "[{table}] nothing of it waits to be accepted; `portcullis plugin update {name}` looks for something newer"
    )]
    NothingStaged { table: String, name: String },
    #[error("[{0}] there is no version before this one to go back to: one is kept from each update to the next")]
    NothingBefore(String),
    #[error(
        "[{table}] the version before is not in the store any more as it was ({why}); nothing was changed. It was {resolved}"
    )]
    Gone { table: String, why: String, resolved: String },
    #[error("[{0}] {1}")]
    Grant(String, String),
    #[error(
        "[{table}] {found} is lower than {highest}, which was here before: an old version may have faults that are known. If you want it, say --allow-downgrade"
    )]
    Lower { table: String, found: String, highest: String },
}

/// What became of an update.
#[derive(Debug, PartialEq, Eq)]
pub enum Updated {
    /// It is what is loaded from now on.
    Swapped(Vec<compare::Change>),
    /// It waits for consent.
    Staged(Vec<compare::Change>),
}

/// The installed plugins of one configuration. Everything here blocks.
pub struct Plugins {
    lock: PathBuf,
    store: Store,
    audit: Audit,
    clock: Arc<dyn Clock>,
}

impl Plugins {
    /// Those of a lock file, with their components in a store.
    pub fn new(lock: PathBuf, store: Store, audit: Audit, clock: Arc<dyn Clock>) -> Self {
        Self { lock, store, audit, clock }
    }

    /// What is installed now.
    pub fn now(&self) -> Result<Lock, LockError> {
        Lock::load(&self.lock)
    }

    /// Where the components are.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Installs a plugin with these grants.
    pub fn install(&self, id: &PluginId, reference: &str, new: &Candidate, grants: Table) -> Result<(), InstallError> {
        let approved = self.clock.wall();
        let lines = self.change(Some(new), |lock| {
            if lock.get(id).is_some() {
                return Err(InstallError::Installed(id.table()));
            }
            let mut entry = Entry::new(reference.to_owned(), new.version.clone(), approved);
            give(id, &mut entry, grants)?;
            let lines = grant_lines::each(entry.grants_table());
            lock.insert(id, entry);
            Ok(lines)
        })?;
        self.record(id, "installed", reference, &new.version);
        for line in lines {
            self.audited(id, &new.version.digest, Event::Grant { given: true, line });
        }
        Ok(())
    }

    /// Takes up a new version of an installed plugin, or stages it. `seen` is the digest of the version that was
    /// installed when the new one was looked for.
    pub fn update(
        &self,
        id: &PluginId,
        seen: &Digest,
        new: &Candidate,
        downgrade: bool,
    ) -> Result<Updated, InstallError> {
        let (updated, reference) = self.change(Some(new), |lock| {
            let entry = found(lock, id)?;
            if entry.installed.digest != *seen {
                return Err(InstallError::Moved(id.table()));
            }
            let highest = entry.highest.as_deref().filter(|_| !downgrade);
            let updated = match compare::judge(highest, &entry.installed, &new.version) {
                Verdict::Swap(changes) => {
                    swap(entry, new.version.clone());
                    Updated::Swapped(changes)
                }
                Verdict::Stage(changes) => {
                    entry.staged = Some(new.version.clone());
                    Updated::Staged(changes)
                }
                Verdict::Lower { highest } => {
                    let found = new.version.version.clone().unwrap_or_default();
                    return Err(InstallError::Lower { table: id.table(), found, highest });
                }
            };
            Ok((updated, entry.reference.clone()))
        })?;
        let what = match updated {
            Updated::Swapped(_) => "updated",
            Updated::Staged(_) => "staged",
        };
        self.record(id, what, &reference, &new.version);
        Ok(updated)
    }

    /// Agrees to the staged version with this digest, and to grants in the place of those there are.
    pub fn accept(&self, id: &PluginId, staged: &Digest, grants: Table) -> Result<(), InstallError> {
        let approved = self.clock.wall();
        let (version, reference, lines) = self.change(None, |lock| {
            let entry = found(lock, id)?;
            match entry.staged.take() {
                Some(version) if version.digest == *staged => {
                    let before = grant_lines::each(entry.grants_table());
                    swap(entry, version.clone());
                    give(id, entry, grants)?;
                    entry.approved = approved;
                    let mut given = grant_lines::each(entry.grants_table());
                    given.retain(|line| !before.contains(line));
                    Ok((version, entry.reference.clone(), given))
                }
                Some(_) => Err(InstallError::Moved(id.table())),
                None => Err(InstallError::NothingStaged { table: id.table(), name: id.name.clone() }),
            }
        })?;
        self.record(id, "accepted", &reference, &version);
        for line in lines {
            self.audited(id, &version.digest, Event::Grant { given: true, line });
        }
        Ok(())
    }

    /// Goes back to the version before, which must have this digest and still be in the store as it was. It has the
    /// grants that stand today and stood when it was left; what it left waits to be accepted again.
    pub fn roll_back(&self, id: &PluginId, to: &Digest) -> Result<Vec<String>, InstallError> {
        let approved = self.clock.wall();
        let (version, reference, less) = self.change(None, |lock| {
            let entry = found(lock, id)?;
            let previous = match entry.previous.clone() {
                None => return Err(InstallError::NothingBefore(id.table())),
                Some(previous) if previous.digest != *to => return Err(InstallError::Moved(id.table())),
                Some(previous) => previous,
            };
            // While the store is held: nobody throws it away any more.
            let path = self.store.path(to);
            let bytes = package::read_kept(&path).map_err(|error| gone(id, &previous, error.to_string()))?;
            if Digest::of(&bytes) != *to {
                let why = format!("{} is {} now, it was changed", path.display(), Digest::of(&bytes));
                return Err(gone(id, &previous, why));
            }
            let fail = |message: String| InstallError::Grant(id.table(), message);
            let before = grant_lines::each(entry.grants_table());
            let grants = grant_lines::shared(entry.grants_table(), entry.previous_grants_table()).map_err(fail)?;
            entry.swap_back(previous.clone(), grants).map_err(fail)?;
            entry.approved = approved;
            let now = grant_lines::each(entry.grants_table());
            let less: Vec<_> = before.into_iter().filter(|line| !now.contains(line)).collect();
            Ok((previous, entry.reference.clone(), less))
        })?;
        self.record(id, "rolled back", &reference, &version);
        for line in &less {
            self.audited(id, &version.digest, Event::Grant { given: false, line: line.clone() });
        }
        Ok(less)
    }

    /// Forgets the staged version.
    pub fn discard(&self, id: &PluginId) -> Result<(), InstallError> {
        let (version, reference) = self.change(None, |lock| {
            let entry = found(lock, id)?;
            let nothing = || InstallError::NothingStaged { table: id.table(), name: id.name.clone() };
            let version = entry.staged.take().ok_or_else(nothing)?;
            Ok((version, entry.reference.clone()))
        })?;
        self.record(id, "discarded", &reference, &version);
        Ok(())
    }

    /// Has it loaded, or not; whether that is a change.
    pub fn enable(&self, id: &PluginId, enabled: bool) -> Result<bool, InstallError> {
        let (changed, version, reference) = self.change(None, |lock| {
            let entry = found(lock, id)?;
            let changed = std::mem::replace(&mut entry.enabled, enabled) != enabled;
            Ok((changed, entry.installed.clone(), entry.reference.clone()))
        })?;
        if changed {
            self.record(id, if enabled { "enabled" } else { "disabled" }, &reference, &version);
        }
        Ok(changed)
    }

    /// Forgets a plugin: its component, its grants, and what was staged.
    pub fn remove(&self, id: &PluginId) -> Result<(), InstallError> {
        let entry = self.change(None, |lock| lock.remove(id).ok_or_else(|| InstallError::NotInstalled(id.table())))?;
        self.record(id, "removed", &entry.reference, &entry.installed);
        Ok(())
    }

    /// Puts a component back whose file is gone or was changed.
    pub fn repair(&self, id: &PluginId, bytes: &[u8]) -> Result<(), InstallError> {
        let digest = Digest::of(bytes);
        let held = self.store.hold(&self.lock)?;
        let mut lock = Held::load(&self.lock)?;
        let entry = found(&mut lock, id)?;
        if entry.installed.digest != digest {
            return Err(InstallError::Moved(id.table()));
        }
        let (version, reference) = (entry.installed.clone(), entry.reference.clone());
        held.put(&digest, bytes)?;
        self.record(id, "repaired", &reference, &version);
        Ok(())
    }

    /// One change. First the component is kept, under a name that nothing refers to; the lock file that names it takes
    /// its place in one step; what nobody names any more goes last. A crash in between leaves the old state or the new.
    fn change<R>(
        &self,
        new: Option<&Candidate>,
        change: impl FnOnce(&mut Lock) -> Result<R, InstallError>,
    ) -> Result<R, InstallError> {
        let store = self.store.hold(&self.lock)?;
        let mut lock = Held::load(&self.lock)?;
        let done = change(&mut lock)?;
        if let Some(new) = new {
            store.put(&new.version.digest, &new.bytes)?;
        }
        lock.save()?;
        if let Err(error) = store.prune() {
            tracing::warn!("components that nobody uses any more are still there: {error}");
        }
        Ok(done)
    }

    fn record(&self, id: &PluginId, what: &'static str, reference: &str, version: &Version) {
        let (digest, signer) = (version.digest.clone(), version.signer.clone());
        let event = Event::Install { what, reference: reference.to_owned(), digest: digest.clone(), signer };
        self.audited(id, &digest, event);
    }

    fn audited(&self, id: &PluginId, digest: &Digest, event: Event) {
        self.audit.record(Record::of_operator(Some(id.clone()), Some(digest.clone()), event));
    }
}

fn gone(id: &PluginId, version: &Version, why: String) -> InstallError {
    InstallError::Gone { table: id.table(), why, resolved: version.resolved.clone() }
}

fn found<'a>(lock: &'a mut Lock, id: &PluginId) -> Result<&'a mut Entry, InstallError> {
    lock.get_mut(id).ok_or_else(|| InstallError::NotInstalled(id.table()))
}

fn swap(entry: &mut Entry, new: Version) {
    if compare::is_higher(new.version.as_deref(), entry.highest.as_deref()) {
        entry.highest.clone_from(&new.version);
    }
    entry.swap(new);
}

/// Grants that would have no effect are a slip of the pen, and are said to be.
fn give(id: &PluginId, entry: &mut Entry, grants: Table) -> Result<(), InstallError> {
    let fail = |message: String| InstallError::Grant(id.table(), message);
    let before = Authority::new(id.clone(), &entry.installed.requests, &entry.grants).idle_grants().to_vec();
    entry.set_grants(grants).map_err(fail)?;
    let authority = Authority::new(id.clone(), &entry.installed.requests, &entry.grants);
    match authority.idle_grants().iter().find(|idle| !before.contains(idle)) {
        Some(idle) => Err(fail(format!("the grant `{idle}` would have no effect: the plugin does not request it"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
