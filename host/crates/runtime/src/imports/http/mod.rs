//! `wasi:http`: requests of a guest to other servers. Every one is decided about here, each hop of a redirect too; what is
//! then sent, and where to, is the business of whoever implements [`Egress`].

mod error;
mod receipt;
mod wasi;

pub use error::HttpError;
pub use receipt::Receipt;
pub use wasi::{Outlet, add_to_linker, is_ours};

use super::{Doing, Outcome, Permit};
use async_trait::async_trait;
use bytes::Bytes;
use http::HeaderMap;
use http_body_util::combinators::UnsyncBoxBody;
use platform::audit::Event;
use platform::telemetry::{Place, printable};
use policy::{Denial, Hearer, HttpGrant, HttpTarget, Lineage, PluginId, Reach};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Requests of one call under way at once, their answers read; further ones wait. Bounds sockets, and what one call asks
/// of others at the same moment.
const AT_ONCE: usize = 6;

/// A body, streamed either way.
pub type HttpBody = UnsyncBoxBody<Bytes, HttpError>;

/// What a guest wants sent.
pub struct HttpRequest {
    /// As the guest wrote it.
    pub method: String,
    /// Likewise: scheme, authority, path and query put together.
    pub url: String,
    /// Likewise.
    pub headers: HeaderMap,
    /// Whatever the guest is still writing.
    pub body: HttpBody,
    /// How long it wants to wait; it can only shorten what is granted.
    pub patience: Patience,
}

/// Times that a guest sets.
#[derive(Debug, Clone, Copy, Default)]
pub struct Patience {
    /// For the connection.
    pub connect: Option<Duration>,
    /// For the beginning of the answer.
    pub first_byte: Option<Duration>,
    /// From one piece of the answer to the next.
    pub between_bytes: Option<Duration>,
}

/// Sends what a guest may send. Implemented by `egress`.
#[async_trait]
pub trait Egress: Send + Sync {
    /// Sends one request for this call, and returns its answer when that has begun. It asks the call about every hop.
    async fn send(&self, request: HttpRequest, call: Http) -> Result<http::Response<HttpBody>, HttpError>;
}

/// A host that sends nothing.
#[derive(Debug, Clone, Copy)]
pub struct NoEgress;

#[async_trait]
impl Egress for NoEgress {
    async fn send(&self, request: HttpRequest, call: Http) -> Result<http::Response<HttpBody>, HttpError> {
        let (target, _) = HttpTarget::read(&request.method, &request.url).map_err(HttpError::Request)?;
        call.decide(&target)?;
        Err(HttpError::Failed("this host sends no requests".into()))
    }
}

/// One call's way to other servers. Clones are the same.
#[derive(Clone)]
pub struct Http(Arc<Outgoing>, Option<Place>);

struct Outgoing {
    permit: Permit,
    lineage: Lineage,
    egress: Arc<dyn Egress>,
    places: Arc<Semaphore>,
    over: CancellationToken,
    open: Mutex<Vec<Weak<Receipt>>>,
    refused: Mutex<Option<Denial>>,
}

impl Http {
    /// For a call with this permit, at the end of `lineage`.
    pub fn new(permit: Permit, lineage: Lineage, egress: Arc<dyn Egress>) -> Self {
        Self(
            Arc::new(Outgoing {
                permit,
                lineage,
                egress,
                places: Arc::new(Semaphore::new(AT_ONCE)),
                over: CancellationToken::new(),
                open: Mutex::default(),
                refused: Mutex::default(),
            }),
            None,
        )
    }

    /// Whose requests these are.
    pub fn plugin(&self) -> &PluginId {
        self.0.permit.plugin()
    }

    /// Whether this may be sent, and how; a yes is counted.
    pub fn decide(&self, target: &HttpTarget) -> Result<&HttpGrant, HttpError> {
        let grant = self.0.permit.http(target).map_err(|denial| self.refuse(denial))?;
        self.may_tell(&target.host)?;
        if !self.0.lineage.request(grant.requests) {
            return Err(HttpError::TooMany(grant.requests));
        }
        Ok(grant)
    }

    /// Whether a host may be told what the call knows by now. A body that is written slowly may come to hold what the
    /// call did not know when it began.
    pub fn may_tell(&self, host: &str) -> Result<(), HttpError> {
        let secrets = self.0.lineage.secrets();
        if secrets.is_empty() {
            return Ok(());
        }
        let flow = self.0.permit.flow(&secrets, &Hearer::Http(host.to_owned()));
        flow.map_err(|denial| self.refuse(denial))
    }

    /// An address of the target that this grant does not reach.
    pub fn out_of_reach(&self, target: &HttpTarget, reach: Reach) -> HttpError {
        self.refuse(Denial::out_of_reach(self.plugin(), target.to_string(), reach))
    }

    /// Whether a secret may be told to this host; `private` says whether nobody in between can listen.
    pub fn tell_secret(&self, name: &str, target: &HttpTarget, private: bool) -> Result<(), HttpError> {
        let host = &target.host;
        self.0.permit.secret(name, host).map_err(|denial| self.refuse(denial))?;
        if !private {
            return Err(self.refuse(Denial::in_the_clear(name, host)));
        }
        self.0.permit.trail().record(Event::Secret { name: name.to_owned(), host: host.clone() });
        Ok(())
    }

    /// A place among the requests under way.
    pub async fn place(&self) -> Result<OwnedSemaphorePermit, HttpError> {
        self.0.places.clone().acquire_owned().await.map_err(|_| HttpError::Ended)
    }

    /// Begins the record of one exchange.
    pub fn receipt(&self, target: &HttpTarget) -> Arc<Receipt> {
        let receipt = Arc::new(Receipt::new(self.0.permit.trail().clone(), target, self.1));
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|receipt| receipt.strong_count() > 0);
        open.push(Arc::downgrade(&receipt));
        receipt
    }

    /// Resolves when the call is over, and with it all that it asked for.
    pub async fn over(&self) {
        self.0.over.cancelled().await;
    }

    /// The last refusal, for the error that the user sees.
    pub fn refused(&self) -> Option<Denial> {
        self.0.refused.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The call is over: connections are closed, and what they came to is recorded.
    pub fn end(&self) {
        self.0.over.cancel();
        let open = std::mem::take(&mut *self.0.open.lock().unwrap_or_else(PoisonError::into_inner));
        for receipt in open.iter().filter_map(Weak::upgrade) {
            receipt.close();
        }
    }

    async fn send(self, request: HttpRequest) -> Result<http::Response<HttpBody>, HttpError> {
        let egress = self.0.egress.clone();
        let doing = Doing::begin(self.0.permit.trail(), "wasi:http.handle");
        let below = Self(self.0.clone(), doing.place());
        let sent = egress.send(request, below).await;
        doing.ended(sent.as_ref().map_or_else(Outcome::outcome, |_| "ok"));
        if let Err(error) = &sent {
            let (plugin, words) = (self.plugin(), error.to_string());
            match error {
                // The guest has no words for these, and only the operator can do something about them.
                HttpError::Certificate(..) | HttpError::Tls(..) | HttpError::Handshake(..) => {
                    tracing::warn!(%plugin, "no answer: {}", printable(&words));
                }
                _ => tracing::debug!(%plugin, "no answer: {}", printable(&words)),
            }
        }
        sent
    }

    fn refuse(&self, denial: Denial) -> HttpError {
        self.0.permit.refused(&denial);
        *self.0.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(denial);
        HttpError::Denied
    }
}
