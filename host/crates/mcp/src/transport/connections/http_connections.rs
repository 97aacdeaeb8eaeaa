//! Serves HTTP on each connection of a listener, until all are asked to close.

use crate::transport::connections::connection_table::{
    ConnectionPermit, ConnectionPhase, ConnectionTable, ServedConnection,
};
use crate::transport::connections::counted_stream::CountedStream;
use crate::transport::connections::repoll::Repoll;
use axum::Router;
use axum::body::Body;
use axum::http::Request;
use axum::response::Response;
use futures::TryStreamExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use platform::clock::SystemClock;
use rustix::net::sockopt;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// How long the head of the first request may take to arrive.
const FIRST_HEAD_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may leave sent data unread, and how long it may be silent before the kernel probes whether it is still
/// there.
const PEER_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of a request's head, and of a response that wait to be sent. Bounds the memory of one connection.
const MAX_BUFFER: usize = 64 << 10;
/// How long to wait before accepting again, if the system has no more file descriptors.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Ends when `close` is cancelled and all requests are answered. `limit` is the number of simultaneous connections.
pub(in crate::transport) async fn serve_connections(
    listener: TcpListener,
    router: Router,
    limit: usize,
    close: CancellationToken,
) {
    let (open, table) = (TaskTracker::new(), ConnectionTable::new(limit, Arc::new(SystemClock)));
    loop {
        let accepted = tokio::select! {
            accepted = accept(&listener, &table) => accepted,
            () = close.cancelled() => break,
        };
        match accepted {
            Ok((stream, place)) => {
                open.spawn(serve_connection(stream, place, router.clone(), close.clone()));
            }
            Err(error) => {
                tracing::debug!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_AGAIN).await;
            }
        }
    }
    drop(listener);
    open.close();
    open.wait().await;
}

async fn accept(
    listener: &TcpListener,
    table: &Arc<ConnectionTable>,
) -> std::io::Result<(TcpStream, ConnectionPermit)> {
    let (stream, client) = listener.accept().await?;
    if let Err(error) = set_options(&stream) {
        tracing::debug!(%error, "cannot set an option of a connection");
    }
    Ok((stream, table.place(client.ip()).await))
}

fn set_options(stream: &TcpStream) -> std::io::Result<()> {
    // Without this, small responses wait for the client's delayed acknowledgement, some 40 ms.
    stream.set_nodelay(true)?;
    // The kernel ends connections whose client reads nothing or is gone.
    sockopt::set_tcp_user_timeout(stream, u32::try_from(PEER_TIMEOUT.as_millis()).unwrap_or(u32::MAX))?;
    sockopt::set_tcp_keepidle(stream, PEER_TIMEOUT)?;
    Ok(sockopt::set_socket_keepalive(stream, true)?)
}

async fn serve_connection(stream: TcpStream, place: ConnectionPermit, router: Router, close: CancellationToken) {
    let (connection, router) = (&place.connection, TowerToHyperService::new(router));
    let service = service_fn(|request| serve_request(request, &router, connection.clone()));
    let (mut builder, stream) = (http1::Builder::new(), TokioIo::new(CountedStream::new(stream, connection.clone())));
    let mut serving = pin!(builder.max_buf_size(MAX_BUFFER).serve_connection(stream, service));
    let ended = tokio::select! {
        biased;
        ended = Repoll::new(serving.as_mut()) => ended,
        () = connection.first_head_is_late(FIRST_HEAD_TIMEOUT) => return,
        () = connection.evicted() => return,
        () = close.cancelled() => {
            serving.as_mut().graceful_shutdown();
            serving.await
        }
    };
    if let Err(error) = ended {
        tracing::trace!(%error, "a connection ended");
    }
}

async fn serve_request(
    mut request: Request<Incoming>,
    router: &TowerToHyperService<Router>,
    connection: Arc<ServedConnection>,
) -> Result<Response, Infallible> {
    connection
        .begin(if request.body().is_end_stream() { ConnectionPhase::Serving } else { ConnectionPhase::Body })
        .await;
    request.extensions_mut().insert(connection.clone());
    let response = router.call(request).await?;
    if let Some(size) = response.body().size_hint().exact() {
        connection.enter(ConnectionPhase::Idle);
        connection.hold_answer(usize::try_from(size).unwrap_or(usize::MAX));
        return Ok(response);
    }
    // A stream is served until it ends.
    connection.enter(ConnectionPhase::Serving);
    let idle_at_end = IdleAtEnd(connection);
    Ok(response.map(|body| {
        Body::from_stream(body.into_data_stream().inspect_ok(move |part| idle_at_end.0.hold_answer(part.len())))
    }))
}

struct IdleAtEnd(Arc<ServedConnection>);

impl Drop for IdleAtEnd {
    fn drop(&mut self) {
        self.0.enter(ConnectionPhase::Idle);
    }
}
