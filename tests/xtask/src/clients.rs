//! `cargo xtask clients`: what every real client sees, side by side, when a guest asks it questions and when a plugin calls it
//! back through every lane; with `--agents` or `--libraries`, real agents or client libraries on one journey; with `--tasks`, those that follow tasks;
//! with `--servers`, the tools of public servers, directly and through the gateway.

use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;

use crate::command::{cargo, check, output, step};
use crate::repo::Repo;
use crate::{document, peers, servers, setup};

/// The guest that asks the questions.
const GUESTS: [&str; 1] = ["ask"];
/// The guests on the journey.
const JOURNEY: [&str; 5] = ["echo", "slow-stream", "spin", "large", "wait-forever"];
/// The document that shows the table of a program, and what is wrong if the program fails.
fn page(program: &str) -> (&'static str, &'static str) {
    let arrived = "not every client goes through the journey";
    match program {
        "task-clients" => ("host/docs/task-clients.md", arrived),
        "servers" => ("host/docs/servers.md", "the gateway loses or changes a tool and does not say why"),
        "libraries" => ("host/docs/client-libraries.md", arrived),
        _ => ("host/docs/clients.md", arrived),
    }
}

#[derive(Args)]
#[command(group = clap::ArgGroup::new("journey").args(["agents", "libraries", "tasks", "servers"]))]
pub(crate) struct Options {
    /// Takes real agents, each with a model that follows a script, through one journey.
    #[arg(long)]
    agents: bool,
    /// Takes MCP client libraries, called without a model, through most of the same journey.
    #[arg(long)]
    libraries: bool,
    /// Lets clients that follow tasks do so.
    #[arg(long)]
    tasks: bool,
    /// Lists the tools of public servers, directly and through the gateway.
    #[arg(long)]
    servers: bool,
    /// Only the agents, libraries or servers of these names, such as Codex, fastmcp or mcp-server-git.
    #[arg(requires = "journey")]
    only: Vec<String>,
    /// Replaces the table in host/docs.
    #[arg(long, requires = "journey", conflicts_with = "only")]
    write: bool,
}

pub(crate) fn run(repo: &Repo, options: &Options) -> Result<()> {
    match options {
        Options { agents: true, .. } => {
            setup::for_agents(repo, &JOURNEY, options.write)?;
            journey(repo, options, "agents")
        }
        Options { libraries: true, .. } => {
            setup::for_libraries(repo, &JOURNEY)?;
            journey(repo, options, "libraries")
        }
        Options { tasks: true, .. } => {
            setup::for_task_clients(repo, &["job"])?;
            journey(repo, options, "task-clients")
        }
        Options { servers: true, .. } => {
            servers::all(repo)?;
            journey(repo, options, "servers")
        }
        _ => transcripts(repo),
    }
}

/// Sets up all clients and prints both tables; fails unless all clients see the same.
fn transcripts(repo: &Repo) -> Result<()> {
    setup::for_clients(repo, &GUESTS)?;
    build(repo)?;
    let mut compare = Command::new(repo.binary("debug", "transcripts"));
    check(peers::with_peers(repo, &mut compare).current_dir(&repo.root)).context("not every client sees the same")
}

/// Prints the table of the journeys, by the program of this name; fails unless each goes as well as its client allows.
fn journey(repo: &Repo, options: &Options, program: &str) -> Result<()> {
    build(repo)?;
    let (document, wrong) = page(program);
    let mut journeys = Command::new(repo.binary("debug", program));
    peers::with_peers(repo, &mut journeys).env("PORTCULLIS_SERVERS", servers::folder(repo));
    journeys.args(&options.only).current_dir(&repo.root);
    if !options.write {
        return check(&mut journeys).context(wrong);
    }
    let table = output(&mut journeys).with_context(|| format!("{wrong}; nothing is written"))?;
    document::replace(repo, document, program, &table)
}

fn build(repo: &Repo) -> Result<()> {
    step("building the host and the clients' part of the suite", || {
        check(cargo().args(["build", "--quiet", "--workspace", "--bins"]).current_dir(&repo.root))
    })
}
