//! How much is kept, and for how long.

use super::{buy, code, config, is_repeated, orders, send};
use std::time::Duration;
use suite::{Client, PATIENCE, eventually};

fn limited(limits: &str) -> String {
    config(&format!("[server.idempotency]\n{limits}"))
}

#[test]
fn a_key_expires() {
    let mut client = Client::of(&limited("keep = \"3s\""));
    send(&mut client, &buy("k", "")).result();
    assert!(is_repeated(&send(&mut client, &buy("k", ""))));
    let anew = eventually(PATIENCE, || (!is_repeated(&send(&mut client, &buy("k", "")))).then_some(()));
    anew.unwrap();
    assert_eq!(orders(&client.server.home), 2);
    std::thread::sleep(Duration::from_millis(3_100));
    // It is another call now.
    assert!(!is_repeated(&send(&mut client, &buy("k", "wait 1"))));
}

#[test]
fn a_call_that_takes_longer_than_keys_are_kept_runs_once() {
    let mut client = Client::of(&limited("keep = \"1500ms\""));
    let id = client.begin("tools/call", buy("k", "wait 4000"));
    std::thread::sleep(Duration::from_secs(1));
    let again = send(&mut client, &buy("k", "wait 4000"));
    assert!(is_repeated(&again));
    client.wait(id, std::time::Instant::now()).result();
    assert_eq!(orders(&client.server.home), 1);
}

#[test]
fn a_large_result_is_not_kept() {
    let mut client = Client::of(&limited("result = \"10 KiB\""));
    let first = send(&mut client, &buy("k", "large 20000"));
    assert_eq!(first.result()["isError"], false, "its own request gets it");
    for _ in 0..2 {
        let again = send(&mut client, &buy("k", "large 20000"));
        assert_eq!(code(&again), "result-not-kept");
        assert!(again.result()["content"][0]["text"].as_str().unwrap().contains("was done"));
        assert_eq!(again.result()["_meta"][super::CALL], first.result()["_meta"][super::CALL]);
    }
    send(&mut client, &buy("l", "large 5000")).result();
    assert_eq!(send(&mut client, &buy("l", "large 5000")).result()["isError"], false);
    assert_eq!(orders(&client.server.home), 2);
}

#[test]
fn the_oldest_key_makes_room_and_none_whose_call_runs() {
    let mut client = Client::of(&limited("per-principal = 2"));
    for key in ["a", "b", "c"] {
        send(&mut client, &buy(key, "")).result();
    }
    assert!(is_repeated(&send(&mut client, &buy("c", ""))) && is_repeated(&send(&mut client, &buy("b", ""))));
    assert!(!is_repeated(&send(&mut client, &buy("a", ""))), "it was the oldest");
    let running = ["x", "y"].map(|key| client.begin("tools/call", buy(key, "wait 4000")));
    eventually(PATIENCE, || (orders(&client.server.home) == 6).then_some(())).unwrap();
    let refused = send(&mut client, &buy("z", ""));
    assert_eq!(code(&refused), "busy");
    assert!(refused.result()["content"][0]["text"].as_str().unwrap().contains("server.idempotency"));
    for id in running {
        client.wait(id, std::time::Instant::now()).result();
    }
    send(&mut client, &buy("z", "")).result();
    assert_eq!(orders(&client.server.home), 7);
}
