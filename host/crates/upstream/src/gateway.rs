//! The gateway: exposes the tools of servers behind this host next to the tools of plugins.

use crate::agent_tools::UpstreamTools;
use crate::handler::{AgentHandler, Requester, ReverseCallDecision, ReverseCallRequest, UpstreamCallEvent};
use crate::offer::ToolOffer;
use crate::server::Upstream;
use crate::settings::UpstreamSettings;
use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::{join_all, select_all};
use platform::clock::Clock;
use plugins::calls::ToolCallerChain;
use plugins::catalog::{CurrentCatalog, UpstreamOffers, UpstreamTool};
use policy::Limits;
use runtime::imports::{Abilities, CheckedQuestion, ClientReply, ToolCaller};
use std::sync::Arc;
use std::time::Duration;

/// How long clients that list tools may wait for servers after the start. Slower servers appear later.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects servers and exposes their tools, soon and on every change. Servers that do not answer are tried again.
/// A server may call the tools of `agent` that its settings offer. The servers' own tools are added to `agent`.
pub fn connect(
    settings: &[UpstreamSettings],
    agent: &Arc<ToolCallerChain>,
    catalog: &Arc<CurrentCatalog>,
    clock: Arc<dyn Clock>,
) -> Vec<Upstream> {
    let connect = |settings: &UpstreamSettings| {
        let offer = ToolOffer { agent: agent.clone(), allow: settings.offer.clone(), limits: Limits::default() };
        let (catalog, offers) = (catalog.clone(), !settings.offer.is_empty());
        let offered = async move {
            if offers {
                catalog.when(|catalog| !catalog.is_loading_plugins()).await;
            }
        };
        Upstream::connect(settings.clone(), offer, offered, Arc::new(ForwardOnly), clock.clone())
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
    if !all.is_empty() {
        tokio::spawn(expose_all(all, catalog.clone()));
    }
    upstreams
}

/// Exposes the tools of servers once all have answered, or have had their time, and then on every change. Runs as long as the
/// process.
async fn expose_all(all: Vec<(Upstream, Arc<dyn ToolCaller>)>, catalog: Arc<CurrentCatalog>) {
    let mut changes: Vec<_> = all.iter().map(|(upstream, _)| upstream.changes()).collect();
    // Failures are logged by the connections.
    let _ = tokio::time::timeout(START_TIMEOUT, join_all(all.iter().map(|(upstream, _)| upstream.ready()))).await;
    loop {
        changes.iter_mut().for_each(|changes| {
            changes.borrow_and_update();
        });
        expose(&all, &catalog);
        let changed = select_all(changes.iter_mut().map(|changes| changes.changed().boxed()));
        // Fails when the server was given up.
        if changed.await.0.is_err() {
            return;
        }
    }
}

/// Puts the tools of all connected servers into the catalog.
fn expose(all: &[(Upstream, Arc<dyn ToolCaller>)], catalog: &CurrentCatalog) {
    let mut offers = UpstreamOffers::default();
    for (upstream, caller) in all {
        let name = upstream.name();
        let left_out = upstream.left_out();
        if !left_out.is_empty() {
            offers.left_out.insert(name.to_owned(), left_out);
        }
        offers.missing.extend(upstream.missing().map(|reason| (name.to_owned(), reason)));
        let tools = upstream.tools();
        let shown = tools.iter().filter(|tool| upstream.settings().exposes(&tool.tool.name));
        offers.tools.extend(shown.map(|tool| Arc::new(UpstreamTool::new(name, tool.clone(), caller.clone()))));
    }
    if let Err(error) = catalog.update(|now| now.with_upstream_tools(offers)) {
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
