//! The files in this program: the SDKs, the WIT, templates, lists of tools.

use anyhow::Context;
use std::fs;
use std::path::Path;

/// Paths with slashes, sorted, and contents.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The files below a folder, with their paths relative to it.
pub(crate) fn below(folder: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    FILES.iter().filter_map(move |(name, bytes)| Some((name.strip_prefix(folder)?.strip_prefix('/')?, *bytes)))
}

/// The files of a language's template.
pub fn template(language: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    below(&format!("templates/{language}")).collect::<Vec<_>>().into_iter()
}

/// Writes the files below a folder. A file with the same contents is not written again, so that build tools see no new time.
pub(crate) fn unpack(folder: &str, to: &Path) -> anyhow::Result<()> {
    for (name, bytes) in below(folder) {
        let path = to.join(name);
        if fs::read(&path).is_ok_and(|there| there == bytes) {
            continue;
        }
        let parent = path.parent().unwrap_or(to);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, bytes));
        written.with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Removes what another version of this program has left in a folder: compilers would use it as well.
pub(crate) fn remove_others(folder: &str, to: &Path) -> anyhow::Result<()> {
    let ours: Vec<_> = below(folder).map(|(name, _)| to.join(name)).collect();
    let mut folders = vec![to.to_owned()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(&at).with_context(|| format!("cannot read {}", at.display()))? {
            let (path, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
            if kind.is_dir() {
                folders.push(path);
            } else if !ours.contains(&path) {
                fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_an_sdk_and_a_template() {
        for language in ["rust", "python", "javascript", "typescript", "c", "go"] {
            assert!(template(language).count() >= 4, "{language}");
        }
        for (folder, file) in [
            ("wit", "world.wit"),
            ("wasi", "http.wit"),
            ("rust", "Cargo.toml"),
            ("rust", "guest/wit/tools.wit"),
            ("python", "portcullis_guest/__init__.py"),
            ("javascript", "src/index.js"),
            ("javascript", "schemas/main.js"),
            ("c", "src/data/uri.c"),
            ("go", "internal/wit/runtime/runtime.go"),
            ("toolchains/typescript", "package-lock.json"),
            ("toolchains/python", "requirements.txt"),
            ("toolchains/c", "requirements.txt"),
        ] {
            assert!(below(folder).any(|(name, _)| name == file), "{folder}/{file}");
        }
        assert!(FILES.iter().all(|(name, _)| !name.contains("__pycache__")));
    }

    #[test]
    fn what_another_version_has_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        unpack("c", folder.path()).unwrap();
        let [kept, left] = ["src/tools.c", "src/data/left.c"].map(|name| folder.path().join(name));
        fs::write(&left, "").unwrap();
        remove_others("c", folder.path()).unwrap();
        assert!(kept.is_file() && !left.exists());
    }
}
