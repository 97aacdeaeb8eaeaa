//! The `portcullis` binary.

use clap::Parser;
use portcullis::cli::{Cli, printable_lines, run};
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", printable_lines(&format!("{error:#}")));
            ExitCode::FAILURE
        }
    }
}
