//! Code mode: programs that a model writes call the tools of all plugins, each call checked as any other.

mod approvals;
mod others;

use serde_json::{Value, json};
use std::fs;
use suite::{Called, Client, Era, Home, Server, agent, agent_from, paths, plugin, plugin_from, portcullis};

const FILES: &str = r#"grants.filesystem = [{ host = "work", guest = "/files", access = "write" }]"#;
const ALL: &str = r#"grants.agent-tools = ["*.*"]"#;

/// Code mode with these settings, beside the plugin `files`.
fn config(settings: &str, of_plugin: &str) -> String {
    let table = format!("[code]\nplugin = \"code\"\n{settings}\n");
    table
        + &plugin_from("code", &paths::real_plugin("code"), &format!("prefix = false\n{of_plugin}"))
        + &plugin_from("files", &paths::real_plugin("files"), FILES)
}

fn program(code: &str) -> Value {
    json!({ "name": "run_code", "arguments": { "code": code } })
}

fn run(client: &mut Client, code: &str) -> Called {
    client.call("run_code", json!({ "code": code }))
}

/// What a program returned.
fn result(called: &Called) -> Value {
    serde_json::from_str::<Value>(&called.good()).unwrap()["result"].clone()
}

/// Why a program failed.
fn error(called: &Called) -> String {
    assert!(called.is_error(), "{}", called.result());
    let said: Value = serde_json::from_str(&called.text()).unwrap_or_else(|_| panic!("{}", called.result()));
    // Some clients read it from the text, and check it against the tool's output schema.
    assert_eq!(called.result()["structuredContent"], said);
    said["error"].as_str().unwrap().to_owned()
}

fn names(client: &mut Client) -> Vec<String> {
    client.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn clients_see_three_tools_in_the_place_of_all() {
    let mut client = Client::of(&config("only = true", ALL));
    assert_eq!(names(&mut client), ["describe_tool", "run_code", "search_tools"]);
    let hidden = client.request("tools/call", json!({ "name": "files__list", "arguments": { "path": "/files" } }));
    assert_eq!(hidden.error_code(), -32602, "{}", hidden.message);
    let found = client.call("search_tools", json!({ "query": "write a file" })).good();
    assert!(found.starts_with("files.write: "), "{found}");
    let declared = client.call("describe_tool", json!({ "name": "files.write" })).good();
    assert!(declared.contains("tools.files.write(args: {") && declared.contains("path: string;"), "{declared}");
    let missing = client.call("describe_tool", json!({ "name": "files.writes" }));
    assert!(missing.is_error() && missing.text().contains("files.write"), "{}", missing.result());
    let mut client = Client::of(&config("", ALL));
    let all = names(&mut client);
    assert!(all.contains(&"files__list".to_owned()) && all.contains(&"run_code".to_owned()), "{all:?}");
}

#[test]
fn a_program_calls_tools_and_returns_what_it_wants_to() {
    for era in Era::ALL {
        let agent = agent_from("notes", &paths::real_plugin("notes"), "");
        let home = Home::new();
        fs::write(home.work().join("a.txt"), "one").unwrap();
        fs::write(home.work().join("b.txt"), "two").unwrap();
        let mut client = Client::new(Server::start_in(home, &(config("", ALL) + &agent)), era, true);
        client.progress = true;
        let called = run(
            &mut client,
            "const names: string[] = ['a.txt', 'b.txt'];\n\
             const texts = await Promise.all(names.map(async (name) => await tools.files.read({ path: `/files/${name}` })));\n\
             console.log(`read ${texts.length} files`);\n\
             return texts.map((text) => text.text ?? text);",
        );
        assert_eq!(result(&called).as_array().unwrap().len(), 2, "{}", called.result());
        let said = &called.result()["structuredContent"];
        assert_eq!(said["output"], "read 2 files\n");
        assert_eq!((&said["calls"][0]["tool"], &said["calls"][0]["times"]), (&json!("files.read"), &json!(2)));
        assert!(said["calls"][0]["fuel"].as_u64().unwrap() > 0);
        assert_eq!(called.usage()["calls"], 2);
    }
}

#[test]
fn what_it_prints_is_streamed() {
    let mut client = Client::new(Server::start(&config("", ALL)), Era::Modern, true);
    client.progress = true;
    let called = run(&mut client, "for (let i = 0; i < 3; i++) console.log('line', i); return null");
    let chunks = called.chunks();
    assert_eq!(chunks.len(), 3, "{chunks:?}");
    assert!(chunks[2].to_string().contains("line 2"), "{}", chunks[2]);
}

#[test]
fn errors_name_the_line_and_what_is_declared() {
    let mut client = Client::of(&config("", ALL));
    let why = error(&run(&mut client, "const x = 1;\n\nundefinedName()"));
    assert!(why.contains("undefinedName") && why.contains("(line 3 of the program)"), "{why}");
    let why = error(&run(&mut client, "let x = ;"));
    assert!(why.contains("SyntaxError") && why.contains("line 1"), "{why}");
    let why = error(&run(&mut client, "return await tools.files.read({ pth: 1 })"));
    assert!(why.contains("pth") && why.contains("tools.files.read(args: {"), "{why}");
    let why = error(&run(&mut client, "await tools.files.red({})"));
    assert!(why.contains("no such tool"), "{why}");
    let caught =
        run(&mut client, "try { await tools.files.read({ path: '/none' }) } catch (error) { return error.code }");
    assert_eq!(result(&caught), "failed");
}

#[test]
fn grants_decide_what_programs_may_call() {
    let home = Home::new();
    fs::write(home.work().join("a.txt"), "one").unwrap();
    let granted = r#"grants.agent-tools = ["files.read", "files.list"]"#;
    let mut client = Client::of_server(Server::start_in(home, &config("approval = \"never\"", granted)));
    let code = "const { text } = await tools.files.read({ path: '/files/a.txt' });\n\
                try { await tools.files.write({ path: '/files/b.txt', text: 'x' }) } catch (error) { return error.code }";
    assert_eq!(result(&run(&mut client, code)), "denied");
    let logged = client.server.wait_for_log("denied: agent-tools");
    assert!(logged.contains(r#"portcullis grant code 'agent-tools = ["files.write"]'"#), "{logged}");
    assert!(!client.server.home.work().join("b.txt").exists());
    let found = client.call("search_tools", json!({ "query": "" })).good();
    assert!(found.contains("files.read") && !found.contains("files.write"), "{found}");
}

/// A nested plugin does not inherit what its caller may call: only programs call the plugins that clients see.
#[test]
fn what_a_program_calls_may_call_no_more_than_before() {
    let more = plugin("relay", ALL) + &plugin("echo", "");
    let mut client = Client::of(&(config("approval = \"never\"", ALL) + &more));
    assert_eq!(result(&run(&mut client, "return (await tools.echo.run({ n: 1 })).n")), 1);
    let why = error(&run(&mut client, "return await tools.relay.run({ path: 'echo.run' })"));
    assert!(why.contains("no tool `echo.run`"), "{why}");
    let direct = client.run("relay", json!({ "path": "echo.run" }));
    assert!(direct.is_error() && direct.text().contains("no tool `echo.run`"), "{}", direct.result());
    let why = error(&run(&mut client, "return await tools.code.run_code({ code: '1' })"));
    assert!(why.contains("no such tool"), "{why}");
}

/// Without [code], a plugin of the same bytes may call agent-side tools only.
#[test]
fn only_the_named_plugin_runs_programs() {
    let named = config("", "").replace("[code]\nplugin = \"code\"\n", "");
    let mut client = Client::of(&named.replace("prefix = false", &format!("prefix = false\n{ALL}")));
    let why = error(&run(&mut client, "return await tools.files.read({ path: '/files/a.txt' })"));
    assert!(why.contains("no such tool"), "{why}");
}

#[test]
fn an_agent_side_plugin_hides_one_of_the_same_name() {
    let both = agent("files", "echo", "");
    let mut client = Client::of(&(config("approval = \"never\"", ALL) + &both));
    let why = error(&run(&mut client, "return await tools.files.read({ path: '/files/a.txt' })"));
    assert!(why.contains("no such tool"), "{why}");
    assert_eq!(result(&run(&mut client, "return (await tools.files.run({ n: 2 })).n")), 2);
}

#[test]
fn a_private_result_goes_nowhere_else() {
    let more = agent("secret", "echo", "private = true") + &plugin("echo", "");
    let mut client = Client::of(&(config("approval = \"never\"", ALL) + &more));
    let code = "await tools.secret.run({ n: 1 }); try { await tools.echo.run({ n: 1 }) } catch (error) { return error.message }";
    let why = result(&run(&mut client, code));
    assert!(why.as_str().unwrap().contains("flows"), "{why}");
}

#[test]
fn hostile_programs_end_as_hostile_plugins_do() {
    let mut client = Client::of(
        &(config(
            "approval = \"never\"",
            &format!("{ALL}\nlimits.calls = 10\nlimits.memory = \"24 MiB\"\nlimits.output = \"1 MiB\""),
        ) + &plugin("echo", "")),
    );
    for (code, expected) in [
        ("for (;;) {}", "fuel-exhausted"),
        ("const all = []; for (;;) all.push(new Uint8Array(1 << 20))", "memory"),
        ("function f() { return f() + 1 } return f()", "stack-overflow"),
        ("return 'x'.repeat(2 << 20)", "output-exceeded"),
    ] {
        let called = run(&mut client, code);
        let said = called.result().to_string();
        assert!(called.is_error() && said.contains(expected), "{code}: {said}");
    }
    let flood =
        "let n = 0; for (;;) { try { await tools.echo.run({ n }); n++ } catch (error) { return [n, error.message] } }";
    let flooded = result(&run(&mut client, flood));
    assert_eq!(flooded[0], 10, "{flooded}");
    assert!(flooded[1].as_str().unwrap().contains("calls"), "{flooded}");
    let printed = run(&mut client, "for (let i = 0; i < 10000; i++) console.log('x'.repeat(100)); return 1");
    assert!(printed.good().len() < 20 << 10, "what it prints is bounded in the result: {}", printed.good().len());
    assert!(printed.usage()["outputBytes"].as_u64().unwrap() <= 300 << 10, "and in all: {}", printed.usage());
    // A program changes what it is given; it learns nothing and is given nothing by that.
    let tricks = "Object.prototype.tag = 'ok'; Array.prototype.map = () => []; JSON.parse = () => ({ code: '1' });\n\
                  Promise.prototype.then = null; return await tools.echo.run({ n: 3 })";
    run(&mut client, tricks);
    let after =
        result(&run(&mut client, "return [Object.prototype.tag === undefined, (await tools.echo.run({ n: 4 })).n]"));
    assert_eq!(after, json!([true, 4]), "nothing of one program is in the next");
    for code in [
        "await new Promise(() => {})",
        "await import('portcullis:plugin/agent-tools@0.1.0')",
        "import fs from 'fs'",
        "require('fs')",
    ] {
        assert!(run(&mut client, code).is_error(), "{code}");
    }
}

/// Twenty steps in one call, of an agent that sees three tools where there are five hundred.
#[test]
fn five_hundred_tools_are_three() {
    let boxes: String = (0..5).map(|n| plugin_from(&format!("box{n}"), &paths::guest("toolbox"), "")).collect();
    let mut client = Client::of(&(config("only = true", ALL) + &boxes));
    let few = client.request("tools/list", json!({})).result().to_string();
    assert_eq!(names(&mut client).len(), 3);
    let found = client.call("search_tools", json!({ "query": "count invoices" })).good();
    assert!(found.starts_with("box0.count_invoice: ") && found.contains("(20 of 504 tools)"), "{found}");
    let code = "let id = 1;\nconst seen = [];\n\
                for (let step = 0; step < 20; step++) {\n\
                  const { tool, length } = await tools[`box${step % 5}`].read_order({ id, query: 'x'.repeat(step) });\n\
                  id += length;\n  seen.push(tool);\n}\n\
                return { id, steps: seen.length };";
    let called = run(&mut client, code);
    assert_eq!(result(&called), json!({ "id": 191, "steps": 20 }), "{}", called.result());
    assert_eq!(called.usage()["calls"], 20);
    let mut client = Client::of(&(config("", ALL) + &boxes));
    let mut all = 0;
    let mut page = json!({});
    loop {
        let answer = client.request("tools/list", page);
        all += answer.result()["tools"].to_string().len();
        match answer.result().get("nextCursor") {
            Some(cursor) => page = json!({ "cursor": cursor }),
            None => break,
        }
    }
    assert!(few.len() * 50 < all, "{} bytes for three tools, {all} for all", few.len());
}

#[test]
fn each_inner_call_is_audited() {
    let home = Home::new();
    fs::write(home.work().join("a.txt"), "one").unwrap();
    let mut client = Client::of_server(Server::start_in(home, &config("", ALL)));
    run(&mut client, "await tools.files.read({ path: '/files/a.txt' }); await tools.files.list({ path: '/files' })")
        .good();
    client.server.close_stdin();
    client.server.ended();
    let ran = portcullis(&client.server.home, &["audit", "tail", "--json"]);
    let told = ran.good();
    for tool in ["files.read", "files.list"] {
        assert!(told.contains(tool), "{tool}: {told}");
    }
}

#[test]
fn a_plugin_that_is_not_there_is_warned_of() {
    let home = Home::new();
    let client = Client::of_server(Server::start_in(home, "[code]\nplugin = \"code\"\n"));
    client.server.wait_for_log("[code] has no effect: there is no [plugins.code]");
    let home = Home::new();
    home.write("portcullis.toml", config("", ALL));
    let called = portcullis(&home, &["call", "files", "list", "path=/files"]);
    assert!(called.good().len() < 1_000 && !called.stderr.contains("[code]"), "not of one that is: {called:?}");
    let home = Home::new();
    home.write("portcullis.toml", "[code]\nplugin = \"a b\"\n");
    assert!(portcullis(&home, &["serve"]).refused().contains("[code]"));
}
