//! Shows a running call: chunks on stdout, a progress bar and the cost on stderr.

use super::text::{content_to_text, group_digits};
use async_trait::async_trait;
use bytesize::ByteSize;
use indicatif::{ProgressBar, ProgressStyle};
use platform::telemetry::printable;
use plugins::calls::CallUsage;
use runtime::imports::{CallSink, Chunk, OutputError, ProgressReport};
use std::io::IsTerminal;
use std::pin::pin;
use std::time::Duration;

/// Length of the progress bar. Progress has any unit, the bar counts thousandths.
const PARTS: f64 = 1_000.0;

/// Work that takes less time is not announced.
const MOMENT: Duration = Duration::from_secs(1);

pub(super) struct TerminalSink {
    bar: ProgressBar,
    shows_chunks: bool,
}

impl TerminalSink {
    pub(super) fn new(shows_chunks: bool) -> Self {
        // Draws nothing when stderr is not a terminal.
        let bar = ProgressBar::no_length();
        bar.set_style(spinner());
        let sink = Self { bar, shows_chunks };
        sink.clear();
        sink
    }

    /// Takes the bar away until progress is reported next.
    pub(super) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Announces work that takes longer than a moment: compiling a large component takes half a minute.
pub(super) async fn show_work<T>(what: &str, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = tokio::time::sleep(MOMENT) => {}
    }
    if std::io::stderr().is_terminal() {
        eprintln!("{} ... (this takes a while the first time)", printable(what));
    }
    work.await
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn bar() -> ProgressStyle {
    ProgressStyle::with_template("{bar:30} {percent:>3}% {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[async_trait]
impl CallSink for TerminalSink {
    async fn chunk(&self, _seq: u64, chunk: Chunk) -> Result<(), OutputError> {
        if !self.shows_chunks {
            return Ok(());
        }
        self.bar.suspend(|| {
            for piece in &chunk.content {
                println!("{}", content_to_text(piece));
            }
        });
        Ok(())
    }

    fn progress(&self, report: ProgressReport) {
        if self.bar.is_finished() {
            self.bar.reset();
        }
        if let Some(total) = report.total.filter(|total| *total > 0.0) {
            if self.bar.length().is_none() {
                self.bar.set_length(PARTS as u64);
                self.bar.set_style(bar());
            }
            self.bar.set_position((report.done / total * PARTS).clamp(0.0, PARTS) as u64);
        }
        if let Some(message) = report.message {
            self.bar.set_message(printable(&message).into_owned());
        }
        self.bar.tick();
    }
}

/// The cost of a call, in one line.
pub(super) fn usage_line(usage: &CallUsage) -> String {
    let meter = match usage.spent.fuel {
        Some(fuel) => format!("{} fuel", group_digits(fuel)),
        None if usage.wall.is_zero() => "not run".to_owned(),
        None => "metered by CPU time".to_owned(),
    };
    format!(
        "-- {meter}, {:.1} ms CPU, {:.1} ms, {} memory, {} chunks, {} out, {} reverse calls",
        usage.spent.cpu.as_secs_f64() * 1e3,
        usage.wall.as_secs_f64() * 1e3,
        ByteSize(usage.peak_memory),
        usage.chunks,
        ByteSize(usage.output_bytes),
        usage.calls,
    )
}
