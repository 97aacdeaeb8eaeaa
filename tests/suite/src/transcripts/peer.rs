//! The unmodified clients that the transcripts compare.

use crate::paths;
use std::process::Command;

/// How a client connects: `auto` negotiates the newest common revision, `legacy` uses the old handshake.
pub const ERAS: [&str; 2] = ["auto", "legacy"];

/// An unmodified client, driven by a program of `tests/clients`.
#[derive(Debug)]
pub struct Peer {
    /// The name of its package.
    pub name: &'static str,
    /// The revisions that it supports.
    pub eras: &'static [&'static str],
    program: Program,
}

#[derive(Debug)]
enum Program {
    Python,
    TypeScript { package: &'static str },
    Rust,
}

/// All of them.
pub const PEERS: &[Peer] = &[
    Peer { name: "mcp", eras: &ERAS, program: Program::Python },
    Peer { name: "@modelcontextprotocol/client", eras: &ERAS, program: Program::TypeScript { package: "client" } },
    Peer { name: "@modelcontextprotocol/sdk", eras: &["legacy"], program: Program::TypeScript { package: "sdk" } },
    Peer { name: "rmcp", eras: &ERAS, program: Program::Rust },
];

/// The transport between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the protocol")]
pub enum Transport {
    Stdio,
    Http,
}

impl Transport {
    /// Both.
    pub const ALL: [Transport; 2] = [Transport::Stdio, Transport::Http];

    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Stdio => "stdio",
            Transport::Http => "HTTP",
        }
    }
}

impl Peer {
    /// The client program that answers questions, without arguments.
    pub fn command(&self) -> Command {
        match self.program {
            Program::Rust => Command::new(paths::rmcp_client()),
            _ => self.script("asking"),
        }
    }

    /// The client program whose calendar is called back, without arguments.
    pub fn planning(&self) -> Command {
        match self.program {
            Program::Rust => Command::new(paths::rmcp_planner()),
            _ => self.script("planning"),
        }
    }

    /// A script of `tests/clients`, in the client's language.
    fn script(&self, name: &str) -> Command {
        if let Program::TypeScript { package } = self.program {
            let mut command = Command::new("node");
            command.arg(paths::client_script(&format!("{name}.mjs"))).arg(package);
            command.env("PORTCULLIS_NODE_MODULES", paths::node_modules());
            return command;
        }
        let mut command = Command::new(paths::python());
        command.arg("-B").arg(paths::client_script(&format!("{name}.py")));
        command.env("PYTHONPATH", paths::root().join("guest-sdk/clients/python/src"));
        command
    }
}
