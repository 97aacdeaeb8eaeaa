//! Limits: what they bound, within which ranges they can be configured, and how what they bound is counted.

mod budget;
mod call_limits;
mod exact_size;
mod fuel_limits;
mod host_limits;
mod idempotency_limits;
mod range;
mod rate;
mod shared_budget;

pub use budget::{Budget, BudgetUsage};
pub use call_limits::{Limits, Metering, Overflow};
pub(crate) use exact_size::exact_size;
pub use fuel_limits::{DayUsedUp, FuelLimits, FuelOwner};
pub use host_limits::{BreakerLimits, ParkedCallLimits, PrincipalLimits, Survive, TaskLimits};
pub use idempotency_limits::IdempotencyLimits;
pub use range::RangeError;
pub(crate) use range::{check_duration, check_range};
pub use rate::{Rate, RateError, TokenBucket};
pub use shared_budget::{BudgetShare, SharedBudget};
