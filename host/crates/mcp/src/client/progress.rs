//! The progress of a running call in a form that people can follow: the newest report, at most ten times a second, and again
//! when the call is silent.
//!
//! A tool may send reports and chunks thousands of times a second. A client that does not know chunks shows only a line of text
//! that changes, so it gets the text of the newest chunk. All chunks are in the run log.

use platform::text::truncate_with;
use runtime::imports::ProgressReport;
use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// Time between two notifications.
const INTERVAL: Duration = Duration::from_millis(100);
/// When a call was silent for two such periods, the client is notified that it still runs: many clients give up a call if they
/// hear nothing for a minute.
const QUIET: Duration = Duration::from_secs(5);
/// How often this is repeated for a silent call: for about an hour. Bounds how long a server that hangs keeps its clients
/// waiting.
const MOST_REPEATS: u32 = 360;
/// Bytes of a message, which must fit on one line of a screen.
const MAX_MESSAGE: usize = 1_000;
/// Progress must grow with every notification. A chunk moves it by one part in this many: so little that the tool's own reports
/// stay as they are, and that people can read the number.
const STEPS: f64 = 1e6;
/// Above this, doubles do not have enough digits for such steps.
const LARGE: f64 = 1e9;

#[derive(Default)]
pub(crate) struct MergedProgress {
    /// The progress and the total of the last notification.
    sent: Option<(f64, Option<f64>)>,
    waiting: Option<ProgressReport>,
    /// Runs from the last notification on.
    pause: Option<Pin<Box<Sleep>>>,
    /// Runs while nothing waits to be sent.
    quiet: Option<Pin<Box<Sleep>>>,
    /// How often the quiet timer has ended since the last notification.
    quiet_times: u32,
    /// How often the last report was repeated.
    repeats: u32,
    /// The message of the last notification that had one.
    message: Option<String>,
}

impl MergedProgress {
    /// Takes the tool's own report. It is dropped if it is not greater than what was sent.
    pub(crate) fn report(&mut self, report: ProgressReport) {
        self.note_heard();
        let grown = self.sent.is_none_or(|(done, _)| report.done > done);
        let newer = self.waiting.as_ref().is_none_or(|waiting| report.done >= waiting.done);
        if grown && newer {
            let earlier = self.waiting.take().and_then(|waiting| waiting.message);
            let message = report.message.map(shortened).or(earlier);
            self.waiting = Some(ProgressReport { message, ..report });
        }
    }

    /// Takes a chunk, in the form of its text.
    pub(crate) fn chunk(&mut self, text: String) {
        self.note_heard();
        let report = self.waiting.take().unwrap_or_else(|| self.next());
        self.waiting = Some(ProgressReport { message: Some(shortened(text)), ..report });
    }

    /// Repeats the last message, because the call still runs, if nothing new waits.
    pub(crate) fn repeat(&mut self) {
        if self.waiting.is_none() && self.repeats < MOST_REPEATS {
            self.repeats += 1;
            let message = self.message.clone().unwrap_or_else(|| "still running".to_owned());
            self.waiting = Some(ProgressReport { message: Some(message), ..self.next() });
        }
    }

    /// Notes that the call has sent something.
    pub(crate) fn note_heard(&mut self) {
        (self.quiet_times, self.repeats) = (0, 0);
    }

    /// A report of a little more than the last notification.
    fn next(&self) -> ProgressReport {
        let (done, total) = self.sent.unwrap_or_default();
        // If the progress exceeds the total, the total is left out.
        ProgressReport { done: step(done), total: total.filter(|total| done < *total), message: None }
    }

    /// Waits until there is a report to send. If none waits, and the client `expects` progress, waits until the call was silent
    /// for long.
    pub(crate) async fn due(&mut self, expects: bool) {
        if self.waiting.is_none() {
            if !expects {
                return std::future::pending().await;
            }
            // The first period may have begun before the last notification, so one more is waited for.
            while self.quiet_times <= 2 {
                self.quiet.get_or_insert_with(|| Box::pin(sleep(QUIET))).await;
                self.quiet = None;
                self.quiet_times += 1;
            }
            self.quiet_times = 1;
        } else if let Some(pause) = &mut self.pause {
            pause.await;
            self.pause = None;
        }
    }

    /// Takes the waiting report, to be sent now whether it is due or not.
    pub(crate) fn take(&mut self) -> Option<ProgressReport> {
        let report = self.waiting.take()?;
        self.sent = Some((report.done, report.total));
        self.message = report.message.clone().or(self.message.take());
        self.pause = Some(Box::pin(sleep(INTERVAL)));
        Some(report)
    }

    /// Drops the timers, because the timers of a parked call would keep the memory of a task.
    pub(crate) fn rest(&mut self) {
        (self.pause, self.quiet) = (None, None);
    }
}

fn shortened(text: String) -> String {
    if text.len() <= MAX_MESSAGE { text } else { truncate_with(&text, MAX_MESSAGE, "…") }
}

fn step(done: f64) -> f64 {
    if done.abs() < LARGE { ((done * STEPS).round() + 1.0) / STEPS } else { done * (1.0 + done.signum() / STEPS) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::clock::{Clock as _, SystemClock};

    fn report(done: f64, message: &str) -> ProgressReport {
        ProgressReport { done, total: Some(9.0), message: Some(message.to_owned()).filter(|it| !it.is_empty()) }
    }

    #[tokio::test]
    async fn what_comes_at_once_is_one_report() {
        let mut progress = MergedProgress::default();
        progress.report(report(1.0, "one"));
        progress.due(false).await;
        assert_eq!(progress.take().unwrap().message.unwrap(), "one");
        let start = SystemClock.now();
        for n in 2..5_000 {
            progress.report(report(f64::from(n) / 1_000.0, ""));
            progress.chunk(format!("chunk {n}"));
        }
        progress.due(false).await;
        assert!(SystemClock.now() - start >= INTERVAL);
        let sent = progress.take().unwrap();
        assert_eq!((sent.done, sent.message.as_deref()), (4.999, Some("chunk 4999")));
        // A report that does not grow is not sent.
        progress.report(report(4.999, "again"));
        assert!(progress.take().is_none());
    }

    #[test]
    fn chunks_move_progress_by_numbers_that_people_can_read() {
        for (done, next) in
            [(0.0, "0.000001"), (1.0, "1.000001"), (0.3, "0.300001"), (123_456.0, "123456.000001"), (-2.5, "-2.499999")]
        {
            assert_eq!(step(done).to_string(), next);
        }
        let mut done = 0.0;
        for _ in 0..100_000 {
            let next = step(done);
            assert!(next > done && next.to_string().len() <= 9, "{next}");
            done = next;
        }
        for done in [1e9, 1e15, -1e15, f64::MAX / 2.0] {
            assert!(step(done) > done, "{done}");
        }
    }

    #[test]
    fn a_silent_call_says_again_what_it_said() {
        let mut progress = MergedProgress::default();
        let mut said = |change: &dyn Fn(&mut MergedProgress)| {
            change(&mut progress);
            let ProgressReport { done, total, message } = progress.take().unwrap();
            (done, total, message.unwrap_or_default())
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let _entered = runtime.enter();
        let text = |text: &str| text.to_owned();
        assert_eq!(said(&MergedProgress::repeat), (1e-6, None, text("still running")));
        assert_eq!(said(&|it| it.report(report(3.0, "three"))), (3.0, Some(9.0), text("three")));
        assert_eq!(said(&MergedProgress::repeat), (3.000_001, Some(9.0), text("three")));
        assert_eq!(said(&MergedProgress::repeat), (3.000_002, Some(9.0), text("three")));
        assert_eq!(said(&|it| it.report(report(9.0, "all"))), (9.0, Some(9.0), text("all")));
        assert_eq!(said(&MergedProgress::repeat), (9.000_001, None, text("all")));
        // A report that waits already is not replaced.
        progress.report(report(10.0, "ten"));
        progress.repeat();
        assert_eq!(progress.take().unwrap().message.unwrap(), "ten");
        // A silent call is not repeated without end.
        let repeats = |progress: &mut MergedProgress| {
            std::iter::from_fn(|| {
                progress.repeat();
                progress.take()
            })
            .take(1_000)
            .count()
        };
        assert!(repeats(&mut progress) < 1_000 && repeats(&mut progress) == 0);
        progress.note_heard();
        assert_eq!(repeats(&mut progress), MOST_REPEATS as usize);
    }

    #[tokio::test]
    async fn a_message_is_one_line_of_a_screen() {
        let mut progress = MergedProgress::default();
        progress.chunk("é".repeat(5_000));
        let message = progress.take().unwrap().message.unwrap();
        assert!(message.len() <= MAX_MESSAGE + 3 && message.ends_with('…'));
    }
}
