//! The archive: what is kept from removed files, so that one principal's records do not push out those of others.
//!
//! Files are removed oldest first, and a principal that causes endless records fills them. So records of a removed file move to
//! the archive, which has the size of one file. When it is full, the principal that has the most in it loses its oldest
//! records. A record in the chain holds the archive's hash. Within the archive, numbers may be missing.

use super::event::Archived;
use super::event_kind::{EventKind, RecordClass};
use super::fair_shares::{Share, excesses};
use super::hash::Hash;
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, Write};
use std::path::{Path, PathBuf};

/// The principal and the class that records belong to. `None` for the operator, and for lines that cannot be parsed.
type Holder = (Option<String>, RecordClass);

/// Writes the records that are kept from these files, oldest first, to `out`, and syncs it. Needs memory for a tally of all
/// principals in the files. Blocks.
pub(super) fn write(out: &mut File, sources: &[PathBuf], room: u64) -> io::Result<Archived> {
    let Tally { holders, shares, lines } = tally(sources)?;
    let mut excess = excesses(&shares, room);
    // Lines are not split, so without this limit some principals would lose more than necessary.
    let mut over = shares.iter().map(|share| share.bytes).sum::<u64>().saturating_sub(room);
    let (mut lost, mut numbers) = (vec![0; shares.len()], lines.iter());
    let (mut calls, mut decisions) = (0, 0);
    let mut writer = BufWriter::new(&mut *out);
    for_each_line(sources, |line| {
        let Some(&holder) = numbers.next() else { return Ok(()) };
        let length = line.len() as u64;
        if over == 0 || excess[holder] == 0 {
            return writer.write_all(line);
        }
        over = over.saturating_sub(length);
        excess[holder] = excess[holder].saturating_sub(length);
        lost[holder] += length;
        match holders[holder].1 {
            RecordClass::Call => calls += 1,
            RecordClass::Decision => decisions += 1,
            RecordClass::Log => {}
        }
        Ok(())
    })?;
    writer.flush()?;
    drop(writer);
    out.sync_data()?;
    out.rewind()?;
    let most = lost.iter().enumerate().max_by_key(|(_, lost)| **lost).filter(|(_, lost)| **lost > 0);
    let most_of = most.and_then(|(holder, _)| holders[holder].0.clone());
    Ok(Archived { hash: Hash::read(out)?, calls, decisions, most_of })
}

struct Tally {
    holders: Vec<Holder>,
    /// The share of each holder.
    shares: Vec<Share>,
    /// The holder of each line.
    lines: Vec<usize>,
}

fn tally(sources: &[PathBuf]) -> io::Result<Tally> {
    let mut found = HashMap::<Holder, usize>::new();
    let (mut shares, mut lines) = (Vec::<Share>::new(), Vec::new());
    for_each_line(sources, |line| {
        let (holder, weight) = holder(line);
        let number = *found.entry(holder).or_insert(shares.len());
        if number == shares.len() {
            shares.push(Share { bytes: 0, weight });
        }
        shares[number].bytes += line.len() as u64;
        lines.push(number);
        Ok(())
    })?;
    let mut holders: Vec<_> = found.into_iter().collect();
    holders.sort_unstable_by_key(|(_, number)| *number);
    Ok(Tally { holders: holders.into_iter().map(|(holder, _)| holder).collect(), shares, lines })
}

fn holder(line: &[u8]) -> (Holder, u64) {
    #[derive(Deserialize)]
    struct Owned {
        event: EventKind,
        principal: Option<String>,
    }
    // A line that was changed is kept as it is, so that verifying finds it.
    let owned: Option<Owned> = serde_json::from_slice(line).ok();
    let class = owned.as_ref().map_or(RecordClass::Log, |owned| owned.event.class());
    ((owned.and_then(|owned| owned.principal), class), class.weight())
}

/// Passes the lines of files, including their line feeds, to `take`.
fn for_each_line(files: &[impl AsRef<Path>], mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
    let mut line = Vec::new();
    for file in files {
        let mut reader = BufReader::new(File::open(file)?);
        while reader.read_until(b'\n', &mut line)? > 0 {
            take(&line)?;
            line.clear();
        }
    }
    Ok(())
}
