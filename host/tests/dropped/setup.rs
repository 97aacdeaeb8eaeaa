//! A host with plugins that do something, a client that answers after a while, and what calls hold at the moment.

use crate::parties::{Parties, Progress, Spent, TIMEOUT, Wait};
use plugins::calls::{Answer, CallRequest, FinishedCall};
use policy::Side;
use portcullis::config::Config;
use portcullis::host::Host;
use runtime::engine::{CallError, HeldResources};
use runtime::imports::{CallContext, ClientLink};
use runtime::journal::CallJournal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};
use suite::web::{Reply as Page, Web};
use suite::{Home, agent, paths, plugin, plugin_from, portcullis, with_manifest};
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
const PATIENT: &str = "limits.breaker = { failures = 0 }\n";
const ALL: &str = "grants.agent-tools = [\"*.*\"]\nlimits.breaker = { failures = 0 }\n";

/// How a call is stopped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Stop {
    Drop,
    Cancel,
}

/// When a call is stopped.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum When {
    AfterPolls(usize),
    WaitsFor(Wait),
}

/// A call of a plugin's tool `run`.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) plugin: &'static str,
    pub(crate) arguments: Value,
}

pub(crate) struct Setup {
    home: Home,
    pub(crate) web: Web,
    pub(crate) host: Host,
    /// Whose calls are stopped.
    pub(crate) parties: Parties,
    /// Whose calls nothing happens to.
    pub(crate) others: Parties,
    /// The ids of all calls so far.
    calls: Mutex<Vec<String>>,
}

impl Setup {
    pub(crate) async fn new() -> Self {
        let progress = Arc::new(Progress::default());
        let server = progress.clone();
        let web = Web::serve(move |_| {
            server.hold_answer();
            Page::json(json!({"some": "answer"}))
        });
        let (home, port) = (Home::new(), web.address.port());
        let get = format!("GET http://127.0.0.1:{port}/");
        let requests = json!({
            "scratch": true, "state": true, "publish": true, "events": ["done.*"], "agent-tools": ["*.*"],
            "client": {"form": true}, "http": [get],
        });
        let from = |name: &str, requests: Value| {
            let manifest = json!({"name": name, "version": "0.1.0", "requests": requests});
            let component = with_manifest(std::fs::read(paths::guest(name)).unwrap(), &manifest);
            home.write(&format!("{name}.wasm"), component)
        };
        let (everything, fetcher) = (from("everything", requests), from("fetcher", json!({"http": [get]})));
        let folder = |path: std::path::PathBuf| path.display().to_string();
        let server = format!(
            "[server]\ncache = {:?}\nstate = {:?}\n",
            folder(paths::cache()),
            folder(home.path().join("state")),
        );
        let grants = GRANTS.replace("PORT", &port.to_string());
        let work =
            format!("{PATIENT}grants.filesystem = [{{ host = \"work\", guest = \"/work\", access = \"write\" }}]");
        let config = server
            + &plugin_from("everything", &everything, &grants)
            + &plugin_from(
                "fetcher",
                &fetcher,
                &format!("{PATIENT}grants.http = [{{ allow = \"{get}\", private = true }}]"),
            )
            + &plugin("agent-calls", &format!("{ALL}grants.client.form = true\nlimits.calls = 1_000"))
            + &plugin(
                "ask",
                &format!(
                    "{PATIENT}grants.client = {{ form = true, url = [\"example.com\"], sample = {{ calls = 8, tokens = 1_000 }}, roots = true }}"
                ),
            )
            + &["echo", "burn", "chunk-flood", "log-flood", "slow-stream"].map(|name| plugin(name, PATIENT)).concat()
            + &["write-inside", "read-inside"].map(|name| plugin(name, &work)).concat()
            + &plugin("keeper", &format!("{PATIENT}grants.state = {{}}"))
            + &plugin("publish-all", &format!("{PATIENT}grants.publish = true"))
            + &["a", "b", "c"].map(|name| agent(name, "agent-calls", ALL)).concat()
            + &[("echo", "echo"), ("burn", "burn"), ("trap", "panic"), ("wait", "wait-forever")]
                .map(|(name, guest)| agent(name, guest, PATIENT))
                .concat()
            + &agent("poor", "burn", &format!("{PATIENT}limits.fuel = 100_000"));
        let path = home.write("portcullis.toml", config);
        // The binary compiles the components: the test program cannot be a compile worker.
        portcullis(&home, &["plugin", "list", "--load"]).good();
        let host = Host::start_whole(&Config::load(&path).unwrap(), None).await.unwrap();
        let parties = Parties::new("local", progress, host.agent.clone());
        let others = Parties::new("other", Arc::default(), host.agent.clone());
        Self { home, web, host, parties, others, calls: Mutex::default() }
    }

    /// The call that uses every import.
    pub(crate) fn everything(&self) -> Job {
        Job { plugin: "everything", arguments: json!({"path": self.web.address.to_string()}) }
    }

    /// Makes a call; what its tree has taken is in `parties.tools` until the next one.
    pub(crate) async fn call(&self, parties: &Parties, job: Job, cancel: CancellationToken) -> FinishedCall<Answer> {
        let context = CallContext::new(parties.principal);
        let id = context.id.to_string();
        self.calls.lock().unwrap().push(id.clone());
        *parties.tools.spent.lock().unwrap() = BTreeMap::from([(id.clone(), Spent { parent: None, fuel: None })]);
        let catalog = self.host.catalog.snapshot();
        let is_it = |id: &policy::PluginId| id.side == Side::Server && &*id.name == job.plugin;
        let plugin = catalog.all_plugins().find(|plugin| is_it(plugin.id())).unwrap();
        let request = CallRequest {
            context,
            link: ClientLink {
                sink: parties.client.clone(),
                client: parties.client.clone(),
                agent: parties.tools.clone(),
                steering: None,
                cancel,
                held: HeldResources::default(),
                fuel: None,
            },
            parent: None,
            journal: CallJournal::default(),
        };
        let tool = plugin.tool("run").unwrap();
        let finished = self.host.runner.call_tool(plugin.clone(), tool.clone(), job.arguments.into(), request).await;
        parties.tools.spent.lock().unwrap().get_mut(&id).unwrap().fuel = Some(finished.usage.spent.as_fuel());
        finished
    }

    /// Checks that a whole call succeeds.
    pub(crate) async fn assert_works(&self, parties: &Parties) {
        parties.progress.reset();
        parties.progress.release_answer();
        let answer = self.call(parties, self.everything(), CancellationToken::new()).await.result.unwrap();
        let text = format!("{:?}", answer.content);
        assert!(text.contains("14 worked"), "{text}");
    }

    /// Runs a call and stops it. Returns false if the call was over before.
    async fn run_and_stop(&self, job: &Job, when: When, stop: Stop) -> bool {
        let progress = &self.parties.progress;
        progress.reset();
        let cancel = CancellationToken::new();
        let mut call = pin!(self.call(&self.parties, job.clone(), cancel.clone()));
        let (mut polls, mut stopped) = (0, false);
        let finished = poll_fn(|context| {
            let wait = progress.current_wait(context.waker());
            // A call that was never polled has not begun.
            let now = match when {
                When::AfterPolls(count) => polls == count,
                When::WaitsFor(expected) => polls > 0 && wait == Some(expected),
            };
            if now && !stopped {
                stopped = true;
                match stop {
                    Stop::Drop => return Poll::Ready(None),
                    Stop::Cancel => cancel.cancel(),
                }
            } else if wait == Some(Wait::Server) {
                progress.release_answer();
            }
            polls += 1;
            call.as_mut().poll(context).map(Some)
        })
        .await;
        progress.release_answer();
        if let Some(finished) = finished {
            let result = finished.result.map(|_| ());
            let cancelled = stopped && matches!(result, Err(CallError::Cancelled));
            assert!(stopped || result.is_ok() || job.plugin != "everything", "{stop:?} {when:?}: {result:?}");
            assert!(
                !stopped || cancelled || result.is_ok() || job.plugin != "everything",
                "{stop:?} {when:?}: {result:?}"
            );
        }
        stopped
    }

    /// The same, then checks that nothing is left of the call.
    pub(crate) async fn assert_leaves_nothing(&self, job: &Job, when: When, stop: Stop) -> bool {
        let stopped = self.run_and_stop(job, when, stop).await;
        self.assert_nothing_is_held(&format!("{job:?} {stop:?} {when:?}")).await;
        stopped
    }

    pub(crate) async fn assert_nothing_is_held(&self, after: &str) {
        let nothing = json!({"instances": 0, "calls": 0, "slots": 0, "waiting": 0, "client": 1, "files": 0});
        // Work of the call on other threads may take a moment to end.
        let end = Instant::now() + TIMEOUT;
        while self.held_resources() != nothing && Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(self.held_resources(), nothing, "{after}");
    }

    /// The sum of a metric.
    pub(crate) fn metric(&self, prefix: &str) -> u64 {
        let text = self.host.metrics.text();
        let value = |line: &str| line.strip_prefix(prefix)?.rsplit(' ').next()?.parse::<u64>().ok();
        text.lines().filter(|line| !line.starts_with('#')).filter_map(value).sum()
    }

    /// What calls hold now. Instances that were prepared for later calls do not count.
    fn held_resources(&self) -> Value {
        let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let paths = descriptors.filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok());
        let of_calls = [self.home.path().join("state/scratch"), self.home.path().join("work")];
        let files = paths.filter(|path| of_calls.iter().any(|folder| path.starts_with(folder))).count();
        json!({
            "instances": self.metric("portcullis_instances ").saturating_sub(self.metric("portcullis_ready_instances ")),
            "calls": self.metric("portcullis_calls_in_progress"),
            "slots": self.metric("portcullis_root_calls "),
            "waiting": self.metric("portcullis_waiting_calls "),
            "client": Arc::strong_count(&self.parties.client),
            "files": files,
        })
    }

    /// Checks that each call has one verdict in the audit log; returns the outcomes.
    pub(crate) fn assert_all_are_recorded(&self) -> Vec<String> {
        assert!(self.host.audit.flush());
        let files = std::fs::read_dir(self.home.path().join("state/audit")).unwrap().flatten();
        let text: String = files.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
        let records = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut outcomes = BTreeMap::<String, Vec<String>>::new();
        for record in records.filter(|record| record["event"] == "verdict") {
            let call = record["call"].as_str().unwrap().to_owned();
            outcomes.entry(call).or_default().push(record["outcome"].as_str().unwrap().to_owned());
        }
        let calls = self.calls.lock().unwrap().clone();
        let outcome = |call: &String| match outcomes.get(call).map(Vec::as_slice) {
            Some([outcome]) => outcome.clone(),
            other => panic!("the verdicts on {call} are {other:?}"),
        };
        calls.iter().map(outcome).collect()
    }
}
