//! Tasks: how soon a computing one is stopped.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
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
}

/// Milliseconds until a computing task has ended, once it is cancelled.
async fn cancel(lab: &Lab, contender: Contender) -> Result<[f64; 2]> {
    let mut server = lab.start(contender, Set::Tasks, Transport::Stdio).await?;
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
async fn follow(client: &mut Client, task: &str, ends: &str) -> Result<()> {
    loop {
        let now = get(client, task).await?;
        match now["status"].as_str() {
            Some(status) if status == ends => return Ok(()),
            Some("working") => sleep(Duration::from_millis(1)).await,
            _ => bail!("not {ends}, but {now}"),
        }
    }
}
