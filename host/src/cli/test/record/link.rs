//! Records what a call exchanges with its caller: chunks, questions, calls of the agent's tools.

use super::super::reply::{self, Reply};
use super::super::script::{called_line, lines};
use super::super::tool_reply::ToolReply;
use super::notes::Notes;
use async_trait::async_trait;
use futures::future::BoxFuture;
use runtime::imports::{
    Abilities, AgentError, AgentResult, AgentTool, CallSink, Chunk, ClientCalls, ClientError, ClientLink, ClientReply,
    Content, LogLevel, ModelAnswer, ModelError, Origin, OutputError, ProgressReport, QuestionBatch, ReverseCall,
    ReverseOutcome, SampleRequest, Tool, ToolCaller,
};
use runtime::journal::Repeat;
use std::sync::Arc;
use std::time::Duration;

tokio::task_local! {
    /// Set while a tool that the recorded call has called asks the client: a replay does not call that tool, so it asks
    /// nothing.
    static NESTED: ();
}

pub(super) fn is_nested() -> bool {
    NESTED.try_with(|()| ()).is_ok()
}

pub(super) fn link(link: ClientLink, notes: &Notes) -> ClientLink {
    ClientLink {
        sink: Arc::new(RecordedSink { sink: link.sink, notes: notes.clone() }),
        client: Arc::new(RecordedClient { client: link.client, notes: notes.clone() }),
        agent: Arc::new(RecordedAgent { agent: link.agent, notes: notes.clone() }),
        ..link
    }
}

struct RecordedSink {
    sink: Arc<dyn CallSink>,
    notes: Notes,
}

#[async_trait]
impl CallSink for RecordedSink {
    async fn chunk(&self, seq: u64, chunk: Chunk) -> Result<(), OutputError> {
        // Chunks with an origin come from called tools, which a replay does not call.
        let own = chunk.origin.is_empty().then(|| lines(&chunk.content));
        self.sink.chunk(seq, chunk).await?;
        match own {
            Some(text) => self.notes.chunk(text),
            None => self.notes.hint("it passed on chunks of a tool that it called, which a transcript does not have"),
        }
        Ok(())
    }

    fn replayed_chunk(&self, seq: u64, chunk: Chunk) {
        self.sink.replayed_chunk(seq, chunk);
    }

    fn progress(&self, report: ProgressReport) {
        self.sink.progress(report);
    }

    fn log(&self, level: LogLevel, message: &str) {
        self.sink.log(level, message);
    }
}

struct RecordedClient {
    client: Arc<dyn ClientCalls>,
    notes: Notes,
}

#[async_trait]
impl ClientCalls for RecordedClient {
    fn abilities(&self) -> Abilities {
        let abilities = self.client.abilities();
        if !is_nested() {
            self.notes.abilities(abilities);
        }
        abilities
    }

    async fn ask(&self, batch: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        if is_nested() {
            return self.client.ask(batch).await;
        }
        let asked: Vec<_> = batch.questions.iter().map(|(_, question)| reply::message(question)).collect();
        let replies = self.client.ask(batch).await;
        match &replies {
            Ok(replies) => {
                for (message, reply) in asked.into_iter().zip(replies) {
                    self.notes.asked(message, Reply::from_live(reply));
                }
            }
            Err(error) => {
                self.notes.obstacle(format!("a question ended with `{}`, and not with an answer", error.name()))
            }
        }
        replies
    }

    async fn wait_outside(&self, event: BoxFuture<'_, ()>) -> Result<(), ClientError> {
        self.client.wait_outside(event).await
    }

    fn has_model(&self) -> bool {
        self.client.has_model()
    }

    async fn ask_model(
        &self,
        requests: &[SampleRequest],
        timeout: Duration,
    ) -> Result<Vec<Result<ModelAnswer, ModelError>>, ClientError> {
        self.client.ask_model(requests, timeout).await
    }
}

struct RecordedAgent {
    agent: Arc<dyn ToolCaller>,
    notes: Notes,
}

#[async_trait]
impl ToolCaller for RecordedAgent {
    fn tools(&self) -> Vec<AgentTool> {
        self.notes.hint("it listed the agent's tools, of which a transcript has the names of those that are called");
        self.agent.tools()
    }

    fn tool(&self, name: &str) -> Option<Tool> {
        self.agent.tool(name)
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        self.agent.find(name)
    }

    async fn call(&self, mut call: ReverseCall) -> ReverseOutcome {
        let (name, at) = (call.name.clone(), self.notes.called(call.name.clone(), called_line(&call)));
        call.agent = self.agent.clone();
        call.client = Arc::new(NestedClient(call.client));
        let outcome = self.agent.call(call).await;
        if outcome.private.is_some() {
            self.notes.obstacle(format!("the answer of the tool `{name}` is private, which a transcript cannot say"));
        }
        let size = outcome.answer.as_ref().map_or_else(failure_size, AgentResult::size);
        self.notes.replied(at, size, ToolReply::from_live(&name, &outcome.answer));
        outcome
    }

    fn again(&self, name: &str, begun: Option<Repeat>) -> Repeat {
        self.agent.again(name, begun)
    }

    fn replayed(&self, name: &str) {
        self.agent.replayed(name);
    }

    async fn accompany(&self, parent: &str, id: &str, call: BoxFuture<'_, ReverseOutcome>) -> ReverseOutcome {
        self.agent.accompany(parent, id, call).await
    }

    fn lacks_declaration(&self) -> bool {
        self.agent.lacks_declaration()
    }
}

fn failure_size(error: &AgentError) -> u64 {
    match error {
        AgentError::ToolError(result) => result.content.iter().map(Content::size).sum(),
        AgentError::Failed(text)
        | AgentError::Declined(text)
        | AgentError::InvalidArguments(text)
        | AgentError::NotSupported(text) => text.len() as u64,
        _ => 0,
    }
}

/// The client for a tool that the recorded call calls.
struct NestedClient(Arc<dyn ClientCalls>);

#[async_trait]
impl ClientCalls for NestedClient {
    fn abilities(&self) -> Abilities {
        NESTED.sync_scope((), || self.0.abilities())
    }

    async fn ask(&self, batch: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        NESTED.scope((), self.0.ask(batch)).await
    }

    async fn wait_outside(&self, event: BoxFuture<'_, ()>) -> Result<(), ClientError> {
        self.0.wait_outside(event).await
    }

    fn has_model(&self) -> bool {
        self.0.has_model()
    }

    async fn ask_model(
        &self,
        requests: &[SampleRequest],
        timeout: Duration,
    ) -> Result<Vec<Result<ModelAnswer, ModelError>>, ClientError> {
        NESTED.scope((), self.0.ask_model(requests, timeout)).await
    }
}
