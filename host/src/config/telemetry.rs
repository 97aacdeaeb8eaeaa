//! `[telemetry]`: logs and traces.

use platform::outbound::Endpoint;
use platform::telemetry::LogFormat;
use serde::Deserialize;

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TelemetrySettings {
    /// The format of log lines.
    pub log: LogFormat,
    /// The URL of the OTLP collector, without `/v1/traces`. None disables spans.
    pub otlp: Option<Endpoint>,
}
