//! `portcullis plugin outdated`.

use super::super::{ConfigFile, printable_lines};
use super::ground::Ground;
use super::list::short;
use plugins::install::Source;
use std::process::ExitCode;

#[derive(clap::Args)]
pub(in crate::cli) struct Outdated {
    #[command(flatten)]
    file: ConfigFile,
}

impl Outdated {
    /// Status 0 whatever is found; 1 when a source does not answer.
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let ground = Ground::open(&self.file)?;
        let (lock, sources) = (ground.plugins.now()?, ground.sources());
        let mut code = ExitCode::SUCCESS;
        println!("{:<28} {:<19}  {:<19}  STAGED", "PLUGIN", "INSTALLED", "NEWEST");
        for (id, entry) in lock.iter() {
            let newest = match sources.newest(&entry.reference).await {
                Ok(newest) if newest == entry.installed.digest => continue,
                Ok(newest) => short(&newest).to_owned(),
                Err(error) => {
                    eprintln!("error: [{id}] {}", printable_lines(&error.to_string()));
                    code = ExitCode::FAILURE;
                    "-".to_owned()
                }
            };
            let staged = entry.staged.as_ref().map_or("-", |staged| short(&staged.digest));
            println!("{:<28} {:<19}  {newest:<19}  {staged}", id.table(), short(&entry.installed.digest));
        }
        Ok(code)
    }
}
