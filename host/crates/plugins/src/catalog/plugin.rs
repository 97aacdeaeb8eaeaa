//! A loaded plugin.

use crate::circuit_breaker::CircuitBreaker;
use crate::components::PluginCode;
use crate::offer::{PluginTemplate, PluginTool};
use platform::clock::Clock;
use platform::sync::Mutex;
use platform::telemetry::PluginMetrics;
use policy::{Authority, Digest, PluginId, PluginSpec, Survive, TokenBucket};
use runtime::imports::{DiskQuota, Prompt, ResourceInfo};
use std::sync::Arc;
use std::time::Duration;

/// Failures and call rate of one version of a plugin; a newer version starts with none.
#[derive(Debug, Default)]
pub(crate) struct PluginTraffic {
    pub(crate) breaker: CircuitBreaker,
    pub(crate) rate: Mutex<Option<TokenBucket>>,
}

/// A loaded plugin: it can be called, and never changes.
pub struct Plugin {
    pub spec: PluginSpec,
    pub digest: Digest,
    pub authority: Arc<Authority>,
    /// Sorted by name.
    pub tools: Vec<Arc<PluginTool>>,
    /// Sorted by URI.
    pub resources: Vec<ResourceInfo>,
    /// Sorted by template.
    pub templates: Vec<PluginTemplate>,
    /// Sorted by name.
    pub prompts: Vec<Prompt>,
    /// Whether it completes arguments.
    pub completes: bool,
    /// Whether it reads messages to its running calls.
    pub reads_steering: bool,
    /// What the steps of its tasks survive, if the operator or its manifest sets it.
    pub survive: Option<Survive>,
    /// Digest of everything it offers: the same for versions that describe themselves alike.
    pub definitions: Digest,
    pub metrics: Arc<PluginMetrics>,
    pub(crate) code: Arc<PluginCode>,
    pub(crate) traffic: PluginTraffic,
    /// Quota of its scratch directory. While calls of an old and a new version run side by side, each version has its own
    /// quota; what they wrote together is measured when the next call begins.
    pub(crate) scratch_quota: Option<Arc<DiskQuota>>,
}

impl Plugin {
    pub fn tool(&self, name: &str) -> Option<&Arc<PluginTool>> {
        self.tools.binary_search_by(|tool| tool.tool.name.as_str().cmp(name)).ok().and_then(|at| self.tools.get(at))
    }

    /// Whether a URI is one of its resources, or matches one of its templates.
    pub fn has_resource(&self, uri: &str) -> bool {
        self.resources.binary_search_by(|resource| resource.uri.as_str().cmp(uri)).is_ok()
            || self.templates.iter().any(|template| template.pattern.matches(uri))
    }

    pub fn id(&self) -> &PluginId {
        &self.spec.id
    }

    /// Its tools whose circuit is open, each with the time until it is tried again.
    pub fn open_circuits(&self, clock: &dyn Clock) -> Vec<(String, Duration)> {
        let open = self.traffic.breaker.open_circuits(clock.now());
        open.into_iter().map(|(circuit, remaining)| (circuit.target.to_string(), remaining)).collect()
    }
}
