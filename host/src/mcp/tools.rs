//! `tools/call`.

use super::respond::{self, Response};
use super::round::{Live, Outcome, Output, Reach, is_stateless};
use super::seal::Binding;
use super::server::Shared;
use super::{result, stream, wire};
use crate::engine::CallError;
use crate::imports::{CallContext, NoClient, NoSink};
use crate::registry::{CallRequest, Exposed};
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use std::sync::Arc;

pub(super) async fn call(
    server: &Arc<Shared>,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let Some(exposed) = server.catalog.get(&request.name) else {
        let text =
            format!("unknown tool `{}`; tools/list names those there are", crate::telemetry::printable(&request.name));
        return Err(ErrorData::invalid_params(text, None));
    };
    let principal = server.principal(&context);
    let about = respond::about(&principal, &context)?;
    let correlation = about.correlation_id.clone();
    let arguments = Value::Object(request.arguments.unwrap_or_default());
    let call = Call { server: server.clone(), exposed: exposed.clone(), about, stateless: is_stateless(&context) };
    if request.request_state.is_none() && !wire::abilities(&context).any() && !stream::is_read(&context) {
        // Nobody reads or answers anything before the result: no queue, no rounds.
        let reach = Reach { sink: Arc::new(NoSink), client: Arc::new(NoClient), cancel: context.ct.clone() };
        return complete(call.run(arguments, reach).await?);
    }
    let binding = Binding::new(&principal, "tools/call", &request.name, &arguments, &exposed.plugin().digest);
    let given = request.input_responses.unwrap_or_default();
    let live = match request.request_state.filter(|_| call.stateless) {
        Some(state) => respond::resume(server, &state, &binding, given, &context)?,
        None => Live::begin(&context, given, |reach| Box::pin(call.run(arguments, reach))),
    };
    match respond::serve(server, live, &principal, &binding, correlation.as_deref(), &context).await? {
        Response::Complete(output) => complete(output),
        Response::InputRequired(result) => Ok(CallToolResponse::InputRequired(result)),
    }
}

fn complete(output: Output) -> Result<CallToolResponse, ErrorData> {
    match output {
        Output::Tool(result) => Ok(CallToolResponse::Complete(result)),
        // A state is bound to its method.
        Output::Prompt(_) | Output::Resource(_) => Err(ErrorData::internal_error("the result of another method", None)),
    }
}

/// One call of a tool, whatever requests it is served under.
struct Call {
    server: Arc<Shared>,
    exposed: Exposed,
    about: CallContext,
    stateless: bool,
}

impl Call {
    async fn run(self, arguments: Value, reach: Reach) -> Outcome {
        let Self { server, exposed, about, stateless } = self;
        let correlation = about.correlation_id.clone();
        let text = arguments.to_string();
        let Reach { sink, client, cancel } = reach;
        let agent = server.agent.clone();
        let call = CallRequest { context: about, sink, agent, client, cancel, parent: None };
        let finished = server.runner.call(exposed.plugin(), exposed.tool(), &arguments, text, call).await;
        match &finished.result {
            // The tool cannot go on without something that the client did not declare on this request.
            Err(CallError::Unsupported { .. }) if stateless && finished.lacked.any() => {
                Err(ErrorData::missing_required_client_capability(wire::required(finished.lacked)))
            }
            _ => Ok(Output::Tool(result::of(finished, server.meta(correlation.as_deref())))),
        }
    }
}
