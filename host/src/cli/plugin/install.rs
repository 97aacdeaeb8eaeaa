//! `portcullis plugin install`.

use super::bundled;
use super::consent::{ConsentOptions, ConsentRequest};
use super::earlier_data::EarlierDataOption;
use super::install_context::InstallContext;
use super::report;
use crate::cli::configured_plugin::missing_directories;
use crate::cli::init;
use crate::cli::options::ConfigFile;
use crate::cli::terminal::show_work;
use crate::cli::text::shell_quote;
use anyhow::Context;
use platform::telemetry::printable;
use plugins::install::{PluginSource, Reference, review};
use policy::{DataKey, Digest, PluginId, Side};
use std::process::ExitCode;
use toml_edit::Table;

#[derive(clap::Args)]
pub(in crate::cli) struct Install {
    /// The component: a path, an https URL, oci://registry/repository:tag, or the name of a plugin that comes with this program.
    reference: String,
    /// Name of the plugin. Default: the name in its manifest.
    #[arg(long)]
    name: Option<String>,
    /// Install it as an agent-side tool: called by granted plugins, not exposed over MCP.
    #[arg(long)]
    agent: bool,
    /// Install only a component with this digest, such as a reviewed one.
    #[arg(long, value_name = "sha256:...")]
    digest: Option<String>,
    #[command(flatten)]
    earlier_data: EarlierDataOption,
    #[command(flatten)]
    consent: ConsentOptions,
    #[command(flatten)]
    file: ConfigFile,
}

impl Install {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        init::offer(&self.file, self.consent.is_given())?;
        let context = InstallContext::open(&self.file)?;
        let wanted = self.digest.as_deref().map(Digest::parse).transpose()?;
        let reference = absolute_reference(&self.reference)?;
        let lock = context.plugins.load_lockfile()?;
        if let Some(name) = &self.name {
            self.unused_id(&context, &lock, name)?;
        }
        let found = context.sources().fetch(&reference).await?;
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found.digest) {
            anyhow::bail!("{reference} is {} now, not {wanted}: review it again", found.digest);
        }
        let loader = context.loader()?;
        let reviewing = review(&loader, context.clock.as_ref(), found);
        let new = show_work(&format!("compiling and reading {}", self.reference), reviewing).await?;
        let own = new.examined.inspection.manifest.as_ref().map(|manifest| manifest.name.clone());
        let name = self.name.clone().or(own).context("it has no manifest with a name: choose one with --name")?;
        let id = self.unused_id(&context, &lock, &name)?;
        report::candidate(&id, &reference, &new);
        let own = DataKey::installed(&id, &Reference::parse(&reference)?.source());
        let Some(earlier) = self.earlier_data.decide(&context, &id, own, !self.consent.is_given()).await? else {
            println!("Nothing was installed.");
            return Ok(ExitCode::FAILURE);
        };
        let side = if self.agent { " --agent" } else { "" };
        let (quoted_reference, digest) = (shell_quote(&self.reference), &new.version.digest);
        let config = &context.config_option;
        let command =
            format!("portcullis plugin install {quoted_reference} --name {name}{side} --digest {digest}{config}");
        let (requested, warnings) = (&new.version.requests, report::warnings(&new));
        let question = &format!("Install it as [{}]?", id.table());
        let ask = ConsentRequest {
            id: &id,
            folder: context.folder(),
            requested,
            news: requested,
            warnings,
            question,
            command: &command,
        };
        let Some(grants) = self.consent.get(Table::new(), &ask)? else {
            println!("Nothing was installed.");
            return Ok(ExitCode::FAILURE);
        };
        context.plugins.install(&id, &reference, &earlier.data, &new, grants)?;
        earlier.carry_out(&context, &id).await?;
        let installed = context.config.clone().with_installed()?;
        let spec = installed.plugins.iter().chain(&installed.agent).find(|spec| spec.id == id);
        for what in spec.map(|spec| missing_directories(&spec.grants)).unwrap_or_default() {
            println!("note: {}", printable(&what));
        }
        println!(
            "\n[{}] is installed and enabled, recorded in {}. {}",
            id.table(),
            context.lock.display(),
            context.running
        );
        Ok(ExitCode::SUCCESS)
    }

    /// The ID for this name, if it is not taken.
    fn unused_id(
        &self,
        context: &InstallContext,
        lock: &plugins::install::Lockfile,
        name: &str,
    ) -> anyhow::Result<PluginId> {
        let side = if self.agent { Side::Agent } else { Side::Server };
        let id = PluginId::new(side, name)
            .map_err(|why| anyhow::anyhow!("it cannot be called {name:?}: {why}; choose another name with --name"))?;
        let taken = |by: &str| format!("[{}] is {by}: choose another name with --name", id.table());
        let own = context.config.plugins.iter().chain(&context.config.agent).any(|spec| spec.id == id);
        anyhow::ensure!(!own, taken("in the configuration file already"));
        anyhow::ensure!(!context.config.upstreams.iter().any(|it| it.name == name), taken("a server behind this host"));
        if let Some(entry) = lock.get(&id) {
            let other = Reference::parse(&self.reference).ok();
            let same =
                other.filter(|other| Reference::parse(&entry.reference).is_ok_and(|it| it.source() == other.source()));
            let update = match same.as_ref().and_then(Reference::tag) {
                Some(tag) => format!("`portcullis plugin update {name} --to {tag}` installs this version"),
                None => format!("`portcullis plugin update {name}` installs a newer version"),
            };
            anyhow::bail!(
                "[{id}] is installed already, from {}: {update}, --name installs it under another name",
                printable(&entry.reference)
            );
        }
        Ok(id)
    }
}

/// The reference with an absolute path, so that it works from every folder.
fn absolute_reference(reference: &str) -> anyhow::Result<String> {
    if let Some(path) = bundled::find(reference)? {
        return Ok(Reference::File(path).to_string());
    }
    Ok(match Reference::parse(reference)? {
        Reference::File(path) => {
            let path = std::path::absolute(&path).with_context(|| format!("the path {}", path.display()))?;
            Reference::File(path).to_string()
        }
        Reference::Web { .. } | Reference::Oci(_) => reference.to_owned(),
    })
}
