//! All metrics of the process, in the text format of OpenMetrics.

use super::families::{Families, add};
use super::plugin_metrics::PluginMetrics;
use crate::sync::Mutex;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::sync::Arc;
use std::time::Duration;

/// Metrics of the process as a whole, updated on each scrape.
#[derive(Debug, Default, Clone)]
pub struct ProcessMetrics {
    pub root_calls: Gauge,
    pub waiting_calls: Gauge,
    pub parked_calls: Gauge,
    pub open_tasks: Gauge,
    pub suspended_tasks: Gauge,
    pub ready_instances: Gauge,
    pub instances: Gauge,
    pub audit_lost_records: Counter,
    pub trace_lost_spans: Counter,
}

type Update = Box<dyn Fn(&ProcessMetrics) + Send + Sync>;

/// All metrics of a process.
pub struct Metrics {
    registry: Registry,
    families: Arc<Families>,
    levels: ProcessMetrics,
    compile_seconds: Histogram,
    updates: Mutex<Vec<Update>>,
}

impl Metrics {
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("portcullis");
        let to = &mut registry;
        let families = Arc::new(Families::register(to));
        let levels = ProcessMetrics {
            root_calls: add(to, "root_calls", Gauge::default()),
            waiting_calls: add(to, "waiting_calls", Gauge::default()),
            parked_calls: add(to, "parked_calls", Gauge::default()),
            open_tasks: add(to, "open_tasks", Gauge::default()),
            suspended_tasks: add(to, "suspended_tasks", Gauge::default()),
            ready_instances: add(to, "ready_instances", Gauge::default()),
            instances: add(to, "instances", Gauge::default()),
            audit_lost_records: add(to, "audit_lost_records", Counter::default()),
            trace_lost_spans: add(to, "trace_lost_spans", Counter::default()),
        };
        let compile_seconds =
            add(to, "compile_seconds", Histogram::new([0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0]));
        Self { registry, families, levels, compile_seconds, updates: Mutex::default() }
    }

    /// The metrics of one plugin, which is named by its table in the configuration. Looked up once, when the plugin is loaded.
    pub fn for_plugin(&self, plugin: &str, tools: impl IntoIterator<Item = impl AsRef<str>>) -> PluginMetrics {
        PluginMetrics::new(self.families.clone(), plugin, tools)
    }

    /// Records how long compiling a component took.
    pub fn compiled(&self, took: Duration) {
        self.compile_seconds.observe(took.as_secs_f64());
    }

    /// Registers an update of the process metrics, which runs on each scrape.
    pub fn on_scrape(&self, update: impl Fn(&ProcessMetrics) + Send + Sync + 'static) {
        self.updates.lock().push(Box::new(update));
    }

    /// All metrics in the text format of OpenMetrics.
    pub fn text(&self) -> String {
        for update in self.updates.lock().iter() {
            update(&self.levels);
        }
        let mut text = String::new();
        if encode(&mut text, &self.registry).is_err() {
            tracing::error!("metrics cannot be written");
        }
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// Raises a counter to a total that other code counts.
pub fn raise_to(counter: &Counter, total: u64) {
    counter.inc_by(total.saturating_sub(counter.get()));
}

#[cfg(test)]
mod tests {
    use super::super::metric_list::{METRICS, Metric};
    use super::super::usage::ResourceUsage;
    use super::*;

    #[test]
    fn the_list_and_what_is_registered_are_the_same() {
        let metrics = Arc::new(Metrics::new());
        let meter = metrics.for_plugin("plugins.p", ["t"]);
        meter.begun();
        meter.ended("t", "ok", &ResourceUsage { fuel: Some(7), memory: 9, ..Default::default() });
        meter.denied("http");
        meter.called_back("live", "ok");
        meter.asked("form", "accept");
        meter.requested(Some(204));
        meter.used_secret();
        meter.set_open_circuits(2);
        let text = metrics.text();
        for Metric { name, kind, labels, help } in METRICS {
            assert!(text.contains(&format!("# TYPE portcullis_{name} {kind}\n")), "{name} is no {kind}");
            assert!(text.contains(&format!("# HELP portcullis_{name} {help}.\n")), "{name}");
            let sample = text.lines().find(|line| line.starts_with(&format!("portcullis_{name}"))).unwrap();
            let given = sample.split_once('{').map_or(String::new(), |(_, rest)| rest.to_owned());
            assert!(labels.iter().all(|label| given.contains(&format!("{label}=\""))), "{sample}");
        }
        assert_eq!(text.matches("# TYPE").count(), METRICS.len(), "one is not in the list");
        assert!(text.contains("portcullis_calls_total{plugin=\"plugins.p\",tool=\"t\",outcome=\"ok\"} 1\n"), "{text}");
        assert!(text.contains("portcullis_http_requests_total{plugin=\"plugins.p\",status=\"2xx\"} 1\n"));
    }

    #[test]
    fn what_nobody_has_chosen_is_no_label() {
        let metrics = Arc::new(Metrics::new());
        let meter = metrics.for_plugin("plugins.p", ["known"]);
        for outcome in ["ok", "error", "trap"] {
            meter.begun();
            meter.ended("never heard of", outcome, &Default::default());
        }
        let text = metrics.text();
        assert!(!text.contains("never"), "{text}");
        assert!(text.contains("tool=\"other\",outcome=\"trap\"} 1"), "{text}");
    }
}
