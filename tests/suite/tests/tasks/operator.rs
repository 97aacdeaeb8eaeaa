//! `portcullis task`: what the operator sees of tasks and does with them, beside a server and without one.

use super::{answers, client, config, start, wait_for_status};
use serde_json::{Value, json};
use suite::{PATIENCE, eventually, portcullis};

#[test]
fn the_operator_sees_steers_and_cancels_tasks_of_a_running_server() {
    let mut client = client(&config(""));
    let said = portcullis(&client.server.home, &["task", "list"]).good().to_owned();
    assert!(said.contains("No task is kept"), "{said}");
    let (one, two) = (start(&mut client, "one"), start(&mut client, "wait"));
    let run = |client: &suite::Client, arguments: &[&str]| portcullis(&client.server.home, arguments).good().to_owned();
    let listed = run(&client, &["task", "list", "--open"]);
    assert!(listed.lines().count() == 2 && listed.contains(&one.task) && listed.contains("job__only"), "{listed}");
    run(&client, &["task", "steer", &one.task, "report half way"]);
    eventually(PATIENCE, || run(&client, &["task", "show", &one.task]).contains("half way").then_some(())).unwrap();
    run(&client, &["task", "steer", &one.task[..8], "ask"]);
    wait_for_status(&mut client, &one.task, "input_required");
    let update = json!({"taskId": one.task, "inputResponses": answers(&[("first", "Al"), ("second", "Bo")])});
    client.request("tasks/update", update).result();
    wait_for_status(&mut client, &one.task, "working");
    run(&client, &["task", "steer", &one.task, "stop"]);
    wait_for_status(&mut client, &one.task, "completed");
    let shown: Value =
        serde_json::from_str(&run(&client, &["task", "show", &one.task, "--timeline", "--json"])).unwrap();
    assert_eq!(shown["result"]["content"][0]["text"], r#"said: one, {"name":"Al"}, {"name":"Bo"}"#);
    assert_eq!((&shown["principal"], &shown["tool"]), (&json!("local"), &json!("job__only")), "{shown}");
    let steps = shown["timeline"]["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["import"] == "client.ask" && step["ends"].is_u64()), "{shown}");
    let shown = run(&client, &["task", "show", &one.task, "--timeline"]);
    assert!(shown.contains("status     completed") && shown.contains("client.ask"), "{shown}");
    assert!(run(&client, &["task", "tail", &one.task]).contains("completed"), "it has ended already");

    // Also while nobody serves it.
    client.server.kill();
    run(&client, &["task", "cancel", &two.task]);
    client.server.restart_stdio();
    wait_for_status(&mut client, &two.task, "cancelled");
    let said = portcullis(&client.server.home, &["task", "cancel", &two.task]).refused().to_owned();
    assert!(said.contains("has ended"), "{said}");
    for (id, why) in [("none-of-this", "there is no task"), ("a", "at least 4 characters")] {
        let said = portcullis(&client.server.home, &["task", "show", id]).refused().to_owned();
        assert!(said.contains(why), "{said}");
    }
}
