//! Calls that a run of the agent leaves open, and what the next run does about them: continue, repeat or forget them.

use super::screen::inline;
use super::session::AgentSession;
use agent::UnfinishedCall;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use upstream::ResumePoint;

/// How long the agent waits at its end for calls that it cancels.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

impl AgentSession {
    /// Continues the calls that earlier runs left open and that no other run has taken.
    pub(super) async fn resume(self: &Arc<Self>) -> Result<(), String> {
        self.show_elsewhere();
        let memory = self.approvals.memory();
        let free = memory.unfinished_calls().into_iter().filter(|call| call.point.is_some());
        let servers: BTreeSet<String> = free.map(|call| call.server).collect();
        let mut reasons = BTreeMap::new();
        for server in servers {
            if self.servers.address(&server).is_none()
                && let Err(reason) = self.connect(&server, None).await
            {
                reasons.insert(server, reason);
            }
        }
        // There is no await from here on: an interruption leaves no call that was taken but is not continued.
        let taken = memory.take_resumable_calls().map_err(|error| error.to_string())?;
        let (mut all, mut lines, mut going_on) = (Vec::new(), Vec::new(), Vec::new());
        for open in taken {
            let why_not = match self.servers.address(&open.server) {
                None => {
                    Some(reasons.get(&open.server).cloned().unwrap_or_else(|| "its server is not connected".into()))
                }
                Some(address) if address != open.address => Some(format!(
                    "the server {} was at {}, and what is open there is sent nowhere else",
                    open.server, open.address
                )),
                Some(_) => None,
            };
            if let Some(reason) = why_not {
                self.give_back(&open, &reason);
                continue;
            }
            let call = self.register(&open);
            all.push(to_json(Some(call), &open, "resumed"));
            lines.push(format!("  {call}: {}", self.describe(&open)));
            going_on.push((call, open));
        }
        if !going_on.is_empty() {
            lines.insert(0, count(going_on.len(), "goes on:", "go on:"));
            self.screen.show(&json!({ "event": "resumed", "calls": all }), &lines.join("\n"));
        }
        for (call, open) in going_on {
            self.run(call, open);
        }
        Ok(())
    }

    /// Gives a call back, so that another run can take it, and shows the reason.
    fn give_back(&self, open: &UnfinishedCall, reason: &str) {
        let changed = self.approvals.memory().change(|memory| {
            if let Some(call) = memory.call(&open.correlation_id) {
                call.run.clear();
            }
        });
        if let Err(error) = changed {
            tracing::warn!("{error}");
        }
        self.fail();
        let short = short(open);
        let text = format!("{short}: {} stays open: {reason}", self.describe(open));
        self.screen.show_error(&format!("{text}; connect the server, then `resume`, or `forget {short}`"));
    }

    /// Shows what earlier runs left open, without continuing it.
    pub(super) fn show_left_open(&self) {
        self.show_elsewhere();
        let open: Vec<_> = self.approvals.memory().unfinished_calls();
        let open: Vec<_> = open.into_iter().filter(|call| call.point.is_some()).collect();
        self.show_open("left-open", &open, "is", "are", "open since an earlier run; `resume` goes on with");
    }

    fn show_elsewhere(&self) {
        let calls = self.approvals.memory().calls_elsewhere();
        let open: Vec<_> = calls.into_iter().filter(|call| call.point.is_some()).collect();
        self.show_open("elsewhere", &open, "has", "have", "another agent, which answers and shows");
    }

    fn show_open(&self, event: &str, open: &[UnfinishedCall], one: &str, many: &str, what: &str) {
        if open.is_empty() {
            return;
        }
        let all: Vec<Value> = open.iter().map(|call| to_json(None, call, event)).collect();
        let them = if open.len() == 1 { "it" } else { "them" };
        let first = count(open.len(), &format!("{one} {what} {them}:"), &format!("{many} {what} {them}:"));
        let lines = open.iter().map(|call| format!("\n  {}: {}", short(call), self.describe(call)));
        let text = first + &lines.collect::<String>();
        self.screen.show(&json!({ "event": event, "calls": all }), &text);
    }

    /// Called before the agent ends: shows which calls stay open without it. With `waits`, as in a script, it first waits for
    /// the calls that would end with the agent. Without a memory, all calls end with it.
    pub(super) async fn leave(&self, waits: bool) {
        let memory = self.approvals.memory();
        match (memory.is_kept(), waits) {
            // Without a memory, no later run could continue the calls.
            (false, true) => return self.wait(None).await,
            (false, false) => {
                self.cancel_all();
                let ended = self.wait_while(false, |_, running| running.ended.is_none());
                // A server that does not answer does not keep the agent from ending.
                let _ = tokio::time::timeout(CANCEL_TIMEOUT, ended).await;
                return;
            }
            (true, true) => {
                self.wait_while(true, |_, running| running.ended.is_none() && running.point.is_none()).await;
            }
            (true, false) => {}
        }
        let ours: Vec<String> = {
            let calls = self.calls();
            calls.values().filter(|call| call.ended.is_none()).map(|call| call.task.clone()).collect()
        };
        let mut open = memory.get().calls;
        open.retain(|call| call.point.is_some() && ours.contains(&call.correlation_id));
        let back = "open on the server; the agent's next run, in a script with `resume`, goes on with";
        self.show_open("left-open", &open, "stays", "stay", back);
    }

    pub(super) fn show_calls(&self) {
        let (mut all, mut lines) = (Vec::new(), Vec::new());
        for (id, call) in self.calls().iter() {
            let state = match call.ended {
                None => "running",
                Some(false) => "done",
                Some(true) => "failed",
            };
            let point = call.point.as_ref().filter(|_| call.ended.is_none());
            all.push(json!({ "call": id, "server": call.server, "tool": call.tool, "state": state,
                             "correlationId": call.task, "taskId": point.and_then(ResumePoint::task_id) }));
            lines.push(format!("{id}: {}.{} {state}{}", call.server, inline(&call.tool), describe_point(point)));
        }
        for open in self.approvals.memory().calls_elsewhere().iter().filter(|call| call.point.is_some()) {
            all.push(to_json(None, open, "elsewhere"));
            lines.push(format!("{}: {}; another agent has it", short(open), self.describe(open)));
        }
        for open in self.approvals.memory().unfinished_calls() {
            all.push(to_json(None, &open, "unfinished"));
            let short = short(&open);
            if open.point.is_some() {
                lines.push(format!(
                    "{short}: {} was left open by an earlier run; resume | forget {short}",
                    self.describe(&open)
                ));
                continue;
            }
            let arguments = open.arguments.as_ref().map(|arguments| Value::Object(arguments.clone()).to_string());
            let arguments = arguments.map_or_else(|| "(arguments too large to keep)".into(), |text| inline(&text));
            lines.push(format!(
                "{short}: {}.{} {arguments} was left open by an earlier run; repeat {short} | forget {short}",
                inline(&open.server),
                inline(&open.tool)
            ));
        }
        if lines.is_empty() {
            lines.push("none".into());
        }
        self.screen.show(&json!({ "event": "calls", "calls": all }), &lines.join("\n"));
    }

    /// The tool of a call, what the call waits for and how old it is.
    fn describe(&self, open: &UnfinishedCall) -> String {
        let age = Duration::from_secs(self.clock.unix().as_secs().saturating_sub(open.began));
        let (server, tool, point) = (inline(&open.server), inline(&open.tool), describe_point(open.point.as_ref()));
        format!("{server}.{tool}{point}, begun {} ago", humantime::format_duration(age))
    }

    pub(super) async fn forget(&self, what: &str) -> Result<(), String> {
        let memory = self.approvals.memory();
        let now = memory.get();
        let json = if now.servers.contains_key(what) || now.approvals.iter().any(|one| one.server == what) {
            self.servers.disconnect(what).await;
            memory.change(|memory| memory.forget(what)).map_err(|error| error.to_string())?;
            json!({ "event": "forgotten", "server": what })
        } else {
            let open = self.find_unfinished(what)?;
            memory.change(|memory| memory.remove_call(&open.correlation_id)).map_err(|error| error.to_string())?;
            json!({ "event": "forgotten", "correlationId": open.correlation_id })
        };
        self.screen.show(&json, &format!("{} is forgotten", inline(what)));
        Ok(())
    }

    fn find_unfinished(&self, short: &str) -> Result<UnfinishedCall, String> {
        let open = self.approvals.memory().unfinished_calls();
        let mut fits = open.into_iter().filter(|call| short.len() >= 4 && call.correlation_id.starts_with(short));
        match (fits.next(), fits.next()) {
            (Some(call), None) => Ok(call),
            _ => Err(format!("neither a server nor a call left open is known as {short:?}; see `servers` and `calls`")),
        }
    }

    pub(super) fn repeat(self: &Arc<Self>, short: &str) -> Result<(), String> {
        let open = self.find_unfinished(short)?;
        if open.point.is_some() {
            return Err(format!(
                "it still goes on, so it would run twice; `resume` goes on with it, or `forget {short}` first"
            ));
        }
        let arguments = open.arguments.ok_or("its arguments were too large to keep; call it again with `call`")?;
        self.start(&format!("{}.{}", open.server, open.tool), arguments)?;
        self.approvals
            .memory()
            .change(|memory| memory.remove_call(&open.correlation_id))
            .map_err(|error| error.to_string())
    }
}

/// The short ID by which the user names a call that this run does not have.
fn short(open: &UnfinishedCall) -> &str {
    open.correlation_id.get(..8).unwrap_or(&open.correlation_id)
}

fn count(calls: usize, one: &str, many: &str) -> String {
    if calls == 1 { format!("1 call {one}") } else { format!("{calls} calls {many}") }
}

fn describe_point(point: Option<&ResumePoint>) -> &'static str {
    match point {
        None => "",
        Some(ResumePoint::Task { .. }) => ", a task",
        Some(ResumePoint::Questions { .. }) => ", which asked something",
        Some(ResumePoint::ReverseCalls { .. }) => ", which wants to call a tool of yours",
    }
}

fn to_json(call: Option<u64>, open: &UnfinishedCall, state: &str) -> Value {
    json!({ "call": call, "callId": open.call, "server": open.server, "tool": open.tool, "state": state,
            "correlationId": open.correlation_id, "arguments": open.arguments,
            "taskId": open.point.as_ref().and_then(ResumePoint::task_id) })
}
