//! Builds a catalog, and refuses plugins whose names or URIs clash.

use super::entry::CatalogEntry;
use super::error::CatalogError;
use super::missing::MissingPlugins;
use super::plugin::Plugin;
use super::snapshot::{Catalog, CatalogEntries, CatalogRules};
use super::upstream_names::{OwnedNames, expose_named};
use super::upstream_server::{ListedItem, UpstreamItem, UpstreamServer};
use super::upstream_tool::UpstreamOffers;
use crate::offer::is_valid_name;
use policy::{NameClash, looks_like_host};
use std::sync::Arc;

impl Catalog {
    /// A catalog of plugins that clients see and of agent-side plugins that only other plugins see.
    pub fn new(plugins: Vec<Arc<Plugin>>, agent_plugins: Vec<Arc<Plugin>>) -> Result<Self, CatalogError> {
        Self::with_rules(plugins, agent_plugins, CatalogRules::default())
    }

    /// A catalog under the operator's rules.
    pub fn with_rules(
        plugins: Vec<Arc<Plugin>>,
        agent_plugins: Vec<Arc<Plugin>>,
        rules: CatalogRules,
    ) -> Result<Self, CatalogError> {
        let mut catalog = Self { agent_plugins, rules, ..Self::default() };
        for plugin in &plugins {
            if catalog.rules.exposes(plugin.id()) {
                insert_named(&mut catalog.tools, "tool", plugin, |plugin| &plugin.tools, |tool| &tool.tool.name)?;
            }
            insert_named(&mut catalog.prompts, "prompt", plugin, |plugin| &plugin.prompts, |prompt| &prompt.name)?;
            catalog.insert_resources(plugin)?;
        }
        catalog.tool_names()?;
        check_distinct("prompt", &catalog.prompts, OwnedNames::default())?;
        Ok(Self { plugins, ..catalog })
    }

    /// Adds a plugin's resources and templates; refused when another plugin already answers for one of the URIs.
    fn insert_resources(&mut self, plugin: &Arc<Plugin>) -> Result<(), CatalogError> {
        let clash = |first: &Plugin, one: &str, other: &str| CatalogError::Uri {
            first: first.id().table(),
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
        // Inserted after all checks, because a plugin's own templates may overlap with its own resources.
        for (index, resource) in plugin.resources.iter().enumerate() {
            let entry = CatalogEntry { plugin: plugin.clone(), index, list: |plugin| &plugin.resources };
            self.resources.insert(resource.uri.clone(), entry);
        }
        for (index, template) in plugin.templates.iter().enumerate() {
            let entry = CatalogEntry { plugin: plugin.clone(), index, list: |plugin| &plugin.templates };
            self.templates.insert(template.template.uri_template.clone(), entry);
        }
        Ok(())
    }

    /// A copy with other plugins, and with the same rules and upstream servers.
    pub fn with_plugins(
        &self,
        plugins: Vec<Arc<Plugin>>,
        agent_plugins: Vec<Arc<Plugin>>,
        missing: MissingPlugins,
    ) -> Result<Self, CatalogError> {
        let other = Self::with_rules(plugins, agent_plugins, self.rules.clone())?;
        let other = Self { missing, connecting: self.connecting, ..other };
        other.insert_upstreams(self.upstreams.clone(), self)
    }

    /// A copy in which upstream servers offer something else.
    pub fn with_upstreams(&self, upstreams: UpstreamOffers) -> Result<Self, CatalogError> {
        let same = Self::with_rules(self.plugins.clone(), self.agent_plugins.clone(), self.rules.clone())?;
        let same = Self { missing: self.missing.clone(), ..same };
        same.insert_upstreams(upstreams, self)
    }

    /// The names of the host's and the plugins' tools; the error names two that may be taken for one another.
    fn tool_names(&self) -> Result<OwnedNames, CatalogError> {
        let mut names = OwnedNames::default();
        for reserved in self.rules.reserved {
            // The reserved names are distinct constants, so none of them clashes.
            let _ = names.insert(reserved, &None);
        }
        check_distinct("tool", &self.tools, names)
    }

    /// Adds what upstream servers offer. `before` has the names that were logged already.
    fn insert_upstreams(self, upstreams: UpstreamOffers, before: &Self) -> Result<Self, CatalogError> {
        let (tool_names, mut left_out) = (self.tool_names()?, upstreams.left_out.clone());
        let tools = upstreams.tools.iter().filter(|tool| self.rules.exposes(&tool.id)).cloned().collect();
        let upstream_tools = expose_named(tools, tool_names, &before.upstream_tools, &mut left_out);
        let prompt_names = check_distinct("prompt", &self.prompts, OwnedNames::default())?;
        let prompt = |(server, item): (&Arc<UpstreamServer>, &Arc<ListedItem>)| {
            Arc::new(UpstreamItem { server: server.clone(), item: item.clone() })
        };
        let servers = upstreams.servers.values();
        let prompts = servers.flat_map(|server| server.prompts.iter().map(move |item| (server, item))).map(prompt);
        let upstream_prompts = expose_named(prompts.collect(), prompt_names, &before.upstream_prompts, &mut left_out);
        let mut catalog = Self { upstreams, upstream_tools, upstream_prompts, left_out, ..self };
        catalog.insert_upstream_resources();
        Ok(catalog)
    }
}

/// Adds names to those that are there. Refuses names that may be taken for one another or for one of the host's own.
fn check_distinct<T>(
    what: &'static str,
    entries: &CatalogEntries<T>,
    mut names: OwnedNames,
) -> Result<OwnedNames, CatalogError> {
    for (name, entry) in entries {
        let (id, table, name) = (entry.plugin.id(), entry.plugin.id().table(), name.clone());
        if looks_like_host(&name) {
            return Err(CatalogError::Host { what, table, name });
        }
        if let Err(NameClash { name: one, owner }) = names.insert(&name, &Some(id.clone())) {
            return Err(match owner {
                None => CatalogError::Reserved { table, name },
                Some(first) if first == *id => CatalogError::Folded { what, table, one, other: name },
                Some(first) => CatalogError::Lookalike { what, first: first.table(), one, second: table, other: name },
            });
        }
    }
    Ok(names)
}

/// Adds a plugin's named items, prefixed with the plugin's name where the operator asked for it.
fn insert_named<T>(
    entries: &mut CatalogEntries<T>,
    what: &'static str,
    plugin: &Arc<Plugin>,
    list: fn(&Plugin) -> &[T],
    name: fn(&T) -> &str,
) -> Result<(), CatalogError> {
    for (index, item) in list(plugin).iter().enumerate() {
        let name = match plugin.spec.prefix {
            true => format!("{}__{}", plugin.id().name, name(item)),
            false => name(item).to_owned(),
        };
        let table = plugin.id().table();
        if !is_valid_name(&name) {
            return Err(CatalogError::Name { what, table, name });
        }
        if let Some(other) = entries.get(&name) {
            return Err(CatalogError::Clash { what, name, first: other.plugin.id().table(), second: table });
        }
        entries.insert(name, CatalogEntry { plugin: plugin.clone(), index, list });
    }
    Ok(())
}
