//! `portcullis check`.

use super::{printable_lines, show};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::host;
use crate::registry::definitions;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct Check {
    /// The component files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

impl Check {
    /// Each file by itself: one that is no plugin keeps none of the others from being looked at.
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let loader = host::loader(&Config::empty()?, Arc::new(SystemClock))?;
        let mut code = ExitCode::SUCCESS;
        for file in &self.files {
            match loader.examine(file).await {
                Ok((digest, inspection, offer)) => {
                    println!("{} is a plugin", file.display());
                    show::component(&digest, &inspection);
                    show::offer(&offer);
                }
                Err(error) => {
                    eprintln!("error: {}", printable_lines(&error.to_string()));
                    code = ExitCode::FAILURE;
                }
            }
        }
        Ok(code)
    }
}
