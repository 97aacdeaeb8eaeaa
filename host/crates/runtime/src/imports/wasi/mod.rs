//! WASI 0.2 as a guest gets it: nothing but what was granted. No arguments, stdin or network; clocks and randomness; the
//! granted directories and variables; stdout and stderr go to the log.

mod blocking;
mod changes;
mod clocks;
mod context;
mod directory_stream;
mod disk_quota;
mod file_identity;
mod file_step;
mod files;
mod filesystem;
mod metadata;
mod mounts;
mod open_at;
mod open_files;
mod outcome;
mod outside;
mod quota_stream;
#[cfg(test)]
mod random_replay_tests;
mod read_directory;
mod recorded;
mod removals;
#[cfg(test)]
mod replay_tests;
mod stdio;

pub use clocks::CallClock;
pub use context::new_context;
pub use disk_quota::{DiskQuota, ENTRY_SIZE, QuotaUse};
pub use files::{Files, RefusedPath, WasiHost};
pub use filesystem::add_to_linker;
pub use mounts::{MountError, check_mounts};
pub use open_files::OpenFiles;
#[cfg(test)]
pub(super) use outside::block;
