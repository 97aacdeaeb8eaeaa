//! What the suite meets besides the host: where it finds real clients, agents, libraries and a registry.

use std::process::Command;

use crate::repo::Repo;
use crate::{registry, rmcp};

/// Passes the paths of the host, the real clients and the registry to a program of the suite.
pub(crate) fn with_peers<'a>(repo: &Repo, command: &'a mut Command) -> &'a mut Command {
    command
        .env("PORTCULLIS_BIN", repo.binary("debug", "portcullis"))
        .env("PORTCULLIS_PYTHON", repo.python())
        .env("PORTCULLIS_NODE_MODULES", repo.node_modules())
        .env("PORTCULLIS_AGENTS", repo.agents())
        .env("PORTCULLIS_LIBRARIES", repo.libraries())
        .env("PORTCULLIS_RMCP_CLIENT", rmcp::program(repo))
        .env("PORTCULLIS_DOCKER_REGISTRY", registry::program(repo))
}
