//! A proxy that cuts every connection after a while, as those in front of real servers do.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// Connections end with the test.
pub struct CuttingProxy {
    pub address: SocketAddr,
    cuts: Arc<AtomicUsize>,
}

impl CuttingProxy {
    /// In front of a server.
    pub fn start(server: SocketAddr, after: Duration) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let (address, cuts) = (listener.local_addr().expect("it listens"), Arc::new(AtomicUsize::new(0)));
        let counted = cuts.clone();
        spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let Ok(upstream) = TcpStream::connect(server) else { return };
                let counted = counted.clone();
                spawn(move || connect(&client, &upstream, after, &counted));
            }
        });
        Self { address, cuts }
    }

    /// Connections that were cut while both sides had them open.
    pub fn cuts(&self) -> usize {
        self.cuts.load(Ordering::Relaxed)
    }
}

fn connect(client: &TcpStream, server: &TcpStream, after: Duration, cuts: &AtomicUsize) {
    let copy = |from: &TcpStream, to: &TcpStream| {
        let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
        spawn(move || {
            let mut piece = [0; 16 << 10];
            while let Ok(length @ 1..) = from.read(&mut piece) {
                if to.write_all(&piece[..length]).is_err() {
                    break;
                }
            }
            // The other direction ends with this one: no test needs half of a connection.
            let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
        });
    };
    copy(client, server);
    copy(server, client);
    // This is what the proxy does, and no wait of a test.
    sleep(after);
    if client.peer_addr().is_ok() && client.shutdown(Shutdown::Both).is_ok() {
        cuts.fetch_add(1, Ordering::Relaxed);
    }
    let _ = server.shutdown(Shutdown::Both);
}
