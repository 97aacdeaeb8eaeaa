//! The gateway: exposes what servers behind this host offer next to what plugins offer.

use crate::agent_tools::UpstreamTools;
use crate::api::handler::{
    AgentHandler, Changed, Requester, ReverseCallDecision, ReverseCallRequest, UpstreamCallEvent,
};
use crate::api::links::Links;
use crate::api::offer::ToolOffer;
use crate::api::settings::UpstreamSettings;
use crate::item_requests::UpstreamRequests;
use crate::server::Upstream;
use crate::updates::{UpdatedResources, pass_on_updates};
use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::{join_all, select_all};
use platform::clock::Clock;
use plugins::calls::ToolCallerChain;
use plugins::catalog::{CurrentCatalog, ListedItem, ServerRequests, UpstreamOffers, UpstreamServer, UpstreamTool};
use policy::Limits;
use runtime::imports::{Abilities, CheckedQuestion, ClientReply, ToolCaller};
use std::sync::Arc;
use std::time::Duration;

/// How long clients that list tools may wait for servers after the start. Slower servers appear later.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// Connects servers and exposes what they offer, soon and on every change. Servers that do not answer are tried again.
/// A server may call the tools of `agent` that its settings offer. The servers' own tools are added to `agent`.
pub fn connect(
    settings: &[UpstreamSettings],
    agent: &Arc<ToolCallerChain>,
    catalog: &Arc<CurrentCatalog>,
    clock: Arc<dyn Clock>,
) -> Vec<Upstream> {
    let connect = |settings: &UpstreamSettings| {
        let offer = ToolOffer { agent: agent.clone(), allow: settings.offer.clone(), limits: Limits::default() };
        let (current, offers) = (catalog.clone(), !settings.offer.is_empty());
        let offered = async move {
            if offers {
                current.when(|catalog| !catalog.is_loading_plugins()).await;
            }
        };
        let updated = Arc::new(UpdatedResources::default());
        let handler = Arc::new(ForwardOnly(updated.clone()));
        let upstream = Upstream::connect(settings.clone(), offer, offered, handler, clock.clone());
        tokio::spawn(pass_on_updates(upstream.clone(), updated, catalog.clone()));
        upstream
    };
    let upstreams: Vec<Upstream> = settings.iter().map(connect).collect();
    let links = Links::of_clients(catalog.clone());
    let all: Vec<Exposed> = upstreams.iter().map(|upstream| Exposed::new(upstream.clone(), &links)).collect();
    for exposed in &all {
        agent.add(Arc::new(UpstreamTools::new(exposed.upstream.clone())));
    }
    if !all.is_empty() {
        tokio::spawn(expose_all(all, catalog.clone()));
    }
    upstreams
}

/// Exposes what servers offer once all have answered, or have had their time, and then on every change. Runs as long as the
/// process.
async fn expose_all(all: Vec<Exposed>, catalog: Arc<CurrentCatalog>) {
    let mut changes: Vec<_> = all.iter().map(|exposed| exposed.upstream.changes()).collect();
    // Failures are logged by the connections.
    let _ = tokio::time::timeout(START_TIMEOUT, join_all(all.iter().map(|exposed| exposed.upstream.ready()))).await;
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

/// A server, and what calls its tools and requests its items for clients.
struct Exposed {
    upstream: Upstream,
    tools: Arc<dyn ToolCaller>,
    items: Arc<dyn ServerRequests>,
}

impl Exposed {
    fn new(upstream: Upstream, links: &Links) -> Self {
        let tools = Arc::new(UpstreamTools::with_links(upstream.clone(), links.clone()));
        let items = Arc::new(UpstreamRequests { upstream: upstream.clone(), links: links.clone() });
        Self { upstream, tools, items }
    }

    /// What it offers besides tools, as far as clients may have it.
    fn server(&self) -> UpstreamServer {
        let (listed, settings) = (self.upstream.items(), self.upstream.settings());
        let is_exposed = |item: &&Arc<ListedItem>| settings.exposes_resource(&item.key);
        let resources = listed.resources.iter().filter(is_exposed).cloned().collect();
        let templates = listed.templates.iter().filter(is_exposed).cloned().collect();
        let prompts = listed.prompts.iter().filter(|prompt| settings.exposes(prompt.name())).cloned().collect();
        UpstreamServer::new(self.upstream.name(), self.items.clone(), resources, templates, prompts)
    }
}

/// Puts what all servers offer into the catalog.
fn expose(all: &[Exposed], catalog: &CurrentCatalog) {
    let mut offers = UpstreamOffers::default();
    for exposed in all {
        let upstream = &exposed.upstream;
        let name = upstream.name();
        let left_out = upstream.left_out();
        if !left_out.is_empty() {
            offers.left_out.insert(name.to_owned(), left_out);
        }
        offers.missing.extend(upstream.missing().map(|reason| (name.to_owned(), reason)));
        let tools = upstream.tools();
        let shown = tools.iter().filter(|tool| upstream.settings().exposes(&tool.tool.name));
        offers.tools.extend(shown.map(|tool| Arc::new(UpstreamTool::new(name, tool.clone(), exposed.tools.clone()))));
        offers.servers.insert(name.to_owned(), Arc::new(exposed.server()));
    }
    if let Err(error) = catalog.update(|now| now.with_upstreams(offers)) {
        tracing::error!("what servers behind this host offer cannot be exposed: {error}");
    }
}

/// The gateway's own handler, which answers nothing: questions of a call go to that call's client. Declares all
/// abilities, since the clients' abilities are not known beforehand; a client that lacks one refuses the question.
#[derive(Default)]
pub(super) struct ForwardOnly(Arc<UpdatedResources>);

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

    fn on_changed(&self, _server: &str, what: Changed<'_>) {
        match what {
            // The catalog announces changed lists.
            Changed::List(_) => {}
            Changed::Resource(uri) => self.0.add(uri),
        }
    }

    fn passes_on_items(&self) -> bool {
        true
    }
}
