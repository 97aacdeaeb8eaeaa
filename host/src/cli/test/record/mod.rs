//! `portcullis call --record`: a live call becomes a transcript, which is replayed before it is kept.

mod backends;
mod body;
mod document;
mod link;
mod notes;

use super::client_kind::ClientKind;
use super::outcome::TestedOutcome;
use super::run::{TestRun, Tested};
use super::script::Seen;
use super::transcript::{MAX_BYTES, TestCall, TestTranscript};
use crate::config::Config;
use crate::host::{self, Backends};
use anyhow::Context;
use notes::{Notes, RecordedNotes};
use platform::clock::SystemClock;
use platform::files::replace_file;
use plugins::calls::{Answer, FinishedCall};
use policy::PluginSpec;
use runtime::engine::CallError;
use runtime::imports::ClientLink;
use serde_json::Value;
use services::egress::SecretSearch;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml_edit::DocumentMut;

/// A call that is recorded.
pub(in crate::cli) struct Recording {
    file: PathBuf,
    /// The text of the file before the call; none if there was no file.
    before: Option<String>,
    spec: PluginSpec,
    /// The id of the call.
    call: Arc<str>,
    /// Whether the host's own model answers for a client that has none.
    has_model: bool,
    secrets: SecretSearch,
    notes: Notes,
}

impl Recording {
    /// Refuses what could not be recorded, before the call is made. `call` is its id.
    pub(in crate::cli) fn begin(
        file: &Path,
        config: &Config,
        spec: &PluginSpec,
        call: Arc<str>,
    ) -> anyhow::Result<Self> {
        if config.code.as_ref().is_some_and(|code| code.plugin == spec.id) {
            anyhow::bail!("programs of code mode cannot be recorded: a transcript has no tools that they could call");
        }
        let folder = folder_of(file)?;
        anyhow::ensure!(
            folder.is_dir(),
            "cannot record into {}: there is no folder {}; create it",
            file.display(),
            folder.display()
        );
        let before = match file.symlink_metadata() {
            Ok(_) => {
                let (transcript, text) = TestTranscript::read(file)?;
                document::check_same(&transcript, spec, file)?;
                Some(text)
            }
            Err(_) => None,
        };
        let has_model = config.model.is_some() && spec.grants.client.sample.is_some_and(|grant| grant.fallback);
        let secrets = host::open_secret_search(config)?;
        Ok(Self {
            file: file.to_owned(),
            before,
            spec: spec.clone(),
            call,
            has_model,
            secrets,
            notes: Notes::default(),
        })
    }

    /// Wraps the backends of the host that makes the call, so that they are recorded.
    pub(in crate::cli) fn backends(&self, backends: Backends) -> Backends {
        backends::backends(backends, self.call.clone(), self.spec.data.clone(), &self.notes)
    }

    /// Wraps the link of the call in the same way.
    pub(in crate::cli) fn link(&self, link: ClientLink) -> ClientLink {
        link::link(link, &self.notes)
    }

    /// Writes the transcript if its replay has the same outcome as the live call. Returns the text for the user.
    pub(in crate::cli) async fn finish(
        self,
        config: &Config,
        tool: &str,
        arguments: &Value,
        finished: &FinishedCall<Answer>,
    ) -> anyhow::Result<String> {
        let mut noted = self.notes.take();
        let (tools, http) = (noted.tool_replies(), noted.http_replies());
        noted.obstacles.extend(obstacle(finished));
        anyhow::ensure!(
            noted.obstacles.is_empty(),
            "the call was not recorded: {}",
            noted.obstacles.into_iter().collect::<Vec<_>>().join("; ")
        );
        if finished.uses.scratch {
            noted.hints.insert("it used its own directory, which is empty when a transcript begins".into());
        }
        let RecordedNotes { seen, answers, abilities, hints, credentials, .. } = noted;
        let call = TestCall {
            tool: tool.to_owned(),
            arguments: arguments.as_object().cloned().unwrap_or_default(),
            client: abilities.and_then(|mut abilities| {
                abilities.sample |= self.has_model;
                ClientKind::from_live(abilities)
            }),
            answers,
            tools,
            http,
            expect: BTreeMap::new(),
        };
        let outcome = TestedOutcome::new(finished, &seen);
        let mut document = match &self.before {
            Some(text) => text.parse()?,
            None => document::new(&self.spec, &folder_of(&self.file)?)?,
        };
        let at = document::add(&mut document, &call)?;
        outcome.write(&mut document, at)?;
        let size = document.to_string().len() as u64;
        anyhow::ensure!(
            size <= MAX_BYTES,
            "the call was not recorded: {} would have {size} bytes, more than the {MAX_BYTES} of a transcript",
            self.file.display()
        );
        self.check_secrets(&document, &credentials)?;
        let (difference, replayed) = self.replay(config, &document, &outcome).await?;
        if !difference.is_empty() {
            return Err(self.keep_draft(&document, &difference, hints));
        }
        // Writes the fuel of the replay: unlike that of the live call, it does not include the fuel of called tools.
        replayed.write(&mut document, at)?;
        self.place(&document)?;
        Ok(self.told(finished))
    }

    /// Fails if the transcript contains a secret. `credentials` are those that servers sent, with the names of their headers.
    fn check_secrets(&self, document: &DocumentMut, credentials: &[(String, String)]) -> anyhow::Result<()> {
        for text in document::texts(document)? {
            let own =
                self.secrets.find(text.as_bytes()).map(|name| format!("the secret `{name}`, as it is or encoded,"));
            let credential = credentials.iter().find(|(_, value)| text.contains(value));
            let found = own.or_else(|| credential.map(|(name, _)| format!("what a server sent as `{name}`")));
            if let Some(what) = found {
                let file = self.file.display();
                anyhow::bail!("the call was not recorded: {what} would stand in {file}; nothing was written");
            }
        }
        Ok(())
    }

    /// Replays all calls of the file. Returns how the recorded one, the last, differs from the live one, empty if it does not.
    async fn replay(
        &self,
        config: &Config,
        document: &DocumentMut,
        live: &TestedOutcome,
    ) -> anyhow::Result<(String, TestedOutcome)> {
        let transcript = TestTranscript::parse(&document.to_string(), &self.file)?;
        let loader = host::build_loader(config, Arc::new(SystemClock))?;
        let tested = Tested { loader, component: self.spec.source.clone() };
        let mut run = TestRun::start(&tested, &transcript).await.context("the recorded call cannot be replayed")?;
        let (last, earlier) = transcript.call.split_last().context("nothing was recorded")?;
        for (at, call) in earlier.iter().enumerate() {
            let (outcome, seen) = run.call(call).await?;
            let mut differences = outcome.differences(&call.expect);
            differences.extend(unused(&seen));
            anyhow::ensure!(
                differences.is_empty(),
                "the call was not recorded: call {} that {} had before does not pass; `portcullis test` shows it:\n{differences}",
                at + 1,
                self.file.display()
            );
        }
        let (outcome, seen) = run.call(last).await?;
        let mut difference = outcome.differences(&live.everything());
        difference.extend(unused(&seen));
        Ok((difference, outcome))
    }

    /// Keeps what was recorded beside the file, under a name that `portcullis test` does not find by itself.
    fn keep_draft(&self, document: &DocumentMut, difference: &str, hints: BTreeSet<String>) -> anyhow::Error {
        let mut draft = self.file.clone().into_os_string();
        draft.push(".draft");
        let draft = PathBuf::from(draft);
        let kept = match self.write(&draft, document) {
            Ok(()) => format!("What was recorded is in {}, to be mended by hand", draft.display()),
            Err(error) => format!("{error:#}"),
        };
        let hints: String = hints.iter().map(|hint| format!("Perhaps since {hint}.\n")).collect();
        let other = "A tool may also depend on time, random numbers, its environment or files.\n";
        let file = self.file.display();
        anyhow::anyhow!(
            "the call was recorded, and its replay differs:\n{difference}{hints}{other}{kept}; {file} is as it was"
        )
    }

    fn place(&self, document: &DocumentMut) -> anyhow::Result<()> {
        let now = std::fs::read_to_string(&self.file).ok();
        anyhow::ensure!(
            now == self.before,
            "the call was not recorded: {} has changed since the call began; call again",
            self.file.display()
        );
        self.write(&self.file, document)
    }

    fn write(&self, file: &Path, document: &DocumentMut) -> anyhow::Result<()> {
        let header = if self.before.is_none() { document::HEADER } else { "" };
        replace_file(file, format!("{header}{document}").as_bytes(), Permissions::from_mode(0o644))
            .with_context(|| format!("cannot write {}", file.display()))
    }

    fn told(&self, finished: &FinishedCall<Answer>) -> String {
        let mut told = format!("recorded in {}; it replays", self.file.display());
        if finished.uses.files {
            told +=
                "\nnote: it used files of a granted directory, which the transcript does not hold: keep them with it";
        }
        // Without a grant the environment is empty, and interpreters read it whenever they start: that is not worth a note.
        if finished.uses.environment && !self.spec.grants.env.is_empty() {
            told += "\nnote: it asked for its environment, which the transcript does not hold";
        }
        told
    }
}

fn unused(seen: &Seen) -> impl Iterator<Item = String> {
    seen.unused.iter().map(|what| format!("  nobody asked for {what}\n"))
}

fn folder_of(file: &Path) -> anyhow::Result<PathBuf> {
    let file = std::path::absolute(file)?;
    Ok(file.parent().unwrap_or(&file).to_owned())
}

/// Why the end of a call cannot be replayed.
fn obstacle(finished: &FinishedCall<Answer>) -> Option<String> {
    match &finished.result {
        Err(CallError::Cancelled) => return Some("it was cancelled".into()),
        Err(error @ (CallError::Internal | CallError::Journal(_))) => return Some(error.to_string()),
        Err(error) if error.was_not_started() => return Some(format!("it was not run: {error}")),
        Err(_) | Ok(_) => {}
    }
    finished.uses.changes.then(|| {
        "it changed a granted directory, and its replay would change it once more; write this transcript by hand, with a \
         directory of its own"
            .into()
    })
}
