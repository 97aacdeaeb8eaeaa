//! One plugin, every lane, every client: `plugins/planner` makes twenty-one reverse calls of a calendar that is in the
//! host, with an unmodified client, or simulated by the client's model. The results must be equal.

mod lane;
mod run;
mod table;

pub use lane::Lane;
pub use run::{Run, run};
pub use table::Table;

use crate::transcripts::{PEERS, Transport};
use std::sync::Mutex;

/// The number of concurrent clients; see the transcripts.
const WORKERS: usize = 3;

/// Runs every client in every lane that it supports.
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
