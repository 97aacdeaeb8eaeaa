//! Tells the caller of a call how much fuel the call has used, however it ends.

use super::cpu_time::CpuTime;
use super::fuel_account::TreeFuel;
use super::supervision::CallCost;
use policy::Lineage;

/// The report of one call. A call that is dropped leaves no fuel to be read, so its CPU time counts: one unit per
/// nanosecond, as for a call that is metered by time.
pub struct FuelReport {
    lineage: Lineage,
    cpu: CpuTime,
    limit: Option<u64>,
    /// The account of the tree, if this is its root call and it has one.
    account: Option<TreeFuel>,
    is_final: bool,
}

impl FuelReport {
    /// The report has to be dropped together with the call.
    pub fn new(lineage: Lineage, cpu: CpuTime, limit: Option<u64>, tree_fuel: Option<TreeFuel>) -> Self {
        let account = tree_fuel.filter(TreeFuel::is_root);
        // What a tree with an account has used may be more than its limit.
        let limit = limit.filter(|_| account.is_none());
        Self { lineage, cpu, limit, account, is_final: false }
    }

    /// Adds the fuel of nested calls that this call was stopped before paying for, and reports the sum.
    pub fn finish(mut self, cost: &mut CallCost) {
        self.is_final = true;
        let owed = self.lineage.take_owed_fuel();
        let sum = |fuel: u64| fuel.saturating_add(owed).min(self.limit.unwrap_or(u64::MAX));
        cost.spent.fuel = cost.spent.fuel.map(sum);
        self.lineage.report_fuel(cost.spent.as_fuel());
        if let Some(account) = &self.account {
            account.settle(cost.spent.as_fuel());
        }
    }
}

impl Drop for FuelReport {
    fn drop(&mut self) {
        if !self.is_final {
            self.lineage.report_fuel(u64::try_from(self.cpu.total().as_nanos()).unwrap_or(u64::MAX));
        }
    }
}
