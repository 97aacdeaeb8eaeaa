//! What is counted: every metric in one list, kept in atomics, written in the text format of OpenMetrics when asked.

use super::meter::Meter;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric as Registered, Registry};
use std::fmt::{self, Write as _};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A metric, for its reader.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// Without the prefix `portcullis_`; the unit is its last word.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`. The samples of a counter end in `_total`.
    pub kind: &'static str,
    /// By what it is told apart.
    pub labels: &'static [&'static str],
    /// What it is, as a sentence without its full stop.
    pub help: &'static str,
}

const fn metric(name: &'static str, kind: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind, labels, help }
}

/// All metrics. Labels have only values that the operator, a loaded plugin or the host's code has chosen, so that nobody
/// outside decides how many series there are; `plugin` is the table in the configuration.
#[rustfmt::skip]
pub const METRICS: &[Metric] = &[
    metric("calls", "counter", &["plugin", "tool", "outcome"], "Calls that ended, nested ones too; outcome: ok, error, or the code of the failure"),
    metric("calls_in_progress", "gauge", &["plugin"], "Calls that have not ended, those in line and those that wait too"),
    metric("call_duration_seconds", "histogram", &["plugin"], "Wall-clock time of calls, without their time in line"),
    metric("fuel", "counter", &["plugin"], "Units of fuel used"),
    metric("cpu_seconds", "counter", &["plugin"], "Time that calls spent on a CPU, nested calls included"),
    metric("memory_peak_bytes", "gauge", &["plugin"], "Largest linear memory of any call"),
    metric("chunks", "counter", &["plugin"], "Chunks sent before results"),
    metric("output_bytes", "counter", &["plugin"], "Bytes of chunks and results"),
    metric("denials", "counter", &["plugin", "capability"], "Uses of authority that were refused"),
    metric("reverse_calls", "counter", &["plugin", "lane", "outcome"], "Calls of the agent's tools"),
    metric("questions", "counter", &["plugin", "kind", "outcome"], "Questions put to the user or a model"),
    metric("http_requests", "counter", &["plugin", "status"], "Requests of plugins to other servers; status: 2xx to 5xx, or none"),
    metric("secrets_used", "counter", &["plugin"], "Requests that a secret was put into"),
    metric("tools_left_alone", "gauge", &["plugin"], "Tools that are not called for a while because they kept failing, by principal and caller"),
    metric("root_calls", "gauge", &[], "Calls of clients that have a place now"),
    metric("waiting_calls", "gauge", &[], "Calls that wait for somebody outside now"),
    metric("parked_calls", "gauge", &[], "Calls that wait for a client to come back now"),
    metric("ready_instances", "gauge", &[], "Instances that were made ahead and wait for a call"),
    metric("instances", "gauge", &[], "Instances of plugins that there are now, nested calls' and those made ahead too"),
    metric("compile_seconds", "histogram", &[], "Time to compile a component"),
    metric("audit_lost_records", "counter", &[], "Audit records that could not be kept"),
    metric("trace_lost_spans", "counter", &[], "Spans that the collector did not take in time"),
];

/// The values of a metric's labels.
pub(super) type Labels<const N: usize> = [(&'static str, Word); N];
pub(super) type Times = Family<Labels<1>, Histogram, fn() -> Histogram>;
/// Seconds.
pub(super) type Seconds = Counter<f64, AtomicU64>;

/// The value of a label: a word of the code, or one that plugin and operator have chosen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Word {
    Ours(&'static str),
    Theirs(Arc<str>),
}

impl EncodeLabelValue for Word {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        match self {
            Self::Ours(word) => encoder.write_str(word),
            Self::Theirs(word) => encoder.write_str(word),
        }
    }
}

/// What is counted of the process as a whole, brought up to date when somebody asks.
#[derive(Debug, Default, Clone)]
#[allow(missing_docs, reason = "the list above says what they are")]
pub struct Levels {
    pub root_calls: Gauge,
    pub waiting_calls: Gauge,
    pub parked_calls: Gauge,
    pub ready_instances: Gauge,
    pub instances: Gauge,
    pub audit_lost_records: Counter,
    pub trace_lost_spans: Counter,
}

type Update = Box<dyn Fn(&Levels) + Send + Sync>;

/// All counters of a process.
pub struct Metrics {
    registry: Registry,
    pub(super) families: Families,
    levels: Levels,
    compile_seconds: Histogram,
    updates: Mutex<Vec<Update>>,
}

/// What is counted of each plugin.
pub(super) struct Families {
    pub(super) calls: Family<Labels<3>, Counter>,
    pub(super) calls_in_progress: Family<Labels<1>, Gauge>,
    pub(super) call_duration_seconds: Times,
    pub(super) fuel: Family<Labels<1>, Counter>,
    pub(super) cpu_seconds: Family<Labels<1>, Seconds>,
    pub(super) memory_peak_bytes: Family<Labels<1>, Gauge>,
    pub(super) chunks: Family<Labels<1>, Counter>,
    pub(super) output_bytes: Family<Labels<1>, Counter>,
    pub(super) denials: Family<Labels<2>, Counter>,
    pub(super) reverse_calls: Family<Labels<3>, Counter>,
    pub(super) questions: Family<Labels<3>, Counter>,
    pub(super) http_requests: Family<Labels<2>, Counter>,
    pub(super) secrets_used: Family<Labels<1>, Counter>,
    pub(super) tools_left_alone: Family<Labels<1>, Gauge>,
}

/// Registers a metric under a name of the list.
fn add<M: Registered + Clone>(registry: &mut Registry, name: &str, metric: M) -> M {
    let help = METRICS.iter().find(|metric| metric.name == name).map_or("", |metric| metric.help);
    registry.register(name, help, metric.clone());
    metric
}

/// From a tenth of a millisecond to half an hour: calls may wait for people.
fn of_calls() -> Histogram {
    Histogram::new([0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0, 1800.0])
}

impl Metrics {
    /// All at zero.
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("portcullis");
        let to = &mut registry;
        let families = Families {
            calls: add(to, "calls", Family::default()),
            calls_in_progress: add(to, "calls_in_progress", Family::default()),
            call_duration_seconds: add(
                to,
                "call_duration_seconds",
                Family::new_with_constructor(of_calls as fn() -> _),
            ),
            fuel: add(to, "fuel", Family::default()),
            cpu_seconds: add(to, "cpu_seconds", Family::default()),
            memory_peak_bytes: add(to, "memory_peak_bytes", Family::default()),
            chunks: add(to, "chunks", Family::default()),
            output_bytes: add(to, "output_bytes", Family::default()),
            denials: add(to, "denials", Family::default()),
            reverse_calls: add(to, "reverse_calls", Family::default()),
            questions: add(to, "questions", Family::default()),
            http_requests: add(to, "http_requests", Family::default()),
            secrets_used: add(to, "secrets_used", Family::default()),
            tools_left_alone: add(to, "tools_left_alone", Family::default()),
        };
        let levels = Levels {
            root_calls: add(to, "root_calls", Gauge::default()),
            waiting_calls: add(to, "waiting_calls", Gauge::default()),
            parked_calls: add(to, "parked_calls", Gauge::default()),
            ready_instances: add(to, "ready_instances", Gauge::default()),
            instances: add(to, "instances", Gauge::default()),
            audit_lost_records: add(to, "audit_lost_records", Counter::default()),
            trace_lost_spans: add(to, "trace_lost_spans", Counter::default()),
        };
        let compile_seconds =
            add(to, "compile_seconds", Histogram::new([0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0]));
        Self { registry, families, levels, compile_seconds, updates: Mutex::default() }
    }

    /// The counters of one plugin, by its table in the configuration. Looked up once, when it is loaded.
    pub fn of_plugin(self: &Arc<Self>, plugin: &str, tools: impl IntoIterator<Item = impl AsRef<str>>) -> Meter {
        Meter::new(self.clone(), plugin, tools)
    }

    /// A component was compiled in so much time.
    pub fn compiled(&self, took: Duration) {
        self.compile_seconds.observe(took.as_secs_f64());
    }

    /// Brings levels up to date each time somebody asks.
    pub fn on_scrape(&self, update: impl Fn(&Levels) + Send + Sync + 'static) {
        self.updates.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(update));
    }

    /// Everything, in the text format of OpenMetrics.
    pub fn text(&self) -> String {
        for update in self.updates.lock().unwrap_or_else(PoisonError::into_inner).iter() {
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

/// Sets a counter of something that is counted elsewhere.
pub fn catch_up(counter: &Counter, total: u64) {
    counter.inc_by(total.saturating_sub(counter.get()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_and_what_is_registered_are_the_same() {
        let metrics = Arc::new(Metrics::new());
        let meter = metrics.of_plugin("plugins.p", ["t"]);
        meter.begun();
        meter.ended("t", "ok", &super::super::Used { fuel: Some(7), memory: 9, ..Default::default() });
        meter.denied("http");
        meter.called_back("live", "ok");
        meter.asked("form", "accept");
        meter.requested(Some(204));
        meter.used_secret();
        meter.left_alone(2);
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
        let meter = metrics.of_plugin("plugins.p", ["known"]);
        for outcome in ["ok", "error", "trap"] {
            meter.begun();
            meter.ended("never heard of", outcome, &Default::default());
        }
        let text = metrics.text();
        assert!(!text.contains("never"), "{text}");
        assert!(text.contains("tool=\"other\",outcome=\"trap\"} 1"), "{text}");
    }
}
