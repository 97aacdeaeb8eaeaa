//! `portcullis secret`.

use super::options::ConfigFile;
use super::prompt::read_hidden;
use crate::config::{Config, ConfigEditor, environment_variable};
use anyhow::{Context, bail, ensure};
use platform::files::create_private_folder;
use platform::secrets::{Secret, SecretSource, SecretStore, write_secret};
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, IsTerminal, Read, Write as _};
use std::path::Path;
use std::process::ExitCode;
use toml_edit::{Table, value};
use zeroize::Zeroizing;

/// The folder of files that this command makes, beside the configuration.
const FOLDER: &str = "secrets";
/// The content of the folder's `.gitignore`: git ignores every file there.
const ALL: &[u8] = b"*\n";
/// Most bytes that are read from stdin, more than any secret has.
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
    let (_, config) = with_table(name, file)?;
    let source = config.secrets.get(name).context("the configuration does not take it")?;
    if let SecretSource::Env(variable) = source {
        bail!("[secrets.{name}] is read from the variable {variable}: set that, or write `file` in its place");
    }
    let secret = Secret::new(name, read(name)?)?;
    // Reads the file again: it was not locked while the user typed, so another process may have changed it.
    let (editor, config) = with_table(name, file)?;
    let source = config.secrets.get(name).context("the configuration does not take it")?;
    if let SecretSource::File(path) = source {
        make_folder(path, editor.is_some())?;
    }
    write_secret(&secret, source).map_err(anyhow::Error::msg)?;
    if let Some(editor) = editor {
        editor.save()?;
    }
    println!("{name} is set, in {}. Running servers have it after a restart.", place(source));
    if !config.plugins.iter().chain(&config.agent).any(|spec| spec.grants.secrets.iter().any(|it| it.name == name)) {
        println!(
            "No plugin may send it yet: portcullis grant PLUGIN 'secrets = [{{ name = \"{name}\", hosts = [\"HOST\"] }}]'"
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The configuration with the secret's table. If the table is new, also the editor that can save it.
fn with_table(name: &str, file: &ConfigFile) -> anyhow::Result<(Option<ConfigEditor>, Config)> {
    let mut editor = ConfigEditor::open(&file.config)?;
    let before = editor.check()?;
    if before.secrets.contains_key(name) {
        return Ok((None, before));
    }
    let mut table = Table::new();
    table["file"] = value(format!("{FOLDER}/{name}"));
    editor.add_table("secrets", name, table)?;
    let config = editor.check()?;
    Ok((Some(editor), config))
}

/// Makes the folder of a secret if it is missing. The folder of a new secret is hidden from git.
fn make_folder(path: &Path, is_new: bool) -> anyhow::Result<()> {
    let folder = path.parent().context("the file has no folder")?;
    let shown = folder.display();
    create_private_folder(folder).with_context(|| format!("cannot make {shown}"))?;
    if !is_new {
        return Ok(());
    }
    ensure!(!fs::symlink_metadata(folder)?.is_symlink(), "{shown} is a link: it may lead into what others read");
    // `create_new` follows no link and replaces no file.
    match OpenOptions::new().write(true).create_new(true).open(folder.join(".gitignore")) {
        Ok(mut ignore) => ignore.write_all(ALL).with_context(|| format!("cannot write into {shown}"))?,
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(error).with_context(|| format!("cannot write into {shown}"));
        }
        Err(_) if fs::read(folder.join(".gitignore")).is_ok_and(|text| text == ALL) => {}
        Err(_) => eprintln!("note: {shown} has a .gitignore of its own: see that it names the secret"),
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
            Ok(store) => store.missing().get(name).map(|why| format!("not set: {why}")),
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
