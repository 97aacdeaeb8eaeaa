//! Fuel per day: what each principal, and all together, have used today. Kept in the store, so that a restart is no refill.

mod budgets;
mod payer;
mod record;
#[cfg(test)]
mod tests;
mod upkeep;

pub use budgets::FuelBudgets;
