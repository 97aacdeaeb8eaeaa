//! Takes real agents through one journey and prints what came of it, as a table in Markdown. With arguments, only the agents
//! of these names. `cargo xtask clients --agents` sets up what it needs.

use std::process::ExitCode;
use suite::agents::{Agent, travel_all};
use suite::journey::report;

fn main() -> ExitCode {
    let wanted: Vec<_> = std::env::args().skip(1).collect();
    let mut agents = Agent::ALL.to_vec();
    agents.retain(|agent| wanted.is_empty() || wanted.iter().any(|name| name == agent.name));
    for agent in &agents {
        if agent.version().is_none() {
            eprintln!("{} is left out: it is not installed, or does not start here", agent.name);
        }
    }
    agents.retain(|agent| agent.version().is_some());
    if report(&travel_all(&agents)) && !agents.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
