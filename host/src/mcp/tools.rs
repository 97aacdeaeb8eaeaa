//! `tools/call`.

use super::server::Shared;
use super::{result, stream};
use crate::imports::CallContext;
use crate::registry::CallRequest;
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResult};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;

/// `_meta` key under which a client marks what belongs together.
const CORRELATION: &str = "dev.portcullis/correlationId";
/// The longest correlation id, in bytes; a longer one is refused, since it would be echoed everywhere.
const MAX_CORRELATION: usize = 256;

pub(super) async fn call(
    server: &Shared,
    request: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let Some(exposed) = server.catalog.get(&request.name) else {
        let text =
            format!("unknown tool `{}`; tools/list names those there are", crate::telemetry::printable(&request.name));
        return Err(ErrorData::invalid_params(text, None));
    };
    let mut about = CallContext::new(server.principal(&context));
    about.traceparent = context.meta.get_traceparent().map(str::to_owned);
    about.correlation_id = match context.meta.get(CORRELATION) {
        None => None,
        Some(Value::String(id)) if id.len() <= MAX_CORRELATION => Some(id.clone()),
        Some(_) => {
            let text = format!("_meta[\"{CORRELATION}\"] must be a string of at most {MAX_CORRELATION} bytes");
            return Err(ErrorData::invalid_params(text, None));
        }
    };
    let arguments = Value::Object(request.arguments.unwrap_or_default());
    let text = arguments.to_string();
    let (sink, forward) = stream::open(&context);
    let call =
        CallRequest { context: about, sink, agent: server.agent.clone(), cancel: context.ct.clone(), parent: None };
    let running = server.runner.call(exposed.plugin(), exposed.tool(), &arguments, text, call);
    let finished = match forward {
        None => running.await,
        Some(forward) => {
            // The sink is dropped with the call, which ends the forwarder once everything is sent; a cancelled call
            // has nobody to send to.
            tokio::join!(running, context.ct.run_until_cancelled(forward.run())).0
        }
    };
    Ok(result::of(finished, server.meta()))
}
