//! `portcullis test`: transcripts of calls, run against the real host.

mod client_kind;
mod fits_toml;
mod http_reply;
mod outcome;
mod published;
mod record;
mod reply;
mod requests;
mod run;
mod script;
mod state;
mod tool_reply;
mod transcript;

pub(super) use record::Recording;

use super::terminal::show_work;
use super::text::print_error;
use crate::config::Config;
use crate::host;
use anyhow::Context;
use platform::clock::SystemClock;
use platform::files::replace_file;
use requests::Used;
use run::{TestRun, Tested};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use toml_edit::DocumentMut;
use transcript::TestTranscript;

#[derive(clap::Args)]
pub(super) struct Test {
    /// The component.
    component: PathBuf,
    /// Transcripts: TOML files. By default those of the folder `tests`.
    transcripts: Vec<PathBuf>,
    /// Write what the calls did into the transcripts, in the place of what is expected.
    #[arg(long)]
    update: bool,
}

impl Test {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let files = match self.transcripts.is_empty() {
            true => transcripts_in(Path::new("tests"))?,
            false => self.transcripts.clone(),
        };
        let loader = host::build_loader(&Config::empty()?, Arc::new(SystemClock))?;
        let tested = Tested { loader, component: std::path::absolute(&self.component)? };
        let (mut used, mut failed, mut requests) = (Used::default(), 0, None);
        for file in &files {
            let run = self.run_file(&tested, file, &mut used);
            match show_work(&format!("running {}", file.display()), run).await {
                Ok((report, manifest)) if report.is_empty() => {
                    println!("ok    {}", file.display());
                    requests = requests.or(manifest);
                }
                Ok((report, manifest)) => {
                    failed += 1;
                    println!("FAILED {}\n{report}", file.display());
                    requests = requests.or(manifest);
                }
                Err(error) => {
                    failed += 1;
                    print_error(&format!("{error:#}"));
                }
            }
        }
        for request in requests.iter().flat_map(|requests| used.unused(requests)) {
            println!("note: the manifest requests {request}, and no transcript used it: request less, or test it");
        }
        println!("{} of {} transcripts passed", files.len() - failed, files.len());
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Runs one file. Returns the differences, empty if there are none, and the plugin's requests.
    async fn run_file(
        &self,
        tested: &Tested,
        file: &Path,
        used: &mut Used,
    ) -> anyhow::Result<(String, Option<policy::Requests>)> {
        let (transcript, text) = TestTranscript::read(file)?;
        let mut run = TestRun::start(tested, &transcript).await.with_context(|| format!("{}", file.display()))?;
        let mut document: DocumentMut = text.parse()?;
        let mut report = String::new();
        for (at, call) in transcript.call.iter().enumerate() {
            let (outcome, seen) = run.call(call).await.with_context(|| format!("{}", file.display()))?;
            used.add(&seen, &run);
            let mut differences: String = match self.update {
                true => {
                    outcome.write(&mut document, at)?;
                    String::new()
                }
                false => outcome.differences(&call.expect),
            };
            differences.extend(seen.unused.iter().map(|what| format!("  nobody asked for {what}\n")));
            if !differences.is_empty() {
                report += &format!(" call {} of `{}`:\n{differences}", at + 1, call.tool);
            }
        }
        if self.update {
            replace_file(file, document.to_string().as_bytes(), Permissions::from_mode(0o644))
                .with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok((report, run.requests()))
    }
}

fn transcripts_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("no transcripts are named, and the folder `{}` cannot be read", folder.display()))?;
    let mut files = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    anyhow::ensure!(!files.is_empty(), "the folder `{}` has no transcripts, files that end in .toml", folder.display());
    Ok(files)
}
