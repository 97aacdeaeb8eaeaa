//! `portcullis completions` and `portcullis man`: generated from the commands themselves.

use anyhow::Context;
use clap::Command;
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
    pub(super) fn run(self, mut commands: Command) -> anyhow::Result<ExitCode> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut commands, "portcullis", &mut script);
        std::io::stdout().write_all(&script)?;
        Ok(ExitCode::SUCCESS)
    }
}

impl Man {
    pub(super) fn run(self, commands: Command) -> anyhow::Result<ExitCode> {
        let wrong = || format!("cannot write to {}", self.folder.display());
        std::fs::create_dir_all(&self.folder).with_context(wrong)?;
        clap_mangen::generate_to(commands, &self.folder).with_context(wrong)?;
        println!("Wrote the pages to {}.", self.folder.display());
        Ok(ExitCode::SUCCESS)
    }
}
