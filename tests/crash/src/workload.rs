//! The process that loses power, and what must be left of its work.

use anyhow::{Context, Result, bail, ensure};
use futures::future::join_all;
use platform::clock::SystemClock;
use platform::durable::{Durability, DurableError, DurableStore, Expected as Condition, Fence, Key};
use platform::storage::{Finding, SqliteStore, check_state};
use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const TASKS: u64 = 8;
/// Appends of a task that are not answered yet.
const IN_FLIGHT: u64 = 3;
const FENCE: Fence = Fence(1);

/// Some tasks ask for what survives a loss of power, and some do not.
fn durability(task: u64) -> Durability {
    if task.is_multiple_of(2) { Durability::Process } else { Durability::Power }
}

fn names(task: u64) -> Result<(Key, Key)> {
    Ok((Key::new(format!("log/{task}"))?, Key::new(format!("count/{task}"))?))
}

/// Some are larger than a page.
fn entry(task: u64, number: u64) -> Vec<u8> {
    let size = if number.is_multiple_of(37) { 9_000 } else { number % 300 };
    [task, number].iter().flat_map(|part| part.to_le_bytes()).chain((0..size).map(|at| at as u8)).collect()
}

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn write(folder: &Path, steps: u64) -> Result<()> {
    let store = SqliteStore::open(folder, Arc::new(SystemClock))?;
    let done = AtomicU64::new(0);
    for result in join_all((0..TASKS).map(|task| work(&store, task, &done, steps))).await {
        result?;
    }
    // Like a process that is killed: nothing is closed.
    std::mem::forget(store);
    Ok(())
}

async fn work(store: &SqliteStore, task: u64, done: &AtomicU64, steps: u64) -> Result<()> {
    let (log, count) = names(task)?;
    let mut next = 0;
    while done.load(Ordering::Relaxed) < steps {
        match work_on(store, task, next, &log, &count).await {
            Ok(acknowledged) => next = acknowledged,
            Err(DurableError::Failed(_) | DurableError::Moved { .. }) => {
                // What became of it is known once it can be read.
                next = loop {
                    match store.read(&log, u64::MAX, 0).await {
                        Ok(found) => break found.next,
                        Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
                    }
                };
            }
            Err(error) => return Err(error.into()),
        }
        done.fetch_add(IN_FLIGHT, Ordering::Relaxed);
    }
    Ok(())
}

/// A few appends at once, then a record that counts them; now and then old entries are dropped.
async fn work_on(store: &SqliteStore, task: u64, next: u64, log: &Key, count: &Key) -> Result<u64, DurableError> {
    let durability = durability(task);
    let steps = next..next + IN_FLIGHT;
    let append = |number| store.append(log, FENCE, number, vec![entry(task, number)], durability);
    let appends: Vec<_> = steps.clone().map(append).collect();
    for (number, append) in steps.zip(appends) {
        append.await?;
        acknowledge(task, "entries", number + 1);
    }
    let next = next + IN_FLIGHT;
    store.put(count, next.to_le_bytes().to_vec(), Condition::Any, durability).await?;
    acknowledge(task, "count", next);
    if next.is_multiple_of(90) {
        store.trim(log, FENCE, next - 60).await?;
    }
    Ok(next)
}

/// In one system call: it is recorded.
fn acknowledge(task: u64, what: &str, number: u64) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(format!("{task} {what} {number}\n").as_bytes()).and_then(|()| out.flush());
}

/// What was acknowledged up to a moment.
#[derive(Default)]
pub(crate) struct Expected(HashMap<String, u64>);

impl Expected {
    pub(crate) fn note(&mut self, line: &str) -> Result<()> {
        let (what, number) = line.rsplit_once(' ').with_context(|| format!("not understood: {line}"))?;
        self.0.insert(what.to_owned(), number.parse()?);
        Ok(())
    }

    fn of(&self, task: u64, what: &str) -> u64 {
        self.0.get(&format!("{task} {what}")).copied().unwrap_or_default()
    }
}

/// Opens what is left, and compares.
#[tokio::main(flavor = "current_thread")]
pub(crate) async fn check(folder: &Path, expected: &Expected) -> Result<()> {
    let store = SqliteStore::open(folder, Arc::new(SystemClock))?;
    for task in 0..TASKS {
        let (log, count) = names(task)?;
        let found = store.read(&log, 0, u64::MAX).await?;
        for (number, body) in (found.first..).zip(&found.entries) {
            ensure!(*body == entry(task, number), "entry {number} of task {task} is another one");
        }
        let counted = store.get(&count).await?.map_or(Ok(0), |record| record.value.try_into().map(u64::from_le_bytes));
        let Ok(counted) = counted else { bail!("the count of task {task} is no number") };
        ensure!(counted <= found.next, "task {task} counts {counted} entries and has {}", found.next);
        if durability(task) == Durability::Power {
            let (entries, count) = (expected.of(task, "entries"), expected.of(task, "count"));
            ensure!(found.next >= entries, "of {entries} entries of task {task} {} are left", found.next);
            ensure!(counted >= count, "the count of task {task} is {counted}; {count} was acknowledged");
        }
    }
    // It goes on.
    let (log, _) = names(0)?;
    let next = store.read(&log, u64::MAX, 0).await?.next;
    store.append(&log, FENCE, next, vec![entry(0, next)], Durability::Power).await?;
    store.close().await;
    match check_state(folder).into_iter().find(|report| report.file == "durable.db").map(|report| report.finding) {
        Some(Finding::Sound { .. }) => Ok(()),
        other => bail!("durable.db is not sound: {other:?}"),
    }
}
