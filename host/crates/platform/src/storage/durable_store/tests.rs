//! The durable store: it fulfils the contract, keeps to its limits, and reports what is wrong.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::super::repairable_connection::{PATIENCE, WAL_BYTES};
use super::*;
use crate::clock::{ManualClock, SystemClock};
use crate::durable::conformance::{TestBed, check};
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

struct SqliteTestBed {
    folder: TempDir,
    clock: Arc<ManualClock>,
    limits: DurableLimits,
}

impl SqliteTestBed {
    fn new(limits: DurableLimits) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), clock: ManualClock::new(), limits }
    }

    fn store(&self) -> SqliteStore {
        SqliteStore::open_with(self.folder.path(), self.clock.clone(), self.limits).unwrap()
    }
}

impl TestBed for SqliteTestBed {
    fn open(&self) -> BoxFuture<'_, Arc<dyn DurableStore>> {
        Box::pin(async { Arc::new(self.store()) as _ })
    }

    fn pass(&self, time: Duration) -> BoxFuture<'_, ()> {
        self.clock.pass(time);
        Box::pin(async {})
    }
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

const ONE: Fence = Fence(1);

#[tokio::test]
async fn it_keeps_the_contract() {
    check(&SqliteTestBed::new(DurableLimits::default())).await;
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let bed = SqliteTestBed::new(DurableLimits { value: 100, log: 1_000, ..DurableLimits::default() });
    let (store, record, log) = (bed.store(), key("record"), key("log"));
    let put = |size| store.put(&record, vec![7; size], Expected::Any, Durability::Process);
    assert!(put(100).await.is_ok());
    assert_eq!(put(101).await, Err(DurableError::TooLarge { bytes: 101, most: 100 }));
    assert_eq!(store.get(&record).await.unwrap().unwrap().value.len(), 100, "the last one stays");
    let append = |next, sizes: &[usize]| {
        store.append(&log, ONE, next, sizes.iter().map(|size| vec![7; *size]).collect(), Durability::Process)
    };
    assert_eq!(append(0, &[1, 101]).await, Err(DurableError::TooLarge { bytes: 101, most: 100 }));
    assert_eq!(append(0, &[0; 15]).await, Ok(()), "an empty entry counts 64 bytes");
    assert_eq!(append(15, &[0]).await, Err(DurableError::TooLarge { bytes: 1_024, most: 1_000 }));
    assert_eq!(append(15, &[]).await, Ok(()));
    store.trim(&log, ONE, 2).await.unwrap();
    assert_eq!(append(15, &[100]).await, Ok(()), "trimming makes room");
    assert_eq!(store.problem(), None);
}

#[tokio::test]
async fn a_page_of_large_records_ends_early() {
    let bed = SqliteTestBed::new(DurableLimits::default());
    let store = bed.store();
    let names: Vec<_> = (0..5).map(|number| key(&format!("large/{number}"))).collect();
    for name in &names {
        store.put(name, vec![0; 30 << 10], Expected::Any, Durability::Process).await.unwrap();
    }
    let mut after = None;
    for expected in [2, 2, 1, 0] {
        let page = store.list(&key("large"), after.as_ref(), 9).await.unwrap();
        assert_eq!(page.len(), expected);
        after = page.last().map(|(name, _)| name.clone()).or(after);
    }
    assert_eq!(after.as_ref(), names.last());
}

#[tokio::test]
async fn changes_that_wait_are_bounded() {
    let bed = SqliteTestBed::new(DurableLimits { queue: 10_000, ..DurableLimits::default() });
    let store = bed.store();
    // This store cannot write while another process writes.
    let other = Connection::open(bed.folder.path().join("durable.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let put = |number: usize| store.put(&key(&format!("a/{number}")), vec![0; 1_000], Expected::Any, Durability::Power);
    let answers: Vec<_> = (0..20).map(put).collect();
    other.execute_batch("COMMIT").unwrap();
    let answers = join_all(answers).await;
    let done = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!(answers.iter().all(|answer| matches!(answer, Ok(_) | Err(DurableError::Full(_)))), "{answers:?}");
    assert_eq!(done, 6, "each takes 1,512 bytes");
    assert!(put(0).await.is_ok(), "there is room again");
}

#[tokio::test]
async fn nobody_waits_for_another_process_but_the_thread_of_the_store() {
    let store_bed = SqliteTestBed::new(DurableLimits::default());
    let store = store_bed.store();
    let other = Connection::open(store_bed.folder.path().join("durable.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let put = |value| store.put(&key("a"), vec![value], Expected::Any, Durability::Process);
    let begun = SystemClock.now();
    let mut answers: Vec<_> = (0..3).map(put).collect();
    assert!(SystemClock.now() - begun < PATIENCE, "it was asked, and not waited for");
    assert!(answers.iter_mut().all(|answer| answer.now_or_never().is_none()));
    other.execute_batch("COMMIT").unwrap();
    assert!(join_all(answers).await.iter().all(Result::is_ok));
    assert_eq!(store.get(&key("a")).await.unwrap().unwrap().value, [2], "in their order");
}

#[tokio::test]
async fn the_write_ahead_log_is_copied_into_the_file() {
    let bed = SqliteTestBed::new(DurableLimits::default());
    let store = bed.store();
    let wal = || std::fs::metadata(bed.folder.path().join("durable.db-wal")).unwrap().len();
    let mut longest = 0;
    for round in 0..12_000u64 {
        store
            .put(&key(&format!("a/{}", round % 50)), vec![7; 3_000], Expected::Any, Durability::Process)
            .await
            .unwrap();
        longest = longest.max(wal());
    }
    let limit = u64::from(WAL_BYTES.unsigned_abs());
    assert!((limit / 2..limit + limit / 8).contains(&longest), "{longest} of {limit}");
}

#[tokio::test]
async fn a_full_store_still_reads_and_removes_and_says_so() {
    let bed = SqliteTestBed::new(DurableLimits { file: 100 * 4_096, ..DurableLimits::default() });
    let store = bed.store();
    let name = |number: u32| key(&format!("a/{number:04}"));
    let put = |number| store.put(&name(number), vec![7; 3_000], Expected::Any, Durability::Process);
    let mut kept = 0;
    let full = loop {
        match put(kept).await {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, DurableError::Full(_)) && kept > 50, "{full:?} after {kept}");
    assert_eq!(store.problem(), Some(full));
    // In one group, every request that can succeed does.
    let answers = (
        put(9_001),
        store.get(&name(0)),
        store.remove(&name(1), Expected::Any, Durability::Power),
        store.remove(&name(2), Expected::Any, Durability::Process),
        store.list(&key("a"), None, 9),
        put(9_002),
        put(9_003),
        put(9_004),
    );
    assert!(matches!(answers.0.await, Err(DurableError::Full(_))));
    assert_eq!(answers.1.await.unwrap().unwrap().value.len(), 3_000);
    assert_eq!((answers.2.await, answers.3.await), (Ok(()), Ok(())));
    assert_eq!(answers.4.await.unwrap()[1].0, name(3), "it was asked after the removals");
    assert!(answers.5.await.is_ok() && answers.6.await.is_ok(), "there is room for two");
    assert!(matches!(answers.7.await, Err(DurableError::Full(_))));
    store.remove(&name(3), Expected::Any, Durability::Process).await.unwrap();
    assert!(put(9_005).await.is_ok());
    assert_eq!(store.problem(), None, "it works again");
    let reopened = bed.store();
    for number in [0, 4, kept - 1, 9_002, 9_003, 9_005] {
        assert!(reopened.get(&name(number)).await.unwrap().is_some(), "{number}");
    }
}

#[tokio::test]
async fn expired_leases_do_not_pile_up() {
    let bed = SqliteTestBed::new(DurableLimits::default());
    let store = bed.store();
    let term = Duration::from_secs(1);
    let acquire = async |number: u32| store.acquire(&key(&format!("task/{number}")), "a", term).await.unwrap().unwrap();
    let (first, second) = (acquire(0).await, acquire(1).await);
    for number in 0..10_500 {
        acquire(number + 2).await;
        bed.clock.pass(term);
        if number % 1_000 == 0 {
            assert_eq!(store.renew(vec![second.clone()], term * 2_000).await, Ok(Vec::new()));
        }
    }
    let other = Connection::open(bed.folder.path().join("durable.db")).unwrap();
    let left: u32 = other.query_row("SELECT count(*) FROM lease", [], |row| row.get(0)).unwrap();
    assert!((10_000..10_010).contains(&left), "{left} leases");
    assert_eq!(store.renew(vec![first.clone(), second], term).await, Ok(vec![first]), "what holds stays");
}

#[tokio::test]
async fn a_lease_does_not_outlive_a_start_of_the_machine() {
    let bed = SqliteTestBed::new(DurableLimits::default());
    let (store, name, term) = (bed.store(), key("task"), Duration::from_secs(10));
    let lease = store.acquire(&name, "a", term).await.unwrap().unwrap();
    bed.clock.set_up(bed.clock.up() - Duration::from_secs(5));
    assert_eq!(store.acquire(&name, "b", term).await, Ok(None), "a little is nothing");
    assert_eq!(store.renew(vec![lease.clone()], term).await, Ok(Vec::new()));
    bed.clock.set_up(Duration::from_secs(9));
    let next = store.acquire(&name, "b", term).await.unwrap().unwrap();
    assert!(next.fence > lease.fence);
    assert_eq!(store.renew(vec![lease.clone()], term).await, Ok(vec![lease]));
}

#[tokio::test]
async fn a_file_that_is_removed_is_noticed() {
    let bed = SqliteTestBed::new(DurableLimits::default());
    let store = bed.store();
    store.put(&key("a"), vec![1], Expected::Any, Durability::Process).await.unwrap();
    assert_eq!(store.problem(), None);
    let (file, aside) = (bed.folder.path().join("durable.db"), bed.folder.path().join("aside"));
    std::fs::rename(&file, &aside).unwrap();
    assert!(store.problem().unwrap().to_string().contains("was removed or replaced"));
    std::fs::write(&file, "").unwrap();
    assert!(store.problem().is_some(), "another one");
    std::fs::rename(&aside, &file).unwrap();
    assert_eq!(store.problem(), None);
}

#[tokio::test]
async fn what_cannot_be_opened_says_so() {
    let bed = SqliteTestBed::new(DurableLimits::default());
    let open = || SqliteStore::open(bed.folder.path(), bed.clock.clone());
    let said = || open().err().unwrap().to_string();
    let (store, file) = (open().unwrap(), bed.folder.path().join("durable.db"));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let answers: Vec<_> =
        (0..99u8).map(|value| store.put(&key("a/b"), vec![value; 999], Expected::Any, Durability::Power)).collect();
    store.close().await;
    assert!(join_all(answers).await.iter().all(Result::is_ok), "what was asked is done");
    assert_eq!(store.get(&key("a/b")).await, Err(DurableError::Closed));
    assert_eq!(store.remove(&key("a/b"), Expected::Any, Durability::Process).await, Err(DurableError::Closed));
    let newer = Connection::open(&file).unwrap();
    newer.pragma_update(None, "user_version", 99).unwrap();
    assert!(said().contains("newer portcullis (format 99, this one knows 1)"), "{}", said());
    newer.pragma_update(None, "user_version", 1).unwrap();
    drop(newer);
    let whole = std::fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    damaged[4_096..].fill(0x5a);
    for (bytes, problem) in [(damaged, "durable.db cannot be used"), (vec![b'x'; 5_000], "not a database")] {
        std::fs::write(&file, bytes).unwrap();
        assert!(said().contains(problem), "{}", said());
    }
}
