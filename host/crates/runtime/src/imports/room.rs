//! How much a guest's files may grow: of a directory of its own together with all other calls of the plugin, of granted
//! directories call by call.
//!
//! What grows is counted before it is written, by the length of files, so that holes count as well, and an entry of a
//! directory counts as much as a block. What a call removes is not given back to it: a file that is removed while it is
//! open takes its place until the call ends. Then somebody who has counted what is really there may say so
//! ([`Room::measured`]).

use super::Permit;
use policy::Denial;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What an entry of a directory takes besides the content of its file. Bounds the number of empty files, and so the work
/// of counting them.
pub const ENTRY: u64 = 4 << 10;

/// What the files below one directory may take.
#[derive(Debug)]
pub struct Room {
    limit: u64,
    used: Mutex<Used>,
    /// Held while a file is looked at and then made to grow, so that nobody shortens it in between.
    turn: Mutex<()>,
}

/// At any moment there is at most `found + (ended - ended_before) + running` on the disk.
#[derive(Debug, Default)]
struct Used {
    /// What somebody counted.
    found: u64,
    /// `ended` when they began to.
    ended_before: u64,
    /// By how much calls that are over made files grow, in all.
    ended: u64,
    /// By how much calls that are running did.
    running: u64,
    /// Calls that are running, by number.
    calls: BTreeSet<u64>,
    /// Calls until now.
    begun: u64,
    counted: Option<Counted>,
}

/// What somebody counted while calls were running. It does not hold before those are over: files that were removed, and
/// therefore not seen, may be open in them, and still take their place.
#[derive(Debug)]
struct Counted {
    found: u64,
    ended_before: u64,
    last_call: u64,
}

impl Used {
    fn total(&self) -> u64 {
        self.found.saturating_add(self.ended - self.ended_before).saturating_add(self.running)
    }

    /// Takes what was counted once it holds. Of two numbers that are both enough, the smaller is kept.
    fn settle(&mut self) {
        let holds = |counted: &mut Counted| self.calls.first().is_none_or(|first| *first > counted.last_call);
        if let Some(counted) = self.counted.take_if(holds)
            && counted.found.saturating_add(self.ended_before) < self.found.saturating_add(counted.ended_before)
        {
            (self.found, self.ended_before) = (counted.found, counted.ended_before);
        }
    }
}

/// A moment from which on somebody counts what is there.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    ended: u64,
}

impl Room {
    /// For so many bytes. Nothing is known to be there.
    pub fn new(limit: u64) -> Self {
        Self { limit, used: Mutex::default(), turn: Mutex::default() }
    }

    /// The most there may be.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Somebody begins to count.
    pub fn now(&self) -> Moment {
        Moment { ended: self.used().ended }
    }

    /// So much was there. What was written meanwhile may have been seen or not, so it counts beside it.
    pub fn measured(&self, since: Moment, found: u64) {
        let mut used = self.used();
        if used.calls.is_empty() && since.ended == used.ended {
            // Nobody wrote but others than guests, and so it may also be more.
            (used.found, used.ended_before, used.counted) = (found, since.ended, None);
        } else if used.counted.is_none() {
            used.counted = Some(Counted { found, ended_before: since.ended, last_call: used.begun });
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

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call's use of a room. It lasts until the last write that the call began is over.
pub struct Share {
    room: Arc<Room>,
    number: u64,
    taken: Mutex<u64>,
    permit: Permit,
    full: fn(&Permit, u64) -> Denial,
    told: AtomicBool,
}

impl Share {
    /// Of the plugin's own directory.
    pub fn of_scratch(room: Arc<Room>, permit: Permit) -> Arc<Self> {
        Self::new(room, permit, |permit, limit| Denial::scratch_full(permit.plugin(), limit))
    }

    /// Of the directories that were granted for writing, for this call alone.
    pub fn of_granted(limit: u64, permit: Permit) -> Arc<Self> {
        Self::new(Arc::new(Room::new(limit)), permit, |permit, limit| Denial::written_enough(permit.plugin(), limit))
    }

    fn new(room: Arc<Room>, permit: Permit, full: fn(&Permit, u64) -> Denial) -> Arc<Self> {
        let number = {
            let mut used = room.used();
            used.begun += 1;
            let number = used.begun;
            used.calls.insert(number);
            number
        };
        Arc::new(Self { room, number, taken: Mutex::new(0), permit, full, told: AtomicBool::new(false) })
    }

    /// By how much the call has made files grow.
    pub fn taken(&self) -> u64 {
        *self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A further entry of a directory.
    pub fn entry(&self) -> io::Result<()> {
        self.take(ENTRY)
    }

    /// Writes there, or at the end; a file that grows by it must fit. Blocks.
    pub fn write(&self, file: &File, at: Option<u64>, bytes: &[u8]) -> io::Result<()> {
        let _turn = self.room.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let length = file.metadata()?.len();
        let at = at.unwrap_or(length);
        let end = at.checked_add(bytes.len() as u64).ok_or(Errno::FBIG)?;
        self.take(end.saturating_sub(length))?;
        file.write_all_at(bytes, at)
    }

    /// Makes a file so long, or short. Blocks.
    pub fn resize(&self, file: &File, size: u64) -> io::Result<()> {
        let _turn = self.room.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.take(size.saturating_sub(file.metadata()?.len()))?;
        file.set_len(size)
    }

    fn take(&self, bytes: u64) -> io::Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        if self.room.take(bytes) {
            *self.taken.lock().unwrap_or_else(PoisonError::into_inner) += bytes;
            return Ok(());
        }
        // Once a call: a guest that goes on trying has nothing new to say.
        if !self.told.swap(true, Ordering::Relaxed) {
            self.permit.refused(&(self.full)(&self.permit, self.room.limit));
        }
        Err(Errno::NOSPC.into())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let taken = self.taken();
        let mut used = self.room.used();
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

    fn permit() -> Permit {
        let plugin = PluginId { side: Side::Agent, name: "p".into() };
        let (requests, grants) = (toml::from_str("scratch = true").unwrap(), toml::from_str("scratch = {}").unwrap());
        Arc::new(Authority::new(plugin, &requests, &grants)).into()
    }

    fn no_space<T: std::fmt::Debug>(result: io::Result<T>) {
        assert_eq!(result.unwrap_err().raw_os_error(), Some(Errno::NOSPC.raw_os_error()));
    }

    #[test]
    fn growth_counts_holes_and_entries_and_nothing_twice() {
        let (room, file) = (Arc::new(Room::new(64 << 10)), tempfile::tempfile().unwrap());
        let share = Share::of_scratch(room.clone(), permit());
        share.entry().unwrap();
        share.write(&file, Some(0), &[1; 1000]).unwrap();
        share.write(&file, Some(0), &[2; 1000]).unwrap();
        share.write(&file, None, &[3; 24]).unwrap();
        assert_eq!((share.taken(), file.metadata().unwrap().len()), (ENTRY + 1024, 1024));
        no_space(share.write(&file, Some(1 << 40), &[1]));
        no_space(share.resize(&file, 1 << 40));
        assert!(share.write(&file, Some(u64::MAX), &[1]).is_err());
        assert_eq!(file.metadata().unwrap().len(), 1024, "nothing was written");
        share.resize(&file, 60 << 10).unwrap();
        no_space(share.write(&file, None, &[1]));
        share.resize(&file, 0).unwrap();
        no_space(share.resize(&file, 60 << 10));
        no_space(share.entry());
    }

    fn fill(share: &Share) -> u64 {
        (0..).take_while(|_| share.entry().is_ok()).count() as u64
    }

    #[test]
    fn what_was_removed_is_there_for_the_next_call() {
        let room = Arc::new(Room::new(10 * ENTRY));
        let first = Share::of_scratch(room.clone(), permit());
        assert_eq!(fill(&first), 10);
        drop(first);
        assert_eq!(fill(&Share::of_scratch(room.clone(), permit())), 0, "nobody has counted");
        room.measured(room.now(), 3 * ENTRY);
        assert_eq!(fill(&Share::of_scratch(room.clone(), permit())), 7);
    }

    #[test]
    fn what_was_removed_while_it_was_open_is_not() {
        let room = Arc::new(Room::new(10 * ENTRY));
        drop({
            let first = Share::of_scratch(room.clone(), permit());
            fill(&first);
            first
        });
        let holder = Share::of_scratch(room.clone(), permit());
        // It has opened and removed everything; whoever counts sees nothing.
        room.measured(room.now(), 0);
        let next = Share::of_scratch(room.clone(), permit());
        assert_eq!(fill(&next), 0);
        drop(holder);
        assert_eq!(fill(&next), 10, "the holder is over, and it was counted after what the first wrote");
    }

    #[test]
    fn many_calls_at_once_have_no_more_room_than_one() {
        let (room, folder) = (Arc::new(Room::new(1 << 20)), tempfile::tempdir().unwrap());
        let whole = || {
            let files = std::fs::read_dir(folder.path()).unwrap();
            files.map(|entry| entry.unwrap().metadata().unwrap().len()).sum::<u64>()
        };
        std::thread::scope(|scope| {
            for number in 0..8 {
                let (room, path, whole) = (room.clone(), folder.path().join(number.to_string()), &whole);
                scope.spawn(move || {
                    let file = File::create(path).unwrap();
                    // Some calls, one after the other, each of which has everything counted, as all do that begin.
                    for _ in 0..8 {
                        let moment = room.now();
                        room.measured(moment, whole());
                        let share = Share::of_scratch(room.clone(), permit());
                        for _ in 0..8 {
                            let _ = share.write(&file, None, &[7; 5000]);
                        }
                    }
                });
            }
        });
        let whole = whole();
        assert!(whole <= 1 << 20 && whole > (1 << 20) - 8 * 5000, "{whole}");
    }
}
