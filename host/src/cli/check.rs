//! `portcullis check`.

use super::{printable_lines, show};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::host;
use crate::package::{self, Digest, PackageError};
use futures::{StreamExt, stream};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

/// Files looked at ahead of the one whose turn it is.
const AHEAD: usize = 4;

#[derive(clap::Args)]
pub(super) struct Check {
    /// The component files.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Look at the bytes alone: compile nothing, run nothing.
    #[arg(long)]
    no_compile: bool,
}

impl Check {
    /// Each file by itself: one that is no plugin keeps none of the others from being looked at.
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        if self.no_compile {
            return Ok(self.inspect());
        }
        let loader = host::loader(&Config::empty()?, Arc::new(SystemClock))?;
        let mut code = ExitCode::SUCCESS;
        let mut examined =
            stream::iter(&self.files).map(async |file| (file, loader.examine(file).await)).buffered(AHEAD);
        while let Some((file, examined)) = examined.next().await {
            match examined {
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

    fn inspect(&self) -> ExitCode {
        let mut code = ExitCode::SUCCESS;
        for file in &self.files {
            let read = package::read_file(file);
            let looked_at = read.and_then(|bytes| {
                let refused = |refusal| PackageError::Refused { path: file.clone(), refusal };
                Ok((Digest::of(&bytes), package::inspect(&bytes).map_err(refused)?))
            });
            match looked_at {
                Ok((digest, inspection)) => {
                    println!("{} has the form of a plugin", file.display());
                    show::component(&digest, &inspection);
                }
                Err(error) => {
                    eprintln!("error: {}", printable_lines(&error.to_string()));
                    code = ExitCode::FAILURE;
                }
            }
        }
        code
    }
}
