//! What the engine knows about the call that a Store serves: its allowance, and what it has used.

use super::cpu_time::CpuTime;
use super::error::CallError;
use super::instance_shares::InstancePermit;
use super::limiter::Limiter;
use super::pausable_deadline::PausableDeadline;
use policy::{Budget, BudgetUsage, Limits};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// What one call may use.
#[derive(Clone)]
pub struct Allowance {
    /// The plugin's ceilings.
    pub limits: Arc<Limits>,
    /// What is left for this call, at most the ceilings.
    pub budget: Budget,
    /// Cancelled when nobody wants the result any more.
    pub cancel: CancellationToken,
    /// Shared by the whole chain of calls.
    pub pausable_deadline: PausableDeadline,
}

impl Allowance {
    /// Waits for the deadline of a call whose guest does not run yet.
    pub async fn deadline_exceeded(&self) -> CallError {
        self.pausable_deadline.expired(self.budget.deadline, self.pausable_deadline.paused_time()).await;
        CallError::DeadlineExceeded { limit: self.budget.time }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct CallCost {
    /// What its parent pays.
    pub spent: BudgetUsage,
    /// Wall-clock time.
    pub wall: Duration,
    /// Peak linear memory, in bytes.
    pub peak_memory: u64,
}

/// The engine's part of a Store's data.
pub struct Supervision {
    pub(super) limiter: Limiter,
    cpu: CpuTime,
    allowance: Allowance,
    /// How long the chain had been paused when this call began.
    paused_before: Duration,
    last_message: Option<String>,
}

/// Data of a Store that can be supervised.
pub trait Supervised: Send + 'static {
    fn supervision(&mut self) -> &mut Supervision;
    /// Called when the guest has trapped, before the error is classified.
    fn before_failure(&mut self) {}
}

impl Supervision {
    pub fn new(allowance: Allowance) -> Self {
        let limiter = Limiter::new(bytes(allowance.limits.memory), clamp(allowance.limits.table_elements));
        let paused_before = allowance.pausable_deadline.paused_time();
        let cpu = CpuTime::new(allowance.pausable_deadline.clock().clone());
        Self { limiter, cpu, allowance, paused_before, last_message: None }
    }

    /// Begins a call in an instance that was made before. The memory that the instance holds stays counted.
    pub fn begin_call(&mut self, allowance: Allowance, permit: Option<InstancePermit>) {
        self.limiter.count_for(permit);
        self.cpu = self.cpu.restarted();
        self.paused_before = allowance.pausable_deadline.paused_time();
        self.allowance = allowance;
    }

    pub fn cpu(&self) -> CpuTime {
        self.cpu.clone()
    }

    pub fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    pub(super) fn paused_before(&self) -> Duration {
        self.paused_before
    }

    /// Charges CPU time that others spent on this call's behalf. A call that has none left ends at its next tick.
    pub fn add_external_cpu(&self, time: Duration) {
        self.cpu.add_external(time);
    }

    /// CPU time up to now. Called from inside the call.
    pub(super) fn cpu_used(&self) -> Duration {
        self.cpu.up_to_now()
    }

    /// What the call has used up to now. Called from inside the call.
    pub fn used(&self, fuel_left: Option<u64>) -> BudgetUsage {
        let fuel = self.allowance.budget.fuel.zip(fuel_left).map(|(budget, left)| budget.saturating_sub(left));
        BudgetUsage { fuel, cpu: self.cpu_used(), elsewhere: self.cpu.external() }
    }

    /// Counts what an earlier run had used when it was at this place. Returns the fuel that is left.
    pub fn catch_up(&self, earlier: &BudgetUsage) -> Option<u64> {
        self.cpu.add_external(earlier.cpu.saturating_sub(self.cpu_used()));
        let budget = self.allowance.budget.fuel;
        budget.zip(earlier.fuel).map(|(budget, used)| budget.saturating_sub(used))
    }

    /// What a nested call may use now. Called from inside the call.
    pub fn remaining_budget(&self, fuel: Option<u64>) -> Budget {
        let budget = self.allowance.budget;
        let cpu = budget.cpu.map(|limit| limit.saturating_sub(self.cpu_used()));
        Budget { fuel, cpu, deadline: self.deadline(), ..budget }
    }

    /// When the call ends, moved by the pauses up to now.
    pub fn deadline(&self) -> Instant {
        let Allowance { budget, pausable_deadline, .. } = &self.allowance;
        budget.deadline + pausable_deadline.paused_time().saturating_sub(self.paused_before)
    }

    /// Says how many bytes the host holds for the call, besides those of its instance.
    pub fn set_host_bytes(&mut self, bytes: u64) {
        self.limiter.set_host_bytes(bytes);
    }

    /// Notes the last message of a guest that is failing, such as the last line of a panic.
    pub fn set_last_message(&mut self, message: String) {
        self.last_message = Some(message);
    }

    pub(super) fn last_message(&self) -> Option<&str> {
        self.last_message.as_deref()
    }
}

pub(super) fn bytes(size: bytesize::ByteSize) -> usize {
    clamp(size.as_u64())
}

pub(super) fn clamp(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
