//! `portcullis secret`.

use super::options::ConfigFile;
use super::prompt::read_hidden;
use crate::config::{Config, ConfigEditor, environment_variable};
use anyhow::{Context, bail};
use platform::files::create_private_folder;
use platform::secrets::{Secret, SecretSource, SecretStore, write_secret};
use std::fs;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;
use toml_edit::{Item, Table, value};
use zeroize::Zeroizing;

/// The folder of files that this command makes, beside the configuration.
const FOLDER: &str = "secrets";
/// Bytes that are read of stdin: more than any secret has.
const MOST: u64 = 64 << 10;

#[derive(clap::Subcommand)]
pub(super) enum SecretCommand {
    /// Set a secret: asks for it without showing it, or reads it from stdin.
    ///
    /// It is stored where [secrets.NAME] says; without such a table, in a file beside the configuration that only you can read and git
    /// ignores, and the table is added.
    Set {
        /// Its name: a plugin writes {{secret:NAME}} into a header, and the host puts the secret in its place.
        name: String,
        #[command(flatten)]
        file: ConfigFile,
    },
    /// List the secrets of the configuration, and which of them are not set. Shows no secret.
    List {
        #[command(flatten)]
        file: ConfigFile,
    },
}

impl SecretCommand {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Self::Set { name, file } => set(&name, &file),
            Self::List { file } => list(&file),
        }
    }
}

fn set(name: &str, file: &ConfigFile) -> anyhow::Result<ExitCode> {
    let mut editor = ConfigEditor::open(&file.config)?;
    let before = editor.check()?;
    let is_new = !before.secrets.contains_key(name);
    let config = if is_new { add_table(&mut editor, name)? } else { before };
    let source = config.secrets.get(name).context("the configuration does not take it")?;
    if let SecretSource::Env(variable) = source {
        bail!("[secrets.{name}] is read from the variable {variable}: set that, or write `file` in its place");
    }
    let secret = Secret::new(name, read(name)?)?;
    if let SecretSource::File(path) = source
        && is_new
    {
        make_folder(path)?;
    }
    write_secret(&secret, source).map_err(anyhow::Error::msg)?;
    if is_new {
        editor.save()?;
    }
    println!("{name} is set, in {}. Servers that run have it after a restart.", place(source));
    if !config.plugins.iter().chain(&config.agent).any(|spec| spec.grants.secrets.iter().any(|it| it.name == name)) {
        println!(
            "No plugin may send it yet: portcullis grant PLUGIN 'secrets = [{{ name = \"{name}\", hosts = [\"HOST\"] }}]'"
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Adds a table with a file of its own, and checks the whole.
fn add_table(editor: &mut ConfigEditor, name: &str) -> anyhow::Result<Config> {
    let mut table = Table::new();
    table["file"] = value(format!("{FOLDER}/{name}"));
    let all = editor.document.entry("secrets").or_insert_with(|| {
        let mut secrets = Table::new();
        secrets.set_implicit(true);
        Item::Table(secrets)
    });
    all.as_table_like_mut().context("`secrets` is no table")?.insert(name, Item::Table(table));
    Ok(editor.check()?)
}

/// The folder of a new secret, which git does not see.
fn make_folder(path: &Path) -> anyhow::Result<()> {
    let folder = path.parent().context("the file has no folder")?;
    create_private_folder(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        fs::write(&ignore, "*\n").with_context(|| format!("cannot write {}", ignore.display()))?;
    }
    Ok(())
}

fn read(name: &str) -> anyhow::Result<Zeroizing<String>> {
    if std::io::stdin().is_terminal() {
        let typed = read_hidden(&format!("The secret {name} (it is not shown): "))?;
        return typed.context("nothing was typed, and nothing was changed");
    }
    let mut text = Zeroizing::new(String::new());
    let read = std::io::stdin().take(MOST).read_to_string(&mut text);
    read.context("the secret cannot be read from stdin")?;
    Ok(text)
}

fn list(file: &ConfigFile) -> anyhow::Result<ExitCode> {
    let config = Config::load_without_lockfile(&file.config)?;
    let mut all_are_set = true;
    for (name, source) in &config.secrets {
        let one = [(name.clone(), source.clone())].into();
        let problem = match SecretStore::open(&one, environment_variable) {
            Ok(store) => store.missing().get(name).map(|_| "not set".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        all_are_set &= problem.is_none();
        println!("{name}  {}{}", place(source), problem.map(|problem| format!("  {problem}")).unwrap_or_default());
    }
    if config.secrets.is_empty() {
        eprintln!("{} has no secret: `portcullis secret set NAME` makes one", file.config.display());
    }
    Ok(if all_are_set { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn place(source: &SecretSource) -> String {
    match source {
        SecretSource::File(path) => path.display().to_string(),
        SecretSource::Env(variable) => format!("the variable {variable}"),
        SecretSource::Keyring(service, user) => format!("the keyring, as {service}/{user}"),
    }
}
