//! Connects to a server over a program's stdin and stdout or over Streamable HTTP.

mod error;
mod handshake_error;
mod http;
mod incoming;
mod lines;
pub(crate) mod ordered_transport;
mod program;

pub(super) use self::error::{KnownFailure, known_failure};

use self::error::{ConnectError, HANDSHAKE_TIMEOUT};
use self::http::HttpClient;
use self::lines::LineTransport;
use self::program::{ProgramPipes, start};
use crate::api::settings::{ProtocolVersions, UpstreamSettings};
use crate::server_input::peer_account::PeerAccount;
use crate::transport::handshake_error::handshake_reason;
use crate::transport::ordered_transport::{OrderedTransport, TransportObserver};
use platform::clock::Clock;
use platform::files::read_key_file;
use platform::outbound::OutboundClient;
use platform::programs::ProgramLife;
use rmcp::service::{ClientInitializeError, RoleClient, RunningService};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt};
use std::io;
use std::sync::Arc;

/// Size of a key file, in bytes. Bounds what is read from a wrong file.
const MAX_KEY: u64 = 16 << 10;

/// An established connection, and the server's program if the host has started it. The program ends with it.
pub(super) struct NewConnection<H: ClientHandler> {
    pub(super) service: RunningService<RoleClient, H>,
    pub(super) program: Option<ProgramLife>,
}

pub(super) async fn connect<H: ClientHandler>(
    settings: &UpstreamSettings,
    observer: Arc<dyn TransportObserver>,
    account: Arc<PeerAccount>,
    clock: Arc<dyn Clock>,
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
            let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
            config.max_concurrent_requests = 64;
            if let Some(key) = read_key(settings).await? {
                config = config.auth_header(key);
            }
            let client = HttpClient { outbound, account: account.clone() };
            let transport = StreamableHttpClientTransport::with_client(client, config);
            let serving = handler.serve_with_lifecycle(OrderedTransport::new(transport, observer, account), mode);
            let service = tokio::time::timeout(HANDSHAKE_TIMEOUT, serving).await.map_err(timed_out)?.map_err(failed)?;
            Ok(NewConnection { service, program: None })
        }
        None => {
            let ProgramPipes { life, stdin, stdout } = start(settings, clock).await?;
            let transport = LineTransport::new(stdout, stdin, account.clone());
            let serving = handler.serve_with_lifecycle(OrderedTransport::new(transport, observer, account), mode);
            let service = tokio::time::timeout(HANDSHAKE_TIMEOUT, serving).await.map_err(timed_out)?.map_err(failed)?;
            Ok(NewConnection { service, program: Some(life) })
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
