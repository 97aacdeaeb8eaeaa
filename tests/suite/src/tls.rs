//! Web servers' certificates by an authority of the suite's own, and servers that do not keep to TLS.

use crate::der::{extension, oid, sequence, tlv};
use crate::x509::{self, Key, name, pem};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, SupportedProtocolVersion};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// Good now, whenever that is.
pub const GOOD: [&str; 2] = ["200101000000Z", "400101000000Z"];
/// Past.
pub const EXPIRED: [&str; 2] = ["200101000000Z", "240101000000Z"];
/// Still to come.
pub const NOT_YET: [&str; 2] = ["400101000000Z", "410101000000Z"];
/// A certificate of this purpose is for servers.
pub const SERVERS: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 3, 1];
/// For signers of code.
pub const CODE: &[u64] = &[1, 3, 6, 1, 5, 5, 7, 3, 3];

/// What a server shows, and how it speaks.
#[derive(Clone, Copy)]
pub struct Manner {
    /// Names that the certificate is for.
    pub names: &'static [&'static str],
    /// Addresses that it is for.
    pub addresses: &'static [Ipv4Addr],
    /// The name that it had before there were several: nobody looks there any more.
    pub common_name: &'static str,
    /// When it is good.
    pub good: [&'static str; 2],
    /// What it is for.
    pub purpose: &'static [u64],
    /// Protocols that the server speaks inside; none: it does not say.
    pub protocols: &'static [&'static str],
    /// Versions of TLS.
    pub versions: &'static [&'static SupportedProtocolVersion],
}

impl Manner {
    /// A good one for `localhost`.
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

/// An authority.
pub struct Authority {
    key: Key,
    called: &'static str,
}

impl Authority {
    /// Of this name.
    pub fn new(called: &'static str) -> Self {
        Self { key: Key::new(), called }
    }

    /// Its certificate, as a file for those who trust it.
    pub fn pem(&self) -> String {
        pem("CERTIFICATE", &x509::authority(self.called, &self.key))
    }

    /// A server with a certificate of this authority.
    pub fn server(&self, manner: &Manner) -> Arc<ServerConfig> {
        let key = Key::new();
        let leaf = leaf(manner, self.called, &key, &self.key);
        configured(manner, &key, vec![leaf])
    }

    /// A server whose certificate was signed with the key of another server, which is no authority.
    pub fn server_of_a_server(&self, manner: &Manner) -> Arc<ServerConfig> {
        let (between, key) = (Key::new(), Key::new());
        let middle = Manner { common_name: "no authority", ..*manner };
        let chain =
            vec![leaf(manner, middle.common_name, &key, &between), leaf(&middle, self.called, &between, &self.key)];
        configured(manner, &key, chain)
    }
}

/// A server that vouches for itself.
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

/// What a server does that has heard the beginning of TLS.
#[derive(Clone, Copy)]
pub enum Rude {
    /// It says nothing, and waits.
    Silent,
    /// It hangs up.
    HangsUp,
    /// It answers in plain HTTP.
    Plain,
    /// It agrees to TLS 1.1, which the client has not offered.
    Old,
    /// It says that the client's versions are too new.
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

/// A server that is rude to everybody. It keeps what it hears.
pub struct RudeServer {
    /// Where it listens.
    pub address: SocketAddr,
    heard: Arc<Mutex<Vec<u8>>>,
}

impl RudeServer {
    /// On a free port of the loopback, for as long as the test runs.
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

    /// Everything that it heard.
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
