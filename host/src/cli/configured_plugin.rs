//! A plugin as configured or installed, without starting it: its grants, where they are written, and its requests.

use crate::config::Config;
use anyhow::Context;
use plugins::install::{Lockfile, lockfile_path};
use plugins::package;
use policy::{Authority, DataKey, Digest, Grants, HostEnvironment, Limits, PluginId, PluginSpec, Requests};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml_edit::{Document, Item};

pub(super) struct ConfiguredPlugin {
    pub(super) id: PluginId,
    /// The file with its grants: the configuration or the lock file.
    pub(super) file: PathBuf,
    pub(super) installed: bool,
    pub(super) source: PathBuf,
    pub(super) data: DataKey,
    pub(super) grants: Grants,
    pub(super) limits: Limits,
    /// The requests of its manifest, or why they are unknown.
    pub(super) requests: Result<Requests, String>,
    text: String,
}

impl ConfiguredPlugin {
    /// All configured or installed plugins.
    pub(super) fn all(path: &Path, config: &Config) -> anyhow::Result<Vec<Self>> {
        let document = Document::parse(config.text.as_str()).ok();
        let is_configured = |id: &PluginId| document.as_ref().is_some_and(|it| find_item(it, id, &[]).is_some());
        let lock_file = lockfile_path(path);
        let mut all = Vec::new();
        let lock = Lockfile::load(&lock_file)?;
        let specs: Vec<&PluginSpec> = config.plugins.iter().chain(&config.agent).collect();
        for spec in &specs {
            let entry = lock.get(&spec.id).filter(|_| !is_configured(&spec.id));
            let requests = match entry {
                Some(entry) => Ok(entry.installed.requests.clone()),
                None => read_requests(spec),
            };
            all.push(Self {
                id: spec.id.clone(),
                file: if entry.is_some() { lock_file.clone() } else { path.to_owned() },
                installed: entry.is_some(),
                source: spec.source.clone(),
                data: spec.data.clone(),
                grants: spec.grants.clone(),
                limits: (*spec.limits).clone(),
                requests,
                text: if entry.is_some() { String::new() } else { config.text.clone() },
            });
        }
        // Installed plugins that are not loaded have grants, too.
        for (id, entry) in lock.iter().filter(|(id, _)| !specs.iter().any(|spec| spec.id == *id)) {
            all.push(Self {
                data: entry.data_key(&id),
                id,
                file: lock_file.clone(),
                installed: true,
                source: PathBuf::from(&entry.reference),
                grants: entry.grants.clone(),
                limits: entry.limits.clone(),
                requests: Ok(entry.installed.requests.clone()),
                text: String::new(),
            });
        }
        for subject in all.iter_mut().filter(|subject| subject.installed) {
            subject.text = std::fs::read_to_string(&lock_file)?;
        }
        Ok(all)
    }

    /// Finds a plugin by name or table: `files`, `plugins.files`, `agent.notes`.
    pub(super) fn find(path: &Path, config: &Config, name: &str) -> anyhow::Result<Self> {
        let all = Self::all(path, config)?;
        let names = all.iter().map(|it| it.id.cli_name()).collect::<Vec<_>>().join(", ");
        let found = all.into_iter().find(|subject| subject.id.is_named(name));
        found.with_context(|| format!("no plugin `{name}` in {}; there are: {names}", path.display()))
    }

    /// Its authority on this machine.
    pub(super) fn authority(&self, machine: &HostEnvironment) -> anyhow::Result<Authority> {
        let requests = self.requests.as_ref().map_err(|why| anyhow::anyhow!("[{}] {why}", self.id))?;
        Ok(Authority::new(self.id.clone(), requests, &self.grants).with_environment(machine, &self.data))
    }

    /// The file and line of a grant, or of one entry of it.
    pub(super) fn grant_location(&self, key: &str, entry: Option<usize>) -> Option<String> {
        let document = Document::parse(self.text.as_str()).ok()?;
        let grant = find_item(&document, &self.id, &key.split('.').collect::<Vec<_>>())?;
        let whole = || grant.span();
        let span: Range<usize> = entry.map_or_else(whole, |at| entry_span(grant, at).or_else(whole))?;
        let line = self.text.get(..span.start)?.matches('\n').count() + 1;
        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
        Some(format!("{file}:{line}"))
    }

    /// What the plugin is granted and this machine does not have, one sentence each.
    pub(super) fn missing(&self) -> Vec<String> {
        missing_directories(&self.grants)
    }

    /// Its grants as lines, with directories as written.
    pub(super) fn grant_lines(&self) -> Vec<(&'static str, String)> {
        self.grants.configured_lines()
    }
}

/// Granted directories that do not exist. Calls of the plugin would fail, so whoever grants them should learn it before.
pub(super) fn missing_directories(grants: &Grants) -> Vec<String> {
    let missing = grants.filesystem.iter().filter(|mount| !mount.host.is_dir());
    missing.map(|it| format!("there is no directory {}, which is granted as {}", it.host.display(), it.guest)).collect()
}

/// The item under `[<plugin>.grants]`; without keys the plugin's own table.
fn find_item<'a, S>(document: &'a Document<S>, id: &PluginId, keys: &[&str]) -> Option<&'a Item> {
    let plugin = document.as_table().get(id.side.table())?.get(&*id.name)?;
    if keys.is_empty() {
        return Some(plugin);
    }
    keys.iter().try_fold(plugin.get("grants")?, |item, key| item.get(*key))
}

fn entry_span(list: &Item, at: usize) -> Option<Range<usize>> {
    match list {
        Item::Value(value) => value.as_array()?.get(at)?.span(),
        Item::ArrayOfTables(tables) => tables.get(at)?.span(),
        Item::Table(_) | Item::None => None,
    }
}

/// Reads the requests from the component file without compiling it.
fn read_requests(spec: &PluginSpec) -> Result<Requests, String> {
    let bytes = package::read_file(&spec.source).map_err(|error| error.to_string())?;
    let source = spec.source.display();
    if spec.digest.as_ref().is_some_and(|digest| *digest != Digest::sha256(&bytes)) {
        return Err(format!("{source} has a different digest from the configured one"));
    }
    let inspection = package::inspect(&bytes).map_err(|refusal| format!("{source}: {refusal}"))?;
    Ok(inspection.manifest.map(|manifest| manifest.requests).unwrap_or_default())
}
