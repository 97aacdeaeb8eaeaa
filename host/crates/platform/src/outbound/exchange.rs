//! Sends one request over its own connection, to an address that was checked before.
//!
//! No names are resolved and no connections are reused. So the request goes to exactly the address that was checked, and calls
//! cannot influence each other through a shared connection.

use super::network::Network;
use super::tls;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::Error as TlsError;
use std::error::Error;
use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

/// How many addresses of one name are tried, in the given order. Bounds the time for unreachable names, and how many servers
/// this host contacts because of a name with many addresses.
const TRIED: usize = 4;
/// Timeout for connecting to one of them.
const CONNECT: Duration = Duration::from_secs(10);
/// Headers of a response: their number, and their bytes with the status line. Bounds what is parsed and kept for a guest.
const MAX_HEADERS: usize = 128;
const MAX_HEADER_BYTES: usize = 64 << 10;

#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    #[error("no connection could be made")]
    Connect,
    #[error("`{0}` is not trusted: {1}")]
    Certificate(String, String),
    #[error("TLS with `{0}` failed: {1}")]
    Tls(String, String),
    #[error("TLS with `{0}` was not agreed upon within {t}", t = humantime::format_duration(*.1))]
    Handshake(String, Duration),
    #[error("the headers are too many or too large")]
    Headers,
    #[error("the connection ended before the answer did")]
    Incomplete,
    #[error("no HTTP: {0}")]
    Protocol(String),
}

pub struct ExchangeTarget<'a> {
    /// The name that the certificate must be for; `None` means no TLS.
    pub name: Option<&'a str>,
    pub addresses: &'a [IpAddr],
    pub port: u16,
    /// Timeout for connecting; it cannot exceed the default.
    pub connect_timeout: Option<Duration>,
}

/// Sends requests over fresh connections. Clones share the TLS configuration.
#[derive(Clone)]
pub struct ExchangeClient {
    network: Arc<dyn Network>,
    /// Created when it is first needed, because loading the system's certificates takes some milliseconds.
    tls: Arc<OnceCell<TlsConnector>>,
}

/// A response, and the address that it came from.
pub struct ExchangeResponse {
    /// The head of the response, and its body, which is streamed.
    pub response: Response<ResponseBody>,
    /// The address that was connected to.
    pub address: SocketAddr,
}

impl ExchangeClient {
    /// Creates a client that uses the certificates that this machine trusts.
    pub fn new(network: Arc<dyn Network>) -> Self {
        Self { network, tls: Arc::default() }
    }

    pub fn network(&self) -> Arc<dyn Network> {
        self.network.clone()
    }

    /// Sends a request and waits for the head of its response. `connected` is called before anything is sent. With TLS, the
    /// request is sent only after the server's certificate is verified. When `unwanted` completes, the connection is closed,
    /// even if the response is still in use.
    pub async fn exchange<B>(
        &self,
        place: ExchangeTarget<'_>,
        request: Request<B>,
        connected: impl FnOnce(SocketAddr),
        unwanted: impl Future<Output = ()> + Send + 'static,
    ) -> Result<ExchangeResponse, ExchangeError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let connect_timeout = place.connect_timeout.map_or(CONNECT, |connect_timeout| connect_timeout.min(CONNECT));
        let (stream, address) = self.connect(&place, connect_timeout).await?;
        connected(address);
        let response = match place.name {
            None => speak(stream, request, unwanted).await?,
            Some(name) => {
                let at = || format!("{name}:{}", place.port);
                let named = tls::server_name(name).map_err(|why| ExchangeError::Tls(at(), why))?;
                let connector = self.tls().await.map_err(|why| ExchangeError::Tls(at(), why))?;
                let shaken = tokio::time::timeout(connect_timeout, connector.connect(named, stream)).await;
                let shaken = shaken.map_err(|_| ExchangeError::Handshake(at(), connect_timeout))?;
                speak(shaken.map_err(|error| handshake_error(at(), &error))?, request, unwanted).await?
            }
        };
        Ok(ExchangeResponse { response, address })
    }

    async fn connect(
        &self,
        place: &ExchangeTarget<'_>,
        connect_timeout: Duration,
    ) -> Result<(TcpStream, SocketAddr), ExchangeError> {
        for address in place.addresses.iter().take(TRIED) {
            let address = SocketAddr::new(*address, place.port);
            match tokio::time::timeout(connect_timeout, self.network.connect(address)).await {
                Ok(Ok(stream)) => return Ok((stream, address)),
                Ok(Err(error)) => tracing::debug!(%address, "no connection: {error}"),
                Err(_) => tracing::debug!(%address, "no connection within {connect_timeout:?}"),
            }
        }
        Err(ExchangeError::Connect)
    }

    async fn tls(&self) -> Result<&TlsConnector, String> {
        let made = self.tls.get_or_try_init(|| async {
            tokio::task::spawn_blocking(tls::connector).await.map_err(|error| error.to_string())?
        });
        made.await
    }
}

/// Sends one HTTP/1.1 request over a connection.
async fn speak<S, B>(
    stream: S,
    request: Request<B>,
    unwanted: impl Future<Output = ()> + Send + 'static,
) -> Result<Response<ResponseBody>, ExchangeError>
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let request = request
        .map(|body| -> UnsyncBoxBody<Bytes, Box<dyn Error + Send + Sync>> { body.map_err(Into::into).boxed_unsync() });
    let mut speaker = http1::Builder::new();
    speaker.max_headers(MAX_HEADERS).max_buf_size(MAX_HEADER_BYTES);
    let (mut sender, connection) = speaker.handshake(TokioIo::new(stream)).await.map_err(hyper_error)?;
    let driver = Driver(tokio::spawn(async move {
        tokio::select! {
            () = unwanted => {}
            ended = connection => if let Err(error) = ended {
                tracing::debug!("a connection ended: {error}");
            }
        }
    }));
    let response = sender.send_request(request).await.map_err(hyper_error)?;
    // The limit of the buffer is only checked between reads.
    let size: usize = response.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if size > MAX_HEADER_BYTES {
        return Err(ExchangeError::Headers);
    }
    Ok(response.map(|incoming| ResponseBody { incoming, _driver: driver }))
}

/// Why a TLS handshake failed.
fn handshake_error(at: String, error: &std::io::Error) -> ExchangeError {
    match tls::cause(error) {
        Some(TlsError::InvalidCertificate(why)) => ExchangeError::Certificate(at, tls::certificate_problem(why)),
        Some(other) => ExchangeError::Tls(at, tls::tls_problem(other)),
        None => ExchangeError::Incomplete,
    }
}

fn hyper_error(error: hyper::Error) -> ExchangeError {
    if error.is_parse_too_large() {
        ExchangeError::Headers
    } else if error.is_parse() {
        ExchangeError::Protocol(error.to_string())
    } else {
        ExchangeError::Incomplete
    }
}

/// The task that drives a connection; it stops when this is dropped.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The body of a response. Dropping it closes the connection.
pub struct ResponseBody {
    incoming: Incoming,
    _driver: Driver,
}

impl ResponseBody {
    /// Polls for the next piece. Trailers are skipped, because they are not checked.
    pub fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, ExchangeError>>> {
        loop {
            let mut frame = self.incoming.frame();
            match Pin::new(&mut frame).poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(Some(Err(hyper_error(error)))),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => return Poll::Ready(Some(Ok(data))),
                    Err(_trailers) => {}
                },
            }
        }
    }

    /// The length of the body that the head announced, if any.
    pub fn promised(&self) -> Option<u64> {
        self.incoming.size_hint().exact()
    }
}
