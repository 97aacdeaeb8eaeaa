//! Commands that terminate, and their output for people and for scripts.

use serde_json::json;
use suite::{Home, Ran, agent, paths, plugin, portcullis};

fn run(config: &str, arguments: &[&str]) -> Ran {
    let home = Home::new();
    home.write("portcullis.toml", config);
    // The default configuration is ./portcullis.toml.
    portcullis(&home, arguments)
}

#[test]
fn a_call_prints_its_text_and_nothing_else_on_stdout() {
    let ran = run(&plugin("echo", ""), &["call", "echo", "run", r#"{"n": 3}"#]);
    let printed: serde_json::Value = serde_json::from_str(ran.good().trim()).unwrap_or_else(|_| panic!("{ran:?}"));
    assert_eq!(printed, json!({"n": 3, "path": null}));
    assert!(ran.stderr.contains("fuel"), "a line of what it cost: {}", ran.stderr);
}

#[test]
fn a_call_shows_chunks_and_then_the_result() {
    let ran = run(&plugin("slow-stream", ""), &["call", "slow-stream", "run", r#"{"n": 3}"#]);
    let said = ran.good();
    let places: Vec<_> = ["part 0", "part 1", "part 2", "3 parts"].iter().map(|part| said.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{said}");
}

#[test]
fn a_call_that_fails_has_status_1_and_says_why() {
    let ran = run(&plugin("spin", "limits.fuel = 20_000_000"), &["call", "spin", "run"]);
    assert_eq!(ran.status, Some(1));
    assert!(ran.stderr.contains("limits.fuel"), "{ran:?}");
    let config = plugin("relay", r#"grants.agent-tools = ["echo.run"]"#) + &agent("echo", "echo", "");
    let ran = run(&config, &["call", "relay", "run", r#"{"path": "notes.add"}"#]);
    assert_eq!(ran.status, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("portcullis grant relay") || ran.stdout.contains("portcullis grant relay"), "{ran:?}");
}

#[test]
fn a_call_takes_the_clients_name_and_arguments_in_words() {
    let home = Home::new();
    home.write("portcullis.toml", plugin("echo", "") + &plugin("slow-stream", ""));
    let file = home.write("arguments.json", r#"{"n": 7, "path": "from a file"}"#);
    let file = format!("@{}", file.display());
    for (words, expected) in [
        (&["call", "echo__run", "n=3", "path=12"][..], json!({"n": 3, "path": "12"})),
        (&["call", "echo", "run", "n=3"], json!({"n": 3, "path": null})),
        (&["call", "echo__run", &file, "n=8"], json!({"n": 8, "path": "from a file"})),
        (&["call", "echo__run"], json!({"n": null, "path": null})),
    ] {
        let ran = portcullis(&home, words);
        let printed: serde_json::Value = serde_json::from_str(ran.good().trim()).unwrap_or_else(|_| panic!("{ran:?}"));
        assert_eq!(printed, expected, "{words:?}");
    }
    let mut piped = std::process::Command::new("sh");
    let script = r#"printf '{"n": 5}' | "$0" call echo__run -"#;
    piped.arg("-c").arg(script).arg(paths::binary()).current_dir(home.path()).env("PORTCULLIS_CACHE", paths::cache());
    assert!(suite::cli::run(piped).good().contains(r#""n":5"#));
    assert!(portcullis(&home, &["call", "echo"]).refused().contains("which tool?; it has: run"));
}

/// As `portcullis ... | head -1`.
#[test]
fn a_reader_that_leaves_early_ends_a_command_quietly() {
    let home = Home::new();
    let mut early = std::process::Command::new("bash");
    early.arg("-c").arg(r#""$0" config --example 2> errors | head -1; echo "${PIPESTATUS[0]}"; cat errors"#);
    early.arg(paths::binary()).current_dir(home.path());
    let ran = suite::cli::run(early);
    let lines: Vec<_> = ran.good().lines().skip(1).collect();
    assert!(lines == ["141"] || lines == ["0"], "nothing is said: {lines:?}");
}

#[test]
fn a_command_that_cannot_print_all_fails() {
    let home = Home::new();
    let mut full = std::process::Command::new("sh");
    full.arg("-c").arg(r#""$0" config --example > /dev/full"#).arg(paths::binary()).current_dir(home.path());
    let ran = suite::cli::run(full);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert_eq!(ran.stderr, "error: what this printed is not complete: No space left on device\n");
}

#[test]
fn scripts_read_json() {
    let home = Home::new();
    let grants = r#"grants.agent-tools = ["echo.run"]"#;
    home.write("portcullis.toml", plugin("relay", grants) + &agent("echo", "echo", "") + &plugin("slow-stream", ""));
    let read = |words: &[&str], status: i32| -> serde_json::Value {
        let ran = portcullis(&home, words);
        assert_eq!(ran.status, Some(status), "{ran:?}");
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    };
    let called = read(&["call", "slow-stream__run", "n=2", "--json"], 0);
    assert_eq!((&called["content"][0]["text"], &called["isError"]), (&json!("2 parts"), &json!(false)));
    assert_eq!(called["_meta"]["dev.portcullis/usage"]["chunks"], 2);
    let denied = read(&["call", "relay__run", "path=notes.add", "--json"], 3);
    assert_eq!(denied["_meta"]["dev.portcullis/error"]["code"], "denied");
    let listed = read(&["plugin", "list", "--json"], 0);
    let names: Vec<_> = listed.as_array().unwrap().iter().map(|it| it["plugin"].as_str().unwrap()).collect();
    assert_eq!(names, ["plugins.relay", "plugins.slow-stream", "agent.echo"]);
    assert!(listed[0]["state"] == "enabled" && listed[0]["digest"].as_str().unwrap().starts_with("sha256:"));
    let shown = read(&["plugin", "show", "relay", "--json"], 0);
    assert_eq!(shown["grants"]["agent-tools"], json!(["echo.run"]));
    assert_eq!(shown["tools"][0]["inputSchema"]["type"], "object");
    let checked = read(&["check", &paths::guest("relay").display().to_string(), "--json"], 0);
    assert_eq!((&checked["digest"], &checked["tools"]), (&shown["digest"], &shown["tools"]));
    assert_eq!(read(&["policy", "test", "relay", "agent-tools echo.run", "--json"], 0)["allowed"], true);
    let no = read(&["policy", "test", "relay", "agent-tools notes.add", "--json"], 1);
    assert!(no["allowed"] == false && no["remedy"].as_str().unwrap().contains("portcullis grant relay"), "{no}");
    let policy = read(&["policy", "show", "--json"], 0);
    assert_eq!(policy[0]["granted"]["agent-tools"], json!(["echo.run"]), "{policy}");
}

#[test]
fn options_may_come_before_the_command() {
    let home = Home::new();
    home.write("other.toml", plugin("echo", ""));
    for words in [["-c", "other.toml", "plugin", "list"], ["plugin", "list", "--config", "other.toml"]] {
        assert!(portcullis(&home, &words).good().contains("plugins.echo"), "{words:?}");
    }
    // The agent needs no configuration, and reads none that is not named.
    let agent = |words: &[&str]| portcullis(&home, &[words, &["agent", "--script", "commands"]].concat());
    home.write("commands", "servers\n");
    assert!(agent(&[]).good().contains("none; connect"));
    home.write(
        "nobody.toml",
        "[upstream.far]\nurl = \"http://127.0.0.1:1/mcp\"\n[upstream.near]\ncommand = [\"true\"]\n",
    );
    let nobody = agent(&["-q", "-c", "nobody.toml"]);
    let nobody = nobody.stdout + &nobody.stderr;
    for words in ["`far` is not connected: no request reaches it", "`near` is not connected: it closed the connection"]
    {
        assert!(nobody.contains(words) && !nobody.contains("::"), "in words for people: {nobody}");
    }
    home.write("portcullis.toml", "[nothing");
    agent(&[]).good();
    assert!(agent(&["-c", "portcullis.toml"]).refused().contains("TOML parse error"));
    std::fs::remove_file(home.path().join("portcullis.toml")).unwrap();
    let loud = portcullis(&home, &["-vv", "call", "echo__run", "-c", "other.toml"]);
    let quiet = portcullis(&home, &["call", "echo__run", "-q", "-c", "other.toml"]);
    assert!(loud.stderr.contains("DEBUG") && quiet.stderr.lines().count() == 1, "{quiet:?}");
    let plain = portcullis(&home, &["plugin", "list"]);
    let colored = portcullis(&home, &["--color", "always", "plugin", "list"]);
    assert!(plain.refused().starts_with("error: ") && colored.refused().contains("\u{1b}["), "{colored:?}");
}

#[test]
fn the_commands_describe_themselves() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = portcullis(&home, &["completions", shell]);
        assert!(script.good().contains("outdated") && !script.stdout.contains("compile-worker"), "{shell}");
    }
    portcullis(&home, &["man", "pages"]).good();
    let page = std::fs::read_to_string(home.path().join("pages/portcullis-plugin-install.1")).unwrap();
    assert!(page.contains("yes\\-grant"), "{page}");
    let mistaken = portcullis(&home, &["compile-work"]);
    assert!(mistaken.status == Some(2) && !mistaken.stderr.contains("compile-worker"), "{mistaken:?}");
}

#[test]
fn a_new_user_begins_with_init() {
    let home = Home::new();
    let none = portcullis(&home, &["plugin", "list"]);
    assert_eq!(none.refused().matches("portcullis init").count(), 1, "{none:?}");
    assert!(portcullis(&home, &["init"]).good().contains("plugin install"));
    portcullis(&home, &["plugin", "list"]).good();
    let text = std::fs::read_to_string(home.path().join("portcullis.toml")).unwrap();
    assert!(portcullis(&home, &["init"]).refused().contains("there is portcullis.toml already"));
    assert_eq!(std::fs::read_to_string(home.path().join("portcullis.toml")).unwrap(), text);
    // An installation begins a folder, too, with the consent that it needs anyway.
    let home = Home::new();
    let file = home.write("echo.wasm", std::fs::read(paths::guest("echo")).unwrap());
    let install = ["plugin", "install", &file.display().to_string(), "--name", "echo"];
    assert!(portcullis(&home, &install).refused().contains("portcullis init"));
    assert!(portcullis(&home, &[&install[..], &["--yes"]].concat()).good().contains("Wrote portcullis.toml"));
    assert!(portcullis(&home, &["plugin", "outdated"]).good().contains("All 1 installed plugins are the newest"));
    portcullis(&home, &["plugin", "disable", "echo"]).good();
    assert!(portcullis(&home, &["call", "echo__run"]).refused().contains("disabled"));
}

#[test]
fn a_component_without_a_manifest_gets_one() {
    let home = Home::new();
    let file = home.write("mine.wasm", std::fs::read(paths::guest("echo")).unwrap());
    let file = file.display().to_string();
    let show = || portcullis(&home, &["plugin", "manifest", &file]);
    assert!(show().stdout.contains("requests") || show().refused().contains("--set name=NAME"), "{:?}", show());
    let settings =
        ["name=mine", "version=2.1", "requests.filesystem=read", r#"requests.http=["https://api.example.com"]"#];
    let mut words = vec!["plugin", "manifest", &file];
    settings.iter().for_each(|setting| words.extend(["--set", setting]));
    portcullis(&home, &words).good();
    let shown = portcullis(&home, &["check", &file]);
    for part in ["mine", "2.1", "filesystem", "https://api.example.com"] {
        assert!(shown.good().contains(part), "{part}: {shown:?}");
    }
    assert!(show().good().contains("filesystem = \"read\""));
    let wrong = portcullis(&home, &["plugin", "manifest", &file, "--set", "requests.network=true"]);
    assert!(wrong.refused().contains("unknown field `network`"), "{wrong:?}");
    assert!(portcullis(&home, &["check", &file]).good().contains("2.1"), "nothing was changed");
}

#[test]
fn a_granted_directory_that_is_missing_is_said() {
    let home = Home::new();
    let gone = r#"filesystem = [{ host = "gone", guest = "/gone", access = "read" }]"#;
    home.write("portcullis.toml", plugin("read-inside", ""));
    let granted = portcullis(&home, &["grant", "read-inside", gone, "--yes"]);
    assert!(granted.good().contains("there is no directory"), "{granted:?}");
    assert!(portcullis(&home, &["policy", "show", "read-inside"]).good().contains("there is no directory"));
    assert!(portcullis(&home, &["plugin", "list"]).stderr.contains("there is no directory"));
    std::fs::create_dir(home.path().join("gone")).unwrap();
    assert!(!portcullis(&home, &["policy", "show", "read-inside"]).good().contains("there is no directory"));
}

#[test]
fn an_unknown_tool_is_reported_with_the_known_ones() {
    let config = plugin("echo", "");
    for (arguments, words) in [
        (vec!["call", "nobody", "run"], "echo"),
        (vec!["call", "echo", "walk"], "run"),
        (vec!["call", "echo", "run", "{"], "JSON"),
        (vec!["call", "echo", "run", "[]"], "object"),
        (vec!["call", "echo", "run", r#"{"n": "x"}"#], "n"),
    ] {
        let ran = run(&config, &arguments);
        assert_eq!(ran.status, Some(1), "{arguments:?}: {ran:?}");
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains(words), "{arguments:?}: {ran:?}");
    }
}

#[test]
fn plugins_are_listed_and_shown() {
    let grant = r#"grants.agent-tools = ["echo.run"]"#;
    let config = plugin("relay", grant) + &plugin("burn", "") + &agent("echo", "echo", "");
    let listed = run(&config, &["plugin", "list"]);
    for name in ["relay", "burn", "echo"] {
        assert!(listed.good().contains(name), "{listed:?}");
    }
    let shown = run(&config, &["plugin", "show", "relay"]);
    for part in ["run", "agent-tools", "echo.run", "sha256:", "portcullis:plugin/agent-tools@0.1.0", "0.1.0"] {
        assert!(shown.good().contains(part), "{part} is not shown: {}", shown.stdout);
    }
    let missing = run(&config, &["plugin", "show", "nobody"]);
    assert!(missing.refused().contains("plugin list"), "it says where to look: {}", missing.stderr);
}

#[test]
fn check_prints_what_a_plugin_requests() {
    let home = Home::new();
    let ran = portcullis(&home, &["check", &paths::guest("relay").display().to_string()]);
    for part in ["relay", "run", "agent-tools", "*"] {
        assert!(ran.good().contains(part), "{part} is not said: {}", ran.stdout);
    }
    let ran = portcullis(&home, &["check", &paths::guest("echo").display().to_string()]);
    assert!(ran.good().contains("nothing"), "a plugin that requests nothing: {}", ran.stdout);
}

#[test]
fn the_example_configuration_is_complete_and_works() {
    let example = run("", &["config", "--example"]);
    let text = example.good();
    for key in [
        "[server]",
        "http",
        "[plugins.",
        "source",
        "prefix",
        "grants",
        "filesystem",
        "host",
        "guest",
        "access",
        "agent-tools",
        "limits",
        "metering",
        "fuel",
        "cpu",
        "memory",
        "deadline",
        "output",
        "chunk",
        "chunks",
        "calls",
        "depth",
        "log",
        "log-lines",
        "handles",
        "table-elements",
        "hostcall",
        "[agent.",
    ] {
        assert!(text.contains(key), "the example has no `{key}`");
    }
    // The configuration is parsed before any component is opened, so only the missing components are reported.
    let ran = run(text, &["plugin", "list"]);
    assert!(!ran.stderr.contains("line "), "the example does not parse: {}", ran.stderr);
    assert!(ran.stderr.contains(".wasm"), "{}", ran.stderr);
}

#[test]
fn a_missing_configuration_is_reported_with_a_remedy() {
    let home = Home::new();
    let ran = portcullis(&home, &["serve"]);
    assert!(ran.refused().contains("portcullis.toml") && ran.stderr.contains("portcullis init"), "{}", ran.stderr);
}
