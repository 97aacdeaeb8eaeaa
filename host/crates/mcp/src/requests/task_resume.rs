//! Makes the calls of stored tasks again, in the same way as their requests have made them.

use super::call_result::Remedies;
use super::round::PreparedCall;
use super::{task_call, tools};
use crate::calls::steering::SteerParams;
use crate::client::view::RequestInput;
use crate::client_tools::ReverseParams;
use crate::server_context::ServerContext;
use crate::tasks::{CallMaker, EarlierRun, MadeCall, NotMade, TaskCall, TaskRecord};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use platform::audit::{AuditEvent, AuditRecord};
use platform::telemetry::ResourceUsage;
use policy::Principal;
use runtime::engine::{CallError, FuelAccount};
use runtime::imports::{CallContext, SteeringMessage};
use services::principal_store::RunLog;
use std::sync::{Arc, Weak};

/// Makes the calls of a server's tasks. Tasks and server refer to each other, and this reference is the weak one.
pub(crate) struct TaskCalls(Weak<ServerContext>);

impl TaskCalls {
    pub(crate) fn new(server: &Arc<ServerContext>) -> Arc<Self> {
        Arc::new(Self(Arc::downgrade(server)))
    }
}

impl CallMaker for TaskCalls {
    fn make(&self, earlier: EarlierRun) -> BoxFuture<'static, MadeCall> {
        let server = self.0.upgrade();
        async move {
            let server = server.ok_or_else(|| NotMade::NotYet("the host is ending".into()))?;
            make(&server, earlier).await
        }
        .boxed()
    }

    fn record_end(&self, task: &TaskRecord) {
        let Some(server) = self.0.upgrade() else { return };
        let plugin = server.catalog.snapshot().tool(&task.tool).map(|entry| entry.plugin().id().clone());
        server.runner.audit().record(AuditRecord {
            principal: Some(task.principal()),
            plugin,
            digest: None,
            call: Some(task.call.as_str().into()),
            parent: None,
            event: AuditEvent::Verdict {
                tool: task.tool.as_str().into(),
                outcome: CallError::Cancelled.code(),
                arguments: None,
                denials: 0,
                cost: ResourceUsage::default(),
            },
        });
    }

    fn forget(&self, task: &TaskRecord) {
        if let Some(server) = self.0.upgrade()
            && let Some(budgets) = server.runner.fuel_budgets()
        {
            budgets.forget(&task.principal(), &task.call);
        }
    }

    fn steer(&self, task: &TaskRecord, message: SteeringMessage) -> Result<(), String> {
        let server = self.0.upgrade().ok_or("the host is ending")?;
        let params = SteerParams::to_call(&task.call, message);
        server.running_calls.steer(&task.principal(), params).map(drop).map_err(|error| error.message.into_owned())
    }

    fn put_back(&self, task: &TaskRecord, message: SteeringMessage) -> Result<(), String> {
        let server = self.0.upgrade().ok_or("the host is ending")?;
        server.running_calls.put_back(&task.principal(), &task.call, message)
    }

    fn output(&self, owner: &Principal, call: &str, known: u64) -> Option<(u64, String)> {
        self.0.upgrade()?.principal_store.kept_log(owner, &RunLog::uri_of(call), known)
    }
}

async fn make(server: &Arc<ServerContext>, earlier: EarlierRun) -> MadeCall {
    let EarlierRun { record: task, call, journal, output } = earlier;
    let TaskCall { tool, version, arguments, abilities, declaration, shows_remedies, idempotency_key, survive: _ } =
        call;
    server.catalog.when(|catalog| catalog.tool(&tool).is_some() || catalog.upstream_tool(&tool).is_some()).await;
    let arguments =
        serde_json::from_str(&arguments).map_err(|_| NotMade::Never("its arguments cannot be read".into()))?;
    let Ok(target) = tools::find(server, &tool, arguments) else {
        // The operator may still correct a mistake in the configuration, so the task is not ended.
        return Err(NotMade::NotYet(format!("its tool `{tool}` is not there; it goes on when its plugin is loaded")));
    };
    if target.version() != version {
        return Err(NotMade::Never("its plugin has changed meanwhile".into()));
    }
    let context = CallContext {
        id: task.call.as_str().into(),
        correlation_id: task.correlation.clone(),
        idempotency_key,
        ..CallContext::new(task.principal())
    };
    let input = RequestInput::new(abilities, None, ReverseParams { declaration, retry: None });
    let started =
        PreparedCall::register(server, &tool.into(), &target, &context, true, journal, Some(FuelAccount::default()));
    if let Some(output) = output {
        started.record.resume_log(&output);
    }
    let live = started.live(server, target, context, None, input);
    let remedies = if shows_remedies { Remedies::Shown } else { Remedies::Withheld };
    Ok((live, task_call::finish(server.clone(), remedies)))
}
