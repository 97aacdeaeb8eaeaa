//! The orchestrator: one request to several sources, one of which fails during the call.

use serde_json::{Value, json};
use std::fs;
use std::time::Instant;
use suite::{Called, Client, Era, Home, PATIENCE, Server, agent, digest, eventually, paths, plugin, plugin_from};

const TOOL: &str = "orchestrator__investigate";
const ORIGIN: &str = "dev.portcullis/origin";

/// A home with the folders of two sources.
fn home() -> Home {
    let home = Home::new();
    for (name, text) in [("alpha", "alpha says so"), ("beta", "beta says so")] {
        fs::create_dir(home.path().join(name)).unwrap();
        home.write(&format!("{name}/text"), text);
    }
    home
}

/// A source with its own folder.
fn source(name: &str, settings: &str) -> String {
    let grant = format!(r#"grants.filesystem = [{{ host = "{name}", guest = "/work", access = "read" }}]"#);
    agent(name, "searcher", &format!("{grant}\n{settings}"))
}

fn config(alpha: &str) -> String {
    plugin_from("orchestrator", &paths::real_plugin("orchestrator"), r#"grants.agent-tools = ["*.search"]"#)
        + &source("alpha", alpha)
        + &source("beta", "")
}

fn report(called: &Called) -> &Value {
    assert!(!called.is_error(), "{}", called.result());
    &called.result()["structuredContent"]
}

/// The answer and the source of each part.
fn answers(report: &Value) -> Vec<(&str, &str)> {
    let parts = report["parts"].as_array().unwrap().iter();
    parts.map(|part| (part["answer"]["text"].as_str().unwrap(), part["answer"]["source"].as_str().unwrap())).collect()
}

/// The messages of a source about a part, in order of arrival.
fn heard<'a>(called: &'a Called, source: &str, part: &str) -> Vec<&'a str> {
    let from = |chunk: &&&Value| chunk["_meta"][ORIGIN] == json!([source]);
    let texts = called
        .chunks()
        .into_iter()
        .filter(|chunk| from(&chunk))
        .map(|chunk| chunk["content"][0]["text"].as_str().unwrap());
    texts.filter(|text| text.ends_with(&format!(" {part}"))).collect()
}

#[test]
fn parts_are_answered_in_parallel_by_all_sources() {
    for era in Era::ALL {
        let mut client = Client::new(Server::start_in(home(), &config("")), era, true);
        let called = client.call(TOOL, json!({"request": "one; two; three"}));
        let expected = [
            ("one: alpha says so", "alpha.search"),
            ("two: beta says so", "beta.search"),
            ("three: alpha says so", "alpha.search"),
        ];
        assert_eq!(answers(report(&called)), expected, "{era:?}");
        assert_eq!(report(&called)["parts"][0]["answer"]["origin"], "the component alpha");
        assert_eq!(heard(&called, "alpha.search", "three"), ["looking for three", "found three"], "{era:?}");
        assert_eq!(heard(&called, "beta.search", "two"), ["looking for two", "found two"], "{era:?}");
        assert_eq!(called.stream()["sha256"], digest(called.chunks()));
        assert_eq!(called.usage()["calls"], 3);
    }
}

#[test]
fn parts_of_a_failed_source_are_sent_to_another() {
    let home = home();
    home.write("alpha/broken", "");
    let mut client = Client::new(Server::start_in(home, &config("")), Era::Modern, true);
    let called = client.call(TOOL, json!({"request": "one; two; three"}));
    let report = report(&called);
    let sources: Vec<_> = answers(report).into_iter().map(|(_, source)| source).collect();
    assert_eq!(sources, ["beta.search"; 3]);
    assert_eq!(report["given_up"][0]["source"], "alpha.search", "{report}");
    assert_eq!(heard(&called, "alpha.search", "one"), ["looking for one"], "it got no further");
    assert_eq!(heard(&called, "beta.search", "one"), ["looking for one", "found one"]);
    assert_eq!(called.usage()["calls"], 5, "the broken one was asked about two parts, once each");
}

#[test]
fn a_source_that_hangs_is_stopped_and_replaced() {
    let home = home();
    home.write("alpha/stuck", "");
    let mut client = Client::new(Server::start_in(home, &config("")), Era::Modern, true);
    let called = client.call(TOOL, json!({"request": "one; two", "patience": 1}));
    let report = report(&called);
    assert_eq!(answers(report), [("one: beta says so", "beta.search"), ("two: beta says so", "beta.search")]);
    let why = report["parts"][0]["troubles"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("no answer within"), "{why}");
    assert_eq!(report["given_up"], json!([]), "it may be good for something else");
}

#[test]
fn without_a_source_the_error_names_the_expected_sources() {
    let bare = plugin_from("orchestrator", &paths::real_plugin("orchestrator"), "") + &source("alpha", "");
    let mut client = Client::new(Server::start_in(home(), &bare), Era::Modern, true);
    let called = client.call(TOOL, json!({"request": "one"}));
    assert_eq!(called.code(), "unsupported", "{}", called.result());
    assert!(called.text().contains("*search"), "{}", called.text());
}

/// A separate server whose tool is a source, and the configuration with which the host reaches it.
fn server(name: &str, stuck: bool) -> (Server, String) {
    let home = home();
    if stuck {
        home.write(&format!("{name}/stuck"), "");
    }
    let grant = format!(r#"grants.filesystem = [{{ host = "{name}", guest = "/work", access = "read" }}]"#);
    let (server, address) = Server::start_http_in(home, &plugin("searcher", &grant));
    (server, format!("[upstream.{name}]\nurl = \"http://{address}/mcp\"\n"))
}

#[test]
fn a_server_killed_during_the_call_is_replaced() {
    const ALPHA: &str = "alpha.searcher__search";
    const BETA: &str = "beta.searcher__search";
    for era in Era::ALL {
        let ((mut alpha, to_alpha), (_beta, to_beta)) = (server("alpha", true), server("beta", false));
        let grants = r#"grants.agent-tools = ["*.*search"]"#;
        let orchestrator = plugin_from("orchestrator", &paths::real_plugin("orchestrator"), grants);
        let front = Server::start(&(orchestrator + &to_alpha + &to_beta));
        let mut client = Client::new(front, era, true);
        // The host connects to upstream servers after it has started serving.
        let found = eventually(PATIENCE, || (client.tools().len() == 3).then_some(()));
        assert!(found.is_some(), "{era:?}: {:?}\n{}", client.tools(), client.server.log());
        let id = client.begin_call(TOOL, json!({"request": "one; two; three"}));
        let mut before = vec![];
        while before.last().is_none_or(|chunk: &Value| chunk["_meta"][ORIGIN] != json!([ALPHA])) {
            before.push(client.wait_for(Called::CHUNK)["params"].clone());
        }
        alpha.kill();
        let called = Called(client.wait(id, Instant::now()));
        let report = report(&called);
        let expected = [("one: beta says so", BETA), ("two: beta says so", BETA), ("three: beta says so", BETA)];
        assert_eq!(answers(report), expected, "{era:?}");
        assert_eq!(report["parts"][0]["answer"]["origin"], "the server beta");
        assert_eq!(report["given_up"][0]["source"], ALPHA, "{report}");
        assert_eq!(report["parts"][0]["troubles"][0]["source"], ALPHA, "{report}");
        assert_eq!(report["parts"][1]["troubles"], json!([]), "{era:?}: this one was never asked of it");
        assert_eq!(heard(&called, BETA, "three"), ["looking for three", "found three"], "{era:?}");
        let numbers: Vec<_> = before.iter().chain(called.chunks()).map(|chunk| chunk["seq"].clone()).collect();
        assert_eq!(json!(numbers), json!((0..numbers.len()).collect::<Vec<_>>()), "{era:?}: one sequence");
        assert_eq!(called.stream()["sha256"], digest(before.iter().chain(called.chunks())), "{era:?}");
    }
}
