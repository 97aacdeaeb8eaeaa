//! The resolved configuration: absolute paths, checked values, defaults filled in.

use super::code::CodeSettings;
use super::environment::{default_cache, state_variable};
use super::error::ConfigError;
use super::explain::explain;
use super::resolve::{Resolver, audit_folder};
use super::restart_settings::RestartSettings;
use super::state_folder::{self, DefaultStateFolder};
use super::tables::{ConfigTables, GrantChanges};
use super::telemetry::TelemetrySettings;
use bytesize::ByteSize;
use platform::audit::AuditSettings;
use platform::identity::AuthSettings;
use platform::outbound::Endpoint;
use platform::secrets::SecretSource;
use plugins::install::{ComponentStore, Lockfile, SourceTables, lockfile_path};
use policy::{
    Digest, FuelLimits, HostEnvironment, IdempotencyLimits, ParkedCallLimits, PluginSpec, PrincipalLimits, Side,
    TaskLimits, WithdrawnList,
};
use services::connections::ConnectionSettings;
use services::model::ModelSettings;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use upstream::UpstreamSettings;

/// Bounds the memory and the parsing time of one request.
const MAX_BODY: ByteSize = ByteSize::mib(4);
/// Bounds the memory and the disk space of clients that never end their sessions.
const MAX_SESSIONS: u32 = 1_000;

#[derive(Debug, Clone)]
pub struct Config {
    /// Where to serve HTTP. None for stdio.
    pub http: Option<SocketAddr>,
    /// Accepted `Host` headers.
    pub allowed_hosts: Vec<String>,
    /// Accepted `Origin` headers.
    pub allowed_origins: Vec<String>,
    /// Whether changed component files are reloaded while the host runs. On by default: a user who can write the file
    /// decides what runs after the next start anyway.
    pub reload: bool,
    /// Whether a running host takes up new grants only when they are confirmed at a terminal.
    pub locks_grants: bool,
    /// Where to serve metrics, if anywhere.
    pub metrics: Option<SocketAddr>,
    pub telemetry: TelemetrySettings,
    pub audit: AuditSettings,
    /// Whether the server gives up access to the machine that it does not need.
    pub confine: bool,
    /// How clients authenticate over HTTP.
    pub auth: AuthSettings,
    pub parked: ParkedCallLimits,
    pub tasks: TaskLimits,
    /// What is kept of calls with idempotency keys.
    pub idempotency: IdempotencyLimits,
    /// Fuel per day.
    pub fuel: FuelLimits,
    /// Limits on all calls of one principal together.
    pub per_principal: PrincipalLimits,
    /// A model for plugins whose client has none.
    pub model: Option<ModelSettings>,
    /// Code mode, if it is on.
    pub code: Option<CodeSettings>,
    /// A file of agent tools that the client's model or user may stand in for.
    pub stand_in_tools: Option<PathBuf>,
    /// The folder of compiled plugins.
    pub cache: PathBuf,
    /// The folder of persistent data. None if neither the configuration nor the environment names one.
    pub state: Option<PathBuf>,
    /// The same folder, if it is the default one.
    pub default_state: Option<DefaultStateFolder>,
    /// The URL under which browsers reach this host. None for the address that it listens on.
    pub public_url: Option<Endpoint>,
    pub connections: BTreeMap<String, ConnectionSettings>,
    /// Secrets that are sent in requests of plugins.
    pub secrets: BTreeMap<String, SecretSource>,
    /// Largest body of an HTTP request.
    pub max_body: ByteSize,
    /// Legacy HTTP sessions at a time.
    pub max_sessions: u32,
    /// When to close a legacy stream whose request is still running, so that the client polls.
    pub poll_after: Option<Duration>,
    /// Whether to list tools that replace requests which not every client can send.
    pub fallback_tools: bool,
    /// The plugins that are exposed to clients.
    pub plugins: Vec<PluginSpec>,
    pub agent: Vec<PluginSpec>,
    pub upstreams: Vec<UpstreamSettings>,
    pub sources: SourceTables,
    /// The configuration as it is written.
    pub text: String,
    /// The absolute path of the configuration file, if there is one that can be read again.
    pub file: Option<PathBuf>,
    /// The settings that take effect at a restart only.
    pub restart_settings: RestartSettings,
    /// The lock file beside the configuration file, if there is one.
    pub lockfile: Option<PathBuf>,
    /// A file of withdrawn components.
    pub withdrawn_file: Option<PathBuf>,
    /// Withdrawn components, without those of the file. See [`Config::load_withdrawn`].
    pub withdrawn: Vec<Digest>,
}

impl Config {
    /// Reads a configuration file without the installed plugins of the lock file.
    pub fn load_without_lockfile(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::reading(path, error))?;
        // A configuration from a pipe can be read only once, and no lock file can be beside it.
        let file = std::path::absolute(path).ok().filter(|file| file.is_file());
        let folder = match &file {
            Some(file) => file.parent().map(Path::to_owned),
            None => std::env::current_dir().ok(),
        };
        let lockfile = file.as_deref().map(lockfile_path);
        Ok(Self { file, lockfile, ..Self::parse(&text, path, &folder.unwrap_or_default())? })
    }

    /// Parses a configuration. `path` is for messages; relative paths are relative to `folder`.
    pub fn parse(text: &str, path: &Path, folder: &Path) -> Result<Self, ConfigError> {
        let fail =
            |error: toml::de::Error| ConfigError::Parse { path: path.to_owned(), message: explain(&error, text) };
        let tables: ConfigTables = toml::from_str(text).map_err(fail)?;
        let resolver = Resolver { file: path, folder };
        let upstreams = resolver.upstreams(&tables)?;
        let server = tables.server;
        server.per_principal.check().map_err(|message| resolver.error("server", message))?;
        server.tasks.check().map_err(|message| resolver.error("server", message))?;
        server.idempotency.check().map_err(|message| resolver.error("server", message))?;
        server.fuel.check().map_err(|message| resolver.error("server", message))?;
        let file = path.file_name().map(|name| folder.join(name));
        let configured = server.state.map(|state| resolver.path(&state));
        let (state, default_state) = match configured {
            // Configurations from pipes cannot be told apart, so none of them has a state folder of its own.
            None if path.exists() && !path.is_file() => (state_variable(), None),
            configured => state_folder::find(configured, file.as_deref()),
        };
        Ok(Self {
            metrics: server.metrics,
            telemetry: tables.telemetry,
            audit: resolver.audit(server.audit, state.as_deref()),
            auth: resolver.auth(server.auth)?,
            model: tables.model.map(|model| resolver.model(model)).transpose()?,
            code: tables.code.map(|table| resolver.code(table)).transpose()?,
            stand_in_tools: tables.stand_in.map(|table| resolver.path(&table.tools)),
            http: server.http,
            allowed_hosts: server
                .allowed_hosts
                .unwrap_or_else(|| ["localhost", "127.0.0.1", "::1"].map(String::from).into()),
            allowed_origins: server.allowed_origins,
            confine: server.confine.unwrap_or(true),
            reload: server.reload.unwrap_or(true),
            locks_grants: server.grants == GrantChanges::Locked,
            parked: server.parked,
            tasks: server.tasks,
            idempotency: server.idempotency,
            fuel: server.fuel,
            per_principal: server.per_principal,
            cache: match server.cache {
                Some(cache) => resolver.path(&cache),
                None => default_cache()?,
            },
            state,
            default_state,
            public_url: server.public_url,
            connections: resolver.connections(tables.connections)?,
            secrets: resolver.secrets(tables.secrets)?,
            max_body: server.max_body.unwrap_or(MAX_BODY),
            max_sessions: server.max_sessions.map_or(MAX_SESSIONS, NonZeroU32::get),
            poll_after: server.poll_after,
            fallback_tools: server.fallback_tools,
            plugins: resolver.plugins(Side::Server, tables.plugins)?,
            agent: resolver.plugins(Side::Agent, tables.agent)?,
            upstreams,
            sources: resolver.sources(tables.sources)?,
            text: text.to_owned(),
            file: None,
            restart_settings: RestartSettings::parse(text),
            lockfile: None,
            withdrawn_file: server.withdrawn_file.map(|list| resolver.path(&list)),
            withdrawn: server.withdrawn,
        })
    }

    /// Makes the state folder this configuration's own, unless another one is named. For callers that are about to store
    /// something there; must be called before [`Config::with_installed`].
    pub fn with_own_state(mut self) -> Self {
        let Some(folder) = self.default_state.take().map(DefaultStateFolder::take) else { return self };
        if self.audit.folder.is_some() && self.audit.folder == self.state.as_ref().map(|state| audit_folder(state)) {
            self.audit.folder = Some(audit_folder(folder.path()));
        }
        if let (Some(earlier), Some(lockfile)) = (folder.earlier(), &self.lockfile)
            && let Ok(lock) = Lockfile::load(lockfile)
            && let Err(error) = ComponentStore::new(folder.path()).copy_missing(&ComponentStore::new(earlier), &lock)
        {
            tracing::warn!("installed plugins may have to be fetched again by `portcullis plugin update`: {error}");
        }
        self.state = Some(folder.path().to_owned());
        self.default_state = Some(folder);
        self
    }

    /// What this host provides for the grants of these plugins. Contains only the environment variables that are granted.
    pub fn host_environment(&self) -> HostEnvironment {
        let names = self.plugins.iter().chain(&self.agent).flat_map(|spec| &spec.grants.env);
        let environment = names.filter_map(|name| Some((name.clone(), std::env::var(name).ok()?))).collect();
        HostEnvironment { environment, state: self.state.clone() }
    }

    /// Whether any plugin is granted state.
    pub fn grants_state(&self) -> bool {
        self.plugins.iter().chain(&self.agent).any(|spec| spec.grants.state.is_some())
    }

    /// Whether there are upstream servers that are started as programs.
    pub fn runs_upstream_programs(&self) -> bool {
        self.upstreams.iter().any(|upstream| !upstream.command.is_empty())
    }

    /// A configuration without plugins, such as for `portcullis check`.
    pub fn empty() -> Result<Self, ConfigError> {
        Self::parse("", Path::new(""), Path::new(""))
    }

    /// Reads the list of withdrawn components.
    pub fn load_withdrawn(&self) -> Result<WithdrawnList, ConfigError> {
        let list = WithdrawnList::new(self.withdrawn.iter().cloned());
        let Some(path) = &self.withdrawn_file else { return Ok(list) };
        let fail = |message: String| ConfigError::Parse { path: path.clone(), message };
        let text = std::fs::read_to_string(path)
            .map_err(|error| fail(format!("server.withdrawn-file cannot be read: {error}")))?;
        list.with_lines(&text).map_err(fail)
    }
}
