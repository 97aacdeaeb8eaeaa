//! What a running host takes up of a configuration that was changed: plugins, their grants and limits, and what is
//! withdrawn. Everything else holds until it is started again, and the log says so.

use crate::config::{Config, ConfigError};
use platform::confine::Needs;
use plugins::registry::Wanted;
use policy::{Access, PluginSpec};
use std::path::{Path, PathBuf};

/// A configuration that is in force, and the file that may say something else by now.
pub(super) struct Followed {
    running: Config,
    reach: Option<Reach>,
    /// What was said last, so that it is said once.
    told: Vec<String>,
}

/// The folders that a confined server is left with, behind any links.
struct Reach {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

impl Followed {
    pub(super) fn new(running: Config, confined: Option<&Needs>) -> Self {
        let real = |paths: &[PathBuf]| paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
        let reach = confined.map(|needs| Reach { read: real(&needs.read), write: real(&needs.write) });
        Self { running, reach, told: Vec::new() }
    }

    /// What should be loaded now. An error changes nothing.
    pub(super) fn again(&mut self) -> Result<Wanted, ConfigError> {
        let mut told = Vec::new();
        let mut now = self.running.clone();
        if let Some(file) = &self.running.file {
            let read = Config::load_alone(file)?;
            for key in self.running.fixed.differing(&read.fixed) {
                told.push(format!(
                    "`{key}` has changed in {}: start the host again for that, it goes on with what it was started with",
                    file.display()
                ));
            }
            (now.plugins, now.agent, now.withdrawn) = (read.plugins, read.agent, read.withdrawn);
        }
        let mut now = now.with_installed()?;
        for spec in now.plugins.iter_mut().chain(&mut now.agent) {
            if let Some(reach) = &self.reach {
                reach.hold(spec, &mut told);
            }
            if spec.grants.state.is_some() && !self.running.keeps_state() {
                told.push(format!(
                    "[{}] keeps no values yet: no plugin could when the host was started. Start it again",
                    spec.id
                ));
            }
        }
        for line in told.iter().filter(|line| !self.told.contains(line)) {
            tracing::warn!("{line}");
        }
        self.told = told;
        let (withdrawn, machine) = (now.withdrawn()?, now.machine());
        Ok(Wanted { plugins: now.plugins, agents: now.agent, withdrawn, machine })
    }
}

impl Reach {
    /// Leaves out directories that the kernel would refuse: a plugin that has them in name only could not be loaded.
    fn hold(&self, spec: &mut PluginSpec, told: &mut Vec<String>) {
        let id = spec.id.clone();
        spec.grants.filesystem.retain(|mount| {
            let there = self.has(&mount.host, mount.access);
            if !there {
                told.push(format!(
                    "[{id}] does not get {} yet: a confined server reaches only the folders that its configuration named when it was started. Start it again",
                    mount.host.display()
                ));
            }
            there
        });
        if !spec.source.parent().is_some_and(|folder| self.has(folder, Access::Read)) {
            told.push(format!(
                "[{id}] cannot be read at {}: a confined server reads only in the folders that its configuration named when it was started. Start it again",
                spec.source.display()
            ));
        }
    }

    /// What cannot be told is left to whoever opens it, who says what is wrong.
    fn has(&self, path: &Path, access: Access) -> bool {
        let Ok(path) = path.canonicalize() else { return true };
        let below = |folders: &[PathBuf]| folders.iter().any(|folder| path.starts_with(folder));
        match access {
            Access::Read => below(&self.read) || below(&self.write),
            Access::Write => below(&self.write),
        }
    }
}
