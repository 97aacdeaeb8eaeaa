//! The inbox and the logs of runs.

use super::*;

#[test]
fn reading_continues_after_the_cursor() {
    let mut fixture = Fixture::new();
    fixture.emit(&alice(), "hr", json!({"pending": 3}), None).unwrap();
    fixture.emit(&alice(), "hr", json!(2), None).unwrap();
    assert_eq!(fixture.changes(), vec![Change::Resource(Some(alice()), INBOX.into()); 2]);
    let all = fixture.json(&alice(), INBOX);
    assert_eq!(
        all["events"][0],
        json!({
            "id": "01234567-1", "name": "a.b", "payload": {"pending": 3}, "plugin": "hr", "call": "0123456789abcdef",
            "time": "2026-09-21T14:13:20.000Z",
        })
    );
    let next = all["next"].as_str().unwrap();
    let nothing = json!({"events": [], "next": next, "dropped": 0});
    assert_eq!(fixture.json(&alice(), &format!("{INBOX}?after={next}")), nothing);
    fixture.emit(&alice(), "hr", json!(3), None).unwrap();
    let more = fixture.json(&alice(), &format!("{INBOX}?after={next}"));
    assert_eq!((&more["events"][0]["payload"], more["events"].as_array().unwrap().len()), (&json!(3), 1));
    // An unknown cursor reads from the beginning.
    for cursor in ["", "76543210-2", "01234567-9", "01234567", "-1", "01234567-x"] {
        let read = fixture.json(&alice(), &format!("{INBOX}?after={cursor}"));
        assert_eq!(read["events"].as_array().unwrap().len(), 3, "{cursor}");
    }
    assert_eq!(fixture.text(&alice(), &format!("{INBOX}?before=1")), None);
    fixture.assert_empty();
}

#[test]
fn duplicate_events_are_dropped() {
    let fixture = Fixture::new();
    let emit = |key| fixture.emit(&alice(), "hr", json!(1), Some(key)).unwrap();
    assert_eq!((emit("pol-7"), emit("pol-7"), emit("pol-8")), (true, false, true));
    assert_eq!(fixture.json(&alice(), INBOX)["events"].as_array().unwrap().len(), 2);
    fixture.advance(MAX_AGE);
    assert!(fixture.emit(&alice(), "hr", json!(1), Some("pol-7")).unwrap(), "a day later it is changes again");
}

#[test]
fn events_are_rate_limited_and_the_oldest_are_dropped() {
    let fixture = Fixture::new();
    let refused = (0..).find_map(|_| fixture.emit(&alice(), "loud", json!("x"), None).err()).unwrap();
    assert_eq!(refused, EventError::Exhausted(full(60)));
    fixture.emit(&alice(), "quiet", json!("hear me"), None).unwrap();
    let cursor = fixture.json(&alice(), INBOX)["next"].as_str().unwrap().to_owned();
    for at in 0..200 {
        fixture.advance(Duration::from_secs(1));
        fixture.emit(&alice(), "loud", json!(at), None).unwrap();
    }
    let read = fixture.json(&alice(), INBOX);
    let events = read["events"].as_array().unwrap();
    assert_eq!((events.len(), &read["dropped"]), (129, &json!(102)), "30 + 1 + 200 came");
    assert_eq!(events[0]["payload"], "hear me", "one plugin does not push out another");
    assert_eq!(events[128]["payload"], 199);
    let since = fixture.json(&alice(), &format!("{INBOX}?after={cursor}"));
    assert_eq!((since["events"].as_array().unwrap().len(), &since["dropped"]), (128, &json!(72)));
    let large = "x".repeat(16_000);
    for _ in 0..20 {
        fixture.advance(Duration::from_secs(1));
        fixture.emit(&alice(), "large", json!(large), None).unwrap();
    }
    let kept = fixture.text(&alice(), INBOX).unwrap();
    assert!(kept.matches("\"large\"").count() == 8 && kept.contains("hear me"), "its share is 128 KiB");
    fixture.assert_empty();
}

#[test]
fn a_run_log_outlives_its_call_by_ten_minutes() {
    let mut fixture = Fixture::new();
    let run = Run { source: source("files"), tool: "files__search".into() };
    let log = fixture.store.begin_run(&alice(), run).unwrap();
    let uri = log.uri().to_owned();
    assert_eq!(uri, "portcullis://runs/0123456789abcdef");
    for seq in 0..3 {
        log.append(seq, format!(r#"[{{"type":"text","text":"{seq}"}}]"#), vec![]);
    }
    let notification = Change::Resource(Some(alice()), uri.clone());
    assert_eq!(fixture.changes(), std::slice::from_ref(&notification), "once, until somebody looks");
    let read = fixture.json(&alice(), &uri);
    assert_eq!((&read["next"], &read["dropped"], &read["final"]), (&json!(3), &json!(0), &json!(false)));
    assert_eq!(read["chunks"][2], json!({"seq": 2, "content": [{"type": "text", "text": "2"}]}));
    assert_eq!((&read["tool"], &read["plugin"]), (&json!("files__search"), &json!("files")));
    log.append(3, "[]".into(), vec![]);
    assert_eq!(fixture.changes(), std::slice::from_ref(&notification));
    let more = fixture.json(&alice(), &format!("{uri}?after=2"));
    assert_eq!(more["chunks"], json!([{"seq": 3, "content": []}]));
    fixture.advance(Duration::from_secs(3_600));
    assert!(fixture.text(&alice(), &uri).is_some(), "a call may be silent for long");
    drop(log);
    assert_eq!(fixture.changes(), [notification]);
    assert_eq!(fixture.json(&alice(), &uri)["final"], true);
    fixture.advance(Duration::from_secs(599));
    assert!(fixture.uris(&alice()).contains(&uri));
    fixture.advance(Duration::from_secs(1));
    assert_eq!(fixture.text(&alice(), &uri), None);
    fixture.assert_empty();
}

#[test]
fn a_call_that_runs_again_goes_on_with_what_its_log_had_kept() {
    let fixture = Fixture::new();
    let run = || Run { source: source("files"), tool: "files__search".into() };
    let log = fixture.store.begin_run(&alice(), run()).unwrap();
    let content = |seq: u64| json!([{"type": "text", "text": seq.to_string()}]);
    (0..3).for_each(|seq| log.append(seq, content(seq).to_string(), vec!["a.b".into()]));
    assert!(fixture.store.kept_log(&alice(), log.uri(), 3).is_none(), "nothing new");
    let (next, kept) = fixture.store.kept_log(&alice(), log.uri(), 2).unwrap();
    assert_eq!(next, 3);
    drop(log);
    let log = fixture.store.resume_run(&alice(), run(), &kept).unwrap();
    // Two that it has, and one that is new, behind one that is missing.
    for seq in [1, 2, 4] {
        log.append(seq, content(seq).to_string(), vec![]);
    }
    let read = fixture.json(&alice(), log.uri());
    let passed_on = json!({"dev.portcullis/origin": ["a.b"]});
    let old = |seq: u64| json!({"seq": seq, "content": content(seq), "_meta": passed_on});
    assert_eq!(read["chunks"], json!([old(0), old(1), old(2), {"seq": 4, "content": content(4)}]));
    assert_eq!((&read["next"], &read["dropped"]), (&json!(5), &json!(1)));
    let log = fixture.store.resume_run(&alice(), run(), "no JSON").unwrap();
    assert_eq!(fixture.json(&alice(), log.uri())["next"], 0);
}

#[test]
fn run_logs_are_bounded() {
    let fixture = Fixture::new();
    let begin = |owner: &Principal, call: u32| {
        let source = Provenance { call: call.to_string(), ..source("p") };
        fixture.store.begin_run(owner, Run { source, tool: "p__t".into() })
    };
    let log = begin(&alice(), 0).unwrap();
    let chunk = format!("[{}]", "1,".repeat(1_000) + "1");
    for seq in 0..1_000 {
        log.append(seq, chunk.clone(), vec![]);
    }
    log.append(1_000, format!("[{}]", "1,".repeat(200_000) + "1"), vec![]);
    let read = fixture.json(&alice(), log.uri());
    let kept = read["chunks"].as_array().unwrap();
    assert!(kept.len() < 256 && read["dropped"] == 1_001 - kept.len(), "{} of 1,001", kept.len());
    assert_eq!(kept[kept.len() - 1]["seq"], 999, "one chunk that is too large takes nothing with it");
    // Each call that runs has its own.
    let running: Vec<_> = (1..100).map(|call| begin(&alice(), call).unwrap()).collect();
    running.iter().for_each(|log| log.append(0, chunk.clone(), vec![]));
    let all_whole = |fixture: &Fixture| {
        (1..100).all(|call| {
            let read = fixture.json(&alice(), &RunLog::uri_of(&call.to_string()));
            read["chunks"].as_array().unwrap().len() == 1 && read["dropped"] == 0
        })
    };
    assert!(all_whole(&fixture));
    // The largest logs lose chunks to make room for others.
    let large: Vec<_> = (100..200).map(|call| begin(&alice(), call).unwrap()).collect();
    for seq in 0..100 {
        large.iter().for_each(|log| log.append(seq, chunk.clone(), vec![]));
    }
    assert!(all_whole(&fixture));
    let read = fixture.json(&alice(), large[0].uri());
    let kept = read["chunks"].as_array().unwrap().len();
    assert!((60..100).contains(&kept) && read["dropped"] == 100 - kept, "{kept}");
    assert!(begin(&bob(), 16).is_some());
    drop(large);
    drop(log);
    let log = begin(&alice(), 200).unwrap();
    let is_there = |uri: &str| fixture.text(&alice(), uri).is_some();
    assert!(is_there(log.uri()) && is_there("portcullis://runs/199"));
    assert!(!is_there("portcullis://runs/100"), "those that have ended make room");
    drop((running, log));
    fixture.assert_empty();
}
