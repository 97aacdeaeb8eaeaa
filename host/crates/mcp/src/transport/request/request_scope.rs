//! Task-local data of one HTTP request: its principal, and why it is refused. rmcp's session traits carry neither.

use crate::transport::responses::refusal::HttpRefusal;
use platform::sync::Mutex;
use policy::Principal;
use std::sync::Arc;

struct RequestScope {
    principal: Principal,
    refusal: Mutex<Option<HttpRefusal>>,
}

tokio::task_local! {
    static REQUEST_SCOPE: Arc<RequestScope>;
}

/// A refusal that [`refuse`] has recorded.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(in crate::transport) struct RefusedRequest(pub(in crate::transport) HttpRefusal);

/// Runs a request on behalf of a principal. A refusal that it records must replace rmcp's response.
pub(in crate::transport) async fn with_principal<T>(
    principal: Principal,
    request: impl Future<Output = T>,
) -> (T, Option<HttpRefusal>) {
    let scope = Arc::new(RequestScope { principal, refusal: Mutex::default() });
    let response = REQUEST_SCOPE.scope(scope.clone(), request).await;
    let refusal = scope.refusal.lock().take();
    (response, refusal)
}

/// The principal of the request that this task serves; none in the server's own tasks.
pub(in crate::transport) fn current_principal() -> Option<Principal> {
    REQUEST_SCOPE.try_with(|scope| scope.principal.clone()).ok()
}

/// Records why the request is refused.
pub(in crate::transport) fn refuse(refusal: HttpRefusal) -> RefusedRequest {
    let recorded = REQUEST_SCOPE.try_with(|scope| {
        *scope.refusal.lock() = Some(refusal.clone());
    });
    if recorded.is_err() {
        tracing::debug!(%refusal, "refused outside a request");
    }
    RefusedRequest(refusal)
}
