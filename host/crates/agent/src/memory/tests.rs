//! What is kept, for whom, and how much of it.

use super::unfinished::{MAX_ARGUMENTS, MAX_POINT};
use super::*;
use serde_json::json;

fn call(id: &str) -> UnfinishedCall {
    let arguments = Some(serde_json::from_str(r#"{"topic": "whales"}"#).unwrap());
    let (server, tool) = ("demo".into(), "write".into());
    UnfinishedCall { correlation_id: id.into(), server, tool, arguments, ..UnfinishedCall::default() }
}

#[test]
fn the_memory_is_kept_between_runs() {
    let folder = tempfile::tempdir().unwrap();
    let first = MemoryFile::open(&folder.path().join("new")).unwrap();
    first
        .change(|memory| {
            memory.servers.insert("demo".into(), "http://127.0.0.1:1/mcp".into());
            memory.approve("demo", "notes.add");
            memory.approve("demo", "notes.add");
            memory.calls.push(call("a"));
            memory.calls.push(call("b"));
            memory.remove_call("b");
        })
        .unwrap();
    let file = folder.path().join("new/agent.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let second = MemoryFile::open(&folder.path().join("new")).unwrap();
    assert_eq!(second.get(), first.get());
    assert_eq!((second.get().approvals.len(), second.unfinished_calls().len()), (1, 1));
    second.change(|memory| memory.calls[0].run = second.run().to_owned()).unwrap();
    assert!(second.unfinished_calls().is_empty(), "it still runs");
    assert!(second.get().approves("demo", "notes.add") && !second.get().approves("other", "notes.add"));
    second.change(|memory| memory.forget("demo")).unwrap();
    assert!(!second.get().approves("demo", "notes.add") && second.get().servers.is_empty());
}

#[test]
fn two_agents_keep_each_others_changes() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (MemoryFile::open(folder.path()).unwrap(), MemoryFile::open(folder.path()).unwrap());
    one.change(|memory| memory.approve("demo", "a")).unwrap();
    two.change(|memory| memory.approve("demo", "b")).unwrap();
    assert!(two.get().approves("demo", "a") && two.get().approves("demo", "b"));
}

#[test]
fn a_broken_file_is_renamed_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("agent.json"), "{\"servers\": ").unwrap();
    let memory = MemoryFile::open(folder.path()).unwrap();
    let warning = memory.take_warning().unwrap();
    assert!(warning.contains("agent.json.broken-0"), "{warning}");
    assert!(folder.path().join("agent.json.broken-0").exists() && memory.take_warning().is_none());
    std::fs::write(folder.path().join("agent.json"), "[]").unwrap();
    MemoryFile::open(folder.path()).unwrap();
    assert!(folder.path().join("agent.json.broken-1").exists(), "the first is not lost to the second");
}

#[test]
fn the_memory_is_bounded() {
    let memory = MemoryFile::in_memory();
    memory
        .change(|memory| {
            (0..100).for_each(|n| memory.calls.push(call(&n.to_string())));
            let long = ("long".to_owned(), Value::from("x".repeat(MAX_ARGUMENTS)));
            memory.calls[99].arguments = Some(Map::from_iter([long]));
        })
        .unwrap();
    let now = memory.get();
    assert_eq!((now.calls.len(), now.calls[0].correlation_id.as_str()), (MAX_CALLS, "36"));
    assert_eq!(now.calls.last().unwrap().arguments, None);
}

fn questions(state: &str) -> ResumePoint {
    ResumePoint::Questions {
        requests: json!({ "name": { "method": "elicitation/create" } }),
        state: Some(state.into()),
    }
}

fn task(id: &str) -> ResumePoint {
    ResumePoint::Task { id: id.into(), begun: vec![] }
}

fn ids(calls: &[UnfinishedCall]) -> Vec<&str> {
    calls.iter().map(|call| call.correlation_id.as_str()).collect()
}

#[test]
fn open_calls_go_to_the_first_run_and_are_free_when_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let open = || MemoryFile::open(folder.path()).unwrap();
    let first = open();
    first
        .change(|memory| {
            for id in ["task", "parked", "plain"] {
                memory.calls.push(UnfinishedCall { run: first.run().to_owned(), ..call(id) });
            }
            assert!(memory.keep_point("task", Some(task("t-1"))) && memory.keep_point("parked", Some(questions("s"))));
        })
        .unwrap();
    let second = open();
    assert_eq!(ids(&second.take_resumable_calls().unwrap()), [""; 0], "the first run has them");
    assert_eq!(ids(&second.calls_elsewhere()), ["task", "parked", "plain"]);
    assert!(first.calls_elsewhere().is_empty() && first.unfinished_calls().is_empty());
    drop(first);
    let third = open();
    let taken = third.take_resumable_calls().unwrap();
    assert_eq!(ids(&taken), ["task", "parked"]);
    assert_eq!((&taken[0].point, &taken[1].point), (&Some(task("t-1")), &Some(questions("s"))));
    assert!(second.take_resumable_calls().unwrap().is_empty(), "each call goes to one of them");
    assert_eq!(ids(&third.unfinished_calls()), ["plain"], "nobody can go on with it");
    // No run continues a call without a point, so what is done for its answers is done once.
    third.change(|memory| assert!(memory.keep_point("parked", None))).unwrap();
    drop(third);
    assert_eq!(ids(&second.take_resumable_calls().unwrap()), ["task"]);
    second.change(|memory| memory.remove_call("task")).unwrap();
    assert_eq!(ids(&second.unfinished_calls()), ["parked", "plain"]);
    drop(second);
    let locks = std::fs::read_dir(folder.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("agent-run-"));
    assert_eq!(locks.count(), 0, "a run leaves nothing behind");
}

/// Its lock is gone with its process; its file is not.
#[test]
fn the_file_of_a_killed_run_is_removed_and_holds_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let left = folder.path().join("agent-run-0badcafe.lock");
    let memory = MemoryFile::open(folder.path()).unwrap();
    std::fs::write(&left, "").unwrap();
    let of_killed = |run: &str| UnfinishedCall { run: run.into(), point: Some(task("t-1")), ..call(run) };
    memory.change(|memory| memory.calls.extend([of_killed("0badcafe"), of_killed("../agent.lock")])).unwrap();
    assert_eq!(ids(&memory.take_resumable_calls().unwrap()), ["0badcafe", "../agent.lock"]);
    let _next = MemoryFile::open(folder.path()).unwrap();
    assert!(!left.exists() && folder.path().join("agent.lock").exists());
}

#[test]
fn what_is_needed_to_go_on_is_bounded_and_the_file_can_always_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let memory = MemoryFile::open(folder.path()).unwrap();
    // Text that takes more room as JSON than in memory, nested so that it would take even more if it were printed with spaces.
    let deep = (0..100).fold(json!(vec![1; 10_000]), |inner, _| json!([inner]));
    let long = |size: usize| "\u{1}".repeat(size / 6 - 40);
    memory
        .change(|memory| {
            for n in 0..MAX_CALLS {
                let id = n.to_string();
                memory.calls.push(call(&id));
                memory.calls[n].arguments = Some(Map::from_iter([("deep".to_owned(), deep.clone())]));
                assert!(memory.keep_point(&id, Some(questions(&long(MAX_POINT)))), "call {n}");
            }
            assert!(!memory.keep_point("0", Some(questions(&"x".repeat(MAX_POINT)))), "too large");
            assert!(!memory.keep_point("nobody's", Some(task("t"))));
            memory.calls[1].arguments = Some(Map::from_iter([("long".to_owned(), "x".repeat(MAX_ARGUMENTS).into())]));
        })
        .unwrap();
    let again = MemoryFile::open(folder.path()).unwrap();
    assert_eq!((again.take_warning(), again.get().calls.len()), (None, MAX_CALLS));
    let points: Vec<bool> = again.get().calls.iter().take(3).map(|call| call.point.is_some()).collect();
    assert_eq!(points, [false, false, true], "a parked call is of no use without its arguments");
    // A task needs no arguments.
    again.change(|memory| assert!(memory.keep_point("1", Some(task("t"))))).unwrap();
}
