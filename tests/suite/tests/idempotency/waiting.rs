//! Calls that ask something, and calls that become tasks.

use super::{CALL, TASKS, buy, call, code, config, is_repeated, orders, send, shop, unmarked};
use serde_json::{Value, json};
use suite::{Answer, Called, Client, Era, PATIENCE, Server, eventually};

fn able(config: &str, tasks: bool) -> Client {
    let mut abilities = json!({"elicitation": {"form": {}}});
    if tasks {
        abilities["extensions"] = json!({TASKS: {}});
    }
    Client::able(Server::start(config), Era::Modern, false, abilities)
}

/// The request that answers what was asked.
fn retry(params: &Value, asked: &Answer) -> Value {
    let mut retry = params.clone();
    retry["requestState"] = asked.result()["requestState"].clone();
    retry["inputResponses"] = json!({"ok": {"action": "accept", "content": {"ok": true}}});
    retry
}

#[test]
fn a_parked_question_is_repeated_and_its_answer_runs_once() {
    let mut client = able(&config(""), false);
    let params = buy("k", "ask");
    let asked = send(&mut client, &params);
    assert_eq!(asked.result()["resultType"], "input_required", "{}", asked.message);
    for restart in [false, true] {
        if restart {
            client.server.restart_stdio();
        }
        let again = send(&mut client, &params);
        assert!(is_repeated(&again));
        assert_eq!(unmarked(&again), *asked.result(), "the same question and the same state");
    }
    // Nobody resumes it as another call, and neither without its key.
    let mut without = retry(&params, &asked);
    without["_meta"] = json!({});
    assert_eq!(send(&mut client, &without).error_code(), -32602);
    let answered = send(&mut client, &retry(&params, &asked));
    assert!(!is_repeated(&answered));
    assert_eq!(Called(answered).good(), "order 1 under k");
    for again in [&params, &retry(&params, &asked)] {
        let again = send(&mut client, again);
        assert!(is_repeated(&again));
        assert_eq!(again.result()["content"][0]["text"], "order 1 under k", "also a retry whose answer was lost");
    }
    assert_eq!(orders(&client.server.home), 1);
}

#[test]
fn a_plain_client_that_is_asked_returns_under_its_argument() {
    let mut client = able(&shop("", "idempotency = { buy = \"order_id\" }"), false);
    let params = json!({"name": "order__buy", "arguments": {"how": "ask", "order_id": 3}});
    let asked = send(&mut client, &params);
    assert_eq!(unmarked(&send(&mut client, &params)), *asked.result());
    assert_eq!(Called(send(&mut client, &retry(&params, &asked))).good(), "order 1 under 3");
    assert!(is_repeated(&send(&mut client, &params)));
    assert_eq!(orders(&client.server.home), 1);
}

#[test]
fn a_call_that_nobody_answered_in_time_says_so() {
    let mut client = able(&shop("", "limits.answer-timeout = \"1s\""), false);
    let params = buy("k", "ask");
    let asked = send(&mut client, &params);
    let given_up = eventually(PATIENCE, || {
        let again = send(&mut client, &params);
        (again.result()["resultType"] != "input_required").then_some(again)
    });
    assert_eq!(code(&given_up.unwrap()), "cancelled");
    // A retry that comes too late changes the answer of no later one.
    assert_eq!(send(&mut client, &retry(&params, &asked)).error_code(), -32602);
    assert_eq!(code(&send(&mut client, &params)), "cancelled");
    assert_eq!(orders(&client.server.home), 0);
}

#[test]
fn a_question_on_the_stream_is_asked_once() {
    let abilities = json!({"elicitation": {"form": {}}});
    let mut client = Client::able(Server::start(&config("")), Era::Legacy, false, abilities);
    client.answering = Some(|_, _| json!({"action": "accept", "content": {"ok": true}}));
    let [one, other] = super::both(&mut client, &buy("k", "ask"));
    assert_eq!(unmarked(&one), unmarked(&other));
    assert_eq!(orders(&client.server.home), 1);
}

fn tasks(further: &str) -> String {
    shop(&format!("{further}\n[server.tasks]\ninline = \"50ms\""), "")
}

#[test]
fn the_answer_to_a_repeated_task_is_the_task() {
    let mut client = able(&tasks(""), true);
    for (tool, key) in [("order__only", "k"), ("order__buy", "l")] {
        let params = call(tool, key, json!({"how": "wait 600"}));
        let created = send(&mut client, &params);
        assert_eq!(created.result()["resultType"], "task", "{}", created.message);
        let task = created.result()["taskId"].clone();
        let again = send(&mut client, &params);
        assert!(is_repeated(&again));
        assert_eq!(
            (&again.result()["taskId"], &again.result()["_meta"][CALL]),
            (&task, &created.result()["_meta"][CALL])
        );
        eventually(PATIENCE, || {
            let got = client.request("tasks/get", json!({"taskId": task}));
            (got.result()["status"] == "completed").then_some(())
        })
        .unwrap();
        let ended = send(&mut client, &params);
        assert_eq!((&ended.result()["taskId"], &ended.result()["status"]), (&task, &json!("completed")));
        client.server.restart_stdio();
        assert_eq!(send(&mut client, &params).result()["taskId"], task, "also in another process");
    }
    assert_eq!(orders(&client.server.home), 2);
    // One that cannot follow tasks gets the result.
    client.abilities = json!({});
    let result = send(&mut client, &call("order__only", "k", json!({"how": "wait 600"})));
    assert!(is_repeated(&result) && result.result()["content"][0]["text"] == "order 1 under k", "{}", result.message);
    assert_eq!(send(&mut client, &call("order__only", "n", json!({}))).error_code(), -32021, "and begins none");
    client.abilities = json!({"extensions": {TASKS: {}}});
    let begun = send(&mut client, &call("order__only", "n", json!({})));
    assert!(!is_repeated(&begun), "no key was left behind");
}

#[test]
fn a_link_is_repeated_as_a_link() {
    let mut client = able(&tasks("fallback-tools = true"), false);
    let params = buy("k", "wait 400");
    let link = |answer: &Answer| answer.result()["_meta"]["dev.portcullis/task"].clone();
    let first = send(&mut client, &params);
    assert!(link(&first).is_string(), "{}", first.message);
    let again = send(&mut client, &params);
    assert!(is_repeated(&again) && link(&again) == link(&first));
    assert_eq!(orders(&client.server.home), 1);
}

#[test]
fn a_task_that_was_removed_is_not_run_again() {
    let config = shop("[server.tasks]\ninline = \"50ms\"\nkeep = \"0s\"", "");
    let mut client = able(&config, true);
    let params = buy("k", "wait 200");
    assert_eq!(send(&mut client, &params).result()["resultType"], "task");
    let gone = eventually(PATIENCE, || {
        let again = send(&mut client, &params);
        (again.result()["resultType"] != "task").then_some(again)
    });
    assert_eq!(code(&gone.unwrap()), "result-not-kept");
    assert_eq!(orders(&client.server.home), 1);
}
