//! Real agents on one journey, each with a model that follows a script: what the model reads of our answers is what
//! counts. [`journey`] has the steps that only agents take.

mod agent;
mod conversation;
mod dialect;
mod journey;
mod model;
mod session;

pub use agent::Agent;
pub use journey::{calls, killed, program, server_killed, travel};

use crate::journey::{Table, travel_all as all};

/// Takes these agents through the journey over both transports.
pub fn travel_all(agents: &[&'static Agent]) -> Table {
    let named: Vec<_> = agents
        .iter()
        .map(|agent| (format!("{} {}", agent.name, agent.version().unwrap_or_default()), *agent))
        .collect();
    all("agent", &named, travel)
}
