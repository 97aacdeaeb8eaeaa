//! Questions to clients of 2025-11-25: requests on the stream of the request they belong to.

use super::lot::Standing;
use super::pending::{Ask, Questions};
use super::reverse::request;
use super::seal::random;
use super::wire;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use futures::future::join_all;
use rmcp::model::{ClientResult, ElicitRequestParams, ErrorCode, InputRequest, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer, ServiceError};
use runtime::imports::{Asked, ClientError, Reply};
use std::pin::pin;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Asks and lets the guest go on. Questions that nobody answers in time, or before the call is `over`, are withdrawn, so
/// that no client keeps showing them.
pub(super) async fn ask(
    peer: Peer<RoleServer>,
    ask: Ask,
    correlation: Option<&str>,
    over: CancellationToken,
    standing: Arc<Standing>,
) {
    match ask {
        Ask::Questions(questions) => put(peer, questions, correlation, over).await,
        Ask::Call(call) => request::ask(peer, call, over).await,
    }
    drop(standing);
}

async fn put(peer: Peer<RoleServer>, pending: Questions, correlation: Option<&str>, over: CancellationToken) {
    let patience = pending.patience();
    let replies = match pending.requests(correlation) {
        Err(error) => Err(ClientError::Failed(error.message.into_owned())),
        Ok(mut requests) => {
            let void = over.child_token();
            let asking = pending.questions().iter().map(|(key, asked)| one(&peer, asked, requests.remove(key), &void));
            let mut asking = pin!(join_all(asking.collect::<Vec<_>>()));
            match tokio::time::timeout(patience, &mut asking).await {
                Ok(_) if over.is_cancelled() => Err(ClientError::Cancelled),
                Ok(replies) => Ok(replies),
                Err(_) => {
                    void.cancel();
                    asking.await;
                    Err(ClientError::Timeout(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX)))
                }
            }
        }
    };
    pending.answer(replies);
}

async fn one(peer: &Peer<RoleServer>, asked: &Asked, request: Option<InputRequest>, void: &CancellationToken) -> Reply {
    let failed = |error: ServiceError| Reply::Failed(format!("the client did not answer: {error}"));
    let request = match request.ok_or("it is missing".to_owned()).and_then(server_request) {
        Ok(request) => request,
        Err(reason) => return Reply::Failed(format!("the question cannot be put to this client: {reason}")),
    };
    let mut question = match peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await {
        Ok(question) => question,
        Err(error) => return failed(error),
    };
    let answered = tokio::select! {
        biased;
        answered = &mut question.rx => answered.unwrap_or(Err(ServiceError::TransportClosed)),
        () = void.cancelled() => {
            // A client that is gone need not be told.
            let _ = question.cancel(Some("nobody waits for the answer any more".into())).await;
            return Reply::Failed("withdrawn".into());
        }
    };
    match answered {
        Ok(result) => match serde_json::to_value::<ClientResult>(result) {
            Ok(value) => wire::reply(asked, value),
            Err(error) => Reply::Failed(error.to_string()),
        },
        // Clients say so when a person refuses a request to their model.
        Err(ServiceError::McpError(error)) if error.code != ErrorCode::METHOD_NOT_FOUND => {
            Reply::Refused(error.message.into_owned())
        }
        Err(error) => failed(error),
    }
}

/// The question as this revision has it.
fn server_request(request: InputRequest) -> Result<ServerRequest, String> {
    Ok(match request {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::Elicitation(mut request) => {
            if let ElicitRequestParams::UrlElicitationParams { elicitation_id, .. } = &mut request.params {
                // Pages have names here, which the next revision has done away with.
                let id = random::<16>().map_err(|error| error.to_string())?;
                *elicitation_id = URL_SAFE_NO_PAD.encode(id);
            }
            ServerRequest::ElicitRequest(request)
        }
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return Err("it is of a kind that this revision does not have".into()),
    })
}
