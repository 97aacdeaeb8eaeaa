//! One run of the agent: its calls, and what is done with what they say.

use super::links::Links;
use super::screen::{Screen, word};
use super::words;
use agent::{Act, Desk, INBOX, Matter, Model, Notice, OpenCall, Outcome, Reaction, Reactions, ScriptedModel};
use platform::clock::Clock;
use runtime::imports::{CallContext, Content};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, mpsc};
use tokio_util::sync::CancellationToken;
use upstream::Heard;

/// Chunks of one call that are kept for `watch`, and lines of the history.
const MAX_KEPT: usize = 200;
const MAX_HISTORY: usize = 1_000;
/// Calls that are kept after they ended.
const MAX_ENDED: usize = 200;

/// What a session is made of.
pub(super) struct Parts {
    pub(super) desk: Arc<Desk>,
    pub(super) links: Links,
    pub(super) screen: Arc<Screen>,
    pub(super) planned: Vec<Reaction>,
    pub(super) clock: Arc<dyn Clock>,
    /// Whether what a model would see is shown too.
    pub(super) transcript: bool,
}

pub(super) struct Session {
    pub(super) desk: Arc<Desk>,
    pub(super) links: Links,
    pub(super) screen: Arc<Screen>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) planned: Vec<Reaction>,
    transcript: bool,
    last: AtomicU64,
    calls: Mutex<BTreeMap<u64, Running>>,
    pub(super) over: Notify,
    /// Events that something is still to be done about.
    pub(super) reacting: AtomicU64,
    failed: AtomicBool,
    history: Mutex<VecDeque<String>>,
    model: tokio::sync::Mutex<ScriptedModel>,
    pub(super) inboxes: tokio::sync::Mutex<HashMap<String, Reactions>>,
}

/// A call of this run.
pub(super) struct Running {
    pub(super) server: String,
    pub(super) tool: String,
    pub(super) task: String,
    /// The server's own name for it.
    name: Option<String>,
    cancel: CancellationToken,
    watched: bool,
    said: VecDeque<String>,
    /// Whether it failed, once it has ended.
    pub(super) ended: Option<bool>,
}

impl Session {
    pub(super) fn new(parts: Parts) -> Arc<Self> {
        let Parts { desk, links, screen, planned, clock, transcript } = parts;
        Arc::new(Self {
            desk,
            links,
            screen,
            clock,
            planned,
            transcript,
            last: AtomicU64::new(0),
            calls: Mutex::default(),
            over: Notify::new(),
            reacting: AtomicU64::new(0),
            failed: AtomicBool::new(false),
            history: Mutex::default(),
            model: tokio::sync::Mutex::default(),
            inboxes: tokio::sync::Mutex::default(),
        })
    }

    /// Shows what is told and lets the model act, for as long as the session lasts.
    pub(super) fn attend(self: &Arc<Self>, mut told: mpsc::Receiver<Notice>) {
        let showing = self.clone();
        tokio::spawn(async move {
            while let Some(notice) = told.recv().await {
                showing.on(notice);
            }
        });
        let driving = self.clone();
        tokio::spawn(async move {
            loop {
                driving.desk.transcript().ready().await;
                driving.turn().await;
            }
        });
    }

    /// The model's turn: it sees what is new, and acts.
    pub(super) async fn turn(&self) {
        let mut model = self.model.lock().await;
        let items = self.desk.transcript().take();
        for item in items.iter().filter(|_| self.transcript) {
            let json = words::item(item);
            self.screen.show(&json, &format!("transcript\n{}", super::screen::quoted(&json.to_string())));
        }
        for act in model.step(&items) {
            let done = match &act {
                Act::Steer(call, message) => self.steer(Some(*call), message).await,
                Act::Cancel(call) => self.cancel(*call).map(|()| *call),
            };
            let what = match &act {
                Act::Steer(call, message) => format!("the model steers call {call}: {}", word(message)),
                Act::Cancel(call) => format!("the model cancels call {call}"),
            };
            let error = done.err();
            let text = error.as_ref().map_or(what.clone(), |error| format!("{what}, in vain: {error}"));
            self.screen.show(&json!({ "event": "model", "did": what, "error": error }), &text);
        }
    }

    /// Adds a step to the model's script.
    pub(super) async fn when(&self, step: &str) -> Result<(), String> {
        self.model.lock().await.add(step).map_err(|error| error.to_string())
    }

    pub(super) fn calls(&self) -> MutexGuard<'_, BTreeMap<u64, Running>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anything has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub(super) fn fail(&self) {
        self.failed.store(true, Ordering::Relaxed);
    }

    pub(super) fn history(&self) -> Vec<String> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn note(&self, line: String) {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        if history.len() >= MAX_HISTORY {
            history.pop_front();
        }
        history.push_back(line);
    }

    /// Starts a call; its number.
    pub(super) fn start(self: &Arc<Self>, tool: &str, arguments: Map<String, Value>) -> Result<u64, String> {
        let (server, tool) = self.links.resolve(tool)?;
        let call = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let task = CallContext::new("").id;
        let cancel = CancellationToken::new();
        let running = Running {
            server: server.clone(),
            tool: tool.clone(),
            task: task.clone(),
            name: None,
            cancel: cancel.clone(),
            watched: true,
            said: VecDeque::new(),
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
        let open = OpenCall {
            correlation_id: task.clone(),
            server: server.clone(),
            tool: tool.clone(),
            arguments: Some(arguments.clone()),
            call: None,
            approved: Vec::new(),
            process: std::process::id(),
        };
        self.desk.began(call, open);
        self.note(format!(
            "call {call}: {server}.{} {}",
            word(&tool),
            word(&Value::Object(arguments.clone()).to_string())
        ));
        let shown = json!({ "event": "started", "call": call, "server": server, "tool": tool, "task": task });
        self.screen.show(&shown, &format!("call {call}: {server}.{}", word(&tool)));
        let session = self.clone();
        tokio::spawn(async move {
            let called = tokio::select! {
                called = session.links.call(&server, &tool, arguments, &task) => called,
                () = cancel.cancelled() => Err(("cancelled".to_owned(), false)),
            };
            let (outcome, kept) = match called {
                Ok(outcome) => (outcome, false),
                Err((reason, kept)) => {
                    (Outcome { content: vec![Content::text(reason)], structured: None, is_error: true }, kept)
                }
            };
            session.desk.ended(&task, outcome, kept).await;
        });
        Ok(call)
    }

    /// Waits for a call, or for all and for what events start.
    pub(super) async fn wait(&self, call: Option<u64>) {
        loop {
            let over = self.over.notified();
            let runs = |(id, running): (&u64, &Running)| running.ended.is_none() && call.is_none_or(|call| *id == call);
            let idle = call.is_some() || self.reacting.load(Ordering::SeqCst) == 0;
            if idle && !self.calls().iter().any(runs) {
                return;
            }
            over.await;
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

    /// Says something to a call; without a number to the only one that runs.
    pub(super) async fn steer(&self, call: Option<u64>, message: &str) -> Result<u64, String> {
        let (call, server, name) = {
            let calls = self.calls();
            let mut running =
                calls.iter().filter(|(id, running)| running.ended.is_none() && call.is_none_or(|call| **id == call));
            match (running.next(), running.next()) {
                (Some((id, one)), None) => (*id, one.server.clone(), one.name.clone()),
                (None, _) => return Err("no such call runs; see `calls`".into()),
                (Some(_), Some(_)) => return Err("several calls run; say which: steer CALL TEXT".into()),
            }
        };
        self.links.steer(&server, name.as_deref(), message).await?;
        self.note(format!("steered call {call}: {}", word(message)));
        Ok(call)
    }

    /// Shows what a call has said, and from now on what it says; `on` is whether.
    pub(super) fn watch(&self, call: u64) -> Result<(), String> {
        let said: Vec<String> = {
            let mut calls = self.calls();
            let running = calls.get_mut(&call).ok_or_else(|| format!("there is no call {call}; see `calls`"))?;
            running.watched = true;
            running.said.iter().cloned().collect()
        };
        for text in said {
            self.screen.show(&json!({ "event": "said", "call": call, "text": text }), &text);
        }
        Ok(())
    }

    fn on(self: &Arc<Self>, notice: Notice) {
        match notice {
            Notice::Heard { call, heard } => self.heard(call, &heard),
            Notice::Ended { call, outcome } => self.ended(call, &outcome),
            Notice::Changed { server, what } => {
                if what.starts_with(INBOX) && !self.planned.is_empty() {
                    let session = self.clone();
                    tokio::spawn(async move { session.look(&server).await });
                }
            }
            Notice::Waiting(id, matter) => {
                let (json, text) = words::matter(&self.screen, id, &matter);
                self.screen.show(&json, &text);
            }
            Notice::Withdrawn(id) => {
                self.screen.show(&json!({ "event": "withdrawn", "id": id }), &format!("[{id}] is no longer wanted"));
            }
            Notice::Decided { server, about, verdict, by } => {
                let text = format!("{}: {}: {} ({})", word(&server), word(&about), word(&verdict), word(&by));
                self.note(text.clone());
                let json =
                    json!({ "event": "decided", "server": server, "about": about, "verdict": verdict, "by": by });
                self.screen.show(&json, &text);
            }
        }
    }

    fn heard(&self, call: u64, heard: &Heard) {
        let (json, text) = words::heard(call, heard);
        let watched = {
            let mut calls = self.calls();
            let Some(running) = calls.get_mut(&call) else { return };
            if let Heard::Named(name) = heard {
                running.name = Some(name.clone());
            }
            if !text.is_empty() {
                if running.said.len() >= MAX_KEPT {
                    running.said.pop_front();
                }
                running.said.push_back(text.clone());
            }
            running.watched
        };
        if watched {
            self.screen.show(&json, &text);
        }
    }

    fn ended(&self, call: u64, outcome: &Outcome) {
        let said = words::text(&outcome.content);
        let structured: Option<Value> = outcome.structured.as_deref().and_then(|text| serde_json::from_str(text).ok());
        let json = json!({ "event": "result", "call": call, "isError": outcome.is_error, "text": said, "structured": structured });
        let head = if outcome.is_error { "failed" } else { "is done" };
        let shown = if said.is_empty() { structured.map(|value| value.to_string()).unwrap_or_default() } else { said };
        self.screen.show(&json, &format!("call {call} {head}\n{}", super::screen::quoted(&shown)));
        self.note(format!("call {call} {head}"));
        if outcome.is_error {
            self.fail();
        }
        if let Some(running) = self.calls().get_mut(&call) {
            running.ended = Some(outcome.is_error);
        }
        self.over.notify_waiters();
    }

    /// What waits under this number, or the oldest.
    pub(super) fn matter(&self, id: Option<u64>) -> Result<(u64, Arc<Matter>), String> {
        let waiting = self.desk.waiting();
        let found = waiting.into_iter().find(|(number, _)| id.is_none_or(|id| *number == id));
        found.ok_or_else(|| "nothing like that waits for an answer; see `waiting`".into())
    }
}
