//! The metric families of plugins, and how they are registered.

use super::metric_list::METRICS;
use prometheus_client::encoding::{EncodeLabelValue, LabelValueEncoder};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric as Registered, Registry};
use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// The values of a metric's labels.
pub(super) type Labels<const N: usize> = [(&'static str, LabelValue); N];
pub(super) type Times = Family<Labels<1>, Histogram, fn() -> Histogram>;
pub(super) type Seconds = Counter<f64, AtomicU64>;

/// The value of a label: a constant, or a word that the plugin or the operator has chosen.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum LabelValue {
    Ours(&'static str),
    Theirs(Arc<str>),
}

impl EncodeLabelValue for LabelValue {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        match self {
            Self::Ours(word) => encoder.write_str(word),
            Self::Theirs(word) => encoder.write_str(word),
        }
    }
}

/// The metrics that each plugin has.
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
    pub(super) open_circuits: Family<Labels<1>, Gauge>,
}

/// Buckets from 0.1 ms to half an hour, because calls may wait for people.
fn of_calls() -> Histogram {
    Histogram::new([0.0001, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0, 1800.0])
}

impl Families {
    pub(super) fn register(to: &mut Registry) -> Self {
        Self {
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
            open_circuits: add(to, "open_circuits", Family::default()),
        }
    }
}

/// Registers a metric with its description from the list.
pub(super) fn add<M: Registered + Clone>(registry: &mut Registry, name: &str, metric: M) -> M {
    let help = METRICS.iter().find(|metric| metric.name == name).map_or("", |metric| metric.help);
    registry.register(name, help, metric.clone());
    metric
}
