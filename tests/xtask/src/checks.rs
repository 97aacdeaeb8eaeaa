//! `cargo xtask test`: what continuous integration runs, with the checks that fail soonest first.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::command::{cargo, check};
use crate::repo::Repo;
use crate::{adapters, code, conformance, languages, registry, rmcp, sdks, setup};

/// What a run from an empty `target` takes of the disk.
const NEEDED_GIGABYTES: u64 = 10;

/// Runs format, lints, set-up and all tests.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    let start = Instant::now();
    let plugins = repo.root.join("plugins/Cargo.toml");
    warn_of_little_room(repo);

    heading("format");
    for workspace in [
        ".",
        "plugins",
        "tests/guests",
        "tests/languages/rust",
        "tests/conformance",
        "tests/bench/guest",
        "tests/clients/rmcp",
    ] {
        let manifest = repo.root.join(workspace).join("Cargo.toml");
        check(cargo().args(["fmt", "--all", "--check", "--manifest-path"]).arg(manifest))
            .context("some files are not formatted; `cargo fmt --all` in that workspace mends it")?;
    }
    heading("set-up");
    setup::everything(repo)?;

    heading("lints");
    check(cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]).current_dir(&repo.root))?;
    let mut clippy = cargo();
    clippy.args(["clippy", "--all-targets", "--manifest-path"]).arg(&plugins);
    check(clippy.arg("--target-dir").arg(repo.cargo_target()).args(["--", "-D", "warnings"]).current_dir(&repo.root))?;

    let mut clippy = cargo();
    clippy.args(["clippy", "--all-targets", "--manifest-path"]).arg(rmcp::manifest(repo));
    check(clippy.arg("--target-dir").arg(repo.cargo_target()).args(["--", "-D", "warnings"]).current_dir(&repo.root))?;

    heading("tests of the client adapters");
    adapters::test(repo)?;
    code::test(repo)?;

    heading("tests of the SDKs for Python, JavaScript, C and Go");
    languages::test(repo)?;
    sdks::c(repo)?;
    sdks::go(repo)?;

    heading("tests");
    // The whole workspace at once, so that both share the compiled dependencies: alone, the host would enable fewer
    // features of wasmtime.
    check(cargo().args(["build", "--workspace"]).current_dir(&repo.root))?;
    check(with_peers(repo, cargo().args(["test", "--workspace"])).current_dir(&repo.root))?;

    heading("tests of the plugins, native");
    // The same target folder, so that dependencies of both workspaces are compiled once.
    check(
        cargo()
            .args(["test", "--manifest-path"])
            .arg(&plugins)
            .arg("--target-dir")
            .arg(repo.cargo_target())
            .current_dir(&repo.root),
    )?;

    heading("conformance");
    conformance::both(repo)?;

    println!("\nAll checks and tests passed in {} s.", start.elapsed().as_secs());
    Ok(())
}

/// Passes the paths of the host, the real clients and the registry to a program of the suite.
pub(crate) fn with_peers<'a>(repo: &Repo, command: &'a mut Command) -> &'a mut Command {
    command
        .env("PORTCULLIS_BIN", repo.binary("debug", "portcullis"))
        .env("PORTCULLIS_PYTHON", repo.python())
        .env("PORTCULLIS_NODE_MODULES", repo.node_modules())
        .env("PORTCULLIS_AGENTS", repo.agents())
        .env("PORTCULLIS_LIBRARIES", repo.libraries())
        .env("PORTCULLIS_RMCP_CLIENT", rmcp::program(repo))
        .env("PORTCULLIS_DOCKER_REGISTRY", registry::program(repo))
}

/// A full disk shows itself after ten minutes only, and then as whatever could not be written.
fn warn_of_little_room(repo: &Repo) {
    let Ok(disk) = rustix::fs::statvfs(&repo.root) else { return };
    let free = disk.f_bavail.saturating_mul(disk.f_frsize) / 1_000_000_000;
    if free < NEEDED_GIGABYTES && !repo.cargo_target().join("debug").exists() {
        eprintln!(
            "warning: the tests need {NEEDED_GIGABYTES} GB of disk, and {} has {free} GB left",
            repo.root.display()
        );
    }
}

fn heading(what: &str) {
    println!("\n== {what}");
}
