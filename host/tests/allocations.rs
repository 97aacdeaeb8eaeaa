//! Counts the heap allocations of one `tools/call` over HTTP, and says whose code makes them.
//!
//! The server runs in this process; what its client allocates does not count. An allocation belongs to the innermost frame
//! on its stack that is of an owner below, so what another library allocates for us is ours.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "the figure is what this test is for")]

use mcp::transport::{HttpOptions, HttpServer, LegacyOptions};
use mcp::{IdempotencyKeys, Server, ServerParts};
use platform::clock::{Clock, SystemClock};
use platform::durable::MemoryStore;
use platform::storage::SessionStore;
use policy::{ParkedCallLimits, Principal, TaskLimits};
use portcullis::config::Config;
use portcullis::host::Host;
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use suite::{Home, eventually, plugin, portcullis};
use tokio_util::sync::CancellationToken;

/// What clients declare, and what an echo call of theirs may allocate in our code: 40 and 65 when this was written,
/// ten more with the next instance, which a slow machine does not make, and a few more where each audit record is written
/// alone.
const LIMITS: [(&str, usize); 2] =
    [("{}", 58), (r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}"#, 84)];
/// Calls before the first that counts: what is made once is made by then.
const WARM_UP: usize = 50;
/// Calls that count.
const MEASURED: usize = 50;
/// Whose code an allocation can be, by how their symbols begin.
const OWNERS: [(&str, &str); 10] = [
    ("allocations::", "client"),
    ("portcullis_", "ours"),
    ("portcullis::", "ours"),
    ("rmcp", "rmcp"),
    ("hyper", "hyper"),
    ("axum", "axum"),
    ("tower", "axum"),
    ("wasmtime", "wasmtime"),
    ("tracing", "tracing"),
    ("tokio::runtime", "tokio"),
];

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// Whose allocation it is, and the frame that says so. `frames` begin at the allocator.
fn owner<'a>(frames: impl Iterator<Item = &'a str>) -> (&'static str, &'a str) {
    for frame in frames {
        let found = OWNERS.iter().filter_map(|(prefix, owner)| Some((frame.find(prefix)?, *owner))).min();
        if let Some((_, owner)) = found {
            return (owner, frame);
        }
    }
    ("other", "")
}

/// Allocations by owner, and ours by function.
fn counted(profile: &Value) -> (BTreeMap<&'static str, usize>, BTreeMap<&str, usize>) {
    let (mut owners, mut ours) = (BTreeMap::new(), BTreeMap::new());
    let names = profile["ftbl"].as_array().unwrap();
    for point in profile["pps"].as_array().unwrap() {
        let frames =
            point["fs"].as_array().unwrap().iter().map(|at| names[at.as_u64().unwrap() as usize].as_str().unwrap());
        let (owner, frame) = owner(frames);
        let blocks = point["tbk"].as_u64().unwrap() as usize;
        *owners.entry(owner).or_default() += blocks;
        if owner == "ours" {
            // `0x55...: portcullis_mcp::handler::call (file:line)`
            let function = frame.split_once(": ").map_or(frame, |(_, rest)| rest.split(" (").next().unwrap_or(rest));
            *ours.entry(function).or_default() += blocks;
        }
    }
    (owners, ours)
}

fn request(id: usize, declared: &str) -> String {
    let meta = format!(
        r#"{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"count","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{declared}}}"#
    );
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"_meta":{meta},"name":"echo__run","arguments":{{"path":"Ada"}}}}}}"#
    );
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n\
         MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo__run\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Sends a request and reads its answer, on a connection that is kept.
fn exchange(connection: &mut TcpStream, id: usize, declared: &str) -> String {
    connection.write_all(request(id, declared).as_bytes()).unwrap();
    let (mut answer, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let read = connection.read(&mut buffer).unwrap();
        assert!(read > 0, "the server closed the connection: {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&answer).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head
            .to_ascii_lowercase()
            .split("content-length: ")
            .nth(1)
            .map(|rest| rest.lines().next().unwrap().parse::<usize>().unwrap());
        if length.is_some_and(|length| body.len() >= length) || body.ends_with("0\r\n\r\n") {
            return text;
        }
    }
}

fn call(connection: &mut TcpStream, id: usize, declared: &str) {
    let answer = exchange(connection, id, declared);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("Ada"), "{answer}");
}

async fn serve(config: &Config, stop: CancellationToken) -> SocketAddr {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let options = HttpOptions {
        allowed_hosts: config.allowed_hosts.clone(),
        allowed_origins: config.allowed_origins.clone(),
        max_body: config.max_body,
        legacy: LegacyOptions { max_sessions: 4, poll_after: None },
        authenticator: None,
        broker: None,
    };
    let http = HttpServer::bind("127.0.0.1:0".parse().unwrap(), options).await.unwrap();
    let address = http.address();
    let storage = SessionStore::open(config.state.as_deref().unwrap(), clock.clone()).unwrap();
    let host = Host::start_whole(config, None).await.unwrap();
    let parked_calls = mcp::ParkedCalls::new(ParkedCallLimits::default(), clock.clone(), None).unwrap();
    let store = Arc::new(MemoryStore::new(clock.clone()));
    let limits = TaskLimits::default();
    let store = mcp::TaskStore { store, process: None };
    let tasks = mcp::Tasks::open(store, limits, clock.clone(), host.changes.clone(), &parked_calls);
    let keys = IdempotencyKeys::open(
        Arc::new(MemoryStore::new(clock.clone())),
        String::new(),
        Default::default(),
        clock.clone(),
    )
    .unwrap();
    let server = Server::new(ServerParts {
        keys,
        catalog: host.catalog.clone(),
        runner: host.runner.clone(),
        host_tools: host.agent.clone(),
        parked_calls,
        tasks,
        principal_store: host.principal_store.clone(),
        changes: host.changes.clone(),
        principal: Principal::anonymous(),
        stop: stop.clone(),
        fallback_tools: false,
        stand_in_tools: None,
    });
    tokio::spawn(async move {
        http.serve(server, storage, clock, stop, CancellationToken::new()).await.unwrap();
        host.close().await;
    });
    address
}

#[test]
fn an_echo_call_allocates_little() {
    let home = Home::new();
    let folder = |path: std::path::PathBuf| path.display().to_string();
    let server = format!(
        "[server]\ncache = {:?}\nstate = {:?}\n",
        folder(suite::paths::cache()),
        folder(home.path().join("state"))
    );
    let path = home.write("portcullis.toml", server + &plugin("echo", ""));
    // The program compiles: a test is no compile worker.
    portcullis(&home, &["call", "echo", "run", r#"{"path":"Ada"}"#]).good();
    let config = Config::load(&path).unwrap();
    let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let stop = CancellationToken::new();
    let address = threads.block_on(serve(&config, stop.clone()));
    let mut connection = TcpStream::connect(address).unwrap();
    let ready = || (!exchange(&mut connection, 0, "{}").starts_with("HTTP/1.1 503")).then_some(());
    eventually(suite::PATIENCE, ready).expect("the server becomes ready");
    for (declared, limit) in LIMITS {
        let mine = measure(&mut connection, declared, &home.path().join("heap.json"));
        assert!(mine <= limit, "an echo call allocates {mine} times in our code, more than {limit}: {declared}");
    }
    stop.cancel();
    drop(threads);
}

/// How often a call allocates in our code.
fn measure(connection: &mut TcpStream, declared: &str, report: &Path) -> usize {
    for id in 0..WARM_UP {
        call(connection, id, declared);
    }
    let profiler = dhat::Profiler::builder().file_name(report).trim_backtraces(None).build();
    for id in 0..MEASURED {
        call(connection, WARM_UP + id, declared);
    }
    // What is done after the last answer may be missing. What was done after the last warm-up call counts in its place.
    drop(profiler);
    let profile: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    let (mut owners, ours) = counted(&profile);
    owners.remove("client");
    assert!(!owners.contains_key("rmcp"), "the call is served directly: {owners:?}");
    let all: usize = owners.values().sum();
    let mine = owners.get("ours").copied().unwrap_or_default().div_ceil(MEASURED);
    let shares: Vec<_> = owners.iter().map(|(owner, count)| format!("{owner} {}", count / MEASURED)).collect();
    let shares = shares.join(", ");
    println!("allocations of an echo call over HTTP by {declared}: {} in all, {mine} ours ({shares})", all / MEASURED);
    let mut places: Vec<_> = ours.into_iter().filter(|(_, count)| count / MEASURED > 0).collect();
    places.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (frame, count) in &places {
        println!("  {:3}  {frame}", count / MEASURED);
    }
    mine
}
