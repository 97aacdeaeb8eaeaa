//! A changed copy of the workspace, built beside the real one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::stamp::copy_if_changed;

/// Copies a folder, changing its text. Files that need no change keep their modification times, and files that no
/// longer exist are removed, except those that the copy has in addition.
pub(crate) fn mirror(
    from: &Path,
    to: &Path,
    added: &[PathBuf],
    change: &dyn Fn(&Path, String) -> Result<String>,
) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(to)? {
        let old = entry?.path();
        if !from.join(old.file_name().context("a file has a name")?).exists() && !added.contains(&old) {
            if old.is_dir() { fs::remove_dir_all(old)? } else { fs::remove_file(old)? }
        }
    }
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        let beside = to.join(path.file_name().context("a file has a name")?);
        if path.is_symlink() {
            link(&fs::read_link(&path)?, &beside)?;
            continue;
        }
        if path.is_dir() {
            mirror(&path, &beside, added, change)?;
            continue;
        }
        match String::from_utf8(fs::read(&path)?) {
            Err(_) => drop(copy_if_changed(&path, &beside)?),
            Ok(text) => write_if_changed(&beside, &change(&path, text)?)?,
        }
    }
    Ok(())
}

/// Writes a file unless it has this text already.
pub(crate) fn write_if_changed(file: &Path, text: &str) -> Result<()> {
    if fs::read_to_string(file).ok().as_deref() != Some(text) {
        fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    Ok(())
}

/// Makes a symbolic link unless there is one.
pub(crate) fn link(to: &Path, link: &Path) -> Result<()> {
    if !link.is_symlink() {
        symlink(to, link).with_context(|| format!("cannot make {}", link.display()))?;
    }
    Ok(())
}

/// Copies the workspace's own files. The copy's crates get a version of their own: without it cargo takes them for the
/// real ones in the same target folder, and uses what was built of either for the other.
pub(crate) fn copy_manifest(from: &Path, to: &Path, build: &str) -> Result<()> {
    let manifest = fs::read_to_string(from.join("Cargo.toml")).context("cannot read the workspace's manifest")?;
    let (before, after) = manifest.split_once("[workspace.package]\nversion = \"").context("it has a version")?;
    let (version, after) = after.split_once('"').context("a version ends")?;
    let named = format!("{before}[workspace.package]\nversion = \"{version}+{build}\"{after}");
    write_if_changed(&to.join("Cargo.toml"), &named)?;
    let lock = to.join("Cargo.lock");
    // Cargo writes the version into it.
    if !lock.exists() || newer(&from.join("Cargo.lock"), &lock)? {
        fs::copy(from.join("Cargo.lock"), lock)?;
    }
    Ok(())
}

fn newer(one: &Path, other: &Path) -> Result<bool> {
    Ok(fs::metadata(one)?.modified()? > fs::metadata(other)?.modified()?)
}

/// The host's manifest with another name for its program, so that the real program beside it is kept.
pub(crate) fn with_program(manifest: &str, name: &str) -> String {
    let bin = format!("[[bin]]\nname = \"{name}\"\npath = \"src/main.rs\"\n\n[lints]");
    let named = manifest.replace("publish.workspace = true", "publish.workspace = true\nautobins = false");
    named.replacen("[lints]", &bin, 1)
}
