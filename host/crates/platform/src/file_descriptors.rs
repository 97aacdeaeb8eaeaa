//! The file descriptors of this process, and how they are divided, so that neither clients nor guests take those that the host
//! needs itself.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// How many descriptors the process asks for, if the system allows a user as many.
const WANTED: u64 = 65_536;
/// The most connections of clients, even if there are more descriptors. Bounds their memory.
const MAX_CONNECTIONS: u64 = 12_288;
/// The most files that all guests together may have open, and separately the most connections.
const MAX_FOR_GUESTS: u64 = 4_096;

/// The descriptors that clients and guests may use. The rest is for storage, the journal, the compile worker and the host's own
/// requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescriptorShares {
    /// Connections of clients.
    pub connections: usize,
    /// Files and directories that guests have open.
    pub guest_files: usize,
    /// Connections of guests to other servers.
    pub guest_connections: usize,
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
        guest_files: share((limit / 8).min(MAX_FOR_GUESTS)),
        guest_connections: share((limit / 8).min(MAX_FOR_GUESTS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_left_for_the_host() {
        let shares = |limit| {
            let DescriptorShares { connections, guest_files, guest_connections } = divide(limit);
            [connections, guest_files, guest_connections]
        };
        assert_eq!(shares(1_024), [640, 128, 128]);
        assert_eq!(shares(u64::MAX), [12_288, 4_096, 4_096]);
        assert_eq!(shares(0), [0, 0, 0]);
    }
}
