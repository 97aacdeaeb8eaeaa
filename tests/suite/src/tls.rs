//! Certificates of web servers by the suite's own authority, and servers that violate TLS.

use crate::der::{extension, oid, sequence, tlv};
use crate::x509::{self, Key, name, pem};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// A period of validity that includes every test run.
pub const GOOD: [&str; 2] = ["200101000000Z", "400101000000Z"];
/// A period of validity in the past.
pub const EXPIRED: [&str; 2] = ["200101000000Z", "240101000000Z"];
/// A period of validity in the future.
pub const NOT_YET: [&str; 2] = ["400101000000Z", "410101000000Z"];
/// The extended key usage of servers.
pub const SERVERS: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 3, 1];
/// The extended key usage of code signers.
pub const CODE: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 3, 3];

/// The certificate and the protocols of a server.
#[derive(Clone, Copy)]
pub struct Manner {
    /// DNS names in the certificate.
    pub names: &'static [&'static str],
    /// IP addresses in the certificate.
    pub addresses: &'static [Ipv4Addr],
    /// The common name, which clients no longer check.
    pub common_name: &'static str,
    /// The period of validity.
    pub good: [&'static str; 2],
    /// The extended key usage.
    pub purpose: &'static [u64],
    /// ALPN protocols that the server offers; without any, it offers no ALPN.
    pub protocols: &'static [&'static str],
    /// The supported versions of TLS.
    pub versions: &'static [&'static SupportedProtocolVersion],
}

impl Manner {
    /// A valid certificate for `localhost`.
    pub const GOOD: Self = Self {
        names: &["localhost"],
        addresses: &[],
        common_name: "a server",
        good: GOOD,
        purpose: SERVERS,
        protocols: &[],
        versions: rustls::ALL_VERSIONS,
    };
}

/// A certificate authority.
pub struct Authority {
    key: Key,
    called: &'static str,
}

impl Authority {
    /// An authority with this name.
    pub fn new(called: &'static str) -> Self {
        Self { key: Key::new(), called }
    }

    /// Its certificate in PEM.
    pub fn pem(&self) -> String {
        pem("CERTIFICATE", &x509::authority(self.called, &self.key))
    }

    /// A server with a certificate of this authority.
    pub fn server(&self, manner: &Manner) -> Arc<ServerConfig> {
        let key = Key::new();
        let leaf = leaf(manner, self.called, &key, &self.key);
        configured(manner, &key, vec![leaf])
    }

    /// A server whose certificate was signed by another server's key, which is no authority.
    pub fn server_of_a_server(&self, manner: &Manner) -> Arc<ServerConfig> {
        let (between, key) = (Key::new(), Key::new());
        let middle = Manner { common_name: "no authority", ..*manner };
        let chain =
            vec![leaf(manner, middle.common_name, &key, &between), leaf(&middle, self.called, &between, &self.key)];
        configured(manner, &key, chain)
    }
}

/// A server with a self-signed certificate.
pub fn self_signed(manner: &Manner) -> Arc<ServerConfig> {
    let key = Key::new();
    let leaf = leaf(manner, manner.common_name, &key, &key);
    configured(manner, &key, vec![leaf])
}

fn leaf(manner: &Manner, issuer: &str, key: &Key, by: &Key) -> Vec<u8> {
    let names = manner.names.iter().map(|name| tlv(0x82, name.as_bytes()));
    let subjects: Vec<_> = names.chain(manner.addresses.iter().map(|address| tlv(0x87, &address.octets()))).collect();
    let mut extensions = vec![
        extension(&[2, 5, 29, 15], true, &tlv(3, &[7, 0b1000_0000])),
        extension(&[2, 5, 29, 37], false, &sequence(&[oid(manner.purpose)])),
    ];
    if !subjects.is_empty() {
        extensions.push(extension(&[2, 5, 29, 17], false, &sequence(&subjects)));
    }
    x509::signed(&x509::body(2, issuer, manner.good, &name(manner.common_name), key, &extensions), by)
}

fn configured(manner: &Manner, key: &Key, chain: Vec<Vec<u8>>) -> Arc<ServerConfig> {
    let builder = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let builder = builder.with_protocol_versions(manner.versions).expect("versions that there are");
    let chain = chain.into_iter().map(CertificateDer::from).collect();
    let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.secret()));
    let mut config = builder.with_no_client_auth().with_single_cert(chain, secret).expect("a key that fits");
    config.alpn_protocols = manner.protocols.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// How a server reacts to the start of a TLS handshake.
#[derive(Clone, Copy)]
pub enum Rude {
    /// It sends nothing and waits.
    Silent,
    /// It closes the connection.
    HangsUp,
    /// It answers in plain HTTP.
    Plain,
    /// It selects TLS 1.1, which the client has not offered.
    Old,
    /// It rejects the client's versions as too new.
    TooNew,
}

impl Rude {
    fn says(self) -> Vec<u8> {
        match self {
            Self::Silent | Self::HangsUp => vec![],
            Self::Plain => b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec(),
            // ServerHello: version, random, no session, ECDHE-RSA with AES, no compression.
            Self::Old => {
                let hello = [&[3, 2][..], &[7; 32], &[0, 0xc0, 0x13, 0]].concat();
                [&[22, 3, 2, 0, 42, 2, 0, 0, 38][..], &hello].concat()
            }
            // A fatal alert: protocol_version.
            Self::TooNew => vec![21, 3, 1, 0, 2, 2, 70],
        }
    }
}

/// A server that violates TLS and records what it receives.
pub struct RudeServer {
    /// The address that it listens on.
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl RudeServer {
    /// Starts a server on a free loopback port, which runs until the test ends.
    pub fn new(manner: Rude) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the address of a listener");
        let heard = Arc::new(Mutex::new(vec![]));
        let kept = heard.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = kept.clone();
                std::thread::spawn(move || treat(stream, manner, &kept));
            }
        });
        Self { address, heard }
    }

    /// All bytes that it received.
    pub fn heard(&self) -> Vec<u8> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn treat(mut stream: TcpStream, manner: Rude, kept: &Mutex<Vec<u8>>) {
    let mut piece = [0; 4096];
    let mut said = false;
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        kept.lock().unwrap_or_else(PoisonError::into_inner).extend(&piece[..read]);
        if matches!(manner, Rude::HangsUp) || (!said && stream.write_all(&manner.says()).is_err()) {
            return;
        }
        said = true;
    }
}
