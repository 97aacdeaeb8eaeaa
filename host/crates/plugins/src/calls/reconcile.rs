//! Asks a plugin what has become of an effect of one of its calls, in an instance of its own.

use crate::calls::recorder::audit_scope;
use crate::calls::target::PluginCall;
use crate::calls::tool_callers::no_tools::NoTools;
use crate::catalog::Plugin;
use crate::fuel_budgets::FuelBudgets;
use async_trait::async_trait;
use platform::audit::{Audit, CallAudit};
use platform::clock::Clock;
use policy::{Budget, Lineage};
use runtime::abi::{GuestAnswer, GuestCall};
use runtime::engine::{Allowance, HeldResources, InstanceShares, PausableClock};
use runtime::imports::{
    CallAuthority, CallContext, CallImports, CallScope, ClientLink, EffectInDoubt, HostServices, NoClient, NoSink,
    Reconciler, Verdict,
};
use runtime::journal::CallJournal;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a plugin may take to find out. Bounds how long it delays its call while it waits for a server that is gone.
const MOST: Duration = Duration::from_secs(10);

/// Asks the plugin of one call. What the plugin does then has the full limits of a call: if it were taken from the call's own
/// limits, this run of the call would have less left than a later run, which finds the answer in its journal.
struct PluginReconciler {
    host: HostParts,
    plugin: Arc<Plugin>,
    context: CallContext,
    /// The lineage of the call. The answer has the same private origins.
    lineage: Lineage,
    name: Arc<str>,
    arguments: String,
    /// The cancellation of the call.
    cancel: CancellationToken,
    held: HeldResources,
}

/// What a plugin needs of its host to be asked.
pub(super) struct HostParts {
    pub(super) services: Arc<HostServices>,
    pub(super) instances: InstanceShares,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) audit: Audit,
    /// These pay for what a plugin does to find out; none if there is no limit for a day.
    pub(super) fuel_budgets: Option<Arc<FuelBudgets>>,
}

impl HostParts {
    /// The reconciler for the call of a tool. None for other functions, which change nothing.
    pub(super) fn reconciler(
        self,
        plugin: &Arc<Plugin>,
        call: &PluginCall,
        context: &CallContext,
        lineage: &Lineage,
        link: &ClientLink,
    ) -> Option<Arc<dyn Reconciler>> {
        let (name, arguments) = match call {
            PluginCall::Tool(tool, arguments) => (tool.name.clone(), arguments.text().to_owned()),
            PluginCall::Item(_) => return None,
        };
        Some(Arc::new(PluginReconciler {
            host: self,
            plugin: plugin.clone(),
            context: context.clone(),
            lineage: lineage.clone(),
            name,
            arguments,
            cancel: link.cancel.clone(),
            held: link.held.clone(),
        }))
    }
}

#[async_trait]
impl Reconciler for PluginReconciler {
    async fn reconcile(&self, effect: EffectInDoubt) -> Verdict {
        let (step, import) = (effect.step.clone(), effect.import);
        let verdict = self.ask(effect).await.unwrap_or(Verdict::Unknown);
        let (plugin, call) = (self.plugin.id(), &*self.context.id);
        tracing::info!(%plugin, call, step, import, verdict = verdict.name(), "asked about an effect in doubt");
        verdict
    }
}

impl PluginReconciler {
    /// None if the plugin cannot be asked, or fails.
    async fn ask(&self, effect: EffectInDoubt) -> Option<Verdict> {
        let code = self.plugin.code.loaded().filter(|code| code.reconciles())?.clone();
        let permit = self.host.instances.acquire(&self.context.principal, &self.held).ok()?;
        let (limits, now) = (self.plugin.spec.limits.clone(), self.host.clock.now());
        let mut budget = Budget::root(&limits, now);
        budget.deadline = budget.deadline.min(now + MOST);
        budget.time = budget.time.min(MOST);
        let lineage = Lineage::root(self.lineage.name().clone(), &limits);
        self.lineage.private_origins().into_iter().for_each(|origin| lineage.mark_private(origin));
        let scope = audit_scope(&self.context, self.plugin.id(), Some(&self.plugin.digest));
        let audit = CallAudit::new(self.host.audit.clone(), scope, lineage.clone());
        let authority = CallAuthority::new(self.plugin.authority.clone(), audit);
        let cancel = self.cancel.child_token();
        let link = ClientLink {
            sink: Arc::new(NoSink),
            client: Arc::new(NoClient),
            agent: Arc::new(NoTools),
            steering: None,
            cancel: cancel.clone(),
            held: self.held.clone(),
            fuel: None,
        };
        let scope = CallScope::new(self.context.clone(), authority, lineage, limits.clone());
        let quota = self.plugin.scratch_quota.clone();
        let imports = CallImports::new(scope, link, self.host.services.clone(), quota, CallJournal::default());
        let pausable_clock = PausableClock::new(self.host.clock.clone());
        let allowance = Allowance { limits, budget, cancel, pausable_clock, fuel: None };
        let call = GuestCall::Reconcile { name: self.name.clone(), arguments: self.arguments.clone(), effect };
        let name = self.name.clone();
        // A task of its own: where the call is polled, another instance may be running.
        let asking =
            tokio::spawn(async move { code.call(&name, call, Box::new(imports), allowance, permit, false).await });
        let outcome = asking.await.ok()?;
        if let Some(budgets) = &self.host.fuel_budgets {
            budgets.charge(&self.context.principal, outcome.cost.spent.as_fuel()).await;
        }
        match outcome.result {
            Ok(GuestAnswer::Reconcile(verdict)) => Some(verdict),
            Ok(_) => None,
            Err(error) => {
                let (plugin, code) = (self.plugin.id(), error.code());
                tracing::warn!(%plugin, code, "it could not find out about an effect in doubt");
                None
            }
        }
    }
}
