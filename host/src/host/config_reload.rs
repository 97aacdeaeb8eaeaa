//! Reloads a changed configuration in a running host: plugins, their grants and limits, and the withdrawn list. Changes of
//! other settings are logged; they need a restart.

use super::grant_lock::GrantLock;
use crate::config::{Config, ConfigError};
use platform::confine::ConfineSettings;
use plugins::loading::PluginSet;
use policy::{Access, PluginSpec};
use std::path::{Path, PathBuf};

/// The running configuration, and what is needed to reload it.
pub(super) struct ConfigReload {
    running: Config,
    reachable: Option<ReachableFolders>,
    /// None unless `server.grants` is "locked".
    lock: Option<GrantLock>,
    /// The warnings of the last reload, so that each is logged once.
    warnings: Vec<String>,
}

/// The canonical folders that a confined server can reach.
struct ReachableFolders {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

impl ConfigReload {
    pub(super) fn new(running: Config, confined: Option<&ConfineSettings>) -> Self {
        let canonical = |paths: &[PathBuf]| paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let reachable = confined
            .map(|folders| ReachableFolders { read: canonical(&folders.read), write: canonical(&folders.write) });
        let lock = running.locks_grants.then(|| GrantLock::new(&running));
        Self { running, reachable, lock, warnings: Vec::new() }
    }

    /// Reads the files again, and returns the plugins that should be loaded now. On an error nothing changes.
    pub(super) fn reload(&mut self) -> Result<PluginSet, ConfigError> {
        let mut warnings = Vec::new();
        let confirmed = self.lock.as_ref().and_then(GrantLock::newly_confirmed);
        let mut now = self.running.clone();
        if let Some(file) = &self.running.file {
            let changed = Config::load_without_lockfile(file)?;
            for key in self.running.restart_settings.changed_keys(&changed.restart_settings) {
                warnings.push(format!(
                    "`{key}` has changed in {}: restart the host to apply it, until then the old value is used",
                    file.display()
                ));
            }
            (now.plugins, now.agent, now.withdrawn) = (changed.plugins, changed.agent, changed.withdrawn);
        }
        let mut now = now.with_installed()?;
        match (&mut self.lock, confirmed) {
            (None, _) => {}
            (Some(lock), Some(before)) if lock.newly_confirmed().as_ref() == Some(&before) => {
                lock.take_up(&now, before.0)
            }
            (Some(lock), _) => lock.restrict(&mut now, &mut warnings),
        }
        for spec in now.plugins.iter_mut().chain(&mut now.agent) {
            if let Some(reachable) = &self.reachable {
                reachable.restrict(spec, &mut warnings);
            }
            if spec.grants.state.is_some() && !self.running.grants_state() {
                warnings.push(format!(
                    "[{}] has no state yet: no plugin was granted state when the host was started. Restart the host",
                    spec.id
                ));
            }
        }
        for warning in warnings.iter().filter(|warning| !self.warnings.contains(warning)) {
            tracing::warn!("{warning}");
        }
        self.warnings = warnings;
        let (withdrawn, environment) = (now.load_withdrawn()?, now.host_environment());
        Ok(PluginSet { plugins: now.plugins, agents: now.agent, withdrawn, environment })
    }
}

impl ReachableFolders {
    /// Removes mounts that the kernel would refuse to a confined server, because a plugin with them could not be loaded.
    fn restrict(&self, spec: &mut PluginSpec, warnings: &mut Vec<String>) {
        let id = spec.id.clone();
        spec.grants.filesystem.retain(|mount| {
            let reachable = self.contains(&mount.host, mount.access);
            if !reachable {
                warnings.push(format!(
                    "[{id}] cannot use {} yet: a confined server reaches only the folders that were configured when it was started. Restart the host",
                    mount.host.display()
                ));
            }
            reachable
        });
        if !spec.source.parent().is_some_and(|folder| self.contains(folder, Access::Read)) {
            warnings.push(format!(
                "[{id}] cannot be read at {}: a confined server reads only the folders that were configured when it was started. Restart the host",
                spec.source.display()
            ));
        }
    }

    /// A path that cannot be resolved counts as reachable: opening it reports the error.
    fn contains(&self, path: &Path, access: Access) -> bool {
        let Ok(path) = path.canonicalize() else { return true };
        let below = |folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
        match access {
            Access::Read => below(&self.read) || below(&self.write),
            Access::Write => below(&self.write),
        }
    }
}
