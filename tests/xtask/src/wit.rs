//! The WIT for guests in other languages: the guest's world, our WIT, and WASI's in the version that the host has.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command::{cargo, output};
use crate::repo::Repo;
use crate::stamp::copy_if_changed;

/// WASI's own WIT: it comes with the crate that gives guests `wasi:http`, so the versions match.
pub(crate) fn wasi(repo: &Repo) -> Result<PathBuf> {
    let mut metadata = cargo();
    metadata.args(["metadata", "--format-version", "1", "--locked", "--quiet"]).current_dir(&repo.root);
    let known: serde_json::Value = serde_json::from_str(&output(&mut metadata)?)?;
    let packages = known["packages"].as_array().context("cargo metadata lists packages")?;
    let http = packages.iter().find(|package| package["name"] == "wasmtime-wasi-http");
    let manifest = http.and_then(|package| package["manifest_path"].as_str()).context("the host links wasi:http")?;
    Ok(Path::new(manifest).with_file_name("wit").join("deps"))
}

/// Writes a world and all packages that it names into a folder, which contains nothing else.
pub(crate) fn gather(
    repo: &Repo,
    world: &Path,
    wasi: &Path,
    to: &Path,
    change: impl Fn(String) -> String,
) -> Result<()> {
    for (from, below) in [(repo.wit(), "deps/portcullis"), (wasi.to_owned(), "deps")] {
        for entry in fs::read_dir(&from).with_context(|| format!("cannot read {}", from.display()))? {
            let file = entry?.path();
            write(&file, &to.join(below).join(file.file_name().context("a file has a name")?), &change)?;
        }
    }
    write(world, &to.join("world.wit"), &change)
}

/// Adds the manifest with a component's requests: the custom section `portcullis:manifest`.
pub(crate) fn with_manifest(component: &Path, manifest: &Path, to: &Path) -> Result<()> {
    const NAME: &str = "portcullis:manifest";
    let text = fs::read(manifest).with_context(|| format!("cannot read {}", manifest.display()))?;
    let content = [&[u8::try_from(NAME.len())?], NAME.as_bytes(), &text].concat();
    let mut bytes = fs::read(component)?;
    bytes.push(0);
    // The length as LEB128, seven bits at a time.
    let mut length = content.len();
    while length >= 0x80 {
        bytes.push((length & 0x7f) as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(content);
    fs::write(component, bytes)?;
    copy_if_changed(component, to)?;
    Ok(())
}

fn write(from: &Path, to: &Path, change: impl Fn(String) -> String) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
    let text = fs::read_to_string(from).with_context(|| format!("cannot read {}", from.display()))?;
    fs::write(to, change(text)).with_context(|| format!("cannot write {}", to.display()))
}
