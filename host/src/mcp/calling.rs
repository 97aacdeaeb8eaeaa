//! What all calls of a client share, whatever is called: what a call is told about itself, and what it says on the way.

use super::server::Shared;
use super::stream::{self, Forward};
use crate::imports::CallContext;
use crate::registry::CallRequest;
use rmcp::ErrorData;
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// `_meta` key under which a client marks what belongs together.
const CORRELATION: &str = "dev.portcullis/correlationId";
/// The longest correlation id, in bytes; a longer one is refused, since it would be echoed everywhere.
const MAX_CORRELATION: usize = 256;

/// The call that a request asks for, and what must run beside it.
pub(super) fn request(
    server: &Shared,
    context: &RequestContext<RoleServer>,
) -> Result<(CallRequest, Option<Forward>), ErrorData> {
    let mut about = CallContext::new(server.principal(&context.extensions).as_str());
    about.traceparent = context.meta.get_traceparent().map(str::to_owned);
    about.correlation_id = match context.meta.get(CORRELATION) {
        None => None,
        Some(Value::String(id)) if id.len() <= MAX_CORRELATION => Some(id.clone()),
        Some(_) => {
            let text = format!("_meta[\"{CORRELATION}\"] must be a string of at most {MAX_CORRELATION} bytes");
            return Err(ErrorData::invalid_params(text, None));
        }
    };
    let (sink, forward) = stream::open(context);
    let (agent, cancel) = (server.agent.clone(), context.ct.clone());
    Ok((CallRequest { context: about, sink, agent, cancel, parent: None }, forward))
}

/// Runs a call to its end, while what it says is sent.
pub(super) async fn beside<R>(
    running: impl Future<Output = R>,
    forward: Option<Forward>,
    cancel: &CancellationToken,
) -> R {
    match forward {
        None => running.await,
        // The sink is dropped with the call, which ends the forwarder once everything is sent; a cancelled call has
        // nobody to send to.
        Some(forward) => tokio::join!(running, cancel.run_until_cancelled(forward.run())).0,
    }
}
