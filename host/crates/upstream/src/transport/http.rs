//! MCP over Streamable HTTP: the requests that the library's transport makes. Answers are bounded, weighed and read here.

use super::incoming::{Incoming, MAX_MESSAGE, read_whole, unreadable_answer};
use crate::server_input::peer_account::PeerAccount;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use platform::outbound::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use platform::outbound::{Method, OpenResponse, OutboundClient, OutboundError};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use url::Url;

/// Size of the body of an error, in bytes. Bounds what is kept of a page that only says what went wrong.
const MAX_ERROR: usize = 64 << 10;
/// Redirects of one request. Bounds a server that sends it in circles.
const MAX_REDIRECTS: u32 = 3;
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

type Failure = StreamableHttpError<OutboundError>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

#[derive(Clone)]
pub(super) struct HttpClient {
    pub(super) outbound: OutboundClient,
    pub(super) account: Arc<PeerAccount>,
}

/// What every request has: where it goes, and who sends it.
struct Target {
    uri: Arc<str>,
    session: Option<Arc<str>>,
    token: Option<String>,
    custom: HashMap<HeaderName, HeaderValue>,
}

impl Target {
    fn headers(&self) -> Result<HeaderMap, Failure> {
        let bad = |what: &str| Failure::UnexpectedServerResponse(format!("its {what} is no header").into());
        let mut headers: HeaderMap = self.custom.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if let Some(session) = &self.session {
            headers.insert(SESSION_ID, session.parse().map_err(|_| bad("session"))?);
        }
        if let Some(token) = &self.token {
            let mut value: HeaderValue = format!("Bearer {token}").parse().map_err(|_| bad("key"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(headers)
    }
}

impl HttpClient {
    /// Sends a request. Follows redirects to other paths of the same origin.
    async fn send(
        &self,
        method: Method,
        uri: &str,
        headers: HeaderMap,
        body: Vec<u8>,
    ) -> Result<OpenResponse, Failure> {
        let bad = |error: url::ParseError| Failure::UnexpectedServerResponse(format!("{uri}: {error}").into());
        let mut url = Url::parse(uri).map_err(bad)?;
        for _ in 0..=MAX_REDIRECTS {
            let response = self.outbound.open(method.clone(), url.clone(), headers.clone(), body.clone()).await;
            let response = response.map_err(Failure::Client)?;
            if !matches!(response.status, 307 | 308) {
                return Ok(response);
            }
            let location = response.headers.get(LOCATION).and_then(|to| to.to_str().ok());
            match location.and_then(|to| url.join(to).ok()).filter(|to| to.origin() == url.origin()) {
                Some(to) => url = to,
                // The credential is for this server only.
                None => return Err(unexpected("it redirects to another server, which is not followed")),
            }
        }
        Err(unexpected("it redirects without end"))
    }

    /// The events of a response, each bounded in length and in memory.
    fn events(&self, response: OpenResponse) -> Events {
        let account = self.account.clone();
        let events = SseStream::from_bytes_stream(bounded(response.into_pieces(), account.clone()));
        events.map(move |event| event.map(|event| weighed(event, &account))).boxed()
    }

    async fn post(&self, message: ClientJsonRpcMessage, target: Target) -> Result<StreamableHttpPostResponse, Failure> {
        let mut headers = target.headers()?;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        let body = serde_json::to_vec(&message)?;
        let response = self.send(Method::POST, &target.uri, headers, body).await?;
        let (status, kind) = (response.status, response.header(&CONTENT_TYPE));
        check_credential(&response)?;
        match status {
            202 | 204 => return Ok(StreamableHttpPostResponse::Accepted),
            404 if target.session.is_some() => return Err(Failure::SessionExpired),
            200..=299 => {}
            _ => return self.refusal(&message, target.session.is_some(), response).await,
        }
        let session = response.header(&SESSION_ID);
        match kind.as_deref() {
            Some(kind) if kind.starts_with(EVENTS) => {
                Ok(StreamableHttpPostResponse::Sse(self.events(response), session))
            }
            Some(kind) if kind.starts_with(JSON) => {
                let text = collect(response, MAX_MESSAGE).await?;
                let asked = match message {
                    ClientJsonRpcMessage::Request(request) => request.id,
                    // Messages other than requests get no answer, whatever the server sends.
                    _ => return Ok(StreamableHttpPostResponse::Accepted),
                };
                let answer = match read_whole(&text, &self.account) {
                    Incoming::Message(answer, _) => answer_to(asked, *answer),
                    Incoming::Nothing | Incoming::Incomplete => unreadable_answer(asked, "it is no message"),
                };
                Ok(StreamableHttpPostResponse::Json(answer, session))
            }
            _ if !matches!(message, ClientJsonRpcMessage::Request(_)) => Ok(StreamableHttpPostResponse::Accepted),
            _ => Err(Failure::UnexpectedContentType(kind)),
        }
    }

    /// What a status other than success means: an error of the protocol, if the body is one.
    async fn refusal(
        &self,
        message: &ClientJsonRpcMessage,
        has_session: bool,
        response: OpenResponse,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let (status, session) = (response.status, response.header(&SESSION_ID));
        let failed = HttpStatusError::new(status, response.header(&RETRY_AFTER));
        let is_json = response.header(&CONTENT_TYPE).is_some_and(|kind| kind.starts_with(JSON));
        if status == 429 || status >= 500 && !is_json {
            return Err(failed.into());
        }
        let body = collect(response, MAX_ERROR).await?;
        // Often a page of a proxy, which is no fault of the server.
        let error = match serde_json::from_slice(&body) {
            Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
            _ => None,
        };
        let text = format!("HTTP {status}: {}", String::from_utf8_lossy(&body));
        match message {
            // A server of before 2026-07-28 does not know this method, and often answers without its id.
            ClientJsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::DiscoverRequest(_))
                    && !has_session
                    && (400..500).contains(&status)
                    && !matches!(status, 401 | 403) =>
            {
                let error = error.map_or_else(|| ErrorData::invalid_request(text, None), |error| error.error);
                let refused = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
                Ok(StreamableHttpPostResponse::Json(refused, None))
            }
            _ => match error.filter(|_| !matches!(status, 401 | 403)) {
                Some(error) => Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), session)),
                None if status >= 500 => Err(failed.into()),
                None => Err(unexpected(&text)),
            },
        }
    }

    async fn get(&self, target: Target, last_event: Option<String>) -> Result<Events, Failure> {
        let mut headers = target.headers()?;
        if let Some(id) = last_event {
            headers.insert(LAST_EVENT_ID, id.parse().map_err(|_| unexpected("its event has an odd id"))?);
        }
        let response = self.send(Method::GET, &target.uri, headers, Vec::new()).await?;
        check_credential(&response)?;
        let kind = response.header(&CONTENT_TYPE);
        match response.status {
            405 => Err(Failure::ServerDoesNotSupportSse),
            404 if target.session.is_some() => Err(Failure::SessionExpired),
            200..=299 if kind.as_deref().is_some_and(|kind| kind.starts_with(EVENTS)) => Ok(self.events(response)),
            200..=299 => Err(Failure::UnexpectedContentType(kind)),
            status => Err(HttpStatusError::new(status, response.header(&RETRY_AFTER)).into()),
        }
    }
}

impl StreamableHttpClient for HttpClient {
    type Error = OutboundError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        self.post(message, Target { uri, session, token, custom }).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        let target = Target { uri, session: Some(session), token, custom };
        let response = self.send(Method::DELETE, &target.uri, target.headers()?, Vec::new()).await?;
        match response.status {
            200..=299 | 405 => Ok(()),
            status => Err(HttpStatusError::new(status, None).into()),
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Failure> {
        self.get(Target { uri, session, token, custom }, last_event).await
    }
}

/// The answer to this request. Any other message becomes an unreadable answer, because nobody would wait for it.
fn answer_to(asked: RequestId, message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    let is_other = |id: &RequestId| id.to_string() != asked.to_string();
    let other = match &message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id).filter(|id| is_other(id)),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref().filter(|id| is_other(id)),
        ServerJsonRpcMessage::Request(_) | ServerJsonRpcMessage::Notification(_) => {
            return unreadable_answer(asked, "it is a message of another kind");
        }
    };
    if let Some(other) = other {
        let reason = format!("it says that it answers the request {other}, and this one is {asked}");
        return unreadable_answer(asked, &reason);
    }
    match message {
        ServerJsonRpcMessage::Error(error) => ServerJsonRpcMessage::error(error.error, Some(asked)),
        answer => answer,
    }
}

fn unexpected(text: &str) -> Failure {
    Failure::UnexpectedServerResponse(text.to_owned().into())
}

/// Fails if the server names the credential that it wants.
fn check_credential(response: &OpenResponse) -> Result<(), Failure> {
    match (response.status, response.header(&WWW_AUTHENTICATE)) {
        (401, Some(wanted)) => Err(Failure::AuthRequired(AuthRequiredError::new(wanted))),
        (403, Some(wanted)) => Err(Failure::InsufficientScope(InsufficientScopeError::new(wanted, None))),
        _ => Ok(()),
    }
}

async fn collect(response: OpenResponse, max_size: usize) -> Result<Vec<u8>, Failure> {
    let (mut pieces, mut body) = (std::pin::pin!(response.into_pieces()), Vec::new());
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(Failure::Client)?;
        if body.len() + piece.len() > max_size {
            return Err(Failure::ResponseBodyTooLarge { max_size });
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// Fails when an event is longer than a message may be. Events end with an empty line.
fn bounded<B: AsRef<[u8]>>(
    pieces: impl Stream<Item = Result<B, OutboundError>>,
    account: Arc<PeerAccount>,
) -> impl Stream<Item = Result<B, io::Error>> {
    // A line ends with CR, LF, or both.
    let (mut length, mut is_line_empty, mut after_cr) = (0usize, true, false);
    pieces.map(move |piece| {
        let piece = piece.map_err(io::Error::other)?;
        for byte in piece.as_ref() {
            length += 1;
            match byte {
                b'\n' if after_cr => {}
                b'\r' | b'\n' if is_line_empty => length = 0,
                b'\r' | b'\n' => is_line_empty = true,
                _ => is_line_empty = false,
            }
            after_cr = *byte == b'\r';
        }
        if length > MAX_MESSAGE {
            account.close(format!("it sent an event of more than {MAX_MESSAGE} bytes"));
            return Err(io::Error::other("an event is too long"));
        }
        Ok(piece)
    })
}

/// The event, or an error for the caller that waits if the message in it cannot be read. The library parses it again.
fn weighed(mut event: Sse, account: &PeerAccount) -> Sse {
    if !matches!(event.event.as_deref(), None | Some("" | "message")) {
        event.data = None;
    }
    let Some(data) = event.data.take() else { return event };
    event.data = match read_whole(data.as_bytes(), account) {
        Incoming::Message(_, true) => Some(data),
        Incoming::Message(message, false) => serde_json::to_string(&*message).ok(),
        Incoming::Nothing | Incoming::Incomplete => None,
    };
    event
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;

    async fn passed(piece: &[u8], times: usize) -> (usize, Option<String>) {
        let account = PeerAccount::new("far");
        let pieces = stream::iter((0..times).map(|_| Ok(piece)));
        let passed =
            bounded(pieces, account.clone()).take_while(|piece| std::future::ready(piece.is_ok())).count().await;
        (passed, account.reason())
    }

    #[tokio::test]
    async fn an_event_is_bounded_and_many_of_them_are_not() {
        let line = format!("data: {}", "x".repeat(1 << 20));
        for end in ["\n\n", "\r\r", "\r\n\r\n"] {
            assert_eq!(passed(format!("{line}{end}").as_bytes(), 40).await, (40, None), "{end:?}");
        }
        let (pieces, reason) = passed(format!("{line}\n").as_bytes(), 40).await;
        assert_eq!((pieces, reason.is_some_and(|reason| reason.contains("an event of more than"))), (15, true));
    }

    #[test]
    fn an_event_that_was_cut_off_answers_its_call() {
        let cut = Sse::default().data("{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{");
        let data = weighed(cut, &PeerAccount::new("far")).data.unwrap();
        assert!(data.contains("\"id\":7") && data.contains("it ends too soon"), "{data}");
        let beat = Sse::default().event("heartbeat").data("{}");
        assert_eq!(weighed(beat, &PeerAccount::new("far")).data, None);
    }

    #[test]
    fn an_answer_to_another_request_is_an_error_of_this_one() {
        let answered = |text: &str| answer_to(RequestId::Number(7), serde_json::from_str(text).unwrap());
        let is_same = |message: &ServerJsonRpcMessage| matches!(message, ServerJsonRpcMessage::Response(_));
        assert!(is_same(&answered(r#"{"jsonrpc":"2.0","id":7,"result":{}}"#)));
        assert!(is_same(&answered(r#"{"jsonrpc":"2.0","id":"7","result":{}}"#)));
        for other in [
            r#"{"jsonrpc":"2.0","id":8,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"no"}}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","error":{"code":1,"message":"no"}}"#,
        ] {
            let ServerJsonRpcMessage::Error(error) = answered(other) else { panic!("{other}") };
            assert_eq!(error.id, Some(RequestId::Number(7)), "{other}");
        }
    }
}
