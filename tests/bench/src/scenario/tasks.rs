//! Tasks: how soon a computing one is stopped, and how fast those of a killed server go on.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::client::{Client, Template};
use crate::contender::Contender;
use crate::lab::Lab;
use crate::measure::Race;
use crate::percentile::percentile;
use crate::plugins::Set;
use crate::report::{Report, Target, Unit};
use crate::server::Transport;

const SECTION: &str = "tasks, over stdio";
/// The native server has none.
const CONTENDERS: [Contender; 2] = [Contender::Fuel, Contender::Ticks];
/// Open tasks of a server that is killed. So many may keep their instances while they wait.
const OPEN: usize = 1_000;
/// Steps of each before that.
const STEPS: u64 = 20;
/// How long each waits after its steps: longer than it takes to begin all.
const WAIT: Duration = Duration::from_secs(10);
/// Tasks that are cancelled in one round.
const CANCELLED: usize = 30;
/// Computes for seconds.
const LONG: u64 = 45;
/// Until a task computes.
const SETTLE: Duration = Duration::from_millis(20);

pub(super) async fn run(lab: &Lab, report: &mut Report) {
    let mut race = Race::line_up(SECTION, &CONTENDERS, report, async |_| Ok(())).await;
    let [p50, p99] =
        race.run(report, 0, lab.effort.rounds.min(3), async |contender, ()| cancel(lab, contender).await).await;
    report.row(SECTION, "from cancel to stopped, p50", Unit::Milliseconds, p50, None);
    report.row(SECTION, "from cancel to stopped, p99", Unit::Milliseconds, p99, Some(Target::AtMost(50.0)));
    let rounds = if lab.effort.quick { 1 } else { 3 };
    let mut race = Race::line_up(SECTION, &CONTENDERS, report, async |_| Ok(())).await;
    let [rate] = race.run(report, 0, rounds, async |contender, ()| recover(lab, contender).await).await;
    let what = format!("{OPEN} of {STEPS} steps after a kill, from start to end");
    report.row(SECTION, &what, Unit::PerSecond, rate, Some(Target::AtLeast(1_000.0)));
}

/// Milliseconds until a computing task has ended, once it is cancelled.
async fn cancel(lab: &Lab, contender: Contender) -> Result<[f64; 2]> {
    let mut server = lab.start(contender, Set::Tasks(OPEN), Transport::Stdio).await?;
    let mut client = server.connect().await?;
    let mut samples = Vec::with_capacity(CANCELLED);
    for _ in 0..CANCELLED {
        let task = begin(&mut client, &contender.tool("fib"), json!({"n": LONG})).await?;
        sleep(SETTLE).await;
        let began = Instant::now();
        client.ask(&Template::following_tasks("tasks/cancel", json!({"taskId": task}))).await?;
        follow(&mut client, &task, "cancelled").await.map_err(|error| server.explain(&error))?;
        samples.push(began.elapsed().as_secs_f64() * 1e3);
    }
    server.stop().await?;
    let [p50, p99] = [50.0, 99.0].map(|percent| percentile(&mut samples, percent));
    Ok([p50.context("no samples")?, p99.context("no samples")?])
}

/// Tasks per second that a server takes up and ends, which were open when the one before it was killed.
async fn recover(lab: &Lab, contender: Contender) -> Result<[f64; 1]> {
    let (set, transport) = (Set::Tasks(OPEN), Transport::Stdio);
    lab.forget_state(contender, set, transport)?;
    let mut server = lab.start(contender, set, transport).await?;
    let mut client = server.connect().await?;
    let (mut tasks, began) = (Vec::with_capacity(OPEN), Instant::now());
    let arguments = json!({"n": STEPS, "bytes": 100, "wait": WAIT.as_millis()});
    for _ in 0..OPEN {
        tasks.push(begin(&mut client, &contender.tool("chunks"), arguments.clone()).await?);
    }
    let last = Instant::now();
    let task = get(&mut client, &tasks[0]).await?;
    ensure!(task["status"] == "working", "the first had ended after {:?}: {task}", began.elapsed());
    server.stop().await?;
    // Nothing is left to wait for.
    sleep((last + WAIT).saturating_duration_since(Instant::now())).await;
    let began = Instant::now();
    let mut server = lab.start(contender, set, transport).await?;
    let mut client = server.connect().await?;
    for task in &tasks {
        let ended = follow(&mut client, task, "completed").await.map_err(|error| server.explain(&error))?;
        let said = &ended["result"]["content"][0]["text"];
        ensure!(*said == json!(STEPS.to_string()), "a task ended with {ended}");
    }
    let took = began.elapsed();
    server.stop().await?;
    Ok([OPEN as f64 / took.as_secs_f64()])
}

/// Begins a task and returns its id.
async fn begin(client: &mut Client, tool: &str, arguments: Value) -> Result<String> {
    let call = Template::following_tasks("tools/call", json!({"name": tool, "arguments": arguments}));
    let answer = client.ask(&call).await?;
    let created: Value = serde_json::from_str(&answer.text)?;
    let task = created["taskId"].as_str().with_context(|| format!("no task, but {created}"))?;
    Ok(task.to_owned())
}

async fn get(client: &mut Client, task: &str) -> Result<Value> {
    let answer = client.ask(&Template::following_tasks("tasks/get", json!({"taskId": task}))).await?;
    Ok(serde_json::from_str(&answer.text)?)
}

/// Asks until the task has ended.
async fn follow(client: &mut Client, task: &str, ends: &str) -> Result<Value> {
    loop {
        let now = get(client, task).await?;
        match now["status"].as_str() {
            Some("working") => sleep(Duration::from_millis(1)).await,
            Some(status) if status == ends => return Ok(now),
            _ => bail!("not {ends}, but {now}"),
        }
    }
}
