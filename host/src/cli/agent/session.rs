//! One run of the agent: its calls and their events.

use super::pages::pages;
use super::render;
use super::screen::{Screen, inline, quoted};
use super::servers::Servers;
use super::session_call::{MAX_ENDED, SessionCall};
use agent::{
    AgentEvent, AgentModel, ApprovalRequest, Approvals, CallOutcome, INBOX_URI, ModelAction, Reaction, Reactions,
    ScriptedModel,
};
use platform::clock::Clock;
use platform::sync::Mutex;
use platform::text::truncate;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};
use tokio::sync::{Notify, mpsc};
use upstream::UpstreamCallEvent;

/// How many outputs of one call are kept for `watch`, and how many lines of the history.
const MAX_KEPT: usize = 200;
const MAX_HISTORY: usize = 1_000;
/// Bytes that are kept for `show` of one result, and of all results together. Bounds the memory that answers of servers take.
const MAX_RESULT: usize = 1 << 20;
const MAX_RESULTS: usize = 8 << 20;
pub(super) struct SessionOptions {
    pub(super) approvals: Arc<Approvals>,
    pub(super) servers: Servers,
    pub(super) screen: Arc<Screen>,
    pub(super) reactions: Vec<Reaction>,
    pub(super) clock: Arc<dyn Clock>,
    /// Whether the transcript is shown too.
    pub(super) transcript: bool,
}

pub(super) struct AgentSession {
    pub(super) approvals: Arc<Approvals>,
    pub(super) servers: Servers,
    pub(super) screen: Arc<Screen>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) reactions: Vec<Reaction>,
    transcript: bool,
    pub(super) last: AtomicU64,
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

impl AgentSession {
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

    pub(super) fn add_to_history(&self, line: String) {
        let mut history = self.history.lock();
        if history.len() >= MAX_HISTORY {
            history.pop_front();
        }
        history.push_back(line);
    }

    fn on_event(self: &Arc<Self>, event: AgentEvent) {
        match event {
            AgentEvent::CallEvent { call, event } => self.on_call_event(call, &event),
            AgentEvent::CallEnded { call, task, outcome, keep } => {
                self.show_end(call, &outcome);
                self.approvals.call_shown(&task, keep);
                if let Some(running) = self.calls().get_mut(&call) {
                    running.ended = Some(outcome.is_error);
                }
                self.changed.notify_waiters();
            }
            AgentEvent::Changed { server, what } => {
                if what.starts_with(INBOX_URI) && !self.reactions.is_empty() {
                    let session = self.clone();
                    tokio::spawn(async move { session.read_inbox(&server).await });
                }
            }
            AgentEvent::ApprovalRequested(id, request) => {
                let (json, text) =
                    render::approval_request(&self.screen, (id, self.approvals.call_of(&request)), &request);
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
        let (json, text, watched) = {
            let mut calls = self.calls();
            let Some(running) = calls.get_mut(&call) else { return };
            let (json, text) = render::call_event(call, event, &mut running.progress);
            match event {
                UpstreamCallEvent::CallId(id) => running.id = Some(id.clone()),
                UpstreamCallEvent::Resumable(point) => running.point.clone_from(point),
                _ => {}
            }
            if !text.is_empty() {
                if running.output.len() >= MAX_KEPT {
                    running.output.pop_front();
                }
                running.output.push_back(text.clone());
            }
            (json, text, running.watched)
        };
        if watched {
            self.screen.show(&json, &text);
        }
        // `wait_while` waits for this, also when the agent ends.
        self.changed.notify_waiters();
    }

    fn show_end(&self, call: u64, outcome: &CallOutcome) {
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
    }

    /// A short text as a whole; the first page of a long one, with a hint how to see the rest.
    fn first_page(&self, call: u64, text: &str) -> String {
        let Some(terminal) = self.screen.size() else { return quoted(text) };
        let pages = pages(truncate(text, MAX_RESULT), Some(terminal));
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
