//! The plugin of a folder: what it is built into, and the configuration that it is served with.

use super::snapshot::SourceFolder;
use crate::cli::options::ConfigFile;
use crate::config::{Config, DEFAULT_FILE};
use anyhow::{Context, bail, ensure};
use platform::telemetry::printable;
use plugins::install::lockfile_path;
use policy::{PluginId, PluginSpec};
use std::path::{Path, PathBuf};

pub(super) struct DevPlugin {
    pub(super) id: PluginId,
    /// The folder as the author named it.
    pub(super) folder: PathBuf,
    pub(super) component: PathBuf,
    /// The configuration file that is served, or the one that the author could write.
    pub(super) file: ConfigFile,
    pub(super) is_configured: bool,
}

impl DevPlugin {
    /// Reads the folder, and the configuration, which is in memory if there is no file.
    pub(super) fn open(folder: &Path, file: Option<PathBuf>) -> anyhow::Result<(Self, Config)> {
        let whole = folder.canonicalize().with_context(|| format!("cannot open {}", folder.display()))?;
        let (name, built) = authoring::planned(&whole)?;
        let default = if folder == Path::new(".") { PathBuf::from(DEFAULT_FILE) } else { folder.join(DEFAULT_FILE) };
        let is_configured = file.is_some() || default.exists();
        let file = ConfigFile { config: file.unwrap_or(default) };
        let config =
            if is_configured { Config::load_with_own_state(&file.config)? } else { in_memory(&name, &built, &whole)? };
        let spec = choose(&config, &whole, &built).with_context(|| {
            let table = format!("[plugins.{name}] with source = \"{name}.wasm\"");
            format!("{} has no plugin whose component is built here: add {table}", file.config.display())
        })?;
        ensure!(
            spec.digest.is_none(),
            "{}: [{}] has a `digest`, so that nothing that is built anew can be loaded: remove it",
            file.config.display(),
            spec.id
        );
        let (id, component) = (spec.id.clone(), spec.source.clone());
        Ok((Self { id, folder: whole, component, file, is_configured }, config))
    }

    pub(super) fn sources(&self) -> SourceFolder {
        let config = std::path::absolute(&self.file.config).unwrap_or_else(|_| self.file.config.clone());
        let config = self.folder.join(config.file_name().unwrap_or_default());
        let component = self.component.file_name().map(|name| self.folder.join(name));
        let partial = component.as_ref().map(|path| path.with_extension("partial"));
        let own = [Some(self.component.clone()), Some(self.component.with_extension("partial")), component, partial];
        let others = own.into_iter().flatten().chain([lockfile_path(&config), config]).collect();
        SourceFolder { folder: self.folder.clone(), others }
    }

    /// The component's name, for messages.
    pub(super) fn component_name(&self) -> String {
        printable(&self.component.file_name().unwrap_or_default().to_string_lossy()).into_owned()
    }
}

/// A configuration with this plugin alone, without a grant.
fn in_memory(name: &str, component: &Path, folder: &Path) -> anyhow::Result<Config> {
    let value = |text: String| toml_edit::Value::from(text).to_string();
    let source = value(component.display().to_string());
    let text = format!("[plugins.{}]\nsource = {source}\n", value(name.to_owned()));
    Ok(Config::parse(&text, &folder.join(DEFAULT_FILE), folder)?.with_own_state())
}

/// The plugin that is built in the folder: the one that `portcullis build` would write, or else the only one there.
fn choose<'a>(config: &'a Config, folder: &Path, built: &Path) -> anyhow::Result<&'a PluginSpec> {
    let is_here = |spec: &&PluginSpec| {
        let parent = spec.source.parent().and_then(|parent| parent.canonicalize().ok());
        !spec.is_installed() && parent.is_some_and(|parent| parent == folder)
    };
    let here: Vec<_> = config.plugins.iter().chain(&config.agent).filter(is_here).collect();
    let named = here.iter().find(|spec| spec.source.file_name() == built.file_name());
    match (named, here.as_slice()) {
        (Some(spec), _) => Ok(spec),
        (None, [only]) => Ok(only),
        (None, []) => bail!("none of its plugins has a source in {}", folder.display()),
        (None, [..]) => bail!("several plugins have a source in {}, and none is {}", folder.display(), built.display()),
    }
}
