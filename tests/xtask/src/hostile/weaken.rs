//! Builds a host in which every listed check has a switch: a changed copy of its source, built once beside the real
//! one.
//!
//! The switches are not in the real source, so no release can contain them. The copy is made anew each time. A change
//! whose text does not occur exactly once is an error: a check that was moved or reworded must be reviewed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::mutant::Mutant;
use super::programs::by_crate;
use crate::built::{executables, of};
use crate::command::{cargo, check};
use crate::repo::Repo;
use crate::workspace_copy::{copy_manifest, link, mirror, with_program};

/// The environment variable that names the check to disable.
pub(super) const SWITCH: &str = "PORTCULLIS_WEAKEN";
/// The value that disables no check.
pub(super) const NOTHING: &str = "nothing";
/// The name of the copy's program, and the prefix of its test programs' names.
const PROGRAM: &str = "portcullis-weakened";
const TESTS: &str = "weakened";

/// Added to the copy. Disabling a check may leave code unused, so warnings are allowed there.
const ALLOWED: &str = "#![allow(warnings)]\n";
const SWITCHES: &str = r#"
/// Whether this check is left out.
pub(crate) fn weakened(check: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    CHOSEN.get_or_init(|| std::env::var("PORTCULLIS_WEAKEN").ok()).as_deref() == Some(check)
}
"#;

/// The programs built from the copy.
pub(super) struct Weakened {
    pub(super) host: PathBuf,
    /// The unit tests of its crates.
    pub(super) unit: BTreeMap<String, PathBuf>,
}

/// Copies, changes and builds the source.
pub(super) fn build(repo: &Repo, mutants: &[&Mutant]) -> Result<Weakened> {
    let copy = repo.target.join("weaken/source");
    for part in ["host", "wit"] {
        let change = |path: &Path, text| changed(&repo.root, mutants, path, text);
        mirror(&repo.root.join(part), &copy.join(part), &[], &change)?;
    }
    copy_manifest(&repo.root, &copy, TESTS)?;
    // The other workspace members only have to be present: with them the dependencies have the same features as here,
    // and those already built are reused.
    for part in ["guest-sdk", "tests"] {
        link(&repo.root.join(part), &copy.join(part))?;
    }
    // The program comes with the tests of its crate; `--bin` would add a program of the same name that runs tests.
    let mut build = cargo();
    build.args(["test", "--quiet", "--workspace", "--test", "weakened*", "--no-run", "--target-dir"]);
    let built = executables(build.arg(repo.cargo_target()).current_dir(&copy))?;
    Ok(Weakened { host: of(&built, PROGRAM, "bin")?, unit: by_crate(&built, TESTS, "test") })
}

/// The text of a file in the copy.
pub(super) fn changed(root: &Path, mutants: &[&Mutant], path: &Path, mut text: String) -> Result<String> {
    let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
    for Mutant { name: check, file, from, to, .. } in
        mutants.iter().filter(|mutant| format!("host/{}", mutant.file) == name)
    {
        let times = text.matches(from).count();
        if times != 1 {
            bail!("the check `{check}` stands {times} times in {file}, not once: {from}");
        }
        text = text.replace(from, &to.replace("OFF", &format!("crate::weakened(\"{check}\")")));
    }
    if name.ends_with("src/lib.rs") {
        return Ok([ALLOWED, &text, SWITCHES].concat());
    }
    if name == "host/Cargo.toml" {
        text = with_program(&text, PROGRAM);
    }
    if name.ends_with("Cargo.toml") {
        let folder = path.parent().and_then(Path::file_name).context("a manifest lies in a folder")?.to_string_lossy();
        let own = if folder == "host" { "portcullis" } else { &*folder };
        let tests = format!("[[test]]\nname = \"{TESTS}-{own}\"\npath = \"src/lib.rs\"\n\n[lints]");
        text = text.replacen("[lints]", &tests, 1);
    }
    Ok(text)
}

/// A compile cache for one run: it starts with links to the good entries, and what the run adds stays in it. Runs with
/// no check disabled add to the good entries.
pub(super) fn cache(repo: &Repo, check: &str) -> Result<PathBuf> {
    let caches = repo.target.join("weaken/cache");
    let (good, to) = (caches.join(NOTHING), caches.join(check));
    if !good.exists() {
        let known = repo.target.join("test-cache");
        fs::create_dir_all(&caches)?;
        if known.exists() { linked(&known, &good)? } else { fs::create_dir_all(&good)? }
    }
    if check != NOTHING {
        drop_cache(&to)?;
        linked(&good, &to)?;
    }
    Ok(to)
}

/// Deletes what was compiled with a check disabled.
pub(super) fn drop_cache(cache: &Path) -> Result<()> {
    if cache.exists() && !cache.ends_with(NOTHING) {
        fs::remove_dir_all(cache).with_context(|| format!("cannot remove {}", cache.display()))?;
    }
    Ok(())
}

/// Hard links are safe: entries are replaced and never written to.
fn linked(from: &Path, to: &Path) -> Result<()> {
    check(Command::new("cp").arg("-al").arg(from).arg(to)).context("cannot copy the compile cache")
}
