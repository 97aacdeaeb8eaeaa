//! The host is ended at every change that a task makes in its store, before it and after it, and at random moments under load.
//! Nothing that its client was told is lost, and nothing is done twice. `PORTCULLIS_CRASH_ROUNDS` sets how often.

use super::{abilities, wait_for};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};
use suite::web::{Reply, Web};
use suite::{Client, Era, Home, Server, paths, plugin_from, soak, with_manifest};

/// Rounds of a whole run without the variable. A task makes some 26 changes, and the host ends before and after each.
const ROUNDS: usize = 100;
/// Points of a task at which the host ends, if there are rounds enough.
const POINTS: usize = 40;
/// In a run that is not whole, the host ends at one point of so many, in turn by chance.
const STRIDE: usize = 8;
/// Tasks that begin between two ends of the host, under load.
const TASKS: usize = 4;
/// Tasks that are under way, at most: each has files open, of which one principal may have only so many.
const AT_ONCE: usize = 120;

/// How often the host is to end, if this run says so.
fn wanted_rounds() -> Option<usize> {
    std::env::var("PORTCULLIS_CRASH_ROUNDS").ok()?.parse().ok()
}

fn rounds() -> usize {
    wanted_rounds().unwrap_or(ROUNDS)
}

fn is_whole() -> bool {
    wanted_rounds().is_some() || soak::is_whole()
}

/// The outside world, which sees what is done: servers are made by their token, as a cloud does; others have no token.
pub(super) struct World {
    pub(super) web: Web,
    home: Option<Home>,
    config: String,
    saves: bool,
}

impl World {
    fn new(saves: bool) -> Self {
        Self { saves, ..Self::with("", "") }
    }

    /// With these limits of the plugin and of its requests.
    pub(super) fn with(limits: &str, of_requests: &str) -> Self {
        let web = Web::serve(|seen| {
            // So that most calls have become tasks by then.
            std::thread::sleep(Duration::from_millis(20));
            Reply::new(201, format!("made {}", seen.body))
        });
        let home = Home::new();
        let allow = format!("POST,PUT,GET http://127.0.0.1:{}", web.address.port());
        let requests = json!({"http": [allow], "filesystem": "write", "client": {"form": true}});
        let manifest = json!({"name": "errand", "version": "0.1.0", "requests": requests});
        let component = with_manifest(fs::read(paths::guest("errand")).unwrap(), &manifest);
        let source = home.write("errand.wasm", component);
        let grants = format!(
            "grants.client.form = true\ngrants.http = [{{ allow = \"{allow}\", private = true{of_requests} }}]\n\
             grants.filesystem = [{{ host = \"work\", guest = \"/work\", access = \"write\" }}]\nlimits.deadline = \"10m\"\n{limits}"
        );
        let config = "[server.tasks]\ninline = \"0s\"\n\n".to_owned() + &plugin_from("errand", &source, &grants);
        Self { web, home: Some(home), config, saves: false }
    }

    pub(super) fn start(&mut self, point: Option<&str>) -> Client {
        let home = self.home.take().unwrap();
        let server = Server::spawn(home, &self.config, &["--no-supervisor"], |command| {
            if let Some(point) = point {
                command.env("PORTCULLIS_CRASH_AT", point);
            }
        });
        server.wait_until_loaded();
        Client::able(server, Era::Modern, false, abilities())
    }

    /// What one task does: a server by its token, a booking without one, a line in a log.
    fn errand(&self, name: &str) -> Value {
        let web = self.web.url("");
        let steps = format!(
            "append log {name}-a;\nput {web}/server {name}\nget {web}/quote\npost {web}/book {name}\nappend log {name}-b;"
        );
        match self.saves {
            true => json!({"name": "errand__run", "arguments": {"path": steps, "n": 1}}),
            false => json!({"name": "errand__run", "arguments": {"path": steps}}),
        }
    }

    /// How often each body came to a path.
    fn ledger(&self, path: &str) -> BTreeMap<String, usize> {
        let mut ledger = BTreeMap::new();
        for seen in self.web.seen().iter().filter(|seen| seen.path() == path) {
            *ledger.entry(seen.body.clone()).or_default() += 1;
        }
        ledger
    }
}

/// Whether a task that its client knows has done everything once; false if it says of a step that nobody knows.
fn check(world: &World, log: &str, name: &str, ended: &Value) -> bool {
    let lines = |part: &str| log.matches(&format!("{name}-{part};")).count();
    let (booked, made) = (world.ledger("/book"), world.ledger("/server"));
    let booked = booked.get(name).copied().unwrap_or_default();
    assert!(lines("a") <= 1 && lines("b") <= 1 && booked <= 1, "done twice: {log} {booked} {ended}");
    let text = ended.to_string();
    if text.contains("it is unknown whether") {
        return false;
    }
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["result"]["isError"], false, "{ended}");
    assert_eq!((lines("a"), lines("b"), booked), (1, 1, 1), "{log} {ended}");
    // Exactly one: a cloud makes one for each token, however often it is asked.
    assert!(made[name] >= 1 && text.contains(&format!("put: 201 made {name}")), "{ended}");
    true
}

/// What a client was told of a call.
enum Told {
    Task(String),
    /// It ended before it was a task.
    End(Value),
}

impl Told {
    /// How it ended, or ends in a server that runs.
    fn end(&self, client: &mut Client) -> Value {
        match self {
            Self::Task(task) => wait_for(client, task, |task| task["status"] != "working"),
            Self::End(result) => json!({"status": "completed", "result": result}),
        }
    }
}

/// Sends a call. None if the server ends before it answers.
fn begin(client: &mut Client, params: Value) -> Option<Told> {
    let answer = client.try_request("tools/call", params)?;
    let result = &answer["result"];
    assert!(result.is_object(), "{answer}");
    Some(result["taskId"].as_str().map_or_else(|| Told::End(result.clone()), |task| Told::Task(task.to_owned())))
}

/// Polls a task until it ends, or the server does.
fn follow(client: &mut Client, task: &str) {
    while let Some(answer) = client.try_request("tasks/get", json!({"taskId": task}))
        && answer["result"]["status"] == "working"
    {
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_host_that_ends_at_any_change_loses_nothing_and_does_nothing_twice() {
    crash_at_each_change(false);
}

/// Also between an effect and the checkpoint behind it, and before and after the checkpoint takes the place of its steps.
#[test]
fn a_call_that_saves_loses_nothing_and_does_nothing_twice() {
    let points = crash_at_each_change(true);
    if !is_whole() {
        return;
    }
    for point in ["before replace of task-journal", "after replace of task-journal", "after append of task-journal"] {
        assert!(points.contains(point), "{points:?}");
    }
}

fn crash_at_each_change(saves: bool) -> BTreeSet<String> {
    let mut points = BTreeSet::new();
    let (mut tried, mut survived, mut unknown, mut told) = (0, 0, 0, 0);
    let stride = if is_whole() { 1 } else { STRIDE };
    let first = fastrand::usize(..stride);
    println!("every {stride}th point from number {first} on");
    let all = (1..).flat_map(|change| ["before", "after"].map(|when| format!("{change}:{when}")));
    for point in all.skip(first).step_by(stride).take(rounds()) {
        tried += 1;
        let mut world = World::new(saves);
        let mut client = world.start(Some(&point));
        let task = begin(&mut client, world.errand("one"));
        if let Some(Told::Task(task)) = &task {
            follow(&mut client, task);
        }
        // What it does once the task has ended is done soon.
        let has_crashed = suite::eventually(Duration::from_secs(3), || (!client.server.is_alive()).then_some(()));
        if has_crashed.is_none() {
            // It made fewer changes this time, or all of its changes have had their turn.
            survived += 1;
            if survived > (4 / stride).max(1) {
                break;
            }
            continue;
        }
        let line = client.server.wait_for_log("crash point: ");
        let point = line.split("crash point: ").nth(1).unwrap();
        points.insert(point.to_owned());
        client.server.restart_without("PORTCULLIS_CRASH_AT");
        if let Some(task) = task {
            told += 1;
            let ended = task.end(&mut client);
            let log = fs::read_to_string(client.server.home.work().join("log")).unwrap_or_default();
            unknown += usize::from(!check(&world, &log, "one", &ended));
        } else {
            // Nobody was told of it, so it may have been done once or not at all.
            let booked = world.ledger("/book").values().sum::<usize>();
            assert!(booked <= 1, "{point}: {booked}");
        }
    }
    println!(
        "hostile: crash points: {tried} tried, {} kinds, {told} tasks, {unknown} of them with an unknown step",
        points.len()
    );
    println!("{points:?}");
    assert!(points.len() >= 8 / stride && told > 20 / stride);
    assert!(tried - survived >= POINTS.min(rounds()) / stride, "{} points", tried - survived);
    // The booking, which has no token, and the lines, which have no place in their file: before and after each begins.
    assert!(unknown <= told / 2 || !is_whole(), "{unknown}");
    points
}

#[test]
fn a_host_that_is_killed_again_and_again_under_load_loses_nothing_and_does_nothing_twice() {
    let mut random = fastrand::Rng::new();
    println!("seed {}", random.get_seed());
    let mut world = World::new(random.bool());
    let mut client = world.start(None);
    let (mut tasks, mut waited, mut unknown, mut slowest) = (Vec::<(String, Told)>::new(), 0, 0, Duration::ZERO);
    let kills = wanted_rounds().unwrap_or(soak::share(ROUNDS)).div_ceil(2);
    for round in 0..kills {
        for (_, task) in tasks.iter().take((round * TASKS).saturating_sub(AT_ONCE)).skip(waited) {
            task.end(&mut client);
            waited += 1;
        }
        for at in 0..TASKS {
            let name = format!("t{round}-{at}");
            if let Some(task) = begin(&mut client, world.errand(&name)) {
                tasks.push((name, task));
            }
        }
        std::thread::sleep(Duration::from_millis(random.u64(0..60)));
        let began = Instant::now();
        client.server.restart_stdio();
        client.request("server/discover", json!({})).result();
        slowest = slowest.max(began.elapsed());
    }
    for (name, task) in &tasks {
        let ended = task.end(&mut client);
        let log = fs::read_to_string(client.server.home.work().join("log")).unwrap_or_default();
        unknown += usize::from(!check(&world, &log, name, &ended));
    }
    println!(
        "hostile: kills: {}, {} tasks, {unknown} with an unknown step; serving again after {slowest:?}",
        kills,
        tasks.len()
    );
    assert_eq!(tasks.len(), kills * TASKS);
}
