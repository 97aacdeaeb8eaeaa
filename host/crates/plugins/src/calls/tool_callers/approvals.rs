//! The user's approval of calls that a program makes.

use platform::audit::{AuditEvent, CallAudit};
use platform::clock::Clock;
use platform::sync::Mutex;
use platform::telemetry::printable;
use platform::text::truncate_chars;
use policy::ApprovalRule;
use runtime::imports::{
    AgentError, Author, CheckedQuestion, ClientError, ClientReply, Consent, FormSchema, QuestionBatch, ReverseCall,
    Tool, count_questions,
};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

/// The most bytes of arguments that a question shows. Nobody reviews a longer one, and its middle could hide what the call
/// does.
const MAX_ARGUMENTS: usize = 4 << 10;
/// Characters of a tool's description, which its author wrote.
const MAX_DESCRIPTION: usize = 500;
/// The most tools of one run that are remembered as approved for the rest of it. Bounds memory; no host has so many tools.
const MAX_APPROVED: usize = 1_000;
static FORM: LazyLock<Result<FormSchema, String>> = LazyLock::new(|| FormSchema::new(SCHEMA));
const SCHEMA: &str = r#"{"type":"object","properties":{"allow":{"type":"string","title":"Allow","oneOf":[{"const":"once","title":"This call"},{"const":"all","title":"All calls of this tool in this run"}]}},"required":["allow"]}"#;

/// What the user of one run has approved.
pub(in crate::calls) struct ProgramApprovals {
    rule: ApprovalRule,
    clock: Arc<dyn Clock>,
    /// Tools that need no further approval in this run.
    approved: Mutex<BTreeSet<String>>,
    next_key: AtomicU64,
}

impl ProgramApprovals {
    pub(in crate::calls) fn new(rule: ApprovalRule, clock: Arc<dyn Clock>) -> Self {
        Self { rule, clock, approved: Mutex::default(), next_key: AtomicU64::new(1) }
    }

    /// Whether the user is asked before a call of this tool.
    pub(in crate::calls) fn asks_about(&self, tool: &Tool, name: &str) -> bool {
        let hints = &tool.annotations;
        self.rule.applies(hints.read_only, hints.destructive) && !self.approved.lock().contains(name)
    }

    /// Asks the user, if the call needs approval. The question comes from the host: no program can answer it or leave it out.
    pub(in crate::calls) async fn approve(&self, call: &ReverseCall, tool: &Tool) -> Result<(), AgentError> {
        if !self.asks_about(tool, &call.name) {
            return Ok(());
        }
        if !call.client.abilities().form {
            let why = "a program's call of this tool needs the user's approval, and this client cannot ask its user. The \
                       operator's `code.approval` says which tools need it";
            return Err(AgentError::Declined(why.into()));
        }
        let message = message(call, tool)?;
        let schema = FORM.clone().map_err(AgentError::Failed)?;
        count_questions(&call.lineage, 1).map_err(AgentError::Exhausted)?;
        // In a journaled call, the key is the same in every instance that runs the call.
        let key = match call.journal.name() {
            Some(step) => format!("approve-{step}"),
            None => format!("approve-{}", self.next_key.fetch_add(1, Ordering::Relaxed)),
        };
        let timeout = call.lineage.remaining_wait()?.min(call.answer_timeout);
        let questions = vec![(key, CheckedQuestion::Form { message, schema })];
        let batch = QuestionBatch { plugin: call.plugin.clone(), author: Author::Host, questions, timeout, step: None };
        let started = self.clock.now();
        let mut record = ApprovalRecord { audit: &call.audit, outcome: "cancelled" };
        let replies = call.client.ask(batch).await;
        call.lineage.count_wait(self.clock.now().saturating_duration_since(started));
        let allowed = replies.map_err(to_agent_error).and_then(|mut replies| allowed(replies.pop()));
        record.outcome = allowed.as_ref().map_or_else(AgentError::name, |allowed| allowed.name());
        match allowed? {
            Allowed::Once => {}
            Allowed::All => {
                let mut approved = self.approved.lock();
                if approved.len() < MAX_APPROVED {
                    approved.insert(call.name.clone());
                }
            }
        }
        Ok(())
    }
}

enum Allowed {
    Once,
    All,
}

impl Allowed {
    fn name(&self) -> &'static str {
        match self {
            Self::Once => "allowed",
            Self::All => "allowed-for-run",
        }
    }
}

/// Recorded when the user has answered, or the call is dropped.
struct ApprovalRecord<'a> {
    audit: &'a CallAudit,
    outcome: &'static str,
}

impl Drop for ApprovalRecord<'_> {
    fn drop(&mut self) {
        self.audit.record(AuditEvent::Question { kind: "approval", outcome: self.outcome });
    }
}

/// Only an explicit yes allows the call.
fn allowed(reply: Option<ClientReply>) -> Result<Allowed, AgentError> {
    let declined = |why: &str| Err(AgentError::Declined(why.to_owned()));
    match reply {
        Some(ClientReply::Form(Consent::Accept, content)) => {
            let allow = content.as_ref().and_then(|content| content.get("allow")).and_then(|allow| allow.as_str());
            match allow {
                Some("once") => Ok(Allowed::Once),
                Some("all") => Ok(Allowed::All),
                _ => declined("the answer does not say whether the call is allowed"),
            }
        }
        Some(ClientReply::Form(Consent::Decline, _)) => declined("the user declined the call"),
        Some(ClientReply::Form(Consent::Cancel, _)) => declined("the user gave no answer"),
        Some(ClientReply::Refused(why)) => Err(AgentError::Declined(why)),
        Some(ClientReply::Failed(why) | ClientReply::Missing(why)) => Err(AgentError::Failed(why)),
        Some(ClientReply::Url(_) | ClientReply::Sample(_) | ClientReply::Roots(_)) | None => {
            Err(AgentError::Failed("the client answered another kind of question".into()))
        }
    }
}

/// The question's text. It marks which part comes from the program.
fn message(call: &ReverseCall, tool: &Tool) -> Result<String, AgentError> {
    let shown = printable(call.arguments.text());
    if shown.len() > MAX_ARGUMENTS {
        let why = format!(
            "the call needs the user's approval, and its arguments are longer than what a person is shown, {MAX_ARGUMENTS} \
             bytes; make several calls with less in each"
        );
        return Err(AgentError::Declined(why));
    }
    let description = printable(&tool.description);
    let description = truncate_chars(&description, MAX_DESCRIPTION);
    Ok(format!(
        "A program that your agent wrote calls the tool `{}`. Do you allow it?\n\nThe tool: {description}\n\nThe program's arguments: \
         {shown}",
        call.name
    ))
}

fn to_agent_error(error: ClientError) -> AgentError {
    match error {
        ClientError::Timeout(limit) => AgentError::Timeout(limit),
        ClientError::Exhausted(exhaustion) => AgentError::Exhausted(exhaustion),
        ClientError::Cancelled => AgentError::Cancelled,
        ClientError::Denied(denial) => AgentError::Denied(denial),
        ClientError::Declined(why) => AgentError::Declined(why),
        ClientError::Unsupported(_) | ClientError::NotOffered(_) => {
            AgentError::Declined("this client cannot ask its user for approval".into())
        }
        ClientError::Invalid(why) | ClientError::NotAnswered(why) | ClientError::Failed(why) => AgentError::Failed(why),
    }
}
