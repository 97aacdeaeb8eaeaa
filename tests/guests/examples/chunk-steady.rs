//! Offers `n` chunks of a KiB at 10,000 a second, as fast as it is let.

use guests::{output, text};
use std::time::{Duration, Instant};

/// Chunks between two looks at the clock.
const BATCH: u64 = 100;

guests::guest! {
    fn run(args) {
        let (n, start) = (args.n_or(10_000), Instant::now());
        for number in 0..n {
            let words = format!("{number:08} {}", "x".repeat(1015));
            output::emit(&[text(words)]).map_err(|error| guests::failed(format!("{error:?}")))?;
            if number % BATCH == 0 {
                let due = start + Duration::from_micros(100 * number);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        }
        Ok(format!("offered {n}").into())
    }
}
