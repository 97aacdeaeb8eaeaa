//! Options that several commands share.

use super::text::shell_quote;
use crate::config::{Config, DEFAULT_FILE, default_file, expand_home};
use clap::builder::{PathBufValueParser, TypedValueParser};
use std::path::PathBuf;

/// Reads an option that names a configuration.
pub(super) fn config_path() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| expand_home(&path))
}

#[derive(clap::Args)]
pub(super) struct ConfigFile {
    /// Configuration file. Default: PORTCULLIS_CONFIG, or portcullis.toml.
    #[arg(long, short, value_name = "FILE", default_value_os_t = default_file(), hide_default_value = true, value_parser = config_path())]
    pub(super) config: PathBuf,
}

impl ConfigFile {
    /// The option for a command that is printed, empty for the default file. A file from `PORTCULLIS_CONFIG` is named, since
    /// whoever runs the command may have another value of it.
    pub(super) fn as_option(&self) -> String {
        if self.config.as_os_str() == DEFAULT_FILE {
            return String::new();
        }
        format!(" --config {}", shell_quote(&self.config.display().to_string()))
    }

    /// Adds this file to a message for the operator, if the message ends in a command that changes grants.
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
