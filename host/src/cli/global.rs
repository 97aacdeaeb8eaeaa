//! Options before or after any command.

use anstream::ColorChoice;
use clap::ValueEnum;
use std::path::PathBuf;

#[derive(clap::Args)]
pub(super) struct GlobalOptions {
    /// Log more: what the host does. Twice: what its libraries do.
    #[arg(long, short, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
    /// Log errors only.
    #[arg(long, short, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Whether errors and log lines are coloured. `auto`: at a terminal, unless NO_COLOR is set.
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: Color,
    /// Configuration file.
    // Allows the option before the command. Each command reads its own `config`, which has a default.
    #[arg(id = "config", long, short, global = true, value_name = "FILE")]
    _config: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Color {
    Auto,
    Always,
    Never,
}

impl GlobalOptions {
    /// Sets how everything is printed from now on.
    pub(super) fn apply(&self) {
        match self.color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        }
        .write_global();
    }

    /// Whether only errors are to be heard.
    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// The log filter of a command whose own is `default`.
    pub(super) fn log_filter(&self, default: String) -> String {
        match (self.quiet, self.verbose) {
            (true, _) => "error,rmcp=off".to_owned(),
            (false, 0) => default,
            (false, 1) => {
                "info,guest=debug,portcullis=debug,mcp=debug,plugins=debug,upstream=debug,rmcp=error".to_owned()
            }
            (false, _) => "debug".to_owned(),
        }
    }
}
