//! Servers behind this host: their tools beside the plugins', for every client.

use crate::{Asker, Face, Heard, Offer, ToolRequest, Upstream, UpstreamSettings, UpstreamTools, Verdict};
use async_trait::async_trait;
use futures::future::join_all;
use platform::clock::Clock;
use plugins::Together;
use plugins::registry::{Beyond, CurrentCatalog};
use policy::Limits;
use runtime::imports::{Abilities, Asked, Reply, ToolCaller};
use std::sync::Arc;
use std::time::Duration;

/// How long the start waits for servers. One that takes longer is there when it is there.
const START: Duration = Duration::from_secs(5);

/// Connects servers and exposes their tools, now and whenever they change. Servers that are not there yet are tried again.
/// What a server may call is what its settings offer it of `agent`, to which its own tools are added.
pub async fn connect(
    settings: &[UpstreamSettings],
    agent: &Arc<Together>,
    catalog: &Arc<CurrentCatalog>,
    clock: Arc<dyn Clock>,
) -> Vec<Upstream> {
    let connect = |settings: &UpstreamSettings| {
        let offer = Offer { agent: agent.clone(), allow: settings.offer.clone(), limits: Limits::default() };
        Upstream::connect(settings.clone(), offer, Arc::new(Through), clock.clone())
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
    // Those that cannot be reached have said so in the log.
    let _ = tokio::time::timeout(START, join_all(upstreams.iter().map(Upstream::ready))).await;
    let mut changes: Vec<_> = upstreams.iter().map(Upstream::changes).collect();
    if !all.is_empty() {
        changes.iter_mut().for_each(|changes| {
            changes.borrow_and_update();
        });
        expose(&all, catalog);
    }
    for mut changes in changes {
        let (all, catalog) = (all.clone(), catalog.clone());
        // It runs as long as the process.
        tokio::spawn(async move {
            while changes.changed().await.is_ok() {
                expose(&all, &catalog);
            }
        });
    }
    upstreams
}

/// Exposes the tools that are there now.
fn expose(all: &[(Upstream, Arc<dyn ToolCaller>)], catalog: &CurrentCatalog) {
    let mut exposed = Vec::new();
    for (upstream, caller) in all {
        let tools = upstream.tools();
        let shown = tools.iter().filter(|tool| upstream.settings().exposes(&tool.tool.name));
        exposed.extend(shown.map(|tool| Beyond::new(upstream.name(), tool.clone(), caller.clone())));
    }
    if let Err(error) = catalog.update(|now| now.with_beyond(exposed)) {
        tracing::error!("the tools of servers behind this host cannot be exposed: {error}");
    }
}

/// Nobody of its own: each call's client answers for itself. Declares everything, since it is not known beforehand what the
/// clients can; one that cannot says so when it is asked.
struct Through;

#[async_trait]
impl Face for Through {
    fn abilities(&self) -> Abilities {
        Abilities { form: true, url: true, sample: true, sample_tools: true, roots: true }
    }

    async fn approve(&self, _request: &ToolRequest) -> Verdict {
        Verdict::Deny("it belongs to no client's call".into())
    }

    async fn answer(&self, _from: &Asker, _question: &Asked) -> Reply {
        Reply::Failed("it belongs to no client's call".into())
    }

    fn heard(&self, _task: &str, _heard: Heard) {}
}
