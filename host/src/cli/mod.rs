//! The command line: one command per file. The only place that prints.
#![allow(clippy::print_stdout, reason = "commands other than `serve` talk to a person on stdout")]

mod agent;
mod answers;
mod authority;
mod call;
mod check;
mod config;
mod forms;
mod grant;
mod key;
mod plugin;
mod policy;
mod serve;
mod show;
mod subject;
mod terminal;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// A WebAssembly plugin host for MCP tools: third-party tools in a sandbox, with only what you grant.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Args)]
struct ConfigFile {
    /// Configuration file.
    #[arg(long, short, value_name = "FILE", default_value = crate::config::DEFAULT_FILE)]
    config: PathBuf,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the configured plugins' tools over MCP: stdio, or Streamable HTTP when an address is given.
    Serve(serve::Serve),
    /// Call one tool and watch its chunks arrive, without any MCP client.
    Call(call::Call),
    /// Use MCP servers as an agent does: call tools, watch, steer, approve and answer what servers ask.
    Agent(Box<agent::Agent>),
    /// Look at the configured plugins.
    #[command(subcommand)]
    Plugin(plugin::Plugin),
    /// Give a plugin something: add a line to its grants.
    Grant(grant::Grant),
    /// Take something away from a plugin again.
    Revoke(grant::Revoke),
    /// What plugins may do: shown, or asked.
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Look at a component file: is it a plugin, and what does it want?
    Check(check::Check),
    /// Make API keys for clients over HTTP.
    #[command(subcommand)]
    Key(key::Key),
    /// Print the configuration's documentation.
    Config(config::ConfigCommand),
    /// Compile a component from stdin to stdout: what the host starts for each new plugin.
    #[command(name = crate::engine::WORKER_COMMAND, hide = true)]
    CompileWorker {
        /// What to compile for.
        profile: String,
    },
}

/// Runs what was asked for.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    if let Command::CompileWorker { profile } = &cli.command {
        return crate::engine::run_worker(profile).map(|()| ExitCode::SUCCESS).map_err(anyhow::Error::msg);
    }
    let filter = match &cli.command {
        Command::Agent(_) => crate::config::quiet_log_filter(),
        _ => crate::config::log_filter(),
    };
    crate::telemetry::init(&filter).map_err(anyhow::Error::msg)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        match cli.command {
            Command::Serve(command) => command.run().await,
            Command::Call(command) => command.run().await,
            Command::Agent(command) => command.run().await,
            Command::Plugin(command) => command.run().await,
            Command::Grant(command) => command.run(),
            Command::Revoke(command) => command.run(),
            Command::Policy(command) => command.run(),
            Command::Check(command) => command.run().await,
            Command::Key(command) => command.run(),
            Command::Config(command) => command.run(),
            Command::CompileWorker { .. } => Ok(ExitCode::SUCCESS),
        }
    })
}

/// Text from outside for a person: line breaks are kept, everything that could drive the terminal is escaped.
pub fn printable_lines(text: &str) -> String {
    text.lines().map(crate::telemetry::printable).collect::<Vec<_>>().join("\n")
}
