//! Checks that a store keeps its contract. Each sentence of the contract has a check here.
#![allow(clippy::unwrap_used, reason = "a check that cannot go on has failed")]

mod bed;
mod leases;
mod logs;
mod order;
mod records;
mod reopening;

pub use bed::TestBed;

/// Runs all checks, each with its own keys. Panics at the first sentence of the contract that does not hold.
pub async fn check(bed: &dyn TestBed) {
    records::check(bed).await;
    logs::check(bed).await;
    order::check(bed).await;
    leases::check(bed).await;
    reopening::check(bed).await;
}
