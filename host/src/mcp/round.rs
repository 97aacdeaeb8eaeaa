//! A call in progress, apart from the request it is served under. In 2026-07-28 a question ends the request: the call is
//! parked, and a later request goes on with it. In 2025-11-25 the question goes out on the request's own stream.

use super::asking::{Asker, View};
use super::lot::Lot;
use super::record::Record;
use super::stream::{Outlet, Queue, Stream};
use super::wire;
use super::{CALL, STREAM, legacy};
use crate::imports::{Asked, Budgeted, CallSink, ClientCalls, ClientError, Exhaustion, Inquiry, Reply};
use crate::policy::{Overflow, Principal};
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, GetPromptResult, InputRequests, InputResponses, MetaObject, ProtocolVersion, ReadResourceResult,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// The result of a request that may take several rounds.
pub(super) enum Output {
    Tool(CallToolResult),
    Prompt(GetPromptResult),
    Resource(ReadResourceResult),
}

impl Output {
    /// With what became of the chunks; known only when the last of them is out.
    pub(super) fn with(mut self, record: &Record) -> Self {
        if let (Self::Tool(result), Some(chunks)) = (&mut self, record.summary()) {
            result.meta.get_or_insert_default().insert(STREAM.to_owned(), chunks);
        }
        self
    }
}

pub(super) type Outcome = Result<Output, ErrorData>;

/// Questions that wait for the client.
pub(super) struct Pending {
    inquiry: Inquiry,
    answer: oneshot::Sender<Result<Vec<Reply>, ClientError>>,
}

impl Pending {
    pub(super) fn new(inquiry: Inquiry, answer: oneshot::Sender<Result<Vec<Reply>, ClientError>>) -> Self {
        Self { inquiry, answer }
    }

    pub(super) fn patience(&self) -> Duration {
        self.inquiry.patience
    }

    pub(super) fn held(&self) -> u64 {
        self.inquiry.held
    }

    pub(super) fn questions(&self) -> &[(String, Asked)] {
        &self.inquiry.questions
    }

    /// The questions as the protocol has them.
    pub(super) fn requests(&self, correlation: Option<&str>) -> Result<InputRequests, ErrorData> {
        let plugin = &self.inquiry.plugin;
        self.questions()
            .iter()
            .map(|(key, asked)| Ok((key.clone(), wire::request(asked, plugin, correlation)?)))
            .collect()
    }

    /// Lets the guest go on with what a retry brought along.
    pub(super) fn answer_from(self, view: &View) {
        let reply = |(key, asked): &(String, Asked)| match view.take(key) {
            Some(value) => wire::reply(asked, value),
            None => Reply::Missing(format!("there is no answer under the key `{key}`")),
        };
        let replies = self.inquiry.questions.iter().map(reply).collect();
        self.answer(Ok(replies));
    }

    /// Too many wait already.
    pub(super) fn crowded(self, limit: usize) {
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        self.answer(Err(ClientError::Exhausted(Exhaustion { budget: Budgeted::Questions, limit })));
    }

    pub(super) fn answer(self, replies: Result<Vec<Reply>, ClientError>) {
        // A call that ended meanwhile needs no answer.
        let _ = self.answer.send(replies);
    }
}

/// A call in progress.
pub(super) struct Live {
    call: BoxFuture<'static, Outcome>,
    stream: Stream,
    view: Arc<View>,
    cancel: CancellationToken,
}

/// What a call is given to reach its client.
pub(super) struct Reach {
    pub(super) sink: Arc<dyn CallSink>,
    pub(super) client: Arc<dyn ClientCalls>,
    pub(super) cancel: CancellationToken,
}

/// How a round ended.
pub(super) enum Round {
    Done(Outcome),
    Asks(Box<Live>, Pending),
}

impl Live {
    /// Begins a call, which `make` makes of what it is given.
    pub(super) fn begin<F>(
        context: &RequestContext<RoleServer>,
        given: InputResponses,
        overflow: Overflow,
        record: Record,
        make: F,
    ) -> Self
    where
        F: FnOnce(Reach) -> BoxFuture<'static, Outcome>,
    {
        let (queue, stream) = Queue::new(overflow, record);
        let view = Arc::new(View::default());
        view.turn_to(wire::abilities(context), given);
        let cancel = CancellationToken::new();
        let client = Arc::new(Asker { view: view.clone(), queue: queue.sender() });
        let call = make(Reach { sink: Arc::new(queue), client, cancel: cancel.clone() });
        Self { call, stream, view, cancel }
    }

    /// `_meta` of what is said of the call before it is done.
    pub(super) fn meta(&self, mut meta: MetaObject) -> MetaObject {
        meta.insert(CALL.to_owned(), Value::from(&**self.stream.record().call()));
        meta
    }

    /// Goes on under another request.
    pub(super) fn resume(self, pending: Pending, context: &RequestContext<RoleServer>, given: InputResponses) -> Self {
        self.view.turn_to(wire::abilities(context), given);
        pending.answer_from(&self.view);
        self
    }

    /// Serves the call under a request until it is done or, where the protocol wants it so, asks something.
    pub(super) async fn serve(
        self,
        lot: &Arc<Lot>,
        principal: &Principal,
        correlation: Option<&str>,
        context: &RequestContext<RoleServer>,
    ) -> Round {
        let Live { mut call, stream, view, cancel } = self;
        let stateless = is_stateless(context);
        let mut asked = FuturesUnordered::new();
        let record = stream.record();
        let outlet = Outlet::of(context, &record);
        let over = CancellationToken::new();
        let mut forwarding = Some(stream.forward(outlet.clone()));
        let outcome = loop {
            let forward = async {
                match forwarding.as_mut() {
                    Some(forwarding) => forwarding.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                outcome = &mut call => break outcome,
                (stream, event) = forward => {
                    forwarding = None;
                    match event {
                        Some(pending) if stateless => {
                            if let Some(outcome) = forget_waker(&mut call) {
                                break outcome;
                            }
                            return Round::Asks(Box::new(Live { call, stream, view, cancel }), pending);
                        }
                        Some(pending) => {
                            match lot.stand(principal) {
                                Ok(standing) => {
                                    let (peer, over) = (context.peer.clone(), over.clone());
                                    asked.push(legacy::ask(peer, pending, correlation, over, standing));
                                }
                                Err(limit) => pending.crowded(limit),
                            }
                            forwarding = Some(stream.forward(outlet.clone()));
                        }
                        // Nobody reads any more; the call ends by itself.
                        None => {}
                    }
                }
                Some(()) = asked.next() => {}
                () = context.ct.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            }
        };
        // A call that was cancelled while it waited leaves its questions open.
        over.cancel();
        while asked.next().await.is_some() {}
        // The queue closes with the call; what is in it goes out before the result.
        drop(call);
        if let Some(forwarding) = forwarding {
            context.ct.run_until_cancelled(forwarding).await;
        }
        Round::Done(outcome.map(|output| output.with(&record)))
    }
}

/// Polls a call that waits, on behalf of nobody. Its timers and channels know the task of the request that ends now, and
/// would keep that task's memory for as long as the call is parked; whoever goes on with the call polls it again.
fn forget_waker(call: &mut BoxFuture<'static, Outcome>) -> Option<Outcome> {
    match call.poll_unpin(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(outcome) => Some(outcome),
        Poll::Pending => None,
    }
}

/// Whether a question must end the request (2026-07-28 and later).
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    // Versions are dates, which compare as text.
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
