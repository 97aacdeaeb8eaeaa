//! `portcullis key`.

use platform::identity::NewKey;
use std::process::ExitCode;

#[derive(clap::Subcommand)]
pub(super) enum Key {
    /// Create an API key. Prints the key once, and the line for the file named by `server.auth.keys`.
    New {
        /// Name of the holder: the principal will be `key:NAME`.
        name: String,
    },
}

impl Key {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let Key::New { name } = self;
        let made = NewKey::generate(&name)?;
        println!("key for its holder; it is not stored and cannot be shown again:\n  {}", made.key);
        println!("line for the file of keys, which contains only the digest:\n  {}", made.line);
        Ok(ExitCode::SUCCESS)
    }
}
