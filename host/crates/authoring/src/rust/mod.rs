//! Rust: cargo makes the component. The SDK stamps the manifest, so that plain cargo makes the same.

mod c;

use crate::command::{is_announced, quiet};
use crate::environment::BuildEnvironment;
use crate::project::Project;
use anyhow::{Context, bail};
use c::{RUST, TARGET};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(crate) fn build(project: &Project, environment: &BuildEnvironment) -> anyhow::Result<Vec<u8>> {
    add_target(&project.folder)?;
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--target", TARGET, "--message-format=json-render-diagnostics"]);
    if !is_announced() {
        cargo.arg("--quiet");
    }
    c::provide(&mut cargo, project, environment)?;
    // The author should see what the compiler reports.
    let out = cargo.current_dir(&project.folder).stderr(Stdio::inherit()).output();
    let out = out.with_context(|| format!("cannot start cargo. {RUST}"))?;
    if !out.status.success() {
        bail!("cargo could not build {}", project.folder.display());
    }
    let messages = String::from_utf8_lossy(&out.stdout);
    let mut made = components(&messages, &project.folder);
    match (made.pop(), made.pop()) {
        (Some(path), None) => fs::read(&path).with_context(|| format!("cannot read {}", path.display())),
        (None, _) => bail!("cargo built no component; Cargo.toml needs `[lib]` with `crate-type = [\"cdylib\"]`"),
        (Some(_), Some(_)) => bail!("cargo built several components; build the folder of one of them"),
    }
}

/// Adds the compilation target unless the compiler has it.
fn add_target(folder: &Path) -> anyhow::Result<()> {
    let sysroot = quiet(Command::new("rustc").args(["--print", "sysroot"]).current_dir(folder), RUST)?;
    if Path::new(sysroot.trim()).join("lib/rustlib").join(TARGET).join("lib").is_dir() {
        return Ok(());
    }
    quiet(Command::new("rustup").args(["target", "add", TARGET]).current_dir(folder), RUST).with_context(|| {
        format!("plugins need Rust's {TARGET} target: `rustup target add {TARGET}` needs the network once")
    })?;
    Ok(())
}

/// The components of the folder's own packages in cargo's messages; cargo reports those that are up to date, too.
fn components(messages: &str, folder: &Path) -> Vec<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact")
        .filter(|message| message["manifest_path"].as_str().is_some_and(|path| Path::new(path).starts_with(folder)))
        .flat_map(|message| message["filenames"].as_array().cloned().unwrap_or_default())
        .filter_map(|file| file.as_str().map(PathBuf::from))
        .filter(|file| file.extension().is_some_and(|extension| extension == "wasm"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_components_of_the_folder_are_taken() {
        let messages = [
            r#"{"reason":"compiler-artifact","manifest_path":"/p/Cargo.toml","filenames":["/p/target/a.wasm"]}"#,
            r#"{"reason":"compiler-artifact","manifest_path":"/else/Cargo.toml","filenames":["/t/c.wasm"]}"#,
            r#"{"reason":"compiler-artifact","manifest_path":"/p/l/Cargo.toml","filenames":["/t/l.rlib"]}"#,
        ];
        assert_eq!(components(&messages.join("\n"), Path::new("/p")), [PathBuf::from("/p/target/a.wasm")]);
    }
}
