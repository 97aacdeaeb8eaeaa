//! Takes MCP client libraries through one journey and prints what came of it, as a table in Markdown. With arguments, only
//! the libraries of these packages. `cargo xtask clients --libraries` sets up what it needs.

use std::process::ExitCode;
use suite::journey::report;
use suite::libraries::{Library, travel_all};

fn main() -> ExitCode {
    let wanted: Vec<_> = std::env::args().skip(1).collect();
    let mut libraries = Library::ALL.to_vec();
    libraries.retain(|library| wanted.is_empty() || wanted.iter().any(|name| name == library.name));
    libraries.retain(|library| {
        if !library.is_installed() {
            eprintln!("{} is left out: it is not installed", library.name);
        }
        library.is_installed()
    });
    if report(&travel_all(&libraries)) && !libraries.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
