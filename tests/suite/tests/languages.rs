//! `hello` behaves the same in three languages, and the same grants apply to HTTP requests from each language.

mod behaviour;
mod go_image;
mod libraries;
mod npm;
mod packages;
mod python_image;
mod python_library;
mod templates;
mod transcript;
mod tutorials;
mod typed;

use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use suite::tls::{Authority, Manner};
use suite::web::{Reply, Web};
use suite::{Client, Era, Home, Server, paths, plugin_from};

const LANGUAGES: [&str; 3] = ["hello", "hello-python", "hello-javascript"];

#[test]
fn hello_behaves_the_same_in_every_language() {
    let config: String = LANGUAGES
        .map(|name| {
            plugin_from(name, &paths::real_plugin(name), "limits.memory = \"128 MiB\"\nlimits.fuel = 10_000_000_000")
        })
        .concat();
    let mut client = Client::new(Server::start(&config), Era::Modern, true);
    client.progress = true;
    let mut tools = client.tools();
    tools.retain(|tool| tool["name"].as_str().is_some_and(|name| name.ends_with("__greet")));
    assert_eq!(tools.len(), 3);
    for tool in &tools {
        assert_eq!(tool["inputSchema"]["required"], json!(["name"]), "{tool}");
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{tool}");
    }
    for name in LANGUAGES {
        let called = client.call(&format!("{name}__greet"), json!({"name": "Ada"}));
        assert_eq!(called.good(), "Hello, Ada!", "{name}");
        assert_eq!(called.usage()["chunks"], called.chunks().len(), "{name}");
        let called = client.call(&format!("{name}__greet"), json!({}));
        assert_eq!(called.code(), "invalid-arguments", "{name}: {}", called.result());
    }
}

const GRANT: &str = "grants.http = [{ allow = \"GET https://localhost:8443/open/\", private = true }]";

/// Over TLS. The port is fixed in their manifests: another manifest would make another component, and compiling CPython takes
/// minutes.
#[test]
fn http_grants_apply_to_guests_in_every_language() {
    let (home, ca) = (Home::new(), Authority::new("the operator's"));
    let file = home.write("ca.pem", ca.pem());
    let tls = ca.server(&Manner::GOOD);
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 8443));
    let web = Web::serve_tls_at(at, tls, |seen| {
        let page = Reply::new(200, format!("page {}", seen.target));
        if seen.target == "/open/cut" { page.cut() } else { page }
    });
    // The servers run one after the other, so that the second one uses the compiled code of the first.
    for (grants, granted) in [(GRANT, true), ("", false)] {
        let config: String = LANGUAGES[1..]
            .iter()
            .map(|name| {
                let limits = "limits.memory = \"128 MiB\"\nlimits.fuel = 10_000_000_000\n";
                plugin_from(name, &paths::real_plugin(name), &format!("{limits}{grants}"))
            })
            .collect();
        let server = Server::spawn(Home::new(), &config, &[], |command| {
            command.env("SSL_CERT_FILE", &file);
        });
        let mut client = Client::of_server(server);
        for name in &LANGUAGES[1..] {
            let before = web.seen().len();
            let mut fetch = |path: &str| {
                client.call(&format!("{name}__fetch"), json!({"url": format!("https://localhost:8443{path}")}))
            };
            if granted {
                assert_eq!(fetch("/open/a?b").good(), "200 page /open/a?b", "{name}");
                let broken = fetch("/open/cut");
                let said = broken.result();
                assert_eq!(said["isError"], true, "{name}: {said}");
                assert!(said.to_string().contains("the other server failed: "), "{name}: {said}");
            }
            let refused = fetch(if granted { "/closed" } else { "/open/a" });
            assert_eq!(refused.code(), "denied", "{name}: {}", refused.result());
            assert_eq!(
                web.seen().len() - before,
                2 * usize::from(granted),
                "{name}: a request was sent without a grant"
            );
            let said = client.server.wait_for_log(&format!("is not granted. To allow it: portcullis grant {name} "));
            assert!(said.contains("denied: http `GET https://localhost:8443/"), "{said}");
        }
    }
}
