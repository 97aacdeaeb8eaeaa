//! Rust plugins and test guests: two separate workspaces, built for `wasm32-wasip2`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::command::{cargo, output, quiet, step};
use crate::repo::Repo;
use crate::stamp::copy_if_changed;

pub(crate) const TARGET: &str = "wasm32-wasip2";

/// Adds the compilation target unless the active compiler already has it.
pub(crate) fn add_target(repo: &Repo) -> Result<()> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(&repo.root))?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).join("lib").is_dir() {
        return Ok(());
    }
    step("adding the compilation target wasm32-wasip2", || {
        quiet(Command::new("rustup").args(["target", "add", TARGET]).current_dir(&repo.root)).context(
            "guests need Rust's wasm32-wasip2 target. With rustup: `rustup target add wasm32-wasip2` (needs the \
             network once); a compiler from elsewhere must bring the target with it",
        )
    })
}

/// Builds every plugin into `target/plugins/<name>.wasm`.
pub(crate) fn plugins(repo: &Repo) -> Result<()> {
    copy(build(repo, "plugins", &[])?, &repo.plugins())
}

/// Builds only the named plugins.
pub(crate) fn some_plugins(repo: &Repo, names: &[&str]) -> Result<()> {
    let wanted: Vec<_> = names.iter().flat_map(|name| ["--package", name]).collect();
    copy(build(repo, "plugins", &wanted)?, &repo.plugins())
}

/// Builds every misbehaving guest into `target/guests/<behaviour>.wasm`.
pub(crate) fn guests(repo: &Repo) -> Result<()> {
    copy(build(repo, "tests/guests", &["--examples"])?, &repo.target.join("guests"))
}

/// Builds only the named guests.
pub(crate) fn some_guests(repo: &Repo, names: &[&str]) -> Result<()> {
    let wanted: Vec<_> = names.iter().flat_map(|name| ["--example", name]).collect();
    copy(build(repo, "tests/guests", &wanted)?, &repo.target.join("guests"))
}

/// Builds the conformance suite's fixtures into `target/conformance/<name>.wasm`.
pub(crate) fn conformance(repo: &Repo) -> Result<()> {
    let components = build(repo, "tests/conformance", &["--workspace", "--lib", "--examples"])?;
    copy(components, &repo.target.join("conformance"))
}

/// Builds the plugin that the benchmark measures, under the short name that the benchmark uses, and the one with a hundred tools.
pub(crate) fn for_bench(repo: &Repo) -> Result<()> {
    for component in build(repo, "tests/bench/guest", &[])? {
        copy_if_changed(&component, &repo.plugins().join("bench.wasm"))?;
    }
    copy(build(repo, "tests/guests", &["--example", "toolbox"])?, &repo.plugins())
}

/// Builds the reference of the behaviour suite into `target/languages/rust.wasm`.
pub(crate) fn polyglot(repo: &Repo) -> Result<()> {
    for component in build(repo, "tests/languages/rust", &[])? {
        copy_if_changed(&component, &repo.languages().join("rust.wasm"))?;
    }
    Ok(())
}

/// Copies components, with dashes in their names.
fn copy(components: Vec<PathBuf>, to: &Path) -> Result<()> {
    for component in components {
        let stem = component.file_stem().context("a component's file has a name")?.to_string_lossy();
        copy_if_changed(&component, &to.join(format!("{}.wasm", stem.replace('_', "-"))))?;
    }
    Ok(())
}

/// Builds one workspace and returns its components.
fn build(repo: &Repo, workspace: &str, which: &[&str]) -> Result<Vec<PathBuf>> {
    let folder = repo.root.join(workspace);
    step(&format!("building {workspace} for {TARGET}"), || {
        let mut command = cargo();
        command.args(["build", "--release", "--message-format=json-render-diagnostics"]);
        command.args(["--target", TARGET, "--target-dir"]).arg(repo.target.join("wasm")).args(which);
        if folder.join("Cargo.lock").exists() {
            command.arg("--locked");
        }
        // Runs inside the folder: cargo reads `.cargo/config.toml` from its working directory, not from the manifest's.
        let messages = output(command.current_dir(&folder))?;
        let components = components(&messages, &folder);
        if components.is_empty() {
            bail!("{workspace} built no component");
        }
        Ok(components)
    })
}

/// The components in cargo's messages that come from packages in `folder`; cargo reports up-to-date ones too.
fn components(messages: &str, folder: &Path) -> Vec<PathBuf> {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact")
        .filter(|message| message["manifest_path"].as_str().is_some_and(|path| Path::new(path).starts_with(&folder)))
        .flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default())
        .filter_map(|file| file.as_str().map(PathBuf::from))
        .filter(|file| file.extension().is_some_and(|extension| extension == "wasm"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_components_of_the_workspace_are_taken() {
        let messages = [
            r#"{"reason":"compiler-artifact","manifest_path":"/r/plugins/a/Cargo.toml","filenames":["/t/a_b.wasm"]}"#,
            r#"{"reason":"compiler-artifact","manifest_path":"/elsewhere/Cargo.toml","filenames":["/t/c.wasm"]}"#,
            r#"{"reason":"compiler-artifact","manifest_path":"/r/plugins/l/Cargo.toml","filenames":["/t/l.rlib"]}"#,
            r#"{"reason":"build-finished","success":true}"#,
        ];
        assert_eq!(components(&messages.join("\n"), Path::new("/r/plugins")), [PathBuf::from("/t/a_b.wasm")]);
    }
}
