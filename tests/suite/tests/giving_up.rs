//! Calls that are abandoned while they wait for an answer or compute after one: the guest ends, its questions are
//! withdrawn, and nothing is leaked.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use suite::http::{legacy, legacy_session_able};
use suite::{Called, Client, Era, Server, Watch, eventually, plugin};

const ENDLESS: &str = "limits.fuel = 1_000_000_000_000_000\nlimits.deadline = \"1h\"\n";
/// How long a guest may still compute after it was cancelled.
const LATE: Duration = Duration::from_millis(60);

/// A client of a server whose guest may ask questions; `settings` are further lines of the guest's table.
fn client(era: Era, settings: &str) -> Client {
    let config = plugin("ask", &format!("{}{settings}", suite::transcripts::script::GRANTS)) + &plugin("echo", "");
    let abilities = json!({"elicitation": {"form": {}, "url": {}}, "sampling": {"tools": {}}, "roots": {}});
    Client::able(Server::start(&config), era, false, abilities)
}

fn ada() -> Value {
    json!({"action": "accept", "content": {"name": "Ada"}})
}

/// The params of a retry that answers the only question of a round.
fn retry(arguments: &Value, round: &Value) -> Value {
    let key = round["inputRequests"].as_object().unwrap().keys().next().unwrap();
    json!({
        "name": "ask__run",
        "arguments": arguments,
        "requestState": round["requestState"],
        "inputResponses": {key.as_str(): ada()},
    })
}

fn effects(client: &Client) -> bool {
    client.server.home.work().join("effects").exists()
}

#[test]
fn cancelling_a_call_withdraws_its_question() {
    let mut client = client(Era::Legacy, "");
    let id = client.begin_call("ask__run", json!({"path": "confirm"}));
    let question = client.wait_for("elicitation/create");
    client.cancel(id);
    let withdrawn = client.wait_for("notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"], "{withdrawn}");
    // An answer that arrives after the cancel is ignored.
    let late = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"ok": true}}});
    client.server.send(&late);
    client.check_alive();
    assert!(!effects(&client) && !client.is_answered(id), "{}", client.server.log());
    client.server.wait_for_log("cancelled");
}

#[test]
fn cancelling_a_call_over_http_withdraws_its_question_before_the_stream_ends() {
    let config = plugin("ask", suite::transcripts::script::GRANTS);
    let (_server, address) = Server::start_http(&config);
    let session = legacy_session_able(address, &json!({"elicitation": {"form": {}}}), "2025-11-25", &[]);
    let call = json!({
        "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "ask__run", "arguments": {"path": "confirm"}},
    });
    let mut stream = legacy(address, &session, "POST", &[], &call.to_string());
    let question = stream.message().unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7, "reason": "late"}});
    assert_eq!(legacy(address, &session, "POST", &[], &cancel.to_string()).status, 202);
    let withdrawn = stream.message().unwrap();
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(withdrawn["params"], json!({"requestId": question["id"], "reason": "late"}));
    assert_eq!(stream.message(), None, "nothing comes after it");
}

#[test]
fn cancelling_a_call_withdraws_all_its_open_questions() {
    let mut client = client(Era::Legacy, "");
    let id = client.begin_call("ask__run", json!({"path": "many"}));
    let mut asked: Vec<_> = ["elicitation/create", "sampling/createMessage", "roots/list"]
        .map(|method| client.wait_for(method)["id"].as_u64().unwrap())
        .to_vec();
    // An answered question is not withdrawn.
    let answer = json!({"jsonrpc": "2.0", "id": asked.pop().unwrap(), "result": {"roots": []}});
    client.server.send(&answer);
    client.check_alive();
    client.cancel(id);
    let mut withdrawn = [(); 2].map(|()| client.wait_for("notifications/cancelled")["params"]["requestId"].as_u64());
    withdrawn.sort();
    asked.sort();
    assert_eq!(withdrawn.to_vec(), asked.into_iter().map(Some).collect::<Vec<_>>());
    client.check_alive();
}

#[test]
fn an_unanswered_question_is_withdrawn_at_its_timeout() {
    let mut client = client(Era::Legacy, "limits.answer-timeout = \"300ms\"\n");
    let sent = Instant::now();
    let id = client.begin_call("ask__run", json!({"path": "confirm"}));
    let question = client.wait_for("elicitation/create");
    let withdrawn = client.wait_for("notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    let called = Called(client.wait(id, sent));
    assert!(called.is_error() && called.text().contains("Timeout(300)"), "{}", called.result());
    assert!(!effects(&client));
}

#[test]
fn a_guest_that_spins_after_an_answer_can_be_cancelled() {
    let arguments = json!({"path": "spin"});
    for era in Era::ALL {
        let mut client = client(era, ENDLESS);
        client.check_alive();
        let id = match era {
            Era::Legacy => {
                client.answering = Some(|_, _| ada());
                let id = client.begin_call("ask__run", arguments.clone());
                client.wait_for("elicitation/create");
                id
            }
            Era::Modern => {
                let round = client.call("ask__run", arguments.clone()).result().clone();
                client.begin("tools/call", retry(&arguments, &round))
            }
        };
        Watch::until_busy(&client.server);
        let watch = Watch::start(&client.server);
        client.cancel(id);
        let late = watch.until_idle(&client.server);
        assert!(late < LATE, "{era:?}: the guest went on for {late:?}");
        client.check_alive();
    }
}

#[test]
fn the_server_exits_when_the_client_leaves_while_a_call_waits() {
    for era in Era::ALL {
        let mut client = client(era, "");
        let id = client.begin_call("ask__run", json!({"path": "confirm"}));
        match era {
            Era::Legacy => drop(client.wait_for("elicitation/create")),
            Era::Modern => drop(client.wait(id, Instant::now())),
        }
        let left = Instant::now();
        assert!(client.server.end().success(), "{era:?}: {}", client.server.log());
        assert!(left.elapsed() < Duration::from_secs(3), "{era:?}: it took {:?}", left.elapsed());
        assert!(!effects(&client));
    }
}

#[test]
fn a_parked_call_is_dropped_when_its_client_does_not_retry_in_time() {
    let mut client = client(Era::Modern, "limits.answer-timeout = \"300ms\"\n");
    let round = client.call("ask__run", json!({"path": "confirm"})).result().clone();
    assert_eq!(round["resultType"], "input_required");
    client.server.wait_for_log("dropped a parked call");
    assert!(!effects(&client));
    client.check_alive();
}

#[test]
fn abandoned_calls_do_not_leak_memory() {
    for era in Era::ALL {
        let mut client = match era {
            Era::Legacy => client(era, ""),
            // Parked modern calls hold no request open; newer ones evict them.
            Era::Modern => client(era, "\n[server]\nparked = { per-principal = 4 }\n"),
        };
        client.check_alive();
        let round = |client: &mut Client| {
            let ids: Vec<_> = (0..64).map(|_| client.begin_call("ask__run", json!({"path": "confirm"}))).collect();
            if era == Era::Legacy {
                // The calls ask in any order, and one that has not asked has nothing to withdraw.
                ids.iter().for_each(|_| drop(client.wait_for("elicitation/create")));
            }
            for id in ids {
                match era {
                    Era::Legacy => {
                        client.cancel(id);
                        client.wait_for("notifications/cancelled");
                    }
                    Era::Modern => drop(client.wait(id, Instant::now())),
                }
            }
            client.check_alive();
            client.server.memory()
        };
        let baseline = round(&mut client);
        round(&mut client);
        // Memory is released shortly after the calls end.
        let allowed = baseline + (8 << 20);
        let settled = eventually(suite::PATIENCE, || {
            let after = round(&mut client);
            (after <= allowed).then_some(())
        });
        assert!(settled.is_some(), "{era:?}: memory grew from {} MiB on and on", baseline >> 20);
        assert!(!effects(&client));
    }
}

#[test]
fn progress_uses_the_token_of_the_open_request() {
    let arguments = json!({"path": "chunks"});
    for era in Era::ALL {
        let mut client = client(era, "");
        client.progress = true;
        client.answering = Some(|_, _| ada());
        let first = client.call("ask__run", arguments.clone());
        let told = |called: &Called| -> Vec<(u64, f64, String)> {
            let reports = called.progress().into_iter();
            let report = |report: &Value| {
                let (token, done) = (report["progressToken"].as_u64(), report["progress"].as_f64());
                (token.unwrap(), done.unwrap(), report["message"].as_str().unwrap_or_default().to_owned())
            };
            reports.map(report).collect()
        };
        let mut reports = told(&first);
        if era == Era::Modern {
            assert_eq!(reports.len(), 1, "{reports:?}");
            let second = Called(client.request("tools/call", retry(&arguments, first.result())));
            assert_eq!(second.good(), r#"{"name":"Ada"}"#);
            reports.extend(told(&second));
        } else {
            assert_eq!(first.good(), r#"{"name":"Ada"}"#);
        }
        assert_eq!(reports.iter().map(|report| report.2.as_str()).collect::<Vec<_>>(), ["before", "after"], "{era:?}");
        assert_eq!(reports[0].0 == reports[1].0, era == Era::Legacy, "each request has its own token: {reports:?}");
        assert!(reports[0].1 < reports[1].1, "{era:?}: progress must grow: {reports:?}");
    }
}
