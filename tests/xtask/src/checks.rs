//! `cargo xtask test`: what continuous integration runs, with the checks that fail soonest first.

use std::time::Instant;

use anyhow::{Context, Result};
use clap::value_parser;

use crate::affected::Affected;
use crate::built::Program;
use crate::busy::Busy;
use crate::command::{cargo, check, step};
use crate::repo::Repo;
use crate::stages::Stages;
use crate::{adapters, built, code, conformance, languages, needs, sdks, setup, test_run};

/// The workspaces whose format is checked.
const WORKSPACES: [&str; 6] =
    [".", "plugins", "tests/guests", "tests/languages/rust", "tests/conformance", "tests/bench/guest"];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Runs only what the files can break that have changed since this commit [default: the last one], without the tests that
    /// compute a lot or measure.
    #[arg(long, value_name = "COMMIT", num_args = 0..=1, default_missing_value = "HEAD")]
    changed: Option<String>,
    /// Runs the Rust tests so often, to find those that depend on luck.
    #[arg(long, default_value_t = 1, value_parser = value_parser!(u32).range(1..), conflicts_with = "changed")]
    runs: u32,
    /// Keeps processors busy with so many loops meanwhile, to find those that depend on a quiet machine.
    #[arg(long, value_name = "LOOPS", default_value_t = 0)]
    beside: usize,
}

/// Runs format, lints, set-up and all tests, and prints what each stage took.
pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    needs::of_tests(repo)?;
    let repo = &repo.linting();
    let (start, mut stages) = (Instant::now(), Stages::begin());
    let _busy = Busy::start(options.beside);
    let done = match &options.changed {
        Some(commit) => changed(repo, &mut stages, commit),
        None => all(repo, &mut stages, options.runs),
    };
    println!("\n{}", stages.table());
    done?;
    let which = if options.changed.is_some() { "The" } else { "All" };
    println!("\n{which} checks and tests passed in {} s.", start.elapsed().as_secs());
    Ok(())
}

fn all(repo: &Repo, stages: &mut Stages, runs: u32) -> Result<()> {
    stages.run("format", || format(repo))?;
    let programs = stages.run("host and tests, with lints", || built::everything(repo))?;
    stages.run("plugins, guests and clients", || setup::everything(repo))?;
    // The conformance suite mostly waits.
    stages.run("SDKs, plugins natively, and conformance", || {
        setup::together(|| native_tests(repo), || conformance::both(repo))
    })?;
    // All runs, whatever the others found.
    let found: Vec<_> = (0..runs).map(|_| stages.run("tests", || rust_tests(repo, &programs))).collect();
    found.into_iter().collect()
}

/// What a change can break, soonest first; the whole is for continuous integration.
fn changed(repo: &Repo, stages: &mut Stages, commit: &str) -> Result<()> {
    let affected = Affected::since(repo, commit)?;
    stages.run("format", || format(repo))?;
    let programs = stages.run("host and tests, with lints", || built::everything(repo))?;
    stages.run("plugins, guests and clients", || setup::everything(repo))?;
    stages.run("tests", || {
        println!("Tests that compute a lot or measure are left out; `cargo xtask test` runs them.");
        test_run::run(repo, &programs, |program, test, is_long| affected.includes(program, test, is_long))
    })
}

fn format(repo: &Repo) -> Result<()> {
    for workspace in WORKSPACES {
        let manifest = repo.root.join(workspace).join("Cargo.toml");
        check(cargo().args(["fmt", "--all", "--check", "--manifest-path"]).arg(manifest))
            .context("some files are not formatted; `cargo fmt --all` in that workspace mends it")?;
    }
    Ok(())
}

fn native_tests(repo: &Repo) -> Result<()> {
    step("tests of the SDKs and client adapters", || sdk_tests(repo))?;
    step("tests of the plugins, native", || plugin_tests(repo))
}

fn sdk_tests(repo: &Repo) -> Result<()> {
    adapters::test(repo)?;
    code::test(repo)?;
    languages::test(repo)?;
    sdks::c(repo)?;
    sdks::go(repo)
}

fn rust_tests(repo: &Repo, programs: &[Program]) -> Result<()> {
    test_run::run(repo, programs, |_, _, _| true)?;
    // Only rustdoc can run the examples in comments, and only the SDK has some.
    check(repo.cargo().args(["test", "--quiet", "--package", "portcullis-guest", "--doc"]))
}

fn plugin_tests(repo: &Repo) -> Result<()> {
    let mut test = repo.cargo();
    test.args(["test", "--manifest-path"]).arg(repo.root.join("plugins/Cargo.toml"));
    // The same target folder, so that dependencies of both workspaces are compiled once.
    check(test.arg("--target-dir").arg(repo.cargo_target()))
}
