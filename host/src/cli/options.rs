//! Options that several commands share.

use super::text::shell_quote;
use crate::config::{Config, DEFAULT_FILE};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct ConfigFile {
    /// Configuration file.
    #[arg(long, short, value_name = "FILE", default_value = DEFAULT_FILE)]
    pub(super) config: PathBuf,
}

impl ConfigFile {
    /// As it is written in a command that is printed: nothing for the default file.
    pub(super) fn as_option(&self) -> String {
        if self.config.as_os_str() == DEFAULT_FILE {
            return String::new();
        }
        format!(" --config {}", shell_quote(&self.config.display().to_string()))
    }

    /// What an operator is told, which ends in a command that changes grants: with the file that it was asked with.
    pub(super) fn complete(&self, told: String) -> String {
        if told.contains("portcullis grant ") { told + &self.as_option() } else { told }
    }

    /// Loads the configuration without its plugins. A missing default file counts as an empty configuration.
    pub(super) fn load_or_empty(&self) -> anyhow::Result<Config> {
        let named = self.config.as_os_str() != DEFAULT_FILE;
        let config =
            if named || self.config.exists() { Config::load_without_lockfile(&self.config) } else { Config::empty() };
        Ok(config?)
    }
}
