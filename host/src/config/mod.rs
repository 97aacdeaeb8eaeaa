//! The configuration: a file, the lock file beside it and the environment, resolved into one [`Config`].

mod code;
mod editor;
mod environment;
mod error;
mod explain;
mod grant_confirmation;
mod grant_line;
mod host_config;
mod installed;
mod listen_address;
mod resolve;
mod restart_settings;
mod state_folder;
mod tables;
mod telemetry;

pub use code::CodeSettings;
pub use editor::ConfigEditor;
pub use environment::{
    call_log_filter, certificates, default_cache, default_file, editor, environment_variable, expand_home,
    is_dumb_terminal, log_filter, quiet_log_filter,
};
pub use error::ConfigError;
pub use explain::most_like;
pub use grant_confirmation::GrantConfirmation;
pub use grant_line::GrantLine;
pub use host_config::Config;
pub use listen_address::parse_listen_address;
pub use resolve::resolve_upstream;
pub use restart_settings::RestartSettings;
pub use state_folder::{DefaultStateFolder, KnownStateFolder, identity};
pub use telemetry::TelemetrySettings;

/// Every key with its default and meaning; `portcullis config --example` prints it.
pub const EXAMPLE: &str = include_str!("example.toml");
pub const DEFAULT_FILE: &str = "portcullis.toml";

#[cfg(test)]
mod tests;
