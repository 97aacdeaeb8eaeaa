//! Counts the questions of a call.

use super::super::types::{BudgetKind, Exhaustion};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The number of questions count by one call, repetitions included, up to a limit. Clones share it.
#[derive(Debug, Clone)]
pub struct QuestionCounter {
    count: Arc<AtomicU32>,
    limit: u32,
}

impl QuestionCounter {
    pub fn new(limit: u32) -> Self {
        Self { count: Arc::default(), limit }
    }

    /// Counts further questions if the limit allows them.
    pub fn add(&self, more: u32) -> Result<(), Exhaustion> {
        let within = |count: u32| count.checked_add(more).filter(|count| *count <= self.limit);
        let counted = self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, within);
        counted.map(|_| ()).map_err(|_| Exhaustion { budget: BudgetKind::Questions, limit: self.limit.into() })
    }

    pub fn count(&self) -> u32 {
        self.count.load(Ordering::Relaxed)
    }
}
