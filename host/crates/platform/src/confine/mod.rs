//! The process gives up what it does not need, so that a hole in the sandbox of a guest is not a hole in the machine:
//! system calls by seccomp, files by Landlock. On Linux; elsewhere nothing is in force, and that is said.

#[cfg(target_os = "linux")]
mod files;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod syscalls;

use std::fmt;
use std::path::PathBuf;

/// What a server needs of the machine. Everything else is given up.
#[derive(Debug, Clone, Default)]
pub struct Needs {
    /// Folders and files it reads, with what is below them.
    pub read: Vec<PathBuf>,
    /// Folders it writes to, with what is below them.
    pub write: Vec<PathBuf>,
    /// Ports it listens on; 0 is any free one.
    pub listen: Vec<u16>,
    /// Whether it starts programs of the operator's, which would be as confined as it is: then only what no program
    /// needs is given up.
    pub programs: bool,
    /// Whether secrets are read from the kernel's key ring.
    pub keyring: bool,
}

/// What holds for a process from now on, and for everything it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct InForce {
    /// Version of Landlock's interface that is used; none: files are as open as the user's rights are.
    pub files: Option<i32>,
    /// System calls that are refused; none: the kernel has no filters.
    pub syscalls: Option<usize>,
}

impl fmt::Display for InForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.files {
            Some(version) => write!(f, "landlock ABI {version}")?,
            None => f.write_str("no landlock")?,
        }
        match self.syscalls {
            Some(number) => write!(f, ", seccomp {number} syscalls"),
            None => f.write_str(", no seccomp"),
        }
    }
}

/// The process cannot be confined although the kernel says that it could be.
#[derive(Debug, thiserror::Error)]
#[error("cannot confine this process: {0}")]
pub struct ConfineError(String);

/// Confines a server. Call it before the process has a second thread: Landlock holds for the calling thread and for
/// those that it starts.
#[cfg(target_os = "linux")]
pub fn server(needs: &Needs) -> Result<InForce, ConfineError> {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
    let fail = |error: rustix::io::Errno| ConfineError(error.to_string());
    // Its memory holds secrets: no core file, and no debugger of the same user. A program that it starts may have its own
    // core files again.
    let core = getrlimit(Resource::Core);
    setrlimit(Resource::Core, Rlimit { current: Some(0), ..core }).map_err(fail)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(fail)?;
    let files = if needs.programs { None } else { files::allow_only(needs)? };
    Ok(InForce { files, syscalls: filter::refuse(needs)? })
}

/// Confines a compile worker to its pipes: no file, no network, no other process, no code made executable. A system call
/// that compiling does not need ends it.
#[cfg(target_os = "linux")]
pub fn worker() -> Result<InForce, ConfineError> {
    let files = files::allow_none()?;
    Ok(InForce { files, syscalls: filter::allow_compiling()? })
}

/// Confines a server, where that can be done.
#[cfg(not(target_os = "linux"))]
pub fn server(_needs: &Needs) -> Result<InForce, ConfineError> {
    Ok(InForce::default())
}

/// Confines a compile worker, where that can be done.
#[cfg(not(target_os = "linux"))]
pub fn worker() -> Result<InForce, ConfineError> {
    Ok(InForce::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_in_force() {
        let all = InForce { files: Some(5), syscalls: Some(31) };
        assert_eq!(all.to_string(), "landlock ABI 5, seccomp 31 syscalls");
        assert_eq!(InForce::default().to_string(), "no landlock, no seccomp");
    }
}
