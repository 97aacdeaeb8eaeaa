//! The versions of libraries, of the files that pin them.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::language::{Language, data_folder};
use crate::repo::Repo;

pub(super) type Versions = BTreeMap<String, String>;

pub(super) fn of(repo: &Repo, language: Language) -> Result<Versions> {
    let data = data_folder(repo);
    let file = match language {
        Language::Python => data.join("python/constraints.txt"),
        Language::Javascript => repo.root.join("tests/languages/npm/package.json"),
        Language::Rust => data.join("rust/Cargo.lock"),
        Language::Go => data.join("go/go.mod"),
    };
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", repo.show(&file)))?;
    match language {
        Language::Python => Ok(pinned(&text)),
        Language::Javascript => installed(&text),
        Language::Rust => locked(&text),
        Language::Go => Ok(required(&text)),
    }
}

/// `name==1.2` lines of pip.
fn pinned(text: &str) -> Versions {
    let pins = text.lines().filter_map(|line| line.split_once("=="));
    pins.map(|(name, version)| (name.to_lowercase().replace('_', "-"), version.trim().to_owned())).collect()
}

fn installed(text: &str) -> Result<Versions> {
    let package: Value = serde_json::from_str(text).context("package.json is not JSON")?;
    let all = package["dependencies"].as_object().context("package.json has no dependencies")?;
    Ok(all.iter().map(|(name, version)| (name.clone(), version.as_str().unwrap_or_default().to_owned())).collect())
}

/// Of several versions of a crate, the newest, which stands last.
fn locked(text: &str) -> Result<Versions> {
    let lock: toml::Value = toml::from_str(text).context("Cargo.lock is not TOML")?;
    let packages = lock["package"].as_array().into_iter().flatten();
    let text = |package: &toml::Value, key: &str| package.get(key).and_then(toml::Value::as_str).map(ToOwned::to_owned);
    Ok(packages.filter_map(|package| Some((text(package, "name")?, text(package, "version")?))).collect())
}

/// `require` lines of a module file.
fn required(text: &str) -> Versions {
    let lines = text.lines().map(|line| line.trim().trim_start_matches("require ").split(' '));
    let pairs =
        lines.filter_map(|mut words| Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned())));
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_of_the_files_that_pin_them() {
        assert_eq!(pinned("PyYAML==6.0\n# no==\n")["pyyaml"], "6.0");
        let go = required(
            "module libraries\n\ngo 1.25.0\n\nrequire (\n\texample.com/a v1.2.0\n\texample.com/b v0.1.0 // indirect\n)\n",
        );
        assert_eq!((go.len(), go["example.com/a"].as_str()), (2, "1.2.0"));
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n[[package]]\nname = \"a\"\nversion = \"2.0.0\"\n";
        assert_eq!(locked(lock).ok().and_then(|all| all.get("a").cloned()).as_deref(), Some("2.0.0"));
        let npm = installed(r#"{"dependencies": {"a": "1.2.3"}}"#).ok();
        assert_eq!(npm.and_then(|all| all.get("a").cloned()).as_deref(), Some("1.2.3"));
    }
}
