//! Channels without a transport: who may answer, which messages the client receives, and the limits.

use super::channels::{ChannelError, ChannelStream, LiveChannels, MAX_PER_PRINCIPAL, MAX_WAITING_CALLS};
use futures::FutureExt;
use policy::Principal;
use protocol::names::{REVERSE_CALL_NOTIFICATION, REVERSE_CANCELLED_NOTIFICATION};
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinHandle;

const NAME: &str = "AAAAAAAAAAAAAAAAAAAAAA";
const TIMEOUT: Duration = Duration::from_secs(600);

fn alice() -> Principal {
    Principal::from_source("key", "alice")
}

fn fields() -> Value {
    json!({ "name": "calendar.free", "arguments": {} })
}

fn refusal(result: Result<(), ErrorData>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    error.message.into_owned()
}

/// Starts a call in a task. The returned id is the one that the client received.
async fn start_call(
    channels: &LiveChannels,
    stream: &ChannelStream,
) -> (JoinHandle<Result<Value, ChannelError>>, String) {
    let caller = channels.clone();
    let call = tokio::spawn(async move { caller.call(&alice(), NAME, fields(), TIMEOUT).await });
    let (method, params) = stream.next().await;
    assert_eq!(method, REVERSE_CALL_NOTIFICATION);
    assert_eq!((&params["name"], &params["channel"]), (&json!("calendar.free"), &json!(NAME)));
    (call, params["callId"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_call_is_answered_once_by_its_own_principal() {
    let channels = LiveChannels::default();
    assert_eq!(channels.call(&alice(), NAME, fields(), TIMEOUT).await, Err(ChannelError::Closed));
    let stream = channels.open(&alice(), NAME).ok().unwrap();
    let (bob, other) = (Principal::from_source("key", "bob"), "BBBBBBBBBBBBBBBBBBBBBB");
    assert!(channels.is_open(&alice(), NAME) && !channels.is_open(&bob, NAME) && !channels.is_open(&alice(), other));
    let (call, id) = start_call(&channels, &stream).await;
    let answer = json!({ "content": [] });
    let unknown = refusal(channels.answer(&alice(), NAME, "made up", answer.clone()));
    for (principal, channel) in [(&bob, NAME), (&alice(), other)] {
        assert_eq!(refusal(channels.answer(principal, channel, &id, answer.clone())), unknown);
    }
    channels.answer(&alice(), NAME, &id, answer.clone()).unwrap();
    assert_eq!(call.await.unwrap(), Ok(answer.clone()));
    assert_eq!(refusal(channels.answer(&alice(), NAME, &id, answer)), unknown);
}

#[tokio::test]
async fn the_client_is_told_when_a_call_is_cancelled() {
    let channels = LiveChannels::default();
    let stream = channels.open(&alice(), NAME).ok().unwrap();
    let alice = alice();
    let mut call = Box::pin(channels.call(&alice, NAME, fields(), Duration::from_millis(20)));
    assert_eq!(call.as_mut().now_or_never(), None);
    let id = stream.next().await.1["callId"].clone();
    assert_eq!(call.await, Err(ChannelError::Timeout));
    assert_eq!(
        stream.next().await,
        (REVERSE_CANCELLED_NOTIFICATION, json!({ "channel": NAME, "callId": id, "reason": "timeout" }))
    );
    assert!(channels.answer(&alice, NAME, id.as_str().unwrap(), fields()).is_err());
    let (call, id) = start_call(&channels, &stream).await;
    call.abort();
    assert_eq!(
        stream.next().await,
        (REVERSE_CANCELLED_NOTIFICATION, json!({ "channel": NAME, "callId": id, "reason": "cancelled" }))
    );
    // A call that is cancelled before it was sent is never sent.
    drop(channels.queue_call(&alice, NAME, fields()).ok().unwrap());
    let (_, id) = start_call(&channels, &stream).await;
    assert!(channels.answer(&alice, NAME, &id, fields()).is_ok());
}

#[tokio::test]
async fn closing_a_channel_fails_its_calls_and_frees_its_name() {
    let channels = LiveChannels::default();
    let stream = channels.open(&alice(), NAME).ok().unwrap();
    assert!(channels.open(&alice(), NAME).is_err());
    assert!(channels.open(&Principal::from_source("key", "bob"), NAME).is_ok(), "each principal has its own names");
    let (call, id) = start_call(&channels, &stream).await;
    drop(stream);
    assert_eq!(call.await.unwrap(), Err(ChannelError::Closed));
    assert!(channels.answer(&alice(), NAME, &id, fields()).is_err());
    assert!(channels.lock().is_empty());
    assert!(channels.open(&alice(), NAME).is_ok());
}

#[tokio::test]
async fn names_channels_and_calls_are_limited() {
    let channels = LiveChannels::default();
    for name in ["", "short", "with spaces in it, and long", &"x".repeat(129), "schlüssel-mit-umlauten-der-lang-ist"] {
        assert_eq!(channels.open(&alice(), name).err().unwrap().code, ErrorCode::INVALID_PARAMS, "{name}");
    }
    let open = |number| channels.open(&alice(), &format!("{number:022}")).ok().unwrap();
    let mut open: Vec<_> = (0..MAX_PER_PRINCIPAL).map(open).collect();
    assert!(channels.open(&alice(), NAME).is_err());
    assert!(channels.open(&Principal::from_source("key", "bob"), NAME).is_ok());
    open.pop();
    let _stream = channels.open(&alice(), NAME).ok().unwrap();
    let queue = |_| channels.queue_call(&alice(), NAME, fields()).ok().unwrap();
    let calls: Vec<_> = (0..MAX_WAITING_CALLS).map(queue).collect();
    assert_eq!(channels.call(&alice(), NAME, fields(), TIMEOUT).await, Err(ChannelError::Full(MAX_WAITING_CALLS)));
    drop(calls);
    let queued = |channels: &LiveChannels| channels.lock()[&alice()][NAME].outbox.len();
    assert_eq!(queued(&channels), 0, "unsent calls leave no message");
}
