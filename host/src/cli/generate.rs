//! `portcullis completions` and `portcullis man`: generated from the commands themselves.

use super::Cli;
use anyhow::Context;
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(super) struct Completions {
    /// The shell. Its documentation says where the file belongs.
    shell: Shell,
}

#[derive(clap::Args)]
pub(super) struct Man {
    /// Folder for the pages, such as ~/.local/share/man/man1. Created if missing.
    folder: PathBuf,
}

impl Completions {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut visible_commands(), "portcullis", &mut script);
        std::io::stdout().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Man {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let wrong = || format!("cannot write to {}", self.folder.display());
        std::fs::create_dir_all(&self.folder).with_context(wrong)?;
        clap_mangen::generate_to(visible_commands(), &self.folder).with_context(wrong)?;
        println!("Wrote the pages to {}.", self.folder.display());
        Ok(ExitCode::SUCCESS)
    }
}

/// All commands but the hidden ones.
pub(super) fn visible_commands() -> Command {
    let all = Cli::command();
    let shown: Vec<_> = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    let arguments: Vec<_> = all.get_arguments().cloned().collect();
    let command = Command::new("portcullis").version(env!("CARGO_PKG_VERSION")).max_term_width(100);
    let command = command
        .about(all.get_about().cloned().unwrap_or_default())
        .subcommand_required(true)
        .arg_required_else_help(true);
    command.args(arguments).subcommands(shown)
}
