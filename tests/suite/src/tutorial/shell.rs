//! Runs the commands of a page one after the other, as a person at a shell.

use super::page::Shown;
use crate::eventually;
use nix::pty::openpty;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// The timeout of a command: a first build compiles all dependencies.
const PATIENCE: Duration = Duration::from_secs(900);

pub(super) struct Shell<'a> {
    folder: PathBuf,
    /// Where each command leaves the folder that it ended in.
    left: tempfile::TempDir,
    variables: &'a [(&'a str, String)],
}

/// What a command did.
pub(super) struct CommandRan {
    /// Both streams, in the order in which they were written.
    pub(super) output: String,
    pub(super) is_good: bool,
    pub(super) has_asked: bool,
}

impl<'a> Shell<'a> {
    pub(super) fn new(folder: &Path, variables: &'a [(&'a str, String)]) -> Self {
        let left = tempfile::tempdir().expect("a folder for temporary files");
        Self { folder: folder.to_owned(), left, variables }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Runs a command; at a terminal if something is typed.
    pub(super) fn run(&mut self, shown: &Shown, typed: Option<&str>) -> CommandRan {
        let left = self.left.path().join("folder");
        let mut command = Command::new("sh");
        let then = "ended=$?\npwd > \"$0\"\nexit $ended";
        command.arg("-c").arg(format!("{}\n{then}", shown.command)).arg(&left).current_dir(&self.folder);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let ran = match typed {
            Some(typed) => at_a_terminal(command, shown, typed),
            None => {
                let (from, to) = std::io::pipe().expect("a pipe");
                command.stdin(Stdio::null()).stderr(to.try_clone().expect("a second end")).stdout(to);
                to_the_end(command, Printed::read(from), |_| {})
            }
        };
        if let Ok(folder) = fs::read_to_string(&left) {
            self.folder = PathBuf::from(folder.trim_end_matches('\n'));
        }
        ran
    }
}

fn at_a_terminal(mut command: Command, shown: &Shown, typed: &str) -> CommandRan {
    let terminal = openpty(None, None).expect("a terminal");
    let screen = File::from(terminal.master);
    let mut keyboard = screen.try_clone().expect("a second end");
    let side = || Stdio::from(terminal.slave.try_clone().expect("a further end"));
    command.stdin(side()).stdout(side()).stderr(side());
    drop(terminal.slave);
    // The lines before the one that was answered last.
    let mut answered = None;
    let ran = to_the_end(command, Printed::read(screen), |printed| {
        let (before, line) = printed.rsplit_once('\n').unwrap_or(("", printed));
        let waits = !line.is_empty() && shown.output.contains(&format!("{line}{typed}"));
        if waits && answered.as_deref() != Some(before) {
            answered = Some(before.to_owned());
            writeln!(keyboard, "{typed}").expect("typing");
        }
    });
    CommandRan { has_asked: answered.is_some(), ..ran }
}

/// Runs a command until it ends; `watch` sees what has been printed so far.
fn to_the_end(mut command: Command, printed: Printed, mut watch: impl FnMut(&str)) -> CommandRan {
    let mut child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
    // Its ends of pipe and terminal.
    drop(command);
    let ended = eventually(PATIENCE, || {
        watch(&printed.text());
        child.try_wait().expect("waiting for a command")
    });
    let Some(status) = ended else {
        let _ = child.kill();
        panic!("timed out: a command does not end; it printed:\n{}", printed.text());
    };
    CommandRan { output: printed.all(), is_good: status.success(), has_asked: false }
}

/// What a command prints, gathered while it runs.
struct Printed {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Printed {
    fn read(mut from: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let gathered = bytes.clone();
        let reader = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            // A terminal whose other end is closed is an error, not an end.
            while let Ok(read @ 1..) = from.read(&mut piece) {
                gathered.lock().expect("no reader panicked").extend_from_slice(&piece[..read]);
            }
        });
        Self { bytes, reader }
    }

    fn text(&self) -> String {
        plain(&String::from_utf8_lossy(&self.bytes.lock().expect("no reader panicked")))
    }

    fn all(self) -> String {
        let _ = self.reader.join();
        plain(&String::from_utf8_lossy(&self.bytes.lock().expect("no reader panicked")))
    }
}

/// Without carriage returns and sequences of control for a terminal.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars();
    while let Some(one) = rest.next() {
        match one {
            '\r' => {}
            // `ESC [`, parameters, a letter.
            '\u{1b}' => {
                rest.find(|one| one.is_ascii_alphabetic());
            }
            one => plain.push(one),
        }
    }
    plain
}
