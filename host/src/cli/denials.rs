//! `portcullis denials`.

use super::configured_plugin::ConfiguredPlugin;
use super::options::ConfigFile;
use crate::config::Config;
use anyhow::{Context, ensure};
use platform::audit::{self, AuditLogEntry, EntryFilter};
use platform::clock::{Clock, SystemClock};
use platform::telemetry::printable;
use policy::uses::{FilesystemUse, HttpUse};
use policy::{Access, Capability};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

/// List what plugins were denied, newest last, with the command that would allow it.
///
/// At a terminal only: a model that reads such a command could run it.
#[derive(clap::Args)]
pub(super) struct Denials {
    /// How many.
    #[arg(short = 'n', long, default_value_t = 20, value_name = "N")]
    lines: usize,
    /// Only those of this plugin, by name or by table.
    #[arg(long)]
    plugin: Option<String>,
    /// How old they may be.
    #[arg(long, default_value = "7d", value_name = "AGE", value_parser = humantime::parse_duration)]
    since: Duration,
    #[command(flatten)]
    file: ConfigFile,
}

/// Reasons that a grant or another manifest removes. For others, such as a full scratch directory, the record holds too little
/// to name a remedy.
const DECIDED: [&str; 6] = [
    "is not granted",
    "is outside the granted directories",
    "may only be read",
    "is not requested by the plugin",
    "is not requested by its manifest",
    "would pass on a private result, which is not granted",
];

/// What denials have in common that are counted together.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Denied {
    plugin: String,
    capability: String,
    target: String,
    reason: String,
}

/// How often something was denied, and when last.
#[derive(Default)]
struct Times {
    count: u64,
    last: String,
}

impl Denials {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        ensure!(
            std::io::stdin().is_terminal() && std::io::stdout().is_terminal(),
            "denials are shown at a terminal only, since a program that reads what would allow them could run it; `portcullis audit export` has the records"
        );
        let config = Config::load(&self.file.config)?;
        let folder = config.audit.folder.clone();
        let folder =
            folder.context("nothing is recorded: set server.audit.folder, server.state or PORTCULLIS_STATE")?;
        if !folder.is_dir() {
            println!("Nothing was recorded yet.");
            return Ok(ExitCode::SUCCESS);
        }
        let since = Some(SystemClock.unix().saturating_sub(self.since));
        let filter = EntryFilter { plugin: self.plugin.clone(), since, ..EntryFilter::default() };
        let mut all: BTreeMap<Denied, Times> = BTreeMap::new();
        audit::for_each_entry(&folder, &filter, |entry| {
            if let Some(denied) = Denied::read(&entry) {
                let times = all.entry(denied).or_default();
                (times.count, times.last) = (times.count + 1, entry.text("time"));
            }
            Ok(())
        })?;
        let mut all: Vec<_> = all.into_iter().collect();
        all.sort_by(|(_, one), (_, other)| one.last.cmp(&other.last));
        let plugins = ConfiguredPlugin::all(&self.file.config, &config)?;
        for (denied, times) in all.iter().skip(all.len().saturating_sub(self.lines)) {
            println!("{}", denied.line(times));
            println!("    {}", printable(&self.remedy(&config, &plugins, denied)));
        }
        if all.is_empty() {
            println!("Nothing was denied.");
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Says what would allow it now.
    fn remedy(&self, config: &Config, plugins: &[ConfiguredPlugin], denied: &Denied) -> String {
        let Some(plugin) = plugins.iter().find(|plugin| plugin.id.table() == denied.plugin) else {
            return "The plugin is not there any more".to_owned();
        };
        let Some(capability) = denied.capability() else {
            let name = plugin.id.cli_name();
            return format!("The log said how to allow it; `portcullis policy show {name}` shows what is granted");
        };
        match plugin.authority(&config.host_environment()).map(|authority| authority.decide(&capability)) {
            Ok(Ok(())) => "It is granted now".to_owned(),
            Ok(Err(denial)) => self.file.complete(denial.remedy),
            Err(why) => format!("What would allow it is not known: {why:#}"),
        }
    }
}

impl Denied {
    /// None if the record is no denial.
    fn read(entry: &AuditLogEntry) -> Option<Self> {
        let [plugin, capability, target, reason] =
            ["plugin", "capability", "target", "reason"].map(|name| entry.text(name));
        (entry.is_valid() && entry.text("event") == "denial").then_some(Self { plugin, capability, target, reason })
    }

    fn line(&self, Times { count, last }: &Times) -> String {
        let Self { plugin, capability, target, reason } = self;
        let often = if *count > 1 { format!(" ({count} times)") } else { String::new() };
        printable(&format!("{last}  [{plugin}] {capability} `{target}` {reason}{often}")).into_owned()
    }

    /// The capability that was attempted. None if the record does not describe it completely.
    fn capability(&self) -> Option<Capability> {
        if !DECIDED.contains(&self.reason.as_str()) {
            return None;
        }
        let target = self.target.clone();
        match self.capability.as_str() {
            "filesystem" => {
                let access = if self.reason == "may only be read" { Access::Write } else { Access::Read };
                Some(FilesystemUse { path: target, access }.into())
            }
            "http" => Some(HttpUse { request: target }.into()),
            // The record does not name the host that the secret was for.
            "secrets" => None,
            key @ ("client.form" | "client.sample" | "client.roots" | "publish" | "state" | "scratch") => {
                Capability::parse(key).ok()
            }
            key => Capability::parse(&format!("{key} {target}")).ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Authority, Grants, PluginId, Requests, Side};

    /// Each capability that a record names completely is read back as it was.
    #[test]
    fn records_say_what_was_attempted() {
        let requests = r#"
            filesystem = "write"
            http = ["https://*"]
            connections = ["github"]
            agent-tools = ["*.*"]
            client = { form = true, url = true, sample = true, roots = true }
            publish = true
            events = ["*.*"]
            env = ["TZ"]
            state = true
            scratch = true"#;
        let requests: Requests = toml::from_str(requests).unwrap();
        for question in [
            "filesystem read /a",
            "http GET https://a.example/v1",
            "agent-tools notes.add",
            "client.form",
            "client.url a.example",
            "client.sample",
            "client.roots",
            "publish",
            "events a.b",
            "connections github",
            "env TZ",
            "state",
            "scratch",
            "flows client -> host-model",
        ] {
            let capability = Capability::parse(question).unwrap();
            let plugin = PluginId { side: Side::Server, name: "p".into() };
            let denial = Authority::new(plugin.clone(), &requests, &Grants::default()).decide(&capability).unwrap_err();
            let denied = Denied {
                plugin: plugin.table(),
                capability: capability.key().into(),
                target: capability.target().into(),
                reason: denial.reason.into(),
            };
            assert_eq!(denied.capability(), Some(capability), "{question}");
            let other = Denied { reason: "leads into a private network or to this machine".into(), ..denied };
            assert_eq!(other.capability(), None, "another grant does not help");
        }
    }
}
