//! Runs the program as a command that ends.

use crate::home::Home;
use crate::{PATIENCE, paths};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The outcome of a command.
#[derive(Debug)]
pub struct Ran {
    /// The exit status; `None` if a signal ended it.
    pub status: Option<i32>,
    /// The standard output.
    pub stdout: String,
    /// The standard error: log and error messages.
    pub stderr: String,
    /// The elapsed time.
    pub took: Duration,
}

impl Ran {
    /// The standard output of a command that must succeed.
    pub fn good(&self) -> &str {
        assert_eq!(self.status, Some(0), "it failed: {self:?}");
        &self.stdout
    }

    /// The standard output of a command that must fail with status 1, and says there why.
    pub fn failed(&self) -> &str {
        assert_eq!(self.status, Some(1), "it was to fail with status 1: {self:?}");
        &self.stdout
    }

    /// The standard error of a command that must fail with status 1 and without a panic.
    pub fn refused(&self) -> &str {
        assert_eq!(self.status, Some(1), "it was to fail with status 1: {self:?}");
        assert!(!self.stderr.trim().is_empty(), "it failed without a word");
        // A guest may have panicked, and its message is in the log; panics of the host have other paths.
        let ours = ["panicked at host/", "panicked at /"].iter().any(|place| self.stderr.contains(place));
        assert!(!ours, "it panicked: {}", self.stderr);
        &self.stderr
    }
}

/// Runs `portcullis` with arguments in a folder until it ends.
pub fn portcullis(home: &Home, arguments: &[&str]) -> Ran {
    command_of(Command::new(paths::binary()), home, arguments)
}

/// The same at a terminal, where each question gets the next line of `answers`; `^D` ends the input.
pub fn at_terminal(home: &Home, answers: &str, arguments: &[&str]) -> Ran {
    at_terminal_of("xterm", home, answers, arguments)
}

/// The same at a terminal that cannot move its cursor, and without questions.
pub fn at_dumb_terminal(home: &Home, arguments: &[&str]) -> Ran {
    at_terminal_of("dumb", home, "-", arguments)
}

fn at_terminal_of(kind: &str, home: &Home, answers: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new(paths::python());
    command.arg("-B").arg(paths::client_script("at_terminal.py")).args([kind, answers]).arg(paths::binary());
    command_of(command, home, arguments)
}

/// The same with one more variable in its environment.
pub fn portcullis_with(home: &Home, variable: (&str, &str), arguments: &[&str]) -> Ran {
    let mut command = Command::new(paths::binary());
    command.env(variable.0, variable.1);
    command_of(command, home, arguments)
}

/// The same at low priority, for long computations: concurrent tests that measure time come first.
pub fn patiently(home: &Home, arguments: &[&str]) -> Ran {
    let mut nice = Command::new("nice");
    nice.args(["-n", "19"]).arg(paths::binary());
    command_of(nice, home, arguments)
}

fn command_of(mut command: Command, home: &Home, arguments: &[&str]) -> Ran {
    command.args(arguments).current_dir(home.path()).env("PORTCULLIS_CACHE", paths::cache());
    command.env("PORTCULLIS_STATE", home.path().join("state"));
    run(command)
}

/// When a command has to have ended. The first build with a tool chain compiles libraries, perhaps beside other tests.
const COMMAND_PATIENCE: Duration = Duration::from_secs(5 * PATIENCE.as_secs());

/// Runs any command until it ends.
pub fn run(mut command: Command) -> Ran {
    let start = Instant::now();
    // Whoever runs the tests has a state folder, too.
    if !command.get_envs().any(|(name, _)| name == "XDG_STATE_HOME") {
        command.env("XDG_STATE_HOME", paths::root().join("target/test-state"));
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    let stdout = gather(child.stdout.take().expect("stdout is piped"));
    let stderr = gather(child.stderr.take().expect("stderr is piped"));
    let ended = crate::eventually(COMMAND_PATIENCE, || child.try_wait().expect("waiting for a command"));
    if ended.is_none() {
        let _ = child.kill();
    }
    let text = |reader: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&reader.join().unwrap_or_default()).into_owned()
    };
    let (took, stdout, stderr) = (start.elapsed(), text(stdout), text(stderr));
    let Some(status) = ended else { panic!("timed out: {command:?} does not end\n{stderr}") };
    Ran { status: status.code(), stdout, stderr, took }
}

fn gather(mut stream: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        bytes
    })
}
