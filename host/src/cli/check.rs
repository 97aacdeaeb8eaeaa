//! `portcullis check`.

use super::{ConfigFile, printable_lines, show};
use crate::config::Config;
use crate::host;
use futures::{StreamExt, stream};
use platform::clock::SystemClock;
use plugins::install::{Source, Sources};
use plugins::package::{self, Digest, PackageError};
use plugins::registry::{Examined, Loader, definitions};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Components looked at ahead of the one whose turn it is.
const AHEAD: usize = 4;

#[derive(clap::Args)]
pub(super) struct Check {
    /// Components: files, https://….wasm#sha256:<digest>, or oci://registry/repository:tag.
    #[arg(required = true, value_name = "REFERENCE")]
    references: Vec<String>,
    /// Look at the bytes alone: compile nothing, run nothing.
    #[arg(long)]
    no_compile: bool,
    /// Configuration file, of which [sources] is used.
    #[command(flatten)]
    file: ConfigFile,
}

/// What was found where a reference leads.
struct Brought {
    /// In words, exactly.
    place: String,
    /// Who vouches for it; none of a file, which is the operator's own.
    vouched: Option<String>,
    bytes: Vec<u8>,
}

impl Check {
    /// Each by itself: one that is no plugin keeps none of the others from being looked at.
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let mut code = ExitCode::SUCCESS;
        let mut said = |result: anyhow::Result<()>| {
            if let Err(error) = result {
                eprintln!("error: {}", printable_lines(&format!("{error:#}")));
                code = ExitCode::FAILURE;
            }
        };
        if self.no_compile {
            for reference in &self.references {
                said(self.bring(reference).await.and_then(|brought| inspect(reference, &brought)));
            }
        } else {
            let loader = host::loader(&Config::empty()?, Arc::new(SystemClock))?;
            let examine = async |reference: &String| self.examine(&loader, reference).await;
            let mut examined = stream::iter(&self.references).map(examine).buffered(AHEAD);
            while let Some(examined) = examined.next().await {
                said(examined.map(|(brought, seen)| {
                    brought.show("is a plugin");
                    show::component(&seen.digest, Some(&definitions(&seen.offer)), &seen.inspection);
                    show::offer(&seen.offer);
                }));
            }
        }
        Ok(code)
    }

    /// A file of any name may be looked at.
    async fn bring(&self, reference: &str) -> anyhow::Result<Brought> {
        let path = Path::new(reference);
        if path.is_file() {
            return Ok(Brought { place: reference.to_owned(), vouched: None, bytes: package::read_file(path)? });
        }
        let found = Sources::new(self.file.or_none()?.sources).fetch(reference).await?;
        let vouched = match &found.signer {
            Some(signer) => format!("signed by {signer}"),
            None => "signed by nobody whom [sources] names".to_owned(),
        };
        Ok(Brought { place: found.resolved, vouched: Some(vouched), bytes: found.bytes })
    }

    async fn examine(&self, loader: &Loader, reference: &str) -> anyhow::Result<(Brought, Examined)> {
        let brought = self.bring(reference).await?;
        let seen = loader.examine(Path::new(reference), &brought.bytes).await?;
        Ok((brought, seen))
    }
}

impl Brought {
    fn show(&self, is: &str) {
        println!("{} {is}", self.place);
        self.vouched.iter().for_each(|words| println!("{words}"));
    }
}

fn inspect(reference: &str, brought: &Brought) -> anyhow::Result<()> {
    let refused = |refusal| PackageError::Refused { path: PathBuf::from(reference), refusal };
    let inspection = package::inspect(&brought.bytes).map_err(refused)?;
    brought.show("has the form of a plugin");
    show::component(&Digest::of(&brought.bytes), None, &inspection);
    Ok(())
}
