//! The running program: its connection, its log, and its resource usage.

use crate::home::Home;
use crate::log_reader::LogReader;
use crate::running::{Line, Running, run, serving_process};
use crate::{PATIENCE, paths};
use serde_json::Value;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Starts a server with as few descriptors as many systems give a process, and no way to more, so that every test shows that
/// these are enough. `DESCRIPTORS` in its environment sets another number.
const FEW_DESCRIPTORS: &str = r#"ulimit -n "${DESCRIPTORS:-1024}" && exec "$@""#;

/// `portcullis serve`, stopped when dropped.
pub struct Server {
    command: Command,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Line>,
    log: LogReader,
    /// What each of its threads is called and has used, also those that have ended since.
    used: Mutex<HashMap<OsString, (String, u64)>>,
    /// Whether an ordinary user may see all that it holds.
    is_measurable: bool,
    /// The device and the number of the pipes that are its stdin and its stdout.
    wire: [(u64, u64); 2],
    /// The server's folder.
    pub home: Home,
}

impl Server {
    /// Starts a server over stdio, in a new folder.
    pub fn start(config: &str) -> Self {
        Self::start_in(Home::new(), config)
    }

    /// Starts a server over stdio, in an existing folder.
    pub fn start_in(home: Home, config: &str) -> Self {
        let server = Self::spawn(home, config, &[], |_| {});
        server.wait_until_loaded();
        server
    }

    /// Starts a server over HTTP on a free loopback port.
    pub fn start_http(config: &str) -> (Self, SocketAddr) {
        Self::start_http_in(Home::new(), config)
    }

    /// The same in an existing folder.
    pub fn start_http_in(home: Home, config: &str) -> (Self, SocketAddr) {
        let server = Self::spawn(home, config, &["--http", "127.0.0.1:0"], |_| {});
        let address = server.address();
        server.wait_until_loaded();
        (server, address)
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        let line = self.wait_for_log("listening on http://");
        let address = line.split("http://").nth(1).and_then(|rest| rest.split("/mcp").next());
        let address = address.and_then(|address| address.parse().ok());
        address.unwrap_or_else(|| panic!("no address of the form http://127.0.0.1:PORT/mcp in: {line}"))
    }

    /// Kills it with SIGKILL and starts it again over HTTP, on another port.
    pub fn restart(&mut self) -> SocketAddr {
        self.restart_stdio();
        self.address()
    }

    /// Kills it with SIGKILL and starts it again over stdio.
    pub fn restart_stdio(&mut self) {
        self.kill();
        let Running { child, stdin, lines, log, wire } = run(&mut self.command);
        (self.child, self.stdin, self.lines, self.log, self.wire) = (child, stdin, lines, log, wire);
        self.used = Mutex::default();
        self.wait_until_loaded();
    }

    /// Waits for its end, and starts it again over stdio without a variable.
    pub fn restart_without(&mut self, variable: &str) {
        self.command.env_remove(variable);
        self.restart_stdio();
    }

    /// Waits until all plugins are loaded that can be.
    pub fn wait_until_loaded(&self) {
        // In both formats of the log.
        self.wait_for_log("upstreams");
    }

    /// Kills it with SIGKILL.
    pub fn kill(&mut self) {
        let serving = self.id();
        let _ = self.child.kill();
        let _ = self.child.wait();
        // The system kills it with its supervisor, a moment later.
        let is_gone = || (!Path::new(&format!("/proc/{serving}")).exists()).then_some(());
        assert!(crate::eventually(PATIENCE, is_gone).is_some(), "the process that serves goes on");
    }

    /// Sends SIGTERM, as an operator or a service manager does.
    pub fn terminate(&self) {
        self.signal("-TERM");
    }

    /// Sends a signal, such as `-HUP`.
    pub fn signal(&self, signal: &str) {
        let id = self.child.id().to_string();
        let status = Command::new("kill").args([signal, &id]).status().expect("the command `kill`");
        assert!(status.success());
    }

    /// Closes its stdin.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        let ended = crate::eventually(PATIENCE, || self.child.try_wait().expect("waiting for the server"));
        ended.unwrap_or_else(|| panic!("timed out: the server does not end\n{}", self.log()))
    }

    /// Starts a server with further arguments after `serve --config FILE`; `adjust` can set the environment.
    pub fn spawn(home: Home, config: &str, arguments: &[&str], adjust: impl FnOnce(&mut Command)) -> Self {
        let file = home.write("portcullis.toml", config);
        Self::start_program(home, &paths::binary(), |command| {
            command.arg("serve").arg("--config").arg(file).args(arguments);
            adjust(command);
        })
    }

    /// Starts a server over stdio with another file of the program.
    pub fn of_program(home: Home, program: &Path, config: &str) -> Self {
        let file = home.write("portcullis.toml", config);
        let server = Self::start_program(home, program, |command| {
            command.arg("serve").arg("--config").arg(file);
        });
        server.wait_until_loaded();
        server
    }

    /// Starts a server of which an ordinary user may see how much memory and how many descriptors it holds: a confined process
    /// hides them. Root would see them anyway, so [`Server::forget_peak`] and [`Server::descriptors`] insist on it.
    pub fn measurable(home: Home, config: &str, arguments: &[&str], adjust: impl FnOnce(&mut Command)) -> Self {
        let mut server = Self::spawn(home, config, &[&["--no-confine"], arguments].concat(), adjust);
        server.is_measurable = true;
        server.wait_until_loaded();
        server
    }

    /// Starts `portcullis dev` with these arguments. It may build before it serves.
    pub fn dev(home: Home, arguments: &[&str]) -> Self {
        // What a build needs is there already.
        let path = Self::path_with_tools(&home);
        Self::start_program(home, &paths::binary(), |command| {
            command.arg("dev").args(arguments).env("PIP_NO_INDEX", "1").env("npm_config_offline", "true");
            command.env("PATH", path);
        })
    }

    /// `PATH` with the programs of a home first, in its folder `bin`.
    pub fn path_with_tools(home: &Home) -> String {
        format!("{}:{}", home.path().join("bin").display(), std::env::var("PATH").unwrap_or_default())
    }

    /// Starts the program; `adjust` adds its arguments.
    fn start_program(home: Home, program: &Path, adjust: impl FnOnce(&mut Command)) -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", FEW_DESCRIPTORS, "sh"]).arg(program).current_dir(home.path());
        command.env("PORTCULLIS_CACHE", paths::cache()).env("PORTCULLIS_STATE", home.path().join("state"));
        // With it, every trap reads the host's own symbols, which takes more memory than the tests' limits allow.
        command.env_remove("RUST_BACKTRACE");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        adjust(&mut command);
        let Running { child, stdin, lines, log, wire } = run(&mut command);
        let (used, is_measurable) = (Mutex::default(), false);
        Self { command, child, stdin, lines, log, used, is_measurable, wire, home }
    }

    /// Sends one line.
    pub fn send(&mut self, message: &Value) {
        self.send_raw(message.to_string().as_bytes());
    }

    /// Sends bytes and a line feed.
    pub fn send_raw(&mut self, bytes: &[u8]) {
        self.send_part(bytes);
        self.send_part(b"\n");
    }

    /// Sends bytes.
    pub fn send_part(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        let sent = stdin.write_all(bytes).and_then(|()| stdin.flush());
        sent.unwrap_or_else(|error| panic!("the server takes no input: {error}\n{}", self.log()));
    }

    /// Sends a request and waits for its answer, or for the end of the server.
    pub fn try_answer(&mut self, request: &Value, id: u64) -> Option<Value> {
        let stdin = self.stdin.as_mut()?;
        stdin.write_all(format!("{request}\n").as_bytes()).and_then(|()| stdin.flush()).ok()?;
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(Line { message: Ok(message), .. }) if message["id"] == id => return Some(message),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => panic!("timed out: no answer to {request}\n{}", self.log()),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// The next message within `patience`, if any. A line that is not JSON-RPC fails the test.
    pub fn receive(&self, patience: Duration) -> Option<(Instant, Value)> {
        match self.lines.recv_timeout(patience) {
            Ok(Line { at, message: Ok(message) }) => Some((at, message)),
            Ok(Line { message: Err(line), .. }) => panic!("a line on stdout is no JSON-RPC message: {line}"),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the server closed its stdout\n{}", self.log()),
        }
    }

    /// Closes its stdin and waits for its end. The messages that it has sent until then.
    pub fn rest(&mut self) -> Vec<Value> {
        assert!(self.end().success(), "{}", self.log());
        let message = |line: Line| line.message.unwrap_or_else(|line| panic!("no JSON-RPC message: {line}"));
        self.lines.iter().map(message).collect()
    }

    /// Its log so far.
    pub fn log(&self) -> String {
        self.log.with(|lines| lines.join("\n"))
    }

    /// Waits for a log line that contains `part`.
    pub fn wait_for_log(&self, part: &str) -> String {
        let look = |lines: &[String]| lines.iter().find(|line| line.contains(part)).cloned();
        let found = crate::eventually(PATIENCE, || self.log.with(look));
        found.unwrap_or_else(|| panic!("nothing in the log holds {part:?}:\n{}", self.log()))
    }

    /// Closes its stdin and waits for its end.
    pub fn end(&mut self) -> ExitStatus {
        drop(self.stdin.take());
        self.ended()
    }

    /// Whether it still runs.
    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The id of the process that serves. What this test has started may only be its supervisor.
    pub fn id(&self) -> u32 {
        serving_process(self.child.id())
    }

    /// The id of the process that was started, which may be a supervisor.
    pub fn started(&self) -> u32 {
        self.child.id()
    }

    /// Kills the process that serves, and leaves its supervisor alone.
    pub fn kill_serving(&self) {
        let id = self.id();
        assert_ne!(id, self.started(), "it has no supervisor\n{}", self.log());
        assert!(Command::new("kill").args(["-9", &id.to_string()]).status().expect("the command `kill`").success());
    }

    /// Resident memory in bytes.
    pub fn memory(&self) -> u64 {
        let statm = fs::read_to_string(format!("/proc/{}/statm", self.id())).expect("/proc of the server");
        let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("resident pages in statm");
        pages * 4096
    }

    /// The most resident memory since [`Server::forget_peak`], in bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id())).expect("/proc of the server");
        let peak =
            status.lines().find_map(|line| line.strip_prefix("VmHWM:")).and_then(|rest| rest.split_whitespace().next());
        peak.and_then(|kib| kib.parse::<u64>().ok()).expect("VmHWM in status") * 1024
    }

    /// Starts [`Server::peak_memory`] anew. For a [`Server::measurable`] one.
    pub fn forget_peak(&self) {
        self.assert_measurable();
        fs::write(format!("/proc/{}/clear_refs", self.id()), "5").expect("clear_refs of the server");
    }

    /// The number of its open descriptors. For a [`Server::measurable`] one.
    pub fn descriptors(&self) -> usize {
        self.open_descriptors().count()
    }

    /// Whether it has this file open. For a [`Server::measurable`] one.
    pub fn has_open(&self, path: &Path) -> bool {
        self.open_descriptors().any(|descriptor| fs::read_link(descriptor.path()).is_ok_and(|open| open == path))
    }

    fn open_descriptors(&self) -> impl Iterator<Item = fs::DirEntry> {
        self.assert_measurable();
        fs::read_dir(format!("/proc/{}/fd", self.id())).expect("/proc of the server").flatten()
    }

    fn assert_measurable(&self) {
        assert!(
            self.is_measurable,
            "an ordinary user cannot see this of a confined server; start it with Server::measurable"
        );
    }

    /// The device and the number of the pipes that are its stdin and its stdout.
    pub fn wire(&self) -> [(u64, u64); 2] {
        self.wire
    }

    /// The number of its threads.
    pub fn threads(&self) -> usize {
        fs::read_dir(format!("/proc/{}/task", self.id())).expect("/proc of the server").count()
    }

    /// CPU time used by all its threads, as far as it was seen of those that have ended. It never gets less.
    pub fn cpu(&self) -> Duration {
        self.cpu_of(|_| true)
    }

    /// CPU time used by the threads whose name satisfies `is_one`.
    pub fn cpu_of(&self, is_one: impl Fn(&str) -> bool) -> Duration {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.id())).expect("/proc of the server");
        // A thread may end between listing and reading.
        let times = tasks.flatten().filter_map(|task| {
            let read = |file| fs::read_to_string(task.path().join(file)).ok();
            let used = read("schedstat")?.split(' ').next()?.parse::<u64>().ok()?;
            Some((task.file_name(), (read("comm")?.trim_end().to_owned(), used)))
        });
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.extend(times);
        Duration::from_nanos(used.values().filter(|(name, _)| is_one(name)).map(|(_, used)| used).sum())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
