//! `portcullis grant` and `portcullis revoke`.

use super::plugin::RUNNING;
use super::subject::Subject;
use crate::config::{Config, ConfigFile, Line};
use crate::host;
use anyhow::{Context, ensure};
use platform::audit::{Event, Record};
use platform::telemetry::printable;
use plugins::install::Held;
use policy::{Authority, Grants};
use std::process::ExitCode;
use toml_edit::Item;

#[derive(clap::Args)]
pub(super) struct Grant {
    /// The plugin: its name in the configuration, agent.NAME for an agent-side one.
    plugin: String,
    /// One line of TOML, as a denial prints it: 'agent-tools = ["notes.add"]'. Lists are added to, all else is replaced.
    /// limits = { ... } sets ceilings.
    line: String,
    #[command(flatten)]
    file: super::ConfigFile,
}

#[derive(clap::Args)]
pub(super) struct Revoke {
    /// The plugin: its name in the configuration, agent.NAME for an agent-side one.
    plugin: String,
    /// One line of TOML as it was granted, or a key such as client.form for all of it.
    line: String,
    #[command(flatten)]
    file: super::ConfigFile,
}

/// What a command does to a plugin's grants.
struct Change {
    given: bool,
    line: Line,
}

impl Grant {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let wrong = |why| anyhow::anyhow!("`{}`: {why}", printable(&self.line));
        let line = Line::parse(&self.line).map_err(wrong)?;
        line.check().map_err(wrong)?;
        Change { given: true, line }.make(&self.plugin, &self.file)
    }
}

impl Revoke {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let wrong = |why| anyhow::anyhow!("`{}`: {why}", printable(&self.line));
        Change { given: false, line: Line::parse_or_key(&self.line).map_err(wrong)? }.make(&self.plugin, &self.file)
    }
}

impl Change {
    fn make(self, name: &str, file: &super::ConfigFile) -> anyhow::Result<ExitCode> {
        let config = Config::load(&file.config)?;
        let before = Subject::find(&file.config, &config, name)?;
        let changed = if before.installed { self.in_lock(&before)? } else { self.in_config(&before)? };
        ensure!(
            self.given || changed,
            "{} has no such grant in {}; `portcullis policy show {}` says what it has",
            before.id.handle(),
            before.file.display(),
            before.id.handle()
        );
        let config = Config::load(&file.config)?;
        let after = Subject::find(&file.config, &config, &before.id.table())?;
        let lines = difference(&before, &after);
        if lines.is_empty() {
            println!("{} has that already; nothing is changed", before.id.handle());
            return Ok(ExitCode::SUCCESS);
        }
        println!("[{}] in {}", before.id, before.file.display());
        lines.iter().for_each(|line| println!("  {}", printable(line)));
        warn_of_idle(&after, &self.line);
        println!("{RUNNING} Calls that run already end with what they began with.");
        let audit = host::audit(&config)?;
        let event = Event::Grant { given: self.given, line: self.line.text().to_owned() };
        audit.record(Record::of_operator(Some(before.id.clone()), None, event));
        audit.flush();
        Ok(ExitCode::SUCCESS)
    }

    /// Whether the text is another one now.
    fn in_config(&self, subject: &Subject) -> anyhow::Result<bool> {
        let mut file = ConfigFile::hold(&subject.file)?;
        let text = file.document.to_string();
        let plugin = file.document.get_mut(subject.id.side.table()).and_then(|side| side.get_mut(&subject.id.name));
        let plugin = plugin.and_then(Item::as_table_like_mut).context("the plugin is not in the file any more")?;
        if self.given {
            self.line.add_to(plugin).map_err(anyhow::Error::msg)?;
        } else {
            self.line.take_from(plugin);
        }
        if file.document.to_string() == text {
            return Ok(false);
        }
        file.check()?;
        file.save()?;
        Ok(true)
    }

    fn in_lock(&self, subject: &Subject) -> anyhow::Result<bool> {
        ensure!(
            !self.line.has_limits(),
            "limits of an installed plugin are set in {}, under [{}.limits]",
            subject.file.display(),
            subject.id
        );
        let mut lock = Held::load(&subject.file)?;
        let mut grants = lock.grants_of(&subject.id).cloned().context("the plugin is not installed any more")?;
        let text = grants.to_string();
        if self.given {
            self.line.add_to_grants(&mut grants);
        } else {
            self.line.take_from_grants(&mut grants);
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

/// What is gone and what is new, a line each.
fn difference(before: &Subject, after: &Subject) -> Vec<String> {
    let (old, new) = (before.lines(), after.lines());
    let shown = |sign: char, (key, what): &(&str, String)| format!("{sign} {key:<14}  {what}");
    let gone = old.iter().filter(|line| !new.contains(line)).map(|line| shown('-', line));
    let come = new.iter().filter(|line| !old.contains(line)).map(|line| shown('+', line));
    let limits = (before.limits != after.limits).then(|| "  limits changed".to_owned());
    gone.chain(come).chain(limits).collect()
}

/// Grants that were given now and have no effect.
fn warn_of_idle(subject: &Subject, line: &Line) {
    match &subject.requests {
        Err(why) => {
            println!("note: what the plugin requests is not known, so this may have no effect: {}", printable(why))
        }
        Ok(requests) => {
            let authority = Authority::new(subject.id.clone(), requests, &subject.grants);
            let now = |idle: &&&str| line.keys().any(|key| idle.split('.').next() == Some(key));
            for idle in authority.idle_grants().iter().filter(now) {
                println!("note: `{idle}` has no effect: the plugin's manifest does not request it");
            }
        }
    }
}
