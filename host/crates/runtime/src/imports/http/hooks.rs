//! `wasi:http/outgoing-handler` and `types` over our own sender; the default sender connects to any address. The
//! incoming handler is not linked: nobody sends requests to a guest.

use super::super::call_scope::CallScope;
use super::super::reconcile::{Effect, EffectAnswer, EffectInDoubt, Reconciler, Verdict};
use super::super::streams::{BodyBytes, BodyEnd};
use super::access::{Egress, Hops, Http, HttpBody, HttpRequest, HttpTimeouts};
use super::answered::{Answered, RequestRecord, may_repeat};
use super::error::HttpError;
use crate::journal::{CallJournal, Repeat, StartedEffect, Step};
use http::HeaderName;
use http::header::{
    CONNECTION, EXPECT, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http_body_util::BodyExt;
use policy::Denial;
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use wasmtime_wasi_http::{Error, ForbiddenHeaderFilter, RequestOptions, Result, WasiBody, WasiHttpHooks, WasiHttpView};

/// Bytes that a guest may write to a request body at once. Bounds a host allocation that the guest sizes.
const MAX_WRITE: usize = 64 << 10;

/// Headers of the connection or of the host. With them a guest could address another host than the authorized one, or
/// smuggle a second request into the first.
const FORBIDDEN_HEADERS: [HeaderName; 12] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    HeaderName::from_static("proxy-connection"),
    TRANSFER_ENCODING,
    UPGRADE,
    HOST,
    HeaderName::from_static("http2-settings"),
    TE,
    TRAILER,
    EXPECT,
];

/// Whether guests may not set this header.
pub fn is_forbidden_header(name: &HeaderName) -> bool {
    FORBIDDEN_HEADERS.contains(name) || name.as_str().starts_with("proxy-")
}

/// Store data with the hooks of the running call.
pub trait HttpHost: WasiHttpView + 'static {
    fn hooks(&mut self) -> &mut HttpHooks;
}

/// Sends the requests of an instance; before its call has begun they are denied.
#[derive(Default)]
pub struct HttpHooks {
    /// What the call's first request needs.
    call: Option<(Arc<CallScope>, Arc<dyn Egress>)>,
    http: Option<Http>,
    pub(super) journal: CallJournal,
    /// Answers and bodies that are read from a connection, by their resource numbers. Updated when a number is reused.
    streamed: HashMap<u32, BodyEnd>,
    pub(super) body_bytes: BodyBytes,
    /// How many of these bytes a run that begins at a checkpoint writes as well.
    bytes_before: u64,
}

impl HttpHooks {
    pub fn begin(&mut self, scope: Arc<CallScope>, egress: Arc<dyn Egress>, journal: CallJournal) {
        self.call = Some((scope, egress));
        self.journal = journal;
    }

    /// Called when the guest asks for its checkpoint: every run writes what the guest has written by now.
    pub fn restored(&mut self) {
        self.bytes_before = self.body_bytes.load(Ordering::Relaxed);
    }

    /// Called when a checkpoint is saved: a run that begins there does not write again what was written since
    /// [`Self::restored`].
    pub fn saved(&self) {
        self.body_bytes.store(self.bytes_before, Ordering::Relaxed);
    }

    pub(super) fn set_streamed(&mut self, resource: u32, streamed: Option<BodyEnd>) {
        match streamed {
            Some(end) => drop(self.streamed.insert(resource, end)),
            None => drop(self.streamed.remove(&resource)),
        }
    }

    pub(super) fn streamed(&self, resource: u32) -> Option<BodyEnd> {
        self.streamed.get(&resource).cloned()
    }

    /// Closes the call's connections. Returns its last denial, for the error message.
    pub fn end(&mut self) -> Option<Denial> {
        self.call = None;
        let http = self.http.take()?;
        http.end();
        http.last_denial()
    }

    fn http(&mut self) -> Option<Http> {
        if self.http.is_none() {
            let (scope, egress) = self.call.clone()?;
            self.http = Some(Http::new(scope, egress));
        }
        self.http.clone()
    }
}

type Io = Box<dyn Future<Output = Result<()>> + Send>;
type Sent = Box<dyn Future<Output = Result<(http::Response<WasiBody>, Io)>> + Send>;

impl WasiHttpHooks for HttpHooks {
    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_forbidden_header)
    }

    fn set_host_header(&mut self) -> bool {
        false
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        MAX_WRITE
    }

    fn send_request(&mut self, request: http::Request<WasiBody>, options: Option<RequestOptions>, _: Io) -> Sent {
        let call = self.http();
        let (parts, body) = request.into_parts();
        let options = options.unwrap_or_default();
        if !self.journal.is_on() {
            return Box::new(async move {
                let call = call.ok_or(Error::HttpRequestDenied)?;
                Ok((send(call, parts, options, body).await?, no_io()))
            });
        }
        // The step begins here, so that its number is fixed by when the guest asks and not by when the request is sent.
        let host = || format!("{} {}", parts.method, parts.uri.host().unwrap_or_default());
        let mut step = self.journal.begin("http.handle", &RequestRecord::new(&parts, &options)).with(host);
        if let Some(answered) = step.recorded_now::<Answered>() {
            let decided = call.ok_or(HttpError::Denied).and_then(|call| call.decide_again(&answered.hops));
            // The guest writes the body again, but nobody needs it.
            tokio::spawn(read_to_end(body));
            let answer = decided.map_err(to_guest).and_then(|()| answered.into_answer(None));
            return Box::new(async { Ok((answer?, no_io())) });
        }
        let again = if may_repeat(&parts.method, &parts.headers) { Repeat::Safe } else { Repeat::Unsafe };
        let reconciler = call.as_ref().and_then(Http::reconciler).filter(|_| step.is_in_doubt(again));
        if let (Some(reconciler), Some(call)) = (reconciler, call.clone()) {
            return Box::new(reconciled(step, reconciler, call, parts, options, body));
        }
        let started = step.start_effect(again);
        Box::new(async move {
            let call = call.ok_or(Error::HttpRequestDenied)?;
            make(step, started, call, parts, options, body).await
        })
    }
}

type Made = Result<(http::Response<WasiBody>, Io)>;

/// Sends a request and records its outcome.
async fn make(
    step: Step,
    started: StartedEffect,
    call: Http,
    parts: http::request::Parts,
    options: RequestOptions,
    body: WasiBody,
) -> Made {
    let (call, hops) = call.with_hops();
    if step.started(started).await.is_none() {
        // The call has to end, and its guest learns nothing more.
        return std::future::pending().await;
    }
    let answer = send(call, parts, options, body).await;
    let hops = hops.lock().clone();
    let (answered, streamed) = Answered::take(hops, answer).await;
    step.ended(&answered).await;
    Ok((answered.into_answer(streamed)?, no_io()))
}

/// Asks the plugin what has become of a request that an earlier run may have sent.
async fn reconciled(
    mut step: Step,
    reconciler: Arc<dyn Reconciler>,
    call: Http,
    parts: http::request::Parts,
    options: RequestOptions,
    body: WasiBody,
) -> Made {
    let (method, url) = (parts.method.to_string(), parts.uri.to_string());
    let headers = parts.headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect();
    let request = format!("{method} {url}");
    let effect = Effect::Http { method, url, headers };
    let in_doubt = EffectInDoubt { step: step.name().unwrap_or_default(), import: "http.handle", effect };
    let again = match reconciler.reconcile(in_doubt).await {
        Verdict::Done(EffectAnswer::Http { status, headers, body: answer }) => {
            if let Some(answer) = Answered::said(status, headers, answer) {
                let (call, hops) = call.with_hops();
                let decided = call.decide_again(&Hops { allowed: vec![request], denied: None });
                // The guest writes the body again, but nobody needs it.
                tokio::spawn(read_to_end(body));
                let hops = hops.lock().clone();
                let answered =
                    Answered { hops, answer: decided.map(|()| answer).map_err(|error| (&to_guest(error)).into()) };
                step.ended(&answered).await;
                return Ok((answered.into_answer(None)?, no_io()));
            }
            Repeat::Unsafe
        }
        Verdict::NotDone => Repeat::Safe,
        Verdict::Done(EffectAnswer::AgentTool(_)) | Verdict::Unknown => Repeat::Unsafe,
    };
    let started = step.start_effect(again);
    make(step, started, call, parts, options, body).await
}

async fn send(
    call: Http,
    parts: http::request::Parts,
    options: RequestOptions,
    body: WasiBody,
) -> Result<http::Response<WasiBody>> {
    let timeouts = HttpTimeouts {
        connect: options.connect_timeout,
        first_byte: options.first_byte_timeout,
        between_bytes: options.between_bytes_timeout,
    };
    let body: HttpBody = body.map_err(from_guest).boxed_unsync();
    let (method, url) = (parts.method.as_str().to_owned(), parts.uri.to_string());
    let request = HttpRequest { method, url, headers: parts.headers, body, timeouts };
    let answer = call.send(request).await.map_err(to_guest)?;
    Ok(answer.map(|body| body.map_err(to_guest).boxed_unsync()))
}

fn no_io() -> Io {
    Box::new(async { Ok(()) })
}

async fn read_to_end(mut body: WasiBody) {
    while let Some(Ok(_)) = body.frame().await {}
}

/// An error while the guest writes a body is reported as the guest's own.
fn from_guest(error: Error) -> HttpError {
    HttpError::Failed(format!("the request's body broke off: {error}"))
}

fn to_guest(error: HttpError) -> Error {
    let message = error.to_string();
    match error {
        HttpError::Denied => Error::HttpRequestDenied,
        HttpError::Request(policy::HttpUrlError::Method) => Error::HttpRequestMethodInvalid,
        HttpError::Request(policy::HttpUrlError::TooLong) => Error::HttpRequestUriTooLong,
        HttpError::Request(_) => Error::HttpRequestUriInvalid,
        HttpError::TooMany(_) => Error::ConnectionLimitReached,
        HttpError::RequestTooLarge(limit) => Error::HttpRequestBodySize(Some(limit)),
        HttpError::AnswerTooLarge(limit) => Error::HttpResponseBodySize(Some(limit)),
        HttpError::AnswerHeaders => Error::HttpResponseHeaderSectionSize(None),
        HttpError::Compressed(coding) => Error::HttpResponseContentCoding(Some(coding)),
        HttpError::Dns => Error::DestinationNotFound,
        HttpError::Connect => Error::ConnectionRefused,
        HttpError::Certificate(..) => Error::TlsCertificateError,
        HttpError::Tls(..) => Error::TlsProtocolError,
        HttpError::Handshake(..) => Error::ConnectionTimeout,
        HttpError::Timeout(_) => Error::HttpResponseTimeout,
        HttpError::Incomplete => Error::HttpResponseIncomplete,
        HttpError::Protocol(_) => Error::HttpProtocolError,
        HttpError::Ended => Error::ConnectionTerminated,
        HttpError::Header(..) | HttpError::Failed(_) => Error::InternalError(Some(message)),
    }
}
