//! Sends 100,000 chunks of one byte and says what it was told.

use guests::{output, text};

guests::guest! {
    fn run(args) {
        let mut sent = 0;
        for _ in 0..args.n_or(100_000) {
            match output::emit(&[text("x")]) {
                Ok(_) => sent += 1,
                Err(error) => return Ok(format!("sent {sent}, then {error:?}").into()),
            }
        }
        Ok(format!("sent {sent}").into())
    }
}
