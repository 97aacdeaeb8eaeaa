//! Writes the log of a call. While the store is full or does not work, what is to be written waits, and so does everybody who
//! needs it stored: a disk that is full for a moment ends no call.

use super::log::JournalLog;
use futures::FutureExt as _;
use platform::durable::{DurableError, StoreAnswer};
use platform::sync::Mutex;
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// For how long a call waits for the store. Bounds how long calls keep their places on a host that can store nothing.
const PATIENCE: Duration = Duration::from_secs(300);
/// Bytes that a call may have unstored while the store does not work. Steps that need not be stored at once, such as reading a
/// clock, go on meanwhile. Bounds what they take of the host's memory.
const MAX_UNSTORED: usize = 256 << 10;
/// Pauses between two attempts.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A log to which this process writes.
pub(super) struct LogWriter {
    log: JournalLog,
    unstored: Arc<Unstored>,
}

impl Deref for LogWriter {
    type Target = JournalLog;

    fn deref(&self) -> &JournalLog {
        &self.log
    }
}

/// Writes that were sent to the store and are not known to be stored, in their order. While the store works, its own queue
/// bounds them.
struct Unstored {
    log: JournalLog,
    longest_wait: Duration,
    /// The store has failed, and nothing was stored since.
    fails: AtomicBool,
    /// A write was refused, so no later one may be stored.
    is_over: AtomicBool,
    writes: Mutex<VecDeque<Write>>,
    /// Held by the one task that tries again for all.
    turn: tokio::sync::Mutex<()>,
}

struct Write {
    kind: WriteKind,
    /// The number of its first record, and the number after its last one.
    first: u64,
    next: u64,
    records: Vec<Vec<u8>>,
    /// None once somebody has waited for it, whatever came of it.
    answer: Option<StoreAnswer<()>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WriteKind {
    Append,
    /// The records replace all earlier ones.
    Replace,
}

impl LogWriter {
    pub(super) fn new(log: JournalLog) -> Self {
        Self::with_longest_wait(log, PATIENCE)
    }

    fn with_longest_wait(log: JournalLog, longest_wait: Duration) -> Self {
        let (fails, is_over, writes, turn) = Default::default();
        let unstored = Arc::new(Unstored { log: log.clone(), longest_wait, fails, is_over, writes, turn });
        Self { log, unstored }
    }

    /// Gets its place in the order of writes at once, whether or not the answer is waited for.
    pub(super) fn append(&mut self, records: Vec<Vec<u8>>) -> StoreAnswer<()> {
        self.write(WriteKind::Append, records)
    }

    /// Replaces all records by these. Gets its place in the order of writes at once, too.
    pub(super) fn replace(&mut self, records: Vec<Vec<u8>>) -> StoreAnswer<()> {
        self.write(WriteKind::Replace, records)
    }

    /// The returned future is ready when everything that was written so far is stored.
    pub(super) fn flush(&self) -> StoreAnswer<()> {
        let last = self.unstored.writes.lock().back().map(|write| write.first);
        let unstored = self.unstored.clone();
        Box::pin(async move {
            match last {
                Some(last) => unstored.stored(last).await,
                None => Ok(()),
            }
        })
    }

    /// Leaves only the reason why the call cannot be replayed.
    pub(super) fn give_up(self, why: &str) {
        self.unstored.writes.lock().clear();
        self.log.give_up(why);
    }

    fn write(&mut self, kind: WriteKind, records: Vec<Vec<u8>>) -> StoreAnswer<()> {
        let first = self.log.next;
        self.log.next += records.len() as u64;
        let mut writes = self.unstored.writes.lock();
        self.unstored.drop_stored(&mut writes);
        if let Err(error) = self.unstored.check_room(&writes) {
            return Box::pin(std::future::ready(Err(error)));
        }
        let mut answer = self.unstored.send(kind, first, records.clone());
        let answer = match (&mut answer).now_or_never() {
            // Everything before it is in the log, too.
            Some(Ok(())) => {
                self.unstored.fails.store(false, Ordering::Relaxed);
                writes.clear();
                return Box::pin(std::future::ready(Ok(())));
            }
            Some(Err(error)) if !may_pass(&error) => return Box::pin(std::future::ready(Err(error))),
            Some(Err(_)) => {
                self.unstored.fails.store(true, Ordering::Relaxed);
                None
            }
            None => Some(answer),
        };
        writes.push_back(Write { kind, first, next: self.log.next, records, answer });
        drop(writes);
        let unstored = self.unstored.clone();
        Box::pin(async move { unstored.stored(first).await })
    }
}

/// Whether a write that failed with this error may succeed later. `Moved` is such an error: an earlier write was not stored.
fn may_pass(error: &DurableError) -> bool {
    match error {
        DurableError::Full(_) | DurableError::Failed(_) | DurableError::Moved { .. } => true,
        DurableError::Conflict(_) | DurableError::Fenced | DurableError::TooLarge { .. } | DurableError::Closed => {
            false
        }
    }
}

impl Unstored {
    /// Drops the writes that are stored by now: nobody may be waiting for their answers.
    fn drop_stored(&self, writes: &mut VecDeque<Write>) {
        while let Some(Write { answer, .. }) = writes.front_mut()
            && let Some(result) = answer.as_mut().and_then(|answer| answer.now_or_never())
        {
            self.fails.store(result.is_err(), Ordering::Relaxed);
            if result.is_err() {
                *answer = None;
                return;
            }
            writes.pop_front();
        }
    }

    /// An error if no further write may wait to be stored.
    fn check_room(&self, writes: &VecDeque<Write>) -> Result<(), DurableError> {
        let bytes = || writes.iter().flat_map(|write| &write.records).map(Vec::len).sum::<usize>();
        if self.fails.load(Ordering::Relaxed) && bytes() > MAX_UNSTORED {
            self.is_over.store(true, Ordering::Relaxed);
        }
        match self.is_over.load(Ordering::Relaxed) {
            false => Ok(()),
            true => Err(DurableError::Full(format!(
                "the store does not work, and the call has more than {MAX_UNSTORED} bytes of steps to store"
            ))),
        }
    }

    fn send(&self, kind: WriteKind, first: u64, records: Vec<Vec<u8>>) -> StoreAnswer<()> {
        let JournalLog { store, key, fence, durability, .. } = &self.log;
        match kind {
            WriteKind::Append => store.append(key, *fence, first, records, *durability),
            WriteKind::Replace => store.replace(key, *fence, first, records, *durability),
        }
    }

    /// Returns when the write that begins with this number is stored.
    async fn stored(&self, first: u64) -> Result<(), DurableError> {
        let answer = {
            let mut writes = self.writes.lock();
            let Some(write) = writes.iter_mut().find(|write| write.first == first) else { return Ok(()) };
            write.answer.take()
        };
        let result = match answer {
            Some(answer) => answer.await,
            None => return self.try_again(first).await,
        };
        match result {
            Ok(()) => {
                self.writes.lock().retain(|write| write.first > first);
                Ok(())
            }
            Err(error) if may_pass(&error) => self.try_again(first).await,
            Err(error) => Err(error),
        }
    }

    /// Sends all writes up to this one again that were not stored.
    async fn try_again(&self, until: u64) -> Result<(), DurableError> {
        let _turn = self.turn.lock().await;
        let (mut pause, mut waited) = (FIRST_PAUSE, Duration::ZERO);
        loop {
            let next = {
                let mut writes = self.writes.lock();
                let next = writes.front_mut().filter(|write| write.first <= until);
                next.map(|write| (write.kind, write.first, write.next, write.records.clone(), write.answer.take()))
            };
            let Some((kind, first, behind, records, answer)) = next else { return Ok(()) };
            let is_first = answer.is_some();
            let result = match answer {
                Some(answer) => answer.await,
                None => self.send(kind, first, records).await,
            };
            let error = match result {
                Ok(()) => {
                    self.fails.store(false, Ordering::Relaxed);
                    self.forget(first);
                    continue;
                }
                // It was stored, and its answer was lost.
                Err(DurableError::Moved { next }) if next >= behind => {
                    self.forget(first);
                    continue;
                }
                // A write before it was not stored at that time, and is now.
                Err(DurableError::Moved { .. }) if is_first => continue,
                Err(error) => error,
            };
            if !self.has(first) {
                // The call has given up its journal meanwhile.
                continue;
            }
            match error {
                DurableError::Full(why) if waited >= self.longest_wait => {
                    return Err(DurableError::Full(self.tried(&why)));
                }
                DurableError::Failed(why) if waited >= self.longest_wait => {
                    return Err(DurableError::Failed(self.tried(&why)));
                }
                DurableError::Full(_) | DurableError::Failed(_) => {}
                error => return Err(error),
            }
            self.fails.store(true, Ordering::Relaxed);
            if waited.is_zero() {
                tracing::warn!(log = %self.log.key, %error, "the steps of a call cannot be stored now; it waits");
            }
            tokio::time::sleep(pause).await;
            waited += pause;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    fn tried(&self, why: &str) -> String {
        format!("{why} (tried for {})", humantime::format_duration(self.longest_wait))
    }

    fn forget(&self, first: u64) {
        self.writes.lock().retain(|write| write.first > first);
    }

    fn has(&self, first: u64) -> bool {
        self.writes.lock().iter().any(|write| write.first == first)
    }
}

#[cfg(test)]
mod tests;
