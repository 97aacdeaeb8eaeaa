//! The `portcullis` binary.

use clap::Parser;
use portcullis::cli::{Cli, print_error, run};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::process::ExitCode;

/// The status of a program that SIGPIPE has ended.
const BROKEN_PIPE: u8 = 128 + 13;

/// Whoever reads the output may close it early, as `head` does. Printing panics then, and that is no failure worth a message.
fn main() -> ExitCode {
    let report = take_hook();
    set_hook(Box::new(move |info| {
        if !is_broken_pipe(info.payload_as_str()) {
            report(info);
        }
    }));
    let command = Cli::parse();
    match catch_unwind(AssertUnwindSafe(|| run(command))) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            print_error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
        Err(panic) if is_broken_pipe(panic.downcast_ref::<String>().map(String::as_str)) => ExitCode::from(BROKEN_PIPE),
        Err(panic) => resume_unwind(panic),
    }
}

fn is_broken_pipe(message: Option<&str>) -> bool {
    message.is_some_and(|text| text.starts_with("failed printing to std") && text.contains("Broken pipe"))
}
