//! Asks a plugin what has become of an effect of one of its calls, in an instance of its own.

use super::no_tools::NoTools;
use super::recorder::audit_scope;
use crate::catalog::Plugin;
use async_trait::async_trait;
use platform::audit::{Audit, CallAudit};
use platform::clock::Clock;
use policy::{Budget, Lineage};
use runtime::abi::{GuestAnswer, GuestCall};
use runtime::engine::{Allowance, HeldResources, InstanceShares, PausableDeadline};
use runtime::imports::{
    CallAuthority, CallContext, CallImports, CallScope, ClientLink, EffectInDoubt, HostServices, NoClient, NoSink,
    Reconciler, Verdict,
};
use runtime::journal::CallJournal;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How long a plugin may take to find out. Bounds how long one that waits for a server which is gone holds up its call.
const MOST: Duration = Duration::from_secs(10);

/// Asks the plugin of one call. What it does then has limits of its own, those of a call: if it took from the call's, this run
/// of it would have less left than a later one, which finds the answer in its journal.
pub(super) struct PluginReconciler {
    pub(super) plugin: Arc<Plugin>,
    pub(super) services: Arc<HostServices>,
    pub(super) instances: InstanceShares,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) audit: Audit,
    pub(super) context: CallContext,
    /// Of the call: its private origins are those of the answer.
    pub(super) lineage: Lineage,
    pub(super) name: Arc<str>,
    pub(super) arguments: String,
    /// That of the call.
    pub(super) cancel: CancellationToken,
    pub(super) held: HeldResources,
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
        let permit = self.instances.acquire(&self.context.principal, &self.held).ok()?;
        let (limits, now) = (self.plugin.spec.limits.clone(), self.clock.now());
        let mut budget = Budget::root(&limits, now);
        budget.deadline = budget.deadline.min(now + MOST);
        budget.time = budget.time.min(MOST);
        let lineage = Lineage::root(self.lineage.name().clone(), &limits);
        self.lineage.private_origins().into_iter().for_each(|origin| lineage.mark_private(origin));
        let scope = audit_scope(&self.context, self.plugin.id(), Some(&self.plugin.digest));
        let audit = CallAudit::new(self.audit.clone(), scope, lineage.clone());
        let authority = CallAuthority::new(self.plugin.authority.clone(), audit);
        let cancel = self.cancel.child_token();
        let link = ClientLink {
            sink: Arc::new(NoSink),
            client: Arc::new(NoClient),
            agent: Arc::new(NoTools),
            steering: None,
            cancel: cancel.clone(),
            held: self.held.clone(),
        };
        let scope = CallScope::new(self.context.clone(), authority, lineage, limits.clone());
        let quota = self.plugin.scratch_quota.clone();
        let imports = CallImports::new(scope, link, self.services.clone(), quota, CallJournal::default());
        let pausable_deadline = PausableDeadline::new(self.clock.clone());
        let allowance = Allowance { limits, budget, cancel, pausable_deadline };
        let call = GuestCall::Reconcile { name: self.name.clone(), arguments: self.arguments.clone(), effect };
        let name = self.name.clone();
        // A task of its own: where the call is polled, another instance may be running.
        let asking =
            tokio::spawn(
                async move { code.call(&name, call, Box::new(imports), allowance, permit, false).await.result },
            );
        match asking.await.ok()? {
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
