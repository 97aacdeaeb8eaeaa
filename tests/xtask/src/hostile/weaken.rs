//! The host with every check of a list behind a switch: a copy of its source, changed, built once beside the real one.
//!
//! The switches are in no line of the real source, so they can be in no release. The copy is made anew each time, and a
//! change whose text is not there exactly once is an error: a check that was moved or reworded must be looked at again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::mutants::Mutant;
use crate::command::{cargo, check};
use crate::repo::Repo;
use crate::stamp::copy_if_changed;

/// The variable that names the check to be left out.
pub(super) const SWITCH: &str = "PORTCULLIS_WEAKEN";
/// The copy's program.
const PROGRAM: &str = "portcullis-weakened";

/// What the copy has besides.
const SWITCHES: &str = r#"
/// Whether this check is left out.
pub(crate) fn weakened(check: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var("PORTCULLIS_WEAKEN").ok()).as_deref() == Some(check)
}
"#;

/// Copies, changes and builds; the program.
pub(super) fn build(repo: &Repo, mutants: &[Mutant]) -> Result<PathBuf> {
    let copy = repo.target.join("weaken/source");
    for part in ["host", "wit"] {
        mirror(&repo.root.join(part), &copy.join(part), &|path, text| changed(&repo.root, mutants, path, text))?;
    }
    fs::copy(repo.root.join("Cargo.lock"), copy.join("Cargo.lock"))?;
    let workspace = fs::read_to_string(repo.root.join("Cargo.toml"))?;
    let members = workspace.lines().map(|line| match line.split(' ').next() {
        Some("members") => r#"members = ["host"]"#,
        Some("exclude") => "exclude = []",
        _ => line,
    });
    fs::write(copy.join("Cargo.toml"), members.collect::<Vec<_>>().join("\n") + "\n")?;
    // The same folder for what is built: what the copy depends on is what the real one does.
    let mut build = cargo();
    build.args(["build", "--quiet", "--bin", PROGRAM, "--target-dir"]).arg(repo.cargo_target()).current_dir(&copy);
    // What is left unused where a check is left out is no mistake here.
    check(build.env("RUSTFLAGS", std::env::var_os("RUSTFLAGS").unwrap_or_default()))?;
    Ok(repo.binary("debug", PROGRAM))
}

/// Copies a folder, changing its text; files that need no change keep their times.
fn mirror(from: &Path, to: &Path, change: &dyn Fn(&Path, String) -> Result<String>) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        let beside = to.join(path.file_name().context("a file has a name")?);
        if path.is_dir() {
            mirror(&path, &beside, change)?;
            continue;
        }
        match String::from_utf8(fs::read(&path)?) {
            Err(_) => drop(copy_if_changed(&path, &beside)?),
            Ok(text) => {
                let text = change(&path, text)?;
                if fs::read_to_string(&beside).ok().as_deref() != Some(&text) {
                    fs::write(&beside, text)?;
                }
            }
        }
    }
    Ok(())
}

/// A file's text as it is in the copy.
fn changed(root: &Path, mutants: &[Mutant], path: &Path, mut text: String) -> Result<String> {
    let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
    match &*name {
        "host/src/lib.rs" => text += SWITCHES,
        "host/Cargo.toml" => {
            let program = format!("[[bin]]\nname = \"{PROGRAM}\"\npath = \"src/main.rs\"\n\n[lints]");
            text = text.replace("publish.workspace = true", "publish.workspace = true\nautobins = false");
            text = text.replacen("[lints]", &program, 1);
        }
        _ => {}
    }
    for Mutant { name: check, file, from, to, .. } in
        mutants.iter().filter(|mutant| format!("host/src/{}", mutant.file) == name)
    {
        let times = text.matches(from).count();
        if times != 1 {
            bail!("the check `{check}` stands {times} times in {file}, not once: {from}");
        }
        text = text.replace(from, &to.replace("OFF", &format!("crate::weakened(\"{check}\")")));
    }
    Ok(text)
}

/// A compile cache for one run: what is good is there already, what is put there stays there.
pub(super) fn cache(repo: &Repo, check: &str) -> Result<PathBuf> {
    let (from, to) = (repo.target.join("test-cache"), repo.target.join("weaken/cache").join(check));
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    fs::create_dir_all(to.parent().context("a cache lies in a folder")?)?;
    // Links: entries are replaced and never written to.
    check_copy(Command::new("cp").args(["-al"]).arg(from).arg(&to))?;
    Ok(to)
}

fn check_copy(command: &mut Command) -> Result<()> {
    check(command).context("cannot copy the compile cache; `cargo xtask hostile` makes it")
}
