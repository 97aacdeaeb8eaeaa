//! Whether a database works. A failure is logged once when it starts, and once when it ends.

use super::error::StorageError;
use crate::sync::Mutex;

#[derive(Default)]
pub(super) struct Health(Mutex<State>);

#[derive(Default)]
struct State {
    broken: Option<StorageError>,
    full: Option<Full>,
}

/// The store counts as full until as many bytes were stored as could not be. So a client that stores large and small values in
/// turn does not flood the log.
struct Full {
    error: StorageError,
    missing: u64,
}

impl Health {
    /// Why the store keeps nothing at the moment.
    pub(super) fn problem(&self) -> Option<StorageError> {
        let state = self.0.lock();
        state.broken.clone().or_else(|| state.full.as_ref().map(|full| full.error.clone()))
    }

    /// Whether the disk has failed and nothing could be written since then.
    pub(super) fn is_broken(&self) -> bool {
        self.0.lock().broken.is_some()
    }

    /// Records that the disk has failed.
    pub(super) fn fail(&self, error: &StorageError) {
        if self.0.lock().broken.replace(error.clone()).is_none() {
            tracing::error!(%error, "the store does not work: nothing is acknowledged until a write succeeds");
        }
    }

    /// Records that a write has succeeded, which ends a failure of the disk.
    pub(super) fn heal(&self) {
        if self.0.lock().broken.take().is_some() {
            tracing::info!("the store works again");
        }
    }

    /// Records that there was no room for this many bytes.
    pub(super) fn full(&self, error: &StorageError, bytes: u64) {
        let full = Full { error: error.clone(), missing: bytes };
        if self.0.lock().full.replace(full).is_none() {
            tracing::error!(%error, "the store is full: nothing more is kept until something is removed");
        }
    }

    /// Records that this many bytes were stored.
    pub(super) fn stored(&self, bytes: u64) {
        let mut state = self.0.lock();
        let Some(full) = &mut state.full else { return };
        full.missing = full.missing.saturating_sub(bytes);
        if full.missing == 0 {
            state.full = None;
            drop(state);
            tracing::info!("the store has room again");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_change_is_said_once() {
        let (health, log) = (Health::default(), Log::default());
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).without_time().with_writer(move || writer.clone());
        tracing::subscriber::with_default(subscriber.finish(), || {
            for _ in 0..2 {
                for _ in 0..3 {
                    health.fail(&StorageError::Sql("disk I/O error".into()));
                }
                assert!(health.problem().unwrap().to_string().contains("disk I/O error"));
                (0..3).for_each(|_| health.heal());
            }
            // Large values do not fit, and small ones do.
            for _ in 0..3 {
                health.full(&StorageError::Full("disk is full".into()), 1_000);
                health.stored(300);
                assert!(health.problem().is_some());
            }
            health.stored(700);
            assert!(health.problem().is_none());
        });
        let said = String::from_utf8(log.0.lock().clone()).unwrap();
        let lines: Vec<_> = said.lines().map(|line| line.rsplit_once(": the store ").unwrap().1).collect();
        assert!(lines[0].starts_with("does not work") && lines[0].contains("disk I/O error"), "{said}");
        assert!(lines[4].starts_with("is full") && lines[4].contains("disk is full"), "{said}");
        assert_eq!((lines[1], lines[3], lines[5]), ("works again", "works again", "has room again"), "{said}");
        assert_eq!(lines.len(), 6, "{said}");
    }
}
