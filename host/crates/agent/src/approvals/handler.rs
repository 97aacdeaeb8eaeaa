//! Answers servers: rules first, then earlier decisions, then the user.

use super::request::{ApprovalDecision, ApprovalRequest};
use super::{AgentEvent, Approvals, NOBODY};
use crate::rules::{AgentRule, RuleMatch};
use async_trait::async_trait;
use runtime::imports::{Abilities, CheckedQuestion, ClientReply};
use upstream::{AgentHandler, Changed, Requester, ReverseCallDecision, ReverseCallRequest, UpstreamCallEvent};

#[async_trait]
impl AgentHandler for Approvals {
    fn abilities(&self) -> Abilities {
        let sample = self.attended || (self.model.is_some() && self.rules.allows_unreviewed_sampling());
        Abilities {
            form: self.attended || self.rules.has_form_rules(),
            url: self.attended || self.rules.has_page_rules(),
            sample,
            sample_tools: sample && self.model.is_some(),
            roots: !self.roots.is_empty(),
        }
    }

    async fn approve(&self, request: &ReverseCallRequest) -> ReverseCallDecision {
        let (decision, source) = self.decide_reverse_call(request).await;
        let text = match &decision {
            ReverseCallDecision::Allow => "allow".to_owned(),
            ReverseCallDecision::Edit(_) => "allow, edited".to_owned(),
            ReverseCallDecision::Deny(reason) => format!("deny: {reason}"),
        };
        self.report_decision(&request.requester.server, &request.name, &text, source);
        decision
    }

    async fn answer(&self, requester: &Requester, question: &CheckedQuestion) -> ClientReply {
        self.reply(requester, question).await
    }

    fn on_call_event(&self, task: &str, event: UpstreamCallEvent) {
        let Some(call) = self.calls.lock().get(task).copied() else { return };
        if let UpstreamCallEvent::Chunk { seq, content, .. } = &event {
            self.transcript.call_chunk(call, *seq, content);
        }
        if let UpstreamCallEvent::CallId(id) = &event {
            self.remember(|memory| {
                if let Some(open) = memory.call(task) {
                    open.call = Some(id.clone());
                }
            });
        }
        if let UpstreamCallEvent::Resumable(point) = &event {
            let mut kept = false;
            // Stored before the user is asked, or anything is sent.
            self.remember(|memory| kept = memory.keep_point(task, point.clone()));
            if !kept {
                let why =
                    "this call ends with the agent: what the server sent to go on with it cannot be remembered".into();
                return self.send_event(AgentEvent::CallEvent { call, event: UpstreamCallEvent::Log(why) });
            }
        }
        self.send_event(AgentEvent::CallEvent { call, event });
    }

    fn on_changed(&self, server: &str, what: Changed<'_>) {
        let (Changed::List(what) | Changed::Resource(what)) = what;
        self.send_event(AgentEvent::Changed { server: server.to_owned(), what: what.to_owned() });
    }
}

impl Approvals {
    /// The input schema of a tool that servers may be offered.
    fn input_schema(&self, tool: &str) -> Option<String> {
        let tools = self.tools.get()?.tools();
        tools.into_iter().find(|found| found.tool.name == tool).map(|found| found.tool.input_schema)
    }

    /// Decides and returns the source of the decision.
    async fn decide_reverse_call(&self, request: &ReverseCallRequest) -> (ReverseCallDecision, String) {
        let Requester { server, task, .. } = &request.requester;
        let RuleMatch { rule, source } = self.rules.tool(server, &request.name, request.read_only, &request.origin);
        match rule {
            AgentRule::Allow => return (ReverseCallDecision::Allow, source),
            AgentRule::Deny(reason) => return (ReverseCallDecision::Deny(reason), source),
            AgentRule::Ask | AgentRule::OncePerTask => {}
        }
        let memory = self.memory.get();
        if memory.approves(server, &request.name) {
            return (ReverseCallDecision::Allow, "the user, who said always".into());
        }
        let open = memory.calls.iter().find(|call| call.correlation_id == *task);
        if open.is_some_and(|call| call.approved.contains(&request.name)) {
            return (ReverseCallDecision::Allow, "the user, for this call".into());
        }
        let schema = self.input_schema(&request.name);
        let once_per_task = rule == AgentRule::OncePerTask;
        let approval = ApprovalRequest::ReverseCall { request: request.clone(), schema, once_per_task };
        let decision = match self.ask_user(approval).await {
            None => return (ReverseCallDecision::Deny(format!("{NOBODY}, and no rule allows it")), NOBODY.into()),
            Some(ApprovalDecision::Allow) if once_per_task => {
                self.remember_for_task(task, &request.name);
                ReverseCallDecision::Allow
            }
            Some(ApprovalDecision::AllowForTask) => {
                self.remember_for_task(task, &request.name);
                ReverseCallDecision::Allow
            }
            Some(ApprovalDecision::AllowAlways) => {
                self.remember(|memory| memory.approve(server, &request.name));
                ReverseCallDecision::Allow
            }
            Some(ApprovalDecision::WithValues(arguments)) => ReverseCallDecision::Edit(arguments),
            Some(ApprovalDecision::Deny(reason)) => ReverseCallDecision::Deny(reason),
            Some(ApprovalDecision::Cancel) => ReverseCallDecision::Deny("the user did not decide".into()),
            Some(ApprovalDecision::Allow | ApprovalDecision::WithText(_)) => ReverseCallDecision::Allow,
        };
        (decision, "the user".into())
    }

    fn remember_for_task(&self, task: &str, tool: &str) {
        self.remember(|memory| {
            if let Some(call) = memory.call(task) {
                call.approved.push(tool.to_owned());
            }
        });
    }
}
