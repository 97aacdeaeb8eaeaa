//! How far a call has come.

use crate::imports;

/// Reports that `done` of `total` is done, in any unit. Never blocks; costs little when nobody listens.
///
/// `done` must grow from report to report; others are dropped, as are reports faster than a client should be bothered.
pub fn report(done: f64, total: Option<f64>) {
    imports::progress(done, total, None);
}

/// As [`report`], with a short text on what is going on.
pub fn report_with(done: f64, total: Option<f64>, message: impl Into<String>) {
    imports::progress(done, total, Some(message.into()));
}
