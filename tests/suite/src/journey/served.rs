//! A server for one client: over HTTP it runs already, over stdio the client starts it.

use crate::{Home, Server, paths};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// How the client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// The client starts it.
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

/// What a client is told of the server.
#[derive(Debug, Clone)]
pub(crate) enum Access {
    /// It starts this command.
    Stdio(Vec<String>),
    /// It connects to this URL.
    Http(String),
}

/// The cache for compiled code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cache {
    /// That of all tests.
    Shared,
    /// An empty one.
    Cold,
}

/// A server, or what starts one.
pub(crate) struct Served {
    /// Over stdio, the server's folder, with its configuration, state and log; over both, its cache if that is cold.
    home: Home,
    server: Option<Server>,
    pub(crate) access: Access,
}

impl Served {
    /// Starts the server over HTTP, or prepares the command for stdio.
    pub(crate) fn new(transport: Transport, config: &str, cache: Cache) -> Self {
        if cache == Cache::Shared {
            // Compiles all plugins. Some clients list tools once, before a slow machine has compiled them.
            drop(Server::start(config));
        }
        let home = Home::new();
        let folder = match cache {
            Cache::Shared => paths::cache(),
            Cache::Cold => home.path().join("cache"),
        };
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
                Self { home, server: None, access: Access::Stdio(command) }
            }
            Transport::Http => {
                let server = Server::spawn(Home::new(), config, &["--http", "127.0.0.1:0"], |command| {
                    command.env("PORTCULLIS_CACHE", folder);
                });
                let access = Access::Http(format!("http://{}/mcp", server.address()));
                Self { home, server: Some(server), access }
            }
        }
    }

    /// A folder for the client, which outlives it.
    pub(crate) fn folder(&self) -> PathBuf {
        let folder = self.home.path().join("client");
        fs::create_dir_all(&folder).expect("the client's folder");
        folder
    }

    /// The folder that the server runs in.
    pub(crate) fn home(&self) -> &Home {
        self.server.as_ref().map_or(&self.home, |server| &server.home)
    }

    /// The server's log so far.
    pub(crate) fn log(&self) -> String {
        let file = || fs::read_to_string(self.home.path().join("server.log")).unwrap_or_default();
        self.server.as_ref().map_or_else(file, Server::log)
    }

    /// Plugin and outcome of each call in the audit.
    pub(crate) fn audited(&self) -> Vec<(String, String)> {
        let text = fs::read_to_string(self.home().path().join("state/audit/audit.jsonl")).unwrap_or_default();
        // The last line may be written just now.
        let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let verdicts = records.filter(|record| record["event"] == "verdict");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        verdicts.map(|record| (text(&record["plugin"]), text(&record["outcome"]))).collect()
    }

    /// Whether compiled code is in the cold cache, and nothing is being added: a component is compiled in parts.
    pub(crate) fn has_compiled(&self) -> bool {
        let cache = self.home.path().join("cache");
        let entries = fs::read_dir(&cache).into_iter().flatten().flatten();
        let has_code = entries.map(|entry| entry.path()).any(|path| path.extension().is_some_and(|end| end == "bin"));
        has_code && processes(&["compile-to-cache", &cache.display().to_string()]).is_empty()
    }

    /// Whether a server that the client started still runs.
    pub(crate) fn is_serving(&self) -> bool {
        !self.processes("").is_empty()
    }

    /// Kills the process that serves for a supervisor that the client started.
    pub(crate) fn kill_serving(&self) {
        let serving = self.processes("--session-log");
        assert!(!serving.is_empty(), "nothing serves");
        let status = Command::new("kill").arg("-9").args(serving).status();
        assert!(status.expect("the command `kill`").success());
    }

    /// The processes with its configuration that have been given an argument like this.
    fn processes(&self, argument: &str) -> Vec<String> {
        processes(&[&self.home.path().join("portcullis.toml").display().to_string(), argument])
    }
}

/// The processes whose command has all of these words.
fn processes(words: &[&str]) -> Vec<String> {
    let all = fs::read_dir("/proc").expect("the system's processes").flatten();
    let is_one = |process: &fs::DirEntry| {
        let command = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let command = String::from_utf8_lossy(&command);
        words.iter().all(|word| command.contains(word))
    };
    all.filter(is_one).map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}
