//! `portcullis plugin outdated`.

use super::install_context::InstallContext;
use super::list::short_digest;
use crate::cli::options::ConfigFile;
use crate::cli::text::print_error;
use plugins::install::PluginSource;
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
            let newest = match sources.latest_digest(&entry.reference).await {
                Ok(newest) if newest == entry.installed.digest => continue,
                Ok(newest) => short_digest(&newest).to_owned(),
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
            let staged = entry.staged.as_ref().map_or("-", |staged| short_digest(&staged.digest));
            println!("{:<28} {:<19}  {newest:<19}  {staged}", id.table(), short_digest(&entry.installed.digest));
        }
        match installed {
            0 => println!("No plugin is installed."),
            _ if listed == 0 => println!("All {installed} installed plugins are the newest versions."),
            _ => {}
        }
        Ok(code)
    }
}
