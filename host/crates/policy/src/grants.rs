//! What a plugin's manifest requests, and what an operator grants.

use super::exact_size::exact_size;
use super::{ClientGrants, ClientRequests, FlowPattern, HostPattern, HttpPattern, PrivateOrigins, ToolPattern};
use bytesize::ByteSize;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// Access to a directory. Ordered: write includes read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Read,
    /// Read, create, change and delete.
    Write,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
        })
    }
}

/// What a plugin's manifest requests. The default requests nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Requests {
    /// The most access to directories that it may get; the operator chooses the directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<Access>,
    /// Agent-side tools, by pattern.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agent_tools: Vec<ToolPattern>,
    #[serde(skip_serializing_if = "asks_nothing")]
    pub client: ClientRequests,
    /// Publish resources and prompts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub publish: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<ToolPattern>,
    /// Connected accounts, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpPattern>,
    /// Secrets to send with HTTP requests, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Variables of the host's environment, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub state: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scratch: bool,
}

fn asks_nothing(client: &ClientRequests) -> bool {
    *client == ClientRequests::default()
}

/// A directory that the operator grants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FilesystemGrant {
    /// Directory on this machine; relative to the configuration file.
    pub host: PathBuf,
    /// Where the guest sees it; absolute.
    pub guest: String,
    pub access: Access,
    /// The outermost granted directory that contains this one and that guests may write to. It is not configured but found by
    /// [`note_enclosing`](crate::note_enclosing).
    #[serde(skip)]
    pub within: Option<PathBuf>,
}

/// What the operator granted. The default grants nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Grants {
    pub filesystem: Vec<FilesystemGrant>,
    /// Agent-side tools, by pattern.
    pub agent_tools: Vec<ToolPattern>,
    pub client: ClientGrants,
    /// Publish resources and prompts.
    pub publish: bool,
    pub events: Vec<ToolPattern>,
    /// Connected accounts, by name.
    pub connections: Vec<String>,
    /// HTTP requests to other servers; the first line that covers a request sets its limits and options.
    pub http: Vec<HttpGrant>,
    /// Secrets, and the hosts that each may be sent to.
    pub secrets: Vec<SecretGrant>,
    /// Variables of the host's environment, by name. A guest sees no others.
    pub env: Vec<String>,
    /// Key-value data, separate for each principal.
    pub state: Option<StateGrant>,
    /// A directory of the plugin's own.
    pub scratch: Option<ScratchGrant>,
    /// Where private results may go. Flows are exceptions from a rule, not a capability, so a manifest does not request them.
    pub flows: Vec<FlowPattern>,
}

/// Allowed HTTP requests and their limits. The limits bound what one call costs other servers and this host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HttpGrant {
    pub allow: HttpPattern,
    /// Whether the host may be in a private network or on this machine. Only for a pattern that names one host: names that
    /// others control may resolve to any address.
    #[serde(default)]
    pub private: bool,
    /// A request is sent only if all calls of the tree have sent fewer than this. Bounds how many requests another server gets
    /// from this address.
    #[serde(default = "HttpGrant::requests")]
    pub requests: u32,
    /// Maximum size of a request's or response's body. Bounds traffic; both are streamed.
    #[serde(default = "HttpGrant::body", serialize_with = "exact_size")]
    pub body: ByteSize,
    /// Time from the request to the last byte of its response. Bounds a connection that a server keeps open.
    #[serde(default = "HttpGrant::timeout", with = "humantime_serde")]
    pub timeout: Duration,
    /// How many redirects are followed. Each target must be granted too.
    #[serde(default)]
    pub redirects: u8,
}

impl HttpGrant {
    fn requests() -> u32 {
        32
    }

    fn body() -> ByteSize {
        ByteSize::mib(10)
    }

    fn timeout() -> Duration {
        Duration::from_secs(30)
    }

    /// A grant with the default limits.
    pub fn new(allow: HttpPattern) -> Self {
        let (requests, body, timeout) = (Self::requests(), Self::body(), Self::timeout());
        Self { allow, private: false, requests, body, timeout, redirects: 0 }
    }
}

/// A secret that may be sent to some hosts. Its value is under `[secrets.NAME]`; a guest never sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SecretGrant {
    /// The secret's key in the configuration.
    pub name: String,
    /// The hosts that it may be sent to. It is sent over TLS, or to this machine.
    pub hosts: Vec<HostPattern>,
}

impl SecretGrant {
    /// Whether it may be sent to this host.
    pub fn reaches(&self, host: &str) -> bool {
        self.hosts.iter().any(|pattern| pattern.covers(host))
    }
}

/// The quota of key-value data, per principal. Data stored by calls that have seen private results is kept in separate parts,
/// and the quota holds for each part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct StateGrant {
    /// Bytes of keys and values together. Bounds a plugin's use of the operator's disk.
    #[serde(serialize_with = "exact_size")]
    pub size: ByteSize,
    /// Number of keys. Bounds the same as `size` where the values are empty.
    pub keys: u32,
    /// Calls that use state count as if they had seen private results of these origins, and so find the data that was stored by
    /// calls that had. This shows a plugin more of its own data and allows it less, so a manifest does not request it.
    pub private: PrivateOrigins,
}

impl Default for StateGrant {
    fn default() -> Self {
        Self { size: ByteSize::mib(1), keys: 1_000, private: PrivateOrigins::new() }
    }
}

/// The scratch directory of a plugin, which is kept between calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ScratchGrant {
    /// Where the guest sees it; absolute.
    pub guest: String,
    /// Size of all files together. Writes beyond it fail, and a call is refused if the directory is larger when it starts.
    /// Bounds the disk.
    #[serde(serialize_with = "exact_size")]
    pub size: ByteSize,
}

impl Default for ScratchGrant {
    fn default() -> Self {
        Self { guest: "/scratch".into(), size: ByteSize::mib(64) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let grants: Grants = toml::from_str(
            r#"
            filesystem = [{ host = "work", guest = "/work", access = "write" }]
            agent-tools = ["notes.*"]
            client = { form = true, url = ["*.example.com"], sample = { calls = 1, fallback = true }, roots = true }
            publish = true
            events = ["policy.*"]
            connections = ["github"]
            http = [{ allow = "GET,POST https://api.example.com/v1/", body = "3 KiB", redirects = 2, timeout = "7s" }]
            secrets = [{ name = "token", hosts = ["api.example.com"] }]
            env = ["TZ"]
            state = { size = "5 KiB", keys = 3, private = ["client", "upstream.a"] }
            scratch = { guest = "/own", size = 12 }
            flows = ["client -> host-model"]
            "#,
        )
        .unwrap();
        assert_eq!(toml::from_str::<Grants>(&toml::to_string(&grants).unwrap()).unwrap(), grants);
    }
}
