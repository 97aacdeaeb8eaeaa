//! Waiting until something is so, instead of sleeping for some time.

use std::time::{Duration, Instant};

/// Asks again until there is an answer; none when `patience` is over.
pub fn eventually<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let end = Instant::now() + patience;
    loop {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        if Instant::now() > end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
