//! `portcullis plugin install`.

use super::super::ConfigFile;
use super::consent::{Ask, Consent, quoted};
use super::ground::{Ground, RUNNING};
use super::report;
use anyhow::Context;
use plugins::install::{Reference, Source, review};
use policy::{Digest, PluginId, Side};
use std::process::ExitCode;
use toml_edit::Table;

#[derive(clap::Args)]
pub(in crate::cli) struct Install {
    /// Where it is: a path, an https address, or oci://registry/repository:tag.
    reference: String,
    /// What to call it; otherwise as it calls itself.
    #[arg(long)]
    name: Option<String>,
    /// Install it as an agent-side tool: called by granted plugins, not exposed over MCP.
    #[arg(long)]
    agent: bool,
    /// Install these bytes and no others, such as those that were looked at before.
    #[arg(long, value_name = "sha256:...")]
    digest: Option<String>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    file: ConfigFile,
}

impl Install {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let ground = Ground::open(&self.file)?;
        let wanted = self.digest.as_deref().map(Digest::parse).transpose()?;
        let reference = whole(&self.reference)?;
        let lock = ground.plugins.now()?;
        if let Some(name) = &self.name {
            self.free(&ground, &lock, name)?;
        }
        let found = ground.sources().fetch(&reference).await?;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found.digest) {
            anyhow::bail!("{reference} is {} now, and not {wanted}: look at it again", found.digest);
        }
        let new = review(&ground.loader()?, ground.clock.as_ref(), found).await?;
        let own = new.examined.inspection.manifest.as_ref().map(|manifest| manifest.name.clone());
        let name = self.name.clone().or(own).context("it has no name of its own: give it one with --name")?;
        let id = self.free(&ground, &lock, &name)?;
        report::candidate(&id, &reference, &new);
        let side = if self.agent { " --agent" } else { "" };
        let (quoted_reference, digest) = (quoted(&self.reference), &new.version.digest);
        let config = ground.config_option();
        let command =
            format!("portcullis plugin install {quoted_reference} --name {name}{side} --digest {digest}{config}");
        let (requested, mind) = (&new.version.requests, report::mind(&new));
        let question = &format!("Install it as [{}]?", id.table());
        let ask = Ask { id: &id, requested, news: requested, mind, question, command: &command };
        let Some(grants) = self.consent.get(Table::new(), &ask)? else {
            println!("Nothing was installed.");
            return Ok(ExitCode::FAILURE);
        };
        ground.plugins.install(&id, &reference, &new, grants)?;
        println!("\n[{}] is installed and enabled; {} says so. {RUNNING}", id.table(), ground.lock.display());
        Ok(ExitCode::SUCCESS)
    }

    /// The plugin of this name, if nothing else has it.
    fn free(&self, ground: &Ground, lock: &plugins::install::Lock, name: &str) -> anyhow::Result<PluginId> {
        let side = if self.agent { Side::Agent } else { Side::Server };
        let id = PluginId::new(side, name)
            .map_err(|why| anyhow::anyhow!("it cannot be called {name:?}: {why}; choose another name with --name"))?;
        let taken = |by: &str| format!("[{}] is {by}: choose another name with --name", id.table());
        let own = ground.config.plugins.iter().chain(&ground.config.agent).any(|spec| spec.id == id);
        anyhow::ensure!(!own, taken("in the configuration file already"));
        anyhow::ensure!(!ground.config.upstreams.iter().any(|it| it.name == name), taken("a server behind this host"));
        anyhow::ensure!(
            lock.get(&id).is_none(),
            "[{}] is installed already: `portcullis plugin update {name}` brings what is newer, --name installs it under another name",
            id.table()
        );
        Ok(id)
    }
}

/// The reference as it will mean the same from every folder.
fn whole(reference: &str) -> anyhow::Result<String> {
    Ok(match Reference::parse(reference)? {
        Reference::File(path) => {
            let path = std::path::absolute(&path).with_context(|| format!("the path {}", path.display()))?;
            Reference::File(path).to_string()
        }
        Reference::Web { .. } | Reference::Oci(_) => reference.to_owned(),
    })
}
