//! Installs, updates, enables and removes plugins. Each is one atomic change of the lock file.

use super::compare::{self, UpdateVerdict};
use super::grant_lines;
use super::lockfile::{InstalledPlugin, Lockfile, LockfileError, LockfileGuard, PluginVersion};
use super::review::Candidate;
use super::store::{ComponentStore, ComponentStoreError};
use crate::package;
use platform::audit::{Audit, AuditEvent, AuditRecord, NotRecorded};
use platform::clock::Clock;
use policy::{Authority, DataKey, Digest, PluginId};
use std::path::PathBuf;
use std::sync::Arc;
use toml_edit::Table;

/// A change that failed; nothing was changed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum InstallError {
    #[error(transparent)]
    Lockfile(#[from] LockfileError),
    #[error(transparent)]
    ComponentStore(#[from] ComponentStoreError),
    #[error(transparent)]
    NotRecorded(#[from] NotRecorded),
    #[error("[{0}] is installed already: `portcullis plugin update {name}`, or install it under another name with --name", name = .0.split('.').next_back().unwrap_or_default())]
    Installed(String),
    #[error("[{0}] is not installed; `portcullis plugin list` names what is")]
    NotInstalled(String),
    #[error("[{0}] was changed in the meantime: review it again")]
    Changed(String),
    #[error("[{table}] no update waits to be accepted; `portcullis plugin update {name}` looks for one")]
    NothingStaged { table: String, name: String },
    #[error("[{0}] there is no previous version to roll back to: it is kept from one update to the next")]
    NoPrevious(String),
    #[error(
        "[{table}] the component of the previous version is missing or damaged ({why}); nothing was changed. It was {resolved}"
    )]
    MissingComponent { table: String, why: String, resolved: String },
    #[error("[{0}] {1}")]
    Grant(String, String),
    #[error(
        "[{table}] {found} is lower than {highest}, which was installed before: old versions may have known vulnerabilities. To install it anyway, use --allow-downgrade"
    )]
    Downgrade { table: String, found: String, highest: String },
}

#[derive(Debug, PartialEq, Eq)]
pub enum UpdateOutcome {
    Installed(Vec<compare::VersionChange>),
    /// The new version waits for consent.
    Staged(Vec<compare::VersionChange>),
}

/// Changes the installed plugins of one configuration. All methods block.
pub struct Installer {
    lockfile: PathBuf,
    store: ComponentStore,
    audit: Audit,
    clock: Arc<dyn Clock>,
}

impl Installer {
    pub fn new(lockfile: PathBuf, store: ComponentStore, audit: Audit, clock: Arc<dyn Clock>) -> Self {
        Self { lockfile, store, audit, clock }
    }

    pub fn load_lockfile(&self) -> Result<Lockfile, LockfileError> {
        Lockfile::load(&self.lockfile)
    }

    pub fn store(&self) -> &ComponentStore {
        &self.store
    }

    /// Installs a plugin. `data` is the key of the stored data that it uses.
    pub fn install(
        &self,
        id: &PluginId,
        reference: &str,
        data: &DataKey,
        new: &Candidate,
        grants: Table,
    ) -> Result<(), InstallError> {
        let approved = self.clock.wall();
        self.change(Some(new), |lockfile| {
            if lockfile.get(id).is_some() {
                return Err(InstallError::Installed(id.table()));
            }
            let mut entry = InstalledPlugin::new(reference.to_owned(), data, new.version.clone(), approved);
            set_grants(id, &mut entry, grants)?;
            let lines = grant_lines::list(entry.grants_table());
            lockfile.insert(id, entry);
            Ok(((), of_grants(id, "installed", reference, &new.version, (true, &lines))))
        })
    }

    /// Installs a new version of a plugin, which comes from `reference`, or stages it. `current` is the digest of the version
    /// that was installed when the update was looked for.
    pub fn update(
        &self,
        id: &PluginId,
        current: &Digest,
        (reference, new): (&str, &Candidate),
        allow_downgrade: bool,
    ) -> Result<UpdateOutcome, InstallError> {
        self.change(Some(new), |lockfile| {
            let entry = find(lockfile, id)?;
            if entry.installed.digest != *current {
                return Err(InstallError::Changed(id.table()));
            }
            let highest = entry.highest.as_deref().filter(|_| !allow_downgrade);
            let other = (reference != entry.reference).then(|| reference.to_owned());
            let version = PluginVersion { reference: other, ..new.version.clone() };
            let updated = match compare::judge_update(highest, &entry.installed, &new.version) {
                UpdateVerdict::Install(changes) => {
                    replace_installed(entry, version);
                    UpdateOutcome::Installed(changes)
                }
                UpdateVerdict::Stage(changes) => {
                    entry.staged = Some(version);
                    UpdateOutcome::Staged(changes)
                }
                UpdateVerdict::Downgrade { highest } => {
                    let found = new.version.version.clone().unwrap_or_default();
                    return Err(InstallError::Downgrade { table: id.table(), found, highest });
                }
            };
            let what = match updated {
                UpdateOutcome::Installed(_) => "updated",
                UpdateOutcome::Staged(_) => "staged",
            };
            let record = of_install(id, what, reference, &new.version);
            Ok((updated, vec![record]))
        })
    }

    /// From now on, updates are looked for at another reference, which has the same component.
    pub fn follow(&self, id: &PluginId, current: &Digest, reference: &str) -> Result<(), InstallError> {
        self.change(None, |lockfile| {
            let entry = find(lockfile, id)?;
            if entry.installed.digest != *current {
                return Err(InstallError::Changed(id.table()));
            }
            reference.clone_into(&mut entry.reference);
            Ok(((), vec![of_install(id, "updated", reference, &entry.installed)]))
        })
    }

    /// Installs the staged version with this digest, with new grants.
    pub fn accept(&self, id: &PluginId, staged: &Digest, grants: Table) -> Result<(), InstallError> {
        let approved = self.clock.wall();
        self.change(None, |lockfile| {
            let entry = find(lockfile, id)?;
            match entry.staged.take() {
                Some(version) if version.digest == *staged => {
                    let before = grant_lines::list(entry.grants_table());
                    replace_installed(entry, version.clone());
                    set_grants(id, entry, grants)?;
                    entry.approved = approved;
                    let mut added = grant_lines::list(entry.grants_table());
                    added.retain(|line| !before.contains(line));
                    Ok(((), of_grants(id, "accepted", &entry.reference, &version, (true, &added))))
                }
                Some(_) => Err(InstallError::Changed(id.table())),
                None => Err(InstallError::NothingStaged { table: id.table(), name: id.name.to_string() }),
            }
        })
    }

    /// Installs the previous version, which must have this digest and an intact component in the store. Its grants are those
    /// that are given now and that were also given when it was replaced. The replaced version is staged. Returns the lines of
    /// the revoked grants.
    pub fn roll_back(&self, id: &PluginId, to: &Digest) -> Result<Vec<String>, InstallError> {
        let approved = self.clock.wall();
        self.change(None, |lockfile| {
            let entry = find(lockfile, id)?;
            let previous = match entry.previous.clone() {
                None => return Err(InstallError::NoPrevious(id.table())),
                Some(previous) if previous.digest != *to => return Err(InstallError::Changed(id.table())),
                Some(previous) => previous,
            };
            // The store is locked, so the component cannot be removed after this check.
            let path = self.store.path(to);
            let bytes =
                package::read_stored(&path).map_err(|error| missing_component(id, &previous, error.to_string()))?;
            if Digest::sha256(&bytes) != *to {
                let why = format!("{} is {} now, it was changed", path.display(), Digest::sha256(&bytes));
                return Err(missing_component(id, &previous, why));
            }
            let fail = |message: String| InstallError::Grant(id.table(), message);
            let before = grant_lines::list(entry.grants_table());
            let grants = grant_lines::intersect(entry.grants_table(), entry.previous_grants_table()).map_err(fail)?;
            entry.roll_back(previous.clone(), grants).map_err(fail)?;
            entry.approved = approved;
            let now = grant_lines::list(entry.grants_table());
            let revoked: Vec<_> = before.into_iter().filter(|line| !now.contains(line)).collect();
            let records = of_grants(id, "rolled back", &entry.reference, &previous, (false, &revoked));
            Ok((revoked, records))
        })
    }

    /// Removes the staged version.
    pub fn discard(&self, id: &PluginId) -> Result<(), InstallError> {
        self.change(None, |lockfile| {
            let entry = find(lockfile, id)?;
            let nothing_staged = || InstallError::NothingStaged { table: id.table(), name: id.name.to_string() };
            let version = entry.staged.take().ok_or_else(nothing_staged)?;
            let reference = version.reference.as_ref().unwrap_or(&entry.reference);
            Ok(((), vec![of_install(id, "discarded", reference, &version)]))
        })
    }

    /// Enables or disables a plugin. Returns whether that changed anything.
    pub fn set_enabled(&self, id: &PluginId, enabled: bool) -> Result<bool, InstallError> {
        self.change(None, |lockfile| {
            let entry = find(lockfile, id)?;
            let changed = std::mem::replace(&mut entry.enabled, enabled) != enabled;
            let what = if enabled { "enabled" } else { "disabled" };
            let record = changed.then(|| of_install(id, what, &entry.reference, &entry.installed));
            Ok((changed, record.into_iter().collect()))
        })
    }

    /// Removes a plugin with its components and grants.
    pub fn remove(&self, id: &PluginId) -> Result<(), InstallError> {
        self.change(None, |lockfile| {
            let entry = lockfile.remove(id).ok_or_else(|| InstallError::NotInstalled(id.table()))?;
            Ok(((), vec![of_install(id, "removed", &entry.reference, &entry.installed)]))
        })
    }

    /// The lock files of other configurations that share the state folder and whose plugin of this name uses this data.
    pub fn others_with(&self, id: &PluginId, data: &DataKey) -> Result<Vec<PathBuf>, InstallError> {
        let mut others = self.store.lock(&self.lockfile)?.users()?;
        others.retain(|path| *path != self.lockfile);
        let mut found = Vec::new();
        for path in others {
            if Lockfile::load(&path)?.get(id).is_some_and(|entry| entry.data_key(id) == *data) {
                found.push(path);
            }
        }
        Ok(found)
    }

    /// Restores the component of the installed version, when its file is missing or was changed.
    pub fn repair(&self, id: &PluginId, bytes: &[u8]) -> Result<(), InstallError> {
        let digest = Digest::sha256(bytes);
        let store = self.store.lock(&self.lockfile)?;
        let mut lockfile = LockfileGuard::load(&self.lockfile)?;
        let entry = find(&mut lockfile, id)?;
        if entry.installed.digest != digest {
            return Err(InstallError::Changed(id.table()));
        }
        let record = of_install(id, "repaired", &entry.reference, &entry.installed);
        self.audit.record_first(vec![record], || Ok(store.put(&digest, bytes)?))
    }

    /// Makes one change: first stores the component, which nothing refers to yet; then replaces the lock file atomically;
    /// finally removes unused components. A crash in between leaves the old state or the new one. `change` also returns the
    /// audit records of the change.
    fn change<R>(
        &self,
        new: Option<&Candidate>,
        change: impl FnOnce(&mut Lockfile) -> Result<(R, Vec<AuditRecord>), InstallError>,
    ) -> Result<R, InstallError> {
        let store = self.store.lock(&self.lockfile)?;
        let mut lockfile = LockfileGuard::load(&self.lockfile)?;
        let (result, records) = change(&mut lockfile)?;
        if let Some(new) = new {
            store.put(&new.version.digest, &new.bytes)?;
        }
        self.audit.record_first(records, || Ok::<_, InstallError>(lockfile.save()?))?;
        if let Err(error) = store.prune() {
            tracing::warn!("unused components could not be removed: {error}");
        }
        Ok(result)
    }
}

fn of_install(id: &PluginId, what: &'static str, reference: &str, version: &PluginVersion) -> AuditRecord {
    let (digest, signer) = (version.digest.clone(), version.signer.clone());
    let event = AuditEvent::Install { what, reference: reference.to_owned(), digest: digest.clone(), signer };
    AuditRecord::for_operator(Some(id.clone()), Some(digest), event)
}

/// The record of a change, and a record of each grant that is given or revoked with it.
fn of_grants(
    id: &PluginId,
    what: &'static str,
    reference: &str,
    version: &PluginVersion,
    (given, lines): (bool, &[String]),
) -> Vec<AuditRecord> {
    let of_line = |line: &String| {
        let event = AuditEvent::Grant { given, line: line.clone() };
        AuditRecord::for_operator(Some(id.clone()), Some(version.digest.clone()), event)
    };
    let first = of_install(id, what, reference, version);
    std::iter::once(first).chain(lines.iter().map(of_line)).collect()
}

fn missing_component(id: &PluginId, version: &PluginVersion, why: String) -> InstallError {
    InstallError::MissingComponent { table: id.table(), why, resolved: version.resolved.clone() }
}

fn find<'a>(lockfile: &'a mut Lockfile, id: &PluginId) -> Result<&'a mut InstalledPlugin, InstallError> {
    lockfile.get_mut(id).ok_or_else(|| InstallError::NotInstalled(id.table()))
}

fn replace_installed(entry: &mut InstalledPlugin, new: PluginVersion) {
    if compare::is_higher(new.version.as_deref(), entry.highest.as_deref()) {
        entry.highest.clone_from(&new.version);
    }
    entry.replace_installed(new);
}

/// Refuses grants without effect, since they are mistakes.
fn set_grants(id: &PluginId, entry: &mut InstalledPlugin, grants: Table) -> Result<(), InstallError> {
    let fail = |message: String| InstallError::Grant(id.table(), message);
    let before = Authority::new(id.clone(), &entry.installed.requests, &entry.grants).unrequested_grants().to_vec();
    entry.set_grants(grants).map_err(fail)?;
    let authority = Authority::new(id.clone(), &entry.installed.requests, &entry.grants);
    match authority.unrequested_grants().iter().find(|idle| !before.contains(idle)) {
        Some(idle) => Err(fail(format!("the grant `{idle}` would have no effect: the plugin does not request it"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
