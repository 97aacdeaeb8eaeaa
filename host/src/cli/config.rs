//! `portcullis config`.

use platform::telemetry::{METRICS, Metric};
use std::process::ExitCode;

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct ConfigCommand {
    /// Print an example with every key, its default and its meaning.
    #[arg(long)]
    example: bool,
    /// Print all metrics that `server.metrics` serves.
    #[arg(long)]
    metrics: bool,
}

impl ConfigCommand {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        if self.metrics {
            for Metric { name, kind, labels, help } in METRICS {
                let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(", ")) };
                println!("portcullis_{name}{labels}\n    {kind}: {help}");
            }
        }
        if self.example {
            println!("{}", crate::config::EXAMPLE.trim_end());
        }
        Ok(ExitCode::SUCCESS)
    }
}
