//! How a plugin is named: its table in the configuration.

use crate::is_name;
use std::sync::Arc;

/// Where a plugin is configured: under `[plugins.NAME]` or `[agent.NAME]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    Server,
    /// An agent-side tool: granted plugins can call it, and clients do not see it.
    Agent,
}

impl Side {
    /// The configuration table that holds plugins of this side.
    pub fn table(self) -> &'static str {
        match self {
            Side::Server => "plugins",
            Side::Agent => "agent",
        }
    }
}

/// A plugin as the operator knows it: its name and where it is configured. Clones are cheap.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PluginId {
    pub side: Side,
    /// The key in the configuration.
    pub name: Arc<str>,
}

impl PluginId {
    /// Checks that the name can be part of tools' names, grants and addresses; the error is a sentence.
    pub fn new(side: Side, name: &str) -> Result<Self, String> {
        if !is_name(name, 32, "-_") || name.contains("__") {
            return Err("the name must be 1 to 32 of A-Z a-z 0-9 - _, without `__`".into());
        }
        Ok(Self { side, name: name.into() })
    }

    /// The configuration table of this plugin, such as `plugins.files`.
    pub fn table(&self) -> String {
        format!("{}.{}", self.side.table(), self.name)
    }

    /// The name of one of its functions in a chain of calls. For an agent tool it is the name by which plugins call it, so that
    /// cycles are detected.
    pub fn full_name(&self, function: &str) -> String {
        match self.side {
            Side::Server => [self.side.table(), ".", &self.name, ".", function].concat(),
            Side::Agent => [&self.name, ".", function].concat(),
        }
    }

    /// How an operator names it on the command line: `files`, or `agent.notes` for a plugin of the agent's side.
    pub fn cli_name(&self) -> String {
        match self.side {
            Side::Server => self.name.to_string(),
            Side::Agent => self.table(),
        }
    }

    /// Whether this text, as an operator writes it, names the plugin.
    pub fn is_named(&self, name: &str) -> bool {
        *self.name == *name || self.table() == name
    }
}

impl std::fmt::Display for PluginId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.side.table(), self.name)
    }
}
