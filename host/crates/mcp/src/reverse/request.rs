//! Lane `request`: the server sends the call as a request on the stream of the request that it belongs to (2025-11-25).

use super::outcome;
use crate::client::pending::PendingReverseCall;
use protocol::names::REVERSE_CALL_METHOD;
use rmcp::model::{ClientResult, CustomRequest, ErrorCode, ErrorData, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer, ServiceError};
use runtime::imports::AgentError;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Sends a call and delivers its answer to the guest. The request is cancelled if the call times out or `ended` is set.
pub(crate) async fn send(peer: Peer<RoleServer>, mut call: PendingReverseCall, ended: CancellationToken) {
    let request = CustomRequest::new(REVERSE_CALL_METHOD, Some(call.fields.take()));
    let options = PeerRequestOptions::no_options();
    let sent = peer.send_cancellable_request(ServerRequest::CustomRequest(request), options).await;
    let mut request = match sent {
        Ok(request) => request,
        Err(error) => return call.answer(Err(transport_error(error))),
    };
    let answer = tokio::select! {
        biased;
        answer = &mut request.rx => answer.unwrap_or(Err(ServiceError::TransportClosed)),
        () = abandoned(&mut call, &ended) => {
            // Fails only if the client is gone.
            let _ = request.cancel(Some("the call does not wait for the answer any more".into())).await;
            return call.answer(Err(AgentError::Cancelled));
        }
    };
    call.answer(match answer {
        Ok(result) => to_value(result),
        Err(ServiceError::McpError(error)) => to_outcome(error),
        Err(error) => Err(transport_error(error)),
    });
}

/// Returns when the call has stopped waiting for the answer, or `ended` is cancelled.
async fn abandoned(call: &mut PendingReverseCall, ended: &CancellationToken) {
    tokio::select! {
        () = call.answer.closed() => {}
        () = ended.cancelled() => {}
    }
}

fn to_value(result: ClientResult) -> Result<Value, AgentError> {
    serde_json::to_value(result).map_err(|error| AgentError::Failed(error.to_string()))
}

/// Converts a JSON-RPC error into the form of the extension.
fn to_outcome(error: ErrorData) -> Result<Value, AgentError> {
    if error.code == ErrorCode::METHOD_NOT_FOUND {
        let text = format!("the client declared tools, but does not implement `{REVERSE_CALL_METHOD}`");
        return Err(AgentError::NotSupported(text));
    }
    let code = error.data.as_ref().and_then(|data| data["code"].as_str()).unwrap_or("failed");
    Ok(json!({ "error": { "code": code, "message": error.message } }))
}

fn transport_error(error: ServiceError) -> AgentError {
    AgentError::Failed(outcome::truncate(&format!("the client did not answer: {error}")))
}
