//! Questions to clients of 2025-11-25: requests of the server on the stream of the request they belong to.

use super::call_keeper::CallKeeper;
use super::wait_permits::{WaitPermit, WaitPermits};
use crate::client::pending::{PendingQuestions, PendingRequest};
use crate::resumable_stream::QuestionId;
use crate::reverse::request;
use futures::StreamExt as _;
use futures::future::{BoxFuture, join_all};
use futures::stream::FuturesUnordered;
use platform::random::random_text;
use policy::Principal;
use protocol::questions;
use rmcp::model::{ClientResult, ElicitRequestParams, ErrorCode, GetExtensions as _, InputRequest, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer, ServiceError};
use runtime::engine::HeldResources;
use runtime::imports::{CheckedQuestion, ClientError, ClientReply};
use std::pin::pin;
use std::sync::{Arc, Weak};
use tokio_util::sync::CancellationToken;

/// The questions that a call has asked on the stream of its request.
pub(super) struct StreamQuestions<'a> {
    peer: Peer<RoleServer>,
    correlation: Option<&'a str>,
    permits: &'a Arc<WaitPermits>,
    principal: &'a Principal,
    held: HeldResources,
    /// A call needs one permit, however many requests it waits for.
    permit: Weak<WaitPermit>,
    over: CancellationToken,
    /// Stores the call while it waits; none if its stream ends with the process.
    keeper: Option<CallKeeper>,
    /// Each future returns the ids of its questions when it ends.
    asked: FuturesUnordered<BoxFuture<'a, Vec<i64>>>,
}

impl<'a> StreamQuestions<'a> {
    pub(super) fn new(
        peer: Peer<RoleServer>,
        correlation: Option<&'a str>,
        permits: &'a Arc<WaitPermits>,
        principal: &'a Principal,
        held: HeldResources,
        keeper: Option<CallKeeper>,
    ) -> Self {
        let (over, asked) = (CancellationToken::new(), FuturesUnordered::new());
        Self { peer, correlation, permits, principal, held, permit: Weak::new(), over, keeper, asked }
    }

    pub(super) fn ask(&mut self, request: PendingRequest) {
        match self
            .permit
            .upgrade()
            .map_or_else(|| self.permits.acquire(self.principal, self.held.now()).map(Arc::new), Ok)
        {
            Ok(held) => {
                self.permit = Arc::downgrade(&held);
                let ids = match (&request, &mut self.keeper) {
                    (PendingRequest::Questions(questions), Some(keeper)) => keeper.ask(questions),
                    _ => Vec::new(),
                };
                let asking = ask(self.peer.clone(), request, ids, self.correlation, self.over.clone(), held);
                self.asked.push(Box::pin(asking));
            }
            Err(limit) => request.refuse_over_limit(limit),
        }
    }

    /// Whether the client has answered everything.
    pub(super) fn is_idle(&self) -> bool {
        self.asked.is_empty()
    }

    /// Waits until one of the requests ends. None if there is none.
    pub(super) async fn next(&mut self) -> Option<()> {
        let ids = self.asked.next().await?;
        if let Some(keeper) = &mut self.keeper {
            keeper.end(&ids);
        }
        Some(())
    }

    /// Withdraws the questions that a call still waits for when it is over.
    pub(super) async fn withdraw(mut self) {
        self.over.cancel();
        while self.asked.next().await.is_some() {}
    }
}

/// Asks the client and passes its answer on. Questions that are not answered in time, or before the call is `over`, are
/// withdrawn, so that no client keeps showing them. If the call is stored, `ids` are the ids of the questions.
async fn ask(
    peer: Peer<RoleServer>,
    ask: PendingRequest,
    ids: Vec<i64>,
    correlation: Option<&str>,
    over: CancellationToken,
    permit: Arc<WaitPermit>,
) -> Vec<i64> {
    match ask {
        PendingRequest::Questions(questions) => ask_questions(peer, questions, &ids, correlation, over).await,
        PendingRequest::ReverseCall(call) => request::send(peer, call, over).await,
    }
    drop(permit);
    ids
}

async fn ask_questions(
    peer: Peer<RoleServer>,
    pending: PendingQuestions,
    ids: &[i64],
    correlation: Option<&str>,
    over: CancellationToken,
) {
    let timeout = pending.timeout();
    let replies = match pending.requests(correlation) {
        Err(error) => Err(ClientError::Failed(error.message.into_owned())),
        Ok(mut requests) => {
            let void = over.child_token();
            let asking = pending.questions().iter().enumerate().map(|(at, (key, question))| {
                let id = ids.get(at).copied().map(QuestionId);
                ask_one(&peer, question, requests.remove(key), id, &void)
            });
            let mut asking = pin!(join_all(asking.collect::<Vec<_>>()));
            match tokio::time::timeout(timeout, &mut asking).await {
                Ok(_) if over.is_cancelled() => Err(ClientError::Cancelled),
                Ok(replies) => Ok(replies),
                Err(_) => {
                    void.cancel();
                    asking.await;
                    Err(ClientError::Timeout(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)))
                }
            }
        }
    };
    pending.answer(replies);
}

async fn ask_one(
    peer: &Peer<RoleServer>,
    question: &CheckedQuestion,
    request: Option<InputRequest>,
    id: Option<QuestionId>,
    void: &CancellationToken,
) -> ClientReply {
    let failed = |error: ServiceError| ClientReply::Failed(format!("the client did not answer: {error}"));
    let mut request = match request.ok_or("it is missing".to_owned()).and_then(server_request) {
        Ok(request) => request,
        Err(reason) => return ClientReply::Failed(format!("the question cannot be sent to this client: {reason}")),
    };
    if let Some(id) = id {
        request.extensions_mut().insert(id);
    }
    let mut sent = match peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await {
        Ok(sent) => sent,
        Err(error) => return failed(error),
    };
    let answered = tokio::select! {
        biased;
        answered = &mut sent.rx => answered.unwrap_or(Err(ServiceError::TransportClosed)),
        () = void.cancelled() => {
            // Fails if the client is gone.
            let _ = sent.cancel(Some("the answer is no longer needed".into())).await;
            return ClientReply::Failed("withdrawn".into());
        }
    };
    match answered {
        Ok(result) => match serde_json::to_value::<ClientResult>(result) {
            Ok(value) => questions::reply_from_json(question, value),
            Err(error) => ClientReply::Failed(error.to_string()),
        },
        // Clients answer with an error when a person refuses a request to their model.
        Err(ServiceError::McpError(error)) if error.code != ErrorCode::METHOD_NOT_FOUND => {
            ClientReply::Refused(error.message.into_owned())
        }
        Err(error) => failed(error),
    }
}

/// Makes the request of this protocol version for a question.
fn server_request(request: InputRequest) -> Result<ServerRequest, String> {
    Ok(match request {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::Elicitation(mut request) => {
            if let ElicitRequestParams::UrlElicitationParams { elicitation_id, .. } = &mut request.params {
                // This revision requires an id, which the next one dropped.
                *elicitation_id = random_text::<16>().map_err(|error| error.to_string())?;
            }
            ServerRequest::ElicitRequest(request)
        }
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return Err("it is of a kind that this revision does not have".into()),
    })
}
