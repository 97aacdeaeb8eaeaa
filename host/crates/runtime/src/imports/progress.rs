//! `progress`: reports of how far a call has come.

use super::call_sink::{CallSink, ProgressReport};
use platform::text::truncate;
use std::sync::Arc;

/// Length of a message in bytes; the rest is cut off. Bounds what a flood of reports costs.
const MAX_MESSAGE: usize = 1 << 10;

/// Passes on reports whose value grows.
pub struct Progress {
    sink: Arc<dyn CallSink>,
    last: Option<f64>,
}

impl Progress {
    pub(super) fn new(sink: Arc<dyn CallSink>) -> Self {
        Self { sink, last: None }
    }

    pub(super) fn last(&self) -> Option<f64> {
        self.last
    }

    /// Continues from the last value that an earlier run has reported.
    pub(super) fn catch_up(&mut self, last: Option<f64>) {
        self.last = last.or(self.last);
    }

    /// Drops reports that do not grow. A replayed report is not passed on: only its value is noted.
    pub fn report(&mut self, mut report: ProgressReport, replayed: bool) {
        let grows = self.last.is_none_or(|last| report.done > last);
        if !report.done.is_finite() || !grows {
            return;
        }
        self.last = Some(report.done);
        if replayed {
            return;
        }
        report.total = report.total.filter(|total| total.is_finite());
        if let Some(message) = &mut report.message {
            message.truncate(truncate(message, MAX_MESSAGE).len());
        }
        self.sink.progress(report);
    }
}

#[cfg(test)]
mod tests {
    use super::super::call_sink::{Chunk, OutputError};
    use super::*;
    use platform::sync::Mutex;

    #[derive(Default)]
    struct Recorder(Mutex<Vec<ProgressReport>>);

    #[async_trait::async_trait]
    impl CallSink for Recorder {
        async fn chunk(&self, _: u64, _: Chunk) -> Result<(), OutputError> {
            Ok(())
        }
        fn progress(&self, report: ProgressReport) {
            self.0.lock().push(report);
        }
    }

    #[test]
    fn only_growing_reports_pass() {
        let sink = Arc::new(Recorder::default());
        let mut progress = Progress::new(sink.clone());
        for done in [1.0, 1.0, f64::NAN, 0.5, f64::INFINITY, 2.0] {
            progress.report(ProgressReport { done, total: Some(f64::NAN), message: Some("é".repeat(1000)) }, false);
        }
        progress.report(ProgressReport { done: 3.0, total: None, message: None }, true);
        progress.report(ProgressReport { done: 2.5, total: None, message: None }, false);
        let seen = sink.0.lock();
        assert_eq!(seen.iter().map(|r| r.done).collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!((seen[0].total, seen[0].message.as_ref().map(String::len)), (None, Some(MAX_MESSAGE)));
    }
}
