//! Who answers a server during one call: the agent's face, or, behind a gateway, the client whose call it is.

use super::call::Under;
use crate::{Asker, Face, Heard, ToolRequest, Verdict};
use async_trait::async_trait;
use policy::{PluginId, Side};
use runtime::imports::{Abilities, Asked, CallSink, Chunk, ClientCalls, ClientError, Inquiry, Level, Questions, Reply};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;

/// Chunks of one call that wait for a slow reader. Bounds what a server makes us keep.
const MAX_WAITING: usize = 256;

/// Who answers.
#[derive(Clone)]
pub(super) enum Voice {
    /// The agent's own, and the questions that it was asked.
    Face(Arc<dyn Face>, Questions),
    /// Whoever made the call through this host.
    Client(Arc<Caller>),
}

/// Somebody who made a call through this host.
pub(super) struct Caller {
    client: Arc<dyn ClientCalls>,
    sink: Arc<dyn CallSink>,
    questions: Questions,
    /// How long an answer may take.
    patience: Duration,
    /// For keys that are told apart.
    asked: AtomicU32,
    /// Chunks that wait for the sink, as long as there can be more.
    chunks: Mutex<Option<mpsc::Sender<Chunk>>>,
}

impl Caller {
    /// With the chunks that are to be passed on, by [`Self::pass_on`].
    pub(super) fn new(under: &Under) -> (Arc<Self>, mpsc::Receiver<Chunk>) {
        let (chunks, waiting) = mpsc::channel(MAX_WAITING);
        let Under { client, sink, questions, answer, .. } = under;
        let (client, sink, questions, patience) = (client.clone(), sink.clone(), questions.clone(), *answer);
        let (asked, chunks) = (AtomicU32::new(0), Mutex::new(Some(chunks)));
        (Arc::new(Self { client, sink, questions, patience, asked, chunks }), waiting)
    }

    /// Does the work, and passes chunks on meanwhile; all of them have been passed on when it is done.
    pub(super) async fn pass_on<T>(&self, mut waiting: mpsc::Receiver<Chunk>, work: impl Future<Output = T>) -> T {
        let working = async {
            let done = work.await;
            self.chunks().take();
            done
        };
        let passing = async {
            let mut seq = 0;
            while let Some(chunk) = waiting.recv().await {
                if self.sink.chunk(seq, chunk).await.is_err() {
                    // Nobody reads any more, or enough was said.
                    break;
                }
                seq += 1;
            }
            waiting.close();
        };
        tokio::join!(working, passing).0
    }

    fn chunks(&self) -> MutexGuard<'_, Option<mpsc::Sender<Chunk>>> {
        self.chunks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn heard(&self, heard: Heard) {
        match heard {
            Heard::Chunk { content, origin, .. } => {
                if let Some(chunks) = &*self.chunks() {
                    // A reader who is that far behind misses some: the server cannot be made to wait.
                    let _ = chunks.try_send(Chunk { content, origin });
                }
            }
            Heard::Progress(report) => self.sink.progress(report),
            Heard::Log(text) => self.sink.log(Level::Info, &text),
            Heard::Named(_) => {}
        }
    }
}

impl Voice {
    /// What can be asked.
    pub(super) fn abilities(&self) -> Abilities {
        match self {
            Voice::Face(face, _) => face.abilities(),
            Voice::Client(caller) => caller.client.abilities(),
        }
    }

    /// Whether a reverse call may run. Behind a gateway the operator has said so already, in `offer`.
    pub(super) async fn approve(&self, request: &ToolRequest) -> Verdict {
        match self {
            Voice::Face(face, _) => face.approve(request).await,
            Voice::Client(..) => Verdict::Allow,
        }
    }

    /// Puts questions, all that belong together at once where that can be, and waits for the replies, in their order.
    pub(super) async fn ask(&self, from: &Asker, questions: Vec<Asked>) -> Result<Vec<Reply>, ClientError> {
        let more = u32::try_from(questions.len()).unwrap_or(u32::MAX);
        match self {
            Voice::Face(face, asked) => {
                asked.count(more).map_err(ClientError::Exhausted)?;
                // One after the other: a person looks at one thing at a time.
                let mut replies = Vec::with_capacity(questions.len());
                for question in &questions {
                    replies.push(face.answer(from, question).await);
                }
                Ok(replies)
            }
            Voice::Client(caller) => {
                caller.questions.count(more).map_err(ClientError::Exhausted)?;
                let before = caller.asked.fetch_add(more, Ordering::Relaxed);
                let key = |(at, asked)| (format!("{}.{}", from.server, u64::from(before) + at), asked);
                let questions = (1u64..).zip(questions).map(key).collect();
                let plugin = PluginId { side: Side::Server, name: from.server.clone() };
                caller.client.ask(Inquiry { plugin, questions, held: 0, patience: caller.patience }).await
            }
        }
    }

    /// Those that were asked so far.
    pub(super) fn questions(&self) -> Questions {
        match self {
            Voice::Face(_, questions) => questions.clone(),
            Voice::Client(caller) => caller.questions.clone(),
        }
    }

    /// A running call said something.
    pub(super) fn heard(&self, task: &str, heard: Heard) {
        match self {
            Voice::Face(face, _) => face.heard(task, heard),
            Voice::Client(caller) => caller.heard(heard),
        }
    }

    /// The same for agent-side components that a server calls: their questions go where the server's go.
    pub(super) fn as_client(&self, from: &Asker) -> Arc<dyn ClientCalls> {
        match self {
            Voice::Face(..) => Arc::new(Spoken { voice: self.clone(), from: from.clone() }),
            Voice::Client(caller) => caller.client.clone(),
        }
    }
}

/// A face as the client of a component.
struct Spoken {
    voice: Voice,
    from: Asker,
}

#[async_trait]
impl ClientCalls for Spoken {
    fn abilities(&self) -> Abilities {
        self.voice.abilities()
    }

    async fn ask(&self, inquiry: Inquiry) -> Result<Vec<Reply>, ClientError> {
        let from = Asker { plugin: Some(inquiry.plugin.table()), ..self.from.clone() };
        let questions = inquiry.questions.into_iter().map(|(_, asked)| asked).collect();
        match tokio::time::timeout(inquiry.patience, self.voice.ask(&from, questions)).await {
            Ok(replies) => replies,
            Err(_) => Err(ClientError::Timeout(u64::try_from(inquiry.patience.as_millis()).unwrap_or(u64::MAX))),
        }
    }
}
