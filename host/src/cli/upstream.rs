//! `portcullis upstream`.

use super::init;
use super::json::{self, JsonOption};
use super::listed_server::ListedServer;
use super::options::ConfigFile;
use super::prompt::Agreement;
use super::stop_signals::stop_signals;
use crate::config::{Config, ConfigEditor};
use crate::host::Host;
use anyhow::{Context, ensure};
use platform::telemetry::printable;
use std::process::ExitCode;
use toml_edit::{Array, InlineTable, Table, value};

const AFTER_RESTART: &str = "Running servers know of it after a restart.";

#[derive(clap::Subcommand)]
pub(super) enum UpstreamCommand {
    /// Add a server: its tools are served beside those of plugins. It is connected first, and added if that works.
    Add(Add),
    /// List the servers of the configuration. Nothing is started or connected to.
    List {
        #[command(flatten)]
        json: JsonOption,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Connect servers, and list the tools that clients get. Fails if one is not connected.
    Test {
        /// The server; all if left out.
        name: Option<String>,
        #[command(flatten)]
        json: JsonOption,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Remove a server.
    Remove {
        /// The server.
        name: String,
        #[command(flatten)]
        agreement: Agreement,
        #[command(flatten)]
        file: ConfigFile,
    },
}

#[derive(clap::Args)]
pub(super) struct Add {
    /// A variable for the program, as NAME=VALUE. It gets few others. May be repeated. It is written into the configuration.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// A file with the bearer token for a URL.
    #[arg(long, value_name = "FILE", value_parser = whole_path)]
    key_file: Option<String>,
    /// Answers of its tools must not be passed on by plugins, unless they are granted the flow.
    #[arg(long)]
    private: bool,
    /// Add it without connecting it.
    #[arg(long)]
    untested: bool,
    #[command(flatten)]
    file: ConfigFile,
    /// Its name: clients see its tools as NAME__TOOL.
    name: String,
    /// A URL, or a program with its arguments, which speaks MCP on stdin and stdout.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    server: Vec<String>,
}

/// An absolute path, since relative ones in the configuration are relative to its folder.
fn whole_path(text: &str) -> Result<String, String> {
    let path = std::path::absolute(text).map_err(|error| error.to_string())?;
    path.to_str().map(str::to_owned).ok_or_else(|| "the path is no text".to_owned())
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty()).ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl UpstreamCommand {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Add(add) => add.run().await,
            Self::List { json, file } => {
                let config = Config::load_without_lockfile(&file.config)?;
                let servers: Vec<_> = config.upstreams.iter().map(|it| ListedServer::unasked(&it.name)).collect();
                print(&servers, &json, &file);
                Ok(ExitCode::SUCCESS)
            }
            Self::Test { name, json, file } => {
                let mut config = Config::load_with_own_state(&file.config)?;
                if let Some(name) = &name {
                    keep_only(&mut config, name)?;
                }
                let servers = connected(config).await?;
                print(&servers, &json, &file);
                let all_work = servers.iter().all(|server| server.problem.is_none());
                Ok(if all_work { ExitCode::SUCCESS } else { ExitCode::FAILURE })
            }
            Self::Remove { name, agreement, file } => remove(&name, &agreement, &file),
        }
    }
}

impl Add {
    async fn run(self) -> anyhow::Result<ExitCode> {
        init::offer(&self.file, false)?;
        let name = &self.name;
        let (_, mut config) = self.added()?;
        if !self.untested {
            keep_only(&mut config, name)?;
            config.audit.off = true;
            let servers = connected(config).await?;
            print(&servers, &JsonOption { is_set: false }, &self.file);
            if servers.iter().any(|server| server.problem.is_some()) {
                eprintln!("It was not added: mend that, or add it with --untested.");
                return Ok(ExitCode::FAILURE);
            }
        }
        // Other commands may have changed the file meanwhile.
        let (editor, _) = self.added()?;
        editor.save()?;
        println!("[upstream.{}] is added. {AFTER_RESTART}", printable(name));
        Ok(ExitCode::SUCCESS)
    }

    /// The configuration with the server added. Other commands wait while the editor is open.
    fn added(&self) -> anyhow::Result<(ConfigEditor, Config)> {
        let mut editor = ConfigEditor::open(&self.file.config)?;
        editor.add_table("upstream", &self.name, self.table())?;
        let config = editor.check()?;
        Ok((editor, config))
    }

    fn table(&self) -> Table {
        let mut table = Table::new();
        match self.server.as_slice() {
            [url] if ["https://", "http://"].iter().any(|scheme| url.to_ascii_lowercase().starts_with(scheme)) => {
                table["url"] = value(url);
            }
            words => table["command"] = value(words.iter().collect::<Array>()),
        }
        if !self.env.is_empty() {
            table["env"] = value(self.env.iter().cloned().collect::<InlineTable>());
        }
        if let Some(file) = &self.key_file {
            table["key-file"] = value(file);
        }
        if self.private {
            table["private"] = value(true);
        }
        table
    }
}

fn remove(name: &str, agreement: &Agreement, file: &ConfigFile) -> anyhow::Result<ExitCode> {
    let remove = || {
        let mut editor = ConfigEditor::open(&file.config)?;
        ensure!(
            editor.remove_table("upstream", name),
            "{} has no [upstream.{}]",
            file.config.display(),
            printable(name)
        );
        editor.check()?;
        Ok(editor)
    };
    drop(remove()?);
    let command = format!("portcullis upstream remove {}{}", super::text::shell_quote(name), file.as_option());
    if !agreement.get(&format!("Remove the server {}?", printable(name)), &command)? {
        println!("Nothing was changed.");
        return Ok(ExitCode::FAILURE);
    }
    remove()?.save()?;
    println!("[upstream.{}] is removed. {AFTER_RESTART}", printable(name));
    Ok(ExitCode::SUCCESS)
}

/// Removes all other servers from a configuration.
fn keep_only(config: &mut Config, name: &str) -> anyhow::Result<()> {
    let names = config.upstreams.iter().map(|it| it.name.clone()).collect::<Vec<_>>().join(", ");
    config.upstreams.retain(|upstream| upstream.name == name);
    ensure!(!config.upstreams.is_empty(), "no server `{}`; there are: {names}", printable(name));
    Ok(())
}

/// Connects the servers of a configuration, without its plugins.
async fn connected(mut config: Config) -> anyhow::Result<Vec<ListedServer>> {
    config.plugins.clear();
    config.agent.clear();
    config.code = None;
    let (stop, _) = stop_signals()?;
    let (host, _plugins) = Host::start(&config, None).await?;
    let asked = futures::future::join_all(host.upstreams.iter().map(ListedServer::ask));
    let servers = stop.run_until_cancelled(asked).await;
    // Also ends the programs of the servers.
    host.close().await;
    servers.context("interrupted, and nothing was changed")
}

fn print(servers: &[ListedServer], json: &JsonOption, file: &ConfigFile) {
    if json.is_set {
        json::print(&servers.iter().map(ListedServer::to_json).collect());
        return;
    }
    for server in servers {
        server.print_alone();
    }
    if servers.is_empty() {
        eprintln!("{} has no server: `portcullis upstream add` adds one", file.config.display());
    }
}
