//! Requests and notifications that a server sends: questions and reverse calls of 2025-11-25, and changes.

use crate::api::capabilities::to_client_capabilities;
use crate::connection::shared::UpstreamShared;
use crate::listed::list_kind::ListKind;
use crate::open_call::open_calls::OpenCall;
use crate::open_call::questions::{self, ServerQuestion};
use crate::open_call::reverse::serve_reverse_call;
use crate::open_call::reverse_calls::{ReverseCallOutcome, ReverseCallParams, ServedIn};
use crate::server_input::text::single_line;
use protocol::names::CORRELATION_META;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomRequest, CustomResult, ElicitRequestParams,
    ElicitResult, ErrorCode, ErrorData, Implementation, ListRootsResult, ResourceUpdatedNotificationParam,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, RoleClient};
use runtime::imports::{CheckedQuestion, ClientReply};
use serde_json::{Value, json};
use std::sync::Arc;

/// Handles the messages of one connection.
pub(crate) struct ClientEvents(pub(crate) Arc<UpstreamShared>);

impl ClientEvents {
    /// Finds the open call that a request belongs to.
    fn call(&self, context: &RequestContext<RoleClient>, parent: Option<&str>) -> Result<Arc<OpenCall>, ErrorData> {
        let origin = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id),
            _ => None,
        };
        let correlation = context.meta.get(CORRELATION_META).and_then(Value::as_str);
        self.0
            .open_calls
            .find(origin, parent, correlation)
            .ok_or_else(|| ErrorData::invalid_request("this request belongs to no single request of this client", None))
    }

    async fn ask(
        &self,
        question: Result<CheckedQuestion, String>,
        context: &RequestContext<RoleClient>,
    ) -> Result<Value, ErrorData> {
        let call = self.call(context, None)?;
        let question = question.map_err(|reason| {
            call.log_refused(&reason);
            ErrorData::invalid_params(reason, None)
        })?;
        // The library takes `_meta` out of the parameters.
        let question = ServerQuestion::new(question, Some(&context.meta));
        let _answering = call.answering();
        let asking = async {
            let replies = call.responder.ask(&call.requester, vec![question]).await;
            let replies = replies
                .map_err(|error| ErrorData::internal_error(protocol::questions::describe_client_error(&error), None))?;
            let reply = replies.into_iter().next().unwrap_or_else(|| ClientReply::Missing("there is no answer".into()));
            questions::to_result(reply).map_err(|reason| ErrorData::internal_error(reason, None))
        };
        let withdrawn = || ErrorData::internal_error("the question was withdrawn", None);
        context.ct.run_until_cancelled(asking).await.unwrap_or_else(|| Err(withdrawn()))
    }
}

fn parse<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ClientHandler for ClientEvents {
    fn get_info(&self) -> ClientConfig {
        let offer = self.0.offer.declaration(self.0.name(), &["request"], None);
        let capabilities = to_client_capabilities(self.0.handler.abilities(), offer, false);
        ClientConfig::new(capabilities, Implementation::new("portcullis", env!("CARGO_PKG_VERSION")))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        parse(self.ask(questions::check_elicitation(request), &context).await?)
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        parse(self.ask(questions::check_sampling(params).map(CheckedQuestion::Sample), &context).await?)
    }

    async fn list_roots(&self, context: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        parse(self.ask(Ok(CheckedQuestion::Roots), &context).await?)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method != protocol::names::REVERSE_CALL_METHOD {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, single_line(&request.method), None));
        }
        let params: ReverseCallParams = serde_json::from_value(request.params.unwrap_or_default())
            .map_err(|error| ErrorData::invalid_params(format!("malformed reverse call: {error}"), None))?;
        let call = self.call(&context, params.parent.as_deref())?;
        let withdrawn = || ReverseCallOutcome::Error("cancelled", "the call was withdrawn".into());
        let served = context.ct.run_until_cancelled(serve_reverse_call(&call, params, ServedIn::Task)).await;
        match served.unwrap_or_else(withdrawn) {
            ReverseCallOutcome::Result(result) => Ok(CustomResult::new(result)),
            ReverseCallOutcome::Error(code, message) => {
                Err(ErrorData::internal_error(message, Some(json!({ "code": code }))))
            }
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.list_changed(ListKind::Tools);
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.list_changed(ListKind::Resources);
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.0.list_changed(ListKind::Prompts);
    }

    async fn on_resource_updated(
        &self,
        params: ResourceUpdatedNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.0.resource_updated(&params.uri);
    }
}
