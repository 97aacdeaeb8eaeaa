//! The list of pull requests: the user connects an account in a browser, and neither the client nor the plugin ever
//! holds its credential.

use super::{Seen, client, through};
use crate::connections::world::{World, address, asked, check_secrecy, config, connect_in_browser, home};
use serde_json::{Value, json};
use std::time::Instant;
use suite::browser::Browser;
use suite::http::{legacy, legacy_session_able};
use suite::provider::{CANARY, Provider};
use suite::{Called, Client, Era, paths, plugin_from};

const TOOL: &str = "pulls__list_private_prs";
const GRANTS: &str = "grants.connections = [\"github\"]\n";
const LISTED: &str = "- Raise the gate\n- Oil the chains";
const API: &str = "/api/v1/user/pulls";

fn plugin(limits: &str) -> String {
    plugin_from("pulls", &paths::real_plugin("pulls"), &format!("{GRANTS}{limits}"))
}

/// A client of a server over stdio, which has one user.
fn start(provider: &Provider, era: Era, abilities: Value) -> Client {
    client(home(provider), &config(provider, &plugin(""), "github"), era, abilities)
}

fn pages() -> Value {
    json!({"elicitation": {"url": {}}})
}

/// A user who finishes the browser flow before accepting.
fn connecting(method: &str, params: &Value) -> Value {
    assert_eq!((method, &params["mode"]), ("elicitation/create", &json!("url")));
    assert!(params["message"].as_str().unwrap().contains("Authorize GitHub"), "{params}");
    let page = address(params);
    assert_eq!((page.path(), page.query_pairs().count()), ("/connect", 1), "{page}");
    connect_in_browser(&mut Browser::default(), &page, "");
    json!({"action": "accept"})
}

/// Checks that the provider saw PKCE, and that the token was only sent to its API.
fn check_provider(provider: &Provider) {
    let seen = provider.web.seen();
    let authorized: Vec<_> = seen.iter().filter(|seen| seen.path() == "/authorize").collect();
    for seen in &authorized {
        assert!(seen.target.contains("code_challenge_method=S256"), "{}", seen.target);
        assert!(seen.target.contains("code_challenge=") && seen.target.contains("state="), "{}", seen.target);
    }
    let exchanged = seen.iter().filter(|seen| seen.path() == "/token" && seen.body.contains("code_verifier="));
    assert!(!authorized.is_empty() && exchanged.count() == authorized.len());
    let with_token: Vec<_> = seen.iter().filter(|seen| seen.everything().contains(CANARY)).collect();
    assert!(!with_token.is_empty() && with_token.iter().all(|seen| seen.path() == API), "{with_token:?}");
    assert!(provider.elsewhere.seen().is_empty(), "{:?}", provider.elsewhere.seen());
}

/// Checks that nothing the client received contains a token.
fn check_client(seen: &Seen) {
    let received = format!("{:?} {:?}", seen.called, seen.rounds);
    assert!(!received.contains(CANARY), "{received}");
}

#[test]
fn an_account_is_connected_once_in_both_eras() {
    let results = Era::ALL.map(|era| {
        let provider = Provider::start();
        let mut client = start(&provider, era, pages());
        let seen = through(&mut client, TOOL, &json!({}), connecting);
        assert_eq!((seen.called.good().as_str(), seen.asked().len()), (LISTED, 1), "{era:?}");
        let named = seen.asked()[0].get("elicitationId").is_some_and(|id| !id.as_str().unwrap().is_empty());
        assert_eq!(named, era == Era::Legacy, "{:?}", seen.asked());
        check_client(&seen);
        let again = through(&mut client, TOOL, &json!({}), connecting);
        assert_eq!((again.called.good().as_str(), again.asked().len()), (LISTED, 0), "{era:?}");
        check_client(&again);
        assert_eq!((provider.web.count("/token"), provider.web.count(API)), (1, 2));
        check_provider(&provider);
        check_secrecy(&client.server);
        seen.substance()
    });
    assert_eq!(results[0], results[1]);
}

#[test]
fn without_consent_the_provider_is_not_contacted() {
    let cases: [(super::Answer, &str); 2] = [
        (|_, _| json!({"action": "decline"}), "the user declined"),
        (|_, _| json!({"action": "cancel"}), "the user closed the question"),
    ];
    for era in Era::ALL {
        let provider = Provider::start();
        let mut client = start(&provider, era, pages());
        for (no, why) in cases {
            let seen = through(&mut client, TOOL, &json!({}), no);
            assert_eq!((seen.called.is_error(), seen.asked().len()), (true, 1), "{era:?}");
            let text = seen.called.text();
            assert!(text.contains(&format!("no access to GitHub: {why}, so nothing was read")), "{text}");
        }
        let mut unable = start(&provider, era, json!({"elicitation": {"form": {}}}));
        match era {
            Era::Modern => {
                let answer = unable.request("tools/call", json!({"name": TOOL, "arguments": {}}));
                assert_eq!(answer.error_code(), -32021);
                assert_eq!(answer.message["error"]["data"]["requiredCapabilities"], pages());
            }
            Era::Legacy => assert_eq!(unable.call(TOOL, json!({})).code(), "unsupported"),
        }
        // The provider's page was not fetched in advance.
        assert!(provider.web.seen().is_empty(), "{:?}", provider.web.seen());
    }
}

#[test]
fn an_account_belongs_to_one_user_and_consent_alone_does_not_connect_it() {
    let world = World::new(&plugin("limits.answer-timeout = \"2s\"\n"), "github");
    let call = |who| world.tool(who, TOOL, json!({}), None);
    let agreed = |who, state: &Value| {
        world.tool(who, TOOL, json!({}), Some((state, json!({"authorize": {"action": "accept"}}))))
    };
    let (page, state) = asked(&call(0), "authorize");
    assert_eq!((page.host_str(), page.port()), (Some("127.0.0.1"), Some(world.address.port())), "the host's own page");

    // Bob gets his own question, and cannot use alice's page.
    let (bobs, _) = asked(&call(1), "authorize");
    assert_ne!(page, bobs);
    let mut bob = Browser::default();
    bob.headers.push(("Authorization".into(), world.bearer(1)));
    assert_eq!(bob.open(&page).status, 403);
    assert_eq!(world.go_on(&mut bob, &page, 1).status, 403);
    bob.headers.clear();
    bob.open(&page);
    assert_eq!(world.go_on(&mut bob, &page, 1).status, 403, "his key is not hers");

    // Alice accepts before she has connected the account: she gets the same page again.
    let pending = agreed(0, &state);
    assert_eq!(pending.result()["resultType"], "input_required", "{}", pending.result());
    let (again, state) = asked(&pending, "authorize");
    assert_eq!(again, page);
    assert!(world.provider.web.seen().is_empty());
    world.browse(&mut Browser::default(), &page, 0);
    assert_eq!(agreed(0, &state).good(), LISTED);
    assert_eq!(call(0).good(), LISTED);

    // Alice's connection does not connect bob.
    let (bobs, state) = asked(&call(1), "authorize");
    assert_eq!(world.provider.web.count(API), 2);
    world.browse(&mut Browser::default(), &bobs, 1);
    assert_eq!(agreed(1, &state).good(), LISTED);
    assert_eq!((world.provider.web.count("/token"), world.provider.web.count(API)), (2, 3));
    check_provider(&world.provider);
    for key in &world.keys {
        assert!(!world.provider.web.seen().iter().any(|seen| seen.everything().contains(key)), "a client's key left");
    }
    world.check_secrecy();
}

/// Over HTTP the question is sent on the stream of its call. If the user accepts before the account is connected, the
/// call waits for the connection.
#[test]
fn a_legacy_call_asks_on_its_own_stream() {
    let world = World::new(&plugin(""), "github");
    for (who, yes_first) in [(0, false), (1, true)] {
        let bearer = world.bearer(who);
        let session = legacy_session_able(world.address, &pages(), "2025-11-25", &[("Authorization", &bearer)]);
        let post = |body: &Value| legacy(world.address, &session, "POST", &[], &body.to_string());
        let (call, sent) = (json!({"name": TOOL, "arguments": {}}), Instant::now());
        let mut stream = post(&json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call}));
        assert_eq!(stream.status, 200);
        let question = stream.message().unwrap();
        let (method, params) = (&question["method"], &question["params"]);
        assert_eq!((method, &params["mode"]), (&json!("elicitation/create"), &json!("url")), "{question}");
        let yes = || {
            let accepted = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}});
            assert_eq!(post(&accepted).status, 202);
        };
        let browse = || world.browse(&mut Browser::default(), &address(params), who);
        assert_eq!(world.provider.web.count(API), who, "nothing is sent before");
        if yes_first {
            yes();
            browse();
        } else {
            browse();
            yes();
        }
        let called = Called(stream.answer(7, sent));
        assert_eq!(called.good(), LISTED);
        assert!(!format!("{question} {called:?}").contains(CANARY));
    }
    check_provider(&world.provider);
    world.check_secrecy();
}
