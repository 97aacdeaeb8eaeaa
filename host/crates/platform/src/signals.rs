//! How this process treats signals, and those that it sends.

use rustix::process::{Pid, Signal, kill_process};
use std::io;

/// Makes the system kill this process when the process that started it ends. If that one has ended already, this process has
/// another parent and is not killed.
#[cfg(target_os = "linux")]
pub fn end_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?)
}

#[cfg(not(target_os = "linux"))]
pub fn end_with_parent() -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Sends SIGTERM to a process that this one has started and has not waited for yet.
pub fn terminate(process: u32) -> io::Result<()> {
    send(process, Signal::TERM)
}

/// Sends SIGQUIT to such a process.
pub fn quit(process: u32) -> io::Result<()> {
    send(process, Signal::QUIT)
}

fn send(process: u32, signal: Signal) -> io::Result<()> {
    let process = i32::try_from(process).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "it is no process"))?;
    Ok(kill_process(process, signal)?)
}

/// Whether the program that started this process made it ignore SIGHUP, as `nohup` does. Then SIGHUP must not be handled.
pub fn is_hangup_ignored() -> bool {
    const SIGHUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & SIGHUP != 0)
}
