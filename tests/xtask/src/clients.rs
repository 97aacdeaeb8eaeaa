//! `cargo xtask clients`: what every real client sees, side by side, when a guest asks it questions and when a plugin calls it
//! back through every lane; with `--agents`, real agents on one journey.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::command::{cargo, check, output, step};
use crate::repo::Repo;
use crate::{checks, setup};

/// The guest that asks the questions.
const GUESTS: [&str; 1] = ["ask"];
/// The guests on the agents' journey.
const JOURNEY: [&str; 5] = ["echo", "slow-stream", "spin", "large", "wait-forever"];
/// The document that shows the tables.
const DOCUMENT: &str = "host/docs/clients.md";

#[derive(Args)]
pub(crate) struct Options {
    /// Takes real agents, each with a model that follows a script, through one journey.
    #[arg(long)]
    agents: bool,
    /// Only the agents of these names, such as Codex.
    #[arg(requires = "agents")]
    only: Vec<String>,
    /// Replaces the table in host/docs/clients.md.
    #[arg(long, requires = "agents", conflicts_with = "only")]
    write: bool,
}

pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    if options.agents { agents(repo, options) } else { transcripts(repo) }
}

/// Sets up all clients and prints both tables; fails unless all clients see the same.
fn transcripts(repo: &Repo) -> Result<()> {
    setup::for_clients(repo, &GUESTS)?;
    build(repo)?;
    let mut compare = Command::new(repo.binary("debug", "transcripts"));
    check(checks::with_peers(repo, &mut compare).current_dir(&repo.root)).context("not every client sees the same")
}

/// Sets up the agents and prints the table of their journeys; fails unless each goes as well as its client allows.
fn agents(repo: &Repo, options: &Options) -> Result<()> {
    setup::for_agents(repo, &JOURNEY)?;
    build(repo)?;
    let mut journeys = Command::new(repo.binary("debug", "agents"));
    checks::with_peers(repo, &mut journeys).args(&options.only).current_dir(&repo.root);
    if !options.write {
        return check(&mut journeys).context("not every agent goes through the journey");
    }
    let table = output(&mut journeys).context("not every agent goes through the journey; nothing is written")?;
    replace(repo, "agents", &table)
}

fn build(repo: &Repo) -> Result<()> {
    step("building the host and the clients' part of the suite", || {
        check(cargo().args(["build", "--quiet", "--workspace", "--bins"]).current_dir(&repo.root))
    })
}

/// Replaces what is between `<!-- NAME:begin -->` and `<!-- NAME:end -->` in the document.
fn replace(repo: &Repo, name: &str, table: &str) -> Result<()> {
    let path = repo.root.join(DOCUMENT);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {DOCUMENT}"))?;
    let (begin, end) = (format!("<!-- {name}:begin -->\n"), format!("<!-- {name}:end -->"));
    let parts = text.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
    let (before, after) = parts.with_context(|| format!("{DOCUMENT} has no `{}`", begin.trim()))?;
    fs::write(&path, format!("{before}{begin}{table}{end}{after}")).with_context(|| format!("cannot write {DOCUMENT}"))
}
