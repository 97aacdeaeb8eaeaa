//! A call that is dropped or cancelled while it waits leaves nothing behind: wherever it waits (for the reader of a chunk,
//! for the user, for another tool, for the disk, for a server, for a timer), and at each of its polls.
//!
//! How often a call is polled depends on the speed of the machine, so the number of polls is not asserted. Instead, calls
//! are stopped at each of the [`WAITS`], until every one was seen.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test of an attack prints its figure")]

use async_trait::async_trait;
use plugins::calls::{Answer, CallRequest, FinishedCall};
use portcullis::config::Config;
use portcullis::host::Host;
use runtime::engine::{CallError, HeldResources};
use runtime::imports::{
    Abilities, AgentError, AgentTool, CallContext, CallSink, Chunk, ClientCalls, ClientError, ClientLink, ClientReply,
    Consent, LogLevel, Origin, OutputError, ProgressReport, QuestionBatch, ReverseCall, ReverseOutcome, ToolCaller,
};
use serde_json::{Value, json};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use suite::web::{Reply as Page, Web};
use suite::{Home, agent, paths, plugin_from, portcullis, with_manifest};
use tokio_util::sync::CancellationToken;

const GRANTS: &str = r#"
grants.scratch = { guest = "/own", size = "1 MiB" }
grants.state = {}
grants.publish = true
grants.events = ["done.*"]
grants.agent-tools = ["echo.run"]
grants.client.form = true
grants.http = [{ allow = "GET http://127.0.0.1:PORT/", private = true }]
limits.breaker = { failures = 0 }
"#;

/// Something that the call of `everything` waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wait {
    ChunkReader,
    User,
    Tool,
    Disk,
    Server,
    Timer,
}

const WAITS: [Wait; 6] = [Wait::ChunkReader, Wait::User, Wait::Tool, Wait::Disk, Wait::Server, Wait::Timer];

/// A wait for the disk or a timer may be over before the call is polled. Calls are repeated until one is seen waiting.
const MAX_ATTEMPTS: u32 = 500;
/// Bounds the polls of one call, so that the test ends.
const MAX_POLLS: usize = 5_000;
/// How long the server holds back its answer, and how long the end of work on other threads may take.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Where the running call waits. The guest logs the name of each step before it begins.
#[derive(Default)]
struct Progress {
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
}

impl Progress {
    fn state(&self) -> MutexGuard<'_, ProgressState> {
        self.state.lock().unwrap()
    }

    fn reset(&self) {
        *self.state() = ProgressState { hold_answer: true, ..ProgressState::default() };
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

    /// Waits for one poll.
    async fn wait_once(&self, wait: Wait) {
        self.state().wait = Some(wait);
        tokio::task::yield_now().await;
        self.state().wait = None;
    }

    /// Called by the server, on a thread of its own. A request of an earlier call is answered at once.
    fn hold_answer(&self) {
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

    fn release_answer(&self) {
        self.state().hold_answer = false;
        self.answer_released.notify_all();
    }

    /// What the call waits for, seen between two of its polls.
    fn current_wait(&self, waker: &Waker) -> Option<Wait> {
        let mut state = self.state();
        state.waker = Some(waker.clone());
        state.wait
    }
}

/// The client of the call: a slow reader, and a user who answers after a while.
struct TestClient(Arc<Progress>);

#[async_trait]
impl ClientCalls for TestClient {
    fn abilities(&self) -> Abilities {
        Abilities { form: true, ..Abilities::default() }
    }

    async fn ask(&self, inquiry: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        self.0.wait_once(Wait::User).await;
        let answer = || ClientReply::Form(Consent::Accept, Some(json!({"name": "Ada"})));
        Ok(inquiry.questions.iter().map(|_| answer()).collect())
    }
}

#[async_trait]
impl CallSink for TestClient {
    async fn chunk(&self, _: u64, _: Chunk) -> Result<(), OutputError> {
        self.0.wait_once(Wait::ChunkReader).await;
        Ok(())
    }

    fn progress(&self, _: ProgressReport) {}

    fn log(&self, _: LogLevel, message: &str) {
        self.0.begin_step(message);
    }
}

/// The tools of the host, which answer after a while.
struct SlowTools {
    tools: Arc<dyn ToolCaller>,
    progress: Arc<Progress>,
}

#[async_trait]
impl ToolCaller for SlowTools {
    fn tools(&self) -> Vec<AgentTool> {
        self.tools.tools()
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        self.tools.find(name)
    }

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        let answer = self.tools.call(call).await;
        self.progress.wait_once(Wait::Tool).await;
        answer
    }
}

/// How a call is stopped.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Stop {
    Drop,
    Cancel,
}

/// When a call is stopped.
#[derive(Debug, Clone, Copy, PartialEq)]
enum When {
    AfterPolls(usize),
    WaitsFor(Wait),
}

struct Setup {
    home: Home,
    web: Web,
    host: Host,
    progress: Arc<Progress>,
    client: Arc<TestClient>,
    tools: Arc<SlowTools>,
    calls: AtomicU64,
}

impl Setup {
    async fn new() -> Self {
        let progress = Arc::new(Progress::default());
        let server = progress.clone();
        let web = Web::serve(move |_| {
            server.hold_answer();
            Page::json(json!({"some": "answer"}))
        });
        let (home, port) = (Home::new(), web.address.port());
        let requests = json!({
            "scratch": true, "state": true, "publish": true, "events": ["done.*"], "agent-tools": ["*.*"],
            "client": {"form": true}, "http": [format!("GET http://127.0.0.1:{port}/")],
        });
        let manifest = json!({"name": "everything", "version": "0.1.0", "requests": requests});
        let component = with_manifest(std::fs::read(paths::guest("everything")).unwrap(), &manifest);
        let file = home.write("everything.wasm", component);
        let folder = |path: std::path::PathBuf| path.display().to_string();
        let server = format!(
            "[server]\ncache = {:?}\nstate = {:?}\n",
            folder(paths::cache()),
            folder(home.path().join("state")),
        );
        let grants = GRANTS.replace("PORT", &port.to_string());
        let config = server + &plugin_from("everything", &file, &grants) + &agent("echo", "echo", "");
        let path = home.write("portcullis.toml", config);
        // The binary compiles the components: the test program cannot be a compile worker.
        portcullis(&home, &["call", "echo", "run"]).good();
        portcullis(&home, &["call", "everything", "run"]);
        let host = Host::start_whole(&Config::load(&path).unwrap(), None).await.unwrap();
        let client = Arc::new(TestClient(progress.clone()));
        let tools = Arc::new(SlowTools { tools: host.agent.clone(), progress: progress.clone() });
        Self { home, web, host, progress, client, tools, calls: AtomicU64::new(0) }
    }

    async fn call(&self, cancel: CancellationToken) -> FinishedCall<Answer> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let catalog = self.host.catalog.snapshot();
        let plugin = catalog.all_plugins().find(|plugin| &*plugin.id().name == "everything").unwrap();
        let arguments = json!({"path": self.web.address.to_string()});
        let request = CallRequest {
            context: CallContext::new("local"),
            link: ClientLink {
                sink: self.client.clone(),
                client: self.client.clone(),
                agent: self.tools.clone(),
                steering: None,
                cancel,
                held: HeldResources::default(),
            },
            parent: None,
        };
        let tool = plugin.tool("run").unwrap();
        self.host.runner.call_tool(plugin.clone(), tool.clone(), arguments.into(), request).await
    }

    /// Checks that a whole call succeeds.
    async fn assert_works(&self) {
        self.progress.reset();
        self.progress.release_answer();
        let answer = self.call(CancellationToken::new()).await.result.unwrap();
        let text = format!("{:?}", answer.content);
        assert!(text.contains("14 worked"), "{text}");
    }

    /// Runs a call and stops it. Returns false if the call was over before.
    async fn run_and_stop(&self, when: When, stop: Stop) -> bool {
        self.progress.reset();
        let cancel = CancellationToken::new();
        let mut call = pin!(self.call(cancel.clone()));
        let (mut polls, mut stopped) = (0, false);
        let finished = poll_fn(|context| {
            let wait = self.progress.current_wait(context.waker());
            // A call that was never polled has not begun.
            let now = match when {
                When::AfterPolls(count) => polls == count,
                When::WaitsFor(expected) => polls > 0 && wait == Some(expected),
            };
            if now && !stopped {
                stopped = true;
                match stop {
                    Stop::Drop => return Poll::Ready(None),
                    Stop::Cancel => cancel.cancel(),
                }
            } else if wait == Some(Wait::Server) {
                self.progress.release_answer();
            }
            polls += 1;
            call.as_mut().poll(context).map(Some)
        })
        .await;
        self.progress.release_answer();
        if let Some(finished) = finished {
            let result = finished.result.map(|_| ());
            let cancelled = stopped && matches!(result, Err(CallError::Cancelled));
            assert!(result.is_ok() || cancelled, "{stop:?} {when:?}: {result:?}");
        }
        stopped
    }

    /// The same, then checks that nothing is left of the call.
    async fn assert_leaves_nothing(&self, when: When, stop: Stop) -> bool {
        let stopped = self.run_and_stop(when, stop).await;
        let nothing = json!({"instances": 0, "calls": 0, "slots": 0, "waiting": 0, "client": 1, "files": 0});
        // Work of the call on other threads may take a moment to end.
        let end = Instant::now() + TIMEOUT;
        while self.held_resources() != nothing && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(self.held_resources(), nothing, "{stop:?} {when:?}");
        stopped
    }

    /// The sum of a metric.
    fn metric(&self, prefix: &str) -> u64 {
        let text = self.host.metrics.text();
        let value = |line: &str| line.strip_prefix(prefix)?.rsplit(' ').next()?.parse::<u64>().ok();
        text.lines().filter(|line| !line.starts_with('#')).filter_map(value).sum()
    }

    /// What calls hold now. Instances that were prepared for later calls do not count.
    fn held_resources(&self) -> Value {
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let paths = descriptors.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok());
        let files = paths.filter(|path| path.starts_with(self.home.path().join("state/scratch"))).count();
        json!({
            "instances": self.metric("portcullis_instances ").saturating_sub(self.metric("portcullis_ready_instances ")),
            "calls": self.metric("portcullis_calls_in_progress"),
            "slots": self.metric("portcullis_root_calls "),
            "waiting": self.metric("portcullis_waiting_calls "),
            "client": Arc::strong_count(&self.client),
            "files": files,
        })
    }

    /// The verdicts on calls in the audit journal, by call.
    fn verdicts(&self) -> Vec<Value> {
        std::fs::read_dir(self.home.path().join("state/audit"))
            .unwrap()
            .flatten()
            .flat_map(|file| {
                std::fs::read_to_string(file.path()).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>()
            })
            .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
            .filter(|record| record["event"] == "verdict" && record["plugin"] == "plugins.everything")
            .map(|record| record["call"].clone())
            .collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_given_up_anywhere_leaves_nothing() {
    let setup = Setup::new().await;
    setup.assert_works().await;
    for stop in [Stop::Drop, Stop::Cancel] {
        for wait in WAITS {
            let mut attempts = 1;
            while !setup.assert_leaves_nothing(When::WaitsFor(wait), stop).await {
                attempts += 1;
                assert!(attempts <= MAX_ATTEMPTS, "no call was seen waiting for {wait:?}");
            }
        }
        let mut polls = 1;
        while setup.assert_leaves_nothing(When::AfterPolls(polls), stop).await {
            polls += 1;
            assert!(polls < MAX_POLLS, "the call does not end");
        }
        println!("T10: {stop:?} at each of {} waits and {polls} polls: nothing left", WAITS.len());
        setup.assert_works().await;
    }
    let calls = setup.calls.load(Ordering::Relaxed);
    let ended = setup.metric("portcullis_calls_total{plugin=\"plugins.everything\"");
    assert_eq!(ended, calls, "each call has ended once");
    assert!(setup.host.audit.flush());
    let mut verdicts = setup.verdicts();
    let all = verdicts.len() as u64;
    verdicts.sort_by_key(Value::to_string);
    verdicts.dedup();
    // One more is of the binary that compiled the component.
    assert_eq!((all, verdicts.len() as u64), (calls + 1, calls + 1), "each call has one verdict");
}
