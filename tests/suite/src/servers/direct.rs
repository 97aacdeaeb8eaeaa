//! A client that talks to a server without the gateway: it only lists the tools.

use super::list::{Listed, installed};
use crate::journey::without_user;
use crate::{Home, PATIENCE};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

/// The longest reason why a server does not start, in characters.
const MAX_REASON: usize = 100;

/// A server that was started. Its process group is killed when this is dropped.
struct Started {
    child: Child,
    stdin: ChildStdin,
    messages: Receiver<Value>,
    end: Instant,
    next: u64,
}

/// The tools of a server, of all pages. The error is one line that says why they cannot be listed.
pub(super) fn tools(server: &Listed, home: &Home) -> Result<Vec<Value>, String> {
    let log = home.path().join("direct.err");
    let listed = Started::new(server, home).and_then(|mut started| started.tools());
    listed.map_err(|reason| {
        let said = fs::read_to_string(&log).unwrap_or_default();
        // A trace in Python ends with its error, one in JavaScript has it in front.
        let is_error = |line: &&str| line.contains("Error") || line.contains("error");
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let line = said.lines().rev().find(is_error).or(last).unwrap_or_default().trim();
        let reason = if line.is_empty() { reason } else { format!("{reason}: {line}") };
        // A cell of a table, on any machine.
        let folders = [home.path(), &installed()].map(|folder| folder.display().to_string());
        let plain = folders.iter().fold(reason.replace('|', "/"), |text, folder| text.replace(folder, "..."));
        plain.chars().take(MAX_REASON).collect()
    })
}

impl Started {
    fn new(server: &Listed, home: &Home) -> Result<Self, String> {
        let mut command = server.command();
        without_user(&mut command, home.path());
        command.envs(server.variables()).process_group(0);
        let log = File::create(home.path().join("direct.err")).expect("a file for what a server logs");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let (stdin, stdout) =
            (child.stdin.take().expect("stdin is piped"), child.stdout.take().expect("stdout is piped"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            // Some print lines that are no messages; the gateway skips them, too.
            let lines = BufReader::new(stdout).split(b'\n').map_while(Result::ok);
            let _ = lines.filter_map(|line| serde_json::from_slice(&line).ok()).try_for_each(|it| sender.send(it));
        });
        Ok(Self { child, stdin, messages, end: Instant::now() + PATIENCE, next: 0 })
    }

    fn tools(&mut self) -> Result<Vec<Value>, String> {
        let client = json!({"name": "suite", "version": "0"});
        // All that the gateway declares, since some servers list further tools then.
        let abilities = json!({"roots": {}, "sampling": {"tools": {}}, "elicitation": {"form": {}, "url": {}}});
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": abilities, "clientInfo": client});
        self.request("initialize", &params)?;
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        let (mut tools, mut params) = (Vec::new(), json!({}));
        loop {
            let mut page = self.request("tools/list", &params)?;
            match page["tools"].take() {
                Value::Array(more) => tools.extend(more),
                _ => return Err("its answer has no list of tools".into()),
            }
            match page["nextCursor"].take() {
                Value::Null if tools.is_empty() => return Err("it lists no tools".into()),
                Value::Null => return Ok(tools),
                cursor => params = json!({"cursor": cursor}),
            }
        }
    }

    /// Sends a request and waits for its result. Requests of the server are refused meanwhile.
    fn request(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params}))?;
        loop {
            let mut message = match self.messages.recv_timeout(self.end.saturating_duration_since(Instant::now())) {
                Ok(message) => message,
                Err(RecvTimeoutError::Timeout) => return Err(format!("no answer to {method} in {PATIENCE:?}")),
                Err(RecvTimeoutError::Disconnected) => return Err("it ends".into()),
            };
            let id = message["id"].take();
            if message.get("method").is_some() {
                if !id.is_null() {
                    let error = json!({"code": -32601, "message": "this client has nothing but a list of tools"});
                    self.send(&json!({"jsonrpc": "2.0", "id": id, "error": error}))?;
                }
            } else if id == self.next {
                return match message["error"].take() {
                    Value::Null => Ok(message["result"].take()),
                    error => Err(format!("{method}: {}", error["message"].as_str().unwrap_or_default())),
                };
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        // A server that has ended takes no input.
        self.stdin.write_all(format!("{message}\n").as_bytes()).map_err(|_| "it ends".into())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}
