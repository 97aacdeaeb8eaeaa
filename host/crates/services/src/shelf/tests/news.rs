//! The inbox and the logs of runs.

use super::*;

#[test]
fn an_inbox_is_read_on_from_where_one_was() {
    let mut lab = Lab::new();
    lab.emit(&alice(), "hr", json!({"pending": 3}), None).unwrap();
    lab.emit(&alice(), "hr", json!(2), None).unwrap();
    assert_eq!(lab.news(), vec![Change::Resource(Some(alice()), INBOX.into()); 2]);
    let all = lab.json(&alice(), INBOX);
    assert_eq!(
        all["events"][0],
        json!({
            "id": "01234567-1", "name": "a.b", "payload": {"pending": 3}, "plugin": "hr", "call": "0123456789abcdef",
            "time": "2026-09-21T14:13:20.000Z",
        })
    );
    let next = all["next"].as_str().unwrap();
    let nothing = json!({"events": [], "next": next, "dropped": 0});
    assert_eq!(lab.json(&alice(), &format!("{INBOX}?after={next}")), nothing);
    lab.emit(&alice(), "hr", json!(3), None).unwrap();
    let more = lab.json(&alice(), &format!("{INBOX}?after={next}"));
    assert_eq!((&more["events"][0]["payload"], more["events"].as_array().unwrap().len()), (&json!(3), 1));
    // A cursor that is none of this inbox's begins anew.
    for cursor in ["", "76543210-2", "01234567-9", "01234567", "-1", "01234567-x"] {
        let read = lab.json(&alice(), &format!("{INBOX}?after={cursor}"));
        assert_eq!(read["events"].as_array().unwrap().len(), 3, "{cursor}");
    }
    assert_eq!(lab.text(&alice(), &format!("{INBOX}?before=1")), None);
    lab.assert_empty();
}

#[test]
fn an_event_is_told_once() {
    let lab = Lab::new();
    let told = |key| lab.emit(&alice(), "hr", json!(1), Some(key)).unwrap();
    assert_eq!((told("pol-7"), told("pol-7"), told("pol-8")), (true, false, true));
    assert_eq!(lab.json(&alice(), INBOX)["events"].as_array().unwrap().len(), 2);
    lab.pass(STAY);
    assert!(lab.emit(&alice(), "hr", json!(1), Some("pol-7")).unwrap(), "a day later it is news again");
}

#[test]
fn events_are_not_too_many_and_the_oldest_go() {
    let lab = Lab::new();
    let refused = (0..).find_map(|_| lab.emit(&alice(), "loud", json!("x"), None).err()).unwrap();
    assert_eq!(refused, EventError::Exhausted(full(60)));
    lab.emit(&alice(), "quiet", json!("hear me"), None).unwrap();
    let cursor = lab.json(&alice(), INBOX)["next"].as_str().unwrap().to_owned();
    for at in 0..200 {
        lab.pass(Duration::from_secs(1));
        lab.emit(&alice(), "loud", json!(at), None).unwrap();
    }
    let read = lab.json(&alice(), INBOX);
    let events = read["events"].as_array().unwrap();
    assert_eq!((events.len(), &read["dropped"]), (129, &json!(102)), "30 + 1 + 200 came");
    assert_eq!(events[0]["payload"], "hear me", "one plugin does not push out another");
    assert_eq!(events[128]["payload"], 199);
    let since = lab.json(&alice(), &format!("{INBOX}?after={cursor}"));
    assert_eq!((since["events"].as_array().unwrap().len(), &since["dropped"]), (128, &json!(72)));
    let large = "x".repeat(16_000);
    for _ in 0..20 {
        lab.pass(Duration::from_secs(1));
        lab.emit(&alice(), "large", json!(large), None).unwrap();
    }
    let kept = lab.text(&alice(), INBOX).unwrap();
    assert!(kept.matches("\"large\"").count() == 8 && kept.contains("hear me"), "its share is 128 KiB");
    lab.assert_empty();
}

#[test]
fn a_run_is_logged_while_it_runs_and_a_while_after() {
    let mut lab = Lab::new();
    let run = Run { source: source("files"), tool: "files__search".into() };
    let log = lab.shelf.begin_run(&alice(), run).unwrap();
    let uri = log.uri().to_owned();
    assert_eq!(uri, "portcullis://runs/0123456789abcdef");
    for seq in 0..3 {
        log.append(seq, format!(r#"[{{"type":"text","text":"{seq}"}}]"#), vec![]);
    }
    let told = Change::Resource(Some(alice()), uri.clone());
    assert_eq!(lab.news(), std::slice::from_ref(&told), "once, until somebody looks");
    let read = lab.json(&alice(), &uri);
    assert_eq!((&read["next"], &read["dropped"], &read["final"]), (&json!(3), &json!(0), &json!(false)));
    assert_eq!(read["chunks"][2], json!({"seq": 2, "content": [{"type": "text", "text": "2"}]}));
    assert_eq!((&read["tool"], &read["plugin"]), (&json!("files__search"), &json!("files")));
    log.append(3, "[]".into(), vec![]);
    assert_eq!(lab.news(), std::slice::from_ref(&told));
    let more = lab.json(&alice(), &format!("{uri}?after=2"));
    assert_eq!(more["chunks"], json!([{"seq": 3, "content": []}]));
    lab.pass(Duration::from_secs(3_600));
    assert!(lab.text(&alice(), &uri).is_some(), "a call may be silent for long");
    drop(log);
    assert_eq!(lab.news(), [told]);
    assert_eq!(lab.json(&alice(), &uri)["final"], true);
    lab.pass(Duration::from_secs(599));
    assert!(lab.uris(&alice()).contains(&uri));
    lab.pass(Duration::from_secs(1));
    assert_eq!(lab.text(&alice(), &uri), None);
    lab.assert_empty();
}

#[test]
fn logs_are_bounded() {
    let lab = Lab::new();
    let begin = |owner: &Principal, call: u32| {
        let source = Provenance { call: call.to_string(), ..source("p") };
        lab.shelf.begin_run(owner, Run { source, tool: "p__t".into() })
    };
    let log = begin(&alice(), 0).unwrap();
    let chunk = format!("[{}]", "1,".repeat(1_000) + "1");
    for seq in 0..1_000 {
        log.append(seq, chunk.clone(), vec![]);
    }
    log.append(1_000, format!("[{}]", "1,".repeat(200_000) + "1"), vec![]);
    let read = lab.json(&alice(), log.uri());
    let kept = read["chunks"].as_array().unwrap();
    assert!(kept.len() < 256 && read["dropped"] == 1_001 - kept.len(), "{} of 1,001", kept.len());
    assert_eq!(kept[kept.len() - 1]["seq"], 999, "one chunk that is too large takes nothing with it");
    let running: Vec<_> = (1..16).map(|call| begin(&alice(), call).unwrap()).collect();
    assert!(begin(&alice(), 16).is_none(), "all that are there still run");
    assert!(begin(&bob(), 16).is_some());
    drop(log);
    let log = begin(&alice(), 17).unwrap();
    assert_eq!(lab.uris(&alice()).len(), 17);
    assert_eq!(lab.text(&alice(), "portcullis://runs/0"), None, "the one that had ended made room");
    drop((running, log));
    lab.assert_empty();
}
