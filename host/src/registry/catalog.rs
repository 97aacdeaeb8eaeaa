//! Everything that is offered now: immutable, so a call works on the view it began with.

use super::offer::is_name;
use super::plugin::{Plugin, PluginTool};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Plugins whose tools cannot stand side by side.
#[derive(Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum CatalogError {
    #[error("[{first}] and [{second}] both offer a tool as `{name}`; give one of them `prefix = true` or another name")]
    Clash { name: String, first: String, second: String },
    #[error("[{table}] would offer a tool as `{name}`, which is not 1 to 64 of A-Z a-z 0-9 _ -; choose a shorter name")]
    Name { table: String, name: String },
}

/// A tool under the name clients know it by.
#[derive(Clone)]
pub struct Exposed {
    plugin: Arc<Plugin>,
    at: usize,
}

impl Exposed {
    /// Whose tool it is.
    pub fn plugin(&self) -> &Arc<Plugin> {
        &self.plugin
    }

    /// The tool.
    pub fn tool(&self) -> &PluginTool {
        &self.plugin.tools[self.at]
    }
}

/// All exposed tools by name.
#[derive(Default)]
pub struct Catalog {
    plugins: Vec<Arc<Plugin>>,
    tools: BTreeMap<String, Exposed>,
}

impl Catalog {
    /// Of these plugins.
    pub fn new(plugins: Vec<Arc<Plugin>>) -> Result<Self, CatalogError> {
        let mut tools: BTreeMap<String, Exposed> = BTreeMap::new();
        for plugin in &plugins {
            for (at, tool) in plugin.tools.iter().enumerate() {
                let name = match plugin.spec.prefix {
                    true => format!("{}__{}", plugin.id().name, tool.tool.name),
                    false => tool.tool.name.clone(),
                };
                let table = plugin.id().table();
                if !is_name(&name) {
                    return Err(CatalogError::Name { table, name });
                }
                if let Some(other) = tools.get(&name) {
                    return Err(CatalogError::Clash { name, first: other.plugin.id().table(), second: table });
                }
                tools.insert(name, Exposed { plugin: plugin.clone(), at });
            }
        }
        Ok(Self { plugins, tools })
    }

    /// A tool by exposed name.
    pub fn get(&self, name: &str) -> Option<&Exposed> {
        self.tools.get(name)
    }

    /// All tools by exposed name, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Exposed)> {
        self.tools.iter().map(|(name, tool)| (name.as_str(), tool))
    }

    /// The plugins, in configuration order.
    pub fn plugins(&self) -> &[Arc<Plugin>] {
        &self.plugins
    }
}
