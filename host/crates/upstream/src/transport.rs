//! Connects to a server over a program's stdin and stdout or over Streamable HTTP.

use crate::handshake_error::handshake_reason;
use crate::ordered_transport::{OrderedTransport, TransportObserver};
use crate::settings::{ProtocolVersions, UpstreamSettings};
use platform::files::read_key_file;
use platform::outbound::OutboundClient;
use platform::telemetry::printable;
use rmcp::service::{ClientInitializeError, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt};
use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader, ReadBuf};
use tokio::process::{Child, Command};

/// Size of one message, in bytes. Bounds what a server that never ends its line makes us keep.
const MAX_MESSAGE: usize = 16 << 20;
/// Length of one logged line of a server's stderr, in bytes. Bounds what it can write into the log at once.
const MAX_LINE: u64 = 4 << 10;
/// Time for the handshake. Bounds a server that accepts the connection and never answers.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(30);
/// Size of a key file, in bytes. Bounds what is read from a wrong file.
const MAX_KEY: u64 = 16 << 10;

#[derive(Debug, thiserror::Error)]
pub(super) enum ConnectError {
    #[error("cannot start `{0}`: {reason}", reason = reason_not_started(.1))]
    Spawn(String, io::Error),
    #[error("cannot read the key {0}: {1}")]
    Key(String, io::Error),
    #[error("{0}")]
    Outbound(String),
    #[error("{0}")]
    Handshake(String),
    #[error("the handshake took longer than {t}", t = humantime::format_duration(HANDSHAKE_TIMEOUT))]
    HandshakeTimeout,
}

fn reason_not_started(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such program; is it installed, and is its folder in PATH?".to_owned(),
        _ => error.to_string(),
    }
}

/// An established connection, and the server's program if the host has started it. The program ends with it.
pub(super) struct NewConnection<H: ClientHandler> {
    pub(super) service: RunningService<RoleClient, H>,
    pub(super) child: Option<Child>,
}

pub(super) async fn connect<H: ClientHandler>(
    settings: &UpstreamSettings,
    observer: Arc<dyn TransportObserver>,
    handler: H,
) -> Result<NewConnection<H>, ConnectError> {
    use rmcp::model::ProtocolVersion;
    let mode = match settings.protocol {
        ProtocolVersions::Legacy => ClientLifecycleMode::Initialize,
        ProtocolVersions::Auto => {
            ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None }
        }
    };
    let failed = |error: ClientInitializeError| ConnectError::Handshake(handshake_reason(&error));
    let timed_out = |_| ConnectError::HandshakeTimeout;
    match &settings.url {
        Some(url) => {
            let outbound = OutboundClient::new().map_err(|error| ConnectError::Outbound(error.to_string()))?;
            let mut config =
                StreamableHttpClientTransportConfig::with_uri(url.as_str()).max_sse_event_size(MAX_MESSAGE);
            config.max_concurrent_requests = 64;
            if let Some(key) = read_key(settings).await? {
                config = config.auth_header(key);
            }
            let transport = StreamableHttpClientTransport::with_client(outbound.client(), config);
            let serving = handler.serve_with_lifecycle(OrderedTransport::new(transport, observer), mode);
            let service = tokio::time::timeout(HANDSHAKE_TIMEOUT, serving).await.map_err(timed_out)?.map_err(failed)?;
            Ok(NewConnection { service, child: None })
        }
        None => {
            let (child, reader, writer) = spawn(settings)?;
            let transport = rmcp::transport::async_rw::AsyncRwTransport::new(BoundedLines::new(reader), writer);
            let serving = handler.serve_with_lifecycle(OrderedTransport::new(transport, observer), mode);
            let service = tokio::time::timeout(HANDSHAKE_TIMEOUT, serving).await.map_err(timed_out)?.map_err(failed)?;
            Ok(NewConnection { service, child: Some(child) })
        }
    }
}

async fn read_key(settings: &UpstreamSettings) -> Result<Option<String>, ConnectError> {
    let Some(path) = settings.key_file.clone() else { return Ok(None) };
    let shown = path.display().to_string();
    let fail = |error| ConnectError::Key(shown, error);
    let read = tokio::task::spawn_blocking(move || read_key_file(&path, "the key of an upstream server", MAX_KEY));
    let text = match read.await.map_err(io::Error::from).flatten() {
        Ok(text) => text,
        Err(error) => return Err(fail(error)),
    };
    let key = text.trim();
    if key.is_empty() || text.len() as u64 > MAX_KEY || !key.chars().all(|c| c.is_ascii_graphic()) {
        return Err(fail(io::Error::new(io::ErrorKind::InvalidData, "it must hold one line of visible characters")));
    }
    Ok(Some(key.to_owned()))
}

type ProgramPipes = (Child, tokio::process::ChildStdout, tokio::process::ChildStdin);

/// Starts the program. Its environment holds only what the settings give it.
fn spawn(settings: &UpstreamSettings) -> Result<ProgramPipes, ConnectError> {
    let program = settings.command.first().cloned().unwrap_or_default();
    let fail = |error| ConnectError::Spawn(printable(&program).into_owned(), error);
    let mut command = Command::new(&program);
    command.args(&settings.command[1..]).env_clear().envs(settings.inherited.iter().map(|(key, value)| (key, value)));
    command.envs(&settings.env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().map_err(fail)?;
    let (Some(stdout), Some(stdin)) = (child.stdout.take(), child.stdin.take()) else {
        return Err(fail(io::Error::other("the program has no stdin and stdout")));
    };
    if let Some(stderr) = child.stderr.take() {
        tokio::spawn(log_stderr(settings.name.clone(), stderr));
    }
    Ok((child, stdout, stdin))
}

/// Logs the program's stderr line by line until it exits.
async fn log_stderr(server: String, stderr: impl AsyncRead + Unpin) {
    let mut stderr = BufReader::new(stderr);
    let mut line = Vec::new();
    loop {
        line.clear();
        match (&mut stderr).take(MAX_LINE).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let text = String::from_utf8_lossy(&line);
                tracing::info!(target: "upstream", server, "{}", printable(text.trim_end()));
            }
        }
    }
}

/// A reader that fails when a line is longer than [`MAX_MESSAGE`].
struct BoundedLines<R> {
    inner: R,
    line_length: usize,
}

impl<R> BoundedLines<R> {
    fn new(inner: R) -> Self {
        Self { inner, line_length: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // Fails on the next read, after the bytes before the limit have been passed on.
        if self.line_length > MAX_MESSAGE {
            return Poll::Ready(Err(io::Error::other("the server sent a message that is too long")));
        }
        let before = buf.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let read = &buf.filled()[before..];
        self.line_length = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => read.len() - at - 1,
            None => self.line_length.saturating_add(read.len()),
        };
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_fails() {
        let endless = tokio::io::repeat(b'x').take(MAX_MESSAGE as u64 + 2);
        let error = BoundedLines::new(endless).read_to_end(&mut Vec::new()).await.unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
        let mut lines = Vec::new();
        let many = b"x".repeat(1 << 20).into_iter().chain(*b"\n").cycle().take(20 << 20).collect::<Vec<u8>>();
        BoundedLines::new(many.as_slice()).read_to_end(&mut lines).await.unwrap();
        assert_eq!(lines.len(), 20 << 20);
    }
}
