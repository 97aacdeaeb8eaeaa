//! The plugin that a command is about, without starting it: what it was granted, where that stands, and what its manifest
//! requests.

use super::authority::Lines;
use crate::config::Config;
use anyhow::Context;
use plugins::install::{Lock, lock_path};
use plugins::package;
use policy::{Authority, Digest, Grants, Limits, Machine, PluginId, PluginSpec, Requests};
use std::ops::Range;
use std::path::{Path, PathBuf};
use toml_edit::{Document, Item};

/// A plugin.
pub(super) struct Subject {
    pub(super) id: PluginId,
    /// The file that holds its grants: the configuration, or the lock file beside it.
    pub(super) file: PathBuf,
    pub(super) installed: bool,
    pub(super) source: PathBuf,
    pub(super) grants: Grants,
    pub(super) limits: Limits,
    /// What its manifest requests; or why nobody knows.
    pub(super) requests: Result<Requests, String>,
    text: String,
}

impl Subject {
    /// All plugins that are configured or installed.
    pub(super) fn all(path: &Path, config: &Config) -> anyhow::Result<Vec<Self>> {
        let text = std::fs::read_to_string(path)?;
        let document = Document::parse(text.clone()).ok();
        let stands = |id: &PluginId| document.as_ref().is_some_and(|it| item(it, id, &[]).is_some());
        let lock_file = lock_path(path);
        let mut all = Vec::new();
        let lock = Lock::load(&lock_file)?;
        let specs: Vec<&PluginSpec> = config.plugins.iter().chain(&config.agent).collect();
        for spec in &specs {
            let entry = lock.get(&spec.id).filter(|_| !stands(&spec.id));
            let requests = match entry {
                Some(entry) => Ok(entry.installed.requests.clone()),
                None => requests(spec),
            };
            all.push(Self {
                id: spec.id.clone(),
                file: if entry.is_some() { lock_file.clone() } else { path.to_owned() },
                installed: entry.is_some(),
                source: spec.source.clone(),
                grants: spec.grants.clone(),
                limits: spec.limits.clone(),
                requests,
                text: if entry.is_some() { String::new() } else { text.clone() },
            });
        }
        // Those that are installed and not loaded have grants all the same.
        for (id, entry) in lock.iter().filter(|(id, _)| !specs.iter().any(|spec| spec.id == *id)) {
            all.push(Self {
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

    /// The plugin that an operator calls so: `files`, `plugins.files`, `agent.notes`.
    pub(super) fn find(path: &Path, config: &Config, name: &str) -> anyhow::Result<Self> {
        let all = Self::all(path, config)?;
        let names = all.iter().map(|it| it.id.handle()).collect::<Vec<_>>().join(", ");
        let found = all.into_iter().find(|subject| subject.id.is_called(name));
        found.with_context(|| format!("no plugin `{name}` in {}; there are: {names}", path.display()))
    }

    /// What it may do on this machine.
    pub(super) fn authority(&self, machine: &Machine) -> anyhow::Result<Authority> {
        let requests = self.requests.as_ref().map_err(|why| anyhow::anyhow!("[{}] {why}", self.id))?;
        Ok(Authority::new(self.id.clone(), requests, &self.grants).on(machine))
    }

    /// Where a grant stands: the file and the line of its entry, or of the whole of it.
    pub(super) fn place(&self, key: &str, entry: Option<usize>) -> Option<String> {
        let document = Document::parse(self.text.as_str()).ok()?;
        let grant = item(&document, &self.id, &key.split('.').collect::<Vec<_>>())?;
        let whole = || grant.span();
        let span: Range<usize> = entry.map_or_else(whole, |at| span_of(grant, at).or_else(whole))?;
        let line = self.text.get(..span.start)?.matches('\n').count() + 1;
        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
        Some(format!("{file}:{line}"))
    }

    /// Its grants in lines, directories as they were written.
    pub(super) fn lines(&self) -> Lines {
        super::authority::given(&self.grants)
    }
}

/// What is under `[<plugin>.grants]`; the plugin's own table for no keys.
fn item<'a, S>(document: &'a Document<S>, id: &PluginId, keys: &[&str]) -> Option<&'a Item> {
    let plugin = document.as_table().get(id.side.table())?.get(&id.name)?;
    if keys.is_empty() {
        return Some(plugin);
    }
    keys.iter().try_fold(plugin.get("grants")?, |item, key| item.get(*key))
}

fn span_of(list: &Item, at: usize) -> Option<Range<usize>> {
    match list {
        Item::Value(value) => value.as_array()?.get(at)?.span(),
        Item::ArrayOfTables(tables) => tables.get(at)?.span(),
        Item::Table(_) | Item::None => None,
    }
}

/// Out of the component file, which is only looked at.
fn requests(spec: &PluginSpec) -> Result<Requests, String> {
    let bytes = package::read_file(&spec.source).map_err(|error| error.to_string())?;
    let source = spec.source.display();
    if spec.digest.as_ref().is_some_and(|digest| *digest != Digest::of(&bytes)) {
        return Err(format!("{source} has another digest than the one that is configured"));
    }
    let inspection = package::inspect(&bytes).map_err(|refusal| format!("{source}: {refusal}"))?;
    Ok(inspection.manifest.map(|manifest| manifest.requests).unwrap_or_default())
}
