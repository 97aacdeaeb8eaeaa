//! Decides by file content whether a build product is still up to date.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Runs `work` unless `stamp` says that it was done for exactly these inputs (files, or folders of files) and `product`
/// still exists. The stamp is written last, so interrupted work is repeated.
pub(crate) fn unless_fresh(
    stamp: &Path,
    inputs: &[PathBuf],
    product: &Path,
    work: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let now = fingerprint(inputs)?;
    if product.exists() && fs::read_to_string(stamp).is_ok_and(|then| then == now) {
        return Ok(());
    }
    work()?;
    let folder = stamp.parent().context("a stamp lies in a folder")?;
    fs::create_dir_all(folder)?;
    fs::write(stamp, now).with_context(|| format!("cannot write {}", stamp.display()))
}

/// Copies a file when its bytes differ, so that an unchanged copy keeps its modification time and does not wake file
/// watchers.
pub(crate) fn copy_if_changed(from: &Path, to: &Path) -> Result<bool> {
    let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    if fs::read(to).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    // Renamed into place: a server that reads the file meanwhile sees either the old bytes or the new ones.
    let partial = to.with_extension("partial");
    fs::write(&partial, bytes).with_context(|| format!("cannot write {}", partial.display()))?;
    fs::rename(&partial, to)?;
    Ok(true)
}

/// A folder and all folders of sources below it, if it is there.
pub(crate) fn folders(of: &Path) -> Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    if of.is_dir() && !["__pycache__", "node_modules", "tests"].iter().any(|name| of.ends_with(name)) {
        all.push(of.to_owned());
        for entry in fs::read_dir(of)? {
            all.extend(folders(&entry?.path())?);
        }
    }
    all.sort();
    Ok(all)
}

/// A plain hash is enough: a stamp detects changes, not attacks.
fn fingerprint(inputs: &[PathBuf]) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for input in inputs {
        for file in files(input)? {
            file.strip_prefix(input).unwrap_or(&file).hash(&mut hasher);
            fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?.hash(&mut hasher);
        }
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}

/// The file itself, or the files directly in a folder, in a fixed order.
fn files(input: &Path) -> Result<Vec<PathBuf>> {
    if !input.is_dir() {
        return Ok(vec![input.to_path_buf()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(input)? {
        let path = entry?.path();
        if path.is_file() {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn work_is_done_once_per_content_and_again_when_its_product_is_gone() {
        let folder = folder("stamp");
        let (input, product, stamp) = (folder.join("in"), folder.join("out"), folder.join("stamp"));
        let mut done = 0;
        let mut build = || {
            unless_fresh(&stamp, std::slice::from_ref(&input), &product, || {
                done += 1;
                Ok(fs::write(&product, "built")?)
            })
            .unwrap();
            done
        };
        fs::write(&input, "one").unwrap();
        assert_eq!((build(), build()), (1, 1));
        fs::write(&input, "two").unwrap();
        assert_eq!((build(), build()), (2, 2));
        fs::remove_file(&product).unwrap();
        assert_eq!((build(), build()), (3, 3));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn failed_work_is_not_remembered_as_done() {
        let folder = folder("failed");
        let (input, stamp) = (folder.join("in"), folder.join("stamp"));
        fs::write(&input, "one").unwrap();
        let failed = unless_fresh(&stamp, std::slice::from_ref(&input), &input, || anyhow::bail!("no"));
        assert!(failed.is_err());
        assert!(!stamp.exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn an_unchanged_copy_keeps_its_time() {
        let folder = folder("copy");
        let (from, to) = (folder.join("from"), folder.join("deeper/to"));
        fs::write(&from, "bytes").unwrap();
        assert!(copy_if_changed(&from, &to).unwrap());
        let written = fs::metadata(&to).unwrap().modified().unwrap();
        assert!(!copy_if_changed(&from, &to).unwrap());
        assert_eq!(fs::metadata(&to).unwrap().modified().unwrap(), written);
        fs::remove_dir_all(&folder).unwrap();
    }
}
