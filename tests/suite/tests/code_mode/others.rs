//! Programs that call tools outside this host.

use super::{ALL, FILES, config, program, result, run};
use crate::client_tools::{EXTENSION, answer, asked, declaring, tool};
use crate::upstream::{nested_host, until_found};
use serde_json::json;
use std::time::Instant;
use suite::{Called, Client, Era, Home, PATIENCE, Server, eventually, paths, plugin, plugin_from};

/// Tools of the client and of a server behind the host are called like those of plugins.
#[test]
fn programs_call_tools_of_the_client_and_of_servers_behind_the_host() {
    let declared = declaring(&[tool("calendar.free_slots")], json!({}));
    let home = Home::new();
    let far = nested_host(&home, &plugin("echo", ""), "");
    let server = Server::start_in(home, &(config("approval = \"never\"", ALL) + &far));
    let mut client = until_found(Client::able(server, Era::Modern, false, declared));
    let code = "const [mine, theirs] = [await tools.calendar.free_slots({ day: 3 }), await tools.far.echo__run({ n: 4 })];\n\
                return { mine, n: theirs.n };";
    let asked_for = run(&mut client, code);
    let (key, call) = asked(&asked_for).iter().next().unwrap();
    assert_eq!((&call["name"], &call["arguments"]), (&json!("calendar.free_slots"), &json!({ "day": 3 })));
    let results = json!({ key: answer(call) });
    let brought = json!({ "continuation": asked_for.result()["continuation"], "results": results });
    let mut params = program(code);
    params["_meta"] = json!({ EXTENSION: brought });
    let id = client.begin("tools/call", params);
    let done = Called(client.wait(id, Instant::now()));
    assert_eq!(result(&done), json!({ "mine": "free on 3", "n": 4 }), "{}", done.result());
}

/// A server may say at any time that a tool changes nothing. What counts is what the operator has read and pinned.
#[test]
fn hints_of_a_server_count_only_if_its_definitions_are_pinned() {
    let asks = json!({ "elicitation": { "form": {} } });
    let start = |pin: &str| {
        let home = Home::new();
        let far = nested_host(&home, &plugin_from("files", &paths::real_plugin("files"), FILES), pin);
        Client::able(Server::start_in(home, &(config("", ALL) + &far)), Era::Modern, false, asks.clone())
    };
    let code = "return await tools.far.files__list({ path: '/files' });";
    let mut unpinned = until_found(start(""));
    let asked = run(&mut unpinned, code);
    let questions = asked.result()["inputRequests"].as_object().unwrap_or_else(|| panic!("{}", asked.result()));
    assert!(questions.values().all(|it| it["params"]["message"].as_str().unwrap().contains("far.files__list")));
    let other = start(&format!("definitions = \"sha256:{}\"", "0".repeat(64)));
    let pin = eventually(PATIENCE, || {
        let log = other.server.log().replace('\\', "");
        let (_, after) = log.split_once("accept them, set `")?;
        Some(after.split_once('`')?.0.to_owned())
    });
    let mut pinned = until_found(start(&pin.expect("the log says how to pin them")));
    assert!(run(&mut pinned, code).good().contains("\"result\""), "it says that it only reads");
}
