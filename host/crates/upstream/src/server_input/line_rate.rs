//! How many lines of a server are passed on over time; the others are counted.

use platform::clock::Clock;
use platform::sync::Mutex;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Lines in a period. Bounds what a server can write into a log over time.
const MAX_LINES: u64 = 500;
const PERIOD: Duration = Duration::from_secs(10);

pub(crate) struct LineRate {
    clock: Arc<dyn Clock>,
    server: String,
    /// What the lines are, for the log.
    what: &'static str,
    /// When the period began, and its lines.
    period: Mutex<(Instant, u64)>,
}

impl LineRate {
    pub(crate) fn new(clock: Arc<dyn Clock>, server: &str, what: &'static str) -> Self {
        let period = Mutex::new((clock.now(), 0));
        Self { clock, server: server.to_owned(), what, period }
    }

    /// Counts a line, and returns whether it is passed on.
    pub(crate) fn passes(&self) -> bool {
        let mut period = self.period.lock();
        let (began, lines) = &mut *period;
        let now = self.clock.now();
        if now.saturating_duration_since(*began) >= PERIOD {
            self.log_left_out(*lines);
            (*began, *lines) = (now, 0);
        }
        *lines += 1;
        *lines <= MAX_LINES
    }

    fn log_left_out(&self, lines: u64) {
        let more = lines.saturating_sub(MAX_LINES);
        if more > 0 {
            tracing::warn!(target: "upstream", server = self.server, "{more} more {} are left out", self.what);
        }
    }
}

impl Drop for LineRate {
    fn drop(&mut self) {
        let lines = self.period.lock().1;
        self.log_left_out(lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::ManualClock;

    #[test]
    fn lines_beyond_the_rate_are_left_out_until_the_period_is_over() {
        let clock = ManualClock::new();
        let rate = LineRate::new(clock.clone(), "far", "lines");
        let passed = || (0..2 * MAX_LINES).filter(|_| rate.passes()).count() as u64;
        assert_eq!((passed(), passed()), (MAX_LINES, 0));
        clock.pass(PERIOD - Duration::from_secs(1));
        assert_eq!(passed(), 0);
        clock.pass(Duration::from_secs(1));
        assert_eq!(passed(), MAX_LINES);
    }
}
