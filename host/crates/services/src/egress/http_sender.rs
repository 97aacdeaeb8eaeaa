//! Sends the requests of guests: authorises each hop, resolves its host once, connects to a checked address, follows redirects
//! under the same rules and passes the answer on within bounds.

use super::body::{GuardedResponse, RequestBody};
use super::deadline::RequestDeadline;
use super::error::from_exchange;
use super::headers;
use super::redirect::{self, RedirectAction};
use super::secret_injection;
use super::secret_mask::SecretMask;
use super::shares::{ConnectionPlace, ConnectionShares};
use async_trait::async_trait;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Empty};
use platform::outbound::{Body, ExchangeClient, ExchangeResponse, ExchangeTarget, Network, ResponseBody};
use platform::secrets::{Secret, SecretStore};
use policy::{ASK_THE_USER, AddressClass, HttpGrant, HttpTarget};
use runtime::imports::{Egress, Http, HttpBody, HttpError, HttpExchange, HttpRequest, HttpTimeouts};
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use url::Url;

/// Addresses of one name. Bounds the checks of one request; no ordinary service has more.
const MAX_ADDRESSES: usize = 64;
/// Name look-ups at once, each on a thread of its own. A request that gives up does not end its look-up, and the host needs
/// such threads for other work.
const LOOKUPS: usize = 64;
/// Redirects that are followed, whatever is granted.
const MAX_REDIRECTS: u8 = 3;

/// Sends the requests of guests.
pub struct HttpSender {
    exchanger: ExchangeClient,
    secret_store: SecretStore,
    shares: ConnectionShares,
    lookups: ConnectionShares,
}

/// The next request to send: the guest's own or a redirect.
struct Hop {
    target: HttpTarget,
    url: Url,
    /// Still with placeholders for secrets.
    headers: HeaderMap,
    body: HttpBody,
    /// Whether this is the origin that the guest named; only that one gets secrets.
    same_origin: bool,
    /// The place of its connection, which counts against the plugin's share.
    place: ConnectionPlace,
}

impl HttpSender {
    /// `connections` is the number that all guests together may have at once.
    pub fn new(network: Arc<dyn Network>, secret_store: SecretStore, connections: usize) -> Self {
        let (shares, lookups) = (ConnectionShares::new(connections), ConnectionShares::new(LOOKUPS));
        Self { exchanger: ExchangeClient::new(network), secret_store, shares, lookups }
    }

    pub fn has_secret(&self, secret: &str) -> bool {
        self.secret_store.get(secret).is_some() || self.secret_store.missing().contains_key(secret)
    }

    /// Sends a request and follows redirects.
    async fn send_following_redirects(
        &self,
        request: HttpRequest,
        call: &Http,
    ) -> Result<Response<HttpBody>, HttpError> {
        let HttpRequest { method, url, headers, body, timeouts } = request;
        let (target, url) = HttpTarget::parse_request(&method, &url).map_err(HttpError::Request)?;
        let headers = headers::check(headers)?;
        let mut grant = call.authorize(&target)?;
        let mut deadline = RequestDeadline::after(grant.timeout);
        let places = async { Ok((call.acquire_permit().await?, self.shares.place(call.plugin()).await?)) };
        let (permit, place) = deadline.limit(places).await?;
        let mut hop = Hop { target, url, headers, body, same_origin: true, place: place.clone() };
        // The secrets that any hop so far may know, from this request or an earlier one. Each hop may pass them on to the next.
        let mut secrets: Vec<Arc<Secret>> = Vec::new();
        let mut followed = 0;
        loop {
            secrets.extend(call.secrets_for(&hop.target.host).filter_map(|name| self.secret_store.get(name)).cloned());
            let has_no_body = hop.body.is_end_stream();
            let (origin, original_headers) = (hop.url.clone(), hop.headers.clone());
            let (method, same_origin) = (hop.target.method.clone(), hop.same_origin);
            let sent = deadline.limit(self.send_hop(hop, grant, deadline, timeouts, call, &secrets)).await?;
            let mask = SecretMask::new(&secrets);
            let allowed = grant.redirects.min(MAX_REDIRECTS);
            let next = if followed < allowed {
                redirect::next(&sent.response, &method, &origin, has_no_body, mask.as_ref())
            } else {
                RedirectAction::None
            };
            match next {
                RedirectAction::None => {
                    return sent.finish(grant, deadline, timeouts, permit, call, mask);
                }
                RedirectAction::Follow { method, url, keeps_body } => {
                    let (target, url) = HttpTarget::parse_request(&method, &url).map_err(HttpError::Request)?;
                    followed += 1;
                    let same_origin = same_origin && url.origin() == origin.origin();
                    let headers = headers::for_redirect(original_headers, same_origin, keeps_body);
                    hop = Hop { target, url, headers, body: empty_body(), same_origin, place: place.clone() };
                    grant = call.authorize(&hop.target)?;
                    deadline.shorten(grant.timeout);
                }
            }
        }
    }

    /// Sends one request to one server. Its answer is searched for these secrets.
    async fn send_hop(
        &self,
        hop: Hop,
        grant: &HttpGrant,
        deadline: RequestDeadline,
        timeouts: HttpTimeouts,
        call: &Http,
        secrets: &[Arc<Secret>],
    ) -> Result<HopResponse, HttpError> {
        let Hop { target, url, headers, body, same_origin, place } = hop;
        let record = call.start_exchange(&target);
        let addresses = self.resolve_allowed(&target, grant, call).await?;
        let is_local = addresses.iter().all(IpAddr::is_loopback);
        let headers = secret_injection::inject(headers, |name| {
            // Placeholders were removed for redirects to another origin.
            debug_assert!(same_origin);
            call.authorize_secret(name, &target, target.secure || is_local)?;
            // Guests and models must not learn where the secret should be, nor how to set it.
            let missing = || HttpError::Failed(format!("the secret `{name}` is not set. {ASK_THE_USER}"));
            self.secret_store.get(name).cloned().ok_or_else(missing)
        })?;
        let promised = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if promised.is_some_and(|length| length > grant.body.as_u64()) {
            return Err(HttpError::RequestTooLarge(grant.body.as_u64()));
        }
        let request = self.build_request(&target, &url, headers, secrets)?;
        let (body, body_failure) = RequestBody::new(body, grant.body.as_u64(), call.clone(), target.host.clone())?;
        let destination = ExchangeTarget {
            name: target.secure.then_some(target.host.as_str()),
            addresses: &addresses,
            port: target.port,
            connect_timeout: timeouts.connect,
        };
        let (request, connected) = (request.map(|()| body), |address| record.connected(address));
        // The place is kept as long as the connection, not as long as the guest keeps the answer.
        let (call, host) = (call.clone(), target.host.clone());
        let unwanted = async move {
            let _place = place;
            deadline.passed_or_stopped(call, host).await;
        };
        let exchange = self.exchanger.exchange(destination, request, connected, unwanted);
        let exchanged = match timeouts.first_byte {
            Some(time) => tokio::time::timeout(time, exchange).await.map_err(|_| HttpError::Timeout(time))?,
            None => exchange.await,
        };
        let ExchangeResponse { response, .. } = match exchanged {
            Ok(exchanged) => exchanged,
            Err(error) => return Err(body_failure.take().unwrap_or_else(|| from_exchange(error))),
        };
        record.answered(response.status().as_u16());
        if response.status() == http::StatusCode::SWITCHING_PROTOCOLS {
            return Err(HttpError::Protocol("the server switched to another protocol".into()));
        }
        Ok(HopResponse { response, record })
    }

    /// The addresses of a host. If the grant does not include one of them, all are refused, because an honest name has no
    /// reason to point elsewhere as well.
    async fn resolve_allowed(
        &self,
        target: &HttpTarget,
        grant: &HttpGrant,
        call: &Http,
    ) -> Result<Vec<IpAddr>, HttpError> {
        let bare = target.host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(&target.host);
        let addresses = match bare.parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => {
                let place = self.lookups.place(call.plugin()).await?;
                let (network, host) = (self.exchanger.network(), target.host.clone());
                let look_up = move || {
                    let _place = place;
                    network.resolve(&host)
                };
                let found = tokio::task::spawn_blocking(look_up).await.map_err(|_| HttpError::Ended)?;
                found.map_err(|_| HttpError::Dns)?
            }
        };
        if addresses.is_empty() || addresses.len() > MAX_ADDRESSES {
            return Err(HttpError::Dns);
        }
        let private = grant.private && grant.allow.names_one_host();
        for address in &addresses {
            match AddressClass::from_ip(*address) {
                AddressClass::Public => {}
                AddressClass::Private(_) if private => {}
                reach @ (AddressClass::Private(_) | AddressClass::Forbidden(_)) => {
                    return Err(call.deny_address(target, reach));
                }
            }
        }
        Ok(addresses)
    }

    fn build_request(
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
        *request.headers_mut() = headers::outgoing(headers, url, !secrets.is_empty())?;
        Ok(request)
    }
}

#[async_trait]
impl Egress for HttpSender {
    async fn send(&self, request: HttpRequest, call: Http) -> Result<Response<HttpBody>, HttpError> {
        tokio::select! {
            biased;
            () = call.ended() => Err(HttpError::Ended),
            answer = self.send_following_redirects(request, &call) => answer,
        }
    }
}

/// A response that has begun.
struct HopResponse {
    response: Response<ResponseBody>,
    record: Arc<HttpExchange>,
}

impl HopResponse {
    fn finish(
        self,
        grant: &HttpGrant,
        deadline: RequestDeadline,
        timeouts: HttpTimeouts,
        permit: OwnedSemaphorePermit,
        call: &Http,
        mask: Option<SecretMask>,
    ) -> Result<Response<HttpBody>, HttpError> {
        let Self { response, record } = self;
        let (mut parts, streamed) = response.into_parts();
        let limit = grant.body.as_u64();
        if streamed.promised().is_some_and(|length| length > limit) {
            return Err(HttpError::AnswerTooLarge(limit));
        }
        if let Some(mask) = &mask {
            mask.headers(&mut parts.headers);
            headers::searchable(&parts.headers)?;
        }
        let answer =
            GuardedResponse::new(streamed, limit, mask, deadline, timeouts.between_bytes, record, permit, call.clone());
        Ok(Response::from_parts(parts, answer.boxed_unsync()))
    }
}

fn empty_body() -> HttpBody {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}
