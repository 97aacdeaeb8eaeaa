//! Who asks, and why a session refuses: rmcp's session traits carry neither, so both go beside them.

use super::refusal::Refusal;
use policy::Principal;
use std::sync::{Arc, Mutex, PoisonError};

struct Asking {
    principal: Principal,
    refusal: Mutex<Option<Refusal>>,
}

tokio::task_local! {
    static ASKING: Arc<Asking>;
}

/// A refusal was noted with [`refuse`].
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(super) struct Refused(pub(super) Refusal);

/// Runs one request on behalf of somebody. The refusal, if any, is what rmcp's answer must be replaced by.
pub(super) async fn on_behalf_of<T>(principal: Principal, request: impl Future<Output = T>) -> (T, Option<Refusal>) {
    let asking = Arc::new(Asking { principal, refusal: Mutex::default() });
    let answer = ASKING.scope(asking.clone(), request).await;
    let refusal = asking.refusal.lock().unwrap_or_else(PoisonError::into_inner).take();
    (answer, refusal)
}

/// On whose behalf this task runs; none in tasks of the server's own.
pub(super) fn principal() -> Option<Principal> {
    ASKING.try_with(|asking| asking.principal.clone()).ok()
}

/// Notes why the request is refused.
pub(super) fn refuse(refusal: Refusal) -> Refused {
    let noted = ASKING.try_with(|asking| {
        *asking.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(refusal.clone());
    });
    if noted.is_err() {
        tracing::debug!(%refusal, "refused outside a request");
    }
    Refused(refusal)
}
