//! Checks and copies of a state folder that is in use, and of one that is damaged.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use crate::clock::SystemClock;
use crate::durable::{Durability, DurableStore, Expected, Fence, Key};
use rusqlite::Connection;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn durable(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder, Arc::new(SystemClock)).unwrap()
}

/// Stores two records, two logs, one of which is trimmed, and a lease.
async fn fill(store: &SqliteStore) {
    for name in ["a", "b"] {
        store.put(&key(name), vec![7; 5_000], Expected::Any, Durability::Process).await.unwrap();
        store.append(&key(name), Fence(1), 0, vec![vec![1; 300]; 9], Durability::Process).await.unwrap();
    }
    store.trim(&key("b"), Fence(1), 3).await.unwrap();
    store.acquire(&key("a"), "me", Duration::from_secs(60)).await.unwrap().unwrap();
}

fn finding(folder: &Path, file: &str) -> String {
    let report = check_state(folder).into_iter().find(|report| report.file == file).unwrap();
    format!("{:?}", report.finding)
}

#[tokio::test]
async fn files_in_use_are_checked_and_copied() {
    let home = tempfile::tempdir().unwrap();
    let (state, copy) = (home.path().join("state"), home.path().join("copy"));
    assert!(check_state(&state).iter().all(|report| matches!(report.finding, Finding::Missing)));
    let store = durable(&state);
    fill(&store).await;
    let sessions = SessionStore::open(&state, Arc::new(SystemClock)).unwrap();
    let tokens = TokenStore::open(&state).unwrap();
    tokens.put("alice", "mail", vec![1]).await.unwrap();
    let counts = r#"counts: [("records", 2), ("logs", 2), ("entries of logs", 15), ("leases", 1), ("repairs after errors of the disk", 0)]"#;
    let found = check_state(&state).into_iter().map(|report| format!("{} {:?}", report.file, report.finding));
    let [long, values, accounts, legacy] = found.collect::<Vec<_>>().try_into().unwrap();
    assert!(long.starts_with("durable.db Sound { format: 1") && long.contains(counts), "{long}");
    assert_eq!((values.as_str(), legacy.as_str()), ("values.db Missing", "portcullis.db InUse"));
    assert!(accounts.contains(r#"[("credentials", 1)]"#), "{accounts}");

    // The copy contains what was committed when it began, even if more is written meanwhile.
    let appended: Vec<_> =
        (9..300).map(|next| store.append(&key("a"), Fence(1), next, vec![vec![2; 300]], Durability::Process)).collect();
    let copied = back_up_state(&state, &copy).unwrap();
    assert_eq!(copied.iter().map(|copied| copied.file).collect::<Vec<_>>(), ["durable.db", "connections.db"]);
    for answer in appended {
        answer.await.unwrap();
    }
    for name in ["durable.db", "connections.db"] {
        assert_eq!(std::fs::metadata(copy.join(name)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(std::fs::read_dir(&copy).unwrap().count(), 2, "nothing else is left there");
    let restored = durable(&copy);
    assert_eq!(restored.get(&key("b")).await.unwrap(), store.get(&key("b")).await.unwrap());
    let log = restored.read(&key("a"), 0, u64::MAX).await.unwrap();
    assert!(log.entries.len() as u64 == log.next && log.next >= 9);
    assert!(
        restored.append(&key("a"), Fence(0), log.next, Vec::new(), Durability::Process).await.is_err(),
        "its token, too"
    );
    assert!(finding(&copy, "durable.db").starts_with("Sound"));

    let again = back_up_state(&state, &copy).unwrap_err().to_string();
    assert!(again.contains("there is one already; choose another folder"), "{again}");
    assert!(back_up_state(&state, &state).unwrap_err().to_string().contains("there is one already"));
    sessions.close().await;
    assert!(finding(&state, "portcullis.db").starts_with("Sound"));
}

#[tokio::test]
async fn what_is_wrong_is_named() {
    let home = tempfile::tempdir().unwrap();
    let (state, file) = (home.path(), home.path().join("durable.db"));
    let store = durable(state);
    fill(&store).await;
    store.close().await;
    let whole = std::fs::read(&file).unwrap();
    for (change, problem) in [
        (
            "DELETE FROM entry WHERE number = 8 AND log = 1",
            "the log a should have the entries 0 to 8, and has 8 of 0 to 7",
        ),
        ("DELETE FROM entry WHERE log = 2", "the log b should have the entries 3 to 8, and has 0 of 0 to 0"),
        ("DELETE FROM log WHERE name = 'a'", "9 entries belong to no log"),
        ("PRAGMA user_version = 7", "newer portcullis (format 7, this one knows 1)"),
        ("DROP TABLE record", "no such table: record"),
    ] {
        std::fs::write(&file, &whole).unwrap();
        Connection::open(&file).unwrap().execute_batch(change).unwrap();
        let report = check_state(state).into_iter().find(|report| report.file == "durable.db").unwrap();
        let said = match report.finding {
            Finding::Damaged(problems) => problems.join("; "),
            Finding::Failed(error) => error.to_string(),
            other => panic!("{change}: {other:?}"),
        };
        assert!(said.contains(problem), "{change}: {said}");
    }
    let mut damaged = whole.clone();
    damaged[8_192..].fill(0x5a);
    for bytes in [damaged, vec![b'x'; 9_000]] {
        std::fs::write(&file, bytes).unwrap();
        let found = finding(state, "durable.db");
        assert!(found.starts_with("Damaged") || found.starts_with("Failed"), "{found}");
        assert!(back_up_state(state, &home.path().join("copy")).is_err());
        let left = std::fs::read_dir(home.path().join("copy")).unwrap().count();
        assert_eq!(left, 0, "half a copy is none");
    }
}
