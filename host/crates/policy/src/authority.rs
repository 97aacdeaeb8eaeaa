//! A plugin's authority: the intersection of requests and grants. What it decides about each capability is in the capability's
//! own file.

use super::capabilities::uses::{
    AgentToolUse, ConnectionUse, EnvUse, EventUse, FormUse, PublishUse, RootsUse, SampleUse, ScratchUse, StateUse,
    UrlUse,
};
use super::capabilities::{
    CapabilityUse, Subject, both, check_flow, http_grant_for, mount_for, path_refused, requested_mounts,
    secret_grant_for, secret_names_for,
};
use super::{
    Access, Capability, DataKey, Denial, Grants, HttpGrant, HttpTarget, Mount, MountOpening, PluginId, PrivateOrigins,
    Recipient, Requests, SampleGrant, ScratchGrant, SecretGrant, StateGrant,
};
use crate::names::secret_in_value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What grants may name of the host's own environment. Read once, when the host starts.
#[derive(Debug, Clone, Default)]
pub struct HostEnvironment {
    /// The variables that are granted to any plugin and that are set.
    pub environment: BTreeMap<String, String>,
    /// The state folder, if one is configured.
    pub state: Option<PathBuf>,
}

impl HostEnvironment {
    /// Where all scratch directories are.
    pub fn scratch_folder(&self) -> Option<PathBuf> {
        Some(self.state.as_deref()?.join("scratch"))
    }

    /// The scratch directory of a plugin with this data.
    pub fn scratch(&self, data: &DataKey) -> Option<PathBuf> {
        Some(self.scratch_folder()?.join(data.folder_name()))
    }
}

/// What one plugin may do: requests and grants intersected, computed once when the plugin is loaded.
#[derive(Debug, Clone)]
pub struct Authority {
    plugin: PluginId,
    data: DataKey,
    mounts: Vec<Mount>,
    requested: Requests,
    granted: Grants,
    environment: Vec<(String, String)>,
    scratch: Option<PathBuf>,
    unrequested_grants: Vec<&'static str>,
}

impl Authority {
    pub fn new(plugin: PluginId, requests: &Requests, grants: &Grants) -> Self {
        let (mounts, unrequested_grants) =
            (requested_mounts(requests.filesystem, &grants.filesystem), grants.unrequested(requests));
        let (requested, granted) = (requests.clone(), grants.clone());
        let (data, environment) = (DataKey::configured(&plugin), Vec::new());
        Self { plugin, data, mounts, requested, granted, environment, scratch: None, unrequested_grants }
    }

    /// Resolves the grants that name variables, and gives the plugin the scratch directory of the data with this key. A
    /// variable whose value looks like a secret is not passed on.
    pub fn with_environment(mut self, machine: &HostEnvironment, data: &DataKey) -> Self {
        self.data = data.clone();
        let value = |name: &str| {
            let value = machine.environment.get(name)?;
            // A plugin that has the secret could send it to everybody that it may send something to.
            secret_in_value(value).is_none().then(|| (name.to_owned(), value.clone()))
        };
        self.environment = self.env().filter_map(value).collect();
        if let (Ok(ScratchGrant { guest, .. }), Some(host)) = (self.scratch(), machine.scratch(data)) {
            let (guest, opening) = (guest.clone(), MountOpening::Own);
            let mount = Mount { host: host.clone(), guest, access: Access::Write, opening };
            self.mounts.push(mount);
            self.scratch = Some(host);
        }
        self
    }

    /// No authority at all: for inspecting a component before anything is granted to it.
    pub fn none(plugin: PluginId) -> Self {
        Self::new(plugin, &Requests::default(), &Grants::default())
    }

    pub fn plugin(&self) -> &PluginId {
        &self.plugin
    }

    /// The key of the data that its calls read and write.
    pub fn data(&self) -> &DataKey {
        &self.data
    }

    /// Grants that have no effect because the manifest does not request the capability; worth a warning.
    pub fn unrequested_grants(&self) -> &[&'static str] {
        &self.unrequested_grants
    }

    /// Whether its manifest requests files. If not, granting files has no effect.
    pub fn requests_files(&self) -> bool {
        self.requested.filesystem.is_some()
    }

    /// The directories to open for each call.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    fn subject(&self) -> Subject<'_> {
        Subject { plugin: &self.plugin, mounts: &self.mounts }
    }
}

/// What is allowed. Each function has the rules of the capability's own file.
impl Authority {
    /// Answers whether this is allowed, without using it. A path is only compared with the granted directories: its links are
    /// resolved when it is opened.
    pub fn decide(&self, capability: &Capability) -> Result<(), Denial> {
        capability.decide(self.subject(), &self.requested, &self.granted)
    }

    /// Whether a path, as the guest names it, is in a directory with this access. Links are not resolved here: the sandbox
    /// checks them when it opens the path.
    pub fn path(&self, path: &str, access: Access) -> Result<&Mount, Denial> {
        mount_for(self.subject(), self.requested.filesystem, path, access)
    }

    /// The denial for a path that the sandbox refused. `path` is as the guest named it.
    pub fn path_refused(&self, path: &str, access: Access) -> Denial {
        path_refused(self.subject(), self.requested.filesystem, path, access)
    }

    /// Whether a request may be sent. Returns the first grant that covers it: that one sets the limits and the options.
    pub fn http(&self, target: &HttpTarget) -> Result<&HttpGrant, Denial> {
        http_grant_for(&self.plugin, &self.requested.http, &self.granted.http, target)
    }

    /// Whether a secret may be sent to this host.
    pub fn secret(&self, name: &str, host: &str) -> Result<&SecretGrant, Denial> {
        secret_grant_for(&self.plugin, &self.requested.secrets, &self.granted.secrets, name, host)
    }

    /// The secrets that may be sent to this host.
    pub fn secrets_for(&self, host: &str) -> impl Iterator<Item = &str> {
        secret_names_for(&self.requested.secrets, &self.granted.secrets, host)
    }

    /// Whether a connected account may be used.
    pub fn connection(&self, name: &str) -> Result<(), Denial> {
        ConnectionUse::decide_name(&self.plugin, &self.requested.connections, &self.granted.connections, name)
    }

    /// Whether an agent-side tool may be called.
    pub fn agent_tool(&self, name: &str) -> Result<(), Denial> {
        AgentToolUse::decide_name(&self.plugin, &self.requested.agent_tools, &self.granted.agent_tools, name)
    }

    /// Whether forms may be shown to the user.
    pub fn form(&self) -> Result<(), Denial> {
        FormUse.decide(self.subject(), &self.requested.client, &self.granted.client)
    }

    /// Whether the user may be sent to a page on this host.
    pub fn url(&self, host: &str) -> Result<(), Denial> {
        UrlUse::decide_name(&self.plugin, &self.requested.client, &self.granted.client, host)
    }

    /// Whether a model may be asked, and how much.
    pub fn sample(&self) -> Result<SampleGrant, Denial> {
        SampleUse.decide(self.subject(), &self.requested.client, &self.granted.client)?;
        Ok(self.granted.client.sample.unwrap_or_default())
    }

    /// Whether the client's roots may be seen.
    pub fn roots(&self) -> Result<(), Denial> {
        RootsUse.decide(self.subject(), &self.requested.client, &self.granted.client)
    }

    /// Whether resources and prompts may be published.
    pub fn publish(&self) -> Result<(), Denial> {
        PublishUse.decide(self.subject(), &self.requested.publish, &self.granted.publish)
    }

    /// Whether an event of this name may be emitted.
    pub fn event(&self, name: &str) -> Result<(), Denial> {
        EventUse::decide_name(&self.plugin, &self.requested.events, &self.granted.events, name)
    }

    /// Names of variables of the host's environment that the guest sees.
    pub fn env(&self) -> impl Iterator<Item = &str> {
        let both = |name: &&String| self.requested.env.contains(name);
        self.granted.env.iter().filter(both).map(String::as_str)
    }

    /// The whole environment of the guest: names and values.
    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// Whether a variable of the host's environment may be seen.
    pub fn variable(&self, name: &str) -> Result<(), Denial> {
        EnvUse::decide_name(&self.plugin, &self.requested.env, &self.granted.env, name)
    }

    /// Whether key-value data may be kept, and its quota.
    pub fn state(&self) -> Result<StateGrant, Denial> {
        StateUse.decide(self.subject(), &self.requested.state, &self.granted.state)?;
        Ok(self.granted.state.clone().unwrap_or_default())
    }

    /// Whether the plugin has a scratch directory, and its quota.
    pub fn scratch(&self) -> Result<&ScratchGrant, Denial> {
        let grant = self.granted.scratch.as_ref();
        both(&self.plugin, grant.is_some(), self.requested.scratch, || ScratchUse)?;
        grant.ok_or_else(|| ScratchUse.not_granted(&self.plugin))
    }

    /// The path of the scratch directory, and how many bytes it may hold.
    pub fn scratch_folder(&self) -> Option<(&Path, u64)> {
        Some((self.scratch.as_deref()?, self.scratch().ok()?.size.as_u64()))
    }

    /// Whether a call that has seen these private results may send anything at all to this recipient.
    pub fn flow(&self, secrets: &PrivateOrigins, to: &Recipient) -> Result<(), Denial> {
        check_flow(&self.plugin, &self.granted.flows, secrets, to)
    }
}

#[cfg(test)]
mod tests;
