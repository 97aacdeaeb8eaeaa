//! A call that waits for an answer from outside: its place among the running calls goes to others meanwhile, and its
//! deadlines stand still.

use crate::engine::{MAX_WAITING, Standstill};
use crate::imports::{
    Abilities, Budgeted, ClientCalls, ClientError, Exhaustion, Inquiry, ModelError, ModelProvider, Reply,
    SampleRequest, Sampled,
};
use async_trait::async_trait;
use futures::future::{BoxFuture, join_all};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A root call's place among the running calls.
pub(super) struct Place {
    places: Arc<Semaphore>,
    held: Mutex<Option<OwnedSemaphorePermit>>,
}

impl Place {
    pub(super) fn new(places: Arc<Semaphore>, held: OwnedSemaphorePermit) -> Arc<Self> {
        Arc::new(Self { places, held: Mutex::new(Some(held)) })
    }

    pub(super) fn leave(&self) {
        drop(self.held.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// Waits in line for a place again.
    async fn enter(&self) {
        // Fails only when the semaphore is closed, which nobody does.
        if let Ok(place) = self.places.clone().acquire_owned().await {
            self.held.lock().unwrap_or_else(PoisonError::into_inner).replace(place);
        }
    }
}

/// The client of a chain of calls.
pub(super) struct Waiting {
    pub(super) client: Arc<dyn ClientCalls>,
    pub(super) model: Option<Arc<dyn ModelProvider>>,
    pub(super) place: Arc<Place>,
    pub(super) standstill: Standstill,
    pub(super) waiting: Arc<Semaphore>,
}

impl Waiting {
    /// Waits for somebody outside.
    async fn away<T>(&self, work: impl Future<Output = T> + Send) -> Result<T, ClientError> {
        // Waiting calls keep their instances, of which there are only so many.
        let Ok(_waits) = self.waiting.clone().try_acquire_owned() else {
            let limit = MAX_WAITING.into();
            return Err(ClientError::Exhausted(Exhaustion { budget: Budgeted::Questions, limit }));
        };
        let _still = self.standstill.begin();
        self.place.leave();
        let done = work.await;
        self.place.enter().await;
        Ok(done)
    }
}

#[async_trait]
impl ClientCalls for Waiting {
    fn abilities(&self) -> Abilities {
        self.client.abilities()
    }

    async fn ask(&self, inquiry: Inquiry) -> Result<Vec<Reply>, ClientError> {
        self.away(self.client.ask(inquiry)).await?
    }

    async fn stand_by(&self, event: BoxFuture<'_, ()>) -> Result<(), ClientError> {
        self.away(event).await
    }

    fn has_model(&self) -> bool {
        self.model.is_some()
    }

    async fn ask_model(
        &self,
        requests: &[SampleRequest],
        patience: Duration,
    ) -> Result<Vec<Result<Sampled, ModelError>>, ClientError> {
        let Some(model) = &self.model else {
            return Err(ClientError::NotOffered("a model of the host's own".into()));
        };
        self.away(join_all(requests.iter().map(|request| model.sample(request, patience)))).await
    }
}
