//! Upstream servers: clients and plugins can use their tools, and a misbehaving server cannot harm the host.

mod as_given;
mod commands;
mod floods;
mod items;
mod odd_server;
mod processes;
mod restarts;
mod unreadable;

use odd_server::Remote;
pub(crate) use odd_server::misbehaving;
use processes::{kill, programs};
use serde_json::{Value, json};
use std::fs;
use std::time::Duration;
use suite::{Client, Era, Home, PATIENCE, Server, agent, eventually, paths, plugin};

/// Configures another `portcullis serve` as an upstream server over stdio.
pub(crate) fn nested_host(home: &Home, config: &str, settings: &str) -> String {
    let file = home.write("behind.toml", config);
    let words = |path: &std::path::Path| path.display().to_string();
    format!(
        "[upstream.far]\ncommand = [{:?}, \"serve\", \"--config\", {:?}]\nenv = {{ PORTCULLIS_CACHE = {:?}, PORTCULLIS_STATE = {:?} }}\n{settings}\n\n",
        words(&paths::binary()),
        words(&file),
        words(&paths::cache()),
        words(&home.path().join("behind")),
    )
}

/// Waits until the upstream server's tools are listed: compiling its plugins may take longer than the host waits.
pub(crate) fn until_found(mut client: Client) -> Client {
    let found = eventually(PATIENCE, || {
        names(&mut client).iter().any(|name| name.starts_with("far__") || name.starts_with("odd__")).then_some(())
    });
    assert!(found.is_some(), "no server is found\n{}", client.server.log());
    client
}

fn names(client: &mut Client) -> Vec<String> {
    client.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn tools_of_a_server_are_listed_and_called_beside_the_plugins() {
    for era in Era::ALL {
        let home = Home::new();
        let far = nested_host(&home, &(plugin("echo", "") + &plugin("spin", "limits.fuel = 1_000_000")), "");
        let mut client = until_found(Client::new(Server::start_in(home, &(plugin("echo", "") + &far)), era, false));
        assert_eq!(names(&mut client), ["echo__run", "far__echo__run", "far__spin__run"], "{era:?}");
        let tools = client.tools();
        assert_eq!(tools[1]["inputSchema"], tools[0]["inputSchema"], "{era:?}");
        assert_eq!(tools[1]["description"], tools[0]["description"], "{era:?}");
        let source = json!({"upstream": "far", "tool": "echo__run"});
        assert_eq!(tools[1]["_meta"]["dev.portcullis/source"], source, "{era:?}");
        let called = client.call("far__echo__run", json!({"n": 5, "path": "there"}));
        assert!(called.good().contains("there"), "{era:?}: {}", called.result());
        assert_eq!(called.usage()["questions"], 0);
        let null = client.call("far__echo__run", json!({"n": 5, "path": null}));
        assert_eq!(null.result()["structuredContent"]["n"], 5, "{era:?}: {}", null.result());
        let failed = client.call("far__spin__run", json!({}));
        assert!(failed.is_error() && failed.text().contains("fuel"), "{era:?}: {}", failed.result());
        let wrong = client.call("far__echo__run", json!({"n": "no number"}));
        assert_eq!(wrong.code(), "invalid-arguments", "{era:?}: {}", wrong.result());
        assert_eq!(client.request("tools/call", json!({"name": "far__nobody", "arguments": {}})).error_code(), -32602);
        client.check_alive();
    }
}

#[test]
fn an_older_server_is_reached_too() {
    let home = Home::new();
    let far = nested_host(&home, &plugin("echo", ""), "protocol = \"2025-11-25\"");
    let mut client = until_found(Client::of_server(Server::start_in(home, &far)));
    assert!(client.call("far__echo__run", json!({"path": "x"})).good().contains('x'));
}

#[test]
fn a_server_over_http_is_reached() {
    let (far, address) = Server::start_http(&plugin("echo", ""));
    let config = format!("[upstream.far]\nurl = \"http://{address}/mcp\"\n");
    let mut client = until_found(Client::of(&config));
    assert_eq!(names(&mut client), ["far__echo__run"]);
    assert!(client.call("far__echo__run", json!({"path": "x"})).good().contains('x'));
    drop(far);
}

#[test]
fn only_what_is_exposed_is_seen_by_clients() {
    let home = Home::new();
    let far = nested_host(&home, &(plugin("echo", "") + &plugin("spin", "")), "expose = [\"ec*\"]");
    let mut client = until_found(Client::of_server(Server::start_in(home, &far)));
    assert_eq!(names(&mut client), ["far__echo__run"]);
    let hidden = client.request("tools/call", json!({"name": "far__spin__run", "arguments": {}}));
    assert_eq!(hidden.error_code(), -32602);
}

#[test]
fn a_plugin_calls_what_it_was_granted_and_nothing_else() {
    let config = |grant: &str, home: &Home| {
        plugin("relay", &format!("grants.agent-tools = [{grant:?}]"))
            + &plugin("list-agent-tools", &format!("grants.agent-tools = [{grant:?}]"))
            + &nested_host(home, &plugin("echo", ""), "")
    };
    let home = Home::new();
    let text = config("far.*", &home);
    let mut client = until_found(Client::of_server(Server::start_in(home, &text)));
    let called = client.run("relay", json!({"path": "far.echo__run", "n": 5}));
    assert!(called.good().contains("\"n\":5"), "{}", called.result());
    assert_eq!(called.usage()["calls"], 1);
    assert_eq!(client.run("list-agent-tools", json!({})).good(), "far.echo__run");
    let unknown = client.run("relay", json!({"path": "far.nobody"}));
    assert!(unknown.is_error() && unknown.text().contains("far.nobody"), "{}", unknown.result());
    let home = Home::new();
    let text = config("near.*", &home);
    let mut client = until_found(Client::of_server(Server::start_in(home, &text)));
    let denied = client.run("relay", json!({"path": "far.echo__run"}));
    assert_eq!(denied.code(), "denied", "{}", denied.result());
    assert_eq!(client.run("list-agent-tools", json!({})).good(), "");
}

/// The answers of the client's user.
fn answer(method: &str, params: &Value) -> Value {
    assert_eq!(method, "elicitation/create");
    assert_eq!(params["_meta"]["dev.portcullis/source"]["plugin"], "far", "{params}");
    json!({"action": "accept", "content": {"name": "Ada"}})
}

#[test]
fn a_question_of_a_server_is_answered_by_the_client_whose_call_it_is() {
    for (near, far_era) in
        [(Era::Modern, "auto"), (Era::Legacy, "auto"), (Era::Modern, "2025-11-25"), (Era::Legacy, "2025-11-25")]
    {
        let way = format!("{near:?} client, server {far_era}");
        let home = Home::new();
        let far =
            nested_host(&home, &plugin("ask", "grants.client = { form = true }"), &format!("protocol = {far_era:?}"));
        let abilities = json!({"elicitation": {"form": {}}});
        let mut client = until_found(Client::able(Server::start_in(home, &far), near, false, abilities));
        client.answering = Some(answer);
        let arguments = json!({"path": "form"});
        let mut called = client.call("far__ask__run", arguments.clone());
        if near == Era::Modern {
            assert_eq!(called.result()["resultType"], "input_required", "{way}: {}", called.result());
            let asked = called.result()["inputRequests"].as_object().unwrap().clone();
            assert_eq!(asked.len(), 1, "{way}");
            let answers =
                asked.iter().map(|(key, asked)| (key.clone(), answer("elicitation/create", &asked["params"])));
            let answers: serde_json::Map<_, _> = answers.collect();
            let state = called.result()["requestState"].clone();
            let params = json!({"name": "far__ask__run", "arguments": arguments, "requestState": state, "inputResponses": answers});
            called = suite::Called(client.request("tools/call", params));
        }
        assert_eq!(called.good(), r#"{"name":"Ada"}"#, "{way}");
        assert_eq!(called.usage()["questions"], 1, "{way}");
    }
}

#[test]
fn a_client_that_cannot_answer_is_not_asked() {
    let home = Home::new();
    let far = nested_host(&home, &plugin("ask", "grants.client = { form = true }"), "");
    let mut client = until_found(Client::of_server(Server::start_in(home, &far)));
    let called = client.call("far__ask__run", json!({"path": "form"}));
    assert!(called.is_error() && called.text().contains("far"), "{}", called.result());
}

#[test]
fn chunks_of_a_server_are_passed_on() {
    let home = Home::new();
    let far = nested_host(&home, &plugin("slow-stream", ""), "");
    let mut client = until_found(Client::new(Server::start_in(home, &far), Era::Modern, true));
    client.progress = true;
    let called = client.call("far__slow-stream__run", json!({"n": 5}));
    assert_eq!(called.good(), "5 parts");
    let said: Vec<_> =
        called.chunks().iter().map(|chunk| chunk["content"][0]["text"].as_str().unwrap().to_owned()).collect();
    assert_eq!(said, ["part 0", "part 1", "part 2", "part 3", "part 4"]);
    assert_eq!(called.stream()["chunks"], 5, "{}", called.result());
    let done: Vec<_> = called.progress().iter().map(|report| report["progress"].as_f64().unwrap()).collect();
    assert!((done[0], *done.last().unwrap()) == (1.0, 5.0) && done.is_sorted(), "{done:?}");
}

#[test]
fn a_server_that_dies_fails_its_calls_and_comes_back() {
    let home = Home::new();
    let config = plugin("echo", "") + &plugin("wait-forever", "limits.deadline = \"10m\"");
    let far = nested_host(&home, &config, "timeout = \"10m\"");
    let mut client = until_found(Client::of_server(Server::start_in(home, &(plugin("echo", "") + &far))));
    let sent = std::time::Instant::now();
    let id = client.begin_call("far__wait-forever__run", json!({}));
    // The call has certainly been sent once a later one was answered.
    client.call("far__echo__run", json!({})).good();
    let server = programs(&client.server);
    assert_eq!(server.len(), 1, "{server:?}");
    kill(server[0]);
    let called = suite::Called(client.wait(id, sent));
    assert_eq!(called.code(), "upstream-failed", "{}", called.result());
    assert!(called.text().contains("lost"), "{}", called.text());
    let back = eventually(PATIENCE, || {
        let answer = client.request("tools/call", json!({"name": "far__echo__run", "arguments": {}}));
        (answer.message["result"]["isError"] == false).then_some(())
    });
    assert!(back.is_some(), "it does not come back\n{}", client.server.log());
    assert_ne!(programs(&client.server), server);
    client.check_alive();
    assert!(client.server.end().success());
}

#[test]
fn a_server_that_starts_later_is_used_once_it_runs() {
    let home = Home::new();
    let late = home.path().join("late.py");
    let script = paths::root().join("tests/suite/tests/upstream/server.py");
    let (python, file) = (paths::python().display().to_string(), late.display().to_string());
    let config = format!("[upstream.late]\ncommand = [{python:?}, {file:?}]\n\n") + &plugin("echo", "");
    let mut client = Client::new(Server::start_in(home, &config), Era::Legacy, false);
    assert_eq!(names(&mut client), ["echo__run"]);
    client.server.wait_for_log("not connected");
    fs::copy(script, late).unwrap();
    client.wait_for("notifications/tools/list_changed");
    assert_eq!(names(&mut client), ["echo__run", "late__run"]);
    client.call("late__run", json!({})).good();
}

#[test]
fn a_program_gets_no_more_of_the_environment_than_it_needs() {
    // A host that is not confined starts programs itself.
    for arguments in [&[][..], &["--no-confine"]] {
        let config = misbehaving("good", "env = { GIVEN = \"yes\" }");
        let server = Server::spawn(Home::new(), &config, arguments, |command| {
            command.env("A_SECRET", "of the operator's");
        });
        let mut client = until_found(Client::of_server(server));
        let params = json!({"name": "odd__run", "arguments": {}, "_meta": {"dev.portcullis/correlationId": "trip-7"}});
        let called = suite::Called(client.request("tools/call", params));
        let said: Value = serde_json::from_str(&called.good()).unwrap();
        let environment: Vec<_> = said["environment"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(environment.contains(&"GIVEN") && environment.contains(&"PATH"), "{environment:?}");
        assert!(!environment.contains(&"A_SECRET") && !environment.contains(&"PORTCULLIS_STATE"), "{environment:?}");
        assert_eq!(said["correlation"], "trip-7", "the client's mark goes along");
        assert_eq!(called.result()["_meta"]["dev.portcullis/correlationId"], "trip-7");
    }
}

#[test]
fn invalid_results_of_a_server_fail_only_their_call() {
    let cases = [
        ("huge-result", "8388608 bytes"),
        ("huge-line", "lost"),
        ("no-result", "a result of another kind than a tool call's"),
        ("bad-content", "not usable"),
        ("asks-for-ever", "still asked questions"),
    ];
    for (kind, part) in cases {
        let mut client = until_found(Client::of(&(misbehaving(kind, "") + &plugin("echo", ""))));
        let called = client.call("odd__run", json!({}));
        assert_eq!(called.code(), "upstream-failed", "{kind}: {}", called.result());
        assert!(called.text().contains(part), "{kind}: {}", called.text());
        client.check_alive();
        assert!(client.server.memory() < 400 << 20, "{kind}: {} bytes", client.server.memory());
    }
}

#[test]
fn a_silent_server_reaches_its_timeout() {
    let mut client = until_found(Client::of(&misbehaving("silent", "timeout = \"300ms\"")));
    let called = client.call("odd__run", json!({}));
    assert_eq!(called.code(), "deadline-exceeded", "{}", called.result());
    assert_eq!(called.number("limitMs"), 300);
    assert!(called.0.elapsed() < Duration::from_secs(20));
}

/// Each answer comes in time, but there is no end of them.
#[test]
fn rounds_do_not_renew_the_timeout_of_a_call() {
    let mut client = until_found(Client::of(&misbehaving("stalling", "timeout = \"1s\"")));
    let called = client.call("odd__run", json!({}));
    assert_eq!(called.code(), "deadline-exceeded", "{}", called.result());
    assert_eq!(called.number("limitMs"), 1000);
}

#[test]
fn a_tool_list_is_limited() {
    let mut client = until_found(Client::of(&misbehaving("endless-list", "")));
    assert_eq!(names(&mut client).len(), 512, "all on one page");
}

#[test]
fn tools_that_clients_would_take_for_one_another_get_other_names() {
    let mut client = until_found(Client::of(&misbehaving("alike-names", "")));
    let names = names(&mut client);
    assert_eq!(names.len(), 6, "{names:?}");
    let folded: std::collections::BTreeSet<_> =
        names.iter().map(|name| name.chars().take(46).collect::<String>().to_lowercase().replace('-', "_")).collect();
    assert_eq!(folded.len(), 6, "{names:?}");
    assert!(names.iter().all(|name| name.len() <= 64), "{names:?}");
    let mut called: Vec<_> = names.iter().map(|name| client.call(name, json!({})).good()).collect();
    called.sort();
    let long = |end: &str| format!("list_everything_in_the_calendar_of_{}{end}", "somebody_".repeat(9));
    assert_eq!(called, ["A-B".to_owned(), "a.b".into(), "a/b".into(), "a_b".into(), long("one"), long("two")]);
    // What a name needs no change for keeps it, whatever else the server lists.
    assert_eq!(client.call("odd__A-B", json!({})).good(), "A-B");
    client.server.wait_for_log("a tool is exposed as `odd__a_b_");
    assert!(client.tools().iter().all(|tool| tool["_meta"]["dev.portcullis/source"]["upstream"] == "odd"));
    assert!(!json!(client.tools()).to_string().contains("forged"), "its `_meta` is not passed on");
}

#[test]
fn nothing_that_a_server_says_in_our_name_is_believed() {
    let config = plugin("agent-calls", "grants.agent-tools = [\"odd.*\"]") + &misbehaving("our-meta", "");
    let mut client = until_found(Client::new(Server::start(&config), Era::Modern, true));
    let called = client.call("odd__run", json!({}));
    assert_eq!(called.good(), "done");
    let chunks: Vec<Value> = called.chunks().into_iter().cloned().collect();
    assert_eq!(chunks[0]["content"], json!([{"type": "text", "text": "part"}]), "{chunks:?}");
    // It may name tools of its own, never those of this host.
    assert_eq!(chunks[0]["_meta"]["dev.portcullis/origin"], json!(["odd.forged.run"]), "{chunks:?}");
    let said = called.result().to_string() + &json!(chunks).to_string().replace("odd.forged.run", "");
    assert!(!said.contains("forged"), "{said}");
    let relayed = client.run("agent-calls", json!({"path": json!([{"call": {"name": "odd.run"}}]).to_string()}));
    assert!(
        relayed.good().contains("done") && !relayed.result().to_string().contains("forged"),
        "{}",
        relayed.result()
    );
}

#[test]
fn schemas_of_a_server_are_shown_in_words_that_all_clients_know() {
    let mut client = until_found(Client::of(&misbehaving("odd-schemas", "")));
    let schemas: Vec<_> = client.tools().iter().map(|tool| tool["inputSchema"].clone()).collect();
    let itself = json!({"type": "object", "properties": {"a": {"$ref": "#"}}});
    let open = json!({"type": "object", "properties": {"a": {}}});
    assert_eq!(schemas, [itself, open, json!({"type": "object", "properties": {}})]);
    client.server.wait_for_log("schema of tool `itself` refers to itself");
}

#[test]
fn a_form_that_asks_for_a_secret_never_reaches_the_client() {
    let mut client =
        Client::able(Server::start(&misbehaving("secret", "")), Era::Modern, false, json!({"elicitation": {}}));
    let called = client.call("odd__run", json!({}));
    assert_eq!(called.good(), r#"{"action": "decline"}"#);
    client.server.wait_for_log("asks for a secret");
}

#[test]
fn a_server_can_call_back_only_offered_local_components() {
    let agents = agent("echo", "echo", "") + &agent("other", "echo", "");
    let mut client = until_found(Client::of(&(misbehaving("calls", "offer = [\"echo.*\"]") + &agents)));
    let results: Value = serde_json::from_str(&client.call("odd__run", json!({})).good()).unwrap();
    assert_eq!(results.as_object().unwrap().len(), 1, "one is declared: {results}");
    let said = results["call-0"]["content"][0]["text"].as_str().unwrap();
    assert!(said.contains("\"n\":0"), "{results}");
    let wanted = json!({"names": ["other.run", "echo.run", "nobody.run", "odd.run"]});
    let called = client.call("odd__run", wanted);
    let results: Value = serde_json::from_str(&called.good()).unwrap();
    for refused in ["call-0", "call-2", "call-3"] {
        assert_eq!(results[refused]["error"]["code"], "unknown-tool", "{results}");
    }
    assert_eq!(results["call-1"]["isError"], false, "{results}");
    assert_eq!(called.usage()["calls"], 1, "{}", called.result());
    let mut client = until_found(Client::of(&(misbehaving("calls", "") + &agents)));
    assert_eq!(client.call("odd__run", json!({})).good(), "nothing is declared");
}

#[test]
fn a_nested_host_can_call_back_local_components_in_both_eras() {
    for era in ["auto", "2025-11-25"] {
        let home = Home::new();
        let relay = plugin("relay", "grants.agent-tools = [\"echo.*\"]")
            + &plugin("list-agent-tools", "grants.agent-tools = [\"*.*\"]");
        let far = nested_host(&home, &relay, &format!("protocol = {era:?}\noffer = [\"echo.*\"]"));
        let agents = agent("echo", "echo", "") + &agent("other", "echo", "");
        let mut client = until_found(Client::of_server(Server::start_in(home, &(far + &agents))));
        assert_eq!(client.call("far__list-agent-tools__run", json!({})).good(), "echo.run", "{era}");
        for n in 0..3 {
            let called = client.call("far__relay__run", json!({"path": "echo.run", "n": n}));
            assert!(called.good().contains(&format!("\"n\":{n}")), "{era}: {}", called.result());
            assert_eq!(called.usage()["calls"], 1, "{era}: {}", called.result());
        }
        let refused = client.call("far__relay__run", json!({"path": "other.run"}));
        assert!(refused.is_error() && refused.text().contains("other.run"), "{era}: {}", refused.result());
    }
}
