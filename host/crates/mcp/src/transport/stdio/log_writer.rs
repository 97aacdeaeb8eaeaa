//! Writes into the session log what a process that takes over from this one must know: the input that was read, and which
//! requests were answered.

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

/// The effect on a request of writing a line.
pub(super) enum LineEffect<'a> {
    Answered(&'a RequestId),
    /// It was answered with an error.
    Refused(&'a RequestId),
    /// The server asks the client.
    Asked(&'a RequestId),
    /// The server withdraws its request to the client.
    Withdrawn(&'a RequestId),
}

impl<'a> LineEffect<'a> {
    pub(super) fn from_message(message: &'a ServerJsonRpcMessage) -> Option<Self> {
        match message {
            ServerJsonRpcMessage::Response(response) => Some(Self::Answered(&response.id)),
            ServerJsonRpcMessage::Error(error) => error.id.as_ref().map(Self::Refused),
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

    /// Appends one line for an entry of the kind `WRITTEN`.
    pub(super) fn write(&self, into: &mut Vec<u8>) {
        let (kind, id) = match self {
            Self::Answered(id) => (kind::ANSWERED, id),
            Self::Refused(id) => (kind::REFUSED, id),
            Self::Asked(id) => (kind::ASKED, id),
            Self::Withdrawn(id) => (kind::WITHDRAWN, id),
        };
        into.push(kind);
        // An id is a number or a text.
        let _ = serde_json::to_writer(&mut *into, id);
        into.push(b'\n');
    }
}

pub(super) struct SessionLogWriter {
    log: Arc<SessionLog>,
    has_failed: AtomicBool,
}

impl SessionLogWriter {
    /// Takes the connection over from an earlier process, if there was one. Logs the open requests of that process again, as
    /// those of this one.
    pub(super) fn begin(log: Arc<SessionLog>) -> io::Result<(Arc<Self>, OpenSession, u32)> {
        let earlier = log.earlier_processes()?;
        let mut open = OpenSession::default();
        log.replace(|entries| {
            open = OpenSession::read(entries);
            open.as_taken_over()
        })?;
        log.set(SessionFlag::Serving)?;
        Ok((Arc::new(Self { log, has_failed: AtomicBool::new(false) }), open, earlier))
    }

    /// Logs that more is about to be written than the system writes at once.
    pub(super) fn is_writing(&self) {
        self.append(kind::WRITING, b"");
    }

    /// Logs that whole lines were written. `effects` are lines of [`LineEffect::write`].
    pub(super) fn has_written(&self, effects: &[u8]) {
        self.append(kind::WRITTEN, effects);
    }

    /// Leaves a request to the next process. False if there will be none.
    pub(super) fn leave_to_next(&self, line: &[u8]) -> bool {
        if self.log.has(SessionFlag::Last) {
            return false;
        }
        self.append(kind::WAITING, line);
        true
    }

    pub(super) fn client_has_gone(&self) {
        self.check(self.log.set(SessionFlag::ClientGone));
    }

    fn append(&self, kind: u8, bytes: &[u8]) {
        let kept = |entries: Vec<SessionEntry>| OpenSession::read(entries).entries();
        let appended = self.log.append(kind, bytes);
        self.check(appended.and_then(|is_long| if is_long { self.log.replace(kept) } else { Ok(()) }));
    }

    /// Marks this process as the last one if the log cannot be written, because a process that knows only a part would answer
    /// wrongly.
    fn check(&self, written: io::Result<()>) {
        let Err(error) = written else { return };
        if !self.has_failed.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "if this process is killed, the client has to start another: the session log cannot be written");
            if let Err(error) = self.log.set(SessionFlag::Last) {
                tracing::error!(%error, "the supervisor cannot be told");
            }
        }
    }
}

/// An input that logs everything that is read from it.
pub(super) struct LoggedInput {
    pub(super) input: Input,
    pub(super) log: Arc<SessionLogWriter>,
}

impl AsyncRead for LoggedInput {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.input).poll_read(cx, buffer));
        if let Some(new) = buffer.filled().get(before..).filter(|new| !new.is_empty()) {
            self.log.append(kind::INPUT, new);
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
    fn the_log_stays_short_while_only_the_server_writes() {
        let log = Arc::new(SessionLog::create().unwrap());
        let file = format!("/proc/self/fd/{}", log.descriptor());
        let (writer, ..) = SessionLogWriter::begin(log).unwrap();
        writer.append(kind::INPUT, b"{\"id\":1,\"method\":\"tools/call\"}\n");
        for _ in 0..200_000 {
            writer.is_writing();
            writer.has_written(b"");
        }
        let bytes = std::fs::metadata(file).unwrap().blocks() * 512;
        assert!(bytes <= 512 << 10, "{bytes} bytes");
        let open = OpenSession::read(writer.log.entries().unwrap());
        assert_eq!(open.take_over().0.len(), 1);
    }
}
