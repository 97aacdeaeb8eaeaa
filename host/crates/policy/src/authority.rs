//! Requests and grants, intersected.

use super::{
    Access, Capability, Denial, Grants, Hearer, HttpGrant, HttpTarget, PluginId, Requests, SampleGrant, ScratchGrant,
    SecretGrant, Secrets, StateGrant, ToolPattern,
};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A directory that a plugin really gets.
#[derive(Debug, Clone, PartialEq)]
pub struct Mount {
    /// Directory on this machine.
    pub host: PathBuf,
    /// Where the guest sees it.
    pub guest: String,
    /// The lesser of what was requested and what was granted.
    pub access: Access,
}

/// What this machine has for grants that only name something. Read once, when the host starts.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// The variables that are granted to anybody, as far as they are set.
    pub environment: BTreeMap<String, String>,
    /// Folder of what outlives the process; none: nobody said where.
    pub state: Option<PathBuf>,
}

impl Machine {
    /// The directory of a plugin's own.
    pub fn scratch(&self, plugin: &PluginId) -> Option<PathBuf> {
        Some(self.state.as_deref()?.join("scratch").join(plugin.table()))
    }
}

/// What one plugin may do: requests and grants intersected, computed once when the plugin is loaded.
#[derive(Debug, Clone)]
pub struct Authority {
    plugin: PluginId,
    mounts: Vec<Mount>,
    requested: Requests,
    granted: Grants,
    environment: Vec<(String, String)>,
    scratch: Option<PathBuf>,
    idle_grants: Vec<&'static str>,
}

impl Authority {
    /// Intersects both keys.
    pub fn new(plugin: PluginId, requests: &Requests, grants: &Grants) -> Self {
        let mounts: Vec<Mount> = match requests.filesystem {
            None => Vec::new(),
            Some(wanted) => grants
                .filesystem
                .iter()
                .map(|grant| Mount {
                    host: grant.host.clone(),
                    guest: grant.guest.clone(),
                    access: grant.access.min(wanted),
                })
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
        let idle_grants = idle.into_iter().filter(|(_, idle)| *idle).map(|(key, _)| key).collect();
        let (requested, granted) = (requests.clone(), grants.clone());
        Self { plugin, mounts, requested, granted, environment: Vec::new(), scratch: None, idle_grants }
    }

    /// With what is really there behind the grants that only name something.
    pub fn on(mut self, machine: &Machine) -> Self {
        let value = |name: &str| Some((name.to_owned(), machine.environment.get(name)?.clone()));
        self.environment = self.env().filter_map(value).collect();
        if let (Ok(ScratchGrant { guest, .. }), Some(host)) = (self.scratch(), machine.scratch(&self.plugin)) {
            let mount = Mount { host: host.clone(), guest: guest.clone(), access: Access::Write };
            self.mounts.push(mount);
            self.scratch = Some(host);
        }
        self
    }

    /// No authority at all: for asking a component what it offers before anybody granted anything.
    pub fn none(plugin: PluginId) -> Self {
        Self::new(plugin, &Requests::default(), &Grants::default())
    }

    /// Whose authority this is.
    pub fn plugin(&self) -> &PluginId {
        &self.plugin
    }

    /// The directories to open for each call.
    pub fn mounts(&self) -> &[Mount] {
        &self.mounts
    }

    /// Grants that have no effect because the manifest does not request the capability; worth a warning.
    pub fn idle_grants(&self) -> &[&'static str] {
        &self.idle_grants
    }

    /// Whether an agent-side tool may be called.
    pub fn agent_tool(&self, name: &str) -> Result<(), Denial> {
        let covers = |patterns: &[ToolPattern]| patterns.iter().any(|p| p.covers(name));
        self.both(covers(&self.granted.agent_tools), covers(&self.requested.agent_tools), || Capability::AgentTools {
            tool: name.to_owned(),
        })
    }

    /// Whether forms may be put to the user.
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

    /// Whether a request may be sent, and how: by the first line that covers it.
    pub fn http(&self, target: &HttpTarget) -> Result<&HttpGrant, Denial> {
        let grant = self.granted.http.iter().find(|grant| grant.allow.covers(target));
        let requested = self.requested.http.iter().any(|pattern| pattern.covers(target));
        let denial = match grant {
            Some(grant) if requested => return Ok(grant),
            Some(_) => Denial::not_requested,
            None => Denial::not_granted,
        };
        Err(denial(&self.plugin, Capability::Http { request: target.to_string() }))
    }

    /// Whether a secret may be sent to this host.
    pub fn secret(&self, name: &str, host: &str) -> Result<&SecretGrant, Denial> {
        let grant = self.granted.secrets.iter().find(|grant| grant.name == name && grant.reaches(host));
        let requested = self.requested.secrets.iter().any(|known| known == name);
        let denial = match grant {
            Some(grant) if requested => return Ok(grant),
            Some(_) => Denial::not_requested,
            None => Denial::not_granted,
        };
        Err(denial(&self.plugin, Capability::Secrets { name: name.to_owned(), host: host.to_owned() }))
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

    /// Whether there is a directory of the plugin's own, and how much may be in it.
    pub fn scratch(&self) -> Result<&ScratchGrant, Denial> {
        match (&self.granted.scratch, self.requested.scratch) {
            (Some(grant), true) => Ok(grant),
            (Some(_), false) => Err(Denial::not_requested(&self.plugin, Capability::Scratch)),
            (None, _) => Err(Denial::not_granted(&self.plugin, Capability::Scratch)),
        }
    }

    /// Where that directory is, and how many bytes may be in it.
    pub fn scratch_folder(&self) -> Option<(&Path, u64)> {
        Some((self.scratch.as_deref()?, self.scratch().ok()?.size.as_u64()))
    }

    /// Whether values may be kept from call to call, and how much of them.
    pub fn state(&self) -> Result<StateGrant, Denial> {
        self.both(self.granted.state.is_some(), self.requested.state, || Capability::State)?;
        Ok(self.granted.state.unwrap_or_default())
    }

    /// Whether somebody may be told anything by a call that knows these private results.
    pub fn flow(&self, secrets: &Secrets, to: &Hearer) -> Result<(), Denial> {
        if to.is_client() {
            return Ok(());
        }
        let own = |from: &&super::Origin| matches!(to, Hearer::Origin(origin) if origin == *from);
        let granted = |from: &&super::Origin| self.granted.flows.iter().any(|flow| flow.covers(from, to));
        match secrets.iter().find(|from| !own(from) && !granted(from)) {
            None => Ok(()),
            Some(from) => {
                let flow = format!("{from} -> {to}");
                Err(Denial::not_granted(&self.plugin, Capability::Flow { flow }))
            }
        }
    }

    /// Both keys, or the denial that says which one is missing.
    fn both(&self, granted: bool, requested: bool, capability: impl Fn() -> Capability) -> Result<(), Denial> {
        match (granted, requested) {
            (false, _) => Err(Denial::not_granted(&self.plugin, capability())),
            (true, false) => Err(Denial::not_requested(&self.plugin, capability())),
            (true, true) => Ok(()),
        }
    }

    /// Whether a path, as the guest names it, is in a directory that is granted so far. What it leads to by links is
    /// decided by the sandbox, when it is opened.
    pub fn path(&self, path: &str, access: Access) -> Result<&Mount, Denial> {
        match self.mount_of(&lexically_clean(path)) {
            Some(mount) if mount.access >= access => Ok(mount),
            _ => Err(self.path_refused(path, access)),
        }
    }

    /// The directory that has this clean path.
    fn mount_of(&self, clean: &str) -> Option<&Mount> {
        let inside = |mount: &&Mount| is_below(clean, mount.guest.trim_end_matches('/'));
        self.mounts.iter().filter(inside).max_by_key(|mount| mount.guest.len())
    }

    /// The denial for a path that the sandbox refused. `path` is as the guest named it.
    pub fn path_refused(&self, path: &str, access: Access) -> Denial {
        // The sandbox sees paths relative to one of the directories; which one is clear only when there is one.
        let full = match self.mounts.as_slice() {
            [only] if !path.starts_with('/') => format!("{}/{path}", only.guest),
            _ => path.to_owned(),
        };
        let clean = lexically_clean(&full);
        let mount = self.mount_of(&clean);
        let capability = |path: &str| Capability::Filesystem { path: path.to_owned(), access };
        match mount {
            None => Denial::not_granted(&self.plugin, capability(&clean)),
            Some(mount) if mount.access >= access => Denial::leads_outside(capability(path)),
            Some(_) if self.requested.filesystem != Some(Access::Write) => {
                Denial::not_requested(&self.plugin, capability(path))
            }
            Some(mount) => Denial::read_only(&self.plugin, capability(path), &mount.guest),
        }
    }
}

/// Whether a path is this folder or something in it; both clean, the folder without a `/` at its end.
pub(super) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path without `.` and `..`, for wording only: what a path really leads to is decided by the sandbox, on handles.
pub(super) fn lexically_clean(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests;
