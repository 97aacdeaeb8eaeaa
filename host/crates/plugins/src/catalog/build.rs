//! Builds a catalog, and refuses plugins whose names or URIs clash.

use super::entry::CatalogEntry;
use super::error::CatalogError;
use super::names::{looks_like_host, skeleton};
use super::plugin::Plugin;
use super::snapshot::{Catalog, Entries};
use super::upstream_tool::UpstreamTool;
use crate::offer::is_valid_name;
use std::collections::HashMap;
use std::sync::Arc;

impl Catalog {
    /// A catalog of plugins that clients see and of agent-side plugins that only other plugins see.
    pub fn new(plugins: Vec<Arc<Plugin>>, agent_plugins: Vec<Arc<Plugin>>) -> Result<Self, CatalogError> {
        Self::with_reserved_names(plugins, agent_plugins, &[])
    }

    /// A catalog for a host that serves tools of its own under the `reserved` names.
    pub fn with_reserved_names(
        plugins: Vec<Arc<Plugin>>,
        agent_plugins: Vec<Arc<Plugin>>,
        reserved: &'static [&'static str],
    ) -> Result<Self, CatalogError> {
        let mut catalog = Self { agent_plugins, reserved, ..Self::default() };
        for plugin in &plugins {
            insert_named(&mut catalog.tools, "tool", plugin, |plugin| &plugin.tools, |tool| &tool.tool.name)?;
            insert_named(&mut catalog.prompts, "prompt", plugin, |plugin| &plugin.prompts, |prompt| &prompt.name)?;
            catalog.insert_resources(plugin)?;
        }
        let is_reserved = |name: &str| reserved.iter().any(|reserved| skeleton(reserved) == skeleton(name));
        if let Some((name, entry)) = catalog.tools.iter().find(|(name, _)| is_reserved(name)) {
            return Err(CatalogError::Reserved { table: entry.plugin().id().table(), name: name.clone() });
        }
        check_distinct("tool", &catalog.tools)?;
        check_distinct("prompt", &catalog.prompts)?;
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

    /// A copy in which newer versions replace some of the plugins.
    pub fn with_newer_versions(&self, newer: &[Arc<Plugin>]) -> Result<Self, CatalogError> {
        let replaced = |plugins: &[Arc<Plugin>]| {
            let newest = |old: &Arc<Plugin>| newer.iter().find(|new| new.id() == old.id()).unwrap_or(old).clone();
            plugins.iter().map(newest).collect()
        };
        self.with_plugins(replaced(&self.plugins), replaced(&self.agent_plugins))
    }

    /// A copy with other plugins, and with the same reserved names and upstream tools.
    pub fn with_plugins(
        &self,
        plugins: Vec<Arc<Plugin>>,
        agent_plugins: Vec<Arc<Plugin>>,
    ) -> Result<Self, CatalogError> {
        let other = Self::with_reserved_names(plugins, agent_plugins, self.reserved)?;
        Ok(other.insert_upstream_tools(self.upstream_tools.values().cloned().collect()))
    }

    /// A copy with other upstream tools.
    pub fn with_upstream_tools(&self, upstream_tools: Vec<Arc<UpstreamTool>>) -> Result<Self, CatalogError> {
        let same = Self::with_reserved_names(self.plugins.clone(), self.agent_plugins.clone(), self.reserved)?;
        Ok(same.insert_upstream_tools(upstream_tools))
    }

    /// Adds tools of upstream servers. A plugin's tool takes precedence; a tool whose name is taken or invalid is left out
    /// with a warning, since what an upstream server offers must not keep the host from starting.
    fn insert_upstream_tools(mut self, upstream_tools: Vec<Arc<UpstreamTool>>) -> Self {
        // By skeleton: the server that has the name, or none for a plugin or the host. Tools of one server may look alike,
        // as those of one plugin may.
        let not_upstream = |name: &str| (skeleton(name), None);
        let mut seen: HashMap<String, Option<String>> = self.tools.keys().map(|name| not_upstream(name)).collect();
        seen.extend(self.reserved.iter().map(|name| not_upstream(name)));
        for tool in upstream_tools {
            let name = tool.exposed_name();
            let server = Some(tool.id.name.to_string());
            let taken = self.upstream_tools.contains_key(&name)
                || seen.get(&skeleton(&name)).is_some_and(|owner| *owner != server);
            if taken || !is_valid_name(&name) || looks_like_host(&name) {
                let why = match taken {
                    true => "something else has that name, or one that looks like it",
                    false => "it is no name that clients know, or looks as if it were the host's own",
                };
                tracing::warn!(upstream = &*tool.id.name, "a tool cannot be exposed as `{name}`: {why}");
                continue;
            }
            seen.insert(skeleton(&name), server);
            self.upstream_tools.insert(name, tool);
        }
        self
    }
}

/// Refuses names of different plugins that look alike, and names that look like the host's own.
fn check_distinct<T>(what: &'static str, entries: &Entries<T>) -> Result<(), CatalogError> {
    let mut seen: HashMap<String, (&String, &Arc<Plugin>)> = HashMap::new();
    for (name, entry) in entries {
        let table = entry.plugin.id().table();
        if looks_like_host(name) {
            return Err(CatalogError::Host { what, table, name: name.clone() });
        }
        match seen.insert(skeleton(name), (name, &entry.plugin)) {
            Some((one, first)) if first.id() != entry.plugin.id() => {
                let (first, one, other) = (first.id().table(), one.clone(), name.clone());
                return Err(CatalogError::Lookalike { what, first, one, second: table, other });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Adds a plugin's named items, prefixed with the plugin's name where the operator asked for it.
fn insert_named<T>(
    entries: &mut Entries<T>,
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
