//! How this process treats signals.

/// Whether whoever started this process has it ignore SIGHUP, as `nohup` does. It is then not to be handled.
pub fn is_hangup_ignored() -> bool {
    const SIGHUP: u64 = 1;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & SIGHUP != 0)
}
