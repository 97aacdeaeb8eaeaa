//! Process statistics from the kernel: memory, CPU time, load.

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

/// Resident memory of a host in KiB, by what it is for.
#[derive(Clone, Copy)]
pub(crate) struct Resident {
    pub(crate) total: f64,
    /// Linear memories of guests: what is mapped next to the image of a component's data.
    pub(crate) guests: f64,
    /// Stacks that calls run on, by their size; the host's own threads have the same and are few.
    pub(crate) stacks: f64,
}

/// The size of a stack in KiB, as `host/crates/runtime/src/engine/profile.rs` has it.
const STACK: u64 = 2048;

pub(crate) fn resident(pid: u32) -> Result<Resident> {
    let path = format!("/proc/{pid}/smaps");
    let maps = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    parse_resident(&maps).with_context(|| format!("{path} is not as expected"))
}

fn parse_resident(maps: &str) -> Option<Resident> {
    let mut found = Resident { total: 0.0, guests: 0.0, stacks: 0.0 };
    // Adjacent mappings: where the last one ends, what is resident, whether an image is among them.
    let (mut end, mut run, mut image) = (0, 0.0, false);
    let (mut stack, mut writable) = (false, false);
    for line in maps.lines() {
        if let Some(kibibytes) = line.strip_prefix("Rss:") {
            let resident: f64 = kibibytes.trim().trim_end_matches(" kB").parse().ok()?;
            found.total += resident;
            if stack {
                found.stacks += resident;
            } else if writable {
                run += resident;
            }
        } else if let Some((from, to)) = line.split(' ').next().and_then(|range| range.split_once('-')) {
            let (from, to) = (u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?);
            let fields: Vec<&str> = line.split_whitespace().collect();
            writable = fields.get(1) == Some(&"rw-p");
            stack = writable && fields.len() == 5 && to - from == STACK << 10;
            if from != end || !writable {
                found.guests += if image { run } else { 0.0 };
                (run, image) = (0.0, false);
            }
            image |= writable && line.contains("wasm-memory-image");
            end = to;
        }
    }
    found.guests += if image { run } else { 0.0 };
    Some(found)
}

/// CPU time of this program's only busy thread. Zero if the kernel has no scheduler statistics.
pub(crate) fn own_cpu_time() -> Duration {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split(' ').next().and_then(|field| field.parse().ok()).unwrap_or(0))
}

/// The load average of the last minute.
pub(crate) fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::parse_resident;

    #[test]
    fn memory_is_told_apart_by_its_neighbours_and_its_size() {
        let map = |range: &str, mode: &str, name: &str, rss: u64| {
            format!("{range} {mode} 00000000 00:00 0 {name}\nSize: 4 kB\nRss: {rss} kB\nPss: 1 kB\n")
        };
        let maps = [
            map("10000-20000", "r-xp", "/bin/portcullis", 1),
            map("100000-200000", "rw-p", "", 10),
            map("200000-206000", "rw-p", "/memfd:wasm-memory-image (deleted)", 20),
            map("206000-210000", "rw-p", "", 40),
            map("210000-220000", "---p", "", 0),
            map("220000-230000", "rw-p", "", 100),
            map("400000-600000", "rw-p", "", 200),
            map("600000-700000", "rw-p", "[heap]", 400),
        ];
        let found = parse_resident(&maps.concat()).map(|found| [found.total, found.guests, found.stacks]);
        assert_eq!(found, Some([771.0, 70.0, 200.0]));
    }
}
