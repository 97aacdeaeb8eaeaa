//! The client of a component that a server calls: while it is asked, the deadlines of the chain are paused.

use async_trait::async_trait;
use futures::future::BoxFuture;
use runtime::engine::PausableClock;
use runtime::imports::{
    Abilities, ClientCalls, ClientError, ClientReply, ModelAnswer, ModelError, QuestionBatch, SampleRequest,
};
use std::sync::Arc;
use std::time::Duration;

pub(crate) struct PausingClient {
    pub(crate) client: Arc<dyn ClientCalls>,
    pub(crate) clock: PausableClock,
}

#[async_trait]
impl ClientCalls for PausingClient {
    fn abilities(&self) -> Abilities {
        self.client.abilities()
    }

    async fn ask(&self, questions: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        let _pause = self.clock.pause();
        self.client.ask(questions).await
    }

    async fn wait_outside(&self, event: BoxFuture<'_, ()>) -> Result<(), ClientError> {
        let _pause = self.clock.pause();
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
        let _pause = self.clock.pause();
        self.client.ask_model(requests, timeout).await
    }
}
