//! The uses of authority that the policy allows or denies.

use super::Access;

/// A use of authority, as it was attempted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Capability {
    /// A path, as the guest named it.
    Filesystem {
        /// The path inside the guest.
        path: String,
        access: Access,
    },
    /// An agent-side tool, by full name.
    AgentTools {
        tool: String,
    },
    Form,
    Url {
        host: String,
    },
    Sample,
    Roots,
    /// Publish resources and prompts.
    Publish,
    Events {
        name: String,
    },
    /// A connected account, by name.
    Connections {
        /// The connection's key in the configuration.
        name: String,
    },
    /// A request to another server.
    Http {
        /// Method and URL, without query.
        request: String,
    },
    /// A secret, sent to a host.
    Secrets {
        /// The secret's key in the configuration.
        name: String,
        host: String,
    },
    /// A variable of the host's environment, by name. A guest without the grant does not see the variable and gets no error.
    Env {
        name: String,
    },
    /// Values kept from call to call.
    State,
    /// A directory of the plugin's own. As with `Env`, a guest without the grant does not find it and gets no error.
    Scratch,
    /// A result that one origin marked private, sent to another one.
    Flow {
        flow: String,
    },
}

impl Capability {
    /// The grant's key in the configuration.
    pub fn key(&self) -> &'static str {
        match self {
            Capability::Filesystem { .. } => "filesystem",
            Capability::AgentTools { .. } => "agent-tools",
            Capability::Form => "client.form",
            Capability::Url { .. } => "client.url",
            Capability::Sample => "client.sample",
            Capability::Roots => "client.roots",
            Capability::Publish => "publish",
            Capability::Events { .. } => "events",
            Capability::Connections { .. } => "connections",
            Capability::Http { .. } => "http",
            Capability::Secrets { .. } => "secrets",
            Capability::Env { .. } => "env",
            Capability::State => "state",
            Capability::Scratch => "scratch",
            Capability::Flow { .. } => "flows",
        }
    }

    pub fn target(&self) -> &str {
        match self {
            Capability::Filesystem { path, .. } => path,
            Capability::AgentTools { tool } => tool,
            Capability::Form => "a form",
            Capability::Url { host } => host,
            Capability::Sample => "the client's model",
            Capability::Roots => "the client's roots",
            Capability::Publish => "resources and prompts",
            Capability::Events { name }
            | Capability::Connections { name }
            | Capability::Secrets { name, .. }
            | Capability::Env { name } => name,
            Capability::Http { request } => request,
            Capability::State => "values kept from call to call",
            Capability::Scratch => "a directory of its own",
            Capability::Flow { flow } => flow,
        }
    }
}
