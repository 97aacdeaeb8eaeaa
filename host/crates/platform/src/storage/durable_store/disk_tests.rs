//! The disk fails, and then works again.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use crate::clock::{Clock, SystemClock};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::process::Command;
use tokio::signal::unix::{SignalKind, signal};

/// Runs in a child process, in a folder with this file. Without the file it does nothing.
const CHILD: &str = "cannot-write";

/// Lets every write to a file fail (EFBIG), or work again. Holds for the whole process.
fn let_writes(work: bool) {
    let limit = Rlimit {
        current: if work { getrlimit(Resource::Fsize).maximum } else { Some(0) },
        ..getrlimit(Resource::Fsize)
    };
    setrlimit(Resource::Fsize, limit).unwrap();
}

#[tokio::test]
async fn goes_on_after_the_disk_has_failed() {
    if !Path::new(CHILD).exists() {
        return;
    }
    // Without a handler this signal would end the process.
    let _too_large = signal(SignalKind::from_raw(25)).unwrap();
    let store = SqliteStore::open(Path::new("state"), Arc::new(SystemClock)).unwrap();
    let (log, name) = (Key::new("log").unwrap(), Key::new("record").unwrap());
    let append = |next: u64, durability| store.append(&log, Fence(1), next, vec![vec![next as u8; 600]], durability);
    let mut next = 0;
    for (round, durability) in [Durability::Process, Durability::Power, Durability::Process].into_iter().enumerate() {
        for _ in 0..10 {
            append(next, durability).await.unwrap();
            next += 1;
        }
        let_writes(false);
        let failed = append(next, durability).await;
        assert!(matches!(failed, Err(DurableError::Failed(_))), "round {round}: {failed:?}");
        assert!(matches!(store.problem(), Some(DurableError::Failed(_))), "it says so");
        // In the last round, nobody makes a request: the store recovers by itself.
        if round < 2 {
            // It is unknown whether the failed entry is stored, so no request gets an answer until it is known.
            assert!(matches!(store.read(&log, 0, 9).await, Err(DurableError::Failed(_))));
            assert!(matches!(store.get(&name).await, Err(DurableError::Failed(_))));
            assert!(matches!(append(next, Durability::Power).await, Err(DurableError::Failed(_))));
        }
        let_writes(true);
        if round > 0 {
            let begun = SystemClock.now();
            while store.problem().is_some() {
                assert!(SystemClock.now() - begun < Duration::from_secs(30), "{:?}", store.problem());
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        let found = store.read(&log, 0, u64::MAX).await.unwrap();
        assert_eq!(found.next, next, "round {round}: what failed is not there");
        assert_eq!(store.problem(), None);
    }
    store.put(&name, next.to_le_bytes().to_vec(), Expected::Nothing, Durability::Power).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn a_disk_that_fails_loses_nothing_acknowledged() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(CHILD), "").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "storage::durable_store::disk_tests::goes_on_after_the_disk_has_failed", "--nocapture"]);
    let ended = child.current_dir(home.path()).output().unwrap();
    assert!(ended.status.success(), "{ended:?}");
    let store = SqliteStore::open(&home.path().join("state"), Arc::new(SystemClock)).unwrap();
    let record = store.get(&Key::new("record").unwrap()).await.unwrap().unwrap();
    let count = u64::from_le_bytes(record.value.try_into().unwrap());
    let found = store.read(&Key::new("log").unwrap(), 0, u64::MAX).await.unwrap();
    assert_eq!((count, found.next), (30, 30));
    for (number, body) in found.entries.iter().enumerate() {
        assert_eq!(*body, vec![number as u8; 600]);
    }
}
