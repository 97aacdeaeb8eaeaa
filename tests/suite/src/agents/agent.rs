//! The agents, and how each is told of its model, of the server, and of what to do.

use super::model::Model;
use crate::journey::{Access, without_user};
use crate::paths;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the agents call the server.
const SERVER: &str = "gate";
/// The prompt. The model follows its script whatever it says.
const PROMPT: &str = "Go through the journey.";

/// An agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    /// Anthropic's.
    ClaudeCode,
    /// OpenAI's.
    Codex,
    /// Google's.
    GeminiCli,
    /// The agent of the framework of this name, in Python.
    FastAgent,
    /// The one of this name.
    OpenCode,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::ClaudeCode, Self::Codex, Self::GeminiCli, Self::FastAgent, Self::OpenCode];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
            Self::GeminiCli => "Gemini CLI",
            Self::FastAgent => "fast-agent",
            Self::OpenCode => "opencode",
        }
    }

    /// Its version, as it says itself; `None` if it cannot be started.
    pub fn version(self) -> Option<String> {
        let home = tempfile::tempdir().ok()?;
        let output = self.program(home.path())?.arg("--version").output().ok()?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) && word.contains('.');
        said.split_whitespace().map(|word| word.trim_start_matches('v')).find(number).map(str::to_owned)
    }

    /// The command that goes through the journey once and ends, with its files in `home`.
    pub(crate) fn command(self, home: &Path, model: &Model, server: &Access) -> Option<Command> {
        let mut command = self.program(home)?;
        let write = |name: &str, content: String| {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("the agent's folder");
            std::fs::write(&path, content).expect("the agent's configuration");
            path
        };
        match self {
            Self::ClaudeCode => {
                let server = match server {
                    Access::Stdio(words) => json!({"type": "stdio", "command": words[0], "args": words[1..]}),
                    Access::Http(url) => json!({"type": "http", "url": url}),
                };
                let servers = write("mcp.json", json!({"mcpServers": {SERVER: server}}).to_string());
                command.args(["-p", PROMPT, "--strict-mcp-config", "--mcp-config"]).arg(servers);
                command.arg("--allowedTools").arg(format!("mcp__{SERVER}"));
                command.env("ANTHROPIC_BASE_URL", model.url("")).env("ANTHROPIC_API_KEY", "none");
                // Otherwise the model must search for tools before it sees them.
                command.env("ENABLE_TOOL_SEARCH", "false").env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
            }
            Self::Codex => {
                let server = match server {
                    Access::Stdio(words) => format!("command = {:?}\nargs = {:?}", words[0], &words[1..]),
                    Access::Http(url) => format!("url = {url:?}"),
                };
                let provider =
                    format!("name = \"scripted\"\nbase_url = {:?}\nwire_api = \"responses\"", model.url("/v1"));
                write(
                    ".codex/config.toml",
                    format!(
                        "model = \"scripted\"\nmodel_provider = \"scripted\"\n[model_providers.scripted]\n{provider}\n[mcp_servers.{SERVER}]\n{server}\n"
                    ),
                );
                command.args(["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT]);
                command.env("CODEX_HOME", home.join(".codex"));
            }
            Self::GeminiCli => {
                let mut server = match server {
                    Access::Stdio(words) => json!({"command": words[0], "args": words[1..]}),
                    Access::Http(url) => json!({"httpUrl": url}),
                };
                server["trust"] = true.into();
                let settings = json!({
                    "mcpServers": {SERVER: server},
                    "security": {"auth": {"selectedType": "gemini-api-key"}},
                    "general": {"enableAutoUpdate": false},
                    "privacy": {"usageStatisticsEnabled": false},
                });
                write(".gemini/settings.json", settings.to_string());
                command.args(["--prompt", PROMPT, "--approval-mode", "yolo", "--skip-trust"]);
                command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", model.url(""));
                // Otherwise it starts itself again, and a signal reaches only the first of the two.
                command.env("GEMINI_CLI_NO_RELAUNCH", "true");
            }
            Self::FastAgent => {
                let server = match server {
                    Access::Stdio(words) => json!({"transport": "stdio", "command": words[0], "args": words[1..]}),
                    Access::Http(url) => json!({"transport": "http", "url": url}),
                };
                let config = json!({
                    "default_model": "generic.scripted",
                    "generic": {"base_url": model.url("/v1"), "api_key": "none"},
                    "mcp": {"servers": {SERVER: server}},
                });
                // JSON is YAML.
                let config = write("fastagent.config.yaml", config.to_string());
                command.arg("go").arg("--config-path").arg(config).args(["--servers", SERVER, "--message", PROMPT]);
            }
            Self::OpenCode => {
                let server = match server {
                    Access::Stdio(words) => json!({"type": "local", "command": words, "enabled": true}),
                    Access::Http(url) => json!({"type": "remote", "url": url, "enabled": true, "oauth": false}),
                };
                let provider = json!({
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "scripted",
                    "options": {"baseURL": model.url("/v1"), "apiKey": "none"},
                    "models": {"scripted": {"name": "scripted"}},
                });
                let config = json!({
                    "model": "scripted/scripted", "provider": {"scripted": provider},
                    "mcp": {SERVER: server}, "autoupdate": false, "share": "disabled",
                });
                write("opencode.json", config.to_string());
                command.args(["run", PROMPT]).env("OPENCODE_DISABLE_MODELS_FETCH", "true");
            }
        }
        Some(command)
    }

    /// The program itself, not a script that would start it: a signal is to reach it. It gets nothing of the user's.
    fn program(self, home: &Path) -> Option<Command> {
        let folder = paths::agents()?;
        let packages = folder.join("node_modules");
        let existing = |path: PathBuf| path.exists().then_some(path);
        let native = |package: &str| existing(packages.join(format!("{package}-linux-{}", architecture())));
        let mut command = match self {
            Self::ClaudeCode => Command::new(existing(native("@anthropic-ai/claude-code")?.join("claude"))?),
            Self::Codex => Command::new(existing(
                native("@openai/codex")?
                    .join(format!("vendor/{}-unknown-linux-musl/bin/codex", std::env::consts::ARCH)),
            )?),
            Self::GeminiCli => {
                let mut node = Command::new("node");
                node.arg(existing(packages.join("@google/gemini-cli/bundle/gemini.js"))?);
                node
            }
            Self::FastAgent => Command::new(existing(folder.join("venv/bin/fast-agent"))?),
            Self::OpenCode => Command::new(existing(native("opencode")?.join("bin/opencode"))?),
        };
        without_user(&mut command, home);
        Some(command)
    }
}

/// As npm packages name it.
fn architecture() -> &'static str {
    if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" }
}
