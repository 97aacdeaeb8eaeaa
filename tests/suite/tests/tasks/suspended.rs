//! Tasks whose call waits and that are suspended: nobody serves them until they are asked something, or their time has come.

use super::{Started, abilities, answers, get, start, started, steer, wait_for, wait_for_status};
use serde_json::{Value, json};
use suite::{Client, Era, PATIENCE, Server, eventually, plugin, portcullis};

/// No call may wait with its instance, so that each is suspended at once.
const NO_ROOM: &str = "[server]\nparked = { calls = 0, per-principal = 0 }\n";
const JOB: &str = "grants.client = { form = true, roots = true }\nlimits.deadline = \"10m\"\n";

fn config(tasks: &str, job: &str) -> String {
    format!("{NO_ROOM}\n[server.tasks]\ninline = \"50ms\"\n{tasks}\n\n") + &plugin("job", &format!("{JOB}{job}"))
}

fn client(config: &str) -> Client {
    Client::able(Server::start(config), Era::Modern, false, abilities())
}

fn is_suspended(client: &Client, task: &str) -> bool {
    let shown = portcullis(&client.server.home, &["task", "show", task, "--json"]).good().to_owned();
    serde_json::from_str::<Value>(&shown).unwrap()["suspended"] == true
}

fn wait_until_suspended(client: &Client, task: &str) {
    eventually(PATIENCE, || is_suspended(client, task).then_some(())).expect("it is suspended");
}

fn update(client: &mut Client, task: &str, responses: Value) {
    client.request("tasks/update", json!({"taskId": task, "inputResponses": responses})).result();
}

fn document(client: &mut Client, task: &str) -> Value {
    let read = client.request("resources/read", json!({"uri": format!("portcullis://tasks/{task}")}));
    serde_json::from_str(read.result()["contents"][0]["text"].as_str().unwrap()).unwrap()
}

#[test]
fn a_task_that_waits_is_suspended_and_goes_on_when_it_is_answered() {
    let mut client = client(&config("", ""));
    let task = start(&mut client, "one");
    steer(&mut client, &task, "chunk before");
    steer(&mut client, &task, "ask");
    let asked = wait_for_status(&mut client, &task.task, "input_required");
    wait_until_suspended(&client, &task.task);
    assert_eq!(document(&mut client, &task.task)["output"]["chunks"][0]["content"][0]["text"], "before");
    // Its call does not run, and is found all the same.
    steer(&mut client, &task, "chunk after");
    update(&mut client, &task.task, answers(&[("second", "Bo")]));
    let left = get(&mut client, &task.task);
    assert!(
        left["inputRequests"].as_object().unwrap().keys().eq(["first"]),
        "what was answered is seen at once: {left}"
    );
    assert_eq!(left["inputRequests"]["first"], asked["inputRequests"]["first"], "the same question");
    wait_until_suspended(&client, &task.task);
    update(&mut client, &task.task, answers(&[("first", "Al"), ("second", "Too late")]));
    wait_for(&mut client, &task.task, |task| task["statusMessage"] == "after");
    steer(&mut client, &task, "stop");
    let ended = wait_for_status(&mut client, &task.task, "completed");
    assert_eq!(ended["result"]["content"][0]["text"], r#"said: one, {"name":"Al"}, {"name":"Bo"}"#, "{ended}");
    assert_eq!(ended["result"]["_meta"]["dev.portcullis/usage"]["chunks"], 2, "{ended}");
    let chunks = document(&mut client, &task.task)["output"]["chunks"].as_array().unwrap().len();
    assert_eq!(chunks, 2, "each is there once");
}

#[test]
fn what_waits_stays_suspended_over_a_restart() {
    let mut client = client(&config("", ""));
    let task = start(&mut client, "ask");
    wait_until_suspended(&client, &task.task);
    for _ in 0..2 {
        client.server.restart_stdio();
        assert_eq!(get(&mut client, &task.task)["status"], "input_required");
        assert!(is_suspended(&client, &task.task));
    }
    update(&mut client, &task.task, answers(&[("first", "Al"), ("second", "Bo")]));
    steer(&mut client, &task, "stop");
    let ended = wait_for_status(&mut client, &task.task, "completed");
    assert_eq!(ended["result"]["content"][0]["text"], r#"said: {"name":"Al"}, {"name":"Bo"}"#, "{ended}");
}

/// The client is asked, and the operator, while no server runs.
#[test]
fn it_is_cancelled_by_whoever_may() {
    let mut client = client(&config("", ""));
    let tasks: Vec<_> = (0..2).map(|_| start(&mut client, "ask").task).collect();
    tasks.iter().for_each(|task| wait_until_suspended(&client, task));
    client.request("tasks/cancel", json!({"taskId": tasks[0]})).result();
    wait_for_status(&mut client, &tasks[0], "cancelled");
    client.server.kill();
    portcullis(&client.server.home, &["task", "cancel", &tasks[1]]).good();
    client.server.restart_stdio();
    wait_for_status(&mut client, &tasks[1], "cancelled");
}

#[test]
fn its_questions_are_given_up_in_time_and_so_is_the_task() {
    let mut client = client(&config("", "limits.answer-timeout = \"2s\""));
    let task = start(&mut client, "ask");
    wait_until_suspended(&client, &task.task);
    let ended = wait_for_status(&mut client, &task.task, "completed");
    assert!(
        ended["result"]["content"][0]["text"].as_str().unwrap().contains("Timeout"),
        "its guest learns it: {ended}"
    );
    let mut client = self::client(&config("run = \"2s\"", ""));
    let task = start(&mut client, "ask");
    let ended = wait_for_status(&mut client, &task.task, "failed");
    assert!(ended["error"]["message"].as_str().unwrap().contains("server.tasks.run"), "{ended}");
}

/// The question goes on waiting where it was; it does not begin to wait anew with each run.
#[test]
fn a_partial_answer_does_not_make_the_rest_wait_longer() {
    let mut client = client(&config("", "limits.answer-timeout = \"4s\""));
    let began = std::time::Instant::now();
    let task = start(&mut client, "ask");
    wait_until_suspended(&client, &task.task);
    let passes_half = || (began.elapsed() > std::time::Duration::from_secs(3)).then_some(());
    eventually(PATIENCE, passes_half).unwrap();
    update(&mut client, &task.task, answers(&[("first", "Al")]));
    wait_for(&mut client, &task.task, |task| task["status"] != "input_required");
    assert!(began.elapsed() < std::time::Duration::from_secs(7), "{:?}", began.elapsed());
}

#[test]
fn any_process_over_the_folder_goes_on_with_it() {
    let config = config("", "");
    let mut first = client(&config);
    let task = start(&mut first, "ask");
    wait_until_suspended(&first, &task.task);
    let state = first.server.home.path().join("state");
    let second = Server::spawn(suite::Home::new(), &config, &[], |command| {
        command.env("PORTCULLIS_STATE", &state);
    });
    second.wait_until_loaded();
    let mut second = Client::able(second, Era::Modern, false, abilities());
    update(&mut second, &task.task, answers(&[("first", "Al")]));
    wait_until_suspended(&first, &task.task);
    update(&mut first, &task.task, answers(&[("second", "Bo")]));
    steer(&mut first, &task, "stop");
    let ended = wait_for_status(&mut second, &task.task, "completed");
    assert_eq!(ended["result"]["content"][0]["text"], r#"said: {"name":"Al"}, {"name":"Bo"}"#, "{ended}");
}

#[test]
fn a_task_without_fuel_for_which_there_is_no_room_is_suspended() {
    let mut client = client(&config("", "limits.fuel = 20_000_000"));
    let task = start(&mut client, "compute-and-end 10000000");
    wait_until_suspended(&client, &task.task);
    let paused = get(&mut client, &task.task);
    assert!(paused["statusMessage"].as_str().unwrap().starts_with("Paused: all 20000000 "), "{paused}");
    portcullis(&client.server.home, &["task", "top-up", &task.task, "--fuel", "1000000000"]).good();
    let ended = wait_for_status(&mut client, &task.task, "completed");
    let fuel = ended["_meta"]["dev.portcullis/usage"]["fuel"].as_u64().unwrap();
    assert!(fuel > 20_000_000 && fuel < 1_000_000_000, "{ended}");
}

/// Whoever repeats a request finds its task, suspended or not.
#[test]
fn an_idempotency_key_leads_to_it() {
    let mut client = client(&config("", ""));
    let call =
        json!({"name": "job__only", "arguments": {"path": "ask"}, "_meta": {"dev.portcullis/idempotencyKey": "k"}});
    let one = started(&client.request("tools/call", call.clone()));
    wait_until_suspended(&client, &one.task);
    let again = client.request("tools/call", call);
    assert_eq!(again.result()["taskId"], one.task.as_str(), "{}", again.result());
}

fn tell(client: &mut Client, task: &Started, message: Value) -> Value {
    let mut params = message;
    params["call"] = task.call.clone();
    client.request("dev.portcullis/steer", params).message
}

/// As the input of a tool that takes it in the middle of a line, for as long as its user likes.
#[test]
fn a_task_that_waits_for_its_next_message_is_suspended_until_there_is_one() {
    let mut client = client(&config("", ""));
    let task = start(&mut client, "listen");
    for (at, words) in ["one", "two", "three"].into_iter().enumerate() {
        wait_until_suspended(&client, &task.task);
        if at == 1 {
            client.server.restart_stdio();
            assert!(is_suspended(&client, &task.task), "nothing has to run");
        }
        tell(&mut client, &task, json!({"message": words}))["result"]["call"].as_str().unwrap();
        wait_for(&mut client, &task.task, |task| task["statusMessage"] == words);
    }
    wait_until_suspended(&client, &task.task);
    client.server.kill();
    portcullis(&client.server.home, &["task", "steer", &task.task, "four", "--end"]).good();
    client.server.restart_stdio();
    let ended = wait_for_status(&mut client, &task.task, "completed");
    assert_eq!(ended["result"]["content"][0]["text"], "heard: one, two, three, four", "{ended}");
    assert_eq!(ended["result"]["_meta"]["dev.portcullis/usage"]["chunks"], 4, "{ended}");
    let shown =
        portcullis(&client.server.home, &["task", "show", &task.task, "--timeline", "--json"]).good().to_owned();
    let shown: Value = serde_json::from_str(&shown).unwrap();
    let mut steps = shown["timeline"]["steps"].as_array().unwrap().iter();
    assert!(steps.any(|step| step["import"] == "steering.receive" && step["waits"] == true), "{shown}");
}

/// Whoever counts the messages may send them again, and hears of one that was lost with the host.
#[test]
fn numbered_messages_are_taken_once_each_whatever_happens_to_the_host() {
    for path in ["listen", "listen-and-save"] {
        count_messages(path);
    }
}

fn count_messages(path: &str) {
    let mut client = client(&config("", ""));
    let task = start(&mut client, path);
    let numbered = |seq: u64, end: bool| json!({"message": format!("m{seq}"), "seq": seq, "end": end});
    assert_eq!(tell(&mut client, &task, numbered(1, false))["error"]["data"]["next"], 0, "the first is missing");
    for seq in 0..3 {
        wait_until_suspended(&client, &task.task);
        for _ in 0..2 {
            let told = tell(&mut client, &task, numbered(seq, false));
            assert_eq!(told["result"]["next"], seq + 1, "{told}");
        }
        wait_for(&mut client, &task.task, |task| task["statusMessage"] == format!("m{seq}"));
        client.server.restart_stdio();
    }
    let early = tell(&mut client, &task, numbered(9, false));
    assert_eq!((&early["error"]["code"], &early["error"]["data"]["next"]), (&json!(-32602), &json!(3)), "{early}");
    let last = tell(&mut client, &task, json!({"seq": 3, "end": true}));
    assert_eq!(last["result"]["next"], 4, "{last}");
    let ended = wait_for_status(&mut client, &task.task, "completed");
    assert_eq!(ended["result"]["content"][0]["text"], "heard: m0, m1, m2", "{ended}");
}

#[test]
fn messages_that_wait_for_a_call_keep_their_order() {
    let mut client = client(&config("", ""));
    let task = start(&mut client, "ask");
    wait_until_suspended(&client, &task.task);
    let words: Vec<String> = (0..12).map(|at| format!("word{at}")).collect();
    words.iter().for_each(|word| steer(&mut client, &task, word));
    steer(&mut client, &task, "stop");
    (0..3).for_each(|_| steer(&mut client, &task, "nobody reads it"));
    let refused = tell(&mut client, &task, json!({"message": "one too many"}));
    assert_eq!(refused["error"]["code"], -32602, "as many as a running call keeps: {refused}");
    assert!(is_suspended(&client, &task.task), "they do not make it go on");
    update(&mut client, &task.task, answers(&[("first", "Al"), ("second", "Bo")]));
    let ended = wait_for_status(&mut client, &task.task, "completed");
    let said = format!(r#"said: {{"name":"Al"}}, {{"name":"Bo"}}, {}"#, words.join(", "));
    assert_eq!(ended["result"]["content"][0]["text"], said, "{ended}");
}
