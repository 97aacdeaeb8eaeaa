//! Builds a catalog, and refuses plugins whose names or URIs clash.

use super::entry::CatalogEntry;
use super::error::CatalogError;
use super::missing::MissingPlugins;
use super::plugin::Plugin;
use super::snapshot::{Catalog, CatalogRules, Entries};
use super::upstream_tool::{UpstreamOffers, UpstreamTool};
use crate::offer::is_valid_name;
use policy::{DistinctNames, NameClash, PluginId, looks_like_host};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Lines of log about tools of servers that get other names, of one catalog. Bounds what a server can write there.
const MAX_RENAMED_TOLD: usize = 16;
/// What is told of one server's tools that clients do not get. Bounds what a server can make an operator read.
const MAX_LEFT_OUT: usize = 32;

/// Names with the plugin or server that has them; none for the host.
type OwnedNames = DistinctNames<Option<PluginId>>;

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

    /// A copy with other plugins, and with the same rules and upstream tools.
    pub fn with_plugins(
        &self,
        plugins: Vec<Arc<Plugin>>,
        agent_plugins: Vec<Arc<Plugin>>,
        missing: MissingPlugins,
    ) -> Result<Self, CatalogError> {
        let other = Self::with_rules(plugins, agent_plugins, self.rules.clone())?;
        let other = Self { missing, connecting: self.connecting, ..other };
        other.insert_upstream_tools(self.upstreams.clone(), &self.upstream_tools)
    }

    /// A copy with other upstream tools.
    pub fn with_upstream_tools(&self, upstreams: UpstreamOffers) -> Result<Self, CatalogError> {
        let same = Self::with_rules(self.plugins.clone(), self.agent_plugins.clone(), self.rules.clone())?;
        let same = Self { missing: self.missing.clone(), ..same };
        same.insert_upstream_tools(upstreams, &self.upstream_tools)
    }

    /// The names of the host's and the plugins' tools; the error names two that may be taken for one another.
    fn tool_names(&self) -> Result<OwnedNames, CatalogError> {
        let mut names = OwnedNames::default();
        for reserved in self.rules.reserved {
            // They are constants that differ.
            let _ = names.insert(reserved, &None);
        }
        check_distinct("tool", &self.tools, names)
    }

    /// Adds tools of upstream servers. What such a server offers must not keep the host from starting, so a tool whose name
    /// cannot be offered beside the others gets another one. `before` are the names that were told already.
    fn insert_upstream_tools(
        mut self,
        upstreams: UpstreamOffers,
        before: &BTreeMap<String, Arc<UpstreamTool>>,
    ) -> Result<Self, CatalogError> {
        let (mut names, mut renamed) = (self.tool_names()?, 0);
        let mut upstream_tools = upstreams.tools.clone();
        self.left_out.clone_from(&upstreams.left_out);
        upstream_tools.retain(|tool| self.rules.exposes(&tool.id));
        // Not in the server's order, on which no name may depend. A name that needs no change comes first and is kept.
        upstream_tools.sort_by_key(|tool| (Reverse(tool.has_plain_name()), tool.tool.full_name.clone()));
        for tool in upstream_tools {
            let owner = Some(tool.id.clone());
            let plain = tool.exposed_name();
            let mut fits =
                |name: &str| is_valid_name(name) && !looks_like_host(name) && names.insert(name, &owner).is_ok();
            let name = if fits(&plain) { plain.clone() } else { tool.short_name() };
            let upstream = &*tool.id.name;
            if name != plain && !fits(&name) {
                let lost = format!("a tool cannot be exposed as `{plain}`, nor as `{name}`");
                tracing::warn!(upstream, "{lost}");
                let told = self.left_out.entry(upstream.to_owned()).or_default();
                if told.len() < MAX_LEFT_OUT {
                    told.push(lost);
                }
                continue;
            }
            if name != plain && !before.contains_key(&name) {
                renamed += 1;
                if renamed <= MAX_RENAMED_TOLD {
                    let why = "a client may take the name for another one, or shorten it";
                    tracing::warn!(upstream, "a tool is exposed as `{name}`, not as `{plain}`: {why}");
                }
            }
            self.upstream_tools.insert(name, tool);
        }
        if renamed > MAX_RENAMED_TOLD {
            tracing::warn!("{} more tools of servers are exposed under other names", renamed - MAX_RENAMED_TOLD);
        }
        Ok(Self { upstreams, ..self })
    }
}

/// Adds names to those that are there. Refuses names that may be taken for one another or for one of the host's own.
fn check_distinct<T>(
    what: &'static str,
    entries: &Entries<T>,
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
