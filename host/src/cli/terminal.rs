//! A running call on a terminal: chunks on stdout as they come, a progress bar and the cost on stderr.

use super::call::text;
use async_trait::async_trait;
use bytesize::ByteSize;
use indicatif::{ProgressBar, ProgressStyle};
use plugins::registry::Usage;
use runtime::imports::{CallSink, Chunk, OutputError, Report};

/// Parts of the bar: progress is in any unit, the bar in thousandths.
const PARTS: f64 = 1_000.0;

pub(super) struct Terminal {
    bar: ProgressBar,
}

impl Terminal {
    pub(super) fn new() -> Self {
        // Draws nothing when stderr is no terminal.
        let bar = ProgressBar::no_length();
        bar.set_style(spinner());
        Self { bar }
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

fn spinner() -> ProgressStyle {
    ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_spinner())
}

fn bar() -> ProgressStyle {
    ProgressStyle::with_template("{bar:30} {percent:>3}% {wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[async_trait]
impl CallSink for Terminal {
    async fn chunk(&self, _seq: u64, chunk: Chunk) -> Result<(), OutputError> {
        self.bar.suspend(|| {
            for piece in &chunk.content {
                println!("{}", text(piece));
            }
        });
        Ok(())
    }

    fn progress(&self, report: Report) {
        if let Some(total) = report.total.filter(|total| *total > 0.0) {
            if self.bar.length().is_none() {
                self.bar.set_length(PARTS as u64);
                self.bar.set_style(bar());
            }
            self.bar.set_position((report.done / total * PARTS).clamp(0.0, PARTS) as u64);
        }
        if let Some(message) = report.message {
            self.bar.set_message(platform::telemetry::printable(&message).into_owned());
        }
        self.bar.tick();
    }
}

/// What a call cost, in one line.
pub(super) fn usage_line(usage: &Usage) -> String {
    let meter = match usage.spent.fuel {
        Some(fuel) => format!("{} fuel", grouped(fuel)),
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

/// `1234567` as `1_234_567`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::grouped;

    #[test]
    fn groups_digits() {
        assert_eq!([0, 12, 123, 1234, 1234567].map(grouped), ["0", "12", "123", "1_234", "1_234_567"]);
    }
}
