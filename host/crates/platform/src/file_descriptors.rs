//! The file descriptors of this process, and how they are divided, so that neither clients nor guests take those that the
//! host needs for itself.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many descriptors as are asked for, if the system lets a user have more.
const WANTED: u64 = 65_536;
/// The most connections of clients, however many descriptors there are. Bounds their memory.
const MAX_CONNECTIONS: u64 = 12_288;
/// The most files that guests have open together.
const MAX_GUEST_FILES: u64 = 4_096;

/// What others may use. The rest is for requests to other servers, storage and the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescriptorShares {
    /// Connections of clients.
    pub connections: usize,
    /// Files and directories that guests have open.
    pub guest_files: usize,
}

/// Raises the soft limit of this process as far as the hard limit allows.
pub fn raise_limit() {
    let limit = getrlimit(Resource::Nofile);
    let possible = limit.maximum.unwrap_or(WANTED).min(WANTED);
    if limit.current.is_some_and(|current| current < possible)
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: Some(possible), ..limit })
    {
        tracing::debug!(%error, "cannot raise the limit of open files");
    }
}

/// Divides the descriptors that this process may have.
pub fn shares() -> DescriptorShares {
    divide(getrlimit(Resource::Nofile).current.unwrap_or(WANTED))
}

fn divide(limit: u64) -> DescriptorShares {
    let share = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    DescriptorShares {
        connections: share((limit / 8 * 5).min(MAX_CONNECTIONS)),
        guest_files: share((limit / 8).min(MAX_GUEST_FILES)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_left_for_the_host() {
        assert_eq!(divide(1_024), DescriptorShares { connections: 640, guest_files: 128 });
        assert_eq!(divide(u64::MAX), DescriptorShares { connections: 12_288, guest_files: 4_096 });
        assert_eq!(divide(0), DescriptorShares { connections: 0, guest_files: 0 });
    }
}
