//! `portcullis storage`: checks and copies what a server keeps, also while it is running.

use super::options::ConfigFile;
use anyhow::Context;
use bytesize::ByteSize;
use clap::{Args, Subcommand};
use platform::storage::{FileReport, Finding, back_up_state, check_state};
use platform::telemetry::printable;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Subcommand)]
pub(super) enum StorageCommand {
    /// Check every database in the state folder, and count what is in it. A server may be running.
    Check {
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Copy the databases in the state folder into another folder. A server may be running.
    Backup(Backup),
}

#[derive(Args)]
pub(super) struct Backup {
    /// Folder for the copies: a new one, or one without databases.
    folder: PathBuf,
    #[command(flatten)]
    file: ConfigFile,
}

impl StorageCommand {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Check { file } => check(&file),
            Self::Backup(command) => command.run(),
        }
    }
}

fn state(file: &ConfigFile) -> anyhow::Result<PathBuf> {
    let folder = file.load_or_empty()?.state;
    let folder = folder.context("no state folder: set PORTCULLIS_STATE or server.state")?;
    anyhow::ensure!(folder.is_dir(), "there is no folder {}: nothing was kept yet", folder.display());
    Ok(folder)
}

fn check(file: &ConfigFile) -> anyhow::Result<ExitCode> {
    let reports = check_state(&state(file)?);
    reports.iter().for_each(print);
    let bad = reports.iter().filter(|report| matches!(report.finding, Finding::Damaged(_) | Finding::Failed(_)));
    let bad: Vec<_> = bad.map(|report| report.file).collect();
    anyhow::ensure!(bad.is_empty(), "cannot be used as it is: {}", bad.join(", "));
    Ok(ExitCode::SUCCESS)
}

fn print(FileReport { file, content, finding }: &FileReport) {
    let title = format!("{file} ({content})");
    match finding {
        Finding::Missing => println!("{title}: nothing kept"),
        Finding::InUse => println!("{title}: not checked, because a running server has it for itself"),
        Finding::Failed(error) => println!("{title}: {}", printable(&error.to_string())),
        Finding::Sound { format, bytes, counts } => {
            println!("{title}: sound, format {format}, {}", ByteSize(*bytes));
            counts.iter().for_each(|(what, count)| println!("  {what}: {count}"));
        }
        Finding::Damaged(problems) => {
            println!("{title}: damaged; stop the server and restore a backup");
            problems.iter().for_each(|problem| println!("  {}", printable(problem)));
        }
    }
}

impl Backup {
    fn run(self) -> anyhow::Result<ExitCode> {
        let folder = state(&self.file)?;
        let copied = back_up_state(&folder, &self.folder)?;
        for copy in &copied {
            println!("copied {} ({}): {}", copy.file, copy.content, ByteSize(copy.bytes));
        }
        if copied.is_empty() {
            println!("{} has no database to copy.", folder.display());
        }
        Ok(ExitCode::SUCCESS)
    }
}
