//! `portcullis grant` and `portcullis revoke`.

use super::configured_plugin::ConfiguredPlugin;
use super::options::ConfigFile;
use super::plugin::how_running_servers_change;
use super::prompt::Agreement;
use super::text::shell_quote;
use crate::config::{Config, ConfigEditor, GrantLine};
use crate::host;
use anyhow::{Context, bail};
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
    agreement: Agreement,
    #[command(flatten)]
    file: ConfigFile,
}

#[derive(clap::Args)]
pub(super) struct Revoke {
    /// The plugin: its name in the configuration, agent.NAME for an agent-side one.
    plugin: String,
    /// One line of TOML as it was granted, or a key such as client.form to revoke all of it.
    line: String,
    #[command(flatten)]
    agreement: Agreement,
    #[command(flatten)]
    file: ConfigFile,
}

/// A change of a plugin's grants.
struct GrantChange {
    given: bool,
    line: GrantLine,
    agreement: Agreement,
    file: ConfigFile,
}

/// The result of a change.
enum Outcome {
    Made,
    /// The user did not agree.
    Declined,
    /// It changes nothing.
    Idle,
}

impl Grant {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let wrong = |why| anyhow::anyhow!("`{}`: {why}", printable(&self.line));
        let line = GrantLine::parse(&self.line).map_err(wrong)?;
        line.check().map_err(wrong)?;
        GrantChange { given: true, line, agreement: self.agreement, file: self.file }.make(&self.plugin)
    }
}

impl Revoke {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let wrong = |why| anyhow::anyhow!("`{}`: {why}", printable(&self.line));
        let line = GrantLine::parse_or_key(&self.line).map_err(wrong)?;
        GrantChange { given: false, line, agreement: self.agreement, file: self.file }.make(&self.plugin)
    }
}

impl GrantChange {
    fn make(self, name: &str) -> anyhow::Result<ExitCode> {
        let file = &self.file.config;
        let config = Config::load_with_own_state(file)?;
        let before = ConfiguredPlugin::find(file, &config, name)?;
        let outcome =
            if before.installed { self.in_lock(&before, &config)? } else { self.in_config(&before, &config)? };
        match outcome {
            Outcome::Made => {}
            Outcome::Declined => {
                println!("Nothing was changed.");
                return Ok(ExitCode::FAILURE);
            }
            Outcome::Idle if self.given => {
                println!("{} has that already; nothing was changed", before.id.cli_name());
                return Ok(ExitCode::SUCCESS);
            }
            Outcome::Idle => bail!(
                "{0} has no such grant in {1}; `portcullis policy show {0}{2}` lists its grants",
                before.id.cli_name(),
                before.file.display(),
                self.file.as_option()
            ),
        }
        let config = Config::load(file)?;
        let after = ConfiguredPlugin::find(file, &config, &before.id.table())?;
        let lines = difference(&before, &after);
        println!("[{}] in {}", before.id, before.file.display());
        lines.iter().for_each(|line| println!("  {}", printable(line)));
        warn_of_idle(&after, &self.line);
        after.missing().iter().for_each(|what| println!("note: {}", printable(what)));
        println!("{} Running calls keep the grants that they started with.", how_running_servers_change(&config));
        Ok(ExitCode::SUCCESS)
    }

    fn record_and<E>(
        &self,
        subject: &ConfiguredPlugin,
        config: &Config,
        save: impl FnOnce() -> Result<(), E>,
    ) -> anyhow::Result<Outcome>
    where
        anyhow::Error: From<E>,
    {
        let event = AuditEvent::Grant { given: self.given, line: self.line.text().to_owned() };
        let record = AuditRecord::for_operator(Some(subject.id.clone()), None, event);
        host::open_audit(config)?.record_first(vec![record], || Ok::<_, anyhow::Error>(save()?))?;
        Ok(Outcome::Made)
    }

    fn is_agreed(&self, subject: &ConfiguredPlugin) -> anyhow::Result<bool> {
        let (verb, from) = if self.given { ("grant", "to") } else { ("revoke", "from") };
        let (name, line) = (subject.id.cli_name(), self.line.text());
        let command = format!("portcullis {verb} {name} {}{}", shell_quote(line), self.file.as_option());
        let question = format!("{}{} {from} {name}: {}?", verb[..1].to_uppercase(), &verb[1..], printable(line));
        self.agreement.get(&question, &command)
    }

    /// Changes the configuration file, if the user agrees.
    fn in_config(&self, subject: &ConfiguredPlugin, config: &Config) -> anyhow::Result<Outcome> {
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
            return Ok(Outcome::Idle);
        }
        file.check()?;
        if !self.is_agreed(subject)? {
            return Ok(Outcome::Declined);
        }
        self.record_and(subject, config, || file.save())
    }

    fn in_lock(&self, subject: &ConfiguredPlugin, config: &Config) -> anyhow::Result<Outcome> {
        let mut lock = LockfileGuard::load(&subject.file)?;
        let entry = lock.get_mut(&subject.id).context("the plugin is not installed any more")?;
        let (mut grants, mut limits) = (entry.grants_table().clone(), entry.limits_table().clone());
        let text = [grants.to_string(), limits.to_string()];
        if self.given {
            self.line.add_to_grants(&mut grants);
            self.line.add_to_limits(&mut limits);
        } else {
            self.line.remove_from_grants(&mut grants);
            self.line.remove_from_limits(&mut limits);
        }
        if [grants.to_string(), limits.to_string()] == text {
            return Ok(Outcome::Idle);
        }
        let meant: Grants = toml::from_str(&grants.to_string())?;
        meant.check().map_err(anyhow::Error::msg)?;
        entry.set_grants(grants).map_err(anyhow::Error::msg)?;
        entry.set_limits(limits).map_err(anyhow::Error::msg)?;
        if !self.is_agreed(subject)? {
            return Ok(Outcome::Declined);
        }
        self.record_and(subject, config, || lock.save())
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
