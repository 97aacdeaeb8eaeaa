//! The lanes: the location of the calendar, and the server's configuration for it.

use crate::transcripts::Peer;
use crate::{Home, agent_from, paths, plugin_from};
use serde_json::{Value, json};

/// The location of the calendar, and how calls reach it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// In the host.
    Local,
    /// With the client: calls are notifications on a request that it keeps open.
    Live,
    /// With the client: calls are the result of the request, which the client then repeats.
    Retry,
    /// With the client: calls are requests on the call's stream.
    Request,
    /// Nowhere: the client's model answers instead.
    Ask,
}

impl Lane {
    /// All lanes, in the order of the table.
    pub const ALL: [Lane; 5] = [Lane::Local, Lane::Live, Lane::Retry, Lane::Request, Lane::Ask];

    /// The argument for the programs of `tests/clients`.
    pub fn name(self) -> &'static str {
        match self {
            Lane::Local => "local",
            Lane::Live => "live",
            Lane::Retry => "retry",
            Lane::Request => "request",
            Lane::Ask => "ask",
        }
    }

    /// Why a client cannot use the lane, if it cannot. No other reason may leave a cell empty.
    pub fn excuse(self, peer: &Peer, era: &str) -> Option<&'static str> {
        match self {
            Lane::Retry if era == "legacy" => Some("a result has no type in 2025-11-25, so there is none of ours"),
            Lane::Request if era == "auto" => Some("a server sends no requests in 2026-07-28"),
            Lane::Request if peer.name == "mcp" => Some("mcp 2.3.0 refuses requests that it does not know"),
            _ => None,
        }
    }

    /// The configuration of the lane's server.
    pub(super) fn config(self, home: &Home) -> String {
        let settings = "grants.agent-tools = [\"calendar.free_slots\", \"calendar.create_event\"]";
        let planner = plugin_from("planner", &paths::real_plugin("planner"), settings);
        match self {
            Lane::Local => {
                let folder = r#"grants.filesystem = [{ host = "work", guest = "/calendar", access = "write" }]"#;
                planner + &agent_from("calendar", &paths::real_plugin("calendar"), folder)
            }
            Lane::Ask => {
                home.write("stand-in.json", described().to_string());
                format!("[stand-in]\ntools = \"stand-in.json\"\n{planner}")
            }
            Lane::Live | Lane::Retry | Lane::Request => planner,
        }
    }
}

/// The operator's description of the calendar for the model that answers instead.
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
