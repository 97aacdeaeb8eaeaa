//! What the kernel knows of processes: memory, CPU time, load.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};

/// Resident memory in MiB: now, and the highest so far.
pub(crate) fn memory(pid: u32) -> Result<[f64; 2]> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    let field = |name: &str| -> Result<f64> {
        let line =
            status.lines().find_map(|line| line.strip_prefix(name)).with_context(|| format!("{path}: no {name}"))?;
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kibibytes / 1024.0)
    };
    Ok([field("VmRSS:")?, field("VmHWM:")?])
}

/// CPU time of this program's only busy thread. Zero where the kernel keeps no scheduler statistics.
pub(crate) fn own_cpu_time() -> Duration {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|field| field.parse().ok()).unwrap_or(0))
}

/// The load average of the last minute.
pub(crate) fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}
