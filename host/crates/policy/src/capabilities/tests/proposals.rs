//! How requests and grants are shown, and which grants are proposed.

use crate::capabilities::*;

const ALL: &str = r#"
    filesystem = "read"
    agent-tools = ["notes.*"]
    client = { form = true, url = true, sample = true, roots = true }
    publish = true
    events = ["a.*"]
    connections = ["github"]
    http = ["GET,POST https://a.example/v1/", "https://*.b.example"]
    secrets = ["key"]
    env = ["TZ"]
    state = true
    scratch = true"#;

#[test]
fn a_server_of_this_machine_is_proposed_as_such() {
    let all: Requests =
        toml::from_str("http = [\"http://localhost:8080/\", \"https://a.example\"]\nsecrets = [\"key\"]").unwrap();
    // The earlier version already requested the servers.
    let new = Requests { secrets: all.secrets.clone(), ..Requests::default() };
    let lines = |requests: &Requests| requests.proposals(&all).into_iter().map(|it| it.line).collect::<Vec<_>>();
    let secret = r#"secrets = [{ name = "key", hosts = ["localhost", "a.example"] }]"#;
    let local = r#"http = [{ allow = "http://localhost:8080/", private = true }]"#;
    assert_eq!(lines(&all), [local, r#"http = [{ allow = "https://a.example" }]"#, secret]);
    assert_eq!(lines(&new), [secret]);
}

#[test]
fn only_new_requests_are_proposed() {
    let new: Requests = toml::from_str(ALL).unwrap();
    assert_eq!(new.added_to(&Requests::default()), new);
    assert_eq!(new.added_to(&new), Requests::default());
    let old = Requests { filesystem: None, http: new.http[1..].to_vec(), state: false, ..new.clone() };
    let keys: Vec<_> = new.added_to(&old).proposals(&new).into_iter().map(|it| it.capability.key).collect();
    assert_eq!(keys, ["filesystem", "http", "state"]);
}

#[test]
fn what_is_granted_in_part_is_not_proposed_again() {
    let requests: Requests = toml::from_str(ALL).unwrap();
    assert_eq!(requests.ungranted(&Grants::default()), requests);
    let grants = r#"
        filesystem = [{ host = "/srv", guest = "/srv", access = "read" }]
        agent-tools = ["notes.add"]
        client = { form = true, url = ["a.example"], sample = {}, roots = true }
        publish = true
        events = ["*.*"]
        connections = ["github"]
        http = [{ allow = "GET https://a.example/v1/x/" }, { allow = "https://www.b.example" }]
        secrets = [{ name = "key", hosts = ["a.example"] }]
        env = ["TZ"]
        state = {}
        scratch = {}"#;
    let mut grants: Grants = toml::from_str(grants).unwrap();
    assert_eq!(requests.ungranted(&grants), Requests::default());
    let more = ALL.replace("\"read\"", "\"write\"").replace("[\"TZ\"]", "[\"TZ\", \"LANG\"]");
    grants.state = None;
    let more: Requests = toml::from_str(&more).unwrap();
    let open = more.ungranted(&grants).proposals(&more);
    let lines: Vec<_> = open.iter().map(|it| it.line.as_str()).collect();
    let mount = r#"filesystem = [{ host = "DIRECTORY", guest = "/PATH", access = "write" }]"#;
    assert_eq!(lines, [mount, r#"env = ["LANG"]"#, "state = {}"]);
}

#[test]
fn every_request_has_a_description() {
    let capabilities = toml::from_str::<Requests>(ALL).unwrap().described();
    assert_eq!(capabilities.len(), 15);
    assert!(capabilities.iter().all(|capability| capability.effect.len() > 20));
    assert!(Requests::default().described().is_empty());
}

#[test]
fn every_capability_has_a_line() {
    let requests = r#"
        filesystem = "read"
        agent-tools = ["notes.*"]
        client = { form = true, url = true, sample = true, roots = true }
        publish = true
        events = ["policy.*"]
        connections = ["github"]
        http = ["https://api.example.com"]
        secrets = ["token"]
        env = ["TZ"]
        state = true
        scratch = true
    "#;
    let requests: Requests = toml::from_str(requests).unwrap();
    let keys: Vec<_> = requests.lines().into_iter().map(|(key, _)| key).collect();
    let expected = [
        "filesystem",
        "http",
        "secrets",
        "connections",
        "agent-tools",
        "client.form",
        "client.url",
        "client.sample",
        "client.roots",
        "publish",
        "events",
        "env",
        "state",
        "scratch",
    ];
    assert_eq!(keys, expected);
    let grants = r#"
        agent-tools = ["notes.*"]
        client = { form = true, url = ["x.org"], sample = {}, roots = true }
        publish = true
        events = ["policy.*"]
        connections = ["github"]
        http = [{ allow = "https://api.example.com" }]
        secrets = [{ name = "token", hosts = ["api.example.com"] }]
        env = ["TZ"]
        state = {}
        scratch = {}
        flows = ["client -> host-model"]
    "#;
    let grants: Grants = toml::from_str(grants).unwrap();
    let keys: Vec<_> = grants.lines(&[]).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys[..13], expected[1..]);
    assert_eq!(keys[13..], ["flows"]);
}
