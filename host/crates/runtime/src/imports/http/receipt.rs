//! What came of one exchange, recorded once: when its answer is read, given up, or the call ends.

use crate::imports::Doing;
use platform::audit::{Event, Trail};
use platform::telemetry::Place;
use policy::HttpTarget;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The record of one exchange, as it grows.
pub struct Receipt {
    trail: Trail,
    request: String,
    answer: Mutex<(Option<SocketAddr>, Option<u16>)>,
    bytes: AtomicU64,
    closed: AtomicBool,
    doing: Mutex<Option<Doing>>,
}

impl Receipt {
    /// Of a request that goes to `target`, below the span of the guest's own.
    pub(super) fn new(trail: Trail, target: &HttpTarget, above: Option<Place>) -> Self {
        let (name, method) = names(&target.method);
        let doing = Doing::below(&trail, name, above)
            .outward()
            .say("http.request.method", method)
            .say("url.scheme", if target.secure { "https" } else { "http" })
            .say("server.address", target.host.as_str())
            .say("server.port", u64::from(target.port));
        Self {
            request: target.to_string(),
            trail,
            answer: Mutex::default(),
            bytes: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            doing: Mutex::new(Some(doing)),
        }
    }

    /// Connected to this address.
    pub fn connected(&self, address: SocketAddr) {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(address);
    }

    /// The answer has begun.
    pub fn answered(&self, status: u16) {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(status);
    }

    /// So much more of its body was read.
    pub fn read(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Nothing more will come of it.
    pub(super) fn close(&self) {
        if self.closed.swap(true, Ordering::Relaxed) {
            return;
        }
        let (address, status) = *self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = self.bytes.load(Ordering::Relaxed);
        if let Some(mut doing) = self.doing.lock().unwrap_or_else(PoisonError::into_inner).take() {
            if let Some(status) = status {
                doing.set("http.response.status_code", u64::from(status));
            }
            doing.set("portcullis.response.size", bytes);
            // As the conventions have it: a client's error is the sender's as much as a server's.
            doing.ended(match status {
                Some(100..=399) => "ok",
                Some(400..=499) => "4xx",
                Some(_) => "5xx",
                None => "no-answer",
            });
        }
        let (request, address) = (self.request.clone(), address.map(|address| address.to_string()));
        self.trail.record(Event::Request { request, address, status, bytes });
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.close();
    }
}

/// A span's name and the method in it, as OpenTelemetry's conventions have them: a method that a guest made up is none.
fn names(method: &str) -> (&'static str, &'static str) {
    let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"];
    known.into_iter().find(|known| *known == method).map_or(("HTTP", "_OTHER"), |known| (known, known))
}
