//! `notifications/tasks` on a subscription.

use super::{client, config, get, start, steer, wait_for_status};
use serde_json::{Value, json};

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";

/// A notification without what belongs to its stream.
fn told(mut message: Value, subscription: u64) -> Value {
    assert_eq!(message["method"], "notifications/tasks", "{message}");
    let meta = message["params"].as_object_mut().unwrap().remove("_meta").unwrap();
    assert_eq!(meta, json!({"io.modelcontextprotocol/subscriptionId": subscription}));
    message["params"].take()
}

/// What `tasks/get` returns, without what belongs to its result.
fn plain(mut task: Value) -> Value {
    task.as_object_mut().unwrap().retain(|key, _| !["resultType", "_meta"].contains(&key.as_str()));
    task
}

#[test]
fn a_subscription_tells_how_its_tasks_stand_as_get_would() {
    let mut client = client(&config(""));
    let (one, two) = (start(&mut client, "wait"), start(&mut client, "wait"));
    let wanted = json!({"taskIds": [one.task, "unknown", one.task], "toolsListChanged": true});
    let id = client.begin("subscriptions/listen", json!({"notifications": wanted}));
    let first = client.notified();
    assert_eq!(first["method"], ACKNOWLEDGED);
    assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id);
    assert_eq!(first["params"]["notifications"], json!({"taskIds": [one.task], "toolsListChanged": true}));
    let now = told(client.notified(), id);
    assert_eq!(now, plain(get(&mut client, &one.task)));
    // Nobody listens to the other one.
    steer(&mut client, &two, "stop");
    wait_for_status(&mut client, &two.task, "completed");
    steer(&mut client, &one, "ask");
    let asks = told(client.wait_for("notifications/tasks"), id);
    assert_eq!((&asks["taskId"], &asks["status"]), (&json!(one.task), &json!("input_required")));
    assert_eq!(asks, plain(get(&mut client, &one.task)));
    client.request("tasks/cancel", json!({"taskId": one.task})).result();
    let ended = told(client.wait_for("notifications/tasks"), id);
    assert_eq!(ended["status"], "cancelled");
    assert_eq!(ended, plain(get(&mut client, &one.task)));
    client.cancel(id);
    assert_eq!(get(&mut client, &one.task)["status"], "cancelled", "it is served on");
}
