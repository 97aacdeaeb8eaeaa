//! `portcullis storage`: checks and copies what a server keeps, also while it is running.

use super::options::ConfigFile;
use super::prompt::Agreement;
use super::text::shell_quote;
use crate::config::{Config, DefaultStateFolder, KnownStateFolder, identity};
use anyhow::Context;
use bytesize::ByteSize;
use clap::{Args, Subcommand};
use platform::files::ProcessSlot;
use platform::storage::{FileReport, Finding, back_up_state, check_state};
use platform::telemetry::printable;
use std::fs;
use std::path::{Path, PathBuf};
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
    /// Remove all that is kept for a configuration that is gone.
    Remove(RemoveData),
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
pub(super) struct RemoveData {
    /// The path that the configuration file had, as `portcullis storage list` shows it.
    earlier: PathBuf,
    #[command(flatten)]
    agreement: Agreement,
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
            Self::Remove(command) => command.run(),
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

/// The state folder of a configuration file that is gone. Fails while a server uses that folder or `own`.
fn gone(own: &DefaultStateFolder, earlier: &Path) -> anyhow::Result<KnownStateFolder> {
    let earlier = identity(earlier);
    let shown = printable(&earlier.display().to_string()).into_owned();
    anyhow::ensure!(
        !earlier.exists(),
        "{shown} is still there, and configurations share no data: to copy it, use `portcullis storage backup`"
    );
    let found = own.others().into_iter().find(|other| other.configuration == earlier);
    let found = found.with_context(|| format!("nothing is kept for {shown}: `portcullis storage list` lists all"))?;
    for folder in [own.path(), &found.path] {
        anyhow::ensure!(!ProcessSlot::is_any_taken(folder), "a server is using {}: stop it first", folder.display());
    }
    Ok(found)
}

impl Adopt {
    fn run(self) -> anyhow::Result<ExitCode> {
        let config = Config::load_without_lockfile(&self.file.config)?;
        let own = config.default_state.as_ref().context(
            "the state folder of this configuration is named by `server.state` or PORTCULLIS_STATE: name the other folder there instead",
        )?;
        let found = gone(own, &self.earlier)?;
        let earlier = printable(&found.configuration.display().to_string()).into_owned();
        let aside = own.adopt(&found).with_context(|| format!("the data of {earlier} cannot be used"))?;
        println!("{} has the data of {earlier} now.", self.file.config.display());
        if let Some(aside) = aside {
            println!("What it had itself is in {}.", aside.display());
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl RemoveData {
    fn run(self) -> anyhow::Result<ExitCode> {
        let config = self.file.load_or_empty()?;
        let own =
            config.default_state.as_ref().context("the state folder is named by `server.state` or PORTCULLIS_STATE")?;
        let found = gone(own, &self.earlier)?;
        let (path, earlier) =
            (found.path.display(), printable(&found.configuration.display().to_string()).into_owned());
        anyhow::ensure!(
            !own.is_below(&found.path),
            "{path} has the folders of all configurations in it, and is not removed"
        );
        let command = format!("portcullis storage remove {}", shell_quote(&found.configuration.display().to_string()));
        if !self.agreement.get(&format!("Remove all that is kept for {earlier}, in {path}?"), &command)? {
            println!("Nothing was removed.");
            return Ok(ExitCode::FAILURE);
        }
        fs::remove_dir_all(&found.path).with_context(|| format!("{path} cannot be removed whole"))?;
        println!("{path} is removed.");
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
