//! One request over one connection of its own, to an address that was checked before.
//!
//! Nothing is looked up here and nothing is reused: what was decided about an address holds for the bytes that are sent.
//! A connection that two calls shared would be a way from one to the other.

use super::network::Network;
use super::trust;
use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::{Body, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
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

/// Addresses of one name that are tried, in the order in which they were given. Bounds how long a name that leads nowhere
/// is tried, and what a name of many addresses has this host knock at.
const TRIED: usize = 4;
/// For one of them.
const CONNECT: Duration = Duration::from_secs(10);
/// Headers of an answer, by number and by bytes with the status line. Bounds what is parsed and kept for a guest.
const MAX_HEADERS: usize = 128;
const MAX_HEADER_BYTES: usize = 64 << 10;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each variant's sentence says what its fields are")]
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

/// Whom to connect to.
pub struct Place<'a> {
    /// Whose certificate it must show; none: no TLS.
    pub name: Option<&'a str>,
    /// Checked addresses.
    pub addresses: &'a [IpAddr],
    /// On each of them.
    pub port: u16,
    /// For the connection; at most as long as we wait ourselves.
    pub patience: Option<Duration>,
}

/// Makes connections. Clones are the same.
#[derive(Clone)]
pub struct Exchanger {
    network: Arc<dyn Network>,
    /// Made when it is first needed: reading this machine's certificates takes some milliseconds.
    tls: Arc<OnceCell<TlsConnector>>,
}

/// An answer, and where it came from.
pub struct Exchanged {
    /// Its head; the body is still to come.
    pub response: Response<Streamed>,
    /// The address that was connected to.
    pub address: SocketAddr,
}

impl Exchanger {
    /// Over this network, with the certificates that this machine trusts.
    pub fn new(network: Arc<dyn Network>) -> Self {
        Self { network, tls: Arc::default() }
    }

    /// The network.
    pub fn network(&self) -> &dyn Network {
        &*self.network
    }

    /// Sends one request and waits for the beginning of its answer. `connected` hears of the connection, before anything
    /// is sent over it. Over TLS nothing of the request is sent before the server's certificate was found good.
    /// The connection is closed when `unwanted` says so, whoever still holds the answer.
    pub async fn exchange<B>(
        &self,
        place: Place<'_>,
        request: Request<B>,
        connected: impl FnOnce(SocketAddr),
        unwanted: impl Future<Output = ()> + Send + 'static,
    ) -> Result<Exchanged, ExchangeError>
    where
        B: Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let patience = place.patience.map_or(CONNECT, |patience| patience.min(CONNECT));
        let (stream, address) = self.connect(&place, patience).await?;
        connected(address);
        let response = match place.name {
            None => speak(stream, request, unwanted).await?,
            Some(name) => {
                let at = || format!("{name}:{}", place.port);
                let named = trust::server_name(name).map_err(|why| ExchangeError::Tls(at(), why))?;
                let tls = self.tls().await.map_err(|why| ExchangeError::Tls(at(), why))?;
                let shaken = tokio::time::timeout(patience, tls.connect(named, stream)).await;
                let shaken = shaken.map_err(|_| ExchangeError::Handshake(at(), patience))?;
                speak(shaken.map_err(|error| trust::failed(at(), &error))?, request, unwanted).await?
            }
        };
        Ok(Exchanged { response, address })
    }

    async fn connect(&self, place: &Place<'_>, patience: Duration) -> Result<(TcpStream, SocketAddr), ExchangeError> {
        for address in place.addresses.iter().take(TRIED) {
            let address = SocketAddr::new(*address, place.port);
            match tokio::time::timeout(patience, self.network.connect(address)).await {
                Ok(Ok(stream)) => return Ok((stream, address)),
                Ok(Err(error)) => tracing::debug!(%address, "no connection: {error}"),
                Err(_) => tracing::debug!(%address, "no connection within {patience:?}"),
            }
        }
        Err(ExchangeError::Connect)
    }

    async fn tls(&self) -> Result<&TlsConnector, String> {
        let made = self.tls.get_or_try_init(|| async {
            tokio::task::spawn_blocking(trust::connector).await.map_err(|error| error.to_string())?
        });
        made.await
    }
}

/// Speaks HTTP/1.1 over a connection, once.
async fn speak<S, B>(
    stream: S,
    request: Request<B>,
    unwanted: impl Future<Output = ()> + Send + 'static,
) -> Result<Response<Streamed>, ExchangeError>
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
    // The buffer's own limit is looked at between reads only.
    let size: usize = response.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if size > MAX_HEADER_BYTES {
        return Err(ExchangeError::Headers);
    }
    Ok(response.map(|incoming| Streamed { incoming, _driver: driver }))
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

/// A connection, for as long as somebody wants what comes over it.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The body of an answer. Dropping it closes the connection.
pub struct Streamed {
    incoming: Incoming,
    _driver: Driver,
}

impl Streamed {
    /// Polls for the next piece; trailers are left out, since nobody has checked them.
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

    /// The length that its head promised, if it did.
    pub fn promised(&self) -> Option<u64> {
        self.incoming.size_hint().exact()
    }
}
