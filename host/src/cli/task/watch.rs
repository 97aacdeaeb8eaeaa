//! `portcullis task watch`: the open tasks, or the timeline of one, drawn again and again.

use super::live_screen::LiveScreen;
use super::picture::{Picture, shorten, span};
use super::stored::{find, now, open};
use crate::cli::options::ConfigFile;
use anyhow::Context;
use bytesize::ByteSize;
use clap::Args;
use mcp::{Sample, StoredTask, StoredTasks};
use platform::clock::{Clock, SystemClock};
use platform::telemetry::printable;
use platform::text::truncate_chars;
use std::time::Duration;

/// Least time between two reads of the store.
const INTERVAL: Duration = Duration::from_secs(1);
/// The pause after a read is at least this many times as long as the read. Bounds the load of watching a large store.
const PAUSE: u32 = 10;
/// Age of the last sample, in milliseconds, after which the rate of a call is shown as zero. A server stores one every five
/// seconds.
const STILL_USES: u64 = 10_000;

#[derive(Args)]
pub(in crate::cli) struct Watch {
    /// The id of a task, or how it begins, to see its timeline. Without it: all open tasks.
    id: Option<String>,
    #[command(flatten)]
    file: ConfigFile,
}

/// What is drawn at a moment.
struct Drawing {
    lines: Vec<String>,
    /// Whether the task has ended, so that nothing changes any more.
    is_over: bool,
}

impl Watch {
    pub(super) async fn run(&self) -> anyhow::Result<()> {
        let tasks = open(&self.file).await?;
        let id = match &self.id {
            Some(id) => Some(find(&tasks, id).await?.id),
            None => None,
        };
        let Some(screen) = LiveScreen::start()? else {
            let drawing = drawing(&tasks, id.as_deref(), None).await?;
            drawing.lines.iter().for_each(|line| println!("{line}"));
            return Ok(());
        };
        let last = draw(&screen, &tasks, id.as_deref()).await;
        drop(screen);
        if let Some(last) = last? {
            last.lines.iter().for_each(|line| println!("{line}"));
        }
        Ok(())
    }
}

/// Draws until the user quits, which returns none, or until the task has ended, which returns the last drawing.
async fn draw(screen: &LiveScreen, tasks: &StoredTasks, id: Option<&str>) -> anyhow::Result<Option<Drawing>> {
    loop {
        let begun = SystemClock.now();
        let (rows, _) = screen.size();
        let Some(seen) = screen.end().run_until_cancelled(drawing(tasks, id, Some(rows))).await else {
            return Ok(None);
        };
        let seen = seen?;
        if seen.is_over {
            return drawing(tasks, id, None).await.map(Some);
        }
        screen.draw(&seen.lines)?;
        let pause = INTERVAL.max(SystemClock.now().saturating_duration_since(begun) * PAUSE);
        if screen.end().run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
            return Ok(None);
        }
    }
}

/// `rows` is the height of the terminal; none if there is no limit.
async fn drawing(tasks: &StoredTasks, id: Option<&str>, rows: Option<usize>) -> anyhow::Result<Drawing> {
    match id {
        Some(id) => look_at_one(tasks, id, rows).await,
        None => look_at_all(tasks, rows).await,
    }
}

async fn look_at_all(tasks: &StoredTasks, rows: Option<usize>) -> anyhow::Result<Drawing> {
    let all = tasks.list().await?;
    let open: Vec<_> = all.iter().filter(|task| !task.has_ended()).collect();
    // Leaves room for the heading, the line with the count, and the last row of the terminal.
    let room = rows.map_or(open.len(), |rows| rows.saturating_sub(3));
    let mut lines = vec![line(["ID", "STATE", "AGE", "FUEL", "PER S", "MEMORY", "TOOL", "PRINCIPAL", "MESSAGE"])];
    for task in open.iter().take(room) {
        lines.push(task_line(task, &tasks.samples(task).await?));
    }
    let more = open.len().saturating_sub(room);
    let more = if more > 0 { format!(", {more} of them not shown") } else { String::new() };
    let end = if rows.is_some() { "; q ends" } else { "" };
    let count = if open.len() == 1 { "1 open task".to_owned() } else { format!("{} open tasks", open.len()) };
    lines.push(format!("{count}{more}{end}"));
    Ok(Drawing { lines, is_over: false })
}

fn task_line(task: &StoredTask, samples: &[Sample]) -> String {
    let now = now();
    let last = samples.last().copied().unwrap_or_default();
    let memory = if task.is_suspended() { "-".to_owned() } else { ByteSize(last.memory).to_string() };
    let state = if task.is_suspended() { "suspended" } else { task.status() };
    line([
        truncate_chars(&task.id, 8),
        state,
        &span(now.saturating_sub(task.created())),
        &units(last.fuel.max(task.fuel_used())),
        &units(rate(samples, now)),
        &memory,
        &printable(task.tool()),
        &printable(task.principal()),
        &printable(&task.message().unwrap_or_default()),
    ])
}

fn line([id, state, age, fuel, rate, memory, tool, principal, message]: [&str; 9]) -> String {
    let (tool, principal) = (shorten(tool, 20), shorten(principal, 14));
    let line = format!(
        "{id:8}  {state:14}  {age:>8}  {fuel:>6}  {rate:>6}  {memory:>9}  {tool:20}  {principal:14}  {message}"
    );
    line.trim_end().to_owned()
}

async fn look_at_one(tasks: &StoredTasks, id: &str, rows: Option<usize>) -> anyhow::Result<Drawing> {
    let task = tasks.get(id).await?.with_context(|| format!("the task {id} is not kept any more"))?;
    let timeline = tasks.timeline(&task, now()).await?;
    let (tool, principal, state) = (printable(task.tool()), printable(task.principal()), task.status());
    let message = task.message().map(|message| format!("  {}", printable(&message))).unwrap_or_default();
    let suspended = if task.is_suspended() { ", suspended" } else { "" };
    let mut lines = vec![format!("task {id}  {tool}  {principal}  {state}{suspended}{message}")];
    let Picture { head, mut steps, foot } = Picture::new(task.tool(), &timeline);
    if let Some(rows) = rows {
        // Leaves room for the line about hidden steps, and for the last row of the terminal.
        let room = rows.saturating_sub(lines.len() + head.len() + foot.len() + 2);
        if steps.len() > room {
            let hidden = steps.len() - room;
            steps.drain(..hidden);
            steps.insert(0, format!("  {hidden} lines before"));
        }
    }
    lines.extend(head.into_iter().chain(steps).chain(foot));
    Ok(Drawing { lines, is_over: task.has_ended() })
}

/// Fuel that was recently used, in units per second.
fn rate(samples: &[Sample], now: u64) -> u64 {
    let Some(last) = samples.last().filter(|last| now.saturating_sub(last.at) <= STILL_USES) else { return 0 };
    let before = samples.iter().rev().find(|sample| last.at.saturating_sub(sample.at) >= 1_000).unwrap_or(&samples[0]);
    let (used, time) = (last.fuel.saturating_sub(before.fuel), last.at.saturating_sub(before.at));
    used.saturating_mul(1_000).checked_div(time).unwrap_or_default()
}

/// A number of units in at most six columns.
fn units(number: u64) -> String {
    let mut scaled = (number, 0);
    for suffix in ["", "k", "M", "G", "T", "P", "E"] {
        if scaled.0 < 1_000 {
            return match suffix {
                "" => number.to_string(),
                _ => format!("{}.{}{suffix}", scaled.0, scaled.1 / 100),
            };
        }
        scaled = (scaled.0 / 1_000, scaled.0 % 1_000);
    }
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_units_are_short() {
        let shown = [0, 999, 1_000, 1_250_000, 999_999_999, u64::MAX].map(units);
        assert_eq!(shown, ["0", "999", "1.0k", "1.2M", "999.9M", "18.4E"]);
    }

    #[test]
    fn the_rate_is_that_of_late() {
        let sample = |at, fuel| Sample { at, fuel, memory: 0 };
        let samples = [sample(0, 0), sample(10_000, 1_000), sample(11_500, 4_000), sample(12_000, 5_000)];
        assert_eq!(rate(&samples, 12_500), 2_000, "over a second at least");
        assert_eq!(rate(&samples, 40_000), 0, "nothing new has come");
        assert_eq!((rate(&samples[..1], 0), rate(&[], 0)), (0, 0));
    }
}
