//! Connected accounts: the browser flow, and a guest that uses an account without seeing its credential.

mod login;
pub(crate) mod world;

use serde_json::{Value, json};
use suite::browser::Browser;
use suite::provider::{CANARY, Provider};
use suite::{Called, Client, Era, Server, agent, plugin};
use url::Url;
use world::{World, asked, check_no_token, config, connect_in_browser, home};

const GRANTS: &str = "grants.connections = [\"service\"]\nlimits.answer-timeout = \"2s\"\n";

fn world() -> World {
    World::new(&plugin("account", GRANTS), "service")
}

impl World {
    /// Calls the guest as this user.
    fn call(&self, who: usize, path: &str, state: Option<(&Value, Value)>) -> Called {
        self.tool(who, "account__run", json!({"path": path}), state)
    }

    /// Requests a connection: the page's address and the state to continue the call with.
    fn page(&self, who: usize) -> (Url, Value) {
        asked(&self.call(who, "connect", None), "connect")
    }

    /// Reports that the user accepted, and continues the call.
    fn agreed(&self, who: usize, state: &Value) -> Called {
        self.call(who, "connect", Some((state, json!({"connect": {"action": "accept"}}))))
    }

    /// Connects the account with one browser.
    fn connect(&self, who: usize) {
        let (page, state) = self.page(who);
        self.browse(&mut Browser::default(), &page, who);
        assert_eq!(self.agreed(who, &state).good(), "Consent::Accepted");
    }
}

#[test]
fn a_guest_uses_an_account_that_it_never_sees() {
    let world = world();
    assert_eq!(world.call(0, "connected", None).good(), "false");
    assert!(world.call(0, "GET /user", None).text().contains("NotConnected"));
    let (page, state) = world.page(0);
    let mut browser = Browser::default();
    let shown = check_no_token(browser.open(&page));
    for part in ["plugins.account", "key:alice", "127.0.0.1", "service", "read, write", "no-store", "frame-ancestors"] {
        assert!(shown.text.contains(part), "{part}: {}", shown.text);
    }
    assert_eq!(world.provider.web.seen().len(), 0, "nothing is asked of anybody before the user goes on");
    let sent = world.go_on(&mut browser, &page, 0);
    assert_eq!(sent.status, 303, "{}", sent.text);
    let provider = sent.location.unwrap();
    assert!(provider.as_str().starts_with(&world.provider.web.url("/authorize?")));
    assert!(!provider.as_str().contains(page.query_pairs().next().unwrap().1.as_ref()), "the page's id stays here");
    // The user accepted but has not finished: the question is asked again.
    let pending = world.agreed(0, &state);
    assert_eq!(pending.result()["resultType"], "input_required", "{}", pending.result());
    let asked = &pending.result()["inputRequests"]["connect"]["params"];
    assert_eq!(asked["url"].as_str(), Some(page.as_str()));
    assert!(asked["message"].as_str().unwrap().contains("not connected yet"), "{asked}");
    let back = browser.open(&provider).location.unwrap();
    let end = check_no_token(browser.open(&back));
    assert_eq!(end.status, 200, "{}", end.text);
    assert!(end.text.contains("is connected"), "{}", end.text);
    assert_eq!(world.agreed(0, &pending.result()["requestState"]).good(), "Consent::Accepted");

    assert_eq!(world.call(0, "connected", None).good(), "true");
    let user = world.call(0, "GET /user", None).good();
    assert!(
        user.starts_with("200 {\"login\":\"ada\"}") && user.contains("person") && !user.contains("cookie"),
        "{user}"
    );
    assert_eq!(world.call(1, "connected", None).good(), "false", "it is alice's");
    assert!(world.call(1, "GET /user", None).text().contains("NotConnected"));
    world.check_secrecy();
}

#[test]
fn requests_are_counted_for_the_whole_tree() {
    let nested = agent("mail", "account", &format!("{GRANTS}limits.calls = 3\n"));
    let caller = |limits| plugin("agent-calls", &format!("grants.agent-tools = [\"mail.run\"]\n{limits}"));
    let world = World::new(&(plugin("account", GRANTS) + &caller("limits.calls = 5") + &nested), "service");
    world.connect(0);
    let call = json!({"call": {"name": "mail.run", "arguments": {"path": "GET /user", "n": 3}}});
    let script = Value::from(vec![call; 2]).to_string();
    let sent = || world.provider.web.seen().iter().filter(|seen| seen.path().ends_with("/user")).count();
    let before = sent();
    let called = world.tool(0, "agent-calls__run", json!({"path": script}), None);
    assert_eq!(called.good().matches("200 {").count(), 1, "{}", called.text());
    assert_eq!(sent() - before, 5, "the caller's own limit, of which the two calls use nothing");
}

#[test]
fn pages_and_flows_are_bound_to_one_browser_and_user() {
    let world = world();
    let (page, _) = world.page(0);
    let (mut alice, mut bob) = (Browser::default(), Browser::default());
    // Bob is identified by his browser's header or by his key.
    bob.headers.push(("Authorization".into(), format!("Bearer {}", world.keys[1])));
    assert_eq!(bob.open(&page).status, 403);
    assert_eq!(world.go_on(&mut bob, &page, 0).status, 403, "whatever he types");
    let mut bob = Browser::default();
    assert_eq!(bob.open(&page).status, 200, "nobody can know yet");
    assert_eq!(world.go_on(&mut bob, &page, 1).status, 403, "his own key is not hers");
    alice.open(&page);
    // Without the cookie, or from another site, the flow is refused.
    assert_eq!(world.go_on(&mut Browser::default(), &page, 0).status, 403);
    alice.headers.push(("Origin".into(), "https://evil.example".into()));
    assert_eq!(world.go_on(&mut alice, &page, 0).status, 403);
    alice.headers.clear();
    let sent = world.go_on(&mut alice, &page, 0);
    assert_eq!(sent.status, 303);
    // From here on the flow is bound to this browser.
    assert_eq!(bob.open(&page).status, 403);
    assert_eq!(world.go_on(&mut bob, &page, 0).status, 403);
    let back = alice.open(&sent.location.unwrap()).location.unwrap();
    assert_eq!(bob.open(&back).status, 403);
    assert_eq!(Browser::default().open(&back).status, 403);
    let mut with_issuer = back.clone();
    with_issuer.query_pairs_mut().clear().extend_pairs(back.query_pairs().filter(|(name, _)| name != "state"));
    with_issuer.query_pairs_mut().append_pair("state", "made-up");
    assert_eq!(alice.open(&with_issuer).status, 404);
    assert_eq!(world.provider.web.count("/token"), 0);
    assert_eq!(alice.open(&back).status, 200);
    // Every step works only once.
    assert_eq!(alice.open(&back).status, 404);
    assert_eq!(alice.open(&page).status, 404);
    assert_eq!(world.provider.web.count("/token"), 1);
    let bogus = page.join("/connect?e=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA").unwrap();
    assert_eq!(alice.open(&bogus).status, 404);
    world.check_secrecy();
}

#[test]
fn a_provider_that_refuses_or_is_mixed_up_is_rejected() {
    let world = world();
    let (page, state) = world.page(0);
    let mut browser = Browser::default();
    browser.open(&page);
    let sent = world.go_on(&mut browser, &page, 0).location.unwrap();
    let back = browser.open(&sent).location.unwrap();
    let mut forged = back.clone();
    let pairs: Vec<_> = back.query_pairs().into_owned().collect();
    let other = pairs.iter().map(|(name, value)| (name, if name == "iss" { "https://evil.example" } else { value }));
    forged.query_pairs_mut().clear().extend_pairs(other);
    assert_eq!(browser.open(&forged).status, 502);
    assert_eq!(world.provider.web.count("/token"), 0, "the code goes to nobody");
    assert_eq!(browser.open(&back).status, 404, "that flow is over");

    world.provider.says_no();
    let (page, _) = world.page(0);
    browser.open(&page);
    let sent = world.go_on(&mut browser, &page, 0).location.unwrap();
    let back = browser.open(&sent).location.unwrap();
    let end = browser.open(&back);
    assert_eq!(end.status, 400);
    assert!(end.text.contains("access_denied"), "{}", end.text);
    assert_eq!(world.call(0, "connected", None).good(), "false");
    let declined = world.call(0, "connect", Some((&state, json!({"connect": {"action": "decline"}}))));
    assert_eq!(declined.good(), "Consent::Declined");
}

#[test]
fn requests_cannot_leave_the_accounts_api() {
    let world = world();
    world.connect(0);
    for (path, expected) in [
        ("GET /user?x=1", "200 "),
        ("POST /post", "201 1 bytes"),
        ("DELETE /nothing", "404 no such thing"),
        ("GET /user X-Kind:y", "200 "),
        ("GET /most", "200 4194304 bytes"),
        // Redirects are not followed; following this one would be an error.
        ("GET /away", "302 "),
    ] {
        let said = world.call(0, path, None).good();
        assert!(said.starts_with(expected), "{path}: {said}");
    }
    for (path, expected) in [
        ("GET /../outside", "`.` or `..`"),
        ("GET /%2e%2e/outside", "`.` or `..`"),
        ("GET //127.0.0.1/outside", "empty piece"),
        ("GET /x#y", "fragment"),
        ("GET /user Authorization:Bearer-x", "may not be set by plugins"),
        ("GET /user Host:evil.example", "may not be set by plugins"),
        ("GET /user Cookie:a=b", "may not be set by plugins"),
        ("GET /user Range:bytes=0-3", "may not be set by plugins"),
        ("TRACE /user", "the method must be"),
        ("GET /echo", "contains the account's credential"),
        ("GET /big", "larger than"),
    ] {
        let said = world.call(0, path, None);
        assert!(said.is_error() && said.text().contains(expected), "{path}: {}", said.text());
    }
    assert_eq!(world.call(0, "other", None).code(), "denied");
    let seen = world.provider.web.seen();
    assert!(!seen.iter().any(|seen| seen.path() == "/outside") && world.provider.elsewhere.seen().is_empty());
    let token = |seen: &&suite::web::Seen| seen.everything().contains(CANARY);
    assert!(seen.iter().filter(token).all(|seen| seen.path().starts_with("/api/v1/")), "only the API gets the token");
    assert!(!seen.iter().any(|seen| seen.everything().contains(&world.keys[0])), "the client's own key goes nowhere");
    world.check_secrecy();
}

/// Searches the guest's whole memory right after a request.
#[test]
fn no_token_is_in_the_guests_memory() {
    let world = world();
    world.connect(0);
    let backwards = |text: &str| text.chars().rev().collect::<String>();
    let count = |text: &str| world.call(0, &format!("memory {}", backwards(text)), None).good().parse::<u32>().unwrap();
    assert!(count(r#""login":"ada""#) > 0, "the body is");
    assert_eq!(count(CANARY), 0);
    world.check_secrecy();
}

#[test]
fn tokens_are_renewed_until_revoked() {
    let world = world();
    world.provider.tokens_last(1);
    world.connect(0);
    let renewed = |world: &World| world.provider.web.count("/token") - 1;
    assert!(world.call(0, "GET /user", None).good().starts_with("200 "));
    assert_eq!(renewed(&world), 1, "it was about to end");
    world.provider.tokens_last(3600);
    assert!(world.call(0, "GET /user", None).good().starts_with("200 "));
    assert!(world.call(0, "GET /user", None).good().starts_with("200 "));
    assert_eq!(renewed(&world), 2);
    world.provider.revoke_access();
    assert!(world.call(0, "GET /user", None).good().starts_with("200 "), "by a 401 it is found out, and renewed");
    assert_eq!(renewed(&world), 3);
    world.provider.revoke_all();
    assert!(world.call(0, "GET /user", None).text().contains("NotConnected"));
    assert_eq!(world.call(0, "connected", None).good(), "false");
    world.connect(0);
    assert!(world.call(0, "GET /user", None).good().starts_with("200 "));
    world.check_secrecy();
}

/// Over stdio there is one user, and the pages have their own port. Connections persist across restarts.
#[test]
fn a_connection_works_over_stdio_and_survives_restarts() {
    let provider = Provider::start();
    let config = config(&provider, &plugin("account", GRANTS), "service");
    let server = Server::start_in(home(&provider), &config);
    let mut client = Client::able(server, Era::Legacy, false, json!({"elicitation": {"url": {}}}));
    // The user finishes the browser flow before accepting.
    client.answering = Some(|method, params| {
        assert_eq!((method, &params["mode"]), ("elicitation/create", &json!("url")));
        let page = Url::parse(params["url"].as_str().unwrap()).unwrap();
        connect_in_browser(&mut Browser::default(), &page, "");
        json!({"action": "accept"})
    });
    assert_eq!(client.run("account", json!({"path": "connect"})).good(), "Consent::Accepted");
    assert!(client.run("account", json!({"path": "GET /user"})).good().starts_with("200 "));
    client.server.end();
    let home = std::mem::take(&mut client.server.home);
    let mut client = Client::new(Server::start_in(home, &config), Era::Modern, false);
    assert_eq!(client.run("account", json!({"path": "connected"})).good(), "true");
    assert!(client.run("account", json!({"path": "GET /user"})).good().starts_with("200 "));
    assert!(!client.server.log().contains(CANARY));
    // If the connection is pointed to another server, the credential is not sent there.
    client.server.end();
    let home = std::mem::take(&mut client.server.home);
    let elsewhere = config.replace("/api/v1", "/other");
    let mut client = Client::new(Server::start_in(home, &elsewhere), Era::Modern, false);
    assert_eq!(client.run("account", json!({"path": "connected"})).good(), "false");
}
