//! Counts questions.

use super::super::types::{BudgetKind, Exhaustion};
use policy::{Lineage, TreeBudget};

/// Counts further questions of a call, repetitions included, if its limit and those of its callers allow them.
pub fn count_questions(lineage: &Lineage, more: usize) -> Result<(), Exhaustion> {
    let exhausted = |limit| Exhaustion { budget: BudgetKind::Questions, limit };
    lineage.take(TreeBudget::Questions, u64::try_from(more).unwrap_or(u64::MAX)).map_err(exhausted)
}
