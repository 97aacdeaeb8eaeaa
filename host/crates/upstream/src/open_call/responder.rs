//! Answers a server during one call: through the agent's handler or, behind a gateway, through the call's client.

use crate::api::call::CallerScope;
use crate::api::handler::{AgentHandler, Requester, ReverseCallDecision, ReverseCallRequest, UpstreamCallEvent};
use crate::api::links::Links;
use crate::open_call::pausing_client::PausingClient;
use crate::open_call::questions::ServerQuestion;
use crate::open_call::queued_chunks::{ChunkQueue, ChunkRoom, QueuedChunk};
use async_trait::async_trait;
use platform::sync::Mutex;
use policy::{Lineage, PluginId, Side};
use runtime::engine::PausableClock;
use runtime::imports::{
    Abilities, Author, CallSink, Chunk, ClientCalls, ClientError, ClientReply, LogLevel, QuestionBatch, count_questions,
};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, MutexGuard};
use std::time::Duration;
use tokio::sync::mpsc;

#[derive(Clone)]
pub(crate) enum Responder {
    /// The agent's own handler.
    Agent(Arc<dyn AgentHandler>, Lineage),
    /// The client that made the call through this host.
    Client(Arc<ClientResponder>),
}

/// Answers through the client that made a call through this host.
pub(crate) struct ClientResponder {
    client: Arc<dyn ClientCalls>,
    /// The clock of the call's chain. It stands still while the client is asked.
    clock: PausableClock,
    sink: Arc<dyn CallSink>,
    lineage: Lineage,
    /// Time limit for one answer.
    answer_timeout: Duration,
    /// Number of questions so far, which makes their keys unique.
    question_count: AtomicU32,
    links: Links,
    /// Queues chunks for the sink; none when the call has ended.
    chunks: Mutex<Option<ChunkQueue>>,
}

impl ClientResponder {
    /// Returns the queue of chunks for [`Self::forward_chunks`] as well.
    pub(crate) fn new(caller_scope: &CallerScope, room: &ChunkRoom) -> (Arc<Self>, mpsc::Receiver<QueuedChunk>) {
        let (chunks, queue) = ChunkQueue::new(room);
        let CallerScope { client, pausable_clock, sink, lineage, answer_timeout, links, .. } = caller_scope;
        let (client, sink, lineage, answer_timeout) = (client.clone(), sink.clone(), lineage.clone(), *answer_timeout);
        let (clock, links) = (pausable_clock.clone(), links.clone());
        let (question_count, chunks) = (AtomicU32::new(0), Mutex::new(Some(chunks)));
        (Arc::new(Self { client, clock, sink, lineage, answer_timeout, question_count, links, chunks }), queue)
    }

    /// Runs `work` and forwards chunks meanwhile. All chunks have been forwarded when it returns.
    pub(crate) async fn forward_chunks<T>(
        &self,
        mut queue: mpsc::Receiver<QueuedChunk>,
        work: impl Future<Output = T>,
    ) -> T {
        let working = async {
            let done = work.await;
            self.chunks().take();
            done
        };
        let passing = async {
            let mut seq = 0;
            while let Some(chunk) = queue.recv().await {
                if self.sink.chunk(seq, chunk.into_chunk()).await.is_err() {
                    // The reader is gone, or the output limit is reached.
                    break;
                }
                seq += 1;
            }
            queue.close();
        };
        tokio::join!(working, passing).0
    }

    fn chunks(&self) -> MutexGuard<'_, Option<ChunkQueue>> {
        self.chunks.lock()
    }

    fn on_call_event(&self, server: &str, event: UpstreamCallEvent) {
        match event {
            UpstreamCallEvent::Chunk { mut content, origin, .. } => {
                self.links.resolve(server, &mut content);
                if let Some(chunks) = &*self.chunks() {
                    // The server names its own tools; the prefix keeps them from being taken for tools of this host.
                    let origin = origin.into_iter().map(|tool| format!("{server}.{tool}")).collect();
                    // A full queue drops the chunk, since the server cannot be made to wait.
                    chunks.push(Chunk { content, origin });
                }
            }
            UpstreamCallEvent::Progress(report) => self.sink.progress(report),
            UpstreamCallEvent::Log(text) => self.sink.log(LogLevel::Info, &text),
            UpstreamCallEvent::CallId(_) | UpstreamCallEvent::Status(_) | UpstreamCallEvent::Resumable(_) => {}
        }
    }
}

impl Responder {
    /// The kinds of questions that can be answered.
    pub(crate) fn abilities(&self) -> Abilities {
        match self {
            Responder::Agent(handler, _) => handler.abilities(),
            Responder::Client(client) => client.client.abilities(),
        }
    }

    /// Decides whether a reverse call may run. Behind a gateway the operator has decided already, in `offer`.
    pub(crate) async fn approve(&self, request: &ReverseCallRequest) -> ReverseCallDecision {
        match self {
            Responder::Agent(handler, _) => handler.approve(request).await,
            Responder::Client(..) => ReverseCallDecision::Allow,
        }
    }

    /// Asks the server's questions and returns the replies in the same order. A client gets all of them in one batch.
    pub(crate) async fn ask(
        &self,
        requester: &Requester,
        questions: Vec<ServerQuestion>,
    ) -> Result<Vec<ClientReply>, ClientError> {
        count_questions(self.lineage(), questions.len()).map_err(ClientError::Exhausted)?;
        self.ask_counted(requester, questions).await
    }

    /// Asks questions that are counted already.
    async fn ask_counted(
        &self,
        requester: &Requester,
        questions: Vec<ServerQuestion>,
    ) -> Result<Vec<ClientReply>, ClientError> {
        match self {
            Responder::Agent(handler, _) => {
                // One after the other, since a person looks at one question at a time.
                let mut replies = Vec::with_capacity(questions.len());
                for asked in questions {
                    let (question, plugin) = asked.for_agent();
                    let plugin = plugin.or_else(|| requester.plugin.clone());
                    replies.push(handler.answer(&Requester { plugin, ..requester.clone() }, &question).await);
                }
                Ok(replies)
            }
            Responder::Client(client) => {
                let more = u32::try_from(questions.len()).unwrap_or(u32::MAX);
                let before = client.question_count.fetch_add(more, Ordering::Relaxed);
                let key = |(at, asked): (u64, ServerQuestion)| {
                    (format!("{}.{}", requester.server, u64::from(before) + at), asked.question)
                };
                let questions = (1u64..).zip(questions).map(key).collect();
                let plugin = PluginId { side: Side::Server, name: requester.server.as_str().into() };
                let _pause = client.clock.pause();
                let (author, timeout) = (Author::Plugin, client.answer_timeout);
                client.client.ask(QuestionBatch { plugin, author, questions, timeout, step: None }).await
            }
        }
    }

    /// The chain of calls whose budgets pay for questions.
    fn lineage(&self) -> &Lineage {
        match self {
            Responder::Agent(_, lineage) => lineage,
            Responder::Client(client) => &client.lineage,
        }
    }

    pub(crate) fn on_call_event(&self, requester: &Requester, event: UpstreamCallEvent) {
        match self {
            Responder::Agent(handler, _) => handler.on_call_event(&requester.task, event),
            Responder::Client(client) => client.on_call_event(&requester.server, event),
        }
    }

    /// A client for agent-side components that a server calls. Their questions go where the server's questions go, and
    /// pause the deadlines of the chain.
    pub(crate) fn as_client(&self, requester: &Requester, clock: PausableClock) -> Arc<dyn ClientCalls> {
        let client: Arc<dyn ClientCalls> = match self {
            Responder::Agent(..) => Arc::new(HandlerClient { responder: self.clone(), requester: requester.clone() }),
            Responder::Client(client) => client.client.clone(),
        };
        Arc::new(PausingClient { client, clock })
    }
}

/// An agent's handler as the client of a component.
struct HandlerClient {
    responder: Responder,
    requester: Requester,
}

#[async_trait]
impl ClientCalls for HandlerClient {
    fn abilities(&self) -> Abilities {
        self.responder.abilities()
    }

    async fn ask(&self, batch: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        let requester = Requester { plugin: Some(batch.plugin.table()), ..self.requester.clone() };
        let questions = batch.questions.into_iter().map(|(_, question)| ServerQuestion { question, plugin: None });
        let questions = questions.collect();
        match tokio::time::timeout(batch.timeout, self.responder.ask_counted(&requester, questions)).await {
            Ok(replies) => replies,
            Err(_) => Err(ClientError::Timeout(u64::try_from(batch.timeout.as_millis()).unwrap_or(u64::MAX))),
        }
    }
}
