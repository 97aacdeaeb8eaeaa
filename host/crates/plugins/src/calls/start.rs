//! Starts calls: lets them in, and gives them their budget, their account of fuel and their imports.

use crate::calls::reconcile::HostParts;
use crate::calls::recorder::CallRecorder;
use crate::calls::request::{BudgetSource, CallParent, CallRequest, Inherited};
use crate::calls::runner::Runner;
use crate::calls::slots::admission::{Admission, AdmittedCall};
use crate::calls::slots::root_slot::RootSlot;
use crate::calls::slots::waiting_client::WaitingClient;
use crate::calls::started_call::StartedCall;
use crate::calls::target::PluginCall;
use crate::catalog::Plugin;
use crate::circuit_breaker::Circuit;
use policy::{Budget, Lineage, Principal};
use runtime::engine::{Allowance, CallError, FuelAccount, PausableClock, Wait};
use runtime::imports::{CallAuthority, CallContext, CallImports, CallScope, ClientCalls, ClientLink};
use std::sync::Arc;
use std::time::Duration;

impl Runner {
    /// Starts a call: admission, its budget, and its imports.
    pub(super) async fn start(
        &self,
        plugin: &Arc<Plugin>,
        call: &PluginCall,
        request: CallRequest,
        lineage: Lineage,
        recorder: &CallRecorder,
    ) -> Result<StartedCall, CallError> {
        if self.audit.refuses_calls(&request.context.principal) {
            return Err(CallError::AuditUnavailable);
        }
        let CallRequest { mut context, mut link, parent, journal } = request;
        if let Some(access) = self.tool_access.get() {
            link.agent = access.of_call(plugin.id(), link.agent);
        }
        if let Some(traceparent) = recorder.traceparent() {
            context.traceparent = Some(traceparent);
        }
        let (admitted, inherited) = match parent {
            Some(CallParent::Host(inherited)) => {
                self.admit_nested(plugin, &call.name(), &context.principal, inherited)?
            }
            parent => {
                let budget_source = match parent {
                    Some(CallParent::External { budget_source, .. }) => Some(budget_source),
                    Some(CallParent::Host(_)) | None => None,
                };
                // Not for a task, which waits for more fuel, nor for a call of an upstream server: somebody else pays.
                if let Some(budgets) = self.fuel_budgets()
                    && budget_source.is_none()
                    && !link.fuel.as_ref().is_some_and(FuelAccount::waits)
                {
                    budgets.admit(&context.principal).await?;
                }
                let parent = (lineage, budget_source);
                let who = (&context.principal, journal.worked());
                let admitted = self.admit_root(plugin, call, who, parent, &link).await;
                let (admitted, slot, mut inherited) = admitted?;
                journal.begin_run(inherited.pausable_clock.as_clock());
                let account =
                    self.fuel_account(&link, &context, &slot, (&inherited.budget, plugin.spec.limits.extensions)).await;
                link.client = Arc::new(WaitingClient {
                    client: link.client,
                    model: self.model.clone(),
                    slot,
                    pausable_clock: inherited.pausable_clock.clone(),
                    wait_permits: self.wait_permits.clone(),
                    held: link.held.clone(),
                });
                inherited.tree_fuel = account.map(|account| account.part(wait_with(&link.client), true));
                (admitted, inherited)
            }
        };
        let instance = self.instances.acquire(&context.principal, &link.held)?;
        let Inherited { lineage, budget, pausable_clock, tree_fuel } = inherited;
        let (limits, cancel) = (plugin.spec.limits.clone(), link.cancel.clone());
        let authority = CallAuthority::new(plugin.authority.clone(), recorder.call_audit().clone());
        // Only a call that continues an earlier run has effects in doubt.
        let reconciler = match journal.is_resumed() {
            true => self.host_parts().reconciler(plugin, call, &context, &lineage, &link),
            false => None,
        };
        let scope = CallScope::with_reconciler(context, authority, lineage, limits.clone(), reconciler);
        let imports = CallImports::new(scope, link, self.services.clone(), plugin.scratch_quota.clone(), journal);
        let allowance = Allowance { limits, budget, cancel, pausable_clock, fuel: tree_fuel };
        Ok(StartedCall { admitted, instance, imports: Box::new(imports), allowance })
    }

    fn host_parts(&self) -> HostParts {
        HostParts {
            services: self.services.clone(),
            instances: self.instances.clone(),
            clock: self.clock.clone(),
            audit: self.audit.clone(),
            fuel_budgets: self.fuel_budgets().cloned(),
        }
    }

    /// The fuel account of a root call, if the call may be given more fuel, or if there is a limit for the day.
    async fn fuel_account(
        &self,
        link: &ClientLink,
        context: &CallContext,
        slot: &RootSlot,
        (budget, extensions): (&Budget, u32),
    ) -> Option<FuelAccount> {
        let budgets = self.fuel_budgets().filter(|_| slot.budget_source().is_none());
        let account = link.fuel.clone().or_else(|| budgets.map(|_| FuelAccount::default()))?;
        let payer = match budgets {
            Some(budgets) => Some(budgets.payer(&context.principal, &context.id).await),
            None => None,
        };
        // A call that is metered by time pays one unit per nanosecond.
        let of_time = || budget.cpu.map_or(u64::MAX, |cpu| u64::try_from(cpu.as_nanos()).unwrap_or(u64::MAX));
        account.begin(budget.fuel.unwrap_or_else(of_time), extensions, payer);
        Some(account)
    }

    /// Admits a call within a call of this host, whose slot it shares.
    fn admit_nested(
        &self,
        plugin: &Arc<Plugin>,
        name: &Arc<str>,
        principal: &Principal,
        inherited: Inherited,
    ) -> Result<(AdmittedCall, Inherited), CallError> {
        let circuit = Circuit::new(name.clone(), principal.clone(), &inherited.lineage);
        self.admission.check(plugin, &circuit, false)?;
        let admitted = self.admission.admit(plugin, circuit)?;
        let limits = &plugin.spec.limits;
        let lineage = inherited.lineage.with_limits(limits);
        let budget = inherited.budget.nested(limits, inherited.pausable_clock.now());
        Ok((admitted, Inherited { lineage, budget, ..inherited }))
    }

    /// Admits a call that gets a slot of its own. `worked` is how long earlier runs of the call have worked. The lineage is the
    /// call's own, or that of the upstream tool whose budget pays for it.
    async fn admit_root(
        &self,
        plugin: &Arc<Plugin>,
        call: &PluginCall,
        (principal, worked): (&Principal, Duration),
        (mut lineage, budget_source): (Lineage, Option<Arc<dyn BudgetSource>>),
        link: &ClientLink,
    ) -> Result<(AdmittedCall, Arc<RootSlot>, Inherited), CallError> {
        let (limits, name) = (&plugin.spec.limits, call.name());
        if budget_source.is_some() {
            let below = lineage.descend(call.full_name(plugin.id()), 0).map_err(CallError::Lineage)?;
            lineage = below.with_limits(limits);
        }
        let number = self.instance_maker.call_begins();
        let circuit = Circuit::new(name, principal.clone(), &lineage);
        self.admission.check(plugin, &circuit, true)?;
        let slot_request = Admission::slot_request(plugin, principal);
        let acquired = self.admission.acquire_slot(&slot_request, limits.deadline(), &link.cancel).await?;
        // The tool may have failed for others while this call waited.
        let mut admitted = self.admission.admit(plugin, circuit)?;
        let now = self.clock.now();
        let left = budget_source.as_ref().map(|source| source.reserve(now));
        let mut budget = match left {
            Some(left) => left.nested(limits, now),
            // Only a call that may become a task has an account.
            None if link.fuel.is_some() && call.may_run_long() => Budget::task(limits, now),
            None => Budget::root(limits, now),
        };
        budget.deadline = budget.deadline.checked_sub(worked).unwrap_or(now);
        let pausable_clock = PausableClock::new(self.clock.clone());
        let slot = RootSlot::new(self.admission.slots.clone(), slot_request, acquired, budget_source);
        admitted.root = Some((slot.clone(), number));
        Ok((admitted, slot, Inherited { lineage, budget, pausable_clock, tree_fuel: None }))
    }
}

/// Lets a call wait as it waits for its client: without a slot, and with paused deadlines. The reference is weak, because the
/// client's queue must end with the call, and the call's Store is dropped later.
fn wait_with(client: &Arc<dyn ClientCalls>) -> Wait {
    let client = Arc::downgrade(client);
    Arc::new(move |until| {
        let client = client.upgrade();
        Box::pin(async move {
            match client {
                Some(client) => client.wait_outside(until).await.is_ok(),
                None => false,
            }
        })
    })
}
