//! Asks the client of a task whose fuel is used up whether its call may use as much again.

use crate::client::pending::{PendingQuestions, PendingRequest};
use crate::tasks::records::fuel::CallFuel;
use policy::PluginId;
use runtime::imports::{Author, CheckedQuestion, ClientError, ClientReply, Consent, FormSchema, QuestionBatch};
use std::future::pending;
use std::time::Duration;
use tokio::sync::oneshot;

/// The key of the question, unless an earlier question has it.
const KEY: &str = "more-fuel";
/// A form without fields: a client that accepts it says yes.
const FORM: &str = r#"{"type":"object","properties":{}}"#;

/// The outcome of the question.
#[derive(Debug, PartialEq)]
pub(in crate::tasks) enum QuestionAnswer {
    /// The client grants this many units, as the extension with this number.
    More(u32, u64),
    /// The client refuses, so the call ends.
    No,
    /// There is no usable answer, so the call goes on waiting for the operator.
    None,
}

/// Asks, and waits for the answer.
pub(in crate::tasks) struct FuelExtension {
    plugin: PluginId,
    /// The name of the called tool, as its client knows it.
    tool: String,
    /// How long a question may wait: as long as the task may.
    timeout: Duration,
    asked: Option<TaskQuestion>,
}

struct TaskQuestion {
    number: u32,
    units: u64,
    /// None once it is there.
    answer: Option<oneshot::Receiver<Result<Vec<ClientReply>, ClientError>>>,
}

impl FuelExtension {
    pub(in crate::tasks) fn new(plugin: PluginId, tool: String, timeout: Duration) -> Self {
        Self { plugin, tool, timeout, asked: None }
    }

    /// Returns the question for the client, if there is one to ask. `extended` is how often the client has said yes. Withdraws
    /// the question once the call has fuel.
    pub(in crate::tasks) fn ask(
        &mut self,
        fuel: &CallFuel,
        extended: u32,
        can_be_asked: bool,
    ) -> Option<PendingRequest> {
        let Some((most, units)) = fuel.extensions() else {
            self.asked = None;
            return None;
        };
        if self.asked.is_some() || extended >= most || !can_be_asked {
            return None;
        }
        let number = extended + 1;
        let message = format!(
            "`{}` has used up its fuel for computing, and waits. May it use {units} units more? That is about {}. ({number} of {most})",
            self.tool,
            about(units)
        );
        // It is a valid form.
        let schema = FormSchema::new(FORM).ok()?;
        let (answer, answered) = oneshot::channel();
        self.asked = Some(TaskQuestion { number, units, answer: Some(answered) });
        let questions = vec![(KEY.to_owned(), CheckedQuestion::Form { message, schema })];
        let (plugin, timeout, step) = (self.plugin.clone(), self.timeout, Some(format!("fuel {number}")));
        let batch = QuestionBatch { plugin, author: Author::Host, questions, timeout, step };
        Some(PendingRequest::Questions(PendingQuestions::new(batch, answer)))
    }

    /// Waits for the answer to what was asked.
    pub(in crate::tasks) async fn answered(&mut self) -> QuestionAnswer {
        let Some(TaskQuestion { number, units, answer: answer @ Some(_) }) = &mut self.asked else {
            return pending().await;
        };
        let replied = match answer {
            Some(answer) => answer.await,
            None => pending().await,
        };
        *answer = None;
        match replied.ok().and_then(Result::ok).and_then(|mut replies| replies.pop()) {
            Some(ClientReply::Form(Consent::Accept, _)) => {
                let more = QuestionAnswer::More(*number, *units);
                self.asked = None;
                more
            }
            Some(ClientReply::Form(Consent::Decline, _)) => QuestionAnswer::No,
            _ => QuestionAnswer::None,
        }
    }
}

/// How long it takes to use so many units.
fn about(units: u64) -> String {
    let seconds = Duration::from_nanos(units).as_secs_f64();
    match seconds {
        ..1.0 => "less than a second of computing".into(),
        ..120.0 => format!("{seconds:.0} s of computing"),
        _ => format!("{:.0} min of computing", seconds / 60.0),
    }
}
