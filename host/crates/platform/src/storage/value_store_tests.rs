//! Values by owner, their quotas and their versions.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use rusqlite::Connection;

const ROOM: ValueQuota = ValueQuota { bytes: 100, keys: 3 };

fn owner(plugin: &str, principal: &str) -> ValueOwner {
    ValueOwner { plugin: plugin.into(), principal: principal.into(), label: String::new() }
}

async fn put(values: &ValueStore, owner: &ValueOwner, key: &str, size: usize, expected: PutCondition) -> PutOutcome {
    let value = vec![7; size];
    values.put(owner.clone(), key.into(), value, expected, ROOM).await.unwrap()
}

#[tokio::test]
async fn each_has_its_own_and_finds_it_again() {
    let folder = tempfile::tempdir().unwrap();
    let (a, b, c) = (owner("p", "alice"), owner("p", "bob"), owner("q", "alice"));
    let values = ValueStore::open(folder.path()).unwrap();
    assert_eq!(put(&values, &a, "k", 3, PutCondition::Nothing).await, PutOutcome::Done(1));
    for other in [&b, &c] {
        assert_eq!(values.get(other.clone(), "k".into()).await.unwrap(), None);
        assert!(values.remove(other.clone(), "k".into(), ROOM).await.unwrap() == Ok(false));
        assert!(values.keys(other.clone(), String::new(), String::new(), 9).await.unwrap().is_empty());
    }
    drop(values);
    let (one, other) = (ValueStore::open(folder.path()).unwrap(), ValueStore::open(folder.path()).unwrap());
    let kept = StoredValue { value: vec![7; 3], version: 1 };
    assert_eq!(one.get(a.clone(), "k".into()).await.unwrap(), Some(kept));
    assert_eq!(put(&one, &a, "k", 1, PutCondition::Version(1)).await, PutOutcome::Done(2));
    assert_eq!(other.get(a.clone(), "k".into()).await.unwrap().unwrap().version, 2, "processes share it");
    assert_eq!(other.forget("p".into()).await.unwrap(), 1);
    assert_eq!(one.get(a, "k".into()).await.unwrap(), None);
}

#[tokio::test]
async fn versions_never_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let (values, a) = (ValueStore::open(folder.path()).unwrap(), owner("p", "alice"));
    assert_eq!(put(&values, &a, "k", 1, PutCondition::Version(1)).await, PutOutcome::Conflict);
    assert_eq!(put(&values, &a, "k", 1, PutCondition::Nothing).await, PutOutcome::Done(1));
    assert_eq!(put(&values, &a, "k", 1, PutCondition::Nothing).await, PutOutcome::Conflict);
    assert!(values.remove(a.clone(), "k".into(), ROOM).await.unwrap() == Ok(true));
    assert_eq!(put(&values, &a, "k", 1, PutCondition::Any).await, PutOutcome::Done(3));
    assert_eq!(put(&values, &a, "k", 1, PutCondition::Version(1)).await, PutOutcome::Conflict);
}

#[tokio::test]
async fn there_is_room_for_so_much() {
    let folder = tempfile::tempdir().unwrap();
    let (values, a) = (ValueStore::open(folder.path()).unwrap(), owner("p", "alice"));
    assert_eq!(put(&values, &a, "a", 100, PutCondition::Any).await, PutOutcome::TooLarge(100));
    assert_eq!(put(&values, &a, "a", 99, PutCondition::Any).await, PutOutcome::Done(1));
    assert_eq!(put(&values, &a, "b", 0, PutCondition::Any).await, PutOutcome::TooLarge(100));
    assert_eq!(put(&values, &a, "a", 10, PutCondition::Any).await, PutOutcome::Done(2));
    assert_eq!(put(&values, &a, "b", 0, PutCondition::Any).await, PutOutcome::Done(3));
    assert_eq!(put(&values, &a, "c", 0, PutCondition::Any).await, PutOutcome::Done(4));
    assert_eq!(put(&values, &a, "d", 0, PutCondition::Any).await, PutOutcome::TooMany(3));
    let less = ValueQuota { bytes: 5, keys: 0 };
    let shrunk = values.put(a.clone(), "a".into(), vec![1; 8], PutCondition::Any, less);
    assert_eq!(shrunk.await.unwrap(), PutOutcome::Done(5), "what gets smaller fits");
    let keys = |prefix: &str, after: &str| values.keys(a.clone(), prefix.into(), after.into(), 2);
    assert_eq!(keys("", "").await.unwrap(), ["a", "b"]);
    assert_eq!(keys("", "b").await.unwrap(), ["c"]);
    assert_eq!(keys("b", "").await.unwrap(), ["b"]);
}

#[tokio::test]
async fn what_is_written_under_a_label_changes_nothing_for_those_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let values = ValueStore::open(folder.path()).unwrap();
    let plain = owner("p", "alice");
    let labelled = |label: &str| ValueOwner { label: label.into(), ..plain.clone() };
    let (a, b, both) = (labelled("a"), labelled("b"), labelled("a\nb"));
    let value = async |owner: &ValueOwner, key: &str| {
        values.get(owner.clone(), key.into()).await.unwrap().map(|found| found.value.len())
    };
    let remove = async |owner: &ValueOwner, key: &str| values.remove(owner.clone(), key.into(), ROOM).await.unwrap();
    let keys = async |owner: &ValueOwner| values.keys(owner.clone(), String::new(), String::new(), 9).await.unwrap();
    put(&values, &plain, "k", 1, PutCondition::Any).await;
    put(&values, &plain, "gone", 1, PutCondition::Any).await;
    put(&values, &a, "k", 2, PutCondition::Any).await;
    assert!(matches!(put(&values, &a, "secret", 81, PutCondition::Nothing).await, PutOutcome::Done(_)));
    assert_eq!(remove(&a, "gone").await, Ok(true));
    assert_eq!((value(&a, "gone").await, value(&plain, "gone").await), (None, Some(1)));
    assert_eq!((value(&plain, "k").await, value(&a, "k").await, value(&b, "k").await), (Some(1), Some(2), Some(1)));
    assert_eq!(value(&both, "secret").await, Some(81));
    assert_eq!(keys(&plain).await, ["gone", "k"]);
    assert_eq!(keys(&a).await, ["k", "secret"]);
    // Neither the quota nor the versions nor the answers of the other owners depend on it.
    assert_eq!(put(&values, &plain, "secret", 80, PutCondition::Nothing).await, PutOutcome::Done(3));
    assert_eq!(remove(&b, "nothing").await, Ok(false));
    // The newest value wins.
    put(&values, &plain, "k", 5, PutCondition::Any).await;
    assert_eq!((value(&a, "k").await, value(&a, "secret").await), (Some(5), Some(80)));
    let seen = values.get(plain.clone(), "k".into()).await.unwrap().unwrap();
    assert!(matches!(put(&values, &both, "k", 6, PutCondition::Version(seen.version)).await, PutOutcome::Done(_)));
    assert_eq!(put(&values, &both, "k", 7, PutCondition::Version(seen.version)).await, PutOutcome::Conflict);
    assert_eq!((value(&a, "k").await, value(&both, "k").await), (Some(5), Some(6)));
}

#[tokio::test]
async fn values_of_format_1_are_kept_under_their_labels() {
    let folder = tempfile::tempdir().unwrap();
    let old = Connection::open(folder.path().join("values.db")).unwrap();
    old.execute_batch(
        "CREATE TABLE owner (id INTEGER PRIMARY KEY, plugin TEXT NOT NULL, principal TEXT NOT NULL,
            bytes INTEGER NOT NULL DEFAULT 0, keys INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 0,
            UNIQUE (plugin, principal)) STRICT;
        CREATE TABLE value (owner INTEGER NOT NULL REFERENCES owner ON DELETE CASCADE, key TEXT NOT NULL,
            value BLOB NOT NULL, version INTEGER NOT NULL, label TEXT NOT NULL, PRIMARY KEY (owner, key))
            STRICT, WITHOUT ROWID;
        INSERT INTO owner VALUES (7, 'p', 'alice', 24, 2, 9), (8, 'p', 'bob', 0, 0, 4);
        INSERT INTO value VALUES (7, 'k', x'0102', 9, ''), (7, 'secret', x'03', 8, 'a');
        PRAGMA user_version = 1;",
    )
    .unwrap();
    drop(old);
    let values = ValueStore::open(folder.path()).unwrap();
    let (plain, bob) = (owner("p", "alice"), owner("p", "bob"));
    let labelled = ValueOwner { label: "a".into(), ..plain.clone() };
    let kept = StoredValue { value: vec![1, 2], version: 9 };
    assert_eq!(values.get(plain.clone(), "k".into()).await.unwrap(), Some(kept));
    assert_eq!(values.get(plain.clone(), "secret".into()).await.unwrap(), None);
    assert_eq!(values.get(labelled, "secret".into()).await.unwrap().unwrap().value, [3]);
    assert_eq!(put(&values, &plain, "k", 97, PutCondition::Any).await, PutOutcome::Done(10));
    assert_eq!(put(&values, &bob, "k", 1, PutCondition::Any).await, PutOutcome::Done(5));
}
