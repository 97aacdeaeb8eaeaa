//! What a plugin's manifest requests, and what an operator grants.

use super::{ClientGrants, ClientRequests, FlowPattern, HostPattern, HttpPattern, ToolPattern};
use bytesize::ByteSize;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// How far a directory may be used. Ordered: write includes read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Look, never change.
    Read,
    /// Create, change and delete as well.
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

/// What a plugin's manifest asks for. The default asks for nothing.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Requests {
    /// Use of directories, at most this far; which ones is the operator's choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<Access>,
    /// Agent-side tools, by pattern.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub agent_tools: Vec<ToolPattern>,
    /// Questions to the client.
    #[serde(skip_serializing_if = "asks_nothing")]
    pub client: ClientRequests,
    /// To publish resources and prompts.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub publish: bool,
    /// Events, by pattern.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<ToolPattern>,
    /// Connected accounts, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<String>,
    /// HTTP requests to others.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpPattern>,
    /// Secrets to be sent with them, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
    /// Variables of the host's environment, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<String>,
    /// To keep values from call to call.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub state: bool,
    /// A directory of its own.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scratch: bool,
}

fn asks_nothing(client: &ClientRequests) -> bool {
    *client == ClientRequests::default()
}

/// One directory the operator gives.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FilesystemGrant {
    /// Directory on this machine; relative to the configuration file.
    pub host: PathBuf,
    /// Where the guest sees it; absolute.
    pub guest: String,
    /// How far it may be used.
    pub access: Access,
}

/// What the operator gave. The default gives nothing.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Grants {
    /// Directories.
    pub filesystem: Vec<FilesystemGrant>,
    /// Agent-side tools, by pattern.
    pub agent_tools: Vec<ToolPattern>,
    /// Questions to the client.
    pub client: ClientGrants,
    /// Resources and prompts made at run time.
    pub publish: bool,
    /// Events, by pattern.
    pub events: Vec<ToolPattern>,
    /// Connected accounts, by name.
    pub connections: Vec<String>,
    /// HTTP requests to others; the first line that covers a request says how it is sent.
    pub http: Vec<HttpGrant>,
    /// Secrets, and to whom each may be told.
    pub secrets: Vec<SecretGrant>,
    /// Variables of the host's environment, by name. Nothing else of it is ever seen.
    pub env: Vec<String>,
    /// Values kept from call to call, each principal's apart.
    pub state: Option<StateGrant>,
    /// A directory of the plugin's own.
    pub scratch: Option<ScratchGrant>,
    /// Who may learn of private results. Not an authority that a plugin asks for: an exception from a rule, so there is no
    /// request for it.
    pub flows: Vec<FlowPattern>,
}

/// Requests that may be sent, and how much of them. The numbers bound what one call costs others and this host.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct HttpGrant {
    /// Which.
    pub allow: HttpPattern,
    /// Whether the host may be in a private network or on this machine. Only for a pattern that names one host: a name
    /// of somebody else may point anywhere.
    #[serde(default)]
    pub private: bool,
    /// Requests of one call, and of calls under it. Bounds a flood of somebody else's server from this address.
    #[serde(default = "HttpGrant::requests")]
    pub requests: u32,
    /// The largest body, of a request and of an answer. Bounds what is moved; both are streamed.
    #[serde(default = "HttpGrant::body")]
    pub body: ByteSize,
    /// From the request to the last byte of its answer. Bounds a connection that somebody else holds open.
    #[serde(default = "HttpGrant::timeout", with = "humantime_serde")]
    pub timeout: Duration,
    /// How many redirects are followed, each held against the grants as if it were asked for.
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

    /// With the default ceilings.
    pub fn new(allow: HttpPattern) -> Self {
        let (requests, body, timeout) = (Self::requests(), Self::body(), Self::timeout());
        Self { allow, private: false, requests, body, timeout, redirects: 0 }
    }
}

/// A secret that is told to some hosts. What it is stands under `[secrets.NAME]`; a guest never has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SecretGrant {
    /// Its key in the configuration.
    pub name: String,
    /// Who is told, over TLS only.
    pub hosts: Vec<HostPattern>,
}

impl SecretGrant {
    /// Whether it may be told to this host.
    pub fn reaches(&self, host: &str) -> bool {
        self.hosts.iter().any(|pattern| pattern.covers(host))
    }
}

/// Values kept from call to call, per principal.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct StateGrant {
    /// Keys and values together. Bounds what a plugin takes of the operator's disk.
    pub size: ByteSize,
    /// How many keys. As `size`, for empty values.
    pub keys: u32,
}

impl Default for StateGrant {
    fn default() -> Self {
        Self { size: ByteSize::mib(1), keys: 1_000 }
    }
}

/// A directory of the plugin's own, kept from call to call.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct ScratchGrant {
    /// Where the guest sees it; absolute.
    pub guest: String,
    /// All files together: what would make them more fails, and a call that begins with more is refused until somebody
    /// has made room. Bounds the disk.
    pub size: ByteSize,
}

impl Default for ScratchGrant {
    fn default() -> Self {
        Self { guest: "/scratch".into(), size: ByteSize::mib(64) }
    }
}
