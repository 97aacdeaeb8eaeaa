//! What the engine knows about the call that a Store serves: its allowance, and what it has used.

use super::cpu_time::CpuTime;
use super::error::CallError;
use super::fuel_account::{RESERVE, RunningUse, Tick, TreeFuel};
use super::instance_shares::InstancePermit;
use super::limiter::Limiter;
use super::pausable_clock::PausableClock;
use policy::{Budget, BudgetUsage, DayUsedUp, Limits, Metering};
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
    pub pausable_clock: PausableClock,
    /// The call's part of its tree's fuel account, if the tree has one.
    pub fuel: Option<TreeFuel>,
}

impl Allowance {
    /// How long the call may still run, without the time in which it waits for somebody outside.
    pub fn time_left(&self) -> Duration {
        self.budget.deadline.saturating_duration_since(self.pausable_clock.now())
    }

    /// When the call began, on the clock that is never paused; exact only as long as the call has not been paused. It is
    /// derived from the moment at which the deadline begins to count, so that a call which reaches its deadline has taken
    /// exactly that long.
    fn began(&self) -> Instant {
        let run = self.pausable_clock.now().saturating_duration_since(self.budget.started_at());
        let now = self.pausable_clock.unpaused().now();
        now.checked_sub(run).unwrap_or(now)
    }

    /// Waits for the deadline of a call whose guest does not run yet.
    pub async fn deadline_exceeded(&self) -> CallError {
        self.pausable_clock.reached(self.budget.deadline).await;
        CallError::DeadlineExceeded { limit: self.budget.time }
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct CallCost {
    /// What its parent pays.
    pub spent: BudgetUsage,
    /// Wall-clock time.
    pub wall: Duration,
    /// The part of it in which the chain did not wait for somebody outside.
    pub active: Duration,
    /// Peak linear memory, in bytes.
    pub peak_memory: u64,
}

/// The engine's part of a Store's data.
pub struct Supervision {
    pub(super) limiter: Limiter,
    cpu: CpuTime,
    allowance: Allowance,
    /// The call's place in the account of its tree.
    running: Option<RunningUse>,
    /// When the call began, on the clock that is never paused.
    began: Instant,
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
        let (cpu, began) = (CpuTime::new(allowance.pausable_clock.unpaused().clone()), allowance.began());
        Self { limiter, cpu, allowance, running: None, began, last_message: None }
    }

    /// Begins a call in an instance that was made before. The memory that the instance holds stays counted.
    pub fn begin_call(&mut self, allowance: Allowance, permit: Option<InstancePermit>) {
        self.limiter.count_for(permit);
        self.cpu = self.cpu.restarted();
        self.began = allowance.began();
        self.running = allowance.fuel.as_ref().map(TreeFuel::enter);
        self.allowance = allowance;
    }

    /// The fuel that the Store gets; none if the call is not metered by fuel.
    pub(super) fn given_fuel(&self) -> Option<u64> {
        let Allowance { limits, budget, fuel, .. } = &self.allowance;
        let reserve = if fuel.as_ref().is_some_and(TreeFuel::is_root) { RESERVE } else { 0 };
        budget.fuel.filter(|_| limits.metering == Metering::Fuel).map(|fuel| fuel.saturating_add(reserve))
    }

    /// The fuel that the call has used if `left` is what remains in the Store.
    pub(super) fn used_fuel(&self, left: Option<u64>) -> Option<u64> {
        self.given_fuel().map(|given| given.saturating_sub(left.unwrap_or(0)))
    }

    /// The limit that a call which is out of fuel has reached.
    pub(super) fn fuel_limit(&self) -> u64 {
        let Allowance { limits, budget, fuel, .. } = &self.allowance;
        let of_tree = fuel.as_ref().filter(|tree| tree.is_root()).and_then(TreeFuel::limit);
        of_tree.or(budget.fuel).unwrap_or(limits.fuel)
    }

    /// Whose fuel for the day is used up, if that is what stopped the call.
    pub(super) fn day_used_up(&self) -> Option<DayUsedUp> {
        self.allowance.fuel.as_ref().and_then(TreeFuel::day_used_up)
    }

    /// The fuel that the guest sees as left; none if the call is not metered by fuel.
    pub fn fuel_left(&self, left: Option<u64>) -> Option<u64> {
        match &self.allowance.fuel {
            Some(tree) if tree.is_root() => self.used_fuel(left).map(|used| tree.left(used)),
            Some(_) | None => left,
        }
    }

    /// Decides whether the call goes on; `left` is the fuel in the Store. Called from inside the call.
    pub(super) fn tick(&self, left: Option<u64>) -> Tick {
        let cpu = self.cpu_used();
        let (Some(tree), Some(running)) = (&self.allowance.fuel, &self.running) else {
            return if self.is_over(cpu) { Tick::Stop } else { Tick::GoOn };
        };
        // The limit of a root call is in the account.
        if !tree.is_root() && self.is_over(cpu) {
            return Tick::Stop;
        }
        tree.tick(running, self.used_fuel(left).unwrap_or_else(|| nanos(cpu)))
    }

    fn is_over(&self, cpu: Duration) -> bool {
        self.allowance.budget.cpu.is_some_and(|limit| cpu > limit)
    }

    pub fn cpu(&self) -> CpuTime {
        self.cpu.clone()
    }

    pub fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// The cost of the call up to now; `spent` is what it has used of its budget.
    pub(super) fn cost(&self, spent: BudgetUsage) -> CallCost {
        let Allowance { budget, pausable_clock, .. } = &self.allowance;
        CallCost {
            spent,
            wall: pausable_clock.unpaused().now().saturating_duration_since(self.began),
            active: pausable_clock.now().saturating_duration_since(budget.started_at()),
            peak_memory: self.limiter.peak_memory(),
        }
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
        let fuel = self.used_fuel(fuel_left);
        BudgetUsage { fuel, cpu: self.cpu_used(), elsewhere: self.cpu.external() }
    }

    /// Counts what an earlier run had used when it was at the same point. Returns the fuel that is left.
    pub fn catch_up(&self, earlier: &BudgetUsage) -> Option<u64> {
        self.cpu.add_external(earlier.cpu.saturating_sub(self.cpu_used()));
        self.given_fuel().zip(earlier.fuel).map(|(given, used)| given.saturating_sub(used))
    }

    /// What a nested call may use now. Called from inside the call.
    pub fn remaining_budget(&self, fuel: Option<u64>) -> Budget {
        let budget = self.allowance.budget;
        // If the tree waits for more fuel, what is left now does not bound a nested call: the called tool has its own limit.
        if self.allowance.fuel.as_ref().is_some_and(|tree| tree.is_root() && tree.waits()) {
            return Budget {
                fuel: budget.fuel.map(|_| RESERVE),
                cpu: budget.cpu.map(|_| Duration::from_nanos(RESERVE)),
                ..budget
            };
        }
        let cpu = budget.cpu.map(|limit| limit.saturating_sub(self.cpu_used()));
        Budget { fuel: self.fuel_left(fuel), cpu, ..budget }
    }

    /// Sets how many bytes the host holds for the call, besides those of its instance.
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

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

pub(super) fn bytes(size: bytesize::ByteSize) -> usize {
    clamp(size.as_u64())
}

pub(super) fn clamp(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
