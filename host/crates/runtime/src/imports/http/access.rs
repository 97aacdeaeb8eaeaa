//! One call's access to other servers. Each request and each redirect is authorized here; [`Egress`] sends it.

use super::super::call_scope::CallScope;
use super::super::import_span::{ErrorName, ImportSpan};
use super::error::HttpError;
use super::exchange::HttpExchange;
use async_trait::async_trait;
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::combinators::UnsyncBoxBody;
use platform::audit::AuditEvent;
use platform::sync::Mutex;
use platform::telemetry::{SpanContext, printable};
use policy::{AddressClass, Denial, HttpGrant, HttpTarget, PluginId, Recipient};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Concurrent requests of one call, including reading their responses; further ones wait. Bounds sockets, and the load
/// that one call puts on other servers.
const MAX_CONCURRENT: usize = 6;

/// A streamed request or response body.
pub type HttpBody = UnsyncBoxBody<Bytes, HttpError>;

pub struct HttpRequest {
    pub method: String,
    /// Scheme, authority, path and query, as the guest wrote them.
    pub url: String,
    pub headers: HeaderMap,
    /// The guest may still be writing it.
    pub body: HttpBody,
    /// Can only shorten the granted timeout.
    pub timeouts: HttpTimeouts,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct HttpTimeouts {
    pub connect: Option<Duration>,
    /// Until the response begins.
    pub first_byte: Option<Duration>,
    /// Between two pieces of the response.
    pub between_bytes: Option<Duration>,
}

/// Sends the requests of guests; implemented by `services::egress`.
#[async_trait]
pub trait Egress: Send + Sync {
    /// Sends one request and returns the response when it has begun. Asks `call` to authorize every hop.
    async fn send(&self, request: HttpRequest, call: Http) -> Result<http::Response<HttpBody>, HttpError>;
}

/// A host that sends no requests.
#[derive(Debug, Clone, Copy)]
pub struct NoEgress;

#[async_trait]
impl Egress for NoEgress {
    async fn send(&self, request: HttpRequest, call: Http) -> Result<http::Response<HttpBody>, HttpError> {
        let (target, _) = HttpTarget::parse_request(&request.method, &request.url).map_err(HttpError::Request)?;
        call.authorize(&target)?;
        Err(HttpError::Failed("this host sends no requests".into()))
    }
}

/// One call's access to other servers. Clones share it.
#[derive(Clone)]
pub struct Http(Arc<HttpAccess>, Option<SpanContext>);

struct HttpAccess {
    scope: Arc<CallScope>,
    egress: Arc<dyn Egress>,
    concurrency: Arc<Semaphore>,
    ended: CancellationToken,
    open: Mutex<Vec<Weak<HttpExchange>>>,
    last_denial: Mutex<Option<Denial>>,
}

impl Http {
    pub fn new(scope: Arc<CallScope>, egress: Arc<dyn Egress>) -> Self {
        Self(
            Arc::new(HttpAccess {
                scope,
                egress,
                concurrency: Arc::new(Semaphore::new(MAX_CONCURRENT)),
                ended: CancellationToken::new(),
                open: Mutex::default(),
                last_denial: Mutex::default(),
            }),
            None,
        )
    }

    /// The plugin that sends the requests.
    pub fn plugin(&self) -> &PluginId {
        self.0.scope.authority.plugin()
    }

    /// Authorizes one request and counts it.
    pub fn authorize(&self, target: &HttpTarget) -> Result<&HttpGrant, HttpError> {
        let grant = self.0.scope.authority.http(target).map_err(|denial| self.deny(denial))?;
        self.check_flow(&target.host)?;
        if !self.0.scope.lineage.count_request(grant.requests) {
            return Err(HttpError::TooMany(grant.requests));
        }
        Ok(grant)
    }

    /// Checks that private results known to the call may flow to this host. Checked for each piece of a body too: the
    /// call may learn something private while it writes one.
    pub fn check_flow(&self, host: &str) -> Result<(), HttpError> {
        let secrets = self.0.scope.lineage.private_origins();
        if secrets.is_empty() {
            return Ok(());
        }
        let flow = self.0.scope.authority.flow(&secrets, &Recipient::Http(host.to_owned()));
        flow.map_err(|denial| self.deny(denial))
    }

    /// Denies an address of the target that the grant does not include.
    pub fn deny_address(&self, target: &HttpTarget, reach: AddressClass) -> HttpError {
        self.deny(Denial::forbidden_address(self.plugin(), target.to_string(), reach))
    }

    /// Authorizes sending a secret to this host; `private` says whether the connection cannot be eavesdropped on.
    pub fn authorize_secret(&self, name: &str, target: &HttpTarget, private: bool) -> Result<(), HttpError> {
        let host = &target.host;
        self.0.scope.authority.secret(name, host).map_err(|denial| self.deny(denial))?;
        if !private {
            return Err(self.deny(Denial::unencrypted_secret(name, host)));
        }
        self.0.scope.authority.audit().record(AuditEvent::SecretUsed { name: name.to_owned(), host: host.clone() });
        Ok(())
    }

    /// The secrets that this host may know.
    pub fn secrets_for(&self, host: &str) -> impl Iterator<Item = &str> {
        self.0.scope.authority.secrets_for(host)
    }

    /// Waits until the call may send another request.
    pub async fn acquire_permit(&self) -> Result<OwnedSemaphorePermit, HttpError> {
        self.0.concurrency.clone().acquire_owned().await.map_err(|_| HttpError::Ended)
    }

    /// Starts the record of one exchange.
    pub fn start_exchange(&self, target: &HttpTarget) -> Arc<HttpExchange> {
        let exchange = Arc::new(HttpExchange::new(self.0.scope.authority.audit().clone(), target, self.1));
        let mut open = self.0.open.lock();
        open.retain(|exchange| exchange.strong_count() > 0);
        open.push(Arc::downgrade(&exchange));
        exchange
    }

    /// Resolves when the call has seen something private that must not flow to this host. From then on the server must not
    /// even notice how the call treats the connection.
    pub async fn flow_withdrawn(&self, host: &str) {
        let watch = self.0.scope.lineage.watch_private();
        std::future::poll_fn(|context| {
            watch.wake(context.waker());
            if self.check_flow(host).is_ok() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }

    /// Resolves when the call has ended.
    pub async fn ended(&self) {
        self.0.ended.cancelled().await;
    }

    /// The last denial, for the error message.
    pub fn last_denial(&self) -> Option<Denial> {
        self.0.last_denial.lock().clone()
    }

    /// Ends the call: closes its connections and records their exchanges.
    pub fn end(&self) {
        self.0.ended.cancel();
        let open = std::mem::take(&mut *self.0.open.lock());
        for exchange in open.iter().filter_map(Weak::upgrade) {
            exchange.close();
        }
    }

    pub(super) async fn send(self, request: HttpRequest) -> Result<http::Response<HttpBody>, HttpError> {
        let egress = self.0.egress.clone();
        let span = ImportSpan::start(self.0.scope.authority.audit(), "wasi:http.handle");
        let below = Self(self.0.clone(), span.context());
        let sent = egress.send(request, below).await;
        span.finish(sent.as_ref().map_or_else(ErrorName::error_name, |_| "ok"));
        if let Err(error) = &sent {
            let (plugin, message) = (self.plugin(), error.to_string());
            match error {
                // WASI has no error codes for these, and only the operator can fix them.
                HttpError::Certificate(..) | HttpError::Tls(..) | HttpError::Handshake(..) => {
                    tracing::warn!(%plugin, "no answer: {}", printable(&message));
                }
                _ => tracing::debug!(%plugin, "no answer: {}", printable(&message)),
            }
        }
        sent
    }

    fn deny(&self, denial: Denial) -> HttpError {
        self.0.scope.authority.record_denial(&denial);
        *self.0.last_denial.lock() = Some(denial);
        HttpError::Denied
    }
}
