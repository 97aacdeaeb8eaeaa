//! Takes over the connection of an earlier process: its requests are served again or answered, without mixing up the messages
//! of the two processes.

use super::lines::LineDecoder;
use super::log_writer::{LineEffect, LoggedInput, SessionLogWriter};
use super::open_session::TakenOver;
use super::outgoing::Outgoing;
use super::partial_line::PartialLine;
use platform::session_log::SessionLog;
use platform::standard_streams::Input;
use rmcp::ErrorData;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerNotification,
};
use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::Arc;

/// How many ids each process has for its requests to the client. rmcp numbers its requests from 0 in each process, and an
/// answer to a request of an earlier process must never be taken for one to another.
const IDS: i64 = 1 << 32;

/// The error for a message of which this process has only a part.
pub(super) fn lost() -> ErrorData {
    let text = "the server was killed while it had this message, which is too large for the session log; it is unknown what \
                was done";
    ErrorData::internal_error(text, None)
}

/// The error for a request that is possibly what makes processes end.
pub(super) fn ended_twice() -> ErrorData {
    let text = "the server has ended twice while it served this request, and does not serve it again";
    ErrorData::internal_error(text, None)
}

/// Without a log, there is no other process to take over from.
#[derive(Default)]
pub(super) struct Resumption {
    log: Option<Arc<SessionLogWriter>>,
    lines: VecDeque<TakenOver>,
    partial: PartialLine,
    asked: Vec<RequestId>,
    is_torn: bool,
    /// The requests whose responses the client has already.
    unwanted: HashSet<RequestId>,
    first_id: i64,
}

impl Resumption {
    pub(super) fn begin(log: Arc<SessionLog>) -> io::Result<Self> {
        let (writer, open, earlier) = SessionLogWriter::begin(log)?;
        let (asked, is_torn) = (open.asked().to_vec(), open.is_torn());
        let (lines, partial) = open.take_over();
        let unwanted = lines.iter().filter_map(|line| match line {
            TakenOver::SetUp { answered, .. } => answered.clone(),
            TakenOver::Request { .. } => None,
        });
        Ok(Self {
            log: Some(writer),
            unwanted: unwanted.collect(),
            lines: lines.into(),
            partial,
            asked,
            is_torn,
            first_id: i64::from(earlier) * IDS,
        })
    }

    pub(super) fn log(&self) -> Option<&Arc<SessionLogWriter>> {
        self.log.as_ref()
    }

    pub(super) fn input(&self, input: Input) -> Input {
        match &self.log {
            Some(log) => Box::new(LoggedInput { input, log: log.clone() }),
            None => input,
        }
    }

    /// Returns the decoder that splits the input into lines, and the beginning of the first line.
    pub(super) fn decoder(&mut self) -> (LineDecoder, Vec<u8>) {
        let PartialLine { begin, end } = std::mem::take(&mut self.partial);
        match end {
            Some(end) => (LineDecoder::within(&begin, &end), Vec::new()),
            None => (LineDecoder::default(), begin),
        }
    }

    /// Ends the line that was being written, and withdraws the requests to the client whose answers nobody waits for any more.
    pub(super) fn clear_up(&mut self, outgoing: &Outgoing) {
        if std::mem::take(&mut self.is_torn) {
            outgoing.push(b"", None);
        }
        for id in std::mem::take(&mut self.asked) {
            let reason = Some("the server was started again, and the call that asked has ended".to_owned());
            let cancelled = CancelledNotification::new(CancelledNotificationParam::new(Some(id.clone()), reason));
            let message = ServerJsonRpcMessage::notification(ServerNotification::CancelledNotification(cancelled));
            match serde_json::to_vec(&message) {
                Ok(text) => outgoing.push(&text, Some(LineEffect::Withdrawn(&id))),
                Err(error) => tracing::error!(%error, "a question cannot be withdrawn"),
            }
        }
    }

    pub(super) fn next_line(&mut self) -> Option<TakenOver> {
        self.lines.pop_front()
    }

    /// Whether a message of rmcp is a response that the client has already.
    pub(super) fn is_unwanted(&mut self, message: &ServerJsonRpcMessage) -> bool {
        match LineEffect::from_message(message) {
            Some(LineEffect::Answered(id) | LineEffect::Refused(id)) => self.unwanted.remove(id),
            _ => false,
        }
    }

    /// Replaces the id in a request of rmcp, or in its withdrawal, by the id that the client knows.
    pub(super) fn rename_asked(&self, message: &mut ServerJsonRpcMessage) {
        let id = match message {
            ServerJsonRpcMessage::Request(asked) => Some(&mut asked.id),
            ServerJsonRpcMessage::Notification(message) => match &mut message.notification {
                ServerNotification::CancelledNotification(cancelled) => cancelled.params.request_id.as_mut(),
                _ => None,
            },
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_) => None,
        };
        if let Some(RequestId::Number(number)) = id {
            *number += self.first_id;
        }
    }

    /// Replaces the id in an answer of the client by the id that rmcp knows. None if the answer is for an earlier process.
    pub(super) fn rename_answer(&self, mut message: ClientJsonRpcMessage) -> Option<ClientJsonRpcMessage> {
        let id = match &mut message {
            ClientJsonRpcMessage::Response(answer) => Some(&mut answer.id),
            ClientJsonRpcMessage::Error(answer) => answer.id.as_mut(),
            ClientJsonRpcMessage::Request(_) | ClientJsonRpcMessage::Notification(_) => None,
        };
        if let Some(RequestId::Number(number)) = id {
            *number = number.checked_sub(self.first_id).filter(|number| *number >= 0 || self.first_id == 0)?;
        }
        Some(message)
    }
}
