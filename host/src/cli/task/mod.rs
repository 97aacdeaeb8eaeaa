//! `portcullis task`: tasks as they are stored, for the operator, while a server serves them or not.

use super::options::ConfigFile;
use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use mcp::{OperatorRequest, StoredTask, StoredTasks, Timeline};
use platform::clock::{Clock, SystemClock};
use platform::storage::SqliteStore;
use platform::telemetry::printable;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

/// How often a followed task is read.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);
/// Characters of the longest bar of a timeline.
const BAR: u64 = 24;
/// The shortest part of an id that names a task.
const SHORTEST_ID: usize = 4;

#[derive(Subcommand)]
pub(super) enum TaskCommand {
    /// List all tasks, the oldest first.
    List {
        /// Only those that have not ended.
        #[arg(long)]
        open: bool,
        /// Print them as JSON, one in each line.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Show how a task stands, and its result once it has ended.
    Show {
        #[command(flatten)]
        task: Which,
        /// Also what its call did and waited for, and when.
        #[arg(long)]
        timeline: bool,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Follow a task: each message, until it ends.
    Tail(Which),
    /// Cancel a task. Whoever serves it does so within a second.
    Cancel(Which),
    /// Send a message to the tool of a task.
    Steer {
        #[command(flatten)]
        task: Which,
        /// What to tell it.
        message: String,
    },
    /// Give a task more fuel, whatever its limits are. One that waits for fuel goes on within a second.
    TopUp {
        #[command(flatten)]
        task: Which,
        /// Units; a billion is about a second.
        #[arg(long, value_name = "UNITS", value_parser = clap::value_parser!(u64).range(1..))]
        fuel: u64,
    },
}

#[derive(Args)]
pub(super) struct Which {
    /// The id of the task, or how it begins.
    id: String,
    #[command(flatten)]
    file: ConfigFile,
}

impl TaskCommand {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::List { open, json, file } => list(&file, open, json).await?,
            Self::Show { task, timeline, json } => show(&task, timeline, json).await?,
            Self::Tail(task) => tail(&task).await?,
            Self::Cancel(task) => {
                let asked = ask(&task, OperatorRequest::Cancel).await?;
                println!("The task {} is to be cancelled.", asked.id);
            }
            Self::Steer { task, message } => {
                let asked = ask(&task, OperatorRequest::Steer(message)).await?;
                println!("The message waits for the task {}.", asked.id);
            }
            Self::TopUp { task, fuel } => {
                let asked = ask(&task, OperatorRequest::TopUp(fuel)).await?;
                println!("The task {} gets {fuel} units of fuel.", asked.id);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn open(file: &ConfigFile) -> anyhow::Result<StoredTasks> {
    let folder = file.load_or_empty()?.state.context("no state folder: set PORTCULLIS_STATE or server.state")?;
    ensure!(folder.is_dir(), "there is no folder {}: nothing was kept yet", folder.display());
    let store = tokio::task::spawn_blocking(move || SqliteStore::open(&folder, Arc::new(SystemClock))).await??;
    Ok(StoredTasks::new(Arc::new(store)))
}

async fn find(tasks: &StoredTasks, id: &str) -> anyhow::Result<StoredTask> {
    if let Some(task) = tasks.get(id).await? {
        return Ok(task);
    }
    ensure!(id.len() >= SHORTEST_ID, "write at least {SHORTEST_ID} characters of the id");
    let mut found: Vec<_> = tasks.list().await?.into_iter().filter(|task| task.id.starts_with(id)).collect();
    match (found.pop(), found.len()) {
        (Some(task), 0) => Ok(task),
        (Some(_), more) => bail!("{} tasks have ids that begin with {id:?}; write more of it", more + 1),
        (None, _) => bail!("there is no task {id:?}; `portcullis task list` lists those that are kept"),
    }
}

async fn list(file: &ConfigFile, only_open: bool, json: bool) -> anyhow::Result<()> {
    let tasks = open(file).await?.list().await?;
    let shown: Vec<_> = tasks.iter().filter(|task| !only_open || !task.has_ended()).collect();
    if json {
        shown.iter().for_each(|task| println!("{}", task.to_json()));
        return Ok(());
    }
    if shown.is_empty() {
        println!("No task is {}.", if only_open { "open" } else { "kept" });
    }
    for task in shown {
        let age = age(task.created());
        let message = task.message().map(|message| format!("  {}", printable(message))).unwrap_or_default();
        let (status, tool, principal) = (task.status(), printable(task.tool()), printable(task.principal()));
        println!("{}  {status:14}  {tool}  {principal}  {age} ago{message}", task.id);
    }
    Ok(())
}

async fn show(which: &Which, timeline: bool, json: bool) -> anyhow::Result<()> {
    let tasks = open(&which.file).await?;
    let task = find(&tasks, &which.id).await?;
    let mut document = task.to_json();
    let timeline = match timeline {
        true => Some(tasks.timeline(&task).await?),
        false => None,
    };
    if json {
        if let Some(timeline) = timeline {
            document["timeline"] = serde_json::to_value(timeline)?;
        }
        println!("{document}");
        return Ok(());
    }
    println!("task       {}", task.id);
    println!("tool       {}", printable(task.tool()));
    println!("principal  {}", printable(task.principal()));
    println!("status     {}", task.status());
    println!("created    {}", time(task.created()));
    println!("updated    {}", time(task.updated()));
    if let Some(message) = task.message() {
        println!("message    {}", printable(message));
    }
    for (name, part) in
        [("asks", "inputRequests"), ("fuel", "fuel"), ("cost", "usage"), ("result", "result"), ("error", "error")]
    {
        if let Some(value) = document.get(part).filter(|value| !value.is_null()) {
            println!("{name:10} {}", printable(&value.to_string()));
        }
    }
    if let Some(timeline) = timeline {
        print_timeline(&timeline);
    }
    Ok(())
}

/// A line for each step: when it began, how long it took, as a number and a bar, and what it was.
fn print_timeline(timeline: &Timeline) {
    let Some(first) = timeline.steps.first() else {
        return println!("timeline   nothing is recorded of what its call did");
    };
    let took = |step: &mcp::TimelineStep| step.ends.unwrap_or(step.begins).saturating_sub(step.begins);
    let longest = timeline.steps.iter().map(took).max().unwrap_or_default().max(1);
    println!("timeline");
    for step in &timeline.steps {
        let depth = step.step.matches('.').count();
        let bar = "=".repeat(usize::try_from(took(step) * BAR / longest).unwrap_or_default());
        let begins = seconds(step.begins.saturating_sub(first.begins));
        let length = if step.ends.is_some() { seconds(took(step)) } else { "open".to_owned() };
        let times = if step.times > 1 { format!(" x{}", step.times) } else { String::new() };
        let indent = "  ".repeat(depth);
        println!("  {begins:>10}  {length:>10}  {bar:24}  {indent}{}{times}", printable(&step.import));
    }
    if timeline.more > 0 {
        println!("  and {} more", timeline.more);
    }
}

async fn tail(which: &Which) -> anyhow::Result<()> {
    let tasks = open(&which.file).await?;
    let mut task = find(&tasks, &which.id).await?;
    let mut last = None;
    loop {
        let now = (task.status(), task.message().map(str::to_owned));
        if last.as_ref() != Some(&now) {
            let message = now.1.as_deref().map(|message| format!("  {}", printable(message))).unwrap_or_default();
            println!("{}  {}{message}", time(task.updated()), now.0);
            last = Some(now);
        }
        if task.has_ended() {
            return Ok(());
        }
        tokio::time::sleep(FOLLOW_INTERVAL).await;
        let id = task.id;
        task = tasks.get(&id).await?.with_context(|| format!("the task {id} is not kept any more"))?;
    }
}

async fn ask(which: &Which, request: OperatorRequest) -> anyhow::Result<StoredTask> {
    let tasks = open(&which.file).await?;
    let task = find(&tasks, &which.id).await?;
    ensure!(!task.has_ended(), "the task {} has ended: it is {}", task.id, task.status());
    tasks.ask(&task, request).await?;
    Ok(task)
}

fn time(millis: u64) -> String {
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(millis)).to_string()
}

fn seconds(millis: u64) -> String {
    format!("{}.{:03} s", millis / 1_000, millis % 1_000)
}

fn age(millis: u64) -> String {
    let now = SystemClock.unix();
    let age = now.saturating_sub(Duration::from_millis(millis));
    humantime::format_duration(Duration::from_secs(age.as_secs())).to_string()
}
