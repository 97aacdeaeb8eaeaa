//! One plugin, every lane, every client: `plugins/planner` makes its twenty-one reverse calls of a calendar that is in the
//! host, with an unmodified client, or in its model's head, and tells the same each time.

mod table;

pub use table::Table;

use crate::transcripts::{PEERS, Peer, Transport};
use crate::{Home, Server, agent_from, paths, plugin_from};
use serde_json::{Value, json};
use std::sync::Mutex;

/// Clients at once; see the transcripts.
const WORKERS: usize = 3;

/// Where the calendar is, and how calls get there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// In the host.
    Local,
    /// With the client, as notifications of a request that it keeps open.
    Live,
    /// With the client, as the result of the request, which it makes again.
    Retry,
    /// With the client, as requests on the call's stream.
    Request,
    /// Nowhere: the client's model stands in.
    Ask,
}

impl Lane {
    /// All, in the order of the table.
    pub const ALL: [Lane; 5] = [Lane::Local, Lane::Live, Lane::Retry, Lane::Request, Lane::Ask];

    /// As the programs of `tests/clients` take it.
    pub fn name(self) -> &'static str {
        match self {
            Lane::Local => "local",
            Lane::Live => "live",
            Lane::Retry => "retry",
            Lane::Request => "request",
            Lane::Ask => "ask",
        }
    }

    /// Why a client cannot carry it, if it cannot. Nothing else excuses a cell.
    pub fn excuse(self, peer: &Peer, era: &str) -> Option<&'static str> {
        match self {
            Lane::Retry if era == "legacy" => Some("a result has no type in 2025-11-25, so there is none of ours"),
            Lane::Request if era == "auto" => Some("a server sends no requests in 2026-07-28"),
            Lane::Request if peer.name == "mcp" => Some("mcp 2.3.0 refuses requests that it does not know"),
            _ => None,
        }
    }

    fn config(self, home: &Home) -> String {
        let settings = "grants.agent-tools = [\"calendar.free_slots\", \"calendar.create_event\"]";
        let planner = plugin_from("planner", &paths::real_plugin("planner"), settings);
        match self {
            Lane::Local => {
                let folder = r#"grants.filesystem = [{ host = "work", guest = "/calendar", access = "write" }]"#;
                planner + &agent_from("calendar", &paths::real_plugin("calendar"), folder)
            }
            Lane::Ask => {
                home.write("ask.json", described().to_string());
                format!("[ask]\ntools = \"ask.json\"\n{planner}")
            }
            Lane::Live | Lane::Retry | Lane::Request => planner,
        }
    }
}

/// The calendar, as an operator describes it for whoever stands in.
fn described() -> Value {
    let text = || json!({"type": "string"});
    let object = |fields: Value| {
        let names: Vec<_> = fields.as_object().map(|fields| fields.keys().cloned().collect()).unwrap_or_default();
        json!({"type": "object", "properties": fields, "required": names})
    };
    let slots = json!({"day": text(), "slots": {"type": "array", "items": text()}});
    let event = json!({"day": text(), "start": text(), "title": text()});
    let made = json!({"id": text(), "day": text(), "start": text(), "title": text()});
    let tool = |name: &str, description: &str, input: Value, output: Value| json!({"name": name, "description": description, "inputSchema": object(input), "outputSchema": object(output)});
    json!([
        tool("calendar.free_slots", "Free hours of one day.", json!({"day": text()}), slots),
        tool("calendar.create_event", "Puts an event into the calendar.", event, made),
    ])
}

/// One cell.
pub struct Run {
    /// Which client.
    pub peer: &'static Peer,
    /// `auto` or `legacy`.
    pub era: &'static str,
    /// Over what.
    pub transport: Transport,
    /// Which way.
    pub lane: Lane,
    /// As the client printed it; nothing if it cannot carry the lane.
    pub seen: Option<Value>,
}

/// Lets every client carry every lane that it can.
pub fn all() -> Table {
    let cells: Vec<_> = PEERS
        .iter()
        .flat_map(|peer| peer.eras.iter().map(move |era| (peer, *era)))
        .flat_map(|(peer, era)| Transport::ALL.map(|transport| (peer, era, transport)))
        .flat_map(|(peer, era, transport)| Lane::ALL.map(|lane| (peer, era, transport, lane)))
        .collect();
    let waiting = Mutex::new(cells.into_iter().enumerate());
    let finished = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no worker fails here").next();
                    let Some((at, (peer, era, transport, lane))) = next else { break };
                    let seen = lane.excuse(peer, era).is_none().then(|| run(peer, era, transport, lane));
                    let run = Run { peer, era, transport, lane, seen };
                    finished.lock().expect("no worker fails here").push((at, run));
                }
            });
        }
    });
    let mut finished = finished.into_inner().expect("a failed worker has failed the scope");
    finished.sort_by_key(|(at, _)| *at);
    Table::new(finished.into_iter().map(|(_, run)| run).collect())
}

/// One client's call in one lane; what it printed.
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
