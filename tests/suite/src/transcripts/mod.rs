//! Transcripts of unmodified clients that answer the questions of one guest: every client, in every revision it supports,
//! over both transports. [`script`] has the questions and [`same`] the allowed differences.

mod peer;
mod run;
pub mod same;
pub mod script;
mod table;

pub use peer::{ERAS, PEERS, Peer, Transport};
pub use run::{Run, run};
pub use table::Table;

use std::sync::Mutex;

/// The number of concurrent clients. They mostly wait; only starting one is expensive.
const WORKERS: usize = 3;

/// Runs the whole script with every client.
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
