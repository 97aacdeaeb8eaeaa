//! The open state of a client's connection, read from the session log of the process that had it: what the client has set up,
//! which of its requests have no response, what it was asked, and the line that was being read or written.

use super::partial_line::{self, PartialLine};
use crate::transport::request::body::BYTE_ORDER_MARK;
use crate::transport::responses::sent_text::request_id;
use platform::session_log::SessionEntry;
use rmcp::model::RequestId;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

/// The kinds of entries, and of the lines of [`WRITTEN`](kind::WRITTEN).
pub(super) mod kind {
    /// Bytes as they were read.
    pub(in super::super) const INPUT: u8 = b'i';
    /// More is about to be written than the system writes at once.
    pub(in super::super) const WRITING: u8 = b'w';
    /// Whole lines were written. Each line of the entry says what this did, and to which request.
    pub(in super::super) const WRITTEN: u8 = b'o';
    pub(in super::super) const ANSWERED: u8 = b'a';
    pub(in super::super) const REFUSED: u8 = b'e';
    pub(in super::super) const ASKED: u8 = b'q';
    pub(in super::super) const WITHDRAWN: u8 = b'c';
    /// A line that the next process serves as if it had just come.
    pub(in super::super) const WAITING: u8 = b'n';
    /// A line that sets up the session, and that was answered.
    pub(super) const SET_UP: u8 = b'h';
    /// A request that has no response.
    pub(super) const BEGUN: u8 = b'b';
    /// A request that has no response, and a process has ended with it before.
    pub(super) const BEGUN_AGAIN: u8 = b'r';
    /// The id of a request that has no response and is too large to be kept.
    pub(super) const LARGE: u8 = b'l';
    /// The end of a line of which only the beginning and the end were kept; the entry before is the beginning.
    pub(super) const CUT: u8 = b'x';
}

/// Bytes of a kept line. Of a larger request only the id is kept, so that it can be answered. Bounds the memory for large
/// messages of a client.
const MAX_KEPT: usize = 64 << 10;
/// The same limit for `initialize`.
const MAX_INITIALIZE: usize = partial_line::MAX_WHOLE;
/// Bytes of all open requests. Of further ones only the ids are kept.
const MAX_OPEN: usize = 32 << 20;
/// Bytes of these ids. Further ids are not kept, so nobody answers these requests if the process is killed. Both limits bound
/// the memory for lines that look like requests and never get a response.
const MAX_IDS: usize = 8 << 20;
/// Subscriptions that are set up again, and bytes of the request of each. The server refuses more subscriptions and longer
/// URIs. Bounds the memory for a client that sends them anyway.
const MAX_SUBSCRIBED: usize = crate::subscriptions::listen::MAX_URIS;
const MAX_SUBSCRIBE: usize = 8 << 10;

#[derive(Default)]
pub(super) struct OpenSession {
    set_up: Vec<SetUp>,
    requests: BTreeMap<u64, OpenRequest>,
    by_id: HashMap<RequestId, u64>,
    /// Bytes of all requests.
    bytes: usize,
    last: u64,
    asked: Vec<RequestId>,
    partial: PartialLine,
    is_torn: bool,
}

/// A message that has set up something that lasts as long as the session.
struct SetUp {
    method: Method,
    /// The object of the message. For each object, only the last message is kept.
    about: String,
    id: Option<RequestId>,
    line: Vec<u8>,
}

struct OpenRequest {
    id: RequestId,
    method: Method,
    about: String,
    state: RequestState,
    line: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RequestState {
    /// No process has begun to serve it.
    Waiting,
    Begun,
    /// Two processes have ended while they served it.
    BegunAgain,
    /// It is too large to be kept, so only its id is known.
    Large,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    Initialize,
    Initialized,
    SetLevel,
    Subscribe,
    Unsubscribe,
    /// The request stays open as long as the client wants.
    Listen,
    Other,
}

/// A line for the process that takes the connection over. The lines come in the order in which they were read.
#[derive(Debug, PartialEq)]
pub(super) enum TakenOver {
    /// It sets up the session again. The response to this request must not be sent, since the client has it.
    SetUp {
        answered: Option<RequestId>,
        line: Vec<u8>,
    },
    Request {
        id: RequestId,
        state: RequestState,
        line: Vec<u8>,
    },
}

/// The parts of a line that are read.
#[derive(Deserialize)]
struct Message<'a, P> {
    id: Option<RequestId>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    params: Option<P>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Params<'a> {
    request_id: Option<RequestId>,
    #[serde(borrow)]
    uri: Option<Cow<'a, str>>,
}

impl OpenSession {
    pub(super) fn read(entries: Vec<SessionEntry>) -> Self {
        let mut open = Self::default();
        for SessionEntry { kind, bytes } in entries {
            match kind {
                kind::INPUT => open.add_input(&bytes),
                kind::WRITING => open.is_torn = true,
                kind::WRITTEN => {
                    open.is_torn = false;
                    bytes.split(|byte| *byte == b'\n').for_each(|effect| open.add_effect(effect));
                }
                kind::WAITING => open.add_line(&bytes, RequestState::Waiting),
                kind::SET_UP => {
                    open.add_line(&bytes, RequestState::Begun);
                    open.answer_last();
                }
                kind::BEGUN => open.add_line(&bytes, RequestState::Begun),
                kind::BEGUN_AGAIN => open.add_line(&bytes, RequestState::BegunAgain),
                kind::LARGE => {
                    if let Ok(id) = serde_json::from_slice(&bytes) {
                        open.add_large(id);
                    }
                }
                kind::CUT => open.partial.end = Some(bytes),
                kind::ASKED => open.asked.extend(serde_json::from_slice::<RequestId>(&bytes)),
                // The entry is of a later version of this program.
                _ => {}
            }
        }
        open
    }

    /// The entries that describe this state.
    pub(super) fn entries(&self) -> Vec<SessionEntry> {
        self.entries_with(|state, _| state)
    }

    /// The same for the next process, which begins to serve all requests.
    pub(super) fn as_taken_over(&self) -> Vec<SessionEntry> {
        self.entries_with(|state, method| match (state, method) {
            (RequestState::Waiting, _) | (_, Method::Listen) => RequestState::Begun,
            (RequestState::Begun | RequestState::BegunAgain, _) => RequestState::BegunAgain,
            (RequestState::Large, _) => RequestState::Large,
        })
    }

    fn entries_with(&self, state: impl Fn(RequestState, Method) -> RequestState) -> Vec<SessionEntry> {
        let set_up = self.set_up.iter().map(|it| (kind::SET_UP, it.line.clone()));
        let requests = self.requests.values().map(|it| match state(it.state, it.method) {
            RequestState::Waiting => (kind::WAITING, it.line.clone()),
            RequestState::Begun => (kind::BEGUN, it.line.clone()),
            RequestState::BegunAgain => (kind::BEGUN_AGAIN, it.line.clone()),
            RequestState::Large => (kind::LARGE, serde_json::to_vec(&it.id).unwrap_or_default()),
        });
        let asked = self.asked.iter().filter_map(|id| Some((kind::ASKED, serde_json::to_vec(id).ok()?)));
        let torn = self.is_torn.then(|| (kind::WRITING, Vec::new()));
        let begin = (!self.partial.begin.is_empty()).then(|| (kind::INPUT, self.partial.begin.clone()));
        let end = self.partial.end.clone().map(|end| (kind::CUT, end));
        let all = set_up.chain(requests).chain(asked).chain(torn).chain(begin).chain(end);
        all.map(|(kind, bytes)| SessionEntry { kind, bytes }).collect()
    }

    /// The ids of the requests to the client that it has not answered.
    pub(super) fn asked(&self) -> &[RequestId] {
        &self.asked
    }

    /// Whether the last written line may be incomplete.
    pub(super) fn is_torn(&self) -> bool {
        self.is_torn
    }

    /// The lines that the next process serves first, and the beginning of the line that it reads after them.
    pub(super) fn take_over(self) -> (Vec<TakenOver>, PartialLine) {
        let set_up = self.set_up.into_iter().map(|SetUp { id, line, .. }| TakenOver::SetUp { answered: id, line });
        let requests = self.requests.into_values();
        let requests = requests.map(|OpenRequest { id, state, line, .. }| TakenOver::Request { id, state, line });
        (set_up.chain(requests).collect(), self.partial)
    }

    fn add_input(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end + 1);
            let mut whole = std::mem::take(&mut self.partial);
            match whole.begin.is_empty() {
                true => self.add_line(line, RequestState::Begun),
                false => {
                    whole.extend(line);
                    self.add_long_line(&whole);
                }
            }
            bytes = rest;
        }
        self.partial.extend(bytes);
    }

    fn add_long_line(&mut self, PartialLine { begin, end }: &PartialLine) {
        match end {
            None => self.add_line(begin, RequestState::Begun),
            Some(end) => drop(request_id(begin, end).map(|id| self.add_large(id))),
        }
    }

    fn add_large(&mut self, id: RequestId) {
        self.add_request(OpenRequest::large(id));
    }

    fn add_request(&mut self, mut request: OpenRequest) {
        self.remove(&request.id);
        if self.bytes + request.bytes() > MAX_OPEN {
            request = OpenRequest::large(request.id);
        }
        if self.bytes + request.bytes() > MAX_OPEN + MAX_IDS {
            return;
        }
        self.bytes += request.bytes();
        self.last += 1;
        self.by_id.insert(request.id.clone(), self.last);
        self.requests.insert(self.last, request);
    }

    /// A line that cannot be read was answered at once, or is not a request.
    fn add_line(&mut self, line: &[u8], state: RequestState) {
        let text = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        let unreadable = |_| {
            let Message::<'_, IgnoredAny> { id, method, .. } = serde_json::from_slice(text)?;
            Ok::<_, serde_json::Error>(Message { id, method, params: None })
        };
        // serde would accept an array as a structure.
        if !text.trim_ascii_start().starts_with(b"{") {
            return;
        }
        let message = serde_json::from_slice::<Message<'_, Params<'_>>>(text).or_else(unreadable);
        let Ok(Message { id, method, params }) = message else { return };
        let params = params.unwrap_or_default();
        match (method.as_deref(), id) {
            (Some(method), Some(id)) => {
                let method = Method::from_name(method);
                if line.len() > if method == Method::Initialize { MAX_INITIALIZE } else { MAX_KEPT } {
                    return self.add_large(id);
                }
                let about = params.uri.unwrap_or_default().into_owned();
                self.add_request(OpenRequest { id, method, about, state, line: line.to_vec() });
            }
            (Some("notifications/initialized"), None) => {
                let line = line.to_vec();
                self.set_up(SetUp { method: Method::Initialized, about: String::new(), id: None, line });
            }
            (Some("notifications/cancelled"), None) => {
                if let Some(id) = params.request_id {
                    self.remove(&id);
                }
            }
            (Some(_), None) => {}
            (None, id) => self.asked.retain(|asked| Some(asked) != id.as_ref()),
        }
    }

    fn add_effect(&mut self, effect: &[u8]) {
        let Some((kind, id)) = effect.split_first() else { return };
        let Ok(id) = serde_json::from_slice::<RequestId>(id) else { return };
        match *kind {
            kind::ANSWERED => {
                if let Some(request) = self.remove(&id) {
                    self.answered(request);
                }
            }
            kind::REFUSED => drop(self.remove(&id)),
            kind::ASKED => self.asked.push(id),
            kind::WITHDRAWN => self.asked.retain(|asked| *asked != id),
            _ => {}
        }
    }

    fn answer_last(&mut self) {
        if let Some(mut last) = self.requests.last_entry().filter(|it| *it.key() == self.last) {
            let id = last.get_mut().id.clone();
            if let Some(request) = self.remove(&id) {
                self.answered(request);
            }
        }
    }

    fn answered(&mut self, OpenRequest { id, method, about, line, .. }: OpenRequest) {
        match method {
            Method::Initialize | Method::SetLevel | Method::Subscribe => {
                self.set_up(SetUp { method, about, id: Some(id), line })
            }
            Method::Unsubscribe => self.set_up.retain(|it| it.method != Method::Subscribe || it.about != about),
            Method::Initialized | Method::Listen | Method::Other => {}
        }
    }

    /// For each object, the last message is in force.
    fn set_up(&mut self, new: SetUp) {
        self.set_up.retain(|it| (it.method, &it.about) != (new.method, &new.about));
        let subscribed = || self.set_up.iter().filter(|it| it.method == Method::Subscribe).count();
        if new.method != Method::Subscribe || new.line.len() <= MAX_SUBSCRIBE && subscribed() < MAX_SUBSCRIBED {
            // A client may have sent other messages before `initialize` was answered.
            let at = if new.method == Method::Initialize { 0 } else { self.set_up.len() };
            self.set_up.insert(at, new);
        }
    }

    fn remove(&mut self, id: &RequestId) -> Option<OpenRequest> {
        let removed = self.requests.remove(&self.by_id.remove(id)?)?;
        self.bytes -= removed.bytes();
        Some(removed)
    }
}

impl OpenRequest {
    /// A request of which only the id is kept.
    fn large(id: RequestId) -> Self {
        Self { id, method: Method::Other, about: String::new(), state: RequestState::Large, line: Vec::new() }
    }

    /// The bytes that it takes, approximately.
    fn bytes(&self) -> usize {
        let id = if let RequestId::String(text) = &self.id { text.len() } else { 0 };
        size_of::<Self>() + 2 * id + self.about.len() + self.line.len()
    }
}

impl Method {
    fn from_name(name: &str) -> Self {
        match name {
            "initialize" => Self::Initialize,
            "logging/setLevel" => Self::SetLevel,
            "resources/subscribe" => Self::Subscribe,
            "resources/unsubscribe" => Self::Unsubscribe,
            "subscriptions/listen" => Self::Listen,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests;
