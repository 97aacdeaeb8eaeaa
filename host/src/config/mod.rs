//! The configuration file, the environment and the flags, resolved into one value. Unknown keys are errors.

mod edit;
mod environment;
mod file;
mod secrets;

pub use edit::Line;
pub use environment::variable;
pub use file::ConfigFile;

use crate::agent::UpstreamSettings;
use crate::audit::AuditSettings;
use crate::connections::ConnectionSettings;
use crate::identity::AuthSettings;
use crate::install::{SourceSettings, SourceTables};
use crate::model::ModelSettings;
use crate::outbound::Endpoint;
use crate::policy::{Digest, Grants, Limits, Machine, ParkingLimits, PluginId, PluginSpec, Side};
use crate::secrets::SecretSource;
use bytesize::ByteSize;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Every key with its default and meaning; what `portcullis config --example` prints.
pub const EXAMPLE: &str = include_str!("example.toml");
/// The file that is read when none is named.
pub const DEFAULT_FILE: &str = "portcullis.toml";

/// Bounds what one request makes the host hold and parse.
const MAX_BODY: ByteSize = ByteSize::mib(4);
/// Bounds the memory and the disk that clients take which come and never say goodbye.
const MAX_SESSIONS: u32 = 1_000;

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum ConfigError {
    #[error("cannot read the configuration {path}: {source}{hint}")]
    Read { path: PathBuf, source: std::io::Error, hint: &'static str },
    #[error("{path}: {message}")]
    Parse { path: PathBuf, message: String },
    #[error("{path}: [{table}] {message}")]
    Table { path: PathBuf, table: String, message: String },
    #[error("{0}")]
    Environment(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct File {
    #[serde(default)]
    server: ServerTable,
    #[serde(default)]
    plugins: BTreeMap<String, PluginTable>,
    #[serde(default)]
    agent: BTreeMap<String, PluginTable>,
    #[serde(default)]
    connections: BTreeMap<String, ConnectionSettings>,
    #[serde(default)]
    secrets: BTreeMap<String, SecretSource>,
    model: Option<ModelSettings>,
    ask: Option<AskTable>,
    #[serde(default)]
    upstream: BTreeMap<String, UpstreamSettings>,
    #[serde(default)]
    sources: BTreeMap<String, SourceSettings>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct AskTable {
    tools: PathBuf,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
struct ServerTable {
    reload: Option<bool>,
    http: Option<SocketAddr>,
    allowed_hosts: Option<Vec<String>>,
    allowed_origins: Vec<String>,
    cache: Option<PathBuf>,
    state: Option<PathBuf>,
    public: Option<Endpoint>,
    audit: AuditSettings,
    auth: AuthSettings,
    parked: ParkingLimits,
    max_body: Option<ByteSize>,
    max_sessions: Option<NonZeroU32>,
    #[serde(with = "humantime_serde")]
    poll_after: Option<Duration>,
    fallback_tools: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct PluginTable {
    source: PathBuf,
    digest: Option<Digest>,
    #[serde(default = "yes")]
    prefix: bool,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    grants: Grants,
    #[serde(default)]
    limits: Limits,
}

fn yes() -> bool {
    true
}

/// Everything resolved: absolute paths, checked limits.
#[derive(Debug, Clone)]
pub struct Config {
    /// Where to serve HTTP; none: stdio.
    pub http: Option<SocketAddr>,
    /// Accepted Host headers.
    pub allowed_hosts: Vec<String>,
    /// Accepted Origin headers.
    pub allowed_origins: Vec<String>,
    /// Whether a component file that is replaced is taken up while the host runs. On by default: whoever can write the
    /// file decides what runs after the next start anyway.
    pub reload: bool,
    /// How decisions are recorded.
    pub audit: AuditSettings,
    /// How clients over HTTP say who they are.
    pub auth: AuthSettings,
    /// How many calls may wait for answers.
    pub parked: ParkingLimits,
    /// A model for plugins whose clients have none.
    pub model: Option<ModelSettings>,
    /// File of tools for which a client's model or user may stand in; none: nobody does.
    pub ask: Option<PathBuf>,
    /// Folder of compiled plugins.
    pub cache: PathBuf,
    /// Folder of what outlives the process; none: nobody said where, and the environment does not either.
    pub state: Option<PathBuf>,
    /// Where browsers reach this host; none: where it listens.
    pub public: Option<Endpoint>,
    /// Accounts that users can connect.
    pub connections: BTreeMap<String, ConnectionSettings>,
    /// Where secrets are kept that are sent for plugins.
    pub secrets: BTreeMap<String, SecretSource>,
    /// The largest body of an HTTP request.
    pub max_body: ByteSize,
    /// Legacy sessions over HTTP at a time.
    pub max_sessions: u32,
    /// When to close a legacy stream whose request still runs.
    pub poll_after: Option<Duration>,
    /// Whether tools are listed that stand in for requests which not every client can send.
    pub fallback_tools: bool,
    /// Exposed plugins.
    pub plugins: Vec<PluginSpec>,
    /// Agent-side plugins.
    pub agent: Vec<PluginSpec>,
    /// Servers behind this host.
    pub upstreams: Vec<UpstreamSettings>,
    /// What holds for plugins by where they are published.
    pub sources: SourceTables,
}

impl Config {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
            path: path.to_owned(),
            hint: match source.kind() {
                std::io::ErrorKind::NotFound => {
                    "; name one with --config, or begin with `portcullis config --example > portcullis.toml`"
                }
                _ => "",
            },
            source,
        })?;
        let folder = std::path::absolute(path).ok().and_then(|p| p.parent().map(Path::to_owned)).unwrap_or_default();
        Self::parse(&text, path, &folder)
    }

    /// Reads text; `path` is for messages, `folder` what relative paths are relative to.
    pub fn parse(text: &str, path: &Path, folder: &Path) -> Result<Self, ConfigError> {
        let fail = |error: toml::de::Error| ConfigError::Parse { path: path.to_owned(), message: error.to_string() };
        let file: File = toml::from_str(text).map_err(fail)?;
        let resolve = |side, tables: BTreeMap<String, PluginTable>| {
            tables
                .into_iter()
                .map(|(name, table)| plugin(side, name, table, path, folder))
                .collect::<Result<Vec<_>, _>>()
        };
        let upstreams = upstreams(&file, path, folder)?;
        let state = file.server.state.map(|state| folder.join(home_expanded(&state))).or_else(default_state);
        let audit = audit(file.server.audit, state.as_deref(), folder);
        let mut auth = file.server.auth;
        auth.check().map_err(|message| ConfigError::Table {
            path: path.to_owned(),
            table: "server.auth".into(),
            message,
        })?;
        auth.keys = auth.keys.map(|keys| folder.join(home_expanded(&keys)));
        let model = file.model.map(|model| checked_model(model, path, folder)).transpose()?;
        Ok(Self {
            audit,
            auth,
            model,
            ask: file.ask.map(|ask| folder.join(home_expanded(&ask.tools))),
            http: file.server.http,
            allowed_hosts: file
                .server
                .allowed_hosts
                .unwrap_or_else(|| ["localhost", "127.0.0.1", "::1"].map(String::from).into()),
            allowed_origins: file.server.allowed_origins,
            reload: file.server.reload.unwrap_or(true),
            parked: file.server.parked,
            cache: match file.server.cache {
                Some(cache) => folder.join(home_expanded(&cache)),
                None => default_cache()?,
            },
            state,
            public: file.server.public,
            connections: connections(file.connections, path, folder)?,
            secrets: secrets::checked(file.secrets, path, folder)?,
            max_body: file.server.max_body.unwrap_or(MAX_BODY),
            max_sessions: file.server.max_sessions.map_or(MAX_SESSIONS, NonZeroU32::get),
            poll_after: file.server.poll_after,
            fallback_tools: file.server.fallback_tools,
            plugins: resolve(Side::Server, file.plugins)?,
            agent: resolve(Side::Agent, file.agent)?,
            upstreams,
            sources: sources(file.sources, path, folder)?,
        })
    }

    /// What this machine has for the grants of these plugins, and of nobody else.
    pub fn machine(&self) -> Machine {
        let names = self.plugins.iter().chain(&self.agent).flat_map(|spec| &spec.grants.env);
        let environment = names.filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect();
        Machine { environment, state: self.state.clone() }
    }

    /// No plugins at all, as for `portcullis check`.
    pub fn empty() -> Result<Self, ConfigError> {
        Self::parse("", Path::new(""), Path::new(""))
    }
}

/// The journal is in the folder for state, unless it has one of its own.
fn audit(mut settings: AuditSettings, state: Option<&Path>, folder: &Path) -> AuditSettings {
    settings.folder = match settings.folder {
        Some(own) => Some(folder.join(home_expanded(&own))),
        None => state.map(|state| state.join("audit")),
    };
    settings
}

/// Whether a name can be a key that others name: part of tools' names, grants and addresses.
fn is_name(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    plain && !name.is_empty() && name.len() <= 32
}

fn connections(
    mut tables: BTreeMap<String, ConnectionSettings>,
    path: &Path,
    folder: &Path,
) -> Result<BTreeMap<String, ConnectionSettings>, ConfigError> {
    for (name, settings) in &mut tables {
        let fail = |message: String| ConfigError::Table {
            path: path.to_owned(),
            table: format!("connections.{name}"),
            message,
        };
        if !is_name(name) {
            return Err(fail("the name must be 1 to 32 of A-Z a-z 0-9 - _".into()));
        }
        settings.check().map_err(fail)?;
        settings.client_secret_file = settings.client_secret_file.take().map(|file| folder.join(home_expanded(&file)));
    }
    Ok(tables)
}

fn sources(tables: BTreeMap<String, SourceSettings>, path: &Path, folder: &Path) -> Result<SourceTables, ConfigError> {
    let checked = |(name, settings): (String, SourceSettings)| {
        let fail =
            |message: String| ConfigError::Table { path: path.to_owned(), table: format!("sources.{name:?}"), message };
        if name.contains("://") || name.is_empty() {
            return Err(fail("name a host, a host and folders, an absolute path, or * for everything".into()));
        }
        settings.check().map_err(fail)?;
        let mut settings = settings.resolved(|file| folder.join(home_expanded(file)));
        // Read now, since nothing else reads the environment; that it is missing matters when it is used.
        settings.password = settings.password_env.as_ref().and_then(|name| std::env::var(name).ok()).map(Into::into);
        Ok((name, settings))
    };
    tables.into_iter().map(checked).collect::<Result<_, _>>().map(SourceTables::new)
}

/// Servers behind this host. Their names are part of tools' names, beside those of plugins.
fn upstreams(file: &File, path: &Path, folder: &Path) -> Result<Vec<UpstreamSettings>, ConfigError> {
    let checked = |(name, settings): (&String, &UpstreamSettings)| {
        let fail =
            |message: String| ConfigError::Table { path: path.to_owned(), table: format!("upstream.{name}"), message };
        if !is_name(name) || name.contains("__") {
            return Err(fail("the name must be 1 to 32 of A-Z a-z 0-9 - _, without `__`".into()));
        }
        if file.plugins.contains_key(name) || file.agent.contains_key(name) {
            return Err(fail("a plugin has the same name; tools are told apart by it".into()));
        }
        upstream(name, settings.clone(), folder).map_err(fail)
    };
    file.upstream.iter().map(checked).collect()
}

/// A server to be a client of, with everything resolved: the error is a sentence. Paths are relative to `folder`.
pub fn upstream(name: &str, mut settings: UpstreamSettings, folder: &Path) -> Result<UpstreamSettings, String> {
    settings.key_file = settings.key_file.map(|file| folder.join(home_expanded(&file)));
    settings.named(name, environment::inherited())
}

fn checked_model(mut model: ModelSettings, path: &Path, folder: &Path) -> Result<ModelSettings, ConfigError> {
    model.check().map_err(|message| ConfigError::Table { path: path.to_owned(), table: "model".into(), message })?;
    model.key_file = model.key_file.map(|file| folder.join(home_expanded(&file)));
    Ok(model)
}

fn plugin(side: Side, name: String, table: PluginTable, path: &Path, folder: &Path) -> Result<PluginSpec, ConfigError> {
    let id = PluginId { side, name };
    let fail = |message: String| ConfigError::Table { path: path.to_owned(), table: id.table(), message };
    if !is_name(&id.name) || id.name.contains("__") {
        return Err(fail("the name must be 1 to 32 of A-Z a-z 0-9 - _, without `__`".into()));
    }
    table.limits.check().map_err(|error| fail(error.to_string()))?;
    let mut grants = table.grants;
    grants.check().map_err(fail)?;
    for mount in &mut grants.filesystem {
        mount.host = folder.join(home_expanded(&mount.host));
    }
    Ok(PluginSpec {
        source: folder.join(home_expanded(&table.source)),
        digest: table.digest,
        prefix: table.prefix,
        private: table.private,
        grants,
        limits: table.limits,
        id,
    })
}

fn home_expanded(path: &Path) -> PathBuf {
    match (path.strip_prefix("~"), std::env::var_os("HOME")) {
        (Ok(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => path.to_owned(),
    }
}

fn folder(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// `PORTCULLIS_STATE`, or `portcullis` in the user's folder for state.
fn default_state() -> Option<PathBuf> {
    folder("PORTCULLIS_STATE")
        .or_else(|| folder("XDG_STATE_HOME").map(|state| state.join("portcullis")))
        .or_else(|| folder("HOME").map(|home| home.join(".local/state/portcullis")))
}

/// `PORTCULLIS_CACHE`, or `portcullis` in the user's cache folder.
fn default_cache() -> Result<PathBuf, ConfigError> {
    folder("PORTCULLIS_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("portcullis")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache/portcullis")))
        .ok_or_else(|| ConfigError::Environment("no cache folder: set PORTCULLIS_CACHE or server.cache".into()))
}

/// The user's editor.
pub fn editor() -> Option<String> {
    ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok().filter(|text| !text.trim().is_empty()))
}

/// What is logged: `PORTCULLIS_LOG`, in the syntax of tracing filters. What rmcp says is an error may be a client's doing,
/// and a client must not fill the log.
pub fn log_filter() -> String {
    let quiet = "info,rmcp=error,rmcp::service=off,rmcp::transport::common::server_side_http=off";
    std::env::var("PORTCULLIS_LOG").unwrap_or_else(|_| quiet.into())
}

/// The same for a program that a person talks to: only what is wrong.
pub fn quiet_log_filter() -> String {
    std::env::var("PORTCULLIS_LOG").unwrap_or_else(|_| "warn,rmcp=off".into())
}

#[cfg(test)]
mod tests;
