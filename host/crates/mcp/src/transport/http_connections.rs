//! Serves HTTP on each connection of a listener, until all are asked to close.

use super::listener::{LimitedConnection, LimitedListener};
use super::repoll::Repoll;
use axum::Router;
use axum::serve::Listener as _;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use std::pin::pin;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Ends when `close` is cancelled and all requests are answered.
pub(super) async fn serve_connections(mut listener: LimitedListener, router: Router, close: CancellationToken) {
    let open = TaskTracker::new();
    loop {
        let (connection, _) = tokio::select! {
            accepted = listener.accept() => accepted,
            () = close.cancelled() => break,
        };
        open.spawn(serve_connection(connection, router.clone(), close.clone()));
    }
    drop(listener);
    open.close();
    open.wait().await;
}

async fn serve_connection(connection: LimitedConnection, router: Router, close: CancellationToken) {
    let service = TowerToHyperService::new(router);
    let mut connection = pin!(http1::Builder::new().serve_connection(TokioIo::new(connection), service));
    let ended = tokio::select! {
        ended = Repoll::new(connection.as_mut()) => ended,
        () = close.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::trace!(%error, "a connection ended");
    }
}
