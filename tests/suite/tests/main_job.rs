//! The main use case: a survey of a granted tree that streams and calls the agent back, with the same result with and
//! without streaming.

use serde_json::{Value, json};
use std::fs;
use suite::{Client, Era, Home, Server, agent_from, paths, plugin_from};

const SURVEY: &str = r#"grants.filesystem = [{ host = "tree", guest = "/src", access = "read" }]"#;
const NOTES: &str = r#"grants.filesystem = [{ host = "notes", guest = "/notes", access = "write" }]"#;
const CALLS: &str = r#"grants.agent-tools = ["notes.*"]"#;

fn home() -> Home {
    let home = Home::new();
    for folder in ["tree/first", "tree/second/deeper", "tree/target", "notes"] {
        fs::create_dir_all(home.path().join(folder)).unwrap();
    }
    home.write("tree/first/one.rs", "fn main() {\n    // TODO: everything\n}\n");
    home.write("tree/second/two.py", "print('two')\n");
    home.write("tree/second/deeper/three.md", "# Three\n\nFIXME later\n");
    home.write("tree/target/built.rs", "not counted\n");
    home
}

fn client(era: Era, extension: bool, survey: &str) -> Client {
    let config = plugin_from("survey", &paths::real_plugin("survey"), survey)
        + &agent_from("notes", &paths::real_plugin("notes"), NOTES);
    Client::new(Server::start_in(home(), &config), era, extension)
}

#[test]
fn a_survey_streams_and_saves_a_note() {
    for era in Era::ALL {
        let mut client = client(era, true, &format!("{SURVEY}\n{CALLS}"));
        client.progress = true;
        let called = client.call("survey__survey", json!({}));
        called.good();
        let report = &called.result()["structuredContent"];
        assert_eq!(report["totals"]["files"], 3, "{report}");
        assert_eq!(report["totals"]["todos"], 2, "{report}");
        let folders: Vec<_> = report["folders"].as_array().unwrap().iter().map(|folder| &folder["path"]).collect();
        assert_eq!(folders, ["/src/first", "/src/second", "/src/second/deeper"]);
        assert_eq!(called.chunks().len(), 3, "one chunk per folder");
        assert!(called.chunks()[0].to_string().contains("first"), "{}", called.chunks()[0]);
        let progress: Vec<_> = called.progress().iter().map(|report| report["progress"].as_f64().unwrap()).collect();
        assert!(progress.is_sorted_by(|a, b| a < b), "{progress:?}");

        assert_eq!(report["note"]["status"], "saved", "{report}");
        assert_eq!(called.usage()["calls"], 1);
        let note = report["note"]["path"].as_str().unwrap().replacen("/notes", "notes", 1);
        let text = fs::read_to_string(client.server.home.path().join(note)).unwrap();
        assert!(text.contains("Python") || text.contains("Rust"), "{text}");
    }
}

#[test]
fn the_result_is_the_same_with_and_without_chunks() {
    for era in Era::ALL {
        let report = |extension| {
            let mut client = client(era, extension, &format!("{SURVEY}\n{CALLS}"));
            client.call("survey__survey", json!({"note": false})).substance().to_string()
        };
        assert_eq!(report(true), report(false), "{era:?}");
    }
}

#[test]
fn without_the_grant_the_survey_says_what_is_missing() {
    let mut client = client(Era::Modern, false, SURVEY);
    let called = client.call("survey__survey", json!({}));
    called.good();
    let note = &called.result()["structuredContent"]["note"];
    assert_eq!(note["status"], "not-saved");
    let reason = note["reason"].as_str().unwrap();
    assert!(reason.ends_with("Ask the user, who alone can allow it"), "{reason}");
    let told = client.server.wait_for_log("portcullis grant survey '");
    assert!(told.contains(r#"agent-tools = ["notes.add"]"#), "{told}");
    assert!(fs::read_dir(client.server.home.path().join("notes")).unwrap().next().is_none());
}

fn files(access: &str) -> Client {
    let grant = format!(r#"grants.filesystem = [{{ host = "tree", guest = "/src", access = "{access}" }}]"#);
    let config = plugin_from("files", &paths::real_plugin("files"), &grant);
    Client::new(Server::start_in(home(), &config), Era::Modern, true)
}

#[test]
fn files_are_read_searched_and_listed() {
    let mut client = files("read");
    let called = client.call("files__read", json!({"path": "/src/first/one.rs"}));
    assert!(called.good().contains("// TODO: everything"), "{}", called.text());
    let called = client.call("files__search", json!({"pattern": "TODO|FIXME"}));
    called.good();
    let matches: Vec<Value> = called.result()["structuredContent"]["matches"].as_array().unwrap().clone();
    let found: Vec<_> =
        matches.iter().map(|found| (found["path"].as_str().unwrap(), found["line"].as_u64().unwrap())).collect();
    assert_eq!(found, [("/src/first/one.rs", 2), ("/src/second/deeper/three.md", 3)]);
    assert_eq!(called.chunks().len(), 2, "matches stream file by file");
    let called = client.call("files__list", json!({"path": "/src"}));
    assert!(called.good().contains("first"), "{}", called.text());
}

#[test]
fn files_outside_or_granted_for_reading_only_are_denied() {
    let mut client = files("read");
    for (tool, arguments) in [
        ("files__read", json!({"path": "/src/../outside/secret.txt"})),
        ("files__read", json!({"path": "../../etc/passwd"})),
        ("files__read", json!({"path": "/etc/passwd"})),
        ("files__write", json!({"path": "/src/new.txt", "text": "x"})),
    ] {
        let called = client.call(tool, arguments.clone());
        assert_eq!(called.code(), "denied", "{arguments}: {}", called.result());
        assert_eq!(called.error()["capability"], "filesystem");
        assert!(!called.text().contains("portcullis"), "{arguments}: {}", called.text());
        assert!(called.error()["remedy"].as_str().unwrap().contains("portcullis grant files 'filesystem = ["));
    }
    assert!(!client.server.home.path().join("tree/new.txt").exists());
    let mut client = files("write");
    client.call("files__write", json!({"path": "/src/new.txt", "text": "written"})).good();
    assert_eq!(fs::read_to_string(client.server.home.path().join("tree/new.txt")).unwrap(), "written");
}
