//! Unmodified real clients, over both transports, in both revisions, with and without the extension.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::process::Command;
use suite::{Home, Server, paths, plugin};

#[derive(Debug, Clone, Copy)]
enum Language {
    Python,
    TypeScript,
}

const LANGUAGES: [Language; 2] = [Language::Python, Language::TypeScript];
const CALL: [&str; 4] = ["--tool", "slow-stream__run", "--args", r#"{"n": 6}"#];

fn client(language: Language) -> Command {
    match language {
        Language::Python => {
            let mut command = Command::new(paths::python());
            command.arg(paths::client_script("client.py"));
            command
        }
        Language::TypeScript => {
            let mut command = Command::new("node");
            command.arg(paths::client_script("client.mjs")).env("PORTCULLIS_NODE_MODULES", paths::node_modules());
            command
        }
    }
}

fn config() -> String {
    let endless = "limits.fuel = 1_000_000_000_000_000\nlimits.deadline = \"1h\"";
    plugin("slow-stream", "") + &plugin("echo", "") + &plugin("spin", endless)
}

/// Runs a client over HTTP and returns its report.
fn over_http(language: Language, address: SocketAddr, options: &[&str]) -> Value {
    let mut command = client(language);
    command.args(options).arg(format!("http://{address}/mcp"));
    seen(command)
}

/// Runs a client that starts the server itself and returns its report.
fn over_stdio(language: Language, options: &[&str]) -> Value {
    let home = Home::new();
    let file = home.write("portcullis.toml", config());
    let mut command = client(language);
    command.args(options).arg("--").arg(paths::binary()).arg("serve").arg("--config").arg(file);
    command.env("PORTCULLIS_CACHE", paths::cache());
    seen(command)
}

fn seen(command: Command) -> Value {
    let ran = suite::cli::run(command);
    serde_json::from_str(ran.good().trim()).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

fn check(language: Language, era: &str, seen: &Value, extension: bool) {
    let who = format!("{language:?} {era} extension: {extension}: {seen}");
    let version = if era == "legacy" { "2025-11-25" } else { "2026-07-28" };
    assert_eq!(seen["protocolVersion"], version, "{who}");
    assert_eq!(seen["tools"].as_array().unwrap().len(), 3, "{who}");
    assert_eq!(seen["result"]["content"][0]["text"], "6 parts", "{who}");
    assert_eq!(seen["result"]["_meta"]["dev.portcullis/stream"]["chunks"], 6, "{who}");
    let chunks = seen["chunks"].as_array().unwrap();
    let progress = seen["progress"].as_array().unwrap();
    let ended = seen["ended_ms"].as_f64().unwrap();
    let texts: Vec<_> = if extension {
        chunks.iter().filter_map(|chunk| chunk["content"][0]["text"].as_str()).collect()
    } else {
        assert!(chunks.is_empty(), "{who}");
        progress.iter().filter_map(|report| report["message"].as_str()).collect()
    };
    if extension {
        assert_eq!(texts, ["part 0", "part 1", "part 2", "part 3", "part 4", "part 5"], "{who}");
    } else {
        // Those within a tenth of a second are merged.
        assert!((texts[0], *texts.last().unwrap()) == ("part 0", "part 5") && texts.is_sorted(), "{who}");
    }
    let first = if extension { &chunks[0] } else { &progress[0] };
    assert!(first["t_ms"].as_f64().unwrap() < ended - 150.0, "the first part came with the result: {who}");
}

#[test]
fn over_http_in_both_eras() {
    let (_server, address) = Server::start_http(&config());
    for language in LANGUAGES {
        for era in ["legacy", "2026-07-28", "auto"] {
            let mut results = Vec::new();
            for extension in [false, true] {
                let options = [&["--era", era][..], &CALL, if extension { &["--extension"] } else { &[] }].concat();
                let seen = over_http(language, address, &options);
                check(language, era, &seen, extension);
                results.push(seen["result"]["content"].to_string());
            }
            assert_eq!(results[0], results[1], "the same result either way");
        }
    }
}

#[test]
fn over_stdio_in_both_eras() {
    for language in LANGUAGES {
        for era in ["legacy", "2026-07-28"] {
            for extension in [false, true] {
                let options = [&["--era", era][..], &CALL, if extension { &["--extension"] } else { &[] }].concat();
                check(language, era, &over_stdio(language, &options), extension);
            }
        }
    }
}

#[test]
fn a_client_that_cancels_can_go_on() {
    let (server, address) = Server::start_http(&config());
    for language in LANGUAGES {
        for era in ["legacy", "2026-07-28"] {
            let options = [
                "--era",
                era,
                "--tool",
                "spin__run",
                "--cancel-after",
                "300",
                "--then",
                "echo__run",
                "--then-args",
                r#"{"n": 9}"#,
            ];
            for (how, seen) in
                [("http", over_http(language, address, &options)), ("stdio", over_stdio(language, &options))]
            {
                assert!(
                    seen["cancelled_ms"].is_number() && seen["error"].is_object(),
                    "{language:?} {era} {how}: {seen}"
                );
                let then = &seen["then"]["result"]["structuredContent"];
                assert_eq!(then, &json!({"n": 9, "path": null}), "{language:?} {era} {how}: {seen}");
            }
        }
    }
    let late = suite::Watch::start(&server).until_idle(&server);
    assert!(late < std::time::Duration::from_millis(100), "a cancelled guest went on for {late:?}");
}
