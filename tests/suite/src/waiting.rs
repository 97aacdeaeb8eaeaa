//! Waits for a condition instead of sleeping for a fixed time.

use std::time::{Duration, Instant};

/// Polls `ask` until it returns a value; returns `None` after `patience`.
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
