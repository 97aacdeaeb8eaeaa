//! MCP over the stdin and stdout of a program: a message in each line.

use super::incoming::{Incoming, MAX_MESSAGE, cut_off, read};
use crate::server_input::peer_account::PeerAccount;
use protocol::json_text::{member_of, open_brackets};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{RoleClient, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

pub(super) struct LineTransport<R, W> {
    reader: BufReader<R>,
    /// What has been read of a line; reading may be interrupted anywhere.
    line: Vec<u8>,
    /// Lines that begin a message, since some servers print a message over several lines, and their open brackets.
    begun: Vec<u8>,
    open: i64,
    /// None once the transport is closed.
    writer: Arc<Mutex<Option<W>>>,
    account: Arc<PeerAccount>,
    /// Ends writes in progress: a server that does not read would block them for ever.
    closed: CancellationToken,
}

impl<R: AsyncRead + Unpin + Send, W> LineTransport<R, W> {
    pub(super) fn new(reader: R, writer: W, account: Arc<PeerAccount>) -> Self {
        let (writer, closed) = (Arc::new(Mutex::new(Some(writer))), account.child_token());
        Self { reader: BufReader::new(reader), line: Vec::new(), begun: Vec::new(), open: 0, writer, account, closed }
    }

    /// Reads to the end of a line. False at the end of the stream, and if the line is too long.
    async fn read_line(&mut self) -> bool {
        loop {
            let part = match self.reader.fill_buf().await {
                Ok([]) | Err(_) => return false,
                Ok(part) => part,
            };
            let end = part.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(part.len(), |end| end + 1);
            if self.begun.len() + self.line.len() + taken > MAX_MESSAGE {
                self.account.close(format!("it sent a message of more than {MAX_MESSAGE} bytes"));
                return false;
            }
            self.line.extend_from_slice(&part[..taken]);
            self.reader.consume(taken);
            if end.is_some() {
                return true;
            }
        }
    }

    /// The message that the line is or completes.
    fn take_line(&mut self) -> Incoming {
        let is_first = self.begun.is_empty();
        // A line that is a message by itself completes nothing.
        if !is_first && member_of(&self.line, "jsonrpc").is_some() {
            return cut_off(&std::mem::take(&mut self.begun), &self.account);
        }
        self.open = if is_first { 0 } else { self.open } + open_brackets(&self.line);
        self.begun.append(&mut self.line);
        // Parsed only when it can be complete: otherwise each line would cost as much as all lines before it.
        if !is_first && self.open > 0 {
            return Incoming::Incomplete;
        }
        let incoming = match read(&self.begun, &self.account) {
            Incoming::Incomplete if self.open > 0 && self.begun.trim_ascii_start().starts_with(b"{") => {
                return Incoming::Incomplete;
            }
            Incoming::Incomplete => cut_off(&self.begun, &self.account),
            incoming => incoming,
        };
        self.begun.clear();
        incoming
    }
}

impl<R, W> Transport<RoleClient> for LineTransport<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let (writer, closed) = (self.writer.clone(), self.closed.clone());
        async move {
            let mut text = serde_json::to_vec(&item)?;
            text.push(b'\n');
            let writing = async {
                let mut writer = writer.lock().await;
                let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
                writer.write_all(&text).await?;
                writer.flush().await
            };
            closed.run_until_cancelled(writing).await.unwrap_or_else(|| Err(io::ErrorKind::NotConnected.into()))
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            // A line that did not complete the message before it must still be read itself.
            if !self.line.ends_with(b"\n") && !self.read_line().await {
                return None;
            }
            if let Incoming::Message(message, _) = self.take_line() {
                return Some(*message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.closed.cancel();
        self.writer.lock().await.take();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rmcp::model::{ClientJsonRpcMessage, ClientRequest, RequestId};

    async fn received(text: &[u8]) -> (Vec<String>, Arc<PeerAccount>) {
        let account = PeerAccount::new("far");
        let mut lines = LineTransport::new(text, tokio::io::sink(), account.clone());
        let mut messages = Vec::new();
        while let Some(message) = lines.receive().await {
            messages.push(serde_json::to_string(&message).unwrap());
        }
        (messages, account)
    }

    #[tokio::test]
    async fn messages_may_take_several_lines_and_have_others_between() {
        let text = "Listening on stdio\n[1, 2\n{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {}\n}\n\r\n\
                    {\"jsonrpc\":\"2.0\",\"id\":2,\n{ \"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\r\n{";
        let (messages, account) = received(text.as_bytes()).await;
        assert_eq!(messages.len(), 3, "{messages:?}");
        assert!(messages[0].contains("\"id\":1,\"result\"") && messages[2].contains("\"id\":3"), "{messages:?}");
        assert!(messages[1].contains("\"id\":2") && messages[1].contains("it ends too soon"), "{messages:?}");
        assert_eq!(account.reason(), None);
    }

    #[tokio::test]
    async fn a_server_that_reads_nothing_does_not_keep_the_connection_from_its_end() {
        let account = PeerAccount::new("far");
        let (writer, _unread) = tokio::io::duplex(1);
        let mut lines = LineTransport::new(tokio::io::empty(), writer, account.clone());
        let ping =
            || ClientJsonRpcMessage::request(ClientRequest::PingRequest(Default::default()), RequestId::Number(1));
        let (first, second) = (tokio::spawn(lines.send(ping())), tokio::spawn(lines.send(ping())));
        tokio::task::yield_now().await;
        lines.close().await.unwrap();
        assert!(first.await.unwrap().is_err() && second.await.unwrap().is_err());
        assert!(lines.send(ping()).await.is_err() && account.reason().is_none());
    }

    #[tokio::test]
    async fn a_message_that_is_too_long_ends_the_connection() {
        for text in [vec![b'x'; MAX_MESSAGE + 1], b"{\n".repeat(MAX_MESSAGE / 2 + 1)] {
            let (messages, account) = received(&text).await;
            assert!(messages.is_empty());
            assert!(account.reason().unwrap().contains("a message of more than 16777216 bytes"));
        }
    }
}
