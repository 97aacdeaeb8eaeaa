//! A call in progress, apart from the request it is served under. In 2026-07-28 a question ends the request: the call is
//! parked, and a later request goes on with it. In 2025-11-25 the question goes out on the request's own stream.

use super::asking::{Asker, View};
use super::lot::Lot;
use super::pending::{Ask, Pending};
use super::record::Record;
use super::respond;
use super::reverse::{Brought, Hub, Lanes};
use super::stream::{Outlet, Queue, Stream};
use super::wire;
use super::{CALL, STREAM, legacy};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use policy::{Overflow, Principal};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, GetPromptResult, InputResponses, MetaObject, ProtocolVersion, ReadResourceResult};
use rmcp::service::{RequestContext, RoleServer};
use runtime::engine::{Heavy, Progress, progress};
use runtime::imports::{CallSink, ClientCalls, ToolCaller};
use serde_json::Value;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
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

/// A call in progress.
pub(super) struct Live {
    call: BoxFuture<'static, Outcome>,
    /// Whether what it answers is.
    heavy: Heavy,
    stream: Stream,
    view: Arc<View>,
    cancel: CancellationToken,
    /// What is to be asked before anything else.
    next: Vec<Ask>,
}

/// What a call is given to reach its client.
pub(super) struct Reach {
    pub(super) sink: Arc<dyn CallSink>,
    pub(super) client: Arc<dyn ClientCalls>,
    pub(super) agent: Arc<dyn ToolCaller>,
    pub(super) cancel: CancellationToken,
}

/// How long nested calls that still work are given to ask something too, before their request ends without them.
const MOMENT: Duration = Duration::from_millis(100);

/// A call that begins: on whose behalf, and what becomes of its words.
pub(super) struct Begin<'a> {
    pub(super) principal: &'a Principal,
    pub(super) overflow: Overflow,
    pub(super) record: Record,
}

/// How a round ended.
pub(super) enum Round {
    Done(Outcome),
    Asks(Box<Live>, Pending),
}

impl Live {
    /// Begins a call, which `make` makes of what it is given.
    pub(super) fn begin<F>(
        hub: &Hub,
        context: &RequestContext<RoleServer>,
        given: InputResponses,
        brought: Brought,
        begin: Begin<'_>,
        make: F,
    ) -> Self
    where
        F: FnOnce(Reach) -> BoxFuture<'static, Outcome>,
    {
        let (queue, stream) = Queue::new(begin.overflow, begin.record);
        let view = Arc::new(View::default());
        view.turn_to(wire::abilities(context), given, brought);
        let cancel = CancellationToken::new();
        let client = Arc::new(Asker { view: view.clone(), queue: queue.sender() });
        let (principal, stateless) = (begin.principal.clone(), is_stateless(context));
        let agent = Arc::new(Lanes::new(hub, principal, view.clone(), queue.sender(), stateless));
        let call = make(Reach { sink: Arc::new(queue), client, agent, cancel: cancel.clone() });
        let heavy = Heavy::default();
        let watched = heavy.clone();
        let call = Box::pin(async move { watched.run(call).await });
        Self { call, heavy, stream, view, cancel, next: Vec::new() }
    }

    /// `_meta` of what is said of the call before it is done.
    pub(super) fn meta(&self, mut meta: MetaObject) -> MetaObject {
        meta.insert(CALL.to_owned(), Value::from(&**self.stream.record().call()));
        meta
    }

    /// Goes on under another request.
    pub(super) fn resume(
        mut self,
        pending: Pending,
        context: &RequestContext<RoleServer>,
        given: InputResponses,
        brought: Brought,
    ) -> Self {
        self.view.turn_to(wire::abilities(context), given, brought);
        self.next = pending.answer_from(&self.view);
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
        let Live { mut call, heavy, mut stream, view, cancel, next } = self;
        let stateless = is_stateless(context);
        let record = stream.record();
        let outlet = Outlet::of(context, &record);
        let mut over_already = None;
        if !next.is_empty() {
            match gather(&mut call, &mut stream, &outlet, &view, next).await {
                Ok(Some(pending)) => {
                    let live = Live { call, heavy, stream, view, cancel, next: Vec::new() };
                    return Round::Asks(Box::new(live), pending);
                }
                Ok(None) => {}
                Err(outcome) => over_already = Some(outcome),
            }
        }
        let mut asked = FuturesUnordered::<BoxFuture<'_, ()>>::new();
        let mut standing = Weak::new();
        let over = CancellationToken::new();
        let mut forwarding = Some(stream.forward(outlet.clone()));
        let outcome = loop {
            if let Some(outcome) = over_already.take() {
                break outcome;
            }
            let forward = async {
                match forwarding.as_mut() {
                    Some(forwarding) => forwarding.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                outcome = &mut call => break outcome,
                (mut stream, event) = forward => {
                    forwarding = None;
                    match event {
                        Some(ask) if stateless => match gather(&mut call, &mut stream, &outlet, &view, vec![ask]).await {
                            Ok(None) => forwarding = Some(stream.forward(outlet.clone())),
                            Ok(Some(pending)) => {
                                let live = Live { call, heavy, stream, view, cancel, next: Vec::new() };
                                return Round::Asks(Box::new(live), pending);
                            }
                            Err(outcome) => {
                                // What it said last is still to go out.
                                forwarding = Some(stream.forward(outlet.clone()));
                                break outcome;
                            }
                        },
                        Some(ask) => {
                            // However much one call waits for, it stands there once.
                            match standing.upgrade().map_or_else(|| lot.stand(principal).map(Arc::new), Ok) {
                                Ok(stands) => {
                                    standing = Arc::downgrade(&stands);
                                    let (peer, over) = (context.peer.clone(), over.clone());
                                    asked.push(Box::pin(legacy::ask(peer, ask, correlation, over, stands)));
                                }
                                Err(limit) => ask.crowded(limit),
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
        if let (Some(who), Some(answer)) = (heavy.who(), respond::heavy(&context.extensions)) {
            answer.set(who.clone());
        }
        Round::Done(outcome.map(|output| output.with(&record)))
    }
}

/// Everything that a call waits for at this moment, so that it is asked at once; what was said before is out then. It may
/// wait for nothing any more, or end instead.
async fn gather(
    call: &mut BoxFuture<'static, Outcome>,
    stream: &mut Stream,
    outlet: &Outlet,
    view: &View,
    mut asks: Vec<Ask>,
) -> Result<Option<Pending>, Outcome> {
    let mut moment = pin!(tokio::time::sleep(MOMENT));
    while view.is_working(&asks) {
        let event = tokio::select! {
            biased;
            outcome = &mut *call => return Err(outcome),
            event = stream.next() => event,
            () = &mut moment => break,
        };
        let Some(event) = event else { break };
        stream.say(event, outlet, &mut asks).await;
    }
    loop {
        // A nested call may begin only now, and compute for as long as it likes.
        let late = async {
            moment.as_mut().await;
            while !view.is_working(&asks) {
                tokio::time::sleep(MOMENT).await;
            }
        };
        tokio::select! {
            biased;
            ended = rest(call) => if let Some(outcome) = ended {
                return Err(outcome);
            },
            () = late => if let Progress::Done(outcome) = forget_waker(call) {
                return Err(outcome);
            },
        }
        // Room in the queue lets those go on who found it full.
        if !stream.drain(outlet, &mut asks).await {
            return Ok(Pending::of(asks));
        }
    }
}

/// Waits until a call does nothing but wait, so that all it asks at once is in the queue; or until it ends.
async fn rest(call: &mut BoxFuture<'static, Outcome>) -> Option<Outcome> {
    poll_fn(|cx| {
        loop {
            match forget_waker(call) {
                Progress::Done(outcome) => return Poll::Ready(Some(outcome)),
                Progress::Rests => return Poll::Ready(None),
                Progress::Computes => {}
            }
            match progress(call, cx) {
                Progress::Done(outcome) => return Poll::Ready(Some(outcome)),
                Progress::Computes => return Poll::Pending,
                // Since a moment ago; it must not know this task.
                Progress::Rests => {}
            }
        }
    })
    .await
}

/// Polls a call that waits, on behalf of nobody. Its timers and channels know the task of the request that ends now, and
/// would keep that task's memory for as long as the call is parked; whoever goes on with the call polls it again.
fn forget_waker(call: &mut BoxFuture<'static, Outcome>) -> Progress<Outcome> {
    progress(call, &mut Context::from_waker(Waker::noop()))
}

/// Whether a question must end the request (2026-07-28 and later).
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    // Versions are dates, which compare as text.
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}
