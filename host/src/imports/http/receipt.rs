//! What came of one exchange, recorded once: when its answer is read, given up, or the call ends.

use crate::audit::{Event, Trail};
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
}

impl Receipt {
    pub(super) fn new(trail: Trail, request: String) -> Self {
        Self { trail, request, answer: Mutex::default(), bytes: AtomicU64::new(0), closed: AtomicBool::new(false) }
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
        self.trail.record(Event::Request {
            request: self.request.clone(),
            address: address.map(|address| address.to_string()),
            status,
            bytes: self.bytes.load(Ordering::Relaxed),
        });
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.close();
    }
}
