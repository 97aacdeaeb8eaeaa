//! A proxy that cuts connections after a while, as those in front of real servers do.

use crate::{PATIENCE, eventually};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{sleep, spawn};
use std::time::Duration;

/// Connections end with the test.
pub struct CuttingProxy {
    pub address: SocketAddr,
    cuts: Arc<AtomicUsize>,
}

impl CuttingProxy {
    /// In front of a server. It begins to count when the server has said `mark`: what comes before may take long on a busy machine,
    /// and no client begins it twice.
    pub fn start(server: SocketAddr, after: Duration, mark: &'static str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let (address, cuts) = (listener.local_addr().expect("it listens"), Arc::new(AtomicUsize::new(0)));
        let (counted, said) = (cuts.clone(), Arc::new(AtomicBool::new(false)));
        spawn(move || {
            while let Ok((client, _)) = listener.accept() {
                let Ok(upstream) = TcpStream::connect(server) else { return };
                let (counted, said) = (counted.clone(), said.clone());
                spawn(move || connect(&client, &upstream, after, &counted, (mark, said)));
            }
        });
        Self { address, cuts }
    }

    /// Connections that were cut while both sides had them open.
    pub fn cuts(&self) -> usize {
        self.cuts.load(Ordering::Relaxed)
    }
}

fn connect(
    client: &TcpStream,
    server: &TcpStream,
    after: Duration,
    cuts: &AtomicUsize,
    (mark, said): (&'static str, Arc<AtomicBool>),
) {
    let copy = |from: &TcpStream, to: &TcpStream| {
        let (Ok(mut from), Ok(mut to)) = (from.try_clone(), to.try_clone()) else { return };
        let (said, mut heard) = (said.clone(), String::new());
        spawn(move || {
            let mut piece = [0; 16 << 10];
            while let Ok(length @ 1..) = from.read(&mut piece) {
                if !said.load(Ordering::Relaxed) {
                    heard += &String::from_utf8_lossy(&piece[..length]);
                    said.fetch_or(heard.contains(mark), Ordering::Relaxed);
                }
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
    eventually(PATIENCE, || said.load(Ordering::Relaxed).then_some(()));
    // This is what the proxy does, and no wait of a test.
    sleep(after);
    if client.peer_addr().is_ok() && client.shutdown(Shutdown::Both).is_ok() {
        cuts.fetch_add(1, Ordering::Relaxed);
    }
    let _ = server.shutdown(Shutdown::Both);
}
