//! Progress of a call.

use crate::imports;

/// Reports that `done` of `total` is done, in any unit. Never blocks; costs little when no client listens.
///
/// `done` must grow from report to report. Other reports are dropped, and so are reports that come too fast for a
/// client.
pub fn report(done: f64, total: Option<f64>) {
    imports::progress(done, total, None);
}

/// As [`report`], with a short text that describes the current step.
pub fn report_with(done: f64, total: Option<f64>, message: impl Into<String>) {
    imports::progress(done, total, Some(message.into()));
}
