//! The way to a server: a program's stdin and stdout, or Streamable HTTP.

use super::UpstreamSettings;
use super::tap::Tap;
use platform::outbound::Outbound;
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

/// One message of a server. Bounds what a server that never ends its line makes us keep.
const MAX_MESSAGE: usize = 16 << 20;
/// One line of a server's stderr that is logged. Bounds what it can put into the log at once.
const MAX_LINE: u64 = 4 << 10;
/// Until a server has said what it is. Bounds a server that accepts the connection and says nothing.
const HANDSHAKE: Duration = Duration::from_secs(30);
/// A token. Bounds what is read of a file that is none.
const MAX_KEY: u64 = 16 << 10;

/// Why there is no way to a server.
#[derive(Debug, thiserror::Error)]
pub(super) enum LinkError {
    #[error("cannot start `{0}`: {1}")]
    Spawn(String, io::Error),
    #[error("cannot read the key {0}: {1}")]
    Key(String, io::Error),
    #[error("{0}")]
    Outbound(String),
    #[error("{0}")]
    Handshake(String),
    #[error("it did not say what it is within {t}", t = humantime::format_duration(HANDSHAKE))]
    Silent,
}

/// A connection that stands, and the program behind it, if it is one. The program ends with it.
pub(super) struct Linked<H: ClientHandler> {
    pub(super) service: RunningService<RoleClient, H>,
    pub(super) child: Option<Child>,
}

/// Connects.
pub(super) async fn link<H: ClientHandler>(
    settings: &UpstreamSettings,
    tap: Arc<dyn super::tap::Listener>,
    handler: H,
) -> Result<Linked<H>, LinkError> {
    use rmcp::model::ProtocolVersion;
    let mode = match settings.era {
        super::Era::Legacy => ClientLifecycleMode::Initialize,
        super::Era::Auto => {
            ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::V_2026_07_28], legacy_version: None }
        }
    };
    let failed = |error: ClientInitializeError| LinkError::Handshake(printable(&error.to_string()).into_owned());
    let silent = |_| LinkError::Silent;
    match &settings.url {
        Some(url) => {
            let outbound = Outbound::new().map_err(|error| LinkError::Outbound(error.to_string()))?;
            let mut config =
                StreamableHttpClientTransportConfig::with_uri(url.as_str()).max_sse_event_size(MAX_MESSAGE);
            config.max_concurrent_requests = 64;
            if let Some(key) = key(settings).await? {
                config = config.auth_header(key);
            }
            let transport = StreamableHttpClientTransport::with_client(outbound.client(), config);
            let serving = handler.serve_with_lifecycle(Tap::new(transport, tap), mode);
            let service = tokio::time::timeout(HANDSHAKE, serving).await.map_err(silent)?.map_err(failed)?;
            Ok(Linked { service, child: None })
        }
        None => {
            let (child, reader, writer) = spawn(settings)?;
            let transport = rmcp::transport::async_rw::AsyncRwTransport::new(Lines::new(reader), writer);
            let serving = handler.serve_with_lifecycle(Tap::new(transport, tap), mode);
            let service = tokio::time::timeout(HANDSHAKE, serving).await.map_err(silent)?.map_err(failed)?;
            Ok(Linked { service, child: Some(child) })
        }
    }
}

async fn key(settings: &UpstreamSettings) -> Result<Option<String>, LinkError> {
    let Some(path) = &settings.key_file else { return Ok(None) };
    let fail = |error| LinkError::Key(path.display().to_string(), error);
    let mut text = String::new();
    let file = tokio::fs::File::open(path).await.map_err(fail)?;
    file.take(MAX_KEY).read_to_string(&mut text).await.map_err(fail)?;
    let key = text.trim();
    if key.is_empty() || !key.chars().all(|c| c.is_ascii_graphic()) {
        return Err(fail(io::Error::new(io::ErrorKind::InvalidData, "it must hold one line of visible characters")));
    }
    Ok(Some(key.to_owned()))
}

type Ends = (Child, tokio::process::ChildStdout, tokio::process::ChildStdin);

/// Starts the program, with nothing in its environment that it was not given.
fn spawn(settings: &UpstreamSettings) -> Result<Ends, LinkError> {
    let program = settings.command.first().cloned().unwrap_or_default();
    let fail = |error| LinkError::Spawn(printable(&program).into_owned(), error);
    let mut command = Command::new(&program);
    command.args(&settings.command[1..]).env_clear().envs(settings.inherited.iter().map(|(key, value)| (key, value)));
    command.envs(&settings.env).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.kill_on_drop(true).spawn().map_err(fail)?;
    let (Some(stdout), Some(stdin)) = (child.stdout.take(), child.stdin.take()) else {
        return Err(fail(io::Error::other("it has no stdin and stdout")));
    };
    if let Some(stderr) = child.stderr.take() {
        tokio::spawn(log(settings.name.clone(), stderr));
    }
    Ok((child, stdout, stdin))
}

/// Puts what the program says on stderr into the log, a line at a time, for as long as it runs.
async fn log(server: String, stderr: impl AsyncRead + Unpin) {
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

/// Fails once a line is longer than any message may be.
struct Lines<R> {
    inner: R,
    since: usize,
}

impl<R> Lines<R> {
    fn new(inner: R) -> Self {
        Self { inner, since: 0 }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Lines<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // Only now: what was read before the end was reached has been handed over.
        if self.since > MAX_MESSAGE {
            return Poll::Ready(Err(io::Error::other("the server sent a message that is too long")));
        }
        let before = buf.filled().len();
        std::task::ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        let read = &buf.filled()[before..];
        self.since = match read.iter().rposition(|byte| *byte == b'\n') {
            Some(at) => read.len() - at - 1,
            None => self.since.saturating_add(read.len()),
        };
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_has_an_end() {
        let endless = tokio::io::repeat(b'x').take(MAX_MESSAGE as u64 + 2);
        let error = Lines::new(endless).read_to_end(&mut Vec::new()).await.unwrap_err();
        assert!(error.to_string().contains("too long"), "{error}");
        let mut lines = Vec::new();
        let many = b"x".repeat(1 << 20).into_iter().chain(*b"\n").cycle().take(20 << 20).collect::<Vec<u8>>();
        Lines::new(many.as_slice()).read_to_end(&mut lines).await.unwrap();
        assert_eq!(lines.len(), 20 << 20);
    }
}
