//! Runs one client in one lane: starts the server, runs the client, and reads its output.

use super::lane::Lane;
use crate::transcripts::{Peer, Transport};
use crate::{Home, Server, paths};
use serde_json::{Value, json};

/// One cell of the table.
pub struct Run {
    /// The client's name.
    pub peer: &'static Peer,
    /// `auto` or `legacy`.
    pub era: &'static str,
    /// The transport.
    pub transport: Transport,
    /// The lane.
    pub lane: Lane,
    /// The client's output; null if it cannot use the lane.
    pub seen: Option<Value>,
}

/// Runs one client in one lane. Returns its output.
pub fn run(peer: &Peer, era: &str, transport: Transport, lane: Lane) -> Value {
    let call = json!({"tool": "planner__plan_day", "arguments": {"title": "Portcullis", "from": "2026-12-01"}});
    let mut command = peer.planning();
    command.args([era, lane.name()]).arg(call.to_string());
    let home = Home::new();
    let config = lane.config(&home);
    let ran = match transport {
        Transport::Stdio => {
            let file = home.write("portcullis.toml", config);
            command.arg("--").arg(paths::binary()).arg("serve").arg("--config").arg(file);
            command.env("PORTCULLIS_CACHE", paths::cache());
            crate::cli::run(command)
        }
        Transport::Http => {
            let (server, address) = Server::start_http_in(home, &config);
            command.arg(format!("http://{address}/mcp"));
            let ran = crate::cli::run(command);
            drop(server);
            ran
        }
    };
    let cell = || format!("{peer:?} {era} {lane:?} over {}", transport.name());
    serde_json::from_str(ran.good().trim()).unwrap_or_else(|error| panic!("{}: {error}: {ran:?}", cell()))
}
