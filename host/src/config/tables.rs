//! The tables of the configuration file, as serde reads them. Unknown keys are errors.

use super::listen_address;
use super::telemetry::TelemetrySettings;
use bytesize::ByteSize;
use platform::audit::AuditSettings;
use platform::identity::AuthSettings;
use platform::outbound::Endpoint;
use platform::secrets::SecretSource;
use plugins::install::SourceSettings;
use policy::{
    ApprovalRule, Digest, FuelLimits, Grants, IdempotencyLimits, Limits, ParkedCallLimits, PrincipalLimits, TaskLimits,
};
use serde::Deserialize;
use services::connections::ConnectionSettings;
use services::model::ModelSettings;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;
use upstream::UpstreamSettings;

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct ConfigTables {
    #[serde(default)]
    pub(super) server: ServerTable,
    #[serde(default)]
    pub(super) plugins: BTreeMap<String, PluginTable>,
    #[serde(default)]
    pub(super) agent: BTreeMap<String, PluginTable>,
    #[serde(default)]
    pub(super) connections: BTreeMap<String, ConnectionSettings>,
    #[serde(default)]
    pub(super) secrets: BTreeMap<String, SecretSource>,
    pub(super) model: Option<ModelSettings>,
    pub(super) stand_in: Option<StandInTable>,
    pub(super) code: Option<CodeTable>,
    #[serde(default)]
    pub(super) telemetry: TelemetrySettings,
    #[serde(default)]
    pub(super) upstream: BTreeMap<String, UpstreamSettings>,
    #[serde(default)]
    pub(super) sources: BTreeMap<String, SourceSettings>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct StandInTable {
    pub(super) tools: PathBuf,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct CodeTable {
    pub(super) plugin: String,
    #[serde(default)]
    pub(super) only: bool,
    #[serde(default)]
    pub(super) approval: ApprovalRule,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub(super) struct ServerTable {
    pub(super) confine: Option<bool>,
    pub(super) reload: Option<bool>,
    pub(super) grants: GrantChanges,
    #[serde(deserialize_with = "listen_address::deserialize")]
    pub(super) http: Option<SocketAddr>,
    pub(super) allowed_hosts: Option<Vec<String>>,
    pub(super) allowed_origins: Vec<String>,
    pub(super) cache: Option<PathBuf>,
    pub(super) state: Option<PathBuf>,
    pub(super) public_url: Option<Endpoint>,
    #[serde(deserialize_with = "listen_address::deserialize")]
    pub(super) metrics: Option<SocketAddr>,
    pub(super) audit: AuditSettings,
    pub(super) auth: AuthSettings,
    pub(super) parked: ParkedCallLimits,
    pub(super) tasks: TaskLimits,
    pub(super) idempotency: IdempotencyLimits,
    pub(super) fuel: FuelLimits,
    pub(super) per_principal: PrincipalLimits,
    pub(super) max_body: Option<ByteSize>,
    pub(super) max_sessions: Option<NonZeroU32>,
    #[serde(with = "humantime_serde")]
    pub(super) poll_after: Option<Duration>,
    pub(super) fallback_tools: bool,
    pub(super) withdrawn: Vec<Digest>,
    pub(super) withdrawn_file: Option<PathBuf>,
}

/// When a running server takes up new grants.
#[derive(Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum GrantChanges {
    #[default]
    Live,
    /// When they are confirmed at a terminal.
    Locked,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct PluginTable {
    pub(super) source: PathBuf,
    pub(super) digest: Option<Digest>,
    #[serde(default = "yes")]
    pub(super) prefix: bool,
    #[serde(default)]
    pub(super) private: bool,
    #[serde(default)]
    pub(super) grants: Grants,
    #[serde(default)]
    pub(super) limits: Limits,
    /// Tools, each with the argument that is the idempotency key of its calls.
    #[serde(default)]
    pub(super) idempotency: BTreeMap<String, String>,
}

fn yes() -> bool {
    true
}
