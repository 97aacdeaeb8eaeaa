//! The record of one HTTP exchange: written once, when the response is read, abandoned, or the call ends.

use super::super::import_span::ImportSpan;
use platform::audit::{AuditEvent, CallAudit};
use platform::sync::Mutex;
use platform::telemetry::SpanContext;
use policy::HttpTarget;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// One HTTP exchange in progress.
pub struct HttpExchange {
    audit: CallAudit,
    request: String,
    answer: Mutex<(Option<SocketAddr>, Option<u16>)>,
    bytes: AtomicU64,
    closed: AtomicBool,
    span: Mutex<Option<ImportSpan>>,
}

impl HttpExchange {
    /// The span is a child of the guest's own import span.
    pub(super) fn new(audit: CallAudit, target: &HttpTarget, above: Option<SpanContext>) -> Self {
        let (name, method) = span_name(&target.method);
        let span = ImportSpan::start_below(&audit, name, above)
            .outward()
            .with_attribute("http.request.method", method)
            .with_attribute("url.scheme", if target.secure { "https" } else { "http" })
            .with_attribute("server.address", target.host.as_str())
            .with_attribute("server.port", u64::from(target.port));
        Self {
            request: target.to_string(),
            audit,
            answer: Mutex::default(),
            bytes: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            span: Mutex::new(Some(span)),
        }
    }

    pub fn connected(&self, address: SocketAddr) {
        self.answer.lock().0 = Some(address);
    }

    pub fn answered(&self, status: u16) {
        self.answer.lock().1 = Some(status);
    }

    /// Counts bytes of the response body.
    pub fn add_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Writes the record, once.
    pub(super) fn close(&self) {
        if self.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        let (address, status) = *self.answer.lock();
        let bytes = self.bytes.load(Ordering::Relaxed);
        if let Some(mut span) = self.span.lock().take() {
            if let Some(status) = status {
                span.set("http.response.status_code", u64::from(status));
            }
            span.set("portcullis.response.size", bytes);
            // OpenTelemetry's HTTP conventions: for a client span, 4xx is an error too.
            span.finish(match status {
                Some(100..=399) => "ok",
                Some(400..=499) => "4xx",
                Some(_) => "5xx",
                None => "no-answer",
            });
        }
        let (request, address) = (self.request.clone(), address.map(|address| address.to_string()));
        self.audit.record_done(AuditEvent::HttpRequest { request, address, status, bytes });
    }
}

impl Drop for HttpExchange {
    fn drop(&mut self) {
        self.close();
    }
}

/// Span name and method, as OpenTelemetry's conventions define them; an unknown method is `_OTHER`.
fn span_name(method: &str) -> (&'static str, &'static str) {
    let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    known.into_iter().find(|known| *known == method).map_or(("HTTP", "_OTHER"), |known| (known, known))
}
