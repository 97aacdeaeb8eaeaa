//! Who may use the server over HTTP: API keys and tokens of a local issuer.

use serde_json::{Value, json};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use suite::client::modern_meta;
use suite::http::{Response, legacy_session_of, request, request_at};
use suite::issuer::{self, Issuer};
use suite::{Home, PATIENCE, Server, eventually, plugin, portcullis};

const AUDIENCE: &str = "https://tools.example.com/mcp";
const METADATA: &str = "https://tools.example.com/.well-known/oauth-protected-resource/mcp";

/// A server with API keys for these names, and perhaps an issuer.
pub(crate) fn start(names: &[&str], issuer: Option<&Issuer>) -> (Server, SocketAddr, Vec<String>) {
    let home = Home::new();
    let (mut keys, mut file) = (vec![], String::new());
    for name in names {
        let made = portcullis(&home, &["key", "new", name]);
        let lines: Vec<_> = made.good().lines().map(str::trim).collect();
        keys.push(lines[0].to_owned());
        file += &format!("{}\n", lines[1]);
    }
    let path = home.write("keys.toml", &file);
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let mut config = plugin("echo", "") + &plugin("ask", "grants.client = { form = true }");
    config += &plugin("publish-all", "grants.publish = true");
    if !names.is_empty() {
        config += "[server.auth]\nkeys = \"keys.toml\"\n";
    }
    if let Some(issuer) = issuer {
        let (url, scopes) = (issuer.url(), "required-scopes = [\"tools\"]");
        config += &format!("[server.auth.oauth]\nissuer = \"{url}\"\nresource = \"{AUDIENCE}\"\n{scopes}\n");
    }
    let (server, address) = Server::start_http_in(home, &config);
    (server, address, keys)
}

fn list(address: SocketAddr, credential: Option<&str>) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": modern_meta(false)}});
    let bearer = credential.map(|credential| format!("Bearer {credential}"));
    let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/list")];
    headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
    request(address, "POST", &headers, &body.to_string())
}

fn challenge(response: &Response) -> &str {
    response.header("www-authenticate").unwrap_or_default()
}

/// What stands on all addresses of a machine must not be open to its whole network by oversight.
#[test]
fn other_machines_are_served_only_with_authentication_or_if_the_operator_insists() {
    for open in ["0.0.0.0:0", "[::]:0"] {
        let home = Home::new();
        let file = home.write("portcullis.toml", plugin("echo", "")).display().to_string();
        let ran = portcullis(&home, &["serve", "--config", &file, "--http", open]);
        assert!(ran.refused().contains("everybody there could call every tool"), "{}", ran.stderr);
        let file = home.write("portcullis.toml", format!("[server]\nhttp = \"{open}\"\n")).display().to_string();
        assert!(portcullis(&home, &["serve", "--config", &file]).refused().contains("anonymous = true"));
    }
    let insists = "[server.auth]\nanonymous = true\n";
    Server::spawn(Home::new(), insists, &["--http", "0.0.0.0:0"], |_| {}).wait_for_log("listening on http://");
    let insecure = ["--http", "0.0.0.0:0", "--insecure"];
    Server::spawn(Home::new(), &plugin("echo", ""), &insecure, |_| {}).wait_for_log("listening on http://");
}

#[test]
fn only_valid_api_keys_are_accepted() {
    let (server, address, keys) = start(&["alice", "bob"], None);
    for key in &keys {
        assert_eq!(list(address, Some(key)).status, 200);
    }
    for wrong in [None, Some("portcullis_AAAA"), Some("x"), Some(&keys[0][1..])] {
        let mut refused = list(address, wrong);
        assert_eq!(refused.status, 401, "{wrong:?}");
        assert!(challenge(&refused).starts_with("Bearer "), "{:?}", refused.headers());
        let (sentence, message) = refused.refusal();
        assert!(sentence.len() > 10 && message.is_none(), "nothing of it was read: {sentence}");
    }
    let twice = [("Authorization", format!("Bearer {}", keys[0])), ("Authorization", "Bearer x".to_owned())];
    let twice: Vec<_> = twice.iter().map(|(name, value)| (*name, value.as_str())).collect();
    assert_eq!(request(address, "POST", &twice, "{}").status, 401);
    let in_query = request_at(address, "POST", &format!("/mcp?access_token={}", keys[0]), &[], "{}");
    assert_eq!(in_query.status, 401);
    for method in ["GET", "DELETE", "PUT", "OPTIONS"] {
        assert_eq!(request(address, method, &[], "").status, 401, "{method}");
    }
    for path in ["/mcp/", "/mcp/x", "/%6dcp", "/mcp%2f", "//mcp", "/MCP"] {
        assert_eq!(request_at(address, "POST", path, &[], "{}").status, 401, "{path}");
    }
    // Without an issuer there is no metadata document.
    assert_eq!(request_at(address, "GET", "/.well-known/oauth-protected-resource", &[], "").status, 404);
    assert!(keys.iter().all(|key| !server.log().contains(key)));
}

#[test]
fn clients_that_look_for_oauth_are_told_of_keys() {
    let (server, address, _) = start(&["alice"], None);
    let paths = [("POST", "/register"), ("GET", "/authorize"), ("POST", "/token")];
    for (method, path) in paths.into_iter().chain([("GET", "/.well-known/oauth-authorization-server")]) {
        let mut response = request_at(address, method, path, &[], "{}");
        let error = response.message().unwrap();
        let why = error["error_description"].as_str().unwrap();
        assert!(response.status == 404 && why.contains("Authorization: Bearer") && why.contains("key new"), "{error}");
    }
    // Refusals are logged, but nobody fills the log with them.
    for _ in 0..100 {
        assert_eq!(list(address, None).status, 401);
    }
    let lines = server.log().matches("a request without a credential is refused").count();
    assert!((1..20).contains(&lines), "{lines}");
    let (_server, open) = Server::start_http(&plugin("echo", ""));
    let error = request_at(open, "POST", "/register", &[], "{}").message().unwrap();
    assert!(error["error_description"].as_str().unwrap().contains("asks for no credentials"), "{error}");
}

#[test]
fn keys_are_listed_and_revoked() {
    let home = Home::new();
    let lines = ["alice", "bob@example.com"].map(|name| {
        let made = portcullis(&home, &["key", "new", name]);
        assert!(made.stderr.contains("cannot be shown again"), "hints are for people: {made:?}");
        made.good().lines().nth(1).unwrap().to_owned()
    });
    let path = home.write("keys.toml", format!("# ours\n{}\n{}\n", lines[0], lines[1]));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    home.write("portcullis.toml", "[server.auth]\nkeys = \"keys.toml\"\n");
    assert_eq!(portcullis(&home, &["key", "list"]).good(), "alice\nbob@example.com\n");
    assert!(portcullis(&home, &["key", "revoke", "alice"]).refused().contains("key revoke alice --yes"));
    assert!(
        portcullis(&home, &["key", "revoke", "eve", "--yes"]).refused().contains("there are: alice, bob@example.com")
    );
    assert!(portcullis(&home, &["key", "revoke", "alice", "--yes"]).good().contains("Restart the server"));
    assert_eq!(std::fs::read_to_string(&path).unwrap().trim_end().lines().last(), Some(&*lines[1]));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(portcullis(&home, &["key", "list"]).good(), "bob@example.com\n");
}

#[test]
fn problems_with_the_key_file_are_reported() {
    let home = Home::new();
    let made = portcullis(&home, &["key", "new", "alice"]);
    let path = home.write("keys.toml", made.good().lines().last().unwrap());
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (server, _) = Server::start_http_in(home, &(plugin("echo", "") + "[server.auth]\nkeys = \"keys.toml\"\n"));
    assert!(server.log().contains("chmod 600"), "{}", server.log());
    let home = Home::new();
    home.write("portcullis.toml", "[server.auth]\nkeys = \"nowhere.toml\"\n");
    let refused = portcullis(&home, &["serve", "--http", "127.0.0.1:0"]);
    assert!(refused.refused().contains("portcullis key new"), "{refused:?}");
    assert!(portcullis(&home, &["key", "new", "a b"]).refused().contains("no name for a key"));
}

#[test]
fn tokens_are_checked() {
    let issuer = Issuer::start();
    let (server, address, keys) = start(&["alice"], Some(&issuer));
    let good = issuer::sign(1, &issuer.claims(AUDIENCE));
    assert_eq!(list(address, Some(&good)).status, 200);
    assert_eq!(list(address, Some(&keys[0])).status, 200, "a key is as good");
    let with = |name: &str, value: Value| {
        let mut claims = issuer.claims(AUDIENCE);
        claims[name] = value;
        issuer::sign(1, &claims)
    };
    let bad = [
        ("another server", with("aud", json!("https://other.example.com/mcp"))),
        ("another issuer", with("iss", json!("https://evil.example.com"))),
        ("expired", with("exp", json!(issuer::now() - 60))),
        ("not valid yet", with("nbf", json!(issuer::now() + 60))),
        ("subject", with("sub", json!(""))),
        ("does not have", issuer::sign(2, &issuer.claims(AUDIENCE))),
        ("neither a known key", issuer::with_header(&good, &json!({"alg": "none", "kid": "key-1"}))),
        ("signature", issuer::with_header(&good, &json!({"alg": "HS256", "kid": "key-1"}))),
        ("signature", issuer::with_header(&good, &json!({"alg": "EdDSA", "kid": "key-1", "typ": "x"}))),
        ("names no key", issuer::with_header(&good, &json!({"alg": "EdDSA"}))),
    ];
    for (expected, token) in &bad {
        let mut refused = list(address, Some(token));
        assert_eq!(refused.status, 401, "{expected}");
        let text = refused.text();
        assert!(text.contains(expected), "{expected}: {text}");
        assert!(challenge(&refused).contains("error=\"invalid_token\""), "{}", challenge(&refused));
    }
    let narrow = list(address, Some(&with("scope", json!("other"))));
    assert_eq!(narrow.status, 403);
    assert!(
        challenge(&narrow).contains("error=\"insufficient_scope\"") && challenge(&narrow).contains("scope=\"tools\"")
    );
    let log = server.log();
    assert!(!log.contains(&good) && !bad.iter().any(|(_, token)| log.contains(token.as_str())), "{log}");
    assert!(!issuer.web.seen().iter().any(|seen| seen.everything().contains(&good[..40])));
}

#[test]
fn unknown_key_ids_do_not_flood_the_issuer() {
    let issuer = Issuer::start();
    let (_server, address, _) = start(&[], Some(&issuer));
    for key in 2..60 {
        assert_eq!(list(address, Some(&issuer::sign(key, &issuer.claims(AUDIENCE)))).status, 401);
    }
    assert_eq!(list(address, Some(&issuer::sign(1, &issuer.claims(AUDIENCE)))).status, 200);
    assert_eq!(issuer.web.count("/jwks"), 1, "at most once in 30 s");
}

#[test]
fn clients_can_discover_the_issuer() {
    let issuer = Issuer::start();
    let (_server, address, _) = start(&[], Some(&issuer));
    let refused = list(address, None);
    assert_eq!(refused.status, 401);
    assert_eq!(challenge(&refused), format!("Bearer resource_metadata=\"{METADATA}\", scope=\"tools\""));
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let mut response = request_at(address, "GET", path, &[], "");
        assert_eq!(response.status, 200);
        let document = response.message().unwrap();
        assert_eq!(document["resource"], AUDIENCE);
        assert_eq!(document["authorization_servers"], json!([issuer.url()]));
        assert_eq!(document["scopes_supported"], json!(["tools"]));
    }
}

#[test]
fn tokens_get_503_while_the_issuer_is_unreachable() {
    let issuer = Issuer::start();
    let token = issuer::sign(1, &issuer.claims(AUDIENCE));
    let (server, address, keys) = start(&["alice"], Some(&issuer));
    drop(issuer);
    assert_eq!(list(address, Some(&token)).status, 503);
    assert_eq!(list(address, Some(&keys[0])).status, 200);
    server.wait_for_log("the issuer's keys cannot be had");
}

/// Another principal's session is answered exactly as one that never existed.
#[test]
fn a_session_answers_only_its_own_principal() {
    let (_server, address, keys) = start(&["alice", "bob"], None);
    let bearer: Vec<_> = keys.iter().map(|key| format!("Bearer {key}")).collect();
    let session = legacy_session_of(address, false, "2025-11-25", &[("Authorization", &bearer[0])]);
    let session = session.iter().find(|(name, _)| name == "Mcp-Session-Id").unwrap().1.clone();
    let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string();
    let ask = |who: &str, method: &str, session: &str| {
        let headers = [("Authorization", who), ("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", session)];
        let mut response = request(address, method, &headers, if method == "POST" { &body } else { "" });
        let headers: Vec<_> = response.headers().iter().filter(|(name, _)| name != "date").cloned().collect();
        (
            response.status,
            headers,
            if method == "GET" && response.status == 200 { String::new() } else { response.text() },
        )
    };
    let unknown = "3f1f4c9e-0000-4000-8000-000000000000";
    for method in ["POST", "GET", "DELETE"] {
        let never = ask(&bearer[1], method, unknown);
        for foreign in [session.as_str(), &session[1..], "none"] {
            assert_eq!(ask(&bearer[1], method, foreign), never, "{method} {foreign}");
        }
        if method != "DELETE" {
            assert_eq!(never.0, 404, "{method}");
        }
        assert_eq!(ask(&bearer[0], "POST", &session).0, 200, "after {method} it is still there for its owner");
    }
    assert!(ask(&bearer[0], "DELETE", &session).0 < 300);
    assert_eq!(ask(&bearer[0], "POST", &session).0, 404);
}

/// Another principal cannot resume a parked call, even with its valid state.
#[test]
fn a_parked_call_is_resumed_only_by_its_own_principal() {
    let (_server, address, keys) = start(&["alice", "bob"], None);
    let call = |key: &str, more: Value| {
        let mut meta = modern_meta(false);
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({"elicitation": {}});
        let mut params = json!({"name": "ask__run", "arguments": {"path": "form"}, "_meta": meta});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string();
        let bearer = format!("Bearer {key}");
        let headers = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", "ask__run"),
            ("Authorization", bearer.as_str()),
        ];
        request(address, "POST", &headers, &body).message().unwrap()
    };
    let asked = call(&keys[0], json!({}));
    let answers = json!({"user_name": {"action": "accept", "content": {"name": "Ada"}}});
    let retry = json!({"requestState": asked["result"]["requestState"], "inputResponses": answers});
    let foreign = call(&keys[1], retry.clone());
    let mut unknown = retry.clone();
    unknown["requestState"] = json!("AAAA");
    assert_eq!(foreign["error"]["code"], -32602);
    assert_eq!(foreign, call(&keys[1], unknown), "as one that never was");
    assert_eq!(call(&keys[0], retry)["result"]["content"][0]["text"], r#"{"name":"Ada"}"#);
}

/// A legacy session is notified of its own principal's resources, and does not list those of others.
#[test]
fn published_resources_are_visible_only_to_their_principal() {
    let (mut server, address, keys) = start(&["alice", "bob"], None);
    let uri = "portcullis://published/publish-all/report/today.txt";
    let bearer: Vec<_> = keys.iter().map(|key| format!("Bearer {key}")).collect();
    let sessions =
        |address| [0, 1].map(|who| legacy_session_of(address, false, "2025-11-25", &[("Authorization", &bearer[who])]));
    let ask = |address, session: &[(String, String)], method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params}).to_string();
        let mut response = suite::http::legacy(address, session, "POST", &[], &body);
        std::iter::from_fn(|| response.event()).filter_map(|event| event.message).find(|m| m["id"] == method).unwrap()
    };
    let [alice, bob] = sessions(address);
    let mut hears = suite::http::legacy(address, &alice, "GET", &[], "");
    assert_eq!(ask(address, &alice, "resources/subscribe", json!({"uri": uri}))["result"], json!({}));
    ask(address, &alice, "tools/call", json!({"name": "publish-all__run", "arguments": {}}));
    let mut heard = std::iter::from_fn(|| hears.event()).filter_map(|event| event.message);
    assert!(heard.any(|m| m["method"] == "notifications/resources/updated" && m["params"]["uri"] == uri));
    let check = |address, [alice, bob]: [&[(String, String)]; 2]| {
        let list = |session| ask(address, session, "resources/list", json!({}))["result"]["resources"].to_string();
        assert_eq!((list(alice).contains(uri), list(bob).contains(uri)), (true, false));
        assert!(ask(address, alice, "resources/read", json!({"uri": uri})).get("result").is_some());
        assert_eq!(ask(address, bob, "resources/read", json!({"uri": uri}))["error"]["code"], -32002);
    };
    check(address, [&alice, &bob]);
    let is_stored = || portcullis(&server.home, &["storage", "check"]).good().contains("  records: 2\n").then_some(());
    eventually(PATIENCE, is_stored).unwrap();
    let address = server.restart();
    server.wait_until_loaded();
    let [alice, bob] = sessions(address);
    check(address, [&alice, &bob]);
}
