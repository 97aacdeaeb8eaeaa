//! Channels without a wire: who may answer, what is told, what is bounded.

use super::*;
use futures::FutureExt;

const NAME: &str = "AAAAAAAAAAAAAAAAAAAAAA";
const PATIENT: Duration = Duration::from_secs(600);

fn alice() -> Principal {
    Principal::known("key", "alice")
}

fn fields() -> Value {
    json!({ "name": "calendar.free", "arguments": {} })
}

fn refusal(result: Result<(), ErrorData>) -> String {
    let error = result.unwrap_err();
    assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    error.message.into_owned()
}

/// A call that runs, and what the client reads of it.
async fn made(channels: &Channels, stream: &Stream) -> (tokio::task::JoinHandle<Result<Value, Lost>>, String) {
    let making = channels.clone();
    let call = tokio::spawn(async move { making.call(&alice(), NAME, fields(), PATIENT).await });
    let (method, params) = stream.next().await;
    assert_eq!(method, CALL);
    assert_eq!((&params["name"], &params["channel"]), (&json!("calendar.free"), &json!(NAME)));
    (call, params["callId"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn a_call_is_answered_once_and_by_its_own_principal() {
    let channels = Channels::default();
    assert_eq!(channels.call(&alice(), NAME, fields(), PATIENT).await, Err(Lost::Closed));
    let stream = channels.open(&alice(), NAME).ok().unwrap();
    let (bob, other) = (Principal::known("key", "bob"), "BBBBBBBBBBBBBBBBBBBBBB");
    assert!(channels.is_open(&alice(), NAME) && !channels.is_open(&bob, NAME) && !channels.is_open(&alice(), other));
    let (call, id) = made(&channels, &stream).await;
    let said = json!({ "content": [] });
    let unknown = refusal(channels.answer(&alice(), NAME, "made up", said.clone()));
    for (principal, channel) in [(&bob, NAME), (&alice(), other)] {
        assert_eq!(refusal(channels.answer(principal, channel, &id, said.clone())), unknown);
    }
    channels.answer(&alice(), NAME, &id, said.clone()).unwrap();
    assert_eq!(call.await.unwrap(), Ok(said.clone()));
    assert_eq!(refusal(channels.answer(&alice(), NAME, &id, said)), unknown);
}

#[tokio::test]
async fn a_client_is_told_of_what_nobody_waits_for() {
    let channels = Channels::default();
    let stream = channels.open(&alice(), NAME).ok().unwrap();
    let alice = alice();
    let mut call = Box::pin(channels.call(&alice, NAME, fields(), Duration::from_millis(20)));
    assert_eq!(call.as_mut().now_or_never(), None);
    let id = stream.next().await.1["callId"].clone();
    assert_eq!(call.await, Err(Lost::Timeout));
    assert_eq!(stream.next().await, (CANCELLED, json!({ "channel": NAME, "callId": id, "reason": "timeout" })));
    assert!(channels.answer(&alice, NAME, id.as_str().unwrap(), fields()).is_err());
    let (call, id) = made(&channels, &stream).await;
    call.abort();
    assert_eq!(stream.next().await, (CANCELLED, json!({ "channel": NAME, "callId": id, "reason": "cancelled" })));
    // One that was never sent never was.
    drop(channels.begin(&alice, NAME, fields()).ok().unwrap());
    let (_, id) = made(&channels, &stream).await;
    assert!(channels.answer(&alice, NAME, &id, fields()).is_ok());
}

#[tokio::test]
async fn a_closed_channel_loses_its_calls_and_is_free_again() {
    let channels = Channels::default();
    let stream = channels.open(&alice(), NAME).ok().unwrap();
    assert!(channels.open(&alice(), NAME).is_err());
    assert!(channels.open(&Principal::known("key", "bob"), NAME).is_ok(), "names are each principal's own");
    let (call, id) = made(&channels, &stream).await;
    drop(stream);
    assert_eq!(call.await.unwrap(), Err(Lost::Closed));
    assert!(channels.answer(&alice(), NAME, &id, fields()).is_err());
    assert!(channels.lock().is_empty());
    assert!(channels.open(&alice(), NAME).is_ok());
}

#[tokio::test]
async fn names_channels_and_calls_are_bounded() {
    let channels = Channels::default();
    for name in ["", "short", "with spaces in it, and long", &"x".repeat(129), "schlüssel-mit-umlauten-der-lang-ist"] {
        assert_eq!(channels.open(&alice(), name).err().unwrap().code, ErrorCode::INVALID_PARAMS, "{name}");
    }
    let mut open: Vec<_> = (0..MAX_OWN).map(|at| channels.open(&alice(), &format!("{at:022}")).ok().unwrap()).collect();
    assert!(channels.open(&alice(), NAME).is_err());
    assert!(channels.open(&Principal::known("key", "bob"), NAME).is_ok());
    open.pop();
    let _stream = channels.open(&alice(), NAME).ok().unwrap();
    let calls: Vec<_> = (0..MAX_WAITING).map(|_| channels.begin(&alice(), NAME, fields()).ok().unwrap()).collect();
    assert_eq!(channels.call(&alice(), NAME, fields(), PATIENT).await, Err(Lost::Full(MAX_WAITING)));
    drop(calls);
    let waits = |channels: &Channels| channels.lock()[&alice()][NAME].outbox.len();
    assert_eq!(waits(&channels), 0, "nothing of them was sent, so nothing has to be taken back");
}
