//! How much a guest's files may grow: in the plugin's own directory over all its calls, in granted directories over one call
//! and the calls below it.
//!
//! Growth is counted before it is written, by file length, so sparse files count in full; a directory entry counts as one
//! block. What a call removes is not given back to it: a file that is removed while it is open takes its space until the call
//! ends. Afterwards the directory is measured, and the result is reported with [`DiskQuota::set_measured`]. If something was
//! moved meanwhile, the measurement may have missed it, so the result is not used.

use super::super::call_authority::CallAuthority;
use platform::sync::Mutex;
use policy::{Denial, Lineage, TreeBudget};
use rustix::io::Errno;
#[cfg(target_os = "linux")]
use rustix::io::ReadWriteFlags;
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
    /// Running calls that may hold open files, by number.
    calls: BTreeSet<u64>,
    begun: u64,
    /// Names that are being changed now, and how many changes have begun.
    moving: u64,
    moves: u64,
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
    /// `None` if something was being moved.
    moves: Option<u64>,
}

impl DiskQuota {
    /// `limit` is in bytes. Assumes an empty directory.
    pub fn new(limit: u64) -> Self {
        Self { limit, used: Mutex::default(), write_lock: Mutex::default() }
    }

    /// A quota that counts as full until the directory was measured.
    pub fn unmeasured(limit: u64) -> Self {
        let state = QuotaState { measured: u64::MAX, ..QuotaState::default() };
        Self { used: Mutex::new(state), ..Self::new(limit) }
    }

    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Call before measuring the directory.
    pub fn start_measuring(&self) -> MeasureStart {
        let used = self.used();
        MeasureStart { ended: used.ended, moves: (used.moving == 0).then_some(used.moves) }
    }

    /// Reports a measurement. Writes since its start may or may not be included, so they count in addition. False if
    /// something was moved meanwhile: then nothing is known, and the count stays as it was.
    pub fn set_measured(&self, since: MeasureStart, measured: u64) -> bool {
        let mut used = self.used();
        if since.moves != Some(used.moves) {
            return false;
        }
        if used.calls.is_empty() && since.ended == used.ended {
            // No guest wrote meanwhile, so the measurement is exact and may also raise the count.
            (used.measured, used.ended_before, used.measurement) = (measured, since.ended, None);
        } else if used.measurement.is_none() {
            used.measurement = Some(Measurement { measured, ended_before: since.ended, last_call: used.begun });
            used.settle();
        }
        true
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
    /// The call whose budget pays for growth, besides the quota.
    lineage: Option<Lineage>,
    authority: CallAuthority,
    full: fn(&CallAuthority, u64) -> Denial,
    denial_recorded: AtomicBool,
}

impl QuotaUse {
    /// For the plugin's own directory.
    pub fn for_scratch(quota: Arc<DiskQuota>, authority: CallAuthority) -> Arc<Self> {
        Self::new(quota, None, authority, |authority, limit| Denial::scratch_full(authority.plugin(), limit))
    }

    /// For the granted writable directories, which have no quota of their own.
    pub fn for_granted(lineage: Lineage, authority: CallAuthority) -> Arc<Self> {
        Self::new(Arc::new(DiskQuota::new(u64::MAX)), Some(lineage), authority, |authority, limit| {
            Denial::growth_exceeded(authority.plugin(), limit)
        })
    }

    fn new(
        quota: Arc<DiskQuota>,
        lineage: Option<Lineage>,
        authority: CallAuthority,
        full: fn(&CallAuthority, u64) -> Denial,
    ) -> Arc<Self> {
        let number = {
            let mut used = quota.used();
            used.begun += 1;
            let number = used.begun;
            used.calls.insert(number);
            number
        };
        let (taken, denial_recorded) = (Mutex::new(0), AtomicBool::new(false));
        Arc::new(Self { quota, number, taken, lineage, authority, full, denial_recorded })
    }

    /// Growth by this call, in bytes.
    pub fn taken(&self) -> u64 {
        *self.taken.lock()
    }

    /// Returns a guard, to be held while a file or directory gets another name.
    pub fn start_moving(&self) -> Moving {
        let mut used = self.quota.used();
        used.moving += 1;
        used.moves += 1;
        Moving(self.quota.clone())
    }

    /// Counts a new directory entry.
    pub fn add_entry(&self) -> io::Result<()> {
        self.take(ENTRY_SIZE)
    }

    /// Writes at a position or at the end; growth, which is returned, must fit into the quota. Blocks.
    pub fn write(&self, file: &File, at: Option<u64>, bytes: &[u8]) -> io::Result<u64> {
        let _guard = self.quota.write_lock.lock();
        let length = file.metadata()?.len();
        let end = at.unwrap_or(length).checked_add(bytes.len() as u64).ok_or(Errno::FBIG)?;
        let growth = end.saturating_sub(length);
        self.take(growth)?;
        match at {
            Some(at) => file.write_all_at(bytes, at)?,
            None => append(file, bytes)?,
        }
        Ok(growth)
    }

    /// Sets the length of a file; returns by how much it grew. Blocks.
    pub fn resize(&self, file: &File, size: u64) -> io::Result<u64> {
        let _guard = self.quota.write_lock.lock();
        let growth = size.saturating_sub(file.metadata()?.len());
        self.take(growth)?;
        file.set_len(size).map(|()| growth)
    }

    fn take(&self, bytes: u64) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        let paid = self.lineage.as_ref().map_or(Ok(()), |lineage| lineage.take(TreeBudget::FileGrowth, bytes));
        if paid.is_ok() && self.quota.take(bytes) {
            *self.taken.lock() += bytes;
            return Ok(());
        }
        // Recorded once per call, however often the guest retries.
        if !self.denial_recorded.swap(true, Ordering::Relaxed) {
            let limit = paid.err().unwrap_or(self.quota.limit);
            self.authority.record_denial(&(self.full)(&self.authority, limit));
        }
        Err(Errno::NOSPC.into())
    }
}

/// Adds bytes at the end. Calls that have different quotas, and other processes, may do so at the same moment, so the kernel
/// has to find the end.
#[cfg(target_os = "linux")]
fn append(file: &File, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::pwritev2(file, &[io::IoSlice::new(bytes)], 0, ReadWriteFlags::APPEND) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(Errno::INTR) => {}
            // The file system does not support this.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => return file.write_all_at(bytes, file.metadata()?.len()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn append(file: &File, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, file.metadata()?.len())
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

/// Something in the directory of a quota is moved until this is dropped.
pub struct Moving(Arc<DiskQuota>);

impl Drop for Moving {
    fn drop(&mut self) {
        self.0.used().moving -= 1;
    }
}

#[cfg(test)]
mod tests;
