//! The libraries, and the program that drives each.

use crate::journey::without_user;
use crate::paths;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Library {
    /// The name of its package.
    pub name: &'static str,
    driver: Driver,
}

/// What drives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Driver {
    /// `python/drive.py` with this adapter, in an environment.
    Python { environment: Environment, adapter: &'static str },
    /// `javascript/drive.mjs` with this adapter.
    JavaScript { adapter: &'static str },
    /// The program in `go`.
    Go,
}

/// Python packages. They differ in the version of the SDK, of which the libraries need different ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Environment {
    /// That of the other tests.
    Tests,
    /// 2.3.
    Current,
    /// 2.1.
    Earlier,
    /// 1.30.
    Older,
}

impl Library {
    /// The one that the tests use.
    pub const SDK: Self = python("mcp", Environment::Tests, "adapt_mcp");
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::SDK,
        python("fastmcp", Environment::Current, "adapt_fastmcp"),
        python("pydantic-ai-slim", Environment::Current, "adapt_pydantic_ai"),
        python("openai-agents", Environment::Current, "adapt_openai_agents"),
        python("agent-framework-core", Environment::Current, "adapt_agent_framework"),
        python("llama-index-tools-mcp", Environment::Current, "adapt_llama_index"),
        python("google-adk", Environment::Current, "adapt_google_adk"),
        python("strands-agents", Environment::Earlier, "adapt_strands"),
        python("mcp-haystack", Environment::Earlier, "adapt_haystack"),
        python("langchain-mcp-adapters", Environment::Older, "adapt_langchain"),
        python("mcp-use", Environment::Older, "adapt_mcp_use"),
        python("semantic-kernel", Environment::Older, "adapt_semantic_kernel"),
        python("smolagents", Environment::Older, "adapt_smolagents"),
        javascript("@modelcontextprotocol/client", "client"),
        javascript("@modelcontextprotocol/sdk", "sdk"),
        javascript("@ai-sdk/mcp", "ai-sdk"),
        javascript("@mastra/mcp", "mastra"),
        javascript("@openai/agents", "openai-agents"),
        javascript("@langchain/mcp-adapters", "langchain"),
        javascript("@genkit-ai/mcp", "genkit"),
        javascript("mcporter", "mcporter"),
        Self { name: "go-sdk", driver: Driver::Go },
    ];

    /// The program that drives it, with its files in `home`; `None` if it is not installed.
    pub(super) fn command(self, home: &Path) -> Option<Command> {
        let folder = || paths::libraries();
        let existing = |path: PathBuf| path.exists().then_some(path);
        let mut command = match self.driver {
            Driver::Python { environment, adapter } => {
                let python = match environment {
                    Environment::Tests => paths::python(),
                    Environment::Current => folder()?.join("current/bin/python"),
                    Environment::Earlier => folder()?.join("earlier/bin/python"),
                    Environment::Older => folder()?.join("older/bin/python"),
                };
                let mut python = Command::new(existing(python)?);
                // -B writes no bytecode beside the sources.
                python.arg("-B").arg(paths::client_script("libraries/python/drive.py")).args([adapter, self.name]);
                python
            }
            Driver::JavaScript { adapter } => {
                let folder = folder()?.join("javascript");
                let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
                let node = folder.join(format!("node_modules/node-linux-{architecture}/bin/node"));
                let mut node = Command::new(existing(node)?);
                node.arg(existing(folder.join("drive.mjs"))?).args([adapter, self.name]);
                node
            }
            Driver::Go => Command::new(existing(folder()?.join("go-sdk"))?),
        };
        without_user(&mut command, home);
        // Some report to their makers that they are used.
        command.env("MCP_USE_ANONYMIZED_TELEMETRY", "false").env("HAYSTACK_TELEMETRY_ENABLED", "False");
        command.env("MASTRA_TELEMETRY_DISABLED", "true").env("DO_NOT_TRACK", "1");
        Some(command)
    }

    /// Why it may wait for ever; a reason of its own.
    pub(super) fn why_it_hangs(self) -> Option<&'static str> {
        // Its handler of the notification sends a request, and what would read the answer waits for the handler.
        (self.name == "semantic-kernel").then_some("waits for itself when it is told that a list has changed")
    }

    /// Whether it is installed.
    pub fn is_installed(self) -> bool {
        self.command(Path::new("/")).is_some()
    }
}

const fn python(name: &'static str, environment: Environment, adapter: &'static str) -> Library {
    Library { name, driver: Driver::Python { environment, adapter } }
}

const fn javascript(name: &'static str, adapter: &'static str) -> Library {
    Library { name, driver: Driver::JavaScript { adapter } }
}
