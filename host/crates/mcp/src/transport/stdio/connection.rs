//! Serves a client over stdin and stdout. Calls that get only one response are served directly; rmcp serves everything else.

use super::lines::{Line, LineDecoder, MAX_LINE};
use super::log_writer::LineEffect;
use super::open_session::{RequestState, TakenOver};
use super::outgoing::Outgoing;
use super::resumption::{self, Resumption};
use super::running::{DirectId, RunningRequests};
use super::shutdown::Shutdown;
use crate::client_tools::retry;
use crate::direct_call::{DirectCall, DirectResponse};
use crate::request_context::Interrupted;
use crate::server_context::ServerContext;
use crate::subscriptions::task_listen;
use crate::transport::connections::message_memory::{HeldBytes, MAX_HELD, MessageMemory, UNCOUNTED};
use crate::transport::responses::sent_text::request_id;
use crate::transport::shutdown::FLUSH_TIMEOUT;
use crate::unreadable::Unreadable;
use bytes::BytesMut;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use platform::clock::Clock;
use platform::standard_streams::{Input, StandardOutput};
use plugins::calls::CleanUp;
use protocol::json_text::memory_of;
use rmcp::ErrorData;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, GetExtensions as _, RequestId, ServerJsonRpcMessage};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use rmcp::transport::async_rw::JsonRpcMessageCodec;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::coop;
use tokio_util::codec::{Decoder as _, FramedRead};
use tokio_util::task::AbortOnDropHandle;

/// Bytes of a read, so that many short requests arrive at once.
const READ: usize = 16 << 10;
/// CPU time of a call from which on other waiting calls are spread over the threads. Handing a call over costs some
/// microseconds.
const LONG_CALL: Duration = Duration::from_micros(200);
/// Requests that rmcp serves at the same time; further ones are refused. Each has a task, which is far larger than a short
/// request. Bounds the memory for a client that sends many requests and reads no responses.
const MAX_SERVED: usize = 1_024;
/// CPU time of later calls for which a response may be held back, to be written together with theirs.
const MAX_DELAY: Duration = Duration::from_millis(1);

/// Counts a request, and its memory if it is large, as long as its task exists.
#[derive(Clone)]
struct CountedRequest {
    _counted: Arc<()>,
    _held: Option<Arc<HeldBytes>>,
}

/// A message that is not served.
struct Refused;

pub(super) struct StdioConnection {
    server: Arc<ServerContext>,
    lines: FramedRead<Input, LineDecoder>,
    outgoing: Arc<Outgoing>,
    running: RunningRequests,
    /// Cloned for each request that rmcp serves, so the strong count minus one is their number.
    served: Arc<()>,
    /// The memory of the requests that are being served. Bounds it for a client that sends large requests which take long, or
    /// requests whose text is many small values.
    memory: Arc<MessageMemory>,
    /// The calls that are served directly.
    calls: FuturesUnordered<BoxFuture<'static, (DirectId, DirectResponse)>>,
    /// The clean-up of the last of these calls, done when its response is sent.
    clean_up: Option<CleanUp>,
    /// CPU time of the last of these calls, and of all whose responses wait to be written.
    last_cpu: Duration,
    waiting_cpu: Duration,
    /// Whether rmcp has got a request already.
    has_begun: bool,
    /// When the last request came.
    last_request: Option<Instant>,
    clock: Arc<dyn Clock>,
    input_has_ended: bool,
    resumption: Resumption,
    shutdown: Shutdown,
}

impl StdioConnection {
    pub(super) fn new(
        server: Arc<ServerContext>,
        (input, output): (Input, StandardOutput),
        mut resumption: Resumption,
        shutdown: Shutdown,
    ) -> Self {
        let (decoder, begin) = resumption.decoder();
        let mut lines = FramedRead::with_capacity(resumption.input(input), decoder, READ);
        lines.read_buffer_mut().extend_from_slice(&begin);
        let outgoing = Arc::new(Outgoing::new(output, resumption.log().cloned()));
        resumption.clear_up(&outgoing);
        Self {
            clock: server.runner.clock(),
            has_begun: false,
            last_request: None,
            server,
            lines,
            outgoing,
            resumption,
            running: RunningRequests::default(),
            served: Arc::default(),
            memory: MessageMemory::new(MAX_HELD),
            calls: FuturesUnordered::new(),
            clean_up: None,
            last_cpu: Duration::ZERO,
            waiting_cpu: Duration::ZERO,
            input_has_ended: false,
            shutdown,
        }
    }

    /// Returns the message for rmcp, if one was read.
    fn take(&mut self, line: Option<io::Result<Line>>) -> Option<ClientJsonRpcMessage> {
        match line {
            Some(Ok(Line::Text(line))) => self.take_line(line, None),
            Some(Ok(Line::TooLong(sent))) => {
                let text = format!("the message is longer than {} MiB, the limit over stdio", MAX_LINE >> 20);
                self.refuse(ErrorData::invalid_request(text, None), sent.request_id());
                None
            }
            Some(Ok(Line::Lost(sent))) => {
                self.refuse(resumption::lost(), sent.request_id());
                None
            }
            ended => {
                if let Some(Err(error)) = ended {
                    tracing::error!(%error, "stdin cannot be read");
                }
                self.input_has_ended = true;
                self.resumption.log().inspect(|log| log.client_has_gone());
                let now = self.clock.now();
                self.shutdown.input_has_ended(self.last_request.map(|last| now.saturating_duration_since(last)));
                None
            }
        }
    }

    /// Does the same for a message that an earlier process has left.
    fn take_over(&mut self, left: TakenOver) -> Option<ClientJsonRpcMessage> {
        match left {
            TakenOver::Request { line, state: RequestState::Waiting, .. } => {
                self.take_line(line.as_slice().into(), None)
            }
            // The message stays in the log.
            _ if self.shutdown.has_begun() => None,
            TakenOver::SetUp { line, .. } | TakenOver::Request { line, state: RequestState::Begun, .. } => {
                self.take_line(line.as_slice().into(), Some(Interrupted))
            }
            TakenOver::Request { id, state: RequestState::Large, .. } => {
                self.refuse(resumption::lost(), Some(id));
                None
            }
            TakenOver::Request { id, state: RequestState::BegunAgain, .. } => {
                self.refuse(resumption::ended_twice(), Some(id));
                None
            }
        }
    }

    fn take_line(&mut self, line: BytesMut, interrupted: Option<Interrupted>) -> Option<ClientJsonRpcMessage> {
        let held = self.hold(&line).ok()?;
        if self.shutdown.has_begun() {
            let next = self.resumption.log().filter(|_| !self.input_has_ended && request_id(&line, b"").is_some());
            if next.is_some_and(|log| log.leave_to_next(&line)) {
                return None;
            }
        } else if interrupted.is_none() {
            let is_free = |id: &RequestId| self.running.may_be_direct(id);
            if let Some(call) = DirectCall::from_line(&self.server, &line, is_free) {
                self.start(call, held);
                return None;
            }
        }
        let line = task_listen::pass_on(&line).map_or(line, |text| BytesMut::from(text.as_slice()));
        let message = self.parse(line).and_then(|message| self.resumption.rename_answer(message))?;
        match message {
            ClientJsonRpcMessage::Request(request) if self.shutdown.has_begun() => {
                self.refuse(ErrorData::internal_error("the server is stopping", None), Some(request.id));
                None
            }
            ClientJsonRpcMessage::Request(request) if Arc::strong_count(&self.served) > MAX_SERVED => {
                let text = format!("{MAX_SERVED} requests of this connection run already; let some of them end");
                self.refuse(ErrorData::internal_error(text, None), Some(request.id));
                None
            }
            // rmcp would end the connection for such a message, and has no request that it could be about.
            message if !self.has_begun && !matches!(message, ClientJsonRpcMessage::Request(_)) => {
                self.running.track(&message);
                None
            }
            // During shutdown, a response or a cancel helps running requests to end.
            mut message => {
                if let ClientJsonRpcMessage::Request(request) = &mut message {
                    self.has_begun = true;
                    self.last_request = Some(self.clock.now());
                    let counted = CountedRequest { _counted: self.served.clone(), _held: held.map(Arc::new) };
                    request.request.extensions_mut().insert(counted);
                }
                if let Some(interrupted) = interrupted {
                    interrupted.mark(&mut message);
                }
                self.running.track(&message);
                Some(message)
            }
        }
    }

    /// Estimates the memory of a message before anything parses it, and holds that much if it is large. Refuses a message that
    /// is too large by itself, and a large request while others fill the memory.
    fn hold(&self, line: &[u8]) -> Result<Option<HeldBytes>, Refused> {
        let bytes = memory_of(line).saturating_sub(UNCOUNTED);
        if bytes == 0 {
            return Ok(None);
        }
        let (id, held) = (request_id(line, b""), self.memory.hold(bytes));
        // Answers and cancel notifications are let in, since they help requests to end.
        if bytes <= MAX_HELD && (id.is_none() || !self.memory.is_exceeded()) {
            return Ok(Some(held));
        }
        let text = match bytes > MAX_HELD {
            true => format!("the message would take more than {} MiB of memory", MAX_HELD >> 20),
            false => {
                format!("your running requests would hold more than {} MiB of memory; let some end", MAX_HELD >> 20)
            }
        };
        match id {
            Some(id) => self.refuse(ErrorData::invalid_request(text, None), Some(id)),
            None => tracing::debug!("a line is ignored: {text}"),
        }
        Err(Refused)
    }

    /// Parses a line. If that fails, and the line is meant as a request, answers with an error.
    fn parse(&mut self, line: BytesMut) -> Option<ClientJsonRpcMessage> {
        let text = line.freeze();
        let mut codec = JsonRpcMessageCodec::<ClientJsonRpcMessage>::default();
        let message = match codec.decode_eof(&mut BytesMut::from(&*text)) {
            Ok(message) => message?,
            Err(_) => {
                let unreadable = Unreadable::new(&text);
                match unreadable.is_request() {
                    true => self.refuse(unreadable.error(), unreadable.id),
                    false => tracing::debug!(%unreadable, "a line is ignored"),
                }
                return None;
            }
        };
        if matches!(message, ClientJsonRpcMessage::Request(_))
            && let Some(wrong) = Unreadable::of_cursor(&text)
        {
            self.refuse(wrong.error(), wrong.id);
            return None;
        }
        // rmcp would end the connection if its first request is one of these. It passes later ones on to the handler, which
        // knows which protocol version the client speaks.
        if !self.has_begun
            && let ClientJsonRpcMessage::Request(request) = &message
            && let ClientRequest::CustomRequest(custom) = &request.request
            && !task_listen::is_passed_on(&custom.params)
            && let Some(wrong) = Unreadable::of_params(&text)
        {
            self.refuse(wrong.error(), wrong.id);
            return None;
        }
        Some(message)
    }

    /// The next message that rmcp gets in place of the client's: first errors for questions that nobody can answer any more,
    /// then a cancel notification for each request that shutdown ends. Ends directly served requests when the time is over.
    fn next_for_client(&mut self) -> Option<ClientJsonRpcMessage> {
        let is_over = self.shutdown.is_over();
        if (is_over || self.input_has_ended)
            && let Some(error) = self.running.next_unanswered()
        {
            return Some(error);
        }
        if is_over {
            self.running.end_direct();
        }
        self.running.next_cancel(is_over)
    }

    fn has_ended(&self) -> bool {
        self.calls.is_empty() && self.running.is_empty()
    }

    fn refuse(&self, error: ErrorData, id: Option<RequestId>) {
        match serde_json::to_vec(&ServerJsonRpcMessage::error(error, id.clone())) {
            Ok(text) => self.outgoing.push(&text, id.as_ref().map(LineEffect::Refused)),
            Err(error) => tracing::error!(%error, "a refusal cannot be written"),
        }
    }

    fn start(&mut self, call: DirectCall, held: Option<HeldBytes>) {
        if let Some(clean_up) = self.clean_up.take() {
            clean_up.before_next_call();
        }
        self.last_request = Some(self.clock.now());
        let (id, end) = self.running.add_direct(call.id().clone());
        let server = self.server.clone();
        let run = async move {
            let _held = held;
            call.run(&server, &end).await
        };
        let others_wait = !self.calls.is_empty() || !self.lines.read_buffer().is_empty();
        self.calls.push(if others_wait && self.last_cpu > LONG_CALL {
            let task = AbortOnDropHandle::new(tokio::spawn(run));
            Box::pin(async move {
                let response = task.await.unwrap_or_else(|_| DirectResponse::failed(&id.id));
                (id, response)
            })
        } else {
            Box::pin(async move { (id, run.await) })
        });
    }

    fn answer(&mut self, (id, response): (DirectId, DirectResponse)) {
        if let Some(id) = self.running.remove_direct(id) {
            self.outgoing.push(&response.json, Some(LineEffect::Answered(&id)));
        }
        self.last_cpu = response.cpu;
        self.waiting_cpu += response.cpu;
        let previous = std::mem::replace(&mut self.clean_up, response.clean_up);
        if let Some(previous) = previous {
            previous.before_next_call();
        }
    }
}

impl Transport<RoleServer> for StdioConnection {
    type Error = io::Error;

    fn send(&mut self, mut message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.running.track_sent(&message);
        let sender = (!self.resumption.is_unwanted(&message)).then(|| self.outgoing.sender());
        self.resumption.rename_asked(&mut message);
        async move {
            let Some(sender) = sender else { return Ok(()) };
            retry::rewrite_message(&mut message);
            sender.send(&serde_json::to_vec(&message)?, LineEffect::from_message(&message)).await
        }
    }

    /// Cancel safe: it may be dropped at any moment and called again.
    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.shutdown.has_begun() {
                match self.next_for_client() {
                    Some(message) => return Some(message),
                    None if self.has_ended() => {
                        // A client that does not read must not delay the end.
                        let _ = tokio::time::timeout(FLUSH_TIMEOUT, self.outgoing.flush()).await;
                        return None;
                    }
                    None => {}
                }
            }
            if let Some(left) = self.resumption.next_line() {
                match self.take_over(left) {
                    Some(message) => return Some(message),
                    None => continue,
                }
            }
            if self.outgoing.is_empty() {
                self.clean_up = None;
                self.waiting_cpu = Duration::ZERO;
            }
            let is_late = self.waiting_cpu > MAX_DELAY;
            let reads = !self.outgoing.is_full() && !self.input_has_ended;
            // Calls that have ended come first, then new requests. When nothing else is ready, all responses are written
            // together.
            tokio::select! {
                biased;
                () = self.shutdown.changed() => {}
                flushed = self.outgoing.flush(), if is_late => flushed.ok()?,
                Some(ended) = self.calls.next() => self.answer(ended),
                line = self.lines.next(), if reads => {
                    if let Some(message) = self.take(line) {
                        return Some(message);
                    }
                }
                flushed = self.outgoing.flush(), if !self.outgoing.is_empty() => flushed.ok()?,
            }
            coop::consume_budget().await;
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}
