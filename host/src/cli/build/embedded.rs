//! The files in this program: the SDKs, the WIT, templates, lists of tools.

use anyhow::Context;
use std::fs;
use std::path::Path;

/// Paths with slashes, sorted, and contents.
static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The files below a folder, named from there on.
pub(super) fn below(folder: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    FILES.iter().filter_map(move |(name, bytes)| Some((name.strip_prefix(folder)?.strip_prefix('/')?, *bytes)))
}

/// The files of a language's template.
pub(in crate::cli) fn template(language: &str) -> impl Iterator<Item = (&'static str, &'static [u8])> {
    below(&format!("templates/{language}")).collect::<Vec<_>>().into_iter()
}

/// Writes the files below a folder. What is there already is kept as it is, and so are the times that build tools look at.
pub(super) fn unpack(folder: &str, to: &Path) -> anyhow::Result<()> {
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
            ("c", "src/data/uri.c"),
            ("go", "internal/wit/runtime/runtime.go"),
            ("toolchains/python", "requirements.txt"),
            ("toolchains/c", "requirements.txt"),
        ] {
            assert!(below(folder).any(|(name, _)| name == file), "{folder}/{file}");
        }
        assert!(FILES.iter().all(|(name, _)| !name.contains("__pycache__")));
    }
}
