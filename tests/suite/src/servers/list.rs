//! The servers, and how each is started. None needs an account or a network to list its tools; what they ask for is made up.

use crate::paths;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// A server.
pub(super) struct Listed {
    /// The name of its package.
    pub(super) package: &'static str,
    from: From,
    arguments: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
}

/// Where its program is.
enum From {
    /// A script of the package.
    Npm(&'static str),
    /// A program in an environment.
    Python(&'static str, &'static str),
}

/// With the SDK 2.
const CURRENT: &str = "current";
/// With the SDK 1.
const OLDER: &str = "older";

/// All of them.
pub(super) const ALL: &[Listed] = &[
    Listed::npm("@modelcontextprotocol/server-everything", "dist/index.js"),
    Listed::npm("@modelcontextprotocol/server-filesystem", "dist/index.js").with(&["."]),
    Listed::npm("@modelcontextprotocol/server-memory", "dist/index.js"),
    Listed::npm("@modelcontextprotocol/server-sequential-thinking", "dist/index.js"),
    Listed::npm("@modelcontextprotocol/server-github", "dist/index.js"),
    Listed::npm("@modelcontextprotocol/server-postgres", "dist/index.js").with(&["postgresql://127.0.0.1:9/none"]),
    Listed::npm("@modelcontextprotocol/server-slack", "dist/index.js")
        .given(&[("SLACK_BOT_TOKEN", "none"), ("SLACK_TEAM_ID", "none")]),
    Listed::npm("@modelcontextprotocol/server-brave-search", "dist/index.js").given(&[("BRAVE_API_KEY", "none")]),
    Listed::npm("@modelcontextprotocol/server-google-maps", "dist/index.js").given(&[("GOOGLE_MAPS_API_KEY", "none")]),
    Listed::npm("@modelcontextprotocol/server-gitlab", "dist/index.js")
        .given(&[("GITLAB_PERSONAL_ACCESS_TOKEN", "none")]),
    Listed::npm("@modelcontextprotocol/server-everart", "dist/index.js").given(&[("EVERART_API_KEY", "none")]),
    Listed::npm("@playwright/mcp", "cli.js"),
    Listed::npm("@upstash/context7-mcp", "dist/index.js"),
    Listed::npm("tavily-mcp", "build/index.js").given(&[("TAVILY_API_KEY", "none")]),
    Listed::npm("exa-mcp-server", "dist/stdio.cjs").given(&[("EXA_API_KEY", "none")]),
    Listed::npm("firecrawl-mcp", "dist/index.js").given(&[("FIRECRAWL_API_KEY", "none")]),
    Listed::npm("@notionhq/notion-mcp-server", "bin/cli.mjs").given(&[("NOTION_TOKEN", "none")]),
    Listed::npm("@supabase/mcp-server-supabase", "dist/cli.js").with(&["--access-token", "none"]),
    Listed::npm("@sentry/mcp-server", "dist/index.js").with(&["--access-token=none"]),
    Listed::npm("figma-developer-mcp", "dist/bin.js").with(&["--stdio"]).given(&[("FIGMA_API_KEY", "none")]),
    Listed::npm("mongodb-mcp-server", "dist/esm/index.js"),
    Listed::npm("chrome-devtools-mcp", "build/src/bin/chrome-devtools-mcp.js"),
    Listed::npm("@wonderwhy-er/desktop-commander", "dist/index.js"),
    Listed::npm("@browsermcp/mcp", "dist/index.js"),
    Listed::npm("@hubspot/mcp-server", "dist/index.js").given(&[("PRIVATE_APP_ACCESS_TOKEN", "none")]),
    Listed::npm("@neondatabase/mcp-server-neon", "dist/index.js").with(&["start", "none"]),
    Listed::npm("@antv/mcp-server-chart", "build/index.js"),
    Listed::npm("@magicuidesign/mcp", "dist/server.js"),
    Listed::npm("airtable-mcp-server", "dist/main.js").given(&[("AIRTABLE_API_KEY", "pat123.abc123")]),
    Listed::npm("@circleci/mcp-server-circleci", "dist/index.js").given(&[("CIRCLECI_TOKEN", "none")]),
    Listed::npm("@mui/mcp", "stdio.js"),
    Listed::npm("@openbnb/mcp-server-airbnb", "dist/index.js"),
    Listed::npm("@brave/brave-search-mcp-server", "dist/index.js").given(&[("BRAVE_API_KEY", "none")]),
    Listed::python("mcp-server-fetch", CURRENT, "mcp-server-fetch"),
    Listed::python("mcp-server-git", CURRENT, "mcp-server-git"),
    Listed::python("mcp-server-time", CURRENT, "mcp-server-time"),
    Listed::python("duckduckgo-mcp-server", CURRENT, "duckduckgo-mcp-server"),
    Listed::python("wikipedia-mcp", CURRENT, "wikipedia-mcp"),
    Listed::python("mcp-pandoc", CURRENT, "mcp-pandoc"),
    Listed::python("excel-mcp-server", CURRENT, "excel-mcp-server").with(&["stdio"]),
    Listed::python("awslabs.aws-documentation-mcp-server", CURRENT, "awslabs.aws-documentation-mcp-server"),
    Listed::python("mcp-atlassian", OLDER, "mcp-atlassian").given(&[
        ("JIRA_URL", "http://127.0.0.1:9"),
        ("JIRA_USERNAME", "none"),
        ("JIRA_API_TOKEN", "none"),
        ("CONFLUENCE_URL", "http://127.0.0.1:9"),
        ("CONFLUENCE_USERNAME", "none"),
        ("CONFLUENCE_API_TOKEN", "none"),
        // It writes a set into a schema, in an order of its own at each start.
        ("PYTHONHASHSEED", "0"),
    ]),
    Listed::python("office-word-mcp-server", OLDER, "word_mcp_server"),
    Listed::python("office-powerpoint-mcp-server", OLDER, "ppt_mcp_server"),
    Listed::python("blender-mcp", OLDER, "blender-mcp"),
    Listed::python("mcp-server-sqlite", OLDER, "mcp-server-sqlite").with(&["--db-path", "test.db"]),
    Listed::python("mcp-server-calculator", OLDER, "mcp-server-calculator"),
    Listed::python("mcp-obsidian", OLDER, "mcp-obsidian").given(&[("OBSIDIAN_API_KEY", "none")]),
    Listed::python("arxiv-mcp-server", OLDER, "arxiv-mcp-server"),
];

impl Listed {
    const fn npm(package: &'static str, script: &'static str) -> Self {
        Self { package, from: From::Npm(script), arguments: &[], variables: &[] }
    }

    const fn python(package: &'static str, environment: &'static str, program: &'static str) -> Self {
        Self { package, from: From::Python(environment, program), arguments: &[], variables: &[] }
    }

    const fn with(self, arguments: &'static [&'static str]) -> Self {
        Self { arguments, ..self }
    }

    const fn given(self, variables: &'static [(&'static str, &'static str)]) -> Self {
        Self { variables, ..self }
    }

    /// What starts it.
    pub(super) fn command(&self) -> Command {
        let mut command = match self.from {
            From::Npm(script) => {
                let mut node = Command::new("node");
                node.arg(self.folder().join(script));
                node
            }
            From::Python(environment, program) => Command::new(installed().join(environment).join("bin").join(program)),
        };
        command.args(self.arguments);
        command
    }

    /// The variables of its environment, besides those that no program can do without.
    pub(super) fn variables(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        // Some report to their makers that they are used.
        self.variables.iter().copied().chain([("DO_NOT_TRACK", "1")])
    }

    /// The version that is installed.
    pub(super) fn version(&self) -> Option<String> {
        match self.from {
            From::Npm(_) => {
                let text = fs::read(self.folder().join("package.json")).ok()?;
                let package: Value = serde_json::from_slice(&text).ok()?;
                Some(package["version"].as_str()?.to_owned())
            }
            From::Python(environment, _) => {
                let required =
                    fs::read_to_string(paths::root().join(format!("tests/clients/servers/{environment}.txt"))).ok()?;
                let version = required.lines().find_map(|line| line.strip_prefix(self.package)?.strip_prefix("=="));
                version.map(str::to_owned)
            }
        }
    }

    /// The folder of its package.
    fn folder(&self) -> PathBuf {
        installed().join("node/node_modules").join(self.package)
    }
}

/// The folder with what is installed.
pub(super) fn installed() -> PathBuf {
    let folder =
        std::env::var_os("PORTCULLIS_SERVERS").expect("`cargo xtask clients --servers` sets PORTCULLIS_SERVERS");
    PathBuf::from(folder)
}
