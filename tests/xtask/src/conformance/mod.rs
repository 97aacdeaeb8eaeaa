//! `cargo xtask conformance`: runs the official MCP suite against `portcullis serve` with test components.
//!
//! It is stricter than the suite itself: a warning or a skipped check is a failure, and so is an entry of
//! `tests/conformance/expected-failures.yml` that passes.

mod requirements;
mod scratch;
mod suite;
mod table;
mod transport;
mod verdict;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::command::step;
use crate::repo::Repo;
use crate::{built, node, wasm};
use requirements::{REVISIONS, Requirements};
use suite::Suite;
use table::Row;
use transport::Transport;
use verdict::{Baseline, Verdict};

/// Which scenarios to run, and over which transport.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Options {
    /// Test stdio instead of HTTP, through a bridge that speaks HTTP to the suite.
    #[arg(long)]
    stdio: bool,
    /// Run only this scenario.
    #[arg(long, value_name = "NAME")]
    scenario: Option<String>,
}

/// Paths that the run uses.
struct Places {
    /// Configuration, lock files, bridge.
    source: PathBuf,
    /// Components, the suite, results.
    built: PathBuf,
}

/// Tests both transports, one after the other; for continuous integration, which has built the host.
pub(crate) fn both(repo: &Repo) -> Result<()> {
    let places = set_up(repo)?;
    test(repo, &places, &Options::default())?;
    test(repo, &places, &Options { stdio: true, scenario: None })
}

/// Sets up, runs one transport, prints the table; fails unless all verdicts are as expected.
pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    let places = set_up(repo)?;
    built::host(repo)?;
    test(repo, &places, options)
}

fn set_up(repo: &Repo) -> Result<Places> {
    let places = Places { source: repo.root.join("tests/conformance"), built: repo.target.join("conformance") };
    node::install(&places.source, &places.built.join("suite"), "installing the conformance suite", &[])?;
    wasm::add_target(repo)?;
    wasm::conformance(repo)?;
    Ok(places)
}

fn test(repo: &Repo, places: &Places, options: &Options) -> Result<()> {
    scratch::reset(&places.built)?;

    let suite = Suite::find(&places.built.join("suite"))?;
    let transport = if options.stdio { Transport::Stdio } else { Transport::Http };
    let results = places.built.join(transport.name());
    empty(&results)?;
    let baseline = Baseline::read(&places.source.join("expected-failures.yml"))?;
    let sets = requirements(&suite, options.scenario.as_deref())?;

    let server = transport.start(repo, &suite, &places.source, &results)?;
    for set in sets.iter().filter(|set| set.all().next().is_some()) {
        step(&format!("running the suite at {} over {}", set.revision, transport.name()), || {
            suite.run(&server.url, set, options.scenario.as_deref(), &results.join(set.revision))
        })?;
    }
    let rows = rows(&sets, transport, &baseline, &results)?;
    println!("\n{}", table::of(&rows, &sets));

    let scenarios: Vec<_> = rows.iter().map(|row| row.scenario.as_str()).collect();
    let unknown = if options.scenario.is_none() { baseline.unused(&scenarios) } else { vec![] };
    unknown.iter().for_each(|name| println!("expected-failures.yml names `{name}`, which the suite does not have"));
    let bad = rows.iter().flat_map(|row| &row.verdicts).flatten().filter(|verdict| verdict.is_bad()).count();
    if bad > 0 || !unknown.is_empty() {
        bail!(
            "{bad} verdicts are not as expected; the checks in full: {}; the server's log: {}",
            repo.show(&results),
            repo.show(&server.log)
        );
    }
    Ok(())
}

fn requirements(suite: &Suite, only: Option<&str>) -> Result<Vec<Requirements>> {
    let mut sets = REVISIONS.map(|revision| suite.requirements(revision)).into_iter().collect::<Result<Vec<_>>>()?;
    if let Some(only) = only {
        sets.iter_mut().for_each(|set| set.keep(only));
        ensure!(sets.iter().any(|set| set.all().next().is_some()), "the suite has no server scenario `{only}`");
    }
    Ok(sets)
}

/// One row per scenario, in the suite's order, the newer revision first.
fn rows(sets: &[Requirements], transport: Transport, baseline: &Baseline, results: &Path) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for (at, set) in sets.iter().enumerate() {
        for scenario in set.all() {
            let verdict = Verdict::of(scenario, &results.join(set.revision), transport, baseline)?;
            let row = match rows.iter_mut().find(|row| row.scenario == scenario) {
                Some(row) => row,
                None => {
                    rows.push(Row { scenario: scenario.to_owned(), verdicts: sets.iter().map(|_| None).collect() });
                    rows.last_mut().context("one was pushed")?
                }
            };
            row.verdicts[at] = Some(verdict);
        }
    }
    Ok(rows)
}

fn empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}
