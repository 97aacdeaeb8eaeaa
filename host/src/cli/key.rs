//! `portcullis key`.

use platform::identity::NewKey;
use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(super) enum Key {
    /// Make an API key: prints the key, once, and the line for the file that `server.auth.keys` names.
    New {
        /// Whose key it is: the principal will be `key:NAME`.
        name: String,
    },
}

impl Key {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let Key::New { name } = self;
        let made = NewKey::make(&name)?;
        println!("key, for its holder; it is not kept and cannot be shown again:\n  {}", made.key);
        println!("line for the file of keys, which holds only its digest:\n  {}", made.line);
        Ok(ExitCode::SUCCESS)
    }
}
