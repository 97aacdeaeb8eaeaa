//! Dice, from the manifest to the audit record.

use serde_json::{Value, json};
use std::fs;
use suite::{Client, Home, Server, paths, plugin, portcullis};

#[test]
fn dice_need_a_grant() {
    let mut client = Client::of(&plugin("dice", ""));
    let denied = client.run("dice", json!({"n": 6}));
    let sentence = "denied: dice `a die` is not granted. Ask the user, who alone can allow it";
    assert!(denied.is_error() && denied.text().contains(sentence), "{}", denied.text());
    client.server.wait_for_log("To allow it: portcullis grant dice 'dice = true'");
    assert!(client.server.end().success());
    let home = &client.server.home;
    let journal = fs::read_to_string(home.path().join("state/audit/audit.jsonl")).unwrap();
    let records = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let denials: Vec<_> = records.filter(|record| record["event"] == "denial").collect();
    let [denial] = &denials[..] else { panic!("{denials:?}") };
    assert_eq!((&denial["capability"], &denial["reason"]), (&json!("dice"), &json!("is not granted")));

    assert_eq!(portcullis(home, &["policy", "test", "dice", "dice"]).status, Some(1));
    portcullis(home, &["grant", "dice", "dice = true", "--yes"]).good();
    portcullis(home, &["policy", "test", "dice", "dice"]).good();
    let config = fs::read_to_string(home.path().join("portcullis.toml")).unwrap();
    let mut client = Client::of_server(Server::start(&config));
    for _ in 0..20 {
        let rolled: u32 = client.run("dice", json!({"n": 6})).good().parse().unwrap();
        assert!((1..=6).contains(&rolled), "{rolled}");
    }
    assert!(client.run("dice", json!({"n": 0})).text().contains("at least one side"));
}

#[test]
fn dice_are_shown_to_the_operator() {
    let home = Home::new();
    let guest = paths::guest("dice");
    let config = "[server]\nstate = \"state\"\n\n".to_owned() + &plugin("dice", "grants.dice = true");
    home.write("portcullis.toml", config);
    home.write("other.wasm", fs::read(&guest).unwrap());
    let lines = |arguments: &[&str]| {
        let said = portcullis(&home, arguments).good().to_owned();
        said.lines().filter(|line| line.split_whitespace().eq(["dice", "yes"])).count()
    };
    assert_eq!(lines(&["check", &guest.display().to_string()]), 1, "the request");
    assert_eq!(lines(&["plugin", "show", "dice"]), 2, "the request and the grant");
    let rights = portcullis(&home, &["policy", "show", "dice"]);
    assert!(rights.good().contains("effective  yes"), "{rights:?}");

    let install = ["plugin", "install", "./other.wasm", "--name", "other"];
    let asked = portcullis(&home, &install);
    assert!(asked.refused().contains("--yes-grant 'dice = true'"), "{asked:?}");
    let installed = portcullis(&home, &[&install[..], &["--yes", "--yes-grant", "dice = true"]].concat());
    for part in ["it rolls dice", "dice, if you grant them"] {
        assert!(installed.good().contains(part), "{part} is not said: {installed:?}");
    }
}
