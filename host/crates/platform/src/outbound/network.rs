//! Access to the network: resolving names and connecting to addresses.

use async_trait::async_trait;
use std::io;
use std::net::ToSocketAddrs;
use std::net::{IpAddr, SocketAddr};
use tokio::net::TcpStream;

/// A network. It is a trait, so that tests can replace the internet.
#[async_trait]
pub trait Network: Send + Sync {
    /// Resolves a name to all its addresses. Blocks its thread and cannot be cancelled, so the caller bounds how many run.
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// This machine's resolver and sockets, without proxies.
#[derive(Debug, Clone, Copy)]
pub struct SystemNetwork;

#[async_trait]
impl Network for SystemNetwork {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
