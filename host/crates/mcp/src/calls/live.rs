//! A call in progress, which may outlive the request that began it. In 2026-07-28 a question ends the request: the call
//! is parked, and a later request resumes it. In 2025-11-25 the question is sent on the stream of the request. A call that
//! takes long may leave its request and go on as a task.

use super::call_keeper::CallKeeper;
use super::legacy_questions::StreamQuestions;
use super::parked_records::StoredCall;
use super::wait_permits::WaitPermits;
use crate::client::asker::QueuedClient;
use crate::client::chunk_record::ChunkRecord;
use crate::client::notification_sender::NotificationSender;
use crate::client::pending::{PendingRequest, PendingRequests};
use crate::client::served_request::ServedRequest;
use crate::client::stream::{EventQueue, EventStream, ForwardEnd};
use crate::client::view::{RequestInput, RequestView};
use crate::reverse::{LaneResources, LaneRouter};
use futures::future::BoxFuture;
use plugins::calls::FinishedCall;
use policy::{Overflow, Principal};
use protocol::names::CALL_META;
use rmcp::model::MetaObject;
use runtime::engine::{ComputePoll, FuelAccount, Held, HeldResources, poll_compute};
use runtime::imports::{ClientLink, Steering};
use runtime::journal::CallJournal;
use serde_json::Value;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub(crate) struct LiveCall {
    pub(crate) call: BoxFuture<'static, FinishedCall>,
    pub(crate) end: ClientEnd,
    /// Requests that earlier rounds have left. They are asked first.
    pub(crate) unasked: Vec<PendingRequest>,
}

/// The client's end of a call's link: a request of the client or a task serves the call with it.
pub(crate) struct ClientEnd {
    pub(crate) stream: EventStream,
    pub(crate) view: Arc<RequestView>,
    pub(crate) cancel: CancellationToken,
    pub(crate) held: HeldResources,
    pub(crate) life: CallLife,
    /// The fuel account of a call that may become a task.
    pub(crate) fuel: Option<FuelAccount>,
    /// The queue of its messages; none if its plugin does not read them.
    pub(crate) steering: Option<Steering>,
}

/// The parts of a call that outlive its instance.
#[derive(Default)]
pub(crate) struct CallLife {
    pub(crate) journal: CallJournal,
    /// Its record in the store, while it is parked.
    pub(crate) stored: Option<StoredCall>,
}

impl ClientEnd {
    /// Makes both ends of the link of a call that begins.
    pub(crate) fn link(
        lanes: &LaneResources,
        principal: &Principal,
        stateless: bool,
        overflow: Overflow,
        record: ChunkRecord,
        input: RequestInput,
        (journal, fuel, steering): (CallJournal, Option<FuelAccount>, Option<Steering>),
    ) -> (ClientLink, Self) {
        let life = CallLife { journal, stored: None };
        let (queue, stream) = EventQueue::new(overflow, record);
        let view = Arc::new(RequestView::new(input));
        let (cancel, held) = (CancellationToken::new(), HeldResources::default());
        let link = ClientLink {
            client: Arc::new(QueuedClient { view: view.clone(), queue: queue.sender() }),
            agent: Arc::new(LaneRouter::new(lanes, principal.clone(), view.clone(), queue.sender(), stateless)),
            sink: Arc::new(queue),
            steering: steering.clone(),
            cancel: cancel.clone(),
            held: held.clone(),
            fuel: fuel.clone(),
        };
        (link, Self { stream, view, cancel, held, life, fuel, steering })
    }
}

/// How a round ended.
#[allow(clippy::large_enum_variant, reason = "most rounds end a call, which a box would cost an allocation")]
pub(crate) enum RoundEnd<T> {
    /// The record is complete.
    Done(FinishedCall, ChunkRecord),
    Waiting(Box<LiveCall>, PendingRequests),
    /// The call goes on where the `leave` future said.
    Left(Box<LiveCall>, T),
}

/// Resolves when a call is to leave the request that serves it: to the value that takes the call over, or to none if the call
/// has to stay.
pub(crate) type Leave<T> = BoxFuture<'static, Option<T>>;

/// How long a round that asks something waits for nested calls that still compute, so that their questions are asked
/// too.
const NESTED_GRACE: Duration = Duration::from_millis(100);

impl LiveCall {
    pub(crate) fn new(call: BoxFuture<'static, FinishedCall>, end: ClientEnd) -> Self {
        Self { call, end, unasked: Vec::new() }
    }

    /// What the call and those nested in it hold while it waits.
    pub(crate) fn held(&self) -> Held {
        self.end.held.now()
    }

    pub(crate) fn life(&mut self) -> &mut CallLife {
        &mut self.end.life
    }

    /// The record of what it has sent.
    pub(crate) fn record(&self) -> ChunkRecord {
        self.end.stream.record()
    }

    /// Extends the `_meta` of a result that ends a round before the call is done.
    pub(crate) fn extend_meta(&self, mut meta: MetaObject) -> MetaObject {
        meta.insert(CALL_META.to_owned(), Value::from(&**self.end.stream.record().call_id()));
        meta
    }

    /// Continues the call under another request, which brings answers to what was pending.
    pub(crate) fn resume(mut self, pending: PendingRequests, input: RequestInput) -> Self {
        self.end.view.set_request(input);
        self.unasked = pending.answer_from(&self.end.view);
        self
    }

    /// Serves the call under a request until it is done, asks something that ends the request, or leaves the request.
    pub(crate) async fn serve<T>(
        self,
        permits: &Arc<WaitPermits>,
        principal: &Principal,
        correlation: Option<&str>,
        request: ServedRequest,
        keeper: Option<CallKeeper>,
        mut leave: Option<Leave<T>>,
    ) -> RoundEnd<T> {
        let LiveCall { mut call, end: ClientEnd { mut stream, view, cancel, held, life, fuel, steering }, unasked } =
            self;
        let park = |call, stream, view, cancel, held, life, pending| {
            let end = ClientEnd { stream, view, cancel, held, life, fuel: fuel.clone(), steering: steering.clone() };
            RoundEnd::Waiting(Box::new(LiveCall::new(call, end)), pending)
        };
        let ServedRequest { notifications, questions, cancel: gone, .. } = request;
        let record = stream.record();
        let sender = NotificationSender::new(notifications, record.call_id());
        let mut early_outcome = None;
        if !unasked.is_empty() {
            match collect_requests(&mut call, &mut stream, &sender, &view, unasked).await {
                Ok(Some(pending)) => return park(call, stream, view, cancel, held, life, pending),
                Ok(None) => {}
                Err(outcome) => early_outcome = Some(outcome),
            }
        }
        let ask_with = |peer| StreamQuestions::new(peer, correlation, permits, principal, held.clone(), keeper);
        let mut asked = questions.map(ask_with);
        let leaving = CancellationToken::new();
        let forward_rest = |stream: EventStream| Some(stream.forward(sender.clone(), leaving.clone()));
        let mut forwarding = forward_rest(stream);
        let outcome = loop {
            if let Some(outcome) = early_outcome.take() {
                break outcome;
            }
            let may_leave = forwarding.is_some() && asked.as_ref().is_none_or(StreamQuestions::is_idle);
            let forward = async {
                match forwarding.as_mut() {
                    Some(forwarding) => forwarding.await,
                    None => std::future::pending().await,
                }
            };
            let left = async {
                match leave.as_mut().filter(|_| may_leave) {
                    Some(leave) => leave.await,
                    None => std::future::pending().await,
                }
            };
            let answered = async { asked.as_mut()?.next().await };
            tokio::select! {
                biased;
                outcome = &mut call => break outcome,
                (mut stream, event) = forward => {
                    forwarding = None;
                    match (event, &mut asked) {
                        (ForwardEnd::Asked(ask), None) => {
                            let asks = vec![ask];
                            match collect_requests(&mut call, &mut stream, &sender, &view, asks).await {
                                Ok(None) => forwarding = forward_rest(stream),
                                Ok(Some(pending)) => return park(call, stream, view, cancel, held, life, pending),
                                Err(outcome) => {
                                    // The last events of the call are still to be sent.
                                    forwarding = forward_rest(stream);
                                    break outcome;
                                }
                            }
                        }
                        (ForwardEnd::Asked(ask), Some(asked)) => {
                            asked.ask(ask);
                            forwarding = forward_rest(stream);
                        }
                        // The client is gone; the call ends by itself.
                        (ForwardEnd::Over | ForwardEnd::Left, _) => {}
                    }
                }
                to = left => {
                    leave = None;
                    // If the client is gone, nobody would learn of the task.
                    let Some(to) = to.filter(|_| !gone.is_cancelled()) else { continue };
                    let Some(mut forwarding) = forwarding.take() else { continue };
                    leaving.cancel();
                    // The call must not wait for a client that reads slowly.
                    let mut ended = None;
                    let (stream, event) = tokio::select! {
                        biased;
                        outcome = &mut call => {
                            ended = Some(outcome);
                            forwarding.await
                        }
                        event = &mut forwarding => event,
                    };
                    let unasked = match event {
                        ForwardEnd::Asked(ask) => vec![ask],
                        ForwardEnd::Left => Vec::new(),
                        ForwardEnd::Over => match ended {
                            Some(outcome) => break outcome,
                            None => continue,
                        },
                    };
                    let call = ended.map_or(call, |outcome| Box::pin(std::future::ready(outcome)));
                    let end = ClientEnd { stream, view, cancel, held, life, fuel: fuel.clone(), steering: steering.clone() };
                    return RoundEnd::Left(Box::new(LiveCall { call, end, unasked }), to);
                }
                Some(()) = answered => {}
                () = gone.cancelled(), if !cancel.is_cancelled() => cancel.cancel(),
            }
        };
        if let Some(asked) = asked {
            asked.withdraw().await;
        }
        // Dropping the call closes the queue; its last events are sent before the result.
        drop(call);
        if let Some(forwarding) = forwarding {
            gone.run_until_cancelled(forwarding).await;
        }
        RoundEnd::Done(outcome, record)
    }
}

/// Collects everything that a call waits for at this moment, so that one round asks for all of it. Sends the events that were
/// emitted before. None if the call waits for nothing any more; the error is the outcome of a call that has ended.
async fn collect_requests(
    call: &mut BoxFuture<'static, FinishedCall>,
    stream: &mut EventStream,
    sender: &NotificationSender,
    view: &RequestView,
    mut asks: Vec<PendingRequest>,
) -> Result<Option<PendingRequests>, FinishedCall> {
    let mut grace = pin!(tokio::time::sleep(NESTED_GRACE));
    while view.is_working(count_questions(&asks)) {
        let event = tokio::select! {
            biased;
            outcome = &mut *call => return Err(outcome),
            event = stream.next() => event,
            () = &mut grace => break,
        };
        let Some(event) = event else { break };
        stream.send_or_collect(event, sender, &mut asks).await;
    }
    loop {
        // A nested call that begins only now may compute for any time.
        let late = async {
            grace.as_mut().await;
            while !view.is_working(count_questions(&asks)) {
                tokio::time::sleep(NESTED_GRACE).await;
            }
        };
        tokio::select! {
            biased;
            ended = run_until_waiting(call) => if let Some(outcome) = ended {
                return Err(outcome);
            },
            () = late => if let ComputePoll::Ready(outcome) = forget_waker(call) {
                return Err(outcome);
            },
        }
        // Draining a full queue lets guests continue that were blocked by it.
        if !stream.drain(sender, &mut asks).await {
            return Ok(PendingRequests::from_requests(asks));
        }
    }
}

/// Runs a call until it only waits, so that everything it asks at once is in the queue, or until it ends.
async fn run_until_waiting(call: &mut BoxFuture<'static, FinishedCall>) -> Option<FinishedCall> {
    poll_fn(|cx| {
        loop {
            match forget_waker(call) {
                ComputePoll::Ready(outcome) => return Poll::Ready(Some(outcome)),
                ComputePoll::Waiting => return Poll::Ready(None),
                ComputePoll::Computing => {}
            }
            match poll_compute(call, cx) {
                ComputePoll::Ready(outcome) => return Poll::Ready(Some(outcome)),
                ComputePoll::Computing => return Poll::Pending,
                // The call began to wait just now; poll it again, so that it drops the waker of this task.
                ComputePoll::Waiting => {}
            }
        }
    })
    .await
}

/// Polls a waiting call with a waker that does nothing. Its timers and channels hold the waker of the task of the
/// request that ends now, and would keep that task's memory while the call is parked. The request that resumes the call
/// polls it again.
fn forget_waker(call: &mut BoxFuture<'static, FinishedCall>) -> ComputePoll<FinishedCall> {
    poll_compute(call, &mut Context::from_waker(Waker::noop()))
}

fn count_questions(asks: &[PendingRequest]) -> usize {
    asks.iter().filter(|ask| matches!(ask, PendingRequest::Questions(_))).count()
}
