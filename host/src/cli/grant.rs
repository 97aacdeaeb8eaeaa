//! `portcullis grant` and `portcullis revoke`.

use super::configured_plugin::ConfiguredPlugin;
use super::plugin::RUNNING;
use crate::config::{Config, ConfigEditor, GrantLine};
use crate::host;
use anyhow::{Context, ensure};
use platform::audit::{AuditEvent, AuditRecord};
use platform::telemetry::printable;
use plugins::install::LockfileGuard;
use policy::{Authority, Grants};
use std::process::ExitCode;
use toml_edit::Item;

#[derive(clap::Args)]
pub(super) struct Grant {
    /// The plugin: its name in the configuration, agent.NAME for an agent-side one.
    plugin: String,
    /// One line of TOML, as a denial prints it: 'agent-tools = ["notes.add"]'. Lists are extended, other values replaced.
    /// limits = { ... } sets limits.
    line: String,
    #[command(flatten)]
    file: super::options::ConfigFile,
}

#[derive(clap::Args)]
pub(super) struct Revoke {
    /// The plugin: its name in the configuration, agent.NAME for an agent-side one.
    plugin: String,
    /// One line of TOML as it was granted, or a key such as client.form to revoke all of it.
    line: String,
    #[command(flatten)]
    file: super::options::ConfigFile,
}

/// A change of a plugin's grants.
struct GrantChange {
    given: bool,
    line: GrantLine,
}

impl Grant {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let wrong = |why| anyhow::anyhow!("`{}`: {why}", printable(&self.line));
        let line = GrantLine::parse(&self.line).map_err(wrong)?;
        line.check().map_err(wrong)?;
        GrantChange { given: true, line }.make(&self.plugin, &self.file)
    }
}

impl Revoke {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let wrong = |why| anyhow::anyhow!("`{}`: {why}", printable(&self.line));
        GrantChange { given: false, line: GrantLine::parse_or_key(&self.line).map_err(wrong)? }
            .make(&self.plugin, &self.file)
    }
}

impl GrantChange {
    fn make(self, name: &str, file: &super::options::ConfigFile) -> anyhow::Result<ExitCode> {
        let config = Config::load(&file.config)?;
        let before = ConfiguredPlugin::find(&file.config, &config, name)?;
        let changed = if before.installed { self.in_lock(&before)? } else { self.in_config(&before)? };
        ensure!(
            self.given || changed,
            "{} has no such grant in {}; `portcullis policy show {}` lists its grants",
            before.id.cli_name(),
            before.file.display(),
            before.id.cli_name()
        );
        let config = Config::load(&file.config)?;
        let after = ConfiguredPlugin::find(&file.config, &config, &before.id.table())?;
        let lines = difference(&before, &after);
        if lines.is_empty() {
            println!("{} has that already; nothing was changed", before.id.cli_name());
            return Ok(ExitCode::SUCCESS);
        }
        println!("[{}] in {}", before.id, before.file.display());
        lines.iter().for_each(|line| println!("  {}", printable(line)));
        warn_of_idle(&after, &self.line);
        println!("{RUNNING} Running calls keep the grants that they started with.");
        let audit = host::open_audit(&config)?;
        let event = AuditEvent::Grant { given: self.given, line: self.line.text().to_owned() };
        audit.record(AuditRecord::for_operator(Some(before.id.clone()), None, event));
        audit.flush();
        Ok(ExitCode::SUCCESS)
    }

    /// Changes the configuration file. Returns whether its text has changed.
    fn in_config(&self, subject: &ConfiguredPlugin) -> anyhow::Result<bool> {
        let mut file = ConfigEditor::open(&subject.file)?;
        let text = file.document.to_string();
        let plugin = file.document.get_mut(subject.id.side.table()).and_then(|side| side.get_mut(&*subject.id.name));
        let plugin = plugin.and_then(Item::as_table_like_mut).context("the plugin is not in the file any more")?;
        if self.given {
            self.line.add_to(plugin).map_err(anyhow::Error::msg)?;
        } else {
            self.line.remove_from(plugin);
        }
        if file.document.to_string() == text {
            return Ok(false);
        }
        file.check()?;
        file.save()?;
        Ok(true)
    }

    fn in_lock(&self, subject: &ConfiguredPlugin) -> anyhow::Result<bool> {
        ensure!(
            !self.line.has_limits(),
            "limits of an installed plugin are set in {}, under [{}.limits]",
            subject.file.display(),
            subject.id
        );
        let mut lock = LockfileGuard::load(&subject.file)?;
        let mut grants = lock.grants(&subject.id).cloned().context("the plugin is not installed any more")?;
        let text = grants.to_string();
        if self.given {
            self.line.add_to_grants(&mut grants);
        } else {
            self.line.remove_from_grants(&mut grants);
        }
        if grants.to_string() == text {
            return Ok(false);
        }
        let meant: Grants = toml::from_str(&grants.to_string())?;
        meant.check().map_err(anyhow::Error::msg)?;
        lock.set_grants(&subject.id, grants).map_err(anyhow::Error::msg)?;
        lock.save()?;
        Ok(true)
    }
}

/// Removed and added grants, one line each.
fn difference(before: &ConfiguredPlugin, after: &ConfiguredPlugin) -> Vec<String> {
    let (old, new) = (before.grant_lines(), after.grant_lines());
    let shown = |sign: char, (key, what): &(&str, String)| format!("{sign} {key:<14}  {what}");
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| shown('-', line));
    let come = new.iter().filter(|line| !old.contains(line)).map(|line| shown('+', line));
    let limits = (before.limits != after.limits).then(|| "  limits changed".to_owned());
    gone.chain(come).chain(limits).collect()
}

/// Warns of changed grants that have no effect.
fn warn_of_idle(subject: &ConfiguredPlugin, line: &GrantLine) {
    match &subject.requests {
        Err(why) => {
            println!("note: the plugin's requests are unknown, so this may have no effect: {}", printable(why))
        }
        Ok(requests) => {
            let authority = Authority::new(subject.id.clone(), requests, &subject.grants);
            let now = |idle: &&&str| line.keys().any(|key| idle.split('.').next() == Some(key));
            for idle in authority.unrequested_grants().iter().filter(now) {
                println!("note: `{idle}` has no effect: the plugin's manifest does not request it");
            }
        }
    }
}
