//! Abuse of live channels, of answers on them, and of messages to running calls.

use super::Case;
use super::fixture::{Fixture, Who, declaring, good, one, tool};
use serde_json::{Value, json};
use suite::http::Response;
use suite::{PATIENCE, eventually};

const LISTEN: &str = "dev.portcullis/reverse/listen";
const RESPOND: &str = "dev.portcullis/reverse/respond";
const STEER: &str = "dev.portcullis/steer";
const NAME: &str = "3v6Jx0WmAAAAAAAAAAAAAAA_-";

/// Opens the channel; returns it with the server's first message.
fn listen(fixture: &Fixture, who: Who) -> (Response, Value) {
    let mut stream = fixture.open(who, LISTEN, json!({"channel": NAME}), &json!({}));
    let first = stream.message().unwrap_or_default();
    (stream, first)
}

/// Waits until the channel is free and opens it.
fn open(fixture: &Fixture, who: Who) -> Response {
    let opened = eventually(PATIENCE, || {
        let (stream, first) = listen(fixture, who);
        first["method"].is_string().then_some(stream)
    });
    opened.unwrap_or_else(|| panic!("the channel of {who:?} is never free\n{}", fixture.server().log()))
}

/// Asserts that the channel can be opened, so nobody holds it.
pub(super) fn opens(fixture: &Fixture, who: Who) {
    drop(open(fixture, who));
}

/// The declaration of a client with one tool that is only reachable over a channel.
fn on_channel() -> Value {
    declaring(&[tool("tools.get")], json!({"lanes": ["live"], "channel": NAME}))
}

fn code(message: &Value) -> String {
    match message["error"]["code"].as_i64() {
        Some(code) => code.to_string(),
        None => "ok".to_owned(),
    }
}

/// Answers a call as the given user.
fn respond(fixture: &Fixture, who: Who, id: &str, field: (&str, Value)) -> String {
    let mut params = json!({"channel": NAME, "callId": id});
    params[field.0] = field.1;
    code(&fixture.ask(who, RESPOND, params, &json!({})))
}

/// Makes a call over Alice's channel and lets `abuse` answer it by its id; returns what `abuse` returned and the call's
/// outcome.
fn over_channel(fixture: &Fixture, script: Value, abuse: impl FnOnce(&mut Option<Response>, &str) -> String) -> String {
    let mut stream = Some(open(fixture, Who::Alice));
    std::thread::scope(|scope| {
        let call = scope.spawn(|| fixture.run("calls", script, &on_channel()).outcome());
        let message = stream.as_mut().unwrap().message().unwrap_or_default();
        let id = message["params"]["callId"].as_str().unwrap_or_default().to_owned();
        let said = abuse(&mut stream, &id);
        format!("{said}, then {}", call.join().unwrap())
    })
}

fn result() -> (&'static str, Value) {
    ("result", good())
}

/// Starts a call of Alice's that accepts steering messages; returns its stream and its id.
fn steered(fixture: &Fixture) -> (Response, String) {
    let capabilities = json!({"extensions": {"dev.portcullis/partial-results": {}}});
    let mut stream =
        fixture.open(Who::Alice, "tools/call", json!({"name": "steered__run", "arguments": {}}), &capabilities);
    let ready = stream.message().unwrap_or_default();
    let id =
        ready["params"]["_meta"]["dev.portcullis/call"].as_str().unwrap_or_else(|| panic!("no id: {ready}")).to_owned();
    (stream, id)
}

fn steer(fixture: &Fixture, who: Who, call: &str, message: &str) -> String {
    code(&fixture.ask(who, STEER, json!({"call": call, "message": message}), &json!({})))
}

pub(super) const CASES: &[Case] = &[
    Case {
        what: "a channel that is open already",
        outcome: "-32602",
        run: |fixture| {
            let _stream = open(fixture, Who::Alice);
            code(&listen(fixture, Who::Alice).1)
        },
    },
    Case {
        what: "a channel whose name can be guessed",
        outcome: "-32602",
        run: |fixture| {
            let mut stream = fixture.open(Who::Alice, LISTEN, json!({"channel": "mine"}), &json!({}));
            code(&stream.message().unwrap())
        },
    },
    Case {
        what: "a call over somebody else's channel",
        outcome: "not-supported",
        run: |fixture| {
            let _his = open(fixture, Who::Bob);
            fixture.run("calls", one("tools.get"), &on_channel()).outcome()
        },
    },
    Case {
        what: "a channel that nobody opened",
        outcome: "not-supported",
        run: |fixture| fixture.run("calls", one("tools.get"), &on_channel()).outcome(),
    },
    Case {
        what: "an answer twice",
        outcome: "ok -32602, then ok",
        run: |fixture| {
            over_channel(fixture, one("tools.get"), |_, id| {
                let first = respond(fixture, Who::Alice, id, result());
                format!("{first} {}", respond(fixture, Who::Alice, id, result()))
            })
        },
    },
    Case {
        what: "an answer to a call that nobody made",
        outcome: "-32602 ok, then ok",
        run: |fixture| {
            over_channel(fixture, one("tools.get"), |_, id| {
                let wrong = respond(fixture, Who::Alice, "AAAAAAAAAAAAAAAAAAAAAA", result());
                format!("{wrong} {}", respond(fixture, Who::Alice, id, result()))
            })
        },
    },
    Case {
        what: "an answer by somebody else",
        outcome: "-32602 ok, then ok",
        run: |fixture| {
            over_channel(fixture, one("tools.get"), |_, id| {
                let wrong = respond(fixture, Who::Bob, id, result());
                format!("{wrong} {}", respond(fixture, Who::Alice, id, result()))
            })
        },
    },
    Case {
        what: "a result of the wrong shape",
        outcome: "ok, then failed",
        run: |fixture| {
            over_channel(fixture, one("tools.get"), |_, id| {
                respond(fixture, Who::Alice, id, ("result", json!({"content": 7})))
            })
        },
    },
    Case {
        what: "neither a result nor an error",
        outcome: "-32602 ok, then declined",
        run: |fixture| {
            over_channel(fixture, one("tools.get"), |_, id| {
                let wrong = respond(fixture, Who::Alice, id, ("outcome", json!({})));
                format!(
                    "{wrong} {}",
                    respond(fixture, Who::Alice, id, ("error", json!({"code": "declined", "message": "no"})))
                )
            })
        },
    },
    Case {
        what: "an answer that comes too late",
        outcome: "withdrawn -32602, then timeout",
        run: |fixture| {
            let script = json!([{"call": {"name": "tools.get", "timeoutMs": 100}}]);
            over_channel(fixture, script, |stream, id| {
                let withdrawn = stream.as_mut().unwrap().message().unwrap();
                let right = withdrawn["method"] == "notifications/dev.portcullis/reverse_cancelled"
                    && withdrawn["params"]["callId"] == id;
                let word = if right { "withdrawn".to_owned() } else { withdrawn.to_string() };
                format!("{word} {}", respond(fixture, Who::Alice, id, result()))
            })
        },
    },
    Case {
        what: "the channel breaks while a call waits on it",
        outcome: "gone, then not-supported",
        run: |fixture| {
            over_channel(fixture, one("tools.get"), |stream, _| {
                drop(stream.take());
                "gone".to_owned()
            })
        },
    },
    Case {
        what: "somebody else's call is steered",
        outcome: "-32602, then ok",
        run: |fixture| {
            let (stream, call) = steered(fixture);
            let wrong = steer(fixture, Who::Bob, &call, "stop");
            let right = steer(fixture, Who::Alice, &call, "stop");
            stream.answer(1, std::time::Instant::now());
            format!("{wrong}, then {right}")
        },
    },
    Case {
        what: "a message of 5 KB, and an empty one",
        outcome: "-32602 -32602, then ok",
        run: |fixture| {
            let (stream, call) = steered(fixture);
            let wrong = [&*"x".repeat(5_000), ""].map(|message| steer(fixture, Who::Alice, &call, message)).join(" ");
            let right = steer(fixture, Who::Alice, &call, "stop");
            stream.answer(1, std::time::Instant::now());
            format!("{wrong}, then {right}")
        },
    },
    Case {
        what: "a parked call that reads no messages is flooded with them",
        outcome: "100 -32602, then ok",
        run: |fixture| {
            let round = fixture.run("calls", one("tools.get"), &super::decent());
            let refused = (0..100)
                .filter(|_| code(&fixture.ask(Who::Alice, STEER, json!({"message": "again"}), &json!({}))) == "-32602");
            let refused = refused.count();
            format!("{refused} -32602, then {}", round.answer(good()).outcome())
        },
    },
];
