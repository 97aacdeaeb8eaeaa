//! The command line: one command per file. Only this module prints.
#![allow(clippy::print_stdout, reason = "commands other than `serve` print to stdout for people")]

#[macro_use]
mod out;

mod agent;
mod audit;
mod build;
mod call;
mod call_arguments;
mod check;
mod config;
mod configured_plugin;
mod confinement;
mod denials;
mod dev;
mod forms;
mod frame;
mod generate;
mod global;
mod grant;
mod import;
mod init;
mod json;
mod key;
mod layout;
mod listed_server;
mod new;
mod options;
mod plugin;
mod policy;
mod prompt;
mod secret;
mod serve;
mod show;
mod stop_signals;
mod storage;
mod supervisor;
mod task;
mod terminal;
mod test;
mod text;
mod upstream;

pub use text::print_error;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// A WebAssembly plugin host for MCP tools: third-party tools in a sandbox, with only what you grant.
#[derive(Parser)]
#[command(version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    global: global::GlobalOptions,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write a small configuration to begin with.
    Init(init::Init),
    /// Serve the configured plugins' tools over MCP: stdio, or Streamable HTTP when an address is given.
    Serve(serve::Serve),
    /// Call one tool and print its chunks, without an MCP client.
    Call(call::Call),
    /// Use MCP servers as an agent: call, watch and steer tools, approve reverse calls, answer questions.
    Agent(Box<agent::Agent>),
    /// Install, update and inspect plugins.
    #[command(subcommand)]
    Plugin(plugin::PluginCommand),
    /// Add a grant to a plugin.
    Grant(grant::Grant),
    /// Remove a grant from a plugin.
    Revoke(grant::Revoke),
    Denials(denials::Denials),
    /// Take over a plugin that was set up for another host.
    #[command(subcommand)]
    Import(import::ImportCommand),
    /// Show, test or confirm what plugins may do.
    #[command(subcommand)]
    Policy(policy::Policy),
    /// Begin a plugin: a small one that works, with a test.
    New(new::New),
    /// Build a plugin from its folder.
    Build(build::Build),
    /// Serve the plugin of a folder, and build it anew whenever a source changes.
    ///
    /// It is served as its portcullis.toml says, or else without any grant, over stdio unless an address is given. Clients are told
    /// when tools change. While a build fails, the last component that could be built is served.
    Dev(dev::Dev),
    /// Check whether a component, in a file or a registry, is a plugin, and show what it requests.
    Check(check::Check),
    /// Run transcripts of calls against a component, each with the answers of users, models, tools and servers.
    Test(test::Test),
    /// Read and verify the audit log.
    #[command(subcommand)]
    Audit(audit::AuditCommand),
    /// List and show tasks, follow, steer and cancel them, while a server runs or not.
    #[command(subcommand)]
    Task(task::TaskCommand),
    /// Check and copy what a server keeps.
    #[command(subcommand)]
    Storage(storage::StorageCommand),
    /// Add, list, test and remove MCP servers that are served behind this host.
    #[command(subcommand)]
    Upstream(upstream::UpstreamCommand),
    /// Set and list the secrets that the host sends for plugins.
    #[command(subcommand)]
    Secret(secret::SecretCommand),
    /// Create, list and revoke API keys of clients over HTTP.
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Print the configuration's documentation.
    Config(config::ConfigCommand),
    /// Print a completion script for a shell.
    Completions(generate::Completions),
    /// Write the manual pages.
    Man(generate::Man),
    /// Compile a component from stdin to stdout. The host starts this for each new plugin.
    #[command(name = runtime::engine::WORKER_COMMAND, hide = true)]
    CompileWorker {
        /// The engine profile.
        profile: String,
    },
    /// Compile a component from stdin into the cache. A server starts this, so that its end does not end the compilation.
    #[command(name = runtime::engine::COMPILE_TO_CACHE_COMMAND, hide = true)]
    CompileToCache {
        /// The engine profile.
        profile: String,
        /// The component's digest.
        digest: String,
        /// The cache folder.
        cache: PathBuf,
        /// Whether it is already detached from the process that wants the code.
        #[arg(long)]
        detached: bool,
    },
    /// Start programs for a server that is confined, as it says on the socket that is stdin.
    #[command(name = platform::programs::HELPER_COMMAND, hide = true)]
    StartPrograms,
}

impl Cli {
    /// Parses the arguments of this process. Hidden commands are for the host itself, so no message mentions them.
    pub fn parse_arguments() -> Self {
        use platform::programs::HELPER_COMMAND;
        use runtime::engine::{COMPILE_TO_CACHE_COMMAND, WORKER_COMMAND};
        let hidden = [WORKER_COMMAND, COMPILE_TO_CACHE_COMMAND, HELPER_COMMAND];
        if std::env::args().nth(1).is_some_and(|first| hidden.contains(&first.as_str())) {
            return Self::parse();
        }
        Self::from_arg_matches(&visible_commands().get_matches()).unwrap_or_else(|error| error.exit())
    }
}

/// All commands but the hidden ones.
fn visible_commands() -> clap::Command {
    let all = Cli::command();
    let shown: Vec<_> = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let arguments: Vec<_> = all.get_arguments().cloned().collect();
    let command = clap::Command::new("portcullis").version(env!("CARGO_PKG_VERSION")).max_term_width(100);
    let command = command.about(all.get_about().cloned().unwrap_or_default());
    command.subcommand_required(true).arg_required_else_help(true).args(arguments).subcommands(shown)
}

/// Runs the command.
pub fn run(cli: Cli) -> anyhow::Result<ExitCode> {
    let code = run_command(cli)?;
    out::check_printed()?;
    Ok(code)
}

fn run_command(cli: Cli) -> anyhow::Result<ExitCode> {
    let global = cli.global;
    global.apply();
    match cli.command {
        Command::CompileWorker { profile } => {
            // Asking whether stderr is a terminal is a system call that a confined worker may not make.
            anstream::ColorChoice::Never.write_global();
            runtime::engine::run_worker(&profile).map(|()| ExitCode::SUCCESS).map_err(anyhow::Error::msg)
        }
        Command::CompileToCache { profile, digest, cache, detached } => {
            let program = crate::host::worker_program()?;
            runtime::engine::run_compile_to_cache(program, &profile, &digest, &cache, detached)
                .map(|()| ExitCode::SUCCESS)
                .map_err(anyhow::Error::msg)
        }
        Command::StartPrograms => {
            let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
            platform::programs::run_helper(socket.into())?;
            Ok(ExitCode::SUCCESS)
        }
        // Rights are given up before a second thread starts, since existing threads keep theirs.
        Command::Serve(command) => {
            if let Some(supervisor) = command.supervisor() {
                init_log(&global.log_filter(crate::config::log_filter()))?;
                return supervisor.run();
            }
            let mut is_over_stdio = command.is_over_stdio();
            let session_log = command.session_log()?;
            let served = command.confined(session_log.clone()).and_then(|serving| {
                is_over_stdio = serving.is_over_stdio();
                block_on(&global.log_filter(crate::config::log_filter()), serving.run())
            });
            served.or_else(|error| serve::fail(error, is_over_stdio, session_log.as_deref()))
        }
        Command::Dev(command) => {
            let mut is_over_stdio = command.is_over_stdio();
            let served = command.confined().and_then(|developing| {
                is_over_stdio = developing.is_over_stdio();
                block_on(&global.log_filter(crate::config::log_filter()), developing.run())
            });
            served.or_else(|error| serve::fail(error, is_over_stdio, None))
        }
        Command::Agent(command) => block_on(&global.log_filter(crate::config::quiet_log_filter()), command.run()),
        Command::Call(command) => block_on(&global.log_filter(crate::config::call_log_filter()), command.run()),
        Command::Plugin(command) => block_on(&global.log_filter(crate::config::quiet_log_filter()), command.run()),
        Command::Check(command) => block_on(&global.log_filter(crate::config::quiet_log_filter()), command.run()),
        Command::Test(command) => block_on(&global.log_filter(crate::config::call_log_filter()), command.run()),
        Command::Init(command) => command.run(),
        Command::New(command) => command.run(),
        Command::Build(command) => command.run(global.is_quiet()),
        Command::Grant(command) => command.run(),
        Command::Revoke(command) => command.run(),
        Command::Denials(command) => command.run(),
        Command::Import(command) => command.run(),
        Command::Policy(command) => command.run(),
        Command::Audit(command) => block_on(&global.log_filter(crate::config::log_filter()), command.run()),
        Command::Task(command) => block_on(&global.log_filter(crate::config::quiet_log_filter()), command.run()),
        Command::Storage(command) => command.run(),
        Command::Upstream(command) => block_on(&global.log_filter(crate::config::quiet_log_filter()), command.run()),
        Command::Secret(command) => command.run(),
        Command::Key(command) => command.run(),
        Command::Config(command) => command.run(),
        Command::Completions(command) => command.run(visible_commands()),
        Command::Man(command) => command.run(visible_commands()),
    }
}

fn init_log(filter: &str) -> anyhow::Result<()> {
    let colored = anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never;
    platform::telemetry::init(filter, colored).map_err(anyhow::Error::msg)
}

fn block_on(log: &str, work: impl Future<Output = anyhow::Result<ExitCode>>) -> anyhow::Result<ExitCode> {
    init_log(log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(work);
    runtime::engine::shut_down_compute_pool();
    code
}
