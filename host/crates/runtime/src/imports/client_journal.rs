//! The client of a journaled call: it is not asked again what it has answered to an earlier run.

use super::client::{
    Abilities, ClientCalls, ClientError, ClientReply, ModelAnswer, ModelError, QuestionBatch, SampleRequest,
};
use crate::journal::{CallJournal, Repeat};
use async_trait::async_trait;
use futures::future::BoxFuture;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct JournaledClient {
    client: Arc<dyn ClientCalls>,
    journal: CallJournal,
}

impl JournaledClient {
    /// The client itself, for a call without a journal.
    pub(super) fn wrap(client: Arc<dyn ClientCalls>, journal: &CallJournal) -> Arc<dyn ClientCalls> {
        match journal.is_on() {
            true => Arc::new(Self { client, journal: journal.clone() }),
            false => client,
        }
    }
}

#[async_trait]
impl ClientCalls for JournaledClient {
    fn abilities(&self) -> Abilities {
        self.journal.begin("client.supported", &()).see(|| self.client.abilities())
    }

    /// The client is asked again if no answer is recorded. That is safe: the person who answers sees the question, and answers
    /// it once.
    async fn ask(&self, batch: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        let step = self.journal.begin("client.ask", &batch.questions);
        let batch = QuestionBatch { step: step.name(), ..batch };
        step.ask(self.client.ask(batch)).await
    }

    async fn wait_outside(&self, event: BoxFuture<'_, ()>) -> Result<(), ClientError> {
        self.client.wait_outside(event).await
    }

    fn has_model(&self) -> bool {
        self.journal.begin("client.has-model", &()).see(|| self.client.has_model())
    }

    async fn ask_model(
        &self,
        requests: &[SampleRequest],
        timeout: Duration,
    ) -> Result<Vec<Result<ModelAnswer, ModelError>>, ClientError> {
        let step = self.journal.begin("client.ask-model", &requests);
        step.act(Repeat::Safe, self.client.ask_model(requests, timeout)).await
    }
}
