//! What a process did to the files of a folder, from the output of strace.

use anyhow::{Context, Result, ensure};
use std::collections::{HashMap, HashSet};
use std::path::Path;

#[derive(Debug)]
pub(crate) enum Step {
    Create {
        file: String,
    },
    Write {
        file: String,
        at: u64,
        data: Vec<u8>,
    },
    Truncate {
        file: String,
        length: u64,
    },
    Sync {
        file: String,
        worked: bool,
    },
    SyncFolder {
        worked: bool,
    },
    Unlink {
        file: String,
    },
    /// What it wrote to stdout.
    Acknowledged(String),
}

/// Reads the output of `strace -f -y -xx`. The index of the write-ahead log is left out: nobody reads it after a loss of
/// power.
pub(crate) fn parse(text: &str, folder: &Path) -> Result<Vec<Step>> {
    let folder = folder.to_str().context("the folder's path is not Unicode")?;
    let (mut begun, mut there, mut steps) = (HashMap::new(), HashSet::new(), Vec::new());
    for line in text.lines() {
        let (thread, call) = line.split_once(' ').context("a line without a thread")?;
        let call = call.trim_start();
        if let Some(head) = call.strip_suffix(" <unfinished ...>") {
            begun.insert(thread, head.to_owned());
            continue;
        }
        let call = match call.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
            Some((_, rest)) => begun.remove(thread).unwrap_or_default() + rest,
            None => call.to_owned(),
        };
        let Some((name, rest)) = call.split_once('(') else { continue };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { continue };
        let worked = !result.starts_with('-') && !result.starts_with('?');
        let in_folder = |path: &str| {
            let name = path.strip_prefix(folder)?;
            (!name.ends_with("-shm")).then(|| name.trim_start_matches('/').to_owned())
        };
        match name {
            "openat" if worked && arguments.contains("O_CREAT") => {
                if let Some(file) = path(result).as_deref().and_then(in_folder)
                    && there.insert(file.clone())
                {
                    steps.push(Step::Create { file });
                }
            }
            "unlink" if worked => {
                if let Some(file) = in_folder(&String::from_utf8(string(arguments)?)?) {
                    there.remove(&file);
                    steps.push(Step::Unlink { file });
                }
            }
            "unlinkat" => ensure!(!worked || !arguments.contains("durable"), "cannot follow {call}"),
            "write" if arguments.starts_with("1<") && worked => {
                let text = String::from_utf8(string(arguments)?)?;
                steps.extend(text.lines().map(|line| Step::Acknowledged(line.to_owned())));
            }
            "pwrite64" | "fsync" | "fdatasync" | "ftruncate" => {
                let Some(file) = path(arguments).as_deref().and_then(in_folder) else { continue };
                let last = || {
                    arguments.trim_end().trim_end_matches(')').rsplit(", ").next().unwrap_or_default().parse::<u64>()
                };
                match name {
                    "pwrite64" if worked => {
                        let written: usize = result.trim().parse().with_context(|| result.to_owned())?;
                        let mut data = string(arguments)?;
                        data.truncate(written);
                        steps.push(Step::Write { file, at: last()?, data });
                    }
                    "ftruncate" if worked => steps.push(Step::Truncate { file, length: last()? }),
                    "fsync" | "fdatasync" if file.is_empty() => steps.push(Step::SyncFolder { worked }),
                    "fsync" | "fdatasync" => steps.push(Step::Sync { file, worked }),
                    _ => {}
                }
            }
            _ => {}
        }
    }
    ensure!(steps.iter().any(|step| matches!(step, Step::Write { .. })), "nothing was recorded");
    Ok(steps)
}

/// The path of the first descriptor, `9<\x2f...>`.
fn path(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('<')?;
    String::from_utf8(bytes(rest.split_once('>')?.0).ok()?).ok()
}

/// The first string, `"\x00..."`.
fn string(text: &str) -> Result<Vec<u8>> {
    let between = text.split_once('"').and_then(|(_, rest)| rest.split_once('"'));
    bytes(between.context("a call without its data")?.0)
}

fn bytes(hex: &str) -> Result<Vec<u8>> {
    hex.split("\\x").skip(1).map(|digits| u8::from_str_radix(digits, 16).with_context(|| digits.to_owned())).collect()
}
