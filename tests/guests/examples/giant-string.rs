//! Passes a string of 32 MiB to the host.

use guests::{output, text};

guests::guest! {
    fn run(args) {
        let outcome = output::emit(&[text("x".repeat((args.n_or(32) as usize) << 20))]);
        Ok(format!("{outcome:?}").into())
    }
}
