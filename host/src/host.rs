//! The composition root: builds the parts of a host from a [`Config`] and connects them.

mod config_reload;
mod error;
mod loading;
mod parts;

pub use error::StartError;
pub use loading::build_loader;
pub use parts::{open_audit, open_connection_broker};

use crate::config::Config;
use config_reload::ConfigReload;
use mcp::STEER_CALL;
use platform::audit::Audit;
use platform::changes::ChangeNotifier;
use platform::clock::{Clock, SystemClock};
use platform::confine::ConfineSettings;
use platform::file_descriptors;
use platform::outbound::SpanExporter;
use platform::telemetry::{Metrics, Tracer, raise_to};
use plugins::calls::{LocalTools, Runner, ToolCallerChain};
use plugins::catalog::{Catalog, CurrentCatalog, Plugin};
use plugins::loading::{FileWatch, Loader, Reloader};
use policy::PluginSpec;
use runtime::imports::{HostServices, OpenFiles, ToolCaller};
use services::connections::ConnectionBroker;
use services::principal_store::PrincipalStore;
use std::sync::Arc;
use upstream::{Upstream, gateway};

/// A running host: all plugins are loaded and can be called.
pub struct Host {
    pub catalog: Arc<CurrentCatalog>,
    /// Runs the tools that plugins call.
    pub agent: Arc<dyn ToolCaller>,
    pub runner: Arc<Runner>,
    pub principal_store: Arc<PrincipalStore>,
    pub changes: ChangeNotifier,
    pub clock: Arc<dyn Clock>,
    pub upstreams: Vec<Upstream>,
    pub audit: Audit,
    pub metrics: Arc<Metrics>,
    span_exporter: Option<SpanExporter>,
    loader: Arc<Loader>,
    watch: FileWatch,
}

impl Host {
    /// Builds and starts everything that `config` names. If a plugin cannot be loaded, the start fails, since a tool that
    /// is silently missing is worse.
    pub async fn start(config: &Config, broker: Option<Arc<ConnectionBroker>>) -> Result<Self, StartError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let changes = ChangeNotifier::new();
        let metrics = Arc::new(Metrics::new());
        let audit = open_audit(config)?;
        let (tracer, span_exporter) = parts::start_tracer(config, clock.clone())?;

        let loader = Arc::new(loading::build_serving_loader(config, clock.clone(), metrics.clone())?);
        let specs: Vec<PluginSpec> = config.plugins.iter().chain(&config.agent).cloned().collect();
        // The watch begins before the files are read, so that no change is missed.
        let watch = FileWatch::new(specs.iter().map(|spec| spec.source.clone()));
        let plugins = loading::load_all(loader.clone(), specs).await?;
        loader.warm_up(&plugins);

        let principal_store = Arc::new(PrincipalStore::new(clock.clone(), changes.clone()));
        let nothing = HostServices::none();
        let services = HostServices {
            publisher: principal_store.clone(),
            events: principal_store.clone(),
            state: parts::open_state(config).await?.unwrap_or(nothing.state),
            egress: parts::open_egress(config)?,
            connections: match broker {
                Some(broker) => broker,
                None => nothing.connections,
            },
            open_files: OpenFiles::new(file_descriptors::shares().guest_files),
        };
        let model = parts::open_model(config, clock.clone(), &plugins)?;
        let catalog = build_catalog(config, plugins, &changes)?;
        let runner = Arc::new(
            Runner::new(clock.clone(), services)
                .with_model(model)
                .with_principal_limits(config.per_principal)
                .with_audit(audit.clone())
                .with_tracer(tracer.clone()),
        );

        let local_tools = Arc::new(LocalTools::new(runner.clone(), catalog.clone()));
        let agent = Arc::new(ToolCallerChain::new(vec![local_tools]));
        let upstreams = gateway::connect(&config.upstreams, &agent, &catalog, clock.clone()).await;
        let host = Self {
            catalog,
            agent,
            runner,
            principal_store,
            changes,
            clock,
            upstreams,
            audit,
            metrics,
            span_exporter,
            loader,
            watch,
        };
        host.register_metrics(tracer);
        Ok(host)
    }

    /// Closes the connections to upstream servers, stops the programs that were started for them, and flushes spans and
    /// audit records.
    pub async fn close(self) {
        futures::future::join_all(self.upstreams.iter().map(Upstream::close)).await;
        if let Some(exporter) = self.span_exporter {
            exporter.close().await;
        }
        let audit = self.audit;
        // Errors are logged by the journal.
        let _ = tokio::task::spawn_blocking(move || audit.flush()).await;
    }

    /// Reloads changed component files, and the plugins of the configuration and the lock file, as long as it runs.
    /// `confined` names the folders that a confined server can still reach.
    pub fn reloader(&self, config: &Config, confined: Option<&ConfineSettings>) -> Reloader {
        let files = config.file.iter().chain(&config.lockfile).chain(&config.withdrawn_file).cloned().collect();
        let mut config = ConfigReload::new(config.clone(), confined);
        let reread = Box::new(move || config.reload().map_err(|error| error.to_string()));
        Reloader::new(self.loader.clone(), self.catalog.clone(), self.watch.clone(), files, reread)
    }

    /// Updates the levels that are not counted as they change, whenever the metrics are scraped.
    fn register_metrics(&self, tracer: Tracer) {
        // Weak, so that the metrics do not keep the runner alive.
        let runner = Arc::downgrade(&self.runner);
        let (catalog, clock) = (self.catalog.clone(), self.clock.clone());
        let (audit, loader) = (self.audit.clone(), self.loader.clone());
        self.metrics.on_scrape(move |levels| {
            for plugin in catalog.snapshot().all_plugins() {
                plugin.metrics.set_open_circuits(plugin.open_circuits(clock.as_ref()).len());
            }
            if let Some(runner) = runner.upgrade() {
                runner.update_levels(levels);
            }
            levels.instances.set(i64::try_from(loader.instance_count()).unwrap_or(i64::MAX));
            raise_to(&levels.audit_lost_records, audit.lost());
            raise_to(&levels.trace_lost_spans, tracer.lost());
        });
    }
}

/// Builds the catalog. `plugins` has the exposed plugins first, then those of the agent.
fn build_catalog(
    config: &Config,
    mut plugins: Vec<Arc<Plugin>>,
    changes: &ChangeNotifier,
) -> Result<Arc<CurrentCatalog>, StartError> {
    let agent_plugins = plugins.split_off(config.plugins.len());
    let reserved: &[&str] = if config.fallback_tools { &[STEER_CALL] } else { &[] };
    let catalog = Catalog::with_reserved_names(plugins, agent_plugins, reserved)?;
    for mention in catalog.cross_plugin_mentions() {
        tracing::warn!("{mention}");
    }
    Ok(Arc::new(CurrentCatalog::new(catalog, changes.clone())))
}
