//! `cargo xtask recipe`: follows the recipe for a new import in ARCHITECTURE.md, for a toy and in a copy of the
//! repository, and runs the toy's tests. So the recipe is complete.

mod step;
mod steps;
#[cfg(test)]
mod table;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::built::{executables, of};
use crate::command::{cargo, check, step as announce};
use crate::repo::Repo;
use crate::wasm;
use crate::workspace_copy::{copy_manifest, link, mirror, with_program, write_if_changed};
use step::{Change, Step};
use steps::STEPS;

const PROGRAM: &str = "portcullis-with-toy";
/// The folders that steps change.
const CHANGED: [&str; 5] = ["host", "wit", "guest-sdk/rust", "tests/suite", "tests/guests"];
/// What the workspace needs besides.
const LINKED: [&str; 14] = [
    "guest-sdk/c",
    "guest-sdk/clients",
    "guest-sdk/go",
    "guest-sdk/javascript",
    "guest-sdk/python",
    "guest-sdk/templates",
    "guest-sdk/toolchains",
    "guest-sdk/wasi",
    "tests/bench",
    "tests/clients",
    "tests/crash",
    "tests/tidy",
    "tests/tidy.rs",
    "tests/xtask",
];
/// The tests of the suite that must pass with the toy.
const TESTS: [&str; 3] =
    ["dice::dice_need_a_grant", "dice::dice_are_shown_to_the_operator", "imports::every_import_is_denied_or_inert"];

/// Copies and changes the repository, builds the copy and runs the toy's tests.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let copy = repo.copied_to(repo.target.join("recipe/source"));
    announce("following the recipe", || write_copy(repo, &copy))?;
    wasm::add_target(repo)?;
    wasm::some_guests(&copy, &["dice"])?;
    announce("checking the SDK for components", || {
        let mut sdk = cargo();
        sdk.args(["check", "--quiet", "--release", "--package", "portcullis-guest", "--lib", "--target", wasm::TARGET]);
        check(sdk.arg("--target-dir").arg(copy.target.join("wasm")).current_dir(&copy.root))
    })?;
    let built = announce("building the host, its suite and the SDK's test", || {
        let mut build = cargo();
        build.args(["build", "--quiet", "--workspace", "--bin", PROGRAM, "--test", "suite", "--test", "dice"]);
        executables(build.arg("--target-dir").arg(repo.cargo_target()).current_dir(&copy.root))
    })?;
    let host = of(&built, PROGRAM, "bin")?;
    announce("testing the toy in the SDK", || passes(&of(&built, "dice", "test")?, &[], 1, |_| {}))?;
    announce("testing the toy end to end", || {
        let in_suite = |command: &mut Command| {
            command.env("PORTCULLIS_BIN", &host).current_dir(copy.root.join("tests/suite"));
        };
        passes(&of(&built, "suite", "test")?, &TESTS, TESTS.len(), in_suite)
    })?;
    for of_file in STEPS.chunk_by(|one, next| (one.place, one.file) == (next.place, next.file)) {
        let Step { layer, place, file, .. } = &of_file[0];
        println!("{layer:<12} {place:<36} {file}");
    }
    let files: BTreeSet<&str> = STEPS.iter().map(|step| step.file).collect();
    let (steps, files, tests) = (STEPS.len(), files.len(), TESTS.len() + 1);
    println!("The recipe is complete: {steps} edits in {files} files were done, {tests} tests passed.");
    Ok(())
}

/// Writes the copy with all steps done. What has not changed since the last time is not written again.
fn write_copy(repo: &Repo, copy: &Repo) -> Result<()> {
    let added: Vec<PathBuf> = STEPS.iter().filter(|step| step.is_new()).map(|step| copy.root.join(step.file)).collect();
    for part in CHANGED {
        let change = |path: &Path, text: String| changed(path.strip_prefix(&repo.root)?, text);
        mirror(&repo.root.join(part), &copy.root.join(part), &added, &change)?;
    }
    for step in STEPS {
        if let Change::New(text) = step.change {
            write_if_changed(&copy.root.join(step.file), text)?;
        }
    }
    for part in LINKED {
        link(&repo.root.join(part), &copy.root.join(part))?;
    }
    copy_manifest(&repo.root, &copy.root, "toy")
}

/// The text of a file in the copy.
fn changed(name: &Path, mut text: String) -> Result<String> {
    for step in STEPS.iter().filter(|step| Path::new(step.file) == name) {
        text = step.apply(&text)?;
    }
    if name == Path::new("host/Cargo.toml") {
        text = with_program(&text, PROGRAM);
    }
    Ok(text)
}

/// Runs these tests of a program, and fails unless as many have passed. A filter that fits no test would pass.
fn passes(program: &Path, tests: &[&str], count: usize, adjust: impl FnOnce(&mut Command)) -> Result<()> {
    let mut command = Command::new(program);
    command.args(tests);
    if !tests.is_empty() {
        command.arg("--exact");
    }
    adjust(&mut command);
    let out = command.output().with_context(|| format!("cannot start {}", program.display()))?;
    let said = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    let passed = said.contains(&format!("test result: ok. {count} passed; 0 failed; 0 ignored"));
    ensure!(out.status.success() && passed, "{} of {} tests were to pass:\n{said}", count, program.display());
    Ok(())
}
