//! Whoever answers after the deadline of a call has still answered: on every way to a person, the deadlines of all calls that
//! wait stand still.

use crate::upstream::{nested_host, until_found};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use suite::{Called, Client, Era, Home, Server, agent_from, paths, plugin_from};

/// The deadline of every plugin here.
const DEADLINE: &str = "limits.deadline = \"5s\"\n";
/// Longer than that.
const ANSWERED_AFTER: Duration = Duration::from_secs(6);

const FILES: &str = r#"grants.filesystem = [{ host = "work", guest = "/files", access = "write" }]"#;

/// A program, a plugin, an agent-side plugin and a server, all of which ask, and call each other.
fn start(era: Era) -> Client {
    let (home, real) = (Home::new(), |name: &str| paths::real_plugin(name));
    let calls = |grants: &str| format!("{DEADLINE}grants.client.form = true\n{grants}");
    let asker = paths::guest("agent-calls");
    let behind =
        plugin_from("asker", &asker, &calls("")) + &plugin_from("files", &real("files"), &format!("{DEADLINE}{FILES}"));
    let far = nested_host(&home, &behind, "");
    let config = "[code]\nplugin = \"code\"\n".to_owned()
        + &plugin_from("code", &real("code"), &format!("{DEADLINE}prefix = false\ngrants.agent-tools = [\"*.*\"]"))
        + &plugin_from("files", &real("files"), &format!("{DEADLINE}{FILES}"))
        + &plugin_from("caller", &asker, &calls("grants.agent-tools = [\"near.*\", \"far.*\"]"))
        + &agent_from("near", &asker, &calls(""))
        + &far;
    let mut client =
        Client::able(Server::start_in(home, &config), era, false, json!({ "elicitation": { "form": {} } }));
    client.answering = (era == Era::Legacy).then_some(|_, question| {
        std::thread::sleep(ANSWERED_AFTER);
        answer(question)
    });
    until_found(client)
}

fn steps(steps: Value) -> Value {
    json!({ "path": steps.to_string() })
}

/// Calls a tool that asks, and then one that does not.
fn nested(name: &str) -> Value {
    let call = |inner: Value| json!({ "call": { "name": name, "arguments": steps(inner) } });
    steps(json!([call(json!([{ "ask": "who" }])), call(json!([{ "emit": "after" }]))]))
}

fn program(tool: &str) -> Value {
    json!({ "code": format!("await tools.{tool}({{ path: '/files/a', text: 'x', mode: 'replace' }}); await tools.{tool}({{ path: '/files/b', text: 'x', mode: 'replace' }}); return 'done'") })
}

/// Calls that wait for a person, and what they answer at last.
fn calls() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("run_code", program("files.write"), "done"),
        ("run_code", program("far.files__write"), "done"),
        (
            "caller__run",
            steps(json!([{ "ask": "who" }, { "call": { "name": "near.run", "arguments": steps(json!([])) } }])),
            "Ada",
        ),
        ("caller__run", nested("near.run"), "Ada"),
        ("caller__run", nested("far.asker__run"), "Ada"),
        ("far__asker__run", steps(json!([{ "ask": "who" }, { "emit": "after" }])), "Ada"),
    ]
}

fn answer(question: &Value) -> Value {
    let of_approval = question["requestedSchema"]["properties"].get("allow").is_some();
    json!({ "action": "accept", "content": if of_approval { json!({ "allow": "once" }) } else { json!({ "name": "Ada" }) } })
}

/// Nothing in it says that somebody was late, or that something was not done.
fn check(tool: &str, arguments: &Value, expected: &str, called: &Called) {
    let said = called.good();
    assert!(said.contains(expected) && !said.contains("error"), "{tool} {arguments}: {said}");
}

#[test]
fn an_answer_after_the_deadline_counts() {
    let mut client = start(Era::Modern);
    let mut waiting: Vec<_> = calls()
        .into_iter()
        .map(|(tool, arguments, expected)| {
            let called = client.call(tool, arguments.clone());
            (tool, arguments, expected, called)
        })
        .collect();
    while waiting.iter().any(|(.., called)| called.result()["resultType"] == "input_required") {
        std::thread::sleep(ANSWERED_AFTER);
        for (tool, arguments, _, called) in &mut waiting {
            let Some(asked) = called.result()["inputRequests"].as_object() else { continue };
            let answers: serde_json::Map<_, _> =
                asked.iter().map(|(key, asked)| (key.clone(), answer(&asked["params"]))).collect();
            let state = &called.result()["requestState"];
            let params =
                json!({ "name": tool, "arguments": arguments, "requestState": state, "inputResponses": answers });
            let id = client.begin("tools/call", params);
            *called = Called(client.wait(id, Instant::now()));
        }
    }
    for (tool, arguments, expected, called) in &waiting {
        check(tool, arguments, expected, called);
    }
    assert!(client.server.home.work().join("b").exists());
}

/// The same where the server asks within the open request.
#[test]
fn an_answer_after_the_deadline_counts_within_the_request() {
    let mut client = start(Era::Legacy);
    for (tool, arguments, expected) in calls().drain(1..5) {
        let called = client.call(tool, arguments.clone());
        check(tool, &arguments, expected, &called);
    }
}
