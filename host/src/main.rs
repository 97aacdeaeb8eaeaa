//! The `portcullis` binary.

use platform::telemetry::is_closed_output;
use portcullis::cli::{Cli, print_error, run};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::process::ExitCode;

/// Returns free memory to the system, which the allocator of the C library keeps.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The status of a program that SIGPIPE has ended.
const BROKEN_PIPE: u8 = 128 + 13;

/// A reader such as `head` may close the output early. Printing then panics, which is no failure worth a message.
fn main() -> ExitCode {
    let report = take_hook();
    set_hook(Box::new(move |info| {
        if !info.payload_as_str().is_some_and(is_closed_output) {
            report(info);
        }
    }));
    let command = Cli::parse_arguments();
    match catch_unwind(AssertUnwindSafe(|| run(command))) {
        Ok(Ok(code)) => code,
        Ok(Err(error)) => {
            print_error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
        Err(panic) if panic.downcast_ref::<String>().is_some_and(|text| is_closed_output(text)) => {
            ExitCode::from(BROKEN_PIPE)
        }
        Err(panic) => resume_unwind(panic),
    }
}
