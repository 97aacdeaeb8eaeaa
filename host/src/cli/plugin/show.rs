//! `portcullis plugin show`.

use super::report;
use crate::cli::json::{self, JsonOption};
use crate::cli::options::ConfigFile;
use crate::cli::show;
use crate::config::Config;
use crate::host;
use platform::clock::SystemClock;
use platform::telemetry::printable;
use plugins::install::{InstalledPlugin, Lockfile, compare_versions};
use policy::PluginSpec;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(in crate::cli) struct Show {
    /// The plugin's name.
    name: String,
    #[command(flatten)]
    json: JsonOption,
    #[command(flatten)]
    file: ConfigFile,
}

impl Show {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let config = Config::load(&self.file.config)?;
        let meant = |spec: &PluginSpec| spec.id.is_named(&self.name);
        let mut found: Vec<(PluginSpec, Option<InstalledPlugin>)> = Vec::new();
        for spec in config.plugins.iter().chain(&config.agent).filter(|spec| !spec.is_installed() && meant(spec)) {
            found.push((spec.clone(), None));
        }
        if let Some(path) = &config.lockfile {
            for (id, entry) in Lockfile::load(path)?.iter() {
                let spec = config.installed_plugin(path, &id, entry)?;
                if meant(&spec) {
                    found.push((spec, Some(entry.clone())));
                }
            }
        }
        let name = &self.name;
        anyhow::ensure!(!found.is_empty(), "no plugin `{name}`; `portcullis plugin list` lists all plugins");
        let loader = host::build_loader(&config, Arc::new(SystemClock))?;
        for (spec, entry) in found {
            if self.json.is_set {
                let (plugin, seen) = loader.load_examined(spec).await?;
                let mut value =
                    json::component(&plugin.digest, Some(&plugin.definitions), &seen.inspection, Some(&seen.offer));
                value["plugin"] = plugin.id().table().into();
                value["grants"] = json::lines(&plugin.spec.grants.configured_lines());
                value["withoutEffect"] = plugin.authority.unrequested_grants().into();
                value["installedFrom"] = entry.map(|entry| entry.reference).into();
                json::print(&value);
                continue;
            }
            if let Some(entry) = &entry {
                println!("[{}] installed from {}", spec.id.table(), printable(&entry.reference));
                installed(entry);
            }
            let (plugin, examined) = loader.load_examined(spec).await?;
            show::plugin(&plugin, &examined);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints the entry of the lock file.
fn installed(entry: &InstalledPlugin) {
    let state = if entry.enabled { "enabled" } else { "disabled" };
    println!("{state}, approved {}", humantime::format_rfc3339_seconds(entry.approved));
    report::version("installed", &entry.installed);
    if let Some(previous) = &entry.previous {
        report::version("previous", previous);
    }
    if let Some(staged) = &entry.staged {
        report::version("staged, waits to be accepted", staged);
        report::changes(&compare_versions(&entry.installed, staged));
    }
    println!();
}
