//! The client of the calls and the tools that they call, which answer after a while, panic where a test wants it, and write
//! down what each call has taken.

use async_trait::async_trait;
use runtime::imports::{
    Abilities, AgentError, AgentTool, CallSink, CheckedQuestion, Chunk, ClientCalls, ClientError, ClientReply, Consent,
    LogLevel, Origin, OutputError, ProgressReport, QuestionBatch, ReverseCall, ReverseOutcome, Role, SampleAnswer,
    SampleContent, ToolCaller,
};
use serde_json::json;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Something that the call of `everything` waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    ChunkReader,
    User,
    Tool,
    Disk,
    Server,
    Timer,
}

pub(crate) const WAITS: [Wait; 6] = [Wait::ChunkReader, Wait::User, Wait::Tool, Wait::Disk, Wait::Server, Wait::Timer];

/// How long the server holds back its answer, and how long the end of work on other threads may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// Where the running call waits. The guest logs the name of each step before it begins.
#[derive(Default)]
pub(crate) struct Progress {
    state: Mutex<ProgressState>,
    answer_released: Condvar,
}

#[derive(Default)]
struct ProgressState {
    /// The last step that the guest logged.
    step: String,
    /// What the call is known to wait for.
    wait: Option<Wait>,
    /// Whether the server holds back its answer until the test was polled and has seen that the call waits.
    hold_answer: bool,
    waker: Option<Waker>,
    /// How often the test has looked.
    looks: u64,
    /// Those who wait for its next look.
    until_seen: Vec<Waker>,
    /// The function of the host that panics.
    panics_in: Option<&'static str>,
}

impl Progress {
    fn state(&self) -> MutexGuard<'_, ProgressState> {
        self.state.lock().unwrap()
    }

    /// Has this function of the host panic from now on.
    pub(crate) fn panic_in(&self, function: Option<&'static str>) {
        self.state().panics_in = function;
    }

    fn enter(&self, function: &'static str) {
        let panics = self.state().panics_in == Some(function);
        assert!(!panics, "the host panics in {function}");
    }

    pub(crate) fn reset(&self) {
        let mut state = self.state();
        *state = ProgressState { hold_answer: true, panics_in: state.panics_in, ..ProgressState::default() };
    }

    fn begin_step(&self, step: &str) {
        let mut state = self.state();
        state.wait = match step {
            "file" => Some(Wait::Disk),
            "sleep" => Some(Wait::Timer),
            _ => None,
        };
        step.clone_into(&mut state.step);
    }

    /// Waits until the test has seen it, which polls the call on another thread if its guest computes in the pool. Waits for
    /// one poll if nobody looks.
    async fn wait_once(&self, wait: Wait) {
        let (mut first_look, mut pending) = (None, false);
        poll_fn(|context| {
            let mut state = self.state();
            let first_look = *first_look.get_or_insert(state.looks);
            let Some(waker) = state.waker.clone() else {
                context.waker().wake_by_ref();
                return if std::mem::replace(&mut pending, true) { Poll::Ready(()) } else { Poll::Pending };
            };
            if state.looks > first_look {
                return Poll::Ready(());
            }
            state.wait = Some(wait);
            state.until_seen.push(context.waker().clone());
            drop(state);
            waker.wake();
            Poll::Pending
        })
        .await;
        self.state().wait = None;
    }

    /// Called by the server, on a thread of its own. A request of an earlier call is answered at once.
    pub(crate) fn hold_answer(&self) {
        let mut state = self.state();
        if state.step != "request" || !state.hold_answer {
            return;
        }
        state.wait = Some(Wait::Server);
        if let Some(waker) = &state.waker {
            waker.wake_by_ref();
        }
        drop(self.answer_released.wait_timeout_while(state, TIMEOUT, |state| state.hold_answer).unwrap());
    }

    pub(crate) fn release_answer(&self) {
        self.state().hold_answer = false;
        self.answer_released.notify_all();
    }

    /// What the call waits for, seen between two of its polls.
    pub(crate) fn current_wait(&self, waker: &Waker) -> Option<Wait> {
        let mut state = self.state();
        state.waker = Some(waker.clone());
        state.looks += 1;
        let (wait, waiting) = (state.wait, std::mem::take(&mut state.until_seen));
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
        wait
    }
}

/// The client of the call: a slow reader, and a user who answers after a while.
pub(crate) struct TestClient(Arc<Progress>);

#[async_trait]
impl ClientCalls for TestClient {
    fn abilities(&self) -> Abilities {
        Abilities { form: true, url: true, sample: true, roots: true, ..Abilities::default() }
    }

    async fn ask(&self, inquiry: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        self.0.enter("ask");
        self.0.wait_once(Wait::User).await;
        let replies = inquiry.questions.into_iter().map(|(_, question)| match question {
            CheckedQuestion::Form { .. } => ClientReply::Form(Consent::Accept, Some(json!({"name": "Ada"}))),
            CheckedQuestion::Url { .. } => ClientReply::Url(Consent::Accept),
            CheckedQuestion::Roots => ClientReply::Roots(vec![]),
            CheckedQuestion::Sample(_) => ClientReply::Sample(SampleAnswer {
                role: Role::Assistant,
                content: vec![SampleContent::Text("Paris".into())],
                model: "m".into(),
                stop_reason: None,
            }),
        });
        Ok(replies.collect())
    }
}

#[async_trait]
impl CallSink for TestClient {
    async fn chunk(&self, _: u64, _: Chunk) -> Result<(), OutputError> {
        self.0.enter("chunk");
        self.0.wait_once(Wait::ChunkReader).await;
        Ok(())
    }

    fn progress(&self, _: ProgressReport) {
        self.0.enter("progress");
    }

    fn log(&self, _: LogLevel, message: &str) {
        self.0.enter("log");
        self.0.begin_step(message);
    }
}

/// The tools of the host, which answer after a while.
pub(crate) struct SlowTools {
    tools: Arc<dyn ToolCaller>,
    progress: Arc<Progress>,
    /// What each call has taken, by its id.
    pub(crate) spent: Mutex<BTreeMap<String, Spent>>,
}

#[async_trait]
impl ToolCaller for SlowTools {
    fn tools(&self) -> Vec<AgentTool> {
        self.progress.enter("tools");
        self.tools.tools()
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        self.progress.enter("find");
        self.tools.find(name)
    }

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        self.progress.enter("call");
        let (id, parent) = (call.context.id.to_string(), call.parent.clone());
        self.spent.lock().unwrap().insert(id.clone(), Spent { parent: Some(parent), fuel: None });
        let answer = self.tools.call(call).await;
        // A call without this number has not ended.
        self.spent.lock().unwrap().get_mut(&id).unwrap().fuel = Some(answer.spent.as_fuel());
        self.progress.wait_once(Wait::Tool).await;
        answer
    }
}

/// What a call has taken.
#[derive(Debug, Clone)]
pub(crate) struct Spent {
    pub(crate) parent: Option<String>,
    /// None if the call was dropped.
    pub(crate) fuel: Option<u64>,
}

/// A client, and the tools that its calls may call.
pub(crate) struct Parties {
    pub(crate) principal: &'static str,
    pub(crate) progress: Arc<Progress>,
    pub(crate) client: Arc<TestClient>,
    pub(crate) tools: Arc<SlowTools>,
}

impl Parties {
    pub(crate) fn new(principal: &'static str, progress: Arc<Progress>, tools: Arc<dyn ToolCaller>) -> Self {
        let client = Arc::new(TestClient(progress.clone()));
        let tools = Arc::new(SlowTools { tools, progress: progress.clone(), spent: Mutex::default() });
        Self { principal, progress, client, tools }
    }
}
