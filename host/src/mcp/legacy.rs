//! Questions to clients of 2025-11-25: requests on the stream of the request they belong to.

use super::round::Pending;
use super::wire;
use crate::imports::{Asked, ClientError, Reply};
use futures::future::join_all;
use rmcp::model::{ClientResult, ErrorCode, InputRequest, ServerRequest};
use rmcp::service::{Peer, RoleServer, ServiceError};

/// Asks and lets the guest go on.
pub(super) async fn ask(peer: Peer<RoleServer>, pending: Pending) {
    let patience = pending.patience();
    let replies = match pending.requests(None) {
        Err(error) => Err(ClientError::Failed(error.message.into_owned())),
        Ok(mut requests) => {
            let asking = pending.questions().iter().map(|(key, asked)| one(&peer, asked, requests.remove(key)));
            let asking = join_all(asking.collect::<Vec<_>>());
            match tokio::time::timeout(patience, asking).await {
                Ok(replies) => Ok(replies),
                Err(_) => Err(ClientError::Timeout(u64::try_from(patience.as_millis()).unwrap_or(u64::MAX))),
            }
        }
    };
    pending.answer(replies);
}

async fn one(peer: &Peer<RoleServer>, asked: &Asked, request: Option<InputRequest>) -> Reply {
    let request = match request {
        Some(InputRequest::CreateMessage(request)) => ServerRequest::CreateMessageRequest(request),
        Some(InputRequest::Elicitation(request)) => ServerRequest::ElicitRequest(request),
        Some(InputRequest::ListRoots(request)) => ServerRequest::ListRootsRequest(request),
        _ => return Reply::Failed("the question cannot be put to this client".into()),
    };
    match peer.send_request(request).await {
        Ok(result) => match serde_json::to_value::<ClientResult>(result) {
            Ok(value) => wire::reply(asked, value),
            Err(error) => Reply::Failed(error.to_string()),
        },
        // Clients say so when a person refuses a request to their model.
        Err(ServiceError::McpError(error)) if error.code != ErrorCode::METHOD_NOT_FOUND => {
            Reply::Refused(error.message.into_owned())
        }
        Err(error) => Reply::Failed(format!("the client did not answer: {error}")),
    }
}
