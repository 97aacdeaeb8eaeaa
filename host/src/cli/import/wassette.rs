//! `portcullis import wassette`.

use super::translation::Translation;
use crate::cli::configured_plugin::missing_directories;
use crate::cli::init;
use crate::cli::options::ConfigFile;
use crate::cli::plugin::how_running_servers_change;
use crate::cli::prompt::Agreement;
use crate::cli::text::{printable_lines, shell_quote};
use crate::config::{Config, ConfigEditor};
use crate::host;
use anyhow::{Context, bail, ensure};
use platform::audit::{AuditEvent, AuditRecord};
use platform::telemetry::printable;
use plugins::package::{self, Manifest, PackageError, inspect, with_manifest};
use policy::{PluginId, Side};
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use toml_edit::{DocumentMut, Item, Table};

/// The version for a plugin whose component has none.
const VERSION: &str = "0.1.0";

#[derive(clap::Args)]
pub(in crate::cli) struct Wassette {
    /// The component file.
    component: PathBuf,
    /// Its policy, a YAML file.
    policy: PathBuf,
    /// Name of the plugin. Default: that of the component file.
    #[arg(long)]
    name: Option<String>,
    /// What relative paths in the policy are relative to.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Where to write the component with a manifest. Default: NAME.wasm beside the configuration file.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the component and the configuration. Without it, the configuration is printed.
    #[arg(long)]
    write: bool,
    /// Write although something of the policy is left out.
    #[arg(long)]
    partial: bool,
    #[command(flatten)]
    agreement: Agreement,
    #[command(flatten)]
    file: ConfigFile,
}

impl Wassette {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let text =
            fs::read_to_string(&self.policy).with_context(|| format!("cannot read {}", self.policy.display()))?;
        let folder = self.folder.as_ref().map(std::path::absolute).transpose()?;
        let translation = Translation::new(&text, folder.as_deref())
            .map_err(|why| anyhow::anyhow!("{}: {}", self.policy.display(), printable(&why)))?;
        let id = self.id()?;
        let component = self.stamped(&id, &translation)?;
        let output = self.output(&id)?;
        let table = translation.table(&self.source(&output)?);
        for left_out in &translation.remarks.left_out {
            eprintln!("left out: {}: {}", self.policy.display(), printable(left_out));
        }
        for note in &translation.remarks.notes {
            eprintln!("note: {}: {}", self.policy.display(), printable(note));
        }
        let mut document = DocumentMut::new();
        insert(&mut document, &id, &table)?;
        let shown = document.to_string();
        if !self.write {
            println!("{}", printable_lines(&shown));
            eprintln!("Nothing was written: --write adds this to {}.", self.file.config.display());
            return Ok(ExitCode::SUCCESS);
        }
        let left_out = translation.remarks.left_out.len();
        ensure!(
            left_out == 0 || self.partial,
            "{left_out} parts of the policy would be left out, see above; with --partial the rest is written"
        );
        eprintln!("{}", printable_lines(&shown));
        self.write(&id, &component, &output, (&table, &shown))
    }

    fn id(&self) -> anyhow::Result<PluginId> {
        let stem = || self.component.file_stem().unwrap_or_default().to_string_lossy().replace('_', "-");
        let name = self.name.clone().unwrap_or_else(stem);
        PluginId::new(Side::Server, &name)
            .map_err(|why| anyhow::anyhow!("it cannot be called {name:?}: {why}; choose another name with --name"))
    }

    /// The component with a manifest that requests what is granted.
    fn stamped(&self, id: &PluginId, translation: &Translation) -> anyhow::Result<Vec<u8>> {
        let path = &self.component;
        let bytes = package::read_file(path)?;
        let refused = |error| PackageError::Invalid { path: path.clone(), error };
        ensure!(
            inspect(&bytes).map_err(refused)?.manifest.is_none(),
            "{} has a manifest already, so it is no component of Wassette's; `portcullis plugin manifest` shows it",
            path.display()
        );
        let description = translation.description.clone();
        let (name, version) = (id.name.to_string(), VERSION.to_owned());
        let manifest = Manifest { name, version, description, requests: translation.requests(), ..Manifest::default() };
        let stamped = with_manifest(&bytes, &manifest).with_context(|| format!("{} is damaged", path.display()))?;
        inspect(&stamped).map_err(refused)?;
        Ok(stamped)
    }

    fn output(&self, id: &PluginId) -> anyhow::Result<PathBuf> {
        let default = || Ok(self.config_folder()?.join(format!("{}.wasm", id.name)));
        self.output.clone().map_or_else(default, |output| Ok(std::path::absolute(output)?))
    }

    fn config_folder(&self) -> anyhow::Result<PathBuf> {
        let file = std::path::absolute(&self.file.config)?;
        Ok(file.parent().unwrap_or(Path::new("/")).to_owned())
    }

    /// The component as the configuration names it.
    fn source(&self, output: &Path) -> anyhow::Result<String> {
        let folder = self.config_folder()?;
        Ok(output.strip_prefix(&folder).unwrap_or(output).display().to_string())
    }

    /// Writes component and configuration, if the user agrees. The table comes with its text.
    fn write(
        &self,
        id: &PluginId,
        component: &[u8],
        output: &Path,
        (table, shown): (&Table, &str),
    ) -> anyhow::Result<ExitCode> {
        let file = &self.file.config;
        init::offer(&self.file, false)?;
        let config = Config::load_with_own_state(file)?;
        if config.plugins.iter().any(|spec| spec.id == *id) {
            bail!("there is a plugin {} already: choose another name with --name", id.cli_name());
        }
        ensure!(!output.exists(), "there is {} already: name another file with --output", output.display());
        let mut editor = ConfigEditor::open(file)?;
        insert(&mut editor.document, id, table)?;
        let spec = editor.check()?.plugins.into_iter().find(|spec| spec.id == *id);
        let spec = spec.context("the configuration does not have the plugin that was added")?;
        let command = format!(
            "portcullis import wassette {} {} --write --name {}{}",
            shell_quote(&self.component.display().to_string()),
            shell_quote(&self.policy.display().to_string()),
            id.name,
            self.file.as_option()
        );
        if !self.agreement.get(&format!("Add it to {}?", file.display()), &command)? {
            println!("Nothing was written.");
            return Ok(ExitCode::FAILURE);
        }
        let wrong = || format!("cannot write {}", output.display());
        let audit = host::open_audit(&config)?;
        let mut written = OpenOptions::new().write(true).create_new(true).open(output).with_context(wrong)?;
        let event = AuditEvent::Grant { given: true, line: shown.to_owned() };
        let record = AuditRecord::for_operator(Some(id.clone()), None, event);
        let saved = audit.record_first(vec![record], || {
            written.write_all(component).with_context(wrong).and_then(|()| Ok(editor.save()?))
        });
        if saved.is_err() {
            // With this file in place, the next attempt would fail.
            let _ = fs::remove_file(output);
        }
        saved?;
        missing_directories(&spec.grants).iter().for_each(|what| println!("note: {}", printable(what)));
        println!("[{}] is in {}. {}", id.table(), file.display(), how_running_servers_change(&config));
        Ok(ExitCode::SUCCESS)
    }
}

/// Adds the plugin to a configuration.
fn insert(document: &mut DocumentMut, id: &PluginId, table: &Table) -> anyhow::Result<()> {
    let side = document.entry(id.side.table()).or_insert_with(|| {
        let mut side = Table::new();
        side.set_implicit(true);
        Item::Table(side)
    });
    let side = side.as_table_like_mut().with_context(|| format!("`{}` is no table", id.side.table()))?;
    ensure!(
        !side.contains_key(&id.name),
        "there is a plugin {} already: choose another name with --name",
        id.cli_name()
    );
    side.insert(&id.name, Item::Table(table.clone()));
    Ok(())
}
