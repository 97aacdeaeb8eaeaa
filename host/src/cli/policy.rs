//! `portcullis policy`: shows and tests what a plugin may do, without starting it.

use super::configured_plugin::ConfiguredPlugin;
use super::json::{self, JsonOption};
use super::options::ConfigFile;
use super::prompt::confirm;
use crate::config::{Config, GrantConfirmation};
use crate::host;
use anyhow::{Context, ensure};
use bytesize::ByteSize;
use platform::audit::{AuditEvent, AuditRecord};
use platform::telemetry::printable;
use policy::{Authority, Capability, Denial, HostEnvironment, Requests};
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(super) enum Policy {
    /// Show requests and grants of plugins, where they are written, and the resulting rights.
    Show {
        /// The plugin. Default: all plugins.
        plugin: Option<String>,
        #[command(flatten)]
        json: JsonOption,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Test whether a plugin may do something, and show the line that allows it. Exit status 0 if allowed, 1 if not.
    #[command(after_long_help = format!("QUESTION is one of: {}.", Capability::questions()))]
    Test {
        /// The plugin: its name in the configuration, agent.NAME for an agent-side one.
        plugin: String,
        /// The action, such as 'http GET https://api.example.com/'.
        #[arg(required = true)]
        question: Vec<String>,
        #[command(flatten)]
        json: JsonOption,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Let running servers use all grants as they are written now. For `server.grants = "locked"`; asks at the terminal.
    Confirm {
        #[command(flatten)]
        file: ConfigFile,
    },
}

impl Policy {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Show { plugin, json, file } => {
                let config = Config::load(&file.config)?;
                let subjects = match plugin {
                    Some(name) => vec![ConfiguredPlugin::find(&file.config, &config, &name)?],
                    None => ConfiguredPlugin::all(&file.config, &config)?,
                };
                let machine = config.host_environment();
                if json.is_set {
                    json::print(&subjects.iter().map(to_json).collect());
                    return Ok(ExitCode::SUCCESS);
                }
                for (at, subject) in subjects.iter().enumerate() {
                    if at > 0 {
                        println!();
                    }
                    show(subject, &machine)?;
                }
                Ok(ExitCode::SUCCESS)
            }
            Self::Confirm { file } => confirm_grants(&file),
            Self::Test { plugin, question, json, file } => {
                let config = Config::load(&file.config)?;
                let subject = ConfiguredPlugin::find(&file.config, &config, &plugin)?;
                let capability = Capability::parse(&question.join(" ")).map_err(anyhow::Error::msg)?;
                let authority = subject.authority(&config.host_environment())?;
                if json.is_set {
                    let denial = authority.decide(&capability).err();
                    json::print(&test_to_json(&subject, &capability, denial.as_ref(), &file));
                    return Ok(if denial.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS });
                }
                Ok(test(&subject, &authority, &capability, &file))
            }
        }
    }
}

/// There is no option to do this without a terminal, because no program should confirm grants in the user's place.
fn confirm_grants(file: &ConfigFile) -> anyhow::Result<ExitCode> {
    let read = || -> anyhow::Result<_> {
        let config = Config::load_with_own_state(&file.config)?;
        let confirmation = GrantConfirmation::for_config(&config);
        let confirmation =
            confirmation.context("there is no state folder to note it in: set PORTCULLIS_STATE or server.state")?;
        let digest = confirmation.current().context("the configuration or the lock file cannot be read")?;
        Ok((config, confirmation, digest))
    };
    let (config, confirmation, digest) = read()?;
    ensure!(
        config.locks_grants,
        "nothing waits to be confirmed: servers take up new grants at once, unless `server.grants` is \"locked\""
    );
    ensure!(std::io::stdin().is_terminal(), "there is no terminal to ask at, so nothing was confirmed");
    for subject in ConfiguredPlugin::all(&file.config, &config)? {
        println!("[{}]", subject.id);
        let lines = subject.grant_lines();
        lines.iter().for_each(|(key, what)| println!("  {key:<14}  {}", printable(what)));
        if lines.is_empty() {
            println!("  nothing is granted: it can only compute");
        }
    }
    if confirm("These are all grants. May running servers use them?") != Some(true) {
        println!("Nothing was confirmed.");
        return Ok(ExitCode::FAILURE);
    }
    ensure!(
        confirmation.current()? == digest,
        "the configuration or the lock file has changed meanwhile, so nothing was confirmed: run it again"
    );
    let line = format!("confirmed at a terminal: all grants of {digest}");
    let record = AuditRecord::for_operator(None, None, AuditEvent::Grant { given: true, line });
    let wrong = || format!("cannot write {}", confirmation.file.display());
    host::open_audit(&config)?.record_first(vec![record], || confirmation.confirm(&digest).with_context(wrong))?;
    println!("Confirmed: running servers use them within seconds.");
    Ok(ExitCode::SUCCESS)
}

fn test_to_json(
    subject: &ConfiguredPlugin,
    capability: &Capability,
    denial: Option<&Denial>,
    file: &ConfigFile,
) -> Value {
    let (key, target) = (capability.key(), capability.target());
    match denial {
        Some(denial) => json!({
            "plugin": subject.id.table(), "capability": key, "target": target, "allowed": false,
            "reason": denial.reason, "remedy": file.complete(denial.remedy.clone()),
        }),
        None => json!({
            "plugin": subject.id.table(), "capability": key, "target": target, "allowed": true,
            "by": subject.grant_location(key, subject.grants.entry(capability)), "note": capability.note(),
        }),
    }
}

fn to_json(subject: &ConfiguredPlugin) -> Value {
    let (requests, unknown) = match &subject.requests {
        Ok(requests) => (json::lines(&requests.lines()), None),
        Err(why) => (Value::Null, Some(why)),
    };
    let authority = subject.requests.as_ref().map(|it| Authority::new(subject.id.clone(), it, &subject.grants));
    json!({
        "plugin": subject.id.table(),
        "source": subject.source,
        "requested": requests,
        "error": unknown,
        "granted": json::lines(&subject.grant_lines()),
        "withoutEffect": authority.map(|authority| authority.unrequested_grants().to_vec()).unwrap_or_default(),
        "missing": subject.missing(),
    })
}

fn test(subject: &ConfiguredPlugin, authority: &Authority, capability: &Capability, file: &ConfigFile) -> ExitCode {
    let (key, what) = (capability.key(), printable(capability.target()).into_owned());
    if let Err(denial) = authority.decide(capability) {
        println!("{}", printable(&file.complete(denial.for_operator())));
        return ExitCode::FAILURE;
    }
    let place = subject.grant_location(key, subject.grants.entry(capability));
    let by = place.map(|place| format!(", by {place}")).unwrap_or_default();
    println!("allowed: {key} `{what}`{by}");
    if let Some(note) = capability.note() {
        println!("note: {note}");
    }
    ExitCode::SUCCESS
}

fn show(subject: &ConfiguredPlugin, machine: &HostEnvironment) -> anyhow::Result<()> {
    println!("[{}] {}", subject.id, subject.source.display());
    let (requests, known) = match &subject.requests {
        Ok(requests) => (requests.clone(), true),
        Err(why) => {
            println!("  its requests are unknown, so nothing below is certain: {}", printable(why));
            (Requests::default(), false)
        }
    };
    let authority =
        Authority::new(subject.id.clone(), &requests, &subject.grants).with_environment(machine, &subject.data);
    subject.missing().iter().for_each(|what| println!("  note: {}", printable(what)));
    let (requested, granted) = (requests.lines(), subject.grant_lines());
    let mut keys: Vec<&str> = requested.iter().chain(&granted).map(|(key, _)| *key).collect();
    keys.dedup();
    let mut seen = Vec::new();
    for key in keys {
        if seen.contains(&key) {
            continue;
        }
        seen.push(key);
        let with_key = |lines: &[(&'static str, String)]| -> Vec<String> {
            lines.iter().filter(|(own, _)| *own == key).map(|(_, what)| printable(what).into_owned()).collect()
        };
        let (requested, granted) = (with_key(&requested), with_key(&granted));
        println!("  {key}");
        if requested.is_empty() && key != "flows" {
            println!("    requested  nothing");
        }
        for what in &requested {
            println!("    requested  {what}");
        }
        for (at, what) in granted.iter().enumerate() {
            let place = subject.grant_location(key, (granted.len() > 1).then_some(at)).unwrap_or_default();
            println!("    granted    {what}  ({place})");
        }
        let effect = match (requested.is_empty(), granted.is_empty()) {
            _ if !known => continue,
            (_, true) => "no, since nothing is granted".to_owned(),
            (true, false) if key != "flows" => "no, since the plugin does not request it".to_owned(),
            _ => effective(key, &authority),
        };
        println!("    effective  {effect}");
    }
    if seen.is_empty() {
        println!("  nothing is requested and nothing is granted: it can only compute");
    }
    Ok(())
}

/// The effect of a request and a grant, as text.
fn effective(key: &str, authority: &Authority) -> String {
    match key {
        "filesystem" => {
            let own = authority.scratch_folder().map(|(folder, _)| folder);
            let mounts = authority.mounts().iter().filter(|mount| Some(mount.host.as_path()) != own);
            let mounts: Vec<_> = mounts.map(|it| format!("{} {}", it.access, printable(&it.guest))).collect();
            mounts.join(", ")
        }
        "scratch" => match authority.scratch_folder() {
            Some((folder, size)) => format!("{}, up to {} before a call", folder.display(), ByteSize(size)),
            None => "no: there is no state folder".to_owned(),
        },
        "env" => {
            let seen: Vec<_> = authority.environment().iter().map(|(name, _)| name.as_str()).collect();
            let missing = authority.env().filter(|name| !seen.contains(name)).collect::<Vec<_>>().join(", ");
            let seen = if seen.is_empty() { "nothing".to_owned() } else { seen.join(", ") };
            if missing.is_empty() { seen } else { format!("{seen}; not set here: {missing}") }
        }
        "agent-tools" | "events" | "connections" | "http" | "secrets" => {
            "what both lines cover; test it with `portcullis policy test`".to_owned()
        }
        _ => "yes".to_owned(),
    }
}
