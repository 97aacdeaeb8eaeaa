//! Builds the parts of a host from its configuration. Warns about grants that have no effect.

use super::error::StartError;
use crate::config::Config;
use mcp::{SharedParking, TaskStore};
use platform::audit::{Audit, FileAuditLog};
use platform::clock::{Clock, SystemClock};
use platform::durable::{DurableStore, MemoryStore, UnusableStore};
use platform::file_descriptors;
use platform::files::{ProcessSlot, read_or_create_key};
use platform::outbound::{OutboundClient, SpanExporter, SystemNetwork};
use platform::secrets::SecretStore;
use platform::storage::SqliteStore;
use platform::telemetry::Tracer;
use runtime::imports::{ModelProvider, StateStore, UnusableState};
use services::connections::ConnectionBroker;
use services::egress::{HttpSender, SecretSearch};
use services::model::ChatModel;
use services::state::SqliteStateStore;
use std::sync::Arc;

/// Opens the audit log, for a server or a command whose decisions are recorded. Blocks.
pub fn open_audit(config: &Config) -> Result<Audit, StartError> {
    if config.audit.off {
        return Ok(Audit::none());
    }
    let Some(folder) = &config.audit.folder else {
        if config.audit.required {
            return Err(StartError::NoAuditLog);
        }
        tracing::warn!("nothing is recorded: set server.audit.folder, server.state or PORTCULLIS_STATE");
        return Ok(Audit::none());
    };
    let (log, head) = FileAuditLog::open(folder, &config.audit, Arc::new(SystemClock))?;
    tracing::debug!(%head, "audit log");
    Ok(Audit::new(Arc::new(log)))
}

/// Opens the store of tasks, idempotency keys, parked calls and what plugins publish. Without a state folder, they do not
/// outlive the process. If the existing store cannot be used, the returned one reports why and stores nothing: otherwise a call
/// whose key it has would run twice.
pub async fn open_durable_store(config: &Config, clock: Arc<dyn Clock>) -> TaskStore {
    let Some(folder) = config.state.clone() else {
        tracing::info!(
            "tasks, parked calls and what plugins publish do not outlive this process: set PORTCULLIS_STATE or server.state"
        );
        return TaskStore { store: Arc::new(MemoryStore::new(clock)), process: None };
    };
    let opening = clock.clone();
    let opened = tokio::task::spawn_blocking(move || {
        let store = SqliteStore::open(&folder, opening).map_err(|error| error.to_string())?;
        Ok((store, ProcessSlot::take(&folder).map_err(|error| format!("{}: {error}", folder.display()))?))
    });
    match opened.await.unwrap_or_else(|error| Err(error.to_string())) {
        Ok((store, process)) => TaskStore { store: with_crash_point(store), process: Some(process) },
        Err(error) => {
            tracing::error!("there are no tasks, and no calls with idempotency keys: {error}");
            TaskStore { store: Arc::new(UnusableStore::new(error)), process: None }
        }
    }
}

/// In debug builds, tests name a change at which the process ends (`cargo xtask crash --rounds`).
#[cfg(debug_assertions)]
fn with_crash_point(store: SqliteStore) -> Arc<dyn DurableStore> {
    use platform::durable::CrashingStore;
    let store: Arc<dyn DurableStore> = Arc::new(store);
    let point = crate::config::environment_variable("PORTCULLIS_CRASH_AT").and_then(|at| at.to_str()?.parse().ok());
    match point {
        Some(point) => Arc::new(CrashingStore::new(store, point)),
        None => store,
    }
}

#[cfg(not(debug_assertions))]
fn with_crash_point(store: SqliteStore) -> Arc<dyn DurableStore> {
    Arc::new(store)
}

/// Starts the exporter of spans, if a collector is configured.
pub(super) fn start_tracer(
    config: &Config,
    clock: Arc<dyn Clock>,
) -> Result<(Tracer, Option<SpanExporter>), StartError> {
    let Some(endpoint) = &config.telemetry.otlp else { return Ok((Tracer::default(), None)) };
    let (tracer, finished_spans) = Tracer::new(move || clock.unix());
    let exporter = SpanExporter::start(OutboundClient::new()?, endpoint, tracer.clone(), finished_spans);
    Ok((tracer, Some(exporter)))
}

/// Opens the broker of connected accounts, if any are configured. Blocks.
pub fn open_connection_broker(config: &Config) -> Result<Option<Arc<ConnectionBroker>>, StartError> {
    for spec in config.plugins.iter().chain(&config.agent) {
        for name in spec.grants.connections.iter().filter(|name| !config.connections.contains_key(*name)) {
            tracing::warn!(plugin = %spec.id, "the account `{name}` is granted, but there is no [connections.{name}]");
        }
    }
    if config.connections.is_empty() {
        return Ok(None);
    }
    let folder = config.state.as_deref().ok_or(StartError::NoState)?;
    let issuer = config.auth.oauth.as_ref();
    Ok(Some(Arc::new(ConnectionBroker::open(&config.connections, issuer, folder, Arc::new(SystemClock))?)))
}

/// Opens the sender of plugins' HTTP requests, with the configured secrets.
pub(super) fn open_egress(config: &Config) -> Result<Arc<HttpSender>, StartError> {
    let secrets = SecretStore::open(&config.secrets, crate::config::environment_variable)?;
    for missing in secrets.missing().values() {
        tracing::warn!("{missing}. Until then, calls that send it fail");
    }
    let sender = HttpSender::new(Arc::new(SystemNetwork), secrets, file_descriptors::shares().guest_connections);
    for spec in config.plugins.iter().chain(&config.agent) {
        for name in spec.grants.secrets.iter().map(|grant| &grant.name).filter(|name| !sender.has_secret(name)) {
            tracing::warn!(plugin = %spec.id, "the secret `{name}` is granted, but there is no [secrets.{name}]: `portcullis secret set {name}` makes it");
        }
    }
    Ok(Arc::new(sender))
}

/// Reads the configured secrets again, in order to find them in texts.
pub fn open_secret_search(config: &Config) -> Result<SecretSearch, StartError> {
    Ok(SecretSearch::new(&SecretStore::open(&config.secrets, crate::config::environment_variable)?))
}

/// Opens the state store, if any plugin is granted state. Where that fails, calls that need it fail.
pub(super) async fn open_state(config: &Config) -> Result<Option<Arc<dyn StateStore>>, StartError> {
    if !config.grants_state() {
        return Ok(None);
    }
    let Some(folder) = config.state.clone() else {
        tracing::warn!("plugins that are granted `state` keep nothing: set PORTCULLIS_STATE or server.state");
        return Ok(None);
    };
    let opened =
        tokio::task::spawn_blocking(move || SqliteStateStore::open(&folder)).await.map_err(StartError::Task)?;
    Ok(Some(match opened {
        Ok(store) => Arc::new(store),
        Err(error) => {
            tracing::error!("plugins neither store nor find anything: {error}");
            Arc::new(UnusableState::broken(error.to_string()))
        }
    }))
}

/// What the processes of one state folder need to take up each other's parked calls.
pub fn open_shared_parking(
    config: &Config,
    store: Arc<dyn DurableStore>,
    audit: Audit,
) -> Result<Option<SharedParking>, StartError> {
    let Some(folder) = &config.state else { return Ok(None) };
    let key = read_or_create_key(&folder.join("parked.key")).map_err(StartError::ParkedKey)?;
    Ok(Some(SharedParking { store, key, audit }))
}

/// Opens the configured fallback model, if there is one.
pub(super) fn open_model(config: &Config, clock: Arc<dyn Clock>) -> Result<Option<Arc<dyn ModelProvider>>, StartError> {
    let Some(settings) = &config.model else {
        for spec in config.plugins.iter().chain(&config.agent) {
            if spec.grants.client.sample.is_some_and(|grant| grant.fallback) {
                tracing::warn!(plugin = %spec.id, "`client.sample.fallback` has no effect: no [model] is configured");
            }
        }
        return Ok(None);
    };
    Ok(Some(Arc::new(ChatModel::open(settings, clock)?)))
}
