//! Proposes a grant for each request of a plugin, as a line of TOML that the operator accepts, changes or leaves out.

use crate::denial::quoted;

/// One capability in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedCapability {
    /// The key in manifests and grants.
    pub key: &'static str,
    /// The requested value, such as a pattern or a name; empty if the key says everything.
    pub detail: String,
    /// What the plugin can do when this is granted. Continues a sentence that begins with "it".
    pub effect: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantProposal {
    pub capability: RequestedCapability,
    /// The grant. Parts that the operator must choose are in capitals.
    pub line: String,
    /// What the operator must choose. None if the line can be accepted as it is.
    pub choose: Option<Choice>,
    /// A choice to suggest.
    pub suggested: Option<String>,
}

/// A part of a proposed line that the operator chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// A directory of this machine, and the path under which the plugin sees it.
    Directory,
    /// The host that receives a secret.
    SecretHost,
    /// The host of pages.
    PageHost,
}

impl Choice {
    /// The names of the parts and what they are.
    pub fn what(self) -> &'static str {
        match self {
            Self::Directory => "DIRECTORY of this machine, and the /PATH under which the plugin sees it",
            Self::SecretHost => "the HOST that receives the secret",
            Self::PageHost => "the HOST of the pages",
        }
    }
}

impl GrantProposal {
    /// A line that can be accepted as it is.
    pub(crate) fn new(capability: RequestedCapability, line: String) -> Self {
        Self { capability, line, choose: None, suggested: None }
    }

    /// The key alone, or a list with the requested name or pattern.
    pub(crate) fn of_key(capability: RequestedCapability) -> Self {
        let RequestedCapability { key, detail, .. } = &capability;
        let line = if detail.is_empty() { format!("{key} = true") } else { format!("{key} = [{}]", quoted(detail)) };
        Self::new(capability, line)
    }

    /// The line with the operator's choice filled in. `chosen` is a directory or a host; only a directory needs a `path`.
    pub fn with_choice(&self, chosen: &str, path: &str) -> String {
        let line = self.line.replace("\"DIRECTORY\"", &quoted(chosen)).replace("\"HOST\"", &quoted(chosen));
        line.replace("\"/PATH\"", &quoted(path))
    }
}
