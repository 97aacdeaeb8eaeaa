//! The guest's side of a question: it is queued for the request that serves the call at the moment, and then awaited.

use super::pending::{PendingQuestions, PendingRequest, no_answer};
use super::stream::CallEvent;
use super::view::RequestView;
use async_trait::async_trait;
use protocol::questions;
use runtime::imports::{Abilities, ClientCalls, ClientError, ClientReply, QuestionBatch};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Asks through the call's event queue, so that everything the guest emitted before the question is sent before it.
pub(crate) struct QueuedClient {
    pub(crate) view: Arc<RequestView>,
    pub(crate) queue: mpsc::Sender<CallEvent>,
}

#[async_trait]
impl ClientCalls for QueuedClient {
    fn abilities(&self) -> Abilities {
        self.view.abilities()
    }

    async fn ask(&self, mut batch: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        // The request may already bring answers, since an earlier round asked for them.
        let mut replies: Vec<Option<ClientReply>> = batch
            .questions
            .iter()
            .map(|(key, question)| self.view.take_answer(key).map(|value| questions::reply_from_json(question, value)))
            .map(|reply| reply.filter(|reply| !matches!(reply, ClientReply::Missing(_))))
            .collect();
        for ((key, _), reply) in batch.questions.iter().zip(&mut replies) {
            if self.view.take_asked(key) && reply.is_none() {
                *reply = Some(no_answer(key));
            }
        }
        let mut answered = replies.iter().map(Option::is_some);
        batch.questions.retain(|_| !answered.next().unwrap_or_default());
        if !batch.questions.is_empty() {
            let (sender, receiver) = oneshot::channel();
            let request = PendingRequest::Questions(PendingQuestions::new(batch, sender));
            // The receiver of the queue is gone when the call is cancelled.
            self.queue.send(CallEvent::Request(Box::new(request))).await.map_err(|_| ClientError::Cancelled)?;
            let mut rest = receiver.await.map_err(|_| ClientError::Cancelled)??.into_iter();
            for reply in replies.iter_mut().filter(|reply| reply.is_none()) {
                *reply = rest.next();
            }
        }
        let missing = || ClientReply::Missing("the client sent no answer to this question".into());
        Ok(replies.into_iter().map(|reply| reply.unwrap_or_else(missing)).collect())
    }
}
