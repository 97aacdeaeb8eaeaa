//! Logs, metrics and traces. Logs go only to stderr, because stdout carries MCP messages.

mod characters;
mod families;
mod log;
mod metric_list;
mod metrics;
pub mod otlp;
mod plugin_metrics;
mod trace;
mod usage;

pub use characters::{escape_json, is_unsafe, printable, unsafe_characters};
pub use log::{LogFormat, init, is_closed_output, set_log_format};
pub use metric_list::{METRICS, Metric};
pub use metrics::{Metrics, ProcessMetrics, raise_to};
pub use plugin_metrics::PluginMetrics;
pub use trace::{ActiveSpan, Attribute, Span, SpanContext, Tracer};
pub use usage::ResourceUsage;
