//! Lane `request`: a request on the stream of the request that the call belongs to (2025-11-25).

use super::outcome;
use crate::pending::Outgoing;
use rmcp::model::{ClientResult, CustomRequest, ErrorCode, ErrorData, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer, ServiceError};
use runtime::imports::AgentError;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// The request.
const METHOD: &str = "dev.portcullis/tools/call";

/// Makes a call and lets the guest go on. One that nobody waits for any more, because it took too long or the call is
/// `over`, is withdrawn.
pub(crate) async fn ask(peer: Peer<RoleServer>, mut call: Outgoing, over: CancellationToken) {
    let request = CustomRequest::new(METHOD, Some(call.fields.take()));
    let options = PeerRequestOptions::no_options();
    let sent = peer.send_cancellable_request(ServerRequest::CustomRequest(request), options).await;
    let mut asked = match sent {
        Ok(asked) => asked,
        Err(error) => return call.answer(Err(unanswered(error))),
    };
    let answered = tokio::select! {
        biased;
        answered = &mut asked.rx => answered.unwrap_or(Err(ServiceError::TransportClosed)),
        () = nobody_waits(&mut call, &over) => {
            // A client that is gone need not be told.
            let _ = asked.cancel(Some("nobody waits for the answer any more".into())).await;
            return call.answer(Err(AgentError::Cancelled));
        }
    };
    call.answer(match answered {
        Ok(result) => to_value(result),
        Err(ServiceError::McpError(error)) => refused(error),
        Err(error) => Err(unanswered(error)),
    });
}

async fn nobody_waits(call: &mut Outgoing, over: &CancellationToken) {
    tokio::select! {
        () = call.answer.closed() => {}
        () = over.cancelled() => {}
    }
}

fn to_value(result: ClientResult) -> Result<Value, AgentError> {
    serde_json::to_value(result).map_err(|error| AgentError::Failed(error.to_string()))
}

/// A JSON-RPC error as an outcome.
fn refused(error: ErrorData) -> Result<Value, AgentError> {
    if error.code == ErrorCode::METHOD_NOT_FOUND {
        return Err(AgentError::NotSupported(format!("the client declared tools, and does not know `{METHOD}`")));
    }
    let code = error.data.as_ref().and_then(|data| data["code"].as_str()).unwrap_or("failed");
    Ok(json!({ "error": { "code": code, "message": error.message } }))
}

fn unanswered(error: ServiceError) -> AgentError {
    AgentError::Failed(outcome::cut(&format!("the client did not answer: {error}")))
}
