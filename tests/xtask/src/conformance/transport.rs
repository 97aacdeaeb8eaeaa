//! The connection between the suite and the host: direct, or through a bridge to stdio.

use std::path::Path;

use anyhow::Result;

use super::suite::Suite;
use crate::command::step;
use crate::repo::Repo;
use crate::server::Server;

/// How the suite reaches the host. The suite itself speaks HTTP only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Http,
    Stdio,
}

/// Scenarios, or single checks of one, that do not apply to a server on stdio, and why.
const HTTP_ONLY: &[(&str, &str)] = &[
    ("dns-rebinding-protection", "stdio has no Host and no Origin"),
    ("http-header-validation", "stdio has no headers"),
    ("http-custom-header-server-validation", "stdio has no headers"),
    ("server-stateless:sep-2575-http-server-header-mismatch-400", "stdio has no headers"),
    ("tasks-request-headers:tasks-headers-reject-mismatched-method", "stdio has no headers"),
    ("tasks-request-headers:sep-2663-server-rejects-mismatched-mcp-name-on-tasks-get", "stdio has no headers"),
    ("server-session-lifecycle", "stdio has no session ids: a session is a process"),
    ("server-sse-polling", "stdio has no streams to come back to: a lost pipe ends the session"),
];

impl Transport {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Stdio => "stdio",
        }
    }

    /// Why a scenario, or one of its checks, does not apply.
    pub(super) fn spares(self, scenario: &str, check: Option<&str>) -> Option<&'static str> {
        let name = check.map_or_else(|| scenario.to_owned(), |check| format!("{scenario}:{check}"));
        match self {
            Self::Http => None,
            Self::Stdio => HTTP_ONLY.iter().find(|(spared, _)| *spared == name).map(|(_, why)| *why),
        }
    }

    /// Starts the host, and the bridge in front of it.
    pub(super) fn start(self, repo: &Repo, suite: &Suite, source: &Path, results: &Path) -> Result<Server> {
        let (config, log) = (source.join("portcullis.toml"), results.join("server.log"));
        let mut portcullis = repo.portcullis();
        step("starting the server", || match self {
            Self::Http => Server::start(&mut portcullis, &config, &log),
            Self::Stdio => {
                let mut bridge = suite.node();
                bridge.arg(source.join("bridge.mjs")).arg(portcullis.get_program()).args(["serve", "--config"]);
                let environment = portcullis.get_envs().filter_map(|(name, value)| Some((name, value?)));
                Server::wait_for(bridge.arg(&config).envs(environment).current_dir(&repo.root), &log)
            }
        })
    }
}
