//! The migration of code: heavy work between a folder that may only be read and a directory of the plugin's own, with a
//! question in the middle, cancelled, and as a task whose host is killed.

use super::{all, assert_progress, client, filled, progress, through};
use crate::tasks::{TASKS, abilities, wait_for, wait_for_status};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use suite::home::fingerprint;
use suite::{Client, Era, Home, PATIENCE, Server, Watch, eventually, paths, plugin, plugin_from};

const TOOL: &str = "migrate__migrate";
const STEPS: [f64; 4] = [10.0, 25.0, 50.0, 100.0];

/// The plugin under some name. It may compute for as long as a test takes.
pub(crate) fn config(name: &str) -> String {
    let settings = r#"grants.filesystem = [{ host = "code", guest = "/src", access = "read" }]
grants.scratch = {}
grants.client.form = true
limits.fuel = 1_000_000_000_000
limits.deadline = "10m""#;
    plugin_from(name, &paths::real_plugin("migrate"), settings)
}

/// Fills `code` with modules that import each other, each with so many lines.
pub(crate) fn supply(home: &Home, modules: usize, lines: usize) {
    fs::create_dir(home.path().join("code")).unwrap();
    home.write("code/package.json", r#"{"dependencies": {"chains": "1.0.0"}}"#);
    let rest: String =
        (0..lines).map(|line| format!("export const text{line} = `/* ${{number}} ` + \"'\";\n")).collect();
    for module in 0..modules {
        let next = (module + 1) % modules;
        let head = format!("import {{ text }} from \"./module{next}\";\nconst chain = require(\"chains\");\n");
        home.write(&format!("code/module{module}.ts"), head + "import moat from \"moat/deep\";\n" + &rest);
    }
}

fn home() -> Home {
    let home = Home::new();
    supply(&home, 4, 50);
    home
}

/// Many names of one large module: minutes of work.
fn large_home() -> Home {
    let home = Home::new();
    supply(&home, 1, 20_000);
    let code = home.path().join("code");
    for number in 1..2_000 {
        fs::hard_link(code.join("module0.ts"), code.join(format!("module{number}.ts"))).unwrap();
    }
    home
}

/// What four modules come to, and whether `require` was rewritten.
fn summary(requires: u64) -> Value {
    json!({
        "files": 4, "files_changed": 4, "lines_changed": 4 + requires, "imports_rewritten": 4,
        "requires_rewritten": requires, "undeclared": ["moat"],
    })
}

/// The plugin's own directory on the disk.
fn scratch(home: &Home) -> PathBuf {
    home.path().join("state/scratch/plugins.migrate")
}

fn written(home: &Home) -> Vec<String> {
    let files = fs::read_dir(scratch(home).join("migrated")).into_iter().flatten().flatten();
    let mut texts: Vec<_> = files.map(|file| fs::read_to_string(file.path()).unwrap()).collect();
    texts.sort();
    texts
}

/// Checks that nothing is left in the plugin's own directory.
fn assert_empty(home: &Home) {
    let left: Vec<_> = fs::read_dir(scratch(home)).unwrap().flatten().map(|entry| entry.path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A few units may differ: in another process, hash maps have another seed, and look in more or fewer places.
fn assert_same_fuel(one: &Value, other: &Value) {
    let ratio = one.as_f64().unwrap() / other.as_f64().unwrap();
    assert!((ratio - 1.0).abs() < 1e-3, "{one} {other}");
}

#[test]
fn each_run_has_the_same_result_and_cost() {
    let [legacy, modern] = Era::ALL.map(|era| {
        let mut client = client(home(), &config("migrate"), era, json!({}));
        let before = fingerprint(&client.server.home.path().join("code"));
        let runs = ["/scratch/one", "/scratch/two"].map(|into| {
            let called = client.call(TOOL, json!({"into": into, "commonjs": "rewrite"}));
            called.good();
            assert_eq!(called.result()["structuredContent"], summary(4), "{era:?}");
            assert_progress(&progress(&called), &STEPS);
            called.usage()["fuel"].clone()
        });
        assert_same_fuel(&runs[0], &runs[1]);
        let folder = scratch(&client.server.home);
        for module in 0..4 {
            let text = |run| fs::read_to_string(folder.join(run).join(format!("module{module}.ts"))).unwrap();
            let head =
                format!("import {{ text }} from \"./module{}.js\";\nimport chain from \"chains\";\n", (module + 1) % 4);
            assert!(text("one").starts_with(&head), "{}", text("one"));
            assert_eq!(text("one"), text("two"));
        }
        assert_eq!(fingerprint(&client.server.home.path().join("code")), before, "{era:?}");
        runs
    });
    assert_same_fuel(&legacy[0], &modern[0]);
}

#[test]
fn nothing_is_written_outside_its_own_directory() {
    for era in Era::ALL {
        let mut client = client(home(), &config("migrate"), era, json!({}));
        let before = fingerprint(&client.server.home.path().join("code"));
        for into in ["/src", "/src/new", "/scratch/../src/new", "/work", "/scratch/../../new", "/"] {
            let called = client.call(TOOL, json!({"into": into}));
            assert_eq!((called.code(), &called.error()["capability"]), ("denied", &json!("filesystem")), "{into}");
        }
        assert_eq!(fingerprint(&client.server.home.path().join("code")), before);
        assert_empty(&client.server.home);
    }
}

#[test]
fn its_user_decides_about_require() {
    let answers: [(super::Answer, u64); 3] = [
        (|_, _| filled(json!({})), 4),
        (|_, _| json!({"action": "cancel"}), 0),
        (|_, _| json!({"action": "decline"}), 0),
    ];
    for (answer, requires) in answers {
        let results = Era::ALL.map(|era| {
            let mut client = client(home(), &config("migrate"), era, all());
            let seen = through(&mut client, TOOL, &json!({"commonjs": "ask"}), answer);
            seen.called.good();
            assert_eq!(seen.called.result()["structuredContent"], summary(requires), "{era:?}");
            assert_eq!(seen.asked().len(), 1);
            assert_eq!(seen.asked()[0]["message"], "migrate asks: Turn 4 calls of require into imports?");
            match era {
                // The first and the last report of each round are sent.
                Era::Modern => assert_eq!(seen.progress, STEPS),
                Era::Legacy => assert_progress(&seen.progress, &STEPS),
            }
            seen.substance()
        });
        assert_eq!(results[0], results[1]);
    }
}

#[test]
fn nothing_is_done_for_a_question_that_nobody_is_asked() {
    let mut modern = client(home(), &config("migrate"), Era::Modern, json!({}));
    assert_eq!(modern.request("tools/call", call("ask")).error_code(), -32021);
    let mut legacy = client(home(), &config("migrate"), Era::Legacy, json!({}));
    assert_eq!(legacy.call(TOOL, json!({"commonjs": "ask"})).code(), "unsupported");
    assert_empty(&modern.server.home);
    assert_empty(&legacy.server.home);
}

fn call(commonjs: &str) -> Value {
    json!({"name": TOOL, "arguments": {"commonjs": commonjs}})
}

#[test]
fn a_migration_that_is_cancelled_while_it_reads_leaves_nothing() {
    for era in Era::ALL {
        let mut client = client(large_home(), &(config("migrate") + &plugin("echo", "")), era, json!({}));
        let id = client.begin("tools/call", call("keep"));
        let reported = [(); 2].map(|()| client.wait_for("notifications/progress")["params"]["progress"].clone());
        assert_eq!(reported, [json!(10.0), json!(25.0)]);
        client.cancel(id);
        Watch::start(&client.server).until_idle(&client.server);
        assert_empty(&client.server.home);
        client.check_alive();
        assert!(!client.is_answered(id));
    }
}

/// A server whose calls become tasks, and one that has begun.
fn begin(home: Home, commonjs: &str) -> (Client, String) {
    let config = "[server.tasks]\ninline = \"0s\"\n\n".to_owned() + &config("migrate");
    let mut client = Client::able(Server::start_in(home, &config), Era::Modern, false, abilities());
    // On a busy machine it may ask before it is a task. Such a call is left alone.
    let begin = || client.request("tools/call", call(commonjs)).result()["taskId"].as_str().map(str::to_owned);
    let task = eventually(PATIENCE, begin).unwrap_or_else(|| panic!("no call becomes one of {TASKS}"));
    (client, task)
}

#[test]
fn a_task_that_is_cancelled_leaves_nothing() {
    for (home, commonjs) in [(large_home(), "keep"), (home(), "ask")] {
        let (mut client, task) = begin(home, commonjs);
        wait_for(&mut client, &task, |task| match commonjs {
            "ask" => task["status"] == "input_required",
            _ => task["statusMessage"] == "TypeScript files",
        });
        client.request("tasks/cancel", json!({"taskId": task})).result();
        wait_for_status(&mut client, &task, "cancelled");
        Watch::start(&client.server).until_idle(&client.server);
        assert_empty(&client.server.home);
    }
}

/// Runs a migration as a task, whose host is killed while it waits and while it writes, if so wanted. Returns its result,
/// what it has used, and what it has written.
fn run(killed: bool) -> (Value, Value, Vec<String>) {
    let home = Home::new();
    // What is read until a call is a task fits into its journal, and each file is written in one piece.
    supply(&home, 10, 700);
    let (mut client, task) = begin(home, "ask");
    let asked = wait_for_status(&mut client, &task, "input_required");
    assert_empty(&client.server.home);
    if killed {
        client.server.restart_stdio();
    }
    let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let responses = json!({"taskId": task, "inputResponses": {key: filled(json!({}))}});
    client.request("tasks/update", responses).result();
    if killed {
        let folder = scratch(&client.server.home).join("migrated");
        let begun = || fs::read_dir(&folder).ok()?.next();
        eventually(PATIENCE, begun).unwrap_or_else(|| panic!("nothing is written: {}", client.server.log())).unwrap();
        client.server.restart_stdio();
    }
    let ended = wait_for(&mut client, &task, |task| task["status"] != "working");
    let result = &ended["result"];
    assert!(ended["status"] == "completed" && result["isError"] == false, "{ended}");
    let fuel = result["_meta"]["dev.portcullis/usage"]["fuel"].clone();
    (result["structuredContent"].clone(), fuel, written(&client.server.home))
}

#[test]
fn a_task_whose_host_is_killed_ends_with_the_same_result() {
    let [plain, killed] = [false, true].map(run);
    assert_eq!(plain.0["requires_rewritten"], 10, "{}", plain.0);
    assert_eq!(plain.0, killed.0);
    // What was done before the end of a host is charged once.
    assert_same_fuel(&plain.1, &killed.1);
    assert!(plain.2 == killed.2 && plain.2.len() == 10);
}

/// Also where hash maps have many keys, and nothing is written.
#[test]
fn the_same_call_costs_the_same() {
    let home = Home::new();
    fs::create_dir(home.path().join("code")).unwrap();
    let packages: serde_json::Map<_, _> = (0..60).map(|at| (format!("package-{at}"), json!("1"))).collect();
    home.write("code/package.json", json!({"dependencies": packages}).to_string());
    let mut client = client(home, &config("migrate"), Era::Modern, json!({}));
    let costs: BTreeSet<_> = (0..20).map(|_| client.call(TOOL, json!({})).usage()["fuel"].as_u64().unwrap()).collect();
    assert_eq!(costs.len(), 1, "{costs:?}");
}
