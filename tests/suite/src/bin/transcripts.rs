//! Prints the transcripts of every real client with one guest, and the results of one plugin in every lane. Fails
//! unless they are equal. `cargo xtask clients` sets up what it needs.
#![allow(clippy::print_stdout, reason = "a tool for people at a terminal; no MCP wire here")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let table = suite::transcripts::all();
    println!("{table}");
    let lanes = suite::lanes::all();
    println!("{lanes}");
    if table.is_equal() && lanes.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
