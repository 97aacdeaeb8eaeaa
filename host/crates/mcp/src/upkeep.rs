//! Does regular work when it is due, as long as the object that it belongs to exists.

use std::future::pending;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;

/// An object that needs regular work.
pub(crate) trait Upkeep: Send + Sync + 'static {
    /// When each part of the work is due.
    type Agenda: Send;

    /// Notified when something may be due earlier than planned, and when the last owner drops the object.
    fn wake(&self) -> &Arc<Notify>;

    /// Does the work that is due. Returns how long there is nothing to do; none if there is nothing until [`Self::wake`] is
    /// notified.
    fn do_what_is_due(self: &Arc<Self>, agenda: &mut Self::Agenda) -> impl Future<Output = Option<Duration>> + Send;
}

/// Does the work of an object as long as somebody else holds it.
pub(crate) async fn look_after<T: Upkeep>(it: Weak<T>, mut agenda: T::Agenda) {
    loop {
        let Some(it) = it.upgrade() else { return };
        let wait = it.do_what_is_due(&mut agenda).await;
        let wake = it.wake().clone();
        // Dropped before the sleep, so that only its users keep the object alive.
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
