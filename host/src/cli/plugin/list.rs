//! `portcullis plugin list`.

use crate::cli::configured_plugin::missing_directories;
use crate::cli::json::{self, JsonOption};
use crate::cli::listed_server::ListedServer;
use crate::cli::options::ConfigFile;
use crate::cli::text::printable_lines;
use crate::config::Config;
use crate::host::{self, Host};
use bytesize::ByteSize;
use platform::clock::SystemClock;
use platform::telemetry::printable;
use platform::text::truncate_chars;
use plugins::install::{InstalledPlugin, Lockfile};
use plugins::loading::{LoadError, LoadErrorKind, Loader};
use plugins::offer::find_suspicions;
use plugins::package::{Claims, Inspection};
use policy::{Digest, PluginSpec};
use runtime::imports::Offer;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::Arc;

/// Claim that names the licence. Not verified.
const LICENCE_CLAIM: &str = "licenses";

#[derive(clap::Args)]
pub(in crate::cli) struct List {
    /// Load all plugins, and fail if one does not load; connect all servers. Otherwise nothing is compiled, run or connected to.
    #[arg(long)]
    load: bool,
    #[command(flatten)]
    json: JsonOption,
    #[command(flatten)]
    file: ConfigFile,
}

impl List {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let load = if self.load { Config::load_with_own_state } else { Config::load };
        let config = load(&self.file.config)?;
        let mut servers: Vec<_> =
            config.upstreams.iter().map(|upstream| ListedServer::unasked(&upstream.name)).collect();
        if self.load {
            let host = Host::start_whole(&config, None).await?;
            servers = futures::future::join_all(host.upstreams.iter().map(ListedServer::ask)).await;
            host.close().await;
        }
        let loader = host::build_loader(&config, Arc::new(SystemClock))?;
        if self.json.is_set {
            json::print(&to_json(&config, &loader, &servers)?);
            return Ok(ExitCode::SUCCESS);
        }
        println!(
            "{:<28} {:<16} {:<10} {:>9}  {:<19}  {:<14}  TOOLS",
            "PLUGIN", "STATE", "VERSION", "SIZE", "DIGEST", "LICENCE"
        );
        for Listed { spec, state, published } in listed(&config)? {
            line(&loader, &spec, state, &published);
        }
        servers.iter().for_each(ListedServer::print);
        Ok(ExitCode::SUCCESS)
    }
}

/// A plugin to be listed.
struct Listed {
    spec: PluginSpec,
    state: &'static str,
    published: Claims,
}

fn listed(config: &Config) -> anyhow::Result<Vec<Listed>> {
    let own = config.plugins.iter().chain(&config.agent).filter(|spec| !spec.is_installed());
    let enabled = |spec: &PluginSpec| Listed { spec: spec.clone(), state: "enabled", published: Claims::default() };
    let mut all: Vec<_> = own.map(enabled).collect();
    if let Some(path) = &config.lockfile {
        for (id, entry) in Lockfile::load(path)?.iter() {
            let (spec, published) =
                (config.installed_plugin(path, &id, entry)?, entry.installed.published_claims.clone());
            all.push(Listed { spec, state: state(entry), published });
        }
    }
    Ok(all)
}

fn to_json(config: &Config, loader: &Loader, servers: &[ListedServer]) -> anyhow::Result<Value> {
    let mut plugins = Vec::new();
    for Listed { spec, state, .. } in listed(config)? {
        let mut value = match loader.inspect_only(&spec) {
            Ok((digest, inspection, offer)) => {
                let mut value = json::component(&digest, None, &inspection, offer.as_ref());
                value["state"] = state.into();
                value
            }
            Err(error) => json!({ "state": error_state(&error), "error": error.to_string() }),
        };
        value["plugin"] = spec.id.table().into();
        value["missing"] = missing_directories(&spec.grants).into();
        plugins.push(value);
    }
    Ok(plugins.into_iter().chain(servers.iter().map(ListedServer::to_json)).collect())
}

fn state(entry: &InstalledPlugin) -> &'static str {
    match (entry.enabled, &entry.staged) {
        (true, None) => "enabled",
        (true, Some(_)) => "enabled, staged",
        (false, None) => "disabled",
        (false, Some(_)) => "disabled, staged",
    }
}

/// Prints one plugin; errors go to stderr.
fn line(loader: &Loader, spec: &PluginSpec, state: &str, published: &Claims) {
    match loader.inspect_only(spec) {
        Ok((digest, inspection, offer)) => {
            let licence = inspection.claims.get(LICENCE_CLAIM).or(published.get(LICENCE_CLAIM)).unwrap_or("-");
            print(spec, state, &digest, &inspection, licence, offer.as_ref());
            for what in missing_directories(&spec.grants) {
                eprintln!("note: [{}] {}", spec.id.table(), printable(&what));
            }
        }
        Err(error) => {
            println!(
                "{:<28} {:<16} {:<10} {:>9}  {:<19}  {:<14}  -",
                spec.id.table(),
                error_state(&error),
                "-",
                "-",
                "-",
                "-"
            );
            eprintln!("{}", printable_lines(&error.to_string()));
        }
    }
}

/// The state of a plugin that cannot be loaded.
fn error_state(error: &LoadError) -> &'static str {
    match *error.kind {
        LoadErrorKind::InstalledFileChanged { .. } | LoadErrorKind::DigestMismatch { .. } => "changed",
        LoadErrorKind::Withdrawn { .. } => "withdrawn",
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
    // The tools are unknown until the component was compiled once.
    let mut tools = if offer.is_none() { "?".to_owned() } else { tools.join(", ") };
    match offer.map_or(0, |offer| find_suspicions(offer).len()) {
        0 => {}
        count => tools += &format!(" (suspicious: {count})"),
    }
    let licence: String = truncate_chars(licence, 14).to_owned();
    let (version, licence, tools) = (printable(version), printable(&licence), printable(&tools));
    let size = ByteSize(inspection.size).to_string();
    println!(
        "{:<28} {state:<16} {version:<10} {size:>9}  {}  {licence:<14}  {tools}",
        spec.id.table(),
        short_digest(digest)
    );
}

/// The beginning of a digest.
pub(super) fn short_digest(digest: &Digest) -> &str {
    digest.as_str().get(..19).unwrap_or_default()
}
