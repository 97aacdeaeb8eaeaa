//! The client of a call. While the call waits for it, the call's slot is given to others and its deadlines are paused.

use crate::calls::slots::root_slot::RootSlot;
use async_trait::async_trait;
use futures::future::{BoxFuture, join_all};
use runtime::engine::{HeldResources, MAX_WAITING_INSTANCES, PausableClock};
use runtime::imports::{
    Abilities, BudgetKind, ClientCalls, ClientError, ClientReply, Exhaustion, ModelAnswer, ModelError, ModelProvider,
    QuestionBatch, SampleRequest,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The client of a root call and of the calls nested in it.
pub(in crate::calls) struct WaitingClient {
    pub(in crate::calls) client: Arc<dyn ClientCalls>,
    pub(in crate::calls) model: Option<Arc<dyn ModelProvider>>,
    pub(in crate::calls) slot: Arc<RootSlot>,
    pub(in crate::calls) pausable_clock: PausableClock,
    pub(in crate::calls) wait_permits: Arc<Semaphore>,
    /// What the whole tree of calls holds.
    pub(in crate::calls) held: HeldResources,
}

impl WaitingClient {
    /// Runs `work` without a slot and with paused deadlines.
    async fn while_waiting<T>(&self, work: impl Future<Output = T> + Send) -> Result<T, ClientError> {
        // Waiting calls keep their instances, whose number is limited.
        let instances = u32::try_from(self.held.now().instances).unwrap_or(u32::MAX);
        let Some(guard) = self.slot.wait(&self.wait_permits, instances) else {
            let limit = MAX_WAITING_INSTANCES.into();
            return Err(ClientError::Exhausted(Exhaustion { budget: BudgetKind::Questions, limit }));
        };
        let _pause = self.pausable_clock.pause();
        let output = work.await;
        self.slot.resume(guard).await;
        Ok(output)
    }
}

#[async_trait]
impl ClientCalls for WaitingClient {
    fn abilities(&self) -> Abilities {
        self.client.abilities()
    }

    async fn ask(&self, questions: QuestionBatch) -> Result<Vec<ClientReply>, ClientError> {
        self.while_waiting(self.client.ask(questions)).await?
    }

    async fn wait_outside(&self, event: BoxFuture<'_, ()>) -> Result<(), ClientError> {
        self.while_waiting(event).await
    }

    fn has_model(&self) -> bool {
        self.model.is_some()
    }

    async fn ask_model(
        &self,
        requests: &[SampleRequest],
        timeout: Duration,
    ) -> Result<Vec<Result<ModelAnswer, ModelError>>, ClientError> {
        let Some(model) = &self.model else {
            return Err(ClientError::NotOffered("a model of the host's own".into()));
        };
        self.while_waiting(join_all(requests.iter().map(|request| model.sample(request, timeout)))).await
    }
}
