//! A plugin's authority: the intersection of requests and grants.

use super::{
    Access, Capability, DataKey, Denial, FilesystemGrant, Grants, HttpGrant, HttpTarget, PluginId, PrivateOrigins,
    Recipient, Requests, SampleGrant, ScratchGrant, SecretGrant, StateGrant, ToolPattern, first_blocked,
};
use crate::guest_path::{is_below, lexically_clean};
use crate::secret_shape::secret_in_value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A directory that is mounted for a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct Mount {
    /// Directory on this machine.
    pub host: PathBuf,
    pub guest: String,
    /// The lesser of the access that was requested and the access that was granted.
    pub access: Access,
    pub opening: MountOpening,
}

/// How the host opens a directory that is mounted.
#[derive(Debug, Clone, PartialEq)]
pub enum MountOpening {
    /// By its path. Links are followed: the operator decides where they lead.
    ByPath,
    /// Through this directory, which contains the mounted one and which guests may write to. Links that lead out of it are
    /// refused.
    Within(PathBuf),
    /// By its path, and it must not be a link: the directory belongs to the host itself.
    Own,
}

impl From<&FilesystemGrant> for Mount {
    fn from(grant: &FilesystemGrant) -> Self {
        let FilesystemGrant { host, guest, access, within } = grant.clone();
        let opening = within.map_or(MountOpening::ByPath, MountOpening::Within);
        Self { host, guest, access, opening }
    }
}

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
        let mounts: Vec<Mount> = match requests.filesystem {
            None => Vec::new(),
            Some(wanted) => grants
                .filesystem
                .iter()
                .map(|grant| Mount { access: grant.access.min(wanted), ..grant.into() })
                .collect(),
        };
        let idle = [
            ("filesystem", !grants.filesystem.is_empty() && requests.filesystem.is_none()),
            ("agent-tools", !grants.agent_tools.is_empty() && requests.agent_tools.is_empty()),
            ("client.form", grants.client.form && !requests.client.form),
            ("client.url", !grants.client.url.is_empty() && !requests.client.url),
            ("client.sample", grants.client.sample.is_some() && !requests.client.sample),
            ("client.roots", grants.client.roots && !requests.client.roots),
            ("publish", grants.publish && !requests.publish),
            ("events", !grants.events.is_empty() && requests.events.is_empty()),
            ("connections", !grants.connections.is_empty() && requests.connections.is_empty()),
            ("http", !grants.http.is_empty() && requests.http.is_empty()),
            ("secrets", !grants.secrets.is_empty() && requests.secrets.is_empty()),
            ("env", !grants.env.is_empty() && requests.env.is_empty()),
            ("state", grants.state.is_some() && !requests.state),
            ("scratch", grants.scratch.is_some() && !requests.scratch),
        ];
        let unrequested_grants = idle.into_iter().filter(|(_, idle)| *idle).map(|(key, _)| key).collect();
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

    /// Whether its manifest requests files. If not, granting files has no effect.
    pub fn requests_files(&self) -> bool {
        self.requested.filesystem.is_some()
    }

    /// The key of the data that its calls read and write.
    pub fn data(&self) -> &DataKey {
        &self.data
    }

    /// The directories to open for each call.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// Grants that have no effect because the manifest does not request the capability; worth a warning.
    pub fn unrequested_grants(&self) -> &[&'static str] {
        &self.unrequested_grants
    }

    /// Whether an agent-side tool may be called.
    pub fn agent_tool(&self, name: &str) -> Result<(), Denial> {
        let covers = |patterns: &[ToolPattern]| patterns.iter().any(|p| p.covers(name));
        self.both(covers(&self.granted.agent_tools), covers(&self.requested.agent_tools), || Capability::AgentTools {
            tool: name.to_owned(),
        })
    }

    /// Whether forms may be shown to the user.
    pub fn form(&self) -> Result<(), Denial> {
        self.both(self.granted.client.form, self.requested.client.form, || Capability::Form)
    }

    /// Whether the user may be sent to a page on this host.
    pub fn url(&self, host: &str) -> Result<(), Denial> {
        let granted = self.granted.client.url.iter().any(|p| p.covers(host));
        self.both(granted, self.requested.client.url, || Capability::Url { host: host.to_owned() })
    }

    /// Whether a model may be asked, and how much.
    pub fn sample(&self) -> Result<SampleGrant, Denial> {
        let granted = self.granted.client.sample;
        self.both(granted.is_some(), self.requested.client.sample, || Capability::Sample)?;
        Ok(granted.unwrap_or_default())
    }

    /// Whether the client's roots may be seen.
    pub fn roots(&self) -> Result<(), Denial> {
        self.both(self.granted.client.roots, self.requested.client.roots, || Capability::Roots)
    }

    /// Whether resources and prompts may be published.
    pub fn publish(&self) -> Result<(), Denial> {
        self.both(self.granted.publish, self.requested.publish, || Capability::Publish)
    }

    /// Whether an event of this name may be emitted.
    pub fn event(&self, name: &str) -> Result<(), Denial> {
        let covers = |patterns: &[ToolPattern]| patterns.iter().any(|p| p.covers(name));
        let capability = || Capability::Events { name: name.to_owned() };
        self.both(covers(&self.granted.events), covers(&self.requested.events), capability)
    }

    /// Whether a connected account may be used.
    pub fn connection(&self, name: &str) -> Result<(), Denial> {
        let names = |list: &[String]| list.iter().any(|known| known == name);
        let capability = || Capability::Connections { name: name.to_owned() };
        self.both(names(&self.granted.connections), names(&self.requested.connections), capability)
    }

    /// Whether a request may be sent. Returns the first grant that covers it: that one sets the limits and the options.
    pub fn http(&self, target: &HttpTarget) -> Result<&HttpGrant, Denial> {
        let grant = self.granted.http.iter().find(|grant| grant.allow.covers(target));
        let request = || target.to_string();
        match (grant, self.requested.http.iter().find(|pattern| pattern.covers(target))) {
            (Some(grant), Some(_)) => Ok(grant),
            (None, Some(requested)) => Err(Denial::http_not_granted(&self.plugin, request(), requested)),
            (_, None) => Err(Denial::not_requested(&self.plugin, Capability::Http { request: request() })),
        }
    }

    /// Whether a secret may be sent to this host.
    pub fn secret(&self, name: &str, host: &str) -> Result<&SecretGrant, Denial> {
        let grant = self.granted.secrets.iter().find(|grant| grant.name == name && grant.reaches(host));
        let requested = self.requested.secrets.iter().any(|known| known == name);
        let denial = match grant {
            Some(grant) if requested => return Ok(grant),
            None if requested => Denial::not_granted,
            Some(_) | None => Denial::not_requested,
        };
        Err(denial(&self.plugin, Capability::Secrets { name: name.to_owned(), host: host.to_owned() }))
    }

    /// The secrets that may be sent to this host.
    pub fn secrets_for(&self, host: &str) -> impl Iterator<Item = &str> {
        let requested = |grant: &&SecretGrant| self.requested.secrets.contains(&grant.name);
        let grants = self.granted.secrets.iter().filter(move |grant| grant.reaches(host));
        grants.filter(requested).map(|grant| &*grant.name)
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
        let names = |list: &[String]| list.iter().any(|known| known == name);
        let capability = || Capability::Env { name: name.to_owned() };
        self.both(names(&self.granted.env), names(&self.requested.env), capability)
    }

    /// Whether the plugin has a scratch directory, and its quota.
    pub fn scratch(&self) -> Result<&ScratchGrant, Denial> {
        match (&self.granted.scratch, self.requested.scratch) {
            (Some(grant), true) => Ok(grant),
            (Some(_), false) => Err(Denial::not_requested(&self.plugin, Capability::Scratch)),
            (None, _) => Err(Denial::not_granted(&self.plugin, Capability::Scratch)),
        }
    }

    /// The path of the scratch directory, and how many bytes it may hold.
    pub fn scratch_folder(&self) -> Option<(&Path, u64)> {
        Some((self.scratch.as_deref()?, self.scratch().ok()?.size.as_u64()))
    }

    /// Whether key-value data may be kept, and its quota.
    pub fn state(&self) -> Result<StateGrant, Denial> {
        self.both(self.granted.state.is_some(), self.requested.state, || Capability::State)?;
        Ok(self.granted.state.clone().unwrap_or_default())
    }

    /// Whether a call that has seen these private results may send anything at all to this recipient.
    pub fn flow(&self, secrets: &PrivateOrigins, to: &Recipient) -> Result<(), Denial> {
        match first_blocked(secrets, to, &self.granted.flows) {
            None => Ok(()),
            Some(from) => {
                let flow = format!("{from} -> {to}");
                Err(Denial::not_granted(&self.plugin, Capability::Flow { flow }))
            }
        }
    }

    /// Requires both grant and request; the denial names the missing one. If both are missing it names the request, because a
    /// grant alone would not help.
    fn both(&self, granted: bool, requested: bool, capability: impl Fn() -> Capability) -> Result<(), Denial> {
        match (granted, requested) {
            (_, false) => Err(Denial::not_requested(&self.plugin, capability())),
            (false, true) => Err(Denial::not_granted(&self.plugin, capability())),
            (true, true) => Ok(()),
        }
    }

    /// Whether a path, as the guest names it, is in a directory with this access. Links are not resolved here: the sandbox
    /// checks them when it opens the path.
    pub fn path(&self, path: &str, access: Access) -> Result<&Mount, Denial> {
        match self.mount_of(&lexically_clean(path)) {
            Some(mount) if mount.access >= access => Ok(mount),
            _ => Err(self.path_refused(path, access)),
        }
    }

    /// The mount that holds this clean path.
    fn mount_of(&self, clean: &str) -> Option<&Mount> {
        let inside = |mount: &&Mount| is_below(clean, mount.guest.trim_end_matches('/'));
        self.mounts.iter().filter(inside).max_by_key(|mount| mount.guest.len())
    }

    /// The denial for a path that the sandbox refused. `path` is as the guest named it.
    pub fn path_refused(&self, path: &str, access: Access) -> Denial {
        // The sandbox sees paths relative to a mount. It is known which mount that is only if there is just one.
        let full = match self.mounts.as_slice() {
            [only] if !path.starts_with('/') => format!("{}/{path}", only.guest),
            _ => path.to_owned(),
        };
        let clean = lexically_clean(&full);
        let mount = self.mount_of(&clean);
        let capability = |path: &str| Capability::Filesystem { path: path.to_owned(), access };
        match mount {
            None => match self.requested.filesystem {
                None => Denial::requests_no_files(capability(&clean)),
                // The remedy asks for no more access than the manifest requests: a grant of more would have no effect.
                Some(most) => {
                    let used = Capability::Filesystem { path: clean, access: access.min(most) };
                    Denial::not_granted(&self.plugin, used)
                }
            },
            Some(mount) if mount.access >= access => Denial::leads_outside(capability(path)),
            Some(_) if self.requested.filesystem != Some(Access::Write) => {
                Denial::requests_only_reading(&self.plugin, capability(path))
            }
            Some(mount) => Denial::read_only(&self.plugin, capability(path), &mount.guest),
        }
    }
}

#[cfg(test)]
mod tests;
