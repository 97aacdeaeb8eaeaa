//! Process statistics from the kernel: memory, CPU time, load.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::Duration;

use anyhow::{Context, Result};
use nix::time::{ClockId, clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use tokio::time::sleep;

/// Memory in MiB.
#[derive(Clone, Copy)]
pub(crate) struct Memory {
    /// Resident: what the kernel holds in memory for the process.
    pub(crate) rss: f64,
    /// The same, with pages that several processes share divided among them.
    pub(crate) pss: f64,
}

pub(crate) fn memory(pid: u32) -> Result<Memory> {
    let path = format!("/proc/{pid}/smaps_rollup");
    let text = read(&path)?;
    Ok(Memory { rss: kibibytes(&path, &text, "Rss:")? / 1024.0, pss: kibibytes(&path, &text, "Pss:")? / 1024.0 })
}

/// The most memory in MiB that was resident at any time.
pub(crate) fn peak(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/status");
    Ok(kibibytes(&path, &read(&path)?, "VmHWM:")? / 1024.0)
}

/// The process that serves for this supervisor, if it is one.
pub(crate) fn child(supervisor: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children")).ok()?;
    let serves = |id: &&str| {
        let arguments = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        arguments.split(|byte| *byte == 0).any(|argument| argument.starts_with(b"--session-log"))
    };
    children.split_whitespace().find(serves)?.parse().ok()
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {path}"))
}

fn kibibytes(path: &str, text: &str, name: &str) -> Result<f64> {
    let field = field(text, name).with_context(|| format!("{path}: no {name}"))?;
    Ok(field.trim_end_matches(" kB").parse()?)
}

/// The rest of the line that starts with `name`.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// How often each thread has given up its processor of its own accord, that is, has gone to sleep.
pub(crate) struct Sleeps(BTreeMap<OsString, u64>);

impl Sleeps {
    pub(crate) fn of(pid: u32) -> Result<Self> {
        let folder = format!("/proc/{pid}/task");
        let mut threads = BTreeMap::new();
        for thread in fs::read_dir(&folder).with_context(|| format!("cannot read {folder}"))? {
            let thread = thread?;
            // A thread that ends meanwhile does not count.
            let Ok(status) = fs::read_to_string(thread.path().join("status")) else { continue };
            let switches = field(&status, "voluntary_ctxt_switches:").and_then(|field| field.parse().ok());
            threads.insert(thread.file_name(), switches.context("the kernel does not count context switches")?);
        }
        Ok(Self(threads))
    }

    /// How often threads slept since `earlier`. Each time, something had woken them up.
    pub(crate) fn since(&self, earlier: &Self) -> u64 {
        let each = self
            .0
            .iter()
            .map(|(thread, switches)| switches.saturating_sub(earlier.0.get(thread).copied().unwrap_or(0)));
        each.sum()
    }
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
    let maps = read(&path)?;
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

/// CPU time of a process so far. Its clock has the scheduler's own figures, in nanoseconds and with those of ended
/// threads, while `/proc` has either of that.
pub(crate) fn cpu_time(pid: u32) -> Result<Duration> {
    let clock =
        clock_getcpuclockid(Pid::from_raw(pid.try_into()?)).context("the server has no clock of its CPU time")?;
    Ok(clock_gettime(clock)?.into())
}

/// Waits until a process uses no CPU time, so that it waits for somebody else.
pub(crate) async fn stands_still(pid: u32) -> Result<()> {
    const LOOK: Duration = Duration::from_millis(1);
    const ALMOST_NONE: Duration = Duration::from_micros(20);
    let mut before = cpu_time(pid)?;
    // A server that never stands still is measured all the same.
    for _ in 0..100 {
        sleep(LOOK).await;
        let now = cpu_time(pid)?;
        if now.saturating_sub(before) < ALMOST_NONE {
            break;
        }
        before = now;
    }
    Ok(())
}

/// CPU time of this program so far.
pub(crate) fn own_cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// The load average of the last minute.
pub(crate) fn load() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_names() {
        let text = "Rss:                1872 kB\nPss_Dirty:           116 kB\nPss:                 451 kB\n";
        assert_eq!(kibibytes("", text, "Pss:").ok(), Some(451.0));
        assert_eq!(kibibytes("", text, "Rss:").ok(), Some(1872.0));
        assert!(kibibytes("", text, "Swap:").is_err());
        let status = "nonvoluntary_ctxt_switches:\t7\nvoluntary_ctxt_switches:\t12\n";
        assert_eq!(field(status, "voluntary_ctxt_switches:"), Some("12"));
    }

    #[test]
    fn ended_and_new_threads_are_no_reason_for_a_wrong_sum() {
        let sleeps = |threads: &[(&str, u64)]| Sleeps(threads.iter().map(|(id, n)| (id.into(), *n)).collect());
        let (before, after) = (sleeps(&[("1", 10), ("2", 500)]), sleeps(&[("1", 14), ("3", 2)]));
        assert_eq!(after.since(&before), 6);
    }

    #[test]
    fn this_process_has_used_memory_and_time() {
        let own = std::process::id();
        let memory = memory(own).unwrap_or(Memory { rss: 0.0, pss: 0.0 });
        assert!(memory.rss > 0.0 && memory.pss > 0.0 && memory.pss <= memory.rss);
        assert!(peak(own).is_ok_and(|peak| peak > 0.0));
        assert!(cpu_time(own).is_ok_and(|time| time > Duration::ZERO && time <= own_cpu_time()));
        assert!(Sleeps::of(own).is_ok_and(|sleeps| !sleeps.0.is_empty()));
    }

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
