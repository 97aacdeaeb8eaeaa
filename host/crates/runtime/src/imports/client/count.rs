//! How many questions a call has put.

use crate::imports::{Budgeted, Exhaustion};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The questions that one call has put, re-asking included, of as many as it may. Clones count together.
#[derive(Debug, Clone)]
pub struct Questions {
    asked: Arc<AtomicU32>,
    limit: u32,
}

impl Questions {
    /// None yet.
    pub fn new(limit: u32) -> Self {
        Self { asked: Arc::default(), limit }
    }

    /// Counts further ones, if they may be put.
    pub fn count(&self, more: u32) -> Result<(), Exhaustion> {
        let within = |asked: u32| asked.checked_add(more).filter(|asked| *asked <= self.limit);
        let counted = self.asked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        counted.map(|_| ()).map_err(|_| Exhaustion { budget: Budgeted::Questions, limit: self.limit.into() })
    }

    /// How many were put.
    pub fn asked(&self) -> u32 {
        self.asked.load(Ordering::Relaxed)
    }
}
