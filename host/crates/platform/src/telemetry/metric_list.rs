//! The list of all metrics, for documentation and registration.

/// A metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// The name without the prefix `portcullis_`; its last word is the unit.
    pub name: &'static str,
    /// `counter`, `gauge` or `histogram`. The samples of a counter end in `_total`.
    pub kind: &'static str,
    pub labels: &'static [&'static str],
    /// A sentence without the full stop at its end.
    pub help: &'static str,
}

const fn metric(name: &'static str, kind: &'static str, labels: &'static [&'static str], help: &'static str) -> Metric {
    Metric { name, kind, labels, help }
}

/// All metrics. The values of labels come only from the operator, a loaded plugin or the host's code, so that no client
/// controls the number of series. `plugin` is the plugin's table in the configuration.
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
    metric("open_circuits", "gauge", &["plugin"], "Open circuit breakers: tools that are not called for a while because they kept failing, by principal and caller"),
    metric("root_calls", "gauge", &[], "Calls of clients that have a place now"),
    metric("waiting_calls", "gauge", &[], "Instances of calls that wait for somebody outside now, nested calls' too"),
    metric("parked_calls", "gauge", &[], "Calls that wait for a client to come back now"),
    metric("open_tasks", "gauge", &[], "Tasks that this process serves"),
    metric("suspended_tasks", "gauge", &[], "Tasks that wait without an instance"),
    metric("ready_instances", "gauge", &[], "Instances that were made ahead and wait for a call"),
    metric("instances", "gauge", &[], "Instances of plugins that there are now, nested calls' and those made ahead too"),
    metric("compile_seconds", "histogram", &[], "Time to compile a component"),
    metric("audit_lost_records", "counter", &[], "Audit records that could not be kept"),
    metric("trace_lost_spans", "counter", &[], "Spans that the collector did not take in time"),
];
