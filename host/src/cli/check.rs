//! `portcullis check`.

use super::json::{self, JsonOption};
use super::options::ConfigFile;
use super::show;
use super::terminal::show_work;
use super::text::print_error;
use crate::config::Config;
use crate::host;
use futures::{StreamExt, stream};
use platform::clock::SystemClock;
use plugins::install::{PluginSource, PluginSources};
use plugins::loading::{ExaminedComponent, Loader};
use plugins::offer::definitions_digest;
use plugins::package::{self, Digest, PackageError};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// Components that are checked at the same time.
const PARALLEL: usize = 4;

#[derive(clap::Args)]
pub(super) struct Check {
    /// Components: files, https://….wasm#sha256:<digest>, or oci://registry/repository:tag.
    #[arg(required = true, value_name = "REFERENCE")]
    references: Vec<String>,
    /// Check only the bytes: compile and run nothing.
    #[arg(long)]
    no_compile: bool,
    #[command(flatten)]
    json: JsonOption,
    /// Configuration file. Only [sources] is used.
    #[command(flatten)]
    file: ConfigFile,
}

/// A component and where it is from.
struct ComponentToCheck {
    /// The resolved reference.
    location: String,
    /// The signature, as a sentence; none for a local file.
    signature: Option<String>,
    bytes: Vec<u8>,
}

impl Check {
    /// Checks each component by itself, also after errors.
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let mut code = ExitCode::SUCCESS;
        let mut report = |result: anyhow::Result<()>| {
            if let Err(error) = result {
                print_error(&format!("{error:#}"));
                code = ExitCode::FAILURE;
            }
        };
        if self.no_compile {
            for reference in &self.references {
                report(self.read(reference).await.and_then(|component| self.inspect(reference, &component)));
            }
        } else {
            let loader = host::build_loader(&Config::empty()?, Arc::new(SystemClock))?;
            let examine = async |reference: &String| self.examine(&loader, reference).await;
            let mut examined = stream::iter(&self.references).map(examine).buffered(PARALLEL);
            let what = self.references.join(", ");
            while let Some(examined) = show_work(&format!("compiling and reading {what}"), examined.next()).await {
                report(examined.map(|(component, seen)| {
                    if self.json.is_set {
                        let ExaminedComponent { digest, inspection, offer } = &seen;
                        let definitions = definitions_digest(offer);
                        component.print_json(json::component(digest, Some(&definitions), inspection, Some(offer)));
                        return;
                    }
                    component.show("is a plugin");
                    show::component(&seen.digest, Some(&definitions_digest(&seen.offer)), &seen.inspection);
                    show::offer(&seen.offer);
                }));
            }
        }
        Ok(code)
    }

    /// Reads or fetches a component. A local file may have any name.
    async fn read(&self, reference: &str) -> anyhow::Result<ComponentToCheck> {
        let path = Path::new(reference);
        if path.is_file() {
            return Ok(ComponentToCheck {
                location: reference.to_owned(),
                signature: None,
                bytes: package::read_file(path)?,
            });
        }
        let found = PluginSources::new(self.file.load_or_empty()?.sources).fetch(reference).await?;
        let signature = match &found.signer {
            Some(signer) => format!("signed by {signer}"),
            None => "not signed by anybody whom [sources] names".to_owned(),
        };
        Ok(ComponentToCheck { location: found.resolved, signature: Some(signature), bytes: found.bytes })
    }

    async fn examine(&self, loader: &Loader, reference: &str) -> anyhow::Result<(ComponentToCheck, ExaminedComponent)> {
        let component = self.read(reference).await?;
        let seen = loader.examine(Path::new(reference), &component.bytes).await?;
        Ok((component, seen))
    }

    fn inspect(&self, reference: &str, component: &ComponentToCheck) -> anyhow::Result<()> {
        let refused = |error| PackageError::Invalid { path: PathBuf::from(reference), error };
        let (inspection, digest) =
            (package::inspect(&component.bytes).map_err(refused)?, Digest::sha256(&component.bytes));
        if self.json.is_set {
            component.print_json(json::component(&digest, None, &inspection, None));
            return Ok(());
        }
        component.show("has the form of a plugin");
        show::component(&digest, None, &inspection);
        Ok(())
    }
}

impl ComponentToCheck {
    fn print_json(&self, mut value: Value) {
        value["reference"] = self.location.as_str().into();
        value["signature"] = self.signature.clone().into();
        json::print(&value);
    }

    fn show(&self, verdict: &str) {
        println!("{} {verdict}", self.location);
        self.signature.iter().for_each(|text| println!("{text}"));
    }
}
