//! Real agents on one journey, each with a model that follows a script: what the model reads of our answers is what
//! counts. [`journey`] has the steps.

mod agent;
mod conversation;
mod dialect;
mod journey;
mod model;
mod session;
mod table;

pub use agent::Agent;
pub use journey::{Outcome, STEPS, calls, killed, travel};
pub use session::Transport;
pub use table::Table;

use std::sync::Mutex;

/// The number of concurrent agents. They mostly start, which takes a processor.
const WORKERS: usize = 2;

/// Takes these agents through the journey over both transports. `told` hears of each that has arrived.
pub fn travel_all(agents: &[Agent], told: impl Fn(Agent, Transport) + Sync) -> Table {
    let journeys: Vec<_> =
        agents.iter().flat_map(|agent| Transport::ALL.map(|transport| (*agent, transport))).collect();
    let waiting = Mutex::new(journeys.into_iter().enumerate());
    let finished = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no worker fails here").next();
                    let Some((at, (agent, transport))) = next else { break };
                    let outcomes = travel(agent, transport);
                    told(agent, transport);
                    finished.lock().expect("no worker fails here").push((at, agent, transport, outcomes));
                }
            });
        }
    });
    let mut finished = finished.into_inner().expect("a failed worker has failed the scope");
    finished.sort_by_key(|(at, ..)| *at);
    Table::new(finished.into_iter().map(|(_, agent, transport, outcomes)| (agent, transport, outcomes)))
}
