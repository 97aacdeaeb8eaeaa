//! A small web server for the services that the program connects to, with one thread for each connection.

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A received request.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The method, such as GET.
    pub method: String,
    /// Path and query.
    pub target: String,
    headers: Vec<(String, String)>,
    /// The body, as text.
    pub body: String,
    /// The body, as received.
    pub bytes: Vec<u8>,
}

impl Seen {
    /// The path without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// A header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The whole request, as text to search in.
    pub fn everything(&self) -> String {
        format!("{self:?}")
    }
}

/// An answer.
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    manner: Manner,
}

/// How a body is sent.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    Whole,
    Cut,
    Endless,
    Dripping,
}

impl Reply {
    /// With this status and body.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: vec![], body: body.into(), manner: Manner::Whole }
    }

    /// JSON.
    pub fn json(value: serde_json::Value) -> Self {
        Self::new(200, value.to_string()).with("Content-Type", "application/json")
    }

    /// A redirect.
    pub fn redirect(to: &str) -> Self {
        Self::new(302, "").with("Location", to)
    }

    /// Closes the connection before the last byte.
    pub fn cut(self) -> Self {
        Self { manner: Manner::Cut, ..self }
    }

    /// Sends a body without end.
    pub fn endless(self) -> Self {
        Self { manner: Manner::Endless, ..self }
    }

    /// Sends the body slowly, byte by byte.
    pub fn dripping(self) -> Self {
        Self { manner: Manner::Dripping, ..self }
    }

    /// With more text at the end of the body.
    pub fn ending_with(mut self, text: &str) -> Self {
        self.body.extend_from_slice(text.as_bytes());
        self
    }

    /// With one more header.
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// The server, stopped when dropped.
pub struct Web {
    /// The address that it listens on.
    pub address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    heard: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
}

impl Web {
    /// Serves on a free loopback port.
    pub fn serve(answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(free(), None, answer)
    }

    /// The same over TLS.
    pub fn serve_tls(tls: Arc<ServerConfig>, answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(free(), Some(tls), answer)
    }

    /// The same at this address, as soon as it is free.
    pub fn serve_tls_at(
        at: SocketAddr,
        tls: Arc<ServerConfig>,
        answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::listen(at_last(at), Some(tls), answer)
    }

    /// Serves at this address, without TLS, as soon as it is free.
    pub fn serve_at(at: SocketAddr, answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(at_last(at), None, answer)
    }

    fn listen(
        listener: TcpListener,
        tls: Option<Arc<ServerConfig>>,
        answer: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("the address of a listener");
        let (seen, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let heard = Arc::new(AtomicU64::new(0));
        let (kept, counted, stopped, answer) = (seen.clone(), heard.clone(), stop.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                let (Ok(stream), kept, answer) = (stream, kept.clone(), answer.clone()) else { continue };
                let (counted, tls) = (counted.clone(), tls.clone());
                std::thread::spawn(move || {
                    let Ok(control) = stream.try_clone() else { return };
                    match tls.map(ServerConnection::new) {
                        None => drop(one(Counting(stream, &counted), &control, &kept, &*answer)),
                        Some(Ok(tls)) => {
                            let stream = Counting(StreamOwned::new(tls, stream), &counted);
                            if let Some(mut stream) = one(stream, &control, &kept, &*answer) {
                                stream.0.conn.send_close_notify();
                                let _ = stream.flush();
                            }
                        }
                        Some(Err(error)) => panic!("no TLS with this configuration: {error}"),
                    }
                });
            }
        });
        Self { address, seen, heard, stop }
    }

    /// The number of received bytes of complete and partial requests, without those of TLS itself.
    pub fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    /// `http://127.0.0.1:PORT` and a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of requests to this path.
    pub fn count(&self, path: &str) -> usize {
        self.seen().iter().filter(|seen| seen.path() == path).count()
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

fn at_last(at: SocketAddr) -> TcpListener {
    let listener = crate::eventually(crate::PATIENCE, || TcpListener::bind(at).ok());
    listener.unwrap_or_else(|| panic!("{at} is in use, and this test needs it"))
}

fn free() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").expect("a free port")
}

/// A stream that counts the received bytes.
struct Counting<'a, S>(S, &'a AtomicU64);

impl<S: Read> Read for Counting<'_, S> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.0.read(into)?;
        self.1.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl<S: Write> Write for Counting<'_, S> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Handles one request. Returns the stream afterwards; a peer that disconnects earlier does not fail the test.
/// `control` is the underlying connection.
fn one<S: Read + Write>(
    stream: S,
    control: &TcpStream,
    kept: &Mutex<Vec<Seen>>,
    answer: &(dyn Fn(&Seen) -> Reply + Send + Sync),
) -> Option<S> {
    let mut reader = BufReader::new(stream);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).is_ok_and(|read| read > 0).then(|| line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    while let Some((name, value)) = line().as_deref().and_then(|line| line.split_once(':')) {
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let seen = Seen { method, target, headers, body: String::from_utf8_lossy(&body).into_owned(), bytes: body };
    kept.lock().unwrap_or_else(PoisonError::into_inner).push(seen.clone());
    let mut stream = reader.into_inner();
    send(&mut stream, control, &answer(&seen), seen.method == "HEAD").ok()?;
    Some(stream)
}

fn send<S: Read + Write>(stream: &mut S, control: &TcpStream, reply: &Reply, head_only: bool) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} X\r\nConnection: close\r\n", reply.status);
    if reply.manner != Manner::Endless {
        head += &format!("Content-Length: {}\r\n", reply.body.len());
    }
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    match reply.manner {
        _ if head_only => Ok(()),
        Manner::Whole => stream.write_all(&reply.body),
        Manner::Cut => stream.write_all(&reply.body[..reply.body.len().saturating_sub(1)]),
        Manner::Endless => loop {
            stream.write_all(&[b' '; 4096])?;
        },
        Manner::Dripping => {
            // This wait for a byte that does not come makes the delay between bytes.
            control.set_read_timeout(Some(std::time::Duration::from_millis(500)))?;
            for byte in &reply.body {
                stream.write_all(&[*byte])?;
                if let Ok(0) = stream.read(&mut [0]) {
                    break;
                }
            }
            Ok(())
        }
    }
}
