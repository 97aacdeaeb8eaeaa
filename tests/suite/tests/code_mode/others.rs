//! Programs that call tools outside this host.

use super::{ALL, config, program, result, run};
use crate::client_tools::{EXTENSION, answer, asked, declaring, tool};
use crate::upstream::{nested_host, until_found};
use serde_json::json;
use std::time::Instant;
use suite::{Called, Client, Era, Home, Server, plugin};

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
