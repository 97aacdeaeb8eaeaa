//! What people get wrong, and what they are told: each message is in `mistakes.txt`, for a person to judge. It says what is
//! wrong, where, and what to do. `PORTCULLIS_WRITE_MISTAKES=1` writes the file anew.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use suite::{Home, Server, at_dumb_terminal, paths, plugin, portcullis};

/// A mistake: its arguments, and the configuration if there is one.
struct Mistake {
    config: Option<String>,
    arguments: &'static [&'static str],
}

fn at_all(config: impl Into<String>, arguments: &'static [&'static str]) -> Mistake {
    Mistake { config: Some(config.into()), arguments }
}

/// In the configuration: whatever is started says so.
fn config(text: &str) -> Mistake {
    at_all(text, &["plugin", "list"])
}

/// In a table of a plugin that exists.
fn table(settings: &str) -> Mistake {
    config(&plugin("echo", settings))
}

fn mistakes() -> Vec<Mistake> {
    let echo = || plugin("echo", "");
    let in_config = [
        "[server",
        "[server]\nhttp",
        "[server]\nhttp = 127.0.0.1:80",
        "[server]\nhttp = \"example.com:80\"",
        "[server]\nhttp = true",
        "[server]\nmetrics = \"9000000\"",
        "[server]\nreloads = true",
        "[server]\nreload = \"yes\"",
        "[server]\ngrants = \"frozen\"",
        "[server]\nmax-body = \"a lot\"",
        "[server]\nmax-sessions = 0",
        "[server]\nallowed-hosts = \"localhost\"",
        "[server]\ndeadline = \"3s\"",
        "[server]\npublic-url = \"here\"",
        "[server.audit]\narguments = \"some\"",
        "[server.audit]\nkeep = -1",
        "[server.auth]\nkey = \"keys.toml\"",
        "[server.parked]\nper-principal = \"many\"",
        "[server.idempotency]\nkept = 0",
        "[server.idempotency]\nkeep = \"1 year\"",
        "[server.fuel]\nper-principal = 0",
        "[server.fuel]\nper-day = \"1 GiB\"",
        "[audit]\noff = true",
        "[telemetry]\nlog = \"xml\"",
        "[pluggins.echo]\nsource = \"echo.wasm\"",
        "[plugins]\nsource = \"echo.wasm\"",
        "[plugins.echo]",
        "[plugins.echo]\ncomponent = \"echo.wasm\"",
        "[plugins.\"an echo\"]\nsource = \"echo.wasm\"",
        "[plugins.echo]\nsource = \"echo.wasm\"\ndigest = \"abc\"",
        "[plugins.echo]\nsource = \"echo.wasm\"\n[plugins.echo]\nsource = \"echo.wasm\"",
        "[agent.echo]\nsource = 7",
        "[upstream.there]",
        "[upstream.there]\nurl = \"there\"",
        "[upstream.there]\nurl = \"http://example.com/mcp\"",
        "[upstream.there]\ncommand = \"there --stdio\"",
        "[upstream.there]\ncommand = [\"there\"]\nurl = \"https://example.com/mcp\"",
        "[secrets.token]",
        "[secrets.token]\nvalue = \"s3cret\"",
        "[model]\nname = \"m\"",
        "[stand-in]\ntools = 7",
        "[sources.\"registry.example.com\"]\nsigner = \"me\"",
        "[connections.github]\nclient-id = \"x\"",
    ];
    let in_table = [
        "limits.fuel = \"many\"",
        "limits.fuel = 0",
        "limits.fuel = -5",
        "limits.deadline = 30",
        "limits.deadline = \"30\"",
        "limits.deadline = \"1 fortnight\"",
        "limits.memory = \"64 MB of it\"",
        "limits.memory = \"64 TiB\"",
        "limits.memori = \"64 MiB\"",
        "limits.metering = \"steps\"",
        "grants.filesystem = \"/tmp\"",
        "grants.filesystem = [\"/tmp\"]",
        "grants.filesystem = [{ host = \".\", guest = \"src\", access = \"read\" }]",
        "grants.filesystem = [{ host = \".\", guest = \"/src\", access = \"rw\" }]",
        "grants.filesystem = [{ host = \".\", guest = \"/src\" }]",
        "grants.file-system = []",
        "grants.http = [\"example.com\"]",
        "grants.http = [{ allow = \"example.com\" }]",
        "grants.http = [{ allow = \"GET ftp://example.com/\" }]",
        "grants.http = [{ allow = \"FETCH https://example.com/\" }]",
        "grants.agent-tools = \"notes.add\"",
        "grants.agent-tools = [\"notes add\"]",
        "grants.client.form = \"yes\"",
        "grants.client.forms = true",
        "grants.client.url = [\"https://example.com/\"]",
        "grants.client.sample = true",
        "grants.env = [\"A=B\"]",
        "grants.secrets = [{ name = \"token\" }]",
        "grants.flows = [\"client\"]",
        "grants.state = true",
        "grants.publish = \"all\"",
        "grants.network = true",
        "idempotency = \"n\"",
        "idempotency = { run = 7 }",
    ];
    let commands: [&'static [&'static str]; 35] = [
        &["serv"],
        &["serve", "--http", "there"],
        &["serve", "--htp", "8808"],
        &["serve", "--config", "nowhere.toml"],
        &["call"],
        &["call", "eccho", "run"],
        &["call", "echo", "rum"],
        &["call", "echo", "run", "{"],
        &["call", "echo", "run", "[1]"],
        &["call", "echo", "run", "{\"n\": \"one\"}"],
        &["grant", "eccho", "publish = true"],
        &["grant", "echo", "publish"],
        &["grant", "echo", "publsh = true"],
        &["grant", "echo", "filesystem = [\"/tmp\"]"],
        &["revoke", "echo", "publish = true"],
        &["grant", "echo", "publish = true"],
        &["plugin", "remove", "echo"],
        &["policy", "confirm"],
        &["policy", "test", "eccho", "publish"],
        &["policy", "test", "echo", "everything"],
        &["policy", "show", "eccho"],
        &["check", "nowhere.wasm"],
        &["check", "portcullis.toml"],
        &["plugin", "install", "nowhere.wasm"],
        &["plugin", "remove", "eccho"],
        &["audit", "export", "--since", "yesterday"],
        &["key", "new", "a b"],
        &["agent", "--connect", "http://127.0.0.1:1/mcp", "--script", "/dev/null", "--forgetful"],
        &["agent", "--connect", "demo=http://127.0.0.1:1/mcp", "--script", "/dev/null", "--forgetful"],
        &["agent", "--connect", "demo=nowhere --stdio", "--script", "/dev/null", "--forgetful"],
        &[
            "agent",
            "--connect",
            "demo=http://127.0.0.1:1/mcp",
            "--key-file",
            "nowhere",
            "--script",
            "/dev/null",
            "--forgetful",
        ],
        &["agent", "--rules", "portcullis.toml", "--script", "/dev/null", "--forgetful"],
        &["agent", "--on", "disk.*", "--script", "/dev/null", "--forgetful"],
        &["agent", "--on", r#"disk.*=call office.notes.add {"text": full}"#, "--script", "/dev/null", "--forgetful"],
        &["agent", "--on", "disk.*=call office.notes.add 3", "--script", "/dev/null", "--forgetful"],
    ];
    let in_config = in_config.into_iter().map(config);
    let commands = commands.into_iter().map(|arguments| at_all(echo(), arguments));
    let without = [&["serve"][..], &["call", "echo", "run"], &["plugin", "list"]];
    let without = without.into_iter().map(|arguments| Mistake { config: None, arguments });
    in_config.chain(in_table.into_iter().map(table)).chain(commands).chain(without).collect()
}

/// Without what differs between machines.
fn steady(text: &str, home: &Home) -> String {
    let (home, guests) = (home.path().display().to_string(), paths::guest("echo").display().to_string());
    text.replace(&home, "HOME").replace(&guests, "echo.wasm")
}

#[test]
fn every_mistake_is_answered_with_what_to_do() {
    let mut all = String::new();
    for Mistake { config, arguments } in mistakes() {
        let home = Home::new();
        if let Some(config) = &config {
            home.write("portcullis.toml", config);
        }
        let ran = portcullis(&home, arguments);
        // The agent says what became of its servers where it says everything.
        let said = if arguments[0] == "agent" { ran.stdout.clone() + &ran.stderr } else { ran.stderr.clone() };
        let said = steady(&said, &home);
        assert_ne!(ran.status, Some(0), "{arguments:?} {config:?}: {ran:?}");
        for internal in ["os error", "panicked", "Err(", "struct ", "serde", "usize", "u64"] {
            assert!(!said.contains(internal), "{internal:?} is no word for people: {said}");
        }
        assert_eq!(said.matches("error").count() - said.matches("parse error").count(), 1, "it is said once: {said}");
        let config = config.filter(|config| *config != plugin("echo", "")).map(|config| steady(&config, &home));
        config.iter().flat_map(|config| config.lines()).for_each(|line| writeln!(all, "# {line}").unwrap());
        writeln!(all, "$ portcullis {}\n{}\n", arguments.join(" "), said.trim_end()).unwrap();
    }
    let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes.txt");
    if std::env::var_os("PORTCULLIS_WRITE_MISTAKES").is_some() {
        fs::write(&golden, &all).unwrap();
    }
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    for (said, expected) in all.split("\n\n").zip(expected.split("\n\n")) {
        assert_eq!(said, expected);
    }
    assert_eq!(all.len(), expected.len());
}

#[test]
fn a_terminal_that_cannot_edit_lines_is_named() {
    let (server, _) = Server::start_http(&plugin("echo", ""));
    let agent = at_dumb_terminal(&server.home, &["agent"]);
    assert!(agent.stdout.contains("(TERM=dumb): set TERM") && agent.stdout.contains("--script"), "{agent:?}");
    let watch = at_dumb_terminal(&server.home, &["task", "watch"]);
    assert!(watch.good().contains("0 open tasks"), "it ends by itself: {watch:?}");
}
