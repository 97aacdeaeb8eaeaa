//! The network itself, as little of it as is needed: names to addresses, and a connection to one address.

use async_trait::async_trait;
use std::io;
use std::net::{IpAddr, SocketAddr};
use tokio::net::{TcpStream, lookup_host};

/// Reaches others. A trait, so that a test can answer for the whole internet.
#[async_trait]
pub trait Network: Send + Sync {
    /// All addresses of a name, asked for once.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
    /// Connects to this very address.
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream>;
}

/// This machine's resolver and sockets. Neither knows a proxy.
#[derive(Debug, Clone, Copy)]
pub struct SystemNetwork;

#[async_trait]
impl Network for SystemNetwork {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }
}
