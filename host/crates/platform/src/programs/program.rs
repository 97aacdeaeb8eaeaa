//! What is started, and how.

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

/// A program, and everything that it gets.
#[derive(Serialize, Deserialize)]
pub struct Program {
    pub name: String,
    pub arguments: Vec<String>,
    environment: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Program {
    pub fn new(name: String, arguments: Vec<String>) -> Self {
        Self { name, arguments, environment: Vec::new() }
    }

    /// It has these variables and no others. A later one of the same name counts.
    pub fn with_variable(mut self, name: &OsStr, value: &OsStr) -> Self {
        self.environment.push((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        self
    }

    pub(super) fn start(&self) -> io::Result<(Child, Pipes)> {
        let mut command = Command::new(&self.name);
        command.args(&self.arguments).env_clear();
        // Ctrl-C at the terminal is not for it: it ends when its stdin does.
        command.process_group(0);
        command.envs(self.environment.iter().map(|(name, value)| (OsStr::from_bytes(name), OsStr::from_bytes(value))));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(stdin), Some(stdout), Some(stderr)) => {
                // Old kernels and some containers have none.
                let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
                let pipes = [stdin.into(), stdout.into(), stderr.into()].into_iter().chain(process);
                Ok((child, pipes.collect()))
            }
            _ => Err(io::Error::other("the program has no pipes")),
        }
    }
}

/// To stdin, from stdout and from stderr, and the process itself, if the kernel tells when it ends.
pub(super) type Pipes = Vec<OwnedFd>;
/// The most of them.
pub(super) const PIPES: usize = 4;
