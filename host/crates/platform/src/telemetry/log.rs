//! Log lines as JSON, one object a line, for whatever collects them.

use serde::Deserialize;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::OnceLock;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{Format, FormatEvent, FormatFields, Full, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormattedFields};
use tracing_subscriber::registry::LookupSpan;

/// How log lines are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// What the configuration says; logging begins before it is read.
static CHOSEN: OnceLock<LogFormat> = OnceLock::new();

/// Writes log lines like this from now on; said once.
pub fn log_as(format: LogFormat) {
    let _ = CHOSEN.set(format);
}

/// Writes each line as was chosen.
#[derive(Default)]
pub(super) struct Chosen(Format<Full>);

impl<S, N> FormatEvent<S, N> for Chosen
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut to: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        if CHOSEN.get() != Some(&LogFormat::Json) {
            return self.0.format_event(context, to, event);
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
            Some(Value::from(format!("{} {}", span.name(), fields?)))
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
        self.0.insert(field.name().to_owned(), value.into());
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
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }
}
