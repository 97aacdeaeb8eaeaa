//! Stands in for everybody whom a tested call talks to: answers from the transcript, and notes what was asked.

use super::super::text::content_to_text;
use super::client_kind::ClientKind;
use super::http_reply::HttpReply;
use super::reply::{self, Reply};
use super::tool_reply::ToolReply;
use super::transcript::TestCall;
use async_trait::async_trait;
use http_body_util::BodyExt as _;
use platform::sync::Mutex;
use policy::HttpTarget;
use runtime::imports::{
    Abilities, AgentError, AgentTool, CallSink, CheckedQuestion, Chunk, ClientCalls, ClientError, ClientReply, Content,
    Egress, Execution, Http, HttpBody, HttpError, HttpRequest, Origin, OutputError, ProgressReport, QuestionBatch,
    ReverseCall, ReverseOutcome, SandboxUses, Tool, ToolAnnotations, ToolCaller,
};
use services::egress::named_secrets;
use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::sync::Arc;

/// The answers that are left, and what happened so far.
#[derive(Default)]
struct State {
    answers: VecDeque<Reply>,
    tools: VecDeque<ToolReply>,
    http: VecDeque<HttpReply>,
    abilities: Abilities,
    seen: Seen,
}

/// What a call did.
#[derive(Default, Clone)]
pub(super) struct Seen {
    pub(super) chunks: Vec<String>,
    /// The messages of questions.
    pub(super) asked: Vec<String>,
    /// Tools with their arguments.
    pub(super) called: Vec<String>,
    /// Methods and addresses.
    pub(super) sent: Vec<String>,
    /// Secrets that requests named.
    pub(super) secrets: Vec<String>,
    pub(super) sandbox: SandboxUses,
    /// Answers of the transcript that nobody asked for.
    pub(super) unused: Vec<String>,
}

/// A chunk or a result as text.
pub(super) fn lines(content: &[Content]) -> String {
    content.iter().map(content_to_text).collect::<Vec<_>>().join("\n")
}

pub(super) fn called_line(call: &ReverseCall) -> String {
    format!("{} {}", call.name, call.arguments.text())
}

pub(super) fn sent_line(request: &HttpRequest) -> String {
    format!("{} {}", request.method, request.url)
}

/// Clones share the script.
#[derive(Clone, Default)]
pub(super) struct Script(Arc<Mutex<State>>);

impl Script {
    /// Begins a call: from now on its answers are given.
    pub(super) fn begin(&self, call: &TestCall) {
        let (answers, tools) = (call.answers.clone().into(), call.tools.clone().into());
        let (http, abilities) = (call.http.clone().into(), ClientKind::abilities(call.client.as_deref()));
        *self.0.lock() = State { answers, tools, http, abilities, seen: Seen::default() };
    }

    /// Ends the call. Returns what it did.
    pub(super) fn end(&self) -> Seen {
        let mut state = std::mem::take(&mut *self.0.lock());
        let tools = state.tools.iter().map(|tool| format!("the answer of the tool `{}`", tool.name));
        let http = state.http.iter().map(|http| format!("the answer to `{}`", http.request));
        let answers = state.answers.iter().map(|_| "an answer to a question".to_owned());
        state.seen.unused = answers.chain(tools).chain(http).collect();
        state.seen
    }

    fn answer(&self, question: &CheckedQuestion) -> ClientReply {
        let mut state = self.0.lock();
        state.seen.asked.push(reply::message(question));
        match state.answers.pop_front() {
            Some(reply) => reply.answer(question),
            None => ClientReply::Failed("the transcript has no answer to this question".into()),
        }
    }
}

#[async_trait]
impl ClientCalls for Script {
    fn abilities(&self) -> Abilities {
        self.0.lock().abilities
    }

    async fn ask(&self, batch: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        Ok(batch.questions.iter().map(|(_, question)| self.answer(question)).collect())
    }
}

#[async_trait]
impl ToolCaller for Script {
    /// The tools for which the transcript has answers left.
    fn tools(&self) -> Vec<AgentTool> {
        let names: BTreeSet<_> = self.0.lock().tools.iter().map(|tool| tool.name.clone()).collect();
        names.into_iter().map(agent_tool).collect()
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        match self.0.lock().tools.iter().any(|tool| tool.name == name) {
            true => Ok(Origin::Client),
            false => Err(AgentError::UnknownTool(name.to_owned())),
        }
    }

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        let mut state = self.0.lock();
        state.seen.called.push(called_line(&call));
        // Takes the next answer of this tool, since concurrent calls come in any order.
        let at = state.tools.iter().position(|tool| tool.name == call.name);
        let Some(reply) = at.and_then(|at| state.tools.remove(at)) else {
            return ReverseOutcome::unasked(AgentError::UnknownTool(call.name));
        };
        let answer = reply.answer();
        ReverseOutcome::free(answer)
    }
}

fn agent_tool(name: String) -> AgentTool {
    let tool = Tool {
        name,
        title: None,
        description: String::new(),
        input_schema: r#"{"type":"object"}"#.into(),
        output_schema: None,
        annotations: ToolAnnotations { read_only: None, destructive: None, idempotent: None, open_world: None },
        execution: Execution::Inline,
        icons: vec![],
    };
    AgentTool { tool, origin: Origin::Client }
}

fn is_this_machine(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[async_trait]
impl Egress for Script {
    async fn send(&self, request: HttpRequest, call: Http) -> Result<http::Response<HttpBody>, HttpError> {
        let (target, _) = HttpTarget::parse_request(&request.method, &request.url).map_err(HttpError::Request)?;
        call.authorize(&target)?;
        let line = sent_line(&request);
        // Checks secrets as for a live request, but does not insert them: no transcript has their values.
        for name in named_secrets(&request.headers) {
            self.0.lock().seen.secrets.push(name.clone());
            call.authorize_secret(&name, &target, target.secure || is_this_machine(&target.host))?;
        }
        // The guest may wait until the body of its request is read.
        let _ = request.body.collect().await?;
        let mut state = self.0.lock();
        state.seen.sent.push(line.clone());
        let at = state.http.iter().position(|http| http.request == line);
        let reply = at.and_then(|at| state.http.remove(at));
        let reply = reply.ok_or_else(|| HttpError::Failed(format!("the transcript has no answer to `{line}`")))?;
        reply.answer()
    }
}

#[async_trait]
impl CallSink for Script {
    async fn chunk(&self, _seq: u64, chunk: Chunk) -> Result<(), OutputError> {
        self.0.lock().seen.chunks.push(lines(&chunk.content));
        Ok(())
    }

    fn progress(&self, _report: ProgressReport) {}
}
