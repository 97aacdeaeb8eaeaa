//! The command line: one command per file. The only place that prints.
#![allow(clippy::print_stdout, reason = "commands other than `serve` talk to a person on stdout")]

mod agent;
mod answers;
mod audit;
mod authority;
mod call;
mod check;
mod config;
mod forms;
mod grant;
mod key;
mod layout;
mod needs;
mod plugin;
mod policy;
mod serve;
mod show;
mod subject;
mod terminal;

use crate::config::Config;
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

impl ConfigFile {
    /// For commands that need no plugins: a file that nobody named and that is not there says nothing.
    fn or_none(&self) -> anyhow::Result<crate::config::Config> {
        let named = self.config.as_os_str() != crate::config::DEFAULT_FILE;
        let found = if named || self.config.exists() { Config::load_alone(&self.config) } else { Config::empty() };
        Ok(found?)
    }
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
    /// Look at a component, in a file or where it is published: is it a plugin, and what does it want?
    Check(check::Check),
    /// Read what was decided, and check that the record of it is whole.
    #[command(subcommand)]
    Audit(audit::Audit),
    /// Make API keys for clients over HTTP.
    #[command(subcommand)]
    Key(key::Key),
    /// Print the configuration's documentation.
    Config(config::ConfigCommand),
    /// Compile a component from stdin to stdout: what the host starts for each new plugin.
    #[command(name = runtime::engine::WORKER_COMMAND, hide = true)]
    CompileWorker {
        /// What to compile for.
        profile: String,
    },
}

/// Runs what was asked for.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    match cli.command {
        Command::CompileWorker { profile } => {
            runtime::engine::run_worker(&profile).map(|()| ExitCode::SUCCESS).map_err(anyhow::Error::msg)
        }
        // What a server gives up, it gives up before it has a second thread, which would keep it.
        Command::Serve(command) => {
            let serving = command.confined()?;
            block_on(&crate::config::log_filter(), serving.run())
        }
        Command::Agent(command) => block_on(&crate::config::quiet_log_filter(), command.run()),
        Command::Call(command) => block_on(&crate::config::log_filter(), command.run()),
        Command::Plugin(command) => block_on(&crate::config::quiet_log_filter(), command.run()),
        Command::Check(command) => block_on(&crate::config::quiet_log_filter(), command.run()),
        Command::Grant(command) => command.run(),
        Command::Revoke(command) => command.run(),
        Command::Policy(command) => command.run(),
        Command::Audit(command) => block_on(&crate::config::log_filter(), command.run()),
        Command::Key(command) => command.run(),
        Command::Config(command) => command.run(),
    }
}

fn block_on(log: &str, work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    platform::telemetry::init(log).map_err(anyhow::Error::msg)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(work);
    runtime::engine::close_lane();
    code
}

/// Text from outside for a person: line breaks are kept, everything that could drive the terminal is escaped.
pub fn printable_lines(text: &str) -> String {
    text.lines().map(platform::telemetry::printable).collect::<Vec<_>>().join("\n")
}
