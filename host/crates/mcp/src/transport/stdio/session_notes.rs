//! Notes what a process that takes the place of this one must know of the connection: what was read, and what was answered.

use super::open_session::{OpenSession, kind};
use platform::session_log::{SessionEntry, SessionFlag, SessionLog};
use platform::standard_streams::Input;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// What becomes of a request when a line is written.
pub(super) enum Effect<'a> {
    Answered(&'a RequestId),
    /// The server asks the client.
    Asked(&'a RequestId),
    /// The server does not want the answer any more.
    Withdrawn(&'a RequestId),
}

impl<'a> Effect<'a> {
    pub(super) fn from_message(message: &'a ServerJsonRpcMessage) -> Option<Self> {
        match message {
            ServerJsonRpcMessage::Response(response) => Some(Self::Answered(&response.id)),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref().map(Self::Answered),
            ServerJsonRpcMessage::Request(asked) => Some(Self::Asked(&asked.id)),
            ServerJsonRpcMessage::Notification(message) => match &message.notification {
                ServerNotification::CancelledNotification(CancelledNotification {
                    params: CancelledNotificationParam { request_id: Some(id), .. },
                    ..
                }) => Some(Self::Withdrawn(id)),
                _ => None,
            },
        }
    }

    /// One line of the note about what was written.
    pub(super) fn write(&self, into: &mut Vec<u8>) {
        let (kind, id) = match self {
            Self::Answered(id) => (kind::ANSWERED, id),
            Self::Asked(id) => (kind::ASKED, id),
            Self::Withdrawn(id) => (kind::WITHDRAWN, id),
        };
        into.push(kind);
        // An id is a number or a text.
        let _ = serde_json::to_writer(&mut *into, id);
        into.push(b'\n');
    }
}

pub(super) struct SessionNotes {
    log: SessionLog,
    has_failed: AtomicBool,
}

impl SessionNotes {
    /// Takes the connection over from an earlier process, if there was one. What is open of it is noted as this process's.
    pub(super) fn begin(log: SessionLog) -> io::Result<(Arc<Self>, OpenSession, u32)> {
        let earlier = log.earlier_processes()?;
        let mut open = OpenSession::default();
        log.replace(|entries| {
            open = OpenSession::read(entries);
            open.as_taken_over()
        })?;
        log.set(SessionFlag::Serving)?;
        Ok((Arc::new(Self { log, has_failed: AtomicBool::new(false) }), open, earlier))
    }

    /// More is about to be written than is written at once.
    pub(super) fn is_writing(&self) {
        self.note(kind::WRITING, b"");
    }

    /// Whole lines were written; `effects` are lines of [`Effect::write`].
    pub(super) fn has_written(&self, effects: &[u8]) {
        self.note(kind::WRITTEN, effects);
    }

    /// A request is left to the next process. False if there is none.
    pub(super) fn leave_to_next(&self, line: &[u8]) -> bool {
        if self.log.has(SessionFlag::Last) {
            return false;
        }
        self.note(kind::WAITING, line);
        true
    }

    pub(super) fn client_has_gone(&self) {
        self.check(self.log.set(SessionFlag::ClientGone));
    }

    fn note(&self, kind: u8, bytes: &[u8]) {
        let kept = |entries: Vec<SessionEntry>| OpenSession::read(entries).entries();
        let noted = self.log.append(kind, bytes);
        self.check(noted.and_then(|is_long| if is_long { self.log.replace(kept) } else { Ok(()) }));
    }

    /// A process that knows only a part would answer wrongly, so there is none after this one.
    fn check(&self, noted: io::Result<()>) {
        let Err(error) = noted else { return };
        if !self.has_failed.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "if this process is killed, the client has to start another: what it needs cannot be noted");
            if let Err(error) = self.log.set(SessionFlag::Last) {
                tracing::error!(%error, "the supervisor cannot be told");
            }
        }
    }
}

/// Notes all that is read.
pub(super) struct NotedInput {
    pub(super) input: Input,
    pub(super) notes: Arc<SessionNotes>,
}

impl AsyncRead for NotedInput {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.input).poll_read(cx, buffer));
        if let Some(new) = buffer.filled().get(before..).filter(|new| !new.is_empty()) {
            self.notes.note(kind::INPUT, new);
        }
        Poll::Ready(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    /// A call may stream for hours while its client sends nothing.
    #[test]
    fn notes_of_what_is_written_stay_short() {
        let log = SessionLog::create().unwrap();
        let file = format!("/proc/self/fd/{}", log.descriptor());
        let (notes, ..) = SessionNotes::begin(log).unwrap();
        notes.note(kind::INPUT, b"{\"id\":1,\"method\":\"tools/call\"}\n");
        for _ in 0..200_000 {
            notes.is_writing();
            notes.has_written(b"");
        }
        let bytes = std::fs::metadata(file).unwrap().blocks() * 512;
        assert!(bytes <= 512 << 10, "{bytes} bytes");
        let open = OpenSession::read(notes.log.entries().unwrap());
        assert_eq!(open.take_over().0.len(), 1);
    }
}
