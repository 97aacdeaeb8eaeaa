//! The counters of one plugin. Counting one thing is an atomic addition; what is rare is looked up among labels that are
//! there already, without writing any text.

use super::metrics::{Labels, Metrics, Seconds, Word};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What is called besides tools.
const BESIDE_TOOLS: [&str; 3] = ["read-resource", "get-prompt", "complete"];

/// What a call used.
#[derive(Debug, Clone, Copy, Default)]
#[allow(missing_docs, reason = "the list of metrics says what they are")]
pub struct Used {
    pub fuel: Option<u64>,
    pub cpu: Duration,
    pub wall: Duration,
    pub memory: u64,
    pub chunks: u64,
    pub output: u64,
}

/// The counters of one plugin.
pub struct Meter {
    metrics: Arc<Metrics>,
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
    left_alone: Gauge,
}

struct Tool {
    name: Arc<str>,
    ok: Counter,
    error: Counter,
}

impl Meter {
    pub(super) fn new(metrics: Arc<Metrics>, plugin: &str, tools: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        let plugin: Arc<str> = plugin.into();
        let of: Labels<1> = [("plugin", Word::Theirs(plugin.clone()))];
        let families = &metrics.families;
        let named = |name: &str| {
            let name: Arc<str> = name.into();
            let counter =
                |outcome| families.calls.get_or_create_owned(&calls(&plugin, Word::Theirs(name.clone()), outcome));
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
            left_alone: families.tools_left_alone.get_or_create_owned(&of),
            plugin,
            metrics,
        }
    }

    /// A call was asked for.
    pub fn begun(&self) {
        self.in_progress.inc();
    }

    /// A call that was asked for is over, however far it came.
    pub fn ended(&self, tool: &str, outcome: &'static str, used: &Used) {
        self.in_progress.dec();
        let known = self.tools.iter().find(|known| &*known.name == tool);
        match (known, outcome) {
            (Some(tool), "ok") => drop(tool.ok.inc()),
            (Some(tool), "error") => drop(tool.error.inc()),
            (known, outcome) => {
                let beside = || BESIDE_TOOLS.into_iter().find(|name| *name == tool).unwrap_or("other");
                let tool = known.map_or_else(|| Word::Ours(beside()), |known| Word::Theirs(known.name.clone()));
                self.metrics.families.calls.get_or_create(&calls(&self.plugin, tool, outcome)).inc();
            }
        }
        self.duration.observe(used.wall.as_secs_f64());
        self.fuel.inc_by(used.fuel.unwrap_or(0));
        self.cpu.inc_by(used.cpu.as_secs_f64());
        self.memory.inner().fetch_max(i64::try_from(used.memory).unwrap_or(i64::MAX), Ordering::Relaxed);
        self.chunks.inc_by(used.chunks);
        self.output.inc_by(used.output);
    }

    /// It was refused something.
    pub fn denied(&self, capability: &'static str) {
        let labels = [self.label(), ("capability", Word::Ours(capability))];
        self.metrics.families.denials.get_or_create(&labels).inc();
    }

    /// It has called a tool of the agent's.
    pub fn called_back(&self, lane: &'static str, outcome: &'static str) {
        let labels = [self.label(), ("lane", Word::Ours(lane)), ("outcome", Word::Ours(outcome))];
        self.metrics.families.reverse_calls.get_or_create(&labels).inc();
    }

    /// It has put a question.
    pub fn asked(&self, kind: &'static str, outcome: &'static str) {
        let labels = [self.label(), ("kind", Word::Ours(kind)), ("outcome", Word::Ours(outcome))];
        self.metrics.families.questions.get_or_create(&labels).inc();
    }

    /// It has sent a request, and this was answered, if anything.
    pub fn requested(&self, status: Option<u16>) {
        let status = match status {
            Some(100..=199) => "1xx",
            Some(200..=299) => "2xx",
            Some(300..=399) => "3xx",
            Some(400..=499) => "4xx",
            Some(_) => "5xx",
            None => "none",
        };
        self.metrics.families.http_requests.get_or_create(&[self.label(), ("status", Word::Ours(status))]).inc();
    }

    /// A secret was put into a request of it.
    pub fn used_secret(&self) {
        self.secrets.inc();
    }

    /// How many of its tools are not called at the moment, because they kept failing.
    pub fn left_alone(&self, tools: usize) {
        self.left_alone.set(i64::try_from(tools).unwrap_or(i64::MAX));
    }

    fn label(&self) -> (&'static str, Word) {
        ("plugin", Word::Theirs(self.plugin.clone()))
    }
}

fn calls(plugin: &Arc<str>, tool: Word, outcome: &'static str) -> Labels<3> {
    [("plugin", Word::Theirs(plugin.clone())), ("tool", tool), ("outcome", Word::Ours(outcome))]
}
