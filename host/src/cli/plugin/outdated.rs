//! `portcullis plugin outdated`.

use super::install_context::InstallContext;
use super::list::short_digest;
use crate::cli::options::ConfigFile;
use crate::cli::text::print_error;
use plugins::install::{PluginSource, Reference, is_version};
use policy::Digest;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Outdated {
    #[command(flatten)]
    file: ConfigFile,
}

impl Outdated {
    /// Exits with 1 only when a source does not answer.
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let context = InstallContext::open(&self.file)?;
        let (lock, sources) = (context.plugins.load_lockfile()?, context.sources());
        let mut code = ExitCode::SUCCESS;
        let (mut installed, mut listed) = (0, 0);
        for (id, entry) in lock.iter() {
            installed += 1;
            let newest = match sources.newest(&entry.reference).await {
                Ok(newest) if newest.digest == entry.installed.digest => {
                    if let Some(note) = newest.note {
                        eprintln!("note: [{id}] {note}");
                    }
                    continue;
                }
                Ok(newest) => label(&newest.reference, &newest.digest),
                Err(error) => {
                    print_error(&format!("[{id}] {error}"));
                    code = ExitCode::FAILURE;
                    "-".to_owned()
                }
            };
            if listed == 0 {
                println!("{:<28} {:<19}  {:<19}  STAGED", "PLUGIN", "INSTALLED", "NEWEST");
            }
            listed += 1;
            let staged = entry.staged.as_ref().map_or_else(
                || "-".to_owned(),
                |staged| label(staged.reference.as_ref().unwrap_or(&entry.reference), &staged.digest),
            );
            let installed = label(&entry.reference, &entry.installed.digest);
            println!("{:<28} {installed:<19}  {newest:<19}  {staged}", id.table());
        }
        match installed {
            0 => println!("No plugin is installed."),
            _ if listed == 0 => println!("All {installed} installed plugins are the newest versions."),
            _ => {}
        }
        Ok(code)
    }
}

/// The version if the tag in the registry is one, otherwise the beginning of the digest, since such a tag is moved.
fn label(reference: &str, digest: &Digest) -> String {
    let tag = Reference::parse(reference).ok().and_then(|reference| reference.tag().map(str::to_owned));
    match tag {
        Some(tag) if is_version(&tag) => tag,
        Some(_) | None => short_digest(digest).to_owned(),
    }
}
