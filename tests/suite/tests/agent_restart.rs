//! `portcullis agent` follows tasks, and survives its own end: killed while a task runs or a call waits for its user, the next run
//! goes on with it. What calls do outside is counted.

mod odd_tasks;
mod world;

use serde_json::{Value, json};
use std::fs;
use std::process::Command;
use std::sync::atomic::Ordering;
use suite::{Home, PATIENCE, Server, eventually, paths, plugin};
use world::{Ledger, World};

const NAMES: &str = "[[form]]\ndo = \"answer\"\nanswer = { name = \"Ada\" }";

#[test]
fn a_long_call_becomes_a_task_and_is_followed_to_its_result() {
    let ledger = Ledger::new();
    for world in [World::over_stdio(&ledger), World::over_http(&ledger)] {
        let mut run = world.start("");
        run.say("start job__run");
        assert!(run.expect("task", |_| true)["taskId"].is_string());
        run.say("calls");
        let calls = run.expect("calls", |_| true);
        assert_eq!((&calls["calls"][0]["state"], &calls["calls"][0]["call"]), (&json!("running"), &json!(1)));
        assert!(calls["calls"][0]["taskId"].is_string(), "{calls}");
        run.say("steer 1 report writing");
        run.expect("status", |event| event["message"] == "writing");
        run.say("steer 1 as asked");
        run.say("steer 1 stop");
        run.say("wait");
        let result = run.expect("result", |_| true);
        assert_eq!((&result["text"], &result["isError"]), (&json!("said: as asked"), &json!(false)));
        run.say("show 1");
        run.expect("result", |event| event["text"] == "said: as asked");
        assert_eq!(run.end("error"), (Some(0), vec![]));
    }
}

#[test]
fn questions_of_a_task_are_answered_by_rules_and_declined_without() {
    let ledger = Ledger::new();
    let world = World::over_http(&ledger);
    let mut run = world.start(NAMES);
    run.say(r#"call job__only {"path": "names"}"#);
    let said = run.expect("result", |_| true);
    assert_eq!(said["text"], r#"said: {"name":"Ada"}, {"name":"Ada"}"#);
    let (status, decided) = run.end("approval-decided");
    assert_eq!((status, decided.len()), (Some(0), 2), "each is asked once: {decided:?}");
    let mut run = world.start("[[form]]\ndo = \"ask\"");
    run.say(r#"call job__only {"path": "names"}"#);
    let said = run.expect("result", |_| true);
    assert!(said["text"].as_str().unwrap().contains("Declined"), "{said}");
}

#[test]
fn a_task_is_cancelled_on_its_server() {
    let ledger = Ledger::new();
    let world = World::over_http(&ledger);
    let mut run = world.start("");
    run.say("start job__only");
    run.expect("task", |_| true);
    run.say("cancel 1");
    let result = run.expect("result", |_| true);
    assert_eq!((&result["text"], &result["isError"]), (&json!("cancelled"), &json!(true)));
    assert_eq!(run.end("left-open"), (Some(1), vec![]));
    let mut next = world.start("");
    next.say("resume");
    assert_eq!(next.end("resumed"), (Some(0), vec![]), "nothing is left");
}

#[test]
fn an_agent_that_is_killed_gets_the_result_of_its_task_from_the_next_run_once() {
    for over_stdio in [true, false] {
        let ledger = Ledger::new();
        let world = if over_stdio { World::over_stdio(&ledger) } else { World::over_http(&ledger) };
        let mut run = world.start("");
        run.say(&format!("start errand__run {}", ledger.errand()));
        let task = run.expect("task", |_| true)["taskId"].clone();
        eventually(PATIENCE, || (ledger.web.count("/slow") > 0).then_some(())).expect("it is under way");
        run.kill();
        // A script that does not ask for it leaves it alone.
        let run = world.start("");
        let (status, left) = run.end("left-open");
        assert_eq!((status, &left[0]["calls"][0]["taskId"]), (Some(0), &task), "{left:?}");
        // Its server is known.
        let mut run = world.start_with("", &[]);
        run.say("resume");
        let resumed = run.expect("resumed", |_| true);
        assert_eq!((&resumed["calls"][0]["taskId"], resumed["calls"].as_array().unwrap().len()), (&task, 1));
        ledger.open.store(true, Ordering::Relaxed);
        let (status, results) = run.end("result");
        assert_eq!((status, results.len()), (Some(0), 1), "{results:?}");
        assert!(results[0]["text"].as_str().unwrap().ends_with("post: 200 done"), "{results:?}");
        assert_eq!(ledger.web.count("/book"), 2, "each booking is made once");
        let mut run = world.start("");
        run.say("resume");
        run.say("calls");
        let (status, calls) = run.end("calls");
        assert_eq!((status, &calls[0]["calls"]), (Some(0), &json!([])), "it is shown once");
    }
}

#[test]
fn a_result_that_came_while_no_agent_ran_is_shown_by_the_next_one() {
    let ledger = Ledger::new();
    let world = World::over_http(&ledger);
    let mut run = world.start("");
    run.say(&format!("start errand__run {}", ledger.errand()));
    run.expect("task", |_| true);
    // Who leaves is told how to come back.
    run.say("quit");
    let (status, left) = run.end("left-open");
    assert_eq!((status, left.len()), (Some(0), 1), "{left:?}");
    ledger.open.store(true, Ordering::Relaxed);
    eventually(PATIENCE, || (ledger.web.count("/book") == 2).then_some(())).expect("it goes on without the agent");
    let mut run = world.start("");
    run.say("resume");
    let (status, results) = run.end("result");
    assert_eq!((status, results.len(), ledger.web.count("/book")), (Some(0), 1, 2), "{results:?}");
}

/// At the end of its input a script waits for its tasks, as for all its calls.
#[test]
fn a_script_that_ends_waits_for_its_task() {
    let ledger = Ledger::new();
    let world = World::over_http(&ledger);
    let mut run = world.start("");
    run.say(&format!("start errand__run {}", ledger.errand()));
    run.expect("task", |_| true);
    let open = ledger.open.clone();
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| run.end("result"));
        eventually(PATIENCE, || (ledger.web.count("/slow") > 0).then_some(())).expect("it is under way");
        assert!(!ended.is_finished());
        open.store(true, Ordering::Relaxed);
        assert_eq!(ended.join().unwrap().1.len(), 1);
    });
    assert_eq!(ledger.web.count("/book"), 2);
}

#[test]
fn of_two_agents_over_one_memory_the_first_has_the_task() {
    let ledger = Ledger::new();
    let world = World::over_http(&ledger);
    let mut first = world.start("");
    first.say(&format!("start errand__run {}", ledger.errand()));
    first.expect("task", |_| true);
    let mut second = world.start("");
    second.expect("elsewhere", |event| event["calls"][0]["tool"] == "errand__run");
    second.say("resume");
    second.say("calls");
    let calls = second.expect("calls", |_| true);
    assert_eq!(calls["calls"][0]["state"], "elsewhere", "{calls}");
    ledger.open.store(true, Ordering::Relaxed);
    assert_eq!(first.end("result").1.len(), 1);
    assert_eq!(second.end("result"), (Some(0), vec![]));
}

#[test]
fn a_task_that_its_server_has_forgotten_is_said_to_be_gone_and_forgotten() {
    let ledger = Ledger::new();
    let world = World::over_stdio(&ledger);
    let mut run = world.start("");
    run.say("start job__only");
    run.expect("task", |_| true);
    run.kill();
    let state = world.home.path().join("server-state");
    // The server ends when its agent has.
    eventually(PATIENCE, || fs::remove_dir_all(&state).and_then(|()| fs::exists(&state)).ok().filter(|found| !found));
    let mut run = world.start("");
    run.say("resume");
    let (status, results) = run.end("result");
    assert_eq!((status, results.len()), (Some(1), 1), "{results:?}");
    assert!(results[0]["text"].as_str().unwrap().contains("does not know this call any more"), "{results:?}");
    let run = world.start("");
    assert_eq!(run.end("left-open"), (Some(0), vec![]));
}

/// As an agent stores it that is killed while its user looks at a question.
#[test]
fn a_parked_call_goes_on_if_its_server_knows_it_and_is_gone_otherwise() {
    let ledger = Ledger::new();
    let world = World::over_http(&ledger);
    let mut run = world.start("");
    run.say("servers");
    let address = run.expect("servers", |_| true)["servers"][0]["address"].clone();
    assert_eq!(run.end("error"), (Some(0), vec![]));
    let form = json!({"method": "elicitation/create", "params": {"message": "Who?", "mode": "form", "requestedSchema":
        {"type": "object", "properties": {"name": {"type": "string"}}}}});
    let call = |id: &str, state: &str| {
        json!({"correlationId": id, "server": "demo", "address": address, "tool": "ask__run", "arguments": {"path": "form"},
               "point": {"questions": {"requests": {"user_name": form}, "state": state}}})
    };
    let file = world.agent_state().join("agent.json");
    let mut memory: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    memory["calls"] = json!([call("0123456789", "a token that it never gave")]);
    fs::write(&file, memory.to_string()).unwrap();
    let mut run = world.start(NAMES);
    run.say("repeat 01234567");
    let refused = run.expect("error", |_| true);
    assert!(refused["message"].as_str().unwrap().contains("run twice"), "{refused}");
    run.say("resume");
    let (status, results) = run.end("result");
    assert_eq!((status, results.len()), (Some(1), 1), "{results:?}");
    assert!(results[0]["text"].as_str().unwrap().contains("does not know this call any more"), "{results:?}");
    let memory: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!(memory["calls"], json!([]), "it is forgotten");
}

/// As after a restart of the server: the channel that the agent had is closed, and its tools are called all the same.
#[test]
fn a_task_calls_tools_of_the_agent_without_a_channel() {
    let grants = "grants.agent-tools = [\"echo.*\"]\nlimits.deadline = \"10m\"";
    let (server, address) = Server::start_http(&plugin("agent-calls", grants));
    let step = |n: u64| json!({"call": {"name": "echo.run", "arguments": {"n": n}}});
    let mut params = json!({"name": "agent-calls__only", "arguments": {"path": json!([step(7), step(8)]).to_string()}});
    params["_meta"] = suite::client::modern_meta(false);
    let tool = json!({"name": "echo.run", "inputSchema": {"type": "object"}});
    let tools =
        json!({"allowServerCalls": true, "tools": [tool], "lanes": ["live", "retry"], "channel": "x".repeat(22)});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"dev.portcullis/client-tools": tools, "io.modelcontextprotocol/tasks": {}}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
    let headers =
        [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "agent-calls__only")];
    let created = suite::http::request(address, "POST", &headers, &body).answer(1, std::time::Instant::now());
    let task = created.result()["taskId"].clone();
    let world = World::of_server(Home::new(), (server, address));
    let mut run = world.start("");
    run.say("servers");
    let origin = run.expect("servers", |_| true)["servers"][0]["address"].clone();
    run.end("error");
    let file = world.agent_state().join("agent.json");
    let mut memory: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    memory["calls"] = json!([{"correlationId": "0123456789", "server": "demo", "address": origin,
        "tool": "agent-calls__only", "arguments": {}, "point": {"task": {"id": task}}}]);
    fs::write(&file, memory.to_string()).unwrap();
    let config = world.home.write("agent.toml", suite::agent("echo", "echo", "")).display().to_string();
    let rules = "[[tool]]\ntool = \"echo.*\"\napproval = \"allow\"";
    let mut run = world.start_with(rules, &["--connect", &format!("demo={}", world.address), "--config", &config]);
    run.say("resume");
    let result = run.expect("result", |_| true)["text"].as_str().unwrap().to_owned();
    assert_eq!(result.matches("Origin::Client").count(), 2, "{result}");
    assert!(result.contains("7") && result.contains("8"), "{result}");
    assert_eq!(run.end("approval-decided").1.len(), 2);
}

/// What is open is sent to no other server of the same name.
#[test]
fn a_server_that_has_moved_is_not_asked_for_the_calls_of_the_old_one() {
    let ledger = Ledger::new();
    let world = World::over_http(&ledger);
    let mut run = world.start("");
    run.say("start job__only");
    run.expect("task", |_| true);
    run.kill();
    let (other, address) = Server::start_http(&plugin("job", "grants.client.form = true"));
    let mut run = world.start_with("", &["--connect", &format!("demo=http://{address}/mcp")]);
    run.say("resume");
    run.say("calls");
    let refused = run.expect("error", |_| true);
    assert!(refused["message"].as_str().unwrap().contains("sent nowhere else"), "{refused}");
    let calls = run.expect("calls", |_| true);
    assert_eq!(calls["calls"][0]["state"], "unfinished", "nothing is lost: {calls}");
    drop(other);
}

#[test]
fn a_person_whose_agent_is_killed_is_asked_again_and_sees_each_result_once() {
    let ledger = Ledger::new();
    let world = World::over_stdio(&ledger);
    let mut command = Command::new(paths::python());
    command.arg("-B").arg(paths::client_script("restarting.py")).arg(paths::binary()).arg(world.home.path());
    command.arg(paths::binary()).args(["serve", "--config"]).arg(world.home.path().join("server.toml"));
    command.env("PORTCULLIS_CACHE", paths::cache());
    assert!(suite::cli::run(command).good().contains("all was as it should be"));
    assert_eq!(fs::read_to_string(world.home.work().join("effects")).unwrap(), "done\n", "done once");
}
