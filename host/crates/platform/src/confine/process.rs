//! Confining this process.

use super::settings::ConfineSettings;
use super::status::{ConfineError, Confinement};
#[cfg(target_os = "linux")]
use super::{landlock_rules, seccomp_filter};

/// Confines a server. Fails if the process has more than one thread, because Landlock restricts only the calling thread and
/// those that it starts.
#[cfg(target_os = "linux")]
pub fn server(needs: &ConfineSettings) -> Result<Confinement, ConfineError> {
    use rustix::process::{DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit};
    let fail = |error: rustix::io::Errno| ConfineError(error.to_string());
    // If the threads cannot be counted, the caller is trusted to have only one.
    let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        return Err(ConfineError(format!("it has {threads} threads already, which would not be confined")));
    }
    // The memory of a server holds secrets, so it gets no core file and no debugger of the same user. Programs that it starts
    // may raise the limit of core files again.
    let core = getrlimit(Resource::Core);
    setrlimit(Resource::Core, Rlimit { current: Some(0), ..core }).map_err(fail)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(fail)?;
    let files = if needs.programs { None } else { landlock_rules::allow_only(needs)? };
    Ok(Confinement { files, syscalls: seccomp_filter::refuse(needs)? })
}

/// Confines a compile worker to its pipes: no files, no network, no other processes, no executable memory. A system call that
/// compiling does not need ends the process.
#[cfg(target_os = "linux")]
pub fn worker() -> Result<Confinement, ConfineError> {
    let files = landlock_rules::allow_none()?;
    Ok(Confinement { files, syscalls: seccomp_filter::allow_compiling()? })
}

/// Other systems cannot confine a process.
#[cfg(not(target_os = "linux"))]
pub fn server(_needs: &ConfineSettings) -> Result<Confinement, ConfineError> {
    Ok(Confinement::default())
}

/// Other systems cannot confine a process.
#[cfg(not(target_os = "linux"))]
pub fn worker() -> Result<Confinement, ConfineError> {
    Ok(Confinement::default())
}
