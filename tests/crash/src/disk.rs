//! A disk that may lose power: what was synced is on it, and of what was not, anything may be.

use crate::trace::Step;
use anyhow::Result;
use fastrand::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// What a disk writes in one piece.
const SECTOR: usize = 512;

#[derive(Default)]
pub(crate) struct Disk {
    files: Vec<File>,
    /// What each name means to the process, and what it means on the disk.
    names: BTreeMap<String, usize>,
    synced_names: BTreeMap<String, usize>,
}

#[derive(Default)]
struct File {
    synced: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write { at: usize, data: Vec<u8> },
    Truncate { length: usize },
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { at, data } => {
                let end = at + data.len();
                content.resize(content.len().max(end), 0);
                content[*at..end].copy_from_slice(data);
            }
            Self::Truncate { length } => content.resize(*length, 0),
        }
    }

    /// Some of its sectors.
    fn torn(&self, rng: &mut Rng) -> Vec<Change> {
        let Self::Write { at, data } = self else { return if rng.bool() { vec![self.clone()] } else { Vec::new() } };
        let (mut pieces, mut begin) = (Vec::new(), 0);
        while begin < data.len() {
            let end = data.len().min(begin + SECTOR - (at + begin) % SECTOR);
            if rng.bool() {
                pieces.push(Change::Write { at: at + begin, data: data[begin..end].to_vec() });
            }
            begin = end;
        }
        pieces
    }
}

/// What becomes of the changes that were not synced.
#[derive(Clone, Copy)]
enum Fate {
    Lost,
    Kept,
    /// Each is kept or lost.
    Mixed,
    /// Each sector is kept or lost.
    Torn,
    /// Those up to one are kept, and some sectors of that one.
    Begun,
}

impl Disk {
    pub(crate) fn apply(&mut self, step: &Step, rng: &mut Rng) {
        match step {
            Step::Create { file } => {
                self.files.push(File::default());
                self.names.insert(file.clone(), self.files.len() - 1);
            }
            Step::Unlink { file } => {
                self.names.remove(file);
            }
            Step::Write { file, at, data } => self.change(file, Change::Write { at: *at as usize, data: data.clone() }),
            Step::Truncate { file, length } => self.change(file, Change::Truncate { length: *length as usize }),
            Step::Sync { file, worked } => {
                let Some(at) = self.names.get(file) else { return };
                // After a sync that failed the kernel forgets what it could not write: no later sync writes it.
                let fate = if *worked { Fate::Kept } else { Fate::Mixed };
                self.files[*at].settle(fate, rng);
            }
            Step::SyncFolder { worked: true } => self.synced_names = self.names.clone(),
            Step::SyncFolder { worked: false } | Step::Acknowledged(_) => {}
        }
    }

    fn change(&mut self, file: &str, change: Change) {
        if let Some(at) = self.names.get(file) {
            self.files[*at].pending.push(change);
        }
    }

    /// Writes the files as they may be found after a loss of power at this moment.
    pub(crate) fn write_image(&self, folder: &Path, rng: &mut Rng) -> Result<()> {
        fs::create_dir_all(folder)?;
        let fates = [Fate::Lost, Fate::Kept, Fate::Mixed, Fate::Torn, Fate::Begun];
        let fate = fates[rng.usize(..fates.len())];
        for name in self.names.keys().chain(self.synced_names.keys()).collect::<BTreeSet<_>>() {
            let names = if rng.bool() { &self.names } else { &self.synced_names };
            let Some(at) = names.get(name) else { continue };
            let file = &self.files[*at];
            let mut file = File { synced: file.synced.clone(), pending: file.pending.clone() };
            file.settle(fate, rng);
            fs::write(folder.join(name), file.synced)?;
        }
        Ok(())
    }
}

impl File {
    fn settle(&mut self, fate: Fate, rng: &mut Rng) {
        let pending = std::mem::take(&mut self.pending);
        let most = rng.usize(..=pending.len());
        for (at, change) in pending.into_iter().enumerate() {
            let kept = match fate {
                Fate::Lost => Vec::new(),
                Fate::Kept => vec![change],
                Fate::Mixed => Vec::from_iter(rng.bool().then_some(change)),
                Fate::Torn => change.torn(rng),
                Fate::Begun if at < most => vec![change],
                Fate::Begun if at == most => change.torn(rng),
                Fate::Begun => Vec::new(),
            };
            kept.iter().for_each(|change| change.apply(&mut self.synced));
        }
    }
}
