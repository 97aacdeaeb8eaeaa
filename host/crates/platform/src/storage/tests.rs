//! The session store: it survives restarts, keeps order, is bounded, and refuses damaged files.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::streams::StreamEvent;
use super::*;
use crate::clock::ManualClock;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

const QUOTA: SessionQuota = SessionQuota { all: 3, own: 2 };

fn event(number: u32, message: &str) -> StreamEvent {
    StreamEvent { number, message: message.into() }
}

async fn append(storage: &SessionStore, key: StreamKey, number: u32, message: &str, end: bool, prune: u32) {
    let (done, told) = tokio::sync::oneshot::channel();
    drop(storage.append(key, event(number, message), end, prune, |result| done.send(result).unwrap()));
    told.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_was_said_outlives_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let open = || SessionStore::open(folder.path(), ManualClock::new()).unwrap();
    let storage = open();
    assert_eq!(storage.admit("s".into(), "p".into(), QUOTA).await.unwrap(), SessionAdmission::Admitted);
    assert_eq!(storage.handshake("s".into(), "p".into()).await.unwrap(), None, "not introduced yet");
    storage.keep_handshake("s".into(), "hello".into()).await.unwrap();
    let answered = storage.open_stream("s".into(), "t1".into(), "1".into()).await.unwrap();
    let running = storage.open_stream("s".into(), "t2".into(), "2".into()).await.unwrap();
    let (own, _) = storage.own_stream("s".into(), "t0".into()).await.unwrap();
    append(&storage, answered, 1, "a", false, 0).await;
    append(&storage, answered, 2, "b", true, 0).await;
    append(&storage, running, 1, "c", false, 0).await;
    storage.close().await;
    assert!(matches!(storage.events(answered, 0).await, Err(StorageError::Closed)));

    let storage = open();
    assert_eq!(storage.end_abandoned(|request| format!("{request} died")).await.unwrap(), 1);
    assert_eq!(storage.end_abandoned(|request| format!("{request} died")).await.unwrap(), 0);
    assert_eq!(storage.handshake("s".into(), "p".into()).await.unwrap().as_deref(), Some("hello"));
    assert_eq!(storage.handshake("s".into(), "q".into()).await.unwrap(), None, "of somebody else");
    assert_eq!(storage.events(answered, 1).await.unwrap(), [event(2, "b")]);
    let found = storage.find_stream("s".into(), "t2".into()).await.unwrap().unwrap();
    assert!(found.ended && found.last == 2);
    assert_eq!(storage.events(found.key, 0).await.unwrap(), [event(1, "c"), event(2, "2 died")]);
    assert_eq!(storage.find_stream("other".into(), "t2".into()).await.unwrap(), None);
    assert_eq!(storage.own_stream("s".into(), "new".into()).await.unwrap().0, own);
    assert!(!storage.forget("s".into(), "q".into()).await.unwrap());
    assert!(storage.forget("s".into(), "p".into()).await.unwrap());
    assert_eq!(storage.find_stream("s".into(), "t2".into()).await.unwrap(), None);
}

#[tokio::test]
async fn streams_whose_calls_wait_are_not_abandoned() {
    let folder = tempfile::tempdir().unwrap();
    let open = || SessionStore::open(folder.path(), ManualClock::new()).unwrap();
    let storage = open();
    let _ = storage.admit("s".into(), "p".into(), QUOTA).await.unwrap();
    let opened = |token: &str| storage.open_stream("s".into(), token.into(), format!("\"{token}\""));
    let (waits, goes_on, is_over) =
        (opened("waits").await.unwrap(), opened("on").await.unwrap(), opened("over").await.unwrap());
    for key in [waits, goes_on, is_over] {
        assert!(storage.keep_waiting(key, b"old".to_vec()));
    }
    assert!(storage.keep_waiting(waits, b"call".to_vec()));
    storage.forget_waiting(goes_on).await.unwrap();
    storage.end_stream(is_over).await.unwrap();
    assert!(storage.keep_waiting(is_over, b"late".to_vec()));
    let kept = storage.worker.ask(|it| it.query_row("SELECT count(*) FROM waiting", [], |row| row.get::<_, u32>(0)));
    assert!(!storage.keep_waiting(waits, vec![0; 17 << 20]), "more than may wait to be stored");
    assert_eq!(kept.await.unwrap(), 1, "a client that begins calls and cancels them leaves nothing");
    storage.close().await;

    let storage = open();
    assert_eq!(storage.end_abandoned(str::to_owned).await.unwrap(), 1, "the one that has gone on");
    let found = storage.waiting("s".into()).await.unwrap();
    let found: Vec<_> = found.iter().map(|it| (&*it.token, it.record.request.as_deref(), &*it.call)).collect();
    assert_eq!(found, [("waits", Some("\"waits\""), b"call".as_slice())]);
    assert!(storage.waiting("other".into()).await.unwrap().is_empty());
    assert!(storage.forget("s".into(), "p".into()).await.unwrap());
    assert!(storage.keep_waiting(waits, b"late".to_vec()));
    assert!(storage.waiting("s".into()).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_burst_keeps_its_order_and_a_failed_job_stands_alone() {
    let folder = tempfile::tempdir().unwrap();
    let storage = SessionStore::open(folder.path(), ManualClock::new()).unwrap();
    let _ = storage.admit("s".into(), "p".into(), QUOTA).await.unwrap();
    let key = storage.open_stream("s".into(), "t".into(), "1".into()).await.unwrap();
    let order = Arc::new(crate::sync::Mutex::new(Vec::new()));
    for number in 1..=300 {
        let order = order.clone();
        let told = move |result: Result<(), _>| order.lock().push((number, result.is_ok()));
        drop(storage.append(key, event(number, "x"), false, 0, told));
        if number == 150 {
            drop(storage.append(key, event(number, "twice"), false, 0, |result| assert!(result.is_err())));
        }
    }
    assert!(storage.open_stream("nobody".into(), "u".into(), "1".into()).await.is_err(), "no such session");
    assert_eq!(*order.lock(), (1..=300).map(|number| (number, true)).collect::<Vec<_>>());
    let page = storage.events(key, 250).await.unwrap();
    assert_eq!(page.iter().map(|event| event.number).collect::<Vec<_>>(), (251..=300).collect::<Vec<_>>());
    append(&storage, key, 301, "y", false, 299).await;
    assert_eq!(storage.events(key, 0).await.unwrap().len(), 2);
    assert_eq!(storage.find_stream("s".into(), "t".into()).await.unwrap().unwrap().pruned, 299);
}

#[tokio::test]
async fn there_is_room_for_so_many() {
    let folder = tempfile::tempdir().unwrap();
    let clock = ManualClock::new();
    let storage = SessionStore::open(folder.path(), clock.clone()).unwrap();
    for (at, id, principal) in [(10, "a", "p"), (20, "b", "p"), (30, "c", "q")] {
        clock.set_wall(Duration::from_secs(at));
        assert_eq!(storage.admit(id.into(), principal.into(), QUOTA).await.unwrap(), SessionAdmission::Admitted);
    }
    storage.touch(vec!["a".into()]).await.unwrap();
    let of_p = |id: &str| StoredSession { id: id.into(), principal: "p".into() };
    for (principal, why) in
        [("p", "its own, the idle one first"), ("r", "of whoever has the most"), ("q", "it has less")]
    {
        let full = storage.admit("d".into(), principal.into(), QUOTA).await.unwrap();
        assert_eq!(full, SessionAdmission::Full(vec![of_p("b"), of_p("a")]), "{why}");
    }
    assert!(storage.forget("a".into(), "p".into()).await.unwrap());
    assert_eq!(storage.admit("d".into(), "r".into(), QUOTA).await.unwrap(), SessionAdmission::Admitted);
    let full = storage.admit("e".into(), "q".into(), QUOTA).await.unwrap();
    let own = StoredSession { id: "c".into(), principal: "q".into() };
    assert_eq!(full, SessionAdmission::Full(vec![own]), "nobody has more");
}

#[tokio::test]
async fn old_and_too_much_is_removed_but_never_what_runs() {
    let folder = tempfile::tempdir().unwrap();
    let storage = SessionStore::open(folder.path(), ManualClock::at(Duration::ZERO)).unwrap();
    let _ = storage.admit("s".into(), "p".into(), QUOTA).await.unwrap();
    storage.keep_handshake("s".into(), "hello".into()).await.unwrap();
    let running = storage.open_stream("s".into(), "running".into(), "0".into()).await.unwrap();
    append(&storage, running, 1, &"x".repeat(9_000), false, 0).await;
    for n in 0..100 {
        let key = storage.open_stream("s".into(), format!("t{n}"), "1".into()).await.unwrap();
        append(&storage, key, 1, &"x".repeat(1_000), true, 0).await;
    }
    let kept = |storage: &SessionStore| {
        storage
            .worker
            .ask(|c| c.query_row("SELECT count(*) FROM stream WHERE ended IS NOT NULL", [], |r| r.get::<_, u32>(0)))
    };
    assert_eq!(kept(&storage).await.unwrap(), 64, "of one session");
    storage.worker.ask(|connection| prune::shrink(connection, 10 * 1_512)).await.unwrap();
    assert_eq!(kept(&storage).await.unwrap(), 10, "by bytes");
    assert!(storage.find_stream("s".into(), "t99".into()).await.unwrap().is_some(), "the newest stay");
    storage.worker.ask(|connection| prune::prune(connection, 3_601)).await.unwrap();
    assert_eq!(kept(&storage).await.unwrap(), 0, "by age");
    assert_eq!(storage.events(running, 0).await.unwrap().len(), 1);
    storage.worker.ask(|connection| prune::prune(connection, 24 * 3_600 + 1)).await.unwrap();
    assert_eq!(storage.handshake("s".into(), "p".into()).await.unwrap(), None);
}

#[tokio::test]
async fn what_cannot_be_used_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let open = || SessionStore::open(folder.path(), ManualClock::new());
    let said = |result: Result<SessionStore, StorageError>| result.err().unwrap().to_string();
    let first = open().unwrap();
    assert!(said(open()).contains("in use by another portcullis"));
    first.close().await;
    open().unwrap().close().await;

    let file = folder.path().join("portcullis.db");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, "this is no database, and never was one: a line of text, long enough to be looked at")
        .unwrap();
    assert!(said(open()).contains("not a database"), "{}", said(open()));
    let mut hurt = whole.clone();
    hurt[4096..].fill(0x5a);
    std::fs::write(&file, hurt).unwrap();
    assert!(said(open()).contains("portcullis.db cannot be used"));
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(said(open()).contains("portcullis.db cannot be used"));

    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    assert!(said(open()).contains("others on this machine can write to it"));
    let under_a_file = folder.path().join("file");
    std::fs::write(&under_a_file, "").unwrap();
    let said = said(SessionStore::open(&under_a_file.join("state"), ManualClock::new()));
    assert!(said.contains("set PORTCULLIS_STATE or server.state"), "{said}");
}
