//! The client adapters of `guest-sdk/clients` against the real host: every lane that each supports, on both transports.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::process::Command;
use suite::{Home, Server, paths, plugin, plugin_from};

/// What one client supports: the start of its command line, its revision, and its lanes.
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

    /// Runs a client that starts the server itself.
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

fn config() -> String {
    plugin_from("planner", &paths::real_plugin("planner"), r#"grants.agent-tools = ["calendar.*"]"#)
}

#[test]
fn one_guest_works_through_every_lane_of_every_client() {
    let script = json!({
        "tool": "planner__plan_day", "arguments": {"title": "Portcullis", "from": "2026-12-01"},
        "deny": "2026-12-04", "edit": "2026-12-05", "breaks": "2026-12-06",
    });
    let (_server, address) = Server::start_http(&config());
    for way in WAYS {
        for (who, seen) in [way.over_http(address, &script), way.over_stdio(&config(), &script)] {
            let version = if way.era == "legacy" { "2025-11-25" } else { "2026-07-28" };
            assert_eq!(seen["version"], version, "{who}: {seen}");
            let plan = &seen["result"]["structuredContent"];
            assert_eq!(plan["tools"], json!(["calendar.create_event", "calendar.free_slots"]), "{who}: {seen}");
            let days = plan["days"].as_array().unwrap();
            let slots = |n: usize| match n {
                3 | 5 => json!([]),
                4 => json!(["18:00"]),
                _ => json!(["10:00", "11:00"]),
            };
            assert_eq!(days.len(), 20, "{who}: {seen}");
            assert!(days.iter().enumerate().all(|(n, day)| day["slots"] == slots(n)), "{who}: {seen}");
            assert!(days[3]["unknown"].as_str().unwrap().contains("the user said no"), "{who}: {seen}");
            assert!(days[5]["unknown"].as_str().unwrap().contains("the tool failed"), "{who}: {seen}");
            assert_eq!(plan["event"]["id"], "2026-12-01-10", "{who}: {seen}");
            // Each approved call ran once, in parallel up to the client's limit.
            assert_eq!(seen["counts"], json!({"free_slots": 19, "create_event": 1}), "{who}");
            assert!((2..=4).contains(&seen["most"].as_u64().unwrap()), "{who}: {seen}");
            let call = &seen["calls"][0];
            let purpose = "put \"Portcullis\" into the calendar";
            assert_eq!([&call["plugin"], &call["tool"], &call["purpose"]], ["planner", "plan_day", purpose], "{who}");
            assert_eq!(seen["chunks"].as_array().unwrap().len(), 4, "{who}: {seen}");
            assert_eq!(seen["intact"], true, "{who}");
            assert!(!seen["result"].to_string().contains("a secret"), "{who}: {seen}");
        }
    }
}

#[test]
fn a_tool_that_calls_back_continues_the_chain() {
    let (_server, address) = Server::start_http(&(config() + &plugin("echo", "")));
    // A tool that already runs in the chain is refused; another tool is not.
    let itself = json!({"tool": "planner__plan_day", "arguments": {"title": "again"}});
    for (again, refused) in [(itself, true), (json!({"tool": "echo__run"}), false)] {
        let arguments = json!({"title": "Portcullis", "days": 1});
        let script = json!({"tool": "planner__plan_day", "arguments": arguments, "again": again});
        for way in WAYS {
            let (who, seen) = way.over_http(address, &script);
            assert_eq!(seen["calls"][0]["chain"], true, "{who}: {seen}");
            assert_eq!(seen["calls"][1]["again"], refused, "{who}: {seen}");
            assert_eq!(seen["counts"], json!({"free_slots": 1, "create_event": 1}), "{who}: {seen}");
        }
    }
}

#[test]
fn a_running_call_is_steered_in_response_to_its_chunks() {
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
