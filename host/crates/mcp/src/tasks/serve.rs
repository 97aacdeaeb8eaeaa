//! Runs the call of a task until it is done, or is left to another process, and stores meanwhile how it stands.

use super::asked::AskedQuestions;
use super::control::{StopReason, TaskControl, TaskInput, TopUp};
use super::fuel::CallFuel;
use super::questions::{LOOK, TaskQuestions};
use super::record::TaskRecord;
use super::recorder::{Recorder, Superseded, TaskProgress};
use crate::calls::live::{ClientEnd, LiveCall};
use crate::client::chunk_record::ChunkRecord;
use crate::client::notification_sender::NotificationSender;
use crate::client::stream::ForwardEnd;
use plugins::calls::FinishedCall;
use runtime::imports::ProgressReport;
use std::future::pending;
use std::sync::Arc;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How serving a call ended.
#[allow(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(super) enum Served {
    Ended(FinishedCall, ChunkRecord),
    /// The call goes on elsewhere, or later.
    Left,
}

pub(super) async fn serve(
    recorder: &mut Recorder,
    control: &mut TaskControl,
    live: LiveCall,
    asked: AskedQuestions,
) -> Served {
    let LiveCall { mut call, end: ClientEnd { stream, view: _, cancel, held, life, fuel }, unasked } = live;
    let (tasks, chunks) = (recorder.tasks.clone(), stream.record());
    let TaskRecord { message, fuel: mut given, .. } = recorder.record.clone();
    let mut fuel = CallFuel::new(fuel, given.added, tasks.permits.clone(), recorder.record.principal(), held.clone());
    let (account, id) = (fuel.account(), recorder.id.clone());
    // Whether it waits in this process shows when it has run up to there.
    let was_paused = given.paused.take().is_some();
    let earlier = TaskProgress { message, fuel: given, ..TaskProgress::default() };
    let (progress, sees) = watch::channel(earlier);
    if was_paused {
        progress.send_modify(|now| now.version += 1);
    }
    let progress = Arc::new(progress);
    let reports = progress.clone();
    let sender = NotificationSender::Task(Arc::new(move |report| {
        let message = describe(report);
        reports.send_if_modified(|now| {
            now.message != message && {
                now.message = message;
                true
            }
        });
    }));
    let (principal, correlation) = (recorder.record.principal(), recorder.record.correlation.clone());
    let mut questions = TaskQuestions::new(tasks.permits.clone(), principal, correlation, held, asked);
    let ask_changed = |questions: &TaskQuestions| {
        let requests = questions.outstanding();
        progress.send_if_modified(|now| {
            (now.requests != requests || *now.asked != *questions.asked()) && {
                now.requests = requests;
                now.asked = Arc::new(questions.asked().clone());
                now.version += 1;
                true
            }
        });
    };
    for ask in unasked {
        questions.ask(ask, tasks.clock.now());
    }
    ask_changed(&questions);
    // Nobody takes the events over any more.
    let stay = CancellationToken::new();
    let mut forwarding = Some(stream.forward(sender.clone(), stay.clone()));
    let outcome = {
        let mut recording = std::pin::pin!(recorder.follow(sees, &control.stored, account.clone()));
        loop {
            let forward = async {
                match forwarding.as_mut() {
                    Some(forwarding) => forwarding.await,
                    None => pending().await,
                }
            };
            let wait =
                questions.expires().map(|expires| expires.saturating_duration_since(tasks.clock.now()).min(LOOK));
            let give_up = async {
                match wait {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => pending().await,
                }
            };
            tokio::select! {
                biased;
                outcome = &mut call => break outcome,
                (stream, event) = forward => {
                    forwarding = None;
                    if let ForwardEnd::Asked(ask) = event {
                        questions.ask(ask, tasks.clock.now());
                        forwarding = Some(stream.forward(sender.clone(), stay.clone()));
                    }
                }
                () = fuel.changed() => {
                    let paused = fuel.waits_for(&id);
                    progress.send_if_modified(|now| {
                        now.fuel.paused != paused && {
                            now.fuel.paused = paused;
                            now.version += 1;
                            true
                        }
                    });
                    continue;
                }
                Some((input, taken)) = control.inputs.recv() => {
                    match input {
                        TaskInput::Answers(answers) => {
                            questions.answer(answers);
                            ask_changed(&questions);
                        }
                        TaskInput::TopUp(TopUp { request, units }) => {
                            progress.send_if_modified(|now| {
                                now.fuel.add(&request, units) && {
                                    fuel.add(units);
                                    now.version += 1;
                                    true
                                }
                            });
                        }
                    }
                    let version = progress.borrow().version;
                    // A client that went away needs none.
                    let _ = taken.send(version);
                    continue;
                }
                () = give_up => questions.give_up(tasks.clock.now()),
                Superseded = &mut recording => {
                    let _ = control.reason.set(StopReason::Superseded);
                    life.journal.set_suspended(true);
                    return Served::Left;
                }
                () = control.stop.cancelled(), if !cancel.is_cancelled() => {
                    let leaves = match control.reason.get() {
                        Some(StopReason::Superseded) => true,
                        Some(StopReason::Shutdown) => life.journal.unreplayable().is_none(),
                        Some(StopReason::Client | StopReason::Expired) | None => false,
                    };
                    if leaves {
                        life.journal.set_suspended(true);
                        return Served::Left;
                    }
                    cancel.cancel();
                }
            }
            ask_changed(&questions);
        }
    };
    // Dropping the call closes the queue; its last events are stored before the result.
    drop(call);
    if let Some(forwarding) = forwarding {
        forwarding.await;
    }
    recorder.record.fuel.paused = None;
    recorder.count_fuel(account.as_ref());
    Served::Ended(outcome, chunks)
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
