//! Who is in front of the page is found out where users have tokens of an issuer: nobody else connects an account for
//! them, and nobody is led to connect his own for somebody else.

use super::GRANTS;
use super::world::World;
use serde_json::{Value, json};
use suite::browser::{Arrived, Browser};
use suite::issuer::{self, Issuer};
use suite::plugin;
use url::Url;

fn world(issuer: &Issuer, login: &str) -> World {
    World::of_issuer(issuer, login, &plugin("account", GRANTS), "service")
}

/// The browser of somebody who is logged in at the issuer.
fn browser_of(person: &str) -> Browser {
    let mut browser = Browser::default();
    browser.headers.push(("X-Person".into(), person.into()));
    browser
}

impl World {
    /// Opens the page as far as the issuer's answer, which is not given to the host yet.
    fn logged_in(&self, browser: &mut Browser, page: &Url) -> Url {
        let sent = browser.open(page);
        assert_eq!(sent.status, 303, "{}", sent.text);
        browser.open(&sent.location.unwrap()).location.expect("the issuer sends the browser back")
    }

    /// Opens the page and logs in.
    fn arrive(&self, browser: &mut Browser, page: &Url) -> Arrived {
        let back = self.logged_in(browser, page);
        browser.open(&back)
    }
}

/// The page's parameters, one of them changed.
fn with(url: &Url, name: &str, value: &str) -> Url {
    let pairs: Vec<_> = url.query_pairs().into_owned().filter(|(key, _)| key != name).collect();
    let mut changed = url.clone();
    changed.query_pairs_mut().clear().extend_pairs(pairs).append_pair(name, value);
    changed
}

#[test]
fn whoever_has_logged_in_connects_the_account() {
    let issuer = Issuer::start();
    let world = world(&issuer, &issuer.login());
    let (page, state) = world.page(0);
    let mut alice = browser_of("alice");
    let sent = alice.open(&page);
    let login = sent.location.unwrap();
    assert!(login.as_str().starts_with(&issuer.web.url("/authorize?")), "{login}");
    assert!(!login.as_str().contains(page.query_pairs().next().unwrap().1.as_ref()), "the page's id stays here");
    assert!(!sent.text.contains("service"), "nothing is told before: {}", sent.text);
    let back = alice.open(&login).location.unwrap();
    let arrived = alice.open(&back);
    assert_eq!((arrived.status, arrived.location.as_ref()), (303, Some(&page)), "{}", arrived.text);
    assert_eq!(alice.open(&back).status, 404, "a state works once");
    assert_eq!(issuer.web.count("/token"), 1);
    let shown = alice.open(&page);
    for part in ["plugins.account", "#alice", "service", "read, write"] {
        assert!(shown.text.contains(part), "{part}: {}", shown.text);
    }
    assert!(!shown.text.contains("API key"), "{}", shown.text);
    assert_eq!(world.provider.web.seen().len(), 0, "nothing is asked of the service before the user goes on");
    world.browse(&mut alice, &page, 0);
    assert_eq!(world.agreed(0, &state).good(), "Consent::Accepted");
    assert_eq!(world.call(0, "connected", None).good(), "true");
    assert_eq!(world.call(1, "connected", None).good(), "false", "it is alice's");
    world.check_secrecy();
}

/// Alice sends Bob the page that her own call was given.
#[test]
fn nobody_is_led_to_connect_his_account_for_somebody_else() {
    let issuer = Issuer::start();
    let world = world(&issuer, &issuer.login());
    let (page, _) = world.page(0);
    let mut bob = browser_of("bob");
    let refused = world.arrive(&mut bob, &page);
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert!(!refused.text.contains("alice") && !refused.text.contains("account<"), "{}", refused.text);
    assert_eq!(world.go_on(&mut bob, &page, 0).status, 403, "he has not shown to be her");
    assert_eq!(world.arrive(&mut bob, &page).status, 403, "however often he tries");
    bob.headers.push(("Authorization".into(), world.bearer(1)));
    assert_eq!(bob.open(&page).status, 403, "nor is he by his token");
    assert_eq!(world.provider.web.seen().len(), 0);
    // His attempts do not keep her from it; once she has logged in, the page belongs to her browser.
    let mut alice = browser_of("alice");
    assert_eq!(world.arrive(&mut alice, &page).status, 303);
    assert_eq!(browser_of("bob").open(&page).status, 403);
    assert_eq!(world.go_on(&mut browser_of("alice"), &page, 0).status, 403, "another browser has shown nothing");
    world.browse(&mut alice, &page, 0);
    assert_eq!(world.call(0, "connected", None).good(), "true");
    world.server.wait_for_log("somebody else");
}

#[test]
fn a_login_belongs_to_one_browser_and_one_code() {
    let issuer = Issuer::start();
    let world = world(&issuer, &issuer.login());
    let (page, _) = world.page(0);
    let (mut alice, mut eve) = (browser_of("alice"), browser_of("eve"));
    let back = world.logged_in(&mut alice, &page);
    let of_eve = world.logged_in(&mut eve, &page);
    assert_eq!(eve.open(&back).status, 403, "it is another browser's");
    assert_eq!(Browser::default().open(&back).status, 403);
    assert_eq!(alice.open(&with(&back, "state", "made-up")).status, 404);
    assert_eq!(alice.open(&with(&back, "state", page.query_pairs().next().unwrap().1.as_ref())).status, 404);
    assert_eq!(issuer.web.count("/token"), 0);
    // A code that was given to another browser's login, and an answer of another issuer.
    let code = back.query_pairs().find(|(name, _)| name == "code").unwrap().1.into_owned();
    assert_eq!(eve.open(&with(&of_eve, "code", &code)).status, 400, "it has another challenge");
    let back = world.logged_in(&mut alice, &page);
    assert_eq!(alice.open(&with(&back, "iss", "https://evil.example")).status, 502);
    assert_eq!(alice.open(&back).status, 404, "that login is over");
    assert_eq!(issuer.web.count("/token"), 1);
    // The states of a login and of a connection are two: neither address takes the other's.
    let back = world.logged_in(&mut alice, &page);
    let state = back.query_pairs().find(|(name, _)| name == "state").unwrap().1.into_owned();
    assert_eq!(alice.open(&page.join(&format!("/oauth/callback?code={code}&state={state}")).unwrap()).status, 404);
    assert_eq!(alice.open(&back).status, 303);
    let declined = world.arrive(&mut Browser::default(), &world.page(0).0);
    assert_eq!(declined.status, 400);
    assert!(declined.text.contains("access_denied"), "{}", declined.text);
    assert_eq!(world.provider.web.seen().len(), 0);
}

/// The token says who it is exactly as for a request of a client.
#[test]
fn a_token_that_no_client_could_use_identifies_nobody() {
    let issuer = Issuer::start();
    let world = world(&issuer, &issuer.login());
    let (page, _) = world.page(0);
    let mut alice = browser_of("alice");
    for (claims, why) in [
        (json!({"aud": "https://other.example.com/mcp"}), "for another server"),
        (json!({"aud": issuer::CLIENT}), "for another server"),
        (json!({"iss": "https://evil.example"}), "of another issuer"),
        (json!({"exp": issuer::now() - 60}), "expired"),
        (json!({"scope": "other"}), "lacks a scope"),
        (json!({"sub": ""}), "subject"),
        (json!({"sub": Value::Null}), "missing"),
    ] {
        issuer.claim(claims.clone());
        let refused = world.arrive(&mut alice, &page);
        assert_eq!(refused.status, 502, "{claims}: {}", refused.text);
        world.server.wait_for_log(why);
    }
    issuer.claim(json!({"sub": "alice2"}));
    assert_eq!(world.arrive(&mut alice, &page).status, 403);
    issuer.claim(json!({}));
    assert_eq!(world.arrive(&mut alice, &page).status, 303);
}

/// Without a login the host cannot know, so it refuses and says which key is missing.
#[test]
fn without_a_login_only_a_browser_with_a_credential_is_served() {
    let issuer = Issuer::start();
    let world = world(&issuer, "");
    world.server.wait_for_log("[server.auth.oauth.login]");
    let (page, _) = world.page(0);
    let mut alice = browser_of("alice");
    let refused = alice.open(&page);
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("[server.auth.oauth.login]") && !refused.text.contains("alice"), "{}", refused.text);
    assert_eq!(world.go_on(&mut alice, &page, 0).status, 403);
    assert_eq!(world.provider.web.seen().len(), 0);
    // Such as a proxy that authenticates people sends it.
    alice.headers.push(("Authorization".into(), world.bearer(0)));
    world.browse(&mut alice, &page, 0);
    assert_eq!(world.call(0, "connected", None).good(), "true");
}
