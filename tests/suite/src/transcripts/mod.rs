//! What unmodified clients see when one guest asks them: every client, in every era it has, over both transports. Read
//! [`script`] for what is asked and [`same`] for what may differ.

mod peer;
mod run;
pub mod same;
pub mod script;
mod table;

pub use peer::{ERAS, PEERS, Peer, Transport};
pub use run::{Run, run};
pub use table::Table;

use std::sync::Mutex;

/// Clients at once. They mostly wait, and starting one is what costs.
const WORKERS: usize = 3;

/// Lets every client answer the whole script.
pub fn all() -> Table {
    let combinations: Vec<_> = PEERS
        .iter()
        .flat_map(|peer| peer.eras.iter().map(move |era| (peer, *era)))
        .flat_map(|(peer, era)| Transport::ALL.map(|transport| (peer, era, transport)))
        .collect();
    let waiting = Mutex::new(combinations.iter().enumerate());
    let finished = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no worker fails here").next();
                    let Some((at, (peer, era, transport))) = next else { break };
                    let run = run(peer, era, *transport);
                    finished.lock().expect("no worker fails here").push((at, run));
                }
            });
        }
    });
    let mut finished = finished.into_inner().expect("a failed worker has failed the scope");
    finished.sort_by_key(|(at, _)| *at);
    Table::new(finished.into_iter().map(|(_, run)| run).collect())
}
