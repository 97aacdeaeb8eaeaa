//! An agent that is told what to do line by line, its server, and what calls do outside.

use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use suite::web::{Reply, Web};
use suite::{Home, PATIENCE, Server, eventually, paths, plugin, plugin_from, portcullis, with_manifest};

/// A web server whose `/slow` answers once it is told to, and which counts what is sent to `/book`.
pub(super) struct Ledger {
    pub(super) web: Web,
    pub(super) open: Arc<AtomicBool>,
}

impl Ledger {
    pub(super) fn new() -> Self {
        let open = Arc::new(AtomicBool::new(false));
        let is_open = open.clone();
        let web = Web::serve(move |seen| {
            if seen.path() == "/slow" {
                eventually(PATIENCE, || is_open.load(Ordering::Relaxed).then_some(()));
            }
            Reply::new(200, "done")
        });
        Self { web, open }
    }

    pub(super) fn url(&self) -> String {
        self.web.url("").replace("127.0.0.1", "localhost")
    }

    /// What a call does: it books, takes long, and books again.
    pub(super) fn errand(&self) -> Value {
        let url = self.url();
        json!({"path": format!("post {url}/book one\nget {url}/slow\npost {url}/book two")})
    }
}

/// A server that runs errands, and an agent with a memory of its own.
pub(super) struct World {
    pub(super) home: Home,
    pub(super) address: String,
    _server: Option<Server>,
}

impl World {
    pub(super) fn config(home: &Home, ledger: &Ledger) -> String {
        let allow = format!("GET,POST {}", ledger.url());
        let requests = json!({"http": [allow], "filesystem": "write", "client": {"form": true}});
        let manifest = json!({"name": "errand", "version": "0.1.0", "requests": requests});
        let component = with_manifest(fs::read(paths::guest("errand")).unwrap(), &manifest);
        let source = home.write("errand.wasm", component);
        let grants = format!(
            "grants.client.form = true\nlimits.deadline = \"10m\"\n\
             grants.http = [{{ allow = \"{allow}\", private = true }}]"
        );
        let files = r#"grants.filesystem = [{ host = "work", guest = "/work", access = "write" }]"#;
        "[server.tasks]\ninline = \"50ms\"\n\n".to_owned()
            + &plugin_from("errand", &source, &grants)
            + &plugin("ask", &format!("grants.client.form = true\n{files}"))
            + &plugin("job", "grants.client.form = true\nlimits.deadline = \"10m\"")
    }

    /// An agent that starts a server of the tests, which behaves in this way.
    pub(super) fn of_odd_server(kind: &str) -> Self {
        Self::of_script("tests/suite/tests/agent_restart/server.py", kind)
    }

    /// An agent that starts a server, which is a Python script.
    pub(super) fn of_script(script: &str, kind: &str) -> Self {
        let (home, script) = (Home::new(), paths::root().join(script));
        let python = paths::python();
        let address = format!("'{}' -B '{}' {kind} '{}'", python.display(), script.display(), home.path().display());
        Self { home, address, _server: None }
    }

    /// An agent that starts its server itself.
    pub(super) fn over_stdio(ledger: &Ledger) -> Self {
        let home = Home::new();
        let folder = |name: &str| home.path().join(name).display().to_string();
        let server = format!("[server]\ncache = {:?}\nstate = {:?}\n\n", paths::cache(), folder("server-state"));
        let file = home.write("server.toml", server + &Self::config(&home, ledger));
        portcullis(&home, &["plugin", "list", "--load", "--config", &file.display().to_string()]).good();
        let address = format!("'{}' serve --config '{}'", paths::binary().display(), file.display());
        Self { home, address, _server: None }
    }

    /// An agent that connects to a running server.
    pub(super) fn over_http(ledger: &Ledger) -> Self {
        let home = Home::new();
        let config = Self::config(&home, ledger);
        Self::of_server(home, Server::start_http(&config))
    }

    /// An agent that connects to this server.
    pub(super) fn of_server(home: Home, (server, address): (Server, SocketAddr)) -> Self {
        Self { home, address: format!("http://{address}/mcp"), _server: Some(server) }
    }

    pub(super) fn agent_state(&self) -> PathBuf {
        self.home.path().join("agent-state")
    }

    /// A run of the agent that is told what to do line by line.
    pub(super) fn start(&self, rules: &str) -> Run {
        self.start_with(rules, &["--connect", &format!("demo={}", self.address)])
    }

    pub(super) fn start_with(&self, rules: &str, arguments: &[&str]) -> Run {
        let rules = self.home.write("rules.toml", rules).display().to_string();
        let mut command = Command::new(paths::binary());
        command.args(["agent", "--json", "--script", "-", "--rules", &rules]).args(arguments);
        command.env("PORTCULLIS_CACHE", paths::cache()).env("PORTCULLIS_STATE", self.agent_state());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (send, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line}"));
                if send.send(event).is_err() {
                    return;
                }
            }
        });
        Run { stdin: child.stdin.take(), child, lines, seen: Vec::new() }
    }
}

/// One run of the agent.
pub(super) struct Run {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    seen: Vec<Value>,
}

impl Run {
    pub(super) fn say(&mut self, line: &str) {
        writeln!(self.stdin.as_mut().unwrap(), "{line}").unwrap();
    }

    /// Waits for an event that has not been waited for yet.
    pub(super) fn expect(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(event) => {
                    self.seen.push(event.clone());
                    if event["event"] == what && fits(&event) {
                        return event;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("no event {what} after {:#?}", self.seen)
                }
            }
        }
    }

    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Says no more, and waits for the end. The status, and all events of the kind.
    pub(super) fn end(mut self, kind: &str) -> (Option<i32>, Vec<Value>) {
        self.stdin = None;
        let status = eventually(PATIENCE, || self.child.try_wait().unwrap()).expect("it ends");
        self.seen.extend(self.lines.iter());
        (status.code(), std::mem::take(&mut self.seen).into_iter().filter(|event| event["event"] == kind).collect())
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
