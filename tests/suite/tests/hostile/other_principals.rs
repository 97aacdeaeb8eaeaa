//! Access to another principal's states, sessions, calls and resources is answered as if they did not exist.

use super::fixture::{Fixture, Who, outcome};
use super::{BOTH, Row};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use std::collections::HashSet;
use suite::http::{legacy, legacy_session_of, request};

/// Parks a call of Alice's; returns its params and its state.
fn parked(fixture: &Fixture) -> (Value, String) {
    parked_by(fixture, "ask__run")
}

/// Parks a call with a short timeout, for tests that never resume it.
fn abandoned(fixture: &Fixture) -> (Value, String) {
    parked_by(fixture, "ask-briefly__run")
}

fn parked_by(fixture: &Fixture, tool: &str) -> (Value, String) {
    let params = json!({"name": tool, "arguments": {"path": "form"}});
    let message = fixture.ask_able(Who::Alice, "tools/call", params.clone(), &able());
    let state = message["result"]["requestState"].as_str().unwrap_or_else(|| panic!("{message}"));
    (params, state.to_owned())
}

fn able() -> Value {
    json!({"elicitation": {"form": {}}})
}

/// Resumes a call with this state; returns the outcome.
fn back(fixture: &Fixture, who: Who, mut params: Value, state: &str) -> String {
    params["requestState"] = state.into();
    params["inputResponses"] = json!({"user_name": {"action": "accept", "content": {"name": "Ada"}}});
    outcome(&fixture.ask_able(who, "tools/call", params, &able()))
}

/// Resumes a call with changed params, then with the right ones, which must still work.
fn moved(fixture: &Fixture, who: Who, change: fn(&mut Value)) -> String {
    let (params, state) = parked(fixture);
    let mut wrong = params.clone();
    change(&mut wrong);
    let seen = back(fixture, who, wrong, &state);
    format!("{seen}, then {}", back(fixture, Who::Alice, params, &state))
}

const GOOD: &str = r#"ok: {"name":"Ada"}"#;

/// Flips every bit of a state, one per request.
fn flipped(fixture: &Fixture) -> String {
    let (params, state) = parked(fixture);
    let sealed = URL_SAFE_NO_PAD.decode(&state).unwrap();
    let bits = sealed.len() * 8;
    let mut opened = vec![];
    std::thread::scope(|scope| {
        let half = |start: usize| {
            let (params, sealed) = (&params, &sealed);
            move || {
                let flip = |bit: usize| {
                    let mut forged = sealed.clone();
                    forged[bit / 8] ^= 1 << (bit % 8);
                    back(fixture, Who::Alice, params.clone(), &URL_SAFE_NO_PAD.encode(forged))
                };
                (start..bits).step_by(2).map(flip).filter(|seen| seen != "-32602").collect::<Vec<_>>()
            }
        };
        let halves = [scope.spawn(half(0)), scope.spawn(half(1))];
        opened = halves.into_iter().flat_map(|half| half.join().unwrap()).collect();
    });
    let last = back(fixture, Who::Alice, params, &state);
    match opened.is_empty() && bits >= 500 && last == GOOD {
        true => "each refused, the right one works".to_owned(),
        false => format!("{opened:?} of {bits}, then {last}"),
    }
}

/// Opens a session in protocol version 2025-11-25.
fn session(fixture: &Fixture, who: Who) -> Vec<(String, String)> {
    legacy_session_of(fixture.address, false, "2025-11-25", &[("Authorization", &fixture.bearer(who))])
}

/// The answers to every method in the session with this id.
fn in_session(fixture: &Fixture, who: Who, id: &str) -> Vec<(u16, String)> {
    let bearer = fixture.bearer(who);
    let headers = [("Authorization", &*bearer), ("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", id)];
    let ping = json!({"jsonrpc": "2.0", "id": 5, "method": "ping"}).to_string();
    let asked = [("POST", &*ping), ("GET", ""), ("DELETE", "")];
    let answers = asked.map(|(method, body)| {
        let mut response = request(fixture.address, method, &headers, body);
        (response.status, response.text())
    });
    answers.into()
}

/// Checks that a foreign id is answered exactly like an unknown one.
fn alike<T: PartialEq + std::fmt::Debug>(foreign: T, unknown: T) -> String {
    if foreign == unknown { "as if it never was".to_owned() } else { format!("{foreign:?} and {unknown:?}") }
}

pub(super) const ROWS: &[Row] = &[
    Row {
        id: "M4.1",
        what: "a state with any one bit flipped",
        outcome: "each refused, the right one works",
        run: flipped,
    },
    Row {
        id: "M4.2",
        what: "a state that was made up",
        outcome: "-32602",
        run: |g| back(g, Who::Alice, abandoned(g).0, &"AAAA".repeat(24)),
    },
    Row {
        id: "M4.3",
        what: "no state worth the name",
        outcome: "-32602",
        run: |g| back(g, Who::Alice, abandoned(g).0, ""),
    },
    Row {
        id: "M4.4",
        what: "a state used twice",
        outcome: "-32602",
        run: |g| {
            let (params, state) = parked(g);
            back(g, Who::Alice, params.clone(), &state);
            back(g, Who::Alice, params, &state)
        },
    },
    Row {
        id: "M4.5",
        what: "a state moved to somebody else",
        outcome: "-32602, then ok: {\"name\":\"Ada\"}",
        run: |g| moved(g, Who::Bob, |_| {}),
    },
    Row {
        id: "M4.6",
        what: "a state moved to other arguments",
        outcome: "-32602, then ok: {\"name\":\"Ada\"}",
        run: |g| moved(g, Who::Alice, |params| params["arguments"]["path"] = "rounds".into()),
    },
    Row {
        id: "M4.7",
        what: "a state moved to another tool",
        outcome: "-32602, then ok: {\"name\":\"Ada\"}",
        run: |g| moved(g, Who::Alice, |params| params["name"] = "echo__run".into()),
    },
    Row {
        id: "M4.8",
        what: "a state cut short, and one made longer",
        outcome: "-32602, -32602",
        run: |g| {
            let (params, state) = abandoned(g);
            let short = back(g, Who::Alice, params.clone(), &state[..state.len() - 4]);
            format!("{short}, {}", back(g, Who::Alice, params, &(state + "AAAA")))
        },
    },
    Row {
        id: "M3.1",
        what: "somebody else's session",
        outcome: "as if it never was",
        run: |g| {
            let session = session(g, Who::Alice);
            let id = &session.iter().find(|(name, _)| name == "Mcp-Session-Id").unwrap().1;
            let seen = alike(in_session(g, Who::Bob, id), in_session(g, Who::Bob, "AAAAAAAAAAAAAAAAAAAAAA"));
            let own = legacy(g.address, &session, "DELETE", &[], "").status;
            if own == 204 { seen } else { format!("{seen}, and its owner got {own}") }
        },
    },
    Row {
        id: "M3.2",
        what: "somebody else's running call, steered",
        outcome: "as if it never was",
        run: |g| {
            let running = g.hang("patient");
            suite::Watch::until_busy(&g.server());
            let steer = |call: &str| g.ask(Who::Bob, "dev.portcullis/steer", json!({"call": call, "message": "stop"}));
            let seen = alike(steer("1"), steer("999"));
            drop(running);
            g.until_idle();
            seen
        },
    },
    Row {
        id: "M3.3",
        what: "what somebody else's call has published",
        outcome: "as if it never was",
        run: |g| {
            g.run("publish-all", json!({}));
            let list = |who| g.ask(who, "resources/list", json!({}))["result"]["resources"].to_string();
            let uri = list(Who::Alice).split('"').find(|text| text.ends_with("report/today.txt")).unwrap().to_owned();
            let read =
                |who, uri: &str| g.ask(who, "resources/read", json!({"uri": uri})).to_string().replace(uri, "URI");
            assert!(read(Who::Alice, &uri).contains("one"));
            assert!(!list(Who::Bob).contains("report/today.txt"));
            alike(read(Who::Bob, &uri), read(Who::Bob, &uri.replace("today", "never")))
        },
    },
    Row {
        id: "M3.4",
        what: "140 names of sessions and states, guessed from each other",
        outcome: "no two alike in 8 bytes",
        run: |g| {
            let mut seen = HashSet::new();
            let states = (0..120).map(|_| URL_SAFE_NO_PAD.decode(abandoned(g).1).unwrap());
            let ids = (0..10).flat_map(|_| BOTH).map(|who| {
                let session = session(g, who);
                legacy(g.address, &session, "DELETE", &[], "");
                session.iter().find(|(name, _)| name == "Mcp-Session-Id").unwrap().1.clone().into_bytes()
            });
            for name in states.chain(ids) {
                for part in name.chunks_exact(8) {
                    if !seen.insert(part.to_vec()) {
                        return format!("{part:?} twice");
                    }
                }
            }
            "no two alike in 8 bytes".to_owned()
        },
    },
    Row {
        id: "M3.5",
        what: "20 clients at once, each with words of its own",
        outcome: "each got its own",
        run: |g| {
            let mixed: Vec<_> = std::thread::scope(|scope| {
                let one = |person: u64| {
                    move || {
                        let who = BOTH[(person % 2) as usize];
                        let own = |round: u64| {
                            let words = format!("canary {person} {round}");
                            let params = json!({"name": "echo__run", "arguments": {"n": round, "path": words}});
                            let answer = g.ask(who, "tools/call", params)["result"]["structuredContent"].clone();
                            (answer != json!({"n": round, "path": words})).then_some(answer)
                        };
                        (0..10).filter_map(own).collect::<Vec<_>>()
                    }
                };
                let calls: Vec<_> = (0..20).map(|n| scope.spawn(one(n))).collect();
                calls.into_iter().flat_map(|call| call.join().unwrap()).collect()
            });
            if mixed.is_empty() { "each got its own".to_owned() } else { format!("{mixed:?}") }
        },
    },
];
