//! A program that the operator names, and how it is started.

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

/// A program with its arguments and its environment.
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

    /// Adds a variable; the program has no others than these. If a name is added twice, the later value counts.
    pub fn with_variable(mut self, name: &OsStr, value: &OsStr) -> Self {
        self.environment.push((name.as_bytes().to_vec(), value.as_bytes().to_vec()));
        self
    }

    pub(super) fn start(&self) -> io::Result<(Child, Pipes)> {
        let mut command = Command::new(&self.name);
        command.args(&self.arguments).env_clear();
        // In its own process group, the program does not get Ctrl-C from the terminal. It ends when its stdin does.
        command.process_group(0);
        command.envs(self.environment.iter().map(|(name, value)| (OsStr::from_bytes(name), OsStr::from_bytes(value))));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(stdin), Some(stdout), Some(stderr)) => {
                // Old kernels and some containers do not support pidfds.
                let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty()).ok();
                let pipes = [stdin.into(), stdout.into(), stderr.into()].into_iter().chain(process);
                Ok((child, pipes.collect()))
            }
            _ => Err(io::Error::other("the program has no pipes")),
        }
    }
}

/// The pipes of stdin, stdout and stderr, and then a pidfd of the process, if the kernel supports that.
pub(super) type Pipes = Vec<OwnedFd>;
/// The most descriptors in [`Pipes`].
pub(super) const PIPES: usize = 4;
