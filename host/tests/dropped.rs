//! A call that is given up at any of its polls leaves nothing behind: whoever waited is gone, or has cancelled it, while it
//! computes, writes a file, asks, calls another tool, waits for a server or sleeps.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stdout, reason = "a test of an attack prints its figure")]

use async_trait::async_trait;
use plugins::registry::{CallRequest, Finished};
use portcullis::config::Config;
use portcullis::host::Host;
use runtime::engine::CallError;
use runtime::imports::{
    Abilities, CallContext, CallSink, Chunk, ClientCalls, ClientError, Decision, Inquiry, OutputError, Reply, Report,
    Steering,
};
use serde_json::{Value, json};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};
use suite::web::{Reply as Page, Web};
use suite::{Home, agent, paths, plugin_from, portcullis, with_manifest};
use tokio_util::sync::CancellationToken;

const GRANTS: &str = r#"
grants.scratch = { guest = "/own", size = "1 MiB" }
grants.state = {}
grants.publish = true
grants.events = ["done.*"]
grants.agent-tools = ["echo.run"]
grants.client.form = true
grants.http = [{ allow = "GET http://127.0.0.1:PORT/", private = true }]
limits.breaker = { failures = 0 }
"#;

/// A user who thinks for a moment, and a reader who is slow.
struct Slow;

#[async_trait]
impl ClientCalls for Slow {
    fn abilities(&self) -> Abilities {
        Abilities { form: true, ..Abilities::default() }
    }

    async fn ask(&self, inquiry: Inquiry) -> Result<Vec<Reply>, ClientError> {
        tokio::task::yield_now().await;
        let answer = || Reply::Form(Decision::Accept, Some(json!({"name": "Ada"})));
        Ok(inquiry.questions.iter().map(|_| answer()).collect())
    }
}

#[async_trait]
impl CallSink for Slow {
    async fn chunk(&self, _: u64, _: Chunk) -> Result<(), OutputError> {
        tokio::task::yield_now().await;
        Ok(())
    }

    fn progress(&self, _: Report) {}
}

/// How a call is given up.
#[derive(Debug, Clone, Copy, PartialEq)]
enum End {
    Dropped,
    Cancelled,
}

struct World {
    home: Home,
    web: Web,
    host: Host,
    slow: Arc<Slow>,
}

impl World {
    async fn new() -> Self {
        let web = Web::serve(|_| Page::json(json!({"some": "answer"})));
        let (home, port) = (Home::new(), web.address.port());
        let requests = json!({
            "scratch": true, "state": true, "publish": true, "events": ["done.*"], "agent-tools": ["*.*"],
            "client": {"form": true}, "http": [format!("GET http://127.0.0.1:{port}/")],
        });
        let manifest = json!({"name": "everything", "version": "0.1.0", "requests": requests});
        let component = with_manifest(std::fs::read(paths::guest("everything")).unwrap(), &manifest);
        let file = home.write("everything.wasm", component);
        let folder = |path: std::path::PathBuf| path.display().to_string();
        let server = format!(
            "[server]\ncache = {:?}\nstate = {:?}\n",
            folder(paths::cache()),
            folder(home.path().join("state")),
        );
        let grants = GRANTS.replace("PORT", &port.to_string());
        let config = server + &plugin_from("everything", &file, &grants) + &agent("echo", "echo", "");
        let path = home.write("portcullis.toml", config);
        // The program compiles: a test is no compile worker.
        portcullis(&home, &["call", "echo", "run"]).good();
        portcullis(&home, &["call", "everything", "run"]);
        let host = Host::start(&Config::load(&path).unwrap(), None).await.unwrap();
        Self { home, web, host, slow: Arc::new(Slow) }
    }

    async fn call(&self, cancel: CancellationToken) -> Finished {
        let catalog = self.host.catalog.now();
        let plugin = catalog.all().find(|plugin| plugin.id().name == "everything").unwrap();
        let arguments = json!({"path": self.web.address.to_string()});
        let request = CallRequest {
            context: CallContext::new("local"),
            sink: self.slow.clone(),
            agent: self.host.agent.clone(),
            client: self.slow.clone(),
            cancel,
            steering: Steering::default(),
            parent: None,
        };
        self.host.runner.call(plugin, plugin.tool("run").unwrap(), &arguments, arguments.to_string(), request).await
    }

    /// A whole call, in which everything works.
    async fn works(&self) {
        let answer = self.call(CancellationToken::new()).await.result.unwrap();
        let said = format!("{:?}", answer.content);
        assert!(said.contains("14 worked"), "{said}");
    }

    /// A call that is given up at its `at`th poll; false when it was over before.
    async fn given_up(&self, at: usize, end: End) -> bool {
        let cancel = CancellationToken::new();
        let mut call = pin!(self.call(cancel.clone()));
        let mut polls = 0;
        let finished = poll_fn(|context| {
            polls += 1;
            match (polls > at, end) {
                (true, End::Dropped) => return Poll::Ready(None),
                (true, End::Cancelled) => cancel.cancel(),
                (false, _) => {}
            }
            call.as_mut().poll(context).map(Some)
        })
        .await;
        match finished {
            None => true,
            Some(finished) if polls > at => {
                let result = finished.result.map(|_| ());
                assert!(matches!(result, Ok(()) | Err(CallError::Cancelled)), "{result:?} at {at}");
                true
            }
            Some(finished) => {
                finished.result.unwrap();
                false
            }
        }
    }

    /// A number of `/metrics`.
    fn metric(&self, line: &str) -> u64 {
        let text = self.host.metrics.text();
        let of = |found: &str| found.strip_prefix(line)?.rsplit(' ').next()?.parse::<u64>().ok();
        text.lines().filter(|found| !found.starts_with('#')).filter_map(of).sum()
    }

    /// What is held now, besides instances that were made ahead and wait for a call.
    fn held(&self) -> Value {
        let files = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let sockets = files.filter_map(|file| std::fs::read_link(file.path()).ok());
        let open: Vec<_> = sockets.filter(|to| to.starts_with(self.home.path().join("state/scratch"))).collect();
        json!({
            "instances": self.metric("portcullis_instances ").saturating_sub(self.metric("portcullis_ready_instances ")),
            "calls": self.metric("portcullis_calls_in_progress"),
            "places": self.metric("portcullis_root_calls "),
            "waiting": self.metric("portcullis_waiting_calls "),
            "client": Arc::strong_count(&self.slow),
            "files": open.len(),
        })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_given_up_anywhere_leaves_nothing() {
    let world = World::new().await;
    world.works().await;
    let nothing = json!({"instances": 0, "calls": 0, "places": 0, "waiting": 0, "client": 1, "files": 0});
    let mut made = 1;
    for end in [End::Dropped, End::Cancelled] {
        // A call that was never polled has not begun.
        let mut at = 1;
        loop {
            let given_up = world.given_up(at, end).await;
            made += 1;
            // What the call had begun on other threads may take a moment to end.
            let until = Instant::now() + Duration::from_secs(20);
            while world.held() != nothing && Instant::now() < until {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(world.held(), nothing, "{end:?} at poll {at}");
            if !given_up {
                break;
            }
            at += 1;
            assert!(at < 5_000, "it never ends");
        }
        assert!(at > 12, "there were only {at} polls, fewer than things that it waits for");
        println!("T10: {end:?} at each of {at} polls: nothing left");
        world.works().await;
        made += 1;
    }
    let ended = world.metric("portcullis_calls_total{plugin=\"plugins.everything\"");
    assert_eq!(ended, made, "each call has ended once");
    assert!(world.host.audit.flush());
    let mut verdicts: Vec<Value> = std::fs::read_dir(world.home.path().join("state/audit"))
        .unwrap()
        .flatten()
        .flat_map(|file| {
            std::fs::read_to_string(file.path()).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .filter_map(|line| serde_json::from_str::<Value>(&line).ok())
        .filter(|record| record["event"] == "verdict" && record["plugin"] == "plugins.everything")
        .map(|record| record["call"].clone())
        .collect();
    let all = verdicts.len() as u64;
    verdicts.sort_by_key(Value::to_string);
    verdicts.dedup();
    // One more is of the program that compiled.
    assert_eq!((all, verdicts.len() as u64), (made + 1, made + 1), "each call has one verdict");
}
