//! Several processes use the store at the same time.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use crate::clock::SystemClock;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;

const PROCESSES: u64 = 3;
const EACH: u64 = 150;

/// Runs in child processes, in a folder with this file. Without the file it does nothing.
const CHILD: &str = "counts-with-others";

#[tokio::test]
async fn counts_with_others() {
    if !Path::new(CHILD).exists() {
        return;
    }
    let store = SqliteStore::open(Path::new("state"), Arc::new(SystemClock)).unwrap();
    let (count, log, name) = (Key::new("count").unwrap(), Key::new("log").unwrap(), Key::new("name").unwrap());
    let holder = std::process::id().to_string();
    let mut done = 0;
    while done < EACH {
        // The process that has the lease appends an entry and releases the lease.
        let Some(lease) = store.acquire(&name, &holder, Duration::from_secs(60)).await.unwrap() else {
            tokio::task::yield_now().await;
            continue;
        };
        let next = store.read(&log, u64::MAX, 0).await.unwrap().next;
        store.append(&log, lease.fence, next, vec![holder.clone().into_bytes()], Durability::Process).await.unwrap();
        // All processes increase the count, which needs no lease.
        loop {
            let seen = store.get(&count).await.unwrap();
            let (number, expected) = seen.map_or((0, Expected::Nothing), |record| {
                (u64::from_le_bytes(record.value.try_into().unwrap()), Expected::At(record.revision))
            });
            let value = (number + 1).to_le_bytes().to_vec();
            match store.put(&count, value, expected, Durability::Process).await {
                Ok(_) => break,
                Err(DurableError::Conflict(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        store.release(&lease).await.unwrap();
        done += 1;
    }
    // The store is not closed in good order.
    std::mem::forget(store);
}

#[test]
fn many_open_a_new_folder_at_once() {
    for _ in 0..20 {
        let home = tempfile::tempdir().unwrap();
        let (state, together) = (home.path().join("state"), Barrier::new(8));
        let open = || {
            together.wait();
            SqliteStore::open(&state, Arc::new(SystemClock)).map(drop)
        };
        std::thread::scope(|scope| {
            let opened: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
            opened.into_iter().for_each(|one| one.join().unwrap().unwrap());
        });
    }
}

#[tokio::test]
async fn processes_share_the_file() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(CHILD), "").unwrap();
    let start = || {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "storage::durable_store::shared_tests::counts_with_others", "--nocapture"]);
        child.current_dir(home.path()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let children: Vec<Child> = (0..PROCESSES).map(|_| start()).collect();
    for child in children {
        let ended = child.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
    let store = SqliteStore::open(&home.path().join("state"), Arc::new(SystemClock)).unwrap();
    let record = store.get(&Key::new("count").unwrap()).await.unwrap().unwrap();
    assert_eq!(u64::from_le_bytes(record.value.try_into().unwrap()), PROCESSES * EACH);
    let log = store.read(&Key::new("log").unwrap(), 0, u64::MAX).await.unwrap();
    assert_eq!(log.entries.len() as u64, PROCESSES * EACH);
}
