//! Holds back new grants of a running server until they are confirmed at a terminal: `server.grants = "locked"`.
//!
//! A revoked grant is gone at once. A grant that was revoked, or whose plugin was removed, counts as new when it comes back.

use crate::config::{Config, GrantConfirmation};
use plugins::package::FileStamp;
use policy::{Digest, Extent, Grants, PluginId, PluginSpec};
use std::collections::HashMap;

pub(super) struct GrantLock {
    /// None if nothing can be confirmed, so that new grants wait for a restart.
    confirmation: Option<GrantConfirmation>,
    /// The confirmation that was used last, or that existed when this server started.
    used: Option<FileStamp>,
    /// The grants in force.
    current: HashMap<PluginId, Grants>,
}

impl GrantLock {
    pub(super) fn new(running: &Config) -> Self {
        let confirmation = GrantConfirmation::for_config(running);
        let used = confirmation.as_ref().and_then(|it| FileStamp::read(&it.file));
        let current = specs(running).map(|spec| (spec.id.clone(), spec.grants.clone())).collect();
        Self { confirmation, used, current }
    }

    /// The digest of the files, if there is a new confirmation of exactly these. Must be called before and after they are read:
    /// only if both answers are the same was the content that was read confirmed.
    pub(super) fn newly_confirmed(&self) -> Option<(FileStamp, Digest)> {
        let confirmation = self.confirmation.as_ref()?;
        let stamp = FileStamp::read(&confirmation.file).filter(|stamp| Some(*stamp) != self.used)?;
        let current = confirmation.current().ok()?;
        (confirmation.confirmed()? == current).then_some((stamp, current))
    }

    /// Takes up all grants of a confirmed configuration.
    pub(super) fn take_up(&mut self, confirmed: &Config, stamp: FileStamp) {
        self.used = Some(stamp);
        self.current = specs(confirmed).map(|spec| (spec.id.clone(), spec.grants.clone())).collect();
        tracing::info!("the grants of the configuration were confirmed at a terminal: all are in force");
    }

    /// Removes grants that are not in force from a changed configuration.
    pub(super) fn restrict(&mut self, changed: &mut Config, warnings: &mut Vec<String>) {
        let how = match (&self.confirmation, &changed.file) {
            (Some(_), Some(file)) => {
                format!(
                    "Confirm them at a terminal with `portcullis policy confirm --config {}`, or restart the host",
                    file.display()
                )
            }
            _ => "Restart the host".to_owned(),
        };
        let none = Grants::default();
        for spec in changed.plugins.iter_mut().chain(&mut changed.agent) {
            let limited = spec.grants.limited_to(self.current.get(&spec.id).unwrap_or(&none));
            if !spec.grants.is_within(&limited) {
                warnings.push(format!(
                    "[{}] its new grants are not in force: `server.grants` is \"locked\". {how}",
                    spec.id
                ));
            }
            spec.grants = limited;
        }
        self.current = specs(changed).map(|spec| (spec.id.clone(), spec.grants.clone())).collect();
    }
}

fn specs(config: &Config) -> impl Iterator<Item = &PluginSpec> {
    config.plugins.iter().chain(&config.agent)
}
