//! Lists the tools of public MCP servers directly and through the gateway and prints what differs, as a table in Markdown. With
//! arguments, only the servers of these packages. `cargo xtask clients --servers` sets up what it needs.

use std::process::ExitCode;

fn main() -> ExitCode {
    let wanted: Vec<_> = std::env::args().skip(1).collect();
    if suite::servers::report(&wanted) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
