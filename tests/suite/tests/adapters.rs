//! The client adapters of `guest-sdk/clients` against the real host: every lane that each can carry, both transports.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::process::Command;
use suite::{Home, Server, paths, plugin};

/// What one client can carry: its program's first words, the era, the lanes.
struct Way {
    client: &'static str,
    era: &'static str,
    lanes: &'static str,
}

const WAYS: [Way; 9] = [
    Way { client: "python", era: "auto", lanes: "retry" },
    Way { client: "python", era: "auto", lanes: "live,retry" },
    Way { client: "python", era: "legacy", lanes: "live" },
    Way { client: "client", era: "auto", lanes: "retry,request" },
    Way { client: "client", era: "auto", lanes: "live" },
    Way { client: "client", era: "legacy", lanes: "retry,request" },
    Way { client: "client", era: "legacy", lanes: "live" },
    Way { client: "sdk", era: "legacy", lanes: "request" },
    Way { client: "sdk", era: "legacy", lanes: "live" },
];

impl Way {
    fn command(&self, script: &Value) -> Command {
        let mut command = match self.client {
            "python" => {
                let mut command = Command::new(paths::python());
                command.arg("-B").arg(paths::client_script("adapter.py"));
                command.env("PYTHONPATH", paths::root().join("guest-sdk/clients/python/src"));
                command
            }
            package => {
                let mut command = Command::new("node");
                command.arg(paths::client_script("adapter.mjs")).arg(package);
                command.env("PORTCULLIS_NODE_MODULES", paths::node_modules());
                command
            }
        };
        command.args([self.era, self.lanes]).arg(script.to_string());
        command
    }

    fn over_http(&self, address: SocketAddr, script: &Value) -> (String, Value) {
        let mut command = self.command(script);
        command.arg(format!("http://{address}/mcp"));
        (self.named("http"), seen(command))
    }

    /// With a client that starts the server itself.
    fn over_stdio(&self, config: &str, script: &Value) -> (String, Value) {
        let home = Home::new();
        let file = home.write("portcullis.toml", config);
        let mut command = self.command(script);
        command.arg("--").arg(paths::binary()).arg("serve").arg("--config").arg(file);
        command.env("PORTCULLIS_CACHE", paths::cache());
        (self.named("stdio"), seen(command))
    }

    fn named(&self, how: &str) -> String {
        format!("{} {} {} {how}", self.client, self.era, self.lanes)
    }
}

fn seen(command: Command) -> Value {
    let ran = suite::cli::run(command);
    serde_json::from_str(ran.good().trim()).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}

/// The result's structured content.
fn plan(seen: &Value) -> &Value {
    &seen["result"]["structuredContent"]
}

#[test]
fn one_guest_through_every_lane_of_every_client() {
    let config = plugin("plan-day", r#"grants.agent-tools = ["calendar.*"]"#);
    let script = json!({
        "tool": "plan-day__run", "arguments": {"n": 20}, "deny": "day 3", "edit": "day 4", "breaks": "day 5",
    });
    let mut slots: Vec<Value> = (0..20).map(|n| json!({"day": format!("day {n}")})).collect();
    slots[3] = json!("declined: the user said no");
    slots[4] = json!({"day": "another day"});
    slots[5] = json!("failed");
    let (_server, address) = Server::start_http(&config);
    for way in WAYS {
        for (who, seen) in [way.over_http(address, &script), way.over_stdio(&config, &script)] {
            let version = if way.era == "legacy" { "2025-11-25" } else { "2026-07-28" };
            assert_eq!(seen["version"], version, "{who}: {seen}");
            assert_eq!(plan(&seen)["slots"], json!(slots), "{who}: {seen}");
            assert_eq!(plan(&seen)["event"], json!({"title": "plan"}), "{who}: {seen}");
            let tools = json!(["calendar.free_slots", "calendar.create_event"]);
            assert_eq!(plan(&seen)["tools"], tools, "{who}: {seen}");
            assert_eq!(plan(&seen)["private"], false, "{who}: {seen}");
            // Exactly what was approved was run, and in parallel.
            assert_eq!(seen["counts"], json!({"free_slots": 19, "create_event": 1}), "{who}");
            assert!((2..=4).contains(&seen["most"].as_u64().unwrap()), "{who}: {seen}");
            let call = &seen["calls"][0];
            assert_eq!(
                [&call["plugin"], &call["tool"], &call["purpose"]],
                ["plan-day", "run", "find a free hour"],
                "{who}"
            );
            assert_eq!(seen["chunks"], json!(["20 slots"]), "{who}");
            assert_eq!(seen["intact"], true, "{who}");
            assert!(!seen["result"].to_string().contains("secret"), "{who}: {seen}");
        }
    }
}

#[test]
fn a_tool_that_calls_back_continues_the_chain() {
    let config = plugin("plan-day", r#"grants.agent-tools = ["calendar.*"]"#) + &plugin("echo", "");
    let (_server, address) = Server::start_http(&config);
    // A tool that runs already, further up, is refused; another is not.
    for (again, refused) in [(json!({"tool": "plan-day__run"}), true), (json!({"tool": "echo__run"}), false)] {
        let script = json!({"tool": "plan-day__run", "arguments": {"n": 1}, "again": again});
        for way in WAYS.iter().filter(|way| way.lanes != "live") {
            let (who, seen) = way.over_http(address, &script);
            assert_eq!(seen["calls"][0]["chain"], true, "{who}: {seen}");
            assert_eq!(seen["calls"][1]["again"], refused, "{who}: {seen}");
            assert_eq!(seen["counts"], json!({"free_slots": 1, "create_event": 1}), "{who}: {seen}");
        }
    }
}

#[test]
fn a_running_call_is_steered_by_what_its_chunks_say() {
    let config = plugin("steered", "");
    let script = json!({"tool": "steered__run", "steer": ["make it a comedy", "stop"]});
    let (_server, address) = Server::start_http(&config);
    for way in WAYS.iter().filter(|way| way.lanes != "live") {
        let (who, seen) = way.over_http(address, &script);
        assert_eq!(seen["steered"], true, "{who}: {seen}");
        assert_eq!(seen["chunks"], json!(["ready", "make it a comedy"]), "{who}: {seen}");
        assert_eq!(seen["result"]["content"][0]["text"], "heard 1", "{who}: {seen}");
    }
}
