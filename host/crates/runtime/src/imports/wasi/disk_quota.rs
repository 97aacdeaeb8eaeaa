//! How much a guest's files may grow: the plugin's own directory over all its calls, granted directories per call.
//!
//! Growth is counted before it is written, by file length, so sparse files count in full; a directory entry counts as
//! one block. What a call removes is not given back to it: a file that is removed while it is open takes its space
//! until the call ends. Afterwards, whoever has measured the directory reports the result with
//! [`DiskQuota::set_measured`].

use super::super::call_authority::CallAuthority;
use platform::sync::Mutex;
use policy::Denial;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, MutexGuard};

/// The price of a directory entry besides its file's content. Bounds the number of empty files, and so the work of
/// measuring.
pub const ENTRY_SIZE: u64 = 4 << 10;

/// The quota of one directory.
#[derive(Debug)]
pub struct DiskQuota {
    limit: u64,
    used: Mutex<QuotaState>,
    /// Held while a file's length is read and then extended, so that nobody truncates it in between.
    write_lock: Mutex<()>,
}

/// At any moment at most `measured + (ended - ended_before) + running` bytes are on the disk.
#[derive(Debug, Default)]
struct QuotaState {
    measured: u64,
    /// `ended` when the measurement started.
    ended_before: u64,
    /// Growth by calls that have ended, in all.
    ended: u64,
    /// Growth by running calls.
    running: u64,
    /// Running calls, by number.
    calls: BTreeSet<u64>,
    begun: u64,
    measurement: Option<Measurement>,
}

/// A measurement taken while calls were running. It is valid only once they have ended: they may hold open files that
/// were removed and so not measured.
#[derive(Debug)]
struct Measurement {
    measured: u64,
    ended_before: u64,
    last_call: u64,
}

impl QuotaState {
    fn total(&self) -> u64 {
        self.measured.saturating_add(self.ended - self.ended_before).saturating_add(self.running)
    }

    /// Applies a measurement once it is valid. Of two valid upper bounds the smaller is kept.
    fn settle(&mut self) {
        let holds = |counted: &mut Measurement| self.calls.first().is_none_or(|first| *first > counted.last_call);
        if let Some(counted) = self.measurement.take_if(holds)
            && counted.measured.saturating_add(self.ended_before) < self.measured.saturating_add(counted.ended_before)
        {
            (self.measured, self.ended_before) = (counted.measured, counted.ended_before);
        }
    }
}

/// The state at the start of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct MeasureStart {
    ended: u64,
}

impl DiskQuota {
    /// `limit` is in bytes. Assumes an empty directory.
    pub fn new(limit: u64) -> Self {
        Self { limit, used: Mutex::default(), write_lock: Mutex::default() }
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Call before measuring the directory.
    pub fn start_measuring(&self) -> MeasureStart {
        MeasureStart { ended: self.used().ended }
    }

    /// Reports a measurement. Writes since its start may or may not be included, so they count in addition.
    pub fn set_measured(&self, since: MeasureStart, measured: u64) {
        let mut used = self.used();
        if used.calls.is_empty() && since.ended == used.ended {
            // No guest wrote meanwhile, so the measurement is exact and may also raise the count.
            (used.measured, used.ended_before, used.measurement) = (measured, since.ended, None);
        } else if used.measurement.is_none() {
            used.measurement = Some(Measurement { measured, ended_before: since.ended, last_call: used.begun });
            used.settle();
        }
    }

    fn take(&self, bytes: u64) -> bool {
        let mut used = self.used();
        let fits = used.total().saturating_add(bytes) <= self.limit;
        if fits {
            used.running += bytes;
        }
        fits
    }

    fn used(&self) -> MutexGuard<'_, QuotaState> {
        self.used.lock()
    }
}

/// One call's use of a quota. It lives until the last write that the call started has finished.
pub struct QuotaUse {
    quota: Arc<DiskQuota>,
    number: u64,
    taken: Mutex<u64>,
    authority: CallAuthority,
    full: fn(&CallAuthority, u64) -> Denial,
    denial_recorded: AtomicBool,
}

impl QuotaUse {
    /// For the plugin's own directory.
    pub fn for_scratch(quota: Arc<DiskQuota>, authority: CallAuthority) -> Arc<Self> {
        Self::new(quota, authority, |authority, limit| Denial::scratch_full(authority.plugin(), limit))
    }

    /// For the granted writable directories, for this call alone.
    pub fn for_granted(limit: u64, authority: CallAuthority) -> Arc<Self> {
        Self::new(Arc::new(DiskQuota::new(limit)), authority, |authority, limit| {
            Denial::growth_exceeded(authority.plugin(), limit)
        })
    }

    fn new(quota: Arc<DiskQuota>, authority: CallAuthority, full: fn(&CallAuthority, u64) -> Denial) -> Arc<Self> {
        let number = {
            let mut used = quota.used();
            used.begun += 1;
            let number = used.begun;
            used.calls.insert(number);
            number
        };
        Arc::new(Self { quota, number, taken: Mutex::new(0), authority, full, denial_recorded: AtomicBool::new(false) })
    }

    /// Growth by this call, in bytes.
    pub fn taken(&self) -> u64 {
        *self.taken.lock()
    }

    /// Counts a new directory entry.
    pub fn add_entry(&self) -> io::Result<()> {
        self.take(ENTRY_SIZE)
    }

    /// Writes at a position or at the end; growth must fit into the quota. Blocks.
    pub fn write(&self, file: &File, at: Option<u64>, bytes: &[u8]) -> io::Result<()> {
        let _guard = self.quota.write_lock.lock();
        let length = file.metadata()?.len();
        let at = at.unwrap_or(length);
        let end = at.checked_add(bytes.len() as u64).ok_or(Errno::FBIG)?;
        self.take(end.saturating_sub(length))?;
        file.write_all_at(bytes, at)
    }

    /// Sets the length of a file. Blocks.
    pub fn resize(&self, file: &File, size: u64) -> io::Result<()> {
        let _guard = self.quota.write_lock.lock();
        self.take(size.saturating_sub(file.metadata()?.len()))?;
        file.set_len(size)
    }

    fn take(&self, bytes: u64) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        if self.quota.take(bytes) {
            *self.taken.lock() += bytes;
            return Ok(());
        }
        // Recorded once per call, however often the guest retries.
        if !self.denial_recorded.swap(true, Ordering::Relaxed) {
            self.authority.record_denial(&(self.full)(&self.authority, self.quota.limit));
        }
        Err(Errno::NOSPC.into())
    }
}

impl Drop for QuotaUse {
    fn drop(&mut self) {
        let taken = self.taken();
        let mut used = self.quota.used();
        used.running -= taken;
        used.ended += taken;
        used.calls.remove(&self.number);
        used.settle();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::{Authority, PluginId, Side};

    fn authority() -> CallAuthority {
        let plugin = PluginId { side: Side::Agent, name: "p".into() };
        let (requests, grants) = (toml::from_str("scratch = true").unwrap(), toml::from_str("scratch = {}").unwrap());
        Arc::new(Authority::new(plugin, &requests, &grants)).into()
    }

    fn no_space<T: std::fmt::Debug>(result: io::Result<T>) {
        assert_eq!(result.unwrap_err().raw_os_error(), Some(Errno::NOSPC.raw_os_error()));
    }

    #[test]
    fn holes_and_entries_count_and_overwrites_do_not() {
        let (quota, file) = (Arc::new(DiskQuota::new(64 << 10)), tempfile::tempfile().unwrap());
        let quota_use = QuotaUse::for_scratch(quota.clone(), authority());
        quota_use.add_entry().unwrap();
        quota_use.write(&file, Some(0), &[1; 1000]).unwrap();
        quota_use.write(&file, Some(0), &[2; 1000]).unwrap();
        quota_use.write(&file, None, &[3; 24]).unwrap();
        assert_eq!((quota_use.taken(), file.metadata().unwrap().len()), (ENTRY_SIZE + 1024, 1024));
        no_space(quota_use.write(&file, Some(1 << 40), &[1]));
        no_space(quota_use.resize(&file, 1 << 40));
        assert!(quota_use.write(&file, Some(u64::MAX), &[1]).is_err());
        assert_eq!(file.metadata().unwrap().len(), 1024, "nothing was written");
        quota_use.resize(&file, 60 << 10).unwrap();
        no_space(quota_use.write(&file, None, &[1]));
        quota_use.resize(&file, 0).unwrap();
        no_space(quota_use.resize(&file, 60 << 10));
        no_space(quota_use.add_entry());
    }

    fn fill(quota_use: &QuotaUse) -> u64 {
        (0..).take_while(|_| quota_use.add_entry().is_ok()).count() as u64
    }

    #[test]
    fn removed_files_free_space_for_the_next_call() {
        let quota = Arc::new(DiskQuota::new(10 * ENTRY_SIZE));
        let first = QuotaUse::for_scratch(quota.clone(), authority());
        assert_eq!(fill(&first), 10);
        drop(first);
        assert_eq!(fill(&QuotaUse::for_scratch(quota.clone(), authority())), 0, "not measured yet");
        quota.set_measured(quota.start_measuring(), 3 * ENTRY_SIZE);
        assert_eq!(fill(&QuotaUse::for_scratch(quota.clone(), authority())), 7);
    }

    #[test]
    fn files_removed_while_open_free_no_space() {
        let quota = Arc::new(DiskQuota::new(10 * ENTRY_SIZE));
        drop({
            let first = QuotaUse::for_scratch(quota.clone(), authority());
            fill(&first);
            first
        });
        let holder = QuotaUse::for_scratch(quota.clone(), authority());
        // The holder has opened and removed everything, so a measurement sees nothing.
        quota.set_measured(quota.start_measuring(), 0);
        let next = QuotaUse::for_scratch(quota.clone(), authority());
        assert_eq!(fill(&next), 0);
        drop(holder);
        assert_eq!(fill(&next), 10, "the holder is over, and it was counted after what the first wrote");
    }

    #[test]
    fn concurrent_calls_share_one_quota() {
        let (quota, folder) = (Arc::new(DiskQuota::new(1 << 20)), tempfile::tempdir().unwrap());
        let whole = || {
            let files = std::fs::read_dir(folder.path()).unwrap();
            files.map(|entry| entry.unwrap().metadata().unwrap().len()).sum::<u64>()
        };
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (quota, path, whole) = (quota.clone(), folder.path().join(number.to_string()), &whole);
                scope.spawn(move || {
                    let file = File::create(path).unwrap();
                    // Several calls in sequence; each starts with a measurement, as all calls do.
                    for _ in 0..8 {
                        let moment = quota.start_measuring();
                        quota.set_measured(moment, whole());
                        let quota_use = QuotaUse::for_scratch(quota.clone(), authority());
                        for _ in 0..8 {
                            let _ = quota_use.write(&file, None, &[7; 5000]);
                        }
                    }
                });
            }
        });
        let whole = whole();
        assert!(whole <= 1 << 20 && whole > (1 << 20) - 8 * 5000, "{whole}");
    }
}
