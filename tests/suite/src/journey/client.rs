//! Runs a client's program with nothing of the user's in its environment.

use crate::{PATIENCE, eventually};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

/// Takes the user's configuration, keys and plugins away from a command, and gives it `home`.
pub(crate) fn without_user(command: &mut Command, home: &Path) {
    command
        .env_clear()
        .envs(["PATH", "LANG", "TMPDIR"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.env("HOME", home).env("NO_COLOR", "1").env("TERM", "dumb").current_dir(home);
}

/// A running program, killed when dropped. What it prints is in its folder.
pub(crate) struct Running {
    child: Child,
    folder: PathBuf,
}

impl Running {
    /// Starts it.
    pub(crate) fn start(mut command: Command, folder: PathBuf) -> Self {
        let output = |name| File::create(folder.join(name)).expect("a file for a program's output");
        command.stdout(output("client.out")).stderr(output("client.err"));
        let child = command.spawn().unwrap_or_else(|error| panic!("cannot start {command:?}: {error}"));
        Self { child, folder }
    }

    /// Waits for its end; `None` if it does not end.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        eventually(PATIENCE, || self.child.try_wait().expect("waiting for a program"))
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// What it wrote to stdout so far.
    pub(crate) fn output(&self) -> String {
        fs::read_to_string(self.folder.join("client.out")).unwrap_or_default()
    }
}

/// The end of what a program with this folder printed.
pub(crate) fn printed(folder: &Path) -> String {
    let read = |name| fs::read_to_string(folder.join(name)).unwrap_or_default();
    let printed = read("client.err") + &read("client.out");
    let skipped = printed.chars().count().saturating_sub(300);
    printed.chars().skip(skipped).collect()
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}
