//! `portcullis check`.

use super::{ConfigFile, printable_lines, show};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::host;
use crate::install::{Source, Sources};
use crate::package;
use crate::registry::{Loader, definitions};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

#[derive(clap::Args)]
pub(super) struct Check {
    /// Components: a file, https://….wasm#sha256:<digest>, or oci://registry/repository:tag.
    #[arg(required = true, value_name = "REFERENCE")]
    references: Vec<String>,
    /// Configuration file, of which [sources] is used.
    #[command(flatten)]
    file: ConfigFile,
}

impl Check {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let loader = host::loader(&Config::empty()?, Arc::new(SystemClock))?;
        let mut code = ExitCode::SUCCESS;
        for reference in &self.references {
            if let Err(error) = self.look(&loader, reference).await {
                eprintln!("error: {}", printable_lines(&format!("{error:#}")));
                code = ExitCode::FAILURE;
            }
        }
        Ok(code)
    }

    async fn look(&self, loader: &Loader, reference: &str) -> anyhow::Result<()> {
        let path = Path::new(reference);
        // A file of any name may be looked at.
        let (place, vouched, seen) = if path.is_file() {
            (path.display().to_string(), None, loader.examine(path, &package::read_file(path)?).await?)
        } else {
            let found = Sources::new(self.file.or_none()?.sources).fetch(reference).await?;
            let vouched = match &found.signer {
                Some(signer) => format!("signed by {signer}"),
                None => "signed by nobody whom [sources] names".to_owned(),
            };
            let seen = loader.examine(path, &found.bytes).await?;
            (found.resolved, Some(vouched), seen)
        };
        println!("{place} is a plugin");
        vouched.iter().for_each(|words| println!("{words}"));
        show::component(&seen.digest, &definitions(&seen.offer), &seen.inspection);
        show::offer(&seen.offer);
        Ok(())
    }
}
