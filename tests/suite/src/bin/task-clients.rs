//! Lets real clients that know tasks call a tool that is always one, and prints what came of it, as a table in Markdown.
//! `cargo xtask clients --tasks` sets up what it needs.

use std::process::ExitCode;

fn main() -> ExitCode {
    if suite::task_clients::report() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
