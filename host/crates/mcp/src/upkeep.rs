//! Work that is done when it is due, for as long as somebody has what it belongs to.

use std::future::pending;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;

/// Something that has to be looked after now and then.
pub(crate) trait Upkeep: Send + Sync + 'static {
    /// When things are to be done.
    type Agenda: Send;

    /// Rung when something may be due earlier than it was, and when the last who has it lets go of it.
    fn wake(&self) -> &Arc<Notify>;

    /// Returns how long there is nothing to do; none if nothing will be before somebody rings.
    fn do_what_is_due(self: &Arc<Self>, agenda: &mut Self::Agenda) -> impl Future<Output = Option<Duration>> + Send;
}

/// Runs as long as somebody has it.
pub(crate) async fn look_after<T: Upkeep>(it: Weak<T>, mut agenda: T::Agenda) {
    loop {
        let Some(it) = it.upgrade() else { return };
        let wait = it.do_what_is_due(&mut agenda).await;
        let wake = it.wake().clone();
        // Whoever uses it keeps it, and not this sleep.
        drop(it);
        tokio::select! {
            () = wake.notified() => {}
            () = async {
                match wait {
                    Some(wait) => sleep(wait).await,
                    None => pending().await,
                }
            } => {}
        }
    }
}
