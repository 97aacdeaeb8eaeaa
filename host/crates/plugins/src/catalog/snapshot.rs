//! An immutable view of everything that is offered: a call keeps the view it began with.

use super::entry::CatalogEntry;
use super::missing::{Missing, MissingPlugins};
use super::plugin::Plugin;
use super::upstream_server::UpstreamItem;
use super::upstream_tool::{UpstreamOffers, UpstreamTool};
use crate::offer::{PluginTemplate, PluginTool};
use policy::PluginId;
use runtime::imports::{Prompt, ResourceInfo};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub(super) type CatalogEntries<T> = BTreeMap<String, CatalogEntry<T>>;

/// What clients can use, by exposed name or URI, and the agent-side plugins.
#[derive(Default)]
pub struct Catalog {
    pub(super) number: u64,
    pub(super) plugins: Vec<Arc<Plugin>>,
    pub(super) agent_plugins: Vec<Arc<Plugin>>,
    pub(super) tools: CatalogEntries<Arc<PluginTool>>,
    pub(super) prompts: CatalogEntries<Prompt>,
    pub(super) resources: CatalogEntries<ResourceInfo>,
    pub(super) templates: CatalogEntries<PluginTemplate>,
    pub(super) upstream_tools: BTreeMap<String, Arc<UpstreamTool>>,
    pub(super) upstream_prompts: BTreeMap<String, Arc<UpstreamItem>>,
    pub(super) upstream_resources: BTreeMap<String, UpstreamItem>,
    pub(super) upstream_templates: BTreeMap<String, UpstreamItem>,
    /// The offers that the `upstream_` fields were made from.
    pub(super) upstreams: UpstreamOffers,
    /// Sentences about listed items that clients do not get, by the name of the server.
    pub(super) left_out: BTreeMap<String, Vec<String>>,
    pub(super) missing: MissingPlugins,
    /// Whether the host still waits for the tools of upstream servers.
    pub(super) connecting: bool,
    pub(super) rules: CatalogRules,
}

/// Rules for the catalog as a whole.
#[derive(Debug, Clone, Default)]
pub struct CatalogRules {
    /// Names of the host's own tools, which no plugin's tool may have.
    pub reserved: &'static [&'static str],
    /// The only plugin whose tools clients can use; its programs call the tools of the others. None: all plugins.
    pub only: Option<PluginId>,
}

impl CatalogRules {
    /// Whether clients can use the tools of a plugin or server.
    pub(super) fn exposes(&self, id: &PluginId) -> bool {
        self.only.as_ref().is_none_or(|only| only == id)
    }
}

impl Catalog {
    /// How many catalogs came before this one. A later one of the same [`super::CurrentCatalog`] has a greater number.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The catalog of a host that has loaded nothing yet. `connecting` is true if tools of upstream servers will come.
    pub fn starting(rules: CatalogRules, missing: MissingPlugins, connecting: bool) -> Self {
        Self { rules, missing, connecting, ..Self::default() }
    }

    /// The plugins of the configuration that are not here.
    pub fn missing(&self) -> &MissingPlugins {
        &self.missing
    }

    /// The names of all plugins of the configuration that are not the agent's, whether they are here or not.
    pub fn plugin_names(&self) -> BTreeSet<&str> {
        let loaded = self.plugins.iter().map(|plugin| &*plugin.id().name);
        let missing = self.missing.keys().filter_map(|table| table.strip_prefix("plugins."));
        loaded.chain(missing).collect()
    }

    /// The plugin whose programs call the tools of the others, if clients can use no other.
    pub fn only(&self) -> Option<&str> {
        self.rules.only.as_ref().map(|only| &*only.name)
    }

    /// Whether more may come without any change: a plugin is being loaded, or a server connected.
    pub fn is_loading(&self) -> bool {
        self.connecting || self.is_loading_plugins()
    }

    pub fn is_loading_plugins(&self) -> bool {
        self.missing.values().any(|missing| *missing == Missing::Loading)
    }

    /// Warnings about tool descriptions that mention a tool of another plugin: such a text may be meant to change how a
    /// model uses that tool. Only names with `_` or `-` are looked for, since other names may be common words.
    pub fn cross_plugin_mentions(&self) -> Vec<String> {
        let is_separator = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let is_distinctive = |word: &&str| word.contains(['_', '-']);
        let mut mentions = Vec::new();
        for (name, entry) in &self.tools {
            let words = entry.tool().tool.description.split(is_separator).filter(is_distinctive);
            let others = words.filter_map(|word| Some((word, self.tools.get(word)?.plugin().id())));
            for (word, other) in others.filter(|(_, other)| *other != entry.plugin().id()) {
                let table = entry.plugin().id().table();
                mentions.push(format!(
                    "[{table}] the description of `{name}` mentions `{word}`, a tool of [{}]",
                    other.table()
                ));
            }
        }
        mentions.dedup();
        mentions
    }

    /// A tool of an upstream server by its exposed name.
    pub fn upstream_tool(&self, name: &str) -> Option<&Arc<UpstreamTool>> {
        self.upstream_tools.get(name)
    }

    /// Sentences about items that servers list and clients do not get, by the name of the server.
    pub fn left_out(&self) -> &BTreeMap<String, Vec<String>> {
        &self.left_out
    }

    /// The server that this tool or prompt may belong to, and why the name is not known: the server was not connected yet.
    pub fn missing_upstream(&self, name: &str) -> Option<(&str, &str)> {
        let is_of = |server: &str| name.strip_prefix(server).is_some_and(|rest| rest.starts_with("__"));
        let missing = self.upstreams.missing.iter().find(|(server, _)| is_of(server))?;
        Some((missing.0, missing.1))
    }

    pub fn upstream_tools(&self) -> impl Iterator<Item = (&str, &Arc<UpstreamTool>)> {
        self.upstream_tools.iter().map(|(name, tool)| (name.as_str(), tool))
    }

    /// The servers whose lists are not known, by their names: they were not connected yet.
    pub fn missing_upstreams(&self) -> impl Iterator<Item = &str> {
        self.upstreams.missing.keys().map(String::as_str)
    }

    /// A prompt of an upstream server by its exposed name.
    pub fn upstream_prompt(&self, name: &str) -> Option<&Arc<UpstreamItem>> {
        self.upstream_prompts.get(name)
    }

    pub fn upstream_prompts(&self) -> impl Iterator<Item = (&str, &UpstreamItem)> {
        self.upstream_prompts.iter().map(|(name, prompt)| (name.as_str(), &**prompt))
    }

    /// A resource template of an upstream server by the text that clients get.
    pub fn upstream_template(&self, template: &str) -> Option<&UpstreamItem> {
        self.upstream_templates.get(template)
    }

    /// With the addresses that clients get.
    pub fn upstream_templates(&self) -> impl Iterator<Item = (&str, &UpstreamItem)> {
        self.upstream_templates.iter().map(|(address, item)| (address.as_str(), item))
    }

    /// With the addresses that clients get.
    pub fn upstream_resources(&self) -> impl Iterator<Item = (&str, &UpstreamItem)> {
        self.upstream_resources.iter().map(|(address, item)| (address.as_str(), item))
    }

    pub fn tool(&self, name: &str) -> Option<&CatalogEntry<Arc<PluginTool>>> {
        self.tools.get(name)
    }

    pub fn tools(&self) -> impl Iterator<Item = (&str, &CatalogEntry<Arc<PluginTool>>)> {
        in_order(&self.tools)
    }

    pub fn prompt(&self, name: &str) -> Option<&CatalogEntry<Prompt>> {
        self.prompts.get(name)
    }

    pub fn prompts(&self) -> impl Iterator<Item = (&str, &CatalogEntry<Prompt>)> {
        in_order(&self.prompts)
    }

    pub fn resources(&self) -> impl Iterator<Item = (&str, &CatalogEntry<ResourceInfo>)> {
        in_order(&self.resources)
    }

    pub fn template(&self, template: &str) -> Option<&CatalogEntry<PluginTemplate>> {
        self.templates.get(template)
    }

    pub fn templates(&self) -> impl Iterator<Item = (&str, &CatalogEntry<PluginTemplate>)> {
        in_order(&self.templates)
    }

    /// The plugin that answers for a URI: it lists it, or a template of it matches.
    pub fn plugin_for_uri(&self, uri: &str) -> Option<&Arc<Plugin>> {
        let listed = self.resources.get(uri).map(CatalogEntry::plugin);
        listed.or_else(|| self.templates.values().find(|t| t.item().pattern.matches(uri)).map(CatalogEntry::plugin))
    }

    /// The plugins that clients see, in configuration order.
    pub fn plugins(&self) -> &[Arc<Plugin>] {
        &self.plugins
    }

    /// The plugins that only other plugins see, in configuration order.
    pub fn agent_plugins(&self) -> &[Arc<Plugin>] {
        &self.agent_plugins
    }

    /// An agent-side tool by its full name, `<agent plugin>.<tool>`.
    pub fn agent_tool(&self, name: &str) -> Option<(&Arc<Plugin>, &Arc<PluginTool>)> {
        let (plugin, tool) = name.split_once('.')?;
        let plugin = self.agent_plugins.iter().find(|agent| *agent.id().name == *plugin)?;
        Some((plugin, plugin.tool(tool)?))
    }

    /// The plugins that clients see, then the agent-side ones.
    pub fn all_plugins(&self) -> impl Iterator<Item = &Arc<Plugin>> {
        self.plugins.iter().chain(&self.agent_plugins)
    }
}

fn in_order<T>(entries: &CatalogEntries<T>) -> impl Iterator<Item = (&str, &CatalogEntry<T>)> {
    entries.iter().map(|(name, entry)| (name.as_str(), entry))
}
