//! Restricts the process to what it needs, so that an escape from a guest's sandbox does not reach the machine: seccomp
//! restricts system calls, and Landlock restricts files. Only on Linux; other systems report that nothing is in force.

#[cfg(target_os = "linux")]
mod arguments;
#[cfg(target_os = "linux")]
mod landlock_rules;
mod process;
#[cfg(target_os = "linux")]
mod seccomp_filter;
mod settings;
mod status;
#[cfg(target_os = "linux")]
mod syscalls;

pub use process::{server, worker};
pub use settings::ConfineSettings;
pub use status::{ConfineError, Confinement};
