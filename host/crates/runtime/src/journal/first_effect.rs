//! The first effect of a call outside: whoever asked to be told is told before it happens.

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use platform::durable::{DurableError, StoreAnswer};
use platform::sync::Mutex;
use std::sync::Arc;

/// Notes that a call is about to make its first effect. An error means that it must not make it.
pub type EffectGuard = Arc<dyn Fn() -> StoreAnswer<()> + Send + Sync>;

/// None if nobody asked to be told.
#[derive(Default)]
pub(super) struct FirstEffect(Mutex<Option<State>>);

enum State {
    /// The call has done nothing yet.
    Untouched(EffectGuard),
    /// It is being noted, or has been noted.
    Noted(Noted),
}

/// Clones share the result.
pub(super) type Noted = Shared<BoxFuture<'static, Result<(), DurableError>>>;

impl FirstEffect {
    pub(super) fn guard(&self, guard: EffectGuard) {
        *self.0.lock() = Some(State::Untouched(guard));
    }

    /// To be called before each effect, which must not be made before the returned future is ready.
    pub(super) fn note(&self) -> Option<Noted> {
        let mut state = self.0.lock();
        let noted = match &*state {
            None => return None,
            Some(State::Noted(noted)) => noted.clone(),
            Some(State::Untouched(guard)) => guard().shared(),
        };
        *state = Some(State::Noted(noted.clone()));
        Some(noted)
    }

    /// The same, followed by what else has to be stored before the effect.
    pub(super) fn note_before(&self, stored: Option<StoreAnswer<()>>) -> Option<StoreAnswer<()>> {
        let Some(noted) = self.note().filter(|noted| noted.peek() != Some(&Ok(()))) else { return stored };
        Some(Box::pin(async move {
            noted.await?;
            match stored {
                Some(stored) => stored.await,
                None => Ok(()),
            }
        }))
    }
}
