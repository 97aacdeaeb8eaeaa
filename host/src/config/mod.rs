//! The configuration file, the environment and the flags, resolved into one value. Unknown keys are errors.

mod edit;
mod environment;
mod file;
mod fixed;
mod installed;
mod secrets;
mod telemetry;
mod upstreams;

pub use edit::Line;
pub use environment::{certificates, editor, log_filter, quiet_log_filter, variable};
pub use file::ConfigFile;
pub use fixed::Fixed;

use bytesize::ByteSize;
use environment::{default_cache, default_state, home_expanded};
use platform::audit::AuditSettings;
use platform::identity::AuthSettings;
use platform::outbound::Endpoint;
use platform::secrets::SecretSource;
use plugins::install::{LockError, SourceSettings, SourceTables, lock_path};
use policy::{Digest, Grants, Limits, Machine, ParkingLimits, PluginId, PluginSpec, PrincipalLimits, Side};
use serde::Deserialize;
use services::connections::ConnectionSettings;
use services::model::ModelSettings;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use telemetry::TelemetrySettings;
use upstream::UpstreamSettings;

pub use upstreams::upstream;

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
    #[error(transparent)]
    Lock(#[from] LockError),
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
    telemetry: TelemetrySettings,
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
    confine: Option<bool>,
    reload: Option<bool>,
    http: Option<SocketAddr>,
    allowed_hosts: Option<Vec<String>>,
    allowed_origins: Vec<String>,
    cache: Option<PathBuf>,
    state: Option<PathBuf>,
    public: Option<Endpoint>,
    metrics: Option<SocketAddr>,
    audit: AuditSettings,
    auth: AuthSettings,
    parked: ParkingLimits,
    per_principal: PrincipalLimits,
    max_body: Option<ByteSize>,
    max_sessions: Option<NonZeroU32>,
    #[serde(with = "humantime_serde")]
    poll_after: Option<Duration>,
    fallback_tools: bool,
    withdrawn: Vec<Digest>,
    withdrawn_file: Option<PathBuf>,
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
    /// Where to serve counters; none: nowhere.
    pub metrics: Option<SocketAddr>,
    /// Logs and traces.
    pub telemetry: TelemetrySettings,
    /// How decisions are recorded.
    pub audit: AuditSettings,
    /// Whether the server gives up what it does not need of the machine.
    pub confine: bool,
    /// How clients over HTTP say who they are.
    pub auth: AuthSettings,
    /// How many calls may wait for answers.
    pub parked: ParkingLimits,
    /// What one principal's calls may take of the host.
    pub per_principal: PrincipalLimits,
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
    /// Where it was read, as an absolute path; none: it is no file's.
    pub file: Option<PathBuf>,
    /// What of it holds until the host is started again.
    pub fixed: Fixed,
    /// The file of what is installed; none: there is no configuration file that it could belong to.
    pub lock: Option<PathBuf>,
    /// File of withdrawn components.
    pub withdrawn_file: Option<PathBuf>,
    /// Withdrawn components; [`Config::withdrawn`] has those of the file, too.
    pub withdrawn: Vec<Digest>,
}

impl Config {
    /// Reads a configuration file, without what is installed.
    pub fn load_alone(path: &Path) -> Result<Self, ConfigError> {
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
        let file = std::path::absolute(path).ok();
        let folder = file.as_deref().and_then(Path::parent).map(Path::to_owned).unwrap_or_default();
        let lock = file.as_deref().map(lock_path);
        Ok(Self { file, lock, ..Self::parse(&text, path, &folder)? })
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
        let upstreams = upstreams::all(&file, path, folder)?;
        let state = file.server.state.map(|state| folder.join(home_expanded(&state))).or_else(default_state);
        let audit = audit(file.server.audit, state.as_deref(), folder);
        let in_server = |message| ConfigError::Table { path: path.to_owned(), table: "server".into(), message };
        file.server.per_principal.check().map_err(in_server)?;
        let mut auth = file.server.auth;
        auth.check().map_err(|message| ConfigError::Table {
            path: path.to_owned(),
            table: "server.auth".into(),
            message,
        })?;
        auth.keys = auth.keys.map(|keys| folder.join(home_expanded(&keys)));
        let model = file.model.map(|model| checked_model(model, path, folder)).transpose()?;
        Ok(Self {
            metrics: file.server.metrics,
            telemetry: file.telemetry,
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
            confine: file.server.confine.unwrap_or(true),
            reload: file.server.reload.unwrap_or(true),
            parked: file.server.parked,
            per_principal: file.server.per_principal,
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
            file: None,
            fixed: Fixed::of(text),
            lock: None,
            withdrawn_file: file.server.withdrawn_file.map(|list| folder.join(home_expanded(&list))),
            withdrawn: file.server.withdrawn,
        })
    }

    /// What this machine has for the grants of these plugins, and of nobody else.
    pub fn machine(&self) -> Machine {
        let names = self.plugins.iter().chain(&self.agent).flat_map(|spec| &spec.grants.env);
        let environment = names.filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect();
        Machine { environment, state: self.state.clone() }
    }

    /// Whether any plugin may keep values from call to call.
    pub fn keeps_state(&self) -> bool {
        self.plugins.iter().chain(&self.agent).any(|spec| spec.grants.state.is_some())
    }

    /// Whether it starts programs of the operator's: servers behind this one, on their stdin and stdout.
    pub fn starts_programs(&self) -> bool {
        self.upstreams.iter().any(|upstream| !upstream.command.is_empty())
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

fn checked_model(mut model: ModelSettings, path: &Path, folder: &Path) -> Result<ModelSettings, ConfigError> {
    model.check().map_err(|message| ConfigError::Table { path: path.to_owned(), table: "model".into(), message })?;
    model.key_file = model.key_file.map(|file| folder.join(home_expanded(&file)));
    Ok(model)
}

fn plugin(side: Side, name: String, table: PluginTable, path: &Path, folder: &Path) -> Result<PluginSpec, ConfigError> {
    let fail = |message: String| {
        let table = format!("{}.{name}", side.table());
        ConfigError::Table { path: path.to_owned(), table, message }
    };
    let id = PluginId::new(side, &name).map_err(fail)?;
    table.limits.check().map_err(|error| fail(error.to_string()))?;
    let mut grants = table.grants;
    grants.check().map_err(fail)?;
    for mount in &mut grants.filesystem {
        mount.host = folder.join(home_expanded(&mount.host));
    }
    Ok(PluginSpec {
        source: folder.join(home_expanded(&table.source)),
        digest: table.digest,
        definitions: None,
        prefix: table.prefix,
        private: table.private,
        grants,
        limits: table.limits,
        id,
    })
}

#[cfg(test)]
mod tests;
