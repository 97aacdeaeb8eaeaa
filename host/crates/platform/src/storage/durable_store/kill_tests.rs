//! A process that writes under load is killed again and again; nothing is lost that was acknowledged.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::*;
use crate::clock::SystemClock;
use crate::random::random_bytes;
use futures::future::join_all;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write, stderr};
use std::process::{Command, Stdio};

const ROUNDS: u32 = 30;
const TASKS: u64 = 8;
/// How many appends of a task may be unanswered at a time.
const IN_FLIGHT: u64 = 4;

/// Runs in a child process, in a folder with this file. Without the file it does nothing.
const CHILD: &str = "is-killed-while-it-writes";

#[tokio::test]
async fn is_killed_while_it_writes() {
    if !Path::new(CHILD).exists() {
        return;
    }
    let store = SqliteStore::open(Path::new("state"), Arc::new(SystemClock)).unwrap();
    join_all((0..TASKS).map(|task| write_for_ever(&store, task))).await;
}

/// Writes without end. Every second task requests that its changes survive a loss of power. Each acknowledged step is reported.
async fn write_for_ever(store: &SqliteStore, task: u64) {
    let (name, log, count) = names(task);
    let durability = if task.is_multiple_of(2) { Durability::Process } else { Durability::Power };
    // The process before this one died while it held the lease.
    let lease = store.acquire(&name, "the only one", Duration::from_secs(60)).await.unwrap().unwrap();
    let mut next = store.read(&log, u64::MAX, 0).await.unwrap().next;
    store.append(&log, lease.fence, next, Vec::new(), durability).await.unwrap();
    let mut revision = store.get(&count).await.unwrap().map(|record| record.revision);
    loop {
        let steps = next..next + IN_FLIGHT;
        let appends: Vec<_> = steps
            .clone()
            .map(|number| store.append(&log, lease.fence, number, vec![entry(task, number)], durability))
            .collect();
        for (number, append) in steps.zip(appends) {
            append.await.unwrap();
            acknowledge(task, "entries", number + 1);
        }
        next += IN_FLIGHT;
        let expected = revision.map_or(Expected::Nothing, Expected::At);
        revision = Some(store.put(&count, next.to_le_bytes().to_vec(), expected, durability).await.unwrap());
        acknowledge(task, "count", next);
        if next.is_multiple_of(256) {
            let before = next - 200;
            store.trim(&log, lease.fence, before).await.unwrap();
            acknowledge(task, "trimmed", before);
        }
    }
}

fn names(task: u64) -> (Key, Key, Key) {
    let key = |part: &str| Key::new(format!("{part}/{task}")).unwrap();
    (key("task"), key("log"), key("count"))
}

/// An entry. Some are larger than a page.
fn entry(task: u64, number: u64) -> Vec<u8> {
    let size = if number.is_multiple_of(37) { 9_000 } else { number % 300 };
    [task, number].iter().flat_map(|part| part.to_le_bytes()).chain((0..size).map(|at| at as u8)).collect()
}

fn acknowledge(task: u64, what: &str, number: u64) {
    stderr().write_all(format!("{task} {what} {number}\n").as_bytes()).unwrap();
}

#[tokio::test]
async fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join(CHILD), "").unwrap();
    let mut tokens = HashMap::new();
    for round in 0..ROUNDS {
        let acknowledged = kill_after(home.path(), u32::from(u16::from_le_bytes(random_bytes().unwrap()) % 1_500));
        let store = SqliteStore::open(&home.path().join("state"), Arc::new(SystemClock)).unwrap();
        for task in 0..TASKS {
            let told = |what: &str| acknowledged.get(&format!("{task} {what}")).copied().unwrap_or_default();
            let (name, log, count) = names(task);
            let found = read_all(&store, &log).await;
            let context = format!("round {round}, task {task}: {acknowledged:?}");
            assert!(found.next >= told("entries"), "{} entries; {context}", found.next);
            assert!(found.first >= told("trimmed"), "begins at {}; {context}", found.first);
            assert_eq!(found.first + found.entries.len() as u64, found.next, "{context}");
            for (number, body) in (found.first..).zip(&found.entries) {
                assert_eq!(*body, entry(task, number), "entry {number}; {context}");
            }
            let counted = store.get(&count).await.unwrap();
            let counted = counted.map_or(0, |record| u64::from_le_bytes(record.value.try_into().unwrap()));
            assert!(counted >= told("count") && counted <= found.next, "counted {counted}; {context}");
            let lease = store.acquire(&name, "the only one", Duration::from_secs(1)).await.unwrap().unwrap();
            assert!(Some(&lease.fence) > tokens.get(&task), "{lease:?} after {tokens:?}");
            tokens.insert(task, lease.fence);
        }
        store.close().await;
    }
}

async fn read_all(store: &SqliteStore, log: &Key) -> Entries {
    let mut found = store.read(log, 0, 100_000).await.unwrap();
    loop {
        let part = store.read(log, found.first + found.entries.len() as u64, 100_000).await.unwrap();
        if part.entries.is_empty() {
            return found;
        }
        found.entries.extend(part.entries);
    }
}

/// Starts the child, kills it after it has acknowledged this many steps, and returns the last number of each kind.
fn kill_after(folder: &Path, steps: u32) -> HashMap<String, u64> {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "storage::durable_store::kill_tests::is_killed_while_it_writes", "--nocapture"]);
    let mut child = child.current_dir(folder).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut last, mut seen, mut killed) = (HashMap::new(), 0, false);
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    // What the child reported before its end can still be read; the last line may be cut.
    while lines.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
        let (what, number) = line.trim_end().rsplit_once(' ').unwrap();
        last.insert(what.to_owned(), number.parse().unwrap_or_else(|_| panic!("{line}")));
        line.clear();
        seen += 1;
        if seen > steps && !killed {
            child.kill().unwrap();
            killed = true;
        }
    }
    let ended = child.wait().unwrap();
    assert!(killed, "it ended by itself, {ended}, after {seen} steps");
    last
}
