//! Real clients that follow tasks by themselves, with a tool that is always a task: one that ends, and one that asks first.

use crate::journey::Transport;
use crate::{Home, Server, cli, paths, plugin};
use serde_json::{Value, json};
use std::process::Command;

/// Of the Inspector, which prints no version for programs.
const INSPECTOR: &str = "2.12.0";
/// What the Inspector's command line makes of a question, in words that complete "The client".
const NO_FORMS: &str =
    "declares no forms (`elicitation.form`) when it runs by command, so the tool is told that nobody can be asked";

#[derive(Clone, Copy)]
enum Program {
    FastMcp,
    Inspector,
}

/// What came of one call.
struct Seen {
    version: String,
    asked: usize,
    read: String,
}

/// Prints the table; whether each client goes as far as it can.
#[allow(clippy::print_stdout, reason = "for programs that people run at a terminal; no MCP wire here")]
pub fn report() -> bool {
    println!("| client | transport | result | question |\n|---|---|:-:|:-:|");
    let mut is_good = true;
    for program in [Program::FastMcp, Program::Inspector] {
        for transport in Transport::ALL {
            let (ended, asked) = (program.call(transport, "stop"), program.call(transport, "names"));
            let is_ended = ended.read == "said: ";
            let is_asked = asked.asked == 2 && asked.read == r#"said: {"name":"Name 1"}, {"name":"Name 2"}"#;
            let is_unable = matches!(program, Program::Inspector) && asked.read.contains("elicitation.form");
            let question = match (is_asked, is_unable) {
                (true, _) => "yes",
                (false, true) => "no (1)",
                (false, false) => "**no**",
            };
            if !is_ended || !(is_asked || is_unable) {
                eprintln!("{} over {}: {:?}, {:?}", program.name(), transport.name(), ended.read, asked.read);
                is_good = false;
            }
            let result = if is_ended { "yes" } else { "**no**" };
            println!("| {} {} | {} | {result} | {question} |", program.name(), ended.version, transport.name());
        }
    }
    println!("\n1. The client {NO_FORMS}.");
    is_good
}

impl Program {
    fn name(self) -> &'static str {
        match self {
            Self::FastMcp => "fastmcp-tasks",
            Self::Inspector => "Inspector CLI",
        }
    }

    /// Calls the tool with this path.
    fn call(self, transport: Transport, path: &str) -> Seen {
        let config = "[server.tasks]\ninline = \"50ms\"\n\n".to_owned()
            + &plugin("job", "grants.client = { form = true }\nlimits.metering = \"ticks\"");
        let arguments = json!({"path": path}).to_string();
        let mut command = self.command(&arguments);
        command.env("PORTCULLIS_CACHE", paths::cache());
        let ran = match transport {
            Transport::Http => {
                let (_server, address) = Server::start_http(&config);
                command.arg(format!("http://{address}/mcp"));
                cli::run(command)
            }
            Transport::Stdio => {
                let home = Home::new();
                let file = home.write("portcullis.toml", config);
                command.arg("--").arg(paths::binary()).args(["serve", "--config"]).arg(file);
                cli::run(command)
            }
        };
        self.read(&ran.stdout, &ran.stderr)
    }

    fn command(self, arguments: &str) -> Command {
        let folder = paths::libraries().expect("PORTCULLIS_LIBRARIES is set");
        match self {
            Self::FastMcp => {
                let mut python = Command::new(folder.join("current/bin/python"));
                python.arg(paths::client_script("libraries/python/follow_task.py")).args(["job__only", arguments]);
                python
            }
            Self::Inspector => {
                let modules = folder.join("inspector/node_modules");
                let node =
                    format!("node-linux-{}/bin/node", if cfg!(target_arch = "x86_64") { "x64" } else { "arm64" });
                let script = modules.join("@modelcontextprotocol/inspector/clients/cli/build/index.js");
                let mut node = Command::new(modules.join(node));
                node.arg(script).args(["--protocol-era", "modern", "--format", "json", "--method", "tools/call"]);
                node.args(["--tool-name", "job__only", "--tool-args-json", arguments]);
                node
            }
        }
    }

    fn read(self, stdout: &str, stderr: &str) -> Seen {
        let printed: Value = serde_json::from_str(stdout.trim()).unwrap_or_default();
        let content = |printed: &Value| printed["content"][0]["text"].as_str().map(str::to_owned);
        let everything = || format!("{stdout}{stderr}");
        match self {
            Self::FastMcp => Seen {
                version: printed["version"].as_str().unwrap_or_default().to_owned(),
                asked: printed["asked"].as_array().map_or(0, Vec::len),
                read: printed["read"].as_str().map_or_else(everything, str::to_owned),
            },
            Self::Inspector => Seen {
                version: INSPECTOR.to_owned(),
                asked: 0,
                read: content(&printed).or_else(|| content(&printed["result"])).unwrap_or_else(everything),
            },
        }
    }
}
