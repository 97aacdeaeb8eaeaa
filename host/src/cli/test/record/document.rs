//! The file of a recorded call.

use super::super::transcript::{TestCall, TestTranscript};
use anyhow::Context;
use policy::{Grants, HttpGrant, Limits, PluginSpec};
use std::path::{Component, Path, PathBuf};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TableLike};

/// The first line of a new file.
pub(super) const HEADER: &str =
    "# Recorded by `portcullis call --record`; `portcullis test COMPONENT FILE` replays it.\n";

/// A new transcript, without calls, that grants what this plugin is granted. Paths are written relative to `folder`.
pub(super) fn new(spec: &PluginSpec, folder: &Path) -> anyhow::Result<DocumentMut> {
    let mut head = DocumentMut::new();
    head.insert("plugin", toml_edit::value(&*spec.id.name));
    for (key, table) in [("grants", grants(&spec.grants, folder)?), ("limits", limits(&spec.limits)?)] {
        if !table.is_empty() {
            head.insert(key, Item::Table(table));
        }
    }
    Ok(head)
}

/// Refuses a transcript whose calls were made with other grants or limits.
pub(super) fn check_same(transcript: &TestTranscript, spec: &PluginSpec, file: &Path) -> anyhow::Result<()> {
    let differs = |what: &str, key: &str| {
        format!(
            "{} has other {what} than the plugin `{}`, so the call would not be the same there: record into another file, \
             or make [{key}] equal",
            file.display(),
            spec.id.name
        )
    };
    anyhow::ensure!(comparable(&transcript.grants) == comparable(&spec.grants), differs("grants", "grants"));
    anyhow::ensure!(transcript.limits == *spec.limits, differs("limits", "limits"));
    Ok(())
}

/// Adds a call. Returns its index.
pub(super) fn add(document: &mut DocumentMut, call: &TestCall) -> anyhow::Result<usize> {
    let mut table = toml_edit::ser::to_document(call)
        .context("the call cannot be recorded: something in it cannot be written as TOML, such as a null")?
        .as_table()
        .clone();
    for key in ["tools", "http"] {
        if let Some(list) = table.remove(key) {
            table.insert(key, list.into_array_of_tables().map_or_else(|other| other, Item::ArrayOfTables));
        }
    }
    let calls = document.entry("call").or_insert(Item::ArrayOfTables(ArrayOfTables::new()));
    let calls = calls.as_array_of_tables_mut().context("the file needs its calls written as [[call]]")?;
    calls.push(table);
    Ok(calls.len() - 1)
}

/// All texts of a document, keys included.
pub(super) fn texts(document: &DocumentMut) -> anyhow::Result<Vec<String>> {
    fn gather(value: serde_json::Value, into: &mut Vec<String>) {
        match value {
            serde_json::Value::String(text) => into.push(text),
            serde_json::Value::Array(items) => items.into_iter().for_each(|item| gather(item, into)),
            serde_json::Value::Object(fields) => fields.into_iter().for_each(|(key, value)| {
                into.push(key);
                gather(value, into);
            }),
            serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => {}
        }
    }
    let (text, mut texts) = (document.to_string(), Vec::new());
    gather(toml_edit::de::from_str(&text)?, &mut texts);
    texts.push(text);
    Ok(texts)
}

fn grants(grants: &Grants, folder: &Path) -> anyhow::Result<Table> {
    let mut grants = grants.clone();
    for mount in &mut grants.filesystem {
        mount.host = relative(&mount.host, folder);
    }
    let mut table = table_of(&grants)?;
    without_defaults(&mut table, &table_of(&Grants::default())?);
    let any = HttpGrant::new("https://example.com".parse()?);
    let mut defaults = table_of(&any)?;
    defaults.remove("allow");
    for line in table.get_mut("http").and_then(Item::as_array_mut).into_iter().flat_map(toml_edit::Array::iter_mut) {
        if let Some(line) = line.as_inline_table_mut() {
            without_defaults(line, &defaults);
        }
    }
    Ok(table)
}

fn limits(limits: &Limits) -> anyhow::Result<Table> {
    let mut table = table_of(limits)?;
    without_defaults(&mut table, &table_of(&Limits::default())?);
    Ok(table)
}

fn table_of(value: &impl serde::Serialize) -> anyhow::Result<Table> {
    Ok(toml_edit::ser::to_document(value)?.as_table().clone())
}

/// Removes values that equal their defaults.
fn without_defaults(table: &mut dyn TableLike, defaults: &dyn TableLike) {
    for (key, default) in defaults.iter() {
        let Some(item) = table.get_mut(key) else { continue };
        match (item.to_string().trim() == default.to_string().trim(), default.as_table_like()) {
            (true, _) => drop(table.remove(key)),
            (false, Some(inner)) => {
                if let Some(item) = item.as_table_like_mut() {
                    without_defaults(item, inner);
                }
            }
            (false, None) => {}
        }
    }
}

/// The path relative to a folder, through their common parent. If they have only the root in common, the path itself.
fn relative(path: &Path, folder: &Path) -> PathBuf {
    let (path, folder) = (clean(path), clean(folder));
    let common = path.components().zip(folder.components()).take_while(|(one, other)| one == other).count();
    if common <= 1 {
        return path;
    }
    let up = folder.components().skip(common).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(path.components().skip(common)).collect();
    if way.as_os_str().is_empty() { PathBuf::from(".") } else { way }
}

/// Resolves `.` and `..` by the names alone, without following links.
fn clean(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(clean.pop()),
            part => clean.push(part),
        }
    }
    clean
}

/// The grants with normalized paths, so that different spellings of one path are equal.
fn comparable(grants: &Grants) -> Grants {
    let mut grants = grants.clone();
    for mount in &mut grants.filesystem {
        (mount.host, mount.within) = (clean(&mount.host), None);
    }
    grants
}

#[cfg(test)]
mod tests;
