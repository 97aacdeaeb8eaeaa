//! Runs the script with one client: starts the server, runs the client, and reads its output.

use super::peer::{Peer, Transport};
use super::script;
use crate::{Home, Server, Watch, paths, plugin};
use serde_json::Value;
use std::time::Duration;

/// How long a server may still compute after its client has exited. The client cancelled a spinning guest before.
const LATE: Duration = Duration::from_millis(300);

/// The transcript of one client.
pub struct Run {
    /// The client.
    pub peer: &'static Peer,
    /// `auto` or `legacy`.
    pub era: &'static str,
    /// The transport.
    pub transport: Transport,
    /// The client's output.
    pub seen: Value,
    /// Lasting effects.
    pub effects: usize,
}

/// Runs the whole script with one client.
pub fn run(peer: &'static Peer, era: &'static str, transport: Transport) -> Run {
    let mut command = peer.command();
    command.arg(era).arg(script::json());
    let effects =
        |home: &Home| std::fs::read_to_string(home.work().join("effects")).map_or(0, |done| done.lines().count());
    match transport {
        Transport::Stdio => {
            let home = Home::new();
            let file = home.write("portcullis.toml", config());
            command.arg("--").arg(paths::binary()).arg("serve").arg("--config").arg(file);
            command.env("PORTCULLIS_CACHE", paths::cache());
            let seen = seen(command);
            Run { peer, era, transport, seen, effects: effects(&home) }
        }
        Transport::Http => {
            let (server, address) = Server::start_http(&config());
            command.arg(format!("http://{address}/mcp"));
            let seen = seen(command);
            let late = Watch::start(&server).until_idle(&server);
            assert!(late < LATE, "{peer:?} {era}: a guest that was given up went on for {late:?}");
            Run { peer, era, transport, seen, effects: effects(&server.home) }
        }
    }
}

fn config() -> String {
    let endless = "limits.fuel = 1_000_000_000_000_000\nlimits.deadline = \"1h\"";
    plugin("ask", &format!("{}{endless}", script::GRANTS))
}

fn seen(command: std::process::Command) -> Value {
    let ran = crate::cli::run(command);
    serde_json::from_str(ran.good().trim()).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}
