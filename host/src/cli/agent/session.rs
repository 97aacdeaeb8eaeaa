//! One run of the agent: its calls and their events.

use super::pages::pages;
use super::render;
use super::screen::{Screen, inline, quoted};
use super::servers::Servers;
use agent::{
    AgentEvent, AgentModel, ApprovalRequest, Approvals, CallOutcome, INBOX_URI, ModelAction, Reaction, Reactions,
    ScriptedModel, UnfinishedCall,
};
use platform::clock::Clock;
use platform::sync::Mutex;
use platform::text::truncate;
use runtime::imports::{CallContext, Content};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use upstream::UpstreamCallEvent;

/// Outputs of one call that are kept for `watch`, and lines of the history.
const MAX_KEPT: usize = 200;
const MAX_HISTORY: usize = 1_000;
/// Bytes of a result that is kept for `show`, and of all results. A server may answer with more than anybody reads.
const MAX_RESULT: usize = 1 << 20;
const MAX_RESULTS: usize = 8 << 20;
/// Calls that are kept after they have ended.
const MAX_ENDED: usize = 200;

pub(super) struct SessionOptions {
    pub(super) approvals: Arc<Approvals>,
    pub(super) servers: Servers,
    pub(super) screen: Arc<Screen>,
    pub(super) reactions: Vec<Reaction>,
    pub(super) clock: Arc<dyn Clock>,
    /// Whether the transcript is shown too.
    pub(super) transcript: bool,
}

pub(super) struct Session {
    pub(super) approvals: Arc<Approvals>,
    pub(super) servers: Servers,
    pub(super) screen: Arc<Screen>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) reactions: Vec<Reaction>,
    transcript: bool,
    last: AtomicU64,
    calls: Mutex<BTreeMap<u64, SessionCall>>,
    pub(super) changed: Notify,
    /// The number of running reactions.
    pub(super) reacting: AtomicU64,
    failed: AtomicBool,
    history: Mutex<VecDeque<String>>,
    /// The newest results, oldest first.
    results: Mutex<VecDeque<(u64, String)>>,
    model: tokio::sync::Mutex<ScriptedModel>,
    pub(super) inboxes: tokio::sync::Mutex<HashMap<String, Reactions>>,
}

pub(super) struct SessionCall {
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) task: String,
    /// The server's ID for the call.
    id: Option<String>,
    cancel: CancellationToken,
    watched: bool,
    output: VecDeque<String>,
    /// Whether the call failed, once it has ended.
    pub(super) ended: Option<bool>,
}

impl Session {
    pub(super) fn new(options: SessionOptions) -> Arc<Self> {
        let SessionOptions { approvals, servers, screen, reactions, clock, transcript } = options;
        Arc::new(Self {
            approvals,
            servers,
            screen,
            clock,
            reactions,
            transcript,
            last: AtomicU64::new(0),
            calls: Mutex::default(),
            changed: Notify::new(),
            reacting: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            history: Mutex::default(),
            results: Mutex::default(),
            model: tokio::sync::Mutex::default(),
            inboxes: tokio::sync::Mutex::default(),
        })
    }

    /// Starts the tasks that show events and run the model.
    pub(super) fn spawn_tasks(self: &Arc<Self>, mut events: mpsc::Receiver<AgentEvent>) {
        let showing = self.clone();
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                showing.on_event(event);
            }
        });
        let driving = self.clone();
        tokio::spawn(async move {
            loop {
                driving.approvals.transcript().wait_for_items().await;
                driving.run_model().await;
            }
        });
    }

    /// Gives the model the new items of the transcript and carries out its actions.
    pub(super) async fn run_model(&self) {
        let mut model = self.model.lock().await;
        let items = self.approvals.transcript().take_items();
        for item in items.iter().filter(|_| self.transcript) {
            let json = render::transcript_item(item);
            self.screen.show(&json, &format!("transcript\n{}", quoted(&json.to_string())));
        }
        for act in model.step(&items) {
            let done = match &act {
                ModelAction::Steer(call, message) => self.steer(Some(*call), message).await,
                ModelAction::Cancel(call) => self.cancel(*call).map(|()| *call),
            };
            let what = match &act {
                ModelAction::Steer(call, message) => format!("the model steers call {call}: {}", inline(message)),
                ModelAction::Cancel(call) => format!("the model cancels call {call}"),
            };
            let error = done.err();
            let text = error.as_ref().map_or(what.clone(), |error| format!("{what}; failed: {error}"));
            self.screen.show(&json!({ "event": "model", "action": what, "error": error }), &text);
        }
    }

    /// Adds a step to the scripted model.
    pub(super) async fn add_script_step(&self, step: &str) -> Result<(), String> {
        self.model.lock().await.add(step).map_err(|error| error.to_string())
    }

    pub(super) fn calls(&self) -> MutexGuard<'_, BTreeMap<u64, SessionCall>> {
        self.calls.lock()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    pub(super) fn history(&self) -> Vec<String> {
        self.history.lock().iter().cloned().collect()
    }

    fn add_to_history(&self, line: String) {
        let mut history = self.history.lock();
        if history.len() >= MAX_HISTORY {
            history.pop_front();
        }
        history.push_back(line);
    }

    /// Starts a call and returns its number.
    pub(super) fn start(self: &Arc<Self>, tool: &str, arguments: Map<String, Value>) -> Result<u64, String> {
        let (server, tool) = self.servers.resolve(tool)?;
        let call = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let task = CallContext::new("").id.to_string();
        let cancel = CancellationToken::new();
        let running = SessionCall {
            server: server.clone(),
            tool: tool.clone(),
            task: task.clone(),
            id: None,
            cancel: cancel.clone(),
            watched: true,
            output: VecDeque::new(),
            ended: None,
        };
        {
            let mut calls = self.calls();
            calls.insert(call, running);
            let ended: Vec<u64> = calls.iter().filter(|(_, call)| call.ended.is_some()).map(|(id, _)| *id).collect();
            for old in ended.iter().take(ended.len().saturating_sub(MAX_ENDED)) {
                calls.remove(old);
            }
        }
        let open = UnfinishedCall {
            correlation_id: task.clone(),
            server: server.clone(),
            tool: tool.clone(),
            arguments: Some(arguments.clone()),
            call: None,
            approved: Vec::new(),
            process: std::process::id(),
        };
        self.approvals.call_started(call, open);
        self.add_to_history(format!(
            "call {call}: {server}.{} {}",
            inline(&tool),
            inline(&Value::Object(arguments.clone()).to_string())
        ));
        let shown = json!({ "event": "started", "call": call, "server": server, "tool": tool, "correlationId": task });
        self.screen.show(&shown, &format!("call {call}: {server}.{}", inline(&tool)));
        let session = self.clone();
        tokio::spawn(async move {
            let result = tokio::select! {
                result = session.servers.call(&server, &tool, arguments, &task) => result,
                () = cancel.cancelled() => Err(("cancelled".to_owned(), false)),
            };
            let (outcome, keep) = match result {
                Ok(outcome) => (outcome, false),
                Err((reason, keep)) => {
                    (CallOutcome { content: vec![Content::text(reason)], structured: None, is_error: true }, keep)
                }
            };
            session.approvals.call_ended(&task, outcome, keep).await;
        });
        Ok(call)
    }

    /// Waits for a call; without a number for all calls and reactions.
    pub(super) async fn wait(&self, call: Option<u64>) {
        loop {
            let changed = self.changed.notified();
            let runs =
                |(id, running): (&u64, &SessionCall)| running.ended.is_none() && call.is_none_or(|call| *id == call);
            let idle = call.is_some() || self.reacting.load(Ordering::SeqCst) == 0;
            if idle && !self.calls().iter().any(runs) {
                return;
            }
            changed.await;
        }
    }

    pub(super) fn cancel(&self, call: u64) -> Result<(), String> {
        let calls = self.calls();
        let running = calls.get(&call).filter(|running| running.ended.is_none());
        running.ok_or_else(|| format!("no call {call} runs; see `calls`"))?.cancel.cancel();
        Ok(())
    }

    pub(super) fn cancel_all(&self) {
        self.calls().values().for_each(|running| running.cancel.cancel());
    }

    /// Sends a message to a call; without a number to the only running call.
    pub(super) async fn steer(&self, call: Option<u64>, message: &str) -> Result<u64, String> {
        let (call, server, call_id) = {
            let calls = self.calls();
            let mut running =
                calls.iter().filter(|(id, running)| running.ended.is_none() && call.is_none_or(|call| **id == call));
            match (running.next(), running.next()) {
                (Some((id, one)), None) => (*id, one.server.clone(), one.id.clone()),
                (None, _) => return Err("no such call runs; see `calls`".into()),
                (Some(_), Some(_)) => return Err("several calls run; name one: steer CALL TEXT".into()),
            }
        };
        self.servers.steer(&server, call_id.as_deref(), message).await?;
        self.add_to_history(format!("steered call {call}: {}", inline(message)));
        Ok(call)
    }

    /// Shows a call's past output, and its output from now on.
    pub(super) fn watch(&self, call: u64) -> Result<(), String> {
        let output: Vec<String> = {
            let mut calls = self.calls();
            let running = calls.get_mut(&call).ok_or_else(|| format!("there is no call {call}; see `calls`"))?;
            running.watched = true;
            running.output.iter().cloned().collect()
        };
        for text in output {
            self.screen.show(&json!({ "event": "output", "call": call, "text": text }), &text);
        }
        Ok(())
    }

    fn on_event(self: &Arc<Self>, event: AgentEvent) {
        match event {
            AgentEvent::CallEvent { call, event } => self.on_call_event(call, &event),
            AgentEvent::CallEnded { call, outcome } => self.on_call_ended(call, &outcome),
            AgentEvent::Changed { server, what } => {
                if what.starts_with(INBOX_URI) && !self.reactions.is_empty() {
                    let session = self.clone();
                    tokio::spawn(async move { session.read_inbox(&server).await });
                }
            }
            AgentEvent::ApprovalRequested(id, request) => {
                let (json, text) = render::approval_request(&self.screen, id, &request);
                self.screen.show(&json, &text);
            }
            AgentEvent::ApprovalWithdrawn(id) => {
                self.screen
                    .show(&json!({ "event": "approval-withdrawn", "approval": id }), &format!("[{id}] was withdrawn"));
            }
            AgentEvent::Decided { server, subject, decision, source } => {
                let [server_text, subject_text, decision_text, source_text] =
                    [&server, &subject, &decision, &source].map(|text| inline(text));
                let text = format!("{server_text}: {subject_text}: {decision_text} ({source_text})");
                self.add_to_history(text.clone());
                let json = json!({ "event": "approval-decided", "server": server, "subject": subject, "decision": decision, "decidedBy": source });
                self.screen.show(&json, &text);
            }
        }
    }

    fn on_call_event(&self, call: u64, event: &UpstreamCallEvent) {
        let (json, text) = render::call_event(call, event);
        let watched = {
            let mut calls = self.calls();
            let Some(running) = calls.get_mut(&call) else { return };
            if let UpstreamCallEvent::CallId(id) = event {
                running.id = Some(id.clone());
            }
            if !text.is_empty() {
                if running.output.len() >= MAX_KEPT {
                    running.output.pop_front();
                }
                running.output.push_back(text.clone());
            }
            running.watched
        };
        if watched {
            self.screen.show(&json, &text);
        }
    }

    fn on_call_ended(&self, call: u64, outcome: &CallOutcome) {
        let text = render::contents_text(&outcome.content);
        let structured: Option<Value> = outcome.structured.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let json = json!({ "event": "result", "call": call, "isError": outcome.is_error, "text": text, "structuredContent": structured });
        let head = if outcome.is_error { "failed" } else { "is done" };
        let shown = if text.is_empty() { structured.map(|value| value.to_string()).unwrap_or_default() } else { text };
        self.screen.show(&json, &format!("call {call} {head}\n{}", self.first_page(call, &shown)));
        self.keep_result(call, shown);
        self.add_to_history(format!("call {call} {head}"));
        if outcome.is_error {
            self.fail();
        }
        if let Some(running) = self.calls().get_mut(&call) {
            running.ended = Some(outcome.is_error);
        }
        self.changed.notify_waiters();
    }

    /// All of a short text; of a long one the first page, and how to see the rest.
    fn first_page(&self, call: u64, text: &str) -> String {
        let Some(size) = self.screen.page_size() else { return quoted(text) };
        let pages = pages(truncate(text, MAX_RESULT), size);
        match &pages[..] {
            [first, _, ..] => format!("{first}\n    (page 1 of {}; `show {call}` shows all)", pages.len()),
            _ => pages.concat(),
        }
    }

    fn keep_result(&self, call: u64, mut text: String) {
        text.truncate(truncate(&text, MAX_RESULT).len());
        let mut results = self.results.lock();
        results.push_back((call, text));
        while results.iter().map(|(_, text)| text.len()).sum::<usize>() > MAX_RESULTS || results.len() > MAX_ENDED {
            results.pop_front();
        }
    }

    /// The result of a call, if it is one of the newest.
    pub(super) fn result(&self, call: u64) -> Option<String> {
        self.results.lock().iter().find(|(of, _)| *of == call).map(|(_, text)| text.clone())
    }

    /// The pending request with this number; without a number the oldest.
    pub(super) fn pending_request(&self, id: Option<u64>) -> Result<(u64, Arc<ApprovalRequest>), String> {
        let waiting = self.approvals.pending_requests();
        let found = waiting.into_iter().find(|(number, _)| id.is_none_or(|id| *number == id));
        found.ok_or_else(|| "no such request waits for an answer; see `waiting`".into())
    }
}
