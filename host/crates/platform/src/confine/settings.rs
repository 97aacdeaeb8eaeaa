//! What a process may still use after it is confined.

use std::path::PathBuf;

/// What a server may still use of the machine.
#[derive(Debug, Clone, Default)]
pub struct ConfineSettings {
    /// Files and folders that it reads, recursively.
    pub read: Vec<PathBuf>,
    /// Folders that it writes to, recursively.
    pub write: Vec<PathBuf>,
    /// Ports that it listens on; 0 is any free port.
    pub listen: Vec<u16>,
    /// Whether it starts programs itself, such as those that build a plugin. They inherit the restrictions, so in this case
    /// only system calls are refused that no program needs.
    pub programs: bool,
    /// Whether secrets are read from the kernel's key ring.
    pub keyring: bool,
}
