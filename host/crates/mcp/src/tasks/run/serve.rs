//! Runs the call of a task until it ends, is suspended or is left to another process, and stores its state meanwhile.

use crate::calls::live::{ClientEnd, LiveCall};
use crate::client::chunk_record::ChunkRecord;
use crate::client::notification_sender::NotificationSender;
use crate::client::pending::PendingRequest;
use crate::client::stream::ForwardEnd;
use crate::tasks::records::asked::AskedQuestions;
use crate::tasks::records::control::{StopReason, TaskControl, TaskInput, TopUp};
use crate::tasks::records::fuel::CallFuel;
use crate::tasks::records::record::{Suspended, TaskRecord};
use crate::tasks::records::table::TaskId;
use crate::tasks::run::extension::{FuelExtension, QuestionAnswer};
use crate::tasks::run::questions::TaskQuestions;
use crate::tasks::run::recorder::{Recorder, Superseded, TaskProgress};
use crate::tasks::run::sampler::Sampler;
use crate::tasks::run::suspension::Suspension;
use crate::tasks::tasks::LONGEST_SLEEP;
use plugins::calls::FinishedCall;
use runtime::engine::{ComputePoll, poll_compute};
use runtime::imports::{ProgressReport, Steering, SteeringMessage};
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Time between two checks of a call that waits for a permit, or that has to be suspended.
const LOOK: Duration = Duration::from_secs(5);

/// How serving a call ended.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(in crate::tasks) enum Served {
    Ended(FinishedCall, ChunkRecord),
    /// This process stops serving the call, which goes on elsewhere.
    Left,
    /// The call goes on when a request for its task arrives, or later by itself. That is stored; these messages were not read.
    Suspended(Vec<SteeringMessage>),
}

/// What a task knows of the call that it serves.
struct Serving {
    id: TaskId,
    record: TaskRecord,
    questions: TaskQuestions,
    fuel: CallFuel,
    extension: FuelExtension,
    suspension: Suspension,
    progress: Arc<watch::Sender<TaskProgress>>,
}

pub(in crate::tasks) async fn serve(
    recorder: &mut Recorder,
    control: &mut TaskControl,
    live: LiveCall,
    asked: AskedQuestions,
) -> Served {
    let LiveCall { mut call, end: ClientEnd { stream, view, cancel, held, life, fuel, steering }, unasked } = live;
    let chunks = stream.record();
    let (tasks, record, id) = (recorder.tasks.clone(), recorder.record.clone(), recorder.id.clone());
    let (principal, correlation, permits) = (record.principal(), record.correlation.clone(), tasks.permits.clone());
    let fuel = CallFuel::new(fuel, record.fuel.added, permits.clone(), principal.clone(), held.clone());
    let mut messages = steering.as_ref().map(Steering::watch);
    let suspension = Suspension {
        tasks: tasks.clone(),
        principal: principal.clone(),
        view,
        journal: life.journal.clone(),
        steering,
        held: held.clone(),
        permit: None,
        stays_until: 0,
    };
    let sampler = Sampler::new(tasks.clone(), id.clone(), fuel.account(), held.clone());
    let questions = TaskQuestions::new(permits, principal, correlation, held, asked, record.requests());
    let account = fuel.account();
    let (progress, sees) = watch::channel(TaskProgress::new(&record, questions.asked()));
    let progress = Arc::new(progress);
    let extension = FuelExtension::new(chunks.owner().1, record.tool.clone(), tasks.limits.run);
    let mut serving = Serving { id, record, questions, fuel, extension, suspension, progress: progress.clone() };
    serving.tell_if(|now| now.fuel.paused.take().is_some());
    let sender = NotificationSender::Task(Arc::new(move |report| {
        // The same text again counts as a change, too, since there may be more output.
        progress.send_modify(|now| now.message = describe(report));
    }));
    unasked.into_iter().for_each(|ask| serving.ask(ask));
    // Never cancelled, since nobody takes the events over any more.
    let stay = CancellationToken::new();
    let mut forwarding = Some(stream.forward(sender.clone(), stay.clone()));
    let outcome = {
        let mut stored = control.stored.subscribe();
        let mut recording = std::pin::pin!(recorder.follow(sees, &control.stored, account.clone()));
        let mut sampling = std::pin::pin!(sampler.run());
        let mut is_computing = false;
        loop {
            let suspended = serving.review(is_computing);
            let forward = async {
                match forwarding.as_mut() {
                    Some(forwarding) => forwarding.await,
                    None => pending().await,
                }
            };
            let wait = serving.next_look();
            let look = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => pending().await,
                }
            };
            let is_stored = async {
                match suspended {
                    Some((version, _)) => stored.wait_for(|stored| *stored >= version).await.map(drop),
                    None => pending().await,
                }
            };
            let message = async {
                match &mut messages {
                    Some(messages) => messages.changed().await,
                    None => pending().await,
                }
            };
            // A call in the compute pool may be about to ask more questions.
            let run = poll_fn(|cx| match poll_compute(&mut call, cx) {
                ComputePoll::Ready(outcome) => Poll::Ready(Some(outcome)),
                ComputePoll::Waiting if std::mem::take(&mut is_computing) => Poll::Ready(None),
                ComputePoll::Waiting => Poll::Pending,
                ComputePoll::Computing => {
                    is_computing = true;
                    Poll::Pending
                }
            });
            let inputs = &mut control.inputs;
            tokio::select! {
                biased;
                outcome = run => if let Some(outcome) = outcome {
                    break outcome;
                },
                (stream, event) = forward => {
                    forwarding = None;
                    if let ForwardEnd::Asked(ask) = event {
                        serving.ask(ask);
                        forwarding = Some(stream.forward(sender.clone(), stay.clone()));
                    }
                }
                () = serving.fuel.changed() => {}
                () = serving.questions.abandoned() => {}
                answer = serving.extension.answered() => serving.extend(answer),
                Some((input, taken)) = inputs.recv() => {
                    let version = serving.take(input);
                    // A client that went away needs no response.
                    let _ = taken.send(version);
                }
                () = look => {}
                () = message => {}
                () = &mut sampling => {}
                Superseded = &mut recording => {
                    let _ = control.reason.set(StopReason::Superseded);
                    life.journal.leave();
                    return Served::Left;
                }
                () = control.stop.cancelled(), if !cancel.is_cancelled() => {
                    let leaves = match control.reason.get() {
                        Some(StopReason::Superseded) => true,
                        Some(StopReason::Shutdown) => life.journal.unreplayable().is_none(),
                        Some(StopReason::Client | StopReason::Expired) | None => false,
                    };
                    if leaves {
                        life.journal.leave();
                        if !matches!(control.reason.get(), Some(StopReason::Superseded)) {
                            sampler.keep().await;
                        }
                        return Served::Left;
                    }
                    cancel.cancel();
                }
                Ok(()) = is_stored => if !is_computing
                    && let Some((_, suspended)) = suspended
                    && let Some(unread) = serving.suspension.close(suspended)
                {
                    life.journal.leave();
                    sampler.keep().await;
                    return Served::Suspended(unread);
                }
            }
        }
    };
    // Dropping the call closes its queue of events. The last events are stored before the result.
    drop(call);
    if let Some(forwarding) = forwarding {
        forwarding.await;
    }
    sampler.keep().await;
    (recorder.record.fuel.paused, recorder.record.suspended) = (None, None);
    recorder.count_fuel(account.as_ref());
    Served::Ended(outcome, chunks)
}

impl Serving {
    fn now(&self) -> u64 {
        self.suspension.tasks.now()
    }

    fn ask(&mut self, request: PendingRequest) {
        let now = self.now();
        self.questions.ask(request, self.suspension.is_possible_now(&self.fuel), now);
    }

    /// Takes an input. Returns the version of the state that includes it.
    fn take(&mut self, input: TaskInput) -> u64 {
        match input {
            TaskInput::Answers(answers) => {
                self.questions.answer(answers);
                self.tell();
            }
            TaskInput::Outcomes(outcomes) => {
                self.questions.answer_calls(outcomes);
                self.tell();
            }
            TaskInput::TopUp(TopUp { request, units }) => {
                let mut is_new = false;
                self.tell_if(|now| {
                    is_new = now.fuel.add(&request, units);
                    is_new
                });
                if is_new {
                    self.fuel.add(units);
                }
            }
            TaskInput::Stay => self.suspension.stay(self.now()),
            TaskInput::Steer(message) => {
                if let Some(maker) = self.suspension.tasks.maker.get()
                    && let Err(why) = maker.steer(&self.record, message)
                {
                    tracing::warn!(task = &*self.id, "a message to a task is lost: {why}");
                }
            }
        }
        self.progress.borrow().version
    }

    /// Applies the client's answer to the question whether the call may use more fuel.
    fn extend(&mut self, answer: QuestionAnswer) {
        match answer {
            QuestionAnswer::More(number, units) => {
                tracing::info!(task = &*self.id, units, "the client of a task lets it use more fuel");
                self.take(TaskInput::TopUp(TopUp { request: format!("extension {number}"), units }));
                self.tell_if(|now| {
                    now.fuel.extended = number;
                    true
                });
            }
            QuestionAnswer::No => self.fuel.give_up(),
            QuestionAnswer::None => {}
        }
    }

    /// Gives up questions that have timed out, and has every change stored. If the call is to be suspended, returns the version
    /// of the state that says so.
    fn review(&mut self, is_computing: bool) -> Option<(u64, Suspended)> {
        let now = self.now();
        self.fuel.look(&self.id);
        let extended = self.progress.borrow().fuel.extended;
        let asks = self.extension.ask(&self.fuel, extended, self.suspension.view.abilities().form);
        asks.into_iter().for_each(|ask| self.ask(ask));
        self.questions.give_up(now);
        let suspended = self.suspension.due(&mut self.questions, &mut self.fuel, is_computing, now);
        self.tell();
        self.tell_if(|now| {
            let changes = now.suspended != suspended;
            now.suspended = suspended;
            changes
        });
        suspended.map(|suspended| (self.progress.borrow().version, suspended))
    }

    /// Time until the next check is due. A call that waits and holds a permit is checked only when something changes.
    fn next_look(&self) -> Option<Duration> {
        let has_no_room = self.questions.lacks_permit() || self.fuel.lacks_permit() || self.suspension.lacks_permit();
        let expires = self.questions.expires().map(|at| Duration::from_millis(at.saturating_sub(self.now())));
        expires.map(|wait| wait.min(LONGEST_SLEEP)).into_iter().chain(has_no_room.then_some(LOOK)).min()
    }

    /// Publishes what the call waits for, so that it gets stored.
    fn tell(&self) {
        let (requests, calls) = (self.questions.outstanding(), self.questions.outstanding_calls());
        let (asked, paused) = (self.questions.asked(), self.fuel.paused());
        self.tell_if(|now| {
            let waits = now.requests != requests || now.calls != calls || now.fuel.paused.as_ref() != paused;
            let changes = waits || *now.asked != *asked;
            if changes {
                (now.requests, now.calls, now.asked) = (requests, calls, Arc::new(asked.clone()));
                now.fuel.paused = paused.cloned();
            }
            changes
        });
    }

    fn tell_if(&self, change: impl FnOnce(&mut TaskProgress) -> bool) {
        self.progress.send_if_modified(|now| {
            let changes = change(now);
            now.version += u64::from(changes);
            changes
        });
    }
}

/// A report as a line of text.
fn describe(report: ProgressReport) -> Option<String> {
    let ProgressReport { done, total, message } = report;
    match (message, total) {
        (Some(message), _) => Some(message),
        (None, Some(total)) => Some(format!("{done} of {total}")),
        (None, None) => Some(done.to_string()),
    }
}
