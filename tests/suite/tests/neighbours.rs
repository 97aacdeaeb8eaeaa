//! One server runs one bad plugin at a time; calls of a good plugin must hardly be delayed meanwhile.
//!
//! Measurements with and without a crowd alternate, so that other load on the machine affects both. The best round of a
//! crowd counts, since a systematic delay occurs in every round.

use crate::{demos::migrate, tasks};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use suite::client::modern_meta;
use suite::http::{call, legacy_session};
use suite::{Home, PATIENCE, Server, eventually, plugin, plugin_from};

/// A kind of bad plugin.
struct Kind {
    name: &'static str,
    guest: &'static str,
    settings: &'static str,
    arguments: fn() -> Value,
    /// Whether its clients use the protocol revision with sessions.
    legacy: bool,
    /// Whether it is the plugin `migrate`, whose calls become tasks.
    migrates: bool,
    /// Concurrent calls. Short calls get few: many would measure how many requests the host can answer.
    crowd: usize,
}

const LONG: &str = "limits.fuel = 1_000_000_000_000\nlimits.deadline = \"60s\"\nlimits.breaker.failures = 0";

const COMMON: Kind =
    Kind { name: "", guest: "", settings: LONG, arguments: || json!({}), legacy: false, migrates: false, crowd: 8 };

const KINDS: &[Kind] = &[
    Kind { name: "spin", guest: "spin", crowd: 64, ..COMMON },
    Kind {
        name: "spin, by ticks",
        guest: "spin",
        settings: "limits.metering = \"ticks\"\nlimits.cpu = \"60s\"\nlimits.deadline = \"60s\"\nlimits.breaker.failures = 0",
        crowd: 64,
        ..COMMON
    },
    Kind { name: "host calls", guest: "clock-flood", crowd: 64, ..COMMON },
    Kind { name: "hang", guest: "wait-forever", crowd: 64, ..COMMON },
    Kind { name: "trap", guest: "unreachable", settings: "", crowd: 2, ..COMMON },
    Kind { name: "memory", guest: "eat-memory", arguments: || json!({"n": 48}), ..COMMON },
    Kind { name: "log", guest: "log-flood", ..COMMON },
    Kind { name: "chunks", guest: "chunk-flood", ..COMMON },
    Kind { name: "large texts", guest: "large", arguments: || json!({"path": "text"}), ..COMMON },
    Kind { name: "large texts in sessions", guest: "large", legacy: true, ..COMMON },
    Kind { name: "pictures", guest: "large", arguments: || json!({"path": "picture"}), ..COMMON },
    Kind { name: "structures", guest: "large", arguments: || json!({"path": "structure"}), ..COMMON },
    // As many at once as may be tasks, and as many that wait for their results.
    Kind { name: "migrations", migrates: true, ..COMMON },
];

/// Timed calls of the neighbour in each measurement.
const CALLS: usize = 100;
/// Measurements until one is good. One beside other programs of this machine does not count, but a good one is good.
const ROUNDS: usize = 3;
/// Measurements at most, with those that do not count.
const MAX_ROUNDS: usize = 20;
/// The processors that other programs may use in a measurement that counts.
const OTHERS: f64 = 0.1;
/// Timed calls in each measurement of a computing neighbour.
const LONG_CALLS: usize = 8;
/// Untimed calls of the neighbour before each measurement: they wait out the burst of requests with which a crowd
/// starts. Any client may send such a burst, and `[server] per-principal` bounds it; this test measures only plugins.
const SETTLING: usize = 10;
/// The tolerance beyond a factor of two: a call may wait for another guest's time slice, a tick of 5 ms, once when it
/// arrives and once more before its guest resumes.
const SLACK: Duration = Duration::from_millis(10);

/// Calls of migrations are tasks from the start, four at a time.
const AS_TASKS: &str = "[server.tasks]\ninline = \"0s\"\nkeep = \"0s\"\nper-principal = 4\n\n";

fn start() -> (Server, SocketAddr) {
    let bad = KINDS.iter().enumerate().map(|(at, kind)| match kind.migrates {
        true => migrate::config(&format!("bad{at}")),
        false => plugin_from(&format!("bad{at}"), &suite::paths::guest(kind.guest), kind.settings),
    });
    let home = Home::new();
    migrate::supply(&home, 40, 1_000);
    Server::start_http_in(
        home,
        &(AS_TASKS.to_owned() + &bad.collect::<String>() + &plugin("echo", "") + &plugin("burn", LONG)),
    )
}

/// Clients that call a bad plugin again and again, until dropped.
struct Crowd {
    ended: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
    clients: Vec<JoinHandle<()>>,
}

impl Crowd {
    fn start(address: SocketAddr, at: usize) -> Self {
        let kind = &KINDS[at];
        let (ended, streams, sent) = (Arc::default(), Arc::default(), Arc::<AtomicUsize>::default());
        let mut crowd = Self { ended, streams, clients: vec![] };
        for _ in 0..kind.crowd {
            let (ended, streams, sent) = (crowd.ended.clone(), crowd.streams.clone(), sent.clone());
            crowd.clients.push(std::thread::spawn(move || {
                let headers = headers(address, at);
                while !ended.load(Ordering::Relaxed) {
                    let id = sent.fetch_add(1, Ordering::Relaxed);
                    let mut stream = begin(address, at, &headers, id);
                    streams.lock().unwrap().push(stream.try_clone().unwrap());
                    // The answer is discarded: parsing it would use CPU time and distort the measurement.
                    let mut buffer = vec![0; 1 << 16];
                    while !ended.load(Ordering::Relaxed) && stream.read(&mut buffer).is_ok_and(|read| read > 0) {}
                }
            }));
        }
        eventually(PATIENCE, || (sent.load(Ordering::Relaxed) >= kind.crowd).then_some(())).expect("they all call");
        crowd
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        while let Some(client) = self.clients.pop() {
            while !client.is_finished() {
                self.streams.lock().unwrap().drain(..).for_each(|stream| drop(stream.shutdown(Shutdown::Both)));
                std::thread::yield_now();
            }
        }
    }
}

/// The headers of a client of a bad plugin; a legacy client opens its session for them.
fn headers(address: SocketAddr, at: usize) -> Vec<(String, String)> {
    match KINDS[at].legacy {
        true => legacy_session(address, true),
        false => [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", &tool(at))]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
    }
}

fn tool(at: usize) -> String {
    format!("bad{at}__{}", if KINDS[at].migrates { "migrate" } else { "run" })
}

/// Sends a call of a bad plugin.
fn begin(address: SocketAddr, at: usize, headers: &[(String, String)], id: usize) -> TcpStream {
    let mut params = json!({"name": tool(at), "arguments": (KINDS[at].arguments)(), "_meta": modern_meta(true)});
    params["_meta"]["dev.portcullis/partialResultToken"] = json!(1);
    if KINDS[at].migrates {
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = tasks::abilities();
    }
    let body = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    stream
}

/// The sorted times of sequential calls.
fn times(address: SocketAddr, tool: &str, arguments: &Value, calls: usize) -> Vec<Duration> {
    let one = |_| {
        // The time includes connecting, since a busy host may be slow to accept.
        let began = Instant::now();
        call(address, tool, arguments.clone(), false).good();
        began.elapsed()
    };
    let mut times: Vec<Duration> = (0..calls).map(one).collect();
    times.sort();
    times
}

fn p50(times: &[Duration]) -> Duration {
    times[times.len() / 2]
}

fn p99(times: &[Duration]) -> Duration {
    times[(times.len() * 99).div_ceil(100) - 1]
}

/// Waits until the host is idle.
fn quiet(server: &Server) {
    let still = || {
        let before = server.cpu();
        std::thread::sleep(Duration::from_millis(50));
        (server.cpu().saturating_sub(before) < Duration::from_millis(5)).then_some(())
    };
    eventually(PATIENCE, still).expect("nothing of the crowd goes on when its clients have gone");
}

/// Times without a crowd, and beside one.
type Round = [Vec<Duration>; 2];

/// CPU time that neither the server nor this process has used: of other programs, and what the machine's own host took.
fn others(server: &Server) -> Duration {
    let stat = std::fs::read_to_string("/proc/stat").unwrap();
    let ticks: Vec<u64> = stat.lines().next().unwrap().split_whitespace().skip(1).flat_map(str::parse).collect();
    // proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal, of 10 ms each.
    let busy = Duration::from_millis(10 * (ticks[..3].iter().sum::<u64>() + ticks[5..8].iter().sum::<u64>()));
    busy.saturating_sub(server.cpu() + cpu_of_this_process())
}

fn cpu_of_this_process() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // proc_pid_stat(5): utime and stime are the 12th and 13th after the name.
    let fields = stat.rsplit_once(')').unwrap().1.split_whitespace();
    Duration::from_millis(10 * fields.skip(11).take(2).flat_map(str::parse::<u64>).sum::<u64>())
}

/// Measures without and beside a crowd until `is_good` accepts the rounds, or `ROUNDS` that count are not good.
fn rounds(
    server: &Server,
    address: SocketAddr,
    at: usize,
    measure: impl Fn() -> Vec<Duration>,
    is_good: impl Fn(&[Round]) -> bool,
) -> (Vec<Round>, bool) {
    let round = || {
        quiet(server);
        let alone = measure();
        let crowd = Crowd::start(address, at);
        times(address, "echo__run", &json!({}), SETTLING);
        let beside = measure();
        drop(crowd);
        [alone, beside]
    };
    let (mut rounds, mut counted) = (vec![], 0);
    while counted < ROUNDS && rounds.len() < MAX_ROUNDS {
        let (began, before) = (Instant::now(), others(server));
        rounds.push(round());
        if is_good(&rounds) {
            return (rounds, true);
        }
        let used = others(server).saturating_sub(before);
        counted += usize::from(used <= began.elapsed().mul_f64(OTHERS));
    }
    (rounds, false)
}

fn ms(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

#[test]
fn a_bad_plugin_does_not_delay_its_neighbours() {
    let (server, address) = start();
    let short = || times(address, "echo__run", &json!({}), CALLS);
    short();
    let (mut wrong, mut told) = (vec![], vec![]);
    let only = std::env::var("PORTCULLIS_KIND").ok();
    for (at, kind) in KINDS.iter().enumerate().filter(|(_, kind)| only.as_deref().is_none_or(|only| only == kind.name))
    {
        let excess = |[alone, beside]: &Round| p99(beside).saturating_sub(p99(alone) * 2 + SLACK);
        let is_good = |rounds: &[Round]| rounds.iter().any(|round| excess(round).is_zero());
        let (rounds, good) = rounds(&server, address, at, short, is_good);
        // The round that counts, with and without the crowd: the best of each may come from different rounds.
        let [alone, beside] = rounds.iter().min_by_key(|round| excess(round)).unwrap();
        let line = format!(
            "{} p50 {} -> {}, p99 {} -> {} ms in round {}",
            kind.name,
            ms(p50(alone)),
            ms(p50(beside)),
            ms(p99(alone)),
            ms(p99(beside)),
            rounds.len()
        );
        println!("{line}");
        if !good {
            wrong.push(line.clone());
        }
        told.push(line);
    }
    println!("hostile: neighbours: alone -> beside: {}; at most twice as long and {SLACK:?}", told.join("; "));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The sorted times of computing calls, measured in the host's CPU time per processor: other load on this machine would
/// distort wall-clock times, and those of a permanently busy host more than those of an idle one.
fn host_times(server: &Server, calls: usize, one: impl Fn()) -> Vec<Duration> {
    let processors = u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap();
    let timed = |_| {
        let before = server.cpu();
        one();
        server.cpu().saturating_sub(before) / processors
    };
    let mut times: Vec<Duration> = (0..calls).map(timed).collect();
    times.sort();
    times
}

#[test]
fn a_computing_neighbour_gets_its_share_beside_a_crowd() {
    let (server, address) = start();
    let long = |n: u64| times(address, "burn__run", &json!({"n": n}), 1)[0];
    // The call is long enough to be scheduled many times.
    let mut n = 1_000_000;
    while long(n) < Duration::from_millis(60) {
        n *= 2;
    }
    let mut told = vec![];
    for at in [0, 1] {
        // `host_times` divides by all processors, but a call without a crowd uses only one.
        let processors = u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap();
        let best = |rounds: &[Round], of: usize| rounds.iter().map(|round| p50(&round[of])).min().unwrap();
        // Its share is half of all processors, of which it uses at most one: on one processor, it takes twice as long by right.
        // Twice that is the bound.
        let is_good = |rounds: &[Round]| best(rounds, 1) * processors.min(2) <= best(rounds, 0) * processors * 4;
        let (rounds, good) = rounds(&server, address, at, || host_times(&server, LONG_CALLS, || _ = long(n)), is_good);
        let [alone, beside] = [best(&rounds, 0) * processors, best(&rounds, 1)];
        told.push(format!("{} p50 {} -> {} ms in {} rounds", KINDS[at].name, ms(alone), ms(beside), rounds.len()));
        assert!(good, "{told:?}");
    }
    println!("hostile: neighbours: computing: {}", told.join("; "));
}
