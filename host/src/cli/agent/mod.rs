//! `portcullis agent`.

mod calls;
mod command;
mod completion;
mod execute;
mod inbox;
mod key_files;
mod left_open;
mod pages;
mod quiet_terminal;
mod render;
mod repl;
mod screen;
mod servers;
mod session;
mod session_call;

use super::options::config_path;
use crate::config::{Config, is_dumb_terminal};
use crate::host::Host;
use agent::{Approvals, ApprovalsOptions, MemoryFile, Reaction, Rules, ServerSet};
use anyhow::Context;
use command::AgentCommand;
use execute::{CommandFlow, NoDialog};
use key_files::KeyFiles;
use platform::clock::{Clock, SystemClock};
use runtime::imports::{ModelProvider, Root, ToolCaller};
use screen::Screen;
use serde_json::json;
use servers::Servers;
use services::model::ChatModel;
use session::{AgentSession, SessionOptions};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::sync::mpsc;
use upstream::ProtocolVersions;

#[derive(clap::Args)]
pub(super) struct Agent {
    /// Connect a server under this name, by its URL or by the command that starts it. May be repeated.
    #[arg(long, value_name = "NAME=URL|COMMAND")]
    connect: Vec<String>,
    /// File with the API key for the server of --connect that has a URL; with several, NAME=FILE. May be repeated. The file is
    /// remembered with the server.
    #[arg(long, value_name = "[NAME=]FILE")]
    key_file: Vec<String>,
    /// Configuration file with the agent's own tools ([agent.*]), servers ([upstream.*]) and the model that answers servers
    /// ([model]).
    #[arg(long, short, value_name = "FILE", value_parser = config_path())]
    config: Option<PathBuf>,
    /// Rules that decide in your place. You are asked about everything else.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Run the commands in a file, or from stdin with `-`, and exit. Nobody is asked: rules decide, everything else is declined.
    #[arg(long, value_name = "FILE|-")]
    script: Option<PathBuf>,
    /// React to events in a server's inbox: show them (`EVENT=notify`) or call a tool (`EVENT='call SERVER.TOOL JSON'`), if
    /// you or a rule allow it. May be repeated.
    #[arg(long, value_name = "EVENT=ACTION", value_parser = command::reaction)]
    on: Vec<Reaction>,
    /// Ask nobody, even at a terminal: everything that no rule allows is declined.
    #[arg(long)]
    unattended: bool,
    /// Print one line of JSON for each event.
    #[arg(long)]
    json: bool,
    /// Print the transcript that an agent's model would see, too.
    #[arg(long)]
    transcript: bool,
    /// A workspace folder that servers may see as a root. May be repeated.
    #[arg(long = "root", value_name = "FOLDER")]
    roots: Vec<PathBuf>,
    /// Command that opens a page after you have approved it. Without it, open pages yourself.
    #[arg(long, value_name = "COMMAND")]
    browser: Option<String>,
    /// Folder for the agent's memory. Default: PORTCULLIS_STATE or the user's state folder.
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Keep no memory between runs.
    #[arg(long, conflicts_with = "state")]
    forgetful: bool,
    /// Speak MCP 2025-11-25 with the servers of --connect, instead of detecting the version.
    #[arg(long)]
    legacy: bool,
}

impl Agent {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let key_files = KeyFiles::new(&self.connect, &self.key_file).map_err(anyhow::Error::msg)?;
        let scripted = self.script.is_some() || !std::io::stdin().is_terminal();
        anyhow::ensure!(
            scripted || !is_dumb_terminal(),
            "this terminal cannot edit lines (TERM=dumb): set TERM to what it is, such as xterm, or give the commands with --script or through a pipe"
        );
        let screen = Arc::new(Screen::new(self.json));
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let config = match &self.config {
            Some(file) => Config::load_with_own_state(file)?,
            None => Config::empty()?,
        };
        let state = self.state.clone().or_else(|| config.state.clone());
        let memory = Arc::new(self.memory(state.as_deref())?);
        let rules = self.rules.as_deref().map(Rules::load).transpose()?.unwrap_or_default();
        let model: Option<Arc<dyn ModelProvider>> = match &config.model {
            Some(settings) => Some(Arc::new(ChatModel::open(settings, clock.clone())?)),
            None => None,
        };
        let roots = roots(self.roots.iter().chain(rules.roots()))?;
        let attended = !scripted && !self.unattended;
        let (approvals, events) =
            Approvals::new(ApprovalsOptions { rules, memory: memory.clone(), attended, model, roots });
        let host = start_components(&config).await?;
        let components: Arc<dyn ToolCaller> = match &host {
            Some(host) => host.agent.clone(),
            None => Arc::new(plugins::calls::NoTools),
        };
        let browser = self.browser.as_deref().map(servers::split_command).transpose().map_err(anyhow::Error::msg)?;
        let protocol = if self.legacy { ProtocolVersions::Legacy } else { ProtocolVersions::Auto };
        let servers = Servers::new(
            ServerSet::new(approvals.clone(), components, clock.clone()),
            protocol,
            browser.unwrap_or_default(),
        );
        let (reactions, transcript) = (self.on.clone(), self.transcript);
        let session = AgentSession::new(SessionOptions {
            approvals,
            servers,
            screen: screen.clone(),
            reactions,
            clock,
            transcript,
        });
        if let Some(take_warning) = memory.take_warning() {
            screen.show(&json!({ "event": "warning", "message": take_warning }), &format!("warning: {take_warning}"));
        }
        let history = state.filter(|_| !self.forgetful).map(|state| state.join("agent.history"));
        let terminal =
            if scripted { None } else { Some(repl::open(&screen, history.as_ref()).map_err(anyhow::Error::msg)?) };
        session.spawn_tasks(events);
        let connecting = self.connect_all(&session, &config, scripted, &key_files);
        let code = match terminal {
            Some(terminal) => {
                let starting = async {
                    connecting.await;
                    // Without a user, a continued call would decline the questions that were meant for the user.
                    match attended {
                        true => session.resume().await.unwrap_or_else(|error| show_error(&session, &error)),
                        false => session.show_left_open(),
                    }
                };
                tokio::select! {
                    () = starting => {}
                    _ = tokio::signal::ctrl_c() => show_error(&session, "interrupted; `servers` says what is connected"),
                }
                show_greeting(&session);
                let talking = session.clone();
                let talked = tokio::task::spawn_blocking(move || repl::run(&talking, terminal, history)).await?;
                session.leave(false).await;
                session.servers.close().await;
                screen.flush();
                talked.map_err(anyhow::Error::msg)?;
                ExitCode::SUCCESS
            }
            None => {
                connecting.await;
                session.show_left_open();
                run_script(&session, self.script.as_deref()).await?;
                session.servers.close().await;
                if session.has_failed() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
            }
        };
        if let Some(host) = host {
            host.close().await;
        }
        Ok(code)
    }

    fn memory(&self, state: Option<&Path>) -> anyhow::Result<MemoryFile> {
        match state {
            Some(folder) if !self.forgetful => Ok(MemoryFile::open(folder)?),
            _ => Ok(MemoryFile::in_memory()),
        }
    }

    /// Connects configured servers, those of `--connect` and, for a user at a terminal, remembered ones.
    async fn connect_all(&self, session: &Arc<AgentSession>, config: &Config, scripted: bool, key_files: &KeyFiles) {
        for settings in &config.upstreams {
            match session.servers.open(settings.clone()).await {
                Ok(()) => session.connected(&settings.name).await,
                Err(error) => show_error(session, &error),
            }
        }
        let known = session.approvals.memory().get().servers;
        let named = |name: &String| {
            let typed = self.connect.iter().filter_map(|text| text.split('=').next());
            typed.chain(config.upstreams.iter().map(|settings| settings.name.as_str())).any(|known| known == name)
        };
        let known = known.into_keys().filter(|name| !scripted && !named(name));
        for text in self.connect.iter().cloned().chain(known) {
            let key_file = text.split('=').next().and_then(|name| key_files.of_server(name));
            if let Err(error) = session.connect(&text, key_file).await {
                show_error(session, &error);
            }
        }
    }
}

/// Starts the configuration's agent-side components under their grants. Its other plugins are not started.
async fn start_components(config: &Config) -> anyhow::Result<Option<Host>> {
    if config.agent.is_empty() {
        return Ok(None);
    }
    let config = Config { plugins: Vec::new(), upstreams: Vec::new(), ..config.clone() };
    let broker = crate::host::open_connection_broker(&config)?;
    Ok(Some(Host::start_whole(&config, broker).await?))
}

fn roots<'a>(folders: impl Iterator<Item = &'a PathBuf>) -> anyhow::Result<Vec<Root>> {
    let root = |folder: &PathBuf| {
        let whole = std::fs::canonicalize(folder).with_context(|| format!("the root {}", folder.display()))?;
        let uri =
            url::Url::from_file_path(&whole).map_err(|()| anyhow::anyhow!("{} is not a path", whole.display()))?;
        Ok(Root { uri: uri.into(), name: whole.file_name().map(|name| name.to_string_lossy().into_owned()) })
    };
    folders.map(root).collect()
}

fn show_greeting(session: &Arc<AgentSession>) {
    let open = session.approvals.memory().unfinished_calls().len();
    let rules = session.approvals.rules().count();
    let mut text = format!("{rules} rules; `help` lists the commands");
    if open > 0 {
        text += &format!("\n{open} calls were left open by an earlier run; see `calls`");
    }
    session.screen.show(&json!({ "event": "ready", "rules": rules, "unfinishedCalls": open }), &text);
}

fn show_error(session: &Arc<AgentSession>, error: &str) {
    session.fail();
    session.screen.show_error(error);
}

/// Runs a script and waits for the calls that it started. After `quit`, it does not wait for calls that a later run can
/// continue.
async fn run_script(session: &Arc<AgentSession>, script: Option<&Path>) -> anyhow::Result<()> {
    let mut lines = lines(script)?;
    let interrupted = tokio::signal::ctrl_c();
    let following = async {
        while let Some(line) = lines.recv().await {
            let done = match AgentCommand::parse(&line) {
                Ok(None) => Ok(CommandFlow::Continue),
                Ok(Some(command)) => session.execute(command, &mut NoDialog, true).await,
                Err(error) => Err(error),
            };
            match done {
                Ok(CommandFlow::Continue) => {}
                Ok(CommandFlow::Quit) => return session.leave(true).await,
                Err(error) => show_error(session, &error),
            }
        }
        session.wait(None).await;
    };
    tokio::select! {
        () = following => {}
        _ = interrupted => {
            session.cancel_all();
            session.wait(None).await;
            session.fail();
        }
    }
    session.run_model().await;
    Ok(())
}

/// Reads the lines of a script on demand.
fn lines(script: Option<&Path>) -> anyhow::Result<mpsc::Receiver<String>> {
    use std::io::{BufRead, BufReader};
    let reader: Box<dyn BufRead + Send> = match script.filter(|path| *path != Path::new("-")) {
        Some(path) => {
            let file = std::fs::File::open(path).with_context(|| format!("the script {}", path.display()))?;
            Box::new(BufReader::new(file))
        }
        None => Box::new(BufReader::new(std::io::stdin())),
    };
    let (send, receive) = mpsc::channel(1);
    // Reads in a thread of its own, since reading stdin cannot be interrupted and must not delay the exit.
    std::thread::spawn(move || {
        for line in reader.lines().map_while(Result::ok) {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    Ok(receive)
}
