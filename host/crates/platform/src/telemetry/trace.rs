//! Traces of calls with W3C Trace Context: one span for the call, and one for each operation outside of it. Names and
//! attributes follow the conventions of OpenTelemetry where there are some. All others begin with `portcullis.`.
//!
//! Without a collector, no spans are created and the clock is not read.

use crate::random::unique_id;
use crate::text::truncate_chars;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;

/// Spans that wait to be sent. Bounds the memory that a slow collector costs.
const QUEUE: usize = 4 << 10;
/// Maximum number of attributes of one span.
const MAX_ATTRIBUTES: usize = 32;

#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    pub place: SpanContext,
    /// The parent span; 0 for none.
    pub parent: u64,
    /// The operation. As in the labels of metrics, it is never a word that a client chooses.
    pub name: Cow<'static, str>,
    /// Whether it waits for something outside this process.
    pub outward: bool,
    /// Time since 1970, as is `end`.
    pub start: Duration,
    pub end: Duration,
    /// Why it failed, if it did.
    pub failed: Option<&'static str>,
    pub attributes: Vec<(&'static str, Attribute)>,
}

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
pub enum Attribute {
    Text(String),
    Number(i64),
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Self::Text(truncate_chars(text, 256).to_owned())
    }
}

impl From<u64> for Attribute {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

/// Identifies a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanContext {
    pub trace: u128,
    pub span: u64,
}

impl SpanContext {
    /// Parses a `traceparent`. The flag is true if the caller samples the trace.
    pub fn parse(text: &str) -> Option<(Self, bool)> {
        let mut parts = text.split('-');
        let mut next = |digits: usize| {
            let plain = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            parts.next().filter(|part| part.len() == digits && part.bytes().all(plain))
        };
        let (version, trace, span, flags) = (next(2)?, next(32)?, next(16)?, next(2)?);
        let trace = u128::from_str_radix(trace, 16).ok().filter(|id| *id != 0)?;
        let span = u64::from_str_radix(span, 16).ok().filter(|id| *id != 0)?;
        let sampled = u8::from_str_radix(flags, 16).ok()? & 1 == 1;
        // Later versions of the format may have more fields, but the first one does not.
        let ends = parts.next().is_none();
        (version != "ff" && (version != "00" || ends)).then_some((Self { trace, span }, sampled))
    }

    pub fn traceparent(&self) -> String {
        format!("00-{:032x}-{:016x}-01", self.trace, self.span)
    }
}

/// Creates spans. Clones share the queue; the default creates none.
#[derive(Clone, Default)]
pub struct Tracer(Option<Arc<Inner>>);

struct Inner {
    now: Box<dyn Fn() -> Duration + Send + Sync>,
    queue: mpsc::Sender<Span>,
    lost: AtomicU64,
}

impl Tracer {
    /// A tracer and the queue of ended spans. `now` returns the time since 1970.
    pub fn new(now: impl Fn() -> Duration + Send + Sync + 'static) -> (Self, mpsc::Receiver<Span>) {
        let (queue, ended) = mpsc::channel(QUEUE);
        (Self(Some(Arc::new(Inner { now: Box::new(now), queue, lost: AtomicU64::new(0) }))), ended)
    }

    /// Starts a span under the caller's span. `None` without a collector, or if the caller does not sample the trace.
    pub fn begin(&self, name: &'static str, traceparent: Option<&str>) -> Option<ActiveSpan> {
        self.0.as_ref()?;
        match traceparent.and_then(SpanContext::parse) {
            Some((_, false)) => None,
            Some((above, true)) => self.below(name, above),
            None => self.span(name, unique_id(), 0),
        }
    }

    /// Starts a child span.
    pub fn below(&self, name: &'static str, above: SpanContext) -> Option<ActiveSpan> {
        self.span(name, above.trace, above.span)
    }

    fn span(&self, name: &'static str, trace: u128, parent: u64) -> Option<ActiveSpan> {
        let inner = self.0.as_ref()?;
        let (start, place) = ((inner.now)(), SpanContext { trace, span: span_id() });
        let (attributes, failed, outward) = (Vec::new(), None, false);
        let name = Cow::Borrowed(name);
        let span = Span { place, parent, name, outward, start, end: start, failed, attributes };
        Some(ActiveSpan { tracer: self.clone(), span: Some(span) })
    }

    /// Counts spans that were not sent.
    pub fn count_lost(&self, spans: usize) {
        if let Some(inner) = &self.0 {
            inner.lost.fetch_add(spans as u64, Ordering::Relaxed);
        }
    }

    /// Number of spans that were not sent.
    pub fn lost(&self) -> u64 {
        self.0.as_ref().map_or(0, |inner| inner.lost.load(Ordering::Relaxed))
    }
}

/// Never returns 0, which stands for no span.
fn span_id() -> u64 {
    (unique_id() as u64).max(1)
}

/// A running span, which ends when it is dropped.
pub struct ActiveSpan {
    tracer: Tracer,
    span: Option<Span>,
}

impl ActiveSpan {
    /// The context that children of this span need.
    pub fn place(&self) -> Option<SpanContext> {
        self.span.as_ref().map(|span| span.place)
    }

    /// Adds an attribute.
    pub fn set(&mut self, name: &'static str, value: impl Into<Attribute>) {
        if let Some(span) = self.span.as_mut().filter(|span| span.attributes.len() < MAX_ATTRIBUTES) {
            span.attributes.push((name, value.into()));
        }
    }

    /// Adds the subject to the span's name. It must be a word of the configuration or of a loaded plugin.
    pub fn with_subject(mut self, subject: &str) -> Self {
        if let Some(span) = &mut self.span {
            span.name = format!("{} {subject}", span.name).into();
        }
        self
    }

    /// Marks it as waiting for something outside this process.
    pub fn outward(mut self) -> Self {
        if let Some(span) = &mut self.span {
            span.outward = true;
        }
        self
    }

    /// Marks it as failed.
    pub fn failed(&mut self, why: &'static str) {
        if let Some(span) = &mut self.span {
            span.failed = Some(why);
        }
    }
}

impl Drop for ActiveSpan {
    fn drop(&mut self) {
        let (Some(mut span), Some(inner)) = (self.span.take(), &self.tracer.0) else { return };
        span.end = (inner.now)();
        if inner.queue.try_send(span).is_err() {
            self.tracer.count_lost(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_traceparent_is_read_and_written_exactly() {
        let text = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let (place, sampled) = SpanContext::parse(text).unwrap();
        assert!(sampled && place.traceparent() == text);
        assert!(!SpanContext::parse(&text.replace("-01", "-00")).unwrap().1);
        assert!(SpanContext::parse(&text.replacen("00-", "cc-", 1).replace("-01", "-01-what-comes")).is_some());
        for bad in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert!(SpanContext::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn spans_stand_where_they_belong_and_are_counted_when_nobody_takes_them() {
        let (tracer, mut ended) = Tracer::new(|| Duration::from_secs(7));
        let above = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let call = tracer.begin("call", Some(above)).unwrap();
        let place = call.place().unwrap();
        let mut inner = tracer.below("question", place).unwrap().outward();
        inner.set("kind", "form");
        inner.failed("timeout");
        drop(inner);
        drop(call);
        let (inner, call) = (ended.try_recv().unwrap(), ended.try_recv().unwrap());
        assert_eq!((call.place.trace, call.parent), (0x0af7651916cd43dd8448eb211c80319c, 0xb7ad6b7169203331));
        assert_eq!((inner.place.trace, inner.parent, inner.outward), (place.trace, place.span, true));
        assert!(tracer.begin("call", Some(&above.replace("-01", "-00"))).is_none(), "the caller does not record");
        assert!(Tracer::default().begin("call", None).is_none());
        for _ in 0..QUEUE + 3 {
            tracer.begin("call", None);
        }
        assert_eq!(tracer.lost(), 3);
    }
}
