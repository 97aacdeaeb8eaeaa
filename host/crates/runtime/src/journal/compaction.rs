//! Drops the records that a checkpoint stands for.

use super::entry::{ArgumentsDigest, Entry, Phase, RESTORED, StepPath};
use super::forgotten::is_of;
use super::log::{JournalLog, RoomChange};
use super::records::{NO_ROOM, Records, State, TOO_LONG};
use super::remark::Remark;
use platform::clock::Clock;
use platform::durable::{DurableError, StoreAnswer};
use std::ops::Range;

/// The steps of a call that are forgotten, with all steps below them, and the outcome that is recorded in place of the first
/// one.
pub(super) struct Compaction {
    pub(super) call: StepPath,
    pub(super) steps: Range<u32>,
    pub(super) outcome: Vec<u8>,
}

impl Compaction {
    fn drops(&self, path: &StepPath) -> bool {
        is_of(path, &self.call, &self.steps)
    }

    /// Whether a record stays.
    fn keeps(&self, record: &[u8]) -> bool {
        Entry::decode(record).is_none_or(|entry| !self.drops(&entry.path))
    }

    fn entry(&self, clock: &dyn Clock) -> Vec<u8> {
        let at = u64::try_from(clock.unix().as_millis()).unwrap_or(u64::MAX);
        let (path, arguments) = (self.call.below(self.steps.start), ArgumentsDigest::new(&()));
        let (phase, remark) = (Phase::Ended(self.outcome.clone()), Remark::default());
        Entry { path, import: RESTORED.into(), arguments, at, phase, remark }.encode()
    }
}

impl Records {
    /// Puts a checkpoint in the place of the steps that it stands for. Returns when that is stored, if the call can be replayed.
    pub(super) async fn compact(&self, compaction: Compaction) -> Result<(), DurableError> {
        let (mut kept, mut read) = (Vec::new(), 0);
        loop {
            let (log, written) = match self.try_compact(&compaction, &mut kept, read) {
                Attempt::Stored(stored) => return stored.await,
                Attempt::Done => return Ok(()),
                Attempt::Unread(log, written) => (log, written),
            };
            written.await?;
            // What other calls of the tree record meanwhile is read the next time round.
            loop {
                let part = JournalLog::read_part(&*log.store, &log.key, read).await?;
                if part.first != read {
                    // Another call has put its checkpoint into the log.
                    kept.clear();
                }
                read = part.first + part.entries.len() as u64;
                kept.extend(part.entries.into_iter().filter(|record| compaction.keeps(record)));
                if read == part.next {
                    break;
                }
            }
            if read < log.next {
                // The log has less than this process has written, although nobody else writes to it.
                return Err(DurableError::Moved { next: read });
            }
        }
    }

    /// `kept` are the records that stay, of those before the number `read`.
    fn try_compact(&self, compaction: &Compaction, kept: &mut Vec<Vec<u8>>, read: u64) -> Attempt {
        let mut state = self.state.lock();
        if let Some(log) = state.log.as_ref().filter(|log| log.next != read) {
            return Attempt::Unread(JournalLog::clone(log), log.flush());
        }
        if let Some(in_memory) = &mut state.kept {
            *kept = std::mem::take(in_memory);
            kept.retain(|record| compaction.keeps(record));
        } else if state.log.is_none() {
            return Attempt::Done;
        }
        state.earlier.retain(|path, _| !compaction.drops(path));
        state.forgotten.add(&compaction.call, &compaction.steps);
        kept.push(compaction.entry(&*self.clock));
        state.put_in_place(std::mem::take(kept))
    }
}

enum Attempt {
    Stored(StoreAnswer<()>),
    /// The records are in memory, or nowhere.
    Done,
    /// This log has records that were not read yet. The future is ready when they can be read.
    Unread(JournalLog, StoreAnswer<()>),
}

impl State {
    /// Replaces all records by these.
    fn put_in_place(&mut self, records: Vec<Vec<u8>>) -> Attempt {
        let counted = || records.iter().filter(|record| !Entry::is_opened(record));
        let (entries, bytes) = (counted().count() as u64, counted().map(|record| record.len() as u64).sum::<u64>());
        let before = std::mem::replace(&mut self.bytes, bytes);
        (self.entries, self.has_warned) = (entries, false);
        if self.limits.is_over(entries, bytes) {
            self.give_up(TOO_LONG);
            return Attempt::Done;
        }
        let Some(log) = &mut self.log else {
            self.kept = Some(records);
            return Attempt::Done;
        };
        let more = bytes.saturating_sub(before);
        if more > 0 && !(log.room)(RoomChange::Take(more)) {
            self.give_up(NO_ROOM);
            return Attempt::Done;
        }
        log.before_checkpoint();
        let stored = log.replace(records);
        if bytes < before {
            (log.room)(RoomChange::GiveBack(before - bytes));
        }
        Attempt::Stored(stored)
    }
}
