//! What an agent is, and how it is started.

use super::installed::Installed;
use super::task::Task;
use crate::journey::without_user;
use std::path::Path;
use std::process::Command;

/// An agent.
#[derive(Debug)]
pub struct Agent {
    /// Its name.
    pub name: &'static str,
    /// The program itself, not a script that would start it: a signal is to reach it. `None` if it is not installed.
    pub(super) program: fn(&Installed) -> Option<Command>,
    /// Lets the program do a task once, and end.
    pub(super) instruct: fn(&mut Command, &Task<'_>),
}

impl Agent {
    /// Its version, as it says itself; `None` if it cannot be started.
    pub fn version(&self) -> Option<String> {
        let home = tempfile::tempdir().ok()?;
        let output = self.program(home.path())?.arg("--version").output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
        let words = said.split_whitespace().map(|word| word.trim_start_matches('v').trim_end_matches(['.', ',']));
        words.into_iter().find(number).map(str::to_owned)
    }

    /// The command that does a task once and ends.
    pub(crate) fn command(&self, task: &Task<'_>) -> Option<Command> {
        let mut command = self.program(task.home)?;
        (self.instruct)(&mut command, task);
        Some(command)
    }

    /// The program, which gets nothing of the user's.
    fn program(&self, home: &Path) -> Option<Command> {
        let mut command = (self.program)(&Installed::find()?)?;
        without_user(&mut command, home);
        Some(command)
    }
}
