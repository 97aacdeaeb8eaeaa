//! The metrics of one plugin. A frequent event costs one atomic addition; a rare one looks up its labels.

use super::families::{Families, LabelValue, Labels, Seconds};
use super::usage::ResourceUsage;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Names of calls that are not calls of tools.
const BESIDE_TOOLS: [&str; 3] = ["read-resource", "get-prompt", "complete"];

/// The metrics of one plugin.
pub struct PluginMetrics {
    families: Arc<Families>,
    plugin: Arc<str>,
    tools: Vec<Tool>,
    in_progress: Gauge,
    duration: Histogram,
    fuel: Counter,
    cpu: Seconds,
    memory: Gauge,
    chunks: Counter,
    output: Counter,
    secrets: Counter,
    open_circuits: Gauge,
}

struct Tool {
    name: Arc<str>,
    ok: Counter,
    error: Counter,
}

impl PluginMetrics {
    pub(super) fn new(families: Arc<Families>, plugin: &str, tools: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let plugin: Arc<str> = plugin.into();
        let of: Labels<1> = [("plugin", LabelValue::Theirs(plugin.clone()))];
        let named = |name: &str| {
            let name: Arc<str> = name.into();
            let counter = |outcome| {
                families.calls.get_or_create_owned(&calls(&plugin, LabelValue::Theirs(name.clone()), outcome))
            };
            Tool { ok: counter("ok"), error: counter("error"), name }
        };
        Self {
            tools: tools.into_iter().map(|name| named(name.as_ref())).collect(),
            in_progress: families.calls_in_progress.get_or_create_owned(&of),
            duration: families.call_duration_seconds.get_or_create_owned(&of),
            fuel: families.fuel.get_or_create_owned(&of),
            cpu: families.cpu_seconds.get_or_create_owned(&of),
            memory: families.memory_peak_bytes.get_or_create_owned(&of),
            chunks: families.chunks.get_or_create_owned(&of),
            output: families.output_bytes.get_or_create_owned(&of),
            secrets: families.secrets_used.get_or_create_owned(&of),
            open_circuits: families.open_circuits.get_or_create_owned(&of),
            plugin,
            families,
        }
    }

    pub fn begun(&self) {
        self.in_progress.inc();
    }

    /// Counts that the call stops here and goes on in another instance, which will count its end.
    pub fn suspended(&self) {
        self.in_progress.dec();
    }

    /// Counts the end of a call, however far the call got.
    pub fn ended(&self, tool: &str, outcome: &'static str, used: &ResourceUsage) {
        self.in_progress.dec();
        let known = self.tools.iter().find(|known| &*known.name == tool);
        match (known, outcome) {
            (Some(tool), "ok") => drop(tool.ok.inc()),
            (Some(tool), "error") => drop(tool.error.inc()),
            (known, outcome) => {
                let beside = || BESIDE_TOOLS.into_iter().find(|name| *name == tool).unwrap_or("other");
                let tool =
                    known.map_or_else(|| LabelValue::Ours(beside()), |known| LabelValue::Theirs(known.name.clone()));
                self.families.calls.get_or_create(&calls(&self.plugin, tool, outcome)).inc();
            }
        }
        self.duration.observe(used.wall.as_secs_f64());
        self.fuel.inc_by(used.fuel.unwrap_or(0));
        self.cpu.inc_by(used.cpu.as_secs_f64());
        self.memory.inner().fetch_max(i64::try_from(used.memory).unwrap_or(i64::MAX), Ordering::Relaxed);
        self.chunks.inc_by(used.chunks);
        self.output.inc_by(used.output);
    }

    /// Counts a denial.
    pub fn denied(&self, capability: &'static str) {
        let labels = [self.label(), ("capability", LabelValue::Ours(capability))];
        self.families.denials.get_or_create(&labels).inc();
    }

    /// Counts a reverse call.
    pub fn called_back(&self, lane: &'static str, outcome: &'static str) {
        let labels = [self.label(), ("lane", LabelValue::Ours(lane)), ("outcome", LabelValue::Ours(outcome))];
        self.families.reverse_calls.get_or_create(&labels).inc();
    }

    pub fn asked(&self, kind: &'static str, outcome: &'static str) {
        let labels = [self.label(), ("kind", LabelValue::Ours(kind)), ("outcome", LabelValue::Ours(outcome))];
        self.families.questions.get_or_create(&labels).inc();
    }

    /// Counts an HTTP request with the status of its response, if there was one.
    pub fn requested(&self, status: Option<u16>) {
        let status = match status {
            Some(100..=199) => "1xx",
            Some(200..=299) => "2xx",
            Some(300..=399) => "3xx",
            Some(400..=499) => "4xx",
            Some(_) => "5xx",
            None => "none",
        };
        self.families.http_requests.get_or_create(&[self.label(), ("status", LabelValue::Ours(status))]).inc();
    }

    /// Counts a request that contained a secret.
    pub fn used_secret(&self) {
        self.secrets.inc();
    }

    /// Sets the number of tools with an open circuit.
    pub fn set_open_circuits(&self, tools: usize) {
        self.open_circuits.set(i64::try_from(tools).unwrap_or(i64::MAX));
    }

    fn label(&self) -> (&'static str, LabelValue) {
        ("plugin", LabelValue::Theirs(self.plugin.clone()))
    }
}

fn calls(plugin: &Arc<str>, tool: LabelValue, outcome: &'static str) -> Labels<3> {
    [("plugin", LabelValue::Theirs(plugin.clone())), ("tool", tool), ("outcome", LabelValue::Ours(outcome))]
}
