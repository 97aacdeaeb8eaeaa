//! Requests of guests to other servers: read, decided about, resolved once, sent to a checked address, redirects followed
//! in the same way, and their answers passed on within bounds.
//!
//! The order is what makes it safe. A URL is read once (`policy::HttpTarget`), grants are held against what was read, every
//! address of the answer of one look-up is checked, and the connection goes to an address of that list. What the network
//! says afterwards decides nothing.

mod body;
mod headers;
mod inject;
mod mask;
mod redirect;
#[cfg(test)]
mod tests;

use async_trait::async_trait;
use body::{Answer, Counted};
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Empty};
use inject::Injected;
use mask::Mask;
use platform::outbound::{Body, ExchangeError, Exchanged, Exchanger, Network, Place, Streamed};
use platform::secrets::{Secret, Vault};
use policy::{HttpGrant, HttpTarget, PluginId, Reach};
use redirect::Next;
use runtime::imports::{Egress, Http, HttpBody, HttpError, HttpRequest, Patience, Receipt};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;
use url::Url;

/// Requests of one plugin under way at once, over all its calls; further ones wait. Bounds the sockets that one plugin
/// takes from the others.
const PER_PLUGIN: usize = 64;
/// Addresses that one name may have. Bounds what is checked for one request; a name with more is nobody's service.
const MAX_ADDRESSES: usize = 64;
/// Redirects that are followed at most, whatever is granted.
const MAX_REDIRECTS: u8 = 3;

/// Sends what guests may send.
pub struct Sender {
    exchanger: Exchanger,
    vault: Vault,
    places: Mutex<HashMap<PluginId, Arc<Semaphore>>>,
}

/// What is to be sent next: the request itself, or the hop of a redirect.
struct Hop {
    target: HttpTarget,
    url: Url,
    /// Still with the names of secrets.
    headers: HeaderMap,
    body: HttpBody,
    /// Whether it is the origin that the guest itself named: only that one gets secrets.
    same_origin: bool,
}

impl Sender {
    /// Over this network, with these secrets.
    pub fn new(network: Arc<dyn Network>, vault: Vault) -> Self {
        Self { exchanger: Exchanger::new(network), vault, places: Mutex::default() }
    }

    /// Whether there is a secret of this name to be sent.
    pub fn knows(&self, secret: &str) -> bool {
        self.vault.get(secret).is_some()
    }

    fn places(&self, plugin: &PluginId) -> Arc<Semaphore> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Semaphore::new(PER_PLUGIN));
        places.entry(plugin.clone()).or_insert_with(new).clone()
    }

    /// The request and the redirects it meets.
    async fn journey(&self, request: HttpRequest, call: &Http) -> Result<Response<HttpBody>, HttpError> {
        let HttpRequest { method, url, headers, body, patience } = request;
        let (target, url) = HttpTarget::read(&method, &url).map_err(HttpError::Request)?;
        let headers = headers::checked(headers)?;
        let mut hop = Hop { target, url, headers, body, same_origin: true };
        let mut grant = call.decide(&hop.target)?;
        let mut until = Until::begin(grant.timeout);
        let held = until.wait(async {
            let place = call.place().await?;
            let plugins = self.places(call.plugin()).acquire_owned().await.map_err(|_| HttpError::Ended)?;
            Ok(vec![place, plugins])
        });
        let mut held: Vec<OwnedSemaphorePermit> = held.await?;
        let mut followed = 0;
        loop {
            let bodiless = hop.body.is_end_stream();
            let (origin, head) = (hop.url.clone(), hop.headers.clone());
            let (method, same_origin) = (hop.target.method.clone(), hop.same_origin);
            let sent = until.wait(self.hop(hop, grant, until, patience, call)).await?;
            let allowed = grant.redirects.min(MAX_REDIRECTS);
            let next = if followed < allowed {
                redirect::next(&sent.response, &method, &origin, bodiless)
            } else {
                Next::None
            };
            match next {
                Next::None => return sent.finish(grant, until, patience, std::mem::take(&mut held), call),
                Next::Follow { method, url, keeps_body } => {
                    let (target, url) = HttpTarget::read(&method, &url).map_err(HttpError::Request)?;
                    followed += 1;
                    let same_origin = same_origin && url.origin() == origin.origin();
                    let headers = headers::of_redirect(head, same_origin, keeps_body);
                    hop = Hop { target, url, headers, body: nothing(), same_origin };
                    grant = call.decide(&hop.target)?;
                    until.at_most(grant.timeout);
                }
            }
        }
    }

    /// One request to one server.
    async fn hop(
        &self,
        hop: Hop,
        grant: &HttpGrant,
        until: Until,
        patience: Patience,
        call: &Http,
    ) -> Result<Sent, HttpError> {
        let Hop { target, url, headers, body, same_origin } = hop;
        let receipt = call.receipt(&target);
        let addresses = self.look_up(&target, grant, call).await?;
        let here = addresses.iter().all(IpAddr::is_loopback);
        let Injected { headers, secrets } = inject::into(headers, |name| {
            // A redirect to somebody else has lost its placeholders already.
            debug_assert!(same_origin);
            call.tell_secret(name, &target, target.secure || here)?;
            self.vault
                .get(name)
                .cloned()
                .ok_or_else(|| HttpError::Failed(format!("there is no secret `{name}`; it would be [secrets.{name}]")))
        })?;
        let promised = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if promised.is_some_and(|length| length > grant.body.as_u64()) {
            return Err(HttpError::RequestTooLarge(grant.body.as_u64()));
        }
        let request = self.request(&target, &url, headers, &secrets)?;
        let (body, overrun) = Counted::new(body, grant.body.as_u64(), call.clone(), target.host.clone())?;
        let place = Place {
            name: target.secure.then_some(target.host.as_str()),
            addresses: &addresses,
            port: target.port,
            patience: patience.connect,
        };
        let (request, connected) = (request.map(|()| body), |address| receipt.connected(address));
        let exchange = self.exchanger.exchange(place, request, connected, until.passed_or_over(call.clone()));
        let exchanged = match patience.first_byte {
            Some(time) => tokio::time::timeout(time, exchange).await.map_err(|_| HttpError::Timeout(time))?,
            None => exchange.await,
        };
        let Exchanged { response, .. } = match exchanged {
            Ok(exchanged) => exchanged,
            Err(error) => return Err(overrun.take().unwrap_or_else(|| failure(error))),
        };
        receipt.answered(response.status().as_u16());
        if response.status() == http::StatusCode::SWITCHING_PROTOCOLS {
            return Err(HttpError::Protocol("it speaks another protocol from here on".into()));
        }
        Ok(Sent { response, secrets, receipt })
    }

    /// The addresses of a host, every one of which this grant reaches. One that it does not reach refuses them all: a name
    /// that is somebody's service has no reason to point elsewhere as well.
    async fn look_up(&self, target: &HttpTarget, grant: &HttpGrant, call: &Http) -> Result<Vec<IpAddr>, HttpError> {
        let bare = target.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&target.host);
        let addresses = match bare.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => self.exchanger.network().resolve(&target.host).await.map_err(|_| HttpError::Dns)?,
        };
        if addresses.is_empty() || addresses.len() > MAX_ADDRESSES {
            return Err(HttpError::Dns);
        }
        let private = grant.private && grant.allow.names_one_host();
        for address in &addresses {
            match Reach::of(*address) {
                Reach::Public => {}
                Reach::Private(_) if private => {}
                reach @ (Reach::Private(_) | Reach::Never(_)) => return Err(call.out_of_reach(target, reach)),
            }
        }
        Ok(addresses)
    }

    /// The head as it is sent.
    fn request(
        &self,
        target: &HttpTarget,
        url: &Url,
        headers: HeaderMap,
        secrets: &[Arc<Secret>],
    ) -> Result<Request<()>, HttpError> {
        let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
        let method = Method::from_bytes(target.method.as_bytes());
        let method = method.map_err(|_| HttpError::Request(policy::HttpUrlError::Method))?;
        let broken = |error: http::Error| HttpError::Failed(error.to_string());
        let mut request = Request::builder().method(method).uri(path).body(()).map_err(broken)?;
        *request.headers_mut() = headers::sent(headers, url, !secrets.is_empty())?;
        Ok(request)
    }
}

#[async_trait]
impl Egress for Sender {
    async fn send(&self, request: HttpRequest, call: Http) -> Result<Response<HttpBody>, HttpError> {
        tokio::select! {
            biased;
            () = call.over() => Err(HttpError::Ended),
            answer = self.journey(request, &call) => answer,
        }
    }
}

/// An answer that has begun.
struct Sent {
    response: Response<Streamed>,
    secrets: Vec<Arc<Secret>>,
    receipt: Arc<Receipt>,
}

impl Sent {
    /// As the guest gets it.
    fn finish(
        self,
        grant: &HttpGrant,
        until: Until,
        patience: Patience,
        held: Vec<OwnedSemaphorePermit>,
        call: &Http,
    ) -> Result<Response<HttpBody>, HttpError> {
        let Self { response, secrets, receipt } = self;
        let (mut parts, streamed) = response.into_parts();
        let limit = grant.body.as_u64();
        if streamed.promised().is_some_and(|length| length > limit) {
            return Err(HttpError::AnswerTooLarge(limit));
        }
        let mask = Mask::new(&secrets);
        if let Some(mask) = &mask {
            headers::searchable(&parts.headers)?;
            mask.headers(&mut parts.headers);
        }
        let answer = Answer::new(streamed, limit, mask, until, patience.between_bytes, receipt, held, call.clone());
        Ok(Response::from_parts(parts, answer.boxed_unsync()))
    }
}

/// When a request has to be done.
#[derive(Clone, Copy)]
struct Until {
    at: Instant,
    time: Duration,
}

impl Until {
    fn begin(time: Duration) -> Self {
        // The clock's own way to say when, so that a test may stop it.
        Self { at: tokio::time::sleep(time).deadline(), time }
    }

    /// Not later than so long from now.
    fn at_most(&mut self, time: Duration) {
        let other = Self::begin(time);
        if other.at < self.at {
            *self = other;
        }
    }

    /// Resolves when nobody can want an answer any more.
    async fn passed_or_over(self, call: Http) {
        tokio::select! {
            () = tokio::time::sleep_until(self.at) => {}
            () = call.over() => {}
        }
    }

    async fn wait<T>(&self, doing: impl Future<Output = Result<T, HttpError>>) -> Result<T, HttpError> {
        tokio::time::timeout_at(self.at, doing).await.unwrap_or(Err(HttpError::Timeout(self.time)))
    }
}

fn nothing() -> HttpBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

fn failure(error: ExchangeError) -> HttpError {
    match error {
        ExchangeError::Connect => HttpError::Connect,
        ExchangeError::Certificate(at, why) => HttpError::Certificate(at, why),
        ExchangeError::Tls(at, why) => HttpError::Tls(at, why),
        ExchangeError::Handshake(at, time) => HttpError::Handshake(at, time),
        ExchangeError::Headers => HttpError::AnswerHeaders,
        ExchangeError::Incomplete => HttpError::Incomplete,
        ExchangeError::Protocol(why) => HttpError::Protocol(why),
    }
}
