//! A program that runs, and what it is connected to.

use crate::log_reader::LogReader;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::process::{Child, ChildStdin, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// A line of the server's stdout.
pub(crate) struct Line {
    pub(crate) at: Instant,
    pub(crate) message: Result<Value, String>,
}

/// The process that a supervisor has started to serve; if it has none, the process itself.
pub fn serving_process(supervisor: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children")).unwrap_or_default();
    let serves = |id: &str| {
        let arguments = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|argument| argument.starts_with(b"--session-log"))
    };
    let serving = children.split_whitespace().find(|id| serves(id)).and_then(|id| id.parse().ok());
    serving.unwrap_or(supervisor)
}

/// The memory that a process has of its own, in bytes: without pages of files, its program among them. Of these, the kernel maps
/// what it happens to have in its cache.
pub fn own_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("/proc of the process");
    let kib = |key: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(key)?.split_whitespace().next());
        value.and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_else(|| panic!("no {key} in its status"))
    };
    (kib("RssAnon:") + kib("RssShmem:")) * 1024
}

/// The program and what it is connected to.
pub(crate) struct Running {
    pub(crate) child: Child,
    pub(crate) stdin: Option<ChildStdin>,
    pub(crate) lines: Receiver<Line>,
    pub(crate) log: LogReader,
    pub(crate) wire: [(u64, u64); 2],
}

/// Starts the program and reads its output.
pub(crate) fn run(command: &mut Command) -> Running {
    let mut child = command.spawn().expect("starting the server");
    let (stdin, stderr) = (child.stdin.take().expect("stdin is piped"), child.stderr.take().expect("stderr is piped"));
    let stdout = child.stdout.take().expect("stdout is piped");
    let wire = [pipe(&stdin), pipe(&stdout)];
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).split(b'\n') {
            let Ok(line) = line else { break };
            if sender.send(Line { at: Instant::now(), message: json_rpc(&line) }).is_err() {
                break;
            }
        }
    });
    Running { child, stdin: Some(stdin), lines, log: LogReader::start(stderr), wire }
}

/// The device and the number of a pipe, which are the same at both of its ends.
fn pipe(end: &impl AsFd) -> (u64, u64) {
    let end = end.as_fd().try_clone_to_owned().map(fs::File::from).and_then(|end| end.metadata());
    let end = end.expect("an end of a pipe");
    (end.dev(), end.ino())
}

/// One JSON-RPC message, or the line as text if it is not one.
fn json_rpc(line: &[u8]) -> Result<Value, String> {
    let text = || String::from_utf8_lossy(line).into_owned();
    let message: Value = serde_json::from_slice(line).map_err(|_| text())?;
    // An error may refer to a line that had no id.
    let answer = message.get("error").is_some() != (message.get("id").is_some() && message.get("result").is_some());
    if message["jsonrpc"] == "2.0" && (message["method"].is_string() || answer) { Ok(message) } else { Err(text()) }
}
