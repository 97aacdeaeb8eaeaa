//! Ownership of sessions and events, slow readers, and failing storage.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use super::event_log::{EventLog, EventLogError};
use super::manager::LegacySessionManager;
use super::message::{EventId, interrupted_text, restore};
use super::options::LegacyOptions;
use super::reader::{ReaderOptions, read_events};
use super::session::LegacySession;
use crate::calls::parked_calls::ParkedCalls;
use crate::handler::{Server, ServerParts};
use crate::idempotency::IdempotencyKeys;
use crate::tasks::{TaskStore, Tasks};
use crate::transport::request::lifecycle::Lifecycle;
use crate::transport::request::request_scope::with_principal;
use crate::transport::responses::refusal::HttpRefusal;
use futures::StreamExt;
use platform::changes::ChangeNotifier;
use platform::clock::{Clock, ManualClock, SystemClock};
use platform::durable::MemoryStore;
use platform::storage::{SessionQuota, SessionStore, StreamRecord};
use plugins::calls::Runner;
use plugins::catalog::{Catalog, CurrentCatalog};
use policy::{IdempotencyLimits, Origin, ParkedCallLimits, Principal, TaskLimits};
use rmcp::model::{ClientJsonRpcMessage, CustomNotification, ServerJsonRpcMessage, ServerNotification};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionManager};
use runtime::imports::{AgentError, AgentTool, HostServices, ReverseCall, ReverseOutcome, ToolCaller};
use serde_json::json;
use services::principal_store::PrincipalStore;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

async fn storage(folder: &tempfile::TempDir) -> SessionStore {
    let storage = SessionStore::open(folder.path(), Arc::new(SystemClock)).unwrap();
    let quota = SessionQuota { all: 100, own: 100 };
    let _ = storage.admit("s".into(), "p".into(), quota).await.unwrap();
    storage
}

async fn log(storage: &SessionStore, standalone: bool) -> Arc<EventLog> {
    let key = storage.open_stream("s".into(), "t".into(), "1".into()).await.unwrap();
    let record = StreamRecord { key, request: None, last: 0, pruned: 0, ended: false };
    EventLog::new(storage.clone(), "t".into(), standalone, &record)
}

fn notification(n: usize, size: usize) -> ServerJsonRpcMessage {
    let params = json!({"n": n, "x": "x".repeat(size)});
    ServerJsonRpcMessage::notification(ServerNotification::CustomNotification(CustomNotification::new(
        "note",
        Some(params),
    )))
}

fn number(event: &ServerSseMessage) -> u64 {
    serde_json::to_value(event.message.as_ref().unwrap()).unwrap()["params"]["n"].as_u64().unwrap()
}

fn read_after(after: u32) -> ReaderOptions {
    let ended = Box::pin(std::future::pending());
    ReaderOptions { after: Some(after), primed: false, close_after: None, ended, reader_token: Arc::new(()) }
}

#[tokio::test]
async fn a_reader_gets_all_events_after_its_start() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(&storage(&folder).await, false).await;
    for n in 1..=500 {
        let number = log.append(notification(n, 10), n == 500).unwrap();
        log.wait_stored(number).await;
    }
    assert_eq!(log.append(notification(501, 10), false), Err(EventLogError::Ended));
    for after in [0, 1, 250, 499] {
        let events: Vec<_> = read_events(log.clone(), read_after(after)).map(|event| number(&event)).collect().await;
        assert_eq!(events, (u64::from(after) + 1..=500).collect::<Vec<_>>());
    }
    assert_eq!(read_events(log.clone(), read_after(500)).count().await, 0);
}

#[tokio::test]
async fn a_newer_reader_replaces_the_older_one() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(&storage(&folder).await, false).await;
    let mut older = Box::pin(read_events(log.clone(), read_after(0)));
    log.wait_stored(log.append(notification(1, 10), false).unwrap()).await;
    assert_eq!(number(&older.next().await.unwrap()), 1);
    let mut newer = Box::pin(read_events(log.clone(), read_after(0)));
    log.wait_stored(log.append(notification(2, 10), true).unwrap()).await;
    assert!(older.next().await.is_none());
    assert_eq!(number(&newer.next().await.unwrap()), 1);
    assert_eq!(number(&newer.next().await.unwrap()), 2);
    assert!(newer.next().await.is_none());
}

#[tokio::test]
async fn a_call_waits_for_a_slow_reader_until_a_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let log = log(&storage(&folder).await, false).await;
    for n in 1..=5 {
        log.wait_stored(log.append(notification(n, 1 << 20), false).unwrap()).await;
    }
    assert_eq!(log.wait_for_reader(Duration::from_millis(1)).await, Err(EventLogError::Unread));
    let waiting = tokio::spawn({
        let log = log.clone();
        async move { log.wait_for_reader(Duration::MAX).await }
    });
    let events: Vec<_> = read_events(log.clone(), read_after(0)).take(2).map(|event| number(&event)).collect().await;
    assert_eq!(events, [1, 2]);
    assert_eq!(waiting.await.unwrap(), Ok(()));
}

#[tokio::test]
async fn the_standalone_stream_keeps_the_newest_events_only() {
    let folder = tempfile::tempdir().unwrap();
    let storage = storage(&folder).await;
    let log = log(&storage, true).await;
    for n in 1..=300 {
        log.wait_stored(log.append(notification(n, 10), false).unwrap()).await;
    }
    assert!(!log.can_resume_after(43) && log.can_resume_after(44), "256 events are kept");
    let reader = ReaderOptions { after: None, ..read_after(0) };
    let events: Vec<_> = read_events(log.clone(), reader).take(256).map(|event| number(&event)).collect().await;
    assert_eq!(events, (45..=300).collect::<Vec<_>>());
    let late = ReaderOptions { after: None, ..read_after(0) };
    let mut late = Box::pin(read_events(log.clone(), late));
    log.wait_stored(log.append(notification(301, 10), false).unwrap()).await;
    assert_eq!(number(&late.next().await.unwrap()), 301, "a new reader does not get old events again");
}

#[tokio::test]
async fn failing_storage_does_not_stop_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let storage = storage(&folder).await;
    let log = log(&storage, false).await;
    storage.close().await;
    let mut reader = Box::pin(read_events(log.clone(), read_after(0)));
    log.wait_stored(log.append(notification(1, 10), true).unwrap()).await;
    let event = reader.next().await.unwrap();
    assert_eq!((number(&event), event.event_id), (1, None));
    assert!(reader.next().await.is_none());
}

#[test]
fn stored_messages_are_restored_unchanged() {
    for text in [
        r#"{"jsonrpc":"2.0","id":"a","result":{"content":[],"isError":false,"resultType":"complete","_meta":{"x":1}}}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"no","data":[1]}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":0.5,"_meta":{"y":2}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1.5,"progress":0.5}}"#,
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
    assert_eq!(EventId::parse(&EventId::format(&id.token, id.number)), Some(id));
}

struct NoTools;

#[async_trait::async_trait]
impl ToolCaller for NoTools {
    fn tools(&self) -> Vec<AgentTool> {
        vec![]
    }

    fn find(&self, name: &str) -> Result<Origin, AgentError> {
        Err(AgentError::UnknownTool(name.to_owned()))
    }

    async fn call(&self, call: ReverseCall) -> ReverseOutcome {
        ReverseOutcome::unasked(AgentError::UnknownTool(call.name))
    }
}

/// A server without tools.
fn server() -> Server {
    let (clock, changes) = (Arc::new(SystemClock), ChangeNotifier::new());
    let catalog = Catalog::new(vec![], vec![]).unwrap();
    let parked_calls = ParkedCalls::new(ParkedCallLimits::default(), clock.clone(), None).unwrap();
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let limits = TaskLimits::default();
    let store = TaskStore { store, process: None };
    let tasks = Tasks::open(store, limits, clock.clone(), changes.clone(), &parked_calls);
    let keys = Arc::new(MemoryStore::new(clock.clone()));
    let keys = IdempotencyKeys::open(keys, String::new(), IdempotencyLimits::default(), clock.clone()).unwrap();
    Server::new(ServerParts {
        fallback_tools: false,
        stand_in_tools: None,
        catalog: Arc::new(CurrentCatalog::new(catalog, changes.clone())),
        runner: Arc::new(Runner::new(clock.clone(), HostServices::none())),
        host_tools: Arc::new(NoTools),
        parked_calls,
        tasks,
        keys,
        principal_store: Arc::new(PrincipalStore::new(clock, changes.clone())),
        changes,
        principal: Principal::anonymous(),
        stop: CancellationToken::new(),
    })
}

async fn sessions(storage: &SessionStore) -> LegacySessionManager {
    sessions_with(storage, Arc::new(SystemClock), 100).await
}

async fn sessions_with(storage: &SessionStore, clock: Arc<dyn Clock>, max_sessions: u32) -> LegacySessionManager {
    let options = LegacyOptions { max_sessions, poll_after: None };
    let lifecycle = Lifecycle::new();
    lifecycle.set_ready();
    let end = CancellationToken::new();
    LegacySessionManager::open(server(), storage.clone(), clock, options, lifecycle, end).await.unwrap()
}

/// Many clients never end their sessions.
#[tokio::test]
async fn the_session_that_is_idle_for_longest_makes_room() {
    let folder = tempfile::tempdir().unwrap();
    let storage = storage(&folder).await;
    let clock = ManualClock::new();
    let pass = |seconds| clock.pass(Duration::from_secs(seconds));
    let sessions = sessions_with(&storage, clock.clone(), 6).await;
    let create = async || {
        let made = async { sessions.create_session().await.ok().map(|(id, _)| id) };
        with_principal(Principal::from_source("key", "alice"), made).await
    };
    let (first, second) = (create().await.0.unwrap(), create().await.0.unwrap());
    pass(10);
    let third = create().await.0.unwrap();
    assert_eq!(create().await, (None, Some(HttpRefusal::TooManySessions)), "all were used a moment ago");
    pass(25);
    sessions.mark_used(&first);
    assert!(create().await.0.is_some(), "one makes room");
    assert!(!sessions.is_loaded(&second) && sessions.is_loaded(&first) && sessions.is_loaded(&third));
    assert_eq!(create().await.1, Some(HttpRefusal::TooManySessions));
}

/// Two principals who have all sessions keep nobody else out.
#[tokio::test]
async fn whoever_has_the_most_sessions_makes_room() {
    let folder = tempfile::tempdir().unwrap();
    let storage = storage(&folder).await;
    let clock = ManualClock::new();
    // One session is there already.
    let sessions = sessions_with(&storage, clock.clone(), 5).await;
    let create = async |name: &str| {
        let made = async { sessions.create_session().await.ok().map(|(id, _)| id) };
        with_principal(Principal::from_source("key", name), made).await
    };
    let first = create("alice").await.0.unwrap();
    clock.pass(Duration::from_secs(1));
    for name in ["alice", "bob", "bob"] {
        assert!(create(name).await.0.is_some());
    }
    assert_eq!(create("carol").await.1, Some(HttpRefusal::TooManySessions), "all were used a moment ago");
    clock.pass(Duration::from_secs(35));
    assert!(create("carol").await.0.is_some() && !sessions.is_loaded(&first));
}

fn message(text: serde_json::Value) -> ClientJsonRpcMessage {
    serde_json::from_value(text).unwrap()
}

#[tokio::test]
async fn an_unread_channel_does_not_keep_a_session_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let storage = storage(&folder).await;
    let lifecycle = Lifecycle::new();
    lifecycle.set_ready();
    let log = log(&storage, true).await;
    let (session, _received) =
        LegacySession::new("s".into(), Principal::anonymous(), log.clone(), 0, SystemClock.now());
    let start = async |id: u64, method: &str| {
        let text = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"channel": "A".repeat(22)}});
        let ClientJsonRpcMessage::Request(request) = message(text) else { panic!("it is a request") };
        session.start_request(request, log.clone(), None, lifecycle.accept(|| true).unwrap()).await.unwrap();
    };
    start(1, protocol::names::REVERSE_LISTEN_METHOD).await;
    assert!(session.idle_since().is_some());
    let reader = session.reader_token.clone();
    assert!(session.idle_since().is_none(), "a stream is read");
    drop(reader);
    start(2, protocol::names::STEER_METHOD).await;
    assert!(session.idle_since().is_none(), "any other request is work");
}

#[tokio::test]
async fn other_principals_cannot_use_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let storage = storage(&folder).await;
    let sessions = sessions(&storage).await;
    let (alice, eve) = (Principal::from_source("key", "alice"), Principal::from_source("key", "eve"));
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}});
    let ping = || message(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}));
    let begin = async {
        let (id, transport) = sessions.create_session().await.unwrap();
        tokio::spawn(async move { rmcp::serve_server(server(), transport).await.unwrap().waiting().await });
        sessions.initialize_session(&id, message(initialize)).await.unwrap();
        let events: Vec<_> = sessions.create_stream(&id, ping()).await.unwrap().collect().await;
        (id, events.last().unwrap().event_id.clone().unwrap())
    };
    let ((id, event), refusal) = with_principal(alice.clone(), begin).await;
    assert_eq!(refusal, None);
    let first = format!("{}.0", event.split('.').next().unwrap());

    // First for a session in memory, then for one that is only stored.
    for stored in [false, true] {
        if stored {
            sessions.unload(&id);
        }
        let (known, _) = with_principal(eve.clone(), sessions.has_session(&id)).await;
        assert!(!known.unwrap(), "stored: {stored}");
        let unknown = Some(HttpRefusal::UnknownSession);
        assert_eq!(
            with_principal(eve.clone(), async { sessions.create_stream(&id, ping()).await.is_err() }).await,
            (true, unknown.clone())
        );
        assert_eq!(
            with_principal(eve.clone(), async { sessions.resume(&id, first.clone()).await.is_err() }).await,
            (true, unknown.clone())
        );
        assert_eq!(
            with_principal(eve.clone(), async { sessions.create_standalone_stream(&id).await.is_err() }).await,
            (true, unknown.clone())
        );
        assert_eq!(
            with_principal(eve.clone(), async { sessions.accept_message(&id, ping()).await.is_err() }).await,
            (true, unknown.clone())
        );
        assert_eq!(
            with_principal(eve.clone(), async { sessions.close_session(&id).await.is_err() }).await,
            (true, unknown)
        );
        let by_owner = async {
            assert!(sessions.has_session(&id).await.unwrap(), "stored: {stored}");
            sessions.resume(&id, first.clone()).await.unwrap().count().await
        };
        assert_eq!(with_principal(alice.clone(), by_owner).await, (2, None), "the priming event and the response");
    }
}
