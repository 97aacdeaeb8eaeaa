//! Components that are programs (`wasi:cli/run`): run as a tool, with arguments, standard streams and an exit code.

use crate::tasks::{abilities, wait_for};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::time::Instant;
use suite::{Called, Client, Era, Home, Server, agent, paths, plugin, plugin_from, with_manifest};

/// Memory of the server that a call may take for a moment.
const FOR_A_CALL: u64 = 64 << 20;

fn config(settings: &str) -> String {
    plugin("program", settings) + &plugin("echo", "")
}

fn client(settings: &str) -> Client {
    Client::new(Server::start(&config(settings)), Era::Modern, true)
}

/// The program with a manifest, and its configuration with a directory that it may read.
fn reading(home: &Home, requests: &Value, settings: &str) -> String {
    let manifest = json!({"name": "granted", "version": "0.1.0", "requests": requests});
    let source = home.write("granted.wasm", with_manifest(fs::read(paths::guest("program")).unwrap(), &manifest));
    let files = "grants.filesystem = [{ host = \"work\", guest = \"/work\", access = \"read\" }]";
    plugin_from("granted", &source, &format!("{files}\n{settings}"))
}

fn run(client: &mut Client, arguments: &[&str]) -> Called {
    client.call("program__run", json!({"arguments": arguments}))
}

fn structured(called: &Called) -> Value {
    called.result()["structuredContent"].clone()
}

/// The text of its chunks.
fn said(called: &Called) -> Vec<String> {
    let text = |chunk: &&Value| chunk["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{chunk}")).to_owned();
    called.chunks().iter().map(text).collect()
}

#[test]
fn a_program_has_arguments_and_input_and_its_output_is_the_result() {
    let mut client = client("");
    let tools = client.tools();
    let tool = tools.iter().find(|tool| tool["name"] == "program__run").unwrap();
    assert_eq!(tool["outputSchema"]["required"], json!(["exit_code", "stdout", "stderr"]));
    let echoed = run(&mut client, &["echo", "a b", "", "é"]);
    assert_eq!(echoed.good(), "program|echo|a b||é\n");
    assert_eq!(structured(&echoed), json!({"exit_code": 0, "stdout": "program|echo|a b||é\n", "stderr": ""}));
    assert_eq!(said(&echoed), ["program|echo|a b||é\n"]);
    let none = client.call("program__run", json!({}));
    assert!(none.is_error() && none.text().contains("what is \\\"\\\"?"), "{}", none.result());
    let cat = client.call("program__run", json!({"arguments": ["cat"], "stdin": "one\ntwo"}));
    assert_eq!(cat.good(), "one\ntwo");
    assert_eq!(said(&cat).concat(), "one\ntwo");
    let bytes = STANDARD.encode([0, 0xFF, 1]);
    let count = client.call("program__run", json!({"arguments": ["count"], "stdin_base64": bytes}));
    assert_eq!(count.good(), "3\n");
    assert_eq!(run(&mut client, &["count"]).good(), "0\n", "without input, it is empty");
    for wrong in [
        json!({"arguments": ["a\u{0}b"]}),
        json!({"stdin": "", "stdin_base64": ""}),
        json!({"stdin_base64": "?"}),
        json!({"env": {"A": "b"}}),
        json!({"arguments": vec![""; 4_097]}),
    ] {
        assert_eq!(client.call("program__run", wrong.clone()).code(), "invalid-arguments", "{wrong}");
    }
    let large = "x".repeat(1 << 20);
    let echoed = run(&mut client, &["echo", &large]);
    assert!(structured(&echoed)["stdout_dropped"].as_u64().unwrap() > 500_000, "{}", echoed.usage());
}

#[test]
fn it_ends_with_its_exit_code() {
    let mut client = client("");
    let exited = run(&mut client, &["exit-with-code", "7"]);
    assert!(exited.is_error() && exited.result()["_meta"]["dev.portcullis/error"].is_null(), "{}", exited.result());
    assert_eq!(structured(&exited), json!({"exit_code": 7, "stdout": "so far\n", "stderr": ""}));
    assert_eq!(exited.text(), "so far\n\nexit code 7");
    let exited = run(&mut client, &["exit-with-code", "0"]);
    assert_eq!((exited.good(), &structured(&exited)["exit_code"]), ("so far\n".into(), &json!(0)));
    // Without that function, there is only success and failure.
    let exited = run(&mut client, &["exit", "3"]);
    assert_eq!(structured(&exited), json!({"exit_code": 1, "stdout": "so far\n", "stderr": "and no further\n"}));
    assert_eq!(exited.text(), "so far\n\nstderr:\nand no further\n\nexit code 1");
    let failed = run(&mut client, &["fail"]);
    assert_eq!(structured(&failed)["stderr"], "Error: \"it was not to be\"\n");
    let panicked = run(&mut client, &["panic"]);
    assert_eq!(panicked.code(), "trap");
    assert!(panicked.text().contains("no bananas left"), "{}", panicked.text());
    assert_eq!(run(&mut client, &["write-after-close"]).code(), "trap");
    let log = client.server.log();
    assert!(log.contains("and no further") && !log.contains("so far"), "stdout is the caller's, not the log's: {log}");
    client.check_alive();
}

#[test]
fn chunks_have_whole_lines_or_characters() {
    let mut client = client("");
    let lines = run(&mut client, &["lines", "3"]);
    assert_eq!(said(&lines), ["line 0\n", "line 1\n", "line 2\n"]);
    assert_eq!(said(&run(&mut client, &["halves"])), ["a\u{1F600}é\n"]);
    let text = run(&mut client, &["text", "20000"]);
    assert_eq!(said(&text).concat(), "é".repeat(20_000));
    assert_eq!(text.good(), "é".repeat(20_000));
    let binary = run(&mut client, &["binary"]);
    assert_eq!((binary.good(), said(&binary).concat()), ("a\u{FFFD}b\u{FFFD}\n".into(), "a\u{FFFD}b\u{FFFD}\n".into()));
    let called = client.call("program__run", json!({"arguments": ["streams"], "stdin": "123"}));
    assert_eq!((called.good(), said(&called).concat()), ("ab123\0\0".into(), "ab123\0\0".into()));
}

/// Bytes one by one are not chunks one by one.
#[test]
fn small_writes_are_collected() {
    let mut client = client("");
    let bytes = run(&mut client, &["bytes", "40000"]);
    assert_eq!((bytes.good().len(), said(&bytes).concat().len()), (40_000, 40_000));
    assert!(said(&bytes).len() <= 3, "{}", said(&bytes).len());
    let begun = Instant::now();
    let lines = run(&mut client, &["lines", "20000"]);
    let (count, most) = (said(&lines).len(), 64 + 20 * begun.elapsed().as_secs() as usize + 20 + 20);
    assert!(count <= most, "{count} chunks, at most {most}");
    assert_eq!(said(&lines).concat(), lines.good());
}

/// What it says is there while it waits, also if the line has no end yet.
#[test]
fn what_it_says_before_it_waits_is_sent() {
    let home = Home::new();
    let config = reading(&home, &json!({"filesystem": "read"}), "");
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, true);
    let id = client.begin_call("granted__run", json!({"arguments": ["two-steps", "/work/go"]}));
    let mut next = || client.wait_for(Called::CHUNK)["params"]["content"][0]["text"].clone();
    assert_eq!((next(), next()), (json!("first\n"), json!("and without a line's end")));
    fs::write(client.server.home.work().join("go"), "").unwrap();
    let called = Called(client.wait(id, Instant::now()));
    assert_eq!(said(&called).concat(), "\nlast\n");
    assert_eq!(called.good(), "first\nand without a line's end\nlast\n");
}

#[test]
fn endless_programs_end_within_their_limits() {
    let uses_fuel = ["endless-lines", "endless-bytes", "endless-blocks", "endless-input"];
    for (deadline, expected, programs) in
        [("2m", "fuel-exhausted", &uses_fuel[..]), ("5s", "deadline-exceeded", &["endless-waits"])]
    {
        let limits = format!("limits.fuel = 200_000_000\nlimits.deadline = \"{deadline}\"");
        let server = Server::measurable(Home::new(), &config(&limits), &[], |_| {});
        let mut client = Client::new(server, Era::Modern, true);
        // Loads its code.
        run(&mut client, &["lines", "1"]).good();
        for what in programs {
            let (called, more) = client.measured(|client| run(client, &[what]));
            println!("{what}: {} chunks, {} MiB", said(&called).len(), more >> 20);
            assert_eq!(called.code(), expected, "{what}");
            assert!(more < FOR_A_CALL, "{what}: {} MiB", more >> 20);
            assert!(said(&called).concat().len() <= 4 << 20, "{what}: half of limits.output");
        }
        client.check_alive();
    }
}

#[test]
fn what_is_too_long_is_cut_and_says_so() {
    let mut client = client("limits.output = \"64 KiB\"");
    let lines = run(&mut client, &["lines", "9999"]);
    let all: String = (0..9_999).map(|line| format!("line {line}\n")).collect();
    let (result, text) = (structured(&lines), lines.good());
    let dropped = result["stdout_dropped"].as_u64().unwrap();
    assert!(text.starts_with("line 0\n") && text.ends_with("line 9998\n"), "{text}");
    assert!(text.contains(&format!("\n[{dropped} bytes are left out here]\n")), "{text}");
    assert_eq!(dropped as usize, all.len() - 2_048);
    let sent = said(&lines).concat();
    assert!(all.starts_with(&sent) && sent.len() <= 32 << 10 && sent.len() > 30 << 10, "{}", sent.len());
    let errors = structured(&run(&mut client, &["errors", "1000"]));
    assert!(errors["stderr"].as_str().unwrap().ends_with("error 999\n"), "{errors}");
    assert!(errors["stderr_dropped"].as_u64().unwrap() > 9_000 && errors.get("stdout_dropped").is_none(), "{errors}");
    let few = client_with_few_chunks();
    assert_eq!((few.chunks().len(), few.good()), (2, "line 0\nline 1\nline 2\nline 3\n".into()));
}

fn client_with_few_chunks() -> Called {
    run(&mut client("limits.chunks = 2"), &["lines", "4"])
}

#[test]
fn it_has_nothing_that_was_not_granted() {
    let home = Home::new();
    fs::write(home.work().join("note"), "hello").unwrap();
    let requests = json!({"filesystem": "read", "env": ["ZONE"]});
    let config = plugin("program", "") + &reading(&home, &requests, "grants.env = [\"ZONE\", \"HOME\"]");
    let server = Server::spawn(home, &config, &[], |command| {
        command.env("ZONE", "UTC").env("OTHER", "1");
    });
    server.wait_until_loaded();
    let mut client = Client::of_server(server);
    let mut run =
        |plugin: &str, arguments: [&str; 2]| client.call(&format!("{plugin}__run"), json!({"arguments": arguments}));
    assert_eq!(run("granted", ["read", "/work/note"]).good(), "hello");
    assert_eq!(run("granted", ["variable", "ZONE"]).good(), "Ok(\"UTC\")\n");
    assert_eq!(run("granted", ["variables", ""]).good(), "1\n");
    assert_eq!(run("program", ["variables", ""]).good(), "0\n");
    for (plugin, note) in [
        ("program", "(denied: filesystem `any file` is not requested by its manifest. Ask the user"),
        ("granted", "(denied: filesystem `/etc/passwd` is outside the granted directories. Ask the user"),
    ] {
        let elsewhere = run(plugin, ["read", "/etc/passwd"]);
        assert!(elsewhere.is_error() && elsewhere.text().contains(note), "{plugin}: {}", elsewhere.text());
        assert_eq!(run(plugin, ["connect", ""]).good(), "false\n");
    }
    assert!(run("program", ["read", "/work/note"]).is_error());
}

/// The end of a program that another tool calls is the end of that call only.
#[test]
fn a_program_exits_inside_another_call() {
    let config = plugin("agent-calls", "grants.agent-tools = [\"program.*\"]") + &agent("program", "program", "");
    let mut client = Client::of(&config);
    let step = |arguments: [&str; 2]| json!({"call": {"name": "program.run", "arguments": {"arguments": arguments}}});
    let script = json!([step(["exit-with-code", "9"]), step(["echo", "on"])]).to_string();
    let called = client.call("agent-calls__run", json!({"path": script}));
    let answers: Value = serde_json::from_str(&called.good()).unwrap();
    assert_eq!(answers[0]["error"], "tool-error", "{answers}");
    assert!(answers[0].to_string().contains("exit code 9"), "{answers}");
    assert_eq!(answers[1]["structured"]["stdout"], "program|echo|on\n", "{answers}");
}

#[test]
fn a_killed_task_says_each_line_once() {
    let home = Home::new();
    let program = reading(&home, &json!({"filesystem": "read"}), "limits.deadline = \"10m\"");
    let config = format!("[server.tasks]\ninline = \"0s\"\n{program}");
    let mut client = Client::able(Server::start_in(home, &config), Era::Modern, false, abilities());
    client.server.wait_until_loaded();
    let call = json!({"name": "granted__run", "arguments": {"arguments": ["add-lines", "/work/allowed", "200"]}});
    let begun = client.request("tools/call", call);
    let result = begun.result().clone();
    let task = result["taskId"].as_str().unwrap_or_else(|| panic!("{result}"));
    let allowed = client.server.home.work().join("allowed");
    let allow = |lines: u32| fs::write(&allowed, lines.to_string()).unwrap();
    for lines in [1, 2, 90, 91, 150] {
        allow(lines);
        client.server.wait_for_log(&format!("said {}", lines - 1));
        client.server.restart_stdio();
    }
    allow(200);
    let ended = wait_for(&mut client, task, |task| task["status"] != "working");
    let all: String = (0..200).map(|line| format!("line {line}\n")).collect();
    assert_eq!(ended["result"]["structuredContent"]["stdout"], all, "{ended}");
    let log = format!("portcullis://runs/{}", result["_meta"]["dev.portcullis/call"].as_str().unwrap());
    let read = client.request("resources/read", json!({"uri": log}));
    let log: Value = serde_json::from_str(read.result()["contents"][0]["text"].as_str().unwrap()).unwrap();
    let chunks = log["chunks"].as_array().unwrap();
    let said: String = chunks.iter().filter_map(|chunk| chunk["content"][0]["text"].as_str()).collect();
    assert_eq!(said, all, "each line once");
    // On a slow machine, each line is sent by itself.
    assert!(chunks.len() > 5 && chunks.len() <= 200, "{}", chunks.len());
}
