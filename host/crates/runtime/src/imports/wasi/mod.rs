//! WASI 0.2 as a guest gets it: nothing but what was granted. A guest has no network. It has clocks, randomness, and the
//! granted directories and variables. Only a program has arguments and input, and its output becomes the output of its call;
//! the output of other guests goes to the log.

mod blocking;
mod changes;
mod chunk_pace;
mod clocks;
mod config_store;
mod context;
mod directory_stream;
mod disk_quota;
mod environment;
mod excerpt;
mod file_identity;
mod file_step;
mod files;
mod filesystem;
mod flush_reason;
mod input_streams;
mod metadata;
mod mounts;
mod open_at;
mod open_files;
mod outcome;
mod outside;
mod paid;
mod path_refusal;
mod program_output;
mod program_streams;
mod quota_stream;
#[cfg(test)]
mod random_replay_tests;
mod read_directory;
mod recorded;
mod removals;
#[cfg(test)]
mod replay_tests;
mod standard_streams;
mod stdio;
mod ungranted_paths;
mod ungranted_root;
mod uses;

pub use clocks::CallClock;
pub use context::new_context;
pub use disk_quota::{DiskQuota, ENTRY_SIZE, QuotaUse};
pub use files::{Files, RefusedPath, WasiHost};
pub use filesystem::add_to_linker;
pub(crate) use flush_reason::FlushReason;
pub use mounts::{MountError, check_mounts};
pub use open_files::OpenFiles;
#[cfg(test)]
pub(super) use outside::block;
pub(crate) use program_streams::send;
pub use standard_streams::{ProgramInput, StandardStreams, Written};
pub use ungranted_paths::UngrantedPaths;
pub use ungranted_root::make_ungranted_root;
pub use uses::SandboxUses;
