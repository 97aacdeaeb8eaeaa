//! `progress`: how far a call has come.

use super::CallSink;
use std::sync::Arc;

/// One report.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// Grows from report to report.
    pub done: f64,
    /// In the same unit.
    pub total: Option<f64>,
    /// For people.
    pub message: Option<String>,
}

/// The longest message that is passed on, in bytes. Bounds what a flood of reports costs.
const MAX_MESSAGE: usize = 1 << 10;

/// Passes on reports that grow.
pub struct Progress {
    sink: Arc<dyn CallSink>,
    last: Option<f64>,
}

impl Progress {
    pub(super) fn new(sink: Arc<dyn CallSink>) -> Self {
        Self { sink, last: None }
    }

    /// Takes one report; drops it unless it grows.
    pub fn report(&mut self, mut report: Report) {
        let grows = self.last.is_none_or(|last| report.done > last);
        if !report.done.is_finite() || !grows {
            return;
        }
        self.last = Some(report.done);
        report.total = report.total.filter(|total| total.is_finite());
        if let Some(message) = &mut report.message {
            message.truncate(message.floor_char_boundary(MAX_MESSAGE));
        }
        self.sink.progress(report);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::imports::{Chunk, OutputError};
    use std::sync::Mutex;

    #[derive(Default)]
    struct Recorder(Mutex<Vec<Report>>);

    #[async_trait::async_trait]
    impl CallSink for Recorder {
        async fn chunk(&self, _: u64, _: Chunk) -> Result<(), OutputError> {
            Ok(())
        }
        fn progress(&self, report: Report) {
            self.0.lock().unwrap().push(report);
        }
    }

    #[test]
    fn only_growth_passes() {
        let sink = Arc::new(Recorder::default());
        let mut progress = Progress::new(sink.clone());
        for done in [1.0, 1.0, f64::NAN, 0.5, f64::INFINITY, 2.0] {
            progress.report(Report { done, total: Some(f64::NAN), message: Some("é".repeat(1000)) });
        }
        let seen = sink.0.lock().unwrap();
        assert_eq!(seen.iter().map(|r| r.done).collect::<Vec<_>>(), [1.0, 2.0]);
        assert_eq!((seen[0].total, seen[0].message.as_ref().map(String::len)), (None, Some(MAX_MESSAGE)));
    }
}
