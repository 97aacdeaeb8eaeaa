//! One call's access to other servers. Each request and each redirect is authorized here; [`Egress`] sends it.

use super::super::call_scope::CallScope;
use super::super::import_span::{ErrorName, ImportSpan};
use super::super::reconcile::Reconciler;
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
use serde::{Deserialize, Serialize};
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
pub struct Http {
    access: Arc<HttpAccess>,
    /// The span of the guest's request.
    above: Option<SpanContext>,
    /// Where the hops of a request are recorded, if the request is journaled.
    hops: Option<Arc<Mutex<Hops>>>,
}

/// The decisions on a request and its redirects, each as method and URL. A replay makes them again.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hops {
    /// Those that were allowed and counted.
    pub(super) allowed: Vec<String>,
    /// The one that was denied.
    pub(super) denied: Option<String>,
}

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
        let access = HttpAccess {
            scope,
            egress,
            concurrency: Arc::new(Semaphore::new(MAX_CONCURRENT)),
            ended: CancellationToken::new(),
            open: Mutex::default(),
            last_denial: Mutex::default(),
        };
        Self { access: Arc::new(access), above: None, hops: None }
    }

    /// The same access, for one request whose hops are recorded.
    pub(super) fn with_hops(self) -> (Self, Arc<Mutex<Hops>>) {
        let hops = Arc::new(Mutex::default());
        (Self { hops: Some(hops.clone()), ..self }, hops)
    }

    /// Decides again on the hops of a request that an earlier run has sent.
    pub(super) fn decide_again(&self, hops: &Hops) -> Result<(), HttpError> {
        let decide = |hop: &String| {
            let (method, url) = hop.split_once(' ').unwrap_or_default();
            let (target, _) = HttpTarget::parse_request(method, url).map_err(HttpError::Request)?;
            self.authorize(&target).map(drop)
        };
        hops.allowed.iter().try_for_each(decide)?;
        // The result is ignored: the guest gets the recorded error, and deciding again only counts the denial.
        let _ = hops.denied.as_ref().map(decide);
        Ok(())
    }

    pub(super) fn reconciler(&self) -> Option<Arc<dyn Reconciler>> {
        self.access.scope.reconciler.clone()
    }

    /// The plugin that sends the requests.
    pub fn plugin(&self) -> &PluginId {
        self.access.scope.authority.plugin()
    }

    /// The id of the call that sends them.
    pub fn call_id(&self) -> &str {
        &self.access.scope.context.id
    }

    /// Authorizes one request and counts it.
    pub fn authorize(&self, target: &HttpTarget) -> Result<&HttpGrant, HttpError> {
        let decided = self.decide(target);
        if let Some(hops) = &self.hops {
            match &decided {
                Ok(_) => hops.lock().allowed.push(target.to_string()),
                Err(HttpError::Denied) => hops.lock().denied = Some(target.to_string()),
                Err(_) => {}
            }
        }
        decided
    }

    fn decide(&self, target: &HttpTarget) -> Result<&HttpGrant, HttpError> {
        let grant = self.access.scope.authority.http(target).map_err(|denial| self.deny(denial))?;
        self.check_flow(&target.host)?;
        if !self.access.scope.lineage.count_request(grant.requests) {
            return Err(HttpError::TooMany(grant.requests));
        }
        Ok(grant)
    }

    /// Checks that private results known to the call may flow to this host. Checked for each piece of a body too: the
    /// call may learn something private while it writes one.
    pub fn check_flow(&self, host: &str) -> Result<(), HttpError> {
        let secrets = self.access.scope.lineage.private_origins();
        if secrets.is_empty() {
            return Ok(());
        }
        let flow = self.access.scope.authority.flow(&secrets, &Recipient::Http(host.to_owned()));
        flow.map_err(|denial| self.deny(denial))
    }

    /// Denies an address of the target that the grant does not include.
    pub fn deny_address(&self, target: &HttpTarget, reach: AddressClass) -> HttpError {
        self.deny(Denial::forbidden_address(self.plugin(), target.to_string(), reach))
    }

    /// Authorizes sending a secret to this host; `private` says whether the connection cannot be eavesdropped on.
    pub fn authorize_secret(&self, name: &str, target: &HttpTarget, private: bool) -> Result<(), HttpError> {
        let host = &target.host;
        self.access.scope.authority.secret(name, host).map_err(|denial| self.deny(denial))?;
        if !private {
            return Err(self.deny(Denial::unencrypted_secret(name)));
        }
        self.access
            .scope
            .authority
            .audit()
            .record_done(AuditEvent::SecretUsed { name: name.to_owned(), host: host.clone() });
        Ok(())
    }

    /// The secrets that this host may know.
    pub fn secrets_for(&self, host: &str) -> impl Iterator<Item = &str> {
        self.access.scope.authority.secrets_for(host)
    }

    /// Waits until the call may send another request.
    pub async fn acquire_permit(&self) -> Result<OwnedSemaphorePermit, HttpError> {
        self.access.concurrency.clone().acquire_owned().await.map_err(|_| HttpError::Ended)
    }

    /// Starts the record of one exchange.
    pub fn start_exchange(&self, target: &HttpTarget) -> Arc<HttpExchange> {
        let exchange = Arc::new(HttpExchange::new(self.access.scope.authority.audit().clone(), target, self.above));
        let mut open = self.access.open.lock();
        open.retain(|exchange| exchange.strong_count() > 0);
        open.push(Arc::downgrade(&exchange));
        exchange
    }

    /// Resolves when the call has seen something private that must not flow to this host. From then on the server must not
    /// even notice how the call treats the connection.
    pub async fn flow_withdrawn(&self, host: &str) {
        let watch = self.access.scope.lineage.watch_private();
        std::future::poll_fn(|context| {
            watch.wake(context.waker());
            if self.check_flow(host).is_ok() { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
    }

    /// Resolves when the call has ended.
    pub async fn ended(&self) {
        self.access.ended.cancelled().await;
    }

    /// The last denial, for the error message.
    pub fn last_denial(&self) -> Option<Denial> {
        self.access.last_denial.lock().clone()
    }

    /// Ends the call: closes its connections and records their exchanges.
    pub fn end(&self) {
        self.access.ended.cancel();
        let open = std::mem::take(&mut *self.access.open.lock());
        for exchange in open.iter().filter_map(Weak::upgrade) {
            exchange.close();
        }
    }

    pub(super) async fn send(self, request: HttpRequest) -> Result<http::Response<HttpBody>, HttpError> {
        let egress = self.access.egress.clone();
        let span = ImportSpan::start(self.access.scope.authority.audit(), "wasi:http.handle");
        let below = Self { above: span.context(), ..self.clone() };
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
        self.access.scope.authority.record_denial(&denial);
        *self.access.last_denial.lock() = Some(denial);
        HttpError::Denied
    }
}
