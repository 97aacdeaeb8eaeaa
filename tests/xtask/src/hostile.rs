//! `cargo xtask hostile`: runs every figure about attacks, one test after the other, and prints them in one table.

mod mutants;
mod weaken;

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::checks::with_peers;
use crate::command::{cargo, check, step};
use crate::repo::Repo;
use crate::setup;

/// A test that says how it went in lines of the form `hostile: NAME: FIGURE`.
struct Figure {
    /// What `--only` takes.
    name: &'static str,
    /// The test of the suite.
    test: &'static str,
}

/// All of them, in the order of the table.
const FIGURES: &[Figure] = &[
    Figure { name: "threats", test: "hostile::every_threat_is_covered" },
    Figure { name: "rows", test: "hostile::table" },
    Figure { name: "files", test: "hostile::files::no_path_leads_out" },
    Figure { name: "race", test: "hostile::files::no_race_leads_out" },
    Figure { name: "reverse", test: "abuse::the_table" },
    Figure { name: "imports", test: "imports::every_import_is_denied_or_inert" },
    Figure { name: "malformed", test: "mangled::twenty_thousand_almost_components" },
    Figure { name: "worker", test: "hijacked::a_hijacked_worker_can_do_nothing" },
    Figure { name: "server", test: "hijacked::a_hijacked_server_can_do_little" },
    Figure { name: "registries", test: "registries::lies::lies_are_refused_and_leave_nothing_behind" },
    Figure { name: "signatures", test: "registries::signed::nobody_else_vouches" },
    Figure { name: "components", test: "tampering::components_that_were_tampered_with_are_refused" },
    Figure { name: "locks", test: "tampering::lock_files_that_were_tampered_with_are_refused" },
    Figure { name: "audit", test: "audit::what_is_changed_is_found_and_named" },
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Only this figure, or with --mutants only this check.
    #[arg(long)]
    only: Option<String>,
    /// Takes away one security check after the other, in a copy of the host, and shows that a test notices each.
    #[arg(long)]
    mutants: bool,
}

/// Sets up, runs, prints; fails when a figure is not what it must be.
pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    setup::for_hostile(repo)?;
    if options.mutants {
        return mutants::run(repo, options.only.as_deref());
    }
    let figures: Vec<_> =
        FIGURES.iter().filter(|figure| options.only.as_deref().is_none_or(|only| only == figure.name)).collect();
    if figures.is_empty() {
        let names: Vec<_> = FIGURES.iter().map(|figure| figure.name).collect();
        bail!("there is no such figure; there are {}", names.join(", "));
    }
    step("building the host", || check(cargo().args(["build", "--quiet", "--workspace"]).current_dir(&repo.root)))?;
    let suite = Suite::build(repo)?;
    let mut failed = vec![];
    println!("\n{:<10} {:<92} {:>7}  verdict", "figure", "", "seconds");
    for figure in figures {
        let ran = suite.run(repo, figure.test, |_| {})?;
        let verdict = if ran.passed { "ok" } else { "FAILED" };
        let lines: Vec<_> =
            ran.output.lines().filter_map(|line| line.strip_prefix("hostile: ")?.split_once(": ")).collect();
        for (name, said) in &lines {
            println!("{name:<10} {said:<92} {:>7.1}  {verdict}", ran.took.as_secs_f32());
        }
        if lines.is_empty() {
            println!("{:<10} {:<92} {:>7.1}  {verdict}", figure.name, figure.test, ran.took.as_secs_f32());
        }
        if !ran.passed {
            eprintln!("{}", ran.output);
            failed.push(figure.name);
        }
    }
    if failed.is_empty() { Ok(()) } else { bail!("not as it must be: {}", failed.join(", ")) }
}

/// The suite's program.
struct Suite(std::path::PathBuf);

/// One test of it.
struct Ran {
    passed: bool,
    output: String,
    took: Duration,
}

impl Suite {
    fn build(repo: &Repo) -> Result<Self> {
        let mut build = cargo();
        build.args(["test", "--quiet", "-p", "suite", "--test", "suite", "--no-run", "--message-format=json"]);
        let messages = step("building the suite", || crate::command::output(build.current_dir(&repo.root)))?;
        let program = messages
            .lines()
            .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
            .filter(|message| message["target"]["name"] == "suite" && message["target"]["kind"][0] == "test")
            .find_map(|message| message["executable"].as_str().map(Into::into));
        program.map(Self).ok_or_else(|| anyhow::anyhow!("cargo built no suite"))
    }

    /// Runs one test by its whole name.
    fn run(&self, repo: &Repo, test: &str, adjust: impl FnOnce(&mut Command)) -> Result<Ran> {
        let mut command = Command::new(&self.0);
        with_peers(repo, &mut command)
            .args(["--exact", test, "--nocapture"])
            .current_dir(repo.root.join("tests/suite"));
        adjust(&mut command);
        let start = Instant::now();
        let out = command.output()?;
        let output = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        // A name that is no test would pass by doing nothing.
        if !output.contains("running 1 test\n") {
            bail!("the suite has no test named {test}");
        }
        Ok(Ran { passed: out.status.success(), output, took: start.elapsed() })
    }
}
