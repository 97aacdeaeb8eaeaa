//! A call that waits for an answer from outside: its place among the running calls goes to others meanwhile, and its
//! deadlines stand still.

use super::runner::Purse;
use async_trait::async_trait;
use futures::future::{BoxFuture, join_all};
use runtime::engine::{FairSemaphore, Slot, MAX_WAITING, SlotRequest, PausableDeadline};
use runtime::imports::{
    Abilities, Budgeted, ClientCalls, ClientError, Exhaustion, Inquiry, ModelError, ModelProvider, Reply,
    SampleRequest, Sampled,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A root call's place among the running calls. The call may wait for several things at once: its place is free as long
/// as any of them is waited for.
pub(super) struct Place {
    places: FairSemaphore,
    slot_request: SlotRequest,
    /// Who pays for it, if that is not its own request.
    purse: Option<Arc<dyn Purse>>,
    state: Mutex<State>,
}

struct State {
    held: Option<Slot>,
    /// How much is waited for, and the call's one place among those that wait.
    away: usize,
    waits: Option<OwnedSemaphorePermit>,
}

/// Something is waited for until this is dropped.
struct Away<'a>(&'a Place);

impl Drop for Away<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.away -= 1;
        if state.away == 0 {
            state.waits = None;
        }
    }
}

impl Place {
    pub(super) fn new(places: FairSemaphore, slot_request: SlotRequest, held: Slot, purse: Option<Arc<dyn Purse>>) -> Arc<Self> {
        let state = State { held: Some(held), away: 0, waits: None };
        Arc::new(Self { places, slot_request, purse, state: Mutex::new(state) })
    }

    pub(super) fn purse(&self) -> Option<&Arc<dyn Purse>> {
        self.purse.as_ref()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn leave(&self) {
        let held = self.state().held.take();
        drop(held);
    }

    /// Begins to wait, if there is room among those that do.
    fn go(&self, waiting: &Arc<Semaphore>) -> Option<Away<'_>> {
        let mut state = self.state();
        if state.away == 0 {
            state.waits = Some(waiting.clone().try_acquire_owned().ok()?);
            state.held = None;
        }
        state.away += 1;
        Some(Away(self))
    }

    /// Comes back from waiting. The last one waits in line for a place again.
    async fn come_back(&self, away: Away<'_>) {
        let in_line = {
            let state = self.state();
            state.away == 1 && state.held.is_none()
        };
        // There is always room in the line for one that comes back.
        if in_line && let Ok(place) = self.places.place_again(&self.slot_request).await {
            let mut state = self.state();
            // Something else may be waited for by now.
            state.held = (state.away == 1).then_some(place);
        }
        drop(away);
    }
}

/// The client of a chain of calls.
pub(super) struct Waiting {
    pub(super) client: Arc<dyn ClientCalls>,
    pub(super) model: Option<Arc<dyn ModelProvider>>,
    pub(super) place: Arc<Place>,
    pub(super) pausable_deadline: PausableDeadline,
    pub(super) waiting: Arc<Semaphore>,
}

impl Waiting {
    /// Waits for somebody outside.
    async fn away<T>(&self, work: impl Future<Output = T> + Send) -> Result<T, ClientError> {
        // Waiting calls keep their instances, of which there are only so many.
        let Some(away) = self.place.go(&self.waiting) else {
            let limit = MAX_WAITING.into();
            return Err(ClientError::Exhausted(Exhaustion { budget: Budgeted::Questions, limit }));
        };
        let _still = self.pausable_deadline.begin();
        let done = work.await;
        self.place.come_back(away).await;
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

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use policy::{PluginId, Side};
    use runtime::engine::SlotLimits;

    #[test]
    fn a_call_that_waits_for_several_things_waits_once() {
        let places = FairSemaphore::new(SlotLimits { all: 1, per_principal: 1, queue: 1 });
        let waiting = Arc::new(Semaphore::new(1));
        let plugin = PluginId { side: Side::Server, name: "a".into() };
        let slot_request = SlotRequest { principal: "ann".into(), plugin, concurrent: 1, queue: 1 };
        let held = || places.place(&slot_request).now_or_never().unwrap().ok().unwrap();
        let new = || Place::new(places.clone(), slot_request.clone(), held(), None);
        let place = new();
        let first = place.go(&waiting).unwrap();
        let second = place.go(&waiting).unwrap();
        assert_eq!((places.is_idle(), waiting.available_permits()), (true, 0));
        let other = new();
        assert!(other.go(&waiting).is_none(), "no room among those that wait");
        place.come_back(first).now_or_never().expect("it need not stand in line: the other still waits");
        let mut last = Box::pin(place.come_back(second));
        assert!((&mut last).now_or_never().is_none(), "somebody else has the place");
        other.leave();
        last.now_or_never().expect("there is a place");
        assert_eq!((places.is_idle(), waiting.available_permits()), (false, 1));
    }
}
