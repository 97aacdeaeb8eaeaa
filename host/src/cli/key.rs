//! `portcullis key`.

use super::options::ConfigFile;
use super::prompt::Agreement;
use crate::config::Config;
use anyhow::{Context, ensure};
use platform::files::replace_file;
use platform::identity::NewKey;
use platform::telemetry::printable;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use toml_edit::DocumentMut;

#[derive(clap::Subcommand)]
pub(super) enum KeyCommand {
    /// Create an API key. Prints the key once, and the line for the file named by `server.auth.keys`.
    New {
        /// Name of the holder: the principal will be `key:NAME`.
        name: String,
    },
    /// List the holders of keys in the file named by `server.auth.keys`.
    List {
        #[command(flatten)]
        file: ConfigFile,
    },
    /// Remove a key from the file named by `server.auth.keys`. A running server takes it until it is restarted.
    Revoke {
        /// Name of the holder.
        name: String,
        #[command(flatten)]
        agreement: Agreement,
        #[command(flatten)]
        file: ConfigFile,
    },
}

impl KeyCommand {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            KeyCommand::New { name } => {
                let made = NewKey::generate(&name)?;
                // Hints go to stderr, so that a script gets the key and the line alone.
                eprintln!("the key, for its holder; it is not stored and cannot be shown again:");
                println!("{}", made.key);
                eprintln!("the line for the file that `server.auth.keys` names, which contains only the digest:");
                println!("{}", made.line);
            }
            KeyCommand::List { file } => {
                let (path, keys) = read(&file)?;
                keys.iter().for_each(|(name, _)| println!("{}", printable(name)));
                if keys.is_empty() {
                    eprintln!("{} has no key: `portcullis key new NAME` makes one", path.display());
                }
            }
            KeyCommand::Revoke { name, agreement, file } => {
                let (path, mut keys) = read(&file)?;
                let names = keys.iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>().join(", ");
                ensure!(keys.remove(&name).is_some(), "no key of `{name}` in {}; there are: {names}", path.display());
                let command = format!("portcullis key revoke {}{}", super::text::shell_quote(&name), file.as_option());
                if !agreement.get(&format!("Remove the key of {}?", printable(&name)), &command)? {
                    println!("Nothing was changed.");
                    return Ok(ExitCode::FAILURE);
                }
                let permissions = fs::metadata(&path).map(|metadata| metadata.permissions());
                let written = permissions.and_then(|same| replace_file(&path, keys.to_string().as_bytes(), same));
                written.with_context(|| format!("cannot write {}", path.display()))?;
                println!("Removed the key of {name} from {}. Restart the server to refuse it.", path.display());
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The file of keys.
fn read(file: &ConfigFile) -> anyhow::Result<(PathBuf, DocumentMut)> {
    let path = Config::load_without_lockfile(&file.config)?.auth.keys;
    let path =
        path.with_context(|| format!("{} names no file of keys: set server.auth.keys", file.config.display()))?;
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read the API keys {}", path.display()))?;
    let keys = text.parse().with_context(|| path.display().to_string())?;
    Ok((path, keys))
}
