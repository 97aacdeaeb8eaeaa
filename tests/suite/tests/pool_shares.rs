//! Shares of the instances: whatever one user's calls hold while they wait, in one large component or in many nested calls,
//! others are served.

use serde_json::{Value, json};
use std::fs;
use std::net::SocketAddr;
use std::time::Instant;
use suite::http::request;
use suite::mangle::with_instances;
use suite::{Called, Home, PATIENCE, Server, agent, eventually, modern_meta, paths, plugin, plugin_from};

const AUTH: &str = "[server.auth]\nkeys = \"keys.toml\"\n\n";
/// Lets a call of Ann's be parked however many there are.
const MANY: &str = "[server]\nparked = { calls = 100_000, per-principal = 100_000, memory = \"64 GiB\" }\n\n";
const FORM: &str = "grants.client.form = true";

/// A user over HTTP, who can be asked.
struct User {
    address: SocketAddr,
    bearer: String,
}

impl User {
    fn send(&self, mut params: Value) -> Called {
        params["_meta"] = modern_meta(false);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {"form": {}}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let headers = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", params["name"].as_str().unwrap()),
            ("Authorization", &self.bearer),
        ];
        let sent = Instant::now();
        Called(request(self.address, "POST", &headers, &body.to_string()).answer(1, sent))
    }

    fn call(&self, tool: &str, arguments: Value) -> Called {
        self.send(json!({"name": tool, "arguments": arguments}))
    }

    /// Calls something that asks. The state of the parked call, if it is parked.
    fn park(&self, tool: &str, arguments: Value) -> Option<Value> {
        self.call(tool, arguments).0.message["result"].get("requestState").cloned()
    }

    /// Calls something that asks so many questions at once, and comes back without answers until all of them are asked together: on a
    /// slow machine, the first is asked before the last nested call has begun. The state of the parked call.
    fn park_all(&self, tool: &str, arguments: &Value, questions: usize) -> Value {
        let mut asked = self.call(tool, arguments.clone());
        let all = eventually(PATIENCE, || {
            let result = asked.result();
            if result["inputRequests"].as_object().is_some_and(|asked| asked.len() == questions) {
                return Some(result["requestState"].clone());
            }
            let mut params = json!({"name": tool, "arguments": arguments});
            // A call that goes too long without answers has ended: then this begins another one.
            if let Some(state) = result.get("requestState") {
                params["requestState"] = state.clone();
            }
            asked = self.send(params);
            None
        });
        all.expect("all questions are asked together")
    }

    fn resume(&self, tool: &str, arguments: Value, state: &Value) -> Called {
        let answers = json!({"user_name": {"action": "accept", "content": {"name": "Ann"}}});
        self.send(json!({"name": tool, "arguments": arguments, "requestState": state, "inputResponses": answers}))
    }
}

fn users(home: Home, config: &str) -> (Server, User, User) {
    let keys = home.keys(["ann", "bob"]);
    let (server, address) = Server::start_http_in(home, &format!("{AUTH}{config}"));
    let [ann, bob] = keys.map(|key| User { address, bearer: format!("Bearer {key}") });
    (server, ann, bob)
}

/// `ask` with nearly as many core instances as a component may have.
fn large(home: &Home) -> String {
    let bytes = with_instances(&fs::read(paths::guest("ask")).unwrap(), 27);
    plugin_from("large", &home.write("large.wasm", bytes), FORM)
}

/// A call that makes 8 calls at once, each of which makes 8 that ask: 73 instances.
fn fan() -> (String, Value) {
    let granted = "grants.agent-tools = [\"*.*\"]";
    // All calls below share both. What is not answered is asked again, and counts again.
    let root = format!("{granted}\nlimits.parallel = 64\nlimits.questions = 10_000");
    let config = plugin("agent-calls", &root) + &agent("middle", "agent-calls", granted) + &agent("ask", "ask", FORM);
    let eight = |call: Value| json!([{"many": vec![call; 8]}]).to_string();
    let below = eight(json!({"name": "ask.run"}));
    (config, json!({"path": eight(json!({"name": "middle.run", "arguments": {"path": below}}))}))
}

#[test]
fn parked_calls_of_large_components_leave_room_for_others() {
    let home = Home::new();
    let config = MANY.to_owned() + &large(&home) + &plugin("echo", "");
    let (_server, ann, bob) = users(home, &config);
    let parked = (0..240).filter(|_| ann.park("large__run", json!({})).is_some()).count();
    assert!(bob.call("echo__run", json!({"path": "Bob"})).good().contains("Bob"), "beside {parked} parked calls");
    assert!(bob.park("large__run", json!({})).is_some(), "beside {parked} parked calls");
    println!("hostile: large components: {parked} parked calls of 31 instances each, and others are served");
    assert_eq!(parked, 240);
}

#[test]
fn calls_with_many_nested_ones_leave_room_for_others() {
    let (fan, arguments) = fan();
    let (_server, ann, bob) = users(Home::new(), &(MANY.to_owned() + &fan + &plugin("echo", "")));
    // On a slow machine, they are parked before all of their calls have begun, and more of them find room.
    let mut answers = (0..200).map(|_| ann.call("agent-calls__run", arguments.clone())).enumerate();
    let refused = answers.find(|(_, answer)| answer.0.message["result"].get("requestState").is_none());
    let (parked, refused) = refused.expect("one finds no room");
    assert!(bob.call("echo__run", json!({"path": "Bob"})).good().contains("Bob"), "beside {parked} parked calls");
    assert!(bob.park("agent-calls__run", arguments).is_some(), "beside {parked} parked calls");
    println!("hostile: nested calls: {parked} parked calls of 73 instances each, and others are served");
    // Hers do not wait for each other: those that found no room know why.
    assert!(parked >= 3);
    let refused = refused.result().to_string();
    assert!(refused.contains("busy: your calls, nested and suspended ones included"), "{refused}");
}

#[test]
fn nested_calls_count_among_the_parked_ones() {
    let (fan, arguments) = fan();
    let parked = "[server]\nparked = { calls = 200, per-principal = 100, memory = \"1 GiB\", stored = false }\n\n";
    let (_server, ann, bob) = users(Home::new(), &(parked.to_owned() + &fan + &plugin("ask", FORM)));
    let his = bob.park("ask__run", json!({})).unwrap();
    let small = ann.park("ask__run", json!({})).unwrap();
    let states = [(); 2].map(|()| ann.park_all("agent-calls__run", &arguments, 64));
    // Twice 73 are more than 100, so the older ones have made room.
    assert_eq!(ann.resume("ask__run", json!({}), &small).0.error_code(), -32602);
    assert_eq!(ann.resume("agent-calls__run", arguments.clone(), &states[0]).0.error_code(), -32602);
    assert!(ann.resume("agent-calls__run", arguments, &states[1]).0.message.get("error").is_none());
    assert!(bob.resume("ask__run", json!({}), &his).good().contains("Ann"));
}

/// A call that asks 20 times, beside seven that wait with 20 MiB each.
fn beside_waiting() -> (String, Value) {
    let granted = "grants.agent-tools = [\"*.*\"]";
    let config = plugin("agent-calls", granted) + &agent("wait", "wait-forever", "") + &agent("ask", "ask", FORM);
    let mut calls = vec![json!({"name": "wait.run", "arguments": {"n": 20}}); 7];
    calls.push(json!({"name": "ask.run", "arguments": {"path": "rounds", "n": 20}}));
    (config, json!({"path": json!([{"many": calls}]).to_string()}))
}

/// Answers all but the last question, so that those beside it come to have their memory however slow the machine is.
fn park_beside_waiting(user: &User, arguments: &Value) -> Called {
    let mut asked = user.call("agent-calls__run", arguments.clone());
    for round in 0..19 {
        let Some(state) = asked.0.message["result"].get("requestState").cloned() else { break };
        let answer = json!({"action": "accept", "content": {"name": "Ann"}});
        asked = user.send(json!({"name": "agent-calls__run", "arguments": arguments, "requestState": state,
            "inputResponses": {format!("step{round}"): answer}}));
    }
    asked
}

#[test]
fn memory_of_nested_calls_that_do_not_ask_counts_too() {
    let (config, arguments) = beside_waiting();
    let parked = "[server]\nparked = { memory = \"350 MiB\", stored = false }\n\n";
    let (server, ann, bob) = users(Home::new(), &(parked.to_owned() + &config + &plugin("ask", FORM)));
    let his: Vec<Value> = (0..5).map(|_| bob.park("ask__run", json!({})).unwrap()).collect();
    let states: Vec<Value> =
        (0..6).map(|_| park_beside_waiting(&ann, &arguments).result()["requestState"].clone()).collect();
    println!(
        "hostile: parked memory: {} MiB resident beside 6 calls of 145 MiB under a limit of 350 MiB",
        server.memory() >> 20
    );
    // Two fit, and he loses nothing though he has more calls.
    let is_gone =
        |state: &Value| ann.resume("agent-calls__run", arguments.clone(), state).0.message.get("error").is_some();
    assert!(states[..4].iter().all(is_gone), "parked with more memory than may be");
    assert!(his.iter().all(|state| bob.resume("ask__run", json!({}), state).good().contains("Ann")));
}

#[test]
fn a_call_that_holds_more_than_may_be_parked_ends_as_busy() {
    let (config, arguments) = beside_waiting();
    let parked = "[server]\nparked = { memory = \"50 MiB\", stored = false }\n\n";
    let (_server, ann, bob) = users(Home::new(), &(parked.to_owned() + &config + &plugin("ask", FORM)));
    let his = bob.park("ask__run", json!({})).unwrap();
    let refused = park_beside_waiting(&ann, &arguments);
    assert_eq!(refused.code(), "busy", "{}", refused.result());
    assert!(refused.text().contains("server.parked"), "{}", refused.text());
    assert!(bob.resume("ask__run", json!({}), &his).good().contains("Ann"));
}
