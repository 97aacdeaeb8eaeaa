//! The journey on which real clients are taken: its steps, a server for it, and the table of what came of it.

mod client;
mod served;
mod steps;
mod table;

pub use served::Transport;
pub use steps::{Outcome, STEPS};
pub use table::{Table, report};

pub(crate) use client::{Running, printed, without_user};
pub(crate) use served::{Access, Cache, Served};
pub(crate) use steps::{Step, config, steps};

use std::sync::Mutex;

/// The number of concurrent clients. They mostly start, which takes a processor.
const WORKERS: usize = 2;

/// Takes these clients through a journey over both transports, in a table of such clients. Says which have arrived.
pub(crate) fn travel_all<T: Copy + Send>(
    kind: &'static str,
    clients: &[(String, T)],
    travel: impl Fn(T, Transport) -> Vec<Outcome> + Sync,
) -> Table {
    let journeys: Vec<_> = clients
        .iter()
        .flat_map(|(name, client)| Transport::ALL.map(|transport| (name.clone(), *client, transport)))
        .collect();
    let waiting = Mutex::new(journeys.into_iter().enumerate());
    let finished = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().expect("no worker fails here").next();
                    let Some((at, (name, client, transport))) = next else { break };
                    let outcomes = travel(client, transport);
                    eprintln!("  {name} over {}", transport.name());
                    finished.lock().expect("no worker fails here").push((at, (name, transport, outcomes)));
                }
            });
        }
    });
    let mut finished = finished.into_inner().expect("a failed worker has failed the scope");
    finished.sort_by_key(|(at, _)| *at);
    Table::new(kind, finished.into_iter().map(|(_, row)| row).collect())
}
