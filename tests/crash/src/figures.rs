//! `cargo run --release -p crash -- figures DIR`: how fast the durable store is, on the disk of a folder.

use anyhow::Result;
use platform::clock::SystemClock;
use platform::durable::{Durability, DurableStore, Fence, Key};
use platform::storage::SqliteStore;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const FENCE: Fence = Fence(1);

#[tokio::main]
pub(crate) async fn print(folder: &Path) -> Result<()> {
    print_disk(folder)?;
    let store = SqliteStore::open(&folder.join("figures"), Arc::new(SystemClock))?;
    for (durability, count, steps) in [
        (Durability::Process, 1, 40_000),
        (Durability::Process, 32, 4_000),
        (Durability::Power, 1, 3_000),
        (Durability::Power, 8, 1_000),
        (Durability::Power, 32, 2_000),
        (Durability::Power, 128, 1_000),
    ] {
        let begun = Instant::now();
        let start =
            |task| tokio::spawn(append(store.clone(), durability, format!("{durability:?}/{count}/{task}"), steps));
        let tasks: Vec<_> = (0..count).map(start).collect();
        let mut times = Vec::new();
        for task in tasks {
            times.extend(task.await??);
        }
        row(&format!("{durability:?}, {count} in flight"), begun.elapsed(), times);
    }
    print_reading(&store).await
}

/// What the disk does without us.
fn print_disk(folder: &Path) -> Result<()> {
    let file = File::create(folder.join("raw"))?;
    let (begun, mut times) = (Instant::now(), Vec::new());
    for page in 0..500 {
        let write = Instant::now();
        file.write_at(&[1; 4_096], page * 4_096)?;
        file.sync_data()?;
        times.push(write.elapsed());
    }
    row("4 KiB and fdatasync", begun.elapsed(), times);
    Ok(())
}

async fn append(store: SqliteStore, durability: Durability, log: String, steps: u64) -> Result<Vec<Duration>> {
    let log = Key::new(log)?;
    let mut times = Vec::new();
    for next in 0..steps {
        let begun = Instant::now();
        store.append(&log, FENCE, next, vec![vec![7; 256]], durability).await?;
        times.push(begun.elapsed());
    }
    Ok(times)
}

async fn print_reading(store: &SqliteStore) -> Result<()> {
    let mut times = Vec::new();
    let log = Key::new("Process/1/0")?;
    let begun = Instant::now();
    let (mut from, mut entries) = (0, 0);
    loop {
        let part = store.read(&log, from, 1 << 20).await?;
        if part.entries.is_empty() {
            break;
        }
        entries += part.entries.len();
        from = part.first + part.entries.len() as u64;
    }
    println!("reading a log in parts of 1 MiB: {:.0} entries/s", entries as f64 / begun.elapsed().as_secs_f64());
    let logs: Vec<_> = (0..1_000).map(|number| Key::new(format!("call/{number}"))).collect::<Result<_, _>>()?;
    for log in &logs {
        drop(store.append(log, FENCE, 0, vec![vec![7; 256]; 20], Durability::Process));
    }
    let begun = Instant::now();
    for log in &logs {
        let read = Instant::now();
        store.read(log, 0, 1 << 20).await?;
        times.push(read.elapsed());
    }
    row("reading a log of 20 entries", begun.elapsed(), times);
    Ok(())
}

fn row(what: &str, all: Duration, mut times: Vec<Duration>) {
    times.sort_unstable();
    let micros = |part: usize| times[(times.len() - 1) * part / 100].as_secs_f64() * 1e6;
    let rate = times.len() as f64 / all.as_secs_f64();
    println!("{what}: {rate:.0}/s, p50 {:.0} us, p99 {:.0} us", micros(50), micros(99));
}
