//! `portcullis task`: tasks as they are stored, for the operator, while a server serves them or not.

mod live_screen;
mod picture;
mod repeats;
mod stored;
mod watch;

use super::json;
use super::options::ConfigFile;
use anyhow::{Context, ensure};
use clap::{Args, Subcommand};
use mcp::{OperatorRequest, StoredTask};
use picture::Picture;
use platform::telemetry::printable;
use runtime::imports::SteeringMessage;
use std::process::ExitCode;
use std::time::{Duration, UNIX_EPOCH};
use stored::{find, now, open};
use watch::Watch;

/// How often a followed task is read.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);

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
        /// Also what its call did and waited for, when, and what it used.
        #[arg(long)]
        timeline: bool,
        /// Print it as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Follow a task: each message, until it ends.
    Tail(Which),
    /// Watch the open tasks, or the timeline of one, until `q` is pressed. Without a terminal: once.
    Watch(Watch),
    /// Cancel a task. Whoever serves it does so within a second.
    Cancel(Which),
    /// Send a message to the tool of a task.
    Steer {
        #[command(flatten)]
        task: Which,
        /// What to tell it.
        #[arg(required_unless_present = "end", default_value = "", hide_default_value = true)]
        message: String,
        /// Nothing comes after it: a tool that waits for messages is told so.
        #[arg(long)]
        end: bool,
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
            Self::Watch(watch) => watch.run().await?,
            Self::Cancel(task) => {
                let asked = ask(&task, OperatorRequest::Cancel).await?;
                println!("The task {} is to be cancelled.", asked.id);
            }
            Self::Steer { task, message, end } => {
                let asked =
                    ask(&task, OperatorRequest::Steer(SteeringMessage { text: message, seq: None, end })).await?;
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

async fn list(file: &ConfigFile, only_open: bool, json: bool) -> anyhow::Result<()> {
    let tasks = open(file).await?.list().await?;
    let shown: Vec<_> = tasks.iter().filter(|task| !only_open || !task.has_ended()).collect();
    if json {
        shown.iter().for_each(|task| json::print_line(&task.to_json()));
        return Ok(());
    }
    if shown.is_empty() {
        println!("No task is {}.", if only_open { "open" } else { "kept" });
    }
    for task in shown {
        let age = age(task.created());
        let message = task.message().map(|message| format!("  {}", printable(&message))).unwrap_or_default();
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
        true => Some(tasks.timeline(&task, now()).await?),
        false => None,
    };
    if json {
        if let Some(timeline) = timeline {
            document["timeline"] = serde_json::to_value(timeline)?;
        }
        json::print_line(&document);
        return Ok(());
    }
    println!("task       {}", task.id);
    println!("tool       {}", printable(task.tool()));
    println!("principal  {}", printable(task.principal()));
    println!("status     {}", task.status());
    println!("created    {}", time(task.created()));
    println!("updated    {}", time(task.updated()));
    if let Some(message) = task.message() {
        println!("message    {}", printable(&message));
    }
    for (name, part) in
        [("asks", "inputRequests"), ("fuel", "fuel"), ("cost", "usage"), ("result", "result"), ("error", "error")]
    {
        if let Some(value) = document.get(part).filter(|value| !value.is_null()) {
            println!("{name:10} {}", printable(&value.to_string()));
        }
    }
    if let Some(timeline) = timeline {
        Picture::new(task.tool(), &timeline).into_lines().for_each(|line| println!("{line}"));
    }
    Ok(())
}

async fn tail(which: &Which) -> anyhow::Result<()> {
    let tasks = open(&which.file).await?;
    let mut task = find(&tasks, &which.id).await?;
    let mut last = None;
    loop {
        let now = (task.status(), task.message());
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

fn age(millis: u64) -> String {
    humantime::format_duration(Duration::from_secs(now().saturating_sub(millis) / 1_000)).to_string()
}
