//! TLS of outgoing connections: which certificates are trusted, and that nothing is sent before the check.

use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use suite::tls::{Authority, CODE, EXPIRED, Manner, NOT_YET, Rude, RudeServer, self_signed};
use suite::web::{Reply, Web};
use suite::{Client, Home, Server, forge, paths, plugin_from, portcullis_with};

const CANARY: &str = "canary-7d1e0c55a9f2";

/// A client of a host whose guest `fetcher` may send requests to the given servers.
struct World {
    client: Client,
}

/// The requests that a guest may send to a server.
fn allowed(at: &SocketAddr) -> [String; 3] {
    let port = at.port();
    ["https://localhost", "https://127.0.0.1", "http://localhost"].map(|origin| format!("GET {origin}:{port}"))
}

/// The same as grants in the configuration.
fn granted(at: &SocketAddr) -> Vec<String> {
    let grant = |allow: &String| format!("{{ allow = \"{allow}\", private = true, timeout = \"3s\", requests = 64 }}");
    allowed(at).iter().map(grant).collect()
}

impl World {
    fn new(
        ca: &Authority,
        servers: &[SocketAddr],
        trust: impl FnOnce(&Home, &Authority) -> (&'static str, String),
    ) -> Self {
        let home = Home::new();
        let variable = trust(&home, ca);
        home.write("key.secret", CANARY);
        let requests = json!({"http": servers.iter().flat_map(allowed).collect::<Vec<_>>(), "secrets": ["key"]});
        let manifest = json!({"name": "fetcher", "version": "0.1.0", "requests": requests}).to_string();
        let component = std::fs::read(paths::guest("fetcher")).unwrap();
        let component = [component, forge::custom("portcullis:manifest", manifest.as_bytes())].concat();
        let source = home.write("fetcher.wasm", component);
        let lines: Vec<_> = servers.iter().flat_map(granted).collect();
        let settings = format!(
            "limits.deadline = \"20s\"\ngrants.http = [{}]\ngrants.secrets = [{{ name = \"key\", hosts = [\"localhost\"] }}]\n",
            lines.join(", ")
        );
        let config = plugin_from("fetcher", &source, &settings) + "[secrets.key]\nfile = \"key.secret\"\n";
        let server = Server::spawn(home, &config, &[], |command| {
            command.env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR").env(variable.0, variable.1);
        });
        Self { client: Client::of_server(server) }
    }

    /// With the authority in the file that the configuration names.
    fn trusting(ca: &Authority, servers: &[SocketAddr]) -> Self {
        Self::new(ca, servers, |home, ca| ("SSL_CERT_FILE", home.write("ca.pem", ca.pem()).display().to_string()))
    }

    fn get(&mut self, request: &str) -> suite::Called {
        self.client.run("fetcher", json!({"path": request}))
    }
}

fn hello(tls: Arc<rustls::ServerConfig>) -> Web {
    Web::serve_tls(tls, |seen| Reply::new(200, format!("hello {}", seen.header("x-key").unwrap_or("nobody"))))
}

/// A host name, and a certificate configuration that is trusted for it.
const GOOD: &[(&str, Manner)] = &[
    ("localhost", GOOD_SERVER),
    ("localhost", Manner { protocols: &["http/1.1"], ..GOOD_SERVER }),
    ("localhost", Manner { protocols: &["h2", "http/1.1"], ..GOOD_SERVER }),
    ("localhost", Manner { versions: &[&rustls::version::TLS12], ..GOOD_SERVER }),
    ("localhost", Manner { names: &["other.example", "localhost"], ..GOOD_SERVER }),
    ("127.0.0.1", Manner { names: &[], addresses: &[Ipv4Addr::LOCALHOST], ..GOOD_SERVER }),
];

const GOOD_SERVER: Manner = Manner::GOOD;

#[test]
fn a_configured_authority_is_trusted() {
    let ca = Authority::new("the operator's");
    let servers: Vec<_> = GOOD.iter().map(|(_, manner)| hello(ca.server(manner))).collect();
    let mut world = World::trusting(&ca, &servers.iter().map(|web| web.address).collect::<Vec<_>>());
    for ((host, _), web) in GOOD.iter().zip(&servers) {
        let secret = if *host == "localhost" { "\nX-Key: {{secret:key}}" } else { "" };
        let said = world.get(&format!("GET https://{host}:{}/a?b{secret}", web.address.port())).good();
        assert!(said.starts_with("200") && !said.contains(CANARY), "{said}");
        let seen = web.seen();
        assert_eq!(seen[0].target, "/a?b");
        assert_eq!(seen[0].header("x-key"), (*host == "localhost").then_some(CANARY));
    }
}

/// A name, the requested host, the server's certificate configuration, and the expected error.
type Case = (&'static str, &'static str, Manner, &'static str);

const BAD: &[Case] = &[
    ("another name", "localhost", Manner { names: &["other.example"], ..GOOD_SERVER }, "not for this name, but for"),
    ("a name below it", "localhost", Manner { names: &["*.localhost"], ..GOOD_SERVER }, "not for this name"),
    (
        "an address for a name",
        "localhost",
        Manner { names: &[], addresses: &[Ipv4Addr::LOCALHOST], ..GOOD_SERVER },
        "not for this name",
    ),
    ("a name for an address", "127.0.0.1", Manner { names: &["127.0.0.1"], ..GOOD_SERVER }, "not for this name"),
    (
        "another address",
        "127.0.0.1",
        Manner { names: &[], addresses: &[Ipv4Addr::new(127, 0, 0, 2)], ..GOOD_SERVER },
        "not for this name",
    ),
    (
        "a common name alone",
        "localhost",
        Manner { names: &[], common_name: "localhost", ..GOOD_SERVER },
        "not for this name, and names no other",
    ),
    ("expired", "localhost", Manner { good: EXPIRED, ..GOOD_SERVER }, "its certificate has expired"),
    ("not yet good", "localhost", Manner { good: NOT_YET, ..GOOD_SERVER }, "not good yet; or is the clock"),
    ("for signing code", "localhost", Manner { purpose: CODE, ..GOOD_SERVER }, "its certificate is not good"),
];

#[test]
fn nothing_is_sent_to_a_server_with_an_invalid_certificate() {
    let ca = Authority::new("the operator's");
    let mut servers: Vec<_> = BAD.iter().map(|(.., manner, _)| hello(ca.server(manner))).collect();
    let untrusted = "no authority that this machine trusts has signed its certificate";
    let mut cases: Vec<_> = BAD.iter().map(|(name, host, _, words)| (*name, *host, *words)).collect();
    for (name, tls, words) in [
        ("an unknown authority", Authority::new("a stranger's").server(&GOOD_SERVER), untrusted),
        // An attacker that uses the name of a trusted authority does not have its key.
        ("an authority of that name", Authority::new("the operator's").server(&GOOD_SERVER), "certificate"),
        ("itself", self_signed(&GOOD_SERVER), untrusted),
        ("a server as its authority", ca.server_of_a_server(&GOOD_SERVER), "certificate"),
    ] {
        servers.push(hello(tls));
        cases.push((name, "localhost", words));
    }
    let mut world = World::trusting(&ca, &servers.iter().map(|web| web.address).collect::<Vec<_>>());
    for ((name, host, words), web) in cases.iter().zip(&servers) {
        let port = web.address.port();
        let secret = if *host == "localhost" { "\nX-Key: {{secret:key}}" } else { "" };
        let refused = world.get(&format!("GET https://{host}:{port}/{secret}"));
        assert!(refused.is_error() && refused.text().contains("TlsCertificateError"), "{name}: {}", refused.text());
        let line = world.client.server.wait_for_log(&format!("`{host}:{port}` is not trusted: "));
        assert!(line.contains(words) && line.contains("plugin=plugins.fetcher"), "{name}: {line}");
        assert_eq!((web.seen().len(), web.heard()), (0, 0), "{name}: something was sent");
    }
    assert!(world.client.server.wait_for_log(untrusted).contains("SSL_CERT_FILE names a file"));
    assert!(!world.client.server.log().contains(CANARY));
}

#[test]
fn nothing_is_sent_to_a_server_that_violates_tls() {
    let ca = Authority::new("the operator's");
    let rude = [
        (Rude::Plain, "TlsProtocolError", Some("does not speak TLS; is it plain http?")),
        (Rude::Old, "TlsProtocolError", Some("speaks neither TLS 1.2 nor 1.3")),
        (Rude::TooNew, "TlsProtocolError", Some("speaks neither TLS 1.2 nor 1.3")),
        (Rude::HangsUp, "HttpResponseIncomplete", None),
        (Rude::Silent, "HttpResponseTimeout", None),
    ];
    let servers: Vec<_> = rude.iter().map(|(manner, ..)| RudeServer::new(*manner)).collect();
    let elsewhere = hello(ca.server(&Manner { protocols: &["h2"], ..GOOD_SERVER }));
    let secure = hello(ca.server(&GOOD_SERVER));
    let all = servers.iter().map(|server| server.address).chain([elsewhere.address, secure.address]);
    let mut world = World::trusting(&ca, &all.collect::<Vec<_>>());
    for ((_, code, words), server) in rude.iter().zip(&servers) {
        let port = server.address.port();
        let start = Instant::now();
        let refused = world.get(&format!("GET https://localhost:{port}/\nX-Key: {{{{secret:key}}}}"));
        assert!(refused.is_error() && refused.text().contains(code), "{code}: {}", refused.text());
        // The granted timeout is 3 s; the guest's deadline is much later.
        assert!(start.elapsed() < Duration::from_secs(15), "{code}: {:?}", start.elapsed());
        if let Some(words) = words {
            let line = world.client.server.wait_for_log(&format!("TLS with `localhost:{port}` failed: "));
            assert!(line.contains(words), "{line}");
        }
        // The server received only the start of a handshake: one record, which contains no secret.
        let heard = server.heard();
        assert_eq!(heard.first(), Some(&22), "{code}");
        assert!(!heard.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()), "{code}: the secret was sent");
    }
    // A guest with a shorter timeout gives up earlier, and the log says which phase took too long.
    let silent = servers[4].address.port();
    let refused = world.get(&format!("brief\nGET https://localhost:{silent}/"));
    assert!(refused.text().contains("ConnectionTimeout"), "{}", refused.text());
    world
        .client
        .server
        .wait_for_log(&format!("the TLS handshake with `localhost:{silent}` did not finish within 200ms"));
    // Client and server have no protocol in common.
    let refused = world.get(&format!("GET https://localhost:{}/\nX-Key: {{{{secret:key}}}}", elsewhere.address.port()));
    assert!(refused.text().contains("TlsProtocolError"), "{}", refused.text());
    world.client.server.wait_for_log("it does not speak HTTP/1.1");
    assert_eq!(elsewhere.heard(), 0);
    // Plain HTTP on the port of HTTPS.
    let refused = world.get(&format!("GET http://localhost:{}/", secure.address.port()));
    assert!(refused.is_error(), "{}", refused.text());
    assert_eq!(secure.seen().len(), 0);
    assert!(!world.client.server.log().contains(CANARY));
}

/// Several folders of authorities can be configured, and the confined server can read all of them.
#[test]
fn folders_of_authorities_are_read() {
    let ca = Authority::new("the operator's");
    let web = hello(ca.server(&GOOD_SERVER));
    let mut world = World::new(&ca, &[web.address], |home, ca| {
        let folders = ["first", "second"].map(|name| home.path().join(name));
        folders.iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
        // File names as OpenSSL makes them, by a hash of the subject; the host does not compare the hash.
        std::fs::write(folders[1].join("0123abcd.0"), ca.pem()).unwrap();
        ("SSL_CERT_DIR", folders.map(|folder| folder.display().to_string()).join(":"))
    });
    assert!(world.get(&format!("GET https://localhost:{}/", web.address.port())).good().starts_with("200"));
    assert_eq!(web.seen().len(), 1);
}

#[test]
fn plugins_are_fetched_only_from_trusted_servers() {
    let component = std::fs::read(paths::guest("echo")).unwrap();
    let (ca, home) = (Authority::new("the operator's"), Home::new());
    let file = home.write("ca.pem", ca.pem()).display().to_string();
    for (tls, words) in [
        (ca.server(&GOOD_SERVER), None),
        (ca.server(&Manner { names: &["other.example"], ..GOOD_SERVER }), Some("not for this name, but for")),
        (ca.server(&Manner { good: EXPIRED, ..GOOD_SERVER }), Some("its certificate has expired")),
        (Authority::new("a stranger's").server(&GOOD_SERVER), Some("SSL_CERT_FILE names a file")),
        (self_signed(&GOOD_SERVER), Some("no authority that this machine trusts")),
    ] {
        let served = component.clone();
        let web = Web::serve_tls(tls, move |_| Reply::new(200, served.clone()));
        let reference = format!("https://localhost:{}/echo.wasm", web.address.port());
        let ran = portcullis_with(&home, ("SSL_CERT_FILE", &file), &["check", &reference]);
        match words {
            None => assert!(ran.good().contains("is a plugin"), "{ran:?}"),
            Some(words) => {
                assert!(ran.refused().contains(words) && ran.stderr.contains("cannot be reached"), "{ran:?}");
                assert_eq!(web.heard(), 0, "{words}");
            }
        }
    }
}
