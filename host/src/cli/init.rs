//! `portcullis init`, and what other commands say or offer where there is no configuration.

use super::options::ConfigFile;
use super::prompt::confirm;
use anyhow::{Context, ensure};
use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

/// A small configuration that works as it is.
const FIRST: &str = include_str!("../config/first.toml");

#[derive(clap::Args)]
pub(super) struct Init {
    #[command(flatten)]
    file: ConfigFile,
}

impl Init {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        write(&self.file.config)?;
        let (path, option) = (self.file.config.display(), self.file.as_option());
        println!("Wrote {path}. Next:");
        println!(
            "  portcullis plugin install REFERENCE{option}   # a file, an https URL, or oci://registry/repository:tag"
        );
        println!("  portcullis plugin list{option}");
        println!("  portcullis serve{option}                      # the command to give to an MCP client");
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes a configuration if there is none and the user agrees, by `yes` or at the terminal.
pub(super) fn offer(file: &ConfigFile, yes: bool) -> anyhow::Result<()> {
    let path = &file.config;
    if path.exists() || !(yes || std::io::stdin().is_terminal()) {
        return Ok(());
    }
    let question = format!("There is no {} yet. Write a small one?", path.display());
    if yes || confirm(&question) == Some(true) {
        write(path)?;
        println!("Wrote {}.", path.display());
    }
    Ok(())
}

/// Never replaces a file.
fn write(path: &Path) -> anyhow::Result<()> {
    ensure!(!path.exists(), "there is {} already: edit it, or name another with --config", path.display());
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    file.and_then(|mut file| file.write_all(FIRST.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn the_first_configuration_works_with_and_without_its_comments() {
        let parse = |text: &str| Config::parse(text, Path::new("portcullis.toml"), Path::new("/nowhere"));
        assert!(parse(FIRST).unwrap().plugins.is_empty());
        // A comment without a space after the `#` is a line that the user can enable.
        let lines =
            FIRST.lines().map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line));
        let tried = parse(&lines.collect::<Vec<_>>().join("\n")).unwrap();
        assert_eq!((tried.plugins.len(), tried.http.is_some()), (1, true));
    }
}
