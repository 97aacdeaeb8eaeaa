//! One run of an agent with a model and a server.

use super::agent::{Access, Agent};
use super::model::{Call, Model};
use crate::{Home, PATIENCE, Server, eventually, paths};
use serde_json::Value;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, ExitStatus, Stdio};

/// How the agent reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// The agent starts it.
    Stdio,
    /// It runs already.
    Http,
}

impl Transport {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Stdio, Self::Http];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "HTTP",
        }
    }
}

/// Where an agent is to run: its home, the server's folder, and, over HTTP, the server.
pub(crate) struct Place {
    /// The server's folder, with its configuration, state, log and cache.
    home: Home,
    agent: Agent,
    server: Option<Server>,
    access: Access,
}

/// The cache for compiled code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cache {
    /// That of all tests.
    Shared,
    /// An empty one.
    Cold,
}

impl Place {
    /// Starts the server over HTTP, or prepares the command for stdio.
    pub(crate) fn new(agent: Agent, transport: Transport, config: &str, cache: Cache) -> Self {
        let home = Home::new();
        let folder = match cache {
            Cache::Shared => paths::cache(),
            Cache::Cold => home.path().join("cache"),
        };
        fs::create_dir_all(home.path().join("agent")).expect("the agent's home");
        match transport {
            Transport::Stdio => {
                let file = home.write("portcullis.toml", config);
                let variable = |name: &str, value: PathBuf| format!("{name}={}", value.display());
                let log = home.path().join("server.log");
                let command = vec![
                    "/usr/bin/env".to_owned(),
                    variable("PORTCULLIS_CACHE", folder),
                    variable("PORTCULLIS_STATE", home.path().join("state")),
                    "/bin/sh".into(),
                    "-c".into(),
                    format!("exec \"$@\" 2>> {}", log.display()),
                    "sh".into(),
                    paths::binary().display().to_string(),
                    "serve".into(),
                    "--config".into(),
                    file.display().to_string(),
                ];
                Self { home, agent, server: None, access: Access::Stdio(command) }
            }
            Transport::Http => {
                let server = Server::spawn(Home::new(), config, &["--http", "127.0.0.1:0"], |command| {
                    command.env("PORTCULLIS_CACHE", folder);
                });
                let access = Access::Http(format!("http://{}/mcp", server.address()));
                Self { home, agent, server: Some(server), access }
            }
        }
    }

    /// Starts the agent.
    pub(crate) fn start(&self, script: Vec<Call>) -> Run {
        let model = Model::start(script);
        let home = self.home.path().join("agent");
        let mut command = self.agent.command(&home, &model, &self.access).expect("the agent is installed");
        let output = |name| File::create(self.home.path().join(name)).expect("a file for the agent's output");
        command.stdin(Stdio::null()).stdout(output("agent.out")).stderr(output("agent.err"));
        let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        Run { model, child }
    }

    /// The server's folder.
    fn served(&self) -> &Home {
        self.server.as_ref().map_or(&self.home, |server| &server.home)
    }

    /// The server's log so far.
    pub(crate) fn log(&self) -> String {
        let file = || fs::read_to_string(self.home.path().join("server.log")).unwrap_or_default();
        self.server.as_ref().map_or_else(file, Server::log)
    }

    /// The end of what the agent printed.
    pub(crate) fn printed(&self) -> String {
        let read = |name| fs::read_to_string(self.home.path().join(name)).unwrap_or_default();
        let printed = read("agent.err") + &read("agent.out");
        let skipped = printed.chars().count().saturating_sub(300);
        printed.chars().skip(skipped).collect()
    }

    /// Plugin and outcome of each call in the audit.
    pub(crate) fn audited(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.served().path().join("state/audit/audit.jsonl")).unwrap_or_default();
        // The last line may be written just now.
        let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let verdicts = records.filter(|record| record["event"] == "verdict");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        verdicts.map(|record| (text(&record["plugin"]), text(&record["outcome"]))).collect()
    }

    /// Whether compiled code is in the cold cache.
    pub(crate) fn has_compiled(&self) -> bool {
        let entries = fs::read_dir(self.home.path().join("cache")).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|end| end == "bin"))
    }

    /// Whether a server that the agent started still runs.
    pub(crate) fn is_serving(&self) -> bool {
        let config = self.home.path().join("portcullis.toml").display().to_string();
        let processes = fs::read_dir("/proc").expect("the system's processes").flatten();
        let mut commands = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        commands.any(|command| String::from_utf8_lossy(&command).contains(&config))
    }
}

/// A running agent, killed when dropped.
pub(crate) struct Run {
    /// Its model.
    pub(crate) model: Model,
    child: Child,
}

impl Run {
    /// Waits for its end; `None` if it does not end.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        eventually(PATIENCE, || self.child.try_wait().expect("waiting for an agent"))
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.kill();
    }
}
