//! Logging to stderr, either as text or as JSON with one object per line.

use super::characters::printable;
use crate::text::{truncate, truncate_with};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::OnceLock;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::{Format, FormatEvent, FormatFields, Full, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// Longest line as text, and longest field as JSON, in bytes. Guests and clients choose some of the texts, so this bounds how
/// much of the operator's disk each of their lines takes.
const MAX_LINE: usize = 16 << 10;

/// Comes before the operator's filter, which may override it. This library logs a warning for each malformed request of a
/// guest, and no limit counts these lines.
const QUIET: &str = "wasmtime_wasi_http=error";

/// How log lines are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    #[default]
    Text,
    Json,
}

/// The configured format. It is unset at first, because logging begins before the configuration is read.
static CHOSEN: OnceLock<LogFormat> = OnceLock::new();

/// Sets the format of log lines, once.
pub fn set_log_format(format: LogFormat) {
    let _ = CHOSEN.set(format);
}

/// Starts logging, with or without colours. `filter` has the syntax of `tracing_subscriber`, such as `info,guest=debug`.
pub fn init(filter: &str, colored: bool) -> Result<(), String> {
    let filter = EnvFilter::try_new(format!("{QUIET},{filter}"))
        .map_err(|error| format!("`{filter}` is no log filter: {error}"))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colored)
        // Internal errors would be written to stderr, which panics if nobody reads it: a server must go on without a reader of
        // its log.
        .log_internal_errors(false)
        .event_format(Chosen(Format::default().with_ansi(colored)))
        .try_init()
        .map_err(|error| error.to_string())?;
    // The default hook does not escape the message.
    std::panic::set_hook(Box::new(|panic| {
        let words = panic.payload_as_str().unwrap_or("without a word");
        if is_closed_output(words) {
            return;
        }
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!("the host panicked at {place}: {}", printable(words));
    }));
    Ok(())
}

/// Whether this is the panic of a print whose reader has closed the pipe, as `head` does. That is not worth a message.
pub fn is_closed_output(message: &str) -> bool {
    message.starts_with("failed printing to std") && message.contains("Broken pipe")
}

/// Formats lines in the configured format.
struct Chosen(Format<Full>);

impl<S, N> FormatEvent<S, N> for Chosen
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        if CHOSEN.get() != Some(&LogFormat::Json) {
            let mut line = String::new();
            self.0.format_event(context, Writer::new(&mut line), event)?;
            return match truncate(&line, MAX_LINE) {
                whole if whole.len() == line.len() => to.write_str(whole),
                beginning => writeln!(to, "{beginning}... ({} bytes left out)", line.len() - beginning.len()),
            };
        }
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let about = event.metadata();
        let mut line = Map::new();
        line.insert("time".into(), time.into());
        line.insert("level".into(), about.level().as_str().into());
        line.insert("target".into(), about.target().into());
        event.record(&mut Fields(&mut line));
        let spans = context.event_scope().into_iter().flatten().filter_map(|span| {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>().map(|fields| fields.fields.clone());
            Some(Value::from(truncate_with(&format!("{} {}", span.name(), fields?), MAX_LINE, "...")))
        });
        let spans: Vec<Value> = spans.collect();
        if !spans.is_empty() {
            line.insert("spans".into(), spans.into());
        }
        writeln!(to, "{}", Value::Object(line))
    }
}

struct Fields<'a>(&'a mut Map<String, Value>);

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), truncate_with(value, MAX_LINE, "...").into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), truncate_with(&format!("{value:?}"), MAX_LINE, "...").into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::Mutex;
    use std::io::Write;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_long_line_of_text_is_cut() {
        let written = Written::default();
        let writer = written.clone();
        let format = Chosen(Format::default().with_ansi(false));
        let log = tracing_subscriber::fmt().with_writer(move || writer.clone()).event_format(format).finish();
        tracing::subscriber::with_default(log, || {
            tracing::info!("short");
            tracing::info!("{}", "x".repeat(1 << 20));
        });
        let text = String::from_utf8(written.0.lock().clone()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines.len() == 2 && lines[0].ends_with("short"), "{}", text.len());
        assert!(lines[1].len() < MAX_LINE + 100 && lines[1].ends_with("bytes left out)"), "{}", lines[1].len());
    }
}
