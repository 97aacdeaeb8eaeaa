//! The listener: so many connections at a time and no more, each without delays.

use axum::serve::Listener;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections at once; further ones wait in the system's queue. Bounds descriptors and memory that a peer can hold.
const MAX_CONNECTIONS: usize = 1_024;

pub(super) struct Connections {
    listener: TcpListener,
    free: Arc<Semaphore>,
}

/// One of them; its place is free again when it is dropped.
pub(super) struct Connection {
    stream: TcpStream,
    _place: Option<OwnedSemaphorePermit>,
}

impl Connections {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, free: Arc::new(Semaphore::new(MAX_CONNECTIONS)) }
    }
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let place = self.free.clone().acquire_owned().await.ok();
        // Axum's own accepting waits and tries again when descriptors run out.
        let (stream, address) = Listener::accept(&mut self.listener).await;
        // Without it small answers wait for the client's delayed acknowledgement, some 40 ms.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY");
        }
        (Connection { stream, _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, to: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, to)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, from)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
