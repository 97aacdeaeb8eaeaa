//! `portcullis storage`: checks and copies what a server keeps, also while it is running.

use super::options::ConfigFile;
use crate::config::{Config, DefaultStateFolder, KnownStateFolder};
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
    /// List the state folders of this user's configurations.
    List {
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Use the data of a configuration that was moved or renamed. No server may be running.
    Adopt(Adopt),
    /// Copy the databases in the state folder into another folder. A server may be running.
    Backup(Backup),
}

#[derive(Args)]
pub(super) struct Adopt {
    /// The path that the configuration file had, as `portcullis storage list` shows it.
    earlier: PathBuf,
    #[command(flatten)]
    file: ConfigFile,
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
            Self::List { file } => list(&file),
            Self::Adopt(command) => command.run(),
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

fn list(file: &ConfigFile) -> anyhow::Result<ExitCode> {
    let config = file.load_or_empty()?;
    match &config.state {
        Some(folder) => println!("{}: this configuration", folder.display()),
        None => println!("this configuration has no state folder: set PORTCULLIS_STATE or server.state"),
    }
    for KnownStateFolder { path, configuration } in config.default_state.iter().flat_map(DefaultStateFolder::others) {
        let gone = if configuration.exists() { "" } else { ", which is gone" };
        println!("{}: {}{gone}", path.display(), printable(&configuration.display().to_string()));
    }
    Ok(ExitCode::SUCCESS)
}

impl Adopt {
    fn run(self) -> anyhow::Result<ExitCode> {
        let config = Config::load_without_lockfile(&self.file.config)?;
        let own = config.default_state.as_ref().context(
            "the state folder of this configuration is named by `server.state` or PORTCULLIS_STATE: name the other folder there instead",
        )?;
        let earlier = self.earlier.canonicalize().or_else(|_| std::path::absolute(&self.earlier))?;
        anyhow::ensure!(
            !earlier.exists(),
            "{} is still there, and configurations share no data: to copy it, use `portcullis storage backup`",
            earlier.display()
        );
        let found = own.others().into_iter().find(|other| other.configuration == earlier);
        let found = found.with_context(|| {
            format!(
                "nothing is kept for {}: `portcullis storage list` lists all",
                printable(&earlier.display().to_string())
            )
        })?;
        for folder in [own.path(), &found.path] {
            let in_use = check_state(folder).into_iter().any(|report| matches!(report.finding, Finding::InUse));
            anyhow::ensure!(!in_use, "a server is using {}: stop it first", folder.display());
        }
        let aside = own.adopt(&found).with_context(|| format!("the data of {} cannot be used", earlier.display()))?;
        println!("{} has the data of {} now.", self.file.config.display(), earlier.display());
        if let Some(aside) = aside {
            println!("What it had itself is in {}.", aside.display());
        }
        Ok(ExitCode::SUCCESS)
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
