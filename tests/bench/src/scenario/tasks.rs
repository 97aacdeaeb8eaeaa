//! Tasks: how soon a computing one is stopped, and how soon those of a server that was killed go on.

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
use crate::server::{Server, Transport};

const SECTION: &str = "tasks";
/// The native server has none.
const CONTENDERS: [Contender; 2] = [Contender::Fuel, Contender::Ticks];
/// Tasks that are cancelled in one round.
const CANCELLED: usize = 30;
/// Tasks that wait for an answer when their server is killed.
const WAITING: usize = 1_000;
/// Steps that each of them has done by then.
const STEPS: u64 = 20;
/// Connections of those who answer them.
const CONNECTIONS: usize = 32;
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
    let mut race = Race::line_up(SECTION, &CONTENDERS, report, async |_| Ok(())).await;
    let [recovered] =
        race.run(report, 0, lab.effort.rounds.min(3), async |contender, ()| recover(lab, contender).await).await;
    let what = format!("after a kill: calls of {STEPS} steps that go on, and end");
    report.row(SECTION, &what, Unit::PerSecond, recovered, Some(Target::AtLeast(1_000.0)));
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

/// How many tasks of a server that was killed the next one brings to their end in a second, once they are answered.
async fn recover(lab: &Lab, contender: Contender) -> Result<[f64; 1]> {
    let set = Set::AskingTasks(WAITING);
    let mut server = lab.start(contender, set, Transport::Http).await?;
    let begun = together(&server, vec![String::new(); WAITING], async |client, _| {
        begin(client, &contender.tool("steps"), json!({"n": STEPS})).await
    });
    let tasks = begun.await.map_err(|error| server.explain(&error))?;
    let asked =
        together(&server, tasks, async |client, task| follow(client, &task, "input_required").await.map(|()| task));
    let tasks = asked.await.map_err(|error| server.explain(&error))?;
    server.stop().await?;
    server = lab.start(contender, set, Transport::Http).await?;
    server.connect().await?.ask(&Template::list_tools()).await?;
    let began = Instant::now();
    let answered = together(&server, tasks, async |client, task| {
        let responses = json!({"answer": {"action": "accept", "content": {"answer": "this"}}});
        let update = json!({"taskId": task, "inputResponses": responses});
        client.ask(&Template::following_tasks("tasks/update", update)).await?;
        Ok(task)
    });
    let tasks = answered.await.map_err(|error| server.explain(&error))?;
    let ended = together(&server, tasks, async |client, task| follow(client, &task, "completed").await.map(|()| task));
    ended.await.map_err(|error| server.explain(&error))?;
    let took = began.elapsed();
    server.stop().await?;
    Ok([WAITING as f64 / took.as_secs_f64()])
}

/// Does the same for each task, for several at once.
async fn together(
    server: &Server,
    tasks: Vec<String>,
    work: impl AsyncFn(&mut Client, String) -> Result<String>,
) -> Result<Vec<String>> {
    let each = tasks.len().div_ceil(CONNECTIONS);
    let share = async |tasks: &[String]| {
        let mut client = Client::Http(server.connect_http().await?);
        let mut done = Vec::with_capacity(tasks.len());
        for task in tasks {
            done.push(work(&mut client, task.clone()).await?);
        }
        anyhow::Ok(done)
    };
    Ok(futures::future::try_join_all(tasks.chunks(each).map(share)).await?.concat())
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
            Some("working" | "input_required") => sleep(Duration::from_millis(1)).await,
            _ => bail!("not {ends}, but {now}"),
        }
    }
}
