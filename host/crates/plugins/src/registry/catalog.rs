//! Everything that is offered now: immutable, so a call works on the view it began with.

mod names;

use super::beyond::Beyond;
use super::offer::is_name;
use super::plugin::{Plugin, PluginTemplate, PluginTool};
use names::{is_the_hosts, looks};
use runtime::imports::{Prompt, ResourceInfo};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Plugins that cannot stand side by side.
#[derive(Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
pub enum CatalogError {
    #[error(
        "[{first}] and [{second}] both offer a {what} as `{name}`; give one of them `prefix = true` or another name"
    )]
    Clash { what: &'static str, name: String, first: String, second: String },
    #[error(
        "[{first}] offers a {what} as `{one}` and [{second}] as `{other}`, which can be taken for one another; give one \
         of them `prefix = true` or another name"
    )]
    Lookalike { what: &'static str, first: String, one: String, second: String, other: String },
    #[error("[{table}] offers a {what} as `{name}`, which looks as if it were the host's own; choose another name")]
    Host { what: &'static str, table: String, name: String },
    #[error(
        "[{table}] offers a tool as `{name}`, which `server.fallback-tools` takes; give it `prefix = true` or another name"
    )]
    Reserved { table: String, name: String },
    #[error(
        "[{table}] would offer a {what} as `{name}`, which is not 1 to 64 of A-Z a-z 0-9 _ -; choose a shorter name"
    )]
    Name { what: &'static str, table: String, name: String },
    #[error(
        "[{first}] offers `{one}` and [{second}] `{other}`, so both would answer for the same URI; URIs have no prefix, \
         so only one of the two plugins can be loaded"
    )]
    Uri { first: String, one: String, second: String, other: String },
}

/// One thing that a plugin offers, as clients know it.
pub struct Exposed<T: 'static> {
    plugin: Arc<Plugin>,
    at: usize,
    of: fn(&Plugin) -> &[T],
}

impl<T> Exposed<T> {
    /// Whose it is.
    pub fn plugin(&self) -> &Arc<Plugin> {
        &self.plugin
    }

    /// The thing itself.
    pub fn item(&self) -> &T {
        &(self.of)(&self.plugin)[self.at]
    }
}

impl<T> Clone for Exposed<T> {
    fn clone(&self) -> Self {
        Self { plugin: self.plugin.clone(), at: self.at, of: self.of }
    }
}

impl Exposed<PluginTool> {
    /// The tool.
    pub fn tool(&self) -> &PluginTool {
        self.item()
    }
}

type Map<T> = BTreeMap<String, Exposed<T>>;

/// All that is exposed, by name or URI, and the agent-side plugins.
#[derive(Default)]
pub struct Catalog {
    plugins: Vec<Arc<Plugin>>,
    agents: Vec<Arc<Plugin>>,
    tools: Map<PluginTool>,
    prompts: Map<Prompt>,
    resources: Map<ResourceInfo>,
    templates: Map<PluginTemplate>,
    beyond: BTreeMap<String, Beyond>,
    /// Names that no tool may have.
    reserved: &'static [&'static str],
}

impl Catalog {
    /// Of these plugins, and of agent-side ones that only plugins see.
    pub fn new(plugins: Vec<Arc<Plugin>>, agents: Vec<Arc<Plugin>>) -> Result<Self, CatalogError> {
        Self::beside(plugins, agents, &[])
    }

    /// The same, beside tools of the host's own that have these names.
    pub fn beside(
        plugins: Vec<Arc<Plugin>>,
        agents: Vec<Arc<Plugin>>,
        reserved: &'static [&'static str],
    ) -> Result<Self, CatalogError> {
        let mut catalog = Self { agents, reserved, ..Self::default() };
        for plugin in &plugins {
            named(&mut catalog.tools, "tool", plugin, |plugin| &plugin.tools, |tool| &tool.tool.name)?;
            named(&mut catalog.prompts, "prompt", plugin, |plugin| &plugin.prompts, |prompt| &prompt.name)?;
            catalog.place(plugin)?;
        }
        let taken = |name: &str| reserved.iter().any(|reserved| looks(reserved) == looks(name));
        if let Some((name, by)) = catalog.tools.iter().find(|(name, _)| taken(name)) {
            return Err(CatalogError::Reserved { table: by.plugin().id().table(), name: name.clone() });
        }
        unmistakable("tool", &catalog.tools)?;
        unmistakable("prompt", &catalog.prompts)?;
        Ok(Self { plugins, ..catalog })
    }

    /// Places a plugin's URIs, unless another plugin answers for one of them.
    fn place(&mut self, plugin: &Arc<Plugin>) -> Result<(), CatalogError> {
        let clash = |of: &Plugin, one: &str, other: &str| CatalogError::Uri {
            first: of.id().table(),
            one: one.to_owned(),
            second: plugin.id().table(),
            other: other.to_owned(),
        };
        for resource in &plugin.resources {
            if let Some(other) = self.resources.get(&resource.uri) {
                return Err(clash(other.plugin(), &resource.uri, &resource.uri));
            }
            if let Some((template, other)) =
                self.templates.iter().find(|(_, t)| t.item().pattern.matches(&resource.uri))
            {
                return Err(clash(other.plugin(), template, &resource.uri));
            }
        }
        for template in &plugin.templates {
            let (text, pattern) = (&template.template.uri_template, &template.pattern);
            if let Some((uri, other)) = self.resources.iter().find(|(uri, _)| pattern.matches(uri)) {
                return Err(clash(other.plugin(), uri, text));
            }
            if let Some((one, other)) = self.templates.iter().find(|(_, t)| t.item().pattern.overlaps(pattern)) {
                return Err(clash(other.plugin(), one, text));
            }
        }
        // Only now: a plugin's own templates may overlap with what it has.
        for (at, resource) in plugin.resources.iter().enumerate() {
            let exposed = Exposed { plugin: plugin.clone(), at, of: |plugin| &plugin.resources };
            self.resources.insert(resource.uri.clone(), exposed);
        }
        for (at, template) in plugin.templates.iter().enumerate() {
            let exposed = Exposed { plugin: plugin.clone(), at, of: |plugin| &plugin.templates };
            self.templates.insert(template.template.uri_template.clone(), exposed);
        }
        Ok(())
    }

    /// The same with new versions of some of its plugins in place of the old ones.
    pub fn with(&self, newer: &[Arc<Plugin>]) -> Result<Self, CatalogError> {
        let replaced = |plugins: &[Arc<Plugin>]| {
            let newest = |old: &Arc<Plugin>| newer.iter().find(|new| new.id() == old.id()).unwrap_or(old).clone();
            plugins.iter().map(newest).collect()
        };
        self.of(replaced(&self.plugins), replaced(&self.agents))
    }

    /// These plugins in place of all there are, beside and before the same as before.
    pub fn of(&self, plugins: Vec<Arc<Plugin>>, agents: Vec<Arc<Plugin>>) -> Result<Self, CatalogError> {
        let other = Self::beside(plugins, agents, self.reserved)?;
        Ok(other.before(self.beyond.values().cloned().collect()))
    }

    /// The same plugins, before these tools of servers behind this host.
    pub fn with_beyond(&self, beyond: Vec<Beyond>) -> Result<Self, CatalogError> {
        let same = Self::beside(self.plugins.clone(), self.agents.clone(), self.reserved)?;
        Ok(same.before(beyond))
    }

    /// Exposes tools of servers behind this host. A plugin's tool goes first; a name that is taken, or none, is left out:
    /// what a server offers is no reason not to start.
    fn before(mut self, beyond: Vec<Beyond>) -> Self {
        // A server's own tools may look alike, as a plugin's may.
        let own = |name: &str| (looks(name), None);
        let mut seen: HashMap<String, Option<String>> = self.tools.keys().map(|name| own(name)).collect();
        seen.extend(self.reserved.iter().map(|name| own(name)));
        for tool in beyond {
            let name = tool.exposed_name();
            let server = Some(tool.id.name.clone());
            let taken = self.beyond.contains_key(&name) || seen.get(&looks(&name)).is_some_and(|by| *by != server);
            if taken || !is_name(&name) || is_the_hosts(&name) {
                let why = match taken {
                    true => "something else has that name, or one that looks like it",
                    false => "it is no name that clients know, or looks as if it were the host's own",
                };
                tracing::warn!(upstream = tool.id.name, "a tool cannot be exposed as `{name}`: {why}");
                continue;
            }
            seen.insert(looks(&name), server);
            self.beyond.insert(name, tool);
        }
        self
    }

    /// Descriptions that speak of a tool of another plugin, in sentences: such a text may mean to change how that tool is
    /// used. Only names that are no common word are looked for.
    pub fn mentions(&self) -> Vec<String> {
        let part = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let telling = |word: &&str| word.contains(['_', '-']);
        let mut mentions = Vec::new();
        for (name, exposed) in &self.tools {
            let words = exposed.tool().tool.description.split(part).filter(telling);
            let others = words.filter_map(|word| Some((word, self.tools.get(word)?.plugin().id())));
            for (word, other) in others.filter(|(_, other)| *other != exposed.plugin().id()) {
                let table = exposed.plugin().id().table();
                mentions.push(format!(
                    "[{table}] the description of `{name}` speaks of `{word}`, a tool of [{}]",
                    other.table()
                ));
            }
        }
        mentions.dedup();
        mentions
    }

    /// A tool of a server behind this host, by exposed name.
    pub fn beyond(&self, name: &str) -> Option<&Beyond> {
        self.beyond.get(name)
    }

    /// All tools of servers behind this host that are exposed, by exposed name, in order.
    pub fn all_beyond(&self) -> impl Iterator<Item = (&str, &Beyond)> {
        self.beyond.iter().map(|(name, beyond)| (name.as_str(), beyond))
    }

    /// A tool by exposed name.
    pub fn get(&self, name: &str) -> Option<&Exposed<PluginTool>> {
        self.tools.get(name)
    }

    /// All tools by exposed name, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Exposed<PluginTool>)> {
        in_order(&self.tools)
    }

    /// A prompt by exposed name.
    pub fn prompt(&self, name: &str) -> Option<&Exposed<Prompt>> {
        self.prompts.get(name)
    }

    /// All prompts by exposed name, in order.
    pub fn prompts(&self) -> impl Iterator<Item = (&str, &Exposed<Prompt>)> {
        in_order(&self.prompts)
    }

    /// All resources by URI, in order.
    pub fn resources(&self) -> impl Iterator<Item = (&str, &Exposed<ResourceInfo>)> {
        in_order(&self.resources)
    }

    /// A resource template, by itself.
    pub fn template(&self, template: &str) -> Option<&Exposed<PluginTemplate>> {
        self.templates.get(template)
    }

    /// All resource templates, in order.
    pub fn templates(&self) -> impl Iterator<Item = (&str, &Exposed<PluginTemplate>)> {
        in_order(&self.templates)
    }

    /// The plugin that answers for a URI: it lists it, or a template of it matches.
    pub fn reader(&self, uri: &str) -> Option<&Arc<Plugin>> {
        let listed = self.resources.get(uri).map(Exposed::plugin);
        listed.or_else(|| self.templates.values().find(|t| t.item().pattern.matches(uri)).map(Exposed::plugin))
    }

    /// The exposed plugins, in configuration order.
    pub fn plugins(&self) -> &[Arc<Plugin>] {
        &self.plugins
    }

    /// The agent-side plugins, in configuration order.
    pub fn agents(&self) -> &[Arc<Plugin>] {
        &self.agents
    }

    /// An agent-side tool by its full name, `<agent plugin>.<tool>`.
    pub fn agent_tool(&self, name: &str) -> Option<(&Arc<Plugin>, &PluginTool)> {
        let (plugin, tool) = name.split_once('.')?;
        let plugin = self.agents.iter().find(|agent| agent.id().name == plugin)?;
        Some((plugin, plugin.tool(tool)?))
    }

    /// Both.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Plugin>> {
        self.plugins.iter().chain(&self.agents)
    }
}

fn in_order<T>(map: &Map<T>) -> impl Iterator<Item = (&str, &Exposed<T>)> {
    map.iter().map(|(name, exposed)| (name.as_str(), exposed))
}

/// Refuses names of different plugins that can be taken for one another, and such as only the host has.
fn unmistakable<T>(what: &'static str, map: &Map<T>) -> Result<(), CatalogError> {
    let mut seen: HashMap<String, (&String, &Arc<Plugin>)> = HashMap::new();
    for (name, exposed) in map {
        let table = exposed.plugin.id().table();
        if is_the_hosts(name) {
            return Err(CatalogError::Host { what, table, name: name.clone() });
        }
        match seen.insert(looks(name), (name, &exposed.plugin)) {
            Some((one, first)) if first.id() != exposed.plugin.id() => {
                let (first, one, other) = (first.id().table(), one.clone(), name.clone());
                return Err(CatalogError::Lookalike { what, first, one, second: table, other });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Exposes what has a name under that name, with the plugin's before it where the operator wants it so.
fn named<T>(
    map: &mut Map<T>,
    what: &'static str,
    plugin: &Arc<Plugin>,
    of: fn(&Plugin) -> &[T],
    name: fn(&T) -> &str,
) -> Result<(), CatalogError> {
    for (at, item) in of(plugin).iter().enumerate() {
        let name = match plugin.spec.prefix {
            true => format!("{}__{}", plugin.id().name, name(item)),
            false => name(item).to_owned(),
        };
        let table = plugin.id().table();
        if !is_name(&name) {
            return Err(CatalogError::Name { what, table, name });
        }
        if let Some(other) = map.get(&name) {
            return Err(CatalogError::Clash { what, name, first: other.plugin.id().table(), second: table });
        }
        map.insert(name, Exposed { plugin: plugin.clone(), at, of });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
