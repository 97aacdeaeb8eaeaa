//! The gateway: exposes the tools of servers behind this host next to the tools of plugins.

use crate::agent_tools::UpstreamTools;
use crate::handler::{AgentHandler, Requester, ReverseCallDecision, ReverseCallRequest, UpstreamCallEvent};
use crate::offer::ToolOffer;
use crate::server::Upstream;
use crate::settings::UpstreamSettings;
use async_trait::async_trait;
use futures::future::join_all;
use platform::clock::Clock;
use plugins::calls::ToolCallerChain;
use plugins::catalog::{CurrentCatalog, UpstreamTool};
use policy::Limits;
use runtime::imports::{Abilities, CheckedQuestion, ClientReply, ToolCaller};
use std::sync::Arc;
use std::time::Duration;

/// How long the host's start waits for servers. Slower servers appear later.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects servers and exposes their tools, now and on every change. Servers that do not answer are tried again.
/// A server may call the tools of `agent` that its settings offer. The servers' own tools are added to `agent`.
pub async fn connect(
    settings: &[UpstreamSettings],
    agent: &Arc<ToolCallerChain>,
    catalog: &Arc<CurrentCatalog>,
    clock: Arc<dyn Clock>,
) -> Vec<Upstream> {
    let connect = |settings: &UpstreamSettings| {
        let offer = ToolOffer { agent: agent.clone(), allow: settings.offer.clone(), limits: Limits::default() };
        Upstream::connect(settings.clone(), offer, Arc::new(ForwardOnly), clock.clone())
    };
    let upstreams: Vec<Upstream> = settings.iter().map(connect).collect();
    let callers: Vec<Arc<dyn ToolCaller>> = upstreams
        .iter()
        .map(|upstream| Arc::new(UpstreamTools::new(upstream.clone())) as Arc<dyn ToolCaller>)
        .collect();
    for caller in &callers {
        agent.add(caller.clone());
    }
    let all: Vec<(Upstream, Arc<dyn ToolCaller>)> = upstreams.iter().cloned().zip(callers).collect();
    // Failures are logged by the connections.
    let _ = tokio::time::timeout(START_TIMEOUT, join_all(upstreams.iter().map(Upstream::ready))).await;
    let mut changes: Vec<_> = upstreams.iter().map(Upstream::changes).collect();
    if !all.is_empty() {
        changes.iter_mut().for_each(|changes| {
            changes.borrow_and_update();
        });
        expose(&all, catalog);
    }
    for mut changes in changes {
        let (all, catalog) = (all.clone(), catalog.clone());
        // The task runs as long as the process.
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                expose(&all, &catalog);
            }
        });
    }
    upstreams
}

/// Puts the tools of all connected servers into the catalog.
fn expose(all: &[(Upstream, Arc<dyn ToolCaller>)], catalog: &CurrentCatalog) {
    let mut exposed = Vec::new();
    for (upstream, caller) in all {
        let tools = upstream.tools();
        let shown = tools.iter().filter(|tool| upstream.settings().exposes(&tool.tool.name));
        exposed.extend(shown.map(|tool| Arc::new(UpstreamTool::new(upstream.name(), tool.clone(), caller.clone()))));
    }
    if let Err(error) = catalog.update(|now| now.with_upstream_tools(exposed)) {
        tracing::error!("the tools of servers behind this host cannot be exposed: {error}");
    }
}

/// The gateway's own handler, which refuses everything: questions of a call go to that call's client. Declares all
/// abilities, since the clients' abilities are not known beforehand; a client that lacks one refuses the question.
pub(super) struct ForwardOnly;

#[async_trait]
impl AgentHandler for ForwardOnly {
    fn abilities(&self) -> Abilities {
        Abilities { form: true, url: true, sample: true, sample_tools: true, roots: true }
    }

    async fn approve(&self, _request: &ReverseCallRequest) -> ReverseCallDecision {
        ReverseCallDecision::Deny("it belongs to no call of a client".into())
    }

    async fn answer(&self, _requester: &Requester, _question: &CheckedQuestion) -> ClientReply {
        ClientReply::Failed("it belongs to no call of a client".into())
    }

    fn on_call_event(&self, _task: &str, _event: UpstreamCallEvent) {}
}
