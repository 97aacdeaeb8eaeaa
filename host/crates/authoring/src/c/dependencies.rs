//! Dependencies of a plugin in C: C files of crates, in the form of which many libraries are published. `dependencies.toml`
//! names each crate in an exact version with the digest of its archive. Cargo fetches it once; after that, no network and no
//! cargo is needed.

use crate::command::quiet;
use crate::environment::BuildEnvironment;
use crate::toolchain;
use anyhow::{Context, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

const FILE: &str = "dependencies.toml";
const CARGO: &str = "Cargo fetches what a plugin in C takes from crates, once: https://rustup.rs";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    version: String,
    /// The digest of the crate's archive, in hex.
    sha256: String,
    /// C files, relative to the crate.
    sources: Vec<PathBuf>,
    /// Folders with headers.
    #[serde(default)]
    include: Vec<PathBuf>,
    #[serde(default)]
    defines: Vec<String>,
}

/// A crate whose files are in the cache.
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) defines: Vec<String>,
    folder: PathBuf,
    sources: Vec<PathBuf>,
    include: Vec<PathBuf>,
}

impl Dependency {
    pub(crate) fn source_files(&self) -> Vec<PathBuf> {
        self.sources.iter().map(|path| self.folder.join(path)).collect()
    }

    pub(crate) fn include_folders(&self) -> impl Iterator<Item = PathBuf> {
        self.include.iter().map(|path| self.folder.join(path))
    }
}

/// Fetches the dependencies that a plugin's folder names.
pub(crate) fn read(folder: &Path, environment: &BuildEnvironment) -> anyhow::Result<Vec<Dependency>> {
    let path = folder.join(FILE);
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let entries = parse(&text).with_context(|| format!("{} is not valid", path.display()))?;
    entries.into_iter().map(|(name, entry)| fetched(environment, name, entry)).collect()
}

fn parse(text: &str) -> anyhow::Result<BTreeMap<String, Entry>> {
    let all: BTreeMap<String, Entry> = toml::from_str(text)?;
    for (name, entry) in &all {
        // These texts become parts of paths, and of a file for cargo.
        let plain = |text: &str, more: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        ensure!(plain(name, "-_"), "`{name}` is not the name of a crate");
        ensure!(plain(&entry.version, "-+."), "{name}: `{}` is not an exact version, such as 1.2.3", entry.version);
        ensure!(entry.sha256.len() == 64 && plain(&entry.sha256, ""), "{name}: sha256 must have 64 hex digits");
        ensure!(!entry.sources.is_empty(), "{name}: sources names no C file");
        let inside = |path: &Path| path.components().all(|part| matches!(part, Component::Normal(_)));
        let outside = entry.sources.iter().chain(&entry.include).find(|path| !inside(path));
        ensure!(
            outside.is_none(),
            "{name}: `{}` is not a path inside of the crate",
            outside.unwrap_or(&PathBuf::new()).display()
        );
    }
    Ok(all)
}

/// The crate's files, in a folder of the cache that is named for their digest.
fn fetched(environment: &BuildEnvironment, name: String, entry: Entry) -> anyhow::Result<Dependency> {
    let cached = format!("crate-{name}-{}-{}", entry.version, entry.sha256.split_at(16).0);
    let what = format!("{name} {}", entry.version);
    let folder = toolchain::once(environment, &cached, &what, |to| {
        let project = tempfile::tempdir().context("cannot make a folder")?;
        let from = fetch(&name, &entry.version, &entry.sha256, project.path())
            .with_context(|| format!("cannot fetch the crate {what}"))?;
        copy(&from, &to.join("files"))
    })?
    .join("files");
    for path in entry.sources.iter().chain(&entry.include) {
        ensure!(folder.join(path).exists(), "{FILE}: {what} has no {}", path.display());
    }
    let Entry { version, sources, include, defines, .. } = entry;
    Ok(Dependency { name, version, defines, folder, sources, include })
}

/// Lets cargo fetch and check a crate, as the dependency of a package without code. Nothing of it is built.
fn fetch(name: &str, version: &str, sha256: &str, project: &Path) -> anyhow::Result<PathBuf> {
    let manifest = format!(
        "[package]\nname = \"fetching\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[lib]\npath = \"lib.rs\"\n[workspace]\n\
         [dependencies]\n{name} = {{ version = \"={version}\", default-features = false }}\n"
    );
    fs::write(project.join("Cargo.toml"), manifest)?;
    fs::write(project.join("lib.rs"), "")?;
    let cargo = |arguments: &[&str]| quiet(Command::new("cargo").args(arguments).current_dir(project), CARGO);
    cargo(&["fetch", "--quiet"])?;
    // Cargo has checked the archive against its registry's digest. This checks that digest against the author's.
    let locked = locked(&fs::read_to_string(project.join("Cargo.lock"))?, name)?;
    ensure!(locked == sha256.to_ascii_lowercase(), "its archive has the digest {locked}, not {sha256}");
    let metadata: serde_json::Value = serde_json::from_str(&cargo(&["metadata", "--format-version=1", "--offline"])?)?;
    let package = metadata["packages"].as_array().and_then(|all| all.iter().find(|package| package["name"] == name));
    let manifest =
        package.and_then(|package| package["manifest_path"].as_str()).context("cargo does not say where it is")?;
    Ok(Path::new(manifest).parent().unwrap_or(project).to_owned())
}

/// The digest that a lock file has of a crate.
fn locked(lock: &str, name: &str) -> anyhow::Result<String> {
    let lock: toml::Value = toml::from_str(lock)?;
    let packages = lock.get("package").and_then(toml::Value::as_array).context("cargo wrote no lock file")?;
    let is = |package: &&toml::Value| package.get("name").and_then(toml::Value::as_str) == Some(name);
    let checksum = packages.iter().find(is).and_then(|package| package.get("checksum")?.as_str());
    Ok(checksum.with_context(|| format!("{name} comes from no registry"))?.to_owned())
}

/// Copies a crate, with its licence. Links are left out: they could lead anywhere.
fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &to)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &to).with_context(|| format!("cannot write {}", to.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "[libz-sys]\nversion = \"1.1.20\"\nsources = [\"src/zlib/adler32.c\"]\nsha256 = ";

    #[test]
    fn what_is_taken_is_exact() {
        let good = format!("{GOOD}\"{}\"\n", "0a".repeat(32));
        assert_eq!(parse(&good).unwrap()["libz-sys"].version, "1.1.20");
        for (right, wrong) in [
            ("1.1.20", "^1.1"),
            ("1.1.20", "1.1.20\\\"}\\nother = {"),
            ("0a0a", "0a"),
            ("src/zlib", "../../.ssh"),
            ("src/zlib", "/etc"),
            ("[\"src/zlib/adler32.c\"]", "[]"),
            ("libz-sys", "\"../x\""),
            ("version", "range"),
        ] {
            assert!(parse(&good.replacen(right, wrong, 1)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_lock_file_has_the_digest() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n[[package]]\nname = \"b\"\nchecksum = \"ff\"\n";
        assert_eq!(locked(lock, "b").unwrap(), "ff");
        assert!(locked(lock, "a").is_err() && locked(lock, "c").is_err());
    }
}
