//! What a server says of its own accord: questions and reverse calls of 2025-11-25, and what has changed.

use super::offer::{self, Outcome, Wanted};
use super::open::OpenCall;
use crate::{Shared, declare, questions};
use mcp::{self, CORRELATION};
use rmcp::ClientHandler;
use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomRequest, CustomResult, ElicitRequestParams,
    ElicitResult, ErrorCode, ErrorData, Implementation, ListRootsResult, ResourceUpdatedNotificationParam,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use runtime::imports::{Asked, Reply};
use serde_json::{Value, json};
use std::sync::Arc;

/// Listens to one connection.
pub(super) struct Ear(pub(super) Arc<Shared>);

impl Ear {
    /// The call that a request belongs to.
    fn call(&self, context: &RequestContext<RoleClient>, parent: Option<&str>) -> Result<Arc<OpenCall>, ErrorData> {
        let origin = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id),
            _ => None,
        };
        let mark = context.meta.get(CORRELATION).and_then(Value::as_str);
        self.0.open.of(origin, parent, mark).ok_or_else(|| {
            ErrorData::invalid_request("it cannot be told which of this client's requests this belongs to", None)
        })
    }

    async fn ask(
        &self,
        asked: Result<Asked, String>,
        context: &RequestContext<RoleClient>,
    ) -> Result<Value, ErrorData> {
        let call = self.call(context, None)?;
        let asked = asked.map_err(|reason| {
            tracing::warn!(server = self.0.name(), "a question is refused: {}", super::open::shortened(&reason));
            ErrorData::invalid_params(reason, None)
        })?;
        let _answering = call.answering();
        let asking = async {
            let replies = call.voice.ask(&call.from, vec![asked]).await;
            let replies = replies.map_err(|error| ErrorData::internal_error(mcp::client_error(&error), None))?;
            let reply = replies.into_iter().next().unwrap_or_else(|| Reply::Missing("there is no answer".into()));
            questions::result(reply).map_err(|reason| ErrorData::internal_error(reason, None))
        };
        let withdrawn = || ErrorData::internal_error("the question was withdrawn", None);
        context.ct.run_until_cancelled(asking).await.unwrap_or_else(|| Err(withdrawn()))
    }
}

fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ClientHandler for Ear {
    fn get_info(&self) -> ClientConfig {
        let offered = self.0.offer.declaration(self.0.name(), &["request"], None);
        let capabilities = declare::capabilities(self.0.face.abilities(), offered);
        ClientConfig::new(capabilities, Implementation::new("portcullis", env!("CARGO_PKG_VERSION")))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        typed(self.ask(questions::elicited(request), &context).await?)
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        typed(self.ask(questions::sample(params).map(Asked::Sample), &context).await?)
    }

    async fn list_roots(&self, context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        typed(self.ask(Ok(Asked::Roots), &context).await?)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != "dev.portcullis/tools/call" {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, super::open::shortened(&request.method), None));
        }
        let wanted: Wanted = serde_json::from_value(request.params.unwrap_or_default())
            .map_err(|error| ErrorData::invalid_params(format!("it is no call: {error}"), None))?;
        let call = self.call(&context, wanted.parent.as_deref())?;
        let withdrawn = || Outcome::Error("cancelled", "it was withdrawn".into());
        let served = context.ct.run_until_cancelled(offer::serve(&call, wanted)).await;
        match served.unwrap_or_else(withdrawn) {
            Outcome::Result(result) => Ok(CustomResult::new(result)),
            Outcome::Error(code, message) => Err(ErrorData::internal_error(message, Some(json!({ "code": code })))),
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.refresh.notify_one();
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.face.changed(self.0.name(), "resources");
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.face.changed(self.0.name(), "prompts");
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.0.updated(&params.uri);
    }
}
