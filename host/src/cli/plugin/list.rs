//! `portcullis plugin list`.

use super::super::{ConfigFile, printable_lines};
use crate::config::Config;
use crate::host::{self, Host};
use bytesize::ByteSize;
use platform::clock::SystemClock;
use platform::telemetry::printable;
use plugins::install::{Entry, Lock};
use plugins::package::{Claims, Inspection};
use plugins::registry::{LoadError, Loader, Reason, suspicions};
use policy::{Digest, PluginSpec};
use runtime::imports::Offer;
use std::process::ExitCode;
use std::sync::Arc;

/// What a licence is claimed under; nobody has checked it.
const LICENCE: &str = "licenses";

#[derive(clap::Args)]
pub(in crate::cli) struct List {
    /// Load each of them, too: what does not load is an error. Otherwise nothing is compiled, run or connected to.
    #[arg(long)]
    load: bool,
    #[command(flatten)]
    file: ConfigFile,
}

impl List {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let config = Config::load(&self.file.config)?;
        if self.load {
            let host = Host::start(&Config { upstreams: Vec::new(), ..config.clone() }, None).await?;
            host.close().await;
        }
        let loader = host::loader(&config, Arc::new(SystemClock))?;
        println!(
            "{:<28} {:<16} {:<10} {:>9}  {:<19}  {:<14}  TOOLS",
            "PLUGIN", "STATE", "VERSION", "SIZE", "DIGEST", "LICENCE"
        );
        for spec in config.plugins.iter().chain(&config.agent).filter(|spec| !spec.is_installed()) {
            line(&loader, spec, "enabled", &Claims::default());
        }
        if let Some(path) = &config.lock {
            for (id, entry) in Lock::load(path)?.iter() {
                line(&loader, &config.installed(path, &id, entry)?, state(entry), &entry.installed.published_claims);
            }
        }
        for upstream in &config.upstreams {
            let name = format!("upstream.{}", upstream.name);
            println!("{name:<28} {:<16} {:<10} {:>9}  {:<19}  {:<14}  -", "a server", "-", "-", "-", "-");
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn state(entry: &Entry) -> &'static str {
    match (entry.enabled, &entry.staged) {
        (true, None) => "enabled",
        (true, Some(_)) => "enabled, staged",
        (false, None) => "disabled",
        (false, Some(_)) => "disabled, staged",
    }
}

/// One plugin; what is wrong with it goes to stderr.
fn line(loader: &Loader, spec: &PluginSpec, state: &str, published: &Claims) {
    match loader.glance(spec) {
        Ok((digest, inspection, offer)) => {
            let licence = inspection.claims.get(LICENCE).or(published.get(LICENCE)).unwrap_or("-");
            print(spec, state, &digest, &inspection, licence, offer.as_ref());
        }
        Err(error) => {
            println!(
                "{:<28} {:<16} {:<10} {:>9}  {:<19}  {:<14}  -",
                spec.id.table(),
                wrong(&error),
                "-",
                "-",
                "-",
                "-"
            );
            eprintln!("{}", printable_lines(&error.to_string()));
        }
    }
}

/// What is wrong, in a word.
fn wrong(error: &LoadError) -> &'static str {
    match error.reason {
        Reason::Changed { .. } | Reason::NotPinned { .. } => "changed",
        Reason::Withdrawn { .. } => "withdrawn",
        _ => "cannot be loaded",
    }
}

fn print(
    spec: &PluginSpec,
    state: &str,
    digest: &Digest,
    inspection: &Inspection,
    licence: &str,
    offer: Option<&Offer>,
) {
    let version = inspection.manifest.as_ref().map_or("-", |manifest| manifest.version.as_str());
    let mut tools: Vec<_> = offer.into_iter().flat_map(|offer| &offer.tools).map(|tool| tool.name.as_str()).collect();
    tools.sort_unstable();
    // Of what was never compiled nobody knows its tools.
    let mut tools = if offer.is_none() { "?".to_owned() } else { tools.join(", ") };
    match offer.map_or(0, |offer| suspicions(offer).len()) {
        0 => {}
        odd => tools += &format!(" (look twice: {odd})"),
    }
    let licence: String = licence.chars().take(14).collect();
    let (version, licence, tools) = (printable(version), printable(&licence), printable(&tools));
    let size = ByteSize(inspection.size).to_string();
    println!("{:<28} {state:<16} {version:<10} {size:>9}  {}  {licence:<14}  {tools}", spec.id.table(), short(digest));
}

/// Enough of a digest to be told from others.
pub(super) fn short(digest: &Digest) -> &str {
    digest.as_str().get(..19).unwrap_or_default()
}
