//! `cargo xtask`: everything this repository can do with itself. Each command does its own set-up, which costs nothing
//! when nothing changed.
#![allow(clippy::print_stdout, reason = "a tool for people at a terminal; no MCP wire here")]

mod adapters;
mod bench;
mod checks;
mod clients;
mod command;
mod conformance;
mod demo;
mod fuzz;
mod hostile;
mod node;
mod python;
mod repo;
mod rmcp;
mod server;
mod setup;
mod stamp;
mod wasm;
mod wit;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::repo::Repo;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Set-up, demo, tests, conformance and benchmark of Portcullis")]
struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Gets the tool chains and builds every plugin and test guest.
    Setup,
    /// Shows the main job with a real MCP client over this repository's own tree, or the agent's side.
    Demo {
        /// What to show.
        #[arg(value_enum, default_value = "tools")]
        what: demo::Demo,
    },
    /// Checks format and lints, then runs all tests.
    Test,
    /// Attacks the host in every way we know, and prints what came of it in one table.
    Hostile(hostile::Options),
    /// Lets one guest ask every real client, and shows that all see the same.
    Clients,
    /// Runs the official MCP conformance suite, with fixtures that are components.
    Conformance(conformance::Options),
    /// Fuzzes what strangers' bytes reach first.
    Fuzz(fuzz::Options),
    /// Measures the host beside a native server, in release builds.
    Bench {
        /// Passed on to the benchmark.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\ncargo xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: Args) -> Result<()> {
    let repo = Repo::locate()?;
    match args.task {
        Task::Setup => setup::everything(&repo),
        Task::Demo { what } => demo::run(&repo, what),
        Task::Test => checks::run(&repo),
        Task::Hostile(options) => hostile::run(&repo, &options),
        Task::Clients => clients::run(&repo),
        Task::Conformance(options) => conformance::run(&repo, &options),
        Task::Fuzz(options) => fuzz::run(&repo, &options),
        Task::Bench { args } => bench::run(&repo, &args),
    }
}
