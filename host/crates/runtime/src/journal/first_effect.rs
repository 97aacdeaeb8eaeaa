//! The first thing that a call does outside: whoever wants to know, knows it before.

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};
use platform::durable::{DurableError, StoreAnswer};
use platform::sync::Mutex;
use std::sync::Arc;

/// Notes that a call is about to do something. An error says that it must not.
pub type EffectGuard = Arc<dyn Fn() -> StoreAnswer<()> + Send + Sync>;

/// None: nobody wants to know.
#[derive(Default)]
pub(super) struct FirstEffect(Mutex<Option<State>>);

enum State {
    /// The call has done nothing yet.
    Untouched(EffectGuard),
    /// It is being noted, or was.
    Noted(Noted),
}

/// Clones are the same.
pub(super) type Noted = Shared<BoxFuture<'static, Result<(), DurableError>>>;

impl FirstEffect {
    pub(super) fn guard(&self, guard: EffectGuard) {
        *self.0.lock() = Some(State::Untouched(guard));
    }

    /// To be called before each effect, which is not made before this is done.
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

    /// The same with what else has to be stored before.
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
