//! `portcullis plugin show`.

use super::super::{ConfigFile, show};
use super::report;
use crate::config::Config;
use crate::host;
use platform::clock::SystemClock;
use platform::telemetry::printable;
use plugins::install::{Entry, Lock, changes};
use policy::PluginSpec;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(in crate::cli) struct Show {
    /// The plugin's name.
    name: String,
    #[command(flatten)]
    file: ConfigFile,
}

impl Show {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let config = Config::load(&self.file.config)?;
        let meant = |spec: &PluginSpec| spec.id.name == self.name || spec.id.table() == self.name;
        let mut found: Vec<(PluginSpec, Option<Entry>)> = Vec::new();
        for spec in config.plugins.iter().chain(&config.agent).filter(|spec| !spec.is_installed() && meant(spec)) {
            found.push((spec.clone(), None));
        }
        if let Some(path) = &config.lock {
            for (id, entry) in Lock::load(path)?.iter() {
                let spec = config.installed(path, &id, entry)?;
                if meant(&spec) {
                    found.push((spec, Some(entry.clone())));
                }
            }
        }
        let name = &self.name;
        anyhow::ensure!(!found.is_empty(), "no plugin `{name}`; `portcullis plugin list` names those there are");
        let loader = host::loader(&config, Arc::new(SystemClock))?;
        for (spec, entry) in found {
            if let Some(entry) = &entry {
                println!("[{}] installed from {}", spec.id.table(), printable(&entry.reference));
                installed(entry);
            }
            show::plugin(&loader.load(spec).await?);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What the lock file has besides the component.
fn installed(entry: &Entry) {
    let state = if entry.enabled { "enabled" } else { "disabled" };
    println!("{state}, approved {}", humantime::format_rfc3339_seconds(entry.approved));
    report::version("installed", &entry.installed);
    if let Some(previous) = &entry.previous {
        report::version("before that", previous);
    }
    if let Some(staged) = &entry.staged {
        report::version("waits to be accepted", staged);
        report::changes(&changes(&entry.installed, staged));
    }
    println!();
}
