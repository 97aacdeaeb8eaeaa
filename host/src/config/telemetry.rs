//! `[telemetry]`: what the host says about itself, and to whom.

use platform::outbound::Endpoint;
use platform::telemetry::LogFormat;
use serde::Deserialize;

/// Logs and traces.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct TelemetrySettings {
    /// How lines of the log are written.
    pub log: LogFormat,
    /// The collector that spans are sent to, without `/v1/traces`; none: there are no spans.
    pub otlp: Option<Endpoint>,
}
