//! A fake network: tests choose what names resolve to, and all addresses are served by two local servers: a good one,
//! and a sink for addresses that must never be reached.

use super::super::http_sender::HttpSender;
use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use platform::audit::{Audit, AuditEvent, AuditLog, AuditRecord, AuditScope, CallAudit};
use platform::outbound::Network;
use platform::secrets::{SecretSource, SecretStore};
use platform::sync::Mutex;
use policy::{Authority, Limits, Lineage, PluginId, Side};
use runtime::imports::{
    CallAuthority, CallContext, CallScope, Egress, Http, HttpBody, HttpError, HttpRequest, HttpTimeouts, NoEgress,
};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(super) const SECRET: &str = "canary-7f3a9c21e5";

type Names = Box<dyn Fn(&str, usize) -> Vec<IpAddr> + Send + Sync>;
type Server = Arc<dyn Fn(&str) -> Vec<u8> + Send + Sync>;

/// The network, and what was seen of it.
pub(super) struct FakeNetwork {
    names: Names,
    good: SocketAddr,
    sink: SocketAddr,
    pub(super) lookups: AtomicUsize,
    /// Addresses that were connected to.
    pub(super) reached: Mutex<Vec<SocketAddr>>,
    /// Connections that the forbidden server accepted.
    pub(super) sink_connections: Arc<AtomicUsize>,
    /// Heads of the requests that the good server got.
    pub(super) heads: Arc<Mutex<Vec<String>>>,
    pub(super) records: Arc<KeptRecords>,
}

#[derive(Default)]
pub(super) struct KeptRecords(pub(super) Mutex<Vec<AuditEvent>>);

impl AuditLog for KeptRecords {
    fn keep(&self, record: AuditRecord) {
        self.0.lock().push(record.event);
    }
}

#[async_trait]
impl Network for FakeNetwork {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok((self.names)(name, self.lookups.fetch_add(1, Ordering::SeqCst)))
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        self.reached.lock().push(address);
        TcpStream::connect(if forbidden(address.ip()) { self.sink } else { self.good }).await
    }
}

/// Forbidden addresses, implemented independently of the host.
pub(super) fn forbidden(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => forbidden_v4(v4),
        IpAddr::V6(v6) => {
            let bytes = v6.octets();
            let last = Ipv4Addr::new(bytes[12], bytes[13], bytes[14], bytes[15]);
            let inside = match v6.segments() {
                [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
                    Some(last)
                }
                [0x2002, ..] => Some(Ipv4Addr::new(bytes[2], bytes[3], bytes[4], bytes[5])),
                [0, 0, 0, 0, 0, 0, ..] if u32::from(last) > 1 => Some(last),
                _ => None,
            };
            let documentation = bytes[..4] == [0x20, 1, 0xd, 0xb8];
            let tunnel = bytes[..4] == [0x20, 1, 0, 0];
            inside.map_or(documentation || tunnel || bytes[0] >> 5 != 1, forbidden_v4)
        }
    }
}

fn forbidden_v4(v4: Ipv4Addr) -> bool {
    let number = u32::from(v4);
    let within = |base: [u8; 4], bits: u32| number >> (32 - bits) == u32::from(Ipv4Addr::from(base)) >> (32 - bits);
    v4.is_loopback()
        || v4.is_private()
        || v4.is_link_local()
        || v4.is_multicast()
        || v4.is_documentation()
        || within([0, 0, 0, 0], 8)
        || within([100, 64, 0, 0], 10)
        || within([168, 63, 129, 16], 32)
        || within([192, 0, 0, 0], 24)
        || within([198, 18, 0, 0], 15)
        || within([240, 0, 0, 0], 4)
}

/// Reads a head and answers, once.
async fn serve(listener: TcpListener, heads: Arc<Mutex<Vec<String>>>, server: Server) {
    while let Ok((mut stream, _)) = listener.accept().await {
        let (heads, server) = (heads.clone(), server.clone());
        tokio::spawn(async move {
            let mut head = Vec::new();
            let mut buffer = [0; 4096];
            while !head.windows(4).any(|four| four == b"\r\n\r\n") {
                match stream.read(&mut buffer).await {
                    Ok(0) | Err(_) => return,
                    Ok(read) => head.extend_from_slice(&buffer[..read]),
                }
            }
            let head = String::from_utf8_lossy(&head).into_owned();
            heads.lock().push(head.clone());
            let answer = server(&head);
            let held = answer.strip_suffix(b"HOLD");
            let _ = stream.write_all(held.unwrap_or(&answer)).await;
            // An answer that declares more bytes than it has stays open, like that of a server that stalls.
            if held.is_some() {
                let _ = stream.read(&mut buffer).await;
            }
        });
    }
}

pub(super) fn ok(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

pub(super) fn redirect(status: u16, location: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n").into_bytes()
}

impl FakeNetwork {
    /// `names` gives the addresses of a name at its n-th look-up, `server` what the good server answers to a head.
    pub(super) async fn new(
        names: impl Fn(&str, usize) -> Vec<IpAddr> + Send + Sync + 'static,
        server: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let good = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let sink = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (heads, sink_connections) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
        let network = Self {
            names: Box::new(names),
            good: good.local_addr().unwrap(),
            sink: sink.local_addr().unwrap(),
            lookups: AtomicUsize::new(0),
            reached: Mutex::default(),
            sink_connections: sink_connections.clone(),
            heads: heads.clone(),
            records: Arc::default(),
        };
        tokio::spawn(serve(good, heads, Arc::new(server)));
        tokio::spawn(async move {
            while sink.accept().await.is_ok() {
                sink_connections.fetch_add(1, Ordering::SeqCst);
            }
        });
        Arc::new(network)
    }

    /// All addresses are the good server's, those of this machine too.
    pub(super) async fn here(
        names: impl Fn(&str, usize) -> Vec<IpAddr> + Send + Sync + 'static,
        server: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static,
    ) -> Arc<Self> {
        let mut network = Self::new(names, server).await;
        let inner = Arc::get_mut(&mut network).unwrap();
        inner.sink = inner.good;
        network
    }

    /// Every name is a public address.
    pub(super) async fn public(server: impl Fn(&str) -> Vec<u8> + Send + Sync + 'static) -> Arc<Self> {
        Self::new(|_, _| vec![public()], server).await
    }

    pub(super) fn sender(self: &Arc<Self>) -> Arc<HttpSender> {
        let sources = BTreeMap::from([("key".to_owned(), SecretSource::Env("KEY".into()))]);
        let vault = SecretStore::open(&sources, |_| Some(SECRET.into())).unwrap();
        Arc::new(HttpSender::new(self.clone(), vault, 128))
    }

    /// A call of a plugin that requests all that it is granted.
    pub(super) fn call(&self, grants: &str) -> Call {
        let grants: policy::Grants = toml::from_str(grants).unwrap();
        let requests = policy::Requests {
            http: grants.http.iter().map(|grant| grant.allow.clone()).collect(),
            secrets: grants.secrets.iter().map(|grant| grant.name.clone()).collect(),
            ..Default::default()
        };
        let plugin = PluginId { side: Side::Server, name: "p".into() };
        let authority = Arc::new(Authority::new(plugin.clone(), &requests, &grants));
        let (context, limits) = (CallContext::new("local"), Arc::new(Limits::default()));
        let lineage = Lineage::root("plugins.p.x", &limits);
        let audit = Audit::new(self.records.clone());
        let (principal, id) = (context.principal.clone(), context.id.clone());
        let scope = AuditScope { principal, plugin, digest: None, call: id, parent: None };
        let authority = CallAuthority::new(authority, CallAudit::new(audit, scope, lineage.clone()));
        let scope = CallScope::new(context, authority, lineage.clone(), limits);
        let http = Http::new(scope, Arc::new(NoEgress));
        Call { http, lineage }
    }

    pub(super) fn sink_connections(&self) -> usize {
        self.sink_connections.load(Ordering::SeqCst)
    }

    pub(super) fn head(&self) -> String {
        self.heads.lock().last().cloned().unwrap_or_default()
    }

    /// All audit records, as text.
    pub(super) fn recorded(&self) -> String {
        format!("{:?}", self.records.0.lock())
    }
}

pub(super) struct Call {
    pub(super) http: Http,
    pub(super) lineage: Lineage,
}

pub(super) fn public() -> IpAddr {
    IpAddr::from([93, 184, 216, 34])
}

pub(super) fn v6(text: &str) -> IpAddr {
    IpAddr::V6(text.parse::<Ipv6Addr>().unwrap())
}

pub(super) fn request(method: &str, url: &str, headers: &[(&'static str, &str)], body: &[u8]) -> HttpRequest {
    let headers = headers.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap()));
    let body: HttpBody = Full::new(Bytes::copy_from_slice(body)).map_err(|never| match never {}).boxed_unsync();
    let timeouts = HttpTimeouts::default();
    HttpRequest { method: method.into(), url: url.into(), headers: headers.collect(), body, timeouts }
}

/// Status, headers as text, body.
pub(super) async fn send(
    sender: &HttpSender,
    call: &Call,
    request: HttpRequest,
) -> Result<(u16, String, String), HttpError> {
    let sent = tokio::time::timeout(Duration::from_secs(20), sender.send(request, call.http.clone())).await;
    let (parts, body) = sent.expect("an answer or an error")?.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok((parts.status.as_u16(), format!("{:?}", parts.headers), String::from_utf8_lossy(&body).into_owned()))
}

pub(super) async fn get(sender: &HttpSender, call: &Call, url: &str) -> Result<(u16, String, String), HttpError> {
    send(sender, call, request("GET", url, &[], b"")).await
}
