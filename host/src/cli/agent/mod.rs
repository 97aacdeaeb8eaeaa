//! `portcullis agent`.

mod command;
mod execute;
mod inbox;
mod links;
mod repl;
mod screen;
mod session;
mod words;

use crate::config::Config;
use crate::host::Host;
use agent::{Circle, Desk, DeskParts, MemoryFile, Reaction, Rules};
use anyhow::Context;
use command::Command;
use execute::{Flow, NoDialog};
use links::Links;
use platform::clock::{Clock, SystemClock};
use runtime::imports::{ModelProvider, Root, ToolCaller};
use screen::Screen;
use serde_json::json;
use services::model::ChatModel;
use session::{Parts, Session};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use tokio::sync::mpsc;
use upstream::Era;

#[derive(clap::Args)]
pub(super) struct Agent {
    /// Connect a server under a name of yours, by its URL or by the command that starts it; may be repeated.
    #[arg(long, value_name = "NAME=URL|COMMAND")]
    connect: Vec<String>,
    /// Configuration with the agent's own tools, [agent.*], servers, [upstream.*], and the model for servers that ask one,
    /// [model].
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Rules that decide in your place; what they do not speak of you are asked.
    #[arg(long, value_name = "FILE")]
    rules: Option<PathBuf>,
    /// Carry out the commands of a file, or of stdin with `-`, and end. Nobody is asked; rules decide, or it is declined.
    #[arg(long, value_name = "FILE|-")]
    script: Option<PathBuf>,
    /// When an event comes into a server's inbox, be told (`EVENT=notify`) or call a tool (`EVENT='call SERVER.TOOL JSON'`)
    /// if you or a rule agree; may be repeated.
    #[arg(long, value_name = "EVENT=ACTION")]
    on: Vec<Reaction>,
    /// Ask nobody, at a terminal too: what no rule allows is declined.
    #[arg(long)]
    unattended: bool,
    /// Print JSON, a line for each thing that happens.
    #[arg(long)]
    json: bool,
    /// Print what an agent's model would come to see, too.
    #[arg(long)]
    transcript: bool,
    /// A folder that servers may know of, as a root of your workspace; may be repeated.
    #[arg(long = "root", value_name = "FOLDER")]
    roots: Vec<PathBuf>,
    /// What opens a page that you have agreed to; without it you open it yourself.
    #[arg(long, value_name = "COMMAND")]
    browser: Option<String>,
    /// Folder of what is remembered; PORTCULLIS_STATE or the user's folder for state without it.
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
    /// Remember nothing.
    #[arg(long, conflicts_with = "state")]
    forgetful: bool,
    /// Speak MCP 2025-11-25 with the servers of --connect, instead of finding out.
    #[arg(long)]
    legacy: bool,
}

impl Agent {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let scripted = self.script.is_some() || !std::io::stdin().is_terminal();
        let screen = Arc::new(Screen::new(self.json));
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let config = match &self.config {
            Some(file) => Config::load(file)?,
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
        let person = !scripted && !self.unattended;
        let (desk, told) = Desk::new(DeskParts { rules, memory: memory.clone(), person, model, roots });
        let host = components(&config).await?;
        let components: Arc<dyn ToolCaller> = match &host {
            Some(host) => host.agent.clone(),
            None => Arc::new(plugins::Nobody),
        };
        let browser = self.browser.as_deref().map(links::split).transpose().map_err(anyhow::Error::msg)?;
        let era = if self.legacy { Era::Legacy } else { Era::Auto };
        let links = Links::new(Circle::new(desk.clone(), components, clock.clone()), era, browser.unwrap_or_default());
        let (planned, transcript) = (self.on.clone(), self.transcript);
        let session = Session::new(Parts { desk, links, screen: screen.clone(), planned, clock, transcript });
        if let Some(trouble) = memory.trouble() {
            screen.show(&json!({ "event": "warning", "message": trouble }), &format!("warning: {trouble}"));
        }
        let history = state.filter(|_| !self.forgetful).map(|state| state.join("agent.history"));
        let lines =
            if scripted { None } else { Some(repl::open(&screen, history.as_ref()).map_err(anyhow::Error::msg)?) };
        session.attend(told);
        self.connect_all(&session, &config, scripted).await;
        let code = match lines {
            Some(lines) => {
                greet(&session);
                let talking = session.clone();
                let talked = tokio::task::spawn_blocking(move || repl::run(&talking, lines, history)).await?;
                session.links.close().await;
                screen.flush();
                talked.map_err(anyhow::Error::msg)?;
                ExitCode::SUCCESS
            }
            None => {
                follow(&session, self.script.as_deref()).await?;
                session.links.close().await;
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
            _ => Ok(MemoryFile::none()),
        }
    }

    /// Connects what is configured, what was named, and for a person what was known before.
    async fn connect_all(&self, session: &Arc<Session>, config: &Config, scripted: bool) {
        for settings in &config.upstreams {
            match session.links.open(settings.clone()).await {
                Ok(()) => session.connected(&settings.name).await,
                Err(error) => complain(session, &error),
            }
        }
        let known = session.desk.memory().now().servers;
        let named = |name: &String| {
            let typed = self.connect.iter().filter_map(|text| text.split('=').next());
            typed.chain(config.upstreams.iter().map(|settings| settings.name.as_str())).any(|known| known == name)
        };
        let known = known.into_keys().filter(|name| !scripted && !named(name));
        for text in self.connect.iter().cloned().chain(known) {
            if let Err(error) = session.connect(&text).await {
                complain(session, &error);
            }
        }
    }
}

/// The agent-side components of a configuration, under their grants. Its other plugins are not started.
async fn components(config: &Config) -> anyhow::Result<Option<Host>> {
    if config.agent.is_empty() {
        return Ok(None);
    }
    let config = Config { plugins: Vec::new(), upstreams: Vec::new(), ..config.clone() };
    let broker = crate::host::broker(&config)?;
    Ok(Some(Host::start(&config, broker).await?))
}

fn roots<'a>(folders: impl Iterator<Item = &'a PathBuf>) -> anyhow::Result<Vec<Root>> {
    let root = |folder: &PathBuf| {
        let whole = std::fs::canonicalize(folder).with_context(|| format!("the root {}", folder.display()))?;
        let uri = url::Url::from_file_path(&whole).map_err(|()| anyhow::anyhow!("{} is no path", whole.display()))?;
        Ok(Root { uri: uri.into(), name: whole.file_name().map(|name| name.to_string_lossy().into_owned()) })
    };
    folders.map(root).collect()
}

fn greet(session: &Arc<Session>) {
    let open = session.desk.memory().now().left_behind().len();
    let rules = session.desk.rules().count();
    let mut text = format!("{rules} rules; `help` lists the commands");
    if open > 0 {
        text += &format!("\n{open} calls were left open by an earlier run; see `calls`");
    }
    session.screen.show(&json!({ "event": "ready", "rules": rules, "leftOpen": open }), &text);
}

fn complain(session: &Arc<Session>, error: &str) {
    session.fail();
    session.screen.show(&json!({ "event": "error", "message": error }), &format!("error: {error}"));
}

/// Carries out a script, and waits for what it started.
async fn follow(session: &Arc<Session>, script: Option<&Path>) -> anyhow::Result<()> {
    let mut lines = lines(script)?;
    let interrupted = tokio::signal::ctrl_c();
    let following = async {
        while let Some(line) = lines.recv().await {
            let done = match Command::parse(&line) {
                Ok(None) => Ok(Flow::On),
                Ok(Some(command)) => session.execute(command, &mut NoDialog, true).await,
                Err(error) => Err(error),
            };
            match done {
                Ok(Flow::On) => {}
                Ok(Flow::Quit) => break,
                Err(error) => complain(session, &error),
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
    session.turn().await;
    Ok(())
}

/// The lines of a script, as they are wanted.
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
    // A thread of its own: reading stdin cannot be interrupted, and must not keep the program from ending.
    std::thread::spawn(move || {
        for line in reader.lines().map_while(Result::ok) {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    Ok(receive)
}
