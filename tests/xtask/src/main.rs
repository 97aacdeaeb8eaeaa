//! `cargo xtask`: set-up, demos, tests and measurements of this repository. Each command does its own set-up, which
//! costs nothing when nothing changed.
#![allow(clippy::print_stdout, reason = "a tool for people at a terminal; no MCP wire here")]

mod adapters;
mod affected;
mod agents;
mod bench;
mod built;
mod busy;
mod checks;
mod clients;
mod code;
mod command;
mod conformance;
mod crash;
mod demo;
mod document;
mod fuzz;
mod guest_libraries;
mod hostile;
mod languages;
mod libraries;
mod needs;
mod node;
mod peers;
mod python;
mod recipe;
mod registry;
mod repo;
mod rmcp;
mod sdks;
mod server;
mod servers;
mod setup;
mod soak;
mod stages;
mod stamp;
mod test_run;
mod wasm;
mod wit;
mod workspace_copy;

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
    /// Installs the toolchains and builds every plugin and test guest.
    Setup,
    /// Runs a demo: sandboxed tools with a real MCP client, installing a plugin, or the agent's side.
    Demo {
        /// The demo to run.
        #[arg(value_enum, default_value = "tools")]
        what: demo::Demo,
    },
    /// Checks format and lints, then runs all tests, or those that a change can break.
    Test(checks::Options),
    /// Runs all attack tests and prints their results in one table.
    Hostile(hostile::Options),
    /// Runs the tests that do something very often, whole: each run of the tests does a tenth of it.
    Soak(soak::Options),
    /// Follows the recipe for a new import in a copy of the repository, for a toy, and tests the result.
    Recipe,
    /// Compares what every real client sees when the same guest asks it questions; takes agents or libraries on a journey; or lists public servers.
    Clients(clients::Options),
    /// Builds libraries that real tools use into plugins, calls a few lines with each in the sandbox, and prints a table for each language.
    Libraries(guest_libraries::Options),
    /// Runs the official MCP conformance suite against test components.
    Conformance(conformance::Options),
    /// Takes away the power while the durable store is written, or kills the host while tasks run, and looks for what is lost.
    Crash(crash::Options),
    /// Fuzzes the code that parses untrusted bytes.
    Fuzz(fuzz::Options),
    /// Benchmarks the host against a native server, in release builds.
    Bench {
        /// Arguments for the benchmark.
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
        Task::Test(options) => checks::run(&repo, &options),
        Task::Hostile(options) => hostile::run(&repo, &options),
        Task::Soak(options) => soak::run(&repo, &options),
        Task::Recipe => recipe::run(&repo),
        Task::Clients(options) => clients::run(&repo, &options),
        Task::Libraries(options) => guest_libraries::run(&repo, &options),
        Task::Conformance(options) => conformance::run(&repo, &options),
        Task::Crash(options) => crash::run(&repo, &options),
        Task::Fuzz(options) => fuzz::run(&repo, &options),
        Task::Bench { args } => bench::run(&repo, &args),
    }
}
