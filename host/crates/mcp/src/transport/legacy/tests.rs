//! Whose sessions and events they are, slow readers, and a disk that fails.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::super::asking::on_behalf_of;
use super::super::gate::Gate;
use super::super::refusal::Refusal;
use super::follow::{Reading, follow};
use super::log::{EventLog, Silent};
use super::message::{EventId, interrupted_text, restore};
use super::session::Session;
use super::{LegacyOptions, Sessions};
use crate::{Lot, Parts, Server};
use futures::StreamExt;
use platform::changes::Changes;
use platform::clock::{Clock as _, SystemClock};
use platform::storage::{Quota, Storage, StreamRecord};
use plugins::registry::{Catalog, CurrentCatalog, Runner};
use policy::{Origin, ParkingLimits, Principal, Spent};
use rmcp::model::{ClientJsonRpcMessage, CustomNotification, ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionManager};
use runtime::imports::{AgentError, AgentResult, AgentTool, Keepers, NoConnections, ReverseCall, ToolCaller};
use serde_json::json;
use services::shelf::Shelf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

async fn storage(folder: &tempfile::TempDir) -> Storage {
    let storage = Storage::open(folder.path(), Arc::new(SystemClock)).unwrap();
    let quota = Quota { all: 100, own: 100 };
    let _ = storage.admit("s".into(), "p".into(), quota).await.unwrap();
    storage
}

async fn log(storage: &Storage, own: bool) -> Arc<EventLog> {
    let key = storage.open_stream("s".into(), "t".into(), "1".into()).await.unwrap();
    let record = StreamRecord { key, request: None, last: 0, pruned: 0, ended: false };
    EventLog::new(storage.clone(), "t".into(), own, &record)
}

fn note(n: usize, size: usize) -> ServerJsonRpcMessage {
    let params = json!({"n": n, "x": "x".repeat(size)});
    ServerJsonRpcMessage::notification(ServerNotification::CustomNotification(CustomNotification::new(
        "note",
        Some(params),
    )))
}

fn number(event: &ServerSseMessage) -> u64 {
    serde_json::to_value(event.message.as_ref().unwrap()).unwrap()["params"]["n"].as_u64().unwrap()
}

fn reading(after: u32) -> Reading {
    let over = Box::pin(std::future::pending());
    Reading { after: Some(after), primed: false, close_after: None, over, presence: Arc::new(()) }
}

#[tokio::test]
async fn a_reader_gets_all_of_it_from_wherever_it_begins() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(&storage(&folder).await, false).await;
    for n in 1..=500 {
        let said = log.say(note(n, 10), n == 500).unwrap();
        log.settled(said).await;
    }
    assert_eq!(log.say(note(501, 10), false), Err(Silent::Over));
    for after in [0, 1, 250, 499] {
        let events: Vec<_> = follow(log.clone(), reading(after)).map(|event| number(&event)).collect().await;
        assert_eq!(events, (u64::from(after) + 1..=500).collect::<Vec<_>>());
    }
    assert_eq!(follow(log.clone(), reading(500)).count().await, 0);
}

#[tokio::test]
async fn a_newer_reader_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(&storage(&folder).await, false).await;
    let mut older = Box::pin(follow(log.clone(), reading(0)));
    log.settled(log.say(note(1, 10), false).unwrap()).await;
    assert_eq!(number(&older.next().await.unwrap()), 1);
    let mut newer = Box::pin(follow(log.clone(), reading(0)));
    log.settled(log.say(note(2, 10), true).unwrap()).await;
    assert!(older.next().await.is_none());
    assert_eq!(number(&newer.next().await.unwrap()), 1);
    assert_eq!(number(&newer.next().await.unwrap()), 2);
    assert!(newer.next().await.is_none());
}

#[tokio::test]
async fn who_reads_nothing_holds_up_the_call_and_is_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(&storage(&folder).await, false).await;
    for n in 1..=5 {
        log.settled(log.say(note(n, 1 << 20), false).unwrap()).await;
    }
    assert_eq!(log.caught_up(Duration::from_millis(1)).await, Err(Silent::Unread));
    let waiting = tokio::spawn({
        let log = log.clone();
        async move { log.caught_up(Duration::MAX).await }
    });
    let events: Vec<_> = follow(log.clone(), reading(0)).take(2).map(|event| number(&event)).collect().await;
    assert_eq!(events, [1, 2]);
    assert_eq!(waiting.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn what_was_read_is_not_kept_for_ever_and_hints_are_not_kept_for_long() {
    let folder = tempfile::tempdir().unwrap();
    let storage = storage(&folder).await;
    let log = log(&storage, true).await;
    for n in 1..=300 {
        log.settled(log.say(note(n, 10), false).unwrap()).await;
    }
    assert!(!log.reaches(43) && log.reaches(44), "256 of them are kept");
    let reader = Reading { after: None, ..reading(0) };
    let events: Vec<_> = follow(log.clone(), reader).take(256).map(|event| number(&event)).collect().await;
    assert_eq!(events, (45..=300).collect::<Vec<_>>());
    let late = Reading { after: None, ..reading(0) };
    let mut late = Box::pin(follow(log.clone(), late));
    log.settled(log.say(note(301, 10), false).unwrap()).await;
    assert_eq!(number(&late.next().await.unwrap()), 301, "a new reader is not told again");
}

#[tokio::test]
async fn a_disk_that_fails_stops_no_call() {
    let folder = tempfile::tempdir().unwrap();
    let storage = storage(&folder).await;
    let log = log(&storage, false).await;
    storage.close().await;
    let mut reader = Box::pin(follow(log.clone(), reading(0)));
    log.settled(log.say(note(1, 10), true).unwrap()).await;
    let event = reader.next().await.unwrap();
    assert_eq!((number(&event), event.event_id), (1, None));
    assert!(reader.next().await.is_none());
}

#[test]
fn stored_messages_stay_what_they_were() {
    for text in [
        r#"{"jsonrpc":"2.0","id":"a","result":{"content":[],"isError":false,"resultType":"complete","_meta":{"x":1}}}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no","data":[1]}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":0.5,"_meta":{"y":2}}}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{"message":"?","requestedSchema":{}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}"#,
        &interrupted_text("\"a\""),
    ] {
        let restored = serde_json::to_value(restore(text).unwrap()).unwrap();
        assert_eq!(restored, serde_json::from_str::<serde_json::Value>(text).unwrap());
    }
    let bare = restore(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).unwrap();
    assert_eq!(serde_json::to_value(bare).unwrap()["params"], json!({}), "never null");
    assert!(restore("{}").is_none() && restore("[").is_none());
    let id = EventId { token: "AbC-_34567890123456789".into(), number: 12 };
    assert_eq!(EventId::parse(&EventId::text(&id.token, id.number)), Some(id));
}

struct Nobody;

#[async_trait::async_trait]
impl ToolCaller for Nobody {
    fn tools(&self) -> Vec<AgentTool> {
        vec![]
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        Err(AgentError::UnknownTool(name.to_owned()))
    }

    async fn call(&self, call: ReverseCall) -> (Result<AgentResult, AgentError>, Spent) {
        (Err(AgentError::UnknownTool(call.name)), Spent::default())
    }
}

/// A server without tools.
fn server() -> Server {
    let (clock, changes) = (Arc::new(SystemClock), Changes::new());
    let catalog = Catalog::new(vec![], vec![]).unwrap();
    Server::new(Parts {
        fallback_tools: false,
        ask: None,
        catalog: Arc::new(CurrentCatalog::new(catalog, changes.clone())),
        runner: Arc::new(Runner::new(clock.clone(), Keepers::none(), Arc::new(NoConnections))),
        agent: Arc::new(Nobody),
        lot: Lot::new(ParkingLimits::default(), clock.clone()).unwrap(),
        shelf: Arc::new(Shelf::new(clock, changes.clone())),
        changes,
        principal: Principal::anonymous(),
        stop: CancellationToken::new(),
    })
}

/// Its sessions.
async fn sessions(storage: &Storage) -> Sessions {
    let options = LegacyOptions { max_sessions: 100, poll_after: None };
    let gate = Gate::new();
    gate.open();
    let (clock, end) = (Arc::new(SystemClock), CancellationToken::new());
    Sessions::open(server(), storage.clone(), clock, options, gate, end).await.unwrap()
}

fn message(text: serde_json::Value) -> ClientJsonRpcMessage {
    serde_json::from_value(text).unwrap()
}

#[tokio::test]
async fn a_channel_that_nobody_reads_keeps_no_session_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let storage = storage(&folder).await;
    let gate = Gate::new();
    gate.open();
    let log = log(&storage, true).await;
    let (session, _transport) = Session::new("s".into(), Principal::anonymous(), log.clone(), SystemClock.now());
    let begin = async |id: u64, method: &str| {
        let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"channel": "A".repeat(22)}});
        let ClientJsonRpcMessage::Request(request) = message(text) else { panic!("it is a request") };
        session.begin(request, log.clone(), gate.enter(|| true).unwrap()).await.unwrap();
    };
    begin(1, crate::vendor::LISTEN).await;
    assert!(session.idle_since().is_some());
    let reader = session.presence.clone();
    assert!(session.idle_since().is_none(), "somebody reads");
    drop(reader);
    begin(2, "dev.portcullis/steer").await;
    assert!(session.idle_since().is_none(), "anything else is work");
}

#[tokio::test]
async fn a_session_of_somebody_else_is_no_session() {
    let folder = tempfile::tempdir().unwrap();
    let storage = storage(&folder).await;
    let sessions = sessions(&storage).await;
    let (alice, eve) = (Principal::known("key", "alice"), Principal::known("key", "eve"));
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}});
    let ping = || message(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let begin = async {
        let (id, transport) = sessions.create_session().await.unwrap();
        tokio::spawn(async move { rmcp::serve_server(server(), transport).await.unwrap().waiting().await });
        sessions.initialize_session(&id, message(hello)).await.unwrap();
        let events: Vec<_> = sessions.create_stream(&id, ping()).await.unwrap().collect().await;
        (id, events.last().unwrap().event_id.clone().unwrap())
    };
    let ((id, event), refusal) = on_behalf_of(alice.clone(), begin).await;
    assert_eq!(refusal, None);
    let first = format!("{}.0", event.split('.').next().unwrap());

    // In memory, and once more when it is only stored.
    for stored in [false, true] {
        if stored {
            sessions.rest(&id);
        }
        let (known, _) = on_behalf_of(eve.clone(), sessions.has_session(&id)).await;
        assert!(!known.unwrap(), "stored: {stored}");
        let unknown = Some(Refusal::Session);
        assert_eq!(
            on_behalf_of(eve.clone(), async { sessions.create_stream(&id, ping()).await.is_err() }).await,
            (true, unknown.clone())
        );
        assert_eq!(
            on_behalf_of(eve.clone(), async { sessions.resume(&id, first.clone()).await.is_err() }).await,
            (true, unknown.clone())
        );
        assert_eq!(
            on_behalf_of(eve.clone(), async { sessions.create_standalone_stream(&id).await.is_err() }).await,
            (true, unknown.clone())
        );
        assert_eq!(
            on_behalf_of(eve.clone(), async { sessions.accept_message(&id, ping()).await.is_err() }).await,
            (true, unknown.clone())
        );
        assert_eq!(
            on_behalf_of(eve.clone(), async { sessions.close_session(&id).await.is_err() }).await,
            (true, unknown)
        );
        let own = async {
            assert!(sessions.has_session(&id).await.unwrap(), "stored: {stored}");
            sessions.resume(&id, first.clone()).await.unwrap().count().await
        };
        assert_eq!(on_behalf_of(alice.clone(), own).await, (2, None), "priming and answer");
    }
}
