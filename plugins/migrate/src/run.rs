//! The migration, from top to bottom.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use portcullis_guest::filesystem::{explain, resolve};
use portcullis_guest::{ToolError, client, progress};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::names::{package, whole_name};
use crate::rewrite::{lines_changed, rewrite};
use crate::tokens::specifiers;

const SOURCES: [&str; 3] = [".ts", ".tsx", ".js"];

/// What becomes of `require`.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CommonJs {
    /// It stays.
    #[default]
    Keep,
    /// It becomes `import`.
    Rewrite,
    /// The user decides.
    Ask,
}

/// What a migration has changed.
#[derive(Default, Serialize, JsonSchema)]
pub(crate) struct Summary {
    /// Sources that were looked at.
    files: u64,
    files_changed: u64,
    lines_changed: u64,
    /// Imports with a new name.
    imports_rewritten: u64,
    /// Calls of `require` that became imports.
    requires_rewritten: u64,
    /// Packages that are imported, but not in `package.json`. Those of Node.js are among them unless they are named `node:...`.
    undeclared: BTreeSet<String>,
}

/// Migrates the code below `path`. One file at a time is in memory.
pub(crate) fn migrate(path: &str, into: &str, commonjs: CommonJs) -> Result<Summary, ToolError> {
    let (root, into) = (resolve(path)?, resolve(into)?);

    report(10, "dependencies");
    let declared = dependencies(&root.join("package.json"))?;
    let files = sources(&root)?;

    report(25, "TypeScript files");
    let mut summary = Summary { files: files.len() as u64, ..Summary::default() };
    let mut requires = 0;
    for file in &files {
        let text = read(&root.join(file))?;
        for specifier in specifiers(&text) {
            requires += u64::from(specifier.required);
            let package = package(&text[specifier.at]).filter(|&package| !declared.contains(package));
            summary.undeclared.extend(package.map(str::to_owned));
        }
    }
    let with_requires = match commonjs {
        CommonJs::Keep => false,
        CommonJs::Rewrite => true,
        CommonJs::Ask => {
            let question = format!("Turn {requires} calls of require into imports?");
            requires > 0 && client::confirm(question).key("commonjs").ask()?.is_yes()
        }
    };

    report(50, "imports");
    for file in &files {
        let old = read(&root.join(file))?;
        let new = rewrite(&old, |name| whole_name(name, file, &files), with_requires);
        if new.text != old {
            write(&into.join(file), &new.text)?;
            summary.files_changed += 1;
            summary.lines_changed += lines_changed(&old, &new.text);
            summary.imports_rewritten += new.imports;
            summary.requires_rewritten += new.requires;
        }
    }
    report(100, "migrated");
    Ok(summary)
}

fn report(percent: u8, what: &str) {
    progress::report_with(percent.into(), Some(100.0), what);
}

/// The packages that a `package.json` declares; none without one.
fn dependencies(path: &Path) -> Result<BTreeSet<String>, ToolError> {
    if !path.exists() {
        return Ok(BTreeSet::new());
    }
    let package: Value = serde_json::from_str(&read(path)?)?;
    let kinds = ["dependencies", "devDependencies", "peerDependencies"];
    let declared = kinds.iter().filter_map(|kind| package[kind].as_object());
    Ok(declared.flat_map(|packages| packages.keys().cloned()).collect())
}

/// The paths of all sources below `root`.
fn sources(root: &Path) -> Result<BTreeSet<String>, ToolError> {
    let (mut found, mut ahead) = (BTreeSet::new(), vec![String::new()]);
    while let Some(folder) = ahead.pop() {
        let path = root.join(&folder);
        let failed = |error| explain(&path, &error);
        for entry in fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (kind, name) = (entry.file_type().map_err(failed)?, entry.file_name());
            let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { continue };
            if kind.is_dir() && name != "node_modules" {
                ahead.push(format!("{folder}{name}/"));
            } else if kind.is_file() && SOURCES.iter().any(|ending| name.ends_with(ending)) {
                found.insert(format!("{folder}{name}"));
            }
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<String, ToolError> {
    fs::read_to_string(path).map_err(|error| explain(path, &error))
}

fn write(path: &Path, text: &str) -> Result<(), ToolError> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).and_then(|()| fs::write(path, text)).map_err(|error| explain(path, &error))
}
