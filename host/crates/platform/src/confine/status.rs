//! Which restrictions are in force for a confined process.

use std::fmt;

/// The restrictions of a process and of everything that it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Confinement {
    /// Version of Landlock in force. `None` if only the rights of the user restrict access to files.
    pub files: Option<i32>,
    /// Number of filtered system calls. `None` if the kernel does not support filters.
    pub syscalls: Option<usize>,
}

impl fmt::Display for Confinement {
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

/// The process cannot be confined although the kernel supports it.
#[derive(Debug, thiserror::Error)]
#[error("cannot confine this process: {0}")]
pub struct ConfineError(pub(super) String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_is_in_force() {
        let all = Confinement { files: Some(5), syscalls: Some(31) };
        assert_eq!(all.to_string(), "landlock ABI 5, seccomp 31 syscalls");
        assert_eq!(Confinement::default().to_string(), "no landlock, no seccomp");
    }
}
