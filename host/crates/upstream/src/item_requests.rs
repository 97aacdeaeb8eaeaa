//! A server's resources, prompts and completions, as this host's clients ask for them.

use crate::api::call::CallerScope;
use crate::api::links::Links;
use crate::calls::request::{ServerRequest, send_request};
use crate::calls::request_answer::ServerSaid;
use crate::open_call::chain::chain_with;
use crate::server::Upstream;
use async_trait::async_trait;
use plugins::catalog::{ItemRequest, ServerAnswer, ServerOutcome, ServerRequests};
use policy::BudgetUsage;
use runtime::imports::{AgentError, ReverseCall};
use serde_json::Map;

pub(super) struct UpstreamRequests {
    pub(super) upstream: Upstream,
    pub(super) links: Links,
}

#[async_trait]
impl ServerRequests for UpstreamRequests {
    fn exposes(&self, uri: &str) -> bool {
        self.upstream.has_resources() && self.upstream.settings().exposes_resource(uri)
    }

    async fn request(&self, request: ItemRequest, mut call: ReverseCall) -> ServerOutcome {
        call.lane.take("upstream");
        let shared = &self.upstream.0;
        let server_request = ServerRequest {
            item: request,
            task: call.parent.clone(),
            correlation: call.context.correlation_id.take(),
            traceparent: call.context.traceparent.take(),
            timeout: shared.settings.request_timeout(),
        };
        let scope = CallerScope::new(&call, chain_with(self.upstream.name()), self.links.clone());
        let sending = send_request(shared, server_request, scope);
        let Some((said, spent)) = call.cancel.run_until_cancelled(sending).await else {
            let (spent, meta) = (BudgetUsage::default(), Map::new());
            return ServerOutcome { answer: Err(AgentError::Cancelled), spent, meta };
        };
        match said {
            Ok(ServerSaid { answer, meta }) => ServerOutcome { answer: Ok(self.with_addresses(answer)), spent, meta },
            Err(error) => ServerOutcome { answer: Err(error.into()), spent, meta: Map::new() },
        }
    }
}

impl UpstreamRequests {
    /// Replaces the server's URIs in an answer by the addresses that clients know.
    fn with_addresses(&self, answer: ServerAnswer) -> ServerAnswer {
        let server = self.upstream.name();
        match answer {
            ServerAnswer::Resource(Some(mut contents)) => {
                for content in &mut contents {
                    content.uri = self.links.address(server, std::mem::take(&mut content.uri));
                }
                ServerAnswer::Resource(Some(contents))
            }
            ServerAnswer::Prompt(mut prompt) => {
                self.links.resolve(server, prompt.messages.iter_mut().map(|message| &mut message.content));
                ServerAnswer::Prompt(prompt)
            }
            answer @ (ServerAnswer::Resource(None) | ServerAnswer::Completion(_)) => answer,
        }
    }
}
